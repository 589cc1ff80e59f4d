//! What people install, from what `packages/build` has built: the program alone, the wheel, the npm packages. Each starts in an
//! empty root, and ends as the program ends.

mod support;

use crate::support::repository;
use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, Stdio};

use libtest_mimic::Arguments;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use support::fixture::{Fixture, Ran};
use support::live::{processes_with, wait_until};
use support::real::{bwrap_works, needing, starts};
use support::stub::{Stub, in_own_group, ran, signal};

/// The largest size of a program, in bytes.
const MAX_SIZE: u64 = 15_000_000;

/// The ways to get the program, and what each needs here.
const WAYS: [(&str, fn() -> Installed, &[&str]); 4] = [
    ("binary", binary, &["tar"]),
    ("wheel", wheel, &["python3"]),
    ("npm", npm, &["node", "npm"]),
    ("npx", npx, &["node", "npm", "npx"]),
];

/// The other processor that Linux runs on, and what runs its programs here. Its program is the same in archive, wheel and npm package.
const ARM: &str = "aarch64";
const EMULATOR: &str = "qemu-aarch64-static";

fn main() -> ExitCode {
    let args = Arguments::from_args();
    let built = archive(std::env::consts::ARCH).is_file();
    let found = |program: &&&'static str| starts(program, &["--version"]);
    let mut trials = Vec::new();
    let no_sandbox = (!bwrap_works()).then_some("bwrap");
    for (way, install, programs) in WAYS {
        let missing = (!built).then_some("target/packages").or(programs.iter().find(|name| !found(name)).copied());
        let test = |name: &str, missing: Option<&'static str>, test: fn(&Installed)| {
            let ran = move || {
                test(&install());
                Ok(())
            };
            needing(&format!("{way}::{name}"), missing, "run `packages/build`, or install the program", ran)
        };
        trials.push(test("lints_lists_and_replays_in_an_empty_root", missing.or(no_sandbox), works_in_an_empty_root));
        trials.push(test("ends_with_its_agents_on_sigterm", missing, ends_on_sigterm));
        trials.push(test("ends_as_the_program_ends", missing, ends_as_the_program_ends));
        trials.push(test("lets_agents_finish_after_ctrl_c", missing, finishes_after_ctrl_c));
    }
    let missing = (!archive(ARM).is_file()).then_some("target/packages of arm64");
    let missing = missing.or((!starts(EMULATOR, &["-version"])).then_some(EMULATOR)).or(no_sandbox);
    let arm = || {
        works_in_an_empty_root(&for_arm());
        Ok(())
    };
    let name = "arm64::lints_lists_and_replays_in_an_empty_root";
    trials.push(needing(name, missing, "run `packages/build` for it, or install the program", arm));
    let unbuilt = (!built).then_some("target/packages");
    let sizes = || {
        programs_are_small_and_their_sums_are_right();
        Ok(())
    };
    trials.push(needing("programs_are_small_and_their_sums_are_right", unbuilt, "run `packages/build`", sizes));
    let missing = unbuilt.or(["python3", "ruby"].into_iter().find(|name| !found(&name)));
    let formula = || {
        the_formula_of_homebrew_names_each_archive_and_its_digest();
        Ok(())
    };
    let name = "the_formula_of_homebrew_names_each_archive_and_its_digest";
    trials.push(needing(name, missing, "run `packages/build`, or install the program", formula));
    libtest_mimic::run(&args, trials).exit_code()
}

fn packages() -> PathBuf {
    repository().join("target/packages")
}

/// The archive with the program for a processor.
fn archive(processor: &str) -> PathBuf {
    packages().join(format!("skill-evals-{processor}-unknown-linux-musl.tar.gz"))
}

/// The program as somebody has installed it.
struct Installed {
    folder: tempfile::TempDir,
    /// What starts it.
    command: Vec<String>,
    /// The files and directories that it needs.
    needs: Vec<PathBuf>,
}

impl Installed {
    fn command(&self, folder: &Path, args: &[&str]) -> Command {
        let mut command = Command::new(&self.command[0]);
        command.args(&self.command[1..]).args(args).current_dir(folder).stdin(Stdio::null());
        command
    }

    /// The program in the repository of `stub`.
    fn with_agent(&self, stub: &Stub, args: &[&str]) -> Command {
        let mut command = self.command(stub.root(), args);
        command
            .env_remove("CI")
            .env("SKILL_EVALS_SCRATCH", stub.scratch())
            .env("SKILL_EVALS_ISOLATION", "agent")
            .env("SKILL_EVALS_CALIBRATE", "off");
        command
    }

