//! `skill-evals compare`.

mod lift;
mod live;
mod stored;

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;
use std::path::{Path, PathBuf};

use clap::Args;

use super::exit_code::add_to_page;
use super::export_args::IN_PLACE;
use super::one_of;
use super::select::{CASES, Given, MODES, RULE, SIDES, STARTS, SelectArgs};
use super::start::StartArgs;
use crate::cli::exit_code::Exit;
use crate::cli::output::{document_stdout, stderr, warn};
use crate::cli::{CliResult, CliResultOf, print_answer, variants};
use crate::decide::plan::ComparePlan;
use crate::decide::result::CompareResult;
use crate::decide::{MARGIN, Rule};
use crate::engine;
use crate::engine::compare::{self, ComparisonRequest, repeated, working_tree};
use crate::engine::variants::VariantRequest;
use crate::exports::github;
use crate::files::look;
use crate::process::git;
use crate::report::{compared as words, diagnosis as report, markdown};
use crate::results::compared::ComparisonResults;
use crate::results::diagnosis::ModelComparison;
use crate::results::spread::ClusterBy;
use crate::run::changed_skills::change_locations;
use crate::run::variants::TrialLimit;
use crate::settings::mode::SkillSelection;
use crate::store::{self, RunFolder};
use crate::text::cut;
use crate::text::diagnostic::nearest;
use crate::text::escape;
use crate::text::problem::Problem;
use crate::trial::run_record::{ComparedSide, ComparedSides, VariantQuestion, VariantRun};
use stored::PageArgs;

pub use lift::lift;
pub use live::{DryRun, measure};

/// The end of `--help`, for 80 columns.
const EXAMPLES: &str = "Examples:
  skill-evals compare main             git's `main` against the working tree
  skill-evals compare v1 v2            two git references
  skill-evals compare RUN-A RUN-B      two stored runs; RUN-A,RUN-B are one side
  skill-evals compare old.jsonl RUN    the progress.jsonl of a run against a run
  skill-evals compare RUN              the result of a run that compared
  skill-evals compare --aa             one version with itself: the noise
  skill-evals compare --aa --kept      what changed in the trials gates kept
  skill-evals compare --with native --without
                                       with the skills against without skills
  skill-evals compare --mode mcp --mode native
                                       two modes
  skill-evals compare --baseline model=X --candidate model=Y
                                       also mode=, skills=GIT-REF, without, and
                                       offer=all, offer=alone, offer=SKILL+SKILL
  skill-evals compare --models X,Y,Z   the cheapest within the margin of the best
  skill-evals compare results.json     results of promptfoo, Inspect and other
                                       tools, in one file or in two
  skill-evals compare --table FILE     outcomes that were measured elsewhere

Exit codes:
  0    better, no worse, no harm seen, or unchanged
  1    broke or worse, whatever else holds
  2    could not run: invalid arguments, settings or cases, an unknown run,
       or a gate that these numbers cannot decide
  3    not measured: a case, or trials that the plan needs; or it ended early
  4    undecided
  130  interrupted
With --fail-on, the results that it names exit with 1, what was not measured
with 3, and all others with 0.";

