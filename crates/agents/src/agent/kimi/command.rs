//! How to start `kimi` for a trial.

use std::ffi::OsString;

use serde_json::json;

use super::login::{self, KEYS, PROVIDER};
use super::{Kimi, SERVERS};
use crate::agent::arguments::{model_and_settings, prompt, refuse_long_prompt, with};
use crate::agent::assignment::Assignment;
use crate::agent::command::{AgentCommand, NextMessage, environment};
use crate::agent::files::{merge, write_private};
use crate::agent::secrets::{secrets_in, values_of};
use crate::agent::stream::JsonLinesAgent;
use crate::agent::trial_env::TrialEnv;
use crate::agent::user_home::{add_instructions, copy_login};
use crate::files::rooted::WalkControl;
use crate::settings::Home;
use crate::trace::trouble::Trouble;
use crate::trial::sandbox::Sandbox;

const CONTINUE: &str = "--session=";

/// What keeps Kimi Code from reporting and from replacing itself, and from offering skills of its own about itself.
const QUIET: [(&str, &str); 3] =
    [("KIMI_CODE_NO_AUTO_UPDATE", "1"), ("KIMI_DISABLE_TELEMETRY", "1"), ("KIMI_CODE_BUILTIN_PRODUCT_SKILLS", "0")];

pub(super) fn fill(assignment: &Assignment<'_>, command: &mut AgentCommand) -> Result<(), Trouble> {
    let Assignment { case, settings, trial_env, .. } = *assignment;
    refuse_long_prompt(assignment)?;
    let (key_variables, mut secrets) = prepare(trial_env, settings.isolation.home, case.sandbox == Sandbox::ReadOnly)?;
    secrets.extend(write_servers(assignment)?);
    if let Some(text) = &case.system_prompt {
        add_instructions(assignment, ".kimi-code/AGENTS.md", text)?;
    }
    let visible: Vec<&str> = KEYS.into_iter().chain(PROVIDER).chain(key_variables.iter().map(String::as_str)).collect();
    let mut env = environment(assignment, &visible);
    env.extend(QUIET.map(|(name, value)| (name.into(), value.into())));
    if let Some(most) = settings.max_turns_of(case.max_turns) {
        env.insert("KIMI_LOOP_MAX_STEPS_PER_TURN".into(), most.to_string().into());
    }
    secrets.extend(values_of(&env, &key_variables));

    command.args.extend(model_and_settings(assignment).chain([prompt(&case.prompt)]));
    (command.env, command.secrets) = (env, secrets);
    Ok(())
}

/// Writes the home: the user's login and providers. Returns the variables that the providers name, and the values that must not
/// be stored.
fn prepare(trial_env: &TrialEnv, setup: Home, is_read_only: bool) -> Result<(Vec<String>, Vec<String>), Trouble> {
    let mut config = login::users_config(setup)?;
    let variables = login::key_variables(&config).into_iter().collect();
    let mut secrets = secrets_in(&login::as_json(&config));
    if is_read_only {
        let tools = config.entry("tools").or_insert_with(|| toml::Table::new().into());
        if let Some(tools) = tools.as_table_mut() {
            tools.insert("disabled".to_owned(), Kimi::KIND.profile().tools.edits.to_vec().into());
        }
    }
    write_private(&trial_env.home().join(".kimi-code/config.toml"), config.to_string().as_bytes())?;
    secrets.extend(copy_login(Kimi::KIND, login::LOGIN, trial_env)?);
    Ok((variables, secrets))
}

/// Writes the MCP servers: that of the skills, and the user's if the home is the user's. Returns the secrets of those.
fn write_servers(assignment: &Assignment<'_>) -> Result<Vec<String>, Trouble> {
    let mut all = login::users_servers(assignment.settings.isolation.home)?;
    let secrets = secrets_in(&all);
    if let Some(server) = assignment.server {
        let entry = json!({ "command": server.program, "args": server.args, "env": server.env });
        merge(&mut all, json!({ "mcpServers": { server.names.server.as_str(): entry } }));
    }
    write_private(&assignment.trial_env.home().join(SERVERS), all.to_string().as_bytes())?;
    Ok(secrets)
}

/// These arguments with another message, for the same session.
pub(super) fn resumed(assignment: &Assignment<'_>, args: &[OsString], message: &str) -> Option<NextMessage> {
    let profile = Kimi::KIND.profile();
    let mut id = None;
    let sessions = assignment.trial_env.home().join(profile.home).join(profile.sessions);
    let _ = sessions.walk(|_| false, &mut |entry| {
        if Kimi::is_session(entry.path) && id.is_none() {
            id = entry.path.iter().nth(1).map(OsString::from);
        }
        if id.is_none() { WalkControl::On } else { WalkControl::Stop }
    });
    let [options @ .., _] = args else { return None };
    let options = options.iter().filter(|argument| !argument.to_string_lossy().starts_with(CONTINUE)).cloned();
    let own = [with(CONTINUE, id?), prompt(message)];
    NextMessage::in_argument(message, options.chain(own))
}
