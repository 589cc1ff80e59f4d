//! Runs both arms of a comparison until the question is decided.

use std::collections::BTreeSet;
use std::error::Error;
use std::io::{self, Write};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use super::{CompareArgs, gate, stored};
use crate::cli::exit_code::Exit;
use crate::cli::terminal::Terminal;
use crate::cli::{CliResult, detached, own_checks, select};
use skill_evals::cases::case::repetition::Trials;
use skill_evals::cases::name::Filters;
use skill_evals::decide::Rule;
use skill_evals::decide::plan::{self as power, Design};
use skill_evals::decide::sequential::Course;
use skill_evals::process::{background, interrupt};
use skill_evals::report::paint::Paint;
use skill_evals::report::{diagnostics, estimate as words};
use skill_evals::results::{compared, course, estimate};
use skill_evals::run::arms::{self, Pairing};
use skill_evals::run::pairs::{self, Stopped};
use skill_evals::run::shared::Run;
use skill_evals::run::{history, opening, plan, ready};
use skill_evals::settings::Settings;
use skill_evals::store::RunFolder;
use skill_evals::trial::id::{Planned, TrialId};
use skill_evals::trial::run_record::{Arms, Chosen, PairRecord};

/// The most trials of both arms together, where nothing else is said.
const MOST_TRIALS: u64 = 400;

/// Compares by running trials: `arms`, or those of the run to go on with.
pub fn compare(args: &CompareArgs, arms: Option<Arms>) -> CliResult {
    let in_background = background::is_background();
    let (repository, mut settings, catalog) = args.repository.read()?;
    args.apply(&mut settings);
    let chosen = Chosen { modes: modes_to_run(args, arms.as_ref()), ..args.select.chosen() };
    let (chosen, mut arms, begun) = match arms {
        Some(arms) => (chosen, arms, Vec::new()),
        None => earlier(args, &repository.root, chosen)?,
    };
    select::apply(&chosen, &mut settings)?;
    // An arm's model rules over the model of both.
    if let Some(model) = settings.model.take() {
        settings.modes.iter_mut().for_each(|mode| Arc::make_mut(mode).model = Some(model.clone()));
    }
    let planned = plan::plan(&repository.root, &settings, &catalog, &Filters::default());
    let planned = planned.map_err(|problems| problems.join("\n"))?;
    let mut run = Run::new(repository.root, settings, catalog).with_plan(planned);
    run.chosen = chosen;
    run.versions = arms::versions(&run, &arms)?;
    let pairing = arms::pair(&run, &arms)?;
    check(&pairing)?;
    if !args.resume && arms::unchanged(&run, &arms) {
        return args.tell(&compared::unchanged((arms.a.label, arms.b.label), args.rule()));
    }
    arms.cases = pairing.cases.iter().map(|case| case.name.clone()).collect();
    arms.left_out.clone_from(&pairing.left_out);
    arms.outcome_only = pairing.outcome_only;
    tell_of_gone(&begun, &pairing, run.settings.force)?;
    let pair_of_each = 2 * pairing.cases.len() as u64;
    let earlier = Some(arms.max_trials).filter(|most| *most > 0);
    let most = args.max_trials.or(earlier).unwrap_or_else(|| MOST_TRIALS.max(pair_of_each));
    // What has begun counts, whatever the limit is now.
    arms.max_trials = most.max(2 * begun.len() as u64);
    let rule = Rule { alpha: arms.alpha, margin: arms.margin, ..args.rule() };
    let numbers = Design { cases: pairing.cases.len(), pairs: arms.max_trials / 2, before: power::USUAL_RATE };
    let remedy = "raise --max-trials, which counts both trials of a pair";
    gate::check(&args.gate, &rule, ("pairs of trials", remedy), |claim| power::reach(&numbers, &rule, claim))?;
    run = run.with_plan(pairing.plan(&pairs::begun(&begun)));
    run.arms = Some(arms.clone());
    if args.dry_run {
        let exit = dry_run(args, &run, &pairing, &numbers, &rule)?;
        ready::agents(&run)?;
        return Ok(exit);
    }
    ready::check(&run)?;
    run.own_checks = own_checks(&run.root)?;
    if args.background && !in_background {
        return detached::start(&run.root, &run.settings);
    }
    interrupt::listen(in_background)?;
    execute(args, &run, &arms, &pairing, rule)
}

