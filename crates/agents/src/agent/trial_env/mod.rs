//! The trial environment: two directories, outside every repository, which are removed after the trial.
//!
//! - `room/` is the agent's: its workspace, its home, its temporary files, its skills. The runner enters it by [`RootedPath`]s
//!   only, since an agent or a setup command may have put anything there. Nothing that the runner needs later is in it.
//! - `control/` is the runner's: schemas, standard streams, what is stored of a trial. No sandbox shows it, except single files
//!   that the agent must read, read-only.
//!
//! No trial gets the directories of another one.

pub mod capture;
mod scratch;
mod skills;

use std::collections::{BTreeMap, HashMap, HashSet};
use std::ffi::OsString;
use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use nix::unistd::{getgid, getuid};
use thiserror::Error;

use crate::agent::network::RoomDoor;
use crate::cases::mocks::Mocks;
use crate::files::at::{At, PathError};
use crate::files::bounded::Stamp;
use crate::files::look;
use crate::files::material::{Material, MaterialProblem};
use crate::files::rooted::{self, RootedPath};
use crate::mock::{COMMANDS, CallLog, MockRole, REAL, SERVERS, SHARE};
use crate::process::{find_program, programs_in};
use crate::profile::Profile;
use crate::settings::NetworkSettings;
use crate::text::name::RelativePath;
use crate::text::problem::Problem;
use crate::trace::exposure::SkillTexts;
use crate::trace::file::ChangeMeta;
use crate::trace::trouble::Trouble;
use crate::trial::network::NetworkMeta;
use crate::trial::witness::WireWitness;
use crate::wire::replay::{Divergence, ModelReplay};
use skills::{EnvSkills, PreparedChanges, rooted_in_parent};

pub use scratch::ScratchDir;
pub use skills::{OriginalSkills, SkillContents, file_mode};

impl From<WorkspaceError> for Problem {
    fn from(error: WorkspaceError) -> Self {
        Self::Said(error.to_string())
    }
}

/// Why the trial environment could not be prepared.
#[derive(Debug, Error)]
pub enum WorkspaceError {
    /// A directory or file cannot be created.
    #[error(transparent)]
    Io(#[from] PathError),
    /// The scratch directory is where agents would follow somebody's instructions.
    #[error(
        "{directory} is in {repository}, which holds {sign}: agents would read it; set SKILL_EVALS_SCRATCH to a \
         directory outside"
    )]
    InsideRepository {
        directory: PathBuf,
        /// The directory above it.
        repository: PathBuf,
        /// What makes agents read it.
        sign: &'static str,
    },
    /// The scratch directory is where every file looks like a skill's.
    #[error(
        "{0} is below a directory `skills`, where every file would count as a skill's; set SKILL_EVALS_SCRATCH to another one"
    )]
    BelowSkills(PathBuf),
    /// A file of the case cannot be given to an agent.
    #[error("the case's files: {0}")]
    Files(MaterialProblem),
    /// The new version of a skill cannot be given to an agent.
    #[error("the skill in {directory}: {problem}", directory = directory.display())]
    Skill {
        directory: PathBuf,
        /// Why it cannot be copied.
        problem: MaterialProblem,
    },
    /// The original skills changed.
    #[error("{0} was changed during the run: an agent wrote outside its directories")]
    SkillsChanged(PathBuf),
    /// Skills that several trials had changed, so that nobody knows what they read.
    #[error(
        "{0} was changed while several trials had these skills, by one of them: what the others read is unknown; the trials that \
         follow have copies of their own; --resume measures these again, and bubblewrap keeps trials apart"
    )]
    SkillsDisputed(PathBuf),
}

/// The most bytes of an MCP server's request log that are read.
const MAX_REQUEST_LOG: u64 = 1 << 20;

