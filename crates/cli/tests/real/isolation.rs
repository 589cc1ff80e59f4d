//! Isolation: an agent inside bubblewrap gets to its own room and nothing else, whatever a model has it try.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use crate::support::live::{Live, request_text};
use crate::support::real::{bwrap_works, path_with_programs, programs};
use crate::support::stand_in::Turn;
use crate::support::stub::Stub;
use crate::tests;
use libtest_mimic::Trial;
use serde_json::Value;
use skill_evals_evidence::settings::Isolation;
use skill_evals_evidence::trial::outcome::Verdict;

pub fn trials() -> Vec<Trial> {
    let found = bwrap_works() && programs().join("codex").exists() && programs().join("claude").exists();
    crate::support::real::all_needing(
        "bwrap, codex or claude",
        found,
        "get bubblewrap from your system's packages and the agents with `npm install --prefix target/agents`",
        tests![
            no_real_agent_gets_to_the_repository_a_home_another_room_or_a_process,
            an_agent_on_its_own_can_read_the_expected_answers,
            an_agent_sees_its_room_and_no_other_process,
            an_agent_finds_itself_in_an_ordinary_project,
            an_agent_can_write_no_setting_of_the_kernel,
            skills_are_read_only_and_the_case_passes,
            a_sandbox_that_does_not_work_is_told_and_where_required_an_error,
            what_is_named_as_readable_is_readable,
            a_script_that_calls_a_program_elsewhere_is_told_with_the_path_to_add,
            what_a_script_lacks_is_found_above_a_long_trace,
            a_server_that_calls_a_program_elsewhere_is_told_where_to_name_it,
            the_repositorys_own_server_has_its_files_and_the_cases_stay_hidden,
        ],
    )
}

/// A process that an agent may try to end.
struct Bystander(std::process::Child);

impl Bystander {
    fn new() -> Self {
        Self(Command::new("sleep").arg("600").spawn().expect("sleep starts"))
    }

    fn is_alive(&mut self) -> bool {
        self.0.try_wait().expect("a state").is_none()
    }
}

