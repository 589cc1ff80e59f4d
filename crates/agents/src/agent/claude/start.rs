//! How claude is started: by itself or under the Agent SDK, with what it may do, its home and its credentials.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_json::{Value, json};

use super::evidence::SESSIONS;
use super::wire::{ControlBody, SYNTHETIC, parse};
use crate::agent::command::{
    AgentCommand, Assignment, LONGEST_ARGUMENT, environment, long_prompt, mcp_file_of, plugin_args, settings_args_of,
};
use crate::agent::field::Lenient;
use crate::agent::files::{self, read_if_exists, read_jsonc, write_private};
use crate::agent::login::{Login, LoginSources, has_credentials};
use crate::agent::mcp_probe::ServerCommand;
use crate::agent::secrets::{secrets_in, secrets_in_file, without_secrets};
use crate::agent::trial_env::TrialEnv;
use crate::agent::user_home::{copy_login, users_path, variable};
use crate::cases::case::Case;
use crate::files::look;
use crate::files::rooted::RootedPath;
use crate::process::{OutputListener, Reply};
use crate::profile::AgentKind;
use crate::settings::Home;
use crate::settings::mode::Mode;
use crate::text::redact::{is_secret_header, looks_secret};
use crate::trace::trouble::{Trouble, TroubleKind};
use crate::trial::input_file::Sandbox;
use crate::trial::input_file::{HistoryMessage, Speaker};

