//! How much of a skill's description entered the model's context.

use std::fmt;

use serde::{Deserialize, Serialize};

/// How much of a skill's description entered the model's context.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(tag = "shown", rename_all = "kebab-case")]
pub enum DescriptionVisibility {
    /// The evidence does not show it.
    #[default]
    Unknown,
    /// Only the skill's name.
    NameOnly,
    /// Its start. White space counts as one character.
    Cut {
        /// Number of shown characters.
        characters: usize,
        /// Number of characters of the whole description.
        of: usize,
    },
    /// All of it.
    Whole,
}

impl DescriptionVisibility {
    /// How much of `description` is in `shown`, the text next to the skill's name in a skill list. `Unknown` for a text that
    /// is not the start of the description.
    #[doc(hidden)]
    pub fn in_list(description: &str, shown: &str) -> Self {
        let (description, shown) = (unescaped(description), unescaped(shown));
        if description.is_empty() {
            return Self::Unknown;
        }
        if shown.is_empty() {
            return Self::NameOnly;
        }
        // Agents may add text to the description.
        if shown.starts_with(&description) {
            return Self::Whole;
        }
        let start = shown.strip_suffix('…').or_else(|| shown.strip_suffix("...")).unwrap_or(&shown).trim_end();
        if start.is_empty() || !description.starts_with(start) {
            return Self::Unknown;
        }
        Self::Cut { characters: start.chars().count(), of: description.chars().count() }
    }

    /// Whether any text contains the whole `description`. `<`, `>` and `&` may be escaped as in XML.
    #[doc(hidden)]
    pub fn within(description: &str, text: &str) -> Self {
        let description = unescaped(description);
        if !description.is_empty() && unescaped(text).contains(&description) { Self::Whole } else { Self::Unknown }
    }

    /// Whether the model saw only a part.
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

fn unescaped(text: &str) -> String {
    spaced(text).replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")
}

/// Replaces white space by single spaces: skill lists have descriptions on one line.
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