/// Runs pairs until the question is decided, and tells what they came to.
fn execute(args: &CompareArgs, run: &Run, arms: &Arms, pairing: &Pairing, rule: Rule) -> CliResult {
    let live = opening::live(run).map_err(ToString::to_string)?;
    for (id, changed) in &live.kept_although_changed {
        writeln!(io::stderr(), "{id}: kept although changed since: {}", changed.join(", "))?;
    }
    let most = usize::try_from(arms.max_trials).unwrap_or(usize::MAX);
    let terminal = Arc::new(Mutex::new(Terminal::new(run, most, !args.quiet && !args.json).in_brief()));
    run.read_by(Arc::clone(&terminal));
    let state = Course::new(arms.cases.clone(), rule, arms.seed);
    let (state, stopped) = pairs::run(run, live, pairing, state, arms.max_trials)?;
    terminal.lock().unwrap_or_else(PoisonError::into_inner).end();
    let kept = run.close().map_err(|error| error.to_string());
    let compared = course::compared(&live.folder, arms, &state)?;
    live.folder.write_comparison(&compared)?;
    if !args.quiet && !args.json {
        writeln!(io::stdout())?;
    }
    let exit = args.tell(&compared)?;
    let note = match stopped {
        Stopped::Decided | Stopped::Trials => None,
        Stopped::NothingMeasured => {
            Some("no trial measured anything: see the errors above, and skill-evals doctor".to_owned())
        }
        Stopped::NoMore => {
            let why = run.no_more().map(|why| format!(": {why}")).unwrap_or_default();
            Some(format!("it ended early{why}; to go on: skill-evals compare --resume --run-id {}", live.folder.id()))
        }
        Stopped::Unreadable => Some(format!(
            "it ended early: what an earlier part of it measured cannot be graded, see above; once that is mended: skill-evals \
             compare --resume --run-id {}",
            live.folder.id()
        )),
        Stopped::Store(why) => Some(why),
    };
    for note in note.into_iter().chain(kept.err()).chain(run.ledger_trouble()) {
        writeln!(io::stderr(), "{note}")?;
    }
    if !args.quiet && !args.json {
        writeln!(io::stdout(), "{}", live.folder.path().display())?;
    }
    Ok(if interrupt::raised() { Exit::Interrupted } else { exit })
}

/// The modes that both arms start from, where they do not name their own.
fn modes_to_run(args: &CompareArgs, arms: Option<&Arms>) -> Vec<String> {
    match arms {
        Some(arms) if arms.a.mode.is_none() || arms.b.mode.is_none() => args.mode.clone(),
        _ => Vec::new(),
    }
}

/// What the run to go on with was to do, and the pairs that it has begun.
fn earlier(args: &CompareArgs, root: &Path, chosen: Chosen) -> Result<(Chosen, Arms, Vec<PairRecord>), Box<dyn Error>> {
    let id = args.run_id.as_deref().unwrap_or_default();
    let folder = RunFolder::open(root, id)?;
    let record =
        folder.run_record()?.ok_or_else(|| format!("{id} does not say what it was to do: it has no run.json"))?;
    let arms = record
        .arms
        .ok_or_else(|| format!("{id} compares nothing; to go on: skill-evals run --resume --run-id {id}"))?;
    stored::tell_of_lost_pairs(&folder)?;
    Ok((chosen.or(record.chosen), arms, folder.pairs()?))
}

