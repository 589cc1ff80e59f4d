//! Cuts text that is too long to show or store.

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
        assert_eq!((bytes("äöü", 6), bytes("äöü", 5), bytes("äöü", 1)), (("äöü", 0), ("äö", 2), ("", 6)));
    }
}
