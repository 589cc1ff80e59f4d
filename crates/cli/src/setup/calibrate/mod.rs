//! Calibrates an agent: runs trials of known truth with the user's own program under a scripted model on 127.0.0.1, and holds what
//! is read of them against it. The trials go the way of every run.

mod cases;
mod observe;

use std::collections::{HashMap, HashSet};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::{fs, io};

use crate::agent::login;
use crate::cases::repository::{Layout, Repository, Scope};
use crate::cases::test_case::TestCase;
use crate::process::interrupt;
use crate::profile::EndpointSetup;
use crate::results::calibration::{AgentCalibration, CALIBRATION_FORMAT, ReadState, rows};
use crate::run::calibration::InstalledAgent;
use crate::run::plan::{PlannedCase, RunPlan};
use crate::run::planned::PlannedRun;
use crate::run::started::StartedRun;
use crate::run::stored_trial::StoredTrial;
use crate::run::{open_run, scheduler};
use crate::settings::mode::{AgentKind, Delivery, Mode};
use crate::settings::{Calibrate, CheckSettings, JudgeSettings, Settings, TestSelection};
use crate::stand_in::{AnswerUsage, MODEL, ScriptedRequest, ScriptedTurn, StandIn};
use crate::text::problem::{About, Problem};
use crate::trial::event::{EventListener, RunEvent};
use crate::trial::outcome::Outcome;
use cases::{CalibrationCase, SkillTools};
use observe::{Measured, Observations, Truth};

/// How many trials run at once. Six of them mostly wait: for a model that hangs, or to ask again.
const JOBS: usize = 9;

/// Collects the outcomes of a run.
struct Collector(Arc<Mutex<Vec<Outcome>>>);

impl EventListener for Collector {
    fn on_event(&mut self, event: &RunEvent) {
        let mut outcomes = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        outcomes.extend(event.outcome().cloned());
    }
}

/// Calibrates the agent of this kind, if it is installed and can be pointed at a scripted model.
pub fn of(settings: &Settings, kind: AgentKind) -> Result<AgentCalibration, Problem> {
    let agent = InstalledAgent::find(settings, kind).map_err(|trouble| trouble.detail)?;
    if !login::can_be_pointed(settings, kind) {
        let why = "it cannot be pointed at a scripted model; use `{endpoint}` in its `args` or `env`";
        return Err(format!("{} cannot be calibrated: {why}", agent.name()).into());
    }
    calibrate(&agent, settings)
}

/// The agents of a live run that are to be calibrated first.
pub fn due(run: &PlannedRun) -> Vec<InstalledAgent> {
    let settings = &run.settings;
    if !settings.live || settings.calibrate == Calibrate::Off {
        return Vec::new();
    }
    let kinds: HashSet<AgentKind> = run.plan.entries.iter().map(|entry| entry.planned.mode.agent).collect();
    let kinds = kinds.into_iter().filter(|kind| login::can_be_pointed(settings, *kind));
    let agents = kinds.filter_map(|kind| InstalledAgent::find(settings, kind).ok());
    let mut due: Vec<InstalledAgent> = agents.filter(|agent| agent.wants_calibration(settings)).collect();
    due.sort_by_key(|agent| agent.kind.as_str());
    due
}

/// Calibrates an agent with the user's settings. Keeps the result for later runs.
pub fn calibrate(agent: &InstalledAgent, users: &Settings) -> Result<AgentCalibration, Problem> {
    calibrated(agent, users).about(format_args!("{} could not be calibrated", agent.name()))
}

