//! Graders of a stimulus as checks and assertions.

use super::scoring::Scoring;
use super::{Document, timeout, tools};
use crate::cases::case::document::Node;
use crate::cases::case::{Assertion, Case, ForeignFile};
use crate::checks::pattern::{Pattern, Style};
use crate::checks::text_test::{TextTest, TextWant};
use crate::checks::{self, FileWant, TextPlace};
use crate::skill::slug;
use crate::trial::outcome::Weight;

/// The key of the list.
pub(super) const KEY: &str = "graders";

/// The graders that are read. `-not-` in the name is the same as `negate: true`.
const KNOWN: [&str; 19] = [
    "output-contains",
    "output-not-contains",
    "output-matches",
    "output-not-matches",
    "transcript-contains",
    "transcript-matches",
    "file-exists",
    "file-not-exists",
    "file-contains",
    "file-not-contains",
    "file-matches",
    "file-not-matches",
    "skill-invocation",
    "tool-calls",
    "shell-command-invoked",
    "run-command",
    "completed",
    "exit-success",
    PROMPT,
];

/// The options of a command's standard output, each with its style and whether it is negated.
const STDOUT: [(&str, Style, bool); 3] = [
    ("stdout_contains", Style::Verbatim, false),
    ("stdout_matches", Style::Exact, false),
    ("stdout_not_matches", Style::Exact, true),
];

/// The option of its standard error, of which a check has only the end.
const STDERR: &str = "stderr_contains";

/// The grader that asks a judge.
const PROMPT: &str = "prompt";

/// A grader while it is read.
struct Grader<'n> {
    node: &'n Node,
    /// Its options; the grader itself if it has none.
    config: &'n Node,
    kind: &'n str,
    /// Whether it counts in a score.
    is_scored: bool,
}

/// The skills that graders of a stimulus require.
pub(super) fn required_skills(stimulus: &Node) -> Vec<String> {
    let graders = stimulus.get(KEY).and_then(Node::elements).unwrap_or_default();
    let required = graders.iter().filter_map(|grader| grader.get("config")?.get("required")?.elements());
    required.flatten().filter_map(Node::text).map(str::to_owned).collect()
}

/// Adds the checks. Returns whether the skill under test should trigger: what is `expected`, or what a grader says of it alone,
/// with the weight of that grader.
pub(super) fn read(
    document: &mut Document<'_>,
    file: &ForeignFile<'_>,
    stimulus: &Node,
    case: &mut Case,
    expected: Option<bool>,
    scoring: &Scoring,
) -> (Option<bool>, Option<Weight>) {
    let (mut should_trigger, mut weight_of_trigger) = (expected, None);
    let rubric = case.assertions.len();
    let graders = document.list(stimulus, KEY).unwrap_or_default();
    for (number, node) in (1..).zip(graders) {
        let Some(kind) = document.required_text(node, "type") else { continue };
        let known = ["type", "config", "name", "description", "weight"];
        case.unsupported.extend(document.unsupported_keys(node, &known, &[]));
        let config = document.map(node, "config").unwrap_or(node);
        let alike = graders.iter().filter(|other| other.get("type").and_then(Node::text) == Some(kind)).count();
        let weight = scoring.weight(node, u32::try_from(alike).unwrap_or(u32::MAX), number);
        let grader = Grader { node, config, kind, is_scored: weight.is_some() };
        let (before, said) = (case.checks.len(), should_trigger);
        // A judge without a prompt of its own grades by the rubric, which was read with the stimulus.
        let by_rubric = kind == PROMPT && config.get("prompt").is_none();
        let assertions = case.assertions.len();
        match kind {
            PROMPT => prompt(document, &grader, rubric > 0, case),
            "skill-invocation" => skills(document, &grader, case, &mut should_trigger),
            "tool-calls" | "shell-command-invoked" => tools::read(document, file, config, node, kind, case),
            "run-command" => command(document, &grader, case),
            "completed" | "exit-success" => {
                case.checks.push(checks::final_message());
                options(document, &grader, &[], case);
            }
            _ if KNOWN.contains(&kind) => text_or_file(document, &grader, case),
            _ => {
                let written = node.get("type").unwrap_or(node);
                case.unsupported.extend(document.unsupported_grader("grader", kind, written, &KNOWN));
            }
        }
        document.locate(KEY, node, &mut case.checks[before..]);
        if let Some(weight) = weight {
            case.weigh(before, assertions, weight);
            for assertion in case.assertions[..rubric].iter_mut().filter(|_| by_rubric) {
                // Several graders by the rubric give it the same score each.
                let others = assertion.weight.map_or(0.0, |weight| weight.amount);
                assertion.weight = Some(Weight::new(others + weight.amount, number));
            }
            weight_of_trigger = weight_of_trigger.or(Some(weight).filter(|_| should_trigger != said));
        }
    }
    (should_trigger, weight_of_trigger)
}

/// Options that are not `known` make the case unsupported.
fn options(document: &mut Document<'_>, grader: &Grader<'_>, known: &[&str], case: &mut Case) {
    if grader.node.get("config").is_some() {
        case.unsupported.extend(document.unsupported_keys(grader.config, known, &[]));
    }
}

