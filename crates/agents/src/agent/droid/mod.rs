//! Droid (`droid exec`).
//!
//! Standard output (`trace.jsonl`) has the conversation. Its session file has the times, the list of skills in the reminders
//! before the first message, and what sub-agents did. Its log has the tokens of each request, and the requests that failed.
//! Both are kept together (`session.jsonl`), of the log only these lines.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::ffi::OsString;
use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;

use serde_json::{Value, json};

use crate::agent::command::{AgentCommand, Assignment, NextMessage, environment, model_and_settings, refuse, with};
use crate::agent::field::{plain, text};
use crate::agent::files::{merge, read_jsonc, write_private};
use crate::agent::interface::{Agent, TurnSign};
use crate::agent::login::{Login, LoginSources};
use crate::agent::recorder::{AgentEvent, CallEnding};
use crate::agent::refusal::refused;
use crate::agent::secrets::{secrets_in, without_secrets};
use crate::agent::skill_list::recorded_description;
use crate::agent::stream::{
    FillCommand, FindLogin, JsonLinesAgent, LineReader, ReadSetup, ReadSigns, ResumeSession, SlimSession,
};
use crate::agent::trial_env::TrialEnv;
use crate::agent::user_home::{copy_login, users_path, variable};
use crate::files::look;
use crate::files::rooted::WalkControl;
use crate::profile::AgentKind;
use crate::settings::Home;
use crate::trace::trouble::Trouble;
use crate::trace::{StopReason, Usage};
use crate::trial::input_file::Sandbox;

/// The name of the log, in the directory of sessions.
const LOG: &str = "droid.log";

/// The key of the session that called a sub-agent.
const CALLER: &str = "callingSessionId";

#[derive(Debug)]
pub struct Droid;

impl JsonLinesAgent for Droid {
    const KIND: AgentKind = AgentKind::Droid;
    type Reader = DroidLines;
    const ARGUMENTS: &[&str] =
        &["exec", "--output-format=stream-json", "--skip-permissions-unsafe", "--disable-builtin-skills"];

    const LOGIN: FindLogin = find_login;
    const COMMAND: FillCommand = fill_command;
    const SETUP: ReadSetup = users_setup;
    const SIGNS: ReadSigns = turn_signs;
    const RESUME: ResumeSession = resumed_command;
    const SLIM_SESSION: SlimSession = slim_session;

    /// `<working directory>/<id>.jsonl`.
    fn is_session(path: &Path) -> bool {
        path.iter().count() == 2 && path.extension().is_some_and(|end| end == "jsonl")
    }

    fn is_evidence(path: &Path) -> bool {
        Self::is_session(path) || path == Path::new(LOG)
    }

    fn kept() -> impl FnMut(&[u8]) -> Option<Vec<u8>> {
        let mut log = LogReader::default();
        move |line: &[u8]| if line.starts_with(b"{") { Some(line.to_vec()) } else { log.line(line) }
    }

    /// The version, of which Droid says nothing elsewhere.
    fn more_session(trial_env: &TrialEnv) -> Option<Value> {
        let version = trial_env.home().join(".factory/last-startup-version").read(100).ok()?;
        Some(json!({ "type": "program", "version": String::from_utf8_lossy(&version).trim() }))
    }
}

// How to start `droid exec` for a trial.

const CONTINUE: &str = "--session-id=";

/// The longest first line of a session's file that is read, in bytes.
const MAX_START: u64 = 100_000;

/// What keeps Droid from reporting to Factory and from replacing itself. An address that nobody answers takes the rest.
const QUIET: [(&str, &str); 5] = [
    ("FACTORY_DROID_AUTO_UPDATE_ENABLED", "false"),
    ("FACTORY_TELEMETRY_INGEST_BASE_URL", "http://127.0.0.1:1"),
    ("OTEL_CUSTOMER_ENABLED", "false"),
    ("OTEL_SDK_DISABLED", "true"),
    ("FACTORY_DISABLE_KEYRING", "true"),
];

