//! The scripted model of the product, as tests use it.

use skill_evals_evidence::profile::EndpointSetup;
use skill_evals_evidence::settings::mode::AgentKind;

pub use skill_evals_cli::stand_in::{
    AnswerFault, MODEL, ScriptedRequest as Request, ScriptedTurn as Turn, StandIn, WireProtocol as Protocol, call,
    named, says,
};

/// The variables with the keys of agents that take theirs from one.
pub const CODEX_KEY: &str = "CODEX_ENDPOINT_KEY";
pub const QWEN_KEY: &str = "QWEN_ENDPOINT_KEY";
pub const VIBE_KEY: &str = "VIBE_ENDPOINT_KEY";

/// A stand-in that does what `script` says.
pub fn started(script: impl Fn(&Request) -> Turn + Send + Sync + 'static) -> StandIn {
    StandIn::start(script).expect("a stand-in")
}

/// The variables and files in the home that point an agent at this model.
pub fn endpoint(kind: AgentKind, model: &StandIn) -> [Vec<(&'static str, String)>; 2] {
    let setup = kind.profile().endpoint.as_ref().expect("every agent can be pointed at a server");
    let key = format!("stand-in-key-for-{}", kind.profile().program);
    let filled = |all: &[(&'static str, &'static str)]| {
        all.iter().map(|(name, text)| (*name, EndpointSetup::filled(text, &model.url(), MODEL, &key))).collect()
    };
    [filled(setup.variables), filled(setup.files)]
}

/// The text of a `$HOME/.codex/config.toml` that points codex here.
pub fn codex_config(model: &StandIn) -> String {
    let [_, files] = endpoint(AgentKind::Codex, model);
    files.into_iter().map(|(_, text)| text).collect()
}
