//! Kills at random moments: of the runner, of its group, and of the supervisors of its agents. After each, the run's
//! directory is read and the run is resumed. In the end nothing is lost and nothing counts twice.
//!
//! Each change has a few kills, always the same; `KILLS=200` asks for as many, at other moments each time.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::process::{Child, Command};
use std::time::Duration;

use crate::support::live::{processes_with, wait_until};
use crate::support::stub::{Stub, in_own_group, ran};
use nix::sys::signal::{Signal, kill, killpg};
use nix::unistd::Pid;
use skill_evals_evidence::trial::outcome::Verdict;
use skill_evals_results::results::run_status::{RunState, standing};
use skill_evals_results::store::{self, RunFolder};

/// What is killed.
#[derive(Clone, Copy, Debug)]
enum Kill {
    Runner,
    Group,
    /// The watchdog and the supervisors of agents; the runner a moment later.
    Helpers,
}

/// How many kills there are where nobody asks for another number.
const KILLS: usize = 20;

/// Trials of a run.
const CASES: usize = 40;

/// The longest time from a start to a kill, in milliseconds.
const LONGEST: u64 = 700;

#[test]
#[cfg(target_os = "linux")]
fn after_kills_at_random_moments_nothing_is_lost_and_nothing_counts_twice() {
    let asked = std::env::var("KILLS").ok().map(|kills| kills.parse::<usize>().expect("KILLS is a number"));
    std::thread::scope(|scope| {
        for (seed, what) in (1..).zip([Kill::Runner, Kill::Group, Kill::Helpers]) {
            let seed = if asked.is_some() { fastrand::u64(..) } else { seed };
            let times = asked.unwrap_or(KILLS).div_ceil(3);
            scope.spawn(move || Killed::new(what, seed).survives(times));
        }
    });
}

/// A run that is killed again and again.
struct Killed {
    what: Kill,
    stub: Stub,
    random: fastrand::Rng,
    /// How many runs went to their end.
    ended: usize,
    /// What passed, with how often its agent had been started by then.
    passed: BTreeMap<String, usize>,
}

impl Killed {
    fn new(what: Kill, seed: u64) -> Self {
        // Shown where the test fails.
        eprintln!("{what:?}: seed {seed}");
        let random = fastrand::Rng::with_seed(seed);
        Self { what, stub: Stub::new(CASES, "sleep 0.03"), random, ended: 0, passed: BTreeMap::new() }
    }

    fn survives(mut self, times: usize) {
        let mut kills = 0;
        while kills < times {
            let mut runner = in_own_group(&mut self.command());
            self.pause();
            let ended = runner.try_wait().expect("a state");
            if ended.is_none() {
                self.kill(&mut runner);
                kills += 1;
            }
            let scratch = self.stub.scratch().display().to_string();
            wait_until("the end of all that was started", || processes_with(&scratch).is_empty());
            match ended {
                Some(status) => {
                    assert!(status.success(), "{:?}: a run that nobody killed ends well", self.what);
                    self.check_whole();
                }
                None => self.check(),
            }
        }
        ran(&mut self.command()).exits(0);
        self.check_whole();
    }

    fn id(&self) -> String {
        format!("r{}", self.ended)
    }

    fn folder(&self) -> RunFolder {
        RunFolder::at(&self.stub.run_folder(&self.id()))
    }

    /// Starts the run, or resumes it.
    fn command(&self) -> Command {
        let mut command = self.stub.command(&["run", "--jobs", "4", "--run-id", &self.id()]);
        if self.folder().is_run().expect("an answer") {
            command.arg("--resume");
        }
        command
    }

    fn pause(&mut self) {
        std::thread::sleep(Duration::from_millis(self.random.u64(..LONGEST)));
    }

