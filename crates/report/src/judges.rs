//! The figures of judges as text.

use std::fmt::Write;

use crate::estimate::finds;
use crate::rate::{self, fraction};
use crate::results::judges::{Calibration, Judges};
use crate::results::share::Share;
use crate::text::escape;

pub fn render(judges: &Judges) -> String {
    let mut text = format!("judged: {} passed", share(judges.passed));
    if judges.unscored > 0 {
        let _ = write!(text, ", {} without a majority of votes", judges.unscored);
    }
    text.push('\n');
    match &judges.votes {
        Some(votes) => {
            let [ac1, kappa] = [votes.ac1, votes.fleiss]
                .map(|figure| figure.map_or_else(|| "-".to_owned(), |figure| format!("{figure:.2}")));
            let (alike, items) = (rate::points(votes.observed), votes.items);
            let _ = writeln!(text, "votes on the same trial: {alike} % alike, AC1 {ac1}, κ {kappa} ({items} trials)");
        }
        None => text.push_str("votes on the same trial: one each, so that nothing shows how far they agree\n"),
    }
    if let Some(calibration) = &judges.calibration {
        against_people(&mut text, calibration);
    }
    text
}

fn against_people(text: &mut String, calibration: &Calibration) {
    let _ = writeln!(text, "of what people passed, it passed {}", share(calibration.sensitivity));
    let _ = writeln!(text, "of what people failed, it failed {}", share(calibration.specificity));
    if let Some(kappa) = calibration.kappa {
        let _ = writeln!(text, "κ with people: {kappa:.2}");
    }
    let _ = match &calibration.corrected {
        Some(corrected) => {
            let share = rate::share(corrected.rate, corrected.interval);
            writeln!(text, "people would have passed {share} of all that it judged")
        }
        None if calibration.sensitivity.rate.trials == 0 => {
            writeln!(text, "nothing that people passed has a label: its rate cannot be corrected")
        }
        None if calibration.specificity.rate.trials == 0 => {
            writeln!(text, "nothing that people failed has a label: its rate cannot be corrected")
        }
        None => writeln!(text, "the labels do not show that it is better than a coin: its rate cannot be corrected"),
    };
    if let Some(power) = &calibration.power {
        let _ = writeln!(text, "a quick comparison of its cases finds {}", finds(power));
    }
    for trial in &calibration.unmatched {
        let _ = writeln!(text, "labeled, but not judged in these runs: {}", escape::line(trial));
    }
}

fn share(share: Share) -> String {
    let percent = share.share.map(|passed| format!(", {}", rate::share(passed, share.interval)));
    format!("{}{}", fraction(share.rate), percent.unwrap_or_default())
}
