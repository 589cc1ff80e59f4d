//! One case in its repository, and its prompt.

use std::cell::Cell;
use std::collections::{BTreeSet, HashSet};
use std::path::Path;
use std::sync::Arc;

use crate::cases::case::{Case, FoundCase};
use crate::cases::catalog::{Catalog, FoundSkill, evals_folder};
use crate::cases::mocks::{self, MockNames, MockServers};
use crate::cases::repo_files::{FileKind, RepoFiles};
use crate::checks::pattern::{DialectDifference, Pattern};
use crate::checks::{CaseCheck, EVERY_CALL_ANSWERED, Presence};
use crate::lint::is_curated;
use crate::lint::skill::{self, Schemas};
use crate::lint::suite::{self, content_words, function_words};
use crate::profile;
use crate::settings::CommandAnswer;
use crate::settings::mode::Delivery;
use crate::skill::{SKILL_FILE, Skill, slug};
use crate::text::diagnostic::{Code, Diagnostic, SourceLocation, suggest};
use crate::text::name::RelativePath;
use crate::text::problem::MOST_OF_FILE;
use crate::trace::exposure::{Exposure, NamedFiles, SkillTexts, TextIndexBuilder};
use crate::trial::input_file::{InputContent, has_value};

pub(super) fn check(
    found: &FoundCase,
    case: &Case,
    catalog: &Catalog,
    tree: &dyn RepoFiles,
    partial: bool,
    schemas: &mut Schemas,
) -> Vec<Diagnostic> {
    let checker = CaseChecker::of(found, case, tree);
    let mut problems = Vec::new();
    problems.extend(checker.nul_bytes());
    problems.extend(checker.start_files());
    problems.extend(checker.output_schema(schemas));
    problems.extend(checker.scripts());
    problems.extend(checker.dialects());
    problems.extend(checker.literal_syntax());
    problems.extend(checker.snapshots());
    problems.extend(mocks::problems(tree, case, &catalog.mock_servers));
    problems.extend(checker.unknown_skills(catalog));
    problems.extend(suite::check_changes(case, catalog, tree));
    problems.extend(history(case, catalog, || checker.place("history", None)));
    problems.extend(told_facts(case, |value| checker.place("user", Some(value))));
    problems.extend(case.unsupported_parts(partial));
    // Prompts of built-in cases cannot be changed.
    if is_curated(found) {
        if case.should_trigger {
            problems.extend(checker.marker_in_prompt());
            problems.extend(positive(found, case, catalog, |text| checker.place("prompt", text)));
        } else {
            problems.extend(checker.names_skill());
        }
    }
    problems
}

/// The files of a case that cannot be used: what its workspace starts with, and its reference solution. Each with its key.
pub fn unusable_files(found: &FoundCase, case: &Case, tree: &dyn RepoFiles) -> Vec<(&'static str, Diagnostic)> {
    let checker = CaseChecker::of(found, case, tree);
    let start = if case.files.is_empty() { "fixture" } else { "files" };
    let start_files = checker.start_files().into_iter().map(|problem| (start, problem));
    start_files
        .chain(checker.solution().map(|problem| ("solution", problem)))
        .chain(checker.answer().map(|problem| ("answer", problem)))
        .collect()
}

/// The checks that say the same of every trial. The others decide.
pub(super) fn without_effect(found: &FoundCase, case: &Case, tree: &dyn RepoFiles) -> Vec<Diagnostic> {
    CaseChecker::of(found, case, tree).without_effect()
}

pub fn place_of(found: &FoundCase, case: &Case, check: &CaseCheck, tree: &dyn RepoFiles) -> SourceLocation {
    CaseChecker::of(found, case, tree).place_of(check, check.script().and_then(|path| path.as_path().to_str()))
}

