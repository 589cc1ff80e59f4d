//! What the real programs show their models of 10, 100 and 500 skills: the table of docs/contributing/agents.md.
//! `cargo test -p skill-evals-cli --test catalogues` prints it, with names of rows behind `--` only those. A stand-in plays the model, and
//! every cell is read from the request that it got.

#[path = "../support/mod.rs"]
mod support;

use skill_evals_evidence::trace::exposure::DescriptionVisibility;
use support::catalogue::{catalogue, shown};
use support::live::Live;
use support::stand_in::Turn;

const COUNTS: [usize; 3] = [10, 100, 500];
const LENGTHS: [usize; 4] = [60, 200, 500, 1_024];

/// A row's name, its mode, the model to ask for, and lines of evals.toml.
const ROWS: [(&str, &str, &str, &str); 8] = [
    ("codex, 272,000 tokens", "codex", "", ""),
    ("codex, 128,000 tokens", "codex", "", "[agents.codex]\nargs = [\"-c\", \"model_context_window=128000\"]\n"),
    ("`claude-haiku-4-5`, 200,000", "cli-native", "claude-haiku-4-5", ""),
    ("`claude-sonnet-5`, 200,000", "cli-native", "claude-sonnet-5", ""),
    ("no model chosen, 1,000,000", "cli-native", "", ""),
    ("the same under the SDK", "native", "", ""),
    ("Claude by MCP", "mcp", "", ""),
    ("codex by MCP", "codex-mcp", "", ""),
];

fn main() {
    println!("| list | skills | {} |", LENGTHS.map(|length| format!("{length} characters")).join(" | "));
    println!("| --- | ---: | {} |", ["---"; LENGTHS.len()].join(" | "));
    let wanted: Vec<String> = std::env::args().skip(1).collect();
    for (name, mode, model, settings) in ROWS {
        if !wanted.is_empty() && !wanted.iter().any(|wanted| wanted == name) {
            continue;
        }
        for count in COUNTS {
            let cells = LENGTHS.map(|length| cell(mode, model, settings, count, length));
            println!("| {name} | {count} | {} |", cells.join(" | "));
        }
    }
}

fn cell(mode: &str, model: &str, settings: &str, count: usize, length: usize) -> String {
    let fixture = catalogue(count, length).file("evals/evals.toml", settings);
    let live = Live::over(fixture, |_| Turn::Say("4".to_owned()));
    let mut args = vec!["--mode", mode, "--case", "skill-000/it"];
    if !model.is_empty() {
        args.extend(["--model", model]);
    }
    let ran = live.run(&args);
    let requests = live.model.requests();
    let request = requests.first().unwrap_or_else(|| panic!("no request: {}{}", ran.stdout, ran.stderr));
    words(&shown(request, count, length))
}

/// `48 whole, 52 names`; lengths where descriptions were cut.
fn words(shown: &[Option<DescriptionVisibility>]) -> String {
    let count = |of: fn(&Option<DescriptionVisibility>) -> bool| shown.iter().filter(|shown| of(shown)).count();
    let lengths = shown.iter().filter_map(|shown| match shown {
        Some(DescriptionVisibility::Cut { characters, .. }) => Some(*characters),
        _ => None,
    });
    let (least, most) = (lengths.clone().min().unwrap_or_default(), lengths.max().unwrap_or_default());
    let parts = [
        (count(|shown| *shown == Some(DescriptionVisibility::Whole)), "whole".to_owned()),
        (count(|shown| matches!(shown, Some(DescriptionVisibility::Cut { .. }))), format!("cut at {least} to {most}")),
        (count(|shown| *shown == Some(DescriptionVisibility::NameOnly)), "names".to_owned()),
        (count(|shown| shown.is_none()), "missing".to_owned()),
        (count(|shown| *shown == Some(DescriptionVisibility::Unknown)), "unclear".to_owned()),
    ];
    let said: Vec<String> = parts
        .into_iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, what)| if count == shown.len() { what } else { format!("{count} {what}") })
        .collect();
    said.join(", ")
}
