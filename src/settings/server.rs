//! `[mcp]`: the MCP server of skills, the built-in one or the repository's own.

use std::collections::BTreeMap;
use std::ops::Range;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// The largest file that the built-in server hands out, in MiB.
const MOST_FILE_MB: u32 = 1024;

/// Which MCP server offers the skills, and how agents are to take it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct McpSettings {
    /// The repository's own, to be tested in place of the built-in one.
    pub own: Option<OwnServer>,
    /// How the built-in one serves.
    pub built_in: BuiltIn,
    /// Whether claude is to show the server's tools to its model from the start, also where it has the model search for
    /// tools, and to wait for the server before it begins.
    pub always_load: bool,
}

impl Default for McpSettings {
    fn default() -> Self {
        Self { own: None, built_in: BuiltIn::default(), always_load: true }
    }
}

/// How the built-in server serves.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BuiltIn {
    /// What the tool `skill` answers with.
    pub result: SkillResult,
    /// How urgently models are asked to load skills.
    pub wording: Wording,
    /// The largest file that is handed out, in MiB; `None` for a quarter of one.
    pub max_file_mb: Option<u32>,
}

/// What the tool `skill` answers with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SkillResult {
    /// The skill's folder, the body of its SKILL.md, and the list of its files.
    #[default]
    Body,
    /// The SKILL.md as it is.
    Raw,
}

/// How urgently models are asked to load skills.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Wording {
    /// When a skill fits.
    #[default]
    Mild,
    /// In the manner of the server skilljack: at once, before all else.
    Skilljack,
}

impl FromStr for SkillResult {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "body" => Ok(Self::Body),
            "raw" => Ok(Self::Raw),
            other => Err(format!("{other:?} is not a way to answer with a skill; expected \"body\" or \"raw\"")),
        }
    }
}

impl FromStr for Wording {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "mild" => Ok(Self::Mild),
            "skilljack" => Ok(Self::Skilljack),
            other => Err(format!("{other:?} is not a wording; expected \"mild\" or \"skilljack\"")),
        }
    }
}

impl BuiltIn {
    /// The largest file that is handed out, in bytes.
    pub fn max_file(&self) -> u64 {
        self.max_file_mb.map_or(256 * 1024, |mb| u64::from(mb) * 1024 * 1024)
    }

    /// As the variables have it that [`Self::chosen`] names.
    pub fn from_env(get: impl Fn(&str) -> Option<String>) -> Result<Self, String> {
        fn read<T: Default>(
            (name, value): (&str, Option<String>),
            read: impl Fn(&str) -> Result<T, String>,
        ) -> Result<T, String> {
            let value = value.filter(|value| !value.is_empty());
            value.map_or_else(|| Ok(T::default()), |value| read(&value).map_err(|why| format!("{name}: {why}")))
        }
        let variable = |name| (name, get(name));
        Ok(Self {
            result: read(variable(RESULT), str::parse)?,
            wording: read(variable(WORDING), str::parse)?,
            max_file_mb: read(variable(MAX_FILE), |text| {
                let mb = text.parse().map_err(|_| format!("{text:?} is not a whole number"))?;
                Self::check_file_mb(mb).map(Some).map_err(|why| format!("it {why}"))
            })?,
        })
    }

    /// What is not as it is built in: the key in the settings, the variable that says it to the server, the value.
    pub fn chosen(&self) -> Vec<(&'static str, &'static str, String)> {
        let raw = (self.result == SkillResult::Raw).then(|| ("result", RESULT, "raw".to_owned()));
        let urgent = (self.wording == Wording::Skilljack).then(|| ("wording", WORDING, "skilljack".to_owned()));
        let max_file = self.max_file_mb.map(|mb| ("max_file_mb", MAX_FILE, mb.to_string()));
        [raw, urgent, max_file].into_iter().flatten().collect()
    }

    /// The limit, where it is one.
    pub fn check_file_mb(mb: i64) -> Result<u32, String> {
        let read = u32::try_from(mb).ok().filter(|mb| (1..=MOST_FILE_MB).contains(mb));
        read.ok_or_else(|| format!("is {mb}; expected 1 to {MOST_FILE_MB}"))
    }
}

