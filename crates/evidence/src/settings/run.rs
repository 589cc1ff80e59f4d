//! `[run]`: what a run does besides, and the image of its containers.

use serde::Deserialize;

use crate::settings::Settings;
use crate::settings::problems::filled;

/// `[run]` as written.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RunTable {
    lift: Option<bool>,
    #[serde(default, deserialize_with = "filled")]
    image: Option<String>,
}

impl RunTable {
    pub(super) fn apply(self, settings: &mut Settings) {
        settings.lift = self.lift.unwrap_or(settings.lift);
        settings.isolation.image = self.image.or(settings.isolation.image.take());
    }
}
