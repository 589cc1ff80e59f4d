//! What the rest of the program has to know about Gemini CLI.

use crate::profile::fault::FaultReading;
use crate::profile::{
    AgentReports, AgentTools, EndpointSetup, GEMINI, Profile, ProviderRequests, RefusalPhrases, ToolDisplay,
};
use crate::skill::Fault;

pub const PROFILE: Profile = Profile {
    name: "Gemini CLI",
    provider: "gcp.gen_ai",
    program: "gemini",
    how_to_get: "get it with `npm install -g @google/gemini-cli`, or name it in evals/evals.toml under [agents.gemini]",
    packages: &["@google/gemini-cli"],
    ci_variables: &["GEMINI_API_KEY"],
    measured: &["0.61.0"],
    modes: usual_modes!("gemini", Gemini),
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
    // It also looks in `.agents/skills`, and warns of a skill that is in both.
    skill_folders: &[".gemini/skills"],
    front_matter: Some(&[
        (Fault::Colon, FaultReading::Whole),
        (Fault::ColonAtEnd, FaultReading::Whole),
        (Fault::Symbol, FaultReading::Whole),
        (Fault::Mark, FaultReading::Whole),
        (Fault::Tag, FaultReading::Whole),
        (Fault::Quote, FaultReading::Whole),
        (Fault::Tab, FaultReading::Whole),
        (Fault::Repeated, FaultReading::Whole),
        (Fault::List, FaultReading::Whole),
        (Fault::Other, FaultReading::Part),
    ]),
    instructions: &["GEMINI.md"],
    follows: &["GEMINI.md", ".env", ".gemini/.env"],
    folder_variables: &["GEMINI_CLI_HOME"],
    reports: AgentReports { early_ends: true, limits_turns: true, ..AgentReports::NONE },
    // Of the price table of the package litellm 1.110.2. Pro models cost more for long prompts, and so have none.
    prices: &[
        ("gemini-4-argon", [2.0, 0.1, 10.0]),
        ("gemini-4-hydrogen", [1.5, 0.075, 7.5]),
        ("gemini-3.8-flash", [0.75, 0.075, 3.75]),
        ("gemini-3.7-flash", [0.75, 0.075, 3.75]),
        ("gemini-3.6-flash", [0.75, 0.075, 3.75]),
        ("gemini-3.5-flash", [1.5, 0.15, 9.0]),
        ("gemini-3.5-flash-lite", [0.3, 0.03, 2.5]),
        ("gemini-3.1-flash-lite", [0.25, 0.025, 1.5]),
        ("gemini-2.5-flash", [0.3, 0.03, 2.5]),
        ("gemini-2.5-flash-lite", [0.1, 0.01, 0.4]),
    ],
    mcp_client: "gemini-cli-mcp-client",
    shows: ToolDisplay::Description,
    tools: AgentTools {
        shells: &["run_shell_command"],
        skills: &["activate_skill"],
        resources: &["read_mcp_resource"],
        reads: &["read_file"],
        finds: &["grep_search", "glob", "list_directory", "read_many_files"],
        edits: &["write_file", "replace"],
        lists: &["list_mcp_resources"],
        others: Some(&[
            "ask_user",
            "complete_task",
            "enter_plan_mode",
            "exit_plan_mode",
            "get_internal_docs",
            "google_web_search",
            "invoke_agent",
            "list_background_processes",
            "read_background_output",
            "save_memory",
            "take_snapshot",
            "tracker_add_dependency",
            "tracker_create_task",
            "tracker_get_task",
            "tracker_list_tasks",
            "tracker_update_task",
            "tracker_visualize",
            "update_topic",
            "web_fetch",
            "write_todos",
        ]),
        ..AgentTools::NONE
    },
    refusals: RefusalPhrases {
        login: &["please set an auth method", "invalid auth method selected", "you must specify the gemini_api_key"],
        ..RefusalPhrases::NONE
    },
    endpoint: Some(EndpointSetup {
        variables: &[("GOOGLE_GEMINI_BASE_URL", "{url}"), ("GEMINI_API_KEY", "{key}"), ("GEMINI_MODEL", "{model}")],
        files: &[(".gemini/settings.json", r#"{"security": {"auth": {"selectedType": "gemini-api-key"}}}"#)],
        ..EndpointSetup::NONE
    }),
    provider_requests: &[ProviderRequests {
        base_variable: "GOOGLE_GEMINI_BASE_URL",
        of_login: &["cloudcode-pa.googleapis.com:443", "oauth2.googleapis.com:443"],
        ..GEMINI
    }],
    ..Profile::BLANK
};
