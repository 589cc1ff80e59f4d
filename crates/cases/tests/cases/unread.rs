//! A file that could hold cases is read, or it is named with what it lacks.

use skill_evals_cases::lint::{self, LintOptions};
use skill_evals_testing::fixture::Fixture;
use skill_evals_testing::tables;
use skill_evals_testing::tables::file;

use crate::foreign::{cases, lines, linted};

/// A repository with these skills, by their directories.
pub fn with_skills(folders: &[&str]) -> Fixture {
    folders.iter().fold(Fixture::new(), |fixture, folder| {
        let name = folder.rsplit('/').next().unwrap_or(folder);
        let about = format!("Does {name} for somebody who asks for {name}.");
        fixture.file(&format!("{folder}/SKILL.md"), format!("---\nname: {name}\ndescription: {about}\n---\n\nDo it.\n"))
    })
}

fn tea(path: &str, text: impl AsRef<[u8]>) -> Fixture {
    with_skills(&["skills/tea"]).file(path, text)
}

/// The cases, how many are built in, and what lint says with its help.
fn shown(fixture: &Fixture) -> String {
    let (built_in, mut shown): (Vec<String>, Vec<String>) =
        lines(fixture).into_iter().partition(|line| line.contains(" built-in case "));
    shown.extend((!built_in.is_empty()).then(|| format!("built-in: {}", built_in.len())));
    let problems = lint::all(&fixture.catalog(), &fixture.repository(), LintOptions::default());
    shown.extend(problems.is_empty().then(|| "no problems".to_owned()));
    for problem in problems {
        shown.push(problem.to_string());
        shown.extend(problem.help.map(|help| format!("  help: {help}")));
    }
    shown.join("\n")
}

/// What is said of a skill and the file of a line, `PATH TEXT`.
fn said(line: &str) -> String {
    let (path, text) = file(line);
    shown(&tea(path, text))
}

/// The same next to a file with a case, which asks for a file that looks like one.
fn said_next_to_a_case(line: &str) -> String {
    let (path, text) = file(line);
    let cases = r#"{"evals": [{"id": 1, "prompt": "a", "expectations": ["b"], "files": ["files/cases.json"]}]}"#;
    let given = r#"{"evals": [{"prompt": "a", "expectations": ["b"]}]}"#;
    let fixture = tea(path, text).file("skills/tea/evals/evals.json", cases);
    shown(&fixture.file("skills/tea/evals/files/cases.json", given))
}

