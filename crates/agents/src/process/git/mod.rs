//! Asks git about a repository. A repository's configuration can name programs (hooks, filters, a file system monitor,
//! transports of remotes). None of them is started.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io;
use std::ops::RangeInclusive;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use tempfile::TempDir;

mod listing;

use super::spawn;
use crate::files::bounded;
pub use listing::{ignored, ignored_of, ignored_parts, knows, tracked};

/// Variables that a git hook or alias sets for its programs. They name another repository, or parts of one.
const REPOSITORY_VARIABLES: [&str; 8] = [
    "GIT_DIR",
    "GIT_WORK_TREE",
    "GIT_INDEX_FILE",
    "GIT_PREFIX",
    "GIT_COMMON_DIR",
    "GIT_OBJECT_DIRECTORY",
    "GIT_ALTERNATE_OBJECT_DIRECTORIES",
    "GIT_NAMESPACE",
];

/// Settings for the content of files in a work tree, for the programs that write it, and for missing objects.
const CONTENT_SETTINGS: &str =
    r"^(core\.(autocrlf|eol|attributesfile)|filter\..*\.(smudge|process)|remote\..*\.promisor)$";

/// How long git may take to answer. It waits for ever where a named pipe has the name of one of its files.
const PATIENCE: Duration = Duration::from_secs(if cfg!(test) { 1 } else { 60 });

/// The full hash of the commit that `reference` names in the repository around `directory`.
pub fn commit(directory: &Path, reference: &str) -> io::Result<String> {
    if reference.starts_with('-') {
        return Err(io::Error::other(format!("invalid git reference {reference:?}")));
    }
    let revision = format!("{reference}^{{commit}}");
    let args = ["rev-parse", "--verify", "--quiet", "--end-of-options", &revision];
    let output = output(git(directory).args(args), PATIENCE)?;
    let hash = String::from_utf8_lossy(&output.stdout).trim_end().to_owned();
    // An exclusion (`^main`) succeeds and prints no plain hash. `--quiet` hides only the error for an unknown name.
    if output.status.success() && hash.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        Ok(hash)
    } else if output.stderr.is_empty() {
        let remote = format!("origin/{reference}");
        // A clone has only the branch that it checked out.
        let is_remote = !reference.contains(['/', '^', ':']) && commit(directory, &remote).is_ok();
        let hint = if is_remote { format!("; did you mean `{remote}`?") } else { String::new() };
        Err(io::Error::other(format!("unknown git commit {reference:?}{hint}")))
    } else {
        Err(failure(&output))
    }
}

/// The names of the branches and tags of the repository around `directory`. Empty if git fails.
pub fn references(directory: &Path) -> Vec<String> {
    let names = stdout(git(directory).args(["for-each-ref", "--format=%(refname:short)", "refs/heads", "refs/tags"]));
    String::from_utf8_lossy(&names.unwrap_or_default()).lines().map(str::to_owned).collect()
}

/// The full hash of the last commit that `HEAD` and `reference` have in common.
pub fn merge_base(directory: &Path, reference: &str) -> io::Result<String> {
    let commit = commit(directory, reference)?;
    let output = output(git(directory).args(["merge-base", "HEAD", &commit]), PATIENCE)?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).trim_end().to_owned());
    }
    Err(io::Error::other(format!(
        "HEAD and {reference} have no commit in common; a shallow clone needs `git fetch --unshallow`"
    )))
}

/// The default branch of `origin`, or of this repository: the first of these names that is a commit.
pub fn default_branch(directory: &Path) -> Option<String> {
    let names = ["origin/HEAD", "origin/main", "origin/master", "main", "master"];
    names.into_iter().find(|name| commit(directory, name).is_ok()).map(str::to_owned)
}

/// Paths that each end with a zero byte.
fn paths(listed: &[u8]) -> impl Iterator<Item = PathBuf> {
    listed.split(|byte| *byte == 0).filter(|name| !name.is_empty()).map(path)
}

/// The content of a file of `directory` in a commit, as it is stored; `None` if the commit lacks it.
pub fn stored_file(directory: &Path, commit: &str, file: &str) -> Option<Vec<u8>> {
    stdout(git(directory).args(["cat-file", "blob", &format!("{commit}:./{file}")])).ok()
}

/// The files in a commit of `directory`, by their paths in it.
pub fn files(directory: &Path, commit: &str) -> io::Result<Vec<PathBuf>> {
    let listed = stdout(git(directory).args(["ls-tree", "-r", "-z", "--name-only", commit]))?;
    Ok(paths(&listed).collect())
}

