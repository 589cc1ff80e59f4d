//! `skill-evals generate`: what it writes can run as it is.

use crate::support::repository;
use std::fs;

use crate::support::fixture::Fixture;
use proptest::prelude::*;
use skill_evals_cli::setup::generate::{self, GeneratedCase, appended, prompts_csv};
use skill_evals_evidence::text::diagnostic::{Code, Diagnostic};

fn kept(fixture: &Fixture, path: &str) -> String {
    fs::read_to_string(fixture.root().join(path)).unwrap_or_default()
}

/// A catalog's own words for two skills that have no cases.
const PDF: &str = "---\nname: pdf\ndescription: Fills in forms, e.g. those of an office. Use when there is one. Not for \
                   merging files, or splitting them. Ask first.\n---\n\nDo it.\n";

fn prompt(fixture: &Fixture, skill: &str, id: &str) -> Option<String> {
    let catalog = fixture.catalog();
    let found = catalog.cases_of(skill).find(|found| found.id == id)?;
    Some(found.case().expect("a case").prompt.clone())
}

fn ids(fixture: &Fixture, skill: &str) -> Vec<String> {
    fixture.catalog().cases_of(skill).map(|found| found.id.clone()).collect()
}

#[test]
fn a_skill_without_cases_gets_those_that_can_be_written_without_an_agent() {
    let fixture = Fixture::new().skill("tidy").skill("sort").skill_text("pdf", PDF);
    let ran = fixture.run(&["generate"]);
    ran.exits(0);
    let expected = "wrote evals/skills/pdf/prompts.csv\nwrote evals/skills/sort/prompts.csv\n\
                    wrote evals/skills/tidy/prompts.csv\n";
    assert_eq!(ran.stdout, expected);
    let header = kept(&fixture, "evals/skills/tidy/prompts.csv");
    assert_eq!(header.lines().next(), Some("id,should_trigger,prompt,sandbox,must_include"));
    // What the author has to add is a warning, and nothing keeps the rest from running.
    fixture.run("lint --check-evals --strict").exits(0).prints("no-implicit");
    assert_eq!(ids(&fixture, "tidy"), ["explicit", "not-sort", "not-pdf"]);
    assert_eq!(ids(&fixture, "pdf"), ["explicit", "excluded", "not-sort", "not-tidy"]);
    assert!(prompt(&fixture, "tidy", "explicit").expect("a prompt").starts_with("Use the $tidy skill."));
    let task = |id: &str, skill: &str| prompt(&fixture, skill, id).expect("a prompt").lines().last().map(str::to_owned);
    assert_eq!(task("excluded", "pdf").as_deref(), Some("merging files, or splitting them."));
    assert_eq!(task("not-pdf", "tidy").as_deref(), Some("Fills in forms, e.g. those of an office."));
}

#[test]
fn what_a_neighbor_is_asked_in_its_own_cases_is_a_near_miss() {
    let own = "id,should_trigger,prompt,fixture\na,true,Use the $sort skill.,\nb,true,Order this pile.,pile\n\
               c,true,Bring my notes into an order.,\nd,false,Why?,\n";
    let fixture = Fixture::new().skill("tidy").skill("sort").prompts("sort", own).file("evals/skills/sort/pile/a", "");
    fixture.run("generate --skill tidy").exits(0);
    assert_eq!(prompt(&fixture, "tidy", "not-sort").as_deref(), Some("Bring my notes into an order."));
}

#[test]
fn a_skill_without_neighbors_gets_a_negative_that_lint_calls_weak() {
    let text = "---\nname: tidy\ndescription: Moves the old files of a directory to an archive.\n---\n\nDo it.\n";
    let fixture = Fixture::new().skill_text("tidy", text);
    fixture.run("generate").exits(0);
    assert_eq!(ids(&fixture, "tidy"), ["explicit", "negative"]);
    fixture.run("lint --check-evals --strict").exits(0).prints("far-negatives");
}

