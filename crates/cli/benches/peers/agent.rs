//! The stand-in agent of this bench, the same for every tool. It does what the body of its skill says:
//!
//! - `rate 0.8`: it does the task in 8 of 10 trials, by chance. Then the answer holds DONE, as does the file answer.txt
//! - `delay 200`: it works for 200 ms
//! - `crash`: it dies by a signal before it answers
//! - `limit`: its provider refuses with status 429, and it exits with 1
//!
//! A prompt with `(other` is none of the skill's business: the agent answers without the skill.
//!
//! `agent [--skill FILE] [--text] [--out FILE] PROMPT` prints the text of its answer, or writes it to FILE. All other arguments
//! are those of `codex exec --json`, whose lines it prints: some tools only know agents that they have heard of.

use std::io::Read;
use std::path::{Path, PathBuf};
use std::time::Duration;
use std::{env, fs, io, process, thread};

struct Arguments {
    skill: Option<PathBuf>,
    out: Option<PathBuf>,
    text: bool,
    prompt: String,
}

fn main() {
    let given = arguments();
    let other = given.prompt.contains("(other");
    let skill = given.skill.clone().or_else(installed);
    let body = skill.as_ref().map(|path| fs::read_to_string(path).unwrap_or_default()).unwrap_or_default();
    let json = !given.text && given.out.is_none();
    if json {
        println!(r#"{{"type":"thread.started","thread_id":"0199a213-81c0-7800-8aa1-bbab2a035a53"}}"#);
        println!(r#"{{"type":"turn.started"}}"#);
    }
    thread::sleep(Duration::from_millis(value(&body, "delay").map_or(0, |ms| ms as u64)));
    if body.lines().any(|line| line == "crash") {
        eprintln!("memory exhausted");
        process::abort();
    }
    if body.lines().any(|line| line == "limit") {
        let message = "exceeded retry limit, last status: 429 Too Many Requests";
        if json {
            println!(r#"{{"type":"error","message":"{message}"}}"#);
            println!(r#"{{"type":"turn.failed","error":{{"message":"{message}"}}}}"#);
        }
        eprintln!("{message}");
        process::exit(1);
    }
    let done = !other && chance() < value(&body, "rate").unwrap_or(0.0);
    let answer = if done { "DONE" } else { "It is as it is." };
    if done && json {
        // Where a tool looks for what the agent made.
        fs::write("answer.txt", "DONE\n").expect("a workspace");
    }
    if json {
        let read = skill.filter(|_| !other);
        print_turn(read.as_deref(), &body, answer);
    } else if let Some(out) = given.out {
        fs::write(out, answer).expect("the file for the answer");
    } else {
        println!("{answer}");
    }
}

fn arguments() -> Arguments {
    let mut given = Arguments { skill: None, out: None, text: false, prompt: String::new() };
    let mut rest = env::args().skip(1);
    while let Some(argument) = rest.next() {
        match argument.as_str() {
            "--version" => {
                println!("codex-cli 0.45.0");
                process::exit(0);
            }
            "--skill" => given.skill = rest.next().map(PathBuf::from),
            "--out" => given.out = rest.next().map(PathBuf::from),
            "--cd" => env::set_current_dir(rest.next().expect("a directory")).expect("a directory"),
            "--text" => given.text = true,
            // promptfoo adds its options and the context behind the prompt.
            _ if given.text && !given.prompt.is_empty() => {}
            _ => given.prompt = argument,
        }
    }
    if given.prompt == "-" || given.prompt.is_empty() {
        given.prompt.clear();
        io::stdin().read_to_string(&mut given.prompt).expect("a prompt");
    }
    // A tool may have the agent read its task from a file.
    if let Some(path) = given.prompt.strip_prefix("Read the file at ").and_then(|rest| rest.split(' ').next()) {
        given.prompt = fs::read_to_string(path).expect("the file of the prompt");
    }
    given
}

/// The first skill with a rate, where codex finds skills.
fn installed() -> Option<PathBuf> {
    let home = |name: &str| env::var_os(name).map(PathBuf::from);
    let directories = [
        Some(PathBuf::from(".agents/skills")),
        home("CODEX_HOME").map(|home| home.join("skills")),
        home("HOME").map(|home| home.join(".agents/skills")),
        home("HOME").map(|home| home.join(".codex/skills")),
    ];
    let skills = directories.into_iter().flatten().filter_map(|directory| fs::read_dir(directory).ok()).flatten();
    let mut files = skills.filter_map(|entry| Some(entry.ok()?.path().join("SKILL.md")));
    files.find(|file| fs::read_to_string(file).is_ok_and(|text| value(&text, "rate").is_some()))
}

fn print_turn(skill: Option<&Path>, body: &str, answer: &str) {
    if let Some(skill) = skill {
        let (command, output) = (quoted(&format!("cat {}", skill.display())), quoted(body));
        println!(
            r#"{{"type":"item.completed","item":{{"id":"item_0","type":"command_execution","command":{command},"aggregated_output":{output},"exit_code":0,"status":"completed"}}}}"#
        );
    }
    println!(r#"{{"type":"item.completed","item":{{"id":"item_1","type":"agent_message","text":"{answer}"}}}}"#);
    println!(
        r#"{{"type":"turn.completed","usage":{{"input_tokens":1200,"cached_input_tokens":800,"output_tokens":40}}}}"#
    );
}

fn value(body: &str, name: &str) -> Option<f64> {
    body.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' ')?.trim().parse().ok())
}

/// Evenly from 0 to 1.
fn chance() -> f64 {
    let mut bytes = [0; 4];
    fs::File::open("/dev/urandom").and_then(|mut file| file.read_exact(&mut bytes)).expect("random bytes");
    f64::from(u32::from_le_bytes(bytes)) / 4_294_967_296.0
}

fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n"))
}
