//! `mocks`: answers of commands in place of the real ones, in this case. The first that fits is given; those of the settings follow.
//!
//! ```json
//! "mocks": [ { "command": "gh", "args": "^pr view 12\\b", "stdoutFile": "evals/mocks/pr-12.json" },
//!            { "command": "gh", "args": "^auth status", "stderr": "You are not logged in.", "exitCode": 1 } ]
//! ```

use serde_json::{Map, Value as Json, json};

use crate::cases::case::document::{Document, Node};
use crate::checks::pattern::Style;
use crate::checks::{FieldForm, FieldValue};
use crate::settings::{AnswerText, CommandAnswer, name_problem, pattern};
use crate::text::diagnostic::Code;

pub(super) const COMMAND: &str = "command";
const ARGS: &str = "args";
const STDOUT: &str = "stdout";
const STDOUT_FILE: &str = "stdoutFile";
const STDERR: &str = "stderr";
const EXIT_CODE: &str = "exitCode";

/// The keys of an answer.
pub(super) const KEYS: [(&str, FieldForm); 6] = [
    (COMMAND, FieldForm::Text),
    (ARGS, FieldForm::Pattern(Style::Exact)),
    (STDOUT, FieldForm::Text),
    (STDOUT_FILE, FieldForm::Source),
    (STDERR, FieldForm::Text),
    (EXIT_CODE, FieldForm::Number { least: 0, most: 255 }),
];

pub(super) fn answers(file: &mut Document<'_>, name: &str, list: &Node) -> Vec<CommandAnswer> {
    let Some(elements) = list.elements() else {
        file.wrong_type(&format!("`{name}`"), "a list of answers", list);
        return Vec::new();
    };
    file.not_empty(name, list);
    elements.iter().filter_map(|element| answer(file, &format!("{name}."), element)).collect()
}

/// The list that these answers are read from.
pub(super) fn written(answers: &[CommandAnswer]) -> Json {
    let written = answers.iter().map(|CommandAnswer { command, args, stdout, stderr, exit_code, place: _ }| {
        let stdout = match stdout {
            AnswerText::Here(text) => (!text.is_empty()).then(|| (STDOUT, json!(text))),
            AnswerText::File(path) => Some((STDOUT_FILE, json!(format!("/{path}")))),
        };
        let args = args.as_ref().map(|args| (ARGS, json!(args)));
        let stderr = (!stderr.is_empty()).then(|| (STDERR, json!(stderr)));
        let code = (*exit_code != 0).then(|| (EXIT_CODE, json!(exit_code)));
        let keys = [Some((COMMAND, json!(command))), args, stdout, stderr, code];
        keys.into_iter().flatten().map(|(key, value)| (key.to_owned(), value)).collect::<Map<_, _>>()
    });
    written.map(Json::from).collect()
}

fn answer(file: &mut Document<'_>, prefix: &str, written: &Node) -> Option<CommandAnswer> {
    if !written.is_map() {
        file.wrong_type("an answer", "an object", written);
        return None;
    }
    file.unknown_keys(written, &KEYS.map(|(key, _)| key));
    let command = file.required_text(written, &[prefix, COMMAND].concat())?.to_owned();
    if let Some(why) = name_problem(&command) {
        let range = written.get(COMMAND).unwrap_or(written).range.clone();
        file.problem(Code::BadChoice, range, format!("{command:?} {why}"));
    }
    let mut answer = CommandAnswer {
        command,
        args: None,
        stdout: AnswerText::Here(String::new()),
        stderr: String::new(),
        exit_code: 0,
        place: file.place(written.range.start..written.range.start + 1),
    };
    for (key, form) in KEYS.into_iter().skip(1) {
        // An empty output is one, too.
        let Some(value) = written.get(key).filter(|value| value.text() != Some("")) else { continue };
        match (key, file.field_value(&[prefix, key].concat(), form, value)) {
            (ARGS, Some(FieldValue::Pattern(args))) => {
                if let Err(why) = pattern(&args.text) {
                    file.problem(Code::BadRegex, value.range.clone(), format!("`{prefix}{ARGS}`: {why}"));
                }
                answer.args = Some(args.text);
            }
            (STDERR, Some(FieldValue::Text(text))) => answer.stderr = text,
            (_, Some(FieldValue::Text(text))) => answer.stdout = AnswerText::Here(text),
            (_, Some(FieldValue::Path(path))) => answer.stdout = AnswerText::File(path),
            (_, Some(FieldValue::Number(code))) => answer.exit_code = u8::try_from(code).unwrap_or(u8::MAX),
            _ => {}
        }
    }
    if let (Some(_), Some(second)) = (written.get(STDOUT), written.entry(STDOUT_FILE)) {
        let message = format!("`{STDOUT}` and `{STDOUT_FILE}` both say the output");
        file.problem_with_help(Code::UnknownKey, second.key_range.clone(), message, "remove one of the two");
    }
    Some(answer)
}
