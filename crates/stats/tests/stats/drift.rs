//! Nights of series whose rates are known: false alarms of a year, and how soon a drop is found.

use crate::worlds::Series;

#[test]
fn of_ten_times_with_steady_series_at_most_one_has_an_alarm() {
    let series = Series::steady(&[0.5, 0.9, 0.95], 1);
    let alarms = (0..10).filter(|time| (0..4).any(|of| !series.watched(120, 4, 100 * time + of).shifts.is_empty()));
    assert!(alarms.count() <= 1);
}

#[test]
fn a_drop_of_all_cases_of_one_series_among_forty_is_found_within_three_weeks() {
    let series = Series { since: &[0.5; 5], night: 30, ..Series::steady(&[0.95; 5], 1) };
    let found = (0..50).filter(|seed| series.watched(51, 40, *seed).worse().is_some()).count();
    assert!(found >= 48, "{found} of 50");
}
