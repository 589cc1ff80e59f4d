//! The skills extension of the protocol (SEP-2640): what each skill is, with the digests of all its files. The files are read
//! with the resources of the protocol.

use rmcp::model::{
    CacheScope, DIRECTORY_MIME_TYPE, GetSkillResult, ListSkillsResult, ReadResourceDirectoryResult, Resource, Skill,
    SkillFrontmatter, SkillResource, SkillResources,
};
use serde_json::{Map, Value};

use super::directory::FileContent;
use super::library::{Library, ServedSkill};
use super::resources;
use super::uri::Address;
use crate::skill::{SKILL_FILE, SkillFile};

/// What every client has to accept: the files of a skill, and their bytes together.
const MAX_FILES: usize = 512;
const MAX_BYTES: u64 = 16 * 1024 * 1024;

/// Files may change at any moment, so clients ask again.
const TTL_MS: u64 = 0;

/// All skills that the extension can describe.
pub(super) fn list(library: &Library) -> ListSkillsResult {
    let skills = library.skills.iter().filter_map(|served| entry(served).ok()).collect();
    let mut list = ListSkillsResult::with_all_items(skills);
    (list.ttl_ms, list.cache_scope) = (Some(TTL_MS), Some(CacheScope::Private));
    list
}

/// The skill whose SKILL.md is at a URI.
pub(super) fn get(library: &Library, uri: &str) -> Result<GetSkillResult, String> {
    let served = library.skills.iter().find(|served| uri_of(served, SKILL_FILE) == uri);
    let skill = entry(served.ok_or_else(|| format!("no skill is served at {}", uri.escape_debug()))?)?;
    Ok(GetSkillResult::new(skill).with_ttl_ms(TTL_MS).with_cache_scope(CacheScope::Private))
}

/// The files and directories in the directory at a URI.
pub(super) fn read_directory(library: &Library, uri: &str) -> Result<ReadResourceDirectoryResult, String> {
    let not_a_directory = || format!("{} is not a directory of a skill", uri.escape_debug());
    let (name, path) = match Address::parse(uri) {
        Ok(Address::Skill(name)) => (name, String::new()),
        Ok(Address::File(name, path)) => (name, format!("{path}/")),
        _ => return Err(not_a_directory()),
    };
    let served = library.skill(&name).ok_or_else(not_a_directory)?;
    let mut children: Vec<Resource> = Vec::new();
    for file in &served.files {
        let Some(rest) = file.path.strip_prefix(&path) else { continue };
        let child = match rest.split_once('/') {
            None => resources::listed(served, file),
            Some((directory, _)) => {
                let uri = uri_of(served, &format!("{path}{directory}"));
                if children.iter().any(|child| child.uri == uri) {
                    continue;
                }
                Resource::new(uri, directory).with_mime_type(DIRECTORY_MIME_TYPE)
            }
        };
        children.push(child);
    }
    if children.is_empty() { Err(not_a_directory()) } else { Ok(ReadResourceDirectoryResult::with_all_items(children)) }
}

/// What the extension says about a skill. The error is the reason why it cannot describe it.
fn entry(served: &ServedSkill) -> Result<Skill, String> {
    let name = &served.skill.name;
    let mut remaining = MAX_BYTES;
    let mut read = |path: &str| match served.read_up_to(path, remaining) {
        Ok(FileContent::File(bytes)) => {
            remaining -= bytes.len() as u64;
            Ok((SkillResource::from_bytes(uri_of(served, path), &bytes), bytes))
        }
        Ok(FileContent::Directory) => Err(format!("{path} of the skill `{name}` is a directory")),
        Err(error) => Err(format!("{path} of the skill `{name}` {error}")),
    };
    // A SKILL.md that is a link is not among the listed files.
    let (skill_file, bytes) = read(SKILL_FILE)?;
    let front = front_matter(served, &bytes).filter(|front| is_name(&front.name)).ok_or_else(|| {
        format!("the front matter of the skill `{name}` needs a `description`, and a `name` in lower case with hyphens")
    })?;
    let mut files = vec![skill_file];
    for file in served.files.iter().filter(|file| file.path != SKILL_FILE) {
        files.push(read(&file.path)?.0);
    }
    if files.len() > MAX_FILES {
        return Err(format!("the skill `{name}` has more than {MAX_FILES} files"));
    }
    Ok(Skill::new(uri_of(served, SKILL_FILE), front, SkillResources::Files(files)))
}

/// The front matter of a SKILL.md, as it is; `None` if it lacks what every skill has.
fn front_matter(served: &ServedSkill, bytes: &[u8]) -> Option<SkillFrontmatter> {
    let file = SkillFile::parse(&served.skill.folder, bytes);
    let fields: Map<String, Value> = file.entries.iter().map(|entry| (entry.key.clone(), entry.value.json())).collect();
    let front: SkillFrontmatter = serde_json::from_value(fields.into()).ok()?;
    (file.problems.is_empty() && !front.description.is_empty()).then_some(front)
}

/// Whether every client accepts a name: it is the same as its slug then.
fn is_name(name: &str) -> bool {
    let known = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    name.len() <= 64 && name.chars().all(known) && name.split('-').all(|part| !part.is_empty())
}

fn uri_of(served: &ServedSkill, path: &str) -> String {
    Address::File(served.skill.slug.clone(), path.to_owned()).uri()
}
