//! Assertions of a test as checks, and as assertions for the judge.

use std::time::Duration;

use serde_json::Value as Json;

use super::test_reader::{ASSERT, TestReader, VALUE, WEIGHT, number, weight};
use super::{skill_use, template};
use crate::cases::case::Assertion;
use crate::cases::case::document::{Node, NodeValue};
use crate::checks::pattern::{Pattern, Style};
use crate::checks::text_test::{JsonPart, TextTest, TextWant};
use crate::checks::{self, Origin, TextPlace};
use crate::text::diagnostic::{Code, nearest, shorten};
use crate::trial::outcome::Weight;

/// Assertions that are read, each also with `not-`.
const KNOWN: [&str; 21] = [
    "contains",
    "contains-any",
    "contains-all",
    "icontains",
    "icontains-any",
    "icontains-all",
    "starts-with",
    "ends-with",
    "equals",
    "regex",
    "is-json",
    "contains-json",
    RUBRIC,
    skill_use::KIND,
    "cost",
    "latency",
    GOAL,
    SET,
    "trajectory:tool-used",
    "trajectory:step-count",
    "trajectory:tool-sequence",
];

/// Assertions with nearly the name of a known one.
const OTHERS: [&str; 4] = ["contains-sql", "contains-xml", "is-sql", "is-xml"];

/// The assertion that asks a judge.
const RUBRIC: &str = "llm-rubric";

/// The assertion that asks a judge whether the agent got to its goal.
const GOAL: &str = "trajectory:goal-success";

/// The names of tools that run commands.
const SHELLS: [&str; 4] = ["bash", "shell", "powershell", "pwsh"];

/// The key of an assertion that must hold, whatever the score is.
const REQUIRED: &str = "required";

/// Larger weights could have an infinite sum.
const MOST_WEIGHT: f64 = 1e6;

/// The assertion that is a set of others.
const SET: &str = "assert-set";

/// Keys that every assertion may have.
const NOTES: [&str; 6] = ["metric", WEIGHT, "name", "description", "id", REQUIRED];

/// An assertion while it is read.
#[derive(Clone, Copy)]
struct Written<'n> {
    node: &'n Node,
    kind: &'n str,
    is_not: bool,
}

impl TestReader<'_, '_> {
    /// Adds the assertions of an object.
    pub(super) fn assertions(&mut self, object: &Node) {
        let Some(list) = object.get(ASSERT) else { return };
        if list.text().is_some() {
            let what = "assertions of another file";
            return self.case.unsupported.push(self.document.unsupported(what, list));
        }
        for node in self.document.list(object, ASSERT).unwrap_or_default() {
            self.assertion(node);
        }
    }

    /// Adds an assertion.
    pub(super) fn assertion(&mut self, node: &Node) {
        let (before, judged, said) = (self.case.checks.len(), self.case.assertions.len(), *self.should_trigger);
        match node.text() {
            Some(text) if self.dialect.has_criteria => self.judged(node, text, false),
            _ if !node.is_map() => self.document.wrong_type("an assertion", "an object", node),
            _ => self.typed(node),
        }
        let place = self.document.place(node.range.clone());
        // Those of a set have the places of their own assertions.
        for check in self.case.checks[before..].iter_mut().filter(|check| check.origin.key.is_empty()) {
            check.origin = Origin { key: ASSERT.into(), line: place.line, elsewhere: Some(place.clone()) };
        }
        if let Some(share) = self.share.filter(|_| !is_required(node) && !self.is_mean(node)) {
            let weight = self.part(share * weight(node));
            self.case.weigh(before, judged, weight);
            if *self.should_trigger != said {
                *self.weight_of_trigger = Some(weight);
            }
        }
    }

    /// The weight of one more part of the score.
    fn part(&mut self, amount: f64) -> Weight {
        *self.parts += 1;
        Weight::new(amount, *self.parts)
    }

