//! The content of a program: what it can read of the repository, and a digest of that.

use std::io;
use std::path::Path;

use crate::checks::program::WorkspaceProgram;
use crate::files::look;
use crate::files::material::{Material, MaterialProblem};
use crate::files::{bounded, inside};
use crate::text::relative_path::RelativePath;
use crate::trial::evidence::digest as digest_of;

/// A script in a directory of this name may read the whole directory, for helpers and data.
const DIRECTORY: &str = "checks";

/// What a script can read of the repository, from its root: its directory if that is named `checks`, else only the script. All
/// of it counts as the script's content.
pub fn readable(script: &RelativePath) -> &Path {
    let script = script.as_path();
    script.parent().filter(|parent| parent.ends_with(DIRECTORY)).unwrap_or(script)
}

/// The files and directories of the repository that a program can read, from its root.
pub fn sources(program: &WorkspaceProgram) -> Vec<&Path> {
    program.script().map(readable).into_iter().chain(program.directories().map(RelativePath::as_path)).collect()
}

/// What a program of the repository at `root` finds in its copy of the workspace besides the agent's work.
pub fn added(root: &Path, program: &WorkspaceProgram) -> Material {
    let mut material = Material::default();
    if let WorkspaceProgram::Command { files, .. } = program {
        for (source, path) in files {
            material.add(path.as_path(), root, source.as_path());
        }
    }
    material
}

/// A digest of a program of the repository at `root`, and of what it can read there.
pub fn digest(root: &Path, program: &WorkspaceProgram) -> io::Result<String> {
    let content = content(root, program)?;
    Ok(digest_of(format!("{program}\n{content}").as_bytes()))
}

/// A digest of what it can read. If that is missing, there is none.
fn content(root: &Path, program: &WorkspaceProgram) -> io::Result<String> {
    let digest = |material: Material| {
        let material = material.seen()?;
        let digest = material.digest().map(|digest| digest + &material.programs());
        digest.or_else(MaterialProblem::known)
    };
    let unread = |error: io::Error| if look::is_absent(&error) { Ok(String::new()) } else { look::known(Err(error)) };
    match program {
        WorkspaceProgram::Command { files, .. } if files.is_empty() => Ok(String::new()),
        WorkspaceProgram::Command { .. } => digest(added(root, program)),
        WorkspaceProgram::Script(script) => {
            let path = match inside::real(root, readable(script)) {
                Ok(path) => path,
                Err(error) => return unread(error),
            };
            if look::is_usable_directory(&path) {
                digest(Material::list(&path))
            } else {
                bounded::digest(&path).map(|digest| digest.to_string()).or_else(unread)
            }
        }
    }
}
