//! The agent `chat` against answers that no model should give, and servers that are none.

use std::fs;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpListener};
use std::sync::Mutex;
use std::time::Duration;

use serde_json::{Value, json};
use skill_evals_evidence::trace::trouble::TroubleKind;
use skill_evals_evidence::trial::outcome::{Status, Verdict};

use crate::support::live::{Live, Trial, processes_with, request_text, wait_until};
use crate::support::real::programs;
use crate::support::stand_in::{AnswerFault, Protocol, Request, Turn, call};
use crate::tests;

const KEY: &str = "stand-in-key-for-skill-evals";

pub fn trials() -> Vec<libtest_mimic::Trial> {
    crate::support::real::all_needing(
        "bubblewrap",
        crate::support::real::bwrap_works(),
        "install bubblewrap",
        tests![
            whatever_a_model_calls_it_gets_a_result,
            answers_without_an_answer_are_errors_that_say_so,
            a_server_that_is_none_is_an_error_and_gets_no_second_host_the_key,
            a_key_in_an_error_is_masked_also_where_the_message_is_cut,
            commands_do_not_see_the_key,
            a_command_that_leaves_a_process_behind_ends,
            every_protocol_has_the_same_trial,
            a_model_without_tools_acts_by_json,
            turns_are_limited_and_a_history_is_sent,
            a_user_who_ends_the_run_ends_the_agent,
            the_first_request_is_small,
        ],
    )
}

/// An answer of a server, word for word.
fn body(body: Value) -> Turn {
    Turn::Error { status: 200, body }
}

fn raw_call(id: &str, name: &str, arguments: &Value) -> Turn {
    let call = json!({ "id": id, "type": "function", "function": { "name": name, "arguments": arguments } });
    let message = json!({ "role": "assistant", "content": null, "tool_calls": [call.clone(), call] });
    body(json!({ "choices": [{ "message": message, "finish_reason": "tool_calls" }] }))
}

/// A case that passes unless nothing was measured.
fn negative(script: impl Fn(&Request) -> Turn + Send + Sync + 'static) -> Live {
    Live::new("should_trigger,prompt,timeout_s", "false,What is 2+2?,600", script)
}

fn trouble(trial: &Trial) -> (TroubleKind, String) {
    let trouble = trial.expect(Verdict::Error).grade.trouble.clone().expect("trouble");
    (trouble.kind, trouble.detail)
}

fn whatever_a_model_calls_it_gets_a_result() {
    let outside = tempfile::tempdir_in("/var/tmp").expect("a directory");
    let link = format!("ln -s {} link; mkfifo pipe; rm -f {}/x", outside.path().display(), outside.path().display());
    let at = outside.path().join("x").display().to_string();
    let live = negative(move |request| match request.tool_results.len() {
        0 => raw_call("a", "bash", &json!("{\"command\": \"echo")),
        2 => raw_call("", "bash", &json!("[1]")),
        4 => raw_call("b", "rm_everything", &json!({})),
        6 => raw_call("b", "bash", &json!("")),
        8 => Turn::Shell(link.clone()),
        9 => call("read_file", json!({ "path": "../../../../../etc/passwd" })),
        10 => call("write_file", json!({ "path": at, "content": "x" })),
        11 => call("write_file", json!({ "path": "link/x", "content": "x" })),
        12 => call("write_file", json!({ "path": "new/../../../x", "content": "x" })),
        13 => call("read_file", json!({ "path": "pipe" })),
        14 => call("write_file", json!({ "path": "pipe", "content": "x" })),
        15 => call("read_file", json!({ "path": "no\u{0}such" })),
        16 => Turn::Shell("yes | head -c 3000000; exit 7".to_owned()),
        17 => call("write_file", json!({ "path": "a/b.txt", "content": "ü" })),
        18 => call("read_file", json!({ "path": "a/b.txt" })),
        _ => Turn::Say("4".to_owned()),
    });
    let trial = live.trial("chat");
    // What a tool that nobody knows would have done is not known.
    trial.expect(Verdict::Error);
    let requests = live.model.requests();
    let results = &requests.last().expect("a request").tool_results;
    let failed = ["not JSON", "not JSON", "not a JSON object", "not a JSON object", "unknown tool", "unknown tool"];
    for (result, why) in results.iter().zip(failed) {
        assert!(result.contains(why), "{why}: {result}");
    }
    assert!(results[6].contains("no text `command`"), "{}", results[6]);
    for refused in [9, 10, 11, 12, 13, 14, 15] {
        assert!(results[refused].starts_with("error: "), "{refused}: {}", results[refused]);
    }
    assert!(results[16].len() < 40_000 && results[16].contains("[exit code 7]"), "{}", results[16].len());
    assert_eq!(results[18], "ü");
    assert!(!outside.path().join("x").exists());
    assert_eq!((trial.grade.metrics.unknown_events, trial.grade.metrics.damaged_lines), (2, 0));
    // The server counted no tokens of the first answers.
    assert_eq!(trial.grade.metrics.usage, None);
}