impl Drop for Bystander {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A repository with an expected answer, a home with a key and another trial's room; the model has the agent's shell look
/// for them and end the bystander.
fn curious(bystander: &Bystander) -> Live {
    let places = std::sync::Arc::new(std::sync::OnceLock::<String>::new());
    let script = places.clone();
    let live =
        Live::new(
            "should_trigger,prompt,must_not_include",
            "false,Look.,EXPECTED_ANSWER",
            move |request| match request.step {
                0 => Turn::Shell(script.get().cloned().unwrap_or_default()),
                _ => Turn::Say("Done.".to_owned()),
            },
        );
    let write = |path: &Path, text: &str| {
        fs::create_dir_all(path.parent().expect("a directory")).expect("a directory");
        fs::write(path, text).expect("a file");
    };
    let key = live.user_home().join(".ssh/id_ed25519");
    let note = live.scratch().join("99/99/room/home/project/note.txt");
    write(&key, "PRIVATE_KEY");
    write(&note, "OTHER_ROOM");
    let cases = live.fixture.root().join("evals/skills/greeting/prompts.csv");
    let command = format!(
        "cat {}; cat {}; cat {}; kill -9 {}; cat /proc/[0-9]*/cmdline | tr '\\0' ' '; echo LOOKED",
        cases.display(),
        key.display(),
        note.display(),
        bystander.0.id()
    );
    places.set(command).expect("set once");
    live
}

/// What came back to the model.
fn seen(live: &Live) -> String {
    // The command itself comes back too, and names the paths, but not what is in them.
    live.model.requests().iter().map(request_text).collect()
}

fn no_real_agent_gets_to_the_repository_a_home_another_room_or_a_process() {
    for mode in ["codex", "cli-native", "native"] {
        let mut bystander = Bystander::new();
        let live = curious(&bystander);
        let output = live
            .command(&["--mode", mode])
            .env("SKILL_EVALS_REQUIRE_ISOLATION", "1")
            .output()
            .expect("the program starts");
        let trial = live.kept("greeting", "it", mode);
        let trial = trial.unwrap_or_else(|| panic!("{}", String::from_utf8_lossy(&output.stdout)));
        trial.expect(Verdict::Pass);
        let seen = seen(&live);
        for secret in ["EXPECTED_ANSWER", "PRIVATE_KEY", "OTHER_ROOM", "skill-evals run"] {
            assert!(!seen.contains(secret), "{secret} reached the model in {mode}: {seen}");
        }
        assert!(bystander.is_alive(), "{mode}");
        assert_eq!(trial.meta.isolation, Some(Isolation::Bwrap));
        assert!(trial.text("session.md").contains("- isolation: bwrap\n"));
        assert!(!trial.meta.not_enforced.iter().any(|open| open.contains("reading")), "{:?}", trial.meta.not_enforced);
    }
}

/// The test above can fail.
fn an_agent_on_its_own_can_read_the_expected_answers() {
    let bystander = Bystander::new();
    let live = curious(&bystander);
    live.command(&["--mode", "codex"])
        .env("SKILL_EVALS_ISOLATION", "agent")
        .env("SKILL_EVALS_CALIBRATE", "off")
        .output()
        .expect("the program starts");
    let trial = live.kept("greeting", "it", "codex").expect("a kept trial");
    let seen = seen(&live);
    assert!(seen.contains("EXPECTED_ANSWER") && seen.contains("OTHER_ROOM"), "{seen}");
    assert_eq!(trial.meta.isolation, Some(Isolation::Agent));
    assert!(trial.meta.not_enforced.iter().any(|open| open.contains("not reading")), "{:?}", trial.meta.not_enforced);
}

/// A stub whose agent runs `body` in isolation and prints into `report.txt` in its working directory.
fn reported(stub: &Stub, id: &str, body: &str) -> (i32, String) {
    stub.body(&format!("{{ {body}\n}} > report.txt 2>&1"));
    let output = stub
        .command(&["run", "--run-id", id])
        .env("SKILL_EVALS_ISOLATION", "bwrap")
        .env("SKILL_EVALS_REQUIRE_ISOLATION", "1")
        .output()
        .expect("the program starts");
    let report = fs::read_to_string(stub.run_folder(id).join("work/tidy/c0/codex/1/workspace/report.txt"));
    let code = output.status.code().expect("an end");
    (code, report.unwrap_or_else(|_| panic!("no report: {}", String::from_utf8_lossy(&output.stdout))))
}

fn an_agent_sees_its_room_and_no_other_process() {
    let stub = Stub::new(1, "");
    let root = stub.root().display();
    let scratch = stub.scratch().display();
    let (code, report) = reported(
        &stub,
        "r",
        &format!(
            "ls -A {root} | grep -v starts; ls -A {scratch}; echo processes; ls -d /proc/[0-9]* | wc -l; touch /usr/touched; \
             touch /etc/touched; echo shadow; cat /etc/shadow; echo mine > \"$HOME/mine\" && cat \"$HOME/mine\"; \
             touch \"$TMPDIR/t\" /tmp/t && echo writable; mount -t tmpfs none /usr 2>&1 | head -n 1"
        ),
    );
    assert_eq!(code, 0, "{report}");
    let lines: Vec<&str> = report.lines().collect();
    assert_eq!(lines[0], "agent.sh", "of the repository there is the program: {report}");
    assert!(lines[1].contains("No such file or directory"), "{report}");
    assert!(!report.contains("lock") && !report.contains("evals\n"), "{report}");
    let processes = report.split("processes\n").nth(1).and_then(|rest| rest.lines().next()).expect("a number");
    assert!(processes.trim().parse::<usize>().expect("a number") < 8, "{report}");
    assert_eq!(report.matches("Read-only file system").count(), 2, "{report}");
    assert!(!report.contains("root:"), "{report}");
    assert!(report.contains("mine\nwritable\n"), "{report}");
    assert!(!Path::new("/usr/touched").exists() && !Path::new("/tmp/t").exists());
}

/// Where a sandbox shows files, but for those of the home: a directory that is empty on this machine.
fn shown() -> &'static str {
    let places = ["/mnt", "/srv", "/media"];
    let is_empty = |place: &&str| fs::read_dir(place).map_or(true, |mut entries| entries.next().is_none());
    places.into_iter().find(is_empty).unwrap_or(places[0])
}

