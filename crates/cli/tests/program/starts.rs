//! What commands start of a repository, and where: the table of docs/reference/security.md.

use crate::support::repository;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::Read;
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use crate::compare::git;
use crate::support::real::has_bwrap;
use crate::support::stub::{Stub, ran};

/// What started, and whether outside.
type Starts = BTreeSet<(String, bool)>;

/// A repository in which everything that a command may start reports it: by the network, which sandboxes have.
struct Watched {
    stub: Stub,
    bin: tempfile::TempDir,
    reports: Arc<Mutex<Starts>>,
}

impl Watched {
    fn new() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = listener.local_addr().expect("a port").port();
        let reports = Arc::new(Mutex::new(Starts::new()));
        let heard = reports.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let mut line = String::new();
                stream.expect("a report").read_to_string(&mut line).expect("a report");
                let (name, place) = line.trim().split_once('/').expect("what and where");
                heard.lock().expect("a lock").insert((name.to_owned(), place == "outside"));
            }
        });
        let bin = tempfile::tempdir_in("/var/tmp").expect("a directory");
        fs::set_permissions(bin.path(), fs::Permissions::from_mode(0o755)).expect("permissions");
        // Only outside a sandbox the cases can be seen.
        let stub = Stub::new(1, "");
        let mark = stub.root().join("evals/skills/tidy/prompts.csv");
        let report = |name: &str| {
            let mark = mark.display();
            format!(
                "w=sandbox; [ ! -e {mark} ] || w=outside; \
                 W=$w bash -c 'exec 3<>/dev/tcp/127.0.0.1/{port}; echo \"{name}/$W\" >&3' || :\n"
            )
        };
        stub.body(&report("agents"));
        let agent = fs::read_to_string(stub.root().join("agent.sh")).expect("the agent");
        let program = |path: PathBuf, text: &str| {
            fs::write(&path, text).expect("a program");
            fs::set_permissions(path, fs::Permissions::from_mode(0o755)).expect("permissions");
        };
        program(bin.path().join("codex"), &agent);
        program(bin.path().join("cargo"), &format!("#!/bin/sh\n{}exit 1\n", report("cargo")));
        stub.write("checks/look.sh", &format!("#!/bin/sh\n{}", report("check scripts")));
        stub.write("tools/server.sh", &format!("#!/bin/sh\n{}", report("MCP server")));
        let setup = report("setup commands").trim_end().replace('"', "\"\"");
        let cases = format!("id,should_trigger,prompt,check,setup\nc0,false,Prompt 0,checks/look.sh,\"{setup}\"\n");
        stub.write("evals/skills/tidy/prompts.csv", &cases);
        let other = "---\nname: other\ndescription: Counts the words of a text. Use to count words.\n---\n\nCount.\n";
        stub.write("skills/other/SKILL.md", other);
        git(&stub, &["init", "--quiet", "--initial-branch", "main"]);
        Self { stub, bin, reports }
    }

    fn settings(&self, text: &str) {
        fs::write(self.stub.root().join("evals/evals.toml"), text).expect("settings");
    }

    fn commit(&self) {
        git(&self.stub, &["add", "--all"]);
        git(&self.stub, &["commit", "--quiet", "--allow-empty", "--message", "a version"]);
    }

    /// What this command starts, with its exit code and output.
    fn starts(&self, args: &[&str]) -> (Starts, i32, String) {
        self.reports.lock().expect("a lock").clear();
        let mut command = self.stub.command(args);
        let path = std::env::var_os("PATH").expect("a PATH");
        let path = std::iter::once(self.bin.path().to_path_buf()).chain(std::env::split_paths(&path));
        command.env("PATH", std::env::join_paths(path).expect("a PATH")).env("SKILL_EVALS_ISOLATION", "bwrap");
        // Else nothing of an untrusted repository could report.
        command.env("SKILL_EVALS_NETWORK", "host");
        let ran = ran(command.env("CODEX_API_KEY", "key-of-a-test"));
        // A report ends before its program.
        std::thread::sleep(std::time::Duration::from_millis(50));
        (self.reports.lock().expect("a lock").clone(), ran.code, ran.stdout + &ran.stderr)
    }
}

