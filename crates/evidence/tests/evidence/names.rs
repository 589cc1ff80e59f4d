//! Names and paths that texts of users become, and the places of a skill's front matter.

use proptest::prelude::*;
use skill_evals_evidence::skill::{SkillFile, slug};
use skill_evals_evidence::text::name::RelativePath;
use skill_evals_evidence::text::name::segment;

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_path_that_is_taken_stays_below_its_folder(text in prop_oneof![any::<String>(), "[./a\\\\:\0]{0,12}"]) {
        if let Ok(path) = RelativePath::parse(&text) {
            prop_assert!(path.as_path().components().all(|part| matches!(part, std::path::Component::Normal(_))));
            prop_assert_eq!(RelativePath::parse(&path.to_string()), Ok(path));
        }
    }

    #[test]
    fn a_slug_is_a_safe_name_and_its_own_slug(name in any::<String>()) {
        let slugged = slug(&name);
        prop_assert!(slugged.chars().all(|c| matches!(c, 'a'..='z' | '0'..='9' | '.' | '_' | '-')));
        prop_assert!(!slugged.starts_with('-') && !slugged.ends_with('-'));
        prop_assert_eq!(slug(&slugged), slugged);
    }

    #[test]
    fn a_segment_is_a_rust_identifier(name in prop_oneof![any::<String>(), "[a-z_-]{0,9}"]) {
        let segmented = segment(&name);
        prop_assert!(segmented.chars().all(unicode_ident::is_xid_continue));
        prop_assert!(segmented.starts_with(|c: char| unicode_ident::is_xid_start(c) || c == '_') && segmented != "_");
        prop_assert_eq!(segment(&segmented), segmented);
    }
}

#[test]
fn a_lone_carriage_return_ends_a_line_of_yaml_and_moves_no_place() {
    let text = "---\nname: a\rlicense: \u{fffd}\u{fffd}x\ndescription: \u{fffd}b\r\n---\n";
    let file = SkillFile::parse("skills/a", text.as_bytes());
    assert_eq!(file.problems, []);
    let shown: Vec<_> =
        file.entries.iter().map(|entry| (&text[entry.key_range.clone()], &text[entry.value.range.clone()])).collect();
    assert_eq!(shown, [("name", "a"), ("license", "\u{fffd}\u{fffd}x"), ("description", "\u{fffd}b")]);
}