#[derive(Args)]
#[expect(clippy::struct_excessive_bools, reason = "options as the command line has them")]
#[command(after_help = EXAMPLES)]
pub struct CompareArgs {
    // First: what is read of the arguments is taken out of them.
    #[command(flatten)]
    given: Given,
    /// One or two git references, stored runs, baseline files or result files of other tools; the baseline first
    #[arg(value_name = "GIT-REF|RUN|FILE", num_args = 0..=2, conflicts_with = "resume")]
    what: Vec<String>,
    /// Side with the skills, in this mode; `--without` is the other side
    #[arg(long, value_name = "MODE", requires = "without", conflicts_with_all = ["what", "mode", "baseline", "candidate", "aa", "resume"])]
    with: Option<String>,
    /// Side without skills
    #[arg(long, requires = "with", group = SIDES)]
    without: bool,
    /// Two modes are the sides; with a git reference, the modes to run
    #[arg(long, value_name = "MODE", conflicts_with = "resume", group = MODES)]
    mode: Vec<String>,
    /// What the baseline changes, such as `model=NAME` or `mode=mcp,offer=alone`
    #[arg(long, value_name = "KEY=VALUE,…", conflicts_with = "resume", group = SIDES)]
    baseline: Option<String>,
    /// What the candidate changes
    #[arg(long, value_name = "KEY=VALUE,…", conflicts_with = "resume", group = SIDES)]
    candidate: Option<String>,
    /// Compare one version with itself (an A/A test)
    #[arg(long, conflicts_with_all = ["what", "baseline", "candidate", "resume"])]
    aa: bool,
    /// With --aa: how much results drift over days, by the trials that `gate` kept; starts no agent
    #[arg(long, requires = "aa", conflicts_with_all = ["mode", "plan", "max_trials"], group = SIDES)]
    kept: bool,
    /// Find the cheapest of these models that is within the margin of the best
    #[arg(long, value_name = "MODEL,…", value_delimiter = ',', conflicts_with_all = ["what", "with", "baseline", "candidate", "aa", "plan", "fail_on", "model", "github", "resume"])]
    models: Vec<String>,
    /// Compare outcomes that were measured elsewhere: CSV or JSON with `case`, `side`, `passed`, `trials`; the first side is the baseline
    #[arg(long, value_name = "FILE", conflicts_with_all = ["what", "with", "without", "mode", "baseline", "candidate", "aa", "kept", "models", "github", "resume"])]
    table: Option<PathBuf>,
    /// Loss in pass rate that counts as no worse: 0.05 is five points of a hundred [default: 0.05]
    #[arg(long, value_name = "SHARE", value_parser = share, conflicts_with = "resume", group = RULE)]
    margin: Option<f64>,
    /// Chance of each false result [default: 0.05]
    #[arg(long, value_name = "SHARE", value_parser = share, conflicts_with = "resume", group = RULE)]
    alpha: Option<f64>,
    /// What cases come in, for the error over those that were not asked: cases of a cluster are likely to differ alike [default: case]
    #[arg(long, value_name = "CLUSTER", value_parser = one_of::<ClusterBy>(ClusterBy::WORDS), conflicts_with_all = ["models", "table", "resume"])]
    cluster: Option<ClusterBy>,
    /// Exit with 1 for these results [default: broke,worse]
    #[arg(long, alias = "gate", value_name = "RESULT,…", value_delimiter = ',', value_parser = one_of::<CompareResult>(RESULTS))]
    fail_on: Vec<CompareResult>,
    /// When to stop: `quick` finds cases that always passed and never do now, and most that pass once in ten [default: standard]
    #[arg(long, value_name = "PLAN", value_parser = one_of::<ComparePlan>(ComparePlan::WORDS), conflicts_with = "resume", group = STARTS)]
    plan: Option<ComparePlan>,
    /// Maximum number of trials, both sides together [default: by the plan and the number of cases]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(2..), group = STARTS)]
    max_trials: Option<u64>,
    #[command(flatten)]
    select: SelectArgs,
    #[command(flatten)]
    start: StartArgs,
    /// In GitHub Actions: annotate the result (an error if it fails the gate), and add it to the job
    #[arg(long, conflicts_with_all = ["json", "background"])]
    github: bool,
    /// Print one JSON document: every figure in full precision.
    #[arg(long, group = IN_PLACE)]
    json: bool,
    #[command(flatten)]
    pages: PageArgs,
}

