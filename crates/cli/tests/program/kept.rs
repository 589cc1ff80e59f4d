//! What gates keep: trials that stand for trials of later bases, chosen by what they were given and never by what they did; and the
//! one comparison that gates with the same contents share.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::compare::{BY_PRESENCE, BY_SKILL, break_skill, git, repository};
use crate::gate::{ALLOWED, VERSION, edit, page, recorded};
use crate::support::fixture::Ran;
use crate::support::live::{processes_with, wait_until};
use crate::support::stub::{Stub, in_own_group, ran, signal};
use nix::sys::signal::Signal;
use skill_evals_results::store::{self, TrialFolder, kept_at};

/// The line of an answer about kept trials of the base.
fn kept_line(stdout: &str) -> Option<&str> {
    stdout.lines().find(|line| line.contains(" of the baseline w"))
}

/// The directories of kept trials: those of the base, and those of comparisons.
fn kept(stub: &Stub) -> [Vec<PathBuf>; 2] {
    ["trials", "comparisons"].map(|kind| {
        let files =
            walkdir::WalkDir::new(stub.root().join("artifacts/skill-evals/kept").join(kind)).sort_by_file_name();
        // Without those that a killed process was writing.
        let is_whole = |entry: &walkdir::DirEntry| !entry.file_name().to_string_lossy().starts_with(".new-");
        let files = files.into_iter().filter_entry(is_whole).flatten();
        let metas = files.filter(|entry| entry.file_name() == "meta.json");
        metas.filter_map(|entry| Some(entry.path().parent()?.to_path_buf())).collect()
    })
}

fn kept_counts(stub: &Stub) -> [usize; 2] {
    kept(stub).map(|folders| folders.len())
}

/// Removes what this machine has of runs but what CI caches.
fn keep_the_cache_only(stub: &Stub) {
    let artifacts = stub.root().join("artifacts/skill-evals");
    for entry in fs::read_dir(artifacts).expect("artifacts").flatten().filter(|entry| entry.file_name() != "kept") {
        let path = entry.path();
        if path.is_dir() { fs::remove_dir_all(path) } else { fs::remove_file(path) }.expect("removed");
    }
}

/// Cases of which a gate runs one pair each.
fn paired(cases: usize) -> Stub {
    let stub = recorded(cases);
    with_pairs(&stub, 2 * cases.max(6));
    stub
}

/// Has gates run pairs of all cases, so many trials.
fn with_pairs(stub: &Stub, trials: usize) {
    stub.settings(&format!("{ALLOWED}[gate]\nplan = \"standard\"\nmax_trials = {trials}\n"));
    git(stub, &["commit", "--quiet", "--all", "--message", "pairs"]);
}

/// Runs a gate, and counts the trials that it started.
fn gate(stub: &Stub, args: &[&str]) -> (Ran, usize) {
    let before = stub.starts().len();
    let ran = stub.run(&[&["gate"], args].concat());
    (ran, stub.starts().len() - before)
}

/// The same for a gate that passes.
fn passes(stub: &Stub, args: &[&str]) -> (String, usize) {
    let (ran, starts) = gate(stub, args);
    ran.exits(0);
    (ran.stdout, starts)
}

#[test]
fn trials_of_the_base_are_kept_and_the_next_gate_starts_only_those_of_the_change() {
    let stub = paired(6);
    edit(&stub, "Be brief.");
    let (first, starts) = passes(&stub, &[]);
    assert_eq!((starts, kept_counts(&stub), kept_line(&first)), (12, [6, 12], None), "{first}");
    edit(&stub, "Be exact.");
    stub.run("gate --dry-run").prints("up to 6 kept trials of the base need not run");
    let (second, starts) = passes(&stub, &[]);
    assert_eq!((starts, kept_counts(&stub)), (6, [6, 24]), "{second}");
    let line = kept_line(&second).unwrap_or_else(|| panic!("{second}"));
    assert!(line.contains("6 trials of the baseline were measured earlier, on 20"), "{line}");
    assert!(page(&stub).contains("6 trials of the baseline were measured earlier, on 20"), "{}", page(&stub));
    // The cost of a kept trial belongs to the gate that measured it.
    stub.run("runs --json").exits(0).prints("\"tokens\": 90");
}

