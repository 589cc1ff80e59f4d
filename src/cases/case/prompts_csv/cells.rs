//! A row's cells as a case.

use std::time::Duration;

use super::Row;
use crate::cases::case::repetition::{self, A_SHARE, TRIALS, Trials};
use crate::cases::case::{Case, Expectation, LONGEST_TIMEOUT, MOST_TURNS, Pattern, Repetition, Sandbox};
use crate::cases::name;
use crate::text::diagnostic::{Code, Diagnostic, shorten, suggest};
use crate::text::relative_path::RelativePath;

pub(super) fn boolean(text: &str) -> Option<bool> {
    match text.to_ascii_lowercase().as_str() {
        "true" => Some(true),
        "false" => Some(false),
        _ => None,
    }
}

/// Reads a row's cells and gathers what is wrong with them.
pub(super) struct Reader<'a> {
    pub(super) row: &'a Row,
    pub(super) problems: Vec<Diagnostic>,
}

impl Reader<'_> {
    pub(super) fn case(&mut self, skill: &str) -> Case {
        let id = self.text("id");
        if let Err(why) = name::check_case_id(&id) {
            self.problems.push(name::id_problem(&id, &why, self.row.place("id")));
        }
        let should_trigger = self.boolean("should_trigger", None);
        let prompt = self.text("prompt");
        if prompt.is_empty() {
            self.problem(Code::EmptyValue, "prompt", "the prompt is empty", "write what the agent is asked");
        }
        let output_schema = self.path("output_schema");
        let mut expectations = vec![Expectation::Trigger(should_trigger)];
        if self.boolean("described", Some(false)) {
            expectations.push(Expectation::Described);
        }
        if output_schema.is_some() {
            expectations.extend([Expectation::OutputSchema, Expectation::InvokedSkills(should_trigger)]);
        }
        expectations.extend(self.patterns("must_include").into_iter().map(Expectation::MustInclude));
        expectations.extend(self.patterns("must_not_include").into_iter().map(Expectation::MustNotInclude));
        expectations.extend(self.paths("require_files").into_iter().map(Expectation::RequireFile));
        expectations.extend(self.limit("max_commands").map(Expectation::MaxCommands));
        expectations.extend(self.limit("max_input_tokens").map(Expectation::MaxInputTokens));
        expectations.extend(self.limit("max_output_tokens").map(Expectation::MaxOutputTokens));
        expectations.extend(self.limit("max_total_tokens").map(Expectation::MaxTotalTokens));
        Case {
            id,
            skill: skill.to_owned(),
            origin: self.row.place("id"),
            should_trigger,
            prompt,
            system_prompt: None,
            sandbox: self.sandbox(),
            timeout: self.timeout(),
            max_turns: self.number("max_turns", 1..=MOST_TURNS),
            fixture: self.path("fixture"),
            output_schema,
            judge: self.boolean("judge", Some(false)),
            repetition: self.repetition(),
            during: Vec::new(),
            expectations,
        }
    }

    /// What the row says of its repeats.
    pub(super) fn repetition(&mut self) -> Repetition {
        let threshold = |text: &str| text.parse().ok().and_then(repetition::threshold);
        Repetition {
            trials: self.read("trials", TRIALS, "write a number for a fixed count", |text| text.parse::<Trials>().ok()),
            threshold: self.read("threshold", A_SHARE, "write 0.8 where four of five trials must pass", threshold),
        }
    }

    /// What `parse` makes of a cell, where it is not empty.
    fn read<A>(&mut self, column: &str, expected: &str, help: &str, parse: impl Fn(&str) -> Option<A>) -> Option<A> {
        let text = self.text(column);
        if text.is_empty() {
            return None;
        }
        let read = parse(&text);
        if read.is_none() {
            let message = format!("`{column}` is {:?}; expected {expected}", shorten(&text));
            self.problem(Code::BadNumber, column, message, help);
        }
        read
    }

    fn text(&self, column: &str) -> String {
        self.row.text(column).trim().to_owned()
    }

    fn problem(&mut self, code: Code, column: &str, message: impl Into<String>, help: impl Into<String>) {
        self.problems.push(Diagnostic::new(code, self.row.place(column), message).help(help));
    }

    fn boolean(&mut self, column: &str, default: Option<bool>) -> bool {
        let text = self.text(column);
        match (boolean(&text), default) {
            (Some(value), _) => value,
            (None, Some(default)) if text.is_empty() => default,
            _ => {
                let message = format!("`{column}` is {:?}; expected true or false", shorten(&text));
                self.problem(Code::BadBoolean, column, message, "write true or false");
                false
            }
        }
    }

    fn number(&mut self, column: &str, allowed: std::ops::RangeInclusive<u64>) -> Option<u64> {
        let text = self.text(column);
        if text.is_empty() {
            return None;
        }
        // u64's own parser takes a leading `+`, which other runners of this format ignore in silence.
        let number = text.bytes().all(|b| b.is_ascii_digit()).then(|| text.parse().ok()).flatten();
        let number = number.filter(|number| allowed.contains(number));
        if number.is_none() {
            let range = match *allowed.end() {
                u64::MAX => format!("{} or more", allowed.start()),
                end => format!("{} to {end}", allowed.start()),
            };
            let message = format!("`{column}` is {:?}; expected a whole number, {range}", shorten(&text));
            self.problem(Code::BadNumber, column, message, "write digits only, without sign, unit or separators");
        }
        number
    }

    fn limit(&mut self, column: &str) -> Option<u64> {
        self.number(column, 0..=u64::MAX)
    }

    fn timeout(&mut self) -> Option<Duration> {
        self.number("timeout_s", 1..=LONGEST_TIMEOUT.as_secs()).map(Duration::from_secs)
    }

    fn sandbox(&mut self) -> Sandbox {
        let text = self.text("sandbox");
        match text.as_str() {
            "" => Sandbox::default(),
            "read-only" => Sandbox::ReadOnly,
            "workspace-write" => Sandbox::WorkspaceWrite,
            _ => {
                let message = format!("`sandbox` is {:?}; expected read-only or workspace-write", shorten(&text));
                let help = suggest(&text, &["read-only", "workspace-write"]);
                self.problem(Code::BadChoice, "sandbox", message, help);
                Sandbox::default()
            }
        }
    }

    fn path(&mut self, column: &str) -> Option<RelativePath> {
        let text = self.text(column);
        if text.is_empty() { None } else { self.checked_path(column, &text) }
    }

    fn paths(&mut self, column: &str) -> Vec<RelativePath> {
        let text = self.text(column);
        let parts: Vec<&str> = text.split(';').map(str::trim).filter(|part| !part.is_empty()).collect();
        parts.into_iter().filter_map(|part| self.checked_path(column, part)).collect()
    }

    fn checked_path(&mut self, column: &str, text: &str) -> Option<RelativePath> {
        let path = RelativePath::parse(text);
        if let Err(why) = path {
            let folder = match column {
                "fixture" => "the skill's folder under evals/skills",
                "output_schema" => "the repository's root",
                _ => "the workspace",
            };
            let message = format!("`{column}`: {:?} {why}", shorten(text));
            let place = self.row.place_of(column, text);
            let help = format!("give a path below {folder}");
            self.problems.push(Diagnostic::new(Code::BadPath, place, message).help(help));
        }
        path.ok()
    }

    fn patterns(&mut self, column: &str) -> Vec<Pattern> {
        let patterns = Pattern::list(&self.row.text(column));
        for pattern in &patterns {
            if let Err(error) = pattern.check_loose() {
                let (message, help) = pattern.problem(column, &error);
                let place = self.row.place_of(column, &pattern.0);
                self.problems.push(Diagnostic::new(Code::BadRegex, place, message).help(help));
            }
        }
        patterns
    }
}
