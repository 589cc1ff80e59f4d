//! `skill-evals tune`.

use std::io::Write;
use std::path::PathBuf;

use clap::{ArgGroup, Args};

use super::compare::{DryRun, measure};
use super::export_args::IN_PLACE;
use super::generate::author::{Author, request, writer};
use super::start::StartArgs;
use super::{CliResult, CliResultOf};
use crate::cases::catalog::{Catalog, FoundSkill};
use crate::cli::exit_code::Exit;
use crate::cli::output::paint;
use crate::cli::output::{Stream, stderr, text_stdout};
use crate::decide::result::CompareResult;
use crate::decide::{Comparison, ResultBasis, Rule};
use crate::engine::Loaded;
use crate::engine::compare::MeasuredComparison;
use crate::engine::tune::{self, ProposedDescription, SplitCases, TuneResult, Tuning};
use crate::files::bounded;
use crate::report::compared as report;
use crate::report::diagnostics::counted;
use crate::report::rate::{points, probability, up};
use crate::run::default_modes;
use crate::settings::mode::AgentKind;
use crate::setup::generate::drafted::{Drafter, MOST_DESCRIPTIONS};
use crate::skill::SKILL_FILE;
use crate::store::Proposal;
use crate::text::escape;
use crate::text::problem::{About, Problem};
use crate::trial::evidence::digest;

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
    #[arg(value_name = "SKILL", required_unless_present = "named")]
    skill: Option<String>,
    /// The skill, as other commands have it
    #[arg(id = "named", long = "skill", value_name = "NAME", conflicts_with = "skill", hide = true)]
    named: Option<String>,
    /// File with another description, as plain text (repeatable)
    #[arg(long, value_name = "FILE", group = "others")]
    candidate: Vec<PathBuf>,
    /// Agent that writes three more; it sees the training cases only
    #[arg(long, value_name = "AGENT", value_parser = writer, group = "others")]
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

pub fn tune(args: &TuneArgs) -> CliResult {
    if args.start.resume || args.start.background || args.start.run_id.is_some() {
        return Err("tune takes none of --resume, --background and --run-id: it may run several comparisons".into());
    }
    let loaded = args.start.read()?;
    let host = args.start.host(true);
    let engine = host.engine(&args.start);
    let skill = args.skill.as_ref().or(args.named.as_ref());
    let found = loaded.catalog.named_skill(skill.map_or("", String::as_str))?;
    let drafter = default_modes::drafter(&loaded.repository.root, &loaded.settings, &loaded.catalog);
    let cases = tune::split(&loaded.catalog, found, args.agent.or(drafter))?;
    let mut tuning = Tuning::of(&engine, &loaded, found, args.mode.clone())?;
    let candidates = candidates(args, &mut tuning, &cases)?;
    let current = &found.skill().description;
    let mut out = text_stdout();
    writeln!(out, "current: about {} tokens in every session", tune::tokens(current))?;
    for ProposedDescription { label, description, .. } in &candidates {
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
        return dry_run(args, &tuning, candidates.len() + proposed, training, deciding, most);
    }
    let (best, trials) = match candidates.as_slice() {
        [only] => (only, most),
        several => match tuning.best(several, training, most / 2, &mut tell_training)? {
            Some(best) => (best, most / 2),
            None => return Ok(Exit::Infrastructure.of_live(true)),
        },
    };
    let measured = tuning.compare(best, deciding, trials)?;
    decide(args, tuning, best, held_out, &measured)
}

/// The prompts of these cases, each with whether the skill should activate.
fn training_prompts(catalog: &Catalog, found: &FoundSkill, names: &[String]) -> Vec<(String, bool)> {
    let slug = &found.skill().slug;
    let cases = catalog.cases_of(slug).filter(|case| names.contains(&format!("{slug}/{}", case.id)));
    cases.filter_map(|case| case.case().ok()).map(|case| (case.prompt.clone(), case.should_trigger)).collect()
}

