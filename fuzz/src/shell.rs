//! What a shell command does, whatever stands in it. What begins by removing a file is effective, whatever follows.

use skill_evals_evidence::trace::exposure::Paths;
use skill_evals_evidence::trace::shell::{is_effective, prints_skills, scripts};

/// Tries one input.
pub fn run(command: &str) {
    let offered = ["greeting".to_owned(), "a".to_owned()];
    let _ = (scripts(command), prints_skills(command), Paths::of(command), is_effective(command, None));
    let _ = is_effective(command, Some(&offered));
    assert!(is_effective(&format!("rm -f x\n{command}"), Some(&offered)));
}
