//! What the rest of the program has to know about Kimi Code.

use crate::profile::fault::FaultReading;
use crate::profile::{AgentReports, AgentTools, EndpointSetup, OPENAI, Profile, ProviderRequests};
use crate::skill::Fault;

pub const PROFILE: Profile = Profile {
    name: "Kimi Code",
    provider: "moonshot_ai",
    program: "kimi",
    how_to_get: "get it with `npm install -g @moonshot-ai/kimi-code` and Node 22.19 or later, or name it in evals/evals.toml under \
                 [agents.kimi]",
    packages: &["@moonshot-ai/kimi-code"],
    ci_variables: &["KIMI_MODEL_API_KEY", "KIMI_MODEL_NAME"],
    measured: &["2.1.0"],
    modes: usual_modes!("kimi", Kimi),
    home: ".kimi-code",
    sessions: "sessions",
    credentials: "credentials/kimi-code.json",
    moved_by: &[(".kimi-code", "KIMI_CODE_HOME")],
    setup: &[
        ".kimi-code/AGENTS.md",
        ".kimi-code/agents",
        ".kimi-code/skills",
        ".agents/AGENTS.md",
        ".agents/agents",
        ".agents/skills",
    ],
    skill_folders: &[".agents/skills", ".kimi-code/skills"],
    front_matter: Some(&[(Fault::ByteOrderMark, FaultReading::Whole)]),
    instructions: &["AGENTS.md", ".kimi-code/AGENTS.md"],
    follows: &["AGENTS.md"],
    skill_keys: &["arguments", "disable-model-invocation", "type", "when_to_use"],
    hides_user_only: true,
    reports: AgentReports { early_ends: true, thoughts: true, limits_turns: true, ..AgentReports::NONE },
    mcp_client: "kimi-code",
    tools: AgentTools {
        shells: &["Bash"],
        skills: &["Skill"],
        reads: &["Read"],
        finds: &["Grep", "Glob"],
        edits: &["Write", "Edit"],
        others: Some(&[
            "Agent",
            "AgentSwarm",
            "AskUserQuestion",
            "CreateGoal",
            "CronCreate",
            "CronDelete",
            "CronList",
            "EnterPlanMode",
            "ExitPlanMode",
            "FetchURL",
            "GetGoal",
            "SetGoalBudget",
            "TaskList",
            "TaskOutput",
            "TaskStop",
            "TodoList",
            "UpdateGoal",
            "WaitFor",
            "WebSearch",
        ]),
        ..AgentTools::NONE
    },
    endpoint: Some(EndpointSetup {
        files: &[(
            ".kimi-code/config.toml",
            r#"default_model = "{model}"

[providers.endpoint]
type = "openai"
base_url = "{url}/v1"
api_key = "{key}"

[models."{model}"]
provider = "endpoint"
model = "{model}"
max_context_size = 100000
capabilities = ["tool_use"]
"#,
        )],
        ..EndpointSetup::NONE
    }),
    provider_requests: &[ProviderRequests {
        base: "https://api.moonshot.ai/v1",
        base_variable: "KIMI_MODEL_BASE_URL",
        keys: &[("KIMI_MODEL_API_KEY", "sk-")],
        ..OPENAI
    }],
    ..Profile::BLANK
};
