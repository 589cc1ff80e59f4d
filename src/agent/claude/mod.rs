//! Claude Code, as seen with 2.1.197: by itself (`claude -p`) and under the Agent SDK, which is a launcher that speaks
//! JSON lines with the same program.
//!
//! Standard output (`trace.jsonl`) begins with what was offered: the skills, the MCP servers and their tools. What it
//! hides is a skill that the prompt itself called as `/name`; the session file (`session.jsonl`) has that, and times.

mod bwrap;
mod cli;
mod events;
mod home;
mod sdk;
mod session;
mod slim;
mod wire;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::agent::room::Room;
use crate::agent::{Assignment, Command, environment, files_trouble, own_args, program, write_private};
use crate::cases::case::{Case, Sandbox};
use crate::settings::Settings;
use crate::settings::ToolNames;
use crate::settings::mode::{AgentKind, Mode};
use crate::text::lines::{self, Line};
use crate::trial::trace::Trace;
use crate::trial::trouble::Trouble;

/// The folder in a workspace where claude looks for skills.
pub const SKILL_FOLDER: &str = ".claude/skills";

/// The events on standard output.
pub const TRACE: &str = "trace.jsonl";

/// The session file's name in a trial's folder.
pub const SESSION: &str = "session.jsonl";

/// How to get the program.
pub const HOW_TO_GET: &str = "get it with `npm install -g @anthropic-ai/claude-code`, or name it in evals/evals.toml under [agents.claude-cli] \
     and [agents.claude-sdk]";

/// The program.
pub(super) fn find(settings: &Settings, kind: AgentKind) -> Result<PathBuf, Trouble> {
    program(settings, kind, "claude", HOW_TO_GET)
}

pub(super) fn login() -> Result<String, String> {
    home::login()
}

pub(super) fn command(assignment: &Assignment<'_>) -> Result<Command, Trouble> {
    let Assignment { case, mode, settings, room, .. } = *assignment;
    let program = find(settings, mode.agent)?;
    let users = home::lay(room)?;
    let visible: Vec<&str> = users.variables.iter().map(String::as_str).collect();
    let mut env = environment(assignment, &visible);
    env.extend(users.env);
    // Nothing that is not the case's: no telemetry, no update, no title for the session.
    env.insert("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC".into(), "1".into());
    // How long claude waits for a server that is always to be loaded; see `mcp_config`.
    env.insert("MCP_CONNECT_TIMEOUT_MS".into(), "60000".into());
    let call = Call {
        model: settings.model_for(mode),
        permissions: permissions(case, mode, assignment.server.map(|server| &server.names)),
        mcp_config: mcp_config(assignment)?,
        // An empty list of sources, not none: without one claude reads every settings file that there is.
        setting_sources: if mode.delivery.native() { "project" } else { "" },
        schema: assignment.schema.as_deref().map(schema).transpose()?,
    };
    let (mut args, dialogue) = if mode.agent == AgentKind::ClaudeSdk {
        env.extend(sdk::ENVIRONMENT.map(|(name, value)| (name.into(), value.into())));
        (sdk::args(&call), Some(Box::new(sdk::Dialogue::new(case, mode, &call)?) as Box<_>))
    } else {
        (cli::args(&call, case), None)
    };
    args.extend(own_args(assignment).map(Into::into));
    if mode.agent == AgentKind::ClaudeCli {
        // A prompt may start with a dash.
        args.extend(["--".into(), case.prompt.as_str().into()]);
    }
    let mut command = Command {
        program,
        args,
        env,
        secrets: users.secrets,
        not_enforced: call.permissions.not_enforced,
        by_file: (mode.agent == AgentKind::ClaudeCli).then(|| room.path().join("stdout")),
        dialogue,
    };
    if case.sandbox == Sandbox::WorkspaceWrite {
        bwrap::wrap(&mut command, settings.require_sandbox, room)?;
    }
    Ok(command)
}

/// What both ways of starting claude have in common.
struct Call<'a> {
    model: Option<&'a str>,
    permissions: Permissions,
    mcp_config: Option<PathBuf>,
    setting_sources: &'static str,
    /// The output schema's text.
    schema: Option<String>,
}

