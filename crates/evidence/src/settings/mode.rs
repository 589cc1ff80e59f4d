//! A mode: an agent, and how it gets the skills.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use toml::Spanned;

use crate::profile;
use crate::settings::Settings;
use crate::settings::keys::Untrusted::Refused;
use crate::settings::keys::keys;
use crate::settings::problems::{Problems, filled};
use crate::text::cut;
use crate::text::diagnostic::nearest;
use crate::text::name::check_id;
use crate::text::word_enum::word_enum;

pub use crate::profile::{AgentKind, Delivery};

word_enum! {
    /// What counts as an activation of the skill under test.
    #[derive(Default)]
    pub enum ActivationRule {
        /// The agent's own mechanism loaded the skill's text.
        Tool = "tool",
        /// The skill's text entered the model's context by any way.
        #[default]
        Content = "content",
    }
}

/// Which of the repository's skills an agent is offered: `"all"`, `"alone"`, or a list of slugs.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", expecting = "`offer` is \"all\", \"alone\" or a list of skills")]
pub enum SkillSelection {
    #[default]
    All,
    /// Only the skill under test.
    Alone,
    /// These, by slug, and the skill under test.
    #[serde(untagged)]
    Only(Vec<String>),
}

impl SkillSelection {
    pub fn is_all(&self) -> bool {
        *self == Self::All
    }

    /// Whether an agent is offered the skill `slug` in a case of the skill `own`.
    pub fn includes(&self, own: &str, slug: &str) -> bool {
        match self {
            Self::All => true,
            Self::Alone => slug == own,
            Self::Only(slugs) => slug == own || slugs.iter().any(|offered| offered == slug),
        }
    }
}

/// The form on the command line: `all`, `alone`, or the slugs with `+` between them.
impl fmt::Display for SkillSelection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::All => f.write_str("all"),
            Self::Alone => f.write_str("alone"),
            Self::Only(slugs) => f.write_str(&slugs.join("+")),
        }
    }
}

/// A named combination of agent and delivery.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Mode {
    /// The name, as in `--mode`.
    pub name: String,
    pub agent: AgentKind,
    /// How it gets the skills.
    pub delivery: Delivery,
    /// The model, if the run does not choose one.
    pub model: Option<String>,
    /// Arguments for the agent, after our own and those of `[agents.*]`.
    pub args: Vec<String>,
    pub offer: SkillSelection,
    /// What counts as an activation, if neither the case nor the skill says so.
    pub activation: Option<ActivationRule>,
    /// The commit whose skills it is offered; `None` for those of the working tree.
    pub commit: Option<String>,
}

impl Mode {
    /// A mode without a model or arguments of its own.
    pub fn new(name: &str, agent: AgentKind, delivery: Delivery) -> Self {
        Self {
            name: name.to_owned(),
            agent,
            delivery,
            model: None,
            args: Vec::new(),
            offer: SkillSelection::All,
            activation: None,
            commit: None,
        }
    }

    /// The built-in modes, in the order of tables. Modes without skills are last.
    pub fn built_in() -> Vec<Mode> {
        let all = profile::listed().flat_map(|profile| profile.modes);
        let mut modes: Vec<_> = all.map(|(name, agent, delivery)| Mode::new(name, *agent, *delivery)).collect();
        modes.sort_by_key(|mode| !mode.delivery.offers_skills());
        modes
    }
}

impl Delivery {
    /// How the agent gets the skills, in words.
    pub fn about(self) -> &'static str {
        match self {
            Delivery::Native => "skills in its own directory",
            Delivery::Mcp => "skills over MCP",
            Delivery::Both => "skills in its own directory and over MCP",
            Delivery::None => "no skills",
        }
    }

    /// Whether the skills are in the agent's own directory.
    pub fn native(self) -> bool {
        matches!(self, Delivery::Native | Delivery::Both)
    }

    pub fn offers_skills(self) -> bool {
        self != Delivery::None
    }

    /// Whether an MCP server offers the skills.
    pub fn mcp(self) -> bool {
        matches!(self, Delivery::Mcp | Delivery::Both)
    }
}

impl fmt::Display for Mode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)
    }
}

keys! {
    ModeKeys of "[mode.<name>]" {
        agent: Spanned<String>, "required", "an agent, such as `{agent}`, or one of your own";
        delivery: Delivery, "required", "how the agent gets skills: `native`, `mcp`, `both` or `none`";
        #[serde(default, deserialize_with = "filled")]
        model: String, "`model` at the top of the file", "model to use";
        args: Vec<String> as Refused("arguments can send credentials to another server"), "none", "arguments to add after those of the agent";
        offer: SkillSelection, "`\"all\"`",
            "skills to offer: `\"all\"`, `\"alone\"` (only the skill under test), or a list of skills to offer with it";
        activation: ActivationRule, "`content` for prompts.csv and built-in cases, `tool` for task files",
            "what counts as an activation";
    }
}

