//! Text from outside is shown as text: it moves no cursor, hides nothing, and forges no part of a report.

use std::fs;

use crate::support::stub::Stub;
use skill_evals_evidence::text::escape;

/// Clears the screen, sets a title, turns text around, and pretends to be the report.
const HOSTILE: &str =
    "\u{1b}[2J\u{1b}]0;title\u{7}\u{9b}31m\u{202e}x\r## Evaluation\n## Evaluation\n| a | b |\n<!-- <b>";

/// Shell code by which the stub prints an event with hostile text in every field that is shown.
fn events() -> String {
    let text = serde_json::Value::from(HOSTILE);
    let items = [
        serde_json::json!({"type": "agent_message", "text": text}),
        serde_json::json!({"type": "command_execution", "command": text, "exit_code": 0, "aggregated_output": text}),
        serde_json::json!({"type": "mcp_tool_call", "server": text, "tool": text, "arguments": {"a": text}, "status": "failed", "error": {"message": text}}),
        serde_json::json!({"type": "file_change", "changes": [{"path": text, "kind": "add"}]}),
        serde_json::json!({"type": "error", "message": text}),
        serde_json::json!({"type": "web_search", "query": text}),
    ];
    let lines = items.map(|item| serde_json::json!({"type": "item.completed", "item": item}).to_string());
    let quoted = lines.map(|line| format!("'{}'", line.replace('\'', "'\\''")));
    format!("printf '%s\\n' {}", quoted.join(" "))
}

fn assert_harmless(text: &str, what: &str) {
    let live = |c: char| (c.is_control() && c != '\n' && c != '\t') || ('\u{202a}'..='\u{202e}').contains(&c);
    assert!(!text.contains(live), "{what}: {text:?}");
}

#[test]
fn a_session_log_has_the_parts_that_it_was_given_and_no_others() {
    let stub = Stub::new(1, &events());
    let ran = stub.run(&["run", "--run-id", "r"]);
    let folder = stub.run_folder("r").join("work/tidy/c0/codex/1");
    let log = fs::read_to_string(folder.join("session.md")).unwrap_or_else(|_| panic!("{}{}", ran.stdout, ran.stderr));
    assert_harmless(&log, "session.md");
    let mut fenced = None;
    let headings = log.lines().filter(|line| {
        let ticks = line.len() - line.trim_start_matches('`').len();
        match fenced {
            None if ticks >= 3 => fenced = Some(ticks),
            Some(open) if ticks >= open && line.len() == ticks => fenced = None,
            _ => {}
        }
        fenced.is_none() && line.starts_with('#')
    });
    let headings: Vec<&str> = headings.collect();
    assert_eq!(headings.iter().filter(|line| **line == "## Evaluation").count(), 1, "{headings:?}\n{log}");
    assert!(!log.contains("\n| a | b |\n") || log.contains("```"), "{log}");
    let shown = stub.run(&["show", "tidy/c0/codex"]);
    assert_harmless(&shown.stdout, "show");
    shown.prints("called ").prints("u{202e}");
    let summary = fs::read_to_string(stub.run_folder("r").join("summary.md")).expect("a summary");
    assert_harmless(&summary, "summary.md");
    assert_harmless(&format!("{}{}", ran.stdout, ran.stderr), "the terminal");
}

#[test]
fn what_a_failing_agent_says_moves_no_cursor() {
    let text = serde_json::json!({"type": "turn.failed", "error": {"message": HOSTILE}}).to_string();
    let quoted = |text: &str| format!("'{}'", text.replace('\'', "'\\''"));
    for fails in
        [format!("printf '%s\\n' {} >&2; exit 3", quoted(HOSTILE)), format!("printf '%s\\n' {}; exit 1", quoted(&text))]
    {
        let stub = Stub::new(1, &fails);
        let ran = stub.run(&["run", "--run-id", "r"]);
        assert_ne!(ran.code, 0);
        assert_harmless(&format!("{}{}", ran.stdout, ran.stderr), "the terminal");
        // Nothing that the agent says begins a line of ours.
        assert!(!ran.stdout.lines().any(|line| line.starts_with("## ")), "{}", ran.stdout);
        let log = fs::read_to_string(stub.run_folder("r").join("work/tidy/c0/codex/1/session.md")).unwrap_or_default();
        assert_harmless(&log, "session.md");
        assert!(log.lines().filter(|line| *line == "## Evaluation").count() <= 1, "{log}");
    }
}