/// What claude may do without asking; whoever else it would ask is not there.
struct Permissions {
    mode: &'static str,
    allowed: Vec<String>,
    disallowed: Vec<&'static str>,
    not_enforced: Vec<String>,
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
        },
        Sandbox::WorkspaceWrite => {
            allowed.insert(0, "Bash".to_owned());
            // Its editing tools then write in the working folder, and ask elsewhere.
            Permissions { mode: "acceptEdits", allowed: Vec::new(), disallowed: Vec::new(), not_enforced: Vec::new() }
        }
    };
    permissions.not_enforced.push("reading is not limited to the workspace".to_owned());
    permissions.not_enforced.push("shell commands see the variables with the login".to_owned());
    if mode.delivery.native() {
        allowed.push("Skill".to_owned());
    }
    allowed.extend(server.map(|names| format!("mcp__{}", names.server)));
    permissions.allowed = allowed;
    permissions
}

/// The MCP servers as a file that nobody else can read: arguments every user of the machine sees. Without `alwaysLoad`
/// claude begins while a slow server is still `pending`, and without its tools.
fn mcp_config(assignment: &Assignment<'_>) -> Result<Option<PathBuf>, Trouble> {
    let Some(server) = assignment.server else { return Ok(None) };
    let entry = json!({
        "type": "stdio",
        "command": server.program,
        "args": server.args,
        "env": server.env,
        "alwaysLoad": true,
    });
    let config = json!({ "mcpServers": { server.names.server.as_str(): entry } });
    let path = assignment.room.path().join("mcp.json");
    write_private(&path, config.to_string().as_bytes())?;
    Ok(Some(path))
}

/// The text of an output schema. Without the dialect's name: where a schema names another than draft 7, claude drops it
/// without a word, offers no tool to answer with, and fails at the end.
fn schema(path: &Path) -> Result<String, Trouble> {
    let text = fs::read_to_string(path).map_err(|error| files_trouble(path, &error))?;
    match serde_json::from_str(&text) {
        Ok(Value::Object(mut schema)) => {
            schema.remove("$schema");
            Ok(Value::Object(schema).to_string())
        }
        _ => Ok(text),
    }
}

pub(super) fn keep_evidence(room: &Room, folder: &Path, mask: &dyn Fn(&[u8]) -> Vec<u8>) -> io::Result<()> {
    // One run, one session: `projects/<the working folder>/<id>.jsonl`; what lies deeper is of sub-agents.
    let projects = walkdir::WalkDir::new(room.home().join(".claude/projects")).min_depth(2).max_depth(2);
    let files = projects.sort_by_file_name().into_iter().flatten().filter(|entry| entry.file_type().is_file());
    let session = files.map(walkdir::DirEntry::into_path).find(|path| path.extension() == Some("jsonl".as_ref()));
    let Some(session) = session else { return Ok(()) };
    let mut kept = io::BufWriter::new(fs::File::create(folder.join(SESSION))?);
    let mut result = Ok(());
    lines::for_each(&session, |line| {
        if let (Ok(()), Line::Whole(line)) = (&result, line) {
            let mut line = mask(line);
            line.push(b'\n');
            result = kept.write_all(&line);
        }
    })?;
    result.and_then(|()| kept.flush())
}

pub(super) fn recorded_evidence(folder: &Path) -> io::Result<Vec<(&'static str, Vec<u8>)>> {
    let slimmed = |name: &'static str, slim: fn(&[u8]) -> Option<Vec<u8>>| {
        let mut kept = Vec::new();
        lines::for_each(&folder.join(name), |line| {
            if let Line::Whole(line) = line {
                kept.extend(slim(line).into_iter().flatten());
            }
        })?;
        Ok::<_, io::Error>((name, kept))
    };
    let mut files = vec![slimmed(TRACE, slim::line)?, slimmed(SESSION, session::slimmed)?];
    files.retain(|(name, kept)| *name == TRACE || !kept.is_empty());
    Ok(files)
}

pub(super) fn describe(line: &[u8]) -> Option<String> {
    events::describe(line)
}

pub(super) fn decode(names: &ToolNames, folder: &Path) -> io::Result<Trace> {
    let mut trace = Trace::default();
    let mut session = session::Reader::default();
    lines::for_each(&folder.join(SESSION), |line| {
        if let Line::Whole(line) = line {
            session.line(&mut trace, line);
        }
    })?;
    let mut events = events::Reader::new(names, session.times());
    lines::for_each(&folder.join(TRACE), |line| match line {
        Line::Whole(line) => events.line(&mut trace, line),
        Line::Overlong => trace.damaged_lines += 1,
    })?;
    events.finish(&mut trace);
    Ok(trace)
}

/// Variables as pairs for an environment.
type Variables = BTreeMap<OsString, OsString>;
