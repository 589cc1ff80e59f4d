//! Cuts CSV text into records and cells, as the `csv` crate does, and keeps the place of each cell.

use std::cell::RefCell;
use std::ops::Range;

use csv_core::{ReadFieldResult, Reader};

thread_local! {
    // To make one takes longer than to read a row.
    static READER: RefCell<Reader> = RefCell::new(Reader::new());
}

/// Uses a reader that stands behind a record: at the start of a text it would leave out a byte order mark.
fn with_reader<T>(read: impl FnOnce(&mut Reader) -> T) -> T {
    READER.with_borrow_mut(|reader| {
        reader.reset();
        reader.read_field(b"\n", &mut []);
        read(reader)
    })
}

#[derive(Debug, Default)]
pub(super) struct CsvRecord {
    /// The bytes of each cell, with its quotes.
    pub(super) cells: Vec<Range<usize>>,
    /// The quote that is still open at the end of the text.
    pub(super) open_quote: Option<usize>,
}

impl CsvRecord {
    /// The record that starts at `start`; without cells at the end of the text.
    pub(super) fn at(text: &[u8], start: usize) -> Self {
        if start < text.len() { with_reader(|reader| Self::next(reader, text, start)) } else { Self::default() }
    }

    fn next(reader: &mut Reader, text: &[u8], start: usize) -> Self {
        let mut record = Self::default();
        let mut content = [0; 1024];
        let (mut cell, mut at) = (start, start);
        while at < text.len() {
            let (result, read, _) = reader.read_field(&text[at..], &mut content);
            at += read;
            if let ReadFieldResult::Field { record_end } = result {
                record.cells.push(cell..at - 1);
                cell = at;
                if record_end {
                    return record;
                }
            }
        }
        // The end of the text is the end of the record, unless a line break would be a part of its last cell.
        record.cells.push(cell..at);
        let (result, ..) = reader.read_field(b"\n", &mut content);
        record.open_quote = (!matches!(result, ReadFieldResult::Field { .. })).then_some(cell);
        record
    }

    /// The bytes of a cell; of the last one if the record has fewer.
    pub(super) fn range(&self, index: usize) -> Range<usize> {
        self.cells.get(index).or(self.cells.last()).cloned().unwrap_or_default()
    }

    /// The content of a cell; empty if the record has fewer.
    pub(super) fn content(&self, text: &[u8], index: usize) -> Vec<u8> {
        let Some(cell) = self.cells.get(index) else { return Vec::new() };
        let mut content = vec![0; cell.len()];
        let (_, _, length) = with_reader(|reader| reader.read_field(&text[cell.clone()], &mut content));
        content.truncate(length);
        content
    }

    /// The same as text.
    pub(super) fn text(&self, text: &[u8], index: usize) -> String {
        String::from_utf8_lossy(&self.content(text, index)).into_owned()
    }
}

/// The bytes of cell `index` of the record that starts at `start`; of the last cell if the record has fewer.
pub fn cell_range(text: &[u8], start: usize, index: usize) -> Range<usize> {
    let record = CsvRecord::at(text, start);
    if record.cells.is_empty() { start.min(text.len())..start.min(text.len()) } else { record.range(index) }
}
