//! The clock of a program's time limit: wall time, less what a busy machine took from it.
//!
//! A program that waits for a CPU is not slow, the machine is. The kernel counts that wait for each thread
//! (`/proc/PID/task/TID/schedstat`, Documentation/scheduler/sched-stats.rst). The counts go with their threads, so they are read
//! while the program runs: of each interval the longest wait of any thread of its tree counts, since threads can wait at the same
//! time. The wait of the thread that reads them is added: it looks that much later. Where the tree cannot be read, as in a container,
//! the machine's pressure stands for it (Documentation/accounting/psi.rst), which is longer.

use std::collections::HashMap;
use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use tokio::sync::{Notify, watch};

use super::MAX_STDOUT;
use super::output::ListenerState;
use crate::files::{bounded, look};
use crate::trace::trouble::{Trouble, TroubleKind};

/// How often the wait is read at first: programs start with many short processes.
const FIRST_INTERVAL: Duration = Duration::from_millis(20);

/// How often it is read later.
const INTERVAL: Duration = Duration::from_millis(200);

/// How long the first interval is used, on this clock: a program that waits for a CPU starts for longer.
const FIRST: Duration = Duration::from_secs(2);

/// A limit is over after this many times its length, however long the program waited.
const MOST: u32 = 3;

/// How long the programs of a trial have waited for a CPU, for those who watch them.
#[derive(Debug, Default)]
pub struct CpuWait(AtomicU64);

impl CpuWait {
    pub fn get(&self) -> Duration {
        Duration::from_micros(self.0.load(Ordering::Relaxed))
    }

    fn add(&self, wait: Duration) {
        self.0.fetch_add(u64::try_from(wait.as_micros()).unwrap_or(u64::MAX), Ordering::Relaxed);
    }
}

/// How far a program is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Remaining {
    /// It has this much time, and the clock is to be read again by then.
    Left(Duration),
    /// Its time is over.
    Over,
    /// It waited for so long that the machine, and not the program, was too slow.
    MachineTooSlow,
}

/// Measures the time of one program.
#[derive(Debug)]
pub(super) struct ProgramClock<'a> {
    /// Gets each wait, too.
    watched: Option<&'a CpuWait>,
    started: Instant,
    read: Instant,
    source: Source,
    /// This thread and its wait, as of the last look.
    own: Option<(i32, Duration)>,
    /// How long it has waited for a CPU.
    waited: Duration,
}

#[derive(Debug)]
enum Source {
    /// The threads below this process, with the wait of each.
    Tree(i32, HashMap<i32, Duration>),
    /// The wait on the whole machine.
    Machine(Duration),
    /// Nothing can be read.
    Unknown,
}

impl<'a> ProgramClock<'a> {
    /// Of the program whose tree has this first process; `None` if its processes are not below any of ours.
    pub(super) fn new(leader: Option<i32>, watched: Option<&'a CpuWait>) -> Self {
        let now = Instant::now();
        let tree = leader.filter(|leader| *leader > 1 && waits_of(*leader).is_some());
        let source = match tree {
            Some(leader) => Source::Tree(leader, HashMap::new()),
            None => pressure().map_or(Source::Unknown, Source::Machine),
        };
        Self { watched, started: now, read: now, source, own: own_wait(), waited: Duration::ZERO }
    }

    /// Reads how long the program waited for a CPU since the last call.
    pub(super) fn read(&mut self) {
        let since = self.read.elapsed();
        self.read = Instant::now();
        let waited = match &mut self.source {
            Source::Tree(leader, known) => longest_since(known, tree_waits(*leader)),
            Source::Machine(before) => {
                let now = pressure().unwrap_or(*before);
                let waited = now.saturating_sub(*before);
                *before = now;
                waited
            }
            Source::Unknown => Duration::ZERO,
        };
        let before = std::mem::replace(&mut self.own, own_wait());
        let late = match (before, self.own) {
            (Some((thread, before)), Some((now, wait))) if thread == now => wait.saturating_sub(before),
            _ => Duration::ZERO,
        };
        // Counts are those of the kernel's own clock.
        let waited = (waited + late).min(since);
        self.waited += waited;
        if let Some(watched) = self.watched {
            watched.add(waited);
        }
    }

    /// What is left of `limit`, of which `idle` does not count.
    pub(super) fn remaining(&mut self, limit: Duration, idle: Duration) -> Remaining {
        self.read();
        let elapsed = self.started.elapsed().saturating_sub(idle);
        let left = (limit + self.waited).saturating_sub(elapsed);
        if left.is_zero() {
            return Remaining::Over;
        }
        let most = (limit * MOST).saturating_sub(elapsed);
        if most.is_zero() {
            return Remaining::MachineTooSlow;
        }
        let is_starting = self.started.elapsed().saturating_sub(self.waited) < FIRST;
        let interval = if is_starting { FIRST_INTERVAL } else { INTERVAL };
        Remaining::Left(left.min(most).min(interval))
    }

