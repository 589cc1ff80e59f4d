//! What the settings and a skill's own front matter decide of what an agent finds.

use std::fs;

use skill_evals::run::digests::SkillFolders;
use skill_evals::run::planned::PlannedRun;
use skill_evals_evidence::settings::Settings;
use skill_evals_evidence::settings::mode::Mode;

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
    stub.run("run --run-id r").exits(0);
    let seen = fs::read_to_string(stub.run_folder("r").join("work/tidy/c0/codex/1/workspace/seen")).expect("a list");
    assert!(seen.starts_with("human\n"), "{seen}");
    assert!(seen.contains(&format!("{}/data\n", stub.root().display())), "{seen}");
    assert!(seen.contains("/project/out\n"), "{seen}");
    fs::write(stub.root().join("evals/evals.toml"), "create = ['../x']\n").expect("settings");
    let ran = stub.run(&["list"]);
    assert!(ran.code != 0 && ran.stderr.contains("leaves its directory"), "{}{}", ran.stdout, ran.stderr);
}

#[test]
fn the_explicit_case_allows_as_many_commands_as_its_prompt() {
    let catalog = Fixture::new().skill("tidy").catalog();
    let case = catalog.cases_of("tidy").find(|case| case.id == "smoke-explicit").expect("a case");
    let case = case.source.case("tidy").expect("it can be read");
    assert!(case.prompt.contains("keep it to <= 3 commands."), "{}", case.prompt);
    assert!(case.checks.iter().any(|check| format!("{:?}", check.ask) == "Commands(3)"), "{:?}", case.checks);
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
fn a_key_that_keeps_a_skill_from_models_changes_the_catalogue_where_agents_honor_it() {
    let inputs = |key: &str, mode: &str| {
        let text = format!("---\nname: mine\ndescription: Does it.\n{key}---\n\nDo it.\n");
        let fixture = Fixture::new().skill("tidy").skill_text("mine", text);
        let run = PlannedRun::new(fixture.root().to_path_buf(), Settings::default(), fixture.catalog());
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
fn an_answer_of_a_plugins_server_is_no_input_of_a_mode_without_the_plugin() {
    let inputs = |answer: &str, mode: &str| {
        let fixture = Fixture::new()
            .file(
                ".claude-plugin/plugin.json",
                r#"{"name": "house", "mcpServers": {"shop": {"command": "/bin/false"}}}"#,
            )
            .skill("tidy")
            .file("evals/buy/prompt.md", "Buy tea.\n")
            .file("evals/buy/graders/a.md", "---\ntype: tool_used\ntool: Read\n---\n")
            .file("evals/mocks/shop/buy.md", answer);
        let run = PlannedRun::new(fixture.root().to_path_buf(), Settings::default(), fixture.catalog());
        let found = run.catalog.cases_of("tidy").find(|found| found.id.contains("buy")).expect("a case");
        let mode = Mode::built_in().into_iter().find(|known| known.name == mode).expect("a mode");
        run.digested(&SkillFolders::Repository, found.case().expect("a case"), &mode, &[]).expect("digests")
    };
    let changed = |mode: &str| inputs("Bought.", mode).differences(&inputs("Sold out.", mode));
    assert_eq!(changed("cli-native"), ["mocks"]);
    assert_eq!(changed("none"), [""; 0]);
}

/// A skill next to its cases, as in other systems.
fn beside_its_cases(fixture: Fixture, name: &str) -> Fixture {
    let text = format!("---\nname: {name}\ndescription: Does what {name} does.\n---\n\nDo it.\n");
    let task = format!("{{\"prompt\": \"Do it.\", \"evalConfig\": {{\"expectedSkillName\": \"{name}\"}}}}");
    fixture.file(&format!("evals/skills/{name}/SKILL.md"), text).task(&format!("of-{name}"), task)
}

/// The line of settings that a message ends in.
fn line_to_write(lines: &str) -> String {
    let at = lines.find("skill_roots = ").unwrap_or_else(|| panic!("no line in {lines}"));
    lines[at..].lines().next().expect("a line").to_owned()
}

#[test]
fn skills_that_lie_beside_their_cases_and_nowhere_else_are_found_without_settings() {
    let fixture = beside_its_cases(beside_its_cases(Fixture::new(), "lost"), "found");
    let listed = fixture.run(&["list"]);
    let names: Vec<&str> = listed.stdout.lines().filter_map(|line| line.split('\t').next()).collect();
    assert_eq!(names, ["found/of-found/mcp", "lost/of-lost/mcp"], "{}", listed.stderr);
    assert_eq!(listed.stderr, "");
    let one = fixture.run(&["list", "--task=of-lost", "--mode=native", "--mode=codex"]).stdout;
    let names: Vec<&str> = one.lines().filter_map(|line| line.split('\t').next()).collect();
    assert_eq!(names, ["lost/of-lost/native", "lost/of-lost/codex"]);
    for (wrong, why) in [("--task=gone", "unknown task `gone`"), ("--mode=gone", "unknown mode `gone`")] {
        fixture.run(&["list", wrong]).exits(2).warns(why);
    }
    let lint = fixture.run(&["lint", "--check-evals"]);
    assert!(lint.code == 0 && lint.stdout.starts_with("2 skills, 2 cases"), "{}", lint.stdout);
    let dry = fixture.run(&["run", "--replay", "--dry-run", "--task=of-lost", "--mode=cli-native", "--model=some"]);
    dry.exits(0).prints("lost/of-lost/cli-native");
    assert!(!dry.stdout.contains("of-found"), "{}", dry.stdout);
}

#[test]
fn a_skill_beside_its_cases_is_not_passed_over_in_silence() {
    for (skill, root) in [("skills/tidy", "skills"), (".claude/skills/tidy", ".claude/skills"), ("tidy", "tidy")] {
        let text = "---\nname: tidy\ndescription: Tidies.\n---\n\nDo it.\n";
        let fixture = beside_its_cases(Fixture::new().file(&format!("{skill}/SKILL.md"), text), "lost");
        let lines = fixture.lines();
        assert!(lines.contains("evals/skills/lost/SKILL.md") && lines.contains("[skill-root]"), "{lines}");
        let drawn = fixture.drawn();
        assert!(
            drawn.contains("[unknown-skill]") && drawn.contains("it is evals/skills/lost/SKILL.md, which is not read"),
            "{drawn}"
        );
        let line = line_to_write(&drawn);
        assert!(line.contains("\"evals/skills\"") && line.contains(&format!("\"{root}\"")), "{line}");
        let found = fixture.file("evals/evals.toml", line);
        let listed = found.run(&["list"]);
        let both = listed.stdout.contains("lost/of-lost") && listed.stdout.contains("tidy/");
        assert!(both, "{skill}: {}{}", listed.stdout, listed.stderr);
        let checked = found.run(&["lint", "--check-evals"]);
        assert!(checked.code == 0 && !checked.stdout.contains("skill-root"), "{}", checked.stdout);
    }
}

#[test]
fn cases_in_the_folder_of_their_skill_are_told_since_agents_are_given_them() {
    let fixture = beside_its_cases(Fixture::new(), "lost").prompts("lost", "id,should_trigger,prompt\na,true,Do it.\n");
    let lines = fixture.lines();
    assert!(lines.contains("evals/skills/lost/prompts.csv: [skill-root] these cases are in"), "{lines}");
}
