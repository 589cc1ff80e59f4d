//! The one way in which the decoders of all agents report what an agent did.
//!
//! A decoder reports each call of a tool to a [`TraceRecorder`]. The recorder adds it to the trace and concludes what it did
//! with skills. If a skill's texts are known, the answers show whether they entered the model's context, and the call only
//! names the files. If its texts are not known (an agent's own skill, say), only the call counts.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::Duration;

use jiff::Timestamp;
use serde_json::Value;

use crate::agent::field::named;
use crate::agent::skill_list::{KnownTools, file_of_uri, is_own_tool, is_tool, lists_skills, normalized};
use crate::settings::mode::AgentKind;
use crate::skill::{SKILL_FILE, USER_ONLY, of_plugin, slug};
use crate::text::redact::Masked;
use crate::trace::exposure::DescriptionVisibility;
use crate::trace::exposure::{Exposure, MAX_ANSWER, Paths, Reference, SeenFile};
use crate::trace::file::{ChangeKind, ChangeMeta};
use crate::trace::trouble::Trouble;
use crate::trace::{
    AgentProgress, ChangeVisibility, Marked, Mechanism, Step, StopReason, Trace, TraceBuilder, Usage, WaitingFor,
    excerpt, shell, spoken,
};

/// A call of a tool that has ended.
pub(super) struct EndedCall {
    /// The tool, by the name that the model sees.
    pub tool: String,
    /// The input, usually as JSON.
    pub input: String,
    /// What it returned; `None` if that was not read.
    pub output: Option<String>,
    pub failed: bool,
}

/// What a tool does, as far as that matters to skills.
pub(super) enum ToolUse {
    /// Runs a shell command, if its input says which. Without an exit code, nobody saw the command end.
    Shell { command: Option<String>, exit_code: Option<i64> },
    /// Loads the skill of this name. The call may fail after it loaded the skill.
    LoadSkill { skill: Option<String>, loaded: bool },
    /// Reads the file at this path, if its input says which.
    ReadFile(Option<String>),
    /// Searches names or contents of files.
    SearchFiles,
    /// Changes these files, if its input says which.
    ChangeFiles(Option<Vec<String>>),
    /// Anything else. The name may be that of a tool of an MCP server.
    Other,
}

/// Records what happened in a trace, and what of the skills the model saw.
#[derive(Debug)]
pub(super) struct TraceRecorder<'a> {
    pub trace: TraceBuilder,
    reference: &'a Reference,
    exposure: Exposure<'a>,
    /// The changes of skills that a list of skills showed.
    listed_changes: BTreeSet<usize>,
    /// The numbers of activations by a plugin's name, `plugin:skill`, whose texts are to come.
    called_by_plugin: VecDeque<usize>,
    pub tools: KnownTools,
}

impl<'a> TraceRecorder<'a> {
    /// A recorder for this agent.
    pub(super) fn new(reference: &'a Reference, kind: AgentKind) -> Self {
        let tools = &kind.profile().tools;
        let loads_by = if tools.skills.is_empty() { Mechanism::ReadSkillFile } else { Mechanism::SkillTool };
        Self {
            trace: TraceBuilder::new(loads_by),
            reference,
            exposure: Exposure::new(&reference.texts),
            listed_changes: BTreeSet::new(),
            called_by_plugin: VecDeque::new(),
            tools: KnownTools::of(tools),
        }
    }

    /// Whether the texts of a skill of this name are known.
    pub(super) fn knows(&self, skill: &str) -> bool {
        self.exposure.knows(&slug(&self.own_name(skill)))
    }

    /// Sets the time, RFC 3339, if the agent reports it: only changes of skills made by then can enter the model's context.
    pub(super) fn set_time(&mut self, time: Option<&str>) {
        let Some(now) = time.and_then(|time| time.parse::<Timestamp>().ok()) else { return };
        let changes = self.reference.changes.iter().enumerate();
        let to_come = changes.filter(|(_, change)| made_at(change).is_none_or(|made| made > now));
        self.exposure.still_to_come(to_come.map(|(number, _)| number).collect());
    }

