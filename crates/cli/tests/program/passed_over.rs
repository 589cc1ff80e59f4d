//! What could hold a skill or a case is read, or named.

use std::fs;

use serde_json::Value;

use crate::foreign::lines;
use crate::support::fixture::Fixture;
use crate::support::stub::Stub;

pub fn skill(name: &str) -> String {
    format!("---\nname: {name}\ndescription: Does {name} for somebody who asks for {name}.\n---\n\nDo it.\n")
}

/// A repository with these skills, by their directories.
pub fn with_skills(folders: &[&str]) -> Fixture {
    folders.iter().fold(Fixture::new(), |fixture, folder| {
        let name = folder.rsplit('/').next().unwrap_or(folder);
        fixture.file(&format!("{folder}/SKILL.md"), skill(name))
    })
}

fn document(fixture: &Fixture) -> Value {
    {
        let ran = fixture.run(&["list", "--json"]);
        serde_json::from_str(&ran.stdout).unwrap_or_else(|error| panic!("{error}: {}", ran.stderr))
    }
}

/// The directories of the skills that are read, and the files that are not with the reason.
fn skills(fixture: &Fixture) -> (Vec<String>, Vec<String>) {
    let document = document(fixture);
    let texts = |list: &str, text: &dyn Fn(&Value) -> String| {
        document[list].as_array().expect("a list").iter().map(text).collect()
    };
    let read = texts("skills", &|skill| skill["folder"].as_str().expect("a path").to_owned());
    let others = texts("not_read", &|other| {
        format!("{} {}", other["file"].as_str().expect("a path"), other["why"].as_str().expect("why"))
    });
    (read, others)
}

#[test]
fn published_skills_are_read_before_those_of_agents_and_each_other_one_is_named() {
    for (folders, read, others) in [
        (&["skills/.curated/brew"][..], &["skills/.curated/brew"][..], &[][..]),
        (
            &[".github/skills/ship", "packs/a/skills/brew"],
            &["packs/a/skills/brew"],
            &[".github/skills/ship/SKILL.md outside"],
        ),
        (&[".claude/skills/ship", "one", "two"], &["one", "two"], &[".claude/skills/ship/SKILL.md outside"]),
        (&[".agents/skills/a", ".claude/skills/b"], &[".agents/skills/a", ".claude/skills/b"], &[]),
        (&["skills/tea", "skills/tea/more/brew"], &["skills/tea"], &["skills/tea/more/brew/SKILL.md in-skill"]),
        (
            &["skills/tea", "plugins/x/.claude/skills/brew"],
            &["skills/tea"],
            &["plugins/x/.claude/skills/brew/SKILL.md outside"],
        ),
        (&["skills/tea", "evals/fixtures/brew"], &["skills/tea"], &["evals/fixtures/brew/SKILL.md fixture"]),
        (&[".claude/skills/ship", "tests/brew"], &[".claude/skills/ship"], &["tests/brew/SKILL.md outside"]),
        (&["skills/tea", "plugins/x/skills/tea"], &["skills/tea"], &["plugins/x/skills/tea/SKILL.md copy"]),
    ] {
        let fixture = with_skills(folders);
        let (found, named) = skills(&fixture);
        assert_eq!(
            (found, named.iter().map(String::as_str).collect::<Vec<_>>()),
            (read.iter().map(ToString::to_string).collect(), others.to_vec()),
            "{folders:?}"
        );
        let lint = fixture.run(&["lint"]).stdout;
        assert_eq!(lint.contains("no problems"), others.is_empty(), "{folders:?}: {lint}");
        for other in others.iter().filter(|other| !other.ends_with("copy") && !other.ends_with("fixture")) {
            let folder = other.split("/SKILL.md").next().expect("a path");
            let name = folder.rsplit('/').next().expect("a name");
            for ran in [
                fixture.run(&["lint"]).stdout,
                fixture.run(&["list"]).stderr,
                fixture.run(&["run", "--dry-run"]).stderr,
            ] {
                assert!(ran.contains(&format!("({name})")) && ran.contains("skill_roots = ["), "{folders:?}: {ran}");
            }
        }
    }
}

