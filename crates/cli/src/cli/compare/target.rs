//! What a command line asks to compare.

use std::collections::BTreeSet;
use std::path::Path;

use super::CompareArgs;
use crate::engine::compare::{self, repeated, working_tree};
use crate::files::look;
use crate::process::git;
use crate::settings::mode::SkillSelection;
use crate::store::{self, RunFolder};
use crate::text::diagnostic::nearest;
use crate::text::problem::Problem;
use crate::trial::run_record::{ComparedSide, ComparedSides};

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
