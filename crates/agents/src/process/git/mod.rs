//! Asks git about a repository. A repository's configuration can name programs (hooks, filters, a file system monitor,
//! transports of remotes). None of them is started.

mod export;

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io::{self, Seek, Write};
use std::ops::RangeInclusive;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use crate::files::at::At;
use crate::files::bounded;
use crate::files::look::{self, Walk, WalkStep};
use crate::process::start;

pub use export::{CommitFiles, CommitPart, export, is_clean};

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

/// How long git may take to answer. It waits for ever where a named pipe has the name of one of its files.
const PATIENCE: Duration = Duration::from_secs(if cfg!(test) { 1 } else { 60 });

/// Where the short name of a reference is looked up. git itself would take a tag for the branch of the same name.
const NAMESPACES: [&str; 3] = [REMOTE_BRANCHES, BRANCHES, "refs/tags/"];

const REMOTE_BRANCHES: &str = "refs/remotes/";
const BRANCHES: &str = "refs/heads/";

/// The full hash of the commit that `reference` names in the repository around `directory`. If a branch and a tag have one name, it is
/// the branch, one of a remote first.
pub fn commit(directory: &Path, reference: &str) -> io::Result<String> {
    if reference.starts_with('-') {
        return Err(io::Error::other(format!("invalid git reference {reference:?}")));
    }
    let revision = format!("{}^{{commit}}", in_full(directory, reference)?);
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

/// `reference` with the full name of the branch or tag that it begins with, if there is one.
fn in_full(directory: &Path, reference: &str) -> io::Result<String> {
    let end = ["^", "~", ":", "@{"].iter().filter_map(|sign| reference.find(sign)).min().unwrap_or(reference.len());
    let (name, rest) = reference.split_at(end);
    // Hashes, and what git keeps outside of all namespaces: `HEAD`, `FETCH_HEAD`.
    let is_hash = name.len() >= 40 && name.bytes().all(|byte| byte.is_ascii_hexdigit());
    if is_hash || matches!(name, "" | "@") || name.ends_with("HEAD") && !name.contains('/') || name.starts_with("refs/")
    {
        return Ok(reference.to_owned());
    }
    let known = NAMESPACES.map(|namespace| format!("{namespace}{name}"));
    let listed = stdout(git(directory).args(["for-each-ref", "--format=%(refname)"]).args(&known))?;
    let listed = String::from_utf8_lossy(&listed);
    let found = known.iter().find(|known| listed.lines().any(|line| line == known.as_str()));
    Ok(found.map_or_else(|| reference.to_owned(), |found| format!("{found}{rest}")))
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
        "HEAD and {} have no commit in common; a shallow clone needs `git fetch --unshallow`",
        short_name(reference)
    )))
}

/// The full name of the default branch of `origin`, or of this repository: the first of these that is a commit.
pub fn default_branch(directory: &Path) -> Option<String> {
    let of_origin = ["HEAD", "main", "master"].map(|name| format!("{REMOTE_BRANCHES}origin/{name}"));
    let own = ["main", "master"].map(|name| format!("{BRANCHES}{name}"));
    of_origin.into_iter().chain(own).find(|name| commit(directory, name).is_ok())
}

/// When the history of a commit begins, in seconds since 1970.
///
/// # Errors
///
/// In a shallow clone, which has only its end.
pub fn began(directory: &Path, commit: &str) -> io::Result<i64> {
    let is_shallow = stdout(git(directory).args(["rev-parse", "--is-shallow-repository"]))?;
    if is_shallow.trim_ascii() == b"true" {
        return Err(io::Error::other(
            "this clone is shallow, so earlier changes are not here: `git fetch --unshallow`",
        ));
    }
    let listed = stdout(git(directory).args(["log", "--first-parent", "--max-parents=0", "--format=%ct", commit]))?;
    let text = String::from_utf8_lossy(&listed);
    text.split_whitespace().filter_map(|time| time.parse().ok()).min().ok_or_else(|| io::Error::other("git: no commit"))
}

/// The paths in `directory` that each commit of its own line changed in the last weeks, the latest first: a merge is one change.
pub fn changes(directory: &Path, commit: &str, weeks: u64) -> io::Result<Vec<Vec<PathBuf>>> {
    let since = format!("--since={weeks}.weeks");
    let args =
        ["log", "--first-parent", "-m", "--no-ext-diff", "--name-only", "-z", "--relative", "--format=%x01", &since];
    let listed = slow_stdout(git(directory).args(args).args([commit, "--", "."]))?;
    let of_commit = |part: &[u8]| {
        let names = part.split(|byte| matches!(byte, 0 | b'\n')).filter(|name| !name.is_empty());
        names.map(path).collect::<Vec<_>>()
    };
    Ok(listed.split(|byte| *byte == 1).map(of_commit).filter(|paths| !paths.is_empty()).collect())
}

