//! Grades a trial by its evidence alone. A stored trial is graded again by the same function.

use std::collections::BTreeMap;

use crate::cases::case::Case;
use crate::checks::{CheckAnswer, GradingInput};
use crate::grade::delivered::{DELIVERED, as_mode_says, delivered};
use crate::grade::general::{COMPLETED, EXIT_CODE, FINAL_MESSAGE, IN_TIME, MOCK_INPUT};
use crate::grade::session::{session_trouble, user_session_trouble};
use crate::grade::user;
use crate::grade::verdict::{has_weights, pending, settle};
use crate::skill::{Skill, slug};
use crate::trace::{AgentProgress, excerpt};
use crate::trial::evidence::Evidence;
use crate::trial::evidence::FinalAnswer;
use crate::trial::evidence::{Meta, Reading};
use crate::trial::network::NetworkMeta;
use crate::trial::outcome::{
    CheckResult, GRADE_FORMAT, Goal, Grade, Metrics, Score, Status, Trouble, TroubleKind, Verdict,
};
use crate::trial::span::EventRef;

/// Whether nothing that may follow can change the verdict of a trial whose agent is still running: a check that cannot pass any
/// more has failed, or all checks have passed and cannot fail any more. `has_more` says whether the trial is asked more than the
/// checks of its case. What the general checks ask about the agent's end is not asked of a trial that ends here.
pub fn is_settled(case: &Case, subject: &GradingInput<'_>, has_more: bool) -> bool {
    let GradingInput { skill, evidence, .. } = *subject;
    let trace = evidence.trace;
    // An agent in trouble, or to which the skill was not offered as the mode says, measures nothing. What cannot be read now
    // may be half of a line, or may mean something else once the session file shows more.
    let is_measured = trace.trouble.is_none() && delivered(skill, evidence).0 == Status::Pass;
    // Checks with weights decide together.
    if case.is_scored() || trace.ended() || !is_measured || evidence.gap().is_some() || trace.session_lags {
        return false;
    }
    let mut has_passed = false;
    let mut is_open = has_more || case.max_turns.is_some();
    for check in &case.checks {
        for result in check.evaluate(subject) {
            match result.status {
                status if !check.is_settled_by(status) => is_open = true,
                Status::Fail => return true,
                Status::Pass | Status::Unknown => has_passed = true,
            }
        }
    }
    has_passed && !is_open
}

pub fn grade(case: &Case, subject: &GradingInput<'_>) -> Grade {
    let GradingInput { skill, evidence, .. } = *subject;
    let mut checks = Vec::new();
    // An agent that never started left nothing to check.
    if evidence.meta.ending.trouble.is_none() || evidence.trace.progress > AgentProgress::Silent {
        checks.extend(general(subject).into_iter().map(|check| doubted(check, skill, evidence)));
        checks.extend(user::results(case, evidence.meta));
        checks.extend(case.checks.iter().flat_map(|check| check.evaluate(subject)));
        if has_weights(&case.assertions) {
            checks.extend(pending(&case.assertions, "no judge was asked about it"));
        }
    }
    let (verdict, trouble) = (Verdict::Pass, infrastructure(skill, evidence));
    let grade = settle(Grade {
        format: GRADE_FORMAT,
        verdict,
        trouble,
        checks,
        score: case.is_scored().then(|| Score::new(case.least_score)),
        not_enforced: Vec::new(),
        metrics: metrics(skill, evidence),
        judged: None,
        threshold: None,
        max_trials: None,
        quarantine: None,
        unsupported: case.unsupported.iter().map(|part| part.what.clone()).collect(),
    });
    // A session of the user has one.
    let has_user = case.has_more_messages() || evidence.meta.is_user_session();
    user::noted(with_denied(grade, evidence.meta), evidence.final_text.filter(|_| !has_user))
}

/// `grade` with what the trial's programs did not get, in the first check that failed: it may be why. That is the first call that no
/// mock answered, and the first request that the network refused.
fn with_denied(mut grade: Grade, meta: &Meta) -> Grade {
    let unanswered = grade.metrics.unanswered.first().map(|call| format!("; no mock answered `{call}`"));
    let refused = meta.network.iter().flat_map(NetworkMeta::of_programs).next();
    let refused = refused.map(|request| format!("; the network refused `{}`: {}", request.what(), request.why));
    if grade.verdict == Verdict::Fail
        && let Some(failed) = grade.checks.iter_mut().find(|check| check.status == Status::Fail)
    {
        failed.found.extend(unanswered.into_iter().chain(refused));
    }
    grade
}

