//! Every file that holds cases, looks like it, or is a SKILL.md is in one of four lists; a problem breaks what it is about.

use skill_evals_cases::cases::catalog::Catalog;
use skill_evals_cases::cases::census::Census;
use skill_evals_cases::cases::other_skill::FileStanding;
use skill_evals_cases::cases::repository::{Layout, Repository, Scope};
use skill_evals_cases::lint::{self, LintOptions};
use skill_evals_evidence::settings::Settings;
use skill_evals_testing::fixture::Fixture;

use crate::unread::with_skills;

/// A case of another form: nobody reads it.
const OTHER: &str = r#"{"id":"a","agent":"bot","inputs":{"text":"hi"},"expect":{"messages":1}}"#;

const EVALS: &str = r#"{"evals":[{"id":1,"prompt":"Brew tea","expectations":["It is tea"]}]}"#;

fn catalog(fixture: &Fixture, toml: &str) -> Catalog {
    let mut settings = Settings::default();
    settings.apply_file(toml).expect("good settings");
    fixture.repository().catalog(Layout::of(&settings), Scope::All)
}

/// The cases, with a `!` in front of a broken one. The built-in ones of a skill are one.
fn cases(catalog: &Catalog) -> Vec<String> {
    let case = |found: &std::sync::Arc<skill_evals_cases::cases::case::FoundCase>| match found.case() {
        Ok(_) if found.format().is_built_in() => format!("{}/built-in", found.skill),
        Ok(_) => format!("{}/{}", found.skill, found.id),
        Err(_) => format!("!{}/{}", found.skill, found.id),
    };
    let mut cases: Vec<String> = catalog.cases.iter().map(case).collect();
    cases.dedup();
    cases
}

/// The errors, with their help.
fn errors(catalog: &Catalog) -> Vec<String> {
    let of_cases = catalog.cases.iter().filter_map(|found| found.case().err()).flatten();
    let all = catalog.problems.iter().chain(of_cases).filter(|problem| problem.is_error());
    all.map(|problem| format!("{problem} {}", problem.help.as_deref().unwrap_or_default())).collect()
}

fn census(fixture: &Fixture, catalog: &Catalog) -> Census {
    Census::of(catalog, &lint::all(catalog, &fixture.repository(), LintOptions::default()))
}

#[test]
fn a_file_that_nobody_reads_breaks_no_skill_and_its_level_is_that_of_the_settings() {
    let fixture = with_skills(&["skills/tea", "skills/coffee"]).file("evals/cases.jsonl", OTHER);
    let built_in = ["coffee/built-in", "tea/built-in"];
    let allowed = "lint.allow = [{ rule = 'unread-cases', reason = 'of a bot' }]";
    for toml in ["", "lint.warning = ['unread-cases']", allowed, "not_cases = ['evals/*.jsonl']"] {
        let catalog = catalog(&fixture, toml);
        assert_eq!((cases(&catalog), errors(&catalog)), (built_in.map(str::to_owned).to_vec(), Vec::new()), "{toml}");
    }
    let strict = catalog(&fixture, "lint.error = ['unread-cases']");
    assert_eq!(cases(&strict), ["coffee/built-in", "!tasks/evals-cases.jsonl", "tea/built-in"]);
    let of_skill = fixture.file("evals/coffee/cases.jsonl", OTHER);
    let strict = catalog(&of_skill, "lint.error = ['unread-cases']");
    assert_eq!(cases(&strict), ["!coffee/prompts.csv", "!tasks/evals-cases.jsonl", "tea/built-in"]);
}