    /// Runs it in a root that has the repository at `/repository`, and else only what it needs.
    fn run_in_empty_root(&self, repository: &Path, args: &[&str]) -> Ran {
        let path = std::env::join_paths(self.needs.iter().filter_map(|path| path.parent())).expect("a PATH");
        let mut bwrap = Command::new("bwrap");
        bwrap.args(["--unshare-all", "--die-with-parent", "--clearenv", "--setenv", "PATH"]).arg(path);
        bwrap.args(["--setenv", "HOME", "/tmp", "--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp"]);
        for path in &self.needs {
            bwrap.arg("--ro-bind").args([path, path]);
        }
        bwrap.arg("--bind").arg(repository).args(["/repository", "--chdir", "/repository", "--"]);
        ran(bwrap.args(&self.command).args(args))
    }
}

/// Runs a program that has to succeed.
#[track_caller]
fn succeed(program: &str, args: &[&str]) -> String {
    let ran = ran(Command::new(program).args(args).stdin(Stdio::null()));
    assert_eq!(ran.code, 0, "{program} {args:?}: {}{}", ran.stdout, ran.stderr);
    ran.stdout
}

fn text(path: &Path) -> String {
    path.display().to_string()
}

/// The files of `target/packages` whose names end with `end`.
fn built(end: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir(packages()).expect("what packages/build has built");
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.expect("an entry").path()).collect();
    paths.retain(|path| text(path).ends_with(end));
    paths.sort();
    paths
}

fn binary() -> Installed {
    unpacked(std::env::consts::ARCH)
}

fn unpacked(processor: &str) -> Installed {
    let folder = tempfile::tempdir().expect("a directory");
    succeed("tar", &["-xzf", &text(&archive(processor)), "-C", &text(folder.path())]);
    let program = folder.path().join("skill-evals");
    Installed { command: vec![text(&program)], needs: vec![program], folder }
}

/// The program for arm64, with an emulator in front of it.
fn for_arm() -> Installed {
    let mut installed = unpacked(ARM);
    let emulator = PathBuf::from(succeed("which", &[EMULATOR]).trim());
    installed.command.insert(0, text(&emulator));
    installed.needs.push(emulator);
    installed
}

fn wheel() -> Installed {
    let folder = tempfile::tempdir().expect("a directory");
    let venv = folder.path().join("venv");
    succeed("python3", &["-m", "venv", &text(&venv)]);
    let pip = text(&venv.join("bin/pip"));
    // It chooses the wheel for this machine.
    let options = ["--quiet", "--disable-pip-version-check", "--no-index", "--find-links", &text(&packages())];
    succeed(&pip, &[&["install"], options.as_slice(), &["skill-evals-cli"]].concat());
    let program = venv.join("bin/skill-evals");
    Installed { command: vec![text(&program)], needs: vec![program], folder }
}

fn npm() -> Installed {
    let folder = tempfile::tempdir().expect("a directory");
    let processor = if std::env::consts::ARCH == "aarch64" { "arm64" } else { "x64" };
    let version = env!("CARGO_PKG_VERSION");
    let packages = ["skill-evals".to_owned(), format!("skill-evals-linux-{processor}")]
        .map(|name| text(&packages().join(format!("{name}-{version}.tgz"))));
    let prefix = text(folder.path());
    let cache = text(&folder.path().join("cache"));
    let [main, platform] = &packages;
    succeed(
        "npm",
        &["install", "--offline", "--no-audit", "--no-fund", "--cache", &cache, "--prefix", &prefix, main, platform],
    );
    let node = succeed("node", &["-p", "process.execPath"]);
    let mut needs = vec![folder.path().join("node_modules"), node.trim().into(), "/usr/bin/env".into()];
    let libraries = succeed("ldd", &[node.trim(), "/usr/bin/env"]);
    needs.extend(libraries.split_whitespace().filter(|word| word.starts_with("/lib")).map(PathBuf::from));
    Installed { command: vec![text(&folder.path().join("node_modules/.bin/skill-evals"))], needs, folder }
}

