//! Cuts text that is too long to show or store.

use std::hash::{DefaultHasher, Hash, Hasher};

/// The first `most` characters of `text`, followed by `…` if there are more.
pub fn start(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

/// A text that has at most `most` characters, cut in the same way.
pub fn text(text: String, most: usize) -> String {
    // A character has at least one byte.
    if text.len() <= most { text } else { start(&text, most) }
}

/// At most the first `most` bytes of `text`, without a partial character, and the number of bytes left out.
pub fn bytes(text: &str, most: usize) -> (&str, usize) {
    if text.len() <= most {
        return (text, 0);
    }
    let end = (0..=most).rev().find(|&at| text.is_char_boundary(at)).unwrap_or(0);
    (&text[..end], text.len() - end)
}

/// The widest column of a table.
const WIDEST: usize = 200;

/// The width of a column with cells of these widths. A longer cell only moves what is behind it: `format!` pads to at most 65,535.
pub fn column(cells: impl Iterator<Item = usize>) -> usize {
    cells.max().unwrap_or_default().min(WIDEST)
}

/// A name of at most `most` characters: a longer one is cut, and ends with what tells it from others that begin so.
pub fn name(name: &str, most: usize) -> String {
    if name.chars().nth(most).is_none() {
        return name.to_owned();
    }
    let mut hasher = DefaultHasher::new();
    name.hash(&mut hasher);
    let end = format!("{:016x}", hasher.finish());
    start(name, most.saturating_sub(end.len() + 1)) + &end
}

/// The first `most` of these names, and the number of others: `a, b and 3 more`.
pub fn names(names: &[impl AsRef<str>], most: usize) -> String {
    let (shown, others) = names.split_at(names.len().min(most));
    let shown = shown.iter().map(AsRef::as_ref).collect::<Vec<&str>>().join(", ");
    if others.is_empty() { shown } else { format!("{shown} and {} more", others.len()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cut_falls_between_characters_and_is_told() {
        assert_eq!((start("äöü", 3), start("äöü", 2)), ("äöü".to_owned(), "äö…".to_owned()));
        assert_eq!((names(&["a", "b", "c"], 3), names(&["a", "b", "c"], 1)), ("a, b, c".into(), "a and 2 more".into()));
        assert_eq!((column([3, 5].into_iter()), column([3, 1 << 20].into_iter()), column([].into_iter())), (5, 200, 0));
        let long = name(&"ä".repeat(101), 100);
        assert_eq!((name(&"ä".repeat(100), 100), long.chars().count()), ("ä".repeat(100), 100));
        assert!(long.starts_with("ääää") && long != name(&"ä".repeat(102), 100), "{long}");
        assert_eq!((bytes("äöü", 6), bytes("äöü", 5), bytes("äöü", 1)), (("äöü", 0), ("äö", 2), ("", 6)));
    }
}