fn fill_command(assignment: &Assignment<'_>, command: &mut AgentCommand) -> Result<(), Trouble> {
    let Assignment { case, settings, trial_env, .. } = *assignment;
    // To continue a session, Droid asks Factory for it first.
    let is_known = is_logged_in() || std::env::var_os(SERVER).is_some();
    let asks_more = case.has_more_messages() && !is_known;
    refuse(assignment, &[("follow-ups without a login at Factory", asks_more)])?;
    let home = trial_env.home().join(".factory");
    let (variables, secrets) = prepare_home(trial_env, settings.isolation.home)?;
    let visible: Vec<&str> = PROVIDER.into_iter().chain([KEY]).chain(variables.iter().map(String::as_str)).collect();
    let mut env = environment(assignment, &visible);
    env.extend(QUIET.map(|(name, value)| (name.into(), value.into())));
    env.insert("FACTORY_LOG_FILE".into(), home.join("sessions").join(LOG).into());

    let args = &mut command.args;
    if case.sandbox == Sandbox::ReadOnly {
        args.push(format!("--remove-tools={}", Droid.kind().profile().tools.edits.join(",")).into());
    }
    if let Some(text) = &case.system_prompt {
        let file = home.join("system-prompt");
        write_private(&file, text.as_bytes())?;
        args.push(with("--append-system-prompt-file=", file));
    }
    args.extend(model_and_settings(assignment));
    // As an argument, it could be an option.
    (command.env, command.secrets, command.input) = (env, secrets, Some(case.prompt.as_bytes().to_vec()));
    Ok(())
}

/// Writes the home: the user's login and models, and nothing else of the user's. Returns the variables that the models name,
/// and the values that must not be stored.
fn prepare_home(trial_env: &TrialEnv, setup: Home) -> Result<(Vec<String>, Vec<String>), Trouble> {
    let home = trial_env.home().join(".factory");
    let sessions = home.join("sessions");
    sessions.create_dir_all()?;
    let mut settings = users_settings(setup)?;
    let mut secrets = secrets_in(&settings);
    let variables = named_variables(&secrets);
    secrets.retain(|secret| !secret.contains("${"));
    secrets.extend(variables.iter().filter_map(|name| std::env::var(name).ok()));
    merge(&mut settings, json!({ "cloudSessionSync": false }));
    write_private(&home.join("settings.json"), settings.to_string().as_bytes())?;
    for path in LOGIN_FILES {
        secrets.extend(copy_login(Droid::KIND, path, trial_env)?);
    }
    Ok((variables, secrets))
}

/// These arguments with another message, for the same session.
fn resumed_command(assignment: &Assignment<'_>, args: &[OsString], message: &str) -> Option<NextMessage> {
    let mut id = None;
    let _ = assignment.trial_env.home().join(".factory/sessions").walk(|_| false, &mut |entry| {
        if Droid::is_session(entry.path) && id.is_none() {
            id = entry.open().ok().and_then(id_of_session);
        }
        if id.is_none() { WalkControl::On } else { WalkControl::Stop }
    });
    let options = args.iter().filter(|argument| !argument.to_string_lossy().starts_with(CONTINUE)).cloned();
    Some(NextMessage::as_input(message, options.chain([format!("{CONTINUE}{}", id?).into()])))
}

/// The id of the session in this file, unless it is a sub-agent's.
fn id_of_session(file: File) -> Option<String> {
    let mut line = String::new();
    BufReader::new(file.take(MAX_START)).read_line(&mut line).ok()?;
    let start: Value = serde_json::from_str(&line).ok()?;
    start.get(CALLER).is_none().then(|| text(&start, "id"))?
}

// The credentials that Droid would use: of Factory, or those of the user's own models in `settings.json`.

const KEY: &str = "FACTORY_API_KEY";

