//! Outcomes that were measured elsewhere, as the two sides of a comparison. The file is CSV, or a JSON list of objects; each row
//! has the trials of a case on a side.

use serde_json::{Map, Value};

use crate::decide::SideCounts;
use crate::stats::proportion::Rate;

/// The names of the columns, ours first; the others are those of published results. A case in another mode or of another model
/// is another case.
const CASE: [&str; 2] = ["case", "task"];
const CONFIGURATION: [&str; 2] = ["mode", "model"];
const SIDE: [&str; 2] = ["side", "condition"];
const PASSED: [&str; 2] = ["passed", "passCount"];
const TRIALS: &str = "trials";

/// The side that comes first in a file, which is the baseline, and the other one, each with its name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutcomeTable {
    pub baseline: (String, SideCounts),
    pub candidate: (String, SideCounts),
}

/// The cells of a row by column.
type Cells = Map<String, Value>;

/// The trials of a case on a side.
struct OutcomeRow {
    case: String,
    side: String,
    rate: Rate,
}

impl OutcomeTable {
    /// Reads the text of a file. A problem begins with its place: `line 7`, or `row 7` in JSON.
    pub fn read(text: &str) -> Result<Self, String> {
        let text = text.trim_start_matches('\u{feff}');
        let rows = if text.trim_start().starts_with('[') { json_rows(text)? } else { csv_rows(text)? };
        let mut sides: Vec<(String, SideCounts)> = Vec::new();
        // Without a number of trials, a row is one.
        let counts_trials = rows.iter().any(|(_, row)| row.contains_key(TRIALS));
        for (place, row) in &rows {
            let OutcomeRow { case, side, rate } =
                outcome(row, counts_trials).map_err(|problem| format!("{place}: {problem}"))?;
            let at = sides.iter().position(|(name, _)| *name == side).unwrap_or(sides.len());
            if at == sides.len() {
                sides.push((side, SideCounts::new()));
            }
            // A case may have a row for each trial.
            let counts = sides[at].1.entry(case).or_default();
            counts.rate = counts.rate.plus(rate);
        }
        let names: Vec<String> = sides.iter().map(|(name, _)| name.clone()).collect();
        let Ok([baseline, candidate]) = <[_; 2]>::try_from(sides) else {
            let found = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
            return Err(format!("expected rows of two sides, the baseline first; found: {found}"));
        };
        Ok(Self { baseline, candidate })
    }
}

fn json_rows(text: &str) -> Result<Vec<(String, Cells)>, String> {
    let rows: Vec<Cells> = serde_json::from_str(text).map_err(|error| error.to_string())?;
    Ok(rows.into_iter().enumerate().map(|(at, row)| (format!("row {}", at + 1), row)).collect())
}

fn csv_rows(text: &str) -> Result<Vec<(String, Cells)>, String> {
    let mut reader = csv::ReaderBuilder::new().trim(csv::Trim::All).from_reader(text.as_bytes());
    let columns = reader.headers().map_err(|error| error.to_string())?.clone();
    for (at, column) in columns.iter().enumerate() {
        if columns.iter().take(at).any(|before| before == column) {
            return Err(format!("line 1: two columns are named `{column}`"));
        }
    }
    let mut rows = Vec::new();
    // The line of the byte up to which they are counted.
    let (mut counted, mut line) = (0, 1);
    for record in reader.records() {
        let record = record.map_err(|error| error.to_string())?;
        // Before it may be empty lines.
        let begin = record.position().map_or(0, |position| usize::try_from(position.byte()).unwrap_or_default());
        let empty = text[begin..].len() - text[begin..].trim_start_matches(['\r', '\n']).len();
        line += text[counted..begin + empty].matches('\n').count();
        counted = begin + empty;
        let cells = columns.iter().zip(record.iter()).map(|(name, cell)| {
            let value = if cell.is_empty() { Value::Null } else { cell.into() };
            (name.to_owned(), value)
        });
        rows.push((format!("line {line}"), cells.collect()));
    }
    Ok(rows)
}

fn outcome(row: &Cells, counts_trials: bool) -> Result<OutcomeRow, String> {
    let configuration = CONFIGURATION.iter().filter_map(|name| find(row, &[name]));
    let case: Vec<String> = [needed(row, &CASE)?].into_iter().chain(configuration).map(plain).collect();
    let case = case.join("/");
    let side = plain(needed(row, &SIDE)?);
    let passed = number(needed(row, &PASSED)?).ok_or_else(|| wrong(row, &PASSED))?;
    let trials = match find(row, &[TRIALS]) {
        None if !counts_trials => 1,
        trials => trials.and_then(number).ok_or_else(|| wrong(row, &[TRIALS]))?,
    };
    let is_one = find(row, &PASSED).map(plain).is_some_and(|value| value.parse::<u64>().is_err());
    if is_one && trials != 1 {
        return Err(format!(
            "`{}` is {} of {trials} trials; expected a number",
            PASSED[0],
            plain(needed(row, &PASSED)?)
        ));
    }
    if passed > trials {
        return Err(format!("{passed} of {trials} trials passed; `{TRIALS}` is the number of all measured trials"));
    }
    Ok(OutcomeRow { case, side, rate: Rate { passed, trials } })
}

fn find<'a>(row: &'a Cells, names: &[&str]) -> Option<&'a Value> {
    names.iter().filter_map(|name| row.get(*name)).find(|value| !value.is_null())
}

fn needed<'a>(row: &'a Cells, names: &[&str]) -> Result<&'a Value, String> {
    let columns: Vec<&String> = row.keys().collect();
    find(row, names).ok_or_else(|| format!("no `{}` (or `{}`) among {columns:?}", names[0], names[1]))
}

fn wrong(row: &Cells, names: &[&str]) -> String {
    let value = find(row, names).map(plain).unwrap_or_default();
    format!("`{}` is {value:?}; expected a whole number, or true or false", names[0])
}

/// A count; `true` and `false` are one and none.
fn number(value: &Value) -> Option<u64> {
    // A sum of these stays far below what overflows.
    let small = |number: &u64| u32::try_from(*number).is_ok();
    match value {
        Value::Bool(passed) => Some(u64::from(*passed)),
        Value::String(text) => match text.to_ascii_lowercase().as_str() {
            "true" => Some(1),
            "false" => Some(0),
            text => text.parse().ok().filter(small),
        },
        value => value.as_u64().filter(small),
    }
}

fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}
