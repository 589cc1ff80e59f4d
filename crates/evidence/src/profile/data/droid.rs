//! What the rest of the program has to know about Droid.

use crate::profile::fault::FaultReading;
use crate::profile::{
    AgentKind, AgentReports, AgentTools, Delivery, EndpointSetup, OPENAI, Profile, ProviderRequests, RefusalPhrases,
};
use crate::skill::Fault;

pub const PROFILE: Profile = Profile {
    name: "Droid",
    provider: "factory",
    program: "droid",
    how_to_get: "get it with `npm install -g droid`, or name it in evals/evals.toml under [agents.droid]",
    // Its models see only the names of MCP tools until they search for them, so no mode has the built-in server.
    packages: &["droid"],
    ci_variables: &["FACTORY_API_KEY"],
    measured: &["0.215.0"],
    modes: &[("droid", AgentKind::Droid, Delivery::Native), ("droid-none", AgentKind::Droid, Delivery::None)],
    home: ".factory",
    sessions: "sessions",
    credentials: "auth.v2.file",
    moved_by: &[("", "FACTORY_HOME_OVERRIDE")],
    setup: &[
        ".factory/AGENTS.md",
        ".factory/commands",
        ".factory/droids",
        ".factory/hooks",
        ".factory/mcp.json",
        ".factory/skills",
        ".agents/skills",
    ],
    skill_folders: &[".factory/skills", ".agents/skills", ".agent/skills"],
    front_matter: Some(&[
        (Fault::Colon, FaultReading::Whole),
        (Fault::ColonAtEnd, FaultReading::Whole),
        (Fault::Symbol, FaultReading::Whole),
        (Fault::Mark, FaultReading::Whole),
        (Fault::Tag, FaultReading::Whole),
        (Fault::Quote, FaultReading::Whole),
        (Fault::Repeated, FaultReading::Whole),
        (Fault::Other, FaultReading::Part),
    ]),
    instructions: &["AGENTS.md", "CLAUDE.md"],
    follows: &[".factory"],
    skill_keys: &["disable-model-invocation", "enabled", "tools", "user-invocable", "version"],
    hides_user_only: true,
    calls_skill: Some("/name"),
    reports: AgentReports { early_ends: true, thoughts: true, ..AgentReports::NONE },
    mcp_client: "factory-cli",
    tools: AgentTools {
        shells: &["Execute"],
        skills: &["Skill"],
        searches: &["ToolSearch"],
        reads: &["Read"],
        finds: &["Grep", "Glob", "LS"],
        edits: &["Create", "Edit", "ApplyPatch"],
        others: Some(&[
            "AskUser",
            "ExitSpecMode",
            "FetchUrl",
            "GenerateDroid",
            "GenerateImage",
            "Task",
            "TaskOutput",
            "TaskStop",
            "TodoWrite",
            "UpgradeSessionModel",
            "WebSearch",
            "store_agent_readiness_report",
        ]),
        ..AgentTools::NONE
    },
    refusals: RefusalPhrases { login: &["authentication failed. please log in"], ..RefusalPhrases::NONE },
    endpoint: Some(EndpointSetup {
        model: "custom:{model}",
        variables: &[("FACTORY_API_BASE_URL", "{url}")],
        files: &[(
            ".factory/settings.json",
            r#"{"model": "custom:{model}", "customModels": [{"id": "custom:{model}", "model": "{model}", "displayName": "{model}",
            "baseUrl": "{url}/v1", "apiKey": "{key}", "provider": "generic-chat-completion-api", "maxOutputTokens": 4096}]}"#,
        )],
    }),
    provider_requests: &[ProviderRequests {
        base: "https://api.factory.ai",
        base_variable: "FACTORY_API_BASE_URL",
        routes: &[
            ("POST", "/api/llm/o/v1/responses"),
            ("POST", "/api/llm/o/v1/chat/completions"),
            ("POST", "/api/llm/a/v1/messages"),
            ("POST", "/api/llm/g/v1/generate"),
            ("GET", "/api/cli/whoami"),
        ],
        keys: &[("FACTORY_API_KEY", "fk-")],
        ..OPENAI
    }],
    ..Profile::BLANK
};
