//! The files named SKILL.md that are no skills of the catalog. Each is named: nobody may believe that it was checked.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use crate::cases::catalog::Catalog;
use crate::cases::other_skill::{NotRead, OtherSkill};
use crate::cases::repo_files::RepoFiles;
use crate::settings::FILE;
use crate::skill::{SKILL_FILE, SkillFile};
use crate::text::cut;
use crate::text::diagnostic::{Code, Diagnostic, SourceLocation};

/// The most names of skills that a message has of one directory.
const MOST_NAMES: usize = 30;

/// Directories whose skills are material of tests and cases.
const FIXTURES: [&str; 7] = ["_fixtures", "eval", "evals", "evaluations", "fixture", "fixtures", "testdata"];

/// Whether a directory of this name has material of tests.
pub(super) fn is_fixture(name: &OsStr) -> bool {
    FIXTURES.iter().any(|known| name == *known)
}

/// The skill at `file`, if the catalog does not have it.
pub(super) fn other_skill(
    file: &Path,
    catalog: &Catalog,
    folders: &BTreeSet<PathBuf>,
    tree: &dyn RepoFiles,
) -> Option<OtherSkill> {
    let folder = file.parent()?;
    let is_named = file.file_name()? == SKILL_FILE;
    if is_named && folders.contains(folder) {
        return None;
    }
    let bytes = tree.read(file).unwrap_or_default();
    let slug = SkillFile::parse(folder, &bytes).skill.slug;
    let why = if !is_named {
        // The file systems of some machines do not tell the two apart.
        if folders.contains(folder) {
            return None;
        }
        NotRead::FileName
    } else if folder.iter().any(is_fixture) {
        NotRead::Fixture
    } else if catalog.skill(&slug).is_some_and(|known| known.bytes == bytes) {
        NotRead::Copy
    } else if catalog.skill(&slug).is_some() {
        NotRead::SameName
    } else if folder.ancestors().skip(1).any(|above| folders.contains(above) && !above.as_os_str().is_empty()) {
        NotRead::InSkill
    } else {
        NotRead::Outside
    };
    Some(OtherSkill { file: file.to_path_buf(), slug, why, case_files: 0 })
}

/// The skill root that has it.
fn root(other: &OtherSkill) -> &Path {
    if other.why == NotRead::InSkill { other.folder() } else { root_of(other.folder()) }
}

/// The skill root that is usual for the skill in this directory.
fn root_of(folder: &Path) -> &Path {
    let is_hidden = folder.iter().any(|part| part.as_encoded_bytes().starts_with(b"."));
    let usual =
        ["skills", "plugins"].map(Path::new).into_iter().find(|root| folder.starts_with(root) && *root != folder);
    let usual = usual.filter(|root| !is_hidden || *root == Path::new("skills"));
    // The repository's root is none: each skill in it is one.
    let parent = || folder.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(folder);
    usual.unwrap_or_else(parent)
}

/// The line of evals.toml that names the roots of the catalog's skills and `more` of them.
pub(super) fn roots_line<'a>(catalog: &'a Catalog, more: impl IntoIterator<Item = &'a Path>) -> String {
    let known = catalog.skills.iter().map(|found| root_of(&found.skill().folder));
    let roots: BTreeSet<&Path> = known.chain(more).collect();
    let roots: Vec<String> = roots.iter().map(|root| format!("{:?}", shown(root))).collect();
    format!("skill_roots = [{}]", roots.join(", "))
}

/// What is said of the skills that are not read: one finding for all that a setting would add, one for wrong names.
pub(super) fn findings(catalog: &Catalog) -> Vec<Diagnostic> {
    let of = |kinds: &'static [NotRead]| catalog.others.iter().filter(|other| kinds.contains(&other.why));
    let mut findings = Vec::new();
    let mut by_root: BTreeMap<&Path, Vec<&OtherSkill>> = BTreeMap::new();
    for other in of(&[NotRead::Outside, NotRead::InSkill]) {
        by_root.entry(root(other)).or_default().push(other);
    }
    if let Some(first) = by_root.values().flatten().next() {
        let places = by_root.iter().map(|(root, others)| format!("{} ({})", shown(root), names(others)));
        let count: usize = by_root.values().map(Vec::len).sum();
        let message = format!(
            "{} outside every skill root and not read{}: {}",
            if count == 1 { "a skill is".to_owned() } else { format!("{count} skills are") },
            with_cases(by_root.values().flatten().copied()),
            places.collect::<Vec<_>>().join(", ")
        );
        let help = format!("to test them too, write in {FILE}: {}", roots_line(catalog, by_root.keys().copied()));
        findings.push(Diagnostic::new(Code::SkillRoot, SourceLocation::file(&first.file), message).help(help));
    }
    // Two skills of one name in one root are an error already, which names the second.
    let of_skills = catalog.skills.iter().flat_map(|found| &found.file.problems);
    let collisions = of_skills.filter(|problem| problem.code == Code::SlugCollision);
    let collisions: BTreeSet<&Path> = collisions.map(|problem| &*problem.place.path).collect();
    let of_one_name: Vec<&OtherSkill> = catalog
        .others
        .iter()
        .filter(|other| match other.why {
            NotRead::SameName => other.case_files > 0 || !collisions.contains(&*other.file),
            NotRead::Copy => other.case_files > 0,
            _ => false,
        })
        .collect();
    let help = format!("rename one of each two, or name the directory of one in {FILE}: `skill_roots`");
    findings.extend(not_read("because another skill has the same name", &of_one_name, &help));
    let misnamed: Vec<&OtherSkill> = of(&[NotRead::FileName]).collect();
    let help = format!("if it is a skill, rename the file to {SKILL_FILE}");
    findings.extend(not_read(&format!("since agents find only files named {SKILL_FILE}"), &misnamed, &help));
    findings
}

/// What is said of skills that are not read for one reason.
fn not_read(why: &str, others: &[&OtherSkill], help: &str) -> Option<Diagnostic> {
    let first = others.first()?;
    let files: Vec<String> = others.iter().map(|other| other.file.display().to_string()).collect();
    let with_cases = with_cases(others.iter().copied());
    let message = format!("not read{with_cases}, {why}: {}", cut::names(&files, MOST_NAMES));
    Some(Diagnostic::new(Code::SkillRoot, SourceLocation::file(&first.file), message).help(help))
}

/// The files of cases that are not read with these skills, as the end of a sentence.
fn with_cases<'a>(others: impl Iterator<Item = &'a OtherSkill>) -> String {
    match others.map(|other| other.case_files).sum::<usize>() {
        0 => String::new(),
        1 => ", nor is a file of cases".to_owned(),
        cases => format!(", nor are {cases} files of cases"),
    }
}

fn shown(root: &Path) -> String {
    if root.as_os_str().is_empty() { ".".to_owned() } else { root.display().to_string() }
}

fn names(others: &[&OtherSkill]) -> String {
    let names: Vec<&str> = others.iter().map(|other| other.slug.as_str()).collect();
    cut::names(&names, MOST_NAMES)
}
