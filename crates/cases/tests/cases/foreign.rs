//! Case files of other programs: read where they are, as they are, and never less of them than they have.

use std::sync::Arc;

use skill_evals_cases::cases::case::FoundCase;
use skill_evals_cases::lint::{self, LintOptions};
use skill_evals_evidence::settings::Settings;
use skill_evals_evidence::trial::input_file::InputContent;
use skill_evals_evidence::trial::outcome::Weight;
use skill_evals_testing::fixture::{Fixture, temporary};

/// A line for each case: skill, id, format, file, line, column, and what is unsupported or wrong.
pub fn lines(fixture: &Fixture) -> Vec<String> {
    let (catalog, tree) = (fixture.catalog(), fixture.repository());
    let line = |found: &Arc<FoundCase>| {
        let problems = lint::case_errors(found, &catalog, &tree, &Settings::default());
        let column = found.case().map_or(1, |case| case.origin.column.max(1));
        let place = format!("{}:{}:{column}", found.file.display(), found.line);
        let mut parts = vec![format!("{}/{} {} {place}", found.skill, found.id, found.format().name)];
        let unsupported = found.case().map(|case| case.unsupported_parts(false)).unwrap_or_default();
        for problem in unsupported.iter().chain(&problems) {
            parts.push(format!("{}:{} {}", problem.place.line, problem.place.column, problem.message));
        }
        parts.join(" | ")
    };
    catalog.cases.iter().map(line).collect()
}

/// What lint says of all files, one a line.
pub fn linted(fixture: &Fixture) -> String {
    let problems = lint::all(&fixture.catalog(), &fixture.repository(), LintOptions::default());
    problems.iter().flat_map(|problem| [problem.to_string(), "\n".to_owned()]).collect()
}

fn tidy(path: &str, text: &str) -> Fixture {
    Fixture::new().skill("tidy").skill("other").file(path, text)
}

#[test]
fn files_are_found_by_their_names_and_belong_to_the_skill_that_they_name_or_lie_in() {
    let eval = r#"{ "evals": [ { "id": 7, "prompt": "Do it" } ] }"#;
    let named = r#"{ "skill_name": "tidy", "evals": [ { "id": "x y", "prompt": "Do it" } ] }"#;
    let query = r#"[ { "query": "Do it", "should_trigger": true } ]"#;
    for (path, text, expected) in [
        ("skills/tidy/evals/evals.json", eval, "tidy/evals-7 eval"),
        ("skills/tidy/evals/more-evals.json", eval, "tidy/more-evals-7 eval"),
        ("evals/evals.json", named, "tidy/evals-x-y eval"),
        ("evals/tidy/evals.json", eval, "tidy/evals-7 eval"),
        ("tests/a/evals/evals.json", named, "tidy/evals-x-y eval"),
        (
            "evals/trigger-evals.json",
            r#"{ "skill_name": "tidy", "queries": [ { "query": "Do it", "should_trigger": true } ] }"#,
            "tidy/trigger-evals-1 trigger query",
        ),
        ("skills/tidy/trigger_eval.json", query, "tidy/trigger_eval-1 trigger query"),
        ("skills/tidy/evals/anything.json", query, "tidy/anything-1 trigger query"),
        (
            "evals/trigger-eval.json",
            r#"[ { "query": "Do it", "should_trigger": "plugin:tidy" } ]"#,
            "tidy/trigger-eval-1 trigger query",
        ),
    ] {
        let fixture = tidy(path, text);
        let lines: Vec<String> = lines(&fixture).into_iter().filter(|line| !line.contains("built-in")).collect();
        assert!(lines.len() == 1 && lines[0].starts_with(&format!("{expected} {path}:1:")), "{path}: {lines:?}");
        let built_in =
            fixture.catalog().cases_of("tidy").filter(|found| found.format().name == "built-in case").count();
        assert_eq!(built_in, 0, "{path}");
    }
}

