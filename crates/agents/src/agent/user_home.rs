//! The user's own setup of an agent, which a trial with `home = "user"` has: links in the trial's home to the user's files. Without
//! it, a trial gets the user's credentials and provider and nothing else.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use crate::agent::command::Assignment;
use crate::agent::files::{file_trouble, read_if_exists, write_private};
use crate::agent::secrets::secrets_in_file;
use crate::agent::trial_env::TrialEnv;
use crate::files::at::PathError;
use crate::files::look;
use crate::files::rooted::PRIVATE;
use crate::settings::Home;
use crate::settings::mode::AgentKind;
use crate::skill::{SkillFile, slug};
use crate::text::redact::strings;
use crate::trace::trouble::{Trouble, TroubleKind};

/// How the names of files with settings end.
const SETTINGS: [&str; 7] = [".json", ".jsonc", ".toml", ".yaml", ".yml", ".ini", ".env"];

/// The most files of a user's setup. More are somebody's whole disk.
const MAX_FILES: usize = 100_000;

/// A file or directory of the user's setup.
struct SetupPath {
    in_home: PathBuf,
    source: PathBuf,
}

/// The path in a variable of the user, unless it is empty.
pub(super) fn variable(name: &str) -> Option<PathBuf> {
    std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from)
}

/// Where the user has the file or directory with this path in the home, for this agent; empty without a home.
pub(super) fn users_path(kind: AgentKind, path: &str) -> PathBuf {
    let moved = kind.profile().moved_by.iter().find_map(|(directory, name)| {
        let rest = Path::new(path).strip_prefix(directory).ok()?;
        Some(variable(name)?.join(rest))
    });
    let path = moved.or_else(|| Some(variable("HOME")?.join(path))).unwrap_or_default();
    // A link to a relative one would lead elsewhere. An empty one stays empty.
    if path.is_relative() { path.canonicalize().unwrap_or(path) } else { path }
}

/// Copies the user's file with this path in the home to the trial's, if it exists. Returns the credentials in it.
pub(super) fn copy_login(kind: AgentKind, path: &str, trial_env: &TrialEnv) -> Result<Vec<String>, Trouble> {
    let Some(text) = read_if_exists(&users_path(kind, path))? else { return Ok(Vec::new()) };
    write_private(&trial_env.home().join(path), text.as_bytes())?;
    // A short one is known by its key alone.
    let mut secrets = secrets_in_file(path, &text);
    secrets.extend(serde_json::from_str(&text).map_or_else(|_| vec![text.trim().to_owned()], |login| strings(&login)));
    Ok(secrets)
}

/// The files of the user's setup, and the entries of its directories. Hidden ones are the agent's own.
fn setup(kind: AgentKind) -> Result<Vec<SetupPath>, Trouble> {
    let mut all = Vec::new();
    for path in kind.profile().setup {
        let source = users_path(kind, path);
        match look::kind(&source).map_err(unreadable)? {
            None => {}
            Some(kind) if kind.is_dir() => {
                let entries = look::entries(&source).map_err(unreadable)?;
                let visible =
                    entries.into_iter().filter(|entry| !entry.file_name().as_encoded_bytes().starts_with(b"."));
                all.extend(visible.map(|entry| {
                    let in_home = Path::new(path).join(entry.file_name());
                    SetupPath { in_home, source: entry.into_path() }
                }));
            }
            Some(_) => all.push(SetupPath { in_home: PathBuf::from(path), source }),
        }
    }
    all.sort_by(|a, b| a.in_home.cmp(&b.in_home));
    Ok(all)
}

/// Every file and link at this path and in it.
fn files(path: &Path) -> Result<Vec<PathBuf>, Trouble> {
    let mut files = Vec::new();
    if !look::is_directory(path).map_err(unreadable)? {
        files.push(path.to_path_buf());
    }
    let unread = look::Walk::new(path).following_links().each(|entry| {
        files.push(entry.path().to_path_buf());
        if files.len() > MAX_FILES { look::WalkStep::Stop } else { look::WalkStep::Into }
    });
    if files.len() > MAX_FILES {
        let why = format!("the user's setup: {} has more than {MAX_FILES} files", path.display());
        return Err(Trouble::new(TroubleKind::Files, why));
    }
    unread.none().map_err(unreadable)?;
    Ok(files)
}

