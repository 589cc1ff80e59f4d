//! What the rest of the program has to know about Qwen Code.

use crate::profile::fault::Reading;
use crate::profile::{AgentReports, AgentTools, EndpointSetup, Profile, RefusalPhrases};
use crate::skill::Fault;

pub const PROFILE: Profile = Profile {
    name: "Qwen Code",
    provider: "alibaba_cloud",
    program: "qwen",
    how_to_get: "get it with `npm install -g @qwen-code/qwen-code` and Node 22 or later (with an older one, npm installs an old \
                 version), or name it in evals/evals.toml under [agents.qwen]",
    packages: &["@qwen-code/qwen-code"],
    measured: "0.24.4",
    modes: usual_modes!("qwen", Qwen),
    home: ".qwen",
    sessions: "projects",
    credentials: "settings.json",
    moved_by: &[(".qwen", "QWEN_HOME")],
    setup: &[".qwen/QWEN.md", ".qwen/agents", ".qwen/commands", ".qwen/extensions", ".qwen/skills", ".agents/skills"],
    login_arguments: &["--auth-type", "--openai-api-key", "--openai-base-url"],
    skill_folders: &[".qwen/skills", ".agents/skills"],
    front_matter: Some(&[
        (Fault::Colon, Reading::Whole),
        (Fault::ColonAtEnd, Reading::Whole),
        (Fault::Symbol, Reading::Whole),
        (Fault::Mark, Reading::Whole),
        (Fault::Tag, Reading::Part),
        (Fault::Quote, Reading::Whole),
        (Fault::Tab, Reading::Whole),
        (Fault::Repeated, Reading::Whole),
        (Fault::List, Reading::Whole),
        (Fault::ByteOrderMark, Reading::Whole),
        (Fault::Other, Reading::Part),
    ]),
    instructions: &["QWEN.md", "AGENTS.md"],
    follows: &["QWEN.md", "AGENTS.md", ".env", ".qwen/.env"],
    folder_variables: &["QWEN_CODE_PROJECT_DIR"],
    skill_keys: &[
        "allowed-tools",
        "argument-hint",
        "disable-model-invocation",
        "hooks",
        "model",
        "paths",
        "priority",
        "user-invocable",
        "when_to_use",
    ],
    hides_user_only: true,
    calls_skill: Some("/name"),
    reports: AgentReports { thoughts: true, ..AgentReports::NONE },
    // Of the price table of the package litellm 1.110.2, for Alibaba Cloud.
    prices: &[
        ("qwen3.8-max", [2.0, 0.25, 6.0]),
        ("qwen3.8-flash", [0.15, 0.016, 0.47]),
        ("qwen3.7-max", [2.5, 0.5, 7.5]),
    ],
    mcp_client: "qwen-cli-mcp-client-skilljack",
    tools: AgentTools {
        shells: &["run_shell_command"],
        skills: &["skill"],
        resources: &["read_mcp_resource"],
        searches: &["tool_search"],
        reads: &["read_file"],
        finds: &["grep_search", "glob"],
        edits: &["write_file", "edit", "notebook_edit"],
        ..AgentTools::NONE
    },
    refusals: RefusalPhrases { status: &["API Error: "], ..RefusalPhrases::NONE },
    endpoint: Some(EndpointSetup {
        variables: &[("QWEN_ENDPOINT_KEY", "{key}")],
        files: &[(
            ".qwen/settings.json",
            r#"{"security": {"auth": {"selectedType": "anthropic"}}, "model": {"name": "{model}"}, "modelProviders":
            {"anthropic": [{"id": "{model}", "envKey": "QWEN_ENDPOINT_KEY", "baseUrl": "{url}"}]}}"#,
        )],
        ..EndpointSetup::NONE
    }),
    ..Profile::BLANK
};
