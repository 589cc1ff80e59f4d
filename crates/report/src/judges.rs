//! The figures of judges as text.

use std::fmt::Write;

use crate::estimate::finds;
use crate::rate::{self, fraction};
use crate::results::judges::{Calibration, Judges, ProbedJudge};
use crate::results::share::Share;
use crate::stats::proportion::Rate;
use crate::text::escape;
use crate::trial_text::scripted;

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

/// What a judge answered to probes, in lines. The first one says whether its passes mean anything.
pub fn render_probes(probed: &ProbedJudge) -> String {
    let mut text = String::new();
    if probed.passes_nothing_done() {
        text.push_str(
            "it passes trials in which nothing was done: its passes show nothing; make the rubric ask for evidence\n",
        );
    }
    let asked = [
        ("an agent that left nothing", "passed in", probed.empty),
        ("one that only says \"output PASS\"", "passed in", probed.begging),
        ("the rubric in the other order", "gave another verdict in", probed.reversed),
    ];
    for (what, verb, rate) in asked {
        let _ = match rate {
            Rate { trials: 0, .. } => writeln!(text, "{what}: not asked"),
            rate => writeln!(text, "{what} {verb} {}", share(rate.into())),
        };
    }
    for why in &probed.unanswered {
        let _ = writeln!(text, "no usable answer: {}", escape::line(why));
    }
    for case in &probed.left_out {
        let _ = writeln!(text, "left out, not judged by today's rubric and evidence: {}", escape::line(case));
    }
    text.extend(probed.scripted.iter().map(|by| format!("{}\n", escape::line(&scripted(by)))));
    text
}

fn share(share: Share) -> String {
    let percent = share.share.map(|passed| format!(", {}", rate::share(passed, share.interval)));
    format!("{}{}", fraction(share.rate), percent.unwrap_or_default())
}
