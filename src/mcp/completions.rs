//! What may follow the letters that a user has typed: names of skills, and paths in them.

use rmcp::ErrorData;
use rmcp::model::{CompleteRequestParams, CompleteResult, CompletionInfo, Reference};

use super::library::Library;
use super::{prompts, uri};

/// The values of the argument asked for.
pub(super) fn of(library: &Library, request: &CompleteRequestParams) -> Result<CompleteResult, ErrorData> {
    let argument = &request.argument;
    let values: Vec<&str> = match &request.r#ref {
        Reference::Prompt(prompt) if prompt.name == prompts::SKILL && argument.name == prompts::NAME => {
            prompts::skills(library).map(|skill| skill.name.as_str()).collect()
        }
        Reference::Resource(template) => {
            let given = uri::TEMPLATES.iter().any(|(known, ..)| *known == template.uri);
            match argument.name.as_str() {
                "skill" if given => library.skills.iter().map(|shelved| shelved.skill.slug.as_str()).collect(),
                "path" if given => {
                    let skill = request.context.as_ref().and_then(|context| context.get_argument("skill"));
                    let shelved = skill.and_then(|name| library.skill(name));
                    shelved.into_iter().flat_map(|shelved| &shelved.files).map(|file| file.path.as_str()).collect()
                }
                _ => {
                    let why = format!("unknown {} in {}", argument.name.escape_debug(), template.uri.escape_debug());
                    return Err(ErrorData::invalid_params(why, None));
                }
            }
        }
        // What is written to a skill cannot be guessed.
        _ => Vec::new(),
    };
    let typed = argument.value.to_lowercase();
    let fitting: Vec<&str> = values.into_iter().filter(|value| value.to_lowercase().starts_with(&typed)).collect();
    let (total, first) = (fitting.len(), fitting.into_iter().take(CompletionInfo::MAX_VALUES).map(str::to_owned));
    let has_more = total > CompletionInfo::MAX_VALUES;
    let info = CompletionInfo::with_pagination(first.collect(), u32::try_from(total).ok(), has_more);
    info.map(CompleteResult::new).map_err(|why| ErrorData::internal_error(why, None))
}
