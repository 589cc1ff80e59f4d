//! Results as promptfoo writes them with `-o results.json`; `promptfoo import` reads them. Its tests are our cases, its
//! providers our modes. A trial that could not be measured is an error there too, which promptfoo counts apart.

use serde_json::{Value, json};

use crate::report::export::{Export, ExportKind};
use crate::report::export::{ExportPart, ExportedTrial, TrialWriter, without_null};
use crate::trial::evidence::digest;
use crate::trial::outcome::AttemptCost;
use crate::trial::outcome::CheckResult;

pub static EXPORT: Export = Export {
    name: "promptfoo",
    about: "promptfoo's results.json, for `promptfoo import` and `promptfoo view`",
    kind: ExportKind::Trials(|plan| {
        Box::new(PromptfooResults {
            run: plan.runs.clone(),
            columns: Vec::new(),
            tests: Vec::new(),
            started: String::new(),
            is_first: true,
        })
    }),
};

/// promptfoo's number of this format.
const VERSION: u32 = 3;

/// The template of all prompts: each test brings its own.
const PROMPT: &str = "{{prompt}}";

// Why a result is not a success, by promptfoo's numbers.
const NONE: u8 = 0;
const ASSERTION: u8 = 1;
const ERROR: u8 = 2;

struct PromptfooResults {
    run: String,
    columns: Vec<ModeColumn>,
    tests: Vec<(String, String, u32)>,
    started: String,
    is_first: bool,
}

/// A mode, which promptfoo shows as a column.
#[derive(Default)]
struct ModeColumn {
    mode: String,
    passed: usize,
    failed: usize,
    errors: usize,
    checks_passed: usize,
    checks_failed: usize,
    latency_ms: u64,
    /// The sums of what is known.
    spent: AttemptCost,
}

impl PromptfooResults {
    /// The number of the column, and of the row: each repeat is a row.
    fn place(&mut self, trial: &ExportedTrial<'_>) -> (usize, usize) {
        let id = &trial.record.id;
        let row = (id.skill.clone(), id.case.clone(), id.number);
        let test = self.tests.iter().position(|known| *known == row).unwrap_or_else(|| {
            self.tests.push(row);
            self.tests.len() - 1
        });
        let column = self.columns.iter().position(|column| column.mode == id.mode).unwrap_or_else(|| {
            self.columns.push(ModeColumn { mode: id.mode.clone(), ..ModeColumn::default() });
            self.columns.len() - 1
        });
        (column, test)
    }
}

impl TrialWriter for PromptfooResults {
    fn trial(&mut self, trial: &ExportedTrial<'_>) -> Vec<ExportPart> {
        let (column, test) = self.place(trial);
        self.columns[column].add(trial);
        if self.started.is_empty() {
            self.started.clone_from(&trial.evidence.meta.started);
        }
        let result = result(trial, column, test);
        vec![ExportPart::next_json(&format!("{}{result:#}", self.separator()))]
    }

    fn end(&mut self) -> Vec<ExportPart> {
        let sum = |of: fn(&ModeColumn) -> usize| self.columns.iter().map(of).sum::<usize>();
        let stats = json!({
            "successes": sum(|column| column.passed),
            "failures": sum(|column| column.failed),
            "errors": sum(|column| column.errors),
            "tokenUsage": tokens(self.columns.iter().filter_map(|column| column.spent.tokens).sum(), sum(ModeColumn::trials)),
        });
        let prompts: Vec<Value> = self.columns.iter().map(ModeColumn::prompt).collect();
        let config = json!({ "description": format!("skill-evals {}", self.run), "prompts": [PROMPT], "tests": [] });
        let metadata = json!({ "exportedBy": "skill-evals", "evaluationCreatedAt": self.started });
        // promptfoo makes files of ids.
        let id = format!("eval-{}", digest(self.run.as_bytes()));
        vec![ExportPart::next_json(&format!(
            "{}], \"version\": {VERSION}, \"timestamp\": {}, \"prompts\": {:#}, \"stats\": {stats:#} }},\n\
             \"evalId\": {}, \"config\": {config:#}, \"shareableUrl\": null, \"metadata\": {metadata:#} }}\n",
            if self.is_first { self.separator() } else { "" },
            json!(self.started),
            json!(prompts),
            json!(id),
        ))]
    }
}

impl PromptfooResults {
    fn separator(&mut self) -> &'static str {
        if std::mem::replace(&mut self.is_first, false) { "{ \"results\": { \"results\": [" } else { ", " }
    }
}

