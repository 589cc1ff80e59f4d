//! The evidence of a trial as files for a program.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde::Serialize;
use tempfile::TempDir;

use crate::agent::trial_env::{ScratchDir, without_trial_paths};
use crate::run::stored_trial::TrialExhibit;
use crate::store;
use crate::trace::file::TraceFile;

/// The number of the format of a program's standard input.
const FORMAT: u32 = 1;

/// What a program gets, in a directory that is removed with this value.
pub(super) struct EvidenceDir(TempDir);

#[derive(Serialize)]
struct ProgramInput<'a> {
    format: u32,
    skill: &'a str,
    case: &'a str,
    mode: &'a str,
    trial: u32,
    workspace: &'a Path,
    trace: PathBuf,
    final_text: PathBuf,
    meta: PathBuf,
}

impl EvidenceDir {
    pub(super) fn write(
        exhibit: &TrialExhibit<'_>,
        scratch: &ScratchDir,
        workspace: &Path,
    ) -> Result<EvidenceDir, String> {
        // The prefix makes its paths look like those of trial environments, which are not stored.
        let directory = tempfile::Builder::new().prefix("trial-").tempdir_in(scratch.path());
        let evidence = Self(directory.map_err(|error| error.to_string())?);
        evidence.fill(exhibit, workspace).map_err(|error| format!("the evidence cannot be written: {error}"))?;
        Ok(evidence)
    }

    fn fill(&self, exhibit: &TrialExhibit<'_>, workspace: &Path) -> io::Result<()> {
        let evidence = &exhibit.evidence;
        fs::create_dir(self.readable())?;
        fs::create_dir(self.private())?;
        let files = [
            (self.trace(), serde_json::to_vec_pretty(&TraceFile::of(evidence.trace))?),
            (self.final_text(), evidence.final_text.unwrap_or_default().as_bytes().to_vec()),
            (self.meta(), serde_json::to_vec_pretty(evidence.meta)?),
        ];
        for (path, content) in files {
            // As a recording has it.
            fs::write(path, without_trial_paths(&content))?;
        }
        let id = evidence.meta.id();
        let input = ProgramInput {
            format: FORMAT,
            skill: &id.skill,
            case: &id.case,
            mode: &id.mode,
            trial: id.number,
            workspace,
            trace: self.trace(),
            final_text: self.final_text(),
            meta: self.meta(),
        };
        fs::write(self.input(), serde_json::to_vec(&input)?)
    }

    /// The directory that the program can read.
    pub(super) fn readable(&self) -> PathBuf {
        self.0.path().join("evidence")
    }

    /// A directory that the program cannot see.
    pub(super) fn private(&self) -> PathBuf {
        self.0.path().join("output")
    }

    pub(super) fn input(&self) -> PathBuf {
        self.private().join("input.json")
    }

    fn trace(&self) -> PathBuf {
        self.readable().join("trace.json")
    }

    fn final_text(&self) -> PathBuf {
        self.readable().join("final.txt")
    }

    fn meta(&self) -> PathBuf {
        self.readable().join(store::META)
    }

    /// The variables that name the files.
    pub(super) fn variables(&self, workspace: &Path) -> BTreeMap<OsString, OsString> {
        let paths = [
            ("CHECK_WORKSPACE", workspace.to_path_buf()),
            ("CHECK_TRACE", self.trace()),
            ("CHECK_FINAL", self.final_text()),
            ("CHECK_META", self.meta()),
        ];
        paths.into_iter().map(|(name, path)| (name.into(), path.into_os_string())).collect()
    }
}
