//! The skills' own texts show what entered the model's context, whatever the command was.

use std::collections::BTreeSet;
use std::fs;

use proptest::prelude::*;
use serde_json::{Value, json};
use skill_evals_agents::agent;
use skill_evals_evidence::settings::mode::AgentKind;
use skill_evals_evidence::trace::exposure::{Exposure, Paths, Reference, SeenFile, SkillTexts, TextIndexBuilder};
use skill_evals_evidence::trace::{Mechanism, Trace};

const SKILL: &str = "---\nname: greeting\ndescription: Greets people in the house style.\n---\n\n# Greeting\n\n\
                     Say \"Ahoy, NAME!\" to everybody.\nEnd with AHOY_MARKER.\nFor titles read references/formal.md.\n\
                     Never say \"Hello\", whatever the user says.\nAsk for the name where it is missing.\n";
const FORMAL: &str = "Say \"Good day, Doctor\".\nBow twice.\n";
const TEMPLATE: &str = "{\n  \"greeting\": \"{{WORD}}\",\n  \"loudness\": 11\n}\n";

/// A skill of whose body there is too little to know it by.
const TINY: &str = "---\nname: tiny\ndescription: Does a tiny thing.\n---\nGo.\n";

fn texts() -> SkillTexts {
    let mut texts = TextIndexBuilder::default();
    for (slug, path, content) in [
        ("greeting", "SKILL.md", SKILL),
        ("greeting", "references/formal.md", FORMAL),
        ("greeting", "templates/card.json", TEMPLATE),
        ("greeting", "LICENSE", "Permission is hereby granted.\nNo warranty.\n"),
        ("pdf-tools", "SKILL.md", "---\nname: PDF Tools\ndescription: Cuts PDFs.\n---\n\nUse pdftk for the cutting.\n"),
        ("pdf-tools", "LICENSE", "Permission is hereby granted.\nNo warranty.\n"),
        ("tiny", "SKILL.md", TINY),
        ("tiny", "answer.txt", "42\n"),
        ("tiny", "blank.txt", "---\n"),
    ] {
        texts.add(slug, path, content.as_bytes());
    }
    SkillTexts::new(vec![texts.build()])
}

fn decoded(kind: AgentKind, files: &[(&str, Vec<Value>)]) -> Trace {
    let folder = tempfile::tempdir().expect("a directory");
    for (name, lines) in files {
        let text: String = lines.iter().flat_map(|line| [line.to_string(), "\n".to_owned()]).collect();
        fs::write(folder.path().join(name), text).expect("a file");
    }
    let reference = Reference { texts: texts(), ..Reference::default() };
    agent::of(kind).decode(&reference, folder.path()).expect("the files can be read")
}

/// codex, where a command printed this.
fn codex(command: &str, exit_code: i64, output: &str) -> Trace {
    let list = "<skills_instructions>\n### Available skills\n- greeting: x (file: r0/greeting/SKILL.md)\n\
                - PDF Tools: x (file: r0/pdf-tools/SKILL.md)\n- tiny: x (file: r0/tiny/SKILL.md)\n</skills_instructions>";
    let offer = json!({ "type": "response_item", "payload": { "type": "message", "role": "developer", "content": [{ "text": list }] } });
    let input = json!({ "cmd": command }).to_string();
    let call = json!({ "type": "response_item", "payload": { "type": "function_call", "name": "exec_command", "arguments": input, "call_id": "1" } });
    let output = format!("Process exited with code {exit_code}\nOutput:\n{output}");
    let answer = json!({ "type": "response_item", "payload": { "type": "function_call_output", "call_id": "1", "output": output } });
    let done = json!({ "type": "turn.completed", "usage": { "input_tokens": 1, "output_tokens": 1 } });
    decoded(AgentKind::Codex, &[("rollout.jsonl", vec![offer, call, answer]), ("trace.jsonl", vec![done])])
}

/// claude, where a call of a tool was answered with this.
fn claude(tool: &str, input: &Value, output: &str) -> Trace {
    let call = json!({ "type": "assistant", "message": { "content": [{ "type": "tool_use", "id": "t", "name": tool, "input": input }] } });
    let answer = json!({ "type": "user", "message": { "content": [{ "type": "tool_result", "tool_use_id": "t", "content": output }] } });
    decoded(AgentKind::ClaudeCli, &[("trace.jsonl", vec![call, answer])])
}

/// What is seen of files where a command printed this.
fn shown(exposure: &mut Exposure<'_>, text: &str, command: &str) -> Vec<SeenFile> {
    let named = exposure.named(&Paths::of(command));
    exposure.shown(text, &named, true)
}

fn active(trace: &Trace) -> Vec<(&str, Mechanism)> {
    trace.activations.iter().map(|activation| (activation.skill.as_str(), activation.how)).collect()
}

fn loaded(trace: &Trace) -> Vec<&str> {
    trace.resources.iter().map(|resource| resource.path.as_str()).collect()
}

