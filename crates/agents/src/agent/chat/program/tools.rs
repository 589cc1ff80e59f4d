//! The tools of the model.

use std::fmt::Write as _;
use std::fs;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Component, Path, PathBuf};
use std::time::Duration;

use serde_json::{Map, Value, json};

use super::conversation::{ChatCall, ToolResult};
use crate::files::{bounded, look};
use crate::mcp::NotAnswered;
use crate::process::run_to_end;
use crate::skill::{SKILL_FILE, SkillFile};

/// The longest output that the model gets, in bytes. Of a longer one it gets the start and the end.
const MAX_OUTPUT: usize = 30_000;

/// The largest file that is read, in bytes.
const MAX_READ: u64 = 256 * 1024;

/// How long a shell command may take.
const PATIENCE: Duration = Duration::from_secs(120);

/// A tool: its inputs with what they are, and the values that are possible if they are few. All inputs are texts.
pub(super) struct Tool {
    pub name: &'static str,
    pub about: &'static str,
    pub properties: Vec<(&'static str, &'static str, Vec<String>)>,
}

impl Tool {
    pub(super) fn schema(&self) -> Value {
        let mut properties = Map::new();
        for (name, about, values) in &self.properties {
            let mut property = json!({ "type": "string", "description": about });
            if !values.is_empty() {
                property["enum"] = json!(values);
            }
            properties.insert((*name).to_owned(), property);
        }
        let required: Vec<&str> = self.properties.iter().map(|(name, ..)| *name).collect();
        json!({ "type": "object", "properties": properties, "required": required, "additionalProperties": false })
    }
}

/// The tools that the model is offered.
pub(super) fn offered(skills: &[LoadableSkill], writes: bool) -> Vec<Tool> {
    let path = || ("path", "path of the file, from the workspace", Vec::new());
    let names: Vec<String> = skills.iter().map(|skill| skill.name.clone()).collect();
    let skill = (!names.is_empty()).then(|| Tool {
        name: "skill",
        about: "Load the instructions of a skill",
        properties: vec![("name", "name of the skill", names)],
    });
    let write = writes.then(|| Tool {
        name: "write_file",
        about: "Write a text file, and its directory if it is missing",
        properties: vec![path(), ("content", "the whole text of the file", Vec::new())],
    });
    let read = Tool { name: "read_file", about: "Read a text file", properties: vec![path()] };
    let shell = Tool {
        name: "bash",
        about: "Run a shell command in the workspace and return what it prints",
        properties: vec![("command", "the command", Vec::new())],
    };
    skill.into_iter().chain([read]).chain(write).chain([shell]).collect()
}

/// Runs a call of one of these tools. Whatever the model wrote, it gets a result.
pub(super) fn run(call: &ChatCall, tools: &[Tool]) -> ToolResult {
    let done = called(call, tools);
    let (output, failed, exit_code) = match done {
        Ok((output, exit_code)) => (output, exit_code.is_some_and(|code| code != 0), exit_code),
        Err(why) => (format!("error: {why}"), true, None),
    };
    ToolResult { id: call.id.clone(), output, failed, exit_code }
}

/// The output, and the exit code of a shell command.
fn called(call: &ChatCall, tools: &[Tool]) -> Result<(String, Option<i32>), NotAnswered> {
    let names: Vec<&str> = tools.iter().map(|tool| tool.name).collect();
    if !names.contains(&call.tool.as_str()) {
        return Err(format!("unknown tool `{}`; there are {}", call.tool, names.join(", ")).into());
    }
    let input = call.input.as_ref().map_err(|(why, _)| why.as_str())?;
    let text = |key: &str| {
        let value = input.get(key).and_then(Value::as_str);
        value.ok_or_else(|| format!("the input has no text `{key}`"))
    };
    match call.tool.as_str() {
        "skill" => load_skill(text("name")?).map(|text| (text, None)),
        "read_file" => read_file(text("path")?).map(|text| (text, None)),
        "write_file" => write_file(text("path")?, text("content")?).map(|text| (text, None)),
        _ => Ok(shell(text("command")?)?),
    }
}

fn load_skill(name: &str) -> Result<String, NotAnswered> {
    let all = found_skills();
    let skill = all.iter().find(|skill| skill.name == name);
    skill.map(LoadableSkill::content).ok_or_else(|| {
        let names: Vec<&str> = all.iter().map(|skill| skill.name.as_str()).collect();
        format!("unknown skill `{name}`; there are {}", names.join(", ")).into()
    })
}

fn read_file(path: &str) -> Result<String, NotAnswered> {
    let skills = Path::new(SKILLS_DIRECTORY).canonicalize();
    let path = allowed(path, &skills.into_iter().collect::<Vec<_>>())?;
    let bytes = bounded::read_at_most(&path, MAX_READ)?;
    Ok(shortened(&String::from_utf8_lossy(&bytes)))
}

fn write_file(path: &str, content: &str) -> Result<String, NotAnswered> {
    let target = allowed(path, &[])?;
    // Opening a named pipe would wait for a reader.
    if look::is_usable(&target) && !look::is_usable_file(&target) {
        return Err(format!("{path} is not a regular file").into());
    }
    let directory = target.parent().map_or(Ok(()), fs::create_dir_all);
    directory.and_then(|()| fs::write(&target, content))?;
    Ok(format!("wrote {} bytes to {path}", content.len()))
}

