//! What was offered to the model, and sessions that cannot be measured.

use serde_json::{Value, json};
use skill_evals_cases::checks;
use skill_evals_cases::checks::grading_input::NoContents;
use skill_evals_cases::checks::grading_input::ProgramRuns;
use skill_evals_cases::checks::{GradingInput, PrintedOnce};
use skill_evals_cases::grade::checks::is_settled;
use skill_evals_evidence::settings::mode::{AgentKind, Delivery};
use skill_evals_evidence::settings::{ActivationRule, Prices};
use skill_evals_evidence::trace::trouble::Trouble;
use skill_evals_evidence::trace::{AgentProgress, Mechanism, StopReason};
use skill_evals_evidence::trial::evidence::{Evidence, RefusedAttempts};
use skill_evals_evidence::trial::outcome::{Status, TroubleKind, Verdict};
use skill_evals_evidence::trial::span::EventRef;

use crate::grade::{Trial, tell, trial};
use skill_evals_testing::made::skill;

const PASS: Status = Status::Pass;
const FAIL: Status = Status::Fail;
const UNKNOWN: Status = Status::Unknown;

/// A trial in which the agent offered this, as JSON.
fn offered(delivery: Delivery, offer: Value) -> Trial {
    trial(Vec::new()).with(|trial| {
        trial.meta.delivery = delivery;
        trial.trace.activations.clear();
        trial.trace.offered = Some(serde_json::from_value(offer).expect("an offer"));
    })
}

#[test]
fn the_expected_offer_is_said_for_each_way_of_delivery() {
    for (delivery, expected) in [
        (Delivery::Native, "`greeting` offered natively, and not by MCP"),
        (Delivery::Mcp, "`greeting` offered by MCP, and not natively"),
        (Delivery::Both, "`greeting` offered natively and by MCP"),
        (Delivery::None, "`greeting` not offered"),
    ] {
        let result = offered(delivery, json!({ "native": [], "mcp": null })).result("delivered");
        assert_eq!(result.expected, expected);
        assert_eq!(result.status, if delivery == Delivery::None { PASS } else { FAIL }, "{delivery:?}");
        assert_eq!(result.found, "offered: no skills");
    }
}

#[test]
fn a_skill_that_only_users_can_call_is_offered_if_the_prompt_called_it() {
    let rows = [
        (&["greeting"][..], &[][..], false, None, PASS, "offered: greeting"),
        (&["other"], &["greeting"], true, None, FAIL, "offered: other; only users can call it"),
        (&["other"], &["other"], false, None, FAIL, "offered: other"),
        (&["other"], &[], false, Some(("greeting", Mechanism::SkillTool)), PASS, "offered: other"),
        (&[], &["other"], true, None, FAIL, "offered: no skills"),
        (&[], &[], false, Some(("greeting", Mechanism::Injected)), PASS, "offered: no skills; only users can call it"),
        (&[], &[], false, Some(("other", Mechanism::Injected)), FAIL, "offered: no skills"),
        (&[], &[], false, Some(("greeting", Mechanism::ReadSkillFile)), FAIL, "offered: no skills"),
    ];
    for (native, by_user, user_only, activated, status, found) in rows {
        let trial = offered(Delivery::Native, json!({ "native": native, "by_user": by_user, "mcp": null }));
        let trial = trial.with(|trial| {
            trial.user_only = user_only;
            if let Some((skill, how)) = activated {
                tell(&mut trial.trace, |told| told.activate(skill, how, "the prompt"));
            }
        });
        let result = trial.result("delivered");
        assert_eq!((result.status, result.found.as_str()), (status, found), "{native:?} {by_user:?} {activated:?}");
    }
}