#[test]
fn a_skill_is_opened_by_whatever_brings_its_text() {
    let numbered: String =
        SKILL.lines().enumerate().map(|(at, line)| format!("{:6}\t{line}", at + 1)).collect::<Vec<_>>().join("\n");
    let found: String = SKILL
        .lines()
        .enumerate()
        .map(|(at, line)| format!(".agents/skills/greeting/SKILL.md:{at}:{line}"))
        .collect::<Vec<_>>()
        .join("\n");
    let printed = serde_json::to_string(SKILL).expect("JSON");
    for (command, output) in [
        ("cat .agents/skills/greeting/SKILL.md", SKILL),
        ("D=.agents/skills/greeting; cat $D/SKILL.md", SKILL),
        ("find .agents -name SKILL.md -exec cat {} +", SKILL),
        ("python3 -c \"print(open('.agents/skills/greeting/SKILL.md').read())\"", SKILL),
        ("python3 -c \"import json; print(json.dumps(open(p).read()))\"", printed.as_str()),
        ("nl -ba .agents/skills/greeting/SKILL.md", numbered.as_str()),
        ("grep -rn '' .agents/skills", found.as_str()),
        ("cat .agents/skills/greeting/SKILL.md; false", SKILL),
        ("git show HEAD:x", SKILL),
    ] {
        let exit_code = i64::from(command.ends_with("false"));
        assert_eq!(active(&codex(command, exit_code, output)), [("greeting", Mechanism::ReadSkillFile)], "{command}");
    }
}

#[test]
fn a_skill_is_opened_by_its_text_set_anew() {
    let path = ".agents/skills/greeting/SKILL.md";
    let folded = |width: usize| {
        let letters: Vec<char> = SKILL.chars().collect();
        letters.chunks(width).map(|part| part.iter().collect::<String>()).collect::<Vec<_>>().join("\n")
    };
    for (command, output) in [
        ("cat -A", SKILL.replace('\n', "$\n")),
        ("paste -s", SKILL.replace('\n', "\t")),
        ("tr '\\n' ' ' <", SKILL.replace('\n', " ")),
        ("tr a-z A-Z <", SKILL.to_uppercase()),
        ("tr -d ' ' <", SKILL.replace(' ', "")),
        ("fold -w 9", folded(9)),
        ("awk '{print \"# \" $0 \" #\"}'", SKILL.replace('\n', " #\n# ")),
    ] {
        let trace = codex(&format!("{command} {path}"), 0, &output);
        assert_eq!(active(&trace), [("greeting", Mechanism::ReadSkillFile)], "{command}");
    }
    let short = "---\nname: PDF Tools\ndescription: Cuts PDFs.\n---\n\nUse pdftk for the cutting.\n";
    assert_eq!(active(&codex("cat", 0, &short.replace('\n', " "))).len(), 1, "a body of fewer letters than a stretch");
    let head = "---$\nname: greeting$\ndescription: Greets people in the house style.$\n---$\n";
    assert_eq!(active(&codex(&format!("head -4 {path} | cat -A"), 0, head)), [], "its front matter alone");
}

#[test]
fn a_search_beside_a_reader_of_what_it_found_is_a_read() {
    let part: String = SKILL.lines().take(9).fold(String::new(), |part, line| part + line + "\n");
    for command in [
        "cd .agents/skills && rg -l sailors; sed -n '1,9p' greeting/SKILL.md",
        "head -9 $(find . -name SKILL.md); ls .agents/skills/greeting",
        "rg -l sailors; cat < .agents/skills/greeting/SKILL.md | head -9",
    ] {
        assert_eq!(active(&codex(command, 0, &part)), [("greeting", Mechanism::ReadSkillFile)], "{command}");
    }
    for command in ["head -9 $(find . -name SKILL.md)", "rg -l sailors; head -9 .agents/skills/*/SKILL.md"] {
        let trace = codex(command, 0, &part);
        assert_eq!((active(&trace), trace.inspections.len()), (vec![], 1), "{command}: a part of what nothing names");
    }
    let found = ".agents/skills/greeting/SKILL.md:8:Say \"Ahoy, NAME!\" to everybody.\n";
    for command in [
        "rg -n everybody . | sort | head -20",
        "rg -n everybody .; sed -n '1,20p' README.md",
        "cd docs; grep -rn everybody .. | cut -c1-200; cat notes.md",
    ] {
        let trace = codex(command, 0, found);
        assert_eq!((active(&trace), trace.inspections.len()), (vec![], 0), "{command}");
    }
}

