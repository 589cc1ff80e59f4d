//! Compares two sides by running trials of both in pairs, until the plan of the comparison is done.

use std::collections::{BTreeSet, HashMap};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::choose::{self, planned, to_resume};
use super::{Engine, Loaded, MostTrials};
use crate::decide::USUAL_RATE;
use crate::decide::plan::{ComparePlan, UnreachableResult, reach};
use crate::decide::promise::{ExpectedCases, PlanPromise};
use crate::decide::result::CompareResult;
use crate::decide::{MARGIN, Rule};
use crate::report::diagnostics::{self, counted};
use crate::report::rate;
use crate::results::compared::{self, ComparisonResults};
use crate::results::estimate::Estimate;
use crate::results::gate::ComparedRun;
use crate::results::stored_comparison;
use crate::run::kept_store::KeptStore;
use crate::run::live::LiveRun;
use crate::run::pairing::Pairing;
use crate::run::pairs::{self, PairsStopped};
use crate::run::planned::PlannedRun;
use crate::run::started::StartedRun;
use crate::run::{expected_cost, kept, pairing, preflight, rate_limiter, same_contents};
use crate::settings::trials::Trials;
use crate::settings::{Settings, Stop};
use crate::store::RunFolder;
use crate::text::problem::Problem;
use crate::trial::id::TrialId;
use crate::trial::outcome::NotRun;
use crate::trial::run_record::{ComparedSide, ComparedSides, PairRecord, RunChoices, RunRecord};
use crate::trial::shard::Shard;

/// A comparison that is to run, whoever asks for it.
#[derive(Clone, Debug)]
pub struct ComparisonRequest {
    pub chosen: RunChoices,
    /// The sides; `None` if a run is resumed, which knows them.
    pub sides: Option<ComparedSides>,
    /// The results that fail; none for the usual ones.
    pub fails: Vec<CompareResult>,
    /// Whether numbers that can decide nothing are refused, and its cost has a limit.
    pub must_decide: bool,
    /// Whether the limits are those of a gate.
    pub is_gate: bool,
    pub max_trials: Option<u64>,
    /// How long kept trials may stand for trials of the baseline; `None` if none do.
    pub max_age: Option<Duration>,
    /// Comparisons that have ended and answer for this one if they have its contents.
    pub ended: Vec<String>,
    /// What it may cost in US dollars, if that is less than the settings allow.
    pub max_cost_usd: Option<f64>,
    /// When trials end, unless the user says otherwise.
    pub stop: Stop,
    /// What to do about results that cannot be reached.
    pub remedy: &'static str,
}

impl ComparisonRequest {
    /// The usual request about these sides.
    pub fn about(sides: impl Into<Option<ComparedSides>>) -> Self {
        Self {
            chosen: RunChoices::default(),
            sides: sides.into(),
            fails: Vec::new(),
            must_decide: true,
            is_gate: false,
            max_trials: None,
            max_age: None,
            ended: Vec::new(),
            max_cost_usd: None,
            stop: Stop::End,
            remedy: "raise --max-trials, which counts both trials of a pair, or choose other results",
        }
    }
}

/// These sides, before their cases are known.
pub fn sides(baseline: ComparedSide, candidate: ComparedSide, rule: &Rule, plan: ComparePlan) -> ComparedSides {
    let mut sides = ComparedSides::of(baseline, candidate, rule.alpha);
    sides.margin = rule.margin;
    sides.plan = plan;
    sides.seed = fastrand::u64(..);
    sides
}

/// The skills of a commit.
pub fn at_commit(commit: String, label: String) -> ComparedSide {
    let mut side = ComparedSide::default().called(label);
    side.commit = Some(commit);
    side
}

/// The skills as they are.
pub fn working_tree() -> ComparedSide {
    ComparedSide::default().called("the working tree".to_owned())
}

/// The same as the other side.
pub fn repeated(label: &str) -> ComparedSide {
    let mut side = ComparedSide::default().called(label.to_owned());
    side.again = true;
    side
}

