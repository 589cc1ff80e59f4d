//! `codex exec`, as seen with 0.169: how it is started, and what its event stream and rollout file say.
//!
//! Two streams tell of a run. Standard output (`trace.jsonl`) has the messages, the token usage and the failures. The
//! rollout file (`rollout.jsonl`) has what standard output hides: the skills that were offered, the skills injected
//! for a `$name` in the prompt, and commands that the sandbox stopped.

mod events;
mod login;
mod rollout;

use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::agent::mcp_probe::SkillServer;
use crate::agent::room::Room;
use crate::agent::{
    Assignment, Command, environment, files_trouble, gather_strings, own_args, program, read_if_there, skill_calls,
    write_private,
};
use crate::cases::case::Sandbox;
use crate::settings::Settings;
use crate::settings::ToolNames;
use crate::settings::mode::AgentKind;
use crate::text::lines;
use crate::trial::outcome::{Trouble, TroubleKind};
use crate::trial::trace::Trace;

/// The folders in a workspace where codex looks for skills: today's, and the one of older versions.
pub const SKILL_FOLDERS: [&str; 2] = [".agents/skills", ".codex/skills"];

/// The events on standard output.
pub const TRACE: &str = "trace.jsonl";

/// The rollout file's name in a trial's folder.
pub const ROLLOUT: &str = "rollout.jsonl";

/// Where `--output-last-message` goes, in the room.
pub const LAST_MESSAGE: &str = "last-message.txt";

/// How to get the program.
pub const HOW_TO_GET: &str =
    "get it with `npm install -g @openai/codex`, or name it in evals/evals.toml under [agents.codex]";

/// Keys of the user's `config.toml` that come along, beside all that start with `model`.
const KEPT_KEYS: [&str; 5] = [
    "chatgpt_base_url",
    "openai_base_url",
    "preferred_auth_method",
    "forced_login_method",
    "forced_chatgpt_workspace_id",
];

/// Variables with a login.
const LOGIN_VARIABLES: [&str; 3] = ["OPENAI_API_KEY", "CODEX_API_KEY", "CODEX_ACCESS_TOKEN"];

/// Variables that choose the provider.
const PROVIDER_VARIABLES: [&str; 3] = ["OPENAI_BASE_URL", "OPENAI_ORGANIZATION", "OPENAI_PROJECT"];

/// The program.
pub(super) fn find(settings: &Settings) -> Result<PathBuf, Trouble> {
    program(settings, AgentKind::Codex, "codex", HOW_TO_GET)
}

pub(super) fn login() -> Result<String, String> {
    login::find()
}

/// The arguments with which codex runs a shell command in the sandbox that it gives to read-only cases.
pub(super) fn in_sandbox(script: &str) -> Vec<OsString> {
    ["sandbox", "--", "/bin/sh", "-c", script].map(OsString::from).to_vec()
}