/// The submodules in a commit of `directory`, each with its commit.
pub fn submodules(directory: &Path, commit: &str) -> io::Result<Vec<(PathBuf, String)>> {
    let listed = stdout(git(directory).args(["ls-tree", "-r", "-z", commit]))?;
    let mut found = Vec::new();
    for entry in listed.split(|byte| *byte == 0) {
        let mut parts = entry.splitn(2, |byte| *byte == b'\t');
        let (Some(facts), Some(name)) = (parts.next(), parts.next()) else { continue };
        if let Some(commit) = String::from_utf8_lossy(facts).strip_prefix("160000 commit ") {
            found.push((path(name), commit.to_owned()));
        }
    }
    Ok(found)
}

/// The path of `directory` relative to the root of its work tree.
pub fn place(directory: &Path) -> io::Result<PathBuf> {
    rev_parse(directory, &["--show-prefix"])
}

/// The lines of `parts` of `directory` that `HEAD` adds or changes, by file relative to the root of the work tree. The place of
/// deleted lines counts too. Names that git has to quote are left out.
pub fn changed_lines(
    directory: &Path,
    commit: &str,
    parts: &[PathBuf],
) -> io::Result<BTreeMap<PathBuf, Vec<RangeInclusive<usize>>>> {
    let args =
        ["--literal-pathspecs", "-c", "core.quotePath=false", "diff-tree", "-r", "-p", "--unified=0", "--no-color"];
    let plain = ["--no-ext-diff", "--no-textconv", "--no-renames", "--src-prefix=a/", "--dst-prefix=b/"];
    let diff = stdout(git(directory).args(args).args(plain).args([commit, "HEAD", "--"]).args(parts))?;
    let mut changed: BTreeMap<PathBuf, Vec<RangeInclusive<usize>>> = BTreeMap::new();
    let mut lines = diff.split(|byte| *byte == b'\n');
    let mut file = None;
    while let Some(line) = lines.next() {
        if let Some(name) = line.strip_prefix(b"+++ ") {
            // git ends a name with spaces by a tab.
            let name = name.strip_suffix(b"\t").unwrap_or(name);
            file = name.strip_prefix(b"b/").map(path);
        } else if let Some(Hunk { removed, first, added }) = hunk(line) {
            let from = first.max(1);
            let range = from..=(first + added).saturating_sub(1).max(from);
            if let Some(file) = &file {
                changed.entry(file.clone()).or_default().push(range);
            }
            // What the lines say must not be taken for a header. A backslash says that the last line does not end.
            let mut left = removed + added;
            while left > 0
                && let Some(line) = lines.next()
            {
                left -= usize::from(!line.starts_with(b"\\"));
            }
        }
    }
    Ok(changed)
}

/// The header of a hunk: `@@ -1,2 +3 @@`.
struct Hunk {
    /// The number of its lines before.
    removed: usize,
    /// The number of the first of its lines after, from 1.
    first: usize,
    /// The number of its lines after.
    added: usize,
}

fn hunk(line: &[u8]) -> Option<Hunk> {
    let line = String::from_utf8_lossy(line.strip_prefix(b"@@ ")?);
    let mut words = line.split(' ');
    let mut range = |sign| {
        let range = words.next()?.strip_prefix(sign)?;
        let (first, count) = range.split_once(',').unwrap_or((range, "1"));
        Some((first.parse().ok()?, count.parse().ok()?))
    };
    let ((_, removed), (first, added)) = (range('-')?, range('+')?);
    Some(Hunk { removed, first, added })
}

pub struct CommitFiles {
    /// The exported directory: relative to the target as the original is to the root of its work tree.
    pub folder: PathBuf,
    /// The files that a filter program would change in a work tree, with the names of their filters. They are exported as
    /// the commit stores them.
    pub filtered: Vec<(PathBuf, String)>,
}

/// Writes the commit's version of `parts` of `directory` to the existing directory `to`, as in a work tree but without filter
/// programs. Without `parts`, writes all of `directory`.
pub fn export(directory: &Path, commit: &str, parts: &[PathBuf], to: &Path) -> io::Result<CommitFiles> {
    let target = to.join(place(directory)?);
    fs::create_dir_all(&target)?;
    let settings = content_settings(directory)?;
    let scratch = ScratchRepository::new(directory, &settings)?;
    let git = || scratch.git(&target, to);
    let is_partial_clone = settings.keys().any(|key| key.ends_with(".promisor"));
    let add_advice = |error: io::Error| {
        let fetch = format!("this clone may lack files of the commit: `git archive {commit} > /dev/null` fetches them");
        if is_partial_clone { io::Error::other(format!("{error}; {fetch}")) } else { error }
    };
    // The index of the scratch repository holds the whole commit, so attributes of all parent directories apply. git lists
    // the files in the directory in which it is started, with paths from the root.
    slow_stdout(git().args(["read-tree", commit])).map_err(add_advice)?;
    let listed = stdout(git().args(["--literal-pathspecs", "ls-files", "-z", "--"]).args(parts))?;
    let list = scratch.directory.path().join("list");
    fs::write(&list, listed)?;
    let checkout = ["checkout-index", "--force", "-z", "--stdin"];
    slow_stdout(git().args(checkout).stdin(File::open(&list)?)).map_err(add_advice)?;
    let attributes =
        stdout(git().args(["check-attr", "--cached", "-z", "--stdin", "filter"]).stdin(File::open(&list)?))?;
    Ok(CommitFiles { folder: target, filtered: filtered(&attributes, &settings) })
}

