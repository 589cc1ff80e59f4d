//! A repository in a temporary directory, written file by file.

use std::fs;
use std::path::{Path, PathBuf};

use nix::sys::statvfs::{FsFlags, statvfs};
use skill_evals_cases::cases::catalog::Catalog;
use skill_evals_cases::cases::repository::{Layout, Repository, Scope};

use crate::{files_below, repository};

/// A repository that is deleted with its value.
#[must_use]
pub struct Fixture {
    folder: tempfile::TempDir,
}

/// A directory for a test: in memory, since a disk takes half of the time of these suites. But the sandboxes of real agents have
/// a `/dev` of their own, and containers have little memory there, in which no program may start.
pub fn temporary() -> tempfile::TempDir {
    let is_roomy = statvfs("/dev/shm").is_ok_and(|found| {
        !found.flags().contains(FsFlags::ST_NOEXEC) && found.blocks_available() * found.fragment_size() > 1 << 30
    });
    let program = std::env::current_exe().unwrap_or_default();
    let is_real = program.file_name().is_some_and(|name| name.to_string_lossy().starts_with("real-"));
    let place = if is_roomy && !is_real { "/dev/shm" } else { "/var/tmp" };
    tempfile::Builder::new().prefix("evals-").tempdir_in(place).expect("a directory")
}

impl Default for Fixture {
    fn default() -> Self {
        Self { folder: temporary() }
    }
}

impl Fixture {
    pub fn new() -> Self {
        Self::default()
    }

    /// This repository's own skills and evals.
    pub fn copy_of_sample() -> Self {
        let fixture = Self::new();
        let sample = repository();
        for top in ["skills", "evals", "plugins", ".claude-plugin"] {
            for file in files_below(&sample.join(top)) {
                let path = file.strip_prefix(sample).expect("below the sample");
                fixture.write(path, &fs::read(&file).expect("the sample can be read"));
            }
        }
        fixture
    }

    /// The recordings of this repository, as `skill/case/mode`.
    pub fn recordings() -> Vec<String> {
        let root = repository().join("evals/recordings");
        let below = |folder: &Path| -> Vec<PathBuf> {
            let entries = fs::read_dir(folder).expect("a directory");
            entries.map(|entry| entry.expect("an entry").path()).filter(|path| path.is_dir()).collect()
        };
        let modes = below(&root).into_iter().flat_map(|skill| below(&skill)).flat_map(|case| below(&case));
        modes.map(|mode| mode.strip_prefix(&root).expect("it is below").display().to_string()).collect()
    }

    pub fn root(&self) -> &Path {
        self.folder.path()
    }

    fn write(&self, path: impl AsRef<Path>, bytes: &[u8]) {
        let path = self.root().join(path);
        fs::create_dir_all(path.parent().expect("a directory above")).expect("a directory can be made");
        fs::write(path, bytes).expect("a file can be written");
    }

    /// A file, with its directories.
    pub fn file(self, path: &str, bytes: impl AsRef<[u8]>) -> Self {
        self.write(path, bytes.as_ref());
        self
    }

    /// A symbolic link at `path` to `target`.
    pub fn link(self, path: &str, target: &str) -> Self {
        let path = self.root().join(path);
        fs::create_dir_all(path.parent().expect("a directory above")).expect("a directory can be made");
        std::os::unix::fs::symlink(target, path).expect("a link can be made");
        self
    }

    /// A skill without faults.
    pub fn skill(self, name: &str) -> Self {
        let text = format!("---\nname: {name}\ndescription: Does what {name} does.\n---\n\nDo it.\n");
        self.skill_text(name, text)
    }

    /// A skill's SKILL.md as it is.
    pub fn skill_text(self, name: &str, text: impl AsRef<[u8]>) -> Self {
        self.file(&format!("skills/{name}/SKILL.md"), text)
    }

    /// A skill's prompts.csv.
    pub fn prompts(self, slug: &str, text: impl AsRef<[u8]>) -> Self {
        self.file(&format!("evals/skills/{slug}/prompts.csv"), text)
    }

    /// A task file.
    pub fn task(self, name: &str, text: impl AsRef<[u8]>) -> Self {
        self.file(&format!("evals/tasks/{name}.json"), text)
    }

    pub fn repository(&self) -> Repository {
        Repository::new(self.root().to_path_buf())
    }

    pub fn catalog(&self) -> Catalog {
        self.repository().catalog(Layout::default(), Scope::All)
    }

    /// The names of the cases that can run.
    pub fn good_cases(&self) -> Vec<String> {
        let catalog = self.catalog();
        catalog.cases.iter().filter(|found| found.case().is_ok()).map(|found| found.id.clone()).collect()
    }

    /// The names of the cases that cannot.
    pub fn broken_cases(&self) -> Vec<String> {
        let catalog = self.catalog();
        catalog.cases.iter().filter(|found| found.case().is_err()).map(|found| found.id.clone()).collect()
    }
}
