//! Any text is an evals.toml, or says at which place why not.
#![no_main]

use libfuzzer_sys::fuzz_target;
use skill_evals::settings::Settings;
use skill_evals_fuzz::assert_inside;

fuzz_target!(|text: &str| {
    if let Err(problems) = Settings::default().apply_file(text) {
        assert!(!problems.is_empty(), "settings that cannot be read say why");
        assert_inside(text.as_bytes(), &problems);
    }
});
