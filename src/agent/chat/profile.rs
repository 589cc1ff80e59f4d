//! What the rest of the program has to know about the agent `chat`.

use crate::profile::{AgentKind, AgentReports, AgentTools, Delivery, Profile, RefusalPhrases, ToolDisplay};

pub const PROFILE: Profile = Profile {
    name: "skill-evals chat",
    provider: "openai_compatible",
    program: "skill-evals",
    how_to_get: "this build of skill-evals lacks its own agent: add \"chat\" to the `features` of skill-evals in Cargo.toml",
    modes: &[("chat", AgentKind::Chat, Delivery::Native), ("chat-none", AgentKind::Chat, Delivery::None)],
    home: ".skill-evals",
    sessions: "chat",
    credentials: "",
    login_arguments: &["--api"],
    session: "session.jsonl",
    skill_folders: &[".agents/skills"],
    instructions: &[],
    follows: &[],
    folder_variables: &[],
    skill_keys: &[],
    hides_user_only: false,
    calls_skill: None,
    reports: AgentReports { cost: false, server_tools: false, early_ends: true },
    prices: &[],
    mcp_client: "",
    shows: ToolDisplay::Arguments,
    tools: AgentTools {
        shells: &["bash"],
        skills: &["skill"],
        resources: &[],
        searches: &[],
        reads: &["read_file"],
        finds: &[],
        edits: &["write_file"],
        files: &[],
        lists: &[],
    },
    refusals: RefusalPhrases { status: &[], for_now: &[], login: &[] },
};
