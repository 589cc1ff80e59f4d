//! What programs of a repository reach past a sandbox's namespaces: the kernel's own tables, the start of the sandbox, and the
//! places where they might start outside of it.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::support::real::{bwrap_works, starts};
use crate::support::stub::Stub;
use crate::tests;
use libtest_mimic::Trial;

pub fn trials() -> Vec<Trial> {
    let found = cfg!(target_os = "linux") && bwrap_works() && starts("cc", &["--version"]);
    crate::support::real::all_needing(
        "bwrap or cc",
        found,
        "get bubblewrap and a C compiler from your system's packages",
        tests![
            nothing_reaches_what_has_no_namespace,
            a_library_that_the_settings_preload_is_not_loaded_outside,
            the_doctor_starts_what_a_repository_names_in_the_sandbox_or_not_at_all,
            codex_tells_its_version_in_the_sandbox_and_without_a_login,
        ],
    )
}

/// Compiles a C program or library for everyone to read.
fn compiled(source: &str, args: &[&str]) -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir_in("/var/tmp").expect("a directory");
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).expect("permissions");
    fs::write(folder.path().join("source.c"), source).expect("a source");
    let to = folder.path().join("compiled");
    let cc = Command::new("cc").args(args).arg("-o").arg(&to).arg(folder.path().join("source.c")).output();
    let cc = cc.expect("cc starts");
    assert!(cc.status.success(), "{}", String::from_utf8_lossy(&cc.stderr));
    (folder, to)
}

/// A run of a stub in isolation: its exit code and what it printed.
fn run(stub: &Stub, args: &[&str]) -> (Option<i32>, String) {
    let mut command = stub.command(args);
    command.env("SKILL_EVALS_ISOLATION", "bwrap").env("SKILL_EVALS_REQUIRE_ISOLATION", "1");
    command.env("CODEX_API_KEY", "key-of-a-test");
    let output = command.output().expect("the program starts");
    let text = [output.stdout, output.stderr].concat();
    (output.status.code(), String::from_utf8_lossy(&text).into_owned())
}

