//! The stand-in agent: it speaks codex's stream, and passes cases with known rates.
//!
//! A skill claims a task if its description names the task's topic. The prompt ends with `(skill/id)`, by which the agent
//! knows the rates of the case; a model knows them by itself.

use std::fmt::Write as _;
use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};

use super::pull_requests::{MARK, VAGUE, case_of, topic};

/// The file with the seed of a gate, and the directory in which the draws of its trials are counted.
pub const SEED: &str = "seed";
pub const DRAWS: &str = "draws";

/// In place of a seed: every case passes.
pub const PERFECT: &str = "perfect";

/// The version that it reports.
const VERSION: &str = "0.169.0";

/// How often a skill is activated although no description claims the task, and how often the own skill is if a neighbor
/// claims it too.
const UNCLAIMED: f64 = 0.1;
const SHARED: f64 = 0.1;

/// How often an answer holds what the case wants if the body does not ask for it, and if the body is vague about it.
const UNASKED: f64 = 0.05;
const VAGUELY_ASKED: f64 = 0.7;

/// What a turn reads and writes, as `(input, cached input, output)`: one that opens a skill, one that works, and the answer.
const OPENING: Tokens = (11_000, 9_000, 150);
const WORKING: Tokens = (12_500, 11_000, 350);
const ANSWERING: Tokens = (13_500, 12_500, 250);

type Tokens = (u64, u64, u64);

/// How long it works. A real agent works for longer.
const WORK: Duration = Duration::from_millis(100);

/// A skill as it is offered.
struct Offered {
    name: String,
    text: String,
}

/// The rates of a case while nothing is broken: how often its skill is activated, and how often the answer is then right.
/// A positive case passes in 90 to 100 % of its trials, a negative one in 95 to 100 %.
pub fn rates(skill: &str, id: &str) -> (f64, f64) {
    let spread = |salt: &str| f64::from(u32::try_from(hash(&[skill, id, salt]) % 6).expect("small")) / 100.0;
    if id == "negative" { (spread("activation"), 1.0) } else { (1.0 - spread("activation"), 1.0 - spread("answer")) }
}

/// Answers once, as `codex exec` with these arguments.
pub fn run(state: &Path, args: &[String]) {
    if args.iter().any(|arg| arg == "--version") {
        println!("codex-cli {VERSION}");
        return;
    }
    let prompt = args.last().expect("a prompt");
    let (skill, id) = case_of(prompt).expect("a prompt with its case");
    let offered = offered();
    let (activation, answer) = draws(state, prompt, &offered);
    let (active, marked) = behave(prompt, (skill, id), &offered, (activation, answer));
    let mut session = Session::start(&offered);
    if let Some(active) = active {
        session.command(&format!("cat .agents/skills/{}/SKILL.md", active.name), &active.text, OPENING);
    }
    thread::sleep(WORK);
    session.command("true", "", WORKING);
    session.answer(&if marked { format!("Done. {MARK}") } else { "Done.".to_owned() });
}

/// The skill that becomes active, and whether the answer holds what outcome checks want.
fn behave<'a>(
    prompt: &str,
    (skill, id): (&str, &str),
    offered: &'a [Offered],
    (activation, answer): (f64, f64),
) -> (Option<&'a Offered>, bool) {
    let own = offered.iter().find(|found| found.name == skill);
    let (base, right) = rates(skill, id);
    let claims = |found: &&Offered| description(&found.text).contains(topic(skill));
    let rate = match (id, own.filter(claims)) {
        ("negative", _) => base,
        // The program itself reads a skill that the prompt names.
        _ if prompt.contains(&format!("${skill}")) => base,
        (_, None) => UNCLAIMED,
        _ if offered.iter().filter(claims).count() > 1 => SHARED,
        _ => base,
    };
    let thief = offered.iter().filter(claims).find(|found| found.name != skill && id != "negative");
    let active = if activation < rate { own } else { thief };
    let right = match active.filter(|found| found.name == skill) {
        None => 0.0,
        Some(found) if !found.text.contains(MARK) => UNASKED,
        Some(found) if found.text.contains(VAGUE) => VAGUELY_ASKED,
        Some(_) => right,
    };
    (active, answer < right)
}

fn description(text: &str) -> &str {
    text.lines().find_map(|line| line.strip_prefix("description: ")).unwrap_or_default()
}

fn offered() -> Vec<Offered> {
    let folders = fs::read_dir(".agents/skills").into_iter().flatten().flatten();
    let read = |folder: fs::DirEntry| {
        let text = fs::read_to_string(folder.path().join("SKILL.md")).ok()?;
        Some(Offered { name: folder.file_name().to_string_lossy().into_owned(), text })
    };
    let mut found: Vec<Offered> = folders.filter_map(read).collect();
    found.sort_by(|one, other| one.name.cmp(&other.name));
    found
}

