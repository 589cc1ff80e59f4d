//! How well skills trigger, as people read it.

use std::fmt::Write;

use crate::report::rate::{fraction, measured};
use crate::results::summary::Summary;
use crate::results::triggering::{ActivatedSkill, Confusion, ExpectedSkill, Share};
use crate::text::safe;

/// Most mistakes that are listed; the others are counted.
const MOST: usize = 20;

/// For each mode a line for each skill, and what became active in place of what should have. Empty where there is nothing to
/// tell apart: no skill of which it was asked both whether it triggers and whether it stays quiet, and no mistake.
#[must_use]
pub fn triggering(summary: &Summary) -> String {
    let mut text = String::new();
    for (mode, found) in &summary.triggering {
        let mistakes = found.mistakes();
        let negatives = found.cells.keys().any(|(asked, _)| matches!(asked, ExpectedSkill::NotFor(_)));
        if found.skills().is_empty() || (!negatives && mistakes.is_empty()) {
            continue;
        }
        let _ = writeln!(text, "triggering in the mode {mode}:");
        lines(&mut text, found);
        for (asked, active, count) in mistakes.iter().take(MOST) {
            let _ = writeln!(text, "  {}", safe::line(&mistake(asked, active, *count)));
        }
        let more = mistakes.len().saturating_sub(MOST);
        if more > 0 {
            let _ = writeln!(text, "  and {more} more kinds of mistake; --json has all");
        }
    }
    text
}

fn lines(text: &mut String, found: &Confusion) {
    let skills = found.skills();
    let width = skills.iter().map(|skill| skill.skill.chars().count()).max().unwrap_or_default();
    for skill in &skills {
        let f1 = skill.f1.zip(skill.f1_interval);
        let f1 =
            f1.map_or_else(|| "-".to_owned(), |(f1, within)| format!("{f1:.2} ({:.2}–{:.2})", within.low, within.high));
        let (precision, recall) = (of(skill.precision), of(skill.recall));
        let _ =
            writeln!(text, "  {:width$}  precision {precision}  recall {recall}  F1 {f1}", safe::line(&skill.skill));
    }
}

fn of(share: Share) -> String {
    match (share.rate.trials, measured(share.rate)) {
        (0, _) => "-".to_owned(),
        (_, Some(percent)) => format!("{} {percent}", fraction(share.rate)),
        (_, None) => fraction(share.rate),
    }
}

fn mistake(asked: &ExpectedSkill, active: &ActivatedSkill, count: u64) -> String {
    let what = match active {
        ActivatedSkill::Skill(skill) => format!("`{skill}` became active"),
        ActivatedSkill::Several => "several skills became active".to_owned(),
        ActivatedSkill::None => "no skill became active".to_owned(),
    };
    match asked {
        ExpectedSkill::For(skill) => format!("{count}× {what} where `{skill}` should have"),
        ExpectedSkill::NotFor(skill) => format!("{count}× {what} in a case that `{skill}` should stay out of"),
    }
}
