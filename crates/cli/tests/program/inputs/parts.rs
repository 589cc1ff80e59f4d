//! What decides a case: each of its keys is a part that somebody sees, and `gate` names a change of it.

use std::collections::BTreeMap;
use std::fs;

use skill_evals::run::changed_skills::other_changes;
use skill_evals::run::digests::{RecordingDrift, SkillFolders, as_before};
use skill_evals::run::planned::PlannedRun;
use skill_evals::run::skill_version::ReadTree;
use skill_evals::run::skill_version::SkillVersion;
use skill_evals_agents::process;
use skill_evals_cases::cases::case::fields::{self, CaseField};
use skill_evals_cases::cases::case::{Case, ToolLimits};
use skill_evals_cases::checks::FieldForm;
use skill_evals_evidence::settings::mode::Mode;
use skill_evals_evidence::settings::{OwnServer, Settings, ToolNames};
use skill_evals_evidence::trial::evidence::Inputs;
use skill_evals_results::results::gate::DifferenceKind;

use crate::support::fixture::Fixture;
use crate::support::pull_requests::{commit, git};

/// The keys of a case that its agent sees.
const OF_AGENT: [&str; 13] = [
    "prompt",
    "systemPrompt",
    "sandbox",
    "maxTurns",
    "outputSchema",
    "fixture",
    "files",
    "followUps",
    "setup",
    "during",
    "history",
    "mocks",
    "user",
];

/// The keys that no trial sees.
const OF_NOBODY: [&str; 4] = ["tags", "solution", "answer", "quarantine"];

/// A value of a key that differs from what a case says without it.
fn value(field: CaseField) -> &'static str {
    match (field, field.field().key) {
        (_, "shouldTrigger") => "false",
        (CaseField::List(_), "during") => r#"[{ "afterTurn": 1, "remove": "parting" }]"#,
        (CaseField::List(_), "checks") => r#"[{ "text": "final", "contains": "Ada" }]"#,
        (CaseField::List(_), "assertions") => r#"["It greets Ada."]"#,
        (CaseField::List(_), "history") => {
            r#"[{ "role": "user", "content": "Hi" }, { "role": "assistant", "content": "Hello" }]"#
        }
        (CaseField::List(_), "mocks") => r#"[{ "command": "gh", "stdoutFile": "/data/it" }]"#,
        (CaseField::List(_), "user") => r#"{ "goal": "A note" }"#,
        (CaseField::List(_), other) => panic!("write down a value of {other}"),
        _ => match field.field().form {
            FieldForm::Flag => "true",
            FieldForm::Number { .. } => "7",
            FieldForm::Text | FieldForm::Pattern(_) => r#""say ahoy""#,
            FieldForm::Choice(["tool", ..]) => r#""content""#,
            FieldForm::Choice(_) => r#""read-only""#,
            FieldForm::Patterns => r#"["a", "b"]"#,
            FieldForm::Path => r#""it""#,
            FieldForm::Source if field.field().key == "fixture" => r#""/data""#,
            FieldForm::Source => r#""/data/it""#,
            FieldForm::Paths => r#"["it"]"#,
            FieldForm::Sources | FieldForm::Files => r#"["/data/it"]"#,
            FieldForm::Messages | FieldForm::Commands | FieldForm::Tags => r#"["true"]"#,
            FieldForm::Trials => "3",
            FieldForm::Share => "0.8",
            FieldForm::Quarantine => r#""until 2999-01-31, issue 12""#,
            FieldForm::Amount => "0.25",
            form => unreachable!("{form:?} is only in lists"),
        },
    }
}

