//! What the settings and a skill's own front matter decide of what an agent finds.

use std::fs;

use skill_evals::run::digests::SkillFolders;
use skill_evals::run::shared::Run;
use skill_evals::settings::Settings;
use skill_evals::settings::mode::Mode;

use crate::support::fixture::Fixture;
use crate::support::stub::Stub;

#[test]
fn folders_are_created_and_root_and_workspace_are_filled_in() {
    let stub = Stub::new(1, "ls > seen; ls human/materials; printf '%s\\n%s\\n' \"$FROM\" \"$TO\" >> seen");
    let agent = stub.root().join("agent.sh");
    let settings = format!(
        "create = ['human/materials']\n[agents.codex]\ncommand = '{}'\n[env]\nFROM = '{{root}}/data'\nTO = '{{workspace}}/out'\n",
        agent.display()
    );
    fs::write(stub.root().join("evals/evals.toml"), settings).expect("settings");
    let ran = stub.run(&["run", "--run-id", "r"]);
    assert_eq!(ran.code, 0, "{}{}", ran.stdout, ran.stderr);
    let seen = fs::read_to_string(stub.run_folder("r").join("work/tidy/c0/codex/1/workspace/seen")).expect("a list");
    assert!(seen.starts_with("human\n"), "{seen}");
    assert!(seen.contains(&format!("{}/data\n", stub.root().display())), "{seen}");
    assert!(seen.contains("/workspace/out\n"), "{seen}");
    fs::write(stub.root().join("evals/evals.toml"), "create = ['../x']\n").expect("settings");
    let ran = stub.run(&["list"]);
    assert!(ran.code != 0 && ran.stderr.contains("leaves its folder"), "{}{}", ran.stdout, ran.stderr);
}

#[test]
fn a_skill_that_only_users_may_call_has_no_implicit_case_and_the_lint_says_why() {
    let fixture = Fixture::new()
        .skill("tidy")
        .skill_text("mine", "---\nname: mine\ndescription: Does it.\ndisable-model-invocation: true\n---\n\nDo it.\n");
    let catalog = fixture.catalog();
    let ids = |slug: &str| catalog.cases_of(slug).map(|case| case.id.clone()).collect::<Vec<_>>();
    assert_eq!(ids("mine"), ["smoke-explicit", "smoke-negative"]);
    assert_eq!(ids("tidy").len(), 3);
    assert!(fixture.lines().contains("skills/mine/SKILL.md:4:1: [user-only]"), "{}", fixture.lines());
}

#[test]
fn a_key_that_keeps_a_skill_from_models_changes_the_catalogue_where_agents_honour_it() {
    let inputs = |key: &str, mode: &str| {
        let text = format!("---\nname: mine\ndescription: Does it.\n{key}---\n\nDo it.\n");
        let fixture = Fixture::new().skill("tidy").skill_text("mine", text);
        let run = Run::new(fixture.root().to_path_buf(), Settings::default(), fixture.catalog());
        let found = run.catalog.cases_of("tidy").next().expect("a case");
        let mode = Mode::built_in().into_iter().find(|known| known.name == mode).expect("a mode");
        run.digested(&SkillFolders::Repository, found.case().expect("a case"), &mode, &[]).expect("digests")
    };
    let changed = |mode: &str| inputs("", mode).differences(&inputs("disable-model-invocation: true\n", mode));
    for mode in ["cli-native", "mcp", "codex-mcp", "mcp+native"] {
        assert_eq!(changed(mode), ["catalogue of skills"], "{mode}");
    }
    assert_eq!(changed("codex"), [""; 0], "codex does not know the key");
}

#[test]
fn a_skill_beside_its_cases_is_not_passed_over_in_silence() {
    let fixture = Fixture::new()
        .skill("tidy")
        .file("evals/skills/lost/SKILL.md", "---\nname: lost\ndescription: Is lost.\n---\n\nDo it.\n");
    let lines = fixture.lines();
    assert!(lines.contains("evals/skills/lost/SKILL.md") && lines.contains("[skill-root]"), "{lines}");
    let found = fixture.file("evals/evals.toml", "skill_roots = [\"skills\", \"evals/skills\"]\n");
    let listed = found.run(&["list"]);
    assert!(listed.stdout.contains("lost"), "{}{}", listed.stdout, listed.stderr);
    assert!(!found.run(&["lint", "--check-evals"]).stdout.contains("skill-root"));
}
