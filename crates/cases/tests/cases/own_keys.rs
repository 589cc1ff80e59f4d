//! Keys of a file's own that name skills: read where their words leave no doubt, and unsupported where they do.

use skill_evals_testing::fixture::Fixture;

use crate::foreign::cases;

/// What the cases of a file about three skills ask for.
fn of(text: &str) -> Vec<String> {
    cases(&Fixture::new().skill("brew").skill("pour").skill("steep").file("evals/cases.json", text))
}

/// What a case with these keys asks for, whatever it is called.
fn of_case(keys: &str) -> String {
    let found = of(&format!(r#"[{{"prompt": "Make tea", {keys}}}]"#)).join("; ");
    found.split_once("\"Make tea\" ").map_or(found.clone(), |(_, asks)| asks.to_owned())
}

#[test]
fn a_key_that_names_a_skill_is_read_where_its_words_say_what_it_means() {
    for (keys, asks) in [
        (r#""expected": "brew""#, "triggered"),
        (r#""expected_mission": "brew""#, "triggered"),
        (r#""should_trigger": true, "target_skill": "brew""#, "triggered"),
        (
            r#""expected_skill": "brew", "must_not_load": ["steep"], "forbidden_skills": ["pour"]"#,
            r#"triggered, rejects ["pour", "steep"]"#,
        ),
        (
            r#""expected_skill": "brew", "acceptable": ["steep"], "also_ok": ["pour"]"#,
            r#"activates ["brew", "steep", "pour"]"#,
        ),
        (r#""expected_skill": "brew", "not_required": ["steep"]"#, "triggered, unsupported: the key `not_required`"),
    ] {
        assert_eq!(of_case(keys), asks, "{keys}");
    }
}

#[test]
fn a_key_whose_words_may_mean_anything_is_never_the_expected_skill() {
    for key in ["unexpected_skill", "confused_with", "decoy", "competitor", "previous_skill", "disallowed", "unwanted"]
    {
        let asks = of_case(&format!(r#""{key}": "brew""#));
        assert!(!asks.contains("triggered") && !asks.contains("activates"), "{key}: {asks}");
    }
    let neighbor = of_case(r#""should_trigger": true, "neighbor": "brew""#);
    assert!(neighbor.contains("unsupported: the key `neighbor`"), "{neighbor}");
}

#[test]
fn where_a_case_says_null_no_skill_around_its_file_may_trigger() {
    let found = of(r#"[{"prompt":"a","expected":null},{"prompt":"b","expected":"pour"}]"#);
    assert!(found[0].contains(r#"rejects ["brew", "pour", "steep"]"#), "{found:?}");
    assert!(found[1].starts_with("pour/") && found[1].ends_with(r#""b" triggered"#), "{found:?}");
}

#[test]
fn next_to_the_expected_skill_positive_and_negative_are_kinds_of_prompts() {
    let case = |kind: &str, expected: &str| {
        format!(r#"{{"prompt": "{kind}", "type": "{kind}", "expected_mission": "{expected}"}}"#)
    };
    let found = of(&format!("[{}, {}]", case("positive", "brew"), case("negative", "pour")));
    assert!(found[0].starts_with("brew/") && found[0].ends_with(r#""positive" triggered"#), "{found:?}");
    assert!(found[1].starts_with("pour/") && found[1].ends_with(r#""negative" triggered"#), "{found:?}");
}

#[test]
fn a_key_of_a_whole_file_that_may_change_its_cases_is_no_label() {
    for (key, value) in [
        ("expect_activation", "false"),
        ("default", r#"{"should_trigger": false}"#),
        ("invert", "true"),
        ("case_sensitive", "true"),
        ("max_commands", "3"),
        ("prefix", r#""Never use a tool.""#),
        ("default_skill", r#""steep""#),
    ] {
        let found = of(&format!(r#"{{"skill": "brew", "{key}": {value}, "queries": ["Make tea"]}}"#));
        assert!(found[0].ends_with(&format!("unsupported: the key `{key}`")), "{found:?}");
    }
    for (key, value) in [("pass_threshold", "0.9"), ("verbose", "true"), ("eval_metadata", r#"{"author": "Ada"}"#)] {
        let found = of(&format!(r#"{{"skill": "brew", "{key}": {value}, "queries": ["Make tea"]}}"#));
        assert!(found[0].ends_with("triggered"), "{found:?}");
    }
}

#[test]
fn the_expected_skill_alone_says_that_a_file_has_cases() {
    let read = |text: &str| cases(&Fixture::new().skill("brew").skill("pour").file("evals/g.json", text)).join("; ");
    for key in ["expected_skill", "expect_skill", "skills_expected_to_activate"] {
        let found = read(&format!(r#"[{{"query": "Make tea", "{key}": "brew"}}]"#));
        assert!(found.starts_with("brew/g-1") && found.ends_with("\"Make tea\" triggered"), "{key}: {found}");
    }
}

#[test]
fn a_key_that_changes_what_the_agent_is_told_is_no_label() {
    for key in ["instructions", "persona"] {
        let of_file = of(&format!(r#"{{"skill": "brew", "{key}": "Be rude", "queries": ["Make tea"]}}"#));
        for asks in [of_case(&format!(r#""expected": "brew", "{key}": "Be rude""#)), of_file.join("; ")] {
            assert!(asks.ends_with(&format!("unsupported: the key `{key}`")), "{key}: {asks}");
        }
    }
}

#[test]
fn a_short_key_that_differs_in_two_letters_is_no_slip() {
    let asks = |key: &str| of_case(&format!(r#""should_trigger": true, "skill": "brew", "{key}": true"#));
    assert!(asks("skip").ends_with("unsupported: the key `skip`"), "{}", asks("skip"));
    assert!(asks("skil").contains("unknown key `skil`"), "{}", asks("skil"));
}
