//! GitHub Copilot CLI (`copilot -p`).
//!
//! Standard output (`trace.jsonl`) has the conversation, the skills that it loaded and the states of the MCP servers. Its
//! session file (`session.jsonl`) also has its version, the system message with the list of skills, and the tokens of each
//! request.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::agent::command::{
    self, AgentCommand, Assignment, environment, mcp_file, model_and_settings, session_and_prompt, with,
};
use crate::agent::field::{named, text, usage};
use crate::agent::interface::TurnSign;
use crate::agent::login::{Login, LoginSources};
use crate::agent::recorder::{AgentEvent, CallEnding};
use crate::agent::refusal::Refusal;
use crate::agent::skill_list;
use crate::agent::stream::{
    FillCommand, FindLogin, JsonLinesAgent, LineReader, ReadSetup, ReadSigns, ResumeSession, SlimSession,
};
use crate::agent::user_home::{add_instructions, variable};
use crate::files::look;
use crate::profile::AgentKind;
use crate::trace::Usage;
use crate::trace::trouble::Trouble;
use crate::trial::input_file::Sandbox;

#[derive(Debug)]
pub struct Copilot;

impl JsonLinesAgent for Copilot {
    const KIND: AgentKind = AgentKind::Copilot;
    type Reader = CopilotLines;

    // An eval has no user to ask. `--allow-all` would also allow paths outside the workspace.
    const ARGUMENTS: &[&str] = &[
        "--output-format=json",
        "--allow-all-urls",
        "--no-ask-user",
        "--disable-builtin-mcps",
        "--disable-client-telemetry",
    ];
    const LOGIN: FindLogin = |around| Ok(find_login(around));
    const COMMAND: FillCommand = fill_command;
    const SETUP: ReadSetup = |_| Ok((PROVIDER_VARIABLES.map(str::to_owned).to_vec(), String::new()));
    const SIGNS: ReadSigns = |line| copilot_turn_sign(line).into_iter().collect();
    const RESUME: ResumeSession =
        |_, args, message| command::resumed_by_arguments(args, message, command::SESSION_OPTION);
    const SLIM_SESSION: SlimSession = |line, skills| slim_session_line(&line, skills);

    /// `session-state/<id>/events.jsonl`.
    fn is_session(path: &Path) -> bool {
        path.iter().count() == 2 && path.ends_with("events.jsonl")
    }

    fn slim(mut line: Value, _: &[&str]) -> Value {
        for skill in line.pointer_mut("/data/skills").and_then(Value::as_array_mut).into_iter().flatten() {
            *skill = json!({ "name": skill["name"], "userInvocable": skill["userInvocable"] });
        }
        line
    }
}

// How to start `copilot -p` for a trial.

/// The variable with the place where Copilot unpacks itself.
const PACKAGES: &str = "COPILOT_PKG_CACHE_HOME";

fn fill_command(assignment: &Assignment<'_>, command: &mut AgentCommand) -> Result<(), Trouble> {
    let Assignment { case, mode, trial_env, server, .. } = *assignment;
    let home = trial_env.home().join(".copilot");
    home.create_dir_all()?;
    if let Some(text) = &case.system_prompt {
        add_instructions(assignment, ".copilot/copilot-instructions.md", text)?;
    }
    let visible: Vec<&str> = TOKEN_VARIABLES.into_iter().chain(KEY_VARIABLES).chain(PROVIDER_VARIABLES).collect();
    let mut env = environment(assignment, &visible);
    env.insert("COPILOT_HOME".into(), home.into());
    env.insert("COPILOT_AUTO_UPDATE".into(), "false".into());
    // This also trusts the workspace. The option for that cannot name the session.
    env.insert("COPILOT_ALLOW_ALL".into(), "true".into());
    let packages = packages();
    env.extend(packages.iter().map(|path| (PACKAGES.into(), path.into())));

    let args = &mut command.args;
    if case.sandbox == Sandbox::ReadOnly {
        args.push("--deny-tool=write".into());
    }
    if mode.delivery.native() {
        // The skills in the workspace are links to this directory.
        args.extend(["--add-dir".into(), trial_env.skills().into()]);
    }
    if let Some(server) = server {
        let more = json!({ "type": "local", "tools": ["*"] });
        args.extend(["--additional-mcp-config".into(), with("@", mcp_file(assignment, server, more)?)]);
    }
    args.extend(model_and_settings(assignment));
    args.extend(session_and_prompt(assignment)?);
    command.env = env;
    command.reads.extend(packages);
    command.open = vec!["shell commands can read and write outside the workspace"];
    Ok(())
}

