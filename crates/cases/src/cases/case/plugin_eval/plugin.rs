//! The plugin that a case is of, and whether a file is one of a case.

use std::path::{Component, Path, PathBuf};

use serde_json::Value;

use super::{CASE, PROMPT};
use crate::cases::case::{ForeignFile, MockFolders};
use crate::cases::plugin::servers;
use crate::cases::repo_files::FileKind;
use crate::checks::pattern::PatternSearch;
use crate::text::name::resolved;

/// Where a plugin says what it is.
const MANIFESTS: [&str; 2] = [".claude-plugin/plugin.json", "plugin.json"];

/// The directory of cases, if the manifest names none.
const EVALS: &str = "evals";

/// The directory with answers of MCP servers.
const MOCKS: &str = "mocks";

/// Directories without cases.
const NO_CASES: [&str; 4] = ["node_modules", ".git", "results", MOCKS];

/// A plugin by its manifest, or what stands for one.
pub(super) struct EvalPlugin<'a> {
    /// Its directory, from the repository's root.
    pub root: &'a Path,
    name: String,
    /// The directory with the case's directory, which may have mocks for it.
    evals: PathBuf,
    /// The names of its MCP servers.
    servers: Vec<String>,
}

impl<'a> EvalPlugin<'a> {
    /// The plugin of the case of which `file` is one; `None` if it is none of a case.
    pub fn of(file: &ForeignFile<'a>) -> Option<Self> {
        let folder = file.path.parent()?;
        let manifest = |directory: &Path| {
            let bytes = MANIFESTS.iter().find_map(|name| file.tree.read(&directory.join(name)).ok())?;
            serde_json::from_slice::<Value>(&bytes).ok()
        };
        let found = folder.ancestors().find_map(|directory| Some((directory, manifest(directory)?)));
        let (root, manifest) = found.unwrap_or((Path::new(""), Value::Null));
        let evals = &manifest["experimental"]["evals"];
        let evals = evals.as_str().or_else(|| evals[0].as_str()).and_then(|path| resolved(Path::new(path)));
        let evals = evals.filter(|path| !path.as_os_str().is_empty()).unwrap_or_else(|| PathBuf::from(EVALS));
        let inside = folder.strip_prefix(root).ok()?;
        if inside.components().any(|part| NO_CASES.iter().any(|name| part.as_os_str() == *name)) {
            return None;
        }
        let parts: Vec<Component<'_>> = inside.components().collect();
        let length = evals.components().count();
        let at = (0..parts.len().checked_sub(length)?)
            .find(|at| evals.components().eq(parts[*at..*at + length].iter().copied()))?;
        // Nothing in a directory of a case is another case.
        let above = inside.ancestors().skip(1).take(parts.len() - at - length - 1);
        let is_case = |directory: &Path| {
            [PROMPT, CASE].iter().any(|name| file.tree.kind(&root.join(directory).join(name)) == FileKind::File)
        };
        if above.into_iter().any(is_case) {
            return None;
        }
        let own_name = || root.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let name = manifest["name"].as_str().map_or_else(own_name, str::to_owned);
        let evals = root.join(parts[..at + length].iter().collect::<PathBuf>());
        let servers = servers(file.tree, root, &manifest);
        Some(Self { root, name, evals, servers })
    }

    /// Where the mocks of servers are for the case in the directory `case`.
    pub fn mocks(&self, case: &Path) -> MockFolders {
        let folders = [&self.evals, case].map(|directory: &Path| directory.join(MOCKS)).to_vec();
        MockFolders { folders, plugin: Some(self.name.clone()), of_plugin: self.servers.clone() }
    }

    /// The slug of the skill that the case is about: the first that its graders ask for, the one whose place the file has, or the
    /// first of the plugin; empty if there is none.
    pub fn skill_under_test(&self, file: &ForeignFile<'_>, mut asked: impl Iterator<Item = PatternSearch>) -> String {
        let own = || file.directories.iter().filter(|(directory, _)| directory.starts_with(self.root));
        let asked = asked.find_map(|input| {
            let is_it = |(directory, slug): &&(&Path, &str)| {
                let name = directory.file_name().map_or_else(|| (*slug).into(), |name| name.to_string_lossy());
                input
                    .matches(&format!("{{\"skill\":\"{}:{name}\"}}", self.name), 1)
                    .is_ok_and(|found| !found.is_empty())
            };
            own().find(is_it).map(|(_, slug)| *slug)
        });
        asked.or(file.skill).or_else(|| own().next().map(|(_, slug)| *slug)).unwrap_or_default().to_owned()
    }
}