#[test]
fn trials_of_a_candidate_that_passed_and_was_merged_are_no_base_of_the_next_change() {
    let stub = paired(6);
    edit(&stub, "Be brief.");
    assert_eq!(passes(&stub, &[]).1, 12);
    git(&stub, &["commit", "--quiet", "--all", "--message", "merged"]);
    edit(&stub, "Be kind.");
    let (third, starts) = passes(&stub, &["HEAD"]);
    assert_eq!((starts, kept_line(&third)), (12, None), "it passed, so it was merged: that would choose by results");
    // How much equal trials differ between two days is seen once a base was measured on both.
    let aa = stub.run(&["compare", "--aa", "--kept"]);
    aa.exits(2).warns("no case has kept trials of two gates");
    assert_eq!(passes(&stub, &["HEAD", "--fresh"]).1, 12);
    let aa = stub.run("compare --aa --kept");
    aa.exits(4).prints("undecided: 6/6 → 6/6 passed").prints("  baseline   kept trials of 20");
}

/// An agent that passes the cases in which it finds a word of the prompt in its own skill, and reads the neighbor in the others.
const FAILURES_READ_A_NEIGHBOR: &str = r#"
case "$*" in *"Prompt 0"*|*"Prompt 1"*|*"Prompt 2"*) answer=Fine; read= ;; *) answer=Broken; read=neighbor ;; esac
printf '%s\n' '{"type":"thread.started","thread_id":"1"}' '{"type":"turn.started"}'
if [ -n "$read" ]; then
  text=$(cat ".agents/skills/neighbor/SKILL.md" | sed ':a;N;$!ba;s/\n/\\n/g')
  printf '%s\n' '{"type":"item.completed","item":{"id":"1","type":"command_execution","command":"cat .agents/skills/neighbor/SKILL.md","aggregated_output":"'"$text"'","exit_code":0,"status":"completed"}}'
fi
printf '%s\n' '{"type":"item.completed","item":{"id":"0","type":"agent_message","text":"'$answer'."}}' '{"type":"turn.completed","usage":{"input_tokens":10,"output_tokens":5}}'
"#;

#[test]
fn whether_a_kept_trial_is_used_depends_on_what_was_offered_and_never_on_what_it_did() {
    let stub = repository(6, &format!("{VERSION}{FAILURES_READ_A_NEIGHBOR}"));
    git(&stub, &["checkout", "--quiet", "."]);
    let neighbor = |line: &str| {
        stub.write(
            "skills/neighbor/SKILL.md",
            &format!("---\nname: neighbor\ndescription: Waters plants.\n---\n{line}\n"),
        );
    };
    neighbor("One.");
    git(&stub, &["add", "--all"]);
    git(&stub, &["commit", "--quiet", "--message", "a neighbor"]);
    let args = ["--fail-on", "broke", "--plan", "standard", "--max-trials", "12"];
    edit(&stub, "Be brief.");
    let (first, starts) = passes(&stub, &args);
    assert!(starts >= 12 && kept_counts(&stub)[0] == 6, "one of the base for each case: {first}");
    // Three passed and three failed. All of them are used.
    edit(&stub, "Be exact.");
    let (second, _) = passes(&stub, &args);
    assert!(second.contains("6 trials of the baseline were measured earlier"), "{second}");
    // A harmless edit of the neighbor, merged between two harmless edits: of what had another neighbor, nothing is used, and not
    // only the trials that read it, which failed.
    git(&stub, &["stash", "--quiet"]);
    neighbor("Two.");
    git(&stub, &["commit", "--quiet", "--all", "--message", "the neighbor"]);
    git(&stub, &["stash", "pop", "--quiet"]);
    edit(&stub, "Be kind.");
    let (third, _) = passes(&stub, &args);
    assert_eq!(kept_line(&third), None, "{third}");
    edit(&stub, "Be quick.");
    let (fourth, _) = passes(&stub, &args);
    assert!(fourth.contains("6 trials of the baseline were measured earlier"), "{fourth}");
}