/// With the skills against without them, in this mode. Each case has its most pairs.
pub fn lift(mode: &str, pairs: impl IntoIterator<Item = (String, u64)>) -> ComparisonRequest {
    let side = |label: String| ComparedSide::default().called(label).in_mode(Some(mode.to_owned()));
    let mut without = side(format!("the mode {mode} without skills"));
    without.without = true;
    let rule = Rule { margin: Some(MARGIN), ..Rule::default() };
    let mut sides = sides(without, side(format!("the mode {mode}")), &rule, ComparePlan::UntilDecided);
    sides.pairs = pairs.into_iter().collect();
    let max_trials = Some(2 * sides.pairs.values().sum::<u64>());
    // A look at a few trials is worth it: the interval says how little they show.
    ComparisonRequest { max_trials, must_decide: false, remedy: "raise --trials", ..ComparisonRequest::about(sides) }
}

/// What a comparison has measured.
pub struct MeasuredComparison {
    pub compared: ComparisonResults,
    /// The directory of the run; `None` if both sides have the same skills, so that nothing ran.
    pub folder: Option<PathBuf>,
    /// Why the run ended before its plan was done, and what to do.
    pub ended_early: Option<String>,
    /// How to measure trials that were lost.
    pub remedy: String,
    /// What it took, and why cases failed.
    pub took: ComparedRun,
    /// What it cost in dollars; `None` if that is unknown.
    pub cost_usd: Option<f64>,
}

/// A comparison before its first trial.
pub enum PreparedComparison {
    /// Both sides have the same skills, so that nothing runs.
    Unchanged(Box<UnchangedComparison>),
    /// The shard has none of this number of cases.
    NoCase(Shard, usize),
    /// Its trials may run.
    Ready(Box<ReadyComparison>),
}

/// Two sides that do not differ.
pub struct UnchangedComparison {
    pub sides: ComparedSides,
    pub pairing: Pairing,
    pub max_cost_usd: Option<f64>,
}

/// A comparison whose trials may run.
pub struct ReadyComparison {
    pub run: PlannedRun,
    pub pairing: Pairing,
    pub sides: ComparedSides,
}

impl UnchangedComparison {
    /// The answer: nothing was measured, since nothing differs.
    pub fn answer(self) -> MeasuredComparison {
        let rule = stored_comparison::rule(&self.sides);
        MeasuredComparison {
            compared: compared::unchanged((self.sides.baseline.label, self.sides.candidate.label), rule),
            folder: None,
            ended_early: None,
            remedy: String::new(),
            took: ComparedRun::default(),
            cost_usd: Some(0.0),
        }
    }
}