fn unreadable(error: PathError) -> Trouble {
    let PathError { path, source } = error;
    Trouble::new(TroubleKind::Files, format!("the user's setup: {}: {source}", path.display()))
}

/// The digest of each part of the user's setup, by its path in the home.
pub fn digests(kind: AgentKind) -> Result<BTreeMap<String, String>, Trouble> {
    let mut digests = BTreeMap::new();
    for SetupPath { in_home, source } in setup(kind)? {
        let mut hasher = blake3::Hasher::new();
        for file in files(&source)? {
            if !look::is_file(&file).map_err(unreadable)? {
                continue;
            }
            hasher.update(file.strip_prefix(&source).unwrap_or(&file).as_os_str().as_encoded_bytes());
            let content = fs::File::open(&file).and_then(|file| hasher.update_reader(file).map(|_| ()));
            content.map_err(|error| file_trouble(&file, &error))?;
        }
        digests.insert(in_home.display().to_string(), hasher.finalize().to_hex()[..32].to_owned());
    }
    Ok(digests)
}

/// Links the user's setup into the trial's home, if the settings ask for it. Returns what the agent has to read for that, and
/// the credentials in it.
pub(super) fn link(assignment: &Assignment<'_>) -> Result<(Vec<PathBuf>, Vec<String>), Trouble> {
    let (mut reads, mut secrets) = (Vec::new(), Vec::new());
    if assignment.settings.isolation.home == Home::Isolated {
        return Ok((reads, secrets));
    }
    for SetupPath { in_home, source } in setup(assignment.mode.agent)? {
        check_own_skill(&in_home, &source, &assignment.case.skill)?;
        assignment.trial_env.home().join(in_home).link_to(&source)?;
        for file in files(&source)? {
            let name = file.file_name().unwrap_or_default().to_string_lossy();
            // Other files are mostly prose, where the word after `password` is not one.
            if SETTINGS.iter().any(|end| name.ends_with(end)) && look::is_file(&file).map_err(unreadable)? {
                // Secrets in a file that cannot be read would not be masked.
                let text = read_if_exists(&file)?.unwrap_or_default();
                secrets.extend(secrets_in_file(&name, &text));
            }
            let is_link = look::own_kind(&file).map_err(unreadable)?.is_some_and(|kind| kind.is_symlink());
            if is_link {
                let target = look::unless_absent(file.canonicalize()).map_err(|error| file_trouble(&file, &error))?;
                reads.extend(target);
            }
        }
        reads.push(source);
    }
    Ok((reads, secrets))
}

/// Refuses a skill of the user with the name of the one under test: some agents take the one, some the other.
fn check_own_skill(in_home: &Path, source: &Path, tested: &str) -> Result<(), Trouble> {
    if !in_home.parent().is_some_and(|folder| folder.ends_with("skills")) {
        return Ok(());
    }
    let text = read_if_exists(&source.join("SKILL.md"))?.unwrap_or_default();
    let own = SkillFile::parse(source, text.as_bytes()).skill.slug;
    let folder = slug(&source.file_name().unwrap_or_default().to_string_lossy());
    if own == tested || folder == tested {
        let why = format!(
            "your own skill {} has the name of the skill under test: move it away, or leave out `home`",
            source.display()
        );
        return Err(Trouble::new(TroubleKind::NotDelivered, why));
    }
    Ok(())
}

/// Writes instructions of a trial to the file with this path in the home, after those of the user if the trial has them.
pub(super) fn add_instructions(assignment: &Assignment<'_>, path: &str, text: &str) -> Result<(), Trouble> {
    let users = match assignment.settings.isolation.home {
        Home::User => read_if_exists(&users_path(assignment.mode.agent, path))?,
        Home::Isolated => None,
    };
    let before = users.map_or_else(String::new, |users| users + "\n\n");
    Ok(assignment.trial_env.home().join(path).replace((before + text).as_bytes(), PRIVATE)?)
}