/// Two draws from 0 to 1, by the seed, the prompt, the skills and how often these were tried already, so that they do not
/// depend on the order in which trials run.
fn draws(state: &Path, prompt: &str, offered: &[Offered]) -> (f64, f64) {
    let seed = fs::read_to_string(state.join(SEED)).expect("a seed");
    if seed == PERFECT {
        return if prompt.ends_with("/negative)") { (1.0, 0.0) } else { (0.0, 0.0) };
    }
    let mut texts = vec![seed.as_str(), prompt];
    texts.extend(offered.iter().map(|found| found.text.as_str()));
    let key = hash(&texts);
    let is_new = |number: &u64| fs::File::create_new(state.join(DRAWS).join(format!("{key:016x}-{number}"))).is_ok();
    let number = (0..10_000).find(is_new).expect("a directory for draws");
    let mut rng = fastrand::Rng::with_seed(key ^ number.wrapping_mul(0x9E37_79B9_7F4A_7C15));
    (rng.f64(), rng.f64())
}

fn hash(texts: &[&str]) -> u64 {
    let digest = blake3::hash(texts.join("\0").as_bytes());
    digest.as_bytes().iter().take(8).fold(0, |number, byte| number << 8 | u64::from(*byte))
}

/// What codex writes: events to standard output, and the session to a file. Without the list of skills in the session nobody
/// could say that the skill was delivered.
struct Session {
    file: fs::File,
    commands: usize,
    used: Tokens,
}

impl Session {
    fn start(offered: &[Offered]) -> Self {
        let home = std::env::var_os("CODEX_HOME").expect("CODEX_HOME");
        let folder = Path::new(&home).join("sessions");
        fs::create_dir_all(&folder).expect("a directory");
        let mut list = "<skills_instructions>\n### Available skills\n".to_owned();
        for skill in offered {
            let _ = writeln!(list, "- {0}: {1} (file: r0/{0}/SKILL.md)", skill.name, description(&skill.text));
        }
        list.push_str("</skills_instructions>");
        let file = fs::File::create(folder.join("rollout-1.jsonl")).expect("a session");
        let mut session = Self { file, commands: 0, used: (0, 0, 0) };
        // Trials of an agent that does not say its version are not kept.
        session.keep("session_meta", &json!({"cli_version": VERSION}));
        session.keep("response_item", &json!({"type": "message", "role": "developer", "content": [{"text": list}]}));
        say(&json!({"type": "thread.started", "thread_id": "1"}));
        say(&json!({"type": "turn.started"}));
        session
    }

    /// A turn that runs a command.
    fn command(&mut self, command: &str, output: &str, tokens: Tokens) {
        self.commands += 1;
        let (id, arguments) = (self.commands.to_string(), json!({ "cmd": command }).to_string());
        let call = json!({"type": "function_call", "name": "exec_command", "arguments": arguments, "call_id": id});
        self.keep("response_item", &call);
        self.used(tokens);
        let printed = format!("Process exited with code 0\nOutput:\n{output}");
        self.keep("response_item", &json!({"type": "function_call_output", "call_id": id, "output": printed}));
        say(&json!({"type": "item.completed", "item": {"id": id, "type": "command_execution", "command": command,
            "aggregated_output": output, "exit_code": 0, "status": "completed"}}));
    }

    /// The last turn.
    fn answer(mut self, text: &str) {
        let content = json!([{"type": "output_text", "text": text}]);
        self.keep("response_item", &json!({"type": "message", "role": "assistant", "content": content}));
        self.used(ANSWERING);
        say(&json!({"type": "item.completed", "item": {"id": "answer", "type": "agent_message", "text": text}}));
        say(&json!({"type": "turn.completed", "usage": usage(self.used)}));
    }

    fn used(&mut self, tokens: Tokens) {
        self.used = (self.used.0 + tokens.0, self.used.1 + tokens.1, self.used.2 + tokens.2);
        self.keep("token_usage_record", &json!({ "usage": usage(tokens) }));
    }

    fn keep(&mut self, kind: &str, payload: &Value) {
        writeln!(self.file, "{}", json!({"type": kind, "payload": payload})).expect("a line");
    }
}

fn usage((input, cached, output): Tokens) -> Value {
    json!({"input_tokens": input, "cached_input_tokens": cached, "output_tokens": output})
}

fn say(event: &Value) {
    println!("{event}");
}
