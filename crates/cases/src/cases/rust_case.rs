//! Cases that a harness has in Rust: as task files would have them, and in no file.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::path::Path;
use std::sync::Arc;

use serde_json::{Map, Value, json};

use crate::cases::case::fields;
use crate::cases::case::task_json::{self, CONFIG};
use crate::cases::case::{Case, FoundCase, ReadCase, smoke};
use crate::cases::catalog::Catalog;
use crate::text::diagnostic::{Code, Diagnostic, SourceLocation, suggest};
use crate::text::name;

/// A case in Rust.
#[derive(Clone, Debug)]
pub struct RustCase {
    /// The slug of the skill under test.
    pub skill: String,
    /// The case's id.
    pub id: String,
    /// Where the harness adds it.
    pub place: SourceLocation,
    /// Its fields, by their names in any format of ours.
    pub fields: Map<String, Value>,
}

/// What tells cases apart in names of tests.
fn test_name(skill: &str, id: &str) -> (String, String) {
    (skill.to_owned(), name::segment(id))
}

fn place_of(found: &FoundCase) -> SourceLocation {
    SourceLocation { line: found.line, column: 1, ..SourceLocation::file(&*found.file) }
}

impl RustCase {
    /// Takes its test name. If an earlier case has it, the case gets another one and is an error.
    fn unique(&mut self, taken: &mut HashMap<(String, String), SourceLocation>) -> Result<(), Vec<Diagnostic>> {
        let earlier = match taken.entry(test_name(&self.skill, &self.id)) {
            Entry::Vacant(free) => {
                free.insert(self.place.clone());
                return Ok(());
            }
            Entry::Occupied(earlier) => earlier.get().clone(),
        };
        let message = format!("the case id `{}` of the skill `{}` is taken by {earlier}", self.id, self.skill);
        let again = (2..).map(|number| format!("{}-again-{number}", self.id));
        let is_free = |id: &String| !taken.contains_key(&test_name(&self.skill, id));
        self.id = again.take(taken.len() + 1).find(is_free).unwrap_or_default();
        taken.insert(test_name(&self.skill, &self.id), self.place.clone());
        let problem = Diagnostic::new(Code::DuplicateCase, self.place.clone(), message);
        Err(vec![problem.help("give each case of a skill a unique id")])
    }

    /// The case, or every problem of it.
    fn read(&self, repository: &Path) -> Result<Case, Vec<Diagnostic>> {
        if let Err(why) = name::check_case_id(&self.id) {
            return Err(vec![name::id_problem(&self.id, &why, self.place.clone())]);
        }
        let mut config = Map::from_iter([("skill".to_owned(), json!(self.skill))]);
        let mut root = Map::new();
        for (key, value) in &self.fields {
            let key = fields::named(key).map_or(key.as_str(), |field| field.key);
            let object = if task_json::ROOT.contains(&key) { &mut root } else { &mut config };
            object.insert(key.to_owned(), value.clone());
        }
        root.insert(CONFIG.to_owned(), Value::Object(config));
        let path = self.place.path.with_file_name(format!("{}.json", self.id));
        let case = task_json::parse(repository, &path, Value::Object(root).to_string().as_bytes());
        let case = case.map_err(|problems| {
            problems.into_iter().map(|problem| Diagnostic { place: self.place.clone(), ..problem }).collect::<Vec<_>>()
        })?;
        Ok(Case { id: self.id.clone(), origin: self.place.clone(), ..case })
    }
}

impl Catalog {
    /// Adds these cases of the repository behind those of their skills, which need no built-in cases then. A skill that is not here is an error of its
    /// case, and so is an id that an earlier case has.
    pub fn add_rust_cases(&mut self, repository: &Path, cases: impl IntoIterator<Item = RustCase>) {
        let mut cases = cases.into_iter().peekable();
        if cases.peek().is_none() {
            return;
        }
        let mut taken: HashMap<(String, String), SourceLocation> =
            self.cases.iter().map(|found| (test_name(&found.skill, &found.id), place_of(found))).collect();
        for mut rust in cases {
            let case = if let Some(skill) = self.skill_mut(&rust.skill) {
                if !std::mem::replace(&mut skill.curated, true) {
                    let is_built_in = |found: &FoundCase| found.format().name == smoke::FORMAT.name;
                    self.cases.retain(|found| *found.skill != *rust.skill || !is_built_in(found));
                    taken.retain(|(skill, _), _| *skill != rust.skill);
                }
                rust.unique(&mut taken).and_then(|()| rust.read(repository))
            } else {
                let message = format!("the case `{}` is about the skill `{}`, which is not here", rust.id, rust.skill);
                let hint = suggest(&rust.skill, &self.slugs());
                Err(vec![Diagnostic::new(Code::UnknownSkill, rust.place.clone(), message).help(hint)])
            };
            let source = ReadCase::new(&task_json::NEUTRAL, case);
            let found = FoundCase::new(rust.id, rust.skill, rust.place.path, rust.place.line, source);
            let end = self.cases.partition_point(|known| *known.skill <= *found.skill);
            self.cases.insert(end, Arc::new(found));
        }
    }
}
