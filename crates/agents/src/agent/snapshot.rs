//! Brings the skills to the agent.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::agent::trial_env::{OriginalSkills, ScratchDir, SkillContents, TrialEnv, WorkspaceError, file_mode};
use crate::cases::case::Case;
use crate::cases::catalog::{Catalog, FoundSkill};
use crate::cases::plugin::{PLUGINS, Plugin};
use crate::cases::skill_material::{plugin_material, skill_material};
use crate::files::at::At;
use crate::files::material::Material;
use crate::files::rooted::RootedPath;
use crate::files::{bounded, inside, look};
use crate::process::git;
use crate::settings::mode::{Delivery, Mode};
use crate::skill::SKILL_FILE;
use crate::text::problem::{About, Problem};

/// The skills at the start of the run: `<slug>/…`, outside the repository, so that no agent finds its way from a skill to the
/// grading files.
#[derive(Debug)]
pub struct SkillSnapshot {
    originals: Arc<OriginalSkills>,
    /// The digest of each skill as it was copied, or why it was not, by slug; and of each plugin, by its place.
    digests: BTreeMap<String, Result<String, Problem>>,
    /// Where the skills of plugins are, by slug: the place of the plugin, and the skill's directory in it.
    in_plugins: BTreeMap<String, (PathBuf, PathBuf)>,
}

impl SkillSnapshot {
    /// Copies the skills of `catalog`, found in `root`, into the scratch directory. A skill that cannot be copied is left out;
    /// [`Self::digest`] says why.
    pub fn take(scratch: &ScratchDir, root: &Path, catalog: &Catalog) -> Result<Self, WorkspaceError> {
        let directory = scratch.new_skills()?;
        let place = RootedPath::open(&directory).at(&directory)?;
        let mut digests = BTreeMap::new();
        let mut contents = SkillContents::default();
        for found in &catalog.skills {
            let to = place.join(&found.skill().slug);
            to.create_dir_all()?;
            let digest = copy_skill(&root.join(&found.skill().folder), found, &to, &mut contents);
            if digest.is_err() {
                // Otherwise trials of other skills would get a part of it.
                to.remove()?;
            }
            digests.insert(found.skill().slug.clone(), digest);
        }
        let mut in_plugins = BTreeMap::new();
        for (found, plugin) in catalog.skills.iter().filter_map(|found| Some((found, found.plugin.as_ref()?))) {
            let (skill, at) = (found.skill(), plugin.place());
            let inside = skill.folder.strip_prefix(&plugin.folder).unwrap_or(&skill.folder).to_path_buf();
            if let Entry::Vacant(new) = digests.entry(at.to_string_lossy().into_owned()) {
                let to = place.join(&at);
                to.create_dir_all()?;
                let copied = plugin_files(root, plugin).whole();
                let copied = copied.and_then(|material| contents.copy_skill(new.key(), &material, &to));
                new.insert(copied.about(format_args!("the plugin `{}` cannot be given to an agent", plugin.name)));
            }
            in_plugins.insert(skill.slug.clone(), (at, inside));
        }
        Ok(Self { in_plugins, originals: Arc::new(OriginalSkills::new(directory, contents)?), digests })
    }

    /// The digest of the skill with this slug, as `InputReader` of the crate `skill-evals` computes it. It is
    /// computed during the copy, so it is the digest of what agents get.
    pub fn digest(&self, slug: &str) -> Result<&str, Problem> {
        match self.digests.get(slug) {
            Some(digest) => Ok(digest.as_deref()?),
            None => Err(format!("the skill `{slug}` was not there when the run began").into()),
        }
    }

    /// Gives each trial a copy of its own, since trials may have changed those that they shared.
    pub fn keep_apart(&self) {
        self.originals.keep_apart();
    }

    /// The slugs of the skills.
    pub fn slugs(&self) -> impl Iterator<Item = &str> {
        self.digests.keys().map(String::as_str).filter(|name| !name.starts_with(PLUGINS))
    }

    /// Whether it has plugins, of which trials get one at most.
    pub fn has_plugins(&self) -> bool {
        !self.in_plugins.is_empty()
    }

    /// Only these skills: those of the plugin at this place with the plugin, the others by themselves.
    #[must_use]
    pub fn part(&self, slugs: &[String], plugin: Option<&Path>) -> Self {
        let place = |slug: &String| self.in_plugins.get(slug).filter(|(at, _)| Some(at.as_path()) == plugin);
        let alone: BTreeSet<&str> = slugs.iter().filter(|slug| place(slug).is_none()).map(String::as_str).collect();
        let of_plugin =
            self.in_plugins.iter().filter(|(slug, (at, _))| Some(at.as_path()) == plugin && !slugs.contains(slug));
        let without: Vec<PathBuf> = of_plugin.map(|(_, (at, inside))| at.join(inside)).collect();
        let originals = self.originals.part(|path| match plugin {
            Some(plugin) if path.starts_with(plugin) => !without.iter().any(|other| path.starts_with(other)),
            Some(plugin) if plugin.starts_with(path) => true,
            _ => path.iter().next().and_then(OsStr::to_str).is_some_and(|name| alone.contains(name)),
        });
        Self { originals: Arc::new(originals), digests: self.digests.clone(), in_plugins: self.in_plugins.clone() }
    }

    /// Whether a stored copy is one of these skills.
    pub fn is_copied_to(&self, path: &Path) -> Result<bool, WorkspaceError> {
        Ok(digest_of_files(path)? == digest_of_files(self.originals.directory())?)
    }

