//! Who is around the engine: a program that prints, or a test that is silent.

use crate::results::calibration::AgentCalibration;
use crate::run::context::RunContext;
use crate::text::problem::Problem;

/// What the engine tells and asks while it executes a plan.
pub trait Host {
    /// Something happened that a person may want to know.
    fn note(&self, line: &str);

    /// Something was left out, or is not as it should be.
    fn warn(&self, line: &str);

    /// Whether another process runs this from now on. It can begin.
    ///
    /// # Errors
    ///
    /// If that process could not be started.
    fn detach(&self, run: &RunContext) -> Result<bool, Problem>;

    /// Calibrates the agents of which nobody knows whether they are read rightly.
    ///
    /// # Errors
    ///
    /// If one cannot be calibrated.
    fn calibrate(&self, run: &RunContext) -> Result<Vec<AgentCalibration>, Problem>;

    /// Does the `work`, which is at most this many trials of the run, and may show what happens in it.
    fn watch(&self, run: &RunContext, most: MostTrials, work: &mut dyn FnMut());
}

/// How many trials there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MostTrials {
    Exactly(usize),
    /// The answer may come earlier.
    AtMost(usize),
}

/// Reports nothing and calibrates no agent: the answer says what nobody knows.
#[derive(Clone, Copy, Debug, Default)]
pub struct Silent;

impl Host for Silent {
    fn note(&self, _: &str) {}

    fn warn(&self, _: &str) {}

    fn detach(&self, _: &RunContext) -> Result<bool, Problem> {
        Ok(false)
    }

    fn calibrate(&self, _: &RunContext) -> Result<Vec<AgentCalibration>, Problem> {
        Ok(Vec::new())
    }

    fn watch(&self, _: &RunContext, _: MostTrials, work: &mut dyn FnMut()) {
        work();
    }
}
