//! `skill-evals import`.

use std::collections::BTreeSet;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::{Args, ValueEnum};
use serde_json::json;

use super::grade::SessionArgs;
use crate::cases::case::{Case, FoundCase, task_json};
use crate::cases::catalog::Catalog;
use crate::cases::mocks::{MockNames, MockServers};
use crate::cases::repo_files::{FileKind, RepoFiles};
use crate::cases::repository::Repository;
use crate::cli::exit_code::Exit;
use crate::cli::output::{stderr, text_stdout};
use crate::cli::{CliResult, CliResultOf, RepositoryArgs};
use crate::engine::Loaded;
use crate::files::{inside, look};
use crate::report::diagnostics::counted;
use crate::settings::mode::Delivery;
use crate::skill::slug;
use crate::store;
use crate::text::diagnostic::{Diagnostic, shown_path};
use crate::text::name::LONGEST_ID;
use crate::text::name::resolved;
use crate::text::{cut, escape};

const HELP: &str = "Exit codes of --to:
  0  every case is written
  2  nothing is written: invalid arguments, no cases of other programs
  3  a case is not written; its reason is on standard error";

#[derive(Args)]
#[command(after_help = HELP)]
pub struct ImportArgs {
    #[command(flatten)]
    tasks: TaskArgs,
    #[command(flatten)]
    session: SessionArgs,
    /// Output file, for example evals/tasks/NAME.json (`-` is stdout)
    #[arg(long, short, value_name = "FILE", default_value = "-")]
    output: PathBuf,
    #[command(flatten)]
    repository: RepositoryArgs,
}

pub fn import(args: &ImportArgs) -> CliResult {
    if args.tasks.to.is_some() {
        return args.tasks.import(&args.repository);
    }
    let open = args.session.open(&args.repository)?;
    let [prompt] = open.read.prompts()[..] else {
        return Err(format!("a task has one prompt: choose one with --turn\n{}", open.prompts()).into());
    };
    let skill = open.skill(args.session.skill.as_deref().ok_or("name the skill under test: --skill NAME")?)?;
    let graded = open.read.grade(&open.run, &Case::of_activation(skill.skill()), skill)?;
    let Some(activated) = graded.activated().0 else {
        let why = graded.grade.trouble.map(|trouble| format!(": {trouble}")).unwrap_or_default();
        return Err(format!("the session does not show whether the skill activated{why}").into());
    };
    if args.output != Path::new(store::STDOUT) && look::exists(&args.output)? {
        return Err(format!("{} exists; name another file", args.output.display()).into());
    }
    // A trial has a directory of its own.
    let folder = open.read.session.folder.as_deref().unwrap_or_default();
    let prompt = if folder.is_empty() { prompt.to_owned() } else { prompt.replace(&format!("{folder}/"), "") };
    let mut config = json!({ "expectedSkillName": skill.skill().name });
    if !activated {
        config["shouldTrigger"] = false.into();
    }
    let written = open.read.written(&graded.trace);
    if !written.is_empty() {
        config["requireFiles"] = written.into();
    }
    let text = format!("{:#}\n", json!({ "prompt": prompt, "evalConfig": config }));
    store::write_out(&args.output, |file| file.write_all(text.as_bytes()))?;
    if args.output != Path::new(store::STDOUT) {
        writeln!(text_stdout(), "{}", escape::line(&shown_path(&open.run.root, &args.output).display().to_string()))?;
    }
    let others: Vec<&str> = graded.trace.activations.iter().map(|activation| activation.skill.as_str()).collect();
    let others: Vec<&str> = others.into_iter().filter(|name| slug(name) != skill.skill().slug).collect();
    if !others.is_empty() {
        writeln!(stderr(), "note: {} activated too", escape::line(&others.join(", ")))?;
    }
    Ok(Exit::Clean)
}

// `skill-evals import --to tasks`: cases of other programs as task files.

#[derive(Args)]
pub struct TaskArgs {
    /// Case files of other programs [default: all of the repository]
    #[arg(value_name = "FILE", requires = "to")]
    files: Vec<PathBuf>,
    /// Write the cases of other programs' files in this format
    #[arg(long, value_name = "FORMAT", conflicts_with_all = ["session", "output"])]
    pub to: Option<TargetFormat>,
    /// With --to: replace existing files
    #[arg(long, requires = "to")]
    overwrite: bool,
    /// With --to: write nothing, and show what would be written
    #[arg(long, requires = "to")]
    dry_run: bool,
}

#[derive(Clone, Copy, ValueEnum)]
pub enum TargetFormat {
    /// A file for each case in evals/tasks
    Tasks,
}

impl TaskArgs {
    pub fn import(&self, repository: &RepositoryArgs) -> CliResult {
        let Loaded { repository, catalog, .. } = repository.read()?;
        let cases = self.cases(&repository, &catalog)?;
        let (mut names, mut exit, mut weighted) = (BTreeSet::new(), Exit::Clean, 0);
        let (mut replaced, mut still_needed) = (Vec::new(), Vec::new());
        for of_file in cases.chunk_by(|a, b| a.file == b.file) {
            let mut written = 0;
            for found in of_file {
                match self.write(&repository, found, &mut names) {
                    Ok(case) => {
                        written += 1;
                        weighted += usize::from(case.is_scored());
                    }
                    Err(whys) => {
                        exit = Exit::Infrastructure;
                        let name = escape::line(&format!("{}/{}", found.skill, found.id));
                        writeln!(stderr(), "not written: {name}: {}", escape::line(&whys.join("; ")))?;
                    }
                }
            }
            let file = escape::line(&of_file[0].file.display().to_string());
            let verb = if self.dry_run { "would be written" } else { "written" };
            let all = counted(of_file.len(), "case");
            writeln!(text_stdout(), "{file}: {written} of {all} {verb} to {}", folder().display())?;
            if written == of_file.len() {
                replaced.push(file);
            } else if written > 0 {
                let left = counted(of_file.len() - written, "case");
                still_needed.push(format!("{file} still has {left} that no task has"));
            }
        }
        if weighted > 0 {
            let cases = counted(weighted, "case");
            writeln!(stderr(), "note: the weights of {cases} are left out: without a threshold they decide nothing")?;
        }
        for file in still_needed.iter().filter(|_| !self.dry_run) {
            writeln!(stderr(), "note: keep the file: {file}; remove the others from it: they now run twice")?;
        }
        if !replaced.is_empty() && !self.dry_run {
            let files = cut::names(&replaced, 1);
            writeln!(stderr(), "note: cases now run twice: remove the old files, {files}")?;
        }
        Ok(exit)
    }