/// How many calls without an answer the figures of a trial name.
const NAMED_CALLS: usize = 3;

/// The same check, which is unknown if the agent is not read rightly.
fn doubted(check: CheckResult, skill: &Skill, evidence: &Evidence<'_>) -> CheckResult {
    // Of an agent that does not show its offer, the model was offered what it used.
    let is_shown_by_use =
        || evidence.trace.offered.as_ref().is_some_and(|offered| offered.unseen) && is_activated(skill, evidence);
    let is_offer = check.id == DELIVERED && !(check.status == Status::Pass && is_shown_by_use());
    let reading = match check.id.as_str() {
        _ if is_offer => Reading::Delivered,
        FINAL_MESSAGE => Reading::Answer,
        _ => Reading::End,
    };
    match evidence.meta.doubt(reading) {
        Some(why) => CheckResult { status: Status::Unknown, found: format!("{}; {why}", check.found), ..check },
        None => check,
    }
}

/// Why the trial could not be measured, if so.
fn infrastructure(skill: &Skill, evidence: &Evidence<'_>) -> Option<Trouble> {
    let meta = evidence.meta;
    let not_delivered = || not_delivered(skill, evidence);
    let trouble = if meta.is_user_session() {
        not_delivered().or_else(|| user_session_trouble(evidence.trace))
    } else {
        session_trouble(&meta.ending, evidence.trace, meta.case.timeout_s).or_else(not_delivered)
    };
    let mut trouble = trouble?;
    if trouble.is_refused_for_now() && !meta.refused_before.is_none() {
        trouble.detail = format!("{}; {}", trouble.detail, meta.refused_before);
    }
    Some(trouble)
}

fn not_delivered(skill: &Skill, evidence: &Evidence<'_>) -> Option<Trouble> {
    match delivered(skill, evidence) {
        (Status::Fail, found) => Some(Trouble::new(TroubleKind::NotDelivered, found)),
        (Status::Unknown, found) if !evidence.is_offer_unseen() => Some(Trouble::new(TroubleKind::Unobservable, found)),
        (Status::Pass | Status::Unknown, _) => None,
    }
}

fn is_activated(skill: &Skill, evidence: &Evidence<'_>) -> bool {
    evidence.trace.activations.iter().any(|activation| slug(&activation.skill) == skill.slug)
}

fn metrics(skill: &Skill, evidence: &Evidence<'_>) -> Metrics {
    let trace = evidence.trace;
    // A number is a measurement, or it is not there.
    let is_counted = evidence.meta.doubt(Reading::Tokens).is_none();
    Metrics {
        duration_ms: evidence.meta.ending.duration_ms,
        commands: trace.commands,
        effective_commands: trace.effective_commands,
        usage: trace.usage.filter(|_| is_counted),
        models: if is_counted { trace.models.clone() } else { BTreeMap::new() },
        usage_at_least: Some(trace.usage_of_requests)
            .filter(|usage| is_counted && trace.usage.is_none() && usage.total_tokens() > 0),
        settled: evidence.meta.ending.settled,
        first_input_tokens: trace.first_input_tokens,
        turns: trace.turns,
        agent_duration_ms: trace.agent_duration_ms,
        api_duration_ms: trace.api_duration_ms,
        described: evidence.described(&skill.slug),
        activations: trace.activations.clone(),
        resources: trace.resources.clone(),
        inspections: trace.inspections.clone(),
        denials: trace.denials.clone(),
        unanswered: evidence.meta.mocks.as_ref().map_or_else(Vec::new, |record| {
            record.unanswered().into_iter().take(NAMED_CALLS).map(|(call, _)| excerpt(&call)).collect()
        }),
        unknown_events: trace.unknown_events.values().sum(),
        damaged_lines: trace.damaged_lines,
    }
}

