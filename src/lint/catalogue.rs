//! Catalogues of skills that are larger than what an agent shows its model of them.

use crate::cases::catalog::{Catalog, FoundSkill};
use crate::lint::similar::description_place;
use crate::skill::Skill;
use crate::text::diagnostic::{Code, Diagnostic};

/// The list of skills that an agent gives its model, as measured with the real program.
#[derive(Clone, Copy, Debug)]
pub struct SkillList {
    /// The agent, with the version that was measured.
    pub agent: &'static str,
    /// The window of its models, in tokens.
    pub window: &'static str,
    /// What the list has for the skills of a repository, beside the agent's own.
    pub room: usize,
    /// What it is counted in.
    pub unit: &'static str,
    /// What a skill takes of it with its whole description.
    pub takes: fn(&Skill) -> usize,
    /// What a skill takes of it in any case, before any description has room: nothing where descriptions are cut alike.
    pub bare: fn(&Skill) -> usize,
    /// What becomes of descriptions where there is no room for all of them, behind a colon; this skill is the first without.
    pub beyond: &'static str,
}

/// For each of these lists the skill with which the catalogue outgrows it.
pub(super) fn check(catalog: &Catalog, listings: &[&[SkillList]]) -> Vec<Diagnostic> {
    let mut skills: Vec<&FoundSkill> = catalog.skills.iter().collect();
    skills.sort_by(|a, b| a.skill().slug.cmp(&b.skill().slug));
    listings.iter().copied().flatten().filter_map(|listing| outgrown(&skills, listing)).collect()
}

fn outgrown(skills: &[&FoundSkill], listing: &SkillList) -> Option<Diagnostic> {
    let SkillList { agent, window, room, unit, takes, bare, beyond } = listing;
    let all = |of: &fn(&Skill) -> usize| skills.iter().map(|found| of(found.skill())).sum::<usize>();
    let (taken, mut left) = (all(takes), room.saturating_sub(all(bare)));
    let found = skills.iter().filter(|_| taken > *room).find(|found| {
        let description = takes(found.skill()).saturating_sub(bare(found.skill()));
        let fits = description <= left;
        left = left.saturating_sub(description);
        !fits
    })?;
    let count = skills.len();
    let message = format!(
        "{agent} may show models with a window of {window} tokens no more than {room} {unit} of skills, and the {count} here take \
         {taken}: {beyond}"
    );
    let help = "shorten descriptions, or offer fewer skills at once; ask cases for `described` to see what was shown";
    Some(Diagnostic::new(Code::LargeCatalogue, description_place(found), message).help(help))
}