/// Where the user's Copilot has unpacked itself. Without it, each trial unpacks 235 MB.
fn packages() -> Option<PathBuf> {
    let path = variable(PACKAGES).or_else(|| Some(variable("HOME")?.join(".cache/copilot")))?;
    look::is_usable_directory(&path.join("pkg")).then_some(path)
}

// The credentials that Copilot CLI would use: of GitHub, or of another provider.

/// Variables that hold a token of GitHub, in Copilot's order.
const TOKEN_VARIABLES: [&str; 3] = ["COPILOT_GITHUB_TOKEN", "GH_TOKEN", "GITHUB_TOKEN"];

/// The variable with the address of another provider. A local one needs no key.
const BASE_URL: &str = "COPILOT_PROVIDER_BASE_URL";

/// Variables that hold the credentials of another provider.
const KEY_VARIABLES: [&str; 2] = ["COPILOT_PROVIDER_API_KEY", "COPILOT_PROVIDER_BEARER_TOKEN"];

/// Variables that choose a provider and its model.
const PROVIDER_VARIABLES: [&str; 13] = [
    BASE_URL,
    "COPILOT_MODEL",
    "COPILOT_OFFLINE",
    "COPILOT_GH_HOST",
    "GH_HOST",
    "COPILOT_PROVIDER_TYPE",
    "COPILOT_PROVIDER_WIRE_API",
    "COPILOT_PROVIDER_TRANSPORT",
    "COPILOT_PROVIDER_AZURE_API_VERSION",
    "COPILOT_PROVIDER_MODEL_ID",
    "COPILOT_PROVIDER_WIRE_MODEL",
    "COPILOT_PROVIDER_MAX_PROMPT_TOKENS",
    "COPILOT_PROVIDER_MAX_OUTPUT_TOKENS",
];

fn find_login(around: &LoginSources<'_>) -> Login {
    if let Some(url) = around.variable(BASE_URL) {
        return Login::Found(format!("the provider at {url}"));
    }
    match around.first(&TOKEN_VARIABLES) {
        Some(name) => Login::Set(name.to_owned()),
        // Copilot keeps its login in the system's keychain, which a trial does not see.
        None => Login::Missing(
            "trials do not see the keychain in which Copilot keeps its login: set COPILOT_GITHUB_TOKEN, or \
             COPILOT_PROVIDER_BASE_URL for another provider"
                .to_owned(),
        ),
    }
}

// The lines of Copilot's output and of its session file: `{"type", "data", "timestamp"}`. Both have the conversation; each
// has kinds that the other lacks.

/// The keys of the tokens of a request.
const TOKENS: [&str; 5] = ["inputTokens", "cacheReadTokens", "cacheWriteTokens", "outputTokens", "reasoningTokens"];

/// The tool with which the model loads a skill.
const SKILL_TOOL: &str = "skill";

/// Kinds of lines that say nothing about the trial that others do not.
const QUIET: [&str; 14] = [
    "user.message",
    "model.call_finished",
    "model.call_final_result",
    "assistant.turn_start",
    "assistant.turn_end",
    "assistant.idle",
    "assistant.message_start",
    "assistant.message_delta",
    "assistant.turn_retry",
    "skill.context_delivered_ref",
    "skill.invoked",
    "tool.execution_partial_result",
    "tool.execution_progress",
    "tool.shell_output",
];

