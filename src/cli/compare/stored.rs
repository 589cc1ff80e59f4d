//! Compares trials that are stored.

use std::collections::{BTreeMap, BTreeSet};
use std::error::Error;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use super::asked::{StoredArm, is_path};
use super::{CompareArgs, gate};
use crate::cli::CliResultOf;
use skill_evals::decide::plan;
use skill_evals::decide::sequential::{Course, Pair};
use skill_evals::decide::{Arm, Rule};
use skill_evals::report::diagnostics::counted;
use skill_evals::results::arm::{ArmReader, ArmResults};
use skill_evals::results::compared::{self, Compared, SpentTrials};
use skill_evals::run::{arms, pairs};
use skill_evals::stats::proportion::Rate;
use skill_evals::store::{self, RunFolder};
use skill_evals::trial::id::TrialId;
use skill_evals::trial::run_record::{Arms, PairRecord};

/// Compares stored trials of two arms.
pub fn compare(args: &CompareArgs, root: &Path, a: &StoredArm, b: &StoredArm) -> CliResultOf<Compared> {
    args.refuse_what_runs()?;
    let (of_a, of_b) = (sources(root, a)?, sources(root, b)?);
    if let (true, Some(both)) = (a.mode == b.mode, of_a.iter().find(|path| of_b.contains(path))) {
        return Err(format!("{} is in both arms: its trials would be compared with themselves", both.display()).into());
    }
    let readers = |paths: &[PathBuf]| paths.iter().map(|path| read(path)).collect::<Result<Vec<ArmReader>, _>>();
    let (in_a, in_b) = (readers(&of_a)?, readers(&of_b)?);
    let modes = |readers: &[ArmReader], only: &Option<String>| -> BTreeSet<String> {
        let all = readers.iter().flat_map(ArmReader::modes).map(str::to_owned);
        all.filter(|mode| only.as_ref().is_none_or(|only| only == mode)).collect()
    };
    let stored: BTreeSet<(&str, &str)> = in_a.iter().chain(&in_b).flat_map(ArmReader::cases).collect();
    let chosen = args.select.names().of_stored(&stored)?;
    let (modes_a, modes_b) = (modes(&in_a, &a.mode), modes(&in_b, &b.mode));
    for (arm, modes) in [(a, &modes_a), (b, &modes_b)] {
        if modes.is_empty() {
            return Err(format!("{} holds no trials that ended", arm.label).into());
        }
    }
    // Where both arms ran in the same modes, the mode is part of the case; else the arms are the modes.
    let several = modes_a == modes_b && modes_a.len() > 1;
    if modes_a != modes_b && (modes_a.len() > 1 || modes_b.len() > 1) {
        let list = |modes: &BTreeSet<String>| modes.iter().cloned().collect::<Vec<_>>().join(", ");
        return Err(format!(
            "the runs are in different modes ({} against {}): choose one of each with --a mode=… --b mode=…",
            list(&modes_a),
            list(&modes_b)
        )
        .into());
    }
    let asks = |readers: &[ArmReader], only: &Option<String>| {
        let is = |mode: &str| only.as_ref().is_none_or(|only| only == mode);
        readers.iter().any(|reader| reader.asks_for_the_skill(is))
    };
    let outcome_only = asks(&in_a, &a.mode) != asks(&in_b, &b.mode);
    let arm = |readers: &[ArmReader], only: &Option<String>| {
        let mut arm = ArmResults { outcome_only, ..ArmResults::default() };
        for reader in readers {
            reader.add_to(&mut arm, |skill, case, mode| {
                let wanted = only.as_ref().is_none_or(|only| only == mode) && chosen.contains(&(skill, case));
                wanted.then(|| arms::case_name(skill, case, mode, several))
            });
        }
        arm
    };
    let rule = args.rule();
    let (in_a, in_b) = (arm(&in_a, &a.mode), arm(&in_b, &b.mode));
    if !args.gate.is_empty() {
        let design = design(&in_a.counts, &in_b.counts);
        let numbers = ("trials of each case in each arm", "measure more with run --trials");
        gate::check(&args.gate, &rule, numbers, |claim| plan::reach_fixed(&design, &rule, claim))?;
    }
    Ok(compared::stored((a.label.clone(), b.label.clone()), &in_a, &in_b, rule))
}

/// The trials of each case that both arms have.
fn design(a: &Arm, b: &Arm) -> Vec<(u64, u64)> {
    let both = a.iter().filter_map(|(case, in_a)| Some((in_a.rate.trials, b.get(case)?.rate.trials)));
    both.collect()
}

/// The files with the trials of an arm, each once.
fn sources(root: &Path, arm: &StoredArm) -> Result<Vec<PathBuf>, Box<dyn Error>> {
    let mut paths = Vec::new();
    for source in &arm.sources {
        let path = progress_of(root, source)?.canonicalize()?;
        if paths.contains(&path) {
            return Err(format!("{source} is named twice in one arm: its trials would count twice").into());
        }
        paths.push(path);
    }
    Ok(paths)
}

