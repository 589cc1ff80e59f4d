//! The registry of agents, and what the rest of the program has to know of each as data.
//!
//! An agent is a folder of `src/agent` and a line in the macro `agents`. The file `profile.rs` there belongs to this room, so that
//! every other room can read it; the rest of the folder is code of the room `agent`.

use serde::{Deserialize, Serialize};

/// Hands the registry to the macro `$each`. A line names the agent's folder, the types in it that implement
/// [`Agent`](crate::agent::Agent), one for each way to start it, and their words in settings and artifacts. The first agent
/// is meant where nothing names one.
macro_rules! agents {
    ($each:ident) => {
        $each! {
            codex: Codex = "codex";
            claude: ClaudeCli = "claude-cli", ClaudeSdk = "claude-sdk";
        }
    };
}
pub(crate) use agents;

macro_rules! profiles {
    ($($family:ident: $($kind:ident = $word:literal),+;)+) => {
        #[path = "../agent"]
        mod data {
            $(pub mod $family { pub mod profile; })+
        }

        /// The program under which a case runs, by the way to start it.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
        pub enum AgentKind {
            $($(#[doc = concat!("`", $word, "` in settings and artifacts.")] #[serde(rename = $word)] $kind,)+)+
        }

        impl AgentKind {
            /// Every agent.
            pub const ALL: [AgentKind; [$($($word),+),+].len()] = [$($(AgentKind::$kind),+),+];

            /// The word for it in settings and artifacts.
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self {
                    $($(AgentKind::$kind => $word,)+)+
                }
            }

            /// What is known of it.
            #[must_use]
            pub const fn profile(self) -> &'static Profile {
                match self {
                    $($(AgentKind::$kind)|+ => &data::$family::profile::PROFILE,)+
                }
            }
        }

        /// What is known of each agent, the default one first.
        pub const PROFILES: [&Profile; [$(stringify!($family)),+].len()] = [$(&data::$family::profile::PROFILE),+];
    };
}
agents!(profiles);

/// The agent that is meant where nothing names one.
pub const DEFAULT: &Profile = PROFILES[0];

/// The mode of cases whose format was made for the default agent.
pub const DEFAULT_MODE: &str = DEFAULT.modes[0].0;

impl Default for AgentKind {
    fn default() -> Self {
        Self::ALL[0]
    }
}

/// How skills reach the agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Delivery {
    /// In the folder where the agent looks for skills.
    Native,
    /// By the tools of an MCP server.
    Mcp,
    /// Both ways at once.
    Both,
    /// Not at all: the baseline.
    None,
}

/// What an MCP client shows its model of a tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ToolDisplay {
    /// The start of the description, and the descriptions of the arguments; of an unknown client too.
    Arguments,
    /// The whole description, and nothing that is said of the arguments.
    Description,
}

/// What is known of an agent.
#[derive(Debug)]
pub struct Profile {
    /// Its name in messages.
    pub name: &'static str,
    /// What its program is called on the PATH, where the settings name no other.
    pub program: &'static str,
    /// How to get the program, for a message behind a semicolon.
    pub how_to_get: &'static str,
    /// Its built-in modes, in the order in which tables list them; the one without skills is its baseline.
    pub modes: &'static [(&'static str, AgentKind, Delivery)],
    /// Where it keeps what it knows of its user, in the user's home.
    pub home: &'static str,
    /// Where it keeps sessions, in that folder.
    pub sessions: &'static str,
    /// The file with its login, in that folder.
    pub credentials: &'static str,
    /// What arguments speak of that choose another login.
    pub login_arguments: &'static [&'static str],
    /// The name of its session's file in a trial's folder.
    pub session: &'static str,
    /// Where it looks for skills in its working folder, today's folder first.
    pub skill_folders: &'static [&'static str],
    /// The files that it takes for instructions wherever it finds them.
    pub instructions: &'static [&'static str],
    /// What it follows from any depth below the folder that holds it.
    pub follows: &'static [&'static str],
    /// Variables that hold a folder's path where it runs a command.
    pub folder_variables: &'static [&'static str],
    /// The keys of SKILL.md that it defines beside those of agentskills.io; their values are its own to judge.
    pub skill_keys: &'static [&'static str],
    /// Whether it keeps skills that only users may call from its model.
    pub hides_user_only: bool,
    /// How a prompt calls the skill `name`.
    pub calls_skill: &'static str,
    /// Whether it says itself what a run cost.
    pub reports_cost: bool,
    /// What it is called as a client of MCP servers.
    pub mcp_client: &'static str,
    /// What it shows its model of their tools.
    pub shows: ToolDisplay,
    /// Its own tools.
    pub tools: AgentTools,
    /// What it says of refusals.
    pub refusals: RefusalPhrases,
}

/// The tools of an agent's own, as its model sees them, by what they do.
#[derive(Debug)]
pub struct AgentTools {
    /// Read a resource of an MCP server by its URI.
    pub resources: &'static [&'static str],
    /// Search for tools.
    pub searches: &'static [&'static str],
    /// Show the file at `path`.
    pub files: &'static [&'static str],
    /// List what MCP servers have.
    pub lists: &'static [&'static str],
}

/// What an agent says of refusals where it sends no field.
#[derive(Debug)]
pub struct RefusalPhrases {
    /// What stands before an HTTP status in a message.
    pub status: &'static [&'static str],
    /// What it says, in lower case, of a refusal that passes by waiting.
    pub for_now: &'static [&'static str],
    /// What it says, in lower case, of a login that is missing or not good.
    pub login: &'static [&'static str],
}

impl Profile {
    /// Its folders in a repository, which hold skills and more.
    pub fn folders(&self) -> impl Iterator<Item = &'static str> {
        self.skill_folders.iter().filter_map(|folder| folder.split('/').next())
    }
}

/// What all agents have of something.
pub fn of_all<T, I: IntoIterator<Item = T>>(part: impl Fn(&'static Profile) -> I) -> impl Iterator<Item = T> {
    PROFILES.into_iter().flat_map(part)
}

/// Every agent in the order of tables and folders: the default one is the last.
pub fn listed() -> impl Iterator<Item = &'static Profile> {
    PROFILES.into_iter().skip(1).chain([DEFAULT])
}
