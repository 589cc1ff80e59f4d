//! How much of a skill's description came before the model.

use std::fmt;

use serde::{Deserialize, Serialize};

/// How much of a description was seen to come before the model.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(tag = "shown", rename_all = "kebab-case")]
#[non_exhaustive]
pub enum DescriptionVisibility {
    /// The evidence does not show it.
    #[default]
    Unknown,
    /// Nothing of it but the skill's name.
    NameOnly,
    /// Its start. Characters are counted with any white space as a single space.
    Cut {
        /// How many characters were shown.
        characters: usize,
        /// How many it has.
        of: usize,
    },
    /// All of it.
    Whole,
}

impl DescriptionVisibility {
    /// What `shown`, the text beside the skill's name in a list, is of `description`. A text that is neither all of it nor
    /// its start tells nothing.
    #[doc(hidden)]
    #[must_use]
    pub fn in_list(description: &str, shown: &str) -> Self {
        let (description, shown) = (spaced(description), spaced(shown));
        if description.is_empty() {
            return Self::Unknown;
        }
        if shown.is_empty() {
            return Self::NameOnly;
        }
        // An agent may have more to say of a skill than its description.
        if shown.starts_with(&description) {
            return Self::Whole;
        }
        let start = shown.strip_suffix('…').or_else(|| shown.strip_suffix("...")).unwrap_or(&shown).trim_end();
        if start.is_empty() || !description.starts_with(start) {
            return Self::Unknown;
        }
        Self::Cut { characters: start.chars().count(), of: description.chars().count() }
    }

    /// What a text that may hold anything shows of `description`: all of it, or nothing that can be told. `<`, `>` and `&`
    /// may stand there as XML has them.
    #[doc(hidden)]
    #[must_use]
    pub fn within(description: &str, text: &str) -> Self {
        let plain = |text: &str| spaced(text).replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&");
        let description = plain(description);
        if !description.is_empty() && plain(text).contains(&description) { Self::Whole } else { Self::Unknown }
    }

    /// Whether the model is known to have been shown less than all of it.
    #[must_use]
    pub fn is_short(self) -> bool {
        matches!(self, Self::NameOnly | Self::Cut { .. })
    }
}

impl fmt::Display for DescriptionVisibility {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unknown => f.write_str("unknown"),
            Self::NameOnly => f.write_str("name only"),
            Self::Cut { characters, of } => write!(f, "cut at {characters} of {of} characters"),
            Self::Whole => f.write_str("whole"),
        }
    }
}

/// `text` with single spaces for its white space, as lists have descriptions on one line.
fn spaced(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_stands_in_a_list_is_all_of_a_description_or_its_start_or_tells_nothing() {
        let description = "Greets people\n  the pirate way.";
        for (shown, found) in [
            ("Greets people the pirate way.", DescriptionVisibility::Whole),
            ("Greets people\nthe pirate way. - When somebody comes.", DescriptionVisibility::Whole),
            ("", DescriptionVisibility::NameOnly),
            ("Greets people the pi", DescriptionVisibility::Cut { characters: 20, of: 29 }),
            ("Greets people the …", DescriptionVisibility::Cut { characters: 17, of: 29 }),
            ("Greets people the p...", DescriptionVisibility::Cut { characters: 19, of: 29 }),
            ("…", DescriptionVisibility::Unknown),
            ("Says goodbye.", DescriptionVisibility::Unknown),
        ] {
            assert_eq!(DescriptionVisibility::in_list(description, shown), found, "{shown:?}");
        }
        assert_eq!(DescriptionVisibility::in_list("", ""), DescriptionVisibility::Unknown);
    }

    #[test]
    fn a_text_that_holds_a_description_shows_all_of_it_and_any_other_shows_nothing() {
        let whole = |text| DescriptionVisibility::within("Compares a < b & c.", text);
        assert_eq!(whole("<description>Compares a &lt; b &amp; c.</description>"), DescriptionVisibility::Whole);
        assert_eq!(whole("compare: Compares a < b &\nc. And more"), DescriptionVisibility::Whole);
        assert_eq!(whole("<description>Compares a &lt; b</description>"), DescriptionVisibility::Unknown);
    }
}
