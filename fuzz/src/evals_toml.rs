//! Any text is an evals.toml, or says at which place why not.

use super::assert_inside;
use skill_evals_evidence::settings::Settings;

/// Tries one input.
pub fn run(text: &str) {
    if let Err(problems) = Settings::default().apply_file(text) {
        assert!(!problems.is_empty(), "settings that cannot be read say why");
        assert_inside(text.as_bytes(), &problems);
    }
}