#[test]
fn a_gate_that_has_ended_prints_the_stored_answer_and_runs_nothing() {
    let stub = recorded(3);
    break_skill(&stub);
    let (first, starts) = gate(&stub, &[]);
    assert!(first.code == 1 && starts >= 6, "{}{}", first.stdout, first.stderr);
    let broke = |text: &str| text.lines().find(|line| line.starts_with("broke: ")).map(str::to_owned);
    assert!(broke(&first.stdout).is_some(), "{}", first.stdout);
    let words = format!("{starts} trials of the same contents have been measured and need not run again");
    stub.run("gate --dry-run").prints(&words);
    // Also on another machine that has the cache, and after a commit that changes nothing of it.
    for elsewhere in [false, true] {
        if elsewhere {
            keep_the_cache_only(&stub);
            fs::write(stub.root().join("README.md"), "No skill.\n").expect("a file");
            git(&stub, &["add", "README.md"]);
            git(&stub, &["commit", "--quiet", "--message", "a text"]);
        }
        let (again, started) = gate(&stub, &["HEAD"]);
        assert_eq!((again.code, started), (1, 0), "{}{}", again.stdout, again.stderr);
        assert_eq!(broke(&again.stdout), broke(&first.stdout), "{}", again.stdout);
        let words = " trials of both sides were measured earlier, on 20";
        again.prints(words).prints("no agent was started");
        let page = page(&stub);
        assert!(page.contains(words) && page.contains("must-include: expected "), "{page}");
        assert!(stub.root().join("artifacts/skill-evals/gate/report.html").is_file());
    }
    // Until somebody asks for another measurement, which says so from then on.
    let (fresh, started) = gate(&stub, &["HEAD", "--fresh"]);
    assert!(fresh.code == 1 && started >= 6, "{}{}", fresh.stdout, fresh.stderr);
    let (later, started) = gate(&stub, &["HEAD"]);
    assert_eq!((later.code, started), (1, 0), "{}{}", later.stdout, later.stderr);
    for said in [&fresh.stdout, &later.stdout] {
        assert!(said.contains("this is measurement 2 of the same contents"), "{said}");
    }
    // Other checks, another limit of age, or other skills are another question.
    let (old, started) = gate(&stub, &["HEAD", "--max-age-days", "0"]);
    assert!(started >= 6 && old.stdout.contains("measurement 3 of"), "{}{}", old.stdout, old.stderr);
    edit(&stub, "Be brief.");
    assert!(gate(&stub, &["HEAD"]).1 > 0);
}

#[test]
fn the_quick_plan_keeps_its_looks_and_asks_the_base_only_of_what_failed() {
    let stub = recorded(6);
    edit(&stub, "Be brief.");
    // The candidate fails one case once, in its look.
    let once =
        r#"[ "$prompt" != "Prompt 2" ] || [ -e "$folder/looked" ] || { touch "$folder/looked"; answer=Broken; }"#;
    stub.body(&format!("{VERSION}{}", BY_SKILL.replacen("\nprintf", &format!("\n{once}\nprintf"), 1)));
    let (first, starts) = passes(&stub, &["--jobs", "1"]);
    assert_eq!((starts, kept_counts(&stub)), (8, [1, 8]), "{first}");
    let words = "no harm seen: 6 cases with one trial each of the candidate, of which 1 failed; pairs of 1 case: 1/1 → 1/1 \
                 passed, after 8 of at most 400 trials\n";
    assert!(first.contains(words), "{first}");
    // The stored answer is the same.
    keep_the_cache_only(&stub);
    let (again, starts) = passes(&stub, &[]);
    assert!(starts == 0 && again.contains(words), "{starts} {again}");
}

