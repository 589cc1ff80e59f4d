//! How well skills trigger, as text.

use std::fmt::Write;

use crate::rate::fraction;
use crate::results::summary::Summary;
use crate::results::triggering::{ActivatedSkill, ExpectedSkill};
use crate::stats::proportion::Rate;
use crate::text::cut;
use crate::text::escape;

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
        let _ = writeln!(text, "activation in mode {mode}:");
        let width = cut::column(skills.iter().map(|skill| skill.skill.chars().count()));
        for skill in &skills {
            let (wanted, activated) = (skill.recall.rate, skill.precision.rate);
            let not_wanted = Rate::new(activated.trials - activated.passed, confusion.trials_without(&skill.skill));
            let parts = [("when wanted", wanted), ("when not wanted", not_wanted)];
            let parts = parts.into_iter().filter(|(_, rate)| rate.trials > 0);
            let parts: Vec<String> = parts.map(|(when, rate)| format!("{when} {}", fraction(rate))).collect();
            let _ = writeln!(text, "  {:width$}  activated {}", escape::line(&skill.skill), parts.join(", "));
        }
        for (expected, activated, count) in mistakes.iter().take(MAX_MISTAKES) {
            let _ = writeln!(text, "  {}", escape::line(&mistake(expected, activated, *count)));
        }
        let more = mistakes.len().saturating_sub(MAX_MISTAKES);
        if more > 0 {
            let _ = writeln!(text, "  and {more} more kinds of mistake; --json has all");
        }
    }
    text
}

fn mistake(expected: &ExpectedSkill, activated: &ActivatedSkill, count: u64) -> String {
    let activated = match activated {
        ActivatedSkill::Skill(skill) => format!("`{skill}` activated"),
        ActivatedSkill::Several => "several skills activated".to_owned(),
        ActivatedSkill::None => "no skill activated".to_owned(),
    };
    match expected {
        ExpectedSkill::For(skill) => format!("{count}× {activated}, expected `{skill}`"),
        ExpectedSkill::NotFor(skill) => format!("{count}× {activated}, expected `{skill}` not to activate"),
    }
}
