//! Links that a repository brings and that leave it: no command reads, writes or removes through them, and each says which link it
//! is. A link to another place of the repository is followed.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use crate::compare::git;
use crate::escapes::{SECRET, Victim};
use crate::support::fixture::Ran;
use crate::support::stub::{Stub, ran};

/// Puts a link in the place of what is at `path`.
fn link(stub: &Stub, path: &str, target: impl AsRef<Path>) {
    let path = stub.root().join(path);
    fs::create_dir_all(path.parent().expect("a directory above")).expect("a directory");
    if path.is_dir() && !path.is_symlink() {
        fs::remove_dir_all(&path).expect("a directory");
    } else {
        let _ = fs::remove_file(&path);
    }
    symlink(target, path).expect("a link");
}

fn commit(stub: &Stub) {
    for args in [
        &["init", "--quiet", "--initial-branch", "main"][..],
        &["config", "user.name", "t"],
        &["config", "user.email", "t@localhost"],
        &["add", "--all", "--force"],
        &["commit", "--quiet", "--message", "all"],
    ] {
        git(stub, args);
    }
}

fn said(ran: &Ran) -> String {
    [ran.stdout.as_str(), ran.stderr.as_str()].concat()
}

#[test]
fn no_file_of_a_repository_is_read_through_a_link_that_leaves_it() {
    let rows = |columns: &str, values: &str| format!("id,should_trigger,prompt{columns}\nc0,false,Do it{values}\n");
    for (path, target, table, args) in [
        ("evals/evals.toml", "id_rsa", rows("", ""), &["run"][..]),
        ("evals/judge.md", "id_rsa", rows(",judge", ",true"), &["run"]),
        ("evals/judge.md", "id_rsa", rows(",judge", ",true"), &["lint", "--check-evals"]),
        ("evals/skills/tidy/prompts.csv", "id_rsa", rows("", ""), &["list"]),
        ("evals/skills/tidy/prompts.csv", "id_rsa", rows("", ""), &["lint", "--check-evals"]),
        ("evals/tasks/t.json", "id_rsa", rows("", ""), &["list"]),
        ("evals/tasks", "", rows("", ""), &["list"]),
        ("skills/tidy/SKILL.md", "id_rsa", rows("", ""), &["lint"]),
        ("skills", "", rows("", ""), &["lint"]),
        ("evals/skills/tidy/fixtures/f", "", rows(",fixture", ",fixtures/f"), &["run"]),
        ("evals/schema.json", "id_rsa", rows(",output_schema", ",evals/schema.json"), &["run"]),
        ("evals/recordings", "", rows("", ""), &["run", "--replay"]),
    ] {
        let victim = Victim::new();
        let stub = Stub::new(1, "cat *");
        stub.write("evals/skills/tidy/prompts.csv", &table);
        let target = Path::new(&victim.path()).join(target);
        link(&stub, path, &target);
        let ran = stub.run(args);
        let text = said(&ran);
        let shown = format!("{args:?} with {path}: {text}");
        assert!(ran.code != 0, "{shown}");
        // What a case names may be behind no link at all.
        if !text.contains("error[symlink]") {
            let words = format!("is a symbolic link to {}", target.display());
            assert!(text.contains(words.trim_end_matches('/')), "{shown}");
        }
        assert!(!text.contains(SECRET) && !text.contains("private"), "{shown}");
        let artifacts = walkdir::WalkDir::new(stub.root().join("artifacts")).into_iter().flatten();
        for entry in artifacts.filter(|entry| entry.file_type().is_file()) {
            let content = fs::read(entry.path()).expect("a file");
            assert!(!String::from_utf8_lossy(&content).contains(SECRET), "{}: {shown}", entry.path().display());
        }
        victim.assert_untouched(&shown);
    }
}

