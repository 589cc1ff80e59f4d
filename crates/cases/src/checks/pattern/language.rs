//! Which texts a regular expression matches: some, none or every one. Decided on the automaton that the engine itself searches with,
//! so that `^`, `$` and `\b` count as they do in a search.

use std::collections::HashSet;

use regex_automata::Anchored;
use regex_automata::hybrid::LazyStateID;
use regex_automata::hybrid::dfa::{Cache, DFA};
use regex_automata::nfa::thompson;
use regex_automata::util::start;
use regex_syntax::hir::{Hir, HirKind, LookSet, Repetition};

/// The largest automaton that is looked at, in bytes, and how many of its states.
const MOST_BYTES: usize = 1 << 20;
const MOST_STATES: usize = 2000;

/// Whether every text has a match, or none has; `None` if that depends on the text, or is not sure.
pub(super) fn same_for_all(hir: &Hir) -> Option<bool> {
    let looks = hir.properties().look_set();
    let same = if looks.contains_word_unicode() { of_texts(&without_words(hir)) } else { of_texts(hir) };
    // A place next to a word may be missing, or within a character, where no match can be.
    same.filter(|has_match| !has_match || !looks.contains_word())
}

fn of_texts(hir: &Hir) -> Option<bool> {
    if let (true, Some(least)) = (hir.properties().look_set().is_empty(), hir.properties().minimum_len()) {
        // Nothing else decides whether the empty text matches, and a match of it is in every text.
        return (least == 0).then_some(true);
    }
    match Texts::of(hir)? {
        Texts { some_match: false, .. } => Some(false),
        Texts { some_lacks_match: false, .. } => Some(true),
        Texts { .. } => None,
    }
}

/// The pattern without its places of words of Unicode, which no automaton has. It matches where the pattern does, or more.
fn without_words(hir: &Hir) -> Hir {
    match hir.kind() {
        HirKind::Look(look) if LookSet::singleton(*look).contains_word_unicode() => Hir::empty(),
        HirKind::Empty | HirKind::Literal(_) | HirKind::Class(_) | HirKind::Look(_) => hir.clone(),
        HirKind::Repetition(repetition) => {
            Hir::repetition(Repetition { sub: Box::new(without_words(&repetition.sub)), ..repetition.clone() })
        }
        HirKind::Capture(capture) => without_words(&capture.sub),
        HirKind::Concat(parts) => Hir::concat(parts.iter().map(without_words).collect()),
        HirKind::Alternation(parts) => Hir::alternation(parts.iter().map(without_words).collect()),
    }
}

/// What the texts have that a pattern is searched in.
#[derive(Clone, Copy, Debug, Default)]
struct Texts {
    some_match: bool,
    some_lacks_match: bool,
}

impl Texts {
    /// `None` if the automaton is too large.
    fn of(hir: &Hir) -> Option<Self> {
        let size =
            thompson::Config::new().nfa_size_limit(Some(MOST_BYTES)).which_captures(thompson::WhichCaptures::None);
        let nfa = thompson::Compiler::new().configure(size).build_from_hir(hir).ok()?;
        let config = DFA::config().cache_capacity(MOST_BYTES).skip_cache_capacity_check(true);
        let config = config.minimum_cache_clear_count(Some(0));
        let dfa = DFA::builder().configure(config).build_from_nfa(nfa).ok()?;
        let mut cache = dfa.create_cache();
        TextWalk { dfa: &dfa, cache: &mut cache, bytes: bytes_of(&dfa), found: Self::default() }.run()
    }
}

/// A walk through all texts: each state of the automaton with each place in a character.
struct TextWalk<'a> {
    dfa: &'a DFA,
    cache: &'a mut Cache,
    bytes: Vec<u8>,
    found: Texts,
}

impl TextWalk<'_> {
    fn run(mut self) -> Option<Texts> {
        let start = start::Config::new().anchored(Anchored::No);
        let start = (self.dfa.start_state(self.cache, &start).ok()?, Utf8::Boundary);
        let (mut known, mut open) = (HashSet::from([start]), vec![start]);
        while let Some((state, place)) = open.pop() {
            for next in self.step(state, place)? {
                if known.insert(next) {
                    open.push(next);
                }
            }
            if self.found.some_match && self.found.some_lacks_match {
                return Some(self.found);
            }
            if known.len() > MOST_STATES {
                return None;
            }
        }
        Some(self.found)
    }

    /// Ends a text in this state, and goes on with each byte that may be next.
    fn step(&mut self, state: LazyStateID, place: Utf8) -> Option<Vec<(LazyStateID, Utf8)>> {
        if place == Utf8::Boundary {
            let end = self.dfa.next_eoi_state(self.cache, state).ok()?;
            self.found.some_match |= end.is_match();
            self.found.some_lacks_match |= !end.is_match();
        }
        let mut next = Vec::new();
        for byte in &self.bytes {
            let Some(place) = place.after(*byte) else { continue };
            let state = self.dfa.next_state(self.cache, state, *byte).ok()?;
            self.found.some_match |= state.is_match();
            self.found.some_lacks_match |= state.is_dead();
            if !state.is_match() && !state.is_dead() {
                next.push((state, place));
            }
        }
        Some(next)
    }
}

/// A byte of each class of the automaton and of UTF-8.
fn bytes_of(dfa: &DFA) -> Vec<u8> {
    const OF_UTF8: [u8; 12] = [0x80, 0x90, 0xA0, 0xC0, 0xC2, 0xE0, 0xE1, 0xED, 0xEE, 0xF0, 0xF1, 0xF4];
    let classes = dfa.byte_classes();
    let is_first = |byte: &u8| *byte == 0 || classes.get(*byte) != classes.get(byte - 1) || OF_UTF8.contains(byte);
    (0..=0xF4).filter(is_first).collect()
}

/// A place in a text of UTF-8: which bytes may be next.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Utf8 {
    /// Between two characters.
    Boundary,
    /// So many bytes are missing, of which the next is in this range.
    Within(u8, u8, u8),
}

impl Utf8 {
    fn after(self, byte: u8) -> Option<Self> {
        let more = |missing| Self::Within(missing, 0x80, 0xBF);
        match self {
            Self::Boundary => Some(match byte {
                0..=0x7F => Self::Boundary,
                0xC2..=0xDF => more(1),
                0xE0 => Self::Within(2, 0xA0, 0xBF),
                0xED => Self::Within(2, 0x80, 0x9F),
                0xE1..=0xEF => more(2),
                0xF0 => Self::Within(3, 0x90, 0xBF),
                0xF1..=0xF3 => more(3),
                0xF4 => Self::Within(3, 0x80, 0x8F),
                _ => return None,
            }),
            Self::Within(missing, first, last) if (first..=last).contains(&byte) => {
                Some(if missing == 1 { Self::Boundary } else { more(missing - 1) })
            }
            Self::Within(..) => None,
        }
    }
}
