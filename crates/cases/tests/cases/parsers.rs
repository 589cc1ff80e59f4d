//! Whatever is in a file, its parser reports it and continues.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::Path;

use proptest::prelude::*;
use skill_evals_cases::cases::case::fields::CaseField;
use skill_evals_cases::cases::case::{Case, CaseSource as _, fields, prompts_csv, task_json};
use skill_evals_cases::checks::{Field, FieldForm, KINDS};
use skill_evals_evidence::skill::SkillFile;
use skill_evals_evidence::text::diagnostic::ends_line;
use skill_evals_evidence::text::diagnostic::{Diagnostic, SourceLocation};

/// Bytes that are likely to get deep into a parser: pieces of the format itself between arbitrary ones.
pub(crate) fn bytes(pieces: &'static [&'static str]) -> impl Strategy<Value = Vec<u8>> {
    let piece = prop_oneof![
        6 => prop::sample::select(pieces).prop_map(|piece| piece.as_bytes().to_vec()),
        1 => any::<Vec<u8>>(),
        1 => any::<String>().prop_map(String::into_bytes),
    ];
    prop::collection::vec(piece, 0..30).prop_map(|pieces| pieces.concat())
}

const CSV: &[&str] = &[
    "id,should_trigger,prompt\n",
    "id,should_trigger,prompt,fixture,must_include,timeout_s\r\n",
    "\u{feff}",
    ",",
    "\"",
    "\"\"",
    "\n",
    "\r\n",
    "\r",
    "a",
    "true",
    "false",
    "b-1",
    "|",
    "\\|",
    "(",
    "../x",
    "\0",
    "+5",
    "7",
    "é",
    "fixture",
    " ",
];
const JSON: &[&str] = &[
    "{",
    "}",
    "[",
    "]",
    ":",
    ",",
    "\"prompt\"",
    "\"evalConfig\"",
    "\"expectedSkillName\"",
    "\"expectedOutputPattern\"",
    "\"a\"",
    "true",
    "null",
    "1e9",
    "-",
    "\"\\u00e9\"",
    "\"\\ud800\"",
    "\"",
    "\n",
    "\u{feff}",
    "{\"prompt\":\"a\",\"evalConfig\":{\"expectedSkillName\":\"b\"}}",
    "// c\n",
    "/*",
];
const SKILL: &[&str] = &[
    "---\n",
    "---\r\n",
    "---",
    "name: a\n",
    "description: b\n",
    "metadata:\n  a: b\n",
    "&a ",
    "*a",
    "\t",
    "[",
    "{",
    ": ",
    "- x\n",
    "|\n",
    ">\n  text\n",
    "!!binary ",
    "'",
    "\"",
    "\u{feff}",
    "\0",
    "é",
    "? ",
    "<<: *a\n",
    "%YAML 1.1\n",
    "#",
];

/// How often a line ends in a text: with LF, CR LF or CR alone.
fn line_ends(text: &[u8]) -> usize {
    (0..text.len()).filter(|at| ends_line(text, *at)).count()
}

/// Every place is in the text, and its mark in its excerpt.
fn assert_inside(bytes: &[u8], problems: &[Diagnostic]) {
    let lines = line_ends(bytes) + 1;
    for problem in problems {
        let SourceLocation { line, column, excerpt, .. } = &problem.place;
        if *line == 0 {
            continue;
        }
        assert!(*line <= lines, "{problem} in {lines} lines");
        // A place just behind the line's end is one too; replacement characters may count for several bytes.
        assert!(*column >= 1 && *column <= bytes.len() + 1, "{problem}");
        let excerpt = excerpt.as_ref().expect("a place in a line has its text");
        assert!(excerpt.text.get(excerpt.mark.clone()).is_some(), "{problem}: {excerpt:?}");
    }
}

