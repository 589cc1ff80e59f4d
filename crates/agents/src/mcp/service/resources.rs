//! Files of skills as resources of the protocol.

use std::path::Path;

use base64::prelude::{BASE64_STANDARD, Engine};
use rmcp::model::{Resource, ResourceContents};

use super::directory::{FileContent, ListedFile};
use super::library::{Library, ServedSkill};
use super::uri::Address;
use super::{answer, skill_list};

const MARKDOWN: &str = "text/markdown";

/// The skill list, every skill, and every file of every skill.
pub(super) fn all(library: &Library) -> Vec<Resource> {
    let list = Resource::new(Address::All.uri(), "skills").with_description("The skills that there are");
    let mut resources = vec![list.with_mime_type("application/xml")];
    for served in &library.skills {
        let (skill, slug) = (&served.skill, &served.skill.slug);
        let whole = Resource::new(Address::Skill(slug.clone()).uri(), slug).with_description(&skill.description);
        resources.push(whole.with_title(&skill.name).with_mime_type(MARKDOWN));
        let others = Resource::new(Address::Files(slug.clone()).uri(), format!("{slug}/"));
        resources.push(others.with_description("All other files of this skill"));
        resources.extend(served.files.iter().map(|file| listed(served, file)));
    }
    resources
}

/// A file of a skill as lists have it.
pub(super) fn listed(served: &ServedSkill, file: &ListedFile) -> Resource {
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
pub(super) fn read(library: &Library, uri: &str) -> Result<Vec<ResourceContents>, String> {
    let skill = |name: &str| {
        library.skill(name).ok_or_else(|| {
            let known: Vec<&str> = library.skills.iter().map(|served| served.skill.slug.as_str()).collect();
            format!("names no skill that is here; known: {}", known.join(", "))
        })
    };
    match Address::parse(uri)? {
        Address::All => {
            let list = ResourceContents::text(skill_list::skill_list(library), uri);
            Ok(vec![list.with_mime_type("application/xml")])
        }
        Address::Skill(name) => {
            let served = skill(&name)?;
            Ok(vec![file(served, served.file, uri)?])
        }
        Address::Files(name) => Ok(other_files(skill(&name)?)),
        Address::File(name, path) => Ok(vec![file(skill(&name)?, &path, uri)?]),
    }
}

/// A file as text, or as base64 if it is binary.
fn file(served: &ServedSkill, path: &str, uri: &str) -> Result<ResourceContents, String> {
    let FileContent::File(bytes) = served.read(path).map_err(|error| error.to_string())? else {
        return Err("is a directory; resources/list names its files".to_owned());
    };
    let Ok(text) = answer::text(&bytes) else {
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
        if let Ok(content) = file(served, &listed.path, &uri) {
            remaining = rest;
            contents.push(content);
        }
    }
    contents
}

fn is_markdown(path: &str) -> bool {
    Path::new(path).extension().is_some_and(|extension| extension.eq_ignore_ascii_case("md"))
}
