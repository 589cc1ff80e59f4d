//! A file of the skill other than SKILL.md is loaded.

use std::sync::Arc;

use serde::Serialize;

use crate::checks::kinds::trigger::seen_part;
use crate::checks::pattern::Pattern;
use crate::checks::text_test::{TextResult, TextTest};
use crate::checks::{CaseCheck, CheckAnswer, CheckKind, Condition, FieldForm, FieldValue, GradingInput, WrittenCheck};
use crate::trace::{Marked, Resource};
use crate::trial::outcome::{Goal, Status};
use crate::trial::reading::Reading;
use crate::trial::span::{EventRef, Span};

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
