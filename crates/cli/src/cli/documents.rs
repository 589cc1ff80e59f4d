//! The documents that `--json` prints, as far as no other crate has their type. `docs/schemas` has the schema of each: the list at
//! the end says which type is which document.

use std::path::{Path, PathBuf};

use serde::{Serialize, Serializer};

use crate::cases::census::Census;
use crate::cases::other_skill::OtherSkill;
use crate::decide::Rule;
use crate::decide::plan::ComparePlan;
use crate::decide::promise::PlanPromise;
use crate::report::listing::FileCoverage;
use crate::report::listing::ListedTrial;
use crate::results::calibration::AgentCalibration;
use crate::results::drift::{NoisyCase, Series};
use crate::results::estimate::{Estimate, KnownCost};
use crate::results::gate::{DifferenceKind, SkillDifference};
use crate::results::history::HistoryPoint;
use crate::results::run_status::RunStatus;
use crate::results::session::Session;
use crate::results::timeline::Timeline;
use crate::results::verification::Verification;
use crate::run::record::ReplayResult;
use crate::text::diagnostic::Diagnostic;
use crate::trial::evidence::Meta;
use crate::trial::id::TrialId;
use crate::trial::outcome::Grade;
use crate::trial::run_record::VariantRun;

/// The number of a document's format.
#[derive(Clone, Copy)]
pub struct Format<const NUMBER: u32>;

impl<const NUMBER: u32> Serialize for Format<NUMBER> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_u32(NUMBER)
    }
}

/// What a command prints if it could not run.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ErrorDocument<'a> {
    pub format: Format<1>,
    /// Why it could not run, and what to do.
    pub error: String,
    /// What is wrong in files.
    pub problems: &'a [Diagnostic],
}

#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct LintDocument<'a> {
    pub format: Format<1>,
    pub problems: &'a [Diagnostic],
    /// What to write in evals.toml to go on in spite of the errors.
    pub ways_out: &'a [String],
    /// What became of each file of cases, or that looks like one, and of each SKILL.md.
    pub census: &'a Census,
}

/// The cases, the skills, and what is named SKILL.md and no skill.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct CaseList<'a> {
    pub format: Format<1>,
    pub cases: &'a [ListedTrial],
    pub skills: Vec<ListedSkill<'a>>,
    /// The files named SKILL.md, in any case, that are no skills here.
    pub not_read: &'a [OtherSkill],
}

#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ListedSkill<'a> {
    pub slug: &'a str,
    pub folder: &'a Path,
    /// Its name in the lists of agents that get it with its plugin.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub in_plugin: Option<String>,
}

#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct CoverageList<'a> {
    pub format: Format<1>,
    pub files: &'a [FileCoverage],
}

#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct VerificationDocument<'a> {
    pub format: Format<1>,
    #[serde(flatten)]
    pub verification: &'a Verification,
}

#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct CalibrationList<'a> {
    pub format: Format<1>,
    pub calibrations: &'a [AgentCalibration],
}

#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct RunList<'a> {
    pub format: Format<1>,
    pub runs: &'a [RunStatus],
}

#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct HistoryList<'a> {
    pub format: Format<1>,
    pub runs: &'a [HistoryPoint],
    /// The nightly runs, by skill and mode.
    pub series: &'a [Series],
    /// The cases whose noise costs most, by the nightly runs.
    pub noise: &'a [NoisyCase],
}

#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct GradeList<'a> {
    pub format: Format<1>,
    pub trials: &'a [GradeOutput],
}

/// A trial that was to be graded again.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(untagged)]
pub enum GradeOutput {
    /// It was graded.
    Graded {
        #[serde(flatten)]
        id: TrialId,
        folder: PathBuf,
        /// Whether the grade differs from the stored one.
        changed: bool,
        grade: Box<Grade>,
    },
    /// It could not be graded.
    NotGraded {
        folder: PathBuf,
        /// Why.
        problem: String,
    },
}

/// The whole session of a trial, from the prompt to the last check.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ShowOutput<'a> {
    /// What other tools ask for first.
    pub session: Session<'a>,
    #[serde(flatten)]
    pub id: TrialId,
    pub folder: &'a Path,
    /// The content of meta.json.
    #[cfg_attr(test, schemars(with = "serde_json::Map<String, serde_json::Value>"))]
    #[cfg_attr(test, schemars(extend("required" = ["format", "run_id", "agent", "ending", "started"])))]
    pub meta: &'a Meta,
    pub grade: &'a Grade,
    pub timeline: &'a Timeline,
    /// What has changed since the recording, so that no replay counts its grade.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    pub stale: &'a [String],
}

#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct RecordList<'a> {
    pub format: Format<1>,
    pub cases: &'a [RecordedCase<'a>],
}

/// A case in a mode that was to be recorded.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct RecordedCase<'a> {
    pub skill: &'a str,
    pub case: &'a str,
    pub mode: &'a str,
    pub state: RecordState,
    /// The result of the old recording.
    pub before: Option<&'a ReplayResult>,
    /// The result of the new recording, even if it was not written.
    pub now: Option<&'a ReplayResult>,
    /// The path, if it was written.
    pub recording: Option<PathBuf>,
}

