//! Calibrates an agent: runs trials of known truth with the user's own program under a scripted model on 127.0.0.1, and holds what
//! is read of them against it. The trials go the way of every run.

mod cases;

use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::{fs, io};

use serde_json::Value;

use crate::agent::login;
use crate::cases::repository::{Layout, Repository, Scope};
use crate::cases::selection::TestCase;
use crate::process::interrupt;
use crate::profile::{EndpointSetup, Profile};
use crate::results::calibration::{AgentCalibration, CALIBRATION_FORMAT, Observation, ReadState, rows};
use crate::run::calibration::InstalledAgent;
use crate::run::plan::{PlannedCase, RunPlan};
use crate::run::planned::PlannedRun;
use crate::run::started::StartedRun;
use crate::run::stored_trial::StoredTrial;
use crate::run::{open_run, scheduler};
use crate::settings::mode::{AgentKind, Delivery, Mode};
use crate::settings::{Calibrate, CheckSettings, JudgeSettings, Settings, TestSelection};
use crate::stand_in::{AnswerFault, AnswerUsage, MODEL, ScriptedRequest, ScriptedTurn, StandIn};
use crate::text::problem::{About, Problem};
use crate::trace::Mechanism;
use crate::trial::event::{EventListener, RunEvent};
use crate::trial::evidence::{FinalAnswer, Reading};
use crate::trial::outcome::{Grade, Outcome, Status, TroubleKind, Verdict};
use cases::{
    ANSWER, BODY, CalibrationCase, DESCRIPTION, Does, OTHER, OTHER_BODY, RESOURCE, SKILL, SkillTools, USER_ONLY,
};

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

// Holds what was read of a trial against what is true of it.

/// What the model saw and did in a trial.
#[derive(Default)]
struct Truth {
    /// Everything that it was sent, without the prompt.
    seen: String,
    /// The same of the first request.
    offered: String,
    has_tool: bool,
    requests: usize,
    tokens: u64,
    commands: u64,
}

impl Truth {
    fn add(&mut self, request: &ScriptedRequest, usage: Option<AnswerUsage>, tools: &SkillTools, is_command: bool) {
        gather(&request.body, &mut self.seen);
        self.seen = self.seen.replace(&request.prompt, "");
        if self.requests == 0 {
            self.offered.clone_from(&self.seen);
        }
        self.has_tool |= tools.own_tool(request).is_some();
        self.requests += 1;
        self.commands += u64::from(is_command);
        self.tokens += usage.map_or(0, |usage| (usage.fresh + usage.cached + usage.output) as u64);
    }

    /// Whether the model was shown the skill's description, or a list of names, as some agents have.
    fn was_shown(&self, skill: &str) -> bool {
        let is_part = |c: char| c.is_alphanumeric() || c == '-';
        let names = |name: &str| self.offered.split(|c| !is_part(c)).any(|word| word == name);
        match skill {
            USER_ONLY => names(USER_ONLY),
            _ => self.offered.contains(DESCRIPTION) || (names(SKILL) && names(OTHER)),
        }
    }
}

fn gather(value: &Value, into: &mut String) {
    match value {
        Value::String(text) => into.extend([text, "\n"]),
        Value::Array(list) => list.iter().for_each(|value| gather(value, into)),
        Value::Object(map) => map.values().for_each(|value| gather(value, into)),
        _ => {}
    }
}

/// A trial of the calibration that has ended.
struct Measured<'a> {
    case: &'a CalibrationCase,
    truth: &'a Truth,
    grade: &'a Grade,
    stored: &'a StoredTrial,
    profile: &'static Profile,
    /// The names of the model.
    models: [String; 2],
}

/// What trials show, and what this agent does not show and no check needs.
#[derive(Default)]
struct Observations {
    all: Vec<Observation>,
    notes: BTreeMap<Reading, Vec<String>>,
    /// The trials that showed too little, and are tried again.
    unclear: Vec<CalibrationCase>,
    /// The agent's version, as its package or else its trials say.
    version: Option<String>,
}

