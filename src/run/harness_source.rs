//! Which tests of the crates in a repository are harnesses that add checks of their own, by what their source says: building
//! every test to ask it would take minutes.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use regex::Regex;
use serde::Deserialize;
use walkdir::{DirEntry, WalkDir};

use crate::cases::catalog::ARTIFACTS;
use crate::files::bounded;

/// How deep below the repository's root crates are looked for.
const DEPTH: usize = 4;

/// Folders without a crate of the repository's own: what is built or measured, and skills, of which there may be thousands.
const ASIDE: [&str; 4] = ["target", "node_modules", "skills", ARTIFACTS];

/// This package, as crates depend on it.
const PACKAGE: &str = "skill-evals";

/// What `cargo metadata --no-deps` says of a workspace, as far as it is read here.
#[derive(Debug, Deserialize)]
pub struct Metadata {
    packages: Vec<Package>,
}

#[derive(Debug, Deserialize)]
struct Package {
    name: String,
    manifest_path: PathBuf,
    #[serde(default)]
    dependencies: Vec<Dependency>,
    #[serde(default)]
    targets: Vec<Target>,
}

#[derive(Debug, Deserialize)]
struct Dependency {
    name: String,
    rename: Option<String>,
    path: Option<PathBuf>,
}

#[derive(Debug, Deserialize)]
struct Target {
    kind: Vec<String>,
    name: String,
    src_path: PathBuf,
}

/// A test that adds checks.
#[derive(Clone, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub struct HarnessTest {
    /// The manifest of its package.
    pub manifest: PathBuf,
    /// The name of its package.
    pub package: String,
    /// Its own name.
    pub name: String,
}

impl Metadata {
    /// The manifests of all members.
    pub fn manifests(&self) -> impl Iterator<Item = PathBuf> {
        self.packages.iter().map(|package| real(&package.manifest_path))
    }
}

/// The manifests below `root` with a test that has a `main` of its own, where any crate there speaks of this one. Reading
/// them is cheaper than asking cargo.
#[must_use]
pub fn manifests(root: &Path) -> Vec<PathBuf> {
    let aside = |entry: &DirEntry| {
        let name = entry.file_name().to_string_lossy();
        entry.depth() > 0 && (name.starts_with('.') || ASIDE.contains(&name.as_ref()))
    };
    let walk = WalkDir::new(root).max_depth(DEPTH).sort_by_file_name().into_iter();
    let entries = walk.filter_entry(|entry| !aside(entry)).flatten();
    let manifests = entries.filter(|entry| entry.file_name() == "Cargo.toml" && entry.file_type().is_file());
    let read = manifests.filter_map(|entry| Some((entry.path().to_path_buf(), bounded::read_text(entry.path()).ok()?)));
    let manifests: Vec<(PathBuf, String)> = read.collect();
    if !manifests.iter().any(|(_, text)| text.contains(PACKAGE)) {
        return Vec::new();
    }
    let own_main = manifests.into_iter().filter(|(_, text)| !tests_with_main(text).is_empty());
    own_main.map(|(path, _)| real(&path)).collect()
}

/// The tests of a workspace that are a harness with checks of its own.
#[must_use]
pub fn tests(metadata: &Metadata) -> BTreeSet<HarnessTest> {
    let packages = metadata.packages.iter().map(|package| (real(folder(&package.manifest_path)), package)).collect();
    metadata.packages.iter().flat_map(|package| tests_of(package, &packages)).collect()
}

fn tests_of(package: &Package, members: &BTreeMap<PathBuf, &Package>) -> Vec<HarnessTest> {
    let manifest = bounded::read_text(&package.manifest_path).unwrap_or_default();
    let with_main = tests_with_main(&manifest);
    let tests = package.targets.iter().filter(|target| target.kind.iter().any(|kind| kind == "test"));
    let harnesses = tests.filter(|test| with_main.contains(&test.name)).filter(|test| {
        let code = code(&test.src_path);
        adds_checks(&code, package) || helpers(&code, package, members)
    });
    let manifest = real(&package.manifest_path);
    let test =
        |name: &str| HarnessTest { manifest: manifest.clone(), package: package.name.clone(), name: name.into() };
    harnesses.map(|target| test(&target.name)).collect()
}