/// The directories of one trial. Dropping it removes them.
#[derive(Debug)]
pub struct TrialEnv {
    /// The directory of both others.
    directory: PathBuf,
    room: RootedPath,
    /// The paths of the room in a sandbox; `None` without one.
    paths: Option<RoomPaths>,
    /// Entered by its own descriptor: an agent may move it, and put something else in its place.
    workspace: RootedPath,
    /// The files of the runner that the agent's sandbox shows.
    shown: Mutex<Vec<(PathBuf, PathBuf)>>,
    /// The programs in whose place its sandbox has mocks.
    covered: Mutex<Vec<CoveredProgram>>,
    /// The case's files as they were copied, by path in the workspace.
    start_files: HashMap<PathBuf, (Stamp, blake3::Hash)>,
    /// Those that setup commands made or changed.
    setup_files: HashSet<PathBuf>,
    skills: Option<EnvSkills>,
    changes: Option<PreparedChanges>,
    /// The id of the agent's session.
    session: OnceLock<String>,
    door: Mutex<Option<Arc<RoomDoor>>>,
    /// What answers in the place of the agent's model.
    replay: OnceLock<Arc<Mutex<ModelReplay>>>,
}

impl Drop for TrialEnv {
    fn drop(&mut self) {
        // What cannot be removed is tried again with the scratch directory, and named by the next process.
        let _ = rooted::remove(&self.directory);
    }
}

impl TrialEnv {
    const ROOM: &str = "room";
    const CONTROL: &str = "control";
    const HOME: &str = "home";
    /// In the home, as users have their projects: a directory of its own would have to be mounted there.
    const WORKSPACE: &str = "home/project";
    const TMP: &str = "tmp";
    const SKILLS: &str = "skills";
    const REQUEST_LOG: &str = "mcp-asked";

    /// Where a program in the workspace starts, for the system, which resolves it outside every sandbox.
    pub fn start_directory(&self) -> OsString {
        self.directory.join(Self::ROOM).join(Self::WORKSPACE).into()
    }

    /// The paths of the room in a sandbox.
    pub fn paths(&self) -> Option<&RoomPaths> {
        self.paths.as_ref()
    }

    /// The files that name the user and the machine in a sandbox, with their places.
    pub fn identity(&self) -> impl Iterator<Item = (PathBuf, PathBuf)> {
        let names = self.paths.iter().flat_map(|paths| paths.identity().map(|(name, _)| name));
        let places = names.map(|name| (self.directory.with_file_name(name), Path::new("/etc").join(name)));
        // Without such a file on the machine, nothing can be mounted over it.
        places.filter(|(_, place)| look::is_usable_file(place))
    }

    /// What a sandbox mounts, writable, with the places.
    pub fn mounts(&self) -> Vec<(OsString, OsString)> {
        let room = self.directory.join(Self::ROOM);
        match &self.paths {
            None => vec![(room.clone().into(), room.into())],
            Some(paths) => [(Self::HOME, &paths.home), (Self::TMP, &paths.tmp)]
                .map(|(name, path)| (room.join(name).into(), path.into()))
                .to_vec(),
        }
    }

    /// The places in a sandbox at which everything belongs to the room: those of its mounts and skills, and of what is shown to it.
    pub fn places(&self) -> Vec<PathBuf> {
        let mounted = self.mounts().into_iter().map(|(_, place)| PathBuf::from(place));
        let own = mounted.chain([PathBuf::from(OsString::from(self.skills()))]);
        let Some(RoomPaths { shown, .. }) = &self.paths else { return own.collect() };
        // The user may have other files next to them.
        let top = |place: PathBuf| Some(shown.join(place.strip_prefix(shown).ok()?.iter().next()?));
        own.chain(self.shown().into_iter().filter_map(|(_, place)| top(place))).collect()
    }

    /// The runner's directory, which no sandbox shows.
    pub fn control(&self) -> PathBuf {
        self.directory.join(Self::CONTROL)
    }

    /// The directory of all processes' trials.
    pub fn scratch_base(&self) -> Option<&Path> {
        self.directory.parent().and_then(Path::parent)
    }

    /// Writes a file of the runner that the agent must read, and cannot write. Returns its path for the agent.
    pub fn show(&self, name: &str, content: &[u8]) -> Result<PathBuf, PathError> {
        let path = self.control().join(name);
        RootedPath::open(&self.control()).at(&path)?.join(name).replace(content, rooted::PRIVATE)?;
        Ok(self.add_shown(path, Path::new(name)))
    }

    /// Lets recorded answers be those of the agent's model. Its network must be limited, and not yet be open.
    pub fn answer_by(&self, replay: ModelReplay) {
        // The first one counts.
        let _ = self.replay.set(Arc::new(Mutex::new(replay)));
    }

