//! What goes wrong around a run: the provider refuses, the disk is full, the runner dies, agents leave strays, and
//! secrets come near what is kept.

use std::fs;

use crate::support::fixture::Ran;
use crate::support::live::{processes_with, wait_until};
use crate::support::stub::{ANSWER, REFUSED, Stub, in_own_group, on_a_small_disk, ran, signal};
use nix::sys::signal::Signal;

/// Refuses the first `times` starts of each case; counts them in a file.
fn refuses(times: usize) -> String {
    let count = r#"count="$folder/count-${prompt##* }"; echo x >> "$count""#;
    format!("{count}\nif [ $(wc -l < \"$count\") -le {times} ]; then {REFUSED} fi")
}

#[test]
fn a_provider_that_refuses_at_first_ends_with_every_trial_measured() {
    let stub = Stub::new(12, &refuses(2));
    let ran = stub.run(&["run", "--run-id", "r", "--jobs", "6"]);
    ran.exits(0);
    assert_eq!(stub.starts().len(), 36, "two refusals and a measurement of each");
    assert!(stub.progress("r").iter().all(|line| line["attempts"] == 3 && line["verdict"] == "pass"));
    assert_eq!(stub.json("r", "summary.json")["total"]["retries"], 24);
    let told = "refused by the provider (attempt 2 of 4): turn.failed: exceeded retry limit, last status: 429 Too Many \
                Requests; trying again in ";
    ran.warns(told);
}

#[test]
fn a_setup_that_takes_the_skills_under_test_from_the_agent_is_an_error_that_names_it() {
    let replaced = "rm .agents/skills; mkdir -p .agents/skills/tidy; echo Other. > .agents/skills/tidy/SKILL.md";
    for (setup, what) in [
        ("rm -rf .agents", "it replaced or removed `.agents/skills`, where the agent finds the skills under test"),
        (replaced, "it replaced or removed `.agents/skills`"),
        ("cd .agents/skills/tidy; chmod u+w . SKILL.md; echo Other. > SKILL.md", "it changed tidy/SKILL.md"),
    ] {
        let stub = Stub::new(0, "");
        stub.write(
            "evals/skills/tidy/prompts.csv",
            &format!("id,should_trigger,prompt,setup\nc0,false,Do it,{setup}\nc1,false,Do it,touch .agents/x\n"),
        );
        // One after another: without a sandbox, trials at the same time share the skills.
        let ran = stub.run(&["run", "--run-id", "r", "--jobs", "1"]);
        assert_eq!((ran.code, stub.starts().len()), (3, 1), "{}{}", ran.stdout, ran.stderr);
        let trials = stub.progress("r");
        let trial = |case: &str| trials.iter().find(|line| line["case"] == case).expect("a trial");
        let detail = trial("c0")["trouble"]["detail"].as_str().expect("a trouble");
        assert!(trial("c0")["verdict"] == "error" && detail.contains(setup) && detail.contains(what), "{detail}");
        assert_eq!(trial("c1")["verdict"], "pass", "others in its directory are its own business");
    }
}

#[test]
fn a_provider_that_keeps_refusing_is_an_error_and_never_a_failure() {
    let stub = Stub::new(2, REFUSED);
    stub.settings("retries = 3");
    stub.run("run --run-id r").exits(3);
    // One start and three retries of the first; the other one waits no more after that.
    assert!((5..=8).contains(&stub.starts().len()), "{:?}", stub.starts());
    let attempts = stub.progress("r").iter().filter_map(|line| line["attempts"].as_u64()).max();
    assert_eq!(attempts, Some(4));
    assert!(
        stub.progress("r").iter().all(|line| line["verdict"] == "error" && line["trouble"]["kind"] == "rate-limit")
    );
}

#[test]
fn a_trial_that_is_given_up_says_how_often_it_was_refused_and_how_long_it_waited() {
    let stub = Stub::new(1, REFUSED);
    stub.settings("retries = 2");
    let ran = stub.run(&["run", "--run-id", "r"]);
    assert_eq!((ran.code, stub.starts().len()), (3, 3), "{}", ran.stdout);
    ran.warns("(attempt 1 of 3)").warns(", waiting at most ");
    let told = "429 Too Many Requests; refused by the provider 2 times before, 0.";
    let shown = stub.run(&["show", "tidy/c0"]).stdout;
    let status = stub.run(&["status", "r"]).stdout;
    for place in [&ran.stdout, &shown, &status] {
        assert!(place.contains(told), "{place}");
    }
    // One that gets through says it too.
    let stub = Stub::new(1, &refuses(1));
    stub.run("run --run-id r").exits(0);
    let log = fs::read_to_string(stub.run_folder("r").join("work/tidy/c0/codex/1/session.md")).expect("a log");
    assert!(log.contains("- refused by the provider once before, 0.0 s waited"), "{log}");
}

