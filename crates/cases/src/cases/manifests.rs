//! What the manifests of plugins publish: `plugin.json`, and `marketplace.json` with a list of plugins.
//!
//! A manifest is in the directory of the plugin, or in a hidden directory of it: `.claude-plugin`, `.codex-plugin`,
//! `.github/plugin`, `.agents/plugins`. A key `skills` is a path or a list of paths, relative to the plugin. Without it, and
//! next to it, the skills are in `skills`.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use crate::cases::case::document::{Document, Node, Syntax};
use crate::cases::catalog::Catalog;
use crate::cases::repo_files::{FileKind, RepoFiles};
use crate::skill::SKILL_FILE;
use crate::text::diagnostic::{Code, Diagnostic};
use crate::text::relative_path::resolved;

/// The names of manifests.
const NAMES: [&str; 2] = ["plugin.json", "marketplace.json"];

/// The directories of manifests in a hidden directory of a plugin.
const FOLDERS: [&str; 3] = ["", "plugin", "plugins"];

/// The key of a plugin's directories of skills.
const SKILLS: &str = "skills";

/// The directories that the manifests of the repository publish skills in, in their order. Adds the manifests and their problems to
/// the catalog.
pub(super) fn published(tree: &dyn RepoFiles, catalog: &mut Catalog) -> Vec<PathBuf> {
    let mut reader = Reader { tree, roots: Vec::new(), seen: BTreeSet::new(), catalog };
    reader.plugin(Path::new(""));
    reader.roots
}

struct Reader<'a> {
    tree: &'a dyn RepoFiles,
    roots: Vec<PathBuf>,
    /// The plugins that are read: two may list each other.
    seen: BTreeSet<PathBuf>,
    catalog: &'a mut Catalog,
}

impl Reader<'_> {
    /// Reads the manifests of the plugin in `folder`.
    fn plugin(&mut self, folder: &Path) {
        if !self.seen.insert(folder.to_path_buf()) {
            return;
        }
        let names = self.tree.names(folder).unwrap_or_default();
        let hidden = names.iter().filter(|name| name.as_encoded_bytes().starts_with(b".") && *name != ".git");
        let folders = hidden.flat_map(|hidden| FOLDERS.map(|inner| folder.join(hidden).join(inner)));
        let folders: Vec<PathBuf> = std::iter::once(folder.to_path_buf()).chain(folders).collect();
        for path in folders.iter().flat_map(|folder| NAMES.map(|name| folder.join(name))) {
            if self.tree.kind(&path) == FileKind::File {
                self.manifest(folder, &path);
            }
        }
    }

    fn manifest(&mut self, folder: &Path, path: &Path) {
        self.catalog.add_sources([path.to_path_buf()]);
        let Ok(bytes) = self.tree.read(path) else { return };
        let mut document = Document::new(path, &bytes, Syntax::Json);
        let Some(root) = document.root() else {
            for problem in document.problems.into_vec() {
                let message = format!("this manifest is not read, nor what it publishes: {}", problem.message);
                self.catalog.problems.push(Diagnostic::new(Code::SkillRoot, problem.place, message));
            }
            return;
        };
        if !root.is_map() {
            let message = format!("this manifest is {}; expected an object", root.kind());
            let problem =
                Diagnostic::new(Code::SkillRoot, document.place(root.range.start..root.range.start + 1), message);
            return self.catalog.problems.push(problem.help("nothing that it publishes is read"));
        }
        self.paths(&document, folder, &root);
        let base = root.get("metadata").and_then(|metadata| metadata.get("pluginRoot")).and_then(Node::text);
        for entry in root.get("plugins").and_then(Node::elements).unwrap_or_default() {
            let Some(plugin) = self.source(&document, &folder.join(base.unwrap_or_default()), base.is_some(), entry)
            else {
                continue;
            };
            self.paths(&document, &plugin, entry);
            if plugin != folder {
                self.usual(&plugin);
                self.plugin(&plugin);
            }
        }
    }

    /// The directory of a plugin of a list, if it is in this repository. A source that is an object is another one; so is a text that
    /// is no path, `owner/name`, unless the list says where its paths begin.
    fn source(&mut self, document: &Document<'_>, base: &Path, begins: bool, entry: &Node) -> Option<PathBuf> {
        let written = entry.get("source")?;
        let path = written.text().filter(|path| path.starts_with('.') || begins)?;
        let found = resolved(&base.join(path));
        let is_here = found.as_ref().is_some_and(|found| self.tree.kind(found) != FileKind::Missing);
        if !is_here {
            let message = match found {
                Some(_) => "this manifest publishes a plugin in a directory that is not here",
                None => "this manifest publishes a plugin outside the repository",
            };
            let problem = Diagnostic::new(Code::SkillRoot, document.place(written.range.clone()), message);
            self.catalog.problems.push(problem.help("fix the path, or remove the plugin"));
        }
        found.filter(|_| is_here)
    }

    /// Adds the directories that an object names.
    fn paths(&mut self, document: &Document<'_>, plugin: &Path, object: &Node) {
        for written in object.get(SKILLS).map(Node::each).unwrap_or_default() {
            let path = written.text().and_then(|path| resolved(&plugin.join(path)));
            match path.filter(|path| self.tree.kind(path) != FileKind::Missing) {
                Some(path) if path.ends_with(SKILL_FILE) => self.roots.extend(path.parent().map(Path::to_path_buf)),
                Some(path) => self.roots.push(path),
                // A plugin without skills may have the usual path all the same.
                None if written.text().is_some_and(|path| path.trim_matches(['.', '/']) == SKILLS) => {}
                None => {
                    let (message, help) = match written.text() {
                        Some(path) if path.contains(['*', '?', '[', '{']) => {
                            ("this manifest publishes skills by a pattern, which is not read", "name the directories")
                        }
                        Some(_) => ("this manifest publishes skills in a directory that is not here", "fix the path"),
                        None => ("this manifest publishes skills by something other than a path", "write a path"),
                    };
                    let place = document.place(written.range.clone());
                    self.catalog.problems.push(Diagnostic::new(Code::SkillRoot, place, message).help(help));
                }
            }
        }
    }

    /// Adds the directory of skills that a plugin has without saying so, or the plugin itself if it is one skill.
    fn usual(&mut self, plugin: &Path) {
        let skills = plugin.join(SKILLS);
        if self.tree.kind(&skills) == FileKind::Folder {
            self.roots.push(skills);
        } else if self.tree.kind(&plugin.join(SKILL_FILE)) == FileKind::File {
            self.roots.push(plugin.to_path_buf());
        }
    }
}
