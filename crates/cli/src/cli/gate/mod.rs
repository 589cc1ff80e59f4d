//! `skill-evals gate`: one answer about a change, before the push and on a pull request.

mod change;

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args;
use serde_json::Value;

pub use change::base;

use super::compare::{self, LiveComparison, LiveRequest};
use super::export_args::IN_PLACE;
use super::report::write_run;
use super::select::TagArgs;
use super::shard::ShardArgs;
use super::start::{self, StartArgs};
use super::{CliResult, CliResultOf, LoadedRepository, lint as lint_command, one_of, print_json, select};
use crate::agent;
use crate::cases::catalog::Catalog;
use crate::cases::repository::Repository;
use crate::cases::selection;
use crate::cli::color::paint;
use crate::cli::exit_code::Exit;
use crate::cli::github::add_to_page;
use crate::cli::output::{Stream, document_stdout, text_stdout, warn};
use crate::decide::plan::ComparePlan;
use crate::decide::result::CompareResult;
use crate::exports::{github, junit};
use crate::lint;
use crate::process::interrupt;
use crate::report::gate as report;
use crate::results::gate::{GateAnswer, GateResults};
use crate::results::summary::Summary;
use crate::run::change_locations::change_locations;
use crate::run::read_tree::ReadTree;
use crate::run::scheduler;
use crate::run::skill_version::SkillVersion;
use crate::settings::{GateSettings, Settings, Stop};
use crate::store::{self, RunFolder};
use crate::text::diagnostic::Diagnostic;
use crate::trial::run_record::RunChoices;

/// The comment, the results of the recordings, and the report of the comparison.
const PAGE: &str = "gate.md";
const JUNIT: &str = "junit.xml";
const REPORT: &str = "report.html";

/// What to do about numbers that can decide nothing.
const REMEDY: &str = "raise --max-trials, which counts both trials of a pair, choose another --plan, or fail on other results with \
                      --fail-on";
const REMEDY_OF_YEAR: &str = "raise --max-trials, which counts both trials of a pair, or promise less by `promise` or `gates_a_year` \
                              in [gate]";

const HELP: &str = "The gate lints, replays recordings, finds the skills that differ from the base,
and runs their cases with both versions. If a description changed, it also
compares the positive cases of the skills with the most similar descriptions.

It writes gate.md (a comment for a pull request), junit.xml and report.html.
[gate] in evals/evals.toml has the same options, and `max_cost_usd` and
`require_recordings` of its own.

Several machines: gate --shard M/N --run-id ID on each, then gate --merge ID.

Exit codes:
  0    passed; with --free also: an agent has to measure the rest
  1    failed: an error of lint, a recorded case that fails, or a result of
       --fail-on in the comparison
  2    could not run
  3    not measured: a side of a case, or trials that might change the answer;
       the comparison ended early, a shard is missing (or all: on CI none may
       have got far enough), or a required recording is missing or stale
  4    undecided: with `--plan until-decided`, the trials do not tell
  5    nothing compared: the change touches a skill that has cases, and no case
       was measured; or no case can run
  130  interrupted";