/// How skilljack calls its limit.
const MAX_FILE: &str = "MAX_FILE_SIZE_MB";
const RESULT: &str = "SKILLS_RESULT";
const WORDING: &str = "SKILLS_WORDING";

/// An MCP server of skills that the repository brings along.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OwnServer {
    /// The program: on the PATH, or from the repository's root where it has a `/`.
    pub command: String,
    /// Its arguments; `{skills}` stands for the folder with the skills, `{root}` for the repository's root.
    pub args: Vec<String>,
    /// Its environment beside the agent's, with the same placeholders.
    pub env: BTreeMap<String, String>,
    /// What it and its tools are called.
    pub names: ToolNames,
}

/// How the MCP server of skills is called, and its tools.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolNames {
    /// The server.
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
    /// The skill tool as the model sees it.
    pub fn skill_tool(&self) -> String {
        format!("mcp__{}__{}", self.server, self.skill)
    }

    /// The resource tool as the model sees it.
    pub fn resource_tool(&self) -> String {
        format!("mcp__{}__{}", self.server, self.resource)
    }
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct McpTable {
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
    /// What the table, which stands at `place`, says; hands every wrong value to `wrong`.
    pub(super) fn read(self, place: Range<usize>, mut wrong: impl FnMut(Range<usize>, String)) -> McpSettings {
        let built_in = self.built_in(&mut wrong);
        let always_load = self.always_load.unwrap_or(true);
        let is_named = [&self.name, &self.tool, &self.resource_tool].into_iter().any(Option::is_some);
        let Some(command) = self.command else {
            if is_named || !self.args.is_empty() || !self.env.is_empty() {
                let only = "`result`, `wording`, `max_file_mb` and `always_load`";
                wrong(place, format!("`command` is missing: of the built-in server only {only} can be chosen"));
            }
            return McpSettings { own: None, built_in, always_load };
        };
        let mut names = ToolNames::default();
        let given = [self.name, self.tool, self.resource_tool];
        for (given, name) in given.into_iter().zip([&mut names.server, &mut names.skill, &mut names.resource]) {
            let Some(given) = given else { continue };
            if !is_tool_name(given.get_ref()) {
                let expected = "is not a name for a server or tool: use letters, digits, `-` and `_`";
                wrong(given.span(), format!("{:?} {expected}", given.get_ref()));
            }
            *name = given.into_inner();
        }
        let own = OwnServer { command, args: self.args, env: self.env, names };
        McpSettings { own: Some(own), built_in, always_load }
    }

    fn built_in(&self, wrong: &mut impl FnMut(Range<usize>, String)) -> BuiltIn {
        let spans = [self.result.as_ref().map(toml::Spanned::span), self.wording.as_ref().map(toml::Spanned::span)];
        let spans = spans.into_iter().chain([self.max_file_mb.as_ref().map(toml::Spanned::span)]).flatten();
        for span in spans.filter(|_| self.command.is_some()) {
            wrong(span, "this is said to the built-in server, and `command` starts another".to_owned());
        }
        BuiltIn {
            result: value(self.result.as_ref(), wrong, |text| text.parse()),
            wording: value(self.wording.as_ref(), wrong, |text| text.parse()),
            max_file_mb: value(self.max_file_mb.as_ref(), wrong, |mb| {
                BuiltIn::check_file_mb(*mb).map(Some).map_err(|why| format!("`max_file_mb` {why}"))
            }),
        }
    }
}

/// What `read` makes of a value; the default where there is none, or a wrong one.
fn value<T, R: Default>(
    given: Option<&toml::Spanned<T>>,
    wrong: &mut impl FnMut(Range<usize>, String),
    read: impl Fn(&T) -> Result<R, String>,
) -> R {
    let Some(given) = given else { return R::default() };
    read(given.get_ref()).unwrap_or_else(|why| {
        wrong(given.span(), why);
        R::default()
    })
}

/// Agents put a server's and a tool's name together and write other characters their own way.
fn is_tool_name(name: &str) -> bool {
    !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_')
}