#[test]
fn earlier_trials_choose_from_how_many_failed_looks_on_all_cases_get_pairs_and_that_stays() {
    let stub = recorded(6);
    // The candidate fails two cases once, in their looks.
    let once = r#"case "$prompt" in "Prompt 2"|"Prompt 4") grep -q "Be brief" "$skill" && mkdir "$folder/$prompt" 2>/dev/null && answer=Broken ;; esac"#;
    stub.body(&format!("{VERSION}{}", BY_SKILL.replacen("\nprintf", &format!("\n{once}\nprintf"), 1)));
    stub.run("run --keep --trials 3").exits(0);
    edit(&stub, "Be brief.");
    let words = "  by earlier trials, all cases get pairs from 2 failed looks on, and not from 3\n";
    let (first, starts) = passes(&stub, &["--jobs", "1"]);
    assert!(first.contains(words) && first.contains("of which 2 failed, so that all get pairs; "), "{first}");
    assert!(starts > 12, "{starts} {first}");
    // What is known later changes nothing of a comparison that has begun.
    keep_the_cache_only(&stub);
    fs::remove_dir_all(stub.root().join("artifacts/skill-evals/kept/trials")).expect("removed");
    let (again, starts) = passes(&stub, &[]);
    assert!(starts == 0 && again.contains(words) && again.contains("so that all get pairs"), "{starts} {again}");
}

#[test]
fn a_gate_that_was_killed_or_stopped_goes_on_with_every_stored_trial_of_both_sides() {
    for (how, elsewhere) in [(Signal::SIGKILL, true), (Signal::SIGTERM, false), (Signal::SIGINT, true)] {
        let stub = paired(6);
        stub.body(&format!("{VERSION}sleep 0.1\n{BY_SKILL}"));
        edit(&stub, "Be brief.");
        let before = stub.starts().len();
        let mut killed = in_own_group(&mut stub.command(&["gate", "--jobs", "2"]));
        wait_until("some kept trials", || kept_counts(&stub)[1] >= 4);
        signal(&killed, how);
        killed.wait().expect("an end");
        let stored = kept_counts(&stub)[1];
        let started = stub.starts().len() - before;
        assert!((4..12).contains(&stored), "{how}: {stored}");
        if elsewhere {
            keep_the_cache_only(&stub);
        }
        let (said, started_then) = passes(&stub, &["--jobs", "2"]);
        assert_eq!(started_then, 12 - stored, "{how}: {started} had started, {stored} were stored: {said}");
        assert!(said.contains(&format!("{stored} trials of both sides were measured earlier")), "{how}: {said}");
        assert!(said.contains("no harm seen: 6/6 → 6/6 passed, after 12 of"), "{how}: {said}");
        assert_eq!(passes(&stub, &[]).1, 0, "{how}");
    }
}

/// Gates of one contents are killed at random moments, until one ends. `KILLS=100` asks for as many kills, at other moments each time.
#[test]
fn after_kills_at_random_moments_a_gate_pays_twice_for_what_was_in_flight_at_most() {
    const CASES: usize = 20;
    const JOBS: usize = 4;
    let asked = std::env::var("KILLS").ok().map(|kills| kills.parse::<usize>().expect("KILLS is a number"));
    let seed = if asked.is_some() { fastrand::u64(..) } else { 1 };
    eprintln!("seed {seed}");
    let mut random = fastrand::Rng::with_seed(seed);
    let stub = paired(CASES);
    stub.body(&format!("{VERSION}sleep 0.1\n{BY_SKILL}"));
    let (mut kills, mut contents) = (0, 0);
    while kills < asked.unwrap_or(6) {
        contents += 1;
        edit(&stub, &format!("Edit {contents}."));
        let before = stub.starts().len();
        let (mut killed_here, mut stored) = (0, 0);
        loop {
            let mut running = in_own_group(&mut stub.command(&["gate", "--jobs", &JOBS.to_string()]));
            std::thread::sleep(Duration::from_millis(random.u64(200..2500)));
            if let Some(status) = running.try_wait().expect("a state") {
                assert!(status.success(), "a gate that nobody killed passes");
                break;
            }
            let how = [Signal::SIGKILL, Signal::SIGTERM, Signal::SIGINT][random.usize(..3)];
            signal(&running, how);
            running.wait().expect("an end");
            let scratch = stub.scratch().display().to_string();
            wait_until("the end of all that was started", || processes_with(&scratch).is_empty());
            killed_here += 1;
            let now = kept_counts(&stub)[1];
            assert!(now >= stored, "{how}: {stored} were stored, and {now} are");
            stored = now;
            if random.bool() {
                keep_the_cache_only(&stub);
            }
        }
        kills += killed_here;
        // Later contents have the base of the first.
        let trials = if contents == 1 { 2 * CASES } else { CASES };
        let starts = stub.starts().len() - before;
        assert!((trials..=trials + killed_here * JOBS).contains(&starts), "{starts} starts, {killed_here} kills");
        assert_eq!(passes(&stub, &[]).1, 0);
    }
}