#[test]
fn a_prompt_in_a_file_that_says_nothing_is_an_error_and_no_path_is_asked() {
    let evals = r#"{"evals":[{"id":1,"prompt":"prompts/ask.md","expectations":["It is tea"]}]}"#;
    let fixture = |text: &[u8]| {
        let fixture = with_skills(&["skills/tea"]).file("skills/tea/evals/evals.json", evals);
        fixture.file("skills/tea/evals/prompts/ask.md", text).catalog()
    };
    assert_eq!(cases(&fixture(b"Brew tea\n")), ["tea/evals-1"]);
    for (text, why) in [(&b" \n"[..], "is empty"), (b"\xff\xfe\x00", "cannot be read: it is not UTF-8 text")] {
        let catalog = fixture(text);
        assert_eq!(cases(&catalog), ["!tea/evals-1"], "{why}");
        assert!(errors(&catalog)[0].contains(why), "{:?}", errors(&catalog));
    }
}

#[test]
fn a_file_is_in_the_list_of_what_became_of_it() {
    let suite = "prompts: [\"{{prompt}}\"]\ntests: file://tests/brew.yaml\n";
    let test = "- vars: { prompt: Brew }\n  assert: [{ type: skill-used, value: tea }]\n";
    let fixture = with_skills(&["skills/tea"])
        .file("skills/tea/evals/evals.json", EVALS)
        .file("skills/README.md", "Skills.")
        .file("evals/brew/promptfooconfig.yaml", suite)
        .file("evals/brew/tests/brew.yaml", test);
    let of = |toml: &str| {
        let census = census(&fixture, &catalog(&fixture, toml));
        census.files.iter().map(|(file, standing)| format!("{} {standing:?}", file.display())).collect::<Vec<_>>()
    };
    let suite = ["evals/brew/promptfooconfig.yaml Read", "evals/brew/tests/brew.yaml Read"];
    let skill = ["skills/tea/SKILL.md Read", "skills/tea/evals/evals.json Read"];
    assert_eq!(of(""), [suite, skill].concat());
    let left_out = "skills/tea/evals/evals.json NotCases";
    assert_eq!(of("not_cases = ['skills']"), [&suite[..], &[skill[0], left_out]].concat(), "the skill is used");
}

#[test]
fn the_name_of_a_file_says_that_it_is_a_case_and_fixtures_by_the_name_of_a_skill_have_its_cases() {
    let case = "id: a\nturns:\n  - text: hi\nexpect:\n  status: done\n";
    let fixture = with_skills(&["skills/tea", "skills/coffee", "copies/fixtures/coffee"])
        .file("bots/greet/cases/hello.case.yaml", case)
        .file("bots/greet/cases/hello.yaml", case)
        .file("tests/fixtures/tea/evals/behavior.json", EVALS)
        .file("tests/fixtures/pot/evals/behavior.json", EVALS)
        .file("copies/fixtures/coffee/evals/evals.json", EVALS);
    let catalog = fixture.catalog();
    assert_eq!(cases(&catalog), ["coffee/built-in", "tea/behavior-1"]);
    let census = census(&fixture, &catalog);
    let named = census.with(FileStanding::NotRead).map(|file| file.display().to_string()).collect::<Vec<_>>();
    assert!(named.contains(&"bots/greet/cases/hello.case.yaml".to_owned()), "{named:?}");
}

