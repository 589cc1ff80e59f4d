//! What the server offers: its tools, prompts, completions and resources, and the answers of the tools.

use std::fmt::Write;
use std::path::Path;
use std::sync::Arc;

use base64::prelude::{BASE64_STANDARD, Engine};
use rmcp::ErrorData;
use rmcp::model::{
    Annotations, CompleteRequestParams, CompleteResult, CompletionInfo, GetPromptResult, JsonObject, Prompt,
    PromptArgument, PromptMessage, Reference, Resource, ResourceContents, Role, Tool, ToolAnnotations,
};
use serde_json::{Value, json};

use super::library::{Address, Library, ListedFile, ResourceError, ServedContent, ServedSkill};
use crate::mcp::NotAnswered;
use crate::mcp::service::library;
use crate::profile::{PROFILES, ToolDisplay};
use crate::settings::{BuiltIn, SkillResult, Wording};
use crate::skill::{Skill, SkillFile, USER_INVOCABLE};
use crate::text::diagnostic::nearest;
use crate::text::name::RelativePath;

/// The tool that loads a skill.
pub(super) const SKILL_TOOL: &str = "skill";

/// The tool that reads files of a skill.
pub(super) const RESOURCE_TOOL: &str = "skill-resource";

pub(super) fn all_tools(library: &Library, settings: BuiltIn, client: ToolDisplay) -> Vec<Tool> {
    let (description, argument) = describe_skill_tool(library, settings.wording, client);
    let name = json!({ "type": "string", "description": argument });
    let skill = json!({ "type": "string", "description": "The skill's name" });
    let path = json!({
        "type": "string",
        "description": "A file or directory below the skill's directory, with `/` between the parts; left out or \
         empty: the list of all files",
    });
    let resource = describe_resource_tool(settings);
    let resource_arguments = json!({ "skill": skill, "path": path });
    vec![
        tool(SKILL_TOOL, "Load a skill", description, json!({ "name": name }), json!(["name"])),
        tool(RESOURCE_TOOL, "Read files of a skill", resource, resource_arguments, json!(["skill"])),
    ]
}

fn tool(name: &'static str, title: &str, description: String, properties: Value, required: Value) -> Tool {
    let schema = JsonObject::from_iter([
        ("type".to_owned(), json!("object")),
        ("properties".to_owned(), properties),
        ("required".to_owned(), required),
        ("additionalProperties".to_owned(), json!(false)),
    ]);
    // Without these hints codex does not run a tool if nobody can approve it.
    let annotations =
        ToolAnnotations::with_title(title).read_only(true).destructive(false).idempotent(true).open_world(false);
    Tool::new(name, description, Arc::new(schema)).with_title(title).with_annotations(annotations)
}

/// A string argument of a call. `None` if it is missing or null. A protocol error would not reach the model.
pub(super) fn string_argument<'a>(
    tool: &str,
    arguments: Option<&'a JsonObject>,
    key: &str,
) -> Result<Option<&'a str>, NotAnswered> {
    match arguments.and_then(|arguments| arguments.get(key)) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text)),
        Some(value) => Err(format!("the argument `{key}` of `{tool}` must be a string, not {value}").into()),
    }
}

/// A required [`string_argument`] argument.
pub(super) fn required_argument<'a>(
    tool: &str,
    arguments: Option<&'a JsonObject>,
    key: &str,
) -> Result<&'a str, NotAnswered> {
    string_argument(tool, arguments, key)?.ok_or_else(|| {
        let known = if tool == RESOURCE_TOOL { "`skill`, `path`" } else { "`name`" };
        format!("`{tool}` needs the argument `{key}`; it takes {known}").into()
    })
}

// The skill list and the texts that ask a model to load skills.

/// Maximum length of a text that the model sees whole, in UTF-16 units. Claude Code cuts longer descriptions of tools and
/// instructions of servers, but not descriptions of arguments.
const MAX_SHOWN: usize = 2048;

/// What the client with this name shows its model of a tool.
pub(super) fn display_of(client: Option<&str>) -> ToolDisplay {
    let known = PROFILES.iter().find(|profile| Some(profile.mcp_client) == client);
    known.map_or(ToolDisplay::Arguments, |profile| profile.shows)
}