#[test]
fn an_option_s_value_in_an_error_moves_no_cursor() {
    let stub = Stub::new(1, "");
    for arguments in [vec!["run", "--resume", "--run-id", "\u{1b}[2J"], vec!["status", "\u{9b}31m"]] {
        let ran = stub.run(&arguments);
        assert_ne!(ran.code, 0, "{arguments:?}");
        assert_harmless(&format!("{}{}", ran.stdout, ran.stderr), "the terminal");
    }
}

#[test]
fn names_of_skills_and_files_move_no_cursor() {
    // What a file name can hold of it.
    let name = HOSTILE.replace('/', "");
    let stub = Stub::new(1, "");
    let file = |path: String, text: &str| {
        let path = stub.root().join(path);
        fs::create_dir_all(path.parent().expect("a directory above")).expect("a directory");
        fs::write(path, text).expect("a file");
    };
    let yaml = serde_json::Value::from(HOSTILE);
    file(
        format!("skills/{name}/SKILL.md"),
        &format!("---\nname: {yaml}\ndescription: {yaml}\n{yaml}: 1\n---\n[x]({name})\n"),
    );
    file(format!("skills/other/{name}/SKILL.md"), "no front matter");
    file("skills/tidy2/SKILL.md".to_owned(), "---\nname: tidy2\ndescription: Tidies.\n---\n");
    std::os::unix::fs::symlink(&name, stub.root().join("skills/tidy2").join(&name)).expect("a link");
    std::os::unix::fs::symlink("/dev/zero", stub.root().join("skills/tidy2/zero")).expect("a link");
    file(format!("evals/skills/{name}/prompts.csv"), "id,should_trigger,prompt\na,true,b\n");
    file(format!("evals/tasks/{name}.json"), "{");
    let quoted = format!("\"{}\"", HOSTILE.replace('"', "\"\""));
    file(
        "evals/skills/tidy2/prompts.csv".to_owned(),
        &format!("id,should_trigger,prompt,fixture,{quoted}\n{quoted},{quoted},x,{quoted},\n"),
    );
    let mut shown = 0;
    for arguments in [
        vec!["lint", "--check-evals"],
        vec!["list"],
        vec!["doctor"],
        vec!["run", "--dry-run"],
        vec!["run", "--run-id", "r"],
        vec!["run", "--run-id", "r", "--resume"],
        vec!["record", "r", "--accept-failing"],
        vec!["grade", "r"],
        vec!["grade", &format!("./{name}")],
        vec!["summary", "r"],
        vec!["generate"],
        vec!["stubs"],
        vec!["init", "--yes"],
        vec!["harness", "--", "--list"],
        vec!["harness", "--"],
        vec!["stop", "r"],
        vec!["clean", "--keep", "0"],
        vec!["mcp", "--skills", "skills"],
    ] {
        let ran = stub.run(&arguments);
        let text = format!("{}{}", ran.stdout, ran.stderr);
        shown += usize::from(text.contains("u{202e}"));
        assert_harmless(&text, &arguments.join(" "));
        assert!(!text.contains("panicked"), "{arguments:?}: {text}");
    }
    assert!(shown > 4, "what is shown of such names is spelled out: {shown}");
}

#[test]
fn live_characters_are_spelled_out_and_others_stay() {
    assert_eq!(escape::line("a\u{1b}[0m\tb\r\nc\u{85}\u{202e}é🦀"), "a\\u{1b}[0m b c\\u{85}\\u{202e}é🦀");
    assert_eq!(escape::block("a\tb\r\nc\rd\u{7f}\u{2028}"), "a\tb\nc\\u{d}d\\u{7f}\\u{2028}");
    assert_eq!(escape::line("plain text"), "plain text");
}

#[test]
fn markdown_is_text() {
    assert_eq!(escape::markdown("## a|b\n<!-- [x](y) `c` *d*"), "\\#\\# a\\|b \\<!-- \\[x\\](y) `c` \\*d\\*");
    assert_eq!(escape::code("a`b``c"), "```a`b``c```");
    assert_eq!(escape::code("`a\n"), "`` `a  ``");
}
