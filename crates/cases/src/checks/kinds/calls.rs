//! Tools are called, mocks too, and commands are run, or not, and in which order.

use std::sync::Arc;

use globset::{Glob, GlobMatcher};
use serde::Serialize;

use crate::checks::field::{COUNTS, test_of};
use crate::checks::field::{CallCount, Counted, times};
use crate::checks::kinds::skills;
use crate::checks::pattern::{LONGEST, Pattern, PatternSearch, Style};
use crate::checks::text_test::{MAX_SPANS, TextResult, TextTest, TextWant};
use crate::checks::{
    CaseCheck, CheckAnswer, CheckKind, Condition, FieldForm, GradingInput, InvalidCheck, ListForm, ListedCheck, Named,
    WrittenCheck, glob_text,
};
use crate::trace::{Step, kept_part, shell};
use crate::trial::evidence::Reading;
use crate::trial::input_file::MockCall;
use crate::trial::outcome::{Goal, Status};
use crate::trial::span::{EventRef, Span};

pub(in crate::checks) static TOOL: CheckKind =
    CheckKind::new("tool", Goal::Process).by(Reading::Commands).in_list(&ListForm {
        key: "tool",
        form: FieldForm::Text,
        options: &COUNTS,
        tests: true,
        ask: |check| {
            let name = ToolName::parse("tool", check.text("tool").unwrap_or_default())?;
            // `not` is about the calls, not about their inputs.
            let input = test_of(check)?.map(|test| TextTest { negated: false, ..test });
            Ok(Arc::new(ToolCheck { name, input, count: check.count()? }))
        },
    });

pub(in crate::checks) static COMMAND: CheckKind =
    CheckKind::new("command", Goal::Process).by(Reading::Commands).in_list(&ListForm {
        key: "command",
        form: FieldForm::Pattern(Style::Exact),
        options: &[COUNTS[0], COUNTS[1], COUNTS[2], (WHOLE, FieldForm::Flag)],
        tests: false,
        ask: |check| {
            let pattern = check.pattern("command").cloned().ok_or_else(|| nothing("command"))?;
            let count = check.count()?;
            let whole = if check.is(WHOLE) { WholeScript::read_with(count) } else { WholeScript::Ignored };
            Ok(Arc::new(CommandCheck { pattern, count, whole }))
        },
    });

pub(in crate::checks) static SEQUENCE: CheckKind =
    CheckKind::new("sequence", Goal::Process).by(Reading::Commands).in_list(&ListForm {
        key: "sequence",
        form: FieldForm::Texts,
        options: &[],
        tests: false,
        ask: |check: &ListedCheck| {
            let calls = check.texts("sequence").unwrap_or_default();
            let calls = calls.iter().map(|text| SequenceEntry::parse(text)).collect::<Result<Vec<_>, _>>()?;
            if calls.is_empty() { Err(nothing("sequence")) } else { Ok(Arc::new(SequenceCheck(calls))) }
        },
    });

/// The glob of every tool.
const ANY_TOOL: &str = "*";

/// The option that a pattern of a command is also one of the whole script.
const WHOLE: &str = "wholeScript";

/// How an entry of a sequence begins that is a pattern of a command.
const COMMAND_SIGN: &str = "$ ";

fn nothing(key: &'static str) -> InvalidCheck {
    InvalidCheck::new(key, format!("`{key}` names nothing"), "name a tool or a command")
}

/// A command of a script that matches this pattern too is run, or if not `is_required`, neither such a command nor such a script.
pub fn script_command(pattern: Pattern, is_required: bool) -> CaseCheck {
    let count = if is_required { CallCount::SOME } else { CallCount::NONE };
    CaseCheck::implied(&COMMAND, CommandCheck { pattern, count, whole: WholeScript::read_with(count) })
}

/// Tools are called so often, whichever they are.
pub fn any_tool(count: CallCount) -> Result<CaseCheck, InvalidCheck> {
    Ok(CaseCheck::implied(&TOOL, ToolCheck { name: ToolName::parse("tool", ANY_TOOL)?, input: None, count }))
}