    /// Records a message of the model.
    pub(super) fn message(&mut self, text: &str) {
        let author = if self.trace.now.depth > 0 { "(sub-agent) " } else { "" };
        self.trace.push(Step::Message(format!("{author}{text}")));
    }

    /// Records that the model wrote this text: a command, or the input of a call.
    pub(super) fn wrote(&mut self, text: &str) {
        self.exposure.wrote(text);
    }

    /// What a call of this tool returned. Nothing is another thing than what could not be read.
    pub(super) fn read(&mut self, tool: &str, output: Option<String>) -> String {
        output.unwrap_or_else(|| {
            self.trace.lose(&format!("what a call of `{tool}` returned"));
            String::new()
        })
    }

    /// Records a call that has ended, and what it did with skills.
    pub(super) fn ended(&mut self, call: EndedCall, tool_use: ToolUse) {
        let EndedCall { tool, input, output, failed } = call;
        let output = self.read(&tool, output);
        let evidence = format!("{tool} {}", excerpt(&input));
        match tool_use {
            ToolUse::Shell { command: None, .. } => self.trace.lose("a command: its call has none"),
            ToolUse::Shell { command: Some(command), exit_code } => {
                return self.with_call(tool, input, |to| to.command(command, exit_code, output));
            }
            ToolUse::ChangeFiles(None) => self.trace.lose("a change of a file: its call names none"),
            ToolUse::ChangeFiles(Some(paths)) => {
                return self.with_call(tool, input, |to| to.trace.push(Step::FileChange(paths)));
            }
            ToolUse::LoadSkill { skill: None, .. } => self.trace.lose("a call of the skill tool that names no skill"),
            // Models may not call this skill, so the call says nothing about what would have happened to it.
            ToolUse::LoadSkill { .. } if failed && output.contains(USER_ONLY) => self.trace.inspect(&evidence),
            ToolUse::LoadSkill { skill: Some(skill), loaded: true } => self.skill_loaded(&skill, &evidence, &output),
            ToolUse::LoadSkill { skill: Some(skill), loaded: false } => {
                self.trace.failed_load(&self.own_name(&skill), Mechanism::SkillTool, &evidence);
            }
            ToolUse::ReadFile(None) if failed => {}
            ToolUse::ReadFile(None) => self.trace.lose("a read of a file: its call names none"),
            ToolUse::ReadFile(Some(path)) => self.file_read(&path, &evidence, &output, failed),
            ToolUse::SearchFiles => _ = self.shown(&input, &evidence, &output, !failed),
            ToolUse::Other => self.tool_answered(&tool, &input, &output, failed),
        }
        self.trace.push(Step::Tool { name: tool, input, output, failed });
    }

    /// Records that the skill tool loaded a skill: the one whose text the model got, if the answer has that of another one.
    fn skill_loaded(&mut self, skill: &str, evidence: &str, output: &str) {
        let name = self.own_name(skill);
        let named_files = self.exposure.asked(&slug(&name), SKILL_FILE);
        let mut seen_files = self.exposure.shown(output, &named_files, true);
        seen_files.retain(|file| file.loaded && file.path == SKILL_FILE);
        if !seen_files.is_empty() && !seen_files.iter().any(|file| file.skill == slug(&name)) {
            return seen_files.iter().for_each(|file| self.trace.activate(&file.skill, Mechanism::SkillTool, evidence));
        }
        let before = self.trace.activations.len();
        self.trace.activate(&name, Mechanism::SkillTool, evidence);
        let is_of_other = self.trace.activations.get(before).is_some_and(|new| of_plugin(&new.skill).is_some());
        self.called_by_plugin.extend(is_of_other.then_some(before));
    }

    /// Records a step that says less than the call of this tool.
    fn with_call(&mut self, tool: String, input: String, record: impl FnOnce(&mut Self)) {
        self.trace.now.tool = Some(Masked::stored(tool).cut()).filter(|tool| !tool.is_empty());
        self.trace.now.input = Some(Masked::stored(input).cut()).filter(|input| !input.is_empty());
        record(self);
        (self.trace.now.tool, self.trace.now.input) = (None, None);
    }

