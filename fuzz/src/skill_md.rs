//! Any bytes are a SKILL.md, with problems that point into it.

use super::{Nothing, assert_inside};
use skill_evals_cases::cases::catalog::{Catalog, FoundSkill};
use skill_evals_cases::lint;
use skill_evals_evidence::skill::SkillFile;

/// Tries one input.
pub fn run(bytes: &[u8]) {
    let file = SkillFile::parse("skills/a", bytes);
    assert_inside(bytes, &file.problems);
    let text = String::from_utf8_lossy(bytes);
    assert!(text.get(file.body.clone()).is_some());
    for entry in &file.entries {
        assert!(text.get(entry.key_range.clone()).is_some() && text.get(entry.value.range.clone()).is_some());
    }
    let found = FoundSkill { file, bytes: bytes.to_vec(), curated: true, plugin: None };
    assert_inside(bytes, &lint::skill(&found, &Catalog::default(), &Nothing));
}
