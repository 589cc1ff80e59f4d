//! Files of skills as resources of the protocol.

use base64::prelude::{BASE64_STANDARD, Engine};
use rmcp::model::{Resource, ResourceContents};

use super::folder::Found;
use super::library::{Library, Shelved};
use super::{answer, uri};
use crate::cases::skill::SKILL_FILE;
use crate::text::relative_path::RelativePath;

const MARKDOWN: &str = "text/markdown";

/// Every file of every skill.
pub(super) fn all(library: &Library) -> Vec<Resource> {
    let mut resources = Vec::new();
    for Shelved { skill, files, .. } in &library.skills {
        for file in files {
            let name = format!("{}/{}", skill.slug, file.path);
            let mut resource = Resource::new(uri::of(&skill.slug, &file.path), name).with_size(file.size);
            if file.path == SKILL_FILE {
                resource = resource.with_description(&skill.description);
            }
            if is_markdown(&file.path) {
                resource = resource.with_mime_type(MARKDOWN);
            }
            resources.push(resource);
        }
    }
    resources
}

/// The content at a URI: text, or base64 of a file that is none. An error reads as the end of a sentence that starts
/// with the URI.
pub(super) fn read(library: &Library, uri: &str) -> Result<ResourceContents, String> {
    let (slug, path) = uri::parse(uri)?;
    let shelved = library.skills.iter().find(|shelved| shelved.skill.slug == slug);
    let shelved = shelved.ok_or_else(|| {
        let known: Vec<&str> = library.skills.iter().map(|shelved| shelved.skill.slug.as_str()).collect();
        format!("names no skill that is here; known: {}", known.join(", "))
    })?;
    let relative = RelativePath::parse(&path)?;
    let Found::File(bytes) = shelved.find(&relative).map_err(|error| error.to_string())? else {
        return Err("is a folder; resources/list names the files below it".to_owned());
    };
    let Ok(text) = answer::text(&bytes) else {
        let blob = ResourceContents::blob(BASE64_STANDARD.encode(&bytes), uri);
        return Ok(blob.with_mime_type("application/octet-stream"));
    };
    let text = ResourceContents::text(text, uri);
    Ok(if is_markdown(&path) { text.with_mime_type(MARKDOWN) } else { text })
}

fn is_markdown(path: &str) -> bool {
    std::path::Path::new(path).extension().is_some_and(|extension| extension.eq_ignore_ascii_case("md"))
}
