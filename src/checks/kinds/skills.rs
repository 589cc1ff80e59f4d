//! These skills are activated, in this order, or are not.

use std::sync::Arc;

use crate::checks::kinds::trigger::counts;
use crate::checks::{Ask, Check, CheckAnswer, CheckKind, FieldForm, InvalidCheck, ListForm, Subject};
use crate::skill::slug;
use crate::trace::{Activation, Marked};
use crate::trial::outcome::{Goal, Status};
use crate::trial::span::{EventRef, Span};

/// What `rejects` names for every skill.
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
                Arc::new(RejectsCheck(vec![ANY.to_owned()]))
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

/// All these skills are activated, in this order if `in_order`.
pub fn activates(skills: Vec<String>, in_order: bool) -> Check {
    Check::implied(&ACTIVATES, ActivatesCheck { skills, in_order })
}

/// None of these skills is activated; `*` is every skill.
pub fn rejects(skills: Vec<String>) -> Check {
    Check::implied(&REJECTS, RejectsCheck(skills))
}

/// The activations that count by the rule of the case, with their indexes.
fn activations<'a>(subject: &Subject<'a>) -> impl Iterator<Item = (usize, &'a Activation)> {
    let trace = subject.evidence.trace;
    let subject = *subject;
    trace.activations.iter().enumerate().filter(move |(_, activation)| counts(&subject, activation.how))
}

fn names<'a>(skills: impl Iterator<Item = &'a str>) -> String {
    let names: Vec<String> = skills.map(|skill| format!("`{skill}`")).collect();
    if names.is_empty() { "none".to_owned() } else { names.join(", ") }
}

fn event(subject: &Subject<'_>, at: usize) -> Span {
    match subject.marked(|what| what == Marked::Activation(at)) {
        Some(step) => Span::of_call(&subject.evidence.trace.steps, step),
        None => EventRef::Offered.into(),
    }
}

#[derive(Debug)]
struct ActivatesCheck {
    skills: Vec<String>,
    in_order: bool,
}

impl Ask for ActivatesCheck {
    fn evaluate(&self, subject: &Subject<'_>) -> Option<CheckAnswer> {
        let trace = subject.evidence.trace;
        let mut active = activations(subject);
        let all: Vec<(usize, &Activation)> = activations(subject).collect();
        if all.is_empty() && subject.evidence.is_offer_unseen() {
            return None;
        }
        let order = if self.in_order { " activated in this order" } else { " activated" };
        let expected = format!("{}{order}", names(self.skills.iter().map(String::as_str)));
        let found = format!("activated: {}", names(all.iter().map(|(_, activation)| activation.skill.as_str())));
        let is_it = |name: &str, activation: &Activation| slug(&activation.skill) == slug(name);
        let mut first = |name: &str| {
            if self.in_order {
                active.find(|(_, activation)| is_it(name, activation))
            } else {
                all.iter().find(|(_, activation)| is_it(name, activation)).copied()
            }
        };
        let found_at: Vec<Option<usize>> = self.skills.iter().map(|name| Some(first(name)?.0)).collect();
        let missing = self.skills.iter().zip(&found_at).find(|(_, at)| at.is_none()).map(|(name, _)| name);
        let failed = missing.and_then(|name| trace.failed_loads.iter().find(|call| is_it(name, call)));
        let answer = match failed {
            Some(call) => {
                let found = format!("{found}; a call that was to load `{}` failed: {}", call.skill, call.evidence);
                CheckAnswer::new(Status::Unknown, expected, found)
            }
            None => subject.happened(missing.is_none(), true, expected, found),
        };
        let spans: Vec<Span> = found_at.into_iter().flatten().map(|at| event(subject, at)).collect();
        Some(if spans.is_empty() { answer.at(EventRef::Offered) } else { answer.with(spans) })
    }

    fn settled_by(&self) -> Option<Status> {
        Some(Status::Pass)
    }

    fn skills(&self) -> &[String] {
        &self.skills
    }
}

#[derive(Debug)]
struct RejectsCheck(Vec<String>);

impl Ask for RejectsCheck {
    fn evaluate(&self, subject: &Subject<'_>) -> Option<CheckAnswer> {
        let is_any = self.0.iter().any(|name| name == ANY);
        let is_rejected =
            |activation: &Activation| is_any || self.0.iter().any(|name| slug(name) == slug(&activation.skill));
        let rejected: Vec<(usize, &Activation)> =
            activations(subject).filter(|(_, activation)| is_rejected(activation)).collect();
        let trace = subject.evidence.trace;
        if rejected.is_empty() && subject.evidence.is_offer_unseen() {
            return None;
        }
        let which = if is_any { "any skill".to_owned() } else { names(self.0.iter().map(String::as_str)) };
        let expected = format!("{which} not activated");
        let found = format!("activated: {}", names(rejected.iter().map(|(_, activation)| activation.skill.as_str())));
        let answer = match trace.failed_loads.iter().find(|call| is_rejected(call)).filter(|_| rejected.is_empty()) {
            Some(call) => {
                let found = format!("{found}; a call that was to load `{}` failed: {}", call.skill, call.evidence);
                CheckAnswer::new(Status::Unknown, expected, found)
            }
            None => subject.happened(!rejected.is_empty(), false, expected, found),
        };
        let spans: Vec<Span> = rejected.iter().map(|(at, _)| event(subject, *at)).collect();
        Some(if spans.is_empty() { answer.at(EventRef::Offered) } else { answer.with(spans) })
    }

    fn forbids(&self) -> bool {
        true
    }

    fn settled_by(&self) -> Option<Status> {
        Some(Status::Fail)
    }

    fn skills(&self) -> &[String] {
        if self.0.iter().any(|name| name == ANY) { &[] } else { &self.0 }
    }
}
