//! Decides what a trial came to, from its evidence alone. Reads no disk, starts nothing: grading a stored trial again
//! is this same function.

use serde_json::Value;

use crate::cases::case::{Case, Expectation};
use crate::cases::skill::{Skill, slug};
use crate::grade::delivered::{as_mode_says, delivered, described, unseen};
use crate::grade::session::session_trouble;
use crate::settings::mode::Delivery;
use crate::trial::described::Described;
use crate::trial::evidence::Evidence;
use crate::trial::outcome::{Check, GRADE_FORMAT, Goal, Grade, Metrics, Status, Trouble, TroubleKind, Verdict};
use crate::trial::trace::Progress;

/// The check of whether the skill was offered as the mode says.
const DELIVERED: &str = "delivered";

/// The check of whether the model came to its own end.
const COMPLETED: &str = "completed";

/// The checks of every trial, whatever its case asks.
pub const GENERAL: [&str; 5] = ["in-time", COMPLETED, "exit-code", DELIVERED, "final-message"];

/// The check that the skill under test became active.
pub const TRIGGERED: &str = "triggered";

/// The check that it did not.
pub const NOT_TRIGGERED: &str = "not-triggered";

/// The check that what happens to the skills in mid-session comes before the model.
pub(super) const CHANGES_SEEN: &str = "changes-seen";

/// The checks that ask for the skill: where a mode offers none they are not asked.
pub const OF_THE_SKILL: [&str; 6] =
    [TRIGGERED, NOT_TRIGGERED, "resource-loaded", "described", CHANGES_SEEN, "invoked-skills"];

/// What a trial came to by the checks that are asked without the skill too. A failure that only they tell is none.
#[must_use]
pub fn without_the_skill(verdict: Verdict, checks: &[(String, Status)]) -> Verdict {
    let others = || checks.iter().filter(|(check, _)| !OF_THE_SKILL.contains(&check.as_str()));
    let any = |wanted| others().any(|(_, status)| *status == wanted);
    match verdict {
        Verdict::Fail if checks.is_empty() || any(Status::Fail) => Verdict::Fail,
        Verdict::Fail if any(Status::Unknown) => Verdict::Error,
        Verdict::Fail => Verdict::Pass,
        verdict => verdict,
    }
}

/// Grades a trial of `case` by its evidence. `schema` is the content of the case's output schema, when it has one.
#[must_use]
pub fn grade(case: &Case, skill: &Skill, schema: Option<&Value>, evidence: &Evidence<'_>) -> Grade {
    let mut grader = Grader { case, skill, schema, evidence, checks: Vec::new() };
    // Of an agent that never started there is nothing to check.
    if evidence.meta.ending.trouble.is_none() || evidence.trace.progress > Progress::Silent {
        grader.general();
        for expectation in &case.expectations {
            grader.expectation(expectation);
        }
    }
    let (verdict, trouble) = (Verdict::Pass, infrastructure(skill, evidence));
    settle(Grade {
        format: GRADE_FORMAT,
        verdict,
        trouble,
        checks: grader.checks,
        metrics: metrics(skill, evidence),
        judged: None,
        threshold: None,
        at_most: None,
    })
}

/// `grade` with the verdict that its trouble and its checks come to.
#[must_use]
pub fn settle(mut grade: Grade) -> Grade {
    let has = |status| grade.checks.iter().find(|check| check.status == status);
    let failed = has(Status::Fail).is_some();
    if grade.trouble.is_none() && !failed {
        // A pass with a hole in it would be a guess.
        grade.trouble = has(Status::Unknown)
            .map(|check| Trouble::new(TroubleKind::Unobservable, format!("{}: {}", check.id, check.evidence)));
    }
    let unseen = grade.trouble.as_ref().is_some_and(|trouble| trouble.kind == TroubleKind::Unobservable);
    // What could not be seen no longer matters, unless the skill may not have been there at all.
    let delivered = !grade.checks.iter().any(|check| check.id == DELIVERED && check.status == Status::Unknown);
    if failed && unseen && delivered {
        grade.trouble = None;
    }
    grade.verdict = match &grade.trouble {
        Some(_) => Verdict::Error,
        None if failed => Verdict::Fail,
        None => Verdict::Pass,
    };
    grade
}

