//! What a file, a pattern or a schema may take, however it is written: a few problems of a million, and a limited search.

use std::cell::RefCell;
use std::ffi::OsString;
use std::io;
use std::iter::once;
use std::path::{Path, PathBuf};

use serde_json::json;
use skill_evals_cases::cases::case::task_json;
use skill_evals_cases::cases::repo_files::{FileKind, RepoFiles};
use skill_evals_cases::cases::repository::Repository;
use skill_evals_cases::checks::pattern::{LONGEST, Pattern, PatternError, SearchError, Style, steps_for};
use skill_evals_cases::checks::schema::{Schema, TooMuchWork};
use skill_evals_cases::lint;
use skill_evals_evidence::files::material::MaterialProblem;
use skill_evals_evidence::text::diagnostic::SourceText;
use skill_evals_evidence::text::diagnostic::{Code, Diagnostic, Severity, SourceLocation};
use skill_evals_evidence::text::problem::{MOST_OF_REPOSITORY, ProblemList};

use skill_evals_testing::fixture::Fixture;

const PATH: &str = "evals/tasks/one.json";

fn problems(task: &str) -> Vec<Diagnostic> {
    task_json::parse(Path::new(""), Path::new(PATH), task.as_bytes()).expect_err("problems")
}

#[test]
fn problems_of_many_files_are_counted_together() {
    let mut all = ProblemList::of_repository();
    for file in 0..30 {
        let mut of_file = ProblemList::of_file();
        for _ in 0..150 {
            of_file.add(Code::DeadLink, || {
                Diagnostic::new(Code::DeadLink, SourceLocation::file(format!("{file}")), "dead")
            });
        }
        all.extend(of_file.into_vec());
    }
    let all = all.into_vec();
    assert_eq!((all.len(), lint::count(&all, Severity::Warning)), (MOST_OF_REPOSITORY, 30 * 150));
}

#[test]
fn a_message_that_quotes_a_long_text_is_cut() {
    let found = problems(&format!("{{ \"prompt\": \"x\", \"{}\": 1 }}", "k".repeat(1_000_000)));
    assert!(found.iter().all(|problem| problem.to_string().len() < 5000), "{}", found.len());
}

#[test]
fn places_are_the_same_in_any_order_and_alone() {
    let path = Path::new("file");
    for text in ["\u{feff}a b\r\nä ö\rü x\n\ny", "", "\n", "one line, äöü and more", "\r\r\n\n"] {
        let bytes = text.as_bytes();
        let places = SourceText::new(path, bytes);
        let boundaries: Vec<usize> = (0..=bytes.len()).filter(|at| text.is_char_boundary(*at)).collect();
        for at in boundaries.iter().chain(boundaries.iter().rev()) {
            let alone = SourceLocation::in_text(path, bytes, *at..*at);
            assert_eq!(places.place(*at..*at), alone, "{text:?} {at}");
        }
    }
    let place = SourceLocation::in_text(path, "a\r\nbä c\n".as_bytes(), 7..8);
    assert_eq!((place.line, place.column), (2, 4));
}

#[test]
fn a_pattern_has_a_longest_length_and_plain_text_has_none() {
    let long = Pattern { text: "a+".repeat(LONGEST / 2 + 1), style: Style::Exact };
    let problem = long.check().expect_err("a problem");
    assert!(matches!(problem, PatternError::TooLong(length) if length == LONGEST + 2), "{problem}");
    let (message, help) = long.problem("matches", &problem);
    assert!(message.ends_with("does not compile: it has 65538 bytes; at most 65536 are read"), "{message}");
    assert_eq!(help, "write several shorter patterns");
    assert!(long.differences().is_empty());
    for style in [Style::Literal, Style::Verbatim, Style::Exact, Style::Lower, Style::JavaScript] {
        let plain = Pattern { text: "ab".repeat(1_000_000), style };
        assert!(plain.check().is_ok(), "{style:?}");
        let search = plain.compile().expect("plain text");
        assert_eq!(search.matches(&format!("x{}", plain.text), 2), Ok(once(1..2_000_001).collect()), "{style:?}");
    }
}

