//! Typical mistakes of users, each with its answer: the problem, then what to do.

use crate::support::fixture::Fixture;

/// A repository with two skills, each with one case.
fn repository() -> Fixture {
    let fixture = Fixture::new().skill("pdf").skill("xlsx");
    let table = "id,should_trigger,prompt\nsmoke,true,Do it.\nother,false,Do something else.\n";
    fixture.prompts("pdf", table).prompts("xlsx", table)
}

/// The same with a line in evals.toml.
fn settings(line: &str) -> Fixture {
    repository().file("evals/evals.toml", line)
}

/// What is typed, the exit code, and the words of the answer.
type Mistake = (&'static [&'static str], i32, &'static [&'static str]);

const MISTAKES: [Mistake; 83] = [
    // Commands.
    (&["test"], 2, &["unrecognized subcommand 'test'", "'run'"]),
    (&["eval"], 2, &["'run'"]),
    (&["evals"], 2, &["'run'"]),
    (&["watch"], 2, &["'run --watch'"]),
    (&["replay"], 2, &["'run --replay'"]),
    (&["rerun"], 2, &["'run --stale'"]),
    (&["check"], 2, &["'lint'"]),
    (&["validate"], 2, &["'lint'"]),
    (&["diff"], 2, &["'compare'"]),
    (&["view"], 2, &["'show'"]),
    (&["new"], 2, &["'init'"]),
    (&["lnit"], 2, &["'init'", "'lint'"]),
    (&["sumary"], 2, &["'summary'"]),
    (&[], 2, &["Usage: skill-evals"]),
    // Options.
    (&["run", "--skil", "pdf"], 2, &["'--skill'"]),
    (&["run", "--repeat", "3"], 2, &["'--trials'"]),
    (&["run", "--parallel", "3"], 2, &["'--jobs'"]),
    (&["run", "--only", "smoke"], 2, &["'--case'"]),
    (&["run", "--budget", "3"], 2, &["'--max-cost-usd'"]),
    (&["run", "--stop", "settled"], 2, &["'--trial-end'"]),
    (&["run", "--dir", "."], 2, &["'--root'"]),
    (&["run", "--trials", "0"], 2, &["--trials"]),
    (&["run", "--trials", "many"], 2, &["expected 1 to 1000, `until decided`"]),
    (&["run", "--jobs", "0"], 2, &["--jobs"]),
    (&["run", "--threshold", "80"], 2, &["--threshold"]),
    (&["run", "--timeout-s", "-1"], 2, &["'-1'"]),
    (&["run", "--max-cost-usd", "0"], 2, &["above 0"]),
    (&["run", "--suite", "all"], 2, &["smoke, explicit, positive, negative"]),
    (&["run", "--judge", "--no-judge"], 2, &["cannot be used with"]),
    (&["run", "--resume"], 2, &["--resume needs --run-id"]),
    (&["run", "--replay", "--write-progress", "--run-id", "a/b"], 2, &["the run id \"a/b\""]),
    (
        &["run", "--replay", "--write-progress", "--run-id", "kept"],
        2,
        &["the run id \"kept\" is the name of a directory of gates"],
    ),
    (&["compare", "--models", "a,"], 2, &["a value is required"]),
    (&["run", "--replay", "--record"], 2, &["--record"]),
    (&["run", "--root", "nowhere"], 2, &["no skills found in", "nowhere", "--root"]),
    (&["run", "--shard", "0/4"], 2, &["invalid value '0/4' for '--shard <M/N|auto>': expected M/N, for example 2/8"]),
    (&["run", "--shard", "5/4"], 2, &["expected M/N", "M is 1 to N"]),
    (&["run", "--shard", "a/b"], 2, &["expected M/N"]),
    (&["list", "--shard", "1"], 2, &["expected M/N, for example 2/8: the second of eight shards"]),
    (&["run", "--shard", "1/4"], 2, &["shard 1/4 needs the id of the whole run: give every shard the same --run-id"]),
    (&["run", "--shard", "1/4", "--shards", "8"], 2, &["--shard 1/4 has its own number of shards: leave out --shards"]),
    (&["run", "--shards", "8"], 2, &["--shard <M/N|auto>"]),
    (&["merge", "nightly"], 2, &["--run-id <ID>"]),
    (&["merge", "nightly", "--run-id", "all"], 2, &["unknown run `nightly`"]),
    (&["run", "--partition", "1/2"], 2, &["'--shard'"]),
    (&["run", "--watch", "--record"], 2, &["--watch=live"]),
    (&["run", "--watch=always"], 2, &["replay, live"]),
    (&["run", "--watch", "--resume"], 2, &["cannot be used with"]),
    (&["join"], 2, &["'merge'"]),
    // Names.
    (
        &["run", "--mode", "claude", "--dry-run"],
        2,
        &[
            "unknown mode `claude`; did you mean `native` or `cli-native`?",
            "  Claude Code (claude-sdk), skills over MCP\n",
        ],
    ),
    (&["run", "--mode", "cli_native", "--dry-run"], 2, &["did you mean `cli-native`?"]),
    (&["run", "--mode", "Codex", "--dry-run"], 2, &["did you mean `codex`?"]),
    (&["run", "--mode", "codex-mpc", "--dry-run"], 2, &["did you mean `codex-mcp`?"]),
    (&["run", "--skill", "pfd", "--replay"], 2, &["unknown skill `pfd`; did you mean `pdf`?"]),
    (&["run", "--case", "smok", "--replay"], 2, &["unknown case `smok`; did you mean `smoke`?"]),
    (&["run", "--task", "smoke", "--replay"], 2, &["unknown task `smoke`"]),
    (
        &["run", "pdf::smkoe", "--replay"],
        2,
        &["no trial has a name that contains `pdf::smkoe`; nearest: pdf/smoke/codex"],
    ),
    (&["list", "pfd/smoke"], 2, &["no trial has a name that contains `pfd/smoke`; nearest: pdf/smoke/codex"]),
    (&["list", "--skill", "pfd"], 2, &["did you mean `pdf`?"]),
    (&["lint", "pfd"], 2, &["unknown skill `pfd`; did you mean `pdf`?"]),
    (&["lint", "skills/pfd"], 2, &["unknown skill `skills/pfd`; did you mean `pdf`?"]),
    (&["compare", "--with", "claude", "--without"], 2, &["unknown mode `claude`"]),
    (&["status", "nightly"], 2, &["unknown run `nightly`", "no runs found"]),
    (&["summary", "nightly"], 2, &["unknown run `nightly`"]),
    (&["show", "smoke", "--run", "nightly"], 2, &["unknown run `nightly`"]),
    (&["grade", "nightly"], 2, &["unknown run `nightly`"]),
    (&["report", "nightly"], 2, &["unknown run `nightly`"]),
    (&["record", "nightly"], 2, &["unknown run `nightly`"]),
    (&["stop", "nightly"], 2, &["unknown run `nightly`"]),
    (&["stop", "artifacts/skill-evals/nightly"], 2, &["the run id \"artifacts/skill-evals/nightly\""]),
    (&["generate", "--skill", "pfd"], 2, &["unknown skill `pfd`; did you mean `pdf`?"]),
    (&["completions", "csh"], 2, &["bash, elvish, fish, powershell, zsh"]),
    // What is left out.
    (&["summary"], 2, &["no runs found"]),
    (&["show"], 2, &["no runs found"]),
    (&["report"], 2, &["no runs found"]),
    (&["stop"], 2, &["no run is running"]),
    (&["init"], 2, &["not a git repository and no Cargo.toml; init would write:", "or write here with --yes"]),
    (&["compare"], 2, &["name what to compare"]),
    // What is meant is done.
    (&["lint", "skills/pdf"], 0, &["1 skill, 2 cases: no problems"]),
    (&["lint", "skills/pdf/SKILL.md", "--check-evals"], 0, &["1 skill, 2 cases: no problems"]),
    (&["list", "pdf"], 0, &["pdf/smoke/codex"]),
    (&["list", "--case", "pdf/smoke/codex"], 0, &["pdf/smoke/codex\tactivate"]),
    (&["list", "pdf/smoke/codex"], 0, &["pdf/smoke/codex\tactivate"]),
];

