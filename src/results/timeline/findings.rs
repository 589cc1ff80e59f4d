//! Where each check looked.

use crate::results::timeline::{CheckFinding, EventKind, EventPart, TextPiece, TimelineEvent};
use crate::skill::slug;
use crate::trial::evidence::Evidence;
use crate::trial::outcome::{CheckResult, Grade};
use crate::trial::span::{EventRef, Span};

/// Shortest quotation that is looked for in a session.
const MIN_QUOTED: usize = 3;

/// What each check of the grade is about.
pub(super) fn of(entries: &[TimelineEvent], evidence: &Evidence<'_>, grade: &Grade) -> Vec<CheckFinding> {
    let session = FindingReader { entries, evidence };
    grade.checks.iter().map(|check| session.finding(check)).collect()
}

struct FindingReader<'a> {
    entries: &'a [TimelineEvent],
    evidence: &'a Evidence<'a>,
}

impl FindingReader<'_> {
    fn finding(&self, check: &CheckResult) -> CheckFinding {
        let Some(first) = check.spans.first() else { return self.quoted(check) };
        let mut pieces: Vec<TextPiece> = check.spans.iter().filter_map(|span| self.piece(span)).collect();
        pieces.sort_by_key(|piece| (piece.entry, piece.bytes.start));
        CheckFinding { entry: self.entry(first.event), pieces }
    }

    fn piece(&self, span: &Span) -> Option<TextPiece> {
        let (entry, text) = (self.entry(span.event)?, span.text.as_ref()?);
        Some(TextPiece { entry, part: text.part, bytes: text.bytes.clone() })
    }

    fn entry(&self, event: EventRef) -> Option<usize> {
        let injected = |what: &EventKind| matches!(what, EventKind::Injected { skill } if slug(skill) == self.evidence.meta.skill.slug);
        match event {
            EventRef::Step(_) => self.entries.iter().position(|entry| entry.step == Some(event)),
            EventRef::Answer => self.find(|what| matches!(what, EventKind::Said { answer: true, .. })),
            EventRef::End => self.entries.len().checked_sub(1),
            EventRef::Injected => self.find(injected),
            // If nobody wrote down what was offered, what was asked.
            EventRef::Offered => self
                .find(|what| matches!(what, EventKind::Offered { .. }))
                .or_else(|| self.find(|what| matches!(what, EventKind::Prompt { .. }))),
        }
    }

    fn find(&self, is_it: impl Fn(&EventKind) -> bool) -> Option<usize> {
        self.entries.iter().position(|entry| is_it(&entry.what))
    }

    /// What a check of a repository's own, or of a judge, quotes from the session: the longest that is found.
    fn quoted(&self, check: &CheckResult) -> CheckFinding {
        let mut quoted: Vec<&str> = ['`', '"']
            .into_iter()
            .flat_map(|mark| check.found.split(mark).skip(1).step_by(2))
            .filter(|text| text.len() >= MIN_QUOTED)
            .collect();
        quoted.sort_by_key(|text| std::cmp::Reverse(text.len()));
        let place = |quoted: &str| {
            self.texts().find_map(|(entry, part, text)| {
                let from = text.find(quoted)?;
                Some(TextPiece { entry, part, bytes: from..from + quoted.len() })
            })
        };
        match quoted.into_iter().find_map(place) {
            Some(piece) => CheckFinding { entry: Some(piece.entry), pieces: vec![piece] },
            None => CheckFinding { entry: self.entry(EventRef::Answer), pieces: Vec::new() },
        }
    }

    /// All texts of what the agent did and said.
    fn texts(&self) -> impl Iterator<Item = (usize, EventPart, &str)> {
        let of_agent = |what: &EventKind| {
            !matches!(what, EventKind::Prompt { .. } | EventKind::System { .. } | EventKind::End { .. })
        };
        self.entries
            .iter()
            .enumerate()
            .filter(move |(_, entry)| of_agent(&entry.what))
            .flat_map(|(at, entry)| entry.what.texts().into_iter().map(move |(part, text)| (at, part, text)))
    }
}
