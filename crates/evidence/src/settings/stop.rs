//! `stop`: when a live trial ends.

use crate::settings::Settings;
use crate::text::word_enum::word_enum;

word_enum! {
    /// When a live trial ends.
    #[derive(Default)]
    pub enum Stop {
        /// When its agent has finished.
        #[default]
        End = "end",
        /// As soon as nothing that follows can change its verdict.
        Settled = "settled",
    }
}

impl Settings {
    /// When live trials end. Trials that become recordings always run to their end.
    pub fn stops(&self) -> Stop {
        if self.record { Stop::End } else { self.stop.unwrap_or_default() }
    }
}
