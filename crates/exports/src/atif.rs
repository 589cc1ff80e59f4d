//! Trajectories in the Agent Trajectory Interchange Format of Harbor, version 1.7: a file for each trial.

use serde_json::{Value, json};

use crate::report::export::{Export, ExportKind};
use crate::report::export::{ExportPart, ExportedTrial, TrialWriter, without_null};
use crate::results::session;
use crate::results::timeline::{EventKind, TimelineEvent};
use crate::trial::input_file::Speaker;

pub static EXPORT: Export = Export {
    name: "atif",
    about: "Agent trajectories (ATIF, as Harbor reads them): a file for each trial",
    kind: ExportKind::TrialFolder(|_| Box::new(Trajectories)),
};

const VERSION: &str = "ATIF-v1.7";

struct Trajectories;

impl TrialWriter for Trajectories {
    fn trial(&mut self, trial: &ExportedTrial<'_>) -> Vec<ExportPart> {
        let name = session::id(&trial.record.id, trial.record.verdict);
        vec![ExportPart::json(format!("{name}.json").into(), &trajectory(&name, trial))]
    }

    fn end(&mut self) -> Vec<ExportPart> {
        Vec::new()
    }
}

fn trajectory(name: &str, trial: &ExportedTrial<'_>) -> Value {
    let meta = trial.evidence.meta;
    let mut notes = trial.notes();
    let (mut steps, mut thoughts) = (Vec::new(), Vec::new());
    for event in &trial.timeline.entries {
        match &event.what {
            EventKind::Thought { text } => thoughts.push(text.as_str()),
            EventKind::End { text } => notes.push(text.clone()),
            EventKind::Offered { .. } => {}
            _ => steps.push(step(steps.len() + 1, event, &mut thoughts)),
        }
    }
    if !thoughts.is_empty() {
        let (step_id, reasoning) = (steps.len() + 1, thoughts.join("\n\n"));
        steps.push(json!({ "step_id": step_id, "source": "agent", "message": "", "reasoning_content": reasoning }));
    }
    if trial.timeline.dropped > 0 {
        notes.push(format!("the trace did not keep {} steps", trial.timeline.dropped));
    }
    let usage = trial.usage();
    let checks: Vec<Value> = trial.grade.checks.iter().map(|check| json!(check)).collect();
    let mut extra = trial.facts();
    extra["checks"] = checks.into();
    without_null(json!({
        "schema_version": VERSION,
        "session_id": meta.run_id,
        "trajectory_id": name,
        "agent": without_null(json!({
            "name": meta.agent.kind.as_str(),
            // The format requires a version.
            "version": meta.agent.version.as_deref().unwrap_or("unknown"),
            "model_name": meta.agent.model,
        })),
        "final_metrics": without_null(json!({
            "total_prompt_tokens": usage.map(|usage| usage.input_tokens),
            "total_completion_tokens": usage.map(|usage| usage.output_tokens),
            "total_cached_tokens": usage.map(|usage| usage.cached_input_tokens),
            // Without the judge.
            "total_cost_usd": usage.and_then(|usage| usage.cost_usd),
            "total_steps": steps.len(),
        })),
        "notes": (!notes.is_empty()).then(|| notes.join("\n")),
        "extra": { "skill_evals": extra },
        "steps": steps,
    }))
}

/// A step. Thoughts belong to what the agent does next.
fn step(step_id: usize, event: &TimelineEvent, thoughts: &mut Vec<&str>) -> Value {
    let mut step = match &event.what {
        EventKind::History { role, text } => {
            let source = if *role == Speaker::User { "user" } else { "agent" };
            json!({ "source": source, "message": text, "extra": { "before_the_prompt": true } })
        }
        EventKind::Prompt { text } => json!({ "source": "user", "message": text }),
        EventKind::System { text } | EventKind::Notice { text } => json!({ "source": "system", "message": text }),
        EventKind::Injected { skill } => {
            json!({ "source": "system", "message": format!("The agent put the skill {skill} into the conversation.") })
        }
        EventKind::Command { command, exit, output, .. } => {
            let extra = without_null(json!({ "exit_code": exit }));
            call(step_id, "shell", &json!({ "command": command }), output, &extra)
        }
        EventKind::Tool { name, input, output, failed } => {
            let arguments = serde_json::from_str(input).ok().filter(Value::is_object);
            let arguments = arguments.unwrap_or_else(|| json!({ "input": input }));
            call(step_id, name, &arguments, output, &json!({ "failed": failed }))
        }
        EventKind::Files { paths } => call(step_id, "file_change", &json!({ "paths": paths }), "", &json!({})),
        EventKind::Said { text, .. } => json!({ "source": "agent", "message": text }),
        // These make no step.
        EventKind::Thought { .. } | EventKind::Offered { .. } | EventKind::End { .. } => json!({}),
    };
    step["step_id"] = step_id.into();
    if let Some(time) = &event.time {
        step["timestamp"] = time.as_str().into();
    }
    if step["source"] == "agent" {
        if !thoughts.is_empty() {
            step["reasoning_content"] = std::mem::take(thoughts).join("\n\n").into();
        }
        if let Some(tokens) = event.tokens {
            let metrics = json!({ "prompt_tokens": tokens.read, "completion_tokens": tokens.written });
            step["metrics"] = without_null(metrics);
        }
        if event.depth > 0 {
            step["extra"] = json!({ "sub_agent_depth": event.depth });
        }
    }
    step
}

fn call(step_id: usize, name: &str, arguments: &Value, output: &str, extra: &Value) -> Value {
    let id = format!("call-{step_id}");
    json!({
        "source": "agent",
        "message": "",
        "tool_calls": [{ "tool_call_id": id, "function_name": name, "arguments": arguments }],
        "observation": { "results": [{ "source_call_id": id, "content": output, "extra": extra }] },
    })
}
