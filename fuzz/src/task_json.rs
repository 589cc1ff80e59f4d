//! Any bytes are a task file, or say at which place why not.

use std::path::Path;

use super::assert_inside;
use skill_evals_cases::cases::case::task_json;

/// Tries one input.
pub fn run(bytes: &[u8]) {
    let path = Path::new("evals/tasks/a.json");
    if let Err(problems) = task_json::parse(Path::new(""), path, bytes) {
        assert!(!problems.is_empty(), "a task that cannot be read says why");
        assert_inside(bytes, &problems);
    }
    let _ = task_json::place_of(path, bytes, "prompt");
}