/// The same, started by npx.
fn npx() -> Installed {
    let mut installed = npm();
    let npx = fs::canonicalize(succeed("which", &["npx"]).trim()).expect("npx");
    let npm = npx.parent().and_then(Path::parent).expect("the directory of npm");
    installed.needs.extend([npm.to_path_buf(), "/bin/sh".into()]);
    let prefix = text(installed.folder.path());
    let command = ["node", &text(&npx), "--offline", "--prefix", &prefix, "skill-evals"];
    installed.command = command.map(str::to_owned).into();
    installed
}

fn works_in_an_empty_root(installed: &Installed) {
    let fixture = Fixture::copy_of_sample();
    let run = |args: &[&str]| installed.run_in_empty_root(fixture.root(), args);
    let version = run(&["--version"]);
    assert_eq!(version.stdout, concat!("skill-evals ", env!("CARGO_PKG_VERSION"), "\n"), "{}", version.stderr);
    let lint = run(&["lint", "--check-evals"]);
    assert!(lint.code == 0 && lint.stdout.contains("no problems"), "{}{}", lint.stdout, lint.stderr);
    let list = run(&["list"]);
    assert!(list.code == 0 && list.stdout.contains("greeting/explicit/codex"), "{}{}", list.stdout, list.stderr);
    let replay = run(&["run", "--replay"]);
    assert_eq!(replay.code, 0, "{}{}", replay.stdout, replay.stderr);
    assert!(replay.stdout.contains(" passed, 0 failed, 0 errors"), "{}", replay.stdout);
}

/// Starts a run whose agent waits, and returns when it does.
fn start_waiting(installed: &Installed, stub: &Stub) -> Child {
    let runner = in_own_group(&mut installed.with_agent(stub, &["run", "--run-id", "r"]));
    wait_until("the agent", || stub.starts().len() == 1);
    runner
}

fn ends_on_sigterm(installed: &Installed) {
    let stub = Stub::new(1, "sleep 60");
    let mut runner = start_waiting(installed, &stub);
    signal(&runner, Signal::SIGTERM);
    let status = runner.wait().expect("an end");
    // npx waits for its shell, which the signal ends at once.
    let is_npx = installed.command.len() > 1;
    assert!(if is_npx { status.signal() == Some(15) } else { status.code() == Some(130) }, "{status:?}");
    let repository = text(stub.root());
    wait_until("the end of the agent", || processes_with(&repository).is_empty());
    stub.body("");
    let resumed = ran(&mut installed.with_agent(&stub, &["run", "--run-id", "r", "--resume"]));
    assert_eq!((resumed.code, stub.starts().len()), (0, 2), "{}{}", resumed.stdout, resumed.stderr);
}

/// The processes that `leader` has started, and those that they have started.
fn below(leader: u32) -> Vec<u32> {
    let children = fs::read_to_string(format!("/proc/{leader}/task/{leader}/children")).unwrap_or_default();
    let children = children.split_whitespace().map(|id| id.parse().expect("a process id"));
    children.flat_map(|child| std::iter::once(child).chain(below(child))).collect()
}

fn ends_as_the_program_ends(installed: &Installed) {
    let stub = Stub::new(1, "sleep 60");
    let refused = ran(&mut installed.with_agent(&stub, &["run", "--no-such-option"]));
    assert_eq!((refused.code, refused.stdout.as_str()), (2, ""), "{}", refused.stderr);
    let mut runner = start_waiting(installed, &stub);
    let is_program = |id: &u32| {
        let words = fs::read(format!("/proc/{id}/cmdline")).unwrap_or_default();
        let mut words = words.split(|byte| *byte == 0);
        words.next().is_some_and(|word| word.ends_with(b"/skill-evals")) && words.next() == Some(b"run")
    };
    let program = std::iter::once(runner.id()).chain(below(runner.id())).find(is_program).expect("the program");
    kill(Pid::from_raw(program.cast_signed()), Signal::SIGKILL).expect("a signal");
    let status = runner.wait().expect("an end");
    // A shell between them says it by its exit code.
    let ended = status.signal().or(status.code().map(|code| code - 128));
    assert_eq!(ended, Some(Signal::SIGKILL as i32), "{status:?}");
}

