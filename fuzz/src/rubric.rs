//! A judge's template, its schema and an answer, of any text: parts of the input, separated by NUL bytes.

use std::path::Path;

use super::{assert_inside, parts};
use skill_evals_cases::grade::rubric::{BUILT_IN_SCHEMA, BUILT_IN_TEMPLATE, JudgeSubject, Rubric};

/// Tries one input.
pub fn run(bytes: &[u8]) {
    let [template, schema, answer] = parts(bytes).map(String::from_utf8_lossy);
    let template = if template.is_empty() { BUILT_IN_TEMPLATE } else { &template };
    let schema = if schema.is_empty() { BUILT_IN_SCHEMA } else { &schema };
    match Rubric::new((Path::new("judge.md"), template), (Path::new("schema.json"), schema)) {
        Err(problem) if problem.place.path == Path::new("judge.md") => assert_inside(template.as_bytes(), &[*problem]),
        Err(problem) => assert_inside(schema.as_bytes(), &[*problem]),
        Ok(rubric) => {
            let question = rubric.question(true, &[]);
            if let Ok(answer) = question.answer(Some(&answer)) {
                assert_eq!(answer.overall_pass, answer.checks.iter().all(|point| point.pass));
            }
            let prompt = question.prompt(&JudgeSubject {
                skill_name: &answer,
                skill_description: &answer,
                case_id: "it",
                should_trigger: true,
                prompt: &answer,
                system_prompt: None,
                final_message: Some(&answer),
            });
            assert!(!prompt.contains('\0'));
        }
    }
}