#[test]
fn a_comparison_that_was_killed_is_resumed_by_the_same_command() {
    let stub = repository(6, &format!("sleep 0.1\n{BY_SKILL}"));
    let args = ["compare", "main", "--max-trials", "12", "--jobs", "2"];
    let graded = || store::runs(stub.root()).expect("runs").iter().map(|run| stub.graded(run.id())).sum::<usize>();
    let kill = |least: usize| {
        let mut killed = in_own_group(&mut stub.command(&args));
        wait_until("some trials", || graded() >= least);
        signal(&killed, Signal::SIGKILL);
        killed.wait().expect("an end");
        let scratch = stub.scratch().display().to_string();
        wait_until("the end of all that was started", || processes_with(&scratch).is_empty());
        graded()
    };
    let stored = kill(4);
    let before = stub.starts().len();
    let words = " had the same contents and did not end: resuming it";
    stub.run(&args).exits(0).warns(words);
    assert_eq!((stub.starts().len() - before, store::runs(stub.root()).expect("runs").len()), (12 - stored, 1));
    // What has ended is not measured by the same command again, and another state is another comparison.
    let again = stub.run(&args);
    assert!(again.code == 0 && !again.stderr.contains(words), "{}", again.stderr);
    let stored = graded();
    kill(stored + 2);
    edit(&stub, "Be exact.");
    let edited = stub.run(&args);
    assert!(edited.code == 0 && !edited.stderr.contains(words), "{}", edited.stderr);
    assert_eq!(store::runs(stub.root()).expect("runs").len(), 4);
}

#[test]
fn a_lift_that_was_killed_is_resumed_by_the_same_command() {
    let stub = repository(4, &format!("sleep 0.1\n{BY_PRESENCE}"));
    is_resumed(&stub, &["run", "--lift", "--mode", "codex", "--trials", "2", "--jobs", "2"]);
}

/// The command is killed in its middle. The same command then pays for what was in flight again, and for nothing else.
pub fn is_resumed(stub: &Stub, args: &[&str]) {
    let whole = stub.run(args);
    let trials = stub.starts().len();
    let mut killed = in_own_group(&mut stub.command(args));
    wait_until("some trials", || stub.starts().len() >= trials + trials / 2);
    signal(&killed, Signal::SIGKILL);
    killed.wait().expect("an end");
    let scratch = stub.scratch().display().to_string();
    wait_until("the end of all that was started", || processes_with(&scratch).is_empty());
    let resumed = stub.run(args);
    let words = " had the same contents and did not end: resuming it";
    assert!(resumed.code == whole.code && resumed.stderr.contains(words), "{}{}", whole.stderr, resumed.stderr);
    let paid = stub.starts().len() - trials;
    assert!((trials..=trials + 2).contains(&paid), "{paid} of {trials}: {}{}", whole.stdout, resumed.stdout);
}

#[test]
fn a_nightly_run_keeps_trials_for_the_base_of_gates_and_says_so_before_it_runs() {
    let stub = paired(6);
    let run = stub.run(&["run", "--keep", "--trials", "2"]);
    assert!(run.code == 0 && kept_counts(&stub) == [12, 0], "{}{}", run.stdout, run.stderr);
    edit(&stub, "Be brief.");
    let (said, starts) = passes(&stub, &[]);
    assert!(starts == 6 && said.contains("6 trials of the baseline were measured earlier"), "{said}");
    assert_eq!(kept_counts(&stub)[0], 12, "what stood for a trial of the base is not another one");
    for (args, words) in [
        (&["--trials", "until decided"][..], "--keep needs a number of trials that no result decides: add --trials 1"),
        (&["--failed", "r"], "cannot be used with"),
        (&["--record"], "cannot be used with"),
        (&["--lift"], "cannot be used with"),
    ] {
        stub.run(&[&["run", "--keep"], args].concat()).exits(2).warns(words);
    }
}

