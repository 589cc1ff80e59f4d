//! Cline (`cline --json`).
//!
//! Standard output (`trace.jsonl`) has the conversation. It lacks the list of skills, the states of the MCP servers, the
//! refusals, and how answers end: a script in the trial's environment, `evidence.js`, prints these as lines of the same output.
//! The list has only the skills' names. `session.jsonl` has the version and the model. Lines do not say which agent they are
//! from, so the work of sub-agents counts as its own. Cline continues no session without a terminal.

use std::collections::{BTreeSet, HashMap};
use std::path::Path;
use std::time::Duration;

use serde_json::{Map, Value, json};

use crate::agent::command::{
    AgentCommand, Assignment, environment, mcp_file, model_and_settings, refuse, refuse_long_prompt, with,
};
use crate::agent::field::{served, text, usage};
use crate::agent::files::{read_jsonc, write_private};
use crate::agent::login::{Login, LoginSources};
use crate::agent::recorder::{AgentEvent, CallEnding};
use crate::agent::refusal::refused;
use crate::agent::secrets::secrets_in;
use crate::agent::stream::{FillCommand, FindLogin, JsonLinesAgent, LineReader, ReadSetup, SlimSession};
use crate::agent::trial_env::TrialEnv;
use crate::agent::user_home::{add_instructions, variable};
use crate::files::bounded;
use crate::files::rooted::RootedPath;
use crate::profile::AgentKind;
use crate::text::redact::strings;
use crate::trace::StopReason;
use crate::trace::trouble::Trouble;
use crate::trial::input_file::Sandbox;

#[derive(Debug)]
pub struct Cline;

impl JsonLinesAgent for Cline {
    const KIND: AgentKind = AgentKind::Cline;
    type Reader = ClineLines;
    const ARGUMENTS: &[&str] = &["--json"];
    const LOGIN: FindLogin = find_login;
    const COMMAND: FillCommand = fill_command;
    const SETUP: ReadSetup = |_| {
        let providers = without_secrets(users_providers()?);
        Ok((KEY_VARIABLES.map(str::to_owned).to_vec(), providers.to_string()))
    };

    const SLIM_SESSION: SlimSession = |line, _| Some(line);

    /// From `data/sessions/<id>/<id>.json`.
    fn more_session(trial_env: &TrialEnv) -> Option<Value> {
        let profile = Self::KIND.profile();
        let directory = trial_env.home().join(profile.home).join(profile.sessions);
        let is_session =
            |path: &Path| path.parent().and_then(Path::file_name) == path.file_stem() && path.extension().is_some();
        let file = directory.first(is_session)?;
        let session: Value = serde_json::from_slice(&bounded::read_file(file, bounded::MAX_FILE).ok()?).ok()?;
        let version = session.pointer("/metadata/sessionHistoryOrigin/version")?;
        Some(json!({ "type": "session", "version": version, "model": session["model"] }))
    }

    /// Each piece of an answer has the whole answer so far.
    fn slim(mut line: Value, _: &[&str]) -> Value {
        if let Some(event) = line.get_mut("event").and_then(Value::as_object_mut) {
            event.remove("accumulated");
        }
        line
    }
}

// How to start `cline --json` for a trial.

/// The script that prints the evidence. Cline is a program of Bun, which runs it first.
const EVIDENCE: &str = include_str!("cline/evidence.js");

fn fill_command(assignment: &Assignment<'_>, command: &mut AgentCommand) -> Result<(), Trouble> {
    let Assignment { case, trial_env, server, .. } = *assignment;
    refuse_long_prompt(assignment)?;
    refuse(assignment, &[("more than one message", case.has_more_messages())])?;
    let home = trial_env.home();
    let secrets = write_settings(&home.join(".cline/data/settings"), case.sandbox == Sandbox::ReadOnly)?;
    if let Some(text) = &case.system_prompt {
        add_instructions(assignment, ".agents/AGENTS.md", text)?;
    }
    let evidence = trial_env.show("evidence.js", EVIDENCE.as_bytes())?;

    let mut env = environment(assignment, &KEY_VARIABLES);
    env.insert("BUN_OPTIONS".into(), with("--preload=", evidence));
    env.insert("CLINE_NO_AUTO_UPDATE".into(), "1".into());
    // Otherwise a daemon, which all trials would share, does the work and stays.
    env.insert("CLINE_SESSION_BACKEND_MODE".into(), "local".into());
    if let Some(server) = server {
        env.insert("CLINE_MCP_SETTINGS_PATH".into(), mcp_file(assignment, server, json!({}))?.into());
    }
    command.args.extend(model_and_settings(assignment));
    // Without white space, Cline takes a prompt for a command. It trims the prompt.
    command.args.extend(["--".into(), format!("{} ", case.prompt).into()]);
    (command.env, command.secrets) = (env, secrets);
    // It waits for its next request to be refused first.
    command.works_on = true;
    Ok(())
}

