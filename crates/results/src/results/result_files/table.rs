//! Tables of outcomes, ours: see [`OutcomeTable`].

use super::{ResultFormat, ResultRow};
use crate::decide::SideCounts;
use crate::results::outcome_table::OutcomeTable;

pub const FORMAT: ResultFormat = ResultFormat {
    name: "a table",
    keys: &["case|task", "side|condition", "passed|passCount"],
    with: None,
    mean_of_cases: false,
    read,
};

fn read(bytes: &[u8]) -> Result<Vec<ResultRow>, String> {
    let text = std::str::from_utf8(bytes).map_err(|_| "it is not UTF-8".to_owned())?;
    let table = OutcomeTable::read(text)?;
    Ok([table.baseline, table.candidate].into_iter().flat_map(|(side, counts)| rows(&side, counts)).collect())
}

fn rows(side: &str, counts: SideCounts) -> Vec<ResultRow> {
    let row = |(case, counts): (String, crate::decide::CaseCount)| {
        #[expect(clippy::cast_precision_loss, reason = "a count of trials is below 2^32")]
        let score = counts.rate.passed as f64;
        ResultRow { case, suite: String::new(), side: side.to_owned(), counts, scored: counts.rate.trials, score }
    };
    counts.into_iter().map(row).collect()
}
