//! The graders of `claude plugin eval`, with its answers. They look at what the agent printed as it printed it: which calls and texts
//! count, and in which order, differs from the other checks.

use std::path::Path;

use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use super::run::RUN;
use crate::checks::grading_input::{ProgramEnding, Unknown, WorkspaceProgram};
use crate::checks::kinds::session::{Call, PrintedOnce, PrintedSession};
use crate::checks::kinds::skills;
use crate::checks::pattern::{PatternError, PatternSearch, javascript_same_for_all};
use crate::checks::text_test::same_answer;
use crate::checks::{CaseCheck, CheckAnswer, CheckKind, Condition, GradingInput, Named};
use crate::text::name::{RelativePath, resolved};
use crate::text::redact::is_masked;
use crate::trace::excerpt;
use crate::trial::outcome::{Goal, Status};
use crate::trial::span::EventRef;

pub(in crate::checks) static GRADER: CheckKind = CheckKind::new("grader", Goal::Outcome);

/// One that counts only where the skill or its plugin is offered.
pub(in crate::checks) static SKILL_GRADER: CheckKind = CheckKind::new("skill-grader", Goal::Process).about_skill();

/// Where the workspace is in the directory of a run: a path may leave it and come back.
const WORKSPACE: &str = "home/cwd";

/// How a file begins that is an image, whatever its name. `????` is the length in a WebP.
const IMAGES: [&[u8]; 5] = [b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff", b"GIF87a", b"GIF89a", b"RIFF????WEBP"];

/// A grader.
#[derive(Debug, Serialize)]
pub struct Grader {
    pub name: String,
    pub test: GraderTest,
}

/// What a grader asks.
#[derive(Debug, Serialize)]
pub enum GraderTest {
    /// A text matches the regular expression of JavaScript.
    Text { pattern: String, flags: String, want: TextMatch, source: TextSource },
    /// So many calls match; never, if the least is more than the most.
    Calls { call: CallPattern, least: u64, most: Option<u64> },
    /// The first call that matches `before` comes before the first one that matches `after`.
    Order { before: CallPattern, after: CallPattern },
    /// The agent created a file whose path matches the glob, or did not.
    Created { glob: String, exists: bool },
    /// There is this file, for a judge.
    Readable(String),
}

/// How often a pattern must match.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum TextMatch {
    Some,
    None,
    Exactly(u64),
}

/// Which text is searched.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub enum TextSource {
    /// The last text of the agent itself that is not empty.
    LastMessage,
    /// All lines that the agent printed.
    Trace,
    /// The paths of the files that it created, a line each.
    Files,
    /// The file at this path in the workspace.
    File(String),
}

/// Calls of the tool of this name, whose input matches.
#[derive(Debug, Serialize)]
pub struct CallPattern {
    pub tool: String,
    /// A regular expression of JavaScript for the input as JSON.
    pub input: Option<String>,
}

impl CallPattern {
    fn loads_skills(&self) -> bool {
        skills::are_named(|tool| self.tool == tool) || self.input.as_deref().is_some_and(skills::is_file_in)
    }
}

impl Grader {
    /// The check of this grader. `of_skill` says that it counts only where the skill is offered.
    pub fn check(self, of_skill: bool) -> CaseCheck {
        let file = match &self.test {
            GraderTest::Text { source: TextSource::File(path), .. } | GraderTest::Readable(path) => Some(path),
            _ => None,
        };
        let file = file.and_then(|path| RelativePath::parse(path).ok());
        CaseCheck::implied(
            if of_skill { &SKILL_GRADER } else { &GRADER },
            GraderQuestion { grader: self, of_skill, file },
        )
    }
}

#[derive(Debug, Serialize)]
struct GraderQuestion {
    grader: Grader,
    of_skill: bool,
    /// The file of the workspace that it is about.
    file: Option<RelativePath>,
}

impl Condition for GraderQuestion {
    fn evaluate(&self, subject: &GradingInput<'_>) -> Option<CheckAnswer> {
        let Grader { name, test } = &self.grader;
        let expected = format!("{name}: {}", test.words());
        let answer = match test.grade(subject) {
            Ok((passes, found)) => CheckAnswer::holds(passes, expected, found),
            Err(why) => CheckAnswer::new(Status::Unknown, expected, why),
        };
        let kind = if self.of_skill { &SKILL_GRADER } else { &GRADER };
        Some(answer.at(EventRef::End).named(format!("{}: {name}", kind.id)))
    }

