//! Checks the checks of cases against trials that no agent ran. A check that passes although nothing was done proves nothing.
//! A check that fails for the reference solution is wrong.

use std::fmt::Display;
use std::path::Path;
use std::sync::Arc;

use crate::agent::isolation::{self, IsolationStatus};
use crate::agent::trial_env::TrialEnv;
use crate::cases::case::{Case, FoundCase};
use crate::cases::case_parts::files_part;
use crate::cases::case_parts::start_files;
use crate::cases::catalog::FoundSkill;
use crate::cases::repo_files::RepoFiles;
use crate::checks::grading_input::ProgramRuns;
use crate::checks::{CaseCheck, GradingInput, Presence};
use crate::files::material::Material;
use crate::files::rooted::RootedPath;
use crate::files::{inside, look};
use crate::lint;
use crate::results::verification::{CheckFault, FaultKind, Verification};
use crate::run::live_trial::case_meta;
use crate::run::planned::PlannedRun;
use crate::run::regrade::with_input;
use crate::run::stored_trial::TrialEvidence;
use crate::run::{live_trial, programs};
use crate::settings::FILE;
use crate::settings::mode::{AgentKind, Delivery};
use crate::store::{self, TrialFolder};
use crate::text::diagnostic::{Diagnostic, SourceLocation};
use crate::text::problem::{About, Problem};
use crate::text::redact::secrets_within_all;
use crate::trace::trouble::TroubleKind;
use crate::trace::{AgentProgress, Trace, spoken};
use crate::trial::evidence::{AgentMeta, Evidence, Meta, SkillMeta};
use crate::trial::outcome::{CheckResult, Status};

/// The answer of an agent that does nothing. A pattern that finds it finds anything.
const NO_ANSWER: &str = "—";

/// What a trial has that no agent ran.
#[derive(Clone, Copy, PartialEq, Eq)]
enum MadeUp {
    EmptyWorkspace,
    UntouchedFixture,
    Solution,
}

/// A trial that no agent ran. Its files are removed with it.
struct MadeUpTrial {
    meta: Meta,
    trace: Trace,
    answer: Option<String>,
    folder: TrialFolder,
    _trial_env: TrialEnv,
}

/// A trial in words, and the results of a check for it.
type MadeUpResults = (&'static str, Vec<CheckResult>);

enum NotVerified {
    /// The user ended the run, or the machine cannot do it: nor can the others be verified.
    Run(Problem),
    /// It has something that cannot be used.
    Case(Vec<CheckFault>),
}

impl<E: Into<Problem>> From<E> for NotVerified {
    fn from(why: E) -> Self {
        Self::Run(why.into())
    }
}

/// Runs the checks of these cases. Fails if the user ended the run meanwhile.
pub fn verify(run: &PlannedRun, cases: &[Arc<FoundCase>], tree: &dyn RepoFiles) -> Result<Verification, Problem> {
    let mut all = Verification::default();
    if let Err(why) = run.settings.gate.check_reachable() {
        all.faults.push(CheckFault {
            kind: FaultKind::NeverDecided,
            skill: None,
            case: None,
            check: "[gate] fail_on".to_owned(),
            place: SourceLocation::file(FILE),
            found: why,
            help: "name results with which the plan can end".to_owned(),
        });
    }
    for found in cases {
        let (Ok(case), Some(skill)) = (found.case(), run.catalog.skill(&found.skill)) else {
            all.unreadable.push(format!("{}/{}", found.skill, found.id));
            continue;
        };
        let verifier = CaseVerifier { run, found, case, skill, tree };
        match verifier.faults() {
            Ok(faults) => {
                all.cases += 1;
                all.checks += case.checks.len();
                all.solutions += usize::from(case.solution.is_some() || case.answer.is_some());
                all.faults.extend(faults);
            }
            Err(NotVerified::Run(why)) => return Err(why),
            Err(NotVerified::Case(faults)) => all.faults.extend(faults),
        }
        let repetition = run.settings.repetition.of(&found.skill, found.repetition());
        if let Some(problem) = lint::never_decided(found, repetition, tree) {
            all.faults.push(verifier.of_problem(FaultKind::NeverDecided, "threshold", problem));
        }
    }
    all.not_enforced.extend(not_isolated(run, cases));
    Ok(all)
}

/// Why the programs of these cases ran with the rights of the user, if so.
fn not_isolated(run: &PlannedRun, cases: &[Arc<FoundCase>]) -> Option<String> {
    let runs_programs =
        |case: &Case| !case.setup.is_empty() || case.checks.iter().any(|check| check.program().is_some());
    match isolation::status(&run.settings.isolation) {
        IsolationStatus::Nothing(why) if cases.iter().any(|found| found.case().is_ok_and(runs_programs)) => {
            Some(format!("checks and setup commands ran with your rights: {why}"))
        }
        _ => None,
    }
}

#[derive(Clone, Copy)]
struct CaseVerifier<'a> {
    run: &'a PlannedRun,
    found: &'a FoundCase,
    case: &'a Case,
    skill: &'a FoundSkill,
    tree: &'a dyn RepoFiles,
}

