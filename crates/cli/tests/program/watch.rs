//! `run --watch`: an edit runs what it touches, a broken file is waited for, and only `=live` starts agents.

use std::fs;
use std::io::{self, Read};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::Child;
use std::sync::{Arc, Mutex};
use std::thread;

use crate::support::live::wait_until;
use crate::support::stub::{Stub, signal};
use nix::sys::signal::Signal;

/// The program while it watches, and what it has printed.
struct Watching {
    child: Child,
    text: Arc<Mutex<String>>,
}

impl Watching {
    /// Starts watching, and waits for the first results.
    fn start(stub: &Stub, args: &[&str]) -> Self {
        // One pipe for both outputs keeps their order.
        let (mut output, writer) = io::pipe().expect("a pipe");
        let mut command = stub.command(&[&["run"], args].concat());
        command.process_group(0).stdout(writer.try_clone().expect("a pipe")).stderr(writer);
        let child = command.spawn().expect("the program starts");
        drop(command);
        let text = Arc::<Mutex<String>>::default();
        let printed = Arc::clone(&text);
        thread::spawn(move || {
            let mut bytes = [0; 4096];
            while let Ok(length @ 1..) = output.read(&mut bytes) {
                printed.lock().expect("text").push_str(&String::from_utf8_lossy(&bytes[..length]));
            }
        });
        let watching = Self { child, text };
        watching.wait_for("watching");
        watching.wait_for("; took ");
        watching
    }

    fn text(&self) -> String {
        self.text.lock().expect("text").clone()
    }

    /// Waits until all of this has been printed since the last call, and returns what was.
    fn wait_for(&self, words: &str) -> String {
        wait_until(&format!("{words:?} in the output"), || self.text().contains(words));
        self.text()
    }

    /// What is printed for one edit, up to a line with these words.
    fn after(&self, edit: impl FnOnce(), words: &str) -> String {
        let before = self.text().len();
        edit();
        // The line has to be whole.
        let is_said = |text: &str| text.find(words).is_some_and(|at| text[at..].contains('\n'));
        wait_until(&format!("{words:?} after the edit"), || is_said(&self.text()[before..]));
        self.text()[before..].to_owned()
    }

    /// Ctrl-C. Returns the exit code.
    fn end(mut self) -> i32 {
        signal(&self.child, Signal::SIGINT);
        let status = self.child.wait().expect("an end");
        status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or(0))
    }
}

