//! `skill-evals init`.

use std::io::{self, BufRead, Write};
use std::path::{Path, PathBuf};

use clap::Args;

use super::generate::author::agent;
use super::{CliResult, CliResultOf, one_of};
use crate::cases::repository::{Layout, Repository, Scope};
use crate::cli::exit_code::Exit;
use crate::cli::output::{stderr, text_stdout};
use crate::files::look;
use crate::run::default_modes;
use crate::settings::mode::AgentKind;
use crate::settings::{Trust, load};
use crate::setup::init::{self, CiService, CrateSource, FileAction, InitError, InitMode, InitStep, InitSummary};
use crate::text::escape;

#[derive(Args)]
pub struct InitArgs {
    /// Directory of the crate or repository [default: the working directory]
    #[arg(long, value_name = "DIR")]
    root: Option<PathBuf>,
    #[command(flatten)]
    source: SourceArgs,
    /// Without a Cargo.toml, add a small crate in evals for `cargo test`
    #[arg(long, conflicts_with = "ci")]
    rust: bool,
    /// Only write the files of this CI service: a free job, the gate with its comment, a nightly run
    #[arg(long, value_name = "SERVICE", value_parser = one_of::<CiService>(CiService::WORDS))]
    ci: Option<CiService>,
    /// With --ci: agent to run (repeatable) [default: that of the recordings, else one that can run here]
    #[arg(long, value_name = "AGENT", requires = "ci", value_parser = agent)]
    agent: Vec<AgentKind>,
    /// Write without a question, outside a git repository too
    #[arg(long, short)]
    yes: bool,
}

/// Options that say where a crate or a CI job gets this program.
#[derive(Args)]
pub struct SourceArgs {
    /// Take skill-evals from this checkout
    #[arg(long, value_name = "DIR", conflicts_with = "git")]
    path: Option<PathBuf>,
    /// Take skill-evals from this git repository
    #[arg(long, value_name = "URL")]
    git: Option<String>,
    /// With --git: the commit or tag.
    #[arg(long, value_name = "REV", requires = "git")]
    rev: Option<String>,
}

pub fn init(args: &InitArgs) -> CliResult {
    let root = std::path::absolute(args.root.as_deref().unwrap_or(Path::new(".")))?;
    if !look::is_directory(&root)? {
        return Err(super::repository::not_found(format!("{} is not a directory", root.display())).into());
    }
    let source = args.source.source()?;
    if let Some(service) = args.ci {
        let source = source.ok_or(InitError::NoSource)?;
        let agents = if args.agent.is_empty() {
            let settings = load::read(&root, Trust::Trusted)?;
            let catalog = Repository::new(&root).catalog(Layout::of(&settings), Scope::All);
            default_modes::agents(&root, &settings, &catalog)
        } else {
            args.agent.clone()
        };
        print_steps(init::init_ci(&root, service, &source, &agents)?)?;
        writeln!(text_stdout(), "\nnext: {}", service.next())?;
        return Ok(Exit::Clean);
    }
    // Only a crate gets this program from somewhere.
    let wants_rust = args.rust || source.is_some();
    if !args.yes
        && !look::exists(&root.join("Cargo.toml"))?
        && !root.ancestors().any(|parent| look::is_usable(&parent.join(".git")))
    {
        confirm(&init::init(&root, source.as_ref(), wants_rust, InitMode::Plan)?)?;
    }
    let made = init::init(&root, source.as_ref(), wants_rust, InitMode::Write)?;
    print_steps(made.steps)?;
    let mut out = text_stdout();
    let Some(harness) = made.harness else {
        writeln!(out, "\nnext: skill-evals lint checks the cases; skill-evals run --dry-run says what would run")?;
        return Ok(Exit::Clean);
    };
    let manifest = init::relative(&std::env::current_dir()?, &harness.join("Cargo.toml")).display().to_string();
    let manifest = match manifest.as_str() {
        "Cargo.toml" => String::new(),
        other => format!("--manifest-path {} ", escape::word(other)),
    };
    writeln!(out, "\nnext: cargo test {manifest}--test skill_evals; with SKILL_EVALS_LIVE=1 it runs the agents")?;
    Ok(Exit::Clean)
}

fn print_steps(steps: Vec<InitStep>) -> io::Result<()> {
    let mut out = text_stdout();
    for step in steps {
        let action = match step.action {
            FileAction::Written => "written".to_owned(),
            FileAction::Added(what) => format!("added {what}"),
            FileAction::IsThere => "is there already".to_owned(),
            FileAction::LeftAlone(what) => format!("is there already and was left alone; {what}"),
        };
        writeln!(out, "{}", escape::line(&format!("{}: {action}", step.path.display())))?;
    }
    out.flush()
}

/// Lists the files that `init` would write and asks. Fails unless the answer is yes.
fn confirm(plan: &InitSummary) -> CliResultOf<()> {
    let mut err = stderr();
    writeln!(err, "not a git repository and no Cargo.toml; init would write:")?;
    for step in &plan.steps {
        if matches!(step.action, FileAction::Written | FileAction::Added(_)) {
            writeln!(err, "  {}", escape::line(&step.path.display().to_string()))?;
        }
    }
    write!(err, "Continue? [y/N] ")?;
    err.flush()?;
    let mut answer = String::new();
    if io::stdin().lock().read_line(&mut answer)? == 0 {
        writeln!(err)?;
    }
    if matches!(answer.trim().to_ascii_lowercase().as_str(), "y" | "yes") {
        return Ok(());
    }
    Err("nothing was written; go to a repository, or write here with --yes".into())
}

impl SourceArgs {
    pub fn is_given(&self) -> bool {
        self.path.is_some() || self.git.is_some()
    }

    pub fn source(&self) -> io::Result<Option<CrateSource>> {
        if let Some(problem) = self.git.as_deref().and_then(not_a_url) {
            return Err(io::Error::other(problem));
        }
        Ok(match (&self.path, &self.git) {
            (Some(path), _) => {
                Some(CrateSource::Path { folder: std::path::absolute(path)?, is_relative: path.is_relative() })
            }
            (None, Some(url)) => Some(CrateSource::Git { url: url.clone(), rev: self.rev.clone() }),
            (None, None) => None,
        })
    }
}

/// Why cargo cannot take this as the URL of a git repository, with one that it can. A directory is one, too.
fn not_a_url(url: &str) -> Option<String> {
    let said = |expected: &str| Some(format!("--git {}: {expected}", escape::word(url)));
    let Some((_, rest)) = url.split_once("://") else {
        if look::is_usable_directory(Path::new(url)) {
            return None;
        }
        // git reads `user@host:path` as SSH, and cargo does not.
        return match url.split_once(':').filter(|(host, _)| !host.contains('/')) {
            Some((host, path)) => said(&format!("cargo reads no such address; expected ssh://{host}/{path}")),
            None => said("expected the URL of a git repository, as https://github.com/OWNER/skill-evals"),
        };
    };
    // The page of a branch or a file.
    let at = ["/-/tree/", "/-/blob/", "/tree/", "/blob/"].into_iter().find_map(|mark| rest.find(mark))?;
    let repository = &url[..url.len() - rest.len() + at];
    said(&format!("this is a page of a repository; expected --git {repository}, with the commit or tag as --rev"))
}
