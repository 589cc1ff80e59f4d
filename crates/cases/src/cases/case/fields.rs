//! The fields of a case: one table for all formats. A format reads texts; the table says what they mean.
//!
//! Each kind of check declares its own field ([`crate::checks::KINDS`]). All other fields are in `CORE`.

use std::ops::{Deref, DerefMut};
use std::time::Duration;

use serde_json::{Value as Json, json};

use crate::cases::case::document::{Document, Node};
use crate::cases::case::lists::{self, CHECKS};
use crate::cases::case::{Assertion, Case, Unsupported};
use crate::checks::{self, CaseCheck, CheckKind, Field, FieldForm, FieldValue, KINDS, Origin};
use crate::settings::ActivationRule;
use crate::settings::limits::{LONGEST_TIMEOUT, MOST_TURNS};
use crate::text::diagnostic::{Code, SourceLocation};
use crate::text::name::RelativePath;
use crate::trial::input_file::Sandbox;
use crate::trial::input_file::{InputContent, InputFile};
use crate::trial::outcome::Weight;

/// A field that is not a check.
#[derive(Debug)]
pub struct CoreField {
    /// Its names and form.
    pub field: Field,
    /// Whether a case without it is incomplete.
    pub required: bool,
    set: fn(&mut CaseDraft, FieldValue),
    /// Its value in a case, as JSON has it; `null` if it has none.
    get: fn(&Case) -> Json,
}

const fn core(
    column: &'static str,
    key: &'static str,
    form: FieldForm,
    set: fn(&mut CaseDraft, FieldValue),
    get: fn(&Case) -> Json,
) -> CoreField {
    CoreField { field: Field { column, key, form }, required: false, set, get }
}

const fn required(field: CoreField) -> CoreField {
    CoreField { required: true, ..field }
}

/// Stores a value of the expected form. No other form can occur: the table says which one is read.
macro_rules! set {
    ($form:ident($value:ident) => $case:ident.$($field:ident).+ = $to:expr) => {
        |$case, value| {
            if let FieldValue::$form($value) = value {
                $case.$($field).+ = $to;
            }
        }
    };
}

/// Adds a text to a list of the case.
macro_rules! add {
    ($field:ident) => {
        |case, value| {
            if let FieldValue::Text(text) = value {
                case.$field.push(text);
            }
        }
    };
}

fn add_file(case: &mut CaseDraft, value: FieldValue) {
    if let FieldValue::File(file) = value {
        case.files.push(file);
    }
}

fn written_files(case: &Case) -> Json {
    let files = case.files.iter().map(|InputFile { path, content }| match content {
        InputContent::Text(text) => json!({ "path": path.to_string(), "content": text }),
        InputContent::Source(source) => json!({ "path": path.to_string(), "source": format!("/{source}") }),
    });
    files.collect()
}

/// A path of a field that may be absent. `/` in front says that it starts at the repository's root.
fn written_path(path: Option<&RelativePath>) -> Json {
    json!(path.map(|path| format!("/{path}")))
}

/// The column of whether the skill should trigger.
const TRIGGER: &str = "should_trigger";

/// The column of what the agent is asked.
pub const PROMPT: &str = "prompt";

