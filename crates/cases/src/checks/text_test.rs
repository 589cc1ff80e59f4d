//! What a text must be: it contains, matches or equals something, or is JSON with such a value.

use std::ops::Range;

use serde::Serialize;
use serde::de::IgnoredAny;
use serde_json::Value as Json;

use crate::checks::pattern::{Pattern, Style};
use crate::text::diagnostic::shorten;
use crate::text::redact::is_masked;
use crate::text::word_enum::word_enum;
use crate::trace::excerpt;

/// Maximum number of matches that one check marks.
pub(super) const MAX_SPANS: usize = 50;

/// Maximum number of bytes that the search for JSON in a text reads. It reads some of them again for each open bracket.
const MOST_BYTES: usize = 1 << 26;

/// From here on, not every integer is a 64-bit float.
const EXACT_FLOATS: f64 = 9_007_199_254_740_992.0;

/// What a text must be.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TextTest {
    /// Which part of the text is read as JSON; `None` if it is just text.
    pub json: Option<JsonPart>,
    /// The JSON pointer of the value that is tested; empty for the whole.
    pub at: String,
    /// What the text or value must be.
    pub want: TextWant,
    /// Whether it must not be so.
    pub negated: bool,
}

word_enum! {
    /// The part of a text that is JSON.
    pub enum JsonPart {
        /// All of it.
        Whole = "whole",
        /// A value in it: an object or an array.
        Within = "within",
    }
}

/// What a text or value must be.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub enum TextWant {
    /// It must be there.
    Present,
    /// It is an object, or holds one.
    Object,
    /// It contains or matches this. A value that is not a string counts as its JSON text.
    Pattern(Pattern),
    /// It equals this. Plain text equals only a string.
    Equal(Json),
}

/// Whether a text is as wanted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TextResult {
    /// It is, by these bytes of it; none if all of it is.
    Holds(Vec<Range<usize>>),
    /// It is not; with the reason.
    Differs(String),
    /// The evidence does not show it; with the reason.
    Unknown(String),
}

impl TextWant {
    /// It in words, as the rest of a sentence about a text or value.
    fn words(&self, negated: bool) -> String {
        let verb = |yes: &'static str, no: &'static str| if negated { no } else { yes };
        let equals = verb("equals", "does not equal");
        match self {
            Self::Present => verb("is there", "is not there").to_owned(),
            Self::Object => verb("has an object", "has no object").to_owned(),
            Self::Equal(Json::String(text)) => format!("{equals} {:?}", excerpt(text)),
            Self::Equal(value) => format!("{equals} {value}"),
            Self::Pattern(Pattern { text, style: Style::Literal | Style::Verbatim }) => {
                format!("{} \"{text}\"", verb("contains", "does not contain"))
            }
            // As it is written: nobody escapes it twice.
            Self::Pattern(pattern) => format!("{} \"{}\"", verb("matches", "does not match"), pattern.text),
        }
    }
}

impl From<Pattern> for TextTest {
    fn from(pattern: Pattern) -> Self {
        Self::new(TextWant::Pattern(pattern))
    }
}

impl TextTest {
    /// A text that is as wanted.
    pub fn new(want: TextWant) -> Self {
        Self { json: None, at: String::new(), want, negated: false }
    }

    /// The pattern that a plain text is searched for.
    pub fn plain_pattern(&self) -> Option<&Pattern> {
        match &self.want {
            TextWant::Pattern(pattern) if self.json.is_none() => Some(pattern),
            _ => None,
        }
    }

    /// Why its result is that of every text, if it is.
    pub fn without_effect(&self) -> Option<String> {
        let pattern = self.plain_pattern()?;
        if pattern.text.is_empty() {
            return Some("the text to look for is empty: every text has it".to_owned());
        }
        Some(same_answer(&pattern.text, pattern.same_for_all()?, self.negated))
    }

    /// The same where a text has to be there at all, which a pattern of any text asks for.
    pub fn without_text(&self) -> Option<String> {
        let pattern = self.plain_pattern()?;
        let asks = !self.negated && !pattern.text.is_empty() && pattern.same_for_all() == Some(true);
        self.without_effect().filter(|_| !asks)
    }

