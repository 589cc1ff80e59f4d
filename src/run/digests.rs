//! What decides a run, read from the repository as it is now: compared with what a recording saw, it tells whether
//! the recording still speaks for today's case and skill.

use std::collections::HashMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use crate::cases::case::Case;
use crate::cases::catalog::{Catalog, evals_folder};
use crate::files::bounded;
use crate::files::material::Material;
use crate::settings::mode::{Delivery, Mode};
use crate::trial::evidence::{Inputs, digest};

/// The name of the part that is a case's fixture.
pub const FIXTURE_PART: &str = "fixture";

/// Starts the name of a part that is a skill's whole folder.
const SKILL_PART: &str = "skill ";

/// Digests parts of the repository, each folder once.
#[derive(Debug, Default)]
pub struct InputReader {
    folders: Mutex<HashMap<PathBuf, String>>,
}

impl InputReader {
    /// What decides a run of `case` in `mode`, with the whole of the skill under test and of the skills `opened`.
    ///
    /// # Errors
    /// When a file cannot be read.
    pub fn read(
        &self,
        root: &Path,
        catalog: &Catalog,
        case: &Case,
        mode: &Mode,
        opened: &[String],
    ) -> io::Result<Inputs> {
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
        inputs.add("mode", what.as_bytes());
        inputs.add("sandbox", case.sandbox.as_str().as_bytes());
        if let Some(path) = &case.output_schema {
            inputs.add("output schema", &bounded::read(&root.join(path.as_path()))?);
        }
        if let Some(path) = &case.fixture {
            let folder = root.join(evals_folder(&case.skill)).join(path.as_path());
            inputs.0.insert(FIXTURE_PART.to_owned(), self.folder(&folder));
        }
        if mode.delivery != Delivery::None {
            let list: Vec<(&str, &str)> = catalog
                .skills
                .iter()
                .map(|found| (found.skill().name.as_str(), found.skill().description.as_str()))
                .collect();
            inputs.add("catalogue of skills", serde_json::to_string(&list)?.as_bytes());
            for slug in std::iter::once(&case.skill).chain(opened) {
                if let Some(found) = catalog.skill(slug) {
                    let whole = self.folder(&root.join(&found.skill().folder));
                    inputs.0.insert(format!("{SKILL_PART}{slug}"), whole);
                }
            }
        }
        Ok(inputs)
    }

    /// Takes `digest` as that of a folder: it was computed when the folder was copied for agents, and what stands there
    /// now may be something else.
    pub fn know(&self, folder: PathBuf, digest: String) {
        self.folders.lock().unwrap_or_else(PoisonError::into_inner).insert(folder, digest);
    }

    /// The digest of all files below a folder, with their paths.
    fn folder(&self, folder: &Path) -> String {
        let known = |map: &HashMap<_, String>| map.get(folder).cloned();
        if let Some(digest) = known(&self.folders.lock().unwrap_or_else(PoisonError::into_inner)) {
            return digest;
        }
        let whole = Material::list(folder).whole().and_then(|material| material.digest());
        // A folder that cannot be given to an agent is told by its own trials and the lint; others go on.
        let whole = whole.unwrap_or_else(|problem| digest(format!("not copied: {problem}").as_bytes()));
        self.folders.lock().unwrap_or_else(PoisonError::into_inner).insert(folder.to_path_buf(), whole.clone());
        whole
    }
}

/// The skills whose whole folders a recording depends on.
#[must_use]
pub fn opened_skills(inputs: &Inputs) -> Vec<String> {
    inputs.0.keys().filter_map(|name| name.strip_prefix(SKILL_PART)).map(str::to_owned).collect()
}
