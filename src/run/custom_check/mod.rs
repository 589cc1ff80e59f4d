//! Custom checks of a repository, written in Rust. They take part in its verdict like the built-in ones, live and in replay.
//!
//! [`Check`] is what users write, and [`Trial`] what they see. The harness has its checks as closures. [`host`] builds a harness and
//! answers for it; [`client`] asks it for the program `skill-evals`.

mod check;
pub mod client;
pub mod host;
mod trial;

use std::collections::BTreeSet;
use std::fmt;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use crate::cases::catalog::Catalog;
use crate::checks::OPEN;
use crate::grade::verdict::settle;
use crate::store::TrialFolder;
use crate::text::diagnostic::shorten;
use crate::text::name::check_id;
use crate::text::problem::Problem;
use crate::trial::evidence::Evidence;
use crate::trial::outcome::{CheckResult, Grade, Status};

pub use check::{Check, CheckError, Finding};
use client::HarnessClient;
pub use trial::{ReadError, Recording, RecordingError, Trial, TrialSample};

/// Custom checks: those of this process, and those of harnesses, which are other programs.
#[derive(Clone, Default)]
pub struct CustomChecks {
    checks: Vec<Check>,
    harnesses: Vec<Arc<HarnessClient>>,
}

impl fmt::Debug for CustomChecks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.names()).finish()
    }
}

impl CustomChecks {
    pub fn add(&mut self, check: Check) {
        self.checks.push(check);
    }

    pub fn add_harness(&mut self, harness: HarnessClient) {
        self.harnesses.push(Arc::new(harness));
    }

    /// The same checks, run by a process of their own: this harness, started once more for the repository at `root`.
    pub fn in_own_process(self, root: &Path) -> io::Result<Self> {
        let mut isolated = Self { checks: Vec::new(), harnesses: self.harnesses };
        if !self.checks.is_empty() {
            let names = self.checks.into_iter().map(|check| check.name).collect();
            isolated.add_harness(HarnessClient::of_this_process(names, root)?);
        }
        Ok(isolated)
    }

    pub fn extend(&mut self, others: Self) {
        self.checks.extend(others.checks);
        self.harnesses.extend(others.harnesses);
    }

    pub fn names(&self) -> impl Iterator<Item = &str> {
        let others = self.harnesses.iter().flat_map(|harness| harness.names());
        self.checks.iter().map(|check| check.name.as_str()).chain(others.map(String::as_str))
    }

    /// Checks that every check of this process has a name of its own: results have no other mark.
    pub fn check_names(&self) -> Result<(), Problem> {
        let mut known = BTreeSet::new();
        for check in &self.checks {
            let name = shorten(&check.name);
            if let Err(why) = check_id(&check.name) {
                return Err(
                    format!("the name of the check {name:?} {why}; use kebab-case, such as `report-is-short`").into()
                );
            }
            if !known.insert(&check.name) {
                return Err(format!("two checks have the name `{name}`; give each its own").into());
            }
        }
        Ok(())
    }

    /// The custom checks in `grade` that are not among these: grading would drop them.
    pub fn lacking(&self, grade: &Grade) -> Vec<String> {
        let custom = grade.checks.iter().filter(|check| check.custom);
        custom.filter(|check| !self.names().any(|name| name == check.id)).map(|check| check.id.clone()).collect()
    }

    /// Why checks of this process are about no case of the whole `catalog`, in words.
    pub fn without_effect(&self, catalog: &Catalog) -> Vec<String> {
        self.checks.iter().filter_map(|check| check.without_effect(catalog)).collect()
    }

    /// `grade` with the results of these checks for the trial in `folder`. They see whole trials only. Each may take `limit`, and
    /// `tell` gets its name. Fails if another program does not answer.
    pub fn applied(
        &self,
        mut grade: Grade,
        evidence: &Evidence<'_>,
        folder: &TrialFolder,
        limit: Duration,
        tell: &dyn Fn(&str),
    ) -> Result<Grade, Problem> {
        let before = grade.checks.len();
        if evidence.meta.ending.settled {
            grade.checks.extend(self.names().map(open));
            return Ok(settle(grade));
        }
        let trial = Trial::stored(*evidence, folder);
        grade.checks.extend(self.checks.iter().filter_map(|check| check.result(&trial)));
        for harness in &self.harnesses {
            grade.checks.extend(harness.ask(folder.path(), limit, tell)?);
        }
        Ok(if grade.checks.len() > before { settle(grade) } else { grade })
    }
}

/// The result of a custom check of this name that is still open.
fn open(name: &str) -> CheckResult {
    check::result(name, Status::Unknown, check::own(name), OPEN.to_owned())
}