#[derive(Clone, Debug, Serialize)]
struct ToolName(#[serde(serialize_with = "glob_text")] GlobMatcher);

impl ToolName {
    fn parse(key: &'static str, text: &str) -> Result<Self, InvalidCheck> {
        if text.trim().is_empty() {
            return Err(nothing(key));
        }
        if text.len() > LONGEST {
            let message = format!("`{key}` has {} bytes; at most {LONGEST} are read", text.len());
            return Err(InvalidCheck::new(key, message, "name one tool"));
        }
        Glob::new(text).map(|glob| Self(glob.compile_matcher())).map_err(|error| {
            let help = "`*` stands for any characters, and `{a,b}` for one of two names";
            InvalidCheck::new(key, format!("`{key}`: {error}"), help)
        })
    }

    fn text(&self) -> &str {
        self.0.glob().glob()
    }

    fn loads_skills(&self) -> bool {
        skills::are_named(|tool| self.0.is_match(tool))
    }

    /// Whether it may name a tool that runs shell commands.
    fn may_be_shell(&self, subject: &GradingInput<'_>) -> bool {
        let shells = subject.evidence.meta.agent.kind.profile().tools.shells;
        shells.iter().any(|shell| self.0.is_match(shell))
    }
}

/// What is said of a command without its tool.
const NAMELESS: &str = "the agent did not report the tool of a command";

struct ToolCall<'a> {
    step: usize,
    /// `None` if the agent did not report it.
    name: Option<&'a str>,
    input: &'a str,
}

/// The calls of tools, in order.
fn tool_calls<'a>(subject: &GradingInput<'a>) -> Vec<ToolCall<'a>> {
    let trace = subject.evidence.trace;
    let mut calls = Vec::new();
    for (step, of_step) in trace.steps.iter().enumerate() {
        let reported = trace.moments.get(step);
        let name = reported.and_then(|moment| moment.tool.as_deref());
        let input = reported.and_then(|moment| moment.input.as_deref()).unwrap_or_default();
        match of_step {
            Step::Tool { name, input, .. } => calls.push(ToolCall { step, name: Some(name), input }),
            // Another event reports the tool that changed these files.
            Step::FileChange(_) if name.is_none() => {}
            Step::Command { .. } | Step::FileChange(_) => calls.push(ToolCall { step, name, input }),
            _ => {}
        }
    }
    calls
}

#[derive(Debug, Serialize)]
struct ToolCheck {
    name: ToolName,
    input: Option<TextTest>,
    count: CallCount,
}

impl Condition for ToolCheck {
    fn evaluate(&self, subject: &GradingInput<'_>) -> Option<CheckAnswer> {
        let with =
            self.input.as_ref().map_or_else(String::new, |test| format!(" with an input that {}", test.words(false)));
        let expected = format!("`{}` called {}{with}", self.name.text(), self.count.words());
        let trace = subject.evidence.trace;
        let (mut counted, mut steps, mut other) = (Counted::default(), Vec::new(), None);
        for ToolCall { step, name, input } in tool_calls(subject) {
            // A call is a call, whatever it is named.
            let is_counted = self.name.text() == ANY_TOOL && self.input.is_none();
            let name = name.or(is_counted.then_some(ANY_TOOL));
            let Some(name) = name else {
                counted.doubt(u64::from(self.name.may_be_shell(subject)), || NAMELESS.to_owned());
                continue;
            };
            if !self.name.0.is_match(name) {
                continue;
            }
            let (input, is_cut) = kept_part(input);
            match self.input.as_ref().map(|test| test.of(input, is_cut)) {
                None | Some(TextResult::Holds(_)) => {
                    counted.sure += 1;
                    steps.push(step);
                }
                Some(TextResult::Differs(_)) => other = other.or(Some(step)),
                Some(TextResult::Unknown(why)) => counted.doubt(1, || why),
            }
        }
        counted.doubt(trace.steps_dropped, || format!("the trace lacks {} events", trace.steps_dropped));
        Some(marked(self.count.answer(subject, counted, expected, "called"), subject, &steps, other))
    }

    fn written(&self) -> Option<WrittenCheck> {
        let written = WrittenCheck::new(self.name.text()).with_count(self.count);
        self.input.iter().try_fold(written, WrittenCheck::with_test)
    }

