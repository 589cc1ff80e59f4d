//! What decides trials, as digests that are known before the first of them starts. A trial may stand for another one with the same
//! digest, whatever it did. Runs with the same digest put the same question to the same contents.

use std::collections::HashMap;
use std::fmt::Write;
use std::path::PathBuf;
use std::sync::{MutexGuard, PoisonError};

use crate::agent;
use crate::agent::isolation::{self, IsolationStatus};
use crate::cases::case::Case;
use crate::cases::case_parts::start_files;
use crate::cases::catalog::FoundSkill;
use crate::cases::selection::TestCase;
use crate::cases::skill_material::skill_material;
use crate::results::run_status::is_live;
use crate::run::case_digests;
use crate::run::digests::{InputReader, SkillFolders};
use crate::run::live::Redactors;
use crate::run::pairing::Pairing;
use crate::run::planned::PlannedRun;
use crate::run::shared_contents::SharedContents;
use crate::settings::mode::{AgentKind, Delivery, Mode};
use crate::store::{self, RunFolder};
use crate::text::problem::Problem;
use crate::trial::evidence::digest;
use crate::trial::id::CaseInMode;
use crate::trial::run_record::{ComparedSides, RunEndKind, RunRecord};

impl SharedContents {
    fn cases(&self) -> MutexGuard<'_, HashMap<CaseInMode, String>> {
        self.cases.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn agent(&self, run: &PlannedRun, kind: AgentKind) -> Result<String, Problem> {
        let mut known = self.agents.lock().unwrap_or_else(PoisonError::into_inner);
        known.entry(kind).or_insert_with(|| agent_setup(run, kind)).clone()
    }

    fn programs(&self, folder: PathBuf) -> String {
        let mut known = self.programs.lock().unwrap_or_else(PoisonError::into_inner);
        known.entry(folder).or_insert_with_key(|folder| skill_material(folder).programs()).clone()
    }
}

/// Everything that decides a trial of this case: all that is offered to its agent, what it is asked, how it is started and limited,
/// and how it is graded. Not what its mode is called, and not which commit its skills are of.
pub fn of_case(run: &PlannedRun, planned: &TestCase) -> Result<String, Problem> {
    let case = planned.found.case().map_err(<[_]>::to_vec)?;
    let mode = &planned.mode;
    let (root, catalog) = run.skills_at(mode.commit.as_deref());
    let skills = catalog.skills.iter().map(FoundSkill::skill);
    let offered: Vec<_> = skills
        .filter(|skill| mode.delivery != Delivery::None && mode.offer.includes(&case.skill, &skill.slug))
        .collect();
    let slugs: Vec<String> = offered.iter().map(|skill| skill.slug.clone()).collect();
    let inputs = run.digested(&SkillFolders::Repository, case, mode, &slugs)?;
    let mut text = String::new();
    for (part, content) in &inputs.0 {
        let _ = writeln!(text, "{part}\n{content}");
    }
    for skill in offered {
        let programs = run.shared_contents.programs(root.join(&skill.folder));
        let _ = writeln!(text, "programs of {}\n{programs}", skill.slug);
    }
    let programs = start_programs(run, case);
    let besides = run.besides_skills_at_start(case, mode)? + &programs;
    run.shared_contents.cases().entry(planned.case_in_mode()).or_insert(besides);
    let checks = case_digests::checks(run, planned, case)?;
    let _ = writeln!(text, "programs\n{programs}\nchecks\n{checks}\n{}", limits(run, case, mode));
    text += &run.shared_contents.agent(run, mode.agent)?;
    Ok(digest(text.as_bytes()))
}

/// The files that a case starts with and agents can execute.
fn start_programs(run: &PlannedRun, case: &Case) -> String {
    start_files(&run.root, case).map(|files| files.programs()).unwrap_or_default()
}

/// Whether the files of a case are what they were when the run first read them. Its trials and checks read them while it runs.
pub fn are_files_unchanged(run: &PlannedRun, planned: &TestCase) -> bool {
    let Ok(case) = planned.found.case() else { return false };
    let now = run.besides_skills(&InputReader::default(), case, &planned.mode);
    let now = now.map(|now| now + &start_programs(run, case));
    let before = run.shared_contents.cases().get(&planned.case_in_mode()).cloned();
    now.is_ok_and(|now| before.is_some_and(|before| before == now))
}

