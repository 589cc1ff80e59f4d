#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &[u8]| skill_evals_fuzz::foreign_cases::run(input));
