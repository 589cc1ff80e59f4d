//! What git is asked about the repository that holds a folder.

use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// The commit that `reference` names in the repository around `folder`, as a full hash.
///
/// # Errors
/// What git says: no repository, no such reference, no git.
pub fn commit(folder: &Path, reference: &str) -> io::Result<String> {
    if reference.starts_with('-') {
        return Err(io::Error::other(format!("{reference:?} is no git reference")));
    }
    let question = format!("{reference}^{{commit}}");
    let output =
        start(folder, None, Stdio::null(), ["rev-parse", "--verify", "--quiet", "--end-of-options", &question])?;
    let hash = String::from_utf8_lossy(&output.stdout).trim_end().to_owned();
    // Quiet about a name that it does not know, and about nothing else. What excludes a commit (`^main`) is none.
    match () {
        () if output.status.success() && hash.bytes().all(|byte| byte.is_ascii_hexdigit()) => Ok(hash),
        () if output.stderr.is_empty() => Err(io::Error::other(format!("git knows no commit {reference:?} here"))),
        () => Err(failed(&output)),
    }
}

/// Where `folder` lies below the root of its work tree; empty where it is that.
///
/// # Errors
/// What git says.
pub fn place(folder: &Path) -> io::Result<PathBuf> {
    ask(folder, None, &["rev-parse", "--show-prefix"]).map(PathBuf::from)
}

/// Writes what the commit holds of `parts` of `folder`, of all of it where there are none, to the folder `to`, which exists.
/// Returns where `folder` lies then: as far below `to` as it is below its work tree's root.
///
/// # Errors
/// What git says.
pub fn export(folder: &Path, commit: &str, parts: &[PathBuf], to: &Path) -> io::Result<PathBuf> {
    let place = place(folder)?;
    // An index of its own: the user's own index and work tree stay as they are. It holds the whole commit, and git lists
    // of it what lies below the folder it is started in: by their whole paths, attributes of any folder above hold too.
    let own = tempfile::Builder::new().prefix(".index-").tempdir_in(to)?;
    let (index, list) = (own.path().join("index"), own.path().join("list"));
    ask(folder, Some(&index), &["read-tree", commit])?;
    let listing = ["--literal-pathspecs", "ls-files", "-z", "--"].map(OsStr::new).into_iter();
    let listed = start(folder, Some(&index), Stdio::null(), listing.chain(parts.iter().map(|part| part.as_os_str())))?;
    if !listed.status.success() {
        return Err(failed(&listed));
    }
    fs::write(&list, listed.stdout)?;
    let mut prefix = OsString::from("--prefix=");
    prefix.push(to);
    prefix.push("/");
    let writing =
        ["checkout-index", "--force", "-z", "--stdin"].map(OsStr::new).into_iter().chain([prefix.as_os_str()]);
    let written = start(folder, Some(&index), Stdio::from(File::open(&list)?), writing)?;
    if written.status.success() { Ok(to.join(place)) } else { Err(failed(&written)) }
}

fn ask(folder: &Path, index: Option<&Path>, args: &[&str]) -> io::Result<String> {
    let output = start(folder, index, Stdio::null(), args)?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).trim_end_matches('\n').to_owned());
    }
    Err(failed(&output))
}

/// What git says of a failure.
fn failed(output: &Output) -> io::Error {
    let words = String::from_utf8_lossy(&output.stderr).split_whitespace().collect::<Vec<_>>().join(" ");
    io::Error::other(format!("git: {}", if words.is_empty() { output.status.to_string() } else { words }))
}

fn start<S: AsRef<OsStr>>(
    folder: &Path,
    index: Option<&Path>,
    input: Stdio,
    args: impl IntoIterator<Item = S>,
) -> io::Result<Output> {
    let mut git = Command::new("git");
    git.arg("-C").arg(folder).args(args).stdin(input);
    // Set by a hook or an alias that started this: they name another repository, or one file of this.
    for name in ["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_PREFIX"] {
        git.env_remove(name);
    }
    if let Some(index) = index {
        git.env("GIT_INDEX_FILE", index);
    }
    git.output().map_err(|error| io::Error::new(error.kind(), format!("git: {error}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_commit_holds_below_a_folder_is_written_with_links_and_permissions_and_nothing_else_changes() {
        let top = tempfile::tempdir().expect("a folder");
        let folder = top.path().join("below/it");
        fs::create_dir_all(folder.join("skills/a")).expect("folders");
        fs::write(folder.join("skills/a/SKILL.md"), "old\n").expect("a file");
        fs::write(folder.join("else"), "else").expect("a file");
        fs::write(top.path().join("above"), "not below").expect("a file");
        fs::write(top.path().join(".gitattributes"), "/below/it/skills/** text eol=crlf\n").expect("a file");
        std::os::unix::fs::symlink("SKILL.md", folder.join("skills/a/link")).expect("a link");
        let git = |args: &[&str]| ask(top.path(), None, args).expect("git");
        git(&["init", "--quiet", "--initial-branch", "main"]);
        git(&["add", "--all"]);
        git(&["-c", "user.name=t", "-c", "user.email=t@localhost", "commit", "--quiet", "--message", "one"]);
        fs::write(folder.join("skills/a/SKILL.md"), "new").expect("a file");
        let to = tempfile::tempdir().expect("a folder");
        let hash = commit(&folder, "main").expect("a commit");
        let at = export(&folder, &hash, &["skills".into(), "nothing".into()], to.path()).expect("an export");
        // As in the work tree, by what a folder above says of it.
        assert_eq!(fs::read_to_string(at.join("skills/a/SKILL.md")).expect("a file"), "old\r\n");
        assert_eq!(fs::read_link(at.join("skills/a/link")).expect("a link"), Path::new("SKILL.md"));
        let names = |folder: &Path| -> Vec<_> {
            fs::read_dir(folder).expect("a folder").flatten().map(|entry| entry.file_name()).collect()
        };
        assert_eq!((names(to.path()), names(&at)), (vec!["below".into()], vec!["skills".into()]));
        export(&folder, &hash, &[], to.path()).expect("an export");
        assert_eq!(fs::read_to_string(at.join("else")).expect("a file"), "else");
        assert_eq!(git(&["status", "--porcelain"]), "M below/it/skills/a/SKILL.md".to_owned().replacen('M', " M", 1));
        let wrong = |folder: &Path, name: &str| commit(folder, name).expect_err("no commit").to_string();
        for name in ["nowhere", "^main", "main:skills"] {
            assert_eq!(wrong(&folder, name), format!("git knows no commit {name:?} here"));
        }
        assert_eq!(wrong(&folder, "--all"), "\"--all\" is no git reference");
        assert!(wrong(to.path(), "main").starts_with("git: fatal: not a git repository"));
    }
}