    /// How the session differs from the one whose answers it was given.
    pub fn divergence(&self) -> Option<Divergence> {
        self.replay.get()?.lock().unwrap_or_else(PoisonError::into_inner).divergence()
    }

    /// The door of its network, if that is limited. The first call opens it, and shows what it needs.
    pub fn door(&self, settings: &NetworkSettings) -> Result<Option<Arc<RoomDoor>>, Trouble> {
        let Some(reach) = settings.limit() else { return Ok(None) };
        let mut door = self.door.lock().unwrap_or_else(PoisonError::into_inner);
        if door.is_none() {
            let opened = RoomDoor::open(reach, &settings.allowed, &self.control(), &self.place_of(Path::new("")))?;
            if let Some(replay) = self.replay.get() {
                opened.answer_by(Arc::clone(replay));
            }
            self.shown.lock().unwrap_or_else(PoisonError::into_inner).extend_from_slice(opened.files());
            *door = Some(Arc::new(opened));
        }
        Ok(door.clone())
    }

    /// Ends its network, if it has a door, and stores what passed in a new file, masked.
    pub fn finish_network(
        &self,
        to: &Path,
        mask: &dyn Fn(&str) -> String,
        profile: &Profile,
        texts: &SkillTexts,
    ) -> Result<Option<(NetworkMeta, WireWitness)>, Trouble> {
        let door = self.door.lock().unwrap_or_else(PoisonError::into_inner);
        door.as_ref().map(|door| door.finish(to, mask, profile, texts)).transpose()
    }

    /// Lets the agent's sandbox show the file at `path` under this name. Returns its path for the agent.
    fn add_shown(&self, path: PathBuf, name: &Path) -> PathBuf {
        let place = self.place_of(name);
        self.shown.lock().unwrap_or_else(PoisonError::into_inner).push((path, place.clone()));
        place
    }

    /// Where the agent finds what is shown under this name.
    pub fn place_of(&self, name: &Path) -> PathBuf {
        self.paths.as_ref().map_or_else(|| self.control(), |paths| paths.shown.clone()).join(name)
    }

    /// Shows this program to the agent under another name. Returns its path for the agent.
    pub fn show_this_program(&self, name: &str) -> Result<PathBuf, WorkspaceError> {
        if self.paths.is_none() {
            return Ok(std::env::current_exe().at(Path::new(name))?);
        }
        Ok(self.add_shown(self.own_program(name)?, Path::new(name)))
    }

    /// This program under another name, next to the trials of this process: the table of mounts has the name of what is mounted.
    fn own_program(&self, name: &str) -> Result<PathBuf, WorkspaceError> {
        let link = self.directory.with_file_name(name);
        if !look::exists(&link)? {
            let program = rooted_in_parent(&std::env::current_exe().at(&link)?)?;
            let new = RootedPath::open(&self.control()).at(&link)?.join(name);
            // Without a sandbox, agents can change what they are shown: by a link, that would be the user's program.
            let made = if self.paths.is_some() { program.copy_to(&new) } else { program.duplicate_to(&new) };
            made?;
            new.rename(&rooted_in_parent(&link)?).at(&link)?;
        }
        Ok(link)
    }

