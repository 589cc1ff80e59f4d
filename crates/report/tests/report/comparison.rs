//! The comparison of modes and the log of a trial, as people read them.

use std::fs;
use std::path::PathBuf;

use skill_evals_agents::agent;
use skill_evals_cases::checks::grading_input::NoContents;
use skill_evals_cases::checks::grading_input::ProgramRuns;
use skill_evals_cases::checks::{GradingInput, PrintedOnce};
use skill_evals_cases::grade::checks;
use skill_evals_evidence::settings::mode::Mode;
use skill_evals_evidence::settings::{Prices, Settings};
use skill_evals_evidence::trace::Trace;
use skill_evals_evidence::trace::exposure::Reference;
use skill_evals_evidence::trial::evidence::{Evidence, Meta};
use skill_evals_evidence::trial::outcome::AttemptCost;
use skill_evals_evidence::trial::outcome::{Grade, Outcome};
use skill_evals_report::paint::Paint;
use skill_evals_report::{compared, session};
use skill_evals_results::results::timeline::Timeline;
use skill_evals_results::store;
use skill_evals_testing::fixture::Fixture;

/// A recording with its grade.
struct Graded {
    meta: Meta,
    trace: Trace,
    text: String,
    grade: Grade,
}

fn graded(fixture: &Fixture, below: &str) -> Graded {
    let folder = store::trials_below(&fixture.root().join("evals/recordings").join(below)).expect("trials").remove(0);
    let (meta, catalog) = (folder.meta().expect("facts"), fixture.catalog());
    let id = meta.id();
    let found = catalog.cases.iter().find(|found| *found.skill == *id.skill && found.id == id.case);
    let case = found.expect("the case").case().expect("a good case");
    let reference = Reference { names: meta.tool_names(), ..Reference::default() };
    let trace = agent::of(meta.agent.kind).decode(&reference, folder.path()).expect("a trace");
    let text = fs::read_to_string(folder.path().join("final.txt")).expect("an answer");
    let schema =
        case.output_schema.as_ref().map(|path| fs::read(fixture.root().join(path.as_path())).expect("a schema"));
    let schema = schema.map(|schema| serde_json::from_slice(&schema).expect("JSON"));
    let by_settings = || Settings::default().activation_for(&id.skill, &id.mode);
    let activation = case.activation.or_else(by_settings).unwrap_or(case.default_activation);
    let grade = checks::grade(
        case,
        &GradingInput {
            skill: catalog.skill(&id.skill).expect("the skill").skill(),
            schema: schema.as_ref(),
            activation,
            evidence: &Evidence { meta: &meta, trace: &trace, final_text: Some(&text) },
            programs: &ProgramRuns::new(),
            contents: &NoContents,
            prices: &Prices::default(),
            printed: &PrintedOnce::default(),
        },
    );
    Graded { meta, trace, text, grade }
}

fn outcome(fixture: &Fixture, mode: &str) -> Outcome {
    let Graded { meta, mut grade, .. } = graded(fixture, &format!("greeting/greeting/{mode}"));
    grade.metrics.duration_ms = 1234;
    let (folder, scripted) = (PathBuf::new(), meta.scripted.clone());
    Outcome {
        id: meta.id(),
        grade,
        folder,
        scripted,
        spent: AttemptCost::default(),
        isolation: None,
        inputs: None,
        aged: false,
        kept: None,
        tags: Vec::new(),
    }
}

#[test]
fn one_case_in_four_modes_is_one_table() {
    let fixture = Fixture::copy_of_sample();
    let outcomes: Vec<Outcome> =
        ["cli-native", "mcp+native", "native", "mcp"].iter().map(|mode| outcome(&fixture, mode)).collect();
    let all: Vec<&Outcome> = outcomes.iter().collect();
    let table = compared::comparison(&all, &Mode::built_in(), Paint::Plain);
    assert!(table.lines().all(|line| line.chars().count() <= 80), "{table}");
    insta::assert_snapshot!(table);
    assert_eq!(compared::comparison(&all[..1], &Mode::built_in(), Paint::Plain), "", "one mode is no comparison");
}

#[test]
fn the_log_tells_what_happened_and_what_it_came_to() {
    let fixture = Fixture::copy_of_sample();
    let Graded { meta, trace, text, grade } = graded(&fixture, "template-generator/template-generator/mcp");
    let evidence = Evidence { meta: &meta, trace: &trace, final_text: Some(&text) };
    let log = session::session(&meta, &grade, &Timeline::new(&evidence, &grade));
    for part in [
        "# template-generator/template-generator/mcp: pass",
        "> **Note**: a mock model (stand-in model) gave the answers",
        "## Prompt\n\n> I'm starting a new Python service",
        "called `mcp__skilljack__skill`",
        "*resource `template-generator/templates/config.json` loaded*",
        "## Answer\n\n> {\"marker\"",
        "| triggered | process | pass | `template-generator` activated (MCP tool or injected) | MCP tool (",
        "- in a terminal: `skill-evals show template-generator/template-generator/mcp/1 --run ",
        "- skills activated: `template-generator` by MCP tool",
        "- resources loaded: `template-generator/templates/config.json`",
        "- tokens of the first request: 1",
    ] {
        assert!(log.contains(part), "{part:?} is not in\n{log}");
    }
}
