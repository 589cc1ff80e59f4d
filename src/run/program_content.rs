//! The content of a program: what it can read of the repository, and a digest of that.

use std::path::Path;

use crate::checks::program::WorkspaceProgram;
use crate::files::bounded;
use crate::files::material::Material;
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

/// A digest of a program of the repository at `root`, and of what it can read there.
pub fn digest(root: &Path, program: &WorkspaceProgram) -> String {
    let content = program.script().map(|script| {
        let path = root.join(readable(script));
        if path.is_dir() {
            let material = Material::list(&path);
            let programs = material.programs();
            material.digest().map(|digest| digest + &programs).unwrap_or_default()
        } else {
            bounded::digest(&path).map(|digest| digest.to_string()).unwrap_or_default()
        }
    });
    digest_of(format!("{program}\n{}", content.unwrap_or_default()).as_bytes())
}
