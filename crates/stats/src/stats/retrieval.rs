//! Does a skill activate when it should, and only then? Precision, recall and F1, with intervals.

use serde::Serialize;

use super::Interval;
use super::proportion::{Rate, wilson};

/// Trials of a skill, by whether it should activate and did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Triggering {
    /// It should activate and did.
    pub hits: u64,
    /// It should not activate but did.
    pub false_alarms: u64,
    /// It should activate but did not.
    pub misses: u64,
}

impl Triggering {
    /// Precision: of the trials in which it activated, those in which it should.
    pub fn precision(self) -> Rate {
        Rate::new(self.hits, self.hits + self.false_alarms)
    }

    /// Recall: of the trials in which it should activate, those in which it did.
    pub fn recall(self) -> Rate {
        Rate::new(self.hits, self.hits + self.misses)
    }

    /// The harmonic mean of precision and recall, `2 hits / (2 hits + false alarms + misses)`. `None` if the skill
    /// neither should activate nor did. The interval comes from Wilson's of `q = hits / (hits + false alarms +
    /// misses)`: F1 is `2q / (1 + q)`, which grows with `q`.
    pub fn f1(self, level: f64) -> Option<(f64, Interval)> {
        let all = Rate::new(self.hits, self.hits + self.false_alarms + self.misses);
        let of = |q: f64| 2.0 * q / (1.0 + q);
        let interval = wilson(all, level);
        all.share().map(|share| (of(share), Interval { low: of(interval.low), high: of(interval.high) }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::reference::{close, count, ends, number, rows};

    #[test]
    fn precision_recall_and_f1_agree_with_the_reference() {
        for row in rows("f1") {
            let at = |name: &str| count(&row[name]);
            let found = Triggering { hits: at("tp"), false_alarms: at("fp"), misses: at("fn") };
            close(found.precision().share().expect("trials"), number(&row["precision"]), &row);
            ends(wilson(found.precision(), 0.95), &row["precision_wilson"], &row);
            close(found.recall().share().expect("trials"), number(&row["recall"]), &row);
            ends(wilson(found.recall(), 0.95), &row["recall_wilson"], &row);
            let (f1, interval) = found.f1(0.95).expect("trials");
            close(f1, number(&row["f1"]), &row);
            ends(interval, &row["f1_from_wilson_of_jaccard"], &row);
        }
        assert_eq!(Triggering::default().f1(0.95), None);
    }
}