    /// Whether the score of an assertion is the mean of its parts, which have weights of their own.
    fn is_mean(&self, node: &Node) -> bool {
        let kind = node.get("type").and_then(Node::text);
        let has_parts = || node.get(VALUE).is_some_and(|value| value.elements().is_some());
        kind == Some(SET) || self.dialect.has_criteria && kind == Some(RUBRIC) && has_parts()
    }

    fn typed(&mut self, node: &Node) {
        let Some(kind) = self.document.required_text(node, "type") else { return };
        let (is_not, kind) = kind.strip_prefix("not-").map_or((false, kind), |kind| (true, kind));
        let is_negated = self.dialect.has_criteria && self.document.flag(node, "negate").unwrap_or_default();
        let written = Written { node, kind, is_not: is_not != is_negated };
        let is_weight = |weight: f64| (0.0..=MOST_WEIGHT).contains(&weight);
        if let Some(written) = node.get(WEIGHT).filter(|_| !number(node, WEIGHT).is_some_and(is_weight)) {
            self.document.wrong_type("`weight`", "a number from 0 to a million", written);
        }
        if let Some(written) = node.get(REQUIRED).filter(|written| !matches!(written.value, NodeValue::Flag(_))) {
            self.not_done(written, format!("a `{REQUIRED}` that is neither true nor false"));
        }
        match kind {
            "contains" | "icontains" => self.contains(written),
            "contains-any" | "contains-all" | "icontains-any" | "icontains-all" => self.contains_several(written),
            "starts-with" | "ends-with" => self.at_end(written),
            "equals" => self.equals(written),
            "regex" => self.regex(written),
            "is-json" | "contains-json" => self.json(written),
            RUBRIC => self.rubric(written),
            GOAL => self.goal(written),
            skill_use::KIND => {
                self.keys(node, &[VALUE]);
                self.skill_use(node, written.is_not);
            }
            "cost" | "latency" => self.limit(written),
            "trajectory:tool-used" => self.tool(written),
            SET => self.set(written),
            _ => self.unknown(written),
        }
    }

    fn unknown(&mut self, written: Written<'_>) {
        let Written { node, kind, .. } = written;
        let shown = node.get("type").unwrap_or(node);
        let is_slip = !KNOWN.contains(&kind) && !OTHERS.contains(&kind);
        match nearest(kind, KNOWN).filter(|near| is_slip && kind.len() > 3 && near.len() > 3) {
            Some(near) => {
                let message = format!("unknown assertion `{}`", shorten(kind));
                self.document.problem(Code::InvalidCheck, shown.range.clone(), message).help =
                    Some(format!("did you mean `{near}`?"));
            }
            None => self.not_done(shown, format!("the assertion `{}`", shorten(shown.text().unwrap_or(kind)))),
        }
    }

