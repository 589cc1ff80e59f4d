//! Directories that somebody else may write, entered without following anything.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};

use nix::fcntl::{OFlag, openat};
use nix::sys::stat::{Mode, mkdirat};
use skill_evals_evidence::files::rooted::{self, RootedPath, WalkControl};

const SECRET: &[u8] = b"the secret of the victim";

/// Where files are made fast, if there is such a place.
fn memory() -> PathBuf {
    let memory = PathBuf::from("/dev/shm");
    if memory.is_dir() { memory } else { std::env::temp_dir() }
}

/// A room, and a directory next to it that nobody may change or read.
struct World {
    directory: tempfile::TempDir,
}

impl World {
    fn new() -> Self {
        Self::in_directory(&memory())
    }

    fn in_directory(directory: &Path) -> Self {
        let directory = tempfile::tempdir_in(directory).expect("a directory");
        let victim = directory.path().join("victim");
        fs::create_dir_all(victim.join("inner")).expect("a directory");
        fs::create_dir(directory.path().join("room")).expect("a directory");
        for name in ["file", "inner/file", "config.toml"] {
            fs::write(victim.join(name), SECRET).expect("a file");
        }
        Self { directory }
    }

    fn room(&self) -> PathBuf {
        self.directory.path().join("room")
    }

    fn victim(&self) -> PathBuf {
        self.directory.path().join("victim")
    }

    fn entered(&self) -> RootedPath {
        RootedPath::open_closed(&self.room()).expect("a room")
    }

    /// All that a change of the victim would change.
    fn seen(&self) -> BTreeMap<PathBuf, (u32, i64, i64, Vec<u8>)> {
        let entries = walkdir::WalkDir::new(self.victim()).into_iter().map(|entry| entry.expect("an entry"));
        let entries = entries.map(|entry| {
            let found = entry.metadata().expect("metadata");
            let content = if found.is_file() { fs::read(entry.path()).expect("a file") } else { Vec::new() };
            (entry.into_path(), (found.mode(), found.mtime(), found.mtime_nsec(), content))
        });
        entries.collect()
    }
}

#[test]
fn what_the_runner_writes_reads_and_removes_does_not_go_through_a_link() {
    let world = World::new();
    let before = world.seen();
    let room = world.entered();
    symlink(world.victim(), world.room().join("dir")).expect("a link");
    symlink(world.victim().join("file"), world.room().join("file")).expect("a link");
    symlink("..", world.room().join("up")).expect("a link");
    for path in ["dir/new", "file", "up/victim/new", "../victim/new", "dir/inner/new"] {
        let path = room.join(path);
        assert!(path.write(b"x", 0o600).is_err(), "{path}");
        assert!(path.link_to("/etc").is_err(), "{path}");
    }
    for path in ["dir/file", "file", "up/victim/file", "../victim/file"] {
        assert!(room.join(path).read(100).is_err(), "{path}");
    }
    assert!(room.join(world.victim().join("file")).read(100).is_err(), "an absolute path");
    assert!(room.join("dir/more").create_dir_all().is_err());
    assert!(room.join("dir").names().is_err() && room.join("dir").first(|_| true).is_none());
    assert!(room.join("file").resolved().is_err() && room.join("dir/file").resolved().is_err());
    assert!(room.join("dir/inner").remove().is_err());
    room.join("file").replace(b"mine", 0o600).expect("the link is replaced");
    room.join("dir").remove().expect("the link is removed");
    room.join("dir/inner/file").remove().expect("nothing is there");
    assert_eq!(room.join("file").read(100).expect("a file"), b"mine");
    assert_eq!(world.seen(), before);
}