/// Writes the user's providers, and settings with which nothing is reported or updated. Returns the secrets.
fn write_settings(directory: &RootedPath, is_read_only: bool) -> Result<Vec<String>, Trouble> {
    let mut settings = json!({ "telemetryOptOut": true, "autoUpdateEnabled": false });
    if is_read_only {
        settings["disabledTools"] = json!(Cline::KIND.profile().tools.edits);
    }
    write_private(&directory.join("global-settings.json"), settings.to_string().as_bytes())?;
    let providers = users_providers()?;
    let secrets = provider_secrets(&providers);
    write_private(&directory.join("providers.json"), Value::Object(providers).to_string().as_bytes())?;
    Ok(secrets)
}

// The credentials that Cline would use: those of the provider that the user chose last, in `providers.json`, or variables.

/// Variables with the keys of providers. Cline knows more: `pass_env` in the settings names others.
const KEY_VARIABLES: [&str; 11] = [
    "CLINE_API_KEY",
    "ANTHROPIC_API_KEY",
    "OPENAI_API_KEY",
    "OPENROUTER_API_KEY",
    "GEMINI_API_KEY",
    "GOOGLE_API_KEY",
    "GROQ_API_KEY",
    "MISTRAL_API_KEY",
    "XAI_API_KEY",
    "DEEPSEEK_API_KEY",
    "CEREBRAS_API_KEY",
];

/// What of a provider's settings is not a secret. Cline keeps keys, tokens, headers and accounts next to it.
const PLAIN: [&str; 6] = ["provider", "model", "baseUrl", "reasoning", "protocol", "client"];

/// The user's providers.
fn users_providers() -> Result<Map<String, Value>, Trouble> {
    let data = variable("CLINE_DATA_DIR")
        .or_else(|| variable("CLINE_DIR").map(|path| path.join("data")))
        .or_else(|| variable("HOME").map(|home| home.join(".cline/data")));
    let path = variable("CLINE_PROVIDER_SETTINGS_PATH").or_else(|| Some(data?.join("settings/providers.json")));
    read_jsonc(&path.unwrap_or_default())
}

/// The values in the providers' settings that must not be stored.
fn provider_secrets(providers: &Map<String, Value>) -> Vec<String> {
    let rest = settings(providers).flatten().filter(|(key, _)| !PLAIN.contains(&key.as_str()));
    // A short one is known by its key alone.
    let short = settings(providers).flat_map(|settings| secrets_in(&Value::Object(settings.clone())));
    let all: BTreeSet<String> = rest.flat_map(|(_, value)| strings(value)).chain(short).collect();
    all.into_iter().collect()
}

/// The providers' settings without those values.
fn without_secrets(mut providers: Map<String, Value>) -> Value {
    let all = providers.get_mut("providers").and_then(Value::as_object_mut);
    for entry in all.into_iter().flat_map(Map::values_mut).filter_map(Value::as_object_mut) {
        entry.retain(|key, _| key == "settings");
        if let Some(settings) = entry.get_mut("settings").and_then(Value::as_object_mut) {
            settings.retain(|key, _| PLAIN.contains(&key.as_str()));
        }
    }
    Value::Object(providers)
}

fn settings(providers: &Map<String, Value>) -> impl Iterator<Item = &Map<String, Value>> {
    let all = providers.get("providers").and_then(Value::as_object);
    all.into_iter().flat_map(Map::values).filter_map(|entry| entry.get("settings")?.as_object())
}

