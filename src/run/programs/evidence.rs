//! The evidence of a trial as files for a program.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::PathBuf;

use serde::Serialize;

use crate::agent::trial_env::TrialEnv;
use crate::run::stored_trial::TrialEvidence;
use crate::store;
use crate::text::problem::Problem;
use crate::trace::file::TraceFile;

/// The number of the format of a program's standard input.
const FORMAT: u32 = 1;

/// What a program gets, in a directory of the runner that its sandbox shows.
pub(super) struct EvidenceDir(PathBuf);

#[derive(Serialize)]
struct ProgramInput<'a> {
    format: u32,
    skill: &'a str,
    case: &'a str,
    mode: &'a str,
    trial: u32,
    workspace: &'a str,
    trace: PathBuf,
    final_text: PathBuf,
    meta: PathBuf,
}

impl EvidenceDir {
    /// Writes the evidence for a program in this trial environment. Returns its standard input too.
    pub(super) fn write(exhibit: &TrialEvidence<'_>, trial_env: &TrialEnv) -> Result<(Self, Vec<u8>), Problem> {
        let evidence = Self(trial_env.control().join("evidence"));
        let input = evidence.fill(exhibit, &trial_env.workspace().to_string());
        Ok((evidence, input.map_err(|error| format!("the evidence cannot be written: {error}"))?))
    }

    fn fill(&self, exhibit: &TrialEvidence<'_>, workspace: &str) -> io::Result<Vec<u8>> {
        let evidence = &exhibit.evidence;
        fs::create_dir(&self.0)?;
        let files = [
            (self.trace(), serde_json::to_vec_pretty(&TraceFile::of(evidence.trace))?),
            (self.final_text(), evidence.final_text.unwrap_or_default().as_bytes().to_vec()),
            (self.meta(), serde_json::to_vec_pretty(evidence.meta)?),
        ];
        for (path, content) in files {
            fs::write(path, content)?;
        }
        let id = evidence.meta.id();
        Ok(serde_json::to_vec(&ProgramInput {
            format: FORMAT,
            skill: &id.skill,
            case: &id.case,
            mode: &id.mode,
            trial: id.number,
            workspace,
            trace: self.trace(),
            final_text: self.final_text(),
            meta: self.meta(),
        })?)
    }

    /// The directory that the program can read.
    pub(super) fn readable(&self) -> PathBuf {
        self.0.clone()
    }

    fn trace(&self) -> PathBuf {
        self.0.join("trace.json")
    }

    fn final_text(&self) -> PathBuf {
        self.0.join("final.txt")
    }

    fn meta(&self) -> PathBuf {
        self.0.join(store::META)
    }

    /// The variables that name the files.
    pub(super) fn variables(&self, trial_env: &TrialEnv) -> BTreeMap<OsString, OsString> {
        let paths = [
            ("CHECK_WORKSPACE", trial_env.workspace().into()),
            ("CHECK_TRACE", self.trace().into()),
            ("CHECK_FINAL", self.final_text().into()),
            ("CHECK_META", self.meta().into()),
        ];
        paths.map(|(name, path)| (name.into(), path)).into()
    }
}
