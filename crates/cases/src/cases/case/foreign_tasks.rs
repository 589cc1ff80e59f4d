//! A list of tasks in a YAML file of another program, each a case.

use crate::cases::case::document::{Document, Node, NodeValue};
use crate::cases::case::fields::CaseDraft;
use crate::cases::case::foreign_case::ForeignCase;
use crate::cases::case::{Case, CaseFormat, FileCases, ForeignFile, FoundCase, Unsupported};

/// The tasks of a file, and what holds for each.
pub(super) struct ForeignTasks<'a> {
    /// Their format.
    pub format: &'static CaseFormat,
    /// Their file.
    pub file: &'a ForeignFile<'a>,
    /// The slug of the skill under test; empty if nothing names it.
    pub skill: String,
    /// What the file asks of every case and this program does not do.
    pub shared: Vec<Unsupported>,
    /// The key of a task's name.
    pub name: &'static str,
    /// The key of a task's prompt.
    pub prompt: &'static str,
}

impl ForeignTasks<'_> {
    /// The cases. `read` fills the draft of each.
    pub fn read(
        self,
        mut document: Document<'_>,
        tasks: &[Node],
        read: impl Fn(&mut Document<'_>, &Node, &mut CaseDraft),
    ) -> FileCases {
        let problems = document.problems.take();
        let cases = tasks.iter().zip(1..).map(|(task, number)| self.found(&mut document, task, number, &read));
        FileCases { cases: cases.collect(), problems, ..FileCases::default() }
    }

    fn found(
        &self,
        document: &mut Document<'_>,
        task: &Node,
        number: usize,
        read: impl Fn(&mut Document<'_>, &Node, &mut CaseDraft),
    ) -> FoundCase {
        let name = match task.get(self.name).map(|name| &name.value) {
            Some(NodeValue::Text(name) | NodeValue::Number(name)) => name.clone(),
            _ => number.to_string(),
        };
        let id = self.file.case_id(&name);
        let base = Case { skill: self.skill.clone(), unsupported: self.shared.clone(), ..Case::default() };
        let mut case = ForeignCase::new(document, task, id, base);
        case.locate(document, "prompt", task.get(self.prompt));
        if task.is_map() {
            document.duplicate_keys(task, &[]);
            document.required(task, self.name);
            read(document, task, &mut case.draft);
        } else {
            document.wrong_type("a task", "an object", task);
        }
        case.found(self.format, document.problems.take())
    }
}
