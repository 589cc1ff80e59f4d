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

use super::foreign_tasks::ForeignTasks;
use crate::cases::case::document::{Document, Node};
use crate::cases::case::evals_json::NOTES;
use crate::cases::case::fields::CaseDraft;
use crate::cases::case::{CaseFormat, FileCases, ForeignFile, ForeignFiles};
use crate::checks::pattern::{Pattern, Style};
use crate::checks::{self, TextPlace};
use crate::profile::DEFAULT_MODE;
use crate::skill::SKILL_FILE;

/// Prompts, each with the skill that loads.
pub static FORMAT: CaseFormat = CaseFormat {
    name: "routing case",
    default_mode: DEFAULT_MODE,
    files: None,
    foreign: Some(ForeignFiles {
        names: &[],
        possible_names: &["cases.json"],
        mark: EXPECTED,
        keys: &["case_id", "prompt", EXPECTED],
        parse,
    }),
};

/// The key of the skill that loads.
const EXPECTED: &str = "expected_skill";

/// The key of the skills of which none may load.
const DISALLOWED: &str = "disallowed_skills";

/// The keys of words that must all be there.
const ALL: [&str; 4] = ["required_all_evidence", "required_evidence", "required_skills", "required_files"];

/// The key of words of which one must be there.
const ANY: &str = "required_any_evidence";

/// Words of any tool's call.
const CALLS: [&str; 2] = ["tool_use", "command_execution"];

/// Keys that ask for nothing: how sure the check must be, and skills that may load.
const OPEN: [&str; 3] = ["optional_skills", "disallowed_min_tier", "expected_skill_min_tier"];

fn parse(file: &ForeignFile<'_>, document: Document<'_>, root: &Node) -> Option<FileCases> {
    let cases = root.elements()?;
    if !cases.iter().any(|case| ["case_id", "prompt", EXPECTED].iter().all(|key| case.get(key).is_some())) {
        return None;
    }
    let list = ForeignTasks {
        format: &FORMAT,
        file,
        skill: String::new(),
        shared: Vec::new(),
        name: "case_id",
        prompt: "prompt",
    };
    Some(list.read(document, cases, |document, case, draft| read(document, file, case, draft)))
}

fn read(document: &mut Document<'_>, file: &ForeignFile<'_>, case: &Node, draft: &mut CaseDraft) {
    let known = [&["case_id", "prompt", EXPECTED, DISALLOWED, ANY][..], &ALL, &OPEN].concat();
    draft.case.unsupported.extend(document.unsupported_keys(case, &known, &NOTES));
    if let Some(prompt) = document.required_text(case, "prompt") {
        prompt.clone_into(&mut draft.case.prompt);
    }
    if let Some(skill) = document.required_text(case, EXPECTED) {
        draft.case.skill = file.skill_slug(skill);
        draft.should_trigger(Some(true));
    }
    for key in ALL {
        for word in document.text_list(case, key) {
            let skill = file.skill_slug(word.strip_suffix(SKILL_FILE).map_or(&word, |path| path.trim_end_matches('/')));
            if skill == draft.case.skill {
                continue;
            }
            let check = if file.skills.contains(&skill.as_str()) {
                checks::activates(vec![skill], false)
            } else {
                checks::text(TextPlace::All, Pattern { text: word, style: Style::Literal }.into())
            };
            add(document, case, key, check, draft);
        }
    }
    let words = document.text_list(case, ANY);
    if !words.is_empty() && !CALLS.iter().any(|call| words.iter().any(|word| word == call)) {
        let pattern = Pattern::one_of(words.iter().map(|word| (word.as_str(), true)));
        add(document, case, ANY, checks::text(TextPlace::All, pattern.into()), draft);
    }
    let disallowed: Vec<String> =
        document.text_list(case, DISALLOWED).iter().map(|skill| file.skill_slug(skill)).collect();
    if !disallowed.is_empty() {
        add(document, case, DISALLOWED, checks::rejects(disallowed), draft);
    }
}

fn add(document: &Document<'_>, case: &Node, key: &'static str, check: checks::Check, draft: &mut CaseDraft) {
    let mut checks = [check];
    if let Some(value) = case.get(key) {
        document.locate(key, value, &mut checks);
    }
    draft.case.checks.extend(checks);
}
