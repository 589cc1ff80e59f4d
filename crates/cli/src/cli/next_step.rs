//! Suggests the next command, on standard error: standard output is for the results.

use std::io::Write;

use crate::cases::case::FoundCase;
use crate::cli::output::stderr;
use crate::report::diagnostics::counted;
use crate::text::escape;

pub fn next(step: &str) {
    // If standard error is closed, nobody waits.
    let _ = writeln!(stderr(), "next: {}", escape::line(step));
}

/// Suggests `generate` if any of these cases are built in.
pub fn after_built_in<'a>(cases: impl IntoIterator<Item = &'a FoundCase>) {
    let mut built_in = cases.into_iter().filter(|found| found.format().is_built_in());
    let Some(first) = built_in.next() else { return };
    next(&format!(
        "skill-evals generate --skill {} writes cases to edit: {} here were built in, of skills without any",
        escape::word(&first.skill),
        counted(built_in.count() + 1, "case")
    ));
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use clap::error::ErrorKind;
    use skill_evals_testing::{files_below, repository};

    /// The commands in backticks in our sources, with a word in each gap. Those that only name a command, or leave something open, are
    /// left out.
    fn proposed(file: &Path) -> Vec<String> {
        let text = fs::read_to_string(file).expect("a source");
        let lines = text.lines().filter(|line| !line.trim_start().starts_with("//"));
        let text = lines.map(|line| line.trim().trim_end_matches('\\')).collect::<String>();
        let commands = text.split("`skill-evals ").skip(1).filter_map(|rest| rest.split_once('`'));
        let commands = commands.map(|(command, _)| command.replace("\\\"", "\""));
        let is_whole = |command: &String| {
            command.contains(' ') && !command.contains(['…', '<', '|', '"']) && !command.contains("--{")
        };
        commands.filter(is_whole).map(|command| filled(&command)).collect()
    }

    /// The command with `1` for each placeholder.
    fn filled(command: &str) -> String {
        let mut parts = command.split('{');
        let mut text = parts.next().unwrap_or_default().to_owned();
        for part in parts {
            text.push('1');
            text.push_str(part.split_once('}').map_or("", |(_, rest)| rest));
        }
        text.replace("M/N", "1/2")
    }

    #[test]
    fn every_command_that_a_message_proposes_is_one_that_the_program_takes() {
        let sources = ["crates", "src"].into_iter().flat_map(|folder| files_below(&repository().join(folder)));
        let is_source = |file: &Path| {
            let path = file.to_string_lossy();
            path.ends_with(".rs") && path.contains("/src/") && !path.contains("/tests")
        };
        let files: Vec<_> = sources.filter(|file| is_source(file)).collect();
        let mut seen = 0;
        for file in &files {
            for command in proposed(file) {
                seen += 1;
                let words = ["skill-evals"].into_iter().chain(command.split_whitespace());
                let refused = crate::cli::command().try_get_matches_from(words).err();
                // One that only names an option lacks its value.
                let is_unknown = |error: &clap::Error| {
                    matches!(error.kind(), ErrorKind::UnknownArgument | ErrorKind::InvalidSubcommand)
                };
                let unknown = refused.filter(is_unknown).map(|error| error.to_string());
                assert_eq!(unknown, None, "{}: {command}", file.display());
            }
        }
        assert!(seen > 20, "{seen}");
    }
}