    fn asks_for_skill(&self) -> bool {
        let reads_skill = |test: &TextTest| matches!(&test.want, TextWant::Pattern(of) if !test.negated && skills::is_file_in(&of.text));
        self.name.loads_skills() || self.input.as_ref().is_some_and(reads_skill)
    }

    fn forbids(&self) -> bool {
        self.count.least == 0
    }

    fn settled_by(&self) -> Option<Status> {
        Some(self.count.settled_by())
    }
}

/// The answer with the events that decided it: these steps, else the `other` one, else the end.
pub(super) fn marked(
    answer: CheckAnswer,
    subject: &GradingInput<'_>,
    steps: &[usize],
    other: Option<usize>,
) -> CheckAnswer {
    let call = |step: &usize| Span::of_call(&subject.evidence.trace.steps, *step);
    match (steps, other) {
        ([], None) => answer.at(EventRef::End),
        ([], Some(other)) => answer.at(call(&other)),
        (steps, _) => answer.with(steps.iter().take(MAX_SPANS).map(call)),
    }
}

/// What is said of commands that the agent did not report.
pub(super) const UNREPORTED: &str = "the model's code may have run more, which its agent does not report";

/// Where a script may begin or end a command.
const SEPARATORS: [char; 13] = ['\n', ';', '|', '&', '(', ')', '{', '}', '`', '"', '\'', '$', '!'];

/// What it means that a whole script matches, over its pipes and other operators.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
enum WholeScript {
    /// Nothing.
    Ignored,
    /// It counts as a command.
    Counted,
    /// Without it, its commands do not count.
    Required,
}

impl WholeScript {
    /// What it means for a check that reads whole scripts and has this count: it never makes the check pass.
    fn read_with(count: CallCount) -> Self {
        if count.least == 0 { Self::Counted } else { Self::Required }
    }
}

/// How often a script runs a command that matches.
fn runs(search: &PatternSearch, script: &str, whole: WholeScript) -> Counted {
    let mut counted = Counted::default();
    let (script, is_cut) = kept_part(script);
    let shell::RunCommands { commands, perhaps, all } = shell::run_commands(script);
    for command in &commands {
        match search.matches(command, 1) {
            Ok(found) => counted.sure += u64::from(!found.is_empty()),
            Err(error) => counted.doubt(1, || error.to_string()),
        }
    }
    let is_in = |text: &str| search.matches(text, 1).map_or(true, |found| !found.is_empty());
    let mut matches_whole = false;
    if whole != WholeScript::Ignored {
        match search.matches(&shell::passed_script(script), 1) {
            Ok(found) => matches_whole = !found.is_empty(),
            Err(error) => counted.doubt(1, || error.to_string()),
        }
    }
    match (whole, counted.sure > 0) {
        (WholeScript::Required, true) if !matches_whole => counted.sure = 0,
        (WholeScript::Required, false) if matches_whole => {
            counted.doubt(1, || "a script matches as a whole, and none of its commands does".to_owned());
        }
        (WholeScript::Counted, false) if matches_whole && all => counted.sure = 1,
        _ => {}
    }
    if is_cut {
        counted.doubt(u64::MAX, || "the trace holds only the start of a command".to_owned());
    } else if counted.sure == 0 {
        let names_it = || is_in(script) || script.split(SEPARATORS).any(|part| is_in(part.trim()));
        if perhaps.iter().any(|command| is_in(command)) || (!all && names_it()) {
            counted.doubt(1, || "a script names it, and whether it runs it is not known".to_owned());
        }
    }
    counted
}

#[derive(Debug, Serialize)]
struct CommandCheck {
    pattern: Pattern,
    count: CallCount,
    whole: WholeScript,
}

impl Condition for CommandCheck {
    fn evaluate(&self, subject: &GradingInput<'_>) -> Option<CheckAnswer> {
        let expected = format!("a command that matches {:?} run {}", self.pattern.text, self.count.words());
        let search = match self.pattern.compile() {
            Ok(search) => search,
            Err(error) => return Some(CheckAnswer::new(Status::Unknown, expected, error.to_string())),
        };
        let trace = subject.evidence.trace;
        let (mut counted, mut steps, mut other) = (Counted::default(), Vec::new(), None);
        for (step, of_step) in trace.steps.iter().enumerate() {
            let Step::Command { command, .. } = of_step else { continue };
            let Counted { sure, perhaps, why } = runs(&search, command, self.whole);
            counted.sure += sure;
            counted.doubt(perhaps, || why.unwrap_or_default());
            if sure > 0 {
                steps.push(step);
            } else if perhaps > 0 {
                other = other.or(Some(step));
            }
        }
        let unreported = trace.unreported_commands;
        counted.doubt(unreported, || UNREPORTED.to_owned());
        counted.doubt(trace.steps_dropped, || format!("the trace lacks {} events", trace.steps_dropped));
        Some(marked(self.count.answer(subject, counted, expected, "run"), subject, &steps, other))
    }

