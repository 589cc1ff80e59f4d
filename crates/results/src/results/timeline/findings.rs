//! The events that decided each check.

use crate::results::timeline::{CheckFinding, EventKind, TextPiece, TimelineEvent};
use crate::skill::slug;
use crate::trial::evidence::Evidence;
use crate::trial::outcome::{CheckResult, Grade};
use crate::trial::span::{EventRef, Span};

/// The fewest bytes of a quotation that is searched for in a session.
const MIN_QUOTED: usize = 3;

pub(super) fn of(events: &[TimelineEvent], evidence: &Evidence<'_>, grade: &Grade) -> Vec<CheckFinding> {
    let reader = FindingReader { events, evidence };
    grade.checks.iter().map(|check| reader.finding(check)).collect()
}

struct FindingReader<'a> {
    events: &'a [TimelineEvent],
    evidence: &'a Evidence<'a>,
}

impl FindingReader<'_> {
    fn finding(&self, check: &CheckResult) -> CheckFinding {
        let Some(first) = check.spans.first() else { return self.quoted(check) };
        let mut pieces: Vec<TextPiece> = check.spans.iter().filter_map(|span| self.piece(span)).collect();
        pieces.sort_by_key(|piece| (piece.entry, piece.bytes.start));
        CheckFinding { entry: self.place(first.event), pieces }
    }

    fn piece(&self, span: &Span) -> Option<TextPiece> {
        let (entry, text) = (self.place(span.event)?, span.text.as_ref()?);
        Some(TextPiece { entry, part: text.part, bytes: text.bytes.clone() })
    }

    fn place(&self, event: EventRef) -> Option<usize> {
        let under_test = &self.evidence.meta.skill.slug;
        match event {
            EventRef::Step(_) => self.events.iter().position(|known| known.step == Some(event)),
            EventRef::Answer => self.find(|what| matches!(what, EventKind::Said { answer: true, .. })),
            EventRef::End => self.events.len().checked_sub(1),
            EventRef::Injected => {
                self.find(|what| matches!(what, EventKind::Injected { skill } if slug(skill) == *under_test))
            }
            // If the agent did not report what was offered, the prompt.
            EventRef::Offered => self
                .find(|what| matches!(what, EventKind::Offered { .. }))
                .or_else(|| self.find(|what| matches!(what, EventKind::Prompt { .. }))),
        }
    }

    fn find(&self, matches: impl Fn(&EventKind) -> bool) -> Option<usize> {
        self.events.iter().position(|event| matches(&event.what))
    }

    /// The longest text that a custom check or a judge quotes and that is in the session; without one, the answer.
    fn quoted(&self, check: &CheckResult) -> CheckFinding {
        let in_backticks = check.found.split('`').skip(1).step_by(2);
        let in_quotes = check.found.split('"').skip(1).step_by(2);
        let mut quoted: Vec<&str> = in_backticks.chain(in_quotes).filter(|text| text.len() >= MIN_QUOTED).collect();
        quoted.sort_by_key(|text| std::cmp::Reverse(text.len()));
        match quoted.into_iter().find_map(|quoted| self.search(quoted)) {
            Some(piece) => CheckFinding { entry: Some(piece.entry), pieces: vec![piece] },
            None => CheckFinding { entry: self.place(EventRef::Answer), pieces: Vec::new() },
        }
    }

    /// The first place of a text in what the agent did and said.
    fn search(&self, quoted: &str) -> Option<TextPiece> {
        for (entry, event) in self.events.iter().enumerate() {
            if event.what.is_given() || matches!(event.what, EventKind::End { .. }) {
                continue;
            }
            for (part, text) in event.what.texts() {
                if let Some(from) = text.find(quoted) {
                    return Some(TextPiece { entry, part, bytes: from..from + quoted.len() });
                }
            }
        }
        None
    }
}