impl Engine<'_> {
    /// Finds the cases and trials of a comparison, and what earlier starts have measured of it. Starts nothing.
    ///
    /// # Errors
    ///
    /// If the sides, the cases or the numbers cannot be compared.
    pub fn prepare(&self, loaded: Loaded, mut request: ComparisonRequest) -> Result<PreparedComparison, Problem> {
        let Loaded { repository, mut settings, catalog } = loaded;
        settings.max_cost_usd = request.max_cost_usd.or(settings.max_cost_usd);
        let chosen = std::mem::take(&mut request.chosen);
        if let Some(shard) = chosen.shard {
            name_shard(&repository.root, &mut settings, shard, !self.dry_run)?;
        }
        let resumes = request.sides.is_none();
        let (chosen, sides, begun) = match request.sides.take() {
            Some(sides) => (chosen, sides, Vec::new()),
            None => earlier(self, &repository.root, &settings, chosen)?,
        };
        let has_modes = sides.baseline.mode.is_some() && sides.candidate.mode.is_some();
        settings.resume = resumes;
        let mut run = self.once_each(Loaded { repository, settings, catalog }, chosen, &request, has_modes)?;
        run.versions = pairing::versions(&run, &sides)?;
        if !request.is_gate {
            // A gate has said it.
            run.versions.iter().filter_map(|version| version.warning.as_deref()).for_each(|why| self.host.warn(why));
        }
        let mut pairing = pairing::pair(&run, &sides)?;
        check(&pairing)?;
        // The others have as many trials as their cases have, and who resumes has seen what it took.
        if request.must_decide && !resumes {
            rate_limiter::set_default_limit(&mut run.settings, &pairing.plan(&HashMap::new(), sides.plan));
        }
        let all = pairing.cases.len();
        if let Some(shard) = run.chosen.shard {
            run = run.of_shard(shard)?;
            pairing = pairing.part(shard);
            if pairing.cases.is_empty() {
                return Ok(PreparedComparison::NoCase(shard, all));
            }
        }
        if !resumes && pairing::unchanged(&run, &sides) {
            let max_cost_usd = run.settings.max_cost_usd;
            return Ok(PreparedComparison::Unchanged(Box::new(UnchangedComparison { sides, pairing, max_cost_usd })));
        }
        let ready = ReadyComparison { run, pairing, sides };
        self.ready(ready, &request, begun, all).map(|ready| PreparedComparison::Ready(Box::new(ready)))
    }

    /// Finds what earlier starts have measured of a comparison whose cases are known, of `all` of which a shard has a part.
    fn ready(
        &self,
        ready: ReadyComparison,
        request: &ComparisonRequest,
        mut begun: Vec<PairRecord>,
        all: usize,
    ) -> Result<ReadyComparison, Problem> {
        let ReadyComparison { mut run, pairing, mut sides } = ready;
        sides.cases = pairing.cases.iter().map(|case| case.name.clone()).collect();
        sides.left_out.clone_from(&pairing.left_out);
        sides.outcome_only = pairing.outcome_only;
        if sides.outcome_only {
            check_end(run.chosen.overrides.stop)?;
            run.settings.stop = Some(Stop::End);
        }
        if !run.settings.resume {
            let keeps = request.max_age.map(|max_age| KeptStore::new(&run, max_age, pairing.baselines()));
            run.kept = keeps.transpose()?;
            begun = continued(self, &request.ended, &mut run, &pairing, &mut sides)?;
        }
        if let Some(list) = gone(&begun, &pairing) {
            if !run.settings.force {
                return Err(format!(
                    "cannot resume: {list} no longer exists on either side; --force leaves those pairs out"
                )
                .into());
            }
            self.host.note(&format!("left out, since they no longer exist on either side: {list}"));
        }
        if sides.plan == ComparePlan::Quick && begun.is_empty() && sides.all_from.is_none() {
            let rates = expected_cost::rates_apart_from_evidence(&run, pairing.baselines());
            sides.all_from = Some(ExpectedCases::by(rates.into_iter()).all_from());
        }
        // Pairs that started count, whatever the limit is now.
        sides.max_trials = most_trials(request.max_trials, &mut sides, all)
            .max(begun.iter().flat_map(PairRecord::trials).count() as u64);
        let rule = stored_comparison::rule(&sides);
        if request.must_decide {
            let numbers = (pairing.cases.len(), sides.max_trials);
            let gate = (&*request.fails, request.is_gate);
            check_reachable(gate, &rule, "trials", request.remedy, |result| reach(sides.plan, numbers, &rule, result))?;
        }
        run = run.with_plan(pairing.plan(&pairs::begun(&begun), sides.plan));
        run.sides = Some(sides.clone());
        run.is_stored = true;
        Ok(ReadyComparison { run, pairing, sides })
    }

    /// The run of the chosen cases, once each, without its sides. `has_modes` is whether these have modes of their own.
    pub(super) fn once_each(
        &self,
        loaded: Loaded,
        mut chosen: RunChoices,
        request: &ComparisonRequest,
        has_modes: bool,
    ) -> Result<PlannedRun, Problem> {
        let Loaded { repository, mut settings, catalog } = loaded;
        settings.record = false;
        settings.repetition.asked.trials = Some(Trials::Times(1));
        choose::apply(&chosen, &mut settings)?;
        settings.stop.get_or_insert(request.stop);
        // A side's model rules over the model of both.
        if let Some(model) = settings.model.take() {
            settings.modes.iter_mut().for_each(|mode| Arc::make_mut(mode).model = Some(model.clone()));
        }
        if !has_modes {
            self.choose_default_modes(&repository.root, &mut settings, &catalog, &mut chosen)?;
        }
        let mut run = planned(Loaded { repository, settings, catalog }, chosen)?;
        if request.is_gate {
            rate_limiter::set_default_limit(&mut run.settings, &run.plan);
        }
        Ok(run)
    }

    /// Runs pairs of trials until the plan is done. `None` if another process does it.
    ///
    /// # Errors
    ///
    /// If the run cannot begin, or what it measured not be read.
    pub fn compare(&self, ready: ReadyComparison) -> Result<Option<MeasuredComparison>, Problem> {
        let ReadyComparison { run, pairing, sides } = ready;
        let Some(run) = self.begin(run)? else { return Ok(None) };
        let live = run.opened().ok_or("the run could not be opened")?;
        self.pairs(&run, live, &pairing, &sides).map(Some)
    }

    fn pairs(
        &self,
        run: &StartedRun,
        live: &LiveRun,
        pairing: &Pairing,
        sides: &ComparedSides,
    ) -> Result<MeasuredComparison, Problem> {
        let began = Instant::now();
        let most = usize::try_from(sides.max_trials).unwrap_or(usize::MAX);
        let mut state = Some(stored_comparison::sequential_test(sides));
        let mut ran = None;
        self.host.watch(run, MostTrials::AtMost(most), &mut || {
            ran = state.take().map(|state| pairs::run(run, live, pairing, state, sides.max_trials));
        });
        let (state, stopped) = ran.ok_or("no trial ran")??;
        let mut errors = run.close();
        let compared = stored_comparison::compared(&live.folder, sides, &state)?;
        errors.extend(live.folder.write_comparison(&compared).err().map(|error| error.to_string()));
        self.unwritten(errors);
        if let Err(error) = kept::remove_old(run) {
            self.host.warn(&error.to_string());
        }
        for warning in kept::warnings(run) {
            self.host.warn(&warning);
        }
        let summary = run.figures().summary.clone();
        let mut took = stored_comparison::run_cost(&live.folder, sides, &summary, began.elapsed())?;
        took.max_cost_usd = run.settings.max_cost_usd;
        let remedy = live.folder.remedy();
        Ok(MeasuredComparison {
            compared,
            folder: Some(live.folder.path().to_path_buf()),
            ended_early: ended_early(&stopped, run, &remedy),
            remedy,
            took,
            cost_usd: run.cost_usd(),
        })
    }
}