/// The variable with the address of Factory's server.
const SERVER: &str = "FACTORY_API_BASE_URL";

/// Variables that choose what Droid reaches.
const PROVIDER: [&str; 3] = [SERVER, "FACTORY_AIRGAP_ENABLED", "FACTORY_EXTRA_CA_CERTS"];

/// Files with a login at Factory in the user's home: the login, and the key to it.
const LOGIN_FILES: [&str; 2] = [".factory/auth.v2.file", ".factory/auth.v2.key"];

/// The keys of the user's settings that trials get.
const COPIED_KEYS: [&str; 4] = ["customModels", "model", "reasoningEffort", "sessionDefaultSettings"];

/// What of the user's settings trials get.
fn users_settings(setup: Home) -> Result<Value, Trouble> {
    let mut settings = read_jsonc(&users_path(AgentKind::Droid, ".factory/settings.json"))?;
    settings.retain(|key, _| setup == Home::User || COPIED_KEYS.contains(&key.as_str()));
    Ok(Value::Object(settings))
}

/// The variables that the settings name in these secrets: `${NAME}`.
fn named_variables(secrets: &[String]) -> Vec<String> {
    let names = secrets.iter().flat_map(|secret| secret.split("${").skip(1));
    names.filter_map(|rest| Some(rest.split_once('}')?.0.to_owned())).collect()
}

/// Whether the user has a login at Factory.
fn is_logged_in() -> bool {
    variable(KEY).is_some() || LOGIN_FILES.iter().all(|path| look::is_usable_file(&users_path(AgentKind::Droid, path)))
}

fn find_login(around: &LoginSources<'_>) -> Result<Login, Trouble> {
    let settings = users_settings(Home::Isolated)?;
    if around.variable(KEY).is_some() {
        return Ok(Login::Set(KEY.to_owned()));
    }
    if is_logged_in() {
        return Ok(Login::Found("auth.v2.file in Droid's directory".to_owned()));
    }
    let has_models = settings.get("customModels").is_some();
    Ok(match secrets_in(&settings).is_empty() {
        false => Login::Found("a key of your own model in Droid's settings.json".to_owned()),
        true if has_models => {
            Login::Unknown("your own model in Droid's settings.json, which may need no key".to_owned())
        }
        true => Login::Missing(format!(
            "trials do not see the keychain: set {KEY}, or add your own model to Droid's settings.json"
        )),
    })
}

/// The variables that choose the provider, and the settings without secrets.
fn users_setup(setup: Home) -> Result<(Vec<String>, String), Trouble> {
    let settings = users_settings(setup)?;
    let names = PROVIDER.map(str::to_owned).into_iter().chain(named_variables(&secrets_in(&settings))).collect();
    Ok((names, format!("login {}\n{}", is_logged_in(), without_secrets(settings))))
}

// The lines of Droid's output, which has the conversation, and of what is kept of its session files and its log.

/// What comes before the list of skills: a line for each, `name: description`.
const LIST: &str = "Available skills (invoke by exact name when its description matches the request):\n";

const LIST_END: &str = "\n</system-reminder>";

/// How the id of a message begins that says that a sub-agent is done.
const COMPLETED: &str = "task-completion:";

/// How Droid puts a skill into the user's message, before its name.
const CALLED: &str = "The user has selected the following skill for immediate execution.";

/// What comes before the exit code of a command, at the end of its output.
const EXIT_CODE: &str = "[Process exited with code ";

/// What Droid says if the model's answer ended with a refusal.
const REFUSED: &str = "Request failed due to triggering the model provider's content moderation policy";

