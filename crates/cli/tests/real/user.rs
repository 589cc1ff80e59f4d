//! A user who answers the real agents, played by real agents: it tells what it is asked for, and nothing else.

use std::fs;

use libtest_mimic::Trial;
use skill_evals_evidence::trace::trouble::TroubleKind;
use skill_evals_evidence::trial::input_file::{ToldFact, UserEnding};
use skill_evals_evidence::trial::outcome::{Status, Verdict};

use crate::support::live::Live;
use crate::support::real::all_needing_both_agents;
use crate::support::stand_in::{Request, Turn};
use crate::tests;

const COLUMNS: &str = "should_trigger,prompt,user,must_include,timeout_s";
const CELLS: &str = "false,Write a note.,user.json,AHOY administrators,600";
const USER: &str =
    r#"{ "goal": "A note.", "facts": { "audience": "administrators", "date": "3 March" }, "maxTurns": 2 }"#;

const ASKED: &str = r#"{"next": "say", "message": "The administrators.", "asked": [{"fact": "audience", "words": "Who will read it?"}]}"#;
const DONE: &str = r#"{"next": "done", "message": "", "asked": []}"#;

pub fn trials() -> Vec<Trial> {
    all_needing_both_agents(tests![
        a_user_answers_what_it_is_asked_and_a_replay_needs_no_player,
        a_user_that_tells_what_nobody_asked_for_is_an_error,
        a_player_that_is_refused_is_an_error_of_the_user,
    ])
}

/// Whether the player of the user asks.
fn plays(request: &Request) -> bool {
    request.prompt.contains("You play a user")
}

fn agent(request: &Request) -> Turn {
    match request.prompt.as_str() {
        "The administrators." => Turn::Say("AHOY administrators".to_owned()),
        _ => Turn::Say("Who will read it?".to_owned()),
    }
}

/// A case whose user `player` plays, with the answers that `says` gives to its prompts.
fn live(player: &str, says: impl Fn(&Request) -> Turn + Send + Sync + 'static) -> Live {
    let live = Live::new(COLUMNS, CELLS, move |request| if plays(request) { says(request) } else { agent(request) });
    let root = live.fixture.root();
    fs::write(root.join("evals/skills/greeting/user.json"), USER).expect("a user");
    fs::write(root.join("evals/evals.toml"), format!("[user]\nagent = \"{player}\"\n")).expect("settings");
    live
}

fn a_user_answers_what_it_is_asked_and_a_replay_needs_no_player() {
    for (mode, player) in [("codex", "codex"), ("cli-native", "claude-cli"), ("native", "chat"), ("chat", "codex")] {
        let live = live(player, |request| {
            let is_over = request.prompt.contains("AHOY administrators");
            Turn::Say(if is_over { DONE } else { ASKED }.to_owned())
        });
        let ran = live.run(&["--mode", mode, "--record"]);
        let trial = live.kept("greeting", "it", mode).unwrap_or_else(|| panic!("{mode}: {}{}", ran.stdout, ran.stderr));
        trial.expect(Verdict::Pass);
        assert_eq!(trial.text("final.txt"), "AHOY administrators", "{mode}");
        assert_eq!(trial.meta.case.follow_ups, ["The administrators."], "{mode}");
        let user = trial.meta.user.clone().expect("a user");
        let told = ToldFact { fact: "audience".into(), message: 2, asked_by: Some("Who will read it?".into()) };
        assert_eq!(
            (user.ending, &user.told[..], user.player.kind.as_str()),
            (Some(UserEnding::Done), &[told][..], player)
        );
        // Two requests each, and neither has the other's tokens.
        let (of_user, of_agent) = (user.usage.expect("tokens"), trial.grade.metrics.usage.expect("tokens"));
        let asked = |plays: bool| live.model.requests().iter().filter(|request| self::plays(request) == plays).count();
        assert_eq!((asked(true), asked(false)), (2, 2), "{mode}");
        assert!(of_user.output_tokens > 0 && of_agent.output_tokens > 0, "{mode}");
        assert!((2_000..3_000).contains(&of_agent.input_tokens), "{mode}: {of_agent:?}");
        let found = &trial.check("user: asked").found;
        assert_eq!(found, "`audience` in message 2, asked by “Who will read it?”; `date` not told", "{mode}");
        assert!(trial.text("session.md").contains("The administrators."), "{mode}");
        let replayed =
            live.program().args(["run", "--replay", "--mode", mode]).current_dir(live.fixture.root()).output();
        let replayed = String::from_utf8(replayed.expect("the program starts").stdout).expect("UTF-8");
        assert!(replayed.contains("1 passed"), "{mode}: {replayed}");
        assert_eq!(live.model.requests().len(), 4, "{mode}: a replay asks no model");
    }
}

fn a_user_that_tells_what_nobody_asked_for_is_an_error() {
    for mode in ["codex", "cli-native"] {
        let live = live("chat", |_| {
            let helps = ASKED.replace("The administrators.", "For administrators, on 3 March.");
            Turn::Say(helps)
        });
        let trial = live.trial(mode);
        trial.expect(Verdict::Error);
        let trouble = trial.grade.trouble.as_ref().expect("a trouble");
        assert_eq!(trouble.kind, TroubleKind::UserFailed, "{mode}: {trouble}");
        assert!(trouble.detail.contains("it tells `date`"), "{mode}: {trouble}");
        // It was asked again once, and nothing of it reached the agent.
        let requests = live.model.requests();
        assert_eq!(requests.iter().filter(|request| plays(request)).count(), 2, "{mode}");
        assert!(requests.iter().any(|request| request.prompt.contains("Your last answer was not sent")), "{mode}");
        assert!(!requests.iter().any(|request| !plays(request) && request.body.to_string().contains("3 March")));
        assert_eq!(trial.check("user").status, Status::Unknown, "{mode}");
    }
}

fn a_player_that_is_refused_is_an_error_of_the_user() {
    for mode in ["codex", "cli-native"] {
        let live = live("chat", |_| Turn::Status(401));
        let trial = live.trial(mode);
        trial.expect(Verdict::Error);
        let trouble = trial.grade.trouble.as_ref().expect("a trouble");
        assert_eq!(trouble.kind, TroubleKind::UserFailed, "{mode}: {trouble}");
        assert!(trouble.detail.starts_with("the user's player: the login was refused"), "{mode}: {trouble}");
    }
}