/// What an agent can see, but for what the user's own programs and directories are called: no word of this program, and no id.
fn an_agent_finds_itself_in_an_ordinary_project() {
    let stub = Stub::new(1, "");
    let looks = "pwd; whoami; hostname; echo \"$HOME $USER $TMPDIR\"; env; cat /etc/passwd /etc/group /etc/hostname /proc/self/mountinfo; id; \
                 cat /proc/[0-9]*/cmdline /proc/[0-9]*/environ | tr '\\0' '\\n'; ls -l /proc/[0-9]*/fd; ls -laR /home /mnt /srv /media /tmp .";
    let (code, report) = reported(&stub, "r", looks);
    assert_eq!(code, 0, "{report}");
    let home = report.lines().next().and_then(|line| line.strip_suffix("/project")).expect("the workspace");
    let user = home.strip_prefix("/home/").expect("a home");
    let lines: Vec<&str> = report.lines().skip(1).take(3).collect();
    assert_eq!(lines, [user, "workstation", &format!("{home} {user} {}/tmp", shown())], "{report}");
    let mut seen = report.clone();
    let search_path = std::env::var("PATH").unwrap_or_default();
    let program = env!("CARGO_BIN_EXE_skill-evals");
    let directories = search_path.split(':').chain([program]).filter(|path| path.len() > 1);
    for own in directories.chain([stub.root(), stub.scratch()].map(|path| path.to_str().expect("UTF-8"))) {
        seen = seen.replace(own, "");
    }
    for word in ["skill-evals", "skill_evals", "trial", "eval", "grade", "case", "run-"] {
        let found = seen.lines().find(|line| line.to_lowercase().contains(word));
        assert_eq!(found, None, "`{word}` can be seen");
    }
}

/// Opens every file for writing, without writing, and prints those that opened.
const OPENS: &str = r#"node -e '
const fs = require("fs"), { O_WRONLY, O_NONBLOCK } = fs.constants, opened = new Set();
const walk = (path) => {
  let entries = [];
  try { entries = fs.readdirSync(path, { withFileTypes: true }); } catch {}
  for (const entry of entries) {
    const at = `${path}/${entry.name}`;
    if (entry.isDirectory()) walk(at);
    else if (!entry.isSymbolicLink()) {
      try { fs.closeSync(fs.openSync(at, O_WRONLY | O_NONBLOCK)); opened.add(at.replace(/[0-9]+/g, "N")); } catch {}
    }
  }
};
["/proc", "/sys", "/dev"].forEach(walk);
console.log([...opened].sort().map((path) => `opened ${path}`).join("\n"));
'"#;

/// Settings of the sandbox's own namespaces of messages and processes. They are an ordinary user's, who made these.
const OWN_NAMESPACES: [&str; 6] =
    ["fs/mqueue/", "kernel/auto_msgmni", "kernel/msg", "kernel/sem", "kernel/shm", "kernel/ns_last_pid"];

/// Whether an agent may open a file for writing: devices without effect, triggers of its own, its own processes.
fn is_harmless(path: &str) -> bool {
    let is_root = nix::unistd::getuid().is_root();
    if let Some(setting) = path.strip_prefix("/proc/sys/") {
        let own = |start: &str| setting.starts_with(start);
        return !is_root && (OWN_NAMESPACES.into_iter().any(own) || setting == "kernel/pid_max");
    }
    let devices = ["null", "zero", "full", "random", "urandom", "tty", "pts/ptmx", "pts/N"];
    path.strip_prefix("/dev/").is_some_and(|device| devices.contains(&device))
        || path.starts_with("/proc/pressure/")
        || path.strip_prefix("/proc/N/").is_some_and(|of_process| !of_process.contains("net/"))
}

