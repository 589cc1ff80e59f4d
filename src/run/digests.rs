//! Digests of everything that decides a trial, read from the repository as it is now. If they differ from those of a
//! recording, the recording is stale.

use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, HashMap};
use std::fmt::{Display, Write};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, OnceLock, PoisonError};

use serde_json::json;

use crate::agent;
use crate::agent::snapshot::{SkillSnapshot, plugin_files};
use crate::cases::case::Case;
use crate::cases::catalog::{Catalog, FoundSkill};
use crate::cases::mocks;
use crate::cases::plugin::PLUGINS;
use crate::cases::repository::Repository;
use crate::cases::skill_material::skill_material;
use crate::cases::start_files::start_files;
use crate::files::inside;
use crate::files::material::Material;
use crate::settings::mode::{AgentKind, Delivery, Mode, SkillSelection};
use crate::settings::{AgentSettings, Home, Settings};
use crate::text::redact::looks_secret;
use crate::trace::change::SkillChange;
use crate::trial::evidence::{CATALOGUE_PART, Inputs, SKILL_PART, digest};

const FIXTURE_PART: &str = "fixture";

/// The part for what the workspace of this case holds at the start.
pub fn files_part(case: &Case) -> &'static str {
    if case.files.is_empty() { FIXTURE_PART } else { "files" }
}

pub const SCHEMA_PART: &str = "output schema";

/// The part for what is answered from files.
pub const MOCKS_PART: &str = "mocks";

/// The prefix of the name of a part that belongs to the user's setup.
pub const SETUP_PART: &str = "user's setup: ";

/// The part for the plugin that the agent gets.
const PLUGIN_PART: &str = "plugin";

const MODEL_PART: &str = "setting model";

/// Digests parts of the repository, each directory once.
#[derive(Debug, Default)]
pub struct InputReader {
    folders: Mutex<HashMap<PathBuf, String>>,
    /// The user's setup, by agent.
    setups: Mutex<HashMap<AgentKind, BTreeMap<String, String>>>,
    /// The digest of the answers of commands in all cases, if there are some.
    mocked_commands: OnceLock<Result<Option<String>, String>>,
}

/// Where the skills are that agents get.
#[derive(Clone, Copy, Debug)]
pub enum SkillFolders<'a> {
    Snapshot(&'a SkillSnapshot),
    Repository,
}

/// What trials of a run see, besides their case and mode.
#[derive(Clone, Copy, Debug)]
pub struct DigestInputs<'a> {
    pub root: &'a Path,
    pub settings: &'a Settings,
    pub catalog: &'a Catalog,
    pub skills: SkillFolders<'a>,
}

impl InputReader {
    /// Everything that decides a trial of `case` in `mode`: what the agent sees, and how it is started. Of the skill under
    /// test and the skills in `opened`, all files count. A part exists only if somebody chose it, so that a new setting
    /// does not make old recordings stale.
    pub fn read(&self, sources: &DigestInputs<'_>, case: &Case, mode: &Mode, opened: &[String]) -> io::Result<Inputs> {
        let DigestInputs { root, settings, .. } = *sources;
        let mut inputs = Inputs::default();
        inputs.add("prompt", case.prompt.as_bytes());
        if let Some(text) = &case.system_prompt {
            inputs.add("system prompt", text.as_bytes());
        }
        let mut start = format!("{} {}", mode.agent.as_str(), mode.delivery.as_str());
        for arg in &mode.args {
            start.push('\0');
            start.push_str(arg);
        }
        if mode.offer != SkillSelection::All {
            let _ = write!(start, "\0offer {}", mode.offer);
        }
        inputs.add("mode", start.as_bytes());
        inputs.add("sandbox", case.sandbox.as_str().as_bytes());
        add_settings(&mut inputs, settings, mode);
        if settings.live && settings.isolation.home == Home::User {
            self.add_setup(&mut inputs, mode.agent)?;
        }
        if let Some(tools) = &case.tools {
            inputs.add("tools", format!("{tools:?}").as_bytes());
        }
        if !case.env.is_empty() {
            inputs.add("environment", format!("{:?}", case.env).as_bytes());
        }
        if let Some(most) = settings.max_turns_of(case.max_turns) {
            inputs.add("most turns", most.to_string().as_bytes());
        }
        if let Some(path) = &case.output_schema {
            inputs.add(SCHEMA_PART, &inside::read(root, path.as_path())?);
        }
        if let (Some(path), []) = (&case.fixture, &*case.files) {
            let folder = inside::real(root, path.as_path())?;
            inputs.0.insert(FIXTURE_PART.to_owned(), self.digest_of(&folder, Material::list));
        } else if let Some(files) = start_files(root, case) {
            let digest = or_problem(files.whole().and_then(|files| files.digest()));
            inputs.0.insert(files_part(case).to_owned(), digest);
        }
        if !case.follow_ups.is_empty() {
            inputs.add("follow-ups", case.follow_ups.join("\0").as_bytes());
        }
        if let Some(user) = &case.user {
            inputs.add("user", &serde_json::to_vec(user)?);
        }
        if !case.history.is_empty() {
            inputs.add("history", &serde_json::to_vec(&case.history)?);
        }
        if !case.setup.is_empty() {
            inputs.add("setup", case.setup.join("\0").as_bytes());
        }
        self.add_mocks(&mut inputs, sources, case, mode);
        if mode.delivery != Delivery::None {
            self.add_skills(&mut inputs, sources, case, mode, opened)?;
        }
        Ok(inputs)
    }

