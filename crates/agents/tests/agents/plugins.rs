//! Which skills belong to a plugin, what of a plugin runs code, and which of its files agents get.

use skill_evals_agents::agent::snapshot::plugin_files;

use skill_evals_testing::fixture::Fixture;

const MANIFEST: &str = ".claude-plugin/plugin.json";

/// The slugs of the skills in this repository, each with its name in its plugin.
fn names(fixture: &Fixture) -> Vec<(String, Option<String>)> {
    let catalog = fixture.catalog();
    let name = |found: &skill_evals_cases::cases::catalog::FoundSkill| {
        (found.skill().slug.clone(), found.plugin.as_ref().map(|plugin| found.name_in(plugin)))
    };
    catalog.skills.iter().map(name).collect()
}

fn skill(fixture: Fixture, folder: &str, name: &str) -> Fixture {
    fixture.file(&format!("{folder}/SKILL.md"), format!("---\nname: {name}\ndescription: Does {name}.\n---\n\nBody.\n"))
}

#[test]
fn a_skill_belongs_to_the_nearest_plugin_whose_agent_finds_it() {
    let mut fixture = Fixture::new()
        .file(MANIFEST, r#"{"name": "outer", "skills": ["./more", "./one/of-them"]}"#)
        .file(&format!("plugins/inner/{MANIFEST}"), "{}");
    for (folder, name) in [
        ("skills/usual", "usual"),
        ("skills/.curated/hidden", "hidden"),
        ("more/listed", "listed"),
        ("one/of-them", "named"),
        ("plugins/inner/skills/deep", "deep"),
    ] {
        fixture = skill(fixture, folder, name);
    }
    let name = |slug: &str, name: Option<&str>| (slug.to_owned(), name.map(str::to_owned));
    assert_eq!(
        names(&fixture),
        [
            name("deep", Some("inner:deep")),
            name("hidden", None),
            name("listed", Some("outer:listed")),
            // Agents take the name of the directory.
            name("named", Some("outer:of-them")),
            name("usual", Some("outer:usual")),
        ]
    );
    let alone = skill(Fixture::new().file(&format!("skills/a/{MANIFEST}"), r#"{"name": "p"}"#), "skills/a", "a");
    assert_eq!(names(&alone), [name("a", Some("p:a"))]);
    assert_eq!(names(&Fixture::new().skill("a").file(MANIFEST, "{")), [name("a", None)]);
}

#[test]
fn what_may_run_without_a_model_is_code() {
    let code = |manifest: &str, files: &[(&str, &str)]| {
        let fixture = Fixture::new().skill("a").file(MANIFEST, manifest);
        let fixture = files.iter().fold(fixture, |fixture, (path, text)| fixture.file(path, text));
        let catalog = fixture.catalog();
        catalog.skills[0].plugin.as_ref().expect("a plugin").code.clone()
    };
    let inert = r#"{"name": "p", "version": "1", "commands": ["./cmd"], "experimental": {"evals": "evals"}}"#;
    assert_eq!(code(inert, &[("commands/a.md", "Say it twice!"), ("agents/a.md", "!`ls`")]), [""; 0]);
    assert_eq!(code(inert, &[("cmd/deep/a.md", "See !`git status`")]), ["cmd/deep/a.md"]);
    assert_eq!(code(inert, &[("commands/a.md", "```!\nls\n```")]), ["commands/a.md"]);
    assert_eq!(
        code(inert, &[("hooks/hooks.json", "{}"), (".mcp.json", "{}"), ("bin/x.json", "")]),
        [".mcp.json", "bin", "hooks"]
    );
    let deep = "commands/1/2/3/4/5/6/7/8/9/10/a.md";
    assert_eq!(code(inert, &[(deep, "See !`git status`")]), [deep], "however deep it is");
    assert_eq!(code(inert, &[("new-part/x.json", "{}"), ("words/a.txt", "x"), ("docs/x.json", "{}")]), ["new-part"]);
    // What a manifest says of a part of it makes the rest of a directory no less code.
    for manifest in [
        r#"{"name": "p", "skills": ["./hooks/none"]}"#,
        r#"{"name": "p", "skills": ["./hooks"]}"#,
        r#"{"name": "p", "skills": ["./"]}"#,
        r#"{"name": "p", "commands": ["./hooks/foo"]}"#,
        r#"{"name": "p", "agents": "./hooks"}"#,
        r#"{"name": "p", "agents": "./hooks/hooks.json"}"#,
    ] {
        assert_eq!(code(manifest, &[("hooks/hooks.json", "{}")]), ["hooks"], "{manifest}");
    }
    let part = r#"{"name": "p", "skills": ["./more/skills"]}"#;
    assert_eq!(code(part, &[("more/skills/b/x.json", "{}")]), [""; 0]);
    assert_eq!(code(part, &[("more/skills/b/x.json", "{}"), ("more/x.json", "{}")]), ["more"]);
    let keys =
        r#"{"name": "p", "hooks": {}, "experimental": {"monitors": "m.json"}, "commands": {"a": {"content": "x"}}}"#;
    assert_eq!(
        code(keys, &[]),
        ["`hooks` of its manifest", "`monitors` of its manifest", "`commands` of its manifest"]
    );
}

#[test]
fn agents_get_the_files_of_a_plugin_without_cases_and_without_what_git_ignores() {
    let fixture = Fixture::new()
        .skill("a")
        .file(MANIFEST, r#"{"name": "p"}"#)
        .file(".gitignore", "built\n")
        .file("built/x.js", "x")
        .file("lib/evals/part.js", "x")
        .file("commands/c.md", "c")
        .file("README.md", "r")
        .file("evals/case/prompt.md", "p")
        .file("skills/a/evals/answers.json", "{}")
        .file("skills/a/tests/evals/answers.json", "{}")
        .file("skills/a/notes.md", "n");
    let git = |args: &[&str]| std::process::Command::new("git").current_dir(fixture.root()).args(args).status();
    assert!(git(&["init", "-q"]).is_ok_and(|status| status.success()));
    let catalog = fixture.catalog();
    let plugin = catalog.skills[0].plugin.as_ref().expect("a plugin");
    let material = plugin_files(fixture.root(), plugin).whole().expect("its files");
    let paths: Vec<String> = material.files.iter().map(|file| file.path.display().to_string()).collect();
    assert_eq!(paths, [MANIFEST, "commands/c.md", "lib/evals/part.js", "skills/a/SKILL.md", "skills/a/notes.md"]);
}

#[test]
fn a_skill_in_a_hidden_directory_is_delivered_and_nothing_else_of_that_directory() {
    let fixture = Fixture::new()
        .file(MANIFEST, r#"{"name": "p", "skills": ["./.claude/skills/x"]}"#)
        .file(".claude/settings.json", "{}")
        .file(".claude/skills/x/SKILL.md", "---\nname: x\ndescription: X.\n---\nx\n")
        .file(".claude/skills/y/SKILL.md", "---\nname: y\ndescription: Y.\n---\ny\n");
    let catalog = fixture.catalog();
    let plugin = catalog.skills.iter().find_map(|skill| skill.plugin.as_ref()).expect("a plugin");
    let material = plugin_files(fixture.root(), plugin).whole().expect("its files");
    let paths: Vec<String> = material.files.iter().map(|file| file.path.display().to_string()).collect();
    assert!(paths.contains(&".claude/skills/x/SKILL.md".to_owned()), "{paths:?}");
    assert!(!paths.iter().any(|path| path.contains("settings.json") || path.contains("/y/")), "{paths:?}");
}