#[test]
fn sixty_mistakes_are_answered_with_what_to_do() {
    let fixture = repository();
    let mut wrong = Vec::new();
    for (args, code, words) in MISTAKES {
        let ran = fixture.run(args);
        let text = format!("{}{}", ran.stdout, ran.stderr);
        if ran.code != code || !words.iter().all(|word| text.contains(word)) {
            wrong.push(format!("skill-evals {}: {} {text}expected {words:?}\n", args.join(" "), ran.code));
        }
    }
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), MISTAKES.len(), wrong.join("\n"));
}

#[test]
fn mistakes_in_the_settings_are_answered_with_what_to_write() {
    for (line, words) in [
        ("mode = \"codex\"\n", "to choose modes, write modes = [\"codex\"]"),
        ("modes = [\"claude\"]\n", "unknown mode `claude`; did you mean `native` or `cli-native`?"),
        ("modes = \"codex\"\n", "expected a list"),
        ("trails = 3\n", "did you mean `trials`?"),
        ("isolation = \"chroot\"\n", "expected one of `bwrap`, `docker`, `agent`"),
        ("skill_roots = [\"skill\"]\n", "this skill root is not a directory; fix `skill_roots`"),
        ("jobs = \"four\"\n", "`jobs` is \"four\"; expected 1 to 1000"),
        ("[mode.codex]\nactivation = \"tool\"\n", "`codex` is a built-in mode and cannot be changed; give your own"),
        ("[mode.mine]\ndelivery = \"native\"\n", "the mode `mine` has no `agent`; add one"),
        (
            "[mode.mine]\nagent = \"chat\"\ndelivery = \"mcp\"\n",
            "skill-evals chat has no mode with the built-in server",
        ),
        ("[skills.pfd]\ntrials = 3\n", "unknown skill `pfd`"),
    ] {
        let ran = settings(line).run(&["run", "--replay"]);
        assert!(ran.code == 2 && ran.stderr.contains(words), "{line}{}{}", ran.stdout, ran.stderr);
    }
}

