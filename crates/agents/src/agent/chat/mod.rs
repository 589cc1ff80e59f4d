//! `chat`: a small agent of our own for any model behind an OpenAI-compatible or Anthropic-compatible endpoint. It is
//! not a vendor's product: it shows what a model does with skills, and not what a product does.
//!
//! This program starts itself as the agent, with one argument. It gets its setup and the user's messages on standard input and
//! prints a JSON object per line (`trace.jsonl`).

mod command;
mod lines;
mod login;
#[cfg(not(feature = "chat"))]
mod off;
#[cfg(feature = "chat")]
mod program;
mod setup;

#[cfg(not(feature = "chat"))]
use off as program;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use serde_json::Value;

use crate::agent::command as shared;
use crate::agent::skill_list;
use crate::agent::stream::{FillCommand, FindLogin, JsonLinesAgent, ReadSetup, ReadSigns};
use crate::profile::AgentKind;
use crate::settings::Settings;
use crate::trace::trouble::{Trouble, TroubleKind};

#[derive(Debug)]
pub struct Chat;

impl JsonLinesAgent for Chat {
    const KIND: AgentKind = AgentKind::Chat;
    type Reader = lines::ChatLines;
    const ARGUMENTS: &[&str] = &[setup::ARGUMENT];
    const HAS_HISTORIES: bool = true;
    const LOGIN: FindLogin = |around| Ok(login::find(around));
    const COMMAND: FillCommand = command::fill;
    const SETUP: ReadSetup = |_| Ok((login::PROVIDER.map(str::to_owned).to_vec(), String::new()));
    const SIGNS: ReadSigns = lines::turn_signs;

    /// A copy of the output, for the turns of a running session.
    fn is_session(_: &Path) -> bool {
        true
    }

    fn is_evidence(_: &Path) -> bool {
        false
    }

    fn slim(mut line: Value, skills: &[&str]) -> Value {
        if let Some(system) = line.get_mut("system") {
            *system = system.as_str().and_then(|text| skill_list::recorded(text, skills)).unwrap_or_default().into();
        }
        line
    }

    fn take_over() -> Option<ExitCode> {
        program::take_over()
    }

    fn find(settings: &Settings) -> Result<PathBuf, Trouble> {
        if !is_this_program(settings) {
            return shared::program(settings, Self::KIND);
        }
        let could_not_start = |why: String| Trouble::new(TroubleKind::CouldNotStart, why);
        if cfg!(not(feature = "chat")) {
            return Err(could_not_start(Self::KIND.profile().how_to_get.to_owned()));
        }
        std::env::current_exe().map_err(|error| could_not_start(format!("this program: {error}")))
    }
}

/// Whether the agent is this program, and not one that the settings name.
fn is_this_program(settings: &Settings) -> bool {
    settings.agents.get(AgentKind::Chat.as_str()).is_none_or(|agent| agent.command.is_none())
}
