//! How `codex exec` is started for a trial.

use std::ffi::OsString;

use super::home;
use super::{Codex, LAST_MESSAGE, LOGIN_VARIABLES};
use crate::agent::assignment::Assignment;
use crate::agent::command::{AgentCommand, LONGEST_ARGUMENT, environment, long_prompt, own_args};
use crate::agent::interface::Agent;
use crate::agent::mcp_probe::ServerCommand;
use crate::trace::trouble::Trouble;
use crate::trial::sandbox::Sandbox;

/// Variables that choose the provider.
const PROVIDER_VARIABLES: [&str; 3] = ["OPENAI_BASE_URL", "OPENAI_ORGANIZATION", "OPENAI_PROJECT"];

pub(super) fn command(assignment: &Assignment<'_>) -> Result<AgentCommand, Trouble> {
    let settings = assignment.settings;
    let room = assignment.room;
    let case = assignment.case;
    let program = Codex.find(settings)?;
    let own = home::prepare(room)?;
    let mut secret_names: Vec<String> = LOGIN_VARIABLES.map(str::to_owned).to_vec();
    secret_names.extend(own.key_variables);
    let visible: Vec<&str> = secret_names.iter().map(String::as_str).chain(PROVIDER_VARIABLES).collect();
    let mut env = environment(assignment, &visible);
    env.insert("CODEX_HOME".into(), room.home().join(".codex").into());
    let mut secrets = own.secrets;
    secrets.extend(secret_names.iter().filter_map(|name| std::env::var(name).ok()));

    let mut args: Vec<OsString> = Vec::new();
    let mut arg = |text: &str| args.push(text.into());
    for text in ["exec", "--json", "--sandbox", case.sandbox.as_str(), "--skip-git-repo-check"] {
        arg(text);
    }
    arg("-c");
    arg("approval_policy=\"never\"");
    // The model's commands have no business with the key; codex itself keeps it.
    arg("-c");
    arg(&format!("shell_environment_policy.exclude={}", toml::Value::from(secret_names)));
    if let Some(text) = case.system_prompt.as_ref().filter(|text| text.len() > LONGEST_ARGUMENT) {
        home::add_instructions(room, text)?;
    } else if let Some(text) = &case.system_prompt {
        arg("-c");
        arg(&format!("developer_instructions={}", toml::Value::from(text.as_str())));
    }
    args.extend(["-C".into(), room.workspace().into_os_string()]);
    if let Some(schema) = &assignment.schema {
        args.extend(["--output-schema".into(), schema.into()]);
    }
    args.extend(["--output-last-message".into(), room.path().join(LAST_MESSAGE).into_os_string()]);
    if let Some(server) = assignment.server {
        args.extend(server_args(server).into_iter().flat_map(|setting| ["-c".into(), setting.into()]));
    }
    if let Some(model) = settings.model_for(assignment.mode) {
        args.extend(["-m".into(), model.into()]);
    }
    args.extend(own_args(assignment).map(Into::into));
    // A prompt may start with a dash.
    let input = long_prompt(assignment)?;
    let prompt = if input.is_some() { "-" } else { case.prompt.as_str() };
    args.extend(["--".into(), prompt.into()]);
    let open = match case.sandbox {
        Sandbox::ReadOnly => "codex's sandbox limits writing, not reading",
        Sandbox::WorkspaceWrite => "codex's sandbox limits writing, not reading; /tmp is writable too",
    };
    Ok(AgentCommand {
        program,
        args,
        env,
        secrets,
        not_enforced: not_enforced(settings.max_turns_of(case.max_turns)),
        open: vec![open],
        reads: Vec::new(),
        sandbox: None,
        by_file: None,
        input,
        dialogue: None,
    })
}

/// What was asked for and codex cannot be told.
fn not_enforced(max_turns: Option<u64>) -> Vec<String> {
    max_turns.map(|most| format!("codex knows no limit on turns: {most} were asked for")).into_iter().collect()
}

/// The MCP server in codex's settings. Without `required` codex says nothing of a server that does not start, anywhere.
fn server_args(server: &ServerCommand) -> Vec<String> {
    let name = &server.names.server;
    let setting = |key: &str, value: toml::Value| format!("mcp_servers.{name}.{key}={value}");
    let env: toml::Table = server.env.iter().map(|(name, value)| (name.clone(), value.as_str().into())).collect();
    let env: Vec<String> =
        env.iter().map(|(name, value)| format!("{}={value}", toml::Value::from(name.as_str()))).collect();
    vec![
        setting("command", server.program.to_string_lossy().as_ref().into()),
        setting("args", server.args.clone().into()),
        format!("mcp_servers.{name}.env={{{}}}", env.join(",")),
        setting("required", true.into()),
        setting("startup_timeout_sec", 60.into()),
    ]
}
