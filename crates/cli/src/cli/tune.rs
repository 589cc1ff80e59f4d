//! `skill-evals tune`.

use std::io::Write;
use std::path::PathBuf;

use clap::{ArgGroup, Args};

use super::compare::{DryRun, measure};
use super::export_args::IN_PLACE;
use super::generate::author::{Author, agent, request};
use super::start::StartArgs;
use super::{CliResult, CliResultOf};
use crate::cases::catalog::{Catalog, FoundSkill};
use crate::cases::repository::Repository;
use crate::cli::color::paint;
use crate::cli::exit_code::Exit;
use crate::cli::output::{Stream, stderr, text_stdout};
use crate::decide::plan::ComparePlan;
use crate::decide::result::CompareResult;
use crate::decide::{MARGIN, Rule};
use crate::engine::compare::{self, ComparisonRequest, MeasuredComparison};
use crate::engine::{Engine, Loaded};
use crate::files::bounded;
use crate::files::inside;
use crate::report::compared as report;
use crate::report::diagnostics::counted;
use crate::settings::Stop;
use crate::settings::mode::AgentKind;
use crate::setup::generate::drafted::{Drafter, MOST_DESCRIPTIONS};
use crate::setup::tune::{self, SplitCases};
use crate::skill::SKILL_FILE;
use crate::store::{Proposal, UnfinishedTune};
use crate::text::escape;
use crate::trial::evidence::digest;
use crate::trial::run_record::RunChoices;

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
    let loaded = args.start.read()?;
    let Loaded { repository, settings, catalog } = &loaded;
    let host = args.start.host(true);
    let found = catalog.named_skill(&args.skill)?;
    let cases = tune::split(catalog, found)?;
    let tuning = Tuning { args, engine: &host.engine(&args.start), loaded: &loaded, found };
    let paid = UnfinishedTune::of(&repository.root, &found.skill().slug)?;
    let mut left = Budget { usd: settings.max_cost_usd, unknown: None, paid };
    let candidates = tuning.candidates(&cases, &mut left)?;
    let current = &found.skill().description;
    let mut out = text_stdout();
    writeln!(out, "current: about {} tokens in every session", tune::tokens(current))?;
    for Candidate { label, description, .. } in &candidates {
        writeln!(out, "{}: {}", escape::line(label), length(description, current))?;
        writeln!(out, "  {}", escape::line(description))?;
    }
    let SplitCases { training, held_out, neighbors } = &cases;
    let cases = |list: &[String]| counted(list.len(), "case");
    let (training_of, held_out_of) = (cases(training), cases(held_out));
    writeln!(out, "{training_of} choose, {held_out_of} and {} of neighbors decide", cases(neighbors))?;
    // It locks standard output, which trials write to.
    drop(out);
    let most = args.max_trials.unwrap_or(TRIALS);
    let deciding: Vec<String> = held_out.iter().chain(neighbors).cloned().collect();
    if args.start.dry_run {
        let proposed = args.agent.map_or(0, |_| MOST_DESCRIPTIONS);
        return tuning.dry_run(candidates.len() + proposed, training, deciding, most, &mut left);
    }
    let best = match candidates.as_slice() {
        [only] => only,
        several => match tuning.best(several, training, most / 2, &mut left)? {
            Ok(best) => best,
            Err(exit) => return Ok(exit),
        },
    };
    let trials = if candidates.len() > 1 { most / 2 } else { most };
    match tuning.compare(Some(best), deciding, trials, &mut left)? {
        Err(exit) => Ok(exit),
        Ok(live) => {
            let exit = tuning.decide(best, &live)?;
            if matches!(exit, Exit::Clean | Exit::Problems | Exit::Undecided) {
                left.paid.answered()?;
            }
            Ok(exit)
        }
    }
}

/// The prompts of these cases, each with whether the skill should activate.
fn training_prompts(catalog: &Catalog, found: &FoundSkill, names: &[String]) -> Vec<(String, bool)> {
    let slug = &found.skill().slug;
    let cases = catalog.cases_of(slug).filter(|case| names.contains(&format!("{slug}/{}", case.id)));
    cases.filter_map(|case| case.case().ok()).map(|case| (case.prompt.clone(), case.should_trigger)).collect()
}