impl ModeColumn {
    fn add(&mut self, trial: &ExportedTrial<'_>) {
        let count = match trial.passed() {
            Some(true) => &mut self.passed,
            Some(false) => &mut self.failed,
            None => &mut self.errors,
        };
        *count += 1;
        if trial.passed().is_some() {
            let passed = trial.answered().iter().filter(|(.., passed)| *passed).count();
            self.checks_passed += passed;
            self.checks_failed += trial.answered().len() - passed;
        }
        self.latency_ms += trial.record.duration_ms;
        self.spent = self.spent.and(trial.record.spent);
    }

    fn trials(&self) -> usize {
        self.passed + self.failed + self.errors
    }

    fn prompt(&self) -> Value {
        json!({
            "id": prompt_id(),
            "raw": PROMPT,
            "label": PROMPT,
            "provider": self.mode,
            "metrics": without_null(json!({
                "score": self.passed,
                "testPassCount": self.passed,
                "testFailCount": self.failed,
                "testErrorCount": self.errors,
                "assertPassCount": self.checks_passed,
                "assertFailCount": self.checks_failed,
                "totalLatencyMs": self.latency_ms,
                "tokenUsage": self.spent.tokens.map(|total| tokens(total, self.trials())),
                "namedScores": {},
                "namedScoresCount": {},
                "cost": self.spent.cost_usd,
            })),
        })
    }
}

fn prompt_id() -> String {
    digest(PROMPT.as_bytes())
}

fn tokens(total: u64, requests: usize) -> Value {
    json!({ "total": total, "numRequests": requests })
}

fn result(trial: &ExportedTrial<'_>, column: usize, test: usize) -> Value {
    let (record, meta) = (trial.record, trial.evidence.meta);
    let prompt = meta.case.prompt.as_str();
    let (passed, notes) = (trial.passed(), trial.notes().join("\n"));
    let grading = passed.map(|passed| grading(trial, passed, &notes));
    let error = match passed {
        Some(true) => None,
        Some(false) => grading.as_ref().map(|grading| grading["reason"].clone()),
        None => Some(json!(notes)),
    };
    let mut facts = trial.facts();
    facts["notes"] = json!(notes);
    let checks = trial.answered();
    let asserts: Vec<Value> = checks.iter().map(|(name, check, _)| assertion(name, check)).collect();
    without_null(json!({
        "id": digest(format!("{} {}", meta.run_id, trial.name()).as_bytes()),
        "promptIdx": column,
        "testIdx": test,
        "promptId": prompt_id(),
        "prompt": { "raw": prompt, "label": PROMPT },
        "provider": { "id": record.id.mode, "label": record.id.mode },
        "vars": { "prompt": prompt },
        "testCase": {
            "description": format!("{}/{} trial {}", record.id.skill, record.id.case, record.id.number),
            "vars": { "prompt": prompt },
            "assert": asserts,
            "options": {},
            "metadata": facts,
        },
        "response": without_null(json!({
            "output": trial.evidence.final_text.unwrap_or_default(),
            "tokenUsage": trial.usage().map(|usage| json!({
                "total": usage.total_tokens(),
                "prompt": usage.input_tokens,
                "completion": usage.output_tokens,
                "cached": usage.cached_input_tokens,
                "numRequests": 1,
            })),
            "cost": record.spent.cost_usd,
            "cached": false,
        })),
        "success": passed == Some(true),
        "score": grading.as_ref().map_or(json!(0), |grading| grading["score"].clone()),
        "failureReason": match passed {
            Some(true) => NONE,
            Some(false) => ASSERTION,
            None => ERROR,
        },
        "error": error,
        "gradingResult": grading,
        "namedScores": {},
        "latencyMs": record.duration_ms,
        "cost": record.spent.cost_usd,
        "metadata": facts,
    }))
}

fn grading(trial: &ExportedTrial<'_>, passed: bool, notes: &str) -> Value {
    let components = trial.answered().into_iter().map(|(name, check, passed)| {
        json!({
            "pass": passed,
            "score": u8::from(passed),
            "reason": check.found,
            "assertion": assertion(&name, check),
        })
    });
    let failed = trial.answered().into_iter().filter(|(.., passed)| !passed);
    let mut reasons: Vec<String> =
        failed.map(|(name, check, _)| format!("{name}: expected {}, found {}", check.expected, check.found)).collect();
    reasons.extend((!notes.is_empty()).then(|| notes.to_owned()));
    json!({
        "pass": passed,
        "score": trial.grade.score.map_or(json!(u8::from(passed)), |score| json!(score.value)),
        "reason": if reasons.is_empty() { "all checks passed".to_owned() } else { reasons.join("\n") },
        "componentResults": components.collect::<Vec<_>>(),
        "namedScores": {},
    })
}

/// A check as an assertion. Its type is our name of the check: promptfoo has none that says the same.
fn assertion(name: &str, check: &CheckResult) -> Value {
    without_null(json!({ "type": name, "value": check.expected, "weight": check.weight.map(|weight| weight.amount) }))
}