/// The checks of a case about calls of what it does not mock, and that none asks whether every call was answered.
pub(super) fn checks_of_mocks(
    found: &FoundCase,
    case: &Case,
    of_all: &[CommandAnswer],
    servers: &MockServers,
    tree: &dyn RepoFiles,
) -> Vec<Diagnostic> {
    let pattern_of = |check: &'_ CaseCheck| check.ask.names().mocks.map(|(pattern, _)| pattern.clone());
    let checks: Vec<_> = case.checks.iter().filter_map(|check| Some((check, pattern_of(check)?))).collect();
    if checks.is_empty() && case.mocks.is_empty() {
        return Vec::new();
    }
    let names = MockNames::of(tree, of_all, case, Delivery::Native, servers);
    let checker = CaseChecker::of(found, case, tree);
    let unknown = checks.iter().filter(|(_, pattern)| !names.have(pattern));
    let mut problems: Vec<Diagnostic> = unknown
        .map(|(check, pattern)| {
            let name = pattern.glob().glob();
            let message = format!("`mock` names `{name}`, which nothing in this case answers");
            let known: Vec<&str> = names.commands.iter().chain(names.servers.values()).map(String::as_str).collect();
            let help = if known.is_empty() {
                "write its answers: see docs/mocks.md".to_owned()
            } else {
                suggest(name, &known)
            };
            Diagnostic::new(Code::UnknownMock, checker.place_of(check, Some(name)), message).help(help)
        })
        .collect();
    let asks = case.checks.iter().any(|check| check.ask.names().mocks.is_some_and(|(_, unanswered)| unanswered));
    let is_for_all =
        |answer: &&CommandAnswer| answer.args.is_none() && answer.stdin.is_none() && answer.times.is_none();
    let answered: Vec<&str> =
        case.mocks.iter().chain(of_all).filter(is_for_all).map(|answer| answer.command.as_str()).collect();
    let open = names.commands.iter().find(|name| !answered.contains(&name.as_str()));
    if let Some(command) = open.filter(|_| !asks) {
        let message = format!("a call of `{command}` that no answer fits does not fail a trial");
        let problem = Diagnostic::new(Code::UnansweredCalls, case.origin.clone(), message);
        problems.push(problem.help(format!("add to `checks`: {EVERY_CALL_ANSWERED}")));
    }
    problems
}

struct CaseChecker<'a> {
    found: &'a FoundCase,
    case: &'a Case,
    tree: &'a dyn RepoFiles,
    /// How many places were looked for: each time, the file is read.
    places: Cell<usize>,
}

impl<'a> CaseChecker<'a> {
    fn of(found: &'a FoundCase, case: &'a Case, tree: &'a dyn RepoFiles) -> Self {
        Self { found, case, tree, places: Cell::new(0) }
    }

    /// Texts that no program can be given.
    fn nul_bytes(&self) -> Vec<Diagnostic> {
        let Case { prompt, system_prompt, follow_ups, user, history, setup, .. } = self.case;
        let texts = [("prompt", prompt)].into_iter().chain(system_prompt.iter().map(|text| ("system_prompt", text)));
        let further =
            follow_ups.iter().map(|text| ("follow_ups", text)).chain(setup.iter().map(|text| ("setup", text)));
        let earlier = history.iter().map(|said| ("history", &said.content));
        let of_user = user.iter().flat_map(|user| user.persona.iter().chain([&user.goal]).map(|text| ("user", text)));
        let with_nul = texts.chain(of_user).chain(further).chain(earlier).filter(|(_, text)| text.contains('\0'));
        let problems = with_nul.map(|(key, _)| {
            let message = format!("`{key}` has a NUL character, which no program can be given");
            Diagnostic::new(Code::ValueType, self.place(key, Some("\0")), message).help("remove the character")
        });
        problems.collect()
    }

    /// Where paths of the case start.
    fn sources(&self) -> String {
        let next_to_it = self.found.file.parent().filter(|directory| *directory != Path::new(""));
        match (self.found.format().foreign.is_some(), next_to_it) {
            (false, _) => {
                format!("paths start in {}/ or at the repository's root", evals_folder(&self.case.skill).display())
            }
            (true, Some(directory)) => {
                format!("paths start in {}/, a directory above it, or at the repository's root", directory.display())
            }
            (true, None) => "paths start at the repository's root".to_owned(),
        }
    }

    fn start_files(&self) -> Vec<Diagnostic> {
        self.fixture().into_iter().chain(self.files()).collect()
    }

    fn solution(&self) -> Option<Diagnostic> {
        let path = self.case.solution.as_ref()?.as_path();
        self.copied(path, self.tree.kind(path), "solution", || self.place("solution", None))
    }

    fn answer(&self) -> Option<Diagnostic> {
        let path = self.case.answer.as_ref()?.as_path();
        let kind = match self.tree.kind(path) {
            FileKind::Folder => FileKind::Other,
            kind => kind,
        };
        self.copied(path, kind, "answer", || self.place("answer", None))
    }

