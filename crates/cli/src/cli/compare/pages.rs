//! A comparison of result files as a page and as Markdown.

use std::io::Write;
use std::path::{Path, PathBuf};

use clap::Args;

use crate::cli::CliResultOf;
use crate::exports::html::comparison;
use crate::report::markdown;
use crate::results::compared::ComparisonResults;
use crate::store;

#[derive(Args)]
pub struct PageArgs {
    /// Write a comparison of result files of other tools as a page (`-` is stdout)
    #[arg(long, value_name = "FILE", conflicts_with = "resume")]
    html: Option<PathBuf>,
    /// Write it as Markdown
    #[arg(long, value_name = "FILE", conflicts_with = "resume")]
    markdown: Option<PathBuf>,
}

impl PageArgs {
    /// Whether a page is written to standard output, in place of the answer.
    pub fn is_output(&self) -> bool {
        self.files().any(|file| file == Path::new(store::STDOUT))
    }

    /// Refuses more than one text on standard output.
    pub fn check(&self, has_output: bool) -> Result<(), String> {
        let on_output = self.files().filter(|file| *file == Path::new(store::STDOUT)).count();
        if on_output + usize::from(has_output) > 1 {
            return Err("standard output has room for one text: name a file for the others".to_owned());
        }
        Ok(())
    }

    /// Refuses pages where trials are stored, or run.
    pub fn refuse(&self) -> Result<(), String> {
        let named = [("--html", &self.html), ("--markdown", &self.markdown)];
        match named.iter().find(|(_, file)| file.is_some()) {
            Some((option, _)) => Err(format!(
                "{option}: only for result files of other tools; of runs, `skill-evals report` writes a page"
            )),
            None => Ok(()),
        }
    }

    pub fn write(&self, compared: &ComparisonResults, lacks: Option<&str>) -> CliResultOf<()> {
        type Render = fn(&ComparisonResults, Option<&str>) -> String;
        let pages: [(_, Render); 2] = [(&self.html, comparison::page), (&self.markdown, markdown::comparison)];
        for (file, render) in pages {
            if let Some(file) = file {
                store::write_out(file, |out| out.write_all(render(compared, lacks).as_bytes()))?;
            }
        }
        Ok(())
    }

    fn files(&self) -> impl Iterator<Item = &Path> {
        [&self.html, &self.markdown].into_iter().flatten().map(PathBuf::as_path)
    }
}
