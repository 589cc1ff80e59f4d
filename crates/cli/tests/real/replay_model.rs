//! `run --replay-model`: the real agents against the answers of their recordings, with no model behind them.

use std::fs;
use std::path::Path;
use std::process::Command;

use libtest_mimic::Trial;
use skill_evals_evidence::settings::mode::Mode;
use skill_evals_evidence::trace::trouble::TroubleKind;
use skill_evals_evidence::trial::outcome::Verdict;

use super::conformance::load;
use crate::support::fixture::{Ran, ran};
use crate::support::live::{Live, behind_the_door};
use crate::support::real::{HOW_TO_GET_AGENTS, bwrap_works, needing, program_of};
use crate::support::stand_in::{Request, Turn};

type TestOfMode = fn(&'static Mode);

pub fn trials() -> Vec<Trial> {
    let mut trials = Vec::new();
    for mode in Box::leak(Mode::built_in().into_boxed_slice()) {
        let mode: &'static Mode = mode;
        let missing = if bwrap_works() { None } else { Some("bwrap") };
        let missing = missing.or_else(|| (!program_of(mode.agent).exists()).then_some(mode.agent.profile().program));
        let (name, test): (_, TestOfMode) = match &*mode.name {
            "cli-native" => ("has_the_recorded_verdict_until_something_changes", |mode| changes(mode, "CLAUDE.md")),
            "codex" => ("has_the_recorded_verdict_until_something_changes", |mode| changes(mode, "AGENTS.md")),
            _ => {
                ("has_the_recorded_verdict_without_a_model", |mode| behind_the_door(|| replays(&recorded(mode), mode)))
            }
        };
        if mode.delivery.native() {
            trials.push(needing(&format!("replay_model::{mode}::{name}"), missing, HOW_TO_GET_AGENTS, move || {
                test(mode);
                Ok(())
            }));
        }
    }
    trials
}

/// Loads the skill, runs its script, and answers.
fn works(request: &Request, mode: &Mode) -> Turn {
    match request.step {
        0 => load(request, mode, "greeting"),
        1 => Turn::Shell("sh $(find -L ~ . -name hail.sh 2>/dev/null | head -1); date".to_owned()),
        _ => Turn::Say("Ahoy, Ada!".to_owned()),
    }
}

/// A repository with a recording of the case `it`.
fn recorded(mode: &'static Mode) -> Live {
    let (columns, cells) = ("should_trigger,prompt,must_include,fixture", "true,Greet Ada.,Ahoy,evals/start");
    let live = Live::new(columns, cells, move |request| works(request, mode));
    fs::create_dir_all(live.fixture.root().join("evals/start")).expect("a directory");
    for name in ["CLAUDE.md", "AGENTS.md"] {
        fs::write(live.fixture.root().join("evals/start").join(name), "Answer in French.\n").expect("a memory file");
    }
    script(&live, "echo hail");
    let recorded = live.run(&["--mode", &mode.name, "--record"]);
    let of_case = live.fixture.root().join("evals/recordings/greeting/it").join(&*mode.name).join("1/model.jsonl");
    assert!(of_case.exists(), "{recorded}");
    live
}

fn script(live: &Live, text: &str) {
    let path = live.fixture.root().join("skills/greeting/hail.sh");
    fs::write(path, format!("{text}\n")).expect("a script");
}

/// Runs the case against its recording, by a user without a login.
pub(super) fn replayed(live: &Live, mode: &str) -> Ran {
    let mut command = live.command(&["--mode", mode, "--replay-model"]);
    without_login(&mut command);
    ran(&mut command)
}

fn without_login(command: &mut Command) {
    let all: Vec<_> = command.get_envs().map(|(name, _)| name.to_owned()).collect();
    let is_of_login = |name: &str| name.contains("KEY") || name.contains("TOKEN") || name.contains("ENDPOINT");
    for name in all.into_iter().filter(|name| is_of_login(&name.to_string_lossy())) {
        command.env_remove(name);
    }
    command.env_remove("SKILL_EVALS_NETWORK").env_remove("SKILL_EVALS_SCRIPTED").env_remove("SKILL_EVALS_MODEL");
}

fn replays(live: &Live, mode: &'static Mode) {
    let asked = live.model.requests().len();
    let again = replayed(live, &mode.name);
    let trial = live.kept("greeting", "it", &mode.name).unwrap_or_else(|| panic!("nothing was kept: {again}"));
    trial.expect(Verdict::Pass);
    assert_eq!(live.model.requests().len(), asked, "a request left the machine");
    assert_eq!(trial.meta.scripted.as_deref(), Some("recorded answers"));
    let again = again.stdout;
    assert!(again.contains("a mock model (recorded answers) gave the answers"), "{again}");
}

fn changes(mode: &'static Mode, memory: &str) {
    behind_the_door(|| {
        let live = recorded(mode);
        replays(&live, mode);
        // It would make a recording of a recording.
        let record = ran(live.program().args(["record", "t"]).current_dir(live.fixture.root()));
        assert!(record.stdout.contains("not recorded: a trial had its model's answers from a recording"), "{record}");
        let trouble = |what: &str| {
            let again = replayed(&live, &mode.name);
            let trial = live.kept("greeting", "it", &mode.name).unwrap_or_else(|| panic!("nothing was kept: {again}"));
            trial.expect(Verdict::Error);
            let trouble = trial.grade.trouble.clone().expect("a reason");
            assert!(trouble.kind == TroubleKind::Diverged && trouble.detail.contains(what), "{trouble}");
            again
        };
        script(&live, "echo broken");
        trouble("diverged at request 3").exits(3);
        script(&live, "echo hail");
        let skill = Path::new("skills/greeting/SKILL.md");
        let path = live.fixture.root().join(skill);
        let text = fs::read_to_string(&path).expect("a skill");
        fs::write(&path, text.replace("AHOY_MARKER", "ANOTHER_MARKER")).expect("a skill");
        trouble("diverged at request 2");
        // What the model would choose then, no recording knows.
        fs::write(&path, text.replace("Greets people", "Hails people")).expect("a skill");
        trouble("changed since the recording: catalogue of skills");
        fs::write(&path, text).expect("a skill");
        // Claude Code shows it in a reminder, codex as a message of the user.
        fs::write(live.fixture.root().join("evals/start").join(memory), "Answer in German.\n").expect("a memory file");
        trouble("diverged at request 1");
    });
}
