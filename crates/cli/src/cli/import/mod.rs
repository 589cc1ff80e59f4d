//! `skill-evals import`.

mod tasks;

use std::io::Write;
use std::path::{Path, PathBuf};

use clap::Args;
use serde_json::json;

use super::session::SessionArgs;
use super::{CliResult, RepositoryArgs};
use crate::cases::case::Case;
use crate::cli::exit_code::Exit;
use crate::cli::output::{stderr, text_stdout};
use crate::files::look;
use crate::skill::slug;
use crate::store;
use crate::text::diagnostic::shown_path;
use crate::text::escape;
use tasks::TaskArgs;

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