#[test]
fn what_only_the_agents_own_list_has_may_not_have_been_shown_to_its_model() {
    for (delivery, native, activated, status) in [
        (Delivery::Native, "greeting", false, UNKNOWN),
        (Delivery::Native, "greeting", true, PASS),
        (Delivery::Native, "other", false, FAIL),
        (Delivery::None, "greeting", false, UNKNOWN),
        (Delivery::None, "other", false, PASS),
    ] {
        let offer = json!({ "native": [native], "unseen": true, "mcp": null });
        let trial = offered(delivery, offer).with(|trial| {
            trial.meta.agent.kind = AgentKind::ClaudeCli;
            if activated {
                tell(&mut trial.trace, |told| told.activate("greeting", Mechanism::SkillTool, "a call"));
            }
        });
        let result = trial.result("delivered");
        assert_eq!(result.status, status, "{delivery:?} {native} {activated}");
        assert_eq!(result.found, format!("it has: {native}; nothing shows what its model was offered"));
    }
}

#[test]
fn a_skill_of_a_plugin_that_is_described_alike_is_offered() {
    let offer =
        |own: Value| offered(Delivery::Native, json!({ "native": ["house:greeting"], "by_plugin": own, "mcp": null }));
    assert_eq!(offer(json!({ "house:greeting": "greeting" })).status("delivered"), PASS);
    assert_eq!(offer(json!({})).status("delivered"), FAIL);
}

/// The MCP server as it answered before the agent was started.
fn server(always_load: bool, tools: &[&str], tells_of_skill: bool) -> Value {
    json!({
        "server": "skilljack", "skill": "skill", "resource": "skill-resource",
        "tools": tools, "tells_of_skill": tells_of_skill, "always_load": always_load,
    })
}

#[test]
fn by_mcp_a_skill_is_offered_if_its_server_is_there_has_the_skill_tool_and_names_the_skill() {
    const TOOL: &str = "mcp__skilljack__skill";
    let eager = || server(true, &["skill"], true);
    let lazy = || server(false, &["skill"], true);
    let silent = || server(true, &["skill"], false);
    for (name, state, tools, probed, status) in [
        ("skilljack", "connected", &[TOOL][..], eager(), PASS),
        ("skilljack", "connected", &["mcp__a__b", TOOL], eager(), PASS),
        ("skilljack", "connected", &["mcp__a__b"], eager(), FAIL),
        ("skilljack", "connected", &[], eager(), FAIL),
        ("skilljack", "failed", &[TOOL], eager(), FAIL),
        ("other", "connected", &[TOOL], eager(), FAIL),
        // Only a server that need not be loaded at once may be pending.
        ("skilljack", "pending", &[TOOL], eager(), FAIL),
        ("skilljack", "pending", &[], lazy(), PASS),
        ("skilljack", "failed", &[], lazy(), FAIL),
        ("skilljack", "pending", &[TOOL], server(false, &["other"], true), FAIL),
        ("skilljack", "connected", &[TOOL], silent(), FAIL),
        ("skilljack", "failed", &[], silent(), FAIL),
    ] {
        let is_silent = state == "connected" && probed == silent();
        let offer = json!({ "native": [], "mcp": { "servers": [[name, state]], "tools": tools } });
        let trial = offered(Delivery::Mcp, offer).with_fact("server", probed);
        let result = trial.with(|trial| trial.meta.agent.kind = AgentKind::ClaudeCli).result("delivered");
        let mut found = format!("offered: no skills; MCP server {name}: {state}");
        if !tools.is_empty() {
            found.extend(["; MCP tools: ", &tools.join(", ")]);
        }
        if is_silent {
            found.push_str("; the MCP server names the skill nowhere in its instructions and tools");
        }
        assert_eq!((result.status, result.found), (status, found), "{name} {state} {tools:?}");
    }
}

