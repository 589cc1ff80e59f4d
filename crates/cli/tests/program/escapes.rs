//! Attacks of an agent or a setup command on what the runner reads, writes and starts outside the sandbox. Each looks at the
//! victim.

use std::fs;
use std::path::Path;
use std::process::Command;

use nix::fcntl::{OFlag, openat};
use nix::sys::stat::{Mode, mkdirat};
use serde_json::{Value, json};
use skill_evals_agents::agent::bwrap;

use crate::support::fixture::{Ran, temporary};
use crate::support::stored;
use crate::support::stub::{Stub, ran};

pub const SECRET: &str = "the private key of the user";

/// A directory of the user, which no attack may change or read.
pub struct Victim(tempfile::TempDir);

impl Victim {
    pub fn new() -> Self {
        let directory = temporary();
        fs::write(directory.path().join("id_rsa"), SECRET).expect("a file");
        Self(directory)
    }

    pub fn path(&self) -> String {
        self.0.path().display().to_string()
    }

    pub fn assert_untouched(&self, attack: &str) {
        let names: Vec<_> =
            fs::read_dir(self.0.path()).expect("a directory").flatten().map(|e| e.file_name()).collect();
        assert_eq!(names, ["id_rsa"], "{attack}");
        assert_eq!(fs::read_to_string(self.0.path().join("id_rsa")).expect("a file"), SECRET, "{attack}");
    }
}

/// How the commands of the program are isolated: in bubblewrap, if it works here.
fn isolated(command: &mut Command) -> &mut Command {
    let how = if bwrap::working().is_ok() { "bwrap" } else { "agent" };
    command.env("SKILL_EVALS_ISOLATION", how)
}

fn run(stub: &Stub, args: &[&str]) -> Ran {
    ran(isolated(&mut stub.command(args)))
}

/// A case with these setup commands and columns.
fn with_setup(setup: &str, columns: (&str, &str), body: &str) -> Stub {
    let stub = Stub::new(0, body);
    let (names, values) = columns;
    let table = format!("id,should_trigger,prompt,setup{names}\nc0,false,Do it,\"{setup}\"{values}\n");
    stub.write("evals/skills/tidy/prompts.csv", &table);
    stub
}

/// A task of the skill `tidy`, and no other case.
fn with_task(task: &str, body: &str) -> Stub {
    let stub = Stub::new(0, body);
    fs::remove_file(stub.root().join("evals/skills/tidy/prompts.csv")).expect("a file without rows");
    stub.write("evals/tasks/t.json", task);
    stub
}

/// Everything that the run `r` stored, and what it printed.
fn stored(stub: &Stub, ran: &Ran) -> String {
    let files = walkdir::WalkDir::new(stub.run_folder("r")).into_iter().flatten();
    let files = files.filter(|entry| entry.file_type().is_file());
    let texts = files.map(|entry| String::from_utf8_lossy(&fs::read(entry.path()).expect("a file")).into_owned());
    let texts: String = texts.collect();
    [texts, ran.stdout.clone(), ran.stderr.clone()].concat()
}

#[test]
fn standard_error_of_setup_commands_is_no_link_that_a_command_before_planted() {
    for plant in ["ln -sf VICTIM/id_rsa $d/stderr", "for f in $d/.tmp*; do ln -sf VICTIM/id_rsa $f/stderr; done"] {
        let victim = Victim::new();
        let plant = plant.replace("VICTIM", &victim.path());
        let places = "$PWD/.. $PWD/../.. $PWD/../../control $HOME $TMPDIR";
        let attack = format!("for d in {places}; do {plant}; done; true\necho overwritten >&2; exit 3");
        let stub = with_setup(&attack, ("", ""), "");
        let ran = run(&stub, &["run", "--run-id", "r"]);
        ran.exits(3);
        assert!(!stored(&stub, &ran).contains(SECRET), "{plant}");
        victim.assert_untouched(&plant);
    }
}

