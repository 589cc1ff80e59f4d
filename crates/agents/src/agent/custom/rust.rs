//! What a JSON line says by a function of the user's harness. A function that fails or panics makes the trial an error.

use std::collections::BTreeMap;
use std::error::Error;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, PoisonError, RwLock};

use serde_json::Value;

use super::stream_event::StreamEvent;
use crate::trace::excerpt;
use crate::trace::trouble::{Trouble, TroubleKind};

/// Says what a line says: nothing, one thing or several, in their order.
pub type ReadLine = dyn Fn(&Value) -> Result<Vec<StreamEvent>, Box<dyn Error + Send + Sync>> + Send + Sync;

/// The functions of this process, by the names of their agents. Traces are read in many places, far from the harness.
static FUNCTIONS: RwLock<BTreeMap<String, Arc<ReadLine>>> = RwLock::new(BTreeMap::new());

/// From now on, this function reads the lines of the agent with this name in the settings.
pub fn read_in_rust(agent: String, read: Arc<ReadLine>) {
    FUNCTIONS.write().unwrap_or_else(PoisonError::into_inner).insert(agent, read);
}

/// The function for this agent; without one, this is not the user's harness.
pub(super) fn function(agent: &str) -> Result<Arc<ReadLine>, Trouble> {
    FUNCTIONS.read().unwrap_or_else(PoisonError::into_inner).get(agent).cloned().ok_or_else(|| {
        let why = format!(
            "what the agent `{agent}` prints is read in Rust, by `Harness::agent`, which this program does not have; run \
             `cargo test`"
        );
        Trouble::new(TroubleKind::CouldNotStart, why)
    })
}

/// What a line says.
pub(super) fn events(agent: &str, line: &Value) -> Vec<Result<StreamEvent, Trouble>> {
    let wrong = |what: &str| {
        let line = excerpt(&line.to_string());
        Trouble::new(
            TroubleKind::Files,
            format!("the harness cannot read a line of `{agent}`: {what}; the line: {line}"),
        )
    };
    let read = match function(agent) {
        Ok(read) => read,
        Err(trouble) => return vec![Err(trouble)],
    };
    match catch_unwind(AssertUnwindSafe(|| read(line))) {
        Ok(Ok(events)) => events.into_iter().map(Ok).collect(),
        Ok(Err(error)) => vec![Err(wrong(&error.to_string()))],
        Err(_) => vec![Err(wrong("its function panicked"))],
    }
}
