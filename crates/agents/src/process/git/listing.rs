//! What git knows of files: which it tracks, and which it ignores.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::io::{self, Seek, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use super::{PATIENCE, failure, git, output, paths, stdout};
use crate::files::at::At;
use crate::files::bounded;
use crate::files::look::{self, Step, Walk};

/// Whether git knows a directory: it, or one above it, has `.git`. An empty one is left by sandboxes of agents.
pub fn knows(directory: &Path) -> io::Result<bool> {
    for above in directory.ancestors() {
        let own = above.join(".git");
        if look::is_file(&own)? || !look::entries(&own)?.is_empty() {
            return Ok(true);
        }
    }
    Ok(false)
}

/// The rules of git in a directory, by which it ignores files.
const RULES: &str = ".gitignore";

/// Whether git ignores anything in a directory. An error if it would wait for what is in the place of its rules.
fn has_rules(directory: &Path) -> io::Result<bool> {
    for above in directory.ancestors() {
        check_rules(above)?;
        let own = above.join(".git/info/exclude");
        look::kind(&own)?.map_or(Ok(()), bounded::check_kind).at(&own)?;
    }
    knows(directory)
}

/// Fails if git would wait for what is in the place of its rules in this directory.
fn check_rules(directory: &Path) -> io::Result<()> {
    let rules = directory.join(RULES);
    // git follows no link.
    let kind = look::own_kind(&rules)?.filter(|kind| !kind.is_symlink());
    Ok(kind.map_or(Ok(()), bounded::check_kind).at(&rules)?)
}

/// The same for each directory in these parts of a directory.
fn check_rules_in(directory: &Path, parts: &[&Path]) -> io::Result<()> {
    let mut refused = Ok(());
    for part in parts {
        for above in part.ancestors().skip(1) {
            check_rules(&directory.join(above))?;
        }
        let unread = Walk::new(&directory.join(part)).each(|entry| {
            if entry.file_name() == RULES && !entry.file_type().is_symlink() {
                refused = bounded::check_kind(entry.file_type()).at(entry.path());
            }
            if refused.is_ok() { Step::Into } else { Step::Stop }
        });
        // What cannot be read is git's to name.
        unread.report(|_| {});
        std::mem::replace(&mut refused, Ok(()))?;
    }
    Ok(())
}

/// The files in these parts of `directory` that git ignores.
pub fn ignored(directory: &Path, parts: &[&Path]) -> io::Result<BTreeSet<PathBuf>> {
    if parts.is_empty() || !has_rules(directory)? {
        return Ok(BTreeSet::new());
    }
    check_rules_in(directory, parts)?;
    let args = ["--literal-pathspecs", "ls-files", "-z", "--others", "--ignored", "--exclude-standard", "--"];
    // git takes no empty path for the directory.
    let parts = parts.iter().map(|part| if part.as_os_str().is_empty() { Path::new(".") } else { part });
    Ok(paths(&stdout(git(directory).args(args).args(parts))?).collect())
}

/// The files and whole directories in `directory` that git ignores, by their paths in it.
pub fn ignored_parts(directory: &Path) -> io::Result<Vec<String>> {
    if !has_rules(directory)? {
        return Ok(Vec::new());
    }
    check_rules_in(directory, &[Path::new("")])?;
    let args = ["ls-files", "-z", "--others", "--ignored", "--exclude-standard", "--directory"];
    let parts = stdout(git(directory).args(args))?;
    Ok(paths(&parts).map(|path| path.to_string_lossy().trim_end_matches('/').to_owned()).collect())
}

/// Those of these files of `directory` that git ignores, each by the rules of the repository that it is in: git refuses paths in a
/// submodule.
pub fn ignored_of(directory: &Path, files: &BTreeSet<PathBuf>) -> io::Result<BTreeSet<PathBuf>> {
    if files.is_empty() || !has_rules(directory)? {
        return Ok(BTreeSet::new());
    }
    let folders: BTreeSet<&Path> = files.iter().flat_map(|file| file.ancestors().skip(1)).collect();
    for folder in folders {
        check_rules(&directory.join(folder))?;
    }
    let mut inner: BTreeMap<&Path, bool> = BTreeMap::new();
    let mut of_repositories: BTreeMap<&Path, BTreeSet<&Path>> = BTreeMap::new();
    for file in files {
        let mut repository = Path::new("");
        for above in file.ancestors().skip(1).filter(|above| !above.as_os_str().is_empty()) {
            let is_repository = match inner.get(above) {
                Some(known) => *known,
                None => look::exists(&directory.join(above).join(".git"))?,
            };
            inner.insert(above, is_repository);
            if is_repository {
                repository = above;
                break;
            }
        }
        of_repositories.entry(repository).or_default().insert(file.strip_prefix(repository).unwrap_or(file));
    }
    let mut ignored = BTreeSet::new();
    for (repository, files) in of_repositories {
        let found = ignored_in(&directory.join(repository), &files)?;
        ignored.extend(found.into_iter().map(|file| repository.join(file)));
    }
    Ok(ignored)
}

