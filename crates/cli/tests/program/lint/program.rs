//! The program around the lint: exit codes, JSON, order.

use super::{TASK, assert_only, sheet, with_row};
use crate::support::fixture::{Fixture, run_in};

const AT: &str = "evals/skills/tidy/prompts.csv";

#[test]
fn cases_are_checked_and_skills_without_any_are_named_if_asked_for() {
    let broken = with_row("", "broken,yes,Do it").run(&["lint"]);
    broken.exits(1).prints("bad-boolean");
    let pattern = with_row(",must_include", "broken,true,Do it,(").run(&["lint"]);
    pattern.exits(1).prints("bad-regex");
    let fixture = Fixture::new().skill("tidy").skill("more").task("one", TASK);
    let [plain, with_all, strict] =
        [&["lint"][..], &["lint", "--check-evals"], &["lint", "--strict"]].map(|args| fixture.run(args));
    assert_eq!((plain.code, plain.stdout.as_str()), (0, "2 skills, 1 case: no problems\n"));
    with_all.exits(0).prints("warning[no-cases]");
    strict.exits(1).prints("error[no-cases]");
}

#[test]
fn problems_exit_with_1_and_no_repository_with_2() {
    assert_eq!(with_row("", "broken,yes,Do it").run(&["lint", "--check-evals"]).code, 1);
    let empty = Fixture::new();
    let ran = run_in(empty.root(), &["lint", "--root", "nowhere"]);
    ran.exits(2);
    assert!(ran.stderr.starts_with("error: ") && ran.stderr.contains("nowhere does not exist"), "{}", ran.stderr);
    assert_eq!(run_in(empty.root(), &["lint", "--chek-evals"]).code, 2, "invalid arguments");
}

#[test]
fn json_has_code_place_and_message() {
    let ran = with_row("", "broken,yes,Do it").run(&["lint", "--check-evals", "--json"]);
    ran.exits(1);
    insta::assert_snapshot!(ran.stdout);
}

#[test]
fn errors_are_drawn_before_warnings_and_both_are_counted() {
    let fixture = Fixture::new()
        .skill_text("a", "---\nname: a\ndescription: Does a.\nlicence: MIT\n---\n")
        .skill_text("b", "---\nname: B\ndescription: Does b.\n---\n");
    let ran = fixture.run(&["lint"]);
    ran.exits(1);
    insta::assert_snapshot!(ran.stdout);
    assert!(!ran.stdout.contains('\u{1b}'), "no color outside a terminal");
}

#[test]
fn the_lint_trial_of_a_skill_leaves_rows_to_their_own_trials() {
    let text = sheet("", "broken,yes,Do it").replace('\n', "\r");
    let fixture = Fixture::new()
        .skill("tidy")
        .prompts("tidy", text)
        .skill_text("more", "---\nname: more\ndescription: Does more.\nlicence: MIT\n---\n");
    let codes = |slug: &str| -> Vec<&str> {
        let problems = skill_evals_cases::lint::skill_trial(&fixture.catalog(), slug, &fixture.repository());
        problems.iter().map(|problem| problem.code.as_str()).collect()
    };
    assert_eq!(codes("tidy"), ["csv-line-ends"]);
    assert_eq!(codes("more"), ["no-cases", "front-matter-unknown-key"]);
    assert_eq!(codes("nobody"), [""; 0]);
}

