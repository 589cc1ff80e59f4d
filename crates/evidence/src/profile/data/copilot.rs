//! What the rest of the program has to know about GitHub Copilot CLI.

use crate::profile::fault::FaultReading;
use crate::profile::{
    AgentReports, AgentTools, EndpointSetup, OPENAI, Profile, ProviderRequests, RefusalPhrases, ToolDisplay,
};
use crate::skill::Fault;

pub const PROFILE: Profile = Profile {
    name: "GitHub Copilot CLI",
    provider: "github",
    program: "copilot",
    how_to_get: "get it with `npm install -g @github/copilot`, or name it in evals/evals.toml under [agents.copilot]",
    packages: &["@github/copilot"],
    ci_variables: &["COPILOT_GITHUB_TOKEN"],
    measured: &["1.0.102"],
    modes: usual_modes!("copilot", Copilot),
    home: ".copilot",
    sessions: "session-state",
    credentials: "config.json",
    moved_by: &[(".copilot", "COPILOT_HOME")],
    setup: &[
        ".copilot/agents",
        ".copilot/config.json",
        ".copilot/copilot-instructions.md",
        ".copilot/hooks",
        ".copilot/installed-plugins",
        ".copilot/mcp-config.json",
        ".copilot/settings.json",
        ".copilot/skills",
        ".agents/skills",
    ],
    skill_folders: &[".github/skills", ".agents/skills", ".claude/skills"],
    front_matter: Some(&[(Fault::Tag, FaultReading::Part), (Fault::ByteOrderMark, FaultReading::Whole)]),
    instructions: &["AGENTS.md", "CLAUDE.md", "GEMINI.md", ".github/copilot-instructions.md"],
    follows: &["AGENTS.md", ".agents", ".claude", ".github"],
    folder_variables: &["COPILOT_HOME"],
    skill_keys: &["allowed-tools", "argument-hint", "disable-model-invocation", "user-invocable"],
    hides_user_only: true,
    reports: AgentReports { thoughts: true, ..AgentReports::NONE },
    mcp_client: "copilot-cli",
    shows: ToolDisplay::Description,
    tools: AgentTools {
        shells: &["bash"],
        skills: &["skill"],
        reads: &["view"],
        finds: &["grep", "glob"],
        edits: &["create", "edit", "apply_patch"],
        others: Some(&[
            "ask_user",
            "exit_plan_mode",
            "fetch_copilot_cli_documentation",
            "list_agents",
            "list_bash",
            "read_agent",
            "read_bash",
            "report_intent",
            "session_store_sql",
            "sql",
            "stop_bash",
            "store_memory",
            "task",
            "update_todo",
            "web_fetch",
            "web_search",
            "write_agent",
            "write_bash",
        ]),
        ..AgentTools::NONE
    },
    refusals: RefusalPhrases { login: &["no authentication information found"], ..RefusalPhrases::NONE },
    endpoint: Some(EndpointSetup {
        variables: &[
            ("COPILOT_OFFLINE", "true"),
            ("COPILOT_MODEL", "{model}"),
            ("COPILOT_PROVIDER_BASE_URL", "{url}/v1"),
            ("COPILOT_PROVIDER_WIRE_API", "responses"),
            ("COPILOT_PROVIDER_API_KEY", "{key}"),
        ],
        ..EndpointSetup::NONE
    }),
    provider_requests: &[
        ProviderRequests {
            base: "https://api.github.com",
            routes: &[("GET", "/copilot_internal/user")],
            keys: TOKENS,
            ..OPENAI
        },
        of_plan("https://api.githubcopilot.com"),
        of_plan("https://api.individual.githubcopilot.com"),
        of_plan("https://api.business.githubcopilot.com"),
        of_plan("https://api.enterprise.githubcopilot.com"),
        ProviderRequests {
            base: "",
            base_variable: "COPILOT_PROVIDER_BASE_URL",
            keys: &[("COPILOT_PROVIDER_API_KEY", "sk-"), ("COPILOT_PROVIDER_BEARER_TOKEN", "")],
            ..OPENAI
        },
    ],
    ..Profile::BLANK
};

/// The variables with a token of GitHub.
const TOKENS: &[(&str, &str)] = &[("COPILOT_GITHUB_TOKEN", "gho_"), ("GH_TOKEN", "gho_"), ("GITHUB_TOKEN", "gho_")];

/// The server of models for a user's plan, which GitHub names.
const fn of_plan(base: &'static str) -> ProviderRequests {
    ProviderRequests {
        base,
        routes: &[
            ("POST", "/chat/completions"),
            ("POST", "/responses"),
            ("POST", "/v1/messages"),
            ("GET", "/models"),
            ("POST", "/models/session"),
        ],
        keys: TOKENS,
        ..OPENAI
    }
}
