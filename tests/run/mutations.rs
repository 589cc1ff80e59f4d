//! What an agent printed and kept, changed as a version that nobody knows may change it: lines and fields that are renamed, lost, cut,
//! late, come twice or are new. No verdict may follow from such a change: a check has the answer that it had, or none.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use skill_evals::run::planned::PlannedRun;
use skill_evals::run::stored_trial::StoredTrial;
use skill_evals_agents::agent;
use skill_evals_cases::cases::catalog::FoundSkill;
use skill_evals_cases::cases::repository::{Layout, Repository, Scope};
use skill_evals_cases::checks::grading_input::NoContents;
use skill_evals_cases::checks::grading_input::ProgramRuns;
use skill_evals_cases::checks::pattern::{Pattern, Style};
use skill_evals_cases::checks::text_test::TextTest;
use skill_evals_cases::checks::{self, CaseCheck, GradingInput, PrintedOnce, TextPlace};
use skill_evals_cases::grade::checks::grade;
use skill_evals_evidence::settings::{ActivationRule, Prices, Settings};
use skill_evals_evidence::trace::{Step, Trace};
use skill_evals_evidence::trial::outcome::Verdict;
use skill_evals_results::store::trial_at;

use skill_evals_testing::{files_below, repository};

/// The files that an agent leaves.
const FILES: [&str; 5] = ["trace.jsonl", "rollout.jsonl", "session.jsonl", "subagents.jsonl", "final.txt"];

/// What may be named otherwise: the kinds of lines, items and blocks, and the names of tools.
const NAMES: [&str; 6] = ["type", "subtype", "name", "namespace", "role", "status"];

/// Of this number of changes of fields, each recording has one. All recordings together have each.
const SHARE: usize = 8;

/// The most recordings of an agent.
const MOST: usize = 44;

/// The recordings of an agent.
fn recordings(agent: &str) -> Vec<PathBuf> {
    let files = files_below(&repository().join("evals/recordings")).into_iter();
    let files = files.filter(|path| path.ends_with("meta.json"));
    let folders = files.filter_map(|path| Some(path.parent()?.to_path_buf()));
    folders
        .filter(|folder| {
            let meta: Value =
                serde_json::from_slice(&fs::read(folder.join("meta.json")).expect("facts")).expect("JSON");
            meta["agent"]["kind"].as_str().is_some_and(|kind| kind.starts_with(agent))
        })
        .take(MOST)
        .collect()
}

/// A trial whose files are changed.
struct Mutant {
    folder: tempfile::TempDir,
    files: BTreeMap<&'static str, Vec<u8>>,
}

impl Mutant {
    fn of(recording: &Path) -> Self {
        let folder = tempfile::tempdir().expect("a directory");
        let read = |name: &str| fs::read(recording.join(name)).ok();
        let files: BTreeMap<_, _> = FILES.into_iter().filter_map(|name| Some((name, read(name)?))).collect();
        for (name, content) in &files {
            fs::write(folder.path().join(name), content).expect("a file");
        }
        Self { folder, files }
    }

    fn with<T>(&self, name: &str, content: Option<&[u8]>, read: impl FnOnce() -> T) -> T {
        let path = self.folder.path().join(name);
        match content {
            Some(content) => fs::write(&path, content),
            None => fs::remove_file(&path),
        }
        .expect("a file");
        let read = read();
        fs::write(&path, &self.files[name]).expect("a file");
        read
    }
}

fn lines(content: &[u8]) -> Vec<&[u8]> {
    content.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()).collect()
}

fn joined(lines: &[&[u8]]) -> Vec<u8> {
    lines.iter().flat_map(|line| [*line, b"\n"]).flatten().copied().collect()
}

/// Every line that differs from this one in one name, field or text, with what differs.
fn changed(line: &Value) -> Vec<(String, Value)> {
    let mut all = Vec::new();
    change_in(line, &mut Vec::new(), &mut |what, path, value| {
        let mut other = line.clone();
        let (last, parents) = path.split_last().expect("a field");
        let parent = parents.iter().fold(&mut other, |at, step| match at {
            Value::Array(items) => &mut items[step.parse::<usize>().expect("a number")],
            at => &mut at[step.as_str()],
        });
        let Value::Object(fields) = parent else { return };
        let old = fields.remove(last.as_str()).expect("a field");
        match value {
            Some(value) => _ = fields.insert(last.clone(), value),
            None if what == "field renamed" => _ = fields.insert(format!("{last}X"), old),
            None => {}
        }
        let pattern: Vec<&str> =
            path.iter().map(|step| if step.parse::<usize>().is_ok() { "*" } else { step.as_str() }).collect();
        all.push((format!("{what}: {}", pattern.join("/")), other));
    });
    all
}