/// Refuses what cannot be compared before it costs anything.
fn check(pairing: &Pairing) -> Result<(), String> {
    for case in &pairing.cases {
        if let Err(problems) = case.a.found.case() {
            return Err(format!("a case to compare is wrong\n{}", diagnostics::render(problems, Paint::Plain)));
        }
    }
    if !pairing.cases.is_empty() {
        return Ok(());
    }
    match pairing.left_out.first() {
        Some((case, why)) => Err(format!("no case can be run in both arms; {case}: {why}")),
        None => Err("no case is selected".to_owned()),
    }
}

/// Pairs that have begun and whose cases are not there any more would be missing from the answer.
fn tell_of_gone(begun: &[PairRecord], pairing: &Pairing, force: bool) -> Result<(), Box<dyn Error>> {
    let gone: BTreeSet<String> = begun.iter().filter(|pair| pairing.case_of(pair).is_none()).map(of_case).collect();
    if gone.is_empty() {
        return Ok(());
    }
    let list = gone.into_iter().collect::<Vec<_>>().join(", ");
    if !force {
        return Err(
            format!("cannot go on: {list} no longer exists in either arm; --force leaves those pairs out").into()
        );
    }
    writeln!(io::stderr(), "left out, since they no longer exist in either arm: {list}")?;
    Ok(())
}

fn of_case(pair: &PairRecord) -> String {
    format!("{}/{}", pair.b.skill, pair.b.case)
}

fn dry_run(args: &CompareArgs, run: &Run, pairing: &Pairing, numbers: &Design, rule: &Rule) -> CliResult {
    ready::foresee(run, true)?;
    let ids: Vec<TrialId> = run.plan.ids().collect();
    let mut known = history::known_costs(&run.root, &run.settings.prices, &ids);
    // An arm that never ran takes about what the other did.
    for case in &pairing.cases {
        let [a, b] = [&case.a, &case.b].map(Planned::case_in_mode);
        for (of, other) in [(&a, &b), (&b, &a)] {
            if let (None, Some(found)) = (known.get(of), known.get(other).copied()) {
                known.insert(of.clone(), found);
            }
        }
    }
    let estimate = estimate::estimate(&ids, &known, run.settings.max_cost_usd);
    let found = power::detectable(numbers, rule, power::USUAL_POWER);
    let mut out = io::stdout().lock();
    if args.json {
        let plan = serde_json::json!({"cases": pairing.cases.len(), "max_trials": numbers.pairs * 2, "rule": rule,
            "detectable_drop": found, "power": power::USUAL_POWER, "first_pass": estimate,
            "all_trials": estimate.of_trials(numbers.pairs * 2), "left_out": pairing.left_out});
        super::print_json(&mut out, &plan)?;
        return Ok(Exit::Clean);
    }
    let pairs = numbers.pairs;
    writeln!(
        out,
        "{}, at most {} trials in pairs, {} of them for a first look at every case",
        diagnostics::counted(pairing.cases.len(), "case"),
        pairs * 2,
        ids.len()
    )?;
    match found {
        Some(drop) => {
            writeln!(out, "{}; a drop of few cases is found sooner", words::detectable(numbers.before, drop))?;
        }
        None => writeln!(out, "so few trials find no drop with 80 % probability")?,
    }
    for (case, why) in &pairing.left_out {
        writeln!(out, "{case} is left out: {why}")?;
    }
    writeln!(out, "the first look:")?;
    out.write_all(words::render(&estimate).as_bytes())?;
    out.write_all(words::of_trials(&estimate, numbers.pairs * 2).as_bytes())?;
    Ok(Exit::Clean)
}

impl CompareArgs {
    /// Settings that no earlier part of a run decides.
    fn apply(&self, settings: &mut Settings) {
        self.limits.apply(settings);
        settings.run_id = self.run_id.clone().or(settings.run_id.take());
        settings.resume = self.resume;
        settings.force |= self.force;
        settings.record = false;
        settings.repetition.asked.trials = Some(Trials::Times(1));
    }
}