fn sheet_problems(bytes: &[u8]) -> Vec<Diagnostic> {
    let parsed = prompts_csv::parse(Path::new(""), Path::new("prompts.csv"), bytes.to_vec(), &[]);
    let mut problems = parsed.problems;
    problems
        .extend(parsed.rows.into_iter().flat_map(|row| row.found("skill").case().err().unwrap_or_default().to_vec()));
    problems
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_bytes_are_a_sheet_or_say_why_not(bytes in bytes(CSV)) {
        assert_inside(&bytes, &sheet_problems(&bytes));
    }

    #[test]
    fn any_bytes_below_a_header_are_rows_or_say_why_not(bytes in bytes(CSV)) {
        let bytes = [b"id,should_trigger,prompt,fixture,must_include,timeout_s\n".as_slice(), &bytes].concat();
        assert_inside(&bytes, &sheet_problems(&bytes));
    }

    #[test]
    fn any_bytes_are_a_task_or_say_why_not(bytes in bytes(JSON)) {
        if let Err(problems) = task_json::parse(Path::new(""), Path::new("evals/tasks/a.json"), &bytes) {
            assert!(!problems.is_empty(), "a task that cannot be read says why");
            assert_inside(&bytes, &problems);
        }
        let _ = task_json::place_of(Path::new("a.json"), &bytes, "prompt");
    }

    #[test]
    fn any_bytes_are_a_skill_file(bytes in bytes(SKILL)) {
        let file = SkillFile::parse("skills/a", &bytes);
        assert_inside(&bytes, &file.problems);
        let text = String::from_utf8_lossy(&bytes);
        assert!(text.get(file.body.clone()).is_some());
        for entry in &file.entries {
            assert!(text.get(entry.key_range.clone()).is_some() && text.get(entry.value.range.clone()).is_some(), "{entry:?}");
        }
        let found = skill_evals_cases::cases::catalog::FoundSkill { file, bytes: bytes.clone(), curated: true, plugin: None };
        let tree = Nothing;
        assert_inside(&bytes, &skill_evals_cases::lint::skill(&found, &skill_evals_cases::cases::catalog::Catalog::default(), &tree));
    }

    #[test]
    fn front_matter_of_any_pieces_is_read(pieces in bytes(SKILL)) {
        let bytes = [b"---\n".as_slice(), &pieces, b"\n---\nbody\n"].concat();
        let file = SkillFile::parse("skills/a", &bytes);
        assert_inside(&bytes, &file.problems);
        let found = skill_evals_cases::cases::catalog::FoundSkill { file, bytes: bytes.clone(), curated: true, plugin: None };
        assert_inside(&bytes, &skill_evals_cases::lint::skill(&found, &skill_evals_cases::cases::catalog::Catalog::default(), &Nothing));
    }

    #[test]
    fn cells_written_by_a_csv_writer_read_back_the_same(rows in prop::collection::vec(("[a-z][a-z0-9]{0,8}", any::<bool>(), "[^\0]{1,40}", "[^\0]{0,20}"), 1..8), crlf in any::<bool>()) {
        let terminator = if crlf { csv::Terminator::CRLF } else { csv::Terminator::Any(b'\n') };
        let mut writer = csv::WriterBuilder::new().terminator(terminator).from_writer(Vec::new());
        writer.write_record(["must_include", "id", "should_trigger", "prompt"]).expect("in memory");
        for (id, trigger, prompt, pattern) in &rows {
            writer.write_record([&regex::escape(pattern).replace('\n', " "), id, &trigger.to_string(), prompt]).expect("in memory");
        }
        let bytes = writer.into_inner().expect("in memory");
        let parsed = prompts_csv::parse(Path::new(""), Path::new("prompts.csv"), bytes.clone(), &[]);
        // A cell that begins with a blank is a warning.
        prop_assert!(!parsed.problems.iter().any(Diagnostic::is_error));
        prop_assert_eq!(parsed.rows.len(), rows.len());
        let mut line = 2;
        for (row, (id, trigger, prompt, pattern)) in parsed.rows.into_iter().zip(&rows) {
            prop_assert_eq!(row.line(), line);
            line += 1 + line_ends(prompt.as_bytes()) + line_ends(regex::escape(pattern).replace('\n', " ").as_bytes());
            let found = row.found("skill");
            match found.case() {
                Ok(case) => {
                    prop_assert_eq!(&case.id, id);
                    prop_assert_eq!(case.should_trigger, *trigger);
                    prop_assert_eq!(&case.prompt, prompt.trim());
                }
                Err(problems) => prop_assert!(prompt.trim().is_empty(), "{:?}", problems),
            }
        }
    }

    #[test]
    fn the_place_of_a_cell_is_where_its_text_stands(before in "[a-z ,\n\"]{0,20}", cell in "[a-z]{1,8}") {
        let mut writer = csv::Writer::from_writer(Vec::new());
        writer.write_record(["prompt", "id", "should_trigger"]).expect("in memory");
        writer.write_record(["x", "first", "true"]).expect("in memory");
        writer.write_record([&before, &cell, "wrong"]).expect("in memory");
        let bytes = writer.into_inner().expect("in memory");
        let text = String::from_utf8(bytes.clone()).expect("ASCII");
        let place = prompts_csv::parse(Path::new(""), Path::new("p"), bytes, &[]).rows[1].place("id");
        let line = text.split('\n').nth(place.line - 1).expect("the line is there");
        let expected = format!("{cell},wrong");
        prop_assert!(line[place.column - 1..].starts_with(&expected));
    }
}