/// A mode as tables name it: with the program of its agent, if the name of a built-in mode does not say which it is, as in
/// `claude (native)`.
pub fn label(name: &str) -> String {
    let agent = Mode::built_in().into_iter().find(|mode| mode.name == name).map(|mode| mode.agent);
    match agent {
        Some(agent) if !name.contains(agent.profile().program) && !name.contains(agent.as_str()) => {
            format!("{} ({name})", agent.profile().program)
        }
        _ => name.to_owned(),
    }
}

impl Settings {
    /// Adds the file's own modes, and selects those that it names.
    pub(super) fn apply_modes(
        &mut self,
        own: BTreeMap<Spanned<String>, ModeKeys>,
        selected: Option<Spanned<Vec<Spanned<String>>>>,
        problems: &mut Problems<'_>,
    ) {
        for (name, mode) in own {
            let (range, name) = (name.span(), name.into_inner());
            if self.agent_named(&name).is_some_and(|agent| matches!(agent, AgentKind::Custom(_))) {
                problems.add(range, format!("[agents.{name}] makes the mode `{name}`; give this one another name"));
            } else if self.mode(&name).is_some() {
                let message =
                    format!("`{name}` is a built-in mode and cannot be changed; give your own mode another name");
                problems.add(range, message);
            } else if let Err(why) = check_id(&name.replace('+', "-")) {
                problems.add(range, format!("the mode name `{name}` {why}"));
            } else {
                let ModeKeys { agent, delivery, model, args, offer, activation } = mode;
                let known = agent.as_ref().map(|agent| self.agent_named(agent.get_ref()));
                if let (Some(agent), Some(None)) = (&agent, known) {
                    let names: Vec<&str> =
                        AgentKind::names().into_iter().chain(self.custom_agents().map(AgentKind::as_str)).collect();
                    problems
                        .add(agent.span(), format!("unknown agent; {}", AgentKind::suggest(agent.get_ref(), &names)));
                    continue;
                }
                let (Some(agent), Some(delivery)) = (known.flatten(), delivery) else {
                    let missing = if agent.is_none() { "agent" } else { "delivery" };
                    problems.add(range, format!("the mode `{name}` has no `{missing}`; add one"));
                    continue;
                };
                if delivery.mcp() && !self.has_server_mode(agent) {
                    let agent = agent.profile().name;
                    let why = format!(
                        "{agent} has no mode with the built-in server; give `delivery` as \"native\" or \"none\""
                    );
                    problems.add(range, why);
                    continue;
                }
                let (args, offer) = (args.unwrap_or_default(), offer.unwrap_or_default());
                self.modes.push(Arc::new(Mode { model, args, offer, activation, ..Mode::new(&name, agent, delivery) }));
            }
        }
        let Some(names) = selected else { return };
        if names.get_ref().is_empty() {
            problems.add(names.span(), "no mode is named; name one, or remove the key".to_owned());
        }
        let names = names.into_inner();
        for name in names.iter().filter(|name| self.mode(name.get_ref()).is_none()) {
            problems.add(name.span(), self.unknown_mode(name.get_ref()));
        }
        self.selected_modes = Some(names.into_iter().map(Spanned::into_inner).collect());
    }

    /// The message about an unknown mode: the nearest modes, then a line on each mode.
    pub fn unknown_mode(&self, name: &str) -> String {
        let parts: Vec<&str> = name.split(',').map(str::trim).collect();
        if parts.len() > 1 && parts.iter().all(|part| self.mode(part).is_some()) {
            let each: Vec<String> = parts.iter().map(|part| format!("--mode {part}")).collect();
            return format!("unknown mode `{name}`: write {}", each.join(" "));
        }
        let mut nearest: Vec<&str> =
            nearest(name, self.modes.iter().map(|mode| mode.name.as_str())).into_iter().collect();
        if nearest.is_empty() {
            let word = name.to_lowercase();
            let of_agent = self.modes.iter().filter(|mode| mode.agent.as_str().contains(&word));
            nearest =
                of_agent.filter(|mode| mode.delivery == Delivery::Native).map(|mode| mode.name.as_str()).collect();
        }
        // An agent is not a mode, but it has one in which it gets skills by itself.
        if let Some(agent) = AgentKind::called(&name.to_lowercase()) {
            let own = self.modes.iter().filter(|mode| mode.agent == agent && mode.delivery == Delivery::Native);
            nearest = own.map(|mode| mode.name.as_str()).collect();
        }
        let suggestion = match nearest.as_slice() {
            [] => String::new(),
            names => format!("; did you mean `{}`?", names.join("` or `")),
        };
        let width = cut::column(self.modes.iter().map(|mode| mode.name.len()));
        let mut lines = vec![format!("unknown mode `{name}`{suggestion}"), "modes:".to_owned()];
        for Mode { name, agent, delivery, .. } in self.modes.iter().map(Arc::as_ref) {
            let (agent, kind) = (agent.profile().name, agent.as_str());
            let kind = if agent == kind { String::new() } else { format!(" ({kind})") };
            lines.push(format!("  {name:width$}  {agent}{kind}, {}", delivery.about()));
        }
        lines.join("\n")
    }
}
