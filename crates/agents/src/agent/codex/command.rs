//! How to start `codex exec` for a trial.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::Path;

use super::{Codex, LAST_MESSAGE, LOGIN_VARIABLES, PROVIDER_VARIABLES, history, home};
use crate::agent::arguments::unlimited_turns;
use crate::agent::assignment::Assignment;
use crate::agent::command::{AgentCommand, LONGEST_ARGUMENT, NextMessage, environment, long_prompt, settings_args_of};
use crate::agent::interface::Agent;
use crate::agent::mcp_probe::ServerCommand;
use crate::trace::trouble::Trouble;
use crate::trial::sandbox::Sandbox;

pub(super) fn command(assignment: &Assignment<'_>) -> Result<AgentCommand, Trouble> {
    let Assignment { case, settings, trial_env, .. } = *assignment;
    let program = Codex.find(settings)?;
    let long_instructions = case.system_prompt.as_deref().filter(|text| text.len() > LONGEST_ARGUMENT);
    let users = home::prepare(trial_env, settings.isolation.home, long_instructions)?;
    let mut secret_names: Vec<String> = LOGIN_VARIABLES.map(str::to_owned).to_vec();
    secret_names.extend(users.key_variables);
    let visible: Vec<&str> = secret_names.iter().map(String::as_str).chain(PROVIDER_VARIABLES).collect();
    let mut env = environment(assignment, &visible);
    env.insert("CODEX_HOME".into(), trial_env.home().join(".codex").into());
    let mut secrets = users.secrets;
    secrets.extend(secret_names.iter().filter_map(|name| std::env::var(name).ok()));

    let fixed = ["exec", "--json", "--sandbox", case.sandbox.as_str(), "--skip-git-repo-check"];
    let mut args: Vec<OsString> = fixed.map(OsString::from).to_vec();
    let mut configuration = vec![
        "approval_policy=\"never\"".to_owned(),
        // The model's commands must not see the key; codex itself does.
        format!("shell_environment_policy.exclude={}", toml::Value::from(secret_names)),
    ];
    if let (Some(text), None) = (&case.system_prompt, long_instructions) {
        configuration.push(format!("developer_instructions={}", toml::Value::from(text.as_str())));
    }
    if let Some(ServerCommand { names, program, args, env, .. }) = assignment.server {
        configuration.extend(server_configuration(&names.server, program, args, env));
    }
    for (name, program) in trial_env.mocked_servers() {
        configuration.extend(server_configuration(&name, &program, &[], &BTreeMap::new()));
    }
    args.extend(configuration.into_iter().flat_map(|setting| ["-c".into(), setting.into()]));
    args.extend(["-C".into(), trial_env.workspace().into()]);
    if let Some(schema) = assignment.schema {
        args.extend(["--output-schema".into(), schema.path.as_path().into()]);
    }
    args.extend(["--output-last-message".into(), trial_env.tmp().join(LAST_MESSAGE).into()]);
    if let Some(model) = settings.model_for(assignment.mode) {
        args.extend(["-m".into(), model.into()]);
    }
    args.extend(settings_args_of(assignment).map(Into::into));
    // A prompt may start with a dash.
    let input = long_prompt(assignment);
    let prompt = if input.is_some() { "-" } else { case.prompt.as_str() };
    if !case.history.is_empty() {
        let version = history::version(&program, assignment)?;
        args.extend(["resume".into(), history::write(trial_env, &case.history, &version)?.into()]);
    }
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
        not_enforced: unlimited_turns(assignment).into_iter().collect(),
        open: vec![open],
        input,
        ..AgentCommand::default()
    })
}

/// These arguments with another message, for the session with this id.
pub(super) fn resumed(args: &[OsString], session: &str, message: &str) -> Option<NextMessage> {
    let [options @ .., _, _] = args else { return None };
    // A session with a history is resumed from the start.
    let options = options.strip_suffix(&["resume", session].map(OsString::from)).unwrap_or(options);
    let resume = ["resume", session, "--", message].map(OsString::from);
    NextMessage::in_argument(message, options.iter().cloned().chain(resume))
}

/// The MCP server in codex's configuration. Without `required`, codex does not report a server that does not start.
fn server_configuration(name: &str, program: &Path, args: &[String], env: &BTreeMap<String, String>) -> Vec<String> {
    let setting = |key: &str, value: toml::Value| format!("mcp_servers.{name}.{key}={value}");
    let env: Vec<String> = env
        .iter()
        .map(|(name, value)| format!("{}={}", toml::Value::from(name.as_str()), toml::Value::from(value.as_str())))
        .collect();
    vec![
        setting("command", program.to_string_lossy().as_ref().into()),
        setting("args", args.to_vec().into()),
        format!("mcp_servers.{name}.env={{{}}}", env.join(",")),
        setting("required", true.into()),
        setting("startup_timeout_sec", 60.into()),
    ]
}