/// What became of a recording.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum RecordState {
    /// It was written.
    Recorded,
    /// Not written: its replay does not pass.
    Failing,
    /// Nothing to record: its trials could not be measured, or did not run.
    NotMeasured,
    /// Not written: some trials were not measured, and could change whether the case passes.
    Partial,
    /// Not written: a trial ended as soon as its verdict was settled.
    EndedEarly,
    /// Not written: a trial had the user's own setup.
    UsersSetup,
    /// Not written: a trial had its model's answers from a recording.
    RecordedAnswers,
}

/// What a comparison would run.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ComparisonPlan<'a> {
    /// Whether both sides are the same, so that no trial would run.
    pub unchanged: bool,
    /// The number of cases.
    pub cases: usize,
    pub plan: ComparePlan,
    /// Maximum number of trials of both sides together.
    pub max_trials: u64,
    pub rule: Rule,
    /// What the plan finds and costs; null if nothing would run.
    pub promise: Option<PlanPromise>,
    /// The same with as many trials as the limit of cost pays; null if there is no limit, or if it pays for all.
    pub promise_within_cost: Option<PlanPromise>,
    /// Earlier trials, which show how often the cases pass now.
    pub earlier_trials: u64,
    /// The first look at every case.
    pub first_pass: &'a Estimate,
    /// What all trials would take; its values are null if no earlier run shows them.
    pub all_trials: KnownCost,
    /// Cases that are left out, each with the reason.
    pub left_out: &'a [(String, String)],
    /// In a gate: trials of the base in the first look that kept trials may replace.
    pub kept_trials: usize,
    /// Trials of both sides that gates with the same contents have measured, which do not run again.
    pub measured_trials: usize,
}

/// What differs from the base, and what a gate would compare.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct GatePlan<'a> {
    pub format: Format<1>,
    /// The base, for people.
    pub base: &'a str,
    /// Its commit.
    pub commit: &'a str,
    /// The skills that differ from the base.
    pub changed: &'a [SkillDifference],
    /// What else differs.
    pub others: Vec<OtherDifference<'a>>,
    /// The cases to compare, as `skill/id`.
    pub cases: &'a [String],
    /// What would run, as in compare-dry-run.json; null if there is nothing to compare.
    pub comparison: Option<ComparisonPlan<'a>>,
}

#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct OtherDifference<'a> {
    pub kind: DifferenceKind,
    /// The case as `skill/id`, the key of evals.toml, or the file.
    pub name: &'a str,
    /// What the difference leads to.
    pub effect: &'static str,
}

/// The variants that would run.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct VariantsPlan<'a> {
    pub format: Format<1>,
    /// As in run.json.
    #[cfg_attr(test, schemars(with = "VariantRun"))]
    pub variants: Option<&'a VariantRun>,
    pub estimate: &'a Estimate,
}

#[cfg(test)]
mod tests {
    use std::borrow::Cow;
    use std::fs;
    use std::path::Path;

    use schemars::generate::SchemaSettings;
    use schemars::transform::RecursiveTransform;
    use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
    use serde_json::{Map, Value, json};

    use super::*;
    use crate::cases::case::task_json;
    use crate::results::compared::ComparisonResults;
    use crate::results::diagnosis::Diagnosis;
    use crate::results::diagnosis::ModelComparison;
    use crate::results::judges::Judges;
    use crate::results::summary::Summary;
    use crate::setup::doctor::DoctorReport;
    use crate::trace::file::TraceFile;

    /// A schema in docs/schemas, its title, and the type that it is made of.
    type Document = (&'static str, &'static str, fn() -> Schema);