#[derive(Default)]
pub struct DroidLines {
    version: Option<String>,
    /// The model of the first answer.
    model: Option<String>,
    /// The skills that the model was offered.
    offered: Option<Vec<(String, String)>>,
    /// The sub-agent whose session file is read.
    reads_sub_agent: Option<String>,
    /// The messages of each sub-agent that are not reported yet.
    sub_agents: HashMap<String, Vec<Value>>,
    /// The ids of the calls in the session file that no line of the output showed so far.
    unshown: BTreeSet<String>,
    /// When each message came, by its id.
    times: HashMap<String, String>,
    /// The tokens of each answer, by its id.
    usage: HashMap<String, Usage>,
    /// The requests that failed: the session, how many answers it had before, and why.
    failed: Vec<(String, usize, Trouble)>,
    /// How many answers the log has of each session.
    in_log: HashMap<String, usize>,
    /// The ids of the answers so far.
    answers: HashSet<String>,
    /// The thoughts so far, which may come again.
    thoughts: HashSet<(String, String)>,
}

impl LineReader for DroidLines {
    fn session(&mut self, line: &Value) {
        match line["type"].as_str() {
            Some("program") => self.version = text(line, "version"),
            Some("request") => {
                let session = text(line, "session").unwrap_or_default();
                *self.in_log.entry(session).or_default() += 1;
                self.usage.extend(text(line, "message").zip(usage(&line["tokens"])));
            }
            Some("retry") => {
                let session = text(line, "session").unwrap_or_default();
                let answers = self.in_log.get(&session).copied().unwrap_or_default();
                let trouble = refusal(line["error"].as_str().unwrap_or_default());
                self.failed.push((session, answers, trouble));
            }
            Some("session_start") => {
                self.reads_sub_agent = text(line, CALLER).and_then(|_| text(line, "id"));
            }
            Some("message") => self.message(line),
            _ => {}
        }
    }

    fn said(&mut self, line: &Value) -> Option<Vec<AgentEvent>> {
        let mut said = Vec::new();
        match (line["type"].as_str()?, line["role"].as_str()) {
            ("system", _) => {}
            ("message", Some("user")) => match Self::sub_agent(line) {
                Some(id) => {
                    let messages = self.sub_agents.remove(id).unwrap_or_default();
                    said.extend(messages.iter().flat_map(|message| self.of_sub_agent(message)));
                    said.push(AgentEvent::Asks);
                }
                None => said.extend(self.begins(line["text"].as_str().unwrap_or_default())),
            },
            ("message", Some("assistant")) => {
                said.extend(text(line, "id").and_then(|id| self.answers(id)));
                said.push(AgentEvent::or_gap(text(line, "text").map(AgentEvent::Message), "a message of the agent"));
            }
            ("message", _) => said.push(AgentEvent::Lost("a message of nobody who is known".to_owned())),
            ("reasoning", _) => {
                let (id, thought) = (text(line, "id")?, text(line, "text")?);
                said.extend(self.answers(id.clone()));
                said.extend(self.thoughts.insert((id, thought.clone())).then_some(AgentEvent::Thought(thought)));
            }
            ("tool_call", _) => {
                said.extend(self.answers(text(line, "messageId")?));
                let (id, tool) = (text(line, "id")?, text(line, "toolName")?);
                self.unshown.remove(&id);
                said.push(AgentEvent::Called { id, tool: named(tool), input: line["parameters"].clone() });
            }
            ("tool_result", _) => {
                let output = line["error"]["message"].as_str().map(str::to_owned);
                let output = output.or_else(|| plain(&line["value"]));
                said.push(answered(text(line, "id")?, output, line["isError"] == true));
            }
            ("completion", _) => {
                said.extend(line["numTurns"].as_u64().map(AgentEvent::Counted));
                said.push(AgentEvent::Done);
            }
            ("error", _) => said.extend(error(line)),
            _ => return None,
        }
        self.failures(line["session_id"].as_str().unwrap_or_default(), &mut said);
        Some(said)
    }

    fn unshown(&self) -> Option<&BTreeSet<String>> {
        Some(&self.unshown)
    }

