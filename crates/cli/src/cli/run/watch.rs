//! `run --watch`: replays what each edit touches. Digests say what that is: those that make a recording stale or aged, and one
//! of what a case expects.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use super::{RunArgs, execute};
use crate::cases::case_parts::CasePart;
use crate::cases::catalog::{ARTIFACTS, EVALS};
use crate::cases::skills::default_skill_roots;
use crate::cli::exit_code::Exit;
use crate::cli::output::text_stdout;
use crate::cli::{CliResult, CliResultOf, custom_checks, print_error};
use crate::engine::Loaded;
use crate::engine::choose::{self, no_match, planned};
use crate::files::bounded::Stamps;
use crate::grade::rubric;
use crate::process::interrupt;
use crate::report::diagnostics::counted;
use crate::run::case_digests::{self, CaseDigests};
use crate::run::digests::opened_skills;
use crate::run::plan::PlannedCase;
use crate::run::planned::PlannedRun;
use crate::run::preflight;
use crate::settings::CommandAnswer;
use crate::store::{self, RECORDINGS};
use crate::text::diagnostic::shown_path;
use crate::text::{cut, escape};
use crate::trial::event::{EventListener, RunEvent};
use crate::trial::id::CaseInMode;
use crate::trial::outcome::AttemptCost;
use crate::trial::outcome::TrialError;

// The values of `--watch`.
pub const REPLAY: &str = "replay";
pub const LIVE: &str = "live";

/// How often files are looked at. An edit is over if nothing changes from one look to the next.
const LOOK: Duration = Duration::from_millis(200);

/// Looking takes at most one part in this many of the time, and happens at least once in [`LONGEST_PAUSE`].
const LOOK_SHARE: u32 = 20;
const LONGEST_PAUSE: Duration = Duration::from_secs(2);

/// Maximum number of changed files that a line names.
const MAX_NAMED: usize = 3;

/// Runs until Ctrl-C.
pub fn watch(args: &RunArgs, is_live: bool) -> CliResult {
    if args.record && !is_live {
        return Err("--record needs new trials: --watch=live runs agents for what is stale or not recorded".into());
    }
    let root = args.start.repository.open()?.root;
    interrupt::listen(false)?;
    let mut session = WatchSession::new(args, is_live);
    // Known before the first results, so that an edit after these is the next one. Without a whole repository, the first round
    // says what is broken.
    let mut places =
        session.prepared(false).map_or_else(|_| BTreeSet::from([root.join(EVALS)]), |run| self::places(&run));
    let mut changed = Vec::new();
    while !interrupt::raised() {
        // Before anything is read: an edit from now on is the next one.
        let stamps = look(&root, &places);
        match session.round(&changed) {
            // An edit of a file that nobody looked at until now may have been missed.
            Ok(found) if found != places => {
                places = found;
                changed.clear();
                continue;
            }
            Ok(_) => {}
            // A file that is broken while it is edited is shown, and waited for.
            Err(error) => print_error(&error),
        }
        changed = next_edit(&root, &places, &stamps);
    }
    Ok(Exit::Clean)
}

fn look(root: &Path, places: &BTreeSet<PathBuf>) -> Stamps {
    // A skill may be the whole repository.
    let skipped = [RECORDINGS, ARTIFACTS, "target", ".git"].map(|name| root.join(name));
    Stamps::of(places, |path| skipped.iter().any(|skipped| path == skipped))
}

/// Waits for the end of an edit. Returns the changed files, from the root; none after Ctrl-C.
fn next_edit(root: &Path, places: &BTreeSet<PathBuf>, before: &Stamps) -> Vec<PathBuf> {
    let mut pause = LOOK;
    let mut last = None;
    while !interrupt::raised() {
        thread::sleep(pause);
        let start = Instant::now();
        let now = look(root, places);
        pause = (start.elapsed() * LOOK_SHARE).clamp(LOOK, LONGEST_PAUSE);
        if now != *before && last.as_ref() == Some(&now) {
            return now.changed_since(before).into_iter().map(|path| shown_path(root, path)).collect();
        }
        last = Some(now);
    }
    Vec::new()
}

/// The directories and files that decide results: skills, evals, and what cases name elsewhere.
fn places(run: &PlannedRun) -> BTreeSet<PathBuf> {
    let named = run.settings.skill_roots.iter().flatten().map(|root| root.as_path().to_path_buf());
    let usual = default_skill_roots().map(PathBuf::from);
    let skills = run.catalog.skills.iter().map(|found| found.skill().folder.clone());
    let mut places: Vec<PathBuf> = named.chain(usual).chain(skills).chain([PathBuf::from(EVALS)]).collect();
    places.extend(rubric::judge_paths(&run.settings).map(Path::to_path_buf));
    let of_mocks = run.settings.mocks.iter().flat_map(CommandAnswer::sources);
    places.extend(of_mocks.map(|path| path.as_path().to_path_buf()));
    for case in run.plan.entries.iter().filter_map(|entry| entry.planned.found.case().ok()) {
        places.extend(case.parts().iter().flat_map(CasePart::files));
    }
    places.sort();
    // What is in another one of them is looked at with it.
    places.dedup_by(|place, outer| place.starts_with(outer));
    places.into_iter().map(|place| run.root.join(place)).collect()
}

/// What is known from one edit to the next.
struct WatchSession<'a> {
    args: &'a RunArgs,
    is_live: bool,
    /// What decided the last results.
    seen: Option<BTreeMap<CaseInMode, CaseDigests>>,
    /// The skills that each recording opened.
    opened: HashMap<CaseInMode, Vec<String>>,
    /// The cost of all live trials so far, to which the limits apply.
    spent: AttemptCost,
}

