//! This program in the place of another one.
#![expect(clippy::disallowed_methods, reason = "an agent reads it, as it would read the other program's output")]

use std::io::{self, Write};
use std::path::Path;
use std::process::ExitCode;

use crate::files::bounded;
use crate::files::look;
use crate::mock::{LOG, SERVERS, SHARE, log, server};
use crate::settings::pattern;
use crate::trial::mock::{MockCall, ReadyAnswer, line};

/// The status that a shell reports of a program which SIGPIPE ended.
const BROKEN_PIPE: u8 = 141;

/// Answers as the command or server that this process was started as, if it was.
pub fn take_over() -> Option<ExitCode> {
    let program = std::env::current_exe().ok()?;
    let (directory, name) = (program.parent()?, program.file_name()?);
    let share = directory.parent()?.join(SHARE);
    let answers = share.join(directory.file_name()?).join(name);
    if !look::is_usable_file(&answers) {
        return None;
    }
    let name = name.to_string_lossy();
    let log = share.join(LOG);
    if directory.ends_with(SERVERS) {
        return Some(server::serve(&answers, &log).map_or_else(
            |why| {
                let _ = writeln!(io::stderr(), "{name}: {why}");
                ExitCode::FAILURE
            },
            |()| ExitCode::SUCCESS,
        ));
    }
    Some(answer(&name, &answers, &log).unwrap_or_else(|error| {
        if error.kind() == io::ErrorKind::BrokenPipe {
            // Nobody reads on, which ends other programs in silence.
            return ExitCode::from(BROKEN_PIPE);
        }
        let _ = writeln!(io::stderr(), "{name}: {error}");
        ExitCode::FAILURE
    }))
}

fn answer(name: &str, answers: &Path, log: &Path) -> io::Result<ExitCode> {
    let answers: Vec<ReadyAnswer> = serde_json::from_slice(&bounded::read(answers)?)?;
    let line = line(std::env::args_os().skip(1));
    let fits = |answer: &&ReadyAnswer| {
        answer.args.as_ref().is_none_or(|args| pattern(args).is_ok_and(|pattern| pattern.is_match(&line)))
    };
    let found = answers.iter().find(fits);
    let call = MockCall { name: name.to_owned(), input: line.clone(), answered: found.is_some(), violated: None };
    // Without a record there is no answer: what was answered is known.
    log::add(log, &call)?;
    let Some(ReadyAnswer { stdout, stderr, exit_code, .. }) = found else {
        return Err(io::Error::other(format!("not available here: {name} {line}")));
    };
    io::stderr().write_all(stderr.as_bytes())?;
    let mut output = io::stdout().lock();
    output.write_all(stdout)?;
    output.flush()?;
    Ok(ExitCode::from(*exit_code))
}
