//! What the rest of the program has to know about OpenCode.

use crate::profile::fault::FaultReading;
use crate::profile::{
    ANTHROPIC, AgentReports, AgentTools, EndpointSetup, GEMINI, MISTRAL, OPENAI, Profile, ProviderRequests,
};
use crate::skill::Fault;

pub const PROFILE: Profile = Profile {
    name: "OpenCode",
    provider: "opencode",
    program: "opencode",
    how_to_get: "get it with `npm install -g opencode-ai`, or name it in evals/evals.toml under [agents.opencode]",
    packages: &["opencode-ai"],
    ci_variables: &["OPENCODE_API_KEY"],
    measured: &["1.18.33"],
    modes: usual_modes!("opencode", OpenCode),
    home: ".local/share/opencode",
    sessions: "storage",
    credentials: "auth.json",
    moved_by: &[(".config", "XDG_CONFIG_HOME"), (".local/share", "XDG_DATA_HOME"), (".cache", "XDG_CACHE_HOME")],
    setup: &[
        ".config/opencode/AGENTS.md",
        ".config/opencode/agent",
        ".config/opencode/agents",
        ".config/opencode/command",
        ".config/opencode/commands",
        ".config/opencode/plugin",
        ".config/opencode/plugins",
        ".config/opencode/skill",
        ".config/opencode/skills",
        ".agents/skills",
        ".claude/skills",
    ],
    login_arguments: &["--model", "-m"],
    // Not `.opencode/skills`: OpenCode installs packages into every directory `.opencode`.
    skill_folders: &[".agents/skills", ".claude/skills"],
    front_matter: Some(&[
        (Fault::Colon, FaultReading::Whole),
        (Fault::ColonAtEnd, FaultReading::Whole),
        (Fault::Tab, FaultReading::Whole),
        (Fault::ByteOrderMark, FaultReading::Whole),
    ]),
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
    calls_skill: Some("/name"),
    reports: AgentReports { early_ends: true, thoughts: true, ..AgentReports::NONE },
    mcp_client: "opencode",
    tools: AgentTools {
        shells: &["bash"],
        skills: &["skill"],
        reads: &["read"],
        finds: &["grep", "glob", "list"],
        edits: &["write", "edit", "apply_patch"],
        others: Some(&[
            "batch",
            "codesearch",
            "invalid",
            "lsp",
            "multiedit",
            "patch",
            "plan_enter",
            "plan_exit",
            "question",
            "task",
            "todoread",
            "todowrite",
            "webfetch",
            "websearch",
        ]),
        ..AgentTools::NONE
    },
    endpoint: Some(EndpointSetup {
        model: "anthropic/{model}",
        files: &[(
            ".config/opencode/opencode.json",
            r#"{"model": "anthropic/{model}", "provider": {"anthropic": {"options": {"baseURL": "{url}/v1", "apiKey": "{key}"},
            "models": {"{model}": {}}}}}"#,
        )],
        ..EndpointSetup::NONE
    }),
    provider_requests: &[
        ANTHROPIC,
        OPENAI,
        MISTRAL,
        ProviderRequests {
            keys: &[("GOOGLE_GENERATIVE_AI_API_KEY", "AIzaSy"), ("GEMINI_API_KEY", "AIzaSy")],
            ..GEMINI
        },
        ProviderRequests {
            base: "https://opencode.ai/zen",
            routes: &[("POST", "/v1/chat/completions"), ("POST", "/v1/messages"), ("POST", "/v1/responses")],
            keys: &[("OPENCODE_API_KEY", "sk-")],
            ..OPENAI
        },
    ],
    ..Profile::BLANK
};
