//! `skill-evals tune`.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use clap::{ArgGroup, Args};

use super::compare::{self, LiveComparison, LiveOutcome, LiveRequest};
use super::export_args::IN_PLACE;
use super::generate::author::{Author, agent};
use super::start::StartArgs;
use super::{CliResult, CliResultOf, known_skill};
use crate::cli::color::paint;
use crate::cli::exit_code::Exit;
use crate::cli::output::text_stdout;
use skill_evals::cases::catalog::{Catalog, FoundSkill};
use skill_evals::cases::repository::Repository;
use skill_evals::decide::plan::ComparePlan;
use skill_evals::decide::result::CompareResult;
use skill_evals::decide::{MARGIN, Rule};
use skill_evals::files::bounded;
use skill_evals::report::compared as report;
use skill_evals::report::diagnostics::counted;
use skill_evals::settings::mode::AgentKind;
use skill_evals::settings::{Settings, Stop};
use skill_evals::setup::generate::drafted::Drafter;
use skill_evals::setup::tune::{self, SplitCases};
use skill_evals::skill::SKILL_FILE;
use skill_evals::store;
use skill_evals::text::safe;
use skill_evals::trial::run_record::RunChoices;

/// The most trials of all comparisons together, unless chosen.
const TRIALS: u64 = 400;

const HELP: &str = "The cases of the skill that do not call it are split in two by a digest of
their names. The training cases choose the best candidate, if there are
several. The held-out cases decide, together with cases of its neighbors.
Nothing is written without --apply, and then only a description that is
better.

Exit codes:
  0    a candidate is better
  1    the best candidate broke a case, or is worse
  2    could not run
  3    not measured, or it ended early
  4    no candidate is shown to be better
  130  interrupted";

#[derive(Args)]
#[command(after_help = HELP, group = ArgGroup::new(IN_PLACE), group = ArgGroup::new("others").required(true).multiple(true),
    mut_arg("run_id", |arg| arg.hide(true)), mut_arg("resume", |arg| arg.hide(true)), mut_arg("force", |arg| arg.hide(true)),
    mut_arg("background", |arg| arg.hide(true)))]
pub struct TuneArgs {
    /// Skill whose description is compared with others
    #[arg(value_name = "SKILL")]
    skill: String,
    /// File with another description, as plain text (repeatable)
    #[arg(long, value_name = "FILE", group = "others")]
    candidate: Vec<PathBuf>,
    /// Agent that writes three more; it sees the training cases only
    #[arg(long, value_name = "AGENT", value_parser = agent, group = "others")]
    agent: Option<AgentKind>,
    /// Write the description into SKILL.md if it is better
    #[arg(long, conflicts_with = "dry_run")]
    apply: bool,
    /// Mode to use [default: that of the cases]
    #[arg(long, value_name = "MODE")]
    mode: Option<String>,
    /// Maximum number of trials, all comparisons together [default: 400]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(4..))]
    max_trials: Option<u64>,
    #[command(flatten)]
    start: StartArgs,
}

/// A description to compare with the current one.
struct Candidate {
    label: String,
    description: String,
    /// SKILL.md with it.
    text: Vec<u8>,
}

pub fn tune(args: &TuneArgs) -> CliResult {
    if args.start.resume || args.start.background || args.start.run_id.is_some() {
        return Err("tune takes none of --resume, --background and --run-id: it may run several comparisons".into());
    }
    let (repository, settings, catalog) = args.start.read()?;
    let found = known_skill(&catalog, &args.skill)?;
    let cases = tune::split(&catalog, found)?;
    let candidates = args.candidates(found, &cases, (&repository, &settings, &catalog))?;
    let current = &found.skill().description;
    let mut out = text_stdout();
    writeln!(out, "current: about {} tokens in every session", tune::tokens(current))?;
    for Candidate { label, description, .. } in &candidates {
        writeln!(out, "{}: {}", safe::line(label), length(description, current))?;
        writeln!(out, "  {}", safe::line(description))?;
    }
    let SplitCases { training, held_out, neighbors } = &cases;
    let cases = |list: &[String]| counted(list.len(), "case");
    let (training_of, held_out_of) = (cases(training), cases(held_out));
    writeln!(out, "{training_of} choose, {held_out_of} and {} of neighbors decide", cases(neighbors))?;
    // It locks standard output, which trials write to.
    drop(out);
    let tuning = Tuning { args, root: &repository.root, catalog: &catalog, found };
    let most = args.max_trials.unwrap_or(TRIALS);
    let mut left = settings.max_cost_usd;
    let best = match candidates.as_slice() {
        [only] => only,
        several => match tuning.best(several, training, most / 2, &mut left)? {
            Ok(best) => best,
            Err(exit) => {
                if args.start.dry_run {
                    let then = cases(&[held_out.as_slice(), neighbors].concat());
                    writeln!(text_stdout(), "\nthen the best of these: {then}, at most {} trials", most / 2)?;
                }
                return Ok(exit);
            }
        },
    };
    let deciding: Vec<String> = held_out.iter().chain(neighbors).cloned().collect();
    let trials = if candidates.len() > 1 { most / 2 } else { most };
    match tuning.compare(best, deciding, trials, &mut left)? {
        LiveOutcome::Exit(exit) => Ok(exit),
        LiveOutcome::Compared(live) => tuning.decide(best, &live),
    }
}

