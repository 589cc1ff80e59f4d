//! Runs the programs that answer checks: after the agent, each in a copy of the workspace of its own, in the sandbox that agents
//! have. They read a trial as it is stored, so that a replay reaches the verdict of the live trial.

mod evidence;
mod sandboxed;
mod workspace;

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::PathBuf;

use crate::cases::program_content::{self, readable};
use crate::checks::program::{ProgramEnding, ProgramRun, ProgramRuns, WorkspaceProgram};
use crate::files::inside;
use crate::run::context::RunContext;
use crate::run::stored_trial::TrialEvidence;
use crate::text::problem::Problem;
use crate::trace::AgentProgress;

pub use sandboxed::{EndedProgram, SandboxedRun};
pub(super) use workspace::unchanged_start_files;

use evidence::EvidenceDir;

/// The runs of the programs of a case about a trial, and what was not enforced, in words.
#[derive(Debug, Default)]
pub struct CaseProgramRuns {
    pub runs: ProgramRuns,
    pub not_enforced: Vec<String>,
}

/// Runs the programs that answer the checks of a case about a stored trial. Fails if the user ended the run meanwhile.
pub fn run_all(run: &RunContext, exhibit: &TrialEvidence<'_>) -> Result<CaseProgramRuns, Problem> {
    let programs: BTreeSet<&WorkspaceProgram> =
        exhibit.case.checks.iter().filter_map(|check| check.program()).collect();
    let (ending, progress) = (&exhibit.evidence.meta.ending, exhibit.evidence.trace.progress);
    let is_whole = !ending.settled && (ending.trouble.is_none() || progress > AgentProgress::Silent);
    let has_workspace = !exhibit.evidence.meta.is_user_session();
    let mut all = CaseProgramRuns::default();
    for program in programs {
        let ending = if !has_workspace {
            Err("the workspace of the session is not known".to_owned())
        } else if is_whole {
            let EndedProgram { ending, not_isolated, .. } = run_in_copy(run, exhibit, program)?;
            let not_isolated = not_isolated.map(|why| format!("the check `{program}` is not isolated: {why}"));
            all.not_enforced.extend(not_isolated);
            ending
        } else {
            Err("it did not run".to_owned())
        };
        let (digest, ending) = match program_content::digest(&run.root, program) {
            Ok(digest) => (digest, ending),
            Err(error) => (String::new(), Err(format!("it cannot be read: {error}"))),
        };
        all.runs.insert(program.clone(), ProgramRun { digest, ending });
    }
    Ok(all)
}

/// Runs a program in a copy of the workspace that a trial left. It can read the trial's evidence and, of the repository, only
/// what belongs to it. Fails if the user ended the run meanwhile.
pub fn run_in_copy(
    run: &RunContext,
    exhibit: &TrialEvidence<'_>,
    program: &WorkspaceProgram,
) -> Result<EndedProgram, Problem> {
    let prepared = run.program_runner.open(&run.settings).and_then(|(_, redactors)| {
        let trial_env = run.program_runner.trial_env(&run.settings)?;
        workspace::restore(run, exhibit, &trial_env)?;
        workspace::add_files(&run.root, program, &trial_env.workspace())?;
        let evidence = EvidenceDir::write(exhibit, &trial_env)?;
        Ok((trial_env, evidence, redactors))
    });
    let (trial_env, (evidence, input), redactors) = match prepared {
        Ok(prepared) => prepared,
        Err(why) => return Ok(EndedProgram::failed(why.to_string())),
    };
    let script = program.script().map(|path| {
        inside::place(&run.root, path.as_path())?;
        inside::real(&run.root, readable(path))
    });
    let script = match script.transpose() {
        Ok(script) => script,
        Err(error) => return Ok(EndedProgram::failed(error.to_string())),
    };
    let reads: Vec<PathBuf> = script.into_iter().chain([evidence.readable()]).collect();
    let (program, args, own_timeout) = match program {
        WorkspaceProgram::Script(path) => (run.root.join(path.as_path()), Vec::new(), None),
        WorkspaceProgram::Command { line, timeout, .. } => {
            (PathBuf::from("/bin/sh"), vec![OsString::from("-c"), line.into()], *timeout)
        }
    };
    let mut ended = SandboxedRun {
        root: &run.root,
        settings: &run.settings,
        trial_env: &trial_env,
        program: &program,
        args,
        env: evidence.variables(&trial_env),
        reads: &reads,
        input: Some(input),
        timeout: own_timeout.unwrap_or(run.settings.checks.timeout),
        more_time: own_timeout.map_or(
            "`check_timeout_s` in evals/evals.toml gives it more",
            |_| "the timeout of its check gives it more",
        ),
        redactor: &redactors.masking(Vec::new()),
    }
    .run()?;
    // Another run has other paths, and must find the same.
    let workspace = trial_env.workspace().to_string();
    let clean = |text: &str| text.replace(&workspace, ".");
    let clean_why = |why: &str| clean(why).replace(&format!("{}/", run.root.display()), "");
    match &mut ended.ending {
        Ok(ProgramEnding { stdout, stderr, not_started, .. }) => {
            (*stdout, *stderr) = (clean(stdout), clean(stderr));
            *not_started = not_started.as_deref().map(clean_why);
        }
        Err(why) => *why = clean_why(why),
    }
    Ok(ended)
}
