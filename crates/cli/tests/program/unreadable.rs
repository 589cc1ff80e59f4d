//! What cannot be read is not absent: whichever directory of a repository a user may not read, each command that reads it says so,
//! and whichever call fails once.

use std::collections::BTreeSet;
use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use nix::unistd::geteuid;

use crate::compare::git;
use crate::support::fixture::Ran;
use crate::support::real::ignored;
use crate::support::stub::{Stub, ran};

/// A user without rights: root may read everything.
const NOBODY: u32 = 65_534;

/// The directories of runs, which other commands than these do not read.
const RUNS: &str = "artifacts";

/// The commands that read a repository, and those that read runs.
const OF_REPOSITORY: [&[&str]; 5] =
    [&["run", "--replay"], &["list"], &["lint"], &["gate", "--free", "main"], &["report", "r", "-o", "/dev/null"]];
const OF_RUNS: [&[&str]; 3] = [&["summary", "r"], &["show", "--run", "r", "tidy/c0"], &["runs"]];

/// A repository whose case `c0` passes and whose case `c1` fails, both recorded, with the run `r`.
fn repository() -> Stub {
    let stub = Stub::new(1, "");
    stub.write(
        "evals/skills/tidy/prompts.csv",
        "id,should_trigger,prompt,must_include,fixture\nc0,false,Do it,,files\nc1,false,Do it,never,\n",
    );
    stub.write("evals/skills/tidy/files/deep/er/x.txt", "x");
    stub.write("skills/tidy/references/more.md", "more");
    stub.write("docs/notes/a.md", "a");
    stub.write(".gitignore", "/artifacts\n/built\n/starts\n");
    stub.write("built/deep/x.json", "{}");
    let run = stub.run(&["run", "--run-id", "r"]);
    run.exits(1);
    stub.run("record r --accept-failing").exits(0);
    git(&stub, &["init", "--quiet", "--initial-branch", "main"]);
    git(&stub, &["add", "--all"]);
    git(&stub, &["commit", "--quiet", "--message", "all"]);
    stub
}

/// All directories in a directory but git's, from it.
fn directories(root: &Path) -> Vec<PathBuf> {
    let entries = walkdir::WalkDir::new(root).min_depth(1).sort_by_file_name().into_iter();
    let entries = entries.filter_entry(|entry| entry.file_name() != ".git").map(|entry| entry.expect("an entry"));
    let directories = entries.filter(|entry| entry.file_type().is_dir());
    directories.map(|entry| entry.path().strip_prefix(root).expect("it is in it").to_path_buf()).collect()
}

/// Gives a directory to the user without rights, if this one is root.
fn give(root: &Path) {
    if geteuid().is_root() {
        for entry in walkdir::WalkDir::new(root) {
            chown(entry.expect("an entry").path(), Some(NOBODY), Some(NOBODY)).expect("an owner");
        }
    }
}

/// The program as that user.
fn command(stub: &Stub, args: &[&str]) -> Command {
    let mut command = stub.command(args);
    if geteuid().is_root() {
        command.uid(NOBODY).gid(NOBODY);
    }
    command
}

fn said(ran: &Ran) -> String {
    format!("{}{}", ran.stdout, ran.stderr)
}

/// Whether one line of the output says that it is denied to read this, or something in it.
fn names(ran: &Ran, path: &Path) -> bool {
    let path = path.to_str().expect("UTF-8");
    let text = said(ran).replace('\n', " ");
    text.contains(path) && text.contains("ermission denied")
}

#[test]
fn each_command_names_the_directory_that_it_may_not_read() {
    let stub = repository();
    give(stub.root());
    give(stub.scratch());
    if command(&stub, &["--version"]).output().is_err() {
        return ignored("another user cannot start the program where it was built");
    }
    let commands: Vec<&[&str]> = OF_REPOSITORY.into_iter().chain(OF_RUNS).collect();
    let usual: Vec<Ran> = commands.iter().map(|args| ran(&mut command(&stub, args))).collect();
    assert_eq!(usual.iter().map(|ran| ran.code).collect::<Vec<_>>(), [1, 0, 0, 1, 1, 1, 0, 0], "{usual:#?}");
    let mut wrong = Vec::new();
    for directory in directories(stub.root()) {
        let path = stub.root().join(&directory);
        let before = fs::metadata(&path).expect("a directory").permissions();
        fs::set_permissions(&path, Permissions::from_mode(0o0)).expect("permissions");
        for (args, usual) in commands.iter().zip(&usual) {
            let now = ran(&mut command(&stub, args));
            let is_ignored = directory.starts_with("built");
            let is_of_runs = directory.starts_with(RUNS);
            let must_name = !is_of_runs && OF_REPOSITORY[..4].contains(args);
            let is_same = || now.code == usual.code && now.stdout == usual.stdout;
            let is_right = if names(&now, &directory) {
                // What a run stored is whole: it is shown, and what cannot be read of today's cases is named.
                let is_stored = OF_RUNS.contains(args);
                now.code != 0 || (is_ignored || is_of_runs || is_stored) && now.code == usual.code
            } else {
                !must_name && is_same()
            };
            if !(is_right || is_ignored && is_same()) {
                wrong.push(format!("{} with {}: {} {}", args.join(" "), directory.display(), now.code, said(&now)));
            }
        }
        fs::set_permissions(&path, before).expect("permissions");
    }
    assert!(wrong.is_empty(), "{} times\n{}", wrong.len(), wrong.join("\n\n"));
}

