//! The evidence of a trial, which grading uses.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::settings::mode::{Delivery, SkillSelection};
use crate::settings::{Isolation, ToolNames};
use crate::skill::Skill;
use crate::text::word_enum::word_enum;
use crate::trace::Trace;
use crate::trace::exposure::DescriptionVisibility;
use crate::trace::file::ChangeMeta;
use crate::trace::trouble::{Trouble, TroubleKind};
use crate::trial::id::TrialId;
use crate::trial::input_file::MockCalls;
use crate::trial::input_file::{HistoryMessage, Sandbox, UserMeta};
use crate::trial::network::NetworkMeta;
use crate::trial::workspace_file::{SetupMeta, WorkspaceFile, inner_paths, lossy_paths};

pub use crate::trial::agent_meta::AgentMeta;

/// The number of the `meta.json` format.
pub const META_FORMAT: u32 = 1;

/// Maximum number of files that are listed of a workspace.
pub const MAX_FILES: usize = 10_000;

/// The evidence of a trial.
#[derive(Clone, Copy, Debug)]
pub struct Evidence<'a> {
    /// Facts about the trial.
    pub meta: &'a Meta,
    /// The agent's event stream in its common form.
    pub trace: &'a Trace,
    /// The agent's final message, if there is one.
    pub final_text: Option<&'a str>,
}

/// The runner of sessions of the user's own machine.
pub const USER_SESSION: &str = "the user";

impl Evidence<'_> {
    /// Whether it is not known which skills were offered, because another runner stored no session. Checks of the offer do not
    /// apply then.
    pub fn is_offer_unseen(&self) -> bool {
        self.meta.imported.is_some() && !self.meta.is_user_session() && self.trace.offered.is_none()
    }

    /// How much of the description of this skill entered the model's context; `None` in a mode without skills.
    pub fn described(&self, slug: &str) -> Option<DescriptionVisibility> {
        let delivery = self.meta.delivery;
        let offered = self.trace.offered.as_ref();
        let seen = offered.and_then(|offered| offered.described.get(slug)).copied().unwrap_or_default();
        // No evidence shows the descriptions of a server's tools: the rest of a description may be there.
        let hidden = delivery.mcp() && seen != DescriptionVisibility::Whole;
        delivery.offers_skills().then_some(if hidden { DescriptionVisibility::Unknown } else { seen })
    }
}