fn find_login(around: &LoginSources<'_>) -> Result<Login, Trouble> {
    if around.has_argument() {
        return Ok(Login::Unknown("the agent's own arguments choose the provider".to_owned()));
    }
    let providers = users_providers()?;
    let chosen = providers.get("lastUsedProvider").and_then(Value::as_str).unwrap_or("cline");
    let own = providers.get("providers").and_then(|all| all.get(chosen)?.get("settings")?.as_object());
    let has_secret = own.is_some_and(|own| own.keys().any(|key| !PLAIN.contains(&key.as_str())));
    Ok(match around.first(&KEY_VARIABLES) {
        _ if has_secret => Login::Found(format!("{chosen}, in Cline's providers.json")),
        Some(name) => Login::Set(name.to_owned()),
        None if own.is_some() => Login::Unknown(format!("{chosen}, without a key in Cline's providers.json")),
        None => Login::Missing("run `cline auth`".to_owned()),
    })
}

// The lines of Cline's output: its own, `{"type", "ts", …}`, and those of our script, `{"type": "evidence", "kind", …}`.

/// How the text of a skill begins that was loaded. An unknown name is not an error, either.
const LOADED: &str = "<command-name>";

/// Cline's words after the last answer that reached the most tokens that it may have.
const TOO_LONG: &str = "Model reached the maximum output token limit";

/// How Cline's reason ends if it stopped a model that made one call again and again.
const LOOP: &str = "stopping to avoid a loop.";

/// The keys of the tokens of a request.
const TOKENS: [&str; 5] = ["inputTokens", "cacheReadTokens", "cacheWriteTokens", "outputTokens", ""];

#[derive(Default)]
pub struct ClineLines {
    /// The version and the model, until the first line.
    first: Vec<AgentEvent>,
    /// The HTTP status with which the last request was refused.
    refused: Option<u64>,
    /// How long the provider asked to wait then.
    wait: Option<Duration>,
    /// Whether the present answer has begun.
    answers: bool,
    /// The names of the MCP servers, which begin the names of their tools.
    servers: Vec<String>,
    /// How many parts a call has, by its id.
    parts: HashMap<String, usize>,
    /// Why the model ended with its last answer, if it did.
    stopped: Option<StopReason>,
    /// Whether the run has ended.
    has_ended: bool,
}

impl LineReader for ClineLines {
    const SHOWS_REQUESTS: bool = true;

    fn session(&mut self, line: &Value) {
        self.first.extend(text(line, "version").map(AgentEvent::Version));
        self.first.extend(text(line, "model").map(AgentEvent::Model));
    }

    fn said(&mut self, line: &Value) -> Option<Vec<AgentEvent>> {
        let mut said = std::mem::take(&mut self.first);
        match line["type"].as_str()? {
            "evidence" => self.evidence(line, &mut said)?,
            "agent_event" => self.event(&line["event"], &mut said)?,
            "run_result" => self.ends(line, &mut said),
            "run_aborted" if self.stopped == Some(StopReason::Loop) => {}
            "run_aborted" => said.push(AgentEvent::Interrupted),
            // Cline repeats here why it ended, if it started.
            "error" if self.has_ended => {}
            "error" => said.push(AgentEvent::Refused(self.trouble(&line["message"]))),
            "hook_event" => {}
            _ => return None,
        }
        Some(said)
    }

    fn time<'a>(&'a self, line: &'a Value) -> Option<&'a str> {
        line.get("ts")?.as_str()
    }
}

