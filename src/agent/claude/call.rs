//! What both ways of starting claude have in common: what it may do, and what it reads from files.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::home;
use crate::agent::assignment::Assignment;
use crate::agent::command::{AgentCommand, environment};
use crate::agent::files::{file_trouble, write_private};
use crate::cases::case::Case;
use crate::files::bounded;
use crate::settings::ToolNames;
use crate::settings::mode::Mode;
use crate::trace::trouble::Trouble;
use crate::trial::sandbox::Sandbox;

/// The choices behind claude's arguments.
pub(super) struct ArgumentChoices<'a> {
    pub model: Option<&'a str>,
    pub max_turns: Option<u64>,
    pub permissions: Permissions,
    pub mcp_config: Option<PathBuf>,
    pub setting_sources: &'static str,
    /// The output schema's text.
    pub schema: Option<String>,
}

impl<'a> ArgumentChoices<'a> {
    /// The choices for a trial. Writes the configuration of the MCP server.
    pub(super) fn new(assignment: &Assignment<'a>) -> Result<Self, Trouble> {
        let Assignment { case, mode, settings, .. } = *assignment;
        Ok(Self {
            model: settings.model_for(mode),
            max_turns: settings.max_turns_of(case.max_turns),
            permissions: permissions(case, mode, assignment.server.map(|server| &server.names)),
            mcp_config: mcp_config(assignment)?,
            // The list is empty, not absent: without a list claude reads every settings file.
            setting_sources: if mode.delivery.native() { "project" } else { "" },
            schema: assignment.schema.as_deref().map(schema).transpose()?,
        })
    }

    /// Prepares the home. The command has no arguments yet, except for the credentials.
    pub(super) fn command(self, assignment: &Assignment<'_>, program: PathBuf) -> Result<AgentCommand, Trouble> {
        let users = home::prepare(assignment.trial_env)?;
        let visible: Vec<&str> = users.variables.iter().map(String::as_str).collect();
        let mut env = environment(assignment, &visible);
        env.extend(users.env);
        // No requests that do not belong to the case: telemetry, updates, the session's title.
        env.insert("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC".into(), "1".into());
        // How long claude waits for a server with `alwaysLoad`; see `mcp_config`.
        env.insert("MCP_CONNECT_TIMEOUT_MS".into(), "60000".into());
        let Permissions { not_enforced, open, .. } = self.permissions;
        Ok(AgentCommand {
            program,
            args: users.settings.iter().flat_map(|path| ["--settings".into(), path.into()]).collect(),
            reads: home::provider_files(&env).into_iter().chain(users.key_helper).collect(),
            env,
            secrets: users.secrets,
            not_enforced,
            open,
            ..AgentCommand::default()
        })
    }
}

/// What claude may do without asking: an eval has no user to ask.
pub(super) struct Permissions {
    pub mode: &'static str,
    pub allowed: Vec<String>,
    pub disallowed: Vec<&'static str>,
    pub not_enforced: Vec<String>,
    pub open: Vec<&'static str>,
}

fn permissions(case: &Case, mode: &Mode, server: Option<&ToolNames>) -> Permissions {
    let can_write = case.sandbox == Sandbox::WorkspaceWrite;
    let mut allowed = Vec::from_iter(can_write.then_some("Bash"));
    allowed.extend(["Read", "Glob", "Grep"]);
    allowed.extend(mode.delivery.native().then_some("Skill"));
    let mut allowed: Vec<String> = allowed.into_iter().map(str::to_owned).collect();
    allowed.extend(server.map(|names| format!("mcp__{}", names.server)));
    let mut not_enforced = vec!["shell commands see the variables with the login".to_owned()];
    let mut open = vec!["reading is not limited to the workspace"];
    if can_write {
        open.insert(0, "shell commands can write outside the workspace");
        // Its editing tools may write in the working directory, and ask elsewhere.
        return Permissions { mode: "acceptEdits", allowed, disallowed: Vec::new(), not_enforced, open };
    }
    // Even without a permission for Bash, claude runs commands that it knows to only read.
    not_enforced.insert(0, "claude itself judges which shell commands only read".to_owned());
    Permissions { mode: "default", allowed, disallowed: vec!["Write", "Edit", "NotebookEdit"], not_enforced, open }
}

/// Writes the MCP servers into a file that no other user can read, unlike arguments. Without `alwaysLoad`, claude starts while a
/// slow server is `pending`, and then offers none of its tools; if its model searches for tools, claude shows none of them.
fn mcp_config(assignment: &Assignment<'_>) -> Result<Option<PathBuf>, Trouble> {
    let Some(server) = assignment.server else { return Ok(None) };
    let mut config = json!({
        "type": "stdio",
        "command": server.program,
        "args": server.args,
        "env": server.env,
    });
    if server.always_load {
        config["alwaysLoad"] = json!(true);
    }
    let config = json!({ "mcpServers": { server.names.server.as_str(): config } });
    let path = assignment.trial_env.path().join("mcp.json");
    write_private(&path, config.to_string().as_bytes())?;
    Ok(Some(path))
}

/// The text of an output schema, without the dialect's name: if a schema names another dialect than draft 7, claude drops it,
/// offers no tool to answer with, and fails at the end.
fn schema(path: &Path) -> Result<String, Trouble> {
    let text = bounded::read_text(path).map_err(|error| file_trouble(path, &error))?;
    match serde_json::from_str(&text) {
        Ok(Value::Object(mut schema)) => {
            schema.remove("$schema");
            Ok(Value::Object(schema).to_string())
        }
        _ => Ok(text),
    }
}
