//! Suites of promptfoo and AgentV: which of them hold cases, and what their tests become.

use nix::sys::stat::Mode;
use nix::unistd::mkfifo;
use skill_evals_evidence::settings::trials::Trials;
use skill_evals_evidence::trial::input_file::InputContent;

use crate::foreign::{cases, placed};
use skill_evals_testing::fixture::Fixture;
use skill_evals_testing::tables;

const CONFIG: &str = "promptfooconfig.yaml";

fn fixture() -> Fixture {
    Fixture::new().skill("tidy").skill("other")
}

/// A configuration with a test that has these lines.
fn config(lines: &str) -> String {
    format!("prompts: ['{{{{request}}}}']\ntests:\n  - vars: {{ request: Do it }}\n{lines}")
}

#[test]
fn each_prompt_with_each_test_is_a_case_of_the_skill_that_it_names() {
    let text = "prompts:\n  - 'Please: {{ request }}'\n  - { raw: '{{request}} {{times}}', label: b }\n\
        defaultTest:\n  vars: { times: 2.0 }\n  assert: [{ type: not-contains, value: 'no' }]\n\
        evaluateOptions: { repeat: 3, maxConcurrency: 2 }\n\
        tests:\n  - description: tidies up\n    vars: { request: \"Do it\\n\" }\n    assert: [{ type: skill-used, value: 'desk:tidy' }]\n\
        \x20 - vars: { request: Stop, times: 1 }\n    assert:\n      - { type: not-skill-used, value: tidy }\n      - { type: skill-used, value: [other] }\n";
    let fixture = fixture().file("promptfooconfig.desk.yaml", text);
    assert_eq!(
        cases(&fixture),
        [
            r#"other/promptfooconfig-desk-2-1 "Please: Stop" triggered, rejects ["tidy"], text"#,
            r#"other/promptfooconfig-desk-2-2 "Stop 1" triggered, rejects ["tidy"], text"#,
            r#"tidy/promptfooconfig-desk-tidies-up-1 "Please: Do it" triggered, text"#,
            r#"tidy/promptfooconfig-desk-tidies-up-2 "Do it 2" triggered, text"#,
        ]
    );
    let catalog = fixture.catalog();
    assert!(catalog.cases.iter().all(|found| {
        found.case().is_ok_and(|case| found.format().is_built_in() || case.repetition.trials == Some(Trials::Times(3)))
    }));
}

#[test]
fn a_test_of_a_skill_that_is_not_here_is_no_case_of_another() {
    let text = "prompts: ['{{request}}']\ntests:\n  - vars: { skill: tidy, request: A }\n    assert: [{ type: contains, value: x }]\n\
        \x20 - vars: { skill: absent, request: B }\n    assert: [{ type: contains, value: x }]\n";
    let found = cases(&fixture().file("evals/promptfooconfig.yaml", text));
    assert!(found.iter().any(|case| case.starts_with("tidy/") && case.contains("\"A\"")), "{found:?}");
    assert!(found.iter().all(|case| !(case.starts_with("tidy/") && case.contains("\"B\""))), "{found:?}");
}

/// A test with this assertion.
fn assertion(assertion: &str) -> String {
    suite(&config(&format!("    assert:\n      - {assertion}\n")))
}

/// The cases of a suite in the evals of a skill.
fn suite(text: &str) -> String {
    cases(&fixture().file("evals/tidy/promptfooconfig.yaml", text)).join("\n")
}

/// An assertion that makes a file one of cases.
const SKILL: &str = "    assert: [{ type: skill-used, value: tidy }]\n";

/// The test of a file. The line has what is before the tests, `||`, and what the test has besides its assertion.
fn part(line: &str) -> String {
    let (before, test) = line.split_once("||").unwrap_or((line, ""));
    let rest = config(&format!("    {}\n{SKILL}", test.trim()));
    let suite = format!("{}\n{rest}", before.trim().replace(" | ", "\n"));
    cases(&fixture().file("sub/promptfooconfig.yaml", suite).file("evals/a.txt", "a")).join("\n")
}