fn an_agent_can_write_no_setting_of_the_kernel() {
    let stub = Stub::new(1, "");
    let (code, report) = reported(
        &stub,
        "r",
        &format!(
            "cat /proc/sys/kernel/hostname > /proc/sys/kernel/hostname; hostname skill-evals; \
             for name in uts cgroup; do readlink /proc/self/ns/$name; done; \
             bwrap --bind / / --unshare-user --unshare-pid --proc /proc true && echo nested; {OPENS}"
        ),
    );
    assert_eq!(code, 0, "{report}");
    let opened: Vec<&str> = report.lines().filter_map(|line| line.strip_prefix("opened ")).collect();
    assert!(opened.contains(&"/dev/null") && opened.contains(&"/proc/N/comm"), "{report}");
    let settings: Vec<&&str> = opened.iter().filter(|path| !is_harmless(path)).collect();
    assert!(settings.is_empty(), "{settings:#?}");
    assert_eq!(report.matches("cannot create /proc/sys/kernel/hostname").count(), 1, "{report}");
    for name in ["uts", "cgroup"] {
        let ours = fs::read_link(format!("/proc/self/ns/{name}")).expect("a namespace");
        assert!(report.contains(&format!("{name}:[")) && !report.contains(&ours.display().to_string()), "{report}");
    }
    // An agent's own sandbox gets a /proc of its own only where that would not bring the settings back.
    assert_eq!(report.contains("nested\n"), !nix::unistd::getuid().is_root(), "{report}");
}

fn skills_are_read_only_and_the_case_passes() {
    let stub = Stub::new(1, "");
    let (code, report) =
        reported(&stub, "r", "echo more >> .agents/skills/tidy/SKILL.md; cat .agents/skills/tidy/SKILL.md");
    assert_eq!(code, 0, "{report}");
    assert!(report.contains("cannot create") && report.contains("name: tidy"), "{report}");
    assert!(!report.contains("more"), "{report}");
}

fn a_sandbox_that_does_not_work_is_told_and_where_required_an_error() {
    let stub = Stub::new(1, "");
    let bin = stub.root().join("bin");
    fs::create_dir(&bin).expect("a directory");
    let bwrap = "#!/bin/sh\necho bwrap: No permissions to create new namespace >&2\nexit 1\n";
    fs::write(bin.join("bwrap"), bwrap).expect("a script");
    fs::set_permissions(bin.join("bwrap"), fs::Permissions::from_mode(0o755)).expect("permissions");
    let path = std::env::join_paths(std::iter::once(bin).chain(std::env::split_paths(&path_with_programs())));
    let path = path.expect("a PATH");
    let run = |id: &str, required: &str| {
        let mut command = stub.command(&["run", "--run-id", id]);
        command.env("PATH", &path).env("SKILL_EVALS_ISOLATION", "bwrap").env("SKILL_EVALS_REQUIRE_ISOLATION", required);
        command.output().expect("the program starts")
    };
    let output = run("required", "1");
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert_eq!((output.status.code(), stub.starts().len()), (Some(3), 0), "{said}");
    assert!(said.contains("require_isolation") && said.contains("No permissions to create new namespace"), "{said}");
    assert_eq!(run("wished", "0").status.code(), Some(0));
    let meta: Value = stub.json("wished", "work/tidy/c0/codex/1/meta.json");
    assert_eq!(meta["isolation"], "agent");
    assert!(meta["not_enforced"].to_string().contains("No permissions to create new namespace"), "{meta}");
}

fn what_is_named_as_readable_is_readable() {
    let stub = Stub::new(1, "");
    let data = tempfile::tempdir().expect("a directory");
    fs::write(data.path().join("table.txt"), "A_ROW").expect("a file");
    let look = format!("cat {0}/table.txt; touch {0}/new", data.path().display());
    assert!(reported(&stub, "before", &look).1.contains("No such file"));
    stub.settings(&format!("isolation_read = ['{}']", data.path().display()));
    let (_, report) = reported(&stub, "named", &look);
    assert!(report.contains("A_ROW") && report.contains("Read-only file system"), "{report}");
}

