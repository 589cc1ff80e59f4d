//! `skill-evals tune`: training cases choose a description, held-out cases decide, and nothing is written unasked.

use std::fs;
use std::process::Stdio;

use nix::sys::signal::Signal;

use crate::support::live::wait_until;
use crate::support::stub::{ACTIVATES, Stub, signal};

/// An agent that chooses by the description that it was given: of the prompts that end in a digit, it sees `tidy` in those
/// below 3, with a better description below 9, with a worse one in none. A greedy description takes prompts of `other` too.
fn repository() -> Stub {
    let body = format!(
        r#"{ACTIVATES}
has() {{ grep -q "^description:.*$1" .agents/skills/tidy/SKILL.md; }}
digit=${{prompt#"${{prompt%?}}"}}; below=3
has better && below=9
has worse && below=0
printf '%s\n' '{{"type":"thread.started","thread_id":"1"}}' '{{"type":"turn.started"}}'
case "$prompt" in
  Other*) if has greedy; then activate tidy; else activate other; fi;;
  Task*) [ "$digit" -lt $below ] && activate tidy;;
esac"#
    );
    let stub = Stub::new(1, &body);
    let mut tasks: Vec<String> = (0..30).map(|number| format!("c{number},true,Task {number}")).collect();
    tasks.extend((0..6).map(|number| format!("n{number},false,Sing {number}")));
    tasks.push("explicit,true,Use $tidy here.".to_owned());
    let table = |rows: &[String]| format!("id,should_trigger,prompt\n{}\n", rows.join("\n"));
    stub.write("evals/skills/tidy/prompts.csv", &table(&tasks));
    stub.write("skills/tidy/SKILL.md", SKILL);
    stub.write("skills/tidy/scripts/run.sh", "echo\n");
    stub.write("skills/other/.git", "gitdir: elsewhere\n");
    stub.write(
        "skills/other/SKILL.md",
        "---\nname: other\ndescription: Does other things.\n---\n\nDo something else.\n",
    );
    let of_other: Vec<String> = (0..3).map(|number| format!("o{number},true,Other {number}")).collect();
    stub.write("evals/skills/other/prompts.csv", &table(&of_other));
    stub.write("better", "Tidies a directory; a better text.\n");
    stub.write("worse", "A worse text.\n");
    stub.write("greedy", "A better and greedy text.\n");
    let git = std::process::Command::new("git").args(["init", "--quiet"]).current_dir(stub.root()).status();
    assert!(git.expect("git starts").success());
    stub
}

const SKILL: &str =
    "---\nname: tidy\n# A comment.\ndescription: >-\n  Tidies\n  a directory.\nlicense: MIT\n---\n\nDo it.\n";

fn skill(stub: &Stub) -> String {
    fs::read_to_string(stub.root().join("skills/tidy/SKILL.md")).expect("the skill")
}

#[test]
fn a_better_description_is_shown_with_its_length_and_written_only_if_asked() {
    let stub = repository();
    let ran = stub.run(&["tune", "tidy", "--candidate", "better"]);
    ran.exits(0);
    for said in [
        "current: about 5 tokens in every session\nbetter: about 9 tokens, 4 more\n",
        " and 3 cases of neighbors decide",
        "held out, better: better: ",
        "--apply writes it into skills/tidy/SKILL.md",
    ] {
        ran.prints(said);
    }
    assert!(!ran.stdout.contains("training, "), "one candidate needs no choice: {}", ran.stdout);
    assert!(!ran.stdout.contains("neighbor loses"), "{}", ran.stdout);
    assert_eq!(skill(&stub), SKILL);
    assert!(!ran.stdout.contains("for time"), "{}", ran.stdout);
    let again = stub.run("tune tidy --candidate better --apply");
    again.exits(0).prints("wrote skills/tidy/SKILL.md");
    again
        .prints("these held-out cases decide for time 2: any false `better` among the answers comes in at most 10 %; ");
    again.prints("5 % for all takes p ≤ 0.025, this is p ≤ ");
    let old = ">-\n  Tidies\n  a directory.\n";
    assert_eq!(skill(&stub), SKILL.replace(old, "Tidies a directory; a better text.\n"));
}

