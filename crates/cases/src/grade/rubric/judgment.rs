//! The judgment of a trial: the judge's votes, and their result.

use serde::{Deserialize, Serialize};

use crate::grade::rubric::answer::{JudgeAnswer, RubricPoint};
use crate::stats::proportion::Rate;
use crate::trace::Usage;
use crate::trace::trouble::{Trouble, TroubleKind};
use crate::trial::evidence::{AgentMeta, Inputs};
use crate::trial::outcome::Verdict;

/// The number of the `judge.json` format.
pub const JUDGMENT_FORMAT: u32 = 1;

/// A judged trial: the content of `judge.json`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Judgment {
    /// [`JUDGMENT_FORMAT`].
    pub format: u32,
    /// Pass or fail if more than half of the votes say so; otherwise unscored.
    pub verdict: Verdict,
    /// Why it is unscored.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trouble: Option<Trouble>,
    /// The share of the votes that the majority has.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agreement: Option<f64>,
    /// The mean score of the usable answers, 0 to 100.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub score: Option<f64>,
    /// The judge.
    pub agent: AgentMeta,
    /// Why the answers are not a model's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scripted: Option<String>,
    /// When the first vote was asked for, RFC 3339, UTC.
    pub started: String,
    /// Digests of what was judged and by what: prompt, template, schema, skill, evidence.
    pub inputs: Inputs,
    /// Tokens and cost of all attempts, if the agent reports them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
    /// Each answer of the judge.
    pub votes: Vec<Vote>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Vote {
    /// The usable answer, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer: Option<JudgeAnswer>,
    pub attempts: Vec<Attempt>,
}

/// The judge, asked once.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Attempt {
    /// Why the answer is unusable.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unusable: Option<String>,
    /// The start of an unusable answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub said: Option<String>,
    /// Why the judge gave no answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trouble: Option<Trouble>,
    /// Wall time in milliseconds.
    pub duration_ms: u64,
    /// Tokens and cost, if the agent reports them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
}

impl Judgment {
    /// Counts the votes. More than half of them must agree: a vote without a usable answer counts for neither side.
    pub fn new(agent: AgentMeta, scripted: Option<String>, started: String, inputs: Inputs, votes: Vec<Vote>) -> Self {
        let answers: Vec<&JudgeAnswer> = votes.iter().filter_map(|vote| vote.answer.as_ref()).collect();
        let passing = answers.iter().filter(|answer| answer.overall_pass).count();
        let failing = answers.len() - passing;
        let scores: Vec<f64> = answers.iter().filter_map(|answer| answer.score).collect();
        #[expect(clippy::cast_precision_loss, reason = "there are a hundred votes at most")]
        let score = (!scores.is_empty()).then(|| scores.iter().sum::<f64>() / scores.len() as f64);
        let (verdict, trouble) = if passing * 2 > votes.len() {
            (Verdict::Pass, None)
        } else if failing * 2 > votes.len() {
            (Verdict::Fail, None)
        } else {
            (Verdict::Unscored, Some(undecided(&votes, passing, failing)))
        };
        let share = Rate::new(passing.max(failing) as u64, votes.len() as u64).share();
        let agreement = if trouble.is_none() { share } else { None };
        let usage = votes.iter().flat_map(|vote| &vote.attempts).filter_map(|attempt| attempt.usage).reduce(sum);
        let format = JUDGMENT_FORMAT;
        Self { format, verdict, trouble, agreement, score, agent, scripted, started, inputs, usage, votes }
    }

    /// The usable answers.
    pub fn answers(&self) -> impl Iterator<Item = &JudgeAnswer> {
        self.votes.iter().filter_map(|vote| vote.answer.as_ref())
    }

    /// The result of the vote, as text.
    pub fn tally(&self) -> String {
        let passing = self.answers().filter(|answer| answer.overall_pass).count();
        let failing = self.answers().count() - passing;
        let unusable = self.votes.len() - passing - failing;
        let rest = if unusable > 0 { format!(", {unusable} without a usable answer") } else { String::new() };
        format!("{passing} for, {failing} against{rest}")
    }

    /// The points of all votes, grouped by id, in order of the ids' first mention. In each group those of the majority are
    /// first.
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

/// Why the votes decide nothing.
fn undecided(votes: &[Vote], passing: usize, failing: usize) -> Trouble {
    let unanswered = votes.iter().find(|vote| vote.answer.is_none());
    let tally = match votes.len() {
        0 | 1 => String::new(),
        all => format!("{passing} for, {failing} against of {all} votes; "),
    };
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

fn sum(a: Usage, b: Usage) -> Usage {
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
