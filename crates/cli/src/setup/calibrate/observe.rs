//! Holds what was read of a trial against what is true of it.

use std::collections::BTreeMap;

use serde_json::Value;

use super::cases::{
    ANSWER, BODY, CalibrationCase, DESCRIPTION, Does, OTHER, OTHER_BODY, RESOURCE, SKILL, SkillTools, USER_ONLY,
};
use crate::profile::Profile;
use crate::results::calibration::{Observation, ReadState};
use crate::run::stored_trial::StoredTrial;
use crate::settings::mode::Delivery;
use crate::stand_in::{AnswerFault, AnswerUsage, ScriptedRequest};
use crate::trace::Mechanism;
use crate::trial::answer::FinalAnswer;
use crate::trial::outcome::{Grade, Status, TroubleKind, Verdict};
use crate::trial::reading::Reading;

/// What the model saw and did in a trial.
#[derive(Default)]
pub(super) struct Truth {
    /// Everything that it was sent, without the prompt.
    seen: String,
    /// The same of the first request.
    offered: String,
    has_tool: bool,
    pub(super) requests: usize,
    tokens: u64,
    commands: u64,
}

impl Truth {
    pub(super) fn add(
        &mut self,
        request: &ScriptedRequest,
        usage: Option<AnswerUsage>,
        tools: &SkillTools,
        is_command: bool,
    ) {
        gather(&request.body, &mut self.seen);
        self.seen = self.seen.replace(&request.prompt, "");
        if self.requests == 0 {
            self.offered.clone_from(&self.seen);
        }
        self.has_tool |= tools.own_tool(request).is_some();
        self.requests += 1;
        self.commands += u64::from(is_command);
        self.tokens += usage.map_or(0, |usage| (usage.fresh + usage.cached + usage.output) as u64);
    }

    /// Whether the model was shown the skill's description, or a list of names, as some agents have.
    fn was_shown(&self, skill: &str) -> bool {
        let is_part = |c: char| c.is_alphanumeric() || c == '-';
        let names = |name: &str| self.offered.split(|c| !is_part(c)).any(|word| word == name);
        match skill {
            USER_ONLY => names(USER_ONLY),
            _ => self.offered.contains(DESCRIPTION) || (names(SKILL) && names(OTHER)),
        }
    }
}

fn gather(value: &Value, into: &mut String) {
    match value {
        Value::String(text) => into.extend([text, "\n"]),
        Value::Array(list) => list.iter().for_each(|value| gather(value, into)),
        Value::Object(map) => map.values().for_each(|value| gather(value, into)),
        _ => {}
    }
}

/// A trial of the calibration that has ended.
pub(super) struct Measured<'a> {
    pub(super) case: &'a CalibrationCase,
    pub(super) truth: &'a Truth,
    pub(super) grade: &'a Grade,
    pub(super) stored: &'a StoredTrial,
    pub(super) profile: &'static Profile,
    /// The names of the model.
    pub(super) models: [String; 2],
}

/// What trials show, and what this agent does not show and no check needs.
#[derive(Default)]
pub(super) struct Observations {
    pub(super) all: Vec<Observation>,
    pub(super) notes: BTreeMap<Reading, Vec<String>>,
    /// The trials that showed too little, and are tried again.
    pub(super) unclear: Vec<CalibrationCase>,
    /// The agent's version, as its package or else its trials say.
    pub(super) version: Option<String>,
}

impl Observations {
    fn add(&mut self, trial: &Measured<'_>, reading: Reading, state: ReadState, expected: String, found: String) {
        // How an agent ends, and is refused, is tried with one delivery for all.
        let delivery = Some(trial.case.delivery).filter(|_| trial.case.ends_well());
        let trial = trial.case.id.clone();
        self.all.push(Observation { trial, delivery, reading, state, expected, found });
    }

