//! The fields of a case whose values are lists or objects: `during`, `checks`, `history`, `mocks` and `user`.

use serde_json::{Map, Value as Json, json};

use crate::cases::case::document::{Document, Node, NodeEntry};
use crate::checks::field::listed;
use crate::checks::pattern::Style;
use crate::checks::{CaseCheck, CheckKind, FieldForm, FieldValue, InvalidCheck, ListForm, ListedCheck, Origin};
use crate::settings::limits::MOST_TURNS;
use crate::settings::{
    AnswerText, CommandAnswer, LONGEST_DELAY, MOST_TIMES, PASSES_AND_ANSWERS, name_problem, pattern, target_problem,
};
use crate::skill::slug;
use crate::text::diagnostic::{Code, suggest};
use crate::trace::file::{ChangeKind, MOST_CHANGES, SkillChange};
use crate::trial::input_file::{HistoryMessage, Speaker};
use crate::trial::input_file::{Persona, has_value};

/// The elements of a list that is not empty; none with a problem.
pub(super) fn elements<'n>(file: &mut Document<'_>, name: &str, list: &'n Node, expected: &str) -> &'n [Node] {
    let Some(elements) = list.elements() else {
        file.wrong_type(&format!("`{name}`"), expected, list);
        return &[];
    };
    file.not_empty(name, list);
    elements
}

/// Whether a value is an object, which is a problem if not.
fn is_object(file: &mut Document<'_>, what: &str, node: &Node) -> bool {
    if !node.is_map() {
        file.wrong_type(what, "an object", node);
    }
    node.is_map()
}

// `during`: changes to the skills during a session.
//
// ```json
// "during": [ { "afterTurn": 1, "add": "evals/changes/flags", "expectSeen": true },
//             { "afterTurn": 1, "edit": "evals/changes/greeting" },
//             { "afterTurn": 2, "remove": "parting" } ]
// ```

/// The key of the turn after which the change happens.
const AFTER: &str = "afterTurn";

/// The key that asks whether the change entered the model's context.
const SEEN: &str = "expectSeen";

/// The keys of a change.
pub(super) const CHANGE_KEYS: [(&str, FieldForm); 5] = [
    (AFTER, FieldForm::Number { least: 1, most: MOST_TURNS }),
    (ChangeKind::WORDS[0], FieldForm::Text),
    (ChangeKind::WORDS[1], FieldForm::Text),
    (ChangeKind::WORDS[2], FieldForm::Text),
    (SEEN, FieldForm::Flag),
];

pub(super) fn changes(file: &mut Document<'_>, name: &str, list: &Node) -> Vec<SkillChange> {
    let Some(elements) = list.elements() else {
        file.wrong_type(&format!("`{name}`"), "a list of changes", list);
        return Vec::new();
    };
    if elements.len() > MOST_CHANGES {
        let message = format!("`{name}` has more than {MOST_CHANGES} changes");
        file.problem(Code::BadNumber, list.range.start..list.range.start + 1, message);
        return Vec::new();
    }
    elements.iter().filter_map(|element| change(file, &format!("{name}."), element)).collect()
}

/// The list that these changes are read from.
pub(super) fn written_changes(changes: &[SkillChange]) -> Json {
    let written = changes.iter().map(|SkillChange { after_turn, kind, skill, folder, expect_seen, origin: _ }| {
        let what = folder.as_ref().map_or_else(|| skill.clone(), |folder| format!("/{folder}"));
        json!({ AFTER: after_turn, kind.as_str(): what, SEEN: expect_seen })
    });
    written.collect()
}

