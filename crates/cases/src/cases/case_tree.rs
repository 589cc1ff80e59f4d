//! A tree of the repository as the parts of cases find their files in it: the working tree, or a commit.

use std::collections::HashMap;
use std::fmt::Display;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, OnceLock, PoisonError};

use crate::cases::case::Case;
use crate::cases::judge_files;
use crate::cases::mocks::{self, MockServers};
use crate::cases::program_content;
use crate::cases::repository::Repository;
use crate::cases::skill_material::skill_material;
use crate::cases::start_files::start_files;
use crate::checks::CaseCheck;
use crate::files::material::Material;
use crate::files::{inside, look};
use crate::settings::Settings;
use crate::settings::mode::Delivery;
use crate::trial::evidence::digest;

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
        let program = check.program().map(|program| program_content::digest(self.root, program));
        let content = program.or_else(snapshot).transpose()?;
        Ok(digest(format!("{text}\n{}", content.unwrap_or_default()).as_bytes()))
    }

    /// By what a judge grades the trials of a case; `None` if none does.
    pub(in crate::cases) fn judge(&self, case: &Case) -> Option<String> {
        let [template, schema] = self.known.rubric.get_or_init(|| {
            let texts = judge_files::texts(self.root, self.settings);
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
