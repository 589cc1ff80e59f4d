//! How the tables of evals.toml and the settings themselves are declared: each key and each default once.

use crate::profile::AgentKind;

/// What a key says, for docs/reference/settings.md.
pub struct KeyRow {
    /// The table as the page writes it, such as `[judge]`. Empty for the top of the file.
    pub table: &'static str,
    pub key: &'static str,
    /// The default in words. `{agent}` is the default agent.
    pub(super) default: &'static str,
    /// Empty for a table: its keys have rows of their own.
    pub(super) about: &'static str,
    /// What becomes of the key in an untrusted repository; `None` if it counts.
    pub(super) untrusted: Option<Untrusted>,
}

impl KeyRow {
    /// The row of the page; `None` for a table.
    pub fn row(&self) -> Option<String> {
        let Self { table, key, default, about, .. } = self;
        let row = format!("| `{}` | {default} | {about} |", format!("{table} {key}").trim_start());
        (!about.is_empty()).then(|| row.replace("{agent}", AgentKind::default().as_str()))
    }
}

/// What becomes of a key in an untrusted repository.
pub(super) enum Untrusted {
    /// It does not count: that of the base does.
    OfBase,
    /// It is refused, since this is what it would do.
    Refused(&'static str),
    /// This value of it is.
    RefusedIf(&'static str, &'static str),
}

/// Declares the keys of a table: each has its type, its default in words, what it says and, if nothing else decides that, what it sets.
/// The type that it makes is the table as written; `apply` sets what is written, in the order of the keys.
macro_rules! keys {
    (@) => { None };
    (@ $untrusted:expr) => { Some($untrusted) };
    ($(#[$meta:meta])* $name:ident of $table:literal {
        $($(#[$key_meta:meta])* $key:ident: $type:ty $(as $untrusted:expr)?, $default:literal, $about:literal
            $(, |$to:pat_param, $value:pat_param, $problems:pat_param| $set:expr)?;)*
    }) => {
        #[derive(Debug, serde::Deserialize)]
        #[serde(deny_unknown_fields)]
        $(#[$meta])*
        pub(in crate::settings) struct $name {
            $($(#[$key_meta])* $key: Option<$type>,)*
        }

        #[allow(dead_code, reason = "some tables set nothing by themselves")]
        impl $name {
            pub(in crate::settings) const ROWS: &[$crate::settings::keys::KeyRow] =
                &[$($crate::settings::keys::KeyRow {
                    table: $table,
                    key: stringify!($key),
                    default: $default,
                    about: $about,
                    untrusted: $crate::settings::keys::keys!(@ $($untrusted)?),
                }),*];

            /// The names of the keys that are written.
            fn written(&self) -> impl Iterator<Item = &'static str> {
                let keys = [$((stringify!($key), self.$key.is_some())),*];
                keys.into_iter().filter_map(|(key, is_written)| is_written.then_some(key))
            }

            #[allow(unused_variables, clippy::too_many_lines, reason = "a row is short, and some tables set nothing")]
            pub(in crate::settings) fn apply(&mut self, to: &mut $crate::settings::Settings, problems: &mut $crate::settings::Problems<'_>) {
                $($(if let Some(value) = self.$key.take() {
                    let set: fn(&mut $crate::settings::Settings, $type, &mut $crate::settings::Problems<'_>) =
                        |$to, $value, $problems| {
                            let () = $set;
                        };
                    set(to, value, problems);
                })?)*
            }
        }
    };
}

/// Declares a struct with the defaults of its fields.
macro_rules! defaults {
    ($(#[$meta:meta])* pub struct $name:ident {
        $($(#[$field_meta:meta])* $vis:vis $field:ident: $type:ty = $default:expr,)*
    }) => {
        $(#[$meta])*
        pub struct $name {
            $($(#[$field_meta])* $vis $field: $type,)*
        }

        impl Default for $name {
            fn default() -> Self {
                Self { $($field: $default,)* }
            }
        }
    };
}

pub(super) use {defaults, keys};
