//! `chat`: a small agent of our own for any model behind an OpenAI-compatible or Anthropic-compatible endpoint. It is
//! not a vendor's product: it shows what a model does with skills, and not what a product does.
//!
//! This program starts itself as the agent, with one argument. It gets its setup and the user's messages on standard input and
//! prints a JSON object per line (`trace.jsonl`).

#[cfg(feature = "chat")]
mod program;

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::agent::command::{AgentCommand, Assignment, environment, settings_args_of};
use crate::agent::field::{seconds, text};
use crate::agent::files::json_line;
use crate::agent::interface::TurnSign;
use crate::agent::login::{Login, LoginSources};
use crate::agent::recorder::{AgentEvent, CallEnding};
use crate::agent::refusal::{Refusal, wait_in};
use crate::agent::stream::{FillCommand, FindLogin, JsonLinesAgent, LineReader, ReadSetup, ReadSigns};
use crate::agent::trial_env::WorkspaceError;
use crate::agent::{command as shared, skill_list};
use crate::process::{OutputListener, Reply};
use crate::profile::AgentKind;
use crate::settings::{FILE, Settings};
use crate::text::word_enum::word_enum;
use crate::trace::Usage;
use crate::trace::trouble::{Trouble, TroubleKind};
use crate::trial::input_file::HistoryMessage;
use crate::trial::input_file::Sandbox;

#[derive(Debug)]
pub struct Chat;

impl JsonLinesAgent for Chat {
    const KIND: AgentKind = AgentKind::Chat;
    type Reader = ChatLines;
    const ARGUMENTS: &[&str] = &[PROGRAM_ARGUMENT];
    const HAS_HISTORIES: bool = true;
    const LOGIN: FindLogin = |around| Ok(find_login(around));
    const COMMAND: FillCommand = fill_command;
    const SETUP: ReadSetup = |_| Ok((PROVIDER_VARIABLES.map(str::to_owned).to_vec(), String::new()));
    const SIGNS: ReadSigns = chat_turn_signs;

    /// A copy of the output, for the turns of a running session.
    fn is_session(_: &Path) -> bool {
        true
    }

    fn is_evidence(_: &Path) -> bool {
        false
    }

    fn slim(mut line: Value, skills: &[&str]) -> Value {
        if let Some(system) = line.get_mut("system") {
            *system = system.as_str().and_then(|text| skill_list::recorded(text, skills)).unwrap_or_default().into();
        }
        line
    }

    #[cfg(feature = "chat")]
    fn take_over() -> Option<std::process::ExitCode> {
        program::take_over()
    }

    fn find(settings: &Settings) -> Result<PathBuf, Trouble> {
        if !is_this_program(settings) {
            return shared::program(settings, Self::KIND);
        }
        let could_not_start = |why: String| Trouble::new(TroubleKind::CouldNotStart, why);
        if cfg!(not(feature = "chat")) {
            return Err(could_not_start(Self::KIND.profile().how_to_get.to_owned()));
        }
        std::env::current_exe().map_err(|error| could_not_start(format!("this program: {error}")))
    }
}

/// Whether the agent is this program, and not one that the settings name.
fn is_this_program(settings: &Settings) -> bool {
    settings.agents.get(AgentKind::Chat.as_str()).is_none_or(|agent| agent.command.is_none())
}

// How this program starts itself as the agent, and its side of the dialogue.

fn fill_command(assignment: &Assignment<'_>, command: &mut AgentCommand) -> Result<(), Trouble> {
    let case = assignment.case;
    let mut setup = setup(assignment)?;
    if is_this_program(assignment.settings) {
        let failed = |error: WorkspaceError| Trouble::new(TroubleKind::CouldNotStart, error.to_string());
        command.program = assignment.trial_env.show_this_program("chat").map_err(failed)?;
    }
    let mut env = environment(assignment, &[]);
    for key in KEYS {
        env.remove(OsStr::new(key));
    }
    let read_only = case.sandbox == Sandbox::ReadOnly;
    command.secrets.extend(setup.key.clone());
    // The door takes it out of the variable.
    if assignment.settings.network.limit().is_some()
        && let Some(key) = setup.key.take()
    {
        env.insert(setup.api.variables().key.into(), key.into());
    }
    command.env = env;
    command.not_enforced = Vec::from_iter(read_only.then(|| "shell commands can write in the workspace".to_owned()));
    command.open = vec!["shell commands can read and write outside the workspace"];
    command.dialogue =
        Some(Box::new(ChatDialogue { opening: [json_line(&json!(setup)), json_line(&json!(case.prompt))].concat() }));
    Ok(())
}