type Change<'c> = dyn FnMut(&str, &[String], Option<Value>) + 'c;

fn change_in(value: &Value, path: &mut Vec<String>, change: &mut Change<'_>) {
    let children: Vec<(String, &Value)> = match value {
        Value::Object(fields) => fields.iter().map(|(key, value)| (key.clone(), value)).collect(),
        Value::Array(list) => list.iter().enumerate().map(|(at, value)| (at.to_string(), value)).collect(),
        _ => return,
    };
    for (key, child) in children {
        path.push(key.clone());
        if value.is_object() {
            change("field lost", path, None);
            change("field renamed", path, None);
            if let Some(text) = child.as_str() {
                if NAMES.contains(&key.as_str()) {
                    change("name changed", path, Some(json!(format!("{text}X"))));
                } else if text.len() > 40 {
                    let cut = (1..text.len() / 2).rev().find(|at| text.is_char_boundary(*at)).unwrap_or_default();
                    change("text cut", path, Some(json!(text[..cut])));
                }
            }
        }
        change_in(child, path, change);
        path.pop();
    }
}

/// Every change of a file, with what it is.
fn mutations(name: &str, content: &[u8]) -> Vec<(String, Option<Vec<u8>>)> {
    let mut all = vec![(format!("{name} lost"), None)];
    if name == "final.txt" {
        all.push((format!("{name} cut"), Some(content[..content.len() / 2].to_vec())));
        return all;
    }
    let lines = lines(content);
    for (at, line) in lines.iter().enumerate() {
        let value: Value = serde_json::from_slice(line).unwrap_or_default();
        let kind = [&value["type"], &value["subtype"], &value["payload"]["type"], &value["item"]["type"]];
        let kind: Vec<&str> = kind.into_iter().filter_map(Value::as_str).collect();
        let mut add = |what: &str, lines: &[&[u8]]| {
            all.push((format!("{name} {} {what}", kind.join(" ")), Some(joined(lines))));
        };
        let without = [&lines[..at], &lines[at + 1..]].concat();
        add("line lost", &without);
        add("line late", &[&without[..], &[line]].concat());
        add("line twice", &[&lines[..=at], &lines[at..]].concat());
        add("line cut", &[&lines[..at], &[&line[..line.len() / 2]], &lines[at + 1..]].concat());
        add("file cut", &lines[..at]);
        let new = json!({ "type": "hologram", "payload": { "type": "hologram", "name": "load_skill" } }).to_string();
        add("new line", &[&lines[..at], &[new.as_bytes()], &lines[at..]].concat());
        for (what, other) in changed(&value) {
            add(&what, &[&lines[..at], &[other.to_string().as_bytes()], &lines[at + 1..]].concat());
        }
    }
    all
}

/// What a trial may be asked: what happened in it, and the opposite.
fn questions(trace: &Trace, answer: &str) -> Vec<CaseCheck> {
    let pattern = |text: &str| Pattern { text: text.to_owned(), style: Style::Literal };
    let mut all: Vec<CaseCheck> = [true, false].map(checks::triggers).into();
    all.extend([
        checks::loads(pattern("")),
        checks::rejects(Vec::new()),
        checks::activates(vec!["*".to_owned()], false),
    ]);
    all.extend([trace.effective_commands, trace.effective_commands.saturating_sub(1)].map(checks::max_commands));
    let last = answer.split_whitespace().next_back().unwrap_or_default();
    for word in [last, "nobody says this"] {
        let test = TextTest::from(pattern(word));
        all.push(checks::text(TextPlace::Final, test.clone()));
        all.push(checks::text(TextPlace::All, TextTest { negated: true, ..test }));
    }
    let command = trace.steps.iter().find_map(|step| match step {
        Step::Command { command, .. } => command.split_whitespace().next(),
        _ => None,
    });
    for command in [command.unwrap_or("cat"), "rm"] {
        all.extend([true, false].map(|is_required| checks::script_command(pattern(command), is_required)));
    }
    all
}

