//! What the rest of the program has to know about Cline.

use crate::profile::{AgentKind, AgentReports, AgentTools, Delivery, Profile, RefusalPhrases, ToolDisplay};

pub const PROFILE: Profile = Profile {
    name: "Cline",
    provider: "cline",
    program: "cline",
    how_to_get: "get it with `npm install -g cline`, or name it in evals/evals.toml under [agents.cline]",
    modes: &[
        ("cline", AgentKind::Cline, Delivery::Native),
        ("cline-mcp", AgentKind::Cline, Delivery::Mcp),
        ("cline-none", AgentKind::Cline, Delivery::None),
    ],
    home: ".cline",
    sessions: "data/sessions",
    credentials: "data/settings/providers.json",
    login_arguments: &["--provider", "--key"],
    session: "session.jsonl",
    skill_folders: &[".cline/skills", ".agents/skills", ".clinerules/skills"],
    instructions: &["AGENTS.md", ".clinerules", ".cline/rules"],
    follows: &[".cline", ".agents", ".clinerules"],
    folder_variables: &[],
    skill_keys: &["disabled", "enabled"],
    hides_user_only: false,
    calls_skill: None,
    reports: AgentReports { cost: false, server_tools: false, early_ends: true },
    prices: &[],
    mcp_client: "@cline/core",
    shows: ToolDisplay::Description,
    tools: AgentTools {
        shells: &["run_commands"],
        skills: &["skills"],
        resources: &[],
        searches: &[],
        reads: &["read_files"],
        finds: &["search_codebase"],
        edits: &["editor", "apply_patch"],
        files: &[],
        lists: &[],
    },
    refusals: RefusalPhrases { status: &[], for_now: &[], login: &[] },
};