impl ClineLines {
    fn evidence(&mut self, line: &Value, said: &mut Vec<AgentEvent>) -> Option<()> {
        let names = |key: &str| line[key].as_array().into_iter().flatten().filter_map(Value::as_str).map(str::to_owned);
        match line["kind"].as_str() {
            Some("request") => {
                (self.refused, self.wait, self.answers, self.stopped) = (None, None, false, None);
                if line["skills"].is_array() {
                    said.push(AgentEvent::Offered(names("skills").map(|name| (name, String::new())).collect()));
                }
                self.servers.extend(names("servers"));
                said.extend(names("servers").map(|name| AgentEvent::Server(name, "connected".to_owned())));
                said.push(AgentEvent::Asks);
            }
            Some("refused") => {
                self.refused = line["status"].as_u64();
                let message = self.refused.map(|status| format!("the provider answered with {status}"));
                let message = text(line, "message").or(message).unwrap_or_default();
                self.wait = line["wait"].as_u64().map(Duration::from_secs);
                said.push(AgentEvent::AsksAgain(refused(self.refused, &message), self.wait));
            }
            Some("answered") => {
                let end = text(line, "end").filter(|end| is_refusal(end));
                self.stopped = end.as_ref().map(|_| StopReason::Refusal);
                said.extend(end.map(|end| AgentEvent::Notice(format!("the answer ended with {end}"))));
            }
            _ => return None,
        }
        Some(())
    }

    fn event(&mut self, event: &Value, said: &mut Vec<AgentEvent>) -> Option<()> {
        let content = event["contentType"].as_str();
        match (event["type"].as_str(), content) {
            (Some("content_start"), Some("tool")) => self.called(event, said),
            (Some("content_end"), Some("tool")) => self.answered(event, said),
            (Some("iteration_start"), _) => self.answers = false,
            (Some("content_start"), Some("text" | "reasoning")) if !self.answers => {
                self.answers = true;
                said.push(AgentEvent::Answers(None));
            }
            (Some("usage"), _) => {
                let is_known = std::mem::replace(&mut self.answers, true);
                let usage = usage(event, TOKENS);
                said.push(if is_known { AgentEvent::Spent(usage) } else { AgentEvent::Answers(Some(usage)) });
            }
            (Some("content_end"), Some("text")) if event["text"].is_string() => {
                said.extend(spoken(event, "text").map(AgentEvent::Message));
            }
            (Some("content_end"), Some("reasoning")) => {
                said.extend(spoken(event, "reasoning").map(AgentEvent::Thought));
            }
            (Some("error"), _) if event["error"]["message"].as_str().is_some_and(|why| why.ends_with(LOOP)) => {
                self.stopped = Some(StopReason::Loop);
                said.push(AgentEvent::Stopped(StopReason::Loop));
            }
            (Some("notice"), _) => said.extend(text(event, "message").map(AgentEvent::Notice)),
            (Some("content_start"), Some("text" | "reasoning"))
            | (Some("content_update" | "done" | "error" | "iteration_end"), _) => {}
            (Some("content_start" | "content_end"), _) => {
                said.push(AgentEvent::Lost(format!("a part `{}` of an answer", content.unwrap_or("without a type"))));
            }
            (Some(_), _) => return None,
            (None, _) => said.push(AgentEvent::Lost("what an event says".to_owned())),
        }
        Some(())
    }

    /// The parts of a call: a tool may run several commands, or read several files.
    fn called(&mut self, event: &Value, said: &mut Vec<AgentEvent>) {
        let (Some(call), Some(tool)) = (text(event, "toolCallId"), text(event, "toolName")) else {
            return said.push(AgentEvent::Lost("a call of the model".to_owned()));
        };
        let inputs = inputs(&event["input"]);
        self.parts.insert(call.clone(), inputs.len());
        let tool = served(&tool, &self.servers, "", "__").unwrap_or(tool);
        said.extend(inputs.into_iter().enumerate().map(|(at, input)| {
            let id = part(&call, at);
            AgentEvent::Called { id, tool: tool.clone(), input }
        }));
    }

    fn answered(&mut self, event: &Value, said: &mut Vec<AgentEvent>) {
        let Some(call) = text(event, "toolCallId") else {
            return said.push(AgentEvent::Lost("the result of a call".to_owned()));
        };
        let is_skill = event["toolName"] == "skills";
        for at in 0..self.parts.remove(&call).unwrap_or(1) {
            let result = event["output"].get(at).unwrap_or(&event["output"]);
            let output = output(result);
            let is_refused = is_skill && !output.as_ref().is_some_and(|output| output.starts_with(LOADED));
            let is_error = result["isError"] == true || result["success"] == false;
            let has_failed = is_refused || is_error || event.get("error").is_some();
            let ending = if has_failed { CallEnding::Failed } else { CallEnding::Done };
            said.push(AgentEvent::Answered {
                id: part(&call, at),
                output,
                ending,
                exit_code: exit_code(event, result),
            });
        }
    }

