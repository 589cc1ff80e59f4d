//! What decides a run, read from the repository as it is now: compared with what a recording saw, it shows whether
//! the recording is stale.

use std::collections::HashMap;
use std::fmt::Write;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use crate::agent::snapshot::SkillSnapshot;
use crate::cases::case::Case;
use crate::cases::catalog::{Catalog, FoundSkill, evals_folder};
use crate::files::bounded;
use crate::files::material::Material;
use crate::settings::Settings;
use crate::settings::mode::{Delivery, Mode, SkillSelection};
use crate::text::redact::looks_secret;
use crate::trace::change::SkillChange;
use crate::trial::evidence::{CATALOGUE_PART, Inputs, SKILL_PART, digest};

/// The name of the part that is a case's fixture.
pub const FIXTURE_PART: &str = "fixture";

/// The name of the part that is a case's output schema.
pub const SCHEMA_PART: &str = "output schema";

/// The name of the part that is the model asked for.
const MODEL_PART: &str = "setting model";

/// Digests parts of the repository, each folder once.
#[derive(Debug, Default)]
pub struct InputReader {
    folders: Mutex<HashMap<PathBuf, String>>,
}

/// Where the skills are that agents get.
#[derive(Clone, Copy, Debug)]
pub enum SkillFolders<'a> {
    /// In the run's snapshot, a folder for each slug.
    Snapshot(&'a SkillSnapshot),
    /// Where the repository keeps them.
    Repository,
}

/// What trials of a run see, besides their case and mode.
#[derive(Clone, Copy, Debug)]
pub struct DigestInputs<'a> {
    /// The repository's root.
    pub root: &'a Path,
    /// What was chosen.
    pub settings: &'a Settings,
    /// The skills.
    pub catalog: &'a Catalog,
    /// Where they are.
    pub skills: SkillFolders<'a>,
}

impl InputReader {
    /// What decides a run of `case` in `mode`, with the whole of the skill under test and of the skills `opened`: all
    /// that the agent sees, and all that says how it is started. A part that nobody chose is not there, so that a
    /// new setting makes no old recording stale.
    pub fn read(&self, seen: &DigestInputs<'_>, case: &Case, mode: &Mode, opened: &[String]) -> io::Result<Inputs> {
        let DigestInputs { root, settings, catalog, skills } = *seen;
        let mut inputs = Inputs::default();
        inputs.add("prompt", case.prompt.as_bytes());
        if let Some(text) = &case.system_prompt {
            inputs.add("system prompt", text.as_bytes());
        }
        let mut what = format!("{} {}", mode.agent.as_str(), mode.delivery.as_str());
        for arg in &mode.args {
            what.push('\0');
            what.push_str(arg);
        }
        if mode.offer != SkillSelection::All {
            let _ = write!(what, "\0offer {}", mode.offer);
        }
        inputs.add("mode", what.as_bytes());
        inputs.add("sandbox", case.sandbox.as_str().as_bytes());
        add_settings(&mut inputs, settings, mode);
        if let Some(most) = settings.max_turns_of(case.max_turns) {
            inputs.add("most turns", most.to_string().as_bytes());
        }
        if let Some(path) = &case.output_schema {
            inputs.add(SCHEMA_PART, &bounded::read(&root.join(path.as_path()))?);
        }
        if let Some(path) = &case.fixture {
            let folder = root.join(evals_folder(&case.skill)).join(path.as_path());
            inputs.0.insert(FIXTURE_PART.to_owned(), self.folder(&folder));
        }
        if mode.delivery != Delivery::None {
            let list: Vec<(&str, &str)> = catalog
                .skills
                .iter()
                .map(FoundSkill::skill)
                .filter(|skill| mode.offer.includes(&case.skill, &skill.slug))
                .filter(|skill| !skill.user_only || !hides_user_only(settings, mode))
                .map(|skill| (skill.name.as_str(), skill.description.as_str()))
                .collect();
            for (number, change) in (1..).zip(&case.during) {
                let SkillChange { after_turn, kind, skill, folder, .. } = change;
                let becomes = folder.as_ref().map(|folder| self.folder(&root.join(folder.as_path())));
                let place = folder.as_ref().map(ToString::to_string).unwrap_or_default();
                let what =
                    format!("{after_turn}\0{}\0{skill}\0{place}\0{}", kind.as_str(), becomes.unwrap_or_default());
                inputs.add(format!("change {number} in mid-session"), what.as_bytes());
            }
            inputs.add(CATALOGUE_PART, serde_json::to_string(&list)?.as_bytes());
            for slug in std::iter::once(&case.skill).chain(opened) {
                if let Some(found) = catalog.skill(slug) {
                    let whole = match skills {
                        SkillFolders::Snapshot(snapshot) => not_copied(snapshot.digest(slug).map(str::to_owned)),
                        SkillFolders::Repository => self.folder(&root.join(&found.skill().folder)),
                    };
                    inputs.0.insert(format!("{SKILL_PART}{slug}"), whole);
                }
            }
        }
        Ok(inputs)
    }