    /// The cases of other programs, file by file.
    fn cases<'a>(&self, repository: &Repository, catalog: &'a Catalog) -> CliResultOf<Vec<&'a Arc<FoundCase>>> {
        let mut cases: Vec<_> = catalog.cases.iter().filter(|found| found.format().foreign.is_some()).collect();
        let mut chosen = BTreeSet::new();
        for file in &self.files {
            let shown = file.display();
            if !look::exists(file)? {
                return Err(format!("{shown}: the file does not exist").into());
            }
            let paths = paths_in(&repository.root, file)?;
            if paths.is_empty() {
                let root = repository.root.display();
                return Err(format!("{shown}: it is outside the repository {root}; --root names another one").into());
            }
            let Some(found) = cases.iter().find(|found| paths.iter().any(|path| *found.file == **path)) else {
                return Err(format!("{shown}: no cases of other programs found in it").into());
            };
            chosen.insert(found.file.to_path_buf());
        }
        cases.retain(|found| chosen.is_empty() || chosen.contains(&*found.file));
        if cases.is_empty() {
            return Err("no cases of other programs found; `skill-evals list --coverage` shows what is read".into());
        }
        cases.sort_by(|a, b| a.file.cmp(&b.file));
        Ok(cases)
    }

    /// Writes a case and returns it. An error says why it is not written.
    fn write(
        &self,
        repository: &Repository,
        found: &FoundCase,
        names: &mut BTreeSet<String>,
    ) -> Result<Case, Vec<String>> {
        let path = task_path(&free_name(found, names));
        // Without the scripts that the settings name: they are added to the task, too.
        let case = found.source.case(&found.skill);
        let case = case.map_err(|problems| problems.iter().map(Diagnostic::to_string).collect::<Vec<_>>())?;
        if !case.unsupported.is_empty() {
            return Err(case.unsupported_parts(false).iter().map(Diagnostic::to_string).collect());
        }
        let is_mocked =
            || !MockNames::of(repository, &[], &case, Delivery::Native, &MockServers::default()).servers.is_empty();
        if case.mock_servers.is_some() && is_mocked() {
            let why = "MCP servers of it are answered from files, which a task file cannot say";
            return Err(vec![format!("{}: {why}; run the case where it is", case.origin)]);
        }
        let text = task_json::written(&case, found.format(), &path);
        let text = text.map_err(|why| vec![format!("{}: {why}", case.origin)])?;
        let shown = path.display();
        match repository.kind(&path) {
            FileKind::Missing => {}
            FileKind::File if self.overwrite || repository.read(&path).is_ok_and(|old| old == text.as_bytes()) => {}
            FileKind::File => return Err(vec![format!("{shown} exists; --overwrite replaces it")]),
            FileKind::Folder | FileKind::Symlink | FileKind::Other | FileKind::Unreadable => {
                return Err(vec![format!("{shown} is not a file that can be replaced")]);
            }
        }
        if self.dry_run {
            return Ok(case);
        }
        let written = inside::write(&repository.root, &path, text.as_bytes());
        written.map(|()| case).map_err(|error| vec![error.to_string()])
    }
}

/// The paths of a file from the root of a repository, as it is written and without its links; none if it lies elsewhere.
fn paths_in(root: &Path, file: &Path) -> io::Result<Vec<PathBuf>> {
    let written = std::path::absolute(file)?;
    let written = resolved(written.strip_prefix("/").unwrap_or(&written)).map(|path| Path::new("/").join(path));
    let paths = written.into_iter().map(|path| (root.to_path_buf(), path));
    let paths = paths.chain([(root.canonicalize()?, file.canonicalize()?)]);
    Ok(paths.filter_map(|(root, path)| path.strip_prefix(root).ok().map(Path::to_path_buf)).collect())
}

/// The directory of the tasks, from the repository's root.
fn folder() -> &'static Path {
    task_json::FORMAT.files.as_ref().map_or(Path::new(""), |files| files.folder())
}

/// The task file of this name, from the repository's root.
fn task_path(name: &str) -> PathBuf {
    task_json::FORMAT.files.as_ref().map(|files| files.path_of(name)).unwrap_or_default()
}

/// A name for the task that no other one has: ids of cases are unique in their skill, names of tasks in the repository.
fn free_name(found: &FoundCase, names: &mut BTreeSet<String>) -> String {
    let name = format!("{}-{}", found.skill, found.id);
    let numbered = (2..).map(|number| {
        let number = format!("-{number}");
        format!("{}{number}", cut::bytes(&name, LONGEST_ID - number.len()).0)
    });
    let first = cut::bytes(&name, LONGEST_ID).0.to_owned();
    let mut candidates = std::iter::once(first).chain(numbered);
    candidates.find(|name| names.insert(name.to_lowercase())).unwrap_or_default()
}
