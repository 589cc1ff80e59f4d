//! Starter cases for skills that have none: a prompts.csv with an explicit, an implicit and a negative row from the skill's front
//! matter. A skill with scripts also gets an end-to-end row. Other runners of prompts.csv generate the same form.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::path::Path;

use crate::cases::catalog::{FoundSkill, RESPONSE_SCHEMA};
use crate::cases::repo_files::RepoFiles;
use crate::skill::Skill;

/// The schema of the answers to generated rows.
pub const BUILT_IN_RESPONSE_SCHEMA: &str = include_str!("skill_response.schema.json");

/// The longest description that is copied into a prompt, in characters: the limit of agentskills.io.
const LONGEST_DESCRIPTION: usize = crate::lint::LONGEST_DESCRIPTION;

/// Requests of negative rows. These texts and [`FORMS`] share no words, so some request and some form never name the skill.
const UNRELATED: [&str; 3] = [
    "Explain binary search with one sentence.",
    "Why do leaves turn red each autumn? Two short facts suffice.",
    "How many seconds are there between noon & midnight?",
];

/// How to answer.
const FORMS: [&str; 2] = [
    "Return a JSON object that matches the given schema, and list the skills you used in `invoked_skills`.",
    "Stick to whichever structure was requested.",
];

/// The directory of a skill's scripts.
const SCRIPTS: &str = "scripts";

/// Extensions of scripts.
const SCRIPT_EXTENSIONS: [&str; 9] = ["py", "sh", "bash", "js", "mjs", "cjs", "ts", "rb", "pl"];

/// The file that an end-to-end case requires.
const REPORT: &str = "end-to-end.md";

/// The script for the end-to-end case, relative to the skill's directory: the first one that SKILL.md names, else the first by name.
pub fn script(found: &FoundSkill, tree: &dyn RepoFiles) -> Option<String> {
    let names = tree.names(&found.skill().folder.join(SCRIPTS)).ok()?;
    let scripts = names.into_iter().filter_map(|name| name.into_string().ok()).filter(|name| is_script(name));
    let paths = scripts.map(|name| format!("{SCRIPTS}/{name}"));
    let text = String::from_utf8_lossy(&found.bytes);
    paths.min_by_key(|path| text.find(path.as_str()).unwrap_or(usize::MAX))
}

/// Whether a file is a script whose name can be in a prompt.
fn is_script(name: &str) -> bool {
    let extension = Path::new(name).extension().and_then(OsStr::to_str);
    extension.is_some_and(|extension| SCRIPT_EXTENSIONS.contains(&extension))
        && !name.starts_with('_')
        && !name.contains(['`', '\n'])
}

/// The prompts.csv of a skill. `script` is for the end-to-end row.
pub fn prompts_csv(skill: &Skill, script: Option<&str>) -> String {
    let about = about(skill);
    let form = FORMS[0];
    let limits = "Limits: run no commands and write no files. Keep it small and finish.";
    let explicit = format!(
        "Use the ${} skill.\n\nGive the smallest answer that is right and can be acted on, for a realistic request of \
         the kind that the skill is for. {form}\n\n{limits}\n\nWhat the skill is for:\n{about}",
        skill.name
    );
    // With a `$`, the agent would load the skill, and the case would be explicit.
    let implicit = format!(
        "Do what is asked as you would in a real session. {form}\n\n{limits}\n\nThe request:\n{}",
        about.replace(&format!("${}", skill.name), &skill.name)
    );
    let mut rows = vec![
        answer_row("explicit", "true", "120", explicit),
        answer_row("implicit", "true", "120", implicit),
        answer_row("negative", "false", "90", unrelated(skill)),
    ];
    rows.extend(script.map(|script| end_to_end_row(skill, script)));
    let mut writer = csv::Writer::from_writer(Vec::new());
    // Writing to memory cannot fail, and every record has all columns.
    let _ = writer.write_record(COLUMNS);
    for row in &rows {
        let _ = writer.write_record(COLUMNS.map(|column| row.get(column).map_or("", String::as_str)));
    }
    let bytes = writer.into_inner().unwrap_or_default();
    String::from_utf8_lossy(&bytes).into_owned()
}

/// The columns of a generated prompts.csv.
const COLUMNS: [&str; 19] = [
    "id",
    "should_trigger",
    "prompt",
    "sandbox",
    "timeout_s",
    "max_turns",
    "max_commands",
    "max_input_tokens",
    "max_output_tokens",
    "max_total_tokens",
    "output_schema",
    "judge",
    "described",
    "require_files",
    "must_include",
    "must_not_include",
    "fixture",
    "trials",
    "threshold",
];

/// The cells of a row by column. Other cells are empty.
type GeneratedRow = BTreeMap<&'static str, String>;

fn row<const N: usize>(prompt: String, cells: [(&'static str, &str); N]) -> GeneratedRow {
    let mut row: GeneratedRow = cells.into_iter().map(|(column, cell)| (column, cell.to_owned())).collect();
    row.insert("prompt", prompt);
    row
}

/// A row that asks only for an answer. Its schema brings a check: whether `invoked_skills` names the skill.
fn answer_row(id: &str, should_trigger: &str, timeout_s: &str, prompt: String) -> GeneratedRow {
    let cells = [
        ("id", id),
        ("should_trigger", should_trigger),
        ("sandbox", "read-only"),
        ("timeout_s", timeout_s),
        ("max_commands", "0"),
        ("output_schema", RESPONSE_SCHEMA),
        ("judge", should_trigger),
    ];
    row(prompt, cells)
}

/// A row that requires a file: the agent runs a script of the skill and writes a report.
fn end_to_end_row(skill: &Skill, script: &str) -> GeneratedRow {
    let prompt = format!(
        "Use the ${} skill.\n\nTask: run the skill's script `{script}` once, in the working directory, on the \
         smallest example that makes sense; make what it needs. Then write the file `{REPORT}`: the command that \
         you ran, and the names of the files that it made or changed.\n\n\
         Limits: change nothing outside the working directory, install and download nothing.",
        skill.name
    );
    let cells = [
        ("id", "end-to-end"),
        ("should_trigger", "true"),
        ("sandbox", "workspace-write"),
        ("timeout_s", "300"),
        ("max_commands", "12"),
        ("judge", "false"),
        ("require_files", REPORT),
    ];
    row(prompt, cells)
}

/// The skill's description, for a prompt.
fn about(skill: &Skill) -> String {
    let lines = skill.description.replace("\r\n", "\n").replace('\r', "\n");
    let plain: String =
        lines.chars().filter(|c| !c.is_control() || matches!(c, '\n' | '\t')).take(LONGEST_DESCRIPTION).collect();
    let plain = plain.trim();
    if plain.is_empty() { "(the skill has no description)".to_owned() } else { plain.to_owned() }
}

/// A request that does not name the skill. Its topic shares as few words as possible with the skill's description.
fn unrelated(skill: &Skill) -> String {
    let about = words(&format!("{} {}", skill.description, skill.name.replace(['-', '_', '.'], " ")));
    let names_skill = |text: &str| words(text).contains(&skill.slug);
    let topics = UNRELATED.into_iter().filter(|topic| !names_skill(topic));
    let topic = topics.min_by_key(|topic| words(topic).intersection(&about).count()).unwrap_or(UNRELATED[0]);
    let form = FORMS.into_iter().find(|form| !names_skill(form)).unwrap_or(FORMS[0]);
    format!("{topic} {form}")
}

/// The lowercase words of a text, each with and without the dots around it.
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