/// A turn that the provider refused, asking for a wait.
fn refused_for(wait: &str) -> String {
    REFUSED.replace(
        "exceeded retry limit, last status: 429 Too Many Requests",
        &format!("Rate limit reached. Please try again in {wait}."),
    )
}

#[test]
fn a_trial_waits_as_long_as_its_provider_asks_unless_that_is_too_long() {
    let stub = Stub::new(1, &format!("if [ $(wc -l < \"$folder/starts\") = 1 ]; then {} fi", refused_for("900ms")));
    let begun = std::time::Instant::now();
    let ran = stub.run(&["run", "--run-id", "r"]);
    assert_eq!((ran.code, stub.starts().len()), (0, 2), "{}{}", ran.stdout, ran.stderr);
    assert!(begun.elapsed() >= std::time::Duration::from_millis(900), "{:?}", begun.elapsed());
    let stub = Stub::new(1, &refused_for("2h"));
    let ran = stub.run(&["run", "--run-id", "r"]);
    assert_eq!((ran.code, stub.starts().len()), (3, 1), "{}{}", ran.stdout, ran.stderr);
    assert_eq!(stub.progress("r")[0]["trouble"]["retry_after_s"], 7200);
}

/// What codex prints when a plan's limit is reached.
fn used_up(until: &str) -> String {
    let words = format!("You\u{2019}ve hit your usage limit. Upgrade to Pro (https://chatgpt.com/explore/pro) {until}");
    REFUSED.replace("exceeded retry limit, last status: 429 Too Many Requests", &words)
}

#[test]
fn a_limit_that_lasts_for_hours_ends_the_trials_of_its_login_and_says_when_and_how_to_resume() {
    let later = jiff::Zoned::now().checked_add(jiff::SignedDuration::from_hours(60)).expect("a time");
    let at = later.strftime("or try again at %b %-dth, %Y %-I:%M %p.").to_string();
    let told = later.strftime("refuses the login of codex until %Y-%m-%d %H:%M ").to_string();
    for (until, told) in [
        (at.as_str(), told.as_str()),
        ("or try again in 2 days 3 hours.", "refuses the login of codex until 2"),
        ("or try again later.", "refuses the login of codex and does not say until when"),
    ] {
        let stub = Stub::new(6, &format!("case \"$prompt\" in *0) ;; *) {} ;; esac", used_up(until)));
        let ran = stub.run(&["run", "--run-id", "r", "--jobs", "1"]);
        assert_eq!((ran.code, stub.starts().len()), (3, 2), "{until}: {}{}", ran.stdout, ran.stderr);
        let verdicts: Vec<_> = stub.progress("r").iter().map(|line| line["verdict"].clone()).collect();
        assert_eq!(verdicts, ["pass", "error"]);
        assert_eq!(stub.progress("r")[1]["trouble"]["kind"], "usage-limit");
        let resume = ", to resume: skill-evals run --resume --run-id r";
        let status = stub.run(&["status", "r"]).stdout;
        ran.warns(told).warns(resume);
        assert!(status.contains(told) && status.contains("the 4 left"), "{until}: {status}");
        ran.prints("the usage limit of its login is reached");
        stub.body("");
        let resumed = stub.run(&["run", "--resume", "--run-id", "r"]);
        assert_eq!((resumed.code, stub.starts().len()), (0, 7), "{}{}", resumed.stdout, resumed.stderr);
        assert!(!stub.run(&["status", "r"]).stdout.contains("refuses"));
    }
}

#[test]
fn a_provider_that_nobody_can_reach_ends_the_trials_of_its_login_after_two_attempts() {
    let met = "stream disconnected before completion: error sending request for url (http://127.0.0.1:9/v1/responses)";
    let unreachable = REFUSED.replace("exceeded retry limit, last status: 429 Too Many Requests", met);
    let stub = Stub::new(4, &format!("case \"$prompt\" in *0) ;; *) {unreachable} ;; esac"));
    let ran = stub.run(&["run", "--run-id", "r", "--jobs", "1"]);
    assert_eq!((ran.code, stub.starts().len()), (3, 3), "{}{}", ran.stdout, ran.stderr);
    let trouble = &stub.progress("r")[1]["trouble"];
    assert_eq!(trouble["kind"], "unreachable");
    for told in
        [&format!("the provider cannot be reached (attempt 1 of 2): turn.failed: {met}"), "; nothing more was started"]
    {
        ran.warns(told);
    }
    ran.prints("not run: its provider cannot be reached");
    stub.body("");
    let resumed = stub.run(&["run", "--resume", "--run-id", "r"]);
    assert_eq!((resumed.code, stub.starts().len()), (0, 6), "{}{}", resumed.stdout, resumed.stderr);
}

