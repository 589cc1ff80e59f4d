//! The three cases of a skill that has none of its own: explicit, implicit, negative.
//!
//! Texts and limits are those of earlier runners of prompts.csv, so that results can be compared.

use crate::cases::case::fields::CaseDraft;
use crate::cases::case::{Case, CaseFormat};
use crate::checks;
use crate::profile::DEFAULT_MODE;
use crate::skill::{SKILL_FILE, Skill};
use crate::text::diagnostic::SourceLocation;
use crate::text::name::RelativePath;
use crate::trial::input_file::Sandbox;

/// How many commands the explicit case allows, in its prompt and in its check.
const EXPLICIT_COMMANDS: u64 = 3;

/// Built-in cases run under the default agent unless chosen otherwise.
pub static FORMAT: CaseFormat =
    CaseFormat { name: "built-in case", default_mode: DEFAULT_MODE, files: None, foreign: None };

/// The built-in cases of `skill`, whose answers must follow `schema` if there is one.
pub fn cases(skill: &Skill, schema: Option<&RelativePath>) -> Vec<Case> {
    let scenario = if skill.description.is_empty() { "(no description provided)" } else { skill.description.as_str() };
    let explicit = format!(
        "Use the ${} skill.\n\n\
         Goal: Demonstrate the skill on a small, realistic scenario.\n\n\
         Constraints:\n\
         - Keep it small and finish cleanly.\n\
         - Prefer a structured, actionable response.\n\
         - Do not run shell commands or write files unless the skill clearly requires it; if you do, keep it to <= {EXPLICIT_COMMANDS} \
         commands.\n\
         - Do not download/clone large repos or install big dependencies.\n\n\
         Scenario:\n{scenario}",
        skill.name
    );
    let implicit = format!(
        "Do the following task in a small, reliable, repeatable way. Do not mention any skill by name.\n\n{scenario}"
    );
    let negative = "Do a tiny unrelated edit: create a file named `UNRELATED.txt` containing the single line `ok`.\n\
                    Do not scaffold projects or run setup workflows.";
    let mut cases = vec![
        case(skill, schema, "smoke-explicit", true, explicit, EXPLICIT_COMMANDS),
        case(skill, schema, "smoke-implicit", true, implicit, 0),
        case(skill, schema, "smoke-negative", false, negative.to_owned(), 0),
    ];
    // Models cannot activate such a skill by themselves.
    cases.retain(|case| !skill.user_only || case.id != "smoke-implicit");
    cases
}

impl Case {
    /// The case without a prompt that asks only whether this skill activates.
    pub fn of_activation(skill: &Skill) -> Self {
        let origin = SourceLocation::file(skill.folder.join(SKILL_FILE));
        CaseDraft::new(&skill.slug, "activation".to_owned(), origin).finish()
    }
}

fn case(
    skill: &Skill,
    schema: Option<&RelativePath>,
    id: &str,
    should_trigger: bool,
    prompt: String,
    max_commands: u64,
) -> Case {
    let mut draft = CaseDraft::new(&skill.slug, id.to_owned(), SourceLocation::file(skill.folder.join(SKILL_FILE)));
    draft.should_trigger = Some(should_trigger);
    draft.prompt = prompt;
    draft.sandbox = Sandbox::ReadOnly;
    draft.output_schema = schema.cloned();
    draft.checks = vec![checks::max_commands(max_commands)];
    draft.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_timeout_of_built_in_cases_is_that_of_the_run() {
        let skill = Skill {
            name: "tidy".to_owned(),
            slug: "tidy".to_owned(),
            description: String::new(),
            folder: "skills/tidy".into(),
            user_only: false,
            model_only: false,
            faults: Vec::new(),
        };
        assert!(cases(&skill, None).iter().all(|case| case.timeout.is_none()));
    }
}
