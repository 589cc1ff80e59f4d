//! One case against the repository it stands in.

use crate::cases::case::{Case, FoundCase};
use crate::cases::catalog::{Catalog, evals_folder};
use crate::cases::repo_files::{FileKind, RepoFiles};
use crate::checks::pattern::{DialectDifference, Pattern};
use crate::checks::{Check, Presence};
use crate::lint::schema::Schemas;
use crate::lint::{changes, is_curated, material};
use crate::text::diagnostic::{Code, Diagnostic, SourceLocation};

pub(super) fn check(
    found: &FoundCase,
    case: &Case,
    catalog: &Catalog,
    tree: &dyn RepoFiles,
    schemas: &mut Schemas,
) -> Vec<Diagnostic> {
    let checker = CaseChecker { found, case, tree };
    let mut problems = Vec::new();
    problems.extend(checker.fixture());
    problems.extend(checker.output_schema(schemas));
    problems.extend(checker.dialects());
    problems.extend(changes::check(case, catalog, tree));
    // The prompts of the built-in cases cannot be changed.
    if is_curated(found) {
        problems.extend(if case.should_trigger { checker.marker_in_prompt() } else { checker.names_skill() });
    }
    problems
}

struct CaseChecker<'a> {
    found: &'a FoundCase,
    case: &'a Case,
    tree: &'a dyn RepoFiles,
}

impl CaseChecker<'_> {
    fn fixture(&self) -> Option<Diagnostic> {
        let fixture = self.case.fixture.as_ref()?;
        let path = evals_folder(&self.case.skill).join(fixture.as_path());
        let place = self.place("fixture", fixture.as_path().to_str());
        let shown = path.display();
        let (code, message) = match self.tree.kind(&path) {
            FileKind::Folder => return material::of_case(&path, place, "fixture", self.tree),
            FileKind::Missing => (Code::MissingFixture, format!("the fixture directory {shown} is not there")),
            FileKind::Symlink => {
                (Code::Symlink, format!("the fixture directory {shown} is reached through a symbolic link"))
            }
            FileKind::File | FileKind::Other => {
                (Code::MissingFixture, format!("the fixture {shown} is not a directory"))
            }
        };
        let help = match code {
            Code::Symlink => "copy the files: what a link points to is not part of the recording, and may lie anywhere",
            _ => "`fixture` names a directory in the skill's own directory under evals/skills",
        };
        Some(Diagnostic::new(code, place, message).help(help))
    }

    fn output_schema(&self, schemas: &mut Schemas) -> Option<Diagnostic> {
        let path = self.case.output_schema.as_ref()?;
        let (code, message) = schemas.problem(path.as_path(), self.tree)?;
        let place = self.place("output_schema", path.as_path().to_str());
        let problem = Diagnostic::new(code, place, message);
        Some(if code == Code::MissingSchema {
            problem.help("`output_schema` is a path from the repository's root")
        } else {
            problem
        })
    }

    /// Patterns that match something else under other runners.
    fn dialects(&self) -> Vec<Diagnostic> {
        let mut problems = Vec::new();
        for (check, pattern) in self.patterns() {
            let key = check.origin.key;
            for DialectDifference { part, here, python, instead } in pattern.differences() {
                let message = format!("`{key}`: `{part}` means {here}; in Python, as other runners take it, {python}");
                let problem = Diagnostic::new(Code::RegexDialect, self.place(key, Some(part)), message);
                problems.push(problem.help(format!("write {instead}, which means the same everywhere")));
            }
        }
        problems
    }

    /// The checks of a text, with what they look for.
    fn patterns(&self) -> impl Iterator<Item = (&Check, &Pattern)> {
        self.case.checks.iter().filter_map(|check| Some((check, check.ask.text()?.0)))
    }

    fn names_skill(&self) -> Option<Diagnostic> {
        let slug = &self.case.skill;
        find_word(&self.case.prompt, slug)?;
        let message = format!("this prompt must not trigger `{slug}`, yet it names the skill");
        Some(
            Diagnostic::new(Code::NegativeNamesSkill, self.place("prompt", Some(slug)), message)
                .help("ask for something that the skill is not for, without its name"),
        )
    }

    /// A positive that an agent passes by repeating what it was told. One pattern that the prompt does not match is
    /// enough to tell the two apart, unless what the prompt gives away has the looks of a marker.
    fn marker_in_prompt(&self) -> Option<Diagnostic> {
        let wanted: Vec<RequiredText> = self.case.checks.iter().filter_map(RequiredText::of).collect();
        let prompt = &self.case.prompt;
        // Compiling patterns is what takes long in a large repository, and plain text often settles it.
        let not_all = wanted.iter().any(|wanted| wanted.pattern.is_literal() && !wanted.stands_in(prompt));
        let matters = |wanted: &&RequiredText| wanted.pattern.is_literal() || !not_all || wanted.looks_like_marker();
        let given: Vec<&RequiredText> =
            wanted.iter().filter(matters).filter(|wanted| wanted.stands_in(prompt)).collect();
        let first = given.iter().find(|wanted| wanted.looks_like_marker()).or_else(|| {
            let all = given.len() == wanted.len();
            given.first().filter(|_| all)
        })?;
        let message = format!("`{}` stands in the prompt already: repeating the prompt passes", first.pattern.text);
        Some(
            Diagnostic::new(Code::MarkerInPrompt, self.place(first.key, Some(&first.pattern.text)), message)
                .help("look for a marker that only the skill's own text gives away"),
        )
    }

    /// Where `text` stands in the value of `key`, or the value, or the case.
    fn place(&self, key: &str, text: Option<&str>) -> SourceLocation {
        self.found.source.place(key, text, self.tree).unwrap_or_else(|| self.case.origin.clone())
    }
}

/// A text that the final message must hold.
struct RequiredText<'a> {
    key: &'static str,
    pattern: &'a Pattern,
}

impl<'a> RequiredText<'a> {
    fn of(check: &'a Check) -> Option<Self> {
        let (pattern, wanted) = check.ask.text()?;
        (wanted == Presence::Present).then_some(Self { key: check.origin.key, pattern })
    }

    /// Plain text is looked for in any case, even where the final message must have it exactly: an agent that repeats
    /// its prompt may well get the case right.
    fn stands_in(&self, prompt: &str) -> bool {
        // Compiling plain text is what takes long in a large repository.
        let regex = if self.pattern.is_literal() { None } else { self.pattern.compile().ok() };
        match regex {
            Some(regex) => regex.is_match(prompt),
            None => prompt.to_lowercase().contains(&self.pattern.text.to_lowercase()),
        }
    }

    /// Whether it holds a word like `SKILL_MARKER`.
    fn looks_like_marker(&self) -> bool {
        self.pattern
            .text
            .split(|c: char| !c.is_ascii_alphanumeric() && c != '_')
            .any(|word| word.len() >= 6 && word.contains('_') && !word.contains(|c: char| c.is_ascii_lowercase()))
    }
}

/// Where `word` stands in `text`, in any case, not as a part of a longer word.
fn find_word(text: &str, word: &str) -> Option<usize> {
    let text = text.to_lowercase();
    let joins = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_');
    let word = word.to_lowercase();
    if word.is_empty() {
        return None;
    }
    text.match_indices(&word).map(|(at, _)| at).find(|&at| {
        let before = text[..at].chars().next_back();
        let after = text[at + word.len()..].chars().next();
        !before.is_some_and(joins) && !after.is_some_and(joins)
    })
}