/// A repository without files.
pub(crate) struct Nothing;

impl skill_evals_cases::cases::repo_files::RepoFiles for Nothing {
    fn material_problems(&self, _: &Path) -> Vec<skill_evals_evidence::files::material::MaterialProblem> {
        Vec::new()
    }

    fn kind(&self, _: &Path) -> skill_evals_cases::cases::repo_files::FileKind {
        skill_evals_cases::cases::repo_files::FileKind::Missing
    }

    fn read(&self, _: &Path) -> std::io::Result<Vec<u8>> {
        Err(std::io::ErrorKind::NotFound.into())
    }

    fn names(&self, _: &Path) -> std::io::Result<Vec<std::ffi::OsString>> {
        Err(std::io::ErrorKind::NotFound.into())
    }
}

/// What a case says, but for where it stands.
fn said(case: &Case) -> String {
    // A change has its place in it.
    let checks = case.checks.iter().filter(|check| check.kind.id != "changes-seen");
    let checks: Vec<String> = checks.map(|check| format!("{} {:?}", check.kind.id, check.ask)).collect();
    let during: Vec<_> = case.during.iter().map(|change| (change.after_turn, change.kind, &change.skill)).collect();
    let Case { should_trigger, prompt, system_prompt, sandbox, timeout, max_turns, fixture, activation, judge, .. } =
        case;
    let rest = (should_trigger, prompt, system_prompt, sandbox, timeout, max_turns, fixture, activation, judge);
    let assertions: Vec<&str> = case.assertions.iter().map(|assertion| assertion.text.as_str()).collect();
    format!(
        "{rest:?} {:?} {:?} {checks:?} {during:?} {:?} {assertions:?}",
        case.output_schema,
        case.repetition,
        (&case.files, &case.tags, &case.setup, &case.follow_ups, &case.history)
    )
}

/// An object of the list `checks` for each kind that it can write.
const EVERY_LISTED_KIND: &str = r#"[{"text": "final", "contains": "Ada"}, {"file": "a.md"}, {"tool": "Read"},
    {"command": "^ls"}, {"sequence": ["Read"]}, {"work": "changes"}, {"mock": "gh"}, {"mock": "gh", "unanswered": true, "not": true}, {"mock": "gh", "stdin": true, "contains": "x"}, {"activates": ["tidy"]}, {"rejects": ["parting"]}, {"maxTurns": 3}, {"run": "true"}]"#;