/// Stores files as a commit without a parent, and returns its hash. Each has its path, relative to `directory`, the absolute path
/// of its content, and whether it is executable. No reference leads to the commit: git removes it some weeks later. Equal files
/// have one hash.
pub fn store(directory: &Path, files: &[(PathBuf, PathBuf, bool)]) -> io::Result<String> {
    let place = place(directory)?;
    let scratch = tempfile::tempdir()?;
    let input = |name: &str, bytes: &[u8]| -> io::Result<File> {
        let path = scratch.path().join(name);
        fs::write(&path, bytes)?;
        File::open(path)
    };
    let mut paths = Vec::new();
    for (_, content, _) in files {
        let path = content.as_os_str().as_bytes();
        if path.contains(&b'\n') {
            return Err(io::Error::other(format!("{} has a line break in its name", content.display())));
        }
        paths.extend_from_slice(path);
        paths.push(b'\n');
    }
    let hash = ["hash-object", "-w", "--no-filters", "--stdin-paths"];
    let hashes = stdout(git(directory).args(hash).stdin(input("paths", &paths)?))?;
    let mut index = Vec::new();
    for ((file, _, executable), hash) in files.iter().zip(hashes.split(|byte| *byte == b'\n')) {
        let mode = if *executable { "100755" } else { "100644" };
        index.extend_from_slice(format!("{mode} {}\t", String::from_utf8_lossy(hash)).as_bytes());
        index.extend_from_slice(place.join(file).as_os_str().as_bytes());
        index.push(0);
    }
    let index_file = scratch.path().join("index");
    let in_index = || {
        let mut git = git(directory);
        git.env("GIT_INDEX_FILE", &index_file);
        git
    };
    stdout(in_index().args(["update-index", "-z", "--index-info"]).stdin(input("list", &index)?))?;
    let tree = stdout(in_index().arg("write-tree"))?;
    let tree = String::from_utf8_lossy(&tree).trim_end().to_owned();
    let mut git = git(directory);
    git.args(["commit-tree", "--no-gpg-sign", "-m", "skill-evals", &tree]);
    for who in ["AUTHOR", "COMMITTER"] {
        git.env(format!("GIT_{who}_NAME"), "skill-evals").env(format!("GIT_{who}_EMAIL"), "skill-evals@localhost");
        git.env(format!("GIT_{who}_DATE"), "2026-01-01T00:00:00Z");
    }
    Ok(String::from_utf8_lossy(&stdout(&mut git)?).trim_end().to_owned())
}

/// The files whose filter has a program in the settings. git ignores other filters.
fn filtered(attributes: &[u8], settings: &BTreeMap<String, String>) -> Vec<(PathBuf, String)> {
    let fields: Vec<&[u8]> = attributes.split(|byte| *byte == 0).collect();
    let mut filtered = Vec::new();
    // Path, attribute, value.
    for line in fields.chunks_exact(3) {
        let filter = String::from_utf8_lossy(line[2]).into_owned();
        if ["smudge", "process"].iter().any(|kind| settings.contains_key(&format!("filter.{filter}.{kind}"))) {
            filtered.push((path(line[0]), filter));
        }
    }
    filtered
}

/// A repository without configuration and hooks that uses the objects of another one. The user's index and work tree stay
/// unchanged.
struct ScratchRepository {
    directory: TempDir,
    objects: PathBuf,
    /// The `core.*` settings of the other repository for the content of files.
    settings: Vec<String>,
}

