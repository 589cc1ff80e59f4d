//! Checks whether evals can run here: programs, credentials, sandboxes, directories, settings. Calls no model.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;

use crate::agent;
use crate::agent::isolation::bwrap::ALLOW_NAMESPACES;
use crate::agent::isolation::{self, IsolationStatus, SandboxedProgram};
use crate::agent::login::Login;
use crate::agent::mcp_probe::Handshake;
use crate::agent::trial_env::{ScratchDir, TrialEnv};
use crate::cases::catalog::Catalog;
use crate::cases::repository::{Repository, Scope};
use crate::files::{bounded, look};
use crate::grade::rubric;
use crate::process::{self, Job, OutputListener, Start};
use crate::report::diagnostics;
use crate::report::paint::Paint;
use crate::run::default_modes::{self, SubstituteMode};
use crate::run::live::Redactors;
use crate::run::{plan, preflight};
use crate::settings::load::{self, ConfigError};
use crate::settings::mode::AgentKind;
use crate::settings::{Isolation, Settings, Trust};
use crate::store::{self, RUNS, RunFolder};
use crate::text::diagnostic::Code;
use crate::text::name::Filters;
use crate::text::redact::Redactor;
use crate::trial::evidence::Ending;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Health {
    Ok,
    /// Missing, or it does not work.
    Missing,
    /// It could not be checked.
    Unknown,
    /// Missing, and nothing in this repository needs it.
    Optional,
}

/// One result of `doctor`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct DoctorFinding {
    /// What was checked: a stable name in kebab-case.
    pub id: String,
    pub state: Health,
    pub found: String,
    /// What to do, if the state is not `ok`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub advice: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct DoctorReport {
    /// Whether the live trials of this repository can run.
    pub can_run: bool,
    /// Whether they cannot only because something could not be checked.
    pub undecided: bool,
    /// The agents of these trials: those of the selected modes, or of the default ones and what stands in for them, and the judge.
    pub used: Vec<&'static str>,
    /// The agents that can run here.
    pub agents: Vec<&'static str>,
    /// The agents that are not installed and not used.
    pub not_installed: Vec<&'static str>,
    /// The findings, in a fixed order.
    pub findings: Vec<DoctorFinding>,
}

/// Checks everything. This program is `skill-evals` itself.
pub fn examine(repository: Option<&Repository>, trust: Trust) -> DoctorReport {
    let mut doctor = Doctor { findings: Vec::new(), is_optional: false };
    let settings = doctor.settings(repository, trust);
    let catalog = doctor.repository(repository, settings.as_ref());
    let can_store = doctor.artifacts(repository);
    let is_valid = settings.is_some();
    let settings = settings.unwrap_or_default();
    let needs = doctor.needs(repository, &settings, &catalog);
    let scratch = doctor.scratch(&settings);
    let probes = scratch.as_ref().map(|scratch| {
        let root = repository.map_or(scratch.path(), |repository| &repository.root);
        Probes { scratch, root, redactor: Redactors::new(&settings).masking(Vec::new()) }
    });
    let (mut agents, mut not_installed, mut states) = (Vec::new(), Vec::new(), Vec::new());
    for kind in AgentKind::ALL.into_iter().chain(settings.custom_agents()) {
        doctor.is_optional = !needs.contains(kind);
        if doctor.is_optional && !is_here(kind, &settings) {
            not_installed.push(kind.as_str());
            continue;
        }
        let state = doctor.agent(kind, &settings, probes.as_ref());
        agents.extend(Some(kind.as_str()).filter(|_| state == Health::Ok));
        states.extend(Some(state).filter(|_| !doctor.is_optional));
    }
    doctor.is_optional = false;
    doctor.rubric(repository, &settings, &needs, &agents);
    if settings.isolation.kind != Isolation::Docker {
        doctor.bwrap(probes.as_ref());
    }
    doctor.skill_server(repository, &catalog, probes.as_ref());
    let is_isolated = doctor.isolation(&settings);
    let ready = is_valid && can_store && scratch.is_some() && !catalog.cases.is_empty() && is_isolated;
    let can_run = ready && !states.is_empty() && states.iter().all(|state| *state == Health::Ok);
    let is_undecided = ready && !can_run && !states.contains(&Health::Missing) && states.contains(&Health::Unknown);
    let used = needs.agents.iter().chain(&needs.judge).map(|kind| kind.as_str()).collect::<BTreeSet<_>>();
    DoctorReport {
        can_run,
        undecided: is_undecided,
        used: used.into_iter().collect(),
        agents,
        not_installed,
        findings: doctor.findings,
    }
}

