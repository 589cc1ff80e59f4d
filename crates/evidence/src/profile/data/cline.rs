//! What the rest of the program has to know about Cline.

use crate::profile::fault::FaultReading;
use crate::profile::{
    ANTHROPIC, AgentReports, AgentTools, EndpointSetup, GEMINI, MISTRAL, OPENAI, Profile, ProviderRequests, ToolDisplay,
};
use crate::skill::Fault;

pub const PROFILE: Profile = Profile {
    name: "Cline",
    provider: "cline",
    program: "cline",
    how_to_get: "get it with `npm install -g cline`, or name it in evals/evals.toml under [agents.cline]",
    packages: &["cline", "@cline/cli"],
    ci_variables: &["CLINE_API_KEY"],
    measured: &["3.0.65"],
    modes: usual_modes!("cline", Cline),
    home: ".cline",
    sessions: "data/sessions",
    credentials: "data/settings/providers.json",
    moved_by: &[(".cline", "CLINE_DIR")],
    setup: &[
        ".cline/data/settings/cline_mcp_settings.json",
        ".cline/hooks",
        ".cline/rules",
        ".cline/skills",
        ".cline/workflows",
        ".agents/AGENTS.md",
        ".agents/skills",
    ],
    login_arguments: &["--provider", "--key"],
    skill_folders: &[".cline/skills", ".agents/skills", ".clinerules/skills"],
    front_matter: Some(&[
        (Fault::Tag, FaultReading::Whole),
        (Fault::Missing, FaultReading::Whole),
        (Fault::ByteOrderMark, FaultReading::Whole),
    ]),
    instructions: &["AGENTS.md", ".clinerules", ".cline/rules"],
    follows: &[".cline", ".agents", ".clinerules"],
    skill_keys: &["disabled", "enabled"],
    reports: AgentReports { early_ends: true, thoughts: true, ..AgentReports::NONE },
    mcp_client: "@cline/core",
    shows: ToolDisplay::Description,
    tools: AgentTools {
        shells: &["run_commands"],
        skills: &["skills"],
        reads: &["read_files"],
        finds: &["search_codebase"],
        edits: &["editor", "apply_patch"],
        others: Some(&[
            "ask_question",
            "fetch_web_content",
            "spawn_agent",
            "submit_and_exit",
            "switch_to_act_mode",
            "team_attach_outcome_fragment",
            "team_await_runs",
            "team_broadcast",
            "team_cancel_run",
            "team_cleanup",
            "team_create_outcome",
            "team_finalize_outcome",
            "team_list_outcomes",
            "team_list_runs",
            "team_mission_log",
            "team_read_mailbox",
            "team_review_outcome_fragment",
            "team_run_task",
            "team_send_message",
            "team_shutdown_teammate",
            "team_spawn_teammate",
            "team_status",
            "team_task",
        ]),
        ..AgentTools::NONE
    },
    endpoint: Some(EndpointSetup {
        files: &[(
            ".cline/data/settings/providers.json",
            r#"{"version": 1, "lastUsedProvider": "openai-compatible", "modes": {}, "providers": {"openai-compatible": {"settings":
            {"provider": "openai-compatible", "apiKey": "{key}", "model": "{model}", "baseUrl": "{url}/v1"},
            "updatedAt": "2026-01-01T00:00:00.000Z", "tokenSource": "manual"}}}"#,
        )],
        ..EndpointSetup::NONE
    }),
    provider_requests: &[
        ProviderRequests {
            base: "https://api.cline.bot/api/v1",
            routes: &[("POST", "/chat/completions")],
            keys: &[("CLINE_API_KEY", "")],
            ..OPENAI
        },
        ANTHROPIC,
        OPENAI,
        GEMINI,
        MISTRAL,
    ],
    ..Profile::BLANK
};
