//! The texts of skills, read once for all trials of a run: what a trace is held against to see what came before a model.
//!
//! The right text is the one that the agent was given. For a trial of a run that is the run's own copy of the skills; for
//! a recording it is the repository's: the recording is stale anyway where a skill that it opened has changed. So it is with
//! what skills became in mid-session.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use walkdir::WalkDir;

use crate::cases::catalog::Catalog;
use crate::cases::repository::{Layout, Repository, Scope};
use crate::run::digests::opened_skills;
use crate::skill::SKILL_FILE;
use crate::store::TrialFolder;
use crate::text::relative_path::RelativePath;
use crate::trace::change::ChangeMeta;
use crate::trace::exposure::{Reference, SkillTexts, TextIndex, TextIndexBuilder};
use crate::trial::evidence::Meta;

/// Longest file that is read, in bytes; longer ones are no text that a model is shown.
const MAX_FILE: u64 = 8 << 20;

/// Reads and keeps texts.
#[derive(Debug, Default)]
pub struct TextReader {
    known: Mutex<HashMap<PathBuf, Arc<TextIndex>>>,
}

impl TextReader {
    /// All skills below a run's own copy, `<slug>/…`.
    pub fn snapshot(&self, folder: &Path) -> SkillTexts {
        SkillTexts::new(vec![self.once(folder.to_path_buf(), |texts| {
            for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
                add_folder(texts, &entry.file_name().to_string_lossy(), &entry.path(), |_| true);
            }
        })])
    }

    /// What the trace of a stored trial is read against.
    pub fn reference(&self, root: &Path, catalog: &Catalog, meta: &Meta, folder: &TrialFolder) -> Reference {
        let texts = match folder.snapshot(meta.commit.as_deref()) {
            Some(snapshot) => self.snapshot(&snapshot),
            None => self.of_repository(root, catalog, meta),
        };
        let changes = meta.changes.iter().enumerate();
        let kept = folder.changes();
        let texts = if kept.is_dir() {
            texts.and(of_changes(&kept, changes.map(|(number, change)| (number, change.skill.as_str()))))
        } else {
            let of_change = |(number, change): (usize, &ChangeMeta)| {
                // What a file says of itself leads nowhere out of the repository.
                let folder = RelativePath::parse(change.folder.as_ref()?.to_str()?).ok()?;
                Some(of_change(number, &change.skill, &root.join(folder.as_path())))
            };
            texts.and(changes.filter_map(of_change))
        };
        Reference { names: meta.tool_names(), texts, changes: Vec::new() }
    }

    /// The same, where only the trial's folder is known: a recording's repository is looked for above it.
    pub fn reference_at(&self, meta: &Meta, folder: &TrialFolder) -> Reference {
        // evals, recordings, skill, case, mode, number.
        let root = folder.path().ancestors().nth(6).unwrap_or(folder.path()).to_path_buf();
        let catalog = match folder.snapshot(meta.commit.as_deref()) {
            Some(_) => Catalog::default(),
            None => Repository { root: root.clone() }.catalog(Layout::default(), Scope::All),
        };
        self.reference(&root, &catalog, meta, folder)
    }

    /// Every SKILL.md of the repository, and the other files of the skill under test and of those that were opened.
    fn of_repository(&self, root: &Path, catalog: &Catalog, meta: &Meta) -> SkillTexts {
        let mut parts = vec![self.once(root.to_path_buf(), |texts| {
            for found in &catalog.skills {
                texts.add(&found.skill().slug, SKILL_FILE, &found.bytes);
            }
        })];
        let mut slugs = opened_skills(&meta.inputs);
        slugs.push(meta.skill.slug.clone());
        slugs.sort_unstable();
        slugs.dedup();
        for found in slugs.iter().filter_map(|slug| catalog.skill(slug)) {
            let skill = found.skill();
            let folder = root.join(&skill.folder);
            parts.push(self.once(folder.clone(), |texts| {
                add_folder(texts, &skill.slug, &folder, |path| path != SKILL_FILE);
            }));
        }
        SkillTexts::new(parts)
    }

    fn once(&self, key: PathBuf, read: impl FnOnce(&mut TextIndexBuilder)) -> Arc<TextIndex> {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let texts = known.entry(key).or_insert_with(|| {
            let mut texts = TextIndexBuilder::default();
            read(&mut texts);
            texts.build()
        });
        Arc::clone(texts)
    }
}

/// The skills as they are from changes on, which a trial keeps in the folder `kept`; of each change its number and the slug of
/// its skill.
pub fn of_changes<'a>(
    kept: &Path,
    changes: impl Iterator<Item = (usize, &'a str)>,
) -> impl Iterator<Item = Arc<TextIndex>> {
    changes.map(move |(number, slug)| of_change(number, slug, &kept.join(number.to_string())))
}

fn of_change(number: usize, slug: &str, folder: &Path) -> Arc<TextIndex> {
    let mut texts = TextIndexBuilder::of_change(number);
    add_folder(&mut texts, slug, folder, |_| true);
    texts.build()
}

/// Adds the plain files below a skill's folder; of what cannot be read, the name.
fn add_folder(texts: &mut TextIndexBuilder, slug: &str, folder: &Path, wanted: impl Fn(&str) -> bool) {
    for entry in WalkDir::new(folder).sort_by_file_name().into_iter().flatten() {
        let path = entry.path().strip_prefix(folder).unwrap_or(entry.path()).to_string_lossy().into_owned();
        let Some(size) = entry.metadata().ok().filter(fs::Metadata::is_file).map(|found| found.len()) else { continue };
        if wanted(&path) {
            let content = if size <= MAX_FILE { fs::read(entry.path()) } else { Ok(Vec::new()) };
            texts.add(slug, &path, &content.unwrap_or_default());
        }
    }
}