#[test]
fn a_comparison_that_meets_a_limit_of_hours_ends_with_what_it_measured() {
    let stub = Stub::new(4, &used_up("or try again in 5 hours."));
    let rows = ["c0", "c1", "c2", "c3"].map(|case| format!("{case},false,Prompt {case},Done\n")).concat();
    stub.write("evals/skills/tidy/prompts.csv", &format!("id,should_trigger,prompt,must_include\n{rows}"));
    let ran = stub.run(&["compare", "--run-id", "r", "--with", "codex", "--without", "--jobs", "2"]);
    ran.exits(3);
    assert!(stub.starts().len() <= 2, "{:?}", stub.starts());
    let told = [
        "not every trial was measured: the provider refuses the login of codex until ",
        ", to resume: skill-evals compare --resume --run-id r",
    ];
    assert!(told.iter().all(|told| ran.stderr.contains(told)), "{}", ran.stderr);
}

#[test]
fn trials_whose_agents_have_answered_are_measured_though_the_run_is_interrupted() {
    for how in [Signal::SIGINT, Signal::SIGTERM] {
        // Three have said all and take their time to exit; the fourth is still at work.
        let exits = "touch \"$folder/said-${prompt##* }\"; sleep 0.8; exit 0";
        let stub = Stub::new(4, &format!("case \"$prompt\" in *3) sleep 60;; esac\n{ANSWER}{exits}"));
        let mut runner = stub.start(&["run", "--run-id", "r", "--jobs", "4"]);
        let said = || (0..3).all(|case| stub.root().join(format!("said-{case}")).exists());
        wait_until("three answers", || said() && stub.starts().len() == 4);
        signal(&runner, how);
        assert_eq!(runner.wait().expect("an end").code(), Some(130), "{how}");
        assert_eq!((stub.graded("r"), stub.progress("r").len()), (3, 3), "{how}");
        stub.body("");
        let resumed = stub.run(&["run", "--run-id", "r", "--resume"]);
        assert_eq!((resumed.code, stub.starts().len()), (0, 5), "{}", resumed.stdout);
    }
}

#[test]
fn stop_lets_agents_that_have_answered_come_to_their_end() {
    // One has exited and left a program behind that holds its output, one is about to; the third is still at work.
    let leaves = format!(
        "{ANSWER}touch \"$folder/said-${{prompt##* }}\"; case \"$prompt\" in *1) sleep 0.8;; esac; sleep 60 & exit 0"
    );
    let stub = Stub::new(3, &format!("case \"$prompt\" in *2) sleep 60;; esac\n{leaves}"));
    stub.run("run --background --run-id r --jobs 3").exits(0);
    let said = || (0..2).all(|case| stub.root().join(format!("said-{case}")).exists());
    wait_until("two answers", || said() && stub.starts().len() == 3);
    let stopped = stub.run(&["stop", "r"]);
    assert!(stopped.code == 0 && stopped.stdout.starts_with("r stopped;"), "{}{}", stopped.stdout, stopped.stderr);
    assert_eq!((stub.graded("r"), stub.progress("r").len()), (2, 2));
    stub.body("");
    let resumed = stub.run(&["run", "--run-id", "r", "--resume"]);
    assert_eq!((resumed.code, stub.starts().len()), (0, 4), "{}", resumed.stdout);
}

#[test]
fn a_check_program_at_work_may_answer_after_ctrl_c_and_what_it_leaves_open_is_not_paid_for_again() {
    let stub = Stub::new(2, "");
    // It answers the first question while the run ends, and the second never.
    let program = stub.root().join("checks.sh");
    let script = r#"#!/bin/sh
        printf '{"own_checks":["mine"],"root":"%s"}\n' "$PWD"
        while read -r question; do
          echo x >> questions
          if [ ! -e quick ]; then mkdir first 2>/dev/null && sleep 0.5 || sleep 60; fi
          echo '{"checks":[{"id":"mine","goal":"outcome","status":"pass","expected":"it","found":"it"}]}'
        done
        "#;
    fs::write(&program, script).expect("a script");
    fs::set_permissions(&program, std::os::unix::fs::PermissionsExt::from_mode(0o755)).expect("permissions");
    let run = |more: &[&str]| {
        let mut command = stub.command(&[&["run", "--run-id", "r"], more].concat());
        command.env("SKILL_EVALS_HARNESS", &program);
        command
    };
    let mut runner = in_own_group(&mut run(&["--jobs", "2"]));
    wait_until("a question", || stub.root().join("questions").exists() && stub.starts().len() == 2);
    wait_until("both answers", || metas(&stub) == 2);
    signal(&runner, Signal::SIGINT);
    assert_eq!(runner.wait().expect("an end").code(), Some(130));
    assert_eq!((stub.graded("r"), metas(&stub)), (1, 2));
    fs::write(stub.root().join("quick"), "").expect("a file");
    let resumed = ran(&mut run(&["--resume"]));
    assert_eq!((resumed.code, stub.starts().len(), stub.graded("r")), (0, 2, 2), "{}", resumed.stdout);
}

/// How many trials of the run `r` have their facts stored.
fn metas(stub: &Stub) -> usize {
    let files = walkdir::WalkDir::new(stub.run_folder("r").join("work")).into_iter().flatten();
    files.filter(|entry| entry.file_name() == "meta.json").count()
}