fn setup(assignment: &Assignment<'_>) -> Result<ChatSetup, Trouble> {
    let Assignment { case, mode, settings, .. } = *assignment;
    let could_not_start = |why: String| Trouble::new(TroubleKind::CouldNotStart, why);
    let options = ChatOptions::parse(settings_args_of(assignment)).map_err(could_not_start)?;
    let around = LoginSources::new(settings, mode.agent, Some(mode));
    let endpoint = users_endpoint(&around, &options).map_err(|why| Trouble::new(TroubleKind::Login, why))?;
    if options.no_tools && endpoint.api != ChatApi::Completions {
        return Err(could_not_start("--no-tools works with --api=completions only".to_owned()));
    }
    let model = settings.model_for(mode).map(str::to_owned).or(endpoint.model).ok_or_else(|| {
        could_not_start(format!("no model is named: set `model` in {FILE}, --model, OPENAI_MODEL or ANTHROPIC_MODEL"))
    })?;
    Ok(ChatSetup {
        api: endpoint.api,
        base_url: endpoint.base_url,
        key: endpoint.key,
        model,
        max_tokens: options.max_tokens,
        max_turns: settings.max_turns_of(case.max_turns),
        has_tools: !options.no_tools,
        writes: case.sandbox != Sandbox::ReadOnly,
        system_prompt: case.system_prompt.clone(),
        history: case.history.clone(),
    })
}

/// Sends the setup and the prompt.
struct ChatDialogue {
    opening: Vec<u8>,
}

impl OutputListener for ChatDialogue {
    fn opening(&mut self) -> Option<Vec<u8>> {
        Some(std::mem::take(&mut self.opening))
    }

    fn message(&mut self, text: &str) -> Vec<u8> {
        json_line(&json!(text))
    }

    fn line(&mut self, line: &[u8]) -> Reply {
        let answered = serde_json::from_slice::<Value>(line).is_ok_and(|line| line["type"] == "done");
        Reply { answered, ..Reply::default() }
    }
}

// What a trial tells the agent's process, in the first line of its standard input. So neither files nor variables have the key.

/// The one argument with which this program starts itself as the agent. Test filters are never like that.
const PROGRAM_ARGUMENT: &str = "agent-chat";

word_enum! {
    /// The protocol of an endpoint.
    pub enum ChatApi {
        /// `/chat/completions` of `OpenAI`.
        Completions = "completions",
        /// `/responses` of `OpenAI`.
        Responses = "responses",
        /// Anthropic's `/v1/messages`.
        Messages = "messages",
    }
}

impl ChatApi {
    fn variables(self) -> EndpointVariables {
        if self == Self::Messages { ANTHROPIC } else { OPENAI }
    }
}

/// All that the process has to know. Each further line of its input is a message of the user, a JSON string.
#[derive(Debug, Serialize, Deserialize)]
struct ChatSetup {
    pub api: ChatApi,
    pub base_url: String,
    /// `None` for a local server that needs none, or if a variable holds what stands for it.
    pub key: Option<String>,
    pub model: String,
    /// The most tokens of one answer.
    pub max_tokens: Option<u64>,
    pub max_turns: Option<u64>,
    /// Whether the model calls tools. Without, each of its answers is an action that follows a JSON schema.
    pub has_tools: bool,
    /// Whether there is a tool that writes files.
    pub writes: bool,
    pub system_prompt: Option<String>,
    pub history: Vec<HistoryMessage>,
}