/// When a trial ends at the latest, and who answers instead of the model.
fn limits(run: &PlannedRun, case: &Case, mode: &Mode) -> String {
    let settings = &run.settings;
    let timeout = case.timeout.unwrap_or(settings.timeout).as_secs();
    let model = settings.model_for(mode).unwrap_or_default();
    let mock = settings.scripted.as_deref().unwrap_or_default();
    // With another network, the same command may have another answer.
    let network = settings.network.limit().map(|reach| {
        let allowed: Vec<String> = settings.network.allowed.iter().map(ToString::to_string).collect();
        format!("\nnetwork {reach} {}", allowed.join(" "))
    });
    let network = network.unwrap_or_default();
    format!("timeout {timeout}\nstop {}\nmodel {model}\nmock model {mock}{network}", settings.stops().as_str())
}

/// The agent's program, its version as far as it is known without starting it, its configuration without secrets, and its isolation.
fn agent_setup(run: &PlannedRun, kind: AgentKind) -> Result<String, Problem> {
    let settings = &run.settings;
    let setup = agent::users_setup(kind, settings)?;
    let (_, version) = agent::installed(kind, settings)?;
    let isolation = match isolation::status(&settings.isolation) {
        IsolationStatus::Bwrap(_) => "bwrap",
        IsolationStatus::Container(_) => "container",
        IsolationStatus::Nothing(_) | IsolationStatus::Refused(_) => "none",
    };
    let redactor = Redactors::new(settings).masking(Vec::new());
    let setup = redactor.mask(setup.as_bytes()).into_owned();
    let (version, ours) = (version.unwrap_or_default(), env!("CARGO_PKG_VERSION"));
    Ok(format!("setup {}\nversion {version}\nisolation {isolation}\nskill-evals {ours}\n", digest(&setup)))
}

/// Whether the setup of an agent is what it was when the run first read it.
pub fn is_setup_unchanged(run: &PlannedRun, kind: AgentKind) -> bool {
    let before = run.shared_contents.agent(run, kind);
    before.is_ok() && before == agent_setup(run, kind)
}

/// What decides all these trials, in this order, and the `question` that they are to answer.
pub fn of_cases<'a>(
    run: &PlannedRun,
    cases: impl IntoIterator<Item = &'a TestCase>,
    question: &str,
) -> Result<String, Problem> {
    let mut text = format!("{question}\n");
    for planned in cases {
        let _ = writeln!(text, "{}/{} {}", planned.found.skill, planned.found.id, of_case(run, planned)?);
    }
    Ok(digest(text.as_bytes()))
}

/// The same for the trials of both sides. Their number does not count: a comparison may be continued.
pub fn of_comparison(run: &PlannedRun, pairing: &Pairing, sides: &ComparedSides) -> Result<String, Problem> {
    let ComparedSides { alpha, margin, plan, outcome_only, .. } = sides;
    let margin = margin.map(|margin| margin.to_string()).unwrap_or_default();
    // The trials of a gate are in its own store.
    let command = if run.kept.is_some() { "gate" } else { "compare" };
    let question = format!("{command} {} {alpha} {margin} {outcome_only}", plan.as_str());
    of_cases(run, pairing.trials(), &question)
}

/// The same for trials that also have the same names, so that one run can have those of several starts.
pub fn with_names<'a>(contents: &str, cases: impl IntoIterator<Item = &'a TestCase>) -> String {
    let names: Vec<String> = cases.into_iter().map(|planned| format!("\n{}", planned.trial(1))).collect();
    digest(format!("{contents}{}", names.concat()).as_bytes())
}

/// The latest run of these contents that was killed or ended before its plan was done, and that no process runs; if the user named
/// a run, only that one.
pub fn unfinished(run: &PlannedRun) -> Option<RunFolder> {
    let contents = run.contents.as_ref()?;
    let is_wanted = |folder: &RunFolder| run.settings.run_id.as_ref().is_none_or(|id| id == folder.id());
    let is_same = |folder: &RunFolder| {
        folder.run_record().ok().flatten().is_some_and(|record| {
            record.contents.as_ref() == Some(contents) && is_unfinished(&record) && !is_live(folder)
        })
    };
    store::runs(&run.root).ok()?.into_iter().find(|folder| is_wanted(folder) && is_same(folder))
}

/// The first of these runs that has the contents of this one.
pub fn among(run: &PlannedRun, ids: &[String]) -> Option<RunFolder> {
    let contents = run.contents.as_ref()?;
    let is_same = |folder: &RunFolder| {
        folder.run_record().ok().flatten().is_some_and(|record| record.contents.as_ref() == Some(contents))
    };
    ids.iter().filter_map(|id| RunFolder::open(&run.root, id).ok()).find(is_same)
}

fn is_unfinished(record: &RunRecord) -> bool {
    record.ended.as_ref().is_none_or(|ended| ended.how != RunEndKind::Finished || ended.why.is_some())
}
