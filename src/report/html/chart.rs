//! Charts as SVG: rates with their intervals, and rates over time. Shares are lengths; no chart has a text of a user.

use std::fmt::Write;

use crate::stats::Interval;

/// A dot for the share that passed and a line for where the true one may lie, from 0 to 100 %.
#[must_use]
pub fn interval(share: f64, interval: Interval) -> String {
    let at = |share: f64| 2.0 + share.clamp(0.0, 1.0) * 96.0;
    format!(
        "<svg class=\"whisker\" viewBox=\"0 0 100 10\" preserveAspectRatio=\"none\" aria-hidden=\"true\">\
         <line class=\"axis\" x1=\"2\" x2=\"98\" y1=\"5\" y2=\"5\"/>\
         <line class=\"range\" x1=\"{:.1}\" x2=\"{:.1}\" y1=\"5\" y2=\"5\"/>\
         <line class=\"dot\" x1=\"{share:.1}\" x2=\"{share:.1}\" y1=\"5\" y2=\"5\"/></svg>",
        at(interval.low),
        at(interval.high),
        share = at(share),
    )
}

/// Shares over time, the latest last, each with its interval as a band.
#[must_use]
pub fn sparkline(points: &[(f64, Interval)]) -> String {
    let Some(last) = points.last() else { return String::new() };
    #[expect(clippy::cast_precision_loss, reason = "there are some dozens of runs")]
    let x = |at: usize| 2.0 + 96.0 * at as f64 / (points.len() - 1).max(1) as f64;
    let y = |share: f64| 22.0 - share.clamp(0.0, 1.0) * 20.0;
    let path = |of: &dyn Fn(&(f64, Interval)) -> f64| {
        let places = points.iter().enumerate().map(|(at, point)| format!("{:.1},{:.1}", x(at), y(of(point))));
        places.collect::<Vec<_>>()
    };
    let (mut low, high) = (path(&|point| point.1.low), path(&|point| point.1.high));
    low.reverse();
    let mut svg = String::from(
        "<svg class=\"sparkline\" viewBox=\"0 0 100 24\" preserveAspectRatio=\"none\" aria-hidden=\"true\">",
    );
    // Writing to a string cannot fail.
    let _ = write!(
        svg,
        "<polygon class=\"band\" points=\"{} {}\"/><polyline class=\"line\" points=\"{}\"/>\
         <line class=\"dot\" x1=\"{end:.1}\" x2=\"{end:.1}\" y1=\"{at:.1}\" y2=\"{at:.1}\"/></svg>",
        high.join(" "),
        low.join(" "),
        path(&|point| point.0).join(" "),
        end = x(points.len() - 1),
        at = y(last.0),
    );
    svg
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_is_a_dot_within_its_interval() {
        let svg = interval(0.5, Interval { low: 0.094, high: 0.906 });
        assert!(svg.contains("class=\"dot\" x1=\"50.0\"") && svg.contains("class=\"range\" x1=\"11.0\""), "{svg}");
    }

    #[test]
    fn one_run_is_a_chart_too() {
        assert!(sparkline(&[(1.0, Interval { low: 0.5, high: 1.0 })]).contains("2.0,2.0"));
        assert_eq!(sparkline(&[]), "");
    }
}