#[test]
fn the_line_that_a_message_suggests_makes_the_skills_read() {
    for folders in [&["skills/tea", ".claude/skills/ship", "skills/tea/brew"][..], &["one", ".claude/skills/ship"]] {
        let fixture = with_skills(folders);
        let said = fixture.run(&["list"]).stderr;
        let line = said.lines().find_map(|line| line.split("evals/evals.toml: ").nth(1)).expect("a line of settings");
        let (read, others) = skills(&fixture.file("evals/evals.toml", line));
        assert_eq!((read.len(), others), (folders.len(), Vec::new()), "{line}");
    }
}

#[test]
fn the_whole_repository_can_be_a_skill_root() {
    let fixture = with_skills(&["one", "deep/er/two"]).file("evals/evals.toml", "skill_roots = [\".\"]\n");
    assert_eq!(skills(&fixture).0, ["one", "deep/er/two"]);
}

#[test]
fn a_skill_whose_file_has_another_case_is_named_and_selects_nothing() {
    let fixture = Fixture::new().file("skills/upper/Skill.md", skill("upper"));
    let lint = fixture.run(&["lint"]);
    assert!(lint.stdout.contains("skills/upper/Skill.md") && !lint.stdout.contains("no problems"), "{}", lint.stdout);
    let ran = fixture.run(&["run", "--replay"]);
    assert!(ran.code == 2 && ran.stderr.contains("skills/upper/Skill.md"), "{} {}", ran.code, ran.stderr);
}

