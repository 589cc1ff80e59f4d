//! `cases.json` of a routing check: which of several skills loads for a prompt.

use skill_evals_cases::cases::catalog::Catalog;

use crate::support::fixture::Fixture;

fn found(text: &str) -> Catalog {
    Fixture::new().skill("tidy").skill("other").file("tests/routing/cases.json", text).catalog()
}

/// The checks of the only case with these keys besides its name and prompt, or its first problem.
fn said(keys: &str) -> String {
    let catalog = found(&format!(r#"[{{"case_id":"a","category":"x","prompt":"Do it",{keys}}}]"#));
    let foreign = catalog.cases.iter().find(|found| found.format().name == "routing case").expect("the case");
    match foreign.case() {
        Ok(case) => {
            let checks = case.checks.iter().map(|check| check.kind.id.to_owned());
            let rest = case.unsupported.iter().map(|part| format!("unsupported {}", part.what));
            format!("{}: {}", case.skill, checks.chain(rest).collect::<Vec<_>>().join(", "))
        }
        Err(problems) => problems[0].message.clone(),
    }
}

#[test]
fn the_skill_that_is_expected_loads_and_so_do_skills_of_the_evidence() {
    for (keys, expected) in [
        (r#""expected_skill":"tidy""#, "tidy: triggered"),
        (r#""expected_skill":"tidy","required_all_evidence":["tidy","tidy/SKILL.md"]"#, "tidy: triggered"),
        (r#""expected_skill":"tidy","required_skills":["other"]"#, "tidy: triggered, activates"),
        (r#""expected_skill":"tidy","required_files":["other/SKILL.md"]"#, "tidy: triggered, activates"),
        (r#""expected_skill":"tidy","required_evidence":["CSRF"]"#, "tidy: triggered, text"),
        (r#""expected_skill":"tidy","required_any_evidence":["tool_use","Read("]"#, "tidy: triggered"),
        (r#""expected_skill":"tidy","required_any_evidence":["CSRF","XSS"]"#, "tidy: triggered, text"),
        (
            r#""expected_skill":"tidy","disallowed_skills":["other"],"disallowed_min_tier":1,"optional_skills":["x"]"#,
            "tidy: triggered, rejects",
        ),
        (r#""expected_skill":"tidy","turns":2"#, "tidy: triggered, unsupported the key `turns`"),
        (r#""expected_skill":"tidy","disallowed_skill":["other"]"#, "unknown key `disallowed_skill`"),
        (r#""expected_skill":7"#, "`expected_skill` is a number; expected a string"),
        (r#""expected_skill":"gone""#, "this routing case names the skill `gone`, which is not here"),
    ] {
        assert_eq!(said(keys), expected, "{keys}");
    }
}

#[test]
fn another_file_of_that_name_is_none_of_routing() {
    for text in [r#"[{"name":"a","expected_skill":"tidy"}]"#, r#"{"expected_skill":1}"#, "[]"] {
        let catalog = found(text);
        assert!(catalog.cases.iter().all(|found| found.format().name != "routing case"), "{text}");
    }
}

#[test]
fn a_file_that_is_cut_off_is_an_error_and_no_case_of_a_whole_file_is_missing() {
    let whole = r#"[{"case_id":"a","prompt":"Do it","expected_skill":"tidy"},{"case_id":"b","prompt":"x","expected_skill":3},7]"#;
    let cases = found(whole).cases.iter().filter(|found| found.format().name == "routing case").count();
    assert_eq!(cases, 3);
    let cut = found(&whole[..60]);
    let broken = cut.cases.iter().find(|found| found.format().name == "routing case").expect("the file");
    assert_eq!(broken.case().unwrap_err()[0].message, "this is not JSON: Unterminated string literal");
}
