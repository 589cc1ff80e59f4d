//! The programs under test. Only code in this directory names a vendor.
//!
//! An agent is a file or a directory of its name with an implementation of [`Agent`] and a `profile`, and a line
//! in the registry there. The other files are what agents share. An agent imports those, but neither another agent nor this file.

pub mod command;
mod custom;
mod field;
mod files;
pub mod interface;
pub mod isolation;
pub mod login;
pub mod mcp_probe;
pub mod network;
mod provider;
mod recorder;
pub mod refusal;
mod sandbox;
pub mod secrets;
mod skill_list;
pub mod snapshot;
mod stream;
pub mod trial_env;
pub mod user_home;

use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::LazyLock;

use crate::agent::isolation::IsolationStatus;
use crate::agent::login::{Account, Login, LoginSources};
use crate::cases::case::Case;
use crate::cases::catalog::FoundSkill;
use crate::lint::SkillList;
use crate::mock;
use crate::profile::{PROFILES, agents};
use crate::settings::mode::{AgentKind, Delivery, Mode};
use crate::settings::{Home, Settings};
use crate::skill::{SKILL_FILE, USER_ONLY};
use crate::text::redact::looks_secret;
use crate::trace::trouble::{Trouble, TroubleKind};
use crate::trial::evidence::{Ending, digest};
use login::PointedAgent;

pub use command::AgentCommand;
pub use command::{Assignment, OutputSchema};
pub use custom::{ReadLine, StreamEvent, is_read_here, read_in_rust};
pub use interface::UserSession;
pub use interface::{Agent, WorkOwner};
pub use isolation::{bwrap, container};
pub use sandbox::Place;
use sandbox::ProgramSandbox;
pub use trial_env::ScratchDir;

macro_rules! programs {
    ($($family:ident: $($kind:ident = $word:literal),+;)+) => {
        $(mod $family;)+

        /// The agent of this kind.
        pub fn of(kind: AgentKind) -> &'static dyn Agent {
            match kind {
                $($(AgentKind::$kind => &$family::$kind,)+)+
                AgentKind::Custom(agent) => agent,
            }
        }
    };
}
agents!(programs);

/// How much of the skills each agent shows its models; docs/contributing/agents.md has the measurements.
pub static LISTINGS: LazyLock<Vec<&[SkillList]>> =
    LazyLock::new(|| PROFILES.into_iter().map(|profile| of(profile.modes[0].1).listings()).collect());

/// Runs as an agent if this process was started as one, since the program is the agent of some modes; or as a command that is
/// answered from files.
pub fn take_over() -> Option<ExitCode> {
    mock::take_over().or_else(|| AgentKind::ALL.into_iter().find_map(|kind| of(kind).take_over()))
}

/// How to start the mode's agent for a trial, and where by the settings. Writes what the agent needs into its home.
pub fn command(assignment: &Assignment<'_>) -> Result<(AgentCommand, Place), Trouble> {
    let (reads, secrets) = user_home::link(assignment)?;
    let agent = of(assignment.mode.agent);
    let endpoint = PointedAgent::of(assignment.settings, assignment.mode)?;
    let settings = endpoint.as_ref().map_or(assignment.settings, |endpoint| &endpoint.settings);
    let assignment = &Assignment { settings, ..*assignment };
    let mut command = agent.command(assignment)?;
    if assignment.case.tools.is_some() && !command.limits_tools {
        command.not_enforced.push("the agent has its own tools, and not those that the case names".to_owned());
    }
    if let Some(endpoint) = &endpoint {
        let (provider, _) = agent.users_setup(settings.isolation.home)?;
        endpoint.apply(assignment, &provider, &mut command)?;
    }
    command.reads.extend(reads);
    command.secrets.extend(secrets);
    provider::admit(assignment, &mut command)?;
    isolation::isolated(command, assignment)
}

