//! What a case is made of, part by part, and who sees each part: the one list of what decides a case.
//!
//! The inputs of recordings, the keys of kept trials, shards, resumed runs, `run --watch` and the changes that `gate` names are views
//! of it. It takes a case apart by all its fields: a new one does not compile until somebody says who sees it.

use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt::{Display, Write};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, OnceLock, PoisonError};

use serde::Serialize;
use serde_json::json;

use crate::cases::case::Case;
use crate::cases::mocks::{self, MockServers};
use crate::cases::repository::{self, Repository};
use crate::cases::skill_material::skill_material;
use crate::checks::grading_input::WorkspaceProgram;
use crate::checks::{CaseCheck, SCRIPT_KEY};
use crate::files::material::{Material, MaterialProblem};
use crate::files::{bounded, inside, look};
use crate::settings::mode::Delivery;
use crate::settings::trials::Repetition;
use crate::settings::{CommandAnswer, Settings};
use crate::text::name::RelativePath;
use crate::trace::file::SkillChange;
use crate::trial::evidence::{digest, digest as digest_of};
use crate::trial::input_file::InputContent;
use crate::trial::outcome::Weight;

/// Who sees a part of a case.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SeenBy {
    /// The agent: recordings are stale if it changes.
    Agent,
    /// What grades a trial or ends it: recordings are graded by what it is now.
    Checks,
    /// Neither: no trial changes with it.
    Nobody,
}

/// A part of a case.
#[derive(Debug)]
pub struct CasePart<'a> {
    /// Its name in recordings and messages.
    pub name: Cow<'static, str>,
    pub seen_by: SeenBy,
    content: PartContent<'a>,
}

