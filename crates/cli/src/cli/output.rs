//! Standard output and standard error, the only places where commands print. A closed pipe is not an error:
//! `skill-evals list | head`. What acts on a terminal or on a CI service is spelled out here, so that no command has to remember it:
//! clippy keeps the others from the streams.
#![expect(clippy::disallowed_methods, reason = "everything is printed here")]

use std::borrow::Cow;
use std::ffi::OsString;
use std::io::{self, IsTerminal, StderrLock, StdoutLock, Write};
use std::os::fd::AsFd;
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};

use anstream::{AutoStream, ColorChoice};
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::parser::ValueSource;
use clap::{ArgMatches, Command, Error};
use terminal_size::{Width, terminal_size_of};

use super::documents::{ErrorDocument, Format};
use super::exit_code::Exit;
use crate::report::diagnostics;
use crate::report::paint::{Paint, Tone};
use crate::text::escape;
use crate::text::problem::Problem;

/// A stream of this process, to ask about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stream {
    /// Standard output.
    Output,
    /// Standard error.
    Errors,
}

impl Stream {
    pub fn is_terminal(self) -> bool {
        match self {
            Self::Output => io::stdout().is_terminal(),
            Self::Errors => io::stderr().is_terminal(),
        }
    }

    /// Whether it takes colors.
    pub fn choice(self) -> ColorChoice {
        match self {
            Self::Output => AutoStream::choice(&io::stdout()),
            Self::Errors => AutoStream::choice(&io::stderr()),
        }
    }
}

/// Draws on the terminal of standard error. The text is our own, except for what was made safe.
pub fn draw(text: &str) {
    let _ = io::stderr().lock().write_all(text.as_bytes());
}

/// A stream that drops text once its reader is gone, so that a command still does its work and returns its exit code.
pub struct PipeOutput<W>(W);

/// Standard output for documents, whose format escapes what it must: nothing is changed.
pub fn document_stdout() -> PipeOutput<StdoutLock<'static>> {
    PipeOutput(io::stdout().lock())
}

/// Standard output for people: lines break between words on a terminal.
pub fn text_stdout() -> LineWrapper<PipeOutput<StdoutLock<'static>>> {
    LineWrapper { stream: document_stdout(), width: width(io::stdout()), line: String::new() }
}

/// Standard error. Lines break between words on a terminal.
pub fn stderr() -> LineWrapper<PipeOutput<StderrLock<'static>>> {
    LineWrapper { stream: PipeOutput(io::stderr().lock()), width: width(io::stderr()), line: String::new() }
}

/// Warns on a line of standard error.
pub fn warn(text: &str) -> io::Result<()> {
    writeln!(stderr(), "warning: {}", escape::line(text))
}

/// The columns of a terminal; `None` for a file or a pipe.
fn width(stream: impl AsFd) -> Option<usize> {
    terminal_size_of(stream).map(|(Width(columns), _)| usize::from(columns))
}

/// `text` as [`text_stdout`] prints it.
pub fn as_printed(text: &str) -> String {
    let width = width(io::stdout());
    escape::printed(text).split_inclusive('\n').map(|line| wrapped_at(line, width)).collect()
}

impl<W: Write> Write for PipeOutput<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        or_dropped(self.0.write(bytes), bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        or_dropped(self.0.flush(), ())
    }
}

/// The result of a write. If the reader is gone, the text counts as written.
fn or_dropped<T>(result: io::Result<T>, dropped: T) -> io::Result<T> {
    match result {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(dropped),
        other => other,
    }
}

/// Spells out what acts, and breaks lines that are longer than the terminal between words.
pub struct LineWrapper<W: Write> {
    stream: W,
    width: Option<usize>,
    /// The line that is not complete.
    line: String,
}

impl<W: Write> Write for LineWrapper<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        for part in String::from_utf8_lossy(bytes).split_inclusive('\n') {
            self.line.push_str(part);
            if part.ends_with('\n') {
                let line = std::mem::take(&mut self.line);
                self.stream.write_all(wrapped_at(&escape::printed(&line), self.width).as_bytes())?;
            }
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        let line = std::mem::take(&mut self.line);
        self.stream.write_all(escape::printed(&line).as_bytes())?;
        self.stream.flush()
    }
}

impl<W: Write> Drop for LineWrapper<W> {
    fn drop(&mut self) {
        // A command that cares about errors flushes before.
        let _ = self.stream.write_all(escape::printed(&self.line).as_bytes());
    }
}

/// `line` on several lines, if it is too long for the terminal.
fn wrapped_at(line: &str, width: Option<usize>) -> Cow<'_, str> {
    width.map_or(Cow::Borrowed(line), |width| Cow::Owned(wrap(line, width)))
}