    fn fixture(&self) -> Option<Diagnostic> {
        let path = self.case.fixture.as_ref()?.as_path();
        let place = || self.place("fixture", path.to_str());
        match self.tree.kind(path) {
            FileKind::File => {
                let message = format!("the fixture {} is not a directory", path.display());
                Some(Diagnostic::new(Code::MissingFixture, place(), message).help("`fixture` names a directory"))
            }
            kind => self.exposed(path, place()).or_else(|| self.copied(path, kind, "fixture directory", place)),
        }
    }

    /// What is expected of the agent and lies in the directory or file at `path`: the case itself, its answer or its solution.
    fn expectation_in(&self, path: &Path) -> Option<&Path> {
        let Case { origin, answer, solution, .. } = self.case;
        let further = [answer, solution].into_iter().flatten().map(RelativePath::as_path);
        let is_in = |expected: &&Path| expected.starts_with(path) || path.starts_with(expected);
        [origin.path.as_path()].into_iter().chain(further).find(is_in)
    }

    /// Why the agent does not get the directory or file at `path`.
    fn exposed(&self, path: &Path, place: SourceLocation) -> Option<Diagnostic> {
        let expected = self.expectation_in(path)?;
        let (path, expected) = (path.display(), expected.display());
        let message = format!("the agent would get {path} with {expected}, and read there what is expected of it");
        Some(Diagnostic::new(Code::BadPath, place, message).help("name only what the task needs"))
    }

    /// The files of the workspace that cannot be copied, or have one path.
    fn files(&self) -> Vec<Diagnostic> {
        let mut problems = Vec::new();
        let mut paths = HashSet::new();
        let directory = self.case.origin.path.parent().unwrap_or(Path::new(""));
        for file in &self.case.files {
            let source = if let InputContent::Source(source) = &file.content { Some(source) } else { None };
            let of_git = |path: &&RelativePath| path.as_path().iter().any(|part| part.eq_ignore_ascii_case(".git"));
            if let Some(path) = [Some(&file.path), source].into_iter().flatten().find(of_git) {
                let place = self.place("files", None);
                let message = format!("`{path}` belongs to git: agents do not get it");
                problems.push(Diagnostic::new(Code::BadPath, place, message).help("name files outside `.git`"));
                continue;
            }
            if !paths.insert(&file.path) {
                let place = self.place("files", file.path.as_path().to_str());
                let message = format!("two files have the path `{}` in the workspace", file.path);
                problems.push(Diagnostic::new(Code::BadPath, place, message).help("give each file its own path"));
            }
            let Some(source) = source else { continue };
            let source = source.as_path();
            let place = || self.place("files", source.strip_prefix(directory).unwrap_or(source).to_str());
            let problem = self.exposed(source, place());
            problems.extend(problem.or_else(|| self.copied(source, self.tree.kind(source), "file", place)));
        }
        problems
    }

    /// Why the directory or file at `path`, called `what`, cannot be copied into a workspace.
    fn copied(
        &self,
        path: &Path,
        kind: FileKind,
        what: &str,
        place: impl FnOnce() -> SourceLocation,
    ) -> Option<Diagnostic> {
        let shown = path.display();
        let sources = self.sources();
        let (code, message, help) = match kind {
            FileKind::File => return None,
            FileKind::Folder => {
                let what = what.split(' ').next().unwrap_or(what);
                return skill::case_material(path, place(), what, self.tree);
            }
            FileKind::Missing => (Code::MissingFixture, format!("the {what} {shown} does not exist"), &*sources),
            FileKind::Symlink => (
                Code::Symlink,
                format!("the {what} {shown} is reached through a symbolic link"),
                "copy the files: the target of a link is not part of the recording",
            ),
            FileKind::Other => {
                (Code::MissingFixture, format!("the {what} {shown} is not a file or directory"), &*sources)
            }
            FileKind::Unreadable => {
                (Code::MissingFixture, format!("the {what} {shown} cannot be read"), "make it readable")
            }
        };
        Some(Diagnostic::new(code, place(), message).help(help))
    }

    fn output_schema(&self, schemas: &mut Schemas) -> Option<Diagnostic> {
        let path = self.case.output_schema.as_ref()?;
        let (code, message) = schemas.problem(path.as_path(), self.tree)?;
        let place = self.place("output_schema", path.as_path().to_str());
        let problem = Diagnostic::new(code, place, message);
        Some(if code == Code::MissingSchema { problem.help(self.sources()) } else { problem })
    }