impl Observations {
    fn add(&mut self, trial: &Measured<'_>, reading: Reading, state: ReadState, expected: String, found: String) {
        // How an agent ends, and is refused, is tried with one delivery for all.
        let delivery = Some(trial.case.delivery).filter(|_| trial.case.ends_well());
        let trial = trial.case.id.clone();
        self.all.push(Observation { trial, delivery, reading, state, expected, found });
    }

    fn note(&mut self, reading: Reading, text: &str) {
        let notes = self.notes.entry(reading).or_default();
        if !notes.iter().any(|note| note == text) {
            notes.push(text.to_owned());
        }
    }

    /// Notes a value that was read; `None` if nothing was.
    fn value(&mut self, trial: &Measured<'_>, reading: Reading, expected: String, found: Option<String>) {
        let state = match &found {
            Some(found) if *found == expected => ReadState::Right,
            Some(_) if trial.is_whole() => ReadState::Wrong,
            _ => ReadState::Unseen,
        };
        self.add(trial, reading, state, expected, found.unwrap_or_else(|| trial.trouble()));
    }

    fn of(&mut self, trial: &Measured<'_>) {
        if self.version.is_none() {
            self.version.clone_from(&trial.stored.trace.agent_version);
        }
        if trial.shows_little() && !trial.case.is_again {
            self.unclear.push(trial.case.again());
        } else if trial.case.ends_well() {
            self.of_good_end(trial);
        } else {
            self.of_bad_end(trial);
        }
    }

    fn of_good_end(&mut self, trial: &Measured<'_>) {
        let Measured { case, truth, grade, stored, .. } = trial;
        let metrics = &grade.metrics;
        let shown = truth.was_shown(case.skill) && case.delivery != Delivery::None;
        let expected = if shown { "shown to the model" } else { "not shown to the model" };
        let found = match trial.status("delivered") {
            Some(Status::Pass) if case.delivery == Delivery::None => Some("not shown to the model"),
            Some(Status::Fail) if case.delivery == Delivery::None => Some("shown to the model"),
            Some(Status::Pass) => Some("shown to the model"),
            Some(Status::Fail) => Some("not shown to the model"),
            _ => None,
        };
        self.value(trial, Reading::Delivered, expected.to_owned(), found.map(str::to_owned));
        if case.skill == USER_ONLY {
            return;
        }
        let activated = |name: &str, how: Mechanism| format!("{name} ({})", how.as_str());
        let own = match case.delivery {
            delivery if delivery.mcp() => Mechanism::McpTool,
            _ if truth.has_tool => Mechanism::SkillTool,
            _ => Mechanism::ReadSkillFile,
        };
        let expected = match case.does {
            Does::Uses if truth.seen.contains(BODY) => activated(SKILL, own),
            Does::Reads if truth.seen.contains(BODY) => activated(SKILL, Mechanism::ReadSkillFile),
            Does::UsesOther if truth.seen.contains(OTHER_BODY) => activated(OTHER, own),
            _ => "none".to_owned(),
        };
        let found: Vec<String> = metrics.activations.iter().map(|found| activated(&found.skill, found.how)).collect();
        let found = if found.is_empty() { "none".to_owned() } else { found.join(", ") };
        let is_known = !trial.is_unknown("triggered") && !trial.is_unknown("not-triggered");
        if case.delivery.offers_skills() {
            self.value(trial, Reading::Activation, expected, is_known.then_some(found));
        }
        if case.does == Does::Uses {
            let found: Vec<&str> = metrics.resources.iter().map(|found| found.path.as_str()).collect();
            self.value(trial, Reading::Resources, RESOURCE.to_owned(), Some(found.join(", ")));
        }
        self.value(trial, Reading::Commands, truth.commands.to_string(), Some(metrics.commands.to_string()));
        let tokens = metrics.usage.map(|usage| usage.total_tokens().to_string());
        self.value(trial, Reading::Tokens, truth.tokens.to_string(), tokens);
        let model = stored.trace.model.clone();
        let model = model.map(|model| if trial.models.contains(&model) { trial.models[0].clone() } else { model });
        self.value(trial, Reading::Model, trial.models[0].clone(), model);
        let answer = match stored.evidence().answer() {
            FinalAnswer::Text(text) => Some(text.trim().to_owned()),
            FinalAnswer::None | FinalAnswer::Unread(_) => None,
        };
        self.value(trial, Reading::Answer, ANSWER.to_owned(), answer.filter(|_| trial.has_ended()));
        let ended = trial.has_ended().then(|| "the end".to_owned());
        self.value(trial, Reading::End, "the end".to_owned(), ended);
    }

