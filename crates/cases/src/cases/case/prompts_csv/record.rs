//! Cuts CSV text into records and cells, by RFC 4180, and keeps the place of each cell.

use std::ops::Range;

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
        let mut record = Self::default();
        let mut cell = start;
        let mut at = start;
        while at < text.len() {
            match text[at] {
                b'"' if record.open_quote.is_some() && text.get(at + 1) == Some(&b'"') => at += 1,
                b'"' if record.open_quote.is_some() => record.open_quote = None,
                b'"' if at == cell => record.open_quote = Some(at),
                b',' if record.open_quote.is_none() => {
                    record.cells.push(cell..at);
                    cell = at + 1;
                }
                b'\n' | b'\r' if record.open_quote.is_none() => break,
                _ => {}
            }
            at += 1;
        }
        let end = at.min(text.len());
        if end > start {
            record.cells.push(cell..end);
        }
        record
    }

    /// The bytes of a cell; of the last one if the record has fewer.
    pub(super) fn range(&self, index: usize) -> Range<usize> {
        self.cells.get(index).or(self.cells.last()).cloned().unwrap_or_default()
    }

    /// The content of a cell; empty if the record has fewer.
    pub(super) fn content(&self, text: &[u8], index: usize) -> Vec<u8> {
        unquoted(self.cells.get(index).map_or(&[], |cell| &text[cell.clone()]))
    }

    /// The same as text.
    pub(super) fn text(&self, text: &[u8], index: usize) -> String {
        String::from_utf8_lossy(&self.content(text, index)).into_owned()
    }
}

fn unquoted(cell: &[u8]) -> Vec<u8> {
    let Some(quoted) = cell.strip_prefix(b"\"") else { return cell.to_vec() };
    let mut content = Vec::with_capacity(quoted.len());
    let mut is_open = true;
    let mut bytes = quoted.iter().copied().peekable();
    while let Some(byte) = bytes.next() {
        if is_open && byte == b'"' && bytes.next_if_eq(&b'"').is_none() {
            is_open = false;
        } else {
            content.push(byte);
        }
    }
    content
}

/// The bytes of cell `index` of the record that starts at `start`; of the last cell if the record has fewer.
pub fn cell_range(text: &[u8], start: usize, index: usize) -> Range<usize> {
    let record = CsvRecord::at(text, start);
    if record.cells.is_empty() { start.min(text.len())..start.min(text.len()) } else { record.range(index) }
}