    fn kill(&mut self, runner: &mut Child) {
        let pid = Pid::from_raw(i32::try_from(runner.id()).expect("a process id"));
        match self.what {
            Kill::Runner => {}
            Kill::Group => killpg(pid, Signal::SIGKILL).expect("a signal"),
            Kill::Helpers => {
                for child in children(pid) {
                    // It may be gone by now.
                    let _ = kill(child, Signal::SIGKILL);
                }
                let moment = self.random.u64(..100);
                std::thread::sleep(Duration::from_millis(moment));
            }
        }
        let _ = kill(pid, Signal::SIGKILL);
        runner.wait().expect("an end");
    }

    /// How often the agent was started for each prompt of this run.
    fn starts(&self) -> BTreeMap<String, usize> {
        let mut times = BTreeMap::new();
        for prompt in self.stub.starts() {
            *times.entry(prompt).or_default() += 1;
        }
        times
    }

    /// The run's directory can be read. Trials that had passed still have, and were not started again.
    fn check(&mut self) {
        let folder = self.folder();
        if !folder.is_run().expect("an answer") {
            assert!(self.passed.is_empty(), "{:?}: a run is gone", self.what);
            return;
        }
        let standing = || standing(&folder).expect("a directory that can be read");
        // A process that the runner was about to start holds the lock until it becomes another program.
        wait_until("a run that nobody holds", || standing().state != RunState::Running);
        let found = standing();
        assert_eq!(found.differences.damaged_lines, 0, "{:?}", self.what);
        let (planned, left) = (found.planned.unwrap_or_default(), found.remaining.unwrap_or_default());
        assert!(planned == 0 || planned == CASES, "{:?}: {planned}", self.what);
        assert_eq!(found.done.ended() + left, planned, "{:?}", self.what);
        assert!(folder.run_record().is_ok() && folder.plan().is_ok(), "{:?}", self.what);
        let starts = self.starts();
        let mut passed = BTreeMap::new();
        for trial in folder.trials().expect("trials").iter().filter(|trial| trial.has_grade().expect("an answer")) {
            let (meta, grade) = (trial.meta().expect("facts"), trial.grade().expect("a grade"));
            if grade.verdict == Verdict::Pass {
                passed.insert(meta.case.prompt.clone(), starts[&meta.case.prompt]);
            }
        }
        for (prompt, times) in &self.passed {
            assert_eq!(passed.get(prompt), Some(times), "{:?}: {prompt} was lost, or ran again", self.what);
        }
        self.passed = passed;
    }

    /// The same of a run that went to its end: every trial is there, once. The next run begins.
    fn check_whole(&mut self) {
        self.check();
        assert_eq!(self.passed.len(), CASES, "{:?}", self.what);
        let id = self.id();
        let summary = self.stub.json(&id, "summary.json");
        assert_eq!(summary["total"]["passed"], CASES, "{:?}: {summary}", self.what);
        let passes = self.stub.progress(&id).into_iter().filter(|line| line["verdict"] == "pass");
        let cases: Vec<String> = passes.map(|line| line["case"].to_string()).collect();
        let once: BTreeSet<&String> = cases.iter().collect();
        assert_eq!((cases.len(), once.len()), (CASES, CASES), "{:?}: each trial has one line", self.what);
        assert_eq!(store::runs(self.stub.root()).expect("runs").len(), self.ended + 1, "{:?}", self.what);
        fs::remove_file(self.stub.root().join("starts")).expect("the list of starts");
        self.passed.clear();
        self.ended += 1;
    }
}

/// The processes that this one has started.
fn children(parent: Pid) -> Vec<Pid> {
    let processes = fs::read_dir("/proc").expect("/proc").flatten();
    let pids = processes.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
    let of_parent = |pid: &i32| {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        let fields = stat.rsplit_once(") ").map(|(_, rest)| rest.split(' '));
        fields.and_then(|mut fields| fields.nth(1)?.parse().ok()) == Some(parent.as_raw())
    };
    pids.filter(of_parent).map(Pid::from_raw).collect()
}