impl CaseVerifier<'_> {
    fn faults(self) -> Result<Vec<CheckFault>, NotVerified> {
        let case = self.case;
        let unusable = lint::unusable_files(self.found, case, self.tree);
        if !unusable.is_empty() {
            let faults = unusable.into_iter().map(|(key, problem)| self.of_problem(FaultKind::Unusable, key, problem));
            return Err(NotVerified::Case(faults.collect()));
        }
        let empty = self.trial(MadeUp::EmptyWorkspace)?;
        let mut undone = vec![("in an empty workspace", self.results(&empty)?)];
        if case.fixture.is_some() || !case.files.is_empty() || !case.setup.is_empty() {
            undone.push(("with the untouched fixture", self.results(&self.trial(MadeUp::UntouchedFixture)?)?));
        }
        let has_solution = case.solution.is_some() || case.answer.is_some();
        let solution = if has_solution { Some(self.results(&self.trial(MadeUp::Solution)?)?) } else { None };
        let mut faults = Vec::new();
        for (at, check) in case.checks.iter().enumerate() {
            let of_check = |made_up: &(&'static str, Vec<Vec<CheckResult>>)| (made_up.0, made_up.1[at].clone());
            let undone: Vec<_> = undone.iter().map(of_check).collect();
            let solved = solution.as_ref().map(|results| results[at].as_slice()).unwrap_or_default();
            faults.extend(self.proves_nothing(check, &undone, &empty));
            // An agent that does nothing fails: its trial was measured.
            let silent = undone.last().map(|(_, results)| results.as_slice()).unwrap_or_default();
            faults.extend(self.no_result(check, silent).or_else(|| self.no_result(check, solved)));
            faults.extend(self.wrong(check, solved));
        }
        Ok(faults)
    }

    /// The fault of a check that passes although nothing was done, or whose text the agent is given.
    fn proves_nothing(self, check: &CaseCheck, undone: &[MadeUpResults], empty: &MadeUpTrial) -> Option<CheckFault> {
        // A check of a skill or of the repository is a rule for many cases.
        if check.ask.forbids() || check.origin.is_of_many_cases() {
            return None;
        }
        let fault = || self.of(FaultKind::ProvesNothing, check);
        let passing: Vec<&str> =
            undone.iter().filter(|(_, results)| passes(results)).map(|(made_up, _)| *made_up).collect();
        if let Some((_, results)) = undone.iter().find(|(_, results)| passes(results)) {
            let found = results.first().map_or("", |result| result.found.as_str());
            let found = format!("it passes {}: {found}", passing.join(" and "));
            let help = "ask for something that is there only if the agent did the task".to_owned();
            return Some(CheckFault { found, help, ..fault() });
        }
        let Some((_, Presence::Present)) = check.ask.text() else { return None };
        let texts = [("the prompt", &self.case.prompt), ("the skill's description", &self.skill.skill().description)];
        let runs = ProgramRuns::default();
        let passes_with =
            |answer: &str| self.with_input(empty, Some(answer), &runs, |subject| passes(&check.evaluate(subject)));
        let (text, _) = texts.iter().find(|(_, answer)| passes_with(answer))?;
        let found = format!("{text} has the text already: an agent that repeats it passes");
        let help = "require a text that only the result of the task has, or the skill's own text".to_owned();
        Some(CheckFault { found, help, ..fault() })
    }

    /// The fault of a program that does not answer.
    fn no_result(self, check: &CaseCheck, results: &[CheckResult]) -> Option<CheckFault> {
        check.program()?;
        let found = with(results, Status::Unknown)?.found.clone();
        let help = "let it answer with 0 or 1, also if the agent did nothing".to_owned();
        Some(CheckFault { found, help, ..self.of(FaultKind::NoResult, check) })
    }

    /// The fault of a check that fails for the reference solution.
    fn wrong(self, check: &CaseCheck, solved: &[CheckResult]) -> Option<CheckFault> {
        let CheckResult { id, expected, found, .. } = with(solved, Status::Fail)?;
        let found = format!("expected {expected}; the reference solution has: {found}");
        let help = "correct the check, or the reference solution".to_owned();
        Some(CheckFault { check: id.clone(), found, help, ..self.of(FaultKind::Wrong, check) })
    }

    fn results(self, trial: &MadeUpTrial) -> Result<Vec<Vec<CheckResult>>, NotVerified> {
        let answer = trial.answer.as_deref();
        let runs = programs::run_all(self.run, &self.trial_evidence(trial, answer))?.runs;
        let all = |subject: &GradingInput<'_>| self.case.checks.iter().map(|check| check.evaluate(subject)).collect();
        Ok(self.with_input(trial, answer, &runs, all))
    }

    /// Calls `grade` with this trial, with `answer` as its final message.
    fn with_input<T>(
        self,
        trial: &MadeUpTrial,
        answer: Option<&str>,
        runs: &ProgramRuns,
        grade: impl FnOnce(&GradingInput<'_>) -> T,
    ) -> T {
        with_input(self.run, &self.trial_evidence(trial, answer), runs, grade)
    }

    fn trial_evidence<'t>(self, trial: &'t MadeUpTrial, answer: Option<&'t str>) -> TrialEvidence<'t>
    where
        Self: 't,
    {
        let evidence = Evidence { meta: &trial.meta, trace: &trial.trace, final_text: answer };
        TrialEvidence { case: self.case, skill: self.skill, evidence, folder: &trial.folder }
    }

    fn trial(self, made_up: MadeUp) -> Result<MadeUpTrial, NotVerified> {
        let name = format!("{}/{}", self.case.skill, self.case.id);
        let Self { run, case, .. } = self;
        let mut meta = self.meta();
        let mut trial_env = run.program_runner.trial_env(&run.settings)?;
        if let Some(files) = start_files(&run.root, case) {
            let digest = if made_up == MadeUp::EmptyWorkspace {
                files.whole().and_then(|files| files.digest()).about(&name)?
            } else {
                trial_env.copy_files(files).about(&name)?
            };
            meta.inputs.0.insert(files_part(case).to_owned(), digest);
        }
        if matches!(made_up, MadeUp::UntouchedFixture | MadeUp::Solution) {
            trial_env.create_directories(&run.settings.create).about(&name)?;
            let timeout = case.timeout.unwrap_or(run.settings.timeout);
            let redactor = run.program_runner.open(&run.settings)?.1.masking(secrets_within_all(&case.setup));
            let ended = live_trial::run_setup(run, None, &case.setup, &mut trial_env, timeout, &redactor);
            meta.setup = ended.map_err(|trouble| match trouble.kind {
                TroubleKind::Setup => self.unusable("setup", &trouble),
                _ => NotVerified::Run(Problem::from(trouble).about(&name)),
            })?;
        }
        let mut trace = Trace { progress: AgentProgress::Done, ..Trace::default() };
        let mut answer = Some(NO_ANSWER.to_owned());
        match made_up {
            MadeUp::Solution => {
                if let Some(solution) = &case.solution {
                    let copied = copy_over(&run.root, solution.as_path(), &trial_env.workspace());
                    copied.map_err(|error| self.unusable("solution", &error))?;
                }
                let read = case.answer.as_ref().map(|path| inside::read_text(&run.root, path.as_path()));
                answer = read.transpose().map_err(|error| self.unusable("answer", &error))?.and_then(spoken);
                trace.lost.push("a reference solution has no session".to_owned());
            }
            MadeUp::EmptyWorkspace | MadeUp::UntouchedFixture => {}
        }
        let stored = store::trial_at(&trial_env.control().join("stored"));
        let required: Vec<&Path> = case.required_files().collect();
        let captured = trial_env.capture(&required, &stored.workspace(), &<[u8]>::to_vec);
        let captured = captured.about(&name)?;
        meta.files_looked_for = required.into_iter().map(Path::to_path_buf).collect();
        (meta.files, meta.files_truncated, meta.links) = (captured.files, captured.truncated, captured.links);
        Ok(MadeUpTrial { meta, trace, answer, folder: stored, _trial_env: trial_env })
    }

    fn meta(self) -> Meta {
        let Self { run, case, skill, .. } = self;
        let skill = skill.skill();
        let case = case_meta(case, case.timeout.unwrap_or(run.settings.timeout), case.max_turns);
        let agent = AgentMeta { kind: AgentKind::default(), version: None, model: None, requested: None };
        // Without skills, what is asked about the skill is not asked.
        Meta::new(SkillMeta::of(skill, None), case, agent, Delivery::None)
    }

    fn of(self, kind: FaultKind, check: &CaseCheck) -> CheckFault {
        let name = check.script().map_or_else(|| check.kind.id.to_owned(), ToString::to_string);
        self.fault(kind, &name, lint::place_of(self.found, self.case, check, self.tree))
    }

    fn of_problem(self, kind: FaultKind, key: &str, problem: Diagnostic) -> CheckFault {
        let help = problem.help.unwrap_or_default();
        CheckFault { found: problem.message, help, ..self.fault(kind, key, problem.place) }
    }

    /// What the case has under `key` cannot be used.
    fn unusable(self, key: &str, why: &dyn Display) -> NotVerified {
        let origin = || self.case.origin.clone();
        let place = self.found.source.place(key, None, self.tree).unwrap_or_else(origin);
        let help = "correct it: no check of this case was run".to_owned();
        NotVerified::Case(vec![CheckFault {
            found: why.to_string(),
            help,
            ..self.fault(FaultKind::Unusable, key, place)
        }])
    }

    fn fault(self, kind: FaultKind, check: &str, place: SourceLocation) -> CheckFault {
        CheckFault {
            kind,
            skill: Some(self.case.skill.clone()),
            case: Some(self.case.id.clone()),
            check: check.to_owned(),
            place,
            found: String::new(),
            help: String::new(),
        }
    }
}

/// Copies a file, or the files of a directory, into a workspace, in place of what is there.
fn copy_over(root: &Path, from: &Path, workspace: &RootedPath) -> Result<(), Problem> {
    let mut material = Material::default();
    let is_file = inside::real(root, from).is_ok_and(|from| look::is_usable_file(&from));
    material.add(Path::new(if is_file { from.file_name().unwrap_or_default() } else { "".as_ref() }), root, from);
    let material = material.whole().about(from.display())?;
    for file in &material.files {
        let to = workspace.join(&file.path);
        if to.exists() && !to.is_dir() {
            to.remove()?;
        }
    }
    let copied = material.copy(workspace, |executable| if executable { 0o755 } else { 0o644 });
    copied.map(drop).about(from.display())
}

fn passes(results: &[CheckResult]) -> bool {
    !results.is_empty() && results.iter().all(|result| result.status == Status::Pass)
}

fn with(results: &[CheckResult], status: Status) -> Option<&CheckResult> {
    results.iter().find(|result| result.status == status)
}
