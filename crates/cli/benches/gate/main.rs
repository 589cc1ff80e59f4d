//! What `gate` answers to five pull requests, and what that takes: `cargo bench -p skill-evals-cli --bench gate` prints the table of
//! docs/contributing/proofs.md. `-- --times 20` runs each gate 20 times, `--plan quick` and `--change broken-body` choose. With
//! `--stop end` no trial ends early, with `--base measured` no gate has kept trials.
//!
//! The repository, its bare remote and its pull requests are made by git; every gate is a run of the real program. Only the
//! agent is a stand-in: this program under another name, which passes cases with known rates. They depend on the skills that
//! it was offered, as a model's do.

mod agent;
mod checkout;
#[path = "../../tests/support/pull_requests.rs"]
mod pull_requests;
mod table;

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use checkout::Checkout;
use pull_requests::Change;
use table::GateRun;

/// The argument that makes this program the agent.
const AGENT: &str = "--agent";

const PLANS: [&str; 2] = ["quick", "standard"];

/// Where the base's trials come from: a first gate measures them, a second one has those that the first one kept.
const BASES: [&str; 2] = ["measured", "kept"];

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    if args.first().is_some_and(|first| first == AGENT) {
        agent::run(Path::new(&args[1]), &args[2..]);
        return ExitCode::SUCCESS;
    }
    // `cargo test --benches` and `cargo bench -- --list` only ask whether it starts.
    if args.iter().any(|arg| arg == "--list" || arg == "--test") {
        return ExitCode::SUCCESS;
    }
    let option =
        |name: &str| args.iter().position(|arg| arg == name).and_then(|at| args.get(at + 1)).map(String::as_str);
    let times: usize = option("--times").map_or(200, |times| times.parse().expect("a number of times"));
    let folder = temporary();
    let first = Checkout::first(folder.path().join("first"), option("--stop").unwrap_or("settled"));
    let remote = first.publish();
    // Agents also wait.
    let jobs = 2 * thread::available_parallelism().map_or(1, usize::from);
    let checkout = |job| Checkout::clone_of(&remote, folder.path().join(format!("checkout-{job}")));
    let checkouts: Vec<Checkout> = (0..jobs).map(checkout).collect();
    table::head();
    for plan in PLANS.into_iter().filter(|plan| option("--plan").is_none_or(|wanted| wanted == *plan)) {
        for change in
            Change::ALL.into_iter().filter(|change| option("--change").is_none_or(|name| name == change.branch()))
        {
            let bases = if option("--base") == Some("measured") { &BASES[..1] } else { &BASES };
            let runs = gates(&checkouts, change, plan, (times, bases));
            for (at, base) in bases.iter().enumerate() {
                table::row(plan, change, base, &runs.iter().map(|gates| &gates[at]).collect::<Vec<_>>());
            }
        }
    }
    ExitCode::SUCCESS
}

/// Runs the gates of a change with each of `bases` this number of times, one at a time in each checkout.
fn gates(checkouts: &[Checkout], change: Change, plan: &str, (times, bases): (usize, &[&str])) -> Vec<Vec<GateRun>> {
    let next = AtomicUsize::new(0);
    let runs = Mutex::new(Vec::new());
    thread::scope(|scope| {
        for checkout in checkouts {
            let (next, runs) = (&next, &runs);
            scope.spawn(move || {
                loop {
                    let seed = next.fetch_add(1, Ordering::Relaxed);
                    if seed >= times {
                        break;
                    }
                    let gates = checkout.gates(change, plan, bases, seed);
                    runs.lock().expect("no other panic").push(gates);
                }
            });
        }
    });
    runs.into_inner().expect("no panic")
}

/// In memory if possible: a gate writes many small files.
fn temporary() -> tempfile::TempDir {
    let folder = tempfile::Builder::new().prefix("gates-").tempdir_in("/dev/shm");
    folder.or_else(|_| tempfile::tempdir()).expect("a temporary directory")
}

/// This program, for the script that starts it as the agent.
fn program() -> PathBuf {
    std::env::current_exe().expect("a program")
}
