//! What the requests of a session and their answers show, next to what its agent says about itself.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use serde_json::Value;

use crate::profile::Profile;
use crate::skill::{SKILL_FILE, slug};
use crate::trace::exposure::{Exposure, NamedFiles, Paths, SkillTexts};
use crate::trace::{Step, Trace};
use crate::trial::evidence::Reading;
use crate::wire::{Item, ModelExchange};

/// What the model requests of a session show.
#[derive(Clone, Debug, Default)]
pub struct WireWitness {
    /// How many requests asked a model, and can be read.
    pub requests: u64,
    /// Input and output tokens of the answers that say them.
    pub tokens: u64,
    /// How many calls of shell tools were answered.
    pub commands: u64,
    /// How many requests asked a model, and cannot be read.
    pub unread: u64,
    /// Everything that the model said.
    said: Vec<String>,
    /// The inputs of its calls: a final message may be one.
    inputs: Vec<Value>,
    /// Whether the last answer is whole, and calls nothing: the model was done.
    is_done: bool,
    /// The files of skills whose text the model was sent: the skill's slug, and the path in it.
    sent: BTreeSet<(String, String)>,
}

/// Which texts of skills were sent, by the rule of [`Exposure`]. What the user said before the model's first turn does not count: it is the prompt.
struct SentTexts<'t> {
    exposure: Exposure<'t>,
    /// The paths of calls, by their ids.
    calls: BTreeMap<String, Paths>,
    /// What was sent before: a request repeats the conversation.
    known: HashSet<String>,
    sent: BTreeSet<(String, String)>,
}

impl SentTexts<'_> {
    fn add(&mut self, exchange: &ModelExchange) {
        let turned = |item: &Item| matches!(item, Item::Said(_) | Item::Called { .. } | Item::Answered { .. });
        let is_first = !exchange.history.iter().any(turned);
        for item in exchange.history.iter().chain(&exchange.answer) {
            if self.known.insert(format!("{item:?}")) {
                self.add_item(item, is_first);
            }
        }
    }

    fn add_item(&mut self, item: &Item, is_first: bool) {
        let (text, named, succeeded) = match item {
            Item::User(_) if is_first => return,
            Item::User(text) => (text, NamedFiles::default(), true),
            Item::Answered { id, output, failed } => {
                let named = self.calls.get(id).map(|paths| self.exposure.named(paths));
                (output, named.unwrap_or_default(), *failed != Some(true))
            }
            Item::Said(text) | Item::Thought(text) => return self.exposure.wrote(text),
            Item::Called { id, input, .. } => {
                let input = input.as_str().map_or_else(|| input.to_string(), str::to_owned);
                self.exposure.wrote(&input);
                // Without an id, nobody knows which answer is of which call.
                if !id.is_empty() {
                    self.calls.insert(id.clone(), Paths::of(&input));
                }
                return;
            }
        };
        let seen = self.exposure.shown(text, &named, succeeded).into_iter().filter(|file| file.loaded);
        self.sent.extend(seen.map(|file| (file.skill, file.path)));
    }
}

