//! docs/formats.md against the tables that it is written from.

use std::path::Path;

use skill_evals_cases::cases::case::{FileKeys, ForeignFiles, foreign_formats};
use skill_evals_testing::fixture::Fixture;

const MARKS: [&str; 2] = ["<!-- formats -->\n", "<!-- /formats -->"];

/// The cells of a row: what the files are, their names, their keys and graders, what of them is not done, and keys
/// that only label. Of these, the ones that are `common` to formats have one name.
fn row(files: &ForeignFiles, common: &[&str]) -> [String; 6] {
    let code = |words: &[&str]| words.iter().map(|word| format!("`{word}`")).collect::<Vec<_>>().join(", ");
    let open = match (code(files.possible_names), files.mark) {
        (names, _) if names.is_empty() => names,
        (names, "") => format!("{names}, by their content"),
        (names, mark) => format!("{names}, with `{mark}`"),
    };
    let names = [code(files.names), open].into_iter().filter(|names| !names.is_empty()).collect::<Vec<_>>();
    let FileKeys { read, notes, graders: [graders, others], not_done } = (files.all_keys)();
    let others = if others.is_empty() { String::new() } else { format!("; not {}", code(&others)) };
    let reason = |(key, what): &(&str, &str)| {
        // Some say which key it is.
        if what.contains(&format!("`{key}`")) { (*what).to_owned() } else { format!("`{key}`: {what}") }
    };
    let not_done = not_done.iter().map(reason).collect::<Vec<_>>().join("; ");
    let has_all = !common.is_empty() && common.iter().all(|note| notes.contains(note));
    let own = code(&notes.into_iter().filter(|note| !has_all || !common.contains(note)).collect::<Vec<_>>());
    let notes = match (has_all, own.is_empty()) {
        (false, _) => own,
        (true, true) => "those of `evals.json`".to_owned(),
        (true, false) => format!("those of `evals.json`, {own}"),
    };
    [files.about.to_owned(), names.join("; "), code(&read), code(&graders) + &others, not_done, notes]
}

/// With `INSTA_UPDATE=always` it is written.
#[test]
fn the_page_of_formats_lists_the_files_and_the_keys_of_each() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/formats.md");
    let page = std::fs::read_to_string(&path).expect("a page");
    let (before, rest) = page.split_once(MARKS[0]).expect("a comment where the list begins");
    let (list, after) = rest.split_once(MARKS[1]).expect("a comment where the list ends");
    let mut rows = vec![
        "| format | files | keys that are read | graders | unsupported, and why | keys that only label |".to_owned(),
        "| --- | --- | --- | --- | --- | --- |".to_owned(),
    ];
    let (mut common, mut above) = (Vec::new(), [const { String::new() }; 6]);
    for (format, files) in foreign_formats() {
        let row = row(files, &common);
        // Two formats may be parts of one.
        if row != above && !files.about.is_empty() {
            let cells = row.iter().zip(&above);
            let cells = cells.map(|(cell, above)| if cell == above && !cell.is_empty() { "the same" } else { cell });
            rows.push(format!("| {} |", cells.collect::<Vec<_>>().join(" | ")));
            if common.is_empty() {
                common = (files.all_keys)().notes;
            }
            above = row;
        }
        let read = (files.all_keys)().read;
        assert!(
            files.mark.is_empty() || read.is_empty() || read.contains(&files.mark) || files.keys.contains(&files.mark),
            "{}",
            format.name
        );
    }
    let expected = rows.join("\n") + "\n";
    if std::env::var("INSTA_UPDATE").is_ok_and(|update| update == "always") {
        std::fs::write(path, [before, MARKS[0], &expected, MARKS[1], after].concat()).expect("a page");
    } else {
        assert_eq!(list, expected, "INSTA_UPDATE=always writes docs/formats.md");
    }
}

/// Files with cases that ask for all that the page calls unsupported.
const UNSUPPORTED: &[(&str, &str)] = &[
    (
        "evals/tidy/a.vally.yaml",
        "{ environment: { skills: [../other] }, stimuli: [{ name: a, prompt: A, turns: [B], runs: 0, graders: [\
         { type: tool-calls, config: { sequence: [bash] } }, { type: run-command, config: { command: a, stderr_contains: b } }, \
         { type: prompt, config: { prompt: C, scoring: numeric } }, { type: prompt, config: { prompt: C, threshold: 0.5 } }] }] }",
    ),
    (
        "evals/tidy/b.eval.yaml",
        "scenarios: [{ name: a, prompt: A, turns: [B], runs: 0, setup: { skills: [../other] }, assertions: [{ type: exit_success }] }]",
    ),
    (
        "evals/tidy/eval.yaml",
        "{ schemaVersion: '3', skill: tidy, config: { trials_per_task: 1 }, tasks: [tasks/a.yaml], \
         graders: [{ type: prompt, config: { mode: pairwise, prompt: C } }] }",
    ),
    ("evals/tidy/tasks/a.yaml", "{ id: a, enabled: false, inputs: { prompt: A, prompt_file: a.md } }"),
    (
        "evals/tidy/promptfooconfig.yaml",
        "{ prompts: [A], evaluateOptions: { timeoutMs: 5 }, tests: [{ assert: [{ type: skill-used, value: tidy }] }] }",
    ),
    (
        "evals/tidy/c.eval.yaml",
        "{ extensions: [other], environment: other.yaml, evaluate_options: { timeout_ms: 5 }, \
         tests: [{ input: A, assert: [{ type: skill-used, value: tidy }] }] }",
    ),
    (".claude-plugin/plugin.json", "{ \"name\": \"rooms\" }"),
    (
        "evals/d/case.yaml",
        "{ schema_version: '1.1', name: d, plugins: [../other], execution: { prompt: A }, \
         context: { scaffold_script: a.sh, history_file: b.jsonl }, graders: [{ name: a, type: regex, pattern: A }] }",
    ),
    ("evals/d/a.sh", "cd $0"),
    ("evals/d/b.jsonl", "{ \"role\": \"tool\", \"content\": [] }"),
    ("evals/tidy/e/task.md", "A"),
    (
        "evals/tidy/e/criteria.json",
        "{ \"type\": \"other\", \"checklist\": [{ \"description\": \"A\", \"max_score\": 1 }] }",
    ),
];

#[test]
fn a_case_says_of_each_reason_on_the_page_why_it_does_not_run() {
    let fixture = Fixture::new().skill("tidy").skill("other");
    let catalog = UNSUPPORTED.iter().fold(fixture, |fixture, (path, text)| fixture.file(path, *text)).catalog();
    let said = catalog.cases.iter().flat_map(|found| match found.case() {
        Ok(case) => case.unsupported.iter().map(|part| (found.format().name, part.what.clone())).collect::<Vec<_>>(),
        Err(problems) => panic!("{} {problems:?}", found.id),
    });
    let said: Vec<_> = said.collect();
    for (format, files) in foreign_formats().filter(|(_, files)| !files.about.starts_with("the same in")) {
        for (key, what) in (files.all_keys)().not_done {
            assert!(said.iter().any(|part| *part == (format.name, what.to_owned())), "{} {key} {said:#?}", format.name);
        }
    }
}