const NO_SKILLS: &str = "No skills are available at the moment.";

/// What the tool `skill` does, by wording.
const MILD: &str = "Loads a skill: returns its instructions. When a skill's description fits the task, load the skill \
                     before doing anything else about the task, and follow it.";
const URGENT: &str = "Loads a skill: returns its full instructions, with the steps, examples and files to follow.\n\n\
                             IMPORTANT: whenever a skill is relevant to the task, calling this tool IMMEDIATELY is your \
                             first action. It is a BLOCKING REQUIREMENT: call it BEFORE you say or do anything else \
                             about the task, and NEVER merely mention a skill without calling it.";

/// The description of the tool `skill` and of its argument `name`. The skill list is in the first if the model sees all
/// of that, else in the second.
fn describe_skill_tool(library: &Library, wording: Wording, client: ToolDisplay) -> (String, String) {
    let purpose = match wording {
        Wording::Mild => MILD,
        Wording::Skilljack => URGENT,
    };
    let list = skill_list(library);
    let tool = format!("{purpose}\n\n{list}");
    if client == ToolDisplay::Description || is_shown(&tool) {
        return (tool, "The skill's name, as listed".to_owned());
    }
    let names = skill_names(library);
    (
        format!("{purpose} The argument `name` lists what each is for.\n\nAvailable skills: {names}"),
        format!("The skill's name, as listed:\n{list}"),
    )
}

/// The server's instructions. `library` is `None` while it is not known where the skills are. The names come first: if
/// codex defers the tools of a server, it shows about 250 characters of the first line and nothing else.
pub(super) fn instructions(library: Option<&Library>) -> String {
    let usage = "Skills are instructions for particular tasks. Load one with the tool `skill` when its description \
                 fits the task; read the files that it refers to with the tool `skill-resource`.";
    let Some(library) = library else { return format!("{usage} The tool `skill` lists the skills.") };
    if library.skills.is_empty() {
        return format!("{usage} {NO_SKILLS}");
    }
    let short = format!("Skills to load with the tool `skill`: {}\n\n{usage}", skill_names(library));
    let whole = format!("{short}\n\n{}", skill_list(library));
    if is_shown(&whole) { whole } else { short }
}

fn is_shown(text: &str) -> bool {
    text.encode_utf16().count() <= MAX_SHOWN
}

pub(super) fn skill_names(library: &Library) -> String {
    let names: Vec<&str> = library.skills.iter().map(|served| served.skill.name.as_str()).collect();
    names.join(", ")
}

/// Names and descriptions, one line each.
pub(super) fn skill_list(library: &Library) -> String {
    if library.skills.is_empty() {
        return NO_SKILLS.to_owned();
    }
    let mut list = "<available_skills>\n".to_owned();
    for served in &library.skills {
        let description = served.skill.description.split_whitespace().collect::<Vec<_>>().join(" ");
        let (name, description) = (escape(&served.skill.name), escape(&description));
        let _ = writeln!(list, "<skill><name>{name}</name><description>{description}</description></skill>");
    }
    list + "</available_skills>"
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

/// The description of the tool `skill-resource`.
fn describe_resource_tool(settings: BuiltIn) -> String {
    format!(
        "Reads files of a skill: `path` of a file returns its text, `path` of a directory returns the texts of its \
         files, no `path` lists all files. Text files up to {} KiB.",
        settings.max_file() / 1024
    )
}

// Answers of the tools: a skill, its files, and what is wrong with a request.

pub(super) fn named_skill<'a>(library: &'a Library, name: &str) -> Result<&'a ServedSkill, NotAnswered> {
    library.skill(name).ok_or_else(|| {
        if library.skills.is_empty() {
            return format!("unknown skill `{name}`: no skills are served at the moment").into();
        }
        let known = library.skills.iter().map(|served| served.skill.name.as_str());
        let hint = nearest(name, known).map_or_else(|| ".".to_owned(), |near| format!(", did you mean `{near}`?"));
        format!("unknown skill `{name}`{hint} Call again with one of these names: {}", skill_names(library)).into()
    })
}