fn the_repositorys_own_server_has_its_files_and_the_cases_stay_hidden() {
    let stub = Stub::new(1, "");
    let root = stub.root().display().to_string();
    fs::create_dir(stub.root().join("tools")).expect("a directory");
    let program = env!("CARGO_BIN_EXE_skill-evals");
    let server = format!("#!/bin/sh\n. \"$1/tools/names.sh\"\nexec {program} $SERVE --skills \"$2\"\n");
    fs::write(stub.root().join("tools/server.sh"), server).expect("a script");
    fs::write(stub.root().join("tools/names.sh"), "SERVE=mcp\n").expect("a script");
    let executable = fs::Permissions::from_mode(0o755);
    fs::set_permissions(stub.root().join("tools/server.sh"), executable).expect("permissions");
    stub.settings(&format!("isolation_read = ['{program}']\nmodes = ['codex-mcp']"));
    let settings = stub.root().join("evals/evals.toml");
    let more = "\n[mcp]\nname = 'skilljack'\ncommand = 'tools/server.sh'\nargs = ['{root}', '{skills}']\n";
    fs::write(&settings, fs::read_to_string(&settings).expect("settings") + more).expect("settings");
    stub.body(&format!("{{ ls {root}/tools; ls -A {root}/evals {root}/artifacts; }} > report.txt 2>&1"));
    let output = stub
        .command(&["run", "--run-id", "r"])
        .env("SKILL_EVALS_ISOLATION", "bwrap")
        .env("SKILL_EVALS_REQUIRE_ISOLATION", "1")
        .output()
        .expect("the program starts");
    let said = String::from_utf8_lossy(&output.stdout);
    let meta: Value = stub.json("r", "work/tidy/c0/codex-mcp/1/meta.json");
    assert_eq!(meta["server"]["tools"], serde_json::json!(["skill", "skill-resource"]), "{said}");
    let report = stub.run_folder("r").join("work/tidy/c0/codex-mcp/1/workspace/report.txt");
    let report = fs::read_to_string(report).expect("a report");
    assert!(report.starts_with("names.sh\nserver.sh\n"), "{report}");
    assert!(!report.contains("skills") && !report.contains("prompts.csv"), "{report}");
}

/// A directory with the stub's agent as its program, which scripts in a second one call, each in the way of `calls`.
fn behind_scripts(stub: &Stub, calls: &str) -> (tempfile::TempDir, String) {
    let own = tempfile::tempdir_in("/var/tmp").expect("a directory");
    fs::set_permissions(own.path(), fs::Permissions::from_mode(0o755)).expect("permissions");
    let executable = |path: &Path, text: &str| {
        fs::create_dir_all(path.parent().expect("a directory")).expect("a directory");
        fs::write(path, text).expect("a script");
        fs::set_permissions(path, fs::Permissions::from_mode(0o755)).expect("permissions");
    };
    let versions = "#!/bin/sh\n[ \"$1\" != --version ] || { echo codex-cli 9.9.9; exit; }\n";
    let agent = fs::read_to_string(stub.root().join("agent.sh")).expect("the agent");
    executable(&own.path().join("versions/9/bin/codex"), &agent.replacen("#!/bin/sh\n", versions, 1));
    executable(
        &own.path().join("manager/run"),
        &format!("#!/bin/sh\nexec {}/versions/9/bin/codex \"$@\"\n", own.path().display()),
    );
    executable(
        &own.path().join("my tools/run"),
        &format!("#!/bin/sh\nexec {}/versions/9/bin/codex \"$@\"\n", own.path().display()),
    );
    std::os::unix::fs::symlink("run", own.path().join("manager/latest")).expect("a link");
    std::os::unix::fs::symlink(own.path().join("manager"), own.path().join("current")).expect("a link");
    let calls = calls.replace("{own}", &own.path().display().to_string());
    executable(&own.path().join("shims/codex"), &calls);
    let command = own.path().join("shims/codex").display().to_string();
    (own, command)
}

