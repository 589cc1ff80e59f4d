//! Any bytes are a prompts.csv, or say at which place why not.

use std::path::Path;

use super::{Nothing, assert_inside};
use skill_evals_cases::cases::case::prompts_csv;
use skill_evals_cases::cases::catalog::Catalog;
use skill_evals_cases::lint;

/// Tries one input.
pub fn run(bytes: &[u8]) {
    let parsed = prompts_csv::parse(Path::new(""), Path::new("prompts.csv"), bytes.to_vec(), &[]);
    assert_inside(bytes, &parsed.problems);
    for row in parsed.rows {
        let found = row.found("skill");
        match found.case() {
            Ok(case) => assert_inside(bytes, &lint::case(&found, case, &Catalog::default(), &Nothing, false)),
            Err(problems) => {
                assert!(!problems.is_empty(), "a row that cannot be read says why");
                assert_inside(bytes, problems);
            }
        }
    }
}