#[test]
fn a_text_that_is_too_long_for_a_path_is_no_file_that_cannot_be_read() {
    let evals = |about: &str| EVALS.replacen('{', &format!(r#"{{"about":"{about}","#), 1);
    for about in ["tea".repeat(100), "some tea ".repeat(40)] {
        let catalog = with_skills(&["skills/tea"]).file("skills/tea/evals/evals.json", evals(&about)).catalog();
        assert_eq!((cases(&catalog), errors(&catalog)), (vec!["tea/evals-1".to_owned()], vec![]));
    }
}

#[test]
fn what_cannot_be_read_breaks_its_own_cases_alone() {
    let fixture = with_skills(&["skills/tea", "skills/coffee"]).file("evals/skills/tea/prompts.csv/x", "");
    assert_eq!(cases(&fixture.catalog()), ["coffee/built-in", "!tea/prompts.csv"]);
    let fixture = fixture.file("skills/coffee/evals/evals.json/x", "");
    assert_eq!(cases(&fixture.catalog()), ["!coffee/skills-coffee-evals-evals.json", "!tea/prompts.csv"]);
}

#[test]
fn no_built_in_case_stands_in_for_cases_that_the_settings_leave_out() {
    let sheet = "id,should_trigger,prompt\na,true,Do it\n";
    let fixture = with_skills(&["skills/tea", "skills/coffee"]).file("evals/skills/tea/prompts.csv", sheet);
    assert_eq!(cases(&catalog(&fixture, "not_cases = ['**/prompts.csv']")), ["coffee/built-in"]);
}

#[test]
fn a_pattern_that_leaves_out_nothing_is_named() {
    let fixture = with_skills(&["skills/tea"]).file("evals/cases.jsonl", OTHER);
    let said = |toml| catalog(&fixture, toml).problems.iter().map(ToString::to_string).collect::<String>();
    let used = said("not_cases = ['evals/*.jsonl', 'gone/**']");
    assert!(used.contains("`not_cases` has \"gone/**\", which leaves out nothing"), "{used}");
    assert!(!used.contains("evals/*.jsonl"), "{used}");
    assert_eq!(said("not_cases = ['/evals/*.jsonl']"), "", "`/` is the root");
}

#[test]
fn a_key_of_an_own_format_that_no_file_has_and_a_file_that_is_left_out_and_read_are_named() {
    let fixture = with_skills(&["skills/tea"])
        .file("qa/a.json", r#"[{"ask": "Make tea.", "skill": "tea", "wanted": "a cup"}]"#)
        .file("qa/b.json", r#"[{"ask": "Make more.", "skill": "tea"}]"#);
    let said = |toml: &str| {
        let toml = format!(
            "{toml}\n[formats.mine]\nfiles = 'qa/*.json'\nprompt = 'ask'\nskill = 'skill'\nmust_include = ['wanted', 'want']"
        );
        catalog(&fixture, &toml).problems.iter().map(ToString::to_string).collect::<Vec<_>>()
    };
    assert_eq!(said(""), Vec::<String>::new());
    let typo = said("[formats.other]\nfiles = 'qa/*.json'\nprompt = 'ask'\nskill = 'skill'\nmust_include = 'wants'");
    assert!(typo.len() == 1 && typo[0].contains("no case of the format `other` has the key `wants`"), "{typo:?}");
    let both = said("not_cases = ['qa/b.json']");
    assert!(both.len() == 1 && both[0].contains("qa/b.json is read, by the format `mine`, although"), "{both:?}");
}

#[test]
fn a_file_of_our_own_at_a_wrong_place_breaks_its_skill_alone_until_the_settings_leave_it_out() {
    let sheet = "id,should_trigger,prompt\na,true,Do it\n";
    let fixture = with_skills(&["skills/tea", "skills/coffee"]).file("evals/skills/tea/prompt.csv", sheet);
    let broken = catalog(&fixture, "");
    assert_eq!(cases(&broken), ["coffee/built-in", "!tea/prompts.csv"]);
    assert!(errors(&broken)[0].contains("not_cases = [\"evals/skills/tea/prompt.csv\"]"), "{:?}", errors(&broken));
    let none = catalog(&fixture, "not_cases = ['evals/skills/tea/prompt.csv']");
    assert_eq!((cases(&none), errors(&none)), (vec!["coffee/built-in".to_owned(), "tea/built-in".to_owned()], vec![]));
}

#[test]
fn cases_that_are_not_about_skills_can_be_left_out_and_the_error_says_how() {
    let fixture = with_skills(&["skills/tea", "skills/coffee"]).file("evals/agents/auditor.evals.json", EVALS);
    let broken = catalog(&fixture, "");
    let said = errors(&broken);
    assert!(said.len() == 1 && said[0].contains("not_cases = [\"evals/agents/auditor.evals.json\"]"), "{said:?}");
    let path = std::path::Path::new("evals/agents/auditor.evals.json");
    assert_eq!(census(&fixture, &broken).files[path], FileStanding::Wrong);
    let allowed = "lint.allow = [{ rule = 'unknown-skill', reason = 'evals of agents' }]";
    for toml in
        [allowed, "not_cases = ['evals/agents']", "not_cases = ['**/auditor.*']", "not_cases = ['./evals/agents/']"]
    {
        let catalog = catalog(&fixture, toml);
        assert_eq!(
            (cases(&catalog), errors(&catalog).len()),
            (cases(&with_skills(&["skills/tea", "skills/coffee"]).catalog()), 0),
            "{toml}"
        );
        assert_eq!(census(&fixture, &catalog).files[path], FileStanding::NotCases, "{toml}");
    }
}

#[test]
fn ids_that_the_program_makes_are_longer_where_they_would_collide_and_nowhere_else() {
    let named = EVALS.replacen('{', r#"{"skill_name":"tea","#, 1);
    let queries = r#"[{"query":"I want tea","should_trigger":true},{"query":"Add 1","should_trigger":false}]"#;
    let two = with_skills(&["skills/tea"])
        .file("runner/tests/tea.evals.json", &named)
        .file("runner/tests/tea.trigger-evals.json", queries);
    assert_eq!(cases(&two.catalog()), ["tea/tea-evals-1", "tea/tea-trigger-evals-1", "tea/tea-2"]);
    let far = with_skills(&["skills/tea"]).file("a/evals/evals.json", &named).file("b/evals/evals.json", &named);
    assert_eq!(cases(&far.catalog()), ["tea/a-evals-evals-1", "tea/b-evals-evals-1"]);
    let same = named.replace("\"evals\":[", "\"evals\":[{\"id\":1,\"prompt\":\"x\",\"expectations\":[\"y\"]},");
    let twice = with_skills(&["skills/tea"]).file("evals/evals.json", same).catalog();
    assert!(cases(&twice).iter().any(|case| case.starts_with('!')), "an id that a user wrote twice stays an error");
}

#[test]
fn of_two_skills_of_one_name_the_one_that_agents_find_is_read_and_the_other_breaks_nothing() {
    let text = "---\nname: tea\ndescription: Brews tea, and other hot drinks.\n---\n\nDo it.\n";
    for copy in ["skills/a-workspace/skill-snapshot", "skills/a", "skills/zoo/deep/tea"] {
        let fixture = with_skills(&["skills/tea"])
            .file("skills/tea/evals/evals.json", EVALS)
            .file(&format!("{copy}/SKILL.md"), text)
            .file(&format!("{copy}/evals/evals.json"), EVALS);
        let catalog = fixture.catalog();
        assert_eq!((cases(&catalog), errors(&catalog)), (vec!["tea/evals-1".to_owned()], vec![]), "{copy}");
        assert_eq!(catalog.skills[0].skill().folder, std::path::Path::new("skills/tea"), "{copy}");
        let said: Vec<String> = catalog.problems.iter().map(ToString::to_string).collect();
        assert!(
            said.iter().any(|said| said.contains("another skill has the same name") && said.contains(copy)),
            "{said:?}"
        );
    }
}

#[test]
fn each_file_with_cases_is_read_or_named_wherever_it_is() {
    use FileStanding::{NotRead, Read};
    let table = "# Tests\n\n| Prompt | Should load |\n| --- | --- |\n| Brew tea | yes |\n";
    let lists = "### Should activate\n\n- \"Brew\"\n\n### Should not activate\n\n- \"Sort\"\n";
    let suite = "prompts: [file://loader.js]\nproviders: [x]\ntests:\n  - vars: { file: skills/tea/SKILL.md }\n    assert: [{ type: contains, value: a }]\n";
    let config = "name: a\njudges:\n  - judge.py\nskills:\n  - tea\nprompt: \"Brew it\"\n";
    for (path, text, standing) in [
        (".hidden/skills/milk/evals/evals.json", EVALS, NotRead),
        (".hidden/evals/evals.json", EVALS, Read),
        ("skills/tea/evals/target/evals/evals.json", EVALS, Read),
        ("evals/recordings/evals/evals.json", EVALS, Read),
        ("artifacts/SKILL.md", "---\nname: milk\ndescription: Warms milk.\n---\n", NotRead),
        ("docs/testing.md", table, NotRead),
        ("skills/tea/references/evals.md", lists, NotRead),
        ("evals/suites/tea/promptfoo.yaml", suite, Read),
        ("promptfooconfig.yaml", suite, Read),
        ("tests/configs/a.yaml", config, NotRead),
        ("eval/gold.json", r#"[{"query":"a","expected_chunks":["b"]}]"#, NotRead),
        ("evals/review.json", r#"{"judge_prompt":"a","cases":[{"diff":["- b"],"expected":{"verdict":"c"}}]}"#, NotRead),
        ("tests/corpus.json", r#"[{"query":"Brew","expected_skill":"old-name"}]"#, NotRead),
        ("examples/cases/brew/case.yaml", "input: Brew\nassert:\n  - It is tea\n", NotRead),
        ("evals/round-1.md", "# Round\n\n## S1\n**Prompt:** \"Brew\"\n**Watch for:** steam\n", NotRead),
        (
            "evals/a/routing.md",
            "Expected: `tea`\n\n### A1\n\"Brew\"\n\n### A2\n\"Boil\"\n\n### A3\n\"Pour\"\n",
            NotRead,
        ),
        ("evals/queries.md", "## Should-Trigger (1)\n1. \"Brew\"\n\n## Should-NOT-Trigger (1)\n1. \"Sort\"\n", NotRead),
        ("skills/tea/TESTS.md", "### Should fire\n\n- \"Brew\"\n\n### Should not fire\n\n- \"Sort\"\n", NotRead),
    ] {
        let fixture = with_skills(&["skills/tea"]).file(path, text);
        let fixture = if path.contains("milk") {
            fixture.file(".hidden/skills/milk/SKILL.md", "---\nname: milk\ndescription: Warms milk.\n---\n")
        } else {
            fixture
        };
        let catalog = fixture.catalog();
        let found = census(&fixture, &catalog);
        assert_eq!(found.files.get(std::path::Path::new(path)), Some(&standing), "{path}: {found:?}");
        assert_eq!(errors(&catalog), [""; 0], "{path}");
    }
    let linked = Fixture::new()
        .file(".agents/skills/tea/SKILL.md", "---\nname: tea\ndescription: Brews tea.\n---\n")
        .file(".agents/skills/tea/evals/evals.json", EVALS)
        .link(".claude/skills", "../.agents/skills");
    assert_eq!(cases(&linked.catalog()), ["tea/evals-1"]);
}

#[test]
fn what_is_no_case_is_in_no_list() {
    for (path, text) in [
        ("TESTS.md", "| Scenario | Prompt | Assertions | pass? |\n| --- | --- | --- | --- |\n| a | b | c | yes |\n"),
        ("README.md", "| Skill | Description | Example prompt |\n| --- | --- | --- |\n| tea | Brews | Brew tea |\n"),
        ("README.md", "| User says | Skill does |\n| --- | --- |\n| Brew | tea |\n"),
        ("docs/sql.md", "| Query | Expected rows |\n| --- | --- |\n| SELECT 1 | 1 |\n"),
        ("openapi.json", r#"{"paths":{"/chat":{"prompt":"a","expected":"b"}}}"#),
        ("skills/tea/assets/example.json", r#"[{"skill":"tea","prompt":"a","expected":"b"}]"#),
        ("node_modules/x/evals/evals.json", EVALS),
        ("tests/fixtures/a.yaml", "skill: tea\nprompt: a\nexpected: b\n"),
        ("evals/runs/1.json", r#"[{"skill":"tea","prompt":"a","expected":"b"}]"#),
        (
            ".github/workflows/eval.yml",
            "on:\n  call:\n    inputs: { prompt: a, expected: b }\njobs:\n  eval: { steps: [] }\n",
        ),
        ("evals/a/results.json", r#"{"evalId":"a","results":{"prompts":[{"prompt":"a","expected":"b"}]}}"#),
        (
            "evals/benchmark.json",
            r#"{"skill":"tea","metadata":{"run_id":"a"},"evals":[{"prompts":["b"],"rubric":["c"]}]}"#,
        ),
        ("evals/a.baseline.jsonl", "{\"timestamp\":\"a\",\"input\":[{\"role\":\"b\"}],\"answer\":\"c\",\"score\":1}\n"),
        ("evals/summary.json", "[]"),
        ("evals/codex-evals.toml", "[run]\nmode = \"a\"\n[rubric]\nenabled = true\n"),
        ("evals/round-1-results.md", "**Prompt:** Brew\n**Expected:** tea\n**Result:** pass\n"),
        ("docs/form.md", "Prompt: a text\n\nExpected: what is said\n"),
        ("docs/form.md", "```text\nPrompt: a\nExpected: b\nPrompt: a\nExpected: b\nPrompt: a\nExpected: b\n```\n"),
    ] {
        let fixture = with_skills(&["skills/tea"]).file(path, text);
        let catalog = fixture.catalog();
        let found = census(&fixture, &catalog);
        assert_eq!(found.files.len(), 1, "{path}: {found:?}");
    }
}

#[test]
fn of_a_skill_that_is_not_read_only_what_looks_like_cases_is_listed() {
    let fixture = with_skills(&["skills/tea"])
        .file(".hidden/skills/milk/SKILL.md", "---\nname: milk\ndescription: Warms milk.\n---\n")
        .file(".hidden/skills/milk/evals/evals.json", EVALS)
        .file(".hidden/skills/milk/eval.yaml", "tasks:\n  - name: a\n    instruction: Warm milk\n    graders: []\n")
        .file(".hidden/skills/milk/evals/config.json", r#"{"timeout_seconds": 900}"#);
    let catalog = fixture.catalog();
    let files: Vec<String> = census(&fixture, &catalog).files.keys().map(|file| file.display().to_string()).collect();
    let milk = ["SKILL.md", "eval.yaml", "evals/evals.json"].map(|file| format!(".hidden/skills/milk/{file}"));
    assert_eq!(files[..3], milk, "{files:?}");
    assert_eq!(files[3..], ["skills/tea/SKILL.md"]);
}

#[test]
fn cases_next_to_a_skill_in_the_root_are_its_own_unless_they_name_another() {
    let fixture = |path: &str, text: &str| {
        let root = "---\nname: all\ndescription: Does all.\n---\n";
        let fixture = with_skills(&["skills/tea", "skills/milk"]).file("SKILL.md", root).file(path, text);
        cases(&catalog(&fixture.file("evals/first/task.md", "Brew\n"), "skill_roots = ['.', 'skills']"))
    };
    let query = r#"[{"query":"Brew","should_trigger":true},{"query":"Sort","should_trigger":false}]"#;
    assert_eq!(fixture("evals/trigger.json", query)[..2], ["all/trigger-1", "all/trigger-2"]);
    let checklist = r#"{"checklist":[{"description":"Boils","max_score":1}]}"#;
    assert_eq!(fixture("evals/first/criteria.json", checklist)[0], "all/task-first");
    let of_tea = r#"[{"query":"Brew","expected_skill":"tea"},{"query":"Warm","expected_skill":"milk"}]"#;
    let named = fixture("evals/trigger.json", of_tea);
    assert!(
        ["milk/trigger-2", "tea/trigger-1"].iter().all(|case| named.iter().any(|found| found == case)),
        "{named:?}"
    );
}

#[test]
fn an_address_of_a_page_in_a_skill_names_the_skill() {
    let evals = |address: &str| format!(r#"{{"skill_url":"{address}","prompt":"Brew","rubric":["Boils"]}}"#);
    let read = |address: &str| {
        let fixture = with_skills(&["skills/tea"])
            .file("skills/tea/green/SKILL.md", "---\nname: green\ndescription: Green.\n---\n");
        cases(&fixture.file("evals/prompts/a.json", evals(address)).catalog())
    };
    assert_eq!(read("https://skills.example/tea/green/SKILL.md"), ["tea/a-1"]);
    assert!(read("https://skills.example/tea/black/SKILL.md")[0].starts_with('!'));
}

#[test]
fn settings_at_another_place_are_ours_by_their_keys() {
    let said = |path: &str, text: &str| {
        let catalog = with_skills(&["skills/tea"]).file(path, text).catalog();
        catalog.problems.iter().map(|problem| (problem.code.as_str(), problem.is_error())).collect::<Vec<_>>()
    };
    for path in ["evals.toml", "skill-evals.toml", "evals/Evals.toml", "evals/skill_evals.toml", "eval.toml"] {
        assert_eq!(said(path, "trials = 2\nspeed = 1\n"), [("unread-settings", true)], "{path}");
    }
    let foreign = "[tool]\nname = \"a\"\n[models]\njudge = \"b\"\n[run]\nmode = \"c\"\n";
    assert_eq!(said("evals.toml", foreign), [("unused-setting", false)]);
    assert_eq!(said("skill-evals.toml", foreign), []);
    assert_eq!(said("evals.toml", "trials = \n"), [("unread-settings", true)]);
}

#[test]
fn a_line_that_is_proposed_reads_each_skill_that_it_is_for() {
    let broken = "no front matter\n";
    let said = |fixture: &Fixture| {
        let catalog = fixture.catalog();
        let finding = catalog.problems.iter().find(|problem| problem.message.contains("outside every skill root"));
        finding.and_then(|finding| finding.help.clone()).expect("a finding with help")
    };
    let root = with_skills(&["a/tea", "milk"]).file("SKILL.md", "---\nname: all\ndescription: Does all.\n---\n");
    let help = said(&root);
    let line = help.split("evals/evals.toml: ").nth(1).expect("a line of settings");
    let read = catalog(&root, line);
    assert_eq!((read.slugs(), errors(&read)), (vec!["all", "milk", "tea"], vec![]), "{line}");
    let help = said(&with_skills(&["skills/tea"]).file("other/milk/SKILL.md", broken));
    assert!(!help.contains("skill_roots = ["), "{help}");
}

#[test]
fn a_skill_that_is_too_deep_in_a_plugin_is_named() {
    let fixture = with_skills(&["skills/tea", "skills/hot/milk"]).file(".claude-plugin/plugin.json", r#"{"name":"p"}"#);
    let said: Vec<String> = fixture.catalog().problems.iter().map(ToString::to_string).collect();
    assert!(
        said.len() == 1 && said[0].contains("deeper in a plugin") && said[0].contains("skills/hot/milk"),
        "{said:?}"
    );
}

#[test]
fn the_directory_of_evals_is_no_repository() {
    let fixture =
        with_skills(&[".claude/skills/tea"]).file("evals/skills/tea/prompts.csv", "id\n").file(".git/HEAD", "");
    for start in ["evals", "evals/skills/tea"] {
        let found = Repository::around(&fixture.root().join(start)).expect("it can be read").expect("a repository");
        assert_eq!(found.root, fixture.root(), "{start}");
    }
}