/// The commands of the table, each with its arguments.
const COMMANDS: [(&str, &[&str]); 12] = [
    ("`lint`", &["lint", "--check-evals"]),
    ("`list`", &["list"]),
    ("`verify`", &["verify"]),
    ("`run --replay`", &["run", "--replay"]),
    ("`run`", &["run", "--mode", "codex", "--mode", "codex-mcp", "--skill", "tidy"]),
    ("`compare`", &["compare", "HEAD", "--mode", "codex", "--max-trials", "12"]),
    ("`gate`", &["gate", "HEAD", "--max-trials", "12"]),
    ("`grade`", &["grade", "stored"]),
    ("`show --recording`", &["show", "--recording"]),
    ("`report RECORDINGS`", &["report", "evals/recordings", "-o", "-"]),
    ("`generate --agent`", &["generate", "--agent", "codex", "--yes", "--skill", "other"]),
    ("`doctor`", &["doctor"]),
];

const SETTINGS: &str = "retry_wait_s = 0.02\n[lint]\nallow = [{ rule = \"no-positive\", reason = \"a test\" }]\n";

#[test]
fn what_commands_start_of_a_repository_and_where_is_in_the_table_and_nothing_untrusted_starts_outside() {
    if !has_bwrap() {
        return;
    }
    let watched = Watched::new();
    watched.settings(SETTINGS);
    watched.commit();
    let (_, code, said) =
        watched.starts(&["run", "--run-id", "stored", "--record", "--mode", "codex", "--skill", "tidy"]);
    assert_eq!(code, 0, "{said}");
    watched.commit();
    let change = watched.stub.root().join("skills/tidy/more.md");
    let server = "[mcp]\nname = 'own'\ncommand = 'tools/server.sh'\n";
    let mut rows: BTreeMap<[String; 2], Vec<&str>> = BTreeMap::new();
    let mut order = Vec::new();
    for (name, args) in COMMANDS {
        if matches!(args[0], "compare" | "gate") {
            fs::write(&change, "More.\n").expect("a change");
        } else {
            let _ = fs::remove_file(&change);
        }
        // Cargo fails: what comes after it starts without.
        let is_live = args[0] == "run" && args[1] != "--replay";
        watched.settings(&format!("{SETTINGS}{}", if is_live { server } else { "" }));
        let (mut all, _, said) = watched.starts(args);
        assert!(!all.iter().any(|(_, outside)| *outside), "{name}: {all:?} {said}");
        watched.settings(&format!("harness = 'skill_evals'\n{SETTINGS}"));
        let (with_harness, ..) = watched.starts(args);
        all.extend(with_harness.iter().cloned());
        let cell = |outside: bool| {
            let names: Vec<&str> =
                all.iter().filter(|(_, place)| *place == outside).map(|(name, _)| name.as_str()).collect();
            if names.is_empty() { "nothing".to_owned() } else { names.join(", ") }
        };
        let cells = [cell(false), cell(true)];
        if !order.contains(&cells) {
            order.push(cells.clone());
        }
        rows.entry(cells).or_default().push(name);

        // A gate of the same contents has an answer already.
        let again: &[&str] = if args[0] == "gate" { &["--untrusted", "--fresh"] } else { &["--untrusted"] };
        let untrusted = [args, again].concat();
        let (refused, code, said) = watched.starts(&untrusted);
        assert!(refused.iter().all(|(_, outside)| !outside), "{name} --untrusted: {refused:?} {said}");
        if with_harness.iter().any(|(_, outside)| *outside) {
            assert!(code == 2 && said.contains("`harness` is refused"), "{name}: {code} {said}");
        }
        watched.settings(SETTINGS);
        let (inside, _, said) = watched.starts(&untrusted);
        let expected: Starts =
            all.iter().filter(|(name, outside)| !outside && !name.contains("MCP")).cloned().collect();
        let inside: Starts = inside.into_iter().filter(|(name, _)| !name.contains("MCP")).collect();
        assert_eq!(inside, expected, "{name} --untrusted: {said}");
    }
    let mut table = "| command | in a sandbox | outside |\n| --- | --- | --- |\n".to_owned();
    let row = |cells: &[String; 2]| format!("| {} | {} | {} |\n", rows[cells].join(", "), cells[0], cells[1]);
    table.extend(order.iter().map(row));
    let page = repository().join("docs/reference/security.md");
    let page = fs::read_to_string(page).expect("the page");
    let written = page.split("<!-- starts -->\n\n").nth(1).and_then(|rest| rest.split("\n<!-- /starts -->").next());
    assert_eq!(written, Some(table.as_str()), "docs/reference/security.md has another table:\n{table}");
}

