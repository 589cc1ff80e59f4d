//! The graders of a case: a list in case.yaml, and a file each.

use std::collections::HashSet;

use super::{GRADERS, no_nulls};
use crate::cases::case::document::{Document, Node};
use crate::cases::case::{Assertion, Case, Unsupported};
use crate::checks::pattern::PatternSearch;
use crate::checks::{CallPattern, Check, Grader, GraderTest, Origin, TextMatch, TextSource};
use crate::text::diagnostic::{Code, Diagnostic, SourceLocation, shorten};
use crate::trial::outcome::Weight;

/// The tool by which models load skills.
const SKILL_TOOL: &str = "Skill";

/// The names of tools of MCP servers, and of those of a plugin's servers.
const MCP: [&str; 2] = ["mcp__", "mcp__plugin_"];

/// The types of graders, each with its keys.
const TYPES: [(&str, &[&str]); 6] = [
    ("regex", &["pattern", "flags", "match", "target"]),
    ("tool_used", &["tool", "input_match", "min", "max"]),
    ("tool_order", &["before", "after"]),
    ("file_exists", &["path", "exists"]),
    ("llm", &["criteria", "focus"]),
    ("baseline", &["criteria", "baseline_file"]),
];

/// The keys of every grader.
const COMMON: [&str; 4] = ["name", "type", "weight", "arm"];

/// The graders of a case so far.
#[derive(Default)]
pub(super) struct Graders {
    list: Vec<FoundGrader>,
    names: HashSet<String>,
    unsupported: Vec<Unsupported>,
}

/// The source of the calls that mocks answered.
const MOCK_CALLS: &str = "mock_calls";

struct FoundGrader {
    name: String,
    weight: f64,
    /// Whether it counts only where the skill is offered.
    of_skill: bool,
    asks: Question,
    place: SourceLocation,
}

enum Question {
    Test(GraderTest),
    /// A judge is asked; with the file that it is about.
    Judge(String, Option<String>),
    Nothing,
}

impl Graders {
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// Reads a grader. One with a file of its own has the file's name, and a body.
    pub fn read(
        &mut self,
        document: &mut Document<'_>,
        node: &Node,
        file: Option<(&str, &str)>,
        warnings: &mut Vec<Diagnostic>,
    ) {
        if !node.is_map() {
            return document.wrong_type("a grader", "an object", node);
        }
        no_nulls(document, node);
        let Some(kind) = document.required_text(node, "type") else { return };
        let Some((kind, own)) = TYPES.iter().find(|(known, _)| *known == kind) else {
            let known: Vec<&str> = TYPES.iter().map(|(name, _)| *name).collect();
            let message = format!("unknown type of grader `{}`; expected {}", shorten(kind), known.join(", "));
            let range = node.get("type").unwrap_or(node).range.clone();
            return document.problem(Code::InvalidCheck, range, message);
        };
        document.unknown_keys(node, &[&COMMON[..], own].concat());
        let name = match file {
            Some((name, _)) if node.get("name").is_none() => name,
            _ => document.required_text(node, "name").unwrap_or_default(),
        };
        let name = name.to_owned();
        // A missing name is a problem of its own.
        if !name.is_empty() && !self.names.insert(name.clone()) {
            let range = node.get("name").unwrap_or(node).range.clone();
            document.problem(Code::InvalidCheck, range, format!("another grader has the name `{}`", shorten(&name)));
        }
        let weight = node.get("weight").map_or(Some(1.0), |weight| weight.amount().filter(|weight| *weight > 0.0));
        if let (None, Some(written)) = (weight, node.get("weight")) {
            document.wrong_type("`weight`", "a number above 0", written);
        }
        let arm = choice(document, node, "arm", &["with-only", "both"]);
        let mut reader = GraderReader { document, node, warnings };
        let body = file.map_or("", |(_, body)| body);
        let asks = reader.question(kind, body).unwrap_or(Question::Nothing);
        let is_of_skill_tool =
            matches!(&asks, Question::Test(GraderTest::Calls { call, .. }) if call.tool == SKILL_TOOL);
        if let (true, Question::Test(GraderTest::Calls { least: 0, most: Some(0), .. }), None) =
            (is_of_skill_tool, &asks, arm)
        {
            reader.warn("type", "without `arm: both`, `claude plugin eval` never counts this: it guards nothing");
        }
        let of_skill = arm == Some("with-only") || (is_of_skill_tool && arm.is_none());
        if of_skill && matches!(asks, Question::Judge(..)) {
            let what = "`arm: with-only` of a grader that a judge answers";
            self.unsupported.push(document.unsupported(what, node.get("arm").unwrap_or(node)));
        }
        if *kind == "baseline" {
            self.unsupported.push(document.unsupported("the grader `baseline`", node));
        }
        let place = document.place(node.range.start..node.range.start + 1);
        if let Some(target) = node.get("target").filter(|target| target.text() == Some(MOCK_CALLS)) {
            self.unsupported.push(document.unsupported("`target: mock_calls` of a grader", target));
        }
        self.list.push(FoundGrader { name, weight: weight.unwrap_or(1.0), of_skill, asks, place });
    }

