//! A table with a row for each trial, for spreadsheets.

use std::borrow::Cow;

use csv::Writer;

use crate::report::export::{Export, ExportKind};
use crate::report::export::{ExportPart, ExportedTrial, TrialWriter};
use crate::text::escape;
use crate::trial::outcome::Status;

pub static EXPORT: Export = Export {
    name: "csv",
    about: "A table with a row for each trial; no cell is a formula",
    kind: ExportKind::Trials(|_| Box::new(CsvTable { has_head: false })),
};

const HEAD: [&str; 27] = [
    "run",
    "skill",
    "case",
    "mode",
    "trial",
    "verdict",
    "trouble",
    "failed_checks",
    "unknown_checks",
    "unsupported",
    "activated",
    "duration_ms",
    "turns",
    "effective_commands",
    "input_tokens",
    "output_tokens",
    "tokens",
    "cost_usd",
    "amounts_are",
    "attempts",
    "started",
    "agent",
    "version",
    "model",
    "scripted",
    "prompt",
    "answer",
];

struct CsvTable {
    has_head: bool,
}

impl TrialWriter for CsvTable {
    fn trial(&mut self, trial: &ExportedTrial<'_>) -> Vec<ExportPart> {
        let mut part = self.end();
        part.push(ExportPart::next(line(&row(trial))));
        part
    }

    fn end(&mut self) -> Vec<ExportPart> {
        // A table without trials has its head too.
        let head = (!std::mem::replace(&mut self.has_head, true)).then(|| line(&HEAD.map(str::to_owned)));
        head.into_iter().map(ExportPart::next).collect()
    }
}

fn row(trial: &ExportedTrial<'_>) -> [String; HEAD.len()] {
    let (record, meta) = (trial.record, trial.evidence.meta);
    let checks = |status| {
        let named = trial.grade.named_checks().into_iter();
        named.filter(|(_, check)| check.status == status).map(|(name, _)| name).collect::<Vec<_>>().join("; ")
    };
    let failed = if trial.passed() == Some(false) { checks(Status::Fail) } else { String::new() };
    let spent = &record.spent;
    // Without a price, the cost is not known at all.
    let at_least = record.settled || spent.tokens_incomplete || (spent.cost_incomplete && spent.cost_usd.is_some());
    [
        meta.run_id.clone(),
        record.id.skill.clone(),
        record.id.case.clone(),
        record.id.mode.clone(),
        record.id.number.to_string(),
        record.verdict.as_str().to_owned(),
        text(record.trouble.as_ref()),
        failed,
        checks(Status::Unknown),
        trial.grade.unsupported.join("; "),
        record.activated.join("; "),
        record.duration_ms.to_string(),
        text(record.turns),
        record.effective_commands.to_string(),
        text(trial.usage().map(|usage| usage.input_tokens)),
        text(trial.usage().map(|usage| usage.output_tokens)),
        text(spent.tokens),
        text(spent.cost_usd),
        if at_least { "lower bounds" } else { "whole" }.to_owned(),
        record.attempts.to_string(),
        meta.started.clone(),
        meta.agent.kind.as_str().to_owned(),
        text(meta.agent.version.as_ref()),
        text(meta.agent.model.as_ref()),
        text(record.scripted.as_ref()),
        meta.case.prompt.clone(),
        text(trial.evidence.final_text),
    ]
}

fn text(value: Option<impl ToString>) -> String {
    value.map(|value| value.to_string()).unwrap_or_default()
}

fn line<const N: usize>(cells: &[String; N]) -> String {
    let mut writer = Writer::from_writer(Vec::new());
    // Writing to memory cannot fail, and cells are UTF-8.
    let _ = writer.write_record(cells.iter().map(|cell| escape::printed(&harmless(cell)).into_owned()));
    writer.into_inner().ok().and_then(|bytes| String::from_utf8(bytes).ok()).unwrap_or_default()
}

/// A cell that no spreadsheet takes for a formula: one that begins like a formula gets an apostrophe before it, which a
/// spreadsheet does not show.
fn harmless(cell: &str) -> Cow<'_, str> {
    if cell.starts_with(['=', '+', '-', '@', '\t', '\r', '\n', '＝', '＋', '－', '＠']) {
        Cow::Owned(format!("'{cell}"))
    } else {
        Cow::Borrowed(cell)
    }
}
