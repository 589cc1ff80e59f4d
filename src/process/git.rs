//! What git is asked about the repository that holds a directory. A repository's own configuration names programs (hooks,
//! filters, a file system monitor, ways to reach remotes): none of them is started.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use tempfile::TempDir;

/// Set by a hook or an alias that started this: they name another repository, or parts of this one.
const OF_ANOTHER: [&str; 8] = [
    "GIT_DIR",
    "GIT_WORK_TREE",
    "GIT_INDEX_FILE",
    "GIT_PREFIX",
    "GIT_COMMON_DIR",
    "GIT_OBJECT_DIRECTORY",
    "GIT_ALTERNATE_OBJECT_DIRECTORIES",
    "GIT_NAMESPACE",
];

/// Settings that say how a file of a commit reads in a work tree, which programs would write it there, and whether objects
/// may be missing.
const OF_CONTENT: &str = r"^(core\.(autocrlf|eol|attributesfile)|filter\..*\.(smudge|process)|remote\..*\.promisor)$";

/// The commit that `reference` names in the repository around `folder`, as a full hash.
///
/// # Errors
/// What git says: no repository, no such reference, no git.
pub fn commit(folder: &Path, reference: &str) -> io::Result<String> {
    if reference.starts_with('-') {
        return Err(io::Error::other(format!("invalid git reference {reference:?}")));
    }
    let question = format!("{reference}^{{commit}}");
    let asked = ["rev-parse", "--verify", "--quiet", "--end-of-options", &question];
    let output = output(git(folder).args(asked))?;
    let hash = String::from_utf8_lossy(&output.stdout).trim_end().to_owned();
    // Quiet about a name that it does not know, and about nothing else. What excludes a commit (`^main`) is none.
    match () {
        () if output.status.success() && hash.bytes().all(|byte| byte.is_ascii_hexdigit()) => Ok(hash),
        () if output.stderr.is_empty() => Err(io::Error::other(format!("unknown git commit {reference:?}"))),
        () => Err(failed(&output)),
    }
}

/// The names of the branches and tags of the repository around `folder`; none where git cannot tell.
#[must_use]
pub fn references(folder: &Path) -> Vec<String> {
    let names = text(git(folder).args(["for-each-ref", "--format=%(refname:short)", "refs/heads", "refs/tags"]));
    String::from_utf8_lossy(&names.unwrap_or_default()).lines().map(str::to_owned).collect()
}

/// Where `folder` lies below the root of its work tree; empty where it is that.
///
/// # Errors
/// What git says.
pub fn place(folder: &Path) -> io::Result<PathBuf> {
    rev_parse(folder, &["--show-prefix"])
}

/// Files of a commit.
pub struct CommitFiles {
    /// Where the directory that was asked about lies: as far below the target as it is below its work tree's root.
    pub folder: PathBuf,
    /// The files in it that a program would have to write in a work tree, and the names of their filters. They are written as
    /// the commit stores them.
    pub filtered: Vec<(PathBuf, String)>,
}

/// Writes what the commit holds of `parts` of `folder`, of all of it where there are none, to the directory `to`, which
/// exists: as in a work tree, but for filters.
///
/// # Errors
/// What git says.
pub fn export(folder: &Path, commit: &str, parts: &[PathBuf], to: &Path) -> io::Result<CommitFiles> {
    let at = to.join(place(folder)?);
    fs::create_dir_all(&at)?;
    let config = config(folder)?;
    let own = ScratchRepository::beside(folder, &config)?;
    let git = || own.git(&at, to);
    let may_lack = config.keys().any(|key| key.ends_with(".promisor"));
    let advice = |error: io::Error| {
        let fetch = format!("this clone may lack files of the commit: `git archive {commit} > /dev/null` fetches them");
        if may_lack { io::Error::other(format!("{error}; {fetch}")) } else { error }
    };
    // An index of its own: the user's own index and work tree stay as they are. It holds the whole commit, and git lists
    // of it what lies below the directory it is started in: by their whole paths, attributes of any directory above hold too.
    text(git().args(["read-tree", commit])).map_err(advice)?;
    let listed = text(git().args(["--literal-pathspecs", "ls-files", "-z", "--"]).args(parts))?;
    let list = own.folder.path().join("list");
    fs::write(&list, listed)?;
    text(git().args(["checkout-index", "--force", "-z", "--stdin"]).stdin(File::open(&list)?)).map_err(advice)?;
    let attributes = text(git().args(["check-attr", "--cached", "-z", "--stdin", "filter"]).stdin(File::open(&list)?))?;
    Ok(CommitFiles { folder: at, filtered: filtered(&attributes, &config) })
}

