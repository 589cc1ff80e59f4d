//! A commit as a directory, without the help of any program that a repository names.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File, Permissions};
use std::io;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;

use super::{PATIENCE, failure, git, output, path, place, rev_parse, slow_stdout, stdout};
use crate::files::{bounded, look};

/// Settings for the content of files in a work tree and which of them are there, for the programs that write it, and for missing
/// objects.
const CONTENT_SETTINGS: &str = r"^(core\.(autocrlf|eol|filemode|attributesfile|symlinks|sparsecheckout)|filter\..*\.(clean|smudge|process)|remote\..*\.promisor)$";

/// A commit, written to a directory.
pub struct CommitFiles {
    /// The exported directory: relative to the target as the original is to the root of its work tree.
    pub folder: PathBuf,
    /// The files that a filter program would change in a work tree, with the names of their filters. They are exported as
    /// the commit stores them.
    pub filtered: Vec<(PathBuf, String)>,
    /// The links in it.
    pub links: Vec<PathBuf>,
    /// Where submodules belong, each with its commit. The directories are there, and empty.
    pub submodules: Vec<(PathBuf, String)>,
}

/// What of a directory is exported: all but the directory of this path in it, or only that.
#[derive(Clone, Copy, Debug)]
pub enum CommitPart<'a> {
    Without(&'a Path),
    Only(&'a Path),
}

impl CommitPart<'_> {
    fn has(self, path: &Path) -> bool {
        match self {
            Self::Without(directory) => !path.starts_with(directory),
            Self::Only(directory) => path.starts_with(directory),
        }
    }
}

/// Writes the commit's version of a part of `directory` to the existing directory `to`, as in a work tree but without filter
/// programs. If the work tree is a sparse one, so is this.
pub fn export(directory: &Path, commit: &str, part: CommitPart<'_>, to: &Path) -> io::Result<CommitFiles> {
    let place = place(directory)?;
    let folder: PathBuf = to.join(&place).components().collect();
    fs::create_dir_all(&folder)?;
    let settings = content_settings(directory)?;
    let scratch = ScratchRepository::new(directory, &settings)?;
    let git = || scratch.git(to, to);
    let is_partial_clone = settings.keys().any(|key| key.ends_with(".promisor"));
    let add_advice = |error: io::Error| {
        let fetch = format!("this clone may lack files of the commit: `git archive {commit} > /dev/null` fetches them");
        if is_partial_clone { io::Error::other(format!("{error}; {fetch}")) } else { error }
    };
    // The index of the scratch repository holds the whole commit, so attributes of all parent directories apply.
    slow_stdout(git().args(["read-tree", commit])).map_err(add_advice)?;
    let listed = stdout(scratch.git(&folder, to).args(["ls-files", "--stage", "--full-name", "-z"]))?;
    let own = |file: PathBuf| file.strip_prefix(&place).map(Path::to_path_buf).unwrap_or(file);
    let mut entries = entries(&listed);
    entries.retain(|entry| part.has(&own(path(entry.name))));
    let list = scratch.directory.path().join("list");
    let write_list = |entries: &[CommitEntry<'_>]| {
        fs::write(&list, entries.iter().flat_map(|entry| [entry.name, b"\0"].concat()).collect::<Vec<u8>>())
    };
    write_list(&entries)?;
    if settings.get("core.sparsecheckout").is_some_and(|value| value == "true") {
        let rules = ["sparse-checkout", "check-rules", "-z"];
        let kept = stdout(super::git(directory).args(rules).stdin(File::open(&list)?))?;
        let kept: BTreeSet<&[u8]> = kept.split(|byte| *byte == 0).collect();
        entries.retain(|entry| kept.contains(entry.name));
        write_list(&entries)?;
    }
    let checkout = ["checkout-index", "--force", "-z", "--stdin"];
    slow_stdout(git().args(checkout).stdin(File::open(&list)?)).map_err(add_advice)?;
    let attributes =
        stdout(git().args(["check-attr", "--cached", "-z", "--stdin", "filter"]).stdin(File::open(&list)?))?;
    let (mut links, mut submodules) = (Vec::new(), Vec::new());
    let is_false = |value: &String| ["false", "no", "off", "0"].contains(&&*value.to_ascii_lowercase());
    let has_modes = !settings.get("core.filemode").is_some_and(is_false);
    for CommitEntry { kind, hash, name } in entries {
        let file = own(path(name));
        match kind {
            b"100644" | b"100755" if !has_modes => executable_as(&directory.join(&file), &folder.join(&file))?,
            b"120000" => {
                lead_inside(&folder.join(&file), directory, &folder)?;
                links.push(file);
            }
            b"160000" => submodules.push((file, String::from_utf8_lossy(hash).into_owned())),
            _ => {}
        }
    }
    for (submodule, _) in &submodules {
        fs::create_dir_all(folder.join(submodule))?;
    }
    let filtered = filtered(&attributes, &settings).into_iter().map(|(file, filter)| (own(file), filter)).collect();
    Ok(CommitFiles { folder, filtered, links, submodules })
}