/// The command that starts `program` for a trial: in a prepared home, with the arguments `fixed` and then options in the SDK's
/// order. It has no prompt yet.
fn common_command(
    assignment: &Assignment<'_>,
    program: PathBuf,
    fixed: &[&str],
    schema: Option<&Value>,
) -> Result<AgentCommand, Trouble> {
    let Assignment { case, mode, settings, trial_env, server, plugin, .. } = *assignment;
    let users = prepare_home(trial_env, settings.isolation.home)?;
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
        resume.push(OsString::from(write_history(trial_env, &case.history)?));
        args.push(resume);
    }
    let files = provider_files(&env);
    Ok(AgentCommand {
        limits_tools: true,
        program,
        args,
        env,
        secrets: users.secrets.into_iter().chain(secrets_in_files(&files)).collect(),
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
fn output_schema(assignment: &Assignment<'_>) -> Result<Option<Value>, Trouble> {
    let Some(schema) = assignment.schema else { return Ok(None) };
    let mut schema: Value = serde_json::from_slice(&schema.text)
        .map_err(|error| Trouble::new(TroubleKind::Files, format!("the output schema: {error}")))?;
    if let Value::Object(schema) = &mut schema {
        schema.remove("$schema");
    }
    Ok(Some(schema))
}

// `claude -p`: all input is in its arguments, the prompt last. Several messages are lines of its standard input.

/// How to start `program` for a trial.
pub(super) fn cli_command(assignment: &Assignment<'_>, program: PathBuf) -> Result<AgentCommand, Trouble> {
    let mut fixed = vec!["-p", "--output-format", "stream-json", "--verbose"];
    let is_dialogue = assignment.case.has_more_messages();
    if is_dialogue {
        fixed.extend(["--input-format", "stream-json"]);
    }
    let mut command = common_command(assignment, program, &fixed, output_schema(assignment)?.as_ref())?;
    match &assignment.case.system_prompt {
        Some(text) if text.len() > LONGEST_ARGUMENT => {
            let path = assignment.trial_env.home().join("system-prompt");
            write_private(&path, text.as_bytes())?;
            command.args.extend(["--append-system-prompt-file".into(), path.into()]);
        }
        Some(text) => command.args.push(format!("--append-system-prompt={text}").into()),
        None => {}
    }
    command.args.extend(settings_args_of(assignment).map(Into::into));
    if is_dialogue {
        command.dialogue = Some(Box::new(Dialogue::new("", assignment.case)));
    } else {
        command.input = long_prompt(assignment);
    }
    if !is_dialogue && command.input.is_none() {
        // A prompt may start with a dash.
        command.args.extend(["--".into(), assignment.case.prompt.as_str().into()]);
    }
    // It exits before a pipe has taken all its output.
    command.by_file = Some(assignment.trial_env.control().join("stdout"));
    Ok(command)
}

// The Claude Agent SDK's side of its dialogue with `claude`: the arguments, environment and lines. The SDK itself
// would need Node.

/// The version of the SDK, which is installed with the measured version of claude.
const SDK: &str = "0.3.332";

/// What the SDK adds to the environment.
const ENVIRONMENT: [(&str, &str); 3] = [
    ("CLAUDE_CODE_ENTRYPOINT", "sdk-ts"),
    ("CLAUDE_AGENT_SDK_VERSION", SDK),
    ("CLAUDE_CODE_SDK_READS_SESSION_STATE", "1"),
];

/// Why claude does not get the permission that it asks for.
const NOBODY: &str = "nobody is here to ask: this is an eval";

/// How to start `program` for a trial.
pub(super) fn sdk_command(assignment: &Assignment<'_>, program: PathBuf) -> Result<AgentCommand, Trouble> {
    let fixed = ["--output-format", "stream-json", "--verbose", "--input-format", "stream-json"];
    let schema = output_schema(assignment)?;
    let mut command = common_command(assignment, program, &fixed, schema.as_ref())?;
    command.args.extend(settings_args_of(assignment).map(Into::into));
    command.env.extend(ENVIRONMENT.map(|(name, value)| (name.into(), value.into())));
    command.dialogue =
        Some(Box::new(Dialogue::new(&initialize(assignment.case, assignment.mode, schema), assignment.case)));
    Ok(command)
}

/// The first line.
fn initialize(case: &Case, mode: &Mode, schema: Option<Value>) -> String {
    let mut request = json!({ "subtype": "initialize" });
    // With skills in its own directory claude has its own system prompt; with MCP alone it has none.
    let has_own_prompt = !mode.delivery.mcp() || mode.delivery.native();
    match (has_own_prompt, &case.system_prompt) {
        (true, None) => {}
        (true, Some(text)) => request["appendSystemPrompt"] = json!(text),
        (false, text) => request["systemPrompt"] = json!([text.as_deref().unwrap_or_default()]),
    }
    if let Some(schema) = schema {
        request["jsonSchema"] = schema;
    }
    let initialize = json!({ "request_id": "skill-evals", "type": "control_request", "request": request });
    format!("{initialize}\n")
}

/// Sends what the SDK sends, and answers claude's requests.
#[derive(Debug)]
struct Dialogue {
    opening: String,
}

impl Dialogue {
    /// Sends these first lines, then the prompt of the case.
    pub(super) fn new(opening: &str, case: &Case) -> Self {
        Self { opening: [opening, &sdk_message(&case.prompt)].concat() }
    }
}

/// A message of the user.
fn sdk_message(text: &str) -> String {
    let content = json!([{ "type": "text", "text": text }]);
    let message = json!({
        "type": "user",
        "session_id": "",
        "message": { "role": "user", "content": content },
        "parent_tool_use_id": null,
    });
    format!("{message}\n")
}

impl OutputListener for Dialogue {
    fn opening(&mut self) -> Option<Vec<u8>> {
        Some(std::mem::take(&mut self.opening).into_bytes())
    }

    fn message(&mut self, text: &str) -> Vec<u8> {
        sdk_message(text).into_bytes()
    }

    fn line(&mut self, line: &[u8]) -> Reply {
        let Some(line) = parse::<DialogueLine>(line) else { return Reply::default() };
        let subtype = line.request.0.and_then(|request| request.subtype.0).unwrap_or_default();
        match line.kind.as_str() {
            "result" => {
                // Nothing more is asked of a session that failed.
                let failed = line.is_error.0 == Some(true);
                Reply { close: failed, answered: !failed, ..Reply::default() }
            }
            "control_request" => Reply { write: sdk_answer(&line.request_id, &subtype), ..Reply::default() },
            _ => Reply::default(),
        }
    }

    fn long_line(&mut self, line: &[u8]) -> Reply {
        self.line(line)
    }
}

/// What of a line decides what the SDK does.
#[derive(Deserialize)]
struct DialogueLine {
    #[serde(rename = "type")]
    kind: String,
    is_error: Lenient<bool>,
    #[serde(default)]
    request_id: Value,
    request: Lenient<ControlBody>,
}

fn sdk_answer(id: &Value, subtype: &str) -> Vec<u8> {
    let response = if subtype == "can_use_tool" {
        let deny = json!({ "behavior": "deny", "message": NOBODY });
        json!({ "subtype": "success", "request_id": id, "response": deny })
    } else {
        json!({ "subtype": "error", "request_id": id, "error": format!("{NOBODY}: {subtype}") })
    };
    format!("{}\n", json!({ "type": "control_response", "response": response })).into_bytes()
}

// claude's home in a trial: the user's credentials and provider, and nothing else.

/// Variables that hold credentials, choose the provider, or limit the retries. [`FAMILIES`] has more.
const VARIABLES: [&str; 26] = [
    "CLAUDE_CODE_OAUTH_TOKEN",
    "CLAUDE_CODE_MAX_RETRIES",
    "CLAUDE_CODE_USE_BEDROCK",
    "CLAUDE_CODE_SKIP_BEDROCK_AUTH",
    "AWS_REGION",
    "AWS_DEFAULT_REGION",
    "AWS_PROFILE",
    "AWS_CONFIG_FILE",
    "AWS_SHARED_CREDENTIALS_FILE",
    "AWS_ACCESS_KEY_ID",
    "AWS_SECRET_ACCESS_KEY",
    "AWS_SESSION_TOKEN",
    "AWS_BEARER_TOKEN_BEDROCK",
    "CLAUDE_CODE_USE_VERTEX",
    "CLAUDE_CODE_SKIP_VERTEX_AUTH",
    "CLOUD_ML_REGION",
    "GOOGLE_APPLICATION_CREDENTIALS",
    "GOOGLE_CLOUD_PROJECT",
    "GCLOUD_PROJECT",
    "CLOUDSDK_CORE_PROJECT",
    "CLAUDE_CODE_USE_FOUNDRY",
    "CLAUDE_CODE_SKIP_FOUNDRY_AUTH",
    "AZURE_TENANT_ID",
    "AZURE_CLIENT_ID",
    "AZURE_CLIENT_SECRET",
    "AZURE_CLIENT_CERTIFICATE_PATH",
];

/// Families of such variables, by prefix.
const FAMILIES: [&str; 2] = ["ANTHROPIC_", "VERTEX_REGION_"];

/// Files with a provider's credentials: the variable that chooses the provider, the variable that names the file in another
/// home, and the file's default path in the user's home.
const PROVIDER_FILES: [(&str, &str, &str); 3] = [
    ("CLAUDE_CODE_USE_BEDROCK", "AWS_CONFIG_FILE", ".aws/config"),
    ("CLAUDE_CODE_USE_BEDROCK", "AWS_SHARED_CREDENTIALS_FILE", ".aws/credentials"),
    ("CLAUDE_CODE_USE_VERTEX", "GOOGLE_APPLICATION_CREDENTIALS", ".config/gcloud/application_default_credentials.json"),
];

/// The file with claude's own credentials.
pub(super) const CREDENTIALS: &str = ".credentials.json";

/// The file with claude's own state, and the key in it with the user's MCP servers.
const STATE: &str = ".claude.json";
const SERVERS: &str = "mcpServers";

/// The setting with a command that prints a key.
const KEY_HELPER: &str = "apiKeyHelper";

/// The variable with headers that claude sends, one per line.
const HEADERS: &str = "ANTHROPIC_CUSTOM_HEADERS";

/// What is passed on of the user's configuration.
pub(super) struct ClaudeUserConfig {
    /// Names of the user's variables to pass on.
    pub variables: Vec<String>,
    /// More variables, with their values.
    pub env: BTreeMap<OsString, OsString>,
    /// Values that must not be stored.
    pub secrets: Vec<String>,
    /// The settings file with the command that prints a key, if the user has one.
    pub settings: Option<RootedPath>,
    /// The program of that command.
    pub key_helper: Option<PathBuf>,
}

/// A file in the directory of the user's configuration.
pub(super) fn users_file(name: &str) -> PathBuf {
    users_path(AgentKind::ClaudeCli, &format!(".claude/{name}"))
}

pub(super) fn prepare_home(trial_env: &TrialEnv, setup: Home) -> Result<ClaudeUserConfig, Trouble> {
    let directory = trial_env.home().join(".claude");
    directory.create_dir_all()?;
    let variables = home_variables();
    // Every trial masks the values of variables whose names look secret; this one's does not.
    let mut secrets = std::env::var(HEADERS).map_or_else(|_| Vec::new(), |headers| header_values(&headers));
    let home = variable("HOME");
    secrets.extend(copy_login(AgentKind::ClaudeCli, ".claude/.credentials.json", trial_env)?);
    let mut env = BTreeMap::new();
    for (provider, name, file) in PROVIDER_FILES {
        let path = home.as_ref().map(|home| home.join(file)).filter(|path| look::is_usable_file(path));
        if let (Some(_), None, Some(path)) = (variable(provider), variable(name), path) {
            env.insert(name.into(), path.into());
        }
    }
    let mut users = ClaudeUserConfig { variables, env, secrets, settings: None, key_helper: None };
    users.add_settings(&directory)?;
    if setup == Home::User {
        let servers = users_servers()?;
        users.secrets.extend([users_settings()?.unwrap_or_default(), servers.clone()].iter().flat_map(secrets_in));
        let known = json!({ SERVERS: servers });
        write_private(&trial_env.home().join(STATE), known.to_string().as_bytes())?;
    }
    Ok(users)
}

/// The user's MCP servers, for every project.
fn users_servers() -> Result<Value, Trouble> {
    let path = Some(users_file(STATE)).filter(|path| look::is_usable(path));
    let mut state = read_jsonc(&path.unwrap_or_else(|| users_path(AgentKind::ClaudeCli, STATE)))?;
    Ok(state.remove(SERVERS).unwrap_or_else(|| json!({})))
}

/// The user's variables that claude gets.
fn home_variables() -> Vec<String> {
    let names = std::env::vars_os().filter_map(|(name, _)| name.into_string().ok());
    names.filter(|name| is_passed_on(name)).collect()
}

/// The user's variables, and what claude gets of the settings, without secrets.
pub(super) fn users_setup(setup: Home) -> Result<(Vec<String>, String), Trouble> {
    let settings = users_settings()?.unwrap_or_default();
    let is_plain = |name: &str, value: &str| name != HEADERS && !looks_secret(name, value);
    let mut text = format!("{KEY_HELPER} {}\n", settings.get(KEY_HELPER).is_some());
    for (name, value) in settings.get("env").and_then(Value::as_object).into_iter().flatten() {
        if let Some(value) = value.as_str().filter(|value| is_passed_on(name) && is_plain(name, value)) {
            text.extend([name.as_str(), "=", value, "\n"]);
        }
    }
    if setup == Home::User {
        text.push_str(&without_secrets(users_servers()?).to_string());
    }
    let names = home_variables().into_iter().filter(|name| name != HEADERS).collect();
    Ok((names, text))
}

impl ClaudeUserConfig {
    /// Adds the credentials of the user's settings, which claude does not read in a trial.
    fn add_settings(&mut self, directory: &RootedPath) -> Result<(), Trouble> {
        let Some(settings) = users_settings()? else { return Ok(()) };
        for (name, value) in settings.get("env").and_then(Value::as_object).into_iter().flatten() {
            if let Some(value) = value.as_str().filter(|_| is_passed_on(name) && variable(name).is_none()) {
                if name == HEADERS {
                    self.secrets.extend(header_values(value));
                } else if looks_secret(name, value) {
                    self.secrets.push(value.to_owned());
                }
                self.env.insert(name.into(), value.into());
            }
        }
        let Some(helper) = settings.get(KEY_HELPER).and_then(Value::as_str) else { return Ok(()) };
        // `~` would be the trial's home.
        let helper = match (helper.strip_prefix("~/"), variable("HOME")) {
            (Some(rest), Some(home)) => format!("{}/{rest}", home.display()),
            _ => helper.to_owned(),
        };
        let program = helper.split_whitespace().next().map(PathBuf::from);
        self.key_helper = program.filter(|program| program.is_absolute() && look::is_usable(program));
        let path = directory.join("login.json");
        write_private(&path, json!({ KEY_HELPER: helper }).to_string().as_bytes())?;
        self.settings = Some(path);
        Ok(())
    }
}

/// The user's settings; `None` if they are not JSON.
pub(super) fn users_settings() -> Result<Option<Value>, Trouble> {
    Ok(read_if_exists(&users_file("settings.json"))?.and_then(|text| serde_json::from_str(&text).ok()))
}

/// Whether claude gets the user's variable of this name.
fn is_passed_on(name: &str) -> bool {
    VARIABLES.contains(&name) || FAMILIES.iter().any(|family| name.starts_with(family))
}

/// The values of headers, which may be credentials: each whole line, its value, and the value after a word like `Bearer`.
fn header_values(headers: &str) -> Vec<String> {
    let lines = headers.lines().map(|line| (line, line.split_once(':').unwrap_or(("", line))));
    let values = lines.filter(|(_, (name, _))| is_secret_header(name)).flat_map(|(line, (_, value))| {
        let value = value.trim();
        [line.trim(), value, value.rsplit(' ').next().unwrap_or(value)]
    });
    values.map(str::to_owned).collect()
}

/// The files with a provider's credentials that these variables name.
fn provider_files(env: &BTreeMap<OsString, OsString>) -> Vec<PathBuf> {
    PROVIDER_FILES.iter().filter_map(|(_, variable, _)| env.get(OsStr::new(variable))).map(PathBuf::from).collect()
}

/// The credentials in these files.
fn secrets_in_files(files: &[PathBuf]) -> Vec<String> {
    let texts = files.iter().filter_map(|path| read_if_exists(path).ok()?);
    texts.flat_map(|text| secrets_in_file("", &text)).collect()
}

// The credentials that claude would use.

/// Variables that hold credentials, or choose a provider with its own credentials.
const LOGINS: [&str; 6] = [
    "ANTHROPIC_API_KEY",
    "ANTHROPIC_AUTH_TOKEN",
    "CLAUDE_CODE_OAUTH_TOKEN",
    "CLAUDE_CODE_USE_BEDROCK",
    "CLAUDE_CODE_USE_VERTEX",
    "CLAUDE_CODE_USE_FOUNDRY",
];

/// Variables of a server that may need no credentials, or gets them in headers.
const MAYBE: [&str; 2] = ["ANTHROPIC_BASE_URL", HEADERS];

/// Settings for every user of the machine, in every home.
const MANAGED: [&str; 2] =
    ["/etc/claude-code/managed-settings.json", "/Library/Application Support/ClaudeCode/managed-settings.json"];

/// How to provide credentials.
const HOW_TO: &str = "log in with `claude`, or set ANTHROPIC_API_KEY, ANTHROPIC_AUTH_TOKEN or CLAUDE_CODE_OAUTH_TOKEN";

pub(super) fn find_login(around: &LoginSources<'_>) -> Login {
    if let Some(name) = around.first(&LOGINS) {
        return Login::Set(name.to_owned());
    }
    if let Some(what) = login_in_settings() {
        return Login::Found(format!("{what} of claude's settings.json"));
    }
    let file = users_file(CREDENTIALS);
    let what_to_do = match login_in_file(&file) {
        Ok(true) => return Login::Found(file.display().to_string()),
        Ok(false) => HOW_TO.to_owned(),
        Err(why) => format!("{why}; {HOW_TO}"),
    };
    if let Some(name) = around.first(&MAYBE) {
        return Login::Unknown(format!("the server of {name} may ask for none"));
    }
    if around.has_argument() {
        return Login::Unknown("the agent's own arguments name settings, which may have one".to_owned());
    }
    if let Some(path) = MANAGED.into_iter().map(Path::new).find(|path| has_key_helper(path)) {
        return Login::Unknown(format!("the {KEY_HELPER} of {}", path.display()));
    }
    if cfg!(target_os = "macos") {
        return Login::Unknown("claude's own may be in the keychain, which is not looked into".to_owned());
    }
    Login::Missing(what_to_do)
}

/// Whether claude's own file has credentials.
fn login_in_file(file: &Path) -> Result<bool, String> {
    let Some(text) = read_if_exists(file).map_err(|trouble| trouble.detail)? else { return Ok(false) };
    match serde_json::from_str::<Value>(&text) {
        // The file also has credentials for MCP servers.
        Ok(value) => Ok(has_credentials(&value, &["mcpOAuth"])),
        Err(_) if text.trim().is_empty() => Ok(false),
        Err(_) => Err(format!("{} is damaged", file.display())),
    }
}

/// The name of the user's setting that provides credentials.
fn login_in_settings() -> Option<&'static str> {
    let settings = users_settings().ok().flatten()?;
    let is_set = |value: Option<&Value>| value.and_then(Value::as_str).is_some_and(|value| !value.trim().is_empty());
    let named = LOGINS.into_iter().find(|name| is_set(settings.get("env").and_then(|env| env.get(name))));
    named.or_else(|| is_set(settings.get(KEY_HELPER)).then_some(KEY_HELPER))
}

fn has_key_helper(path: &Path) -> bool {
    let settings = read_if_exists(path).ok().flatten().and_then(|text| serde_json::from_str::<Value>(&text).ok());
    settings.is_some_and(|settings| settings.get(KEY_HELPER).is_some())
}

// The history of a case as a session file, which `--resume` continues.

/// Writes the session file into the home. Returns its path, by which claude finds it whatever its directory is called.
pub(super) fn write_history(trial_env: &TrialEnv, messages: &[HistoryMessage]) -> Result<RootedPath, Trouble> {
    let session = trial_env.session_id();
    let path = trial_env.home().join(SESSIONS).join("history").join(format!("{session}.jsonl"));
    let mut parent = Value::Null;
    let lines = messages.iter().enumerate().map(|(index, said)| {
        let id = format!("{}-{index:012}", &session[..23]);
        let parent = std::mem::replace(&mut parent, json!(id));
        json!({
            "type": said.role, "message": history_message(said, index), "uuid": id, "parentUuid": parent, "sessionId": session,
            "isSidechain": false,
        })
    });
    files::write_session_file(&path, "", lines)?;
    Ok(path)
}

fn history_message(said: &HistoryMessage, index: usize) -> Value {
    let content = json!([{ "type": "text", "text": said.content }]);
    match said.role {
        Speaker::User => json!({ "role": "user", "content": content }),
        // With a model's name claude would ask that model.
        Speaker::Assistant => json!({
            "id": format!("msg_history_{index}"), "type": "message", "role": "assistant", "model": SYNTHETIC,
            "content": content, "stop_reason": "end_turn", "stop_sequence": null,
            "usage": { "input_tokens": 0, "output_tokens": 0 },
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dialogue() -> Dialogue {
        Dialogue { opening: sdk_message("one") }
    }

    /// The results of a session of Claude Code 2.1.332, in which `type` comes after byte 1,400.
    fn results() -> impl Iterator<Item = &'static str> {
        let trace = include_str!("../../../../../tests/fixtures/traces/claude/async-agents/trace.jsonl");
        trace.lines().filter(|line| line.contains("num_turns"))
    }

    #[test]
    fn a_result_answers_a_message_wherever_its_type_is() {
        let mut dialogue = dialogue();
        assert!(dialogue.opening().is_some_and(|opening| String::from_utf8_lossy(&opening).contains("one")));
        let replies: Vec<Reply> = results().map(|line| dialogue.line(line.as_bytes())).collect();
        assert_eq!(replies.iter().map(|reply| (reply.answered, reply.close)).collect::<Vec<_>>(), [(true, false); 2]);
        assert!(String::from_utf8_lossy(&dialogue.message("two")).contains("two"));
    }

    #[test]
    fn what_a_message_says_about_a_result_is_no_result() {
        let line = br#"{"message":{"content":"\"type\":\"result\"","type":"result"},"type":"assistant"}"#;
        assert!(!dialogue().line(line).answered);
    }

    #[test]
    fn nothing_follows_a_result_that_is_an_error() {
        let reply = dialogue().line(br#"{"usage":{},"is_error":true,"type":"result"}"#);
        assert_eq!((reply.answered, reply.close), (false, true));
    }

    #[test]
    fn the_credentials_in_a_header_are_a_secret_without_the_header() {
        let values = header_values("Authorization: Bearer abc-123\nx-api-key: def-456\nContent-Type: text/plain");
        assert!(!values.iter().any(|value| value.contains("plain")), "{values:?}");
        for secret in ["Authorization: Bearer abc-123", "Bearer abc-123", "abc-123", "def-456"] {
            assert!(values.iter().any(|value| value == secret), "{secret} is not in {values:?}");
        }
    }
}