    /// The files that the agent must read, with their paths for the agent.
    pub fn shown(&self) -> Vec<(PathBuf, PathBuf)> {
        self.shown.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// An id for its session, a UUID: providers may cache by it, so each trial has another one.
    pub fn session_id(&self) -> &str {
        self.session.get_or_init(|| {
            let seed = format!("{} {}", self.directory.display(), jiff::Timestamp::now());
            let hash = blake3::hash(seed.as_bytes()).to_hex();
            format!("{}-{}-4{}-8{}-{}", &hash[..8], &hash[8..12], &hash[13..16], &hash[17..20], &hash[20..32])
        })
    }

    /// Gives it its own copy of the skills.
    pub fn copy_skills(&mut self, originals: &OriginalSkills) -> Result<(), WorkspaceError> {
        self.skills = Some(EnvSkills::Own(originals.copy_for(self.room.join(Self::SKILLS))?));
        Ok(())
    }

    /// Gives it the skills that other trials have too, if that is possible: its agent's sandbox shows them, or a link leads there.
    pub fn share_skills(&mut self, originals: &Arc<OriginalSkills>) -> Result<(), WorkspaceError> {
        let is_mounted = self.paths.is_some();
        let Some(used) = originals.shared_for(is_mounted)? else { return self.copy_skills(originals) };
        if is_mounted {
            self.room.join(Self::SKILLS).create_dir_all()?;
        }
        self.skills = Some(EnvSkills::Shared(used));
        Ok(())
    }

    /// The names of the skills that the agent gets.
    pub fn skill_names(&self) -> Vec<String> {
        let names = self.skills.as_ref().map(|skills| skills.files().place.names());
        let names = names.and_then(Result::ok).unwrap_or_default().into_iter();
        names.map(|name| name.to_string_lossy().into_owned()).collect()
    }

    /// The files of its skills that differ from the originals with the changes that were made, by path in [`Self::skills`], at
    /// most 100. Fails if another trial may have changed them. The check is after the trial.
    pub fn changed_skills(&self, changes: &[ChangeMeta]) -> Result<Vec<PathBuf>, WorkspaceError> {
        let Some(skills) = self.skills.as_ref().filter(|skills| !skills.files().is_untouched()) else {
            return Ok(Vec::new());
        };
        let versions = self.changes.iter().flat_map(|changes| &changes.versions).zip(changes);
        let made = versions.filter(|(_, change)| change.made_ms.is_some()).map(|(version, _)| version);
        let found = skills.files().changed(made);
        match skills {
            EnvSkills::Shared(used) if used.are_disputed() => {
                Err(WorkspaceError::SkillsDisputed(found.into_iter().next().unwrap_or_else(|| Self::SKILLS.into())))
            }
            _ => Ok(found),
        }
    }

    /// The files of its skills that differ from the originals by now, at most 100, and whether another trial may have done it.
    pub fn replaced_skills(&self) -> (Vec<PathBuf>, bool) {
        let Some(skills) = self.skills.as_ref().filter(|skills| !skills.files().is_untouched()) else {
            return Default::default();
        };
        (skills.files().changed(std::iter::empty()), matches!(skills, EnvSkills::Shared(used) if used.are_disputed()))
    }

    pub fn workspace(&self) -> RootedPath {
        self.workspace.clone()
    }

    /// Whether the workspace is still in its place.
    pub fn has_workspace(&self) -> bool {
        self.room.join(Self::WORKSPACE).is_same_directory(&self.workspace)
    }

    pub fn home(&self) -> RootedPath {
        self.room.join(Self::HOME)
    }

    pub fn tmp(&self) -> RootedPath {
        self.room.join(Self::TMP)
    }

    /// Where our MCP server logs the agent's requests for lists.
    pub fn request_log_path(&self) -> RootedPath {
        self.tmp().join(Self::REQUEST_LOG)
    }

    /// What our MCP server logged; `None` if it logged nothing.
    pub fn request_log(&self) -> Option<String> {
        let log = self.request_log_path().read(MAX_REQUEST_LOG).ok()?;
        Some(String::from_utf8_lossy(&log).into_owned())
    }

    /// Where its agent finds the skills, a directory for each slug; it exists if the mode delivers skills. A sandbox mounts
    /// it read-only, since the agent must not write to it.
    pub fn skills(&self) -> RootedPath {
        match &self.skills {
            Some(EnvSkills::Shared(used)) if !used.is_mounted => used.files().place.clone(),
            _ => self.room.join(Self::SKILLS),
        }
    }

    /// What a sandbox mounts there: its own copy, or the shared files. `None` without skills: there may be a link of the agent.
    pub fn skills_to_mount(&self) -> Option<OsString> {
        Some(match self.skills.as_ref()? {
            EnvSkills::Shared(used) => used.files().place.clone().into(),
            EnvSkills::Own(..) => self.directory.join(Self::ROOM).join(Self::SKILLS).into(),
        })
    }

    /// Creates these directories in the workspace, unless they exist.
    pub fn create_directories(&self, paths: &[RelativePath]) -> Result<(), WorkspaceError> {
        for path in paths {
            self.workspace().join(path.as_path()).create_dir_all()?;
        }
        Ok(())
    }

    /// Copies the case's files into the workspace. Returns the digest of what the agent gets.
    pub fn copy_files(&mut self, material: Material) -> Result<String, WorkspaceError> {
        let workspace = self.workspace();
        let material = material.whole().map_err(WorkspaceError::Files)?;
        let mode = |executable| if executable { 0o755 } else { 0o644 };
        let copied = material.copy(&workspace, mode).map_err(WorkspaceError::Files)?;
        let stamps = workspace.stamps(material.files.iter().map(|file| file.path.as_path()));
        let stamps = stamps.map_err(|error| workspace.error(error))?;
        for ((file, digest), stamp) in material.files.iter().zip(copied.files).zip(stamps) {
            let missing = || workspace.join(&file.path).error(std::io::ErrorKind::NotFound);
            self.start_files.insert(file.path.clone(), (stamp.ok_or_else(missing)?, digest));
        }
        Ok(copied.digest)
    }
}

// The paths of a room, for those in it.
//
// A model reads its working directory, and may read everything else around it. It must not learn from a path that it is evaluated,
// or by what; and providers know a prompt again only if it is the same in every trial.

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

// What is answered from files, in the room.

/// A program in whose place a sandbox has a mock.
#[derive(Clone, Debug)]
pub struct CoveredProgram {
    /// Its path, without links.
    pub place: PathBuf,
    /// The file of the mock.
    pub mock: PathBuf,
    /// Whether the sandbox has the program itself elsewhere.
    pub shows_real: bool,
}

/// Where shells and other programs look for commands without a PATH.
const USUAL_PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// What shells read at the start of a login, before they run what an agent asks for. bash reads only the first of its own.
const LOGIN_FILES: [&str; 4] = [".bash_profile", ".bash_login", ".profile", ".zprofile"];

/// Those of them that are made.
const MADE: [&str; 2] = [".profile", ".zprofile"];

/// The largest of them that is read, in bytes.
const LARGEST_LOGIN: u64 = 1 << 20;

impl TrialEnv {
    /// Shows the commands that are answered from files, at the front of the agent's search path and in a sandbox also in the place of
    /// the real programs. Returns the record of their calls, which begins now.
    pub fn show_mocks(&self, mocks: &Mocks) -> Result<CallLog, WorkspaceError> {
        let control = RootedPath::open(&self.control()).at(&self.control())?;
        control.join(SHARE).create_dir_all()?;
        let own_share = self.control().join(SHARE);
        let share = self.add_shown(own_share.clone(), Path::new(SHARE));
        let commands = mocks.commands.keys().map(|name| (name, COMMANDS, false));
        for (name, directory, serves) in commands.chain(mocks.servers.keys().map(|name| (name, SERVERS, true))) {
            let role = MockRole { names: vec![name.clone()], serves, shared: None, share: share.clone() };
            let place = Path::new(directory).join(name);
            self.add_shown(self.mock_program(&control, &role, &place)?, &place);
        }
        let real = self.cover(&control, mocks, &share)?;
        let calls = CallLog::open(&own_share, mocks, real).at(&own_share)?;
        self.put_first_at_login()?;
        Ok(calls)
    }

