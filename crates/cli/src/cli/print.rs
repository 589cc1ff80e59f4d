//! Answers and errors as they are printed: the same for every command.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};

use super::color;
use super::exit_code::Exit;
use super::output::{self, Stream};
use crate::report::diagnostics;
use crate::report::paint::{Paint, Tone};
use crate::text::diagnostic::Diagnostic;
use crate::text::escape;
use crate::text::problem::Problem;

pub fn print_error(error: &Problem) {
    let paint = color::paint(Stream::Errors);
    let mut text = diagnostics::render(error.files(), paint);
    if !error.said().is_empty() {
        text.insert_str(0, &format!("{} {}\n", paint.on(Tone::Bad, "error:"), escape::block(error.said())));
    }
    // If standard error is closed too, only the exit code is left.
    let _ = write!(output::stderr(), "{text}");
}

const ERROR_FORMAT: u32 = 1;

/// What a command prints with `--json` if it could not run.
#[derive(serde::Serialize)]
struct ErrorDocument<'a> {
    error: String,
    /// What is wrong in files.
    problems: &'a [Diagnostic],
}

/// Whether this process has printed a document: standard output has one, whatever is found afterwards.
static PRINTED: AtomicBool = AtomicBool::new(false);

/// Prints an error as a document, unless there is one already.
pub fn print_error_document(error: &Problem) -> io::Result<()> {
    if PRINTED.load(Ordering::Relaxed) {
        return Ok(());
    }
    print_document(ERROR_FORMAT, &ErrorDocument { error: error.to_string(), problems: error.files() })
}

/// Prints help, the version, or the problem with the arguments.
pub fn print_clap_error(error: &clap::Error) -> ExitCode {
    match error.print() {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            let _ = writeln!(output::stderr(), "error: {error}");
            Exit::CouldNotRun.into()
        }
        _ if error.use_stderr() => Exit::CouldNotRun.into(),
        _ => Exit::Clean.into(),
    }
}
/// The format number of documents that are a list.
pub const LIST_FORMAT: u32 = 1;

/// Prints `{"format": 1, name: items}`.
pub fn print_list<T: serde::Serialize>(name: &'static str, items: &[T]) -> io::Result<()> {
    print_document(LIST_FORMAT, &BTreeMap::from([(name, items)]))
}

/// Prints an object with its format first.
pub fn print_document(format: u32, content: &impl serde::Serialize) -> io::Result<()> {
    #[derive(serde::Serialize)]
    struct WithFormat<'a, T> {
        format: u32,
        #[serde(flatten)]
        content: &'a T,
    }

    print_json(&mut output::document_stdout(), &WithFormat { format, content })
}

/// Prints an answer: as one JSON document, as a sentence, or with its figures.
pub fn print_answer<T: serde::Serialize>(
    answer: &T,
    (json, quiet): (bool, bool),
    [sentence, render]: [fn(&T, Paint) -> String; 2],
) -> io::Result<()> {
    let paint = color::paint(Stream::Output);
    match (json, quiet) {
        (true, _) => print_json(&mut output::document_stdout(), answer),
        (false, true) => writeln!(output::text_stdout(), "{}", sentence(answer, paint)),
        (false, false) => output::text_stdout().write_all(render(answer, paint).as_bytes()),
    }
}

pub fn print_json(out: &mut impl Write, value: &impl serde::Serialize) -> io::Result<()> {
    PRINTED.store(true, Ordering::Relaxed);
    writeln!(out, "{}", escape::json(&serde_json::to_string_pretty(value)?))
}