    /// A name for a stored copy, by what is in it.
    pub fn copy_name(&self) -> Result<String, WorkspaceError> {
        Ok(digest_of_files(self.originals.directory())?[..12].to_owned())
    }

    /// Stores a copy at `path`, unless there is one.
    pub fn keep(&self, path: &Path) -> Result<(), WorkspaceError> {
        self.originals.are_kept_in(path);
        if look::exists(path)? {
            return Ok(());
        }
        // Several processes may share a run: one of them renames its whole copy to the final path.
        let parent = path.parent().unwrap_or(Path::new("."));
        let temporary = tempfile::Builder::new().prefix(".new-").tempdir_in(parent).at(path)?;
        self.originals.copy(&RootedPath::open(temporary.path()).at(path)?.join("skills"))?;
        match fs::rename(temporary.path().join("skills"), path) {
            Err(_) if look::exists(path)? => Ok(()),
            result => Ok(result.at(path)?),
        }
    }
}

/// A digest of the files in a directory.
fn digest_of_files(folder: &Path) -> Result<String, WorkspaceError> {
    let mut files: Vec<PathBuf> = Vec::new();
    for entry in look::Walk::new(folder).all()? {
        files.extend(entry.file_type().is_file().then(|| entry.path().to_path_buf()));
    }
    files.sort();
    let mut hasher = blake3::Hasher::new();
    for path in files {
        let name = path.strip_prefix(folder).unwrap_or(&path);
        let content = blake3::hash(&fs::read(&path).at(&path)?);
        hasher.update(name.as_os_str().as_encoded_bytes()).update(&[0]).update(content.as_bytes());
    }
    Ok(hasher.finalize().to_hex().to_string())
}

/// The files of a plugin of the repository at `root` that an agent gets.
pub fn plugin_files(root: &Path, plugin: &Plugin) -> Material {
    let folder = root.join(&plugin.folder);
    let ignored = git::ignored_parts(&folder);
    ignored.map_or_else(Material::unreadable, |ignored| plugin_material(&folder, plugin, ignored))
}

/// Copies the skill in the directory `from` to the directory `to`, and adds its files to `contents`. Returns its digest.
fn copy_skill(
    from: &Path,
    found: &FoundSkill,
    to: &RootedPath,
    contents: &mut SkillContents,
) -> Result<String, Problem> {
    let slug = &found.skill().slug;
    let mut copied = SkillContents::default();
    let digest = skill_material(from)
        .whole()
        .and_then(|material| copied.copy_skill(slug, &material, to))
        .about(format_args!("the skill `{slug}` cannot be given to an agent"))?;
    // Cases and checks use the SKILL.md that was read before.
    if !to.join(SKILL_FILE).read(bounded::MAX_FILE).is_ok_and(|copied| copied == found.bytes) {
        return Err(format!("the SKILL.md of `{slug}` changed while the run began").into());
    }
    contents.add(copied);
    Ok(digest)
}

/// Prepares the changes of skills during the session that a case wants. Stores the new versions in `directory`, by number.
pub fn prepare_changes(
    case: &Case,
    repository: &Path,
    trial_env: &mut TrialEnv,
    directory: &Path,
) -> Result<(), WorkspaceError> {
    for (number, change) in case.during.iter().enumerate() {
        let mut material = None;
        if let Some(path) = &change.folder {
            let source = inside::real(repository, path.as_path()).at(&repository.join(path.as_path()))?;
            let failed = |problem| WorkspaceError::Skill { directory: source.clone(), problem };
            let listed = skill_material(&source).whole().map_err(failed)?;
            let to = directory.join(number.to_string());
            fs::create_dir_all(&to).at(&to)?;
            listed.copy(&RootedPath::open(&to).at(&to)?, file_mode).map_err(failed)?;
            material = Some(listed);
        }
        trial_env.prepare_change(change, material.as_ref())?;
    }
    Ok(())
}

/// Gives the skills to the trial environment, and links them where the mode's agent looks for skills. They are those of other
/// trials if they may be `shared`, or else its own copy.
pub fn deliver(
    mode: &Mode,
    snapshot: &SkillSnapshot,
    trial_env: &mut TrialEnv,
    shared: bool,
) -> Result<(), WorkspaceError> {
    if mode.delivery == Delivery::None {
        return Ok(());
    }
    if shared {
        trial_env.share_skills(&snapshot.originals)?;
    } else {
        trial_env.copy_skills(&snapshot.originals)?;
    }
    for link in links(mode) {
        trial_env.workspace().join(link).link_to(OsString::from(trial_env.skills()))?;
    }
    Ok(())
}

/// Where the mode's agent finds the skills. With an MCP server, it must not find them by itself.
fn links(mode: &Mode) -> &'static [&'static str] {
    if mode.delivery.native() { mode.agent.profile().skill_folders } else { &[] }
}

/// What was done to the skills since they were delivered, if anything: the agent would get others, or none.
pub fn disturbed(mode: &Mode, trial_env: &TrialEnv) -> Option<String> {
    let skills = OsString::from(trial_env.skills());
    let is_kept = |link: &&&str| trial_env.workspace().join(link).link_target().is_ok_and(|to| to == *skills);
    let lost = links(mode).iter().find(|link| !is_kept(link)).map(|link| format!("it replaced or removed `{link}`"));
    let changed = || {
        let (changed, is_disputed) = trial_env.replaced_skills();
        let who = if is_disputed { "it or another trial" } else { "it" };
        changed.first().map(|path| format!("{who} changed {}", path.display()))
    };
    lost.or_else(changed).map(|what| format!("{what}, where the agent finds the skills under test"))
}
