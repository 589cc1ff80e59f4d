//! The workspace holds a file at the end of the trial.

use std::sync::Arc;

use crate::checks::{Ask, CheckAnswer, CheckKind, FieldForm, FieldValue, Subject};
use crate::text::relative_path::RelativePath;
use crate::trial::outcome::{Goal, Status};
use crate::trial::span::{EventPart, EventRef, Span};

pub(in crate::checks) static REQUIRED: CheckKind = CheckKind::new("require-file", Goal::Outcome).with_field(
    "require_files",
    "requireFiles",
    FieldForm::Paths { base: "the workspace" },
    |value| match value {
        FieldValue::Path(path) => Some(Arc::new(RequiredFile(path))),
        _ => None,
    },
);

#[derive(Debug)]
struct RequiredFile(RelativePath);

impl Ask for RequiredFile {
    fn evaluate(&self, subject: &Subject<'_>) -> Option<CheckAnswer> {
        let (meta, path) = (subject.evidence.meta, self.0.as_path());
        let hidden = meta.files_truncated && !meta.files_looked_for.iter().any(|known| known == path);
        // A directory counts as what it holds, and as itself if it is empty.
        let found = meta.files.iter().find(|file| file.path.starts_with(path));
        let (status, what) = match found {
            Some(file) if file.is_folder() => (Status::Pass, "an empty directory".to_owned()),
            Some(file) if file.path == path => (Status::Pass, format!("{} bytes", file.size)),
            Some(file) => (Status::Pass, format!("a directory with {}", file.path.display())),
            None if hidden => (Status::Unknown, "the workspace holds more files than are listed".to_owned()),
            None => missing(subject),
        };
        Some(
            CheckAnswer::new(status, format!("the workspace holds {}", self.0), what)
                .at(written(subject, &self.0.to_string())),
        )
    }

    fn required_file(&self) -> Option<&RelativePath> {
        Some(&self.0)
    }
}

/// The answer about a file that should be there and is not.
pub(super) fn missing(subject: &Subject<'_>) -> (Status, String) {
    let changed = subject.evidence.meta.files.iter().filter(|file| file.changed).take(20);
    let changed: Vec<String> = changed.map(|file| file.path.display().to_string()).collect();
    let wrote = if changed.is_empty() { "no files".to_owned() } else { changed.join(", ") };
    (subject.missing(), format!("missing; the agent wrote {wrote}"))
}

/// The last change of the file by an editing tool, else the last call that names it.
pub(super) fn written(subject: &Subject<'_>, path: &str) -> Span {
    let texts = subject.evidence.trace.steps.iter().enumerate().rev();
    let hits = texts.flat_map(|(at, step)| step.texts().into_iter().map(move |(part, text)| (at, part, text)));
    let mut named = None;
    for (at, part, text) in hits {
        let Some(from) = text.find(path) else { continue };
        let span = || Span::of_text(EventRef::Step(at), part, from..from + path.len());
        match part {
            EventPart::Path(_) => return span(),
            EventPart::Input => named = named.or_else(|| Some(span())),
            EventPart::Text | EventPart::Name | EventPart::Output => {}
        }
    }
    named.unwrap_or(EventRef::End.into())
}