/// The case of a suite with these prompts.
fn prompts(prompts: &str) -> String {
    let text = format!("prompts: {prompts}\ntests:\n  - vars: {{ request: Do it }}\n{SKILL}");
    cases(&fixture().file("promptfooconfig.yaml", text).file("prompt.txt", "{{request}} now\n---\n")).join("\n")
}

/// A suite that names its tests so, next to a file with one.
fn with_tests(tests: &str) -> Fixture {
    let routing =
        "# The routes.\n- description: one\n  vars: { request: A }\n  assert: [{ type: skill-used, value: tidy }]\n";
    fixture()
        .file("evals/promptfooconfig.yaml", format!("prompts: ['{{{{request}}}}']\ntests: {tests}\n"))
        .file("evals/tests/routing.yaml", routing)
}

#[test]
fn a_test_in_another_file_has_its_place_there() {
    let catalog = with_tests("file://tests/routing.yaml").catalog();
    let origin = &catalog.cases_of("tidy").next().expect("a case").case().expect("a good case").origin;
    assert_eq!(origin.to_string(), "evals/tests/routing.yaml:2:3");
}

#[test]
fn a_pattern_of_test_files_names_deep_files_and_links_and_what_it_names_and_cannot_be_read_is_unsupported() {
    let test = |name: &str| format!("- description: {name}\n  assert: [{{ type: skill-used, value: tidy }}]\n");
    for (pattern, expected) in [
        ("tests/*.yaml", ["link", "shallow"].as_slice()),
        ("tests/**/*.yaml", &["deep", "link", "shallow"]),
        ("tests/**/{one,two}.yaml", &["deep", "shallow"]),
        ("tests/linked/*.yaml", &["outer"]),
        ("tests/.*.yaml", &["hidden"]),
    ] {
        let suite = format!("prompts: [a]\ntests: file://{pattern}\n");
        let fixture = fixture()
            .file("evals/promptfooconfig.yaml", suite)
            .file("evals/tests/one.yaml", test("shallow"))
            .file("evals/tests/.hidden.yaml", test("hidden"))
            .file("evals/tests/1/2/3/4/5/6/7/8/two.yaml", test("deep"))
            .file("outer/one.yaml", test("outer"))
            .file("other.yaml", test("link"))
            .link("evals/tests/zero.yaml", "../../other.yaml")
            .link("evals/tests/linked", "../../outer");
        let mut found = cases(&fixture);
        found.sort();
        let names = found.iter().map(|case| case.split([' ', '-']).nth(1).unwrap_or_default());
        assert_eq!(names.collect::<Vec<_>>(), expected, "{pattern}: {found:?}");
    }
    let tests = "[file://t/*.yaml, file://t, file://none/*.yaml, file:///a.yaml, file://l/**/*.yaml]";
    let fixture = fixture()
        .file("evals/tidy/promptfooconfig.yaml", format!("prompts: [a]\ntests: {tests}\n"))
        .link("evals/tidy/l", "t")
        .file("evals/tidy/t/one.yaml", test("one"));
    mkfifo(&fixture.root().join("evals/tidy/t/two.yaml"), Mode::S_IRWXU).expect("a pipe");
    let found = cases(&fixture);
    let times = |what: &str| found.iter().filter(|case| case.contains(what)).count();
    assert_eq!((found.len(), times("unsupported: the tests in")), (6, 5), "{found:?}");
    let catalog = fixture.catalog();
    let problems: Vec<String> =
        catalog.cases.iter().filter_map(|found| found.case().err()).flatten().map(ToString::to_string).collect();
    let has = |what: &str| problems.iter().any(|problem| problem.contains(what));
    assert!(has("is absolute") && has("has `**` behind a link"), "{problems:?}");
}

