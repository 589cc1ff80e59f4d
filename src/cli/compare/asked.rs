//! What a command line asks to compare.

use std::error::Error;
use std::path::Path;

use super::CompareArgs;
use skill_evals::process::git;
use skill_evals::settings::mode::Offer;
use skill_evals::store::{self, RunFolder};
use skill_evals::trial::run_record::{Arm, Arms};

/// What is to be done.
pub enum Asked {
    /// Compare these stored trials.
    Stored(StoredArm, StoredArm),
    /// Show what a run that compared came to.
    Again(RunFolder),
    /// Run trials of both arms.
    Run(Arms),
    /// Go on with a run.
    Resume,
}

/// Stored trials that make up an arm.
pub struct StoredArm {
    /// What users call it.
    pub label: String,
    /// Runs by id, and baseline files by path.
    pub sources: Vec<String>,
    /// Only those in this mode.
    pub mode: Option<String>,
}

/// Reads what was asked.
pub fn asked(args: &CompareArgs, root: &Path) -> Result<Asked, Box<dyn Error>> {
    if args.resume {
        return Ok(Asked::Resume);
    }
    let (a, b) = (arm(args.a.as_deref(), root)?, arm(args.b.as_deref(), root)?);
    match args.what.as_slice() {
        [first, second] => {
            let [in_a, in_b] = match args.mode.as_slice() {
                [] => [&a, &b].map(|arm| arm.mode.clone()),
                [both] => [Some(both.clone()), Some(both.clone())],
                [in_a, in_b] => [Some(in_a.clone()), Some(in_b.clone())],
                _ => return Err("two runs are compared in one mode, or in one each".into()),
            };
            Ok(Asked::Stored(stored(first, &Arm { mode: in_a, ..a }), stored(second, &Arm { mode: in_b, ..b })))
        }
        [one] => of_one(args, root, one, &a, &b),
        _ => Ok(Asked::Run(args.arms(of_modes(args, a, b)?))),
    }
}

fn stored(sources: &str, arm: &Arm) -> StoredArm {
    let label = match &arm.mode {
        Some(mode) => format!("{sources} in the mode {mode}"),
        None => sources.to_owned(),
    };
    StoredArm { label, sources: sources.split(',').map(str::to_owned).collect(), mode: arm.mode.clone() }
}

/// A single name is a run with arms or modes to compare, or a git reference.
fn of_one(args: &CompareArgs, root: &Path, one: &str, a: &Arm, b: &Arm) -> Result<Asked, Box<dyn Error>> {
    let run = store::runs(root).into_iter().find(|run| run.id() == one);
    let commit = git::commit(root, one);
    let run = match (run, &commit) {
        (Some(_), Ok(_)) => {
            return Err(format!(
                "`{one}` is a run and a git reference: write refs/heads/{one} or {one}^0 for the reference, or the run's \
                 progress.jsonl by its path"
            )
            .into());
        }
        (Some(run), Err(_)) => run,
        (None, Ok(commit)) => {
            let short = &commit[..commit.len().min(12)];
            if a.commit.is_some() {
                return Err(format!("{one} says which skills arm A has: leave out skills= in --a").into());
            }
            let a = Arm { label: format!("the skills of {one} ({short})"), commit: Some(commit.clone()), ..a.clone() };
            let b = Arm { label: "the working tree".to_owned(), ..b.clone() };
            return Ok(Asked::Run(args.arms((a, b))));
        }
        (None, Err(why)) => {
            let known: Vec<String> = store::runs(root).iter().take(5).map(|run| run.id().to_owned()).collect();
            let known = if known.is_empty() {
                "there are no runs yet".to_owned()
            } else {
                format!("runs: {}", known.join(", "))
            };
            return Err(format!("`{one}` is neither a run nor a git reference: {why}; {known}").into());
        }
    };
    match (run.run_record()?.and_then(|record| record.arms), args.mode.as_slice(), (&a.mode, &b.mode)) {
        (Some(_), ..) => Ok(Asked::Again(run)),
        (None, [first, second], _) => {
            let in_mode = |mode: &String| stored(one, &Arm { mode: Some(mode.clone()), ..Arm::default() });
            Ok(Asked::Stored(in_mode(first), in_mode(second)))
        }
        (None, _, (Some(_), Some(_))) => Ok(Asked::Stored(stored(one, a), stored(one, b))),
        _ => Err(format!("{one} is one run: name the run to compare it with, or two modes of it with --mode").into()),
    }
}

/// The arms that options name.
fn of_modes(args: &CompareArgs, a: Arm, b: Arm) -> Result<(Arm, Arm), String> {
    let in_mode = |mode: &str| Arm { label: format!("the mode {mode}"), mode: Some(mode.to_owned()), ..Arm::default() };
    if let Some(with) = &args.with {
        let without = Arm { label: format!("the mode {with} without skills"), without: true, ..in_mode(with) };
        return Ok((without, in_mode(with)));
    }
    if args.aa {
        let again = Arm { label: "the working tree again".to_owned(), again: true, ..Arm::default() };
        return Ok((Arm { label: "the working tree".to_owned(), ..Arm::default() }, again));
    }
    match args.mode.as_slice() {
        [first, second] => Ok((in_mode(first), in_mode(second))),
        _ if args.a.is_some() || args.b.is_some() => Ok((a, b)),
        _ => {
            Err("name what to compare: a git reference, two runs, or two modes with --mode; --help has examples"
                .to_owned())
        }
    }
}

impl CompareArgs {
    fn arms(&self, (a, b): (Arm, Arm)) -> Arms {
        Arms {
            a,
            b,
            alpha: self.rule().alpha,
            margin: self.rule().margin,
            max_trials: self.max_trials.unwrap_or_default(),
            seed: fastrand::u64(..),
            left_out: Vec::new(),
        }
    }
}

/// An arm as `--a` and `--b` write it: `key=value`, separated by commas.
fn arm(text: Option<&str>, root: &Path) -> Result<Arm, String> {
    let Some(text) = text else { return Ok(Arm { label: "the working tree".to_owned(), ..Arm::default() }) };
    let mut arm = Arm { label: text.to_owned(), ..Arm::default() };
    for part in text.split(',') {
        let (key, value) = part.split_once('=').unwrap_or((part, ""));
        let value = value.trim();
        match key.trim() {
            "without" if value.is_empty() => arm.without = true,
            key @ ("mode" | "model" | "offer" | "skills") if value.is_empty() => {
                return Err(format!("`{key}` in {text:?} has no value; write {key}=…"));
            }
            "mode" => arm.mode = Some(value.to_owned()),
            "model" => arm.model = Some(value.to_owned()),
            "offer" => arm.offer = Some(offer(value)),
            "skills" => arm.commit = Some(git::commit(root, value).map_err(|error| error.to_string())?),
            key => {
                return Err(format!(
                    "{text:?} names `{key}`; known: mode=, model=, offer=all|alone|SKILL+SKILL, skills=GIT-REF, without"
                ));
            }
        }
    }
    Ok(arm)
}

/// Whether an arm names more than a mode, which only trials to come can follow.
pub fn of_a_run(arm: &str) -> bool {
    arm.split(',').any(|part| part.split('=').next().is_some_and(|key| key.trim() != "mode"))
}

fn offer(text: &str) -> Offer {
    match text {
        "all" => Offer::All,
        "alone" => Offer::Alone,
        list => Offer::Only(list.split('+').map(str::to_owned).collect()),
    }
}
