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
    fixture.run("run --replay").exits(2).warns("skills/upper/Skill.md");
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
    fixture.run("lint").prints("dist/tea");
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
    stub.run("run").warns(format!("warning: {warning}"));
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
    stub.run("lint").prints("evals/mocks/shop/buy.md").prints("evals/skills/tidy/pr.txt");
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
    fixture.run("lint").prints("nor is a file of cases");
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
    fixture.run("lint").exits(0).prints("not read: `_note`, `baseline_note`");
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
        fixture.run("lint").exits(0).prints(fault).prints("read the skill whole");
        assert_eq!(fixture.broken_cases(), [""; 0], "{lines}");
        let foreseen = |mode: &str| fixture.run(&["run", "--dry-run", "--mode", mode]);
        for mode in refused {
            let ran = foreseen(mode);
            assert!([&*ran.stdout, &ran.stderr].concat().contains("does not load the skill"), "{lines} {mode}: {ran}");
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
        lint.exits(0).prints(said);
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
    dead.run(&["lint"]).prints("dead-link");
    let kept_back = Fixture::new()
        .file("skills/tea/SKILL.md", skill("tea") + "[a](evals/how.md) [b](guides/evals/how.md)\n")
        .file("skills/tea/evals/how.md", "Like this.")
        .file("skills/tea/guides/evals/how.md", "Like this.");
    kept_back.run(&["lint"]).prints("`evals/how.md` points into a directory of cases").prints("1 warning");
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