/// Facts about a trial: the content of `meta.json`. A judge may read [`Meta::for_a_judge`].
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Meta {
    /// [`META_FORMAT`].
    pub format: u32,
    /// The run it belongs to.
    pub run_id: String,
    /// The skill under test.
    pub skill: SkillMeta,
    /// The case, without what it expects.
    pub case: CaseMeta,
    /// The mode's name.
    pub mode: String,
    /// Which repeat, from 1.
    pub trial: u32,
    /// The suite that was chosen for the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub suite: Option<String>,
    /// The program.
    pub agent: AgentMeta,
    /// How the agent got the skills.
    pub delivery: Delivery,
    /// Which skills were offered, if not all.
    #[serde(default, skip_serializing_if = "SkillSelection::is_all")]
    pub offer: SkillSelection,
    /// The commit whose skills were offered, if not those of the working tree.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit: Option<String>,
    /// The name of the run's copy of the offered skills, if that is not its first: a run was resumed with others.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub skills_copy: Option<String>,
    /// The MCP server that offered the skills, if the mode has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server: Option<ServerMeta>,
    /// The name of the mock model, if the answers are not a model's own. Every report shows it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scripted: Option<String>,
    /// The source of a trial that another runner ran.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub imported: Option<Imported>,
    /// The run of which this trial was kept, to stand for a trial of a later comparison.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kept_from: Option<String>,
    /// Whether that run was an earlier start of the same comparison.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub continues: bool,
    /// When the agent was started, RFC 3339, UTC; empty if not known.
    pub started: String,
    /// The attempts before this one, which the provider refused.
    #[serde(default, skip_serializing_if = "RefusedAttempts::is_none")]
    pub refused_before: RefusedAttempts,
    /// What the calibration of this agent found to be read wrongly or not at all, and why. The checks that depend on it are
    /// unknown.
    #[serde(default, skip_serializing_if = "Doubts::is_empty")]
    pub doubts: Doubts,
    /// Why nobody knows whether all is read that this agent does, so that nothing shows that something did not happen. It says what
    /// was known when the trial was made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unmeasured: Option<String>,
    /// How the agent's process ended.
    pub ending: Ending,
    /// What decides the trial, each part with its digest.
    pub inputs: Inputs,
    /// The files of the workspace at the end, by path.
    pub files: Vec<WorkspaceFile>,
    /// Whether `files` lacks some.
    #[serde(default)]
    pub files_truncated: bool,
    /// The links of the workspace at the end, and what else is neither a file nor a directory, by path. They are not followed.
    #[serde(
        default,
        skip_serializing_if = "Vec::is_empty",
        serialize_with = "lossy_paths",
        deserialize_with = "inner_paths"
    )]
    pub links: Vec<PathBuf>,
    /// Files that were searched by their paths, whatever `files` lacks.
    #[serde(
        default,
        skip_serializing_if = "Vec::is_empty",
        serialize_with = "lossy_paths",
        deserialize_with = "inner_paths"
    )]
    pub files_looked_for: Vec<PathBuf>,
    /// The files of skills that the trial changed, created or removed, by `<slug>/…`, at most 100. Each trial has its own copy:
    /// no other trial read them.
    #[serde(
        default,
        skip_serializing_if = "Vec::is_empty",
        serialize_with = "lossy_paths",
        deserialize_with = "inner_paths"
    )]
    pub skills_changed: Vec<PathBuf>,
    /// The changes to the skills during the session, in the case's order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changes: Vec<ChangeMeta>,
    /// The setup commands of the case, which ran before the agent.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub setup: Vec<SetupMeta>,
    /// The calls of commands and tools that were answered from files; absent if there were no such answers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mocks: Option<MockCalls>,
    /// The user who answered; absent if nobody did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user: Option<UserMeta>,
    /// The isolation of the agent; absent if not recorded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub isolation: Option<Isolation>,
    /// What passed to and from the trial's environment; absent if its network was the machine's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub network: Option<NetworkMeta>,
    /// What was requested and not enforced, in words.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub not_enforced: Vec<String>,
}

impl Meta {
    /// The facts of a trial that has not started, in no run and no mode.
    pub fn new(skill: SkillMeta, case: CaseMeta, agent: AgentMeta, delivery: Delivery) -> Self {
        Self { format: META_FORMAT, skill, case, agent, delivery, trial: 1, ..Self::default() }
    }

    /// The names of the MCP server of skills and its tools, also if the mode has none.
    pub fn tool_names(&self) -> ToolNames {
        self.server.as_ref().map(|server| server.names.clone()).unwrap_or_default()
    }

    /// Whether it is a session of the user: it had no time limit, and its exit status and its workspace are not known.
    pub fn is_user_session(&self) -> bool {
        self.imported.as_ref().is_some_and(|imported| imported.runner == USER_SESSION)
    }

    /// Why something that is read of this trial cannot be relied on, if so.
    pub fn doubt(&self, reading: Reading) -> Option<&str> {
        let of_all = || self.doubts.iter().find(|(other, _)| other.decides_all()).map(|(_, why)| why);
        self.doubts.get(&reading).or_else(of_all).map(String::as_str)
    }

    /// The facts without what the case expects.
    #[must_use]
    pub fn for_a_judge(&self) -> Meta {
        let case = CaseMeta { should_trigger: None, source: None, tags: Vec::new(), ..self.case.clone() };
        let changes = self.changes.iter().map(|change| ChangeMeta { folder: None, ..change.clone() }).collect();
        Meta { case, changes, suite: None, refused_before: RefusedAttempts::default(), ..self.clone() }
    }

