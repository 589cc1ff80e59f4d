use serde_json::json;

use super::*;
use crate::trace::{Moment, OfferedSkills, Step, Trace, TraceBuilder, Usage};
use crate::trial::evidence::Meta;
use crate::trial::outcome::{CheckResult, Goal, Metrics, Status, Verdict};
use crate::trial::span::{EventRef, Span};

const ANSWER: &str = "Ahoy, Ada!\nahoy";

fn meta() -> Meta {
    serde_json::from_value(json!({
        "format": 1, "run_id": "r", "skill": { "name": "greeting", "slug": "greeting" },
        "case": { "id": "c", "prompt": "Welcome Ada.", "sandbox": "workspace-write", "timeout_s": 60 },
        "mode": "codex", "trial": 1, "agent": { "kind": "codex" }, "delivery": "native",
        "started": "2026-01-01T00:00:00Z", "ending": { "exit_code": 0, "duration_ms": 9_000 }, "inputs": {}, "files": [],
    }))
    .expect("facts")
}

fn check(id: &str, evidence: &str, spans: Vec<Span>) -> CheckResult {
    let result = CheckResult::new(id, Goal::Outcome, Status::Fail, String::new(), evidence.to_owned());
    CheckResult { custom: id == "own", spans, ..result }
}

fn at(second: u32, depth: u32) -> Moment {
    Moment { began: None, ended: Some(format!("2026-01-01T00:00:{second:02}Z")), depth, ..Moment::default() }
}

/// The skill is read, two commands follow, a sub-agent speaks in between, and an answer ends it.
fn trace() -> Trace {
    let offered = OfferedSkills { native: vec!["greeting".into()], ..OfferedSkills::default() };
    let mut trace = TraceBuilder::default();
    trace.offered = Some(offered);
    trace.now = at(2, 0);
    trace.activate("greeting", Mechanism::ReadSkillFile, "cat skills/greeting/SKILL.md");
    trace.answered(0, Usage { input_tokens: 700, output_tokens: 12, ..Usage::default() });
    trace.command("cat skills/greeting/SKILL.md".into(), Some(0), "# Greeting".into());
    trace.now = Moment { began: Some("2026-01-01T00:00:03Z".into()), ..at(4, 0) };
    trace.command("rm -rf build".into(), Some(0), String::new());
    trace.now = at(8, 0);
    trace.command("touch out/a.txt".into(), Some(1), String::new());
    trace.push(Step::Message(ANSWER.into()));
    trace.now = at(6, 1);
    trace.push(Step::Message("(sub-agent) done".into()));
    trace.finish()
}

fn timeline(trace: &Trace, final_text: &str, checks: Vec<CheckResult>) -> Timeline {
    let (verdict, metrics) = (Verdict::Fail, Metrics::default());
    let grade = Grade {
        format: 1,
        verdict,
        trouble: None,
        checks,
        score: None,
        not_enforced: Vec::new(),
        metrics,
        judged: None,
        threshold: None,
        max_trials: None,
        quarantine: None,
        unsupported: Vec::new(),
    };
    Timeline::new(&Evidence { meta: &meta(), trace, final_text: Some(final_text) }, &grade)
}

/// The event that a check looks at, and the texts that it marks.
fn marked(check: CheckResult) -> (Option<usize>, Vec<String>) {
    let timeline = timeline(&trace(), ANSWER, vec![check]);
    let finding = &timeline.findings[0];
    let marked =
        finding.pieces.iter().map(|piece| timeline.text_of(piece).expect("a text")[piece.bytes.clone()].to_owned());
    (finding.entry, marked.collect())
}

#[test]
fn what_sub_agents_did_comes_where_it_happened_with_times_tokens_and_marks() {
    let entries = timeline(&trace(), ANSWER, Vec::new()).entries;
    let kinds: Vec<String> = entries
        .iter()
        .map(|entry| serde_json::to_value(entry).expect("JSON")["kind"].as_str().unwrap_or_default().to_owned())
        .collect();
    assert_eq!(kinds, ["prompt", "offered", "command", "command", "said", "command", "said", "end"]);
    assert_eq!((entries[4].depth, entries[4].what.texts()[0].1), (1, "done"), "the mark of a sub-agent is its depth");
    assert_eq!((entries[3].took_ms, entries[3].gap_ms, entries[5].gap_ms), (Some(1_000), Some(1_000), Some(2_000)));
    assert_eq!(entries[2].tokens, Some(AnswerTokens { read: 700, written: Some(12) }));
    assert!(matches!(&entries[2].marks[..], [Note::Loaded { under_test: true, .. }]), "{:?}", entries[2].marks);
    assert!(matches!(entries[6].what, EventKind::Said { answer: true, .. }));
}

#[test]
fn a_check_leads_to_the_events_that_decided_it_wherever_these_come_in_the_session() {
    // The sub-agent's step is the last of the trace and comes before the second command.
    let trace = trace();
    let call = |at| Span::of_call(&trace.steps, at);
    let commands = check("max-commands", "", vec![call(2), call(1)]);
    assert_eq!(marked(commands), (Some(5), vec!["rm -rf build".to_owned(), "touch out/a.txt".to_owned()]));
    assert_eq!(marked(check("delivered", "", vec![EventRef::Offered.into()])), (Some(1), vec![]));
    let answer = |bytes| Span::of_text(EventRef::Answer, EventPart::Text, bytes);
    let hits = marked(check("must-not-include", "", vec![answer(0..4), answer(11..15)]));
    assert_eq!(hits, (Some(6), vec!["Ahoy".to_owned(), "ahoy".to_owned()]));
    assert_eq!(marked(check("in-time", "", vec![EventRef::End.into()])), (Some(7), vec![]));
}

#[test]
fn a_check_without_events_leads_to_what_it_quotes() {
    let own = check("own", "it ran `rm -rf` once", Vec::new());
    assert_eq!(marked(own), (Some(3), vec!["rm -rf".to_owned()]));
    assert_eq!(marked(check("own", "nothing to quote", Vec::new())), (Some(6), vec![]));
}

#[test]
fn an_answer_that_the_trace_cut_is_whole_and_one_that_it_lacks_is_added() {
    let mut trace = TraceBuilder::default();
    let long = "é".repeat(5_000);
    trace.push(Step::Message(long.clone()));
    let trace = trace.finish();
    for (said, entries) in [(long.as_str(), 3), ("else", 4)] {
        let timeline = timeline(&trace, said, Vec::new());
        let answer = EventKind::Said { text: said.to_owned(), answer: true };
        let answers = timeline.entries.iter().filter(|event| event.what == answer).count();
        assert_eq!((timeline.entries.len(), answers), (entries, 1));
    }
}
