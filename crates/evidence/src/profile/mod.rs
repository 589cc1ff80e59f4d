//! The registry of agents, and the data about each that other modules need.
//!
//! An agent is a line in the macro `agents`, a file of data in `data`, and a module in the crate `skill-evals-agents`. Every
//! crate can read the data.

pub mod custom;
pub mod fault;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use custom::{CustomAgent, Protocol};

use fault::FaultReading;

use crate::skill::Fault;
use crate::text::diagnostic::suggest;
use crate::text::word_enum::word_enum;

/// The programs by which agents run commands.
pub const SHELLS: [&str; 6] = ["bash", "sh", "zsh", "dash", "ksh", "ash"];

/// Calls the macro `$each` with the registry. A line names the agent's module, the types in it that implement
/// `Agent`, one for each way to start it, and their names in settings and artifacts. The first agent
/// is the default.
#[macro_export]
macro_rules! agents {
    ($each:ident) => {
        $each! {
            codex: Codex = "codex";
            claude: ClaudeCli = "claude-cli", ClaudeSdk = "claude-sdk";
            cline: Cline = "cline";
            copilot: Copilot = "copilot";
            gemini: Gemini = "gemini";
            opencode: OpenCode = "opencode";
            qwen: Qwen = "qwen";
            droid: Droid = "droid";
            kimi: Kimi = "kimi";
            vibe: Vibe = "vibe";
            chat: Chat = "chat";
        }
    };
}
pub use agents;

/// The modes of an agent that gets skills natively, by MCP, or not at all.
macro_rules! usual_modes {
    ($name:literal, $kind:ident) => {
        &[
            ($name, $crate::profile::AgentKind::$kind, $crate::profile::Delivery::Native),
            (concat!($name, "-mcp"), $crate::profile::AgentKind::$kind, $crate::profile::Delivery::Mcp),
            (concat!($name, "-none"), $crate::profile::AgentKind::$kind, $crate::profile::Delivery::None),
        ]
    };
}

macro_rules! profiles {
    ($($family:ident: $($kind:ident = $word:literal),+;)+) => {
        mod data {
            $(pub mod $family;)+
        }

        /// An agent, and the way to start it.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[cfg_attr(feature = "schemars", derive(schemars::JsonSchema), schemars(with = "String"))]
        pub enum AgentKind {
            $($(#[doc = concat!("`", $word, "` in settings and artifacts.")] $kind,)+)+
            /// One that a user describes.
            Custom(&'static CustomAgent),
        }

        impl AgentKind {
            /// Every agent of the registry.
            pub const ALL: [AgentKind; [$($($word),+),+].len()] = [$($(AgentKind::$kind),+),+];

            /// Its name in settings and artifacts.
            pub const fn as_str(self) -> &'static str {
                match self {
                    $($(AgentKind::$kind => $word,)+)+
                    AgentKind::Custom(agent) => agent.profile.name,
                }
            }

            /// Its profile.
            pub const fn profile(self) -> &'static Profile {
                match self {
                    $($(AgentKind::$kind)|+ => &data::$family::PROFILE,)+
                    AgentKind::Custom(agent) => &agent.profile,
                }
            }
        }

        /// The profiles of all agents, that of the default agent first.
        pub const PROFILES: [&Profile; [$(stringify!($family)),+].len()] = [$(&data::$family::PROFILE),+];
    };
}
agents!(profiles);

/// The default agent.
pub const DEFAULT: &Profile = PROFILES[0];

/// The default mode of cases in the formats of the default agent.
pub const DEFAULT_MODE: &str = DEFAULT.modes[0].0;

impl Default for AgentKind {
    fn default() -> Self {
        Self::ALL[0]
    }
}

impl AgentKind {
    /// The agent of the registry with this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.as_str() == name)
    }

    /// The agent of the registry with this name, or else with a program of this name.
    pub fn called(name: &str) -> Option<Self> {
        Self::named(name).or_else(|| Self::ALL.into_iter().find(|kind| kind.profile().program == name))
    }

    /// What to say of the unknown name of an agent, if `known` are the names that may stand there: people also write its full name or
    /// that of its package, such as `claude-code`.
    pub fn suggest(name: &str, known: &[&str]) -> String {
        let plain = |text: &str| text.chars().filter(|c| c.is_alphanumeric()).collect::<String>().to_lowercase();
        let is_it = |kind: &Self| {
            let Profile { name: full, program, packages, .. } = kind.profile();
            let last = packages.iter().filter_map(|package| package.rsplit('/').next());
            [*full, *program].into_iter().chain(last).any(|other| plain(other) == plain(name))
        };
        match Self::ALL.iter().filter(|kind| known.contains(&kind.as_str())).find(|kind| is_it(kind)) {
            Some(kind) => format!("did you mean `{}`?", kind.as_str()),
            None => suggest(name, known),
        }
    }

    /// Whether a harness in Rust says what its lines say.
    pub fn is_read_in_rust(self) -> bool {
        matches!(self, Self::Custom(agent) if agent.description.protocol == Protocol::Rust)
    }

    /// The names of the agents of the registry.
    pub fn names() -> Vec<&'static str> {
        Self::ALL.map(Self::as_str).to_vec()
    }
}