#[test]
fn links_that_stay_in_the_directory_lead_to_their_targets_when_that_is_asked_for() {
    let world = World::new();
    let room = world.entered();
    room.join("a/b/file").write(b"x", 0o600).expect("a file");
    symlink("../b/file", world.room().join("a/b/relative")).expect("a link");
    symlink(world.room().join("a"), world.room().join("absolute")).expect("a link");
    symlink("loop", world.room().join("loop")).expect("a link");
    for path in ["a/b/relative", "absolute/b/relative"] {
        assert_eq!(room.join(path).resolved().expect("its target").relative(), Path::new("a/b/file"));
    }
    assert!(room.join("loop").resolved().is_err());
}

#[test]
fn a_hard_link_to_a_file_elsewhere_is_refused_and_one_in_the_room_is_not() {
    let world = World::new();
    let room = world.entered();
    fs::hard_link(world.victim().join("file"), world.room().join("theirs")).expect("a link");
    room.join("own").write(b"own", 0o600).expect("a file");
    fs::create_dir(world.room().join("inner")).expect("a directory");
    fs::hard_link(world.room().join("own"), world.room().join("inner/own")).expect("a link");
    assert!(room.join("theirs").read(100).expect_err("refused").to_string().contains("hard link"));
    assert_eq!(room.join("inner/own").read(100).expect("its own"), b"own");
    let mut readable = Vec::new();
    let walked = room.walk(|_| false, &mut |file| {
        readable.extend(file.open().ok().map(|_| file.path.to_path_buf()));
        WalkControl::On
    });
    assert!(walked.expect("a walk").is_whole);
    assert_eq!(readable, [Path::new("inner/own"), Path::new("own")]);
}

#[test]
fn a_name_that_is_removed_while_it_is_opened_makes_no_other_file_one_of_the_room() {
    let world = World::new();
    let (name, victim, stop) = (world.room().join("name"), world.victim().join("file"), AtomicBool::new(false));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !stop.load(Ordering::Relaxed) {
                let _ = fs::hard_link(&victim, &name).and_then(|()| fs::remove_file(&name));
            }
        });
        let room = world.entered();
        let read: Vec<Vec<u8>> = (0..20_000).filter_map(|_| room.join("name").read(1_000).ok()).collect();
        stop.store(true, Ordering::Relaxed);
        assert_eq!(read, Vec::<Vec<u8>>::new());
    });
}

/// The kernel finds a name until the disk knows of its removal; the file has lost it before. How long that takes depends on the
/// disk.
#[test]
#[ignore = "TMPDIR must be on a slow ext4; .ci/nightly makes one"]
fn a_name_that_the_disk_is_removing_makes_no_other_file_one_of_the_room() {
    let world = World::in_directory(&std::env::temp_dir());
    let (victim, stop) = (world.victim().join("file"), AtomicBool::new(false));
    let [slow, usual] = ["slow", "usual"].map(|name| world.room().join(name));
    fs::create_dir(&usual).and_then(|()| fs::create_dir(&slow)).expect("directories");
    // Its changes go to the disk at once. Not every file system can, nor every user.
    let _ = Command::new("chattr").arg("+D").arg(&slow).stderr(Stdio::null()).status();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !stop.load(Ordering::Relaxed) {
                let _ = fs::hard_link(&victim, slow.join("name")).and_then(|()| fs::remove_file(slow.join("name")));
            }
        });
        let room = world.entered();
        let is_read = |name: &str| room.join(name).read(1_000).is_ok();
        let one_name = (0..5_000).filter(|_| is_read("slow/name")).count();
        fs::hard_link(&victim, usual.join("name")).expect("a link");
        let two_names = (0..500).filter(|_| is_read("slow/name") || is_read("usual/name")).count();
        stop.store(true, Ordering::Relaxed);
        assert_eq!((one_name, two_names), (0, 0));
    });
}