#[test]
fn an_untrusted_repository_is_refused_by_name_and_a_gate_distrusts_forks() {
    let stub = Stub::new(1, "");
    git(&stub, &["init", "--quiet", "--initial-branch", "main"]);
    git(&stub, &["add", "--all"]);
    git(&stub, &["commit", "--quiet", "--message", "a version"]);
    for command in ["run", "gate", "verify", "generate", "doctor"] {
        let ran = stub.run(&[command, "--untrusted"]);
        let said = ran.stdout + &ran.stderr;
        let code = if command == "doctor" { 1 } else { 2 };
        assert!(ran.code == code && said.contains("`agents` is refused"), "{command}: {} {said}", ran.code);
        assert!(said.contains("evals/evals.toml:3:2"), "{said}");
    }
    let event = |head: &str| {
        let event = format!(
            "{{\"pull_request\": {{\"base\": {{\"repo\": {{\"full_name\": \"us/it\"}}}}, \"head\": {{\"repo\": {head}}}}}}}"
        );
        stub.write("event.json", &event);
        stub.root().join("event.json")
    };
    let gate = |variables: &[(&str, &str)]| {
        let mut command = stub.command(&["gate", "--dry-run"]);
        let ran = ran(command.env_remove("GITHUB_EVENT_PATH").envs(variables.iter().copied()));
        ran.stderr.contains("`agents` is refused")
    };
    assert!(!gate(&[]));
    let gitlab = |source| [("CI_MERGE_REQUEST_SOURCE_PROJECT_ID", source), ("CI_MERGE_REQUEST_PROJECT_ID", "1")];
    assert!(gate(&gitlab("2")) && !gate(&gitlab("1")));
    for (head, is_fork) in
        [("{\"full_name\": \"they/it\"}", true), ("null", true), ("{\"full_name\": \"us/it\"}", false)]
    {
        let path = event(head).display().to_string();
        assert_eq!(gate(&[("GITHUB_EVENT_PATH", path.as_str())]), is_fork, "{head}");
        assert!(!gate(&[("GITHUB_EVENT_PATH", path.as_str()), ("SKILL_EVALS_UNTRUSTED", "0")]), "{head}");
    }
    // What it says of the gate does not count: a branch cannot be its own base.
    git(&stub, &["checkout", "--quiet", "-b", "change"]);
    stub.write("skills/tidy/SKILL.md", "---\nname: tidy\ndescription: Something else.\n---\n\nDo it.\n");
    stub.write("evals/evals.toml", "[gate]\nbase = \"HEAD\"\n");
    git(&stub, &["add", "--all"]);
    git(&stub, &["commit", "--quiet", "--message", "a change"]);
    let mut command = stub.command(&["gate", "--untrusted"]);
    let ran_untrusted = ran(command.env_remove("SKILL_EVALS_ISOLATION"));
    let said = format!("{}{}", ran_untrusted.stdout, ran_untrusted.stderr);
    assert!(!said.contains("gate: passed") && !said.contains("no skill of 1 differs"), "{said}");
    let ignored = "these keys of it do not count: `gate`; that of the base counts";
    ran_untrusted.warns(ignored);
    // The user's own variable cannot take the sandbox away.
    stub.write("evals/evals.toml", "");
    stub.run("run --untrusted").exits(2).warns("SKILL_EVALS_ISOLATION is \"agent\"");
}

#[test]
fn settings_of_the_base_that_are_not_in_the_checkout_are_an_error_and_not_the_defaults() {
    let stub = Stub::new(1, "");
    stub.write("evals/evals.toml", "max_cost_usd = 1.0\n");
    git(&stub, &["init", "--quiet", "--initial-branch", "main"]);
    git(&stub, &["add", "--all"]);
    git(&stub, &["commit", "--quiet", "--message", "a version"]);
    // As in a checkout with a filter: the commit is there, and a file of it is not.
    let mut command = std::process::Command::new("git");
    let told = command.args(["rev-parse", "main:evals/evals.toml"]).current_dir(stub.root()).output().expect("git");
    let blob = String::from_utf8(told.stdout).expect("a digest");
    let blob = blob.trim();
    std::fs::remove_file(stub.root().join(".git/objects").join(&blob[..2]).join(&blob[2..])).expect("an object");
    let mut command = stub.command(&["gate", "main", "--untrusted", "--dry-run"]);
    ran(command.env_remove("SKILL_EVALS_ISOLATION")).exits(2).warns("of the base").warns("cannot be read; fetch it");
}
