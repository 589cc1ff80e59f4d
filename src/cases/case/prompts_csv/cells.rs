//! A row's cells as a case.

use std::borrow::Cow;

use super::{CsvRow, FIRST_FIELD, RowCells};
use crate::cases::case::Case;
use crate::cases::case::fields::{self, CaseDraft, CaseField};
use crate::cases::case::task_json;
use crate::checks::{FieldValue, InvalidField};
use crate::settings::trials::Repetition;
use crate::text::diagnostic::{Code, Diagnostic, SourceLocation, shorten};
use crate::text::name;
use crate::trace::change::SkillChange;

/// The column whose cell is a list of changes, as task files write it.
pub(super) const DURING: &str = "during";

/// Reads a row's cells and gathers what is wrong with them.
pub(super) struct RowReader<'a> {
    pub(super) row: &'a CsvRow,
    pub(super) cells: RowCells,
    pub(super) problems: Vec<Diagnostic>,
}

impl RowReader<'_> {
    pub(super) fn case(&mut self, skill: &str) -> Case {
        let id = self.text("id").trim().to_owned();
        if let Err(why) = name::check_case_id(&id) {
            self.problems.push(name::id_problem(&id, &why, self.row.place("id")));
        }
        let mut draft = CaseDraft::new(skill, id, self.row.place("id"));
        for (field, index) in fields::all().zip(&self.row.sheet.columns[FIRST_FIELD..]) {
            let column = field.field().column;
            if index.is_none() && !field.is_required() {
                continue;
            }
            if column == "prompt" && self.text(column).trim().is_empty() {
                let problem = Diagnostic::new(Code::EmptyValue, self.row.place(column), "the prompt is empty");
                self.problems.push(problem.help("write what the agent is asked"));
            }
            let values = self.values(field);
            if !values.is_empty() {
                let line = self.row.line_of(column);
                for value in values {
                    draft.set(field, column, line, value);
                }
            }
        }
        draft.case.during = self.during();
        draft.finish()
    }

    /// What the row says of its repeats.
    pub(super) fn repetition(&mut self) -> Repetition {
        let mut draft = CaseDraft::new("", String::new(), SourceLocation::default());
        for field in fields::all().filter(|field| ["trials", "threshold"].contains(&field.field().column)) {
            self.values(field).into_iter().for_each(|value| draft.set(field, field.field().column, 0, value));
        }
        draft.case.repetition
    }

    fn text(&self, column: &str) -> Cow<'_, str> {
        let cell = self.row.sheet.index(column).map(|index| self.cells.get(index));
        String::from_utf8_lossy(cell.unwrap_or_default())
    }

    /// The values of a cell.
    fn values(&mut self, field: CaseField) -> Vec<FieldValue> {
        let (column, form) = (field.field().column, field.field().form);
        let mut parts = form.split(&self.text(column));
        if parts.is_empty() && field.is_required() {
            parts.push(String::new());
        }
        let mut values = Vec::with_capacity(parts.len());
        for part in parts {
            match form.read(column, &part, &format!("{:?}", shorten(&part))) {
                Ok(value) => values.push(value),
                Err(InvalidField { code, message, help }) => {
                    let place = if form.is_list() { self.row.place_of(column, &part) } else { self.row.place(column) };
                    self.problems.push(Diagnostic::new(code, place, message).help(help));
                }
            }
        }
        values
    }

    fn during(&mut self) -> Vec<SkillChange> {
        let cell = self.text(DURING).into_owned();
        if cell.trim().is_empty() {
            return Vec::new();
        }
        let place = self.row.place(DURING);
        let mut changes = match task_json::changes(&cell) {
            Ok(changes) => changes,
            Err(problems) => {
                let here = problems.into_iter().map(|problem| Diagnostic { place: place.clone(), ..problem });
                self.problems.extend(here);
                return Vec::new();
            }
        };
        for change in &mut changes {
            change.origin = place.clone();
        }
        changes
    }
}
