//! The fields of a case: one table for all formats. A format reads texts; what they mean is said here.
//!
//! A kind of check brings its own field ([`crate::checks::KINDS`]). The rest of a case is in [`CORE`].

use std::time::Duration;

use crate::cases::case::Case;
use crate::checks::{self, Check, CheckKind, Field, FieldForm, FieldValue, KINDS, Origin};
use crate::settings::ActivationRule;
use crate::settings::limits::{LONGEST_TIMEOUT, MOST_TURNS};
use crate::text::diagnostic::SourceLocation;
use crate::trial::sandbox::Sandbox;

/// A field that is no check.
#[derive(Debug)]
pub struct CoreField {
    /// Its names and form.
    pub field: Field,
    /// Whether a case without it is incomplete.
    pub required: bool,
    set: fn(&mut Case, FieldValue),
}

const fn core(column: &'static str, key: &'static str, form: FieldForm, set: fn(&mut Case, FieldValue)) -> CoreField {
    CoreField { field: Field { column, key, form }, required: false, set }
}

const fn required(field: CoreField) -> CoreField {
    CoreField { required: true, ..field }
}

/// Sets what a value of the expected form holds. Another form cannot come: the table says which one is read.
macro_rules! set {
    ($form:ident($value:ident) => $case:ident.$field:ident = $to:expr) => {
        |$case, value| {
            if let FieldValue::$form($value) = value {
                $case.$field = $to;
            }
        }
    };
}

/// The fields that are no checks.
pub static CORE: [CoreField; 12] = [
    required(core("should_trigger", "shouldTrigger", FieldForm::Flag, set!(Flag(flag) => case.should_trigger = flag))),
    required(core("prompt", "prompt", FieldForm::Text, set!(Text(text) => case.prompt = text))),
    core("system_prompt", "systemPrompt", FieldForm::Text, set!(Text(text) => case.system_prompt = Some(text))),
    core("sandbox", "sandbox", FieldForm::Choice(&Sandbox::WORDS), |case, value| {
        if let FieldValue::Text(word) = value {
            case.sandbox = Sandbox::ALL.into_iter().find(|sandbox| sandbox.as_str() == word).unwrap_or_default();
        }
    }),
    core(
        "timeout_s",
        "timeoutS",
        FieldForm::Number { least: 1, most: LONGEST_TIMEOUT.as_secs() },
        set!(Number(seconds) => case.timeout = Some(Duration::from_secs(seconds))),
    ),
    core(
        "max_turns",
        "maxTurns",
        FieldForm::Number { least: 1, most: MOST_TURNS },
        set!(Number(turns) => case.max_turns = Some(turns)),
    ),
    core(
        "output_schema",
        "outputSchema",
        FieldForm::Path { base: "the repository's root" },
        set!(Path(path) => case.output_schema = Some(path)),
    ),
    core("activation", "activation", FieldForm::Choice(&ActivationRule::WORDS), |case, value| {
        if let FieldValue::Text(word) = value {
            case.activation = Some(if word == "tool" { ActivationRule::Tool } else { ActivationRule::Content });
        }
    }),
    core("judge", "judge", FieldForm::Flag, set!(Flag(flag) => case.judge = flag)),
    core(
        "fixture",
        "fixture",
        FieldForm::Path { base: "the skill's directory under evals/skills" },
        set!(Path(path) => case.fixture = Some(path)),
    ),
    core("trials", "trials", FieldForm::Trials, |case, value| {
        if let FieldValue::Trials(trials) = value {
            case.repetition.trials = Some(trials);
        }
    }),
    core("threshold", "threshold", FieldForm::Share, |case, value| {
        if let FieldValue::Share(share) = value {
            case.repetition.threshold = Some(share);
        }
    }),
];

/// A field of a case: of the case itself, or of a kind of check.
#[derive(Clone, Copy, Debug)]
pub enum CaseField {
    /// No check.
    Core(&'static CoreField),
    /// A check.
    Check(&'static CheckKind, &'static checks::CheckField),
}

impl CaseField {
    /// Its names and form.
    pub fn field(self) -> &'static Field {
        match self {
            Self::Core(core) => &core.field,
            Self::Check(_, check) => &check.field,
        }
    }

    /// Whether a case without it is incomplete.
    pub fn is_required(self) -> bool {
        matches!(self, Self::Core(core) if core.required)
    }
}

/// Every field.
pub fn all() -> impl Iterator<Item = CaseField> {
    let of_checks = KINDS.iter().filter_map(|kind| Some(CaseField::Check(kind, kind.field.as_ref()?)));
    CORE.iter().map(CaseField::Core).chain(of_checks)
}

/// The field that is called so in any format.
pub fn named(name: &str) -> Option<&'static Field> {
    all().map(CaseField::field).find(|field| field.column == name || field.key == name)
}

/// A case that is being read.
#[derive(Debug)]
pub struct CaseDraft {
    /// What is known so far, with the format's own defaults.
    pub case: Case,
    origins: Vec<(&'static str, Origin)>,
}

impl CaseDraft {
    /// A case of the skill with this slug, which should trigger unless the file says otherwise.
    pub fn new(skill: &str, id: String, origin: SourceLocation) -> Self {
        Self {
            case: Case { id, skill: skill.to_owned(), origin, should_trigger: true, ..Case::default() },
            origins: Vec::new(),
        }
    }

    /// Takes a value that was read for this field on this line, written under `name`.
    pub fn set(&mut self, field: CaseField, name: &'static str, line: usize, value: FieldValue) {
        match field {
            CaseField::Core(core) => {
                self.origins.push((core.field.column, Origin { key: name, line }));
                (core.set)(&mut self.case, value);
            }
            CaseField::Check(kind, check) => {
                let ask = (check.ask)(value);
                self.case.checks.extend(ask.map(|ask| Check { kind, origin: Origin { key: name, line }, ask }));
            }
        }
    }

    /// The case, with the checks that follow from what it says, in the order of [`KINDS`].
    pub fn finish(self) -> Case {
        let Self { mut case, origins } = self;
        let of = |column: &str, check: Check| {
            let origin = origins.iter().find(|(field, _)| *field == column).map(|(_, origin)| origin.clone());
            Check { origin: origin.unwrap_or_default(), ..check }
        };
        case.checks.push(of("should_trigger", checks::triggers(case.should_trigger)));
        if let Some(path) = case.output_schema.clone() {
            let asked = [checks::output_schema(path), checks::invoked_skills(case.should_trigger)];
            case.checks.extend(asked.map(|check| of("output_schema", check)));
        }
        case.checks.extend(checks::changes_seen(&case.during));
        case.checks.sort_by_key(|check| KINDS.iter().position(|kind| kind.id == check.kind.id));
        case
    }
}