    /// The test in words, as the rest of a sentence about a text.
    pub fn words(&self, negated: bool) -> String {
        let Some(part) = self.json else { return self.want.words(negated) };
        let value = match (&self.want, self.at.as_str()) {
            (TextWant::Present, "") => String::new(),
            (TextWant::Present, at) => format!(" with a value at {at}"),
            (want, "") => format!(" that {}", want.words(false)),
            (want, at) => format!(" with a value at {at} that {}", want.words(false)),
        };
        let json = match (part, negated) {
            (JsonPart::Whole, false) => "is JSON",
            (JsonPart::Whole, true) => "is not JSON",
            (JsonPart::Within, false) => "contains JSON",
            (JsonPart::Within, true) => "contains no JSON",
        };
        format!("{json}{value}")
    }

    /// Whether a text is as wanted, whatever [`TextTest::negated`] says. Of a `cut` text, the end is missing.
    pub fn of(&self, text: &str, cut: bool) -> TextResult {
        let result = match self.json {
            None => self.of_text(text, cut),
            Some(_) if cut => TextResult::Unknown("the trace holds only the start of the text".to_owned()),
            Some(part) => self.of_json(text, part),
        };
        match result {
            // The evidence is masked before it is graded.
            TextResult::Differs(_) if is_masked(text) => {
                TextResult::Unknown(format!("not found, but a secret in it is masked: {}", excerpt(text)))
            }
            result => result,
        }
    }

    fn of_text(&self, text: &str, cut: bool) -> TextResult {
        let pattern = match &self.want {
            TextWant::Present => return TextResult::Holds(Vec::new()),
            TextWant::Object => return TextResult::Differs("it is plain text".to_owned()),
            TextWant::Equal(_) if cut => {
                return TextResult::Unknown("the trace holds only the start of the text".to_owned());
            }
            TextWant::Equal(Json::String(wanted)) if text == wanted => return TextResult::Holds(Vec::new()),
            TextWant::Equal(_) => return TextResult::Differs(format!("it is {:?}", excerpt(text))),
            TextWant::Pattern(pattern) => pattern,
        };
        let search = match pattern.compile() {
            Ok(search) => search,
            Err(error) => return TextResult::Unknown(error.to_string()),
        };
        let mut matches = match search.matches(text, MAX_SPANS) {
            Ok(matches) => matches,
            Err(error) => return TextResult::Unknown(error.to_string()),
        };
        if cut {
            // The missing rest may change what matches at the end.
            matches.retain(|found| search.is_local() && found.end < text.len());
        }
        match matches.is_empty() {
            false => TextResult::Holds(matches),
            true if cut => {
                TextResult::Unknown("not in the start of the text, which is all that the trace holds".to_owned())
            }
            true => TextResult::Differs(format!("it does not: {}", excerpt(text))),
        }
    }

    fn of_json(&self, text: &str, part: JsonPart) -> TextResult {
        let values = match part {
            JsonPart::Whole => {
                let text = without_mark(text);
                if let Err(error) = serde_json::from_str::<IgnoredAny>(text) {
                    return TextResult::Differs(format!("it is not JSON: {error}"));
                }
                vec![text]
            }
            JsonPart::Within => match values_within(text) {
                Some(values) => values,
                None => return TextResult::Unknown("the text has too many brackets to search it for JSON".to_owned()),
            },
        };
        let mut found = TextResult::Differs("it contains no JSON".to_owned());
        for value in values {
            match self.of_json_value(value) {
                result @ TextResult::Holds(_) => return result,
                TextResult::Differs(_) if matches!(found, TextResult::Unknown(_)) => {}
                result => found = result,
            }
        }
        found
    }

    /// Whether a text that is JSON has a value as wanted. Some JSON has no value here: a number that is too large, half of a
    /// pair of surrogates, or too many levels. Other programs read it.
    fn of_json_value(&self, json: &str) -> TextResult {
        if self.want == TextWant::Present && self.at.is_empty() {
            return TextResult::Holds(Vec::new());
        }
        match serde_json::from_str(json) {
            Ok(value) => self.of_value(&value),
            Err(error) => TextResult::Unknown(format!("its JSON cannot be compared: {error}")),
        }
    }

    /// Whether the test is about a value in JSON, and a text has no JSON.
    pub(super) fn looks_into_no_json(&self, text: &str) -> bool {
        let is_about_value = self.want != TextWant::Present || !self.at.is_empty();
        let any = Self { json: self.json, ..Self::new(TextWant::Present) };
        self.json.is_some() && is_about_value && matches!(any.of(text, false), TextResult::Differs(_))
    }

