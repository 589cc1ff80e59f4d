//! The results of a comparison.

use std::str::FromStr;

use serde::Serialize;

/// A statement about the candidate. Several can be true at the same time: one case broke, and all together got better.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum CompareResult {
    /// Some cases got worse.
    Broke,
    /// All cases together pass less often.
    Worse,
    /// All cases together pass more often.
    Better,
    /// All cases together lost less than the margin, if anything.
    NoWorse,
    /// The planned trials are done and show no harm.
    NoHarmSeen,
    /// The trials do not tell.
    Undecided,
    /// No case has a measured trial on both sides.
    NothingMeasured,
}

impl CompareResult {
    /// All results that a gate can name.
    pub const GATED: [Self; 6] =
        [Self::Broke, Self::Worse, Self::Better, Self::NoWorse, Self::NoHarmSeen, Self::Undecided];

    /// The results that speak against a change.
    pub const HARM: [Self; 2] = [Self::Broke, Self::Worse];

    /// The result as words of a sentence.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Broke => "broke",
            Self::Worse => "worse",
            Self::Better => "better",
            Self::NoWorse => "no worse",
            Self::NoHarmSeen => "no harm seen",
            Self::Undecided => "undecided",
            Self::NothingMeasured => "nothing measured",
        }
    }

    /// Whether it speaks for a change, as far as it goes.
    pub fn is_good(self) -> bool {
        matches!(self, Self::Better | Self::NoWorse | Self::NoHarmSeen)
    }

    /// Whether the trials show it; the other results say that the trials do not tell.
    pub fn is_shown(self) -> bool {
        matches!(self, Self::Broke | Self::Worse | Self::Better | Self::NoWorse)
    }
}

impl FromStr for CompareResult {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let name = text.replace('-', " ");
        Self::GATED.into_iter().find(|result| result.as_str() == name).ok_or_else(|| format!("unknown result `{text}`"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_result_that_a_gate_can_name_is_found_by_its_words_with_spaces_or_hyphens() {
        let names = ["broke", "worse", "better", "no worse", "no harm seen", "undecided"];
        for (result, name) in CompareResult::GATED.into_iter().zip(names) {
            assert_eq!((result.as_str(), name.parse(), name.replace(' ', "-").parse()), (name, Ok(result), Ok(result)));
        }
        // No gate can name that there was nothing to measure.
        let nothing = CompareResult::NothingMeasured.as_str();
        assert_eq!(nothing, "nothing measured");
        assert_eq!(nothing.parse::<CompareResult>(), Err("unknown result `nothing measured`".to_owned()));
    }
}
