//! How often cases passed, run by run, as a chart for the terminal.

use std::fmt::Write;

use crate::report::rate::{self, fraction};
use crate::results::trend::{TrendPoint, trends};
use crate::text::safe;

/// Columns of the chart: one for each 2.5 points, and one more.
const WIDTH: usize = 41;

/// A line for each run, the oldest first: what passed, its share, and that share with its interval drawn on a scale from 0
/// to 100. A run whose skills, cases or modes are not those of the run before it is marked: the two say nothing about a
/// trend.
#[must_use]
pub fn chart(points: &[TrendPoint]) -> String {
    let width = points.iter().map(|point| point.run.chars().count()).max().unwrap_or_default();
    let numbers: Vec<String> = points.iter().map(|point| fraction(point.rate)).collect();
    let shares: Vec<String> = points.iter().map(|point| rate::share(point.share, point.interval)).collect();
    let widest = |texts: &[String]| texts.iter().map(|text| text.chars().count()).max().unwrap_or_default();
    let (number, share) = (widest(&numbers), widest(&shares));
    let mut text = format!(
        "  {:width$}  {:>number$}  {:share$}  0{:>half$}{:>half$}\n",
        "",
        "",
        "",
        "50",
        "100",
        half = WIDTH / 2
    );
    // The first run of each trend but the first.
    let marks = trends(points).enumerate().flat_map(|(number, trend)| {
        trend.iter().enumerate().map(move |(at, _)| if number > 0 && at == 0 { '≠' } else { ' ' })
    });
    for ((point, mark), (count, passed)) in points.iter().zip(marks).zip(numbers.iter().zip(&shares)) {
        let run = safe::line(&point.run);
        let _ = writeln!(text, "{mark} {run:width$}  {count:>number$}  {passed:share$}  {}", drawn(point).trim_end());
    }
    if text.contains("\n≠") {
        text.push_str("≠ other skills, cases, checks or settings than in the run above: not a trend\n");
    }
    text
}

/// `  ├───●──┤`.
fn drawn(point: &TrendPoint) -> String {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::cast_precision_loss,
        reason = "a column"
    )]
    let column = |share: f64| ((share.clamp(0.0, 1.0) * (WIDTH - 1) as f64).round() as usize).min(WIDTH - 1);
    let (low, high, at) = (column(point.interval.low), column(point.interval.high), column(point.share));
    (0..WIDTH)
        .map(|place| match place {
            place if place == at => '●',
            place if place == low => '├',
            place if place == high => '┤',
            place if low < place && place < high => '─',
            _ => ' ',
        })
        .collect()
}
