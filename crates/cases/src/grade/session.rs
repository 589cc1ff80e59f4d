//! Why a session of a trial or of a judge could not be measured.

use crate::trace::trouble::{Trouble, TroubleKind};
use crate::trace::{AgentProgress, Trace, WaitingFor};
use crate::trial::evidence::Ending;

/// The signal for a file that is too large, on Linux and macOS.
const SIGXFSZ: i32 = 25;

/// After this many answers a model counts as working, not as stuck.
const WORKING: u64 = 3;

/// Why an agent with a timeout of `timeout_s` seconds did not work, or did not finish. `None` if it worked until its
/// timeout, if its model stopped early by itself, or if it was done and only did not exit.
pub fn session_trouble(ending: &Ending, trace: &Trace, timeout_s: u64) -> Option<Trouble> {
    // A trial that is settled had no trouble until then. What its agent reports while it is ended is not trouble.
    if ending.settled {
        return ending.trouble.clone();
    }
    if let Some(trouble) = ending.trouble.as_ref().or(trace.trouble.as_ref()) {
        // A provider that has answered was reached.
        let is_lost = trouble.kind == TroubleKind::Unreachable && trace.progress >= AgentProgress::Answering;
        let kind = if is_lost { TroubleKind::Provider } else { trouble.kind };
        return Some(Trouble { kind, ..trouble.clone() });
    }
    if trace.stopped.is_some() {
        return None;
    }
    if ending.timed_out {
        return no_answer(ending, trace, timeout_s);
    }
    if ending.exit_code != Some(0) {
        let how = match (ending.exit_code, ending.signal) {
            (Some(code), _) => format!("exit status {code}"),
            (None, Some(SIGXFSZ)) => format!("signal {SIGXFSZ}: it wrote a larger file than `ulimit -f` allows"),
            (None, Some(signal)) => format!("signal {signal}"),
            (None, None) => "no exit status".to_owned(),
        };
        let words = ending.last_words.as_ref().map_or_else(String::new, |words| format!(": {words}"));
        return Some(Trouble::new(TroubleKind::Crashed, format!("{how}{words}")));
    }
    if trace.progress < AgentProgress::Done {
        let is_empty =
            trace.progress == AgentProgress::Silent && trace.gap().is_none() && trace.unknown_events.is_empty();
        if is_empty {
            let detail = "exit status 0, and it printed nothing; expected its events as lines of JSON";
            return Some(Trouble::new(TroubleKind::Crashed, detail));
        }
        // The agent or its output was cut short.
        let gap = trace.gap().map_or_else(String::new, |gap| format!("; {gap}"));
        let detail = format!("exit status 0, but the event stream stops before its end{gap}");
        return Some(Trouble::new(TroubleKind::Crashed, detail));
    }
    None
}

/// Why a session of the user cannot be graded: it does not show that its last turn ended.
pub fn user_session_trouble(trace: &Trace) -> Option<Trouble> {
    let is_over = trace.stopped.is_some() || trace.progress >= AgentProgress::Done;
    let unfinished = || Trouble::new(TroubleKind::Unobservable, "the session does not show that the model finished");
    trace.trouble.clone().or_else(|| (!is_over).then(unfinished))
}

/// The trouble that an agent was waiting for its model at its timeout. If a tool takes too long, or the model answers again
/// and again, that is the agent's own doing.
fn no_answer(ending: &Ending, trace: &Trace, timeout_s: u64) -> Option<Trouble> {
    if trace.progress < AgentProgress::Answering {
        return Some(Trouble::new(
            TroubleKind::NoAnswer,
            format!("no word from the model within {timeout_s} s (`timeout_s`)"),
        ));
    }
    let over = trace.progress == AgentProgress::Done && trace.waiting == WaitingFor::Nothing;
    let went_on = ending.went_on() && !trace.interrupted;
    if over || went_on || matches!(trace.waiting, WaitingFor::Tool(_)) {
        return None;
    }
    // The model is working if it has answered after a silence as long as this one.
    let longest = ending.longest_silence_ms.unwrap_or(0).max(1_000);
    let silent_ms = ending.silent_ms.filter(|_| !ending.went_on());
    let at_work = trace.answers >= WORKING && silent_ms.is_some_and(|silent| silent <= longest);
    let silent = silent_ms.map_or_else(String::new, |silent| {
        format!(" for the last {:.1} s", std::time::Duration::from_millis(silent).as_secs_f64())
    });
    let detail = format!(
        "the model answered at first and was then waited for{silent}, until {timeout_s} s were over (`timeout_s`)"
    );
    (!at_work).then(|| Trouble::new(TroubleKind::NoAnswer, detail))
}