    /// Puts mocks in the place of the real programs, as far as a sandbox can. Returns where the agent finds the real program of each
    /// command; `None` if they are those of an image.
    fn cover(
        &self,
        control: &RootedPath,
        mocks: &Mocks,
        share: &Path,
    ) -> Result<Option<BTreeMap<String, PathBuf>>, WorkspaceError> {
        let found = |command: &String| Some((command.clone(), find_program(command)?));
        let Some(paths) = &self.paths else { return Ok(Some(mocks.commands.keys().filter_map(found).collect())) };
        if paths.search_path.is_some() {
            return Ok(None);
        }
        let (mut real, mut targets) = (BTreeMap::new(), BTreeMap::<PathBuf, Vec<String>>::new());
        let path = std::env::var_os("PATH").unwrap_or_default();
        for command in mocks.commands.keys() {
            let places =
                [path.as_os_str(), USUAL_PATH.as_ref()].into_iter().flat_map(|path| programs_in(path, command));
            for target in places.filter_map(|place| place.canonicalize().ok()) {
                real.entry(command.clone()).or_insert_with(|| self.real_place(&target));
                let names = targets.entry(target).or_default();
                if !names.contains(command) {
                    names.push(command.clone());
                }
            }
        }
        for (place, mut names) in targets {
            let passes = |name: &String| mocks.commands[name].iter().any(|answer| answer.passthrough);
            let own = |name: &String| place.file_name().is_some_and(|file| file == name.as_str());
            names.sort_by_key(|name| !own(name));
            let shared = (!own(&names[0])).then(|| self.real_place(&place));
            let shows_real = shared.is_some() || names.iter().any(passes);
            let role = MockRole { names, serves: false, shared, share: share.to_path_buf() };
            let mock = self.mock_program(control, &role, Path::new(COMMANDS))?;
            let covered = CoveredProgram { place, mock, shows_real };
            self.covered.lock().unwrap_or_else(PoisonError::into_inner).push(covered);
        }
        Ok(Some(real))
    }