/// The agents that the repository's live trials need.
#[derive(Default)]
struct NeededAgents {
    agents: HashSet<AgentKind>,
    /// The judge, if cases are judged.
    judge: Option<AgentKind>,
}

impl NeededAgents {
    fn contains(&self, kind: AgentKind) -> bool {
        self.agents.contains(&kind) || self.judge == Some(kind)
    }
}

/// Whether the agent is installed or described by the settings. That of this program always is, so that it needs credentials.
fn is_here(kind: AgentKind, settings: &Settings) -> bool {
    if preflight::is_own(kind) {
        return !matches!(agent::login(settings, kind, None), Login::Missing(_) | Login::Unknown(_));
    }
    settings.agents.contains_key(kind.as_str()) || agent::of(kind).find(settings).is_ok()
}

/// Whether an agent of these two states can run.
fn worse(one: Health, other: Health) -> Health {
    match (one, other) {
        (Health::Ok, Health::Ok) => Health::Ok,
        (Health::Unknown | Health::Ok, Health::Unknown | Health::Ok) => Health::Unknown,
        _ => Health::Missing,
    }
}

/// How often missing paths are added and the program is started again: a script may call a script.
const MAX_ROUNDS: usize = 8;

/// Starts an agent's program where trials do, until it has all paths that it needs. Returns its last result, the words of the
/// first one that failed, and the paths to add.
fn started(
    program: &Path,
    settings: &Settings,
    probes: &Probes<'_>,
) -> std::io::Result<(PlacedResult, Option<String>, Vec<PathBuf>)> {
    let mut settings = settings.clone();
    let mut added = Vec::new();
    let mut first_words = None;
    for _ in 0..MAX_ROUNDS {
        let placed = probes.in_place(program, vec!["--version".into()], &settings)?;
        if placed.result.succeeded() {
            return Ok((placed, first_words, added));
        }
        first_words.get_or_insert(placed.result.last_words());
        if placed.missing.is_empty() {
            return Ok((placed, first_words, added));
        }
        settings.isolation.readable.extend(placed.missing.iter().cloned());
        added.extend(placed.missing);
    }
    Err(std::io::Error::other(first_words.unwrap_or_default()))
}

struct Doctor {
    findings: Vec<DoctorFinding>,
    /// Whether what is examined now is not needed.
    is_optional: bool,
}

impl Doctor {
    fn note(&mut self, id: impl Into<String>, state: Health, found: impl Into<String>, advice: Option<String>) -> bool {
        let (id, found) = (id.into(), found.into());
        self.findings.push(DoctorFinding { id, state, found, advice });
        state == Health::Ok
    }

    fn ok(&mut self, id: impl Into<String>, found: impl Into<String>) -> bool {
        self.note(id, Health::Ok, found, None)
    }

    fn missing(&mut self, id: impl Into<String>, found: impl Into<String>, advice: impl Into<String>) -> bool {
        let state = if self.is_optional { Health::Optional } else { Health::Missing };
        self.note(id, state, found, Some(advice.into()))
    }

