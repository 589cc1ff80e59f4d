//! More skills than fit into the skill list that an agent shows its model.

use crate::cases::catalog::{Catalog, FoundSkill};
use crate::lint::similar::description_place;
use crate::skill::Skill;
use crate::text::diagnostic::{Code, Diagnostic};

/// The skill list that an agent gives its model, as measured with the real program.
#[derive(Clone, Copy, Debug)]
pub struct SkillList {
    /// The agent and its version.
    pub agent: &'static str,
    /// The context window of its models, in tokens.
    pub window: &'static str,
    /// The size of the list for the skills of a repository, without the agent's own skills.
    pub room: usize,
    /// The unit of sizes.
    pub unit: &'static str,
    /// The size of a skill with its whole description.
    pub takes: fn(&Skill) -> usize,
    /// The size of a skill without its description; 0 if the agent cuts all descriptions alike.
    pub bare: fn(&Skill) -> usize,
    /// How the agent shortens a list that is too long.
    pub beyond: &'static str,
}

/// For each skill list that is too small, a problem at the first skill whose description does not fit.
pub(super) fn check(catalog: &Catalog, lists: &[&[SkillList]]) -> Vec<Diagnostic> {
    let mut skills: Vec<&FoundSkill> = catalog.skills.iter().collect();
    skills.sort_by(|a, b| a.skill().slug.cmp(&b.skill().slug));
    lists.iter().copied().flatten().filter_map(|list| outgrown(&skills, list)).collect()
}

fn outgrown(skills: &[&FoundSkill], list: &SkillList) -> Option<Diagnostic> {
    let SkillList { agent, window, room, unit, takes, bare, beyond } = list;
    let total: usize = skills.iter().map(|found| takes(found.skill())).sum();
    if total <= *room {
        return None;
    }
    let names: usize = skills.iter().map(|found| bare(found.skill())).sum();
    let mut left = room.saturating_sub(names);
    for found in skills {
        let description = takes(found.skill()).saturating_sub(bare(found.skill()));
        if description > left {
            let message = format!(
                "{agent} shows models with a window of {window} tokens at most {room} {unit} of skills; the {} here have {total}: \
                 {beyond}",
                skills.len()
            );
            let help =
                "shorten descriptions, or offer fewer skills at once; the check `described` shows what the model got";
            return Some(Diagnostic::new(Code::LargeCatalogue, description_place(found), message).help(help));
        }
        left -= description;
    }
    None
}
