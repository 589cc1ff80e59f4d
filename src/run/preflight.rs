//! Finds what keeps a run from beginning, or its trials from measuring anything, before an agent starts: for the run itself
//! and for a dry run.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::io;
use std::path::{Path, PathBuf};

use crate::agent;
use crate::agent::isolation::{self, IsolationStatus};
use crate::agent::login::Login;
use crate::cases::case::{Case, FoundCase};
use crate::cases::case_parts::SeenBy;
use crate::cases::catalog::{Catalog, FoundSkill};
use crate::cases::mocks::{self, MockNames};
use crate::cases::plugin::Plugin;
use crate::cases::repository::{Layout, Repository};
use crate::cases::selection::TestCase;
use crate::files::look;
use crate::grade::rubric;
use crate::lint;
use crate::process::{allow_open_files, git};
use crate::report::trial_text::RerunCommand;
use crate::run::plan::PlannedCase;
use crate::run::planned::{PlannedRun, today};
use crate::run::skill_version::SkillVersion;
use crate::run::{rate_limiter, rename_recordings, stubs};
use crate::settings::mode::{AgentKind, Delivery, Mode, SkillSelection};
use crate::settings::{CommandAnswer, FILE, Home, Settings, ToolNames};
use crate::skill::SKILL_FILE;
use crate::store::{self, RunFolder};
use crate::text::cut::{self, names};
use crate::text::diagnostic::{Code, Diagnostic, SourceLocation, once, suggest};
use crate::text::problem::Problem;
use crate::trial::outcome::{TrialError, TroubleKind};
use crate::trial::shard::Shard;

/// The word for every agent that can run here.
pub const INSTALLED: &str = "installed";

#[derive(Clone, Copy, Debug)]
pub struct ReadyCase<'a> {
    pub planned: &'a TestCase,
    pub case: &'a Case,
    /// The skill under test, in the mode's version.
    pub skill: &'a FoundSkill,
}

/// The planned case, if it can run.
pub fn ready<'a>(run: &'a PlannedRun, planned: &'a TestCase) -> Result<ReadyCase<'a>, TrialError> {
    let errors = case_errors(run, &planned.found);
    let (Ok(case), []) = (planned.found.case(), errors) else { return Err(TrialError::BadCase(errors.to_vec())) };
    let unsupported = unsupported(run, &planned.found);
    if !unsupported.is_empty() {
        return Err(TrialError::Unsupported(unsupported));
    }
    let commit = planned.mode.commit.as_deref();
    let Some(skill) = run.skills_of(commit).and_then(|catalog| catalog.skill(&case.skill)) else {
        let place = commit.map_or_else(String::new, |commit| format!(" in the commit {commit}"));
        return Err(TrialError::Unreadable(format!("unknown skill `{}`{place}", case.skill)));
    };
    Ok(ReadyCase { planned, case, skill })
}

/// What a case asks for and this program does not do, unless the rest of it runs.
pub fn unsupported(run: &PlannedRun, found: &FoundCase) -> Vec<Diagnostic> {
    let partial = run.settings.partial;
    found.case().ok().filter(|case| !case.runs(partial)).map(|case| case.unsupported_parts(partial)).unwrap_or_default()
}

/// What keeps a case from being graded, whatever its trial left.
pub fn refused(run: &PlannedRun, found: &FoundCase) -> Vec<Diagnostic> {
    case_errors(run, found).iter().cloned().chain(unsupported(run, found)).collect()
}

/// What keeps a case from running in any mode, found once for all its trials.
fn case_errors<'a>(run: &PlannedRun, found: &'a FoundCase) -> &'a [Diagnostic] {
    found.refused(|found| lint::case_errors(found, &run.catalog, &repository(run), &run.settings))
}

fn repository(run: &PlannedRun) -> Repository {
    Repository::new(run.root.clone())
}

/// Whether the run can begin; if not, the problem and what to do.
pub fn check(run: &PlannedRun) -> Result<(), Problem> {
    check_choices(run)?;
    agents(run)
}