/// What the agent of this drafter proposes, or proposed before.
fn proposed(
    repository: &Repository,
    found: &FoundSkill,
    (drafter, prompt): (Drafter<'_>, &str),
    paid: &mut UnfinishedTune,
) -> CliResultOf<Proposal> {
    let asked = digest(format!("{}\n{prompt}", drafter.agent.as_str()).as_bytes());
    if let Some(proposal) = paid.proposal(&asked) {
        writeln!(
            stderr(),
            "{} was asked before, and that tune was not finished: its descriptions are used",
            proposal.author
        )?;
        return Ok(proposal);
    }
    let mut author = Author::new(drafter, repository)?;
    let answered = author.asked(found, prompt, |drafter, place| drafter.propose(found, prompt, place))?;
    let (descriptions, name) = answered?;
    let proposal = Proposal { asked, descriptions, author: name, cost_usd: author.spent().cost_usd };
    paid.propose(proposal.clone())?;
    Ok(proposal)
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

/// What may be spent, and what has been paid for.
struct Budget {
    /// What is left in dollars; `None` without a limit.
    usd: Option<f64>,
    /// Whose cost is unknown.
    unknown: Option<String>,
    /// By this start and by earlier ones that gave no answer.
    paid: UnfinishedTune,
}

impl Budget {
    fn take(&mut self, cost: Option<f64>, whose: &str) {
        match cost {
            Some(cost) => self.usd = self.usd.map(|left| left - cost),
            None => self.unknown = Some(whose.to_owned()),
        }
    }

    /// Refuses to spend more than the limit.
    fn check(&self) -> Result<(), String> {
        match (self.usd, &self.unknown) {
            (Some(_), Some(whose)) => Err(format!(
                "the cost limit cannot be held: it is unknown what {whose} cost; give a price in evals/evals.toml, \
                 or limit tokens with --max-tokens"
            )),
            (Some(left), None) if left <= 0.0 => Err("the cost limit is reached".to_owned()),
            _ => Ok(()),
        }
    }
}

struct Tuning<'a> {
    args: &'a TuneArgs,
    engine: &'a Engine<'a>,
    loaded: &'a Loaded,
    found: &'a FoundSkill,
}

impl Tuning<'_> {
    /// The descriptions to compare. Those of the user are read first, so that a mistake in them costs nothing. Of those of the
    /// agent, unusable ones are left out.
    fn candidates(&self, cases: &SplitCases, left: &mut Budget) -> CliResultOf<Vec<Candidate>> {
        let mut candidates = Vec::new();
        for path in &self.args.candidate {
            let label = path.display().to_string();
            let text = bounded::read_text(path).map_err(|error| format!("{label}: {error}"))?;
            self.add(&mut candidates, label.clone(), &text)?.map_err(|why| format!("{label}: {why}"))?;
        }
        let Some(agent) = self.args.agent else {
            return if candidates.is_empty() { Err("no candidate is left to compare".into()) } else { Ok(candidates) };
        };
        let Self { loaded: Loaded { repository, settings, catalog }, found, .. } = *self;
        let drafter = Drafter { root: &repository.root, settings, catalog, agent, model: None };
        let prompt = drafter.prompt_for_descriptions(found, &training_prompts(catalog, found, &cases.training));
        if self.args.start.dry_run {
            writeln!(text_stdout(), "{}", request(&drafter, found, &prompt))?;
            return Ok(candidates);
        }
        let proposal = proposed(repository, found, (drafter, &prompt), &mut left.paid)?;
        left.take(proposal.cost_usd, agent.as_str());
        for (text, number) in proposal.descriptions.into_iter().zip(1..) {
            let label = format!("{}, number {number}", proposal.author);
            if let Err(why) = self.add(&mut candidates, label.clone(), &text)? {
                writeln!(text_stdout(), "{}: left out: {}", escape::line(&label), escape::line(&why))?;
            }
        }
        if candidates.is_empty() { Err("no candidate is left to compare".into()) } else { Ok(candidates) }
    }

    /// Adds a description, unless it is there already; or says why it is not usable.
    fn add(&self, candidates: &mut Vec<Candidate>, label: String, text: &str) -> CliResultOf<Result<(), String>> {
        let description = match tune::candidate(text) {
            Ok(description) => description,
            Err(why) => return Ok(Err(why)),
        };
        let is_known = candidates.iter().any(|other| other.description == description);
        if is_known || description == self.found.skill().description {
            writeln!(text_stdout(), "{}: left out: this description is there already", escape::line(&label))?;
            return Ok(Ok(()));
        }
        Ok(tune::with_description(self.found, &description)
            .map(|text| candidates.push(Candidate { label, description, text })))
    }

    /// Says what comparing this many candidates takes at most.
    fn dry_run(
        &self,
        candidates: usize,
        training: &[String],
        deciding: Vec<String>,
        most: u64,
        left: &mut Budget,
    ) -> CliResult {
        let dry = |compared: Result<_, Exit>| compared.err().unwrap_or(Exit::Clean);
        if candidates == 1 {
            return self.compare(None, deciding, most, left).map(dry);
        }
        writeln!(text_stdout(), "\neach of {candidates} candidates:")?;
        let exit = dry(self.compare(None, training.to_vec(), most / 2 / candidates as u64, left)?);
        let cases = counted(deciding.len(), "case");
        writeln!(text_stdout(), "\nthen the best of these: {cases}, at most {} trials", most / 2)?;
        Ok(exit)
    }

    /// The candidate that surely gained most in the training cases; or the exit code if nothing was measured.
    fn best<'a>(
        &self,
        candidates: &'a [Candidate],
        training: &[String],
        most: u64,
        left: &mut Budget,
    ) -> CliResultOf<Result<&'a Candidate, Exit>> {
        let mut best: Option<(f64, &Candidate)> = None;
        let mut exit = Exit::Infrastructure;
        for candidate in candidates {
            match self.compare(Some(candidate), training.to_vec(), most / candidates.len() as u64, left)? {
                Err(dry) => exit = dry,
                Ok(live) => {
                    let comparison = &live.compared.comparison;
                    let sentence = report::sentence(&live.compared, paint(Stream::Output));
                    writeln!(text_stdout(), "training, {}: {sentence}", escape::line(&candidate.label))?;
                    if let Some(why) = &live.ended_early {
                        writeln!(text_stdout(), "{}", escape::line(why))?;
                        return Ok(Err(Exit::Infrastructure.of_live(true)));
                    }
                    let surely = comparison.difference.map(|found| found.interval.low);
                    if let Some(gain) = surely.filter(|gain| best.is_none_or(|(most, _)| *gain > most)) {
                        best = Some((gain, candidate));
                    }
                }
            }
        }
        Ok(best.map(|(_, candidate)| candidate).ok_or(exit))
    }

    /// Compares the skills with a candidate with those of the working tree. A dry run has no candidate, and stores nothing.
    fn compare(
        &self,
        candidate: Option<&Candidate>,
        cases: Vec<String>,
        most: u64,
        left: &mut Budget,
    ) -> CliResultOf<Result<MeasuredComparison, Exit>> {
        left.check()?;
        let root = &self.loaded.repository.root;
        let side = match candidate {
            Some(Candidate { label, text, .. }) => {
                compare::at_commit(tune::store(root, &self.loaded.catalog, self.found, text)?, label.clone())
            }
            None => compare::repeated("a candidate"),
        };
        let label = side.label.clone();
        let rule = Rule { margin: Some(MARGIN), ..Rule::default() };
        let sides = compare::sides(compare::working_tree(), side, &rule, ComparePlan::Standard);
        let modes = self.args.mode.iter().cloned().collect();
        let chosen = RunChoices { modes, ..RunChoices::of_cases(cases) };
        let request = ComparisonRequest {
            chosen,
            max_trials: Some(most),
            ended: left.paid.runs().to_vec(),
            max_cost_usd: left.usd,
            stop: Stop::Settled,
            remedy: "raise --max-trials, or write more cases",
            ..ComparisonRequest::about(sides)
        };
        let outcome = measure(self.engine, &self.args.start, self.loaded.clone(), request, DryRun::default())?;
        if let Ok(live) = &outcome {
            if let Some(run) =
                live.folder.as_ref().filter(|_| live.ended_early.is_none()).and_then(|path| path.file_name())
            {
                left.paid.compared(&run.to_string_lossy())?;
            }
            left.take(live.cost_usd, &format!("the comparison with {label}"));
        }
        Ok(outcome)
    }

    /// Says what the held-out cases decide, and applies it if that is wanted.
    fn decide(&self, best: &Candidate, live: &MeasuredComparison) -> CliResult {
        let mut out = text_stdout();
        let comparison = &live.compared.comparison;
        write!(
            out,
            "held out, {}: {}",
            escape::line(&best.label),
            report::render(&live.compared, paint(Stream::Output))
        )?;
        let own = format!("{}/", self.found.skill().slug);
        for case in comparison.cases.iter().filter(|case| !case.case.starts_with(&own) && case.difference() < 0.0) {
            let how = report::certainty(case, comparison).map(|how| format!(" ({how})")).unwrap_or_default();
            writeln!(out, "a neighbor loses by it: {}{how}", escape::line(&case.case))?;
        }
        let lost = live.compared.lost().map(|lost| format!("{lost}; {}", live.remedy));
        let lacks = live.ended_early.as_ref().or(lost.as_ref());
        if let Some(why) = lacks {
            writeln!(out, "{}", escape::line(why))?;
        }
        let has = |results: &[CompareResult]| comparison.results.iter().any(|result| results.contains(result));
        let exit = if has(&[CompareResult::NothingMeasured]) {
            Exit::Infrastructure
        } else if has(&CompareResult::HARM) {
            Exit::Problems
        } else if has(&[CompareResult::Better]) && lacks.is_none() {
            Exit::Clean
        } else {
            Exit::Undecided
        };
        let path = self.found.skill().folder.join(SKILL_FILE);
        let shown = escape::line(&path.display().to_string());
        match (exit, self.args.apply) {
            (Exit::Clean, true) => {
                let root = &self.loaded.repository.root;
                if inside::read(root, &path).is_ok_and(|now| now == self.found.bytes) {
                    inside::write(root, &path, &best.text)?;
                    writeln!(out, "wrote {shown}; record its cases again: skill-evals run --stale --record")?;
                } else {
                    return Err(format!("{shown} changed meanwhile: not written").into());
                }
            }
            (Exit::Clean, false) => writeln!(out, "--apply writes it into {shown}")?,
            _ => writeln!(out, "{shown} stays as it is")?,
        }
        Ok(exit.of_live(lacks.is_some()))
    }
}
