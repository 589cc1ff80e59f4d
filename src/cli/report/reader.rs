//! Reads stored trials for the report, one after the other; only their rows stay in memory.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{self, BufWriter, Write};

use super::sessions::Sessions;
use crate::cli::exit_code::Exit;
use crate::cli::{CliResultOf, summary};
use skill_evals::files::bounded;
use skill_evals::report::html::document::{JudgeDialogue, TrialDocument, WrittenFile};
use skill_evals::report::html::index::Index;
use skill_evals::report::html::packing::{PackedDocument, Packer};
use skill_evals::report::html::page::{self, ChangedSkill};
use skill_evals::report::trial::again;
use skill_evals::results::not_run::NotRunReasons;
use skill_evals::results::side_results::SideReader;
use skill_evals::results::summary::Summary;
use skill_evals::results::table;
use skill_evals::results::timeline::{EventKind, Timeline};
use skill_evals::run::context::RunContext;
use skill_evals::run::review::TrialReview;
use skill_evals::store::{self, RunFolder, TrialFolder};
use skill_evals::text::diagnostic::shown_path;
use skill_evals::trial::evidence::digest;
use skill_evals::trial::id::TrialId;
use skill_evals::trial::outcome::Verdict;
use skill_evals::trial::run_record::TrialRecord;

/// What was read of the runs of a report.
pub struct ReportReader<'a> {
    run: &'a RunContext,
    /// What was read so far.
    pub index: Index,
    packer: Packer,
    sessions: Sessions,
    /// When the reported runs began.
    pub created: BTreeSet<String>,
    /// The agents of the trials, with their versions and models.
    pub agents: BTreeSet<String>,
    /// What the page has to say of itself.
    pub notes: Vec<String>,
    /// How many files could not be read.
    pub unreadable: usize,
    /// Of a run that compares, the trials of arm A with the modes of their counterparts.
    pub pairs: BTreeMap<TrialId, String>,
    /// The mode of all reported trials, where those that they are compared with have one too.
    pub only_mode: Option<String>,
}

