//! A case of any format as the text of a task file.
//!
//! The text is read again and compared with the case. A text that does not ask for the same is an error, so nothing is lost.

use std::path::Path;

use serde_json::{Map, Value as Json};

use crate::cases::case::task_json::{self, CONFIG, FORMAT, ROOT, SKILL};
use crate::cases::case::{Case, CaseFormat, fields};
use crate::settings::ActivationRule;

/// The task file at `path` that says the same as a case of this format; or what a task file cannot say.
pub fn written(case: &Case, format: &CaseFormat, path: &Path) -> Result<String, String> {
    let is_neutral = format.default_mode != FORMAT.default_mode;
    let (mut root, mut config) = (Map::new(), Map::new());
    config.insert(SKILL[usize::from(is_neutral)].to_owned(), case.skill.as_str().into());
    let default = task_json::default_activation(is_neutral);
    let own = Some(case.default_activation).filter(|rule| *rule != default && case.activation.is_none());
    config.extend(own.map(|rule| ("activation".to_owned(), rule.as_str().into())));
    for field in fields::all() {
        let key = field.field().key;
        let object = if ROOT.contains(&key) { &mut root } else { &mut config };
        object.extend(field.written(case).map(|value| (key.to_owned(), value)));
    }
    root.insert(CONFIG.to_owned(), config.into());
    let text = format!("{:#}\n", Json::Object(root));
    let read = task_json::parse(Path::new(""), path, text.as_bytes()).map_err(|problems| {
        let problems = problems.into_iter().map(|problem| problem.message);
        problems.collect::<Vec<_>>().join("; ")
    })?;
    match differing(case, &read) {
        Some(part) => Err(format!("a task file cannot say {part}")),
        None => Ok(text),
    }
}

/// The first part in which two cases differ.
fn differing(case: &Case, other: &Case) -> Option<String> {
    let (case, other) = (as_task(case), as_task(other));
    let (parts, others) = (case.parts(), other.parts());
    let at = (0..parts.len().max(others.len())).find(|at| {
        let [own, read] = [&parts, &others].map(|parts| parts.get(*at).map(|part| (part.name.clone(), part.written())));
        own != read
    })?;
    parts.get(at).or(others.get(at)).map(|part| match &*part.name {
        "least score" => "a score from which on its trials pass".to_owned(),
        "weights" => "a check that decides nothing".to_owned(),
        "assertion" => "an assertion".to_owned(),
        name => match name.strip_prefix("check ") {
            Some(kind) => format!("a check `{kind}` of this form"),
            None => format!("its `{name}`"),
        },
    })
}

/// A case as far as a task file has to say it: what it takes from its format is said, and what comes from elsewhere is left out.
fn as_task(case: &Case) -> Case {
    let mut case = case.clone();
    case.activation = Some(case.activation.unwrap_or(case.default_activation));
    case.default_activation = ActivationRule::default();
    // Who imports a case looks at its servers.
    case.mock_servers = None;
    case.checks.retain(|check| !check.origin.is_of_many_cases());
    // Without a score from which on a trial passes, other weights decide nothing.
    let checks = case.checks.iter_mut().map(|check| &mut check.weight);
    for weight in checks.chain(case.assertions.iter_mut().map(|assertion| &mut assertion.weight)) {
        *weight = weight.filter(|weight| weight.amount <= 0.0);
    }
    case
}
