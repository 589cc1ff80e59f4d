//! Files of skills as resources of the protocol.

use base64::prelude::{BASE64_STANDARD, Engine};
use rmcp::model::{Resource, ResourceContents};

use super::directory::FoundPath;
use super::library::{Library, ServedSkill};
use super::uri::Address;
use super::{answer, catalogue};
use crate::text::relative_path::RelativePath;

const MARKDOWN: &str = "text/markdown";

/// The catalogue, every skill, and every file of every skill.
pub(super) fn all(library: &Library) -> Vec<Resource> {
    let catalogue = Resource::new(Address::All.uri(), "skills").with_description("The skills that there are");
    let mut resources = vec![catalogue.with_mime_type("application/xml")];
    for ServedSkill { skill, file: skill_file, files, .. } in &library.skills {
        let slug = &skill.slug;
        let whole = Resource::new(Address::Skill(slug.clone()).uri(), slug).with_description(&skill.description);
        resources.push(whole.with_title(&skill.name).with_mime_type(MARKDOWN));
        let others = Resource::new(Address::Files(slug.clone()).uri(), format!("{slug}/"));
        resources.push(others.with_description("All other files of this skill"));
        for file in files {
            let address = Address::File(slug.clone(), file.path.clone());
            let mut resource = Resource::new(address.uri(), format!("{slug}/{}", file.path)).with_size(file.size);
            if file.path == *skill_file {
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

/// What is read at a URI. An error reads as the end of a sentence that starts with the URI.
pub(super) fn read(library: &Library, uri: &str) -> Result<Vec<ResourceContents>, String> {
    let found = |name: &str| {
        library.skill(name).ok_or_else(|| {
            let known: Vec<&str> = library.skills.iter().map(|shelved| shelved.skill.slug.as_str()).collect();
            format!("names no skill that is here; known: {}", known.join(", "))
        })
    };
    match Address::parse(uri)? {
        Address::All => {
            let catalogue = ResourceContents::text(catalogue::catalogue(library), uri);
            Ok(vec![catalogue.with_mime_type("application/xml")])
        }
        Address::Skill(name) => {
            let shelved = found(&name)?;
            Ok(vec![file(shelved, shelved.file, uri)?])
        }
        Address::Files(name) => Ok(files(found(&name)?)),
        Address::File(name, path) => Ok(vec![file(found(&name)?, &path, uri)?]),
    }
}

/// Text, or base64 of a file that is none.
fn file(shelved: &ServedSkill, path: &str, uri: &str) -> Result<ResourceContents, String> {
    let relative = RelativePath::parse(path)?;
    let FoundPath::File(bytes) = shelved.find(&relative).map_err(|error| error.to_string())? else {
        return Err("is a directory; resources/list names its files".to_owned());
    };
    let Ok(text) = answer::text(&bytes) else {
        let blob = ResourceContents::blob(BASE64_STANDARD.encode(&bytes), uri);
        return Ok(blob.with_mime_type("application/octet-stream"));
    };
    let text = ResourceContents::text(text, uri);
    Ok(if is_markdown(path) { text.with_mime_type(MARKDOWN) } else { text })
}

/// All files of a skill but its SKILL.md, as far as they can be read and one answer holds them.
fn files(shelved: &ServedSkill) -> Vec<ResourceContents> {
    let mut left = shelved.max_answer();
    let mut contents = Vec::new();
    for listed in shelved.files.iter().filter(|listed| listed.path != shelved.file && listed.size <= shelved.max_file) {
        let Some(rest) = left.checked_sub(listed.size) else { continue };
        let uri = Address::File(shelved.skill.slug.clone(), listed.path.clone()).uri();
        if let Ok(content) = file(shelved, &listed.path, &uri) {
            left = rest;
            contents.push(content);
        }
    }
    contents
}

fn is_markdown(path: &str) -> bool {
    std::path::Path::new(path).extension().is_some_and(|extension| extension.eq_ignore_ascii_case("md"))
}