    fn of_bad_end(&mut self, trial: &Measured<'_>) {
        let Measured { case, truth, grade, profile, .. } = trial;
        let kind = trial.trouble_kind();
        let (reading, expected, wanted) = match case.does {
            Does::Refused(429) => (Reading::Limit, "the provider refused for now", Some(TroubleKind::RateLimit)),
            Does::Refused(_) => (Reading::Login, "the login was refused", Some(TroubleKind::Login)),
            Does::Fails(AnswerFault::Refusal) => {
                let completed = trial.status("completed");
                if completed == Some(Status::Pass) && !profile.reports.early_ends {
                    return self.note(Reading::End, "it shows a refusal of the model as an answer");
                }
                let is_right = completed == Some(Status::Fail) || grade.verdict == Verdict::Error;
                let state = if is_right { ReadState::Right } else { ReadState::Wrong };
                let expected = "the model did not finish".to_owned();
                return self.add(trial, Reading::End, state, expected, trial.trouble());
            }
            Does::Crashes if truth.requests > 1 => {
                return self.note(Reading::End, "a crash was not tried: its commands cannot end it");
            }
            _ => (Reading::End, "an error", None),
        };
        let state = match kind {
            Some(kind) if wanted.is_none_or(|wanted| wanted == kind) && grade.verdict == Verdict::Error => {
                ReadState::Right
            }
            _ if grade.verdict == Verdict::Error => ReadState::Unseen,
            _ => ReadState::Wrong,
        };
        self.add(trial, reading, state, expected.to_owned(), trial.trouble());
    }
}

impl Measured<'_> {
    fn status(&self, id: &str) -> Option<Status> {
        self.grade.checks.iter().find(|check| check.id == id).map(|check| check.status)
    }

    fn trouble_kind(&self) -> Option<TroubleKind> {
        self.grade.trouble.as_ref().map(|trouble| trouble.kind)
    }

    /// Whether its time was over although it does not wait, or it shows too little for a verdict: a busy machine makes agents late
    /// and has them lose parts.
    fn shows_little(&self) -> bool {
        let is_late = self.is_late() && self.case.does != Does::Hangs;
        is_late
            || (self.case.ends_well() && (self.grade.verdict == Verdict::Error || self.stored.trace.gap().is_some()))
    }

    /// Whether its time was over.
    fn is_late(&self) -> bool {
        self.trouble_kind() == Some(TroubleKind::NoAnswer) || self.status("in-time") == Some(Status::Fail)
    }

    fn is_unknown(&self, id: &str) -> bool {
        self.status(id) == Some(Status::Unknown)
    }

    /// Whether it came to its end. An error that only says what is unknown is seen in the other rows.
    fn has_ended(&self) -> bool {
        let is_other = |kind| matches!(kind, TroubleKind::Unobservable | TroubleKind::NotDelivered);
        self.grade.trouble.as_ref().is_none_or(|trouble| is_other(trouble.kind))
    }

    /// Whether all was read that happens in such a trial: it came to its end, and nothing that was not read leads to an error.
    fn is_whole(&self) -> bool {
        let metrics = &self.grade.metrics;
        let has_gap = metrics.unknown_events + metrics.damaged_lines > 0 || self.stored.trace.gap().is_some();
        !(has_gap && self.grade.verdict == Verdict::Error) && self.has_ended() && !self.is_late()
    }

    /// The verdict, and why the trial was not measured.
    fn trouble(&self) -> String {
        match &self.grade.trouble {
            Some(trouble) => trouble.to_string(),
            None => format!("nothing (verdict: {})", self.grade.verdict),
        }
    }
}