#[derive(Default)]
pub struct CopilotLines {
    /// What the session file says before all else.
    first: Vec<AgentEvent>,
    /// Whether `first` has the list of skills that the model saw.
    has_list: bool,
    /// Whether the model was asked.
    has_asked: bool,
    /// The tokens of each request, by its id.
    usage: HashMap<String, Usage>,
    /// The texts that Copilot put into the conversation when the model called the tool for skills, by name.
    texts: HashMap<String, String>,
    /// The skills of the calls of that tool, by the call's id.
    called: HashMap<String, String>,
}

impl LineReader for CopilotLines {
    fn session(&mut self, line: &Value) {
        let data = &line["data"];
        match line["type"].as_str() {
            Some("session.start") => self.first.extend(text(data, "copilotVersion").map(AgentEvent::Version)),
            Some("system.message") => {
                if let (Some(list), false) =
                    (data["content"].as_str().and_then(skill_list::unescaped_within), self.has_list)
                {
                    self.has_list = true;
                    self.first.push(AgentEvent::Offered(list));
                }
            }
            Some("session.usage_record") => {
                if let Some(id) = text(&data["usage"], "apiCallId") {
                    self.usage.insert(id, usage(&data["usage"], TOKENS));
                }
            }
            Some("skill.invoked") => self.texts.extend(text(data, "name").zip(text(data, "content"))),
            _ => {}
        }
    }

    fn said(&mut self, line: &Value) -> Option<Vec<AgentEvent>> {
        let data = &line["data"];
        let mut said = std::mem::take(&mut self.first);
        said.extend(answers_so_far(line).map(AgentEvent::Counted));
        match line["type"].as_str()? {
            // Without the list that the model saw, what was offered is unknown.
            "session.skills_loaded" if self.has_list => said.push(AgentEvent::CallableByUser(callable(data))),
            "session.mcp_servers_loaded" => said.extend(servers(data)),
            // A server that connects after the first request was not offered to it.
            "session.mcp_server_status_changed" if !self.has_asked => {
                let state = text(data, "serverName").zip(text(data, "status"));
                said.extend(
                    state.filter(|(_, state)| state != "disabled").map(|(name, state)| AgentEvent::Server(name, state)),
                );
            }
            "model.call_start" => {
                self.has_asked = true;
                said.extend(text(data, "model").map(AgentEvent::Model));
                said.push(AgentEvent::Asks);
            }
            "model.call_failure" => said.push(AgentEvent::AsksAgain(refusal(data, "errorMessage"), None)),
            "session.error" => said.push(AgentEvent::Refused(refusal(data, "message"))),
            "session.info" | "session.warning" => said.extend(text(data, "message").map(AgentEvent::Notice)),
            "assistant.reasoning" => said.extend(text(data, "content").map(AgentEvent::Thought)),
            "assistant.message" => {
                said.push(AgentEvent::Answers(text(data, "apiCallId").and_then(|id| self.usage.get(&id).copied())));
                if !data["content"].is_string() {
                    said.push(AgentEvent::Lost("a message of the agent".to_owned()));
                }
                said.extend(text(data, "content").filter(|text| !text.is_empty()).map(AgentEvent::Message));
            }
            "tool.execution_start" => {
                let skill = named(&data["arguments"], "skill").filter(|_| data["toolName"] == SKILL_TOOL);
                self.called.extend(text(data, "toolCallId").zip(skill));
                said.push(AgentEvent::or_gap(call(data), "a call of the model"));
            }
            "tool.execution_complete" => {
                let skill = text(data, "toolCallId").and_then(|id| self.called.remove(&id));
                let content = skill.as_ref().and_then(|skill| self.texts.get(skill).cloned());
                // Without the session file nothing shows the texts.
                if skill.is_some() && content.is_none() && !self.texts.is_empty() && data["success"] == true {
                    said.push(AgentEvent::Lost("the text of a skill that the model called".to_owned()));
                }
                said.extend(skill.zip(content).map(|(skill, text)| AgentEvent::Injected { skill, text }));
                said.push(AgentEvent::or_gap(answer(data), "the result of a call"));
            }
            "agent.interrupted" | "abort" => said.push(AgentEvent::Interrupted),
            "result" if line["exitCode"] == 0 => said.push(AgentEvent::Done),
            "result" => {}
            "session.compaction_start" => said.push(AgentEvent::MayAsk),
            kind if QUIET.contains(&kind) || kind.starts_with("session.") => {}
            _ => return None,
        }
        Some(said)
    }