    /// The patterns of the calls of skills that the graders ask for, required ones first.
    pub fn skill_calls(&self) -> impl Iterator<Item = PatternSearch> {
        let of =
            |required: bool| {
                self.list.iter().filter_map(move |grader| match &grader.asks {
                    Question::Test(GraderTest::Calls {
                        call: CallPattern { tool, input: Some(input) }, least, ..
                    }) if tool == SKILL_TOOL && (*least > 0) == required => PatternSearch::javascript(input, "").ok(),
                    _ => None,
                })
            };
        of(true).chain(of(false))
    }

    /// Gives the case its checks and assertions.
    pub fn fill(self, case: &mut Case) {
        // If the real program would count none of them, it counts all.
        let has_others = self.list.iter().any(|grader| !grader.of_skill);
        case.unsupported.extend(self.unsupported);
        for (grader, part) in self.list.into_iter().zip(1..) {
            let FoundGrader { name, weight, of_skill, asks, place } = grader;
            let weight = Some(Weight::new(weight, part));
            let test = match asks {
                Question::Test(test) => test,
                Question::Judge(text, file) => {
                    case.assertions.push(Assertion { text, place: place.clone(), weight });
                    let Some(file) = file else { continue };
                    GraderTest::Readable(file)
                }
                Question::Nothing => continue,
            };
            let origin = Origin { key: GRADERS.into(), line: place.line, elsewhere: Some(place) };
            let check = Grader { name, test }.check(of_skill && has_others);
            case.checks.push(Check { origin, weight, ..check });
        }
    }
}

struct GraderReader<'a, 'd> {
    document: &'a mut Document<'d>,
    node: &'a Node,
    warnings: &'a mut Vec<Diagnostic>,
}

impl GraderReader<'_, '_> {
    /// What the grader asks; `None` with a problem, or if this program does not do it.
    fn question(&mut self, kind: &str, body: &str) -> Option<Question> {
        let (document, node) = (&mut *self.document, self.node);
        Some(Question::Test(match kind {
            "regex" => return self.text(body),
            "tool_used" => {
                let call = self.call(node)?;
                let count =
                    |document: &mut Document<'_>, key| document.count(node, key, 0..=u64::MAX, "a whole number");
                let least = count(self.document, "min").unwrap_or(1);
                let most = count(self.document, "max");
                if most.is_some_and(|most| most < least) {
                    self.warn("max", &format!("`max` is less than `min`, which is {least}: this never passes"));
                }
                GraderTest::Calls { call, least, most }
            }
            "tool_order" => {
                let (before, after) = (self.ordered("before"), self.ordered("after"));
                GraderTest::Order { before: before?, after: after? }
            }
            "file_exists" => GraderTest::Created {
                glob: document.required_text(node, "path")?.to_owned(),
                exists: document.flag(node, "exists").unwrap_or(true),
            },
            "llm" => {
                let criteria = self.text_or_body("criteria", body)?;
                let (what, file) = match self.source("focus")? {
                    TextSource::LastMessage => (String::new(), None),
                    TextSource::Trace => ("About the whole session: ".to_owned(), None),
                    TextSource::Files => ("About the list of files that the agent created: ".to_owned(), None),
                    TextSource::File(path) => (format!("About the file `{path}`: "), Some(path)),
                };
                return Some(Question::Judge(format!("{what}{criteria}"), file));
            }
            _ => return None,
        }))
    }

