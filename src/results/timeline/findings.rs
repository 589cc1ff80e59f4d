//! Where each check looked.

use crate::cases::case::{Case, Expectation};
use crate::results::timeline::{Entry, Finding, Note, Part, Piece, What};
use crate::trial::evidence::Evidence;
use crate::trial::outcome::{Check, Grade, Status};

/// Most pieces of text that one check marks.
const MAX_PIECES: usize = 50;

/// Shortest quotation that is looked for in a session.
const MIN_QUOTED: usize = 3;

/// What each check of the grade is about.
pub(super) fn of(entries: &[Entry], evidence: &Evidence<'_>, grade: &Grade, case: Option<&Case>) -> Vec<Finding> {
    let session = Session { entries, evidence, case };
    grade.checks.iter().map(|check| session.finding(check)).collect()
}

struct Session<'a> {
    entries: &'a [Entry],
    evidence: &'a Evidence<'a>,
    case: Option<&'a Case>,
}

impl Session<'_> {
    fn finding(&self, check: &Check) -> Finding {
        if check.own {
            return self.quoted(check);
        }
        match check.id.as_str() {
            "in-time" | "completed" | "exit-code" | "max-input-tokens" | "max-output-tokens" | "max-total-tokens" => {
                at(self.entries.len().checked_sub(1))
            }
            "delivered" | "described" => at(self.offered()),
            "triggered" | "not-triggered" => self.triggered(check),
            "resource-loaded" => {
                let is_it = |note: &Note| matches!(note, Note::Resource { skill, .. } if self.is_under_test(skill));
                self.noted(is_it).map_or_else(|| at(self.offered()), |entry| self.called(entry))
            }
            "require-file" => self.file(check),
            "max-commands" => self.commands(check),
            "final-message" | "output-contains" | "output-matches" | "must-include" | "must-not-include"
            | "output-schema" | "invoked-skills" => self.in_answer(check),
            _ => self.quoted(check),
        }
    }

    fn is_under_test(&self, skill: &str) -> bool {
        crate::cases::skill::slug(skill) == self.evidence.meta.skill.slug
    }

    fn find(&self, is_it: impl Fn(&What) -> bool) -> Option<usize> {
        self.entries.iter().position(|entry| is_it(&entry.what))
    }

    /// The first entry at which this is noted.
    fn noted(&self, is_it: impl Fn(&Note) -> bool) -> Option<usize> {
        self.entries.iter().position(|entry| entry.marks.iter().any(&is_it))
    }

    /// Where the skills were offered, or else what was asked.
    fn offered(&self) -> Option<usize> {
        let offered = self.find(|what| matches!(what, What::Offered { .. }));
        offered.or_else(|| self.find(|what| matches!(what, What::Prompt { .. })))
    }

    fn triggered(&self, check: &Check) -> Finding {
        let injected = || self.find(|what| matches!(what, What::Injected { skill } if self.is_under_test(skill)));
        let loaded = || self.noted(|note| matches!(note, Note::Loaded { under_test: true, .. }));
        let failed = || self.noted(|note| matches!(note, Note::FailedLoad { skill } if self.is_under_test(skill)));
        let looked = || self.noted(|note| matches!(note, Note::Looked));
        match injected().or_else(loaded).or_else(failed).or_else(looked) {
            Some(entry) => self.called(entry),
            // That nothing loaded it is what was found; where it was offered is what there is to see.
            None if check.status == Status::Unknown => at(self.entries.len().checked_sub(1)),
            None => at(self.offered()),
        }
    }

    /// The command or the call of an entry.
    fn called(&self, entry: usize) -> Finding {
        let texts = self.entries[entry].what.texts();
        let call = texts.iter().find(|(part, _)| *part == Part::Input).or(texts.first());
        let pieces = call.map(|(part, text)| Piece { entry, part: *part, bytes: 0..text.len() });
        Finding { entry: Some(entry), pieces: pieces.into_iter().collect() }
    }

    /// The files tool that wrote the path, else the last call that names it.
    fn file(&self, check: &Check) -> Finding {
        let Some(path) = check.expected.strip_prefix("the workspace holds ") else { return at(None) };
        let hit = |(entry, part, text): (usize, Part, &str)| {
            let from = text.find(path)?;
            Some(Piece { entry, part, bytes: from..from + path.len() })
        };
        let written = self.texts().filter(|(_, part, _)| matches!(part, Part::Path(_))).filter_map(hit).last();
        let named = || self.texts().filter(|(_, part, _)| *part == Part::Input).filter_map(hit).last();
        match written.or_else(named) {
            Some(piece) => Finding { entry: Some(piece.entry), pieces: vec![piece] },
            None => at(self.entries.len().checked_sub(1)),
        }
    }

    /// The effective commands: the first that was too many, or else the last.
    fn commands(&self, check: &Check) -> Finding {
        let effective =
            |(at, entry): (usize, &Entry)| matches!(entry.what, What::Command { effective: true, .. }).then_some(at);
        let commands: Vec<usize> = self.entries.iter().enumerate().filter_map(effective).collect();
        let most = self.case.and_then(|case| {
            case.expectations.iter().find_map(|expectation| match expectation {
                Expectation::MaxCommands(most) => usize::try_from(*most).ok(),
                _ => None,
            })
        });
        let over = most.and_then(|most| commands.get(most)).filter(|_| check.status == Status::Fail);
        let pieces = commands.iter().take(MAX_PIECES).flat_map(|entry| self.called(*entry).pieces).collect();
        Finding { entry: over.or(commands.last()).copied(), pieces }
    }

    /// The final message, and what of it was looked for.
    fn in_answer(&self, check: &Check) -> Finding {
        let Some(entry) = self.find(|what| matches!(what, What::Said { answer: true, .. })) else {
            return at(self.entries.len().checked_sub(1));
        };
        let What::Said { text, .. } = &self.entries[entry].what else { return at(Some(entry)) };
        let is_it = |quoted: &str| check.expected.contains(&format!("{quoted:?}"));
        let expectations = self.case.into_iter().flat_map(|case| &case.expectations);
        let pattern = expectations.filter_map(|expectation| match (check.id.as_str(), expectation) {
            ("must-include", Expectation::MustInclude(pattern))
            | ("must-not-include", Expectation::MustNotInclude(pattern)) => {
                is_it(&pattern.0).then(|| pattern.compile_loose().ok())?
            }
            ("output-matches", Expectation::OutputMatches(pattern)) => {
                is_it(&pattern.0).then(|| pattern.compile_exact().ok())?
            }
            ("output-contains", Expectation::OutputContains(text)) => {
                let literal = regex::RegexBuilder::new(&regex::escape(text)).case_insensitive(true).build().ok();
                is_it(text).then_some(literal)?
            }
            _ => None,
        });
        let hits = pattern.into_iter().next().map(|pattern| {
            let hits = pattern.find_iter(text).filter(|hit| !hit.is_empty()).take(MAX_PIECES);
            hits.map(|hit| Piece { entry, part: Part::Text, bytes: hit.range() }).collect()
        });
        Finding { entry: Some(entry), pieces: hits.unwrap_or_default() }
    }

    /// What a check of a repository's own, or of a judge, quotes from the session: the longest that is found.
    fn quoted(&self, check: &Check) -> Finding {
        let mut quoted: Vec<&str> = ['`', '"']
            .into_iter()
            .flat_map(|mark| check.evidence.split(mark).skip(1).step_by(2))
            .filter(|text| text.len() >= MIN_QUOTED)
            .collect();
        quoted.sort_by_key(|text| std::cmp::Reverse(text.len()));
        let place = |quoted: &str| {
            self.texts().find_map(|(entry, part, text)| {
                let from = text.find(quoted)?;
                Some(Piece { entry, part, bytes: from..from + quoted.len() })
            })
        };
        match quoted.into_iter().find_map(place) {
            Some(piece) => Finding { entry: Some(piece.entry), pieces: vec![piece] },
            None => at(self.find(|what| matches!(what, What::Said { answer: true, .. }))),
        }
    }

    /// All texts of what the agent did and said.
    fn texts(&self) -> impl Iterator<Item = (usize, Part, &str)> {
        let of_agent = |what: &What| !matches!(what, What::Prompt { .. } | What::System { .. } | What::End { .. });
        self.entries
            .iter()
            .enumerate()
            .filter(move |(_, entry)| of_agent(&entry.what))
            .flat_map(|(at, entry)| entry.what.texts().into_iter().map(move |(part, text)| (at, part, text)))
    }
}

fn at(entry: Option<usize>) -> Finding {
    Finding { entry, pieces: Vec::new() }
}