/// The fields that are not checks.
static CORE: [CoreField; 19] = [
    required(core(
        TRIGGER,
        "shouldTrigger",
        FieldForm::Flag,
        set!(Flag(flag) => case.should_trigger = Some(flag)),
        |case| json!(case.asks_for_trigger().then_some(case.should_trigger)),
    )),
    required(core(PROMPT, PROMPT, FieldForm::Text, set!(Text(text) => case.prompt = text), |case| json!(case.prompt))),
    core(
        "system_prompt",
        "systemPrompt",
        FieldForm::Text,
        set!(Text(text) => case.system_prompt = Some(text)),
        |case| json!(case.system_prompt),
    ),
    core(
        "sandbox",
        "sandbox",
        FieldForm::Choice(&Sandbox::WORDS),
        set!(Text(word) => case.sandbox = Sandbox::named(&word).unwrap_or_default()),
        |case| json!(case.sandbox.as_str()),
    ),
    core(
        "timeout_s",
        "timeoutS",
        FieldForm::Number { least: 1, most: LONGEST_TIMEOUT.as_secs() },
        set!(Number(seconds) => case.timeout = Some(Duration::from_secs(seconds))),
        |case| json!(case.timeout.map(|timeout| timeout.as_secs())),
    ),
    core(
        "max_turns",
        "maxTurns",
        FieldForm::Number { least: 1, most: MOST_TURNS },
        set!(Number(turns) => case.max_turns = Some(turns)),
        |case| json!(case.max_turns),
    ),
    core(
        "output_schema",
        "outputSchema",
        FieldForm::Source,
        set!(Path(path) => case.output_schema = Some(path)),
        |case| written_path(case.output_schema.as_ref()),
    ),
    core(
        "activation",
        "activation",
        FieldForm::Choice(&ActivationRule::WORDS),
        set!(Text(word) => case.activation = ActivationRule::named(&word)),
        |case| json!(case.activation.map(ActivationRule::as_str)),
    ),
    core("judge", "judge", FieldForm::Flag, set!(Flag(flag) => case.judge = flag), |case| json!(case.judge)),
    core("fixture", "fixture", FieldForm::Source, set!(Path(path) => case.fixture = Some(path)), |case| {
        written_path(case.fixture.as_ref())
    }),
    core("files", "files", FieldForm::Files, add_file, written_files),
    core("tags", "tags", FieldForm::Tags, add!(tags), |case| json!(case.tags)),
    core("follow_ups", "followUps", FieldForm::Messages, add!(follow_ups), |case| json!(case.follow_ups)),
    core("setup", "setup", FieldForm::Commands, add!(setup), |case| json!(case.setup)),
    core("solution", "solution", FieldForm::Source, set!(Path(path) => case.solution = Some(path)), |case| {
        written_path(case.solution.as_ref())
    }),
    core("answer", "answer", FieldForm::Source, set!(Path(path) => case.answer = Some(path)), |case| {
        written_path(case.answer.as_ref())
    }),
    core(
        "trials",
        "trials",
        FieldForm::Trials,
        set!(Trials(trials) => case.repetition.trials = Some(trials)),
        |case| json!(case.repetition.trials),
    ),
    core(
        "threshold",
        "threshold",
        FieldForm::Share,
        set!(Share(share) => case.repetition.threshold = Some(share)),
        |case| json!(case.repetition.threshold),
    ),
    core(
        "quarantine",
        "quarantine",
        FieldForm::Quarantine,
        set!(Quarantine(quarantine) => case.quarantine = Some(quarantine)),
        |case| json!(case.quarantine.as_ref().map(ToString::to_string)),
    ),
];

