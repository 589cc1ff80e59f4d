//! Words of keys in files of cases, whatever the format: what a key asks for is told by them.

use crate::text::diagnostic::slip;

/// The words of a list with blanks between them.
pub fn words(list: &str) -> Vec<&str> {
    list.split_ascii_whitespace().collect()
}

/// A key in lower case without what separates its words.
pub(in crate::cases) fn plain(key: &str) -> String {
    key.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}

/// The words of a type, in lower case: `notContains`, `not-contains` and `not_contains` have the same.
pub(in crate::cases) fn kind_words(kind: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut was_lower = false;
    for c in kind.chars() {
        if !c.is_alphanumeric() || c.is_uppercase() && was_lower {
            words.push(String::new());
        }
        was_lower = c.is_lowercase() || c.is_numeric();
        if let (true, Some(word)) = (c.is_alphanumeric(), words.last_mut()) {
            word.extend(c.to_lowercase());
        }
    }
    words.retain(|word| !word.is_empty());
    words
}

/// Keys of what an agent is asked, in lower case without `_`.
const ASKED: &str = "conversation given prompt prompts triggerprompt userprompt query question input userinput task instruction \
    instructions message usermessage messages request scenario text turns utterance";

/// Those of them that are prompts only in a list of cases.
pub(in crate::cases) const WEAK: &str = "conversation message messages request scenario text turns";

/// How the keys of what is expected of it begin.
pub(in crate::cases) const EXPECTATIONS: &str = "accept answer assert check criteria expect forbid golden grad groundtruth ideal judge \
    must mustnot outcome pass reference rubric should success then trigger";

/// Whether a key is one of a prompt, or nearly.
pub(in crate::cases) fn is_prompt(key: &str) -> bool {
    let key = plain(key);
    words(ASKED).contains(&&*key) || slip(&key, words(ASKED)).is_some_and(|meant| !words(WEAK).contains(&meant))
}

/// How the last words of other such keys begin: `required_outcomes`, `quality_criteria`.
const LAST: &str = "assertion criteria expectation outcome rubric";

pub(in crate::cases) fn is_expectation(key: &str) -> bool {
    let begins = |word: &str, list: &str| words(list).iter().any(|start| word.starts_with(start));
    begins(&plain(key), EXPECTATIONS) || kind_words(key).last().is_some_and(|last| begins(last, LAST))
}
