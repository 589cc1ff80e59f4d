//! bubblewrap: whether it works on this machine, and what all its sandboxes have in common.

use std::ffi::OsString;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::{fs, io};

use crate::agent::sandbox::{Mount, ProgramSandbox, SYSTEM, SandboxMaker};
use crate::agent::trial_env::HOST;
use crate::files::at::{At, PathError};
use crate::files::look::{self, WalkStep};
use crate::process::{self, Start};
use crate::settings::Isolation;
use crate::text::problem::{About, Problem};

/// The program bubblewrap, which makes sandboxes.
#[derive(Debug)]
pub(super) struct Bwrap(pub PathBuf);

impl SandboxMaker for Bwrap {
    fn isolation(&self) -> Isolation {
        Isolation::Bwrap
    }

    fn start(&self, sandbox: &ProgramSandbox, program: &Path, args: Vec<OsString>) -> Start {
        let call = std::iter::once(program.into()).chain(args).collect();
        Start::sandbox(self.0.clone(), options(sandbox), call)
    }
}

/// The system's settings, some of which are not for everybody.
const SETTINGS: &str = "/etc";

/// bubblewrap, if it works. A process tries it once.
pub fn working() -> Result<PathBuf, Problem> {
    static FOUND: OnceLock<Result<PathBuf, Problem>> = OnceLock::new();
    FOUND.get_or_init(find).clone()
}

fn find() -> Result<PathBuf, Problem> {
    if cfg!(not(target_os = "linux")) {
        return Err("bubblewrap is for Linux only".into());
    }
    let program = process::find_program("bwrap")
        .ok_or("`bwrap` is not on the PATH; get it as `bubblewrap` from your system's packages")?;
    let call = ["/bin/sh", "-c", ":"].map(OsString::from).into();
    let start = Start::sandbox(program.clone(), base()?, call);
    let output = process::run_to_end::output(&start).about(program.display())?;
    if output.status.success() {
        return Ok(program);
    }
    let words = String::from_utf8_lossy(&output.stderr).split_whitespace().collect::<Vec<_>>().join(" ");
    Err(format!("{}: {words}; {ALLOW_NAMESPACES}", program.display()).into())
}

/// What to do if bubblewrap may not make namespaces.
pub const ALLOW_NAMESPACES: &str = "allow unprivileged user namespaces here: on Ubuntu 24.04 by `sudo sysctl -w \
                                    kernel.apparmor_restrict_unprivileged_userns=0`, elsewhere by \
                                    kernel.unprivileged_userns_clone, in a container by `--privileged`";

/// The options for this sandbox.
fn options(sandbox: &ProgramSandbox) -> Vec<OsString> {
    // Without the first ones, bubblewrap shows nothing and starts nothing. They were made when it was tried.
    let mut options = base().unwrap_or_default();
    for (place, mount) in &sandbox.mounts {
        match mount {
            Mount::ReadOnly(source) => options.extend(["--ro-bind".into(), source.into(), place.into()]),
            Mount::Writable(source) => options.extend(["--bind".into(), source.into(), place.into()]),
            Mount::Link(target) => options.extend(["--symlink".into(), target.into(), place.into()]),
            Mount::Empty => options.extend(["--tmpfs".into(), place.into()]),
        }
    }
    // A write elsewhere fails instead of getting lost.
    options.extend(["--remount-ro".into(), "/".into()]);
    options.extend(["--chdir".into(), sandbox.workspace.clone().into()]);
    options
}

/// The first options of every sandbox: namespaces, the system's directories, empty directories for temporary files.
fn base() -> Result<Vec<OsString>, Problem> {
    static BASE: OnceLock<Result<Vec<OsString>, Problem>> = OnceLock::new();
    BASE.get_or_init(|| Ok(make_base()?)).clone()
}