    /// The digest of all files below a folder, with their paths.
    fn folder(&self, folder: &Path) -> String {
        let known = |map: &HashMap<_, String>| map.get(folder).cloned();
        if let Some(digest) = known(&self.folders.lock().unwrap_or_else(PoisonError::into_inner)) {
            return digest;
        }
        let whole = not_copied(Material::list(folder).whole().and_then(|material| material.digest()));
        self.folders.lock().unwrap_or_else(PoisonError::into_inner).insert(folder.to_path_buf(), whole.clone());
        whole
    }
}

/// Whether nothing offers a model in this mode what only users may call: the MCP server of skills does not serve it, and
/// of a repository's own server nobody knows.
fn hides_user_only(settings: &Settings, mode: &Mode) -> bool {
    let natively = mode.delivery.native() && !mode.agent.profile().hides_user_only;
    let by_mcp = mode.delivery.mcp() && settings.mcp.own.is_some();
    !(natively || by_mcp)
}

/// The digest of a folder, or where it cannot be given to an agent, one that says why: its own trials and the lint tell
/// of it, and others go on.
fn not_copied(digest_of_folder: Result<String, impl std::fmt::Display>) -> String {
    digest_of_folder.unwrap_or_else(|problem| digest(format!("not copied: {problem}").as_bytes()))
}

/// The settings that decide what an agent is told and may do.
fn add_settings(inputs: &mut Inputs, settings: &Settings, mode: &Mode) {
    if let Some(model) = settings.model_for(mode) {
        inputs.add(MODEL_PART, model.as_bytes());
    }
    let own_args = settings.agents.get(mode.agent.as_str()).map(|agent| agent.args.as_slice()).unwrap_or_default();
    if !own_args.is_empty() {
        inputs.add(format!("setting agents.{}.args", mode.agent.as_str()), own_args.join("\0").as_bytes());
    }
    for (name, value) in &settings.env {
        // A digest of a short secret gives it away: of those only the name counts.
        let secret = settings.secret_env.contains(name) || looks_secret(name, value);
        let value = if secret { "" } else { value.as_str() };
        inputs.add(format!("setting env.{name}"), value.as_bytes());
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
    // What the environment chooses is a machine's, and makes no recording stale.
    if let Some(declared) = &settings.isolation.declared {
        inputs.add("setting isolation", declared.as_bytes());
    }
}

/// The skills whose whole folders a recording depends on.
#[must_use]
pub fn opened_skills(inputs: &Inputs) -> Vec<String> {
    inputs.0.keys().filter_map(|name| name.strip_prefix(SKILL_PART)).map(str::to_owned).collect()
}

/// The parts in which what a recording saw differs from what a trial would see `now`. Where no model is asked for now,
/// any that was recorded will do.
#[must_use]
pub fn stale_parts(recorded: &Inputs, now: &Inputs) -> Vec<String> {
    let mut changed = recorded.differences(now);
    changed.retain(|part| part != MODEL_PART || now.0.contains_key(MODEL_PART));
    changed
}
