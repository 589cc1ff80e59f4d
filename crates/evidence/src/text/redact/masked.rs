//! A text without secrets.

use super::Redactor;
use crate::text::cut;

/// The longest text that is kept of a call or a step, in bytes.
pub const MAX_TEXT: usize = 4_096;

/// A text without secrets. Only such a text may be cut: the part of a secret is not found any more.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Masked(String);

impl Redactor {
    /// `text` with every secret masked.
    pub fn masked(&self, text: &str) -> Masked {
        Masked(self.mask_text(text))
    }
}

impl Masked {
    /// A text of what is stored: the runner masked it when it wrote it.
    pub fn stored(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// The text, cut to [`MAX_TEXT`], with the number of missing bytes.
    #[must_use]
    pub fn cut(self) -> String {
        match cut::bytes(&self.0, MAX_TEXT) {
            (_, 0) => self.0,
            (start, missing) => format!("{start}… ({missing} bytes more)"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_at_the_cut_leaves_no_part_of_itself() {
        let key = "sk-proj-aB3dE5fG7hJ9kL1mN2pQ4rS6tU8vW0xY";
        let redactor = Redactor::new([key]);
        for before in MAX_TEXT - key.len()..MAX_TEXT {
            let cut = redactor.masked(&format!("{}{key}{}", "x".repeat(before), "y".repeat(100))).cut();
            assert!(!cut.contains(&key[..8]), "{before}");
        }
    }
}
