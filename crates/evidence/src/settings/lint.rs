//! `[lint]`: which rules of `lint` may be broken, with the reason, and the severity of others.

use std::collections::BTreeMap;

use crate::settings::keys::keys;
use crate::settings::problems::{Number, Problems};
use crate::text::diagnostic::{Code, Diagnostic, Level, Severity, nearest_few};

/// The severities that differ from those of the rules, by rule, with the reason.
#[derive(Clone, Debug, Default)]
pub struct LintSettings(BTreeMap<Code, (Severity, Option<String>)>);

keys! {
    #[serde(expecting = "a table: `[lint]` with `allow`, `warning` or `error`")]
    LintKeys of "[lint]" {
        allow: Vec<Number>, "none", "rules to ignore, each with a reason: see [lint](lint.md)",
            |to, rules, problems| to.lint.set_all(Severity::Allowed, &rules, problems);
        warning: Vec<Number>, "none", "rules whose problems are warnings",
            |to, rules, problems| to.lint.set_all(Severity::Warning, &rules, problems);
        error: Vec<Number>, "none", "rules whose problems are errors",
            |to, rules, problems| to.lint.set_all(Severity::Error, &rules, problems);
    }
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

    fn set_all(&mut self, severity: Severity, rules: &[Number], problems: &mut Problems<'_>) {
        for rule in rules {
            let (name, reason) = match name_and_reason(rule.get_ref()) {
                Ok(rule) => rule,
                Err(why) => {
                    problems.add(rule.span(), why);
                    continue;
                }
            };
            let code = Code::ALL.iter().copied().find(|code| code.as_str() == name);
            let problem = match code {
                None => {
                    problems.add_with(rule.span(), || unknown_rule(name));
                    continue;
                }
                Some(code) if code.level() == Level::Fixed => format!(
                    "the rule `{code}` is always an error: what breaks it cannot be read, or cannot be given to an agent"
                ),
                Some(_) if severity == Severity::Allowed && reason.is_none() => {
                    format!("what is allowed needs a reason: {ALLOWED}")
                }
                Some(code) if self.0.insert(code, (severity, reason)).is_some() => {
                    format!("the rule `{code}` is named twice")
                }
                Some(_) => continue,
            };
            problems.add(rule.span(), problem);
        }
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
