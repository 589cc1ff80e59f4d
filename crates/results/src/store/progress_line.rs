//! The form of a line of `progress.jsonl`: the record of a trial, the digest of the grade that it was written for, and a digest
//! of the line. So a line that was changed is known by itself, and one that is out of date by the grade.

use std::sync::atomic::{AtomicU64, Ordering};

use super::{RunFolder, StoreError, seal};
use crate::trial::run_record::ProgressLine;

/// What comes before the digest of the grade, and its length.
const GRADE: &[u8] = b",\"grade\":\"";
const GRADE_LENGTH: usize = 32;

/// A line of the file, without its line break.
#[derive(Clone, Copy)]
pub(super) struct NotedLine<'a>(pub &'a [u8]);

/// The line, as it is stored in the file of this run.
pub(super) fn stored(run: &RunFolder, line: &ProgressLine) -> Result<Vec<u8>, StoreError> {
    let mut json = serde_json::to_vec(line).map_err(std::io::Error::from).map_err(|source| run.not_written(source))?;
    json.pop();
    match line {
        ProgressLine::Ended(record) => {
            if let Some(grade) = run.trial(&record.id).grade_digest()? {
                json.extend([GRADE, grade.as_bytes(), b"\""].concat());
            }
        }
        // Two refusals may have cost the same: only a copy of a line has the same number.
        ProgressLine::Refused { .. } => json.extend(format!(",\"written\":\"{}\"", number()).into_bytes()),
    }
    json.push(b'}');
    Ok(seal::lines(&json))
}

/// A number that no other line has.
fn number() -> String {
    static WRITTEN: AtomicU64 = AtomicU64::new(0);
    let count = WRITTEN.fetch_add(1, Ordering::Relaxed);
    format!("{}-{}-{count}", jiff::Timestamp::now().as_nanosecond(), std::process::id())
}

impl<'a> NotedLine<'a> {
    /// The digest of the line; `None` if it is not as it was written.
    pub(super) fn digest(self) -> Option<&'a [u8]> {
        seal::checked_line(self.0).and_then(|at| self.0.get(at..))
    }

    /// The digest of the grade that it was written for; `None` of a trial that had none.
    pub(super) fn grade(self) -> Option<&'a str> {
        let rest = self.0.get(..seal::checked_line(self.0)?)?.strip_suffix(b"\"")?;
        let (before, grade) = rest.split_at_checked(rest.len().checked_sub(GRADE_LENGTH)?)?;
        if before.ends_with(GRADE) { std::str::from_utf8(grade).ok() } else { None }
    }

    /// The part of it that names the trial; `None` if it is not about one that ended.
    pub(super) fn trial(self) -> Option<&'a [u8]> {
        const NUMBER: &[u8] = b",\"trial\":";
        let at = self.0.windows(NUMBER.len()).position(|part| part == NUMBER)? + NUMBER.len();
        let end = self.0.get(at..)?.iter().position(|byte| *byte == b',')?;
        self.0.get(..at + end).filter(|name| name.starts_with(b"{\"skill\":"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trial::id::TrialId;
    use crate::trial::spent::AttemptCost;

    #[test]
    fn a_line_of_which_any_byte_changed_is_not_as_it_was_written() {
        let id = TrialId { skill: "s".into(), case: "c".into(), mode: "m".into(), number: 1 };
        let refused = ProgressLine::Refused { refused: id, spent: AttemptCost::default() };
        let run = RunFolder::at(std::path::Path::new("/absent"));
        let line = stored(&run, &refused).expect("a line");
        let line = line.trim_ascii();
        assert!(NotedLine(line).digest().is_some() && NotedLine(line).trial().is_none());
        for at in 0..line.len() {
            let mut other = line.to_vec();
            other[at] ^= 1;
            assert_eq!(NotedLine(&other).digest(), None, "{at}");
            assert_eq!(NotedLine(&line[..at]).digest(), None, "{at}");
        }
        // Two refusals of one trial are two lines.
        assert_ne!(stored(&run, &refused).expect("a line").trim_ascii(), line);
    }
}