impl ScratchRepository {
    /// Uses the objects of the repository around `original`.
    fn new(original: &Path, settings: &BTreeMap<String, String>) -> io::Result<Self> {
        let git_path = |name: &str| original.join(rev_parse(original, &["--git-path", name])?).canonicalize();
        let objects = git_path("objects")?;
        let directory = tempfile::tempdir()?;
        for part in ["refs", "objects", "info"] {
            fs::create_dir(directory.path().join(part))?;
        }
        fs::write(directory.path().join("HEAD"), "ref: refs/heads/none\n")?;
        let format = rev_parse(original, &["--show-object-format"])?;
        let config =
            format!("[core]\nrepositoryformatversion = 1\n[extensions]\nobjectformat = {}\n", format.display());
        fs::write(directory.path().join("config"), config)?;
        if let Ok(attributes) = git_path("info/attributes") {
            fs::write(directory.path().join("info/attributes"), bounded::read(&attributes)?)?;
        }
        let settings = settings.iter().filter(|(key, _)| key.starts_with("core."));
        let settings = settings.map(|(key, value)| format!("{key}={value}")).collect();
        Ok(Self { directory, objects, settings })
    }

    /// git in this repository with the work tree `work_tree`, started in `directory`.
    fn git(&self, directory: &Path, work_tree: &Path) -> Command {
        let mut git = git(directory);
        git.args(self.settings.iter().flat_map(|setting| ["-c", setting]));
        git.env("GIT_DIR", self.directory.path()).env("GIT_WORK_TREE", work_tree);
        git.env("GIT_OBJECT_DIRECTORY", &self.objects);
        // The user's global settings may name filters too.
        git.env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_NOSYSTEM", "1");
        git
    }
}

/// The values of [`CONTENT_SETTINGS`].
fn content_settings(directory: &Path) -> io::Result<BTreeMap<String, String>> {
    let output = output(git(directory).args(["config", "-z", "--get-regexp", CONTENT_SETTINGS]), PATIENCE)?;
    if !matches!(output.status.code(), Some(0 | 1)) {
        return Err(failure(&output));
    }
    let mut settings = BTreeMap::new();
    for line in String::from_utf8_lossy(&output.stdout).split_terminator('\0') {
        let (key, value) = line.split_once('\n').unwrap_or((line, "true"));
        settings.insert(key.to_owned(), value.to_owned());
    }
    Ok(settings)
}

fn rev_parse(directory: &Path, args: &[&str]) -> io::Result<PathBuf> {
    let mut answer = stdout(git(directory).arg("rev-parse").args(args))?;
    answer.pop_if(|last| *last == b'\n');
    Ok(path(&answer))
}

/// git in `directory`. It starts no program that a repository names, and contacts no remote.
fn git(directory: &Path) -> Command {
    let mut git = Command::new("git");
    git.args(["--no-pager", "-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null", "-C"]).arg(directory);
    git.stdin(Stdio::null());
    for name in REPOSITORY_VARIABLES {
        git.env_remove(name);
    }
    // Prevents that git fetches missing objects of a partial clone with programs that its configuration names. git before
    // 2.45 knows only the second variable.
    git.env("GIT_NO_LAZY_FETCH", "1").env("GIT_ALLOW_PROTOCOL", "");
    // `.git` counts wherever it is: see `knows`.
    git.env("GIT_DISCOVERY_ACROSS_FILESYSTEM", "1");
    git
}

fn stdout(git: &mut Command) -> io::Result<Vec<u8>> {
    succeeded(output(git, PATIENCE)?)
}

/// The same where git writes a whole commit.
fn slow_stdout(git: &mut Command) -> io::Result<Vec<u8>> {
    succeeded(output(git, PATIENCE * 10)?)
}

fn succeeded(output: Output) -> io::Result<Vec<u8>> {
    if output.status.success() { Ok(output.stdout) } else { Err(failure(&output)) }
}

fn output(git: &mut Command, patience: Duration) -> io::Result<Output> {
    let failed = |error: io::Error| io::Error::new(error.kind(), format!("git: {error}"));
    spawn::output_within(git, patience).map_err(failed)?.ok_or_else(|| {
        let seconds = patience.as_secs();
        let why = format!("git: no answer in {seconds} s; is one of its files, such as .gitignore, a named pipe?");
        io::Error::new(io::ErrorKind::TimedOut, why)
    })
}

fn path(bytes: &[u8]) -> PathBuf {
    PathBuf::from(OsStr::from_bytes(bytes))
}

fn failure(output: &Output) -> io::Error {
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
            let output = stdout(super::git(top.path()).args(args)).expect("git");
            String::from_utf8_lossy(&output).trim_end().to_owned()
        };
        git(&["init", "--quiet", "--initial-branch", "main"]);
        git(&["add", "--all"]);
        git(&["-c", "user.name=t", "-c", "user.email=t@localhost", "commit", "--quiet", "--message", "one"]);
        fs::write(folder.join("skills/a/SKILL.md"), "new").expect("a file");
        let to = tempfile::tempdir().expect("a directory");
        let hash = commit(&folder, "main").expect("a commit");
        let at = export(&folder, &hash, &["skills".into(), "nothing".into()], to.path()).expect("an export").folder;
        // As in the work tree, by what a parent directory says of it.
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
