//! Agents that evals.toml describes: what a wrong description says, and what faults of such an agent become. Scripts stand in
//! for the agents.

use skill_evals_testing::tables;
use std::fs;

use nix::sys::signal::Signal;
use serde_json::Value;

use crate::support::live::{processes_with, wait_until};
use crate::support::real::bwrap_works;
use crate::support::stub::{Stub, ran, signal};

/// An agent that speaks the Agent Client Protocol: the variable `turn` of each test says what it does with a prompt.
const SPEAKS: &str = r#"#!/bin/sh
[ "$1" != --version ] || { echo 7.1; exit; }
folder='FOLDER'
say() { printf '%s\n' "$1"; }
update() { say '{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":'"$1"'}}'; }
answer() { say '{"jsonrpc":"2.0","id":'"$id"',"result":'"$1"'}'; }
fail() { say '{"jsonrpc":"2.0","id":'"$id"',"error":'"$1"'}'; }
reads() {
  update '{"sessionUpdate":"tool_call","toolCallId":"c1","title":"Read","kind":"read","rawInput":{"path":".agents/skills/tidy/SKILL.md"}}'
  text=$(sed ':a;N;$!ba;s/\n/\\n/g' .agents/skills/tidy/SKILL.md)
  update '{"sessionUpdate":"tool_call_update","toolCallId":"c1","status":"completed","content":[{"type":"content","content":{"type":"text","text":"'"$text"'"}}]}'
}
done_with() { update '{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"Do"}}'
  update '{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"ne."}}'
  answer '{"stopReason":"'"$1"'","usage":{"inputTokens":90,"outputTokens":9,"totalTokens":99}}'; }
initialize='{"protocolVersion":1,"agentInfo":{"name":"fake","version":"7.1"},"authMethods":[{"id":"key"}]}'
while read -r line; do
  id=${line#*\"id\":}; id=${id%%[,\}]*}
  case "$line" in
    *'"method":"initialize"'*) BEGIN answer "$initialize";;
    *'"method":"session/new"'*) SESSION answer '{"sessionId":"s"}';;
    *'"method":"session/prompt"'*) printf '%s\n' "$line" >> "$folder/prompts"; TURN;;
    *'"method":"authenticate"'*) touch "$folder/key"; answer '{}';;
    *) printf '%s\n' "$line" >> "$folder/answers"; after;;
  esac
done
"#;

/// What it does, besides what it always does: at the start, for a session, for a prompt.
struct Faults<'a> {
    begin: &'a str,
    session: &'a str,
    turn: &'a str,
}

const FINE: Faults<'static> = Faults { begin: "", session: "", turn: "reads; done_with end_turn" };

/// The settings of the agent.
const SETTINGS: &str = "command = 'PROGRAM'\nprotocol = \"acp\"\nshows_calls = true\n";

/// A repository with a case `p` that wants the skill and a case `n` that does not.
fn repository(script: &str, settings: &str) -> Stub {
    let stub = Stub::new(0, "");
    stub.write(
        "evals/skills/tidy/prompts.csv",
        "id,should_trigger,prompt,timeout_s\np,true,Tidy up.,8\nn,false,Sing.,8\n",
    );
    stub.write(
        "skills/tidy/SKILL.md",
        "---\nname: tidy\ndescription: Tidies up. Use when asked to tidy.\n---\n# Tidy\n\nPut the \
               blue box under the table, and the red one on the shelf.\n",
    );
    let folder = stub.root().display().to_string();
    stub.write("mine.sh", &script.replace("FOLDER", &folder));
    describe(&stub, settings);
    stub
}

/// Describes the agent in the settings.
fn describe(stub: &Stub, settings: &str) {
    let program = stub.root().join("mine.sh").display().to_string();
    let settings = settings.replace("PROGRAM", &program);
    stub.write("evals/evals.toml", &format!("retries = 1\nretry_wait_s = 0.02\n[agents.mine]\n{settings}"));
}