#[test]
fn a_schema_that_would_never_end_is_an_error_in_no_time() {
    let twice = |number| {
        format!(
            r##""a{}": {{"allOf": [{{"$ref": "#/$defs/a{number}"}}, {{"$ref": "#/$defs/a{number}"}}]}}"##,
            number + 1
        )
    };
    let definitions: Vec<String> = (0..64).map(twice).collect();
    let schema = format!(r##"{{"$ref": "#/$defs/a64", "$defs": {{"a0": {{}}, {}}}}}"##, definitions.join(", "));
    let row = "mid,true,Do it,evals/schemas/a.json";
    let fixture = with_row(",output_schema", row).file("evals/schemas/a.json", schema.as_str());
    assert_only(
        &fixture,
        &format!("{AT}:3:16: [bad-schema] the schema evals/schemas/a.json would be applied more than"),
        &[],
    );
    assert!(fixture.lines().contains("lead to each subschema once"), "{}", fixture.lines());
    // The judge's own schema is read by the same function.
    let judged =
        Fixture::new().skill("tidy").prompts("tidy", "id,should_trigger,prompt,judge\na,true,x,true\nb,false,y,\n");
    let ran = judged.file("evals/schemas/style_rubric.schema.json", schema).run(&["lint", "--check-evals"]);
    ran.exits(1).prints("style_rubric.schema.json").prints("applied more than");
}

#[test]
fn no_curated_cases_are_a_warning_and_when_strict_an_error() {
    let fixture = Fixture::new().skill("tidy");
    assert_only(&fixture, "skills/tidy/SKILL.md: [no-cases]", &[]);
    fixture.run("lint --check-evals").exits(0);
    let strict = fixture.run(&["lint", "--strict"]);
    strict.exits(1);
    insta::assert_snapshot!(strict.stdout);
}

#[test]
fn an_unknown_column_breaks_the_whole_sheet_in_every_command() {
    let text = "id,should_trigger,prompt,mustinclude\na,true,Do it,AHOY\nb,false,Rest,\n";
    let fixture = Fixture::new().skill("tidy").prompts("tidy", text).task("one", TASK);
    assert_only(&fixture, &format!("{AT}:1:26: [csv-unknown-column] unknown column `mustinclude`"), &["prompts.csv"]);
    insta::assert_snapshot!(fixture.drawn());
    for (command, code) in [
        (&["run", "--replay"][..], 2),
        (&["run", "--replay", "--case", "a"], 2),
        (&["run", "--dry-run"], 2),
        (&["list"], 2),
        (&["lint"], 1),
        (&["generate"], 1),
        (&["harness"], 101),
    ] {
        let ran = fixture.run(command);
        let said = [ran.stdout, ran.stderr].concat();
        assert!(ran.code == code && said.contains("did you mean `must_include`?"), "{command:?}: {} {said}", ran.code);
    }
}

#[test]
fn columns_of_ones_own_begin_with_x_or_stand_in_the_settings() {
    let text = "id,should_trigger,prompt,x_note,owner\na,true,Do it,later,Ada\nb,false,Rest,,\n";
    let fixture = Fixture::new().skill("tidy").prompts("tidy", text);
    assert_eq!(fixture.broken_cases(), ["prompts.csv"]);
    let fixture = fixture.file("evals/evals.toml", "own_columns = [\"owner\"]\n");
    let ran = fixture.run(&["lint", "--check-evals"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (0, "1 skill, 2 cases: no problems\n"));
}

#[cfg(unix)]
#[test]
fn a_skill_behind_a_link_is_one_skill_or_named_as_left_out_by_every_command() {
    let link = |fixture: &Fixture, target: &str, path: &str| {
        std::os::unix::fs::symlink(target, fixture.root().join(path)).expect("a link");
    };
    let roots = "skill_roots = [\".claude/skills\", \"skills\"]\n";
    let twice = Fixture::new().skill("tidy").file("evals/evals.toml", roots).file(".claude/x", "");
    link(&twice, "../skills", ".claude/skills");
    let listed: serde_json::Value = serde_json::from_str(&twice.run(&["list", "--json"]).stdout).expect("JSON");
    assert_eq!(listed["skills"], serde_json::json!([{ "slug": "tidy", "folder": "skills/tidy" }]));
    assert!(!twice.run(&["lint"]).stdout.contains("another skill"));

    let elsewhere = Fixture::new().skill("tidy").file("real/other/SKILL.md", "---\nname: other\n---\n");
    link(&elsewhere, "../real/other", "skills/other");
    for command in [&["lint"][..], &["list"], &["run", "--dry-run"], &["run", "--skill", "other", "--dry-run"]] {
        let ran = elsewhere.run(command);
        let said = format!("{}{}", ran.stdout, ran.stderr);
        assert!(said.contains("this link to a directory is not followed to find skills"), "{command:?}: {said}");
    }
}

#[test]
fn trust_in_what_is_no_plugin_is_an_error_with_the_plugin_that_is_meant() {
    let manifest = r#"{ "name": "house" }"#;
    let skill = "---\nname: brew\ndescription: Brews tea.\n---\n\nDo it.\n";
    let fixture = |trust: &str| {
        Fixture::new()
            .file("plugins/house/.claude-plugin/plugin.json", manifest)
            .file("plugins/house/skills/brew/SKILL.md", skill)
            .file("evals/evals.toml", format!("jobs = 1\ntrust = [{trust}]\n"))
    };
    // Whether `run` finds an agent here is not asked.
    for (command, codes) in [(&["lint"][..], Some((0, 1))), (&["list"], Some((0, 2))), (&["run", "--dry-run"], None)] {
        let [good, bad] = ["\"plugins/house\"", "\"plugins/hous\""].map(|trust| fixture(trust).run(command));
        assert!(codes.is_none_or(|codes| codes == (good.code, bad.code)), "{command:?}: {} {}", good.code, bad.code);
        assert!(!format!("{}{}", good.stdout, good.stderr).contains("`trust`"), "{}", good.stderr);
        let said = format!("{}{}", bad.stdout, bad.stderr);
        for part in ["evals/evals.toml:2:10", "`trust` names \"plugins/hous\"", "did you mean `plugins/house`?"] {
            assert_eq!(said.matches(part).count(), 1, "{command:?} {part}: {said}");
        }
    }
}
