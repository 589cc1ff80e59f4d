//! A plugin: a directory with a manifest. An agent that has plugins gets its skills in a name space of their own, with its commands,
//! agents, hooks and MCP servers. The unit of a delivery is the plugin there, and a skill's directory everywhere else.

use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::cases::repo_files::{FileKind, RepoFiles};
use crate::profile;
use crate::skill::slug;
use crate::text::name::resolved;

/// The directory of plugins next to the skills of an agent. It is no skill itself.
pub const PLUGINS: &str = ".plugins";

/// The file with its MCP servers.
const SERVERS: &str = ".mcp.json";

/// The file with its language servers.
const LANGUAGES: &str = ".lsp.json";

/// The directory of its commands.
const COMMANDS: &str = "commands";

/// What in the directory of a plugin starts nothing: what models read, and what is there for people and other programs.
const INERT_PARTS: [&str; 21] = [
    "skills",
    "agents",
    "output-styles",
    "themes",
    "docs",
    "examples",
    "assets",
    "references",
    "scripts",
    "src",
    "lib",
    "templates",
    "test",
    "tests",
    "evals",
    "node_modules",
    "target",
    "artifacts",
    "package.json",
    "package-lock.json",
    "tsconfig.json",
];

/// The most files and directories of a part that are examined.
const MAX_EXAMINED: usize = 20_000;

/// What agents load by its name, whatever else a manifest says that it is.
const LOADED: [&str; 3] = ["hooks", "bin", "monitors"];

/// The keys of a manifest that start nothing. Any other key may.
const INERT: [&str; 15] = [
    "$schema",
    "name",
    "displayName",
    "version",
    "description",
    "author",
    "homepage",
    "repository",
    "license",
    "keywords",
    "skills",
    COMMANDS,
    "agents",
    "outputStyles",
    "experimental",
];

/// The same in `experimental`.
const INERT_EXPERIMENTS: [&str; 2] = ["evals", "themes"];

/// How a command says that a shell runs a part of it before a model sees it.
const SHELL_MARKS: [&str; 2] = ["!`", "```!"];

/// A plugin by its manifest.
#[derive(Debug, PartialEq)]
pub struct Plugin {
    /// Its directory, from the repository's root.
    pub folder: PathBuf,
    /// The name space of its skills.
    pub name: String,
    /// The names of its MCP servers.
    pub servers: Vec<String>,
    /// What of it runs code without being asked by a model, or may: files and directories from its directory, and keys of its manifest.
    pub code: Vec<String>,
    /// Its directories of skills, and the directory of its only skill.
    skills: Vec<PathBuf>,
}

impl Plugin {
    /// The plugin in this directory, with the manifest at this path. `None` if that is no JSON.
    pub(super) fn read(tree: &dyn RepoFiles, folder: &Path, manifest: &Path) -> Option<Self> {
        let manifest: Value = serde_json::from_slice(&tree.read(manifest).ok()?).ok()?;
        let own_name = || folder.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let usual = folder.join("skills");
        // A plugin is one skill only if it has no directory of skills.
        let is_skill = tree.kind(&usual) == FileKind::Missing;
        let named = texts(&manifest["skills"]).filter_map(|path| resolved(&folder.join(path)));
        let skills = named.chain([if is_skill { folder.to_path_buf() } else { usual }]).collect();
        Some(Self {
            folder: folder.to_path_buf(),
            name: manifest["name"].as_str().map_or_else(own_name, str::to_owned),
            servers: servers(tree, folder, &manifest),
            code: code(tree, folder, &manifest),
            skills,
        })
    }

    /// Whether agents find the skill in this directory: it is one that the plugin has for skills, or in one.
    pub(super) fn has(&self, skill: &Path) -> bool {
        self.skills.iter().any(|own| skill == own || (skill.parent() == Some(own) && *own != self.folder))
    }

    /// Whether the skill in this directory is in one of skills and deeper than agents look.
    pub(super) fn has_too_deep(&self, skill: &Path) -> bool {
        !self.has(skill) && self.skills.iter().any(|own| *own != self.folder && skill.starts_with(own))
    }

    /// Whether a file, from its directory, is one of a skill.
    pub fn has_file_of_skill(&self, file: &Path) -> bool {
        self.skills.iter().any(|own| *own != self.folder && self.folder.join(file).starts_with(own))
    }