    /// The agents that the live trials of all cases need, as `run` would choose them.
    fn needs(&mut self, repository: Option<&Repository>, settings: &Settings, catalog: &Catalog) -> NeededAgents {
        let Some(repository) = repository else { return NeededAgents::default() };
        let mut settings = Settings { live: true, ..settings.clone() };
        if let Some(problem) = store::recordings(&repository.root).1.first() {
            self.missing("recordings", problem.to_string(), "correct the directory of the recordings");
        }
        for SubstituteMode { default, mode, note } in default_modes::substitutes(&repository.root, &settings, catalog) {
            if let Some(note) = note {
                self.ok("agent", note);
            }
            settings.default_modes.insert(default, mode.name.clone());
        }
        let plan = match plan::plan(&repository.root, &settings, catalog, &Filters::default()) {
            Ok(plan) => plan,
            Err(problem) => {
                self.missing("selection", problem.to_string(), "correct the name, or unset the variable");
                return NeededAgents::default();
            }
        };
        NeededAgents {
            agents: plan.entries.iter().map(|entry| entry.planned.mode.agent).collect(),
            judge: plan.is_judged(&settings).then_some(settings.judge.agent),
        }
    }

    /// The settings, if they are valid.
    fn settings(&mut self, repository: Option<&Repository>, trust: Trust) -> Option<Settings> {
        let Some(repository) = repository else {
            self.ok("settings", "the built-in ones");
            return Some(Settings::default());
        };
        match load::read(&repository.root, trust) {
            Ok(settings) => {
                let has_file = look::is_usable_file(&repository.root.join(crate::settings::FILE));
                self.ok("settings", if has_file { crate::settings::FILE } else { "the built-in ones" });
                Some(settings)
            }
            Err(ConfigError::File(problems)) => {
                self.missing(
                    "settings",
                    diagnostics::render(&problems, Paint::Plain).trim_end(),
                    "fix the lines shown",
                );
                None
            }
            Err(error) => {
                self.missing("settings", error.to_string(), "fix the value, or unset the variable");
                None
            }
        }
    }

    fn repository(&mut self, repository: Option<&Repository>, settings: Option<&Settings>) -> Catalog {
        let advice = "write skills/<name>/SKILL.md, or start with the example of `skill-evals init`";
        let Some(repository) = repository else {
            self.missing("repository", "no skills here or in a parent directory", advice);
            return Catalog::default();
        };
        let layout = settings.map(preflight::layout).unwrap_or_default();
        let catalog = repository.catalog(layout, Scope::All);
        let skills = diagnostics::counted(catalog.skills.len(), "skill");
        let found = format!("{skills}, {}", diagnostics::counted(catalog.cases.len(), "case"));
        if catalog.cases.is_empty() {
            self.missing("repository", found, advice);
        } else {
            self.ok("repository", found);
        }
        for problem in catalog.problems.iter().filter(|problem| problem.code == Code::SkillRoot) {
            self.note("skills", Health::Unknown, problem.message.clone(), problem.help.clone());
        }
        catalog
    }

    /// Returns whether runs can be stored.
    fn artifacts(&mut self, repository: Option<&Repository>) -> bool {
        let Some(repository) = repository else { return false };
        let Err(error) = RunFolder::check_place(&repository.root) else {
            return self.ok("artifacts", format!("runs are kept in {RUNS}, which git ignores"));
        };
        let error = error.to_string();
        let (found, advice) = error.split_once("; ").unwrap_or((&error, ""));
        self.missing("artifacts", found, advice)
    }

    /// Checks the rubric, and its judge if cases are judged.
    fn rubric(&mut self, repository: Option<&Repository>, settings: &Settings, needs: &NeededAgents, can_run: &[&str]) {
        let Some(repository) = repository else { return };
        let judge = settings.judge.agent.as_str();
        match rubric::read(&repository.root, settings) {
            Err(problem) => self.missing("rubric", problem.to_string(), "fix the judge's template or schema"),
            Ok(_) if needs.judge.is_none() => self.ok("rubric", "valid; no case is judged by it"),
            Ok(_) if can_run.contains(&judge) => self.ok("rubric", format!("judged by {judge}")),
            Ok(_) => {
                let advice = format!("see {judge}, or name another `agent` under [judge] in {}", crate::settings::FILE);
                self.missing("rubric", format!("{judge} is to judge by it, and cannot run here"), advice)
            }
        };
    }

