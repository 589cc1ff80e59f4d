//! The file: its head with the policy, the first screen, the index, the scripts, and the packed trials.

use std::io::{self, Write};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use sha2::{Digest, Sha256};

use super::index::Index;
use super::markup;
use crate::results::changed_texts::ChangedText;

/// The scripts in the order of the page: each uses those before it.
const SCRIPTS: [(&str, &str); 13] = [
    ("text.js", include_str!("text.js")),
    ("diff.js", include_str!("diff.js")),
    ("route.js", include_str!("route.js")),
    ("rows.js", include_str!("rows.js")),
    ("align.js", include_str!("align.js")),
    ("dom.js", include_str!("dom.js")),
    ("long.js", include_str!("long.js")),
    ("trace.js", include_str!("trace.js")),
    ("entry.js", include_str!("entry.js")),
    ("trial.js", include_str!("trial.js")),
    ("pair.js", include_str!("pair.js")),
    ("list.js", include_str!("list.js")),
    ("main.js", include_str!("main.js")),
];

const END: &str = "</body>\n</html>\n";
const STYLE: &str = include_str!("page.css");

/// The page's only script, and its style.
fn script() -> String {
    let mut script = String::from("\"use strict\";\n");
    for (name, text) in SCRIPTS {
        script.extend(["// ", name, "\n", text]);
    }
    script
}

/// What the page may load and run: its own style, its own script if it has one, and nothing else.
fn policy(script: Option<&str>) -> String {
    let hash = |text: &str| STANDARD.encode(Sha256::digest(text.as_bytes()));
    let script = script.map(|script| format!("script-src 'sha256-{}'; ", hash(script))).unwrap_or_default();
    format!(
        "default-src 'none'; {script}style-src 'sha256-{}'; img-src data:; base-uri 'none'; form-action 'none'",
        hash(STYLE)
    )
}

/// Everything before the body.
fn head(title: &str, script: Option<&str>) -> String {
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"{}\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n\
         <title>{}</title>\n<style>{STYLE}</style>\n</head>\n",
        policy(script),
        markup::text(title),
    )
}

/// A page that has no trials and no script. `body` is markup.
pub fn without_trials(title: &str, body: &str) -> String {
    format!("{}<body>\n{body}{END}", head(title, None))
}

/// Writes everything before the trials. `overview` is markup.
pub fn begin(
    out: &mut impl Write,
    title: &str,
    overview: &str,
    index: &Index,
    edits: &[ChangedText],
) -> io::Result<()> {
    let script = script();
    let (index, edits) = (serde_json::to_string(index)?, serde_json::to_string(edits)?);
    write!(
        out,
        "{}<body>\n{overview}\n\
         <script type=\"application/json\" id=\"index\">{}</script>\n\
         <script type=\"application/json\" id=\"texts\">{}</script>\n<script>{script}</script>\n",
        head(title, Some(&script)),
        markup::json(&index),
        markup::json(&edits),
    )
}

pub fn end(out: &mut impl Write) -> io::Result<()> {
    out.write_all(END.as_bytes())
}
