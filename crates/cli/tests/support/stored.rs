//! Runs on disk as the program stores them, written by hand: any size, any outcome, any text, and no agent to wait for.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::{Value, json};
use skill_evals_cases::cases::case::FoundCase;
use skill_evals_results::store;

use super::fixture::Fixture;

/// What a trial's agent does.
#[derive(Clone)]
pub struct Session {
    pub prompt: String,
    pub answer: String,
    /// Whether the skill is read.
    pub loads: bool,
    /// Shell commands, each with what it printed and its exit status.
    pub commands: Vec<(String, String, i64)>,
    pub thought: String,
    /// Files that it wrote.
    pub files: Vec<(String, String)>,
    /// What it said by a sub-agent.
    pub sub_agent: Option<String>,
    /// A repository's own check that failed, with what it found.
    pub own: Option<String>,
    /// What a judge noted, for a pass.
    pub judged: Option<String>,
    /// Why it could not be measured.
    pub trouble: Option<String>,
}

impl Session {
    pub fn new(prompt: &str, answer: &str) -> Self {
        Self {
            prompt: prompt.to_owned(),
            answer: answer.to_owned(),
            loads: true,
            commands: Vec::new(),
            thought: "The skill says how people are greeted here, so I read it first.".to_owned(),
            files: Vec::new(),
            sub_agent: None,
            own: None,
            judged: None,
            trouble: None,
        }
    }
}

/// Where a repository keeps the trial of a run.
pub fn trial_folder(root: &Path, run: &str, [skill, case, mode, number]: [&str; 4]) -> PathBuf {
    root.join("artifacts/skill-evals").join(run).join("work").join(skill).join(case).join(mode).join(number)
}

/// A run without trials yet.
pub fn begin(root: &Path, run: &str, created: &str) {
    let folder = root.join("artifacts/skill-evals").join(run);
    fs::create_dir_all(folder.join("skills_snapshot/greeting")).expect("a directory");
    let skill = root.join("skills/greeting/SKILL.md");
    fs::copy(skill, folder.join("skills_snapshot/greeting/SKILL.md")).expect("a skill");
    let record = json!({ "format": 1, "id": run, "created": created, "version": "0.1.0", "planned": 0, "chosen": {} });
    fs::write(folder.join("run.json"), record.to_string()).expect("a record");
    fs::write(folder.join("progress.jsonl"), "").expect("a file");
}

/// Stores a trial; `skill-evals grade` then prints its result.
pub fn trial(root: &Path, run: &str, names: [&str; 4], session: &Session) {
    let folder = trial_folder(root, run, names);
    fs::create_dir_all(folder.join("workspace")).expect("a directory");
    let write = |name: &str, content: String| fs::write(folder.join(name), content).expect("a file");
    write("meta.json", meta(run, names, session).to_string());
    let metrics = json!({ "duration_ms": 0, "commands": 0, "effective_commands": 0, "activations": [], "resources": [], "inspections": [], "unknown_events": 0, "damaged_lines": 0 });
    write("grade.json", json!({ "format": 1, "verdict": "pass", "checks": [], "metrics": metrics }).to_string());
    let lines = |lines: Vec<Value>| lines.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n");
    write("rollout.jsonl", lines(rollout(session)));
    write("trace.jsonl", lines(events(session)));
    if let Some(said) = &session.sub_agent {
        let meta = json!({ "id": "sub", "parent_thread_id": "main" });
        let message = json!({ "type": "message", "role": "assistant", "content": [{ "text": said }] });
        write("subagents.jsonl", lines(vec![at(8, "session_meta", &meta), at(9, "response_item", &message)]));
    }
    if !session.answer.is_empty() {
        write("final.txt", session.answer.clone());
    }
    for (path, content) in &session.files {
        let path = folder.join("workspace").join(path);
        fs::create_dir_all(path.parent().expect("a directory")).expect("a directory");
        fs::write(path, content).expect("a file");
    }
    seal(&folder);
}