    fn sub_agent(line: &Value) -> Option<&str> {
        line.get("agentId")?.as_str()
    }
}

/// How often the model of the agent itself answered by the end of this line's turn: turns are counted from 0. Only an answer counts.
fn answers_so_far(line: &Value) -> Option<u64> {
    let is_answer = line["type"] == "assistant.message" && CopilotLines::sub_agent(line).is_none();
    let turn: u64 = line["data"]["turnId"].as_str().filter(|_| is_answer)?.parse().ok()?;
    turn.checked_add(1)
}

/// The names of the skills that a user can call.
fn callable(data: &Value) -> Vec<String> {
    let skills = data["skills"].as_array().into_iter().flatten().filter(|skill| skill["userInvocable"] == true);
    skills.filter_map(|skill| text(skill, "name")).collect()
}

fn servers(data: &Value) -> impl Iterator<Item = AgentEvent> {
    let servers = data["servers"].as_array().into_iter().flatten().filter(|server| server["status"] != "disabled");
    servers.filter_map(|server| Some(AgentEvent::Server(text(server, "name")?, text(server, "status")?)))
}

fn refusal(data: &Value, message: &str) -> Trouble {
    let message = data[message].as_str().unwrap_or("no reason given");
    let (status, code) = (data["statusCode"].as_u64(), data["errorType"].as_str());
    Refusal { status, code, message, retried: None }.trouble()
}

fn call(data: &Value) -> Option<AgentEvent> {
    let tool = match (data["mcpServerName"].as_str(), data["mcpToolName"].as_str()) {
        (Some(server), Some(tool)) => format!("mcp__{server}__{tool}"),
        _ => text(data, "toolName")?,
    };
    Some(AgentEvent::Called { id: text(data, "toolCallId")?, tool, input: data["arguments"].clone() })
}

fn answer(data: &Value) -> Option<AgentEvent> {
    let output = data["result"]["content"].as_str().or_else(|| data["error"]["message"].as_str());
    let ending = match (data["success"].as_bool(), data["error"]["code"].as_str()) {
        (Some(true), _) => CallEnding::Done,
        (_, Some("denied")) => CallEnding::Denied,
        _ => CallEnding::Failed,
    };
    Some(AgentEvent::Answered {
        id: text(data, "toolCallId")?,
        output: output.map(str::to_owned),
        ending,
        exit_code: data["shellExecution"]["exitCode"].as_i64(),
    })
}

/// What a line of the session file says about the model's calls.
fn copilot_turn_sign(line: &Value) -> Option<TurnSign> {
    let data = &line["data"];
    let call = text(data, "toolCallId")?;
    match line["type"].as_str()? {
        "tool.execution_start" => Some(TurnSign::Called { call, answer: text(data, "turnId") }),
        "tool.execution_complete" => Some(TurnSign::Answered(call)),
        _ => None,
    }
}

/// A line of the session file as a recording stores it.
fn slim_session_line(line: &Value, skills_of_case: &[&str]) -> Option<Value> {
    let data = &line["data"];
    let slim = match line["type"].as_str()? {
        "session.start" => json!({ "copilotVersion": data["copilotVersion"] }),
        "session.usage_record" => {
            let keys = [&["apiCallId"][..], &TOKENS].concat();
            json!({ "usage": keys.iter().map(|key| (*key, &data["usage"][key])).collect::<HashMap<_, _>>() })
        }
        "skill.invoked" => json!({ "name": data["name"], "content": data["content"] }),
        "system.message" => json!({ "content": skill_list::recorded(data["content"].as_str()?, skills_of_case)? }),
        _ => return None,
    };
    Some(json!({ "type": line["type"], "data": slim }))
}