/// As [`check`], without the agents.
fn check_choices(run: &PlannedRun) -> Result<(), Problem> {
    let settings = &run.settings;
    check_id(run)?;
    // What somebody set has no effect.
    let problems = repository_problems(settings, &run.catalog).into_iter();
    let unread: Vec<_> =
        problems.filter(|problem| problem.code == Code::UnreadSettings && problem.is_error()).collect();
    if !unread.is_empty() {
        return Err(unread.into());
    }
    let unknown = settings.repetition.unknown_skills(&run.catalog.slugs());
    if !unknown.is_empty() {
        return Err(unknown.into());
    }
    if run.plan.is_judged(settings) {
        run.rubric().map_err(Diagnostic::clone)?;
    }
    check_offers(run)?;
    check_decidable(run)?;
    if !settings.live {
        return Ok(());
    }
    let (_, unanswered) = mocks::commands(&repository(run), settings.mocks.iter());
    if !unanswered.is_empty() {
        return Err(unanswered.into());
    }
    check_home(run)?;
    rate_limiter::check_budget(settings, &run.plan)?;
    allow_open_files(settings.jobs().min(run.plan.most()))?;
    Ok(RunFolder::check_place(&run.root)?)
}

/// Refuses the id of a shard for a run that is not this shard: `merge` would take it for one.
fn check_id(run: &PlannedRun) -> Result<(), Problem> {
    let id = run.settings.run_id.as_deref().filter(|_| !run.settings.resume);
    match id.and_then(|id| Some((id, Shard::of_run(id)?.1))) {
        Some((id, shard)) if run.chosen.shard != Some(shard) => {
            Err(format!("the run id `{id}` is that of a shard: choose another --run-id, or add --shard {shard}").into())
        }
        _ => Ok(()),
    }
}

/// Whether every agent that is to run is installed and, as far as can be known, has credentials: without them it would try
/// for a minute. If not, what each of them lacks, what to do, and, if no mode was selected, an agent that lacks nothing.
pub fn agents(run: &PlannedRun) -> Result<(), Problem> {
    let settings = &run.settings;
    if !settings.live {
        return Ok(());
    }
    let modes = run.plan.entries.iter().map(|entry| (entry.planned.mode.agent, Some(entry.planned.mode.as_ref())));
    let agents: HashSet<(AgentKind, Option<&Mode>)> = modes.collect();
    let mut problems: BTreeSet<String> =
        agents.into_iter().filter_map(|(kind, mode)| missing(settings, kind, mode)).collect();
    let is_agent_missing = !problems.is_empty();
    let judge = run.plan.is_judged(settings).then(|| missing_judge(settings)).flatten();
    // An agent that is to run, too, has said it.
    problems.extend(judge.filter(|why| !problems.iter().any(|other| why.contains(other.as_str()))));
    if problems.is_empty() {
        return Ok(());
    }
    let mut lines: Vec<String> = problems.into_iter().collect();
    if is_agent_missing && settings.selected_modes.is_none() {
        lines.extend(others(settings, &run.rerun_command));
    }
    Err(lines.join("\n").into())
}

/// What the judge lacks to run.
fn missing_judge(settings: &Settings) -> Option<String> {
    let (agent, model) = (settings.judge.agent, &settings.judge.model);
    if model.is_none() && settings.endpoint_of(agent).is_some() {
        return Some(format!(
            "the judge, {}, needs a model of the endpoint: add `judge = {{ model = \"NAME\" }}` to evals/evals.toml, or judge nothing \
             with --no-judge",
            agent.as_str()
        ));
    }
    let settings = Settings { model: model.clone(), ..settings.clone() };
    let missing = missing_writer(&settings, agent, Some(&Mode::new("judge", agent, Delivery::None)));
    let other = || native().map(|mode| mode.agent).find(|kind| missing_writer(&settings, *kind, None).is_none());
    let other = missing.is_some().then(other).flatten().map(|kind| {
        let line = format!("judge = {{ agent = \"{}\" }}", kind.as_str());
        format!("; {} can judge: write `{line}` above the first [table] of evals/evals.toml", kind.as_str())
    });
    missing.map(|why| format!("the judge: {why}{}", other.unwrap_or_default()))
}

