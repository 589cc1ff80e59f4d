//! Assertions of a test as checks, and as assertions for the judge.

use std::time::Duration;

use serde_json::Value as Json;

use super::template;
use super::test_reader::{ASSERT, SKILL_USED, THRESHOLD, TestReader, VALUE, WEIGHT, kind, weight};
use crate::cases::case::document::{Node, NodeValue};
use crate::cases::case::graders::{Graders, KnownTool};
use crate::checks::pattern::{Pattern, Style};
use crate::checks::text_test::{JsonPart, TextTest, TextWant};
use crate::checks::{self, Origin, TextPlace};
use crate::text::diagnostic::shorten;
use crate::trial::outcome::Weight;

/// Assertions, each also with `not-`: the key of what they ask for, more keys, and what reads them.
#[expect(clippy::redundant_closure_for_method_calls, reason = "a method of a type with lifetimes is less general")]
pub(super) static ASSERTIONS: Graders<Assertion> = Graders::of(
    "assertion",
    &[
        (
            "contains contains-any contains-all icontains icontains-any icontains-all",
            Assertion(VALUE, &[], |reader, written| reader.contains(written)),
        ),
        ("starts-with ends-with", Assertion(VALUE, &[], |reader, written| reader.at_end(written))),
        ("equals", Assertion(VALUE, &[], |reader, written| reader.equals(written))),
        ("regex", Assertion(VALUE, &[], |reader, written| reader.regex(written))),
        ("is-json contains-json", Assertion("type", &[VALUE], |reader, written| reader.json(written))),
        (RUBRIC, Assertion(VALUE, &[THRESHOLD, "provider"], |reader, written| reader.rubric(written))),
        ("trajectory:goal-success", Assertion(VALUE, &["provider"], |reader, written| reader.goal(written))),
        (SKILL_USED, Assertion(VALUE, &[], |reader, written| reader.skill_use(written.value, written.is_not))),
        ("cost latency", Assertion(THRESHOLD, &[], |reader, written| reader.limit(written))),
        ("trajectory:tool-used", Assertion(VALUE, &[], |reader, written| reader.tool(written))),
        (SET, Assertion(ASSERT, &[THRESHOLD], |reader, written| reader.set(written))),
    ],
)
.and_others(
    "trajectory:step-count trajectory:tool-sequence contains-html contains-sql contains-xml is-html is-sql is-xml",
);

/// The key of what an assertion asks for, its other keys, and what reads it.
#[derive(Debug)]
pub(super) struct Assertion(&'static str, &'static [&'static str], fn(&mut TestReader<'_, '_>, Written<'_>));

/// The assertion that asks a judge.
const RUBRIC: &str = "llm-rubric";

/// The assertion that is a set of others.
const SET: &str = "assert-set";

/// The key of an assertion that must hold, whatever the score is.
const REQUIRED: &str = "required";

/// Larger weights could have an infinite sum.
const MOST_WEIGHT: f64 = 1e6;

/// Keys that every assertion may have.
const NOTES: &str = "metric weight name description id required";

/// An assertion while it is read.
#[derive(Clone, Copy)]
pub(super) struct Written<'n> {
    node: &'n Node,
    kind: &'n str,
    is_not: bool,
    /// Its value, or another key that it must have.
    value: &'n Node,
}

impl TestReader<'_, '_> {
    pub(super) fn assertions(&mut self, object: &Node) {
        match object.get(ASSERT) {
            Some(list) if list.text().is_some() => self.not_done(list, "assertions of another file"),
            _ => {
                for node in self.list(object, ASSERT).unwrap_or_default() {
                    self.assertion(node);
                }
            }
        }
    }

    pub(super) fn assertion(&mut self, node: &Node) {
        let (before, judged, said) = (self.case.checks.len(), self.case.assertions.len(), self.case.should_trigger);
        match node.text() {
            Some(text) if self.suite.dialect.has_criteria => self.judged(node, text, false),
            _ if !node.is_map() => self.wrong_type("an assertion", "an object", node),
            _ => self.typed(node),
        }
        let place = self.place(node.range.clone());
        // Those of a set have the places of their own assertions.
        for check in self.case.checks[before..].iter_mut().filter(|check| check.origin.key.is_empty()) {
            check.origin = Origin { key: ASSERT.into(), line: place.line, elsewhere: Some(place.clone()) };
        }
        if let Some(share) = self.share.filter(|_| !is_required(node) && !self.is_mean(node)) {
            let weight = self.part(share * weight(node));
            self.case.weigh(before, judged, weight);
            if self.case.should_trigger != said {
                self.case.weight_of_trigger = Some(weight);
            }
        }
    }