fn workspace_file(stub: &Stub, id: &str, case: &str, name: &str) -> String {
    let path = stub.run_folder(id).join(format!("work/tidy/{case}/codex/1/workspace/{name}"));
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

const EPERM: &str = "1";
const ENXIO: &str = "6";
const ENOENT: &str = "2";
const ENOSYS: &str = "38";
const EAFNOSUPPORT: &str = "97";

fn nothing_reaches_what_has_no_namespace() {
    let (folder, program) = compiled(include_str!("reach/calls.c"), &["-O1"]);
    let key = std::process::id().to_string();
    assert!(starts(&program.display().to_string(), &["share", &key]), "shared memory, outside");
    let stub =
        Stub::new(1, &format!("{} {key} > report.txt 2>&1; cat /proc/keys >> report.txt 2>&1", program.display()));
    stub.settings(&format!("isolation_read = ['{}']", folder.path().display()));
    let (code, said) = run(&stub, &["run", "--run-id", "r"]);
    let _ = Command::new("ipcrm").args(["-M", &key]).output();
    assert_eq!(code, Some(0), "{said}");
    let report = workspace_file(&stub, "r", "c0", "report.txt");
    let expected = [
        ("add_key", EPERM),
        ("keyctl", EPERM),
        ("request_key", EPERM),
        ("io_uring_setup", ENOSYS),
        ("io_uring_enter", ENOSYS),
        ("io_uring_register", ENOSYS),
        ("userfaultfd", EPERM),
        ("perf_event_open", EPERM),
        ("bpf", EPERM),
        ("open_by_handle_at", EPERM),
        ("syslog", EPERM),
        ("vsock", EAFNOSUPPORT),
        ("bluetooth", EAFNOSUPPORT),
        ("alg", EAFNOSUPPORT),
        ("inet", "0"),
        ("netlink", "0"),
        ("tiocsti", EPERM),
        ("tty", ENXIO),
        ("i386", ENOSYS),
        ("x32", ENOSYS),
        ("shm", ENOENT),
    ];
    for (call, result) in expected {
        assert!(report.lines().any(|line| line == format!("{call} {result}")), "{call} {result}: {report}");
    }
    // The files of the sandbox's own start are closed.
    assert!(!report.contains("memfd"), "{report}");
}

fn a_library_that_the_settings_preload_is_not_loaded_outside() {
    let victim = tempfile::tempdir_in("/var/tmp").expect("a directory");
    let mark = victim.path().join("written");
    let source = format!(
        "#include <stdio.h>\n__attribute__((constructor)) static void begin(void) {{\n  FILE *mark = fopen(\"{}\", \"a\");\n  \
         if (mark) fclose(mark);\n}}\n",
        mark.display()
    );
    let (folder, library) = compiled(&source, &["-shared", "-fPIC"]);
    let stub = Stub::new(1, "printf '%s' \"$LD_PRELOAD\" > report.txt");
    let read = format!("isolation_read = ['{}']\n[env]\nLD_PRELOAD = '{}'", folder.path().display(), library.display());
    stub.settings(&read);
    let (code, said) = run(&stub, &["run", "--run-id", "r"]);
    assert_eq!(code, Some(0), "{said}");
    // The agent has the variable, and nothing outside has.
    assert_eq!(workspace_file(&stub, "r", "c0", "report.txt"), library.display().to_string());
    assert!(!mark.exists(), "a library of the settings was loaded outside the sandbox");
    // The library does what the test says.
    assert!(Command::new("true").env("LD_PRELOAD", &library).status().is_ok_and(|status| status.success()));
    assert!(mark.exists());
}

/// An agent that leaves a mark outside, if it can.
fn marking(mark: &Path) -> String {
    format!("#!/bin/sh\n: > '{}'\necho '{{\"done\": true}}'\n", mark.display())
}

fn the_doctor_starts_what_a_repository_names_in_the_sandbox_or_not_at_all() {
    let victim = tempfile::tempdir_in("/var/tmp").expect("a directory");
    let mark = victim.path().join("written");
    let stub = Stub::new(1, "");
    stub.write("tools/agent.sh", &marking(&mark));
    let agent = stub.root().join("tools/agent.sh");
    let settings =
        format!("[agents.codex]\ncommand = '{0}'\n[agents.mine]\nprotocol = 'acp'\ncommand = '{0}'\n", agent.display());
    fs::write(stub.root().join("evals/evals.toml"), settings).expect("settings");
    let (_, said) = run(&stub, &["doctor"]);
    assert!(said.contains("codex") && said.contains("mine"), "{said}");
    assert!(!mark.exists(), "{said}");
    // Without a sandbox it does not start at all, if one is required.
    stub.write("bin/bwrap", "#!/bin/sh\nexit 1\n");
    let path = std::env::var_os("PATH").expect("a PATH");
    let path = std::env::join_paths(std::iter::once(stub.root().join("bin")).chain(std::env::split_paths(&path)));
    let doctor = |required: &str| {
        let mut command = stub.command(&["doctor"]);
        command.env("SKILL_EVALS_ISOLATION", "bwrap").env("SKILL_EVALS_REQUIRE_ISOLATION", required);
        let output = command.env("PATH", path.as_ref().expect("a PATH")).output().expect("the program starts");
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    let said = doctor("1");
    assert!(!mark.exists() && said.contains("isolation is required"), "{said}");
    doctor("0");
    assert!(mark.exists(), "it does start as trials start it, if nothing is required");
}

fn codex_tells_its_version_in_the_sandbox_and_without_a_login() {
    let victim = tempfile::tempdir_in("/var/tmp").expect("a directory");
    let mark = victim.path().join("written");
    let stub = Stub::new(1, "cat \"$HOME/version\" > report.txt");
    let script = fs::read_to_string(stub.root().join("agent.sh")).expect("the agent");
    let version = format!(
        "#!/bin/sh\nif [ \"$1\" = --version ]; then env > \"$HOME/version\"; : > '{}'; echo codex-cli 9.9.9; exit; fi\n",
        mark.display()
    );
    stub.write("agent.sh", &script.replacen("#!/bin/sh\n", &version, 1));
    let history =
        r#""[{""role"": ""user"", ""content"": ""Hello.""}, {""role"": ""assistant"", ""content"": ""Hi!""}]""#;
    let cases = format!("id,should_trigger,prompt,history\nlater,false,And now?,{history}\n");
    stub.write("evals/skills/tidy/prompts.csv", &cases);
    let (_, said) = run(&stub, &["run", "--run-id", "r", "--mode", "codex"]);
    let report = workspace_file(&stub, "r", "later", "report.txt");
    assert!(report.contains("HOME=") && !report.contains("key-of-a-test"), "{report} {said}");
    assert!(!mark.exists(), "codex told its version outside the sandbox");
}