#[test]
fn a_server_of_which_an_agent_reports_nothing_is_known_by_its_answer_before() {
    for (tools, status, found) in [
        (&["skill"], PASS, "offered: no skills; MCP server skilljack, required: skill"),
        (&["other"], FAIL, "offered: no skills; MCP server skilljack, required: other"),
    ] {
        let trial = offered(Delivery::Mcp, json!({ "native": [], "mcp": null }));
        let result = trial.with_fact("server", server(true, tools, true)).result("delivered");
        assert_eq!((result.status, result.found.as_str()), (status, found));
    }
    // What the prompt put into the context is not an offer of the agent's own in a mode with a server.
    let injected = offered(Delivery::Mcp, json!({ "native": [], "mcp": null }))
        .with_fact("server", server(true, &["skill"], true))
        .with(|trial| tell(&mut trial.trace, |told| told.activate("greeting", Mechanism::Injected, "the prompt")));
    assert_eq!(injected.status("delivered"), PASS);
}

#[test]
fn a_prompt_that_calls_the_skill_is_measured_whether_the_skill_was_loaded_or_not() {
    let forced = |activated: Option<&str>| {
        trial(Vec::new()).with(|trial| {
            trial.meta.case.forced = true;
            trial.trace.activations.clear();
            if let Some(skill) = activated {
                tell(&mut trial.trace, |told| told.activate(skill, Mechanism::ReadSkillFile, "cat"));
            }
        })
    };
    assert_eq!(forced(Some("greeting")).verdict(), Verdict::Pass);
    for activated in [None, Some("other")] {
        assert_eq!(forced(activated).verdict(), Verdict::Pass, "{activated:?}");
    }
}

#[test]
fn a_provider_that_refused_says_how_often_it_did_before() {
    let detail = |kind, attempts| {
        let trial = trial(Vec::new()).with(|trial| {
            trial.trace.trouble = Some(Trouble::new(kind, "429"));
            trial.meta.refused_before = RefusedAttempts { attempts, waited_ms: 1_500 };
        });
        trial.grade().trouble.expect("trouble").detail
    };
    assert_eq!(detail(TroubleKind::RateLimit, 2), "429; refused by the provider 2 times before, 1.5 s waited");
    assert_eq!(detail(TroubleKind::RateLimit, 0), "429");
    assert_eq!(detail(TroubleKind::Provider, 2), "429");
}

/// A trial that another runner ran.
fn imported(runner: &str) -> Trial {
    trial(Vec::new()).with_fact("imported", json!({ "runner": runner, "folder": "runs/1" }))
}

#[test]
fn what_another_runner_offered_is_not_asked_if_it_stored_no_session() {
    let unseen = imported("skillgrade").with(|trial| trial.trace.offered = None);
    assert_eq!((unseen.verdict(), unseen.trouble()), (Verdict::Pass, None));
    assert!(unseen.grade().checks.iter().all(|check| check.id != "delivered"));
    let own = trial(Vec::new()).with(|trial| trial.trace.offered = None);
    assert_eq!(own.trouble(), Some(TroubleKind::Unobservable));
}

#[test]
fn a_session_of_the_user_is_asked_neither_its_exit_status_nor_what_it_does_not_show() {
    let ids = |trial: &Trial| trial.grade().checks.into_iter().map(|check| check.id).collect::<Vec<_>>();
    let session = |timeout_s, max_turns| {
        imported("the user").with(|trial| {
            (trial.meta.case.timeout_s, trial.meta.case.max_turns) = (timeout_s, max_turns);
        })
    };
    assert_eq!(ids(&session(0, None)), ["completed", "delivered", "final-message"]);
    assert_eq!(ids(&session(60, None)), ["in-time", "completed", "delivered", "final-message"]);
    let own = trial(Vec::new());
    assert_eq!(ids(&own), ["in-time", "completed", "exit-code", "delivered", "final-message"]);
    let endless = own.with(|trial| trial.meta.case.timeout_s = 0);
    assert_eq!(ids(&endless), ["in-time", "completed", "exit-code", "delivered", "final-message"]);
    for (timeout_s, max_turns, id, status, found) in [
        (60, None, "in-time", UNKNOWN, "a session does not show how long it took"),
        (0, None, "completed", PASS, "it did"),
        (0, Some(3), "completed", UNKNOWN, "a session does not show its turns"),
    ] {
        let result = session(timeout_s, max_turns).result(id);
        assert_eq!((result.status, result.found.as_str()), (status, found));
    }
    let own = trial(Vec::new()).with(|trial| trial.meta.case.max_turns = Some(3)).result("completed");
    assert_eq!((own.status, own.found.as_str()), (PASS, "it did"));
}