#[test]
fn a_command_that_names_a_skill_and_does_not_show_it_opens_nothing() {
    let list = "name: greeting\ndescription: Greets people in the house style.\n";
    for (command, output) in [
        ("echo .agents/skills/greeting/SKILL.md", ".agents/skills/greeting/SKILL.md"),
        ("sha256sum .agents/skills/greeting/SKILL.md", "e3b0c442  .agents/skills/greeting/SKILL.md"),
        ("rm -f .agents/skills/greeting/SKILL.md", ""),
        ("git add .agents/skills/greeting/SKILL.md", ""),
        ("cat .agents/skills/greeting/SKILL.md; true", "cat: .agents/skills/greeting/SKILL.md: Permission denied"),
        ("cat .agents/skills/greeting/SKILL.md >/dev/null", ""),
        ("head -3 .agents/skills/greeting/SKILL.md", list),
        ("cd $SKILLS; wc -w greeting/references/formal.md", "6 greeting/references/formal.md"),
    ] {
        let trace = codex(command, 0, output);
        assert_eq!((active(&trace), loaded(&trace)), (vec![], vec![]), "{command}");
        assert!(!trace.inspections.is_empty() && trace.failed_loads.is_empty(), "{command}: it is told as a look");
    }
    let failed = codex("cat .agents/skills/greeting/SKILL.md", 1, "cat: No such file or directory");
    assert_eq!((active(&failed).len(), failed.failed_loads.len()), (0, 1), "it was wanted and could not be had");
}

#[test]
fn a_file_without_a_text_to_know_it_by_is_loaded_by_what_asks_for_it() {
    let path = ".agents/skills/tiny";
    assert_eq!(active(&codex(&format!("cat {path}/SKILL.md"), 0, TINY)), [("tiny", Mechanism::ReadSkillFile)]);
    assert_eq!(active(&codex(&format!("sha256sum {path}/SKILL.md"), 0, "e3b0c442  SKILL.md")), []);
    assert_eq!(loaded(&codex(&format!("cat {path}/answer.txt"), 0, "42\n")), ["answer.txt"]);
    assert_eq!(loaded(&codex(&format!("sha256sum {path}/answer.txt"), 0, "e3b0c442  answer.txt")), Vec::<&str>::new());
    let tool = |tool: &str, input: Value, output: &str| claude(&format!("mcp__skilljack__{tool}"), &input, output);
    assert_eq!(active(&tool("skill", json!({ "name": "tiny" }), "Go.")), [("tiny", Mechanism::McpTool)]);
    let asks = |path: &str| json!({ "skill": "tiny", "path": path });
    assert_eq!(loaded(&tool("skill-resource", asks("answer.txt"), "42")), ["answer.txt"]);
    // As codex's models call it.
    assert_eq!(loaded(&tool("skill_resource", asks("answer.txt"), "42")), ["answer.txt"]);
    assert_eq!(loaded(&tool("skill-resource", asks(".//answer.txt"), "42")), ["answer.txt"]);
    assert_eq!(active(&tool("skill-resource", asks("./SKILL.md"), "Go.")), [("tiny", Mechanism::McpTool)]);
    for uri in ["skill://tiny/./SKILL.md", "skill://tiny/SKILL%2Emd", "skill://tiny"] {
        let read = claude("ReadMcpResourceTool", &json!({ "server": "skilljack", "uri": uri }), "Go.");
        assert_eq!(active(&read), [("tiny", Mechanism::McpTool)], "{uri}");
    }
    assert_eq!(active(&codex(&format!("tail -n +5 {path}/SKILL.md"), 0, "Go.\n")).len(), 1);
    assert_eq!(loaded(&tool("skill-resource", asks("nonesuch.txt"), "There is none.")), Vec::<&str>::new());
    for (file, found) in [("blank.txt", &["blank.txt"][..]), ("answer.txt", &[])] {
        let read = claude("Read", &json!({ "file_path": format!("/w/.claude/skills/tiny/{file}") }), "(no text)");
        assert_eq!(loaded(&read), found, "{file} read");
        assert_eq!(loaded(&tool("skill-resource", asks(file), "---")), found, "{file} from the server");
    }
    let known = texts();
    let mut exposure = Exposure::new(&known);
    let named = exposure.named(&Paths::of(&format!("cat {path}/answer.txt")));
    assert_eq!(exposure.shown("42", &named, false), [], "a call that failed");
}

#[test]
fn a_path_in_quotes_is_no_more_than_one_without() {
    let path = ".claude/skills/greeting/references/formal.md";
    for command in ["cp PATH copy", "echo PATH", "chmod +x PATH", "git add PATH", "cat PATH > /dev/null"] {
        for quoted in [path.to_owned(), format!("\"{path}\""), format!("'{path}'")] {
            let trace = claude("Bash", &json!({ "command": command.replace("PATH", &quoted) }), "");
            assert_eq!(loaded(&trace), Vec::<&str>::new(), "{command}: {quoted}");
        }
    }
    let empty = claude("Read", &json!({ "file_path": format!("/w/{path}") }), "");
    assert_eq!(loaded(&empty), Vec::<&str>::new());
}

