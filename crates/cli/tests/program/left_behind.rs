//! No process that an agent starts survives its trial: twelve kinds of child, and every way in which a trial or its
//! runner can end. The agent starts one child of each kind, and nothing of them may be left.

use std::fs;
use std::process::Child;

use crate::support::live::wait_until;
use crate::support::stub::{Stub, in_own_group, signal};
use nix::sys::signal::{Signal, kill, killpg};
use nix::unistd::Pid;
use skill_evals_agents::agent::ScratchDir;

/// Kinds of child, each with the shell script that starts it; `SLEEP` stands for a command that would never end.
const KINDS: [(&str, &str); 12] = [
    ("a plain child", "sh -c 'SLEEP; true' >/dev/null 2>&1 &"),
    ("one in the background", "SLEEP >/dev/null 2>&1 &"),
    ("one under nohup", "nohup SLEEP >/dev/null 2>&1 &"),
    ("one in a session of its own", "setsid SLEEP >/dev/null 2>&1 &"),
    ("one that was forked twice", "( ( SLEEP >/dev/null 2>&1 & ) & )"),
    ("a daemon with a cleared environment", "( env -i setsid SLEEP >/dev/null 2>&1 & )"),
    ("one in a process group of its own", "bash -c 'set -m; SLEEP >/dev/null 2>&1 &'"),
    ("a daemon that moved away", "( cd / && env -i setsid -f SLEEP >/dev/null 2>&1 )"),
    ("one that ignores SIGTERM", "( trap '' TERM INT HUP; env -i setsid SLEEP >/dev/null 2>&1 & )"),
    ("one that is stopped", "env -i setsid SLEEP >/dev/null 2>&1 & sleep 0.1; kill -STOP $!"),
    ("one that keeps forking", "env -i setsid sh -c 'while :; do setsid SLEEP & sleep 0.05; done' >/dev/null 2>&1 &"),
    ("one that keeps our pipes open", "env -i setsid SLEEP &"),
];

/// Brings an ending about.
type End = fn(&Scene);

/// Ways in which a trial ends.
const ENDINGS: [(&str, End); 10] = [
    ("the agent's exit", |scene| scene.let_the_agent_exit()),
    ("the timeout", |_| {}),
    ("SIGINT to the runner", |scene| signal(&scene.runner, Signal::SIGINT)),
    ("SIGTERM to the runner", |scene| signal(&scene.runner, Signal::SIGTERM)),
    ("SIGHUP to the runner", |scene| signal(&scene.runner, Signal::SIGHUP)),
    ("SIGKILL of the runner", |scene| signal(&scene.runner, Signal::SIGKILL)),
    ("SIGKILL of the runner's group", |scene| scene.signal_group(Signal::SIGKILL)),
    ("SIGKILL of the runner and its watchdog", Scene::kill_runner_and_watchdog),
    ("SIGTERM, then SIGKILL of the group, as nextest does it", |scene| {
        scene.signal_group(Signal::SIGTERM);
        std::thread::sleep(std::time::Duration::from_millis(300));
        scene.signal_group(Signal::SIGKILL);
    }),
    ("`skill-evals stop`", |scene| assert_eq!(scene.stub.run(&["stop", "r"]).code, 0)),
];

/// A run whose agent has started a child of every kind.
struct Scene {
    stub: Stub,
    runner: Child,
    /// The argument of each kind's `sleep`, which no other process has.
    sleeps: Vec<String>,
}

impl Scene {
    fn new(salt: usize, isolation: &str, ends_by_timeout: bool) -> Self {
        let stub = Stub::new(1, "");
        let sleeps: Vec<String> = (0..KINDS.len())
            .map(|kind| format!("{}{salt:02}{kind:02}", 1000 + std::process::id() % 1_000_000))
            .collect();
        let start: Vec<String> = KINDS
            .iter()
            .zip(&sleeps)
            .map(|((_, script), sleep)| script.replace("SLEEP", &format!("sleep {sleep}")))
            .collect();
        // It waits for a file from the test in its working directory.
        stub.body(&format!("{}\nwhile [ ! -e go ]; do sleep 0.05; done", start.join("\n")));
        let timeout = if ends_by_timeout { "3" } else { "120" };
        let mut command = stub.command(&["run", "--run-id", "r", "--timeout-s", timeout]);
        command.env("SKILL_EVALS_ISOLATION", isolation);
        let runner = in_own_group(&mut command);
        let scene = Self { stub, runner, sleeps };
        wait_until("a child of every kind", || scene.alive().len() == KINDS.len());
        scene
    }