    /// How long the program has waited for a CPU; `None` if that is not known.
    pub(super) fn waited(&self) -> Option<Duration> {
        (!matches!(self.source, Source::Unknown)).then_some(self.waited)
    }
}

/// The longest wait of a thread since the last call. What is known of a thread that is not seen stays: it may be seen again, and its
/// whole wait would count twice. If a count is less than that, the thread of this id is another one.
fn longest_since(known: &mut HashMap<i32, Duration>, now: HashMap<i32, Duration>) -> Duration {
    let since = now.into_iter().map(|(thread, wait)| {
        let before = known.insert(thread, wait).unwrap_or_default();
        wait.checked_sub(before).unwrap_or(wait)
    });
    since.max().unwrap_or_default()
}

/// How long each thread of the processes below `leader` has waited for a CPU so far.
fn tree_waits(leader: i32) -> HashMap<i32, Duration> {
    let (mut waits, mut open) = (HashMap::new(), vec![leader]);
    while let Some(process) = open.pop() {
        for (thread, wait, children) in waits_of(process).into_iter().flatten() {
            // A process may move to another parent meanwhile.
            if waits.insert(thread, wait).is_none() {
                open.extend(children);
            }
        }
    }
    waits
}

/// The threads of a process: id, wait, and the processes that it started. `None` if the system does not say.
fn waits_of(process: i32) -> Option<Vec<(i32, Duration, Vec<i32>)>> {
    let tasks = Path::new("/proc").join(process.to_string()).join("task");
    let mut threads = Vec::new();
    // A thread that ends meanwhile has no files.
    for task in look::entries(&tasks).ok()? {
        let Some(thread) = task.file_name().to_str().and_then(|name| name.parse().ok()) else { continue };
        let Ok(children) = fs::read_to_string(task.path().join("children")) else { continue };
        let wait = fs::read_to_string(task.path().join("schedstat"));
        // Nanoseconds on a CPU, nanoseconds of waiting for one, and how often it ran.
        let Some(wait) = wait.ok().and_then(|line| line.split(' ').nth(1)?.parse().ok()) else { continue };
        let children = children.split_whitespace().filter_map(|child| child.parse().ok()).collect();
        threads.push((thread, Duration::from_nanos(wait), children));
    }
    (!threads.is_empty()).then_some(threads)
}

/// This thread, and how long it has waited for a CPU so far.
fn own_wait() -> Option<(i32, Duration)> {
    let thread = fs::read_link("/proc/thread-self").ok()?.file_name()?.to_str()?.parse().ok()?;
    let line = fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    Some((thread, Duration::from_nanos(line.split(' ').nth(1)?.parse().ok()?)))
}

/// How long some thread of the machine has waited for a CPU so far; `None` if the system does not say.
fn pressure() -> Option<Duration> {
    let text = fs::read_to_string("/proc/pressure/cpu").ok()?;
    let total = text.lines().find(|line| line.starts_with("some "))?.rsplit_once("total=")?.1;
    total.trim().parse().ok().map(Duration::from_micros)
}

// Why the runner ends a program that would go on.

/// Why the runner ends a program that runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RunnerEnd {
    /// Its time is over, or it does not exit.
    Timeout,
    /// It waited for a CPU for so long that its time says nothing.
    MachineTooSlow,
    /// Nothing that follows could change the verdict.
    Settled,
    /// Its output is complete for the listener, or cannot be stored.
    Output,
    /// It wrote more than is stored.
    TooMuchOutput,
    /// The user ended the run.
    Interrupt,
}

impl RunnerEnd {
    /// Why a program that was ended so was not measured.
    pub(super) fn trouble(self, limit: Duration) -> Option<Trouble> {
        let (kind, why) = match self {
            Self::Timeout | Self::Settled | Self::Output => return None,
            Self::MachineTooSlow => (
                TroubleKind::MachineTooSlow,
                format!(
                    "{} s are not over after three times as long, since it waited for a CPU; run fewer trials at once \
                     (`--jobs`), or nothing else meanwhile",
                    limit.as_secs_f64()
                ),
            ),
            Self::TooMuchOutput => (
                TroubleKind::Unobservable,
                format!("it wrote more than {} to standard output, and was ended", bounded::bytes(MAX_STDOUT)),
            ),
            Self::Interrupt => (TroubleKind::Interrupted, "ended by Ctrl-C or SIGTERM".to_owned()),
        };
        Some(Trouble::new(kind, why))
    }
}

/// Returns when `notify` is notified; never if there is none.
pub(super) async fn notified(notify: Option<&Notify>) {
    match notify {
        Some(notify) => notify.notified().await,
        None => std::future::pending().await,
    }
}