fn answers_without_an_answer_are_errors_that_say_so() {
    let choice = |end: &str| json!({ "choices": [{ "message": { "content": "AH" }, "finish_reason": end }] });
    let bodies = [
        (json!({ "choices": [] }), TroubleKind::Provider, "not whole"),
        (json!({ "choices": [{ "message": null }] }), TroubleKind::Provider, "not whole"),
        (choice("error"), TroubleKind::Provider, "not whole"),
        (json!([]), TroubleKind::Provider, "not whole"),
        (json!({ "error": { "code": 429, "message": "slow down" } }), TroubleKind::RateLimit, "slow down"),
        (json!({ "error": "no such model" }), TroubleKind::Provider, "no such model"),
    ];
    let parts = json!({ "choices": [{ "message": { "content": [{ "type": "text", "text": "Four" }, { "type": "text", "text": "." }] } }] });
    let live = negative(move |_| body(parts.clone()));
    assert_eq!(live.trial("chat").expect(Verdict::Pass).text("final.txt"), "Four.");
    for (answer, kind, words) in bodies {
        let live = negative(move |_| body(answer.clone()));
        let (found, detail) = trouble(&live.trial("chat"));
        assert_eq!(found, kind, "{detail}");
        assert!(detail.contains(words), "{detail}");
    }
    let live = negative(|_| Turn::Error {
        status: 400,
        body: json!({ "error": { "code": "context_length_exceeded", "message": "x" } }),
    });
    assert_eq!(live.trial("chat").expect(Verdict::Fail).status("completed"), Status::Fail);
}

/// A server that sends this to every request, and stores what it got.
fn server(answer: impl Fn(&str) -> String + Send + 'static) -> (String, &'static Mutex<Vec<String>>) {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
    let url = format!("http://{}/v1", listener.local_addr().expect("an address"));
    let seen: &'static Mutex<Vec<String>> = Box::leak(Box::default());
    let own = url.clone();
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let mut stream = stream;
            stream.set_read_timeout(Some(Duration::from_millis(300))).expect("a timeout");
            let mut request = Vec::new();
            let _ = stream.read_to_end(&mut request);
            seen.lock().expect("a list").push(String::from_utf8_lossy(&request).into_owned());
            let _ = stream.write_all(answer(&own).as_bytes());
        }
    });
    (url, seen)
}

fn asks(url: &str) -> Trial {
    let live = negative(|_| Turn::Say("4".to_owned()));
    let ran = live.command(&["--mode", "chat"]).env("OPENAI_BASE_URL", url).output().expect("it starts");
    let trial = live.kept("greeting", "it", "chat");
    let trial = trial.unwrap_or_else(|| panic!("{}", String::from_utf8_lossy(&ran.stderr)));
    assert!(live.model.requests().is_empty());
    // The repository goes with `live`, and this trial's files with it.
    trial
}

fn http(status: &str, headers: &str, text: &str) -> String {
    format!("HTTP/1.1 {status}\r\n{headers}content-length: {}\r\nconnection: close\r\n\r\n{text}", text.len())
}

fn a_server_that_is_none_is_an_error_and_gets_no_second_host_the_key() {
    let (other, seen_by_other) = server(|_| http("200 OK", "", "{}"));
    let (redirects, _) = server(move |_| http("307 Temporary Redirect", &format!("location: {other}\r\n"), ""));
    let (html, _) = server(|_| http("403 Forbidden", "", "<html>  <h1>Blocked</h1>\n</html>"));
    let (text, _) = server(|_| http("200 OK", "", "<html>hello</html>"));
    let (broken, _) = server(|_| "nonsense\r\n\r\n".to_owned());
    let gone = "http://127.0.0.1:1/v1".to_owned();
    let answers = [
        (redirects, TroubleKind::Provider, "redirects are not followed"),
        (html, TroubleKind::Login, "<html> <h1>Blocked</h1> </html>"),
        (text, TroubleKind::Provider, "sent no JSON"),
        (broken, TroubleKind::Provider, "no answer from"),
        (gone, TroubleKind::Unreachable, "no answer from http://127.0.0.1:1/v1"),
    ];
    for (url, kind, words) in answers {
        let (found, detail) = trouble(&asks(&url));
        assert_eq!(found, kind, "{detail}");
        assert!(detail.contains(words), "{detail}");
    }
    assert!(seen_by_other.lock().expect("a list").is_empty());
}

