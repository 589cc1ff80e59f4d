//! What an agent's calls and their answers did to the skills, the same under every agent.
//!
//! Whether a skill or a resource came before the model is read from what was answered, where the skill's texts are
//! known; the call only says how. Of skills whose texts are not known, such as an agent's own, the call has to do.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use percent_encoding::percent_decode_str;
use serde_json::Value;

use crate::cases::case::ChangeKind;
use crate::cases::skill::{SKILL_FILE, slug};
use crate::trial::described::Described;
use crate::trial::evidence::ChangeMeta;
use crate::trial::exposure::{Exposure, Known, MAX_ANSWER, MOST, Reference, Sighting};
use crate::trial::trace::shell::{self, Purpose, Touch};
use crate::trial::trace::{Marked, Mechanism, Seen, Trace, excerpt};

/// The tools of agents that read a resource of an MCP server by its URI.
const RESOURCE_TOOLS: [&str; 2] = ["ReadMcpResourceTool", "read_mcp_resource"];

/// The tools with which agents have their models search for tools.
const TOOL_SEARCHES: [&str; 2] = ["ToolSearch", "tool_search"];

/// The tools of agents that list what MCP servers have.
const MCP_LISTS: [&str; 3] = ["ListMcpResourcesTool", "list_mcp_resources", "list_mcp_resource_templates"];

/// How reading a SKILL.md by a command counts under an agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reading {
    /// It is how a skill becomes active, where the agent offered the skill so.
    Activates,
    /// There is a tool for that; reading the file is a look.
    Looks,
}

/// Reads calls and answers.
#[derive(Debug)]
pub(super) struct SkillCalls<'a> {
    reference: &'a Reference,
    exposure: Exposure<'a>,
    reading: Reading,
    /// The changes in mid-session that the agent told.
    told: BTreeSet<usize>,
}

impl<'a> SkillCalls<'a> {
    pub(super) fn new(reference: &'a Reference, reading: Reading) -> Self {
        Self { reference, exposure: Exposure::new(&reference.texts), reading, told: BTreeSet::new() }
    }