impl<'a> ReportReader<'a> {
    pub fn new<'r>(
        run: &'a RunContext,
        runs: impl Iterator<Item = &'r RunFolder>,
        compares: bool,
    ) -> CliResultOf<Self> {
        let runs = runs.map(|run| run.id().to_owned()).collect();
        Ok(Self {
            run,
            index: Index::new(runs, compares),
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

    /// Reads these runs, of which the first is at the place `first` of the index.
    pub fn read(&mut self, first: usize, runs: &[RunFolder]) -> CliResultOf<(Summary, SideReader)> {
        let mut summary = Summary::new(Vec::new(), self.run.settings.repetition.threshold());
        summary.isolation_wanted = self.run.settings.isolation.kind;
        let mut arm = SideReader::default();
        for (at, run) in runs.iter().enumerate() {
            summary.runs.push(run.id().to_owned());
            arm.next_run();
            let (is_run, progress, mut seen) = (run.is_run(), run.progress()?, BTreeSet::new());
            match run.run_record() {
                Ok(record) if first == 0 => self.created.extend(record.map(|record| record.created)),
                Ok(_) => {}
                Err(why) => {
                    self.unreadable += 1;
                    self.notes.push(format!("Not read: {why}"));
                }
            }
            // Of a run a trial without a grade was cut short; a recording has none.
            let trials = if is_run { run.trials() } else { store::trials_below(run.path()) };
            for folder in trials.into_iter().filter(|folder| !is_run || folder.has_grade()) {
                match self.trial((first + at, is_run.then(|| run.id())), &folder, first > 0) {
                    Ok(mut record) => {
                        let attempts = progress.records.get(&record.id).map_or(record.attempts, |known| known.attempts);
                        seen.insert(record.id.clone());
                        arm.record(&record);
                        record.attempts = attempts;
                        summary.add(&record);
                    }
                    Err(why) => {
                        self.unreadable += 1;
                        self.notes.push(format!("Not counted: {why}"));
                    }
                }
            }
            let reasons = NotRunReasons::of(run);
            for id in summary::add_rest(&mut summary, run, &progress, &seen)? {
                let before = self.counterpart(&id, first > 0);
                self.index.add_not_run(first + at, &id, before.as_deref(), reasons.why(&id).to_owned());
            }
        }
        Ok((summary, arm))
    }

    /// Reads and packs a trial of the run at this place of the index; without an id it is a recording.
    fn trial(
        &mut self,
        (run, id): (usize, Option<&str>),
        folder: &TrialFolder,
        against: bool,
    ) -> Result<TrialRecord, String> {
        let review = TrialReview::of(self.run, folder)?;
        let timeline = review.timeline();
        let (meta, grade) = (&review.meta, &review.grade);
        let outcome = table::outcome(meta.id(), grade.clone(), meta, folder, &self.run.settings.prices);
        let record = TrialRecord::new(&outcome, 1);
        let packed = self.pack(id, &review, &timeline, folder).map_err(|error| error.to_string())?;
        self.sessions.add(record.verdict, &packed).map_err(|error| error.to_string())?;
        let agent = [Some(meta.agent.kind.as_str()), meta.agent.version.as_deref(), meta.agent.model.as_deref()];
        self.agents.insert(agent.into_iter().flatten().collect::<Vec<_>>().join(" "));
        let answer = review.final_text.as_deref().map(short).unwrap_or_default();
        let before = self.counterpart(&record.id, against);
        self.index.add(run, &record, before.as_deref(), answer, short(&calls(&timeline)));
        Ok(record)
    }

    /// The mode of the trial that this one is compared with, where it is one of those that others are compared with.
    fn counterpart(&self, id: &TrialId, against: bool) -> Option<String> {
        let mode = || self.only_mode.clone().unwrap_or_else(|| id.mode.clone());
        if against { Some(mode()) } else { self.pairs.get(id).cloned() }
    }

    fn pack(
        &mut self,
        run: Option<&str>,
        review: &TrialReview,
        timeline: &Timeline,
        folder: &TrialFolder,
    ) -> io::Result<PackedDocument> {
        let files = review.files(self.run, folder).into_iter().map(|file| {
            let path = file.path.display().to_string();
            let (after, why) = match file.after {
                Ok(text) => (Some(text), None),
                Err(why) => (None, Some(why)),
            };
            WrittenFile { path, size: file.size, before: file.before, after, why }
        });
        let judgement = folder.judgement().map_err(io::Error::other)?;
        let judge = judgement
            .map(|judgement| JudgeDialogue { question: review.question(self.run, folder, &judgement), judgement });
        let place = shown_path(&self.run.root, folder.path()).display().to_string();
        let evidence = review.evidence();
        let id = review.meta.id();
        let commands = again(&id, run, self.run.settings.mode(&id.mode).is_some());
        let document = TrialDocument::new(commands, &evidence, &review.grade, timeline, files.collect(), judge, place);
        self.packer.pack(&review.meta.skill.slug, &document)
    }

    /// Leaves sessions out until the others take no more than this.
    pub fn keep_within(&mut self, most: u64) {
        let left_out = self.sessions.beyond(most.saturating_sub(self.packer.common_length()));
        for (at, _) in &left_out {
            self.index.rows[*at].kept = false;
        }
        let passed = left_out.iter().filter(|(_, verdict)| *verdict == Verdict::Pass).count();
        let others = left_out.len() - passed;
        if passed + others > 0 {
            let others = if others > 0 { format!(" and of {others} others") } else { String::new() };
            self.notes.push(format!(
                "The sessions of {passed} passed trials{others} are left out, so that all together stay below {}; their results \
                 are here, and `skill-evals show` has the sessions. --max-size sets the limit.",
                bounded::bytes(most)
            ));
        }
    }

    pub fn exit(&self, summary: &Summary) -> Exit {
        let exit = Exit::of_summary(summary);
        if self.unreadable == 0 { exit } else { exit.worse(Exit::Infrastructure) }
    }

    /// Writes the page.
    pub fn write(&mut self, out: &mut File, title: &str, overview: &str, skills: &[ChangedSkill]) -> io::Result<()> {
        let mut out = BufWriter::new(out);
        page::begin(&mut out, title, overview, &self.index, skills)?;
        let (rows, packer) = (&self.index.rows, &mut self.packer);
        self.sessions.each(|at| rows[at].kept, |at, packed| packer.write(&mut out, at, packed))?;
        page::end(&mut out)?;
        out.flush()
    }
}

/// What tells equal texts from others.
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
