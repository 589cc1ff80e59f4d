//! Scripts of checks that cannot be started.

use std::path::Path;

use crate::cases::repo_files::{FileKind, RepoFiles};
use crate::text::diagnostic::Code;

pub(super) struct ScriptProblem {
    pub code: Code,
    pub message: String,
    pub help: String,
}

/// The first line of scripts, by the ending of the file.
const FIRST_LINES: [(&str, &str); 6] = [
    ("py", "#!/usr/bin/env python3"),
    ("sh", "#!/bin/sh"),
    ("bash", "#!/usr/bin/env bash"),
    ("js", "#!/usr/bin/env node"),
    ("mjs", "#!/usr/bin/env node"),
    ("rb", "#!/usr/bin/env ruby"),
];

/// What keeps the script at `path` from being started, if anything.
pub(super) fn check(path: &Path, tree: &dyn RepoFiles) -> Option<ScriptProblem> {
    let shown = path.display();
    let problem = |code, message: String, help: &str| Some(ScriptProblem { code, message, help: help.to_owned() });
    match tree.kind(path) {
        FileKind::File => {}
        FileKind::Missing => {
            let help = "`check` is a path from the repository's root";
            return problem(Code::MissingCheck, format!("the check {shown} does not exist"), help);
        }
        FileKind::Symlink => {
            let message = format!("the check {shown} is reached through a symbolic link");
            return problem(Code::Symlink, message, "name the file that the link leads to");
        }
        FileKind::Folder | FileKind::Other => {
            let help = "name a script in it";
            return problem(Code::MissingCheck, format!("the check {shown} is not a file"), help);
        }
    }
    let bytes = match tree.read(path) {
        Ok(bytes) => bytes,
        Err(error) => return problem(Code::Unreadable, format!("the check {shown}: {error}"), "make it readable"),
    };
    // A compiled program has such a byte in its header.
    let is_script = !bytes.iter().take(256).any(|byte| *byte == 0);
    if is_script && !bytes.starts_with(b"#!") {
        let ending = path.extension().and_then(|ending| ending.to_str()).unwrap_or_default();
        let line =
            FIRST_LINES.iter().find(|(known, _)| *known == ending).map_or("#!/usr/bin/env …", |(_, line)| line);
        let message = format!("the check {shown} does not say which program runs it");
        return problem(Code::BadCheck, message, &format!("begin it with the line `{line}`"));
    }
    if !tree.is_executable(path) {
        let help = format!("run: chmod +x {shown}");
        return problem(Code::BadCheck, format!("the check {shown} is not executable"), &help);
    }
    None
}
