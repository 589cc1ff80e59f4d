//! Values of fields in a document.

use super::{Document, Node, NodeValue};
use crate::checks::{FieldForm, FieldValue, InvalidField};
use crate::settings::trials::TRIALS;
use crate::text::diagnostic::{Code, shorten};

impl Document<'_> {
    /// Reports a list that holds nothing.
    pub fn not_empty(&mut self, name: &str, list: &Node) {
        if list.elements().is_some_and(<[Node]>::is_empty) {
            let problem = self.problem(Code::EmptyValue, list.range.clone(), format!("`{name}` is an empty list"));
            problem.help = Some("write what must hold, or leave the key out".to_owned());
        }
    }

    /// The values of the field `name`: one, or a list of them.
    pub fn field_values(&mut self, name: &str, form: FieldForm, written: &Node) -> Vec<FieldValue> {
        let list = written.elements().filter(|_| form.is_list()).unwrap_or(std::slice::from_ref(written));
        list.iter().filter_map(|element| self.field_value(name, form, element)).collect()
    }

    /// A value of the field `name`.
    pub fn field_value(&mut self, name: &str, form: FieldForm, written: &Node) -> Option<FieldValue> {
        if form == FieldForm::Files && written.is_map() {
            return self.input_file(name, written).map(FieldValue::File);
        }
        let is_number = matches!(form, FieldForm::Number { .. } | FieldForm::Share | FieldForm::Amount);
        let text = match &written.value {
            _ if form == FieldForm::Json => return Some(FieldValue::Json(written.json())),
            NodeValue::Flag(flag) if form == FieldForm::Flag => flag.to_string(),
            NodeValue::Number(number) if is_number || form == FieldForm::Trials => number.clone(),
            NodeValue::Text(text) if form != FieldForm::Flag && !is_number => text.clone(),
            _ => {
                let expected = match form {
                    FieldForm::Flag => "true or false",
                    FieldForm::Trials => TRIALS,
                    FieldForm::Texts => "a list of strings",
                    FieldForm::Files => "a path, or an object with `path`, and `content` or `source`",
                    _ if is_number => "a number",
                    _ if form.is_list() => "a string or a list of strings",
                    _ => "a string",
                };
                self.wrong_type(&format!("`{name}`"), expected, written);
                return None;
            }
        };
        form.read(name, &text, &shorten(&text))
            .map_err(|InvalidField { code, message, help }| {
                self.problem(code, written.range.clone(), message).help = Some(help);
            })
            .ok()
    }
}
