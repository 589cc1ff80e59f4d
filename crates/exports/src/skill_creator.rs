//! The workspace of Anthropic's skill-creator: a directory for each skill with `benchmark.json`, and for each trial a
//! `grading.json`, a `timing.json` and the outputs. Its viewer and its aggregation read them.
//!
//! It knows a pass and a failure only. A trial that was not measured has no `grading.json`, is not counted, and is named in
//! the notes. A check without an answer is a note too.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::report::export::{Export, ExportKind};
use crate::report::export::{ExportPart, ExportedTrial, TrialPlan, TrialWriter, without_null};
use crate::results::timeline::EventKind;

/// `--to skill-creator`.
pub static EXPORT: Export = Export {
    name: "skill-creator",
    about: "skill-creator's benchmark.json and grading.json, for its viewer: a directory for each skill",
    kind: ExportKind::TrialFolder(|plan| Box::new(SkillCreatorWorkspace::new(plan))),
};

// The names that its viewer colors.
const WITH: &str = "with_skill";
const WITHOUT: &str = "without_skill";

/// Where the answer is, next to the files that the agent wrote. If one of them has this name, it has a `_` more.
const ANSWER: &str = "final message.txt";

struct SkillCreatorWorkspace {
    /// The modes with skills, if they are several: then they go by their names.
    several: BTreeSet<String>,
    skills: BTreeMap<String, SkillBenchmark>,
}

/// What `benchmark.json` says of a skill.
#[derive(Default)]
struct SkillBenchmark {
    name: String,
    /// Their places are the numbers of the evals, from 1.
    cases: Vec<String>,
    runs: Vec<Value>,
    /// Each note with the names of its trials.
    notes: BTreeMap<String, Vec<String>>,
    models: BTreeSet<String>,
    started: String,
    repeats: u32,
}

impl SkillCreatorWorkspace {
    fn new(plan: &TrialPlan) -> Self {
        let with_skills = plan.modes.iter().filter(|(_, offers)| **offers).map(|(mode, _)| mode.clone());
        let several = Some(with_skills.collect::<BTreeSet<_>>()).filter(|modes| modes.len() > 1).unwrap_or_default();
        Self { several, skills: BTreeMap::new() }
    }

    fn configuration(&self, trial: &ExportedTrial<'_>) -> String {
        let mode = &trial.record.id.mode;
        match trial.evidence.meta.delivery.offers_skills() {
            true if self.several.contains(mode) => mode.clone(),
            true => WITH.to_owned(),
            false => WITHOUT.to_owned(),
        }
    }
}

impl TrialWriter for SkillCreatorWorkspace {
    fn trial(&mut self, trial: &ExportedTrial<'_>) -> Vec<ExportPart> {
        let (id, meta, configuration) = (&trial.record.id, trial.evidence.meta, self.configuration(trial));
        let skill = self.skills.entry(id.skill.clone()).or_default();
        skill.name.clone_from(&meta.skill.name);
        let eval_id = skill.eval_id(&id.case);
        let grading = trial.passed().map(|_| grading(trial));
        skill.add(trial, eval_id, &configuration, grading.as_ref());
        let eval = Path::new(&id.skill).join(format!("eval-{eval_id}"));
        let run = eval.join(configuration).join(format!("run-{}", id.number));
        let about = json!({ "eval_id": eval_id, "eval_name": id.case, "prompt": meta.case.prompt, "assertions": [] });
        let mut parts = vec![
            // The aggregation looks in the one, the viewer in the other.
            ExportPart::json(eval.join("eval_metadata.json"), &about),
            ExportPart::json(run.join("eval_metadata.json"), &about),
            ExportPart::json(run.join("timing.json"), &timing(trial)),
        ];
        parts.extend(grading.map(|grading| ExportPart::json(run.join("grading.json"), &grading)));
        parts.extend(outputs(trial, &run.join("outputs")));
        parts
    }

    fn end(&mut self) -> Vec<ExportPart> {
        let skills = self.skills.iter();
        skills
            .map(|(slug, skill)| ExportPart::json(Path::new(slug).join("benchmark.json"), &skill.benchmark()))
            .collect()
    }
}

fn outputs(trial: &ExportedTrial<'_>, folder: &Path) -> Vec<ExportPart> {
    let answer = trial.evidence.final_text.unwrap_or("(no final message)").to_owned();
    let mut name = ANSWER.to_owned();
    while trial.files.iter().any(|(path, _)| *path == Path::new(&name)) {
        name.insert(0, '_');
    }
    let files = trial.files.iter().map(|(path, text)| (path.clone(), text.clone()));
    let all = [(PathBuf::from(name), answer)].into_iter().chain(files);
    all.map(|(path, text)| ExportPart { file: Some(folder.join(path)), text }).collect()
}

fn expectations(trial: &ExportedTrial<'_>) -> Vec<Value> {
    let answered = trial.answered().into_iter();
    answered
        .map(|(name, check, passed)| {
            json!({ "text": format!("{name}: {}", check.expected), "passed": passed, "evidence": check.found })
        })
        .collect()
}

fn grading(trial: &ExportedTrial<'_>) -> Value {
    json!({
        "expectations": expectations(trial),
        "summary": counts(trial),
        "execution_metrics": calls(trial),
        "user_notes_summary": { "uncertainties": trial.notes(), "needs_review": [], "workarounds": [] },
    })
}