    fn scripts(&self) -> Vec<Diagnostic> {
        let scripts = self.case.checks.iter().filter_map(|check| Some((check, check.script()?)));
        let problems = scripts.filter_map(|(check, path)| {
            let (code, message, help) = skill::script_material(path.as_path(), &self.sources(), self.tree)?;
            let place = self.place_of(check, path.as_path().to_str());
            Some(Diagnostic::new(code, place, message).help(help))
        });
        problems.collect()
    }

    /// Checks that say the same of every trial, whichever format they are written in.
    fn without_effect(&self) -> Vec<Diagnostic> {
        let checks = self.case.checks.iter().filter_map(|check| Some((check, check.ask.without_effect()?)));
        let problems = checks.map(|(check, message)| {
            let problem = Diagnostic::new(Code::InvalidCheck, self.place_of(check, None), message);
            problem.help("write what a good trial has and a bad one lacks, or remove the check")
        });
        problems.collect()
    }

    /// Patterns that other runners read differently.
    fn dialects(&self) -> Vec<Diagnostic> {
        let mut problems = Vec::new();
        let texts = self.case.checks.iter().filter_map(|check| Some((check, check.ask.text()?.0)));
        for (check, pattern) in texts {
            let key = check.origin.key.as_ref();
            for DialectDifference { part, here, python, instead } in pattern.differences() {
                let message = format!("`{key}`: `{part}` means {here}; in Python, as other runners take it, {python}");
                let problem = Diagnostic::new(Code::RegexDialect, self.place_of(check, Some(part)), message);
                problems.push(problem.help(format!("write {instead}, which means the same everywhere")));
            }
        }
        problems
    }

    /// Patterns with what other programs read as syntax, and this one takes for text that an answer has.
    fn literal_syntax(&self) -> Vec<Diagnostic> {
        let texts = self.case.checks.iter().filter_map(|check| Some((check, check.ask.text()?.0)));
        let found = texts.filter_map(|(check, pattern)| {
            let text = pattern.text.trim();
            let is_quoted = [('“', '”'), ('‘', '’')]
                .iter()
                .any(|(open, close)| text.chars().count() > 2 && text.starts_with(*open) && text.ends_with(*close));
            let is_list = || text.contains(';') && text.chars().all(|c| c.is_alphanumeric() || "; ".contains(c));
            let word = [" AND ", " OR "].into_iter().find(|word| text.contains(word)).map(str::trim);
            let word = word.or_else(|| is_list().then_some(";"));
            let (message, help) = match word {
                _ if is_quoted => (
                    "the typographic quotes are a part of this pattern: an answer must have them too".to_owned(),
                    "leave them out",
                ),
                Some(word) => (
                    format!("`{word}` is a part of this pattern, which an answer must have too"),
                    "write each text as a pattern of its own: in a cell, `|` is between them",
                ),
                None => return None,
            };
            let place = self.place_of(check, Some(&pattern.text));
            Some(Diagnostic::new(Code::LiteralSyntax, place, message).help(help))
        });
        found.collect()
    }

    /// Files of the repository that checks compare with, and that are not there.
    fn snapshots(&self) -> Vec<Diagnostic> {
        let mut problems = Vec::new();
        let snapshots = self.case.checks.iter().filter_map(|check| Some((check, check.ask.names().snapshot?)));
        for (check, path) in snapshots.filter(|(_, path)| self.tree.kind(path.as_path()) != FileKind::File) {
            let message = format!("the snapshot {path} is not a file");
            let problem = Diagnostic::new(Code::Unreadable, self.place_of(check, None), message);
            problems.push(problem.help(self.sources()));
        }
        problems
    }

    /// Skills that checks name and that are not in the repository.
    fn unknown_skills(&self, catalog: &Catalog) -> Vec<Diagnostic> {
        let mut problems = Vec::new();
        for check in &self.case.checks {
            let unknown = check.ask.names().skills.iter().filter(|name| catalog.skill(&slug(name)).is_none());
            for name in unknown {
                let message = format!("`{}` names the skill `{name}`, which is not here", check.kind.id);
                let place = self.place_of(check, Some(name));
                let problem = Diagnostic::new(Code::UnknownSkill, place, message);
                let way_out = catalog.written.warn_of(&[problem.code.as_str()]);
                let help =
                    format!("{}; to run the case all the same, {way_out}", suggest(&slug(name), &catalog.slugs()));
                problems.push(problem.help(help));
            }
        }
        problems
    }

