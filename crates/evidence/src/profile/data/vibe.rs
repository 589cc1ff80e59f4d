//! What the rest of the program has to know about Mistral Vibe.

use crate::profile::fault::FaultReading;
use crate::profile::{AgentKind, AgentReports, AgentTools, Delivery, EndpointSetup, MISTRAL, Profile, RefusalPhrases};
use crate::skill::Fault;

pub const PROFILE: Profile = Profile {
    name: "Mistral Vibe",
    provider: "mistral_ai",
    program: "vibe",
    how_to_get: "get it with `pip install mistral-vibe` and Python 3.12 or later, or name it in evals/evals.toml under \
                 [agents.vibe]",
    // Its models see only the name of an MCP server until they search for its tools, so no mode has the built-in server.
    packages: &["mistral-vibe"],
    measured: &["3.0.2", "3.0.3"],
    modes: &[("vibe", AgentKind::Vibe, Delivery::Native), ("vibe-none", AgentKind::Vibe, Delivery::None)],
    home: ".vibe",
    sessions: "logs/session",
    credentials: ".env",
    moved_by: &[(".vibe", "VIBE_HOME")],
    setup: &[
        ".vibe/AGENTS.md",
        ".vibe/agents",
        ".vibe/hooks.toml",
        ".vibe/plugins",
        ".vibe/prompts",
        ".vibe/skills",
        ".vibe/tools",
        ".agents/skills",
    ],
    skill_folders: &[".vibe/skills", ".agents/skills"],
    front_matter: Some(&[(Fault::Repeated, FaultReading::Whole), (Fault::ByteOrderMark, FaultReading::Whole)]),
    instructions: &["AGENTS.md"],
    follows: &["AGENTS.md"],
    skill_keys: &["disable-model-invocation", "user-invocable"],
    hides_user_only: true,
    calls_skill: Some("/name"),
    reports: AgentReports { early_ends: true, thoughts: true, limits_turns: true, ..AgentReports::NONE },
    mcp_client: "mistral-vibe",
    tools: AgentTools {
        shells: &["bash"],
        skills: &["skill"],
        searches: &["search_tool_functions"],
        reads: &["read_file"],
        finds: &["grep"],
        edits: &["write_file", "edit"],
        others: Some(&["ask_user_question", "exit_plan_mode", "task", "todo", "web_fetch", "web_search"]),
        ..AgentTools::NONE
    },
    refusals: RefusalPhrases { login: &["invalid api key"], ..RefusalPhrases::NONE },
    endpoint: Some(EndpointSetup {
        variables: &[("VIBE_ENDPOINT_KEY", "{key}")],
        files: &[(
            ".vibe/config.toml",
            r#"active_model = "{model}"

[[providers]]
name = "endpoint"
api_base = "{url}/v1"
api_key_env_var = "VIBE_ENDPOINT_KEY"
backend = "generic"

[[models]]
name = "{model}"
provider = "endpoint"
alias = "{model}"
"#,
        )],
        ..EndpointSetup::NONE
    }),
    provider_requests: &[MISTRAL],
    ..Profile::BLANK
};
