//! The gate over pull requests of known effect, with the real codex and claude: the stand-in model opens a skill if the
//! description that it was shown names the task, and does what the skill says.

use std::fs;
use std::time::Instant;

use crate::support::fixture::Fixture;
use crate::support::live::Live;
use crate::support::pull_requests::{Change, MARK, VAGUE, case_of, git, publish, topic, write, write_skills};
use crate::support::stand_in::{Protocol, Request, Turn};
use crate::tests;
use libtest_mimic::Trial;
use serde_json::json;

pub fn trials() -> Vec<Trial> {
    crate::support::real::all_needing_both_agents(tests![
        with_codex_the_gate_fails_the_pull_requests_that_break_a_skill_and_passes_the_others,
        with_claude_the_gate_fails_the_pull_requests_that_break_a_skill_and_passes_the_others,
    ])
}

const CASES: [&str; 3] = ["implicit", "outcome", "negative"];

fn model(request: &Request) -> Turn {
    let Some((skill, id)) = case_of(request.prompt.trim()) else { return Turn::Say("Which case?".to_owned()) };
    let (shown, topic) = (request.body.to_string(), topic(skill));
    let claims = |words: &str| shown.contains(&words.replace("TOPIC", topic));
    let open = if id == "negative" {
        None
    } else if claims("Helps with TOPIC, and with") {
        Some("docx")
    } else if claims("with TOPIC. Use") {
        Some(skill)
    } else {
        None
    };
    match (request.step, open) {
        (0, Some(open)) if request.protocol == Protocol::Messages => {
            Turn::Call { tool: "Skill".to_owned(), input: json!({ "skill": open }) }
        }
        (0, Some(open)) => Turn::Shell(format!("cat .agents/skills/{open}/SKILL.md")),
        _ if shown.contains(&format!("with {MARK}")) && !shown.contains(VAGUE) => Turn::Say(format!("Done. {MARK}")),
        _ => Turn::Say("Done.".to_owned()),
    }
}

fn answers(mode: &str) {
    let live = Live::over(Fixture::new(), model);
    let root = live.fixture.root();
    write_skills(root, |_| &CASES);
    write(root, "evals/evals.toml", &format!("modes = [\"{mode}\"]\n"));
    let remote = tempfile::tempdir().expect("a directory");
    let changes = [
        (Change::HarmlessBody, 0, "no harm seen", vec![]),
        (Change::BrokenDescription, 1, "broke", vec!["pdf/implicit", "pdf/outcome"]),
        (Change::BrokenBody, 1, "broke", vec!["pdf/outcome"]),
        (Change::BetterBody, 0, "no harm seen", vec![]),
        (Change::StealingNeighbor, 1, "broke", vec!["pdf/implicit", "pdf/outcome"]),
    ];
    publish(root, remote.path(), &changes.each_ref().map(|change| change.0));
    for (change, code, result, broken) in changes {
        let began = Instant::now();
        git(root, &["checkout", "--quiet", change.branch()]);
        let mut gate = live.program();
        gate.args(["gate", "--quiet", "--jobs", "8", "--run-id", change.branch()]).current_dir(root);
        let ran = gate.output().expect("the program starts");
        let said = format!("{}{}", String::from_utf8_lossy(&ran.stdout), String::from_utf8_lossy(&ran.stderr));
        assert_eq!(ran.status.code(), Some(code), "{change:?}: {said}");
        let sentence =
            said.lines().find(|line| line.starts_with(result)).unwrap_or_else(|| panic!("{change:?}: {said}"));
        assert!(broken.iter().all(|case| sentence.contains(case)), "{change:?}: {sentence}");
        eprintln!("{mode}, {change:?}: {:.1} s, {sentence}", began.elapsed().as_secs_f64());
        let page = fs::read_to_string(root.join("artifacts/skill-evals/gate/gate.md")).expect("a page");
        let answer = if code == 0 { "passed" } else { "failed" };
        assert!(page.contains(&format!("## skill-evals: {answer}")), "{change:?}: {page}");
    }
}

fn with_codex_the_gate_fails_the_pull_requests_that_break_a_skill_and_passes_the_others() {
    answers("codex");
}

fn with_claude_the_gate_fails_the_pull_requests_that_break_a_skill_and_passes_the_others() {
    answers("cli-native");
}
