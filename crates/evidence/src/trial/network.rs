//! What a trial's programs asked of the network, if that is limited.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

/// The most different requests of a trial that are listed as refused.
pub const MOST_REFUSED: usize = 100;

/// What passed to and from a trial environment whose network is limited.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct NetworkMeta {
    /// What it reaches, as the settings say it.
    pub reach: String,
    /// How many requests its programs made. `wire.jsonl` has all of them.
    pub requests: u64,
    /// How many of them asked a model, and can be read: what they show is held against what the agent says.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub model_requests: u64,
    /// How many asked a model and cannot be read, by the reason.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub model_unread: BTreeMap<String, u64>,
    /// The tokens of those that can be read, as the answers say them.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub model_tokens: u64,
    /// How many of its requests went with the same `prompt_cache_key` as those of all trials that share its prompt, and not with that of
    /// the agent.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub prompts_shared: u64,
    /// Those that were refused, each once.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub refused: Vec<RefusedRequest>,
    /// How many more were refused than are listed.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub refused_more: u64,
    /// How often servers answered with which status of an error; 502 also stands for a server that was not reached.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub faults: BTreeMap<u16, u64>,
    /// The variables whose credentials did not enter the environment.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub kept_out: Vec<String>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// A request that was refused.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RefusedRequest {
    pub method: String,
    /// With its port, if that is neither 80 nor 443.
    pub host: String,
    /// Without the query.
    pub path: String,
    /// The rule against it, in words.
    pub why: String,
    /// How often it was made.
    pub times: u64,
    /// Whether the agent asked for itself, and not for the skill, as far as that can be told.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub of_agent: bool,
}

impl RefusedRequest {
    /// What was asked.
    pub fn what(&self) -> String {
        format!("{} {}{}", self.method, self.host, self.path)
    }
}

impl NetworkMeta {
    /// Adds a request that was refused.
    pub fn refuse(&mut self, request: RefusedRequest) {
        let is_same =
            |known: &&mut RefusedRequest| RefusedRequest { times: request.times, ..(*known).clone() } == request;
        if let Some(known) = self.refused.iter_mut().find(is_same) {
            known.times += request.times;
        } else if self.refused.len() < MOST_REFUSED {
            self.refused.push(request);
        } else {
            self.refused_more += request.times;
        }
    }

    /// The refused requests that the agent did not make for itself.
    pub fn of_programs(&self) -> impl Iterator<Item = &RefusedRequest> {
        self.refused.iter().filter(|request| !request.of_agent)
    }

    /// How many requests were refused.
    pub fn refusals(&self) -> u64 {
        self.refused.iter().map(|request| request.times).sum::<u64>() + self.refused_more
    }
}

impl fmt::Display for RefusedRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { why, times, .. } = self;
        write!(f, "{}: {why}", self.what())?;
        if *times == 1 { Ok(()) } else { write!(f, " ({times} times)") }
    }
}