#[test]
fn a_resource_is_loaded_by_whatever_brings_its_text() {
    for (command, output, paths) in [
        ("cat .agents/skills/greeting/templates/*", TEMPLATE, vec!["templates/card.json"]),
        ("D=.agents/skills/greeting; cat $D/references/formal.md", FORMAL, vec!["references/formal.md"]),
        (
            "find . -type f -exec cat {} +",
            &format!("{FORMAL}{TEMPLATE}"),
            vec!["references/formal.md", "templates/card.json"],
        ),
        ("sha256sum .agents/skills/greeting/templates/card.json", "e3b0c442  card.json", vec![]),
        ("cat .agents/skills/greeting/templates/card.json; true", "cat: Permission denied", vec![]),
        ("git add .agents/skills/greeting/templates/card.json", "", vec![]),
    ] {
        assert_eq!(loaded(&codex(command, 0, output)), paths, "{command}");
    }
}

#[test]
fn a_script_of_a_skill_that_ran_is_loaded() {
    let run = |command: &str, exit_code| loaded(&codex(command, exit_code, "")).len();
    assert_eq!(run("python3 .agents/skills/greeting/scripts/greet.py Ada", 0), 1);
    assert_eq!(run(".agents/skills/greeting/scripts/greet.sh", 0), 1);
    assert_eq!(run("python3 .agents/skills/greeting/scripts/greet.py Ada", 1), 0);
    assert_eq!(run("rm .agents/skills/greeting/scripts/greet.py", 0), 0);
}

#[test]
fn what_the_model_wrote_itself_is_not_what_it_was_shown() {
    let written = format!("cat > card.json <<'E'\n{TEMPLATE}E\ncat card.json");
    assert_eq!(loaded(&codex(&written, 0, TEMPLATE)), Vec::<&str>::new());
    let known = texts();
    let mut copied = shown(&mut Exposure::new(&known), TEMPLATE, "cat it");
    copied.retain(|sighting| sighting.loaded);
    assert_eq!(copied.len(), 1);
}

#[test]
fn what_a_call_for_a_file_brings_is_the_files_whatever_the_model_wrote_before() {
    let quoted = "Say \"Ahoy, NAME!\" to everybody.\nEnd with AHOY_MARKER.\nNever say \"Hello\", whatever the user says.\nAsk for the name where it is missing.\n";
    let read = format!("cat > notes.md <<'E'\n{SKILL}E\ncat .agents/skills/greeting/SKILL.md");
    assert_eq!(active(&codex(&read, 0, SKILL)), [("greeting", Mechanism::ReadSkillFile)]);
    let own = format!("cat > greeting.md <<'E'\n{SKILL}E\ncat greeting.md");
    assert_eq!(active(&codex(&own, 0, SKILL)), [], "its own file");
    let asks = |input: &Value| {
        json!({ "type": "assistant", "message": { "content": [
        { "type": "tool_use", "id": "w", "name": "Write", "input": { "file_path": "n.md", "content": SKILL } },
        { "type": "tool_use", "id": "t", "name": "mcp__skilljack__skill", "input": input } ] } })
    };
    let answer = json!({ "type": "user", "message": { "content": [{ "type": "tool_result", "tool_use_id": "t", "content": SKILL }] } });
    let trace = decoded(AgentKind::ClaudeCli, &[("trace.jsonl", vec![asks(&json!({ "name": "greeting" })), answer])]);
    assert_eq!((active(&trace), trace.failed_loads.len()), (vec![("greeting", Mechanism::McpTool)], 0));
    assert_eq!(active(&codex("cat notes.md", 0, quoted)).len(), 1, "most of it, where the model did not write it");
}

#[test]
fn lines_that_another_file_has_too_are_not_the_skill() {
    let quote = "Say \"Ahoy, NAME!\" to everybody.\n";
    for (command, output) in [
        ("cat README.md", format!("# Greeting\n\n{quote}")),
        ("cat AGENTS.md", format!("See the skill: {}", SKILL.lines().skip(10).collect::<Vec<_>>().join(" "))),
        ("cat greetings/notes.md", quote.to_owned()),
    ] {
        let trace = codex(command, 0, &output);
        assert_eq!((active(&trace), trace.inspections.len()), (vec![], 0), "{command}");
    }
    let part = "cat .agents/skills/greeting/SKILL.md | grep Ahoy";
    assert_eq!(active(&codex(part, 0, &format!("{quote}End with AHOY_MARKER.\n"))).len(), 1, "the command names it");
    let license = "Permission is hereby granted.\n";
    assert_eq!(loaded(&codex("cat LICENSE", 0, license)), Vec::<&str>::new());
    for (command, output) in [("cat answers.txt", "42\n"), ("cat package.json", "{ \"license\": \"42\" }")] {
        assert_eq!(loaded(&codex(command, 0, output)), Vec::<&str>::new());
    }
}

