//! Cases of `claude plugin eval`: the verdicts of their graders are those of the real program, which a script
//! (tests/`plugin_evals`/make.py) ran against a scripted model.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use skill_evals_agents::agent;
use skill_evals_cases::cases::case::Case;
use skill_evals_cases::cases::repository::{Layout, Repository, Scope};
use skill_evals_cases::checks::grading_input::ProgramRuns;
use skill_evals_cases::checks::grading_input::{Contents, Unknown};
use skill_evals_cases::checks::{GradingInput, PrintedOnce};
use skill_evals_evidence::settings::mode::{AgentKind, Delivery};
use skill_evals_evidence::settings::{ActivationRule, Prices};
use skill_evals_evidence::trace::exposure::Reference;
use skill_evals_evidence::trial::evidence::{Evidence, META_FORMAT, Meta};
use skill_evals_evidence::trial::outcome::Status;

use skill_evals_testing::repository;

fn fixture() -> PathBuf {
    repository().join("tests/fixtures/plugin_evals")
}

/// What a run of the real program left.
#[derive(Debug)]
struct Left {
    output: Vec<u8>,
    files: BTreeMap<String, Vec<u8>>,
}

impl Contents for Left {
    fn of_workspace(&self, path: &Path) -> Result<Vec<u8>, Unknown> {
        self.files.get(&*path.to_string_lossy()).cloned().ok_or_else(|| "its content is not stored".into())
    }

    fn of_output(&self) -> Result<Vec<u8>, Unknown> {
        Ok(self.output.clone())
    }

    fn of_repository(&self, _: &Path) -> Result<Vec<u8>, Unknown> {
        Err("the repository is not known".into())
    }
}

/// The results of the graders of a case, each with its name, about what the real program left.
fn graded(case: &Case, skill: &skill_evals_evidence::skill::Skill) -> Vec<(String, Status, String)> {
    let folder = fixture().join("runs").join(&case.id);
    let trace = agent::of(AgentKind::ClaudeCli).decode(&Reference::default(), &folder).expect("the session");
    let read = |name: &str| fs::read(folder.join(name)).expect("a file of the run");
    let stored: BTreeMap<String, Value> = serde_json::from_slice(&read("files.json")).expect("JSON");
    let files = stored.iter().map(|(path, content)| (path.clone(), bytes(content))).collect();
    // A trial stores some characters as escapes.
    let output = String::from_utf8(read("trace.jsonl"))
        .expect("UTF-8")
        .replace('\u{2028}', "\\u2028")
        .replace('\u{7f}', "\\u007F");
    let left = Left { output: output.into_bytes(), files };
    let scaffolded = case.setup.iter().flat_map(|script| script.split(['>', ';', '&', '\n']));
    let scaffolded: Vec<&str> = scaffolded.map(str::trim).collect();
    let listed = stored.keys().map(|path| {
        let was_there = scaffolded.contains(&path.as_str());
        let edited = was_there && path == "seed.txt";
        json!({ "path": path, "size": 1, "changed": !was_there || edited, "edited": edited, "by_setup": was_there && !edited })
    });
    let meta: Meta = serde_json::from_value(json!({
        "format": META_FORMAT,
        "run_id": "t",
        "skill": { "name": "brew", "slug": "brew" },
        "case": { "id": case.id, "prompt": case.prompt, "sandbox": case.sandbox, "timeout_s": 60 },
        "mode": "cli-native",
        "trial": 1,
        "agent": { "kind": AgentKind::ClaudeCli },
        "delivery": Delivery::Native,
        "started": "2026-01-01T00:00:00Z",
        "ending": { "exit_code": 0, "duration_ms": 1 },
        "inputs": {},
        "files": listed.collect::<Vec<_>>(),
        "links": if case.id == "files" { vec!["link.txt"] } else { Vec::new() },
    }))
    .expect("facts");
    let evidence = Evidence { meta: &meta, trace: &trace, final_text: trace.final_message.as_deref() };
    let subject = GradingInput {
        skill,
        schema: None,
        activation: ActivationRule::default(),
        evidence: &evidence,
        contents: &left,
        prices: &Prices::default(),
        programs: &ProgramRuns::new(),
        printed: &PrintedOnce::default(),
    };
    let results = case.checks.iter().flat_map(|check| check.evaluate(&subject));
    let own = |id: &str| id.strip_prefix("names-skill: ").unwrap_or(id).to_owned();
    let name = |id: &str| own(id).split_once(": ").map_or_else(String::new, |(_, name)| name.to_owned());
    results.map(|result| (name(&result.id), result.status, format!("{} | {}", result.expected, result.found))).collect()
}

/// The digits of Base64.
const DIGITS: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

fn bytes(content: &Value) -> Vec<u8> {
    let Some(encoded) = content["base64"].as_str() else {
        return content.as_str().expect("a text").as_bytes().to_vec();
    };
    let digit = |byte: &u8| DIGITS.iter().position(|known| known == byte);
    let bits =
        encoded.as_bytes().iter().filter_map(digit).flat_map(|digit| (0..6).rev().map(move |bit| digit >> bit & 1));
    let bits: Vec<usize> = bits.collect();
    bits.chunks_exact(8)
        .map(|byte| byte.iter().fold(0, |byte, bit| byte << 1 | bit))
        .filter_map(|byte| u8::try_from(byte).ok())
        .collect()
}

#[test]
fn graders_of_a_plugin_eval_say_what_the_real_program_says() {
    let root = fixture().join("plugin");
    let catalog = Repository::new(root.clone()).catalog(Layout::default(), Scope::All);
    let problems: Vec<String> =
        catalog.problems.iter().filter(|problem| problem.is_error()).map(ToString::to_string).collect();
    assert_eq!(problems, Vec::<String>::new());
    let verdicts: Value =
        serde_json::from_slice(&fs::read(fixture().join("verdicts.json")).expect("the verdicts")).expect("JSON");
    let (mut equal, mut differ, mut unknown) = (0, Vec::new(), Vec::new());
    for (id, wanted) in verdicts["cases"].as_object().expect("cases") {
        let found = catalog.cases.iter().find(|found| found.id == *id).unwrap_or_else(|| panic!("no case {id}"));
        let case = found.case().expect("a case");
        let skill = catalog.skill(&case.skill).expect("the skill of the plugin").skill();
        for (name, status, what) in graded(case, skill) {
            // A judge answers these; the check says only that there is its file.
            if name.starts_with("llm") {
                continue;
            }
            let passed = wanted[&name].as_bool().unwrap_or_else(|| panic!("no verdict of {id} {name}"));
            match status {
                Status::Unknown => unknown.push(format!("{id} {name}")),
                status if (status == Status::Pass) == passed => equal += 1,
                _ => differ.push(format!("{id} {name}: {passed}; {what}")),
            }
        }
    }
    assert_eq!(differ, Vec::<String>::new(), "{equal} are equal");
    // A link is not followed. A pattern that every text matches, or none, says nothing, whatever the real program makes of it.
    let without_effect = [100, 152, 153, 154, 155, 156, 233].map(|number| format!("regex regex-{number}"));
    assert_eq!(unknown, [&["files of-files-055".to_owned()][..], &without_effect].concat());
    assert!(equal > 300, "{equal}");
}
