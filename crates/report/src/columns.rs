//! Rows of cells as lines, in columns: every table that is printed.

use crate::text::cut;

/// What is between two columns.
const GAP: &str = "  ";

/// How a column is laid out: as wide as its widest cell, within limits. A cell that is wider moves what comes after it.
#[derive(Clone, Copy)]
#[must_use]
pub struct Column {
    is_number: bool,
    least: usize,
    most: usize,
}

/// A column of words, which begin at its left.
pub const WORDS: Column = Column { is_number: false, least: 0, most: usize::MAX };

/// A column of numbers, which end at its right.
pub const NUMBERS: Column = Column { is_number: true, ..WORDS };

impl Column {
    pub const fn at_least(self, least: usize) -> Self {
        Self { least, ..self }
    }

    pub const fn fixed(self, width: usize) -> Self {
        Self { least: width, most: width, ..self }
    }
}

/// A line for each row, without spaces at its end. A column without any text takes no place. Cells may be painted.
pub fn lines<const N: usize>(columns: [Column; N], rows: &[[String; N]]) -> Vec<String> {
    let mut widths = [0; N];
    for (at, (width, column)) in widths.iter_mut().zip(columns).enumerate() {
        *width = cut::column(rows.iter().map(|row| seen(&row[at]))).max(column.least).min(column.most);
    }
    let line = |row: &[String; N]| {
        let mut line = String::new();
        for ((cell, column), width) in row.iter().zip(columns).zip(widths).filter(|(_, width)| *width > 0) {
            let pad = " ".repeat(width.saturating_sub(seen(cell)));
            let parts = if column.is_number { [&pad, cell.as_str()] } else { [cell.as_str(), &pad] };
            let gap = if line.is_empty() { "" } else { GAP };
            line.extend([gap, parts[0], parts[1]]);
        }
        line.truncate(line.trim_end().len());
        line
    };
    rows.iter().map(line).collect()
}

/// The lines of [`lines`] as a text.
pub fn text<const N: usize>(columns: [Column; N], rows: &[[String; N]]) -> String {
    lines(columns, rows).into_iter().flat_map(|line| [line, "\n".to_owned()]).collect()
}

/// How many characters of a cell are seen: a color is none.
fn seen(cell: &str) -> usize {
    let mut parts = cell.split('\u{1b}');
    let plain = parts.next().unwrap_or_default().chars().count();
    plain + parts.map(|part| part.split_once('m').map_or("", |(_, text)| text).chars().count()).sum::<usize>()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::paint::{Paint, Tone};

    fn rows<const N: usize, const M: usize>(rows: [[&str; N]; M]) -> Vec<[String; N]> {
        rows.map(|row| row.map(str::to_owned)).into()
    }

    #[test]
    fn a_column_is_as_wide_as_its_widest_cell_and_one_without_text_takes_no_place() {
        let rows = rows([["a", "1", "", "x"], ["löng", "100", "", ""]]);
        assert_eq!(lines([WORDS, NUMBERS, WORDS, WORDS], &rows), ["a       1  x", "löng  100"]);
        assert_eq!(text([WORDS.at_least(6), NUMBERS.fixed(2), WORDS, WORDS], &rows), "a        1  x\nlöng    100\n");
    }

    #[test]
    fn the_color_of_a_cell_takes_no_place() {
        let cells = [[Paint::Color.on(Tone::Bad, "fail"), "a".to_owned()], ["not run".to_owned(), "b".to_owned()]];
        assert_eq!(lines([WORDS, WORDS], &cells), ["\u{1b}[31mfail\u{1b}[0m     a", "not run  b"]);
    }
}
