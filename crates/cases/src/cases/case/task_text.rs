//! A case of any format as the text of a task file.
//!
//! The text is read again and compared with the case. A text that does not ask for the same is an error, so nothing is lost.

use std::path::Path;

use serde_json::{Map, Value as Json};

use crate::cases::case::task_json::{self, CONFIG, FORMAT, ROOT, SKILL};
use crate::cases::case::{Case, CaseFormat, change_list, fields, mock_list};
use crate::trial::outcome::Weight;

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
    let (parts, others) = (parts(case), parts(other));
    let at = (0..parts.len().max(others.len())).find(|at| parts.get(*at) != others.get(*at))?;
    parts.get(at).or(others.get(at)).map(|(name, _)| name.clone())
}

/// What a case asks for, part by part: a name, and a text that differs if the part does. Its id and its place are none.
fn parts(case: &Case) -> Vec<(String, String)> {
    /// The parts with the names of their fields. Every other field is named too, so that none is forgotten.
    macro_rules! named {
        ($($part:ident),+) => {{
            let Case { id: _, origin: _, activation: _, default_activation: _, least_score: _, during: _, mocks: _, mock_servers: _, assertions: _, checks: _, $($part),+ } = case;
            vec![$((concat!("its `", stringify!($part), "`").to_owned(), format!("{:?}", $part))),+]
        }};
    }
    #[rustfmt::skip]
    let mut parts = named![
        skill, should_trigger, prompt, forced, system_prompt, sandbox, timeout, max_turns, fixture, output_schema,
        judge, repetition, unsupported, files, tags, solution, answer, setup, follow_ups, user, history, tools, env
    ];
    let activation = case.activation.unwrap_or(case.default_activation);
    parts.push(("its `activation`".to_owned(), activation.as_str().to_owned()));
    parts.push(("its `during`".to_owned(), change_list::written(&case.during).to_string()));
    parts.push(("its `mocks`".to_owned(), mock_list::written(&case.mocks).to_string()));
    parts.push(("a score from which on its trials pass".to_owned(), format!("{:?}", case.least_score)));
    // Without such a score, other weights decide nothing.
    let is_free = |weight: Option<Weight>| weight.is_some_and(|weight| weight.amount <= 0.0);
    let free =
        case.assertions.iter().map(|assertion| assertion.weight).chain(case.checks.iter().map(|check| check.weight));
    let free = free.filter(|weight| is_free(*weight)).count();
    parts.push(("a check that decides nothing".to_owned(), free.to_string()));
    let assertions = case.assertions.iter().map(|assertion| ("an assertion".to_owned(), assertion.text.clone()));
    let checks = case.checks.iter().filter(|check| !check.origin.is_of_many_cases()).map(|check| {
        let kind = check.kind.id;
        (format!("a check `{kind}` of this form"), format!("{kind} {:?}", check.ask))
    });
    parts.extend(assertions.chain(checks));
    parts
}