#[test]
fn of_several_candidates_the_training_cases_choose_one() {
    let stub = repository();
    let ran = stub.run("tune tidy --candidate worse --candidate better --max-trials 300");
    ran.exits(0).prints("training, worse: ").prints("held out, better: better");
    // No held-out case was asked before the choice.
    let starts = stub.starts();
    let last = starts.iter().rposition(|prompt| prompt.starts_with("Task")).expect("a trial");
    assert!(last > 0);
    let of_training = |name: &str| blake3::hash(format!("tidy/{name}").as_bytes()).as_bytes()[0].is_multiple_of(2);
    let first_other = starts.iter().position(|prompt| prompt.starts_with("Other")).expect("a neighbor's trial");
    let choice = starts[..first_other].iter().filter_map(|prompt| prompt.strip_prefix("Task "));
    assert!(choice.clone().count() > 10);
    let outside: Vec<&str> = choice.filter(|number| !of_training(&format!("c{number}"))).collect();
    assert!(outside.len() <= 4, "only those that started with the first neighbor: {outside:?}");
}

#[test]
fn a_description_that_takes_from_a_neighbor_is_refused() {
    let stub = repository();
    let ran = stub.run("tune tidy --candidate greedy --apply");
    ran.exits(1).prints("a neighbor loses by it: other/o").prints("skills/tidy/SKILL.md stays as it is");
    assert_eq!(skill(&stub), SKILL);
}

#[test]
fn what_cannot_be_compared_is_told_before_a_trial() {
    let stub = repository();
    let long = "a".repeat(1_100);
    for (name, text, why) in [
        ("same", "Tidies a  directory.\n", "no candidate is left to compare"),
        ("empty", " \n", "it is empty"),
        ("long", long.as_str(), "it has 1100 characters; at most 1024"),
    ] {
        stub.write(name, text);
        stub.run(&["tune", "tidy", "--candidate", name]).exits(2).warns(why);
    }
    stub.run("tune other --candidate better").exits(2).warns("write more that do not call the skill");
    stub.run("tune tidy").exits(2).warns("<--candidate <FILE>|--agent <AGENT>>");
    let agent = stub.run(&["tune", "tidy", "--agent", "codex", "--dry-run"]);
    assert!(agent.code == 0 && agent.stdout.starts_with("tidy: asks codex once: about "), "{}", agent.stderr);
    agent.prints("\neach of 3 candidates:\n");
    let dry = stub.run(&["tune", "tidy", "--candidate", "better", "--dry-run"]);
    dry.exits(0).prints("at most 400 trials");
    let two = stub.run(&["tune", "tidy", "--candidate", "better", "--candidate", "worse", "--dry-run"]);
    two.exits(0).prints("\neach of 2 candidates:\n");
    assert_eq!(
        two.stdout.matches("at most 100 trials, 34 of them for a first look at every case").count(),
        1,
        "{}",
        two.stdout
    );
    assert!(
        two.stdout.contains("\nthen the best of these: ") && two.stdout.ends_with(", at most 200 trials\n"),
        "{}",
        two.stdout
    );
    assert!(stub.starts().is_empty());
    let objects = stub.root().join(".git/objects");
    let stored = fs::read_dir(objects).expect("the objects").flatten().map(|entry| entry.file_name());
    assert_eq!(stored.filter(|name| name.len() == 2).count(), 0, "a dry run stores nothing");
}

#[test]
fn an_agent_proposes_descriptions_and_sees_only_training_cases() {
    let stub = repository();
    drafting(&stub, &["One better text.", "One worse text."]);
    stub.run("tune tidy --agent codex").exits(0).prints(", number 1: about 4 tokens, 1 fewer\n");
    let asked = fs::read_to_string(stub.root().join("asked")).expect("what it was asked");
    for number in 0..30 {
        let name = format!("tidy/c{number}");
        let is_training = blake3::hash(name.as_bytes()).as_bytes()[0].is_multiple_of(2);
        assert_eq!(asked.contains(&format!("\nTask {number}\n")), is_training, "{name}");
    }
}

/// The agent answers with these descriptions when it is asked for them.
fn drafting(stub: &Stub, descriptions: &[&str]) {
    let answer = serde_json::json!({ "descriptions": descriptions }).to_string();
    let event = format!(
        r#"{{"type":"item.completed","item":{{"id":"0","type":"agent_message","text":{}}}}}"#,
        serde_json::to_string(&answer).expect("JSON")
    );
    fs::write(stub.root().join("answer"), event + "\n").expect("an answer");
    let script = fs::read_to_string(stub.root().join("agent.sh")).expect("the agent");
    let asked = r#"case "$prompt" in *"three other descriptions"*) echo "$prompt" > "$folder/asked"
printf '%s\n' '{"type":"thread.started","thread_id":"1"}' '{"type":"turn.started"}'; cat "$folder/answer"
printf '%s\n' '{"type":"turn.completed","usage":{"input_tokens":100,"output_tokens":50}}'; exit 0;; esac
"#;
    let (start, rest) = script.split_once("for prompt; do :; done\n").expect("the start");
    fs::write(stub.root().join("agent.sh"), format!("{start}for prompt; do :; done\n{asked}{rest}"))
        .expect("the agent");
}

