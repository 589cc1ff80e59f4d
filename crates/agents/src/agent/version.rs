//! The version of an agent's program, from the package that it is in: the program is not started.

use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::agent::files::read_if_exists;
use crate::files::look;
use crate::profile::Profile;

/// How many directories above a program may be the root of its package.
const MAX_DEPTH: usize = 4;

/// The version of the program at this path, without links, if it is the one of a package that the profile names.
pub(super) fn of(profile: &Profile, program: &Path) -> Option<String> {
    let above = || program.ancestors().skip(1).take(MAX_DEPTH);
    let find = |package: &&str| {
        above().find_map(|directory| in_npm(package, directory, program)).or_else(|| {
            // A program of a Python environment is in `bin`.
            above().find_map(|directory| in_python(package, directory))
        })
    };
    // An agent without a package is our own.
    let own = profile.measured.last().filter(|_| profile.packages.is_empty());
    own.map(|version| (*version).to_owned()).or_else(|| profile.packages.iter().find_map(find))
}

fn in_npm(package: &str, directory: &Path, program: &Path) -> Option<String> {
    let text = read_if_exists(&directory.join("package.json")).ok()??;
    let file: Value = serde_json::from_str(&text).ok()?;
    let name = file["name"].as_str()?;
    // The package of a platform may have the program.
    let is_it = name == package || name.strip_prefix(package).is_some_and(|rest| rest.starts_with('-'));
    // Another file in its directories is not the program.
    let is_program = |path: &Value| path.as_str().is_some_and(|path| directory.join(path) == program);
    let is_program = match &file["bin"] {
        Value::Object(programs) => programs.values().any(is_program),
        path => is_program(path),
    };
    (is_it && is_program).then(|| file["version"].as_str().map(str::to_owned))?
}

fn in_python(package: &str, environment: &Path) -> Option<String> {
    let entries = |path: PathBuf| look::usable_entries(&path).into_iter();
    let mut packages = entries(environment.join("lib")).flat_map(|python| entries(python.path().join("site-packages")));
    packages.find_map(|entry| {
        let name = entry.file_name().to_str()?.to_owned();
        let rest = name.strip_suffix(".dist-info")?.strip_prefix(&package.replace('-', "_"))?;
        rest.strip_prefix('-').map(str::to_owned)
    })
}
