//! Scripts of checks that cannot be started.

use std::path::Path;

use crate::cases::repo_files::{NoPlainFile, RepoFiles, plain_file};
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

/// What keeps the script at `path` from being started, if anything. `sources` says where paths start.
pub(super) fn check(path: &Path, sources: &str, tree: &dyn RepoFiles) -> Option<ScriptProblem> {
    let shown = path.display();
    let problem = |code, message: String, help: &str| Some(ScriptProblem { code, message, help: help.to_owned() });
    let bytes = match plain_file(tree, path) {
        Ok(bytes) => bytes,
        Err(why) => {
            let (code, help) = match why {
                NoPlainFile::Missing => (Code::MissingCheck, sources),
                NoPlainFile::Symlink => (Code::Symlink, "name the file that the link leads to"),
                NoPlainFile::NoFile => (Code::MissingCheck, "name a script in it"),
                NoPlainFile::Unreadable(_) => (Code::Unreadable, "make it readable"),
            };
            return problem(code, format!("the check {shown} {why}"), help);
        }
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