fn a_script_that_calls_a_program_elsewhere_is_told_with_the_path_to_add() {
    for calls in [
        "#!/bin/sh\nexec {own}/current/latest \"$@\"\n",
        "#!/bin/bash\nset -e\n'{own}/manager/run' \"$@\"\n",
        "#!/bin/sh\ntool={own}/manager\nexec \"$tool/latest\" \"$@\"\n",
        "#!{own}/manager/run\n",
        "#!/bin/sh\nexec '{own}/my tools/run' \"$@\"\n",
    ] {
        let stub = Stub::new(1, "");
        let (own, command) = behind_scripts(&stub, calls);
        let path = format!("{}:/usr/local/bin:/usr/bin:/bin", own.path().join("shims").display());
        let settings = stub.root().join("evals/evals.toml");
        let set = |read: &str| {
            fs::write(&settings, format!("{read}\n[agents.codex]\ncommand = '{command}'\n")).expect("settings");
        };
        let ended = |args: &[&str]| {
            let mut command = stub.command(args);
            command.env("SKILL_EVALS_ISOLATION", "bwrap").env("PATH", &path).env("CODEX_API_KEY", "key-key-key");
            let output = command.output().expect("the program starts");
            (output.status.code(), String::from_utf8_lossy(&output.stdout).into_owned())
        };
        let finding = || {
            let (_, text) = ended(&["doctor", "--json"]);
            let examined: Value = serde_json::from_str(&text).expect("JSON");
            let findings = examined["findings"].as_array().expect("findings").clone();
            findings.into_iter().find(|finding| finding["id"] == "codex").expect("the agent")
        };
        set("");
        let missing = finding();
        let advice = missing["advice"].as_str().unwrap_or_default();
        assert_eq!(missing["state"], "missing", "{missing}");
        assert!(missing["found"].as_str().is_some_and(|found| found.contains("inside bubblewrap")), "{missing}");
        assert!(advice.contains(&format!("{}/versions/9/bin\"", own.path().display())), "{calls} {advice}");
        let (code, said) = ended(&["run", "--run-id", "before"]);
        assert_eq!(code, Some(3), "{said}");
        for words in ["inside bubblewrap", "`isolation_read` in evals/evals.toml", "`skill-evals doctor`"] {
            assert!(said.contains(words), "{words}: {said}");
        }
        // What it says helps.
        let paths = advice.strip_prefix("add ").and_then(|rest| rest.split(" to `isolation_read`").next());
        set(&format!("isolation_read = [{}]", paths.expect("paths")));
        assert_eq!(finding()["state"], "ok", "{advice}: {}", finding());
        let (code, said) = ended(&["run", "--run-id", "after"]);
        assert_eq!(code, Some(0), "{advice}: {said}");
    }
}

fn what_a_script_lacks_is_found_above_a_long_trace() {
    let stub = Stub::new(1, "");
    let (own, command) = behind_scripts(&stub, "#!/bin/sh\n{own}/current/latest \"$@\" || { seq 300 >&2; exit 1; }\n");
    let settings = format!("[agents.codex]\ncommand = '{command}'\n");
    fs::write(stub.root().join("evals/evals.toml"), settings).expect("settings");
    let mut doctor = stub.command(&["doctor"]);
    let output = doctor.env("SKILL_EVALS_ISOLATION", "bwrap").output().expect("the program starts");
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(said.contains(&format!("{}/versions/9/bin\"", own.path().display())), "{said}");
}

fn a_server_that_calls_a_program_elsewhere_is_told_where_to_name_it() {
    let stub = Stub::new(1, "");
    let (_own, command) = behind_scripts(&stub, "#!/bin/sh\nexec {own}/manager/run\n");
    stub.settings("modes = ['codex-mcp']");
    let settings = stub.root().join("evals/evals.toml");
    let more = format!("\n[mcp]\nname = 'own'\ncommand = '{command}'\n");
    fs::write(&settings, fs::read_to_string(&settings).expect("settings") + &more).expect("settings");
    let mut run = stub.command(&["run"]);
    let output = run.env("SKILL_EVALS_ISOLATION", "bwrap").output().expect("the program starts");
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(said.contains("exit status 127") && said.contains("`isolation_read` in evals/evals.toml"), "{said}");
}