/// The path without links, if it is in the workspace, in the directory for temporary files, or in one of `more`. Shell
/// commands are kept only by the sandbox; this keeps a mistaken path from other files where there is none.
fn allowed(path: &str, more: &[PathBuf]) -> Result<PathBuf, NotAnswered> {
    let outside = || NotAnswered(format!("{path} is outside the workspace"));
    let workspace = Path::new(".").canonicalize()?;
    let mut real = workspace.join(path);
    let mut missing = PathBuf::new();
    while real.symlink_metadata().is_err() {
        let last = real.components().next_back();
        let Some(Component::Normal(name)) = last else { return Err(outside()) };
        missing = if missing.as_os_str().is_empty() { name.into() } else { Path::new(name).join(missing) };
        real.pop();
    }
    let mut real = real.canonicalize().map_err(|error| format!("{path}: {error}"))?;
    let temporary = std::env::temp_dir().canonicalize();
    let is_inside = std::iter::once(&workspace).chain(&temporary).chain(more).any(|root| real.starts_with(root));
    if !missing.as_os_str().is_empty() {
        real.push(missing);
    }
    is_inside.then_some(real).ok_or_else(outside)
}

fn shell(command: &str) -> io::Result<(String, Option<i32>)> {
    // Not a pipe: a process in the background would keep it open.
    let mut output = tempfile::tempfile()?;
    let status = run_to_end::shell(command, &output, PATIENCE)?;
    let mut text = printed(&mut output)?;
    let Some(code) = status else {
        return Err(io::Error::other(format!("killed after {} s. It printed:\n{text}", PATIENCE.as_secs())));
    };
    if code != 0 {
        let _ = write!(text, "\n[exit code {code}]");
    }
    Ok((text, Some(code)))
}

/// The start and the end of what a command printed.
fn printed(output: &mut fs::File) -> io::Result<String> {
    let size = output.metadata()?.len();
    let half = MAX_OUTPUT as u64 / 2;
    let mut part = |from: u64, bytes: u64| -> io::Result<String> {
        let mut read = Vec::new();
        output.seek(SeekFrom::Start(from))?;
        Read::take(&mut *output, bytes).read_to_end(&mut read)?;
        Ok(String::from_utf8_lossy(&read).into_owned())
    };
    if size <= 2 * half {
        return part(0, size);
    }
    Ok(format!("{}\n[… {} bytes …]\n{}", part(0, half)?, size - 2 * half, part(size - half, half)?))
}

fn shortened(text: &str) -> String {
    let half = MAX_OUTPUT / 2;
    if text.len() <= 2 * half {
        return text.to_owned();
    }
    let part = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let (start, rest) = text.as_bytes().split_at(half);
    let (left_out, end) = rest.split_at(rest.len() - half);
    format!("{}\n[… {} bytes …]\n{}", part(start), left_out.len(), part(end))
}

// The skills in the workspace, and the text that loads one.

/// The directory of the skills, from the workspace.
const SKILLS_DIRECTORY: &str = ".agents/skills";

/// The most files of a skill that are listed.
const MOST_FILES: usize = 100;

/// A skill that the model can load.
pub(super) struct LoadableSkill {
    pub name: String,
    pub description: String,
    folder: PathBuf,
    body: String,
}

/// The skills that are there now, by the names of their directories.
pub(super) fn found_skills() -> Vec<LoadableSkill> {
    let entries = look::usable_entries(Path::new(SKILLS_DIRECTORY));
    entries.into_iter().filter_map(|entry| read_skill(entry.into_path())).collect()
}

fn read_skill(folder: PathBuf) -> Option<LoadableSkill> {
    let bytes = bounded::read(&folder.join(SKILL_FILE)).ok()?;
    let SkillFile { skill, body, .. } = SkillFile::parse(&folder, &bytes);
    let body = String::from_utf8_lossy(&bytes).get(body).unwrap_or_default().to_owned();
    let is_whole = !skill.description.is_empty();
    is_whole.then_some(LoadableSkill { name: skill.name, description: skill.description, folder, body })
}

impl LoadableSkill {
    pub(super) fn location(&self) -> PathBuf {
        self.folder.join(SKILL_FILE)
    }

    /// What the tool for skills returns: the body, the directory, and the names of the other files.
    pub(super) fn content(&self) -> String {
        let Self { name, folder, body, .. } = self;
        let directory = folder.display();
        let mut text = format!(
            "<skill_content name=\"{name}\">\n{}\n\nSkill directory: {directory}\nPaths in this skill are relative to it.\n",
            body.trim()
        );
        let mut files = Vec::new();
        let unread = look::Walk::new(folder).max_depth(4).each(|entry| {
            if entry.file_type().is_file() && entry.path() != self.location() {
                let path = entry.path().strip_prefix(folder).unwrap_or(entry.path());
                files.push(path.display().to_string());
            }
            if files.len() == MOST_FILES { look::WalkStep::Stop } else { look::WalkStep::Into }
        });
        for file in files {
            let _ = writeln!(text, "<file>{file}</file>");
        }
        unread.report(|error| _ = writeln!(text, "<unreadable>{error}</unreadable>"));
        text + "</skill_content>"
    }
}
