//! Reads stored trials for the report, one by one. Only their rows stay in memory.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{self, BufWriter, Write};

use super::sessions::Sessions;
use crate::cli::exit_code::Exit;
use crate::cli::output::warn;
use crate::cli::{CliResultOf, named_runs};
use crate::exports::html::document::{JudgeDialogue, TrialDocument};
use crate::exports::html::index::Index;
use crate::exports::html::packing::{PackedDocument, Packer};
use crate::exports::html::page;
use crate::files::bounded;
use crate::report::trial_text::again;
use crate::results::changed_texts::ChangedText;
use crate::results::side_results::SideReader;
use crate::results::stored_summary::RestOfRun;
use crate::results::summary::Summary;
use crate::results::table;
use crate::results::timeline::{EventKind, Timeline};
use crate::run::planned::PlannedRun;
use crate::run::review::TrialReview;
use crate::store::{RunFolder, TrialFolder};
use crate::text::diagnostic::shown_path;
use crate::text::problem::Problem;
use crate::trial::evidence::digest;
use crate::trial::id::TrialId;
use crate::trial::outcome::Verdict;
use crate::trial::run_record::TrialRecord;

/// The content of a report, as far as it was read.
pub struct ReportReader<'a> {
    run: &'a PlannedRun,
    pub index: Index,
    packer: Packer,
    sessions: Sessions,
    /// When the reported runs began.
    pub created: BTreeSet<String>,
    /// The agents of the trials, with their versions and models.
    pub agents: BTreeSet<String>,
    /// What the page does not contain, and why.
    pub notes: Vec<String>,
    /// How many files could not be read.
    pub unreadable: usize,
    /// For a comparison, the baseline trials with the modes of their counterparts.
    pub pairs: BTreeMap<TrialId, String>,
    /// The mode of all reported trials, if the trials that they are compared with have a single mode too.
    pub only_mode: Option<String>,
}

impl<'a> ReportReader<'a> {
    pub fn new(run: &'a PlannedRun, runs: Vec<String>, sides: Option<(String, String)>) -> CliResultOf<Self> {
        Ok(Self {
            run,
            index: Index::new(runs, sides),
            packer: Packer::default(),
            sessions: Sessions::new()?,
            created: BTreeSet::new(),
            agents: BTreeSet::new(),
            notes: Vec::new(),
            unreadable: 0,
            pairs: BTreeMap::new(),
            only_mode: None,
        })
    }

    /// Reads these runs. `first` is the place of the first one in the index; the baseline comes after the reported runs.
    pub fn read(&mut self, first: usize, runs: &[RunFolder]) -> CliResultOf<(Summary, SideReader)> {
        let mut summary = Summary::new(Vec::new(), &self.run.settings);
        let is_baseline = first > 0;
        let mut side = SideReader::default();
        for (at, run) in (first..).zip(runs) {
            summary.runs.push(run.id().to_owned());
            let mut rest = RestOfRun::of(run)?;
            match run.run_record() {
                Ok(record) if !is_baseline => self.created.extend(record.map(|record| record.created)),
                Ok(_) => {}
                Err(why) => self.note_unreadable(format!("Not read: {why}")),
            }
            let has_trials = named_runs::has_own_trials(run)?;
            // A trial of a run that has no grade was cut short. Recordings have no grades.
            let trials = named_runs::trials(&self.run.root, run)?;
            for folder in trials {
                if has_trials && !folder.has_grade()? {
                    continue;
                }
                match self.trial((at, has_trials.then(|| run.id())), &folder, is_baseline) {
                    Ok(mut record) => {
                        side.record(&record);
                        rest.without(&mut record);
                        summary.add(&record);
                    }
                    Err(why) => self.note_unreadable(format!("Not counted: {why}")),
                }
            }
            for (id, why) in rest.add_to(&mut summary, run)? {
                let before = self.counterpart(&id, is_baseline);
                self.index.add_not_run(at, &id, before.as_deref(), why);
            }
        }
        Ok((summary, side))
    }

    fn note_unreadable(&mut self, note: String) {
        self.unreadable += 1;
        // If standard error is closed, the page says it.
        let _ = warn(&note);
        self.notes.push(note);
    }

