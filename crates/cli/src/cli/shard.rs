//! The part of a run's cases that this process has, the engines that say which part that is, and `skill-evals merge`.

use std::io::Write;

use clap::Args;

use super::select::ALONE;
use super::{CliResult, RepositoryArgs};
use crate::cli::exit_code::Exit;
use crate::cli::named_runs;
use crate::cli::output::{text_stdout, warn};
use crate::report::diagnostics::counted;
use crate::run::merge;
use crate::settings::load;
use crate::text::diagnostic::shown_path;
use crate::text::escape;
use crate::text::problem::Problem;
use crate::trial::shard::{NoShard, Shard};

/// The value of `--shard` that asks the engine.
const AUTO: &str = "auto";

/// Options that choose a part of the cases.
#[derive(Args)]
pub struct ShardArgs {
    /// Only the cases of shard M of N; each case in a mode is in one shard. `auto`: as Slurm, Kubernetes, GitLab or Buildkite
    /// say
    #[arg(long, value_name = "M/N|auto", value_parser = choice, group = ALONE)]
    shard: Option<ShardChoice>,
    /// With --shard auto: N, which Kubernetes does not say; an error if another engine says otherwise
    #[arg(long, value_name = "N", requires = "shard", hide = true, group = ALONE)]
    shards: Option<u32>,
}

/// A value of `--shard`.
#[derive(Clone, Copy, Debug)]
enum ShardChoice {
    Auto,
    This(Shard),
}

fn choice(text: &str) -> Result<ShardChoice, NoShard> {
    if text == AUTO { Ok(ShardChoice::Auto) } else { text.parse().map(ShardChoice::This) }
}

impl ShardArgs {
    pub fn is_given(&self) -> bool {
        self.shard.is_some()
    }

    pub fn shard(&self) -> Result<Option<Shard>, Problem> {
        // An engine may set a variable that is empty.
        let variable = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
        match self.shard {
            None => Ok(None),
            Some(ShardChoice::Auto) => of_engine(self.shards, variable).map(Some),
            Some(ShardChoice::This(shard)) if self.shards.is_some_and(|shards| shards != shard.of) => {
                Err(format!("--shard {shard} has its own number of shards: leave out --shards").into())
            }
            Some(ShardChoice::This(shard)) => Ok(Some(shard)),
        }
    }
}

/// An engine that starts parallel tasks, by the variables that say which task this is.
struct TaskRunner {
    name: &'static str,
    /// The number of the task.
    task: &'static str,
    /// The number of the first task.
    first: FirstTask,
    /// The number of tasks, if the engine says it.
    count: Option<&'static str>,
}

enum FirstTask {
    Always(u32),
    /// Variables with the lowest and the highest number. There may be gaps between them.
    Between(&'static str, &'static str),
}

/// Slurm sets its variables in array jobs only, GitLab and Buildkite in jobs with `parallel` or `parallelism` only.
const ENGINES: [TaskRunner; 4] = [
    TaskRunner {
        name: "Slurm",
        task: "SLURM_ARRAY_TASK_ID",
        first: FirstTask::Between("SLURM_ARRAY_TASK_MIN", "SLURM_ARRAY_TASK_MAX"),
        count: Some("SLURM_ARRAY_TASK_COUNT"),
    },
    TaskRunner { name: "Kubernetes", task: "JOB_COMPLETION_INDEX", first: FirstTask::Always(0), count: None },
    TaskRunner { name: "GitLab", task: "CI_NODE_INDEX", first: FirstTask::Always(1), count: Some("CI_NODE_TOTAL") },
    TaskRunner {
        name: "Buildkite",
        task: "BUILDKITE_PARALLEL_JOB",
        first: FirstTask::Always(0),
        count: Some("BUILDKITE_PARALLEL_JOB_COUNT"),
    },
];

