//! Any bytes are a case file of another program, or say at which place why not.

use std::path::Path;

use super::{Nothing, assert_inside};
use skill_evals_cases::cases::case::ForeignFile;
use skill_evals_cases::cases::catalog::Catalog;
use skill_evals_cases::lint;

/// Names of files that together all formats of other programs have.
const NAMES: [&str; 7] = [
    "evals/greeting/eval.yaml",
    "evals/greeting/eval.vally.yaml",
    "skills/greeting/tasks.yaml",
    "promptfooconfig.yaml",
    "evals/evals.json",
    "skills/greeting/trigger-eval.json",
    "skills/greeting/cases.json",
];

/// Tries one input.
pub fn run(bytes: &[u8]) {
    let directories = [(Path::new("skills/greeting"), "greeting")];
    for path in NAMES.map(Path::new) {
        let (skill, skills) = (Some("greeting"), &["greeting"][..]);
        let file = ForeignFile { skill, skills, directories: &directories, ..ForeignFile::at(path, &Nothing) };
        let Some((_, found)) = file.read(bytes) else { continue };
        assert_inside(bytes, &found.problems);
        for found in found.cases {
            match found.case() {
                Ok(case) => assert_inside(bytes, &lint::case(&found, case, &Catalog::default(), &Nothing, false)),
                Err(problems) => {
                    assert!(!problems.is_empty(), "a case that cannot be read says why");
                    assert_inside(bytes, problems);
                }
            }
        }
    }
}
