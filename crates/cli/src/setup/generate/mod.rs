//! First cases for skills: what can be written without an agent, and what an agent drafts.

pub mod drafted;
pub mod review;

use std::path::Path;

use crate::cases::case::prompts_csv::parse;
use crate::cases::catalog::{Catalog, FoundSkill, PROMPTS, evals_folder};
use crate::cases::repo_files::RepoFiles;
use crate::lint::{self, SkillWords, names_skill};
use crate::skill::Skill;
use crate::text::diagnostic::{Code, Diagnostic, SourceLocation};

/// The columns that every generated file has.
const COLUMNS: [&str; 5] = ["id", "should_trigger", "prompt", "sandbox", "must_include"];

/// The column for who wrote a row, if that was an agent.
const AUTHOR: &str = "x_author";

/// A case before it is in a file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GeneratedCase {
    pub id: String,
    pub should_trigger: bool,
    pub prompt: String,
    /// Who wrote it, if not a person.
    pub author: Option<String>,
}

/// A prompts.csv with these cases behind those of `old`, of which every byte stays: rows get empty cells for the columns that the
/// header lacks.
pub fn appended(old: &str, drafts: &[GeneratedCase]) -> Result<String, csv::Error> {
    let mut reader = csv::ReaderBuilder::new().has_headers(false).flexible(true).from_reader(old.as_bytes());
    let (mut record, mut names, mut text, mut done) = (csv::StringRecord::new(), Vec::new(), String::new(), 0);
    let mut more = String::new();
    while reader.read_record(&mut record)? {
        if names.is_empty() {
            names = record.iter().map(|name| name.trim().trim_start_matches('\u{feff}').to_owned()).collect();
            let needs_author = drafts.iter().any(|draft| draft.author.is_some());
            let needed = ["sandbox"].into_iter().chain(needs_author.then_some(AUTHOR));
            let lacking: Vec<&str> = needed.filter(|name| !names.iter().any(|known| known == name)).collect();
            more = lacking.iter().flat_map(|name| [",", name]).collect();
            names.extend(lacking.into_iter().map(str::to_owned));
        }
        let end = usize::try_from(reader.position().byte()).unwrap_or(old.len()).min(old.len());
        let (row, break_after) = split_at_line_end(old.get(done..end).unwrap_or_default());
        text.extend([row, &more, break_after]);
        done = end;
        // Behind the header, each row gets cells for the names that were added.
        more.retain(|c| c == ',');
    }
    text.push_str(old.get(done..).unwrap_or_default());
    let is_crlf = old.contains("\r\n");
    if !text.ends_with(['\n', '\r']) {
        text.push_str(if is_crlf { "\r\n" } else { "\n" });
    }
    let line_end = if is_crlf { csv::Terminator::CRLF } else { csv::Terminator::Any(b'\n') };
    let mut writer = csv::WriterBuilder::new().terminator(line_end).from_writer(Vec::new());
    for draft in drafts {
        writer.write_record(names.iter().map(|name| draft.cell(name)))?;
    }
    text.push_str(&String::from_utf8_lossy(&writer.into_inner().unwrap_or_default()));
    Ok(text)
}

/// A row and the line breaks behind it.
fn split_at_line_end(row: &str) -> (&str, &str) {
    row.split_at(row.trim_end_matches(['\r', '\n']).len())
}

impl GeneratedCase {
    /// Its cell in a column. Its trials write nothing, and its author adds what an answer must contain.
    fn cell(&self, column: &str) -> &str {
        match column {
            "id" => &self.id,
            "should_trigger" if self.should_trigger => "true",
            "should_trigger" => "false",
            "prompt" => &self.prompt,
            "sandbox" => "read-only",
            AUTHOR => self.author.as_deref().unwrap_or_default(),
            _ => "",
        }
    }
}

/// A prompts.csv with these cases.
pub fn prompts_csv(drafts: &[GeneratedCase]) -> String {
    let has_author = drafts.iter().any(|draft| draft.author.is_some());
    let columns: Vec<&str> = COLUMNS.into_iter().chain(has_author.then_some(AUTHOR)).collect();
    let mut writer = csv::Writer::from_writer(Vec::new());
    // Writing to memory cannot fail, and every record has all columns.
    let _ = writer.write_record(&columns);
    for draft in drafts {
        let _ = writer.write_record(columns.iter().map(|column| draft.cell(column)));
    }
    let bytes = writer.into_inner().unwrap_or_default();
    String::from_utf8_lossy(&bytes).into_owned()
}