#[test]
fn a_shard_of_a_gate_goes_on_and_its_trials_are_kept() {
    let stub = recorded(6);
    with_pairs(&stub, 96);
    edit(&stub, "Be brief.");
    let shard = |number: u32| {
        let before = stub.starts().len();
        stub.run(&["gate", "--run-id", "pr", "--shard", &format!("{number}/2")]).exits(0);
        stub.starts().len() - before
    };
    assert_eq!((shard(1) + shard(2), shard(1), shard(2)), (96, 0, 0), "the same command again");
    stub.run("gate --merge pr").exits(0).prints("no harm seen: 48/48 → 48/48 passed");
    keep_the_cache_only(&stub);
    assert_eq!((shard(1), shard(2)), (0, 0), "on new machines that have the cache");
    stub.run("gate --merge pr").exits(0).prints("no harm seen: 48/48 → 48/48 passed");
    // A round of the base is one of the base in shards too.
    edit(&stub, "Be exact.");
    let (said, starts) = passes(&stub, &[]);
    assert!(starts == 90 && kept_line(&said).is_some(), "{said}");
}

/// A kept trial, with the user's key.
fn kept_trial(stub: &Stub, folder: &Path) -> TrialFolder {
    kept_at(folder, &fs::read(stub.scratch().join(".cache/skill-evals/kept.key")).expect("a key"))
}

/// Moves the start of a kept trial back by this number of days.
fn age(stub: &Stub, folder: &Path, days: i64) {
    let trial = kept_trial(stub, folder);
    let mut meta = trial.meta().expect("facts");
    let started: jiff::Timestamp = meta.started.parse().expect("a time");
    meta.started = (started - jiff::SignedDuration::from_hours(24 * days)).to_string();
    trial.write_meta(&meta).and_then(|()| trial.seal(1)).expect("a kept trial");
}

#[test]
fn kept_trials_are_used_for_days_and_removed_by_age_and_size() {
    let stub = paired(1);
    edit(&stub, "Be brief.");
    assert_eq!(passes(&stub, &[]).1, 12);
    edit(&stub, "Be exact.");
    let dry = || stub.run(&["gate", "--dry-run"]);
    assert!(dry().stdout.contains("up to 1 kept trial of the base need not run"), "{}{}", dry().stdout, dry().stderr);
    // What the agent gets besides its prompt counts too.
    let path = "evals/skills/tidy/prompts.csv";
    let table = fs::read_to_string(stub.root().join(path)).expect("the cases");
    let history = r#""[{""role"": ""user"", ""content"": ""Hi""}, {""role"": ""assistant"", ""content"": ""Ho""}]""#;
    for (column, value) in
        [("setup", "true"), ("follow_ups", "And now?"), ("history", history), ("system_prompt", "Be kind.")]
    {
        let mut lines = table.lines();
        let header = lines.next().expect("a header");
        let rows: Vec<String> = lines.map(|line| format!("{line},{value}")).collect();
        stub.write(path, &format!("{header},{column}\n{}\n", rows.join("\n")));
        let dry = dry();
        assert!(dry.code == 0 && !dry.stdout.contains("need not run"), "{column}: {}{}", dry.stdout, dry.stderr);
    }
    stub.write(path, &table);
    for folder in &kept(&stub)[0] {
        age(&stub, folder, 8);
    }
    assert!(!dry().stdout.contains("need not run"), "{}", dry().stdout);
    assert_eq!(passes(&stub, &[]).1, 12, "too old to be used");
    let [mut base, _] = kept(&stub);
    base.sort_by_key(|folder| kept_trial(&stub, folder).meta().expect("facts").started);
    assert_eq!(base.len(), 2);
    age(&stub, &base[0], 31);
    edit(&stub, "Be kind.");
    // Pair by pair: else the second may take the kept trial.
    passes(&stub, &["--jobs", "1"]);
    assert!(!base[0].exists() && kept_counts(&stub)[0] == 1, "one is too old to be kept");
    // Files of other tools count for the size.
    let [first, ..] = &kept(&stub)[0][..] else { panic!("kept trials") };
    age(&stub, first, 20);
    let large = fs::File::create(first.join(".large")).expect("a file");
    large.set_len(300 << 20).expect("a sparse file");
    passes(&stub, &["--fresh"]);
    assert!(!first.exists() && kept_counts(&stub)[0] == 1, "the oldest gave its place to a new one");
}

