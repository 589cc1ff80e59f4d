//! `[mcp]`: the MCP server of skills, the built-in one or the repository's own.

use std::collections::BTreeMap;
use std::ops::Range;

use serde::{Deserialize, Serialize};
use toml::Spanned;

use crate::settings::Settings;
use crate::settings::keys::Untrusted::Refused;
use crate::settings::keys::{defaults, keys};
use crate::settings::problems::{Problems, filled};
use crate::text::word_enum::word_enum;

/// The largest limit on files of the built-in server, in MiB.
const MOST_FILE_MB: u64 = 1024;

/// The variables that configure the built-in server. skilljack has the first too.
const MAX_FILE: &str = "MAX_FILE_SIZE_MB";
const RESULT: &str = "SKILLS_RESULT";
const WORDING: &str = "SKILLS_WORDING";

defaults! {
    /// Which MCP server offers the skills, and how agents load it.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct McpSettings {
        /// The repository's own server, which is tested instead of the built-in one.
        pub own: Option<OwnServer> = None,
        /// The configuration of the built-in server.
        pub built_in: BuiltIn = BuiltIn::default(),
        /// Whether claude waits for the server and shows its tools to the model from the start, even if the model searches for
        /// other tools.
        pub always_load: bool = true,
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
                _ => match value.parse::<i64>().map(|mb| (mb, u32::try_from(mb).unwrap_or_default())) {
                    Ok((_, mb)) if (1..=MOST_FILE_MB).contains(&mb.into()) => {
                        built_in.max_file_mb = Some(mb);
                        Ok(())
                    }
                    Ok((mb, _)) => Err(format!("it is {mb}; expected 1 to {MOST_FILE_MB}")),
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

keys! {
    McpKeys of "[mcp]" {
        #[serde(default, deserialize_with = "filled")]
        command: String as Refused("the sandbox would show the paths in the arguments and variables of this server"), "the built-in server", "your own server: see [the MCP server](mcp.md)";
        args: Vec<String>, "none", "its arguments; `{skills}` is the directory with the skills";
        env: BTreeMap<String, String>, "none", "its variables";
        name: Spanned<String>, "`skilljack`", "the name by which agents know it";
        tool: Spanned<String>, "`skill`", "its tool that loads a skill";
        resource_tool: Spanned<String>, "`skill-resource`", "its tool that reads a file of a skill";
        result: Spanned<String>, "`\"body\"`", "how the built-in server returns a skill; `\"raw\"` is the unchanged SKILL.md",
            |to, result, problems| to.mcp.built_in.result = problems.parsed(&result).unwrap_or_default();
        wording: Spanned<String>, "`\"mild\"`", "how urgently it asks to load a skill; or `\"skilljack\"`",
            |to, wording, problems| to.mcp.built_in.wording = problems.parsed(&wording).unwrap_or_default();
        max_file_mb: Spanned<i64>, "0.25", "the largest file that it serves, in MiB",
            |to, size, problems| to.mcp.built_in.max_file_mb = problems.number("max_file_mb", &size, 1..=MOST_FILE_MB);
        always_load: bool, "`true`", "whether agents that search for tools have these from the start", |to, flag, _| to.mcp.always_load = flag;
    }
}

impl Settings {
    /// Applies the table, which is at `range`.
    pub(super) fn apply_mcp(&mut self, range: Range<usize>, mut table: McpKeys, problems: &mut Problems<'_>) {
        let texts = [&table.result, &table.wording].into_iter().flatten().map(Spanned::span);
        for range in texts.chain(table.max_file_mb.as_ref().map(Spanned::span)).filter(|_| table.command.is_some()) {
            problems.add(range, "this is said to the built-in server, and `command` starts another".to_owned());
        }
        table.apply(self, problems);
        let McpKeys { command, args, env, name, tool, resource_tool, .. } = table;
        let (written, (args, env)) = ([name, tool, resource_tool], (args.unwrap_or_default(), env.unwrap_or_default()));
        let Some(command) = command else {
            if written.iter().any(Option::is_some) || !args.is_empty() || !env.is_empty() {
                let only = "`result`, `wording`, `max_file_mb` and `always_load`";
                problems.add(range, format!("`command` is missing: of the built-in server only {only} can be chosen"));
            }
            return;
        };
        let mut names = ToolNames::default();
        for (written, name) in written.into_iter().zip([&mut names.server, &mut names.skill, &mut names.resource]) {
            let Some(written) = written else { continue };
            if !is_tool_name(written.get_ref()) {
                let expected = "is not a name for a server or tool: use letters, digits, `-` and `_`";
                problems.add(written.span(), format!("{:?} {expected}", written.get_ref()));
            }
            *name = written.into_inner();
        }
        self.mcp.own = Some(OwnServer { command, args, env, names });
    }
}

/// Agents join the names of a server and a tool, and replace other characters in their own ways.
fn is_tool_name(name: &str) -> bool {
    !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_')
}
