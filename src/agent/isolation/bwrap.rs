//! bubblewrap: whether it works here, and what every sandbox made with it has.

use std::ffi::OsString;
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
    let mut args: Vec<OsString> =
        ["--unshare-pid", "--unshare-ipc", "--new-session", "--die-with-parent"].map(OsString::from).to_vec();
    if nix::unistd::getuid().is_root() {
        // Root would keep its privileges, and leave by them. One stays: without it the kernel lets root make no user
        // namespace, and so codex no sandbox of its own.
        args.extend(["--unshare-user", "--cap-drop", "ALL", "--cap-add", "CAP_SETFCAP"].map(OsString::from));
    }
    for folder in SYSTEM.into_iter().filter(|folder| Path::new(folder).exists()) {
        args.extend(["--ro-bind", folder, folder].map(OsString::from));
    }
    for path in SECRET {
        if Path::new(path).is_dir() {
            args.extend(["--tmpfs", path].map(OsString::from));
        } else if Path::new(path).exists() {
            args.extend(["--ro-bind", "/dev/null", path].map(OsString::from));
        }
    }
    args.extend(["--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp", "--tmpfs", "/var/tmp"].map(OsString::from));
    args
}