    /// The directories of its skills, from its own, in `tree`, which is its directory.
    pub(super) fn skills_in(&self, tree: &dyn RepoFiles) -> Vec<PathBuf> {
        let own = self.skills.iter().filter_map(|path| path.strip_prefix(&self.folder).ok());
        let inside = |directory: &Path| {
            let names = if directory == Path::new("") { Vec::new() } else { tree.names(directory).unwrap_or_default() };
            names.into_iter().map(|name| directory.join(name)).collect::<Vec<_>>()
        };
        own.flat_map(|path| inside(path).into_iter().chain([path.to_path_buf()])).collect()
    }

    /// Where an agent finds it, in the directory of the skills.
    pub fn place(&self) -> PathBuf {
        let own = self.folder.to_str().filter(|path| !path.is_empty()).unwrap_or(&self.name);
        Path::new(PLUGINS).join(slug(own))
    }

    /// The name by which agents know this MCP server of it.
    pub fn server_name(&self, server: &str) -> String {
        server_name(&self.name, server)
    }

    /// The name of the skill in this directory in the agent's list.
    pub fn name_of(&self, skill: &Path, name: &str) -> String {
        let own = if skill == self.folder { None } else { skill.file_name() };
        format!("{}:{}", self.name, own.map_or(name.into(), |own| own.to_string_lossy()))
    }
}

/// Whether agents read a file or directory of a plugin whose name begins with a dot.
pub(super) fn is_read(hidden: &str) -> bool {
    [SERVERS, LANGUAGES].contains(&hidden) || manifests().any(|path| Path::new(path).starts_with(hidden))
}

/// The nearest directory around this one that is a plugin, and its manifest.
pub(super) fn around<'p>(tree: &dyn RepoFiles, directory: &'p Path) -> Option<(&'p Path, PathBuf)> {
    let is_here = |path: &PathBuf| tree.kind(path) == FileKind::File;
    directory.ancestors().find_map(|folder| Some((folder, manifests().map(|path| folder.join(path)).find(is_here)?)))
}

/// The directory of the plugin whose manifest this file is, if it is one.
pub fn directory(file: &Path) -> Option<&Path> {
    let manifest = manifests().find(|manifest| file.ends_with(manifest))?;
    file.ancestors().nth(Path::new(manifest).components().count())
}

/// Where the manifest is in a plugin's directory, for each agent that has plugins.
fn manifests() -> impl Iterator<Item = &'static str> {
    profile::of_all(|profile| profile.plugins.as_ref().map(|plugins| plugins.manifest))
}

/// The name by which agents know this MCP server of the plugin of this name.
pub fn server_name(plugin: &str, server: &str) -> String {
    let plugin = plugin.replace(|c: char| !c.is_ascii_alphanumeric() && c != '-' && c != '_', "_");
    format!("plugin_{plugin}_{server}")
}

/// The text, or the texts in a list.
fn texts(value: &Value) -> impl Iterator<Item = &str> {
    value.as_array().map_or(std::slice::from_ref(value), Vec::as_slice).iter().filter_map(Value::as_str)
}

/// The names of the MCP servers of the plugin in the directory `root`: those in its manifest, in the file that this names, and in
/// `.mcp.json`.
pub(super) fn servers(tree: &dyn RepoFiles, root: &Path, manifest: &Value) -> Vec<String> {
    let written = &manifest["mcpServers"];
    let paths = [written.as_str(), Some(SERVERS)].into_iter().flatten().filter_map(|path| resolved(Path::new(path)));
    let read = |path: PathBuf| serde_json::from_slice::<Value>(&tree.read(&root.join(path)).ok()?).ok();
    let named = |value: &Value| {
        let servers = value.get("mcpServers").unwrap_or(value);
        servers.as_object().map(|servers| servers.keys().cloned().collect::<Vec<_>>()).unwrap_or_default()
    };
    paths.filter_map(read).flat_map(|value| named(&value)).chain(named(written)).collect()
}

