//! Why the runner ends a program that would go on.

use std::time::Duration;

use tokio::sync::{Notify, watch};

use super::MAX_STDOUT;
use super::clock::{ProgramClock, Remaining};
use super::output::ListenerState;
use crate::files::bounded;
use crate::trace::trouble::{Trouble, TroubleKind};

/// Why the runner ends a program that runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RunnerEnd {
    /// Its time is over, or it does not exit.
    Timeout,
    /// It waited for a CPU for so long that its time says nothing.
    MachineTooSlow,
    /// Nothing that follows could change the verdict.
    Settled,
    /// Its output is complete for the listener, or cannot be stored.
    Output,
    /// It wrote more than is stored.
    TooMuchOutput,
    /// The user ended the run.
    Interrupt,
}

impl RunnerEnd {
    /// Why a program that was ended so was not measured.
    pub(super) fn trouble(self, limit: Duration) -> Option<Trouble> {
        let (kind, why) = match self {
            Self::Timeout | Self::Settled | Self::Output => return None,
            Self::MachineTooSlow => (
                TroubleKind::MachineTooSlow,
                format!(
                    "{} s are not over after three times as long, since it waited for a CPU; run fewer trials at once \
                     (`--jobs`), or nothing else meanwhile",
                    limit.as_secs_f64()
                ),
            ),
            Self::TooMuchOutput => (
                TroubleKind::Unobservable,
                format!("it wrote more than {} to standard output, and was ended", bounded::bytes(MAX_STDOUT)),
            ),
            Self::Interrupt => (TroubleKind::Interrupted, "ended by Ctrl-C or SIGTERM".to_owned()),
        };
        Some(Trouble::new(kind, why))
    }
}

/// Returns when `notify` is notified; never if there is none.
pub(super) async fn notified(notify: Option<&Notify>) {
    match notify {
        Some(notify) => notify.notified().await,
        None => std::future::pending().await,
    }
}

/// Returns when the program has had this time, besides what it waited for its listener or for a CPU, or when it never will.
pub(super) async fn time_is_up(
    state: watch::Receiver<ListenerState>,
    clock: &mut ProgramClock<'_>,
    timeout: Duration,
) -> RunnerEnd {
    loop {
        // In a statement of its own: the state is not borrowed while this waits.
        let waited = state.borrow().waited;
        match clock.remaining(timeout, waited) {
            Remaining::Left(time) => tokio::time::sleep(time).await,
            Remaining::Over => return RunnerEnd::Timeout,
            Remaining::MachineTooSlow => return RunnerEnd::MachineTooSlow,
        }
    }
}

/// Returns when the program has had this time to exit since it has no more output.
pub(super) async fn overdue(mut state: watch::Receiver<ListenerState>, patience: Option<Duration>) {
    match patience {
        Some(patience) if state.wait_for(|state| state.over).await.is_ok() => tokio::time::sleep(patience).await,
        _ => std::future::pending().await,
    }
}