fn a_key_in_an_error_is_masked_also_where_the_message_is_cut() {
    for before in [0, 480, 490] {
        let live = negative(move |_| Turn::Error {
            status: 400,
            body: json!({ "error": { "message": format!("{}{KEY} is not a key", "x".repeat(before)) } }),
        });
        let trial = live.trial("chat");
        trial.expect(Verdict::Error);
        assert!(!trial.everything().contains(&KEY[..12]), "{}", trial.everything());
    }
}

fn commands_do_not_see_the_key() {
    let live = negative(|request| match request.step {
        0 => Turn::Shell("env; cat /proc/[0-9]*/environ /proc/[0-9]*/cmdline; cat /proc/$PPID/mem; true".to_owned()),
        _ => Turn::Say("4".to_owned()),
    });
    let trial = live.trial("chat");
    trial.expect(Verdict::Pass);
    let result = &live.model.requests()[1].tool_results[0];
    assert!(result.contains("HOME=") && !result.contains(KEY), "{result}");
    assert!(!trial.everything().contains(KEY));
}

fn a_command_that_leaves_a_process_behind_ends() {
    let live = negative(|request| match request.step {
        0 => Turn::Shell("sleep 31415 & echo started".to_owned()),
        _ => Turn::Say("4".to_owned()),
    });
    live.trial("chat").expect(Verdict::Pass);
    assert!(live.model.requests()[1].tool_results[0].contains("started"));
    wait_until("the process is gone", || processes_with("31415").is_empty());
}

fn every_protocol_has_the_same_trial() {
    let protocols =
        [("completions", Protocol::Completions), ("responses", Protocol::Responses), ("messages", Protocol::Messages)];
    for (api, protocol) in protocols {
        let script = |request: &Request| match request.step {
            0 => call("skill", json!({ "name": "greeting" })),
            1 => Turn::Several(vec![Turn::Shell("echo one".to_owned()), Turn::Shell("echo two; false".to_owned())]),
            _ => Turn::Say("Ahoy, Ada! AHOY_MARKER".to_owned()),
        };
        let live = Live::new("should_trigger,prompt,must_include,timeout_s", "true,Greet Ada.,AHOY_MARKER,600", script);
        let settings = format!("model = 'stand-in'\n[agents.chat]\nargs = ['--api={api}', '--max-tokens=77']\n");
        fs::write(live.fixture.root().join("evals/evals.toml"), settings).expect("settings");
        let trial = live.trial("chat");
        trial.expect(Verdict::Pass);
        let requests = live.model.requests();
        assert!(
            requests.iter().all(|request| request.protocol == protocol && request.body.to_string().contains(":77"))
        );
        let results = &requests[2].tool_results;
        assert!(results[0].contains("AHOY_MARKER") && results[1] == "one\n", "{api}: {results:?}");
        assert!(results[2].contains("[exit code 1]"), "{api}: {results:?}");
        let usage = trial.grade.metrics.usage.expect("tokens");
        assert!(usage.input_tokens > 3000 && usage.cached_input_tokens == 2000, "{api}: {usage:?}");
        let live = negative(|_| Turn::Faulty(Box::new(Turn::Say("I".to_owned())), AnswerFault::MaxTokens));
        fs::write(
            live.fixture.root().join("evals/evals.toml"),
            format!("model = 'stand-in'\n[agents.chat]\nargs = ['--api={api}']\n"),
        )
        .expect("settings");
        assert_eq!(live.trial("chat").expect(Verdict::Fail).status("completed"), Status::Fail, "{api}");
    }
}

