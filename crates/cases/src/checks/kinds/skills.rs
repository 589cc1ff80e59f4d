//! What became of skills: which are activated and in which order, which of their files are loaded, and what of their descriptions.

use std::sync::Arc;

use serde::Serialize;

use crate::checks::pattern::Pattern;
use crate::checks::text_test::{TextResult, TextTest};
use crate::checks::{
    CaseCheck, CheckAnswer, CheckKind, Condition, FieldForm, FieldValue, GradingInput, InvalidCheck, ListForm, Named,
    WrittenCheck,
};
use crate::settings::mode::AgentKind;
use crate::settings::{ActivationRule, ToolNames};
use crate::skill::slug;
use crate::trace::exposure::DescriptionVisibility;
use crate::trace::{Activation, Marked, Mechanism, Resource, Trace};
use crate::trial::evidence::Reading;
use crate::trial::outcome::{Goal, Status};
use crate::trial::span::{EventRef, Span};

/// What `rejects` names for every skill, and `activates` for any skill.
const ANY: &str = "*";

pub(in crate::checks) static ACTIVATES: CheckKind =
    CheckKind::new("activates", Goal::Process).about_skill().in_list(&ListForm {
        key: "activates",
        form: FieldForm::Texts,
        options: &[("inOrder", FieldForm::Flag), ("any", FieldForm::Flag)],
        tests: false,
        ask: |check| {
            let skills = check.texts("activates").unwrap_or_default();
            let (in_order, any) = (check.is("inOrder"), check.is("any"));
            Ok(match skills.is_empty() {
                true => Arc::new(RejectsCheck(skills)),
                false if in_order && any => {
                    let help = "remove one of the two";
                    return Err(InvalidCheck::new("any", "one of several skills has no order", help));
                }
                false if any => Arc::new(ActivatesOneCheck(skills)),
                false => Arc::new(ActivatesCheck { skills, in_order }),
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

/// At least one of these skills is activated.
pub fn activates_one(skills: Vec<String>) -> CaseCheck {
    CaseCheck::implied(&ACTIVATES, ActivatesOneCheck(skills))
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

/// The skills, at least one of which is activated.
#[derive(Debug, Serialize)]
struct ActivatesOneCheck(Vec<String>);

impl Condition for ActivatesOneCheck {
    fn evaluate(&self, subject: &GradingInput<'_>) -> Option<CheckAnswer> {
        let is_it = |activation: &Activation| {
            is_any(&self.0) || self.0.iter().any(|name| slug(name) == slug(&activation.skill))
        };
        let all: Vec<(usize, &Activation)> = activations(subject).collect();
        let found = format!("activated: {}", names(all.iter().map(|(_, activation)| activation.skill.as_str())));
        let activated: Vec<usize> = all.iter().filter(|(_, activation)| is_it(activation)).map(|(at, _)| *at).collect();
        let happened = !activated.is_empty();
        let failed = failed_load(subject, is_it).filter(|_| !happened);
        let expected = format!("one of {} activated", wanted(&self.0));
        Some(answer(subject, activated.into_iter(), failed, happened, true, expected, found))
    }

    fn settled_by(&self) -> Option<Status> {
        Some(Status::Pass)
    }

    fn written(&self) -> Option<WrittenCheck> {
        Some(WrittenCheck::new(self.0.clone()).with_flag("any", true))
    }

    fn names(&self) -> Named<'_> {
        Named { skills: named(&self.0), ..Named::default() }
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

// The skill under test is activated, or is not.

/// The check that the skill under test was activated.
pub const TRIGGERED: &str = "triggered";

/// The check that it was not.
pub const NOT_TRIGGERED: &str = "not-triggered";

pub(in crate::checks) static TRIGGERED_KIND: CheckKind = CheckKind::new(TRIGGERED, Goal::Process).about_skill();

pub(in crate::checks) static NOT_TRIGGERED_KIND: CheckKind = CheckKind::new(NOT_TRIGGERED, Goal::Process).about_skill();

/// The check that every case has.
pub fn triggers(should: bool) -> CaseCheck {
    CaseCheck::implied(if should { &TRIGGERED_KIND } else { &NOT_TRIGGERED_KIND }, TriggerCheck { should })
}

#[derive(Debug, Serialize)]
struct TriggerCheck {
    should: bool,
}

impl Condition for TriggerCheck {
    fn evaluate(&self, subject: &GradingInput<'_>) -> Option<CheckAnswer> {
        let trace = subject.evidence.trace;
        let (own, others): (Vec<&Activation>, Vec<&Activation>) =
            trace.activations.iter().partition(|activation| subject.is_under_test(&activation.skill));
        let happened = own.iter().any(|activation| counts(subject, activation.how));
        let mut found = own.iter().map(|activation| describe(activation, trace)).collect::<Vec<_>>().join("; ");
        if own.is_empty() {
            found.push_str("not activated");
        } else if !happened {
            found = format!("{found}, not loaded by the {}", own_mechanisms(subject).join(" or the "));
        }
        if !others.is_empty() {
            let others: Vec<String> = others
                .iter()
                .map(|activation| format!("`{}` ({})", activation.skill, activation.how.as_str()))
                .collect();
            found = format!("{found}; other skills activated: {}", others.join(", "));
        }
        if own.is_empty() && !trace.inspections.is_empty() {
            found = format!("{found}; looked at skills without activating: {}", trace.inspections.join("; "));
        }
        let mut expected = format!("`{}` {}activated", subject.skill.name, if self.should { "" } else { "not " });
        if subject.activation == ActivationRule::Tool {
            expected = format!("{expected} ({} or injected)", own_mechanisms(subject).join(", "));
        }
        let is_it = |call: &&Activation| subject.is_under_test(&call.skill) && counts(subject, call.how);
        let answer = match trace.failed_loads.iter().find(is_it).filter(|_| !happened) {
            // The model asked for the skill, and nobody knows what it would have done with it.
            Some(call) => {
                let found = format!("{found}; a call that was to load it failed: {}", call.evidence);
                CheckAnswer::new(Status::Unknown, expected, found)
            }
            None => subject.happened(happened, self.should, expected, found),
        };
        let event = decided_by(subject, answer.status, happened);
        Some(answer.at(event))
    }

    fn settled_by(&self) -> Option<Status> {
        Some(if self.should { Status::Pass } else { Status::Fail })
    }
}

/// Whether this mechanism activates the skill by the rule of the case.
pub(super) fn counts(subject: &GradingInput<'_>, how: Mechanism) -> bool {
    subject.activation == ActivationRule::Content
        // All other mechanisms were made for skills.
        || how != Mechanism::ReadSkillFile
        || own_mechanisms(subject).contains(&how.as_str())
}

/// The mechanisms by which models load a skill in this mode, in words.
fn own_mechanisms(subject: &GradingInput<'_>) -> Vec<&'static str> {
    let (delivery, trace) = (subject.evidence.meta.delivery, subject.evidence.trace);
    let native = delivery.native().then_some(trace.loads_by);
    let by_mcp = delivery.mcp().then_some(Mechanism::McpTool);
    native.into_iter().chain(by_mcp).map(Mechanism::as_str).collect()
}

fn describe(activation: &Activation, trace: &Trace) -> String {
    let place = trace.activations.iter().position(|known| std::ptr::eq(known, activation));
    let is_it = |what: Marked| matches!(what, Marked::Activation(at) if Some(at) == place);
    let step = trace.marks.iter().find(|mark| is_it(mark.what)).map(|mark| mark.step);
    let message = step.filter(|_| !trace.follow_ups_at.is_empty()).map_or_else(String::new, |step| {
        let earlier = trace.follow_ups_at.iter().filter(|first| **first <= step).count();
        format!(", in answer to message {}", earlier + 1)
    });
    format!("{} ({}){}{message}", activation.how.as_str(), activation.evidence, seen_part(activation.seen))
}

/// The part of a file that was seen, if not all.
pub(super) fn seen_part(seen: Option<f64>) -> String {
    match seen {
        Some(share) if (0.01..0.99).contains(&share) => format!(", {:.0} % of it seen", share * 100.0),
        _ => String::new(),
    }
}

/// The event to look at first: the activation, else the failed call, else an inspection of skills, else the offer.
fn decided_by(subject: &GradingInput<'_>, status: Status, happened: bool) -> Span {
    let trace = subject.evidence.trace;
    let mut own = trace.activations.iter().filter(|activation| subject.is_under_test(&activation.skill));
    if own.any(|activation| activation.how == Mechanism::Injected) {
        return EventRef::Injected.into();
    }
    let decides = |list: &[Activation], at: usize| {
        list.get(at).is_some_and(|call| subject.is_under_test(&call.skill) && (!happened || counts(subject, call.how)))
    };
    let step = subject
        .marked(|what| matches!(what, Marked::Activation(at) if decides(&trace.activations, at)))
        .or_else(|| subject.marked(|what| matches!(what, Marked::FailedLoad(at) if decides(&trace.failed_loads, at))))
        .or_else(|| subject.marked(|what| matches!(what, Marked::Inspection(_))));
    match step {
        Some(step) => Span::of_call(&trace.steps, step),
        // If nothing loaded the skill, the offer is the only event about it.
        None if status == Status::Unknown => EventRef::End.into(),
        None => EventRef::Offered.into(),
    }
}

// A file of the skill other than SKILL.md is loaded.

pub(in crate::checks) static LOADED: CheckKind = CheckKind::new("resource-loaded", Goal::Process)
    .about_skill()
    .by(Reading::Resources)
    .with_field("expect_resource_load", "expectResourceLoad", FieldForm::Flag, |value| {
        matches!(value, FieldValue::Flag(true)).then(|| Arc::new(ResourceLoaded { path: None }) as Arc<dyn Condition>)
    });

/// A file of the skill is loaded whose path in its directory matches this pattern.
pub fn loads(path: Pattern) -> CaseCheck {
    CaseCheck::implied(&LOADED, ResourceLoaded { path: Some(path.into()) })
}

#[derive(Debug, Serialize)]
struct ResourceLoaded {
    /// What its path must be, if it is not any file.
    path: Option<TextTest>,
}

impl Condition for ResourceLoaded {
    fn written(&self) -> Option<WrittenCheck> {
        self.path.is_none().then(|| WrittenCheck::new(true))
    }

    fn evaluate(&self, subject: &GradingInput<'_>) -> Option<CheckAnswer> {
        let trace = subject.evidence.trace;
        let has_path =
            |path: &str| self.path.as_ref().is_none_or(|test| matches!(test.of(path, false), TextResult::Holds(_)));
        let is_own = |resource: &&Resource| subject.is_under_test(&resource.skill) && has_path(&resource.path);
        let own = trace.resources.iter().filter(is_own);
        let found: Vec<String> = own
            .map(|resource| format!("{} ({}){}", resource.path, resource.evidence, seen_part(resource.seen)))
            .collect();
        let which = self.path.as_ref().map_or_else(String::new, |test| format!(" whose path {}", test.words(false)));
        let expected = format!("a resource of `{}`{which} loaded", subject.skill.name);
        let text = if found.is_empty() { "none loaded".to_owned() } else { found.join("; ") };
        let step = subject.marked(
            |what| matches!(what, Marked::Resource(at) if trace.resources.get(at).is_some_and(|own| is_own(&own))),
        );
        let event = step.map_or(EventRef::Offered.into(), |step| Span::of_call(&trace.steps, step));
        Some(subject.happened(!found.is_empty(), true, expected, text).at(event))
    }

    fn settled_by(&self) -> Option<Status> {
        Some(Status::Pass)
    }
}

// The tools that load skills, and the file that they load. A check that names one of them holds, or fails, in every trial without
// skills: it asks for the skill.

/// The file of a skill that agents read.
const SKILL_FILE: &str = "SKILL.md";

/// Whether `names` fits the name of a tool that loads skills or reads their files, and that of no other built-in tool.
pub(super) fn are_named(names: impl Fn(&str) -> bool) -> bool {
    let ToolNames { server, skill, resource } = ToolNames::default();
    let of_server = [skill, resource].map(|tool| format!("mcp__{server}__{tool}"));
    let agents = || AgentKind::ALL.into_iter().map(|kind| &kind.profile().tools);
    let others =
        agents().flat_map(|tools| [tools.shells, tools.reads, tools.finds, tools.edits, tools.searches].concat());
    let loads = agents().any(|tools| tools.skills.iter().any(|tool| names(tool)));
    (loads || of_server.iter().any(|tool| names(tool))) && !others.into_iter().any(names)
}

/// Whether this text or pattern, of a command or of the input of a tool, names the file of a skill.
pub(super) fn is_file_in(pattern: &str) -> bool {
    pattern.replace('\\', "").contains(SKILL_FILE)
}

// The whole description of the skill under test enters the model's context.

pub(in crate::checks) static DESCRIBED: CheckKind = CheckKind::new("described", Goal::Process)
    .about_skill()
    .by(Reading::Delivered)
    .with_field("described", "expectDescribed", FieldForm::Flag, |value| {
        matches!(value, FieldValue::Flag(true)).then(|| Arc::new(DescriptionCheck) as Arc<dyn Condition>)
    });

#[derive(Debug, Serialize)]
struct DescriptionCheck;

impl Condition for DescriptionCheck {
    fn written(&self) -> Option<WrittenCheck> {
        Some(WrittenCheck::new(true))
    }

    fn evaluate(&self, subject: &GradingInput<'_>) -> Option<CheckAnswer> {
        let visibility = subject.evidence.described(&subject.skill.slug).unwrap_or_default();
        let (status, found) = match visibility {
            DescriptionVisibility::Whole => (Status::Pass, visibility.to_string()),
            DescriptionVisibility::Cut { .. } | DescriptionVisibility::NameOnly => {
                (Status::Fail, visibility.to_string())
            }
            DescriptionVisibility::Unknown => {
                (Status::Unknown, "the evidence does not show how much of it the model was shown".to_owned())
            }
        };
        let expected = format!("the whole description of `{}` before the model", subject.skill.name);
        Some(CheckAnswer::new(status, expected, found).at(EventRef::Offered))
    }
}