/// Whether the code builds a harness by way of a crate that lies beside it: one's own library, or a helper for several.
fn helpers(code: &str, package: &Package, members: &BTreeMap<PathBuf, &Package>) -> bool {
    let own = (package.name.as_str(), folder(&package.manifest_path));
    let beside = package.dependencies.iter().filter_map(|dependency| {
        Some((dependency.rename.as_deref().unwrap_or(&dependency.name), dependency.path.as_deref()?))
    });
    let used = beside.chain([own]).filter(|(name, _)| code.contains(&format!("{}::", identifier(name))));
    let mut packages = used.filter_map(|(_, folder)| members.get(&real(folder)));
    packages.any(|helper| helper.name != PACKAGE && adds_checks(&library(helper), helper))
}

fn library(package: &Package) -> String {
    let is_library = |target: &&Target| target.kind.iter().any(|kind| kind.ends_with("lib"));
    package.targets.iter().find(is_library).map(|target| code(&target.src_path)).unwrap_or_default()
}

/// Whether the code names the type that checks are added to, by a path from the name this crate has in the package.
fn adds_checks(code: &str, package: &Package) -> bool {
    static NAMED: LazyLock<Regex> = LazyLock::new(|| {
        // A path, or a `use` of several: neither has a parenthesis or ends in the midst.
        Regex::new(r"\b(\w+)::[^;()]*(\bHarness\b|\*)").unwrap_or_else(|error| unreachable!("{error}"))
    });
    let dependencies = package.dependencies.iter().filter(|dependency| dependency.name == PACKAGE);
    let names = dependencies.map(|dependency| dependency.rename.as_deref().unwrap_or(PACKAGE));
    let own = (package.name == PACKAGE).then_some(PACKAGE);
    let names: BTreeSet<String> = names.chain(own).map(identifier).collect();
    let ours = |name: &str| names.contains(name);
    let by_path = NAMED.captures_iter(code).any(|found| ours(&found[1]));
    let by_module = names.iter().any(|name| code.contains(&format!("{name}::harness;")));
    (by_path || by_module) && code.contains("Harness")
}

/// The name of a package as code writes it.
fn identifier(package: &str) -> String {
    package.replace('-', "_")
}

fn folder(manifest: &Path) -> &Path {
    manifest.parent().unwrap_or(Path::new("."))
}

fn real(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| path.to_path_buf())
}

/// The tests of this manifest that say `harness = false`, by name: a harness has a `main` of its own, so any other test
/// only mentions it.
fn tests_with_main(manifest: &str) -> BTreeSet<String> {
    // Of a manifest that is wrong cargo tells.
    let manifest: toml::Table = toml::from_str(manifest).unwrap_or_default();
    let tests = manifest.get("test").and_then(toml::Value::as_array).cloned().unwrap_or_default();
    let own = tests.iter().filter(|test| test.get("harness").and_then(toml::Value::as_bool) == Some(false));
    own.filter_map(|test| test.get("name")?.as_str().map(str::to_owned)).collect()
}

/// The code of a Rust file and of its modules in files of their own, comment lines aside.
fn code(source: &Path) -> String {
    let folder = source.parent().unwrap_or(Path::new("."));
    let mut files = vec![(source.to_path_buf(), folder.to_path_buf())];
    let (mut code, mut seen) = (String::new(), BTreeSet::new());
    while let Some((file, folder)) = files.pop() {
        let Ok(text) = bounded::read_text(&file) else { continue };
        if !seen.insert(file) {
            continue;
        }
        for line in text.lines().map(str::trim).filter(|line| !line.starts_with("//")) {
            code.push_str(line);
            code.push('\n');
            if let Some((_, name)) = line.strip_suffix(';').and_then(|line| line.rsplit_once("mod ")) {
                let below = folder.join(name);
                files.push((folder.join(format!("{name}.rs")), below.clone()));
                files.push((below.join("mod.rs"), below));
            }
            if let Some((path, _)) = line.strip_prefix("#[path = \"").and_then(|rest| rest.split_once('"')) {
                let file = folder.join(path);
                let beside = file.parent().map(Path::to_path_buf).unwrap_or_default();
                files.push((file, beside));
            }
        }
    }
    code
}

#[cfg(test)]
mod tests {
    use std::fs;

    use serde_json::json;

    use super::*;

