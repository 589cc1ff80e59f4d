//! Completions: names of skills and paths of their files that start with what the user typed.

use rmcp::ErrorData;
use rmcp::model::{CompleteRequestParams, CompleteResult, CompletionInfo, Reference};

use super::library::Library;
use super::{prompts, uri};

/// The values that the requested argument may have.
pub(super) fn of(library: &Library, request: &CompleteRequestParams) -> Result<CompleteResult, ErrorData> {
    let argument = &request.argument;
    let values: Vec<&str> = match &request.r#ref {
        Reference::Prompt(prompt) if prompt.name == prompts::SKILL && argument.name == prompts::NAME => {
            prompts::skills(library).map(|skill| skill.name.as_str()).collect()
        }
        Reference::Resource(template) => {
            let is_known = uri::TEMPLATES.iter().any(|(known, ..)| *known == template.uri);
            match argument.name.as_str() {
                "skill" if is_known => library.skills.iter().map(|served| served.skill.slug.as_str()).collect(),
                "path" if is_known => {
                    let skill = request.context.as_ref().and_then(|context| context.get_argument("skill"));
                    let served = skill.and_then(|name| library.skill(name));
                    served.into_iter().flat_map(|served| &served.files).map(|file| file.path.as_str()).collect()
                }
                _ => {
                    let why = format!("unknown {} in {}", argument.name.escape_debug(), template.uri.escape_debug());
                    return Err(ErrorData::invalid_params(why, None));
                }
            }
        }
        // The other arguments take any text.
        _ => Vec::new(),
    };
    let typed = argument.value.to_lowercase();
    let matching = values.into_iter().filter(|value| value.to_lowercase().starts_with(&typed));
    let mut matching: Vec<String> = matching.map(str::to_owned).collect();
    let total = matching.len();
    matching.truncate(CompletionInfo::MAX_VALUES);
    let has_more = total > CompletionInfo::MAX_VALUES;
    let info = CompletionInfo::with_pagination(matching, u32::try_from(total).ok(), has_more);
    info.map(CompleteResult::new).map_err(|why| ErrorData::internal_error(why, None))
}