fn raw_skill_file(served: &ServedSkill) -> Result<String, NotAnswered> {
    Ok(String::from_utf8_lossy(&skill_file(served)?).into_owned())
}

fn skill_file(served: &ServedSkill) -> Result<Vec<u8>, NotAnswered> {
    let (name, file) = (&served.skill.name, served.file);
    match served.read(file) {
        Ok(ServedContent::File(bytes)) => Ok(bytes),
        Ok(ServedContent::Directory) => Err(format!("the {file} of the skill `{name}` is a directory").into()),
        Err(error) => Err(format!("the {file} of the skill `{name}` {error}").into()),
    }
}

/// A skill as the agents' own skill tools return it: its directory, the body of its SKILL.md, and the list of its files.
/// With [`SkillResult::Raw`], only its SKILL.md.
pub(super) fn skill_answer(served: &ServedSkill, result: SkillResult) -> Result<String, NotAnswered> {
    if result == SkillResult::Raw {
        return raw_skill_file(served);
    }
    let bytes = skill_file(served)?;
    let text = String::from_utf8_lossy(&bytes);
    let body = SkillFile::parse(&served.skill.folder, &bytes).body;
    let body = text.get(body).unwrap_or(&text).trim();
    let mut answer = format!("Base directory for this skill: {}\n\n{body}\n", served.directory().display());
    let mut resources = served.files.iter().filter(|file| file.path != served.file).peekable();
    if resources.peek().is_some() {
        answer.push_str("\nFiles of this skill, to be read with the tool `skill-resource`:\n");
    }
    for file in resources {
        let _ = writeln!(answer, "- {}", file.path);
    }
    Ok(answer)
}

/// The file at `path`, or all files of the directory at `path`. If `path` is empty, the list of the skill's files.
pub(super) fn resource_answer(served: &ServedSkill, path: &str) -> Result<String, NotAnswered> {
    if matches!(path, "" | "." | "./") {
        let mut list = format!("Files of the skill `{}`:\n", served.skill.name);
        for file in &served.files {
            let _ = writeln!(list, "- {} ({} bytes)", file.path, file.size);
        }
        return Ok(list);
    }
    match served.read(path) {
        Ok(ServedContent::File(bytes)) => {
            valid_text(&bytes).map(str::to_owned).map_err(|why| format!("`{path}` {why}").into())
        }
        Ok(ServedContent::Directory) => Ok(directory_files(served, &RelativePath::parse(path)?)),
        Err(error) => {
            let advice = match error {
                ResourceError::TooLarge { .. } => "Work on it with other tools.".to_owned(),
                ResourceError::NotAllowed(_) | ResourceError::Missing => known_files(served, path),
                _ => String::new(),
            };
            Err(format!("`{}` {error}. {advice}", path.escape_debug()).trim_end().into())
        }
    }
}

fn known_files(served: &ServedSkill, path: &str) -> String {
    let known: Vec<&str> = served.files.iter().map(|file| file.path.as_str()).collect();
    let hint = nearest(path, known.iter().copied()).map(|near| format!("Did you mean `{near}`? ")).unwrap_or_default();
    format!("{hint}Files of the skill `{}`: {}", served.skill.name, known.join(", "))
}

/// The files of a directory, each in its own element. A file that cannot be shown is named with the reason.
fn directory_files(served: &ServedSkill, directory: &RelativePath) -> String {
    let prefix = format!("{directory}/");
    let limit = served.max_answer();
    let mut remaining = limit;
    let mut answer = String::new();
    for file in served.files.iter().filter(|file| file.path.starts_with(&prefix)) {
        let content = match served.read(&file.path) {
            Ok(ServedContent::File(bytes)) if bytes.len() as u64 > remaining => {
                Err(format!("is left out: this answer is limited to {limit} bytes. Ask for it by its own path"))
            }
            Ok(ServedContent::File(bytes)) => valid_text(&bytes).map(str::to_owned),
            Ok(ServedContent::Directory) => Err("is now a directory".to_owned()),
            Err(error) => Err(error.to_string()),
        };
        let _ = match content {
            Ok(text) => {
                remaining -= text.len() as u64;
                writeln!(answer, "<file path=\"{}\">\n{text}\n</file>", file.path)
            }
            Err(why) => writeln!(answer, "<file path=\"{}\" not_shown=\"{why}\"/>", file.path),
        };
    }
    if answer.is_empty() { format!("The directory `{directory}` holds no files.") } else { answer }
}