    /// The sub-agent that is done, whose work is reported with that.
    fn sub_agent(line: &Value) -> Option<&str> {
        line["id"].as_str().filter(|id| id.starts_with(COMPLETED))?;
        line["text"].as_str()?.split_once("task_id: ")?.1.lines().next()
    }

    fn time<'a>(&'a self, line: &'a Value) -> Option<&'a str> {
        let id = line["messageId"].as_str().or_else(|| line["id"].as_str())?;
        self.times.get(id).map(String::as_str)
    }
}

impl DroidLines {
    /// Notes a message of a session file.
    fn message(&mut self, line: &Value) {
        self.times.extend(text(line, "id").zip(text(line, "timestamp")));
        if let Some(id) = &self.reads_sub_agent {
            return self.sub_agents.entry(id.clone()).or_default().push(line.clone());
        }
        let calls = parts(line).filter(|part| part["type"] == "tool_use");
        self.unshown.extend(calls.filter_map(|call| text(call, "id")));
        if self.model.is_none() {
            self.model = text(&line["message"], "modelId");
        }
        if self.offered.is_none() && is_context(line) {
            self.offered = Some(texts(line).find_map(list).unwrap_or_default());
        }
    }

    /// A message of the user.
    fn begins(&self, message: &str) -> Vec<AgentEvent> {
        let version = self.version.clone().map(AgentEvent::Version);
        let model = self.model.clone().map(AgentEvent::Model);
        let offered = self.offered.clone().map(AgentEvent::Offered);
        let all = [version, model, offered, Some(AgentEvent::Asks)].into_iter().flatten();
        all.chain(called_by_user(message)).collect()
    }

    /// An answer, if this is the first part of it.
    fn answers(&mut self, id: String) -> Option<AgentEvent> {
        let usage = self.usage.get(&id).copied();
        self.answers.insert(id).then_some(AgentEvent::Answers(usage))
    }

    /// The requests that failed before what comes next.
    fn failures(&mut self, session: &str, said: &mut Vec<AgentEvent>) {
        let answers = self.answers.len();
        self.failed.retain(|(of, before, trouble)| {
            let is_next = of == session && *before <= answers;
            if is_next {
                said.push(AgentEvent::AsksAgain(trouble.clone(), None));
            }
            !is_next
        });
    }

    fn of_sub_agent(&self, line: &Value) -> Vec<AgentEvent> {
        let is_answer = line["message"]["role"] == "assistant";
        let id = text(line, "id").unwrap_or_default();
        let first = is_answer.then(|| AgentEvent::Answers(self.usage.get(&id).copied()));
        let part = |part: &Value| match part["type"].as_str()? {
            "text" if is_answer => text(part, "text").map(AgentEvent::Message),
            "thinking" => text(part, "thinking").map(AgentEvent::Thought),
            "tool_use" => {
                let (id, tool) = (text(part, "id")?, text(part, "name")?);
                Some(AgentEvent::Called { id, tool: named(tool), input: part["input"].clone() })
            }
            "tool_result" => {
                Some(answered(text(part, "tool_use_id")?, plain(&part["content"]), part["is_error"] == true))
            }
            _ => None,
        };
        // What it was asked is no part of what it did.
        let parts = parts(line).filter(|part| is_answer || part["type"] != "text");
        let said = parts.map(|one| AgentEvent::or_gap(part(one), "a part of a message of a sub-agent"));
        first.into_iter().chain(said).collect()
    }
}

fn parts(line: &Value) -> impl Iterator<Item = &Value> {
    line["message"]["content"].as_array().into_iter().flatten()
}

fn texts(line: &Value) -> impl Iterator<Item = &str> {
    parts(line).filter_map(|part| part["text"].as_str())
}

/// Whether Droid wrote this message before the user's first one.
fn is_context(line: &Value) -> bool {
    line["id"].as_str().is_some_and(|id| id.starts_with("context-"))
}

