//! Case files of other programs: read where they are, as they are, and never less of them than they have.

use std::sync::Arc;

use skill_evals_cases::cases::case::{Case, FoundCase};
use skill_evals_cases::lint::{self, LintOptions};
use skill_evals_evidence::settings::Settings;
use skill_evals_evidence::trial::input_file::InputContent;
use skill_evals_evidence::trial::outcome::Weight;
use skill_evals_testing::fixture::{Fixture, temporary};
use skill_evals_testing::tables;
use skill_evals_testing::tables::file;

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

pub fn tidy(path: &str, text: impl AsRef<[u8]>) -> Fixture {
    Fixture::new().skill("tidy").skill("other").file(path, text)
}

/// What a case asks for: kinds of checks, statements for the judge, each with its weight, the least score, and what is unsupported.
pub fn asked(case: &Case) -> String {
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

/// The cases of other programs: skill, id, prompt, and what they ask for or what is wrong.
pub fn cases(fixture: &Fixture) -> Vec<String> {
    let catalog = fixture.catalog();
    let foreign = catalog.cases.iter().filter(|found| found.format().foreign.is_some());
    let shown = foreign.map(|found| {
        let said = match found.case() {
            Ok(case) => format!("{:?} {}", case.prompt, asked(case)),
            Err(problems) => problems[0].to_string(),
        };
        format!("{}/{} {said}", found.skill, found.id)
    });
    shown.collect()
}

/// The cases of two skills with the file of a line, `PATH TEXT`, and how many are built in.
pub fn placed(line: &str) -> String {
    let (path, text) = file(line);
    let (built_in, own): (Vec<String>, Vec<String>) =
        lines(&tidy(path, text)).into_iter().partition(|line| line.contains(" built-in case "));
    let of = |skill: &str| built_in.iter().filter(|line| line.starts_with(skill)).count();
    own.join("\n") + &format!("\nbuilt-in: tidy {}, other {}", of("tidy/"), of("other/"))
}

/// The cases of a skill with this evals.json.
fn evals(text: &str) -> String {
    let lines = lines(&tidy("skills/tidy/evals/evals.json", text)).into_iter();
    lines.filter(|line| !line.contains(" built-in case ")).collect::<Vec<_>>().join("\n")
}

/// What is said of a case and of a good one next to it.
fn next_to_a_good_one(case: &str) -> String {
    evals(&format!(r#"{{ "evals": [{case}, {{ "id": 1, "prompt": "Do it", "expectations": ["It is done"] }}] }}"#))
}

/// The files that a case asks for, or what is wrong with them.
fn files_of(files: &str) -> String {
    let text =
        format!(r#"{{ "evals": [ {{ "prompt": "Do it", "expected_output": "It is done", "files": {files} }} ] }}"#);
    let fixture = tidy("skills/tidy/evals/evals.json", text);
    let fixture = fixture.file("skills/tidy/evals/files/a.csv", "a").file("data/b.csv", "b");
    let catalog = fixture.catalog();
    let case = catalog.cases_of("tidy").next().expect("a case");
    match case.case() {
        Ok(_) if linted(&fixture).contains("evals.json:") => linted(&fixture),
        Ok(case) => match &case.files[0].content {
            InputContent::Text(_) => format!("{} text", case.files[0].path),
            InputContent::Source(source) => format!("{} {source}", case.files[0].path),
        },
        Err(problems) => problems[0].to_string(),
    }
}

tables! {
    placed =>
        files_are_found_by_their_names_and_belong_to_the_skill_that_they_name_or_lie_in,
        files_that_only_have_a_similar_name_are_none_of_ours,
        a_file_named_as_cases_is_an_error_where_its_prompts_have_unknown_keys,
        a_file_with_a_name_of_trigger_sets_says_why_it_has_no_cases,
        an_eval_yaml_of_another_program_is_none_of_ours,
        a_spec_of_vally_in_the_evals_of_a_skill_says_why_it_has_no_cases;
    evals => a_broken_file_is_no_panic_and_never_has_fewer_cases_than_it_has;
    next_to_a_good_one => a_broken_case_is_no_panic_and_hides_no_other_case;
    |expected| next_to_a_good_one(&format!(r#"{{ "id": 2, "prompt": "a", {expected} }}"#)) =>
        what_a_case_expects_is_read_whole_or_the_case_does_not_run;
    queries =>
        every_form_of_a_trigger_set_is_read,
        a_trigger_set_may_expect_several_skills_none_of_several_or_another_one;
    files_of => files_of_a_case_are_named_from_its_file_its_skill_or_the_repository;
    grader =>
        each_grader_of_a_vally_spec_is_a_check_an_assertion_or_unsupported,
        a_name_of_a_tool_in_a_vally_spec_stands_for_work_or_is_unsupported;
    weights => the_weights_and_the_threshold_of_a_vally_spec_make_a_score;
    |scoring| linted(&with_scoring(scoring)) =>
        what_the_scoring_of_a_vally_spec_does_not_have_is_an_error_or_unsupported;
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

/// Of each query in the file of a line its skill, its side, and what it asks for.
fn queries(line: &str) -> String {
    let (path, text) = file(line);
    let catalog = tidy(path, text).catalog();
    let mut found: Vec<_> = catalog.cases.iter().filter(|found| found.format().name == "trigger query").collect();
    found.sort_by_key(|found| found.id.clone());
    let shown = found.iter().map(|found| {
        let case = found.case().expect("a good case");
        assert!(case.unsupported.is_empty(), "{line}: {:?}", case.unsupported);
        let checks = case.checks.iter().map(|check| match check.kind.id {
            id @ ("activates" | "rejects") => format!("{id} {:?}", check.ask),
            id => id.to_owned(),
        });
        format!("{} {:?} {}\n", found.skill, found.should_trigger(), checks.collect::<Vec<_>>().join(", "))
    });
    shown.collect()
}

#[test]
fn a_file_of_many_brackets_is_no_panic() {
    let said = evals(&format!("{}{}", "[".repeat(600), "]".repeat(600)));
    assert!(said.lines().count() == 1 && said.contains("this is not JSON"), "{said}");
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
    tidy("evals/tidy/eval.yaml", format!("stimuli:\n  - name: one\n    prompt: Do it\n{lines}"))
}

#[test]
fn a_stimulus_is_of_the_skill_that_its_constraints_expect() {
    let text = "stimuli:\n  - name: one\n    prompt: Do it\n    constraints: { expect_skills: [tidy] }\n\
        \x20   graders:\n      - { type: file-exists, config: { path: a } }\n";
    let found = cases(&tidy("evals/group/eval.yaml", text));
    assert!(found.iter().any(|case| case.starts_with("tidy/")), "{found:?}");
}

/// What a grader of a stimulus is.
fn grader(grader: &str) -> String {
    cases(&stimulus(&format!("    graders:\n      - {grader}\n")).file("skills/tidy/references/a.md", "a")).join("\n")
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
    tidy("evals/tidy/eval.yaml", format!("{scoring}\nstimuli:\n  - name: one\n    prompt: Do it\n{graders}"))
}

/// The least score and the weights of a spec with this scoring.
fn weights(scoring: &str) -> String {
    let catalog = with_scoring(scoring).catalog();
    let case = catalog.cases_of("tidy").next().expect("a case").case().expect("a good case");
    let shown = |id: &str, weight: Option<Weight>| {
        weight.map_or_else(|| format!("{id} must pass"), |weight| format!("{id} {} of {}", weight.amount, weight.part))
    };
    let least = case.least_score.map(|least| format!("least {least}"));
    let checks = case.checks.iter().map(|check| shown(check.kind.id, check.weight));
    let judged = case.assertions.iter().map(|assertion| shown("assertion", assertion.weight));
    least.into_iter().chain(checks).chain(judged).collect::<Vec<_>>().join("\n")
}

#[test]
fn the_digest_of_a_case_has_its_score_if_it_has_weights() {
    let score = |scoring: &str| {
        let catalog = with_scoring(scoring).catalog();
        let case = catalog.cases_of("tidy").next().expect("a case").case().expect("a case");
        let parts = case.parts().into_iter().filter(|part| ["least score", "weights"].contains(&&*part.name));
        parts.filter_map(|part| Some(part.written()?.into_owned())).collect::<Vec<_>>()
    };
    assert_ne!(score("scoring: { threshold: 1 }"), score("scoring: { threshold: 0.9 }"));
    assert!(score("").is_empty(), "the digest of a case without weights has no score");
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
fn many_cases_of_one_id_on_one_line_have_short_names() {
    let case = r#"{ "id": 1, "prompt": "Do it", "expectations": ["It is done"] }"#;
    let lines = lines(&tidy("skills/tidy/evals/evals.json", format!("[{}]", [case; 5].join(","))));
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
