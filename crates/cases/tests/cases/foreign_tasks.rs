//! Sheets of prompts, tasks of skillgrade and of skilljack-evals: read where they are, as they are.

use skill_evals_cases::cases::catalog::Catalog;
use skill_evals_evidence::trial::input_file::InputContent;

use skill_evals_testing::fixture::Fixture;
use skill_evals_testing::made::skillgrade_task as task;

fn tidy(path: &str, text: impl AsRef<[u8]>) -> Fixture {
    Fixture::new().skill("tidy").skill("other").file(path, text)
}

/// Of each case of another program: its skill, its id, and its checks, assertions and what is unsupported, or its first problem.
fn cases(catalog: &Catalog) -> Vec<String> {
    let foreign = catalog.cases.iter().filter(|found| found.format().foreign.is_some());
    foreign
        .map(|found| {
            let said = match found.case() {
                Ok(case) => {
                    let checks = case.checks.iter().map(|check| check.kind.id.to_owned());
                    let judged = case.assertions.iter().map(|assertion| format!("judged {:?}", assertion.text));
                    let rest = case.unsupported.iter().map(|part| format!("unsupported {}", part.what));
                    checks.chain(judged).chain(rest).collect::<Vec<_>>().join(", ")
                }
                Err(problems) => problems[0].message.clone(),
            };
            format!("{}/{}: {said}", found.skill, found.id)
        })
        .collect()
}

fn said(path: &str, text: &str) -> Vec<String> {
    cases(&tidy(path, text).catalog())
}

#[test]
fn prompts_in_a_csv_file_belong_to_the_skill_that_its_name_or_a_column_or_its_place_says() {
    let sheet = "id,should_trigger,prompt\na 1,true,Do it\n\n\nb,FALSE,\"Rest, please\"\n";
    for (path, text, expected) in [
        ("evals/tidy.prompts.csv", sheet, vec!["tidy/tidy-a-1: triggered", "tidy/tidy-b: not-triggered"]),
        (
            "skills/tidy/evals/activation.prompts.csv",
            sheet,
            vec!["tidy/activation-a-1: triggered", "tidy/activation-b: not-triggered"],
        ),
        (
            "evals/tidy/prompts.csv",
            "prompt,notes,should_trigger,id\nDo it,easy,true,a\n",
            vec!["tidy/prompts-a: triggered"],
        ),
        (
            "evals/prompts.csv",
            "id,skill,should_trigger,prompt\na,tidy,true,A\nb,other,false,B\n",
            vec!["other/prompts-b: not-triggered", "tidy/prompts-a: triggered"],
        ),
        (
            "evals/gone.prompts.csv",
            sheet,
            vec!["tasks/gone-a-1: this prompt names the skill `gone`, which is not here"; 1],
        ),
    ] {
        let found = said(path, text);
        assert_eq!(found[..expected.len()], expected, "{path}");
    }
}

#[test]
fn a_cell_of_another_column_is_for_the_judge_or_keeps_its_case_from_running() {
    let header = "id,should_trigger,prompt,expected_behavior,forbidden_behaviors,x_note,checks_json";
    for (cells, expected) in [
        (",,,", "triggered"),
        ("It is tidy,,seen,", "triggered, judged \"It is tidy\""),
        (",A mess,,", "triggered, judged \"This does not happen: A mess\""),
        (",,,\"[\"\"no_writes\"\"]\"", "triggered, unsupported the column `checks_json`"),
    ] {
        let text = format!("{header}\na,true,Do it,{cells}\n");
        assert_eq!(said("evals/tidy.prompts.csv", &text), [format!("tidy/tidy-a: {expected}")], "{cells}");
    }
}