#[test]
fn what_cannot_be_read_breaks_its_cases_and_no_others() {
    let stub = repository();
    give(stub.root());
    give(stub.scratch());
    if command(&stub, &["--version"]).output().is_err() {
        return ignored("another user cannot start the program where it was built");
    }
    let of_c0 = "evals/recordings/tidy/c0";
    let (mode, of_skill) = (format!("{of_c0}/codex"), "skills/tidy/references/more.md");
    let fixture = "evals/skills/tidy/files/deep/er/x.txt";
    for place in [of_c0, &mode, &format!("{mode}/1/meta.json"), fixture, of_skill] {
        let path = stub.root().join(place);
        let before = fs::metadata(&path).expect("it is there").permissions();
        fs::set_permissions(&path, Permissions::from_mode(0o0)).expect("permissions");
        let [list, replay, gate] = [&["list"][..], &["run", "--replay"], &["gate", "--free", "main"]]
            .map(|args| ran(&mut command(&stub, args)));
        fs::set_permissions(&path, before).expect("permissions");
        let lists = |case: &str, word: &str| list.stdout.contains(&format!("tidy/{case}/codex\t{word}\t"));
        let is_right = lists("c1", "not-activate") && lists("c0", "broken") == (place != of_skill);
        assert!(is_right && list.code == 2, "{place}: {}", said(&list));
        let failed = replay.stdout.contains("tidy/c1") && !replay.stderr.contains("error: ");
        assert!(replay.code == 2 && failed, "{place}: {}", said(&replay));
        assert!(gate.code == 1 && gate.stdout.ends_with("gate: failed\n"), "{place}: {}", said(&gate));
        assert!(said(&gate).contains("ermission denied"), "{place}: {}", said(&gate));
        let line = [&list, &replay].into_iter().find(|ran| said(ran).contains("to go on"));
        assert!(line.is_none(), "to leave it out would lose a case that runs: {line:?}");
    }
}

#[test]
fn a_file_in_the_place_of_a_directory_is_named() {
    let stub = repository();
    let root = stub.root();
    let of_mode = |path: &PathBuf| path.parent().is_some_and(|case| case.ends_with("recordings/tidy/c0"));
    let mode = directories(root).into_iter().find(of_mode).expect("recordings of a mode");
    for place in ["evals/recordings/tidy", "evals/recordings/tidy/c0", &mode.to_string_lossy(), "evals/skills/tidy"] {
        fs::remove_dir_all(root.join(place)).expect("a directory");
        fs::write(root.join(place), "x").expect("a file");
        for args in [&["run", "--replay"][..], &["gate", "--free", "main"]] {
            let ran = stub.run(args);
            assert!(ran.code != 0 && said(&ran).contains(place), "{args:?}, {place}: {} {}", ran.code, said(&ran));
        }
        fs::remove_file(root.join(place)).expect("a file");
        git(&stub, &["checkout", "--quiet", "HEAD", "--", "."]);
    }
}

#[test]
fn a_link_that_leads_nowhere_and_a_pipe_are_named_where_cases_lie_whatever_their_names() {
    let stub = repository();
    let folder = stub.root().join("skills/tidy/evals");
    fs::create_dir(&folder).expect("a directory");
    for name in ["tasks.yaml", "cases.json", "prompt.md", "x-eval.yaml"] {
        let path = folder.join(name);
        for is_link in [true, false] {
            if is_link {
                std::os::unix::fs::symlink("nowhere", &path).expect("a link");
            } else {
                nix::unistd::mkfifo(&path, nix::sys::stat::Mode::S_IRWXU).expect("a pipe");
            }
            for args in [&["lint"][..], &["run", "--replay"]] {
                let ran = stub.run(args);
                let place = format!("skills/tidy/evals/{name}");
                assert!(ran.code != 0 && said(&ran).contains(&place), "{args:?}: {} {}", ran.code, said(&ran));
            }
            fs::remove_file(&path).expect("it is there");
        }
    }
}