/// What the user's arguments for the agent choose.
#[derive(Debug, Default)]
struct ChatOptions {
    pub api: Option<ChatApi>,
    pub no_tools: bool,
    pub max_tokens: Option<u64>,
}

impl ChatOptions {
    fn parse<'a>(args: impl Iterator<Item = &'a String>) -> Result<Self, String> {
        let mut options = Self::default();
        for arg in args {
            let (name, value) = arg.split_once('=').unwrap_or((arg, ""));
            match (name, ChatApi::named(value), value.parse().ok().filter(|number| *number > 0)) {
                ("--api", Some(api), _) => options.api = Some(api),
                ("--max-tokens", _, Some(most)) => options.max_tokens = Some(most),
                ("--no-tools", ..) if arg == name => options.no_tools = true,
                _ => {
                    let apis = ChatApi::WORDS.join(", ");
                    return Err(format!(
                        "unknown argument `{arg}` in `args` of the agent chat; known: --api=NAME ({apis}), --no-tools, \
                         --max-tokens=N"
                    ));
                }
            }
        }
        Ok(options)
    }
}

// The endpoint and its key: the variables that users of the libraries of `OpenAI` and Anthropic know.

/// Variables that hold a key.
const KEYS: [&str; 2] = [OPENAI.key, ANTHROPIC.key];

/// Variables that choose a provider and its model.
const PROVIDER_VARIABLES: [&str; 4] = [OPENAI.base_url, OPENAI.model, ANTHROPIC.base_url, ANTHROPIC.model];

/// What to do if no variable names an endpoint.
const NO_ENDPOINT: &str = "set OPENAI_BASE_URL (a local server needs no key), OPENAI_API_KEY or ANTHROPIC_API_KEY";

const OPENAI: EndpointVariables = EndpointVariables {
    base_url: "OPENAI_BASE_URL",
    key: "OPENAI_API_KEY",
    model: "OPENAI_MODEL",
    default_url: "https://api.openai.com/v1",
};

const ANTHROPIC: EndpointVariables = EndpointVariables {
    base_url: "ANTHROPIC_BASE_URL",
    key: "ANTHROPIC_API_KEY",
    model: "ANTHROPIC_MODEL",
    default_url: "https://api.anthropic.com",
};

struct EndpointVariables {
    base_url: &'static str,
    key: &'static str,
    model: &'static str,
    /// The provider's own endpoint.
    default_url: &'static str,
}

/// Where the model is.
struct Endpoint {
    pub api: ChatApi,
    pub base_url: String,
    pub key: Option<String>,
    /// The model that a variable names.
    pub model: Option<String>,
    /// The variable that named the endpoint.
    found: &'static str,
}

/// The endpoint that the variables name; those of `OpenAI` come first unless the options choose the other protocol.
fn users_endpoint(around: &LoginSources<'_>, options: &ChatOptions) -> Result<Endpoint, String> {
    let candidates = match options.api {
        None => vec![(ChatApi::Completions, OPENAI), (ChatApi::Messages, ANTHROPIC)],
        Some(ChatApi::Messages) => vec![(ChatApi::Messages, ANTHROPIC)],
        Some(api) => vec![(api, OPENAI)],
    };
    let named = |(api, names): (ChatApi, EndpointVariables)| {
        let found = around.first(&[names.base_url, names.key])?;
        let base_url = around.variable(names.base_url).unwrap_or_else(|| names.default_url.to_owned());
        let base_url = base_url.trim().trim_end_matches('/').to_owned();
        let (key, model) = (around.variable(names.key), around.variable(names.model));
        Some(Endpoint { api, base_url, key: key.map(|key| key.trim().to_owned()), model, found })
    };
    candidates.into_iter().find_map(named).ok_or_else(|| NO_ENDPOINT.to_owned())
}