    fn names(&self) -> Named<'_> {
        Named { file: self.file.as_ref(), ..Named::default() }
    }

    fn without_effect(&self) -> Option<String> {
        let GraderTest::Text { pattern, flags, want, source } = &self.grader.test else { return None };
        let has_match = javascript_same_for_all(pattern, flags)?;
        let negated = match want {
            TextMatch::None | TextMatch::Exactly(0) => true,
            // How often an empty text is found depends on the text.
            TextMatch::Exactly(_) if has_match => return None,
            TextMatch::Some | TextMatch::Exactly(_) => false,
        };
        // A pattern of any text asks whether the file is there.
        let asks = has_match && !negated && matches!(source, TextSource::File(_));
        (!asks).then(|| same_answer(pattern, has_match, negated))
    }

    fn asks_for_skill(&self) -> bool {
        // One of its own kind counts only with skills already.
        !self.of_skill
            && match &self.grader.test {
                GraderTest::Calls { call, .. } => call.loads_skills(),
                GraderTest::Order { before, after } => before.loads_skills() || after.loads_skills(),
                GraderTest::Text { .. } | GraderTest::Created { .. } | GraderTest::Readable(_) => false,
            }
    }

    fn forbids(&self) -> bool {
        match &self.grader.test {
            GraderTest::Text { want, .. } => matches!(want, TextMatch::None | TextMatch::Exactly(0)),
            GraderTest::Calls { least, .. } => *least == 0,
            GraderTest::Created { exists, .. } => !exists,
            GraderTest::Order { .. } | GraderTest::Readable(_) => false,
        }
    }
}

impl GraderTest {
    fn words(&self) -> String {
        match self {
            Self::Text { pattern, flags, want, source } => {
                let source = match source {
                    TextSource::LastMessage => "the last message",
                    TextSource::Trace => "the session",
                    TextSource::Files => "the list of created files",
                    TextSource::File(path) => path,
                };
                let verb = match want {
                    TextMatch::Some => "matches".to_owned(),
                    TextMatch::None => "does not match".to_owned(),
                    TextMatch::Exactly(times) => format!("matches {times} times"),
                };
                format!("{source} {verb} /{pattern}/{flags}")
            }
            Self::Calls { call, least, most } => {
                let most = most.map_or_else(|| "∞".to_owned(), |most| most.to_string());
                format!("{} called {least} to {most} times", call.words())
            }
            Self::Order { before, after } => format!("{} before {}", before.words(), after.words()),
            Self::Created { glob, exists } => format!("{} {glob} created", if *exists { "a file" } else { "no file" }),
            Self::Readable(path) => format!("there is the file {path}"),
        }
    }

    /// Whether it passes, and what was found.
    fn grade(&self, subject: &GradingInput<'_>) -> Result<(bool, String), Unknown> {
        match self {
            Self::Text { pattern, flags, want, source } => {
                let text = match source.text(subject)? {
                    Ok(text) => text,
                    Err(why) => return Ok((false, why)),
                };
                let search = match PatternSearch::javascript(pattern, flags) {
                    Ok(search) => search,
                    Err(error) => return Ok(invalid(&error)),
                };
                let most = if matches!(want, TextMatch::Exactly(_)) { usize::MAX } else { 1 };
                let found = search.matches(&text, most)?;
                let passes = match want {
                    TextMatch::Some => !found.is_empty(),
                    TextMatch::None => found.is_empty(),
                    TextMatch::Exactly(times) => found.len() as u64 == *times,
                };
                if found.is_empty() && is_masked(&text) {
                    return Err("not found, but a secret in the text is masked".into());
                }
                let first = found.first().map_or_else(|| excerpt(&text), |range| excerpt(&text[range.clone()]));
                let times = if found.is_empty() { "no match in" } else { "found" };
                Ok((passes, format!("{times} {first:?}")))
            }
            Self::Calls { call, least, most } => {
                let session = PrintedOnce::of(subject)?;
                match call.places(session)? {
                    Ok(places) => {
                        let times = places.len() as u64;
                        let passes = times >= *least && most.is_none_or(|most| times <= most);
                        Ok((passes, format!("called {times} times")))
                    }
                    Err(error) => Ok(invalid(&error)),
                }
            }
            Self::Order { before, after } => {
                let session = PrintedOnce::of(subject)?;
                let (before, after) = match (before.places(session)?, after.places(session)?) {
                    (Ok(before), Ok(after)) => (before, after),
                    (Err(error), _) | (_, Err(error)) => return Ok(invalid(&error)),
                };
                Ok(match (before.first(), after.first()) {
                    (Some(before), Some(after)) => {
                        (before < after, format!("calls number {} and {}", before + 1, after + 1))
                    }
                    (None, _) => (false, "the first one was not called".to_owned()),
                    (_, None) => (false, "the second one was not called".to_owned()),
                })
            }
            Self::Created { glob, exists } => {
                let created = created(subject)?;
                let found = created.iter().find(|path| is_match(glob, path));
                let what = found.map_or_else(|| "there is none".to_owned(), |path| format!("there is {path}"));
                Ok((found.is_some() == *exists, what))
            }
            Self::Readable(path) => Ok(match file(subject, path)? {
                Ok(_) => (true, "it is there".to_owned()),
                Err(why) => (false, why),
            }),
        }
    }
}

