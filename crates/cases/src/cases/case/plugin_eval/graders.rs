//! The graders of a case: a list in case.yaml, and a file each.

use super::{CaseReader, GRADERS, no_nulls};
use crate::cases::case::document::{Document, Node};
use crate::cases::case::foreign_reader::words;
use crate::cases::case::graders::Graders;
use crate::cases::case::{Assertion, Case};
use crate::checks::pattern::PatternSearch;
use crate::checks::{CallPattern, CaseCheck, Grader, GraderTest, Origin, TextMatch, TextSource};
use crate::text::diagnostic::{Code, Diagnostic, SourceLocation, shorten};
use crate::trial::outcome::Weight;

/// The tool by which models load skills.
const SKILL_TOOL: &str = "Skill";

/// The types of graders, each with its keys.
pub(super) static TYPES: Graders<&str> = Graders::of(
    "grader",
    &[
        ("regex", "pattern flags match target"),
        ("tool_used", "tool input_match min max"),
        ("tool_order", "before after"),
        ("file_exists", "path exists"),
        ("llm", "criteria focus"),
    ],
)
.and_others(BASELINE);

/// The one that compares with another answer, and its keys.
const BASELINE: &str = "baseline";
const BASELINE_KEYS: &str = "criteria baseline_file";

/// The source of the calls that mocks answered.
const MOCK_CALLS: &str = "mock_calls";

pub(super) struct FoundGrader {
    name: String,
    weight: f64,
    /// Whether it counts only where the skill is offered.
    of_skill: bool,
    /// What it tests; of a judge's, that there is the file that it is about.
    test: Option<GraderTest>,
    /// What a judge is asked.
    judged: Option<String>,
    place: SourceLocation,
}

/// The patterns of the calls of skills that the graders ask for, required ones first.
pub(super) fn skill_calls(graders: &[FoundGrader]) -> impl Iterator<Item = PatternSearch> {
    let of = |required: bool| {
        graders.iter().filter_map(move |grader| match &grader.test {
            Some(GraderTest::Calls { call: CallPattern { tool, input: Some(input) }, least, .. })
                if tool == SKILL_TOOL && (*least > 0) == required =>
            {
                PatternSearch::javascript(input, "").ok()
            }
            _ => None,
        })
    };
    of(true).chain(of(false))
}

/// Gives the case its checks and assertions.
pub(super) fn fill(graders: Vec<FoundGrader>, case: &mut Case) {
    // If the real program would count none of them, it counts all.
    let has_others = graders.iter().any(|grader| !grader.of_skill);
    for (FoundGrader { name, weight, of_skill, test, judged, place }, part) in graders.into_iter().zip(1..) {
        let weight = Some(Weight::new(weight, part));
        case.assertions.extend(judged.map(|text| Assertion { text, place: place.clone(), weight }));
        let Some(test) = test else { continue };
        let origin = Origin { key: GRADERS.into(), line: place.line, elsewhere: Some(place) };
        let check = Grader { name, test }.check(of_skill && has_others);
        case.checks.push(CaseCheck { origin, weight, ..check });
    }
}