#[test]
fn gates_with_the_same_contents_at_the_same_time_share_their_trials() {
    let stub = paired(6);
    edit(&stub, "Be brief.");
    let before = stub.starts().len();
    let gates = ["a", "b"].map(|id| stub.start(&["gate", "--run-id", id]));
    for gate in gates {
        let output = gate.wait_with_output().expect("an end");
        assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    }
    assert_eq!((stub.starts().len() - before, kept_counts(&stub)), (12, [6, 12]), "one of them waited for the other");
    assert!(
        page(&stub).contains("## skill-evals: passed") && page(&stub).contains("to run it again: "),
        "{}",
        page(&stub)
    );
}

#[test]
fn a_kept_trial_that_is_damaged_or_graded_by_other_checks_is_measured_again() {
    let stub = paired(6);
    edit(&stub, "Be brief.");
    assert_eq!(passes(&stub, &[]).1, 12);
    let damaged = kept(&stub).concat();
    for folder in &damaged {
        fs::write(folder.join("final.txt"), "Another answer.").expect("a file");
    }
    let foreign = stub.root().join("artifacts/skill-evals/kept/trials/0123/foreign");
    fs::create_dir_all(&foreign).expect("a directory");
    fs::write(foreign.join("meta.json"), "{}").expect("a file");
    let (ran, starts) = gate(&stub, &[]);
    assert_eq!((ran.code, starts), (0, 12), "{}{}", ran.stdout, ran.stderr);
    for name in ["final.txt", "foreign/digests.json"] {
        let words = format!("{name} is missing or damaged: the kept trial is not used; remove ");
        ran.warns(&words);
    }
    for folder in damaged.iter().filter(|folder| folder.exists()) {
        fs::remove_dir_all(folder).expect("a directory");
    }
    let table = stub.root().join("evals/skills/tidy/prompts.csv");
    let text = fs::read_to_string(&table).expect("cases");
    fs::write(&table, text.replace(",Fine", ",Fin")).expect("cases");
    let (said, starts) = passes(&stub, &[]);
    assert_eq!((starts, kept_line(&said)), (12, None), "{said}");
}

#[test]
fn a_kept_trial_that_was_moved_to_another_place_is_not_used() {
    let stub = paired(6);
    edit(&stub, "Be brief.");
    passes(&stub, &[]);
    let [base, _] = kept(&stub);
    // That of one case, as the trial of the other.
    let (one, other) = (&base[0], base[1].parent().expect("a key").join("moved"));
    fs::rename(one, &other).expect("moved");
    fs::remove_dir_all(&base[1]).expect("removed");
    edit(&stub, "Be exact.");
    let (ran, starts) = gate(&stub, &[]);
    assert_eq!((ran.code, starts), (0, 8), "{}{}", ran.stdout, ran.stderr);
    ran.warns("was kept for another place: it is not used");
}

#[test]
fn kept_trials_of_another_setup_of_the_agent_are_not_used() {
    let stub = paired(1);
    let mut edits = 0;
    let mut uses_kept = |variable: Option<(&str, &str)>| {
        edits += 1;
        edit(&stub, &format!("Edit {edits}."));
        let mut command = stub.command(&["gate"]);
        command.envs(variable);
        let ran = ran(&mut command);
        ran.exits(0);
        kept_line(&ran.stdout).is_some()
    };
    assert!(!uses_kept(None) && uses_kept(None));
    // Keys are left out of the setup.
    assert!(uses_kept(Some(("OPENAI_API_KEY", "sk-another-key-0123456789abcdef"))));
    assert!(!uses_kept(Some(("OPENAI_BASE_URL", "http://localhost:1"))));
    let home = stub.scratch().join(".codex");
    fs::create_dir_all(&home).expect("a directory");
    for config in ["model_reasoning_effort = \"low\"\n", "[model_providers.x]\nname = \"x\"\nbase_url = \"http://x\"\n"]
    {
        fs::write(home.join("config.toml"), config).expect("a file");
        assert!(!uses_kept(None) && uses_kept(None), "{config}");
    }
    let secret = "[model_providers.x]\nname = \"x\"\nbase_url = \"http://x\"\nexperimental_bearer_token = \"abc\"\n";
    fs::write(home.join("config.toml"), secret).expect("a file");
    assert!(uses_kept(None));
    // Another program of the same version.
    stub.body(&format!("{VERSION}: another\n{BY_SKILL}"));
    assert!(!uses_kept(None) && uses_kept(None));
    // Nobody knows whether two unknown versions are the same.
    stub.body(BY_SKILL);
    assert!(!uses_kept(None) && !uses_kept(None));
}

