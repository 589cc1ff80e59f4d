//! The list `checks` of a case: each object in it names a kind of check by its main key, with options next to it.

use std::sync::Arc;

use serde_json::{Map, Value as Json};

use crate::checks::call_count::CallCount;
use crate::checks::pattern::{Pattern, Style};
use crate::checks::text_test::{JsonPart, TextTest, TextWant, has_rounded_number};
use crate::checks::{CheckKind, Condition, FieldForm, FieldValue, KINDS};

/// How the list writes a kind of check.
#[derive(Debug)]
pub struct ListForm {
    /// The key that names the kind.
    pub key: &'static str,
    /// The form of its value.
    pub form: FieldForm,
    /// The keys that may be next to it.
    pub options: &'static [(&'static str, FieldForm)],
    /// Whether the keys that say what a text must be may be there, too.
    pub tests: bool,
    /// Makes the question.
    pub ask: fn(&ListedCheck) -> Result<Arc<dyn Condition>, InvalidCheck>,
}

/// An object of the list.
#[derive(Debug, Default)]
pub struct ListedCheck {
    /// The values of each key that is there.
    pub values: Vec<(&'static str, Vec<FieldValue>)>,
}

/// A check as a case writes it: what [`ListForm::ask`] reads.
#[derive(Clone, Debug, PartialEq)]
pub struct WrittenCheck {
    /// The value at the key of its kind.
    pub value: Json,
    /// The options next to that key.
    pub options: Map<String, Json>,
}

impl WrittenCheck {
    /// A value without options.
    pub(super) fn new(value: impl Into<Json>) -> Self {
        Self { value: value.into(), options: Map::new() }
    }

    /// The same with an option.
    pub(super) fn with(mut self, key: &str, value: impl Into<Json>) -> Self {
        self.options.insert(key.to_owned(), value.into());
        self
    }

    /// The same with an option if `is_set`.
    pub(super) fn with_flag(self, key: &str, is_set: bool) -> Self {
        if is_set { self.with(key, true) } else { self }
    }

    /// The same with the keys of [`TESTS`] that make this test; `None` if none do.
    pub(super) fn with_test(self, test: &TextTest) -> Option<Self> {
        let TextTest { json, at, want, negated } = test;
        let mut written = match want {
            TextWant::Present => self,
            TextWant::Object => return None,
            TextWant::Equal(value) => self.with("equals", value.clone()),
            TextWant::Pattern(Pattern { text, style }) => match style {
                Style::Literal => self.with("contains", text.as_str()).with("ignoreCase", true),
                Style::Verbatim => self.with("contains", text.as_str()),
                Style::Exact => self.with("matches", text.as_str()),
                Style::Lower | Style::Loose | Style::JavaScript => return None,
            },
        };
        if let Some(part) = json {
            written = written.with("json", part.as_str());
        }
        if !at.is_empty() {
            written = written.with("at", at.as_str());
        }
        Some(written.with_flag("not", *negated))
    }

    /// The same with the keys of [`COUNTS`] that mean this count.
    pub(super) fn with_count(self, count: CallCount) -> Self {
        match count {
            CallCount::SOME => self,
            CallCount::NONE => self.with("not", true),
            CallCount { least: 0, most: Some(most) } => self.with("atMost", most),
            CallCount { least, most: None } => self.with("atLeast", least),
            CallCount { least, most: Some(most) } => self.with("atLeast", least).with("atMost", most),
        }
    }
}

/// Why an object of the list is not a check.
#[derive(Debug)]
pub struct InvalidCheck {
    /// The key to look at.
    pub key: &'static str,
    /// What is wrong.
    pub message: String,
    /// What to do.
    pub help: String,
}

impl InvalidCheck {
    /// A problem of this key.
    pub fn new(key: &'static str, message: impl Into<String>, help: impl Into<String>) -> Self {
        Self { key, message: message.into(), help: help.into() }
    }
}

/// The keys of [`TESTS`] that say what is wanted.
const WANTS: [&str; 3] = ["contains", "matches", "equals"];

/// The keys that say what a text must be; [`test_of`] reads them.
const TESTS: [(&str, FieldForm); 6] = [
    ("contains", FieldForm::Text),
    ("matches", FieldForm::Pattern(Style::Exact)),
    ("equals", FieldForm::Json),
    ("ignoreCase", FieldForm::Flag),
    ("json", FieldForm::Choice(&JsonPart::WORDS)),
    ("at", FieldForm::Pointer),
];

impl ListForm {
    /// The keys that an object of this kind may have.
    pub fn keys(&self) -> impl Iterator<Item = (&'static str, FieldForm)> {
        std::iter::once((self.key, self.form))
            .chain(self.options.iter().copied())
            .chain(TESTS.into_iter().filter(|_| self.tests))
    }
}

/// The keys that say how often something must happen; [`ListedCheck::count`] reads them.
pub(super) const COUNTS: [(&str, FieldForm); 3] =
    [("not", FieldForm::Flag), ("atLeast", FieldForm::LIMIT), ("atMost", FieldForm::LIMIT)];

/// The kinds that the list can write.
pub fn listed() -> impl Iterator<Item = (&'static CheckKind, &'static ListForm)> {
    KINDS.iter().copied().filter_map(|kind| Some((kind, kind.listed?)))
}

impl ListedCheck {
    /// The values of a key; `None` if it is not there.
    pub fn all(&self, key: &str) -> Option<&[FieldValue]> {
        self.values.iter().find(|(known, _)| *known == key).map(|(_, values)| values.as_slice())
    }

