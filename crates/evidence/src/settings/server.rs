//! `[mcp]`: the MCP server of skills, the built-in one or the repository's own.

use std::collections::BTreeMap;
use std::ops::Range;

use serde::{Deserialize, Serialize};

use crate::settings::problems::{Problems, filled};
use crate::text::word_enum::word_enum;

/// The largest limit on files of the built-in server, in MiB.
const MOST_FILE_MB: u32 = 1024;

/// The variables that configure the built-in server. skilljack has the first too.
const MAX_FILE: &str = "MAX_FILE_SIZE_MB";
const RESULT: &str = "SKILLS_RESULT";
const WORDING: &str = "SKILLS_WORDING";

/// Which MCP server offers the skills, and how agents load it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct McpSettings {
    /// The repository's own server, which is tested instead of the built-in one.
    pub own: Option<OwnServer>,
    /// The configuration of the built-in server.
    pub built_in: BuiltIn,
    /// Whether claude waits for the server and shows its tools to the model from the start, even if the model searches for
    /// other tools.
    pub always_load: bool,
}

impl Default for McpSettings {
    fn default() -> Self {
        Self { own: None, built_in: BuiltIn::default(), always_load: true }
    }
}

/// The configuration of the built-in server.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BuiltIn {
    /// The answer of the tool `skill`.
    pub result: SkillResult,
    /// How urgently models are asked to load skills.
    pub wording: Wording,
    /// The size of the largest file that is served, in MiB; `None` for a quarter of one.
    pub max_file_mb: Option<u32>,
}

word_enum! {
    /// The answer of the tool `skill`.
    #[derive(Default)]
    pub enum SkillResult {
        /// The skill's directory, the body of its SKILL.md, and the list of its files.
        #[default]
        Body = "body",
        /// The whole SKILL.md.
        Raw = "raw",
    }
}

word_enum! {
    /// How urgently models are asked to load skills.
    #[derive(Default)]
    pub enum Wording {
        /// When a skill fits.
        #[default]
        Mild = "mild",
        /// At once, before all else, as the server skilljack does.
        Skilljack = "skilljack",
    }
}

impl BuiltIn {
    /// The size of the largest file that is served, in bytes.
    pub fn max_file(&self) -> u64 {
        self.max_file_mb.map_or(256 * 1024, |mb| u64::from(mb) * 1024 * 1024)
    }

    /// The configuration by the variables that [`Self::chosen`] names. An error names the variable.
    pub fn from_env(get: impl Fn(&str) -> Option<String>) -> Result<Self, String> {
        let mut built_in = Self::default();
        for name in [RESULT, WORDING, MAX_FILE] {
            let Some(value) = get(name).filter(|value| !value.is_empty()) else { continue };
            let set = match name {
                RESULT => value.parse().map(|result| built_in.result = result),
                WORDING => value.parse().map(|wording| built_in.wording = wording),
                _ => match value.parse() {
                    Ok(mb) => {
                        check_file_mb(mb).map(|mb| built_in.max_file_mb = Some(mb)).map_err(|why| format!("it {why}"))
                    }
                    Err(_) => Err(format!("{value:?} is not a whole number")),
                },
            };
            set.map_err(|why| format!("{name}: {why}"))?;
        }
        Ok(built_in)
    }

    /// What differs from the defaults: the key in the settings, the variable of the server, and the value.
    pub fn chosen(&self) -> Vec<(&'static str, &'static str, String)> {
        let mut chosen = Vec::new();
        if self.result != SkillResult::default() {
            chosen.push(("result", RESULT, self.result.to_string()));
        }
        if self.wording != Wording::default() {
            chosen.push(("wording", WORDING, self.wording.to_string()));
        }
        chosen.extend(self.max_file_mb.map(|mb| ("max_file_mb", MAX_FILE, mb.to_string())));
        chosen
    }
}

/// The limit if it is valid; else the end of a sentence that starts with its name.
fn check_file_mb(mb: i64) -> Result<u32, String> {
    let limit = u32::try_from(mb).ok().filter(|mb| (1..=MOST_FILE_MB).contains(mb));
    limit.ok_or_else(|| format!("is {mb}; expected 1 to {MOST_FILE_MB}"))
}