impl ReadyComparison {
    /// Whether it could begin but for its agents: what a dry run finds before it says what would run.
    ///
    /// # Errors
    ///
    /// If it could not.
    pub fn check(&self) -> Result<(), Problem> {
        preflight::check_dry_run(&self.run)
    }

    /// What it is expected to find and to cost.
    pub fn expected(&self) -> Expectation {
        Expectation::of(&self.run, &self.pairing, &self.sides)
    }

    /// How many kept trials of the base may be used, and how many trials of the same contents have been measured.
    pub fn known(&self) -> (usize, usize) {
        let store = self.run.kept.as_ref();
        let kept =
            store.map_or(0, |store| self.pairing.baselines().filter(|case| !store.unused(case).is_empty()).count());
        let contents = store.and_then(|_| same_contents::of_comparison(&self.run, &self.pairing, &self.sides).ok());
        (kept, store.zip(contents).map_or(0, |(store, contents)| store.measured(&contents)))
    }
}

/// The trials of all compared cases, if each has a limit of its own.
fn most_of_each(sides: &mut ComparedSides) -> Option<u64> {
    let ComparedSides { pairs, cases, .. } = sides;
    pairs.retain(|case, _| cases.contains(case));
    (!pairs.is_empty()).then(|| 2 * pairs.values().sum::<u64>())
}

