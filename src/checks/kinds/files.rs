//! Files of the workspace at the end of a trial: they exist, contain something, or equal a file of the repository.

use std::borrow::Cow;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use globset::{GlobBuilder, GlobMatcher};
use similar::TextDiff;

use crate::checks::kinds::file::{missing, written};
use crate::checks::listed::test_of;
use crate::checks::text_test::{TextResult, TextTest};
use crate::checks::{
    Ask, Check, CheckAnswer, CheckKind, FieldForm, FieldValue, InvalidCheck, ListForm, ListedCheck, Subject,
};
use crate::text::cut;
use crate::text::redact::is_masked;
use crate::text::relative_path::RelativePath;
use crate::trial::outcome::{Goal, Status};
use crate::trial::span::{EventRef, Span};

/// Maximum number of files whose contents one check reads.
const MOST_FILES: usize = 200;

/// Maximum length of a difference, in bytes.
const LONGEST_DIFF: usize = 2_000;

pub(in crate::checks) static FILE: CheckKind = CheckKind::new("file", Goal::Outcome).in_list(&ListForm {
    key: "file",
    form: FieldForm::Text,
    options: &[
        ("exists", FieldForm::Flag),
        ("not", FieldForm::Flag),
        ("snapshot", FieldForm::Path { base: "the repository's root" }),
    ],
    tests: true,
    ask: listed,
});

/// What must hold of files.
#[derive(Clone, Debug)]
pub enum FileWant {
    /// One of them exists, or none does.
    Exists(bool),
    /// The content of one of them passes this test; if it is negated, that of none.
    Content(TextTest),
    /// The content is that of this file of the repository.
    Snapshot(RelativePath),
}

/// The files of the workspace that match this glob are as wanted.
pub fn file(glob: &str, want: FileWant) -> Result<Check, InvalidCheck> {
    Ok(Check::implied(&FILE, FileCheck { files: FileGlob::parse(glob)?, want }))
}

fn listed(check: &ListedCheck) -> Result<Arc<dyn Ask>, InvalidCheck> {
    let files = FileGlob::parse(check.text("file").unwrap_or_default())?;
    let test = test_of(check)?;
    let snapshot = match check.all("snapshot") {
        Some([FieldValue::Path(path)]) => Some(path.clone()),
        _ => None,
    };
    let want = match (check.flag("exists"), test, snapshot) {
        (Some(exists), None, None) => FileWant::Exists(exists != check.is("not")),
        (None, Some(test), None) => FileWant::Content(test),
        (None, None, None) => FileWant::Exists(!check.is("not")),
        (None, None, Some(_)) if check.is("not") || files.is_glob() => {
            let message = "`snapshot` is of one file, which must equal it";
            return Err(InvalidCheck::new("snapshot", message, "name one file in `file`, without `*` and `not`"));
        }
        (None, None, Some(path)) => FileWant::Snapshot(path),
        (_, Some(_), Some(_)) | (Some(_), ..) => {
            let message = "a check of a file has one of `exists`, `snapshot`, and what it contains";
            return Err(InvalidCheck::new("file", message, "write two checks: a file that contains something exists"));
        }
    };
    Ok(Arc::new(FileCheck { files, want }))
}

/// A path in the workspace, or a glob.
#[derive(Clone, Debug)]
struct FileGlob(RelativePath);

impl FileGlob {
    fn parse(text: &str) -> Result<Self, InvalidCheck> {
        let help = "give a path in the workspace; `*` stands for a part of a name, `**` for any directories";
        let invalid = |why: String| InvalidCheck::new("file", format!("`file`: {text:?} {why}"), help);
        let path = RelativePath::parse(text).map_err(|why| invalid(why.to_owned()))?;
        matcher(&path).map_err(|error| invalid(format!("is not a glob: {error}")))?;
        Ok(Self(path))
    }

    fn is_glob(&self) -> bool {
        self.0.to_string().contains(['*', '?', '[', '{'])
    }
}

fn matcher(path: &RelativePath) -> Result<GlobMatcher, globset::Error> {
    let glob = GlobBuilder::new(&path.to_string()).literal_separator(true).build()?;
    Ok(glob.compile_matcher())
}

#[derive(Debug)]
struct FileCheck {
    files: FileGlob,
    want: FileWant,
}

impl Ask for FileCheck {
    fn evaluate(&self, subject: &Subject<'_>) -> Option<CheckAnswer> {
        let paths = self.paths(subject);
        let files = &self.files.0;
        let answer = match &self.want {
            FileWant::Exists(should) => self.exists(subject, &paths, *should),
            FileWant::Content(test) => {
                let (one, none) = if self.files.is_glob() { ("one of", "none of") } else { ("the file", "the file") };
                let negated = test.negated && !self.files.is_glob();
                let which = if test.negated { none } else { one };
                let expected = format!("{which} {files} {}", test.words(negated));
                let (status, found) = self.content(subject, &paths, test);
                CheckAnswer::new(status, expected, found)
            }
            FileWant::Snapshot(snapshot) => {
                let (status, found) = self.snapshot(subject, &paths, snapshot.as_path());
                CheckAnswer::new(status, format!("{files} equals {snapshot}"), found)
            }
        };
        Some(answer.at(self.event(subject, &paths)))
    }

    fn forbids(&self) -> bool {
        matches!(self.want, FileWant::Exists(false))
    }

    fn required_file(&self) -> Option<&RelativePath> {
        (!self.files.is_glob()).then_some(&self.files.0)
    }

    fn snapshot(&self) -> Option<&RelativePath> {
        if let FileWant::Snapshot(path) = &self.want { Some(path) } else { None }
    }
}