/// An evals.json with a case that has this assertion.
fn with_assertion(assertion: &str) -> Fixture {
    let case = format!(r#"{{ "id": 1, "prompt": "Brew tea", "assertions": [ {assertion} ] }}"#);
    tea("skills/tea/evals/evals.json", format!(r#"{{ "evals": [ {case} ] }}"#))
}

/// What its check asks for.
fn asks(assertion: &str) -> String {
    let catalog = with_assertion(assertion).catalog();
    let case = catalog.cases_of("tea").next().expect("a case").case().expect("a good case");
    format!("{:?}", case.checks[0].ask)
}

/// The cases of a file with what they ask for, and what lint says, in a repository of two skills.
fn asked_of_two(line: &str) -> String {
    let (path, text) = file(line);
    let fixture = with_skills(&["skills/tea", "skills/other"]).file(path, text);
    let fixture = fixture.file("evals/prompts/brew.md", "Brew tea in a pot.\n").file("fixtures/kitchen/pot", "a pot");
    cases(&fixture).join("\n") + "\n" + &linted_with_help(&fixture)
}

/// What lint says of files, with its help.
fn linted_with_help(fixture: &Fixture) -> String {
    let problems = lint::all(&fixture.catalog(), &fixture.repository(), LintOptions::default());
    let of_files = problems.iter().filter(|problem| !problem.place.path.ends_with("SKILL.md"));
    let lines = of_files.map(|problem| format!("{problem}\n  help: {}", problem.help.as_deref().unwrap_or_default()));
    lines.collect::<Vec<_>>().join("\n")
}

tables! {
    asked_of_two =>
        a_value_that_names_a_skill_here_or_none_is_the_expected_skill,
        in_the_directory_of_a_skill_the_name_of_none_is_a_label,
        what_people_write_of_the_answer_is_a_check_or_a_statement,
        a_misplaced_or_misnamed_table_says_what_it_is_and_what_to_do;
    said =>
        a_slip_in_the_key_of_a_prompt_is_an_error_that_names_the_right_key,
        one_case_in_a_file_may_say_whether_the_skill_triggers,
        a_file_whose_name_and_place_say_cases_is_named_if_nothing_reads_it,
        cases_of_another_form_are_named_with_what_they_lack,
        a_part_of_a_case_without_the_rest_is_named,
        whatever_holds_cases_in_a_directory_of_cases_is_read_or_named,
        what_holds_no_cases_in_a_directory_of_cases_is_no_finding,
        cases_at_the_place_of_a_skill_that_is_not_here_are_not_those_of_the_only_one;
    said_next_to_a_case => files_that_hold_no_cases_are_no_finding;
    |text| shown(&with_skills(&["skills/tea", "skills/other"]).file("evals/evals.json", text)) =>
        lists_of_queries_hide_no_case_next_to_them_and_no_other_skill;
    |assertion| cases(&with_assertion(assertion)).join("\n") =>
        an_assertion_with_a_type_is_a_check_a_statement_or_unsupported;
    asks => a_value_at_the_key_of_a_pattern_is_a_pattern_whatever_the_type_is;
}

#[test]
fn a_case_that_says_what_is_wanted_for_one_skill_says_nothing_of_another() {
    let cases = r#"[{"skill": "tea", "prompt": "Brew", "expectations": ["x"]}, {"skill": "tea", "should_trigger": ["Make tea"]}]"#;
    let found = lines(&with_skills(&["skills/tea", "skills/other"]).file("evals/evals.json", cases));
    assert_eq!(found.iter().filter(|line| line.starts_with("tea/evals-")).count(), 2, "{found:?}");
    let gone = linted(&tea("skills/tea/evals/triggers.json", r#"{"gone": {"should_trigger": ["Brew tea now"]}}"#));
    assert!(gone.contains("names the skill `gone`, which is not here"), "{gone}");
    let tone = r#"{"skill_name": "tea", "evals": [{"prompt": "a", "expectations": ["b"]}],
        "tone": {"positive": ["warm and kind"], "negative": ["cold"]}}"#;
    assert_eq!(lines(&tea("evals/evals.json", tone)).len(), 1);
    let table =
        with_skills(&["skills/tea", "skills/other"]).file("evals/cases.csv", "id,should_trigger,prompt\n1,true,Brew\n");
    let lint = linted(&table);
    assert!(lint.contains("this file has the columns of a prompts.csv and is not read"), "{lint}");
}

#[test]
fn cases_in_utf_16_are_an_error_that_says_so() {
    let utf_16 = |text: &str| format!("\u{feff}{text}").encode_utf16().flat_map(u16::to_le_bytes).collect::<Vec<u8>>();
    let cases = r#"{"evals":[{"id":1,"prompt":"Brew tea","expectations":["x"]}]}"#;
    for (path, text) in [
        ("skills/tea/evals/brewing.json", cases),
        ("evals/x.json", cases),
        ("evals/cases.csv", "id,should_trigger,prompt\n1,true,Brew tea\n"),
    ] {
        let lint = linted(&tea(path, utf_16(text)));
        assert!(lint.starts_with(path) && lint.contains("[not-utf8]"), "{path}: {lint}");
    }
}

#[test]
fn a_checklist_next_to_its_task_is_a_case() {
    let criteria = r#"{ "checklist": [ { "name": "a", "description": "It is tea", "max_score": 1 } ] }"#;
    let whole = tea("evals/a/criteria.json", criteria).file("evals/a/task.md", "Brew tea\n");
    assert_eq!((whole.catalog().cases.len(), linted(&whole)), (1, String::new()));
}

#[test]
fn lists_of_queries_that_should_and_should_not_trigger_are_cases_of_one_skill_or_of_each() {
    let [yes, no] = ["[\"Brew tea\"]", "[{\"query\": \"Sort a list\"}]"];
    let all = ["tea/triggers-1 true", "tea/triggers-2 false"];
    for (path, text) in [
        ("evals/triggers.json", format!("{{\"positive\": {yes}, \"negative\": {no}}}")),
        ("skills/tea/evals/triggers.yaml", format!("positive_prompts: {yes}\nnegative_prompts: {no}\n")),
        ("evals/triggers.json", format!("{{\"triggers\": {yes}, \"non_triggers\": {no}}}")),
        ("evals/triggers.json", format!("{{\"should_activate\": {yes}, \"shouldNotActivate\": {no}}}")),
        (
            "evals/triggers.json",
            format!("{{\"skills\": {{\"tea\": {{\"should_trigger\": {yes}, \"negative\": {no}}}}}}}"),
        ),
        ("evals/triggers.json", format!("{{\"tea\": {{\"positive\": {yes}, \"negative\": {no}, \"notes\": \"\"}}}}")),
        ("evals/triggers.json", format!("[{{\"skill\": \"tea\", \"positive\": {yes}, \"negative\": {no}}}]")),
        ("evals/triggers.json", format!("{{\"triggers\": {{\"positive\": {yes}, \"negative\": {no}}}}}")),
    ] {
        let fixture = with_skills(&["skills/tea", "skills/other"]);
        let fixture = if text.contains("\"tea\"") { fixture } else { with_skills(&["skills/tea"]) };
        let catalog = fixture.file(path, &text).catalog();
        let cases = catalog.cases_of("tea").map(|found| {
            let case = found.case().unwrap_or_else(|problems| panic!("{text}: {problems:?}"));
            assert!(case.unsupported.is_empty(), "{text}: {:?}", case.unsupported);
            format!("tea/{} {}", found.id, case.should_trigger)
        });
        assert_eq!(cases.collect::<Vec<_>>(), all, "{text}");
    }
    let unknown = format!("{{\"skills\": {{\"gone\": {{\"should_trigger\": {yes}}}}}}}");
    let lint = linted(&tea("evals/triggers.json", unknown));
    assert!(lint.contains("names the skill `gone`, which is not here"), "{lint}");
    let text = format!("{{\"tea\": {{\"should_trigger\": {yes}, \"at_least\": 1}}}}");
    assert!(lines(&tea("evals/triggers.json", text))[0].contains("the key `at_least`"));
}

#[test]
fn no_file_hides_cases_with_a_name_of_their_own() {
    let cases =
        r#"{"skill": "tea", "evals": [{"prompt": "a", "expectations": ["b"], "files": ["trigger-evals.json", "in"]}]}"#;
    let fixture = tea("evals/tea/evals.json", cases)
        .file("evals/tea/trigger-evals.json", r#"[{"query": "Brew tea", "should_trigger": true}]"#)
        .file("evals/tea/in/cases.json", r#"[{"prompt": "a", "expectations": ["b"]}]"#)
        .file("evals/tea/task.toml", "version = \"1.0\"\n")
        .file("evals/tea/instruction.md", "Brew tea\n");
    let found = lines(&fixture);
    assert_eq!(found.len(), 2, "{found:?}");
}

#[test]
fn a_slip_in_a_spec_of_waza_is_no_problem_of_vally() {
    let spec = "name: a\nskill: tea\nconfig:\n  trials_per_task: 1\ntasks:\n  - tasks/*.yaml\n";
    let task = "id: a\ninputs: { prompt: Brew tea }\nexpected: { output_contains: [Tea] }\n";
    for (right, slip) in [("config", "confg"), ("trials_per_task", "trials_per_tsk"), ("tasks:", "taks:")] {
        let fixture =
            tea("skills/tea/evals/eval.yaml", spec.replace(right, slip)).file("skills/tea/evals/tasks/a.yaml", task);
        let lint = linted(&fixture);
        let slip = slip.trim_end_matches(':');
        assert!(lint.contains(&format!("unknown key `{slip}`")) && !lint.contains("Vally"), "{slip}: {lint}");
    }
}

#[test]
fn tasks_of_harbor_are_one_warning() {
    let mut fixture = with_skills(&["skills/tea"]);
    for task in ["evals/tasks/a", "evals/tasks/b", "evals/more/c"] {
        fixture = fixture
            .file(&format!("{task}/task.toml"), "version = \"1.0\"\n[verifier]\ntimeout_sec = 10.0\n")
            .file(&format!("{task}/instruction.md"), "Brew tea\n")
            .file(&format!("{task}/tests/cases.json"), r#"[{"question": "a", "answer": "b"}]"#);
    }
    let problems = lint::all(&fixture.catalog(), &fixture.repository(), LintOptions::default());
    assert!(problems.iter().all(|problem| !problem.is_error()), "{problems:#?}");
    let lint = linted(&fixture);
    assert_eq!(lint.matches("[unread-cases]").count(), 1, "{lint}");
    assert!(lint.contains("evals/more/c, evals/tasks/a, evals/tasks/b"), "{lint}");
}

#[test]
fn cases_with_questions_say_which_skill_they_expect_and_null_is_none() {
    let text = r#"[
  { "id": "a", "question": "Brew tea", "expected_skill": "tea", "expected_script": "scripts/boil.sh", "ground_truth": "Tea",
    "expected_behavior": ["Reads the skill", "Boils water"] },
  { "id": "b", "question": "Sort a list", "expected_skill": null, "expected_script": null },
  { "id": "c", "question": "Sort a list", "expected_skill": "none" },
  { "id": "d", "question": "Sort a list", "expected_skill": "tea", "should_trigger": false } ]"#;
    let fixture = with_skills(&["skills/tea"]).file("skills/tea/evals/evals.json", text);
    let catalog = fixture.catalog();
    let cases: Vec<_> = catalog.cases_of("tea").map(|found| found.case().expect("a case")).collect();
    let checks = |at: usize| cases[at].checks.iter().map(|check| check.kind.id).collect::<Vec<_>>();
    assert_eq!(checks(0), ["triggered", "command"]);
    assert_eq!(
        cases[0].assertions.iter().map(|said| said.text.as_str()).collect::<Vec<_>>(),
        ["Reads the skill", "Boils water", "Tea"]
    );
    assert_eq!([checks(1), checks(2), checks(3)], [["not-triggered"]; 3].map(Vec::from));
}

#[test]
fn a_file_with_one_case_names_its_skills() {
    let text = r#"{ "name": "Tea", "skills": ["tea"], "query": "Brew tea", "files": [], "expected_behavior": ["Boils water"] }"#;
    for path in ["skills/tea/evaluations/a.json", "skills/tea/evals/more/a.json"] {
        let fixture = with_skills(&["skills/tea", "skills/other"]).file(path, text);
        assert!(lines(&fixture).contains(&format!("tea/a-Tea eval {path}:1:1")), "{:?}", lines(&fixture));
    }
}

#[test]
fn a_scenario_of_tessl_is_a_case_with_a_weighted_rubric() {
    let criteria = r#"{ "context": "x", "type": "weighted_checklist",
        "checklist": [ { "name": "a", "description": "Boils water", "max_score": 60 }, { "name": "b", "description": "Says tea", "max_score": 40 } ] }"#;
    let fixture = with_skills(&["skills/tea"])
        .file("evals/first/task.md", "Brew tea\n")
        .file("evals/first/criteria.json", criteria);
    let catalog = fixture.catalog();
    let case = catalog.cases_of("tea").next().expect("a case").case().expect("a case").clone();
    let weights: Vec<f64> = case.assertions.iter().filter_map(|assertion| Some(assertion.weight?.amount)).collect();
    assert_eq!((case.prompt.as_str(), weights, catalog.cases.len()), ("Brew tea", vec![60.0, 40.0], 1));
    for (criteria, said) in [
        ("{", "this is not JSON"),
        ("{}", "the key `checklist` is missing"),
        (r#"{ "checklist": [ {} ] }"#, "the key `max_score` is missing"),
        (
            r#"{ "checklist": [ { "description": "x", "max_score": "10" } ] }"#,
            "`max_score` is a string; expected a number that is not negative",
        ),
    ] {
        let fixture = with_skills(&["skills/tea"])
            .file("evals/first/task.md", "Brew tea\n")
            .file("evals/first/criteria.json", criteria);
        assert!(lines(&fixture).join("\n").contains(said), "{criteria}: {:?}", lines(&fixture));
    }
}
