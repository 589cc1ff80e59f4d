//! A repository in a temporary directory, written file by file.

use crate::support::repository;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use nix::sys::statvfs::{FsFlags, statvfs};
use skill_evals_cases::cases::catalog::Catalog;
use skill_evals_cases::cases::repository::{Layout, Repository, Scope};
use skill_evals_cases::lint;
use skill_evals_evidence::text::diagnostic::{Diagnostic, Severity};

/// A repository that is deleted with its value.
pub struct Fixture {
    folder: tempfile::TempDir,
}

/// How a run of the program ended.
#[derive(Debug)]
pub struct Ran {
    pub code: i32,
    pub stdout: String,
    pub stderr: String,
}

/// A directory for a test: in memory, since a disk takes half of the time of these suites. But the sandboxes of real agents have
/// a `/dev` of their own, and containers have little memory there, in which no program may start.
pub fn temporary() -> tempfile::TempDir {
    let is_roomy = statvfs("/dev/shm").is_ok_and(|found| {
        !found.flags().contains(FsFlags::ST_NOEXEC) && found.blocks_available() * found.fragment_size() > 1 << 30
    });
    let in_memory = is_roomy && env!("CARGO_CRATE_NAME") != "real";
    let place = if in_memory { "/dev/shm" } else { "/var/tmp" };
    tempfile::Builder::new().prefix("evals-").tempdir_in(place).expect("a directory")
}

impl Fixture {
    pub fn new() -> Self {
        Self { folder: temporary() }
    }

    /// This repository's own skills and evals.
    pub fn copy_of_sample() -> Self {
        let fixture = Self::new();
        let sample = repository();
        for top in ["skills", "evals", "plugins", ".claude-plugin"] {
            for entry in walkdir::WalkDir::new(sample.join(top)) {
                let entry = entry.expect("the sample can be read");
                if entry.file_type().is_file() {
                    let path = entry.path().strip_prefix(sample).expect("below the sample");
                    fixture.write(path, &fs::read(entry.path()).expect("the sample can be read"));
                }
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

    /// All problems of skills and cases.
    pub fn problems(&self) -> Vec<Diagnostic> {
        let options = lint::LintOptions {
            no_cases: Some(Severity::Warning),
            listings: &skill_evals_agents::agent::LISTINGS,
            partial: false,
        };
        lint::all(&self.catalog(), &self.repository(), options)
    }

    /// All problems as `path:line:column: [code] message`, one a line.
    pub fn lines(&self) -> String {
        self.problems().iter().flat_map(|problem| [problem.to_string(), "\n".to_owned()]).collect()
    }

    /// All problems as a terminal shows them, without color.
    pub fn drawn(&self) -> String {
        skill_evals_report::diagnostics::render(&self.problems(), skill_evals_report::paint::Paint::Plain)
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

    /// Runs the program in this repository.
    pub fn run(&self, args: &[&str]) -> Ran {
        run_in(self.root(), args)
    }
}

/// Runs the program in a directory.
pub fn run_in(folder: &Path, args: &[&str]) -> Ran {
    let program = PathBuf::from(env!("CARGO_BIN_EXE_skill-evals"));
    let output =
        Command::new(program).args(args).current_dir(folder).env_remove("CI").output().expect("the program starts");
    Ran {
        code: output.status.code().expect("the program was not killed"),
        stdout: String::from_utf8(output.stdout).expect("UTF-8"),
        stderr: String::from_utf8(output.stderr).expect("UTF-8"),
    }
}
