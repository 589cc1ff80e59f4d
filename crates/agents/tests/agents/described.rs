//! How much of a skill's description entered the model's context, read from the files of agents and from recordings of
//! them.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};
use skill_evals_agents::agent;
use skill_evals_evidence::settings::mode::AgentKind;
use skill_evals_evidence::trace::exposure::DescriptionVisibility;
use skill_evals_evidence::trace::exposure::{Reference, SkillTexts, TextIndexBuilder};

const GREETING: &str = "Greets people: a <word> & a bow. Use when asked to greet somebody.";

/// What codex says of its own skill, and must not be in a recording.
const CODEX_OWN: &str = "Generate raster images";

fn reference() -> Reference {
    let mut texts = TextIndexBuilder::default();
    for (slug, description) in [("greeting", GREETING), ("other", "Does something else.")] {
        let text =
            format!("---\nname: {slug}\ndescription: |\n  {}\n---\n\nDo it.\n", description.replace(". ", ".\n  "));
        texts.add(slug, "SKILL.md", text.as_bytes());
    }
    Reference { texts: SkillTexts::new(vec![texts.build()]), ..Reference::default() }
}

fn write(folder: &Path, name: &str, lines: &[Value]) {
    let text: String = lines.iter().flat_map(|line| [line.to_string(), "\n".to_owned()]).collect();
    fs::write(folder.join(name), text).expect("a file");
}

/// How the description of `greeting` reads in these files, and in a recording of them.
fn described(kind: AgentKind, files: &[(&str, Vec<Value>)]) -> DescriptionVisibility {
    let (left, recorded) = (tempfile::tempdir().expect("a directory"), tempfile::tempdir().expect("a directory"));
    for (name, lines) in files {
        write(left.path(), name, lines);
    }
    for (name, content) in agent::of(kind).recorded_evidence(left.path(), &["greeting"]).expect("the files") {
        assert!(!String::from_utf8_lossy(&content).contains(CODEX_OWN));
        fs::write(recorded.path().join(name), content).expect("a file");
    }
    let read = |folder: &Path| {
        let trace = agent::of(kind).decode(&reference(), folder).expect("the files can be read");
        trace.offered.expect("a list").described.get("greeting").copied().unwrap_or_default()
    };
    assert_eq!(read(left.path()), read(recorded.path()), "a recording shows as much");
    read(left.path())
}

/// codex's list with this text before the file of `greeting`.
fn by_codex(entry: &str) -> DescriptionVisibility {
    let list = format!(
        "<skills_instructions>\n## Skills\n### Skill roots\n- `r0` = `/x/.system`\n### Available skills\n\
         - imagegen: {CODEX_OWN}. (file: r0/imagegen/SKILL.md)\n- {entry}(file: r1/greeting/SKILL.md)\n\
         - other: Does something else. (file: r1/other/SKILL.md)\n</skills_instructions>"
    );
    let payload = json!({ "type": "message", "role": "developer", "content": [{ "text": list }] });
    described(
        AgentKind::Codex,
        &[
            (
                "trace.jsonl",
                vec![json!({ "type": "turn.completed", "usage": { "input_tokens": 1, "output_tokens": 1 } })],
            ),
            ("rollout.jsonl", vec![json!({ "type": "response_item", "payload": payload })]),
        ],
    )
}

#[test]
fn the_list_of_codex_shows_all_of_a_description_its_start_or_the_name() {
    assert_eq!(by_codex(&format!("greeting: {GREETING} ")), DescriptionVisibility::Whole);
    let of = GREETING.chars().count();
    assert_eq!(by_codex("greeting: Greets people: a <w "), DescriptionVisibility::Cut { characters: 19, of });
    assert_eq!(by_codex("greeting: Greets people... "), DescriptionVisibility::Cut { characters: 13, of });
    assert_eq!(by_codex("greeting: "), DescriptionVisibility::NameOnly);
    assert_eq!(by_codex("greeting: Says goodbye. "), DescriptionVisibility::Unknown);
    assert_eq!(by_codex("greeting: … "), DescriptionVisibility::Unknown, "as recordings had it that kept names only");
}

/// claude's session with these attachments.
fn by_claude(attachments: &[Value]) -> DescriptionVisibility {
    let init = json!({ "type": "system", "subtype": "init", "skills": ["greeting", "other", "verify"], "tools": [] });
    let lines = attachments.iter().map(|attachment| json!({ "type": "attachment", "attachment": attachment }));
    described(AgentKind::ClaudeCli, &[("trace.jsonl", vec![init]), ("session.jsonl", lines.collect())])
}

fn list(greeting: &str) -> Value {
    let content = format!("{greeting}\n- other: Does something else.\n- verify: {CODEX_OWN}.\nTRIGGER when asked.");
    json!({ "type": "skill_listing", "names": ["greeting", "other", "verify"], "content": content })
}

#[test]
fn the_list_of_claude_shows_all_of_a_description_its_start_or_the_name() {
    let lines = GREETING.replace(". ", ".\n");
    assert_eq!(by_claude(&[list(&format!("- greeting: {lines}"))]), DescriptionVisibility::Whole);
    assert_eq!(
        by_claude(&[list(&format!("- greeting: {lines} - When somebody comes."))]),
        DescriptionVisibility::Whole
    );
    let of = GREETING.chars().count();
    assert_eq!(by_claude(&[list("- greeting: Greets peop…")]), DescriptionVisibility::Cut { characters: 11, of });
    assert_eq!(by_claude(&[list("- greeting")]), DescriptionVisibility::NameOnly);
    assert_eq!(by_claude(&[]), DescriptionVisibility::Unknown, "without a list");
    let names_only = json!({ "type": "skill_listing", "names": ["greeting", "other", "verify"] });
    assert_eq!(by_claude(&[names_only]), DescriptionVisibility::Unknown, "as recordings had it that kept names only");
}

#[test]
fn a_line_of_a_description_that_looks_like_an_entry_is_none() {
    let mut list = list("- first: Begins.\n- other: greets too\n- greeting");
    list["names"] = json!(["first", "greeting", "other", "verify"]);
    assert_eq!(by_claude(&[list]), DescriptionVisibility::NameOnly);
}

#[test]
fn instructions_of_the_server_of_skills_show_a_description_or_nothing() {
    let told = |server: &str, text: String| {
        by_claude(&[json!({ "type": "mcp_instructions_delta", "addedNames": [server], "addedBlocks": [text] })])
    };
    let escaped = GREETING.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    let whole = format!("## skilljack\n<skill><name>greeting</name><description>{escaped}</description></skill>");
    assert_eq!(told("skilljack", whole.clone()), DescriptionVisibility::Whole);
    assert_eq!(
        told("skilljack", whole[..90].to_owned()),
        DescriptionVisibility::Unknown,
        "the rest may stand elsewhere"
    );
    assert_eq!(told("another", whole), DescriptionVisibility::Unknown);
}