/// What a part holds.
#[derive(Debug)]
enum PartContent<'a> {
    /// This text; nothing if the case does not say it.
    Text(Option<Cow<'a, str>>),
    /// The files with which the workspace starts. Their paths in the repository decide nothing.
    Start(&'a Case),
    /// Which of these files can be executed. Recordings do not have it.
    Programs(&'a Case),
    /// The content of the schema; its path decides nothing.
    Schema(&'a RelativePath),
    /// A change to a skill, with the files of its new version.
    Change(&'a SkillChange),
    /// What is answered from files, with the content of these.
    Mocks(&'a Case),
    /// A check, with the program or the file that it names.
    CaseCheck(&'a CaseCheck),
    /// Whether a judge grades the trials, and by what.
    Judge(&'a Case),
    /// A file that no trial reads.
    Unread(&'static str, &'a RelativePath),
}

/// The name of the part for the schema of the final message.
pub const SCHEMA: &str = "output schema";

/// The name of the part for what is answered from files.
pub const MOCKS: &str = "mocks";

/// The name of the part for the maximum number of turns.
pub const MOST_TURNS: &str = "most turns";

/// The name of the part for what the workspace of this case holds at the start.
pub fn files_part(case: &Case) -> &'static str {
    if case.files.is_empty() { FIXTURE } else { FILES }
}

// The fields whose files agents get as they are.
const FIXTURE: &str = "fixture";
pub(in crate::cases) const FILES: &str = "files";
const DURING: &str = "during";

impl Case {
    /// Its parts. Its id and its place are none.
    pub fn parts(&self) -> Vec<CasePart<'_>> {
        use SeenBy::{Agent, Checks, Nobody};
        #[rustfmt::skip]
        let Self {
            id: _, origin: _, skill, should_trigger, prompt, forced, system_prompt, sandbox, timeout, max_turns, fixture,
            output_schema, activation, default_activation, judge: _, repetition, quarantine, during, checks, assertions, least_score,
            tools, env, unsupported, files, tags, solution, answer, setup, mocks: _, mock_servers: _, follow_ups, user, history,
        } = self;
        let Repetition { trials, threshold } = repetition;
        let of_assertions = assertions.iter().map(|assertion| assertion.weight);
        let weights: Vec<Option<Weight>> = checks.iter().map(|check| check.weight).chain(of_assertions).collect();
        let unsupported: Vec<&str> = unsupported.iter().map(|part| part.what.as_str()).collect();
        let mut parts = vec![
            text(Nobody, "skill", Some(skill)),
            data(Nobody, "tags", (!tags.is_empty()).then_some(tags)),
            data(Nobody, "quarantine", quarantine.as_ref().map(ToString::to_string)),
            data(Checks, "should_trigger", Some(should_trigger)),
            text(Agent, "prompt", Some(prompt)),
            data(Checks, "forced", forced.then_some(true)),
            text(Agent, "system prompt", system_prompt.as_deref()),
            text(Agent, "sandbox", Some(sandbox.as_str())),
            data(Checks, "timeout", timeout.as_ref()),
            data(Agent, MOST_TURNS, max_turns.as_ref()),
            data(Checks, "activation", Some((activation, default_activation))),
            part(Checks, "judge", PartContent::Judge(self)),
            data(Checks, "trials", trials.as_ref()),
            data(Checks, "threshold", threshold.as_ref()),
            data(Checks, "least score", least_score.as_ref()),
            data(Checks, "weights", self.is_scored().then_some(weights)),
            data(Agent, "tools", tools.as_ref()),
            data(Agent, "environment", (!env.is_empty()).then_some(env)),
            data(Checks, "unsupported", (!unsupported.is_empty()).then_some(unsupported)),
            part(Agent, "setup", joined(setup)),
            part(Agent, MOCKS, PartContent::Mocks(self)),
            part(Agent, "follow-ups", joined(follow_ups)),
            data(Agent, "user", user.as_ref()),
            data(Agent, "history", (!history.is_empty()).then_some(history)),
        ];
        if fixture.is_some() || !files.is_empty() {
            parts.push(part(Agent, files_part(self), PartContent::Start(self)));
            parts.push(part(Checks, "executable files", PartContent::Programs(self)));
        }
        parts.extend(output_schema.as_ref().map(|path| part(Agent, SCHEMA, PartContent::Schema(path))));
        let unread = [("solution", solution), ("answer", answer)].into_iter();
        let unread = unread.filter_map(|(name, path)| Some((name, path.as_ref()?)));
        parts.extend(unread.map(|(name, path)| part(Nobody, name, PartContent::Unread(name, path))));
        let changes = (1..).zip(during).map(|(number, change)| (format!("change {number} in mid-session"), change));
        parts.extend(changes.map(|(name, change)| part(Agent, name, PartContent::Change(change))));
        parts.extend(assertions.iter().map(|assertion| text(Checks, "assertion", Some(&assertion.text))));
        let checks = checks.iter().map(|check| (format!("check {}", check.kind.id), check));
        parts.extend(checks.map(|(name, check)| part(Checks, name, PartContent::CaseCheck(check))));
        parts
    }

    /// A digest of all parts that are seen so, as they are in this tree. What is not there counts as that. Fails if nobody knows what
    /// is there.
    pub fn digest_of(&self, seen_by: SeenBy, tree: &CaseTree<'_>) -> io::Result<String> {
        let mut text = String::new();
        for part in self.parts().into_iter().filter(|part| part.seen_by == seen_by) {
            let content = part.digest(tree).map_or_else(|error| look::known(Err(error)).map(Some), Ok)?;
            if let Some(content) = content {
                let _ = writeln!(text, "{}\n{content}", part.name);
            }
        }
        Ok(digest(text.as_bytes()))
    }

    /// The files that its fields name, from the repository's root, each behind the column of its field.
    pub fn sources(&self) -> impl Iterator<Item = (&'static str, &RelativePath)> {
        self.parts().into_iter().flat_map(|part| part.sources())
    }

    /// Whether a judge grades its trials.
    pub fn is_judged(&self, settings: &Settings) -> bool {
        settings.judge.wanted.unwrap_or(self.judge || !self.assertions.is_empty())
    }

    /// Whether a judge or the repository's own checks look at its trials.
    pub fn has_checks_of_others(&self, settings: &Settings) -> bool {
        self.is_judged(settings) || settings.harness.is_some()
    }
}

fn part(seen_by: SeenBy, name: impl Into<Cow<'static, str>>, content: PartContent<'_>) -> CasePart<'_> {
    CasePart { name: name.into(), seen_by, content }
}

fn text<'a>(seen_by: SeenBy, name: &'static str, text: Option<&'a str>) -> CasePart<'a> {
    part(seen_by, name, PartContent::Text(text.map(Cow::Borrowed)))
}

/// A part whose text is this value as JSON.
fn data<'a>(seen_by: SeenBy, name: &'static str, value: Option<impl Serialize>) -> CasePart<'a> {
    part(seen_by, name, PartContent::Text(value.map(|value| Cow::Owned(as_json(&value)))))
}

fn joined<'a>(texts: &[String]) -> PartContent<'a> {
    PartContent::Text((!texts.is_empty()).then(|| Cow::Owned(texts.join("\0"))))
}

/// A value as JSON, or why it has no such form.
fn as_json(value: &impl Serialize) -> String {
    serde_json::to_string(value).unwrap_or_else(|error| error.to_string())
}

impl<'a> CasePart<'a> {
    /// It as the case says it, with the paths of its files; nothing if the case does not say it.
    pub fn written(&self) -> Option<Cow<'a, str>> {
        let written = match &self.content {
            PartContent::Text(text) => return text.clone(),
            PartContent::Programs(_) => return None,
            PartContent::Start(Case { fixture, files, .. }) => as_json(&(fixture, files)),
            PartContent::Schema(path) | PartContent::Unread(_, path) => path.to_string(),
            PartContent::Change(change) => change_text(change),
            PartContent::Mocks(Case { mocks, mock_servers, .. }) => as_json(&(mocks, mock_servers)),
            PartContent::CaseCheck(check) => check_text(check),
            PartContent::Judge(case) => case.judge.to_string(),
        };
        Some(Cow::Owned(written))
    }

    /// A digest of it, as it is in this tree, with the content of its files; `None` if it is not there.
    pub fn digest(&self, tree: &CaseTree<'_>) -> io::Result<Option<String>> {
        Ok(match &self.content {
            PartContent::Text(text) => text.as_ref().map(|text| digest(text.as_bytes())),
            PartContent::Start(case) => Some(tree.start_files(case)?),
            PartContent::Programs(case) => {
                let programs = start_files(tree.root, case).unwrap_or_default().seen()?.programs();
                (!programs.is_empty()).then(|| digest(programs.as_bytes()))
            }
            PartContent::Schema(path) => Some(digest(&inside::read(tree.root, path.as_path())?)),
            PartContent::Change(_) if tree.delivery == Delivery::None => None,
            PartContent::Change(change) => {
                let folder =
                    change.folder.as_ref().map(|folder| inside::real(tree.root, folder.as_path())).transpose()?;
                let content = folder.map(|folder| tree.known.skill(&folder)).transpose()?.unwrap_or_default();
                Some(digest(format!("{}\0{content}", change_text(change)).as_bytes()))
            }
            PartContent::Mocks(case) => tree.mocks(case),
            PartContent::CaseCheck(check) => Some(tree.check(check, &check_text(check))?),
            PartContent::Judge(case) => tree.judge(case),
            PartContent::Unread(_, path) => Some(digest(path.to_string().as_bytes())),
        })
    }

    /// The files that it names, from the repository's root, each behind the column of its field.
    pub fn sources(&self) -> Vec<(&'static str, &'a RelativePath)> {
        match self.content {
            PartContent::Text(_) | PartContent::Programs(_) | PartContent::Judge(_) => Vec::new(),
            PartContent::Start(Case { fixture, files, .. }) => {
                let fixture = fixture.iter().map(|path| (FIXTURE, path));
                fixture.chain(files.iter().filter_map(|file| Some((FILES, file.source()?)))).collect()
            }
            PartContent::Schema(path) => vec![("output_schema", path)],
            PartContent::Unread(column, path) => vec![(column, path)],
            PartContent::Change(change) => change.folder.iter().map(|folder| (DURING, folder)).collect(),
            PartContent::Mocks(case) => {
                case.mocks.iter().flat_map(CommandAnswer::sources).map(|path| (MOCKS, path)).collect()
            }
            PartContent::CaseCheck(check) => {
                let script = check.script().map(|path| (SCRIPT_KEY, path));
                script.into_iter().chain(check.ask.names().snapshot.map(|path| ("snapshot", path))).collect()
            }
        }
    }

    /// All files and directories that decide it, from the repository's root.
    pub fn files(&self) -> Vec<PathBuf> {
        let more: Vec<PathBuf> = match self.content {
            PartContent::Mocks(case) => mocks::folders(case, Delivery::Native).folders,
            PartContent::CaseCheck(check) => {
                let readable = check.program().map(program_sources).unwrap_or_default();
                readable.into_iter().map(Path::to_path_buf).collect()
            }
            _ => Vec::new(),
        };
        self.sources().into_iter().map(|(_, path)| path.as_path().to_path_buf()).chain(more).collect()
    }
}

/// A change without the files of the skill's new version.
fn change_text(change: &SkillChange) -> String {
    // A check of its own says whether the change is expected to be seen.
    let SkillChange { after_turn, kind, skill, folder, expect_seen: _, origin: _ } = change;
    let folder = folder.as_ref().map(ToString::to_string).unwrap_or_default();
    format!("{after_turn}\0{}\0{skill}\0{folder}", kind.as_str())
}

/// A check without its place: an edit above it changes nothing. Its weight is a part of its own.
fn check_text(check: &CaseCheck) -> String {
    let CaseCheck { kind, origin: _, ask, weight: _ } = check;
    json!([kind.id, ask.as_json()]).to_string()
}

// A tree of the repository as the parts of cases find their files in it: the working tree, or a commit.

/// A tree, and how its cases are run.
#[derive(Clone, Copy, Debug)]
pub struct CaseTree<'a> {
    pub root: &'a Path,
    /// Those of this tree: they name the answers of commands in all cases, and the judge's template.
    pub settings: &'a Settings,
    pub delivery: Delivery,
    pub mock_servers: &'a MockServers,
    /// What is known of this tree.
    pub known: &'a TreeDigests,
}

