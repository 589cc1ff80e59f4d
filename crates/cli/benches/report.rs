//! How large HTML reports get and how fast they are in a browser: `cargo bench -p skill-evals-cli --bench report`; `-- 2000` measures only
//! the page of 2000 trials.
//!
//! Writes runs of many trials, has the program report them, and measures the pages in the Chromium of `target/browser`,
//! next to pages with the same sessions unpacked. The sessions are of the size that the table says once unpacked.

#[path = "../tests/support/mod.rs"]
mod support;

use std::process::{Command, ExitCode};
use std::time::Instant;

use support::stored::{self, Session};

/// Trials, and kilobytes of each.
const SIZES: [(u32, usize); 3] = [(2_000, 40), (10_000, 8), (1, 12_000)];

/// As much of a text as a trace keeps.
const TEXT: usize = 3_900;

fn main() -> ExitCode {
    // `cargo test --benches` and `cargo bench -- --list` only ask whether it starts.
    if std::env::args().any(|arg| arg == "--list" || arg == "--test") {
        return ExitCode::SUCCESS;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let mut pages = Vec::new();
    let only: Vec<u32> = std::env::args().filter_map(|arg| arg.parse().ok()).collect();
    for (trials, kilobytes) in SIZES.into_iter().filter(|(trials, _)| only.is_empty() || only.contains(trials)) {
        let fixture = stored::repository();
        stored::begin(fixture.root(), "r", "2026-11-20T09:00:00Z");
        for number in 1..=trials {
            let case = ["explicit", "implicit", "kept", "negative"][number as usize % 4];
            let names = ["greeting", case, "codex", &number.div_ceil(4).to_string()];
            stored::trial(fixture.root(), "r", names, &session(number, kilobytes));
        }
        stored::graded(&fixture, "r", &[]);
        let page = folder.path().join(format!("{trials} × {kilobytes} KB.html"));
        let began = Instant::now();
        fixture.run(&["report", "r", "--max-size", "1GB", "-o", page.to_str().expect("UTF-8")]);
        println!("{trials} trials of {kilobytes} KB are written in {:.1} s", began.elapsed().as_secs_f64());
        pages.push(page);
    }
    let script = support::repository().join("tests/browser/load.mjs");
    let measured = Command::new("node").arg(script).args(pages).status().expect("node starts");
    if measured.success() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// A session of this size: commands whose outputs look like those of tools, no two of them the same.
fn session(number: u32, kilobytes: usize) -> Session {
    let output = |seed: u32| {
        let mut random = fastrand::Rng::with_seed(u64::from(seed));
        let mut text = String::new();
        while text.len() < TEXT {
            let (line, name) = (random.u32(..9_999), random.u16(..));
            text.push_str(
                &["src/lib.rs:", &line.to_string(), ": warning: unused variable `x", &name.to_string(), "`\n"].concat(),
            );
        }
        text
    };
    // What all sessions have takes some kilobytes by itself.
    let commands = (0..kilobytes.saturating_sub(3) / 4).map(|at| {
        let seed = number * 100 + u32::try_from(at).unwrap_or_default();
        (format!("cargo check --package part-{seed}"), output(seed), 0)
    });
    let answer = if number.is_multiple_of(10) { "Good morning." } else { "AHOY, Ada! Paris it is." };
    Session { commands: commands.collect(), ..Session::new("Please welcome Ada to the team.", answer) }
}
