//! The way of somebody who has one agent, from the README to CI: a first answer, a case that fails, the fix, a comparison, the files.

use std::fs;
use std::os::unix::fs::symlink;

use libtest_mimic::Trial;
use serde_json::json;
use skill_evals_evidence::settings::mode::AgentKind;

use crate::support::fixture::{Fixture, Ran, ran};
use crate::support::live::{GREETING, Live, OPEN_GREETING};
use crate::support::one_agent::names_no_other;
use crate::support::pull_requests::git;
use crate::support::real::{all_needing_agent, program_of};
use crate::support::stand_in::{Protocol, Request, Turn};
use crate::tests;

pub fn trials() -> Vec<Trial> {
    let of_claude = all_needing_agent("claude", tests![whoever_has_claude_code_goes_from_the_readme_to_ci]);
    let of_codex = all_needing_agent("codex", tests![whoever_has_codex_goes_from_the_readme_to_ci]);
    let of_copilot = all_needing_agent("copilot", tests![whoever_has_copilot_goes_from_the_readme_to_ci]);
    of_claude.into_iter().chain(of_codex).chain(of_copilot).collect()
}

/// Opens the skill, and does what it says.
fn model(request: &Request) -> Turn {
    let text = request.body.to_string();
    match request.step {
        0 if request.protocol == Protocol::Messages => {
            Turn::Call { tool: "Skill".to_owned(), input: json!({ "skill": "greeting" }) }
        }
        0 if request.protocol == Protocol::Responses => Turn::Shell(OPEN_GREETING.to_owned()),
        0 => Turn::Call { tool: "skill".to_owned(), input: json!({ "skill": "greeting" }) },
        _ if text.contains("AHOY_MARKER") => Turn::Say("Ahoy, Ada! AHOY_MARKER".to_owned()),
        _ => Turn::Say("Good morning, Ada.".to_owned()),
    }
}

fn goes(kind: AgentKind) {
    let profile = kind.profile();
    let fixture = Fixture::new()
        .skill_text("greeting", GREETING)
        .file(".gitignore", "artifacts/\n")
        .prompts("greeting", "id,should_trigger,prompt,must_include\nit,true,Greet Ada please,AHOY_MARKER\n");
    let live = Live::over(fixture, model);
    let root = live.fixture.root();
    git(root, &["init", "--quiet", "--initial-branch", "main"]);
    git(root, &["add", "-A"]);
    git(root, &["commit", "--quiet", "-m", "A skill"]);
    // The one agent, and node.
    let programs = tempfile::tempdir().expect("a directory");
    for (name, program) in [(profile.program, program_of(kind)), ("node", program_of(kind).with_file_name("node"))] {
        symlink(program.canonicalize().expect("a program"), programs.path().join(name)).expect("a link");
    }
    let path = format!("{}:/usr/bin:/bin", programs.path().display());
    let mut all = String::new();
    let mut says = |line: &str, code: i32| -> Ran {
        let mut command = live.program();
        let ran = ran(command.args(line.split(' ')).current_dir(root).env("PATH", &path));
        assert_eq!(ran.code, code, "{line}: {}{}", ran.stdout, ran.stderr);
        // Which agents there are besides is what it is asked for.
        if line == "doctor" {
            return ran;
        }
        all.extend(["$ skill-evals ", line, "\n", &ran.stdout, &ran.stderr]);
        ran
    };
    says("doctor", 0);
    says("lint", 0);
    says("list", 0).prints("greeting/it/");
    says("run --dry-run", 0);
    says("run --run-id first", 0).prints("1 of 1 case passed");
    let skill = root.join("skills/greeting/SKILL.md");
    fs::write(&skill, GREETING.replace("end with AHOY_MARKER", "be brief")).expect("a skill");
    let failed = says("run --run-id second", 1);
    failed.prints("AHOY_MARKER").prints("Good morning, Ada.").warns("`skill-evals run --failed second`");
    says("show greeting/it", 0).prints("AHOY_MARKER");
    fs::write(&skill, GREETING.replace("house style", "style of the house")).expect("a skill");
    says("run --failed second", 0).prints("1 of 1 case passed");
    says("run --record", 0);
    says("run --replay", 0).prints("1 of 1 case passed");
    says("compare main --max-trials 20", 0).prints("no harm seen");
    git(root, &["add", "-A"]);
    git(root, &["commit", "--quiet", "-m", "The fix"]);
    says("gate main --free", 0);
    for service in ["github", "gitlab"] {
        says(&format!("init --ci {service} --git https://example.org/it.git"), 0).prints("next: ");
    }
    for file in
        [".github/workflows/skill-evals.yml", ".github/workflows/skill-evals-nightly.yml", ".gitlab/skill-evals.yml"]
    {
        all += &fs::read_to_string(root.join(file)).expect("a written file");
    }
    let all = all.replace(&root.display().to_string(), "ROOT").replace(&path, "PATH");
    names_no_other(profile, &all);
}

fn whoever_has_claude_code_goes_from_the_readme_to_ci() {
    goes(AgentKind::ClaudeCli);
}

fn whoever_has_codex_goes_from_the_readme_to_ci() {
    goes(AgentKind::Codex);
}

fn whoever_has_copilot_goes_from_the_readme_to_ci() {
    goes(AgentKind::Copilot);
}