/// What an agent lacks to write what is read by a schema, as a judge does, and who drafts cases or descriptions.
pub fn missing_writer(settings: &Settings, kind: AgentKind, mode: Option<&Mode>) -> Option<String> {
    no_writer(kind).or_else(|| missing(settings, kind, mode))
}

/// Why an agent can neither judge nor draft, if it cannot.
pub fn no_writer(kind: AgentKind) -> Option<String> {
    let follows_schemas = |kind: &AgentKind| kind.profile().reports.follows_schemas;
    let able: Vec<_> = AgentKind::ALL.into_iter().filter(follows_schemas).map(AgentKind::as_str).collect();
    let able = able.join(", ");
    (!follows_schemas(&kind)).then(|| {
        format!("{} can neither judge nor draft: its answers follow no schema; those of {able} do", kind.as_str())
    })
}

/// An agent that can run here and how to choose it, or what keeps those that are installed from it.
fn others(settings: &Settings, rerun_command: &RerunCommand) -> Vec<String> {
    let native: Vec<Mode> = native().collect();
    if let Some(Mode { name, agent, .. }) =
        native.iter().find(|mode| missing(settings, mode.agent, Some(mode)).is_none())
    {
        let how = match rerun_command {
            RerunCommand::Program(_) => format!("--mode {name}"),
            RerunCommand::Harness(_) => format!("SKILL_EVALS_MODE={name}"),
        };
        return vec![format!("{} can run here: choose it with {how}", agent.as_str())];
    }
    let is_installed = |mode: &&Mode| !is_own(mode.agent) && agent::of(mode.agent).find(settings).is_ok();
    let mut seen = HashSet::new();
    let installed = native.iter().filter(is_installed).filter(|mode| seen.insert(mode.agent.profile().program));
    installed.filter_map(|mode| missing(settings, mode.agent, Some(mode))).map(|why| format!("or: {why}")).collect()
}

/// The built-in modes that deliver skills natively, in the order of their agents in the registry.
fn native() -> impl Iterator<Item = Mode> {
    let of_kind = |kind: AgentKind| Mode::built_in().into_iter().filter(move |mode| mode.agent == kind);
    AgentKind::ALL.into_iter().flat_map(of_kind).filter(|mode| mode.delivery == Delivery::Native)
}

/// Whether the agent is that of this program, which is installed wherever the program is.
pub fn is_own(kind: AgentKind) -> bool {
    kind.profile().program == env!("CARGO_PKG_NAME")
}

/// The mode in which each of these agents gets skills natively, and what each agent lacks that was left out. An agent is named by
/// its name in the settings or by its program, which is then the first that is started by it; [`INSTALLED`] stands for every
/// program that can run here, but for our own. A replay starts none, so that there it is every program.
pub fn native_modes(
    settings: &Settings,
    agents: &[String],
    replay: bool,
) -> Result<(Vec<String>, BTreeSet<String>), Problem> {
    let described = settings.custom_agents().map(|kind| Mode::new(kind.as_str(), kind, Delivery::Native));
    let native: Vec<Mode> = native().chain(described).collect();
    let (mut modes, mut left_out) = (Vec::new(), BTreeSet::new());
    for name in agents {
        if name == INSTALLED {
            let (installed, problems) = installed(settings, &native, replay);
            modes.extend(installed);
            left_out.extend(problems);
            continue;
        }
        let known_as = |mode: &Mode| match mode.agent.profile().program {
            _ if is_own(mode.agent) => vec![mode.agent.as_str()],
            program => vec![mode.agent.as_str(), program],
        };
        let is_agent = |mode: &&Mode| mode.agent.as_str() == name;
        let by_program = || native.iter().find(|mode| known_as(mode).contains(&name.as_str()));
        let Some(mode) = native.iter().find(is_agent).or_else(by_program) else {
            let known: BTreeSet<&str> = native.iter().flat_map(known_as).chain([INSTALLED]).collect();
            let known: Vec<&str> = known.into_iter().collect();
            return Err(format!("unknown agent `{name}`; {}", AgentKind::suggest(name, &known)).into());
        };
        modes.push(mode.name.clone());
    }
    if modes.is_empty() {
        let problems: Vec<String> = left_out.into_iter().collect();
        return Err(format!("no agent can run here:\n{}", problems.join("\n")).into());
    }
    Ok((modes, left_out))
}

