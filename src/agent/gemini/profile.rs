//! What the rest of the program has to know about Gemini CLI.

use crate::profile::{AgentKind, AgentReports, AgentTools, Delivery, Profile, RefusalPhrases, ToolDisplay};

pub const PROFILE: Profile = Profile {
    name: "Gemini CLI",
    provider: "gcp.gen_ai",
    program: "gemini",
    how_to_get: "get it with `npm install -g @google/gemini-cli`, or name it in evals/evals.toml under [agents.gemini]",
    modes: &[
        ("gemini", AgentKind::Gemini, Delivery::Native),
        ("gemini-mcp", AgentKind::Gemini, Delivery::Mcp),
        ("gemini-none", AgentKind::Gemini, Delivery::None),
    ],
    home: ".gemini",
    sessions: "tmp",
    credentials: "oauth_creds.json",
    moved_by: &[("", "GEMINI_CLI_HOME")],
    setup: &[
        ".gemini/GEMINI.md",
        ".gemini/agents",
        ".gemini/commands",
        ".gemini/extensions",
        ".gemini/policies",
        ".gemini/skills",
        ".agents/skills",
    ],
    login_arguments: &[],
    session: "session.jsonl",
    // It also looks in `.agents/skills`, and warns of a skill that is in both.
    skill_folders: &[".gemini/skills"],
    instructions: &["GEMINI.md"],
    follows: &["GEMINI.md", ".env"],
    folder_variables: &["GEMINI_CLI_HOME"],
    skill_keys: &[],
    hides_user_only: false,
    calls_skill: None,
    reports: AgentReports { cost: false, server_tools: false, early_ends: true },
    prices: &[],
    mcp_client: "gemini-cli-mcp-client",
    shows: ToolDisplay::Description,
    tools: AgentTools {
        shells: &["run_shell_command"],
        skills: &["activate_skill"],
        resources: &["read_mcp_resource"],
        searches: &[],
        reads: &["read_file"],
        finds: &["grep_search", "glob", "list_directory", "read_many_files"],
        edits: &["write_file", "replace"],
        files: &[],
        lists: &["list_mcp_resources"],
    },
    refusals: RefusalPhrases {
        status: &[],
        for_now: &[],
        login: &["please set an auth method", "invalid auth method selected", "you must specify the gemini_api_key"],
    },
};