    fn note(&mut self, reading: Reading, text: &str) {
        let notes = self.notes.entry(reading).or_default();
        if !notes.iter().any(|note| note == text) {
            notes.push(text.to_owned());
        }
    }

    /// Notes a value that was read; `None` if nothing was.
    fn value(&mut self, trial: &Measured<'_>, reading: Reading, expected: String, found: Option<String>) {
        let state = match &found {
            Some(found) if *found == expected => ReadState::Right,
            Some(_) if trial.is_whole() => ReadState::Wrong,
            _ => ReadState::Unseen,
        };
        self.add(trial, reading, state, expected, found.unwrap_or_else(|| trial.trouble()));
    }

    pub(super) fn of(&mut self, trial: &Measured<'_>) {
        if self.version.is_none() {
            self.version.clone_from(&trial.stored.trace.agent_version);
        }
        if trial.shows_little() && !trial.case.is_again {
            self.unclear.push(trial.case.again());
        } else if trial.case.ends_well() {
            self.of_good_end(trial);
        } else {
            self.of_bad_end(trial);
        }
    }

    fn of_good_end(&mut self, trial: &Measured<'_>) {
        let Measured { case, truth, grade, stored, .. } = trial;
        let metrics = &grade.metrics;
        let shown = truth.was_shown(case.skill) && case.delivery != Delivery::None;
        let expected = if shown { "shown to the model" } else { "not shown to the model" };
        let found = match trial.status("delivered") {
            Some(Status::Pass) if case.delivery == Delivery::None => Some("not shown to the model"),
            Some(Status::Fail) if case.delivery == Delivery::None => Some("shown to the model"),
            Some(Status::Pass) => Some("shown to the model"),
            Some(Status::Fail) => Some("not shown to the model"),
            _ => None,
        };
        self.value(trial, Reading::Delivered, expected.to_owned(), found.map(str::to_owned));
        if case.skill == USER_ONLY {
            return;
        }
        let activated = |name: &str, how: Mechanism| format!("{name} ({})", how.as_str());
        let own = match case.delivery {
            delivery if delivery.mcp() => Mechanism::McpTool,
            _ if truth.has_tool => Mechanism::SkillTool,
            _ => Mechanism::ReadSkillFile,
        };
        let expected = match case.does {
            Does::Uses if truth.seen.contains(BODY) => activated(SKILL, own),
            Does::Reads if truth.seen.contains(BODY) => activated(SKILL, Mechanism::ReadSkillFile),
            Does::UsesOther if truth.seen.contains(OTHER_BODY) => activated(OTHER, own),
            _ => "none".to_owned(),
        };
        let found: Vec<String> = metrics.activations.iter().map(|found| activated(&found.skill, found.how)).collect();
        let found = if found.is_empty() { "none".to_owned() } else { found.join(", ") };
        let is_known = !trial.is_unknown("triggered") && !trial.is_unknown("not-triggered");
        if case.delivery.offers_skills() {
            self.value(trial, Reading::Activation, expected, is_known.then_some(found));
        }
        if case.does == Does::Uses {
            let found: Vec<&str> = metrics.resources.iter().map(|found| found.path.as_str()).collect();
            self.value(trial, Reading::Resources, RESOURCE.to_owned(), Some(found.join(", ")));
        }
        self.value(trial, Reading::Commands, truth.commands.to_string(), Some(metrics.commands.to_string()));
        let tokens = metrics.usage.map(|usage| usage.total_tokens().to_string());
        self.value(trial, Reading::Tokens, truth.tokens.to_string(), tokens);
        let model = stored.trace.model.clone();
        let model = model.map(|model| if trial.models.contains(&model) { trial.models[0].clone() } else { model });
        self.value(trial, Reading::Model, trial.models[0].clone(), model);
        let answer = match stored.evidence().answer() {
            FinalAnswer::Text(text) => Some(text.trim().to_owned()),
            FinalAnswer::None | FinalAnswer::Unread(_) => None,
        };
        self.value(trial, Reading::Answer, ANSWER.to_owned(), answer.filter(|_| trial.has_ended()));
        let ended = trial.has_ended().then(|| "the end".to_owned());
        self.value(trial, Reading::End, "the end".to_owned(), ended);
    }