/// The first of the `native` modes of each program that can run here, and what the other programs lack.
fn installed(settings: &Settings, native: &[Mode], replay: bool) -> (Vec<String>, Vec<String>) {
    let (mut modes, mut problems) = (Vec::new(), Vec::new());
    let mut of_program: Vec<(&str, Vec<&Mode>)> = Vec::new();
    for mode in native.iter().filter(|mode| !is_own(mode.agent)) {
        let program =
            if matches!(mode.agent, AgentKind::Custom(_)) { mode.name.as_str() } else { mode.agent.profile().program };
        match of_program.iter_mut().find(|(known, _)| *known == program) {
            Some((_, modes)) => modes.push(mode),
            None => of_program.push((program, vec![mode])),
        }
    }
    for (_, candidates) in of_program {
        let lacks = |mode: &&Mode| if replay { None } else { missing(settings, mode.agent, Some(mode)) };
        match candidates.iter().find(|mode| lacks(mode).is_none()) {
            Some(mode) => modes.push(mode.name.clone()),
            None => problems.extend(candidates.first().and_then(lacks)),
        }
    }
    (modes, problems)
}

/// What an agent lacks to run, and what to do about it.
pub fn missing(settings: &Settings, kind: AgentKind, mode: Option<&Mode>) -> Option<String> {
    let agent = agent::of(kind);
    if let Err(trouble) = agent.find(settings) {
        return Some(format!("{} cannot run: {}", kind.as_str(), trouble.detail));
    }
    // A program that the settings name may have credentials of its own.
    let is_custom = settings.agents.get(kind.as_str()).is_some_and(|agent| agent.command.is_some());
    if let Some(why) = agent::login::endpoint_refusal(settings, kind, mode) {
        return Some(why);
    }
    match agent::login(settings, kind, mode) {
        Login::Missing(what_to_do) if !is_custom => Some(format!("{} has no credentials: {what_to_do}", kind.as_str())),
        _ => None,
    }
}

/// Whether every skill that a planned mode offers by name exists, in the working tree or in the mode's version.
fn check_offers(run: &PlannedRun) -> Result<(), Problem> {
    let modes = run.plan.entries.iter().map(|entry| &entry.planned.mode);
    let modes: BTreeMap<_, _> = modes.map(|mode| (&mode.name, mode)).collect();
    for mode in modes.values() {
        let SkillSelection::Only(slugs) = &mode.offer else { continue };
        let catalogs = [Some(run.catalog.as_ref()), run.skills_of(mode.commit.as_deref())];
        let skills = catalogs.into_iter().flatten().flat_map(|catalog| &catalog.skills);
        let known: BTreeSet<&str> = skills.map(|found| found.skill().slug.as_str()).collect();
        if let Some(slug) = slugs.iter().find(|slug| !known.contains(slug.as_str())) {
            return Err(format!(
                "the mode `{}` offers `{slug}`, which does not exist; {}",
                mode.name,
                suggest(slug, &known.into_iter().collect::<Vec<_>>())
            )
            .into());
        }
    }
    Ok(())
}