/// Why the trial measured nothing, if so.
fn infrastructure(skill: &Skill, evidence: &Evidence<'_>) -> Option<Trouble> {
    let meta = evidence.meta;
    let not_delivered = || match delivered(skill, evidence) {
        (Status::Fail, what) => Some(Trouble::new(TroubleKind::NotDelivered, what)),
        (Status::Unknown, what) if !unseen(evidence) => Some(Trouble::new(TroubleKind::Unobservable, what)),
        (Status::Pass | Status::Unknown, _) => None,
    };
    session_trouble(&meta.ending, evidence.trace, meta.case.timeout_s).or_else(not_delivered)
}

fn metrics(skill: &Skill, evidence: &Evidence<'_>) -> Metrics {
    let trace = evidence.trace;
    Metrics {
        duration_ms: evidence.meta.ending.duration_ms,
        commands: trace.commands,
        effective_commands: trace.effective_commands,
        usage: trace.usage,
        models: trace.models.clone(),
        tokens_at_least: trace.usage.is_none().then(|| trace.tokens_of_requests()).filter(|tokens| *tokens > 0),
        first_input_tokens: trace.first_input_tokens,
        turns: trace.turns,
        agent_duration_ms: trace.agent_duration_ms,
        api_duration_ms: trace.api_duration_ms,
        described: described(skill, evidence),
        activations: trace.activations.clone(),
        resources: trace.resources.clone(),
        explorations: trace.explorations.clone(),
        denials: trace.denials.clone(),
        unknown_events: trace.unknown_events.values().sum(),
        damaged_lines: trace.damaged_lines,
    }
}

/// Says how much of a file was seen, where it was less than all of it.
fn part(seen: Option<f64>) -> String {
    match seen {
        Some(share) if (0.01..0.99).contains(&share) => format!(", {:.0} % of it seen", share * 100.0),
        _ => String::new(),
    }
}

pub(super) struct Grader<'a> {
    pub(super) case: &'a Case,
    pub(super) skill: &'a Skill,
    pub(super) schema: Option<&'a Value>,
    pub(super) evidence: &'a Evidence<'a>,
    checks: Vec<Check>,
}

