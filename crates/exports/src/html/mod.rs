//! Runs as one HTML file that needs no network, no server and no other file.
//!
//! Rust writes the first screen as markup and SVG. The scripts in this directory draw the list of trials and the sessions
//! from an index in JSON and a packed document for each trial. Texts of users and agents are escaped text or data, and
//! the scripts only make text nodes of them, so they never become markup. The page's policy (`default-src 'none'`, scripts
//! and styles by their hashes) is a second defense.

pub mod document;
pub mod markup;
pub mod overview;

use std::collections::HashMap;
use std::io::{self, Write};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::Serialize;
use sha2::{Digest, Sha256};

use crate::results::compared::ChangedText;
use crate::trial::id::TrialId;
use crate::trial::outcome::{Status, Verdict};
use crate::trial::run_record::TrialRecord;

// The file: its head with the policy, the first screen, the index, the scripts, and the packed trials.

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

// The data of all trials that the page needs before one is opened.

/// A row for each trial. Rows refer to names by their places.
#[derive(Debug, Default, Serialize)]
pub struct Index {
    runs: Vec<String>,
    /// The names of the baseline and the candidate, in a comparison.
    #[serde(skip_serializing_if = "Option::is_none")]
    sides: Option<(String, String)>,
    /// The names of skills, cases, modes and checks.
    names: Vec<String>,
    pub rows: Vec<IndexEntry>,
    /// Planned trials that were not run.
    not_run: Vec<UnrunTrial>,
    #[serde(skip)]
    known: HashMap<String, u32>,
}

/// The id of a trial, with places in `Index::runs` and `Index::names`.
#[derive(Debug, Serialize)]
struct IndexedId {
    run: usize,
    skill: u32,
    case: u32,
    mode: u32,
    n: u32,
    /// Of a baseline trial, the mode of its candidate trial.
    #[serde(skip_serializing_if = "Option::is_none")]
    before: Option<u32>,
}

/// A trial. Checks are places in `Index::names`.
#[derive(Debug, Serialize)]
pub struct IndexEntry {
    #[serde(flatten)]
    id: IndexedId,
    verdict: Verdict,
    failed: Vec<u32>,
    /// Checks with an unknown result.
    unknown: Vec<u32>,
    ms: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    tokens: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cost: Option<f64>,
    /// A digest of the final message.
    #[serde(skip_serializing_if = "str::is_empty")]
    answer: String,
    /// A digest of the calls and commands.
    #[serde(skip_serializing_if = "str::is_empty")]
    calls: String,
    /// Whether the page has the session.
    pub kept: bool,
    /// Why nothing was measured.
    #[serde(skip_serializing_if = "Option::is_none")]
    why: Option<String>,
}

#[derive(Debug, Serialize)]
struct UnrunTrial {
    #[serde(flatten)]
    id: IndexedId,
    why: String,
}

impl Index {
    pub fn new(runs: Vec<String>, sides: Option<(String, String)>) -> Self {
        Self { runs, sides, ..Self::default() }
    }

    fn name(&mut self, name: &str) -> u32 {
        if let Some(known) = self.known.get(name) {
            return *known;
        }
        let place = u32::try_from(self.names.len()).unwrap_or(u32::MAX);
        self.names.push(name.to_owned());
        self.known.insert(name.to_owned(), place);
        place
    }

    fn id(&mut self, run: usize, id: &TrialId, before: Option<&str>) -> IndexedId {
        IndexedId {
            run,
            skill: self.name(&id.skill),
            case: self.name(&id.case),
            mode: self.name(&id.mode),
            n: id.number,
            before: before.map(|mode| self.name(mode)),
        }
    }

    fn checks(&mut self, record: &TrialRecord, status: Status) -> Vec<u32> {
        record.checks.iter().filter(|(_, found)| *found == status).map(|(check, _)| self.name(check)).collect()
    }

    /// Adds a trial of the run at this place. `before` is the mode of the candidate trial, of a baseline trial.
    pub fn add(&mut self, run: usize, record: &TrialRecord, before: Option<&str>, answer: String, calls: String) {
        let row = IndexEntry {
            id: self.id(run, &record.id, before),
            verdict: record.verdict,
            failed: self.checks(record, Status::Fail),
            unknown: self.checks(record, Status::Unknown),
            ms: record.duration_ms,
            tokens: record.spent.tokens,
            cost: record.spent.cost_usd,
            answer,
            calls,
            kept: true,
            why: record.trouble.as_ref().map(ToString::to_string),
        };
        self.rows.push(row);
    }

    pub fn add_not_run(&mut self, run: usize, id: &TrialId, before: Option<&str>, why: String) {
        let id = self.id(run, id, before);
        self.not_run.push(UnrunTrial { id, why });
    }
}
