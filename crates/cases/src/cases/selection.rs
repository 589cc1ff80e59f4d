//! Selects cases of a catalog, and the modes in which they run: a case in one mode is a test case.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::cases::case::FoundCase;
use crate::cases::catalog::Catalog;
use crate::settings::mode::Mode;
use crate::settings::{Settings, Suite, TestSelection};
use crate::skill::named;
use crate::text::diagnostic::{once, suggest};
use crate::text::problem::Problem;
use crate::trial::id::{CaseInMode, TrialId, test_name};

/// The selected cases, in the catalog's order. The error has a line for every unknown name, with the nearest names.
pub fn selected_cases<'a>(selection: &TestSelection, catalog: &'a Catalog) -> Result<Vec<&'a Arc<FoundCase>>, Problem> {
    check_names(selection, catalog)?;
    let mut selected = Vec::new();
    let mut skills = 0;
    for cases in catalog.cases.chunk_by(|a, b| a.skill == b.skill) {
        if !wants_skill(selection, &cases[0].skill) {
            continue;
        }
        let mut cases = of_suite(selection, cases);
        cases.retain(|case| wants_case(selection, case) && wants_tags(selection, case));
        cases.truncate(selection.max_cases.unwrap_or(usize::MAX));
        if cases.is_empty() {
            continue;
        }
        if selection.max_skills.is_some_and(|most| skills >= most) {
            break;
        }
        skills += 1;
        selected.extend(cases);
    }
    Ok(selected)
}

/// Whether the skill with this slug is selected.
pub fn wants_skill(selection: &TestSelection, skill: &str) -> bool {
    selection.skills.is_empty() || selection.skills.iter().any(|name| named(name) == skill)
}

/// The cases of one skill that are in the suite.
fn of_suite<'a>(selection: &TestSelection, cases: &'a [Arc<FoundCase>]) -> Vec<&'a Arc<FoundCase>> {
    match selection.suite() {
        Suite::Smoke => cases.iter().collect(),
        Suite::Explicit => {
            let is_explicit = |id: &str| id.starts_with("explicit") || id.ends_with("explicit");
            let explicit: Vec<&Arc<FoundCase>> = cases.iter().filter(|case| is_explicit(&case.id)).collect();
            if explicit.is_empty() { cases.iter().take(1).collect() } else { explicit }
        }
        // A case that cannot be read stays, so that it is reported.
        Suite::Positive => cases.iter().filter(|case| case.should_trigger() != Some(false)).collect(),
        Suite::Negative => cases.iter().filter(|case| case.should_trigger() != Some(true)).collect(),
    }
}

fn wants_case(selection: &TestSelection, case: &FoundCase) -> bool {
    (selection.tasks.is_empty() && selection.cases.is_empty())
        || (selection.tasks.contains(&case.id) && case.format().is_task())
        || selection.cases.iter().any(|name| names_case(name, &case.skill, &case.id))
}

/// Whether the tags of a case are selected. A case that cannot be read stays, so that it is reported.
fn wants_tags(selection: &TestSelection, case: &FoundCase) -> bool {
    if selection.tags.is_empty() {
        return true;
    }
    let Ok(case) = case.case() else { return true };
    let has = |tag: &str| case.tags.iter().any(|known| known == tag);
    let (refused, wanted): (Vec<&str>, Vec<&str>) =
        selection.tags.iter().map(String::as_str).partition(|tag| tag.starts_with('!'));
    let is_wanted = wanted.is_empty() || wanted.iter().any(|tag| has(tag));
    is_wanted && !refused.iter().any(|tag| has(&tag[1..]))
}

/// Whether the tags of the case with the name `skill/id` are selected.
pub fn wants_tags_of(selection: &TestSelection, name: &str, catalog: &Catalog) -> bool {
    let Some((skill, id)) = name.split_once('/') else { return true };
    catalog.cases_of(skill).filter(|found| found.id == id).all(|found| wants_tags(selection, found))
}

/// A message for every selected tag that no case has.
pub fn unknown_tags(selection: &TestSelection, catalog: &Catalog) -> Vec<String> {
    if selection.tags.is_empty() {
        return Vec::new();
    }
    let read = catalog.cases.iter().filter_map(|found| found.case().ok());
    let known: BTreeSet<&str> = read.flat_map(|case| case.tags.iter().map(String::as_str)).collect();
    let known: Vec<&str> = known.into_iter().collect();
    let names = selection.tags.iter().map(|tag| tag.strip_prefix('!').unwrap_or(tag));
    let unknown = names.filter(|tag| !known.contains(tag));
    unknown.map(|tag| format!("no case has the tag `{tag}`; {}", suggest(tag, &known))).collect()
}