fn find_login(around: &LoginSources<'_>) -> Login {
    match ChatOptions::parse(around.arguments()).and_then(|options| users_endpoint(around, &options)) {
        Ok(Endpoint { api, key: Some(_), .. }) => Login::Set(api.variables().key.to_owned()),
        Ok(Endpoint { found, base_url, .. }) => Login::Found(format!("{found} is set; asks {base_url}")),
        Err(why) => Login::Missing(why),
    }
}

// The lines that the agent's process prints.

#[derive(Default)]
pub struct ChatLines;

impl LineReader for ChatLines {
    fn said(&mut self, line: &Value) -> Option<Vec<AgentEvent>> {
        let said = match line["type"].as_str()? {
            "begin" => {
                let offered = text(line, "system").map(|system| offered_skills(&system));
                let offered = AgentEvent::or_gap(offered, "the system prompt");
                let named = |said: fn(String) -> AgentEvent, key| text(line, key).map(said);
                let first = [named(AgentEvent::Version, "version"), named(AgentEvent::Model, "model"), Some(offered)];
                first.into_iter().flatten().collect()
            }
            "message" => vec![AgentEvent::Asks],
            "answer" => answer(line),
            "tool_result" => vec![AgentEvent::or_gap(result(line), "the result of a call")],
            "retry" => vec![AgentEvent::AsksAgain(refusal(line), seconds(&line["wait_s"]))],
            "refused" => vec![AgentEvent::Refused(refusal(line))],
            "stopped" => {
                let reason = Deserialize::deserialize(&line["reason"]).ok().map(AgentEvent::Stopped);
                vec![AgentEvent::or_gap(reason, "why the model stopped")]
            }
            "done" => line["answers"].as_u64().map(AgentEvent::Counted).into_iter().chain([AgentEvent::Done]).collect(),
            _ => return None,
        };
        Some(said)
    }
}

/// The skills in the system prompt. Without a list, none were offered.
fn offered_skills(system: &str) -> AgentEvent {
    AgentEvent::Offered(skill_list::unescaped_within(system).unwrap_or_default())
}

fn answer(line: &Value) -> Vec<AgentEvent> {
    let usage: Option<Usage> = Deserialize::deserialize(&line["usage"]).ok();
    let mut said = vec![AgentEvent::Answers(usage)];
    said.extend(text(line, "thought").map(AgentEvent::Thought));
    if !line["text"].is_null() {
        said.push(AgentEvent::or_gap(text(line, "text").map(AgentEvent::Message), "a message of the agent"));
    }
    let call = |call: &Value| {
        Some(AgentEvent::Called { id: text(call, "id")?, tool: text(call, "tool")?, input: call["input"].clone() })
    };
    match line["calls"].as_array() {
        Some(calls) => said.extend(calls.iter().map(|one| AgentEvent::or_gap(call(one), "a call of the model"))),
        None => said.push(AgentEvent::Lost("the calls of an answer".to_owned())),
    }
    said
}

fn result(line: &Value) -> Option<AgentEvent> {
    let ending = if line["failed"] == true { CallEnding::Failed } else { CallEnding::Done };
    Some(AgentEvent::Answered {
        id: text(line, "id")?,
        output: text(line, "output"),
        ending,
        exit_code: line["exit_code"].as_i64(),
    })
}

fn refusal(line: &Value) -> Trouble {
    let (message, code) = (text(line, "message").unwrap_or_default(), text(line, "code"));
    let status = line["status"].as_u64();
    let wait = seconds(&line["retry_after_s"]).or_else(|| wait_in(&message));
    Refusal { status, code: code.as_deref(), message: &message, retried: None }.trouble().after(wait)
}

/// What a line says about the model's calls.
fn chat_turn_signs(line: &Value) -> Vec<TurnSign> {
    match line["type"].as_str() {
        Some("answer") => {
            let ids = line["calls"].as_array().into_iter().flatten().filter_map(|call| text(call, "id"));
            ids.map(|call| TurnSign::Called { call, answer: text(line, "timestamp") }).collect()
        }
        Some("tool_result") => text(line, "id").map(TurnSign::Answered).into_iter().collect(),
        _ => Vec::new(),
    }
}
