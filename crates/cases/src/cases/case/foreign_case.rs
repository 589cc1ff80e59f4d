//! A case of another program while it is read.

use crate::cases::case::document::{Document, Node};
use crate::cases::case::fields::CaseDraft;
use crate::cases::case::{Case, CaseFormat, FoundCase, ReadCase};
use crate::text::diagnostic::{Diagnostic, SourceLocation};

/// A case of another program while it is read.
pub(super) struct ForeignCase {
    /// The case so far.
    pub draft: CaseDraft,
    places: Vec<(&'static str, SourceLocation)>,
}

impl ForeignCase {
    /// The case of this id that is written in `node`. `base` has its skill, and what its file asks of every case.
    pub fn new(document: &Document<'_>, node: &Node, id: String, base: Case) -> Self {
        let origin = document.place(node.range.start..node.range.start + 1);
        let mut draft = CaseDraft::of(Case { id, origin: origin.clone(), ..base });
        draft.should_trigger(None);
        Self { draft, places: vec![("id", origin)] }
    }

    /// Notes where the value of a field is written.
    pub fn locate(&mut self, document: &Document<'_>, key: &'static str, value: Option<&Node>) {
        self.places.extend(value.map(|value| (key, document.place(value.range.clone()))));
    }

    /// The case, unless it has problems.
    pub fn found(self, format: &'static CaseFormat, problems: Vec<Diagnostic>) -> FoundCase {
        let Self { draft, places } = self;
        let Case { id, skill, origin: SourceLocation { path, line, .. }, .. } = &draft.case;
        let (id, skill, path, line) = (id.clone(), skill.clone(), path.clone(), *line);
        let case = if problems.is_empty() { Ok(draft.finish_foreign()) } else { Err(problems) };
        FoundCase::new(id, skill, path, line, ReadCase { format, case, places })
    }
}