/// The files with filters that the configuration has a program for; git leaves others as they are.
fn filtered(attributes: &[u8], config: &BTreeMap<String, String>) -> Vec<(PathBuf, String)> {
    let fields: Vec<&[u8]> = attributes.split(|byte| *byte == 0).collect();
    let filters = fields.chunks_exact(3).map(|line| (path(line[0]), String::from_utf8_lossy(line[2]).into_owned()));
    let has_program =
        |name: &str| ["smudge", "process"].iter().any(|way| config.contains_key(&format!("filter.{name}.{way}")));
    filters.filter(|(_, name)| has_program(name)).collect()
}

/// A repository of our own, without configuration and hooks, over the objects of another one.
struct ScratchRepository {
    folder: TempDir,
    objects: PathBuf,
    /// How a file of a commit reads in a work tree.
    settings: Vec<String>,
}

impl ScratchRepository {
    /// One over the objects of the repository around `folder`.
    fn beside(folder: &Path, config: &BTreeMap<String, String>) -> io::Result<Self> {
        let there = |name: &str| -> io::Result<PathBuf> {
            folder.join(rev_parse(folder, &["--git-path", name])?).canonicalize()
        };
        let objects = there("objects")?;
        let own = tempfile::tempdir()?;
        for part in ["refs", "objects", "info"] {
            fs::create_dir(own.path().join(part))?;
        }
        fs::write(own.path().join("HEAD"), "ref: refs/heads/none\n")?;
        let format = rev_parse(folder, &["--show-object-format"])?;
        let version = "[core]\nrepositoryformatversion = 1\n[extensions]\nobjectformat =";
        fs::write(own.path().join("config"), format!("{version} {}\n", format.display()))?;
        if let Ok(attributes) = there("info/attributes") {
            fs::copy(attributes, own.path().join("info/attributes"))?;
        }
        let settings = config.iter().filter(|(key, _)| key.starts_with("core."));
        let settings = settings.map(|(key, value)| format!("{key}={value}")).collect();
        Ok(Self { folder: own, objects, settings })
    }

    /// git in this repository, with the work tree `to`, started in `folder` of it.
    fn git(&self, folder: &Path, to: &Path) -> Command {
        let mut git = git(folder);
        git.args(self.settings.iter().flat_map(|setting| ["-c", setting]));
        git.env("GIT_DIR", self.folder.path()).env("GIT_WORK_TREE", to).env("GIT_OBJECT_DIRECTORY", &self.objects);
        // What the user has for all repositories: filters again.
        git.env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_NOSYSTEM", "1");
        git
    }
}

/// The settings of [`OF_CONTENT`].
fn config(folder: &Path) -> io::Result<BTreeMap<String, String>> {
    let output = output(git(folder).args(["config", "-z", "--get-regexp", OF_CONTENT]))?;
    if !matches!(output.status.code(), Some(0 | 1)) {
        return Err(failed(&output));
    }
    let lines = output.stdout.split(|byte| *byte == 0).filter(|line| !line.is_empty());
    Ok(lines
        .map(|line| {
            let line = String::from_utf8_lossy(line);
            let (key, value) = line.split_once('\n').unwrap_or((&line, "true"));
            (key.to_owned(), value.to_owned())
        })
        .collect())
}

fn rev_parse(folder: &Path, args: &[&str]) -> io::Result<PathBuf> {
    let mut answer = text(git(folder).arg("rev-parse").args(args))?;
    answer.pop_if(|last| *last == b'\n');
    Ok(path(&answer))
}

