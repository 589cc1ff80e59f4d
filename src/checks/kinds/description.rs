//! The whole description of the skill under test enters the model's context.

use std::sync::Arc;

use crate::checks::{Ask, CheckAnswer, CheckField, CheckKind, Field, FieldForm, FieldValue, Subject};
use crate::trace::description::DescriptionVisibility as Extent;
use crate::trial::outcome::{Goal, Status};
use crate::trial::span::EventRef;

pub(in crate::checks) static DESCRIBED: CheckKind = CheckKind {
    id: "described",
    goal: Goal::Process,
    asks_for_skill: true,
    field: Some(CheckField {
        field: Field { column: "described", key: "expectDescribed", form: FieldForm::Flag },
        ask: |value| matches!(value, FieldValue::Flag(true)).then(|| Arc::new(DescriptionCheck) as Arc<dyn Ask>),
    }),
};

#[derive(Debug)]
struct DescriptionCheck;

impl Ask for DescriptionCheck {
    fn evaluate(&self, subject: &Subject<'_>) -> Option<CheckAnswer> {
        let extent = subject.evidence.described(&subject.skill.slug).unwrap_or_default();
        let status = match extent {
            Extent::Whole => Status::Pass,
            Extent::Cut { .. } | Extent::NameOnly => Status::Fail,
            Extent::Unknown => Status::Unknown,
        };
        let found = match extent {
            Extent::Unknown => "the evidence does not show how much of it the model was shown".to_owned(),
            seen => seen.to_string(),
        };
        let expected = format!("the whole description of `{}` before the model", subject.skill.name);
        Some(CheckAnswer::new(status, expected, found).at(EventRef::Offered))
    }
}