#[test]
fn a_session_of_the_user_is_graded_if_it_shows_its_end_or_a_failure() {
    let session = |progress, stopped, checks| {
        imported("the user").with(|trial| {
            (trial.trace.progress, trial.trace.stopped, trial.meta.case.timeout_s) = (progress, stopped, 0);
            trial.case.checks = checks;
        })
    };
    let done = session(AgentProgress::Done, None, Vec::new());
    assert_eq!((done.verdict(), done.trouble()), (Verdict::Pass, None));
    let stopped = session(AgentProgress::Answering, Some(StopReason::Refusal), Vec::new());
    assert_eq!((stopped.verdict(), stopped.trouble()), (Verdict::Fail, None));
    let open = session(AgentProgress::Answering, None, Vec::new()).grade().trouble.expect("trouble");
    let detail = "the session does not show that the model finished";
    assert_eq!((open.kind, open.detail.as_str()), (TroubleKind::Unobservable, detail));
    // It was activated, whatever else there was.
    let failed = session(AgentProgress::Answering, None, vec![checks::triggers(false)]);
    assert_eq!((failed.verdict(), failed.trouble()), (Verdict::Fail, None));
}

#[test]
fn an_agent_that_exits_well_before_its_events_end_crashed() {
    let cut = trial(Vec::new()).with(|trial| trial.trace.progress = AgentProgress::Answering);
    let trouble = cut.grade().trouble.expect("trouble");
    let detail = "exit status 0, but the event stream stops before its end";
    assert_eq!((trouble.kind, trouble.detail.as_str()), (TroubleKind::Crashed, detail));
}

#[test]
fn an_agent_that_used_no_tokens_has_no_lower_bound_of_them() {
    let silent = trial(Vec::new()).with(|trial| trial.trace.usage = None);
    assert_eq!(silent.grade().metrics.usage_at_least, None);
}

#[test]
fn a_check_of_every_trial_points_to_the_event_that_decided_it() {
    let checks = trial(Vec::new()).grade().checks;
    let events: Vec<_> = checks.iter().map(|check| (check.id.as_str(), check.spans[0].event)).collect();
    let end = EventRef::End;
    let expected = [
        ("in-time", end),
        ("completed", end),
        ("exit-code", end),
        ("delivered", EventRef::Offered),
        ("final-message", EventRef::Answer),
    ];
    assert_eq!(events, expected);
}

#[test]
fn a_trial_that_is_asked_more_than_its_checks_is_not_settled_by_them() {
    let running = trial(vec![checks::triggers(true)]).with(|trial| trial.trace.progress = AgentProgress::Answering);
    let is_settled = |max_turns, has_more| {
        let evidence = Evidence { meta: &running.meta, trace: &running.trace, final_text: None };
        let (contents, prices, programs) = (&NoContents, &Prices::default(), &ProgramRuns::new());
        let (activation, evidence, skill) = (ActivationRule::default(), &evidence, &skill("greeting"));
        let subject = GradingInput {
            skill,
            schema: None,
            activation,
            evidence,
            programs,
            contents,
            prices,
            printed: &PrintedOnce::default(),
        };
        let mut case = running.case.clone();
        case.max_turns = max_turns;
        is_settled(&case, &subject, has_more)
    };
    assert!(is_settled(None, false));
    assert!(!is_settled(Some(3), false), "its turns are counted at its end");
    assert!(!is_settled(None, true));
}