#[test]
fn manifests_of_plugins_say_where_skills_are() {
    let fixture = with_skills(&["custom/one", "skills/two", "packs/three/skills/four", "packs/five/own/six"])
        .file(".house-plugin/plugin.json", r#"{ "name": "house", "skills": "./custom" }"#)
        .file(
            ".claude-plugin/marketplace.json",
            r#"{ "plugins": [ { "source": "./packs/three" }, { "source": "./packs/five", "skills": ["./own/six"] },
                { "source": { "source": "github" } } ] }"#,
        );
    assert_eq!(skills(&fixture).0, ["packs/three/skills/four", "custom/one", "packs/five/own/six", "skills/two"]);
    let fixture =
        with_skills(&["skills/two"]).file(".a/plugin.json", r#"{ "skills": ["./gone"] }"#).file(".b/plugin.json", "{");
    let lint = fixture.run(&["lint"]).stdout;
    assert!(lint.contains("a directory that is not here") && lint.contains("this manifest is not read"), "{lint}");
    for (manifest, said) in [
        ("[]", "this manifest is an array; expected an object"),
        (r#"{ "skills": ["./packs/*/skills"] }"#, "publishes skills by a pattern, which is not read"),
        (r#"{ "skills": [ { "path": "skills" } ] }"#, "by something other than a path"),
    ] {
        let lint = with_skills(&["skills/two"]).file(".a-plugin/plugin.json", manifest).run(&["lint"]).stdout;
        assert!(lint.contains(said) && lint.contains(".a-plugin/plugin.json"), "{manifest}: {lint}");
    }
    // Two marketplaces that list each other end.
    let each_other = with_skills(&["a/skills/x", "b/skills/y"])
        .file("a/plugin.json", r#"{ "plugins": [ { "source": "../b" } ] }"#)
        .file("b/plugin.json", r#"{ "plugins": [ { "source": "../a" } ] }"#)
        .file("marketplace.json", r#"{ "plugins": [ { "source": "./a" } ] }"#)
        .file("evals/evals.toml", "");
    assert_eq!(skills(&each_other).0, ["a/skills/x", "b/skills/y"]);
}

#[test]
fn links_to_skills_that_are_found_are_no_finding() {
    let fixture = with_skills(&["skills/tea"])
        .link("plugins/x/skills/tea", "../../../skills/tea")
        .link("plugins/x/all", "../../skills");
    assert_eq!(fixture.run(&["lint"]).stdout, "1 skill: no problems\n");
}

#[test]
fn copies_of_skills_bring_no_cases_and_git_ignored_ones_are_no_finding() {
    let cases = r#"{ "evals": [ { "id": 1, "prompt": "Brew tea", "expectations": ["It is tea"] } ] }"#;
    let fixture = with_skills(&["skills/tea", "plugins/x/skills/tea", "dist/tea"])
        .file("skills/tea/evals/evals.json", cases)
        .file("plugins/x/skills/tea/evals/evals.json", cases)
        .file("dist/tea/SKILL.md", skill("tea") + "More.\n")
        .file("dist/tea/evals/evals.json", cases);
    assert_eq!(lines(&fixture), ["tea/evals-1 eval skills/tea/evals/evals.json:1:14"]);
    assert!(fixture.run(&["lint"]).stdout.contains("dist/tea"));
    let fixture = fixture.file(".gitignore", "dist\nskills/tea/evals\n");
    std::process::Command::new("git").arg("-C").arg(fixture.root()).args(["init", "-q"]).status().expect("git");
    let lint = fixture.run(&["lint"]).stdout;
    assert!(!lint.contains("dist/tea") && lint.contains("git ignores files of cases"), "{lint}");
}

#[test]
fn an_ignored_file_of_a_fixture_is_named_by_lint_and_when_agents_get_it() {
    let stub = Stub::new(1, "ls > \"$folder/seen\"");
    stub.write("evals/skills/tidy/prompts.csv", "id,should_trigger,prompt,fixture\nc0,false,Prompt 0,fixture\n");
    stub.write("evals/skills/tidy/fixture/kept.txt", "x");
    stub.write("evals/skills/tidy/fixture/build.log", "x");
    stub.write(".gitignore", "*.log\n");
    std::process::Command::new("git").arg("-C").arg(stub.root()).args(["init", "-q"]).status().expect("git");
    let warning = "git ignores files that agents get, so a clone has none of them: \
                   evals/skills/tidy/fixture/build.log";
    let lint = stub.run(&["lint"]).stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(lint.contains(warning) && !lint.contains("kept.txt"), "{lint}");
    let live = stub.run(&["run"]);
    assert!(live.stderr.contains(&format!("warning: {warning}")), "{}", live.stderr);
    assert_eq!(fs::read_to_string(stub.root().join("seen")).expect("a list"), "build.log\nkept.txt\n");
    let replay = stub.run(&["run", "--replay"]);
    assert!(!replay.stderr.contains("git ignores"), "{}", replay.stderr);
    stub.write(".gitignore", "evals/**/mocks\n*.txt\n");
    stub.write("evals/mocks/shop/buy.md", "Bought.");
    stub.write("evals/skills/tidy/pr.txt", "x");
    let settings = fs::read_to_string(stub.root().join("evals/evals.toml")).expect("settings");
    stub.write(
        "evals/evals.toml",
        &format!("{settings}[mocks.command.gh]\nstdout_file = 'evals/skills/tidy/pr.txt'\n"),
    );
    let lint = stub.run(&["lint"]).stdout;
    assert!(lint.contains("evals/mocks/shop/buy.md") && lint.contains("evals/skills/tidy/pr.txt"), "{lint}");
    stub.write("evals/evals.toml", &settings);
    fs::remove_dir_all(stub.root().join("evals/mocks")).expect("a directory");
    stub.write(".gitignore", "");
    assert!(!stub.run(&["run"]).stderr.contains("git ignores"));
}

#[test]
fn cases_are_for_the_nearest_skill() {
    let spec = "tasks:\n  - name: a\n    instruction: Brew tea\n    graders: []\n";
    let fixture = with_skills(&["skills/other", "examples/tea/skills/brew"]).file("examples/tea/eval.yaml", spec);
    assert!(lines(&fixture).iter().all(|line| line.starts_with("other/smoke-")), "{:?}", lines(&fixture));
    assert!(fixture.run(&["lint"]).stdout.contains("nor is a file of cases"));
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
fn an_assertion_with_a_type_is_a_check_a_statement_or_unsupported() {
    for (assertion, kind, said) in [
        (r#"{ "type": "contains", "text": "tea" }"#, "text", ""),
        (r#"{ "type": "not-contains", "value": "coffee", "description": "no coffee" }"#, "text", ""),
        (r#"{ "type": "contains_pattern", "pattern": "(?i)boil", "text": "boils" }"#, "text", ""),
        (r#"{ "type": "file_exists", "path": "steps.md" }"#, "file", ""),
        (r#"{ "type": "file_contains", "path": "steps.md", "text": "boil" }"#, "file", ""),
        (r#"{ "type": "command_succeeds", "command": "test -s steps.md" }"#, "run", ""),
        (r#"{ "type": "llm_judge", "text": "It is tea" }"#, "", ""),
        (r#"{ "type": "content", "text": "It is tea" }"#, "", ""),
        (r#"{ "type": "contains_all", "text": "tea" }"#, "", "an assertion of the type `contains_all`"),
        (r#"{ "type": "contains", "text": "tea", "count": 2 }"#, "", "an assertion of the type `contains`"),
        (r#"{ "type": "file_exists" }"#, "", "an assertion of the type `file_exists`"),
        (r#"{ "type": "notContains", "value": "coffee" }"#, "text", ""),
        (r#"{ "type": "must_not_contain", "value": "coffee" }"#, "text", ""),
        (r#"{ "type": "fileDoesNotExist", "path": "steps.md" }"#, "file", ""),
        // A judge would take these for the opposite, or for what only a program can tell.
        (r#"{ "type": "never_mentions", "text": "coffee" }"#, "", "an assertion of the type `never_mentions`"),
        (r#"{ "type": "excluded-topics", "text": "coffee" }"#, "", "an assertion of the type `excluded-topics`"),
        (r#"{ "type": "avoids", "text": "coffee" }"#, "", "an assertion of the type `avoids`"),
        (r#"{ "type": "withoutCoffee", "text": "coffee" }"#, "", "an assertion of the type `withoutCoffee`"),
        (r#"{ "type": "not_absent", "text": "coffee" }"#, "", "an assertion of the type `not_absent`"),
        (r#"{ "type": "starts_with", "text": "Tea" }"#, "", "an assertion of the type `starts_with`"),
        (r#"{ "type": "maxLength", "text": "100" }"#, "", "an assertion of the type `maxLength`"),
        (r#"{ "type": "tool_used", "text": "Read" }"#, "", "an assertion of the type `tool_used`"),
        (r#"{ "type": "icontains", "pattern": "tea|coffee" }"#, "", "an assertion of the type `icontains`"),
        (r#"{ "type": "friendly", "text": "It is kind" }"#, "", ""),
        (
            r#"{ "type": "regex", "pattern": "(" }"#,
            "",
            r#"`pattern`: the pattern "(" does not compile: unclosed group"#,
        ),
    ] {
        let text =
            format!("{{ \"evals\": [ {{ \"id\": 1, \"prompt\": \"Brew tea\", \"assertions\": [ {assertion} ] }} ] }}");
        let fixture = with_skills(&["skills/tea"]).file("skills/tea/evals/evals.json", text);
        let line = lines(&fixture).join("\n");
        assert_eq!(line.contains(" | "), !said.is_empty(), "{assertion}: {line}");
        assert!(line.contains(said), "{assertion}: {line}");
        let catalog = fixture.catalog();
        let found = catalog.cases_of("tea").next().expect("a case");
        let Ok(case) = found.case() else { continue };
        let kinds: Vec<&str> = case.checks.iter().map(|check| check.kind.id).collect();
        assert_eq!(kinds, if kind.is_empty() { vec![] } else { vec![kind] }, "{assertion}");
        assert_eq!(case.assertions.len(), usize::from(kind.is_empty() && said.is_empty()), "{assertion}");
    }
}

#[test]
fn a_value_at_the_key_of_a_pattern_is_a_pattern_whatever_the_type_is() {
    for (assertion, is_pattern) in [
        (r#"{ "type": "contains", "pattern": "te+a" }"#, true),
        (r#"{ "type": "not_contains", "regex": "te+a" }"#, true),
        (r#"{ "type": "file_contains", "path": "a.md", "regex": "te+a" }"#, true),
        (r#"{ "type": "file_not_contains", "path": "a.md", "pattern": "te+a" }"#, true),
        (r#"{ "type": "contains", "value": "te+a" }"#, false),
        (r#"{ "type": "file_contains", "path": "a.md", "text": "te+a" }"#, false),
    ] {
        let text =
            format!("{{ \"evals\": [ {{ \"id\": 1, \"prompt\": \"Brew tea\", \"assertions\": [ {assertion} ] }} ] }}");
        let catalog = with_skills(&["skills/tea"]).file("skills/tea/evals/evals.json", text).catalog();
        let case = catalog.cases_of("tea").next().expect("a case").case().expect("a case").clone();
        let ask = format!("{:?}", case.checks[0].ask);
        assert_eq!(ask.contains("Exact"), is_pattern, "{assertion}: {ask}");
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

#[test]
fn one_cause_is_one_finding_with_its_number() {
    let cases: Vec<String> = (0..40).map(|id| format!("{{ \"id\": {id}, \"expectations\": [\"tea\"] }}")).collect();
    let text = format!("{{ \"evals\": [ {} ] }}", cases.join(",\n"));
    let fixture = with_skills(&["skills/tea"]).file("skills/tea/evals/evals.json", text);
    let lint = fixture.run(&["lint"]).stdout;
    assert_eq!(lint.matches("the key `prompt` is missing").count(), 1, "{lint}");
    assert!(lint.contains("39 more `missing-key` are not shown") && lint.contains("40 errors"), "{lint}");
    let listed = fixture.run(&["list"]).stderr;
    assert_eq!(listed.matches("the key `prompt` is missing").count(), 1, "{listed}");
}

#[test]
fn a_case_of_an_unknown_skill_is_no_duplicate_of_another() {
    let of = |skill: &str| {
        format!(
            "{{ \"skill_name\": \"{skill}\", \"evals\": [ {{ \"id\": 1, \"prompt\": \"x\", \"expectations\": [\"y\"] }} ] }}"
        )
    };
    let fixture =
        with_skills(&["skills/tea"]).file("a/evals/evals.json", of("one")).file("b/evals/evals.json", of("two"));
    let said = fixture.run(&["lint"]).stdout;
    assert!(
        said.contains("`one`, which is not here")
            && said.contains("`two`, which is not here")
            && !said.contains("duplicate-case"),
        "{said}"
    );
}

#[test]
fn keys_that_only_comment_are_one_warning() {
    let text = r#"{ "evals": [ { "id": 1, "_note": "x", "prompt": "a", "expectations": ["b"] },
        { "id": 2, "baseline_note": "x", "eval_name": "c", "prompt": "a", "expectations": ["b"] } ] }"#;
    let fixture = with_skills(&["skills/tea"]).file("skills/tea/evals/evals.json", text);
    let lint = fixture.run(&["lint"]);
    assert!(lint.code == 0 && lint.stdout.contains("not read: `_note`, `baseline_note`"), "{}", lint.stdout);
    assert_eq!(fixture.good_cases(), ["evals-1", "evals-2"]);
}

/// A SKILL.md with these lines of front matter.
fn front_matter(lines: &str) -> Fixture {
    Fixture::new().file("skills/tea/SKILL.md", format!("---\nname: tea\n{lines}\n---\n\nDo it.\n"))
}

#[test]
fn front_matter_that_agents_read_runs_in_their_modes_and_not_in_those_of_others() {
    for (lines, fault, refused) in [
        ("description: Keeps tea: adds water", "`: ` in a value", &["copilot", "kimi"][..]),
        ("description: [Beta] Brews tea", "a value that begins with a bracket", &["opencode", "copilot"]),
        ("description: Brews tea\nmetadata:\n\tversion: 1", "tabs as indentation", &["codex"]),
        ("description: Boils\ndescription: Brews tea", "a duplicate key", &["codex", "opencode"]),
    ] {
        let fixture = front_matter(lines);
        let lint = fixture.run(&["lint"]);
        assert!(
            lint.code == 0 && lint.stdout.contains(fault) && lint.stdout.contains("read the skill whole"),
            "{lines}: {}",
            lint.stdout
        );
        assert_eq!(fixture.broken_cases(), [""; 0], "{lines}");
        let foreseen = |mode: &str| fixture.run(&["run", "--dry-run", "--mode", mode]);
        for mode in refused {
            let ran = foreseen(mode);
            assert!(
                ran.stdout.contains("does not load the skill") || ran.stderr.contains("does not load the skill"),
                "{lines} {mode}: {}{}",
                ran.stdout,
                ran.stderr
            );
        }
        let ran = foreseen("gemini");
        assert!(
            !ran.stdout.contains("does not load") && !ran.stderr.contains("does not load"),
            "{lines}: {}",
            ran.stdout
        );
        let catalog = fixture.catalog();
        let description = &catalog.skill("tea").expect("a skill").skill().description;
        assert!(description.contains("tea"), "{description}");
    }
}

#[test]
fn what_every_agent_cuts_off_a_description_is_a_warning() {
    for (lines, said) in [
        ("description: Brews tea # and coffee", "` #` begins a comment"),
        ("description: &Tea is brewed", "`&` begins the name of an anchor"),
    ] {
        let lint = front_matter(lines).run(&["lint"]);
        assert!(lint.code == 0 && lint.stdout.contains(said), "{lines}: {}", lint.stdout);
    }
    for lines in [
        "description: \"Brews tea # and coffee\"",
        "description: Brews C# tea",
        "description: Brews tea\nmetadata:\n  tags: [a, b]\n  deep: { a: 1 }",
        "description: Brews tea\nallowed-tools: [Read, Grep]",
    ] {
        assert_eq!(front_matter(lines).run(&["lint"]).stdout, "1 skill: no problems\n", "{lines}");
    }
}

#[test]
fn footnotes_and_templates_are_no_dead_links() {
    let body = "Old[^1]. [Title](url) [x](path/to/file.md) [y](FILE_NAME.md)\n\n[^1]: Guest book. \"Tea.\"\n";
    let fixture = Fixture::new().file("skills/tea/SKILL.md", skill("tea") + body);
    assert_eq!(fixture.run(&["lint"]).stdout, "1 skill: no problems\n");
    let dead = Fixture::new().file("skills/tea/SKILL.md", skill("tea") + "[a](gone.md)\n");
    assert!(dead.run(&["lint"]).stdout.contains("dead-link"));
    let kept_back = Fixture::new()
        .file("skills/tea/SKILL.md", skill("tea") + "[a](evals/how.md) [b](guides/evals/how.md)\n")
        .file("skills/tea/evals/how.md", "Like this.")
        .file("skills/tea/guides/evals/how.md", "Like this.");
    let lint = kept_back.run(&["lint"]).stdout;
    assert!(lint.contains("`evals/how.md` points into a directory of cases") && lint.contains("1 warning"), "{lint}");
}

#[test]
fn similar_descriptions_are_said_once_and_short_ones_are_not_compared() {
    let described = |description: &str| format!("---\nname: NAME\ndescription: {description}\n---\n\nDo it.\n");
    let with = |a: &str, b: &str| {
        Fixture::new()
            .file("skills/a/SKILL.md", described(a).replace("NAME", "a"))
            .file("skills/b/SKILL.md", described(b).replace("NAME", "b"))
            .run(&["lint"])
            .stdout
    };
    let long = "Brews green tea and black tea in the kitchen, boils water, warms cups, counts minutes.";
    assert_eq!(with(long, &format!("{long} Also coffee.")).matches("similar-description").count(), 1);
    assert_eq!(
        with("Tea flags for Rust applications", "Copy a tea flag with rules for applications from one project")
            .matches("similar")
            .count(),
        0
    );
}
