//! What a case can ask of its trial. A [`CaseCheck`] is a value: its kind, where it is written, and what it asks.
//!
//! Each kind of check is one file in `kinds` and one line in [`KINDS`]. The file says how cases write the check ([`Field`]),
//! what it is about, and how the evidence answers it. Case formats, grading, lint and reports iterate over the registry
//! and never match on a kind.

pub mod field;
pub mod grading_input;
mod kinds;
pub mod pattern;
pub mod schema;
pub mod text_test;

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use globset::GlobMatcher;
use serde::{Serialize, Serializer};
use serde_json::Value as Json;

pub use field::{Field, FieldForm, FieldValue, InvalidField, SOURCES};
pub use field::{InvalidCheck, ListForm, ListedCheck, WrittenCheck};
pub use grading_input::{CheckAnswer, GradingInput};
pub use kinds::calls::EVERY_CALL_ANSWERED;
pub use kinds::{
    CallPattern, FileWant, Grader, GraderTest, NOT_TRIGGERED, PrintedOnce, SCRIPT_KEY, TRIGGERED, TextMatch, TextPlace,
    TextSource, Work, activates, activates_one, any_tool, changes_seen, file, final_message, full_score,
    invoked_skills, loads, max_commands, max_cost, max_duration, max_total_tokens, max_turns, output_schema, rejects,
    run, script, script_command, text, triggers, work,
};

use crate::checks::kinds::{calls, files, limits, skills, text as texts};
use crate::checks::pattern::Pattern;
use crate::text::diagnostic::SourceLocation;
use crate::text::name::RelativePath;
use crate::trial::evidence::Reading;
use crate::trial::outcome::{CheckResult, Goal, Status, Weight};
use grading_input::WorkspaceProgram;

/// Every kind of check, in the order in which a case's checks are made.
pub static KINDS: &[&CheckKind] = &[
    &skills::TRIGGERED_KIND,
    &skills::NOT_TRIGGERED_KIND,
    &skills::ACTIVATES,
    &skills::REJECTS,
    &calls::TOOL,
    &calls::COMMAND,
    &calls::SEQUENCE,
    &calls::CALLED,
    &kinds::work::WORK,
    &texts::OUTPUT_CONTAINS,
    &texts::OUTPUT_MATCHES,
    &skills::LOADED,
    &skills::DESCRIBED,
    &files::SEEN,
    &text::OUTPUT_SCHEMA,
    &text::INVOKED_SKILLS,
    &texts::MUST_INCLUDE,
    &texts::MUST_NOT_INCLUDE,
    &texts::TEXT,
    &files::FILE,
    &files::REQUIRED,
    &limits::MAX_COMMANDS,
    &limits::MAX_INPUT,
    &limits::MAX_OUTPUT,
    &limits::MAX_TOTAL,
    &limits::MAX_COST,
    &limits::MAX_SECONDS,
    &limits::MAX_TURNS,
    &kinds::grader::GRADER,
    &kinds::grader::SKILL_GRADER,
    &kinds::run::RUN,
    &kinds::script::SCRIPT,
];

/// What is said of a check that the end of its trial left open.
pub const OPEN: &str = "open when the trial ended, because its verdict was settled";

/// How the ids begin of checks of other kinds that ask for the skill by what they name.
const NAMES_SKILL: &str = "names-skill: ";

#[derive(Debug)]
pub struct CheckKind {
    /// Its stable name in results, kebab-case.
    pub id: &'static str,
    /// What it is about.
    pub goal: Goal,
    /// Whether it is about the skill under test: an agent without skills is not checked.
    pub asks_for_skill: bool,
    /// What it depends on of what is read.
    pub reads: Reading,
    /// The field of a case that writes it, if it has one of its own.
    pub field: Option<CheckField>,
    /// How the list `checks` of a case writes it, if it can.
    pub listed: Option<&'static ListForm>,
}

impl CheckKind {
    const fn new(id: &'static str, goal: Goal) -> Self {
        Self { id, goal, asks_for_skill: false, reads: Reading::End, field: None, listed: None }
    }

    const fn about_skill(self) -> Self {
        Self { asks_for_skill: true, reads: Reading::Activation, ..self }
    }

    const fn by(self, reads: Reading) -> Self {
        Self { reads, ..self }
    }

