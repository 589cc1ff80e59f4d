//! Repositories that were made for another runner run with the settings that docs/migrate/pkbllm.md shows.

use crate::support::repository;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use crate::support::fixture::Fixture;
use crate::support::harness::clean;
use crate::support::stub::{ANSWER, ran};

/// codex, which does what the prompt says in backquotes, from the repository that `PKB_PATH` names.
const AGENT: &str = r#"#!/bin/sh
for prompt; do :; done
mkdir -p "$CODEX_HOME/sessions"
printf '%s\n' '{"type":"response_item","payload":{"type":"message","role":"developer","content":[{"text":"<skills_instructions>\n### Available skills\n- own-notes: x (file: r0/own-notes/SKILL.md)\n</skills_instructions>"}]}}' > "$CODEX_HOME/sessions/rollout-1.jsonl"
text=$(sed ':a;N;$!ba;s/\n/\\n/g' .agents/skills/own-notes/SKILL.md)
printf '%s\n' '{"type":"item.completed","item":{"id":"1","type":"command_execution","command":"cat .agents/skills/own-notes/SKILL.md","aggregated_output":"'"$text"'","exit_code":0,"status":"completed"}}'
command=$(printf '%s\n' "$prompt" | sed -n 's/^`\(.*\)`$/\1/p')
(cd "$PKB_PATH" && sh -c "$command") > said.txt 2>&1
ls "$PKB_PATH/evals" > cases.txt 2>&1
"#;

const SKILL: &str = "---\nname: own-notes\ndescription: Scaffolds notes.\n---\n\nRun the script.\n";

const CASES: &str = "id,should_trigger,prompt,sandbox,timeout_s,max_commands,output_schema,judge,require_files,must_include,must_not_include,fixture
scaffold-e2e,true,\"Use the $own-notes skill.

Task: scaffold notes under $HUMAN_MATERIAL_PATH by running:
`sh human/notes/scripts/scaffold.sh --slug paper`

Then verify that they exist.
\",workspace-write,60,8,,false,human_materials/notes/paper/README.md,,,
negative,false,What is a binary search?,read-only,60,0,,false,,,,
";

const SCRIPT: &str = "#!/bin/sh\nmkdir -p \"$HUMAN_MATERIAL_PATH/notes/$2\" && echo \"# $2\" > \"$HUMAN_MATERIAL_PATH/notes/$2/README.md\"\n";

/// The blocks of settings that the page shows, in order.
fn shown() -> Vec<String> {
    let page = repository().join("docs/migrate/pkbllm.md");
    let text = fs::read_to_string(page).expect("the page");
    let blocks = text.split("```toml\n").skip(1).filter_map(|rest| Some(rest.split_once("```")?.0.to_owned()));
    blocks.collect()
}

#[test]
fn a_repository_of_pkbllms_layout_runs_with_the_three_lines_that_the_docs_show() {
    let shown = shown();
    assert_eq!(shown[0].lines().count(), 3, "{}", shown[0]);
    let fixture = Fixture::new()
        .file("human/notes/SKILL.md", SKILL)
        .file("human/notes/scripts/scaffold.sh", SCRIPT)
        .file("skills/manifest.json", "{}\n")
        .prompts("own-notes", CASES)
        .file("evals/evals.toml", &shown[0]);
    // Where the PATH names it, and outside the repository.
    let programs = tempfile::tempdir_in("/var/tmp").expect("a directory");
    let agent = programs.path().join("codex");
    fs::write(&agent, format!("{AGENT}{ANSWER}")).expect("a program");
    fs::set_permissions(&agent, fs::Permissions::from_mode(0o755)).expect("permissions");
    let path = format!("{}:{}", programs.path().display(), std::env::var("PATH").unwrap_or_default());
    let scratch = tempfile::tempdir_in("/var/tmp").expect("a directory");
    let run = |args: &[&str]| {
        let mut command = clean(Command::new(env!("CARGO_BIN_EXE_skill-evals")));
        // As a user has it: isolated, where this machine can.
        command.env_remove("SKILL_EVALS_ISOLATION").env("SKILL_EVALS_SCRATCH", scratch.path());
        // What codex would log in with.
        command.env("CODEX_API_KEY", "a-key-of-the-test");
        ran(command.args(args).current_dir(fixture.root()).env("PATH", &path).env("HOME", scratch.path()))
    };
    let lint = run(&["lint", "--check-evals"]);
    lint.exits(0).prints("skill-name-folder");
    let live = run(&["run", "--run-id", "r", "--case", "scaffold-e2e"]);
    let trial = fixture.root().join("artifacts/skill-evals/r/work/own-notes/scaffold-e2e/codex/1");
    let left = |name: &str| fs::read_to_string(trial.join("workspace").join(name)).unwrap_or_default();
    live.exits(0);
    assert_eq!(left("human_materials/notes/paper/README.md"), "# paper\n");
    let meta: serde_json::Value =
        serde_json::from_slice(&fs::read(trial.join("meta.json")).expect("facts")).expect("JSON");
    let isolated = meta["isolation"] == "bwrap";
    assert_eq!(left("cases.txt").contains("evals.toml"), !isolated, "cases are hidden where that is possible");

    fs::write(fixture.root().join("evals/evals.toml"), shown.concat()).expect("settings");
    let lint = run(&["lint", "--check-evals"]);
    let told = ", 1 allowed by evals.toml\nallowed 1× skill-name-folder: names have a prefix, folders have none\n";
    assert!(lint.code == 0 && lint.stdout.ends_with(told), "{}", lint.stdout);
}
