//! The types of the files that runs keep in `artifacts/skill-evals/<run>/`, to read them with serde. Every file is JSON with a
//! format number. A later version may add fields and variants, so the types are `non_exhaustive`.
//!
//! | file | type |
//! | --- | --- |
//! | `run.json` | [`RunRecord`] |
//! | `plan.jsonl` | a [`TrialId`] a line, with a `digest` of the rest of the line |
//! | `pairs.jsonl` | a [`PairRecord`] a line |
//! | `progress.jsonl` | a [`ProgressLine`] a line |
//! | `work/<skill>/<case>/<mode>/<trial>/meta.json` | [`Meta`] |
//! | `work/<skill>/<case>/<mode>/<trial>/grade.json` | [`Grade`] |
//! | `work/<skill>/<case>/<mode>/<trial>/judge.json` | [`Judgment`] |

#[doc(inline)]
#[doc(inline)]
pub use crate::decide::plan::ComparePlan;
pub use crate::grade::rubric::Judgment;
pub use crate::trace::exposure::DescriptionVisibility;
pub use crate::trace::trouble::{Trouble, TroubleKind};
pub use crate::trace::{Activation, Mechanism, Resource, Step, Usage};
#[doc(inline)]
pub use crate::trial::evidence::{
    AgentMeta, CaseMeta, Ending, Imported, Inputs, Meta, ServerMeta, SkillMeta, SourceMeta,
};
#[doc(inline)]
pub use crate::trial::id::TrialId;
#[doc(inline)]
pub use crate::trial::input_file::{HistoryMessage, Speaker};
#[doc(inline)]
pub use crate::trial::outcome::AttemptCost;
#[doc(inline)]
pub use crate::trial::outcome::{CheckResult, Goal, Grade, Judged, Metrics, Score, Status, Verdict, Weight};
pub use crate::trial::run_record::{
    ComparedSide, ComparedSides, FailedCheck, PairRecord, ProgressLine, RunChoices, RunEnd, RunEndKind, RunRecord,
    TrialRecord,
};
#[doc(inline)]
pub use crate::trial::run_record::{Variant, VariantQuestion, VariantRun};
#[doc(inline)]
pub use crate::trial::workspace_file::SetupMeta;
pub use crate::trial::workspace_file::WorkspaceFile;