/// `line` on several lines of at most `width` columns, if it is longer. A longer word stays whole, and so does a command, which
/// somebody may copy. Later lines are indented as far as the value behind labels (`  found     the text`), else by two columns.
fn wrap(line: &str, width: usize) -> String {
    if columns(line) <= width {
        return line.to_owned();
    }
    let margin = line.len() - line.trim_start_matches(' ').len();
    let mut indent = (margin + 2).min(width / 3);
    for (at, _) in line[margin..].match_indices("  ") {
        let (label, rest) = line.split_at(margin + at);
        let value = columns(label) + rest.len() - rest.trim_start_matches(' ').len();
        if value <= width / 3 {
            indent = value;
        }
    }
    let mut text = line[..margin].to_owned();
    let mut column = margin;
    for word in parts(&line[margin..]) {
        let length = columns(word.trim_end());
        // The second of two spaces begins no line.
        if length == 0 && (column >= width || column == indent) {
            continue;
        }
        // A word that does not fit under the value begins under the label.
        let indent = if indent + length > width { indent.min(margin + 2) } else { indent };
        if column + length > width && column > indent {
            text.truncate(text.trim_end_matches(' ').len());
            text.push('\n');
            text.push_str(&" ".repeat(indent));
            column = indent;
        }
        text.push_str(word);
        column += columns(word);
    }
    text
}

/// The parts of a line between which it may break: its words, but a command and what is between backticks are one.
fn parts(text: &str) -> Vec<&str> {
    let has_pairs = text.matches('`').count().is_multiple_of(2);
    let (mut parts, mut start, mut in_code, mut command) = (Vec::new(), 0, false, WordPlace::None);
    let mut word = 0;
    for (at, c) in text.char_indices() {
        match c {
            '`' if has_pairs => in_code = !in_code,
            ' ' => {
                let next = text[at + 1..].split(' ').next().unwrap_or_default();
                command = command.after(&text[word..at], next, text[..word].ends_with("  "));
                word = at + 1;
                if !in_code && command == WordPlace::None {
                    parts.push(&text[start..=at]);
                    start = at + 1;
                }
            }
            _ => {}
        }
    }
    parts.push(&text[start..]);
    parts
}

/// Whether the space behind a word is in a command of this program.
#[derive(Clone, Copy, PartialEq, Eq)]
enum WordPlace {
    None,
    /// Before the subcommand, or before an option or its value.
    Goes,
    /// The command is the value of a label, and goes on to the next label.
    Value,
}

impl WordPlace {
    /// After `word`, which begins behind a label if `is_value`, and before `next`.
    fn after(self, word: &str, next: &str, is_value: bool) -> Self {
        let begins = word == "skill-evals" || word.starts_with("SKILL_EVALS_");
        match self {
            _ if next.is_empty() => Self::None,
            Self::Value => Self::Value,
            _ if begins && is_value => Self::Value,
            _ if begins => Self::Goes,
            Self::Goes if next.starts_with('-') || word.starts_with('-') => Self::Goes,
            Self::Goes | Self::None => Self::None,
        }
    }
}

/// The columns that `text` takes, without the codes of its colors.
fn columns(text: &str) -> usize {
    let mut parts = text.split('\u{1b}');
    let first = parts.next().unwrap_or_default();
    let rest = parts.map(|part| part.split_once('m').map_or(part, |(_, text)| text));
    std::iter::once(first).chain(rest).flat_map(str::chars).filter(|c| *c != '\n').count()
}

// Decides for every stream whether its text is colored.

/// The last value of `--color` in `arguments`, before clap has read them.
pub fn requested_color(arguments: impl IntoIterator<Item = OsString>) -> clap::ColorChoice {
    let words = arguments.into_iter().map(|word| word.to_string_lossy().into_owned());
    let words: Vec<String> = words.take_while(|word| word != "--").collect();
    let joined = words.iter().filter_map(|word| word.strip_prefix("--color="));
    let separate = words.windows(2).filter(|pair| pair[0] == "--color").map(|pair| pair[1].as_str());
    joined.chain(separate).filter_map(|when| when.parse().ok()).next_back().unwrap_or_default()
}

/// Applies `--color` to this process, including its harness.
pub fn choose_color(when: clap::ColorChoice) {
    let choice = match when {
        clap::ColorChoice::Auto => ColorChoice::Auto,
        clap::ColorChoice::Always => ColorChoice::Always,
        clap::ColorChoice::Never => ColorChoice::Never,
    };
    choice.write_global();
}