impl Serialize for AgentKind {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

/// A name alone is that of an agent of the registry, or of its program.
impl<'de> Deserialize<'de> for AgentKind {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let name = String::deserialize(deserializer)?;
        Self::called(&name).ok_or_else(|| {
            let known = Self::names().join(", ");
            de::Error::custom(format!("unknown agent `{name}`; known: {known}"))
        })
    }
}

word_enum! {
    /// How skills reach the agent.
    #[derive(Default)]
    pub enum Delivery {
        /// In the directory where the agent looks for skills.
        #[default]
        Native = "native",
        /// Through the tools of an MCP server.
        Mcp = "mcp",
        /// Both ways at once.
        Both = "both",
        /// Not at all: the control.
        None = "none",
    }
}

/// What an MCP client shows its model about a tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ToolDisplay {
    /// The start of the description, and the descriptions of the arguments. Also assumed for unknown clients.
    Arguments,
    /// The whole description, without those of the arguments.
    Description,
}

/// Data about an agent.
#[derive(Debug)]
pub struct Profile {
    /// Its name in messages.
    pub name: &'static str,
    /// The provider of its models, by OpenTelemetry's name.
    pub provider: &'static str,
    /// Its default program, found in the PATH.
    pub program: &'static str,
    /// How to get the program, for the end of a message.
    pub how_to_get: &'static str,
    /// The packages of npm or Python that have the program.
    pub packages: &'static [&'static str],
    /// The variables by which a job of `init --ci` gives it its credentials. Empty if npm does not have it.
    pub ci_variables: &'static [&'static str],
    /// The versions that our CI measured, the newest last. This list only grows.
    pub measured: &'static [&'static str],
    /// About how many tokens its own texts and tools have in a first request of that version.
    pub first_request_tokens: Option<u64>,
    /// Its built-in modes in the order of tables. The mode without skills is its control.
    pub modes: &'static [(&'static str, AgentKind, Delivery)],
    /// The directory of its own data, in the user's home.
    pub home: &'static str,
    /// The directory of its sessions, in `home`.
    pub sessions: &'static str,
    /// The file with its credentials, in `home`.
    pub credentials: &'static str,
    /// Directories of the user's home that a variable moves elsewhere.
    pub moved_by: &'static [(&'static str, &'static str)],
    /// The files and directories of the user's home that belong to the user's own setup. What the agent's configuration says
    /// is merged with that of a trial.
    pub setup: &'static [&'static str],
    /// Words in arguments that choose other credentials.
    pub login_arguments: &'static [&'static str],
    /// The name of its session file in a trial's directory.
    pub session: &'static str,
    /// Where it looks for skills in its working directory, the current place first.
    pub skill_folders: &'static [&'static str],
    /// The names of files that it reads as instructions.
    pub instructions: &'static [&'static str],
    /// Names that it reads in every parent of its working directory.
    pub follows: &'static [&'static str],
    /// Variables that it sets to the path of a directory for the commands that it runs.
    pub folder_variables: &'static [&'static str],
    /// How it reads skills whose front matter has a fault; faults that are left out keep it from loading the skill. `None` if
    /// nobody measured it.
    pub front_matter: Option<&'static [(Fault, FaultReading)]>,
    /// The front matter keys that it defines in addition to those of agentskills.io. Their values are not checked.
    pub skill_keys: &'static [&'static str],
    /// Whether it hides skills from its model that only users may call.
    pub hides_user_only: bool,
    /// Whether it gets the MCP servers that are answered from files.
    pub serves_mocks: bool,
    /// How a prompt calls a skill called `name`, if the agent knows such calls in a trial.
    pub calls_skill: Option<&'static str>,
    /// What its evidence shows besides the conversation.
    pub reports: AgentReports,
    /// Public prices of its models, in US dollars for a million tokens: fresh input, input from a cache, output.
    pub prices: &'static [(&'static str, [f64; 3])],
    /// What an input token costs that is written to a cache, as a factor of fresh input.
    pub cache_write: f64,
    /// Its name as a client of MCP servers.
    pub mcp_client: &'static str,
    /// What it shows its model about their tools.
    pub shows: ToolDisplay,
    /// Its built-in tools.
    pub tools: AgentTools,
    /// Its phrases for refusals.
    pub refusals: RefusalPhrases,
    /// How it is pointed at another server; `None` if it cannot be.
    pub endpoint: Option<EndpointSetup>,
    /// How it gets a plugin; `None` if it gets the skills of one alone.
    pub plugins: Option<PluginSetup>,
    /// Its requests to the providers that it knows; none if they are not known here.
    pub provider_requests: &'static [ProviderRequests],
}

