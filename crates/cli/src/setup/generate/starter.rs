//! Cases that can be written without an agent: one that calls the skill, and near misses made from what the skills'
//! authors wrote. No implicit case is among them: only somebody who knows its users can write what they ask.

use crate::cases::catalog::{Catalog, FoundSkill};
use crate::lint::{self, names_skill};
use crate::skill::Skill;

use super::GeneratedCase;

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