#[test]
fn an_unusable_description_of_the_agent_is_left_out_and_the_others_are_compared() {
    let stub = repository();
    drafting(&stub, &["One better text.", " ", &"a".repeat(1_100)]);
    let ran = stub.run(&["tune", "tidy", "--agent", "codex"]);
    ran.exits(0).prints(", number 2: left out: it is empty\n");
    ran.prints(", number 3: left out: it has 1100 characters; at most 1024\n");
    // What is wrong with a file is said before the agent is paid.
    let asked = stub.root().join("asked");
    fs::remove_file(&asked).expect("what it was asked");
    stub.write("empty", " \n");
    let ran = stub.run(&["tune", "tidy", "--agent", "codex", "--candidate", "empty"]);
    assert!(ran.code == 2 && ran.stderr.contains("empty: it is empty") && !asked.exists(), "{}", ran.stderr);
}

#[test]
fn who_interrupts_the_agent_that_proposes_gets_130() {
    let stub = repository();
    drafting(&stub, &["One better text."]);
    // Opening a pipe waits for its other end.
    fs::remove_file(stub.root().join("answer")).expect("the answer");
    nix::unistd::mkfifo(&stub.root().join("answer"), nix::sys::stat::Mode::S_IRWXU).expect("a pipe");
    let tune = stub.start(&["tune", "--skill", "tidy", "--agent", "codex"]);
    wait_until("a question", || stub.root().join("asked").exists());
    signal(&tune, Signal::SIGINT);
    let output = tune.wait_with_output().expect("an end");
    assert_eq!(output.status.code(), Some(130), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn the_cost_limit_holds_for_the_proposal_too_and_for_no_unknown_cost() {
    let stub = repository();
    drafting(&stub, &["One better text."]);
    // The proposal has 100 tokens of input.
    stub.settings("[prices.codex]\ninput = 10000.0\noutput = 0.0\n");
    stub.run("tune tidy --agent codex --max-cost-usd 0.5").exits(2).warns("the cost limit is reached");
    let stub = repository();
    drafting(&stub, &["One better text."]);
    let said = "the cost limit cannot be held: it is unknown what codex cost";
    stub.run("tune tidy --agent codex --max-cost-usd 0.5").exits(2).warns(said);
    assert_eq!(stub.starts().iter().filter(|prompt| prompt.starts_with("Task")).count(), 0);
}

#[test]
fn a_tune_that_is_killed_pays_for_nothing_twice() {
    let stub = repository();
    drafting(&stub, &["One better text."]);
    let arguments = ["tune", "tidy", "--agent", "codex", "--candidate", "worse", "--max-trials", "200", "--jobs", "1"];
    // The first comparison chooses, and the second one begins.
    let mut killed = stub.command(&arguments).stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("it starts");
    let asked = stub.root().join("asked");
    wait_until("the second comparison", || stub.starts().len() > 60);
    killed.kill().expect("a kill");
    killed.wait().expect("an end");
    let starts = stub.starts().len();
    fs::remove_file(&asked).expect("it was asked");
    let whole = stub.run(&arguments);
    whole.exits(0);
    assert!(!asked.exists() && whole.stderr.contains("its descriptions are used"), "{}", whole.stderr);
    let paid = stub.starts().len();
    // After the answer, nothing is left over: the same question is measured again.
    let again = stub.run(&arguments);
    assert!(again.code == 0 && asked.exists(), "{}{}", again.stdout, again.stderr);
    let of_one = stub.starts().len() - paid;
    assert!(
        paid.abs_diff(of_one) <= 2,
        "{starts} before the kill, {paid} with the second start, {of_one} without a kill"
    );
}

#[test]
fn what_an_unfinished_tune_has_paid_is_used_or_named_and_never_paid_again_unsaid() {
    let stub = repository();
    let record = stub.root().join("artifacts/skill-evals/generate/tidy.tune.json");
    let tune = || stub.run(&["tune", "tidy", "--candidate", "better"]);
    let refused = |why: &str| {
        let ran = tune();
        assert_eq!((ran.code, stub.starts().len()), (2, 0), "{}{}", ran.stdout, ran.stderr);
        ran.warns("tidy.tune.json").warns(why).warns("remove it, and a tune pays anew");
    };
    fs::create_dir_all(&record).expect("a directory");
    refused("it is not a file");
    fs::remove_dir(&record).expect("it is empty");
    fs::write(&record, "{}").expect("a file");
    refused("missing field `runs`");
    fs::write(&record, r#"{"proposal": null, "runs": ["gone"]}"#).expect("a file");
    refused("it names the run gone, which is gone");
}