#[test]
fn a_pattern_with_look_around_makes_no_large_program() {
    let problem = |text: &str| {
        Pattern { text: text.to_owned(), style: Style::Exact }.check().err().map(|error| error.to_string())
    };
    assert_eq!(problem(r"(?=x)\w{1,64}\b"), None);
    let large = problem(r"(?=x)\w{900}").expect("a problem");
    assert!(large.contains("too large"), "{large}");
}

/// Goes back once for each character of a text without `z`.
const LOOKS_AROUND: &str = r"(?:(?!foo)[\s\S])*z";

#[test]
fn a_search_that_may_look_at_a_long_text_again_and_again_has_fewer_steps() {
    assert_eq!(steps_for(0), steps_for(10_000));
    for length in [20_000, 60_000, 1_000_000, 60_000_000] {
        assert!(steps_for(length) * length <= 1_000_000_000, "{length}");
    }
    let search = Pattern { text: LOOKS_AROUND.to_owned(), style: Style::Exact }.compile().expect("a pattern");
    assert_eq!(search.matches(&"ab ".repeat(100_000), 1), Err(SearchError), "no verdict");
    assert_eq!(search.matches("ab z", 1), Ok(once(0..4).collect()));
}

#[test]
fn places_after_the_first_match_take_no_more_work_than_it() {
    let search =
        Pattern { text: r"b|(?:(?!foo)[\s\S])*z".to_owned(), style: Style::Exact }.compile().expect("a pattern");
    let text = format!("b{}", "a ".repeat(100_000));
    assert_eq!(
        search.matches(&text, 50),
        Ok(once(0..1).collect()),
        "a match is a match, although the search for others was cut"
    );
}

#[test]
fn the_pattern_of_a_schema_gives_no_verdict_after_too_many_steps() {
    let schema = json!({ "anyOf": [{ "type": "string", "pattern": LOOKS_AROUND }, { "type": "null" }] });
    let schema = Schema::new(schema).expect("a schema");
    assert_eq!(schema.problems(&json!("ab z"), 5), Ok(Vec::new()));
    let long = json!("ab ".repeat(100_000));
    assert_eq!(schema.problems(&long, 5), Err(TooMuchWork::Pattern));
    let negated = Schema::new(json!({ "not": { "pattern": LOOKS_AROUND } })).expect("a schema");
    assert_eq!(negated.problems(&long, 5), Err(TooMuchWork::Pattern));
}

/// A repository that notes which files are read.
struct Noted(Repository, RefCell<Vec<PathBuf>>);

impl RepoFiles for Noted {
    fn kind(&self, path: &Path) -> FileKind {
        self.0.kind(path)
    }

    fn read(&self, path: &Path) -> io::Result<Vec<u8>> {
        self.1.borrow_mut().push(path.to_path_buf());
        self.0.read(path)
    }

    fn names(&self, path: &Path) -> io::Result<Vec<OsString>> {
        self.0.names(path)
    }

    fn material_problems(&self, path: &Path) -> Vec<MaterialProblem> {
        self.0.material_problems(path)
    }
}

#[test]
fn answers_that_many_cases_share_are_read_once() {
    let rows: Vec<String> = (0..50).map(|row| format!("c{row},false,Prompt {row}")).collect();
    let table = format!("id,should_trigger,prompt\n{}\n", rows.join("\n"));
    let fixture = Fixture::new()
        .skill("tidy")
        .skill("other")
        .skill("own")
        .prompts("tidy", &table)
        .prompts("other", &table)
        .prompts("own", &table)
        .file("evals/mocks/shop/buy.md", "---\nexpct: {}\n---\nBought.")
        .file("evals/skills/own/mocks/shop/sell.md", "Sold.");
    let tree = Noted(fixture.repository(), RefCell::default());
    let problems = lint::all(&fixture.catalog(), &tree, lint::LintOptions::default());
    assert_eq!(problems.iter().filter(|problem| problem.code == Code::UnknownKey).count(), 1);
    let reads = |name: &str| tree.1.borrow().iter().filter(|path| path.ends_with(name)).count();
    assert_eq!((reads("buy.md"), reads("sell.md")), (2, 1), "for all skills but one, and for that one");
}
