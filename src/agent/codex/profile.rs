//! What the rest of the program has to know about codex.

use crate::profile::{AgentKind, AgentTools, Delivery, Profile, RefusalPhrases, ToolDisplay};

pub const PROFILE: Profile = Profile {
    name: "codex",
    program: "codex",
    how_to_get: "get it with `npm install -g @openai/codex`, or name it in evals/evals.toml under [agents.codex]",
    modes: &[
        ("codex", AgentKind::Codex, Delivery::Native),
        ("codex-mcp", AgentKind::Codex, Delivery::Mcp),
        ("codex-none", AgentKind::Codex, Delivery::None),
    ],
    home: ".codex",
    sessions: "sessions",
    credentials: "auth.json",
    login_arguments: &["model_provider", "base_url", "--oss", "--local-provider", "--profile"],
    session: "rollout.jsonl",
    // The directory of current versions, then the one of older versions.
    skill_folders: &[".agents/skills", ".codex/skills"],
    instructions: &["AGENTS.md", "AGENTS.override.md"],
    follows: &["AGENTS.md"],
    folder_variables: &["CODEX_HOME"],
    skill_keys: &[],
    hides_user_only: false,
    calls_skill: "$name",
    reports_cost: false,
    mcp_client: "codex-mcp-client",
    shows: ToolDisplay::Description,
    tools: AgentTools {
        resources: &["read_mcp_resource"],
        searches: &["tool_search"],
        files: &["view_image"],
        lists: &["list_mcp_resources", "list_mcp_resource_templates"],
    },
    refusals: RefusalPhrases {
        status: &["unexpected status ", "exceeded retry limit, last status: "],
        for_now: &[
            "hit your usage limit",
            "model is at capacity",
            "at capacity. please try",
            "experiencing high demand",
        ],
        login: &["missing environment variable", "log out and sign in again"],
    },
};