/// What of the plugin in the directory `root` may run code without being asked by a model: whatever is not known to be harmless.
fn code(tree: &dyn RepoFiles, root: &Path, manifest: &Value) -> Vec<String> {
    let keys = |value: &Value, inert: &[&str]| {
        let keys = value.as_object().into_iter().flatten().map(|(key, _)| key.clone());
        keys.filter(|key| !inert.contains(&key.as_str()))
            .map(|key| format!("`{key}` of its manifest"))
            .collect::<Vec<_>>()
    };
    let paths_at = |key: &str| texts(&manifest[key]).filter_map(|path| resolved(Path::new(path))).collect::<Vec<_>>();
    // Models read these, wherever the manifest says that they are.
    let read: Vec<PathBuf> = ["skills", "agents", "outputStyles"].into_iter().flat_map(paths_at).collect();
    let commands: Vec<PathBuf> = paths_at(COMMANDS).into_iter().chain([PathBuf::from(COMMANDS)]).collect();
    let Ok(names) = tree.names(root) else { return vec!["its directory, which cannot be read".to_owned()] };
    // Of a directory of these, not of what is around it.
    let is_known = |path: &Path| {
        let is_in = |known: &PathBuf| !known.as_os_str().is_empty() && path.starts_with(known);
        let is_directory = || tree.kind(&root.join(path)) == FileKind::Folder;
        !LOADED.iter().any(|name| path.starts_with(name)) && read.iter().chain(&commands).any(is_in) && is_directory()
    };
    let parts = names.iter().map(Path::new).filter(|name| !is_harmless(name));
    let mut code: Vec<String> = parts
        .filter(|name| first_code(tree, root, name, &is_known, &|path| is_code(tree, &root.join(path), path)).is_some())
        .map(|name| name.display().to_string())
        .collect();
    code.extend(keys(manifest, &INERT));
    code.extend(keys(&manifest["experimental"], &INERT_EXPERIMENTS));
    // A command in the manifest itself is an object.
    code.extend(manifest[COMMANDS].is_object().then(|| format!("`{COMMANDS}` of its manifest")));
    let shell = |path: &PathBuf| first_code(tree, root, path, &|_| false, &|path| has_shell(tree, &root.join(path)));
    let shell = commands.iter().filter_map(shell);
    code.extend(shell.map(|path| path.display().to_string()));
    code
}

/// Whether a file or directory directly in a plugin's directory starts nothing, by its name. Hidden ones are read by their names only.
fn is_harmless(name: &Path) -> bool {
    let text = name.to_string_lossy();
    let is_hidden = text.starts_with('.') && ![SERVERS, LANGUAGES].contains(&&*text);
    is_hidden || INERT_PARTS.contains(&&*text)
}

/// The first file at or in `path` of the directory `root` for which `is_code` holds, or what cannot be examined. What `is_known` is
/// left out.
fn first_code(
    tree: &dyn RepoFiles,
    root: &Path,
    path: &Path,
    is_known: &dyn Fn(&Path) -> bool,
    is_code: &dyn Fn(&Path) -> bool,
) -> Option<PathBuf> {
    let mut waiting = vec![path.to_path_buf()];
    let mut examined = 0;
    while let Some(path) = waiting.pop() {
        if is_known(&path) {
            continue;
        }
        examined += 1;
        let at = root.join(&path);
        match tree.kind(&at) {
            FileKind::Missing => {}
            FileKind::Folder if examined < MAX_EXAMINED => match tree.names(&at) {
                Ok(names) => waiting.extend(names.into_iter().rev().map(|name| path.join(name))),
                Err(_) => return Some(path),
            },
            FileKind::File if examined < MAX_EXAMINED && !is_code(&path) => {}
            _ => return Some(path),
        }
    }
    None
}

/// Whether a file of a part that is not known may start something: it is a program, settings, or a text that runs a shell.
fn is_code(tree: &dyn RepoFiles, at: &Path, path: &Path) -> bool {
    let is_directly = path.parent() == Some(Path::new(""));
    let ends = |end: &str| path.extension().is_some_and(|found| found.eq_ignore_ascii_case(end));
    // A program next to the manifest is found by no name.
    ends("json") || !is_directly && tree.is_executable(at) || ends("md") && !is_directly && has_shell(tree, at)
}

/// Whether a command runs a shell, or cannot be read.
fn has_shell(tree: &dyn RepoFiles, at: &Path) -> bool {
    tree.read(at).map_or(true, |text| {
        let text = String::from_utf8_lossy(&text);
        SHELL_MARKS.iter().any(|mark| text.contains(mark))
    })
}
