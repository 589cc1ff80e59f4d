//! Looks whether evals can run here: programs, logins, sandboxes, folders, settings. Asks no model anything.

mod probe;

use std::path::Path;

use serde::Serialize;

use crate::agent;
use crate::agent::handshake::Handshake;
use crate::agent::isolation::{self, IsolationStatus};
use crate::agent::login::{Login, LoginSources};
use crate::agent::trial_env::ScratchDir;
use crate::cases::catalog::Catalog;
use crate::cases::repository::{Layout, Repository, Scope};
use crate::report::diagnostics;
use crate::report::paint::Paint;
use crate::run::rubric;
use crate::settings::load::{self, ConfigError};
use crate::settings::mode::AgentKind;
use crate::settings::{Isolation, Settings};
use crate::store::{RUNS, RunFolder};
use probe::Probes;

/// How one thing stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Health {
    /// As it should be.
    Ok,
    /// Missing or not working.
    Missing,
    /// It could not be looked at.
    Unknown,
}

/// One thing that was looked at.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct DoctorFinding {
    /// What: a stable name, kebab-case.
    pub id: String,
    /// How it stands.
    pub state: Health,
    /// What was found.
    pub found: String,
    /// What to do about it, where it is not as it should be.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub advice: Option<String>,
}

/// All that was found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct DoctorReport {
    /// Whether live trials can run with at least one agent.
    pub can_run: bool,
    /// Whether that is only for what could not be looked at.
    pub undecided: bool,
    /// The agents with which they can.
    pub agents: Vec<&'static str>,
    /// Everything that was looked at, in a fixed order.
    pub findings: Vec<DoctorFinding>,
}

/// Looks at everything, for the repository found or for none. `own_program` is `skill-evals` itself.
#[must_use]
pub fn examine(repository: Option<&Repository>, own_program: &Path) -> DoctorReport {
    let mut doctor = Doctor { findings: Vec::new() };
    let settings = doctor.settings(repository);
    let catalog = doctor.repository(repository, settings.as_ref());
    let kept = doctor.artifacts(repository);
    let fallback = Settings::default();
    let used = settings.as_ref().unwrap_or(&fallback);
    doctor.rubric(repository, used);
    let scratch = doctor.scratch(used);
    let probes = scratch
        .as_ref()
        .map(|scratch| Probes { scratch, root: repository.map_or(scratch.path(), |repository| &repository.root) });
    let mut agents = Vec::new();
    for kind in AgentKind::ALL {
        if doctor.agent(kind, used, probes.as_ref()) {
            agents.push(kind.as_str());
        }
    }
    doctor.bwrap(probes.as_ref());
    doctor.skill_server(repository, &catalog, own_program, probes.as_ref());
    let isolated = doctor.isolation(used);
    let ready = settings.is_some() && kept && scratch.is_some() && !catalog.cases.is_empty() && isolated;
    let can_run = ready && !agents.is_empty();
    let unknown = doctor.findings.iter().any(|finding| finding.state == Health::Unknown);
    DoctorReport { can_run, undecided: ready && !can_run && unknown, agents, findings: doctor.findings }
}

/// How many rounds of missing paths are looked for: a script may call a script.
const MAX_ROUNDS: usize = 8;

/// Whether an agent that starts by itself also starts in the sandbox that trials have.
///
/// # Errors
/// What it says there, and what to do: what was tried out and helped, where something did.
fn inside(kind: AgentKind, program: &Path, settings: &Settings, probes: &Probes<'_>) -> Result<(), (String, String)> {
    let IsolationStatus::Bwrap(bwrap) = isolation::status(&settings.isolation) else { return Ok(()) };
    let mut wider = settings.clone();
    let mut added = Vec::new();
    let mut words = None;
    for _ in 0..MAX_ROUNDS {
        let tried = probes.version_inside(bwrap.clone(), program, &wider);
        let (ran, unseen) = tried.map_err(|error| (error.to_string(), isolation::unknown(kind)))?;
        if ran.well() {
            return words.map_or(Ok(()), |words| Err((words, isolation::advice(&added).unwrap_or_default())));
        }
        words.get_or_insert(ran.last_words());
        if unseen.is_empty() {
            break;
        }
        wider.isolation.readable.extend(unseen.iter().cloned());
        added.extend(unseen);
    }
    Err((words.unwrap_or_default(), isolation::unknown(kind)))
}