#[test]
fn a_run_starts_nothing_more_once_a_result_cannot_be_stored() {
    // A file is where the third trial's results would go.
    let body = "case \"$prompt\" in *1) : > \"$folder/artifacts/skill-evals/r/work/tidy/c2\";; esac";
    let stub = Stub::new(6, body);
    let ran = stub.run(&["run", "--run-id", "r", "--jobs", "1"]);
    assert_eq!((ran.code, stub.starts().len()), (3, 2), "{}{}", ran.stdout, ran.stderr);
    ran.warns("the run stopped: tidy/c2/codex: ").warns("resume: skill-evals run --resume --run-id r");
    let status = stub.run(&["status", "r"]).stdout;
    assert!(status.starts_with("r: cut short\n  why      tidy/c2/codex: "), "{status}");
    fs::remove_file(stub.run_folder("r").join("work/tidy/c2")).expect("a file");
    stub.body("");
    let ran = stub.run(&["run", "--run-id", "r", "--resume"]);
    assert_eq!((ran.code, stub.starts().len()), (0, 6), "{}{}", ran.stdout, ran.stderr);
    assert!(stub.run(&["status", "r"]).stdout.starts_with("r: finished\n"));
}

#[test]
#[cfg(target_os = "linux")]
fn a_full_disk_stops_the_run_before_more_is_paid_and_what_was_stored_stays() {
    let stub = Stub::new(12, "head -c 60000 /dev/zero | tr '\\0' 'x' >&2");
    let script = r#"fill; "$0" run --run-id r --jobs 2 > out 2> err; echo $? > code; cp starts starts-1
        "$0" status r > status
        "$0" run -v --run-id r --resume --jobs 1 > out-2 2> err-2; echo $? > code-2; cp starts starts-2
        rm artifacts/full; "$0" run -v --run-id r --resume > out-3; echo $? > code-3"#;
    if !on_a_small_disk(&stub.command(&[]), script) {
        return;
    }
    let text = |name: &str| fs::read_to_string(stub.root().join(name)).expect("a file");
    let lines = |name: &str| text(name).lines().count();
    assert_eq!(text("code"), "3\n", "{}{}", text("out"), text("err"));
    assert!((2..=7).contains(&lines("starts-1")), "{} starts\n{}{}", lines("starts-1"), text("out"), text("err"));
    assert!(text("err").contains("the run stopped: ") && text("err").contains("No space left"), "{}", text("err"));
    assert!(text("status").starts_with("r: cut short\n  why      tidy/"), "{}", text("status"));
    assert!(text("out").contains("an earlier result of the run could not be stored"), "{}", text("out"));
    // On a disk that is still full it starts what fits, and no more than one that does not.
    let kept = |name: &str| text(name).matches("(kept)").count();
    let fitted = kept("out-3") - kept("out-2");
    assert!(lines("starts-2") - lines("starts-1") <= fitted + 1, "{}", text("out-2"));
    assert_eq!((text("code-2"), text("code-3")), ("3\n".to_owned(), "0\n".to_owned()), "{}", text("out-3"));
    assert!(kept("out-3") >= 1, "{}", text("out-3"));
    assert_eq!(lines("starts") - lines("starts-2"), 12 - kept("out-3"), "{}", text("out-3"));
}

#[test]
fn fewer_trials_run_at_once_while_a_provider_refuses() {
    // Each start notes how many others are at work, itself included.
    let body = format!(
        "mkdir \"$folder/at-work-$$\"; ls -d \"$folder\"/at-work-* | wc -l >> \"$folder/most\"; sleep 0.1\n\
         rmdir \"$folder/at-work-$$\"; if [ ! -e \"$folder/open\" ]; then {REFUSED} fi"
    );
    let stub = Stub::new(8, &body);
    stub.settings("retries = 2");
    stub.run("run --jobs 8").exits(3);
    let most: Vec<usize> = fs::read_to_string(stub.root().join("most"))
        .expect("a file")
        .lines()
        .map(|line| line.trim().parse().expect("a number"))
        .collect();
    assert!(most[..8].iter().any(|most| *most > 4), "at first many run at once: {most:?}");
    assert!(most[8..].iter().all(|most| *most <= 4), "then at most half of them: {most:?}");
}

/// An agent that leaves a process in its group, one in a session of its own, and one without our mark, then does `end`.
fn strays(stub: &Stub, end: &str) -> String {
    let sleep = sleep_of(stub);
    stub.body(&format!(
        "sleep {sleep} & setsid sleep {sleep} & env -u PROCESS_TREE sleep {sleep} &\n\
         wait_for=3; while [ $(ps -eo args | grep -c '^sleep {sleep}$') -lt $wait_for ]; do sleep 0.02; done\n\
         touch \"$folder/ready\"; {end}"
    ));
    format!("sleep {sleep}")
}

