#![forbid(unsafe_code)]
#![cfg_attr(not(test), warn(clippy::disallowed_methods))]
#![warn(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stdout, clippy::print_stderr)]
//! Statistics of trials, and decisions about two sides.
//!
//! Everything here is a pure function of numbers: no disk, no clock, no environment, no agent. Each function names its formula and
//! its source, and is held against reference values. Random numbers come from the caller's seed.
//!
//! Read [`stats::proportion`] (a share and its interval), [`stats::difference`] (two sides), [`stats::sequence`]
//! (evidence that may be looked at after every trial), then [`decide::fixed`] and [`decide::sequential`] (broke, worse, better, no
//! worse), and [`decide::plan`] (which pair of trials is next).

/// Declares an enum with a word for each variant. The words are its serde form, its `Display` and its `FromStr`.
#[macro_export]
macro_rules! word_enum {
    ($(#[$meta:meta])* pub enum $name:ident { $($(#[$variant_meta:meta])* $variant:ident = $word:literal,)+ }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
        #[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
        pub enum $name {
            $($(#[$variant_meta])* #[serde(rename = $word)] $variant,)+
        }

        impl $name {
            /// The words of all variants.
            pub const WORDS: [&'static str; [$($word),+].len()] = [$($word),+];

            /// The word.
            pub fn as_str(self) -> &'static str {
                match self {
                    $(Self::$variant => $word,)+
                }
            }

            /// The variant with this word.
            pub fn named(word: &str) -> Option<Self> {
                match word {
                    $($word => Some(Self::$variant),)+
                    _ => None,
                }
            }
        }

        impl std::str::FromStr for $name {
            type Err = String;

            fn from_str(word: &str) -> Result<Self, String> {
                let known = Self::WORDS.map(|known| format!("{known:?}")).join(" or ");
                Self::named(word).ok_or_else(|| format!("{word:?} is unknown; expected {known}"))
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.as_str())
            }
        }
    };
}

pub mod decide;
pub mod stats;