/// A pattern that does not compile fails the grader, whatever it asks.
fn invalid(error: &PatternError) -> (bool, String) {
    (false, format!("the pattern does not compile: {error}"))
}

impl CallPattern {
    fn words(&self) -> String {
        let input =
            self.input.as_ref().map_or_else(String::new, |input| format!(" with an input that matches /{input}/"));
        format!("`{}`{input}", self.tool)
    }

    /// The positions of the calls that match. A pattern is compiled only if the tool is called.
    fn places(&self, session: &PrintedSession) -> Result<Result<Vec<usize>, PatternError>, Unknown> {
        let calls = session.calls.iter().enumerate().filter(|(_, call)| call.tool == self.tool);
        let Some(input) = &self.input else { return Ok(Ok(calls.map(|(at, _)| at).collect())) };
        let mut calls = calls.peekable();
        if calls.peek().is_none() {
            return Ok(Ok(Vec::new()));
        }
        let search = match PatternSearch::javascript(input, "") {
            Ok(search) => search,
            Err(error) => return Ok(Err(error)),
        };
        let mut places = Vec::new();
        for (at, Call { input, is_cut, .. }) in calls {
            let found = search.matches(input, 1)?;
            if found.is_empty() && (*is_cut || is_masked(input)) {
                return Err("the trace holds only a part of the input of a call".into());
            }
            places.extend((!found.is_empty()).then_some(at));
        }
        Ok(Ok(places))
    }
}

impl TextSource {
    /// The text, or why there is none.
    fn text(&self, subject: &GradingInput<'_>) -> Result<Result<String, String>, Unknown> {
        Ok(match self {
            Self::LastMessage => Ok(PrintedOnce::of(subject)?.last_text.clone()?),
            Self::Trace => Ok(PrintedOnce::of(subject)?.lines.clone()?),
            Self::Files => Ok(created(subject)?.join("\n")),
            Self::File(path) => file(subject, path)?.and_then(|content| {
                let is_image = |start: &&[u8]| {
                    let bytes = content.iter().zip(*start);
                    content.len() >= start.len()
                        && bytes.into_iter().all(|(byte, wanted)| byte == wanted || *wanted == b'?')
                };
                if IMAGES.iter().any(is_image) {
                    return Err(format!("{path} is an image"));
                }
                let text = String::from_utf8_lossy(&content);
                Ok(text.strip_prefix('\u{feff}').unwrap_or(&text).to_owned())
            }),
        })
    }
}

/// The paths of the files that the agent created, sorted by UTF-16 units.
fn created(subject: &GradingInput<'_>) -> Result<Vec<String>, Unknown> {
    let meta = subject.evidence.meta;
    if meta.files_truncated {
        return Err("the workspace holds more files than are listed".into());
    }
    let created = meta.files.iter().filter(|file| file.changed && !file.edited && !file.is_folder());
    let mut paths: Vec<String> = created.map(|file| file.path.to_string_lossy().into_owned()).collect();
    paths.sort_by(|a, b| a.encode_utf16().cmp(b.encode_utf16()));
    Ok(paths)
}

/// The content of a file of the workspace, or why there is none.
fn file(subject: &GradingInput<'_>, path: &str) -> Result<Result<Vec<u8>, String>, Unknown> {
    let from_above = resolved(&Path::new(WORKSPACE).join(path));
    let Some(inside) = from_above.as_ref().and_then(|path| path.strip_prefix(WORKSPACE).ok()) else {
        return Ok(Err(format!("{path} leaves the workspace")));
    };
    let meta = subject.evidence.meta;
    if let Some(link) = meta.links.iter().find(|link| inside.starts_with(link)) {
        return Err(format!("{} is a link, which is not followed", link.display()).into());
    }
    if meta.files.iter().any(|file| file.path == inside && !file.is_folder()) {
        return Ok(Ok(subject.contents.of_workspace(inside)?));
    }
    if meta.files_truncated {
        return Err("the workspace holds more files than are listed".into());
    }
    Ok(Err(format!("{path} is not there")))
}