/// A time to sleep that no other process sleeps.
fn sleep_of(stub: &Stub) -> String {
    let name = stub.scratch().file_name().expect("a name").to_string_lossy();
    let number: u64 = name.bytes().fold(7, |number: u64, byte| number.wrapping_mul(31).wrapping_add(u64::from(byte)));
    format!("9{:08}", number % 100_000_000)
}

fn assert_gone(stub: &Stub, sleep: &str) {
    for word in [sleep.to_owned(), stub.scratch().display().to_string()] {
        wait_until(&format!("no process with {word}: {:?}", processes_with(&word)), || {
            processes_with(&word).is_empty()
        });
    }
    let left = || fs::read_dir(stub.scratch()).expect("a directory").count();
    wait_until("nothing of the run to be left in the scratch directory", || left() == 0);
}

#[test]
fn an_agent_that_ends_leaves_no_stray() {
    let stub = Stub::new(1, "");
    let sleep = strays(&stub, "");
    stub.run("run").exits(0);
    assert_gone(&stub, &sleep);
}

#[test]
fn a_timeout_leaves_no_stray() {
    let stub = Stub::new(1, "");
    let sleep = strays(&stub, &format!("sleep {}", sleep_of(&stub)));
    let ran = stub.run(&["run", "--timeout-s", "2"]);
    assert_ne!(ran.code, 0, "{}", ran.stdout);
    assert_gone(&stub, &sleep);
}

#[test]
fn signals_to_the_runner_leave_no_stray() {
    for how in [Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP] {
        let stub = Stub::new(2, "");
        let sleep = strays(&stub, &format!("sleep {}", sleep_of(&stub)));
        let mut runner = stub.start(&["run", "--run-id", "r"]);
        wait_until("the strays", || stub.root().join("ready").exists());
        signal(&runner, how);
        assert_eq!(runner.wait().expect("an end").code(), Some(130), "{how}");
        assert_gone(&stub, &sleep);
    }
}

#[test]
fn stop_ends_a_run_and_its_agents_and_what_was_measured_stays() {
    let stub = Stub::new(2, "");
    let sleep = strays(&stub, &format!("case \"$prompt\" in *1) sleep {};; esac", sleep_of(&stub)));
    ran(&mut stub.command(&["run", "--background", "--run-id", "r", "--jobs", "1"])).exits(0);
    wait_until("the first trial", || stub.graded("r") == 1 && stub.starts().len() == 2);
    let stopped = stub.run(&["stop", "r"]);
    stopped.exits(0);
    assert!(
        stopped.stdout.starts_with("r stopped; to resume: skill-evals run --resume --run-id r"),
        "{}",
        stopped.stdout
    );
    assert_gone(&stub, &sleep);
    stub.body("");
    stub.run("run --resume --run-id r").exits(0);
    assert_eq!(stub.starts().len(), 3);
}

#[test]
#[cfg(target_os = "linux")]
fn kill_9_of_the_runner_leaves_no_stray() {
    let stub = Stub::new(3, "");
    let sleep = strays(&stub, &format!("sleep {}", sleep_of(&stub)));
    let mut runner = stub.start(&["run", "--run-id", "r"]);
    wait_until("the strays", || stub.root().join("ready").exists());
    assert!(!processes_with(&sleep).is_empty());
    runner.kill().expect("a signal");
    runner.wait().expect("an end");
    assert_gone(&stub, &sleep);
}

#[test]
fn a_run_that_ends_by_itself_leaves_no_watchdog() {
    let stub = Stub::new(1, "");
    let program = stub.root().join("skill-evals-copy");
    fs::copy(env!("CARGO_BIN_EXE_skill-evals"), &program).expect("a copy");
    let name = program.display().to_string();
    stub.body("ps -eo args > \"$folder/seen\"");
    let mut command = std::process::Command::new(&program);
    let output = command
        .arg("run")
        .current_dir(stub.root())
        .env("SKILL_EVALS_SCRATCH", stub.scratch())
        .env("SKILL_EVALS_ISOLATION", "agent")
        .env("SKILL_EVALS_CALIBRATE", "off")
        .output();
    assert!(output.expect("the program starts").status.success());
    let seen = fs::read_to_string(stub.root().join("seen")).expect("a file");
    let watchdogs = seen.lines().filter(|line| *line == name).count();
    assert_eq!(watchdogs, 1, "while an agent runs there is one, without arguments: {seen}");
    wait_until("the watchdog's end", || processes_with(&name).is_empty());
}

#[test]
fn a_disk_of_workspaces_that_is_full_is_no_failure_and_stops_the_run() {
    // The agent fills it, answers, and exits with 0.
    let stub = Stub::new(6, "head -c 3000000 /dev/zero > fill 2> /dev/null");
    let script =
        "mkdir -p \"$SKILL_EVALS_SCRATCH\"; mount -t tmpfs -o size=2m tmpfs \"$SKILL_EVALS_SCRATCH\" || exit 77
        \"$0\" run --run-id r --jobs 1 > out 2> err; echo $? > code";
    if !on_a_small_disk(&stub.command(&[]), script) {
        return;
    }
    let text = |name: &str| fs::read_to_string(stub.root().join(name)).expect("a file");
    assert_eq!((text("code").as_str(), stub.starts().len()), ("3\n", 1), "{}{}", text("out"), text("err"));
    assert!(
        text("out").contains(" 0 failed,") && text("err").contains("No space left"),
        "{}{}",
        text("out"),
        text("err")
    );
}