/// The file with the trials of a run, or the baseline file.
fn progress_of(root: &Path, source: &str) -> Result<PathBuf, Box<dyn Error>> {
    let path = match RunFolder::open(root, source) {
        _ if source.contains('/') => PathBuf::from(source),
        Ok(run) => run.progress_path(),
        Err(_) if is_path(source) => PathBuf::from(source),
        Err(error) => return Err(error.into()),
    };
    let path = if path.is_dir() { RunFolder::at(&path).progress_path() } else { path };
    if !path.is_file() {
        return Err(
            format!("{}: there is no such file; a baseline is the progress.jsonl of a run", path.display()).into()
        );
    }
    Ok(path)
}

/// The trials that a progress file tells of.
fn read(path: &Path) -> Result<ArmReader, Box<dyn Error>> {
    let mut reader = ArmReader::default();
    store::each_line(path, |line| reader.line(line))?;
    let (lines, at) = (counted(reader.damaged, "line"), path.display());
    if reader.damaged > 0 && reader.modes().is_empty() {
        return Err(format!("{at}: {lines}, none of them a result; a baseline is the progress.jsonl of a run").into());
    }
    if reader.damaged > 0 {
        writeln!(io::stderr(), "warning: {at}: {lines} cannot be read; what is lost is in no figure")?;
    }
    Ok(reader)
}

/// What comparing the arms of a run came to.
pub fn again(args: &CompareArgs, run: &RunFolder) -> CliResultOf<Compared> {
    args.refuse_what_runs()?;
    args.refuse_what_decided(run.id())?;
    let record = run.run_record()?.and_then(|record| record.arms);
    let arms = record.ok_or_else(|| format!("{} compared nothing", run.id()))?;
    of_arms(run, &arms, args.rule())
}

/// The same of a run with these arms; what they say of alpha and margin goes before `rule`.
pub fn of_arms(run: &RunFolder, arms: &Arms, rule: Rule) -> CliResultOf<Compared> {
    let (pairs, progress) = (run.pairs()?, run.progress()?);
    if progress.damaged > 0 {
        let (id, lines) = (run.id(), counted(progress.damaged, "line"));
        writeln!(
            io::stderr(),
            "warning: {lines} of the progress file of {id} cannot be read; `compare --resume --run-id {id}` writes it anew"
        )?;
    }
    let rule = Rule { alpha: arms.alpha, margin: arms.margin, ..rule };
    let mut state = Course::new(arms.cases.clone(), rule, arms.seed);
    for pair in &pairs {
        let verdict = |id: &TrialId| progress.records.get(id).map(|record| pairs::of_record(record, arms.outcome_only));
        // A case that no arm had any more when the run went on is not compared.
        let Some(case) = case_of(arms, pair) else { continue };
        // As while it runs: what began after a pair that is not there waits for it.
        let (Some(a), Some(b)) = (verdict(&pair.a), verdict(&pair.b)) else { break };
        if state.word().decided() {
            break;
        }
        state.feed(Pair { case, a, b })?;
    }
    of_run(run, arms, &state)
}

/// The place of a pair's case among those that are compared. A mode belongs to their names only where there are several.
fn case_of(arms: &Arms, pair: &PairRecord) -> Option<usize> {
    let TrialId { skill, case, mode, .. } = &pair.b;
    let names = [true, false].map(|several| arms::case_name(skill, case, mode, several));
    arms.cases.iter().position(|case| names.contains(case))
}

/// Everything there is to show of a run that compares, once its pairs have come to `state`.
pub fn of_run(run: &RunFolder, arms: &Arms, state: &Course) -> CliResultOf<Compared> {
    let pairs = run.pairs()?;
    let mut reader = ArmReader::default();
    store::each_line(&run.progress_path(), |line| reader.line(line))?;
    let arm = |of: fn(&PairRecord) -> &TrialId| {
        let key = |id: &TrialId| (id.skill.clone(), id.case.clone(), id.mode.clone());
        let named = pairs.iter().filter_map(|pair| Some((key(of(pair)), &arms.cases[case_of(arms, pair)?])));
        let named: BTreeMap<_, _> = named.collect();
        let mut arm = ArmResults { outcome_only: arms.outcome_only, ..ArmResults::default() };
        reader.add_to(&mut arm, |skill, case, mode| {
            named.get(&(skill.to_owned(), case.to_owned(), mode.to_owned())).map(|name| (*name).clone())
        });
        arm
    };
    let (a, b) = (arm(|pair| &pair.a), arm(|pair| &pair.b));
    let labels = (arms.a.label.clone(), arms.b.label.clone());
    let rule = Rule { alpha: arms.alpha, margin: arms.margin, ..Rule::default() };
    let used = 2 * state.pairs().len() as u64;
    let run =
        [&a, &b].into_iter().flat_map(|arm| arm.counts.values()).map(|counts| counts.rate.trials + counts.lost).sum();
    let mut flipped = Rate::default();
    state.pairs().iter().filter_map(|pair| Some(pair.a? != pair.b?)).for_each(|differs| flipped.add(differs));
    let spent = Some(SpentTrials { used, run, most: arms.max_trials, flipped });
    let worth = arms.a.without && !arms.b.without;
    let same = arms.a.again || arms.b.again;
    let left_out = arms.left_out.clone();
    Ok(Compared { spent, worth, same, left_out, ..compared::of(labels, state.comparison(), &a, &b, rule) })
}