/// Digests of what many cases of a tree have, each made once.
#[derive(Debug, Default)]
pub struct TreeDigests {
    folders: Mutex<HashMap<PathBuf, String>>,
    /// The answers of commands in all cases, if there are some.
    mocked_commands: OnceLock<Result<Option<String>, String>>,
    /// The judge's template and the schema of its answer.
    rubric: OnceLock<[String; 2]>,
}

impl TreeDigests {
    /// The digest of the files of the skill in this directory, with their paths.
    pub fn skill(&self, folder: &Path) -> io::Result<String> {
        self.folder(folder, skill_material)
    }

    /// The digest of what `list` finds in a directory.
    pub fn folder(&self, folder: &Path, list: impl FnOnce(&Path) -> Material) -> io::Result<String> {
        let digests = || self.folders.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(digest) = digests().get(folder) {
            return Ok(digest.clone());
        }
        let digest = of_material(list(folder))?;
        digests().insert(folder.to_path_buf(), digest.clone());
        Ok(digest)
    }
}

/// The digest of these files, or of the reason why agents cannot get them. What cannot be read has none: nobody knows whether it
/// changed.
fn of_material(material: Material) -> io::Result<String> {
    let digest = material.whole().and_then(|material| material.digest());
    digest.or_else(|problem| problem.known().map(|why| not_copied(&why)))
}