/// Runs the program where a shell has set `limits` for it.
fn within(limits: &str, stub: &Stub, args: &str) -> Ran {
    let plain = stub.command(&[]);
    let mut command = std::process::Command::new("sh");
    command.args(["-c", &format!("{limits}; exec \"$0\" {args}")]).arg(plain.get_program()).current_dir(stub.root());
    for (name, value) in plain.get_envs() {
        command.envs(value.map(|value| (name, value)));
    }
    ran(&mut command)
}

#[test]
fn trials_that_may_not_open_enough_files_are_not_started() {
    let stub = Stub::new(24, "");
    let refused = within("ulimit -n 256", &stub, "run --run-id r --jobs 24");
    assert_eq!((refused.code, stub.starts().len()), (2, 0), "{}{}", refused.stdout, refused.stderr);
    refused.warns("24 trials at once need 580 open files").warns("--jobs 7");
    let ran = within("ulimit -n 256", &stub, "run --run-id fewer --jobs 7");
    assert_eq!((ran.code, stub.starts().len()), (0, 24), "{}{}", ran.stdout, ran.stderr);
    // What the shell allows for now may be less than what it may allow.
    let ran = within("ulimit -S -n 256", &stub, "run --run-id raised --jobs 24");
    assert_eq!((ran.code, stub.starts().len()), (0, 48), "{}{}", ran.stdout, ran.stderr);
}

#[test]
fn a_progress_file_that_cannot_be_written_loses_no_trial() {
    let stub = Stub::new(1, "");
    // Files can be of a few KiB only, and the line that does not fit is cut short.
    let ran = within("ulimit -f 16", &stub, "run --run-id r --trials 50 --quiet");
    ran.exits(3).warns("progress.jsonl: File too large");
    assert_eq!(stub.graded("r"), 50);
    let resumed = stub.run(&["run", "--run-id", "r", "--resume", "--quiet"]);
    assert_eq!((resumed.code, stub.starts().len()), (0, 50), "{}", resumed.stderr);
    assert_eq!(stub.progress("r").len(), 50, "the progress file is whole again");
}

#[test]
fn a_limit_of_file_sizes_is_named_and_leaves_no_file_in_half() {
    let stub = Stub::new(1, "exec head -c 100000 /dev/zero > large");
    let ran = within("ulimit -f 100", &stub, "run --run-id r");
    ran.exits(3).prints("signal 25: it wrote a larger file than `ulimit -f` allows");
    let report = within("ulimit -f 8", &stub, "report r");
    report.exits(2).warns("report.html: File too large");
    let files = fs::read_dir(stub.run_folder("r")).expect("a run").flatten().map(|entry| entry.file_name());
    let begun: Vec<_> = files.filter(|name| name == "report.html" || name.to_string_lossy().starts_with('.')).collect();
    assert!(begun.is_empty(), "{begun:?}");
}

#[test]
#[ignore = "needs root, who may mount a small disk; CI runs it as root"]
fn a_full_disk_is_infrastructure_and_what_was_measured_before_stays() {
    let disk = SmallDisk::default();
    let stub = Stub::new(6, "");
    stub.run("run --run-id first --case c0").exits(0);
    // Artifacts of 300 KiB at most. Each trial from now on needs 60 of them, and 64 more while it runs.
    fs::rename(stub.root().join("artifacts"), stub.root().join("kept")).expect("a directory");
    disk.mount(&stub.root().join("artifacts"));
    stub.body("head -c 60000 /dev/zero | tr '\\0' 'x' >&2");
    let ran = stub.run(&["run", "--run-id", "r", "--jobs", "1"]);
    ran.exits(3).prints("No space left on device");
    assert!(ran.stdout.contains(" 0 failed,"), "a full disk is never a failure: {}", ran.stdout);
    let measured = stub.graded("r");
    assert!((1..6).contains(&measured), "some fit: {measured}");
    // With room again the rest runs and what fitted stands.
    let begun = stub.starts().len();
    stub.body("");
    disk.grow();
    let ran = stub.run(&["run", "-v", "--run-id", "r", "--resume"]);
    ran.exits(0);
    assert_eq!(stub.starts().len() - begun, 6 - ran.stdout.matches("(kept)").count());
    ran.prints("(kept)");
}

/// A file system in memory that fills up.
#[derive(Default)]
struct SmallDisk {
    at: std::cell::RefCell<Option<std::path::PathBuf>>,
}

