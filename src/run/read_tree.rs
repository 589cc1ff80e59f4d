//! A repository as it is read, and the content of the files that are read besides its skills.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Display;
use std::io;
use std::path::{Path, PathBuf};

use crate::cases::case::FoundCase;
use crate::cases::case_parts::CasePart;
use crate::cases::catalog::Catalog;
use crate::cases::judge_files;
use crate::files::material::{Material, UnusableFile};
use crate::files::{bounded, inside, look};
use crate::process::git;
use crate::settings::{CommandAnswer, FILE, Settings};
use crate::text::relative_path::RelativePath;

/// The working tree or a commit, with what was read of it.
#[derive(Clone, Copy, Debug)]
pub struct ReadTree<'a> {
    pub root: &'a Path,
    pub settings: &'a Settings,
    pub catalog: &'a Catalog,
}

impl ReadTree<'_> {
    /// Where a path is behind its links.
    pub(super) fn place(&self, path: &Path) -> PathBuf {
        inside::place(self.root, path).map_or_else(|_| path.to_path_buf(), |place| place.relative().to_path_buf())
    }

    /// Those of these files that git ignores: they are in no commit.
    pub(super) fn ignored<'p>(&self, files: impl IntoIterator<Item = &'p Path>) -> io::Result<BTreeSet<&'p Path>> {
        let mut places: BTreeMap<PathBuf, Vec<&Path>> = BTreeMap::new();
        files.into_iter().for_each(|file| places.entry(self.place(file)).or_default().push(file));
        let ignored = git::ignored_of(self.root, &places.keys().cloned().collect())?;
        Ok(ignored.iter().flat_map(|place| places.remove(place).unwrap_or_default()).collect())
    }

    /// The files and directories that these cases are made of: their files, what belongs to them, and what they name.
    pub(super) fn of_cases<'c>(&self, cases: impl IntoIterator<Item = &'c FoundCase>) -> BTreeSet<PathBuf> {
        let mut paths = BTreeSet::new();
        for found in cases {
            paths.extend((!found.format().is_built_in()).then(|| found.file.to_path_buf()));
            if let Ok(case) = found.case() {
                paths.extend(case.parts().iter().flat_map(CasePart::files));
            }
        }
        let sources = &self.catalog.sources;
        let leads: BTreeSet<&Path> = paths.iter().filter_map(|path| sources.get(path)).map(AsRef::as_ref).collect();
        let of_leads = sources.iter().filter(|(_, lead)| leads.contains(&***lead)).map(|(path, _)| path.clone());
        let of_leads: Vec<PathBuf> = of_leads.collect();
        paths.extend(of_leads);
        paths
    }

    /// The files that the settings name: the judge's template and schema, and what is answered in every case.
    pub(super) fn of_settings(&self) -> BTreeSet<PathBuf> {
        let answers = self.settings.mocks.iter().filter_map(CommandAnswer::source).map(RelativePath::as_path);
        judge_files::paths(self.settings).into_iter().chain(answers).map(Path::to_path_buf).collect()
    }

    /// Whether a file that was read has this text.
    pub(super) fn names(&self, text: &str) -> bool {
        let of_cases = self.catalog.cases.iter().map(|found| found.file.to_path_buf());
        let files: BTreeSet<PathBuf> = of_cases.chain(self.catalog.sources.keys().cloned()).collect();
        let has = |path: &Path| {
            inside::read(self.root, path).is_ok_and(|bytes| String::from_utf8_lossy(&bytes).contains(text))
        };
        has(Path::new(FILE)) || files.iter().any(|path| has(path))
    }

    /// All files and directories that are read besides those of skills.
    pub(super) fn files(&self) -> BTreeSet<PathBuf> {
        let mut files = self.of_cases(self.catalog.cases.iter().map(AsRef::as_ref));
        files.extend(self.catalog.sources.keys().cloned());
        files.extend(self.of_settings());
        files.insert(PathBuf::from(FILE));
        files
    }

    /// What is said of this tree, without where it is.
    pub fn without_root(&self, text: &str) -> String {
        text.replace(&*self.root.to_string_lossy(), "")
    }

    /// The content of what is at these paths and in them, as digests. What does not exist has none.
    pub(super) fn contents(&self, paths: &BTreeSet<PathBuf>) -> BTreeMap<PathBuf, FileContent> {
        let mut contents = BTreeMap::new();
        // The whole repository is more than a file that is read.
        for path in paths.iter().filter(|path| !path.as_os_str().is_empty()) {
            match inside::real(self.root, path) {
                Ok(real) if look::is_usable_directory(&real) => {
                    let material = Material::list(&real);
                    for problem in material.problems {
                        let content = match problem.why {
                            UnusableFile::Unreadable(error) if look::hides(&error) => Err(error),
                            why => Ok(self.without_root(&why.to_string())),
                        };
                        contents.insert(path.join(&problem.path), content);
                    }
                    for file in &material.files {
                        let content = content(bounded::digest(&real.join(&file.path)), file.executable);
                        contents.insert(path.join(&file.path), content);
                    }
                }
                Ok(real) => match bounded::digest(&real) {
                    Err(error) if look::is_absent(&error) => {}
                    digest => _ = contents.insert(path.clone(), content(digest, is_executable(&real))),
                },
                Err(error) if look::is_absent(&error) => {}
                Err(error) => _ = contents.insert(path.clone(), told(error)),
            }
        }
        contents
    }
}

/// What is in a file, as a digest; or why it cannot be read.
pub(super) type FileContent = io::Result<String>;

fn is_executable(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    path.metadata().is_ok_and(|found| found.permissions().mode() & 0o111 != 0)
}

fn content(digest: io::Result<impl Display>, is_executable: bool) -> FileContent {
    digest.map_or_else(told, |digest| Ok(format!("{digest} {is_executable}")))
}

fn told(error: io::Error) -> FileContent {
    if look::hides(&error) { Err(error) } else { Ok(error.kind().to_string()) }
}
