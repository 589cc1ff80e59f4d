//! A file of the skill other than SKILL.md is loaded.

use std::sync::Arc;

use crate::checks::kinds::trigger::seen_part;
use crate::checks::{Ask, CheckAnswer, CheckKind, FieldForm, FieldValue, Subject};
use crate::trace::{Marked, Resource};
use crate::trial::outcome::{Goal, Status};
use crate::trial::span::{EventRef, Span};

pub(in crate::checks) static LOADED: CheckKind = CheckKind::new("resource-loaded", Goal::Process)
    .about_skill()
    .with_field("expect_resource_load", "expectResourceLoad", FieldForm::Flag, |value| {
        matches!(value, FieldValue::Flag(true)).then(|| Arc::new(ResourceLoaded) as Arc<dyn Ask>)
    });

#[derive(Debug)]
struct ResourceLoaded;

impl Ask for ResourceLoaded {
    fn evaluate(&self, subject: &Subject<'_>) -> Option<CheckAnswer> {
        let trace = subject.evidence.trace;
        let is_own = |resource: &&Resource| subject.is_under_test(&resource.skill);
        let own = trace.resources.iter().filter(is_own);
        let found: Vec<String> = own
            .map(|resource| format!("{} ({}){}", resource.path, resource.evidence, seen_part(resource.seen)))
            .collect();
        let expected = format!("a resource of `{}` loaded", subject.skill.name);
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