    /// Keys that are not `known` make the case unsupported.
    fn keys(&mut self, node: &Node, known: &[&str]) {
        let mut known = known.to_vec();
        known.push("type");
        known.extend(self.dialect.has_criteria.then_some("negate"));
        let unknown = self.document.unsupported_keys(node, &known, &NOTES);
        self.case.unsupported.extend(unknown);
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
                self.document.wrong_type(&format!("`{VALUE}`"), "a string or a number", value);
                return None;
            }
        };
        if text.is_empty() {
            self.empty(value);
            return None;
        }
        Some(text)
    }

    fn text(&mut self, node: &Node) -> Option<String> {
        let value = self.document.required(node, VALUE)?;
        self.plain(value)
    }

    /// The text of a value that cannot be a number.
    fn only_text(&mut self, node: &Node) -> Option<String> {
        let value = self.document.required(node, VALUE)?;
        if value.text().is_none() {
            self.document.wrong_type(&format!("`{VALUE}`"), "a string", value);
            return None;
        }
        self.plain(value)
    }

    /// Adds a check of the answer.
    fn answer(&mut self, written: Written<'_>, test: impl Into<TextTest>) {
        *self.reads_answer = true;
        let test = TextTest { negated: written.is_not, ..test.into() };
        self.case.checks.push(checks::text(TextPlace::Final, test));
    }

    fn contains(&mut self, written: Written<'_>) {
        self.keys(written.node, &[VALUE]);
        let Some(text) = self.text(written.node) else { return };
        let style = if written.kind == "icontains" { Style::Literal } else { Style::Verbatim };
        self.answer(written, Pattern { text, style });
    }

    fn contains_several(&mut self, written: Written<'_>) {
        self.keys(written.node, &[VALUE]);
        let Some(value) = self.document.required(written.node, VALUE) else { return };
        let Some(texts) = self.several(value) else { return };
        let (ignores_case, is_any) = (written.kind.starts_with('i'), written.kind.ends_with("-any"));
        let style = if ignores_case { Style::Literal } else { Style::Verbatim };
        if let [text] = &texts[..] {
            return self.answer(written, Pattern { text: text.clone(), style });
        }
        let flags = if ignores_case { "(?i)" } else { "" };
        let texts: Vec<String> =
            texts.into_iter().map(|text| if is_any || written.is_not { regex::escape(&text) } else { text }).collect();
        let pattern = |text: String| Pattern { text, style: Style::Exact };
        match (is_any, written.is_not) {
            (true, _) => self.answer(written, pattern(format!("{flags}{}", texts.join("|")))),
            (false, true) => {
                let all: Vec<String> = texts.iter().map(|text| format!("(?=[\\s\\S]*?{text})")).collect();
                self.answer(written, pattern(format!("{flags}\\A{}", all.concat())));
            }
            (false, false) => texts.into_iter().for_each(|text| self.answer(written, Pattern { text, style })),
        }
    }

    /// The texts of a list, or of a text with commas between them.
    fn several(&mut self, value: &Node) -> Option<Vec<String>> {
        let texts = if let Some(elements) = value.elements() {
            elements.iter().map(|element| self.plain(element)).collect::<Option<Vec<_>>>()?
        } else {
            let text = self.plain(value)?;
            let parts = parts(&text);
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
        self.keys(written.node, &[VALUE]);
        let Some(text) = self.only_text(written.node) else { return };
        let (text, space) = if self.dialect.trims { (text.trim(), r"\s*") } else { (&*text, "") };
        let text = regex::escape(text);
        let is_start = written.kind == "starts-with";
        let text = if is_start { format!(r"\A{space}{text}") } else { format!(r"{text}{space}\z") };
        self.answer(written, Pattern { text, style: Style::Exact });
    }

    fn equals(&mut self, written: Written<'_>) {
        self.keys(written.node, &[VALUE]);
        let Some(value) = self.document.required(written.node, VALUE) else { return };
        let test = match &value.value {
            NodeValue::List(_) | NodeValue::Map(_) => {
                TextTest { json: Some(JsonPart::Whole), ..TextTest::new(TextWant::Equal(value.json())) }
            }
            NodeValue::Flag(flag) => TextTest::new(TextWant::Equal(Json::String(flag.to_string()))),
            _ => {
                let Some(text) = self.plain(value) else { return };
                if self.dialect.trims {
                    let text = format!(r"\A\s*{}\s*\z", regex::escape(text.trim()));
                    Pattern { text, style: Style::Exact }.into()
                } else {
                    TextTest::new(TextWant::Equal(Json::String(text)))
                }
            }
        };
        self.answer(written, test);
    }

    fn regex(&mut self, written: Written<'_>) {
        self.keys(written.node, &[VALUE]);
        let Some(text) = self.only_text(written.node) else { return };
        let pattern = Pattern { text, style: Style::JavaScript };
        match pattern.check() {
            Ok(()) => self.answer(written, pattern),
            Err(error) => {
                let (message, help) = pattern.problem(VALUE, &error);
                let range = written.node.get(VALUE).unwrap_or(written.node).range.clone();
                self.document.problem(Code::InvalidCheck, range, message).help = Some(help);
            }
        }
    }

    fn json(&mut self, written: Written<'_>) {
        self.keys(written.node, &[VALUE]);
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
        *self.reads_answer = true;
        let text = if is_not { format!("This does not hold: {}", text.trim()) } else { text.trim().to_owned() };
        self.case.assertions.push(Assertion { text, place: self.document.place(node.range.clone()), weight: None });
    }

    fn rubric(&mut self, written: Written<'_>) {
        let Written { node, is_not, .. } = written;
        self.keys(node, &[VALUE, "threshold", "provider"]);
        if let Some(threshold) = node.get("threshold") {
            return self.not_done(threshold, "a threshold of a judge's score");
        }
        let Some(value) = self.document.required(node, VALUE) else { return };
        let list = value.elements().unwrap_or(std::slice::from_ref(value));
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
            if criterion.is_map() {
                let unknown = self.document.unsupported_keys(criterion, &["outcome"], &["id", WEIGHT, REQUIRED]);
                self.case.unsupported.extend(unknown);
            }
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

    fn goal(&mut self, written: Written<'_>) {
        self.keys(written.node, &[VALUE, "provider"]);
        let Some(value) = self.document.required(written.node, VALUE) else { return };
        let goal = value.get("goal").unwrap_or(value);
        match goal.text() {
            Some(text) => self.judged(goal, &format!("The agent achieved this goal: {text}"), written.is_not),
            None => self.document.wrong_type(&format!("`{VALUE}`"), "a goal", value),
        }
    }

    fn limit(&mut self, written: Written<'_>) {
        let key = if written.kind == "cost" { self.dialect.cost } else { "threshold" };
        self.keys(written.node, &[key]);
        if written.is_not {
            return self.not_done(written.node, format!("the assertion `not-{}`", written.kind));
        }
        let Some(most) = self.document.required(written.node, key) else { return };
        let amount = match &most.value {
            NodeValue::Number(number) => {
                number.parse::<f64>().ok().filter(|amount| amount.is_finite() && *amount >= 0.0)
            }
            _ => None,
        };
        let Some(amount) = amount else {
            return self.document.wrong_type(&format!("`{key}`"), "a number of at least 0", most);
        };
        match (written.kind, Duration::try_from_secs_f64(amount / 1_000.0)) {
            ("cost", _) => self.case.checks.push(checks::max_cost(amount)),
            (_, Ok(most)) => self.case.checks.push(checks::max_duration(most)),
            (_, Err(_)) => self.document.wrong_type(&format!("`{key}`"), "a number of milliseconds", most),
        }
    }

    /// A tool is called. Agents name their tools differently, so only those that run commands have an equal here.
    fn tool(&mut self, written: Written<'_>) {
        self.keys(written.node, &[VALUE]);
        let Some(value) = self.document.required(written.node, VALUE) else { return };
        let only = match value.elements() {
            Some([only]) => only,
            _ => value,
        };
        let only = match only.entries() {
            [entry] if ["name", "pattern"].contains(&entry.key.as_str()) => &entry.value,
            _ => only,
        };
        match only.text().filter(|name| SHELLS.iter().any(|shell| shell.eq_ignore_ascii_case(name))) {
            Some(_) => {
                let any = Pattern { text: "(?s).".to_owned(), style: Style::Exact };
                self.case.checks.push(checks::script_command(any, !written.is_not));
            }
            None => self.not_done(value, format!("the assertion `{}` about such tools", written.kind)),
        }
    }

    fn set(&mut self, written: Written<'_>) {
        let node = written.node;
        self.keys(node, &[ASSERT, "threshold"]);
        // With a threshold for all, only the score of the set counts.
        let is_alone = self.case.least_score.is_none();
        let is_part = is_alone && number(node, "threshold").is_none_or(|least| least < 1.0);
        if let Some(threshold) = node.get("threshold").filter(|_| is_part) {
            return self.not_done(threshold, "a threshold of a set of assertions");
        }
        if let Some(weight) = node.get(WEIGHT).filter(|_| is_alone && weight(node) <= 0.0) {
            return self.not_done(weight, "a set of assertions of weight 0");
        }
        if written.is_not {
            return self.not_done(node, "that a set of assertions does not hold");
        }
        let Some(list) = self.document.required(node, ASSERT) else { return };
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
