//! What `skill-evals list` prints.

use crate::support::fixture::Fixture;
use crate::support::stub::Stub;

fn fixture() -> Fixture {
    Fixture::new()
        .skill("tidy")
        .prompts("tidy", "id,should_trigger,prompt\nfirst-one,true,Do it\nbad,perhaps,Do it\nlast,false,Rest\n")
        .skill("async")
}

#[test]
fn every_trial_has_a_line_and_broken_ones_say_why() {
    let ran = fixture().run(&["list"]);
    ran.exits(2);
    insta::assert_snapshot!(ran.stdout);
}

#[test]
fn json_has_an_object_for_every_trial() {
    let ran = fixture().run(&["list", "--json"]);
    let listed: serde_json::Value = serde_json::from_str(&ran.stdout).expect("JSON");
    let listed = listed["cases"].as_array().expect("an array");
    assert_eq!(listed.len(), 6);
    insta::assert_snapshot!(serde_json::to_string_pretty(&listed[3..5]).expect("JSON"));
}

#[test]
fn columns_line_up_for_people() {
    let fixture = fixture();
    let (catalog, settings) = (fixture.catalog(), skill_evals_evidence::settings::Settings::default());
    let all = catalog.cases.iter();
    let planned: Vec<_> = all.flat_map(|found| skill_evals::run::plan::planned(&settings, found, &[])).collect();
    let listed = skill_evals_report::listing::listed(&planned, &catalog, &fixture.repository(), &settings);
    insta::assert_snapshot!(skill_evals_report::listing::render(&listed, true));
}

#[test]
fn the_repository_is_found_from_a_folder_below_it() {
    let fixture = fixture();
    let ran = crate::support::fixture::run_in(&fixture.root().join("skills/tidy"), &["list"]);
    assert_eq!((ran.code, ran.stdout.lines().count()), (2, 6));
}

#[test]
fn a_skill_is_named_by_its_name_its_directory_or_its_file_whatever_the_command() {
    let table = "id,should_trigger,prompt\na,true,Do it\nb,false,Rest\n";
    // The name of one is a part of the other's.
    let fixture = Fixture::new().skill("tidy").prompts("tidy", table).skill("untidy").prompts("untidy", table);
    let only_tidy = |args: &[&str]| {
        let ran = fixture.run(args);
        assert!(ran.code < 2 && !ran.stdout.contains("untidy"), "{args:?}: {}{}", ran.stdout, ran.stderr);
    };
    let commands = [&["list"][..], &["verify"], &["run", "--replay", "--dry-run"]];
    for name in ["tidy", "skills/tidy", "./skills/tidy/", "skills/tidy/SKILL.md"] {
        for command in commands.into_iter().chain([&["lint"][..], &["history"]]) {
            only_tidy(&[command, &["--skill", name]].concat());
        }
        for command in commands.into_iter().filter(|_| name.contains('/')) {
            only_tidy(&[command, &[name]].concat());
        }
    }
    assert!(fixture.run(&["list", "tidy"]).stdout.contains("untidy"), "the name of a trial contains it");
}

#[test]
fn a_case_whose_fixture_is_missing_is_listed_as_broken() {
    let text = "id,should_trigger,prompt,fixture\na,true,Do it,gone\nb,false,Rest,\n";
    let ran = Fixture::new().skill("tidy").prompts("tidy", text).run(&["list"]);
    assert!(ran.stdout.starts_with("tidy/a/codex\tbroken\tevals/skills/tidy/prompts.csv:2:14: [missing-fixture]"));
}

#[test]
fn a_case_that_could_never_be_decided_is_listed_as_broken() {
    let text = "id,should_trigger,prompt,trials,threshold\na,true,Do it,until decided at most 5,0.8\nb,false,Rest,,\n";
    let ran = Fixture::new().skill("tidy").prompts("tidy", text).run(&["list"]);
    let broken = "tidy/a/codex\tbroken\tevals/skills/tidy/prompts.csv:2:14: [never-decided]";
    assert!(ran.stdout.starts_with(broken) && ran.stdout.contains("tidy/b/codex\tnot-activate\t"), "{}", ran.stdout);
}

#[test]
fn a_new_row_is_a_new_trial() {
    let fixture = Fixture::copy_of_sample();
    let before = fixture.run(&["list"]).stdout.lines().count();
    let path = fixture.root().join("evals/skills/greeting/prompts.csv");
    let mut text = std::fs::read_to_string(&path).expect("the sample's sheet");
    text.push_str("one-more,true,Hello!,read-only,60,2,,,false,,\n");
    std::fs::write(&path, text).expect("a file can be written");
    let after = fixture.run(&["list"]).stdout;
    assert_eq!(after.lines().count(), before + 1);
    assert!(after.contains("greeting/one-more/codex"));
}

#[test]
fn tags_select_cases_and_are_in_every_list_of_results() {
    let rows = "id,should_trigger,prompt,tags\na,false,A,slow; team/x\nb,false,B,slow\nc,false,C,\n";
    let stub = Stub::new(0, "");
    std::fs::write(stub.root().join("evals/skills/tidy/prompts.csv"), rows).expect("a file");
    let listed = |args: &[&str]| {
        let ran = stub.run(&[&["list"], args].concat());
        ran.stdout.lines().map(|line| line[5..6].to_owned()).collect::<String>()
    };
    assert_eq!(listed(&["--tag", "slow"]), "ab");
    assert_eq!(listed(&["--tag", "!slow"]), "c");
    assert_eq!(listed(&["--tag", "slow", "--tag", "!team/x"]), "b");
    stub.run("run --tag slo").exits(2).warns("no case has the tag `slo`; did you mean `slow`");
    let json = stub.run(&["list", "--json", "--tag", "team/x"]).stdout;
    let json: serde_json::Value = serde_json::from_str(&json).expect("JSON");
    assert_eq!(json["cases"][0]["tags"], serde_json::json!(["slow", "team/x"]));
    stub.run("run --run-id r --tag team/x --junit j.xml").exits(0);
    assert_eq!(stub.starts(), ["A"]);
    assert_eq!(stub.json("r", "summary.json")["cases"][0]["tags"], serde_json::json!(["slow", "team/x"]));
    let junit = std::fs::read_to_string(stub.root().join("j.xml")).expect("a file");
    assert!(junit.contains(r#"name="tags of tidy::a::codex" value="slow, team/x""#), "{junit}");
    let resumed = stub.run(&["run", "--resume", "--run-id", "r"]);
    assert_eq!((resumed.code, stub.starts().len()), (0, 1), "{}{}", resumed.stdout, resumed.stderr);
}

#[test]
fn a_tag_that_no_option_could_name_is_an_error() {
    let ran =
        Fixture::new().skill("tidy").prompts("tidy", "id,should_trigger,prompt,tags\na,false,A,!x\n").run(&["list"]);
    ran.prints("[bad-choice] `tags` is \"!x\"; expected a tag");
}