    /// The contradiction between these facts and their own digests, in words.
    pub fn contradiction(&self) -> Option<String> {
        let CaseMeta { prompt, system_prompt, sandbox, .. } = &self.case;
        for (part, content) in [
            ("prompt", Some(prompt.as_str())),
            ("system prompt", system_prompt.as_deref()),
            ("sandbox", Some(sandbox.as_str())),
        ] {
            if let Some(known) = self.inputs.0.get(part)
                && content.is_none_or(|content| digest(content.as_bytes()) != *known)
            {
                return Some(format!("its {part} is not the one that its digest is of"));
            }
        }
        None
    }

    /// Whether the user ended the run while the agent was running.
    pub fn was_interrupted(&self) -> bool {
        self.ending.trouble.as_ref().is_some_and(|trouble| trouble.kind == TroubleKind::Interrupted)
    }

    /// The id of the trial.
    pub fn id(&self) -> TrialId {
        TrialId {
            skill: self.skill.slug.clone(),
            case: self.case.id.clone(),
            mode: self.mode.clone(),
            number: self.trial,
        }
    }
}

/// The skill under test.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SkillMeta {
    /// Its name.
    pub name: String,
    /// Its slug.
    pub slug: String,
    /// Its name in the agent's list, `plugin:skill`, if the agent got it with its plugin.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub in_plugin: Option<String>,
    /// What of its front matter may keep an agent that nobody measured from offering it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub left_out: Option<String>,
}

impl SkillMeta {
    /// Of this skill as it is now.
    pub fn of(skill: &Skill, in_plugin: Option<String>) -> Self {
        let left_out = skill.may_be_left_out().map(str::to_owned);
        Self { name: skill.name.clone(), slug: skill.slug.clone(), in_plugin, left_out }
    }
}

/// A case without what it expects, except whether its skill should trigger.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CaseMeta {
    /// Its id.
    pub id: String,
    /// Where it is written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<SourceMeta>,
    /// Whether the skill should trigger.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub should_trigger: Option<bool>,
    /// What the agent was asked.
    pub prompt: String,
    /// What was added to its system prompt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub system_prompt: Option<String>,
    /// What the agent may touch.
    pub sandbox: Sandbox,
    /// Its timeout in seconds.
    pub timeout_s: u64,
    /// Maximum number of turns, if limited.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_turns: Option<u64>,
    /// Whether a call of the skill was put before its prompt, so that the skill must load.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub forced: bool,
    /// What the agent was asked next in the same session, each after it had answered.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub follow_ups: Vec<String>,
    /// The conversation that its session started from, before the prompt.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub history: Vec<HistoryMessage>,
    /// Its tags.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<String>,
}

/// The source of a trial or a run that another runner ran.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Imported {
    /// The runner.
    pub runner: String,
    /// The directory that it left.
    pub folder: PathBuf,
    /// What it did not store, in words.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unknown: Vec<String>,
}

impl Imported {
    /// The source in words.
    pub fn told(&self) -> String {
        let unknown = if self.unknown.is_empty() { "" } else { "; not known: " };
        format!("run by {} in {}{unknown}{}", self.runner, self.folder.display(), self.unknown.join(", "))
    }
}

/// Where a case is written down.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SourceMeta {
    /// The file, from the repository's root.
    pub file: PathBuf,
    /// The line on which it begins, from 1; 0 if it is the whole file.
    pub line: usize,
}

/// The MCP server that offered the skills, as it answered before the agent was started.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ServerMeta {
    /// The names of the server and its tools.
    #[serde(flatten)]
    pub names: ToolNames,
    /// Its tools, by their own names.
    pub tools: Vec<String>,
    /// Whether its instructions or tools name the skill under test.
    pub tells_of_skill: bool,
    /// Whether claude shows its tools to the model from the start; codex has no such choice.
    pub always_load: bool,
    /// The time until it had answered, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start_ms: Option<u64>,
}