fn speaks(faults: &Faults<'_>, settings: &str) -> Stub {
    let Faults { begin, session, turn } = faults;
    let part = |part: &str| if part.is_empty() { String::new() } else { format!("{part}; ") };
    let script = SPEAKS.replace("BEGIN ", &part(begin)).replace("SESSION ", &part(session)).replace("TURN", turn);
    repository(&script, settings)
}

/// The verdict of a case in the run `r`, and the detail of its trouble.
fn graded(stub: &Stub, case: &str) -> (String, String) {
    let path = stub.run_folder("r").join(format!("work/tidy/{case}/mine/1/grade.json"));
    let text = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let grade: Value = serde_json::from_str(&text).expect("a grade");
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    (text(&grade["verdict"]), text(&grade["trouble"]["detail"]))
}

fn run(stub: &Stub) -> String {
    let _ = fs::remove_dir_all(stub.run_folder("r"));
    let ran = stub.run(&["run", "--run-id", "r", "--mode", "mine"]);
    format!("{}{}", ran.stdout, ran.stderr)
}

#[test]
fn a_skill_whose_text_a_call_returns_is_activated_and_an_agent_that_may_hide_calls_proves_nothing_else() {
    for (turn, settings, positive, negative) in [
        ("reads; done_with end_turn", SETTINGS, "pass", "fail"),
        ("done_with end_turn", SETTINGS, "fail", "pass"),
        ("reads; done_with end_turn", "command = 'PROGRAM'\nprotocol = \"acp\"\n", "pass", "fail"),
        ("done_with end_turn", "command = 'PROGRAM'\nprotocol = \"acp\"\n", "error", "error"),
    ] {
        let stub = speaks(&Faults { turn, ..FINE }, settings);
        let said = run(&stub);
        assert_eq!((graded(&stub, "p").0, graded(&stub, "n").0), (positive.into(), negative.into()), "{turn}: {said}");
    }
}

#[test]
fn an_agent_that_was_never_calibrated_proves_only_by_using_a_skill_that_it_was_offered() {
    for (turn, positive, negative) in
        [("reads; done_with end_turn", "pass", "fail"), ("done_with end_turn", "error", "error")]
    {
        // No place for a skill is a wrong one: whether the agent looks there, only its calibration says.
        let stub = speaks(&Faults { turn, ..FINE }, SETTINGS);
        let said = ran(stub.command(&["run", "--run-id", "r", "--mode", "mine"]).env("SKILL_EVALS_CALIBRATE", "auto"));
        let (p, n) = (graded(&stub, "p"), graded(&stub, "n"));
        assert_eq!((p.0.as_str(), n.0.as_str()), (positive, negative), "{turn}: {}{}", said.stdout, said.stderr);
        if negative == "error" {
            let what = "nobody knows whether it looks for skills where `skills` says; use `{endpoint}`";
            assert!(p.1.contains(what) && n.1.contains(what), "{p:?} {n:?}");
        }
    }
}