#[test]
fn a_row_and_a_task_file_can_say_the_same_in_every_field() {
    // A text of each form, as a cell and as JSON.
    let written = |form: FieldForm| match form {
        FieldForm::Flag => ("true", "true"),
        FieldForm::Number { .. } => ("7", "7"),
        FieldForm::Text | FieldForm::Pattern(_) => ("say ahoy", r#""say ahoy""#),
        FieldForm::Choice(["tool", ..]) => ("tool", r#""tool""#),
        FieldForm::Choice(_) => ("read-only", r#""read-only""#),
        FieldForm::Patterns => (r"a\|b | c", r#"["a\\|b", "c"]"#),
        FieldForm::Path | FieldForm::Source => ("some/where", r#""some/where""#),
        FieldForm::Messages => (r#"["Now shorter.", "Bye"]"#, r#"["Now shorter.", "Bye"]"#),
        FieldForm::Commands => ("npm ci\nmake", r#"["npm ci", "make"]"#),
        FieldForm::Tags => ("slow; team/a", r#"["slow", "team/a"]"#),
        FieldForm::Paths | FieldForm::Sources | FieldForm::Files => ("a.md; b/c.md", r#"["a.md", "b/c.md"]"#),
        FieldForm::Trials => ("until decided", r#""until decided""#),
        FieldForm::Share => ("0.8", "0.8"),
        FieldForm::Quarantine => ("until 2027-01-31, issue 12", r#""until 2027-01-31, issue 12""#),
        FieldForm::Amount => ("0.25", "0.25"),
        form => unreachable!("{form:?} is only in lists"),
    };
    let (mut columns, mut cells) = (vec!["id"], vec!["it".to_owned()]);
    let (mut root, mut config) = (String::new(), r#""expectedSkillName": "tidy""#.to_owned());
    for field in fields::all() {
        let Field { column, key, form } = *field.field();
        let list = match (field, column) {
            (CaseField::List(_), "during") => r#"[{ "afterTurn": 1, "remove": "parting", "expectSeen": true }]"#,
            (CaseField::List(_), "checks") => EVERY_LISTED_KIND,
            (CaseField::List(_), "assertions") => r#"["It greets Ada."]"#,
            (CaseField::List(_), "history") => {
                r#"[{ "role": "user", "content": "Hi" }, { "role": "assistant", "content": "Hello" }]"#
            }
            (CaseField::List(_), "mocks") => {
                r#"[{ "command": "gh", "args": "^pr", "stdout": "x", "stderr": "y", "exitCode": 2 }, { "command": "jq", "stdoutFile": "a.json" },
                    { "command": "gh", "args": "-o (.+)", "stdin": "", "files": { "$1": "a.json" }, "delayMs": 5, "times": 2 }, { "command": "gh", "passthrough": true }]"#
            }
            (CaseField::List(_), "user") => {
                r#"{ "persona": "Ada", "goal": "A note", "facts": { "date": "3 March" }, "maxTurns": 3 }"#
            }
            (CaseField::List(_), other) => panic!("write down a list for {other}"),
            _ => "",
        };
        let (cell, json) = if list.is_empty() { written(form) } else { (list, list) };
        columns.push(column);
        cells.push(cell.replace('"', "\"\""));
        let to = if ["prompt", "systemPrompt"].contains(&key) { &mut root } else { &mut config };
        write!(to, r#", "{key}": {json}"#).expect("a string");
    }
    let sheet = format!("{}\n\"{}\"\n", columns.join(","), cells.join("\",\""));
    // In one directory: from it they name their files.
    let parsed = prompts_csv::parse(Path::new(""), Path::new("evals/tasks/prompts.csv"), sheet.into_bytes(), &[]);
    let row = parsed.rows[0].case("tidy").expect("a case");
    let file = format!(r#"{{ "evalConfig": {{ {config} }}{root} }}"#);
    let task = task_json::parse(Path::new(""), Path::new("evals/tasks/it.json"), file.as_bytes()).expect("a case");
    assert_eq!(said(&row), said(&task));
    let kinds: BTreeSet<&str> = row.checks.iter().map(|check| check.kind.id).collect();
    // Graders are those of another program.
    let others = ["not-triggered", "grader", "skill-grader"];
    let all = KINDS.iter().map(|kind| kind.id).filter(|id| !others.contains(id));
    assert_eq!(kinds, all.collect(), "every kind of check can be asked for");
    assert!(task.checks.iter().all(|check| check.origin.line > 0 || check.kind.id == "changes-seen"));
}

#[test]
fn a_judge_is_told_the_whole_conversation() {
    let file = r#"{ "prompt": "Write it.", "evalConfig": { "expectedSkillName": "tidy", "followUps": "Shorter.", "history":
        [{ "role": "user", "content": "Hi" }, { "role": "assistant", "content": "Hello" }] } }"#;
    let case = task_json::parse(Path::new(""), Path::new("evals/tasks/it.json"), file.as_bytes()).expect("a case");
    let expected = "(Before, the user:)\n\nHi\n\n(Before, the agent:)\n\nHello\n\n(The prompt:)\n\nWrite it.\n\n\
                    (The next message of the user:)\n\nShorter.";
    assert_eq!(case.asked(&case.follow_ups), expected);
}

#[test]
fn a_cell_in_typographic_quotes_hides_nothing_of_other_cells() {
    let sheet = "id,should_trigger,prompt,must_include,must_not_include\na,true,Do it,“x”,b AND c\nb,false,Rest,,\n";
    let said = crate::foreign::linted(&crate::foreign::tidy("evals/skills/tidy/prompts.csv", sheet));
    assert!(said.contains("2:14: [csv-quotes]") && said.contains("2:18: [literal-syntax] `AND`"), "{said}");
    assert!(!said.contains("2:14: [literal-syntax]"), "one of the two is enough: {said}");
}
