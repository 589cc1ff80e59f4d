//! The repository that a harness is for.

use std::path::{Path, PathBuf};

use crate::cases::repository::Repository;
use crate::files::look;
use crate::settings::PREFIX;

/// What says where the repository is.
#[derive(Debug, Default)]
pub(super) struct HarnessRoot {
    /// The root that was set, absolute or from the crate's directory.
    pub path: Option<PathBuf>,
    /// Whether the user chose it: the variable does not override it.
    pub is_final: bool,
    /// The file that made the harness, as the compiler saw it.
    pub source: &'static str,
}

impl HarnessRoot {
    /// The root, absolute if possible.
    pub fn find(&self) -> Result<PathBuf, String> {
        let variable = std::env::var_os(format!("{PREFIX}ROOT")).filter(|root| !root.is_empty() && !self.is_final);
        if let Some(root) = variable {
            return directory(PathBuf::from(root), "SKILL_EVALS_ROOT is");
        }
        match &self.path {
            Some(path) if path.is_absolute() => directory(path.clone(), "the harness's root is"),
            Some(path) => directory(self.package()?.join(path), "the harness's root is"),
            None => {
                let package = self.package()?;
                let start = std::path::absolute(&package).unwrap_or_else(|_| package.clone());
                let around = Repository::around(&start).map_err(|error| error.to_string())?;
                Ok(around.map_or(package, |repository| repository.root))
            }
        }
    }

    /// The crate's directory: cargo names it. Without cargo it is around the working directory, if that has the harness's file.
    fn package(&self) -> Result<PathBuf, String> {
        let named = std::env::var_os("CARGO_MANIFEST_DIR").map(PathBuf::from);
        named.or_else(|| self.package_here()).ok_or_else(|| {
            format!(
                "the crate of this harness is not known: CARGO_MANIFEST_DIR is not set, and {} is not here; start it by cargo, or set \
                 SKILL_EVALS_ROOT to the repository's root",
                self.source
            )
        })
    }

    fn package_here(&self) -> Option<PathBuf> {
        let here = std::env::current_dir().ok()?;
        let source =
            here.ancestors().map(|folder| folder.join(self.source)).find(|source| look::is_usable_file(source))?;
        let package = source.ancestors().find(|folder| look::is_usable_file(&folder.join("Cargo.toml")));
        package.map(Path::to_path_buf)
    }
}

fn directory(path: PathBuf, what: &str) -> Result<PathBuf, String> {
    if look::is_directory(&path).map_err(|error| error.to_string())? {
        return Ok(path.canonicalize().unwrap_or(path));
    }
    Err(format!("{what} {}, which is not a directory", path.display()))
}
