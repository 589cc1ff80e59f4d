//! A file of the skill other than SKILL.md is loaded.

use std::sync::Arc;

use crate::checks::kinds::trigger::seen_part;
use crate::checks::{Ask, CheckAnswer, CheckField, CheckKind, Field, FieldForm, FieldValue, Subject};
use crate::trace::Marked;
use crate::trial::outcome::Goal;
use crate::trial::span::{EventRef, Span};

pub(in crate::checks) static LOADED: CheckKind = CheckKind {
    id: "resource-loaded",
    goal: Goal::Process,
    asks_for_skill: true,
    field: Some(CheckField {
        field: Field { column: "expect_resource_load", key: "expectResourceLoad", form: FieldForm::Flag },
        ask: |value| matches!(value, FieldValue::Flag(true)).then(|| Arc::new(ResourceLoaded) as Arc<dyn Ask>),
    }),
};

#[derive(Debug)]
struct ResourceLoaded;

impl Ask for ResourceLoaded {
    fn evaluate(&self, subject: &Subject<'_>) -> Option<CheckAnswer> {
        let trace = subject.evidence.trace;
        let own = trace.resources.iter().filter(|resource| subject.is_under_test(&resource.skill));
        let found: Vec<String> =
            own.map(|hit| format!("{} ({}){}", hit.path, hit.evidence, seen_part(hit.seen))).collect();
        let expected = format!("a resource of `{}` loaded", subject.skill.name);
        let text = if found.is_empty() { "none loaded".to_owned() } else { found.join("; ") };
        let is_own = |at: usize| trace.resources.get(at).is_some_and(|one| subject.is_under_test(&one.skill));
        let step = subject.marked(|what| matches!(what, Marked::Resource(at) if is_own(at)));
        let event = step.map_or(EventRef::Offered.into(), |step| Span::of_call(&trace.steps, step));
        Some(subject.happened(!found.is_empty(), true, expected, text).at(event))
    }
}