/// Those of these files of one repository that it ignores.
fn ignored_in(directory: &Path, files: &BTreeSet<&Path>) -> io::Result<Vec<PathBuf>> {
    let mut names = tempfile::tempfile()?;
    let listed: Vec<u8> = files.iter().flat_map(|file| [file.as_os_str().as_bytes(), b"\0"].concat()).collect();
    names.write_all(&listed)?;
    names.rewind()?;
    let output = output(git(directory).args(["check-ignore", "-z", "--stdin"]).stdin(names), PATIENCE)?;
    // 1: it ignores none.
    if matches!(output.status.code(), Some(0 | 1)) {
        Ok(paths(&output.stdout).collect())
    } else {
        Err(failure(&output))
    }
}

/// The files at or in `part` of `directory` that the index has, whatever the case of their names; `None` if git does not know the
/// directory.
pub fn tracked(directory: &Path, part: &Path) -> io::Result<Option<Vec<PathBuf>>> {
    if !knows(directory)? {
        return Ok(None);
    }
    let mut pattern = OsString::from(":(icase,literal)");
    pattern.push(part);
    let listed = stdout(git(directory).args(["ls-files", "-z", "--"]).arg(pattern))?;
    Ok(Some(paths(&listed).collect()))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use nix::sys::stat::Mode;
    use nix::unistd::mkfifo;

    use super::*;

    fn repository() -> tempfile::TempDir {
        let directory = tempfile::tempdir().expect("a directory");
        stdout(git(directory.path()).args(["init", "--quiet"])).expect("git");
        directory
    }

    #[test]
    fn git_knows_a_directory_only_if_a_git_directory_is_above_it() {
        let directory = tempfile::tempdir().expect("a directory");
        let part = Path::new("artifacts");
        assert_eq!(tracked(directory.path(), part).expect("an answer"), None);
        // A sandbox of an agent leaves such a one.
        fs::create_dir(directory.path().join(".git")).expect("a directory");
        assert!(!knows(directory.path()).expect("an answer"));
        fs::write(directory.path().join(".git/HEAD"), "damaged").expect("a file");
        tracked(directory.path(), part).expect_err("git cannot say what it tracks");
        let repository = repository();
        assert_eq!(tracked(repository.path(), part).expect("an answer"), Some(Vec::new()));
    }

    #[test]
    fn a_pipe_in_the_place_of_rules_is_an_error_and_does_not_hang() {
        let repository = repository();
        let files = BTreeSet::from([PathBuf::from("deep/x")]);
        fs::create_dir(repository.path().join("deep")).expect("a directory");
        fs::write(repository.path().join("deep/x"), "").expect("a file");
        assert!(ignored_of(repository.path(), &files).expect("an answer").is_empty());
        let root = repository.path();
        for place in ["deep/.gitignore", ".gitignore", ".git/info/exclude"] {
            let rules = root.join(place);
            let before = fs::read(&rules).ok();
            if before.is_some() {
                fs::remove_file(&rules).expect("it is removed");
            }
            mkfifo(&rules, Mode::S_IRWXU).expect("a pipe");
            let answers =
                [ignored_of(root, &files).err(), ignored(root, &[Path::new("deep")]).err(), ignored_parts(root).err()];
            for error in answers {
                let error = error.expect("a pipe").to_string();
                assert!(error.contains(&format!("{place}: it is a named pipe")), "{error}");
            }
            fs::remove_file(&rules).expect("it is removed");
            if let Some(before) = before {
                fs::write(&rules, before).expect("a file");
            }
        }
        assert!(ignored_parts(root).expect("an answer").is_empty());
    }
}