    fn names_skill(&self) -> Option<Diagnostic> {
        let slug = &self.case.skill;
        if !has_word(&self.case.prompt, slug) {
            return None;
        }
        let message = format!("this prompt must not trigger `{slug}`, yet it names the skill");
        Some(
            Diagnostic::new(Code::NegativeNamesSkill, self.place("prompt", Some(slug)), message)
                .help("ask for something that the skill is not for, without its name"),
        )
    }

    /// A positive case that an agent passes by repeating the prompt: all required texts are in the prompt, or one that looks like a
    /// marker.
    fn marker_in_prompt(&self) -> Option<Diagnostic> {
        let required: Vec<RequiredText> = self.case.checks.iter().filter_map(RequiredText::of).collect();
        let earlier = self.case.history.iter().map(|said| said.content.as_str());
        let prompt = &earlier.chain([self.case.prompt.as_str()]).collect::<Vec<_>>().join("\n");
        // Plain text comes first, and nothing that does not matter: compiling patterns is slow in a large repository.
        let (plain, others): (Vec<_>, Vec<_>) = required.iter().partition(|text| text.pattern.is_literal());
        let mut ordered = plain.into_iter().chain(others);
        let is_given = |text: &&RequiredText<'_>| text.is_in(prompt) && text.decides();
        let marker = || required.iter().filter(|text| text.looks_like_marker()).find(is_given);
        let all_given = || {
            let are_given = ordered.all(|text| text.is_in(prompt) || !text.decides());
            required.iter().find(|text| are_given && text.decides())
        };
        let first = marker().or_else(all_given)?;
        let given = if first.is_in(&self.case.prompt) { "prompt" } else { "history" };
        let message = format!("`{}` is in the {given} already: repeating the {given} passes", first.pattern.text);
        Some(
            Diagnostic::new(Code::MarkerInPrompt, self.place_of(first.check, Some(&first.pattern.text)), message)
                .help("require a marker that only the skill's own text contains"),
        )
    }

    /// The place of a check, or of `text` in it.
    fn place_of(&self, check: &CaseCheck, text: Option<&str>) -> SourceLocation {
        check.origin.elsewhere.clone().unwrap_or_else(|| self.place(&check.origin.key, text))
    }

    /// The place of `text` in the value of `key`, else of the value, else of the case. A list may have a hundred thousand problems:
    /// those of which only the number is shown are at the case.
    fn place(&self, key: &str, text: Option<&str>) -> SourceLocation {
        let places = self.places.replace(self.places.get() + 1);
        if places >= MOST_OF_FILE {
            return self.case.origin.clone();
        }
        self.found.source.place(key, text, self.tree).unwrap_or_else(|| self.case.origin.clone())
    }
}

/// A text that the final message must contain.
struct RequiredText<'a> {
    check: &'a CaseCheck,
    pattern: &'a Pattern,
}

impl<'a> RequiredText<'a> {
    fn of(check: &'a CaseCheck) -> Option<Self> {
        let (pattern, wanted) = check.ask.text()?;
        (wanted == Presence::Present).then_some(Self { check, pattern })
    }

    /// Whether texts differ in it. One that every text has, or none, is reported as such.
    fn decides(&self) -> bool {
        self.check.ask.without_effect().is_none()
    }

    /// Ignores upper and lower case in plain text: an agent that repeats the prompt may get them right.
    fn is_in(&self, prompt: &str) -> bool {
        if self.pattern.is_literal() {
            return prompt.to_lowercase().contains(&self.pattern.text.to_lowercase());
        }
        self.pattern.is_in(prompt).unwrap_or(false)
    }

    /// Whether it contains a word like `SKILL_MARKER`.
    fn looks_like_marker(&self) -> bool {
        self.pattern
            .text
            .split(|c: char| !c.is_ascii_alphanumeric() && c != '_')
            .any(|word| word.len() >= 6 && word.contains('_') && !word.contains(|c: char| c.is_ascii_lowercase()))
    }
}

/// Whether `text` contains `word`, in upper or lower case, as a whole word.
pub fn has_word(text: &str, word: &str) -> bool {
    let is_part_of_word = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_');
    let (text, word) = (text.to_lowercase(), word.to_lowercase());
    !word.is_empty()
        && text.match_indices(&word).any(|(at, _)| {
            !text[..at].ends_with(is_part_of_word) && !text[at + word.len()..].starts_with(is_part_of_word)
        })
}