/// The attempts at a trial that its provider refused before the one that is kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RefusedAttempts {
    /// How many.
    pub attempts: u32,
    /// How long the trial waited after them, in milliseconds.
    pub waited_ms: u64,
}

impl RefusedAttempts {
    /// Whether there were none.
    pub fn is_none(&self) -> bool {
        self.attempts == 0
    }

    /// Adds an attempt after which the trial waits for `pause`.
    pub fn add(&mut self, pause: Duration) {
        self.attempts += 1;
        self.waited_ms += u64::try_from(pause.as_millis()).unwrap_or(u64::MAX);
    }
}

impl fmt::Display for RefusedAttempts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let times = if self.attempts == 1 { "once".to_owned() } else { format!("{} times", self.attempts) };
        let waited = Duration::from_millis(self.waited_ms).as_secs_f64();
        write!(f, "refused by the provider {times} before, {waited:.1} s waited")
    }
}

/// How the agent's process ended.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ending {
    /// Its exit status, if it exited.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i32>,
    /// The signal that ended it, if one did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signal: Option<i32>,
    /// Whether it reached its timeout.
    #[serde(default)]
    pub timed_out: bool,
    /// Whether it was ended because nothing that follows could change the trial's verdict. Its evidence is complete up to
    /// then, and its amounts are lower bounds.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub settled: bool,
    /// Why it did not run, or was ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trouble: Option<Trouble>,
    /// The end of its standard error, if it failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_words: Option<String>,
    /// Wall time from start to end in milliseconds.
    pub duration_ms: u64,
    /// How much of it the program waited for a CPU, in milliseconds; absent if the system does not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu_wait_ms: Option<u64>,
    /// How long it had been silent at its timeout, in milliseconds; 0 if it wrote something even while it was ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub silent_ms: Option<u64>,
    /// The longest such silence before that one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub longest_silence_ms: Option<u64>,
}

impl Ending {
    /// The time that limits apply to, in milliseconds: without the wait for a CPU, which is the machine's.
    pub fn counted_ms(&self) -> u64 {
        self.duration_ms.saturating_sub(self.cpu_wait_ms.unwrap_or_default())
    }

    /// How long it took, for people: `12.3 s`, and how much of that it waited for a CPU if that is more than a tenth of a second.
    pub fn took(&self) -> String {
        let seconds = |ms: u64| Duration::from_millis(ms).as_secs_f64();
        let took = format!("{:.1} s", seconds(self.duration_ms));
        match self.cpu_wait_ms {
            Some(wait @ 100..) => format!("{took}, of which it waited {:.1} s for a CPU", seconds(wait)),
            _ => took,
        }
    }

    /// Whether it was still writing at its timeout and while it was ended.
    pub fn went_on(&self) -> bool {
        self.timed_out && self.silent_ms == Some(0)
    }
}

/// What decides a trial, each part with the BLAKE3 digest of its content. Two trials with equal parts had the same inputs.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Inputs(pub BTreeMap<String, String>);

/// The prefix of the name of a part that is a whole skill.
pub const SKILL_PART: &str = "skill ";

/// The part with the names and descriptions of all offered skills.
pub const CATALOGUE_PART: &str = "catalogue of skills";

impl Inputs {
    /// A digest of all parts.
    pub fn digest(&self) -> String {
        digest_of(self.0.iter())
    }

    /// A digest of all parts except the skills.
    pub fn besides_skills(&self) -> String {
        digest_of(self.0.iter().filter(|(name, _)| !is_of_skills(name)))
    }

    /// As [`Self::differences`], without the parts that are of skills.
    pub fn differences_besides_skills(&self, other: &Inputs) -> Vec<String> {
        let mut parts = self.differences(other);
        parts.retain(|name| !is_of_skills(name));
        parts
    }

    /// Adds the part `name` with this content.
    pub fn add(&mut self, name: impl Into<String>, content: &[u8]) {
        self.0.insert(name.into(), digest(content));
    }