#[test]
fn a_skill_that_no_agent_can_load_is_refused_before_an_agent_starts() {
    let ran = repository().file("skills/pdf/SKILL.md", "No front matter.\n").run(&["run", "pdf", "--dry-run"]);
    assert_eq!(ran.code, 2, "{}{}", ran.stdout, ran.stderr);
    assert!(
        ran.stdout.contains("does not load the skill") || ran.stderr.contains("does not load the skill"),
        "{}",
        ran.stdout
    );
}

#[test]
fn a_case_that_may_be_in_a_file_that_cannot_be_read_is_unknown_and_the_file_is_shown_at_its_place() {
    let fixture = repository().file("evals/tasks/one.json", "{\"prompt\": \"a\",}\n");
    let ran = fixture.run(&["run", "--replay", "--case", "two"]);
    assert_eq!(ran.code, 2, "{}{}", ran.stdout, ran.stderr);
    for part in ["error: unknown case `two`", "error[json-syntax]", "--> evals/tasks/one.json:1:15", "\n1 error\n"] {
        assert!(ran.stderr.contains(part), "{part}: {}", ran.stderr);
    }
    let ran = fixture.run(&["list", "--case", "two", "--json"]);
    assert!(ran.stdout.contains("\"code\": \"json-syntax\""), "{}", ran.stdout);
}

#[test]
fn a_table_of_an_unknown_skill_is_found_without_looking_at_cases() {
    let ran = settings("[skills.pfd]\ntrials = 3\n").run(&["lint"]);
    assert!(ran.code == 1 && ran.stdout.contains("unknown skill `pfd`"), "{}{}", ran.stdout, ran.stderr);
    assert!(ran.stdout.contains("did you mean `pdf`?"), "{}", ran.stdout);
}

#[test]
fn a_misspelled_git_reference_is_answered_with_the_nearest_one() {
    let stub = super::compare::repository(1, super::compare::BY_SKILL);
    let ran = stub.run(&["compare", "mian"]);
    let words = "`mian` is neither a run nor a git reference; did you mean `main`?";
    assert!(ran.code == 2 && ran.stderr.contains(words), "{}{}", ran.stdout, ran.stderr);
}