    fn command(&mut self, command: String, exit_code: Option<i64>, output: String) {
        let succeeded = exit_code == Some(0);
        let seen_skills = self.shown(&command, &command, &output, succeeded);
        self.scripts_ran(&command, exit_code);
        // Nobody knows what the skill's text would have changed, whatever else the command was to do.
        if !succeeded && (shell::prints_skills(&command) || shell::why_not_started(&command, &output).is_some()) {
            self.missed(&command, &command, &seen_skills);
        }
        if succeeded && shell::printed_nothing(&output) {
            self.lost_output(&command);
        }
        self.trace.command(command, exit_code, output);
    }

    /// Records that a command printed files of skills, and the agent lost what it printed: Qwen Code does on a busy machine.
    fn lost_output(&mut self, command: &str) {
        let files: Vec<_> = shell::printed_whole(command).iter().flat_map(|path| self.skill_files(path)).collect();
        let has_text =
            |skill: &str, path: &str| self.exposure.has(skill, path) && !self.exposure.is_without_text(skill, path);
        if files.iter().any(|(skill, path)| has_text(&slug(skill), path)) {
            self.trace.lose(&format!("what a command printed, of which the agent saw nothing: {}", excerpt(command)));
        }
    }

    /// Records the scripts of skills that a command ran.
    pub(super) fn scripts_ran(&mut self, command: &str, exit_code: Option<i64>) {
        if exit_code != Some(0) {
            return;
        }
        if !Paths::of(command).are_about_skills() && self.skill_files(command).is_empty() {
            return;
        }
        for script in shell::scripts(command) {
            for (skill, path) in self.skill_files(&script) {
                self.trace.load(&skill, &path, command);
            }
        }
    }

    fn file_read(&mut self, path: &str, evidence: &str, output: &str, failed: bool) {
        let seen_skills = self.shown(path, evidence, output, !failed);
        if failed {
            if path.ends_with(SKILL_FILE) {
                self.missed(path, evidence, &seen_skills);
            }
            return;
        }
        for (skill, path) in self.skill_files(path) {
            if self.exposure.is_without_text(&slug(&skill), &path) {
                self.loaded(&skill, &path, evidence);
            }
        }
    }

    /// Records that nobody knows what a tool of this name does, if so: it may have loaded a skill.
    fn needs_known(&mut self, tool: &str) {
        let mcp = self.trace.offered.as_ref().and_then(|offered| offered.mcp.as_ref());
        if !self.tools.knows(tool, self.reference, mcp) {
            self.trace.unknown_item(&format!("a call of the tool `{tool}`"));
        }
    }

    /// Concludes what the answer of a tool with this name did with skills.
    pub(super) fn tool_answered(&mut self, tool: &str, input: &str, output: &str, failed: bool) {
        if !self.tools.lacks(tool, output) {
            self.needs_known(tool);
        }
        let evidence = format!("{tool} {}", excerpt(input));
        let fields: Value = serde_json::from_str(input).unwrap_or_default();
        let server = fields.get("server").and_then(Value::as_str);
        if lists_skills(&self.reference.names.server, tool, server, [input, output]) {
            self.trace.inspect(&evidence);
        }
        match self.requested_file(tool, &fields) {
            Some((skill, path)) => self.server_answered(&skill, &path, output, failed, &evidence),
            None if is_own_tool(tool, |tools| tools.files) => {
                let path = fields.get("path").and_then(Value::as_str).unwrap_or_default();
                self.file_read(path, &evidence, output, failed);
            }
            None => _ = self.shown(input, &evidence, output, !failed),
        }
    }

    /// Concludes what a call by the model's code did with skills. The tool answered the code, not the model.
    pub(super) fn called_by_code(&mut self, tool: &str, input: &str, failed: bool) {
        self.needs_known(tool);
        let fields: Value = serde_json::from_str(input).unwrap_or_default();
        let Some((skill, path)) = self.requested_file(tool, &fields) else { return };
        let evidence = format!("{tool} {}", excerpt(input));
        if !failed && !self.entered_context(&slug(&skill), &path) {
            return self.trace.inspect(&evidence);
        }
        if !failed && path == SKILL_FILE {
            // The code printed what this call answered: the MCP tool loaded the skill, not a read of its file.
            let mut activations = self.trace.activations.iter_mut();
            if let Some(read) =
                activations.find(|known| known.how == Mechanism::ReadSkillFile && slug(&known.skill) == slug(&skill))
            {
                (read.skill, read.how, read.evidence) = (skill.clone(), Mechanism::McpTool, excerpt(&evidence));
            }
        }
        self.server_loaded(&skill, &path, !failed, &evidence);
    }

