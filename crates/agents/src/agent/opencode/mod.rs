//! OpenCode (`opencode run`).
//!
//! Its own output has no list of skills, no request and no retry, and comes late. A plugin in the trial's home, `evidence.js`,
//! prints what OpenCode's plugins see, as lines of the same output (`trace.jsonl`). OpenCode keeps its sessions in a database,
//! not in a file of lines.

mod command;
mod home;
mod lines;
mod login;

use std::path::PathBuf;

use serde_json::Value;

use crate::agent::command::program;
use crate::agent::secrets::without_secrets;
use crate::agent::skill_list;
use crate::agent::stream::{FillCommand, FindLogin, JsonLinesAgent, ReadSetup, ResumeSession};
use crate::profile::AgentKind;
use crate::settings::Settings;
use crate::trace::trouble::Trouble;

#[derive(Debug)]
pub struct OpenCode;

impl JsonLinesAgent for OpenCode {
    const KIND: AgentKind = AgentKind::OpenCode;
    type Reader = lines::OpenCodeLines;

    // Without a title, it asks a model for one.
    const ARGUMENTS: &[&str] = &["run", "--format=json", "--title=eval"];
    const LOGIN: FindLogin = login::find;
    const COMMAND: FillCommand = command::fill;
    const SETUP: ReadSetup = |setup| {
        let config = Value::Object(home::users_config(setup)?);
        let names = login::KEYS.map(str::to_owned).into_iter().chain(home::variables(&config.to_string())).collect();
        let config = without_secrets(config);
        Ok((names, format!("auth.json {}\n{config}", home::users_auth()?.is_some())))
    };

    const RESUME: ResumeSession = |assignment, args, message| Some(command::resumed(assignment, args, message));

    fn slim(mut line: Value, skills: &[&str]) -> Value {
        skill_list::record_pairs(line.get_mut("skills"), skills);
        line
    }

    fn find(settings: &Settings) -> Result<PathBuf, Trouble> {
        let program = program(settings, Self::KIND)?;
        home::ripgrep().map(|_| program).ok_or_else(command::no_ripgrep)
    }
}