/// Refuses the user's home for an agent that has no setup there, and for recordings, which others replay.
fn check_home(run: &PlannedRun) -> Result<(), Problem> {
    if run.settings.isolation.home == Home::Isolated {
        return Ok(());
    }
    if run.settings.record {
        return Err(
            "a recording needs the isolated home, which is the same for everybody: leave out `home` or --record"
                .to_owned()
                .into(),
        );
    }
    let mut agents = run.plan.entries.iter().map(|entry| entry.planned.mode.agent.profile());
    match agents.find(|agent| agent.setup.is_empty()) {
        Some(agent) => Err(format!(
            "{} has no setup in the user's home: leave out `home`, or choose the modes of other agents",
            agent.name
        )
        .into()),
        None => Ok(()),
    }
}

/// Refuses a run in which no case could ever be decided. If only some could not, each of them is an invalid case.
pub fn check_decidable(run: &PlannedRun) -> Result<(), Problem> {
    let problems = run.plan.entries.iter().map(|entry| undecidable(run, entry));
    match problems.collect::<Option<Vec<Diagnostic>>>() {
        Some(all) if !all.is_empty() => Err(once(all).into()),
        _ => Ok(()),
    }
}

/// The problem that a case runs until it is decided, and never could be.
fn undecidable(run: &PlannedRun, entry: &PlannedCase) -> Option<Diagnostic> {
    entry.until.and_then(|_| never_decided(run, &entry.planned))
}

/// The problem that a case could never be decided.
pub fn never_decided(run: &PlannedRun, planned: &TestCase) -> Option<Diagnostic> {
    lint::never_decided(&planned.found, run.repetition(&planned.found), &repository(run))
}

/// The problem that a skill's own files keep it from the agent, so that no trial could measure anything.
fn withheld(run: &PlannedRun, planned: &TestCase) -> Option<Diagnostic> {
    let (mode, case) = (&planned.mode, planned.found.case().ok()?);
    let version = run.versions.iter().find(|version| Some(&version.commit) == mode.commit.as_ref());
    let root = version.map_or(run.root.as_path(), SkillVersion::root);
    let found = run.skills_of(mode.commit.as_deref())?.skill(&planned.found.skill)?;
    let skill = found.skill();
    let withheld = |file: &str, why: String, help: &str| {
        let message = format!("{why}; no trial of `{}` in the mode `{}` could measure anything", skill.name, mode.name);
        Some(Diagnostic::new(Code::Withheld, SourceLocation::file(skill.folder.join(file)), message).help(help))
    };
    if let Some(plugin) = found.plugin_for(mode, case).filter(|plugin| !is_trusted(&run.settings, plugin)) {
        let Plugin { name, folder, code, .. } = &**plugin;
        let directory = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
        let line = format!("`trust = [{:?}]` in {FILE}", directory.to_string_lossy());
        let why = format!("the plugin `{name}` runs code, and only {line} agrees to it: {}", names(code, 5));
        return withheld(
            SKILL_FILE,
            why,
            "read what it runs, and add the line; or choose a mode whose agent gets its skills alone",
        );
    }
    let (file, why) = agent::withheld(mode, &run.settings, found, &root.join(&skill.folder), case)?;
    withheld(file, why, "run its cases in a mode that offers it, or remove the key")
}

/// Whether what the plugin runs by itself may run.
fn is_trusted(settings: &Settings, plugin: &Plugin) -> bool {
    plugin.code.is_empty() || settings.isolation.trusted.iter().any(|trusted| trusted.as_path() == plugin.folder)
}