pub fn compare(args: &CompareArgs) -> CliResult {
    args.pages.check(args.json || args.github)?;
    if let Some(file) = &args.table {
        return args.tell(&stored::of_table(args, file)?, None, "");
    }
    if let Some(compared) = stored::compare_elsewhere(args)? {
        return args.tell(&compared, None, stored::ELSEWHERE_REMEDY);
    }
    args.pages.refuse()?;
    if !args.models.is_empty() {
        return compare_models(args);
    }
    let root = args.start.repository.open()?.root;
    let target = asked(args, &root)?;
    if args.cluster.is_some() && !matches!(target, CompareTarget::Stored(..) | CompareTarget::Again(_)) {
        return Err(format!("--cluster needs {WHOLE}").into());
    }
    match target {
        CompareTarget::Stored(a, b) => {
            let (compared, early) = stored::compare(args, &root, &a, &b)?;
            args.tell(
                &args.clustered(compared)?,
                early,
                "`skill-evals run --resume --run-id …`, or another run, measures them again",
            )
        }
        CompareTarget::Kept => args.tell(&stored::drift_of_kept(args, &root)?, None, ""),
        CompareTarget::Again(run) => {
            let (compared, early) = stored::again(args, &run)?;
            args.tell(&args.clustered(compared)?, early, &run.remedy())
        }
        CompareTarget::Run(sides) => live::compare(args, Some(*sides)),
        CompareTarget::Variants(run) => {
            args.refuse_what_runs()?;
            refuse_what_decided(args, run.id())?;
            variants::end_of_stored(&run, show(args, &run)?)
        }
        CompareTarget::Resume if args.resumes_variants(&root) => compare_models(args),
        CompareTarget::Resume => live::compare(args, None),
    }
}

impl CompareArgs {
    fn request(&self, sides: Option<ComparedSides>) -> ComparisonRequest {
        let mut chosen = self.select.chosen();
        // The modes that both sides start from, if they do not name their own.
        if sides.as_ref().is_some_and(|sides| sides.baseline.mode.is_none() || sides.candidate.mode.is_none()) {
            chosen.modes = self.modes();
        }
        ComparisonRequest {
            chosen,
            fails: self.fail_on.clone(),
            max_trials: self.max_trials,
            ..ComparisonRequest::about(sides)
        }
    }

    fn rule(&self) -> Rule {
        let rule = Rule::default();
        Rule { alpha: self.alpha.unwrap_or(rule.alpha), margin: Some(self.margin.unwrap_or(MARGIN)), ..rule }
    }

    /// The modes that `--mode` and the values of `--case` name.
    fn modes(&self) -> Vec<String> {
        let of_cases = self.select.names.with_modes(&[]).into_iter().filter(|mode| !self.mode.contains(mode));
        self.mode.iter().cloned().chain(of_cases).collect()
    }

    /// Whether the run to resume has variants. If it cannot be read, resuming it says so.
    fn resumes_variants(&self, root: &Path) -> bool {
        let run = self.start.run_id.as_deref().and_then(|id| RunFolder::open(root, id).ok());
        run.and_then(|run| run.run_record().ok().flatten()).is_some_and(|record| record.variants.is_some())
    }

    /// The comparison of stored trials with the clusters that are asked for.
    fn clustered(&self, compared: ComparisonResults) -> CliResultOf<ComparisonResults> {
        let Some(by) = self.cluster else { return Ok(compared) };
        if compared.spread.is_none() {
            return Err(format!("--cluster {by}: needs two cases of {WHOLE}").into());
        }
        let tags = if by == ClusterBy::Tag { self.tags()? } else { BTreeMap::new() };
        let unknown = RefCell::new(BTreeSet::new());
        let cluster = |case: &str| match by {
            ClusterBy::Case => case.to_owned(),
            ClusterBy::Skill => case.split('/').next().unwrap_or(case).to_owned(),
            ClusterBy::Tag => match tags.get(case) {
                Some(tags) if !tags.is_empty() => tags.clone(),
                known => {
                    unknown.borrow_mut().extend(known.is_none().then(|| case.to_owned()));
                    case.to_owned()
                }
            },
        };
        let compared = compared.with_spread(true, (by, &cluster));
        let unknown: Vec<String> = unknown.into_inner().into_iter().collect();
        if !unknown.is_empty() {
            let names = cut::names(&unknown, 3);
            let why = "the repository lacks these cases, or cannot read them, so their tags are unknown";
            return Err(format!("--cluster tag: {why}: {names}").into());
        }
        Ok(compared)
    }