/// The most trials of both sides, of whose cases a shard has a part of `all`.
fn most_trials(asked: Option<u64>, sides: &mut ComparedSides, all: usize) -> u64 {
    let cases = sides.cases.len() as u64;
    match (most_of_each(sides).or(asked), sides.max_trials) {
        // That of an earlier part, of which a shard has its part already.
        (None, earlier @ 1..) => earlier,
        (asked, _) => asked.unwrap_or_else(|| sides.plan.default_limit(all)) * cases / all as u64,
    }
}

/// Refuses trials that end before their outcome shows.
fn check_end(asked: Option<Stop>) -> Result<(), Problem> {
    if asked == Some(Stop::Settled) {
        return Err("a comparison with and without the skill is about the outcome, which only the end of a trial shows: leave out \
             --trial-end settled"
            .into());
    }
    Ok(())
}

/// Why a comparison ended before its plan was done, and what to do; `None` if its plan is done.
fn ended_early(stopped: &PairsStopped, run: &StartedRun, next: &str) -> Option<String> {
    match stopped {
        PairsStopped::Decided | PairsStopped::Trials => None,
        PairsStopped::NothingMeasured => Some(run.early_end_message().unwrap_or_else(|| {
            format!(
                "it ended early: again and again nothing was measured, see the errors above and skill-evals doctor; {next}"
            )
        })),
        PairsStopped::NoMore => Some(run.early_end_message().unwrap_or_else(|| {
            let why = run.no_more().map(|why| match why {
                NotRun::CostLimit(_) | NotRun::TokenLimit(_) if run.settings.limit_is_default => {
                    format!(": {why}, the default; --max-cost-usd or --max-tokens sets another")
                }
                why => format!(": {why}"),
            });
            let why = why.unwrap_or_default();
            format!("it ended early{why}; {next}")
        })),
        PairsStopped::CannotRun => Some(format!("it ended early: a case cannot run, see above; once that is mended, {next}")),
        PairsStopped::Unreadable => Some(format!(
            "it ended early: what an earlier part of it measured cannot be graded, see above; once that is mended, {next}"
        )),
    }
}

/// Refuses what cannot be compared before it costs anything.
fn check(pairing: &Pairing) -> Result<(), Problem> {
    for case in &pairing.cases {
        case.baseline.found.case().map_err(<[_]>::to_vec)?;
    }
    if !pairing.cases.is_empty() {
        return Ok(());
    }
    match pairing.left_out.first() {
        Some((case, why)) => Err(format!("no case can be compared; {case}: {why}").into()),
        None => Err("no case is selected".into()),
    }
}

/// That a shard has none of this number of cases: with few of them, some shards have none.
pub fn no_case(shard: Shard, all: usize) -> String {
    format!("shard {shard} has none of the {}", counted(all, "case"))
}

/// Gives the run the id of its shard. A run that `is_stored` needs the id of the whole run. A shard that has not started yet
/// has nothing to resume: systems start a task again with the same command.
///
/// # Errors
///
/// If the whole run has no id.
pub fn name_shard(root: &Path, settings: &mut Settings, shard: Shard, is_stored: bool) -> Result<(), Problem> {
    settings.run_id = settings.run_id.take().map(|id| shard.run_id(&id)).transpose()?;
    match &settings.run_id {
        Some(id) => settings.resume &= RunFolder::check_new(root, id).is_err(),
        None if is_stored => {
            return Err(
                format!("shard {shard} needs the id of the whole run: give every shard the same --run-id").into()
            );
        }
        None => {}
    }
    Ok(())
}

// What earlier starts of the same comparison have measured.

/// What the run to resume was to do, and the pairs that it has begun.
pub(super) fn earlier(
    engine: &Engine<'_>,
    root: &Path,
    settings: &Settings,
    chosen: RunChoices,
) -> Result<(RunChoices, ComparedSides, Vec<PairRecord>), Problem> {
    let folder = to_resume(root, settings)?;
    let id = folder.id();
    let record =
        folder.run_record()?.ok_or_else(|| format!("{id} does not say what it was to do: it has no run.json"))?;
    let sides = record.sides.ok_or_else(|| format!("{id} compares nothing; {}", folder.remedy()))?;
    if !sides.shards.is_empty() {
        return Err(format!("{id} is merged: {}", folder.remedy()).into());
    }
    if sides.measurement.is_some() {
        return Err(format!("{id} is of a gate: {}", folder.remedy()).into());
    }
    if let Some(why) = unreadable_pairs(&folder)? {
        engine.host.warn(&why);
    }
    Ok((chosen.or(record.chosen), sides, folder.pairs()?))
}