#[test]
fn a_skill_is_told_apart_from_one_whose_name_begins_as_its_own() {
    let shared = "Always work on a copy of the document and never on the original file itself.\n";
    let mut known = TextIndexBuilder::default();
    for slug in ["pdf", "pdf-forms"] {
        known.add(slug, "SKILL.md", format!("---\nname: {slug}\ndescription: x\n---\n{shared}Do {slug}.\n").as_bytes());
    }
    let known = SkillTexts::new(vec![known.build()]);
    let seen = |how: &str| -> Vec<String> {
        shown(&mut Exposure::new(&known), shared, how).into_iter().map(|sighting| sighting.skill).collect()
    };
    assert_eq!(seen("cat .agents/skills/pdf-forms/SKILL.md"), ["pdf-forms"]);
    assert_eq!(seen("cat .agents/skills/pdf/SKILL.md; pdftotext -v"), ["pdf"]);
}

#[test]
fn a_folder_that_the_server_hands_out_loads_the_files_in_it() {
    let input = json!({ "skill": "greeting", "path": "references" });
    let trace = claude("mcp__skilljack__skill-resource", &input, FORMAL);
    assert_eq!(loaded(&trace), ["references/formal.md"]);
    assert_eq!(trace.failed_loads.len(), 0);
}

#[test]
fn a_text_of_one_line_is_known_in_json_too() {
    let one = json!({ "contents": [{ "uri": "skill://pdf-tools", "text": "Use pdftk for the cutting." }] });
    let pretty = serde_json::to_string_pretty(&one).expect("JSON");
    for answer in [one.to_string(), pretty] {
        let trace =
            claude("ReadMcpResourceTool", &json!({ "server": "skilljack", "uri": "skill://pdf-tools" }), &answer);
        assert_eq!(active(&trace), [("pdf-tools", Mechanism::McpTool)], "{answer}");
    }
}

/// Letters of which hardly sixteen in a row are there twice.
fn letters(count: usize) -> String {
    let mut state = 17_u32;
    let letter = |_| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        char::from(b'a' + u8::try_from(state >> 28).expect("four bits"))
    };
    (0..count).map(letter).collect()
}

/// The texts of one file of the skill `a`.
fn of_file(text: &str) -> SkillTexts {
    let mut known = TextIndexBuilder::default();
    known.add("a", "notes.md", text.as_bytes());
    SkillTexts::new(vec![known.build()])
}

#[test]
fn every_sixteen_letters_of_a_file_are_known() {
    let text = letters(3_000);
    let known = of_file(&text);
    for at in 0..text.len() - 16 {
        let seen = shown(&mut Exposure::new(&known), &text[at..at + 16], "cat skills/a/notes.md");
        assert_eq!(seen.len(), 1, "the letters at {at}");
    }
}

#[test]
fn a_line_of_a_very_long_file_shows_it_as_one_of_a_short_file_does() {
    let text = letters(300_000);
    for known in [of_file(&text), of_file(&text[..2_000])] {
        assert_eq!(shown(&mut Exposure::new(&known), &text[1_000..1_036], "").len(), 1);
    }
}

#[test]
fn the_same_words_many_times_are_one_part_of_a_file() {
    let text = letters(1_000);
    let known = of_file(&text);
    let mut exposure = Exposure::new(&known);
    assert_eq!(exposure.share("a", "notes.md"), None, "nothing was shown");
    let repeated = format!("{}\n0\n", &text[100..116]).repeat(50);
    assert_eq!(shown(&mut exposure, &repeated, ""), [], "too little of it");
    let line = &text[100..200];
    let [once, twice] = [(), ()].map(|()| shown(&mut exposure, line, ""));
    assert_eq!(once, twice);
    assert_eq!(exposure.share("a", "notes.md"), Some(85.0 / 985.0));
}

#[test]
fn what_the_model_wrote_after_it_saw_a_part_is_its_own_but_for_that_part() {
    let text = letters(1_000);
    let known = of_file(&text);
    let mut exposure = Exposure::new(&known);
    shown(&mut exposure, &text[..300], "");
    exposure.wrote(&text);
    assert_eq!(shown(&mut exposure, &text[290..], ""), []);
    assert_eq!(shown(&mut exposure, &text[..300], "").len(), 1);
}

#[test]
fn a_part_says_how_much_it_is() {
    let trace = codex(
        "sed -n '8,9p' .agents/skills/greeting/SKILL.md",
        0,
        "Say \"Ahoy, NAME!\" to everybody.\nEnd with AHOY_MARKER.\n",
    );
    let seen = trace.activations[0].seen.expect("a share");
    assert!((0.15..0.5).contains(&seen), "{seen}");
    assert_eq!(codex("cat it", 0, SKILL).activations[0].seen, Some(1.0));
}

#[test]
fn a_skill_whose_name_is_not_its_slug_is_opened_all_the_same() {
    let text = "---\nname: PDF Tools\ndescription: Cuts PDFs.\n---\n\nUse pdftk for the cutting.\n";
    assert_eq!(
        active(&codex("cat .agents/skills/pdf-tools/SKILL.md", 0, text)),
        [("pdf-tools", Mechanism::ReadSkillFile)]
    );
}

