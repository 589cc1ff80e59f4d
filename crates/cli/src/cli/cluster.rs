//! `skill-evals cluster`.

use std::io::Write;
use std::path::PathBuf;

use clap::{Args, FromArgMatches};

use super::init::SourceArgs;
use super::run::RunArgs;
use super::select::ALONE;
use super::{CliResult, RepositoryArgs, command, one_of};
use crate::cli::exit_code::Exit;
use crate::cli::output::document_stdout;
use crate::process::{find_program, run_to_end};
use crate::run::default_modes;
use crate::setup::cluster::{ClusterEngine, ShardedRun};
use crate::setup::init::InitError;
use crate::text::escape;
use crate::text::name::check_id;
use crate::text::problem::Problem;
use crate::trial::shard::Shard;

#[derive(Args)]
pub struct ClusterArgs {
    /// Engine that starts the shards
    #[arg(value_name = "ENGINE", value_parser = one_of::<ClusterEngine>(ClusterEngine::WORDS))]
    engine: ClusterEngine,
    /// Number of shards
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(2..=1000))]
    shards: u32,
    /// Name of the run [default: the time, UTC]
    #[arg(long, value_name = "ID")]
    run_id: Option<String>,
    /// Slurm: hand the jobs to sbatch
    #[arg(long)]
    submit: bool,
    #[command(flatten)]
    source: SourceArgs,
    #[command(flatten)]
    repository: RepositoryArgs,
    /// Options of `run` for every shard
    #[arg(last = true, value_name = "OPTION")]
    options: Vec<String>,
}

pub fn cluster(args: &ClusterArgs) -> CliResult {
    let loaded = args.repository.read_quietly()?;
    let root = loaded.repository.root.canonicalize()?;
    let agents = default_modes::agents(&root, &loaded.settings, &loaded.catalog);
    args.check()?.check_names(loaded)?;
    if root.to_str().is_none_or(|path| path.contains(char::is_control)) {
        let path = escape::line(&root.to_string_lossy());
        return Err(
            format!("the path `{path}` is not text on a line, which no job can hand on: move the repository").into()
        );
    }
    let (run_id, options) = (args.run_id.as_deref(), &args.options[..]);
    let run = ShardedRun { root: &root, shards: args.shards, run_id, options };
    let jobs = match args.engine {
        ClusterEngine::Slurm => run.slurm(),
        ClusterEngine::GitHub => run.github(&args.source.source()?.ok_or(InitError::NoSource)?, &agents)?,
        ClusterEngine::Kubernetes => {
            run.kubernetes(&jiff::Timestamp::now().strftime("skill-evals-%Y%m%d-%H%M%S").to_string())?
        }
    };
    if !args.submit {
        document_stdout().write_all(jobs.as_bytes())?;
        return Ok(Exit::Clean);
    }
    if find_program("sbatch").is_none() {
        return Err("--submit needs sbatch, which is not in PATH; without --submit, the jobs are printed".into());
    }
    // What it prints before it fails names the jobs that are submitted already.
    if !run_to_end::succeeds("bash", &["-c", &jobs], &root)? {
        return Err("not all jobs were submitted: see what sbatch says above".into());
    }
    Ok(Exit::Clean)
}

impl ClusterArgs {
    /// The options of the shards. Finds what would fail in every shard.
    fn check(&self) -> Result<RunArgs, Problem> {
        if self.submit && self.engine != ClusterEngine::Slurm {
            return Err(format!("--submit is for slurm: submit what `cluster {}` prints yourself", self.engine).into());
        }
        if let Some(id) = &self.run_id {
            check_id(id).map_err(|why| format!("the run id {id:?} {why}"))?;
            if Shard::of_run(id).is_some() {
                return Err(format!("the run id `{id}` is that of a shard: leave out its end").into());
            }
            if self.engine == ClusterEngine::GitHub {
                return Err("a workflow names each run by its number: leave out --run-id".into());
            }
        }
        if self.engine == ClusterEngine::GitHub && self.shards > 256 {
            return Err("a matrix of GitHub has at most 256 jobs: use fewer --shards".into());
        }
        if self.engine != ClusterEngine::GitHub && self.source.is_given() {
            return Err(format!(
                "--path and --git are for github: jobs of {} find skill-evals where they run",
                self.engine
            )
            .into());
        }
        if let Some(option) = self.options.iter().find(|option| option.contains(char::is_control)) {
            return Err(format!("the option {option:?} has a control character, which no job can hand on").into());
        }
        let wrong = |error: clap::Error| format!("options of run: {error}");
        let words = ["skill-evals", "run"].into_iter().chain(self.options.iter().map(String::as_str));
        let given = command().try_get_matches_from(words).map_err(wrong)?;
        let Some(("run", run)) = given.subcommand() else { return Err("expected options of run".into()) };
        if run.get_one::<PathBuf>("cases_from").is_some_and(|file| file.as_os_str() == "-") {
            return Err("--cases-from -: the jobs have no stdin: name a file".into());
        }
        let run = RunArgs::from_arg_matches(run).map_err(wrong)?;
        match run.given.first(&[ALONE]) {
            Some(option) => Err(format!("{option} is not for shards of a cluster: leave it out").into()),
            None => Ok(run),
        }
    }
}
