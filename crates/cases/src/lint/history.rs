//! A history that has the text of a skill: the model would know the skill before the trial begins.

use crate::cases::case::Case;
use crate::cases::catalog::Catalog;
use crate::skill::SKILL_FILE;
use crate::text::diagnostic::{Code, Diagnostic, SourceLocation};
use crate::trace::exposure::{Exposure, NamedFiles, SkillTexts, TextIndexBuilder};

/// The first skill whose text is in the history, by the rule for texts in a model's context.
pub(super) fn check(case: &Case, catalog: &Catalog, place: impl Fn() -> SourceLocation) -> Option<Diagnostic> {
    if case.history.is_empty() {
        return None;
    }
    let mut texts = TextIndexBuilder::default();
    for found in &catalog.skills {
        texts.add(&found.skill().slug, SKILL_FILE, &found.bytes);
    }
    let texts = SkillTexts::new(vec![texts.build()]);
    let mut exposure = Exposure::new(&texts);
    let seen = case.history.iter().flat_map(|said| exposure.shown(&said.content, &NamedFiles::default(), true));
    let skill = seen.filter(|file| file.loaded).map(|file| file.skill).next()?;
    let message = format!("`history` has the text of the skill `{skill}`: the model knows it before the prompt");
    let help = "leave out the message with that text: a trial measures what loads the skill";
    Some(Diagnostic::new(Code::BadHistory, place(), message).help(help))
}