/// The `stored` cases, pairs of a skill's slug and a case's id, that are selected; or a message for the first unknown
/// name. A stored case does not say whether it was a task, so the name of a task names any case with that id.
pub fn stored_cases<'a>(
    selection: &TestSelection,
    stored: &BTreeSet<(&'a str, &'a str)>,
) -> Result<BTreeSet<(&'a str, &'a str)>, Problem> {
    if !selection.tags.is_empty() {
        return Err("--tag selects cases of the repository: name stored ones with --skill or --case".into());
    }
    if let Some(name) = selection.skills.iter().find(|name| !stored.iter().any(|(skill, _)| named(name) == *skill)) {
        let known: Vec<&str> = stored.iter().map(|(skill, _)| *skill).collect();
        return Err(format!("no trial is of the skill `{name}`; {}", suggest(&named(name), &known)).into());
    }
    let names: Vec<&String> = selection.tasks.iter().chain(&selection.cases).collect();
    let unknown = |name: &&&String| !stored.iter().any(|(skill, case)| names_case(name, skill, case));
    if let Some(name) = names.iter().find(unknown) {
        let known: Vec<&str> = stored.iter().map(|(_, case)| *case).collect();
        return Err(format!("no trial is of the case `{name}`; {}", suggest(name, &known)).into());
    }
    let mut selected = stored.clone();
    selected.retain(|(skill, case)| {
        wants_skill(selection, skill) && (names.is_empty() || names.iter().any(|name| names_case(name, skill, case)))
    });
    Ok(selected)
}

fn check_names(selection: &TestSelection, catalog: &Catalog) -> Result<(), Problem> {
    let cases = &catalog.cases;
    let mut unknown = unknown_tags(selection, catalog);
    for name in selection.skills.iter().filter(|name| !cases.iter().any(|case| *case.skill == *named(name))) {
        unknown.push(catalog.unknown_skill(name));
    }
    let tasks: Vec<&str> = cases.iter().filter(|case| case.format().is_task()).map(|case| case.id.as_str()).collect();
    for name in selection.tasks.iter().filter(|name| !tasks.contains(&name.as_str())) {
        unknown.push(format!("unknown task `{name}`; {}", suggest(name, &tasks)));
    }
    for name in &selection.cases {
        if !cases.iter().any(|case| names_case(name, &case.skill, &case.id)) {
            let ids: BTreeSet<&str> = cases.iter().map(|case| case.id.as_str()).collect();
            let ids: Vec<&str> = ids.into_iter().collect();
            let is_skill = cases.iter().any(|case| *case.skill == *name);
            let near = if is_skill { format!("it is a skill: --skill {name}") } else { suggest(name, &ids) };
            unknown.push(format!("unknown case `{name}`; {near}"));
        }
    }
    if unknown.is_empty() {
        return Ok(());
    }
    // A name may be in a file that cannot be read.
    let unread = once(cases.iter().flat_map(|case| case.source.file_problems().to_vec()));
    Err(Problem::SaidOf(unknown.join("\n"), unread))
}

/// Whether a name, `id` or `skill/id`, is that of a case.
fn names_case(name: &str, skill: &str, case: &str) -> bool {
    match name.split_once('/') {
        Some((of, id)) => named(of) == skill && id == case,
        None => name == case,
    }
}

/// The modes for a case, in the order in which they were selected; by default those in which it is `recorded`, in the order of
/// the settings, and without any, that of its format.
pub fn modes<'a>(settings: &'a Settings, found: &FoundCase, recorded: &[String]) -> Vec<&'a Arc<Mode>> {
    let Some(selected) = settings.selected_modes.as_deref() else {
        let default = found.format().default_mode;
        let default = settings.default_modes.get(default).map_or(default, String::as_str);
        let recorded: Vec<_> = settings.modes.iter().filter(|mode| recorded.contains(&mode.name)).collect();
        return if recorded.is_empty() { settings.mode(default).into_iter().collect() } else { recorded };
    };
    let mut modes: Vec<&Arc<Mode>> = Vec::new();
    for mode in selected.iter().filter_map(|name| settings.mode(name)) {
        if !modes.contains(&mode) {
            modes.push(mode);
        }
    }
    modes
}

// A case in a mode.

/// A case in a mode: one test.
#[derive(Clone, Debug)]
pub struct TestCase {
    pub found: Arc<FoundCase>,
    pub mode: Arc<Mode>,
}

impl TestCase {
    pub fn test_name(&self) -> String {
        test_name(&self.found.skill, &self.found.id, &self.mode.name)
    }

    /// The id of repeat `number`, from 1.
    pub fn trial(&self, number: u32) -> TrialId {
        let CaseInMode { skill, case, mode } = self.case_in_mode();
        TrialId { skill, case, mode, number }
    }

    /// The names of the case and the mode.
    pub fn case_in_mode(&self) -> CaseInMode {
        CaseInMode { skill: self.found.skill.to_string(), case: self.found.id.clone(), mode: self.mode.name.clone() }
    }
}