    /// How much the model was shown of the skills' descriptions, by a list with these texts beside these names.
    pub(super) fn listed<'t>(
        &mut self,
        entries: impl Iterator<Item = (&'t str, &'t str)>,
    ) -> BTreeMap<String, Described> {
        let texts = &self.reference.texts;
        let known = entries.map(|(name, shown)| (slug(name), shown)).filter(|(own, _)| texts.knows(own));
        known
            .map(|(own, shown)| {
                self.told.extend(made(&self.exposure, texts.changes_in_list(&own, shown)));
                let described = texts.in_list(&own, shown);
                (own, described)
            })
            .collect()
    }

    /// The skills whose descriptions the model was shown by what this MCP server told it.
    pub(super) fn told_by(&mut self, server: &str, text: &str) -> Vec<String> {
        if server != self.reference.names.server {
            return Vec::new();
        }
        self.told.extend(made(&self.exposure, self.reference.texts.changes_in(text)));
        self.reference.texts.described_in(text)
    }

    /// The model wrote this: a command, the input of a call, a message.
    pub(super) fn wrote(&mut self, text: &str) {
        self.exposure.wrote(text);
    }

    /// A shell command has ended; without an exit status it was not seen to end.
    pub(super) fn command(&mut self, trace: &mut Trace, command: &str, exit_code: Option<i64>, output: &str) {
        self.looked(trace, command, command, exit_code, output);
    }

    /// A tool of the agent's own read a file; `evidence` says so in its words.
    pub(super) fn file(&mut self, trace: &mut Trace, path: &str, evidence: &str, failed: bool, output: &str) {
        self.looked(trace, &format!("cat '{path}'"), evidence, Some(i64::from(failed)), output);
    }

    /// What a shell command, or what counts as one, showed of the skills.
    fn looked(&mut self, trace: &mut Trace, command: &str, evidence: &str, exit_code: Option<i64>, output: &str) {
        if shell::is_search(command) {
            return self.searched(trace, shell::asks_for_skills(command), output, evidence);
        }
        let touches = shell::touches(command);
        let sources: Vec<_> = touches.iter().filter_map(source).collect();
        let seen = self.shown_of(trace, output, evidence, &sources);
        let mut looked = false;
        for touch in touches {
            match touch {
                Touch::SkillFile { skill } | Touch::Resource { skill, .. } if seen.contains(&slug(&skill)) => {}
                Touch::SkillFile { skill } => {
                    // In `cat SKILL.md && false` the file was read all the same.
                    let shows_name = output.lines().any(|line| line.trim() == format!("name: {skill}"));
                    // Of a skill without a text to know it by, whatever plain readers print.
                    let printed = || exit_code == Some(0) && !output.trim().is_empty();
                    let is_bare = self.exposure.known(&slug(&skill), SKILL_FILE) == Known::ByName;
                    let read = is_bare && printed() && !shell::is_effective(command, None);
                    if read || (!self.exposure.knows(&slug(&skill)) && shows_name) {
                        self.opened(trace, &skill, evidence);
                    } else if exit_code != Some(0) && self.opens(trace, &skill) {
                        trace.failed_load(&skill, Mechanism::ReadSkillFile, evidence);
                        looked = true;
                    } else {
                        looked |= !trace.is_active(&skill);
                    }
                }
                Touch::Resource { skill, path, for_what } => {
                    let printed = !output.trim().is_empty()
                        && match self.exposure.known(&slug(&skill), &path) {
                            Known::NoSkill => true,
                            Known::ByName => for_what == Purpose::Print,
                            Known::ByText | Known::NoFile => false,
                        };
                    if exit_code == Some(0) && (printed || for_what == Purpose::Run) {
                        trace.load(&skill, &path, evidence);
                    } else {
                        looked = true;
                    }
                }
                Touch::Explore => looked |= seen.is_empty(),
            }
        }
        if looked {
            trace.explore(evidence);
        }
    }

    /// A call of a tool, by the name that the model sees, was answered.
    pub(super) fn tool(&mut self, trace: &mut Trace, tool: &str, input: &str, output: &str, failed: bool) {
        let evidence = format!("{tool} {}", excerpt(input));
        let fields: Value = serde_json::from_str(input).unwrap_or_default();
        if self.lists(tool, fields.get("server").and_then(Value::as_str), input, output) {
            return self.searched(trace, true, output, &evidence);
        }
        match self.wanted(trace, tool, &fields) {
            Some((skill, path)) => self.answered(trace, &skill, &path, output, failed, &evidence),
            None => drop(self.shown(trace, output, &evidence)),
        }
    }

    /// The model's code called a tool that answered the code alone: it was used where the model was shown what it answered.
    pub(super) fn asked_by_code(&mut self, trace: &mut Trace, tool: &str, input: &str, failed: bool) {
        let fields: Value = serde_json::from_str(input).unwrap_or_default();
        let Some((skill, path)) = self.wanted(trace, tool, &fields) else { return };
        let evidence = format!("{tool} {}", excerpt(input));
        let came = match self.exposure.known(&slug(&skill), &path) {
            Known::ByText => self.exposure.has_loaded(&slug(&skill), &path),
            Known::ByName | Known::NoSkill => true,
            Known::NoFile => false,
        };
        if came || failed {
            concluded(trace, &skill, &path, !failed, &evidence);
        } else {
            trace.explore(&evidence);
        }
    }

    /// The skill and the file of it that a call asks the MCP server for.
    fn wanted(&self, trace: &mut Trace, tool: &str, fields: &Value) -> Option<(String, String)> {
        let field = |key: &str| fields.get(key).and_then(Value::as_str);
        if is_tool(tool, &self.reference.names.skill_tool()) {
            // Ours takes `name`; a repository's own server may call it otherwise.
            let any = || fields.as_object()?.values().find_map(Value::as_str);
            let skill = field("name").or_else(|| field("skill")).or_else(any);
            if skill.is_none() {
                trace.lose("a call of the skill tool that names no skill");
            }
            Some((skill?.to_owned(), SKILL_FILE.to_owned()))
        } else if is_tool(tool, &self.reference.names.resource_tool()) {
            // Without a path it lists the files, and loads none.
            let path = field("path").map(plain).filter(|path| !path.is_empty())?;
            Some((field("skill").or_else(|| field("name"))?.to_owned(), path))
        } else {
            field("uri").filter(|_| RESOURCE_TOOLS.contains(&tool)).and_then(at_skill_uri)
        }
    }

    /// Whether a tool of the agent's own looks for tools, or for what servers have, and the server of skills is among that.
    fn lists(&self, tool: &str, server: Option<&str>, input: &str, output: &str) -> bool {
        let own = &self.reference.names.server;
        let named = || [input, output].into_iter().any(|text| text.contains(own) || text.contains("skill"));
        let asked = || server.is_none_or(|server| server == own);
        (TOOL_SEARCHES.contains(&tool) && named()) || (MCP_LISTS.contains(&tool) && asked())
    }

    /// A search, for text, files or tools, was answered: a look where it asked for skills or found something of theirs. Of a
    /// file it shows what matched; only where that is most of it, the file was read.
    pub(super) fn searched(&mut self, trace: &mut Trace, asked: bool, output: &str, how: &str) {
        if output.len() > MAX_ANSWER {
            trace.lose("an answer of a tool that is longer than is read");
        }
        let (read, seen): (Vec<_>, Vec<_>) = self
            .exposure
            .shown(output, how)
            .into_iter()
            .partition(|sighting| sighting.loaded && sighting.share >= MOST);
        for Sighting { skill, path, .. } in &read {
            if path == SKILL_FILE {
                self.opened(trace, skill, how);
            } else {
                trace.load(skill, path, how);
            }
        }
        if !read.is_empty() {
            return;
        }
        let is_new = |skill: &str| !trace.is_active(skill);
        let listed = || {
            let paths = output.lines().filter_map(|line| shell::opens(line.split(':').next()?.trim()));
            paths.into_iter().any(|touch| match touch {
                Touch::SkillFile { skill } | Touch::Resource { skill, .. } => {
                    self.exposure.knows(&slug(&skill)) && is_new(&skill)
                }
                Touch::Explore => false,
            })
        };
        let looked = if seen.is_empty() { asked || listed() } else { seen.iter().any(|one| is_new(&one.skill)) };
        if looked {
            trace.explore(how);
        }
    }

    /// The MCP server was asked for a skill's file, and answered.
    fn answered(&mut self, trace: &mut Trace, skill: &str, path: &str, output: &str, failed: bool, evidence: &str) {
        let own = slug(skill);
        let how = format!("{evidence} {own}/{path}");
        let seen = self.exposure.shown_of(output, &how, &[(own.clone(), path.to_owned())]);
        let came = |sighting: &Sighting| sighting.loaded && sighting.skill == own && sighting.path == path;
        let came = match self.exposure.known(&own, path) {
            Known::ByText => seen.iter().any(came),
            Known::ByName | Known::NoSkill => true,
            Known::NoFile => false,
        };
        concluded(trace, skill, path, came && !failed, evidence);
        // Of a folder the files came that are in it.
        let is_below = |file: &str| file.strip_prefix(path).is_some_and(|rest| rest.starts_with('/'));
        for sighting in seen.iter().filter(|seen| seen.loaded && seen.skill == own && is_below(&seen.path)) {
            trace.load(skill, &sighting.path, evidence);
        }
    }

    /// What the MCP server of skills calls the prompt that claude calls so.
    pub(super) fn prompt_of_server<'n>(&self, name: &'n str) -> Option<&'n str> {
        name.strip_prefix("mcp__")?.strip_prefix(self.reference.names.server.as_str())?.strip_prefix("__")
    }

    /// The agent itself put `text` into the conversation as the skill of this name. Says whether it is.
    pub(super) fn injected(&mut self, skill: &str, text: &str) -> bool {
        let own = slug(skill);
        let source = [(own.clone(), SKILL_FILE.to_owned())];
        let seen = self.exposure.shown_of(text, &format!("{own}/{SKILL_FILE}"), &source);
        match self.exposure.known(&own, SKILL_FILE) {
            Known::ByText => seen.iter().any(|s| s.skill == own && s.path == SKILL_FILE && s.loaded),
            Known::ByName | Known::NoSkill => true,
            Known::NoFile => false,
        }
    }

    /// The model was shown `text` in answer to `how`. Returns the slugs of the skills of which something was in it.
    pub(super) fn shown(&mut self, trace: &mut Trace, text: &str, how: &str) -> Vec<String> {
        self.shown_of(trace, text, how, &[])
    }

    /// The same in answer to a call for these files.
    fn shown_of(&mut self, trace: &mut Trace, text: &str, how: &str, sources: &[(String, String)]) -> Vec<String> {
        if text.len() > MAX_ANSWER {
            trace.lose("an answer of a tool that is longer than is read");
        }
        let seen = self.exposure.shown_of(text, how, sources);
        let mut looked = false;
        for sighting in &seen {
            let Sighting { skill, path, loaded, pointed, .. } = sighting;
            match (path == SKILL_FILE, *loaded) {
                (true, true) => self.opened(trace, skill, how),
                (false, true) => trace.load(skill, path, how),
                (_, false) => looked |= *pointed && !trace.is_active(skill),
            }
        }
        if looked {
            trace.explore(how);
        }
        seen.into_iter().map(|sighting| sighting.skill).collect()
    }

    /// The text of a SKILL.md came by a command or a tool that is not for skills.
    fn opened(&self, trace: &mut Trace, skill: &str, how: &str) {
        if self.opens(trace, skill) {
            trace.activate(skill, Mechanism::ReadSkillFile, how);
        } else if !trace.activations.iter().any(|known| slug(&known.skill) == slug(skill)) {
            trace.explore(how);
        }
    }

    /// Whether reading the SKILL.md of this skill makes it active.
    fn opens(&self, trace: &Trace, skill: &str) -> bool {
        let offered = trace.offered.as_ref();
        self.reading == Reading::Activates
            && offered.is_none_or(|offered| offered.native.iter().any(|name| slug(name) == slug(skill)))
    }

    /// From now on it is so late, RFC 3339, where the agent tells: of the changes in mid-session those that were made by then
    /// may come before the model.
    pub(super) fn at(&mut self, time: Option<&str>) {
        let Some(now) = time.and_then(|time| time.parse::<Timestamp>().ok()) else { return };
        let is_to_come = |change: &ChangeMeta| made_at(change).is_none_or(|made| made > now);
        let changes = self.reference.changes.iter().enumerate().filter(|(_, change)| is_to_come(change));
        self.exposure.still_to_come(changes.map(|(number, _)| number).collect());
    }

    /// Whether the change with this number, which was made `at` some time, came before the model.
    fn saw(&self, trace: &Trace, number: usize, change: &ChangeMeta, at: Timestamp) -> Seen {
        if change.kind == ChangeKind::Remove {
            let later = |step: usize| {
                let ended = trace.moments.get(step).and_then(|moment| moment.ended.as_deref());
                ended.and_then(|ended| ended.parse::<Timestamp>().ok()).is_some_and(|ended| ended >= at)
            };
            let of_it = |what| matches!(what, Marked::FailedLoad(call) if slug(&trace.failed_loads[call].skill) == change.skill);
            let missed = trace.marks.iter().any(|mark| of_it(mark.what) && later(mark.step));
            return if missed { Seen::Missed } else { Seen::No };
        }
        match () {
            () if self.told.contains(&number) => Seen::List,
            () if self.exposure.changes().contains(&number) => Seen::Text,
            () if self.exposure.is_distinct(number) => Seen::No,
            () => Seen::Alike,
        }
    }

    /// Notes how much of each skill and resource was seen, and which changes.
    pub(super) fn finish(&self, trace: &mut Trace) {
        for (number, change) in self.reference.changes.iter().enumerate() {
            if let Some(at) = made_at(change) {
                trace.changes_seen.insert(number, self.saw(trace, number, change, at));
            }
        }
        for activation in &mut trace.activations {
            activation.seen = self.exposure.share(&slug(&activation.skill), SKILL_FILE);
        }
        for resource in &mut trace.resources {
            resource.seen = self.exposure.share(&slug(&resource.skill), &resource.path);
        }
    }
}

