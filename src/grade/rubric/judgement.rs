//! What a judge made of a trial: the votes, and what they come to.

use serde::{Deserialize, Serialize};

use crate::grade::rubric::answer::{JudgeAnswer, RubricPoint};
use crate::stats::proportion::Rate;
use crate::trace::Usage;
use crate::trace::trouble::{Trouble, TroubleKind};
use crate::trial::evidence::{AgentMeta, Inputs};
use crate::trial::outcome::Verdict;

/// The number of the `judge.json` format.
pub const JUDGEMENT_FORMAT: u32 = 1;

/// A judged trial: the content of `judge.json`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Judgement {
    /// [`JUDGEMENT_FORMAT`].
    pub format: u32,
    /// Pass, fail or unscored: what more than half of the votes say.
    pub verdict: Verdict,
    /// Why it is unscored.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trouble: Option<Trouble>,
    /// The share of the votes that say what the majority says; nothing where there is no majority.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agreement: Option<f64>,
    /// The mean score of the usable answers, 0 to 100.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub score: Option<f64>,
    /// Who judged.
    pub agent: AgentMeta,
    /// Why the answers are not a model's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scripted: Option<String>,
    /// When the first vote was asked for, RFC 3339, UTC.
    pub started: String,
    /// What was judged and by what, each part with its digest: prompt, template, schema, skill, evidence.
    pub inputs: Inputs,
    /// Tokens and cost of all attempts, where the agent told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
    /// Every vote asked for.
    pub votes: Vec<Vote>,
}

/// One vote.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Vote {
    /// The usable answer, if there was one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer: Option<JudgeAnswer>,
    /// Every time that the judge was asked for it.
    pub attempts: Vec<Attempt>,
}

/// One time that the judge was asked.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Attempt {
    /// Why its answer cannot be used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unusable: Option<String>,
    /// The start of an answer that cannot be used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub said: Option<String>,
    /// Why there is no answer: infrastructure.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trouble: Option<Trouble>,
    /// Wall time in milliseconds.
    pub duration_ms: u64,
    /// Tokens and cost, where the agent told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
}

/// What the votes come to.
pub(super) struct VoteCount {
    pub(super) verdict: Verdict,
    pub(super) trouble: Option<Trouble>,
    pub(super) agreement: Option<f64>,
    pub(super) score: Option<f64>,
}

impl Judgement {
    /// Puts the votes together.
    #[must_use]
    pub fn new(agent: AgentMeta, scripted: Option<String>, started: String, inputs: Inputs, votes: Vec<Vote>) -> Self {
        let VoteCount { verdict, trouble, agreement, score } = count(&votes);
        let usage = votes.iter().flat_map(|vote| &vote.attempts).filter_map(|attempt| attempt.usage).reduce(added);
        let format = JUDGEMENT_FORMAT;
        Self { format, verdict, trouble, agreement, score, agent, scripted, started, inputs, usage, votes }
    }

    /// The votes whose answers can be used.
    pub fn answers(&self) -> impl Iterator<Item = &JudgeAnswer> {
        self.votes.iter().filter_map(|vote| vote.answer.as_ref())
    }

    /// How the votes fell, in words.
    #[must_use]
    pub fn tally(&self) -> String {
        let passing = self.answers().filter(|answer| answer.overall_pass).count();
        let failing = self.answers().count() - passing;
        let unusable = self.votes.len() - passing - failing;
        let mut text = format!("{passing} for, {failing} against");
        if unusable > 0 {
            text = format!("{text}, {unusable} without a usable answer");
        }
        text
    }

    /// What the votes say of every point, by the id's first mention: the points, those of the majority first.
    pub(super) fn points(&self) -> Vec<Vec<&RubricPoint>> {
        let mut by_id: Vec<Vec<&RubricPoint>> = Vec::new();
        for point in self.answers().flat_map(|answer| &answer.checks) {
            match by_id.iter_mut().find(|known| known[0].id == point.id) {
                Some(known) => known.push(point),
                None => by_id.push(vec![point]),
            }
        }
        for points in &mut by_id {
            let passing = points.iter().filter(|point| point.pass).count();
            let majority = passing * 2 > points.len();
            points.sort_by_key(|point| point.pass != majority);
        }
        by_id
    }
}

/// More than half of the votes asked for have to agree: a vote without an answer is no vote for either side.
fn count(votes: &[Vote]) -> VoteCount {
    let answers: Vec<&JudgeAnswer> = votes.iter().filter_map(|vote| vote.answer.as_ref()).collect();
    let passing = answers.iter().filter(|answer| answer.overall_pass).count();
    let failing = answers.len() - passing;
    let scores: Vec<f64> = answers.iter().filter_map(|answer| answer.score).collect();
    let share = |part: usize| Rate::new(part as u64, votes.len() as u64).share();
    #[expect(clippy::cast_precision_loss, reason = "there are a hundred votes at most")]
    let score = (!scores.is_empty()).then(|| scores.iter().sum::<f64>() / scores.len() as f64);
    if passing * 2 > votes.len() {
        return VoteCount { verdict: Verdict::Pass, trouble: None, agreement: share(passing), score };
    }
    if failing * 2 > votes.len() {
        return VoteCount { verdict: Verdict::Fail, trouble: None, agreement: share(failing), score };
    }
    VoteCount { verdict: Verdict::Unscored, trouble: Some(undecided(votes, passing, failing)), agreement: None, score }
}

/// Why the votes decide nothing.
fn undecided(votes: &[Vote], passing: usize, failing: usize) -> Trouble {
    let asked = votes.len();
    let unanswered = votes.iter().find(|vote| vote.answer.is_none());
    let tally = if asked > 1 { format!("{passing} for, {failing} against of {asked} votes; ") } else { String::new() };
    match unanswered.and_then(|vote| vote.attempts.last()).cloned() {
        Some(Attempt { trouble: Some(trouble), .. }) => {
            Trouble::new(trouble.kind, format!("the judge: {tally}{}", trouble.detail))
        }
        Some(Attempt { unusable: Some(why), .. }) => {
            Trouble::new(TroubleKind::NotJudged, format!("{tally}the judge's answer {why}"))
        }
        _ => Trouble::new(TroubleKind::NotJudged, format!("{passing} votes for, {failing} against: no majority")),
    }
}

fn added(a: Usage, b: Usage) -> Usage {
    Usage {
        input_tokens: a.input_tokens + b.input_tokens,
        cached_input_tokens: a.cached_input_tokens + b.cached_input_tokens,
        cache_write_input_tokens: a.cache_write_input_tokens + b.cache_write_input_tokens,
        output_tokens: a.output_tokens + b.output_tokens,
        reasoning_output_tokens: a.reasoning_output_tokens + b.reasoning_output_tokens,
        cost_usd: match (a.cost_usd, b.cost_usd) {
            (None, None) => None,
            (a, b) => Some(a.unwrap_or_default() + b.unwrap_or_default()),
        },
    }
}
