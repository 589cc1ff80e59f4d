//! Runs trials with libtest-mimic, which prints the results and panics if it cannot.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::panic::{self, AssertUnwindSafe, PanicHookInfo, catch_unwind, resume_unwind};
use std::process::ExitCode;
use std::sync::{Arc, Mutex, PoisonError};

use libtest_mimic::{Arguments, Conclusion, Trial};

use super::args::EXIT_BAD_ARGUMENTS;
use super::watch::say;

#[derive(Debug)]
pub(super) enum PrintError {
    /// The reader has ended, as in `-- --list | head`.
    Closed,
    Error(String),
}

impl PrintError {
    /// The exit code; `runs` is whether trials were to run.
    pub(super) fn exit_code(&self, runs: bool) -> ExitCode {
        match self {
            Self::Closed if !runs => return ExitCode::SUCCESS,
            Self::Closed => {}
            Self::Error(why) => say(&format!("error: the results cannot be printed: {why}")),
        }
        ExitCode::from(EXIT_BAD_ARGUMENTS)
    }
}

/// Prints the names of these tests as libtest-mimic does, but buffered: a system call for each of a hundred thousand names
/// would take longer than finding them.
pub(super) fn list<'a>(arguments: &Arguments, names: impl Iterator<Item = &'a str>) -> Result<(), PrintError> {
    print_list(arguments, names).map_err(|error| match error.kind() {
        io::ErrorKind::BrokenPipe => PrintError::Closed,
        _ => PrintError::Error(error.to_string()),
    })
}

/// Writes a text of our own to standard output.
#[expect(clippy::disallowed_methods, reason = "nothing in it is from outside")]
pub(super) fn write(text: &str) -> io::Result<()> {
    io::stdout().lock().write_all(text.as_bytes())
}

#[expect(clippy::disallowed_methods, reason = "what runs tests reads it")]
fn print_list<'a>(arguments: &Arguments, names: impl Iterator<Item = &'a str>) -> io::Result<()> {
    let out: Box<dyn Write> = match &arguments.logfile {
        Some(path) => Box::new(File::create(path)?),
        None => Box::new(io::stdout().lock()),
    };
    let mut out = BufWriter::with_capacity(1 << 16, out);
    for name in names {
        out.write_all(name.as_bytes())?;
        out.write_all(b": test\n")?;
    }
    out.flush()
}

pub(super) fn run(arguments: &Arguments, trials: Vec<Trial>) -> Result<Conclusion, PrintError> {
    let print_error = Arc::<Mutex<Option<PrintError>>>::default();
    let (hook_error, default_hook) = (Arc::clone(&print_error), panic::take_hook());
    panic::set_hook(Box::new(move |panic| match print_error_of(panic) {
        Some(error) => *hook_error.lock().unwrap_or_else(PoisonError::into_inner) = Some(error),
        None => default_hook(panic),
    }));
    catch_unwind(AssertUnwindSafe(|| libtest_mimic::run(arguments, trials))).map_err(|panic| {
        let error = print_error.lock().unwrap_or_else(PoisonError::into_inner).take();
        error.unwrap_or_else(|| resume_unwind(panic))
    })
}

/// The error of libtest-mimic's printer, if the panic is about it.
fn print_error_of(panic: &PanicHookInfo<'_>) -> Option<PrintError> {
    let file = panic.location()?.file();
    let why = panic.payload().downcast_ref::<String>()?;
    if !(file.contains("libtest-mimic") && file.ends_with("printer.rs")) {
        return None;
    }
    // The text has the `Debug` form of an `io::Error`.
    let message = why.split_once("message: \"").and_then(|(_, rest)| rest.split('"').next());
    let message = message.unwrap_or(why).to_owned();
    Some(if why.contains("BrokenPipe") { PrintError::Closed } else { PrintError::Error(message) })
}