#[test]
fn a_suite_in_the_evals_of_a_skill_that_cannot_be_read_is_an_error_and_no_built_in_case_replaces_it() {
    let utf_16: Vec<u8> = "tests: []".encode_utf16().flat_map(u16::to_le_bytes).collect();
    for (name, bytes) in [
        (CONFIG, utf_16),
        (CONFIG, vec![0, 159, 146, 150]),
        (CONFIG, Vec::new()),
        (CONFIG, b"prompts: [a]\ntests:\n".to_vec()),
        (CONFIG, b"prompts: [a]\n".to_vec()),
        (CONFIG, b"description: a\n".to_vec()),
        (CONFIG, b"[]".to_vec()),
        ("promptfoo-more.yml", b"prompts: [a]\n".to_vec()),
        ("suite.yaml", Vec::new()),
        ("more.suite.yml", b"tests: ~\n".to_vec()),
    ] {
        let fixture = fixture().file(&format!("evals/tidy/{name}"), &bytes);
        let found = cases(&fixture);
        assert!(found.len() == 1 && found[0].starts_with("tidy/"), "{name} {bytes:?}: {found:?}");
        let built_in = fixture.catalog().cases.iter().filter(|found| found.format().is_built_in()).count();
        assert_eq!(built_in, 3, "{name} {bytes:?}");
        let fixture = fixture.file("evals/promptfooconfig.yaml", &bytes);
        // Elsewhere, only a value can show that it has nothing to do with skills.
        let has_value = std::str::from_utf8(&bytes).is_ok_and(|text| !text.is_empty() && !text.contains('\0'));
        assert_eq!(cases(&fixture).len(), if has_value { 1 } else { 2 }, "{name} {bytes:?}");
    }
}

#[test]
fn texts_that_are_too_many_for_one_search_are_an_error_before_a_trial() {
    let texts = (0..1_200).map(|number| format!("{number}{}", "x".repeat(1_000))).collect::<Vec<_>>().join(", ");
    let text = config(&format!("    assert: [{{ type: icontains-any, value: [{texts}] }}]\n"));
    let found = cases(&fixture().file("evals/tidy/promptfooconfig.yaml", text));
    assert!(
        found.len() == 1 && found[0].contains("`value`: the pattern") && found[0].contains("at most 65536 are read"),
        "{found:?}"
    );
}

#[test]
fn the_working_directory_fills_the_workspace_without_the_skills_in_it() {
    let text = config("    assert: [{ type: skill-used, value: tidy }]\n");
    let fixture = fixture()
        .file(
            "evals/promptfooconfig.yaml",
            format!("providers: [{{ id: a, config: {{ working_dir: ../sample }} }}]\n{text}"),
        )
        .file("sample/.agent/skills/tidy/SKILL.md", "x")
        .file("sample/.agent/settings.json", "{}")
        .file("sample/src/a.rs", "a");
    let catalog = fixture.catalog();
    let case = catalog.cases_of("tidy").next().expect("a case").case().expect("a good case");
    let files = case.files.iter().map(|file| match &file.content {
        InputContent::Source(source) => format!("{} {source}", file.path),
        InputContent::Text(_) => file.path.to_string(),
    });
    let expected = [".agent/settings.json sample/.agent/settings.json", "src sample/src"];
    assert_eq!(files.collect::<Vec<_>>(), expected);
}

#[test]
fn tests_of_agentv_have_its_own_keys_and_statements_among_their_assertions() {
    let fixture = fixture().file("evals/suite.yaml", "tests: [{ id: a, vars: { input: A }, assert: [B] }]\n").file(
        "tidy.EVAL.yaml",
        "tags: [a]\nextensions: ['agentv:agent-rules']\nenvironment: { type: host, workdir: place/ }\nprompts: ['{{ input }}']\n\
         default_test: { assert: [{ type: cost, budget: 2 }] }\nassert: [{ type: regex, value: a, negate: true }]\ntests:\n\
         \x20 - id: one\n    criteria: It is done\n    vars: { input: [{ role: user, content: [{ type: text, value: Do it }] }] }\n\
         \x20   assert: [{ type: skill-used, value: tidy }, { type: equals, value: ' a ' }, It is tidy]\n\
         \x20 - id: two\n    input: Do it\n    assert: [{ type: contains, value: a }, { type: llm-rubric, value: [{ outcome: b, weight: 3 }, c] }]\n\
         \x20 - id: three\n    vars: { input: [{ role: user, content: [{ type: file, value: a.csv }] }] }\n\
         \x20   assert: [{ type: script, command: [a] }, { type: is-json, required: true, min_score: 0.5 }]\n",
    );
    let fixture = fixture.file("place/a.txt", "a");
    assert_eq!(
        cases(&fixture),
        [
            r#"tidy/tidy-one "Do it" triggered*1, text*1, text*1, max-cost-usd*1, judged*1 "It is done", judged*1 "It is tidy", least 0.8"#,
            r#"tidy/tidy-two "Do it" text*1, text*1, max-cost-usd*1, judged*0.75 "b", judged*0.25 "c", least 0.8"#,
            "tidy/tidy-three \"{{ input }}\" text*1, text, max-cost-usd*1, least 0.8, unsupported: a part of a message that is not \
             text, unsupported: the assertion `script`, unsupported: the key `min_score`",
        ]
    );
}