/// The shard of the task that an engine has started. `shards` is the number of shards that the user expects.
fn of_engine(shards: Option<u32>, variable: impl Fn(&str) -> Option<String>) -> Result<Shard, Problem> {
    let set: Vec<&TaskRunner> = ENGINES.iter().filter(|engine| variable(engine.task).is_some()).collect();
    let engine = match set[..] {
        [engine] => engine,
        [] => {
            let known = ENGINES.map(|engine| format!("{} ({})", engine.task, engine.name)).join(", ");
            return Err(format!("--shard auto: no engine has numbered this task; none of these is set: {known}").into());
        }
        [one, other, ..] => {
            return Err(format!("--shard auto: both {} and {} are set: use --shard M/N", one.task, other.task).into());
        }
    };
    let number = |name: &str| {
        let value = variable(name).ok_or_else(|| format!("--shard auto: {} is set, but not {name}", engine.task))?;
        value.parse::<u32>().map_err(|_| format!("--shard auto: {name} is {value:?}: expected a number"))
    };
    let task = number(engine.task)?;
    let of = match (engine.count.map(number).transpose()?, shards) {
        (Some(count), Some(shards)) if count != shards => {
            let count_name = engine.count.unwrap_or_default();
            return Err(format!(
                "--shards {shards}, but {count_name} is {count}: to run some shards again, use --shard M/N"
            )
            .into());
        }
        (Some(of), _) | (None, Some(of)) => of,
        (None, None) => {
            return Err(
                format!("--shard auto: {} does not say how many tasks there are: add --shards N", engine.name).into()
            );
        }
    };
    let first = match engine.first {
        FirstTask::Always(first) => first,
        FirstTask::Between(lowest, highest) => {
            let (lowest, highest) = (number(lowest)?, number(highest)?);
            // With gaps, a task's place is unknown, and cases would be lost.
            if u64::from(highest) + 1 != u64::from(lowest) + u64::from(of) {
                return Err(format!(
                    "--shard auto: the array has {of} tasks from {lowest} to {highest}: use an array without steps and gaps, \
                     such as --array=1-{of}"
                ).into());
            }
            lowest
        }
    };
    let place = task.checked_sub(first).filter(|place| *place < of);
    let place = place
        .ok_or_else(|| format!("--shard auto: {} is {task}: expected one of {of} tasks from {first}", engine.task))?;
    format!("{}/{of}", u64::from(place) + 1).parse().map_err(|error: NoShard| format!("--shard auto: {error}").into())
}

// `skill-evals merge`.

/// Maximum number of missing trials to name.
const MAX_MISSING: usize = 20;

const HELP: &str = "The merged run is a stored run like any other. Merging again replaces it with
what the shards have by then.

Exit codes:
  0    merged; every planned trial has a result, whatever it is
  2    could not merge: not shards of one run, a shard twice, or different
       skills, cases, checks or options
  3    merged, but planned trials have no result";

#[derive(Args)]
#[command(after_help = HELP)]
pub struct MergeArgs {
    /// Shards of one run, by id, directory or tar file (.tar, .tar.gz); the id of the whole run names all its shards
    #[arg(value_name = "RUN-ID|DIR|TAR", required = true)]
    what: Vec<String>,
    /// Id of the merged run
    #[arg(long, value_name = "ID")]
    run_id: String,
    #[command(flatten)]
    repository: RepositoryArgs,
}