#[test]
fn the_runner_writes_no_file_of_a_trial_through_links_that_its_setup_left() {
    let schema = (",output_schema", ",evals/answer.schema.json");
    for (attack, columns) in [
        ("for d in .. ../.. ../../control; do ln -s VICTIM/new $d/schema.json; done; true", schema),
        ("rm -rf \"$HOME/.codex\"; ln -s VICTIM \"$HOME/.codex\"", ("", "")),
        ("mkdir -p \"$HOME/.codex\"; ln -s VICTIM/new \"$HOME/.codex/config.toml\"", ("", "")),
        ("mv $HOME $HOME.old; ln -s VICTIM $HOME", ("", "")),
        ("mv $PWD $PWD.old; ln -s VICTIM $PWD", ("", "")),
        ("mkdir -p .agents; mv $TMPDIR $TMPDIR.old; ln -s VICTIM $TMPDIR", ("", "")),
    ] {
        let victim = Victim::new();
        let attack = attack.replace("VICTIM", &victim.path());
        let stub = with_setup(&attack, columns, "");
        stub.write("evals/answer.schema.json", "{\"type\": \"object\"}");
        let users = temporary();
        fs::create_dir(users.path().join(".codex")).expect("a directory");
        fs::write(users.path().join(".codex/auth.json"), "{\"OPENAI_API_KEY\":\"sk-of-the-user-1\"}").expect("a file");
        let mut command = stub.command(&["run", "--run-id", "r"]);
        let ran = ran(isolated(command.env("HOME", users.path())));
        victim.assert_untouched(&format!("{attack}: {}{}", ran.stdout, ran.stderr));
        assert!(!stored(&stub, &ran).contains(SECRET), "{attack}");
    }
}

#[test]
fn a_link_in_the_place_of_the_skills_shows_nothing_to_the_agent() {
    let victim = Victim::new();
    let attack = format!("ln -s {} ../skills", victim.path());
    let stub = with_setup(&attack, ("", ""), "cat ../skills/* > got; true");
    let ran = run(&stub, &["run", "--run-id", "r", "--mode", "none"]);
    let shown = stored(&stub, &ran).contains(SECRET);
    assert!(!shown || bwrap::working().is_err(), "{}{}", ran.stdout, ran.stderr);
    victim.assert_untouched(&attack);
}

/// The directories that a sandbox shows in the places that an agent knows, and all above them.
const PLACES: &str = "all=; for d in $PWD $HOME $TMPDIR /mnt/skills \
                      $HOME/.local/share/skills; do while [ $d != / ]; do all=\"$all $d\"; d=$(dirname $d); done; done";

#[test]
fn no_sandbox_is_made_through_links_that_the_one_before_left() {
    // While bubblewrap makes a sandbox, the whole machine is below /oldroot.
    for (plant, code) in [("mv $d $d.old && ln -s /oldrootVICTIM $d", 3), ("ln -s /oldrootVICTIM $d", 0)] {
        let victim = Victim::new();
        let plant = plant.replace("VICTIM", &victim.path());
        let attack = format!("{PLACES}; for d in $all; do {plant}; done 2> /dev/null; true").replace('"', "\"\"");
        let stub = with_setup(&attack, ("", ""), "");
        let ran = run(&stub, &["run", "--run-id", "r"]);
        victim.assert_untouched(&format!("{plant}: {}{}", ran.stdout, ran.stderr));
        // A setup that has put something else in the place of the workspace is an error of its trial.
        assert!(bwrap::working().is_err() || ran.code == code, "{plant}: {}{}", ran.stdout, ran.stderr);
        assert_eq!(
            ran.code == 3,
            ran.stdout.contains("it removed or replaced the workspace"),
            "{plant}: {}",
            ran.stdout
        );
    }
}

