//! How to start `qwen` for a trial.

use serde_json::{Map, Value, json};

use super::login::{KEYS, PROVIDER, QwenUserSettings};
use super::{Qwen, REQUESTS};
use crate::agent::arguments::{mcp_file, model_and_settings, refuse, session_and_prompt, with};
use crate::agent::assignment::Assignment;
use crate::agent::command::{AgentCommand, LONGEST_ARGUMENT, environment};
use crate::agent::files::{merge, write_private};
use crate::agent::interface::Agent;
use crate::agent::secrets::values_of;
use crate::files::rooted::RootedPath;
use crate::trace::trouble::Trouble;
use crate::trial::sandbox::Sandbox;

pub(super) fn fill(assignment: &Assignment<'_>, command: &mut AgentCommand) -> Result<(), Trouble> {
    let Assignment { case, settings, trial_env, server, .. } = *assignment;
    let system_prompt = case.system_prompt.as_deref();
    let is_long = system_prompt.is_some_and(|text| text.len() > LONGEST_ARGUMENT);
    refuse(assignment, &[("a system prompt of more than 100,000 bytes", is_long)])?;
    let users = QwenUserSettings::read(settings.isolation.home)?;
    let (key_variables, mut secrets) = (users.key_variables(), users.secrets());
    let home = trial_env.home().join(".qwen");
    write_settings(&home, users.copied, case.sandbox == Sandbox::ReadOnly)?;
    let visible: Vec<&str> = KEYS.into_iter().chain(PROVIDER).chain(key_variables.iter().map(String::as_str)).collect();
    let mut env = environment(assignment, &visible);
    env.insert("QWEN_CODE_SUPPRESS_YOLO_WARNING".into(), "1".into());
    secrets.extend(values_of(&env, &key_variables));

    let args = &mut command.args;
    args.push(with("--openai-logging-dir=", trial_env.home().join(REQUESTS)));
    if let Some(server) = server {
        // Its tools are offered at once, and not only to a search for tools.
        args.push(with("--mcp-config=", mcp_file(assignment, server, json!({ "alwaysLoadTools": true }))?));
    }
    args.extend(system_prompt.map(|text| with("--append-system-prompt=", text)));
    args.extend(model_and_settings(assignment));
    args.extend(session_and_prompt(assignment)?);
    // With its own limit on turns, Qwen Code ends as if it had failed.
    (command.env, command.secrets) = (env, secrets);
    Ok(())
}

/// The settings: the user's provider, and nothing that reports, updates, or asks the model on its own account.
fn write_settings(home: &RootedPath, settings: Map<String, Value>, is_read_only: bool) -> Result<(), Trouble> {
    let own = json!({
        "general": { "enableAutoUpdate": false },
        "memory": { "enableManagedAutoMemory": false, "enableManagedAutoDream": false },
        "privacy": { "usageStatisticsEnabled": false },
        "telemetry": { "enabled": false },
    });
    let mut settings = Value::from(settings);
    merge(&mut settings, own);
    if is_read_only {
        merge(&mut settings, json!({ "permissions": { "deny": Qwen.kind().profile().tools.edits } }));
    }
    write_private(&home.join("settings.json"), settings.to_string().as_bytes())
}