/// That pairs of a run cannot be read, if so.
///
/// # Errors
///
/// If none can be read.
pub fn unreadable_pairs(run: &RunFolder) -> Result<Option<String>, Problem> {
    let lost = run.damaged_pairs()?;
    let lines = counted(lost, "line");
    let why = || format!("{lines} of the pairs of {} cannot be read; they are not counted", run.id());
    Ok((lost > 0).then(why))
}

/// Makes the run continue an earlier start of the same comparison, if there is one. Returns the pairs that it began. A run of
/// `ended` is one if it has the same contents.
pub(super) fn continued(
    engine: &Engine<'_>,
    ended: &[String],
    run: &mut PlannedRun,
    pairing: &Pairing,
    sides: &mut ComparedSides,
) -> Result<Vec<PairRecord>, Problem> {
    let told = same_contents::of_comparison(run, pairing, sides);
    let Some(contents) = engine.contents(told) else { return Ok(Vec::new()) };
    run.contents = Some(same_contents::with_names(&contents, pairing.trials()));
    if engine.dry_run {
        return Ok(Vec::new());
    }
    let earlier = match run.kept {
        Some(_) => of_gates(engine, run, pairing, sides, &contents)?,
        None => same_contents::among(run, ended).or_else(|| engine.unfinished(run)),
    };
    let Some(folder) = earlier else { return Ok(Vec::new()) };
    if run.kept.is_none() {
        sides.all_from = folder.run_record()?.and_then(|record| record.sides?.all_from);
    }
    run.settings.resume = true;
    run.settings.run_id = Some(folder.id().to_owned());
    Ok(folder.pairs()?)
}

/// A run with the trials that gates with these contents have measured, if there are some.
fn of_gates(
    engine: &Engine<'_>,
    run: &mut PlannedRun,
    pairing: &Pairing,
    sides: &mut ComparedSides,
    contents: &str,
) -> Result<Option<RunFolder>, Problem> {
    let Some(kept) = &mut run.kept else { return Ok(None) };
    let mut told = None;
    let mut waits = || {
        told.get_or_insert_with(|| engine.host.note("another gate has the same contents: waiting for it"));
    };
    sides.measurement = Some(kept.continue_with(contents, &mut waits)?);
    sides.all_from = kept.all_from();
    run.sides = Some(sides.clone());
    preflight::check(run)?;
    // A run with the id of this one is that of a shard which starts again.
    let named = run.settings.run_id.as_ref().and_then(|id| RunFolder::open(&run.root, id).ok());
    let is_same = |record: &RunRecord| {
        let measurement = record.sides.as_ref().and_then(|sides| sides.measurement);
        record.contents == run.contents && measurement == sides.measurement
    };
    let named = match named {
        Some(folder) if folder.is_run()? => Some(folder),
        _ => None,
    };
    match named {
        Some(folder) if folder.run_record()?.as_ref().is_some_and(is_same) => Ok(Some(folder)),
        Some(folder) => {
            let (id, path) = (folder.id(), folder.path().display());
            Err(format!("the run `{id}` exists and compared something else: choose another --run-id, or delete {path}")
                .into())
        }
        None => Ok(kept::restored(run, pairing)?),
    }
}

/// The cases of pairs that have begun and that are not there any more, in words. Their pairs would be missing from the answer.
pub(super) fn gone(begun: &[PairRecord], pairing: &Pairing) -> Option<String> {
    let of_case = |pair: &PairRecord| format!("{}/{}", pair.candidate.skill, pair.candidate.case);
    let gone: BTreeSet<String> = begun.iter().filter(|pair| pairing.case_of(pair).is_none()).map(of_case).collect();
    (!gone.is_empty()).then(|| gone.into_iter().collect::<Vec<_>>().join(", "))
}

