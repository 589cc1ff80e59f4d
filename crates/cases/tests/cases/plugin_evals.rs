//! Cases of `claude plugin eval`: what is read of them, and what is an error.

use skill_evals_cases::cases::mocks::Mocks;
use skill_evals_evidence::settings::mode::Delivery;
use skill_evals_evidence::settings::trials::Trials;
use skill_evals_testing::fixture::Fixture;
use skill_evals_testing::tables;
use skill_evals_testing::tables::file;

use crate::foreign::linted;

/// What lint says of a plugin's cases with these files: the cases, the errors and the warnings.
fn said(files: &[(&str, &str)]) -> (Vec<String>, Vec<String>) {
    let mut fixture = Fixture::new().skill("greeting").file(".claude-plugin/plugin.json", r#"{"name": "tea"}"#);
    for (path, text) in files {
        fixture = fixture.file(&format!("evals/{path}"), *text);
    }
    let catalog = fixture.catalog();
    let mut problems: Vec<String> = catalog.problems.iter().map(ToString::to_string).collect();
    let mut cases = Vec::new();
    for found in &catalog.cases {
        match found.case() {
            Ok(case) => {
                cases.push(format!("{}: {}", case.id, case.prompt));
                problems.extend(case.unsupported_parts(false).iter().map(ToString::to_string));
                let of_mocks = Mocks::of(&fixture.repository(), &[], case, Delivery::Native).err().unwrap_or_default();
                problems.extend(of_mocks.iter().map(ToString::to_string));
            }
            Err(errors) => problems.extend(errors.iter().map(ToString::to_string)),
        }
    }
    (cases, problems)
}

const GRADER: &str = "---\ntype: regex\npattern: x\n---\n";

/// A case.yaml with these graders.
fn with(graders: &str) -> String {
    format!("schema_version: '1.1'\nname: a\nexecution: {{ prompt: p }}\ngraders:\n  - {{ name: g, {graders} }}\n")
}

#[test]
fn a_case_is_a_directory_with_a_prompt_or_a_file_of_it_all() {
    let whole = with("type: regex, pattern: x");
    for (files, cases) in [
        (vec![("a/prompt.md", "Make tea.\n"), ("a/graders/g.md", GRADER)], vec!["a: Make tea."]),
        (
            vec![("a/prompt.md", "---\nname: b c\n---\r\n\r\nMake\n---\ntea.\n"), ("a/graders/g.md", GRADER)],
            vec!["b-c: Make\n---\ntea."],
        ),
        (vec![("a/case.yaml", &whole)], vec!["a: p"]),
        (vec![("deep/er/a/case.yaml", &whole)], vec!["a: p"]),
        (vec![("a/case.yaml", &whole), ("a/prompt.md", "Other.")], vec!["a: Other."]),
        (
            vec![
                ("a/prompt.md", "\u{feff}---\n# a note\n---\nMake tea."),
                ("a/graders/g.md", GRADER),
                ("a/graders/README.md", "notes"),
            ],
            vec!["a: Make tea."],
        ),
        // What is in the directory of a case is no case, nor is what is in results and mocks.
        (
            vec![
                ("a/case.yaml", &whole),
                ("a/b/case.yaml", "schema_version: '1.1'"),
                ("results/b/case.yaml", "schema_version: '1.1'"),
            ],
            vec!["a: p"],
        ),
    ] {
        let (found, problems) = said(&files);
        assert_eq!((found, problems), (cases.into_iter().map(str::to_owned).collect(), Vec::new()), "{files:?}");
    }
}

#[test]
fn a_grader_without_a_name_is_one_problem_and_an_empty_pattern_another() {
    let graders = "graders: [{ type: regex, pattern: x }, { type: regex, pattern: x }]";
    let text = format!("schema_version: '1.1'\nname: a\nexecution: {{ prompt: p }}\n{graders}\n");
    let (_, problems) = said(&[("a/case.yaml", &text)]);
    let missing = problems.iter().filter(|problem| problem.contains("the key `name` is missing")).count();
    assert_eq!((missing, problems.len()), (2, 2), "{problems:?}");
    let lines = |grader: &str| {
        let fixture = Fixture::new().skill("greeting").file(".claude-plugin/plugin.json", r#"{"name": "tea"}"#);
        linted(&fixture.file("evals/a/case.yaml", with(grader)))
    };
    let empty = lines("type: regex, pattern: ''");
    assert!(
        empty.contains("evals/a/case.yaml:5:5: [invalid-check] this check can never fail: every text matches"),
        "{empty}"
    );
    for (grader, said) in [
        ("type: regex, pattern: 'x*'", "this check can never fail: every text matches \"x*\""),
        ("type: regex, pattern: 'x*', match: not_contains", "this check can never pass: every text matches"),
        ("type: regex, pattern: 'x*', match: 'count:2'", ""),
        ("type: regex, pattern: 'x*', target: { source: file, path: a }", ""),
    ] {
        let lines = lines(grader);
        assert_eq!((lines.contains("[invalid-check]"), lines.contains(said)), (!said.is_empty(), true), "{lines}");
    }
}

#[test]
fn a_case_gets_its_directories_its_script_its_history_and_its_limits() {
    let context = "{ add_dirs: [given/docs], scaffold_script: make.sh, history_file: before.jsonl }";
    let execution = "{ prompt: ' p ', max_turns: 3, env: { EVAL_A: x }, allowed_tools: ['Bash(ls:*)', Read], disallowed_tools: [Read] }";
    let whole = format!(
        "schema_version: '1.1'\nname: a\nruns: 2\ntags: [t]\ncontext: {context}\nexecution: {execution}\ngraders:\n  - {{ name: g, type: regex, pattern: x, weight: 2.5 }}\n"
    );
    let before = r#"{"role":"user","content":"Hi"}
{"type":"assistant","message":{"role":"assistant","content":[{"type":"text","text":"Ho"}]}}
"#;
    let fixture = Fixture::new()
        .skill("greeting")
        .file("evals/a/case.yaml", whole)
        .file("evals/a/given/docs/tea.md", "Tea.")
        .file("evals/a/make.sh", "echo \"it's\" > made\n")
        .file("evals/a/before.jsonl", before);
    let catalog = fixture.catalog();
    let case = catalog.cases[0].case().expect("a case");
    assert_eq!(case.prompt, "p");
    assert_eq!(case.setup, ["bash -c 'echo \"it'\\''s\" > made\n'"]);
    assert_eq!((case.max_turns, case.timeout.map(|timeout| timeout.as_secs())), (Some(3), Some(300)));
    assert_eq!(case.repetition.trials.map(Trials::most), Some(2));
    assert_eq!(
        (case.tags.as_slice(), case.env.as_slice()),
        (&["t".to_owned()][..], &[("EVAL_A".to_owned(), "x".to_owned())][..])
    );
    let tools = case.tools.as_ref().expect("limits");
    assert!(tools.allow("Bash") && !tools.allow("Read") && !tools.allow("Write"), "{tools:?}");
    assert_eq!(case.history.iter().map(|message| message.content.as_str()).collect::<Vec<_>>(), ["Hi", "Ho"]);
    assert_eq!(case.files.iter().map(|file| file.path.to_string()).collect::<Vec<_>>(), ["docs"]);
    assert_eq!(case.checks[0].weight.map(|weight| weight.amount.to_bits()), Some(2.5_f64.to_bits()));
}

/// The cases and the problems, one a line.
fn told(files: &[(&str, &str)]) -> String {
    let (cases, problems) = said(files);
    cases.into_iter().chain(problems).collect::<Vec<_>>().join("\n")
}

/// What is said of a prompt with this front matter.
fn front_matter(front: &str) -> String {
    told(&[("a/prompt.md", &format!("---\n{front}\n---\nMake tea.")), ("a/graders/g.md", GRADER)])
}

/// What is said of the mock in the file of a line, `PATH TEXT`, next to a good one.
fn mock(line: &str) -> String {
    let (path, text) = file(line);
    let (path, case) = (path.replace("%20", " "), with("type: regex, pattern: x"));
    told(&[("a/case.yaml", &case), (&path, &text), ("mocks/tea/stir.md", "x")])
}

tables! {
    front_matter => what_the_real_program_refuses_is_an_error_with_its_place;
    |grader| told(&[("a/case.yaml", &with(grader))]) =>
        a_grader_that_the_real_program_refuses_is_an_error,
        what_the_real_program_ignores_in_silence_is_a_warning;
    mock => mocks_that_cannot_be_served_are_named;
}

#[test]
fn a_case_without_a_prompt_and_a_grader_without_a_type_are_errors() {
    let empty = |prompt: &str| with("type: regex, pattern: x").replace("prompt: p", &format!("prompt: {prompt}"));
    for files in [
        vec![("a/case.yaml", &*empty("''"))],
        vec![("a/case.yaml", &*empty("'  '"))],
        vec![("a/prompt.md", " \n"), ("a/graders/g.md", GRADER)],
        vec![("a/prompt.md", "---\ntags: [x]\n---\n"), ("a/case.yaml", &*empty("p"))],
    ] {
        let (cases, problems) = said(&files);
        assert!(cases.is_empty() && problems.len() == 1, "{files:?}: {cases:?} {problems:?}");
        assert!(problems[0].contains("[missing-key] the case has no prompt"), "{files:?}: {problems:?}");
    }
    for grader in ["---\n---\n", "---\n# type: regex\n\n---\nx\n", "---\n~\n---\n"] {
        let (cases, problems) =
            said(&[("a/prompt.md", "Make tea."), ("a/graders/g.md", GRADER), ("a/graders/h.md", grader)]);
        assert!(cases.is_empty(), "{grader}: {cases:?}");
        assert_eq!(problems, ["evals/a/graders/h.md:1:1: [missing-key] the key `type` is missing"], "{grader}");
    }
}

#[test]
fn mocks_are_read() {
    let case = with("type: regex, pattern: x");
    let of = |mocks: &[(&str, &str)]| said(&[&[("a/case.yaml", &*case)], mocks].concat());
    for mocks in [
        vec![("mocks/tea/pour.md", "Poured.")],
        vec![(
            "a/mocks/tea/pour.md",
            "---\nexpect: { cup: string, size: [1, 2], name: /^a/ }\nerror: true\n---\nPoured {{input.cup}}.",
        )],
        vec![
            ("mocks/tea/README.txt", "x"),
            ("mocks/note.md", "x"),
            ("mocks/tea/_tools.json", "{}"),
            ("mocks/.replay/tea/x.md", "x"),
        ],
    ] {
        assert_eq!(of(&mocks).1, Vec::<String>::new(), "{mocks:?}");
    }
}