/// A file, a link or a submodule of a commit.
struct CommitEntry<'a> {
    kind: &'a [u8],
    hash: &'a [u8],
    /// Its path from the root of the work tree.
    name: &'a [u8],
}

/// The entries of a list of `ls-files --stage -z`.
fn entries(listed: &[u8]) -> Vec<CommitEntry<'_>> {
    let entry = |line| {
        let mut parts = <[u8]>::splitn(line, 2, |byte| *byte == b'\t');
        let mut facts = parts.next()?.split(|byte| *byte == b' ');
        Some(CommitEntry { kind: facts.next()?, hash: facts.next()?, name: parts.next()? })
    };
    listed.split(|byte| *byte == 0).filter_map(entry).collect()
}

/// Has a link with an absolute path into the repository `original` lead into its copy instead.
fn lead_inside(link: &Path, original: &Path, copy: &Path) -> io::Result<()> {
    // Without links in the work tree, git writes a file.
    let Ok(target) = fs::read_link(link) else { return Ok(()) };
    let Ok(inside) = target.strip_prefix(original) else { return Ok(()) };
    fs::remove_file(link)?;
    symlink(copy.join(inside), link)
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

/// Whether git sees no difference between the work tree around `directory` and `HEAD`. No filter is started, so this may be wrong to
/// say no; nor does git look into submodules.
pub fn is_clean(directory: &Path) -> io::Result<bool> {
    let settings = content_settings(directory)?;
    let mut filters: BTreeSet<&str> = settings.keys().filter_map(|key| key.strip_prefix("filter.")).collect();
    filters = filters.iter().filter_map(|key| Some(key.rsplit_once('.')?.0)).collect();
    if filters.iter().any(|filter| filter.contains('=')) {
        return Ok(false);
    }
    let off = |filter: &&str| {
        let keys = ["clean=", "process=", "required=false"];
        keys.map(|key| format!("filter.{filter}.{key}"))
    };
    let off: Vec<String> = filters.iter().flat_map(off).collect();
    let git = || {
        let mut git = git(directory);
        git.arg("--no-optional-locks").args(off.iter().flat_map(|key| ["-c", key]));
        git
    };
    let status = ["status", "--porcelain", "-z", "--untracked-files=normal", "--ignore-submodules=all"];
    let listed = stdout(git().args(["ls-files", "--stage", "-z"]))?;
    Ok(entries(&listed).iter().all(|entry| entry.kind != b"160000") && slow_stdout(git().args(status))?.is_empty())
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
        let settings = settings.iter().filter(|(key, _)| key.starts_with("core.") && *key != "core.sparsecheckout");
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

/// Where git does not look at modes, a file is as executable as it is in the work tree.
fn executable_as(in_work_tree: &Path, exported: &Path) -> io::Result<()> {
    let here = look::unless_absent(fs::metadata(in_work_tree))?;
    let executable = |here: fs::Metadata| Permissions::from_mode(here.permissions().mode() & 0o111 | 0o644);
    here.map_or(Ok(()), |here| fs::set_permissions(exported, executable(here)))
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

#[cfg(test)]
mod tests {
    use super::super::commit;
    use super::*;

    fn write(path: &Path, text: &str) {
        fs::create_dir_all(path.parent().expect("a directory")).expect("directories");
        fs::write(path, text).expect("a file");
    }

    fn run(directory: &Path, args: &[&str]) -> String {
        let identity = ["-c", "user.name=t", "-c", "user.email=t@localhost"];
        let output = stdout(git(directory).args(identity).args(args)).expect("git");
        String::from_utf8_lossy(&output).trim_end().to_owned()
    }

    #[test]
    fn a_commit_of_a_folder_is_written_as_a_work_tree_of_it_and_nothing_else_changes() {
        let top = tempfile::tempdir().expect("a directory");
        let folder = top.path().join("below/it");
        write(&folder.join("skills/a/SKILL.md"), "old\n");
        write(&folder.join("else"), "else\n");
        write(&top.path().join("above"), "not below");
        write(&top.path().join(".gitattributes"), "/below/it/skills/** text eol=crlf\n");
        symlink("SKILL.md", folder.join("skills/a/link")).expect("a link");
        symlink(folder.join("else"), folder.join("skills/a/absolute")).expect("a link");
        symlink("/nowhere", folder.join("skills/a/out")).expect("a link");
        run(top.path(), &["init", "--quiet", "--initial-branch", "main"]);
        run(top.path(), &["add", "--all"]);
        run(top.path(), &["commit", "--quiet", "--message", "one"]);
        fs::write(folder.join("skills/a/SKILL.md"), "new").expect("a file");
        let to = tempfile::tempdir().expect("a directory");
        let hash = commit(&folder, "main").expect("a commit");
        let all = CommitPart::Without(Path::new("evals/recordings"));
        let at = export(&folder, &hash, all, to.path()).expect("an export").folder;
        // As in the work tree, by what a parent directory says of it.
        let read = |path: &str| fs::read_to_string(at.join(path)).expect("a file");
        assert_eq!((read("skills/a/SKILL.md"), read("else")), ("old\r\n".to_owned(), "else\n".to_owned()));
        let target = |path: &str| fs::read_link(at.join(path)).expect("a link");
        assert_eq!(target("skills/a/link"), Path::new("SKILL.md"));
        assert_eq!(target("skills/a/absolute"), at.join("else"));
        assert_eq!(target("skills/a/out"), Path::new("/nowhere"));
        let names: Vec<_> =
            fs::read_dir(to.path()).expect("a directory").flatten().map(|entry| entry.file_name()).collect();
        assert_eq!(names, ["below"]);
        assert_eq!(run(top.path(), &["status", "--porcelain"]), " M below/it/skills/a/SKILL.md");
        assert!(!is_clean(&folder).expect("an answer"));
        run(top.path(), &["stash", "--quiet"]);
        assert!(is_clean(&folder).expect("an answer"));
        run(top.path(), &["config", "core.autocrlf", "true"]);
        export(&folder, &hash, all, to.path()).expect("an export");
        assert_eq!(read("else"), "else\r\n");
    }

    #[test]
    fn a_commit_has_the_files_of_a_sparse_work_tree_only_and_an_empty_directory_for_a_submodule() {
        let top = tempfile::tempdir().expect("a directory");
        let library = tempfile::tempdir().expect("a directory");
        write(&library.path().join("file"), "1");
        for directory in [library.path(), top.path()] {
            run(directory, &["init", "--quiet", "--initial-branch", "main"]);
        }
        run(library.path(), &["add", "--all"]);
        run(library.path(), &["commit", "--quiet", "--message", "one"]);
        let hash = run(library.path(), &["rev-parse", "HEAD"]);
        write(&top.path().join("in/file"), "1");
        write(&top.path().join("in/large/file"), "1");
        write(&top.path().join("out/file"), "1");
        run(top.path(), &["add", "--all"]);
        run(top.path(), &["update-index", "--add", "--cacheinfo", &format!("160000,{hash},in/library")]);
        run(top.path(), &["commit", "--quiet", "--message", "one"]);
        run(top.path(), &["sparse-checkout", "set", "--no-cone", "/in/"]);
        let to = tempfile::tempdir().expect("a directory");
        let commit = commit(top.path(), "HEAD").expect("a commit");
        let exported =
            export(top.path(), &commit, CommitPart::Without(Path::new("in/large")), to.path()).expect("an export");
        assert_eq!(exported.submodules, [(PathBuf::from("in/library"), hash)]);
        assert!(to.path().join("in/file").is_file() && to.path().join("in/library").is_dir());
        assert!(!to.path().join("out").exists() && !to.path().join("in/large").exists());
        export(top.path(), &commit, CommitPart::Only(Path::new("in/large")), to.path()).expect("an export");
        assert!(to.path().join("in/large/file").is_file());
    }
}
