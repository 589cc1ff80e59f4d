//! The directories in which processes have their trials. Each process removes what dead ones left, and nothing else.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::PathBuf;
use std::thread;
use std::time::Duration;

use nix::sys::stat::Mode;
use nix::unistd::mkfifo;
use skill_evals_agents::agent::ScratchDir;

use skill_evals_testing::fixture::temporary;

/// What a process keeps locked.
const LOCK: &str = ".work-lock";

#[test]
fn nobody_removes_the_directory_of_a_process_that_lives() {
    let base = temporary();
    let process = |round: usize| {
        // A dead process left its directory. Others find it at the same time, and one of them gets its number.
        let dead = base.path().join((round % 4 + 1).to_string());
        if fs::create_dir(&dead).is_ok() {
            fs::write(dead.join(LOCK), "").expect("a file");
        }
        let own = ScratchDir::open(Some(base.path()), None).expect("a directory");
        for _ in 0..20 {
            thread::yield_now();
            assert!(own.path().join(LOCK).exists(), "{} was removed", own.path().display());
        }
    };
    thread::scope(|scope| {
        for first in 0..8 {
            scope.spawn(move || (first..first + 200).for_each(process));
        }
    });
    // A program that another test starts shares the locks of this process until it has begun.
    let is_empty = || {
        drop(ScratchDir::open(Some(base.path()), None).expect("a directory"));
        fs::read_dir(base.path()).expect("a directory").next().is_none()
    };
    assert!((0..500).any(|_| is_empty() || {
        thread::sleep(Duration::from_millis(10));
        false
    }));
}

#[test]
fn a_trial_keeps_its_workspace_although_something_else_takes_the_place() {
    let base = temporary();
    let scratch = ScratchDir::open(Some(base.path()), None).expect("a directory");
    let trial_env = scratch.trial_env().expect("an environment");
    let workspace = PathBuf::from(trial_env.start_directory());
    trial_env.workspace().join("file").write(b"the agent's", 0o600).expect("a file");
    assert!(trial_env.has_workspace());
    fs::rename(&workspace, workspace.with_extension("moved")).expect("a move");
    symlink(workspace.with_extension("moved"), &workspace).expect("a link");
    assert!(!trial_env.has_workspace());
    assert_eq!(trial_env.workspace().join("file").read(100).expect("a file"), b"the agent's");
}

#[test]
fn what_no_process_left_stays_and_the_first_free_number_is_taken() {
    let base = temporary();
    let victim = temporary();
    fs::write(victim.path().join(LOCK), "").expect("a file");
    let at = |name: &str| base.path().join(name);
    symlink(victim.path().join("missing"), at("1")).expect("a link");
    fs::write(at("2"), "").expect("a file");
    for name in ["3", "4", "5", "removed-1"] {
        fs::create_dir(at(name)).expect("a directory");
    }
    // Files of the user, and a pipe at which nobody may wait.
    fs::write(at("4/lock"), "").expect("a file");
    mkfifo(&at("5").join(LOCK), Mode::S_IRWXU).expect("a pipe");
    let names = || {
        let names = fs::read_dir(base.path()).expect("a directory").flatten();
        let mut names: Vec<_> = names.map(|entry| entry.file_name()).collect();
        names.sort();
        names
    };
    let before = names();
    for number in 6..1006 {
        fs::create_dir(at(&number.to_string())).expect("a directory");
        fs::write(at(&number.to_string()).join(LOCK), "").expect("a file");
    }
    symlink(victim.path(), at("1006")).expect("a link to a directory with a lock");
    let own = ScratchDir::open(Some(base.path()), None).expect("a directory");
    assert_eq!(own.path(), at("6").canonicalize().expect("a path"));
    drop(own);
    assert_eq!(names(), before);
    assert!(victim.path().join(LOCK).exists());
}
