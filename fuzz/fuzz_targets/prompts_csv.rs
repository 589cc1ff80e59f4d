//! Any bytes are a prompts.csv, or say at which place why not.
#![no_main]

use std::path::Path;

use libfuzzer_sys::fuzz_target;
use skill_evals::cases::case::prompts_csv;
use skill_evals::cases::catalog::Catalog;
use skill_evals::lint;
use skill_evals_fuzz::{Nothing, assert_inside};

fuzz_target!(|bytes: &[u8]| {
    let parsed = prompts_csv::parse(Path::new("prompts.csv"), bytes.to_vec());
    assert_inside(bytes, &parsed.problems);
    for row in parsed.rows {
        let found = row.found("skill");
        match found.case() {
            Ok(case) => assert_inside(bytes, &lint::case(&found, case, &Catalog::default(), &Nothing)),
            Err(problems) => {
                assert!(!problems.is_empty(), "a row that cannot be read says why");
                assert_inside(bytes, problems);
            }
        }
    }
});