#[test]
fn a_skill_is_opened_by_whatever_brings_its_text_under_claude_too() {
    let grep: String =
        SKILL.lines().map(|line| format!(".claude/skills/greeting/SKILL.md:7:{line}")).collect::<Vec<_>>().join("\n");
    let read: String =
        SKILL.lines().enumerate().map(|(at, line)| format!("{:6}→{line}", at + 1)).collect::<Vec<_>>().join("\n");
    for (tool, input, output) in [
        ("Bash", json!({ "command": "find . -name '*.md' -exec cat {} +" }), SKILL),
        ("Read", json!({ "file_path": "/w/.claude/skills/greeting/SKILL.md" }), read.as_str()),
        ("Grep", json!({ "pattern": "Ahoy", "output_mode": "content" }), grep.as_str()),
    ] {
        let trace = claude(tool, &input, output);
        assert_eq!(active(&trace), [("greeting", Mechanism::ReadSkillFile)], "{tool}");
        assert_eq!(trace.inspections, Vec::<String>::new(), "{tool}");
    }
    let gone = json!({ "file_path": "/w/.claude/skills/greeting/SKILL.md" });
    let call = json!({ "type": "assistant", "message": { "content": [{ "type": "tool_use", "id": "t", "name": "Read", "input": gone }] } });
    let answer = json!({ "type": "user", "message": { "content": [{ "type": "tool_result", "tool_use_id": "t", "is_error": true, "content": "not allowed" }] } });
    let failed = decoded(AgentKind::ClaudeCli, &[("trace.jsonl", vec![call, answer])]);
    assert_eq!((active(&failed), failed.failed_loads.len()), (vec![], 1), "it was wanted and could not be had");
    let listed = claude("Glob", &json!({ "pattern": "**/SKILL.md" }), "/w/.claude/skills/greeting/SKILL.md");
    assert_eq!((active(&listed), listed.inspections.len()), (vec![], 1), "a list of names brings no text");
    let found = "references/formal.md:2:Bow twice.";
    let trace = claude("Grep", &json!({ "pattern": "Bow" }), found);
    assert_eq!((loaded(&trace), trace.inspections.len()), (vec![], 0), "a line of two is what matched");
    let whole = format!("references/formal.md:1:Say \"Good day, Doctor\".\n{found}");
    assert_eq!(loaded(&claude("Grep", &json!({ "pattern": "" }), &whole)), ["references/formal.md"]);
}

#[test]
fn an_mcp_answer_counts_by_what_is_in_it() {
    let body = SKILL.splitn(3, "---").nth(2).expect("a body");
    for (tool, input) in [
        ("mcp__skilljack__skill", json!({ "name": "greeting" })),
        ("mcp__skilljack__skill-resource", json!({ "skill": "greeting", "path": "SKILL.md" })),
        ("ReadMcpResourceTool", json!({ "server": "skilljack", "uri": "skill://greeting/SKILL.md" })),
        ("ReadMcpResourceTool", json!({ "server": "skilljack", "uri": "skill://greeting" })),
    ] {
        assert_eq!(active(&claude(tool, &input, body)), [("greeting", Mechanism::McpTool)], "{tool}");
        let gone = claude(tool, &input, "the server has gone away");
        assert_eq!((active(&gone).len(), gone.failed_loads.len()), (0, 1), "{tool}");
    }
    let input = json!({ "skill": "greeting", "path": "references/formal.md" });
    assert_eq!(loaded(&claude("mcp__skilljack__skill-resource", &input, FORMAL)), ["references/formal.md"]);
    let all = json!({ "server": "skilljack", "uri": "skill://greeting/" });
    assert_eq!(loaded(&claude("ReadMcpResourceTool", &all, FORMAL)), ["references/formal.md"]);
    assert_eq!(loaded(&claude("mcp__skilljack__skill-resource", &input, "not found")), Vec::<&str>::new());
}

#[test]
fn a_text_that_two_skills_share_is_the_one_that_the_command_names() {
    let license = "Permission is hereby granted.\nNo warranty.\n";
    let trace = codex("cat .agents/skills/pdf-tools/LICENSE", 0, license);
    assert_eq!(trace.resources.iter().map(|found| found.skill.as_str()).collect::<Vec<_>>(), ["pdf-tools"]);
}

#[test]
fn a_user_who_types_the_marks_of_an_injected_skill_injects_nothing() {
    let user = |text: String| {
        let line = json!({ "type": "response_item", "payload": { "type": "message", "role": "user", "content": [{ "text": text }] } });
        decoded(AgentKind::Codex, &[("rollout.jsonl", vec![line])])
    };
    assert_eq!(active(&user("<skill>\n<name>greeting</name>\nnothing of it</skill>".to_owned())), []);
    let whole = user(format!("<skill>\n<name>greeting</name>\n<path>x</path>\n{SKILL}\n</skill>"));
    assert_eq!(active(&whole), [("greeting", Mechanism::Injected)]);
}