#[test]
fn a_csv_file_with_a_name_of_prompts_that_cannot_be_read_says_why() {
    for (text, expected) in [
        ("id,prompt\na,Do it\n", "the header lacks `should_trigger`"),
        ("id,should_trigger,prompt\n", "the file has a header and no rows"),
        ("id;should_trigger;prompt\na;true;b\n", "the cells are separated by semicolons; expected commas"),
        ("id,should_trigger,prompt\na,perhaps,Do it\n", "`should_trigger` is \"perhaps\"; expected true or false"),
        ("id,should_trigger,prompt\na,true,\n", "the prompt is empty"),
        ("id,should_trigger,prompt\na,true,Do it,more\n", "cell 4 of a row, but the header has 3 columns"),
        ("id,should_trigger,prompt\na,true,\"Do it\n", "this quote is never closed: the rest of the file is one cell"),
    ] {
        let found = said("evals/tidy.prompts.csv", text);
        assert!(found.len() == 1 && found[0].ends_with(expected), "{text}: {found:?}");
    }
}

#[test]
fn other_tables_of_prompts_are_none_of_ours() {
    for (path, text) in [
        ("evals/prompts.csv", "id,mode,prompt\na,b,c\n"),
        ("data/prompts.csv", "id,should_trigger,prompt\na,true,Do it\n"),
        ("evals/prompts.csv", "id,should_trigger,prompt\na,true,Do it\n"),
    ] {
        assert_eq!(said(path, text), [""; 0], "{path}: {text}");
    }
}

#[test]
fn each_part_of_a_task_of_skillgrade_is_a_check_an_assertion_or_unsupported() {
    for (lines, expected) in [
        ("graders: [{ type: deterministic, run: bash graders/check.sh, weight: 0.7 }]", "run"),
        ("graders: [{ type: llm_rubric, rubric: It is tidy, model: small }]", "judged \"It is tidy\""),
        ("graders: [{ type: llm_rubric, rubric: rubrics/tidy.md }]", "judged \"All is\\ntidy.\""),
        ("graders: [{ type: llm_rubric, prompt: Is it? }]", "unsupported the key `prompt`"),
        ("graders: [{ type: deterministic, check: file_contains }]", "unsupported the key `check`"),
        ("graders: [{ type: tool_usage }]", "unsupported the grader `tool_usage`"),
        ("graders: [{ type: deterministic, run: a, setup: npm i }]", "run, unsupported the key `setup`"),
        ("graders: [{ type: llm_rubric, rubrik: a }]", "unknown key `rubrik`"),
        (
            "graders: [{ type: deterministic, run: a, weight: -1 }]",
            "`weight` is a number; expected a number, 0 or more",
        ),
        ("graders: []", "unsupported a case that expects nothing"),
        ("docker: { base: node, setup: apt-get update }", "unsupported the key `setup`"),
        ("hooks: [a]", "unsupported the key `hooks`"),
        ("trials: 0", "`trials` is 0; expected"),
        ("workspace: [{ src: rubrics/tidy.md, dest: /usr/bin/x }]", "unsupported `/usr/bin/x`, a file outside"),
        ("workspace: [{ src: ., dest: x }]", "`.` cannot be copied into the workspace"),
        ("workspace: [{ src: gone.md }]", "the key `dest` is missing"),
    ] {
        let path = "evals/tidy/eval.yaml";
        let fixture = tidy(path, task(&format!("    {lines}\n"))).file("evals/tidy/rubrics/tidy.md", "All is\ntidy.\n");
        let found = cases(&fixture.catalog());
        assert!(found.len() == 1 && found[0].starts_with(&format!("tidy/eval-one: {expected}")), "{lines}: {found:?}");
    }
}

