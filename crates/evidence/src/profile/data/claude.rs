//! What the rest of the program has to know about Claude Code.

use crate::profile::fault::Reading;
use crate::profile::{
    AgentKind, AgentReports, AgentTools, Delivery, EndpointSetup, PluginSetup, Profile, RefusalPhrases,
};
use crate::skill::Fault;

pub const PROFILE: Profile = Profile {
    name: "Claude Code",
    provider: "anthropic",
    program: "claude",
    how_to_get: "get it with `npm install -g @anthropic-ai/claude-code`, or name it in evals/evals.toml under \
                 [agents.claude-cli] and [agents.claude-sdk]",
    packages: &["@anthropic-ai/claude-code"],
    measured: "2.1.332",
    first_request_tokens: Some(16_348),
    modes: &[
        ("mcp", AgentKind::ClaudeSdk, Delivery::Mcp),
        ("native", AgentKind::ClaudeSdk, Delivery::Native),
        ("cli-native", AgentKind::ClaudeCli, Delivery::Native),
        ("mcp+native", AgentKind::ClaudeSdk, Delivery::Both),
        ("none", AgentKind::ClaudeSdk, Delivery::None),
    ],
    home: ".claude",
    sessions: "projects",
    credentials: ".credentials.json",
    moved_by: &[(".claude", "CLAUDE_CONFIG_DIR")],
    setup: &[
        ".claude/CLAUDE.md",
        ".claude/agents",
        ".claude/commands",
        ".claude/hooks",
        ".claude/output-styles",
        ".claude/plugins",
        ".claude/rules",
        ".claude/settings.json",
        ".claude/skills",
    ],
    login_arguments: &["--settings", "apiKeyHelper"],
    skill_folders: &[".claude/skills"],
    front_matter: Some(&[
        (Fault::Colon, Reading::Whole),
        (Fault::ColonAtEnd, Reading::Part),
        (Fault::Symbol, Reading::Whole),
        (Fault::Mark, Reading::Whole),
        (Fault::Tag, Reading::Part),
        (Fault::Quote, Reading::Part),
        (Fault::Tab, Reading::Whole),
        (Fault::Repeated, Reading::Whole),
        (Fault::List, Reading::Part),
        (Fault::Missing, Reading::Whole),
        (Fault::ByteOrderMark, Reading::Whole),
        (Fault::Other, Reading::Part),
    ]),
    instructions: &["CLAUDE.md", "CLAUDE.local.md", ".mcp.json"],
    follows: &["CLAUDE.md", ".claude"],
    folder_variables: &["CLAUDE_PROJECT_DIR"],
    skill_keys: &[
        "agent",
        "argument-hint",
        "arguments",
        "context",
        "disable-model-invocation",
        "disallowed-tools",
        "effort",
        "hooks",
        "model",
        "paths",
        "shell",
        "user-invocable",
        "version",
        "when_to_use",
    ],
    plugins: Some(PluginSetup { manifest: ".claude-plugin/plugin.json", option: "--plugin-dir=" }),
    hides_user_only: true,
    serves_mocks: true,
    calls_skill: Some("/name"),
    reports: AgentReports { cost: true, server_tools: true, early_ends: true, thoughts: true, limits_turns: true },
    // Of <https://platform.claude.com/docs/en/about-claude/pricing> and the pages of the models.
    // For five minutes.
    cache_write: 1.25,
    prices: &[
        ("claude-opus-5-5", [4.0, 0.2, 20.0]),
        ("claude-opus-5", [5.0, 0.5, 25.0]),
        ("claude-opus-4-5", [5.0, 0.5, 25.0]),
        ("claude-sonnet-5-5", [2.0, 0.1, 10.0]),
        ("claude-sonnet-5", [2.0, 0.2, 10.0]),
        ("claude-haiku-4-5", [1.0, 0.1, 5.0]),
    ],
    mcp_client: "claude-code",
    tools: AgentTools {
        shells: &["Bash"],
        skills: &["Skill"],
        resources: &["ReadMcpResourceTool"],
        searches: &["ToolSearch"],
        reads: &["Read"],
        finds: &["Glob", "Grep"],
        edits: &["Write", "Edit", "MultiEdit", "NotebookEdit"],
        lists: &["ListMcpResourcesTool"],
        ..AgentTools::NONE
    },
    refusals: RefusalPhrases {
        status: &["API Error: "],
        for_now: &[],
        used_up: &[
            "you've hit your",
            "you've reached your",
            "you're out of",
            "is out of usage",
            "usage limit reached",
            "session limit reached",
            "weekly limit reached",
            "hour limit reached",
            "opus limit reached",
            "usage limit is set to $0",
            "seat type doesn't include",
            "usage allocation has been disabled",
        ],
        login: &["please run /login", "not logged in"],
    },
    endpoint: Some(EndpointSetup {
        variables: &[
            ("ANTHROPIC_BASE_URL", "{url}"),
            ("ANTHROPIC_API_KEY", "{key}"),
            ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1"),
            // The runner starts a refused trial again.
            ("CLAUDE_CODE_MAX_RETRIES", "1"),
        ],
        ..EndpointSetup::NONE
    }),
    ..Profile::BLANK
};
