//! The pass rate of each run, as a chart for the terminal.

use crate::columns::{self, NUMBERS, WORDS};
use crate::rate::{self, fraction};
use crate::results::history::{HistoryPoint, trends};
use crate::text::escape;

/// Columns of the chart. With the figures before it, a line fits into 80 columns.
const WIDTH: usize = 31;

/// A line for each run, the oldest first, with its share and interval drawn on a scale from 0 to 100. A run is marked if
/// its inputs differ from those of the run before it: the two show no trend.
pub fn chart(points: &[HistoryPoint]) -> String {
    let half = WIDTH / 2;
    let scale = format!("0{:>half$}{:>half$}", "50", "100");
    let mut rows = vec![[String::new(), String::new(), String::new(), scale]];
    for (number, trend) in trends(points).enumerate() {
        for (at, point) in trend.iter().enumerate() {
            let mark = if number > 0 && at == 0 { '≠' } else { ' ' };
            // Counts stand only next to the share that is theirs.
            let is_theirs = point.rate.share().is_some_and(|share| rate::points(share) == rate::points(point.share));
            let count = if is_theirs { fraction(point.rate) } else { format!("{} trials", point.rate.trials) };
            let name = format!("{mark} {}", escape::line(&point.run));
            rows.push([name, count, rate::share(point.share, point.interval), drawn(point)]);
        }
    }
    let mut text = columns::text([WORDS, NUMBERS, WORDS, WORDS], &rows);
    if text.contains("\n≠") {
        text.push_str("≠ other skills, cases, checks or settings than in the run above: not a trend\n");
    }
    text
}

/// `  ├───●──┤`.
fn drawn(point: &HistoryPoint) -> String {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::cast_precision_loss,
        reason = "a column"
    )]
    let [low, high, middle] = [point.interval.low, point.interval.high, point.share]
        .map(|share| ((share.clamp(0.0, 1.0) * (WIDTH - 1) as f64).round() as usize).min(WIDTH - 1));
    (0..WIDTH)
        .map(|column| match column {
            column if column == middle => '●',
            column if column == low => '├',
            column if column == high => '┤',
            column if low < column && column < high => '─',
            _ => ' ',
        })
        .collect()
}
