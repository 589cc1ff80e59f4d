//! Formats that a user describes in evals.toml: files of any shape are read by a table.

use proptest::prelude::*;
use serde_json::{Map, Value as Json, json};
use skill_evals_cases::cases::case::{Case, fields};
use skill_evals_cases::cases::catalog::Catalog;
use skill_evals_cases::cases::repository::{Layout, Scope};
use skill_evals_cases::lint::{self, LintOptions};
use skill_evals_evidence::settings::Settings;
use skill_evals_testing::fixture::Fixture;

use crate::foreign::asked;

fn catalog(fixture: &Fixture, settings: &str) -> Catalog {
    let mut read = Settings::default();
    read.apply_file(settings).unwrap_or_else(|problems| panic!("{problems:#?}"));
    fixture.repository().catalog(Layout::of(&read), Scope::All)
}

/// The cases that are not built in, and what lint says with its help.
fn shown(fixture: &Fixture, settings: &str) -> String {
    let catalog = catalog(fixture, settings);
    let own = catalog.cases.iter().filter(|found| !found.format().is_built_in());
    let cases = own.map(|found| match found.case() {
        Ok(case) => format!("{}/{} {:?} {}\n", found.skill, found.id, case.prompt, asked(case)),
        Err(problems) => format!("{}/{} {}\n", found.skill, found.id, problems[0]),
    });
    let problems = lint::all(&catalog, &fixture.repository(), LintOptions::default());
    let problems =
        problems.iter().map(|problem| format!("{problem}; {}\n", problem.help.as_deref().unwrap_or_default()));
    cases.chain(problems).collect()
}

fn skills() -> Fixture {
    Fixture::new().skill("tidy").skill("other")
}

#[test]
fn a_file_of_any_shape_is_read_by_a_table_whatever_its_syntax_is() {
    let yaml = "owner: Ada\nsuites:\n  rooms:\n    about: tidy\n    questions:\n      - ask: Tidy the room\n        verdict: fire\n        \
                needs: [done, clean]\n      - ask: Add 1 and 2\n        verdict: hold\n  letters:\n    about: other\n    questions:\n      \
                - ask: Write a letter\n        grade: { words: [It is polite] }\n";
    let table = "[formats.qa]\nfiles = 'qa/*.yaml'\ncases = '/suites/*/questions'\nprompt = 'ask'\nskill = 'about'\nmust_include = 'needs'\n\
                 assertions = '/grade/words'\nshould_trigger = { key = 'verdict', values = { fire = true, hold = false } }\n";
    let json = r#"{"a": {"text": "Tidy up", "goal": "tidy"}, "b": {"text": "Add 1 and 2", "goal": null}, "c": {"text": "Write", "goal": "other"}}"#;
    let of_json = "[formats.goals]\nfiles = 'qa/goals.json'\ncases = '/*'\nprompt = 'text'\nexpected_skill = 'goal'\n";
    let csv = "Nr,Question,Fires,Words,Team\n1,\"Tidy, please\",TRUE,a|b,x\n2,Add,false,,\n";
    let of_csv = "[formats.table]\nfiles = ['qa/table.csv']\nid = 'Nr'\nprompt = 'Question'\nshould_trigger = 'Fires'\nmust_include = 'Words'\n\
                  skill = { value = 'tidy' }\nmax_commands = { value = 3 }\n";
    let fixture = skills().file("qa/a.yaml", yaml).file("qa/goals.json", json).file("qa/table.csv", csv);
    insta::assert_snapshot!(shown(&fixture, &format!("own_keys = ['Team']\n{table}{of_json}{of_csv}")));
}