fn verdicts(stored: &StoredTrial, skill: &FoundSkill, run: &PlannedRun, asked: &[CaseCheck]) -> Vec<Verdict> {
    let found = run.catalog.cases_of(&stored.meta.skill.slug).find(|found| found.id == stored.meta.case.id);
    let case = found.and_then(|found| found.case().ok()).expect("a case");
    let verdict = |check: &CaseCheck| {
        let mut case = case.clone();
        (case.checks, case.max_turns, case.assertions) = (vec![check.clone()], None, Vec::new());
        let subject = GradingInput {
            skill: skill.skill(),
            schema: None,
            activation: ActivationRule::default(),
            evidence: &stored.evidence(),
            programs: &ProgramRuns::new(),
            contents: &NoContents,
            prices: &Prices::default(),
            printed: &PrintedOnce::default(),
        };
        grade(&case, &subject).verdict
    };
    asked.iter().map(verdict).collect()
}

/// The changes of this agent's recordings after which a question has another answer, each with the question and the recordings.
fn wrong(agent: &str, most: usize, at_least: usize) -> BTreeMap<String, usize> {
    let root = repository();
    let catalog = Repository::new(root.to_path_buf()).catalog(Layout::default(), Scope::All);
    let run = PlannedRun::new(root.to_path_buf(), Settings::default(), catalog);
    let recordings: Vec<PathBuf> = recordings(agent).into_iter().take(most).collect();
    assert!(recordings.len() >= at_least, "{}", recordings.len());
    let mut wrong = BTreeMap::new();
    for (number, recording) in recordings.into_iter().enumerate() {
        let mutant = Mutant::of(&recording);
        let StoredTrial { meta, .. } = StoredTrial::read(&run, &trial_at(&recording)).expect("a recording");
        let reference = run.texts.reference(&run.root, &run.catalog, &meta, &trial_at(&recording));
        let agent = agent::of(meta.agent.kind);
        let read = || StoredTrial {
            meta: meta.clone(),
            trace: agent.decode(&reference, mutant.folder.path()).expect("what files hold is never an error"),
            final_text: fs::read_to_string(mutant.folder.path().join("final.txt")).ok(),
        };
        let stored = read();
        let skill = run.catalog.skill(&stored.meta.skill.slug).expect("a skill");
        let asked = questions(&stored.trace, stored.final_text.as_deref().unwrap_or_default());
        let before = verdicts(&stored, skill, &run, &asked);
        assert!(
            before.contains(&Verdict::Pass) && before.contains(&Verdict::Fail),
            "{}: {before:?} {:?}",
            recording.display(),
            stored.trace.gap()
        );
        for (name, content) in &mutant.files {
            for (at, (what, content)) in mutations(name, content).into_iter().enumerate() {
                if what.contains(": ") && at % SHARE != number % SHARE {
                    continue;
                }
                let stored = mutant.with(name, content.as_deref(), read);
                let after = verdicts(&stored, skill, &run, &asked);
                for ((was, is), check) in before.iter().zip(&after).zip(&asked) {
                    if is != was && matches!(is, Verdict::Pass | Verdict::Fail) {
                        *wrong.entry(format!("{} {was} → {is}, {what}", check.kind.id)).or_default() += 1;
                    }
                }
            }
        }
    }
    wrong
}

#[test]
fn no_change_of_what_codex_left_changes_a_verdict() {
    assert_eq!(wrong("codex", MOST, 40), BTreeMap::new());
}

#[test]
fn no_change_of_what_claude_left_changes_a_verdict() {
    assert_eq!(wrong("claude", MOST, 20), BTreeMap::new());
}

/// The other agents whose recordings have a second source, or lines that follow each other.
#[test]
fn no_change_of_one_line_of_what_another_agent_left_changes_a_verdict() {
    let agents = ["qwen", "droid", "copilot", "cline", "kimi", "gemini", "opencode", "vibe", "chat"];
    // Of each agent a few, in the nightly script all.
    let most = std::env::var("MUTATED_RECORDINGS").ok().and_then(|most| most.parse().ok()).unwrap_or(4);
    let wrong: BTreeMap<_, _> = agents.map(|agent| (agent, wrong(agent, most, 4))).into_iter().collect();
    println!("{wrong:#?}");
    assert!(wrong.values().all(BTreeMap::is_empty));
}

/// The trace of a recording of this repository whose lines are changed so.
fn trace_after(recording: &str, change: impl Fn(&mut Vec<String>)) -> Trace {
    let root = repository();
    let recording = root.join("evals/recordings").join(recording).join("1");
    let catalog = Repository::new(root.to_path_buf()).catalog(Layout::default(), Scope::All);
    let run = PlannedRun::new(root.to_path_buf(), Settings::default(), catalog);
    let StoredTrial { meta, .. } = StoredTrial::read(&run, &trial_at(&recording)).expect("a recording");
    let reference = run.texts.reference(&run.root, &run.catalog, &meta, &trial_at(&recording));
    let mutant = Mutant::of(&recording);
    let content = String::from_utf8(mutant.files["trace.jsonl"].clone()).expect("text");
    let mut lines: Vec<String> = content.lines().map(str::to_owned).collect();
    change(&mut lines);
    mutant.with("trace.jsonl", Some(lines.join("\n").as_bytes()), || {
        agent::of(meta.agent.kind).decode(&reference, mutant.folder.path()).expect("a trace")
    })
}