#[derive(Args)]
#[expect(clippy::struct_excessive_bools, reason = "options as the command line has them")]
#[command(after_help = HELP, mut_arg("resume", |arg| arg.hide(true)), mut_arg("force", |arg| arg.hide(true)), mut_arg("background", |arg| arg.hide(true)))]
pub struct GateArgs {
    /// Git reference to compare with [default: the last commit in common with the default branch]
    base: Option<String>,
    /// Results of the comparison that fail the gate [default: broke,worse]
    #[arg(long, value_name = "RESULT,…", value_delimiter = ',', value_parser = one_of::<CompareResult>(compare::RESULTS))]
    fail_on: Vec<CompareResult>,
    /// When to stop: `quick` finds cases that always passed and never do now, and most that pass once in ten [default: quick]
    #[arg(long, value_name = "PLAN", value_parser = one_of::<ComparePlan>(ComparePlan::WORDS))]
    plan: Option<ComparePlan>,
    /// Maximum number of trials of the comparison [default: by the plan and the number of cases]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(2..))]
    max_trials: Option<u64>,
    /// Days for which trials of earlier gates are used; 0 measures all [default: 7]
    #[arg(long, value_name = "DAYS", value_parser = clap::value_parser!(u64).range(..=365))]
    max_age_days: Option<u64>,
    /// Measure both sides again, although gates with the same contents have measured them; the answer says so
    #[arg(long, conflicts_with_all = ["max_age_days", "merge"])]
    fresh: bool,
    /// Number of similar skills whose positive cases run too if a description changed [default: 2]
    #[arg(long, value_name = "N")]
    neighbors: Option<usize>,
    /// Directory for gate.md, junit.xml and report.html [default: `gate` next to the runs]
    #[arg(long, short, value_name = "DIR")]
    output: Option<PathBuf>,
    /// Print the comment, gate.md, instead of the answer
    #[arg(long, group = IN_PLACE, conflicts_with = "dry_run")]
    markdown: bool,
    /// With --dry-run: print one JSON document
    #[arg(long, group = IN_PLACE, requires = "dry_run")]
    json: bool,
    /// Start no agent: lint and replay, and say what an agent has to measure
    #[arg(long, conflicts_with_all = ["dry_run", "shard", "merge"])]
    free: bool,
    #[command(flatten)]
    shard: ShardArgs,
    /// Answer by the shards of a gate, which `--shard` ran: the run id of all, or directories
    #[arg(long, value_name = "RUN-ID|DIR", num_args = 1.., conflicts_with_all = ["shard", "dry_run", "run_id"])]
    merge: Vec<String>,
    #[command(flatten)]
    tags: TagArgs,
    #[command(flatten)]
    start: StartArgs,
}

pub fn gate(mut args: GateArgs) -> CliResult {
    if args.start.resume || args.start.background {
        return Err("a gate takes neither --resume nor --background: run it again".into());
    }
    args.start.quiet |= args.markdown;
    args.start.repository.for_gate = true;
    args.start.repository.gate_base.clone_from(&args.base);
    let LoadedRepository { repository, mut settings, catalog } = args.start.read()?;
    args.tags.select(&mut settings.selection, &catalog)?;
    let asked = args.asked(&settings.gate);
    asked.check_reachable()?;
    let root = repository.root.clone();
    let out = args.output.clone().map_or_else(|| store::gate_folder(&root), Ok)?;
    let is_shard = args.shard.shard()?.is_some();
    if !args.start.dry_run && !is_shard {
        store::check_out(&out.join(JUNIT))?;
        store::write_whole(&out.join(PAGE), report::unfinished().as_bytes())?;
    }
    let (commit, base) = change::base(&repository, asked.base.as_deref())?;
    let version = SkillVersion::or_empty(&root, &commit, &settings)?;
    let now = ReadTree { root: &root, settings: &settings, catalog: &catalog };
    let mut results = change::found(&version, base, now, &asked)?;
    let mut cases = change::cases_to_compare(&results.changed, &version.catalog, &catalog, asked.neighbors);
    cases.retain(|name| selection::wants_tags_of(&settings.selection, name, &catalog));
    results.to_compare.clone_from(&cases);
    if args.start.dry_run {
        return args.dry_run(&asked, &commit, &results, cases);
    }
    let problems = lint_errors(&repository, &settings, &catalog);
    (results.problems, results.older_problems) = change::own_problems(problems, &repository, &version)?;
    results.needs_recordings = settings.needs_recordings();
    results.replayed = replay(repository, settings, catalog)?;
    let recordings = store::trials_below(&root.join(store::RECORDINGS))?.into_iter();
    let metas = recordings.filter_map(|recording| recording.meta().ok());
    results.recorded_versions = metas.filter_map(|meta| meta.agent.name_and_version()).collect();
    let mut folder = None;
    // What fails for free is not paid for.
    let fails_for_free = results.answer() == GateAnswer::Failed;
    results.left_to_compare = args.free.then(|| cases.clone());
    if !cases.is_empty() && !fails_for_free && !args.free {
        let compared = args.comparison(&asked, &commit, &mut results, cases)?;
        folder = compared.and_then(|live| take(&mut results, live));
    }
    if let Some(shard) = args.shard.shard()? {
        write!(text_stdout(), "{}", report::shard(&results, shard, fails_for_free))?;
        return Ok(if interrupt::raised() {
            Exit::Interrupted
        } else if fails_for_free {
            Exit::Problems
        } else if results.ended_early.is_some() || results.lost().is_some() {
            Exit::Infrastructure
        } else {
            Exit::Clean
        });
    }
    write_report(&root, folder.as_deref(), &out.join(REPORT))?;
    print(&results, args.markdown, &out)?;
    annotate(&results, &args, &commit)?;
    Ok(if interrupt::raised() { Exit::Interrupted } else { exit(results.answer()) })
}