#[test]
fn what_a_table_or_a_file_of_it_gets_wrong_is_said_with_its_place_and_what_to_write() {
    let table = |lines: &str| format!("[formats.mine]\nfiles = 'qa/*.json'\n{lines}\n");
    let good = "prompt = 'ask'\nshould_trigger = { key = 'fires', values = { y = true, n = false } }\nskill = { value = 'tidy' }";
    let mut said = String::new();
    for (lines, file) in [
        ("promt = 'ask'", "[]"),
        ("skill = 'x'", "[]"),
        ("prompt = 'ask'\ncases = '/list'", r#"{"ask": "Do it"}"#),
        (good, r#"[{"ask": "Do it", "fires": "maybe"}, {"ask": "Tidy", "fires": "y"}]"#),
        (good, r#"[{"ask": 3, "fires": "y"}, {"fires": "y"}, 7]"#),
        (good, r#"[{"ask": "Do it", "fires": "y", "deadline": 3}]"#),
        (good, r#"[{"ask": "Do it"}]"#),
        (good, "[{"),
    ] {
        said.extend([lines, " ", file, "\n", &shown(&skills().file("qa/a.json", file), &table(lines)), "\n"]);
    }
    said += &shown(&skills(), &table(good));
    said += &shown(&skills().file("skills/tidy/qa/a.json", "[]"), &table(good).replace("qa/*", "skills/*/qa/*"));
    insta::assert_snapshot!(said);
    for (settings, expected) in [
        ("[formats.mine]\nprompt = 'ask'\n", "the format `mine` names no files"),
        ("[formats.mine]\nfiles = 'a.json'\nprompt = 3\n", "`prompt` is not a key of your files"),
        (
            "[formats.mine]\nfiles = 'a.json'\nprompt = { key = 'a', value = 'b' }\n",
            "`prompt` has one of `key` and `value`",
        ),
        ("[formats.mine]\nfiles = 'a.json'\nprompt = { keys = 'a' }\n", "unknown key `keys` of `prompt`"),
    ] {
        let problems = Settings::default().apply_file(settings).expect_err(settings);
        assert!(problems.iter().any(|problem| problem.message.contains(expected)), "{problems:?}");
    }
}

#[test]
fn keys_of_the_users_own_label_in_every_format() {
    let task =
        r#"{"prompt": "Tidy", "squad": "Ada", "evalConfig": {"skill": "tidy", "shouldTrigger": true, "squad": "Ada"}}"#;
    let evals = r#"{"squad": "Ada", "evals": [{"prompt": "Tidy", "squad": "Ada", "expectations": [{"text": "It is tidy", "squad": "Ada"}]}]}"#;
    let vally = "squad: x\nstimuli:\n  - name: a\n    prompt: Tidy\n    squad: Ada\n    graders: [{type: completed}]\n";
    for (path, text) in [
        ("evals/tasks/a.json", task),
        ("skills/tidy/evals/evals.json", evals),
        ("skills/tidy/evals/eval.yaml", vally),
        ("evals/tidy.prompts.csv", "id,should_trigger,prompt,squad\na,true,Tidy,Ada\n"),
        ("evals/skills/tidy/prompts.csv", "id,should_trigger,prompt,squad\na,true,Tidy,Ada\n"),
    ] {
        let fixture = skills().file(path, text);
        let runs = |settings: &str| {
            let catalog = catalog(&fixture, settings);
            let own = catalog.cases.iter().filter(|found| !found.format().is_built_in());
            own.map(|found| found.case().is_ok_and(|case| case.runs(false))).collect::<Vec<_>>()
        };
        assert_eq!(runs("own_keys = ['squad']"), [true], "{path}");
        assert_eq!(runs(""), [false], "{path}");
    }
}

#[test]
fn a_key_that_has_a_meaning_is_no_label_and_lint_says_so() {
    let evals = r#"{"evals": [{"prompt": "Tidy", "expectations": ["It is tidy"], "owner_team": "Ada"}]}"#;
    let csv = "id,should_trigger,prompt\na,true,Tidy\nb,false,Add\n";
    for (path, text, key) in [
        ("skills/tidy/evals/evals.json", evals, "expectations"),
        ("evals/skills/tidy/prompts.csv", csv, "prompt"),
        ("evals/tidy.prompts.csv", csv, "prompt"),
    ] {
        let fixture = skills().file(path, text);
        for setting in ["own_keys", "own_columns"] {
            let said = shown(&fixture, &format!("{setting} = ['owner_team', '{key}']"));
            let is_told = said.contains(&format!("[unused-setting] `{key}` is read here"));
            // Columns are those of our own tables.
            let is_set = setting == "own_keys" || path.starts_with("evals/skills");
            assert_eq!(is_told, is_set, "{path} {setting}: {said}");
        }
    }
    // What is said to label is no skill that should trigger.
    let named = r#"[{"prompt": "Tidy", "target": "tidy"}, {"prompt": "Write", "target": "other"}]"#;
    let fixture = skills().file("evals/cases.json", named);
    assert!(
        shown(&fixture, "").contains("triggered") && !shown(&fixture, "own_keys = ['target']").contains("triggered")
    );
}

#[test]
fn where_a_key_says_no_skill_none_may_activate_or_the_case_says_what_to_write() {
    let table = |field: &str| format!("[formats.mine]\nfiles = 'qa/*.yaml'\nprompt = 'ask'\n{field} = 'about'\n");
    let fixture = skills().file("qa/a.yaml", "- { ask: Add, about: null }\n- { ask: Tidy, about: tidy }\n");
    let expected = shown(&fixture, &table("expected_skill"));
    assert!(expected.contains("tidy/a-1 \"Add\" not-triggered\ntidy/a-2 \"Tidy\" triggered\n"), "{expected}");
    let alone = skills().file("qa/a.yaml", "- { ask: Add, about: null }\n");
    let none = shown(&alone, &table("expected_skill"));
    assert!(none.contains(r#"rejects ["other", "tidy"]"#) && !none.contains("[unknown-skill]"), "{none}");
    let about = shown(&fixture, &table("should_trigger = { value = true }\nskill"));
    assert!(about.contains("if no skill should activate, the key is that of `expected_skill`"), "{about}");
}

/// Values of fields, as a task file has them.
fn values() -> impl Strategy<Value = Map<String, Json>> {
    let text = "[a-z]{1,8}( [a-z]{1,8}){0,3}";
    let texts = prop::collection::vec(text, 1..3);
    let optional = prop_oneof![
        any::<bool>().prop_map(|flag| ("shouldTrigger", json!(flag))),
        texts.clone().prop_map(|texts| ("mustInclude", json!(texts))),
        texts.clone().prop_map(|texts| ("mustNotInclude", json!(texts))),
        texts.clone().prop_map(|texts| ("assertions", json!(texts))),
        texts.prop_map(|texts| ("tags", json!(texts))),
        (0_u64..100).prop_map(|number| ("maxCommands", json!(number))),
        (1_u64..100).prop_map(|number| ("trials", json!(number))),
        (1_u64..9).prop_map(|share| ("threshold", json!(f64::from(u32::try_from(share).unwrap_or(1)) / 10.0))),
        text.prop_map(|text| ("expectedOutput", json!(text))),
        any::<bool>().prop_map(|flag| ("judge", json!(flag))),
        (1_u64..1000).prop_map(|seconds| ("timeoutS", json!(seconds))),
    ];
    (text, prop::collection::vec(optional, 1..6)).prop_map(|(prompt, optional)| {
        let prompt = [("prompt".to_owned(), json!(prompt))];
        prompt.into_iter().chain(optional.into_iter().map(|(key, value)| (key.to_owned(), value))).collect()
    })
}

/// What the parts of a case say, besides where it is.
fn parts(case: &Case) -> Vec<String> {
    let parts = fields::all().map(|field| format!("{}: {:?}", field.field().key, field.written(case)));
    parts.chain([asked(case)]).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_table_reads_of_other_keys_what_a_task_file_says_at_its_own(values in values(), depth in 0_usize..3) {
        let (mut config, mut theirs) = (Map::from_iter([("skill".to_owned(), json!("tidy"))]), Map::new());
        let mut table = "[formats.mine]\nfiles = 'qa/a.json'\nskill = { value = 'tidy' }\n".to_owned();
        for (key, value) in &values {
            let path = "/their".repeat(depth) + "/" + &key.to_uppercase();
            table.extend([key.as_str(), " = '", &path, "'\n"]);
            theirs.insert(key.to_uppercase(), value.clone());
            if key != "prompt" {
                config.insert(key.clone(), value.clone());
            }
        }
        let task = json!({ "prompt": values["prompt"], "evalConfig": config });
        let theirs = (0..depth).fold(json!(theirs), |inner, _| json!({ "their": inner }));
        let fixture = skills().file("evals/tasks/ours.json", task.to_string()).file("qa/a.json", json!([theirs]).to_string());
        let catalog = catalog(&fixture, &table);
        let case = |id: &str| catalog.cases.iter().find(|found| found.id == id).expect("a case").case().expect("a good case");
        let (ours, own) = (case("ours"), case("a-1"));
        prop_assert!(own.unsupported.iter().all(|part| part.what.contains("expects nothing")), "{:?}", own.unsupported);
        if own.unsupported.is_empty() {
            prop_assert_eq!(parts(own), parts(ours));
        }
    }
}