    fn one(&self, key: &str) -> Option<&FieldValue> {
        self.all(key)?.first()
    }

    pub fn text(&self, key: &str) -> Option<&str> {
        if let Some(FieldValue::Text(text)) = self.one(key) { Some(text) } else { None }
    }

    /// The texts of a key with a list; `None` if it is not there.
    pub fn texts(&self, key: &str) -> Option<Vec<String>> {
        let texts = self.all(key)?.iter().filter_map(|value| match value {
            FieldValue::Text(text) => Some(text.clone()),
            _ => None,
        });
        Some(texts.collect())
    }

    /// Whether a key is true.
    pub fn is(&self, key: &str) -> bool {
        self.one(key) == Some(&FieldValue::Flag(true))
    }

    pub fn flag(&self, key: &str) -> Option<bool> {
        if let Some(FieldValue::Flag(flag)) = self.one(key) { Some(*flag) } else { None }
    }

    pub fn number(&self, key: &str) -> Option<u64> {
        self.one(key)?.number()
    }

    pub fn pattern(&self, key: &str) -> Option<&Pattern> {
        if let Some(FieldValue::Pattern(pattern)) = self.one(key) { Some(pattern) } else { None }
    }

    /// How often something must happen, by the keys of [`COUNTS`].
    pub(super) fn count(&self) -> Result<CallCount, InvalidCheck> {
        let (least, most) = (self.number("atLeast"), self.number("atMost"));
        if self.is("not") {
            return match [("atLeast", least), ("atMost", most)].into_iter().find(|(_, given)| given.is_some()) {
                Some((key, _)) => Err(InvalidCheck::new(key, "`not` means never", "leave out one of them")),
                None => Ok(CallCount { least: 0, most: Some(0) }),
            };
        }
        let least = least.unwrap_or(u64::from(most.is_none()));
        if most.is_some_and(|most| most < least) {
            return Err(InvalidCheck::new("atMost", "`atMost` is less than `atLeast`", "swap them"));
        }
        if (least, most) == (0, None) {
            let help = "write 1 or more, or `atMost`";
            return Err(InvalidCheck::new("atLeast", "`atLeast` is 0: that always holds", help));
        }
        Ok(CallCount { least, most })
    }

    fn json(&self, key: &str) -> Option<&Json> {
        if let Some(FieldValue::Json(value)) = self.one(key) { Some(value) } else { None }
    }
}

/// The test that the keys of [`TESTS`] make; `None` if they make none.
pub(super) fn test_of(check: &ListedCheck) -> Result<Option<TextTest>, InvalidCheck> {
    let given: Vec<&'static str> = WANTS.into_iter().filter(|key| check.all(key).is_some()).collect();
    if let [_, second, ..] = given[..] {
        let message = format!("a check has one of `{}`", WANTS.join("`, `"));
        return Err(InvalidCheck::new(second, message, "write two checks"));
    }
    let ignores_case = check.is("ignoreCase");
    let want = if let Some(text) = check.text("contains") {
        if text.is_empty() {
            return Err(InvalidCheck::new("contains", "every text contains an empty one", "write a text"));
        }
        let style = if ignores_case { Style::Literal } else { Style::Verbatim };
        TextWant::Pattern(Pattern { text: text.to_owned(), style })
    } else if let Some(pattern) = check.pattern("matches") {
        let flags = if ignores_case { "(?i)" } else { "" };
        TextWant::Pattern(Pattern { text: format!("{flags}{}", pattern.text), style: pattern.style })
    } else if let Some(value) = check.json("equals") {
        if has_rounded_number(value) {
            let help = "compare the text: use `matches` without `at`";
            return Err(InvalidCheck::new("equals", "`equals` has a number that is too large to be compared", help));
        }
        TextWant::Equal(value.clone())
    } else {
        TextWant::Present
    };
    if ignores_case && !matches!(want, TextWant::Pattern(_)) {
        let help = "use it next to `contains` or `matches`";
        return Err(InvalidCheck::new("ignoreCase", "`ignoreCase` has nothing to apply to", help));
    }
    let part = check.text("json").and_then(JsonPart::named);
    let at = check.text("at").unwrap_or_default().to_owned();
    // Only JSON has values at pointers, and values that are not strings.
    let needs_json = check.all("at").is_some() || matches!(&want, TextWant::Equal(value) if !value.is_string());
    let json = part.or(needs_json.then_some(JsonPart::Whole));
    if json.is_none() && want == TextWant::Present {
        return Ok(None);
    }
    Ok(Some(TextTest { json, at, want, negated: check.is("not") }))
}