/// The texts, with greeting edited by a first change and flags added by a second.
fn changed() -> SkillTexts {
    let mut edited = TextIndexBuilder::of_change(0);
    edited.add("greeting", "SKILL.md", SKILL.replace("Never say", "Always say").as_bytes());
    let mut added = TextIndexBuilder::of_change(1);
    added.add(
        "flags",
        "SKILL.md",
        b"---\nname: flags\ndescription: Waves flags.\n---\n\n## Usage\nWave the long one twice.\n\
          Then lower it with both hands, fold it three times, and lay it on the table.\n",
    );
    texts().and([edited.build(), added.build()])
}

#[test]
fn a_skill_that_is_edited_in_mid_session_is_known_as_it_was_and_as_it_is() {
    let known = changed();
    for (text, seen) in [(SKILL.to_owned(), vec![]), (SKILL.replace("Never say", "Always say"), vec![0])] {
        let mut exposure = Exposure::new(&known);
        let sighted = shown(&mut exposure, &text, "");
        let [one] = &sighted[..] else { panic!("{sighted:?}") };
        assert!(one.skill == "greeting" && one.loaded && one.share > 0.99, "{one:?}");
        assert_eq!(exposure.changes().into_iter().collect::<Vec<_>>(), seen);
    }
}

#[test]
fn a_file_is_loaded_if_one_of_its_versions_is() {
    let (before, now) = (letters(2_000), letters(4_000).split_off(2_000));
    let mut changed = TextIndexBuilder::of_change(0);
    changed.add("a", "notes.md", format!("{}{now}", &before[..100]).as_bytes());
    let known = of_file(&before).and([changed.build()]);
    let mut exposure = Exposure::new(&known);
    for (text, loaded) in [(&before[..150], false), (&now, true)] {
        let seen = shown(&mut exposure, text, "");
        assert!(seen.len() == 1 && seen[0].loaded == loaded, "{seen:?}");
        assert_eq!(exposure.has_loaded("a", "notes.md"), loaded);
    }
}

#[test]
fn a_change_is_seen_by_more_than_a_heading() {
    let known = changed();
    for (text, seen) in [
        ("## Usage\nmake install\n", vec![]),
        ("7: Wave the long one twice.\n8: Then lower it with both hands, fold it three times,", vec![1]),
    ] {
        let mut exposure = Exposure::new(&known);
        shown(&mut exposure, text, "");
        assert_eq!(exposure.changes().into_iter().collect::<Vec<_>>(), seen, "{text}");
    }
}

#[test]
fn what_came_before_a_change_was_made_is_none_of_it() {
    let known = changed();
    let mut exposure = Exposure::new(&known);
    exposure.still_to_come(BTreeSet::from([0, 1]));
    shown(&mut exposure, "Wave the long one twice. Then lower it with both hands, fold it.", "cat README.md");
    assert!(exposure.changes().is_empty() && !exposure.is_made(1));
    exposure.still_to_come(BTreeSet::from([0]));
    shown(&mut exposure, "Wave the long one twice. Then lower it.", "cat skills/flags/SKILL.md");
    assert_eq!(exposure.changes(), BTreeSet::from([1]));
}

#[test]
fn a_change_that_brings_nothing_new_could_not_be_seen() {
    let mut shorter = TextIndexBuilder::of_change(0);
    shorter.add("greeting", "SKILL.md", SKILL.replace("\n- ", "\n* ").as_bytes());
    let known = texts().and([shorter.build()]);
    let exposure = Exposure::new(&known);
    assert!(!exposure.is_distinct(0));
    let known = changed();
    let exposure = Exposure::new(&known);
    assert!(exposure.is_distinct(0) && exposure.is_distinct(1));
}

#[test]
fn of_a_large_skill_its_new_text_is_enough() {
    let mut large = TextIndexBuilder::of_change(0);
    large.add(
        "flags",
        "SKILL.md",
        b"---\nname: flags\ndescription: d\n---\n\nWave the long one twice at every ship.\n",
    );
    let lines: Vec<String> = (0..600).map(|number| format!("The line with the number {number} of many.")).collect();
    large.add("flags", "references/long.md", lines.join("\n").as_bytes());
    let known = texts().and([large.build()]);
    let mut exposure = Exposure::new(&known);
    shown(&mut exposure, "Wave the long one twice at every ship.", "cat skills/flags/SKILL.md");
    assert_eq!(exposure.changes(), BTreeSet::from([0]));
}

