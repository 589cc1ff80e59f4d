//! `skill-evals generate --agent`: an agent drafts, nothing that it answers is trusted, and somebody accepts each case.

use std::fs;
use std::io::Write;
use std::process::{Command, Stdio};

use skill_evals_cli::setup::generate::{GeneratedCase, drafted, review};

use crate::support::stub::{REFUSED, Stub};

const SKILL: &str =
    "---\nname: tidy\ndescription: Moves the old files of a directory to an archive.\n---\n\nMove them.\n";

/// Two that lint accepts, one that names the skill, and a negative that is near nothing.
const ANSWER: &str = r#"{"cases": [
    {"kind": "explicit", "id": "call", "prompt": "Use the $tidy skill on ~/Downloads."},
    {"kind": "implicit", "id": "German terse", "prompt": "Räum bitte ~/Downloads auf."},
    {"kind": "implicit", "id": "named", "prompt": "Let the tidy skill clean this up."},
    {"kind": "near-miss", "id": "capital", "prompt": "What is the name of the capital of a country in the south?"}
]}"#;

/// A repository whose agent answers this, and has no cases.
fn answering(answer: &str) -> Stub {
    let text = serde_json::to_string(answer).expect("JSON");
    let event = format!(r#"{{"type":"item.completed","item":{{"id":"0","type":"agent_message","text":{text}}}}}"#);
    let body = r#"printf '%s\n' '{"type":"thread.started","thread_id":"1"}' '{"type":"turn.started"}'
cat "$folder/answer"
printf '%s\n' '{"type":"turn.completed","usage":{"input_tokens":100,"output_tokens":50}}'; exit 0"#;
    let stub = Stub::new(1, body);
    fs::write(stub.root().join("answer"), event + "\n").expect("an answer");
    fs::write(stub.root().join("skills/tidy/SKILL.md"), SKILL).expect("a skill");
    fs::remove_file(stub.root().join("evals/skills/tidy/prompts.csv")).expect("the cases");
    stub
}

fn table(stub: &Stub) -> String {
    fs::read_to_string(stub.root().join("evals/skills/tidy/prompts.csv")).unwrap_or_default()
}

#[test]
fn with_yes_what_lint_accepts_is_written_with_its_author() {
    let stub = answering(ANSWER);
    stub.settings("[prices.codex]\ninput = 1.0\noutput = 10.0\n");
    let ran = stub.run(&["generate", "--agent", "codex", "--yes"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (0, "wrote evals/skills/tidy/prompts.csv\n"), "{}", ran.stderr);
    let table = table(&stub);
    let rows: Vec<&str> = table.lines().collect();
    assert_eq!(rows[0], "id,should_trigger,prompt,sandbox,must_include,x_author");
    assert!(rows[1].starts_with("explicit-call,true,Use the $tidy skill on ~/Downloads.,read-only,,codex "), "{table}");
    assert!(rows[2].starts_with("implicit-german-terse,true,Räum bitte"), "{table}");
    assert_eq!(rows.len(), 3, "{table}");
    // The cost before and after, and what was dropped and why.
    for said in [
        "tidy: asks codex once: about ",
        "tidy: answered in 0:00; 150 tokens, cost $0.0006 by [prices]",
        "tidy: dropped implicit-named: the case `implicit-named` names the skill `tidy`",
        "tidy: dropped near-miss-capital: this prompt is near no skill",
        "tidy: 2 of 4 cases accepted",
    ] {
        ran.warns(said);
    }
    // It was offered no skill, saw the skill as data, and left its evidence where git ignores it.
    assert!(stub.starts().join("\n").contains("Moves the old files"));
    assert!(stub.root().join("artifacts/skill-evals/generate/tidy/trace.jsonl").exists());
    assert!(stub.root().join("artifacts/skill-evals/.gitignore").exists());
    assert_eq!(stub.run(&["runs"]).stdout.matches("generate").count(), 0, "it is no run");
    // The rows run as they are.
    stub.run("list --skill tidy").exits(0);
}

#[test]
fn drafts_are_added_to_a_table_and_have_ids_and_prompts_that_it_has_not() {
    let stub = answering(ANSWER);
    let own = "id,should_trigger,prompt\nexplicit-call,true,Mine\nother,true,Räum bitte ~/Downloads auf.\n";
    stub.write("evals/skills/tidy/prompts.csv", own);
    let ran = stub.run(&["generate", "--agent", "codex", "--yes"]);
    ran.exits(0).prints("added 1 case to evals/skills/tidy/prompts.csv\n").warns("its prompt is a duplicate");
    let table = table(&stub);
    let rows: Vec<&str> = table.lines().collect();
    assert_eq!(rows[1..3], ["explicit-call,true,Mine,,", "other,true,Räum bitte ~/Downloads auf.,,"], "{table}");
    assert!(rows.len() == 4 && rows[3].starts_with("explicit-1,true,Use the $tidy skill"), "{table}");
    stub.run("lint").exits(0);
}

#[test]
fn nothing_is_asked_where_nobody_could_answer_or_the_agent_is_missing() {
    let stub = answering(ANSWER);
    stub.run("generate --agent codex").exits(2).warns("add --yes");
    stub.run("generate --agent codx --yes").exits(2).warns("did you mean `codex`?");
    fs::remove_file(stub.root().join("agent.sh")).expect("the agent");
    stub.run("generate --agent codex --yes").exits(2).warns("codex cannot run");
    assert!(stub.starts().is_empty() && table(&stub).is_empty());
}

#[test]
fn an_answer_that_cannot_be_used_writes_nothing_and_says_why() {
    for (answer, why) in [
        ("I would rather not.", "the answer has no JSON object"),
        ("{\"cases\": []}", "the answer has no usable case"),
        ("{\"cases\": [{\"kind\": \"evil\", \"id\": \"a\", \"prompt\": \"b\"}]}", "the answer cannot be read"),
    ] {
        let stub = answering(answer);
        let ran = stub.run(&["generate", "--agent", "codex", "--yes"]);
        ran.exits(3);
        let said = format!("not written evals/skills/tidy/prompts.csv: codex: {why}");
        ran.prints(&said).prints("generate/tidy");
        assert_eq!(table(&stub), "");
    }
    let refused = Stub::new(1, REFUSED);
    refused.run(&["generate", "--agent", "codex", "--yes"]).exits(3).prints("429");
    assert!(table(&refused).starts_with("id,should_trigger,prompt\nc0"), "what was there stays");
}

#[test]
fn on_a_terminal_each_case_is_accepted_edited_or_dropped() {
    let stub = answering(ANSWER);
    let line = format!("{} generate --agent codex", env!("CARGO_BIN_EXE_skill-evals"));
    let mut script = Command::new("script");
    script.args(["-qec", &line, "/dev/null"]).current_dir(stub.root()).env("SKILL_EVALS_SCRATCH", stub.scratch());
    script
        .env("SKILL_EVALS_ISOLATION", "agent")
        .env("SKILL_EVALS_CALIBRATE", "off")
        .env_remove("CI")
        .env("HOME", stub.scratch());
    let mut child = script.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("script, of util-linux");
    let answers = "a\ne\nTidy up ~/Downloads, please.\na\nd\nq\n";
    child.stdin.take().expect("its input").write_all(answers.as_bytes()).expect("it reads");
    let output = child.wait_with_output().expect("it ends");
    let shown = String::from_utf8_lossy(&output.stdout).replace('\r', "");
    assert!(
        shown.contains("3 of 4: implicit-named (must trigger)\n  Let the tidy skill clean this up.\n  lint: "),
        "{shown}"
    );
    assert!(shown.contains("wrote evals/skills/tidy/prompts.csv"), "{shown}");
    let table = table(&stub);
    let rows: Vec<&str> = table.lines().collect();
    assert!(rows.len() == 3 && rows[1].starts_with("explicit-call,") && !rows[1].contains("edited"), "{table}");
    assert!(rows[2].contains("\"Tidy up ~/Downloads, please.\"") && rows[2].contains(", edited"), "{table}");
}

fn drafts(count: usize) -> Vec<GeneratedCase> {
    let draft = |number| GeneratedCase {
        id: format!("c{number}"),
        prompt: format!("Prompt {number}"),
        ..GeneratedCase::default()
    };
    (0..count).map(draft).collect()
}

#[test]
fn the_end_of_the_input_keeps_what_was_accepted_and_nothing_shown_moves_the_terminal() {
    let mut shown = Vec::new();
    let mut drafts = drafts(3);
    drafts[0].prompt = "one \u{202e}two".to_owned();
    let kept = review::one_by_one(drafts, &|_| Vec::new(), &mut "x\na\n".as_bytes(), &mut shown).expect("it is shown");
    assert_eq!(kept.iter().map(|draft| draft.id.as_str()).collect::<Vec<_>>(), ["c0"]);
    let shown = String::from_utf8(shown).expect("text");
    assert!(shown.contains("\\u{202e}") && !shown.contains('\u{202e}'), "{shown}");
    assert_eq!(shown.matches("1 of 3").count(), 1, "an unknown answer asks again: {shown}");
}

#[test]
fn an_answer_is_read_within_bounds() {
    let case = |id: &str, prompt: &str| serde_json::json!({"kind": "implicit", "id": id, "prompt": prompt});
    let answer = |cases: Vec<serde_json::Value>| serde_json::json!({"cases": cases}).to_string();
    let odd = answer(vec![
        case("../../x", "One"),
        case("implicit-two", "Two"),
        case("two", "Three"),
        case("", "Four"),
        case("five", "Two"),
        case("six", "\u{1b}[2J"),
        case("seven", " "),
        case("eight", &"a".repeat(5_000)),
    ]);
    let usable = drafted::read(&format!("Here:\n```json\n{odd}\n```"), "somebody", &[]).expect("it can be read");
    let ids: Vec<&str> = usable.cases.iter().map(|case| case.id.as_str()).collect();
    assert_eq!(ids, ["implicit-x", "implicit-two", "implicit-3", "implicit-4"]);
    assert_eq!(usable.left_out.len(), 4, "{:?}", usable.left_out);
    let numbers =
        drafted::read(&answer(vec![case("2", "One"), case("", "Two")]), "somebody", &[]).expect("it can be read");
    assert_eq!([&numbers.cases[0].id, &numbers.cases[1].id], ["implicit-2", "implicit-3"]);
    let many = answer((0..100).map(|number| case("a", &format!("Prompt {number}"))).collect());
    assert_eq!(drafted::read(&many, "somebody", &[]).expect("it can be read").cases.len(), 60);
    assert!(drafted::read(&"a".repeat(300 << 10), "somebody", &[]).is_err_and(|why| why.contains("longer")));
    assert!(drafted::read("}{", "somebody", &[]).is_err());
}