#[test]
fn no_agent_puts_other_skills_in_the_place_of_those_that_it_was_given() {
    if bwrap::working().is_err() {
        return;
    }
    let swap = "s=$(readlink -f .agents/skills/tidy)/SKILL.md; cp $s before; d=$(dirname $s)\n\
                while [ $d != / ]; do mv $d $d.old && mkdir -p $(dirname $s) && echo better > $s; d=$(dirname $d); done 2> /dev/null\n\
                cmp .agents/skills/tidy/SKILL.md before && touch same";
    let task = r#"{"prompt": "Do it.", "evalConfig": {"expectedSkillName": "tidy", "shouldTrigger": false, "checks": [{"file": "same"}]}}"#;
    let stub = with_task(task, swap);
    let ran = run(&stub, &["run", "--run-id", "r", "--mode", "codex"]);
    ran.exits(0);
}

#[test]
fn a_solution_is_not_copied_through_links_that_the_setup_left() {
    let victim = Victim::new();
    let task = format!(
        r#"{{"prompt": "Do it", "setup": ["ln -s {0}/new new; ln -s {0}/id_rsa id_rsa"], "solution": "solved",
            "evalConfig": {{"expectedSkillName": "tidy", "shouldTrigger": false, "requireFiles": ["new"]}}}}"#,
        victim.path()
    );
    let stub = with_task(&task, "");
    stub.write("evals/tasks/solved/new", "of the repository");
    stub.write("evals/tasks/solved/id_rsa", "of the repository");
    let ran = run(&stub, &["verify"]);
    // It gets as far as the copy.
    ran.prints("solution");
    victim.assert_untouched(&format!("{}{}", ran.stdout, ran.stderr));
}

/// Agents that print what codex prints, and are asked again with what the settings say.
const AGAIN: &str = "protocol = \"jsonl\"\nargs = [[\"--session\", \"{session}\"], [\"--resume\", \"{resumed}\"]]\n\
                     [[agents.mine.events]]\nsays = \"message\"\nwhen = { \"/k\" = \"text\" }\ntext = \"/text\"\n\
                     [[agents.mine.events]]\nsays = \"done\"\nwhen = { \"/k\" = \"end\" }\n";

fn asked_three_times(body: &str) -> Stub {
    let stub = Stub::new(0, "");
    let rows = "id,should_trigger,prompt,follow_ups\nn,false,One,\"[\"\"Two\"\", \"\"Three\"\"]\"\n";
    stub.write("evals/skills/tidy/prompts.csv", rows);
    let said = "printf '%s\\n' '{\"k\":\"text\",\"text\":\"Done.\"}' '{\"k\":\"end\"}'\n";
    stub.write("mine.sh", &format!("#!/bin/sh\ncat > got-$(ls | grep -c got)\n{body}\n{said}"));
    let program = stub.root().join("mine.sh").display().to_string();
    stub.write("evals/evals.toml", &format!("[agents.mine]\ncommand = '{program}'\n{AGAIN}"));
    stub
}

#[test]
fn what_an_agent_is_asked_next_is_nothing_that_the_agent_wrote() {
    let victim = Victim::new();
    // Its own arguments replace those of its sandbox, if the runner reads them back.
    let body = format!(
        "count=$(($(tr '\\0' '\\n' < /proc/1/cmdline | wc -l) - 1))\n\
         for d in .. ../.. ../../control; do rm -f $d/further.json $d/prompt\n\
         printf '{{\"first\":%s,\"further\":[\"--dev-bind\",\"/\",\"/\",\"/bin/sh\",\"-c\",\"touch {0}/new\"]}}' $count > $d/further.json\n\
         ln -s {0}/id_rsa $d/prompt\ndone 2> /dev/null",
        victim.path()
    );
    let stub = asked_three_times(&body);
    let ran = run(&stub, &["run", "--run-id", "r", "--mode", "mine"]);
    victim.assert_untouched(&format!("{}{}", ran.stdout, ran.stderr));
    let workspace = stub.run_folder("r").join("work/tidy/n/mine/1/workspace");
    let got = |number: u32| fs::read_to_string(workspace.join(format!("got-{number}"))).unwrap_or_default();
    assert_eq!([got(0), got(1), got(2)], ["One", "Two", "Three"], "{}{}", ran.stdout, ran.stderr);
}

