//! Suites of promptfoo and AgentV: which of them hold cases, and what their tests become.

use nix::sys::stat::Mode;
use nix::unistd::mkfifo;
use skill_evals_cases::cases::case::Case;
use skill_evals_evidence::settings::trials::Trials;
use skill_evals_evidence::trial::input_file::InputContent;
use skill_evals_evidence::trial::outcome::Weight;

use skill_evals_testing::fixture::Fixture;

const CONFIG: &str = "promptfooconfig.yaml";

fn fixture() -> Fixture {
    Fixture::new().skill("tidy").skill("other")
}

/// The cases of suites: skill, id, prompt, and what they ask for or what is wrong.
fn cases(fixture: &Fixture) -> Vec<String> {
    let catalog = fixture.catalog();
    let found = catalog.cases.iter().filter(|found| ["promptfoo test", "AgentV test"].contains(&found.format().name));
    found
        .map(|found| {
            let asked = match found.case() {
                Ok(case) => format!("{:?} {}", case.prompt, asked(case)),
                Err(problems) => problems[0].to_string(),
            };
            format!("{}/{} {asked}", found.skill, found.id)
        })
        .collect()
}

/// What a case asks for: kinds of checks, statements for the judge, each with its weight, the least score, and what is unsupported.
fn asked(case: &Case) -> String {
    let times = |weight: Option<Weight>| weight.map_or_else(String::new, |weight| format!("*{}", weight.amount));
    let checks = case.checks.iter().map(|check| match check.kind.id {
        id @ ("activates" | "rejects") => format!("{id}{} {:?}", times(check.weight), check.ask.names().skills),
        id => format!("{id}{}", times(check.weight)),
    });
    let judged =
        case.assertions.iter().map(|assertion| format!("judged{} {:?}", times(assertion.weight), assertion.text));
    let least = case.least_score.map(|least| format!("least {least}"));
    let unsupported = case.unsupported.iter().map(|part| format!("unsupported: {}", part.what));
    checks.chain(judged).chain(least).chain(unsupported).collect::<Vec<_>>().join(", ")
}

/// A configuration with a test that has these lines.
fn config(lines: &str) -> String {
    format!("prompts: ['{{{{request}}}}']\ntests:\n  - vars: {{ request: Do it }}\n{lines}")
}

