//! Files that cannot be used: of a skill or a fixture, scripts of checks, and schemas.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use crate::cases::catalog::FoundSkill;
use crate::cases::repo_files::{NoPlainFile, RepoFiles, plain_file};
use crate::checks::schema::Schema;
use crate::files::material::{MaterialProblem, UnusableFile};
use crate::text::diagnostic::{Code, Diagnostic, SourceLocation};

/// The most problems that are reported of one skill: one cause often has many.
const MAX_PROBLEMS: usize = 10;

/// The files of a skill that cannot be copied.
pub(super) fn skill(found: &FoundSkill, tree: &dyn RepoFiles) -> Vec<Diagnostic> {
    let folder = &found.skill().folder;
    let problems = tree.material_problems(folder).into_iter().take(MAX_PROBLEMS);
    let diagnostics = problems.map(|problem| {
        let message = format!("this file of the skill {}", problem.why);
        diagnostic(&problem, SourceLocation::file(folder.join(&problem.path)), message)
    });
    diagnostics.collect()
}

/// The first problem of the directory at `path`: a case's fixture, or other `what`. `place` is where the case names it.
pub(super) fn of_case(path: &Path, place: SourceLocation, what: &str, tree: &dyn RepoFiles) -> Option<Diagnostic> {
    let problem = tree.material_problems(path).into_iter().next()?;
    let message = format!("the {what} cannot be used: {} {}", path.join(&problem.path).display(), problem.why);
    Some(diagnostic(&problem, place, message))
}

fn diagnostic(problem: &MaterialProblem, place: SourceLocation, message: String) -> Diagnostic {
    let (code, help) = match &problem.why {
        UnusableFile::Absolute(_) | UnusableFile::Leaving(_) => {
            (Code::Symlink, "copy what it points to into the directory: agents get this directory and nothing else")
        }
        UnusableFile::Broken(_) | UnusableFile::Loop(_) => {
            (Code::Symlink, "remove the link, or point it to a file of this directory")
        }
        UnusableFile::Special(_) => {
            (Code::NotCopied, "remove it: only files, directories and links between them can be copied")
        }
        UnusableFile::Unreadable(_) => (Code::NotCopied, "make it readable, or remove it"),
        UnusableFile::TooMany | UnusableFile::TooLarge(_) | UnusableFile::TooDeep => {
            (Code::NotCopied, "make the directory smaller: it is copied for every trial that runs at the same time")
        }
    };
    Diagnostic::new(code, place, message).help(help)
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

/// What keeps the script at `path` from being started, if anything: the kind, the message and what helps. `sources` says where paths start.
pub(super) fn script(path: &Path, sources: &str, tree: &dyn RepoFiles) -> Option<(Code, String, String)> {
    let shown = path.display();
    let problem = |code, message: String, help: &str| Some((code, message, help.to_owned()));
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

/// The problems of schema files. Many cases share a file.
#[derive(Default)]
pub(super) struct Schemas(HashMap<PathBuf, Option<(Code, String)>>);

impl Schemas {
    pub(super) fn problem(&mut self, path: &Path, tree: &dyn RepoFiles) -> Option<(Code, String)> {
        self.0.entry(path.to_path_buf()).or_insert_with(|| schema(path, tree).err()).clone()
    }
}

fn schema(path: &Path, tree: &dyn RepoFiles) -> Result<(), (Code, String)> {
    let shown = path.display();
    let bytes = plain_file(tree, path).map_err(|why| {
        let code = match why {
            NoPlainFile::Missing | NoPlainFile::NoFile => Code::MissingSchema,
            NoPlainFile::Symlink => Code::Symlink,
            NoPlainFile::Unreadable(_) => Code::Unreadable,
        };
        (code, format!("the schema {shown} {why}"))
    })?;
    match Schema::parse(&bytes) {
        Ok(_) => Ok(()),
        Err(error) => Err((Code::BadSchema, format!("the schema {shown} {error}"))),
    }
}
