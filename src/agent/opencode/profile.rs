//! What the rest of the program has to know about OpenCode.

use crate::profile::{AgentKind, AgentReports, AgentTools, Delivery, Profile, RefusalPhrases, ToolDisplay};

pub const PROFILE: Profile = Profile {
    name: "OpenCode",
    provider: "opencode",
    program: "opencode",
    how_to_get: "get it with `npm install -g opencode-ai`, or name it in evals/evals.toml under [agents.opencode]",
    modes: &[
        ("opencode", AgentKind::OpenCode, Delivery::Native),
        ("opencode-mcp", AgentKind::OpenCode, Delivery::Mcp),
        ("opencode-none", AgentKind::OpenCode, Delivery::None),
    ],
    home: ".local/share/opencode",
    sessions: "storage",
    credentials: "auth.json",
    login_arguments: &["--model", "-m"],
    session: "session.jsonl",
    // Not `.opencode/skills`: OpenCode installs packages into every directory `.opencode`.
    skill_folders: &[".agents/skills", ".claude/skills"],
    instructions: &["AGENTS.md", "CLAUDE.md", "CONTEXT.md"],
    follows: &[
        "AGENTS.md",
        "CLAUDE.md",
        "CONTEXT.md",
        ".agents",
        ".claude",
        ".opencode",
        "opencode.json",
        "opencode.jsonc",
    ],
    folder_variables: &[],
    skill_keys: &[],
    hides_user_only: false,
    calls_skill: Some("/name"),
    reports: AgentReports { cost: false, server_tools: false, early_ends: true },
    prices: &[],
    mcp_client: "opencode",
    shows: ToolDisplay::Arguments,
    tools: AgentTools {
        shells: &["bash"],
        skills: &["skill"],
        resources: &[],
        searches: &[],
        reads: &["read"],
        finds: &["grep", "glob", "list"],
        edits: &["write", "edit", "apply_patch"],
        files: &[],
        lists: &[],
    },
    refusals: RefusalPhrases { status: &[], for_now: &[], login: &[] },
};