#[test]
fn a_skill_that_agents_may_leave_out_proves_nothing_unless_the_agent_uses_it() {
    let body = "# Tidy\n\nPut the blue box under the table, and the red one on the shelf.\n";
    for (front, what) in [
        ("", "no front matter"),
        ("---\nname: tidy\n---\n", "no description"),
        ("---\nname: tidy\ndescription: ' '\n---\n", "no description"),
        ("---\nname: tidy\ndescription: a: b\n---\n", "`: ` in a value without quotes"),
    ] {
        for (turn, positive, negative) in
            [("reads; done_with end_turn", "pass", "fail"), ("done_with end_turn", "error", "error")]
        {
            let stub = speaks(&Faults { turn, ..FINE }, SETTINGS);
            stub.write("skills/tidy/SKILL.md", &format!("{front}{body}"));
            let said = run(&stub);
            let (p, n) = (graded(&stub, "p"), graded(&stub, "n"));
            assert_eq!((p.0.as_str(), n.0.as_str()), (positive, negative), "{front} {turn}: {said}");
            let why = format!("its SKILL.md has {what}: nobody knows whether this agent offers such a skill");
            assert!(negative != "error" || p.1.contains(&why) && n.1.contains(&why), "{p:?} {n:?}");
            // What the skill is like by now says nothing about the trial.
            stub.write("skills/tidy/SKILL.md", &format!("---\nname: tidy\ndescription: Tidies up.\n---\n{body}"));
            stub.run(&["grade", "r"]);
            assert_eq!((graded(&stub, "p").0.as_str(), graded(&stub, "n").0.as_str()), (positive, negative), "{front}");
        }
    }
    // One of 0 bytes cannot even be used.
    let stub = speaks(&Faults { turn: "done_with end_turn", ..FINE }, SETTINGS);
    stub.write("skills/tidy/SKILL.md", "");
    let said = run(&stub);
    assert_eq!((graded(&stub, "p").0.as_str(), graded(&stub, "n").0.as_str()), ("error", "error"), "{said}");
}

#[test]
fn a_call_without_what_it_returned_leaves_open_whether_the_skill_was_activated() {
    let call = r#"update '{"sessionUpdate":"tool_call","toolCallId":"c","title":"Look around","status":"completed"}'"#;
    let stub = speaks(&Faults { turn: &format!("{call}; done_with end_turn"), ..FINE }, SETTINGS);
    let said = run(&stub);
    for case in ["p", "n"] {
        let (verdict, why) = graded(&stub, case);
        assert!(verdict == "error" && why.contains("what a call of `Look around` returned"), "{verdict} {why} {said}");
    }
}