fn calibrated(agent: &InstalledAgent, users: &Settings) -> Result<AgentCalibration, Problem> {
    let modes: Vec<&Mode> =
        users.modes.iter().map(AsRef::as_ref).filter(|mode| is_calibrated(mode, agent.kind)).collect();
    let first = cases::cases(&modes);
    let cases = Arc::new([first.iter().map(CalibrationCase::again).collect(), first.clone()].concat());
    let base = users.scratch.as_deref().unwrap_or(Path::new("/var/tmp"));
    let made = fs::create_dir_all(base).and_then(|()| tempfile::Builder::new().prefix("calibration-").tempdir_in(base));
    let directory = made?;
    let root = directory.path().canonicalize()?;
    cases::write(&root, &cases)?;
    let tools = Arc::new(SkillTools::of(agent.kind.profile()));
    let stand_in = started(&cases, &tools)?;
    let settings = settings(users, agent.kind, stand_in.url());
    let mut first_request_tokens = None;
    let mut observations = Observations { version: agent.version.clone(), ..Observations::default() };
    let mut measure = |chosen: &[CalibrationCase]| {
        let run = planned(&root, settings.clone(), chosen)?;
        let outcomes = outcomes(&run)?;
        let exchanges = stand_in.exchanges();
        first_request_tokens = first_request_tokens.or_else(|| smallest_first(&cases, &exchanges));
        let truths = truths(&cases, &tools, exchanges);
        observe(&mut observations, agent.kind, &run, &cases, &outcomes, &truths);
        Ok::<_, Problem>((outcomes.len(), !truths.is_empty(), std::mem::take(&mut observations.unclear)))
    };
    let (mut trials, asked, unclear) = measure(&first)?;
    if !unclear.is_empty() {
        trials += measure(&unclear)?.0;
    }
    let mut deliveries: Vec<Delivery> = Vec::new();
    for mode in &modes {
        if !deliveries.contains(&mode.delivery) {
            deliveries.push(mode.delivery);
        }
    }
    let rows = rows(&deliveries, &observations.all, &observations.notes);
    let calibration = AgentCalibration {
        format: CALIBRATION_FORMAT,
        agent: agent.kind.as_str().to_owned(),
        version: observations.version,
        skill_evals: env!("CARGO_PKG_VERSION").to_owned(),
        configuration: agent.configuration(users),
        measured: jiff::Timestamp::now().to_string(),
        trials,
        first_request_tokens,
        asked,
        trusted: asked && rows.iter().all(|row| row.state != ReadState::Wrong),
        rows,
    };
    agent.keep(users, &calibration)?;
    Ok(calibration)
}

/// The scripted model.
fn started(cases: &Arc<Vec<CalibrationCase>>, tools: &Arc<SkillTools>) -> io::Result<StandIn> {
    let (cases, tools) = (Arc::clone(cases), Arc::clone(tools));
    StandIn::start(move |request| match cases::of_request(&cases, request) {
        Some(case) => tools.turn(case, request),
        // What an agent asks besides the task.
        None => ScriptedTurn::Say("A task".to_owned()),
    })
}

/// Runs all trials of a run.
fn outcomes(run: &StartedRun) -> Result<Vec<Outcome>, Problem> {
    open_run::live(run)?;
    let outcomes = Arc::<Mutex<Vec<Outcome>>>::default();
    run.read_by(Collector(Arc::clone(&outcomes)));
    scheduler::run(run);
    if interrupt::raised() {
        return Err("it was interrupted".into());
    }
    let outcomes = outcomes.lock().unwrap_or_else(PoisonError::into_inner).clone();
    Ok(outcomes)
}

/// Adds what the trials of a run show.
fn observe(
    observations: &mut Observations,
    kind: AgentKind,
    run: &StartedRun,
    cases: &[CalibrationCase],
    outcomes: &[Outcome],
    truths: &HashMap<&str, Truth>,
) {
    let profile = kind.profile();
    let own_name = profile.endpoint.as_ref().map_or("{model}", |endpoint| endpoint.model);
    let nothing = Truth::default();
    for outcome in outcomes {
        let Some(case) = cases.iter().find(|case| case.id == outcome.id.case) else { continue };
        let Some(live) = run.opened() else { continue };
        // A trial that could not begin shows nothing.
        let Ok(stored) = StoredTrial::read(run, &live.folder.trial(&outcome.id)) else { continue };
        observations.of(&Measured {
            case,
            truth: truths.get(case.id.as_str()).unwrap_or(&nothing),
            grade: &outcome.grade,
            stored: &stored,
            profile,
            models: [MODEL.to_owned(), EndpointSetup::filled(own_name, "", MODEL, "")],
        });
    }
}