impl Grader<'_> {
    pub(super) fn check(
        &mut self,
        id: &str,
        goal: Goal,
        status: Status,
        expected: impl Into<String>,
        evidence: impl Into<String>,
    ) {
        let (expected, evidence) = (expected.into(), evidence.into());
        self.checks.push(Check { id: id.to_owned(), goal, status, expected, evidence, own: false });
    }

    fn holds(&mut self, id: &str, goal: Goal, holds: bool, expected: impl Into<String>, evidence: impl Into<String>) {
        self.check(id, goal, if holds { Status::Pass } else { Status::Fail }, expected, evidence);
    }

    /// What must hold of every trial.
    fn general(&mut self) {
        let ending = &self.evidence.meta.ending;
        let timeout = self.evidence.meta.case.timeout_s;
        let took = format!("{:.1} s", std::time::Duration::from_millis(ending.duration_ms).as_secs_f64());
        let trace = self.evidence.trace;
        // Of an agent that had said that it is done, all that counts was measured in time.
        let in_time = !ending.timed_out || (trace.progress == Progress::Done && !ending.went_on());
        let how = match (ending.timed_out, in_time) {
            (false, _) => took,
            (true, true) => format!("done, but the program did not exit and was ended after {took}"),
            (true, false) => format!("ended by the timeout after {took}"),
        };
        self.holds("in-time", Goal::Efficiency, in_time, format!("done within {timeout} s"), how);
        let within = self.evidence.meta.case.max_turns.map_or_else(String::new, |most| match most {
            1 => " within a turn".to_owned(),
            most => format!(" within {most} turns"),
        });
        let end = format!("the model comes to its end{within}");
        if let Some(stop) = trace.stopped {
            self.holds(COMPLETED, Goal::Outcome, false, end, stop.as_str());
        } else if trace.progress == Progress::Done {
            self.holds(COMPLETED, Goal::Outcome, true, end, "it did");
        }
        // An agent that we ended, or whose model stopped, has an exit status that says no more than that.
        match ending.exit_code {
            _ if ending.timed_out || trace.stopped.is_some() => {}
            Some(code) => {
                self.holds("exit-code", Goal::Outcome, code == 0, "exit status 0", format!("exit status {code}"));
            }
            None => self.check("exit-code", Goal::Outcome, Status::Unknown, "exit status 0", "no exit status"),
        }
        if !unseen(self.evidence) {
            let (status, what) = delivered(self.skill, self.evidence);
            let expected = as_mode_says(self.skill, self.evidence.meta.delivery);
            self.check(DELIVERED, Goal::Process, status, expected, what);
        }
        self.final_message();
    }

    /// What it means that something is not there at the end: nothing, where the agent did not come to it.
    pub(super) fn missing(&self) -> Status {
        if self.evidence.trace.ended() { Status::Fail } else { Status::Unknown }
    }

    fn expectation(&mut self, expectation: &Expectation) {
        if self.evidence.meta.delivery == Delivery::None && expectation.asks_for_the_skill() {
            return;
        }
        match expectation {
            Expectation::Trigger(should) => self.trigger(*should),
            Expectation::ResourceLoaded => self.resource_loaded(),
            Expectation::Described => self.described(),
            Expectation::ChangesSeen => self.changes_seen(),
            Expectation::OutputContains(text) => self.output_contains(text),
            Expectation::OutputMatches(pattern) => self.output_matches(pattern),
            Expectation::MustInclude(pattern) => self.must_include(pattern),
            Expectation::MustNotInclude(pattern) => self.must_not_include(pattern),
            Expectation::OutputSchema => self.output_schema(),
            Expectation::InvokedSkills(should) => self.invoked_skills(*should),
            Expectation::RequireFile(path) => self.require_file(path),
            Expectation::MaxCommands(most) => {
                let trace = self.evidence.trace;
                let effective = trace.effective_commands;
                let found = format!("{effective} effective of {} commands", trace.commands);
                let expected = format!("at most {most} effective commands");
                if effective <= *most && effective.saturating_add(trace.untold_commands) > *most {
                    let found =
                        format!("{found}; the model's code may have run more, of which its agent tells nothing");
                    return self.check("max-commands", Goal::Efficiency, Status::Unknown, expected, found);
                }
                self.absent("max-commands", Goal::Efficiency, effective > *most, false, expected, found);
            }
            Expectation::MaxInputTokens(most) => {
                self.tokens("max-input-tokens", "input", *most, |usage| usage.input_tokens);
            }
            Expectation::MaxOutputTokens(most) => {
                self.tokens("max-output-tokens", "output", *most, |usage| usage.output_tokens);
            }
            Expectation::MaxTotalTokens(most) => {
                self.tokens("max-total-tokens", "total", *most, crate::trial::trace::Usage::total_tokens);
            }
        }
    }

    fn trigger(&mut self, should: bool) {
        let trace = self.evidence.trace;
        let of_skill = |name: &str| slug(name) == self.skill.slug;
        let hits: Vec<String> = trace
            .activations
            .iter()
            .filter(|activation| of_skill(&activation.skill))
            .map(|hit| format!("{} ({}){}", hit.how.as_str(), hit.evidence, part(hit.seen)))
            .collect();
        let mut evidence = if hits.is_empty() { "not activated".to_owned() } else { hits.join("; ") };
        let others: Vec<String> = trace
            .activations
            .iter()
            .filter(|activation| !of_skill(&activation.skill))
            .map(|activation| format!("`{}` ({})", activation.skill, activation.how.as_str()))
            .collect();
        if !others.is_empty() {
            evidence = format!("{evidence}; other skills activated: {}", others.join(", "));
        }
        if hits.is_empty() && !trace.explorations.is_empty() {
            let looks = trace.explorations.join("; ");
            evidence = format!("{evidence}; looked at skills without activating: {looks}");
        }
        let name = &self.skill.name;
        let (id, expected) = if should {
            (TRIGGERED, format!("`{name}` activated"))
        } else {
            (NOT_TRIGGERED, format!("`{name}` not activated"))
        };
        if hits.is_empty() && unseen(self.evidence) {
            return;
        }
        let failed = trace.failed_loads.iter().find(|call| of_skill(&call.skill));
        if let (true, Some(call)) = (hits.is_empty(), failed) {
            // It was wanted, and what would have become of it nobody knows.
            let evidence = format!("{evidence}; a call that was to load it failed: {}", call.evidence);
            return self.check(id, Goal::Process, Status::Unknown, expected, evidence);
        }
        self.absent(id, Goal::Process, !hits.is_empty(), should, expected, evidence);
    }

    fn described(&mut self) {
        let found = described(self.skill, self.evidence).unwrap_or_default();
        let status = match found {
            Described::Whole => Status::Pass,
            Described::Cut { .. } | Described::NameOnly => Status::Fail,
            Described::Unknown => Status::Unknown,
        };
        let evidence = match found {
            Described::Unknown => "the evidence does not show how much of it the model was shown".to_owned(),
            seen => seen.to_string(),
        };
        let expected = format!("the whole description of `{}` before the model", self.skill.name);
        self.check("described", Goal::Process, status, expected, evidence);
    }

    fn resource_loaded(&mut self) {
        let found: Vec<String> = self
            .evidence
            .trace
            .resources
            .iter()
            .filter(|resource| slug(&resource.skill) == self.skill.slug)
            .map(|hit| format!("{} ({}){}", hit.path, hit.evidence, part(hit.seen)))
            .collect();
        let expected = format!("a resource of `{}` loaded", self.skill.name);
        let evidence = if found.is_empty() { "none loaded".to_owned() } else { found.join("; ") };
        self.absent("resource-loaded", Goal::Process, !found.is_empty(), true, expected, evidence);
    }

    /// A check of something that may have happened, and `should` or should not have. That it did is certain; that it
    /// did not is, only where the evidence is whole and goes to the agent's end.
    fn absent(&mut self, id: &str, goal: Goal, happened: bool, should: bool, expected: String, mut evidence: String) {
        let trace = self.evidence.trace;
        let offered = trace.offered.is_some();
        let doubt = match trace.gap() {
            _ if happened => None,
            Some(gap) => Some(gap),
            None if !trace.ended() => Some("the agent did not come to its end".to_owned()),
            None if should && !offered => Some("whether the skill was offered is not known".to_owned()),
            None => None,
        };
        let status = match doubt {
            Some(doubt) => {
                evidence = format!("{evidence}; {doubt}");
                Status::Unknown
            }
            None if happened == should => Status::Pass,
            None => Status::Fail,
        };
        self.check(id, goal, status, expected, evidence);
    }

    fn require_file(&mut self, path: &crate::text::relative_path::RelativePath) {
        let meta = self.evidence.meta;
        let hidden = meta.files_truncated && !meta.files_looked_for.iter().any(|known| known == path.as_path());
        // A folder counts as what it holds, and as itself where that is nothing.
        let found = meta.files.iter().find(|file| file.path.starts_with(path.as_path()));
        let status = match found {
            Some(_) => Status::Pass,
            None if hidden => Status::Unknown,
            None => self.missing(),
        };
        let evidence = match found {
            Some(file) if file.is_folder() => "an empty folder".to_owned(),
            Some(file) if file.path == path.as_path() => format!("{} bytes", file.size),
            Some(file) => format!("a folder with {}", file.path.display()),
            None if hidden => "the workspace holds more files than are listed".to_owned(),
            None => {
                let changed: Vec<String> = meta
                    .files
                    .iter()
                    .filter(|file| file.changed)
                    .take(20)
                    .map(|file| file.path.display().to_string())
                    .collect();
                if changed.is_empty() {
                    "missing; the agent wrote no files".to_owned()
                } else {
                    format!("missing; the agent wrote {}", changed.join(", "))
                }
            }
        };
        self.check("require-file", Goal::Outcome, status, format!("the workspace holds {path}"), evidence);
    }

    fn tokens(&mut self, id: &str, what: &str, most: u64, of: impl Fn(&crate::trial::trace::Usage) -> u64) {
        let expected = format!("at most {most} {what} tokens");
        match &self.evidence.trace.usage {
            Some(usage) => {
                let used = of(usage);
                self.absent(id, Goal::Efficiency, used > most, false, expected, format!("{used} {what} tokens"));
            }
            None => self.check(id, Goal::Efficiency, Status::Unknown, expected, "the agent reported no usage"),
        }
    }
}