/// The problem that a case mocks what its agent does not get in this mode, or needs itself.
fn not_mockable(run: &PlannedRun, planned: &TestCase) -> Option<Diagnostic> {
    let (mode, case, settings) = (&planned.mode, planned.found.case().ok()?, &run.settings);
    let MockNames { commands, servers } =
        MockNames::of(&repository(run), &settings.mocks, case, mode.delivery, &run.catalog.mock_servers);
    let agent = mode.agent.profile();
    let of_skills =
        settings.mcp.own.as_ref().map_or_else(|| ToolNames::default().server, |own| own.names.server.clone());
    let mut place = &case.origin;
    let (message, help) = match servers.first_key_value() {
        Some((_, server)) if !agent.serves_mocks => (
            format!("the case mocks the MCP server `{server}`, which {} does not get", agent.name),
            "run it in the mode of an agent that does",
        ),
        _ if mode.delivery.mcp() && servers.contains_key(&of_skills) => {
            let message = format!("the MCP server of skills is called `{of_skills}` too");
            (message, "rename the directory of its answers")
        }
        _ => {
            let needed = if commands.is_empty() { None } else { agent::started_by(mode.agent, settings).ok() }?;
            let command = needed.iter().find(|command| commands.contains(*command))?;
            let mut answers = case.mocks.iter().chain(&settings.mocks);
            place = answers.find(|answer| answer.command == *command).map_or(place, |answer| &answer.place);
            let message =
                format!("{} itself is started by `{command}`, so that cannot be answered from files", agent.name);
            (message, "remove its answers, or run the case in the mode of another agent")
        }
    };
    Some(Diagnostic::new(Code::Withheld, place.clone(), message).help(help))
}

/// What keeps a planned case from running; others run all the same.
pub fn wrong(run: &PlannedRun, entry: &PlannedCase) -> Vec<Diagnostic> {
    let of_mode = kept_from_agent(run, &entry.planned).filter(|_| run.settings.live).map(|(_, problem)| problem);
    refused(run, &entry.planned.found).into_iter().chain(undecidable(run, entry)).chain(of_mode).collect()
}

/// Why no trial of a case in its mode could measure anything, so that its agent is not started.
pub fn kept_from_agent(run: &PlannedRun, planned: &TestCase) -> Option<(TroubleKind, Diagnostic)> {
    let withheld = withheld(run, planned).map(|problem| (TroubleKind::NotDelivered, problem));
    withheld.or_else(|| not_mockable(run, planned).map(|problem| (TroubleKind::CouldNotStart, problem)))
}

/// As [`check`], for a run that does not begin: what it would meet before its first agent. Even without its [`agents`],
/// a run shows what it would do.
pub fn check_dry_run(run: &PlannedRun) -> Result<(), Problem> {
    check_choices(run)?;
    if run.is_stored {
        RunFolder::check_place(&run.root)?;
    }
    if let Some(id) = run.settings.run_id.as_deref().filter(|_| run.is_stored && !run.settings.resume) {
        RunFolder::check_new(&run.root, id)?;
    }
    match isolation::status(&run.settings.isolation) {
        IsolationStatus::Refused(why) if run.settings.live => Err(why.into()),
        _ => Ok(()),
    }
}

// All problems of a repository that can be found without starting anything.

// Every command and the harness have them from here, with the severities of the settings.

/// How a repository is read by these settings.
pub fn layout(settings: &Settings) -> Layout<'_> {
    Layout { ignored: Some(git::ignored_of), ..Layout::of(settings) }
}

/// What is said of the repository, and of no skill and no case alone. A run refuses unknown skills of the settings by itself.
pub fn repository_problems(settings: &Settings, catalog: &Catalog) -> Vec<Diagnostic> {
    let problems = catalog.problems.iter().cloned().chain(lint::unknown_plugins(settings, catalog));
    settings.lint.judged(problems.chain(lint::no_cases(settings, catalog)).collect())
}

/// What the lint test of a skill reports.
pub fn skill_problems(repository: &Repository, settings: &Settings, catalog: &Catalog, slug: &str) -> Vec<Diagnostic> {
    settings.lint.judged(lint::skill_trial(catalog, slug, repository))
}

/// What is said of the files of tests.
pub fn stub_problems(root: &Path, settings: &Settings, catalog: &Catalog) -> Vec<Diagnostic> {
    settings.lint.judged(stubs::problems(root, catalog))
}