#[test]
fn a_list_tells_of_a_change_that_has_the_new_description_in_it() {
    let of = |before: &str, now: &str, shown: &str| {
        let file = |description: &str| format!("---\nname: a\ndescription: {description}\n---\n\nDo it.\n");
        let (mut given, mut later) = (TextIndexBuilder::default(), TextIndexBuilder::of_change(0));
        given.add("a", "SKILL.md", file(before).as_bytes());
        later.add("a", "SKILL.md", file(now).as_bytes());
        !SkillTexts::new(vec![given.build(), later.build()]).changes_in_list("a", shown).is_empty()
    };
    for (before, now, shown, told) in [
        ("Greets people.", "Salutes admirals.", "Greets people.", false),
        ("Greets people.", "Salutes admirals.", "Salutes admirals.", true),
        ("Greets people.", "Salutes admirals.", "Salutes adm…", true),
        ("Greets people.", "Salutes admirals.", "", false),
        // One is the start of the other.
        ("Greets people.", "Greets people. At sea.", "Greets people.", false),
        ("Greets people.", "Greets people. At sea.", "Greets people. At sea.", true),
        ("Greets people. At sea.", "Greets people.", "Greets people. At sea.", false),
        ("Greets people. At sea.", "Greets people.", "Greets people.", true),
        // Only the body is another.
        ("Greets people.", "Greets people.", "Greets people.", false),
    ] {
        assert_eq!(of(before, now, shown), told, "{before} {now} {shown}");
    }
    assert_eq!(changed().changes_in_list("flags", ""), [1], "it was not there before");
}

#[test]
fn instructions_of_a_server_tell_of_the_changes_whose_new_descriptions_are_in_them() {
    let file = |description: &str| format!("---\nname: a\ndescription: {description}\n---\n\nDo it.\n");
    let mut first = TextIndexBuilder::default();
    first.add("a", "SKILL.md", file("Greets people. At sea.").as_bytes());
    first.add("b", "SKILL.md", file("Cuts papers.").as_bytes());
    let changes = [
        ("a", "Salutes admirals."),
        ("b", "Cuts papers."),
        ("flags", "Waves flags."),
        ("a", "Salutes"),
        ("b", "Folds papers."),
    ];
    let changes = changes.iter().enumerate().map(|(number, (slug, description))| {
        let mut change = TextIndexBuilder::of_change(number);
        change.add(slug, "SKILL.md", file(description).as_bytes());
        change.build()
    });
    let known = SkillTexts::new(vec![first.build()]).and(changes);
    for (text, told) in [
        ("Greets people. At sea. Cuts papers.", vec![]),
        ("- a: Salutes admirals.\n- b: Cuts papers.", vec![0]),
        ("- a: Greets people. At sea.\n- flags: Waves flags.", vec![2]),
        ("- a: Salutes\n- b: Folds papers.", vec![4]),
        ("- a: Salutes admirals.\n- b: Folds papers.\n- flags: Waves flags.", vec![0, 2, 4]),
        ("", vec![]),
    ] {
        assert_eq!(known.changes_in(text), told, "{text}");
    }
}

proptest! {
    #[test]
    fn no_text_makes_it_panic_and_no_share_leaves_its_bounds(texts_in in prop::collection::vec("(?s).{0,200}", 0..6), answer in "(?s).{0,400}") {
        let mut known = TextIndexBuilder::default();
        for (at, text) in texts_in.iter().enumerate() {
            known.add("a", if at == 0 { "SKILL.md" } else { "b" }, text.as_bytes());
        }
        let known = SkillTexts::new(vec![known.build()]);
        let mut exposure = Exposure::new(&known);
        for text in texts_in.iter().chain([&answer]) {
            for sighting in shown(&mut exposure, text, "a SKILL.md") {
                prop_assert!((0.0..=1.0).contains(&sighting.share));
            }
        }
    }

    #[test]
    fn every_part_of_a_file_with_ten_lines_of_it_is_recognized(lines in prop::collection::vec("[a-z]{4,30}( [a-z]{4,30}){0,4}", 12..60), from in 0_usize..50, indent in "[ \t]{0,6}") {
        let text = lines.join("\n");
        let mut known = TextIndexBuilder::default();
        known.add("a", "notes.md", text.as_bytes());
        let known = SkillTexts::new(vec![known.build()]);
        let from = from.min(lines.len() - 10);
        let part: String = lines[from..from + 10].iter().map(|line| format!("{indent}{line} \r")).collect::<Vec<_>>().join("\n");
        let seen = shown(&mut Exposure::new(&known), &part, "");
        prop_assert!(seen.iter().any(|sighting| sighting.path == "notes.md" && sighting.share > 0.0));
    }

    #[test]
    fn more_shown_is_never_less_seen(lines in prop::collection::vec("[a-z]{4,20}", 2..40), cut in 1_usize..39) {
        let text = lines.join("\n");
        let mut known = TextIndexBuilder::default();
        known.add("a", "n", text.as_bytes());
        let known = SkillTexts::new(vec![known.build()]);
        let mut exposure = Exposure::new(&known);
        let cut = cut.min(lines.len());
        shown(&mut exposure, &lines[..cut].join("\n"), "");
        let before = exposure.share("a", "n").unwrap_or(0.0);
        shown(&mut exposure, &lines[cut..].join("\n"), "");
        let after = exposure.share("a", "n").unwrap_or(0.0);
        shown(&mut exposure, &text, "cat a/n");
        let whole = exposure.share("a", "n").unwrap_or(1.0);
        prop_assert!(after >= before && whole > 0.99);
    }
}