    /// The tags of each `skill/case` that can be read, as the repository has them today.
    fn tags(&self) -> CliResultOf<BTreeMap<String, String>> {
        let catalog = self.start.repository.read_quietly()?.catalog;
        let read = catalog.cases.iter().filter_map(|found| Some((found, found.case().ok()?)));
        let tags = read.map(|(found, case)| {
            let tags: BTreeSet<&str> = case.tags.iter().map(String::as_str).collect();
            (format!("{}/{}", found.skill, found.id), tags.into_iter().collect::<Vec<_>>().join(", "))
        });
        let tags: BTreeMap<String, String> = tags.collect();
        let has_some = tags.values().any(|tags| !tags.is_empty());
        if has_some { Ok(tags) } else { Err("--cluster tag: no case here has a tag".into()) }
    }

    /// Whether more is printed than the answer.
    fn says_more(&self) -> bool {
        !self.start.quiet && !self.json
    }

    /// Refuses options that mean nothing where trials are only read.
    fn refuse_what_runs(&self) -> Result<(), Problem> {
        let of_sides = [&self.baseline, &self.candidate].into_iter().flatten().any(|side| of_a_run(side));
        let of_sides = of_sides.then(|| "--baseline and --candidate with more than mode=".to_owned());
        match self.given.first(&[STARTS]).map(str::to_owned).or(of_sides) {
            Some(option) => Err(format!("{option}: these trials are stored, no agent is started; leave it out").into()),
            None => Ok(()),
        }
    }

    /// Prints the answer, and why it lacks something: that it ended early, or trials that were lost, which `remedy` measures.
    fn tell(&self, compared: &ComparisonResults, early: Option<String>, remedy: &str) -> CliResult {
        if !self.pages.is_output() {
            print_answer(compared, (self.json, self.start.quiet), [words::sentence, words::render])?;
        }
        let results = &compared.comparison.results;
        let exit = if compared.unchanged { Exit::Clean } else { exit(results, &self.fail_on) };
        // Also if the gate names `undecided`: the trials that were lost might have decided it.
        let is_open = exit != Exit::Problems || results.contains(&CompareResult::Undecided);
        let lost = || compared.lost().filter(|_| is_open).map(|lost| format!("{lost}; {remedy}"));
        let lacks = early.or_else(lost);
        if let Some(why) = &lacks {
            writeln!(stderr(), "{}", escape::line(why))?;
        }
        self.pages.write(compared, lacks.as_deref())?;
        let exit = if is_open && lacks.is_some() { Exit::Infrastructure } else { exit }.of_live(lacks.is_some());
        if self.github {
            let catalog = self.start.repository.read_quietly();
            let locations = catalog.map(|loaded| change_locations(&loaded.repository.root, &loaded.catalog, None));
            let (locations, lacks) = (locations.unwrap_or_default(), lacks.as_deref());
            let fails = exit == Exit::Problems || exit != Exit::Clean && lacks.is_none();
            let text = github::comparison(compared, fails, lacks, &locations);
            document_stdout().write_all(text.as_bytes())?;
            if let Some(trouble) = add_to_page(&markdown::comparison(compared, lacks)) {
                warn(&trouble)?;
            }
        }
        Ok(exit)
    }
}

/// Trials that tell of other cases.
const WHOLE: &str = "trials whose number did not depend on their results: two stored runs, or a whole run with --lift";

/// Refuses to decide again what a run has decided: its trials were chosen by these numbers.
fn refuse_what_decided(args: &CompareArgs, run: &str) -> Result<(), Problem> {
    match args.given.first(&[RULE, MODES, SIDES, CASES]) {
        Some(option) => Err(format!("{run} has its own options: leave out {option}").into()),
        None => Ok(()),
    }
}

/// The results that `--fail-on` takes.
pub const RESULTS: [&str; 6] = ["broke", "worse", "better", "no-worse", "no-harm-seen", "undecided"];

