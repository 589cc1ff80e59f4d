//! The texts of skills, read once for all trials of a run. A trace is compared with them to find what entered the model's
//! context.
//!
//! A trial of a run is compared with the run's own copy of the skills. A recording is compared with the repository, because
//! it is stale anyway if a skill that it opened has changed. The same applies to changes of skills during a session.

use std::collections::HashMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use crate::cases::catalog::Catalog;
use crate::cases::plugin::PLUGINS;
use crate::cases::repository::{Layout, Repository, Scope};
use crate::files::at::{At, PathError};
use crate::files::{inside, look};
use crate::run::digests::opened_skills;
use crate::skill::SKILL_FILE;
use crate::store::{StoreError, TrialFolder};
use crate::text::relative_path::RelativePath;
use crate::trace::exposure::{Reference, SkillTexts, TextIndex, TextIndexBuilder};
use crate::trial::evidence::Meta;

/// Longest file that is read, in bytes; no agent shows a longer text to its model.
const MAX_FILE: u64 = 8 << 20;

#[derive(Debug, Default)]
pub struct TextReader {
    indexes: Mutex<HashMap<PathBuf, Arc<TextIndex>>>,
    /// The first error. Without a text, nothing shows that it entered the context.
    unread: Mutex<Option<(PathBuf, String)>>,
}

impl TextReader {
    /// All skills in a run's own copy, `<slug>/…`.
    pub fn snapshot(&self, folder: &Path) -> SkillTexts {
        SkillTexts::new(vec![self.once(folder.to_path_buf(), |texts| {
            let entries = self.noting(look::entries(folder)).unwrap_or_default();
            // The skills of plugins are there, too.
            for entry in entries.iter().filter(|entry| entry.file_name() != PLUGINS) {
                self.add_folder(texts, &entry.file_name().to_string_lossy(), entry.path(), |_| true);
            }
        })])
    }

    /// Fails if a text could not be read so far.
    pub fn whole(&self) -> Result<(), StoreError> {
        let unread = self.unread.lock().unwrap_or_else(PoisonError::into_inner).clone();
        unread.map_or(Ok(()), |(path, why)| Err(PathError { path, source: io::Error::other(why) }.into()))
    }

    fn noting<T>(&self, result: Result<T, PathError>) -> Option<T> {
        let note = |error: &PathError| {
            let mut unread = self.unread.lock().unwrap_or_else(PoisonError::into_inner);
            unread.get_or_insert_with(|| (error.path.clone(), error.source.to_string()));
        };
        result.inspect_err(note).ok()
    }

    /// What the trace of a stored trial is compared with.
    pub fn reference(&self, root: &Path, catalog: &Catalog, meta: &Meta, folder: &TrialFolder) -> Reference {
        let texts = match self.snapshot_of(meta, folder) {
            Some(snapshot) => self.snapshot(&snapshot),
            None => self.of_repository(root, catalog, meta),
        };
        let changes = meta.changes.iter().enumerate();
        let stored = folder.changes();
        let texts = if self.noting(look::is_directory(&stored)).unwrap_or(false) {
            texts.and(self.of_changes(&stored, changes.map(|(number, change)| (number, change.skill.as_str()))))
        } else {
            texts.and(changes.filter_map(|(number, change)| {
                // A stored path must not lead out of the repository.
                let folder = RelativePath::parse(change.folder.as_ref()?.to_str()?).ok()?;
                Some(self.of_change(number, &change.skill, &inside::real(root, folder.as_path()).ok()?))
            }))
        };
        let in_plugin = meta.skill.in_plugin.clone().map(|name| (name, meta.skill.slug.clone()));
        Reference {
            names: meta.tool_names(),
            served: meta.server.as_ref().map(|server| server.tools.clone()).unwrap_or_default(),
            texts,
            changes: Vec::new(),
            follow_ups: meta.case.follow_ups.len(),
            in_plugin,
        }
    }

    /// As [`reference`](Self::reference), if only the trial's directory is known: a recording's repository contains it.
    pub fn reference_at(&self, meta: &Meta, folder: &TrialFolder) -> Reference {
        // The recording is evals/recordings/<skill>/<case>/<mode>/<number>.
        let root = folder.path().ancestors().nth(6).unwrap_or(folder.path()).to_path_buf();
        let catalog = match self.snapshot_of(meta, folder) {
            Some(_) => Catalog::default(),
            None => Repository::new(root.clone()).catalog(Layout::default(), Scope::All),
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
                self.add_folder(texts, &skill.slug, &folder, |path| path != SKILL_FILE);
            }));
        }
        SkillTexts::new(parts)
    }

    fn once(&self, key: PathBuf, read: impl FnOnce(&mut TextIndexBuilder)) -> Arc<TextIndex> {
        let mut indexes = self.indexes.lock().unwrap_or_else(PoisonError::into_inner);
        let index = indexes.entry(key).or_insert_with(|| {
            let mut texts = TextIndexBuilder::default();
            read(&mut texts);
            texts.build()
        });
        Arc::clone(index)
    }

    fn snapshot_of(&self, meta: &Meta, folder: &TrialFolder) -> Option<PathBuf> {
        let snapshot = folder.snapshot(meta.commit.as_deref());
        snapshot.unwrap_or_else(|error| {
            self.noting::<()>(Err(io::Error::other(error)).at(folder.path()));
            None
        })
    }

    /// The skills after changes, which a trial stores in the directory `stored`. Each change has its number and the slug of its
    /// skill.
    pub fn of_changes<'a>(
        &self,
        stored: &Path,
        changes: impl Iterator<Item = (usize, &'a str)>,
    ) -> impl Iterator<Item = Arc<TextIndex>> {
        changes.map(move |(number, slug)| self.of_change(number, slug, &stored.join(number.to_string())))
    }

    fn of_change(&self, number: usize, slug: &str, folder: &Path) -> Arc<TextIndex> {
        let mut texts = TextIndexBuilder::of_change(number);
        self.add_folder(&mut texts, slug, folder, |_| true);
        texts.build()
    }

    /// Adds the plain files in a skill's directory. A file that is too long has an empty text.
    fn add_folder(&self, texts: &mut TextIndexBuilder, slug: &str, folder: &Path, wanted: impl Fn(&str) -> bool) {
        for entry in self.noting(look::Walk::new(folder).all()).unwrap_or_default() {
            let path = entry.path().strip_prefix(folder).unwrap_or(entry.path()).to_string_lossy().into_owned();
            if entry.file_type().is_file() && wanted(&path) {
                let length = fs::metadata(entry.path()).map(|file| file.len());
                let content =
                    length.and_then(|length| if length <= MAX_FILE { fs::read(entry.path()) } else { Ok(Vec::new()) });
                texts.add(slug, &path, &self.noting(content.at(entry.path())).unwrap_or_default());
            }
        }
    }
}