fn change(file: &mut Document<'_>, prefix: &str, change: &Node) -> Option<SkillChange> {
    if !is_object(file, "a change", change) {
        return None;
    }
    let kinds = ChangeKind::WORDS;
    file.unknown_keys(change, &CHANGE_KEYS.map(|(key, _)| key));
    let mut optional = |key: &str, form| file.field_value(&[prefix, key].concat(), form, change.get(key)?);
    let [(_, turn), ..] = CHANGE_KEYS;
    let after_turn = match optional(AFTER, turn) {
        Some(FieldValue::Number(turn)) => Some(turn),
        _ => None,
    };
    let expect_seen = optional(SEEN, FieldForm::Flag) == Some(FieldValue::Flag(true));
    file.required(change, &[prefix, AFTER].concat());
    let named: Vec<(ChangeKind, &Node)> =
        kinds.iter().filter_map(|kind| Some((ChangeKind::named(kind)?, change.get(kind)?))).collect();
    let [(kind, named)] = named[..] else {
        let message = format!("a change says one of `{}`", kinds.join("`, `"));
        file.problem(Code::MissingKey, change.range.start..change.range.start + 1, message);
        return None;
    };
    let text = file.required_text(change, &[prefix, kind.as_str()].concat())?;
    let folder = match kind {
        ChangeKind::Remove => None,
        ChangeKind::Add | ChangeKind::Edit => {
            match file.field_value(&[prefix, kind.as_str()].concat(), FieldForm::Source, named)? {
                FieldValue::Path(folder) => Some(folder),
                _ => return None,
            }
        }
    };
    let name = folder.as_ref().and_then(|folder| folder.as_path().file_name());
    let skill = slug(&name.map_or(text.into(), |name| name.to_string_lossy()));
    let origin = file.place(named.range.clone());
    Some(SkillChange { after_turn: after_turn?, kind, skill, folder, expect_seen, origin })
}

// `checks`: a list of objects, each a check. Its main key names the kind, the other keys are options.
//
// ```json
// "checks": [ { "text": "final", "contains": "Ada", "ignoreCase": true },
//             { "file": "out/*.json", "at": "/items/0", "equals": "Ada" } ]
// ```

/// The key of the list.
pub(super) const CHECKS: &str = "checks";

pub(super) fn checks(file: &mut Document<'_>, list: &Node) -> Vec<CaseCheck> {
    let elements = elements(file, CHECKS, list, "a list of checks");
    elements.iter().filter_map(|element| check(file, element)).collect()
}

/// The list that these checks are read from, without those that it cannot have.
pub(super) fn written_checks(checks: &[CaseCheck]) -> Json {
    checks.iter().filter_map(CaseCheck::written_object).collect()
}

