//! Edits of Cargo.toml for a harness, and of evals.toml for CI. Pure.

use std::path::{Path, PathBuf};

use toml_edit::{ArrayOfTables, DocumentMut, InlineTable, Item, Table, Value, value};

use super::relative;

/// The name of the test target and of its file.
const TARGET: &str = "skill_evals";

/// The name of the small crate and of its directory.
const SMALL: &str = "evals";

/// The name of this crate.
const CRATE: &str = "skill-evals";

/// The end of the small crate's manifest where no workspace around it has these tables.
const WORKSPACE: &str = "\n# A workspace of its own, whatever the parent directories have.\n[workspace]\n\n\
    # Backtraces have lines, but no variables: the first build is a seventh faster.\n\
    [profile.dev]\ndebug = \"line-tables-only\"\n";

/// The source from which cargo gets this crate. No registry is one: nobody has published it, so a name there would be somebody else's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CrateSource {
    /// A checkout.
    Path {
        /// Its absolute path.
        folder: PathBuf,
        /// Whether the dependency has a relative path.
        is_relative: bool,
    },
    /// A git repository.
    Git {
        /// Its URL.
        url: String,
        /// The commit, tag or branch [default: HEAD].
        rev: Option<String>,
    },
}

impl CrateSource {
    /// The dependency of the crate in `package`, whose cases need these features.
    pub(super) fn from(&self, package: &Path, features: &[&str]) -> InlineTable {
        let mut dependency = InlineTable::new();
        match self {
            Self::Path { folder, is_relative } => {
                let path = if *is_relative { relative(package, folder) } else { folder.clone() };
                dependency.insert("path", path.to_string_lossy().as_ref().into());
            }
            Self::Git { url, rev } => {
                dependency.insert("git", url.as_str().into());
                if let Some(rev) = rev {
                    dependency.insert("rev", rev.as_str().into());
                }
            }
        }
        // The tests do not need the program's dependencies.
        dependency.insert("default-features", false.into());
        if !features.is_empty() {
            dependency.insert("features", Value::Array(features.iter().copied().collect()));
        }
        dependency
    }
}

/// The change of a manifest.
pub(super) enum ManifestChange {
    /// Nothing was missing.
    Nothing,
    /// What was added, in words.
    Added(String),
    /// Why the existing harness target cannot be used.
    Impossible(String),
}

/// Whether the manifest has a package, rather than only a workspace.
pub(super) fn has_package(text: &str) -> Result<bool, String> {
    Ok(parse(text)?.get("package").is_some())
}

/// Whether the manifest has a workspace.
pub(super) fn is_workspace(text: &str) -> bool {
    parse(text).is_ok_and(|manifest| manifest.get("workspace").is_some())
}

/// Whether the manifest is this crate's own.
pub(super) fn is_checkout(text: &str) -> bool {
    parse(text).is_ok_and(|manifest| package(&manifest, "name").is_some_and(|name| name == CRATE))
}

/// The path of the workspace that a package names, from its own directory.
pub(super) fn names_workspace(text: &str) -> Option<String> {
    package(&parse(text).ok()?, "workspace").map(str::to_owned)
}

/// Whether a workspace excludes the directory `path`.
pub(super) fn excludes(text: &str, path: &Path) -> bool {
    let Ok(manifest) = parse(text) else { return false };
    let excluded = manifest.get("workspace").and_then(|workspace| workspace.get("exclude")).and_then(Item::as_array);
    excluded.into_iter().flatten().filter_map(Value::as_str).any(|folder| path.starts_with(folder))
}

/// The manifest of a workspace with the small crate as a member. The rest is unchanged.
pub(super) fn with_member(text: &str) -> Result<(String, ManifestChange), String> {
    let mut manifest = parse(text)?;
    let workspace =
        manifest.get_mut("workspace").and_then(Item::as_table_like_mut).ok_or("`workspace` is not a table")?;
    let members = workspace.entry("members").or_insert_with(|| value(toml_edit::Array::new()));
    let members = members.as_array_mut().ok_or("`workspace.members` is not a list")?;
    if members
        .iter()
        .filter_map(Value::as_str)
        .any(|member| matches!(member.trim_end_matches('/'), SMALL | "*" | "./*"))
    {
        return Ok((text.to_owned(), ManifestChange::Nothing));
    }
    members.push(SMALL);
    Ok((manifest.to_string(), ManifestChange::Added(format!("the member {SMALL}"))))
}