/// A share above 0 and below 1.
fn share(text: &str) -> Result<f64, String> {
    let share = text.parse::<f64>().ok().filter(|share| *share > 0.0 && *share < 1.0);
    share.ok_or_else(|| "expected a share above 0 and below 1, such as 0.05".to_owned())
}

// Which results of a comparison fail.

/// The exit code of a comparison with these results.
pub fn exit(results: &[CompareResult], gate: &[CompareResult]) -> Exit {
    let fails = if gate.is_empty() { &CompareResult::HARM } else { gate };
    if results.contains(&CompareResult::NothingMeasured) {
        Exit::Infrastructure
    } else if results.iter().any(|result| fails.contains(result)) {
        Exit::Problems
    } else if gate.is_empty() && results.contains(&CompareResult::Undecided) {
        Exit::Undecided
    } else {
        Exit::Clean
    }
}

// Compares models: which is the cheapest within the margin of the best.

/// Runs the cases with each model: those of `--models`, or of the run to resume.
pub fn compare_models(args: &CompareArgs) -> CliResult {
    let loaded = args.start.read()?;
    let mut chosen = args.select.chosen();
    chosen.modes = args.select.names.with_modes(&args.mode);
    let rule = args.rule();
    let (mut models, mut rule) = (args.models.clone(), (rule.margin.unwrap_or_default(), rule.alpha));
    let mut limit = args.max_trials.map_or(TrialLimit::Usual, TrialLimit::AtMost);
    if args.start.resume {
        let (earlier, VariantRun { question, variants, rounds, .. }) =
            engine::variants::earlier(&loaded.repository.root, &loaded.settings, "compare")?;
        chosen = chosen.or(earlier);
        models = variants.into_iter().map(|variant| variant.name).collect();
        limit = TrialLimit::Rounds(rounds);
        if let VariantQuestion::CheapestModel { margin, alpha, .. } = question {
            rule = (margin, alpha);
        }
    }
    let host = args.start.host(!args.json);
    let engine = host.engine(&args.start);
    let run = engine.vary(loaded, chosen, &VariantRequest::CheapestModel(models, rule), limit)?;
    match variants::run(&args.start, &engine, run, args.json)? {
        Err(exit) => Ok(exit),
        Ok(measured) => variants::end(&measured, show(args, &measured.folder)?, args.says_more()),
    }
}

/// Prints the comparison that a run measured.
pub fn show(args: &CompareArgs, run: &RunFolder) -> CliResult {
    let compared = ModelComparison::of(run)?
        .ok_or_else(|| format!("{} compares no models; its result: skill-evals diagnose {0}", run.id()))?;
    print_answer(&compared, (args.json, args.start.quiet), [report::models_sentence, report::render_models])?;
    let lost: u64 = compared.models.iter().map(|model| model.not_measured).sum();
    let exit = match compared.cheapest {
        _ if !compared.not_counted.is_empty() => Exit::Infrastructure,
        Some(_) => Exit::Clean,
        None if compared.cases == 0 => Exit::Infrastructure,
        None => Exit::Undecided,
    };
    variants::exit_with_lost(run, lost, exit)
}

// What a command line asks to compare.

const MODES_TWICE: &str =
    "--baseline and --candidate name the mode of each side: leave out --mode, and the modes in --case";

pub enum CompareTarget {
    /// Compare these stored trials.
    Stored(StoredSide, StoredSide),
    /// Show the result of a comparison.
    Again(RunFolder),
    /// Compare kept trials of earlier gates with those of later ones.
    Kept,
    /// Show the result of a run of variants.
    Variants(RunFolder),
    /// Run trials of both sides.
    Run(Box<ComparedSides>),
    /// Resume a run.
    Resume,
}

/// Stored trials that make up a side.
pub struct StoredSide {
    /// What users call it.
    pub label: String,
    /// Runs by id, and baseline files by path.
    pub sources: Vec<String>,
    /// Only those in this mode.
    pub mode: Option<String>,
}

