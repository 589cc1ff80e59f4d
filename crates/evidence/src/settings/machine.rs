//! How much this machine runs at once, and what separates it from agents.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::{fmt, fs};

use crate::settings::{Problems, Settings};
use crate::text::name::RelativePath;
use crate::text::word_enum::word_enum;

/// How many trials share a core. Agents mostly wait for their models: a whole trial of Claude takes about one second of a CPU, one of
/// codex half of that. With a model that takes three seconds for an answer, twice as many trials on two cores spend more than half of
/// their time waiting for a CPU.
const PER_CORE: usize = 4;

/// The memory of a trial, in bytes. Claude takes 270 MiB at its peak, codex 220 MiB; the rest is for what they start.
const PER_TRIAL: u64 = 512 << 20;

/// More trials at once are refused by providers.
const MOST: usize = 16;

/// The directory of the groups of processes with limits of their own.
const GROUPS: &str = "/sys/fs/cgroup";

/// What this process may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Machine {
    pub cores: usize,
    /// Free memory in bytes, if the system says so.
    pub free: Option<u64>,
}

impl Machine {
    /// As it was when this process first asked: what runs at once must not change in a run.
    pub fn at_start() -> Self {
        static MACHINE: OnceLock<Machine> = OnceLock::new();
        *MACHINE.get_or_init(|| Self {
            cores: std::thread::available_parallelism().map_or(1, usize::from),
            free: free_of_system().into_iter().chain(free_of_groups()).min(),
        })
    }

    /// How many trials run at once if nobody says how many.
    pub fn jobs(self) -> usize {
        let by_memory = self.free.map_or(MOST, |free| usize::try_from(free / PER_TRIAL).unwrap_or(MOST));
        (self.cores * PER_CORE).min(by_memory).clamp(1, MOST)
    }
}

impl Settings {
    /// How many trials run at once.
    pub fn jobs(&self) -> usize {
        self.jobs.unwrap_or_else(|| Machine::at_start().jobs())
    }
}

impl fmt::Display for Machine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { cores, free } = self;
        write!(f, "{cores} core{}", if *cores == 1 { "" } else { "s" })?;
        match free.map(|free| (free >> 30, free >> 20)) {
            Some((0, mebibytes)) => write!(f, ", {mebibytes} MiB free"),
            Some((gibibytes, _)) => write!(f, ", {gibibytes} GiB free"),
            None => Ok(()),
        }
    }
}

/// What the whole machine can give, which no limit of a group changes.
fn free_of_system() -> Option<u64> {
    kibibytes(&fs::read_to_string("/proc/meminfo").ok()?)
}

fn kibibytes(meminfo: &str) -> Option<u64> {
    let available = meminfo.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    available.trim().strip_suffix(" kB")?.parse::<u64>().ok()?.checked_mul(1024)
}

/// What the group of this process, and each around it, leaves of its limit, as far as they can be read.
fn free_of_groups() -> Vec<u64> {
    let Ok(groups) = fs::read_to_string("/proc/self/cgroup") else { return Vec::new() };
    let Some(own) = groups.lines().find_map(|line| line.strip_prefix("0::/")) else { return Vec::new() };
    let all = Path::new(own).ancestors().map(|group| Path::new(GROUPS).join(group));
    all.filter_map(|group| {
        let read = |name: &str| fs::read_to_string(group.join(name)).ok();
        free_of_group(&read("memory.max")?, &read("memory.current")?, &read("memory.stat").unwrap_or_default())
    })
    .collect()
}

/// What a group leaves of its limit. The kernel takes back what it keeps of files that were not used lately.
fn free_of_group(max: &str, current: &str, stat: &str) -> Option<u64> {
    let max: u64 = max.trim().parse().ok()?;
    let used: u64 = current.trim().parse().ok()?;
    let kept = stat.lines().find_map(|line| line.strip_prefix("inactive_file ")?.trim().parse().ok());
    Some(max.saturating_sub(used.saturating_sub(kept.unwrap_or(0))))
}

// `isolation`: what keeps an agent to its own directories.

