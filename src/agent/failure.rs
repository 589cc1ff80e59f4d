//! What an agent's or a provider's words about a failure mean.

use crate::trace::trouble::{Trouble, TroubleKind};

/// The trouble behind an agent that ended at once, where its last words tell of arguments that it does not know: it is too
/// old for them, or too new.
#[must_use]
pub fn unknown_argument(last_words: &str) -> Option<Trouble> {
    let words = last_words.to_lowercase();
    let signs = ["unknown option", "unexpected argument", "unrecognized argument", "unknown argument"];
    let known = signs.iter().any(|sign| words.contains(sign));
    known.then(|| {
        let what = format!(
            "it does not know an argument: {last_words}; another version of it does, or see `args` in evals/evals.toml"
        );
        Trouble::new(TroubleKind::CouldNotStart, what)
    })
}