    /// The weight of one more part of the score.
    fn part(&mut self, amount: f64) -> Weight {
        self.parts += 1;
        Weight::new(amount, self.parts)
    }

    /// Whether the score of an assertion is the mean of its parts, which have weights of their own.
    fn is_mean(&self, node: &Node) -> bool {
        let (_, kind) = kind(node);
        let has_parts = || node.get(VALUE).is_some_and(|value| value.elements().is_some());
        kind == SET || self.suite.dialect.has_criteria && kind == RUBRIC && has_parts()
    }

    fn typed(&mut self, node: &Node) {
        let dialect = self.suite.dialect;
        if self.required_text(node, "type").is_none() {
            return;
        }
        let (is_not, kind) = kind(node);
        let is_negated = dialect.has_criteria && self.flag(node, "negate").unwrap_or_default();
        self.check_weight(node);
        if let Some(written) = node.get(REQUIRED).filter(|written| !matches!(written.value, NodeValue::Flag(_))) {
            self.not_done(written, format!("a `{REQUIRED}` that is neither true nor false"));
        }
        let Some(Assertion(key, more, read)) = ASSERTIONS.find(kind) else {
            return self.unknown_grader(&ASSERTIONS, kind, node, &[]);
        };
        let key = if kind == "cost" { dialect.cost } else { key };
        let negate: &[&str] = if dialect.has_criteria { &["negate"] } else { &[] };
        let keys = [&["type", key], *more, negate].concat();
        self.only_keys(node, &keys, NOTES);
        if let Some(value) = self.required(node, key) {
            read(self, Written { node, kind, is_not: is_not != is_negated, value });
        }
    }

    /// Reports a weight that cannot be part of a score.
    fn check_weight(&mut self, node: &Node) {
        let is_weight = |weight: &Node| weight.amount().is_some_and(|weight| (0.0..=MOST_WEIGHT).contains(&weight));
        if let Some(written) = node.get(WEIGHT).filter(|weight| !is_weight(weight)) {
            self.wrong_type("`weight`", "a number from 0 to a million", written);
        }
    }

    /// The text of a value, which may be a number.
    fn plain(&mut self, value: &Node) -> Option<String> {
        let text = match &value.value {
            NodeValue::Text(text) => self.rendered(value, text)?,
            NodeValue::Number(number) => {
                let text = template::number(number);
                if text.is_none() {
                    self.not_done(value, format!("the number `{}`", shorten(number)));
                }
                text?
            }
            _ => {
                self.wrong_type(&format!("`{VALUE}`"), "a string or a number", value);
                return None;
            }
        };
        if text.is_empty() {
            self.empty(value);
            return None;
        }
        Some(text)
    }

    /// The text of a value that cannot be a number.
    fn text(&mut self, value: &Node) -> Option<String> {
        if value.text().is_none() {
            self.wrong_type(&format!("`{VALUE}`"), "a string", value);
            return None;
        }
        self.plain(value)
    }

    /// Adds a check of the answer.
    fn answer(&mut self, written: Written<'_>, test: TextTest) {
        self.reads_answer = true;
        let test = TextTest { negated: written.is_not, ..test };
        self.case.checks.push(checks::text(TextPlace::Final, test));
    }

    /// The answer has this text, or a match of this pattern.
    fn matches(&mut self, written: Written<'_>, text: String, style: Style) {
        if let Some(pattern) = self.compiled(VALUE, written.value, Pattern { text, style }) {
            self.answer(written, pattern.into());
        }
    }

    fn contains(&mut self, written: Written<'_>) {
        let Some(texts) = self.several(written) else { return };
        let (ignores_case, is_any) = (written.kind.starts_with('i'), written.kind.ends_with("-any"));
        if is_any == written.is_not || texts.len() == 1 {
            let style = if ignores_case { Style::Literal } else { Style::Verbatim };
            return texts.into_iter().for_each(|text| self.matches(written, text, style));
        }
        let (lower, style): (fn(&str) -> String, _) =
            if ignores_case { (str::to_lowercase, Style::Lower) } else { (str::to_owned, Style::Exact) };
        let texts: Vec<String> = texts.iter().map(|text| regex::escape(&lower(text))).collect();
        let pattern = if is_any {
            texts.join("|")
        } else {
            texts.iter().fold(r"\A".to_owned(), |all, text| format!(r"{all}(?=[\s\S]*?{text})"))
        };
        self.matches(written, pattern, style);
    }