fn finishes_after_ctrl_c(installed: &Installed) {
    // It has said all, and takes its time to exit.
    let stub = Stub::new(1, &format!("{}touch \"$folder/said\"; sleep 0.2; exit 0", support::stub::ANSWER));
    let line: Vec<&str> = installed.command.iter().map(String::as_str).chain(["run", "--run-id", "r"]).collect();
    let mut script = Command::new("script");
    script.args(["-qec", &line.join(" "), "/dev/null"]).current_dir(stub.root()).stdin(Stdio::piped());
    script
        .env_remove("CI")
        .env("SKILL_EVALS_SCRATCH", stub.scratch())
        .env("SKILL_EVALS_ISOLATION", "agent")
        .env("SKILL_EVALS_CALIBRATE", "off");
    let mut terminal = in_own_group(&mut script);
    wait_until("the answer", || stub.root().join("said").exists());
    std::io::Write::write_all(terminal.stdin.as_mut().expect("an input"), b"\x03").expect("Ctrl-C");
    assert_eq!(terminal.wait().expect("an end").code(), Some(130));
    assert_eq!(stub.graded("r"), 1, "a second signal has ended the program at once");
}

fn programs_are_small_and_their_sums_are_right() {
    let check = ran(Command::new("sha256sum").args(["--check", "--strict", "SHA256SUMS"]).current_dir(packages()));
    assert_eq!(check.code, 0, "{}{}", check.stdout, check.stderr);
    for archive in built(".tar.gz") {
        assert!(check.stdout.contains(&*archive.file_name().expect("a name").to_string_lossy()), "{}", check.stdout);
        let folder = tempfile::tempdir().expect("a directory");
        succeed("tar", &["-xzf", &text(&archive), "-C", &text(folder.path())]);
        let program = fs::read(folder.path().join("skill-evals")).expect("a program");
        assert!((program.len() as u64) < MAX_SIZE, "{}: {} bytes", archive.display(), program.len());
        // The format and the processor, in the header of the file.
        let header = match text(&archive) {
            path if path.ends_with("x86_64-unknown-linux-musl.tar.gz") => (b"\x7fELF", 18, 0x3e),
            path if path.ends_with("aarch64-unknown-linux-musl.tar.gz") => (b"\x7fELF", 18, 0xb7),
            path if path.ends_with("x86_64-apple-darwin.tar.gz") => (b"\xcf\xfa\xed\xfe", 4, 0x07),
            path if path.ends_with("aarch64-apple-darwin.tar.gz") => (b"\xcf\xfa\xed\xfe", 4, 0x0c),
            path => panic!("{path}: for an unknown target"),
        };
        let (format, place, processor) = header;
        assert_eq!((&program[..4], program[place]), (format.as_slice(), processor), "{}", archive.display());
    }
}

/// Fills the formula in as a release does, and lets Ruby read it as Homebrew does: each line of it is a call.
const READ_FORMULA: &str = r##"
class Formula
  def self.method_missing(name, *values, &block)
    puts "#{name} #{values.join(" ")}"
    block&.call unless name == :test
  end
  def self.test(&block) = method_missing(:test, &block)
end
load ARGV[0]
"##;

fn the_formula_of_homebrew_names_each_archive_and_its_digest() {
    let folder = tempfile::tempdir().expect("a directory");
    let script = format!(
        "import importlib.machinery, importlib.util, pathlib\n\
         loader = importlib.machinery.SourceFileLoader('build', '{build}')\n\
         build = importlib.util.module_from_spec(importlib.util.spec_from_loader('build', loader))\n\
         loader.exec_module(build)\n\
         build.OUT = pathlib.Path('{out}')\n\
         sums = {{f'skill-evals-{{target}}.tar.gz': f'sum of {{target}}' for target in build.TARGETS}}\n\
         build.formula({{'repository': 'https://example.org/skill-evals', 'version': '1.2.3'}}, sums)\n\
         print(*build.TARGETS)\n",
        build = text(&repository().join("packages/build")),
        out = text(folder.path()),
    );
    let targets = succeed("python3", &["-B", "-c", &script]);
    let formula = text(&folder.path().join("skill-evals.rb"));
    let read = succeed("ruby", &["-W", "-e", READ_FORMULA, &formula]);
    assert!(read.contains("homepage https://example.org/skill-evals\nversion 1.2.3\n"), "{read}");
    for target in targets.split_whitespace() {
        let archive = format!(
            "url https://example.org/skill-evals/releases/download/v1.2.3/skill-evals-{target}.tar.gz\n\
             sha256 sum of {target}\n"
        );
        assert!(read.contains(&archive), "{archive}{read}");
    }
    assert_eq!(read.matches("url ").count(), targets.split_whitespace().count(), "{read}");
}
