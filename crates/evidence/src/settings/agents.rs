//! `[agents.NAME]`: how an agent is started and, for an agent that the user describes, how it is read.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use serde::Deserialize;
use toml::Spanned;

use crate::profile::custom::{
    AgentDescription, CustomAgent, EventField, EventMeaning, EventRule, FieldCondition, Protocol, ToolNamesByUse,
};
use crate::settings::Settings;
use crate::settings::keys::keys;
use crate::settings::mode::{AgentKind, Delivery, Mode};
use crate::settings::problems::{Number, Problems, filled};
use crate::settings::variables::{A_URL, is_url};
use crate::text::diagnostic::{SourceLocation, suggest};
use crate::text::name::RelativePath;
use crate::text::name::check_id;

/// Where agents look for skills that follow the convention.
const SKILLS: &str = ".agents/skills";

/// The placeholders in arguments and variables, and whether an agent that speaks ACP has them.
const PLACEHOLDERS: [(&str, bool); 10] = [
    ("model", true),
    ("endpoint", true),
    ("workspace", true),
    ("home", true),
    ("root", true),
    ("prompt", false),
    ("system_prompt", false),
    ("mcp", false),
    ("session", false),
    ("resumed", false),
];

#[derive(Clone, Debug, Default)]
pub struct AgentSettings {
    /// The program, looked up on the PATH.
    pub command: Option<String>,
    /// Arguments before the prompt, after our own.
    pub args: Vec<String>,
    /// The server that it asks, in place of its provider's.
    pub endpoint: Option<String>,
    /// How an agent that the user describes is started.
    pub custom: Option<CustomStart>,
}

/// How an agent that the user describes is started.
#[derive(Clone, Debug)]
pub struct CustomStart {
    pub agent: &'static CustomAgent,
    /// Where the settings say where the agent looks for skills, or else name the agent.
    pub skills_place: SourceLocation,
    /// All arguments with placeholders, in groups: a group with a placeholder that has no value is left out.
    pub args: Vec<Vec<String>>,
    /// Variables; one with a placeholder that has no value is left out.
    pub env: BTreeMap<String, String>,
    /// The method to authenticate by, if the agent asks for that.
    pub authenticate: Option<String>,
    /// Files in the user's home that its trials get.
    pub home_files: Vec<RelativePath>,
}

impl CustomStart {
    /// Whether an argument or a variable has this placeholder.
    pub fn has(&self, placeholder: &str) -> bool {
        let word = format!("{{{placeholder}}}");
        self.args.iter().flatten().chain(self.env.values()).any(|text| text.contains(&word))
    }
}

keys! {
    AgentKeys of "[agents.<agent>]" {
        #[serde(default, deserialize_with = "filled")]
        command: String, "the agent's own, on the PATH",
            "the program: a name, or a path from the repository. A program named here may bring its own credentials, so they are not checked first";
        args: Spanned<Vec<Number>>, "none", "arguments to add after the built-in ones";
        endpoint: Spanned<String>, "none",
            "the server that the agent asks, in place of its provider's: see [endpoints](../modes.md#a-model-behind-an-endpoint)";
        protocol: Spanned<String>, "none",
            "`\"acp\"`, `\"jsonl\"` or `\"rust\"`: describes [an agent of your own](../custom-agents.md), which needs a `command` and may have the keys below";
        env: BTreeMap<String, Spanned<String>>, "none", "table of variables to set for this agent";
        authenticate: String, "none", "with ACP, the method to authenticate by";
        home_files: Vec<Spanned<String>>, "none", "files in your home that its trials get";
        skills: Spanned<String>, "`\".agents/skills\"`", "where it looks for skills in its working directory";
        shows_calls: bool, "`false`", "with `acp` and `rust`, whether it shows every call with what it returned";
        errors: Vec<Spanned<String>>, "none", "how messages begin that the agent itself writes if its provider refuses";
        tools: ToolNamesByUse, "none", "names of its tools: `shells`, `skills`, `reads`, `finds` and `edits`";
        events: Vec<Spanned<EventTable>>, "required with `jsonl`", "what its lines say";
    }
}