/// Notes whether a file that the MCP server was asked for came before the model.
fn concluded(trace: &mut Trace, skill: &str, path: &str, came: bool, evidence: &str) {
    match (path == SKILL_FILE, came) {
        (true, true) => trace.activate(skill, Mechanism::McpTool, evidence),
        // What could not be loaded was not used; that it was wanted is told.
        (true, false) => trace.failed_load(skill, Mechanism::McpTool, evidence),
        (false, true) => trace.load(skill, path, evidence),
        (false, false) => {}
    }
}

/// Whether a tool is this one: codex's models see `skill_resource` where the server says `skill-resource`.
fn is_tool(tool: &str, known: &str) -> bool {
    tool == known || tool == known.replace('-', "_")
}

/// Those of the changes that have been made by now.
fn made(exposure: &Exposure<'_>, changes: Vec<usize>) -> impl Iterator<Item = usize> {
    changes.into_iter().filter(|change| exposure.is_made(*change))
}

/// When a change was made.
fn made_at(change: &ChangeMeta) -> Option<Timestamp> {
    change.made.as_deref()?.parse().ok()
}

/// The file that a command reads, by its skill's slug and its path.
fn source(touch: &Touch) -> Option<(String, String)> {
    match touch {
        Touch::SkillFile { skill } => Some((slug(skill), SKILL_FILE.to_owned())),
        Touch::Resource { skill, path, .. } => Some((slug(skill), path.clone())),
        Touch::Explore => None,
    }
}

