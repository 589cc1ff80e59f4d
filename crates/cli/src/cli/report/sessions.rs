//! The packed sessions of a report, in a temporary file until the page is written.

use std::cmp::Reverse;
use std::fs::File;
use std::io::{self, BufReader, BufWriter, Read, Seek, SeekFrom, Write};

use crate::exports::html::packing::PackedDocument;
use crate::trial::outcome::Verdict;

/// Packed sessions, in the order of their trials.
pub struct Sessions {
    file: BufWriter<File>,
    length: u64,
    spans: Vec<FileSpan>,
}

struct FileSpan {
    verdict: Verdict,
    behind: usize,
    start: u64,
    length: u64,
}

impl Sessions {
    pub fn new() -> io::Result<Self> {
        Ok(Self { file: BufWriter::new(tempfile::tempfile()?), length: 0, spans: Vec::new() })
    }

    /// Adds the session of the next trial.
    pub fn add(&mut self, verdict: Verdict, packed: &PackedDocument) -> io::Result<()> {
        self.file.write_all(&packed.text)?;
        let (behind, length) = (packed.behind, packed.text.len() as u64);
        self.spans.push(FileSpan { verdict, behind, start: self.length, length });
        self.length += length;
        Ok(())
    }

    /// The trials to leave out so that the other sessions take at most `limit` bytes: passed trials first, the longest of them
    /// first.
    pub fn beyond(&self, limit: u64) -> Vec<(usize, Verdict)> {
        let mut order: Vec<(usize, &FileSpan)> = self.spans.iter().enumerate().collect();
        order.sort_by_key(|(_, span)| {
            let rank = match span.verdict {
                Verdict::Pass => 0,
                Verdict::Error => 1,
                Verdict::Unscored => 2,
                Verdict::Fail => 3,
            };
            (rank, Reverse(span.length))
        });
        let mut length = self.length;
        let mut left_out = Vec::new();
        for (at, span) in order {
            if length <= limit {
                break;
            }
            length -= span.length;
            left_out.push((at, span.verdict));
        }
        left_out
    }

    /// Calls `take` for the sessions of the trials that `is_kept`, in their order.
    pub fn each(
        &mut self,
        is_kept: impl Fn(usize) -> bool,
        mut take: impl FnMut(usize, &PackedDocument) -> io::Result<()>,
    ) -> io::Result<()> {
        self.file.flush()?;
        let mut file = BufReader::new(self.file.get_ref());
        for (at, span) in self.spans.iter().enumerate().filter(|(at, _)| is_kept(*at)) {
            file.seek(SeekFrom::Start(span.start))?;
            let mut text = Vec::new();
            file.by_ref().take(span.length).read_to_end(&mut text)?;
            take(at, &PackedDocument { behind: span.behind, text })?;
        }
        Ok(())
    }
}
