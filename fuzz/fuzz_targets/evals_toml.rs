#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &str| skill_evals_fuzz::evals_toml::run(input));