pub fn asked(args: &CompareArgs, root: &Path) -> Result<CompareTarget, Problem> {
    if args.start.resume {
        return Ok(CompareTarget::Resume);
    }
    if args.kept {
        return Ok(CompareTarget::Kept);
    }
    let (a, b) = (side(args.baseline.as_deref(), root)?, side(args.candidate.as_deref(), root)?);
    match args.what.as_slice() {
        [first, second] => of_two(args, root, [first, second], [&a, &b]),
        [one] => of_one(args, root, one, &a, &b),
        _ => Ok(CompareTarget::Run(Box::new(args.sides(of_modes(args, a, b)?)))),
    }
}

fn stored(sources: &str, side: &ComparedSide) -> StoredSide {
    let label = match &side.mode {
        Some(mode) => format!("{sources} in the mode {mode}"),
        None => sources.to_owned(),
    };
    StoredSide { label, sources: sources.split(',').map(str::to_owned).collect(), mode: side.mode.clone() }
}

/// What a name on the command line stands for.
enum NamedSide {
    /// A run.
    Run(RunFolder),
    /// Runs, shards and files, as a side has them.
    Sources,
    /// A commit, by its full hash.
    Commit(String),
}

fn named(root: &Path, name: &str) -> Result<NamedSide, Problem> {
    let run = store::runs(root)?.into_iter().find(|run| run.id() == name);
    if name.contains(',') {
        return Ok(NamedSide::Sources);
    }
    match (run, git::commit(root, name)) {
        (None, Ok(_)) if is_path(name) => Err(format!(
            "`{name}` is a path here and a git reference: write ./{name} for the stored trials, or {name}^0 for the reference"
        )
        .into()),
        (None, Err(_)) if is_path(name) || !RunFolder::shards(root, name)?.is_empty() => Ok(NamedSide::Sources),
        (Some(_), Ok(_)) => Err(format!(
            "`{name}` is a run and a git reference: write refs/heads/{name} or {name}^0 for the reference, or the run's \
             progress.jsonl by its path"
        )
        .into()),
        (Some(run), Err(_)) => Ok(NamedSide::Run(run)),
        (None, Ok(commit)) => Ok(NamedSide::Commit(commit)),
        (None, Err(why)) => {
            let known: Vec<String> = store::runs(root)?.iter().take(5).map(|run| run.id().to_owned()).collect();
            let known = if known.is_empty() {
                "no runs found".to_owned()
            } else {
                format!("the latest runs: {}", known.join(", "))
            };
            let references = git::references(root);
            if let Some(near) = nearest(name, references.iter().map(String::as_str)) {
                return Err(format!("`{name}` is neither a run nor a git reference; did you mean `{near}`?").into());
            }
            Err(format!("`{name}` is neither a run nor a git reference: {why}; {known}").into())
        }
    }
}

/// Whether a name is the path of stored trials: of a file or of a run's directory.
pub fn is_path(name: &str) -> bool {
    let path = Path::new(name);
    path.extension().is_some_and(|end| end == "jsonl")
        || look::is_usable_file(path)
        || look::is_usable_file(&RunFolder::at(path).progress_path())
}