/// What the agent of this drafter proposes, or proposed before.
fn proposed(tuning: &mut Tuning<'_>, drafter: Drafter<'_>, prompt: &str) -> CliResultOf<Proposal> {
    let asked = digest(format!("{}\n{prompt}", drafter.agent.as_str()).as_bytes());
    if let Some(proposal) = tuning.earlier_proposal(&asked) {
        writeln!(
            stderr(),
            "{} was asked before, and that tune was not finished: its descriptions are used",
            proposal.author
        )?;
        return Ok(proposal);
    }
    let found = tuning.found;
    let mut author = Author::new(drafter, &tuning.loaded.repository)?;
    let answered = author.asked(found, prompt, |drafter, place| drafter.propose(found, prompt, place))?;
    let (descriptions, name) = answered?;
    let proposal = Proposal { asked, descriptions, author: name, cost_usd: author.spent().cost_usd };
    tuning.note_proposal(proposal.clone())?;
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

/// The descriptions to compare. Those of the user are read first, so that a mistake in them costs nothing. Of those of the agent,
/// unusable ones are left out.
fn candidates(args: &TuneArgs, tuning: &mut Tuning<'_>, cases: &SplitCases) -> CliResultOf<Vec<ProposedDescription>> {
    let mut candidates = Vec::new();
    for path in &args.candidate {
        let label = path.display().to_string();
        let text = bounded::read_text(path).about(&label)?;
        add(&mut candidates, tuning, label.clone(), &text)?.about(&label)?;
    }
    if let Some(agent) = args.agent {
        let (Loaded { repository, settings, catalog }, found) = (tuning.loaded, tuning.found);
        let drafter = Drafter { root: &repository.root, settings, catalog, agent, model: None };
        let prompt = drafter.prompt_for_descriptions(found, &training_prompts(catalog, found, &cases.training));
        if args.start.dry_run {
            writeln!(text_stdout(), "{}", request(&drafter, found, &prompt))?;
            return Ok(candidates);
        }
        let proposal = proposed(tuning, drafter, &prompt)?;
        tuning.pay(proposal.cost_usd, agent.as_str());
        for (text, number) in proposal.descriptions.into_iter().zip(1..) {
            let label = format!("{}, number {number}", proposal.author);
            if let Err(why) = add(&mut candidates, tuning, label.clone(), &text)? {
                writeln!(text_stdout(), "{}: left out: {}", escape::line(&label), escape::line(&why.to_string()))?;
            }
        }
    }
    if candidates.is_empty() { Err("no candidate is left to compare".into()) } else { Ok(candidates) }
}

/// Adds a description, unless it is there already; or says why it is not usable.
fn add(
    candidates: &mut Vec<ProposedDescription>,
    tuning: &Tuning<'_>,
    label: String,
    text: &str,
) -> CliResultOf<Result<(), Problem>> {
    let description = match tune::description(text) {
        Ok(description) => description,
        Err(why) => return Ok(Err(why)),
    };
    let is_known = candidates.iter().any(|other| other.description == description);
    if is_known || description == tuning.found.skill().description {
        writeln!(text_stdout(), "{}: left out: this description is there already", escape::line(&label))?;
        return Ok(Ok(()));
    }
    Ok(tuning.candidate(label, &description).map(|candidate| candidates.push(candidate)))
}

/// Says what comparing this many candidates takes at most.
fn dry_run(
    args: &TuneArgs,
    tuning: &Tuning<'_>,
    candidates: usize,
    training: &[String],
    deciding: Vec<String>,
    most: u64,
) -> CliResult {
    let host = args.start.host(true);
    let plan = |cases: Vec<String>, most| -> CliResult {
        let request = tuning.request(None, cases, most)?;
        let engine = host.engine(&args.start);
        let planned = measure(&engine, &args.start, tuning.loaded.clone(), request, DryRun::default())?;
        Ok(planned.err().unwrap_or(Exit::Clean))
    };
    if candidates == 1 {
        return plan(deciding, most);
    }
    writeln!(text_stdout(), "\neach of {candidates} candidates:")?;
    let exit = plan(training.to_vec(), most / 2 / candidates as u64)?;
    let cases = counted(deciding.len(), "case");
    writeln!(text_stdout(), "\nthen the best of these: {cases}, at most {} trials", most / 2)?;
    Ok(exit)
}

fn tell_training(candidate: &ProposedDescription, measured: &MeasuredComparison) {
    let sentence = report::sentence(&measured.compared, paint(Stream::Output));
    let early = measured.ended_early.iter().map(|why| format!("{}\n", escape::line(why)));
    let lines = format!("training, {}: {sentence}\n{}", escape::line(&candidate.label), early.collect::<String>());
    // If standard output is closed, the next write says so.
    let _ = text_stdout().write_all(lines.as_bytes());
}

/// What it means that these cases have decided `before`; `None` for the first time. Each answer has its own chance to be false.
fn again(before: u32, comparison: &Comparison) -> Option<String> {
    let (times, alpha) = (f64::from(before) + 1.0, Rule::default().alpha);
    let any = points((alpha * times).min(1.0));
    let text = format!(
        "these held-out cases decide for time {times}: any false `better` among the answers comes in at most {any} %"
    );
    let needed = match comparison.evidence {
        ResultBasis::Sequential(evidence) if comparison.results.contains(&CompareResult::Better) => {
            let (needed, p) = (alpha / times, 1.0 / evidence.better);
            let advice = if p <= needed { "" } else { ": write new held-out cases before you trust it" };
            format!(
                "; {} % for all takes p ≤ {}, this is p ≤ {}{advice}",
                points(alpha),
                probability(needed),
                probability(up(p))
            )
        }
        _ => String::new(),
    };
    (before > 0).then(|| text + &needed)
}

/// Says what the held-out cases decide, and applies it if that is wanted.
fn decide(
    args: &TuneArgs,
    tuning: Tuning<'_>,
    best: &ProposedDescription,
    held_out: &[String],
    measured: &MeasuredComparison,
) -> CliResult {
    let mut out = text_stdout();
    let comparison = &measured.compared.comparison;
    let rendered = report::render(&measured.compared, paint(Stream::Output));
    write!(out, "held out, {}: {rendered}", escape::line(&best.label))?;
    let skill = tuning.found.skill();
    let own = format!("{}/", skill.slug);
    for case in comparison.cases.iter().filter(|case| !case.case.starts_with(&own) && case.difference() < 0.0) {
        let how = report::certainty(case, comparison).map(|how| format!(" ({how})")).unwrap_or_default();
        writeln!(out, "a neighbor loses by it: {}{how}", escape::line(&case.case))?;
    }
    if let Some(again) = again(tuning.decided(held_out), comparison) {
        writeln!(out, "{again}")?;
    }
    let lost = measured.compared.lost().map(|lost| format!("{lost}; {}", measured.remedy));
    let lacks = measured.ended_early.as_ref().or(lost.as_ref());
    if let Some(why) = lacks {
        writeln!(out, "{}", escape::line(why))?;
    }
    let result = Tuning::decide(measured, lacks.is_none());
    let shown = escape::line(&skill.folder.join(SKILL_FILE).display().to_string());
    match result {
        TuneResult::Better if args.apply => {
            tuning.apply(best)?;
            writeln!(out, "wrote {shown}; record its cases again: skill-evals run --stale --record")?;
        }
        TuneResult::Better => writeln!(out, "--apply writes it into {shown}")?,
        _ => writeln!(out, "{shown} stays as it is")?,
    }
    let exit = match result {
        TuneResult::Better => Exit::Clean,
        TuneResult::Harm => Exit::Problems,
        TuneResult::NotShown => Exit::Undecided,
        TuneResult::NotMeasured => Exit::Infrastructure,
    };
    let exit = exit.of_live(lacks.is_some());
    if matches!(exit, Exit::Clean | Exit::Problems | Exit::Undecided) {
        tuning.answered(held_out)?;
    }
    Ok(exit)
}
