//! What a shell command does, whatever stands in it. What begins by removing a file is effective, whatever follows.
#![no_main]

use libfuzzer_sys::fuzz_target;
use skill_evals::trial::trace::shell::{is_effective, names_skills, opens, touches};

fuzz_target!(|command: &str| {
    let offered = ["greeting".to_owned(), "a".to_owned()];
    let _ = (touches(command), opens(command), names_skills(command), is_effective(command, None));
    let _ = is_effective(command, Some(&offered));
    assert!(is_effective(&format!("rm -f x\n{command}"), Some(&offered)));
});