    /// The names of the parts in which `self` and `other` differ.
    pub fn differences(&self, other: &Inputs) -> Vec<String> {
        let names: std::collections::BTreeSet<&String> = self.0.keys().chain(other.0.keys()).collect();
        names.into_iter().filter(|name| self.0.get(*name) != other.0.get(*name)).cloned().collect()
    }
}

fn digest_of<'a>(parts: impl Iterator<Item = (&'a String, &'a String)>) -> String {
    let lines: Vec<String> = parts.map(|(name, content)| format!("{name}\n{content}\n")).collect();
    digest(lines.concat().as_bytes())
}

fn is_of_skills(part: &str) -> bool {
    part.starts_with(SKILL_PART) || part == CATALOGUE_PART
}

/// The digest of `content`: the first 16 bytes of its BLAKE3 hash, in hexadecimal.
pub fn digest(content: &[u8]) -> String {
    blake3::hash(content).to_hex()[..32].to_owned()
}

// What is read of an agent's trials, and of which of it the agent's calibration says that it is not read rightly.

word_enum! {
    /// Something that is read of an agent's output and session files.
    #[derive(PartialOrd, Ord)]
    pub enum Reading {
        /// Which skills the model was shown.
        Delivered = "delivered",
        /// Which skills entered the model's context, and how.
        Activation = "activation",
        /// Which files of skills were loaded.
        Resources = "resources",
        /// Which commands and tools ran.
        Commands = "commands",
        /// How many tokens were used.
        Tokens = "tokens",
        /// Which model answered.
        Model = "model",
        /// The final message.
        Answer = "answer",
        /// How the agent and its model ended.
        End = "end",
        /// That the credentials were refused.
        Login = "login",
        /// That the provider refused for now.
        Limit = "limit",
    }
}

impl Reading {
    /// All of them, in the order of tables.
    pub const ALL: [Self; 10] = [
        Self::Delivered,
        Self::Activation,
        Self::Resources,
        Self::Commands,
        Self::Tokens,
        Self::Model,
        Self::Answer,
        Self::End,
        Self::Login,
        Self::Limit,
    ];

    /// Whether every check depends on it: a trial that ended otherwise than it seems shows nothing.
    pub fn decides_all(self) -> bool {
        matches!(self, Self::End | Self::Login | Self::Limit)
    }
}

/// What is not read rightly, and why.
pub type Doubts = BTreeMap<Reading, String>;

// The final message, as far as the evidence shows it, and what the evidence leaves open.

/// The final message. None is another thing than one that was not read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FinalAnswer<'a> {
    Text(&'a str),
    /// There is none.
    None,
    /// There may be another one, or one at all.
    Unread(String),
}

impl<'a> Evidence<'a> {
    /// The final message.
    pub fn answer(&self) -> FinalAnswer<'a> {
        let of_trace = self.trace.final_message.as_deref();
        let is_other = |text: &str| of_trace.is_some_and(|other| other.trim() != text.trim());
        // The last line of an agent that is at work is not whole yet.
        let is_unread = self.trace.answer_unread && (of_trace.is_none() || self.trace.ended());
        match self.final_text {
            Some(text) if is_other(text) => {
                FinalAnswer::Unread("the final message and the last message of the trace differ".to_owned())
            }
            // It is the last message that could be read, and another one may follow.
            Some(_) if is_unread && of_trace.is_some() => {
                FinalAnswer::Unread("the agent's last message could not be read".to_owned())
            }
            Some(text) => FinalAnswer::Text(text),
            None if is_unread => FinalAnswer::Unread("the agent's last message could not be read".to_owned()),
            None => match of_trace {
                Some(text) => FinalAnswer::Text(text),
                None => self.gap().map_or(FinalAnswer::None, FinalAnswer::Unread),
            },
        }
    }

    /// Why something may have happened that the evidence does not show. `None` if it is complete, and what it does not show did not
    /// happen.
    pub fn gap(&self) -> Option<String> {
        self.trace.gap().or_else(|| self.meta.unmeasured.clone())
    }
}