fn make_base() -> Result<Vec<OsString>, PathError> {
    let namespaces = ["--unshare-pid", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try"];
    let mut args: Vec<OsString> = namespaces.map(OsString::from).to_vec();
    args.extend(["--hostname", HOST, "--new-session", "--die-with-parent"].map(OsString::from));
    let is_root = nix::unistd::getuid().is_root();
    if is_root {
        // Root could leave the sandbox with its privileges. It keeps one: without it the kernel does not let root create a user
        // namespace, and an agent cannot create its own sandbox.
        args.extend(["--unshare-user", "--cap-drop", "ALL", "--cap-add", "CAP_SETFCAP"].map(OsString::from));
    }
    for directory in SYSTEM.into_iter().filter(|directory| look::is_usable(Path::new(directory))) {
        match link_into_usr(directory) {
            Some(target) => args.extend(["--symlink".into(), target.into(), directory.into()]),
            None => args.extend(["--ro-bind", directory, directory].map(OsString::from)),
        }
    }
    for (path, is_directory) in not_for_everybody(Path::new(SETTINGS))? {
        if is_directory {
            args.extend(["--tmpfs".into(), path.into()]);
        } else {
            args.extend(["--ro-bind".into(), "/dev/null".into(), path.into()]);
        }
    }
    args.extend(["--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp", "--tmpfs", "/var/tmp"].map(OsString::from));
    if is_root {
        for path in kernel_settings() {
            args.extend(["--ro-bind".into(), path.clone().into(), path.into()]);
        }
        // They list the machine's keys. If they were covered for an ordinary user, no agent could make a sandbox with a /proc.
        for path in ["/proc/keys", "/proc/key-users"].into_iter().filter(|path| look::is_usable(Path::new(path))) {
            args.extend(["--ro-bind", "/dev/null", path].map(OsString::from));
        }
    }
    Ok(args)
}

/// What in this directory is only for root, or for some users: files that others may not read, and directories that they may not
/// enter, with whether it is one. An agent that root started, or a user of their groups, could read it.
fn not_for_everybody(directory: &Path) -> Result<Vec<(PathBuf, bool)>, PathError> {
    let mut hidden = Vec::new();
    let mut failed = None;
    let unread = look::Walk::new(directory).each(|entry| {
        let found = match look::unless_absent(fs::symlink_metadata(entry.path())).at(entry.path()) {
            Ok(Some(found)) => found,
            Ok(None) => return WalkStep::Over,
            Err(error) => {
                failed.get_or_insert(error);
                return WalkStep::Stop;
            }
        };
        let needed = if found.is_dir() { 0o001 } else { 0o004 };
        if found.is_symlink() || found.mode() & needed == needed {
            return WalkStep::Into;
        }
        hidden.push((entry.path().to_path_buf(), found.is_dir()));
        WalkStep::Over
    });
    if let Some(error) = failed {
        return Err(error);
    }
    match unread.none() {
        // An agent with the rights of this user cannot list it either.
        Err(error) if error.source.kind() != io::ErrorKind::PermissionDenied => Err(error),
        _ => Ok(hidden),
    }
}

/// The parts of /proc with files that root, their owner, may write: a user namespace takes root's capabilities, but not its
/// files. Because they are covered, the kernel does not let a nested user namespace mount its own /proc. bubblewrap itself
/// covers three parts.
fn kernel_settings() -> Vec<PathBuf> {
    let mut parts = Vec::new();
    for entry in look::usable_entries(Path::new("/proc")) {
        let name = entry.file_name();
        let Some(name) = name.to_str() else { continue };
        let is_process = name.bytes().all(|byte| byte.is_ascii_digit());
        if !is_process && !["bus", "irq", "sysrq-trigger"].contains(&name) && holds_settings(entry.path()) {
            parts.push(entry.path().to_path_buf());
        }
    }
    parts.sort();
    parts
}

/// Whether a file is writable for its owner only, or a directory holds such a file.
fn holds_settings(path: &Path) -> bool {
    let Ok(metadata) = fs::symlink_metadata(path) else { return false };
    if metadata.is_dir() {
        return look::usable_entries(path).iter().any(|entry| holds_settings(entry.path()));
    }
    metadata.is_file() && metadata.mode() & 0o202 == 0o200
}

/// The target of a system directory that is a link into `/usr`, as `/bin` often is: the same link needs no mount.
fn link_into_usr(directory: &str) -> Option<PathBuf> {
    let real = Path::new(directory).canonicalize().ok()?;
    fs::read_link(directory).ok().filter(|_| real.starts_with("/usr"))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn what_others_may_not_read_is_hidden_wherever_it_is() {
        let settings = tempfile::tempdir().expect("a directory");
        let at = |path: &str| settings.path().join(path);
        for directory in ["open/deep", "closed/deep"] {
            fs::create_dir_all(at(directory)).expect("a directory");
        }
        for (file, mode) in [("open/all", 0o644), ("open/deep/key", 0o600), ("group", 0o640), ("closed/deep/x", 0o644)]
        {
            fs::write(at(file), "").expect("a file");
            fs::set_permissions(at(file), fs::Permissions::from_mode(mode)).expect("permissions");
        }
        std::os::unix::fs::symlink("group", at("link")).expect("a link");
        fs::set_permissions(at("closed"), fs::Permissions::from_mode(0o700)).expect("permissions");
        let hidden = not_for_everybody(settings.path()).expect("a walk");
        assert_eq!(hidden, [(at("closed"), true), (at("group"), false), (at("open/deep/key"), false)]);
    }
}