#[test]
fn git_that_refuses_to_answer_keeps_runs_from_being_believed() {
    let stub = repository();
    let refused = |args: &[&str]| {
        let mut command = stub.command(args);
        ran(command.env("GIT_TEST_ASSUME_DIFFERENT_OWNER", "1").env_remove("SKILL_EVALS_ISOLATION"))
    };
    for args in [&["summary", "r"][..], &["runs"], &["show", "--run", "r", "tidy/c0"]] {
        let ran = refused(args);
        let said = said(&ran);
        assert!(
            ran.code == 2 && said.contains("dubious ownership") && said.contains("safe.directory"),
            "{args:?} {said}"
        );
    }
    stub.write("evals/evals.toml", "");
    let untrusted = refused(&["summary", "r", "--untrusted"]);
    assert!(untrusted.code == 2 && said(&untrusted).contains("dubious ownership"), "{}", said(&untrusted));
    fs::rename(stub.root().join(".git"), stub.root().join("elsewhere")).expect("a directory");
    assert_eq!(refused(&["summary", "r"]).code, 1, "git does not know the directory");
}

#[test]
fn a_pipe_in_the_place_of_rules_of_git_is_named() {
    let stub = repository();
    let rules = stub.root().join(".gitignore");
    fs::remove_file(&rules).expect("a file");
    nix::unistd::mkfifo(&rules, nix::sys::stat::Mode::S_IRWXU).expect("a pipe");
    let gate = stub.run(&["gate", "--free", "main"]);
    assert!(said(&gate).contains(".gitignore") && said(&gate).contains("named pipe"), "{}", said(&gate));
}

/// The calls that a reading command makes of paths in a repository.
const CALLS: [&str; 4] = ["openat,openat2", "statx,newfstatat", "readlinkat,readlink", "getdents64"];

/// A call of the program that is made to fail once, by strace: the number of such calls, or the output of the failed one.
fn injected(stub: &Stub, args: &[&str], calls: &str, number: usize, path: &Path) -> (Ran, String) {
    let log = stub.scratch().join("calls");
    let mut strace = stub.with_variables(Command::new("strace"));
    strace.args(["-f", "-qq", "-o"]).arg(&log).arg("-P").arg(path);
    strace.args(["-e", &format!("trace={calls}")]);
    if number > 0 {
        strace.args(["-e", &format!("inject={calls}:error=EIO:when={number}")]);
    }
    strace.arg(env!("CARGO_BIN_EXE_skill-evals")).args(args);
    let ran = ran(&mut strace);
    (ran, fs::read_to_string(&log).unwrap_or_default())
}

/// Each call of a path of the repository fails once: `.ci/nightly` runs it.
#[test]
#[ignore = "takes an hour, and needs strace"]
fn each_call_that_fails_once_is_named_or_changes_nothing() {
    let stub = repository();
    let all = walkdir::WalkDir::new(stub.root()).min_depth(1).into_iter().map(|entry| entry.expect("an entry"));
    let paths: BTreeSet<PathBuf> = all
        .map(walkdir::DirEntry::into_path)
        .filter(|path| !path.iter().any(|part| part == ".git") && !path.ends_with("starts"))
        .collect();
    let mut wrong = Vec::new();
    for args in [&["run", "--replay"][..], &["list"], &["lint"], &["summary", "r"], &["gate", "--free", "main"]] {
        let usual = stub.run(args);
        for (path, calls) in paths.iter().flat_map(|path| CALLS.map(|calls| (path, calls))) {
            let (_, log) = injected(&stub, args, calls, 0, path);
            for number in 1..=log.lines().filter(|line| line.contains('(')).count().min(20) {
                let (now, log) = injected(&stub, args, calls, number, path);
                if !log.contains("INJECTED") {
                    continue;
                }
                // Lint warns of what git ignores, and of what git says of that.
                let is_warned = args == ["lint"] && (path.iter().any(|part| part == "built" || part == ".gitignore"));
                let words = said(&now);
                let is_told = words.contains("os error 5") || words.contains("cannot be read");
                let is_named = is_told && (now.code != 0 || is_warned);
                if !is_named && (now.code != usual.code || now.stdout != usual.stdout) {
                    wrong.push(format!("{args:?} {calls} {number} {}: {}", path.display(), said(&now)));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{} times\n{}", wrong.len(), wrong.join("\n\n"));
}