/// The requests of an agent to one provider.
#[derive(Clone, Copy, Debug)]
pub struct ProviderRequests {
    /// The address of the server; empty if only a variable says it.
    pub base: &'static str,
    /// The variable with another address; empty if there is none.
    pub base_variable: &'static str,
    /// The methods, and the paths behind the address. A `*` stands for a part of a path without `/`.
    pub routes: &'static [(&'static str, &'static str)],
    /// The variables with a credential, and how such a credential begins.
    pub keys: &'static [(&'static str, &'static str)],
    /// The servers that it also asks if it has a copy of the user's login.
    pub of_login: &'static [&'static str],
}

/// Anthropic Messages.
const ANTHROPIC: ProviderRequests = ProviderRequests {
    base: "https://api.anthropic.com",
    base_variable: "",
    routes: &[("POST", "/v1/messages"), ("POST", "/v1/messages/count_tokens")],
    keys: &[("ANTHROPIC_API_KEY", "sk-ant-api03-")],
    of_login: &[],
};

/// `OpenAI`, and others that speak its protocols.
const OPENAI: ProviderRequests = ProviderRequests {
    base: "https://api.openai.com/v1",
    base_variable: "",
    routes: &[("POST", "/chat/completions"), ("POST", "/responses"), ("GET", "/models")],
    keys: &[("OPENAI_API_KEY", "sk-proj-")],
    of_login: &[],
};

/// Gemini.
const GEMINI: ProviderRequests = ProviderRequests {
    base: "https://generativelanguage.googleapis.com",
    base_variable: "",
    routes: &[
        ("POST", "/v1beta/models/*:generateContent"),
        ("POST", "/v1beta/models/*:streamGenerateContent"),
        ("POST", "/v1beta/models/*:countTokens"),
    ],
    keys: &[("GEMINI_API_KEY", "AIzaSy")],
    of_login: &[],
};

/// Mistral.
const MISTRAL: ProviderRequests = ProviderRequests {
    base: "https://api.mistral.ai/v1",
    routes: &[("POST", "/chat/completions")],
    keys: &[("MISTRAL_API_KEY", "")],
    ..OPENAI
};

/// How an agent gets a plugin.
#[derive(Debug)]
pub struct PluginSetup {
    /// The file that makes a directory a plugin, from there.
    pub manifest: &'static str,
    /// The option for the directory, with its `=`.
    pub option: &'static str,
}

/// How an agent is pointed at another server than its provider's. In texts, `{url}` is the server without `/v1`, `{model}` the
/// model, and `{key}` a key.
#[derive(Debug)]
pub struct EndpointSetup {
    /// How the agent names the model.
    pub model: &'static str,
    /// Variables.
    pub variables: &'static [(&'static str, &'static str)],
    /// Files in its home, JSON or TOML, that are merged with what a trial has there.
    pub files: &'static [(&'static str, &'static str)],
}

impl EndpointSetup {
    /// No file or variable.
    pub const NONE: Self = Self { model: "{model}", variables: &[], files: &[] };

    /// One of these texts for a server, a model and a key.
    pub fn filled(text: &str, url: &str, model: &str, key: &str) -> String {
        let url = url.trim_end_matches('/');
        let url = url.strip_suffix("/v1").unwrap_or(url);
        text.replace("{url}", url).replace("{model}", model).replace("{key}", key)
    }
}

/// What an agent reports. What it does not report is unknown.
#[derive(Debug)]
#[expect(clippy::struct_excessive_bools, reason = "answers to separate questions")]
pub struct AgentReports {
    /// The cost of a run.
    pub cost: bool,
    /// The tools of an MCP server, and not only that it is connected.
    pub server_tools: bool,
    /// That the model refused, or reached the end of what it may write.
    pub early_ends: bool,
    /// What the model thought.
    pub thoughts: bool,
    /// That it reached its limit on turns, which it keeps.
    pub limits_turns: bool,
    /// An answer that follows a schema. Others can neither judge nor draft.
    pub follows_schemas: bool,
}