#[test]
fn files_that_only_have_a_similar_name_are_none_of_ours() {
    for (path, text) in [
        ("evals/config.json", r#"{ "model": "small" }"#),
        ("evals/config.json", "{ not JSON"),
        ("evals/data.json", r#"[ { "prompt": 5 } ]"#),
        ("node_modules/x/evals/evals.json", "{}"),
        (".claude/skills/tidy/evals/evals.json", "{}"),
        ("evals/fixtures/evals/evals.json", "{}"),
        ("artifacts/x/evals/evals.json", "{}"),
        ("vendor/.git/evals/evals.json", "{}"),
    ] {
        let lines = lines(&tidy(path, text));
        assert!(lines.len() == 6 && lines.iter().all(|line| line.contains(" built-in case ")), "{path}: {lines:?}");
    }
}

#[test]
fn every_form_of_an_evals_json_is_read_and_what_it_expects_has_a_place() {
    let text = r#"{
  "skill_name": "tidy",
  "evals": [
    { "id": 0, "name": "strings", "prompt": "A", "expected_output": "All is tidy", "files": [],
      "expectations": ["one", "two"] },
    { "id": 1, "prompt": "B", "assertions": [ "three", { "text": "four" }, { "name": "n", "description": "five" },
      { "name": "n", "check": "six" }, { "text": "seven", "type": "contains_all" } ] },
    { "id": 2, "prompt": "C", "should_trigger": false, "category": "none", "forbidden_behaviors": ["eight"] },
    { "prompt": "D", "turns": 3 }
  ]
}"#;
    let fixture = tidy("skills/tidy/evals/evals.json", text);
    let catalog = fixture.catalog();
    let cases: Vec<_> = catalog.cases_of("tidy").map(|found| found.case().expect("a case")).collect();
    let assertions: Vec<Vec<&str>> =
        cases.iter().map(|case| case.assertions.iter().map(|assertion| assertion.text.as_str()).collect()).collect();
    assert_eq!(
        assertions,
        [
            vec!["one", "two", "All is tidy"],
            vec!["three", "four", "five", "six"],
            vec!["This does not happen: eight"],
            vec![]
        ]
    );
    let place = &cases[0].assertions[1].place;
    assert_eq!((place.line, place.column), (5, 31));
    let expected: Vec<_> = cases.iter().map(|case| case.asks_for_trigger().then_some(case.should_trigger)).collect();
    assert_eq!(expected, [None, None, Some(false), None]);
    let lines = lines(&fixture);
    assert!(lines[4].contains("7:40 unsupported: an assertion of the type `contains_all`"), "{lines:?}");
    assert!(
        lines[6].contains("tidy/evals-4 eval skills/tidy/evals/evals.json:9:5 | 9:22 unsupported: the key `turns`"),
        "{lines:?}"
    );
}

#[test]
fn a_file_named_as_cases_is_an_error_where_its_prompts_have_unknown_keys() {
    for key in ["promt", "ask", "title"] {
        let cases = format!(r#"{{"skill_name":"tidy","evals":[{{"id":7,"{key}":"Do it","should_trigger":true}}]}}"#);
        for path in ["skills/tidy/evals/evals.json", "evals/evals.json", "evals/tidy.evals.json"] {
            let lines = lines(&tidy(path, &cases));
            let is_said = |line: &String| line.contains("-7 ") && line.contains("`prompt` is missing");
            assert!(lines.iter().any(is_said), "{path}: {lines:?}");
        }
    }
}

#[test]
fn every_form_of_a_trigger_set_is_read() {
    let query = |text: &str| format!(r#"{{ "query": "Do it", {text} }}"#);
    for (text, expected) in [
        (
            format!("[{}, {}]", query("\"should_trigger\": true"), query("\"should_trigger\": false")),
            vec![("tidy", true), ("tidy", false)],
        ),
        (
            r#"{ "should_trigger": ["a", "b"], "should_not_trigger": [{ "query": "c", "reason": "d" }] }"#.to_owned(),
            vec![("tidy", true), ("tidy", true), ("tidy", false)],
        ),
        (
            format!("{{ \"skills_tested\": [\"other\"], \"evals\": [{}] }}", query("\"should_trigger\": false")),
            vec![("other", false)],
        ),
        (format!("[{}]", query("\"should_trigger\": \"other\"")), vec![("other", true)]),
        (format!("{{ \"queries\": [{}] }}", query("\"expect_skill\": \"other\"")), vec![("other", true)]),
    ] {
        let fixture = tidy("skills/tidy/evals/trigger-evals.json", &text);
        let catalog = fixture.catalog();
        let mut found: Vec<_> = catalog.cases.iter().filter(|found| found.format().name == "trigger query").collect();
        found.sort_by_key(|found| found.id.clone());
        let found: Vec<_> =
            found.iter().map(|found| (&*found.skill, found.should_trigger().expect("a side"))).collect();
        assert_eq!(found, expected, "{text}");
    }
}

#[test]
fn a_trigger_set_may_expect_several_skills_none_of_several_or_another_one() {
    for (path, text, expected) in [
        (
            "skills/tidy/evals/trigger-evals.json",
            r#"[ { "query": "A", "skills_expected_to_activate": ["tidy", "other"] } ]"#,
            r#"tidy activates ActivatesCheck { skills: ["tidy", "other"], in_order: false }"#,
        ),
        (
            "skills/tidy/evals/trigger-evals.json",
            r#"[ { "query": "A", "skills_expected_to_activate": [] } ]"#,
            r#"tidy rejects RejectsCheck(["*"])"#,
        ),
        (
            "evals/trigger-evals.json",
            r#"{ "skills_tested": ["tidy", "other"], "evals": [ { "query": "A", "should_trigger": false } ] }"#,
            r#"tidy not-triggered, rejects RejectsCheck(["tidy", "other"])"#,
        ),
        (
            "evals/trigger-evals.json",
            r#"{ "skill_name": "tidy", "evals": [ { "query": "A", "expect_skill": "desk:other" } ] }"#,
            r#"tidy not-triggered, activates ActivatesCheck { skills: ["other"], in_order: false }"#,
        ),
    ] {
        let catalog = tidy(path, text).catalog();
        let found = catalog.cases.iter().find(|found| found.format().name == "trigger query").expect("a query");
        let case = found.case().expect("a good case");
        assert!(case.unsupported.is_empty(), "{text}: {:?}", case.unsupported);
        let checks: Vec<String> = case
            .checks
            .iter()
            .map(|check| match check.kind.id {
                id @ ("activates" | "rejects") => format!("{id} {:?}", check.ask),
                id => id.to_owned(),
            })
            .collect();
        assert_eq!(format!("{} {}", found.skill, checks.join(", ")), expected, "{text}");
    }
}

/// A file, how it is broken, and what is said of each of its cases.
#[test]
fn a_broken_file_is_no_panic_and_never_has_fewer_cases_than_it_has() {
    let good = r#"{ "id": 1, "prompt": "Do it", "expectations": ["It is done"] }"#;
    let deep = format!("{}{}", "[".repeat(600), "]".repeat(600));
    let in_list = |case: &str| format!("{{ \"evals\": [{case}, {good}] }}");
    for (text, said) in [
        ("{ \"evals\": [".to_owned(), vec!["this is not JSON"]),
        (String::new(), vec!["the file is empty"]),
        ("\u{feff}".to_owned(), vec!["the file is empty"]),
        ("5".to_owned(), vec!["the file has no cases: the key `evals` is missing"]),
        ("[]".to_owned(), vec!["the file is an empty array"]),
        ("{ \"evals\": [] }".to_owned(), vec!["`evals` is empty"]),
        ("{ \"evals\": { \"a\": 1 } }".to_owned(), vec!["`evals` is an object; expected an array"]),
        (format!("{{ \"evals\": {{}}, \"cases\": [{good}] }}"), vec!["`evals` is an object; expected an array", ""]),
        (
            format!("{{ \"should_trigger\": true, \"evals\": [{good}] }}"),
            vec!["`should_trigger` is a boolean; expected an array", ""],
        ),
        ("{ \"eval\": [] }".to_owned(), vec!["the file has no cases: the key `evals` is missing"]),
        (deep, vec!["this is not JSON"]),
        (in_list("5"), vec!["a case is a number; expected an object", ""]),
        (in_list("null"), vec!["a case is null; expected an object", ""]),
        (in_list(r#"{ "id": 2 }"#), vec!["the key `prompt` is missing", ""]),
        (in_list(r#"{ "id": 2, "prompt": " " }"#), vec!["`prompt` is empty", ""]),
        (in_list(r#"{ "id": 2, "prompt": ["a"] }"#), vec!["`prompt` is an array; expected a string", ""]),
        (in_list(r#"{ "id": 2, "prompt": "a", "promt": "b" }"#), vec!["unknown key `promt`", ""]),
        (in_list(r#"{ "id": 2, "prompt": "a", "prompt": "b" }"#), vec!["duplicate key `prompt`", ""]),
        (
            in_list(r#"{ "id": 2, "prompt": "a", "expectations": { } }"#),
            vec!["`expectations` is an object; expected an array", ""],
        ),
        (in_list(r#"{ "id": 2, "prompt": "a", "assertions": [ { } ] }"#), vec!["the key `text` is missing", ""]),
        (
            in_list(r#"{ "id": 2, "prompt": "a", "assertions": [ { "text": " " } ] }"#),
            vec!["an assertion is an empty text", ""],
        ),
        (
            in_list(r#"{ "id": 2, "prompt": "a", "assertions": [ 5 ] }"#),
            vec!["an assertion is a number; expected a string or an object", ""],
        ),
        (
            in_list(r#"{ "id": 2, "prompt": "a", "should_trigger": 1 }"#),
            vec!["`should_trigger` is a number; expected true, false or the name", ""],
        ),
        (in_list(r#"{ "id": 1, "prompt": "a", "expectations": "b" }"#), vec!["", "the case id `evals-1` is taken"]),
        (
            in_list(r#"{ "id": 2, "prompt": "a", "skill": "tydi" }"#),
            vec!["names the skill `tydi`, which is not here", ""],
        ),
        (in_list(r#"{ "id": "../../x", "prompt": "a", "should_trigger": true, "assertions": ["b"] }"#), vec!["", ""]),
        (format!("{{ \"evals\": [{good}], \"evals\": [] }}"), vec!["duplicate key `evals`", ""]),
        (
            format!("{{ \"skill_name\": 5, \"evals\": [{good}] }}"),
            vec!["`skill_name` is a number; expected a string", ""],
        ),
        (
            format!("{{ \"skills_tested\": 5, \"evals\": [{good}] }}"),
            vec!["an element of `skills_tested` is a number; expected a string", ""],
        ),
    ] {
        assert_said(&text, &said);
    }
}

/// Of each case in an evals.json, what is wrong or unsupported.
fn assert_said(text: &str, said: &[&str]) {
    let mut lines = lines(&tidy("skills/tidy/evals/evals.json", text));
    lines.retain(|line| !line.contains("built-in"));
    assert_eq!(lines.len(), said.len(), "{text}: {lines:?}");
    for (line, said) in lines.iter().zip(said) {
        let is_said = if said.is_empty() { !line.contains(" | ") } else { line.contains(said) };
        assert!(is_said, "{text}: {said:?} is not in {line}");
    }
}

#[test]
fn what_a_case_expects_is_read_whole_or_the_case_does_not_run() {
    for (expected, said) in [
        (r#""assertions": [{ "text": "b", "text": "c" }]"#, "duplicate key `text`"),
        (r#""assertions": [{ "text": "" }]"#, "an assertion is an empty text"),
        (r#""assertions": [{ "text": 5 }]"#, "`text` is a number; expected a string"),
        (r#""assertions": [{ "type": "contains_all", "value": "b" }]"#, "unsupported: an assertion of the type"),
        (r#""expectations": [" "]"#, "an assertion is an empty text"),
        (r#""expectations": """#, "an assertion is an empty text"),
        (r#""forbidden_behaviors": [""]"#, "an assertion is an empty text"),
        (r#""skill": []"#, "`skill` is an array; expected a string"),
        (r#""should_trigger": """#, "`should_trigger` is empty"),
        (r#""should_trigger": "Yes""#, "`should_trigger` is a string; expected true, false or the name"),
        (r#""expect_skill": []"#, "`expect_skill` is an empty list"),
        (
            r#""should_trigger": "tidy", "skills_expected_to_activate": ["other"]"#,
            "unsupported: `skills_expected_to_activate` next to other skills that activate",
        ),
        (r#""files": [{ "path": "a", "source": "b", "content": "c" }]"#, "unsupported: the key `source`"),
        (r#""expectations": []"#, "unsupported: a case that expects nothing"),
        (r#""notes": "a draft""#, "unsupported: a case that expects nothing"),
    ] {
        let good = r#"{ "id": 1, "prompt": "Do it", "expectations": ["It is done"] }"#;
        assert_said(&format!(r#"{{ "evals": [{{ "id": 2, "prompt": "a", {expected} }}, {good}] }}"#), &[said, ""]);
    }
}

#[test]
fn files_of_a_case_are_named_from_its_file_its_skill_or_the_repository() {
    let eval = |files: &str| {
        format!(r#"{{ "evals": [ {{ "prompt": "Do it", "expected_output": "It is done", "files": {files} }} ] }}"#)
    };
    for (files, said) in [
        (r#"["files/a.csv"]"#, "files/a.csv skills/tidy/evals/files/a.csv"),
        (r#"["./evals/files/a.csv"]"#, "evals/files/a.csv skills/tidy/evals/files/a.csv"),
        (r#"["data/b.csv"]"#, "data/b.csv data/b.csv"),
        (r#"[{ "path": "c.txt", "content": "c" }]"#, "c.txt text"),
        (r#"["gone.csv"]"#, "[missing-fixture] the file skills/tidy/evals/gone.csv does not exist"),
        (r#"["../../../b.csv"]"#, "[bad-path] `../../../b.csv` leaves its directory with `..`"),
        ("[5]", "[value-type] an element of `files` is a number; expected a path"),
        (r#"[".git"]"#, "[bad-path] `.git` belongs to git"),
        (
            r#"["skills/tidy/evals"]"#,
            "[bad-path] the agent would get skills/tidy/evals with skills/tidy/evals/evals.json, and read there what is expected",
        ),
        (r#"["skills"]"#, "[bad-path] the agent would get skills with skills/tidy/evals/evals.json"),
        (r#"[{ "path": "a/.git/config", "content": "c" }]"#, "[bad-path] `a/.git/config` belongs to git"),
    ] {
        let fixture = tidy("skills/tidy/evals/evals.json", &eval(files));
        let fixture = fixture.file("skills/tidy/evals/files/a.csv", "a").file("data/b.csv", "b");
        let catalog = fixture.catalog();
        let case = catalog.cases_of("tidy").next().expect("a case");
        let found = match case.case() {
            Ok(_) if linted(&fixture).contains("evals.json:") => linted(&fixture),
            Ok(case) => match &case.files[0].content {
                InputContent::Text(_) => format!("{} text", case.files[0].path),
                InputContent::Source(source) => format!("{} {source}", case.files[0].path),
            },
            Err(problems) => problems[0].to_string(),
        };
        assert!(found.contains(said), "{files}: {found}");
    }
}

#[test]
fn skills_of_published_plugins_are_found_next_to_the_others_and_copies_are_not() {
    let plugin = |name: &str| format!("---\nname: {name}\ndescription: Does what {name} does.\n---\n\nDo it.\n");
    let fixture = Fixture::new()
        .skill("tidy")
        .file("plugins/a/skills/tidy/SKILL.md", plugin("tidy"))
        .file("plugins/b/skills/more/SKILL.md", plugin("more"));
    let catalog = fixture.catalog();
    assert_eq!(catalog.slugs(), ["more", "tidy"]);
    assert_eq!(catalog.skill("tidy").expect("a skill").skill().folder, std::path::Path::new("skills/tidy"));
    let alone = Fixture::new()
        .file("SKILL.md", plugin("alone"))
        .file("evals/evals.json", r#"{ "evals": [ { "prompt": "A", "assertions": "B" } ] }"#);
    assert_eq!(lines(&alone), ["alone/evals-1 eval evals/evals.json:1:14"]);
}

/// A stimulus of Vally with these lines besides its name.
fn stimulus(lines: &str) -> Fixture {
    tidy("evals/tidy/eval.yaml", &format!("stimuli:\n  - name: one\n    prompt: Do it\n{lines}"))
}

/// Holds what a grader of a stimulus is: checks, an assertion, unsupported, or a problem.
fn holds(grader: &str, said: &str) {
    let fixture = stimulus(&format!("    graders:\n      - {grader}\n"));
    let catalog = fixture.file("skills/tidy/references/a.md", "a").catalog();
    let found = catalog.cases_of("tidy").next().expect("a case");
    let shown = match found.case() {
        Ok(case) => {
            let checks = case.checks.iter().map(|check| check.kind.id.to_owned());
            let judged = case.assertions.iter().map(|_| "assertion".to_owned());
            let rest = case.unsupported.iter().map(|part| format!("unsupported: {}", part.what));
            checks.chain(judged).chain(rest).collect::<Vec<_>>().join(", ")
        }
        Err(problems) => problems[0].to_string(),
    };
    assert!(shown.contains(said), "{grader}: {shown}");
}

#[test]
fn each_grader_of_a_vally_spec_is_a_check_an_assertion_or_unsupported() {
    for (grader, said) in [
        ("{ type: output-contains, config: { substring: Ada } }", "text"),
        ("{ type: output-not-matches, config: { pattern: '(?i)a(?!b)' } }", "text"),
        ("{ type: file-exists, config: { path: '**/a.txt' } }", "file"),
        ("{ type: file-not-contains, config: { path: a.txt, value: b } }", "file"),
        ("{ type: skill-invocation, config: { required: [tidy] } }", "triggered"),
        ("{ type: skill-invocation, config: { disallowed: [tidy] } }", "not-triggered"),
        ("{ type: skill-invocation, config: { required: [other] } }", "activates"),
        ("{ type: tool-calls, config: { disallowed: [{ name: '^(bash|pwsh)$', command: rm }] } }", "command"),
        ("{ type: run-command, config: { command: make, expected_exit_code: 2 } }", "run"),
        (
            "{ type: run-command, config: { command: make, stdout_contains: a, stdout_not_matches: '(?i)b' } }",
            "run, run",
        ),
        ("{ type: run-command, config: { command: make, stdout_matches: '(' } }", "does not compile"),
        (
            "{ type: run-command, config: { command: make, stderr_contains: a } }",
            "unsupported: the key `stderr_contains`",
        ),
        ("{ type: run-command, config: { command: make, timeout: 2m } }", "run"),
        ("{ type: run-command, config: { command: make, timeout: soon } }", "`timeout` is a string"),
        ("{ type: completed }", "text"),
        ("{ type: prompt, config: { prompt: Is it good?, scoring: binary, threshold: 1 } }", "assertion"),
        (
            "{ type: prompt, config: { prompt: Is it good?, threshold: 3 } }",
            "unsupported: a threshold of a judge's score",
        ),
        (
            "{ type: prompt, config: { prompt: Is it good?, scoring: scale } }",
            "unsupported: a judge's score that is not pass or fail",
        ),
        ("{ type: prompt }", "unsupported: a judge without a prompt or a rubric"),
        ("{ type: prompt, config: { prompt: Is it good? } }", "assertion"),
        ("{ type: json-object-rules }", "unsupported: the grader `json-object-rules`"),
        ("{ type: output-contain, config: { substring: a } }", "unknown grader `output-contain`"),
        ("{ type: output-matches, config: { pattern: '(' } }", "does not compile"),
        ("{ type: output-matches, config: { } }", "the key `pattern` is missing"),
        ("{ type: completed, type: completed }", "duplicate key `type`"),
    ] {
        holds(grader, said);
    }
}

#[test]
fn a_name_of_a_tool_in_a_vally_spec_stands_for_work_or_is_unsupported() {
    for (grader, said) in [
        ("{ type: tool-calls, config: { disallowed: ['^bash$'] } }", "work"),
        ("{ type: tool-calls, config: { disallowed: [create, edit] } }", "work"),
        ("{ type: tool-calls, config: { required: [edit] } }", "unsupported: a call of the tool `edit`"),
        ("{ type: tool-calls, config: { required: [skill] } }", "activates"),
        ("{ type: tool-calls, config: { required: [view] } }", "unsupported: a call of the tool `view`"),
        ("{ type: tool-calls, config: { required: [{ name: view, path: 'a\\.md$' }] } }", "resource-loaded"),
        (
            "{ type: tool-calls, config: { required: [{ name: view, path: SKILL }] } }",
            "unsupported: a call of the tool `view`",
        ),
        (
            "{ type: tool-calls, config: { disallowed: [{ name: view, path: a.md }] } }",
            "unsupported: a call of the tool `view`",
        ),
    ] {
        holds(grader, said);
    }
}

/// A stimulus of Vally with six graders in a spec with this `scoring`.
fn with_scoring(scoring: &str) -> Fixture {
    let graders = "    rubric: [It is good, It is short]
    graders:
      - { type: output-contains, config: { substring: a } }
      - { type: skill-invocation, config: { required: [tidy], disallowed: [other] } }
      - { type: output-contains, config: { substring: b } }
      - { type: completed }
      - { type: file-exists, weight: 2, config: { path: a } }
      - { type: prompt }
";
    tidy("evals/tidy/eval.yaml", &format!("{scoring}stimuli:\n  - name: one\n    prompt: Do it\n{graders}"))
}

#[test]
fn the_weights_and_the_threshold_of_a_vally_spec_make_a_score() {
    let weights = |scoring: &str| {
        let catalog = with_scoring(scoring).catalog();
        let case = catalog.cases_of("tidy").next().expect("a case").case().expect("a good case").clone();
        let shown = |id: &str, weight: Option<Weight>| {
            weight.map_or_else(
                || format!("{id} must pass"),
                |weight| format!("{id} {} of {}", weight.amount, weight.part),
            )
        };
        let checks = case.checks.iter().map(|check| shown(check.kind.id, check.weight));
        let judged = case.assertions.iter().map(|assertion| shown("assertion", assertion.weight));
        (case.least_score, checks.chain(judged).collect::<Vec<_>>())
    };
    let scoring = "scoring:\n  threshold: 0.8\n  weights: { output-contains: 0.6, skill-invocation: 0.4, file-exists: 1, prompt: 0 }\n";
    let expected = [
        "triggered 0.4 of 2",
        "rejects 0.4 of 2",
        "text 0.3 of 1",
        "text 0.3 of 3",
        "text must pass",
        "file must pass",
        "assertion 0 of 6",
        "assertion 0 of 6",
    ];
    assert_eq!(weights(scoring), (Some(0.8), expected.map(str::to_owned).to_vec()));
    let (least, all) = weights("scoring: { threshold: 1 }\n");
    assert_eq!(
        (least, &*all[0], &*all[4], &*all[7]),
        (Some(1.0), "triggered 1 of 2", "text 1 of 4", "assertion 1 of 6")
    );
    let score = |scoring: &str| {
        let fixture = with_scoring(scoring);
        let catalog = fixture.catalog();
        let case = catalog.cases_of("tidy").next().expect("a case").case().expect("a case");
        let parts = case.parts().into_iter().filter(|part| ["least score", "weights"].contains(&&*part.name));
        parts.filter_map(|part| Some(part.written()?.into_owned())).collect::<Vec<_>>()
    };
    assert_ne!(score("scoring: { threshold: 1 }\n"), score("scoring: { threshold: 0.9 }\n"));
    assert!(score("").is_empty(), "the digest of a case without weights has no score");
    let (least, all) = weights("");
    assert!(least.is_none() && all.iter().all(|check| check.ends_with("must pass")), "{all:?}");
}

#[test]
fn what_the_scoring_of_a_vally_spec_does_not_have_is_an_error_or_unsupported() {
    for (scoring, said) in [
        ("scoring: { threshold: 80 }\n", "`threshold` is a number"),
        ("scoring: { weights: { completed: -1 } }\n", "`completed` is a number"),
        ("scoring: { weights: [1] }\n", "`weights` is"),
        ("scoring: { weight: { completed: 1 } }\n", "unknown key `weight`"),
        ("scoring: { method: mean }\n", "unsupported: the key `method`"),
    ] {
        let shown = linted(&with_scoring(scoring));
        assert!(shown.contains(said), "{scoring}: {shown}");
    }
}

#[test]
fn a_vally_spec_whose_graders_decide_nothing_expects_nothing() {
    let spec = |threshold: &str, weight: u8| {
        let graders = "    graders:\n      - { type: output-contains, config: { substring: a } }\n";
        let scoring = format!("scoring: {{ threshold: {threshold}, weights: {{ output-contains: {weight} }} }}\n");
        let text = format!("{scoring}stimuli:\n  - name: one\n    prompt: Do it\n{graders}");
        let catalog = tidy("evals/tidy/eval.yaml", &text).catalog();
        let case = catalog.cases_of("tidy").next().expect("a case").case().expect("a good case").clone();
        case.unsupported.iter().any(|part| part.what == "a case that expects nothing")
    };
    assert_eq!((spec("0.5", 1), spec("0.5", 0), spec("0", 1)), (false, true, true));
}

#[test]
fn a_limit_on_turns_in_a_vally_spec_is_checked_too_because_some_agents_do_not_keep_it() {
    let catalog = stimulus("    constraints: { max_turns: 3 }\n").catalog();
    let case = catalog.cases_of("tidy").next().expect("a case").case().expect("a good case").clone();
    assert_eq!(case.max_turns, Some(3));
    assert!(case.checks.iter().any(|check| check.kind.id == "max-turns"), "{:?}", case.checks);
}

#[test]
fn an_eval_yaml_of_another_program_is_none_of_ours() {
    for (path, text) in [
        ("docs/tidy/eval.yaml", "tasks: [a.yaml]\n"),
        ("skills/tidy/eval.yaml", "name: x\ntasks: [a.yaml]\n"),
        ("evals/more/eval.yaml", "name: stimuli\n"),
        ("evals/more/eval.yaml", "a: [\n# stimuli\n"),
        ("docs/evals/eval.yaml", "stimulus: []\n"),
    ] {
        let lines = lines(&tidy(path, text));
        assert!(lines.iter().all(|line| line.contains(" built-in case ")), "{text}: {lines:?}");
    }
}

#[test]
fn a_spec_of_vally_in_the_evals_of_a_skill_says_why_it_has_no_cases() {
    for (path, text, said) in [
        ("skills/tidy/evals/eval.yaml", "", "the file is empty"),
        ("skills/tidy/evals/eval.yaml", "name: x\n", "1:1 the key `stimuli` is missing"),
        ("skills/tidy/evals/eval.yaml", "name: x\nstimulus:\n  - prompt: a\n", "2:1 unknown key `stimulus`"),
        ("evals/tidy/eval.yaml", "name: x\n", "1:1 the key `stimuli` is missing"),
        ("evals/tidy/eval.yaml", "a: [\n", "this is not YAML"),
        ("evals/tidy/eval.yaml", "stimuli: null\n", "1:10 `stimuli` is null; expected an array"),
        ("evals/tidy/eval.yaml", "stimuli: []\n", "1:10 `stimuli` is empty"),
        ("evals/tidy/eval.yaml", "stimuli:\n  - prompt: a\nstimuli: []\n", "3:1 duplicate key `stimuli`"),
        (
            "evals/tidy/eval.yaml",
            "tags: { skill: tidy, skill: other }\nstimuli:\n  - prompt: a\n",
            "1:22 duplicate key `skill`",
        ),
        ("evals/tidy/eval.yaml", "stimuli:\n  - prompt: a\n    prompt: b\n", "3:5 duplicate key `prompt`"),
        ("evals/tidy/eval.yaml", "stimuli:\n  - prompt: a\n    rubric: ['']\n", "3:14 `rubric` holds an empty text"),
        (
            "evals/tidy/eval.yaml",
            "stimuli:\n  - prompt: a\n    graders: []\n",
            "2:5 unsupported: a case that expects nothing",
        ),
    ] {
        let lines: Vec<String> =
            lines(&tidy(path, text)).into_iter().filter(|line| line.starts_with("tidy/")).collect();
        assert!(lines[0].contains(said) && lines.iter().all(|line| !line.contains("built-in")), "{text}: {lines:?}");
    }
}

const EVALS: &str = r#"{ "evals": [ { "prompt": "Do it", "assertions": "It is done" } ] }"#;

#[test]
fn a_file_with_the_name_of_cases_that_cannot_be_read_is_a_broken_case_with_the_reason() {
    let outside = temporary();
    std::fs::write(outside.path().join("evals.json"), EVALS).expect("a file");
    let outside = outside.path().to_str().expect("a path");
    let file = "skills/tidy/evals/evals.json";
    let fixture = || Fixture::new().skill("tidy").skill("other");
    let pipe = fixture().file("skills/tidy/evals/a.md", "a");
    nix::unistd::mkfifo(&pipe.root().join(file), nix::sys::stat::Mode::S_IRWXU).expect("a pipe");
    for (fixture, said) in [
        (pipe, "a named pipe"),
        (fixture().file(&format!("{file}/a.md"), "a"), "a directory, not a file"),
        (fixture().link(file, "nowhere"), "it is a link to nowhere, which does not exist"),
        (fixture().link(file, &format!("{outside}/evals.json")), ", which is outside "),
        (fixture().link("skills/tidy/evals", outside), ", which is outside "),
    ] {
        let lines: Vec<String> = lines(&fixture).into_iter().filter(|line| line.starts_with("tidy/")).collect();
        assert!(
            lines.len() == 1 && lines[0].contains("cannot be read") && lines[0].contains(said),
            "{said}: {lines:?}"
        );
    }
}

#[test]
fn a_file_of_cases_may_be_a_link_to_a_file_of_the_repository_and_counts_once() {
    let fixture = || Fixture::new().skill("tidy").skill("other");
    for (fixture, file) in [
        (
            fixture().file("shared/a.json", EVALS).link("skills/tidy/evals/evals.json", "../../../shared/a.json"),
            "skills/tidy/evals/evals.json",
        ),
        (
            fixture().file("shared/a/evals.json", EVALS).link("skills/tidy/evals", "../../shared/a"),
            "skills/tidy/evals/evals.json",
        ),
        (
            fixture()
                .file("evals/tidy/evals.json", EVALS)
                .link("skills/tidy/evals/evals.json", "../../../evals/tidy/evals.json"),
            "evals/tidy/evals.json",
        ),
    ] {
        let lines: Vec<String> = lines(&fixture).into_iter().filter(|line| line.starts_with("tidy/")).collect();
        assert_eq!(lines, [format!("tidy/evals-1 eval {file}:1:14")]);
    }
}

#[test]
fn a_case_may_name_its_skill_as_the_directory_is_named() {
    let query = r#"[ { "query": "Do it", "should_trigger": "desk:tidy" } ]"#;
    let fixture = Fixture::new()
        .file("skills/desk:tidy/SKILL.md", "---\nname: desk-tidy\ndescription: Tidies the desk.\n---\n\nDo it.\n")
        .file("evals/trigger-evals.json", query);
    let lines = lines(&fixture);
    assert!(lines.iter().any(|line| line.starts_with("desk-tidy/trigger-evals-1 ")), "{lines:?}");
}

#[test]
fn a_file_with_a_name_of_trigger_sets_says_why_it_has_no_cases() {
    for (path, text, said) in [
        ("skills/tidy/trigger-evals.json", "[]", "the file is an empty array"),
        ("skills/tidy/trigger-queries.json", r#"["Do it"]"#, "a case that expects nothing"),
        ("skills/tidy/evals/trigger_tests.yaml", "should_trigger_prompts:\n", "the file has no cases"),
        ("skills/tidy/evals/trigger_tests.yaml", "should_triger_prompts: [a]\n", "the file has no cases"),
        (
            "skills/tidy/evals/trigger_tests.yaml",
            "should_trigger_prompts: { prompt: a }\nshould_not_trigger_prompts: [b]\n",
            "`should_trigger_prompts` is an object; expected an array",
        ),
    ] {
        let lines = lines(&tidy(path, text));
        assert!(lines.iter().any(|line| line.contains(said)), "{text}: {lines:?}");
        assert!(!lines.iter().any(|line| line.starts_with("tidy/smoke")), "{text}: {lines:?}");
    }
}

#[test]
fn many_cases_of_one_id_on_one_line_have_short_names() {
    let case = r#"{ "id": 1, "prompt": "Do it", "expectations": ["It is done"] }"#;
    let lines = lines(&tidy("skills/tidy/evals/evals.json", &format!("[{}]", [case; 5].join(","))));
    let ids: Vec<&str> = lines.iter().filter_map(|line| line.strip_prefix("tidy/")?.split(' ').next()).collect();
    let expected =
        ["evals-1", "evals-1-line-1", "evals-1-line-1-again", "evals-1-line-1-case-4", "evals-1-line-1-case-5"];
    assert_eq!(ids, expected);
}

#[test]
fn graders_of_a_vally_spec_by_the_rubric_and_by_a_prompt_of_their_own_keep_their_weights() {
    let text = "scoring: { threshold: 0.5 }\nstimuli:\n  - name: one\n    prompt: Do it\n    rubric: [It is good]\n    graders:\n\
                \x20     - { type: prompt, config: { prompt: It is short } }\n      - { type: prompt }\n      - { type: prompt }\n";
    let catalog = tidy("evals/tidy/eval.yaml", text).catalog();
    let case = catalog.cases_of("tidy").next().expect("a case").case().expect("a good case");
    let weight = |at: usize| case.assertions[at].weight.map(|weight| (weight.amount, weight.part));
    assert_eq!(case.assertions[0].text, "It is good");
    assert_eq!((weight(0), weight(1)), (Some((2.0, 3)), Some((1.0, 1))));
}
