//! `[lint]`: which rules of `lint` may be broken, with the reason, and the severity of others.

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::settings::Problems;
use crate::text::diagnostic::{Code, Diagnostic, Level, Severity, nearest_few};

/// The severities that differ from those of the rules, by rule, with the reason.
#[derive(Clone, Debug, Default)]
pub struct LintSettings(BTreeMap<Code, (Severity, Option<String>)>);

/// `[lint]`: each key is a severity, and lists the rules that have it.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, expecting = "a table: `[lint]` with `allow`, `warning` or `error`")]
pub(super) struct LintTable {
    #[serde(default)]
    allow: Vec<toml::Spanned<toml::Value>>,
    #[serde(default)]
    warning: Vec<toml::Spanned<toml::Value>>,
    #[serde(default)]
    error: Vec<toml::Spanned<toml::Value>>,
}

/// The form of a rule in `allow`.
const ALLOWED: &str = "{ rule = \"…\", reason = \"…\" }";

impl LintSettings {
    pub fn judged(&self, mut problems: Vec<Diagnostic>) -> Vec<Diagnostic> {
        for problem in &mut problems {
            if let Some((severity, reason)) = self.0.get(&problem.code) {
                problem.severity = *severity;
                problem.reason.clone_from(reason);
            }
        }
        problems
    }

    pub(super) fn apply(&mut self, table: LintTable, problems: &mut Problems<'_>) {
        let LintTable { allow, warning, error } = table;
        for (severity, rules) in [(Severity::Allowed, allow), (Severity::Warning, warning), (Severity::Error, error)] {
            for rule in rules {
                match self.set(severity, rule.get_ref()) {
                    Ok(()) => {}
                    Err(RuleProblem::Unknown(name)) => problems.add_with(rule.span(), || unknown_rule(name)),
                    Err(RuleProblem::Other(why)) => problems.add(rule.span(), why),
                }
            }
        }
    }

    fn set<'a>(&mut self, severity: Severity, written: &'a toml::Value) -> Result<(), RuleProblem<'a>> {
        let (name, reason) = name_and_reason(written)?;
        let Some(code) = Code::ALL.iter().copied().find(|code| code.as_str() == name) else {
            return Err(RuleProblem::Unknown(name));
        };
        if code.level() == Level::Fixed {
            return Err(RuleProblem::Other(format!(
                "the rule `{code}` is always an error: what breaks it cannot be read, or cannot be given to an agent"
            )));
        }
        if severity == Severity::Allowed && reason.is_none() {
            return Err(RuleProblem::Other(format!("what is allowed needs a reason: {ALLOWED}")));
        }
        match self.0.insert(code, (severity, reason)) {
            Some(_) => Err(RuleProblem::Other(format!("the rule `{code}` is named twice"))),
            None => Ok(()),
        }
    }
}

/// Why a rule cannot have a severity.
enum RuleProblem<'a> {
    /// No rule has this name.
    Unknown(&'a str),
    Other(String),
}

impl From<String> for RuleProblem<'_> {
    fn from(why: String) -> Self {
        Self::Other(why)
    }
}

/// The message about an unknown rule. It takes time: a file may name a million.
fn unknown_rule(name: &str) -> String {
    let near = nearest_few(name, Code::ALL.iter().map(|code| code.as_str()), 3).join("`, `");
    format!("unknown rule `{name}`; nearest: `{near}` (all: docs/reference/lint.md)")
}

/// The name of a rule and the reason next to it.
fn name_and_reason(written: &toml::Value) -> Result<(&str, Option<String>), String> {
    if let Some(name) = written.as_str() {
        return Ok((name, None));
    }
    let table =
        written.as_table().ok_or_else(|| format!("this is {written}; expected the name of a rule, or {ALLOWED}"))?;
    if let Some(key) = table.keys().find(|key| !matches!(key.as_str(), "rule" | "reason")) {
        return Err(format!("unknown key `{key}`; expected {ALLOWED}"));
    }
    if table.get("reason").is_some_and(|reason| !reason.is_str()) {
        return Err(format!("`reason` is not text; expected {ALLOWED}"));
    }
    let text = |key: &str| table.get(key).and_then(toml::Value::as_str).map(str::trim).filter(|text| !text.is_empty());
    let name = text("rule").ok_or_else(|| format!("this names no rule; expected {ALLOWED}"))?;
    Ok((name, text("reason").map(str::to_owned)))
}
