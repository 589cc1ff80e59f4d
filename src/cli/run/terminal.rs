//! Tells people of a run while it goes: results on standard output, a bar on a standard error that is a terminal.

use std::io::{self, IsTerminal, Write};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::cli::color;
use crate::exit_code::Exit;
use skill_evals::event::Event;
use skill_evals::outcome::{NoOutcome, Outcome, Verdict};
use skill_evals::plan::{Planned, TrialId};
use skill_evals::report::summary::Summary;
use skill_evals::report::table::{clock, dollars};
use skill_evals::report::trial as report;
use skill_evals::run::Run;

/// Reads a run's events and prints.
pub struct Terminal<'a> {
    run: &'a Run,
    planned: &'a [Planned<'a>],
    /// Whether each trial's result is printed.
    tells: bool,
    bar: ProgressBar,
    running: Vec<(TrialId, Instant)>,
    exit: Exit,
}

impl<'a> Terminal<'a> {
    pub fn new(run: &'a Run, planned: &'a [Planned<'a>], quiet: bool, json: bool, count: usize) -> Self {
        let drawn =
            !quiet && !json && io::stderr().is_terminal() && std::env::var_os("TERM").is_none_or(|term| term != "dumb");
        let target = if drawn { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() };
        let bar = ProgressBar::with_draw_target(Some(count as u64), target);
        let template = if color(&io::stderr()) {
            "{bar:20.cyan/dim} {pos}/{len}  {wide_msg}"
        } else {
            "{bar:20} {pos}/{len}  {wide_msg}"
        };
        // The template is a constant; the default one would only look different.
        if let Ok(style) = ProgressStyle::with_template(template) {
            bar.set_style(style);
        }
        Self { run, planned, tells: !quiet && !json, bar, running: Vec::new(), exit: Exit::Clean }
    }

    pub fn hear(&mut self, event: &Event, summary: &Summary) {
        match event {
            Event::Started(id) => self.running.push((id.clone(), Instant::now())),
            Event::Refused { id, attempt, pause } => {
                self.note(&format!(
                    "{id}: refused by the provider (attempt {attempt}); trying again in {}",
                    clock(*pause)
                ));
            }
            Event::Finished { id, result, .. } => {
                self.running.retain(|(running, _)| running != id);
                self.bar.inc(1);
                self.finished(id, result);
            }
            Event::Kept(outcome) => {
                self.bar.inc(1);
                self.exit = self.exit.worse(Exit::of_verdict(outcome.grade.verdict));
                self.print(&format!("{}: {} (kept)\n", outcome.id, outcome.grade.verdict));
            }
            Event::Skipped(id, why) => {
                self.running.retain(|(running, _)| running != id);
                self.print(&report::not_graded(id, &NoOutcome::NotRun(*why)));
            }
            Event::Tick => {}
        }
        self.draw(summary);
    }

    fn finished(&mut self, id: &TrialId, result: &Result<Outcome, NoOutcome>) {
        match result {
            Ok(outcome) => {
                self.exit = self.exit.worse(Exit::of_verdict(outcome.grade.verdict));
                let planned = self.planned.iter().find(|planned| planned.trial(id.number) == *id);
                let text = match planned {
                    Some(planned) if outcome.grade.verdict != Verdict::Pass => {
                        report::graded(&self.run.root, planned.found, outcome)
                    }
                    _ => format!("{id}: {}\n", outcome.grade.verdict),
                };
                self.print(&text);
            }
            Err(problem) => {
                if !matches!(problem, NoOutcome::NotRecorded) {
                    self.exit = self.exit.worse(Exit::CouldNotRun);
                }
                self.print(&report::not_graded(id, problem));
            }
        }
    }

    /// Prints a result, above the bar.
    fn print(&self, text: &str) {
        if self.tells {
            // A reader that went away does not end the run.
            self.bar.suspend(|| {
                let _ = io::stdout().lock().write_all(text.as_bytes());
            });
        }
    }

    /// Says something that is no result.
    fn note(&self, text: &str) {
        if self.tells {
            self.bar.suspend(|| {
                let _ = writeln!(io::stderr(), "{text}");
            });
        }
    }

    fn draw(&mut self, summary: &Summary) {
        if self.bar.is_hidden() {
            return;
        }
        let total = &summary.total;
        let mut message = format!("{} failed, {} errors", total.failed, total.errors);
        if let Some(cost) = total.cost_usd {
            message.push_str(&format!(", {}", dollars(cost)));
        }
        let longest = self.running.iter().map(|(id, since)| (id, since.elapsed())).max_by_key(|(_, time)| *time);
        if let Some((id, time)) = longest {
            let time = Duration::from_secs(time.as_secs());
            message.push_str(&format!("; {} running, longest {id} {}", self.running.len(), clock(time)));
        }
        self.bar.set_message(message);
    }

    /// Takes the bar away; what the trials so far mean for the exit code.
    pub fn end(&mut self) -> Exit {
        self.bar.finish_and_clear();
        self.exit
    }
}
