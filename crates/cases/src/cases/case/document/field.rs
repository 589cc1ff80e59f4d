//! Values of fields, patterns and checks in a document.

use super::{Document, Node, NodeValue};
use crate::checks::pattern::{Pattern, Style};
use crate::checks::{Check, FieldForm, FieldValue, InvalidCheck, InvalidField, Origin};
use crate::settings::trials::TRIALS;
use crate::text::diagnostic::{Code, shorten};

impl Document<'_> {
    /// Reports a list that holds nothing.
    pub fn not_empty(&mut self, name: &str, list: &Node) {
        if list.elements().is_some_and(<[Node]>::is_empty) {
            let message = format!("`{name}` is an empty list");
            let help = "write what must hold, or leave the key out";
            self.problem_with_help(Code::EmptyValue, list.range.clone(), message, help);
        }
    }

    /// The regular expression in `node`, the value of `key`, if it is one that compiles.
    pub fn pattern(&mut self, key: &str, node: &Node) -> Option<Pattern> {
        let Some(text) = node.text() else {
            self.wrong_type(&format!("`{key}`"), "a string", node);
            return None;
        };
        let pattern = Pattern { text: text.to_owned(), style: Style::Exact };
        let Err(error) = pattern.check() else { return Some(pattern) };
        let (message, help) = pattern.problem(key, &error);
        self.problem_with_help(Code::InvalidCheck, node.range.clone(), message, help);
        None
    }

    /// The check that is written in `node`, or the problem of values that make none.
    pub fn check(&mut self, node: &Node, check: Result<Check, InvalidCheck>) -> Option<Check> {
        check
            .map_err(|InvalidCheck { message, help, .. }| {
                self.problem_with_help(Code::InvalidCheck, node.range.clone(), message, help);
            })
            .ok()
    }

    /// Says that these checks are written in `node`, at `key`.
    pub fn locate(&self, key: &'static str, node: &Node, checks: &mut [Check]) {
        let place = self.place(node.range.clone());
        for check in checks {
            check.origin = Origin { key: key.into(), line: place.line, elsewhere: Some(place.clone()) };
        }
    }

    /// The values of the field `name`: one, or a list of them.
    pub fn field_values(&mut self, name: &str, form: FieldForm, written: &Node) -> Vec<FieldValue> {
        let list = written.elements().filter(|_| form.is_list()).unwrap_or(std::slice::from_ref(written));
        // No check is made of it.
        if matches!(form, FieldForm::Patterns | FieldForm::Paths | FieldForm::Sources) {
            self.not_empty(name, written);
        }
        list.iter().filter_map(|element| self.field_value(name, form, element)).collect()
    }

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
        let value = form.read(name, &text, &shorten(&text));
        let places = self.places.as_ref();
        value
            .and_then(|value| places.map_or(Ok(value.clone()), |places| places.found(name, form, &text, value)))
            .map_err(|InvalidField { code, message, help }| {
                self.problem_with_help(code, written.range.clone(), message, help);
            })
            .ok()
    }
}