struct Doctor {
    findings: Vec<DoctorFinding>,
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
        self.note(id, Health::Missing, found, Some(advice.into()))
    }

    /// The settings, unless they are wrong.
    fn settings(&mut self, repository: Option<&Repository>) -> Option<Settings> {
        let Some(repository) = repository else {
            self.ok("settings", "the built-in ones");
            return Some(Settings::default());
        };
        match load::read(&repository.root) {
            Ok(settings) => {
                let file = repository.root.join(crate::settings::FILE).is_file();
                self.ok("settings", if file { crate::settings::FILE } else { "the built-in ones" });
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
        let advice = "write skills/<name>/SKILL.md, or have `skill-evals init` begin with an example";
        let Some(repository) = repository else {
            self.missing("repository", "no skills here or above", advice);
            return Catalog::default();
        };
        let layout = settings.map(Layout::of).unwrap_or_default();
        let catalog = repository.catalog(layout, Scope::All);
        let skills = diagnostics::counted(catalog.skills.len(), "skill");
        let found = format!("{skills}, {}", diagnostics::counted(catalog.cases.len(), "case"));
        if catalog.cases.is_empty() {
            self.missing("repository", found, advice);
        } else {
            self.ok("repository", found);
        }
        catalog
    }

    /// Where runs are kept. Returns whether they can be.
    fn artifacts(&mut self, repository: Option<&Repository>) -> bool {
        let Some(repository) = repository else { return false };
        let Err(error) = RunFolder::check_place(&repository.root) else {
            return self.ok("artifacts", format!("runs are kept in {RUNS}, which git ignores"));
        };
        let error = error.to_string();
        let (found, advice) = error.split_once("; ").unwrap_or((&error, ""));
        self.missing("artifacts", found, advice)
    }

    fn rubric(&mut self, repository: Option<&Repository>, settings: &Settings) {
        let Some(repository) = repository else { return };
        match rubric::read(&repository.root, settings) {
            Ok(_) => self.ok("rubric", format!("judged by {}", settings.judge.agent.as_str())),
            Err(problem) => self.missing("rubric", problem.to_string(), "fix the judge's template or schema"),
        };
    }

    fn scratch(&mut self, settings: &Settings) -> Option<ScratchDir> {
        match ScratchDir::open(settings.scratch.as_deref()) {
            Ok(scratch) => {
                let base = scratch.path().parent().unwrap_or(scratch.path()).display().to_string();
                // Sandboxes leave /tmp writable to every agent, and codex puts no helpers of its sandbox there.
                if scratch.path().starts_with("/tmp") {
                    let advice = "set SKILL_EVALS_SCRATCH to a directory outside /tmp, such as one in /var/tmp";
                    self.missing("scratch", format!("{base} lies in /tmp, where every agent may write"), advice);
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

    /// Whether trials can run with this agent.
    fn agent(&mut self, kind: AgentKind, settings: &Settings, probes: Option<&Probes<'_>>) -> bool {
        let name = kind.as_str();
        let program = match agent::of(kind).find(settings) {
            Ok(program) => program,
            Err(trouble) => {
                let (found, advice) = trouble.detail.split_once("; ").unwrap_or((&trouble.detail, ""));
                return self.missing(name, found, advice);
            }
        };
        let there = program.display().to_string();
        let starts = match probes.map(|probes| probes.run(&program, &["--version".into()])) {
            None => {
                self.note(name, Health::Unknown, format!("{there}, not started for lack of a scratch directory"), None)
            }
            Some(Ok(ran)) if ran.well() => match probes.map(|probes| inside(kind, &program, settings, probes)) {
                Some(Err((words, advice))) => {
                    self.missing(name, format!("{there} --version, inside bubblewrap: {words}"), advice)
                }
                _ => self.ok(name, format!("{} ({there})", ran.first_line())),
            },
            Some(Ok(ran)) => {
                self.missing(name, format!("{there} --version: {}", ran.last_words()), "reinstall the program")
            }
            Some(Err(error)) => self.note(name, Health::Unknown, format!("{there}: {error}"), None),
        };
        let login = format!("{name}-login");
        let logged_in = match agent::of(kind).login(&LoginSources::new(settings, kind, None)) {
            Login::Found(found) => self.ok(login, found),
            Login::Unknown(found) => self.note(login, Health::Unknown, found, None),
            Login::Missing(advice) => self.missing(login, "none", advice),
        };
        let sandbox = agent::of(kind).in_sandbox(probe::SCRIPT).filter(|_| starts);
        if let (Some(args), Some(probes)) = (sandbox, probes) {
            self.sandbox(&format!("{name}-sandbox"), &probes.run(&program, &args));
        }
        starts && logged_in
    }

    fn bwrap(&mut self, probes: Option<&Probes<'_>>) {
        let Some(program) = crate::process::find_program("bwrap") else {
            self.missing(
                "bwrap",
                "`bwrap` is not on the PATH",
                "install bubblewrap: agents' sandboxes are made with it",
            );
            return;
        };
        let args = ["--ro-bind", "/", "/", "--dev", "/dev", "--unshare-pid", "--die-with-parent", "--"];
        let args = args.into_iter().chain(["/bin/sh", "-c", probe::SCRIPT]).map(Into::into).collect::<Vec<_>>();
        if let Some(probes) = probes {
            self.sandbox("bwrap", &probes.run(&program, &args));
        }
    }

    /// What will keep agents to their own folders. Returns whether trials can run so.
    fn isolation(&mut self, settings: &Settings) -> bool {
        let wanted = &settings.isolation;
        let without = "without it agents can read the repository with the expected answers, and more; see \
                       docs/reference/security.md";
        match isolation::status(wanted) {
            IsolationStatus::Bwrap(_) => {
                self.ok("isolation", "agents run inside bubblewrap: their own room, no other process")
            }
            IsolationStatus::Refused(why) => {
                self.missing("isolation", why, "set `require_isolation = false`, or put right what is named")
            }
            IsolationStatus::Nothing(why) if wanted.kind == Isolation::Agent => {
                self.ok("isolation", format!("agents are on their own: {why}"))
            }
            IsolationStatus::Nothing(why) => {
                self.missing("isolation", why, without);
                true
            }
        }
    }

    /// A sandbox works when the command in it starts and cannot write.
    fn sandbox(&mut self, id: &str, ran: &std::io::Result<probe::ProbeResult>) {
        let advice = "allow unprivileged user namespaces here (kernel.unprivileged_userns_clone, AppArmor), or run \
                      evals in a container that does; without a sandbox agents write where they like";
        match ran {
            Ok(ran) if ran.wrote => self.missing(id, "it starts, and does not keep commands from writing", advice),
            Ok(ran) if ran.first_line() == "started" => self.ok(id, "it starts, and commands in it cannot write"),
            Ok(ran) => self.missing(id, format!("it does not start: {}", ran.last_words()), advice),
            Err(error) => self.note(id, Health::Unknown, error.to_string(), None),
        };
    }

    /// The MCP server of skills, which agents start by themselves and are silent about when it fails.
    fn skill_server(
        &mut self,
        repository: Option<&Repository>,
        catalog: &Catalog,
        own_program: &Path,
        probes: Option<&Probes<'_>>,
    ) {
        let (Some(repository), Some(probes)) = (repository, probes) else { return };
        let Some(folder) = catalog.skills.first().and_then(|found| found.skill().folder.parent()) else { return };
        let args = ["mcp".into(), "--skills".into(), repository.root.join(folder).into_os_string()];
        let mut handshake = Handshake::default();
        match probes.talk(own_program, &args, &mut handshake).map(|ran| handshake.result(&ran.ending)) {
            Ok(Ok(offer)) if offer.tools.is_empty() => {
                self.missing("mcp", "the server offers no tools", "this is a fault of skill-evals; please report it")
            }
            Ok(Ok(offer)) => self.ok("mcp", format!("initialize and tools/list answered: {}", offer.tools.join(", "))),
            Ok(Err(why)) => {
                let advice = "run `skill-evals mcp --skills <directory>` by hand and see what it says";
                self.missing("mcp", why, advice)
            }
            Err(error) => self.note("mcp", Health::Unknown, error.to_string(), None),
        };
    }
}
