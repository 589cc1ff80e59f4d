//! How well skills trigger, as text.

use std::fmt::Write;

use crate::report::rate::{fraction, measured};
use crate::results::share::Share;
use crate::results::summary::Summary;
use crate::results::triggering::{ActivatedSkill, ExpectedSkill};
use crate::text::safe;

/// The most kinds of mistakes that are listed; others are counted.
const MAX_MISTAKES: usize = 20;

/// For each mode a line for each skill, and the mistakes. Leaves out a mode that has neither a mistake nor a case that
/// expects its skill not to activate.
pub fn triggering(summary: &Summary) -> String {
    let mut text = String::new();
    for (mode, confusion) in &summary.triggering {
        let (skills, mistakes) = (confusion.skills(), confusion.mistakes());
        let has_negatives = confusion.cells.keys().any(|(expected, _)| matches!(expected, ExpectedSkill::NotFor(_)));
        if skills.is_empty() || (!has_negatives && mistakes.is_empty()) {
            continue;
        }
        // Writing to a string cannot fail.
        let _ = writeln!(text, "triggering in the mode {mode}:");
        let width = skills.iter().map(|skill| skill.skill.chars().count()).max().unwrap_or_default();
        for skill in &skills {
            let name = safe::line(&skill.skill);
            let (precision, recall) = (share(skill.precision), share(skill.recall));
            let f1 = match (skill.f1, skill.f1_interval) {
                (Some(f1), Some(interval)) => format!("{f1:.2} ({:.2}–{:.2})", interval.low, interval.high),
                _ => "-".to_owned(),
            };
            let _ = writeln!(text, "  {name:width$}  precision {precision}  recall {recall}  F1 {f1}");
        }
        for (expected, activated, count) in mistakes.iter().take(MAX_MISTAKES) {
            let _ = writeln!(text, "  {}", safe::line(&mistake(expected, activated, *count)));
        }
        let more = mistakes.len().saturating_sub(MAX_MISTAKES);
        if more > 0 {
            let _ = writeln!(text, "  and {more} more kinds of mistake; --json has all");
        }
    }
    text
}

fn share(share: Share) -> String {
    match (share.rate.trials, measured(share.rate)) {
        (0, _) => "-".to_owned(),
        (_, Some(percent)) => format!("{} {percent}", fraction(share.rate)),
        (_, None) => fraction(share.rate),
    }
}

fn mistake(expected: &ExpectedSkill, activated: &ActivatedSkill, count: u64) -> String {
    let activated = match activated {
        ActivatedSkill::Skill(skill) => format!("`{skill}` became active"),
        ActivatedSkill::Several => "several skills became active".to_owned(),
        ActivatedSkill::None => "no skill became active".to_owned(),
    };
    match expected {
        ExpectedSkill::For(skill) => format!("{count}× {activated} where `{skill}` should have"),
        ExpectedSkill::NotFor(skill) => format!("{count}× {activated} in a case that `{skill}` should stay out of"),
    }
}