    const fn in_list(self, form: &'static ListForm) -> Self {
        Self { listed: Some(form), ..self }
    }

    const fn with_field(self, column: &'static str, key: &'static str, form: FieldForm, ask: MakeAsk) -> Self {
        Self { field: Some(CheckField { field: Field { column, key, form }, ask }), ..self }
    }
}

/// Makes the question that a value asks; `None` if the value asks for nothing.
type MakeAsk = fn(FieldValue) -> Option<Arc<dyn Condition>>;

/// How cases write a kind of check.
#[derive(Debug)]
pub struct CheckField {
    /// The name and the form of the value.
    pub field: Field,
    /// Makes the question that a value asks; `None` if the value asks for nothing.
    pub ask: MakeAsk,
}

/// A question as data, which differs if the question does.
pub trait AsJson {
    fn as_json(&self) -> Json;
}

impl<T: Serialize> AsJson for T {
    fn as_json(&self) -> Json {
        serde_json::to_value(self).unwrap_or_else(|error| error.to_string().into())
    }
}

/// The form of a glob in [`AsJson`].
fn glob_text<S: Serializer>(glob: &GlobMatcher, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(glob.glob().glob())
}

/// What one check asks, and how the evidence answers it.
pub trait Condition: fmt::Debug + AsJson + Send + Sync {
    /// The answer by the evidence of a trial; `None` if the evidence does not apply to the question.
    fn evaluate(&self, subject: &GradingInput<'_>) -> Option<CheckAnswer>;

    /// The status that nothing later in a session can change; `None` if each can change until the agent's end.
    fn settled_by(&self) -> Option<Status> {
        None
    }

    /// The answers, for a question with several.
    fn answers(&self, subject: &GradingInput<'_>) -> Vec<CheckAnswer> {
        self.evaluate(subject).into_iter().collect()
    }

    /// It as a case writes it, so that reading it gives the same question; `None` if a case cannot.
    fn written(&self) -> Option<WrittenCheck> {
        None
    }

    /// Whether it forbids something or limits an amount: an agent that does nothing passes.
    fn forbids(&self) -> bool {
        false
    }

    /// Whether it names what only an agent with skills has, so that the answer is the same in every trial without.
    fn asks_for_skill(&self) -> bool {
        false
    }

    /// The text that the final message must or must not contain.
    fn text(&self) -> Option<(&Pattern, Presence)> {
        None
    }

    /// What it names besides the trial.
    fn names(&self) -> Named<'_> {
        Named::default()
    }

    /// Why its answer tells nothing about a trial, if that is sure without one. Then it is unknown.
    fn without_effect(&self) -> Option<String> {
        None
    }
}

/// What a condition names besides the trial: what lint looks up, and what a change of makes recordings stale.
#[derive(Clone, Copy, Debug, Default)]
pub struct Named<'a> {
    /// The program that answers. It runs after the agent, in a copy of the workspace.
    pub program: Option<&'a WorkspaceProgram>,
    /// The file of the repository that a file of the workspace must equal.
    pub snapshot: Option<&'a RelativePath>,
    /// The file of the workspace that it is about.
    pub file: Option<&'a RelativePath>,
    pub skills: &'a [String],
    /// The mocks whose calls it is about, and whether only those without an answer.
    pub mocks: Option<(&'a GlobMatcher, bool)>,
}

/// Whether a text is required or forbidden.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Presence {
    /// It is required.
    Present,
    /// It is forbidden.
    Absent,
}

/// One assertion of a case about its trials.
#[derive(Clone, Debug)]
pub struct CaseCheck {
    pub kind: &'static CheckKind,
    /// Where the case has it.
    pub origin: Origin,
    pub ask: Arc<dyn Condition>,
    /// What it counts in the score of a trial. Without a weight it must pass.
    pub weight: Option<Weight>,
}

/// Where in the file of its case a check is written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Origin {
    /// The column or key in the file; empty if every case of the format has the check.
    pub key: Cow<'static, str>,
    /// The line, from 1; 0 if the check is not written.
    pub line: usize,
    /// Its place, if the format cannot find it by the key, or if it is not in the file of the case.
    pub elsewhere: Option<SourceLocation>,
}

impl Origin {
    /// Whether a skill or the repository has the check, for many cases.
    pub fn is_of_many_cases(&self) -> bool {
        self.key.is_empty() && self.elsewhere.is_some()
    }
}