    struct Crate(tempfile::TempDir);

    impl Crate {
        fn new() -> Self {
            Self(tempfile::tempdir().expect("a folder"))
        }

        fn path(&self, name: &str) -> PathBuf {
            self.0.path().join(name)
        }

        fn write(&self, name: &str, text: &str) {
            let path = self.path(name);
            fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
            fs::write(path, text).expect("a file");
        }

        /// Writes tests with a `main` of their own, and returns those that add checks.
        fn harnesses(&self, dependencies: &serde_json::Value, tests: &[(&str, &str)]) -> Vec<String> {
            let with_main = tests.iter().map(|(name, _)| format!("[[test]]\nname = '{name}'\nharness = false\n"));
            self.write("Cargo.toml", &with_main.collect::<String>());
            let mut targets = Vec::new();
            for (name, text) in tests {
                let path = format!("tests/{name}.rs");
                self.write(&path, text);
                targets.push(json!({"kind": ["test"], "name": name, "src_path": self.path(&path)}));
            }
            let helper = json!({"name": "house-checks", "manifest_path": self.path("helper/Cargo.toml"),
                "dependencies": [{"name": "skill-evals", "rename": null, "path": null}],
                "targets": [{"kind": ["lib"], "name": "house_checks", "src_path": self.path("helper/src/lib.rs")}]});
            let package = json!({"name": "p", "manifest_path": self.path("Cargo.toml"),
                "dependencies": dependencies, "targets": targets});
            let metadata = serde_json::from_value(json!({"packages": [package, helper]})).expect("metadata");
            super::tests(&metadata).into_iter().map(|test| test.name).collect()
        }
    }

    #[test]
    fn a_harness_with_checks_is_found_by_what_it_and_its_modules_say() {
        let folder = Crate::new();
        folder.write("tests/checks/mod.rs", "pub(crate) mod more;\n");
        folder.write("tests/checks/more.rs", "use skill_evals::{\n    harness::{Finding, Harness},\n    Trace,\n};\n");
        folder.write("tests/support.rs", "pub struct Harness;\n");
        folder.write("src/evals.rs", "use skill_evals::harness;\nfn all() { harness::Harness::new() }\n");
        let found = folder.harnesses(
            &json!([{"name": "skill-evals", "rename": null, "path": null}]),
            &[
                ("plain", "// No Harness.\nfn main() -> ExitCode {\n    skill_evals::harness::main()\n}\n"),
                ("apart", "mod checks;\nfn main() -> ExitCode {\n    checks::all().main()\n}\n"),
                ("by_path", "#[path = \"../src/evals.rs\"]\nmod evals;\nfn main() {}\n"),
                ("all_names", "use skill_evals::harness::*;\nfn main() { Harness::new().main() }\n"),
                ("of_its_own", "mod support;\nuse support::Harness;\nfn main() { skill_evals::harness::main() }\n"),
            ],
        );
        assert_eq!(found, ["all_names", "apart", "by_path"]);
    }

    #[test]
    fn a_harness_is_found_under_another_name_and_in_a_crate_beside() {
        let folder = Crate::new();
        folder.write("helper/Cargo.toml", "");
        folder.write("helper/src/lib.rs", "pub fn main() { skill_evals::harness::Harness::new().main() }\n");
        let helper = json!({"name": "house-checks", "rename": null, "path": folder.path("helper")});
        let renamed = json!({"name": "skill-evals", "rename": "evals", "path": null});
        let tests = [
            ("renamed", "fn main() { evals::harness::Harness::new().main() }\n"),
            ("helped", "fn main() { house_checks::main() }\n"),
            ("other", "fn main() { other::main() }\n"),
        ];
        assert_eq!(folder.harnesses(&json!([helper, renamed]), &tests), ["helped", "renamed"]);
    }

    #[test]
    fn a_repository_whose_crates_do_not_speak_of_this_one_is_not_looked_at() {
        let folder = Crate::new();
        folder.write("Cargo.toml", "[[test]]\nname = 'a'\nharness = false\n");
        assert!(manifests(folder.0.path()).is_empty());
        folder.write("helper/Cargo.toml", "[dependencies]\nskill-evals = '0.1'\n");
        assert_eq!(manifests(folder.0.path()), [real(&folder.path("Cargo.toml"))]);
    }
}