/// What lint would say about a draft for the skill `slug` once it is in a file.
pub fn problems(draft: &GeneratedCase, slug: &str, catalog: &Catalog, tree: &dyn RepoFiles) -> Vec<Diagnostic> {
    let path = evals_folder(slug).join(PROMPTS);
    let parsed = parse(Path::new(""), &path, prompts_csv(std::slice::from_ref(draft)).into_bytes(), &[]);
    let mut problems = parsed.problems;
    for found in parsed.rows.into_iter().map(|row| row.found(slug)) {
        problems.extend(match found.case() {
            Ok(case) => lint::case(&found, case, catalog, tree, false),
            Err(problems) => problems.to_vec(),
        });
    }
    if !draft.should_trigger && !SkillWords::of(catalog).come_near(&draft.prompt, slug) {
        let message = format!("this prompt is near no skill: a model ignores `{slug}` without a choice");
        problems.push(Diagnostic::new(Code::FarNegatives, SourceLocation::file(path), message));
    }
    problems
}

// Cases that can be written without an agent: one that calls the skill, and near misses made from what the skills'
// authors wrote. No implicit case is among them: only somebody who knows its users can write what they ask.

/// Maximum number of neighbors with a near miss each.
const NEIGHBORS: usize = 3;

/// The most characters of a task that is quoted from a description.
const LONGEST_TASK: usize = 300;

/// How descriptions begin to say what a skill is not for.
const EXCLUSIONS: [&str; 5] =
    ["Not for ", "Do not use it for ", "Do not use for ", "Don't use it for ", "Don't use for "];

/// Nobody needs a skill to answer these. They share no word, so one of them never names the skill.
const FAR: [&str; 2] = [
    "What is the difference between a stack and a queue? Answer in one sentence.",
    "Why do leaves turn red? Two short facts suffice.",
];

pub fn cases(found: &FoundSkill, catalog: &Catalog) -> Vec<GeneratedCase> {
    let skill = found.skill();
    let explicit = format!("Use the ${} skill. Show on a small example of your own what it does.", skill.name);
    let mut cases = vec![case("explicit", true, explicit)];
    cases.extend(excluded(&skill.description).map(|task| case("excluded", false, help_with(&task))));
    for slug in lint::nearest_skills(catalog, &skill.slug, NEIGHBORS) {
        let Some(neighbor) = catalog.skill(slug).map(FoundSkill::skill) else { continue };
        let task = own_task(catalog, neighbor).or_else(|| Some(help_with(&first_sentence(&neighbor.description)?)));
        cases.extend(task.map(|task| case(&format!("not-{slug}"), false, task)));
    }
    let names_skill = |prompt: &str| lint::has_word(prompt, &skill.slug);
    cases.retain(|case| case.should_trigger || !names_skill(&case.prompt));
    if cases.len() == 1 {
        let far = FAR.into_iter().find(|prompt| !names_skill(prompt)).unwrap_or(FAR[0]);
        cases.push(case("negative", false, far.to_owned()));
    }
    cases
}

fn case(id: &str, should_trigger: bool, prompt: String) -> GeneratedCase {
    GeneratedCase { id: id.to_owned(), should_trigger, prompt, author: None }
}

/// A prompt of the skill's own cases that does not name it: what its users ask is a near miss for its neighbors.
fn own_task(catalog: &Catalog, skill: &Skill) -> Option<String> {
    if !catalog.skill(&skill.slug)?.curated {
        return None;
    }
    let cases = catalog.cases_of(&skill.slug).filter_map(|found| found.case().ok());
    let mut tasks = cases.filter(|case| case.should_trigger && case.fixture.is_none());
    tasks.find(|case| !names_skill(&case.prompt, skill)).map(|case| case.prompt.clone())
}

fn help_with(task: &str) -> String {
    format!("I need help with this. What do you have to know before you begin?\n\n{task}")
}

/// What the description says that the skill is not for.
fn excluded(description: &str) -> Option<String> {
    let description = plain(description);
    let rest = EXCLUSIONS.iter().find_map(|start| Some(description.split_once(start)?.1))?;
    first_sentence(rest)
}

/// The first sentence of a text, if it has one.
fn first_sentence(text: &str) -> Option<String> {
    let text = plain(text);
    let ends = text.match_indices(". ").map(|(at, _)| at + 1);
    // An abbreviation ends no sentence.
    let mut ends = ends.filter(|end| text[*end..].trim_start().starts_with(char::is_uppercase));
    let sentence = text.get(..ends.next().unwrap_or(text.len()))?;
    let sentence: String = sentence.chars().take(LONGEST_TASK).collect();
    (!sentence.is_empty()).then_some(sentence)
}

/// The text on one line, without characters that a terminal obeys.
fn plain(text: &str) -> String {
    let words = text.split(|c: char| c.is_whitespace() || c.is_control()).filter(|word| !word.is_empty());
    words.collect::<Vec<_>>().join(" ")
}