fn check(file: &mut Document<'_>, written: &Node) -> Option<CaseCheck> {
    if !is_object(file, "a check", written) {
        return None;
    }
    let (kind, form) = kind(file, written)?;
    let keys: Vec<(&'static str, _)> = form.keys().collect();
    let problems = file.problems.found();
    file.unknown_keys(written, &keys.iter().map(|(key, _)| *key).collect::<Vec<_>>());
    let mut listed = ListedCheck::default();
    for (key, form) in keys {
        let Some(value) = written.get(key) else { continue };
        listed.values.push((key, file.field_values(key, form, value)));
    }
    if file.problems.found() > problems {
        return None;
    }
    match (form.ask)(&listed) {
        Ok(ask) => {
            let place = file.place(written.range.clone());
            let origin = Origin { key: CHECKS.into(), line: place.line, elsewhere: Some(place) };
            Some(CaseCheck { kind, origin, ask, weight: None })
        }
        Err(InvalidCheck { key, message, help }) => {
            let range = written.get(key).unwrap_or(written).range.clone();
            file.problem_with_help(Code::InvalidCheck, range, message, help);
            None
        }
    }
}

/// The kind that an object names.
fn kind(file: &mut Document<'_>, written: &Node) -> Option<(&'static CheckKind, &'static ListForm)> {
    let named: Vec<_> = listed().filter(|(_, form)| written.get(form.key).is_some()).collect();
    let known: Vec<&str> = listed().map(|(_, form)| form.key).collect();
    match named[..] {
        [only] => return Some(only),
        [] => {
            let first = written.entries().first();
            let range = first.map_or(written.range.start..written.range.start + 1, |entry| entry.key_range.clone());
            let help = first.map_or_else(|| suggest("", &known), |entry| suggest(&entry.key, &known));
            let message = format!("a check has one of the keys `{}`", known.join("`, `"));
            file.problem_with_help(Code::InvalidCheck, range, message, help);
        }
        [_, (_, second), ..] => {
            let range = written.entry(second.key).map_or(written.range.clone(), |entry| entry.key_range.clone());
            let message = format!("this object is a check of two kinds, `{}` and `{}`", named[0].1.key, second.key);
            file.problem_with_help(Code::InvalidCheck, range, message, "write two checks");
        }
    }
    None
}

// `history`: the conversation before the prompt.
//
// ```json
// "history": [ { "role": "user", "content": "We write release notes." },
//              { "role": "assistant", "content": "Which version?" } ]
// ```

/// The key of the message's author.
const ROLE: &str = "role";

/// The key of its text.
const CONTENT: &str = "content";

/// The keys of a message.
pub(super) const MESSAGE_KEYS: [(&str, FieldForm); 2] =
    [(ROLE, FieldForm::Choice(&Speaker::WORDS)), (CONTENT, FieldForm::Text)];

/// Reads a conversation.
pub(super) fn messages(file: &mut Document<'_>, name: &str, list: &Node) -> Vec<HistoryMessage> {
    let elements = elements(file, name, list, "a list of messages");
    let messages: Vec<HistoryMessage> =
        elements.iter().enumerate().filter_map(|(index, element)| message(file, name, index, element)).collect();
    if let Some(last) = elements.last().filter(|_| elements.len() % 2 == 1 && messages.len() == elements.len()) {
        let message = format!("the last message of `{name}` has no answer");
        let help = "add the agent's answer, or make the message the prompt";
        file.problem_with_help(Code::BadHistory, last.range.clone(), message, help);
    }
    messages
}

fn message(file: &mut Document<'_>, name: &str, index: usize, message: &Node) -> Option<HistoryMessage> {
    if !is_object(file, "a message", message) {
        return None;
    }
    file.unknown_keys(message, &MESSAGE_KEYS.map(|(key, _)| key));
    let written = file.required(message, ROLE);
    let role =
        written.and_then(|role| file.field_value(&format!("{name}.{ROLE}"), FieldForm::Choice(&Speaker::WORDS), role));
    let content = file.required_text(message, &format!("{name}.{CONTENT}"));
    let (FieldValue::Text(role), written) = (role?, written?) else { return None };
    let expected = Speaker::of_message(index);
    if role != expected.as_str() {
        let message = format!("message {} of `{name}` is not of the `{}`", index + 1, expected.as_str());
        let help = "begin with the user; each message is answered by the other one";
        file.problem_with_help(Code::BadHistory, written.range.clone(), message, help);
        return None;
    }
    Some(HistoryMessage { role: expected, content: content?.to_owned() })
}

// `mocks`: answers of commands in place of the real ones, in this case. The first that fits is given; those of the settings follow.
//
// ```json
// "mocks": [ { "command": "gh", "args": "^pr view 12\\b", "stdoutFile": "evals/mocks/pr-12.json" },
//            { "command": "gh", "args": "^auth status", "stderr": "You are not logged in.", "exitCode": 1 } ]
// ```

pub(super) const COMMAND: &str = "command";
const ARGS: &str = "args";
const STDOUT: &str = "stdout";
const STDOUT_FILE: &str = "stdoutFile";
const STDERR: &str = "stderr";
const EXIT_CODE: &str = "exitCode";
const STDIN: &str = "stdin";
pub(super) const ANSWER_FILES: &str = "files";
const DELAY: &str = "delayMs";
const TIMES: &str = "times";
const PASSTHROUGH: &str = "passthrough";

/// The keys of an answer, without its files.
pub(super) const ANSWER_KEYS: [(&str, FieldForm); 10] = [
    (COMMAND, FieldForm::Text),
    (ARGS, FieldForm::Pattern(Style::Exact)),
    (STDOUT, FieldForm::Text),
    (STDOUT_FILE, FieldForm::Source),
    (STDERR, FieldForm::Text),
    (EXIT_CODE, FieldForm::Number { least: 0, most: 255 }),
    (STDIN, FieldForm::Pattern(Style::Exact)),
    (DELAY, FieldForm::Number { least: 0, most: LONGEST_DELAY }),
    (TIMES, FieldForm::Number { least: 1, most: MOST_TIMES }),
    (PASSTHROUGH, FieldForm::Flag),
];

pub(super) fn answers(file: &mut Document<'_>, name: &str, list: &Node) -> Vec<CommandAnswer> {
    let elements = elements(file, name, list, "a list of answers");
    elements.iter().filter_map(|element| answer(file, &format!("{name}."), element)).collect()
}

/// The list that these answers are read from.
pub fn written_answers(answers: &[CommandAnswer]) -> Json {
    let written = answers.iter().map(|answer| {
        let CommandAnswer { command, args, stdout, stderr, exit_code, stdin, files, delay_ms, times, .. } = answer;
        let stdout = match stdout {
            AnswerText::Here(text) => (!text.is_empty()).then(|| (STDOUT, json!(text))),
            AnswerText::File(path) => Some((STDOUT_FILE, json!(format!("/{path}")))),
        };
        let text = |key, text: &Option<String>| text.as_ref().map(|text| (key, json!(text)));
        let stderr = (!stderr.is_empty()).then(|| (STDERR, json!(stderr)));
        let code = (*exit_code != 0).then(|| (EXIT_CODE, json!(exit_code)));
        let files = files.iter().map(|(to, from)| (to.clone(), json!(format!("/{from}")))).collect::<Map<_, _>>();
        let files = (!files.is_empty()).then(|| (ANSWER_FILES, json!(files)));
        let delay = delay_ms.map(|delay| (DELAY, json!(delay)));
        let times = times.map(|times| (TIMES, json!(times)));
        let passes = answer.passthrough.then_some((PASSTHROUGH, json!(true)));
        let (args, stdin) = (text(ARGS, args), text(STDIN, stdin));
        let keys = [Some((COMMAND, json!(command))), args, stdout, stderr, code, stdin, files, delay, times, passes];
        keys.into_iter().flatten().map(|(key, value)| (key.to_owned(), value)).collect::<Map<_, _>>()
    });
    written.map(Json::from).collect()
}

fn answer(file: &mut Document<'_>, prefix: &str, written: &Node) -> Option<CommandAnswer> {
    if !is_object(file, "an answer", written) {
        return None;
    }
    let known: Vec<&str> = ANSWER_KEYS.into_iter().map(|(key, _)| key).chain([ANSWER_FILES]).collect();
    file.unknown_keys(written, &known);
    let command = file.required_text(written, &[prefix, COMMAND].concat())?.to_owned();
    if let Some(why) = name_problem(&command) {
        let range = written.get(COMMAND).unwrap_or(written).range.clone();
        file.problem(Code::BadChoice, range, format!("{command:?} {why}"));
    }
    let mut answer = CommandAnswer::new(command, file.place(written.range.start..written.range.start + 1));
    for (key, form) in ANSWER_KEYS.into_iter().skip(1) {
        let Some(value) = written.get(key) else { continue };
        if value.text() == Some("") {
            // An empty output is one, too, and any input has this.
            answer.stdin = if key == STDIN { Some(String::new()) } else { answer.stdin };
            continue;
        }
        // Patterns of checks have more.
        if matches!(form, FieldForm::Pattern(_))
            && let Some(Err(why)) = value.text().map(pattern)
        {
            file.problem(Code::BadRegex, value.range.clone(), format!("`{prefix}{key}`: {why}"));
            continue;
        }
        let Some(read) = file.field_value(&[prefix, key].concat(), form, value) else { continue };
        match (key, read) {
            (ARGS, FieldValue::Pattern(args)) => answer.args = Some(args.text),
            (_, FieldValue::Pattern(stdin)) => answer.stdin = Some(stdin.text),
            (STDERR, FieldValue::Text(text)) => answer.stderr = text,
            (_, FieldValue::Text(text)) => answer.stdout = AnswerText::Here(text),
            (_, FieldValue::Path(path)) => answer.stdout = AnswerText::File(path),
            (EXIT_CODE, FieldValue::Number(code)) => answer.exit_code = u8::try_from(code).unwrap_or(u8::MAX),
            (DELAY, FieldValue::Number(delay)) => answer.delay_ms = Some(delay),
            (_, FieldValue::Number(times)) => answer.times = Some(times),
            (_, FieldValue::Flag(passes)) => answer.passthrough = passes,
            _ => {}
        }
    }
    for NodeEntry { key, value, .. } in
        file.map(written, &[prefix, ANSWER_FILES].concat()).map_or(&[][..], Node::entries)
    {
        let name = format!("{prefix}{ANSWER_FILES}.{key}");
        if let Some(why) = target_problem(key, answer.args.as_deref()) {
            file.problem(Code::BadPath, value.range.clone(), why);
        }
        if let Some(FieldValue::Path(path)) = file.field_value(&name, FieldForm::Source, value) {
            answer.files.insert(key.clone(), path);
        }
    }
    if let (Some(_), Some(second)) = (written.get(STDOUT), written.entry(STDOUT_FILE)) {
        let message = format!("`{STDOUT}` and `{STDOUT_FILE}` both say the output");
        file.problem_with_help(Code::UnknownKey, second.key_range.clone(), message, "remove one of the two");
    }
    if let Some(passes) = written.entry(PASSTHROUGH).filter(|_| answer.against_passthrough()) {
        file.problem_with_help(Code::UnknownKey, passes.key_range.clone(), PASSES_AND_ANSWERS, "remove one of the two");
    }
    Some(answer)
}

// `user`: a user who answers the agent until it has what it wants.
//
// ```json
// "user": { "persona": "A product manager in a hurry.", "goal": "A release note for version 2.",
//           "facts": { "audience": "administrators", "date": "3 March" }, "maxTurns": 6 }
// ```

pub(super) const GOAL: &str = "goal";
const PERSONA: &str = "persona";
pub(super) const FACTS: &str = "facts";
const MAX_TURNS: &str = "maxTurns";

/// The maximum number of messages if the case sets none.
const DEFAULT_TURNS: u64 = 10;

/// The most that a case can allow.
const MOST_MESSAGES: u64 = 50;

/// The keys of a user, without its facts.
pub(super) const USER_KEYS: [(&str, FieldForm); 3] = [
    (PERSONA, FieldForm::Text),
    (GOAL, FieldForm::Text),
    (MAX_TURNS, FieldForm::Number { least: 1, most: MOST_MESSAGES }),
];

pub(super) fn user(file: &mut Document<'_>, name: &str, user: &Node) -> Option<Persona> {
    if !is_object(file, &format!("`{name}`"), user) {
        return None;
    }
    file.unknown_keys(user, &[PERSONA, GOAL, FACTS, MAX_TURNS]);
    let key = |key: &str| format!("{name}.{key}");
    let goal = file.required_text(user, &key(GOAL)).unwrap_or_default().to_owned();
    let persona = file.text(user, &key(PERSONA)).map(str::to_owned);
    let expected = format!("a number from 1 to {MOST_MESSAGES}");
    let max_turns = file.count(user, &key(MAX_TURNS), 1..=MOST_MESSAGES, &expected).unwrap_or(DEFAULT_TURNS);
    let mut read = Persona { persona, goal, max_turns, ..Persona::default() };
    for NodeEntry { key: fact, value, .. } in file.map(user, &key(FACTS)).map_or(&[][..], Node::entries) {
        let name = format!("{name}.{FACTS}.{fact}");
        let number = Some(value.json()).filter(Json::is_number).map(|number| number.to_string());
        match value.text().or(number.as_deref()) {
            None => file.wrong_type(&format!("`{name}`"), "a string or a number", value),
            // It could be in no message.
            Some(text) if !has_value(text, text) => {
                file.problem(Code::EmptyValue, value.range.clone(), format!("`{name}` has no letter and no digit"));
            }
            Some(text) => _ = read.facts.insert(fact.clone(), text.to_owned()),
        }
    }
    Some(read)
}