/// A user whose facts nobody needs to ask for: the agent knows them before, or the user says them with what it wants.
fn told_facts<'a>(
    case: &'a Case,
    place: impl Fn(&str) -> SourceLocation + 'a,
) -> impl Iterator<Item = Diagnostic> + 'a {
    let facts = case.user.iter().flat_map(|user| user.facts.iter().map(move |fact| (user, fact)));
    facts.filter_map(move |(user, (fact, value))| {
        let said = case.history.iter().map(|said| ("`history`", said.content.as_str()));
        let sent = case.follow_ups.iter().map(|text| ("`follow_ups`", text.as_str()));
        let told = [("the prompt", case.prompt.as_str()), ("`goal`", user.goal.as_str())];
        let (where_, _) = told.into_iter().chain(said).chain(sent).find(|(_, text)| has_value(text, value))?;
        let message = format!("the value of the fact `{fact}` is in {where_}: nobody needs to ask for it");
        let help = "leave it out there, or give the fact a value that is nowhere else";
        Some(Diagnostic::new(Code::BadUser, place(value), message).help(help))
    })
}

/// The first skill whose text is in the history, by the rule for texts in a model's context: the model would know the skill before
/// the trial begins.
fn history(case: &Case, catalog: &Catalog, place: impl Fn() -> SourceLocation) -> Option<Diagnostic> {
    if case.history.is_empty() {
        return None;
    }
    let mut texts = TextIndexBuilder::default();
    for found in &catalog.skills {
        texts.add(&found.skill().slug, SKILL_FILE, &found.bytes);
    }
    let texts = SkillTexts::new(vec![texts.build()]);
    let mut exposure = Exposure::new(&texts);
    let seen = case.history.iter().flat_map(|said| exposure.shown(&said.content, &NamedFiles::default(), true));
    let skill = seen.filter(|file| file.loaded).map(|file| file.skill).next()?;
    let message = format!("`history` has the text of the skill `{skill}`: the model knows it before the prompt");
    let help = "leave out the message with that text: a trial measures what loads the skill";
    Some(Diagnostic::new(Code::BadHistory, place(), message).help(help))
}

// What the prompts of a skill's cases measure: a prompt that hands over the choice of the skill measures nothing.

/// A prompt that shares this many words in a row with a description copies it. Users' own phrases, which authors quote in
/// descriptions, are shorter.
const COPIED_WORDS: usize = 10;

/// A whole description of fewer words may be in a prompt by chance.
const FEWEST_WORDS: usize = 4;

/// A prompt that shares fewer function words with all descriptions is too short, or in another language, to be compared.
const SHARED_FUNCTION_WORDS: usize = 2;

/// Whether a prompt calls the skill as users of any agent do.
pub fn calls_skill(prompt: &str, skill: &Skill) -> bool {
    let mut calls = profile::listed().filter_map(|profile| profile.call_of(&skill.name));
    calls
        .any(|call| prompt.split_whitespace().any(|word| word.trim_end_matches(['.', ',', ':', ';', '!', '?']) == call))
}

/// Whether a prompt tells the agent which skill to use. A name of one word, such as `pdf`, must be next to the word "skill",
/// since users have the same word for their files.
pub fn names_skill(prompt: &str, skill: &Skill) -> bool {
    if calls_skill(prompt, skill) {
        return true;
    }
    let words: Vec<String> = words_of(prompt).collect();
    let name: Vec<String> = words_of(&skill.name).collect();
    let runs = words.windows(name.len().max(1)).enumerate().filter(|(_, run)| *run == name);
    let near = |at: Option<usize>| at.and_then(|at| words.get(at)).is_some_and(|word| word == "skill");
    let has_whole_name = name.len() > 1 && prompt.to_lowercase().contains(&skill.name.to_lowercase());
    has_whole_name || runs.into_iter().any(|(at, _)| near(at.checked_sub(1)) || near(Some(at + name.len())))
}

/// Whether the prompt is the skill's description, or a long part of it.
pub fn copies_description(prompt: &str, skill: &Skill) -> bool {
    let description: Vec<String> = words_of(&skill.description).collect();
    let length = description.len().min(COPIED_WORDS);
    if length < FEWEST_WORDS {
        return false;
    }
    let prompt: Vec<String> = words_of(prompt).collect();
    let runs: BTreeSet<&[String]> = prompt.windows(length).collect();
    description.windows(length).any(|run| runs.contains(run))
}