impl TuneArgs {
    fn candidates(
        &self,
        found: &FoundSkill,
        cases: &SplitCases,
        (repository, settings, catalog): (&Repository, &Settings, &Catalog),
    ) -> CliResultOf<Vec<Candidate>> {
        let mut written = Vec::new();
        for path in &self.candidate {
            let label = path.display().to_string();
            let text = bounded::read_text(path).map_err(|error| format!("{label}: {error}"))?;
            written.push((label, text));
        }
        if let Some(agent) = self.agent.filter(|_| !self.start.dry_run) {
            let drafter = Drafter { root: &repository.root, settings, catalog, agent, model: None };
            let training = training_prompts(catalog, found, &cases.training);
            let proposed = Author::new(drafter, repository)?
                .asked(found, |drafter, found, env, folder| drafter.propose(found, &training, env, folder))?;
            let (descriptions, author) = proposed?;
            let numbered = descriptions.into_iter().zip(1..);
            written.extend(numbered.map(|(text, number)| (format!("{author}, number {number}"), text)));
        }
        let mut candidates: Vec<Candidate> = Vec::new();
        for (label, text) in written {
            let description = tune::candidate(&text).map_err(|why| format!("{label}: {why}"))?;
            let is_known = candidates.iter().any(|other| other.description == description);
            if is_known || description == found.skill().description {
                writeln!(text_stdout(), "{}: left out: this description is there already", safe::line(&label))?;
                continue;
            }
            let text = tune::with_description(found, &description)?;
            candidates.push(Candidate { label, description, text });
        }
        if !candidates.is_empty() {
            Ok(candidates)
        } else if self.agent.is_some() && self.start.dry_run {
            Err("--dry-run asks no agent: name a description with --candidate".into())
        } else {
            Err("no candidate is left to compare".into())
        }
    }
}

/// The prompts of these cases, each with whether the skill should activate.
fn training_prompts(catalog: &Catalog, found: &FoundSkill, names: &[String]) -> Vec<(String, bool)> {
    let slug = &found.skill().slug;
    let cases = catalog.cases_of(slug).filter(|case| names.contains(&format!("{slug}/{}", case.id)));
    cases.filter_map(|case| case.case().ok()).map(|case| (case.prompt.clone(), case.should_trigger)).collect()
}

fn length(description: &str, current: &str) -> String {
    let (tokens, before) = (tune::tokens(description), tune::tokens(current));
    let change = match tokens.cmp(&before) {
        std::cmp::Ordering::Less => format!("{} fewer", before - tokens),
        std::cmp::Ordering::Equal => "as many".to_owned(),
        std::cmp::Ordering::Greater => format!("{} more", tokens - before),
    };
    format!("about {tokens} tokens, {change}")
}

struct Tuning<'a> {
    args: &'a TuneArgs,
    root: &'a Path,
    catalog: &'a Catalog,
    found: &'a FoundSkill,
}