    /// The skill and its file that a call requests from the MCP server.
    fn requested_file(&mut self, tool: &str, fields: &Value) -> Option<(String, String)> {
        let field = |key: &str| fields.get(key).and_then(Value::as_str).and_then(spoken);
        if is_tool(tool, &self.reference.names.skill_tool()) {
            // Our server takes `name`; a repository's own server may use another key.
            let any_text = || fields.as_object()?.values().filter_map(Value::as_str).find_map(spoken);
            let skill = field("name").or_else(|| field("skill")).or_else(any_text);
            if skill.is_none() {
                self.trace.lose("a call of the skill tool that names no skill");
            }
            Some((skill?.to_owned(), SKILL_FILE.to_owned()))
        } else if is_tool(tool, &self.reference.names.resource_tool()) {
            // Without a path the tool lists the files and loads none.
            let path = field("path").map(normalized).filter(|path| !path.is_empty())?;
            Some((field("skill").or_else(|| field("name"))?.to_owned(), path))
        } else {
            field("uri").filter(|_| is_own_tool(tool, |tools| tools.resources)).and_then(file_of_uri)
        }
    }

    /// The MCP server answered a request for a skill's file.
    fn server_answered(&mut self, skill: &str, path: &str, output: &str, failed: bool, evidence: &str) {
        let slug = slug(skill);
        let named_files = self.exposure.asked(&slug, path);
        let seen_files = self.exposure.shown(output, &named_files, !failed);
        self.server_loaded(skill, path, self.entered_context(&slug, path) && !failed, evidence);
        // The server may know the skill by this name, too.
        let other = |file: &&SeenFile| file.loaded && file.skill != slug && file.path == SKILL_FILE && !failed;
        for file in seen_files.iter().filter(other) {
            self.server_loaded(&file.skill, SKILL_FILE, true, evidence);
        }
        // If the path is a directory, the answer has the files in it.
        for file in seen_files.iter().filter(|file| file.loaded && file.skill == slug) {
            if file.path.strip_prefix(path).is_some_and(|rest| rest.starts_with('/')) {
                self.trace.load(skill, &file.path, evidence);
            }
        }
    }

    /// Records whether a file that the MCP server was asked for entered the model's context.
    fn server_loaded(&mut self, skill: &str, path: &str, loaded: bool, evidence: &str) {
        match (path == SKILL_FILE, loaded) {
            (true, true) => self.trace.activate(skill, Mechanism::McpTool, evidence),
            (true, false) => self.trace.failed_load(skill, Mechanism::McpTool, evidence),
            (false, true) => self.trace.load(skill, path, evidence),
            (false, false) => {}
        }
    }

    /// Records that a command, or a tool that is not for skills, showed a skill's file.
    fn loaded(&mut self, skill: &str, path: &str, evidence: &str) {
        if path != SKILL_FILE {
            self.trace.load(skill, path, evidence);
        } else if !self.trace.activations.iter().any(|known| slug(&known.skill) == slug(skill)) {
            self.trace.activate(skill, Mechanism::ReadSkillFile, evidence);
        }
    }

    /// Records the skills that a failed call should have shown and did not, if the agent has them in its own directory.
    fn missed(&mut self, call: &str, evidence: &str, seen_skills: &BTreeSet<String>) {
        for (skill, _) in Paths::of(call).below_skills() {
            let slug_of_skill = slug(skill);
            let is_offered = self
                .trace
                .offered
                .as_ref()
                .is_none_or(|offered| offered.native.iter().any(|name| slug(name) == slug_of_skill));
            if is_offered && !seen_skills.contains(&slug_of_skill) {
                self.trace.failed_load(skill, Mechanism::ReadSkillFile, evidence);
            }
        }
    }