    fn written(&self) -> Option<WrittenCheck> {
        let written = WrittenCheck::new(self.pattern.text.as_str()).with_count(self.count);
        Some(written.with_flag(WHOLE, self.whole != WholeScript::Ignored))
    }

    fn asks_for_skill(&self) -> bool {
        skills::is_file_in(&self.pattern.text)
    }

    fn forbids(&self) -> bool {
        self.count.least == 0
    }

    fn settled_by(&self) -> Option<Status> {
        Some(self.count.settled_by())
    }

    fn without_effect(&self) -> Option<String> {
        self.pattern.text.trim().is_empty().then(|| "the command to look for is empty: every command has it".to_owned())
    }
}

/// An entry of a sequence.
#[derive(Clone, Debug, Serialize)]
enum SequenceEntry {
    Tool(ToolName),
    Command(Pattern),
}

impl SequenceEntry {
    fn parse(text: &str) -> Result<Self, InvalidCheck> {
        let Some(command) = text.strip_prefix(COMMAND_SIGN) else {
            return Ok(Self::Tool(ToolName::parse("sequence", text)?));
        };
        let pattern = Pattern { text: command.to_owned(), style: Style::Exact };
        match pattern.check() {
            Ok(()) => Ok(Self::Command(pattern)),
            Err(error) => {
                let (message, help) = pattern.problem("sequence", &error);
                Err(InvalidCheck::new("sequence", message, help))
            }
        }
    }

    fn text(&self) -> String {
        match self {
            Self::Tool(name) => name.text().to_owned(),
            Self::Command(pattern) => format!("{COMMAND_SIGN}{}", pattern.text),
        }
    }
}

#[derive(Debug, Serialize)]
struct SequenceCheck(Vec<SequenceEntry>);

impl Condition for SequenceCheck {
    fn evaluate(&self, subject: &GradingInput<'_>) -> Option<CheckAnswer> {
        let trace = subject.evidence.trace;
        let names: Vec<String> = self.0.iter().map(SequenceEntry::text).collect();
        let expected = format!("in this order: {}", names.join(", "));
        let (mut steps, mut doubt) = (Vec::new(), None);
        let mut calls = self.0.iter().peekable();
        let mut tools = tool_calls(subject).into_iter().peekable();
        for (step, of_step) in trace.steps.iter().enumerate() {
            let tool = tools.next_if(|call| call.step == step);
            match calls.peek() {
                None => break,
                Some(SequenceEntry::Tool(wanted)) => match tool.map(|call| call.name) {
                    Some(Some(name)) if wanted.0.is_match(name) => {
                        calls.next();
                        steps.push(step);
                    }
                    Some(None) if wanted.may_be_shell(subject) => {
                        doubt.get_or_insert_with(|| NAMELESS.to_owned());
                    }
                    _ => {}
                },
                Some(SequenceEntry::Command(_)) => {
                    let Step::Command { command, .. } = of_step else { continue };
                    let (script, _) = kept_part(command);
                    let before = steps.len();
                    for command in shell::run_commands(script).commands {
                        let Some(SequenceEntry::Command(pattern)) = calls.peek() else { break };
                        let found = pattern.compile().ok().and_then(|search| search.matches(&command, 1).ok());
                        if found.is_some_and(|found| !found.is_empty()) {
                            calls.next();
                            steps.push(step);
                        }
                    }
                    if let (Some(SequenceEntry::Command(pattern)), true) = (calls.peek(), steps.len() == before) {
                        doubt = doubt.or_else(|| runs(&pattern.compile().ok()?, command, WholeScript::Ignored).why);
                    }
                }
            }
        }
        let done = calls.peek().is_none();
        let found = match calls.peek() {
            None => "all of them".to_owned(),
            Some(missing) => format!("{} of {}, then no `{}`", steps.len(), self.0.len(), missing.text()),
        };
        if trace.unreported_commands > 0 && self.0.iter().any(|call| matches!(call, SequenceEntry::Command(_))) {
            doubt.get_or_insert_with(|| UNREPORTED.to_owned());
        }
        if trace.steps_dropped > 0 {
            doubt.get_or_insert_with(|| format!("the trace lacks {} events", trace.steps_dropped));
        }
        let answer = match doubt.filter(|_| !done) {
            Some(doubt) => CheckAnswer::new(Status::Unknown, expected, format!("{found}; {doubt}")),
            None => subject.proved(done, true, expected, found),
        };
        Some(marked(answer, subject, &steps, None))
    }

