//! What both ways of starting claude have in common: what it may do, and what it reads from files.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::{history, home};
use crate::agent::arguments::{mcp_file_of, plugin_args};
use crate::agent::assignment::Assignment;
use crate::agent::command::{AgentCommand, environment};
use crate::agent::mcp_probe::ServerCommand;
use crate::cases::case::Case;
use crate::settings::Home;
use crate::trace::trouble::{Trouble, TroubleKind};
use crate::trial::sandbox::Sandbox;

/// The command that starts `program` for a trial: in a prepared home, with the arguments `fixed` and then options in the SDK's
/// order. It has no prompt yet.
pub(super) fn command(
    assignment: &Assignment<'_>,
    program: PathBuf,
    fixed: &[&str],
    schema: Option<&Value>,
) -> Result<AgentCommand, Trouble> {
    let Assignment { case, mode, settings, trial_env, server, plugin, .. } = *assignment;
    let users = home::prepare(trial_env, settings.isolation.home)?;
    let visible: Vec<&str> = users.variables.iter().map(String::as_str).collect();
    let mut env = environment(assignment, &visible);
    env.extend(users.env);
    // No requests that do not belong to the case: telemetry, updates, the session's title.
    env.insert("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC".into(), "1".into());
    // How long claude waits for a server with `alwaysLoad`; see `mcp_config`.
    env.insert("MCP_CONNECT_TIMEOUT_MS".into(), "60000".into());

    let has_skills = mode.delivery.native() || settings.isolation.home == Home::User;
    let mocked = trial_env.mocked_servers();
    let servers = server.map(|server| &*server.names.server).into_iter();
    let servers = servers.chain(mocked.iter().map(|(name, _)| name.as_str()));
    let of_plugin = plugin.iter().flat_map(|plugin| plugin.servers.iter().map(|server| plugin.server_name(server)));
    let of_plugin: Vec<String> = of_plugin.collect();
    let permissions = permissions(case, has_skills, servers.chain(of_plugin.iter().map(String::as_str)));
    let mut args: Vec<OsString> =
        users.settings.iter().flat_map(|path| ["--settings".into(), path.clone().into()]).collect();
    args.extend(fixed.iter().map(OsString::from));
    args.extend(settings.model_for(mode).map(|model| format!("--model={model}").into()));
    args.extend(settings.max_turns_of(case.max_turns).map(|most| format!("--max-turns={most}").into()));
    args.extend(schema.map(|schema| format!("--json-schema={schema}").into()));
    args.push(format!("--allowedTools={}", permissions.allowed.join(",")).into());
    if !permissions.disallowed.is_empty() {
        args.push(format!("--disallowedTools={}", permissions.disallowed.join(",")).into());
    }
    if server.is_some() || !mocked.is_empty() {
        args.extend(["--mcp-config".into(), mcp_config(assignment, server, &mocked)?.into()]);
    }
    // The list is empty, not absent: without a list claude reads every settings file.
    let of_user = (settings.isolation.home == Home::User).then_some("user");
    let sources: Vec<&str> = of_user.into_iter().chain(mode.delivery.native().then_some("project")).collect();
    args.push(format!("--setting-sources={}", sources.join(",")).into());
    args.extend(plugin_args(assignment));
    if of_user.is_none() && of_plugin.is_empty() {
        // The MCP servers of the user and the project do not belong to the case. Those of a plugin would be off, too. Instead of
        // one that is answered from files, claude starts ours, which has its name.
        args.push("--strict-mcp-config".into());
    }
    args.push(format!("--permission-mode={}", permissions.mode).into());
    if !case.history.is_empty() {
        let mut resume = OsString::from("--resume=");
        resume.push(OsString::from(history::write(trial_env, &case.history)?));
        args.push(resume);
    }
    let files = home::provider_files(&env);
    Ok(AgentCommand {
        limits_tools: true,
        program,
        args,
        env,
        secrets: users.secrets.into_iter().chain(home::secrets_in_files(&files)).collect(),
        reads: files.into_iter().chain(users.key_helper).collect(),
        not_enforced: permissions.not_enforced,
        open: permissions.open,
        ..AgentCommand::default()
    })
}

