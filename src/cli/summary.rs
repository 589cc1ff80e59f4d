//! `skill-evals summary`.

use std::io::{self, Write};
use std::path::PathBuf;

use clap::Args;

use super::{CliResult, RepositoryArgs, color, print_json};
use crate::cli::exit_code::Exit;
use skill_evals::report::{markdown, table};
use skill_evals::run::history;
use skill_evals::store::{self, RunFolder};

#[derive(Args)]
pub struct SummaryArgs {
    /// Runs, by id or as folders: the parts of a run that was split over machines make one summary.
    #[arg(value_name = "RUN-ID|FOLDER", required = true)]
    what: Vec<String>,
    /// Print Markdown.
    #[arg(long, conflicts_with = "json")]
    markdown: bool,
    /// Print a JSON object.
    #[arg(long)]
    json: bool,
    /// Write the summary files of a single run anew.
    #[arg(long)]
    write: bool,
    #[command(flatten)]
    repository: RepositoryArgs,
}

pub fn summary(args: &SummaryArgs) -> CliResult {
    let root = args.repository.open()?.root;
    let (mut ids, mut trials, mut folders) = (Vec::new(), Vec::new(), Vec::new());
    for what in &args.what {
        if what.contains('/') {
            let path = PathBuf::from(what);
            ids.push(path.file_name().map_or_else(|| what.clone(), |name| name.to_string_lossy().into_owned()));
            trials.extend(store::trials_below(&path));
        } else {
            let run = RunFolder::open(&root, what)?;
            ids.push(run.id().to_owned());
            trials.extend(run.trials());
            folders.push(run);
        }
    }
    if trials.is_empty() {
        return Err(format!("{} holds no stored trials (no meta.json below it)", args.what.join(", ")).into());
    }
    let (summary, unreadable) = history::summarize(ids, &trials);
    if args.write {
        let [run] = folders.as_slice() else { return Err("--write needs exactly one run, by its id".into()) };
        run.write_summary(&summary, &markdown::summary(&summary))?;
    }
    let mut out = io::stdout().lock();
    if args.json {
        print_json(&mut out, &summary)?;
    } else if args.markdown {
        out.write_all(markdown::summary(&summary).as_bytes())?;
    } else {
        writeln!(out, "{}{}", table::table(&summary, color(&out)), table::closing(&summary))?;
    }
    for error in &unreadable {
        writeln!(io::stderr(), "warning: not counted: {error}")?;
    }
    Ok(if unreadable.is_empty() { Exit::Clean } else { Exit::Infrastructure })
}
