//! Cases that an agent drafts: what it is asked, which answers are usable, and who wrote them.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::path::Path;
use std::time::Duration;

use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::GeneratedCase;
use crate::agent::trial_env::ScratchDir;
use crate::cases::case::FoundCase;
use crate::cases::catalog::{Catalog, FoundSkill};
use crate::engine::tune;
use crate::lint;
use crate::run::live::Redactors;
use crate::run::question::{AgentAnswer, Question};
use crate::settings::Settings;
use crate::settings::mode::AgentKind;
use crate::skill::{SKILL_FILE, Skill, slug};
use crate::store::TrialFolder;
use crate::text::cut;
use crate::text::diagnostic::SourceLocation;
use crate::text::name::check_case_id;
use crate::text::word_enum::word_enum;
use crate::trace::trouble::Trouble;
use crate::trial::evidence::digest;
use crate::trial::outcome::AttemptCost;

const INSTRUCTIONS: &str = include_str!("drafted.md");
const SCHEMA: &str = include_str!("drafted.schema.json");
const PROPOSE: &str = include_str!("proposed.md");
const PROPOSE_SCHEMA: &str = include_str!("proposed.schema.json");

/// An agent that thinks first takes minutes for twenty prompts.
const TIMEOUT: Duration = Duration::from_secs(600);

/// Maximum number of neighbors that the agent is shown.
const NEIGHBORS: usize = 4;

/// The most characters of a SKILL.md that the agent is shown.
const LONGEST_SKILL: usize = 20_000;

/// Maximum bytes of an answer, number of its cases, and characters of a prompt.
const LONGEST_ANSWER: usize = 256 << 10;
const MOST_CASES: usize = 60;
const LONGEST_PROMPT: usize = 4_000;

/// Maximum number of descriptions of an answer: each costs a comparison.
pub const MOST_DESCRIPTIONS: usize = 3;

/// About this many tokens are an answer.
const ANSWER_TOKENS: u64 = 3_000;

/// An agent that drafts cases.
#[derive(Debug)]
pub struct Drafter<'a> {
    pub root: &'a Path,
    pub settings: &'a Settings,
    pub catalog: &'a Catalog,
    pub agent: AgentKind,
    pub model: Option<String>,
}

/// Where an agent drafts, and what of it is stored.
#[derive(Clone, Copy, Debug)]
pub struct DraftingPlace<'a> {
    pub scratch: &'a ScratchDir,
    pub redactors: &'a Redactors,
    pub folder: &'a TrialFolder,
}

/// What an agent answered, and what it took.
#[derive(Debug)]
pub struct Drafts<T> {
    /// The usable part, or why the answer has none.
    pub usable: Result<T, String>,
    /// The agent, its version and model, and the day.
    pub author: String,
    pub spent: AttemptCost,
    pub duration_ms: u64,
}

#[derive(Debug, Default, PartialEq, Eq)]
pub struct UsableDrafts {
    pub cases: Vec<GeneratedCase>,
    pub left_out: Vec<String>,
}

/// What asking for a skill's cases takes, as far as it is known before.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DraftEstimate {
    pub tokens: u64,
    /// US dollars, if there is a price for the model.
    pub cost_usd: Option<f64>,
}

