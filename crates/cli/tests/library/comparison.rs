//! The comparison of modes and the log of a trial, as people read them.

use std::fs;
use std::path::PathBuf;

use crate::support::fixture::Fixture;
use skill_evals::run::context::RunContext;
use skill_evals::run::regrade;
use skill_evals_agents::agent;
use skill_evals_evidence::settings::Settings;
use skill_evals_evidence::settings::mode::Mode;
use skill_evals_evidence::trace::exposure::Reference;
use skill_evals_evidence::trial::evidence::{Evidence, Meta};
use skill_evals_evidence::trial::outcome::{Grade, Outcome};
use skill_evals_evidence::trial::spent::AttemptCost;
use skill_evals_report::paint::Paint;
use skill_evals_report::{comparison, session};
use skill_evals_results::results::timeline::Timeline;
use skill_evals_results::store::{self, TrialFolder};

fn regraded(fixture: &Fixture, folder: &TrialFolder) -> (Meta, Grade) {
    let id = folder.meta().expect("facts").id();
    let run = RunContext::new(fixture.root().to_path_buf(), Settings::default(), fixture.catalog());
    let found = run.catalog.cases.iter().find(|found| *found.skill == *id.skill && found.id == id.case);
    let case = found.expect("the case").case().expect("a good case");
    regrade::regrade(&run, case, run.catalog.skill(&id.skill).expect("the skill"), folder).expect("evidence")
}

fn outcome(fixture: &Fixture, mode: &str) -> Outcome {
    let folder = fixture.root().join("evals/recordings/greeting/greeting").join(mode);
    let folder = store::trials_below(&folder).expect("trials").remove(0);
    let (meta, mut grade) = regraded(fixture, &folder);
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
    let table = comparison::comparison(&all, &Mode::built_in(), Paint::Plain);
    assert!(table.lines().all(|line| line.chars().count() <= 80), "{table}");
    insta::assert_snapshot!(table);
    assert_eq!(comparison::comparison(&all[..1], &Mode::built_in(), Paint::Plain), "", "one mode is no comparison");
}

#[test]
fn the_log_tells_what_happened_and_what_it_came_to() {
    let fixture = Fixture::copy_of_sample();
    let folder = fixture.root().join("evals/recordings/template-generator/template-generator/mcp");
    let folder = store::trials_below(&folder).expect("trials").remove(0);
    let (meta, grade) = regraded(&fixture, &folder);
    let trace = agent::of(meta.agent.kind)
        .decode(&Reference { names: meta.tool_names(), ..Reference::default() }, folder.path())
        .expect("a trace");
    let text = fs::read_to_string(folder.path().join("final.txt")).expect("an answer");
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