// Whether the trials of a comparison can give the results that are asked of it at all.

/// Refuses what can never fail, or never pass. A gate that is undecided has not passed. `reach` says whether a result can be reached with the `numbers` of
/// trials, and `remedy` how to get more of them.
pub fn check_reachable(
    (fails, is_gate): (&[CompareResult], bool),
    rule: &Rule,
    numbers: &str,
    remedy: &str,
    reach: impl Fn(CompareResult) -> Result<(), UnreachableResult>,
) -> Result<(), Problem> {
    let (fails, what) = if fails.is_empty() { (&CompareResult::HARM[..], "comparison") } else { (fails, "gate") };
    let mut passes = CompareResult::GATED.to_vec();
    passes.retain(|result| !fails.contains(result) && (!is_gate || *result != CompareResult::Undecided));
    if passes.is_empty() {
        return Err("this gate can never pass: it names every result; leave one out".into());
    }
    for (verb, results) in [("fail", fails), ("pass", &passes)] {
        let unreachable: Vec<UnreachableResult> = results.iter().filter_map(|result| reach(*result).err()).collect();
        if unreachable.len() < results.len() {
            continue;
        }
        let nearest = unreachable.iter().min_by_key(|unreachable| unreachable.needed.unwrap_or(u64::MAX));
        let needed = match nearest.and_then(|nearest| Some((nearest.needed?, nearest.have))) {
            Some((needed, have)) => format!("it takes {needed} {numbers}, and there are {have}"),
            None => format!("no number of {numbers} does"),
        };
        return Err(format!(
            "this {what} can never {verb} at these numbers: {needed} (α {}, margin {}); {remedy}",
            rule.alpha,
            rule.margin.unwrap_or_default()
        )
        .into());
    }
    Ok(())
}

// What a comparison is expected to find and to cost, before its first trial.

/// What a comparison is expected to find and to cost.
pub struct Expectation {
    pub promise: PlanPromise,
    /// With as many trials as the limit of cost pays, if that is fewer.
    pub within_cost: Option<PlanPromise>,
    /// What the first look at every case takes.
    pub first_pass: Estimate,
    /// The earlier trials that say how often the cases pass, and the number of cases that have none.
    pub earlier: u64,
    pub unknown: usize,
}

impl Expectation {
    pub(super) fn of(run: &PlannedRun, pairing: &Pairing, sides: &ComparedSides) -> Self {
        let ids: Vec<TrialId> = run.plan.ids().collect();
        let first_pass = expected_cost::estimate(run, &ids);
        let rates = expected_cost::rates(run, pairing.cases.iter().map(|case| &case.baseline));
        let cases = ExpectedCases { all_from: sides.all_from, ..ExpectedCases::by(rates.iter().copied()) };
        let rule = stored_comparison::rule(sides);
        let promise = |max_trials| PlanPromise::of(sides.plan, &cases, max_trials, &rule);
        let paid = run.settings.max_cost_usd.and_then(|limit| first_pass.trials_for(limit));
        Self {
            promise: promise(sides.max_trials),
            within_cost: paid.filter(|paid| *paid < sides.max_trials).map(promise),
            first_pass,
            earlier: rates.iter().map(|rate| rate.trials).sum(),
            unknown: rates.iter().filter(|rate| rate.trials == 0).count(),
        }
    }

    /// What the promise rests on, in words.
    pub fn basis(&self) -> String {
        let usual = rate::points(USUAL_RATE);
        let unknown = diagnostics::counted(self.unknown, "case");
        match (self.earlier, self.unknown) {
            (0, _) => format!("this assumes that the cases pass {usual} % now, since no earlier trial of them is here"),
            (earlier, 0) => {
                format!("this rests on {} of these cases", diagnostics::counted(earlier, "earlier trial"))
            }
            (earlier, _) => {
                let earlier = diagnostics::counted(earlier, "earlier trial");
                format!("this rests on {earlier}, and takes {unknown} without any to pass {usual} %")
            }
        }
    }
}