/// A field whose value is a list or an object that no cell can hold. In a CSV file, the cell has the path of a JSON file with it.
#[derive(Debug)]
pub struct ListField {
    /// Its names.
    pub field: Field,
    /// Reads the value, which messages call by this name.
    pub read: fn(&mut Document<'_>, &str, &Node, &mut Case),
    /// The value in a case as it is read; `null` if it has none.
    get: fn(&Case) -> Json,
}

/// The path of a list in a CSV file.
const LIST: FieldForm = FieldForm::Source;

pub static LISTS: [ListField; 6] = [
    ListField {
        field: Field { column: "during", key: "during", form: LIST },
        read: |file, name, list, case| case.during = lists::changes(file, name, list),
        get: |case| lists::written_changes(&case.during),
    },
    ListField {
        field: Field { column: CHECKS, key: CHECKS, form: LIST },
        read: |file, _, list, case| case.checks.extend(lists::checks(file, list)),
        get: |case| lists::written_checks(&case.checks),
    },
    ListField {
        field: Field { column: "assertions", key: "assertions", form: LIST },
        read: |file, name, list, case| case.assertions.extend(assertions(file, name, list)),
        get: |case| case.assertions.iter().map(|assertion| assertion.text.as_str()).collect(),
    },
    ListField {
        field: Field { column: "history", key: "history", form: LIST },
        read: |file, name, list, case| case.history = lists::messages(file, name, list),
        get: |case| json!(case.history),
    },
    ListField {
        field: Field { column: "mocks", key: "mocks", form: LIST },
        read: |file, name, list, case| case.mocks = lists::answers(file, name, list),
        get: |case| lists::written_answers(&case.mocks),
    },
    ListField {
        field: Field { column: "user", key: "user", form: LIST },
        read: |file, name, user, case| case.user = lists::user(file, name, user),
        get: |case| json!(case.user),
    },
];

/// A list of statements for the judge.
pub(super) fn assertions(file: &mut Document<'_>, name: &str, list: &Node) -> Vec<Assertion> {
    let mut assertions = Vec::new();
    for element in lists::elements(file, name, list, "a list of strings") {
        match element.text().map(str::trim) {
            Some("") => {
                file.problem(Code::EmptyValue, element.range.clone(), format!("`{name}` holds an empty text"));
            }
            Some(text) => {
                let place = file.place(element.range.clone());
                assertions.push(Assertion { text: text.to_owned(), place, weight: None });
            }
            None => file.wrong_type("an assertion", "a string", element),
        }
    }
    assertions
}

/// A field of a case: of the case itself, or of a kind of check.
#[derive(Clone, Copy, Debug)]
pub enum CaseField {
    /// A field that is not a check.
    Core(&'static CoreField),
    /// A field that is a list.
    List(&'static ListField),
    CaseCheck(&'static CheckKind, &'static checks::CheckField),
}

impl CaseField {
    /// Its names and form.
    pub fn field(self) -> &'static Field {
        match self {
            Self::Core(core) => &core.field,
            Self::List(list) => &list.field,
            Self::CaseCheck(_, check) => &check.field,
        }
    }

    /// Whether a case without it is incomplete.
    pub fn is_required(self) -> bool {
        matches!(self, Self::Core(core) if core.required)
    }

    /// Its value in a case, as a JSON file has it; `None` if the case says nothing else than one without it.
    pub fn written(self, case: &Case) -> Option<Json> {
        let get = |case: &Case| match self {
            Self::Core(core) => (core.get)(case),
            Self::List(list) => (list.get)(case),
            Self::CaseCheck(kind, check) => {
                let own = case.checks.iter().filter(|check| check.kind.id == kind.id);
                let mut values =
                    own.filter(|check| !check.origin.is_of_many_cases()).filter_map(CaseCheck::written_value);
                if check.field.form.is_list() { values.collect() } else { values.next().unwrap_or_default() }
            }
        };
        Some(get(case)).filter(|value| *value != get(&Case::default()))
    }
}

/// Every field.
pub fn all() -> impl Iterator<Item = CaseField> {
    let checks = KINDS.iter().filter_map(|kind| Some(CaseField::CaseCheck(kind, kind.field.as_ref()?)));
    CORE.iter().map(CaseField::Core).chain(checks).chain(LISTS.iter().map(CaseField::List))
}

/// The field with this name in any format.
pub fn named(name: &str) -> Option<&'static Field> {
    all().map(CaseField::field).find(|field| field.column == name || field.key == name)
}

/// A case while it is read: what the file says so far, with the defaults of its format.
///
/// Every format says a field by a node, whatever it is written in. [`CaseDraft::read`] makes the field of it, as the module of cases draws.
#[derive(Debug, Default)]
pub struct CaseDraft {
    case: Case,
    /// Whether the skill should trigger; `None` if the case does not say, and then it is not checked.
    pub should_trigger: Option<bool>,
    /// What triggering counts in the score.
    pub weight_of_trigger: Option<Weight>,
    origins: Vec<(&'static str, Origin)>,
}

impl Deref for CaseDraft {
    type Target = Case;