/// An MCP server of skills that belongs to the repository.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OwnServer {
    /// The program: on the PATH, or from the repository's root if it has a `/`.
    pub command: String,
    /// Its arguments; `{skills}` stands for the directory of the skills, `{root}` for the repository's root.
    pub args: Vec<String>,
    /// Variables added to the agent's environment, with the same placeholders.
    pub env: BTreeMap<String, String>,
    pub names: ToolNames,
}

/// The names of the MCP server of skills and its tools.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolNames {
    pub server: String,
    /// The tool that loads a skill, by `name`.
    pub skill: String,
    /// The tool that reads files of a skill, by `skill` and `path`.
    pub resource: String,
}

impl Default for ToolNames {
    fn default() -> Self {
        Self { server: "skilljack".to_owned(), skill: "skill".to_owned(), resource: "skill-resource".to_owned() }
    }
}

impl ToolNames {
    pub fn skill_tool(&self) -> String {
        format!("mcp__{}__{}", self.server, self.skill)
    }

    pub fn resource_tool(&self) -> String {
        format!("mcp__{}__{}", self.server, self.resource)
    }
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct McpTable {
    #[serde(default, deserialize_with = "filled")]
    command: Option<String>,
    #[serde(default)]
    args: Vec<String>,
    #[serde(default)]
    env: BTreeMap<String, String>,
    name: Option<toml::Spanned<String>>,
    tool: Option<toml::Spanned<String>>,
    resource_tool: Option<toml::Spanned<String>>,
    result: Option<toml::Spanned<String>>,
    wording: Option<toml::Spanned<String>>,
    max_file_mb: Option<toml::Spanned<i64>>,
    always_load: Option<bool>,
}

impl McpTable {
    /// The settings by the table, which is at `range`.
    pub(super) fn settings(self, range: Range<usize>, problems: &mut Problems<'_>) -> McpSettings {
        let built_in = self.built_in(problems);
        let always_load = self.always_load.unwrap_or(true);
        let written_names = [self.name, self.tool, self.resource_tool];
        let Some(command) = self.command else {
            if written_names.iter().any(Option::is_some) || !self.args.is_empty() || !self.env.is_empty() {
                let only = "`result`, `wording`, `max_file_mb` and `always_load`";
                problems.add(range, format!("`command` is missing: of the built-in server only {only} can be chosen"));
            }
            return McpSettings { own: None, built_in, always_load };
        };
        let mut names = ToolNames::default();
        for (written, name) in written_names.into_iter().zip([&mut names.server, &mut names.skill, &mut names.resource])
        {
            let Some(written) = written else { continue };
            if !is_tool_name(written.get_ref()) {
                let expected = "is not a name for a server or tool: use letters, digits, `-` and `_`";
                problems.add(written.span(), format!("{:?} {expected}", written.get_ref()));
            }
            *name = written.into_inner();
        }
        let own = OwnServer { command, args: self.args, env: self.env, names };
        McpSettings { own: Some(own), built_in, always_load }
    }

    fn built_in(&self, problems: &mut Problems<'_>) -> BuiltIn {
        let Self { result, wording, max_file_mb, .. } = self;
        let texts = [result, wording].into_iter().flatten().map(toml::Spanned::span);
        for range in texts.chain(max_file_mb.as_ref().map(toml::Spanned::span)).filter(|_| self.command.is_some()) {
            problems.add(range, "this is said to the built-in server, and `command` starts another".to_owned());
        }
        BuiltIn {
            result: value(result.as_ref(), problems, |text| text.parse()),
            wording: value(wording.as_ref(), problems, |text| text.parse()),
            max_file_mb: value(max_file_mb.as_ref(), problems, |mb| {
                check_file_mb(*mb).map(Some).map_err(|why| format!("`max_file_mb` {why}"))
            }),
        }
    }
}

/// The parsed value; the default if there is none or it is invalid.
fn value<T, R: Default>(
    written: Option<&toml::Spanned<T>>,
    problems: &mut Problems<'_>,
    parse: impl Fn(&T) -> Result<R, String>,
) -> R {
    let Some(written) = written else { return R::default() };
    parse(written.get_ref()).unwrap_or_else(|why| {
        problems.add(written.span(), why);
        R::default()
    })
}

/// Agents join the names of a server and a tool, and replace other characters in their own ways.
fn is_tool_name(name: &str) -> bool {
    !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_')
}