impl WireWitness {
    /// What these exchanges of an agent with these skills show, in their order, besides so many that cannot be read.
    pub fn of<'a>(
        exchanges: impl IntoIterator<Item = &'a ModelExchange>,
        unread: u64,
        profile: &Profile,
        texts: &SkillTexts,
    ) -> Self {
        let mut all = Self { unread, ..Self::default() };
        let exposure = Exposure::new(texts);
        let mut texts = SentTexts { exposure, calls: BTreeMap::new(), known: HashSet::new(), sent: BTreeSet::new() };
        let (mut shells, mut answered) = (BTreeSet::new(), BTreeSet::new());
        for exchange in exchanges {
            all.requests += 1;
            texts.add(exchange);
            all.tokens = all.tokens.saturating_add(exchange.usage.map_or(0, |usage| usage.total_tokens()));
            answered.extend(exchange.history.iter().filter_map(|item| match item {
                Item::Answered { id, .. } => Some(id),
                _ => None,
            }));
            let mut calls = false;
            for item in &exchange.answer {
                match item {
                    Item::Said(text) => all.said.push(text.clone()),
                    Item::Called { id, tool, input } => {
                        calls = true;
                        all.inputs.push(input.clone());
                        if profile.tools.shells.contains(&tool.as_str()) {
                            shells.insert(id);
                        }
                    }
                    _ => {}
                }
            }
            let says = exchange.answer.iter().any(|item| matches!(item, Item::Said(text) if !text.trim().is_empty()));
            all.is_done = exchange.is_whole && says && !calls;
        }
        all.commands = shells.intersection(&answered).count() as u64;
        all.sent = texts.sent;
        all
    }

    /// The files of skills that the model was sent, and that the agent's own evidence does not have.
    fn unseen_texts(&self, trace: &Trace) -> Vec<(Reading, String)> {
        // A plugin's name is before its skill's.
        let is = |name: &str, skill: &str| slug(name.rsplit(':').next().unwrap_or(name)) == skill;
        let is_seen = |skill: &str, path: &str| {
            if path == SKILL_FILE {
                return trace.activations.iter().any(|activation| is(&activation.skill, skill));
            }
            trace.resources.iter().any(|resource| is(&resource.skill, skill) && resource.path == path)
        };
        let unseen = self.sent.iter().filter(|(skill, path)| !is_seen(skill, path));
        let named = unseen.map(|(skill, path)| {
            let reading = if path == SKILL_FILE { Reading::Activation } else { Reading::Resources };
            (reading, format!("its model was sent the text of {path} of `{skill}`, and its own lines do not show that"))
        });
        named.collect()
    }

    /// What the wire shows and the agent's own evidence does not, by the reading that is then not to be relied on.
    pub fn gaps(&self, trace: &Trace, profile: &Profile) -> Vec<(Reading, String)> {
        let mut gaps = Vec::new();
        if let Some(reported) = trace.usage.map(|usage| usage.total_tokens()).filter(|tokens| *tokens < self.tokens) {
            gaps.push((
                Reading::Tokens,
                format!("its requests took {} tokens, and it reports {reported}", self.tokens),
            ));
        }
        let is_shell = |step: &&Step| match step {
            Step::Command { .. } => true,
            Step::Tool { name, .. } => profile.tools.shells.contains(&name.as_str()),
            _ => false,
        };
        let seen = trace.steps.iter().filter(is_shell).count() as u64
            + trace.denials.len() as u64
            + trace.steps_dropped
            + trace.unreported_commands;
        if self.commands > seen {
            let why = format!("its requests have the results of {} commands, and its own lines {seen}", self.commands);
            gaps.push((Reading::Commands, why));
        }
        gaps.extend(self.unseen_texts(trace));
        let asked_nothing = self.requests == 0 && self.unread == 0 && !profile.provider_requests.is_empty();
        if asked_nothing && trace.trouble.is_none() && (trace.final_message.is_some() || trace.usage.is_some()) {
            // Whatever it prints, no model that passed here said it.
            let why = "it asked no model outside its sandbox";
            return Reading::ALL.iter().map(|reading| (*reading, why.to_owned())).collect();
        }
        if self.requests > 0 && self.unread == 0 && trace.trouble.is_none() {
            let why = match trace.final_message.as_deref().map(str::trim) {
                Some(text) if !self.has_said(text) => Some("the model did not say the final message that it reports"),
                None if self.is_done => Some("the model said a final message that its own lines lack"),
                _ => None,
            };
            gaps.extend(why.map(|why| (Reading::Answer, why.to_owned())));
        }
        gaps
    }

    /// Whether the model said this, or called a tool with it.
    fn has_said(&self, text: &str) -> bool {
        let as_json = || serde_json::from_str::<Value>(text).ok();
        self.said.iter().any(|said| said.contains(text))
            || self.said.concat().contains(text)
            || as_json().is_some_and(|value| self.inputs.contains(&value))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::settings::mode::AgentKind;
    use crate::trace::Usage;
    use crate::trace::exposure::TextIndexBuilder;
    use crate::trace::{Activation, Mechanism};

    const AGENT: &Profile = AgentKind::ClaudeCli.profile();

    /// A session with a command and a final message.
    fn session() -> Vec<ModelExchange> {
        let called = Item::Called { id: "1".to_owned(), tool: "Bash".to_owned(), input: json!({ "command": "ls" }) };
        let usage = Some(Usage { input_tokens: 100, output_tokens: 10, ..Usage::default() });
        let asked = ModelExchange { answer: vec![called.clone()], usage, is_whole: true, ..ModelExchange::default() };
        let result = Item::Answered { id: "1".to_owned(), output: "a".to_owned(), failed: None };
        let said = vec![Item::Said("Ahoy, ".to_owned()), Item::Said("Ada!".to_owned())];
        let history = vec![called, result];
        vec![asked, ModelExchange { history, answer: said, usage, is_whole: true, ..ModelExchange::default() }]
    }

    fn trace() -> Trace {
        let command = Step::Command { command: "ls".to_owned(), exit_code: Some(0), output: "a".to_owned() };
        Trace {
            steps: vec![command],
            final_message: Some("Ahoy, Ada!".to_owned()),
            usage: Some(Usage { input_tokens: 200, output_tokens: 20, ..Usage::default() }),
            ..Trace::default()
        }
    }

    #[test]
    fn an_agent_that_says_what_its_requests_show_has_no_gap() {
        let witness = WireWitness::of(&session(), 0, AGENT, &SkillTexts::default());
        assert_eq!((witness.requests, witness.tokens, witness.commands), (2, 220, 1));
        assert_eq!(witness.gaps(&trace(), AGENT), []);
        // A command whose result was never sent may not have run.
        let cut = WireWitness::of(&session()[..1], 0, AGENT, &SkillTexts::default());
        assert_eq!(cut.gaps(&Trace { usage: None, ..Trace::default() }, AGENT), []);
    }

    #[test]
    fn what_an_agent_lost_of_its_session_is_a_gap() {
        let witness = WireWitness::of(&session(), 0, AGENT, &SkillTexts::default());
        let gaps =
            |trace: Trace| witness.gaps(&trace, AGENT).into_iter().map(|(reading, _)| reading).collect::<Vec<_>>();
        assert_eq!(gaps(Trace { steps: Vec::new(), ..trace() }), [Reading::Commands]);
        assert_eq!(gaps(Trace { final_message: None, ..trace() }), [Reading::Answer]);
        assert_eq!(gaps(Trace { final_message: Some("Aye!".to_owned()), ..trace() }), [Reading::Answer]);
        let usage = Some(Usage { input_tokens: 100, output_tokens: 10, ..Usage::default() });
        assert_eq!(gaps(Trace { usage, ..trace() }), [Reading::Tokens]);
        assert_eq!(gaps(Trace { usage: None, ..trace() }), []);
        // What was not read may be the final message.
        let partial = WireWitness::of(&session()[..1], 1, AGENT, &SkillTexts::default());
        assert_eq!(partial.gaps(&trace(), AGENT), []);
    }

    #[test]
    fn a_text_of_a_skill_that_was_sent_and_is_not_in_the_agents_lines_is_a_gap() {
        let text = "Say Ahoy to everybody who comes aboard, and never forget the hat of the captain.";
        let mut texts = TextIndexBuilder::default();
        texts.add("greeting", SKILL_FILE, text.as_bytes());
        let texts = SkillTexts::new(vec![texts.build()]);
        let input = json!({ "command": "cat .claude/skills/greeting/SKILL.md" });
        let called = Item::Called { id: "1".to_owned(), tool: "Bash".to_owned(), input };
        let asked = |history: Vec<Item>| ModelExchange { history, ..ModelExchange::default() };
        let prompt = asked(vec![Item::User(text.to_owned())]);
        let result = Item::Answered { id: "1".to_owned(), output: text.to_owned(), failed: None };
        let session = [prompt.clone(), asked(vec![Item::User(text.to_owned()), called, result])];
        let step = Step::Command { command: "cat".to_owned(), exit_code: Some(0), output: String::new() };
        let mut trace = Trace { steps: vec![step], ..Trace::default() };
        let gaps = |session: &[ModelExchange], trace: &Trace| {
            let witness = WireWitness::of(session, 0, AGENT, &texts);
            witness.gaps(trace, AGENT).into_iter().map(|(reading, _)| reading).collect::<Vec<_>>()
        };
        assert_eq!(gaps(&session, &trace), [Reading::Activation]);
        assert_eq!(gaps(&[prompt], &trace), [], "the prompt is the user's");
        let (skill, how) = ("Greeting".to_owned(), Mechanism::ReadSkillFile);
        trace.activations.push(Activation { skill, how, evidence: String::new(), seen: None });
        assert_eq!(gaps(&session, &trace), []);
    }

    #[test]
    fn what_an_agent_prints_that_asked_no_model_proves_nothing() {
        let nobody = WireWitness::of(&[], 0, AGENT, &SkillTexts::default());
        let doubted: Vec<Reading> = nobody.gaps(&trace(), AGENT).into_iter().map(|(reading, _)| reading).collect();
        assert_eq!(doubted, Reading::ALL);
        assert_eq!(nobody.gaps(&Trace::default(), AGENT), []);
        // It asked, and nobody could read what.
        assert_eq!(WireWitness::of(&[], 1, AGENT, &SkillTexts::default()).gaps(&trace(), AGENT), []);
        let unknown = Profile { provider_requests: &[], ..Profile::BLANK };
        assert_eq!(nobody.gaps(&trace(), &unknown), [], "of an agent whose servers nobody knows");
    }
}
