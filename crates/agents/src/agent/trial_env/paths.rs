//! The paths of a room, for those in it.
//!
//! A model reads its working directory, and may read everything else around it. It must not learn from a path that it is evaluated,
//! or by what; and providers know a prompt again only if it is the same in every trial.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use crate::files::look;
use nix::unistd::{getgid, getuid};

/// The paths of a room's directories where a sandbox shows them: those of an ordinary user's project, the same in every trial.
#[derive(Clone, Debug)]
pub struct RoomPaths {
    /// The name of the user.
    pub user: String,
    pub home: PathBuf,
    pub workspace: PathBuf,
    pub tmp: PathBuf,
    pub skills: PathBuf,
    /// The directory of both, and of the files of the runner that its programs must read.
    pub shown: PathBuf,
    /// Where its programs are searched, if not where the runner's are.
    pub search_path: Option<OsString>,
}

/// Names of users, of which the first without a home on this machine is taken: programs of a real user may be shown.
const USERS: [&str; 4] = ["dev", "sam", "robin", "kim"];

/// Where else a sandbox shows files, of which the first is taken that has none on this machine: the user may have files there that
/// agents are to read. So it is not /tmp.
const PLACES: [&str; 3] = ["/mnt", "/srv", "/media"];

/// The name of the machine.
pub const HOST: &str = "workstation";

impl RoomPaths {
    /// The paths on this machine.
    pub fn here() -> Self {
        let is_free = |user: &&&str| !look::is_usable(&Path::new("/home").join(user));
        let user = USERS.iter().find(is_free).unwrap_or(&USERS[0]);
        let home = Path::new("/home").join(user);
        let is_empty = |place: &&&str| look::usable_entries(Path::new(place)).is_empty();
        let shown: PathBuf = PLACES.iter().find(is_empty).unwrap_or(&PLACES[0]).into();
        Self {
            user: (*user).to_owned(),
            workspace: home.join("project"),
            home,
            // Not in the home: an agent may rename what is above them there, and put a link in its place, through which the next
            // sandbox would make directories outside.
            tmp: shown.join("tmp"),
            skills: shown.join("skills"),
            shown,
            search_path: None,
        }
    }

    /// What names the user and the machine in a room, by the names of the files in /etc: this process's user is that of the room.
    pub fn identity(&self) -> [(&'static str, String); 3] {
        let Self { user, home, .. } = self;
        let (id, group, home) = (getuid(), getgid(), home.display());
        let root = if id.is_root() { "" } else { "root:x:0:0:root:/root:/bin/bash\n" };
        let users = format!(
            "{root}{user}:x:{id}:{group}::{home}:/bin/bash\nnobody:x:65534:65534::/nonexistent:/usr/sbin/nologin\n"
        );
        let root = if group.as_raw() == 0 { "" } else { "root:x:0:\n" };
        let groups = format!("{root}{user}:x:{group}:\nnogroup:x:65534:\n");
        [("passwd", users), ("group", groups), ("hostname", format!("{HOST}\n"))]
    }
}