    const DOCUMENTS: &[Document] = &[
        ("calibrations", "doctor --calibrate --json", schema_of::<CalibrationList<'_>>),
        ("compare", "compare --json, and comparison.json of a run", schema_of::<ComparisonResults>),
        ("compare-dry-run", "compare --dry-run --json", schema_of::<ComparisonPlan<'_>>),
        ("compare-models", "compare --models --json", schema_of::<ModelComparison>),
        ("coverage", "list --coverage --json", schema_of::<CoverageList<'_>>),
        ("diagnose", "diagnose --json", schema_of::<Diagnosis>),
        ("doctor", "doctor --json", schema_of::<DoctorReport>),
        ("dry-run", "run --dry-run --json", schema_of::<Estimate>),
        ("error", "What a command prints with --json if it could not run", schema_of::<ErrorDocument<'_>>),
        ("gate-dry-run", "gate --dry-run --json", schema_of::<GatePlan<'_>>),
        ("grade", "grade --json", schema_of::<GradeList<'_>>),
        ("history", "history --json", schema_of::<HistoryList<'_>>),
        ("judge", "judge agreement --json and judge calibrate --json", schema_of::<Judges>),
        ("lint", "lint --json", schema_of::<LintDocument<'_>>),
        ("list", "list --json", schema_of::<CaseList<'_>>),
        ("record", "record --json", schema_of::<RecordList<'_>>),
        ("runs", "runs --json", schema_of::<RunList<'_>>),
        ("show", "show --json", schema_of::<ShowOutput<'_>>),
        ("status", "status --json", schema_of::<RunStatus>),
        ("summary", "summary --json, run --json, and summary.json of a run", schema_of::<Summary>),
        ("trace", "The trace that a check reads: the file in CHECK_TRACE", schema_of::<TraceFile<'_>>),
        (
            "variants-dry-run",
            "diagnose --dry-run --json, and compare --models --dry-run --json",
            schema_of::<VariantsPlan<'_>>,
        ),
        ("verify", "verify --json", schema_of::<VerificationDocument<'_>>),
    ];

    impl<const NUMBER: u32> JsonSchema for Format<NUMBER> {
        fn inline_schema() -> bool {
            true
        }

        fn schema_name() -> Cow<'static, str> {
            "Format".into()
        }

        fn json_schema(_: &mut SchemaGenerator) -> Schema {
            json_schema!({ "const": NUMBER })
        }
    }

    fn schema_of<T: JsonSchema>() -> Schema {
        let settings = SchemaSettings::draft2020_12().for_serialize();
        settings.with_transform(RecursiveTransform(as_printed)).into_generator().into_root_schema_for::<T>()
    }

    /// Leaves out what JSON has no words for, and what a key is absent instead of: null and false.
    fn as_printed(schema: &mut Schema) {
        let extra: &[&str] = if schema.get("const").is_some() { &["type", "minimum"] } else { &[] };
        for key in ["format", "default"].iter().chain(extra) {
            schema.remove(*key);
        }
        if let Some(Value::String(description)) = schema.get_mut("description") {
            *description = description.replace('\n', " ");
        }
        let required = schema.get("required").and_then(Value::as_array).cloned().unwrap_or_default();
        for (key, property) in schema.get_mut("properties").and_then(Value::as_object_mut).into_iter().flatten() {
            if let (Value::Object(property), false) = (property, required.contains(&json!(key))) {
                not_absent(property);
            }
        }
    }

    fn not_absent(property: &mut Map<String, Value>) {
        match property.get_mut("type") {
            Some(Value::String(of)) if of == "boolean" => {
                property.insert("const".to_owned(), json!(true));
            }
            Some(Value::Array(types)) => {
                types.retain(|of| of != "null");
                if let [only] = types.as_slice() {
                    property["type"] = only.clone();
                }
            }
            _ => {}
        }
        let of_null = json!({ "type": "null" });
        if let Some(any) = property.get("anyOf").and_then(Value::as_array)
            && let [Value::Object(only), null] = any.as_slice()
            && *null == of_null
        {
            let only = only.clone();
            property.remove("anyOf");
            property.extend(only);
        }
    }

    /// As JSON in which what fits into a line is one, in an order for people.
    fn written(value: &Value, indent: usize) -> String {
        const WIDTH: usize = 120;
        const FIRST: [&str; 5] = ["$schema", "title", "description", "type", "required"];
        let place = |key: &str| FIRST.iter().position(|first| *first == key).unwrap_or(FIRST.len());
        let items: Vec<String> = match value {
            Value::Object(map) => {
                let mut keys: Vec<&String> = map.keys().collect();
                keys.sort_by_key(|key| (*key == "$defs", place(key)));
                keys.iter().map(|key| format!("{}: {}", json!(key), written(&map[*key], indent + 2))).collect()
            }
            Value::Array(items) => items.iter().map(|item| written(item, indent + 2)).collect(),
            other => return other.to_string(),
        };
        let (open, close) = if value.is_array() { ('[', ']') } else { ('{', '}') };
        let line = format!("{open}{}{close}", items.join(", "));
        if indent > 0 && !line.contains('\n') && indent + line.len() <= WIDTH {
            return line;
        }
        let pad = " ".repeat(indent);
        format!("{open}\n{pad}  {}\n{pad}{close}", items.join(&format!(",\n{pad}  ")))
    }

    /// With `INSTA_UPDATE=always` they are written.
    #[test]
    fn schemas_of_documents_are_those_of_their_types() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/schemas");
        let mut schemas = vec![("task", task_json::schema())];
        for (name, title, of) in DOCUMENTS {
            let mut schema = of();
            schema.insert("title".to_owned(), json!(title));
            schemas.push((name, schema.into()));
        }
        for (name, schema) in schemas {
            let text = written(&schema, 0) + "\n";
            let path = folder.join(format!("{name}.json"));
            if std::env::var("INSTA_UPDATE").is_ok_and(|update| update == "always") {
                fs::write(&path, &text).expect("the schema");
            }
            let is_same = fs::read_to_string(path).expect("the schema") == text;
            assert!(is_same, "INSTA_UPDATE=always writes docs/schemas/{name}.json");
        }
    }
}