#[test]
fn faults_are_errors_that_say_what_happened() {
    let refused =
        |status: u16| format!(r#"fail '{{"code":-32603,"message":"Internal error","data":{{"status":{status}}}}}'"#);
    let (login, later) = (refused(401), refused(429));
    for (faults, words) in [
        (Faults { turn: "exit 3", ..FINE }, "exit status 3"),
        (
            Faults { begin: "echo lost >&2; exit 0", ..FINE },
            "exit status 0, and it printed nothing; expected its events",
        ),
        (
            Faults { turn: "echo hello; exit 0", ..FINE },
            "stops before its end; a line of the trace is damaged: \"hello\"",
        ),
        (
            Faults { begin: r#"initialize='{"protocolVersion":2}'"#, ..FINE },
            "it speaks version 2 of the Agent Client Protocol",
        ),
        (Faults { turn: "sleep 60", ..FINE }, "no word from the model within 8 s (`timeout_s`)"),
        (Faults { begin: "sleep 60", ..FINE }, "no word from the model within 8 s"),
        (
            Faults { session: r#"fail '{"code":-32000,"message":"Log in"}'; continue"#, ..FINE },
            "its methods: key; name one as",
        ),
        (Faults { turn: &login, ..FINE }, "Internal error"),
        (Faults { turn: &later, ..FINE }, "Internal error"),
        (Faults { turn: r#"answer '{"stopReason":"bored"}'"#, ..FINE }, "which is not in the protocol"),
        (Faults { turn: r#"answer '{"stopReason":"end_turn"}'"#, ..FINE }, "without a word of its model"),
        (Faults { turn: "kill -9 $$", ..FINE }, "signal"),
    ] {
        let stub = speaks(&faults, SETTINGS);
        let said = run(&stub);
        for case in ["p", "n"] {
            let (verdict, why) = graded(&stub, case);
            assert!(verdict == "error" && why.contains(words), "{words}: {verdict} {why}\n{said}");
        }
    }
}

#[test]
fn what_is_not_a_message_leaves_a_gap_and_hides_no_activation() {
    let long = "head -c 2000000 /dev/zero | tr '\\0' x; echo";
    let other = r#"say '{"method":"session/update","params":{"sessionId":"t","update":{"sessionUpdate":"agent_message_chunk"}}}'"#;
    for noise in ["echo hello", "say '[1,2]'", "say '{\"jsonrpc\":\"2.0\",\"method\":\"x/tool\"}'", long, other] {
        let stub = speaks(&Faults { turn: &format!("{noise}; reads; done_with end_turn"), ..FINE }, SETTINGS);
        let said = run(&stub);
        assert_eq!(graded(&stub, "p").0, "pass", "{noise}: {said}");
        stub.write(
            "mine.sh",
            &fs::read_to_string(stub.root().join("mine.sh")).expect("a script").replace("; reads; ", "; "),
        );
        let said = run(&stub);
        assert_eq!(graded(&stub, "n").0, if noise == "say '[1,2]'" { "pass" } else { "error" }, "{noise}: {said}");
    }
}

#[test]
fn a_message_may_be_the_text_of_a_resource() {
    let turn = r#"update '{"sessionUpdate":"agent_message_chunk","content":{"type":"resource","resource":{"uri":"a:b","text":"La la."}}}'
      answer '{"stopReason":"end_turn","usage":{"inputTokens":90,"outputTokens":9}}'"#;
    let stub = speaks(&Faults { turn, ..FINE }, SETTINGS);
    let said = run(&stub);
    assert_eq!(graded(&stub, "n").0, "pass", "{said}");
}

#[test]
fn what_may_have_been_a_call_leaves_open_whether_the_skill_was_activated() {
    for odd in [
        r#"{"sessionUpdate":"tool_call","toolCallId":"c","title":"Look","status":"pending"}"#,
        r#"{"sessionUpdate":"tool_call","toolCallId":"c","title":"Look","status":"Completed"}"#,
        r#"{"sessionUpdate":"tool_call","title":"Look","status":"completed"}"#,
        r#"{"sessionUpdate":"skill_loaded"}"#,
    ] {
        let turn = format!("update '{odd}'; done_with end_turn");
        let stub = speaks(&Faults { turn: &turn, ..FINE }, SETTINGS);
        let said = run(&stub);
        assert_eq!((graded(&stub, "p").0, graded(&stub, "n").0), ("error".into(), "error".into()), "{odd}: {said}");
    }
    let call = r#"printf '%s\n' '{"k":"call","calls":[{"id":"1","name":"look","input":{"path":"x"}}]}'"#;
    let end = r#"printf '%s\n' '{"k":"end","tokens":{"in":90,"out":9}}'"#;
    for script in [
        PRINTS.replace(call, "").replace(r#"'"$text"'"#, "x"),
        PRINTS.replace(call, &format!("{call}\n{call}")).replace(r#"'"$text"'"#, "x"),
    ] {
        assert!(script.contains(end) && script.len() != PRINTS.len());
        let stub = repository(&script, RULES);
        let said = run(&stub);
        assert_eq!(graded(&stub, "n").0, "error", "{said}");
    }
}

#[test]
fn huge_numbers_of_tokens_are_numbers() {
    let usage = format!(r#"{{"_meta":{{"usage":{{"inputTokens":{0},"outputTokens":{0}}}}},"#, u64::MAX);
    let piece = r#""sessionUpdate":"agent_message_chunk","content":{"type":"text","text":""}}"#;
    let turn = format!("update '{usage}{piece}'; update '{usage}{piece}'; reads; done_with end_turn");
    let stub = speaks(&Faults { turn: &turn, ..FINE }, SETTINGS);
    let said = run(&stub);
    assert_eq!(graded(&stub, "p").0, "pass", "{said}");
    stub.run("show tidy/p/mine/1 --run r").exits(0);
}

#[test]
fn a_refusal_that_comes_as_a_message_is_an_error_if_the_settings_say_how_it_begins() {
    let text = |text: &str| {
        format!(r#"update '{{"sessionUpdate":"agent_message_chunk","content":{{"type":"text","text":"{text}"}}}}'; "#)
    };
    let ends = r#"answer '{"stopReason":"end_turn"}'"#;
    let settings = format!("{SETTINGS}errors = [\"Error: \"]\n");
    for (turn, settings, verdict) in [
        (text("Wait.") + &text("Error: HTTP 401") + ends, settings.as_str(), "error"),
        (text("Error: HTTP 401") + ends, SETTINGS, "pass"),
        // Whether the second piece is another message nobody knows.
        (text("Error: 401") + &text(" refused") + ends, settings.as_str(), "error"),
        (text("Error") + &text(": 401") + ends, settings.as_str(), "error"),
        (ends.to_owned(), settings.as_str(), "error"),
    ] {
        let stub = speaks(&Faults { turn: &turn, ..FINE }, settings);
        let said = run(&stub);
        assert_eq!(graded(&stub, "n").0, verdict, "{turn}: {said}");
    }
}

#[test]
fn a_turn_that_ends_early_is_graded_as_such() {
    for (reason, words) in
        [("refusal", "the model refused"), ("max_tokens", "the most tokens"), ("max_turn_requests", "the most turns")]
    {
        let stub = speaks(&Faults { turn: &format!("done_with {reason}"), ..FINE }, SETTINGS);
        let said = run(&stub);
        assert_eq!(graded(&stub, "n").0, "fail", "{said}");
        assert!(said.contains(words), "{reason}: {said}");
    }
}

#[test]
fn the_agent_is_authenticated_by_the_method_of_the_settings() {
    let session = r#"if [ ! -e "$folder/key" ]; then fail '{"code":-32000,"message":"Log in"}'; continue; fi"#;
    let stub = speaks(&Faults { session, ..FINE }, &format!("{SETTINGS}authenticate = \"key\"\n"));
    let said = run(&stub);
    assert_eq!(graded(&stub, "p").0, "pass", "{said}");
}

#[test]
fn permission_is_given_by_the_sandbox_of_the_case() {
    let options = r#"[{"optionId":"a","kind":"allow_always"},{"optionId":"o","kind":"allow_once"},{"optionId":"r","kind":"reject_once"}]"#;
    let asks = |kind: &str| {
        format!(
            r#"say '{{"jsonrpc":"2.0","id":77,"method":"session/request_permission","params":{{"sessionId":"s","toolCall":{{"toolCallId":"{kind}","title":"x","kind":"{kind}"}},"options":{options}}}}}'"#
        )
    };
    let turn = format!(
        "prompt=$id; after() {{ id=$prompt; [ $(wc -l < \"$folder/answers\") != 3 ] || done_with end_turn; }}; {}; {}; say '{{\"jsonrpc\":\"2.0\",\"id\":78,\"method\":\"fs/read_text_file\",\"params\":{{}}}}'",
        asks("edit"),
        asks("execute")
    );
    for (sandbox, edit) in [("read-only", "r"), ("workspace-write", "o")] {
        let stub = speaks(&Faults { turn: &turn, ..FINE }, SETTINGS);
        let row = format!("id,should_trigger,prompt,sandbox,timeout_s\nn,false,Sing.,{sandbox},8\n");
        stub.write("evals/skills/tidy/prompts.csv", &row);
        let said = run(&stub);
        let answers = fs::read_to_string(stub.root().join("answers")).unwrap_or_else(|error| panic!("{error} {said}"));
        let answers: Vec<Value> = answers.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
        let chosen: Vec<_> = answers.iter().map(|answer| answer["result"]["outcome"]["optionId"].as_str()).collect();
        assert_eq!(chosen, [Some(edit), Some("o"), None], "{sandbox}: {said}");
        assert_eq!(answers[2]["error"]["code"], -32601);
    }
}

#[test]
fn nothing_is_left_of_an_agent_that_starts_others() {
    let word = format!("left-{}", std::process::id());
    let begin = format!("(exec sh -c 'trap \"\" TERM; sleep 300; : {word}') & setsid sh -c 'sleep 300; : {word}' &");
    let begin = begin.trim_end_matches(" &").to_owned() + " & true";
    let stub = speaks(&Faults { begin: &begin, ..FINE }, SETTINGS);
    let said = run(&stub);
    assert_eq!(graded(&stub, "p").0, "pass", "{said}");
    stub.run("show tidy/p --run r").prints("does not show what its model is offered; it has the skills: tidy");
    assert_eq!(processes_with(&word), Vec::<String>::new());
    let stub = speaks(&Faults { begin: &begin, turn: "sleep 60", ..FINE }, SETTINGS);
    let mut runner = stub.start(&["run", "--run-id", "r", "--mode", "mine"]);
    wait_until("a prompt", || stub.root().join("prompts").exists());
    signal(&runner, Signal::SIGINT);
    assert_eq!(runner.wait().expect("an end").code(), Some(130));
    assert_eq!(processes_with(&word), Vec::<String>::new());
}

#[test]
fn an_agent_that_does_not_exit_is_ended_and_its_trial_counts() {
    let stub = speaks(&Faults { turn: "reads; done_with end_turn; trap '' TERM; sleep 300", ..FINE }, SETTINGS);
    stub.write("evals/skills/tidy/prompts.csv", "id,should_trigger,prompt,timeout_s\np,true,Tidy up.,200\n");
    let said = run(&stub);
    assert_eq!(graded(&stub, "p").0, "pass", "{said}");
    let path = stub.run_folder("r").join("work/tidy/p/mine/1/grade.json");
    let grade = fs::read_to_string(path).expect("a grade");
    let ended = "done, but the program did not exit and was ended after ";
    assert!(grade.contains(ended) && !grade.contains(&format!("{ended}2")), "long before its timeout: {grade}");
}

#[test]
fn a_long_prompt_arrives_whole() {
    let stub = speaks(&FINE, SETTINGS);
    let prompt = "x".repeat(300_000);
    stub.write("evals/skills/tidy/prompts.csv", &format!("id,should_trigger,prompt\np,true,{prompt}\n"));
    let said = run(&stub);
    assert_eq!(graded(&stub, "p").0, "pass", "{}", &said[..said.len().min(2_000)]);
    assert!(fs::read_to_string(stub.root().join("prompts")).expect("a prompt").contains(&prompt));
}

/// An agent that prints JSON lines.
const PRINTS: &str = r#"#!/bin/sh
folder='FOLDER'
# Trials at once write these files, each of them whole.
printf '%s\n' "$@" > "$folder/$$"; mv "$folder/$$" "$folder/arguments"
env > "$folder/$$"; mv "$folder/$$" "$folder/environment"
text=$(sed ':a;N;$!ba;s/\n/\\n/g' .agents/skills/tidy/SKILL.md)
printf '%s\n' '{"k":"asked","tool":"none"}'
printf '%s\n' '{"k":"call","calls":[{"id":"1","name":"look","input":{"path":"x"}}]}'
printf '%s\n' '{"k":"result","id":"1","output":"'"$text"'"}'
printf '%s\n' '{"k":"text","text":"Done."}'
printf '%s\n' '{"k":"end","tokens":{"in":90,"out":9}}'
"#;

const RULES: &str = r#"protocol = "jsonl"
command = 'PROGRAM'
args = ["-p", "{prompt}", ["--model", "{model}"], ["--resume", "{resumed}"], "--in={workspace}"]
env = { MY_TOKEN = "a-value-that-nobody-sees", OTHER = "{home}/x" }
[[agents.mine.events]]
says = "nothing"
when = { "/k" = "asked" }
[[agents.mine.events]]
says = "call"
when = { "/k" = "call" }
id = "/calls/*/id"
name = "/calls/*/name"
input = "/calls/*/input"
[[agents.mine.events]]
says = "result"
when = { "/k" = "result" }
id = "/id"
output = "/output"
[[agents.mine.events]]
says = "message"
when = { "/k" = "text" }
text = "/text"
[[agents.mine.events]]
says = "total"
when = { "/k" = "end" }
input_tokens = "/tokens/in"
output_tokens = "/tokens/out"
[[agents.mine.events]]
says = "done"
when = { "/k" = "end" }
"#;

#[test]
fn an_agent_is_started_and_read_as_its_rules_say() {
    let stub = repository(PRINTS, RULES);
    let said = run(&stub);
    assert_eq!((graded(&stub, "p").0, graded(&stub, "n").0), ("pass".to_owned(), "fail".to_owned()), "{said}");
    let arguments = fs::read_to_string(stub.root().join("arguments")).expect("arguments");
    let arguments: Vec<&str> = arguments.lines().collect();
    assert!(arguments.len() == 3 && arguments[2].starts_with("--in=/"), "without values, no arguments: {arguments:?}");
    let environment = fs::read_to_string(stub.root().join("environment")).expect("variables");
    assert!(environment.contains("MY_TOKEN=a-value-that-nobody-sees\n") && environment.contains("/home/x\n"));
    let kept = walkdir::WalkDir::new(stub.run_folder("r")).into_iter().flatten();
    for file in kept.filter(|entry| entry.file_type().is_file()) {
        let text = String::from_utf8_lossy(&fs::read(file.path()).expect("a file")).into_owned();
        assert!(!text.contains("nobody-sees"), "{}", file.path().display());
    }
}

#[test]
fn a_wrong_path_is_an_error_that_shows_the_line() {
    for (right, wrong, words) in [
        ("output = \"/output\"", "output = \"/result\"", "has the `output` at \"/result\", which is not in this line"),
        ("text = \"/text\"", "text = \"/say\"", "which is not in this line: {\"k\":\"text\",\"text\":\"Done.\"}"),
        (
            "when = { \"/k\" = \"end\" }",
            "when = { \"/k\" = \"ends\" }",
            "the event stream stops before its end; the trace holds what cannot be read: lines that no rule",
        ),
        ("when = { \"/k\" = \"result\" }", "when = { \"/k\" = \"results\" }", "what a call of `look` returned"),
    ] {
        let stub = repository(PRINTS, &RULES.replace(right, wrong));
        let said = run(&stub);
        let (verdict, why) = graded(&stub, "n");
        assert!(verdict == "error" && why.contains(words), "{wrong}: {verdict} {why}\n{said}");
    }
}

#[test]
fn the_file_with_the_mcp_server_is_where_the_agent_is_told() {
    let says = r#"#!/bin/sh
found=$(grep -c mcpServers "$2")
printf '%s\n' '{"k":"text","text":"found '"$found"'"}'
printf '%s\n' '{"k":"end","tokens":{"in":90,"out":9}}'
"#;
    let stub = repository(says, &RULES.replace("args = [", "args = [[\"--mcp\", \"{mcp}\"], "));
    let isolations = ["agent", "bwrap"].into_iter().filter(|way| *way == "agent" || bwrap_works());
    for isolation in isolations {
        let args = ["run", "--run-id", isolation, "--mode", "mine-mcp", "--case", "n"];
        let said = ran(stub.command(&args).env("SKILL_EVALS_ISOLATION", isolation));
        let trace = stub.run_folder(isolation).join("work/tidy/n/mine-mcp/1/trace.jsonl");
        let trace = fs::read_to_string(trace).unwrap_or_default();
        assert!(trace.contains("found 1"), "{isolation}: {trace}{}{}", said.stdout, said.stderr);
    }
}

#[test]
fn a_recording_replays_by_its_own_description_and_is_stale_if_that_changes() {
    for (script, settings, change) in [
        (PRINTS.to_owned(), RULES, ("[\"-p\",", "[\"-q\",")),
        (
            SPEAKS.replace("BEGIN ", "").replace("SESSION ", "").replace("TURN", FINE.turn),
            SETTINGS,
            ("shows_calls = true", ""),
        ),
    ] {
        let stub = repository(&script, settings);
        stub.write("evals/skills/tidy/prompts.csv", "id,should_trigger,prompt,timeout_s\np,true,Tidy up.,8\n");
        stub.run("run --mode mine --record").exits(0);
        stub.run("run --replay --mode mine").exits(0);
        let recorded = stub.root().join("evals/recordings/tidy/p/mine/1/meta.json");
        let meta: Value = serde_json::from_slice(&fs::read(&recorded).expect("facts")).expect("JSON");
        assert_eq!(
            (meta["agent"]["kind"].as_str(), meta["agent"]["description"]["name"].as_str()),
            (Some("mine"), Some("mine"))
        );
        describe(&stub, &settings.replace(change.0, change.1));
        let stale = stub.run(&["run", "--replay", "--mode", "mine"]);
        let said = format!("{}{}", stale.stdout, stale.stderr);
        assert!(stale.code != 0 && said.contains("agents.mine"), "{said}");
    }
}

#[test]
fn an_old_trial_is_graded_as_its_agent_was_described_then() {
    let stub = repository(PRINTS, RULES);
    run(&stub);
    let before = graded(&stub, "p");
    describe(&stub, &RULES.replace("/output", "/elsewhere"));
    let ran = stub.run(&["grade", "--run-id", "r"]);
    assert_eq!(graded(&stub, "p"), before, "{}{}", ran.stdout, ran.stderr);
    assert_eq!(before.0, "pass");
}

#[test]
fn further_messages_go_to_the_session_that_the_first_one_began() {
    let rules =
        RULES.replace("[\"--resume\", \"{resumed}\"]", "[\"--session\", \"{session}\"], [\"--resume\", \"{resumed}\"]");
    let stub = repository(
        &PRINTS.replace("mv \"$folder/$$\" \"$folder/arguments\"", "cat \"$folder/$$\" >> \"$folder/arguments\""),
        &rules,
    );
    let rows = "id,should_trigger,prompt,follow_ups\np,true,First.,\"[\"\"Second {prompt}.\"\"]\"\n";
    stub.write("evals/skills/tidy/prompts.csv", rows);
    let said = run(&stub);
    assert_eq!(graded(&stub, "p").0, "pass", "{said}");
    let arguments = fs::read_to_string(stub.root().join("arguments")).expect("arguments");
    let arguments: Vec<&str> = arguments.lines().collect();
    let after = |word: &str| arguments.iter().position(|argument| *argument == word).map(|at| arguments[at + 1]);
    assert!(after("--session").is_some() && after("--session") == after("--resume"), "{arguments:?}");
    assert!(arguments.contains(&"Second {prompt}."), "{arguments:?}");
}

/// What lint says of an agent with this description.
fn linted(settings: &str) -> String {
    let stub = repository(PRINTS, settings);
    stub.run(&["lint"]).told(stub.root())
}

tables! {
    linted => mistakes_in_a_description_are_shown_with_their_place_and_what_to_do;
}

#[test]
fn its_modes_are_listed_and_doctor_examines_it() {
    let stub = speaks(&FINE, SETTINGS);
    stub.run("run --mode mina").warns("mine-mcp").warns("mine-none");
    let found = stub.run(&["doctor"]).stdout;
    let line = found.lines().find(|line| line.contains("mine") && !line.contains("login")).unwrap_or_default();
    assert!(line.contains("7.1") && line.contains("mine.sh"), "{found}");
}

#[test]
fn what_an_agent_takes_that_was_never_measured_is_unknown() {
    let stub = speaks(&FINE, SETTINGS);
    let ran = stub.run(&["run", "--mode", "mine", "--dry-run"]);
    for label in ["cost", "tokens"] {
        let line = format!("\n{label}: unknown: no earlier run or recording of these cases shows it\n");
        ran.prints(&line);
    }
}