#[test]
fn a_configuration_holds_cases_if_it_names_a_skill_or_is_in_the_evals_of_one() {
    let plain = config("    assert: [{ type: contains, value: a }]\n");
    let names = config("    assert: [{ type: skill-used, value: tidy }]\n");
    for (path, text, is_ours) in [
        (CONFIG, &names, true),
        ("tests/promptfooconfig.more.yml", &names, true),
        ("evals/promptfoo-routing.yaml", &names, true),
        ("skills/tidy/evals/promptfooconfig.yaml", &plain, true),
        ("evals/tidy/promptfooconfig.yaml", &plain, true),
        (CONFIG, &plain, false),
        ("evals/promptfooconfig.yaml", &plain, false),
        (CONFIG, &"prompts: [a]\nproviders: [b]\n".to_owned(), false),
        ("evals/prompts.yaml", &names, true),
        ("evals/evals/x.eval.yaml", &names, true),
        ("evals/suite.yaml", &plain, false),
        ("evals/suite.yaml", &names, true),
    ] {
        let fixture = fixture().file(path, text);
        let found = cases(&fixture);
        assert_eq!(found.len(), usize::from(is_ours), "{path} {text}: {found:?}");
        let built_in = fixture.catalog().cases.iter().filter(|found| found.format().is_built_in()).count();
        assert_eq!(built_in, if is_ours { 3 } else { 6 }, "{path}");
    }
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

/// Holds what is said of a test with each of these assertions.
fn assert_said(rows: &[(&str, &str)]) {
    for (assertion, said) in rows {
        let text = config(&format!("    assert:\n      - {assertion}\n"));
        let found = cases(&fixture().file("evals/tidy/promptfooconfig.yaml", text));
        assert!(found.len() == 1 && found[0].contains(said), "{assertion}: {found:?}");
        assert_eq!(found[0].contains("unsupported"), said.contains("unsupported"), "{assertion}: {found:?}");
    }
}

#[test]
fn each_assertion_is_a_check_a_statement_for_the_judge_or_unsupported() {
    assert_said(&[
        ("{ type: contains, value: Ada }", "text"),
        ("{ type: icontains-all, value: 'a, b' }", "text, text"),
        ("{ type: not-contains-all, value: [a, b] }", "text"),
        ("{ type: contains-any, value: [] }", "`value` is empty"),
        ("{ type: icontains-any, value: 'a, b' }", "text"),
        ("{ type: contains-html }", "unsupported: the assertion `contains-html`"),
        ("{ type: contains, value: '' }", "`value` is empty"),
        ("{ type: contains }", "the key `value` is missing"),
        ("{ type: starts-with, value: 5 }", "`value` is a number; expected a string"),
        ("{ type: equals, value: { a: 1 } }", "text"),
        ("{ type: regex, value: 'a(?=b)' }", "text"),
        ("{ type: regex, value: '(?i)a' }", "does not compile: JavaScript: "),
        ("{ type: is-json }", "text"),
        ("{ type: is-json, value: { type: object } }", "unsupported: a schema in `is-json`"),
        ("{ type: contains-json }", "text"),
        ("{ type: not-contains-json }", "unsupported: the assertion `not-contains-json`"),
        ("{ type: llm-rubric, value: 'It is {{request}}' }", r#"judged "It is Do it""#),
        (
            "{ type: llm-rubric, value: [It is good, { outcome: It is short }] }",
            r#"judged "It is good", judged "It is short""#,
        ),
        ("{ type: not-llm-rubric, value: It is rude }", r#"judged "This does not hold: It is rude""#),
        ("{ type: llm-rubric, value: Good, threshold: 0.8 }", "unsupported: a threshold of a judge's score"),
        (
            "{ type: 'trajectory:goal-success', value: All is tidy }",
            r#"judged "The agent achieved this goal: All is tidy""#,
        ),
        ("{ type: cost, threshold: 0.5 }", "max-cost-usd"),
        ("{ type: latency, threshold: 1500 }", "max-seconds"),
        ("{ type: not-latency, threshold: 1500 }", "unsupported: the assertion `not-latency`"),
        ("{ type: latency, threshold: soon }", "`threshold` is a string; expected a number of at least 0"),
        ("{ type: assert-set, assert: [{ type: contains, value: a }, { type: contains, value: b }] }", "text, text"),
        ("{ type: assert-set, threshold: 0.5, assert: [] }", "unsupported: a threshold of a set of assertions"),
        ("{ type: javascript, value: output }", "unsupported: the assertion `javascript`"),
        ("{ type: contains, value: 'file://a.txt' }", "unsupported: the file of an assertion, `file://a.txt`"),
        ("{ type: contains, value: '{{ request | upper }}' }", "unsupported: the template `{{request | upper}}`"),
        ("{ type: contains, value: a, transform: output }", "unsupported: the key `transform`"),
        ("{ type: contains, value: a, weight: 0 }", "unsupported: a case that expects nothing"),
        ("{ type: contains, value: a, weight: 3, metric: m }", "text*3"),
        ("{ type: contains, value: a, weight: -1 }", "`weight` is a number; expected a number from 0 to a million"),
        ("{ type: contains, value: a, weight: 1e400 }", "`weight` is a number; expected a number from 0 to a million"),
        ("{ type: contains, value: a, required: 0.6 }", "unsupported: a `required` that is neither true nor false"),
        ("{ type: contain, value: a }", "unknown assertion `contain`"),
        ("{ type: contains-sql }", "unsupported: the assertion `contains-sql`"),
        ("a text", "an assertion is a string; expected an object"),
    ]);
}

#[test]
fn an_assertion_of_skills_or_tools_is_a_check_or_unsupported() {
    assert_said(&[
        ("{ type: skill-used, value: tidy }", "triggered"),
        ("{ type: not-skill-used, value: tidy }", "not-triggered"),
        ("{ type: skill-used, value: [tidy, other] }", r#"activates ["tidy", "other"]"#),
        ("{ type: not-skill-used, value: other }", r#"rejects ["other"]"#),
        ("{ type: skill-used, value: { name: tidy, max: 0 } }", "not-triggered"),
        ("{ type: not-skill-used, value: { pattern: '*' } }", "rejects []"),
        ("{ type: skill-used, value: { name: tidy, min: 2 } }", "unsupported: how often a skill is used"),
        ("{ type: skill-used, value: { pattern: 't*' } }", "unsupported: a pattern of names of skills"),
        ("{ type: skill-used, value: { name: tidy, min: -1 } }", "`min` is a number; expected a number of uses"),
        ("{ type: 'trajectory:tool-used', value: Bash }", "work"),
        ("{ type: 'not-trajectory:tool-used', value: { name: bash } }", "work"),
        (
            "{ type: 'trajectory:tool-used', value: Read }",
            "unsupported: the assertion `trajectory:tool-used` about such tools",
        ),
        ("{ type: 'trajectory:step-count', value: { max: 3 } }", "unsupported: the assertion `trajectory:step-count`"),
    ]);
}

/// An assertion that makes a file one of cases.
const SKILL: &str = "    assert: [{ type: skill-used, value: tidy }]\n";

/// Holds what is said of a test with these lines in a file that begins with others.
fn assert_asked(rows: &[(&str, &str, &str)]) {
    for (before, test, said) in rows {
        let text = format!("{before}{}", config(&format!("{test}{SKILL}")));
        let found = cases(&fixture().file("sub/promptfooconfig.yaml", text).file("evals/a.txt", "a"));
        assert!(found.iter().any(|case| case.contains(said)), "{before}{test}: {found:?}");
        let is_unsupported = said.contains("unsupported") || said.contains("which");
        assert_eq!(found.iter().any(|case| case.contains("unsupported")), is_unsupported, "{before}{test}: {found:?}");
    }
}

#[test]
fn what_a_test_asks_for_besides_assertions_is_read_or_unsupported() {
    assert_asked(&[
        ("", "    threshold: 1\n", "triggered*1, least 1"),
        ("", "    threshold: 2\n", "`threshold` is a number; expected a score from 0 to 1"),
        ("", "    threshold: 0.8\n", "triggered*1, least 0.8"),
        ("defaultTest: { threshold: 0.8 }\n", "    threshold: 0.5\n", "triggered*1, least 0.5"),
        // The answer is not looked at.
        ("defaultTest: { options: { transform: 'file://a.js' } }\n", "", "triggered"),
        (
            "defaultTest: { options: { transform: a }, assert: [{ type: contains, value: a }] }\n",
            "",
            "unsupported: a change of the answer before it is checked",
        ),
        ("defaultTest: file://a.yaml\n", "", "unsupported: values of another file"),
        ("defaultTest: [a]\n", "", "`defaultTest` is an array; expected an object"),
        ("defaultTest: 5\n", "", "`defaultTest` is a number; expected an object"),
        ("defaultTest: { prompts: [a] }\n", "", "unsupported: the key `prompts`"),
        ("", "    options: { rubricPrompt: a }\n", "unsupported: the key `rubricPrompt`"),
        ("", "    options: { provider: a }\n", "triggered"),
        ("", "    providerOutput: a\n", "unsupported: the key `providerOutput`"),
        ("scenarios: []\n", "", "unsupported: the key `scenarios`"),
        ("defaultTest: { vars: { a: [b, c] } }\n", "", "unsupported: several values of the variable `a`"),
        ("defaultTest: { vars: { a: [b, c] }, options: { disableVarExpansion: true } }\n", "", "triggered"),
        ("description: a\nprmpts: [b]\n", "", "unknown key `prmpts`"),
    ]);
}

#[test]
fn what_a_file_or_a_test_says_of_programs_that_answer_is_done_or_unsupported() {
    assert_asked(&[
        (
            "providers: [{ id: a, config: { system_prompt: b } }]\n",
            "",
            "unsupported: the setting `system_prompt` of an agent",
        ),
        ("providers: [{ id: a, config: { skills: [tidy] } }]\n", "", "unsupported: that only some skills are offered"),
        ("providers: [{ id: a, config: { skills: all, model: b } }, c]\n", "", "triggered"),
        ("providers: [{ id: a, config: { working_dir: ./gone } }]\n", "", "which is not a directory of the repository"),
        ("providers: [{ id: a, config: { working_dir: . } }]\n", "", "which holds the cases"),
        ("providers: [{ id: a, config: { working_dir: '{{env.A}}' } }]\n", "", "unsupported: the working directory"),
        ("providers: [{ a: { config: { working_dir: x } } }, b]\n", "", "unsupported: several working directories"),
        (
            "",
            "    provider: { config: { system_prompt: b } }\n",
            "unsupported: the setting `system_prompt` of an agent",
        ),
        (
            "defaultTest: { provider: { output_format: b } }\n",
            "",
            "unsupported: the setting `output_format` of an agent",
        ),
        ("", "    providers: [{ config: { working_dir: ./gone } }]\n", "which is not a directory of the repository"),
        (
            "targets: { config: { working_dir: ../evals } }\n",
            "    provider: { config: { working_dir: ../sub } }\n",
            "unsupported: several working directories",
        ),
        (
            "targets: { config: { working_dir: ../evals } }\n",
            "    provider: { id: a }\n",
            "unsupported: several working directories",
        ),
        (
            "defaultTest: { provider: { config: { skills: [a] } } }\n",
            "",
            "unsupported: that only some skills are offered",
        ),
        ("", "    provider: a\n", "triggered"),
    ]);
}

#[test]
fn a_prompt_is_filled_or_unsupported() {
    for (prompts, said) in [
        ("'{{request}} and {{gone}}'", "unsupported: the variable `gone`, which has no value"),
        ("'{% if a %}b{% endif %}'", "unsupported: the template `{% if a %}b{% endif %}`"),
        ("'{{env.HOME}}'", "unsupported: the template `{{env.HOME}}`"),
        ("'[{\"role\": \"user\", \"content\": \"{{request}}\"}]'", "unsupported: a prompt that is JSON"),
        ("file://prompt.js", "unsupported: the prompt file `file://prompt.js`"),
        ("file://prompt.txt", r#""Do it now""#),
        ("[]", "`prompts` is empty"),
    ] {
        let text = format!("prompts: {prompts}\ntests:\n  - vars: {{ request: Do it }}\n{SKILL}");
        let found = cases(&fixture().file("promptfooconfig.yaml", text).file("prompt.txt", "{{request}} now\n---\n"));
        assert!(found[0].contains(said), "{prompts}: {found:?}");
    }
}

#[test]
fn weights_and_a_threshold_make_a_score() {
    let set = "{ type: assert-set, weight: 2, threshold: 0.5, assert: [{ type: contains, value: a }, \
               { type: contains-all, value: [b, c], weight: 3 }] }";
    for (test, said) in [
        (
            format!(
                "    threshold: 0.8\n    assert: [{{ type: skill-used, value: tidy, weight: 3 }}, {set}, {{ type: llm-rubric, value: [d, e] }}]\n"
            ),
            r#""Do it" triggered*3, text*0.5, text*1.5, text*1.5, judged*1 "d", judged*1 "e", least 0.8"#,
        ),
        (
            "    assert: [{ type: not-skill-used, value: tidy, weight: 0 }, { type: contains, value: a }]\n".to_owned(),
            r#""Do it" not-triggered*0, text*1"#,
        ),
        (
            "    assert: [{ type: assert-set, weight: 0, assert: [{ type: contains, value: a }] }]\n".to_owned(),
            "unsupported: a set of assertions of weight 0",
        ),
        (
            "    threshold: 0\n    assert: [{ type: contains, value: a }]\n".to_owned(),
            r#""Do it" text*1, least 0, unsupported: a case that expects nothing"#,
        ),
    ] {
        let found = cases(&fixture().file("evals/tidy/promptfooconfig.yaml", config(&test)));
        assert!(found.len() == 1 && found[0].contains(said), "{test}: {found:?}");
    }
}

#[test]
fn tests_in_other_files_are_cases_with_their_places() {
    let routing =
        "# The routes.\n- description: one\n  vars: { request: A }\n  assert: [{ type: skill-used, value: tidy }]\n";
    for (tests, count, said) in [
        ("file://tests/routing.yaml", 1, "tidy/promptfooconfig-one \"A\" triggered"),
        ("[file://tests/*.yaml]", 1, "tidy/promptfooconfig-one \"A\" triggered"),
        ("[tests/routing.yaml, { vars: { request: B }, assert: [{ type: skill-used, value: other }] }]", 2, "other/"),
        ("[file://tests/routing.yaml, file://tests/more.csv]", 2, "unsupported: the tests in `file://tests/more.csv`"),
        ("file://tests/gone.yaml", 0, ""),
    ] {
        let fixture = fixture()
            .file("evals/promptfooconfig.yaml", format!("prompts: ['{{{{request}}}}']\ntests: {tests}\n"))
            .file("evals/tests/routing.yaml", routing);
        let found = cases(&fixture);
        assert_eq!(found.len(), count, "{tests}: {found:?}");
        assert!(count == 0 || found.iter().any(|case| case.contains(said)), "{tests}: {found:?}");
    }
    let fixture = fixture()
        .file("evals/promptfooconfig.yaml", "prompts: ['{{request}}']\ntests: file://tests/routing.yaml\n")
        .file("evals/tests/routing.yaml", routing);
    let catalog = fixture.catalog();
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

#[test]
fn an_input_of_agentv_is_one_message_of_the_user_in_plain_text() {
    for (input, said) in [
        ("{ role: user, content: Do it }", r#""Do it" triggered"#),
        ("[{ role: user, content: [Do it, { type: text, value: now }] }]", r#""Do it\nnow" triggered"#),
        ("{ role: assistant, content: a }", "unsupported: a message of the role `assistant`"),
        ("[{ role: user, content: a }, { role: user, content: b }]", "unsupported: several messages"),
        ("{ role: user, content: 'Do {{this}}' }", "unsupported: a template in a message"),
        ("{ role: user, content: 'file://a.txt' }", "unsupported: a template in a message"),
        (
            "{ role: user, content: [{ type: file, value: a.txt }] }",
            "unsupported: a part of a message that is not text",
        ),
        ("{ role: user, content: a, name: b }", "unsupported: the key `name` of a message"),
        ("{ role: user, content: [{ type: text, value: a, cache: b }] }", "unsupported: the key `cache` of a message"),
    ] {
        let text = format!("tests: [{{ id: a, input: {input}, assert: [{{ type: skill-used, value: tidy }}] }}]\n");
        let found = cases(&fixture().file("evals/tidy/suite.yaml", text));
        assert!(found.len() == 1 && found[0].contains(said), "{input}: {found:?}");
        assert_eq!(found[0].contains("unsupported"), said.contains("unsupported"), "{input}: {found:?}");
    }
    let text = "default_test: { input: a }\ntests: [{ assert: [{ type: skill-used, value: tidy }] }]\n";
    let found = cases(&fixture().file("evals/tidy/suite.yaml", text));
    assert!(found.len() == 1 && found[0].contains("unsupported: the key `input`"), "{found:?}");
}

#[test]
fn a_suite_that_is_broken_says_so_and_is_no_panic() {
    for (text, said) in [
        ("tests: [\n# skill-used\n", "this is not YAML"),
        ("tests: []\nprompts: a\n", "the list of tests is empty"),
        ("tests: [5]\nprompts: a\n", "a test is a number; expected an object"),
        ("tests: [{}]\n", "the key `prompts` is missing"),
        ("tests: [{ vars: 5, assert: 6 }]\nprompts: a\n", "`assert` is a number; expected an array"),
        ("tests: [{ assert: [{ type: 5 }] }]\nprompts: a\n", "`type` is a number; expected a string"),
        ("tests: [{ assert: [{ type: contains, type: equals, value: a }] }]\nprompts: a\n", "duplicate key `type`"),
        ("tests: [{ description: a }]\nprompts: a\n", "unsupported: a case that expects nothing"),
        ("prompts: a\nprompts: b\ntests: [{}]\n", "duplicate key `prompts`"),
        (
            "prompts: a\ntests: [{}]\nevaluateOptions: { repeat: 0 }\n",
            "`repeat` is a number; expected a number of trials",
        ),
    ] {
        let found = cases(&fixture().file("evals/tidy/promptfooconfig.yaml", text));
        assert!(found.iter().any(|case| case.contains(said)), "{text}: {found:?}");
    }
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
