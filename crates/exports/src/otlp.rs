//! OpenTelemetry spans by the conventions for generative AI, in one OTLP JSON file: a trace for each trial, with a span for
//! the agent and one for each command or call of a tool.

use std::time::Duration;

use serde_json::{Value, json};

use crate::report::export::{Export, ExportKind};
use crate::report::export::{ExportPart, ExportedTrial, TrialWriter};
use crate::results::timeline::{EventKind, TimelineEvent};
use crate::settings::mode::AgentKind;
use crate::trial::evidence::digest;

pub static EXPORT: Export = Export {
    name: "otlp",
    about: "OpenTelemetry GenAI spans, as one OTLP JSON file",
    kind: ExportKind::Trials(|_| Box::new(OtlpSpans { is_first: true })),
};

// Numbers of the protocol.
const INTERNAL: u8 = 1;
const OK: u8 = 1;
const FAILED: u8 = 2;

struct OtlpSpans {
    is_first: bool,
}

impl TrialWriter for OtlpSpans {
    fn trial(&mut self, trial: &ExportedTrial<'_>) -> Vec<ExportPart> {
        let before = if std::mem::replace(&mut self.is_first, false) { "{ \"resourceSpans\": [\n" } else { ",\n" };
        vec![ExportPart::next_json(&format!("{before}{:#}", spans(trial)))]
    }

    fn end(&mut self) -> Vec<ExportPart> {
        let begin = if self.is_first { "{ \"resourceSpans\": [" } else { "" };
        vec![ExportPart::next_json(&format!("{begin}\n] }}\n"))]
    }
}

fn spans(trial: &ExportedTrial<'_>) -> Value {
    let (meta, name) = (trial.evidence.meta, trial.name());
    let trace_id = digest(format!("{} {name}", meta.run_id).as_bytes());
    let span_id = |number: usize| digest(format!("{trace_id} {number}").as_bytes())[..16].to_owned();
    let root = span_id(0);
    let began = nanoseconds(&meta.started).unwrap_or_default();
    let ended = began + Duration::from_millis(trial.record.duration_ms).as_nanos();
    let mut spans = vec![agent_span(trial, &trace_id, &root, began, ended)];
    let mut last = began;
    for (number, event) in trial.timeline.entries.iter().enumerate() {
        // A call without a time is where the event before it ended.
        last = event.time.as_deref().and_then(nanoseconds).unwrap_or(last);
        let Some((tool, attributes, failed)) = call(event) else { continue };
        let duration = Duration::from_millis(event.took_ms.unwrap_or_default()).as_nanos();
        spans.push(json!({
            "traceId": trace_id,
            "spanId": span_id(number + 1),
            "parentSpanId": root,
            "name": format!("execute_tool {tool}"),
            "kind": INTERNAL,
            "startTimeUnixNano": last.saturating_sub(duration).to_string(),
            "endTimeUnixNano": last.to_string(),
            "attributes": attributes,
            "status": if failed { json!({ "code": FAILED }) } else { json!({}) },
        }));
    }
    json!({
        "resource": { "attributes": attributes(vec![
            ("service.name", Some("skill-evals".into())),
            ("service.version", Some(env!("CARGO_PKG_VERSION").into())),
            ("test.suite.name", Some(trial.record.id.skill.as_str().into())),
            ("skill_evals.run", Some(meta.run_id.as_str().into())),
        ]) },
        "scopeSpans": [{ "scope": { "name": "skill-evals" }, "spans": spans }],
    })
}

