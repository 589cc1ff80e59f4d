//! The skills of a repository and their cases.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::cases::case::{Case, FoundCase};
use crate::cases::mocks::MockServers;
use crate::cases::other_skill::OtherSkill;
use crate::cases::plugin::Plugin;
use crate::settings::mode::{Delivery, Mode};
use crate::skill::{SKILL_FILE, Skill, SkillFile, slug};
use crate::text::diagnostic::{Code, Diagnostic, suggest};
use crate::text::problem::Problem;

pub use crate::cases::case_folders::{EVALS, SKILL_EVALS, evals_folder};

/// The schema that answers in built-in cases must follow if it exists, from the repository's root.
pub const RESPONSE_SCHEMA: &str = "evals/schemas/skill_response.schema.json";

/// What runs leave, from the repository's root: no skills or cases are in it.
pub const ARTIFACTS: &str = "artifacts";

/// The file of cases that `init` and `generate` write into the skill's directory in [`SKILL_EVALS`].
pub const PROMPTS: &str = "prompts.csv";

/// The skills and cases of a repository, in a fixed order.
#[derive(Debug, Default)]
pub struct Catalog {
    /// The skills, by slug.
    pub skills: Vec<FoundSkill>,
    /// The cases, by skill, then in the order of their files.
    pub cases: Vec<Arc<FoundCase>>,
    /// The files named SKILL.md that are no skills here, by path.
    pub others: Vec<OtherSkill>,
    /// Problems that belong to no single case: unreadable files, duplicate slugs, cases without a skill.
    pub problems: Vec<Diagnostic>,
    /// Those of them about what is there and could not be read: with it, there may be more skills and cases.
    pub unread: Vec<Diagnostic>,
    /// The files and directories that it was made from besides skills, each with the file that led to it, often itself.
    pub sources: BTreeMap<PathBuf, Arc<Path>>,
    /// What is answered from files in place of MCP servers, as far as somebody asked.
    pub mock_servers: MockServers,
}

/// A skill of a repository.
#[derive(Debug)]
pub struct FoundSkill {
    /// Its SKILL.md, parsed.
    pub file: SkillFile,
    /// The content of its SKILL.md.
    pub bytes: Vec<u8>,
    /// Whether it has cases of its own rather than the built-in ones.
    pub curated: bool,
    /// The plugin that it belongs to.
    pub plugin: Option<Arc<Plugin>>,
}

impl FoundSkill {
    pub fn skill(&self) -> &Skill {
        &self.file.skill
    }

    /// The plugin with which the agent of a trial gets the skill. One without plugins gets the skill's directory, and so does the
    /// agent of a case that changes skills during the session.
    pub fn plugin_for(&self, mode: &Mode, case: &Case) -> Option<&Arc<Plugin>> {
        let has_plugins = mode.delivery == Delivery::Native && mode.agent.profile().plugins.is_some();
        self.plugin.as_ref().filter(|_| has_plugins && case.during.is_empty())
    }

    /// Its name in the list of an agent that gets it with this plugin.
    pub fn name_in(&self, plugin: &Plugin) -> String {
        plugin.name_of(&self.skill().folder, &self.skill().name)
    }

    /// The directory of its eval material, from the repository's root.
    pub fn evals(&self) -> PathBuf {
        evals_folder(&self.file.skill.slug)
    }
}

impl Catalog {
    /// The skill with this slug.
    pub fn skill(&self, slug: &str) -> Option<&FoundSkill> {
        self.skills.get(self.position(slug)?)
    }

    /// The skill with this name, or what is wrong and what to write instead.
    pub fn named_skill(&self, name: &str) -> Result<&FoundSkill, Problem> {
        let slug = slug(name);
        self.skill(&slug).ok_or_else(|| self.unknown_skill(name).into())
    }

    /// What is said of the name of a skill that is not here.
    pub fn unknown_skill(&self, name: &str) -> String {
        let slug = slug(name);
        let unknown = || format!("unknown skill `{name}`; {}", suggest(&slug, &self.slugs()));
        self.unread_skill(&slug).unwrap_or_else(unknown)
    }

    /// Why the skill with this slug is not here, if it is in the repository and cannot be read.
    pub fn unread_skill(&self, slug: &str) -> Option<String> {
        let file = Path::new(slug).join(SKILL_FILE);
        let is_it = |path: &Path| path.ends_with(&file) || path.ends_with(slug);
        let why =
            self.problems.iter().find(|problem| problem.code == Code::Unreadable && is_it(&problem.place.path))?;
        Some(format!("the skill `{slug}` is not known: {}: {}", why.place.path.display(), why.message))
    }

    pub(super) fn skill_mut(&mut self, slug: &str) -> Option<&mut FoundSkill> {
        let position = self.position(slug)?;
        self.skills.get_mut(position)
    }

    /// Adds files that nothing else led to.
    pub(super) fn add_sources(&mut self, paths: impl IntoIterator<Item = PathBuf>) {
        self.sources.extend(paths.into_iter().map(|path| (path.clone(), path.into())));
    }

    fn position(&self, slug: &str) -> Option<usize> {
        self.skills.binary_search_by(|found| found.skill().slug.as_str().cmp(slug)).ok()
    }

    /// The slugs of its skills.
    pub fn slugs(&self) -> Vec<&str> {
        self.skills.iter().map(|found| found.skill().slug.as_str()).collect()
    }

    /// The cases of the skill with this slug.
    pub fn cases_of<'a>(&'a self, slug: &'a str) -> impl Iterator<Item = &'a Arc<FoundCase>> {
        let first = self.cases.partition_point(|case| &*case.skill < slug);
        self.cases[first..].iter().take_while(move |case| &*case.skill == slug)
    }
}