/// The case of a suite of AgentV with this input.
fn input(input: &str) -> String {
    let text = format!("tests: [{{ id: a, input: {input}, assert: [{{ type: skill-used, value: tidy }}] }}]\n");
    cases(&fixture().file("evals/tidy/suite.yaml", text)).join("\n")
}

#[test]
fn an_input_of_agentv_for_every_test_is_unsupported() {
    let text = "default_test: { input: a }\ntests: [{ assert: [{ type: skill-used, value: tidy }] }]\n";
    let found = cases(&fixture().file("evals/tidy/suite.yaml", text));
    assert!(found.len() == 1 && found[0].contains("unsupported: the key `input`"), "{found:?}");
}

tables! {
    placed => a_configuration_holds_cases_if_it_names_a_skill_or_is_in_the_evals_of_one;
    assertion =>
        each_assertion_is_a_check_a_statement_for_the_judge_or_unsupported,
        an_assertion_of_skills_or_tools_is_a_check_or_unsupported;
    part =>
        what_a_test_asks_for_besides_assertions_is_read_or_unsupported,
        what_a_file_or_a_test_says_of_programs_that_answer_is_done_or_unsupported;
    prompts => a_prompt_is_filled_or_unsupported;
    |test| suite(&config(&format!("    {}\n", test.replace(" | ", "\n    ")))) => weights_and_a_threshold_make_a_score;
    |tests| cases(&with_tests(tests)).join("\n") =>
        tests_in_other_files_are_cases_with_their_places;
    input => an_input_of_agentv_is_one_message_of_the_user_in_plain_text;
    suite => a_suite_that_is_broken_says_so_and_is_no_panic;
}

#[test]
fn a_weight_of_a_criterion_that_cannot_be_part_of_a_score_is_an_error() {
    for weight in ["-1", "1e308", "'2'", ".inf"] {
        let rubric = format!("{{ type: llm-rubric, value: [{{ outcome: a, weight: {weight} }}, b] }}");
        let text = format!("tests: [{{ id: a, input: A, assert: [{{ type: skill-used, value: tidy }}, {rubric}] }}]\n");
        let found = cases(&fixture().file("evals/tidy/suite.yaml", text));
        assert!(found.len() == 1 && found[0].contains("expected a number from 0 to a million"), "{weight}: {found:?}");
    }
}

#[test]
fn a_suite_about_a_skill_is_an_error_at_any_place_if_it_or_its_tests_cannot_be_parsed() {
    let broken = "tests: [{ assert: [{ type: skill-used, value: tidy }] }\n";
    for path in ["a.suite.yaml", "a-eval.yaml", "promptfoo-a.yaml"] {
        let found = cases(&fixture().file(path, broken));
        assert!(found.iter().any(|case| case.contains("this is not YAML")), "{path}: {found:?}");
    }
    let named = |tests: &str| {
        let fixture = fixture().file("promptfooconfig.yaml", "prompts: [a]\ntests: file://t/a.yaml\n");
        cases(&fixture.file("t/a.yaml", tests))
    };
    let found = named("- assert: [{ type: not-skill-used, value: tidy }\n");
    assert!(found.len() == 1 && found[0].contains("this is not YAML"), "{found:?}");
    assert_eq!(named("- assert: [{ type: contains, value: tidy }\n"), [""; 0]);
}
