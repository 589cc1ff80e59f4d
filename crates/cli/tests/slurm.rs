//! A run over two nodes of a real Slurm, one of which is lost in the middle.

mod support;

use std::fs;
use std::io::Read;
use std::net::TcpListener;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::process::{Child, Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

use libtest_mimic::Arguments;
use support::fixture::Ran;
use support::real::{all_needing, starts};
use support::stub::{Stub, ran};

/// Slurm takes seconds for what it does, or two minutes if it is to wait.
const PATIENCE: Duration = Duration::from_secs(240);

const CASES: usize = 40;
const SHARDS: usize = 8;

fn main() -> ExitCode {
    // sbatch needs a configuration even to print its version.
    let programs = [["munged", "--version"], ["slurmctld", "-V"], ["slurmd", "-V"]];
    // A user who is not root cannot be the user of all jobs.
    let found = programs.iter().all(|[name, version]| starts(name, &[version])) && nix::unistd::getuid().is_root();
    let how = "as root, get it with `apt-get install --no-install-recommends slurm-wlm munge`";
    let tests = tests![every_trial_runs_once_although_a_node_is_lost];
    libtest_mimic::run(&Arguments::from_args(), all_needing("slurm", found, how, tests)).exit_code()
}

/// Slurm with two nodes on this machine, until dropped. Its files are in `folder`.
struct Slurm<'a> {
    folder: &'a Path,
    daemons: Vec<Child>,
}

impl<'a> Slurm<'a> {
    fn start(folder: &'a Path) -> Self {
        fs::create_dir_all(folder).expect("a directory");
        let mut key = Vec::new();
        let random = fs::File::open("/dev/urandom").expect("random bytes");
        random.take(1024).read_to_end(&mut key).expect("random bytes");
        let mut options = fs::OpenOptions::new();
        let file = options.write(true).create_new(true).mode(0o400).open(folder.join("key"));
        std::io::Write::write_all(&mut file.expect("a key"), &key).expect("a key");
        let listeners = [(); 3].map(|()| TcpListener::bind("127.0.0.1:0").expect("a port"));
        let ports = listeners.each_ref().map(|listener| listener.local_addr().expect("an address").port());
        drop(listeners);
        fs::write(folder.join("slurm.conf"), configuration(folder, ports)).expect("a configuration");
        let mut slurm = Self { folder, daemons: Vec::new() };
        let path = |name: &str| folder.join(name).display().to_string();
        slurm.daemon(
            "munged",
            &[
                "--foreground",
                "--force",
                &format!("--key-file={}", path("key")),
                &format!("--socket={}", path("munge.socket")),
                &format!("--pid-file={}", path("munge.pid")),
                &format!("--log-file={}", path("munge.log")),
                &format!("--seed-file={}", path("munge.seed")),
            ],
        );
        wait_until("munged", || folder.join("munge.socket").exists());
        slurm.daemon("slurmctld", &["-D", "-c"]);
        slurm.daemon("slurmd", &["-D", "-N", "n0"]);
        slurm.daemon("slurmd", &["-D", "-N", "n1"]);
        wait_until("two idle nodes", || slurm.output("sinfo", &["-h", "-N", "-o", "%t"]) == "idle\nidle\n");
        slurm
    }

    fn daemon(&mut self, name: &str, args: &[&str]) {
        let log = fs::File::create(self.folder.join(format!("{name}-{}.out", self.daemons.len()))).expect("a log");
        let mut command = Command::new(name);
        command.args(args).env("SLURM_CONF", self.folder.join("slurm.conf")).stdin(Stdio::null());
        let command = command.stdout(log.try_clone().expect("a log")).stderr(log);
        self.daemons.push(command.spawn().unwrap_or_else(|error| panic!("{name}: {error}")));
    }

    /// What a command of Slurm prints.
    fn output(&self, name: &str, args: &[&str]) -> String {
        let mut command = Command::new(name);
        ran(command.args(args).env("SLURM_CONF", self.folder.join("slurm.conf"))).stdout
    }

    /// The command of the repository, on whose PATH is this program.
    fn run(&self, stub: &Stub, args: &[&str]) -> Ran {
        let mut command = stub.command(args);
        let own = Path::new(command.get_program()).parent().expect("a directory").display().to_string();
        let path = format!("{own}:{}", std::env::var("PATH").expect("a PATH"));
        ran(command.env("PATH", path).env("SLURM_CONF", self.folder.join("slurm.conf")))
    }

    /// Ends slurmd of the second node with all processes of its jobs, and says that the node is down.
    fn lose_node(&mut self) {
        let mut slurmd = self.daemons.pop().expect("slurmd of n1");
        slurmd.kill().expect("a signal");
        slurmd.wait().expect("an end");
        kill_all(&processes_of_node("n1"));
        self.output("scontrol", &["update", "NodeName=n1", "State=DOWN", "Reason=lost"]);
    }
}

impl Drop for Slurm<'_> {
    fn drop(&mut self) {
        self.output("scancel", &["--user=root", "--signal=KILL"]);
        for daemon in self.daemons.iter_mut().rev() {
            let _ = daemon.kill();
            let _ = daemon.wait();
        }
        kill_all(&processes_of_node("n0"));
    }
}

