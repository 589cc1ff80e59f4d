//! `skill-evals diagnose`.

use clap::Args;

use super::export_args::IN_PLACE;
use super::select::{CASES, Given, MODES, STARTS};
use super::start::StartArgs;
use super::variants;
use super::{CliResult, print_answer};
use crate::cli::exit_code::Exit;
use crate::engine::{self, variants::VariantRequest};
use crate::report::diagnosis as report;
use crate::results::diagnosis::Diagnosis;
use crate::run::variants::TrialLimit;
use crate::store::{self, RunFolder};
use crate::trial::run_record::Overrides;
use crate::trial::run_record::RunChoices;
use crate::trial::run_record::{VariantQuestion, VariantRun};

const HELP: &str = "It runs the skill's positive cases in four variants:
  none    without skills
  forced  the prompt calls the skill, in the agent's own form
  routed  all skills are offered, and the model decides
  alone   only this skill is offered
Forced against none is what the body is worth. Cases without a check of the
outcome run only routed and alone.

Exit codes:
  0    no loss is shown, and the body is shown to help
  1    a loss is shown: the answer says what to fix
  2    could not run
  3    not measured, or it ended early
  4    undecided: neither a loss nor a worth is shown
  130  interrupted";

#[derive(Args)]
#[command(after_help = HELP)]
pub struct DiagnoseArgs {
    // First: what is read of the arguments is taken out of them.
    #[command(flatten)]
    given: Given,
    /// Skill to diagnose, or a stored diagnosis to show again
    #[arg(value_name = "SKILL|RUN", required_unless_present_any = ["resume", "named"], conflicts_with = "resume")]
    what: Option<String>,
    /// The skill, as other commands have it
    #[arg(id = "named", long = "skill", value_name = "NAME", conflicts_with_all = ["what", "resume"], hide = true)]
    named: Option<String>,
    /// Only this case, as `id` or `skill/id` (repeatable)
    #[arg(long, value_name = "ID", conflicts_with = "resume", group = CASES)]
    case: Vec<String>,
    /// Mode to use; the skills must be in the agent's own directory [default: that of the cases]
    #[arg(long, value_name = "MODE", conflicts_with = "resume", group = MODES)]
    mode: Option<String>,
    /// Model that the agent uses
    #[arg(long, conflicts_with = "resume", group = STARTS)]
    model: Option<String>,
    /// Maximum number of trials, all variants together [default: 120, or a trial of each]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(2..), conflicts_with = "resume", group = STARTS)]
    max_trials: Option<u64>,
    #[command(flatten)]
    start: StartArgs,
    /// Print one JSON document: every figure in full precision.
    #[arg(long, group = IN_PLACE)]
    json: bool,
}

pub fn diagnose(args: &DiagnoseArgs) -> CliResult {
    let loaded = args.start.read()?;
    let root = &loaded.repository.root;
    let what = args.what.as_deref().or(args.named.as_deref());
    if let Some(what) = what.filter(|what| loaded.catalog.named_skill(what).is_err())
        && let Some(run) = store::runs(root)?.into_iter().find(|run| run.id() == what)
    {
        return args.show(&run);
    }
    let (chosen, earlier) = if args.start.resume {
        let (chosen, earlier) = engine::variants::earlier(root, &loaded.settings, "diagnose")?;
        (chosen, Some(earlier))
    } else {
        (args.chosen(), None)
    };
    let skill = match (&earlier, what) {
        (Some(VariantRun { question: VariantQuestion::Diagnosis { skill, .. }, .. }), _) => skill.clone(),
        (_, what) => loaded.catalog.named_skill(what.unwrap_or_default())?.skill().slug.clone(),
    };
    let limit = match (&earlier, args.max_trials) {
        (Some(earlier), _) => TrialLimit::Rounds(earlier.rounds),
        (None, Some(most)) => TrialLimit::AtMost(most),
        (None, None) => TrialLimit::Usual,
    };
    let host = args.start.host(!args.json);
    let engine = host.engine(&args.start);
    let run = engine.vary(loaded, chosen, &VariantRequest::Diagnosis(skill), limit)?;
    match variants::run(&args.start, &engine, run, args.json)? {
        Err(exit) => Ok(exit),
        Ok(measured) => variants::end(&measured, args.print(&measured.folder)?, !args.json && !args.start.quiet),
    }
}

impl DiagnoseArgs {
    fn chosen(&self) -> RunChoices {
        let mut chosen = RunChoices::of_cases(self.case.clone());
        chosen.selection.skills = self.what.iter().chain(&self.named).cloned().collect();
        RunChoices {
            modes: self.mode.iter().cloned().collect(),
            overrides: Overrides { model: self.model.clone(), ..Overrides::default() },
            ..chosen
        }
    }

    /// Shows the diagnosis of a stored run.
    fn show(&self, run: &RunFolder) -> CliResult {
        if let Some(option) = self.given.first(&[CASES, MODES, STARTS]) {
            return Err(format!("{option}: {} is stored, no agent is started; leave it out", run.id()).into());
        }
        variants::end_of_stored(run, self.print(run)?)
    }

    fn print(&self, run: &RunFolder) -> CliResult {
        let diagnosis = Diagnosis::of(run)?.ok_or_else(|| format!("{} is not a diagnosis", run.id()))?;
        print_answer(&diagnosis, (self.json, self.start.quiet), [report::sentence, report::render])?;
        let lost = diagnosis.variants.iter().map(|variant| variant.not_measured).sum();
        variants::exit_with_lost(run, lost, exit(&diagnosis))
    }
}

fn exit(diagnosis: &Diagnosis) -> Exit {
    if diagnosis.advice.is_some() {
        Exit::Problems
    } else if diagnosis.lacks_measurements() {
        Exit::Infrastructure
    } else if diagnosis.body.is_some_and(|body| body.is_gain()) {
        Exit::Clean
    } else {
        Exit::Undecided
    }
}
