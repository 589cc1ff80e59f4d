//! Problems as a terminal shows them.

use std::path::Path;

use proptest::prelude::*;
use skill_evals_cases::cases::case::task_json;
use skill_evals_cases::lint;
use skill_evals_evidence::text::diagnostic::{Code, Diagnostic, Severity, SourceLocation};
use skill_evals_evidence::text::problem::MOST_OF_FILE;
use skill_evals_report::diagnostics;
use skill_evals_report::paint::Paint;

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_problem_at_any_place_of_any_text_can_be_drawn(
        text in prop_oneof![any::<Vec<u8>>(), any::<String>().prop_map(String::into_bytes), "[a\u{feff}é\r\n\t]{0,40}".prop_map(String::into_bytes)],
        places in prop::collection::vec((0usize..60, 0usize..60), 1..6),
        message in any::<String>(),
    ) {
        let problem = |(start, length)| {
            let place = SourceLocation::in_text("prompts.csv", &text, start..start + length);
            Diagnostic::new(Code::UnknownKey, place, message.clone()).help(message.clone())
        };
        let problems: Vec<Diagnostic> = places.into_iter().map(problem).collect();
        prop_assert!(!diagnostics::render(&problems, Paint::Color).is_empty());
    }
}

#[test]
fn a_file_with_many_problems_shows_the_first_and_counts_the_others() {
    let keys: Vec<String> = (0..5000).map(|number| format!("\"key{number}\": 1")).collect();
    let task = format!("{{ \"prompt\": 5, {} }}", keys.join(", "));
    let found =
        task_json::parse(Path::new(""), Path::new("evals/tasks/one.json"), task.as_bytes()).expect_err("problems");
    let unknown: Vec<&Diagnostic> = found.iter().filter(|problem| problem.code == Code::UnknownKey).collect();
    assert_eq!((unknown.len(), unknown[MOST_OF_FILE - 1].more), (MOST_OF_FILE, 4900));
    assert!(found.len() > MOST_OF_FILE, "another kind has room of its own");
    assert_eq!(lint::count(&found, Severity::Error), 5000 + found.len() - MOST_OF_FILE);
    let drawn = diagnostics::render(&found, Paint::Plain);
    assert!(drawn.contains("note: 4900 more `unknown-key` are not shown"), "{drawn}");
    assert_eq!(unknown[MOST_OF_FILE - 1].to_string().matches("(and 4900 more)").count(), 1);
}