/// The text of a file. The error completes a sentence that starts with the file's path.
fn valid_text(bytes: &[u8]) -> Result<&str, String> {
    let text = std::str::from_utf8(bytes).ok().filter(|text| !text.contains('\0'));
    text.ok_or_else(|| format!("is a binary file of {} bytes and is not shown as text", bytes.len()))
}

// Skills as prompts for users: each skill under its own name, and the prompt `skill` that takes any name.

/// The prompt that takes the skill's name as an argument. A skill with this slug has no prompt of its own.
pub(super) const SKILL_PROMPT: &str = "skill";

/// The argument of [`SKILL_PROMPT`].
pub(super) const NAME_ARGUMENT: &str = "name";

/// The argument of every other prompt.
pub(super) const PROMPT_ARGUMENTS: &str = "arguments";

pub(super) fn all_prompts(library: &Library) -> Vec<Prompt> {
    let name = PromptArgument::new(NAME_ARGUMENT).with_description("The skill's name").with_required(true);
    let description = format!("Loads a skill by its name.\n\n{}", skill_list(library));
    let mut prompts = vec![Prompt::new(SKILL_PROMPT, Some(description), Some(vec![name])).with_title("Load a skill")];
    let arguments =
        PromptArgument::new(PROMPT_ARGUMENTS).with_description("What to apply the skill to").with_required(false);
    for skill in skills_of_users(library).filter(|skill| skill.slug != SKILL_PROMPT) {
        let prompt = Prompt::new(&skill.slug, Some(&skill.description), Some(vec![arguments.clone()]));
        prompts.push(prompt.with_title(&skill.name));
    }
    prompts
}

/// The value of a prompt's argument. `None` if it is missing or empty.
pub(super) fn prompt_argument<'a>(arguments: Option<&'a JsonObject>, name: &str) -> Result<Option<&'a str>, ErrorData> {
    match arguments.and_then(|arguments| arguments.get(name)) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text.as_str()).filter(|text| !text.is_empty())),
        Some(_) => Err(ErrorData::invalid_params(format!("the prompt's `{name}` must be a string"), None)),
    }
}

fn skills_of_users(library: &Library) -> impl Iterator<Item = &Skill> {
    library.skills.iter().map(|served| &served.skill).filter(|skill| !skill.model_only)
}

pub(super) fn check_user_may_call(served: &ServedSkill) -> Result<(), NotAnswered> {
    if !served.skill.model_only {
        return Ok(());
    }
    Err(format!("`{USER_INVOCABLE}: false` keeps users from calling `{}`", served.skill.name).into())
}

/// The prompt [`SKILL_PROMPT`]: a SKILL.md as an embedded resource.
pub(super) fn embedded_prompt(served: &ServedSkill) -> Result<GetPromptResult, NotAnswered> {
    check_user_may_call(served)?;
    let uri = Address::Skill(served.skill.slug.clone()).uri();
    let text = raw_skill_file(served)?;
    let annotations = Annotations::default().with_audience(vec![Role::Assistant]).with_priority(1.0);
    let mime_type = Some("text/markdown".to_owned());
    let message = PromptMessage::new_resource(Role::User, uri, mime_type, Some(text), None, None, Some(annotations));
    Ok(GetPromptResult::new(vec![message]))
}

// Completions: names of skills and paths of their files that start with what the user typed.

