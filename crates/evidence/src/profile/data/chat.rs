//! What the rest of the program has to know about the agent `chat`.

use crate::profile::{
    ANTHROPIC, AgentKind, AgentReports, AgentTools, Delivery, EndpointSetup, OPENAI, Profile, ProviderRequests,
};

pub const PROFILE: Profile = Profile {
    name: "skill-evals chat",
    provider: "openai_compatible",
    program: "skill-evals",
    how_to_get: "this build of skill-evals lacks its own agent: add \"chat\" to the `features` of skill-evals in Cargo.toml",
    ci_variables: &["OPENAI_API_KEY"],
    measured: &[env!("CARGO_PKG_VERSION")],
    modes: &[("chat", AgentKind::Chat, Delivery::Native), ("chat-none", AgentKind::Chat, Delivery::None)],
    home: ".skill-evals",
    sessions: "chat",
    login_arguments: &["--api"],
    skill_folders: &[".agents/skills"],
    reports: AgentReports { early_ends: true, thoughts: true, limits_turns: true, ..AgentReports::NONE },
    tools: AgentTools {
        shells: &["bash"],
        skills: &["skill"],
        reads: &["read_file"],
        edits: &["write_file"],
        others: Some(&[]),
        ..AgentTools::NONE
    },
    endpoint: Some(EndpointSetup {
        variables: &[("OPENAI_BASE_URL", "{url}/v1"), ("OPENAI_API_KEY", "{key}"), ("OPENAI_MODEL", "{model}")],
        ..EndpointSetup::NONE
    }),
    provider_requests: &[
        ProviderRequests { base_variable: "OPENAI_BASE_URL", ..OPENAI },
        ProviderRequests { base_variable: "ANTHROPIC_BASE_URL", ..ANTHROPIC },
    ],
    ..Profile::BLANK
};
