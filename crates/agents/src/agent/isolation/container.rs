//! Containers of docker or podman: the sandbox of [`super::bwrap`] for machines that have no bubblewrap, or do not let it make
//! namespaces. In the place of the system's directories, and of programs on the PATH, it has those of an image.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use nix::unistd::{getgid, getuid};

use crate::agent::sandbox::{Mount, ProgramSandbox, SandboxMaker};
use crate::agent::trial_env::HOST;
use crate::process::{self, Start};
use crate::settings::{FILE, Isolation};
use crate::text::problem::Problem;

/// The clients, of which the first that has the image is used.
const CLIENTS: [&str; 2] = ["docker", "podman"];

/// What each container is given. It shares the machine's network, as bubblewrap does: agents need their provider, and servers on
/// this machine. Its output is the runner's, which masks it: no log has a copy.
const OPTIONS: [&str; 13] = [
    "--rm",
    "--init",
    "--interactive",
    "--log-driver=none",
    "--read-only",
    "--network=host",
    "--cgroupns=private",
    "--ipc=private",
    "--cap-drop=ALL",
    "--security-opt=no-new-privileges",
    // SELinux would hide the mounts.
    "--security-opt=label=disable",
    "--tmpfs=/tmp:rw,exec,mode=1777",
    "--tmpfs=/var/tmp:rw,exec,mode=1777",
];

/// What makes containers here.
#[derive(Debug)]
pub struct ContainerEngine {
    client: PathBuf,
    /// The id of the image: its name may get another image while a run goes on.
    image: String,
    /// The image's PATH.
    pub(super) search_path: OsString,
}

/// docker or podman with this image, if one of them works. A process tries it once.
pub fn working(image: &str) -> Result<Arc<ContainerEngine>, Problem> {
    static FOUND: Mutex<BTreeMap<String, Result<Arc<ContainerEngine>, Problem>>> = Mutex::new(BTreeMap::new());
    let mut found = FOUND.lock().unwrap_or_else(PoisonError::into_inner);
    found.entry(image.to_owned()).or_insert_with(|| find(image).map(Arc::new)).clone()
}

fn find(image: &str) -> Result<ContainerEngine, Problem> {
    let mut failed = Vec::new();
    for client in CLIENTS.into_iter().filter_map(process::find_program) {
        match ContainerEngine::with_image(client.clone(), image) {
            Ok(engine) => return Ok(engine),
            Err(why) => failed.push(format!("{}: {why}", client.display())),
        }
    }
    if failed.is_empty() {
        return Err("neither `docker` nor `podman` is on the PATH".into());
    }
    Err(format!(
        "there is no container of the image {image:?}: {}; build it as packages/Dockerfile says, or name another one as \
         `image` under [run] in {FILE}",
        failed.join("; ")
    )
    .into())
}

impl ContainerEngine {
    /// The id of its image.
    pub fn image(&self) -> &str {
        &self.image
    }

    fn with_image(client: PathBuf, image: &str) -> Result<Self, Problem> {
        let format = "{{.Id}}{{range .Config.Env}}\n{{.}}{{end}}";
        let output = process::client_output(&client, &["image", "inspect", "--format", format, "--", image])?;
        if !output.status.success() {
            let words = String::from_utf8_lossy(&output.stderr);
            return Err(words.split_whitespace().collect::<Vec<_>>().join(" ").into());
        }
        let text = String::from_utf8_lossy(&output.stdout);
        let mut lines = text.lines();
        let image = lines.next().unwrap_or_default().to_owned();
        let search_path = lines.find_map(|line| line.strip_prefix("PATH="));
        let search_path = search_path.unwrap_or("/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin").into();
        Ok(Self { client, image, search_path })
    }

    fn arguments(&self, sandbox: &ProgramSandbox, program: &Path, args: Vec<OsString>) -> Vec<OsString> {
        let mut call: Vec<OsString> = OPTIONS.map(OsString::from).to_vec();
        call.push(format!("--hostname={HOST}").into());
        call.push(format!("--user={}:{}", getuid(), getgid()).into());
        if getuid().is_root() {
            // As in bubblewrap: an agent that root started makes its own sandbox with it.
            call.push("--cap-add=SETFCAP".into());
        } else if self.client.ends_with("podman") {
            // An ordinary user of podman is root in its containers otherwise.
            call.push("--userns=keep-id".into());
        }
        // Each place once: the last mount there counts. A container makes them by their depth.
        let mounts: BTreeMap<&Path, &Mount> = sandbox.mounts.iter().map(|(place, mount)| (&**place, mount)).collect();
        for (place, mount) in mounts {
            call.extend(["--mount".into(), option(place, mount)]);
        }
        // A link of the sandbox is a mount here: a script would not find what is next to its file.
        let link = sandbox.mounts.iter().rev().find(|(place, _)| place == program);
        let program = match link {
            Some((_, Mount::Link(target))) => target,
            _ => program,
        };
        call.extend(["--workdir".into(), sandbox.workspace.clone().into()]);
        call.extend(["--entrypoint".into(), program.into(), OsString::from(&self.image)]);
        call.extend(args);
        call
    }
}