/// The values that the requested argument may have.
pub(super) fn completions_of(library: &Library, request: &CompleteRequestParams) -> Result<CompleteResult, ErrorData> {
    let argument = &request.argument;
    let values: Vec<&str> = match &request.r#ref {
        Reference::Prompt(prompt) if prompt.name == SKILL_PROMPT && argument.name == NAME_ARGUMENT => {
            skills_of_users(library).map(|skill| skill.name.as_str()).collect()
        }
        Reference::Resource(template) => {
            let is_known = library::URI_TEMPLATES.iter().any(|(known, ..)| *known == template.uri);
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

// Files of skills as resources of the protocol.

const MARKDOWN: &str = "text/markdown";

/// The skill list, every skill, and every file of every skill.
pub(super) fn all_resources(library: &Library) -> Vec<Resource> {
    let list = Resource::new(Address::All.uri(), "skills").with_description("The skills that there are");
    let mut resources = vec![list.with_mime_type("application/xml")];
    for served in &library.skills {
        let (skill, slug) = (&served.skill, &served.skill.slug);
        let whole = Resource::new(Address::Skill(slug.clone()).uri(), slug).with_description(&skill.description);
        resources.push(whole.with_title(&skill.name).with_mime_type(MARKDOWN));
        let others = Resource::new(Address::Files(slug.clone()).uri(), format!("{slug}/"));
        resources.push(others.with_description("All other files of this skill"));
        resources.extend(served.files.iter().map(|file| listed_resource(served, file)));
    }
    resources
}

/// A file of a skill as lists have it.
pub(super) fn listed_resource(served: &ServedSkill, file: &ListedFile) -> Resource {
    let ServedSkill { skill, file: skill_file, .. } = served;
    let uri = Address::File(skill.slug.clone(), file.path.clone()).uri();
    let resource = if file.path == *skill_file {
        Resource::new(uri, &skill.name).with_description(&skill.description)
    } else {
        Resource::new(uri, format!("{}/{}", skill.slug, file.path))
    };
    let resource = resource.with_size(file.size);
    if is_markdown(&file.path) { resource.with_mime_type(MARKDOWN) } else { resource }
}

/// Reads the resource at a URI. The error completes a sentence that starts with the URI.
pub(super) fn read_resource(library: &Library, uri: &str) -> Result<Vec<ResourceContents>, NotAnswered> {
    let skill = |name: &str| {
        library.skill(name).ok_or_else(|| {
            let known: Vec<&str> = library.skills.iter().map(|served| served.skill.slug.as_str()).collect();
            NotAnswered(format!("names no skill that is here; known: {}", known.join(", ")))
        })
    };
    match Address::parse(uri)? {
        Address::All => {
            let list = ResourceContents::text(skill_list(library), uri);
            Ok(vec![list.with_mime_type("application/xml")])
        }
        Address::Skill(name) => {
            let served = skill(&name)?;
            Ok(vec![resource_of_file(served, served.file, uri)?])
        }
        Address::Files(name) => Ok(other_files(skill(&name)?)),
        Address::File(name, path) => Ok(vec![resource_of_file(skill(&name)?, &path, uri)?]),
    }
}

/// A file as text, or as base64 if it is binary.
fn resource_of_file(served: &ServedSkill, path: &str, uri: &str) -> Result<ResourceContents, NotAnswered> {
    let ServedContent::File(bytes) = served.read(path)? else {
        return Err("is a directory; resources/list names its files".into());
    };
    let Ok(text) = valid_text(&bytes) else {
        let blob = ResourceContents::blob(BASE64_STANDARD.encode(&bytes), uri);
        return Ok(blob.with_mime_type("application/octet-stream"));
    };
    let text = ResourceContents::text(text, uri);
    Ok(if is_markdown(path) { text.with_mime_type(MARKDOWN) } else { text })
}

/// All files of a skill except its SKILL.md. Leaves out files that cannot be read or do not fit into one answer.
fn other_files(served: &ServedSkill) -> Vec<ResourceContents> {
    let mut remaining = served.max_answer();
    let mut contents = Vec::new();
    for listed in served.files.iter().filter(|listed| listed.path != served.file && listed.size <= served.max_file) {
        let Some(rest) = remaining.checked_sub(listed.size) else { continue };
        let uri = Address::File(served.skill.slug.clone(), listed.path.clone()).uri();
        if let Ok(content) = resource_of_file(served, &listed.path, &uri) {
            remaining = rest;
            contents.push(content);
        }
    }
    contents
}

fn is_markdown(path: &str) -> bool {
    Path::new(path).extension().is_some_and(|extension| extension.eq_ignore_ascii_case("md"))
}