fn agent_span(trial: &ExportedTrial<'_>, trace_id: &str, span_id: &str, began: u128, ended: u128) -> Value {
    let (meta, record) = (trial.evidence.meta, trial.record);
    let usage = trial.usage();
    let agent = meta.agent.kind.as_str();
    let message = |role: &str, text: &str| {
        Value::from(json!([{ "role": role, "parts": [{ "type": "text", "content": text }] }]).to_string())
    };
    let is_error = trial.passed().is_none();
    let kind = trial.grade.trouble.as_ref().map_or(trial.grade.verdict.as_str(), |trouble| trouble.kind.as_str());
    let known = attributes(vec![
        ("gen_ai.operation.name", Some("invoke_agent".into())),
        ("gen_ai.provider.name", Some(provider(meta.agent.kind, record.scripted.is_some()).into())),
        ("gen_ai.agent.name", Some(agent.into())),
        ("gen_ai.agent.version", meta.agent.version.clone().map(Value::from)),
        ("gen_ai.request.model", meta.agent.requested.clone().or(meta.agent.model.clone()).map(Value::from)),
        ("gen_ai.response.model", meta.agent.model.clone().map(Value::from)),
        ("gen_ai.usage.input_tokens", usage.map(|usage| usage.input_tokens.into())),
        ("gen_ai.usage.output_tokens", usage.map(|usage| usage.output_tokens.into())),
        ("gen_ai.usage.cache_read.input_tokens", usage.map(|usage| usage.cached_input_tokens.into())),
        ("gen_ai.input.messages", Some(message("user", &meta.case.prompt))),
        ("gen_ai.output.messages", trial.evidence.final_text.map(|text| message("assistant", text))),
        ("test.case.name", Some(trial.name().into())),
        // The convention knows `pass` and `fail` only.
        ("test.case.result.status", trial.passed().map(|passed| if passed { "pass" } else { "fail" }.into())),
        ("skill_evals.verdict", Some(trial.grade.verdict.as_str().into())),
        ("skill_evals.mode", Some(record.id.mode.as_str().into())),
        ("skill_evals.activated", (!record.activated.is_empty()).then(|| record.activated.join(", ").into())),
        ("skill_evals.scripted", record.scripted.clone().map(Value::from)),
        ("skill_evals.notes", Some(trial.notes().join("\n")).filter(|notes| !notes.is_empty()).map(Value::from)),
        ("skill_evals.cost_usd", record.spent.cost_usd.map(Value::from)),
        ("error.type", is_error.then(|| kind.into())),
    ]);
    json!({
        "traceId": trace_id,
        "spanId": span_id,
        "name": format!("invoke_agent {agent}"),
        "kind": INTERNAL,
        "startTimeUnixNano": began.to_string(),
        "endTimeUnixNano": ended.to_string(),
        "attributes": known,
        "events": evaluations(trial, ended),
        "status": if is_error { json!({ "code": FAILED, "message": kind }) } else { json!({ "code": OK }) },
    })
}

/// The checks, each as an evaluation of the agent's work.
fn evaluations(trial: &ExportedTrial<'_>, ended: u128) -> Vec<Value> {
    let named = trial.grade.named_checks().into_iter();
    named
        .map(|(name, check)| {
            let found = format!("expected {}, found {}", check.expected, check.found);
            json!({
                "timeUnixNano": ended.to_string(),
                "name": "gen_ai.evaluation.result",
                "attributes": attributes(vec![
                    ("gen_ai.evaluation.name", Some(name.into())),
                    ("gen_ai.evaluation.score.label", Some(json!(check.status))),
                    ("gen_ai.evaluation.explanation", Some(found.into())),
                ]),
            })
        })
        .collect()
}

/// The tool of a call, its attributes, and whether it failed.
fn call(event: &TimelineEvent) -> Option<(&str, Value, bool)> {
    let (name, arguments, output, failed) = match &event.what {
        EventKind::Command { command, exit, output, .. } => {
            let failed = exit.is_some_and(|code| code != 0);
            ("shell", json!({ "command": command }).to_string(), output.as_str(), failed)
        }
        EventKind::Tool { name, input, output, failed } => (name.as_str(), input.clone(), output.as_str(), *failed),
        EventKind::Files { paths } => ("file_change", json!({ "paths": paths }).to_string(), "", false),
        _ => return None,
    };
    let known = attributes(vec![
        ("gen_ai.operation.name", Some("execute_tool".into())),
        ("gen_ai.tool.name", Some(name.into())),
        ("gen_ai.tool.type", Some("function".into())),
        ("gen_ai.tool.call.arguments", Some(arguments.into())),
        ("gen_ai.tool.call.result", Some(output.into())),
        ("error.type", failed.then(|| "_OTHER".into())),
    ]);
    Some((name, known, failed))
}

/// The convention's name of the agent's provider.
fn provider(agent: AgentKind, is_scripted: bool) -> &'static str {
    if is_scripted { "mock" } else { agent.profile().provider }
}

/// The known ones, as the protocol writes them.
fn attributes(pairs: Vec<(&str, Option<Value>)>) -> Value {
    let known = pairs.into_iter().filter_map(|(key, value)| Some((key, value?)));
    known.map(|(key, value)| json!({ "key": key, "value": any_value(&value) })).collect()
}

fn any_value(value: &Value) -> Value {
    match value {
        Value::Number(number) if number.is_f64() => json!({ "doubleValue": number }),
        // 64-bit integers are strings in JSON.
        Value::Number(number) => json!({ "intValue": number.to_string() }),
        Value::Bool(truth) => json!({ "boolValue": truth }),
        Value::String(text) => json!({ "stringValue": text }),
        other => json!({ "stringValue": other.to_string() }),
    }
}

fn nanoseconds(time: &str) -> Option<u128> {
    let time: jiff::Timestamp = time.parse().ok()?;
    u128::try_from(time.as_nanosecond()).ok()
}