    /// The files of skills that a path may mean.
    fn skill_files(&self, path: &str) -> Vec<(String, String)> {
        let paths = Paths::of(path);
        let in_skills = paths.below_skills().filter(|(_, path)| !path.is_empty());
        let known = paths.below_any().filter(|(skill, path)| self.exposure.has(skill, path));
        let mut files: Vec<_> = in_skills.chain(known).map(|(skill, path)| (skill.to_owned(), path)).collect();
        files.dedup();
        files
    }

    /// Whether a requested file entered the model's context, as far as its text shows.
    fn entered_context(&self, slug: &str, path: &str) -> bool {
        let exposure = &self.exposure;
        !exposure.knows(slug) || exposure.is_without_text(slug, path) || exposure.has_loaded(slug, path)
    }

    /// Records that the agent itself put `text` into the conversation as the skill of this name. Returns whether `text` is
    /// the skill's.
    pub(super) fn injected(&mut self, skill: &str, text: &str) -> bool {
        let slug = slug(skill);
        let named_files = self.exposure.asked(&slug, SKILL_FILE);
        self.exposure.shown(text, &named_files, true);
        self.entered_context(&slug, SKILL_FILE)
    }

    /// The agent put `text` into the conversation for the first call by a plugin's name whose text was to come. If the text is
    /// that of a skill under test, it is that skill; if not, it is another one, whose name is the plugin's.
    pub(super) fn text_of_called_skill(&mut self, text: &str) {
        let Some(number) = self.called_by_plugin.pop_front() else { return };
        let activation = &mut self.trace.activations[number];
        let own = of_plugin(&activation.skill).map(str::to_owned);
        if let Some(own) = own.filter(|own| self.reference.texts.is_text_of(&slug(own), SKILL_FILE, text)) {
            activation.skill = own;
        }
    }

    /// The name of a skill without the name space of the plugin that the agent got.
    pub(super) fn own_name(&self, name: &str) -> String {
        self.reference.slug_in_plugin(name).unwrap_or_else(|| name.to_owned())
    }

    /// The slug of the skill of the repository that a plugin's skill of this name is, by that plugin or by its description.
    pub(super) fn described_so(&self, name: &str, description: &str) -> Option<String> {
        let is_so = |slug: &String| {
            let visibility = self.reference.texts.in_list(slug, description);
            matches!(visibility, DescriptionVisibility::Whole | DescriptionVisibility::Cut { .. })
        };
        self.reference.slug_in_plugin(name).or_else(|| of_plugin(name).map(slug).filter(is_so))
    }

    /// Records that the model saw `output` as the answer to `call`; `evidence` is the call in words. Returns the slugs of
    /// the skills of which the answer shows something.
    pub(super) fn shown(&mut self, call: &str, evidence: &str, output: &str, succeeded: bool) -> BTreeSet<String> {
        if output.len() > MAX_ANSWER {
            self.trace.lose("an answer of a tool that is longer than is read");
        }
        let paths = Paths::of(call);
        let named_files = self.exposure.named(&paths);
        let seen_files = self.exposure.shown(output, &named_files, succeeded);
        let mut any_loaded = false;
        for SeenFile { skill, path, .. } in seen_files.iter().filter(|file| file.loaded) {
            self.loaded(skill, path, evidence);
            any_loaded = true;
        }
        for (skill, path) in paths.below_skills() {
            if !self.exposure.knows(&slug(skill)) && prints_file(output, skill, &path, succeeded) {
                self.loaded(skill, &path, evidence);
                any_loaded = true;
            }
        }
        if !any_loaded
            && (paths.are_about_skills() || !named_files.is_empty())
            && !paths.below_skills().any(|(skill, _)| self.trace.is_active(skill))
        {
            self.trace.inspect(evidence);
        }
        seen_files.into_iter().map(|file| file.skill).collect()
    }