fn general(subject: &GradingInput<'_>) -> Vec<CheckResult> {
    let evidence = subject.evidence;
    let (ending, trace) = (&evidence.meta.ending, evidence.trace);
    let of_user = evidence.meta.is_user_session();
    let mut checks = Vec::new();
    // A session has no time limit. If its case has one, nobody knows whether it was kept.
    if !of_user || evidence.meta.case.timeout_s > 0 {
        checks.push(result(IN_TIME, Goal::Efficiency, in_time(evidence).at(EventRef::End)));
    }
    checks.extend(
        completed(evidence)
            .filter(|_| !ending.settled)
            .map(|answer| result(COMPLETED, Goal::Outcome, answer.at(EventRef::End))),
    );
    // If we ended the agent, or its model stopped, the exit status says no more than that.
    if !of_user && !ending.timed_out && !ending.settled && trace.stopped.is_none() {
        let expected = "exit status 0";
        let answer = match ending.exit_code {
            Some(code) => CheckAnswer::holds(code == 0, expected, format!("exit status {code}")),
            None => CheckAnswer::new(Status::Unknown, expected, "no exit status"),
        };
        checks.push(result(EXIT_CODE, Goal::Outcome, answer.at(EventRef::End)));
    }
    if !evidence.is_offer_unseen() {
        let (status, found) = delivered(subject.skill, evidence);
        let expected = as_mode_says(subject.skill, evidence.meta);
        let answer = CheckAnswer::new(status, expected, found);
        checks.push(result(DELIVERED, Goal::Process, answer.at(EventRef::Offered)));
    }
    if ending.settled {
        return checks;
    }
    let mut calls = evidence.meta.mocks.iter().flat_map(|record| &record.calls);
    if let Some((name, why)) = calls.find_map(|call| Some((&call.name, call.violated.as_ref()?))) {
        let answer = CheckAnswer::holds(false, "calls as the mocks expect them", format!("{name}: {why}"));
        checks.push(result(MOCK_INPUT, Goal::Process, answer));
    }
    let (status, found) = match evidence.answer() {
        FinalAnswer::Text(text) => (Status::Pass, excerpt(text)),
        FinalAnswer::None => (subject.missing(), "none".to_owned()),
        FinalAnswer::Unread(why) => (Status::Unknown, why),
    };
    let answer = CheckAnswer::new(status, "a final message", found);
    checks.push(result(FINAL_MESSAGE, Goal::Outcome, answer.at(subject.final_event())));
    checks
}

fn result(id: &str, goal: Goal, answer: CheckAnswer) -> CheckResult {
    let CheckAnswer { status, expected, found, spans, .. } = answer;
    CheckResult { spans, ..CheckResult::new(id, goal, status, expected, found) }
}

fn in_time(evidence: &Evidence<'_>) -> CheckAnswer {
    let ending = &evidence.meta.ending;
    let expected = format!("done within {} s", evidence.meta.case.timeout_s);
    if evidence.meta.is_user_session() {
        return CheckAnswer::new(Status::Unknown, expected, "a session does not show how long it took");
    }
    let took = ending.took();
    // If the agent was done, and its program was ended before the timeout because it did not exit, it was in time.
    let is_early = ending.counted_ms() < evidence.meta.case.timeout_s.saturating_mul(1_000);
    let is_done = evidence.trace.progress == AgentProgress::Done && !ending.went_on();
    let holds = !ending.timed_out || (is_early && is_done);
    let found = match (ending.timed_out, holds) {
        (false, _) => took,
        (true, true) => format!("done, but the program did not exit and was ended after {took}"),
        (true, false) => {
            let unknown =
                if ending.cpu_wait_ms.is_none() { "; whether it waited for a CPU is not known here" } else { "" };
            format!("ended by the timeout after {took}; `timeout_s` sets it{unknown}")
        }
    };
    CheckAnswer::holds(holds, expected, found)
}

/// Whether the model finished; `None` if nothing says so.
fn completed(evidence: &Evidence<'_>) -> Option<CheckAnswer> {
    let within = evidence.meta.case.max_turns.map_or_else(String::new, |most| match most {
        1 => " within a turn".to_owned(),
        most => format!(" within {most} turns"),
    });
    let expected = format!("the model finishes{within}");
    match evidence.trace.stopped {
        None if evidence.meta.is_user_session() && evidence.meta.case.max_turns.is_some() => {
            Some(CheckAnswer::new(Status::Unknown, expected, "a session does not show its turns"))
        }
        Some(stop) => Some(CheckAnswer::holds(false, expected, stop.as_str())),
        None => (evidence.trace.progress == AgentProgress::Done).then(|| CheckAnswer::holds(true, expected, "it did")),
    }
}