fn exit(answer: GateAnswer) -> Exit {
    match answer {
        GateAnswer::Passed | GateAnswer::NeedsAgent => Exit::Clean,
        GateAnswer::Failed => Exit::Problems,
        GateAnswer::NotMeasured => Exit::Infrastructure,
        GateAnswer::Undecided => Exit::Undecided,
        GateAnswer::NothingCompared => Exit::NothingCompared,
    }
}

/// Takes in the comparison. Returns the directory of its run.
fn take(results: &mut GateResults, live: LiveComparison) -> Option<PathBuf> {
    results.ended_early = live.ended_early;
    results.remedy = live.remedy;
    results.compared = Some(live.compared);
    results.run = live.folder.is_some().then_some(live.took);
    // Nothing is reported of a run that was interrupted before its first trial ended.
    live.folder.filter(|run| RunFolder::at(run).noted().is_ok_and(|run| !run.records.is_empty()))
}

/// Writes the files of the gate, and prints its answer or its comment.
fn print(results: &GateResults, markdown: bool, out: &Path) -> CliResultOf<()> {
    let page = report::markdown(results);
    let junit = junit::junit(&results.replayed).map_err(|error| error.to_string())?;
    store::write_whole(&out.join(PAGE), page.as_bytes())?;
    store::write_whole(&out.join(JUNIT), junit.as_bytes())?;
    if markdown {
        write!(document_stdout(), "{page}")?;
    } else {
        write!(text_stdout(), "{}", report::render(results, paint(Stream::Output)))?;
    }
    if let Some(why) = add_to_page(&page) {
        warn(&why)?;
    }
    Ok(())
}

/// Writes the report of the comparison. An earlier gate's says nothing about this change.
fn write_report(root: &Path, run: Option<&Path>, output: &Path) -> CliResultOf<()> {
    match run {
        Some(run) => write_run(root, run, output),
        None => match std::fs::remove_file(output) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error.into()),
            _ => Ok(()),
        },
    }
}

/// In GitHub Actions, prints the reasons as annotations, unless the output is the comment.
fn annotate(results: &GateResults, args: &GateArgs, commit: &str) -> CliResultOf<()> {
    if args.markdown || std::env::var_os("GITHUB_ACTIONS").is_none_or(|value| value != "true") {
        return Ok(());
    }
    let LoadedRepository { repository, catalog, .. } = args.start.repository.read_quietly()?;
    let text = github::gate(results, &change_locations(&repository.root, &catalog, Some(commit)));
    Ok(document_stdout().write_all(text.as_bytes())?)
}

impl GateArgs {
    /// What is asked for: by the command line, else by the settings.
    fn asked(&self, settings: &GateSettings) -> GateSettings {
        let mut asked = settings.clone();
        asked.base = self.base.clone().or(asked.base);
        if !self.fail_on.is_empty() {
            asked.fail_on.clone_from(&self.fail_on);
        }
        if asked.fail_on.is_empty() {
            asked.fail_on = CompareResult::HARM.to_vec();
        }
        asked.plan = self.plan.unwrap_or(asked.plan);
        asked.max_trials = self.max_trials.or(asked.max_trials);
        let max_age_days = if self.fresh { Some(0) } else { self.max_age_days };
        asked.max_age = max_age_days.map_or(asked.max_age, |days| Duration::from_secs(days * 24 * 3600));
        asked.neighbors = self.neighbors.unwrap_or(asked.neighbors);
        asked
    }