/// The header of every table of cases in a page.
fn headers(page: &str) -> Vec<Vec<String>> {
    let text = fs::read_to_string(repository().join(page)).expect("a page");
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
    by_init.run(&["lint", "--check-evals"]).exits(0);
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
fn init_keeps_the_line_ends_of_the_files_that_it_adds_to() {
    let manifest = "[package]\r\nname = \"mine\"\r\nedition = \"2024\"\r\n\r\n[workspace]\r\nmembers = []\r\n";
    let fixture = || Fixture::new().skill("tidy").file("src/lib.rs", "");
    let windows = fixture().file("Cargo.toml", manifest).file(".gitignore", "/target\r\n");
    let unix = fixture().file("Cargo.toml", manifest.replace('\r', "")).file(".gitignore", "/target\n");
    for repository in [&windows, &unix] {
        repository.run("init --rust --yes --git https://example.org/it.git").exits(0);
    }
    for file in ["Cargo.toml", ".gitignore"] {
        let written = kept(&unix, file);
        assert!(written.contains("skill"), "{written}");
        assert_eq!(kept(&windows, file), written.replace('\n', "\r\n"));
    }
    // A second time adds nothing.
    let before = kept(&windows, "Cargo.toml");
    windows.run(&["init", "--rust", "--yes"]).prints("Cargo.toml: is there already");
    assert_eq!(kept(&windows, "Cargo.toml"), before);
}

#[test]
fn nothing_that_is_there_is_overwritten() {
    let own = "id,should_trigger,prompt\na,true,Mine\n";
    let fixture = Fixture::new().skill("tidy").prompts("tidy", own).skill("sort");
    assert_eq!(
        fixture.run(&["generate"]).stdout,
        "wrote evals/skills/sort/prompts.csv\nkept evals/skills/tidy/prompts.csv\n"
    );
    assert_eq!(kept(&fixture, "evals/skills/tidy/prompts.csv"), own);
    fixture.run("generate --overwrite").exits(2).warns("unexpected argument '--overwrite'");
    assert_eq!(kept(&fixture, "evals/skills/tidy/prompts.csv"), own);
}

#[test]
fn drafts_are_added_behind_the_rows_of_a_person_and_every_byte_of_these_stays() {
    let draft = |id: &str, author: Option<&str>| GeneratedCase {
        id: id.to_owned(),
        should_trigger: true,
        prompt: "Räum, bitte".to_owned(),
        author: author.map(str::to_owned),
    };
    // Without the columns of drafts, in another order, with quotes, breaks in cells and CR LF.
    let old = "\u{feff}prompt,id,should_trigger\r\n\"My \"\"own\"\"\r\nrow\",a,true\r\nTwo,b,false";
    let text = appended(old, &[draft("c", Some("claude 2.1"))]).expect("CSV");
    assert_eq!(
        text,
        "\u{feff}prompt,id,should_trigger,sandbox,x_author\r\n\"My \"\"own\"\"\r\nrow\",a,true,,\r\nTwo,b,false,,\r\n\
         \"Räum, bitte\",c,true,read-only,claude 2.1\r\n"
    );
    // With them, nothing is added but rows.
    let old = prompts_csv(&[draft("a", Some("codex 1"))]);
    assert_eq!(appended(&old, &[draft("b", None)]).expect("CSV"), format!("{old}b,true,\"Räum, bitte\",read-only,,\n"));
}

#[test]
fn what_cannot_be_generated_is_told() {
    let fixture = Fixture::new().skill("tidy").skill_text("bad", "no front matter").skill("linked");
    let outside = tempfile::tempdir().expect("a directory");
    let fixture = fixture.link("evals/skills/linked", outside.path().to_str().expect("a path"));
    let ran = fixture.run(&["generate"]);
    ran.exits(1).prints("skipped skills/bad: its front matter has an error");
    ran.prints("skipped skills/linked: its cases are reached through a symbolic link");
    ran.prints("wrote evals/skills/tidy/prompts.csv");
    assert_eq!(fs::read_dir(outside.path()).expect("a directory").count(), 0);
    fixture.run("generate --skill tydi").exits(2).warns("did you mean `tidy`?");
}

#[test]
fn a_negative_prompt_never_names_the_skill() {
    for name in ["stack", "queue", "sentence", "sort", "help", "begin"] {
        let text = format!("---\nname: other\ndescription: Uses {name} and more.\n---\n\nDo it.\n");
        let fixture = Fixture::new().skill(name).skill_text("other", text);
        fixture.run("generate").exits(0);
        assert!(!fixture.lines().contains("negative-names-skill"), "{name}: {}", fixture.lines());
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
    fn what_is_written_for_a_clean_skill_has_no_errors(name in name(), description in description(), mention in any::<bool>()) {
        let description = if mention { format!("{description} ${name}") } else { description };
        // JSON strings are YAML strings.
        let quoted = serde_json::to_string(&description).expect("JSON");
        let fixture = Fixture::new()
            .skill_text(&name, format!("---\nname: {name}\ndescription: {quoted}\n---\n\nDo it.\n"))
            .skill_text("other", format!("---\nname: other\ndescription: {quoted}\n---\n\nDo it.\n"));
        let catalog = fixture.catalog();
        let errors = |problems: &[Diagnostic]| problems.iter().filter(|problem| problem.is_error()).count();
        let clean = errors(&fixture.problems()) == 0;
        let found = catalog.skill(&name).expect("the skill");
        let fixture = fixture.prompts(&name, prompts_csv(&generate::cases(found, &catalog)));
        let ours: Vec<Diagnostic> =
            fixture.problems().into_iter().filter(|problem| problem.place.path.starts_with("evals")).collect();
        let weak = [Code::NoImplicit, Code::FarNegatives];
        prop_assert!(ours.iter().all(|problem| weak.contains(&problem.code)), "{:?}", ours);
        prop_assert!(!clean || errors(&fixture.problems()) == 0);
        let prompt = |id: &str| prompt(&fixture, &name, id);
        let call = format!("${name}");
        prop_assert!(prompt("explicit").is_some_and(|prompt| prompt.contains(&call)));
        prop_assert!(ids(&fixture, &name).len() > 1);
    }
}

#[test]
fn the_readme_shows_rows_in_the_shape_that_is_generated() {
    let readme = fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../README.md")).expect("the README");
    let (_, example) = readme.split_once("```csv\n").expect("an example");
    let (example, _) = example.split_once("```").expect("an end");
    let fixture = Fixture::new().skill("tidy").prompts("tidy", example);
    assert_eq!(fixture.good_cases(), ["implicit"]);
    let catalog = fixture.catalog();
    let generated = prompts_csv(&generate::cases(&catalog.skills[0], &catalog));
    let mut columns = generated.lines().next().expect("a header").split(',');
    for column in example.lines().next().expect("a header").split(',') {
        assert!(columns.any(|generated| generated == column), "{column} is generated, in this order");
    }
}