    /// The text; of `-any` and `-all` those of a list, or of a text with commas between them.
    fn several(&mut self, Written { kind, value, .. }: Written<'_>) -> Option<Vec<String>> {
        let texts = if !kind.contains('-') {
            vec![self.plain(value)?]
        } else if let Some(elements) = value.elements() {
            elements.iter().map(|element| self.plain(element)).collect::<Option<Vec<_>>>()?
        } else {
            let parts = parts(&self.plain(value)?);
            if parts.is_none() {
                self.not_done(value, "a list of texts with quotes that do not match");
            }
            parts?
        };
        if texts.is_empty() || texts.iter().any(String::is_empty) {
            self.empty(value);
            return None;
        }
        Some(texts)
    }

    fn at_end(&mut self, written: Written<'_>) {
        let Some(text) = self.text(written.value) else { return };
        let (text, space) = if self.suite.dialect.trims { (text.trim(), r"\s*") } else { (&*text, "") };
        let text = regex::escape(text);
        let is_start = written.kind == "starts-with";
        let text = if is_start { format!(r"\A{space}{text}") } else { format!(r"{text}{space}\z") };
        self.matches(written, text, Style::Exact);
    }

    fn equals(&mut self, written: Written<'_>) {
        let value = written.value;
        let text = match &value.value {
            NodeValue::List(_) | NodeValue::Map(_) => {
                let want = TextWant::Equal(value.json());
                return self.answer(written, TextTest { json: Some(JsonPart::Whole), ..TextTest::new(want) });
            }
            NodeValue::Flag(flag) => Some(flag.to_string()),
            _ => self.plain(value),
        };
        match text {
            Some(text) if self.suite.dialect.trims => {
                self.matches(written, format!(r"\A\s*{}\s*\z", regex::escape(text.trim())), Style::Exact);
            }
            Some(text) => self.answer(written, TextTest::new(TextWant::Equal(Json::String(text)))),
            None => {}
        }
    }

    fn regex(&mut self, written: Written<'_>) {
        if let Some(text) = self.text(written.value) {
            self.matches(written, text, Style::JavaScript);
        }
    }

    fn json(&mut self, written: Written<'_>) {
        if let Some(schema) = written.node.get(VALUE) {
            return self.not_done(schema, format!("a schema in `{}`", written.kind));
        }
        let (part, want) = match written.kind {
            "is-json" => (JsonPart::Whole, TextWant::Present),
            // Text that is nearly JSON counts there, so that more texts have none.
            _ if written.is_not => return self.not_done(written.node, "the assertion `not-contains-json`"),
            _ => (JsonPart::Within, TextWant::Object),
        };
        self.answer(written, TextTest { json: Some(part), ..TextTest::new(want) });
    }

    /// A statement for the judge.
    fn judged(&mut self, node: &Node, text: &str, is_not: bool) {
        let Some(text) = self.rendered(node, text) else { return };
        if text.trim().is_empty() {
            return self.empty(node);
        }
        self.reads_answer = true;
        let text = if is_not { format!("This does not hold: {}", text.trim()) } else { text.trim().to_owned() };
        self.judge(node, text);
    }

    fn rubric(&mut self, Written { node, is_not, value, .. }: Written<'_>) {
        if let Some(threshold) = node.get(THRESHOLD) {
            return self.not_done(threshold, "a threshold of a judge's score");
        }
        let list = value.each();
        if list.is_empty() {
            return self.empty(value);
        }
        if is_not && list.len() > 1 {
            return self.not_done(value, "that not all of several statements hold");
        }
        let sum: f64 = list.iter().map(weight).sum();
        for criterion in list {
            let judged = self.case.assertions.len();
            let outcome = criterion.get("outcome").unwrap_or(criterion);
            self.only_keys(criterion, &["outcome"], "id weight required");
            self.check_weight(criterion);
            match outcome.text() {
                Some(text) => self.judged(outcome, text, is_not),
                None => self.not_done(criterion, "a rubric that is not a text"),
            }
            let is_part = self.is_mean(node) && !is_required(node) && !is_required(criterion);
            if let Some(share) = self.share.filter(|_| is_part && sum > 0.0) {
                let weight = self.part(share * weight(node) * weight(criterion) / sum);
                self.case.weigh(usize::MAX, judged, weight);
            }
        }
    }