    fn ends(&mut self, line: &Value, said: &mut Vec<AgentEvent>) {
        self.has_ended = true;
        said.extend(line["iterations"].as_u64().map(AgentEvent::Counted));
        let is_too_long = line["text"].as_str().is_some_and(|text| text.starts_with(TOO_LONG));
        match line["finishReason"].as_str() {
            Some("aborted") if self.stopped == Some(StopReason::Loop) => said.push(AgentEvent::Done),
            Some("aborted") => said.push(AgentEvent::Interrupted),
            Some("completed") => {
                said.extend(self.stopped.map(AgentEvent::Stopped));
                said.push(AgentEvent::Done);
            }
            _ if is_too_long => said.extend([AgentEvent::Stopped(StopReason::MaxTokens), AgentEvent::Done]),
            _ => said.push(AgentEvent::Refused(self.trouble(&line["text"]))),
        }
    }

    fn trouble(&self, message: &Value) -> Trouble {
        refused(self.refused, message.as_str().unwrap_or("no reason given")).after(self.wait)
    }
}

/// Whether an answer ended so because the model refused, in the words of the providers.
fn is_refusal(end: &str) -> bool {
    ["content_filter", "refusal", "safety", "prohibited_content"].contains(&end.to_ascii_lowercase().as_str())
}

fn spoken(event: &Value, key: &str) -> Option<String> {
    text(event, key).filter(|text| !text.is_empty())
}

fn part(call: &str, at: usize) -> String {
    format!("{call} {at}")
}

/// The inputs of the parts of a call, with the keys of a single command or file.
fn inputs(input: &Value) -> Vec<Value> {
    let list = |key: &str| input[key].as_array().filter(|list| !list.is_empty());
    let command = |command: &Value| if command.is_string() { json!({ "command": command }) } else { command.clone() };
    let commands = list("commands").map(|list| list.iter().map(command).collect());
    let file = |file: &Value| if file.is_string() { json!({ "path": file }) } else { file.clone() };
    let files = || list("files").map(|list| list.iter().map(file).collect());
    commands.or_else(files).unwrap_or_else(|| vec![input.clone()])
}

/// What the model sees of a result; `None` without one.
fn output(result: &Value) -> Option<String> {
    let content = result["content"].as_array().into_iter().flatten().filter_map(|block| block["text"].as_str());
    let content: Vec<&str> = content.collect();
    let parts = ["result", "error", "text"].into_iter().filter_map(|key| result[key].as_str());
    match result {
        Value::Null => None,
        Value::String(text) => Some(text.clone()),
        _ if !content.is_empty() => Some(content.join("\n")),
        _ => Some(parts.collect::<Vec<_>>().join("\n").trim_start().to_owned()),
    }
}

/// The exit code of a command: Cline says it only if it is not zero.
fn exit_code(event: &Value, result: &Value) -> Option<i64> {
    if event["toolName"] != "run_commands" {
        return None;
    }
    let said = result["error"].as_str().and_then(|error| error.strip_prefix("Command exited with code ")?.parse().ok());
    said.or((result["success"] == true).then_some(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_tokens_and_headers_are_secrets_and_the_address_is_not() {
        let settings = json!({ "provider": "openai", "model": "m", "baseUrl": "http://x", "apiKey": "key-of-the-first-one",
            "headers": { "X-A": "header-of-the-second" }, "auth": { "accessToken": "token-of-the-third-one" } });
        let providers = json!({ "lastUsedProvider": "openai", "providers": { "openai": { "settings": settings } } });
        let providers = providers.as_object().expect("an object");
        let mut found = provider_secrets(providers);
        found.sort();
        assert_eq!(found, ["header-of-the-second", "key-of-the-first-one", "token-of-the-third-one"]);
        let shown = without_secrets(providers.clone()).to_string();
        assert!(
            shown.contains("http://x")
                && !["key-of-the-first-one", "header-of-the-second", "token-of-the-third-one"]
                    .iter()
                    .any(|secret| shown.contains(secret))
        );
    }
}