    fn scratch(&mut self, settings: &Settings) -> Option<ScratchDir> {
        match isolation::scratch(settings) {
            Ok(scratch) => {
                let base = scratch.path().parent().unwrap_or(scratch.path()).display().to_string();
                // In their sandboxes, all agents may write to /tmp. Codex does not put the helpers of its sandbox there.
                if let Some(note) = scratch.note() {
                    self.missing("scratch", note.to_owned(), "remove it, or set SKILL_EVALS_SCRATCH");
                } else if scratch.path().starts_with("/tmp") {
                    let advice = "set SKILL_EVALS_SCRATCH to a directory outside /tmp, such as one in /var/tmp";
                    self.missing("scratch", format!("{base} is in /tmp, where every agent may write"), advice);
                } else {
                    self.ok("scratch", base);
                }
                Some(scratch)
            }
            Err(error) => {
                let advice = "set SKILL_EVALS_SCRATCH to a directory that can be written, outside every repository";
                self.missing("scratch", error.to_string(), advice);
                None
            }
        }
    }

    /// Returns whether trials can run with this agent: never [`Health::Optional`].
    fn agent(&mut self, kind: AgentKind, settings: &Settings, probes: Option<&Probes<'_>>) -> Health {
        let name = kind.as_str();
        let program = match agent::of(kind).find(settings) {
            Ok(program) => program,
            Err(trouble) => {
                let (found, advice) = trouble.detail.split_once("; ").unwrap_or((&trouble.detail, ""));
                self.missing(name, found, advice);
                return Health::Missing;
            }
        };
        let first = self.findings.len();
        let starts = self.starts(kind, &program, settings, probes);
        let login = format!("{name}-login");
        match agent::login(settings, kind, None) {
            Login::Set(variable) => self.ok(login, format!("{variable} is set")),
            Login::Found(found) => self.ok(login, found),
            Login::Unknown(found) => self.note(login, Health::Unknown, found, None),
            Login::Missing(advice) => self.missing(login, "none", advice),
        };
        let state = self.findings[first..].iter().map(|finding| finding.state).fold(Health::Ok, worse);
        let sandbox = agent::of(kind).in_sandbox(SCRIPT).filter(|_| starts);
        if let (Some(args), Some(probes)) = (sandbox, probes) {
            let result = probes.in_place(&program, args, settings).map(|placed| placed.result);
            self.sandbox(&format!("{name}-sandbox"), &result);
        }
        state
    }

    /// Returns whether the agent's program starts where trials start it.
    fn starts(&mut self, kind: AgentKind, program: &Path, settings: &Settings, probes: Option<&Probes<'_>>) -> bool {
        let (name, path) = (kind.as_str(), program.display());
        let Some(probes) = probes else {
            let found = format!("{path}, not started without a scratch directory");
            return self.note(name, Health::Unknown, found, None);
        };
        let (PlacedResult { result, is_isolated, .. }, first_words, added) = match started(program, settings, probes) {
            Ok(started) => started,
            Err(error) => return self.note(name, Health::Unknown, format!("{path}: {error}"), None),
        };
        let inside = format!(", inside {}", settings.isolation.kind.surroundings());
        let place = if is_isolated { inside.as_str() } else { "" };
        let not_found = matches!(result.ending.exit_code, Some(126 | 127));
        match first_words {
            None => {
                let measured = kind.profile().measured.last();
                let measured = measured.map_or_else(String::new, |version| format!(", measured with {version}"));
                self.ok(name, format!("{} ({path}){measured}", result.first_line()))
            }
            Some(words) => {
                let found = format!("{path} --version{place}: {words}");
                if result.succeeded() {
                    self.missing(name, found, isolation::advice(&added).unwrap_or_default())
                } else if is_isolated && not_found {
                    self.missing(name, found, isolation::unknown(kind))
                } else if matches!(kind, AgentKind::Custom(_)) {
                    // Nothing says that the program of a user's agent knows this argument.
                    self.note(name, Health::Unknown, format!("{path}, which does not tell its version"), None)
                } else {
                    self.missing(name, found, "reinstall the program")
                }
            }
        }
    }

