//! Cargo.toml: what a harness needs in it. Pure.

use toml_edit::{ArrayOfTables, DocumentMut, InlineTable, Item, Table, value};

/// The name of the test target, and of its file.
const TARGET: &str = "skill_evals";

/// The version of this crate that a dependency asks for: of 0.x the minor number counts.
fn version() -> String {
    let parts: Vec<&str> = env!("CARGO_PKG_VERSION").split('.').take(2).collect();
    parts.join(".")
}

/// What was added to a manifest.
pub(super) enum Added {
    /// All was there.
    Nothing,
    /// These, in words.
    These(String),
    /// The harness is a target already, in a way that does not work.
    Cannot(String),
}

/// Whether the manifest is a package's rather than only a workspace's.
pub(super) fn has_package(text: &str) -> Result<bool, String> {
    Ok(parse(text)?.get("package").is_some())
}

fn parse(text: &str) -> Result<DocumentMut, String> {
    text.parse().map_err(|error: toml_edit::TomlError| error.to_string())
}

/// The manifest with the dev-dependency and the test target, everything else as it was.
pub(super) fn with_harness(text: &str) -> Result<(String, Added), String> {
    let mut manifest = parse(text)?;
    let mut added = Vec::new();
    let depends = |table: &str| {
        let dependencies = manifest.get(table).and_then(Item::as_table_like);
        dependencies.is_some_and(|table| table.contains_key("skill-evals"))
    };
    // A crate that uses the library anyway, or is the library, needs no other.
    let itself = manifest.get("package").and_then(|package| package.get("name")).and_then(Item::as_str);
    let enough = depends("dev-dependencies") || depends("dependencies") || itself == Some("skill-evals");
    if !enough {
        let item = manifest.entry("dev-dependencies").or_insert_with(|| Item::Table(Table::new()));
        let table = item.as_table_like_mut().ok_or("`dev-dependencies` is no table")?;
        let mut dependency = InlineTable::new();
        dependency.insert("version", version().into());
        // What only the program needs is not built with the tests.
        dependency.insert("default-features", false.into());
        table.insert("skill-evals", value(dependency));
        added.push("the dev-dependency skill-evals");
    }
    let tests = manifest.entry("test").or_insert_with(|| Item::ArrayOfTables(ArrayOfTables::new()));
    let tests = tests.as_array_of_tables_mut().ok_or("`test` is no list of tables, as [[test]] makes it")?;
    let target = tests.iter().find(|test| test.get("name").and_then(Item::as_str) == Some(TARGET));
    match target.map(|test| test.get("harness").and_then(Item::as_bool)) {
        Some(Some(false)) => {}
        Some(_) => {
            let why = format!("its [[test]] `{TARGET}` needs `harness = false`");
            return Ok((text.to_owned(), Added::Cannot(why)));
        }
        None => {
            let mut entry = Table::new();
            entry.insert("name", value(TARGET));
            entry.insert("harness", value(false));
            tests.push(entry);
            added.push("the [[test]] skill_evals");
        }
    }
    if added.is_empty() {
        return Ok((text.to_owned(), Added::Nothing));
    }
    Ok((manifest.to_string(), Added::These(added.join(", "))))
}

/// The manifest of a crate that has nothing but the harness.
pub(super) fn small_crate() -> String {
    format!(
        "[package]\nname = \"evals\"\nversion = \"0.0.0\"\nedition = \"2024\"\npublish = false\n\n\
         [dev-dependencies]\nskill-evals = {{ version = \"{}\", default-features = false }}\n\n\
         [[test]]\nname = \"{TARGET}\"\nharness = false\n\n\
         # On its own, whatever workspace stands above.\n[workspace]\n",
        version()
    )
}