#[derive(Debug)]
pub struct SkillWords {
    /// The slug of each skill, with the content words of its name and description.
    skills: Vec<(String, BTreeSet<String>)>,
    function_words: BTreeSet<String>,
}

impl SkillWords {
    pub fn of(catalog: &Catalog) -> Self {
        let mut all = Self { skills: Vec::new(), function_words: BTreeSet::new() };
        for skill in catalog.skills.iter().map(FoundSkill::skill) {
            let text = format!("{} {}", skill.name, skill.description);
            all.function_words.extend(function_words(&text));
            all.skills.push((skill.slug.clone(), content_words(&text)));
        }
        all
    }

    /// Whether a prompt that must not trigger the skill `slug` is near it, or is a task of another skill. A prompt that cannot be
    /// compared counts as near.
    pub fn come_near(&self, prompt: &str, slug: &str) -> bool {
        if function_words(prompt).intersection(&self.function_words).count() < SHARED_FUNCTION_WORDS {
            return true;
        }
        let words = content_words(prompt);
        // Any two texts may share a word.
        let fewest = |other: &str| if other == slug { 1 } else { 2 };
        self.skills.iter().any(|(other, known)| words.intersection(known).count() >= fewest(other))
    }
}

/// The problem of a positive case whose prompt is not what a user writes.
pub(super) fn positive(
    found: &FoundCase,
    case: &Case,
    catalog: &Catalog,
    place: impl Fn(Option<&str>) -> SourceLocation,
) -> Option<Diagnostic> {
    let skill = catalog.skill(&case.skill)?.skill();
    if copies_description(&case.prompt, skill) {
        let message = format!("this prompt copies the description of `{}`: no user writes that", skill.name);
        return Some(
            Diagnostic::new(Code::DescriptionAsPrompt, place(None), message)
                .help("write a task as a user would: with names, files and details of their own"),
        );
    }
    let is_called_implicit = words_of(&found.id).any(|word| word == "implicit");
    if !is_called_implicit || !names_skill(&case.prompt, skill) {
        return None;
    }
    let message = format!("the case `{}` names the skill `{}` in its prompt", found.id, skill.name);
    Some(
        Diagnostic::new(Code::ImplicitNamesSkill, place(Some(&skill.name)), message)
            .help("ask for the task without the name: only then does the model choose; or call the case explicit"),
    )
}

/// The problems of all cases of a skill together: none leaves the choice to the model.
pub(super) fn prompts_of_skill(
    catalog: &Catalog,
    skill: &Skill,
    known: &SkillWords,
    tree: &dyn RepoFiles,
) -> Vec<Diagnostic> {
    let mut positive = Vec::new();
    let mut negative = Vec::new();
    for found in catalog.cases_of(&skill.slug).filter(|found| is_curated(found)) {
        // A case that cannot be read may be the one that is missing.
        let Ok(case) = found.case() else { return Vec::new() };
        if case.should_trigger { positive.push((found, case)) } else { negative.push((found, case)) }
    }
    let mut problems = Vec::new();
    let place = |(found, case): &(&Arc<FoundCase>, &Case)| {
        found.source.place("prompt", None, tree).unwrap_or_else(|| case.origin.clone())
    };
    if let Some(first) = positive.first().filter(|_| !skill.user_only)
        && positive.iter().all(|(_, case)| names_skill(&case.prompt, skill))
    {
        let message = format!("every prompt for `{}` names it: no case shows whether the model finds it", skill.name);
        problems.push(
            Diagnostic::new(Code::NoImplicit, place(first), message)
                .help("add a task as a user would write it, without the skill's name"),
        );
    }
    if let Some(first) = negative.first()
        && !negative.iter().any(|(_, case)| known.come_near(&case.prompt, &skill.slug))
    {
        let message = format!(
            "no prompt that must not trigger `{}` is near it or near another skill: a model passes without a choice",
            skill.name
        );
        problems.push(
            Diagnostic::new(Code::FarNegatives, place(first), message)
                .help("add a near miss: a task of another skill, or one that the description excludes"),
        );
    }
    problems
}

fn words_of(text: &str) -> impl Iterator<Item = String> {
    let words = text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    words.map(str::to_lowercase)
}