/// The names of an agent's built-in tools, by what they do.
#[derive(Debug)]
pub struct AgentTools {
    /// Tools that run shell commands.
    pub shells: &'static [&'static str],
    /// Tools that load a skill. Without one, its models read the SKILL.md.
    pub skills: &'static [&'static str],
    /// Tools that read a resource of an MCP server by its URI.
    pub resources: &'static [&'static str],
    /// Tools that search for tools.
    pub searches: &'static [&'static str],
    /// Tools that read text files. Without one, the agent reads them with shell commands.
    pub reads: &'static [&'static str],
    /// Tools that search names or contents of files.
    pub finds: &'static [&'static str],
    /// Tools that create and edit files.
    pub edits: &'static [&'static str],
    /// Tools that show the file at `path`.
    pub files: &'static [&'static str],
    /// Tools that list what MCP servers have.
    pub lists: &'static [&'static str],
    /// Tools that do none of this, and load no skill. `None` if nobody knows all tools of the agent.
    pub others: Option<&'static [&'static str]>,
    /// What the agent says of a call of a tool that it does not have, before the tool's name.
    pub lacks: &'static [&'static str],
}

/// Phrases in the messages of an agent that show a refusal.
#[derive(Debug)]
pub struct RefusalPhrases {
    /// Text in front of an HTTP status.
    pub status: &'static [&'static str],
    /// Text, in lower case, of a temporary refusal.
    pub for_now: &'static [&'static str],
    /// Text, in lower case, of a limit that lasts for hours or days.
    pub used_up: &'static [&'static str],
    /// Text, in lower case, about missing or invalid credentials.
    pub login: &'static [&'static str],
}

impl AgentReports {
    /// Nothing.
    pub const NONE: Self = Self {
        cost: false,
        server_tools: false,
        early_ends: false,
        thoughts: false,
        limits_turns: false,
        follows_schemas: false,
    };
}

impl AgentTools {
    /// No tool.
    pub const NONE: Self = Self {
        shells: &[],
        skills: &[],
        resources: &[],
        searches: &[],
        reads: &[],
        finds: &[],
        edits: &[],
        files: &[],
        lists: &[],
        others: None,
        lacks: &[],
    };

    /// Whether this is a tool of the agent itself, if all of its tools are known.
    pub fn has(&self, tool: &str) -> Option<bool> {
        let Self { shells, skills, resources, searches, reads, finds, edits, files, lists, others, .. } = self;
        let all = [shells, skills, resources, searches, reads, finds, edits, files, lists];
        Some(others.as_ref()?.contains(&tool) || all.into_iter().any(|names| names.contains(&tool)))
    }
}

impl RefusalPhrases {
    /// No phrase.
    pub const NONE: Self = Self { status: &[], for_now: &[], used_up: &[], login: &[] };
}

impl Profile {
    /// Whether our CI measured this version of the agent.
    pub fn is_measured(&self, version: Option<&str>) -> bool {
        version.is_some_and(|version| self.measured.contains(&version))
    }

    /// What a profile says of which it says nothing.
    pub const BLANK: Self = Self {
        name: "",
        provider: "",
        program: "",
        how_to_get: "",
        packages: &[],
        ci_variables: &[],
        measured: &[],
        first_request_tokens: None,
        modes: &[],
        home: "",
        sessions: "",
        credentials: "",
        moved_by: &[],
        setup: &[],
        login_arguments: &[],
        session: "session.jsonl",
        skill_folders: &[],
        instructions: &[],
        follows: &[],
        folder_variables: &[],
        front_matter: None,
        skill_keys: &[],
        hides_user_only: false,
        serves_mocks: false,
        calls_skill: None,
        reports: AgentReports::NONE,
        prices: &[],
        cache_write: 1.0,
        mcp_client: "",
        shows: ToolDisplay::Arguments,
        tools: AgentTools::NONE,
        refusals: RefusalPhrases::NONE,
        endpoint: None,
        plugins: None,
        provider_requests: &[],
    };

    /// How a prompt calls this skill.
    pub fn call_of(&self, skill: &str) -> Option<String> {
        Some(self.calls_skill?.replace("name", skill))
    }

    /// Its directories in a repository, which contain skills and more.
    pub fn folders(&self) -> impl Iterator<Item = &'static str> {
        self.skill_folders.iter().filter_map(|folder| folder.split('/').next())
    }
}

/// The values of one part of all profiles.
pub fn of_all<T, I: IntoIterator<Item = T>>(part: impl Fn(&'static Profile) -> I) -> impl Iterator<Item = T> {
    PROFILES.into_iter().flat_map(part)
}

/// Every agent in the order of tables and directories: the default agent is the last.
pub fn listed() -> impl Iterator<Item = &'static Profile> {
    PROFILES.into_iter().skip(1).chain([DEFAULT])
}