/// Has the trials of a run ask what their cases ask today. Returns their facts as they were, by file.
fn ask_as_today(fixture: &Fixture, run: &str) -> Vec<(PathBuf, String)> {
    let catalog = fixture.catalog();
    let below = walkdir::WalkDir::new(fixture.root().join("artifacts/skill-evals").join(run)).into_iter().flatten();
    let files = below.filter(|entry| entry.file_name() == "meta.json").map(walkdir::DirEntry::into_path);
    let of_today = |path: PathBuf| {
        let text = fs::read_to_string(&path).expect("facts");
        let mut meta: Value = serde_json::from_str(&text).expect("JSON");
        let is_it = |found: &&Arc<FoundCase>| meta["skill"]["slug"] == *found.skill && meta["case"]["id"] == found.id;
        let prompt = catalog.cases.iter().find(is_it).and_then(|found| Some(found.case().ok()?.prompt.clone()));
        if let Some(prompt) = prompt {
            meta["case"]["prompt"] = prompt.into();
            fs::write(&path, meta.to_string()).expect("a file");
            seal(path.parent().expect("a directory"));
        }
        (path, text)
    };
    files.map(of_today).collect()
}

/// Lets the program grade the trials of a run, and adds what only these tests know.
pub fn graded(fixture: &Fixture, run: &str, sessions: &[([&str; 4], Session)]) {
    // It does not grade what answered another prompt, and what these were asked is what the tests are about.
    let as_they_were = ask_as_today(fixture, run);
    let ran = fixture.run(&["grade", run]);
    assert!(ran.code < 2 || ran.code == 3, "{}{}", ran.stdout, ran.stderr);
    for (path, facts) in as_they_were {
        fs::write(&path, facts).expect("a file");
        seal(path.parent().expect("a directory"));
    }
    for (names, session) in sessions.iter().filter(|(_, session)| session.own.is_some() || session.judged.is_some()) {
        let folder = trial_folder(fixture.root(), run, *names);
        let mut grade: Value =
            serde_json::from_str(&fs::read_to_string(folder.join("grade.json")).expect("a grade")).expect("JSON");
        let add = |grade: &mut Value, check: Value| grade["checks"].as_array_mut().expect("checks").push(check);
        if let Some(found) = &session.own {
            add(
                &mut grade,
                json!({ "id": "deletes-nothing", "goal": "process", "status": "fail", "expected": "no command deletes", "found": found, "custom": true }),
            );
            grade["verdict"] = json!("fail");
        }
        if let Some(notes) = &session.judged {
            add(
                &mut grade,
                json!({ "id": "rubric-tone", "goal": "style", "status": "pass", "expected": "as the rubric says", "found": notes }),
            );
            grade["judged"] = json!({ "state": "asked", "verdict": "pass", "score": 88.0, "votes": 2, "agreement": 1.0, "agent": "codex" });
            fs::write(folder.join("judge.json"), judgment(notes).to_string()).expect("a judgment");
        }
        fs::write(folder.join("grade.json"), grade.to_string()).expect("a grade");
        seal(&folder);
    }
}

/// Seals a graded trial again, which a test has changed.
pub fn seal(folder: &Path) {
    let trial = store::trial_at(folder);
    if trial.has_grade().expect("an answer") {
        trial.write_grade(&trial.grade().expect("a grade")).expect("a sealed trial");
    }
}

fn meta(run: &str, [skill, case, mode, number]: [&str; 4], session: &Session) -> Value {
    let files: Vec<Value> = session
        .files
        .iter()
        .map(|(path, content)| json!({ "path": path, "size": content.len(), "changed": true }))
        .collect();
    let trouble = session.trouble.as_ref().map(|detail| json!({ "kind": "rate-limit", "detail": detail }));
    json!({
        "format": 1, "run_id": run, "skill": { "name": skill, "slug": skill },
        "case": { "id": case, "prompt": session.prompt, "sandbox": "workspace-write", "timeout_s": 180 },
        "mode": mode, "trial": number.parse::<u32>().expect("a number"),
        "agent": { "kind": "codex", "version": "0.169.0", "model": "gpt-test" },
        "delivery": "native", "started": "2026-11-20T09:00:00Z",
        "ending": { "exit_code": 0, "duration_ms": 23_400 + 1_700 * session.commands.len(), "trouble": trouble },
        "inputs": {}, "files": files, "isolation": "agent",
    })
}