#[test]
fn a_trial_that_reports_no_version_and_no_model_is_kept_and_used_like_the_others() {
    let stub = paired(6);
    // A trial of the base that fails before its agent says what it is.
    let silent = format!("case \"$*\" in *\"Prompt 3\"*) ;; *) {VERSION}\n;; esac\n{BY_SKILL}");
    stub.body(&silent);
    edit(&stub, "Be brief.");
    passes(&stub, &["--jobs", "1"]);
    assert_eq!(kept_counts(&stub)[0], 6);
    edit(&stub, "Be exact.");
    let (said, starts) = passes(&stub, &["--jobs", "1"]);
    assert!(starts == 6 && said.contains("6 trials of the baseline were measured earlier"), "{said}");
}

#[test]
fn kept_trials_that_are_not_sealed_with_the_key_of_the_user_are_measured_again() {
    let stub = paired(6);
    edit(&stub, "Be brief.");
    let gate = |key: &str| {
        let starts = stub.starts().len();
        let ran = ran(stub.command(&["gate"]).env("SKILL_EVALS_KEPT_KEY", key));
        ran.exits(0);
        (stub.starts().len() - starts, ran.stderr)
    };
    let words = "some of its trials are not sealed with the key of this user: they are measured again; remove it";
    assert_eq!(gate("").0, 12);
    assert_eq!(gate("").0, 0, "the comparison is kept");
    edit(&stub, "Be exact.");
    assert_eq!(gate("").0, 6, "those of the base are kept");
    let (started, said) = gate("of another machine");
    assert!(started == 12 && said.contains(words), "{started} {said}");
    assert_eq!(gate("of another machine").0, 0);
    let key = stub.scratch().join(".cache/skill-evals/kept.key");
    let found = fs::metadata(&key).expect("a key");
    assert_eq!((found.len(), found.permissions().mode() & 0o777), (32, 0o600));
    // What has no seal, as trials of earlier versions.
    for folder in kept(&stub).concat() {
        let path = folder.join("digests.json");
        let text = fs::read_to_string(&path).expect("digests");
        let old = text.lines().filter(|line| !line.contains("\"seal\"")).collect::<String>();
        fs::write(path, old.replace("},}", "}}").replace("\"format\": 2", "\"format\": 1")).expect("digests");
    }
    edit(&stub, "Be kind.");
    let (started, said) = gate("");
    assert!(started == 12 && said.contains("digests.json is missing or damaged: the kept trial is not used"), "{said}");
}

#[test]
fn a_gate_says_that_what_it_kept_lacks_its_pairs() {
    let stub = recorded(2);
    break_skill(&stub);
    stub.run("gate").exits(1);
    let comparisons = stub.root().join("artifacts/skill-evals/kept/comparisons");
    let files = walkdir::WalkDir::new(comparisons).into_iter().flatten();
    let pairs = files.filter(|entry| entry.file_name() == "pairs.jsonl").map(walkdir::DirEntry::into_path);
    pairs.for_each(|pairs| fs::write(pairs, "").expect("a file"));
    let starts = stub.starts().len();
    let again = stub.run(&["gate"]);
    again.exits(1);
    assert!(stub.starts().len() > starts, "nothing of them can be used");
    again.warns("lacks the pairs of kept trials beside it");
}
