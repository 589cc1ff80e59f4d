//! `skill-evals generate`: what it writes can run as it is.

use std::fs;

use crate::support::fixture::Fixture;
use proptest::prelude::*;
use skill_evals::setup::generate::prompts_csv;
use skill_evals::skill::{Skill, slug};
use skill_evals::text::diagnostic::Diagnostic;
use skill_evals::trial::sandbox::Sandbox;

const SCHEMA: &str = "evals/schemas/skill_response.schema.json";

fn kept(fixture: &Fixture, path: &str) -> String {
    fs::read_to_string(fixture.root().join(path)).unwrap_or_default()
}

#[test]
fn a_skill_without_cases_gets_three_and_the_schema_that_they_name() {
    let fixture = Fixture::new().skill("tidy").skill("sort");
    let ran = fixture.run(&["generate"]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let expected = "wrote evals/schemas/skill_response.schema.json\nwrote evals/skills/sort/prompts.csv\n\
                    wrote evals/skills/tidy/prompts.csv\n";
    assert_eq!(ran.stdout, expected);
    assert_eq!(fixture.run(&["lint", "--check-evals", "--strict"]).code, 0);
    assert_eq!(fixture.lines(), "");
    let catalog = fixture.catalog();
    let cases: Vec<_> = catalog.cases_of("tidy").map(|found| found.case().expect("a case")).collect();
    assert_eq!(cases.iter().map(|case| case.id.as_str()).collect::<Vec<_>>(), ["explicit", "implicit", "negative"]);
    assert!(cases[0].prompt.contains("$tidy") && !cases[1].prompt.contains('$'));
    assert!(cases[1].prompt.ends_with("Does what tidy does."));
    assert!(cases.iter().all(|case| case.checks.iter().any(|check| check.kind.id == "invoked-skills")));
    assert_eq!(kept(&fixture, SCHEMA), include_str!("../../evals/schemas/skill_response.schema.json"));
}

#[test]
fn a_skill_with_scripts_gets_a_case_that_goes_end_to_end() {
    let text = "---\nname: tidy\ndescription: Does what tidy does.\n---\n\nRun `scripts/tidy.py FOLDER`.\n";
    let fixture = Fixture::new()
        .skill_text("tidy", text)
        .file("skills/tidy/scripts/all.sh", "")
        .file("skills/tidy/scripts/tidy.py", "")
        .file("skills/tidy/scripts/__init__.py", "")
        .skill("sort")
        .file("skills/sort/scripts/table.csv", "");
    assert_eq!(fixture.run(&["generate"]).code, 0);
    assert_eq!(fixture.run(&["lint", "--check-evals", "--strict"]).code, 0, "{}", fixture.lines());
    let catalog = fixture.catalog();
    let ids = |slug: &str| catalog.cases_of(slug).map(|found| found.id.clone()).collect::<Vec<_>>();
    assert_eq!(ids("sort"), ["explicit", "implicit", "negative"], "a table is no script");
    assert_eq!(ids("tidy"), ["explicit", "implicit", "negative", "end-to-end"]);
    let case = catalog.cases_of("tidy").last().expect("a case").case().expect("a case");
    assert!(case.should_trigger && case.sandbox == Sandbox::WorkspaceWrite && !case.judge);
    assert!(
        case.prompt.contains("the skill's script `scripts/tidy.py`"),
        "the one that SKILL.md names: {}",
        case.prompt
    );
    let files: Vec<_> = case.required_files().collect();
    assert_eq!(files, [std::path::Path::new("end-to-end.md")]);
}

/// The header of every table of cases in a page.
fn headers(page: &str) -> Vec<Vec<String>> {
    let text = fs::read_to_string(std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join(page)).expect("a page");
    let tables = text.split("```csv\n").skip(1).filter_map(|rest| rest.lines().next());
    tables.map(|line| line.split(',').map(str::to_owned).collect()).collect()
}

#[test]
fn init_generate_and_the_docs_agree_on_the_shape_of_prompts_csv() {
    let (by_init, by_generate) = (Fixture::new().skill("tidy"), Fixture::new().skill("tidy"));
    assert_eq!((by_init.run(&["init", "--yes"]).code, by_generate.run(&["generate"]).code), (0, 0));
    let path = "evals/skills/tidy/prompts.csv";
    let written = kept(&by_generate, path);
    assert_eq!(kept(&by_init, path), written);
    assert_eq!(kept(&by_init, SCHEMA), kept(&by_generate, SCHEMA));
    assert_eq!(by_init.run(&["lint", "--check-evals"]).code, 0, "{}", by_init.lines());
    let all: Vec<&str> = written.lines().next().expect("a header").split(',').collect();
    let shown: Vec<Vec<String>> = ["README.md", "docs/cases.md"].iter().flat_map(|page| headers(page)).collect();
    assert!(shown.len() >= 2);
    for header in shown {
        assert_eq!(header[..3], ["id", "should_trigger", "prompt"]);
        let at: Vec<Option<usize>> = header.iter().map(|name| all.iter().position(|known| known == name)).collect();
        assert!(at.is_sorted() && at.iter().all(Option::is_some), "{header:?} of {all:?}");
    }
}

#[test]
fn nothing_that_is_there_is_overwritten_unless_asked_for() {
    let own = "id,should_trigger,prompt\na,true,Mine\n";
    let fixture = Fixture::new().skill("tidy").prompts("tidy", own).skill("sort").file(SCHEMA, "{}");
    assert_eq!(
        fixture.run(&["generate"]).stdout,
        "wrote evals/skills/sort/prompts.csv\nkept evals/skills/tidy/prompts.csv\n"
    );
    assert_eq!(
        (kept(&fixture, "evals/skills/tidy/prompts.csv").as_str(), kept(&fixture, SCHEMA).as_str()),
        (own, "{}")
    );
    let only = fixture.run(&["generate", "--overwrite", "--skill", "Tidy"]);
    assert_eq!(only.stdout, "wrote evals/skills/tidy/prompts.csv\n");
    assert!(kept(&fixture, "evals/skills/tidy/prompts.csv").contains("$tidy"));
}

#[test]
fn what_cannot_be_generated_is_told() {
    let fixture = Fixture::new().skill("tidy").skill_text("bad", "no front matter").skill("linked");
    let outside = tempfile::tempdir().expect("a directory");
    let fixture = fixture.link("evals/skills/linked", outside.path().to_str().expect("a path"));
    let ran = fixture.run(&["generate"]);
    assert_eq!(ran.code, 1);
    assert!(ran.stdout.contains("skipped skills/bad: its front matter has an error"), "{}", ran.stdout);
    assert!(ran.stdout.contains("skipped skills/linked: its cases are reached through a symbolic link"));
    assert!(ran.stdout.contains("wrote evals/skills/tidy/prompts.csv"));
    assert_eq!(fs::read_dir(outside.path()).expect("a directory").count(), 0);
    let unknown = fixture.run(&["generate", "--skill", "tydi"]);
    assert_eq!(unknown.code, 2);
    assert!(unknown.stderr.contains("did you mean `tidy`?"), "{}", unknown.stderr);
}

#[test]
fn a_negative_prompt_never_names_the_skill() {
    for name in ["binary", "search", "json", "schema", "leaves", "noon", "skills", "structure", "two"] {
        let skill = Skill {
            slug: slug(name),
            name: name.to_owned(),
            // Words of other topics must not lead to the one that names the skill.
            description: "Explain one sentence with a search; leaves turn red; seconds there are many.".to_owned(),
            folder: format!("skills/{name}").into(),
            user_only: false,
            model_only: false,
        };
        let text = prompts_csv(&skill, None);
        let fixture = Fixture::new()
            .skill(name)
            .prompts(name, text)
            .file(SCHEMA, include_str!("../../evals/schemas/skill_response.schema.json"));
        assert_eq!(fixture.lines(), "", "{name}");
    }
}

/// Names of clean front matter.
fn name() -> impl Strategy<Value = String> {
    let word = prop::sample::select(vec!["binary", "json", "the", "a", "in", "commands", "one", "search", "x1"]);
    prop_oneof!["[a-z0-9]{1,8}(-[a-z0-9]{1,6}){0,2}", word.prop_map(str::to_owned)]
}

/// Anything that YAML can carry, and what breaks CSV, patterns and prompts.
fn description() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        Just("\"quoted\"".to_owned()),
        Just(", and; \r\n\n more\r".to_owned()),
        Just("$HOME ${x} $1".to_owned()),
        Just(".*+?()|[]{}^$\\".to_owned()),
        Just("\u{0}\u{7}\u{1b}[31m\u{feff}".to_owned()),
        Just("'=1+1 @cmd --help".to_owned()),
        Just("SKILL_MARKER invoked_skills".to_owned()),
        ".{0,40}",
    ];
    prop::collection::vec(piece, 1..6).prop_map(|pieces| pieces.join(" "))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn what_is_written_for_a_clean_skill_is_clean(name in name(), description in description(), mention in any::<bool>(), script in any::<bool>()) {
        let description = if mention { format!("{description} ${name}") } else { description };
        // JSON strings are YAML strings.
        let quoted = serde_json::to_string(&description).expect("JSON");
        let fixture = Fixture::new()
            .skill_text(&name, format!("---\nname: {name}\ndescription: {quoted}\n---\n\nDo it.\n"))
            .file(SCHEMA, include_str!("../../evals/schemas/skill_response.schema.json"));
        let catalog = fixture.catalog();
        let errors = |problems: &[Diagnostic]| problems.iter().filter(|problem| problem.is_error()).count();
        let clean = errors(&fixture.problems()) == 0;
        let text = prompts_csv(catalog.skills[0].skill(), script.then_some("scripts/do.py"));
        let fixture = fixture.prompts(&name, &text);
        let ours: Vec<String> = fixture
            .problems()
            .iter()
            .filter(|problem| problem.place.path.starts_with("evals"))
            .map(ToString::to_string)
            .collect();
        prop_assert_eq!(ours, Vec::<String>::new());
        prop_assert!(!clean || errors(&fixture.problems()) == 0);
        let ids = ["explicit", "implicit", "negative", "end-to-end"];
        prop_assert_eq!(fixture.good_cases(), &ids[..if script { 4 } else { 3 }]);
        let catalog = fixture.catalog();
        let case = |id: &str| catalog.cases.iter().find(|found| found.id == id).expect("a case").case().expect("a case");
        let mention = format!("${name}");
        prop_assert!(case("explicit").prompt.contains(&mention));
        prop_assert!(!case("implicit").prompt.contains(&mention));
    }
}

#[test]
fn the_readme_shows_rows_in_the_shape_that_is_generated() {
    let readme = fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/README.md")).expect("the README");
    let (_, example) = readme.split_once("```csv\n").expect("an example");
    let (example, _) = example.split_once("```").expect("an end");
    let fixture = Fixture::new().skill("tidy").prompts("tidy", example);
    assert_eq!(fixture.good_cases(), ["implicit"]);
    let generated = prompts_csv(fixture.catalog().skills[0].skill(), None);
    let mut columns = generated.lines().next().expect("a header").split(',');
    for column in example.lines().next().expect("a header").split(',') {
        assert!(columns.any(|generated| generated == column), "{column} is generated, in this order");
    }
}