impl Drafter<'_> {
    /// About what a request with this prompt takes. Agents add instructions of their own to it.
    pub fn estimate(&self, prompt: &str) -> DraftEstimate {
        let input = tune::tokens(prompt) as u64;
        let models: Vec<&str> = self.model.as_deref().into_iter().collect();
        let price = self.settings.prices.of(self.agent.as_str(), &models);
        #[expect(clippy::cast_precision_loss, reason = "counts of tokens are far below 2^52")]
        let cost_usd = price.map(|(price, _)| (input as f64 * price.input + ANSWER_TOKENS as f64 * price.output) / 1e6);
        DraftEstimate { tokens: input + ANSWER_TOKENS, cost_usd }
    }

    /// Asks with the [`prompt`](Self::prompt) for cases of a skill.
    pub fn ask(
        &self,
        found: &FoundSkill,
        prompt: &str,
        place: &DraftingPlace<'_>,
    ) -> Result<Drafts<UsableDrafts>, Trouble> {
        // A case that cannot be read has its id all the same.
        let cases = self.catalog.cases_of(&found.skill().slug);
        let prompt_of = |found: &FoundCase| found.case().map(|case| case.prompt.clone()).unwrap_or_default();
        let existing: Vec<_> = cases.map(|found| (found.id.clone(), prompt_of(found))).collect();
        self.answer(found, prompt, SCHEMA, place, |text, author| read(text, author, &existing))
    }

    /// Asks with the [prompt](Self::prompt_for_descriptions) for other descriptions of a skill.
    pub fn propose(
        &self,
        found: &FoundSkill,
        prompt: &str,
        place: &DraftingPlace<'_>,
    ) -> Result<Drafts<Vec<String>>, Trouble> {
        self.answer(found, prompt, PROPOSE_SCHEMA, place, |text, _| read_descriptions(text))
    }

    /// The prompt for other descriptions of a skill. `training` are the prompts that the agent may see, each with whether the skill
    /// should activate.
    pub fn prompt_for_descriptions(&self, found: &FoundSkill, training: &[(String, bool)]) -> String {
        let mut prompt = self.with_data(PROPOSE, found);
        for (text, should_trigger) in training {
            let name = if *should_trigger { "must-trigger" } else { "must-not-trigger" };
            add_data(&mut prompt, found, name, &cut::start(text, LONGEST_PROMPT));
        }
        prompt
    }

    fn answer<T>(
        &self,
        found: &FoundSkill,
        prompt: &str,
        schema: &str,
        place: &DraftingPlace<'_>,
        read: impl FnOnce(&str, &str) -> Result<T, String>,
    ) -> Result<Drafts<T>, Trouble> {
        let skill = found.skill();
        let question = Question {
            purpose: "draft",
            root: self.root,
            settings: self.settings,
            agent: self.agent,
            model: self.model.as_ref(),
            timeout: TIMEOUT,
            case: "draft",
            skill: &skill.slug,
            origin: &SourceLocation::file(skill.folder.join(SKILL_FILE)),
            prompt,
            schema: Some(schema),
        };
        let DraftingPlace { scratch, redactors, folder } = *place;
        let AgentAnswer { text, trouble, trace, duration_ms } = question.ask(scratch, redactors, folder, |_| Ok(()))?;
        let models: Vec<&str> = trace.model.iter().chain(&self.model).map(String::as_str).collect();
        let spent = AttemptCost::by(self.agent, &models, trace.usage.as_ref(), &self.settings.prices);
        let author = self.author(trace.agent_version.as_deref(), trace.model.as_deref());
        let usable = match trouble {
            Some(trouble) => Err(trouble.to_string()),
            None => read(text.as_deref().unwrap_or_default(), &author).map_err(|why| format!("the answer {why}")),
        };
        Ok(Drafts { usable, author, spent, duration_ms })
    }

    /// The agent, its version and model, and the day.
    fn author(&self, version: Option<&str>, model: Option<&str>) -> String {
        let mut author = self.agent.as_str().to_owned();
        let model = self.settings.scripted.as_deref().or(model).or(self.model.as_deref());
        for part in [version, Some(model.unwrap_or("unknown model"))].into_iter().flatten() {
            let _ = write!(author, " {part}");
        }
        let _ = write!(author, " {}", jiff::Timestamp::now().strftime("%Y-%m-%d"));
        // It goes into a cell, and is shown.
        author.chars().filter(|c| !c.is_control()).take(200).collect()
    }

    pub fn prompt(&self, found: &FoundSkill) -> String {
        self.with_data(&INSTRUCTIONS.replace("$NAME", &format!("${}", found.skill().name)), found)
    }

    /// Instructions, and under them the skill and its neighbors.
    fn with_data(&self, instructions: &str, found: &FoundSkill) -> String {
        let mut prompt = instructions.to_owned();
        add_data(&mut prompt, found, "skill", &cut::start(&String::from_utf8_lossy(&found.bytes), LONGEST_SKILL));
        for slug in lint::nearest_skills(self.catalog, &found.skill().slug, NEIGHBORS) {
            let Some(Skill { name, description, .. }) = self.catalog.skill(slug).map(FoundSkill::skill) else {
                continue;
            };
            add_data(&mut prompt, found, "neighbor", &format!("name: {name}\ndescription: {description}"));
        }
        prompt
    }
}

