//! Which of a catalog's cases are wanted, and in which modes.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::cases::case::FoundCase;
use crate::cases::catalog::Catalog;
use crate::settings::Settings;
use crate::settings::mode::Mode;
use crate::skill::slug;
use crate::text::diagnostic::{once, suggest};

pub use crate::settings::{Suite, TestSelection};

impl TestSelection {
    /// The wanted cases, in the catalog's order.
    pub fn cases<'a>(&self, catalog: &'a Catalog) -> Result<Vec<&'a Arc<FoundCase>>, Vec<String>> {
        self.check_names(catalog)?;
        let mut chosen: Vec<&Arc<FoundCase>> = Vec::new();
        let mut skills_seen: Vec<&str> = Vec::new();
        let mut of_skill: Vec<&Arc<FoundCase>> = Vec::new();
        let mut found = catalog.cases.iter().peekable();
        while let Some(case) = found.next() {
            of_skill.push(case);
            if found.peek().is_some_and(|next| next.skill == case.skill) {
                continue;
            }
            let cases = std::mem::take(&mut of_skill);
            if !self.skills.is_empty() && !self.skills.iter().any(|name| *slug(name) == *case.skill) {
                continue;
            }
            let mut cases = self.of_suite(cases);
            cases.retain(|case| self.wants(case));
            cases.truncate(self.max_cases.unwrap_or(usize::MAX));
            if cases.is_empty() {
                continue;
            }
            if self.max_skills.is_some_and(|most| skills_seen.len() >= most) {
                break;
            }
            skills_seen.push(&case.skill);
            chosen.extend(cases);
        }
        Ok(chosen)
    }

    fn of_suite<'a>(&self, cases: Vec<&'a Arc<FoundCase>>) -> Vec<&'a Arc<FoundCase>> {
        let explicit = |case: &&Arc<FoundCase>| case.id.starts_with("explicit") || case.id.ends_with("explicit");
        match self.suite {
            Suite::Smoke => cases,
            Suite::Explicit => {
                let named: Vec<&Arc<FoundCase>> = cases.iter().copied().filter(explicit).collect();
                if named.is_empty() { cases.into_iter().take(1).collect() } else { named }
            }
            // A case that cannot be read is kept: it has to be told of.
            Suite::Positive => cases.into_iter().filter(|case| case.should_trigger() != Some(false)).collect(),
            Suite::Negative => cases.into_iter().filter(|case| case.should_trigger() != Some(true)).collect(),
        }
    }

    fn wants(&self, case: &FoundCase) -> bool {
        let is_task = case.format().is_task();
        let by_task = is_task && self.tasks.contains(&case.id);
        let by_case = self.cases.iter().any(|name| names_case(name, &case.skill, &case.id));
        (self.tasks.is_empty() && self.cases.is_empty()) || by_task || by_case
    }

    /// Those of `stored` cases, as pairs of a skill's slug and a case's id, that the names choose. A stored case does not
    /// say whether it was a task: the name of a task names any case of that id.
    pub fn of_stored<'a>(&self, stored: &BTreeSet<(&'a str, &'a str)>) -> Result<BTreeSet<(&'a str, &'a str)>, String> {
        let of_skill = |name: &String, skill: &str| slug(name) == skill;
        if let Some(name) = self.skills.iter().find(|name| !stored.iter().any(|(skill, _)| of_skill(name, skill))) {
            let known: Vec<&str> = stored.iter().map(|(skill, _)| *skill).collect();
            return Err(format!("no trial is of the skill `{name}`; {}", suggest(&slug(name), &known)));
        }
        let mut cases = self.tasks.iter().chain(&self.cases);
        let named = |name: &String, skill: &str, case: &str| names_case(name, skill, case);
        if let Some(name) = cases.find(|name| !stored.iter().any(|(skill, case)| named(name, skill, case))) {
            let known: Vec<&str> = stored.iter().map(|(_, case)| *case).collect();
            return Err(format!("no trial is of the case `{name}`; {}", suggest(name, &known)));
        }
        let mut chosen = stored.clone();
        chosen.retain(|(skill, case)| {
            let by_skill = self.skills.is_empty() || self.skills.iter().any(|name| of_skill(name, skill));
            let any_case = self.tasks.is_empty() && self.cases.is_empty();
            by_skill && (any_case || self.tasks.iter().chain(&self.cases).any(|name| named(name, skill, case)))
        });
        Ok(chosen)
    }

    fn check_names(&self, catalog: &Catalog) -> Result<(), Vec<String>> {
        let mut problems = Vec::new();
        let skills: Vec<&str> = catalog.skills.iter().map(|found| found.skill().slug.as_str()).collect();
        for name in self.skills.iter().filter(|name| !catalog.cases.iter().any(|case| *case.skill == *slug(name))) {
            problems.push(format!("unknown skill `{name}`; {}", suggest(&slug(name), &skills)));
        }
        let tasks: Vec<&str> =
            catalog.cases.iter().filter(|case| case.format().is_task()).map(|case| case.id.as_str()).collect();
        for name in self.tasks.iter().filter(|name| !tasks.contains(&name.as_str())) {
            problems.push(format!("unknown task `{name}`; {}", suggest(name, &tasks)));
        }
        for name in
            self.cases.iter().filter(|name| !catalog.cases.iter().any(|case| names_case(name, &case.skill, &case.id)))
        {
            let mut ids: Vec<&str> = catalog.cases.iter().map(|case| case.id.as_str()).collect();
            ids.sort_unstable();
            ids.dedup();
            problems.push(format!("unknown case `{name}`; {}", suggest(name, &ids)));
        }
        if problems.is_empty() {
            return Ok(());
        }
        // What is named may be in a file that cannot be read.
        let unread = once(catalog.cases.iter().flat_map(|case| case.source.file_problems().to_vec()));
        problems.extend(unread.iter().map(ToString::to_string));
        Err(problems)
    }
}

fn names_case(name: &str, skill: &str, case: &str) -> bool {
    match name.split_once('/') {
        Some((of, id)) => slug(of) == skill && id == case,
        None => name == case,
    }
}

/// The modes for a case: those chosen, else the default one and then those of `recorded`, in the modes' own order.
pub fn modes<'a>(settings: &'a Settings, found: &FoundCase, recorded: &[String]) -> Vec<&'a Arc<Mode>> {
    let chosen = settings.selected_modes.as_deref();
    let default = found.format().default_mode;
    let by_itself = |mode: &&Arc<Mode>| mode.name == default || recorded.contains(&mode.name);
    let Some(chosen) = chosen else { return settings.modes.iter().filter(by_itself).collect() };
    let mut modes: Vec<&Arc<Mode>> = Vec::new();
    for mode in chosen.iter().filter_map(|name| settings.mode(name)) {
        if !modes.contains(&mode) {
            modes.push(mode);
        }
    }
    modes
}
