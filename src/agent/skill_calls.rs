//! What an agent's calls and their answers did to the skills, the same under every agent.
//!
//! Whether a skill or a resource came before the model is read from what was answered, where the skill's texts are
//! known; the call says how, and which files it names. Of skills whose texts are not known, such as an agent's own, the call
//! has to do.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use percent_encoding::percent_decode_str;
use serde_json::Value;

use crate::agent::trial_env::relative;
use crate::profile::{AgentTools, PROFILES};
use crate::skill::{SKILL_FILE, slug};
use crate::trace::change::ChangeKind;
use crate::trace::change::ChangeMeta;
use crate::trace::description::DescriptionVisibility;
use crate::trace::exposure::{Exposure, MAX_ANSWER, Paths, Reference, SeenFile};
use crate::trace::shell;
use crate::trace::{Activation, ChangeVisibility, Marked, Mechanism, OfferedSkills, TraceBuilder, excerpt};

/// Whether some agent's own tool of this name does this.
fn does(tool: &str, what: fn(&'static AgentTools) -> &'static [&'static str]) -> bool {
    PROFILES.into_iter().any(|profile| what(&profile.tools).contains(&tool))
}

/// Reads calls and answers.
#[derive(Debug)]
pub(super) struct SkillCalls<'a> {
    reference: &'a Reference,
    exposure: Exposure<'a>,
    /// The changes in mid-session that the agent told.
    told: BTreeSet<usize>,
}

impl<'a> SkillCalls<'a> {
    pub(super) fn new(reference: &'a Reference) -> Self {
        Self { reference, exposure: Exposure::new(&reference.texts), told: BTreeSet::new() }
    }

    /// How much the model was shown of the skills' descriptions, by a list with these texts beside these names.
    pub(super) fn listed<'t>(
        &mut self,
        entries: impl Iterator<Item = (&'t str, &'t str)>,
    ) -> BTreeMap<String, DescriptionVisibility> {
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
    pub(super) fn command(&mut self, trace: &mut TraceBuilder, command: &str, exit_code: Option<i64>, output: &str) {
        let well = exit_code == Some(0);
        let seen = self.shown(trace, command, command, output, well);
        self.ran(trace, command, exit_code);
        if !well && shell::prints_skills(command) {
            missed(trace, command, command, &seen);
        }
    }

    /// A tool of the agent's own showed the file at `path`; `evidence` says so in its words.
    pub(super) fn file(&mut self, trace: &mut TraceBuilder, path: &str, evidence: &str, failed: bool, output: &str) {
        let seen = self.shown(trace, path, evidence, output, !failed);
        if failed && path.ends_with(SKILL_FILE) {
            missed(trace, path, evidence, &seen);
        }
        for (skill, path) in self.own_files(path).into_iter().filter(|_| !failed) {
            if self.exposure.is_without_text(&slug(&skill), &path) {
                loaded(trace, &skill, &path, evidence);
            }
        }
    }

    /// The skills' files that a path is one of.
    fn own_files(&self, path: &str) -> Vec<(String, String)> {
        let paths = Paths::of(&relative(path));
        let known = paths.below_any().filter(|(skill, path)| self.exposure.has(skill, path));
        let below = paths.below_skills().filter(|(_, path)| !path.is_empty());
        let mut all: Vec<_> = below.chain(known).map(|(skill, path)| (skill.to_owned(), path)).collect();
        all.dedup();
        all
    }

    /// A command ran: it tells which scripts of skills did.
    pub(super) fn ran(&self, trace: &mut TraceBuilder, command: &str, exit_code: Option<i64>) {
        let here = relative(command);
        let may_run = || Paths::of(&here).are_about_skills() || !self.own_files(&here).is_empty();
        if exit_code == Some(0) && may_run() {
            for (skill, path) in shell::scripts(&here).iter().flat_map(|script| self.own_files(script)) {
                trace.load(&skill, &path, command);
            }
        }
    }

    /// A call of a tool, by the name that the model sees, was answered.
    pub(super) fn tool(&mut self, trace: &mut TraceBuilder, tool: &str, input: &str, output: &str, failed: bool) {
        let evidence = format!("{tool} {}", excerpt(input));
        let fields: Value = serde_json::from_str(input).unwrap_or_default();
        if self.lists(tool, fields.get("server").and_then(Value::as_str), input, output) {
            trace.inspect(&evidence);
        }
        match self.wanted(trace, tool, &fields) {
            Some((skill, path)) => self.answered(trace, &skill, &path, output, failed, &evidence),
            None if does(tool, |tools| tools.files) => {
                let path = fields.get("path").and_then(Value::as_str).unwrap_or_default();
                self.file(trace, path, &evidence, failed, output);
            }
            None => drop(self.shown(trace, input, &evidence, output, !failed)),
        }
    }

    /// The model's code called a tool that answered the code alone: it was used where the model was shown what it answered.
    pub(super) fn asked_by_code(&mut self, trace: &mut TraceBuilder, tool: &str, input: &str, failed: bool) {
        let fields: Value = serde_json::from_str(input).unwrap_or_default();
        let Some((skill, path)) = self.wanted(trace, tool, &fields) else { return };
        let evidence = format!("{tool} {}", excerpt(input));
        if self.came(&slug(&skill), &path) || failed {
            // What the code printed was what this call answered.
            let is_it =
                |known: &&mut Activation| known.how == Mechanism::ReadSkillFile && slug(&known.skill) == slug(&skill);
            let read = trace.activations.iter_mut().find(is_it).filter(|_| path == SKILL_FILE && !failed);
            if let Some(Activation { skill: known, how, evidence: by, .. }) = read {
                (*known, *how, *by) = (skill.clone(), Mechanism::McpTool, excerpt(&evidence));
            }
            concluded(trace, &skill, &path, !failed, &evidence);
        } else {
            trace.inspect(&evidence);
        }
    }

    /// The skill and the file of it that a call asks the MCP server for.
    fn wanted(&self, trace: &mut TraceBuilder, tool: &str, fields: &Value) -> Option<(String, String)> {
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
            field("uri").filter(|_| does(tool, |tools| tools.resources)).and_then(at_skill_uri)
        }
    }

    /// Whether a tool of the agent's own looks for tools, or for what servers have, and the server of skills is among that.
    fn lists(&self, tool: &str, server: Option<&str>, input: &str, output: &str) -> bool {
        let own = &self.reference.names.server;
        let named = || [input, output].into_iter().any(|text| text.contains(own) || text.contains("skill"));
        let asked = || server.is_none_or(|server| server == own);
        (does(tool, |tools| tools.searches) && named()) || (does(tool, |tools| tools.lists) && asked())
    }

    /// The MCP server was asked for a skill's file, and answered.
    fn answered(
        &mut self,
        trace: &mut TraceBuilder,
        skill: &str,
        path: &str,
        output: &str,
        failed: bool,
        evidence: &str,
    ) {
        let own = slug(skill);
        let asked = self.exposure.asked(&own, path);
        let seen = self.exposure.shown(output, &asked, !failed);
        concluded(trace, skill, path, self.came(&own, path) && !failed, evidence);
        // Of a directory the files came that are in it.
        let is_below = |file: &str| file.strip_prefix(path).is_some_and(|rest| rest.starts_with('/'));
        for sighting in seen.iter().filter(|seen| seen.loaded && seen.skill == own && is_below(&seen.path)) {
            trace.load(skill, &sighting.path, evidence);
        }
    }

    /// Whether a file that was asked for came before the model, as far as its text tells.
    fn came(&self, slug: &str, path: &str) -> bool {
        let exposure = &self.exposure;
        !exposure.knows(slug) || exposure.is_without_text(slug, path) || exposure.has_loaded(slug, path)
    }

    /// What the MCP server of skills calls the prompt that claude calls so.
    pub(super) fn prompt_of_server<'n>(&self, name: &'n str) -> Option<&'n str> {
        name.strip_prefix("mcp__")?.strip_prefix(self.reference.names.server.as_str())?.strip_prefix("__")
    }

    /// The agent itself put `text` into the conversation as the skill of this name. Says whether it is.
    pub(super) fn injected(&mut self, skill: &str, text: &str) -> bool {
        let own = slug(skill);
        let named = self.exposure.asked(&own, SKILL_FILE);
        self.exposure.shown(text, &named, true);
        self.came(&own, SKILL_FILE)
    }

    /// The model was shown `output` in answer to `call`, which `evidence` tells in words; `well` says whether it went well.
    /// Returns the slugs of the skills of which something was in it.
    pub(super) fn shown(
        &mut self,
        trace: &mut TraceBuilder,
        call: &str,
        evidence: &str,
        output: &str,
        well: bool,
    ) -> BTreeSet<String> {
        if output.len() > MAX_ANSWER {
            trace.lose("an answer of a tool that is longer than is read");
        }
        let paths = Paths::of(&relative(call));
        let named = self.exposure.named(&paths);
        let seen = self.exposure.shown(output, &named, well);
        let mut came = false;
        for SeenFile { skill, path, .. } in seen.iter().filter(|sighting| sighting.loaded) {
            loaded(trace, skill, path, evidence);
            came = true;
        }
        for (skill, path) in paths.below_skills().filter(|(skill, _)| !self.exposure.knows(&slug(skill))) {
            let is_printed = match path.as_str() {
                "" => false,
                SKILL_FILE => output.lines().any(|line| line.trim() == format!("name: {skill}")),
                // What lists or measures files prints their names.
                path => well && !output.trim().is_empty() && !output.contains(path),
            };
            if is_printed {
                loaded(trace, skill, &path, evidence);
                came = true;
            }
        }
        let is_known = || paths.below_skills().any(|(skill, _)| trace.is_active(skill));
        if !came && (paths.are_about_skills() || !named.is_empty()) && !is_known() {
            trace.inspect(evidence);
        }
        seen.into_iter().map(|sighting| sighting.skill).collect()
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
    fn saw(&self, trace: &TraceBuilder, number: usize, change: &ChangeMeta, at: Timestamp) -> ChangeVisibility {
        if change.kind == ChangeKind::Remove {
            let later = |step: usize| {
                let ended = trace.moments.get(step).and_then(|moment| moment.ended.as_deref());
                ended.and_then(|ended| ended.parse::<Timestamp>().ok()).is_some_and(|ended| ended >= at)
            };
            let of_it = |what| matches!(what, Marked::FailedLoad(call) if slug(&trace.failed_loads[call].skill) == change.skill);
            let missed = trace.marks.iter().any(|mark| of_it(mark.what) && later(mark.step));
            return if missed { ChangeVisibility::Missed } else { ChangeVisibility::No };
        }
        match () {
            () if self.told.contains(&number) => ChangeVisibility::List,
            () if self.exposure.changes().contains(&number) => ChangeVisibility::Text,
            () if self.exposure.is_distinct(number) => ChangeVisibility::No,
            () => ChangeVisibility::Alike,
        }
    }

    /// Notes how much of each skill and resource was seen, and which changes.
    pub(super) fn finish(&self, trace: &mut TraceBuilder) {
        for (number, change) in self.reference.changes.iter().enumerate() {
            if let Some(at) = made_at(change) {
                let seen = self.saw(trace, number, change, at);
                trace.changes_seen.insert(number, seen);
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
fn concluded(trace: &mut TraceBuilder, skill: &str, path: &str, came: bool, evidence: &str) {
    match (path == SKILL_FILE, came) {
        (true, true) => trace.activate(skill, Mechanism::McpTool, evidence),
        // What could not be loaded was not used; that it was wanted is told.
        (true, false) => trace.failed_load(skill, Mechanism::McpTool, evidence),
        (false, true) => trace.load(skill, path, evidence),
        (false, false) => {}
    }
}

/// A file of a skill came by a command or a tool that is not for skills.
fn loaded(trace: &mut TraceBuilder, skill: &str, path: &str, how: &str) {
    if path != SKILL_FILE {
        trace.load(skill, path, how);
    } else if !trace.activations.iter().any(|known| slug(&known.skill) == slug(skill)) {
        trace.activate(skill, Mechanism::ReadSkillFile, how);
    }
}

/// A call that was to show SKILL.md of skills failed, and these were seen: others that the agent has in its own folder were
/// wanted.
fn missed(trace: &mut TraceBuilder, call: &str, evidence: &str, seen: &BTreeSet<String>) {
    let has = |offered: &OfferedSkills, own: &str| offered.native.iter().any(|name| slug(name) == own);
    for (skill, _) in Paths::of(&relative(call)).below_skills() {
        let own = slug(skill);
        if !seen.contains(&own) && trace.offered.as_ref().is_none_or(|offered| has(offered, &own)) {
            trace.failed_load(skill, Mechanism::ReadSkillFile, evidence);
        }
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
