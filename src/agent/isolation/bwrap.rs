//! bubblewrap: whether it works here, and what every sandbox made with it has.

use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use crate::process;

/// Folders with the system's programs, libraries and settings, as far as they are there.
pub(super) const SYSTEM: [&str; 11] =
    ["/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/etc", "/opt", "/nix", "/run/current-system"];

/// What in those is secret: an agent that root has started could read it.
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

/// bubblewrap, where it works. Tried once in a process.
///
/// # Errors
/// Why it does not work, and what to do.
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
    let output = process::brief::output(&program, &args).map_err(|error| format!("{}: {error}", program.display()))?;
    if output.status.success() {
        return Ok(program);
    }
    let words = String::from_utf8_lossy(&output.stderr).split_whitespace().collect::<Vec<_>>().join(" ");
    Err(format!(
        "{}: {words}; allow unprivileged user namespaces here (kernel.unprivileged_userns_clone, AppArmor)",
        program.display()
    ))
}

/// The arguments that every sandbox begins with: namespaces, the system's folders, empty folders for temporary files.
pub(super) fn base() -> Vec<OsString> {
    static BASE: OnceLock<Vec<OsString>> = OnceLock::new();
    BASE.get_or_init(make_base).clone()
}

fn make_base() -> Vec<OsString> {
    let namespaces = ["--unshare-pid", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try"];
    let mut args: Vec<OsString> = namespaces.map(OsString::from).to_vec();
    args.extend(["--new-session", "--die-with-parent"].map(OsString::from));
    let is_root = nix::unistd::getuid().is_root();
    if is_root {
        // Root would keep its privileges, and leave by them. One stays: without it the kernel lets root make no user
        // namespace, and so codex no sandbox of its own.
        args.extend(["--unshare-user", "--cap-drop", "ALL", "--cap-add", "CAP_SETFCAP"].map(OsString::from));
    }
    for folder in SYSTEM.into_iter().filter(|folder| Path::new(folder).exists()) {
        match merged(folder) {
            Some(target) => args.extend(["--symlink".into(), target.into(), folder.into()]),
            None => args.extend(["--ro-bind", folder, folder].map(OsString::from)),
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
    }
    args
}

/// The parts of /proc with files that their owner, root, may write: a user namespace takes the capabilities of root, and not
/// the files. Since they are covered, the kernel also refuses a further user namespace a /proc of its own. bubblewrap covers
/// the parts named here by itself.
fn kernel_settings() -> Vec<PathBuf> {
    let covered = ["bus", "irq", "sysrq-trigger"];
    let of_process = |name: &str| name.bytes().all(|byte| byte.is_ascii_digit());
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let parts = entries
        .filter(|entry| entry.file_name().to_str().is_some_and(|name| !of_process(name) && !covered.contains(&name)));
    let mut parts: Vec<PathBuf> = parts.map(|entry| entry.path()).filter(|path| holds_settings(path)).collect();
    parts.sort();
    parts
}

/// Whether a file is writable for its owner only, or a directory holds such a file.
fn holds_settings(path: &Path) -> bool {
    let Ok(metadata) = fs::symlink_metadata(path) else { return false };
    if metadata.is_dir() {
        return fs::read_dir(path)
            .is_ok_and(|mut entries| entries.any(|entry| entry.is_ok_and(|entry| holds_settings(&entry.path()))));
    }
    metadata.is_file() && metadata.mode() & 0o202 == 0o200
}

/// Where a folder of the system is a link into `/usr`, as `/bin` often is: the same link costs no mount.
fn merged(folder: &str) -> Option<PathBuf> {
    let leads_there = Path::new(folder).canonicalize().is_ok_and(|real| real.starts_with("/usr"));
    std::fs::read_link(folder).ok().filter(|_| leads_there)
}