/// The tools that a case which names tools has only if it names them.
const LIMITED: [&str; 9] = ["Bash", "Write", "Edit", "NotebookEdit", "Read", "Glob", "Grep", "WebFetch", "WebSearch"];

/// What claude may do without asking: an eval has no user to ask.
struct Permissions {
    mode: &'static str,
    allowed: Vec<String>,
    disallowed: Vec<String>,
    not_enforced: Vec<String>,
    open: Vec<&'static str>,
}

fn permissions<'s>(case: &Case, has_skills: bool, servers: impl Iterator<Item = &'s str>) -> Permissions {
    let can_write = case.sandbox == Sandbox::WorkspaceWrite;
    let mut allowed = Vec::from_iter(can_write.then_some("Bash"));
    allowed.extend(["Read", "Glob", "Grep"]);
    allowed.extend(has_skills.then_some("Skill"));
    let mut allowed: Vec<String> = allowed.into_iter().map(str::to_owned).collect();
    allowed.extend(servers.map(|name| format!("mcp__{name}")));
    let mut not_enforced = vec!["shell commands see the variables with the login".to_owned()];
    let mut open = vec!["reading is not limited to the workspace"];
    if let Some(tools) = &case.tools {
        let is_granted = |tool: &&str| has_skills && *tool == "Skill" || tools.allow(tool);
        allowed.retain(|tool| is_granted(&tool.as_str()) || tool.starts_with("mcp__"));
        allowed.extend(tools.allowed.iter().filter(|tool| !allowed.contains(tool)).cloned().collect::<Vec<_>>());
        let removed = LIMITED.iter().copied().filter(|tool| !tools.allow(tool)).map(str::to_owned);
        let disallowed = removed.chain(tools.disallowed.iter().cloned()).collect();
        return Permissions { mode: "dontAsk", allowed, disallowed, not_enforced, open };
    }
    if can_write {
        open.insert(0, "shell commands can write outside the workspace");
        // Its editing tools may write in the working directory, and ask elsewhere.
        return Permissions { mode: "acceptEdits", allowed, disallowed: Vec::new(), not_enforced, open };
    }
    // Even without a permission for Bash, claude runs commands that it knows to only read.
    not_enforced.insert(0, "claude itself judges which shell commands only read".to_owned());
    let disallowed = ["Write", "Edit", "NotebookEdit"].map(str::to_owned).into();
    Permissions { mode: "default", allowed, disallowed, not_enforced, open }
}

/// The MCP servers in a file. The SDK itself passes them as an argument.
/// Without `alwaysLoad`, claude starts while a slow server is `pending`, and then offers none of its tools; if its model
/// searches for tools, claude shows none of them.
fn mcp_config(
    assignment: &Assignment<'_>,
    server: Option<&ServerCommand>,
    mocked: &[(String, PathBuf)],
) -> Result<PathBuf, Trouble> {
    let entry = |program: &Path, args: &[String], env: Value, always_load: bool| {
        let mut entry = json!({ "type": "stdio", "command": program, "args": args, "env": env });
        if always_load {
            entry["alwaysLoad"] = json!(true);
        }
        entry
    };
    let own = server.map(|server| {
        let ServerCommand { program, args, env, names, always_load, .. } = server;
        (names.server.clone(), entry(program, args, json!(env), *always_load))
    });
    let always_load = assignment.settings.mcp.always_load;
    let mocked = mocked.iter().map(|(name, program)| (name.clone(), entry(program, &[], json!({}), always_load)));
    mcp_file_of(assignment, &mocked.chain(own).collect::<serde_json::Map<_, _>>().into())
}

/// The output schema of a trial, without the dialect's name: if a schema names another dialect than draft 7, claude drops it,
/// offers no tool to answer with, and fails at the end.
pub(super) fn schema(assignment: &Assignment<'_>) -> Result<Option<Value>, Trouble> {
    let Some(schema) = assignment.schema else { return Ok(None) };
    let mut schema: Value = serde_json::from_slice(&schema.text)
        .map_err(|error| Trouble::new(TroubleKind::Files, format!("the output schema: {error}")))?;
    if let Value::Object(schema) = &mut schema {
        schema.remove("$schema");
    }
    Ok(Some(schema))
}