#[test]
fn attributes_and_default_acls_of_a_room_do_not_reach_the_next_trial() {
    let attack = "for d in . .. \"$HOME\" \"$TMPDIR\"; do setfacl -d -m u::-,g::-,o::- $d; setfattr -n user.left -v x $d; done; true";
    let seen = "for d in . .. \"$HOME\" \"$TMPDIR\"; do getfacl -cd $d; getfattr -d --absolute-names $d | grep user; done >> \"$folder/seen\"";
    let stub = Stub::new(3, &format!("{seen} 2> /dev/null; {attack} 2> /dev/null"));
    stub.run("run --jobs 1").exits(0);
    assert_eq!(fs::read_to_string(stub.root().join("seen")).expect("a file").trim(), "");
}

/// Where files are made fast, if there is such a place.
fn memory() -> tempfile::TempDir {
    tempfile::tempdir_in("/dev/shm").unwrap_or_else(|_| temporary())
}

/// 20,000 directories in each other, with a file and another directory in each.
fn fill(directory: &Path) {
    fs::create_dir_all(directory).expect("a directory");
    let flags = OFlag::O_DIRECTORY | OFlag::O_CLOEXEC;
    let mut at = nix::fcntl::open(directory, flags, Mode::empty()).expect("a directory");
    for _ in 0..20_000 {
        for name in ["d", "e"] {
            mkdirat(&at, name, Mode::S_IRWXU).expect("a directory");
        }
        openat(&at, "file", OFlag::O_CREAT | OFlag::O_CLOEXEC, Mode::S_IRWXU).expect("a file");
        at = openat(&at, "d", flags, Mode::empty()).expect("a directory");
    }
}

/// A run in memory. What it prints.
fn in_memory(stub: &Stub, scratch: &Path) -> Ran {
    ran(stub.command(&["run"]).env("SKILL_EVALS_SCRATCH", scratch))
}

#[test]
fn runs_that_deep_directories_were_left_in_are_removed_and_stop_no_later_run() {
    let (stub, scratch) = (Stub::new(2, ""), memory());
    for run in 0..3 {
        let left = scratch.path().join(format!("{}", run + 1));
        fill(&left.join("1/room/home/project/deep"));
        fs::write(left.join(".work-lock"), "").expect("a file");
    }
    let ran = in_memory(&stub, scratch.path());
    ran.exits(0);
    assert_eq!(fs::read_dir(scratch.path()).expect("a directory").count(), 0);
}

#[test]
fn an_agent_that_leaves_20000_directories_in_each_other_ends_no_run() {
    let deep = "perl -e 'for (1..20000) { mkdir \"d\"; mkdir \"e\"; open F, \">f\"; close F; chdir \"d\" or exit 1 }'";
    let (stub, scratch) = (Stub::new(2, &format!("{deep} && touch \"$folder/deep\"")), memory());
    let ran = in_memory(&stub, scratch.path());
    ran.exits(0);
    assert!(stub.root().join("deep").exists());
    assert_eq!(fs::read_dir(scratch.path()).expect("a directory").count(), 0);
}