fn configuration(folder: &Path, [controller, first, second]: [u16; 3]) -> String {
    let host = ran(Command::new("hostname").arg("-s")).stdout.trim().to_owned();
    let folder = folder.display();
    format!(
        "ClusterName=test\nSlurmctldHost={host}(127.0.0.1)\nSlurmctldPort={controller}\nSlurmUser=root\nSlurmdUser=root\n\
         AuthType=auth/munge\nAuthInfo=socket={folder}/munge.socket\nCredType=cred/munge\nMpiDefault=none\n\
         StateSaveLocation={folder}/state\nSlurmdSpoolDir={folder}/spool-%n\nSlurmctldPidFile={folder}/slurmctld.pid\n\
         SlurmdPidFile={folder}/slurmd-%n.pid\nSlurmctldLogFile={folder}/slurmctld.log\n\
         SlurmdLogFile={folder}/slurmd-%n.log\nSlurmdParameters=config_overrides\nProctrackType=proctrack/linuxproc\n\
         TaskPlugin=task/none\nSelectType=select/cons_tres\nSelectTypeParameters=CR_CPU\nReturnToService=2\n\
         SchedulerParameters=batch_sched_delay=1,sched_interval=1,bf_interval=1\n\
         NodeName=n0 NodeHostname={host} NodeAddr=127.0.0.1 Port={first} CPUs=4\n\
         NodeName=n1 NodeHostname={host} NodeAddr=127.0.0.1 Port={second} CPUs=4\n\
         PartitionName=main Nodes=n0,n1 Default=YES MaxTime=INFINITE State=UP\n"
    )
}

/// Every process of the jobs of a node: those whose command is in its spool directory, their parents, and what descends from these.
fn processes_of_node(node: &str) -> Vec<String> {
    let listed = ran(Command::new("ps").args(["-eo", "pid=,ppid=,args="])).stdout;
    let rows: Vec<(&str, &str, &str)> = listed
        .lines()
        .filter_map(|line| {
            let (pid, rest) = line.trim_start().split_once(' ')?;
            let (parent, args) = rest.trim_start().split_once(' ')?;
            Some((pid, parent, args))
        })
        .collect();
    let script = format!("/spool-{node}/job");
    let mut found: Vec<&str> =
        rows.iter().filter(|(.., args)| args.contains(&script)).map(|(_, parent, _)| *parent).collect();
    let mut index = 0;
    while index < found.len() {
        let parent = found[index];
        found.extend(rows.iter().filter(|row| row.1 == parent).map(|row| row.0));
        index += 1;
    }
    found.into_iter().map(str::to_owned).collect()
}

fn kill_all(pids: &[String]) {
    if !pids.is_empty() {
        // Some may have ended with others.
        ran(Command::new("kill").arg("-KILL").args(pids));
    }
}

fn wait_until(what: &str, done: impl Fn() -> bool) {
    let started = Instant::now();
    while !done() {
        assert!(started.elapsed() < PATIENCE, "waited for {what}");
        std::thread::sleep(Duration::from_millis(200));
    }
}

fn every_trial_runs_once_although_a_node_is_lost() {
    // After two trials in each shard, agents wait for the file `go`.
    let wait = "[ $(wc -l < \"$folder/starts\") -le 16 ] || { echo >> \"$folder/held\"; \
                while [ ! -e \"$folder/go\" ]; do sleep 0.1; done; }";
    let stub = Stub::new(CASES, wait);
    let folder = stub.scratch().join("slurm");
    let mut slurm = Slurm::start(&folder);
    let (shards, trials) = (SHARDS.to_string(), 2 * CASES);
    let cluster = ["cluster", "slurm", "--shards", &shards, "--run-id", "big", "--submit", "--"];
    let submitted = slurm.run(&stub, &[&cluster[..], &["--trials", "2", "--jobs", "1"]].concat());
    assert_eq!(submitted.code, 0, "{}", submitted.stderr);
    let read = |path: &str| fs::read_to_string(stub.root().join(path)).unwrap_or_default();
    wait_until("all shards to wait", || read("held").lines().count() == SHARDS);
    let on_node = slurm.output("squeue", &["-h", "-w", "n1", "-o", "%i"]);
    let lost: Vec<&str> = on_node.lines().collect();
    assert!(lost.len() >= 2, "tasks of the node that is lost: {lost:?}");
    slurm.lose_node();
    // Slurm lets them wait for two minutes, in which the node might come back.
    let waiting = || slurm.output("squeue", &["-h", "-r", "-t", "PENDING", "-o", "%i"]);
    wait_until("the lost tasks to start again", || lost.iter().all(|task| waiting().lines().any(|id| id == *task)));
    slurm.output("scontrol", &["update", &format!("JobId={}", lost.join(",")), "StartTime=now"]);
    fs::write(stub.root().join("go"), "").expect("a file");
    wait_until("the end of all jobs", || slurm.output("squeue", &["-h"]).is_empty());

    let log = submitted.stdout.trim().rsplit_once(' ').expect("the log of the merge job").1;
    let merged = read(log);
    assert!(merged.contains(&format!("{trials} trials of {SHARDS} shards\n")), "{merged}");
    let mut measured: Vec<String> = stub
        .progress("big")
        .iter()
        .map(|line| format!("{}/{}", line["case"].as_str().expect("a case"), line["trial"]))
        .collect();
    measured.sort();
    let mut all: Vec<String> =
        (0..CASES).flat_map(|case| (1..=2).map(move |trial| format!("c{case}/{trial}"))).collect();
    all.sort();
    assert_eq!(measured, all);
    // Only the trials that ran on the lost node ran again.
    assert_eq!(stub.starts().len(), trials + lost.len(), "{lost:?}");
    let again = stub.run(&["merge", "big", "--run-id", "big"]);
    assert_eq!(again.code, 0, "{}", again.stdout);
}