impl SmallDisk {
    fn mount(&self, at: &std::path::Path) {
        fs::create_dir_all(at).expect("a directory");
        mount(&["-t", "tmpfs", "-o", "size=300k", "tmpfs"], at);
        *self.at.borrow_mut() = Some(at.to_path_buf());
    }

    fn grow(&self) {
        mount(&["-o", "remount,size=20m"], self.at.borrow().as_deref().expect("a mount"));
    }
}

fn mount(args: &[&str], at: &std::path::Path) {
    let status = std::process::Command::new("mount").args(args).arg(at).status().expect("mount starts");
    assert!(status.success(), "mount {args:?}");
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        if let Some(at) = self.at.borrow_mut().take() {
            let _ = std::process::Command::new("umount").arg("-l").arg(at).status();
        }
    }
}

#[test]
fn secrets_are_masked_in_every_file_that_is_kept() {
    let key = "sk-proj-abcdefghijklmnopqrstuvwxyz0123456789";
    let body = format!(
        r#"echo "$MY_SERVICE_KEY $PIN $OPENAI_API_KEY {key}" | tee token.txt >&2
        printf '%s\n' "{{\"type\":\"item.completed\",\"item\":{{\"id\":\"0\",\"type\":\"agent_message\",\"text\":\"$MY_SERVICE_KEY and $PIN and $OPENAI_API_KEY and {key}\"}}}}"
        printf '%s\n' '{{"type":"turn.completed","usage":{{"input_tokens":1,"output_tokens":1}}}}'; exit 7"#
    );
    let stub = Stub::new(1, &body);
    stub.settings("pass_env = [\"MY_SERVICE_KEY\", \"PIN\"]\nsecret_env = [\"PIN\"]");
    let mut command = stub.command(&["run", "--run-id", "r"]);
    command
        .env("MY_SERVICE_KEY", "hunter2-hunter2")
        .env("PIN", "1234-5678-9012")
        .env("OPENAI_API_KEY", "plain-words-as-a-key");
    let ran = ran(&mut command);
    ran.exits(3);
    let mut kept = ran.stdout + &ran.stderr;
    let mut files = Vec::new();
    for entry in walkdir::WalkDir::new(stub.run_folder("r")).into_iter().flatten() {
        if entry.file_type().is_file() {
            files.push(entry.file_name().to_string_lossy().into_owned());
            kept += &String::from_utf8_lossy(&fs::read(entry.path()).expect("a file"));
        }
    }
    for name in ["trace.jsonl", "stderr.txt", "token.txt", "grade.json", "meta.json", "progress.jsonl", "final.txt"] {
        assert!(files.iter().any(|file| file == name), "{name} is kept: {files:?}");
    }
    for secret in ["hunter2-hunter2", "1234-5678-9012", "plain-words-as-a-key", key] {
        let at = kept.find(secret).map(|at| &kept[at.saturating_sub(200)..at]);
        assert_eq!(at, None, "{secret} was kept");
    }
    assert!(kept.contains("[masked]"));
}

/// What a program prints of secrets, for `printf`, and a part of it that stays if it is not masked.
const PRINTED: [(&str, &str); 13] = [
    ("68756e746572322d68756e74657232", "746572322d68"),
    ("68:75:6E:74:65:72:32:2D:68:75:6E:74:65:72:32", "6E:74:65:72"),
    ("&#104;&#117;&#110;&#116;&#101;&#114;&#50;&#45;&#104;&#117;&#110;&#116;&#101;&#114;&#50;", "&#110;"),
    ("aHVudGVyMi1odW50ZXIyIQ==", "dW50ZX"),
    ("YUhWdWRHVnlNaTFvZFc1MFpYSXk=", "dWRHVnlN"),
    ("h\\0u\\0n\\0t\\0e\\0r\\0002\\0-\\0h\\0u\\0n\\0t\\0e\\0r\\0002\\0", "u\0n"),
    ("hunter2-\\n    hunter2", "hunter2"),
    ("aHVudGVy\\nMi1odW50\\nZXIy", "Mi1odW50"),
    ("hunter2\\033[0m-hunter2", "hunter2"),
    ("aGVhZGVyLW9mLWEtdmFyaWFibGU=", "9mLWEtdmFy"),
    ("json-of-a-\\nvariable", "variable"),
    ("argument-of-an-agent", "of-an-agent"),
    ("argument-of-a-setting", "of-a-setting"),
];

/// The text of each stored file of a run, except the script that prints the secrets: it is the repository's own.
fn stored_texts(stub: &Stub) -> Vec<(String, String)> {
    let files = walkdir::WalkDir::new(stub.run_folder("r")).into_iter().flatten();
    let files = files.filter(|entry| entry.file_type().is_file() && !entry.path().ends_with("print.sh"));
    let text = |path: &std::path::Path| String::from_utf8_lossy(&fs::read(path).expect("a file")).into_owned();
    files.map(|entry| (entry.path().display().to_string(), text(entry.path()))).collect()
}