#[test]
fn a_directory_that_is_moved_gives_a_file_in_it_no_second_name() {
    let world = World::new();
    let stop = AtomicBool::new(false);
    // The names are counted in the order of the directories: what moves from `a` to `z` meanwhile is found twice.
    for directory in ["a/moved", "m/n/o", "z"] {
        fs::create_dir_all(world.room().join(directory)).expect("a directory");
    }
    fs::hard_link(world.victim().join("file"), world.room().join("a/moved/file")).expect("a link");
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let [first, last] = ["a/moved", "z/moved"].map(|path| world.room().join(path));
            while !stop.load(Ordering::Relaxed) {
                let _ = fs::rename(&first, &last);
                let _ = fs::rename(&last, &first);
            }
        });
        let room = world.entered();
        let names = ["a/moved/file", "z/moved/file"].into_iter().cycle().take(3_000);
        let read: Vec<&str> = names.filter(|name| room.join(name).read(1_000).is_ok()).collect();
        stop.store(true, Ordering::Relaxed);
        assert_eq!(read, Vec::<&str>::new());
    });
}

#[test]
fn a_pinned_directory_is_the_same_wherever_it_is_moved_and_whatever_takes_its_place() {
    let world = World::new();
    let room = world.entered();
    room.join("work/file").write(b"its own", 0o600).expect("a file");
    let pinned = room.join("work").pinned().expect("a directory");
    assert!(room.join("work").is_same_directory(&pinned));
    fs::rename(world.room().join("work"), world.room().join("moved")).expect("a move");
    fs::create_dir(world.room().join("work")).expect("a directory");
    fs::write(world.room().join("work/file"), "another").expect("a file");
    assert_eq!(pinned.join("file").read(100).expect("a file"), b"its own");
    assert!(!room.join("work").is_same_directory(&pinned) && room.join("moved").is_same_directory(&pinned));
}

#[test]
fn pipes_devices_and_sockets_are_not_opened() {
    let world = World::new();
    let pipe = world.room().join("pipe");
    nix::unistd::mkfifo(&pipe, Mode::S_IRWXU).expect("a pipe");
    let _socket = std::os::unix::net::UnixListener::bind(world.room().join("socket")).expect("a socket");
    for name in ["pipe", "socket"] {
        assert!(world.entered().join(name).read(100).is_err(), "{name}");
    }
    let walked = world.entered().walk(|_| false, &mut |_| WalkControl::On).expect("a walk");
    assert_eq!(walked.others, [Path::new("pipe"), Path::new("socket")]);
}

/// Fills `directory` with 20,000 directories in each other; in each is a file, and a second directory.
fn fill(directory: &Path) {
    fs::create_dir_all(directory).expect("a directory");
    let flags = OFlag::O_DIRECTORY | OFlag::O_CLOEXEC;
    let mut at = nix::fcntl::open(directory, flags, Mode::empty()).expect("a directory");
    for _ in 0..20_000 {
        for name in ["d", "e"] {
            mkdirat(&at, name, Mode::S_IRWXU).expect("a directory");
        }
        openat(&at, "file", OFlag::O_CREAT | OFlag::O_CLOEXEC, Mode::S_IRWXU).expect("a file");
        at = openat(&at, "d", flags, Mode::empty()).expect("a directory");
    }
}

#[test]
fn twenty_thousand_directories_in_each_other_are_walked_and_removed_on_a_small_stack() {
    let world = World::new();
    fill(&world.room().join("deep"));
    let room = world.entered();
    let thread = std::thread::Builder::new().stack_size(64 << 10).spawn(move || {
        let walked = room.walk(|_| false, &mut |_| WalkControl::On).expect("a walk");
        assert!(!walked.is_whole);
        room.join("deep").remove().expect("it is removed");
        assert!(room.names().expect("names").is_empty());
    });
    thread.expect("a thread").join().expect("no overflow");
}

#[test]
fn directories_that_nobody_may_enter_are_removed_and_links_in_them_are_not_followed() {
    let world = World::new();
    let before = world.seen();
    let deep = world.room().join("a/b/c");
    fs::create_dir_all(&deep).expect("directories");
    symlink(world.victim(), deep.join("link")).expect("a link");
    for path in ["a/b/c", "a/b", "a"] {
        fs::set_permissions(world.room().join(path), fs::Permissions::from_mode(0o000)).expect("permissions");
    }
    rooted::remove(&world.room()).expect("it is removed");
    assert!(!world.room().exists());
    assert_eq!(world.seen(), before);
}