word_enum! {
    /// What keeps an agent to its own directories.
    #[derive(Default)]
    pub enum Isolation {
        /// bubblewrap: the agent sees programs, its own directories and the skills, and no other process.
        #[default]
        Bwrap = "bwrap",
        /// A container of docker or podman: the same, and the programs of an image in place of the system's.
        Docker = "docker",
        /// Only what the agent does by itself.
        Agent = "agent",
    }
}

impl Isolation {
    /// What agents are inside of.
    pub fn surroundings(self) -> &'static str {
        match self {
            Self::Bwrap => "bubblewrap",
            Self::Docker => "a container",
            Self::Agent => "their own sandboxes",
        }
    }
}

word_enum! {
    /// Whose settings, plugins, MCP servers and other skills an agent has in its home.
    #[derive(Default)]
    pub enum Home {
        /// Nobody's: of the user only the credentials and the provider.
        #[default]
        Isolated = "isolated",
        /// The user's, which the agent reads where it is.
        User = "user",
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct IsolationSettings {
    /// The kind. An agent runs without bubblewrap if that does not work, unless it is required.
    pub kind: Isolation,
    /// Whether a trial outside bubblewrap is an error.
    pub required: bool,
    /// The image of containers, if not the usual one.
    pub image: Option<String>,
    /// Whose setup agents have.
    pub home: Home,
    /// What the settings file says about it, if anything.
    pub declared: Option<String>,
    /// Absolute paths that agents may read besides the system's own.
    pub readable: Vec<PathBuf>,
    /// The directories of plugins whose hooks, servers and commands may run code.
    pub trusted: Vec<RelativePath>,
}

impl IsolationSettings {
    /// The image that `packages/` builds.
    const IMAGE: &str = "skill-evals";

    /// The image of containers.
    pub fn image(&self) -> &str {
        self.image.as_deref().unwrap_or(Self::IMAGE)
    }

    /// Keeps what the settings file says.
    pub(super) fn declare(&mut self, readable: &[String]) {
        let image = self.image.iter().fold(String::new(), |_, image| format!("\0\0{image}"));
        self.declared = Some(format!("{} {} {}{image}", self.kind, self.required, readable.join("\0")));
    }

    /// Adds paths that agents may read.
    pub(super) fn read(&mut self, paths: Vec<toml::Spanned<String>>, problems: &mut Problems<'_>) {
        for written in paths {
            let text = written.get_ref();
            let path = match text.strip_prefix("~/") {
                Some(rest) => std::env::home_dir().unwrap_or_default().join(rest),
                None => PathBuf::from(text),
            };
            if path.is_absolute() {
                self.readable.push(path);
            } else {
                let message = format!("`isolation_read`: {text:?} is not absolute; begin it with `/` or `~/`");
                problems.add(written.span(), message);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GIB: u64 = 1 << 30;

    #[test]
    fn as_many_trials_run_at_once_as_cores_and_free_memory_allow() {
        let jobs = |cores, free| Machine { cores, free }.jobs();
        assert_eq!((jobs(2, Some(15 * GIB)), jobs(4, Some(15 * GIB)), jobs(64, Some(200 * GIB))), (8, 16, 16));
        assert_eq!((jobs(1, Some(15 * GIB)), jobs(8, Some(2 * GIB))), (4, 4));
        assert_eq!((jobs(2, Some(0)), jobs(2, None), jobs(0, None)), (1, 8, 1));
    }

    #[test]
    fn what_a_run_says_of_the_machine_is_short() {
        let text = |cores, free| Machine { cores, free }.to_string();
        assert_eq!(text(2, Some(16 * GIB - 1)), "2 cores, 15 GiB free");
        assert_eq!((text(1, Some(GIB / 2)), text(16, None)), ("1 core, 512 MiB free".into(), "16 cores".into()));
    }

    #[test]
    fn free_memory_is_read_as_the_kernel_writes_it() {
        assert_eq!(kibibytes("MemTotal:  100 kB\nMemAvailable:     64 kB\n"), Some(65_536));
        assert_eq!(kibibytes("MemTotal:  100 kB\n"), None);
        assert_eq!(free_of_group("max\n", "1\n", ""), None, "it has no limit");
        assert_eq!(free_of_group("1000\n", "900\n", "anon 1\ninactive_file 300\n"), Some(400));
        assert_eq!(free_of_group("1000\n", "1100\n", ""), Some(0));
    }
}
