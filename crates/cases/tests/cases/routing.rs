//! `cases.json` of a routing check: which of several skills loads for a prompt.

use skill_evals_cases::cases::catalog::Catalog;

use skill_evals_testing::tables;

use crate::foreign::{cases, tidy};

fn found(text: &str) -> Catalog {
    tidy("tests/routing/cases.json", text).catalog()
}

/// The case with these keys besides its name and prompt.
fn keys(keys: &str) -> String {
    let text = format!(r#"[{{"case_id":"a","category":"x","prompt":"Do it",{keys}}}]"#);
    cases(&tidy("tests/routing/cases.json", text)).join("\n")
}

tables! {
    keys => the_skill_that_is_expected_loads_and_so_do_skills_of_the_evidence;
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