    /// How much of the skills' descriptions a list of skills shows, by slug. The list has these names and descriptions.
    pub(super) fn listed<'t>(
        &mut self,
        list: impl Iterator<Item = (&'t str, &'t str)>,
    ) -> BTreeMap<String, DescriptionVisibility> {
        let texts = &self.reference.texts;
        let mut visibilities = BTreeMap::new();
        for (name, description) in list {
            let slug = self.reference.slug_in_plugin(name).unwrap_or_else(|| slug(name));
            if texts.knows(&slug) {
                self.note_listed_changes(texts.changes_in_list(&slug, description));
                let visibility = texts.in_list(&slug, description);
                visibilities.insert(slug, visibility);
            }
        }
        visibilities
    }

    /// The skills whose descriptions this MCP server showed the model in its instructions.
    pub(super) fn described_by_server(&mut self, server: &str, instructions: &str) -> Vec<String> {
        if server != self.reference.names.server {
            return Vec::new();
        }
        self.note_listed_changes(self.reference.texts.changes_in(instructions));
        self.reference.texts.described_in(instructions)
    }

    fn note_listed_changes(&mut self, changes: Vec<usize>) {
        self.listed_changes.extend(changes.into_iter().filter(|change| self.exposure.is_made(*change)));
    }

    /// The name of a prompt of the skills' MCP server, in a call `mcp__server__prompt`.
    pub(super) fn prompt_of_server<'n>(&self, name: &'n str) -> Option<&'n str> {
        name.strip_prefix("mcp__")?.strip_prefix(self.reference.names.server.as_str())?.strip_prefix("__")
    }

    /// Adds how much of each skill, resource and change the model saw, and returns the trace.
    pub(super) fn finish(mut self) -> Trace {
        let follow_ups = self.reference.follow_ups;
        self.trace.follow_ups_at.truncate(follow_ups);
        let is_complete = self.trace.messages_answered > follow_ups as u64;
        if follow_ups > 0 && !is_complete && self.trace.progress == AgentProgress::Done {
            // It is done with an earlier message, and nothing shows that it got the next one.
            self.trace.progress = AgentProgress::Answering;
            self.trace.waiting = WaitingFor::Model;
            self.trace.final_message = None;
        }
        for (number, change) in self.reference.changes.iter().enumerate() {
            if let Some(made) = made_at(change) {
                let seen = (&*self.trace, &self.exposure);
                let visibility = visibility(seen, &self.listed_changes, (number, change, made));
                self.trace.changes_seen.insert(number, visibility);
            }
        }
        for activation in &mut self.trace.activations {
            activation.seen = self.exposure.share(&slug(&activation.skill), SKILL_FILE);
        }
        for resource in &mut self.trace.resources {
            resource.seen = self.exposure.share(&slug(&resource.skill), &resource.path);
        }
        self.trace.finish()
    }
}

/// Whether the output of a call shows this file of a skill whose texts are not known.
fn prints_file(output: &str, skill: &str, path: &str, succeeded: bool) -> bool {
    match path {
        "" => false,
        SKILL_FILE => output.lines().any(|line| line.trim() == format!("name: {skill}")),
        // A command that lists or measures files prints their names.
        path => succeeded && !output.trim().is_empty() && !output.contains(path),
    }
}

/// All texts in a JSON value, one per line.
pub(super) fn texts(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(list) => list.iter().map(texts).collect::<Vec<_>>().join("\n"),
        Value::Object(map) => map.values().map(texts).collect::<Vec<_>>().join("\n"),
        _ => String::new(),
    }
}

// Whether changes of skills during a session entered the model's context.