/// Whether text for `stream` is colored: by `--color`, else by `NO_COLOR`, `CLICOLOR`, `CLICOLOR_FORCE` and whether the stream is a
/// terminal.
pub fn paint(stream: Stream) -> Paint {
    match stream.choice() {
        ColorChoice::Never => Paint::Plain,
        _ => Paint::Color,
    }
}

// Answers and errors as they are printed: the same for every command.

pub fn print_error(error: &Problem) {
    let paint = paint(Stream::Errors);
    let mut text = diagnostics::render(error.files(), paint);
    if !error.said().is_empty() {
        text.insert_str(0, &format!("{} {}\n", paint.on(Tone::Bad, "error:"), escape::block(error.said())));
    }
    // If standard error is closed too, only the exit code is left.
    let _ = write!(stderr(), "{text}");
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
            let _ = writeln!(stderr(), "error: {error}");
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
    let paint = paint(Stream::Output);
    match (json, quiet) {
        (true, _) => print_json(answer),
        (false, true) => writeln!(text_stdout(), "{}", sentence(answer, paint)),
        (false, false) => text_stdout().write_all(render(answer, paint).as_bytes()),
    }
}

/// Prints a document; see [`documents`](super::documents).
pub fn print_json(value: &impl serde::Serialize) -> io::Result<()> {
    PRINTED.store(true, Ordering::Relaxed);
    writeln!(document_stdout(), "{}", escape::json(&serde_json::to_string_pretty(value)?))
}

/// Prints a document with its keys in the order of the alphabet.
pub fn print_sorted_json(value: &impl serde::Serialize) -> io::Result<()> {
    print_json(&serde_json::to_value(value)?)
}

// Refuses empty values: a shell variable that is not set would choose all trials, or a model without a name.

/// The error of the first argument on the command line whose value is empty. Arguments that are handed on may be.
pub fn refuse_empty_value(command: &Command, matches: &ArgMatches) -> Result<(), Error> {
    if let Some((name, matches)) = matches.subcommand() {
        return command.find_subcommand(name).map_or(Ok(()), |command| refuse_empty_value(command, matches));
    }
    for argument in command.get_arguments() {
        let id = argument.get_id().as_str();
        let is_handed_on = argument.is_trailing_var_arg_set() || argument.is_last_set();
        if is_handed_on || matches.value_source(id) != Some(ValueSource::CommandLine) {
            continue;
        }
        let mut values = matches.get_raw(id).into_iter().flatten();
        if values.any(|value| value.to_str().is_some_and(|text| text.trim().is_empty())) {
            let mut error = Error::new(ErrorKind::InvalidValue).with_cmd(command);
            error.insert(ContextKind::InvalidArg, ContextValue::String(argument.to_string()));
            error.insert(ContextKind::InvalidValue, ContextValue::String(String::new()));
            return Err(error);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::wrap;

    #[test]
    fn lines_break_between_words_under_their_value() {
        assert_eq!(wrap("  found     one two three\n", 22), "  found     one two\n    three\n");
        assert_eq!(
            wrap("  found     one two three four five six\n", 36),
            "  found     one two three four five\n            six\n"
        );
        assert_eq!(wrap("one two three four\n", 9), "one two\n  three\n  four\n");
        assert_eq!(wrap("\u{1b}[31mone two\u{1b}[0m three\n", 13), "\u{1b}[31mone two\u{1b}[0m three\n");
        assert_eq!(wrap("a/long/path/of/a/file x\n", 8), "a/long/path/of/a/file\n  x\n");
        assert_eq!(wrap("  look into   artifacts/a/long/path x\n", 30), "  look into\n    artifacts/a/long/path x\n");
    }

    #[test]
    fn a_command_stays_whole() {
        assert_eq!(
            wrap("  show it     skill-evals show tidy/c0/codex --run 20260101\n", 40),
            "  show it\n    skill-evals show tidy/c0/codex --run 20260101\n"
        );
        assert_eq!(
            wrap("  to resume: skill-evals run --resume --run-id 20260101  (runs the 3 left)\n", 40),
            "  to resume:\n    skill-evals run --resume --run-id 20260101\n    (runs the 3 left)\n"
        );
        assert_eq!(
            wrap("next: skill-evals run --skill pdf runs the cases of a skill\n", 30),
            "next:\n  skill-evals run --skill pdf\n  runs the cases of a skill\n"
        );
        assert_eq!(
            wrap("3 are aged; `skill-evals run --aged --record` measures them\n", 40),
            "3 are aged;\n  `skill-evals run --aged --record`\n  measures them\n"
        );
    }
}
