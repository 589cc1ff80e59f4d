//! What the repository says of the rules of the lint: which are allowed to be broken, and why, and how bad others are.

use std::collections::BTreeMap;
use std::ops::Range;

use serde::Deserialize;

use crate::text::diagnostic::{Code, Diagnostic, Level, Severity, nearest_few};

/// How bad problems are where the repository says otherwise than the rules do, by rule.
#[derive(Clone, Debug, Default)]
pub struct LintSettings(BTreeMap<Code, (Severity, Option<String>)>);

/// `[lint]`: each key is a level, and has the rules of that level.
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

/// How a rule is to be named in `allow`.
const ALLOWED: &str = "{ rule = \"…\", reason = \"…\" }";

impl LintSettings {
    /// These problems as bad as the repository says.
    pub fn judged(&self, mut problems: Vec<Diagnostic>) -> Vec<Diagnostic> {
        for problem in &mut problems {
            if let Some((severity, reason)) = self.0.get(&problem.code) {
                problem.severity = *severity;
                problem.reason.clone_from(reason);
            }
        }
        problems
    }

    /// Takes the table.
    pub(super) fn apply(&mut self, table: LintTable, wrong: &mut impl FnMut(Range<usize>, String)) {
        let LintTable { allow, warning, error } = table;
        let levels = [(Severity::Allowed, allow), (Severity::Warning, warning), (Severity::Error, error)];
        for (severity, named) in
            levels.into_iter().flat_map(|(level, named)| named.into_iter().map(move |n| (level, n)))
        {
            match self.take(severity, named.get_ref()) {
                Ok(()) => {}
                Err(why) => wrong(named.span(), why),
            }
        }
    }

    fn take(&mut self, severity: Severity, named: &toml::Value) -> Result<(), String> {
        let (name, reason) = named_rule(named)?;
        let code = rule(name)?;
        if code.level() == Level::Fixed {
            return Err(format!(
                "the rule `{code}` is always an error: what breaks it cannot be read, or cannot be given to an agent"
            ));
        }
        if severity == Severity::Allowed && reason.is_none() {
            return Err(format!("what is allowed needs a reason: {ALLOWED}"));
        }
        match self.0.insert(code, (severity, reason)) {
            Some(_) => Err(format!("the rule `{code}` is named twice")),
            None => Ok(()),
        }
    }
}

/// The name of a rule, and the reason that stands beside it.
fn named_rule(named: &toml::Value) -> Result<(&str, Option<String>), String> {
    if let Some(name) = named.as_str() {
        return Ok((name, None));
    }
    let table =
        named.as_table().ok_or_else(|| format!("this is {named}; expected the name of a rule, or {ALLOWED}"))?;
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

fn rule(name: &str) -> Result<Code, String> {
    let known = || Code::ALL.iter().map(|code| code.as_str());
    Code::ALL.iter().copied().find(|code| code.as_str() == name).ok_or_else(|| {
        let near = nearest_few(name, known(), 3).join("`, `");
        format!("unknown rule `{name}`; nearest: `{near}` (all: docs/reference/lint.md)")
    })
}
