//! The sessions of a report, packed one after the other in a file that nobody sees, until the page is written.

use std::cmp::Reverse;
use std::fs::File;
use std::io::{self, BufReader, BufWriter, Read, Seek, SeekFrom, Write};

use skill_evals::report::html::packing::PackedDocument;
use skill_evals::trial::outcome::Verdict;

/// Packed sessions, by the place of their trial.
pub struct Sessions {
    file: BufWriter<File>,
    length: u64,
    places: Vec<FileSpan>,
}

/// Where a session lies in the file.
struct FileSpan {
    verdict: Verdict,
    behind: usize,
    from: u64,
    length: u64,
}

impl Sessions {
    /// None yet.
    pub fn new() -> io::Result<Self> {
        Ok(Self { file: BufWriter::new(tempfile::tempfile()?), length: 0, places: Vec::new() })
    }

    /// Adds that of the next trial, which came to this verdict.
    pub fn add(&mut self, verdict: Verdict, packed: &PackedDocument) -> io::Result<()> {
        self.file.write_all(&packed.text)?;
        let (behind, length) = (packed.behind, packed.text.len() as u64);
        self.places.push(FileSpan { verdict, behind, from: self.length, length });
        self.length += length;
        Ok(())
    }

    /// The trials to leave out so that the sessions of the others take no more than this, with their verdicts: first those
    /// that passed, and the longest of them first.
    pub fn beyond(&self, most: u64) -> Vec<(usize, Verdict)> {
        let mut order: Vec<(usize, &FileSpan)> = self.places.iter().enumerate().collect();
        let last = |verdict| {
            [Verdict::Pass, Verdict::Error, Verdict::Unscored, Verdict::Fail].iter().position(|v| *v == verdict)
        };
        order.sort_by_key(|(_, place)| (last(place.verdict), Reverse(place.length)));
        let mut left = self.length;
        let too_many = order.into_iter().take_while(|(_, place)| {
            let more = left > most;
            left -= place.length;
            more
        });
        too_many.map(|(at, place)| (at, place.verdict)).collect()
    }

    /// Hands those of the trials that are `kept` to `take`, in their order.
    pub fn each(
        &mut self,
        kept: impl Fn(usize) -> bool,
        mut take: impl FnMut(usize, &PackedDocument) -> io::Result<()>,
    ) -> io::Result<()> {
        self.file.flush()?;
        let mut file = BufReader::new(self.file.get_ref());
        for (at, place) in self.places.iter().enumerate().filter(|(at, _)| kept(*at)) {
            file.seek(SeekFrom::Start(place.from))?;
            let mut text = Vec::new();
            file.by_ref().take(place.length).read_to_end(&mut text)?;
            take(at, &PackedDocument { behind: place.behind, text })?;
        }
        Ok(())
    }
}