/// Returns when the program has had this time, besides what it waited for its listener or for a CPU, or when it never will.
pub(super) async fn time_is_up(
    state: watch::Receiver<ListenerState>,
    clock: &mut ProgramClock<'_>,
    timeout: Duration,
) -> RunnerEnd {
    loop {
        // In a statement of its own: the state is not borrowed while this waits.
        let waited = state.borrow().waited;
        match clock.remaining(timeout, waited) {
            Remaining::Left(time) => tokio::time::sleep(time).await,
            Remaining::Over => return RunnerEnd::Timeout,
            Remaining::MachineTooSlow => return RunnerEnd::MachineTooSlow,
        }
    }
}

/// Returns when the program has had this time to exit since it has no more output.
pub(super) async fn overdue(mut state: watch::Receiver<ListenerState>, patience: Option<Duration>) {
    match patience {
        Some(patience) if state.wait_for(|state| state.over).await.is_ok() => tokio::time::sleep(patience).await,
        _ => std::future::pending().await,
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::process::{Command, Stdio};

    use super::*;

    fn clock(source: Source, waited: Duration, started: Duration) -> ProgramClock<'static> {
        let now = Instant::now();
        let started = now.checked_sub(started).unwrap_or(now);
        ProgramClock { watched: None, started, read: now, source, own: None, waited }
    }

    #[test]
    fn time_that_a_program_waited_for_a_cpu_is_not_of_its_limit() {
        let limit = Duration::from_secs(10);
        let of = |waited: u64, elapsed: u64| {
            let waited = Duration::from_secs(waited);
            clock(Source::Unknown, waited, Duration::from_secs(elapsed)).remaining(limit, Duration::ZERO)
        };
        assert!(matches!(of(0, 9), Remaining::Left(left) if left <= INTERVAL));
        assert_eq!(of(0, 10), Remaining::Over);
        assert!(matches!(of(5, 14), Remaining::Left(_)));
        assert_eq!(of(5, 15), Remaining::Over);
        assert!(matches!(of(25, 29), Remaining::Left(_)));
        assert_eq!(of(25, 30), Remaining::MachineTooSlow);
    }

    #[test]
    fn the_wait_of_a_thread_counts_once_whether_it_is_seen_each_time_and_whoever_had_its_id() {
        let seconds = Duration::from_secs;
        let mut known = HashMap::new();
        let mut since = |waits: &[(i32, u64)]| {
            longest_since(&mut known, waits.iter().map(|(thread, wait)| (*thread, seconds(*wait))).collect()).as_secs()
        };
        assert_eq!(since(&[(1, 5), (2, 3)]), 5);
        assert_eq!(since(&[(1, 6)]), 1, "the other one has ended, or was not seen");
        assert_eq!(since(&[(1, 6), (2, 4)]), 1, "it is seen again");
        assert_eq!(since(&[(1, 2)]), 2, "another thread of this id");
        assert_eq!(since(&[]), 0);
    }

    #[test]
    fn time_in_which_a_program_waited_for_its_user_is_not_of_its_limit() {
        let mut clock = clock(Source::Unknown, Duration::ZERO, Duration::from_secs(12));
        assert!(matches!(clock.remaining(Duration::from_secs(10), Duration::from_secs(3)), Remaining::Left(_)));
    }

    #[test]
    fn the_wait_of_a_program_behind_others_is_read_from_its_whole_tree() {
        // Twice as many busy programs as there are CPUs, so that each waits for about half of the time.
        let cpus = std::thread::available_parallelism().map_or(1, usize::from);
        let busy = |_| Command::new("sh").args(["-c", "while :; do :; done"]).stdin(Stdio::null()).spawn();
        let mut others: Vec<_> = (0..2 * cpus).map(|number| busy(number).expect("a program")).collect();
        let mut program =
            Command::new("sh").args(["-c", "sh -c 'while :; do :; done' & wait"]).spawn().expect("a program");
        let mut clock = ProgramClock::new(i32::try_from(program.id()).ok(), None);
        assert!(matches!(clock.source, Source::Tree(..)), "{clock:?}");
        let is_seen = (0..400).any(|_| {
            std::thread::sleep(FIRST_INTERVAL);
            clock.read();
            clock.waited().is_some_and(|waited| waited > Duration::from_millis(100))
        });
        let below: Vec<i32> = tree_waits(i32::try_from(program.id()).expect("an id")).into_keys().collect();
        for pid in below {
            super::super::tree::send_signal(pid, nix::sys::signal::Signal::SIGKILL);
        }
        for program in others.iter_mut().chain([&mut program]) {
            let _ = program.kill();
            let _ = program.wait();
        }
        assert!(is_seen, "{clock:?}");
        assert!(clock.waited <= clock.started.elapsed());
    }

    #[test]
    fn a_program_that_is_not_below_this_one_is_measured_by_the_machine() {
        let clock = ProgramClock::new(None, None);
        assert_eq!(clock.waited().is_some(), pressure().is_some());
    }
}