#[test]
fn secrets_are_masked_however_setup_commands_and_agents_print_them() {
    for setup in [true, false] {
        let script: String = PRINTED.map(|(text, _)| format!("printf '{text}\\n'\n")).concat();
        let body = if setup { "true" } else { "sh print.sh | tee printed.txt >&2; sh print.sh; exit 7" };
        let stub = Stub::new(1, body);
        let command =
            if setup { "sh print.sh | tee printed.txt >&2; echo token=hunter2-hunter2 >&2; exit 3" } else { "true" };
        fs::create_dir(stub.root().join("evals/skills/tidy/base")).expect("a directory");
        stub.write("evals/skills/tidy/base/print.sh", &script);
        let rows = format!("id,should_trigger,prompt,setup,fixture\nc0,false,Do it,{command},base\n");
        stub.write("evals/skills/tidy/prompts.csv", &rows);
        let settings = fs::read_to_string(stub.root().join("evals/evals.toml")).expect("settings");
        let args = r#"args = ["--api-key", "argument-of-an-agent", "-c", 'a.http_headers={ "X-Any" = "argument-of-a-setting" }']"#;
        stub.write("evals/evals.toml", &format!("{settings}{args}\n"));
        let mut command = stub.command(&["run", "--run-id", "r"]);
        command
            .env("MY_SERVICE_KEY", "hunter2-hunter2")
            .env("CFG", "{\"apiKey\":\"json-of-a-variable\"}")
            .env("HDR", "Authorization: Bearer header-of-a-variable");
        let ran = ran(&mut command);
        ran.exits(3);
        let mut kept = stored_texts(&stub);
        kept.push(("the terminal".to_owned(), ran.stdout + &ran.stderr));
        for arguments in [&["show", "tidy/c0/codex/1", "--run", "r"][..], &["status", "r"], &["summary", "r"]] {
            let shown = stub.run(arguments);
            kept.push((arguments.join(" "), shown.stdout + &shown.stderr));
        }
        for (place, text) in &kept {
            for (printed, part) in PRINTED {
                assert!(!text.contains(part), "{place} has {printed}: {text}");
            }
        }
        assert!(kept.iter().any(|(place, text)| place.ends_with("json") && text.contains("[masked]")));
    }
}

#[test]
fn agents_see_only_what_is_allowed_and_what_the_settings_add() {
    let stub = Stub::new(1, "env > seen.txt");
    let settings = "pass_env = [\"LET_THROUGH\"]\n[env]\nDATA = \"{workspace}/data\"\nHOME = \"/elsewhere\"\n";
    stub.settings(settings);
    let mut command = stub.command(&["run", "--run-id", "r"]);
    command.env("LET_THROUGH", "yes").env("KEPT_OUT", "no").env("SKILL_EVALS_SCRIPTED", "stub");
    ran(&mut command).exits(0);
    let seen =
        fs::read_to_string(stub.run_folder("r").join("work/tidy/c0/codex/1/workspace/seen.txt")).expect("a file");
    assert!(seen.contains("\nLET_THROUGH=yes\n") || seen.starts_with("LET_THROUGH=yes\n"), "{seen}");
    assert!(!seen.contains("KEPT_OUT") && !seen.contains("SKILL_EVALS_SCR"), "{seen}");
    let data = seen.lines().find_map(|line| line.strip_prefix("DATA=")).expect("DATA");
    assert!(data.starts_with(&stub.scratch().display().to_string()) && data.ends_with("/project/data"), "{data}");
    assert!(!seen.contains("HOME=/elsewhere"), "the home is the trial's own: {seen}");
}

#[test]
fn no_trial_sees_or_gets_anything_of_the_trial_before() {
    let body = r#"find "$PWD/.." "$HOME" "$TMPDIR" ! -name 'rollout-*' ! -name last-message.txt ! -name sessions | sort > "$folder/seen-${prompt##* }"
        echo "$PWD" >> "$folder/rooms"
        mkdir -p out/deep "$HOME/.cache" .agents/more; echo x > out/deep/file; echo x > "$HOME/.cache/file"; echo x > "$TMPDIR/file"
        echo x > ../beside; ln -s /etc "$HOME/link"; case "$prompt" in *2) chmod 755 .;; *3) rm .agents/skills;; *4) rm -rf ../tmp; ln -s /etc ../tmp;; esac"#;
    let stub = Stub::new(6, body);
    stub.run("run --jobs 1").exits(0);
    let text = |name: &str| fs::read_to_string(stub.root().join(name)).expect("a file");
    let rooms: Vec<String> = text("rooms").lines().map(str::to_owned).collect();
    assert!(rooms.iter().all(|room| *room == rooms[0]), "each has the same path: {rooms:?}");
    let seen = |case: usize| text(&format!("seen-{case}"));
    for case in 1..6 {
        assert_eq!(seen(case), seen(0));
    }
    assert!(fs::read_dir("/etc").expect("a directory").count() > 0, "what links point to is not touched");
}