#[test]
fn a_task_of_skillgrade_has_the_defaults_of_its_file_and_its_own_instruction_and_files() {
    let text = "skill: ../../skills/tidy
defaults: { agent: gemini, provider: docker, trials: 3, timeout: 300, threshold: 0.8 }
tasks:
  - name: one
    instruction: tasks/one.md
    trials: 7
    workspace: [fixtures/a.txt, { src: bin/tool, dest: tool, chmod: +x }, { src: app, dest: /workspace }]
    graders: [{ type: llm_rubric, rubric: It is tidy }]
";
    let fixture = tidy("evals/x/eval.yaml", text)
        .file("evals/x/tasks/one.md", "\nTidy\nit.\n")
        .file("evals/x/fixtures/a.txt", "a")
        .file("evals/x/bin/tool", "b")
        .file("evals/x/app/c.txt", "c");
    let catalog = fixture.catalog();
    let found = catalog.cases_of("tidy").next().expect("a case");
    let case = found.case().expect("a good case");
    assert_eq!((case.prompt.as_str(), case.timeout.map(|timeout| timeout.as_secs())), ("Tidy\nit.", Some(300)));
    assert_eq!(format!("{:?}", case.repetition), "Repetition { trials: Some(Times(7)), threshold: Some(0.8) }");
    let files: Vec<String> = case
        .files
        .iter()
        .map(|file| match &file.content {
            InputContent::Source(source) => format!("{} {source}", file.path),
            InputContent::Text(_) => file.path.to_string(),
        })
        .collect();
    assert_eq!(files, ["a.txt evals/x/fixtures/a.txt", "tool evals/x/bin/tool", "c.txt evals/x/app/c.txt"]);
    assert_eq!(case.setup, ["chmod '+x' 'tool'"]);
}

#[test]
fn an_eval_yaml_is_one_of_skillgrade_if_a_task_has_an_instruction() {
    for broken in [
        "tasks:\n  - name: a\n    instruction: b\n  graders: [\n",
        "tasks:\n  - name: a\n\tinstruction: b\n",
        "tasks: [{ name: a, instruction: b }\n",
        "{ \"tasks\": [{ \"name\": \"a\", \"instruction\": \"b\" }\n",
    ] {
        assert_eq!(said("skills/tidy/eval.yaml", broken).len(), 1, "{broken}");
    }
    for unrelated in
        ["tasks: [\n", "tasks: [\n# Read the instruction: it is long\n", "prompts: [custom_instruction: a\n"]
    {
        assert_eq!(said("other/eval.yaml", unrelated), [""; 0], "{unrelated}");
        assert_eq!(said("skills/tidy/eval.yaml", unrelated).len(), 1, "{unrelated}");
    }
    for text in ["tasks: [tasks/*.yaml]\n", "tasks:\n  - name: a\n    prompt: instruction\n", "instruction: a\n"] {
        assert_eq!(said("skills/tidy/eval.yaml", text), [""; 0], "{text}");
    }
    let unnamed = said("skills/tidy/eval.yaml", "tasks:\n  - instruction: a\n  - 5\n");
    assert_eq!(
        unnamed,
        ["tidy/eval-1: the key `name` is missing", "tidy/eval-2: a task is a number; expected an object"]
    );
}

#[test]
fn each_part_of_a_task_of_skilljack_is_a_check_an_assertion_or_unsupported() {
    let file = |task: &str| {
        format!(
            "skill: tidy\ndefaults: {{ expected_skill_load: tidy }}\ntasks:\n  - {{ id: 7, prompt: Do it, {task} }}\n"
        )
    };
    for (task, expected) in [
        ("deterministic: { expect_marker: DONE }", "triggered, text"),
        ("expected_skill_load: none, criteria: {}", "not-triggered, rejects"),
        ("deterministic: { expect_skill_activation: false }", "not-triggered, rejects"),
        ("expected_skill_load: other", "activates"),
        (
            "criteria: { output: { weight: 0.3, description: Friendly } }, golden_checklist: [Short]",
            "triggered, judged \"Friendly\", judged \"Short\"",
        ),
        ("golden_checklist: ['']", "`golden_checklist` holds an empty text"),
        (
            "deterministic: { expect_tool_calls: [Bash], expect_no_tool_calls: [] }",
            "triggered, unsupported a call of the tool `Bash`",
        ),
        ("criteria: {}, fixture: { setup: a.sh }", "triggered, unsupported the key `fixture`"),
        ("criteria: { style: {} }", "triggered, unsupported the key `style`"),
    ] {
        for path in ["evals/x/tasks.yaml", "evals/tasks.yml"] {
            let found = said(path, &file(task));
            assert_eq!(found, [format!("tidy/tasks-7: {expected}")], "{task}");
        }
    }
}

