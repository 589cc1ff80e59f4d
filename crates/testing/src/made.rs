//! Parts of a trial, made by hand.

use std::path::Path;

use serde_json::json;
use skill_evals_cases::cases::case::{Case, task_json};
use skill_evals_cases::checks::CaseCheck;
use skill_evals_evidence::settings::mode::{AgentKind, Delivery};
use skill_evals_evidence::skill::Skill;
use skill_evals_evidence::text::diagnostic::Diagnostic;
use skill_evals_evidence::trial::evidence::{META_FORMAT, Meta};

/// A skill of this name.
pub fn skill(name: &str) -> Skill {
    Skill {
        name: name.to_owned(),
        slug: name.to_owned(),
        description: String::new(),
        folder: format!("skills/{name}").into(),
        user_only: false,
        model_only: false,
        faults: Vec::new(),
    }
}

/// The facts of a trial whose agent ended by itself.
pub fn meta(kind: AgentKind, delivery: Delivery, skill: &str) -> Meta {
    let meta = json!({
        "format": META_FORMAT,
        "run_id": "t",
        "skill": { "name": skill, "slug": skill },
        "case": { "id": "it", "prompt": "Greet Ada.", "sandbox": "read-only", "timeout_s": 60 },
        "mode": "codex",
        "trial": 1,
        "agent": { "kind": kind },
        "delivery": delivery,
        "started": "2026-01-01T00:00:00Z",
        "ending": { "exit_code": 0, "duration_ms": 1200 },
        "inputs": {},
        "files": [],
    });
    serde_json::from_value(meta).expect("facts")
}

/// The check that an object of the list `checks` asks for.
pub fn listed(check: &str) -> CaseCheck {
    let case = listed_case(check).unwrap_or_else(|problems| panic!("{check}: {problems:#?}"));
    let mut checks = case.checks.into_iter().filter(|check| check.origin.key == "checks");
    checks.next().expect("a check")
}

/// A case with this object in its list `checks`.
pub fn listed_case(check: &str) -> Result<Case, Vec<Diagnostic>> {
    let config = format!(r#"{{"expectedSkillName": "greeting", "checks": [{check}]}}"#);
    let file = format!(r#"{{"prompt": "Greet Ada.", "evalConfig": {config}}}"#);
    task_json::parse(Path::new(""), Path::new("evals/tasks/it.json"), file.as_bytes())
}

/// A task of skillgrade with these lines besides its name and instruction.
pub fn skillgrade_task(lines: &str) -> String {
    format!("version: \"1\"\ntasks:\n  - name: one\n    instruction: Do it\n{lines}")
}