    fn deref(&self) -> &Case {
        &self.case
    }
}

impl DerefMut for CaseDraft {
    fn deref_mut(&mut self) -> &mut Case {
        &mut self.case
    }
}

/// The value of a field in a file.
#[derive(Clone, Copy, Debug)]
pub struct WrittenField<'n> {
    /// What messages call it.
    pub name: &'n str,
    /// The name of the field that a check of it has, and its line.
    pub key: &'static str,
    pub line: usize,
    pub node: &'n Node,
}

impl CaseDraft {
    /// A case of the skill with this slug. It should trigger unless the file says otherwise.
    pub fn new(skill: &str, id: String, origin: SourceLocation) -> Self {
        let case = Case { id, skill: skill.to_owned(), origin, ..Case::default() };
        Self { should_trigger: Some(true), ..Self::of(case) }
    }

    /// A draft of this case, which does not say whether the skill should trigger.
    pub fn of(case: Case) -> Self {
        Self { case, ..Self::default() }
    }

    /// Reads the value of a field, or its problems.
    pub fn read(&mut self, file: &mut Document<'_>, field: CaseField, written: WrittenField<'_>) {
        let WrittenField { name, key, line, node } = written;
        if let CaseField::List(list) = field {
            return (list.read)(file, name, node, self);
        }
        for value in file.field_values(name, field.field().form, node) {
            self.set(field, key, line, value);
        }
    }

    /// Stores a value of this field, written under `name` on this line.
    pub fn set(&mut self, field: CaseField, name: &'static str, line: usize, value: FieldValue) {
        let origin = Origin { key: name.into(), line, elsewhere: None };
        match field {
            CaseField::Core(core) => {
                self.origins.push((core.field.column, origin));
                (core.set)(self, value);
            }
            // Its own function reads it.
            CaseField::List(_) => {}
            CaseField::CaseCheck(kind, check) => {
                let ask = (check.ask)(value);
                self.checks.extend(ask.map(|ask| CaseCheck { kind, origin, ask, weight: None }));
            }
        }
    }

    /// The same of another program, which may have cases that expect nothing: a draft, or a prompt that a person reads the answer to.
    /// A trial of it would pass whatever the agent does.
    pub fn finish_foreign(mut self) -> Case {
        // A check that follows from another field has no place there.
        self.origins.clear();
        let mut case = self.finish();
        for Assertion { text, .. } in &mut case.assertions {
            *text = text.trim().to_owned();
        }
        if !case.expects_something() && case.unsupported.is_empty() {
            let what = "a case that expects nothing".to_owned();
            case.unsupported.push(Unsupported { what, place: case.origin.clone() });
        }
        case
    }

    /// The case with the checks that follow from its other fields, in the order of [`KINDS`].
    pub fn finish(self) -> Case {
        let Self { mut case, should_trigger, weight_of_trigger, origins } = self;
        case.should_trigger = should_trigger.unwrap_or(true);
        let origin_of = |column: &str| {
            let origin = origins.iter().find(|(field, _)| *field == column);
            origin.map(|(_, origin)| origin.clone()).unwrap_or_default()
        };
        if let Some(should) = should_trigger {
            let origin = origin_of(TRIGGER);
            case.checks.push(CaseCheck { origin, weight: weight_of_trigger, ..checks::triggers(should) });
        }
        if let Some(path) = case.output_schema.clone() {
            for check in [checks::output_schema(path), checks::invoked_skills(case.should_trigger)] {
                case.checks.push(CaseCheck { origin: origin_of("output_schema"), ..check });
            }
        }
        case.checks.extend(checks::changes_seen(&case.during));
        case.checks.sort_by_key(|check| KINDS.iter().position(|kind| kind.id == check.kind.id));
        case
    }
}