/// The name of a branch or tag without its namespace.
pub fn short_name(reference: &str) -> &str {
    NAMESPACES.iter().find_map(|namespace| reference.strip_prefix(namespace)).unwrap_or(reference)
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
    start::output_within(git, patience).map_err(failed)?.ok_or_else(|| {
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

// What git knows of files: which it tracks, and which it ignores.

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
            if refused.is_ok() { WalkStep::Into } else { WalkStep::Stop }
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
    use nix::sys::stat::Mode;
    use nix::unistd::mkfifo;

    use super::*;

    fn run(directory: &Path, args: &[&str]) -> String {
        let identity = ["-c", "user.name=t", "-c", "user.email=t@localhost"];
        let output = stdout(git(directory).args(identity).args(args)).expect("git");
        String::from_utf8_lossy(&output).trim_end().to_owned()
    }

    /// A repository with a commit for each of these numbers.
    fn repository(commits: u32) -> (tempfile::TempDir, Vec<String>) {
        let directory = tempfile::tempdir().expect("a directory");
        run(directory.path(), &["init", "--quiet", "--initial-branch", "main"]);
        let commit = |number: u32| {
            run(directory.path(), &["commit", "--quiet", "--allow-empty", "--message", &number.to_string()]);
            run(directory.path(), &["rev-parse", "HEAD"])
        };
        let hashes = (0..commits).map(commit).collect();
        (directory, hashes)
    }

    #[test]
    fn a_reference_that_git_does_not_know_is_an_error_that_names_it() {
        let (directory, _) = repository(1);
        let wrong = |folder: &Path, name: &str| commit(folder, name).expect_err("no commit").to_string();
        for name in ["nowhere", "^main", "main:skills"] {
            assert_eq!(wrong(directory.path(), name), format!("unknown git commit {name:?}"));
        }
        assert_eq!(wrong(directory.path(), "--all"), "invalid git reference \"--all\"");
        let elsewhere = tempfile::tempdir().expect("a directory");
        assert!(wrong(elsewhere.path(), "main").starts_with("git: fatal: not a git repository"));
    }

    #[test]
    fn a_merge_is_one_change_of_all_its_files() {
        let (directory, _) = repository(1);
        let root = directory.path();
        let commit_file = |file: &str| {
            fs::create_dir_all(root.join("skills")).expect("a directory");
            fs::write(root.join(file), "x").expect("a file");
            run(root, &["add", "--all"]);
            run(root, &["commit", "--quiet", "--message", file]);
        };
        run(root, &["checkout", "--quiet", "-b", "feature"]);
        commit_file("skills/a");
        commit_file("skills/b");
        run(root, &["checkout", "--quiet", "main"]);
        commit_file("c");
        run(root, &["merge", "--quiet", "--no-ff", "--message", "merged", "feature"]);
        let found = changes(root, "HEAD", 1).expect("changes");
        let names: Vec<Vec<&str>> =
            found.iter().map(|paths| paths.iter().filter_map(|path| path.to_str()).collect()).collect();
        assert_eq!(names, [vec!["skills/a", "skills/b"], vec!["c"]]);
        assert_eq!(changes(&root.join("skills"), "HEAD", 1).expect("changes")[0], [Path::new("a"), Path::new("b")]);
        assert!(began(root, "HEAD").expect("a time") > 1_000_000_000);
    }

    #[test]
    fn a_branch_comes_before_a_tag_of_its_name_and_one_of_a_remote_before_a_local_one() {
        let (directory, commits) = repository(5);
        let at = directory.path();
        let refers = |name: &str, commit: usize| run(at, &["update-ref", name, &commits[commit]]);
        let found = |name: &str| commit(at, name).expect("a commit");
        refers("refs/tags/origin/main", 0);
        refers("refs/tags/main", 0);
        refers("refs/tags/v1", 1);
        assert_eq!((found("origin/main"), found("v1")), (commits[0].clone(), commits[1].clone()));
        assert_eq!(default_branch(at).as_deref(), Some("refs/heads/main"));
        assert_eq!(merge_base(at, "main").expect("a commit"), commits[4]);
        refers("refs/heads/origin/main", 2);
        assert_eq!(found("origin/main"), commits[2]);
        refers("refs/remotes/origin/main", 3);
        assert_eq!(default_branch(at).as_deref(), Some("refs/remotes/origin/main"));
        assert_eq!((found("origin/main"), found("origin/main~1")), (commits[3].clone(), commits[2].clone()));
        assert_eq!((found("refs/tags/origin/main"), found("HEAD~1")), (commits[0].clone(), commits[3].clone()));
        // A hash is one, whatever is named like it.
        refers(&format!("refs/heads/{}", commits[1]), 0);
        assert_eq!(
            (found(&commits[1]), found("@{0}"), found("@")),
            (commits[1].clone(), commits[4].clone(), commits[4].clone())
        );
        assert_eq!(short_name("refs/remotes/origin/main"), "origin/main");
    }

    fn empty_repository() -> tempfile::TempDir {
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
        let repository = empty_repository();
        assert_eq!(tracked(repository.path(), part).expect("an answer"), Some(Vec::new()));
    }

    #[test]
    fn a_pipe_in_the_place_of_rules_is_an_error_and_does_not_hang() {
        let repository = empty_repository();
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