/// The digest of a directory, or of the reason why agents cannot get it: its own trials and `lint` report that, and
/// other trials run.
pub fn or_problem(digest_of_folder: Result<String, impl Display>) -> String {
    digest_of_folder.unwrap_or_else(|problem| not_copied(&problem))
}

fn not_copied(why: &impl Display) -> String {
    digest(format!("not copied: {why}").as_bytes())
}

impl CaseTree<'_> {
    /// The files with which the workspace of a case starts.
    pub(in crate::cases) fn start_files(&self, case: &Case) -> io::Result<String> {
        if let (Some(path), []) = (&case.fixture, &*case.files) {
            let folder = inside::real(self.root, path.as_path())?;
            return self.known.folder(&folder, Material::list);
        }
        of_material(start_files(self.root, case).unwrap_or_default())
    }

    /// What is answered from files; `None` if nothing is.
    pub(in crate::cases) fn mocks(&self, case: &Case) -> Option<String> {
        let tree = Repository::new(self.root);
        let lines = |problems: Vec<_>| problems.iter().map(ToString::to_string).collect::<Vec<String>>().join("\n");
        let of_all = self.known.mocked_commands.get_or_init(|| {
            let (commands, problems) = mocks::commands(&tree, self.settings.mocks.iter());
            if problems.is_empty() { Ok(mocks::commands_digest(&commands)) } else { Err(lines(problems)) }
        });
        let digest = of_all.clone().and_then(|of_all| {
            mocks::digest_of(&tree, of_all.as_deref(), case, self.delivery, self.mock_servers).map_err(lines)
        });
        digest.transpose().map(or_problem)
    }

    /// A check with this text, with the content of the program or the file that it names.
    pub(in crate::cases) fn check(&self, check: &CaseCheck, text: &str) -> io::Result<String> {
        let snapshot = || {
            let file = inside::read(self.root, check.ask.names().snapshot?.as_path()).map(|content| digest(&content));
            Some(look::known(file))
        };
        let program = check.program().map(|program| program_digest(self.root, program));
        let content = program.or_else(snapshot).transpose()?;
        Ok(digest(format!("{text}\n{}", content.unwrap_or_default()).as_bytes()))
    }

    /// By what a judge grades the trials of a case; `None` if none does.
    pub(in crate::cases) fn judge(&self, case: &Case) -> Option<String> {
        let [template, schema] = self.known.rubric.get_or_init(|| {
            let texts = repository::judge_texts(self.root, self.settings);
            texts.map_or_else(
                |problem| [problem.to_string(), String::new()],
                |texts| texts.map(|text| digest(text.as_bytes())),
            )
        });
        // Assertions alone are judged by the built-in template.
        let by_rubric = case.judge || case.assertions.is_empty() || self.settings.judge.wanted == Some(true);
        let template = if by_rubric { template } else { "" };
        case.is_judged(self.settings).then(|| digest(format!("{template}\n{schema}").as_bytes()))
    }
}

