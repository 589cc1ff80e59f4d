//! The table of gates.

use statrs::function::beta::inv_beta_reg;

use super::pull_requests::Change;

/// How one gate ended.
pub struct GateRun {
    pub exit: i32,
    pub results: Vec<String>,
    pub trials: Vec<TrialRun>,
}

/// What one trial took.
pub struct TrialRun {
    pub tokens: u64,
    pub milliseconds: u64,
    pub cost: f64,
    pub ended_early: bool,
}

pub fn head() {
    println!(
        "| plan | change | base | gates | answers | results | wrong answers (95 %) | trials for each changed skill: mean, median, 95th percentile | ended early | tokens | agents ran | cost |"
    );
    println!("|{}", " --- |".repeat(12));
}

/// One row: `runs` of the gate of `change`, with trials of the base that are new or kept.
pub fn row(plan: &str, change: Change, base: &str, runs: &[&GateRun]) {
    let answer = |run: &&GateRun| match run.exit {
        0 => "passed".to_owned(),
        1 => "failed".to_owned(),
        3 => "not measured".to_owned(),
        4 => "undecided".to_owned(),
        code => format!("exit code {code}"),
    };
    let expected = i32::from(change.is_harm());
    let wrong = runs.iter().filter(|run| run.exit != expected).count();
    let (low, high) = clopper_pearson(wrong, runs.len());
    let mut trials: Vec<f64> = runs.iter().map(|run| count(run.trials.len()) / f64::from(change.skills())).collect();
    trials.sort_by(f64::total_cmp);
    let at = |share: usize| trials[(trials.len() * share / 100).min(trials.len() - 1)];
    let all: Vec<&TrialRun> = runs.iter().flat_map(|run| &run.trials).collect();
    let sum = |of: fn(&TrialRun) -> f64| all.iter().map(|trial| of(trial)).sum::<f64>() / count(runs.len());
    let early = all.iter().filter(|trial| trial.ended_early).count();
    println!(
        "| `{plan}` | {} | {base} | {} | {} | {} | {:.1} % ({:.1}–{:.1}) | {:.1}, {:.0}, {:.0} | {:.0} % | {:.0} k | {:.1} s | ${:.3} |",
        change.branch(),
        runs.len(),
        shares(runs.iter().map(answer)),
        shares(runs.iter().map(|run| run.results.join(", "))),
        100.0 * count(wrong) / count(runs.len()),
        100.0 * low,
        100.0 * high,
        trials.iter().sum::<f64>() / count(trials.len()),
        at(50),
        at(95),
        100.0 * count(early) / count(all.len().max(1)),
        sum(|trial| whole(trial.tokens)) / 1000.0,
        sum(|trial| whole(trial.milliseconds)) / 1000.0,
        sum(|trial| trial.cost),
    );
}

/// Each text with how often it comes, the most frequent first.
fn shares(texts: impl Iterator<Item = String>) -> String {
    let mut counts: Vec<(String, usize)> = Vec::new();
    for text in texts {
        match counts.iter_mut().find(|(known, _)| *known == text) {
            Some((_, count)) => *count += 1,
            None => counts.push((text, 1)),
        }
    }
    counts.sort_by(|(one, a), (other, b)| b.cmp(a).then(one.cmp(other)));
    counts.iter().map(|(text, count)| format!("{text} {count}")).collect::<Vec<_>>().join("; ")
}

/// The exact 95 % interval of a rate (Clopper and Pearson 1934).
fn clopper_pearson(hits: usize, of: usize) -> (f64, f64) {
    let (x, n) = (count(hits), count(of));
    let low = if hits == 0 { 0.0 } else { inv_beta_reg(x, n - x + 1.0, 0.025) };
    let high = if hits == of { 1.0 } else { inv_beta_reg(x + 1.0, n - x, 0.975) };
    (low, high)
}

fn count(of: usize) -> f64 {
    whole(of as u64)
}

fn whole(of: u64) -> f64 {
    f64::from(u32::try_from(of).expect("few"))
}
