//! What the rest of the program has to know about codex.

use crate::profile::fault::FaultReading;
use crate::profile::{
    AgentReports, AgentTools, EndpointSetup, OPENAI, Profile, ProviderRequests, RefusalPhrases, ToolDisplay,
};
use crate::skill::Fault;

pub const PROFILE: Profile = Profile {
    name: "codex",
    provider: "openai",
    program: "codex",
    how_to_get: "get it with `npm install -g @openai/codex`, or name it in evals/evals.toml under [agents.codex]",
    packages: &["@openai/codex"],
    ci_variables: &["CODEX_API_KEY"],
    measured: &["0.169.0", "0.171.0"],
    first_request_tokens: Some(9_949),
    modes: usual_modes!("codex", Codex),
    home: ".codex",
    sessions: "sessions",
    credentials: "auth.json",
    moved_by: &[(".codex", "CODEX_HOME")],
    setup: &[
        ".codex/AGENTS.md",
        ".codex/AGENTS.override.md",
        ".codex/hooks.json",
        ".codex/plugins",
        ".codex/prompts",
        ".codex/rules",
        ".codex/skills",
        ".agents/skills",
    ],
    login_arguments: &["model_provider", "base_url", "--oss", "--local-provider", "--profile"],
    session: "rollout.jsonl",
    // The directory of current versions, then the one of older versions.
    skill_folders: &[".agents/skills", ".codex/skills"],
    front_matter: Some(&[
        (Fault::Colon, FaultReading::Whole),
        (Fault::Symbol, FaultReading::Whole),
        (Fault::Tag, FaultReading::Part),
    ]),
    instructions: &["AGENTS.md", "AGENTS.override.md"],
    follows: &["AGENTS.md"],
    folder_variables: &["CODEX_HOME"],
    serves_mocks: true,
    calls_skill: Some("$name"),
    reports: AgentReports { early_ends: true, thoughts: true, follows_schemas: true, ..AgentReports::NONE },
    // Of <https://developers.openai.com/api/docs/pricing> and the pages of the models.
    prices: &[
        ("gpt-6.1-sol", [2.0, 0.1, 10.0]),
        ("gpt-6.1-terra", [1.0, 0.05, 5.0]),
        ("gpt-6-astra", [10.0, 1.0, 50.0]),
        ("gpt-6-sol", [2.0, 0.2, 10.0]),
        ("gpt-6-luna", [0.1, 0.01, 0.5]),
        ("gpt-5.6-terra", [2.0, 0.2, 12.0]),
        ("gpt-5.6-luna", [0.2, 0.02, 1.2]),
        ("gpt-5.5", [5.0, 0.5, 30.0]),
        ("gpt-5.4", [2.5, 0.25, 15.0]),
        ("gpt-5.4-mini", [0.75, 0.075, 4.5]),
        ("gpt-5.3-codex", [1.75, 0.175, 14.0]),
        ("gpt-5.2", [1.75, 0.175, 14.0]),
        ("gpt-5.2-codex", [1.75, 0.175, 14.0]),
        ("gpt-5", [1.25, 0.125, 10.0]),
        ("gpt-5-codex", [1.25, 0.125, 10.0]),
        ("gpt-5-mini", [0.25, 0.025, 2.0]),
    ],
    mcp_client: "codex-mcp-client",
    shows: ToolDisplay::Description,
    tools: AgentTools {
        shells: &["exec_command", "shell_command", "shell", "local_shell", "container.exec"],
        resources: &["read_mcp_resource"],
        searches: &["tool_search"],
        edits: &["apply_patch"],
        files: &["view_image"],
        lists: &["list_mcp_resources", "list_mcp_resource_templates"],
        others: Some(&[
            "create_goal",
            "current_time",
            "functions__exec",
            "functions__wait",
            "get_context_remaining",
            "get_goal",
            "list_available_plugins_to_install",
            "new_context",
            "request_permissions",
            "request_plugin_install",
            "request_user_input",
            "sleep",
            "test_sync_tool",
            "tool_suggest",
            "update_goal",
            "update_plan",
            "web_search",
            "write_stdin",
            "spawn_agent",
            "wait_agent",
            "send_input",
            "close_agent",
            "resume_agent",
            "list_agents",
            "followup_task",
            "send_message",
            "interrupt_agent",
            "multi_agent_v1__spawn_agent",
            "multi_agent_v1__wait_agent",
            "multi_agent_v1__send_input",
            "multi_agent_v1__close_agent",
            "multi_agent_v1__resume_agent",
            "multi_agent_v1__list_agents",
            "multi_agent_v1__followup_task",
            "multi_agent_v1__send_message",
            "multi_agent_v1__interrupt_agent",
            "multi_agent_v2__spawn_agent",
            "multi_agent_v2__wait_agent",
            "multi_agent_v2__send_input",
            "multi_agent_v2__close_agent",
            "multi_agent_v2__resume_agent",
            "multi_agent_v2__list_agents",
            "multi_agent_v2__followup_task",
            "multi_agent_v2__send_message",
            "multi_agent_v2__interrupt_agent",
            "collaboration__spawn_agent",
            "collaboration__wait_agent",
            "collaboration__send_input",
            "collaboration__close_agent",
            "collaboration__resume_agent",
            "collaboration__list_agents",
            "collaboration__followup_task",
            "collaboration__send_message",
            "collaboration__interrupt_agent",
        ]),
        lacks: &["unsupported call: "],
        ..AgentTools::NONE
    },
    refusals: RefusalPhrases {
        status: &["unexpected status ", "exceeded retry limit, last status: "],
        for_now: &["model is at capacity", "at capacity. please try", "experiencing high demand"],
        used_up: &["hit your usage limit", "out of credits"],
        login: &["missing environment variable", "log out and sign in again"],
    },
    endpoint: Some(EndpointSetup {
        variables: &[("CODEX_ENDPOINT_KEY", "{key}")],
        // The runner starts a refused trial again.
        files: &[(
            ".codex/config.toml",
            r#"model = "{model}"
model_provider = "endpoint"

[model_providers.endpoint]
name = "endpoint"
base_url = "{url}/v1"
wire_api = "responses"
env_key = "CODEX_ENDPOINT_KEY"
request_max_retries = 0
stream_max_retries = 0
"#,
        )],
        ..EndpointSetup::NONE
    }),
    // It does not read OPENAI_BASE_URL.
    provider_requests: &[ProviderRequests {
        routes: &[("POST", "/responses"), ("POST", "/responses/compact"), ("GET", "/models")],
        keys: &[("CODEX_API_KEY", "sk-proj-"), ("OPENAI_API_KEY", "sk-proj-")],
        of_login: &["chatgpt.com:443", "auth.openai.com:443"],
        ..OPENAI
    }],
    ..Profile::BLANK
};
