//! What both ways of starting claude have in common: what it may do, and what it is told in files.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::home;
use crate::agent::assignment::Assignment;
use crate::agent::command::{AgentCommand, environment};
use crate::agent::files::{files_trouble, write_private};
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
    /// The choices for a trial; writes the configuration of the MCP server.
    pub(super) fn new(assignment: &Assignment<'a>) -> Result<Self, Trouble> {
        let Assignment { case, mode, settings, .. } = *assignment;
        Ok(Self {
            model: settings.model_for(mode),
            max_turns: settings.max_turns_of(case.max_turns),
            permissions: permissions(case, mode, assignment.server.map(|server| &server.names)),
            mcp_config: mcp_config(assignment)?,
            // An empty list of sources, not none: without one claude reads every settings file that there is.
            setting_sources: if mode.delivery.native() { "project" } else { "" },
            schema: assignment.schema.as_deref().map(schema).transpose()?,
        })
    }

    /// The command in a home that is prepared, without its arguments but for those of the login.
    pub(super) fn command(self, assignment: &Assignment<'_>, program: PathBuf) -> Result<AgentCommand, Trouble> {
        let users = home::prepare(assignment.room)?;
        let visible: Vec<&str> = users.variables.iter().map(String::as_str).collect();
        let mut env = environment(assignment, &visible);
        env.extend(users.env);
        // Nothing that is not the case's: no telemetry, no update, no title for the session.
        env.insert("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC".into(), "1".into());
        // How long claude waits for a server that is always to be loaded; see `mcp_config`.
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
            sandbox: None,
            by_file: None,
            input: None,
            dialogue: None,
        })
    }
}

/// What claude may do without asking: in an eval there is no user to ask.
pub(super) struct Permissions {
    pub mode: &'static str,
    pub allowed: Vec<String>,
    pub disallowed: Vec<&'static str>,
    pub not_enforced: Vec<String>,
    pub open: Vec<&'static str>,
}

fn permissions(case: &Case, mode: &Mode, server: Option<&ToolNames>) -> Permissions {
    let mut allowed: Vec<String> = ["Read", "Glob", "Grep"].map(str::to_owned).to_vec();
    let mut permissions = match case.sandbox {
        // Without leave for all of Bash claude still runs what it knows to only read.
        Sandbox::ReadOnly => Permissions {
            mode: "default",
            allowed: Vec::new(),
            disallowed: vec!["Write", "Edit", "NotebookEdit"],
            not_enforced: vec!["claude itself judges which shell commands only read".to_owned()],
            open: Vec::new(),
        },
        Sandbox::WorkspaceWrite => {
            allowed.insert(0, "Bash".to_owned());
            // Its editing tools then write in the working folder, and ask elsewhere.
            Permissions {
                mode: "acceptEdits",
                allowed: Vec::new(),
                disallowed: Vec::new(),
                not_enforced: Vec::new(),
                open: vec!["shell commands can write outside the workspace"],
            }
        }
    };
    permissions.open.push("reading is not limited to the workspace");
    permissions.not_enforced.push("shell commands see the variables with the login".to_owned());
    if mode.delivery.native() {
        allowed.push("Skill".to_owned());
    }
    allowed.extend(server.map(|names| format!("mcp__{}", names.server)));
    permissions.allowed = allowed;
    permissions
}

/// The MCP servers as a file that nobody else can read: arguments every user of the machine sees. Without `alwaysLoad`
/// claude begins while a slow server is still `pending`, and without its tools; and where it has its model search for
/// tools, shows none of the server's.
fn mcp_config(assignment: &Assignment<'_>) -> Result<Option<PathBuf>, Trouble> {
    let Some(server) = assignment.server else { return Ok(None) };
    let mut entry = json!({
        "type": "stdio",
        "command": server.program,
        "args": server.args,
        "env": server.env,
    });
    if server.always_load {
        entry["alwaysLoad"] = json!(true);
    }
    let config = json!({ "mcpServers": { server.names.server.as_str(): entry } });
    let path = assignment.room.path().join("mcp.json");
    write_private(&path, config.to_string().as_bytes())?;
    Ok(Some(path))
}

/// The text of an output schema. Without the dialect's name: where a schema names another than draft 7, claude drops it
/// without a word, offers no tool to answer with, and fails at the end.
fn schema(path: &Path) -> Result<String, Trouble> {
    let text = bounded::read_text(path).map_err(|error| files_trouble(path, &error))?;
    match serde_json::from_str(&text) {
        Ok(Value::Object(mut schema)) => {
            schema.remove("$schema");
            Ok(Value::Object(schema).to_string())
        }
        _ => Ok(text),
    }
}
