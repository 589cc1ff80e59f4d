//! Which trials a run has.

use crate::cases::case::Found;
use crate::settings::Settings;
use crate::settings::selection::modes;
use crate::trial::id::Planned;

/// The planned trials for `cases`.
#[must_use]
pub fn plan<'a>(
    cases: Vec<&'a Found>,
    settings: &'a Settings,
    recorded: impl Fn(&Found) -> Vec<String>,
) -> Vec<Planned<'a>> {
    let of_case = |found: &'a Found| {
        let modes = modes(settings, found, &recorded(found));
        modes.into_iter().map(move |mode| Planned { found, mode })
    };
    cases.into_iter().flat_map(of_case).collect()
}