impl<'a> WatchSession<'a> {
    fn new(args: &'a RunArgs, is_live: bool) -> Self {
        Self { args, is_live, seen: None, opened: HashMap::new(), spent: AttemptCost::default() }
    }

    /// Runs the cases that the change of these files touches. Returns where to look for the next edit.
    fn round(&mut self, changed: &[PathBuf]) -> CliResultOf<BTreeSet<PathBuf>> {
        let mut run = self.prepared(false)?;
        let places = places(&run);
        let now: BTreeMap<CaseInMode, CaseDigests> =
            run.plan.entries.iter().map(|entry| (entry.planned.case_in_mode(), self.digests(&run, entry))).collect();
        let is_touched = |case: &CaseInMode| self.seen.as_ref().is_none_or(|seen| seen.get(case) != now.get(case));
        let mut plan = std::mem::take(&mut run.plan);
        plan.entries.retain(|entry| is_touched(&entry.planned.case_in_mode()));
        let cases = counted(plan.entries.len(), "case");
        if self.seen.is_none() {
            say(&format!("watching {cases}; Ctrl-C ends\n"))?;
        } else if !changed.is_empty() {
            let time = jiff::Timestamp::now().strftime("%H:%M:%S");
            let what = if plan.is_empty() { "nothing to run".to_owned() } else { cases };
            say(&format!("\n{time} UTC  {} changed: {what}", named(changed)))?;
        }
        if !plan.is_empty() {
            let not_measured = self.run(run.with_plan(plan))?;
            if self.is_live && self.seen.is_some() && !not_measured.is_empty() {
                self.live(&not_measured)?;
            }
        }
        self.seen = Some(now);
        Ok(places)
    }

    /// The run of all selected cases.
    fn prepared(&self, is_live: bool) -> CliResultOf<PlannedRun> {
        let Loaded { repository, mut settings, catalog } = self.args.start.read()?;
        settings.record = is_live && self.args.record;
        (settings.run_id, settings.resume) = (None, false);
        settings.max_tokens =
            settings.max_tokens.map(|limit| limit.saturating_sub(self.spent.tokens.unwrap_or_default()));
        settings.max_cost_usd = settings.max_cost_usd.map(|limit| limit - self.spent.cost_usd.unwrap_or_default());
        let mut chosen = self.args.choice.chosen(&settings)?;
        chosen.replay = !is_live;
        choose::apply(&chosen, &mut settings)?;
        let run = planned(Loaded { repository, settings, catalog }, chosen)?;
        if run.plan.is_empty() {
            return Err(no_match(&run.chosen.filters, &run.catalog, &run.settings).into());
        }
        Ok(run)
    }

    fn digests(&mut self, run: &PlannedRun, entry: &PlannedCase) -> CaseDigests {
        let opened = self.opened.entry(entry.planned.case_in_mode()).or_insert_with(|| {
            let recording = store::recording(&run.root, &entry.planned.trial(1)).meta();
            recording.map(|meta| opened_skills(&meta.inputs)).unwrap_or_default()
        });
        case_digests::of_case(run, &entry.planned, opened)
    }

    /// Runs the plan. Returns the cases whose recordings are stale or missing.
    fn run(&mut self, mut run: PlannedRun) -> CliResultOf<BTreeSet<CaseInMode>> {
        preflight::check(&run)?;
        run.custom_checks = custom_checks(&run.root, &run.settings)?;
        let run = run.start();
        let not_measured = Arc::<Mutex<NotMeasured>>::default();
        run.read_by(Arc::clone(&not_measured));
        let host = self.args.host();
        execute(self.args, &host.engine(&self.args.start), &run)?;
        if run.settings.live {
            self.spent = self.spent.and(run.figures().summary.total.spent);
        }
        let cases = std::mem::take(&mut not_measured.lock().unwrap_or_else(PoisonError::into_inner).0);
        Ok(cases)
    }

    /// Runs agents for these cases, within what is left of the limits.
    fn live(&mut self, cases: &BTreeSet<CaseInMode>) -> CliResultOf<()> {
        let mut run = self.prepared(true)?;
        run.plan.entries.retain(|entry| cases.contains(&entry.planned.case_in_mode()));
        let is_used_up =
            run.settings.max_tokens == Some(0) || run.settings.max_cost_usd.is_some_and(|left| left <= 0.0);
        let (plan, cases) = (std::mem::take(&mut run.plan), counted(cases.len(), "case"));
        if is_used_up {
            return Ok(say(&format!("{cases} not run: the limit is used up"))?);
        }
        say(&format!("running agents for {cases}"))?;
        run.chosen.trials_by_name = plan.first_trials();
        for entry in &plan.entries {
            self.opened.remove(&entry.planned.case_in_mode());
        }
        self.run(run.with_plan(plan))?;
        Ok(())
    }
}

/// Prints a line at once. Nothing holds standard output afterwards: trials print too.
fn say(line: &str) -> io::Result<()> {
    let mut out = text_stdout();
    writeln!(out, "{}", escape::block(line))?;
    out.flush()
}

/// The first of these files, and the number of others.
fn named(changed: &[PathBuf]) -> String {
    let names: Vec<String> = changed.iter().map(|path| path.display().to_string()).collect();
    escape::line(&cut::names(&names, MAX_NAMED))
}

/// Collects the cases whose recordings are stale, missing or unreadable.
#[derive(Debug, Default)]
struct NotMeasured(BTreeSet<CaseInMode>);

impl EventListener for NotMeasured {
    fn on_event(&mut self, event: &RunEvent) {
        if let RunEvent::Finished { id, result, .. } = event
            && let Err(TrialError::Stale { .. } | TrialError::NotRecorded | TrialError::Unreadable(_)) = result.as_ref()
        {
            self.0.insert(CaseInMode::of(id));
        }
    }
}
