//! Answers and errors as they are printed: the same for every command.

use std::io::{self, Write};
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};

use super::color;
use super::documents::{ErrorDocument, Format};
use super::exit_code::Exit;
use super::output::{self, Stream};
use crate::report::diagnostics;
use crate::report::paint::{Paint, Tone};
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

/// Whether this process has printed a document: standard output has one, whatever is found afterwards.
static PRINTED: AtomicBool = AtomicBool::new(false);

/// Prints an error as a document, unless there is one already.
pub fn print_error_document(error: &Problem) -> io::Result<()> {
    if PRINTED.load(Ordering::Relaxed) {
        return Ok(());
    }
    print_json(&ErrorDocument { format: Format, error: error.to_string(), problems: error.files() })
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

/// Prints an answer: as one JSON document, as a sentence, or with its figures.
pub fn print_answer<T: serde::Serialize>(
    answer: &T,
    (json, quiet): (bool, bool),
    [sentence, render]: [fn(&T, Paint) -> String; 2],
) -> io::Result<()> {
    let paint = color::paint(Stream::Output);
    match (json, quiet) {
        (true, _) => print_json(answer),
        (false, true) => writeln!(output::text_stdout(), "{}", sentence(answer, paint)),
        (false, false) => output::text_stdout().write_all(render(answer, paint).as_bytes()),
    }
}

/// Prints a document; see [`documents`](super::documents).
pub fn print_json(value: &impl serde::Serialize) -> io::Result<()> {
    PRINTED.store(true, Ordering::Relaxed);
    writeln!(output::document_stdout(), "{}", escape::json(&serde_json::to_string_pretty(value)?))
}

/// Prints a document with its keys in the order of the alphabet.
pub fn print_sorted_json(value: &impl serde::Serialize) -> io::Result<()> {
    print_json(&serde_json::to_value(value)?)
}