    /// Adds what is answered from files.
    fn add_mocks(&self, inputs: &mut Inputs, sources: &DigestInputs<'_>, case: &Case, mode: &Mode) {
        let DigestInputs { root, settings, catalog, .. } = *sources;
        let tree = Repository { root: root.to_path_buf() };
        let of_all = self.mocked_commands.get_or_init(|| {
            let (commands, problems) = mocks::commands(&tree, settings.mocks.iter());
            if problems.is_empty() { Ok(mocks::commands_digest(&commands)) } else { Err(format!("{problems:?}")) }
        });
        let digest = of_all.clone().and_then(|of_all| {
            let digest = mocks::digest_of(&tree, of_all.as_deref(), case, mode.delivery, &catalog.mock_servers);
            digest.map_err(|problems| format!("{problems:?}"))
        });
        inputs.0.extend(digest.transpose().map(|digest| (MOCKS_PART.to_owned(), or_problem(digest))));
    }

    /// Adds the user's own setup of the agent, each part of it.
    fn add_setup(&self, inputs: &mut Inputs, agent: AgentKind) -> io::Result<()> {
        let mut setups = self.setups.lock().unwrap_or_else(PoisonError::into_inner);
        let parts = match setups.entry(agent) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(new) => {
                new.insert(agent::own_setup(agent).map_err(|trouble| io::Error::other(trouble.detail))?)
            }
        };
        inputs.0.extend(parts.iter().map(|(path, digest)| (format!("{SETUP_PART}{path}"), digest.clone())));
        Ok(())
    }

    fn add_skills(
        &self,
        inputs: &mut Inputs,
        sources: &DigestInputs<'_>,
        case: &Case,
        mode: &Mode,
        opened: &[String],
    ) -> io::Result<()> {
        let DigestInputs { root, settings, catalog, skills } = *sources;
        let hides_user_only = hides_user_only(settings, mode);
        let list: Vec<(&str, &str)> = catalog
            .skills
            .iter()
            .map(FoundSkill::skill)
            .filter(|skill| mode.offer.includes(&case.skill, &skill.slug))
            .filter(|skill| !skill.user_only || !hides_user_only)
            .map(|skill| (skill.name.as_str(), skill.description.as_str()))
            .collect();
        for (number, change) in (1..).zip(&case.during) {
            let SkillChange { after_turn, kind, skill, folder, .. } = change;
            let place = folder.as_ref().map(ToString::to_string).unwrap_or_default();
            let folder = folder.as_ref().map(|folder| inside::real(root, folder.as_path())).transpose()?;
            let content = folder.map(|folder| self.folder(&folder)).unwrap_or_default();
            let text = format!("{after_turn}\0{}\0{skill}\0{place}\0{content}", kind.as_str());
            inputs.add(format!("change {number} in mid-session"), text.as_bytes());
        }
        inputs.add(CATALOGUE_PART, serde_json::to_string(&list)?.as_bytes());
        for slug in std::iter::once(&case.skill).chain(opened) {
            let Some(found) = catalog.skill(slug) else { continue };
            let digest = match skills {
                SkillFolders::Snapshot(snapshot) => or_problem(snapshot.digest(slug).map(str::to_owned)),
                SkillFolders::Repository => self.folder(&root.join(&found.skill().folder)),
            };
            inputs.0.insert(format!("{SKILL_PART}{slug}"), digest);
        }
        if let Some(plugin) = catalog.skill(&case.skill).and_then(|found| found.plugin_for(mode, case)) {
            let digest = match skills {
                SkillFolders::Snapshot(snapshot) => {
                    or_problem(snapshot.digest(&plugin.place().to_string_lossy()).map(str::to_owned))
                }
                SkillFolders::Repository => {
                    self.digest_of(&root.join(&plugin.folder).join(PLUGINS), |_| plugin_files(root, plugin))
                }
            };
            inputs.0.insert(PLUGIN_PART.to_owned(), digest);
        }
        Ok(())
    }

    /// The digest of the files in the directory of a skill, with their paths.
    pub fn folder(&self, folder: &Path) -> String {
        self.digest_of(folder, skill_material)
    }

    fn digest_of(&self, folder: &Path, list: impl FnOnce(&Path) -> Material) -> String {
        let digests = || self.folders.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(digest) = digests().get(folder) {
            return digest.clone();
        }
        let digest = or_problem(list(folder).whole().and_then(|material| material.digest()));
        digests().insert(folder.to_path_buf(), digest.clone());
        digest
    }
}