/// Two names are two stored runs, or two git references.
fn of_two(
    args: &CompareArgs,
    root: &Path,
    names: [&str; 2],
    [a, b]: [&ComparedSide; 2],
) -> Result<CompareTarget, Problem> {
    let [first, second] = names;
    match (named(root, first)?, named(root, second)?) {
        (NamedSide::Commit(in_a), NamedSide::Commit(in_b)) => {
            Ok(CompareTarget::Run(Box::new(args.sides((of_commit(first, in_a, a, "--baseline")?, of_commit(second, in_b, b, "--candidate")?)))))
        }
        (in_a @ NamedSide::Commit(_), _) | (in_a, NamedSide::Commit(_)) => Err(format!(
            "one of {first} and {second} is a git reference, the other stored trials: compare two of a kind, or measure the \
             reference first with `skill-evals compare {}`",
            if matches!(in_a, NamedSide::Commit(_)) { first } else { second }
        )
        .into()),
        _ => {
            let [in_a, in_b] = match args.modes().as_slice() {
                [] => [a, b].map(|side| side.mode.clone()),
                [_, ..] if a.mode.is_some() || b.mode.is_some() => return Err(MODES_TWICE.into()),
                [both] => [Some(both.clone()), Some(both.clone())],
                [in_a, in_b] => [Some(in_a.clone()), Some(in_b.clone())],
                _ => return Err("two runs are compared in one mode, or in one each".into()),
            };
            let side = |sources: &str, side: &ComparedSide, mode| stored(sources, &side.clone().in_mode(mode));
            Ok(CompareTarget::Stored(side(first, a, in_a), side(second, b, in_b)))
        }
    }
}

/// A side with the skills of a commit, which `name` stands for.
fn of_commit(name: &str, commit: String, side: &ComparedSide, option: &str) -> Result<ComparedSide, Problem> {
    if side.commit.is_some() {
        return Err(format!("{name} says which skills the side has: leave out skills= in {option}").into());
    }
    let short = commit.get(..12).unwrap_or(&commit);
    let besides = if side.changes_nothing() { String::new() } else { format!(", {}", side.label) };
    let label = format!("the skills of {name} ({short}){besides}");
    let mut side = side.clone().called(label);
    side.commit = Some(commit);
    Ok(side)
}

/// A single name is a run with sides or modes to compare, or a git reference.
fn of_one(
    args: &CompareArgs,
    root: &Path,
    one: &str,
    a: &ComparedSide,
    b: &ComparedSide,
) -> Result<CompareTarget, Problem> {
    let run = match named(root, one)? {
        NamedSide::Commit(commit) => {
            let a = of_commit(one, commit, a, "--baseline")?;
            return Ok(CompareTarget::Run(Box::new(args.sides((a, b.clone())))));
        }
        NamedSide::Sources => {
            return Err(format!("{one} is stored trials: name a second run or file to compare it with").into());
        }
        NamedSide::Run(run) => run,
    };
    let record = run.run_record()?;
    if record.as_ref().is_some_and(|record| record.variants.is_some()) {
        return Ok(CompareTarget::Variants(run));
    }
    match (record.and_then(|record| record.sides), args.modes().as_slice(), (&a.mode, &b.mode)) {
        (Some(_), ..) => Ok(CompareTarget::Again(run)),
        (None, [first, second], _) => {
            let in_mode = |mode: &String| stored(one, &ComparedSide::default().in_mode(Some(mode.clone())));
            Ok(CompareTarget::Stored(in_mode(first), in_mode(second)))
        }
        (None, _, (Some(_), Some(_))) => Ok(CompareTarget::Stored(stored(one, a), stored(one, b))),
        _ => Err(format!("{one} is one run: name the run to compare it with, or two modes of it with --mode").into()),
    }
}

fn of_modes(args: &CompareArgs, a: ComparedSide, b: ComparedSide) -> Result<(ComparedSide, ComparedSide), Problem> {
    let in_mode =
        |mode: &str| ComparedSide::default().called(format!("the mode {mode}")).in_mode(Some(mode.to_owned()));
    if let Some(with) = &args.with {
        if let Some(other) = args.modes().into_iter().find(|mode| mode != with) {
            return Err(format!("--case names the mode {other}, --with the mode {with}: name one").into());
        }
        let mut without = in_mode(with).called(format!("the mode {with} without skills"));
        without.without = true;
        return Ok((without, in_mode(with)));
    }
    if args.aa {
        return Ok((working_tree(), repeated("the working tree again")));
    }
    let named = [&a, &b].into_iter().filter(|side| side.mode.is_some()).count();
    let besides = |mode: &str, side: ComparedSide| {
        if side.changes_nothing() {
            return in_mode(mode);
        }
        let label = format!("the mode {mode}, {}", side.label);
        side.called(label).in_mode(Some(mode.to_owned()))
    };
    match (args.modes().as_slice(), named) {
        ([first, second], 0) => Ok((besides(first, a), besides(second, b))),
        ([_, ..], 2) => Err(MODES_TWICE.into()),
        ([_, _], _) => {
            Err("say the mode of each side once: by --mode twice, or by mode= in --baseline and --candidate".into())
        }
        _ if args.baseline.is_some() || args.candidate.is_some() => Ok((a, b)),
        ([_, _, ..], _) => Err("two modes are compared with each other: give --mode twice".into()),
        _ => {
            Err("name what to compare: a git reference, two runs, or two modes with --mode; --help has examples".into())
        }
    }
}