/// The list of skills, if the text is it. Instructions of the workspace are other texts.
fn list(text: &str) -> Option<Vec<(String, String)>> {
    let text = text.strip_prefix("<system-reminder>\n").unwrap_or(text);
    let list = text.strip_prefix(LIST)?.split_once(LIST_END)?.0;
    let entry = |line: &str| line.split_once(": ").map(|(name, text)| (name.to_owned(), text.to_owned()));
    Some(list.lines().filter_map(entry).collect())
}

/// The skills whose texts Droid put into the user's message.
fn called_by_user(message: &str) -> impl Iterator<Item = AgentEvent> {
    message.split(CALLED).skip(1).filter_map(move |rest| {
        let skill = rest.split_once("<name>")?.1.split_once("</name>")?.0.to_owned();
        Some(AgentEvent::CalledByUser { skill, text: rest.to_owned() })
    })
}

/// The tool `server___tool` of an MCP server as every agent names it.
fn named(tool: String) -> String {
    tool.split_once("___").map(|(server, tool)| format!("mcp__{server}__{tool}")).unwrap_or(tool)
}

fn answered(id: String, output: Option<String>, failed: bool) -> AgentEvent {
    let ending = if failed { CallEnding::Failed } else { CallEnding::Done };
    let exit_code = output.as_ref().and_then(|output| output.rsplit_once(EXIT_CODE)?.1.strip_suffix(']')?.parse().ok());
    AgentEvent::Answered { id, output, ending, exit_code }
}

fn error(line: &Value) -> Option<AgentEvent> {
    let message = line["message"].as_str().unwrap_or_default();
    if message.starts_with(REFUSED) {
        return Some(AgentEvent::Stopped(StopReason::Refusal));
    }
    // This only says that another line has the error.
    (message != "Exec failed").then(|| AgentEvent::Refused(refusal(message)))
}

/// An error begins with the HTTP status, if there is one.
fn refusal(message: &str) -> Trouble {
    let status = message.split(' ').next().filter(|word| word.len() == 3).and_then(|word| word.parse().ok());
    refused(status, message)
}

fn usage(tokens: &Value) -> Option<Usage> {
    let count = |at: usize| tokens[at].as_u64();
    Some(Usage {
        input_tokens: count(0)?,
        cached_input_tokens: count(1)?,
        cache_write_input_tokens: count(2)?,
        output_tokens: count(3)?,
        reasoning_output_tokens: count(4)?,
        cost_usd: None,
    })
}

/// What a line of the session file says about the model's calls.
fn turn_signs(line: &Value) -> Vec<TurnSign> {
    let sign = |part: &Value| match part["type"].as_str()? {
        "tool_use" => Some(TurnSign::Called { call: text(part, "id")?, answer: text(line, "id") }),
        "tool_result" => text(part, "tool_use_id").map(TurnSign::Answered),
        _ => None,
    };
    parts(line).filter_map(sign).collect()
}

/// A line of the session file as a recording stores it.
fn slim_session(mut line: Value, skills_of_case: &[&str]) -> Option<Value> {
    match line["type"].as_str()? {
        "session_start" => line = json!({ "type": "session_start", "id": line["id"], CALLER: line[CALLER] }),
        "message" if is_context(&line) => {
            let entry = |(name, text): (String, String)| {
                format!("{name}: {}\n", recorded_description(&name, &text, skills_of_case))
            };
            let list: String = texts(&line).find_map(list).into_iter().flatten().map(entry).collect();
            let text = format!("{LIST}{}{LIST_END}", list.trim_end());
            line["message"] = json!({ "content": [{ "type": "text", "text": text }] });
        }
        "program" | "request" | "retry" | "message" => {}
        _ => return None,
    }
    Some(line)
}

// Droid's log, which stays on this machine: `[time] LEVEL: words | Context: {…}`, and stacks between such lines.

/// How a line begins about a request that was answered. It names the answer.
const ANSWERED: &str = "[metrics_log_droid_chat_client_success_count]";