#[test]
fn a_tasks_yaml_of_another_program_is_none_of_ours() {
    for text in [
        "skill: tidy\ntasks:\n  - { id: a, prompt: Do it, expected: b }\n",
        "tasks:\n  - { id: a, prompt: Do it, criteria: b }\n",
        "skill: tidy\ntasks: [a, b]\n",
        "skill: tidy\n",
    ] {
        assert_eq!(said("evals/tasks.yaml", text), [""; 0], "{text}");
    }
}

#[test]
fn a_broken_tasks_yaml_says_so_if_its_place_or_its_key_is_that_of_skilljack() {
    for text in [
        "skill: tidy\nexpected_skill_load: [\n",
        "skill: tidy\ntasks:\n  - id: a\n\tdeterministic: {}\n",
        "skill: tidy\ntasks: [{ id: a, criteria: {} }\n",
        "{ \"skill\": \"tidy\", \"tasks\": [{ \"golden_checklist\": [] }\n",
    ] {
        assert_eq!(said("x/tasks.yaml", text).len(), 1, "{text}");
    }
    for text in ["tasks: [\n", "tasks:\n\t- { id: a, prompt: Do it }\n"] {
        assert_eq!(said("skills/tidy/evals/tasks.yaml", text).len(), 1, "{text}");
        assert_eq!(said("x/tasks.yaml", text), [""; 0], "{text}");
    }
    let quoted = "{ \"skill\": tidy, \"tasks\": [{ id: a, prompt: Do it, \"golden_checklist\": [b] }] }\n";
    assert_eq!(said("x/tasks.yaml", quoted), ["tidy/tasks-a: judged \"b\""]);
}

#[test]
fn a_broken_configuration_of_promptfoo_is_an_error_at_any_place() {
    let found = said("web/promptfooconfig.yaml", "tests: [\n");
    assert!(found.len() == 1 && found[0].contains("this is not YAML"), "{found:?}");
}

#[test]
fn a_file_without_a_value_whose_name_and_place_are_those_of_cases_is_an_error() {
    let utf_16: Vec<u8> = "tasks: []\n".encode_utf16().flat_map(u16::to_le_bytes).collect();
    for (content, expected) in [
        (&b""[..], "the file is empty"),
        (b"# nothing\n", "the file is empty"),
        (b"\x7fELF\xff\x00", "this is not UTF-8 text"),
        (&[&b"\xff\xfe"[..], &utf_16].concat(), "this is not UTF-8 text"),
        (b"a: b: c\n", "this is not YAML"),
    ] {
        for name in ["evals/tasks.yaml", "evals/promptfooconfig.yaml", "evals/first-eval.yaml", "eval.yaml"] {
            let data = tidy("skills/tidy/evals/data.json", content);
            let found = cases(&data.file(&format!("skills/tidy/{name}"), content).catalog());
            assert!(found.len() == 1 && found[0].contains(expected), "{name}: {found:?}");
        }
    }
}

#[test]
fn rows_of_our_own_are_not_read_a_second_time() {
    let fixture = Fixture::new().skill("tidy").prompts("tidy", "id,should_trigger,prompt\na,true,Do it\n");
    assert_eq!(fixture.good_cases(), ["a"]);
    assert_eq!(fixture.catalog().cases.len(), 1);
}

#[test]
fn a_file_with_an_instruction_or_a_rubric_of_skillgrade_is_not_empty() {
    for task in [
        "{ name: a, instruction: a.md, graders: [{ type: llm_rubric, rubric: b }] }",
        "{ name: a, instruction: b, graders: [{ type: llm_rubric, rubric: a.md }] }",
    ] {
        let text = format!("tasks:\n  - {task}\n");
        let found = cases(&tidy("evals/tidy/eval.yaml", text).file("evals/tidy/a.md", " \n").catalog());
        assert_eq!(found, ["tidy/eval-a: evals/tidy/a.md cannot be used: it is empty"], "{task}");
    }
}