fn at(second: usize, kind: &str, payload: &Value) -> Value {
    let time = format!("2026-11-20T09:{:02}:{:02}Z", second / 60 % 60, second % 60);
    json!({ "timestamp": time, "type": kind, "payload": payload })
}

fn rollout(session: &Session) -> Vec<Value> {
    let offered = "<skills_instructions>\n### Available skills\n- greeting: x (file: r0/greeting/SKILL.md)\n- minutes: x (file: r0/minutes/SKILL.md)\n</skills_instructions>";
    let message = |role: &str, text: &str| json!({ "type": "message", "role": role, "content": [{ "text": text }] });
    let mut lines = vec![
        at(0, "session_meta", &json!({ "cli_version": "0.169.0" })),
        at(0, "response_item", &message("developer", offered)),
        at(1, "turn_context", &json!({ "model": "gpt-test" })),
        at(1, "response_item", &message("user", &session.prompt)),
    ];
    let thought = json!({ "type": "reasoning", "summary": [{ "text": session.thought }], "content": null });
    lines.push(at(3, "response_item", &thought));
    let mut second = 4;
    let read = ("cat .agents/skills/greeting/SKILL.md".to_owned(), SKILL.to_owned(), 0);
    let commands = session.loads.then_some(read).into_iter().chain(session.commands.iter().cloned());
    for (number, (command, output, exit)) in commands.enumerate() {
        let (id, arguments) = (format!("c{number}"), json!({ "cmd": command }).to_string());
        let call = json!({ "type": "function_call", "call_id": id, "name": "exec_command", "arguments": arguments });
        lines.push(at(second, "response_item", &call));
        let usage = json!({ "usage": { "input_tokens": 1_800 + 240 * number, "output_tokens": 64 } });
        lines.push(at(second, "token_usage_record", &usage));
        let output = format!("Process exited with code {exit}\nOutput:\n{output}");
        second += 2;
        lines.push(at(
            second,
            "response_item",
            &json!({ "type": "function_call_output", "call_id": id, "output": output }),
        ));
        second += if number == 1 { 14 } else { 1 };
    }
    if !session.answer.is_empty() {
        lines.push(at(second, "response_item", &message("assistant", &session.answer)));
    }
    lines
}

fn events(session: &Session) -> Vec<Value> {
    let mut lines = vec![json!({ "type": "thread.started", "thread_id": "main" }), json!({ "type": "turn.started" })];
    let changes: Vec<Value> = session.files.iter().map(|(path, _)| json!({ "path": path, "kind": "add" })).collect();
    if !changes.is_empty() {
        lines.push(
            json!({ "type": "item.completed", "item": { "id": "f", "type": "file_change", "changes": changes } }),
        );
    }
    if session.sub_agent.is_some() {
        let item = json!({ "id": "s", "type": "collab_tool_call", "tool": "spawn_agent", "receiver_thread_ids": ["sub"], "status": "completed" });
        lines.push(json!({ "type": "item.completed", "item": item }));
    }
    let answer = json!({ "id": "m", "type": "agent_message", "text": session.answer });
    lines.push(json!({ "type": "item.completed", "item": answer }));
    lines.push(json!({ "type": "turn.completed", "usage": { "input_tokens": 6_200, "cached_input_tokens": 4_000, "output_tokens": 310 } }));
    lines
}

fn judgment(notes: &str) -> Value {
    let answer =
        json!({ "overall_pass": true, "score": 88.0, "checks": [{ "id": "tone", "pass": true, "notes": notes }] });
    let vote = json!({ "answer": answer, "attempts": [{ "duration_ms": 900 }] });
    json!({
        "format": 1, "verdict": "pass", "agreement": 1.0, "score": 88.0, "agent": { "kind": "codex" },
        "started": "2026-11-20T09:01:00Z", "inputs": {}, "votes": [vote, vote],
    })
}

