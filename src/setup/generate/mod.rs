//! Baseline cases for skills that have none: a prompts.csv with an explicit, an implicit and a negative row, made from
//! the skill's front matter, and one that goes end to end where the skill has scripts. A start to be edited, in the form
//! that other runners of prompts.csv generate too.

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::path::Path;

use crate::cases::catalog::{FoundSkill, RESPONSE_SCHEMA};
use crate::cases::repo_files::RepoFiles;
use crate::skill::Skill;

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

/// Where a skill has its scripts, from its folder.
const SCRIPTS: &str = "scripts";

/// How names of scripts end.
const SCRIPT_ENDS: [&str; 9] = ["py", "sh", "bash", "js", "mjs", "cjs", "ts", "rb", "pl"];

/// What an agent is to leave behind where it goes end to end.
const REPORT: &str = "end-to-end.md";

/// The script of a skill that a case can have run: the first that its SKILL.md names, else the first by name. From the
/// skill's folder.
#[must_use]
pub fn script(found: &FoundSkill, tree: &dyn RepoFiles) -> Option<String> {
    let names = tree.names(&found.skill().folder.join(SCRIPTS)).ok()?;
    let is_script = |name: &OsString| {
        let end = Path::new(name).extension().and_then(OsStr::to_str);
        end.is_some_and(|end| SCRIPT_ENDS.contains(&end)) && !name.as_encoded_bytes().starts_with(b"_")
    };
    let plain = names.into_iter().filter(is_script).filter_map(|name| name.into_string().ok());
    let text = String::from_utf8_lossy(&found.bytes).into_owned();
    let paths = plain.map(|name| format!("{SCRIPTS}/{name}"));
    // What cannot stand in a prompt as it is would be another file.
    paths.filter(|path| !path.contains(['`', '\n'])).min_by_key(|path| text.find(path.as_str()).unwrap_or(usize::MAX))
}

/// The prompts.csv of a skill that has this `script`, if any.
#[must_use]
pub fn prompts_csv(skill: &Skill, script: Option<&str>) -> String {
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
    let mut rows = vec![
        GeneratedCase::answered("explicit", true, "120", explicit),
        GeneratedCase::answered("implicit", true, "120", implicit),
        GeneratedCase::answered("negative", false, "90", negative),
    ];
    rows.extend(script.map(|script| end_to_end(skill, script)));
    let mut writer = csv::Writer::from_writer(Vec::new());
    // Writing to memory cannot fail, and every record has all columns.
    let _ = writer.write_record(COLUMNS);
    for row in rows {
        let _ = writer.write_record(COLUMNS.map(|column| row.cell(column)));
    }
    let bytes = writer.into_inner().unwrap_or_default();
    String::from_utf8_lossy(&bytes).into_owned()
}

/// The columns of a generated prompts.csv: those that authors fill in most.
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

/// A row, by the columns that the generated ones differ in.
struct GeneratedCase {
    id: &'static str,
    should_trigger: &'static str,
    prompt: String,
    sandbox: &'static str,
    timeout_s: &'static str,
    max_commands: &'static str,
    output_schema: &'static str,
    judge: &'static str,
    require_files: &'static str,
}

impl GeneratedCase {
    /// One that asks for an answer and nothing else.
    fn answered(id: &'static str, should_trigger: bool, timeout_s: &'static str, prompt: String) -> Self {
        let truth = if should_trigger { "true" } else { "false" };
        Self {
            id,
            should_trigger: truth,
            prompt,
            sandbox: "read-only",
            timeout_s,
            max_commands: "0",
            // It brings a check with it: whether `invoked_skills` names the skill.
            output_schema: RESPONSE_SCHEMA,
            judge: truth,
            require_files: "",
        }
    }

    fn cell(&self, column: &str) -> &str {
        match column {
            "id" => self.id,
            "should_trigger" => self.should_trigger,
            "prompt" => &self.prompt,
            "sandbox" => self.sandbox,
            "timeout_s" => self.timeout_s,
            "max_commands" => self.max_commands,
            "output_schema" => self.output_schema,
            "judge" => self.judge,
            "require_files" => self.require_files,
            _ => "",
        }
    }
}

/// A row whose success lies in the workspace: a script of the skill was run, and what came of it written down.
fn end_to_end(skill: &Skill, script: &str) -> GeneratedCase {
    let prompt = format!(
        "Use the ${} skill.\n\nTask: run the skill's script `{script}` once, in the working directory, on the \
         smallest example that makes sense; make what it needs. Then write the file `{REPORT}`: the command that \
         you ran, and the names of the files that it made or changed.\n\n\
         Limits: change nothing outside the working directory, install and download nothing.",
        skill.name
    );
    GeneratedCase {
        id: "end-to-end",
        should_trigger: "true",
        prompt,
        sandbox: "workspace-write",
        timeout_s: "300",
        max_commands: "12",
        output_schema: "",
        judge: "false",
        require_files: REPORT,
    }
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