    fn written(&self) -> Option<WrittenCheck> {
        Some(WrittenCheck::new(self.0.iter().map(SequenceEntry::text).collect::<Vec<_>>()))
    }

    fn asks_for_skill(&self) -> bool {
        self.0.iter().any(|call| match call {
            SequenceEntry::Tool(name) => name.loads_skills(),
            SequenceEntry::Command(pattern) => skills::is_file_in(&pattern.text),
        })
    }

    fn settled_by(&self) -> Option<Status> {
        Some(Status::Pass)
    }
}

// The number of effective commands, and which of them decided a check.

/// At most this many effective commands.
pub(super) fn answer_command(subject: &GradingInput<'_>, most: u64) -> CheckAnswer {
    let trace = subject.evidence.trace;
    let effective = trace.effective_commands;
    let found = format!("{effective} effective of {} commands", trace.commands);
    let expected = format!("at most {most} effective commands");
    let answer = if effective <= most && effective.saturating_add(trace.unreported_commands) > most {
        let found = format!("{found}; {UNREPORTED}");
        CheckAnswer::new(Status::Unknown, expected, found)
    } else {
        subject.happened(effective > most, false, expected, found)
    };
    let offered = trace.offered.as_ref().map(|offered| offered.native.as_slice());
    let mut steps = Vec::new();
    for (at, step) in trace.steps.iter().enumerate() {
        if matches!(step, Step::Command { command, .. } if shell::is_effective(command, offered)) {
            steps.push(at);
        }
    }
    // The event to look at first is the first command over the limit, else the last command.
    let over = usize::try_from(most).ok().filter(|most| answer.status == Status::Fail && *most < steps.len());
    if let Some(first) = over.or(steps.len().checked_sub(1)) {
        steps[..=first].rotate_right(1);
    }
    let spans: Vec<Span> = steps.iter().take(MAX_SPANS).map(|at| Span::of_call(&trace.steps, *at)).collect();
    if spans.is_empty() { answer.at(EventRef::End) } else { answer.with(spans) }
}

// Commands and tools that are answered from files are called, or not.

const KEY: &str = "mock";

/// The option that a test is about the standard input.
const STDIN: &str = "stdin";

/// The option that only calls without an answer count.
const UNANSWERED: &str = "unanswered";

/// What a case writes to ask whether every call was answered.
pub const EVERY_CALL_ANSWERED: &str = r#"{ "mock": "*", "unanswered": true, "not": true }"#;

pub(in crate::checks) static CALLED: CheckKind = CheckKind::new("mock", Goal::Process).in_list(&ListForm {
    key: KEY,
    form: FieldForm::Text,
    options: &[COUNTS[0], COUNTS[1], COUNTS[2], (STDIN, FieldForm::Flag), (UNANSWERED, FieldForm::Flag)],
    tests: true,
    ask: |check| {
        let name = check.text(KEY).unwrap_or_default();
        if name.trim().is_empty() || name.len() > LONGEST {
            return Err(InvalidCheck::new(KEY, format!("`{KEY}` names nothing"), "name a command, or `server/tool`"));
        }
        let name = Glob::new(name).map_err(|error| {
            let help = "`*` stands for any characters, and `{a,b}` for one of two names";
            InvalidCheck::new(KEY, format!("`{KEY}`: {error}"), help)
        })?;
        // `not` is about the calls, not about their inputs.
        let input = test_of(check)?.map(|test| TextTest { negated: false, ..test });
        let (stdin, unanswered) = (check.is(STDIN), check.is(UNANSWERED));
        if stdin && input.is_none() {
            let help = "write `contains`, `matches` or `equals` next to it";
            return Err(InvalidCheck::new(
                STDIN,
                format!("`{STDIN}` says what a test is about, and there is none"),
                help,
            ));
        }
        Ok(Arc::new(MockCheck { name: name.compile_matcher(), input, stdin, unanswered, count: check.count()? }))
    },
});