#[test]
fn no_command_writes_or_removes_through_a_link_that_leaves_the_repository() {
    for (path, target, args) in [
        (".gitignore", "new", &["init", "--yes"][..]),
        ("evals/Cargo.toml", "new", &["init", "--yes", "--rust", "--git", "https://example.org/it.git"]),
        ("evals/tests", "", &["init", "--yes", "--rust", "--git", "https://example.org/it.git"]),
        (".github", "", &["init", "--ci", "github", "--agent", "codex", "--git", "https://example.org/it.git"]),
        ("evals/tests", "", &["stubs"]),
        ("evals/skills", "", &["generate"]),
        ("evals/recordings", "", &["run", "--record"]),
        ("evals/recordings/tidy", "", &["run", "--record"]),
        ("out.xml", "new", &["run", "--junit", "out.xml"]),
        ("out.html", "id_rsa", &["report", "--output", "out.html"]),
        ("artifacts", "", &["run", "--run-id", "r"]),
        ("artifacts/skill-evals", "", &["run", "--run-id", "r"]),
        ("artifacts/skill-evals", "", &["clean", "--keep", "0"]),
        ("artifacts/skill-evals", "", &["gate"]),
        ("artifacts/skill-evals/r/report.html", "id_rsa", &["report", "r"]),
        ("artifacts/skill-evals/r/runner.lock", "id_rsa", &["clean", "--keep", "0"]),
    ] {
        let victim = Victim::new();
        let stub = Stub::new(1, "");
        if args[0] == "stubs" {
            stub.write("evals/Cargo.toml", "[package]\nname = \"evals\"\n");
        }
        if args[0] == "report" {
            stub.run("run --run-id r").exits(0);
        }
        link(&stub, path, Path::new(&victim.path()).join(target));
        commit(&stub);
        let ran = stub.run(args);
        let shown = format!("{args:?} with {path}: {}", said(&ran));
        victim.assert_untouched(&shown);
        assert!(ran.code != 0 || args[0] == "generate", "{shown}");
        assert!(stub.root().join(path).is_symlink(), "{shown}");
    }
}

#[test]
fn a_link_to_another_place_of_the_repository_is_followed() {
    let stub = Stub::new(1, "");
    for (path, target) in [
        ("shared/skills", "skills"),
        ("shared/prompts.csv", "evals/skills/tidy/prompts.csv"),
        ("shared/evals.toml", "evals/evals.toml"),
    ] {
        fs::create_dir_all(stub.root().join("shared")).expect("a directory");
        fs::rename(stub.root().join(target), stub.root().join(path)).expect("a move");
    }
    link(&stub, ".claude/skills", "../shared/skills");
    link(&stub, "evals/skills/tidy/prompts.csv", "../../../shared/prompts.csv");
    link(&stub, "evals/evals.toml", stub.root().join("shared/evals.toml"));
    link(&stub, "evals/recordings", "../shared/recordings");
    commit(&stub);
    stub.run("run --record --junit shared/out.xml").exits(0);
    assert!(stub.root().join("shared/recordings/tidy/c0/codex/1/meta.json").is_file());
    stub.run("run --replay").exits(0);
}

#[test]
fn a_link_that_the_user_made_and_git_does_not_track_is_followed_by_outputs() {
    let stub = Stub::new(1, "");
    commit(&stub);
    let elsewhere = crate::support::fixture::temporary();
    link(&stub, "artifacts", elsewhere.path());
    link(&stub, "out.xml", elsewhere.path().join("junit.xml"));
    ran(&mut stub.command(&["run", "--run-id", "r", "--junit", "out.xml"])).exits(0);
    assert!(elsewhere.path().join("junit.xml").is_file() && elsewhere.path().join("skill-evals/r/run.json").is_file());
}

#[test]
fn without_git_no_link_leads_from_the_artifacts_to_other_files() {
    for path in ["artifacts", "artifacts/skill-evals"] {
        let victim = Victim::new();
        let stub = Stub::new(1, "");
        link(&stub, path, victim.path());
        let ran = stub.run(&["run", "--run-id", "r"]);
        assert!(ran.code == 2 && said(&ran).contains("is a symbolic link to"), "{path}: {}", said(&ran));
        victim.assert_untouched(path);
    }
}
