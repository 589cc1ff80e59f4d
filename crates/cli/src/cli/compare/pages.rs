//! A comparison of result files as a page and as Markdown.

use std::io::Write;
use std::path::{Path, PathBuf};

use clap::Args;

use crate::cli::CliResultOf;
use crate::cli::export_args::IN_PLACE;
use crate::cli::output::document_stdout;
use crate::exports::html::comparison;
use crate::report::markdown;
use crate::results::compared::ComparisonResults;
use crate::store;
use crate::text::problem::Problem;

#[derive(Args)]
pub struct PageArgs {
    /// Write a comparison of result files of other tools as a page (`-` is stdout)
    #[arg(long, value_name = "FILE", conflicts_with = "resume")]
    html: Option<PathBuf>,
    /// Print a comparison of result files of other tools as Markdown
    #[arg(long, group = IN_PLACE, conflicts_with = "resume")]
    markdown: bool,
}

impl PageArgs {
    /// Whether one of them is on standard output, in place of the answer.
    pub fn is_output(&self) -> bool {
        self.markdown || self.has_html_output()
    }

    fn has_html_output(&self) -> bool {
        self.html.as_deref() == Some(Path::new(store::STDOUT))
    }

    /// Refuses a page next to another text on standard output.
    pub fn check(&self, has_output: bool) -> Result<(), Problem> {
        if self.has_html_output() && (has_output || self.markdown) {
            return Err("standard output has room for one text: name a file for the page".into());
        }
        Ok(())
    }

    /// Refuses both where trials are stored, or run.
    pub fn refuse(&self) -> Result<(), Problem> {
        let option = match (&self.html, self.markdown) {
            (Some(_), _) => "--html",
            (None, true) => "--markdown",
            (None, false) => return Ok(()),
        };
        Err(format!("{option}: only for result files of other tools; of runs, `skill-evals report` writes a page")
            .into())
    }

    pub fn write(&self, compared: &ComparisonResults, lacks: Option<&str>) -> CliResultOf<()> {
        if self.markdown {
            document_stdout().write_all(markdown::comparison(compared, lacks).as_bytes())?;
        }
        if let Some(file) = &self.html {
            store::write_out(file, |out| out.write_all(comparison::page(compared, lacks).as_bytes()))?;
        }
        Ok(())
    }
}