    /// Whether a JSON value is as wanted.
    fn of_value(&self, value: &Json) -> TextResult {
        let Some(value) = value.pointer(&self.at) else {
            return TextResult::Differs(format!("no value at {} in {}", self.at, excerpt(&value.to_string())));
        };
        let shown = || excerpt(&value.to_string());
        match &self.want {
            TextWant::Present => TextResult::Holds(Vec::new()),
            TextWant::Object if has_object(value) => TextResult::Holds(Vec::new()),
            TextWant::Object => TextResult::Differs(format!("no object in {}", shown())),
            // Numbers that differ as floats differ as written, but not the other way around.
            TextWant::Equal(wanted) if equal(wanted, value) && has_rounded_number(value) => rounded(),
            TextWant::Equal(wanted) if equal(wanted, value) => TextResult::Holds(Vec::new()),
            TextWant::Pattern(_) if has_rounded_number(value) => rounded(),
            TextWant::Equal(_) if self.at.is_empty() => TextResult::Differs(format!("it is {}", shown())),
            TextWant::Equal(_) => TextResult::Differs(format!("the value at {} is {}", self.at, shown())),
            TextWant::Pattern(_) => {
                let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
                match self.of_text(&text, false) {
                    // The bytes are those of the value, not of the text that holds it.
                    TextResult::Holds(_) => TextResult::Holds(Vec::new()),
                    TextResult::Differs(_) => TextResult::Differs(format!("the value at {} is {}", self.at, shown())),
                    unknown @ TextResult::Unknown(_) => unknown,
                }
            }
        }
    }
}

/// That a check gives every text the same answer, in words.
pub(super) fn same_answer(pattern: &str, has_match: bool, negated: bool) -> String {
    let texts = if has_match { "every text" } else { "no text" };
    let end = if has_match == negated { "pass" } else { "fail" };
    format!("this check can never {end}: {texts} matches \"{}\"", shorten(pattern))
}

/// A text without the byte order mark that some programs write before it.
fn without_mark(text: &str) -> &str {
    text.strip_prefix('\u{feff}').unwrap_or(text)
}

/// The text of a program's answer.
pub(super) fn json_text(text: &str) -> &str {
    without_mark(text).trim()
}

/// Whether a value has a number that is read as a float and may have lost digits: those of a large integer.
pub(super) fn has_rounded_number(value: &Json) -> bool {
    match value {
        Json::Number(number) => number.is_f64() && number.as_f64().is_some_and(|float| float.abs() >= EXACT_FLOATS),
        Json::Array(values) => values.iter().any(has_rounded_number),
        Json::Object(values) => values.values().any(has_rounded_number),
        _ => false,
    }
}

fn has_object(value: &Json) -> bool {
    value.is_object() || value.as_array().is_some_and(|values| values.iter().any(has_object))
}

fn rounded() -> TextResult {
    TextResult::Unknown("it has a number that is too large to be compared exactly".to_owned())
}

/// Whether two values are the same; 1 and 1.0 are.
fn equal(a: &Json, b: &Json) -> bool {
    match (a, b) {
        // Integers are exact. As floats, two that differ may be the same.
        (Json::Number(one), Json::Number(other)) if !one.is_f64() && !other.is_f64() => one == other,
        (Json::Number(one), Json::Number(other)) => one.as_f64() == other.as_f64(),
        (Json::Array(one), Json::Array(other)) => {
            one.len() == other.len() && one.iter().zip(other).all(|(a, b)| equal(a, b))
        }
        (Json::Object(one), Json::Object(other)) => {
            one.len() == other.len() && one.iter().all(|(key, a)| other.get(key).is_some_and(|b| equal(a, b)))
        }
        _ => a == b,
    }
}

/// The objects and arrays in a text, none inside another; `None` if the search would take too long.
fn values_within(text: &str) -> Option<Vec<&str>> {
    let mut values = Vec::new();
    let (mut at, mut read) = (0, 0);
    while let Some(start) = text[at..].find(['{', '[']).map(|found| at + found) {
        let rest = &text[start..];
        let mut stream = serde_json::Deserializer::from_str(rest).into_iter::<IgnoredAny>();
        at = start + 1;
        if let Some(Err(error)) = stream.next() {
            let lines = rest.split_inclusive('\n').take(error.line().saturating_sub(1));
            read += lines.map(str::len).sum::<usize>() + error.column();
        } else {
            at = start + stream.byte_offset();
            values.push(&text[start..at]);
        }
        if read > MOST_BYTES {
            return None;
        }
    }
    Some(values)
}
