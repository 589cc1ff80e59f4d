//! bubblewrap: whether it works on this machine, and what all its sandboxes have in common.

use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use crate::agent::sandbox::{Mount, SYSTEM, Sandbox, SandboxMaker};
use crate::agent::trial_env::HOST;
use crate::process::{self, Start};
use crate::settings::Isolation;

/// The program bubblewrap, which makes sandboxes.
#[derive(Debug)]
pub(super) struct Bwrap(pub PathBuf);

impl SandboxMaker for Bwrap {
    fn isolation(&self) -> Isolation {
        Isolation::Bwrap
    }

    fn start(&self, sandbox: &Sandbox, program: &Path, args: Vec<OsString>) -> Start {
        Start::sandbox(self.0.clone(), arguments(sandbox, program, args))
    }
}

/// Secrets in these directories, which an agent that root started could read.
const SECRET: [&str; 8] = [
    "/etc/shadow",
    "/etc/shadow-",
    "/etc/gshadow",
    "/etc/gshadow-",
    "/etc/sudoers",
    "/etc/sudoers.d",
    "/etc/ssh",
    "/etc/ssl/private",
];

/// bubblewrap, if it works. A process tries it once.
pub fn working() -> Result<PathBuf, String> {
    static FOUND: OnceLock<Result<PathBuf, String>> = OnceLock::new();
    FOUND.get_or_init(find).clone()
}

fn find() -> Result<PathBuf, String> {
    if cfg!(not(target_os = "linux")) {
        return Err("bubblewrap is for Linux only".to_owned());
    }
    let program = process::find_program("bwrap")
        .ok_or("`bwrap` is not on the PATH; get it as `bubblewrap` from your system's packages")?;
    let mut args = base();
    args.extend(["--", "/bin/sh", "-c", ":"].map(OsString::from));
    let start = Start::sandbox(program.clone(), args);
    let output = process::run_to_end::output(&start).map_err(|error| format!("{}: {error}", program.display()))?;
    if output.status.success() {
        return Ok(program);
    }
    let words = String::from_utf8_lossy(&output.stderr).split_whitespace().collect::<Vec<_>>().join(" ");
    Err(format!("{}: {words}; {ALLOW_NAMESPACES}", program.display()))
}

/// What to do if bubblewrap may not make namespaces.
pub const ALLOW_NAMESPACES: &str = "allow unprivileged user namespaces here: on Ubuntu 24.04 by `sudo sysctl -w \
                                    kernel.apparmor_restrict_unprivileged_userns=0`, elsewhere by \
                                    kernel.unprivileged_userns_clone, in a container by `--privileged`";

/// The arguments for a program in this sandbox.
fn arguments(sandbox: &Sandbox, program: &Path, args: Vec<OsString>) -> Vec<OsString> {
    let mut call = base();
    for (place, mount) in &sandbox.mounts {
        match mount {
            Mount::ReadOnly(source) => call.extend(["--ro-bind".into(), source.into(), place.into()]),
            Mount::Writable(source) => call.extend(["--bind".into(), source.into(), place.into()]),
            Mount::Link(target) => call.extend(["--symlink".into(), target.into(), place.into()]),
            Mount::Empty => call.extend(["--tmpfs".into(), place.into()]),
        }
    }
    // A write elsewhere fails instead of getting lost.
    call.extend(["--remount-ro".into(), "/".into()]);
    call.extend(["--chdir".into(), sandbox.workspace.clone().into(), "--".into(), program.into()]);
    call.extend(args);
    call
}

/// The first arguments of every sandbox: namespaces, the system's directories, empty directories for temporary files.
fn base() -> Vec<OsString> {
    static BASE: OnceLock<Vec<OsString>> = OnceLock::new();
    BASE.get_or_init(make_base).clone()
}

fn make_base() -> Vec<OsString> {
    let namespaces = ["--unshare-pid", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try"];
    let mut args: Vec<OsString> = namespaces.map(OsString::from).to_vec();
    args.extend(["--hostname", HOST, "--new-session", "--die-with-parent"].map(OsString::from));
    let is_root = nix::unistd::getuid().is_root();
    if is_root {
        // Root could leave the sandbox with its privileges. It keeps one: without it the kernel does not let root create a user
        // namespace, and an agent cannot create its own sandbox.
        args.extend(["--unshare-user", "--cap-drop", "ALL", "--cap-add", "CAP_SETFCAP"].map(OsString::from));
    }
    for directory in SYSTEM.into_iter().filter(|directory| Path::new(directory).exists()) {
        match link_into_usr(directory) {
            Some(target) => args.extend(["--symlink".into(), target.into(), directory.into()]),
            None => args.extend(["--ro-bind", directory, directory].map(OsString::from)),
        }
    }
    for path in SECRET {
        if Path::new(path).is_dir() {
            args.extend(["--tmpfs", path].map(OsString::from));
        } else if Path::new(path).exists() {
            args.extend(["--ro-bind", "/dev/null", path].map(OsString::from));
        }
    }
    args.extend(["--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp", "--tmpfs", "/var/tmp"].map(OsString::from));
    if is_root {
        for path in kernel_settings() {
            args.extend(["--ro-bind".into(), path.clone().into(), path.into()]);
        }
        // They list the machine's keys. If they were covered for an ordinary user, no agent could make a sandbox with a /proc.
        for path in ["/proc/keys", "/proc/key-users"].into_iter().filter(|path| Path::new(path).exists()) {
            args.extend(["--ro-bind", "/dev/null", path].map(OsString::from));
        }
    }
    args
}

/// The parts of /proc with files that root, their owner, may write: a user namespace takes root's capabilities, but not its
/// files. Because they are covered, the kernel does not let a nested user namespace mount its own /proc. bubblewrap itself
/// covers three parts.
fn kernel_settings() -> Vec<PathBuf> {
    let mut parts = Vec::new();
    for entry in fs::read_dir("/proc").into_iter().flatten().flatten() {
        let name = entry.file_name();
        let Some(name) = name.to_str() else { continue };
        let is_process = name.bytes().all(|byte| byte.is_ascii_digit());
        if !is_process && !["bus", "irq", "sysrq-trigger"].contains(&name) && holds_settings(&entry.path()) {
            parts.push(entry.path());
        }
    }
    parts.sort();
    parts
}

/// Whether a file is writable for its owner only, or a directory holds such a file.
fn holds_settings(path: &Path) -> bool {
    let Ok(metadata) = fs::symlink_metadata(path) else { return false };
    if metadata.is_dir() {
        return fs::read_dir(path).into_iter().flatten().flatten().any(|entry| holds_settings(&entry.path()));
    }
    metadata.is_file() && metadata.mode() & 0o202 == 0o200
}

/// The target of a system directory that is a link into `/usr`, as `/bin` often is: the same link needs no mount.
fn link_into_usr(directory: &str) -> Option<PathBuf> {
    let real = Path::new(directory).canonicalize().ok()?;
    fs::read_link(directory).ok().filter(|_| real.starts_with("/usr"))
}
