//! The commands that the pages show are run, in a clone that has what they speak of. A script is the agent.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::support::machine::Machine;
use crate::support::page::{self, Command};
use crate::support::stored;
use crate::support::stub::ran;
use crate::{book, sessions};

/// What is different about a command.
enum Way {
    /// It does not run here.
    Skipped(&'static str),
    /// It runs with `--dry-run`.
    Dry(&'static str),
    /// It ends with this code.
    Ends(i32, &'static str),
    /// It runs, other than what a later row says.
    Runs,
    /// It ends with this code after this script.
    After(&'static str, i32),
}
use Way::{After, Dry, Ends, Runs, Skipped};

const CARGO: &str = "cargo builds here what runs this test; CI and the nightly script run it";
const OTHERS: &str = "it starts an agent that no script stands in for";
const SAME: &str = "two runs of the same skills show nothing";
const WALLED: &str = "needs bubblewrap and a real agent; tests/real/replay_model.rs";
const MANY: &str = "a comparison has hundreds of trials; other tests of this suite make them";

/// The commands, by how they begin, that do not just run and end with 0. The first row that fits holds.
const WAYS: &[(&str, Way)] = &[
    ("cargo ", Skipped(CARGO)),
    ("REQUIRE_AGENTS=1 cargo", Skipped(CARGO)),
    ("SKILL_EVALS_LIVE=1 ", Skipped(CARGO)),
    (".ci/", Skipped("what CI does each night")),
    ("KEEP=1 fuzz/run", Skipped("it packs what the fuzzer finds")),
    ("fuzz/run", Skipped("ten minutes, with a Rust of the night; the nightly script runs it")),
    ("packages/build", Skipped("ten minutes; the nightly script runs it, and installs what it has built")),
    ("claude plugin ", Skipped("it installs this repository as a plugin; tests/real/plugin.rs does")),
    ("docker ", Skipped("a machine need not have Docker; docs/ci.md says how the image was tried")),
    ("git tag v0.1.0", Skipped("it publishes a release")),
    ("python3 crates/cli/benches/peers", Skipped("it installs other tools and measures them for an hour")),
    ("python ", Skipped("files of another repository; tests/real/exports.rs runs them")),
    ("node ", Skipped("it needs the pinned browser; it makes the picture of a page")),
    ("script ", Skipped("it needs node; it makes the picture of a page")),
    ("man ", Skipped("a machine need not have it; `skill-evals man` runs")),
    ("skill-evals run --watch", Skipped("it ends by Ctrl-C; tests/program/watch.rs")),
    ("skill-evals run --background", Skipped("`stop` may come before its end or after; tests/program/runner.rs")),
    ("skill-evals grade artifacts/", Skipped("a run of pkbllm's own runner; tests/program/import.rs")),
    ("skill-evals tune pdf --agent", Skipped(OTHERS)),
    ("skill-evals init --path", Skipped("it needs a checkout next to the repository; tests/downstream.rs")),
    ("skill-evals tune pdf --candidate a.txt", Skipped("hundreds of trials, and no dry run; tests/program/tune.rs")),
    ("skill-evals compare --resume", Ends(2, "`ID` is a run that did not compare; tests/program/resume.rs")),
    // There are cases already.
    (
        "skill-evals generate --agent claude --skill pdf --yes",
        Ends(3, "what stands in for the agent drafts nothing; tests/program/generate_agent.rs"),
    ),
    ("skill-evals generate --agent", Ends(2, "it asks on a terminal")),
    ("skill-evals run --resume --run-id nightly", Ends(1, "a case of it did not pass")),
    ("skill-evals summary nightly", Ends(1, "a case of it did not pass")),
    ("skill-evals summary RUN-ID", Ends(1, "a case of it did not pass")),
    ("skill-evals grade RUN-ID", Ends(1, "a case of it did not pass")),
    ("skill-evals record RUN-ID", Ends(1, "a case of it did not pass, and is not recorded")),
    ("skill-evals run --mode chat", Dry(OTHERS)),
    ("skill-evals run --mode cli-native --endpoint", Dry(OTHERS)),
    ("skill-evals run --network", Dry("its agents run without a sandbox; tests/real/network.rs")),
    ("skill-evals doctor --calibrate", Skipped("it starts an agent that is not here; tests/real/calibration.rs")),
    ("skill-evals run --skill greeting --mode", Dry(OTHERS)),
    ("skill-evals run --skill greeting --agent", Dry(OTHERS)),
    ("skill-evals run --case greeting/implicit --agent", Dry(OTHERS)),
    ("skill-evals run --task", Dry(OTHERS)),
    ("skill-evals run --lift", Dry("without the skills its agent is another one; tests/program/compare.rs")),
    ("skill-evals run --trial-end", Dry("tests/program/settled.rs")),
    ("skill-evals run --judge", Dry("each trial is judged three times; tests/program/judge.rs")),
    ("skill-evals judge probe RUN", Ends(1, "the scripted judge passes everything")),
    ("skill-evals judge agreement", After("rm -r $RUNS/RUN; skill-evals run --judge --run-id RUN greeting > log", 0)),
    ("skill-evals gate --forecast", After("git fetch --quiet . main:refs/remotes/origin/main", 0)),
    ("skill-evals gate --free", After("git fetch --quiet . main:refs/remotes/origin/main", 0)),
    ("skill-evals lint --strict", Ends(1, "a skill has no cases")),
    ("SKILLS_DIR=a,b", After("cp -r skills a; cp -r skills b", 0)),
    ("skill-evals run --run-id nightly --shard", After("rm -r $RUNS/nightly", 0)),
    (
        "skill-evals merge nightly",
        After("for n in 2 3 4; do skill-evals run --run-id nightly --shard $n/4 > log; done", 0),
    ),
    (
        "skill-evals merge shards",
        After(
            "mkdir shards; rm -r $RUNS/nightly; for n in 1 2 3 4; do mv $RUNS/nightly-shard-$n-* shards/$n; done; cd shards; tar cf 3.tar 3; tar czf 4.tar.gz 4; rm -r 3 4; cd ..",
            0,
        ),
    ),
    ("skill-evals cluster slurm", After("printf '#!/bin/sh\\necho 43\\n' > ../bin/sbatch; chmod +x ../bin/sbatch", 0)),
    ("skill-evals cluster github", After("mkdir -p .github/workflows", 0)),
    ("skill-evals run --record --network web", Ends(3, WALLED)),
    ("skill-evals run --replay-model", Ends(2, WALLED)),
    ("skill-evals compare monday", Ends(4, SAME)),
    ("skill-evals compare mon,tue", Ends(4, SAME)),
    ("skill-evals compare evals/", Ends(4, SAME)),
    ("skill-evals compare --aa --kept", Ends(2, "no gate has kept trials here; tests/program/gate.rs")),
    ("skill-evals compare --table", Runs),
    (
        "skill-evals compare RUN",
        After("rm -r $RUNS/RUN; skill-evals compare main --skill pdf --plan quick --run-id RUN > log", 0),
    ),
    ("skill-evals compare", Dry(MANY)),
    (
        "skill-evals diagnose RUN",
        After("rm -r $RUNS/RUN; skill-evals diagnose greeting --run-id RUN --max-trials 12 > log", 3),
    ),
    ("skill-evals diagnose", Dry(MANY)),
    ("skill-evals tune", Dry(MANY)),
    ("skill-evals gate main --merge", Ends(3, "only one of the shards ran")),
    ("skill-evals gate main --run-id", Runs),
    ("skill-evals gate", Dry(MANY)),
    ("skill-evals grade --session FILE", Ends(1, "the second prompt activates nothing")),
];

/// The pages that `tests/program/first_hour.rs` follows from their first line.
const FOLLOWED: [&str; 2] = ["docs/tutorial.md", "docs/first-ten-minutes.md"];

/// The other pages.
fn pages() -> Vec<String> {
    let pages = book::pages().into_iter().map(|page| page.display().to_string());
    let pages = pages.filter(|page| !FOLLOWED.contains(&page.as_str()));
    pages.chain(["packages/README.md".to_owned()]).collect()
}

/// The machine on which the commands run.
fn machine() -> Machine {
    let machine = Machine::with_agents()
        .variable("CODEX_API_KEY", "k")
        .variable("ANTHROPIC_API_KEY", "k")
        .variable("RUNS", "artifacts/skill-evals");
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_skill-evals"), machine.path("bin/skill-evals")).expect("a link");
    for name in ["xdg-open", "open", "mine"] {
        machine.program(name, "#!/bin/sh\n");
    }
    machine.write("clone/skills/greeting/SKILL.md", stored::SKILL);
    let [claude, codex] = sessions::texts();
    machine.write("home/.claude/projects/DIR/ID.jsonl", &claude);
    machine.write("clone/FILE", &codex);
    machine.write("home/.codex/sessions/2026/11/24/rollout-….jsonl", &codex);
    ran(&mut machine.command("/bin/sh", "clone", &["-c", include_str!("pages/clone.sh")])).exits(0);
    machine
}

/// Runs a command as its way says, after lines that set variables. Returns what is wrong.
fn run(machine: &Machine, command: &Command, variables: &str, way: Option<&Way>) -> Option<String> {
    let (mut line, mut code) = (command.line.clone(), command.exit);
    match way {
        Some(Dry(_)) if !line.contains("--dry-run") => line += " --dry-run",
        Some(Ends(ends, _)) => code = *ends,
        Some(After(script, ends)) => (line, code) = (format!("{script}\n{line}"), *ends),
        _ => {}
    }
    let ran = ran(&mut machine.command("/bin/sh", "clone", &["-c", &format!("{variables}{line}")]));
    let said = format!("{}{}", ran.stdout, ran.stderr);
    // A command with a way of its own may say something else.
    let plain = way.is_none() || matches!(way, Some(Runs));
    let missing = command.output.iter().find(|line| plain && !said.lines().any(|said| said == *line));
    let missing = missing.map(|line| format!("does not print {line:?}"));
    let reason = match way {
        Some(Dry(reason) | Ends(_, reason)) => *reason,
        _ => "as the page says",
    };
    let wrong = (ran.code != code).then(|| format!("ends with {}, expected {code}: {reason}", ran.code)).or(missing)?;
    Some(format!("{}: {wrong}:\n{said}", command.line))
}

/// The row of [`WAYS`] that a command has.
fn row(command: &Command) -> Option<usize> {
    WAYS.iter().position(|(start, _)| command.line.starts_with(start))
}

/// The commands of the console blocks of a page, block by block.
fn blocks(page: &str) -> Vec<Vec<Command>> {
    let blocks = page::blocks(page).into_iter().filter(|block| block.info.starts_with("console"));
    blocks.map(|block| block.commands).collect()
}

/// Follows a page on a machine of its own. Returns what is wrong.
fn follow(machine: &Machine, page: &str) -> Vec<String> {
    let (mut own, mut wrong) = (None, Vec::new());
    for commands in blocks(page) {
        let mut variables = String::new();
        for command in commands {
            let way = row(&command).map(|row| &WAYS[row].1);
            let sets = command.line.split_once("='").is_some_and(|(name, _)| !name.contains(' '));
            match way {
                _ if sets || command.line.starts_with("export ") => variables = variables + &command.line + "\n",
                Some(Skipped(reason)) => println!("{page}: {}: not run: {reason}", command.line),
                _ => {
                    let machine = own.get_or_insert_with(|| machine.copy());
                    wrong.extend(run(machine, &command, &variables, way).map(|wrong| format!("{page}: {wrong}")));
                }
            }
        }
    }
    wrong
}

#[test]
fn every_command_of_every_console_block_runs_or_has_its_reason() {
    let (machine, pages, next) = (machine(), pages(), AtomicUsize::new(0));
    let work = || {
        let mut wrong = Vec::new();
        while let Some(page) = pages.get(next.fetch_add(1, Ordering::Relaxed)) {
            wrong.extend(follow(&machine, page));
        }
        wrong
    };
    let wrong: Vec<String> = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..4).map(|_| scope.spawn(work)).collect();
        workers.into_iter().flat_map(|worker| worker.join().expect("a worker")).collect()
    });
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_way_of_a_command_is_that_of_a_page() {
    let used: BTreeSet<usize> =
        pages().iter().flat_map(|page| blocks(page)).flatten().filter_map(|command| row(&command)).collect();
    let unused = WAYS.iter().enumerate().filter(|(row, _)| !used.contains(row)).map(|(_, row)| row.0);
    assert_eq!(unused.collect::<Vec<_>>(), [""; 0]);
}
