//! Files of the workspace at the end of a trial: they exist, contain something, equal a file of the repository, or changed.

use std::borrow::Cow;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use globset::{GlobBuilder, GlobMatcher};
use serde::Serialize;
use similar::TextDiff;

use crate::checks::field::test_of;
use crate::checks::grading_input::Unknown;
use crate::checks::text_test::{TextResult, TextTest};
use crate::checks::{
    CaseCheck, CheckAnswer, CheckKind, Condition, FieldForm, FieldValue, GradingInput, InvalidCheck, ListForm,
    ListedCheck, Named, WrittenCheck,
};
use crate::text::cut;
use crate::text::name::RelativePath;
use crate::text::redact::is_masked;
use crate::trace::ChangeVisibility;
use crate::trace::file::{ChangeMeta, SkillChange};
use crate::trial::outcome::{Goal, Status};
use crate::trial::span::{EventPart, EventRef, Span};
use crate::trial::workspace_file::WorkspaceFile;

/// Maximum number of files whose contents one check reads.
const MOST_FILES: usize = 200;

/// Maximum length of a difference, in bytes.
const LONGEST_DIFF: usize = 2_000;

pub(in crate::checks) static FILE: CheckKind = CheckKind::new("file", Goal::Outcome).in_list(&ListForm {
    key: "file",
    form: FieldForm::Text,
    options: &[("exists", FieldForm::Flag), ("not", FieldForm::Flag), ("snapshot", FieldForm::Source)],
    tests: true,
    ask: listed,
});

pub(in crate::checks) static REQUIRED: CheckKind = CheckKind::new("require-file", Goal::Outcome).with_field(
    "require_files",
    "requireFiles",
    FieldForm::Paths,
    |value| match value {
        FieldValue::Path(path) => {
            Some(Arc::new(FileCheck { files: WantedFiles { path, glob: None }, want: FileWant::Exists(true) }))
        }
        _ => None,
    },
);

/// What must hold of files.
#[derive(Clone, Debug, Serialize)]
pub enum FileWant {
    /// One of them exists, or none does.
    Exists(bool),
    /// The content of one of them passes this test; if it is negated, that of none.
    Content(TextTest),
    /// The content is that of this file of the repository.
    Snapshot(RelativePath),
}

/// The files of the workspace that match this glob are as wanted.
pub fn file(glob: &str, want: FileWant) -> Result<CaseCheck, InvalidCheck> {
    Ok(CaseCheck::implied(&FILE, FileCheck { files: WantedFiles::parse(glob)?, want }))
}