/// A command ran whose output did not come before the model as such: it tells which scripts of skills ran, and no more.
pub(super) fn ran(trace: &mut Trace, command: &str, exit_code: Option<i64>) {
    for touch in shell::touches(command) {
        if let (Touch::Resource { skill, path, for_what: Purpose::Run }, Some(0)) = (touch, exit_code) {
            trace.load(&skill, &path, command);
        }
    }
}

/// The skill and the file of `skill://greeting/references/formal.md`; `skill://greeting` is its SKILL.md.
fn at_skill_uri(uri: &str) -> Option<(String, String)> {
    let rest = uri.strip_prefix("skill://").filter(|rest| !rest.is_empty())?;
    let (skill, path) = rest.split_once('/').unwrap_or((rest, SKILL_FILE));
    let decoded = |text: &str| percent_decode_str(text).decode_utf8_lossy().into_owned();
    let path = plain(&decoded(path));
    (!path.is_empty()).then(|| (decoded(skill), path))
}

/// A path as a skill's files are listed: `.//references/./formal.md` is `references/formal.md`.
fn plain(path: &str) -> String {
    let parts: Vec<&str> = path.split('/').filter(|part| !part.is_empty() && *part != ".").collect();
    parts.join("/")
}

/// The texts in what an MCP server answered, or in a call's input, one below the other.
pub(super) fn texts(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(list) => list.iter().map(texts).collect::<Vec<_>>().join("\n"),
        Value::Object(map) => map.values().map(texts).collect::<Vec<_>>().join("\n"),
        _ => String::new(),
    }
}
