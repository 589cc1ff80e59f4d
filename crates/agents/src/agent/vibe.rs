//! Mistral Vibe (`vibe --output=streaming`).
//!
//! Its own lines on standard output (`trace.jsonl`) lack the list of skills, the tokens of requests, the refusals, and what code
//! of the model got to see. Its journals have all that, and it cuts them while it works: a script in the trial's environment,
//! `evidence.py`, prints each of their records in place of these lines.

use std::collections::BTreeMap;
use std::ffi::OsString;

use serde_json::{Value, json};

use crate::agent::command::{
    AgentCommand, Assignment, NextMessage, environment, long_prompt, prompt, settings_args_of, with,
};
use crate::agent::field::{seconds, text, usage};
use crate::agent::files::{read_if_exists, read_toml, write_private};
use crate::agent::interface::Agent;
use crate::agent::login::{Login, LoginSources};
use crate::agent::recorder::{AgentEvent, CallEnding, texts};
use crate::agent::refusal::refused;
use crate::agent::secrets::{secrets_in, values_of, without_secrets};
use crate::agent::skill_list::{self, recorded_description};
use crate::agent::stream::{FillCommand, FindLogin, JsonLinesAgent, LineReader, ReadSetup, ResumeSession};
use crate::agent::user_home::{add_instructions, users_path};
use crate::profile::AgentKind;
use crate::settings::Home;
use crate::trace::trouble::Trouble;
use crate::trace::{StopReason, spoken};
use crate::trial::input_file::Sandbox;

#[derive(Debug)]
pub struct Vibe;

impl JsonLinesAgent for Vibe {
    const KIND: AgentKind = AgentKind::Vibe;
    type Reader = VibeLines;
    const ARGUMENTS: &[&str] = &["--output=streaming", "--auto-approve", "--trust"];
    const LOGIN: FindLogin = find_login;
    const COMMAND: FillCommand = fill_command;
    const SETUP: ReadSetup = users_setup;
    const RESUME: ResumeSession = |_, args, message| resumed_command(args, message);

    fn slim(line: Value, skills: &[&str]) -> Value {
        slim_line(line, skills)
    }
}

// How to start `vibe` for a trial.

/// The script that prints the evidence. Python runs a module of this name before a program.
const EVIDENCE: (&str, &str) = ("sitecustomize.py", include_str!("vibe/evidence.py"));

/// What Vibe would do besides the case: report, update, ask its own services.
const OFF: [&str; 4] = ["enable_telemetry", "enable_update_checks", "enable_auto_update", "enable_notifications"];

fn fill_command(assignment: &Assignment<'_>, command: &mut AgentCommand) -> Result<(), Trouble> {
    let Assignment { case, mode, settings, trial_env, .. } = *assignment;
    let home = trial_env.home().join(".vibe");
    let script = trial_env.show(EVIDENCE.0, EVIDENCE.1.as_bytes())?;
    let mut config = users_config(settings.isolation.home)?;
    let names = key_variables(&config);
    let mut secrets = serde_json::to_value(&config).iter().flat_map(secrets_in).collect::<Vec<_>>();
    config.extend(OFF.map(|key| (key.to_owned(), false.into())));
    if settings.isolation.home == Home::Isolated {
        config.insert("enable_connectors".to_owned(), false.into());
    }
    if let Some(model) = settings.model_for(mode) {
        config.insert("active_model".to_owned(), model.into());
    }
    write_private(&home.join("config.toml"), config.to_string().as_bytes())?;
    if let Some(text) = &case.system_prompt {
        add_instructions(assignment, ".vibe/AGENTS.md", text)?;
    }

    let mut env = environment(assignment, &names.iter().map(String::as_str).collect::<Vec<_>>());
    for (name, value) in keys_in_file(&names)? {
        env.entry(name.into()).or_insert_with(|| value.into());
    }
    secrets.extend(values_of(&env, &names));
    env.extend(script.parent().map(|directory| ("PYTHONPATH".into(), directory.into())));
    let args = &mut command.args;
    let most = settings.max_turns_of(case.max_turns);
    args.extend(most.map(|most| with("--max-turns=", most.to_string())));
    if case.sandbox == Sandbox::ReadOnly {
        args.extend(Vibe.kind().profile().tools.edits.iter().map(|tool| with("--disabled-tools=", *tool)));
    }
    args.extend(settings_args_of(assignment).map(Into::into));
    args.push(match long_prompt(assignment) {
        Some(text) => with("--prompt-file=", trial_env.show("prompt", &text)?),
        None => prompt(&case.prompt),
    });
    (command.env, command.secrets) = (env, secrets);
    Ok(())
}

