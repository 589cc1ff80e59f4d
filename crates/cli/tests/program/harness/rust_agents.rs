//! Agents whose lines a harness reads: `examples/agent.rs`, over a script in the agent's place.

use std::process::Command;

use skill_evals::harness::{Harness, Recording, StreamEvent};

use crate::support::examples::example;
use crate::support::fixture::Ran;
use crate::support::stub::{Stub, ran};

/// What the agent prints if all goes well: it reads the skill and answers.
const FINE: &str = r#"text=$(sed ':a;N;$!ba;s/\n/\\n/g' .agents/skills/tidy/SKILL.md)
say '{"type":"debug"}'
say '{"type":"runs","id":"1","command":"cat .agents/skills/tidy/SKILL.md"}'
say '{"type":"ran","id":"1","output":"'"$text"'","status":0}'
say '{"type":"says","text":"Done."}'
say '{"type":"end","input_tokens":90,"output_tokens":9}'
"#;

/// A repository with a case that wants the skill and one that does not, and an agent that does this.
fn repository(body: &str) -> Stub {
    let stub = Stub::new(0, "");
    stub.write(
        "skills/tidy/SKILL.md",
        "---\nname: tidy\ndescription: Tidies up. Use when asked to tidy.\n---\n# Tidy\n\nPut the blue box under the \
         table, and the red one on the shelf.\n",
    );
    stub.write("evals/skills/tidy/prompts.csv", "id,should_trigger,prompt\np,true,Tidy up.\nn,false,Sing.\n");
    stub.write("mine.sh", &format!("#!/bin/sh\nsay() {{ printf '%s\\n' \"$1\"; }}\n{body}"));
    stub.write(
        "evals/evals.toml",
        "retries = 1\nretry_wait_s = 0.02\nmodes = [\"mine\"]\n[agents.mine]\nprotocol = \"rust\"\ncommand = \"./mine.sh\"\nargs = [\"{prompt}\"]\n\
         shows_calls = true\ntools = { shells = [\"bash\"] }\n",
    );
    stub
}

/// `cargo test` with the example's harness, and this variable.
fn test(stub: &Stub, filter: &str, variable: &str) -> Ran {
    let mut program = stub.with_variables(Command::new(example("agent")));
    program.arg(filter).env("SKILL_EVALS_ROOT", stub.root()).env(variable, "1");
    ran(program.env_remove("NEXTEST").env_remove("NEXTEST_RUN_ID").env("SKILL_EVALS_RUN_ID", "r"))
}

#[test]
fn an_agent_that_a_harness_reads_is_graded_like_every_agent() {
    let stub = repository(FINE);
    let live = test(&stub, "tidy::", "SKILL_EVALS_LIVE");
    live.prints("test tidy::p::mine ... ok").prints("test tidy::n::mine ... FAILED");
    let (meta, grade) =
        (stub.json("r", "work/tidy/p/mine/1/meta.json"), stub.json("r", "work/tidy/p/mine/1/grade.json"));
    assert_eq!(meta["agent"]["description"]["protocol"], "rust", "{meta:#}");
    assert_eq!(grade["metrics"]["usage"]["input_tokens"], 90, "{grade:#}");
}

#[test]
fn an_agent_that_crashes_or_cannot_be_read_never_passes() {
    let end = r#"say '{"type":"end","input_tokens":90,"output_tokens":9}'"#;
    let answers = format!("say '{{\"type\":\"says\",\"text\":\"Done.\"}}'\n{end}\n");
    for (body, words) in [
        (format!("{answers}exit 3"), "exit status 3"),
        (format!("{answers}kill -9 $$"), "signal"),
        (answers.replace(end, ""), "the event stream stops before its end"),
        (end.to_owned(), "it ended its turn without a word of its model"),
        (
            format!("say '{{\"type\":\"says\"}}'\n{answers}"),
            "the harness cannot read a line of `mine`: missing field `text`",
        ),
        (
            format!("say '{{\"type\":\"dances\"}}'\n{answers}"),
            "lines that the harness does not know: those of the type `dances`",
        ),
        (
            format!("say '{{\"type\":\"runs\",\"id\":\"1\",\"command\":\"ls\"}}'\n{answers}"),
            "what a call of `bash` returned",
        ),
        (String::new(), "it printed nothing"),
    ] {
        let stub = repository(&body);
        let live = test(&stub, "tidy::n", "SKILL_EVALS_LIVE");
        let said = live.stdout + &live.stderr;
        assert!(live.code == 101 && said.contains(words), "{words}: {said}");
        assert_eq!(stub.json("r", "work/tidy/n/mine/1/grade.json")["verdict"], "error", "{words}: {said}");
    }
}

#[test]
fn its_recording_is_read_by_the_harness_and_by_no_other_program() {
    let stub = repository(FINE);
    let mut program = stub.with_variables(Command::new(example("agent")));
    program
        .arg("tidy::p")
        .env("SKILL_EVALS_ROOT", stub.root())
        .env("SKILL_EVALS_LIVE", "1")
        .env("SKILL_EVALS_RECORD", "1");
    ran(program.env_remove("NEXTEST").env_remove("NEXTEST_RUN_ID")).exits(0);
    let replayed = test(&stub, "tidy::p", "SKILL_EVALS_REQUIRE_RECORDINGS");
    replayed.prints("test tidy::p::mine ... ok");
    for args in [&["run", "--replay", "tidy/p"][..], &["run", "tidy/p"]] {
        let other = stub.run(args);
        let said = other.stdout + &other.stderr;
        assert!(other.code != 0 && said.contains("is read in Rust, by `Harness::agent`"), "{args:?}: {said}");
    }
    // As a unit test opens it. Only here, functions of this process read it.
    let path = stub.root().join("evals/recordings/tidy/p/mine/1");
    let refused = Recording::open(&path).expect_err("nothing reads it").to_string();
    assert!(refused.contains("`Harness::new().agent(\"mine\", …).recording(…)`"), "{refused}");
    let reads = |line: &serde_json::Value| match line["text"].as_str() {
        Some(text) => Ok(vec![StreamEvent::Message { text: text.to_owned(), is_piece: false }]),
        None if line["type"] == "end" => Ok(vec![StreamEvent::Done]),
        None => Ok(vec![]),
    };
    let opened = Harness::new().agent("mine", reads).recording(&path).expect("the harness reads it");
    assert_eq!(opened.trial().final_text(), Some("Done."));
    let replay = |harness: Harness| harness.chosen_root(stub.root()).results(["tidy::p"]);
    let panics = replay(Harness::new().agent("mine", |_| panic!("a function of the user's")));
    let [trial] = &panics.expect("a result")[..] else { panic!("one trial") };
    let said = format!("{:?}", trial.grade);
    assert!(!trial.passed() && said.contains("its function panicked"), "{said}");
    let says_all = replay(Harness::new().agent("mine", |_| Ok(vec![StreamEvent::Unknown, StreamEvent::Done])));
    assert!(!says_all.expect("a result")[0].passed(), "an end without a word of the model is none");
    let unknown = replay(Harness::new().agent("mien", |_| Ok(vec![]))).expect_err("no such agent").to_string();
    assert!(
        unknown.contains("the harness reads the agent `mien`, which evals/evals.toml does not describe"),
        "{unknown}"
    );
}
