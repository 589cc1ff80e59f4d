//! What is answered from files in a case: the answers of commands, with the content of their files.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::cases::case::Case;
use crate::cases::repo_files::{FileKind, RepoFiles};
use crate::settings::{AnswerText, CommandAnswer};
use crate::text::diagnostic::{Code, Diagnostic};
use crate::text::relative_path::RelativePath;
use crate::trial::mock::ReadyAnswer;

/// The largest output of one answer, in bytes.
const LARGEST_OUTPUT: usize = 16 << 20;

/// All that is answered from files in a case.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Mocks {
    /// The answers of each command, in the order in which they are tried.
    pub commands: BTreeMap<String, Vec<ReadyAnswer>>,
}

impl Mocks {
    /// What is answered in `case`: its own answers come before those `of_all` cases. The error has what cannot be answered.
    pub fn of(tree: &dyn RepoFiles, of_all: &[CommandAnswer], case: &Case) -> Result<Self, Vec<Diagnostic>> {
        let (mut mocks, mut problems) = (Self::default(), Vec::new());
        for answer in case.mocks.iter().chain(of_all) {
            let CommandAnswer { command, args, stdout, stderr, exit_code, place: _ } = answer;
            let stdout = match stdout {
                AnswerText::Here(text) => text.clone().into_bytes(),
                AnswerText::File(path) => content(tree, path).unwrap_or_else(|why| {
                    let message = format!("the output `{path}` of `{command}` {why}");
                    let problem = Diagnostic::new(Code::Unreadable, answer.place.clone(), message);
                    problems.push(problem.help("it is a path from the repository's root"));
                    Vec::new()
                }),
            };
            let ready = ReadyAnswer { args: args.clone(), stdout, stderr: stderr.clone(), exit_code: *exit_code };
            mocks.commands.entry(command.clone()).or_default().push(ready);
        }
        if problems.is_empty() { Ok(mocks) } else { Err(problems) }
    }

    /// Whether nothing is.
    pub fn is_empty(&self) -> bool {
        self.commands.is_empty()
    }
}

fn content(tree: &dyn RepoFiles, path: &RelativePath) -> Result<Vec<u8>, String> {
    match tree.kind(path.as_path()) {
        FileKind::File => {}
        FileKind::Missing => return Err("does not exist".to_owned()),
        FileKind::Symlink => return Err("is reached through a symbolic link".to_owned()),
        FileKind::Folder | FileKind::Other => return Err("is not a file".to_owned()),
    }
    let bytes = tree.read(path.as_path()).map_err(|error| format!("cannot be read: {error}"))?;
    match bytes.len() {
        0..=LARGEST_OUTPUT => Ok(bytes),
        size => Err(format!("has {size} bytes; at most {LARGEST_OUTPUT} are answered")),
    }
}
