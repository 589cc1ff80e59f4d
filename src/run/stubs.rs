//! Stub tests for IDEs, which find `#[test]` functions, but not the trials of a harness. The stubs are modules of tests whose paths
//! are the trials' names. The harness is compiled without `--test`, so it does not contain them. A test that cargo compiles with it
//! has only them, and would pass without a trial: each of them fails.

#![allow(clippy::must_use_candidate, reason = "hidden from users")]

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

use crate::cases::catalog::{ARTIFACTS, Catalog};
use crate::files::inside;
use crate::files::look::{self, Entry, Walk, WalkStep};
use crate::run::{plan, recorded_modes};
use crate::settings::{Settings, Trust, load};
use crate::store::Recordings;
use crate::text::diagnostic::{Code, Diagnostic, SourceLocation};
use crate::text::name::segment;

/// The stubs' file, from the directory of the crate that has the harness.
pub const FILE: &str = "tests/skill_evals/stubs.rs";

/// Maximum depth of crates in the repository.
const DEPTH: usize = 4;

/// Directories that are not searched for crates: build outputs, artifacts, and skills, which may be thousands.
const IGNORED: [&str; 4] = ["target", "node_modules", "skills", ARTIFACTS];

/// Directories of the crate with the harness, from the repository's root.
pub const CRATES: [&str; 2] = ["", "evals"];

pub const REPOSITORY_LINT: &str = "repository::lint";

pub fn skill_lint(slug: &str) -> String {
    let name = format!("{}::lint", segment(slug));
    // A skill may be called `repository`.
    if name == REPOSITORY_LINT { format!("{}::skill_lint", segment(slug)) } else { name }
}

/// The names of all trials of the repository at `root` in replay, whatever the environment sets.
pub fn names(root: &Path, catalog: &Catalog, settings: &Settings) -> BTreeSet<String> {
    let mut names: BTreeSet<String> = catalog.skills.iter().map(|found| skill_lint(&found.skill().slug)).collect();
    names.insert(REPOSITORY_LINT.to_owned());
    let mut recordings = Recordings::new(root);
    // A run says what it cannot read.
    let default_modes = recorded_modes::of_recordings(root, settings, catalog);
    let settings = &Settings { default_modes, ..settings.clone() };
    for found in &catalog.cases {
        let recorded = recordings.modes(&found.skill, &found.id).unwrap_or_default();
        names.extend(plan::planned(settings, found, &recorded).map(|planned| planned.test_name()));
    }
    names
}

/// How the stubs begin.
const START: &str = r#"// Stubs of the trials, for IDEs: made by `skill-evals stubs`, checked by `skill-evals lint`.
// The harness does not contain them: it runs the trials of the same names. In a test without `harness = false` each of them fails.

#[cfg(test)]
#[allow(dead_code, clippy::panic, reason = "only a test that is not the harness calls it, and must not pass")]
fn no_trial() -> ! {
    panic!(
        "no trial ran: the test `{0}` needs `harness = false`. Add to Cargo.toml:\n\n[[test]]\nname = \"{0}\"\nharness = false\n",
        module_path!()
    )
}
"#;

pub fn render(names: &BTreeSet<String>) -> String {
    let mut text = String::from(START);
    let mut skills: BTreeMap<&str, BTreeMap<&str, Vec<&str>>> = BTreeMap::new();
    for name in names {
        let parts: Vec<&str> = name.split("::").collect();
        match parts.as_slice() {
            // A lint is next to the modules of cases.
            [skill, lint] => skills.entry(skill).or_default().entry("").or_default().push(lint),
            [skill, case, mode] => skills.entry(skill).or_default().entry(case).or_default().push(mode),
            _ => {}
        }
    }
    for (skill, cases) in skills {
        let _ = write!(
            text,
            "\n#[allow(non_snake_case, clippy::module_inception, reason = \"the names are the trials'\")]\nmod {skill} {{\n"
        );
        for (case, functions) in cases {
            let (indent, above, open, close) = match case {
                "" => ("    ", "super", String::new(), ""),
                case => ("        ", "super::super", format!("    mod {case} {{\n"), "    }\n"),
            };
            text.push_str(&open);
            for name in functions {
                let _ = write!(text, "{indent}#[test]\n{indent}fn {name}() {{ {above}::no_trial() }}\n");
            }
            text.push_str(close);
        }
        text.push_str("}\n");
    }
    text
}

/// The stubs as they should be today.
pub fn current(root: &Path, catalog: &Catalog) -> Result<String, load::ConfigError> {
    Ok(render(&names(root, catalog, &load::read_file(root, Trust::Trusted)?)))
}

/// The directories of the repository, from its root, that have a Cargo.toml or may have the crate of the harness.
pub fn crates(root: &Path) -> BTreeSet<PathBuf> {
    let mut crates: BTreeSet<PathBuf> = CRATES.iter().map(PathBuf::from).collect();
    let unread = Walk::new(root).max_depth(DEPTH).each(|entry| {
        if is_ignored(entry) {
            return WalkStep::Over;
        }
        if entry.file_name() == "Cargo.toml" {
            let above = entry.path().parent().and_then(|above| above.strip_prefix(root).ok());
            crates.extend(above.map(Path::to_path_buf));
        }
        WalkStep::Into
    });
    // The catalog names what cannot be read.
    unread.report(drop);
    crates
}

/// The stub files that the repository has, from its root.
pub fn files(root: &Path) -> Vec<PathBuf> {
    let files = crates(root).into_iter().map(|folder| folder.join(FILE));
    files.filter(|file| fs::symlink_metadata(root.join(file)).is_ok()).collect()
}

fn is_ignored(entry: &Entry) -> bool {
    let name = entry.file_name().to_string_lossy();
    name.starts_with('.') || IGNORED.contains(&name.as_ref())
}

/// The line of evals.toml that names this test of the crate in `folder`, from the root.
pub fn line(folder: &Path, test: &str) -> String {
    format!("harness = \"{}\"", folder.join(test).display())
}

/// The path of a new stubs file, from the root. A crate only for the evals comes first.
pub fn place(root: &Path) -> Option<PathBuf> {
    let mut crates = CRATES.iter().rev().filter(|folder| look::is_usable_file(&root.join(folder).join("Cargo.toml")));
    crates.next().map(|folder| Path::new(folder).join(FILE))
}

pub fn problems(root: &Path, catalog: &Catalog) -> Vec<Diagnostic> {
    let files = files(root);
    if files.is_empty() {
        return Vec::new();
    }
    // Invalid settings are reported elsewhere.
    let Ok(current) = current(root, catalog) else { return Vec::new() };
    let mut problems = Vec::new();
    for file in files {
        let (code, message) = match inside::read(root, &file) {
            Ok(old) if old == current.as_bytes() => continue,
            Ok(_) => {
                let message = "the stubs are out of date: IDEs show trials that are gone, or lack some";
                (Code::StaleStubs, message.to_owned())
            }
            Err(error) => (Code::Unreadable, format!("cannot be read: {error}")),
        };
        let problem = Diagnostic::new(code, SourceLocation::file(file), message);
        problems.push(problem.help("run `skill-evals stubs`"));
    }
    problems
}