/// Whether a glob matches a path: `**/` is any directories or none, `**` any text, `*` any text without `/`, `?` one UTF-16 unit.
fn is_match(glob: &str, path: &str) -> bool {
    let mut pattern = String::from("^");
    let mut rest = glob;
    while let Some(c) = rest.chars().next() {
        let (length, part) = match c {
            '*' if rest.starts_with("**/") => (3, "(?:.*/)?".to_owned()),
            '*' if rest.starts_with("**") => (2, ".*".to_owned()),
            '*' => (1, "[^/]*".to_owned()),
            '?' => (1, ".".to_owned()),
            c if c.is_ascii_punctuation() => (1, format!("\\{c}")),
            c => (c.len_utf8(), c.to_string()),
        };
        pattern.push_str(&part);
        rest = &rest[length..];
    }
    let search = PatternSearch::javascript(&format!("{pattern}$"), "s");
    search.is_ok_and(|search| search.matches(path, 1).is_ok_and(|found| !found.is_empty()))
}

// A command line, run after the agent in a copy of the workspace, writes a score.

/// This command line for `/bin/sh` writes a JSON object with the full `score`, 1, whatever its exit status. Each of `files` is a
/// directory of the repository with its path in the copy of the workspace.
pub fn full_score(line: String, files: Vec<(RelativePath, RelativePath)>) -> CaseCheck {
    CaseCheck::implied(&RUN, ScoreCheck(WorkspaceProgram::Command { line, timeout: None, files }))
}

#[derive(Debug, Serialize)]
struct ScoreCheck(WorkspaceProgram);

/// What a command writes that gives a score.
#[derive(Debug, Deserialize)]
struct Scored {
    score: Json,
    #[serde(default)]
    details: Json,
    #[serde(default)]
    checks: Vec<Json>,
}

impl Scored {
    /// The score of a command that ended; else why it has none.
    fn read(ending: &ProgramEnding) -> Result<(f64, Self), Unknown> {
        let no_score = || format!("its standard output has no score; {}", ending.words()).into();
        ending.fault().map_or_else(|| Self::object(&ending.stdout).ok_or_else(no_score), Err)
    }

    /// The object in a command's output, from its first brace to its last.
    fn object(stdout: &str) -> Option<(f64, Self)> {
        let object = stdout.get(stdout.find('{')?..=stdout.rfind('}')?)?;
        let scored: Self = serde_json::from_str(object).ok()?;
        let score = scored.score.as_f64().or_else(|| scored.score.as_str()?.trim().parse().ok())?;
        score.is_finite().then_some((score, scored))
    }

    /// Its details, and the checks in it that did not pass.
    fn said(&self) -> String {
        let field = |check: &Json, key: &str| check[key].as_str().unwrap_or_default().to_owned();
        let failed = self.checks.iter().filter(|check| check["passed"] != Json::Bool(true));
        let failed = failed.map(|check| format!("{}: {}", field(check, "name"), field(check, "message")));
        let details = self.details.as_str().unwrap_or_default().to_owned();
        std::iter::once(details).chain(failed).filter(|text| !text.is_empty()).collect::<Vec<_>>().join("; ")
    }
}

impl Condition for ScoreCheck {
    fn evaluate(&self, subject: &GradingInput<'_>) -> Option<CheckAnswer> {
        let expected = format!("`{}` writes the score 1", excerpt(&self.0.to_string()));
        let answer = match subject.ending_of(&self.0).and_then(Scored::read) {
            Err(why) => CheckAnswer::new(Status::Unknown, expected, why),
            Ok((score, scored)) => {
                let found = format!("score {score}: {}", scored.said());
                let answer = CheckAnswer::holds(score >= 1.0, expected, excerpt(found.trim_end_matches(": ")));
                CheckAnswer { score: Some(score.clamp(0.0, 1.0)), ..answer }
            }
        };
        Some(answer.at(EventRef::End))
    }

    fn names(&self) -> Named<'_> {
        Named { program: Some(&self.0), ..Named::default() }
    }
}