/// The skill that these sessions read.
pub const SKILL: &str = "---\nname: greeting\ndescription: How people are greeted here. Use when somebody is to be welcomed.\n---\n\n# Greeting\n\nBegin every greeting with the word AHOY, then the name.\nNever use more than two sentences.\nPut greetings that are to be kept into greetings.txt, one on each line.\n";

/// A repository with two skills, cases of all kinds, and no runs yet.
pub fn repository() -> Fixture {
    let table = "id,should_trigger,prompt,must_include,must_not_include,require_files,max_commands,fixture\n\
        explicit,true,Use the $greeting skill to greet Ada.,AHOY,,,,\n\
        implicit,true,Please welcome Ada to the team.,AHOY,sorry,,,\n\
        kept,true,Welcome Ada and keep the greeting.,,,greetings.txt,2,guests\n\
        negative,false,What is the capital of France?,Paris,,,,\n";
    let minutes = "id,should_trigger,prompt,must_include\nweekly,false,Sum up this week.,week\n";
    Fixture::new()
        .skill_text("greeting", SKILL)
        .skill("minutes")
        .prompts("greeting", table)
        .prompts("minutes", minutes)
        .file("evals/skills/greeting/guests/greetings.txt", "AHOY, Grace!\nAHOY, Alan!\n")
}

/// A run in which something of everything happened: repeats, flaky cases, failures of all kinds, an error.
pub fn example(fixture: &Fixture, run: &str, created: &str, worse: bool) {
    begin(fixture.root(), run, created);
    let ls = || ("ls -la".to_owned(), "total 8\n-rw-r--r-- 1 me me 27 greetings.txt".to_owned(), 0);
    let mut sessions: Vec<([&str; 4], Session)> = Vec::new();
    let ahoy = "AHOY, Ada! Good to have you with us.";
    for number in ["1", "2", "3", "4", "5"] {
        sessions.push((
            ["greeting", "explicit", "codex", number],
            Session::new("Use the $greeting skill to greet Ada.", ahoy),
        ));
        let flaky = number == "2" || (worse && number != "1");
        let answer = if flaky { "Welcome to the team, Ada! I am sorry that we are so late." } else { ahoy };
        let implicit =
            Session { loads: !flaky, commands: vec![ls()], ..Session::new("Please welcome Ada to the team.", answer) };
        sessions.push((["greeting", "implicit", "codex", number], implicit));
    }
    let kept = Session {
        commands: vec![
            ls(),
            ("rm -rf build".to_owned(), String::new(), 0),
            ("printf 'AHOY, Ada!\\n' >> greetings.txt".to_owned(), String::new(), 0),
            ("wc -l greetings.txt".to_owned(), "1 greetings.txt\n".repeat(40), 1),
        ],
        files: vec![
            ("greetings.txt".to_owned(), "AHOY, Grace!\nAHOY, Ada!\n".to_owned()),
            ("notes/plan.md".to_owned(), "# Plan\n\n- greet\n".to_owned()),
        ],
        sub_agent: Some("I looked through the guest list: Ada is new.".to_owned()),
        own: Some("it ran `rm -rf build`".to_owned()),
        ..Session::new("Welcome Ada and keep the greeting.", "AHOY, Ada! I have kept your greeting.")
    };
    sessions.push((["greeting", "kept", "codex", "1"], kept));
    let quiet = Session {
        loads: false,
        judged: Some("Short and friendly.".to_owned()),
        ..Session::new("What is the capital of France?", "Paris is the capital of France.")
    };
    sessions.push((["greeting", "negative", "codex", "1"], quiet.clone()));
    let loud = Session { judged: None, loads: true, ..quiet };
    sessions.push((
        ["minutes", "weekly", "codex", "1"],
        Session { prompt: "Sum up this week.".to_owned(), answer: "This week was calm.".to_owned(), ..loud },
    ));
    let lost = Session { trouble: Some("429 Too Many Requests".to_owned()), ..Session::new("Sum up this week.", "") };
    sessions.push((["minutes", "weekly", "codex", "2"], lost));
    for (names, session) in &sessions {
        trial(fixture.root(), run, *names, session);
    }
    graded(fixture, run, &sessions);
}
