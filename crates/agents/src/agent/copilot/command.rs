//! How to start `copilot -p` for a trial.

use std::path::PathBuf;

use serde_json::json;

use super::login::{KEYS, PROVIDER, TOKENS};
use crate::agent::arguments::{mcp_file, model_and_settings, session_and_prompt, with};
use crate::agent::assignment::Assignment;
use crate::agent::command::{AgentCommand, environment};
use crate::agent::user_home::{add_instructions, variable};
use crate::files::look;
use crate::trace::trouble::Trouble;
use crate::trial::sandbox::Sandbox;

/// The variable with the place where Copilot unpacks itself.
const PACKAGES: &str = "COPILOT_PKG_CACHE_HOME";

pub(super) fn fill(assignment: &Assignment<'_>, command: &mut AgentCommand) -> Result<(), Trouble> {
    let Assignment { case, mode, trial_env, server, .. } = *assignment;
    let home = trial_env.home().join(".copilot");
    home.create_dir_all()?;
    if let Some(text) = &case.system_prompt {
        add_instructions(assignment, ".copilot/copilot-instructions.md", text)?;
    }
    let visible: Vec<&str> = TOKENS.into_iter().chain(KEYS).chain(PROVIDER).collect();
    let mut env = environment(assignment, &visible);
    env.insert("COPILOT_HOME".into(), home.into());
    env.insert("COPILOT_AUTO_UPDATE".into(), "false".into());
    // This also trusts the workspace. The option for that cannot name the session.
    env.insert("COPILOT_ALLOW_ALL".into(), "true".into());
    let packages = packages();
    env.extend(packages.iter().map(|path| (PACKAGES.into(), path.into())));

    let args = &mut command.args;
    if case.sandbox == Sandbox::ReadOnly {
        args.push("--deny-tool=write".into());
    }
    if mode.delivery.native() {
        // The skills in the workspace are links to this directory.
        args.extend(["--add-dir".into(), trial_env.skills().into()]);
    }
    if let Some(server) = server {
        let more = json!({ "type": "local", "tools": ["*"] });
        args.extend(["--additional-mcp-config".into(), with("@", mcp_file(assignment, server, more)?)]);
    }
    args.extend(model_and_settings(assignment));
    args.extend(session_and_prompt(assignment)?);
    command.env = env;
    command.reads.extend(packages);
    command.open = vec!["shell commands can read and write outside the workspace"];
    Ok(())
}

/// Where the user's Copilot has unpacked itself. Without it, each trial unpacks 235 MB.
fn packages() -> Option<PathBuf> {
    let path = variable(PACKAGES).or_else(|| Some(variable("HOME")?.join(".cache/copilot")))?;
    look::is_usable_directory(&path.join("pkg")).then_some(path)
}
