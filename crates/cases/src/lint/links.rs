//! Links in the body of a SKILL.md to missing files.

use std::ops::Range;
use std::path::{Path, PathBuf};

use percent_encoding::percent_decode_str;

use crate::cases::case_folders::is_own;
use crate::cases::catalog::FoundSkill;
use crate::cases::repo_files::{FileKind, RepoFiles};
use crate::skill::SKILL_FILE;
use crate::text::cut;
use crate::text::diagnostic::{Code, Diagnostic, shorten};
use crate::text::problem_list::ProblemList;
use crate::text::relative_path::resolved;
use crate::text::source_text::SourceText;

/// The longest target that is looked at, in bytes, with what is around it: no path is longer.
const LONGEST_TARGET: usize = 4096;

pub(super) fn check(found: &FoundSkill, tree: &dyn RepoFiles) -> Vec<Diagnostic> {
    let text = String::from_utf8_lossy(&found.bytes);
    let folder = &found.skill().folder;
    let path = folder.join(SKILL_FILE);
    // If bytes are not UTF-8, ranges count in the text with replacement characters.
    let places = SourceText::new(&path, text.as_bytes());
    let mut problems = ProblemList::of_file();
    for range in targets(&text, found.file.body.clone()) {
        let target = &text[range.clone()];
        let Some(path) = file_of(target) else { continue };
        let path = resolved(&folder.join(&path));
        let exists = path.as_ref().is_some_and(|path| tree.kind(path) != FileKind::Missing);
        let is_withheld = || path.as_ref().and_then(|path| path.strip_prefix(folder).ok()).is_some_and(is_in_own_cases);
        let (why, help) = if !exists {
            let help = "links are relative to the skill's directory; agents follow them to load resources";
            ("does not point to a file in the repository", help)
        } else if is_withheld() {
            ("points into a directory of cases, which agents do not get", "move the file to another directory")
        } else {
            continue;
        };
        problems.add(Code::DeadLink, || {
            let message = format!("the link to `{}` {why}", shorten(target));
            Diagnostic::new(Code::DeadLink, places.place(range), message).help(help)
        });
    }
    problems.into_vec()
}

/// Whether a path in the directory of a skill is one of the skill's cases.
fn is_in_own_cases(path: &Path) -> bool {
    path.ancestors().any(is_own)
}

/// The target as a path. `None` for a URL, an anchor, an absolute path or a placeholder.
fn file_of(target: &str) -> Option<PathBuf> {
    let path = target.split(['#', '?']).next().unwrap_or_default();
    let scheme = path.split_once(':').is_some_and(|(scheme, _)| {
        scheme.starts_with(|c: char| c.is_ascii_alphabetic())
            && scheme.chars().all(|c| c.is_ascii_alphanumeric() || "+-.".contains(c))
    });
    let placeholder = path.contains(['{', '}', '<', '>', '$', '*', '\0']) || path.contains("...") || is_template(path);
    if path.is_empty() || scheme || placeholder || path.starts_with(['/', '\\', '~']) {
        return None;
    }
    Some(PathBuf::from(percent_decode_str(path).decode_utf8().unwrap_or(path.into()).as_ref()))
}

/// Whether a path stands for another one, in a template of a text: `url`, `path/to/file.md`, `FILE_NAME.md`.
fn is_template(path: &str) -> bool {
    let is_word = path.chars().all(|c| c.is_lowercase() || "-_".contains(c));
    let stem = path.rsplit('/').next().unwrap_or(path).split('.').next().unwrap_or_default();
    let is_name = stem.contains('_') && stem.chars().all(|c| c.is_ascii_uppercase() || c == '_');
    is_word || is_name || path.contains("path/to/") || path.contains("YYYY")
}

/// The ranges of the targets of links and images, outside code.
fn targets(text: &str, body: Range<usize>) -> Vec<Range<usize>> {
    let mut targets = Vec::new();
    let mut fence: Option<&str> = None;
    let mut after_blank = true;
    let mut at = body.start.min(text.len());
    for line in text.get(body).unwrap_or_default().split_inclusive('\n') {
        let content = line.trim();
        let mark = ["```", "~~~"].into_iter().find(|mark| content.starts_with(mark));
        // Four spaces after a blank line mean code. In a list they do not: then a link is missed.
        let indented = line.starts_with("    ") || line.starts_with('\t');
        match (fence, mark) {
            (Some(open), Some(mark)) if open == mark => fence = None,
            (Some(_), _) => {}
            (None, Some(mark)) => fence = Some(mark),
            (None, None) if indented && after_blank => {}
            (None, None) => {
                targets.extend(in_line(line).into_iter().map(|range| at + range.start..at + range.end));
                after_blank = content.is_empty();
            }
        }
        at += line.len();
    }
    targets
}

/// `[text](target)`, `![text](target "title")` and `[label]: target`, outside `code`.
fn in_line(line: &str) -> Vec<Range<usize>> {
    let bytes = line.as_bytes();
    let mut targets = Vec::new();
    // A footnote has a text in place of a target.
    let mut is_first_label = line.trim_start().starts_with('[') && !line.trim_start().starts_with("[^");
    let mut at = 0;
    while at < bytes.len() {
        match bytes[at] {
            b'\\' => at += 1,
            b'`' => {
                let ticks = bytes[at..].iter().take_while(|&&b| b == b'`').count();
                // A code span ends at as many backticks; without them, these are plain text.
                let close = line[at + ticks..].find(&line[at..at + ticks]);
                at += ticks - 1 + close.map_or(0, |close| close + ticks);
            }
            b']' => {
                let next = bytes.get(at + 1);
                if (next == Some(&b'(') || next == Some(&b':') && is_first_label)
                    && let Some(target) = destination(line, at + 2)
                {
                    // No link begins in the target of another one.
                    at = target.end - 1;
                    targets.push(target);
                }
                is_first_label = false;
            }
            _ => {}
        }
        at += 1;
    }
    targets
}

/// The range of the target at `start`: inside `<…>`, or up to white space or the closing parenthesis.
fn destination(line: &str, start: usize) -> Option<Range<usize>> {
    let rest = line.get(start..)?;
    let (rest, _) = cut::bytes(rest, LONGEST_TARGET);
    let start = start + (rest.len() - rest.trim_start().len());
    let rest = rest.trim_start();
    if let Some(inner) = rest.strip_prefix('<') {
        // Only a title may follow; otherwise this is a placeholder.
        let end = inner.find('>').filter(|end| inner[end + 1..].starts_with([')', ' ', '\n', '\r']))?;
        return Some(start + 1..start + 1 + end);
    }
    let mut depth = 0_usize;
    let mut end = rest.len();
    for (at, c) in rest.char_indices() {
        match c {
            '(' => depth += 1,
            ')' if depth > 0 => depth -= 1,
            c if c == ')' || c.is_whitespace() => {
                end = at;
                break;
            }
            _ => {}
        }
    }
    (end > 0).then_some(start..start + end)
}