    /// Says what changed, what would run, and what that finds and costs.
    fn dry_run(&self, asked: &GateSettings, commit: &str, results: &GateResults, cases: Vec<String>) -> CliResult {
        let document = self.json.then(|| results.change(commit, &cases));
        if document.is_none() {
            write!(text_stdout(), "{}", report::changes(results, &cases))?;
            if let Some(promise) = report::promise(&asked.rule()) {
                writeln!(text_stdout(), "{promise}")?;
            }
        }
        if cases.is_empty() {
            document.map(|document| print_json(&mut document_stdout(), &document)).transpose()?;
            return Ok(Exit::Clean);
        }
        let compared = self.run_comparison(asked, commit, &results.base, cases, document)?;
        Ok(compared.err().unwrap_or(Exit::Clean))
    }

    fn run_comparison(
        &self,
        asked: &GateSettings,
        commit: &str,
        base: &str,
        cases: Vec<String>,
        within: Option<Value>,
    ) -> CliResultOf<Result<LiveComparison, Exit>> {
        let mut rule = asked.rule();
        if let Some(shard) = self.shard.shard()? {
            rule.alpha /= f64::from(shard.of);
        }
        let base = compare::at_commit(commit.to_owned(), format!("the skills of {base}"));
        let sides = compare::compared(base, compare::working_tree(), &rule, asked.plan);
        let chosen = RunChoices { cases, shard: self.shard.shard()?, ..RunChoices::default() };
        compare::measure(LiveRequest {
            start: &self.start,
            chosen,
            sides: Some(sides),
            fails: &asked.fail_on,
            must_decide: true,
            max_trials: asked.max_trials,
            max_age: Some(asked.max_age),
            ended: &[],
            max_cost_usd: None,
            stop: Stop::Settled,
            remedy: if asked.promised_for > 1 { REMEDY_OF_YEAR } else { REMEDY },
            json: within.is_some(),
            within,
        })
    }

    /// The comparison: of trials that run here, or of the shards to merge.
    fn comparison(
        &self,
        asked: &GateSettings,
        commit: &str,
        results: &mut GateResults,
        cases: Vec<String>,
    ) -> CliResultOf<Option<LiveComparison>> {
        if self.merge.is_empty() {
            return Ok(self.run_comparison(asked, commit, &results.base, cases, None)?.ok());
        }
        let chosen = RunChoices { cases, ..RunChoices::default() };
        let merged = compare::merged(&self.start, &self.merge, chosen, commit, asked)?;
        if merged.is_none() {
            let names = self.merge.join(" ");
            results.ended_early = Some(format!("no shard of {names} is here: run the shards, or correct the name"));
        }
        Ok(merged)
    }
}

/// The errors of `lint`, as the settings judge them.
fn lint_errors(repository: &Repository, settings: &Settings, catalog: &Catalog) -> Vec<Diagnostic> {
    let options = lint::LintOptions { no_cases: None, listings: &agent::LISTINGS, partial: settings.partial };
    let mut problems = settings.lint.judged(lint_command::problems(repository, settings, catalog, options));
    problems.retain(Diagnostic::is_error);
    problems
}

/// Replays the recordings of all cases.
fn replay(repository: Repository, mut settings: Settings, catalog: Catalog) -> CliResultOf<Summary> {
    let chosen = RunChoices { replay: true, ..RunChoices::default() };
    select::apply(&chosen, &mut settings)?;
    let run = start::planned(repository, settings, catalog, chosen)?;
    scheduler::run(&run);
    let summary = run.figures().summary.clone();
    Ok(summary)
}