impl SandboxMaker for ContainerEngine {
    fn isolation(&self) -> Isolation {
        Isolation::Docker
    }

    fn start(&self, sandbox: &ProgramSandbox, program: &Path, args: Vec<OsString>) -> Start {
        Start::container(self.client.clone(), self.arguments(sandbox, program, args))
    }
}

/// The value of `--mount`: fields of CSV.
fn option(place: &Path, mount: &Mount) -> OsString {
    let (source, end) = match mount {
        Mount::Empty => return [OsStr::new("type=tmpfs,"), &field("destination=", place)].into_iter().collect(),
        Mount::Writable(source) => (source, ""),
        Mount::ReadOnly(source) | Mount::Link(source) => (source, ",readonly"),
    };
    let (source, place) = (field("source=", source), field("destination=", place));
    [OsStr::new("type=bind,"), &source, OsStr::new(","), &place, OsStr::new(end)].into_iter().collect()
}

fn field(name: &str, path: &Path) -> OsString {
    let path = path.as_os_str().as_bytes();
    if !path.iter().any(|byte| b",\"\n\r".contains(byte)) {
        return OsString::from_vec([name.as_bytes(), path].concat());
    }
    let mut quoted = [b"\"", name.as_bytes()].concat();
    for byte in path {
        quoted.extend(std::iter::repeat_n(*byte, 1 + usize::from(*byte == b'"')));
    }
    quoted.push(b'"');
    OsString::from_vec(quoted)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_container_shows_what_the_sandbox_shows_and_has_no_right_and_no_other_mount() {
        let bound = |place: &str, mount| (PathBuf::from(place), mount);
        let engine =
            ContainerEngine { client: "/bin/docker".into(), image: "sha256:ab".to_owned(), search_path: "/bin".into() };
        let engine = Arc::new(engine);
        let sandbox = ProgramSandbox {
            maker: engine.clone(),
            mounts: vec![
                bound("/data/a, \"b\"", Mount::ReadOnly("/data/a, \"b\"".into())),
                bound("/data/cli", Mount::Link("/opt/x/cli.js".into())),
                bound("/data/hidden", Mount::Empty),
                bound("/home/dev", Mount::ReadOnly("/covered".into())),
                bound("/home/dev", Mount::Writable("/scratch/home".into())),
            ],
            workspace: "/home/dev/project".into(),
            network: None,
        };
        let call = |program: &str| {
            let call = engine.arguments(&sandbox, Path::new(program), vec!["--json".into()]);
            call.iter().map(|word| word.to_string_lossy().into_owned()).collect::<Vec<_>>()
        };
        let (user, root) = (format!("--user={}:{}", getuid(), getgid()), getuid().is_root());
        let mut expected: Vec<&str> = OPTIONS.to_vec();
        expected.extend(["--hostname=workstation", &user]);
        expected.extend(root.then_some("--cap-add=SETFCAP"));
        expected.extend([
            "--mount",
            "type=bind,\"source=/data/a, \"\"b\"\"\",\"destination=/data/a, \"\"b\"\"\",readonly",
            "--mount",
            "type=bind,source=/opt/x/cli.js,destination=/data/cli,readonly",
            "--mount",
            "type=tmpfs,destination=/data/hidden",
            "--mount",
            "type=bind,source=/scratch/home,destination=/home/dev",
            "--workdir",
            "/home/dev/project",
            "--entrypoint",
            "codex",
            "sha256:ab",
            "--json",
        ]);
        assert_eq!(call("codex"), expected);
        assert_eq!(call("/data/cli")[expected.len() - 3], "/opt/x/cli.js", "a script finds what is next to it");
        for option in ["--cap-drop=ALL", "--security-opt=no-new-privileges", "--read-only", "--rm", "--init"] {
            assert!(expected.contains(&option), "{option}");
        }
    }
}