/// Adds data between marks that none of it can contain by chance.
fn add_data(prompt: &mut String, found: &FoundSkill, name: &str, text: &str) {
    let mark = digest(&found.bytes);
    let mark = mark.get(..12).unwrap_or(&mark);
    let _ = write!(prompt, "\n<data-{mark} {name}>\n{}\n</data-{mark}>\n", text.trim());
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenAnswer {
    cases: Vec<WrittenCase>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenDescriptions {
    descriptions: Vec<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenCase {
    kind: DraftKind,
    id: String,
    prompt: String,
}

word_enum! {
    pub enum DraftKind {
        Explicit = "explicit",
        Implicit = "implicit",
        NearMiss = "near-miss",
    }
}

/// Reads an answer, of which nothing is trusted. The drafts have neither the ids nor the prompts of the skill's `existing` cases. An
/// error is the end of a sentence that starts with the answer.
pub fn read(text: &str, author: &str, existing: &[(String, String)]) -> Result<UsableDrafts, String> {
    let written: WrittenAnswer = object(text)?;
    let mut usable = UsableDrafts::default();
    let (mut ids, mut prompts): (BTreeSet<String>, BTreeSet<String>) = existing.iter().cloned().unzip();
    for (number, WrittenCase { kind, id, prompt }) in written.cases.into_iter().enumerate() {
        let number = number + 1;
        let prompt = prompt.trim().to_owned();
        let why = if number > MOST_CASES {
            Some(format!("there are more than {MOST_CASES}"))
        } else if prompt.is_empty() {
            Some("its prompt is empty".to_owned())
        } else if prompt.chars().count() > LONGEST_PROMPT {
            Some(format!("its prompt is longer than {LONGEST_PROMPT} characters"))
        } else if prompt.chars().any(|c| c.is_control() && !matches!(c, '\n' | '\t')) {
            Some("its prompt has control characters".to_owned())
        } else if !prompts.insert(prompt.clone()) {
            Some("its prompt is a duplicate".to_owned())
        } else {
            None
        };
        if let Some(why) = why {
            usable.left_out.push(format!("case {number}: {why}"));
            if number > MOST_CASES {
                break;
            }
            continue;
        }
        let id = free_id(kind, &id, number, &mut ids);
        let should_trigger = !matches!(kind, DraftKind::NearMiss);
        usable.cases.push(GeneratedCase { id, should_trigger, prompt, author: Some(author.to_owned()) });
    }
    if usable.cases.is_empty() { Err("has no usable case".to_owned()) } else { Ok(usable) }
}

/// The JSON object of an answer. Some models put words or a fence around it.
fn object<T: DeserializeOwned>(text: &str) -> Result<T, String> {
    if text.len() > LONGEST_ANSWER {
        return Err(format!("is longer than {} KiB", LONGEST_ANSWER >> 10));
    }
    let object = text.find('{').and_then(|start| text.get(start..=text.rfind('}')?));
    let Some(object) = object else { return Err("has no JSON object".to_owned()) };
    serde_json::from_str(object).map_err(|error| format!("cannot be read: {error}"))
}

fn read_descriptions(text: &str) -> Result<Vec<String>, String> {
    let WrittenDescriptions { mut descriptions } = object(text)?;
    descriptions.truncate(MOST_DESCRIPTIONS);
    if descriptions.is_empty() { Err("has no description".to_owned()) } else { Ok(descriptions) }
}

/// An id that says of which kind the case is, and that no other case has.
fn free_id(kind: DraftKind, id: &str, number: usize, ids: &mut BTreeSet<String>) -> String {
    let kind = kind.as_str();
    let words: String = slug(id).replace(['_', '.'], "-").chars().take(40).collect();
    let words = words.trim_start_matches(kind).trim_matches('-');
    let named = Some(format!("{kind}-{words}")).filter(|id| !words.is_empty() && check_case_id(id).is_ok());
    let mut candidates = named.into_iter().chain((number..).map(|number| format!("{kind}-{number}")));
    candidates.find(|id| ids.insert(id.clone())).unwrap_or_default()
}