/// A repository with a case for each key, without the key or with it.
fn tasks(fixture: Fixture, with_key: bool) -> Fixture {
    fields::all().fold(fixture, |fixture, field| {
        let key = field.field().key;
        let mut root = BTreeMap::from([("prompt", r#""Do it.""#)]);
        let mut config = BTreeMap::from([("expectedSkillName", r#""tidy""#)]);
        if with_key {
            let to = if ["prompt", "systemPrompt"].contains(&key) { &mut root } else { &mut config };
            to.insert(key, value(field));
        }
        let object = |keys: &BTreeMap<&str, &str>| {
            let keys: Vec<String> = keys.iter().map(|(key, value)| format!("{key:?}: {value}")).collect();
            format!("{{ {} }}", keys.join(", "))
        };
        let config = object(&config);
        root.insert("evalConfig", &config);
        fixture.task(key, object(&root))
    })
}

fn run(fixture: &Fixture) -> PlannedRun {
    PlannedRun::new(fixture.root().to_path_buf(), Settings::default(), fixture.catalog())
}

fn case<'a>(run: &'a PlannedRun, id: &str) -> &'a Case {
    let found = run.catalog.cases_of("tidy").find(|found| found.id == id).expect("a case");
    found.case().unwrap_or_else(|problems| panic!("{id}: {problems:?}"))
}

fn inputs(run: &PlannedRun, case: &Case, mode: &str) -> Inputs {
    let mode = Mode::built_in().into_iter().find(|known| known.name == mode).expect("a mode");
    run.digested(&SkillFolders::Repository, case, &mode, &[]).expect("digests")
}

#[test]
fn a_changed_key_of_a_case_is_named_by_the_gate_and_makes_a_recording_stale_if_the_agent_sees_it() {
    let files = || Fixture::new().skill("tidy").skill("parting").file("data/it", "{}");
    let fixture = tasks(files(), false);
    git(fixture.root(), &["init", "--quiet"]);
    commit(fixture.root(), "without the keys");
    let before: BTreeMap<&str, Inputs> = {
        let run = run(&fixture);
        fields::all()
            .map(|field| field.field().key)
            .map(|key| (key, inputs(&run, case(&run, key), "cli-native")))
            .collect()
    };
    let fixture = tasks(fixture, true);
    let run = run(&fixture);
    let commit = process::git::commit(fixture.root(), "HEAD").expect("a commit");
    let base = SkillVersion::or_empty(fixture.root(), &commit, &run.settings).expect("the base");
    let named: BTreeMap<String, DifferenceKind> =
        other_changes(base.tree(), ReadTree { root: fixture.root(), settings: &run.settings, catalog: &run.catalog })
            .expect("an answer")
            .changed
            .into_iter()
            .map(|change| (change.name, change.kind))
            .collect();
    for key in fields::all().map(|field| field.field().key) {
        let expected = match key {
            key if OF_AGENT.contains(&key) => Some(DifferenceKind::Prompt),
            "tags" | "quarantine" => Some(DifferenceKind::Labels),
            key if OF_NOBODY.contains(&key) => None,
            _ => Some(DifferenceKind::Checks),
        };
        assert_eq!(named.get(&format!("tidy/{key}")).copied(), expected, "{key}");
        let now = inputs(&run, case(&run, key), "cli-native");
        let drift = RecordingDrift::between(&before[key], &now, &Inputs::default());
        assert_eq!(!drift.stale.is_empty(), OF_AGENT.contains(&key), "{key}: {:?}", drift.stale);
    }
}

#[test]
fn what_no_key_can_say_is_a_part_too() {
    let fixture = tasks(Fixture::new().skill("tidy").file("data/it", "{}"), false);
    let run = run(&fixture);
    let plain = case(&run, "prompt").clone();
    let tools = Some(ToolLimits { allowed: vec!["Read".to_owned()], disallowed: Vec::new() });
    let env = vec![("A".to_owned(), "b".to_owned())];
    let stale = |other: &Case| inputs(&run, &plain, "mcp").differences(&inputs(&run, other, "mcp"));
    assert_eq!(stale(&Case { tools, ..plain.clone() }), ["tools"]);
    assert_eq!(stale(&Case { env, ..plain.clone() }), ["environment"]);
    let forced = Case { forced: true, ..plain.clone() };
    assert!(stale(&forced).is_empty(), "its prompt has the call");
    let mode = Mode::built_in().into_iter().find(|mode| mode.name == "mcp").expect("a mode");
    assert_ne!(
        run.checks_digest(&forced, &mode).expect("a digest"),
        run.checks_digest(&plain, &mode).expect("a digest")
    );
}

#[test]
fn a_recording_with_a_digest_of_an_older_form_is_not_stale() {
    let fixture = tasks(Fixture::new().skill("tidy").file("data/it", "{}"), false);
    let mut run = run(&fixture);
    let names = ToolNames::default();
    let server = OwnServer { command: "serve".to_owned(), args: Vec::new(), env: BTreeMap::new(), names };
    run.settings.mcp.own = Some(server);
    let mode = Mode::built_in().into_iter().find(|mode| mode.name == "mcp").expect("a mode");
    let tools = |tool: &str| Some(ToolLimits { allowed: vec![tool.to_owned()], disallowed: Vec::new() });
    let env = vec![("A".to_owned(), "b".to_owned())];
    let now = Case { tools: tools("Read"), env, ..case(&run, "prompt").clone() };
    let (digests, older) = (inputs(&run, &now, "mcp"), as_before(&run.settings, &mode, &now));
    let mut recorded = digests.clone();
    recorded.0.extend(older.0.clone());
    assert_eq!(recorded.differences(&digests), ["environment", "setting mcp", "tools"]);
    assert!(RecordingDrift::between(&recorded, &digests, &older).stale.is_empty());
    let changed = Case { tools: tools("Write"), ..now };
    let (digests, older) = (inputs(&run, &changed, "mcp"), as_before(&run.settings, &mode, &changed));
    assert_eq!(RecordingDrift::between(&recorded, &digests, &older).stale, ["tools"]);
}

#[test]
fn the_gate_names_what_is_answered_from_files_and_what_a_judge_is_asked() {
    let edit = |path: &str, text: &str| {
        let task = |more: &str| {
            format!(
                r#"{{ "prompt": "Do it.", "evalConfig": {{ "expectedSkillName": "tidy", "shouldTrigger": true{more} }} }}"#
            )
        };
        let fixture = Fixture::new()
            .skill("tidy")
            .task("answered", task(r#", "mocks": [{ "command": "gh", "stdoutFile": "/data/pr" }]"#))
            .task("judged", task(r#", "judge": true"#))
            .file("data/pr", "One.\n")
            .file("data/jq", "One.\n")
            .file("evals/mocks/shop/buy.md", "Bought.")
            .file("evals/judge.md", "Judge.\n{skill}\n")
            .file("evals/evals.toml", "[mocks.command.jq]\nstdout_file = \"data/jq\"\n");
        git(fixture.root(), &["init", "--quiet"]);
        commit(fixture.root(), "one");
        fs::write(fixture.root().join(path), text).expect("a file");
        let dry = fixture.run(&["gate", "HEAD", "--dry-run"]);
        let changed = |line: &&str| line.starts_with("prompts changed") || line.starts_with("checks changed");
        dry.stdout
            .lines()
            .filter(changed)
            .map(|line| line.split(';').next().unwrap_or_default().to_owned())
            .collect::<Vec<_>>()
    };
    assert_eq!(edit("data/pr", "Two.\n"), ["prompts changed: tidy/answered"]);
    for all in ["data/jq", "evals/mocks/shop/buy.md"] {
        assert_eq!(edit(all, "Two.\n"), ["prompts changed: tidy/answered, tidy/judged"], "{all}");
    }
    assert_eq!(edit("evals/judge.md", "Judge well.\n{skill}\n"), ["checks changed: tidy/judged"]);
}