/// evals.toml with a gate that passes although cases have no recordings, unless it says whether it does.
pub(super) fn without_required_recordings(text: &str) -> Result<(String, ManifestChange), String> {
    const KEY: &str = "require_recordings";
    let mut settings = parse(text)?;
    if settings.contains_key(KEY) {
        return Ok((text.to_owned(), ManifestChange::Nothing));
    }
    let gate = settings.entry("gate").or_insert_with(|| Item::Table(Table::new()));
    let gate = gate.as_table_like_mut().ok_or("`gate` is not a table")?;
    if gate.contains_key(KEY) {
        return Ok((text.to_owned(), ManifestChange::Nothing));
    }
    gate.insert(KEY, value(false));
    if let Some(mut key) = gate.key_mut(KEY) {
        key.leaf_decor_mut().set_prefix("# Until every case has a recording: the gate says when this line can go.\n");
    }
    Ok((settings.to_string(), ManifestChange::Added(format!("`{KEY} = false` to [gate]"))))
}

fn package<'a>(manifest: &'a DocumentMut, key: &str) -> Option<&'a str> {
    manifest.get("package")?.get(key)?.as_str()
}

fn parse(text: &str) -> Result<DocumentMut, String> {
    text.parse().map_err(|error: toml_edit::TomlError| error.to_string())
}

/// Whether the manifest depends on this crate, or is its own: nothing has to say where the crate is from.
pub(super) fn depends(text: &str) -> bool {
    parse(text).is_ok_and(|manifest| has_dependency(&manifest))
}

fn has_dependency(manifest: &DocumentMut) -> bool {
    let has = |table| manifest.get(table).and_then(Item::as_table_like).is_some_and(|table| table.contains_key(CRATE));
    has("dev-dependencies") || has("dependencies") || package(manifest, "name") == Some(CRATE)
}

/// The manifest with the dev-dependency and the test target, whose file `is_harness`. The rest is unchanged.
pub(super) fn with_harness(
    text: &str,
    source: Option<&InlineTable>,
    is_harness: bool,
) -> Result<(String, ManifestChange), String> {
    let mut manifest = parse(text)?;
    let mut added = Vec::new();
    if let Some(source) = source.filter(|_| !has_dependency(&manifest)) {
        let item = manifest.entry("dev-dependencies").or_insert_with(|| Item::Table(Table::new()));
        let table = item.as_table_like_mut().ok_or("`dev-dependencies` is not a table")?;
        table.insert(CRATE, value(source.clone()));
        added.push("the dev-dependency skill-evals");
    }
    let tests = manifest.entry("test").or_insert_with(|| Item::ArrayOfTables(ArrayOfTables::new()));
    let tests = tests.as_array_of_tables_mut().ok_or("`test` is not a list of tables, as [[test]] makes it")?;
    let place = tests.iter().position(|test| test.get("name").and_then(Item::as_str) == Some(TARGET));
    if let Some(target) = place.and_then(|place| tests.get_mut(place)) {
        match target.get("harness").and_then(Item::as_bool) {
            Some(false) => {}
            None if is_harness => {
                target.insert("harness", value(false));
                added.push("`harness = false` of the [[test]] skill_evals");
            }
            _ => {
                let why = format!("its [[test]] `{TARGET}` needs `harness = false`");
                return Ok((text.to_owned(), ManifestChange::Impossible(why)));
            }
        }
    } else {
        let mut entry = Table::new();
        entry.insert("name", value(TARGET));
        entry.insert("harness", value(false));
        tests.push(entry);
        added.push("the [[test]] skill_evals");
    }
    if added.is_empty() {
        return Ok((text.to_owned(), ManifestChange::Nothing));
    }
    Ok((manifest.to_string(), ManifestChange::Added(added.join(", "))))
}

/// The manifest of a crate that only has the harness.
pub(super) fn small_crate(source: &InlineTable, alone: bool) -> String {
    let workspace = if alone { WORKSPACE } else { "" };
    format!(
        "[package]\nname = \"{SMALL}\"\nversion = \"0.0.0\"\nedition = \"2024\"\npublish = false\n\n\
         [dev-dependencies]\n{CRATE} = {source}\n\n\
         [[test]]\nname = \"{TARGET}\"\nharness = false\n{workspace}"
    )
}
