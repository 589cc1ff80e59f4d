//! The whole description of the skill under test enters the model's context.

use std::sync::Arc;

use serde::Serialize;

use crate::checks::{CheckAnswer, CheckKind, Condition, FieldForm, FieldValue, GradingInput, WrittenCheck};
use crate::trace::description::DescriptionVisibility;
use crate::trial::outcome::{Goal, Status};
use crate::trial::reading::Reading;
use crate::trial::span::EventRef;

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