pub(super) fn command(assignment: &Assignment<'_>) -> Result<Command, Trouble> {
    let settings = assignment.settings;
    let room = assignment.room;
    let case = assignment.case;
    let program = find(settings)?;
    let own = lay_home(room)?;
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
    if let Some(text) = &case.system_prompt {
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
    args.extend(["--".into(), case.prompt.as_str().into()]);
    let not_enforced = match case.sandbox {
        Sandbox::ReadOnly => "codex's sandbox limits writing, not reading",
        Sandbox::WorkspaceWrite => "codex's sandbox limits writing, not reading; /tmp is writable beside the workspace",
    };
    let not_enforced = vec![not_enforced.to_owned()];
    Ok(Command { program, args, env, secrets, not_enforced, by_file: None, dialogue: None })
}

/// The MCP server in codex's settings. Without `required` codex says nothing of a server that does not start, anywhere.
fn server_args(server: &SkillServer) -> Vec<String> {
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

/// What of the user's own configuration came along.
struct Own {
    /// Variables that the configured providers read keys from.
    key_variables: Vec<String>,
    /// Values in the copied login.
    secrets: Vec<String>,
}

/// Lays the agent's home: the user's login and choice of model, nothing else.
fn lay_home(room: &Room) -> Result<Own, Trouble> {
    let home = room.home().join(".codex");
    fs::create_dir_all(&home).map_err(|error| files_trouble(&home, &error))?;
    let mut own = Own { key_variables: Vec::new(), secrets: Vec::new() };
    let Some(users) = users_home() else { return Ok(own) };
    let login = users.join("auth.json");
    if let Some(text) = read_if_there(&login)? {
        let to = home.join("auth.json");
        write_private(&to, text.as_bytes())?;
        if let Ok(value) = serde_json::from_str::<serde_json::Value>(&text) {
            gather_strings(&value, &mut own.secrets);
        }
    }
    let config = users.join("config.toml");
    if let Some(text) = read_if_there(&config)? {
        let table: toml::Table = toml::from_str(&text)
            .map_err(|error| Trouble::new(TroubleKind::Files, format!("{}: {}", config.display(), error.message())))?;
        own.key_variables = key_variables(&table);
        let kept: toml::Table = table
            .into_iter()
            .filter(|(key, _)| key.starts_with("model") || KEPT_KEYS.contains(&key.as_str()))
            .collect();
        let to = home.join("config.toml");
        write_private(&to, kept.to_string().as_bytes())?;
    }
    Ok(own)
}

fn users_home() -> Option<PathBuf> {
    let set = |name| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    set("CODEX_HOME").or_else(|| set("HOME").map(|home| home.join(".codex")))
}

/// The variables that `[model_providers.*]` name: `env_key`, and the values of `env_http_headers`.
fn key_variables(config: &toml::Table) -> Vec<String> {
    let providers =
        config.get("model_providers").and_then(toml::Value::as_table).into_iter().flat_map(toml::Table::values);
    let mut names = Vec::new();
    for provider in providers {
        names.extend(provider.get("env_key").and_then(toml::Value::as_str).map(str::to_owned));
        let headers = provider.get("env_http_headers").and_then(toml::Value::as_table);
        names.extend(
            headers.into_iter().flat_map(toml::Table::values).filter_map(toml::Value::as_str).map(str::to_owned),
        );
    }
    names
}

pub(super) fn keep_evidence(room: &Room, folder: &Path, mask: &dyn Fn(&[u8]) -> Vec<u8>) -> io::Result<()> {
    let sessions = room.home().join(".codex/sessions");
    // One run, one session: `sessions/YYYY/MM/DD/rollout-….jsonl`. Sub-agents' are later and not the first.
    let mut rollouts: Vec<PathBuf> = walkdir::WalkDir::new(sessions)
        .into_iter()
        .flatten()
        .filter(|entry| entry.file_name().to_string_lossy().starts_with("rollout-"))
        .map(walkdir::DirEntry::into_path)
        .collect();
    rollouts.sort();
    if let Some(path) = rollouts.first() {
        fs::write(folder.join(ROLLOUT), mask(&fs::read(path)?))?;
    }
    let last = room.path().join(LAST_MESSAGE);
    match fs::read(&last) {
        // codex makes the file when it starts and leaves it empty when it fails.
        Ok(content) if !content.is_empty() => fs::write(folder.join("final.txt"), mask(&content)),
        Ok(_) => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error),
    }
}

pub(super) fn recorded_evidence(folder: &Path) -> io::Result<Vec<(&'static str, Vec<u8>)>> {
    let mut kept = Vec::new();
    lines::for_each(&folder.join(ROLLOUT), |line| {
        if let lines::Line::Whole(line) = line {
            kept.extend(rollout::slimmed(line).into_iter().flatten());
        }
    })?;
    let trace = fs::read(folder.join(TRACE))?;
    let mut files = vec![(TRACE, trace)];
    if !kept.is_empty() {
        files.push((ROLLOUT, kept));
    }
    Ok(files)
}

pub(super) fn describe(line: &[u8]) -> Option<String> {
    events::describe(line)
}

pub(super) fn decode(names: &ToolNames, folder: &Path) -> io::Result<Trace> {
    let mut trace = Trace::default();
    let mut rollout = rollout::Reader::default();
    lines::for_each(&folder.join(ROLLOUT), |line| match line {
        lines::Line::Whole(line) => rollout.line(&mut trace, line),
        lines::Line::Overlong => trace.damaged_lines += 1,
    })?;
    let told_by_rollout = rollout.finish(&mut trace);
    let mut events = events::Reader::new(names, told_by_rollout);
    lines::for_each(&folder.join(TRACE), |line| match line {
        lines::Line::Whole(line) => events.line(&mut trace, line),
        lines::Line::Overlong => trace.damaged_lines += 1,
    })?;
    Ok(trace)
}

/// Notes what a command that has ended touched of the skills.
fn note_touches(trace: &mut Trace, command: &str, exit_code: Option<i64>, output: &str) {
    use crate::trial::trace::shell::Touch;
    use crate::trial::trace::{Mechanism, shell};
    for touch in shell::touches(command) {
        match touch {
            Touch::SkillFile { skill } => {
                let offered = trace.offered.as_ref().is_none_or(|offered| offered.native.contains(&skill));
                // In `cat SKILL.md && false` the file was read all the same.
                let read = exit_code == Some(0) || output.contains(&format!("name: {skill}"));
                if offered && read {
                    trace.activate(&skill, Mechanism::ReadSkillFile, command);
                } else {
                    trace.explore(command);
                }
            }
            Touch::Resource { skill, path } if exit_code == Some(0) => trace.load(&skill, &path, command),
            Touch::Resource { .. } | Touch::Explore => trace.explore(command),
        }
    }
}
