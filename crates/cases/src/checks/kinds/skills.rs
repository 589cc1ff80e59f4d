//! These skills are activated, in this order, or are not.

use std::sync::Arc;

use serde::Serialize;

use crate::checks::kinds::trigger::counts;
use crate::checks::{
    CaseCheck, CheckAnswer, CheckKind, Condition, FieldForm, GradingInput, InvalidCheck, ListForm, Named, WrittenCheck,
};
use crate::skill::slug;
use crate::trace::{Activation, Marked};
use crate::trial::outcome::{Goal, Status};
use crate::trial::span::{EventRef, Span};

/// What `rejects` names for every skill, and `activates` for any skill.
const ANY: &str = "*";

pub(in crate::checks) static ACTIVATES: CheckKind =
    CheckKind::new("activates", Goal::Process).about_skill().in_list(&ListForm {
        key: "activates",
        form: FieldForm::Texts,
        options: &[("inOrder", FieldForm::Flag)],
        tests: false,
        ask: |check| {
            let skills = check.texts("activates").unwrap_or_default();
            Ok(if skills.is_empty() {
                Arc::new(RejectsCheck(skills))
            } else {
                Arc::new(ActivatesCheck { skills, in_order: check.is("inOrder") })
            })
        },
    });

pub(in crate::checks) static REJECTS: CheckKind =
    CheckKind::new("rejects", Goal::Process).about_skill().in_list(&ListForm {
        key: "rejects",
        form: FieldForm::Texts,
        options: &[],
        tests: false,
        ask: |check| match check.texts("rejects").unwrap_or_default() {
            skills if skills.is_empty() => {
                let help = r#"name skills, or write ["*"] for every skill"#;
                Err(InvalidCheck::new("rejects", "`rejects` names no skill", help))
            }
            skills => Ok(Arc::new(RejectsCheck(skills))),
        },
    });

/// All these skills are activated, in this order if `in_order`; `*` is any skill.
pub fn activates(skills: Vec<String>, in_order: bool) -> CaseCheck {
    CaseCheck::implied(&ACTIVATES, ActivatesCheck { skills, in_order })
}

/// None of these skills is activated; `*` is every skill.
pub fn rejects(skills: Vec<String>) -> CaseCheck {
    CaseCheck::implied(&REJECTS, RejectsCheck(skills))
}

/// The activations that count by the rule of the case, with their indexes.
fn activations<'a>(subject: &GradingInput<'a>) -> impl Iterator<Item = (usize, &'a Activation)> {
    let trace = subject.evidence.trace;
    let subject = *subject;
    trace.activations.iter().enumerate().filter(move |(_, activation)| counts(&subject, activation.how))
}

fn names<'a>(skills: impl Iterator<Item = &'a str>) -> String {
    let names: Vec<String> = skills.map(|skill| format!("`{skill}`")).collect();
    if names.is_empty() { "none".to_owned() } else { names.join(", ") }
}

fn is_any(skills: &[String]) -> bool {
    skills.is_empty() || skills.iter().any(|name| name == ANY)
}

fn named(skills: &[String]) -> &[String] {
    if is_any(skills) { &[] } else { skills }
}

/// The skills of a check in words.
fn wanted(skills: &[String]) -> String {
    if is_any(skills) { "any skill".to_owned() } else { names(skills.iter().map(String::as_str)) }
}

fn event(subject: &GradingInput<'_>, at: usize) -> Span {
    match subject.marked(|what| what == Marked::Activation(at)) {
        Some(step) => Span::of_call(&subject.evidence.trace.steps, step),
        None => EventRef::Offered.into(),
    }
}

/// The answer by these activations. It is open if a call that was to load a skill failed.
fn answer(
    subject: &GradingInput<'_>,
    activated: impl Iterator<Item = usize>,
    failed: Option<&Activation>,
    happened: bool,
    should: bool,
    expected: String,
    found: String,
) -> CheckAnswer {
    let answer = match failed {
        Some(Activation { skill, evidence, .. }) => {
            let found = format!("{found}; a call that was to load `{skill}` failed: {evidence}");
            CheckAnswer::new(Status::Unknown, expected, found)
        }
        None => subject.happened(happened, should, expected, found),
    };
    let spans: Vec<Span> = activated.map(|at| event(subject, at)).collect();
    if spans.is_empty() { answer.at(EventRef::Offered) } else { answer.with(spans) }
}

/// The first failed call that was to load such a skill, by a mechanism that counts.
fn failed_load<'a>(subject: &GradingInput<'a>, is_it: impl Fn(&Activation) -> bool) -> Option<&'a Activation> {
    subject.evidence.trace.failed_loads.iter().find(|call| is_it(call) && counts(subject, call.how))
}

#[derive(Debug, Serialize)]
struct ActivatesCheck {
    skills: Vec<String>,
    in_order: bool,
}

impl Condition for ActivatesCheck {
    fn evaluate(&self, subject: &GradingInput<'_>) -> Option<CheckAnswer> {
        let all: Vec<(usize, &Activation)> = activations(subject).collect();
        let order = if self.in_order { " activated in this order" } else { " activated" };
        let expected = format!("{}{order}", wanted(&self.skills));
        let found = format!("activated: {}", names(all.iter().map(|(_, activation)| activation.skill.as_str())));
        let is_it = |name: &str, activation: &Activation| name == ANY || slug(&activation.skill) == slug(name);
        let (mut activated, mut missing, mut rest) = (Vec::new(), None, all.iter());
        for name in &self.skills {
            if !self.in_order {
                rest = all.iter();
            }
            match rest.find(|(_, activation)| is_it(name, activation)) {
                Some((at, _)) => activated.push(*at),
                None => missing = missing.or(Some(name)),
            }
        }
        let failed = missing.and_then(|name| failed_load(subject, |call| is_it(name, call)));
        Some(answer(subject, activated.into_iter(), failed, missing.is_none(), true, expected, found))
    }

    fn settled_by(&self) -> Option<Status> {
        Some(Status::Pass)
    }

    fn written(&self) -> Option<WrittenCheck> {
        Some(WrittenCheck::new(self.skills.clone()).with_flag("inOrder", self.in_order))
    }

    fn names(&self) -> Named<'_> {
        Named { skills: named(&self.skills), ..Named::default() }
    }
}

/// The skills, none of which may be activated; with an empty list, no skill may be.
#[derive(Debug, Serialize)]
struct RejectsCheck(Vec<String>);

impl Condition for RejectsCheck {
    fn evaluate(&self, subject: &GradingInput<'_>) -> Option<CheckAnswer> {
        let is_rejected = |activation: &Activation| {
            is_any(&self.0) || self.0.iter().any(|name| slug(name) == slug(&activation.skill))
        };
        let rejected: Vec<(usize, &Activation)> =
            activations(subject).filter(|(_, activation)| is_rejected(activation)).collect();
        let expected = format!("{} not activated", wanted(&self.0));
        let found = format!("activated: {}", names(rejected.iter().map(|(_, activation)| activation.skill.as_str())));
        let happened = !rejected.is_empty();
        let failed = failed_load(subject, is_rejected).filter(|_| !happened);
        let activated = rejected.iter().map(|(at, _)| *at);
        Some(answer(subject, activated, failed, happened, false, expected, found))
    }

    fn forbids(&self) -> bool {
        true
    }

    fn settled_by(&self) -> Option<Status> {
        Some(Status::Fail)
    }

    fn written(&self) -> Option<WrittenCheck> {
        Some(WrittenCheck::new(self.0.clone()))
    }

    fn names(&self) -> Named<'_> {
        Named { skills: named(&self.0), ..Named::default() }
    }
}