    fn bwrap(&mut self, probes: Option<&Probes<'_>>) {
        let Some(program) = crate::process::find_program("bwrap") else {
            self.missing("bwrap", "`bwrap` is not on the PATH", "install bubblewrap: the sandboxes of agents need it");
            return;
        };
        let args = ["--ro-bind", "/", "/", "--dev", "/dev", "--unshare-pid", "--die-with-parent"].map(Into::into);
        let call = ["/bin/sh", "-c", SCRIPT].map(Into::into);
        if let Some(probes) = probes {
            self.sandbox("bwrap", &probes.talk(Start::sandbox(program, args.into(), call.into()), &mut ()));
        }
    }

    /// Returns whether trials can run with the isolation that the settings require.
    fn isolation(&mut self, settings: &Settings) -> bool {
        let without = "without it agents can read the repository with the expected answers, and more; see \
                       docs/reference/security.md";
        match isolation::status(&settings.isolation) {
            IsolationStatus::Bwrap(_) | IsolationStatus::Container(_) => {
                let inside = settings.isolation.kind.surroundings();
                self.ok("isolation", format!("agents run inside {inside}: their own directories, no other process"))
            }
            IsolationStatus::Refused(why) if settings.isolation.kind == Isolation::Docker => {
                self.missing("isolation", why, "no agent runs without it")
            }
            IsolationStatus::Refused(why) => {
                self.missing("isolation", why, "fix this, or set `require_isolation = false`")
            }
            IsolationStatus::Nothing(why) if settings.isolation.kind == Isolation::Agent => {
                self.ok("isolation", format!("agents run without isolation: {why}"))
            }
            IsolationStatus::Nothing(why) => {
                self.missing("isolation", why, without);
                true
            }
        }
    }

    /// A sandbox works if its command starts and cannot write.
    fn sandbox(&mut self, id: &str, result: &std::io::Result<ProbeResult>) {
        let advice = &format!("{ALLOW_NAMESPACES}; without a sandbox agents write where they like");
        match result {
            Ok(result) if result.wrote => self.missing(id, "it starts, but commands in it can write", advice),
            Ok(result) if result.first_line() == "started" => self.ok(id, "it starts, and commands in it cannot write"),
            Ok(result) => self.missing(id, format!("it does not start: {}", result.last_words()), advice),
            Err(error) => self.note(id, Health::Unknown, error.to_string(), None),
        };
    }

    /// Checks the MCP server of skills: agents start it and do not report if it fails.
    fn skill_server(&mut self, repository: Option<&Repository>, catalog: &Catalog, probes: Option<&Probes<'_>>) {
        let (Some(repository), Some(probes)) = (repository, probes) else { return };
        let Some(folder) = catalog.skills.first().and_then(|found| found.skill().folder.parent()) else { return };
        let args = vec!["mcp".into(), "--skills".into(), repository.root.join(folder).into_os_string()];
        let mut handshake = Handshake::new(&probes.redactor);
        let talked = Start::own(args).and_then(|start| probes.talk(start, &mut handshake));
        match talked.map(|result| handshake.result(&result.ending)) {
            Ok(Ok(offer)) if offer.tools.is_empty() => {
                self.missing("mcp", "the server offers no tools", "this is a fault of skill-evals; please report it")
            }
            Ok(Ok(offer)) => self.ok("mcp", format!("initialize and tools/list answered: {}", offer.tools.join(", "))),
            Ok(Err(why)) => {
                let advice = "run `skill-evals mcp --skills <directory>` to see its error";
                self.missing("mcp", why, advice)
            }
            Err(error) => self.note("mcp", Health::Unknown, error.to_string(), None),
        };
    }
}

// Starts a program for a moment, in a trial environment of its own.

/// Timeout of a program.
const PATIENCE: Duration = Duration::from_secs(20);

/// A script that prints `started`, then tries to write.
const SCRIPT: &str = "echo started; echo x > written";