/// These arguments with another message. The trial's home has no other session.
fn resumed_command(args: &[OsString], message: &str) -> Option<NextMessage> {
    let (_, options) = args.split_last()?;
    let own = ["--continue".into(), prompt(message)];
    NextMessage::in_argument(message, options.iter().cloned().chain(own))
}

// The credentials that Vibe would use: variables that its configuration names, or its file `.env`.

/// The variable with the key of Vibe's own provider.
const KEY: &str = "MISTRAL_API_KEY";

/// The keys of the user's configuration that trials get.
const COPIED_KEYS: [&str; 4] = ["active_model", "allowed_models", "models", "providers"];

/// What of the user's `config.toml` trials get.
fn users_config(setup: Home) -> Result<toml::Table, Trouble> {
    let mut table = read_toml(&users_path(AgentKind::Vibe, ".vibe/config.toml"))?;
    table.retain(|key, _| setup == Home::User || COPIED_KEYS.contains(&key));
    Ok(table)
}

/// The variables with the keys of providers.
fn key_variables(config: &toml::Table) -> Vec<String> {
    let providers = config.get("providers").and_then(toml::Value::as_array).into_iter().flatten();
    let own =
        providers.filter_map(|provider| provider.get("api_key_env_var")?.as_str()).filter(|name| !name.is_empty());
    std::iter::once(KEY).chain(own).map(str::to_owned).collect()
}

/// These variables, as far as the user's file `.env` sets them.
fn keys_in_file(names: &[String]) -> Result<BTreeMap<String, String>, Trouble> {
    let text = read_if_exists(&users_path(AgentKind::Vibe, ".vibe/.env"))?.unwrap_or_default();
    let set = |line: &str| {
        let (name, value) = line.trim().trim_start_matches("export ").split_once('=')?;
        let value = value.trim().trim_matches(['"', '\'']);
        let is_key = names.iter().any(|known| known == name.trim()) && !value.is_empty();
        is_key.then(|| (name.trim().to_owned(), value.to_owned()))
    };
    Ok(text.lines().filter_map(set).collect())
}

fn find_login(around: &LoginSources<'_>) -> Result<Login, Trouble> {
    let config = users_config(Home::Isolated)?;
    let names = key_variables(&config);
    let in_file = keys_in_file(&names)?;
    let chosen = names.iter().rev().find(|name| around.variable(name).is_some());
    Ok(match chosen {
        Some(name) => Login::Set(name.clone()),
        None if !in_file.is_empty() => Login::Found("a key in Vibe's file .env".to_owned()),
        None if config.contains_key("providers") => {
            Login::Unknown("a provider in Vibe's config.toml, which may need no key".to_owned())
        }
        None => Login::Missing(format!(
            "trials do not see the keychain: set {KEY}, or add a provider to Vibe's config.toml"
        )),
    })
}

/// The variables that may have keys, and the configuration without secrets.
fn users_setup(setup: Home) -> Result<(Vec<String>, String), Trouble> {
    let config = users_config(setup)?;
    let config: Value = without_secrets(serde_json::to_value(config).unwrap_or_default());
    Ok((Vec::new(), config.to_string()))
}

// The lines of our script, `{"type": "evidence", "kind", "agent", …}`. `agent` is the sub-agent whose work the line shows.

/// How Vibe names the list of skills, which other agents call `available_skills`.
const LIST: &str = "available-skills";

/// The code of the error of what Vibe no longer waits for, since it is being ended: a request, a call.
const CANCELED: &str = "effect_recovery_failed";

/// The code of the error of a call that Vibe did not allow.
const DENIED: &str = "tool_denied";

/// How the id of a call begins that the model's code made.
const BY_CODE: &str = "typescript:";

/// Stands for the result of such a call: the code read it, and the model may not have seen it.
const TO_CODE: &str = "(for the model's code, which may pass it on)";

/// How the text begins of a skill that the user's message calls. The name and `">` follow.
const SKILL: &str = "<skill_content name=\"";

/// The keys of the tokens of a request.
const TOKENS: [&str; 5] =
    ["input_tokens", "cached_input_tokens", "cache_write_tokens", "output_tokens", "reasoning_tokens"];

#[derive(Default)]
pub struct VibeLines {
    /// How the answer to the last request of the agent itself ended, if it was read.
    end: Option<String>,
}