    /// Where a sandbox has the real program that is covered at this path.
    pub fn real_place(&self, program: &Path) -> PathBuf {
        self.place_of(Path::new(REAL)).join(program.strip_prefix("/").unwrap_or(program))
    }

    /// The programs in whose place a sandbox has mocks.
    pub fn covered(&self) -> Vec<CoveredProgram> {
        self.covered.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Puts the commands at the front of the search path of login shells, which set it anew. What a setup command wrote for them stays.
    fn put_first_at_login(&self) -> Result<(), WorkspaceError> {
        let front = self.place_of(Path::new(COMMANDS)).to_string_lossy().replace('\'', r"'\''");
        let line = format!("\nexport PATH='{front}':\"$PATH\"\n");
        for name in LOGIN_FILES {
            let file = self.home().join(name);
            let before = file.read(LARGEST_LOGIN);
            if before.is_ok() || MADE.contains(&name) {
                file.replace(&[&*before.unwrap_or_default(), line.as_bytes()].concat(), rooted::COMMON)?;
            }
        }
        Ok(())
    }

    /// The file of a mock. In a sandbox all trials of this process have the same.
    fn mock_program(&self, control: &RootedPath, role: &MockRole, name: &Path) -> Result<PathBuf, WorkspaceError> {
        let trailer = role.trailer().at(name)?;
        // The table of mounts has the name of what is mounted.
        let hash = blake3::hash(&trailer).to_hex();
        let common = self.paths.as_ref().map(|_| self.directory.with_file_name(&hash[..16]));
        if let Some(place) = &common
            && look::exists(place)?
        {
            return Ok(place.clone());
        }
        let new = control.join(common.as_ref().map_or(name, |_| Path::new(&hash[..16])));
        let mut program = File::open(std::env::current_exe().at(name)?).at(name)?;
        let mut file = new.create(0o755)?;
        std::io::copy(&mut program, &mut file).and_then(|_| file.write_all(&trailer)).at(name)?;
        match common {
            None => Ok(self.control().join(name)),
            Some(place) => new.rename(&rooted_in_parent(&place)?).at(&place).map(|()| place).map_err(Into::into),
        }
    }

    /// The MCP servers that are answered from files: the name of each, and the program that serves it.
    pub fn mocked_servers(&self) -> Vec<(String, PathBuf)> {
        let directory = self.place_of(Path::new(SERVERS));
        let shown = self.shown.lock().unwrap_or_else(PoisonError::into_inner);
        let places = shown.iter().map(|(_, place)| place).filter(|place| place.parent() == Some(&directory));
        let named = places.filter_map(|place| Some((place.file_name()?.to_string_lossy().into_owned(), place.clone())));
        named.collect()
    }

    /// A search path with the commands that are answered from files before all others, if there are some.
    pub fn search_path(&self, path: Option<&OsString>) -> Option<OsString> {
        let front = self.place_of(Path::new(COMMANDS));
        let shown = self.shown.lock().unwrap_or_else(PoisonError::into_inner);
        shown.iter().any(|(_, place)| place.parent() == Some(&front)).then(|| {
            let others = path.into_iter().flat_map(std::env::split_paths);
            let all: Vec<PathBuf> = std::iter::once(front.clone()).chain(others).collect();
            std::env::join_paths(all).unwrap_or_else(|_| front.clone().into())
        })
    }
}