    fn text(&mut self, body: &str) -> Option<Question> {
        let pattern = match self.node.get("pattern") {
            // An empty pattern is one, too.
            Some(_) => self.document.text(self.node, "pattern")?.to_owned(),
            None => self.text_or_body("pattern", body)?,
        };
        let flags = self.document.text(self.node, "flags").unwrap_or_default().to_owned();
        if let Some(unknown) = flags.chars().find(|flag| !"dgimsuvy".contains(*flag)) {
            let range = self.node.get("flags").unwrap_or(self.node).range.clone();
            self.document.problem(
                Code::BadChoice,
                range,
                format!("unknown flag `{unknown}`; expected some of dgimsuvy"),
            );
        }
        self.compiles("pattern", &pattern, &flags);
        let want = match self.document.text(self.node, "match").unwrap_or("contains") {
            "contains" => TextMatch::Some,
            "not_contains" => TextMatch::None,
            other => {
                let digits =
                    other.strip_prefix("count:").filter(|count| count.bytes().all(|byte| byte.is_ascii_digit()));
                let Some(times) = digits.and_then(|digits| digits.parse().ok()) else {
                    let range = self.node.get("match").unwrap_or(self.node).range.clone();
                    let message =
                        format!("unknown `match` `{}`; expected contains, not_contains or count:N", shorten(other));
                    self.document.problem(Code::BadChoice, range, message);
                    return None;
                };
                TextMatch::Exactly(times)
            }
        };
        let source = self.source("target")?;
        Some(Question::Test(GraderTest::Text { pattern, flags, want, source }))
    }

    fn text_or_body(&mut self, key: &str, body: &str) -> Option<String> {
        if self.node.get(key).is_none() && !body.is_empty() {
            return Some(body.to_owned());
        }
        self.document.required_text(self.node, key).map(str::to_owned)
    }

    fn source(&mut self, key: &str) -> Option<TextSource> {
        let Some(written) = self.node.get(key) else { return Some(TextSource::LastMessage) };
        match written.text() {
            Some("last_message") => Some(TextSource::LastMessage),
            Some("trace") => Some(TextSource::Trace),
            Some("files") => Some(TextSource::Files),
            // It is unsupported, which whoever reads the grader says.
            Some(MOCK_CALLS) => None,
            None if written.is_map() => {
                self.document.unknown_keys(written, &["source", "path"]);
                choice(self.document, written, "source", &["file"]);
                self.document.required(written, "source")?;
                self.document.required_text(written, "path").map(|path| TextSource::File(path.to_owned()))
            }
            _ => {
                let expected = "last_message, trace, files, or an object with `source: file` and `path`";
                let message = format!("unknown `{key}`; expected {expected}");
                self.document.problem(Code::BadChoice, written.range.clone(), message);
                None
            }
        }
    }

    /// One side of an order: a name, or an object.
    fn ordered(&mut self, key: &str) -> Option<CallPattern> {
        let written = self.document.required(self.node, key)?;
        if let Some(tool) = written.text() {
            self.names_tool(key, tool);
            return Some(CallPattern { tool: tool.to_owned(), input: None });
        }
        if !written.is_map() {
            self.document.wrong_type(&format!("`{key}`"), "a tool, or an object with `tool`", written);
            return None;
        }
        self.document.unknown_keys(written, &["tool", "input_match"]);
        self.call(written)
    }

    fn call(&mut self, object: &Node) -> Option<CallPattern> {
        let tool = self.document.required_text(object, "tool")?.to_owned();
        self.names_tool("tool", &tool);
        let input = self.document.text(object, "input_match").map(str::to_owned);
        if let Some(input) = &input {
            self.compiles("input_match", input, "");
        }
        Some(CallPattern { tool, input })
    }

    /// Notes the short name of a tool of a server: it names another tool.
    fn names_tool(&mut self, key: &str, tool: &str) {
        if tool.starts_with(MCP[0]) && !tool.starts_with(MCP[1]) {
            self.warn(
                key,
                "a tool of a plugin's server is named mcp__plugin_<plugin>_<server>__<tool>: this is another one",
            );
        }
    }

    fn compiles(&mut self, key: &str, pattern: &str, flags: &str) {
        if let Err(error) = PatternSearch::javascript(pattern, flags) {
            self.warn(key, &format!("the pattern does not compile, so the grader never passes: {error}"));
        }
    }

    fn warn(&mut self, key: &str, message: &str) {
        let range = self.node.get(key).unwrap_or(self.node).range.clone();
        self.warnings.push(Diagnostic::new(Code::Inert, self.document.place(range), message));
    }
}

/// One of these words at a key that may be absent.
fn choice<'w>(document: &mut Document<'_>, object: &Node, key: &str, words: &[&'w str]) -> Option<&'w str> {
    let text = document.text(object, key)?;
    let found = words.iter().copied().find(|word| *word == text);
    if found.is_none() {
        let range = object.get(key).unwrap_or(object).range.clone();
        let message = format!("unknown `{key}` `{}`; expected {}", shorten(text), words.join(" or "));
        document.problem(Code::BadChoice, range, message);
    }
    found
}