/// git, where it starts no program that a repository names and talks to no remote.
fn git(folder: &Path) -> Command {
    let mut git = Command::new("git");
    git.args(["--no-pager", "-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null", "-C"]).arg(folder);
    git.stdin(Stdio::null());
    for name in OF_ANOTHER {
        git.env_remove(name);
    }
    // Objects that a partial clone lacks would be fetched, by programs that its configuration names. git before 2.45 knows
    // only the second.
    git.env("GIT_NO_LAZY_FETCH", "1").env("GIT_ALLOW_PROTOCOL", "");
    git
}

fn text(git: &mut Command) -> io::Result<Vec<u8>> {
    let output = output(git)?;
    if output.status.success() { Ok(output.stdout) } else { Err(failed(&output)) }
}

fn output(git: &mut Command) -> io::Result<Output> {
    git.output().map_err(|error| io::Error::new(error.kind(), format!("git: {error}")))
}

fn path(bytes: &[u8]) -> PathBuf {
    PathBuf::from(OsStr::from_bytes(bytes))
}

/// What git says of a failure.
fn failed(output: &Output) -> io::Error {
    let words = String::from_utf8_lossy(&output.stderr).split_whitespace().collect::<Vec<_>>().join(" ");
    io::Error::other(format!("git: {}", if words.is_empty() { output.status.to_string() } else { words }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_commit_holds_below_a_folder_is_written_with_links_and_permissions_and_nothing_else_changes() {
        let top = tempfile::tempdir().expect("a directory");
        let folder = top.path().join("below/it");
        fs::create_dir_all(folder.join("skills/a")).expect("folders");
        fs::write(folder.join("skills/a/SKILL.md"), "old\n").expect("a file");
        fs::write(folder.join("else"), "else\n").expect("a file");
        fs::write(top.path().join("above"), "not below").expect("a file");
        fs::write(top.path().join(".gitattributes"), "/below/it/skills/** text eol=crlf\n").expect("a file");
        std::os::unix::fs::symlink("SKILL.md", folder.join("skills/a/link")).expect("a link");
        let git = |args: &[&str]| {
            let said = text(super::git(top.path()).args(args)).expect("git");
            String::from_utf8_lossy(&said).trim_end().to_owned()
        };
        git(&["init", "--quiet", "--initial-branch", "main"]);
        git(&["add", "--all"]);
        git(&["-c", "user.name=t", "-c", "user.email=t@localhost", "commit", "--quiet", "--message", "one"]);
        fs::write(folder.join("skills/a/SKILL.md"), "new").expect("a file");
        let to = tempfile::tempdir().expect("a directory");
        let hash = commit(&folder, "main").expect("a commit");
        let at = export(&folder, &hash, &["skills".into(), "nothing".into()], to.path()).expect("an export").folder;
        // As in the work tree, by what a folder above says of it.
        assert_eq!(fs::read_to_string(at.join("skills/a/SKILL.md")).expect("a file"), "old\r\n");
        assert_eq!(fs::read_link(at.join("skills/a/link")).expect("a link"), Path::new("SKILL.md"));
        let names = |folder: &Path| -> Vec<_> {
            fs::read_dir(folder).expect("a directory").flatten().map(|entry| entry.file_name()).collect()
        };
        assert_eq!((names(to.path()), names(&at)), (vec!["below".into()], vec!["skills".into()]));
        export(&folder, &hash, &[], to.path()).expect("an export");
        assert_eq!(fs::read_to_string(at.join("else")).expect("a file"), "else\n");
        assert_eq!(git(&["status", "--porcelain"]), " M below/it/skills/a/SKILL.md");
        git(&["config", "core.autocrlf", "true"]);
        export(&folder, &hash, &[], to.path()).expect("an export");
        assert_eq!(fs::read_to_string(at.join("else")).expect("a file"), "else\r\n");
        let wrong = |folder: &Path, name: &str| commit(folder, name).expect_err("no commit").to_string();
        for name in ["nowhere", "^main", "main:skills"] {
            assert_eq!(wrong(&folder, name), format!("unknown git commit {name:?}"));
        }
        assert_eq!(wrong(&folder, "--all"), "invalid git reference \"--all\"");
        assert!(wrong(to.path(), "main").starts_with("git: fatal: not a git repository"));
    }
}
