//! What a plan needs before it runs.

use std::fs;

use skill_evals::run::plan;
use skill_evals_cases::cases::repository::{Layout, Repository, Scope};
use skill_evals_evidence::settings::Settings;
use skill_evals_evidence::text::name::Filters;

#[test]
fn a_case_that_does_not_run_needs_no_judge() {
    let root = tempfile::tempdir().expect("a directory");
    let skill = root.path().join("skills/tidy");
    fs::create_dir_all(skill.join("evals")).expect("directories");
    fs::write(skill.join("SKILL.md"), "---\nname: tidy\ndescription: Tidies a directory.\n---\n\nDo it.\n")
        .expect("a skill");
    for (odd, needs_judge) in [("", true), (r#", "odd_key": 1"#, false)] {
        let case = format!(r#"[{{"id": 1, "prompt": "Hi", "expected_output": "It is polite."{odd}}}]"#);
        fs::write(skill.join("evals/evals.json"), case).expect("a case");
        let catalog = Repository::new(root.path().to_path_buf()).catalog(Layout::default(), Scope::All);
        let settings = Settings::default();
        let plan = plan::plan(root.path(), &settings, &catalog, &Filters::new(&[], false)).expect("a plan");
        assert_eq!((plan.entries.len(), plan.is_judged(&settings)), (1, needs_judge), "{odd}");
    }
}
