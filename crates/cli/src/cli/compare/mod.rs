//! `skill-evals compare`.

mod drift;
mod elsewhere;
mod gate;
mod lift;
mod live;
mod models;
mod pages;
mod stored;
mod target;

use std::io::Write;
use std::path::{Path, PathBuf};

use clap::Args;

use super::exit_code::Exit;
use super::export_args::IN_PLACE;
use super::github::add_to_page;
use super::given::{CASES, Given, MODES, RULE, SIDES, STARTS};
use super::select::SelectArgs;
use super::start::StartArgs;
use super::{CliResult, one_of, print_answer};
use crate::cli::output::{document_stdout, stderr, warn};
use crate::cli::variants;

use crate::decide::plan::ComparePlan;
use crate::decide::result::CompareResult;
use crate::decide::{MARGIN, Rule};
use crate::engine::compare::ComparisonRequest;
use crate::exports::github;
use crate::report::{compared as words, markdown};
use crate::results::compared::ComparisonResults;
use crate::run::changed_skills::change_locations;
use crate::store::RunFolder;
use crate::text::escape;
use crate::text::problem::Problem;
use crate::trial::run_record::ComparedSides;
pub use lift::lift;
pub use live::{DryRun, measure};
use pages::PageArgs;
use target::CompareTarget;

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
    if let Some(compared) = elsewhere::compare(args)? {
        return args.tell(&compared, None, elsewhere::REMEDY);
    }
    args.pages.refuse()?;
    if !args.models.is_empty() {
        return models::compare(args);
    }
    let root = args.start.repository.open()?.root;
    match target::asked(args, &root)? {
        CompareTarget::Stored(a, b) => {
            let (compared, early) = stored::compare(args, &root, &a, &b)?;
            args.tell(&compared, early, "`skill-evals run --resume --run-id …`, or another run, measures them again")
        }
        CompareTarget::Kept => args.tell(&drift::of_kept(args, &root)?, None, ""),
        CompareTarget::Again(run) => {
            let (compared, early) = stored::again(args, &run)?;
            args.tell(&compared, early, &run.remedy())
        }
        CompareTarget::Run(sides) => live::compare(args, Some(*sides)),
        CompareTarget::Variants(run) => {
            args.refuse_what_runs()?;
            refuse_what_decided(args, run.id())?;
            variants::end_of_stored(&run, models::show(args, &run)?)
        }
        CompareTarget::Resume if args.resumes_variants(&root) => models::compare(args),
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

    /// Whether more is printed than the answer.
    fn says_more(&self) -> bool {
        !self.start.quiet && !self.json
    }

    /// Refuses options that mean nothing where trials are only read.
    fn refuse_what_runs(&self) -> Result<(), Problem> {
        let of_sides = [&self.baseline, &self.candidate].into_iter().flatten().any(|side| target::of_a_run(side));
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
        let exit = if compared.unchanged { Exit::Clean } else { gate::exit(results, &self.fail_on) };
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

#[cfg(test)]
mod tests {
    use crate::cli::exit_code::Exit;

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
            assert_eq!(gate::exit(results, gate), exit, "{results:?} {gate:?}");
        }
    }
}
