//! Whether changes of skills during a session entered the model's context.

use std::collections::BTreeSet;

use jiff::Timestamp;

use crate::skill::slug;
use crate::trace::change::{ChangeKind, ChangeMeta};
use crate::trace::exposure::Exposure;
use crate::trace::{ChangeVisibility, Marked, Trace};

/// Whether the change with this number, which was made at this time, entered the model's context: by a list of skills, if it is
/// among the `listed`, or by its text.
pub(super) fn visibility(
    (trace, exposure): (&Trace, &Exposure<'_>),
    listed: &BTreeSet<usize>,
    (number, change, made): (usize, &ChangeMeta, Timestamp),
) -> ChangeVisibility {
    if change.kind == ChangeKind::Remove {
        let missed = trace.marks.iter().any(|mark| match mark.what {
            Marked::FailedLoad(call) => {
                slug(&trace.failed_loads[call].skill) == change.skill && ended_after(trace, mark.step, made)
            }
            _ => false,
        });
        return if missed { ChangeVisibility::Missed } else { ChangeVisibility::No };
    }
    if listed.contains(&number) {
        ChangeVisibility::List
    } else if exposure.changes().contains(&number) {
        ChangeVisibility::Text
    } else if exposure.is_distinct(number) {
        ChangeVisibility::No
    } else {
        ChangeVisibility::Alike
    }
}

fn ended_after(trace: &Trace, step: usize, time: Timestamp) -> bool {
    let ended = trace.moments.get(step).and_then(|moment| moment.ended.as_deref());
    ended.and_then(|ended| ended.parse::<Timestamp>().ok()).is_some_and(|ended| ended >= time)
}

pub(super) fn made_at(change: &ChangeMeta) -> Option<Timestamp> {
    change.made.as_deref()?.parse().ok()
}
