//! `cases.json` of a routing check: for each prompt, which of several skills loads.
//!
//! ```json
//! [ { "case_id": "greet-ada", "prompt": "Please greet Ada", "expected_skill": "greeting",
//!     "required_all_evidence": ["greeting", "greeting/SKILL.md"], "required_any_evidence": ["tool_use"],
//!     "disallowed_skills": ["weather"], "optional_skills": ["names"] } ]
//! ```
//!
//! The check searches all that an agent's program printed. A word of the evidence that is a skill, or the path of its SKILL.md,
//! shows that the skill loaded. Words of any tool's call are in every trial in which a skill loads.

use super::document::Node;
use super::evals_json::NOTES;
use super::foreign_reader::Meaning::{By, Field, Known};
use super::foreign_reader::{ForeignReader, KeyTable};
use super::graders::said;
use crate::cases::case::{CaseFormat, FileCases, FileKeys, ForeignFiles};
use crate::checks::pattern::{Pattern, Style};
use crate::checks::{self, CaseCheck, TextPlace};
use crate::skill::SKILL_FILE;

/// Prompts, each with the skill that loads.
pub static FORMAT: CaseFormat = CaseFormat::foreign(
    "routing case",
    ForeignFiles {
        names: &[],
        possible_names: &["cases.json"],
        mark: EXPECTED,
        keys: &["case_id", "prompt", EXPECTED],
        about: "cases of [a routing check](contributing/field.md#what-a-routing-case-asks-for)",
        all_keys: || FileKeys::of(&[&CASE]),
        parse,
    },
);

/// The key of the skill that loads.
const EXPECTED: &str = "expected_skill";

static CASE: KeyTable = KeyTable::of(&[
    // How sure the check must be, and skills that may load, are only known.
    ("case_id optional_skills disallowed_min_tier expected_skill_min_tier", Known),
    ("prompt", Field("prompt")),
    (EXPECTED, By(expected)),
    ("required_all_evidence required_evidence required_skills required_files", By(all)),
    ("required_any_evidence", By(any)),
    ("disallowed_skills", By(disallowed)),
])
.and_notes(NOTES);

fn parse(mut reader: ForeignReader<'_>) -> Option<FileCases> {
    let cases = reader.root.elements()?;
    let is_ours = |case: &Node| ["case_id", "prompt", EXPECTED].iter().all(|key| case.get(key).is_some());
    cases.iter().any(is_ours).then(|| reader.tasks(cases, "case_id", "prompt", &CASE))
}

fn expected(reader: &mut ForeignReader<'_>, case: &Node, key: &'static str) {
    if let Some(skill) = reader.required_text(case, key) {
        reader.case.skill = reader.file.skill_slug(skill);
        reader.case.should_trigger = Some(true);
    }
}

/// Words that must all be there.
fn all(reader: &mut ForeignReader<'_>, case: &Node, key: &'static str) {
    for word in reader.text_list(case, key) {
        let path = word.strip_suffix(SKILL_FILE).map_or(&*word, |path| path.trim_end_matches('/'));
        let skill = reader.file.skill_slug(path);
        if skill == reader.case.skill {
            continue;
        }
        let is_here = reader.file.skills.contains(&skill.as_str());
        let word = || said(TextPlace::All, Pattern { text: word.clone(), style: Style::Literal }, false);
        add(reader, case, key, if is_here { checks::activates(vec![skill], false) } else { word() });
    }
}

/// Words of which one must be there, but for those of any tool's call.
fn any(reader: &mut ForeignReader<'_>, case: &Node, key: &'static str) {
    let words = reader.text_list(case, key);
    if !words.is_empty() && !words.iter().any(|word| ["tool_use", "command_execution"].contains(&&**word)) {
        let pattern = Pattern::one_of(words.iter().map(|word| (word.as_str(), true)));
        add(reader, case, key, said(TextPlace::All, pattern, false));
    }
}

fn disallowed(reader: &mut ForeignReader<'_>, case: &Node, key: &'static str) {
    let skills = reader.text_list(case, key);
    if !skills.is_empty() {
        let slugs = skills.iter().map(|skill| reader.file.skill_slug(skill)).collect();
        add(reader, case, key, checks::rejects(slugs));
    }
}

fn add(reader: &mut ForeignReader<'_>, case: &Node, key: &'static str, check: CaseCheck) {
    if let Some(value) = case.get(key) {
        reader.located(key, value, |reader| reader.case.checks.push(check));
    }
}