impl CompareArgs {
    fn sides(&self, (a, b): (ComparedSide, ComparedSide)) -> ComparedSides {
        compare::sides(a, b, &self.rule(), self.plan.unwrap_or_default())
    }
}

/// A side as `--baseline` and `--candidate` write it: `key=value`, separated by commas.
fn side(text: Option<&str>, root: &Path) -> Result<ComparedSide, Problem> {
    let Some(text) = text else { return Ok(working_tree()) };
    let mut side = ComparedSide::default().called(text.to_owned());
    let mut seen = BTreeSet::new();
    for part in text.split(',') {
        let (key, value) = part.split_once('=').unwrap_or((part, ""));
        let (key, value) = (key.trim(), value.trim());
        if !seen.insert(key) {
            return Err(format!("{text:?} says `{key}` twice").into());
        }
        match key {
            "without" if value.is_empty() => side.without = true,
            key @ ("mode" | "model" | "offer" | "skills") if value.is_empty() => {
                return Err(format!("`{key}` in {text:?} has no value; write {key}=…").into());
            }
            "mode" => side.mode = Some(value.to_owned()),
            "model" => side.model = Some(value.to_owned()),
            "offer" => side.offer = Some(offer(value)?),
            "skills" => side.commit = Some(git::commit(root, value)?),
            key => {
                return Err(format!(
                    "{text:?} names `{key}`; known: mode=, model=, offer=all|alone|SKILL+SKILL, skills=GIT-REF, without"
                )
                .into());
            }
        }
    }
    Ok(side)
}

/// Whether a side names more than a mode, which only trials to come can follow.
pub fn of_a_run(side: &str) -> bool {
    side.split(',').any(|part| part.split('=').next().is_some_and(|key| key.trim() != "mode"))
}

fn offer(text: &str) -> Result<SkillSelection, String> {
    Ok(match text {
        "all" => SkillSelection::All,
        "alone" => SkillSelection::Alone,
        list if list.split('+').any(str::is_empty) => {
            return Err(format!("offer={text} names a skill without a name; write offer=SKILL+SKILL"));
        }
        list => SkillSelection::Only(list.split('+').map(str::to_owned).collect()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_is_between_0_and_1() {
        assert_eq!(share("0.05"), Ok(0.05));
        for wrong in ["0", "1", "5", "-0.1", "NaN", "a"] {
            assert!(share(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn the_exit_code_is_that_of_the_results_or_of_the_gate() {
        use crate::decide::result::CompareResult::{Better, Broke, NoHarmSeen, NoWorse, NothingMeasured, Undecided};
        for (results, gate, exit) in [
            (&[Broke, Better][..], &[][..], Exit::Problems),
            (&[NoWorse], &[], Exit::Clean),
            (&[NoHarmSeen], &[], Exit::Clean),
            (&[NoHarmSeen], &[NoHarmSeen], Exit::Problems),
            (&[Undecided], &[], Exit::Undecided),
            (&[Undecided], &[Broke], Exit::Clean),
            (&[Undecided], &[Broke, Undecided], Exit::Problems),
            (&[NothingMeasured], &[Broke], Exit::Infrastructure),
        ] {
            assert_eq!(super::exit(results, gate), exit, "{results:?} {gate:?}");
        }
    }
}