/// Small random numbers.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % sides
    }

    fn index(&mut self, length: usize) -> usize {
        usize::try_from(self.roll(length as u64)).expect("a small number")
    }

    fn path(&mut self) -> PathBuf {
        let names = ["a", "b", "home", "config.toml", "file", "inner"];
        (0..=self.roll(3)).map(|_| names[self.index(names.len())]).collect()
    }
}

/// A hostile agent: what it does to its room, until `stop` is set. It reaches the victim by links only, as in a sandbox.
fn attack(room: &Path, victim: &Path, seed: u64, stop: &AtomicBool) {
    let mut dice = Dice(seed);
    let own = RootedPath::open(room).expect("a room");
    let targets =
        [victim.to_path_buf(), victim.join("file"), "../../victim".into(), "../victim/inner".into(), "/".into()];
    while !stop.load(Ordering::Relaxed) {
        let (at, top) = (own.join(dice.path()), room.join(dice.path().iter().next().expect("a name")));
        match dice.roll(10) {
            0..=2 => _ = at.link_to(&targets[dice.index(targets.len())]),
            3 => _ = at.rename(&own.join(dice.path())),
            4 => _ = fs::hard_link(victim.join("file"), top),
            5 => _ = at.create_dir_all(),
            6 => _ = at.write(b"the agent's", 0o666),
            7 => _ = nix::unistd::mkfifo(&top, Mode::S_IRWXU),
            8 => _ = at.remove().map(|()| at.link_to(victim)),
            _ => _ = at.rename(&own.join("aside")).map(|()| at.link_to(victim)),
        }
    }
}

/// What a runner does in a room. Nothing that it reads may be the victim's.
fn work(room: &RootedPath, dice: &mut Dice) {
    let at = room.join(dice.path());
    let check = |content: &[u8]| assert_ne!(content, SECRET, "{at}");
    match dice.roll(10) {
        0 => _ = at.write(b"the runner's", 0o600),
        1 => _ = at.replace(b"the runner's", 0o644),
        2 => _ = at.create_dir_all(),
        3 => _ = at.link_to("somewhere"),
        4 => _ = at.read(1_000).map(|content| check(&content)),
        5 => _ = at.remove(),
        6 => _ = at.resolved().and_then(|real| real.read(1_000)).map(|content| check(&content)),
        7 => _ = at.rename(&room.join(dice.path())),
        8 => _ = at.names().map(|names| assert!(names.iter().all(|name| name != OsStr::new("victim")))),
        _ => {
            let _ = at.walk(|_| false, &mut |file| {
                let content = file.open().and_then(|file| skill_evals_evidence::files::bounded::read_file(file, 1_000));
                let _ = content.map(|content| check(&content));
                WalkControl::On
            });
        }
    }
}

/// `FUZZ_ROUNDS` rounds, each of a new room; the nightly script has 10,000.
#[test]
fn a_victim_does_not_change_whatever_a_hostile_agent_does_while_the_runner_works() {
    let rounds = std::env::var("FUZZ_ROUNDS").ok().and_then(|text| text.parse().ok()).unwrap_or(40);
    for round in 0..rounds {
        let world = World::new();
        let before = world.seen();
        let stop = AtomicBool::new(false);
        std::thread::scope(|scope| {
            for agent in 0..2 {
                let (room, victim, stop) = (world.room(), world.victim(), &stop);
                scope.spawn(move || attack(&room, &victim, round * 2 + agent, stop));
            }
            let room = world.entered();
            let mut dice = Dice(!round);
            let worked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
                (0..200).for_each(|_| work(&room, &mut dice));
            }));
            stop.store(true, Ordering::Relaxed);
            assert!(worked.is_ok(), "round {round}");
        });
        rooted::remove(&world.room()).expect("it is removed");
        assert_eq!(world.seen(), before, "round {round}");
    }
}
