//! When a live run calibrates its agents first.

use crate::text::word_enum::word_enum;

word_enum! {
    /// Whether a live run calibrates its agents first.
    #[derive(Default)]
    pub enum Calibrate {
        /// Those of whose version nobody knows whether it is read rightly.
        #[default]
        Auto = "auto",
        /// None, and what earlier calibrations found is not used.
        Off = "off",
        /// All.
        Always = "always",
    }
}