impl CaseCheck {
    /// A check that is not written in the file of its case.
    pub fn implied(kind: &'static CheckKind, ask: impl Condition + 'static) -> Self {
        Self { kind, origin: Origin::default(), ask: Arc::new(ask), weight: None }
    }

    /// Whether only trials with skills can answer it both ways, by its kind or by what it names.
    pub fn asks_for_skill(&self) -> bool {
        self.kind.asks_for_skill || self.ask.asks_for_skill()
    }

    /// Whether it judges what the agent achieved.
    pub fn judges_outcome(&self) -> bool {
        !self.asks_for_skill() && judges_outcome(self.kind.id)
    }

    /// Whether nothing later in the session can change this status of the check.
    pub fn is_settled_by(&self, status: Status) -> bool {
        self.ask.settled_by() == Some(status)
    }

    /// It as the value of the field of its kind; `None` if no field can have it.
    pub fn written_value(&self) -> Option<Json> {
        let pattern = self.ask.text().map(|(pattern, _)| Json::from(pattern.text.as_str()));
        pattern.or_else(|| Some(self.ask.written()?.value))
    }

    /// It as an object of the list `checks`; `None` if the list cannot have it.
    pub fn written_object(&self) -> Option<Json> {
        let WrittenCheck { value, mut options } = self.kind.listed.and(self.ask.written())?;
        options.insert(self.kind.listed?.key.to_owned(), value);
        Some(options.into())
    }

    /// The program that answers, if one does.
    pub fn program(&self) -> Option<&WorkspaceProgram> {
        self.ask.names().program
    }

    /// The script that answers, if one does.
    pub fn script(&self) -> Option<&RelativePath> {
        self.program().and_then(WorkspaceProgram::script)
    }

    /// The results of the check: none if it does not apply to this trial. If the trial ended before the check was settled, they
    /// are unknown.
    pub fn evaluate(&self, subject: &GradingInput<'_>) -> Vec<CheckResult> {
        if self.kind.asks_for_skill && !subject.evidence.meta.delivery.offers_skills() {
            return Vec::new();
        }
        let program = self.program().and_then(|program| Some(subject.programs.get(program)?.digest.clone()));
        let without_effect = self.ask.without_effect();
        let results = self.ask.answers(subject).into_iter().map(|answer| {
            let CheckAnswer { id, mut status, expected, mut found, score, spans } = answer;
            if let Some(why) = &without_effect {
                (status, found) = (Status::Unknown, why.clone());
            }
            if subject.evidence.meta.ending.settled && !self.is_settled_by(status) {
                (status, found) = (Status::Unknown, format!("{found}; {OPEN}"));
            }
            if let Some(why) = subject.evidence.meta.doubt(self.kind.reads) {
                (status, found) = (Status::Unknown, format!("{found}; {why}"));
            }
            let mut id = id.unwrap_or_else(|| self.kind.id.to_owned());
            if self.ask.asks_for_skill() {
                id.insert_str(0, NAMES_SKILL);
            }
            CheckResult {
                program: program.clone(),
                weight: self.weight,
                // In stored results only what counts.
                score: score.filter(|_| self.weight.is_some() && status != Status::Unknown),
                spans,
                ..CheckResult::new(id, self.kind.goal, status, expected, found)
            }
        });
        results.collect()
    }
}

/// The kind of check whose results have this id: the id of the kind, or `grader: name`.
fn kind_of(id: &str) -> Option<&'static CheckKind> {
    let kind = id.split_once(": ").map_or(id, |(kind, _)| kind);
    KINDS.iter().copied().find(|known| known.id == kind)
}

/// Whether checks with this id, of a case or the repository's own, judge what the agent achieved.
pub fn judges_outcome(id: &str) -> bool {
    let kind = kind_of(id);
    !asks_for_skill(id) && kind.is_none_or(|kind| matches!(kind.goal, Goal::Outcome | Goal::Style))
}

/// Whether only trials with skills can answer checks with this id both ways: they are left out where one side has no skills.
pub fn asks_for_skill(id: &str) -> bool {
    id.starts_with(NAMES_SKILL) || is_of_offered_skill(id)
}

/// Whether checks with this id are made only in trials with skills.
pub fn is_of_offered_skill(id: &str) -> bool {
    kind_of(id).is_some_and(|kind| kind.asks_for_skill)
}
