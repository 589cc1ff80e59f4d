//! `[judge]` and `[user]`: which agent judges by the rubric, and when, and which plays the user who answers.

use std::time::Duration;

use toml::Spanned;

use crate::settings::Settings;
use crate::settings::keys::Untrusted::Refused;
use crate::settings::keys::{defaults, keys};
use crate::settings::mode::AgentKind;
use crate::settings::problems::{Number, filled};
use crate::text::relative_path::RelativePath;

pub const DEFAULT_JUDGE_TIMEOUT: Duration = Duration::from_secs(180);

/// Maximum number of votes on one trial.
pub const MOST_VOTES: u32 = 99;

/// What an untrusted repository would do with the keys of a judge, and of a user.
const JUDGE: &str = "the repository would choose its own judge";
const PLAYER: &str = "the repository would choose who plays its users";

defaults! {
    /// Which agent judges by the rubric, and when.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct JudgeSettings {
        /// Whether every trial is judged, or none; `None` if each case decides.
        pub wanted: Option<bool> = None,
        pub agent: AgentKind = AgentKind::default(),
        /// The model that judges; `None` for the agent's default, whatever model is under test.
        pub model: Option<String> = None,
        pub timeout: Duration = DEFAULT_JUDGE_TIMEOUT,
        /// How often each trial is judged; more than half have to agree.
        pub votes: u32 = 1,
        /// The template of the prompt, from the repository's root, if there is one.
        pub template: Option<RelativePath> = None,
    }
}

keys! {
    JudgeKeys of "[judge]" {
        agent: AgentKind as Refused(JUDGE), "`\"{agent}\"`", "the agent that judges", |to, agent, _| to.judge.agent = agent;
        #[serde(default, deserialize_with = "filled")]
        model: String as Refused(JUDGE), "the agent's default", "its model, independent of the model under test",
            |to, model, _| to.judge.model = Some(model);
        timeout_s: Number, "`180`", "judge timeout in seconds",
            |to, number, problems| to.apply_key("judge.timeout_s", &number, problems);
        votes: Number, "`1`", "how often each trial is judged; more than half must agree",
            |to, number, problems| to.apply_key("judge.votes", &number, problems);
        template: Spanned<String> as Refused("the repository would choose what its judge is asked"), "`evals/judge.md` if it exists, else the built-in template",
            "the prompt: see [the judge](../judge.md)",
            |to, path, problems| to.judge.template = problems.paths([path], "the judge's template").pop();
    }
}

/// Which agent plays the user of a case; without it, the agent that judges.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PlayerSettings {
    agent: Option<AgentKind>,
    model: Option<String>,
}

keys! {
    UserKeys of "[user]" {
        agent: AgentKind as Refused(PLAYER), "the agent that judges", "the agent that plays [a user who answers](user.md)",
            |to, agent, _| to.user.agent = Some(agent);
        #[serde(default, deserialize_with = "filled")]
        model: String as Refused(PLAYER), "the judge's, if no agent is named here; else the agent's default", "its model",
            |to, model, _| to.user.model = Some(model);
    }
}

impl Settings {
    /// The agent that plays the user, and its model; `None` for the agent's default.
    pub fn player(&self) -> (AgentKind, Option<&String>) {
        let PlayerSettings { agent, model } = &self.user;
        let of_judge = self.judge.model.as_ref().filter(|_| agent.is_none());
        (agent.unwrap_or(self.judge.agent), model.as_ref().or(of_judge))
    }
}
