//! Has libtest-mimic run trials and print their results. It panics where they cannot be printed.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::panic::{self, AssertUnwindSafe, PanicHookInfo, catch_unwind, resume_unwind};
use std::process::ExitCode;
use std::sync::{Arc, Mutex, PoisonError};

use libtest_mimic::{Arguments, Conclusion, Trial};

use super::args::EXIT_BAD_ARGUMENTS;
use super::watch::say;

/// Why results cannot be printed.
#[derive(Debug)]
pub(super) enum PrintError {
    /// Nobody reads them any more: `-- --list | head`.
    Closed,
    /// Anything else.
    Error(String),
}

impl PrintError {
    /// The exit code; `runs` says whether trials were to run.
    pub(super) fn exit_code(&self, runs: bool) -> ExitCode {
        match self {
            Self::Closed if !runs => ExitCode::SUCCESS,
            Self::Closed => ExitCode::from(EXIT_BAD_ARGUMENTS),
            Self::Error(why) => {
                say(&format!("error: the results cannot be printed: {why}"));
                ExitCode::from(EXIT_BAD_ARGUMENTS)
            }
        }
    }
}

/// Prints the names of these tests, as libtest-mimic does: to the log file where one is named. At once, since a system call for each of
/// a hundred thousand names takes longer than to find them.
pub(super) fn list<'a>(arguments: &Arguments, names: impl Iterator<Item = &'a str>) -> Result<(), PrintError> {
    let print = || {
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
    };
    print().map_err(|error: io::Error| match error.kind() {
        io::ErrorKind::BrokenPipe => PrintError::Closed,
        _ => PrintError::Error(error.to_string()),
    })
}

/// Runs and prints `trials`.
pub(super) fn run(arguments: &Arguments, trials: Vec<Trial>) -> Result<Conclusion, PrintError> {
    let unprinted = Arc::<Mutex<Option<PrintError>>>::default();
    let (seen, usual) = (Arc::clone(&unprinted), panic::take_hook());
    panic::set_hook(Box::new(move |panic| match of_printer(panic) {
        Some(why) => *seen.lock().unwrap_or_else(PoisonError::into_inner) = Some(why),
        None => usual(panic),
    }));
    catch_unwind(AssertUnwindSafe(|| libtest_mimic::run(arguments, trials))).map_err(|panic| {
        let why = unprinted.lock().unwrap_or_else(PoisonError::into_inner).take();
        why.unwrap_or_else(|| resume_unwind(panic))
    })
}

/// Why libtest-mimic cannot print, if that is what this panic is about.
fn of_printer(panic: &PanicHookInfo<'_>) -> Option<PrintError> {
    let file = panic.location()?.file();
    let why = panic.payload().downcast_ref::<String>()?;
    if !(file.contains("libtest-mimic") && file.ends_with("printer.rs")) {
        return None;
    }
    // An `io::Error` as `Debug` has it.
    let message = why.split_once("message: \"").and_then(|(_, rest)| rest.split('"').next());
    let message = message.unwrap_or(why).to_owned();
    Some(if why.contains("BrokenPipe") { PrintError::Closed } else { PrintError::Error(message) })
}