impl FileCheck {
    /// The files that it is about.
    fn paths(&self, subject: &Subject<'_>) -> Vec<PathBuf> {
        let is_it = |path: &Path| match (self.files.is_glob(), matcher(&self.files.0)) {
            (true, Ok(glob)) => glob.is_match(path),
            _ => path == self.files.0.as_path(),
        };
        let files = subject.evidence.meta.files.iter();
        files.filter(|file| !file.is_folder() && is_it(&file.path)).map(|file| file.path.clone()).collect()
    }

    /// Whether the list of files may lack one.
    fn may_lack_some(&self, subject: &Subject<'_>) -> bool {
        let meta = subject.evidence.meta;
        let is_known = meta.files_looked_for.iter().any(|known| known == self.files.0.as_path());
        meta.files_truncated && (self.files.is_glob() || !is_known)
    }

    fn event(&self, subject: &Subject<'_>, paths: &[PathBuf]) -> Span {
        let path = paths.first().map_or(self.files.0.as_path(), PathBuf::as_path);
        if path == self.files.0.as_path() || !paths.is_empty() {
            written(subject, &path.display().to_string())
        } else {
            EventRef::End.into()
        }
    }

    fn exists(&self, subject: &Subject<'_>, paths: &[PathBuf], should: bool) -> CheckAnswer {
        let files = &self.files.0;
        let expected = format!("the workspace holds {}{files}", if should { "" } else { "no " });
        let meta = subject.evidence.meta;
        // A directory counts as what it holds, and as itself if it is empty.
        let in_directory = meta.files.iter().find(|file| file.path.starts_with(files.as_path()));
        let found = paths.first().map(|path| path.display().to_string());
        let found = found.or_else(|| in_directory.map(|file| file.path.display().to_string()));
        match found {
            Some(path) => CheckAnswer::holds(should, expected, format!("there is {path}")),
            None if self.may_lack_some(subject) => {
                CheckAnswer::new(Status::Unknown, expected, "the workspace holds more files than are listed")
            }
            None if should => {
                let (status, found) = missing(subject);
                CheckAnswer::new(status, expected, found)
            }
            None => subject.at_end(true, expected, "it is not there".to_owned()),
        }
    }

    fn content(&self, subject: &Subject<'_>, paths: &[PathBuf], test: &TextTest) -> (Status, String) {
        if paths.is_empty() {
            return self.none_there(subject);
        }
        let (mut differs, mut doubt) = (None, None);
        for path in paths.iter().take(MOST_FILES) {
            let shown = path.display();
            let content = match subject.contents.of_workspace(path) {
                Ok(content) => content,
                Err(why) => {
                    doubt = doubt.or(Some(format!("{shown}: {why}")));
                    continue;
                }
            };
            match test.of(&String::from_utf8_lossy(&content), false) {
                TextResult::Holds(_) => {
                    let status = if test.negated { Status::Fail } else { Status::Pass };
                    return (status, format!("{shown} does"));
                }
                TextResult::Differs(why) => differs = differs.or(Some(format!("{shown}: {why}"))),
                TextResult::Unknown(why) => doubt = doubt.or(Some(format!("{shown}: {why}"))),
            }
        }
        if paths.len() > MOST_FILES {
            doubt = doubt.or(Some(format!("more than {MOST_FILES} files match")));
        }
        if self.may_lack_some(subject) {
            doubt = doubt.or(Some("the workspace holds more files than are listed".to_owned()));
        }
        match (doubt, test.negated) {
            (Some(doubt), _) => (Status::Unknown, doubt),
            (None, false) => (subject.missing(), differs.unwrap_or_default()),
            (None, true) => {
                let answer = subject.at_end(true, String::new(), "none does".to_owned());
                (answer.status, answer.found)
            }
        }
    }

    fn none_there(&self, subject: &Subject<'_>) -> (Status, String) {
        if self.may_lack_some(subject) {
            return (Status::Unknown, "the workspace holds more files than are listed".to_owned());
        }
        missing(subject)
    }

    fn snapshot(&self, subject: &Subject<'_>, paths: &[PathBuf], snapshot: &Path) -> (Status, String) {
        let Some(path) = paths.first() else { return self.none_there(subject) };
        let contents = subject.contents;
        let read = contents.of_repository(snapshot).map_err(|why| format!("{}: {why}", snapshot.display()));
        let (wanted, found) = match read.and_then(|wanted| Ok((wanted, contents.of_workspace(path)?))) {
            Ok(both) => both,
            Err(why) => return (Status::Unknown, why),
        };
        if wanted == found {
            return (Status::Pass, "it does".to_owned());
        }
        let (wanted, found) = (String::from_utf8_lossy(&wanted), String::from_utf8_lossy(&found));
        if is_masked(&found) {
            return (Status::Unknown, "it differs, but a secret in it is masked".to_owned());
        }
        (subject.missing(), difference(&wanted, &found, snapshot, path))
    }
}

/// The lines that differ.
fn difference(wanted: &str, found: &str, snapshot: &Path, path: &Path) -> String {
    let names = (snapshot.display().to_string(), path.display().to_string());
    let diff = TextDiff::from_lines(wanted, found);
    let diff = diff.unified_diff().context_radius(2).header(&names.0, &names.1).to_string();
    let (start, missing) = cut::bytes(&diff, LONGEST_DIFF);
    let start: Cow<'_, str> = start.trim_end().into();
    if missing == 0 { start.into_owned() } else { format!("{start}\n… ({missing} bytes more)") }
}