pub fn merge(args: &MergeArgs) -> CliResult {
    let root = args.repository.open()?.root;
    let settings = load::read(&root, args.repository.trust())?;
    let shards = named_runs::open_shards(&root, &args.what)?;
    let merged = merge::merge(&root, &settings, &shards.runs, &args.run_id)?;
    for agents in &merged.mixed_agents {
        warn(&format!("the shards ran different versions of an agent: {agents}"))?;
    }
    let mut out = text_stdout();
    let shown = escape::line(&shown_path(&root, merged.run.path()).display().to_string());
    let (of, trials) = (counted(shards.runs.len(), "shard"), counted(merged.summary.total.ended(), "trial"));
    writeln!(out, "{shown}: {trials} of {of}")?;
    for (id, why) in merged.missing.iter().take(MAX_MISSING) {
        writeln!(out, "missing: {}", escape::line(&format!("{id} ({why})")))?;
    }
    let more = merged.missing.len().saturating_sub(MAX_MISSING);
    if more > 0 {
        writeln!(out, "missing: {more} more; `skill-evals summary {}` counts them", args.run_id)?;
    }
    Ok(if merged.missing.is_empty() { Exit::Clean } else { Exit::Infrastructure })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What `--shard auto` says with these variables.
    fn auto(shards: Option<u32>, variables: &str) -> Result<String, Problem> {
        let variable = |name: &str| {
            let mut pairs = variables.split_whitespace().filter_map(|pair| pair.split_once('='));
            pairs.find_map(|(key, value)| (key == name).then(|| value.to_owned()))
        };
        of_engine(shards, variable).map(|shard| shard.to_string())
    }

    fn slurm(task: u32, count: u32, lowest: u32, highest: u32) -> String {
        format!(
            "SLURM_ARRAY_TASK_ID={task} SLURM_ARRAY_TASK_COUNT={count} SLURM_ARRAY_TASK_MIN={lowest} SLURM_ARRAY_TASK_MAX={highest}"
        )
    }

    #[test]
    fn auto_is_the_shard_that_the_engine_numbers() {
        for (variables, shard) in [
            (slurm(1, 16, 1, 16), "1/16"),
            (slurm(16, 16, 1, 16), "16/16"),
            (slurm(0, 4, 0, 3), "1/4"),
            (slurm(7, 3, 5, 7), "3/3"),
            ("CI_NODE_INDEX=2 CI_NODE_TOTAL=4".to_owned(), "2/4"),
            ("BUILDKITE_PARALLEL_JOB=0 BUILDKITE_PARALLEL_JOB_COUNT=5".to_owned(), "1/5"),
            // GitLab sets the number in every job.
            (format!("CI_NODE_TOTAL=1 {}", slurm(2, 2, 1, 2)), "2/2"),
        ] {
            assert_eq!(auto(None, &variables).as_deref(), Ok(shard), "{variables}");
        }
        assert_eq!(auto(Some(8), "JOB_COMPLETION_INDEX=7").as_deref(), Ok("8/8"));
        assert_eq!(auto(Some(16), &slurm(3, 16, 1, 16)).as_deref(), Ok("3/16"));
    }

    #[test]
    fn a_task_whose_place_is_not_clear_is_refused() {
        for (shards, variables, why) in [
            (
                None,
                String::new(),
                "SLURM_ARRAY_TASK_ID (Slurm), JOB_COMPLETION_INDEX (Kubernetes), CI_NODE_INDEX (GitLab)",
            ),
            (None, slurm(3, 3, 1, 7), "3 tasks from 1 to 7: use an array without steps and gaps, such as --array=1-3"),
            (None, slurm(14, 8, 0, 14), "8 tasks from 0 to 14"),
            (None, slurm(9, 3, 5, 7), "SLURM_ARRAY_TASK_ID is 9: expected one of 3 tasks from 5"),
            (Some(16), slurm(3, 2, 3, 4), "--shards 16, but SLURM_ARRAY_TASK_COUNT is 2: to run some shards again"),
            (None, "SLURM_ARRAY_TASK_ID=1".to_owned(), "is set, but not SLURM_ARRAY_TASK_COUNT"),
            (
                None,
                "JOB_COMPLETION_INDEX=1".to_owned(),
                "Kubernetes does not say how many tasks there are: add --shards N",
            ),
            (Some(8), "JOB_COMPLETION_INDEX=8".to_owned(), "expected one of 8 tasks from 0"),
            (None, "CI_NODE_INDEX=0 CI_NODE_TOTAL=4".to_owned(), "expected one of 4 tasks from 1"),
            (None, "CI_NODE_INDEX=1 CI_NODE_TOTAL=x".to_owned(), "CI_NODE_TOTAL is \"x\": expected a number"),
            (None, "CI_NODE_INDEX=1 CI_NODE_TOTAL=20000".to_owned(), "N is at most 10000"),
            (
                None,
                format!("CI_NODE_INDEX=1 CI_NODE_TOTAL=2 {}", slurm(1, 2, 1, 2)),
                "both SLURM_ARRAY_TASK_ID and CI_NODE",
            ),
        ] {
            let error = auto(shards, &variables).expect_err(&variables).to_string();
            assert!(error.contains(why), "{variables}: {error}");
        }
    }
}