#[derive(Debug, Serialize)]
struct MockCheck {
    #[serde(serialize_with = "glob_text")]
    name: GlobMatcher,
    /// About the arguments on a line, or the input of a tool.
    input: Option<TextTest>,
    /// Whether `input` is about the standard input.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    stdin: bool,
    /// Whether only calls without an answer count.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    unanswered: bool,
    count: CallCount,
}

impl MockCheck {
    /// What it counts, in words.
    fn expected(&self) -> String {
        let of = if self.stdin { "a standard input" } else { "an input" };
        let with =
            self.input.as_ref().map_or_else(String::new, |test| format!(" with {of} that {}", test.words(false)));
        let without = if self.unanswered { " without an answer" } else { "" };
        format!("`{}`, answered from files, called{without} {}{with}", self.name.glob().glob(), self.count.words())
    }

    /// How often the trace names what may be called: a command with this word, or with a path that ends so, and a tool.
    fn named(&self, subject: &GradingInput<'_>) -> u64 {
        // This is about whatever is answered from files, and the trace does not say what that is.
        if self.name.is_match("another") || self.name.is_match("another/tool") {
            return 0;
        }
        let is_it = |word: &str| self.name.is_match(word);
        let trace = subject.evidence.trace;
        let of_step = |step: &Step| match step {
            Step::Command { command, .. } => shell::naming(kept_part(command).0, &is_it),
            Step::Tool { name, .. } => {
                let served = name.strip_prefix("mcp__").and_then(|rest| rest.split_once("__"));
                u64::from(served.is_some_and(|(server, tool)| is_it(&format!("{server}/{tool}"))))
            }
            _ => 0,
        };
        trace.steps.iter().map(of_step).sum()
    }
}

impl Condition for MockCheck {
    fn evaluate(&self, subject: &GradingInput<'_>) -> Option<CheckAnswer> {
        let expected = self.expected();
        let Some(record) = &subject.evidence.meta.mocks else {
            return Some(CheckAnswer::new(Status::Unknown, expected, "nothing was answered from files"));
        };
        let mut counted = Counted::default();
        let counts = |call: &&MockCall| self.name.is_match(&call.name) && !(self.unanswered && call.answered);
        for MockCall { name, input, stdin, .. } in record.calls.iter().filter(counts) {
            let (input, is_cut) = kept_part(if self.stdin { stdin.as_deref().unwrap_or_default() } else { input });
            match self.input.as_ref().map(|test| test.of(input, is_cut)) {
                None | Some(TextResult::Holds(_)) => counted.sure += 1,
                Some(TextResult::Differs(_)) => {}
                Some(TextResult::Unknown(why)) => counted.doubt(1, || format!("{name}: {why}")),
            }
        }
        counted.doubt(record.lost, || "a part of the record of calls cannot be read".to_owned());
        let named = self.named(subject);
        let recorded = record.calls.iter().filter(|call| self.name.is_match(&call.name)).count() as u64;
        counted.doubt(named.saturating_sub(recorded), || {
            format!("the trace names it {}, and the record has {recorded}: a call by another path is not answered from files", times(named))
        });
        Some(self.count.answer(subject, counted, expected, "called"))
    }

    fn written(&self) -> Option<WrittenCheck> {
        let written = WrittenCheck::new(self.name.glob().glob()).with_count(self.count);
        let written = written.with_flag(STDIN, self.stdin).with_flag(UNANSWERED, self.unanswered);
        self.input.iter().try_fold(written, WrittenCheck::with_test)
    }

    fn names(&self) -> Named<'_> {
        Named { mocks: Some((&self.name, self.unanswered)), ..Named::default() }
    }

    fn forbids(&self) -> bool {
        self.count.least == 0
    }
}