/// What reaches the agent besides a trial's inputs: its program, and the user's variables and configuration. It holds no
/// value of a variable that is secret.
pub fn users_setup(kind: AgentKind, settings: &Settings) -> Result<String, Trouble> {
    let program = of(kind).find(settings)?;
    let unreadable = |error| files::file_trouble(&program, &error);
    let common = visible(settings, command::COMMON_VARIABLES.iter().map(|name| (*name).to_owned()));
    let setup = configuration(kind, settings)?;
    if sandbox::is_of_image(settings, &program) {
        return Ok(format!("{setup}{common}\n{}", program.display()));
    }
    let resolved = program.canonicalize().map_err(unreadable)?;
    let mut hasher = blake3::Hasher::new();
    hasher.update_reader(File::open(&resolved).map_err(unreadable)?).map_err(unreadable)?;
    Ok(format!("{setup}{common}\n{} {}", resolved.display(), hasher.finalize().to_hex()))
}

/// The names of the programs by which an agent starts: its own, and those that run it if it is a script.
pub fn started_by(kind: AgentKind, settings: &Settings) -> Result<Vec<String>, Trouble> {
    let mut programs = vec![of(kind).find(settings)?];
    while let Some(next) =
        programs.last().and_then(|program| isolation::interpreter(program)).filter(|_| programs.len() < 8)
    {
        programs.push(next);
    }
    let names = programs.iter().flat_map(|program| [program.clone(), program.canonicalize().unwrap_or_default()]);
    Ok(names.filter_map(|path| Some(path.file_name()?.to_string_lossy().into_owned())).collect())
}

/// The program of an agent, without links, and its version if its package says it. The program is not started.
pub fn installed(kind: AgentKind, settings: &Settings) -> Result<(PathBuf, Option<String>), Trouble> {
    let program = of(kind).find(settings)?;
    let program = program.canonicalize().unwrap_or(program);
    let version = files::package_version(kind.profile(), &program);
    Ok((program, version))
}

/// What reaches the agent of the user's variables and configuration, and the image that it is of.
pub fn configuration(kind: AgentKind, settings: &Settings) -> Result<String, Trouble> {
    let (names, mut text) = of(kind).users_setup(settings.isolation.home)?;
    if let IsolationStatus::Container(engine) = isolation::status(&settings.isolation) {
        let _ = write!(text, "\nimage {}", engine.image());
    }
    Ok(text + &visible(settings, names.into_iter().chain(settings.pass_env.iter().cloned())))
}

/// These variables of the user, without values that are secret.
fn visible(settings: &Settings, names: impl Iterator<Item = String>) -> String {
    let mut text = String::new();
    for name in names {
        let Some(value) = std::env::var_os(&name) else { continue };
        let value = value.to_string_lossy();
        let secret = settings.secret_env.contains(&name) || looks_secret(&name, &value);
        let _ = write!(text, "\n{name}={}", if secret { "" } else { &value });
    }
    text
}

/// The user's own setup of an agent, which its trials have with `home = "user"`: the digest of each part. The configuration is
/// without its secrets.
pub fn own_setup(kind: AgentKind) -> Result<BTreeMap<String, String>, Trouble> {
    let mut digests = user_home::digests(kind)?;
    let (_, configuration) = of(kind).users_setup(Home::User)?;
    digests.insert("configuration".to_owned(), digest(configuration.as_bytes()));
    Ok(digests)
}

/// The account of an agent's requests, in a mode or in any.
pub fn account(settings: &Settings, kind: AgentKind, mode: Option<&Mode>) -> Account {
    LoginSources::new(settings, kind, mode).account(login(settings, kind, mode))
}

/// The credentials that an agent would use, in a mode or in any.
pub fn login(settings: &Settings, kind: AgentKind, mode: Option<&Mode>) -> Login {
    match (settings.endpoint_of(kind), login::endpoint_refusal(settings, kind, mode)) {
        (_, Some(why)) => Login::Missing(why),
        (Some(url), None) => Login::Found(format!("the endpoint {url}, which gets no credentials of yours")),
        (None, None) => of(kind).login(&LoginSources::new(settings, kind, mode)),
    }
}