    /// Reads and packs a trial of the run at this place of the index. A recording has no id of a run.
    fn trial(
        &mut self,
        (run, id): (usize, Option<&str>),
        folder: &TrialFolder,
        is_baseline: bool,
    ) -> Result<TrialRecord, Problem> {
        let review = TrialReview::of(self.run, folder)?;
        let timeline = review.timeline();
        let (meta, grade) = (&review.meta, &review.grade);
        let outcome = table::outcome(meta.id(), grade.clone(), meta, folder, &self.run.settings.prices);
        let record = TrialRecord::new(&outcome, 1);
        let packed = self.pack(id, &review, &timeline, folder)?;
        self.sessions.add(record.verdict, &packed)?;
        self.agents.insert(meta.agent.text());
        let answer = review.final_text.as_deref().map(short).unwrap_or_default();
        let before = self.counterpart(&record.id, is_baseline);
        self.index.add(run, &record, before.as_deref(), answer, short(&calls(&timeline)));
        Ok(record)
    }

    /// The mode of the candidate trial of a baseline trial.
    fn counterpart(&self, id: &TrialId, is_baseline: bool) -> Option<String> {
        if is_baseline {
            Some(self.only_mode.clone().unwrap_or_else(|| id.mode.clone()))
        } else {
            // A trial that was not run may have no pair.
            let same_mode = || self.pairs.iter().find(|(other, _)| other.mode == id.mode).map(|(_, mode)| mode);
            self.pairs.get(id).or_else(same_mode).cloned()
        }
    }

    fn pack(
        &mut self,
        run: Option<&str>,
        review: &TrialReview,
        timeline: &Timeline,
        folder: &TrialFolder,
    ) -> io::Result<PackedDocument> {
        let files = review.files(self.run, folder);
        let judgment = folder.judgment().map_err(io::Error::other)?;
        let judge =
            judgment.map(|judgment| JudgeDialogue { question: review.question(self.run, folder, &judgment), judgment });
        let place = shown_path(&self.run.root, folder.path()).display().to_string();
        let evidence = review.evidence();
        let id = review.meta.id();
        let commands = again(&id, run, self.run.settings.mode(&id.mode).is_some());
        let document = TrialDocument::new(commands, &evidence, &review.grade, timeline, files, judge, place);
        self.packer.pack(&review.meta.skill.slug, &document)
    }

    /// Leaves sessions out until the others take at most `limit` bytes.
    pub fn keep_within(&mut self, limit: u64) {
        let left_out = self.sessions.beyond(limit.saturating_sub(self.packer.common_length()));
        for (at, _) in &left_out {
            self.index.rows[*at].kept = false;
        }
        let passed = left_out.iter().filter(|(_, verdict)| *verdict == Verdict::Pass).count();
        let others = left_out.len() - passed;
        if passed + others > 0 {
            let others = if others > 0 { format!(" and of {others} others") } else { String::new() };
            self.notes.push(format!(
                "The sessions of {passed} passed trials{others} are left out: all sessions would exceed {}. Their results are here, \
                 and `skill-evals show` has the sessions. --max-size sets the limit.",
                bounded::bytes(limit)
            ));
        }
    }

    pub fn exit(&self, summary: &Summary) -> Exit {
        let exit = Exit::of_summary(summary);
        if self.unreadable == 0 { exit } else { exit.worse(Exit::Infrastructure) }
    }

    pub fn write(&mut self, out: &mut File, title: &str, overview: &str, edits: &[ChangedText]) -> io::Result<()> {
        let mut out = BufWriter::new(out);
        page::begin(&mut out, title, overview, &self.index, edits)?;
        let (rows, packer) = (&self.index.rows, &mut self.packer);
        self.sessions.each(|at| rows[at].kept, |at, packed| packer.write(&mut out, at, packed))?;
        page::end(&mut out)?;
        out.flush()
    }
}

/// A short digest, to find equal texts.
fn short(text: &str) -> String {
    digest(text.as_bytes())[..12].to_owned()
}

/// The commands and calls of a session.
fn calls(timeline: &Timeline) -> String {
    let calls = timeline.entries.iter().filter_map(|entry| match &entry.what {
        EventKind::Command { command, .. } => Some(format!("{command}\0")),
        EventKind::Tool { name, input, .. } => Some(format!("{name} {input}\0")),
        EventKind::Files { paths } => Some(format!("{}\0", paths.join("\n"))),
        _ => None,
    });
    calls.collect()
}
