//! What somebody reads who has one agent: no line names another one.

use std::collections::BTreeSet;

use skill_evals_evidence::profile::{PROFILES, Profile};
use skill_evals_evidence::settings::mode::AgentKind;

/// The words by which a text can name an agent: those of its program, its kinds, its packages and its credentials.
fn names(profile: &'static Profile) -> BTreeSet<&'static str> {
    let kinds = AgentKind::ALL.into_iter().filter(|kind| std::ptr::eq(kind.profile(), profile)).map(AgentKind::as_str);
    let named = kinds.chain([profile.program]).chain(profile.packages.iter().copied());
    named.chain(profile.ci_variables.iter().copied()).collect()
}

/// Fails if what `profile`'s user reads names another agent.
pub fn names_no_other(profile: &'static Profile, said: &str) {
    let own = names(profile);
    let words: BTreeSet<&str> = said.split(|c: char| !(c.is_alphanumeric() || "_@/-".contains(c))).collect();
    for other in PROFILES.into_iter().flat_map(names).filter(|name| !own.contains(name) && *name != "skill-evals") {
        let is_word = |word: &str| word == other || word.starts_with(&format!("{other}@"));
        assert!(!words.iter().any(|word| is_word(word)), "{} reads of {other}: {said}", profile.name);
    }
}