    /// The processes of each kind.
    fn processes(&self) -> Vec<Vec<i32>> {
        let entries = fs::read_dir("/proc").expect("/proc").flatten();
        let lines: Vec<(i32, String)> = entries
            .filter_map(|entry| {
                Some((entry.file_name().to_str()?.parse().ok()?, fs::read(entry.path().join("cmdline")).ok()?))
            })
            .map(|(pid, line)| (pid, String::from_utf8_lossy(&line).replace('\0', " ")))
            .collect();
        let of = |sleep: &String| {
            let wanted = format!("sleep {sleep}");
            lines.iter().filter(|(_, line)| line.contains(&wanted)).map(|(pid, _)| *pid).collect()
        };
        self.sleeps.iter().map(of).collect()
    }

    /// The kinds of which a process lives.
    fn alive(&self) -> Vec<&'static str> {
        let processes = self.processes();
        KINDS.iter().zip(&processes).filter(|(_, pids)| !pids.is_empty()).map(|((kind, _), _)| *kind).collect()
    }

    fn let_the_agent_exit(&self) {
        let rooms = walkdir::WalkDir::new(self.stub.scratch()).min_depth(5).max_depth(5).into_iter().flatten();
        for workspace in rooms.filter(|entry| entry.file_name() == "project") {
            fs::write(workspace.path().join("go"), "").expect("a file");
        }
    }

    fn pid(&self) -> Pid {
        Pid::from_raw(i32::try_from(self.runner.id()).expect("a process id"))
    }

    fn signal_group(&self, signal: Signal) {
        // It may be gone by the second signal.
        let _ = killpg(self.pid(), signal);
    }

    fn kill_runner_and_watchdog(&self) {
        let is_watchdog = |pid: &i32| {
            let read = |name: &str| fs::read_to_string(format!("/proc/{pid}/{name}")).unwrap_or_default();
            read("environ").contains("SKILL_EVALS_WATCHDOG=")
                && read("stat").rsplit_once(") ").and_then(|(_, rest)| rest.split(' ').nth(1).map(str::to_owned))
                    == Some(self.runner.id().to_string())
        };
        let pids = fs::read_dir("/proc").expect("/proc").flatten();
        let mut pids = pids.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
        let watchdog = pids.find(is_watchdog).expect("a watchdog");
        kill(Pid::from_raw(watchdog), Signal::SIGKILL).expect("a signal");
        signal(&self.runner, Signal::SIGKILL);
    }
}

impl Drop for Scene {
    /// What a failed test leaves is not left to the machine.
    fn drop(&mut self) {
        while !self.alive().is_empty() {
            for pid in self.processes().into_iter().flatten() {
                let _ = kill(Pid::from_raw(pid), Signal::SIGKILL);
            }
        }
    }
}

fn nothing_is_left_with(isolation: &str, first_salt: usize) {
    for (index, (ending, end)) in ENDINGS.into_iter().enumerate() {
        let mut scene = Scene::new(first_salt + index, isolation, ending == "the timeout");
        end(&scene);
        scene.runner.wait().expect("an end");
        wait_until(&format!("the end of all after {ending}; alive: {:?}", scene.alive()), || scene.alive().is_empty());
    }
}

#[test]
#[cfg(target_os = "linux")]
fn without_a_namespace_every_kind_of_child_is_gone_after_every_ending() {
    nothing_is_left_with("agent", 0);
}

#[test]
#[cfg(target_os = "linux")]
fn inside_a_namespace_every_kind_of_child_is_gone_after_every_ending() {
    if crate::support::real::has_bwrap() {
        nothing_is_left_with("bwrap", 20);
    }
}

#[test]
fn what_keeps_an_agent_keeps_the_next_one_too_and_nothing_of_the_one_before() {
    // Each leaves a daemon that nothing but its descent tells of, and says by whom it was started.
    let stub = Stub::new(6, "");
    let sleep = format!("sleep 2{}", std::process::id() % 1_000_000);
    stub.body(&format!(
        "echo $PPID >> \"$folder/keepers\"; pgrep -cfx '{sleep}' >> \"$folder/left\"; (cd / && env -i setsid {sleep} >/dev/null 2>&1 &)"
    ));
    stub.run("run --jobs 1").exits(0);
    let read = |name: &str| fs::read_to_string(stub.root().join(name)).expect("what the agents noted");
    let (keepers, left) = (read("keepers"), read("left"));
    assert_eq!(keepers.lines().collect::<std::collections::BTreeSet<_>>().len(), 1, "{keepers}");
    assert_eq!(left, "0\n".repeat(6), "each agent finds nothing of the one before");
}

#[test]
fn an_empty_git_folder_that_a_killed_agent_left_is_no_repository() {
    let above = tempfile::tempdir().expect("a directory");
    let base = above.path().join("scratch");
    fs::create_dir(above.path().join(".git")).expect("a directory");
    ScratchDir::open(Some(&base), None).expect("a scratch directory below an empty .git");
    fs::write(above.path().join(".git/HEAD"), "ref: refs/heads/main\n").expect("a file");
    let refused = ScratchDir::open(Some(&base), None).expect_err("a repository above").to_string();
    assert!(refused.contains("which holds .git"), "{refused}");
}