impl LineReader for VibeLines {
    const SHOWS_REQUESTS: bool = true;

    fn said(&mut self, line: &Value) -> Option<Vec<AgentEvent>> {
        let mut said = Vec::new();
        match (line["type"].as_str()?, line["kind"].as_str()) {
            ("evidence", Some("program")) => said.extend(text(line, "version").map(AgentEvent::Version)),
            ("evidence", Some("message")) => said.extend(called_skill(line)),
            ("evidence", Some("request")) => {
                if Self::sub_agent(line).is_none() {
                    self.end = None;
                }
                requests(line, &mut said);
            }
            ("evidence", Some("retry")) => {
                said.push(AgentEvent::AsksAgain(trouble(line, line["status"].as_u64()), seconds(&line["wait"])));
            }
            ("evidence", Some("answer")) => self.answers(line, &mut said),
            // Other calls are known from the model's answers.
            ("evidence", Some("call")) if is_by_code(line) => {
                let (id, name) = text(line, "id").zip(text(line, "tool"))?;
                said.push(AgentEvent::Called { id, tool: tool(&name), input: line["input"].clone() });
            }
            ("evidence", Some("result")) => said.push(AgentEvent::or_gap(result(line), "the result of a call")),
            ("evidence", Some("turn")) if Self::sub_agent(line).is_none() => self.ends(line, &mut said),
            ("evidence", Some("call" | "turn")) => {}
            ("evidence", Some("lost")) => said.extend(text(line, "what").map(AgentEvent::Lost)),
            _ => return None,
        }
        Some(said)
    }

    fn sub_agent(line: &Value) -> Option<&str> {
        line["agent"].as_str()
    }
}

impl VibeLines {
    fn answers(&mut self, line: &Value, said: &mut Vec<AgentEvent>) {
        let error = &line["error"];
        if error["code"] == CANCELED {
            return said.push(AgentEvent::Interrupted);
        }
        if error.is_object() {
            return said.push(AgentEvent::Refused(trouble(error, error["details"]["httpStatus"].as_u64())));
        }
        let answer = &line["result"];
        if Self::sub_agent(line).is_none() {
            self.end = text(answer, "finish_reason");
        }
        let is_known = |key: &str| answer["usage"][key].is_u64();
        let tokens = Some(&answer["usage"]).filter(|_| is_known("input_tokens") && is_known("output_tokens"));
        said.push(AgentEvent::Answers(tokens.map(|tokens| usage(tokens, TOKENS))));
        let part = |part: &Value| match part["type"].as_str()? {
            "text" => text(part, "text").map(AgentEvent::Message),
            "reasoning" => Some(AgentEvent::Thought(texts(&part["content"]))),
            "tool_call" => {
                let input = part["arguments_json"].as_str().and_then(|input| serde_json::from_str(input).ok());
                let input = input.unwrap_or_else(|| part["arguments_json"].clone());
                Some(AgentEvent::Called { id: text(part, "id")?, tool: text(part, "name")?, input })
            }
            _ => None,
        };
        match answer["parts"].as_array() {
            Some(parts) => said.extend(parts.iter().map(|one| AgentEvent::or_gap(part(one), "a part of an answer"))),
            None => said.push(AgentEvent::Lost("what the model answered".to_owned())),
        }
    }

    fn ends(&mut self, line: &Value, said: &mut Vec<AgentEvent>) {
        match line["state"].as_str() {
            Some("completed") => {
                said.extend(match self.end.as_deref() {
                    None => Some(AgentEvent::Lost("how the model's last answer ended".to_owned())),
                    Some("length") => Some(AgentEvent::Stopped(StopReason::MaxTokens)),
                    Some("content_filter") => Some(AgentEvent::Stopped(StopReason::Refusal)),
                    // The model was not asked again.
                    Some("tool_call") => Some(AgentEvent::Stopped(StopReason::MaxTurns)),
                    Some("stop") => None,
                    Some(other) => {
                        Some(AgentEvent::Refused(refused(None, &format!("the answer ended with {other:?}"))))
                    }
                });
                said.push(AgentEvent::Done);
            }
            Some("interrupted") => said.push(AgentEvent::Interrupted),
            // The answer before has the error.
            _ => {}
        }
    }
}

fn is_by_code(line: &Value) -> bool {
    line["id"].as_str().is_some_and(|id| id.starts_with(BY_CODE))
}

fn trouble(error: &Value, status: Option<u64>) -> Trouble {
    refused(status, error["message"].as_str().unwrap_or("no reason given"))
}

