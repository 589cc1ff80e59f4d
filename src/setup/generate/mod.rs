//! Baseline cases for skills that have none: a prompts.csv with an explicit, an implicit and a negative row, made from
//! the skill's front matter. A start to be edited, in the form that other runners of prompts.csv generate too.

use std::collections::BTreeSet;

use crate::cases::case::prompts_csv::COLUMNS;
use crate::cases::catalog::RESPONSE_SCHEMA;
use crate::cases::skill::Skill;

/// The schema that the generated rows ask answers to follow, for repositories that have none.
pub const BUILT_IN_RESPONSE_SCHEMA: &str = include_str!("skill_response.schema.json");

/// Longest description that is copied into a prompt, in characters: agentskills.io allows no longer one.
const LONGEST_DESCRIPTION: usize = crate::lint::LONGEST_DESCRIPTION;

/// What is asked where the skill should stay quiet, and how to answer. No two of these texts share a word, so that
/// whatever word a skill is named by, there is a topic and a form that do not name it.
const UNRELATED: [&str; 3] = [
    "Explain binary search with one sentence.",
    "Why do leaves turn red each autumn? Two short facts suffice.",
    "How many seconds are there between noon & midnight?",
];

/// How to answer: see [`UNRELATED`].
const FORMS: [&str; 2] = [
    "Return a JSON object that matches the given schema, and list the skills you used in `invoked_skills`.",
    "Stick to whichever structure was requested.",
];

/// The prompts.csv of a skill.
#[must_use]
pub fn prompts_csv(skill: &Skill) -> String {
    let about = about(skill);
    let form = FORMS[0];
    let limits = "Limits: run no commands and write no files. Keep it small and finish.";
    let explicit = format!(
        "Use the ${} skill.\n\nGive the smallest answer that is right and can be acted on, for a realistic request of \
         the kind that the skill is for. {form}\n\n{limits}\n\nWhat the skill is for:\n{about}",
        skill.name
    );
    // With its `$` an agent would put the skill before the model, and the case would be explicit.
    let implicit = format!(
        "Do what is asked as you would in a real session. {form}\n\n{limits}\n\nThe request:\n{}",
        about.replace(&format!("${}", skill.name), &skill.name)
    );
    let negative = unrelated(skill);
    let rows =
        [("explicit", true, "120", explicit), ("implicit", true, "120", implicit), ("negative", false, "90", negative)];
    let mut writer = csv::Writer::from_writer(Vec::new());
    // Writing to memory cannot fail, and every record has all columns.
    let _ = writer.write_record(COLUMNS);
    for (id, should_trigger, timeout, prompt) in rows {
        let truth = should_trigger.to_string();
        let _ = writer.write_record(COLUMNS.map(|column| match column {
            "id" => id,
            "should_trigger" | "judge" => truth.as_str(),
            "prompt" => prompt.as_str(),
            "sandbox" => "read-only",
            "timeout_s" => timeout,
            "max_commands" => "0",
            // It brings a check with it: whether `invoked_skills` names the skill.
            "output_schema" => RESPONSE_SCHEMA,
            _ => "",
        }));
    }
    let bytes = writer.into_inner().unwrap_or_default();
    String::from_utf8_lossy(&bytes).into_owned()
}

/// The skill's description as a prompt can hold it.
fn about(skill: &Skill) -> String {
    let lines = skill.description.replace("\r\n", "\n").replace('\r', "\n");
    let plain: String =
        lines.chars().filter(|c| !c.is_control() || matches!(c, '\n' | '\t')).take(LONGEST_DESCRIPTION).collect();
    let plain = plain.trim();
    if plain.is_empty() { "(the skill has no description)".to_owned() } else { plain.to_owned() }
}

/// A request that does not name the skill, about a topic that shares as few words with its description as can be.
fn unrelated(skill: &Skill) -> String {
    let about = words(&format!("{} {}", skill.description, skill.name.replace(['-', '_', '.'], " ")));
    let unnamed = |text: &&str| !words(text).contains(&skill.slug);
    let shared = |topic: &&str| words(topic).intersection(&about).count();
    let topic = UNRELATED.into_iter().filter(unnamed).min_by_key(shared).unwrap_or(UNRELATED[0]);
    let form = FORMS.into_iter().find(unnamed).unwrap_or(FORMS[0]);
    format!("{topic} {form}")
}

/// The words of a text as a skill may be named by them, each with and without the full stops around it.
fn words(text: &str) -> BTreeSet<String> {
    let text = text.to_lowercase();
    let parts = text.split(|c: char| !c.is_alphanumeric() && !matches!(c, '-' | '_' | '.'));
    let both = parts.flat_map(|word| [word, word.trim_matches('.')]);
    both.filter(|word| !word.is_empty()).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn topics_and_forms_share_no_word() {
        let texts: Vec<&str> = UNRELATED.into_iter().chain(FORMS).collect();
        for (at, text) in texts.iter().enumerate() {
            for other in &texts[at + 1..] {
                assert_eq!(words(text).intersection(&words(other)).next(), None, "{text} {other}");
            }
        }
    }
}