struct Probes<'a> {
    scratch: &'a ScratchDir,
    root: &'a Path,
    redactor: Arc<Redactor>,
}

struct ProbeResult {
    ending: Ending,
    stdout: String,
    stderr: String,
    /// Whether [`SCRIPT`] wrote its file.
    wrote: bool,
}

impl ProbeResult {
    fn succeeded(&self) -> bool {
        self.ending.exit_code == Some(0)
    }

    fn first_line(&self) -> &str {
        self.stdout.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default()
    }

    /// Its last words, else how it ended.
    fn last_words(&self) -> String {
        let ending = &self.ending;
        if ending.timed_out {
            return format!("no end after {} s", PATIENCE.as_secs());
        }
        if let Some(trouble) = &ending.trouble {
            return trouble.detail.clone();
        }
        match (&ending.last_words, ending.exit_code) {
            (Some(words), _) => words.clone(),
            (None, Some(code)) => format!("exit status {code}"),
            (None, None) => "killed".to_owned(),
        }
    }
}

/// What a program did where trials start it.
struct PlacedResult {
    result: ProbeResult,
    /// The paths that its sandbox, if it has one, did not show it.
    missing: Vec<PathBuf>,
    is_isolated: bool,
}

impl Probes<'_> {
    /// Runs this program itself, or bubblewrap; `listener` talks with it.
    fn talk(&self, start: Start, listener: &mut dyn OutputListener) -> io::Result<ProbeResult> {
        self.run(&self.environment()?, start, listener)
    }

    /// Runs an agent's program where trials run it by these settings.
    fn in_place(&self, program: &Path, args: Vec<OsString>, settings: &Settings) -> io::Result<PlacedResult> {
        let trial_env = &self.environment()?;
        let (env, root) = (&variables(trial_env), self.root);
        let sandboxed = SandboxedProgram { program, env, reads: &[], server: None, root, trial_env, settings };
        let (place, _) = sandboxed.place().map_err(|trouble| io::Error::other(trouble.detail))?;
        let result = self.run(trial_env, place.start(program, args), &mut ())?;
        let Some(sandbox) = place.sandbox() else {
            return Ok(PlacedResult { result, missing: Vec::new(), is_isolated: false });
        };
        // The missing path may not be in the last words.
        let mut missing = isolation::unseen(&result.last_words(), sandbox, root, trial_env);
        if missing.is_empty() {
            missing = isolation::unseen(&result.stderr, sandbox, root, trial_env);
        }
        Ok(PlacedResult { result, missing, is_isolated: true })
    }

    fn environment(&self) -> io::Result<TrialEnv> {
        self.scratch.trial_env().map_err(io::Error::other)
    }

    fn run(&self, environment: &TrialEnv, start: Start, listener: &mut dyn OutputListener) -> io::Result<ProbeResult> {
        let (stdout, stderr) = (environment.control().join("stdout"), environment.control().join("stderr"));
        let job = Job {
            start,
            env: variables(environment),
            folder: environment.start_directory(),
            timeout: PATIENCE,
            cpu_wait: None,
            stdout: stdout.clone(),
            appends: false,
            by_file: None,
            input: None,
            stderr: stderr.clone(),
            redactor: &self.redactor,
            works_on: false,
            settled: None,
        };
        let ending = process::run(&job, listener)?;
        let [stdout, stderr] = [bounded::read(&stdout)?, bounded::read(&stderr)?]
            .map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
        Ok(ProbeResult { ending, stdout, stderr, wrote: environment.workspace().join("written").exists() })
    }
}

/// The variables of a program. It needs no credentials.
fn variables(environment: &TrialEnv) -> BTreeMap<OsString, OsString> {
    let names = ["PATH", "LANG", "LC_ALL"].into_iter();
    let mut variables: BTreeMap<OsString, OsString> =
        names.filter_map(|name| Some((name.into(), std::env::var_os(name)?))).collect();
    variables.insert("HOME".into(), environment.home().into());
    variables.insert("TMPDIR".into(), environment.tmp().into());
    variables
}