/// Whether this is one of the agent's own ways to get skills: a mode with a choice of skills or arguments is like one of these.
fn is_calibrated(mode: &Mode, kind: AgentKind) -> bool {
    let is_described = matches!(kind, AgentKind::Custom(_));
    let is_own = || kind.profile().modes.iter().any(|(name, of, _)| *name == mode.name && *of == kind);
    mode.agent == kind && (is_described || is_own())
}

/// The user's settings as far as they reach the agent, which asks the scripted model.
fn settings(users: &Settings, kind: AgentKind, url: String) -> Settings {
    let mut settings = Settings {
        live: true,
        calibrate: Calibrate::Off,
        model: Some(MODEL.to_owned()),
        endpoint: Some(url),
        scripted: Some("calibration".to_owned()),
        jobs: Some(JOBS),
        retries: 0,
        agents: users.agents.clone(),
        modes: users.modes.clone(),
        env: users.env.clone(),
        pass_env: users.pass_env.clone(),
        secret_env: users.secret_env.clone(),
        isolation: users.isolation.clone(),
        root: users.root.clone(),
        scratch: users.scratch.clone(),
        checks: CheckSettings::default(),
        selection: TestSelection::default(),
        judge: JudgeSettings { wanted: Some(false), ..JudgeSettings::default() },
        ..Settings::default()
    };
    if let Some(agent) = settings.agents.get_mut(kind.as_str()) {
        agent.endpoint = None;
    }
    settings
}

/// A run of these cases, each in its mode.
fn planned(root: &Path, settings: Settings, cases: &[CalibrationCase]) -> Result<StartedRun, Problem> {
    let repository = Repository::new(root.to_path_buf());
    let catalog = repository.catalog(Layout::of(&settings), Scope::All);
    let planned = |case: &CalibrationCase| {
        let found = catalog.cases.iter().find(|found| found.id == case.id)?;
        let mode = settings.mode(&case.mode)?;
        Some(PlannedCase::times(TestCase { found: Arc::clone(found), mode: Arc::clone(mode) }, 1))
    };
    let entries: Option<Vec<PlannedCase>> = cases.iter().map(planned).collect();
    let entries = entries.ok_or("the cases of the calibration cannot be read")?;
    let mut run = PlannedRun::new(root.to_path_buf(), settings, catalog).with_plan(RunPlan { entries });
    // One trial is refused for hours; the others still run.
    run.calibrates = true;
    Ok(run.start())
}

/// The tokens of the smallest first request of a task, at four bytes for one.
fn smallest_first(cases: &[CalibrationCase], exchanges: &[(ScriptedRequest, Option<AnswerUsage>)]) -> Option<u64> {
    let first = exchanges.iter().map(|(request, _)| request);
    let first = first.filter(|request| request.step == 0 && cases::of_request(cases, request).is_some());
    first.map(|request| request.body.to_string().len().div_ceil(4) as u64).min()
}

/// What is true of each trial, by its id.
fn truths<'c>(
    cases: &'c [CalibrationCase],
    tools: &SkillTools,
    exchanges: Vec<(ScriptedRequest, Option<AnswerUsage>)>,
) -> HashMap<&'c str, Truth> {
    let mut truths: HashMap<&str, Truth> = HashMap::new();
    for (request, usage) in exchanges {
        let Some(case) = cases::about(cases, &request) else { continue };
        let is_task = cases::of_request(cases, &request).is_some();
        let is_command = is_task && matches!(tools.turn(case, &request), ScriptedTurn::Shell(_));
        truths.entry(&case.id).or_default().add(&request, usage, tools, is_command);
    }
    truths
}