impl CaseReader<'_> {
    /// Reads a grader. One with a file of its own has the file's name, and a body.
    pub(super) fn grader(&mut self, node: &Node, file: Option<(&str, &str)>) {
        let document = &mut self.reader;
        if !node.is_map() {
            return document.wrong_type("a grader", "an object", node);
        }
        no_nulls(document, node);
        let Some(kind) = document.required_text(node, "type") else { return };
        let Some(own) = TYPES.find(kind).or((kind == BASELINE).then_some(&BASELINE_KEYS)) else {
            let known = TYPES.names().concat().join(", ");
            let message = format!("unknown type of grader `{}`; expected {known}", shorten(kind));
            return document.problem_at(Code::InvalidCheck, node, "type", message);
        };
        document.unknown_keys(node, &[&["name", "type", "weight", "arm"], &words(own)[..]].concat());
        let name = match file {
            Some((name, _)) if node.get("name").is_none() => name,
            _ => document.required_text(node, "name").unwrap_or_default(),
        };
        let name = name.to_owned();
        // A missing name is a problem of its own.
        if !name.is_empty() && !self.names.insert(name.clone()) {
            let message = format!("another grader has the name `{}`", shorten(&name));
            document.problem_at(Code::InvalidCheck, node, "name", message);
        }
        let weight = document.amount(node, "weight", f64::MIN_POSITIVE..=f64::MAX, "a number above 0").unwrap_or(1.0);
        let arm = choice(document, node, "arm", &["with-only", "both"]);
        let body = file.map_or("", |(_, body)| body);
        let (judged, test) = match kind {
            "llm" => self.judged(node, body).unzip(),
            kind => (None, self.test(node, kind, body).map(Some)),
        };
        let test = test.flatten();
        let is_of_skill_tool = matches!(&test, Some(GraderTest::Calls { call, .. }) if call.tool == SKILL_TOOL);
        if let (true, Some(GraderTest::Calls { least: 0, most: Some(0), .. }), None) = (is_of_skill_tool, &test, arm) {
            self.warn(node, "type", "without `arm: both`, `claude plugin eval` never counts this: it guards nothing");
        }
        let of_skill = arm == Some("with-only") || (is_of_skill_tool && arm.is_none());
        let target = node.get("target").filter(|target| target.text() == Some(MOCK_CALLS));
        let with_only = of_skill && judged.is_some();
        let not_done = [
            with_only.then_some(("`arm: with-only` of a grader that a judge answers", node.get("arm").unwrap_or(node))),
            (kind == BASELINE).then_some(("the grader `baseline`", node)),
            target.map(|target| ("`target: mock_calls` of a grader", target)),
        ];
        let not_done = not_done.into_iter().flatten().map(|(what, node)| self.reader.unsupported(what, node));
        self.unsupported.extend(not_done);
        let place = self.reader.place(node.range.start..node.range.start + 1);
        self.graders.push(FoundGrader { name, weight, of_skill, test, judged, place });
    }

    /// What a judge is asked, and the file that it is about.
    fn judged(&mut self, node: &Node, body: &str) -> Option<(String, Option<GraderTest>)> {
        let criteria = self.text_or_body(node, "criteria", body)?;
        let (what, file) = match self.source(node, "focus")? {
            TextSource::LastMessage => (String::new(), None),
            TextSource::Trace => ("About the whole session: ".to_owned(), None),
            TextSource::Files => ("About the list of files that the agent created: ".to_owned(), None),
            TextSource::File(path) => (format!("About the file `{path}`: "), Some(GraderTest::Readable(path))),
        };
        Some((format!("{what}{criteria}"), file))
    }

    /// What the grader tests; `None` with a problem, or if this program does not do it.
    fn test(&mut self, node: &Node, kind: &str, body: &str) -> Option<GraderTest> {
        Some(match kind {
            "regex" => return self.text(node, body),
            "tool_used" => {
                let call = self.call(node, node)?;
                let [least, most] =
                    ["min", "max"].map(|key| self.reader.count(node, key, 0..=u64::MAX, "a whole number"));
                let least = least.unwrap_or(1);
                if most.is_some_and(|most| most < least) {
                    let message = format!("`max` is less than `min`, which is {least}: this never passes");
                    self.warn(node, "max", &message);
                }
                GraderTest::Calls { call, least, most }
            }
            "tool_order" => {
                let [before, after] = ["before", "after"].map(|key| self.ordered(node, key));
                GraderTest::Order { before: before?, after: after? }
            }
            "file_exists" => GraderTest::Created {
                glob: self.reader.required_text(node, "path")?.to_owned(),
                exists: self.reader.flag(node, "exists").unwrap_or(true),
            },
            _ => return None,
        })
    }

    fn text(&mut self, node: &Node, body: &str) -> Option<GraderTest> {
        let pattern = match node.get("pattern") {
            // An empty pattern is one, too.
            Some(_) => self.reader.text(node, "pattern")?.to_owned(),
            None => self.text_or_body(node, "pattern", body)?,
        };
        let flags = self.reader.text(node, "flags").unwrap_or_default().to_owned();
        if let Some(unknown) = flags.chars().find(|flag| !"dgimsuvy".contains(*flag)) {
            let message = format!("unknown flag `{unknown}`; expected some of dgimsuvy");
            self.reader.problem_at(Code::BadChoice, node, "flags", message);
        }
        self.compiles(node, "pattern", &pattern, &flags);
        let want = match self.reader.text(node, "match").unwrap_or("contains") {
            "contains" => TextMatch::Some,
            "not_contains" => TextMatch::None,
            other => {
                let digits =
                    other.strip_prefix("count:").filter(|count| count.bytes().all(|byte| byte.is_ascii_digit()));
                let Some(times) = digits.and_then(|digits| digits.parse().ok()) else {
                    let message =
                        format!("unknown `match` `{}`; expected contains, not_contains or count:N", shorten(other));
                    self.reader.problem_at(Code::BadChoice, node, "match", message);
                    return None;
                };
                TextMatch::Exactly(times)
            }
        };
        let source = self.source(node, "target")?;
        Some(GraderTest::Text { pattern, flags, want, source })
    }

    fn text_or_body(&mut self, node: &Node, key: &str, body: &str) -> Option<String> {
        if node.get(key).is_none() && !body.is_empty() {
            return Some(body.to_owned());
        }
        self.reader.required_text(node, key).map(str::to_owned)
    }

    fn source(&mut self, node: &Node, key: &str) -> Option<TextSource> {
        let Some(written) = node.get(key) else { return Some(TextSource::LastMessage) };
        match written.text() {
            Some("last_message") => Some(TextSource::LastMessage),
            Some("trace") => Some(TextSource::Trace),
            Some("files") => Some(TextSource::Files),
            // It is unsupported, which whoever reads the grader says.
            Some(MOCK_CALLS) => None,
            None if written.is_map() => {
                self.reader.unknown_keys(written, &["source", "path"]);
                choice(&mut self.reader, written, "source", &["file"]);
                self.reader.required(written, "source")?;
                self.reader.required_text(written, "path").map(|path| TextSource::File(path.to_owned()))
            }
            _ => {
                let expected = "last_message, trace, files, or an object with `source: file` and `path`";
                let message = format!("unknown `{key}`; expected {expected}");
                self.reader.problem(Code::BadChoice, written.range.clone(), message);
                None
            }
        }
    }

    /// One side of an order: a name, or an object.
    fn ordered(&mut self, node: &Node, key: &str) -> Option<CallPattern> {
        let written = self.reader.required(node, key)?;
        if let Some(tool) = written.text() {
            self.names_tool(node, key, tool);
            return Some(CallPattern { tool: tool.to_owned(), input: None });
        }
        if !written.is_map() {
            self.reader.wrong_type(&format!("`{key}`"), "a tool, or an object with `tool`", written);
            return None;
        }
        self.reader.unknown_keys(written, &["tool", "input_match"]);
        self.call(node, written)
    }

    fn call(&mut self, node: &Node, object: &Node) -> Option<CallPattern> {
        let tool = self.reader.required_text(object, "tool")?.to_owned();
        self.names_tool(node, "tool", &tool);
        let input = self.reader.text(object, "input_match").map(str::to_owned);
        if let Some(input) = &input {
            self.compiles(node, "input_match", input, "");
        }
        Some(CallPattern { tool, input })
    }

    /// Notes the short name of a tool of a server: it names another tool.
    fn names_tool(&mut self, node: &Node, key: &str, tool: &str) {
        if tool.starts_with("mcp__") && !tool.starts_with("mcp__plugin_") {
            let whole = "mcp__plugin_<plugin>_<server>__<tool>";
            self.warn(node, key, &format!("a tool of a plugin's server is named {whole}: this is another one"));
        }
    }

    fn compiles(&mut self, node: &Node, key: &str, pattern: &str, flags: &str) {
        if let Err(error) = PatternSearch::javascript(pattern, flags) {
            self.warn(node, key, &format!("the pattern does not compile, so the grader never passes: {error}"));
        }
    }

    fn warn(&mut self, node: &Node, key: &str, message: &str) {
        let place = self.reader.place(node.get(key).unwrap_or(node).range.clone());
        self.warnings.push(Diagnostic::new(Code::Inert, place, message));
    }
}

/// One of these words at a key that may be absent.
pub(super) fn choice<'w>(document: &mut Document<'_>, object: &Node, key: &str, words: &[&'w str]) -> Option<&'w str> {
    let text = document.text(object, key)?;
    let found = words.iter().copied().find(|word| *word == text);
    if found.is_none() {
        let message = format!("unknown `{key}` `{}`; expected {}", shorten(text), words.join(" or "));
        document.problem_at(Code::BadChoice, object, key, message);
    }
    found
}