/// Why an agent did not start to work, if its ending shows it.
pub fn trouble_at_start(
    ending: &Ending,
    sandbox: Option<&ProgramSandbox>,
    assignment: &Assignment<'_>,
) -> Option<Trouble> {
    let trouble = ending.trouble.clone().or_else(|| unknown_argument(ending.last_words.as_deref()?));
    let Assignment { mode, root, trial_env, .. } = *assignment;
    trouble.or_else(|| isolation::not_found(mode.agent, ending, sandbox?, root, trial_env))
}

/// The trouble of an agent that is too old or too new for one of its arguments.
fn unknown_argument(last_words: &str) -> Option<Trouble> {
    let words = last_words.to_lowercase();
    let signs = ["unknown option", "unexpected argument", "unrecognized argument", "unknown argument"];
    signs.iter().any(|sign| words.contains(sign)).then(|| {
        let what = format!(
            "it does not know an argument: {last_words}; another version of it does, or see `args` in evals/evals.toml"
        );
        Trouble::new(TroubleKind::CouldNotStart, what)
    })
}

/// The file of the skill in `directory` that keeps the mode from offering the skill to this prompt, and why. A trial of it could
/// only be an error.
pub fn withheld(
    mode: &Mode,
    settings: &Settings,
    found: &FoundSkill,
    directory: &Path,
    case: &Case,
) -> Option<(&'static str, String)> {
    let (skill, prompt) = (found.skill(), &*case.prompt);
    let called = found.plugin.as_ref().filter(|plugin| begins_with_plugin(prompt, &plugin.name));
    if let (Some(plugin), None, true) = (called, found.plugin_for(mode, case), mode.delivery != Delivery::None) {
        let (call, agent) = (format!("/{}:", plugin.name), mode.agent.profile().name);
        return Some((
            SKILL_FILE,
            format!("the prompt begins with `{call}`, and {agent} does not get the plugin here"),
        ));
    }
    if mode.delivery.mcp() && settings.mcp.own.is_none() && skill.user_only {
        let why = format!("`{USER_ONLY}` keeps models from calling the skill: the MCP server does not serve it");
        return Some((SKILL_FILE, why));
    }
    if !mode.delivery.native() {
        return None;
    }
    let profile = mode.agent.profile();
    if profile.reads(&skill.faults).is_none() {
        let faults: Vec<&str> = skill.faults.iter().map(|fault| fault.as_str()).collect();
        return Some((SKILL_FILE, format!("{} does not load the skill: {}", profile.name, faults.join(", "))));
    }
    if skill.user_only && profile.hides_user_only {
        let name = profile.name;
        let why = match profile.call_of(&skill.name) {
            Some(call) if called.is_some() || begins_with(prompt.trim_start(), &call) => None,
            Some(call) => Some(format!("the prompt does not call it: in {name} it begins with `{call}`")),
            None => Some(format!("a prompt calls no skill in {name}")),
        };
        if let Some(why) = why {
            return Some((SKILL_FILE, format!("`{USER_ONLY}` keeps models from calling the skill, and {why}")));
        }
    }
    of(mode.agent).withholds(skill, directory, prompt).map(|(file, why)| (file, why.to_owned()))
}

/// Whether a prompt calls a skill or a command of the plugin of this name.
fn begins_with_plugin(prompt: &str, plugin: &str) -> bool {
    let rest = prompt.trim_start().strip_prefix('/').and_then(|rest| rest.strip_prefix(plugin));
    rest.is_some_and(|rest| rest.starts_with(':'))
}

/// Whether `text` begins with `call`, and not with a longer word.
fn begins_with(text: &str, call: &str) -> bool {
    let rest = text.strip_prefix(call);
    rest.is_some_and(|rest| !rest.starts_with(|next: char| next.is_alphanumeric() || "-_:".contains(next)))
}