#[expect(clippy::cast_precision_loss, reason = "counts of checks are small")]
fn counts(trial: &ExportedTrial<'_>) -> Value {
    let total = trial.answered().len();
    let passed = trial.answered().iter().filter(|(.., passed)| *passed).count();
    let rate =
        if total == 0 { f64::from(u8::from(trial.passed() == Some(true))) } else { passed as f64 / total as f64 };
    json!({ "passed": passed, "failed": total - passed, "total": total, "pass_rate": rate })
}

fn calls(trial: &ExportedTrial<'_>) -> Value {
    let mut tools: BTreeMap<&str, usize> = BTreeMap::new();
    for event in &trial.timeline.entries {
        match &event.what {
            EventKind::Command { .. } => *tools.entry("shell").or_default() += 1,
            EventKind::Tool { name, .. } => *tools.entry(name).or_default() += 1,
            _ => {}
        }
    }
    json!({ "tool_calls": tools, "total_tool_calls": tools.values().sum::<usize>() })
}

fn timing(trial: &ExportedTrial<'_>) -> Value {
    without_null(json!({
        "total_tokens": trial.usage().map(crate::trace::Usage::total_tokens),
        "duration_ms": trial.record.duration_ms,
        "total_duration_seconds": trial.seconds(),
    }))
}

impl SkillBenchmark {
    fn eval_id(&mut self, case: &str) -> usize {
        let known = self.cases.iter().position(|known| known == case);
        1 + known.unwrap_or_else(|| {
            self.cases.push(case.to_owned());
            self.cases.len() - 1
        })
    }

    fn add(&mut self, trial: &ExportedTrial<'_>, eval_id: usize, configuration: &str, grading: Option<&Value>) {
        let (meta, record) = (trial.evidence.meta, trial.record);
        let model = record.scripted.as_ref().map(|by| format!("mock model ({by})")).or(meta.agent.model.clone());
        self.models.extend(model);
        self.repeats = self.repeats.max(record.id.number);
        if self.started.is_empty() || meta.started < self.started {
            self.started.clone_from(&meta.started);
        }
        for note in trial.notes() {
            let name = format!("{} {configuration} run {}", record.id.case, record.id.number);
            self.notes.entry(note).or_default().push(name);
        }
        let Some(grading) = grading else { return };
        let mut result = grading["summary"].clone();
        result["time_seconds"] = trial.seconds().into();
        result["tool_calls"] = grading["execution_metrics"]["total_tool_calls"].clone();
        if let Some(usage) = trial.usage() {
            result["tokens"] = usage.total_tokens().into();
        }
        self.runs.push(json!({
            "eval_id": eval_id,
            "eval_name": record.id.case,
            "configuration": configuration,
            "run_number": record.id.number,
            "result": result,
            "expectations": grading["expectations"],
            "notes": trial.notes(),
        }));
    }

    fn benchmark(&self) -> Value {
        let notes = self.notes.iter().map(|(note, trials)| match trials.as_slice() {
            [trial] => format!("{trial}: {note}"),
            trials => format!("{} trials: {note}", trials.len()),
        });
        let models: Vec<&str> = self.models.iter().map(String::as_str).collect();
        json!({
            "metadata": {
                "skill_name": self.name,
                "executor_model": if models.is_empty() { "unknown".to_owned() } else { models.join(", ") },
                "timestamp": self.started,
                "evals_run": (1..=self.cases.len()).collect::<Vec<_>>(),
                "runs_per_configuration": self.repeats,
            },
            "runs": self.runs,
            "run_summary": self.run_summary(),
            "notes": notes.collect::<Vec<_>>(),
        })
    }

    /// The figures of each configuration, and what skills change if there are trials with and without them.
    fn run_summary(&self) -> Value {
        let configurations: BTreeSet<&str> = self.runs.iter().filter_map(|run| run["configuration"].as_str()).collect();
        let mut summary = json!({});
        for configuration in &configurations {
            let of = |key: &str| -> Vec<f64> {
                let runs = self.runs.iter().filter(|run| run["configuration"] == *configuration);
                runs.filter_map(|run| run["result"][key].as_f64()).collect()
            };
            let known = ["pass_rate", "time_seconds", "tokens"].map(|key| (key, figures(&of(key))));
            summary[configuration] = known.into_iter().filter(|(_, value)| !value.is_null()).collect();
        }
        if let Some(other) = configurations.iter().find(|name| **name != WITHOUT)
            && configurations.len() == 2
            && configurations.contains(WITHOUT)
        {
            let change =
                |key: &str| Some(summary[*other][key]["mean"].as_f64()? - summary[WITHOUT][key]["mean"].as_f64()?);
            summary["delta"] = without_null(json!({
                "pass_rate": change("pass_rate").map(|change| format!("{change:+.2}")),
                "time_seconds": change("time_seconds").map(|change| format!("{change:+.1}")),
                "tokens": change("tokens").map(|change| format!("{change:+.0}")),
            }));
        }
        summary
    }
}

/// Mean, standard deviation, minimum and maximum, as skill-creator rounds them; null without a value.
#[expect(clippy::cast_precision_loss, reason = "counts of trials are small")]
fn figures(values: &[f64]) -> Value {
    if values.is_empty() {
        return Value::Null;
    }
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count;
    let squares = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>();
    let deviation = if values.len() > 1 { (squares / (count - 1.0)).sqrt() } else { 0.0 };
    let round = |value: f64| (value * 1e4).round() / 1e4;
    json!({
        "mean": round(mean),
        "stddev": round(deviation),
        "min": round(values.iter().copied().fold(f64::INFINITY, f64::min)),
        "max": round(values.iter().copied().fold(f64::NEG_INFINITY, f64::max)),
    })
}