    fn of_bad_end(&mut self, trial: &Measured<'_>) {
        let Measured { case, truth, grade, profile, .. } = trial;
        let kind = trial.trouble_kind();
        let (reading, expected, wanted) = match case.does {
            Does::Refused(429) => (Reading::Limit, "the provider refused for now", Some(TroubleKind::RateLimit)),
            Does::Refused(_) => (Reading::Login, "the login was refused", Some(TroubleKind::Login)),
            Does::Fails(AnswerFault::Refusal) => {
                let completed = trial.status("completed");
                if completed == Some(Status::Pass) && !profile.reports.early_ends {
                    return self.note(Reading::End, "it shows a refusal of the model as an answer");
                }
                let is_right = completed == Some(Status::Fail) || grade.verdict == Verdict::Error;
                let state = if is_right { ReadState::Right } else { ReadState::Wrong };
                let expected = "the model did not finish".to_owned();
                return self.add(trial, Reading::End, state, expected, trial.trouble());
            }
            Does::Crashes if truth.requests > 1 => {
                return self.note(Reading::End, "a crash was not tried: its commands cannot end it");
            }
            _ => (Reading::End, "an error", None),
        };
        let state = match kind {
            Some(kind) if wanted.is_none_or(|wanted| wanted == kind) && grade.verdict == Verdict::Error => {
                ReadState::Right
            }
            _ if grade.verdict == Verdict::Error => ReadState::Unseen,
            _ => ReadState::Wrong,
        };
        self.add(trial, reading, state, expected.to_owned(), trial.trouble());
    }
}

impl Measured<'_> {
    fn status(&self, id: &str) -> Option<Status> {
        self.grade.checks.iter().find(|check| check.id == id).map(|check| check.status)
    }

    fn trouble_kind(&self) -> Option<TroubleKind> {
        self.grade.trouble.as_ref().map(|trouble| trouble.kind)
    }

    /// Whether its time was over although it does not wait, or it shows too little for a verdict: a busy machine makes agents late
    /// and has them lose parts.
    fn shows_little(&self) -> bool {
        let is_late = self.is_late() && self.case.does != Does::Hangs;
        is_late
            || (self.case.ends_well() && (self.grade.verdict == Verdict::Error || self.stored.trace.gap().is_some()))
    }

    /// Whether its time was over.
    fn is_late(&self) -> bool {
        self.trouble_kind() == Some(TroubleKind::NoAnswer) || self.status("in-time") == Some(Status::Fail)
    }

    fn is_unknown(&self, id: &str) -> bool {
        self.status(id) == Some(Status::Unknown)
    }

    /// Whether it came to its end. An error that only says what is unknown is seen in the other rows.
    fn has_ended(&self) -> bool {
        let is_other = |kind| matches!(kind, TroubleKind::Unobservable | TroubleKind::NotDelivered);
        self.grade.trouble.as_ref().is_none_or(|trouble| is_other(trouble.kind))
    }

    /// Whether all was read that happens in such a trial: it came to its end, and nothing that was not read leads to an error.
    fn is_whole(&self) -> bool {
        let metrics = &self.grade.metrics;
        let has_gap = metrics.unknown_events + metrics.damaged_lines > 0 || self.stored.trace.gap().is_some();
        !(has_gap && self.grade.verdict == Verdict::Error) && self.has_ended() && !self.is_late()
    }

    /// The verdict, and why the trial was not measured.
    fn trouble(&self) -> String {
        match &self.grade.trouble {
            Some(trouble) => trouble.to_string(),
            None => format!("nothing (verdict: {})", self.grade.verdict),
        }
    }
}