fn a_model_without_tools_acts_by_json() {
    let act = |action: Value| Turn::Say(json!({ "action": action }).to_string());
    let live =
        Live::new("should_trigger,prompt,must_include,timeout_s", "true,Greet Ada.,AHOY_MARKER,600", move |request| {
            match request.body["messages"].as_array().map_or(0, Vec::len) {
                2 => act(json!({ "tool": "skill", "name": "greeting" })),
                4 => act(json!({ "tool": "bash", "command": "echo hi" })),
                _ => act(json!({ "tool": "answer", "text": "Ahoy, Ada! AHOY_MARKER" })),
            }
        });
    fs::write(live.fixture.root().join("evals/evals.toml"), "[agents.chat]\nargs = ['--no-tools']\n")
        .expect("settings");
    let trial = live.trial("chat");
    trial.expect(Verdict::Pass);
    assert_eq!(trial.text("final.txt"), "Ahoy, Ada! AHOY_MARKER");
    let last = live.model.requests().pop().expect("a request");
    assert!(last.tools.is_empty() && request_text(&last).contains("Result of the action:\nhi"), "{:?}", last.body);
    assert_eq!(last.body["response_format"]["json_schema"]["strict"], true);

    // A server that does not keep to the schema.
    for text in ["Ahoy!", "```json\n{}\n```", r#"{"tool":"answer","text":"Ahoy!"}"#, r#"{"action":{"tool"#] {
        let live = negative(move |_| Turn::Say(text.to_owned()));
        fs::write(live.fixture.root().join("evals/evals.toml"), "[agents.chat]\nargs = ['--no-tools']\n")
            .expect("settings");
        assert!(trouble(&live.trial("chat")).1.contains("not as asked for"), "{text}");
    }

    for (args, words) in [("--no-toolz", "unknown argument"), ("--no-tools', '--api=responses", "completions only")] {
        fs::write(live.fixture.root().join("evals/evals.toml"), format!("[agents.chat]\nargs = ['{args}']\n"))
            .expect("settings");
        let ran = live.run(&["--mode", "chat"]);
        assert!(format!("{}{}", ran.stdout, ran.stderr).contains(words), "{}{}", ran.stdout, ran.stderr);
    }
}

fn turns_are_limited_and_a_history_is_sent() {
    let history =
        r#""[{""role"": ""user"", ""content"": ""I am Ada.""}, {""role"": ""assistant"", ""content"": ""Noted.""}]""#;
    let live = Live::new("should_trigger,prompt,history,timeout_s", &format!("true,And now?,{history},600"), |_| {
        Turn::Shell("echo again".to_owned())
    });
    fs::write(live.fixture.root().join("evals/evals.toml"), "max_turns = 2\n").expect("settings");
    let trial = live.trial("chat");
    trial.expect(Verdict::Fail);
    let requests = live.model.requests();
    assert_eq!(requests.len(), 2);
    let messages = requests[0].body["messages"].as_array().expect("messages");
    let roles: Vec<_> = messages.iter().map(|message| message["role"].as_str().expect("a role")).collect();
    assert_eq!(roles, ["system", "user", "assistant", "user"]);
    assert!(trial.text("trace.jsonl").contains("max-turns"));

    let rows = r#"true,Greet Ada.,600,"[""And again.""]""#;
    let live = Live::new("should_trigger,prompt,timeout_s,follow_ups", rows, |_| Turn::Say("Ahoy!".to_owned()));
    fs::write(live.fixture.root().join("evals/evals.toml"), "max_turns = 1\n").expect("settings");
    live.trial("chat").expect(Verdict::Fail);
    assert_eq!(live.model.requests().len(), 1, "the limit is that of the session");
}

fn a_user_who_ends_the_run_ends_the_agent() {
    let live = negative(|request| match request.step {
        0 => Turn::Shell("sleep 27182".to_owned()),
        _ => Turn::Hang,
    });
    let mut run = live.start(&["--mode", "chat"]);
    wait_until("the command runs", || !processes_with("27182").is_empty());
    let pid = run.id().to_string();
    std::process::Command::new("kill").args(["-INT", &pid]).status().expect("kill");
    assert_eq!(run.wait().expect("it ends").code(), Some(130));
    wait_until("its processes are gone", || processes_with("27182").is_empty());
    live.expect_interrupted("greeting", "it", "chat");
}

/// Prints the sizes for docs/chat.md.
fn the_first_request_is_small() {
    let size = |mode: &str| {
        let live = negative(|_| Turn::Say("4".to_owned()));
        live.trial(mode);
        live.model.requests().first().map(|request| request.body.to_string().len())
    };
    let chat = size("chat").expect("a request");
    assert!(chat < 3000, "{chat}");
    for mode in ["codex", "cli-native"].into_iter().filter(|_| programs().is_dir()) {
        println!("first request: {mode} {:?} bytes, chat {chat}", size(mode));
    }
}