/// The same with one text in place of another.
fn replaced(recording: &str, from: &str, to: &str) -> Trace {
    let trace = trace_after(recording, |lines| {
        let before = lines.clone();
        *lines = before.iter().map(|line| line.replace(from, to)).collect();
        assert_ne!(*lines, before, "{recording} has no {from}");
    });
    assert_eq!(trace_after(recording, |_| ()).gap(), None, "{recording}");
    trace
}

/// How a call of each agent names the skill.
const NAMED: [(&str, &str); 8] = [
    ("qwen", r#""skill":"NAME""#),
    ("cline", r#""skill":"NAME""#),
    ("copilot", r#""skill":"NAME""#),
    ("droid", r#""skill":"NAME""#),
    ("gemini", r#""name":"NAME""#),
    ("chat", r#""name":"NAME""#),
    ("opencode", r#""name":"NAME""#),
    ("vibe", r#"\"name\":\"NAME\""#),
];

#[test]
fn an_empty_name_of_a_skill_is_none() {
    for (agent, call) in NAMED {
        let recording = format!("greeting/implicit/{agent}");
        let trace = replaced(&recording, &call.replace("NAME", "greeting"), &call.replace("NAME", ""));
        assert!(trace.gap().is_some_and(|gap| gap.contains("names no skill")), "{agent}: {:?}", trace.gap());
    }
}

#[test]
fn the_text_that_the_model_got_says_which_skill_was_loaded_and_not_the_name_in_the_call() {
    for (agent, call) in NAMED {
        let recording = format!("code-style/implicit/{agent}");
        let trace = replaced(&recording, &call.replace("NAME", "code-style"), &call.replace("NAME", "code-style_x"));
        assert!(trace.is_active("code-style") || trace.gap().is_some(), "{agent}: {:?}", trace.activations);
    }
}

#[test]
fn a_line_without_what_its_type_has_is_a_gap() {
    for (recording, from, to) in [
        ("xlsx/build-model/opencode", r#""part":"#, r#""piece":"#),
        ("code-style/implicit/cline", r#""event":{"#, r#""evt":{"#),
        ("code-style/implicit/gemini", r#""role":"assistant""#, r#""role":"robot""#),
        ("greeting/implicit/vibe", r#""result":{"finish"#, r#""resultX":{"finish"#),
        ("template-generator/implicit/vibe", "structured_content", "structured_contend"),
        ("greeting/implicit/qwen", r#""content":[{"text""#, r#""contentX":[{"text""#),
        ("greeting/implicit/droid", r#""text":"Hello, Priya"#, r#""textX":"Hello, Priya"#),
        ("greeting/implicit/copilot", r#""content":"Hello"#, r#""contentX":"Hello"#),
        ("greeting/implicit/chat", r#""calls":"#, r#""callsX":"#),
        ("greeting/implicit/kimi", r#""tool_calls":"#, r#""tool_callsX":"#),
    ] {
        assert!(replaced(recording, from, to).gap().is_some(), "{recording} {to}");
    }
}

#[test]
fn a_call_whose_lines_are_all_lost_is_a_gap_if_another_source_shows_it() {
    for (recording, lost) in [
        ("greeting/implicit/qwen", 1..3),
        ("greeting/implicit/droid", 1..3),
        ("greeting/implicit/copilot", 0..4),
        ("greeting/implicit/cline", 1..4),
        ("template-generator/implicit/cli-native", 4..6),
    ] {
        let trace = trace_after(recording, |lines| _ = lines.drain(lost.clone()));
        assert!(trace.gap().is_some(), "{recording}");
    }
}

#[test]
fn a_last_answer_of_vibe_that_is_lost_is_no_end_by_turns() {
    let trace = trace_after("greeting/implicit/vibe", |lines| _ = lines.remove(5));
    assert_eq!((trace.stopped, trace.trouble.is_some()), (None, false));
    assert!(trace.gap().is_some_and(|gap| gap.contains("how the model's last answer ended")), "{:?}", trace.gap());
}