impl Tuning<'_> {
    /// The candidate that gained most in the training cases; or the exit code if nothing was measured.
    fn best<'a>(
        &self,
        candidates: &'a [Candidate],
        training: &[String],
        most: u64,
        left: &mut Option<f64>,
    ) -> CliResultOf<Result<&'a Candidate, Exit>> {
        let mut best: Option<(f64, &Candidate)> = None;
        let mut exit = Exit::Infrastructure;
        for candidate in candidates {
            match self.compare(candidate, training.to_vec(), most / candidates.len() as u64, left)? {
                LiveOutcome::Exit(dry) => exit = dry,
                LiveOutcome::Compared(live) => {
                    let comparison = &live.compared.comparison;
                    let sentence = report::sentence(&live.compared, paint(&io::stdout()));
                    writeln!(text_stdout(), "training, {}: {sentence}", safe::line(&candidate.label))?;
                    if let Some(why) = &live.ended_early {
                        writeln!(text_stdout(), "{}", safe::line(why))?;
                        return Ok(Err(Exit::Infrastructure.of_live(true)));
                    }
                    let share = |side: Option<f64>| side.unwrap_or_default();
                    let gain = share(comparison.candidate.share) - share(comparison.baseline.share);
                    let is_measured = !comparison.results.contains(&CompareResult::NothingMeasured);
                    if is_measured && best.is_none_or(|(most, _)| gain > most) {
                        best = Some((gain, candidate));
                    }
                }
            }
        }
        Ok(best.map(|(_, candidate)| candidate).ok_or(exit))
    }

    /// Compares the skills with a candidate with those of the working tree.
    fn compare(
        &self,
        candidate: &Candidate,
        cases: Vec<String>,
        most: u64,
        left: &mut Option<f64>,
    ) -> CliResultOf<LiveOutcome> {
        if left.is_some_and(|left| left <= 0.0) {
            return Err("the cost limit is reached".into());
        }
        let commit = tune::store(self.root, self.catalog, self.found, &candidate.text)?;
        let rule = Rule { margin: Some(MARGIN), ..Rule::default() };
        let sides = compare::with_commit(&commit, candidate.label.clone(), &rule, ComparePlan::Standard, Some(most));
        let mut chosen = RunChoices::default();
        chosen.cases = cases;
        chosen.modes = self.args.mode.iter().cloned().collect();
        let outcome = compare::measure(LiveRequest {
            start: &self.args.start,
            chosen,
            sides: Some(sides),
            rule,
            fails: &[],
            max_trials: Some(most),
            max_age: None,
            max_cost_usd: *left,
            stop: Stop::Settled,
            remedy: "raise --max-trials, or write more cases",
            says_more: !self.args.start.quiet,
            json: false,
            within: None,
        })?;
        if let (LiveOutcome::Compared(live), Some(left)) = (&outcome, left) {
            *left -= live.took.spent.cost_usd.unwrap_or_default();
        }
        Ok(outcome)
    }

    /// Says what the held-out cases decide, and applies it if that is wanted.
    fn decide(&self, best: &Candidate, live: &LiveComparison) -> CliResult {
        let mut out = text_stdout();
        let comparison = &live.compared.comparison;
        write!(out, "held out, {}: {}", safe::line(&best.label), report::render(&live.compared, paint(&io::stdout())))?;
        let own = format!("{}/", self.found.skill().slug);
        for case in comparison.cases.iter().filter(|case| !case.case.starts_with(&own) && case.difference() < 0.0) {
            let how = report::certainty(case, comparison).map(|how| format!(" ({how})")).unwrap_or_default();
            writeln!(out, "a neighbor loses by it: {}{how}", safe::line(&case.case))?;
        }
        if let Some(why) = &live.ended_early {
            writeln!(out, "{}", safe::line(why))?;
        }
        let has = |results: &[CompareResult]| comparison.results.iter().any(|result| results.contains(result));
        let exit = if has(&[CompareResult::NothingMeasured]) {
            Exit::Infrastructure
        } else if has(&CompareResult::HARM) {
            Exit::Problems
        } else if has(&[CompareResult::Better]) {
            Exit::Clean
        } else {
            Exit::Undecided
        };
        let path = self.found.skill().folder.join(SKILL_FILE);
        let shown = safe::line(&path.display().to_string());
        match (exit, self.args.apply) {
            (Exit::Clean, true) => {
                let to = self.root.join(&path);
                if bounded::read(&to).is_ok_and(|now| now == self.found.bytes) {
                    store::write_whole(&to, &best.text)?;
                    writeln!(out, "wrote {shown}; record its cases again: skill-evals run --stale --record")?;
                } else {
                    return Err(format!("{shown} changed meanwhile: not written").into());
                }
            }
            (Exit::Clean, false) => writeln!(out, "--apply writes it into {shown}")?,
            _ => writeln!(out, "{shown} stays as it is")?,
        }
        Ok(exit.of_live(live.ended_early.is_some()))
    }
}