/// How the line after that begins. It has the tokens.
const RESULT: &str = "[Agent] Streaming result";

/// How a line begins about a request that failed.
const FAILED: &str = "[useLLMStreaming] LLM error";

/// How the line after that begins, if Droid asks again. The error follows in a line of its own.
const AGAIN: &str = "Retry attempt failed";

/// Keeps of the log what the other evidence lacks.
#[derive(Default)]
struct LogReader {
    /// The last answer: its session and its id.
    answer: Option<(String, String)>,
    /// The session of the last request that failed.
    failed: Option<String>,
    /// Whether Droid asks again, and the error is to come.
    asks_again: bool,
}

impl LogReader {
    /// A line as it is kept: a JSON object.
    fn line(&mut self, line: &[u8]) -> Option<Vec<u8>> {
        Some(self.read(std::str::from_utf8(line).ok()?)?.to_string().into_bytes())
    }

    fn read(&mut self, line: &str) -> Option<Value> {
        let Some((_, words)) = line.strip_prefix('[').and_then(|rest| rest.split_once("] ")) else {
            let error = line.split_once("Error: ").filter(|(kind, _)| kind.chars().all(char::is_alphanumeric))?.1;
            self.asks_again.then_some(())?;
            self.asks_again = false;
            return Some(json!({ "type": "retry", "session": self.failed.take()?, "error": error }));
        };
        let (_, words) = words.split_once(": ")?;
        let context = || -> Option<Value> { serde_json::from_str(words.split_once(" | Context: ")?.1).ok() };
        if words.starts_with(ANSWERED) {
            let context = context()?;
            self.answer = text(&context, "sessionId").zip(text(&context, "assistantMessageId"));
        } else if words.starts_with(RESULT) {
            let (session, message) = self.answer.take()?;
            return Some(
                json!({ "type": "request", "session": session, "message": message, "tokens": tokens(&context()?) }),
            );
        } else if words.starts_with(FAILED) {
            self.failed = text(&context()?["tags"], "sessionId");
        } else if words.starts_with(AGAIN) {
            self.asks_again = self.failed.is_some();
        }
        None
    }
}

/// The tokens of a request: all input, what of it was read from a cache or written to one, output, thoughts.
fn tokens(context: &Value) -> Value {
    let count = |key: &str| context[key].as_u64().unwrap_or(0);
    let (read, written) = (count("cacheReadInputTokens"), count("cachedTokensWritten"));
    let input = count("inputTokens").saturating_add(read).saturating_add(written);
    json!([input, read, written, count("outputTokens"), count("reasoningTokens")])
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINES: [&str; 9] = [
        "[t] WARN: Retry attempt failed",
        "Error: the network is down",
        r#"[t] WARN: [useLLMStreaming] LLM error | Context: {"attempt":1,"tags":{"sessionId":"s"}}"#,
        "[t] INFO: [useLLMStreaming] S3Logging is false | Context: {}",
        "[t] WARN: Retry attempt failed",
        "Caused by:",
        "Error: 429 Too fast",
        r#"[t] INFO: [metrics_log_droid_chat_client_success_count] | Context: {"sessionId":"s","assistantMessageId":"m"}"#,
        r#"[t] INFO: [Agent] Streaming result | Context: {"inputTokens":5,"cacheReadInputTokens":2,"outputTokens":3,"cachedTokensWritten":1}"#,
    ];

    #[test]
    fn of_the_log_only_requests_and_their_failures_are_kept() {
        let mut log = LogReader::default();
        let kept: Vec<Value> = LINES.iter().filter_map(|line| log.read(line)).collect();
        let retry = json!({ "type": "retry", "session": "s", "error": "429 Too fast" });
        let request = json!({ "type": "request", "session": "s", "message": "m", "tokens": [8, 2, 1, 3, 0] });
        assert_eq!(kept, [retry, request]);
    }
}