    fn goal(&mut self, Written { value, is_not, .. }: Written<'_>) {
        let goal = value.get("goal").unwrap_or(value);
        match goal.text() {
            Some(text) => self.judged(goal, &format!("The agent achieved this goal: {text}"), is_not),
            None => self.wrong_type(&format!("`{VALUE}`"), "a goal", value),
        }
    }

    fn limit(&mut self, Written { kind, is_not, value, node }: Written<'_>) {
        let amount = value.amount().filter(|amount| *amount >= 0.0);
        let time = amount.and_then(|milliseconds| Duration::try_from_secs_f64(milliseconds / 1_000.0).ok());
        match (kind, amount, time) {
            _ if is_not => self.not_done(node, format!("the assertion `not-{kind}`")),
            ("cost", Some(dollars), _) => self.case.checks.push(checks::max_cost(dollars)),
            ("latency", _, Some(most)) => self.case.checks.push(checks::max_duration(most)),
            _ => {
                let key = if kind == "cost" { self.suite.dialect.cost } else { THRESHOLD };
                self.wrong_type(&format!("`{key}`"), "a number of at least 0", value);
            }
        }
    }

    /// A tool is called.
    fn tool(&mut self, written: Written<'_>) {
        let only = match written.value.elements() {
            Some([only]) => only,
            _ => written.value,
        };
        let name = match only.entries() {
            [entry] if ["name", "pattern"].contains(&entry.key.as_str()) => &entry.value,
            _ => only,
        };
        let name = name.text().unwrap_or_default().to_ascii_lowercase();
        match KnownTool::of(&format!("^{}$", regex::escape(&name))) {
            Some(tool) => self.case.checks.push(tool.called(!written.is_not)),
            None => self.not_done(written.value, format!("the assertion `{}` about such tools", written.kind)),
        }
    }

    fn set(&mut self, Written { node, is_not, value: list, .. }: Written<'_>) {
        // With a threshold for all, only the score of the set counts.
        let is_alone = self.case.least_score.is_none();
        let is_part = is_alone && node.get(THRESHOLD).and_then(Node::amount).is_none_or(|least| least < 1.0);
        if let Some(threshold) = node.get(THRESHOLD).filter(|_| is_part) {
            return self.not_done(threshold, "a threshold of a set of assertions");
        }
        if let Some(weight) = node.get(WEIGHT).filter(|_| is_alone && weight(node) <= 0.0) {
            return self.not_done(weight, "a set of assertions of weight 0");
        }
        if is_not {
            return self.not_done(node, "that a set of assertions does not hold");
        }
        let sum: f64 = list.elements().unwrap_or_default().iter().map(weight).sum();
        let share = self.share;
        self.share = share.filter(|_| !is_required(node)).map(|share| share * weight(node) / sum);
        if sum > 0.0 {
            self.assertions(node);
        } else {
            self.not_done(list, "a set of assertions without weight");
        }
        self.share = share;
    }
}

/// Whether an assertion must hold, whatever the score is.
fn is_required(node: &Node) -> bool {
    node.get(REQUIRED).is_some_and(|required| required.value == NodeValue::Flag(true))
}

/// The texts between commas. One may be in double quotes, with quotes in it doubled or behind a backslash; `None` if a quote is
/// missing.
fn parts(text: &str) -> Option<Vec<String>> {
    let mut parts = Vec::new();
    let mut rest = text.trim_start_matches(|c: char| c.is_whitespace() || c == ',');
    while !rest.is_empty() {
        if let Some(mut quoted) = rest.strip_prefix('"') {
            let mut part = String::new();
            loop {
                let mut chars = quoted.chars();
                match (chars.next()?, chars.next()) {
                    ('\\', Some(c @ ('"' | '\\'))) | (c @ '"', Some('"')) => {
                        part.push(c);
                        quoted = chars.as_str();
                    }
                    ('"', _) => break,
                    (c, _) => {
                        part.push(c);
                        quoted = &quoted[c.len_utf8()..];
                    }
                }
            }
            parts.push(part);
            rest = quoted[1..].trim_start();
            if !rest.is_empty() && !rest.starts_with(',') {
                return None;
            }
        } else {
            let (part, after) = rest.split_once(',').unwrap_or((rest, ""));
            parts.push(part.trim().to_owned());
            rest = after;
        }
        rest = rest.trim_start_matches(|c: char| c.is_whitespace() || c == ',');
    }
    Some(parts)
}