#[test]
fn no_path_in_the_facts_of_a_trial_leads_a_command_out_of_its_directory() {
    let victim = Victim::new();
    let outside = victim.path();
    for path in [format!("{outside}/id_rsa"), format!("../../../../../../../../../../../../../{outside}/id_rsa")] {
        let file = json!({ "path": path, "size": 27, "changed": true });
        let change = json!({ "after_turn": 1, "kind": "edited", "skill": "tidy", "folder": path });
        for (field, value, is_named) in [
            ("files", json!([file]), true),
            ("links", json!([path]), true),
            ("files_looked_for", json!([path]), true),
            ("skills_changed", json!([path]), true),
            ("changes", json!([change]), false),
            ("commit", json!(path), false),
            ("run_id", json!(path), false),
        ] {
            let stub = Stub::new(1, "echo made > made.txt");
            assert_eq!(run(&stub, &["run", "--run-id", "r", "--shard", "1/1"]).code, 0);
            let folder = stub.run_folder("r-shard-1-of-1").join("work/tidy/c0/codex/1");
            let mut meta: Value =
                serde_json::from_slice(&fs::read(folder.join("meta.json")).expect("facts")).expect("JSON");
            assert!(folder.join("workspace/made.txt").is_file());
            meta[field] = value;
            fs::write(folder.join("meta.json"), meta.to_string()).expect("facts");
            stored::seal(&folder);
            for args in [
                &["show", "tidy/c0", "--run", "r-shard-1-of-1"][..],
                &["report", "r-shard-1-of-1"],
                &["grade", "r-shard-1-of-1"],
                &["record", "r-shard-1-of-1"],
                &["merge", "r", "--run-id", "m"],
                &["run", "--replay"],
            ] {
                let ran = run(&stub, args);
                let said = [ran.stdout, ran.stderr].concat();
                victim.assert_untouched(&format!("{args:?} with {field}: {said}"));
                assert!(!said.contains(SECRET), "{args:?} with {field}: {said}");
                let is_reader = matches!(args[0], "show" | "report" | "grade" | "record");
                let is_said = said.contains("has `..` in it") || said.contains("is absolute") || args[0] == "report";
                assert!(!is_named || !is_reader || is_said, "{args:?} with {field}: {said}");
            }
            for entry in walkdir::WalkDir::new(stub.root()).into_iter().flatten() {
                let is_leak = entry.file_type().is_file()
                    && String::from_utf8_lossy(&fs::read(entry.path()).expect("a file")).contains(SECRET);
                assert!(!is_leak, "{field}: {}", entry.path().display());
            }
        }
    }
}

#[test]
fn files_that_the_runner_was_started_with_are_not_open_in_an_agent_or_a_setup_command() {
    let victim = Victim::new();
    let look = "for fd in 7 8 9; do cat /proc/self/fd/$fd/id_rsa <&$fd >&2; echo x > /proc/self/fd/$fd/new; done";
    for stub in [Stub::new(1, look), with_setup(&look.replace('"', ""), ("", ""), "")] {
        let program = stub.command(&[]);
        let open = "exec 9<VICTIM 8<VICTIM/id_rsa 7>>VICTIM/id_rsa".replace("VICTIM", &victim.path());
        let mut command = Command::new("/bin/sh");
        command.args(["-c", &format!("{open}; exec \"$0\" run --run-id r")]).arg(program.get_program());
        command.current_dir(stub.root());
        for (name, value) in program.get_envs() {
            match value {
                Some(value) => command.env(name, value),
                None => command.env_remove(name),
            };
        }
        let ran = ran(isolated(&mut command));
        assert!(!stored(&stub, &ran).contains(SECRET), "{}{}", ran.stdout, ran.stderr);
        victim.assert_untouched("inherited files");
    }
}

#[test]
fn what_an_agent_puts_in_the_place_of_its_workspace_hides_no_file_of_it() {
    for swap in ["mv $d $d.old; ln -s $d.old $d", "mv $d $d.old; mkdir $d", "mv $d $d.old; mkfifo $d"] {
        for isolation in ["agent", "bwrap"] {
            let task = r#"{"prompt": "Do it.", "evalConfig": {"expectedSkillName": "tidy", "shouldTrigger": false,
                           "checks": [{"file": "bad.txt", "not": true}]}}"#;
            let stub = with_task(task, &format!("echo x > bad.txt; d=$PWD; cd ..; {swap}"));
            let ran =
                ran(stub.command(&["run", "--run-id", "r", "--mode", "codex"]).env("SKILL_EVALS_ISOLATION", isolation));
            // The check fails. It is no error of the trial: the file was seen.
            ran.exits(1).prints("bad.txt");
        }
    }
}