/// Whether a model in this mode never sees skills that only users may call. The built-in MCP server does not serve them;
/// a repository's own server may.
fn hides_user_only(settings: &Settings, mode: &Mode) -> bool {
    let natively = mode.delivery.native() && !mode.agent.profile().hides_user_only;
    let by_mcp = mode.delivery.mcp() && settings.mcp.own.is_some();
    !(natively || by_mcp)
}

/// The digest of a directory, or of the reason why agents cannot get it: its own trials and `lint` report that, and
/// other trials run.
pub fn or_problem(digest_of_folder: Result<String, impl Display>) -> String {
    digest_of_folder.unwrap_or_else(|problem| digest(format!("not copied: {problem}").as_bytes()))
}

/// Adds the settings that decide what an agent sees and may do.
fn add_settings(inputs: &mut Inputs, settings: &Settings, mode: &Mode) {
    if let Some(model) = settings.model_for(mode) {
        inputs.add(MODEL_PART, model.as_bytes());
    }
    let args = settings.agents.get(mode.agent.as_str()).map(|agent| agent.args.as_slice()).unwrap_or_default();
    if !args.is_empty() {
        inputs.add(format!("setting agents.{}.args", mode.agent.as_str()), args.join("\0").as_bytes());
    }
    // A digest of a short secret gives it away: of secrets only the name counts.
    let public = |name: &String, value: &str| {
        let secret = settings.secret_env.contains(name) || looks_secret(name, value);
        if secret { String::new() } else { value.to_owned() }
    };
    for (name, value) in &settings.env {
        inputs.add(format!("setting env.{name}"), public(name, value).as_bytes());
    }
    if let Some(AgentSettings { command, custom: Some(start), .. }) = settings.agents.get(mode.agent.as_str()) {
        let env: Vec<_> = start.env.iter().map(|(name, value)| (name, public(name, value))).collect();
        // A path of the repository is the same in every clone.
        let root = settings.root.as_ref().and_then(|root| std::path::absolute(root).ok()).unwrap_or_default();
        let command =
            command.as_ref().map(|command| Path::new(command).strip_prefix(&root).unwrap_or(command.as_ref()));
        let whole = json!([command, start.args, env, start.authenticate, start.agent.description]);
        inputs.add(format!("setting agents.{}", mode.agent.as_str()), whole.to_string().as_bytes());
    }
    if !settings.pass_env.is_empty() {
        inputs.add("setting pass_env", settings.pass_env.join("\0").as_bytes());
    }
    if mode.delivery.mcp() {
        if let Some(server) = &settings.mcp.own {
            inputs.add("setting mcp", format!("{server:?}").as_bytes());
        }
        if !settings.mcp.always_load {
            inputs.add("setting mcp.always_load", b"false");
        }
        for (key, _, value) in settings.mcp.built_in.chosen() {
            inputs.add(format!("setting mcp.{key}"), value.as_bytes());
        }
    }
    if !settings.create.is_empty() {
        let folders: Vec<String> = settings.create.iter().map(ToString::to_string).collect();
        inputs.add("setting create", folders.join("\0").as_bytes());
    }
    // Isolation chosen in the environment belongs to a machine, and makes no recording stale.
    if let Some(declared) = &settings.isolation.declared {
        inputs.add("setting isolation", declared.as_bytes());
    }
}

/// The skills whose whole directories a recording depends on.
pub fn opened_skills(inputs: &Inputs) -> Vec<String> {
    inputs.0.keys().filter_map(|name| name.strip_prefix(SKILL_PART)).map(str::to_owned).collect()
}

/// How what decides a trial has changed since its recording.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordingDrift {
    /// The changed parts that make the recording stale.
    pub stale: Vec<String>,
    /// Whether the names or descriptions of the offered skills changed. The description of the skill under test is part of
    /// its files, which make the recording stale; a neighbor's only makes it aged.
    pub aged: bool,
}

impl RecordingDrift {
    /// Compares a recording with a trial `now`. If no model is requested now, any recorded model fits.
    pub fn between(recorded: &Inputs, now: &Inputs) -> Self {
        let mut stale = recorded.differences(now);
        stale.retain(|part| part != MODEL_PART || now.0.contains_key(MODEL_PART));
        let aged = stale.iter().any(|part| part == CATALOGUE_PART);
        stale.retain(|part| part != CATALOGUE_PART);
        Self { stale, aged }
    }
}