fn text_or_file(document: &mut Document<'_>, grader: &Grader<'_>, case: &mut Case) {
    let Grader { config, kind, .. } = *grader;
    let (place, how) = kind.split_once('-').unwrap_or((kind, ""));
    let (is_not, how) = how.strip_prefix("not-").map_or((false, how), |how| (true, how));
    let is_file = place == "file";
    let text_key = if is_file { "value" } else { "substring" };
    let wanted = match how {
        "exists" => vec!["path", "negate"],
        "contains" if is_file => vec!["path", text_key, "negate"],
        "contains" => vec![text_key, "negate", "case_sensitive"],
        _ if is_file => vec!["path", "pattern", "negate"],
        _ => vec!["pattern", "negate"],
    };
    options(document, grader, &wanted, case);
    let is_negated = is_not != document.flag(config, "negate").unwrap_or_default();
    let pattern = match how {
        "exists" => None,
        "contains" => {
            let is_exact = is_file || document.flag(config, "case_sensitive").unwrap_or_default();
            let style = if is_exact { Style::Verbatim } else { Style::Literal };
            let Some(text) = document.required_text(config, text_key) else { return };
            Some(Pattern { text: text.to_owned(), style })
        }
        _ => {
            let Some(pattern) = document.required(config, "pattern") else { return };
            let Some(pattern) = document.pattern("pattern", pattern) else { return };
            Some(pattern)
        }
    };
    let test = pattern.map(|pattern| TextTest { negated: is_negated, ..TextTest::new(TextWant::Pattern(pattern)) });
    if is_file {
        let Some(path) = document.required_text(config, "path") else { return };
        let want = test.map_or(FileWant::Exists(!is_negated), FileWant::Content);
        let check = checks::file(path.strip_prefix("./").unwrap_or(path), want);
        return case.checks.extend(document.check(config, check));
    }
    let place = if place == "output" { TextPlace::Final } else { TextPlace::Messages };
    case.checks.extend(test.map(|test| checks::text(place, test)));
}

fn skills(document: &mut Document<'_>, grader: &Grader<'_>, case: &mut Case, should_trigger: &mut Option<bool>) {
    options(document, grader, &["required", "disallowed"], case);
    let required = document.texts(grader.config, "required");
    let disallowed = document.texts(grader.config, "disallowed");
    if required.is_empty() && disallowed.is_empty() {
        document.missing(grader.config, "required");
    }
    // Triggering has a check of its own, which is also counted over all cases. In a score it counts for one grader.
    let says_the_same = |said: bool, side: bool| !grader.is_scored && said == side;
    let is_own = |names: &[String]| matches!(names, [only] if slug(only) == case.skill);
    let sides = [(required, true), (disallowed, false)].map(|(names, side)| (is_own(&names), names, side));
    for (is_own, names, side) in sides {
        if is_own && should_trigger.is_none_or(|said| says_the_same(said, side)) {
            *should_trigger = Some(side);
        } else if !names.is_empty() {
            case.checks.push(if side { checks::activates(names, false) } else { checks::rejects(names) });
        }
    }
}

fn command(document: &mut Document<'_>, grader: &Grader<'_>, case: &mut Case) {
    let known = ["command", "args", "expected_exit_code", "sub_path", "timeout", STDERR];
    options(document, grader, &[&known[..], &STDOUT.map(|(key, ..)| key)].concat(), case);
    let config = grader.config;
    if let Some(written) = config.get(STDERR) {
        case.unsupported.push(document.unsupported(format!("the key `{STDERR}`"), written));
    }
    let Some(command) = document.required_text(config, "command") else { return };
    let mut line = command.to_owned();
    if config.get("args").is_some() {
        let words = document.texts(config, "args");
        let words = std::iter::once(command).chain(words.iter().map(String::as_str));
        line = words.map(quoted).collect::<Vec<_>>().join(" ");
    }
    if let Some(folder) = document.text(config, "sub_path") {
        line = format!("cd {} || exit\n{line}", quoted(folder));
    }
    let exits = match config.get("expected_exit_code") {
        None => 0,
        Some(written) => match written.count().and_then(|status| u8::try_from(status).ok()) {
            Some(status) => i32::from(status),
            None => return document.wrong_type("`expected_exit_code`", "a number from 0 to 255", written),
        },
    };
    let timeout = timeout(document, config);
    let mut tests = Vec::new();
    for (key, style, negated) in STDOUT {
        let pattern = match style {
            Style::Exact => config.get(key).and_then(|written| document.pattern(key, written)),
            _ => document.text(config, key).map(|text| Pattern { text: text.to_owned(), style }),
        };
        tests.extend(pattern.map(|pattern| Some(TextTest { negated, ..pattern.into() })));
    }
    if tests.is_empty() {
        tests.push(None);
    }
    // The command runs once for all of them.
    case.checks.extend(tests.into_iter().map(|test| checks::run(line.clone(), exits, timeout, test)));
}

/// A word for a shell.
pub(in crate::cases::case) fn quoted(word: &str) -> String {
    format!("'{}'", word.replace('\'', r"'\''"))
}

fn prompt(document: &mut Document<'_>, grader: &Grader<'_>, has_rubric: bool, case: &mut Case) {
    options(document, grader, &["prompt", "scoring", "threshold", "model"], case);
    let config = grader.config;
    let is_binary = config.get("scoring").map(|scoring| scoring.text() == Some("binary"));
    if let Some(scoring) = config.get("scoring").filter(|_| is_binary == Some(false)) {
        case.unsupported.push(document.unsupported("a judge's score that is not pass or fail", scoring));
    }
    // A judge's pass is the whole score, so no threshold of a binary score asks for more.
    if let Some(threshold) = config.get("threshold").filter(|_| is_binary.is_none()) {
        case.unsupported.push(document.unsupported("a threshold of a judge's score", threshold));
    }
    match config.get("prompt") {
        Some(written) => {
            if let Some(text) = document.required_text(config, "prompt") {
                let place = document.place(written.range.clone());
                case.assertions.push(Assertion { text: text.trim().to_owned(), place, weight: None });
            }
        }
        None if has_rubric => {}
        None => case.unsupported.push(document.unsupported("a judge without a prompt or a rubric", grader.node)),
    }
}
