//! Digests of everything that decides a trial, read from the repository as it is now. If they differ from those of a
//! recording, the recording is stale.

use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, HashMap};
use std::io;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use crate::agent;
use crate::agent::snapshot::{SkillSnapshot, plugin_files};
use crate::cases::case::Case;
use crate::cases::case_parts::SeenBy;
use crate::cases::case_tree::{CaseTree, TreeDigests, or_problem};
use crate::cases::catalog::{Catalog, FoundSkill};
use crate::cases::plugin::PLUGINS;
use crate::run::setting_parts::{MODEL, OWN_SERVER, setting_parts};
use crate::settings::mode::{AgentKind, Delivery, Mode};
use crate::settings::{Home, Settings};
use crate::trial::evidence::{CATALOGUE_PART, Inputs, SKILL_PART};

/// The prefix of the name of a part that belongs to the user's setup.
pub const SETUP_PART: &str = "user's setup: ";

/// The part for the plugin that the agent gets.
const PLUGIN_PART: &str = "plugin";

/// Digests parts of the repository, each directory once.
#[derive(Debug, Default)]
pub struct InputReader {
    known: TreeDigests,
    /// The user's setup, by agent.
    setups: Mutex<HashMap<AgentKind, BTreeMap<String, String>>>,
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
    /// The root of the tree that has these skills.
    pub skills_root: &'a Path,
    pub skills: SkillFolders<'a>,
}

impl InputReader {
    /// Everything that decides a trial of `case` in `mode`: what the agent sees, and how it is started. Of the skill under
    /// test and the skills in `opened`, all files count.
    pub fn read(&self, sources: &DigestInputs<'_>, case: &Case, mode: &Mode, opened: &[String]) -> io::Result<Inputs> {
        let settings = sources.settings;
        let mut inputs = Inputs::default();
        let tree = self.tree(sources, mode);
        for part in case.parts().into_iter().filter(|part| part.seen_by == SeenBy::Agent) {
            inputs.0.extend(part.digest(&tree)?.map(|digest| (part.name.into_owned(), digest)));
        }
        for (seen_by, name, text) in setting_parts(settings, mode, case) {
            if seen_by == SeenBy::Agent {
                inputs.add(name, text.as_bytes());
            }
        }
        if settings.live && settings.isolation.home == Home::User {
            self.add_setup(&mut inputs, mode.agent)?;
        }
        if mode.delivery != Delivery::None {
            self.add_skills(&mut inputs, sources, case, mode, opened)?;
        }
        Ok(inputs)
    }

    /// A digest of all that the agent of a trial of `case` in `mode` does not see and that decides its verdict.
    pub fn checks(&self, sources: &DigestInputs<'_>, case: &Case, mode: &Mode) -> io::Result<String> {
        let mut inputs = Inputs::default();
        let parts = setting_parts(sources.settings, mode, case);
        for (_, name, text) in parts.into_iter().filter(|(seen_by, ..)| *seen_by == SeenBy::Checks) {
            inputs.add(name, text.as_bytes());
        }
        inputs.0.insert("case".to_owned(), case.digest_of(SeenBy::Checks, &self.tree(sources, mode))?);
        Ok(inputs.digest())
    }

    fn tree<'a>(&'a self, sources: &DigestInputs<'a>, mode: &Mode) -> CaseTree<'a> {
        let DigestInputs { root, settings, catalog, .. } = *sources;
        CaseTree { root, settings, delivery: mode.delivery, mock_servers: &catalog.mock_servers, known: &self.known }
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
        let DigestInputs { settings, catalog, skills_root, skills, .. } = *sources;
        let hides_user_only = hides_user_only(settings, mode);
        let list: Vec<(&str, &str)> = catalog
            .skills
            .iter()
            .map(FoundSkill::skill)
            .filter(|skill| mode.offer.includes(&case.skill, &skill.slug))
            .filter(|skill| !skill.user_only || !hides_user_only)
            .map(|skill| (skill.name.as_str(), skill.description.as_str()))
            .collect();
        inputs.add(CATALOGUE_PART, serde_json::to_string(&list)?.as_bytes());
        for slug in std::iter::once(&case.skill).chain(opened) {
            let Some(found) = catalog.skill(slug) else { continue };
            let digest = match skills {
                SkillFolders::Snapshot(snapshot) => or_problem(snapshot.digest(slug).map(str::to_owned)),
                SkillFolders::Repository => self.known.skill(&skills_root.join(&found.skill().folder))?,
            };
            inputs.0.insert(format!("{SKILL_PART}{slug}"), digest);
        }
        if let Some(plugin) = catalog.skill(&case.skill).and_then(|found| found.plugin_for(mode, case)) {
            let digest = match skills {
                SkillFolders::Snapshot(snapshot) => {
                    or_problem(snapshot.digest(&plugin.place().to_string_lossy()).map(str::to_owned))
                }
                SkillFolders::Repository => self
                    .known
                    .folder(&skills_root.join(&plugin.folder).join(PLUGINS), |_| plugin_files(skills_root, plugin))?,
            };
            inputs.0.insert(PLUGIN_PART.to_owned(), digest);
        }
        Ok(())
    }
}

/// Whether a model in this mode never sees skills that only users may call. The built-in MCP server does not serve them;
/// a repository's own server may.
fn hides_user_only(settings: &Settings, mode: &Mode) -> bool {
    let natively = mode.delivery.native() && !mode.agent.profile().hides_user_only;
    let by_mcp = mode.delivery.mcp() && settings.mcp.own.is_some();
    !(natively || by_mcp)
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
    /// Compares a recording with a trial `now`. If no model is requested now, any recorded model fits. The inputs `as_before` are
    /// those of `now` in the older forms that recordings may have.
    pub fn between(recorded: &Inputs, now: &Inputs, as_before: &Inputs) -> Self {
        let mut stale = recorded.differences(now);
        stale.retain(|part| part != MODEL || now.0.contains_key(MODEL));
        stale.retain(|part| !as_before.0.contains_key(part) || recorded.0.get(part) != as_before.0.get(part));
        let aged = stale.iter().any(|part| part == CATALOGUE_PART);
        stale.retain(|part| part != CATALOGUE_PART);
        Self { stale, aged }
    }
}

/// The inputs whose digests had another form until version 0.1, in that form.
pub fn as_before(settings: &Settings, mode: &Mode, case: &Case) -> Inputs {
    let mut inputs = Inputs::default();
    if let Some(tools) = &case.tools {
        inputs.add("tools", format!("{tools:?}").as_bytes());
    }
    if !case.env.is_empty() {
        inputs.add("environment", format!("{:?}", case.env).as_bytes());
    }
    if let Some(server) = settings.mcp.own.as_ref().filter(|_| mode.delivery.mcp()) {
        inputs.add(OWN_SERVER, format!("{server:?}").as_bytes());
    }
    inputs
}