fn listed(check: &ListedCheck) -> Result<Arc<dyn Condition>, InvalidCheck> {
    let files = WantedFiles::parse(check.text("file").unwrap_or_default())?;
    let test = test_of(check)?;
    let snapshot = match check.all("snapshot") {
        Some([FieldValue::Path(path)]) => Some(path.clone()),
        _ => None,
    };
    let want = match (check.flag("exists"), test, snapshot) {
        (Some(exists), None, None) => FileWant::Exists(exists != check.is("not")),
        (None, Some(test), None) => FileWant::Content(test),
        (None, None, None) => FileWant::Exists(!check.is("not")),
        (None, None, Some(_)) if check.is("not") || files.glob.is_some() => {
            let message = "`snapshot` is what one file must equal";
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

/// Files of the workspace, by a path or a glob.
#[derive(Clone, Debug, Serialize)]
struct WantedFiles {
    path: RelativePath,
    /// Matches the files if the path is a glob.
    #[serde(skip)]
    glob: Option<GlobMatcher>,
}

impl WantedFiles {
    fn parse(text: &str) -> Result<Self, InvalidCheck> {
        let help = "give a path in the workspace; `*` stands for a part of a name, `**` for any directories";
        let invalid = |why: String| InvalidCheck::new("file", format!("`file`: {text:?} {why}"), help);
        let path = RelativePath::parse(text).map_err(|why| invalid(why.to_owned()))?;
        if !text.contains(['*', '?', '[', '{']) {
            return Ok(Self { path, glob: None });
        }
        let glob = GlobBuilder::new(&path.to_string()).literal_separator(true).build();
        let glob = glob.map_err(|error| invalid(format!("is not a glob: {error}")))?.compile_matcher();
        Ok(Self { path, glob: Some(glob) })
    }

    fn matches(&self, path: &Path) -> bool {
        // The path of an empty directory ends with a slash.
        let path = path.components().as_path();
        self.glob.as_ref().map_or_else(|| path == self.path.as_path(), |glob| glob.is_match(path))
    }
}

#[derive(Debug, Serialize)]
struct FileCheck {
    files: WantedFiles,
    want: FileWant,
}

impl Condition for FileCheck {
    fn evaluate(&self, subject: &GradingInput<'_>) -> Option<CheckAnswer> {
        let paths = self.paths(subject);
        let files = &self.files.path;
        let answer = match &self.want {
            FileWant::Exists(should) => self.exists(subject, *should),
            FileWant::Content(test) => {
                let (which, negated) = match (&self.files.glob, test.negated) {
                    (None, negated) => ("the file", negated),
                    (Some(_), false) => ("one of", false),
                    (Some(_), true) => ("none of", false),
                };
                let expected = format!("{which} {files} {}", test.words(negated));
                let (status, found) = self.content(subject, &paths, test);
                CheckAnswer::new(status, expected, found)
            }
            FileWant::Snapshot(snapshot) => {
                let (status, found) = self.snapshot(subject, &paths, snapshot.as_path());
                CheckAnswer::new(status, format!("{files} equals {snapshot}"), found)
            }
        };
        let path = paths.first().map_or(files.as_path(), PathBuf::as_path);
        Some(answer.at(written(subject, &path.display().to_string())))
    }

    fn forbids(&self) -> bool {
        matches!(self.want, FileWant::Exists(false))
    }

    fn written(&self) -> Option<WrittenCheck> {
        let written = WrittenCheck::new(self.files.path.to_string());
        match &self.want {
            FileWant::Exists(true) => Some(written),
            FileWant::Exists(false) => Some(written.with("exists", false)),
            FileWant::Content(test) => written.with_test(test),
            FileWant::Snapshot(path) => Some(written.with("snapshot", format!("/{path}"))),
        }
    }

    fn names(&self) -> Named<'_> {
        let snapshot = if let FileWant::Snapshot(path) = &self.want { Some(path) } else { None };
        Named { snapshot, file: self.files.glob.is_none().then_some(&self.files.path), ..Named::default() }
    }

    fn without_effect(&self) -> Option<String> {
        if let FileWant::Content(test) = &self.want { test.without_text() } else { None }
    }
}

impl FileCheck {
    /// The files that it is about.
    fn paths(&self, subject: &GradingInput<'_>) -> Vec<PathBuf> {
        let files = subject.evidence.meta.files.iter();
        files.filter(|file| !file.is_folder() && self.files.matches(&file.path)).map(|file| file.path.clone()).collect()
    }

    /// Why one of them may exist that is not listed, if so.
    fn doubt(&self, subject: &GradingInput<'_>) -> Option<String> {
        let (meta, path) = (subject.evidence.meta, self.files.path.as_path());
        let is_known = self.files.glob.is_none() && meta.files_looked_for.iter().any(|known| known == path);
        let is_about = |link: &&PathBuf| match &self.files.glob {
            Some(_) => self.files.matches(link),
            None => link.starts_with(path) || path.starts_with(link),
        };
        // A file behind a link that stays in the workspace is listed.
        let is_listed = self.files.glob.is_none() && meta.files.iter().any(|file| file.path == path);
        if let Some(link) = meta.links.iter().find(is_about).filter(|_| !is_listed) {
            return Some(format!("{} is a link or a special file, which is not followed", link.display()));
        }
        (meta.files_truncated && !is_known).then(|| "the workspace holds more files than are listed".to_owned())
    }

    fn exists(&self, subject: &GradingInput<'_>, should: bool) -> CheckAnswer {
        let path = &self.files.path;
        let expected = format!("the workspace holds {}{path}", if should { "" } else { "no " });
        // A directory counts as what it holds, and as itself if it is empty.
        let is_it = |file: &&WorkspaceFile| file.path.ancestors().any(|path| self.files.matches(path));
        match (subject.evidence.meta.files.iter().find(is_it), self.doubt(subject)) {
            (Some(file), _) => CheckAnswer::holds(should, expected, self.described(file)),
            (None, Some(doubt)) => CheckAnswer::new(Status::Unknown, expected, doubt),
            (None, None) if should => {
                let (status, found) = missing(subject);
                CheckAnswer::new(status, expected, found)
            }
            (None, None) => subject.at_end(true, expected, "it is not there".to_owned()),
        }
    }

    fn described(&self, file: &WorkspaceFile) -> String {
        let shown = file.path.display();
        if self.files.glob.is_some() {
            format!("there is {shown}")
        } else if file.is_folder() {
            "an empty directory".to_owned()
        } else if file.path == self.files.path.as_path() {
            format!("{} bytes", file.size)
        } else {
            format!("a directory with {shown}")
        }
    }

    fn content(&self, subject: &GradingInput<'_>, paths: &[PathBuf], test: &TextTest) -> (Status, String) {
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
        match (doubt.or_else(|| self.doubt(subject)), test.negated) {
            (Some(doubt), _) => (Status::Unknown, doubt),
            (None, false) => (subject.missing(), differs.unwrap_or_default()),
            (None, true) => {
                let answer = subject.at_end(true, String::new(), "none does".to_owned());
                (answer.status, answer.found)
            }
        }
    }

    fn none_there(&self, subject: &GradingInput<'_>) -> (Status, String) {
        self.doubt(subject).map_or_else(|| missing(subject), |doubt| (Status::Unknown, doubt))
    }

    fn snapshot(&self, subject: &GradingInput<'_>, paths: &[PathBuf], snapshot: &Path) -> (Status, String) {
        let Some(path) = paths.first() else { return self.none_there(subject) };
        let contents = subject.contents;
        let read = contents.of_repository(snapshot).map_err(|why| Unknown(format!("{}: {why}", snapshot.display())));
        let (wanted, found) = match read.and_then(|wanted| Ok((wanted, contents.of_workspace(path)?))) {
            Ok(both) => both,
            Err(Unknown(why)) => return (Status::Unknown, why),
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

/// The answer about a file that should be there and is not.
fn missing(subject: &GradingInput<'_>) -> (Status, String) {
    let changed = subject.evidence.meta.files.iter().filter(|file| file.changed).take(20);
    let changed: Vec<String> = changed.map(|file| file.path.display().to_string()).collect();
    let wrote = if changed.is_empty() { "no files".to_owned() } else { changed.join(", ") };
    (subject.missing(), format!("missing; the agent wrote {wrote}"))
}

/// The last change of the file by an editing tool, else the last call that names it.
fn written(subject: &GradingInput<'_>, path: &str) -> Span {
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

// Changes to the skills during a session enter the model's context.

pub(in crate::checks) static SEEN: CheckKind = CheckKind::new("changes-seen", Goal::Process).about_skill();

/// The check that the changes enter the model's context that are expected to; `None` if none is.
pub fn changes_seen(changes: &[SkillChange]) -> Option<CaseCheck> {
    let expected: Vec<SkillChange> = changes.iter().filter(|change| change.expect_seen).cloned().collect();
    (!expected.is_empty()).then(|| CaseCheck::implied(&SEEN, ChangesSeen(expected)))
}

#[derive(Debug, Serialize)]
struct ChangesSeen(Vec<SkillChange>);

impl Condition for ChangesSeen {
    fn evaluate(&self, subject: &GradingInput<'_>) -> Option<CheckAnswer> {
        let (statuses, found): (Vec<Status>, Vec<String>) =
            self.0.iter().map(|change| outcome_of(subject, change)).unzip();
        let status = [Status::Fail, Status::Unknown].into_iter().find(|status| statuses.contains(status));
        let status = status.unwrap_or(Status::Pass);
        let expected = "the changed skills enter the model's context";
        Some(CheckAnswer::new(status, expected, found.join("; ")).at(EventRef::Offered))
    }
}

/// Whether a change that the case expects entered the model's context.
fn outcome_of(subject: &GradingInput<'_>, expected: &SkillChange) -> (Status, String) {
    let expected = ChangeMeta::from(expected);
    let mut changes = subject.evidence.meta.changes.iter();
    let Some(change) = changes.find(|change| {
        (change.after_turn, change.kind) == (expected.after_turn, expected.kind)
            && (&change.skill, &change.folder) == (&expected.skill, &expected.folder)
    }) else {
        let what = format!("`{}` not {}: it was not part of this trial", expected.skill, expected.kind.done());
        return (Status::Unknown, what);
    };
    let told = change.summary();
    if change.made_ms.is_none() {
        return (Status::Unknown, told);
    }
    let how = match change.seen {
        Some(ChangeVisibility::List) => "the agent told its model",
        Some(ChangeVisibility::Text) => "its text entered the model's context",
        Some(ChangeVisibility::Missed) => "a call that was to load it failed",
        seen => {
            return match in_doubt(subject, change, seen) {
                Some(why) => (Status::Unknown, format!("{told}: not seen, but {why}")),
                None => (Status::Fail, format!("{told}: not seen")),
            };
        }
    };
    (Status::Pass, format!("{told}: {how}"))
}

/// Why a change may have entered the model's context although the evidence does not show it.
fn in_doubt(subject: &GradingInput<'_>, change: &ChangeMeta, seen: Option<ChangeVisibility>) -> Option<String> {
    let (meta, trace) = (subject.evidence.meta, subject.evidence.trace);
    if seen != Some(ChangeVisibility::No) {
        return Some("it has no text or description that was not there before".to_owned());
    }
    if let Some(gap) = subject.evidence.gap() {
        return Some(gap);
    }
    if !trace.ended() || trace.stopped.is_some() {
        return Some("the agent did not finish".to_owned());
    }
    // The request for the next answer may have been sent before the change.
    if change.turns_after.unwrap_or_default() == 0 {
        return Some("the model was not surely asked again afterwards".to_owned());
    }
    if meta.delivery.mcp() {
        match change.asked.as_deref() {
            // The server reported the change, and the agent asked for no list.
            Some([]) => {}
            Some(lists) => {
                let lists = lists.join(" and ");
                let and = "and what it showed its model of that is in no evidence";
                return Some(format!("the agent asked the MCP server for its {lists} again, {and}"));
            }
            None => return Some("what its MCP server tells a model is in no agent's evidence".to_owned()),
        }
    }
    trace.offered.is_none().then(|| "the evidence does not show which skills were offered".to_owned())
}