/// The arguments in groups, each with its place.
fn groups(written: Option<Spanned<Vec<Number>>>, problems: &mut Problems<'_>) -> Vec<(Vec<String>, Range<usize>)> {
    let Some(written) = written else { return Vec::new() };
    let place = written.span();
    let group = |one: Number| {
        let place = one.span();
        Some((texts(one.into_inner(), argument)?, place))
    };
    written.into_inner().into_iter().map(group).collect::<Option<_>>().unwrap_or_else(|| {
        problems.add(place, "an argument is a text, or a list of texts".to_owned());
        Vec::new()
    })
}

/// An argument or a list of them, or a value or a list of them; `None` if one is none that `text` reads.
fn texts(written: toml::Value, text: fn(toml::Value) -> Option<String>) -> Option<Vec<String>> {
    match written {
        toml::Value::Array(list) => list.into_iter().map(text).collect(),
        one => text(one).map(|text| vec![text]),
    }
}

/// The text of an argument.
fn argument(written: toml::Value) -> Option<String> {
    if let toml::Value::String(text) = written { Some(text) } else { None }
}

/// The text of a value that a line has to have.
fn condition(written: toml::Value) -> Option<String> {
    match written {
        toml::Value::String(text) => Some(text),
        toml::Value::Integer(_) | toml::Value::Boolean(_) => Some(written.to_string()),
        _ => None,
    }
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct EventTable {
    says: Spanned<String>,
    #[serde(default)]
    when: BTreeMap<Spanned<String>, Number>,
    #[serde(default)]
    failed: BTreeMap<Spanned<String>, Number>,
    text: Option<Spanned<String>>,
    id: Option<Spanned<String>>,
    name: Option<Spanned<String>>,
    input: Option<Spanned<String>>,
    output: Option<Spanned<String>>,
    exit_code: Option<Spanned<String>>,
    status: Option<Spanned<String>>,
    input_tokens: Option<Spanned<String>>,
    cached_tokens: Option<Spanned<String>>,
    output_tokens: Option<Spanned<String>>,
    #[serde(default)]
    piece: bool,
}

impl AgentKeys {
    /// The settings of the agent with this name, and its modes if the user describes it.
    pub(super) fn settings(
        self,
        name: &str,
        range: Range<usize>,
        problems: &mut Problems<'_>,
    ) -> (AgentSettings, Vec<Arc<Mode>>) {
        let is_known = AgentKind::named(name).is_some();
        if let Some(url) = self.endpoint.as_ref().filter(|url| !is_url(url.get_ref())) {
            problems.add(url.span(), format!("`endpoint` is {:?}; expected {A_URL}", url.get_ref()));
        }
        match &self.protocol {
            None => {
                self.check_registered(name, is_known, range, problems);
                let args = groups(self.args, problems).into_iter().flat_map(|(group, _)| group).collect();
                let endpoint = self.endpoint.map(Spanned::into_inner);
                (AgentSettings { command: self.command, args, endpoint, custom: None }, Vec::new())
            }
            Some(protocol) => {
                let found = Protocol::named(protocol.get_ref());
                let place = protocol.span();
                if is_known {
                    problems.add(range, format!("`{name}` is an agent of ours; describe yours under another name"));
                } else if let Err(why) = check_id(name) {
                    problems.add(range, format!("the name `{name}` of an agent {why}"));
                } else if let Some(protocol) = found {
                    return self.described(name, protocol, range, problems);
                } else {
                    let message = format!("unknown protocol; {}", suggest(protocol.get_ref(), &Protocol::WORDS));
                    problems.add(place, message);
                }
                (AgentSettings::default(), Vec::new())
            }
        }
    }

    /// Reports what only agents with a protocol have, and an agent that nobody knows.
    fn check_registered(&self, name: &str, is_known: bool, range: Range<usize>, problems: &mut Problems<'_>) {
        if !is_known {
            let known = AgentKind::names().join(", ");
            let help = "to describe an agent of your own, add `protocol`: see docs/custom-agents.md";
            return problems.add(range, format!("unknown agent `{name}`; known: {known}\n{help}"));
        }
        for key in self.written().filter(|key| !["command", "args", "endpoint"].contains(key)) {
            problems.add(range.clone(), format!("`{key}` is for agents that have a `protocol`, and `{name}` has none"));
        }
    }

    fn described(
        self,
        name: &str,
        protocol: Protocol,
        range: Range<usize>,
        problems: &mut Problems<'_>,
    ) -> (AgentSettings, Vec<Arc<Mode>>) {
        let (is_acp, has_rules) = (protocol == Protocol::Acp, protocol == Protocol::Jsonl);
        if self.command.is_none() {
            problems.add(range.clone(), format!("the agent `{name}` has no `command`; name its program"));
        }
        let other = [
            ("events", "\"jsonl\"", !has_rules && self.events.is_some()),
            ("shows_calls", "\"acp\" or \"rust\"", has_rules && self.shows_calls.is_some()),
            ("authenticate", "\"acp\"", !is_acp && self.authenticate.is_some()),
        ];
        for (key, of, _) in other.into_iter().filter(|(.., is_set)| *is_set) {
            problems.add(range.clone(), format!("`{key}` is for the protocol {of}; remove it"));
        }
        let mut args = Vec::new();
        for (group, place) in groups(self.args, problems) {
            for text in &group {
                check_placeholders(text, is_acp, &place, problems);
            }
            args.push(group);
        }
        let mut env = BTreeMap::new();
        for (variable, value) in self.env.unwrap_or_default() {
            check_placeholders(value.get_ref(), is_acp, &value.span(), problems);
            env.insert(variable, value.into_inner());
        }
        let skills_place = problems.place(self.skills.as_ref().map_or(range.clone(), Spanned::span));
        let skills = problems.paths(self.skills, "the directory of skills").pop();
        let errors = self.errors.unwrap_or_default();
        for empty in errors.iter().filter(|text| text.get_ref().trim().is_empty()) {
            problems.add(
                empty.span(),
                "every message begins with an empty text; write how only an error begins".to_owned(),
            );
        }
        let events = self.events.map(|tables| events(tables, range.clone(), problems));
        if has_rules && events.is_none() {
            let help = "say by [[agents.NAME.events]] what the lines of its output say: see docs/custom-agents.md";
            problems.add(range, format!("the agent `{name}` has no `events`\n{help}"));
        }
        let agent = CustomAgent::of(AgentDescription {
            name: name.to_owned(),
            protocol,
            skills: skills.map_or_else(|| SKILLS.to_owned(), |path| path.to_string()),
            shows_calls: self.shows_calls.unwrap_or_default(),
            errors: errors.into_iter().map(Spanned::into_inner).collect(),
            tools: self.tools.unwrap_or_default(),
            events: events.unwrap_or_default(),
        });
        let home_files = problems.paths(self.home_files.unwrap_or_default(), "the file in the home");
        let start = CustomStart { agent, skills_place, args, env, authenticate: self.authenticate, home_files };
        let modes = modes(name, agent, is_acp || start.has("mcp"));
        let endpoint = self.endpoint.map(Spanned::into_inner);
        (AgentSettings { command: self.command, args: Vec::new(), endpoint, custom: Some(start) }, modes)
    }
}

impl Settings {
    /// Sets how agents are started, and adds the modes of those that the file describes.
    pub(super) fn apply_agents(&mut self, agents: BTreeMap<Spanned<String>, AgentKeys>, problems: &mut Problems<'_>) {
        for (name, table) in agents {
            let range = name.span();
            let (mut agent, modes) = table.settings(name.get_ref(), range.clone(), problems);
            agent.command = agent.command.map(|command| self.program_path(command));
            if let Some(known) = modes.iter().find(|mode| self.mode(&mode.name).is_some()) {
                problems.add(range, format!("the mode `{known}` exists already; give the agent another name"));
            }
            self.modes.extend(modes);
            self.agents.insert(name.into_inner(), agent);
        }
    }

    /// A relative path of a program is relative to the repository, since agents start elsewhere. A name stays as it is.
    fn program_path(&self, command: String) -> String {
        let path = self.root.as_ref().filter(|_| command.contains('/')).map(|root| root.join(&command));
        path.and_then(|path| std::path::absolute(path).ok()).map_or(command, |path| path.display().to_string())
    }

    /// Whether an agent has a built-in mode, or one of its description, with the built-in server.
    pub(super) fn has_server_mode(&self, agent: AgentKind) -> bool {
        let of_agent = agent.profile().modes.iter().any(|(_, _, delivery)| delivery.mcp());
        of_agent || self.modes.iter().any(|mode| mode.agent == agent && mode.delivery.mcp())
    }

    /// The agent with this name, of the registry or described by the user.
    pub(super) fn agent_named(&self, name: &str) -> Option<AgentKind> {
        let custom = || self.custom_agents().find(|kind| kind.as_str() == name);
        AgentKind::named(name).or_else(custom).or_else(|| AgentKind::called(name))
    }

    /// The agents that the user describes.
    pub fn custom_agents(&self) -> impl Iterator<Item = AgentKind> {
        let described = self.agents.values().filter_map(|agent| agent.custom.as_ref());
        described.map(|start| AgentKind::Custom(start.agent))
    }
}

fn modes(name: &str, agent: &'static CustomAgent, takes_server: bool) -> Vec<Arc<Mode>> {
    let mut all = vec![("", Delivery::Native), ("-none", Delivery::None)];
    if takes_server {
        all.insert(1, ("-mcp", Delivery::Mcp));
    }
    let mode = |(end, delivery)| Arc::new(Mode::new(&format!("{name}{end}"), AgentKind::Custom(agent), delivery));
    all.into_iter().map(mode).collect()
}

/// The text with the values of its placeholders; `None` if one has no value. What else is in braces stays as it is.
pub fn fill(text: &str, value: impl Fn(&str) -> Option<String>) -> Option<String> {
    let mut filled = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('{') {
        filled.push_str(before);
        match after.split_once('}') {
            Some((word, behind)) if is_placeholder(word) => {
                filled.push_str(&value(word)?);
                rest = behind;
            }
            _ => {
                filled.push('{');
                rest = after;
            }
        }
    }
    filled.push_str(rest);
    Some(filled)
}

fn is_placeholder(word: &str) -> bool {
    PLACEHOLDERS.iter().any(|(known, _)| *known == word)
}

/// Reports a word in braces that may be meant as a placeholder, and is none for this protocol.
fn check_placeholders(text: &str, is_acp: bool, place: &Range<usize>, problems: &mut Problems<'_>) {
    let known: Vec<&str> =
        PLACEHOLDERS.into_iter().filter(|(_, in_acp)| *in_acp || !is_acp).map(|(word, _)| word).collect();
    let is_word = |word: &&str| !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_');
    let words = text.split('{').skip(1).filter_map(|rest| Some(rest.split_once('}')?.0)).filter(is_word);
    for word in words.filter(|word| !known.contains(word)) {
        let message = if is_placeholder(word) {
            format!("`{{{word}}}` is not for the protocol \"acp\", which has its own way for that; remove it")
        } else {
            format!("unknown placeholder `{{{word}}}`; {}", suggest(word, &known))
        };
        problems.add(place.clone(), message);
    }
}

fn events(tables: Vec<Spanned<EventTable>>, range: Range<usize>, problems: &mut Problems<'_>) -> Vec<EventRule> {
    let rules: Vec<EventRule> = tables.into_iter().filter_map(|table| table.into_inner().rule(problems)).collect();
    for meaning in [EventMeaning::Message, EventMeaning::Done] {
        if problems.list.is_empty() && !rules.iter().any(|rule| rule.says == meaning) {
            problems.add(range.clone(), format!("no rule in `events` says \"{meaning}\"; add one"));
        }
    }
    rules
}

impl EventTable {
    fn rule(self, problems: &mut Problems<'_>) -> Option<EventRule> {
        let (when, failed) = (conditions(&self.when, problems)?, conditions(&self.failed, problems)?);
        let place = self.says.span();
        let Some(says) = EventMeaning::named(self.says.get_ref()) else {
            let message = format!("unknown meaning; {}", suggest(self.says.get_ref(), &EventMeaning::WORDS));
            problems.add(place, message);
            return None;
        };
        let written = [
            (EventField::Text, self.text),
            (EventField::Id, self.id),
            (EventField::Name, self.name),
            (EventField::Input, self.input),
            (EventField::Output, self.output),
            (EventField::ExitCode, self.exit_code),
            (EventField::Status, self.status),
            (EventField::InputTokens, self.input_tokens),
            (EventField::CachedTokens, self.cached_tokens),
            (EventField::OutputTokens, self.output_tokens),
        ];
        let written: Vec<_> = written.into_iter().filter_map(|(field, path)| Some((field, path?))).collect();
        let (needed, allowed) = says.fields();
        for field in needed.iter().filter(|field| !written.iter().any(|(known, _)| known == *field)) {
            problems.add(place.clone(), format!("a rule that says \"{says}\" needs `{field}`; add its path"));
        }
        for (field, path) in written.iter().filter(|(field, _)| ![needed, allowed].concat().contains(field)) {
            problems.add(path.span(), format!("a rule that says \"{says}\" has no `{field}`; remove it"));
        }
        if self.when.is_empty() {
            let help = "name what tells these lines from others: when = { \"/type\" = \"message\" }";
            problems.add(place.clone(), format!("a rule needs `when`\n{help}"));
        }
        if self.piece && says != EventMeaning::Message && says != EventMeaning::Thought {
            problems.add(place.clone(), format!("a rule that says \"{says}\" has no `piece`; remove it"));
        }
        if !self.failed.is_empty() && says != EventMeaning::Result {
            problems.add(place, format!("a rule that says \"{says}\" has no `failed`; remove it"));
        }
        let paths = self.when.keys().chain(self.failed.keys());
        check_paths(paths.chain(written.iter().map(|(_, path)| path)), problems);
        let fields = written.into_iter().map(|(field, path)| (field, path.into_inner())).collect();
        Some(EventRule { says, when, failed, fields, is_piece: self.piece })
    }
}

/// What lines have to have; `None` if a value is none, which is reported.
fn conditions(written: &BTreeMap<Spanned<String>, Number>, problems: &mut Problems<'_>) -> Option<Vec<FieldCondition>> {
    let mut all = Vec::new();
    for (path, value) in written {
        let Some(is) = texts(value.get_ref().clone(), condition) else {
            problems.add(value.span(), "a value is a text, a number, true or false, or a list of them".to_owned());
            return None;
        };
        all.push(FieldCondition { path: path.get_ref().clone(), is });
    }
    Some(all)
}

/// Reports paths of a rule that are none, or that have `*` for the elements of different lists.
fn check_paths<'a>(paths: impl Iterator<Item = &'a Spanned<String>>, problems: &mut Problems<'_>) {
    let mut list = None;
    for path in paths {
        let text = path.get_ref().as_str();
        let (before, after) = text.split_once("/*").unwrap_or((text, ""));
        if !text.is_empty() && !text.starts_with('/') {
            let help = format!("a path is a JSON Pointer: write \"/{text}\"");
            problems.add(path.span(), format!("the path {text:?} does not begin with `/`\n{help}"));
        } else if text.split('~').skip(1).any(|rest| !rest.starts_with(['0', '1'])) {
            let help = "in a JSON Pointer, ~0 is `~` and ~1 is `/`";
            problems.add(path.span(), format!("the path {text:?} has a `~` without 0 or 1\n{help}"));
        } else if after.contains("/*") {
            problems.add(path.span(), format!("the path {text:?} has `*` more than once"));
        } else if before != text && *list.get_or_insert(before) != before {
            let message = format!("`*` is an element of {:?} in another path of this rule", list.unwrap_or_default());
            problems.add(path.span(), message);
        }
    }
}