/// A request: the list of skills, and the results of calls as the model sees them, of which some are known already.
fn requests(line: &Value, said: &mut Vec<AgentEvent>) {
    for (id, result) in line["results"].as_object().into_iter().flatten() {
        let lines = result["texts"].as_array().into_iter().flatten().filter_map(Value::as_str).map(shown);
        let ending = if result["failed"] == true { CallEnding::Failed } else { CallEnding::Done };
        let output = result["texts"].is_array().then(|| lines.collect::<Vec<_>>().join("\n"));
        said.push(AgentEvent::Answered { id: id.clone(), output, ending, exit_code: None });
    }
    if VibeLines::sub_agent(line).is_none() {
        said.extend(text(line, "model").map(AgentEvent::Model));
        let system = texts(&line["system"]);
        said.extend((!system.is_empty()).then(|| AgentEvent::Offered(offered(&system))));
    }
    said.push(AgentEvent::Asks);
}

/// What the model reads in a result, which may be JSON.
fn shown(text: &str) -> String {
    serde_json::from_str(text).map_or_else(|_| text.to_owned(), |value: Value| texts(&value))
}

fn offered(system: &str) -> Vec<(String, String)> {
    // Instructions of the workspace come before it.
    let system = system.rfind(&format!("<{LIST}>")).map_or("", |at| &system[at..]).replace(LIST, "available_skills");
    skill_list::unescaped_within(&system).unwrap_or_default()
}

/// The text of a skill that the message calls: what Vibe adds after the user's own text.
fn called_skill(line: &Value) -> Option<AgentEvent> {
    let text = line["texts"][1].as_str()?;
    let skill = text.strip_prefix(SKILL)?.split_once("\">")?.0.to_owned();
    Some(AgentEvent::CalledByUser { skill, text: text.to_owned() })
}

/// A tool that code called, by the name that the model would use: `file_system.bash`, `mcp_server.tool`.
fn tool(name: &str) -> String {
    match name.rsplit_once('.') {
        Some((group, tool)) if group.starts_with("mcp_") => format!("mcp__{}__{tool}", &group[4..]),
        Some((_, tool)) => tool.to_owned(),
        None => name.to_owned(),
    }
}

fn result(line: &Value) -> Option<AgentEvent> {
    let (id, result) = (text(line, "id")?, &line["result"]);
    let structured = &result["structured_content"];
    let ending = match result["error"]["code"].as_str() {
        Some(CANCELED) => return Some(AgentEvent::Interrupted),
        Some(DENIED) => CallEnding::Denied,
        Some(_) => CallEnding::Failed,
        None => CallEnding::Done,
    };
    let output = if is_by_code(line) { Some(TO_CODE.to_owned()) } else { output(result) };
    let output = output.filter(|_| result.is_object());
    Some(AgentEvent::Answered { id, output, ending, exit_code: structured["returncode"].as_i64() })
}

/// What a call returned; `None` if nothing that is known has it.
fn output(result: &Value) -> Option<String> {
    let structured = &result["structured_content"];
    let is_of_command = ["returncode", "stderr"].into_iter().any(|key| structured.get(key).is_some());
    if is_of_command && !structured["stdout"].is_string() {
        return None;
    }
    let streams = ["stdout", "stderr"].into_iter().filter_map(|key| structured[key].as_str());
    let streams = streams.filter(|text| !text.is_empty()).collect::<Vec<_>>().join("\n");
    let content = result["content"].as_array().into_iter().flatten().filter_map(|part| part["text"].as_str());
    let content = content.collect::<Vec<_>>().join("\n");
    let error = result["error"]["message"].as_str().unwrap_or_default();
    let all = [streams, content, structured["content"].as_str().unwrap_or_default().to_owned(), error.to_owned()];
    let of_fields = || if is_of_command { Some(String::new()) } else { spoken(texts(structured)) };
    all.into_iter().find(|text| !text.is_empty()).or_else(of_fields)
}

/// A line as a recording stores it.
fn slim_line(mut line: Value, skills: &[&str]) -> Value {
    let system = texts(&line["system"]);
    if !system.is_empty() {
        let entry = |(name, text): (String, String)| {
            let text = recorded_description(&name, &text, skills);
            format!("<skill><name>{name}</name><description>{text}</description></skill>")
        };
        let list: String = offered(&system).into_iter().map(entry).collect();
        line["system"] = json!([format!("<{LIST}>{list}</{LIST}>")]);
    }
    line
}