/// Whether the change with this number, which was made at this time, entered the model's context: by a list of skills, if it is
/// among the `listed`, or by its text.
pub(super) fn visibility(
    (trace, exposure): (&Trace, &Exposure<'_>),
    listed: &BTreeSet<usize>,
    (number, change, made): (usize, &ChangeMeta, Timestamp),
) -> ChangeVisibility {
    if change.kind == ChangeKind::Remove {
        let missed = trace.marks.iter().any(|mark| match mark.what {
            Marked::FailedLoad(call) => {
                slug(&trace.failed_loads[call].skill) == change.skill && ended_after(trace, mark.step, made)
            }
            _ => false,
        });
        return if missed { ChangeVisibility::Missed } else { ChangeVisibility::No };
    }
    if listed.contains(&number) {
        ChangeVisibility::List
    } else if exposure.changes().contains(&number) {
        ChangeVisibility::Text
    } else if exposure.is_distinct(number) {
        ChangeVisibility::No
    } else {
        ChangeVisibility::Alike
    }
}

fn ended_after(trace: &Trace, step: usize, time: Timestamp) -> bool {
    let ended = trace.moments.get(step).and_then(|moment| moment.ended.as_deref());
    ended.and_then(|ended| ended.parse::<Timestamp>().ok()).is_some_and(|ended| ended >= time)
}

fn made_at(change: &ChangeMeta) -> Option<Timestamp> {
    change.made.as_deref()?.parse().ok()
}

// What a line of an agent's output says, in terms that all agents share, and what a call of a tool does.

/// One thing that a line says.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum AgentEvent {
    /// The agent's version.
    Version(String),
    Model(String),
    /// The skills that the model was offered: names and descriptions. A later list replaces an earlier one.
    Offered(Vec<(String, String)>),
    /// The names of the skills in the agent's directory, if the agent does not show what it offers its model.
    Placed(Vec<String>),
    /// What the agent may not show, and may have done.
    Lost(String),
    /// The tools that the session lists.
    Tools(Vec<String>),
    /// The names of skills, and of other things, that a user can call.
    CallableByUser(Vec<String>),
    /// The state of an MCP server: its name and the agent's word.
    Server(String, String),
    /// The model answered at least so often, as the agent counts it.
    Counted(u64),
    /// The agent may ask the model again without a call or a message: it makes its conversation shorter, say.
    MayAsk,
    /// The agent has asked the model.
    Asks,
    /// The model answered; the parts of its answer follow. The tokens of the request, if they are reported.
    Answers(Option<Usage>),
    /// The tokens of all requests of the session so far, also of those that no line shows.
    Total(Usage),
    /// The tokens of a request outside the conversation, to this model.
    Besides(Option<String>, Usage),
    /// The tokens of the request whose answer came last, if they are reported only at the answer's end.
    Spent(Usage),
    /// What the model said.
    Message(String),
    /// What the model thought.
    Thought(String),
    /// The model called a tool.
    Called {
        id: String,
        tool: String,
        input: Value,
    },
    /// The call was answered. Without an output, that was not read.
    Answered {
        id: String,
        output: Option<String>,
        ending: CallEnding,
        exit_code: Option<i64>,
    },
    /// The agent put this text into the conversation as the skill of this name.
    Injected {
        skill: String,
        text: String,
    },
    /// The same, because the user's message calls the skill.
    CalledByUser {
        skill: String,
        text: String,
    },
    /// A problem that did not end the session.
    Notice(String),
    /// The provider refused. The agent asks again, after this time if it says so.
    AsksAgain(Trouble, Option<Duration>),
    /// The provider refused, and the agent gave up.
    Refused(Trouble),
    /// The model ended its turn early. The agent is done, too.
    Stopped(StopReason),
    /// The agent is being ended: what it waits for now is what it waited for.
    Interrupted,
    /// The agent is done.
    Done,
}

impl AgentEvent {
    /// What was read of a part of a line; a gap if the part lacks what it must have, or is of a kind that is not known.
    pub(super) fn or_gap(read: Option<Self>, part: &str) -> Self {
        read.unwrap_or_else(|| Self::Lost(part.to_owned()))
    }
}

/// How a call of a tool ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CallEnding {
    Done,
    Failed,
    /// The agent did not allow it.
    Denied,
}

/// What a call does, by the agent's names of tools. The keys are those of all agents.
pub(super) fn tool_use(kind: AgentKind, tool: &str, input: &Value, failed: bool, exit_code: Option<i64>) -> ToolUse {
    let tools = &kind.profile().tools;
    let field = |keys: &[&str]| keys.iter().find_map(|key| named(input, key));
    let path = || field(&["path", "file_path", "filePath", "absolute_path"]);
    let is = |names: &[&str]| names.contains(&tool);
    if is(tools.shells) {
        return ToolUse::Shell { command: field(&["command", "cmd"]), exit_code };
    }
    if is(tools.skills) {
        return ToolUse::LoadSkill { skill: field(&["skill", "name"]), loaded: !failed };
    }
    if is(tools.reads) {
        return ToolUse::ReadFile(path());
    }
    match path() {
        Some(path) if is(tools.edits) && !failed => ToolUse::ChangeFiles(Some(vec![path])),
        _ if is(tools.finds) => ToolUse::SearchFiles,
        _ => ToolUse::Other,
    }
}
