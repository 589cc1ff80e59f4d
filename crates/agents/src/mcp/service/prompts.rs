//! Skills as prompts for users: each skill under its own name, and the prompt `skill` that takes any name.

use rmcp::ErrorData;
use rmcp::model::{Annotations, GetPromptResult, JsonObject, Prompt, PromptArgument, PromptMessage, Role};
use serde_json::Value;

use super::library::{Library, ServedSkill};
use super::uri::Address;
use super::{answer, skill_list};
use crate::skill::{Skill, USER_INVOCABLE};

/// The prompt that takes the skill's name as an argument. A skill with this slug has no prompt of its own.
pub(super) const SKILL: &str = "skill";

/// The argument of [`SKILL`].
pub(super) const NAME: &str = "name";

/// The argument of every other prompt.
pub(super) const ARGUMENTS: &str = "arguments";

pub(super) fn all(library: &Library) -> Vec<Prompt> {
    let name = PromptArgument::new(NAME).with_description("The skill's name").with_required(true);
    let description = format!("Loads a skill by its name.\n\n{}", skill_list::skill_list(library));
    let mut prompts = vec![Prompt::new(SKILL, Some(description), Some(vec![name])).with_title("Load a skill")];
    let arguments = PromptArgument::new(ARGUMENTS).with_description("What to apply the skill to").with_required(false);
    for skill in skills(library).filter(|skill| skill.slug != SKILL) {
        let prompt = Prompt::new(&skill.slug, Some(&skill.description), Some(vec![arguments.clone()]));
        prompts.push(prompt.with_title(&skill.name));
    }
    prompts
}

/// The value of a prompt's argument. `None` if it is missing or empty.
pub(super) fn argument<'a>(arguments: Option<&'a JsonObject>, name: &str) -> Result<Option<&'a str>, ErrorData> {
    match arguments.and_then(|arguments| arguments.get(name)) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text.as_str()).filter(|text| !text.is_empty())),
        Some(_) => Err(ErrorData::invalid_params(format!("the prompt's `{name}` must be a string"), None)),
    }
}

pub(super) fn skills(library: &Library) -> impl Iterator<Item = &Skill> {
    library.skills.iter().map(|served| &served.skill).filter(|skill| !skill.model_only)
}

pub(super) fn check_user_may_call(served: &ServedSkill) -> Result<(), String> {
    if !served.skill.model_only {
        return Ok(());
    }
    Err(format!("`{USER_INVOCABLE}: false` keeps users from calling `{}`", served.skill.name))
}

/// The prompt [`SKILL`]: a SKILL.md as an embedded resource.
pub(super) fn embedded(served: &ServedSkill) -> Result<GetPromptResult, String> {
    check_user_may_call(served)?;
    let uri = Address::Skill(served.skill.slug.clone()).uri();
    let text = answer::raw(served)?;
    let annotations = Annotations::default().with_audience(vec![Role::Assistant]).with_priority(1.0);
    let mime_type = Some("text/markdown".to_owned());
    let message = PromptMessage::new_resource(Role::User, uri, mime_type, Some(text), None, None, Some(annotations));
    Ok(GetPromptResult::new(vec![message]))
}