// The content of a program: what it can read of the repository, and a digest of that.

/// A script in a directory of this name may read the whole directory, for helpers and data.
const DIRECTORY: &str = "checks";

/// What a script can read of the repository, from its root: its directory if that is named `checks`, else only the script. All
/// of it counts as the script's content.
pub fn readable(script: &RelativePath) -> &Path {
    let script = script.as_path();
    script.parent().filter(|parent| parent.ends_with(DIRECTORY)).unwrap_or(script)
}

/// The files and directories of the repository that a program can read, from its root.
pub fn program_sources(program: &WorkspaceProgram) -> Vec<&Path> {
    program.script().map(readable).into_iter().chain(program.directories().map(RelativePath::as_path)).collect()
}

/// What a program of the repository at `root` finds in its copy of the workspace besides the agent's work.
pub fn add_program_content(root: &Path, program: &WorkspaceProgram) -> Material {
    let mut material = Material::default();
    if let WorkspaceProgram::Command { files, .. } = program {
        for (source, path) in files {
            material.add(path.as_path(), root, source.as_path());
        }
    }
    material
}

/// A digest of a program of the repository at `root`, and of what it can read there.
pub fn program_digest(root: &Path, program: &WorkspaceProgram) -> io::Result<String> {
    let content = content(root, program)?;
    Ok(digest_of(format!("{program}\n{content}").as_bytes()))
}

/// A digest of what it can read. If that is missing, there is none.
fn content(root: &Path, program: &WorkspaceProgram) -> io::Result<String> {
    let digest = |material: Material| {
        let material = material.seen()?;
        let digest = material.digest().map(|digest| digest + &material.programs());
        digest.or_else(MaterialProblem::known)
    };
    let unread = |error: io::Error| if look::is_absent(&error) { Ok(String::new()) } else { look::known(Err(error)) };
    match program {
        WorkspaceProgram::Command { files, .. } if files.is_empty() => Ok(String::new()),
        WorkspaceProgram::Command { .. } => digest(add_program_content(root, program)),
        WorkspaceProgram::Script(script) => {
            let path = match inside::real(root, readable(script)) {
                Ok(path) => path,
                Err(error) => return unread(error),
            };
            if look::is_usable_directory(&path) {
                digest(Material::list(&path))
            } else {
                bounded::digest(&path).map(|digest| digest.to_string()).or_else(unread)
            }
        }
    }
}

// The files that the workspace of a case holds when its agent starts.

/// The fixture of `case` and its own files, which win; `None` if its workspace is empty. `root` is the repository's.
pub fn start_files(root: &Path, case: &Case) -> Option<Material> {
    if case.fixture.is_none() && case.files.is_empty() {
        return None;
    }
    let mut material =
        case.fixture.as_ref().map(|fixture| Material::list_in(root, fixture.as_path())).unwrap_or_default();
    for file in &case.files {
        match &file.content {
            InputContent::Text(text) => material.add_text(file.path.as_path(), text),
            InputContent::Source(source) => {
                material.add(file.path.as_path(), root, source.as_path());
            }
        }
    }
    Some(material)
}