/// All problems that `lint` looks for.
pub fn all_problems(
    repository: &Repository,
    settings: &Settings,
    catalog: &Catalog,
    options: lint::LintOptions,
) -> Vec<Diagnostic> {
    let mut problems = lint::all(catalog, repository, options);
    if options.no_cases.is_none() {
        problems.extend(lint::no_cases(settings, catalog));
    }
    problems.extend(settings.repetition.unknown_skills(&catalog.slugs()));
    problems.extend(lint::unknown_plugins(settings, catalog));
    let cases = || catalog.cases.iter().map(AsRef::as_ref);
    problems.extend(case_files(&repository.root, cases()));
    problems.extend(copied_files(&repository.root, settings, cases()));
    problems.extend(stubs::problems(&repository.root, catalog));
    problems.extend(store::damaged_recordings(&repository.root).into_iter().map(|(_, problem)| problem));
    problems.extend(rename_recordings::orphans(&repository.root, catalog));
    problems.extend(lint::repetition(catalog, &settings.repetition, repository));
    problems.extend(lint::quarantine(catalog, today(), repository));
    problems.extend(mocks::commands(repository, settings.mocks.iter()).1);
    problems.extend(lint::checks_of_mocks(catalog, &settings.mocks, repository));
    // A case or the command line may ask for a judge.
    problems.extend(rubric::read(&repository.root, settings).err().map(|problem| *problem));
    let unread: Vec<_> =
        repository.unread(layout(settings)).into_iter().filter(|unread| !problems.contains(unread)).collect();
    problems.extend(unread);
    settings.lint.judged(problems)
}

// What git ignores of cases: it is here, and a clone does not have it.

/// The most files that a message names.
const MOST_NAMES: usize = 10;

/// Warns of files of these cases that git ignores. Not for lists: git takes longer to start.
pub fn case_files<'a>(root: &Path, cases: impl Iterator<Item = &'a FoundCase>) -> Option<Diagnostic> {
    let files = cases.map(|found| found.file.to_path_buf()).collect();
    warning(git::ignored_of(root, &files), "files of cases")
}

/// Warns of what the agents of these cases get of the repository, the answers of mocks too, and git ignores. Starts git only if they
/// get something.
fn copied_files<'a>(
    root: &Path,
    settings: &Settings,
    cases: impl Iterator<Item = &'a FoundCase>,
) -> Option<Diagnostic> {
    let of_case = |case: &'a Case| case.parts().into_iter().filter(|part| part.seen_by == SeenBy::Agent);
    let of_cases = cases.filter_map(|found| found.case().ok()).flat_map(of_case).flat_map(|part| part.files());
    let of_all = settings.mocks.iter().flat_map(CommandAnswer::sources).map(|path| path.as_path().to_path_buf());
    let mut parts: BTreeSet<PathBuf> = of_cases.chain(of_all).collect();
    // One that cannot be asked about is git's to name.
    parts.retain(|part| look::exists(&root.join(part)).unwrap_or(true));
    let parts: Vec<&Path> = parts.iter().map(PathBuf::as_path).collect();
    warning(git::ignored(root, &parts), "files that agents get")
}

/// The same for the cases of a run; `None` if it starts no agent.
pub fn copied_by(run: &PlannedRun) -> Option<Diagnostic> {
    let cases = run.plan.entries.iter().map(|entry| &*entry.planned.found);
    if run.settings.live { copied_files(&run.root, &run.settings, cases) } else { None }
}

fn warning(ignored: io::Result<BTreeSet<PathBuf>>, what: &str) -> Option<Diagnostic> {
    let ignored = match ignored {
        Ok(ignored) => ignored,
        Err(error) => {
            let message = format!("whether git ignores {what} is not known: {error}");
            return Some(Diagnostic::new(Code::IgnoredCases, SourceLocation::file(".gitignore"), message));
        }
    };
    let first = ignored.first()?;
    let names: Vec<String> = ignored.iter().map(|path| path.display().to_string()).collect();
    let message = format!("git ignores {what}, so a clone has none of them: {}", cut::names(&names, MOST_NAMES));
    let problem = Diagnostic::new(Code::IgnoredCases, SourceLocation::file(first), message);
    Some(problem.help("add them to git with `git add --force`, or change .gitignore"))
}
