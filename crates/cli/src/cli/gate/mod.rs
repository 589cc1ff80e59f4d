//! `skill-evals gate`: one answer about a change, before the push and on a pull request.

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args;

use super::compare::{self, DryRun, measure};
use super::documents::{Format, GatePlan, OtherDifference};
use super::export_args::IN_PLACE;
use super::report::write_run;
use super::select::TagArgs;
use super::shard::ShardArgs;
use super::start::StartArgs;
use super::{CliResult, CliResultOf, named_runs, one_of, print_sorted_json};
use crate::cli::exit_code::Exit;
use crate::cli::exit_code::add_to_page;
use crate::cli::output::paint;
use crate::cli::output::{Stream, document_stdout, text_stdout, warn};
use crate::decide::plan::ComparePlan;
use crate::decide::result::CompareResult;
use crate::engine::compare::MeasuredComparison;
use crate::engine::gate::Gate;
use crate::engine::{Engine, Loaded};
use crate::exports::{github, junit};
use crate::process::{find_program, interrupt};
use crate::report::{estimate, gate as report};
use crate::results::gate::{GateAnswer, GateResults};
use crate::run::changed_skills::change_locations;
use crate::settings::GateSettings;
use crate::store::{self, RunFolder};

/// The comment, the results of the recordings, and the report of the comparison.
const PAGE: &str = "gate.md";
const JUNIT: &str = "junit.xml";
const REPORT: &str = "report.html";

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
    /// Say what a month of gates is expected to take, by the changes of the last 12 weeks; start nothing
    #[arg(long, conflicts_with_all = ["dry_run", "free", "shard", "merge", "markdown"])]
    forecast: bool,
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
    if find_program("git").is_none() {
        return Err("a gate compares with a commit, which git reads: install git".into());
    }
    args.start.quiet |= args.markdown;
    args.start.repository.for_gate = true;
    args.start.repository.gate_base.clone_from(&args.base);
    let mut loaded = args.start.read()?;
    args.tags.select(&mut loaded.settings.selection, &loaded.catalog)?;
    let asked = args.asked(&loaded.settings.gate);
    if args.forecast {
        let host = args.start.host(true);
        let forecast = host.engine(&args.start).forecast(loaded, &asked)?;
        write!(text_stdout(), "{}", estimate::forecast(&forecast, asked.plan))?;
        return Ok(Exit::Clean);
    }
    let root = loaded.repository.root.clone();
    let out = args.output.clone().map_or_else(|| store::gate_folder(&root), Ok)?;
    let shard = args.shard.shard()?;
    if !args.start.dry_run && shard.is_none() {
        store::check_out(&out.join(JUNIT))?;
        store::write_whole(&out.join(PAGE), report::unfinished().as_bytes())?;
    }
    let mut gate = Gate::of(loaded, asked, shard)?;
    let host = args.start.host(true);
    let engine = host.engine(&args.start);
    if args.start.dry_run {
        return args.dry_run(&engine, &gate);
    }
    // What fails for free is not paid for.
    let fails_for_free = gate.check_for_free(engine.host)?;
    gate.results.left_to_compare = args.free.then(|| gate.cases.clone());
    let mut folder = None;
    if !gate.cases.is_empty() && !fails_for_free && !args.free {
        folder = args.comparison(&engine, &mut gate)?.and_then(|measured| gate.take(measured));
    }
    let results = &gate.results;
    if let Some(shard) = shard {
        write!(text_stdout(), "{}", report::shard(results, shard, fails_for_free))?;
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
    print(results, args.markdown, &out)?;
    annotate(&gate, args.markdown)?;
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

/// Writes the files of the gate, and prints its answer or its comment.
fn print(results: &GateResults, markdown: bool, out: &Path) -> CliResultOf<()> {
    let page = report::markdown(results, ci_pages().as_ref());
    let junit = junit::junit(&results.replayed)?;
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

/// The pages of the job of GitHub or GitLab in which this runs. The jobs of `init --ci` and the action upload the gate's directory.
fn ci_pages() -> Option<report::CiPages> {
    let variable = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
    if let Some(job) = variable("CI_JOB_URL") {
        let report = format!("{job}/artifacts/browse/artifacts/skill-evals/gate");
        return Some(report::CiPages { job, report });
    }
    let parts = ["GITHUB_SERVER_URL", "GITHUB_REPOSITORY", "GITHUB_RUN_ID"].map(variable);
    let [Some(server), Some(repository), Some(run)] = parts else { return None };
    let job = format!("{server}/{repository}/actions/runs/{run}");
    Some(report::CiPages { report: format!("{job}#artifacts"), job })
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
fn annotate(gate: &Gate, markdown: bool) -> CliResultOf<()> {
    if markdown || std::env::var_os("GITHUB_ACTIONS").is_none_or(|value| value != "true") {
        return Ok(());
    }
    let Loaded { repository, catalog, .. } = gate.loaded();
    let text = github::gate(&gate.results, &change_locations(&repository.root, catalog, Some(gate.commit())));
    Ok(document_stdout().write_all(text.as_bytes())?)
}

/// What differs from the base, and the cases that the gate compares.
fn plan_of(gate: &Gate) -> GatePlan<'_> {
    let GateResults { base, changed, others, .. } = &gate.results;
    let others = others.iter().map(|other| OtherDifference {
        kind: other.kind,
        name: &other.name,
        effect: other.kind.meaning().1,
    });
    let (others, commit, cases) = (others.collect(), gate.commit(), &gate.cases);
    GatePlan { format: Format, base, commit, changed, others, cases, comparison: None }
}

impl GateArgs {
    /// What is asked for: by the command line, else by the settings.
    fn asked(&self, settings: &GateSettings) -> GateSettings {
        let mut asked = settings.clone();
        asked.base = self.base.clone().or(asked.base);
        if !self.fail_on.is_empty() {
            asked.fail_on.clone_from(&self.fail_on);
        }
        asked.plan = self.plan.unwrap_or(asked.plan);
        asked.max_trials = self.max_trials.or(asked.max_trials);
        let max_age_days = if self.fresh { Some(0) } else { self.max_age_days };
        asked.max_age = max_age_days.map_or(asked.max_age, |days| Duration::from_secs(days * 24 * 3600));
        asked.neighbors = self.neighbors.unwrap_or(asked.neighbors);
        asked
    }

    /// Says what changed, what would run, and what that finds and costs.
    fn dry_run(&self, engine: &Engine<'_>, gate: &Gate) -> CliResult {
        let Gate { results, cases, .. } = gate;
        let document = self.json.then(|| plan_of(gate));
        if document.is_none() {
            write!(text_stdout(), "{}", report::changes(results, cases))?;
            if let Some(promise) = report::promise(&gate.asked().rule()) {
                writeln!(text_stdout(), "{promise}")?;
            }
        }
        if cases.is_empty() {
            document.map(|document| print_sorted_json(&document)).transpose()?;
            return Ok(Exit::Clean);
        }
        let dry = DryRun { json: document.is_some(), within: document };
        let compared = measure(engine, &self.start, gate.loaded().clone(), gate.request(), dry)?;
        Ok(compared.err().unwrap_or(Exit::Clean))
    }

    /// The comparison: of trials that run here, or of the shards to merge.
    fn comparison(&self, engine: &Engine<'_>, gate: &mut Gate) -> CliResultOf<Option<MeasuredComparison>> {
        if self.merge.is_empty() {
            return gate.compare(engine);
        }
        let root = &gate.loaded().repository.root;
        let is_path = |name: &str| named_runs::is_directory(name) || named_runs::is_archive(name);
        let has_shards = |name: &String| Ok(is_path(name) || !RunFolder::shards(root, name)?.is_empty());
        if !self.merge.iter().map(has_shards).collect::<CliResultOf<Vec<bool>>>()?.contains(&true) {
            let names = self.merge.join(" ");
            gate.results.ended_early =
                Some(format!("no shard of {names} is here: run the shards, or correct the name"));
            return Ok(None);
        }
        let opened = named_runs::open_shards(root, &self.merge)?;
        Ok(Some(gate.merge(engine, &opened.runs)?))
    }
}
