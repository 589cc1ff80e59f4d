//! Sheets of prompts, tasks of skillgrade and of skilljack-evals: read where they are, as they are.

use skill_evals_evidence::trial::input_file::InputContent;

use crate::foreign::{cases, tidy};
use skill_evals_testing::fixture::Fixture;
use skill_evals_testing::made::skillgrade_task as task;
use skill_evals_testing::tables;
use skill_evals_testing::tables::file;

/// The cases in the file of a line, `PATH TEXT`.
fn said(line: &str) -> String {
    let (path, text) = file(line);
    cases(&tidy(path, text)).join("\n")
}

/// The row of a sheet with these cells in its last columns.
fn cells(cells: &str) -> String {
    let header = "id,should_trigger,prompt,expected_behavior,forbidden_behaviors,x_note,checks_json";
    cases(&tidy("evals/tidy.prompts.csv", format!("{header}\na,true,Do it,{cells}\n"))).join("\n")
}

/// A task of skillgrade with these lines.
fn skillgrade(lines: &str) -> String {
    let fixture = tidy("evals/tidy/eval.yaml", task(&format!("    {lines}\n")));
    cases(&fixture.file("evals/tidy/rubrics/tidy.md", "All is\ntidy.\n")).join("\n")
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

/// A task of skilljack with these keys, which is the same at both places.
fn skilljack(task: &str) -> String {
    let tasks = format!("tasks:\n  - {{ id: 7, prompt: Do it, {task} }}\n");
    let text = format!("skill: tidy\ndefaults: {{ expected_skill_load: tidy }}\n{tasks}");
    let [one, other] = ["evals/tasks.yml", "evals/x/tasks.yaml"].map(|path| cases(&tidy(path, &text)).join("\n"));
    assert_eq!(one.replace("evals/tasks.yml", "evals/x/tasks.yaml"), other);
    one
}

tables! {
    said =>
        prompts_in_a_csv_file_belong_to_the_skill_that_its_name_or_a_column_or_its_place_says,
        other_tables_of_prompts_are_none_of_ours,
        an_eval_yaml_is_one_of_skillgrade_if_a_task_has_an_instruction,
        a_tasks_yaml_of_another_program_is_none_of_ours,
        a_broken_tasks_yaml_says_so_if_its_place_or_its_key_is_that_of_skilljack,
        a_broken_configuration_of_promptfoo_is_an_error_at_any_place;
    cells => a_cell_of_another_column_is_for_the_judge_or_keeps_its_case_from_running;
    |sheet| cases(&tidy("evals/tidy.prompts.csv", sheet)).join("\n") =>
        a_csv_file_with_a_name_of_prompts_that_cannot_be_read_says_why;
    skillgrade => each_part_of_a_task_of_skillgrade_is_a_check_an_assertion_or_unsupported;
    skilljack => each_part_of_a_task_of_skilljack_is_a_check_an_assertion_or_unsupported;
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
            let found = cases(&data.file(&format!("skills/tidy/{name}"), content));
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
        let found = cases(&tidy("evals/tidy/eval.yaml", text).file("evals/tidy/a.md", " \n"));
        assert!(found[0].ends_with("the file evals/tidy/a.md is empty"), "{task}: {found:?}");
    }
}
