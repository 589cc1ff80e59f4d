//! Skills as prompts that a user calls: each by its own name, and `skill` with any name.

use rmcp::ErrorData;
use rmcp::model::{Annotations, GetPromptResult, JsonObject, Prompt, PromptArgument, PromptMessage, Role};
use serde_json::Value;

use crate::skill::{Skill, USER_INVOCABLE};

use super::library::{Library, ServedSkill};
use super::uri::Address;
use super::{answer, catalogue};

/// The prompt that takes the skill's name as an argument. A skill of this very name has no prompt of its own.
pub(super) const SKILL: &str = "skill";

/// Its argument.
pub(super) const NAME: &str = "name";

/// The one argument of every other prompt.
pub(super) const ARGUMENTS: &str = "arguments";

/// The prompts as a client lists them.
pub(super) fn all(library: &Library) -> Vec<Prompt> {
    let name = PromptArgument::new(NAME).with_description("The skill's name").with_required(true);
    let any = Prompt::new(SKILL, Some(catalogue::skill_prompt(library)), Some(vec![name])).with_title("Load a skill");
    let arguments = PromptArgument::new(ARGUMENTS).with_description("What to apply the skill to").with_required(false);
    let each = skills(library).filter(|skill| skill.slug != SKILL).map(|skill| {
        Prompt::new(&skill.slug, Some(&skill.description), Some(vec![arguments.clone()])).with_title(&skill.name)
    });
    std::iter::once(any).chain(each).collect()
}

/// The value of a prompt's argument; `None` where it is missing or empty.
pub(super) fn argument<'a>(given: Option<&'a JsonObject>, name: &str) -> Result<Option<&'a str>, ErrorData> {
    match given.and_then(|given| given.get(name)) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text.as_str()).filter(|text| !text.is_empty())),
        Some(_) => Err(ErrorData::invalid_params(format!("the prompt's `{name}` must be a string"), None)),
    }
}

/// The skills that users may call.
pub(super) fn skills(library: &Library) -> impl Iterator<Item = &Skill> {
    library.skills.iter().map(|shelved| &shelved.skill).filter(|skill| !skill.model_only)
}

/// That users may call the skill.
pub(super) fn for_users(shelved: &ServedSkill) -> Result<(), String> {
    if !shelved.skill.model_only {
        return Ok(());
    }
    Err(format!("`{USER_INVOCABLE}: false` keeps users from calling `{}`", shelved.skill.name))
}

/// A skill's SKILL.md, as the resource that it is.
pub(super) fn embedded(shelved: &ServedSkill) -> Result<GetPromptResult, String> {
    for_users(shelved)?;
    let uri = Address::Skill(shelved.skill.slug.clone()).uri();
    let text = answer::raw(shelved)?;
    // For the model, and all of it.
    let annotations = Annotations::default().with_audience(vec![Role::Assistant]).with_priority(1.0);
    let mime_type = Some("text/markdown".to_owned());
    let message = PromptMessage::new_resource(Role::User, uri, mime_type, Some(text), None, None, Some(annotations));
    Ok(GetPromptResult::new(vec![message]))
}