impl Drop for Watching {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Four recorded cases.
fn recorded() -> Stub {
    let stub = Stub::new(0, "");
    let rows: Vec<String> = (0..4).map(|index| format!("c{index},false,Prompt {index},Done\n")).collect();
    fs::write(table(&stub), format!("id,should_trigger,prompt,must_include\n{}", rows.concat())).expect("cases");
    stub.run("run --record").exits(0);
    stub
}

fn table(stub: &Stub) -> PathBuf {
    stub.root().join("evals/skills/tidy/prompts.csv")
}

/// Replaces a file in one step: on a busy machine, a file that is written in place is seen empty.
fn write(stub: &Stub, path: &Path, text: &str) {
    let new = stub.root().join("edit.new");
    fs::write(&new, text).expect("a file");
    fs::rename(new, path).expect("a file");
}

/// Replaces words in the table of cases.
fn replace(stub: &Stub, old: &str, new: &str) {
    let text = fs::read_to_string(table(stub)).expect("a file");
    assert!(text.contains(old), "{text}");
    write(stub, &table(stub), &text.replace(old, new));
}

#[test]
fn an_edit_replays_the_cases_that_it_touches_and_starts_no_agent() {
    let stub = recorded();
    let skill = stub.root().join("skills/tidy/SKILL.md");
    let watching = Watching::start(&stub, &["--watch"]);
    assert!(watching.text().contains("watching 4 cases; Ctrl-C ends\n"), "{}", watching.text());
    // A check of one case.
    let block = watching.after(|| replace(&stub, "Prompt 1,Done", "Prompt 1,Gone"), "; took ");
    assert!(block.contains(" UTC  evals/skills/tidy/prompts.csv changed: 1 case\n"), "{block}");
    assert!(block.contains("tidy/c1/codex") && block.contains("Gone") && !block.contains("tidy/c2"), "{block}");
    let block = watching.after(|| replace(&stub, "Prompt 1,Gone", "Prompt 1,Done"), "; took ");
    assert!(block.contains("changed: 1 case\n") && !block.contains("tidy/c1/codex: fail"), "{block}");
    // A case that is new has no recording.
    let block = watching.after(|| replace(&stub, "c3,", "c9,true,New prompt,\nc3,"), "; took ");
    assert!(block.contains("changed: 1 case\n") && block.contains("tidy/c9/codex"), "{block}");
    // The skill: all its recordings are stale.
    let block = watching.after(|| write(&stub, &skill.with_file_name("more.md"), "More.\n"), "; took ");
    assert!(block.contains("skills/tidy/more.md changed: 5 cases\n") && block.contains("stale"), "{block}");
    // What decides nothing.
    let block = watching.after(|| write(&stub, &stub.root().join("evals/README.md"), "Notes.\n"), "to run\n");
    assert!(block.contains("evals/README.md changed: nothing to run\n"), "{block}");
    // A setting.
    let block = watching.after(|| stub.settings("threshold = 0.9"), "; took ");
    assert!(block.contains("evals/evals.toml changed: 5 cases\n"), "{block}");
    assert_eq!(watching.end(), 0);
    assert_eq!(stub.starts().len(), 4, "only the recorded run started agents");
}

#[test]
fn an_edit_of_a_script_grades_its_cases_again() {
    let stub = recorded();
    let script = stub.root().join("checks/own.sh");
    fs::create_dir(stub.root().join("checks")).expect("a directory");
    let put = |text: &str| {
        let new = stub.root().join("script.new");
        fs::write(&new, text).expect("a script");
        fs::set_permissions(&new, fs::Permissions::from_mode(0o755)).expect("permissions");
        fs::rename(&new, &script).expect("a script");
    };
    put("#!/bin/sh\nexit 0\n");
    stub.settings("check = \"checks/own.sh\"");
    let watching = Watching::start(&stub, &["--watch"]);
    assert!(!watching.text().contains(": fail"), "{}", watching.text());
    let block = watching.after(|| put("#!/bin/sh\nexit 1\n"), "; took ");
    assert!(block.contains(" UTC  checks/own.sh changed: 4 cases\n"), "{block}");
    assert!(block.contains("failed      checks/own.sh (outcome)"), "{block}");
    assert_eq!((watching.end(), stub.starts().len()), (0, 4));
}

#[test]
fn a_file_that_is_broken_while_it_is_edited_is_shown_and_waited_for() {
    let stub = recorded();
    let watching = Watching::start(&stub, &["--watch"]);
    let settings = stub.root().join("evals/evals.toml");
    let whole = fs::read_to_string(&settings).expect("settings");
    let block = watching.after(|| write(&stub, &settings, "jobs = \"four\"\n"), "expected 1 to 1000");
    assert!(!block.contains("; took "), "{block}");
    let skill = stub.root().join("skills/tidy/SKILL.md");
    let text = fs::read_to_string(&skill).expect("a skill");
    // Both are mended, one after the other: the cases that the second touches run.
    watching
        .after(|| write(&stub, &skill, "---\nname: tidy\ndescription: Tidies.\n---\nDo\0it\n"), "expected 1 to 1000");
    let block = watching.after(|| write(&stub, &settings, &whole), "; took ");
    assert!(block.contains("nul-byte"), "{block}");
    let block = watching.after(|| write(&stub, &skill, &text), "; took ");
    assert!(block.contains("skills/tidy/SKILL.md changed: 4 cases\n") && !block.contains("nul-byte"), "{block}");
    // A broken row fails alone.
    let block = watching.after(|| replace(&stub, "c2,false", "c2,perhaps"), "; took ");
    assert!(block.contains("changed: 1 case\n") && block.contains("perhaps"), "{block}");
    assert_eq!(watching.end(), 0);
}

#[test]
fn live_watching_runs_agents_for_what_an_edit_made_stale_and_records_it() {
    let stub = recorded();
    let watching = Watching::start(&stub, &["--watch=live", "--record", "--max-tokens", "31"]);
    // The start replays, whatever is stale.
    assert_eq!(stub.starts().len(), 4);
    let block = watching.after(|| replace(&stub, "Prompt 1,", "Prompt one,"), "stale → pass");
    assert!(block.contains("changed: 1 case\n") && block.contains("running agents for 1 case\n"), "{block}");
    assert_eq!(stub.starts().last().map(String::as_str), Some("Prompt one"));
    // A changed check needs no agent.
    watching.after(|| replace(&stub, "Prompt 2,Done", "Prompt 2,one"), "; took ");
    // The limit is one of the whole session: 15 tokens a trial.
    watching.after(|| replace(&stub, "Prompt 0,", "Prompt zero,"), "stale → pass");
    watching.after(|| replace(&stub, "Prompt zero,", "Prompt nought,"), "stale → pass");
    let block = watching.after(|| replace(&stub, "Prompt nought,", "Prompt nil,"), "the limit is used up");
    assert!(block.contains("1 case not run: the limit is used up\n"), "{block}");
    assert_eq!(watching.end(), 0);
    assert_eq!(stub.starts()[4..], ["Prompt one", "Prompt zero", "Prompt nought"]);
}

#[test]
fn ctrl_c_ends_watching_while_an_agent_runs() {
    let stub = recorded();
    stub.body("echo running > \"$folder/busy\"; sleep 60");
    let watching = Watching::start(&stub, &["--watch=live"]);
    replace(&stub, "Prompt 1,", "Prompt one,");
    wait_until("the agent", || stub.root().join("busy").exists());
    assert_eq!(watching.end(), 0);
    wait_until("the agent's end", || {
        crate::support::live::processes_with(&stub.scratch().display().to_string()).is_empty()
    });
}
