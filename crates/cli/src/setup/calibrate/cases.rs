//! The trials of a calibration: what the scripted model does in each, and so what is true of it.

use std::fmt::Write;
use std::fs;
use std::io;
use std::path::Path;

use serde_json::json;

use crate::profile::Profile;
use crate::settings::ToolNames;
use crate::settings::mode::{Delivery, Mode};
use crate::stand_in::{AnswerFault, ScriptedRequest, ScriptedTurn, named};

/// The skill under test, and another one.
pub(super) const SKILL: &str = "greeting";
pub(super) const OTHER: &str = "farewell";

/// A skill that only users may call.
pub(super) const USER_ONLY: &str = "private-greeting";

/// A file of the skill, and what it says.
pub(super) const RESOURCE: &str = "references/formal.md";
const RESOURCE_TEXT: &str = "Formal people are greeted with Good day.";

/// What only the text of the skill under test says, and of the other one.
pub(super) const BODY: &str = "Say Ahoy and the name.";
pub(super) const OTHER_BODY: &str = "Say Farewell and the name.";

/// How the descriptions begin.
pub(super) const DESCRIPTION: &str = "Greets people in the style of this house.";
const OTHER_DESCRIPTION: &str = "Says farewell in the style of this house.";

/// The final message of a trial in which nothing goes wrong.
pub(super) const ANSWER: &str = "Ahoy, Ada! CALIBRATED";

/// The most calls of a trial: an agent may refuse one again and again.
const MAX_CALLS: usize = 8;

/// Seconds that a trial may take, one whose agent may ask again and again, and one in which nobody answers.
const TIMEOUT: u32 = 60;
const RETRIED: u32 = 30;
const SHORT: u32 = 12;

/// Seconds that a refusal asks to wait: longer than any trial.
const WAIT: u32 = 7200;

/// What the model does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Does {
    /// Loads the skill by the agent's own way, then its file, runs two commands and answers.
    Uses,
    /// Reads the SKILL.md by a command.
    Reads,
    /// Loads the other skill.
    UsesOther,
    /// Only answers.
    Answers,
    /// It is refused: the credentials, or for a long time.
    Refused(u16),
    /// The answer is cut, or it refuses.
    Fails(AnswerFault),
    /// Nothing.
    Hangs,
    /// Ends the program that started its command.
    Crashes,
}

/// A trial of known truth.
#[derive(Clone, Debug)]
pub(super) struct CalibrationCase {
    pub(super) id: String,
    pub(super) skill: &'static str,
    pub(super) does: Does,
    prompt: String,
    /// The name of its mode.
    pub(super) mode: String,
    pub(super) delivery: Delivery,
    /// Seconds that it may take.
    timeout: u32,
    /// Whether it is tried for the second time.
    pub(super) is_again: bool,
}

impl CalibrationCase {
    /// The same trial with more time, for an agent that did not come to an end on a busy machine, or lost a part.
    pub(super) fn again(&self) -> Self {
        let id = format!("{}-again", self.id);
        let prompt = self.prompt.replace(&self.id, &id);
        Self { id, prompt, timeout: 3 * self.timeout, is_again: true, ..self.clone() }
    }

    /// Whether the whole trial is expected to be measured.
    pub(super) fn ends_well(&self) -> bool {
        matches!(self.does, Does::Uses | Does::Reads | Does::UsesOther | Does::Answers)
    }
}

/// The trials of an agent with these modes. What a provider does is tried in one of them.
pub(super) fn cases(modes: &[&Mode]) -> Vec<CalibrationCase> {
    let mut all = Vec::new();
    // Those that wait come first, so that others run meanwhile.
    if let Some(mode) = modes.first() {
        for (name, does) in [
            ("hangs", Does::Hangs),
            ("limit", Does::Refused(429)),
            ("login", Does::Refused(401)),
            ("cut", Does::Fails(AnswerFault::Cut)),
            ("refusal", Does::Fails(AnswerFault::Refusal)),
            ("crash", Does::Crashes),
        ] {
            all.push(case(name, SKILL, does, "Greet Ada.", mode));
        }
    }
    for mode in modes {
        if mode.delivery.offers_skills() {
            all.push(case("uses", SKILL, Does::Uses, "Greet Ada in a formal way.", mode));
            all.push(case("other", SKILL, Does::UsesOther, "Say farewell to Ada.", mode));
        }
        all.push(case("answers", SKILL, Does::Answers, "What is 2+2?", mode));
        if mode.delivery == Delivery::Native {
            all.push(case("reads", SKILL, Does::Reads, "Read how to greet Ada.", mode));
            all.push(case("named", SKILL, Does::Answers, "What might a skill called greeting be for?", mode));
            all.push(case("user-only", USER_ONLY, Does::Answers, "What is 3+3?", mode));
        }
    }
    all
}

fn case(name: &str, skill: &'static str, does: Does, prompt: &str, mode: &Mode) -> CalibrationCase {
    let id = format!("{name}-{}", mode.name.replace('+', "-"));
    let prompt = format!("{prompt} This is the task {id}.");
    let timeout = match does {
        Does::Hangs => SHORT,
        Does::Refused(_) | Does::Fails(AnswerFault::Cut) => RETRIED,
        _ => TIMEOUT,
    };
    CalibrationCase {
        id,
        skill,
        does,
        prompt,
        mode: mode.name.clone(),
        delivery: mode.delivery,
        timeout,
        is_again: false,
    }
}

/// Writes a repository with the skills and cases.
pub(super) fn write(root: &Path, cases: &[CalibrationCase]) -> io::Result<()> {
    let skill = |name: &str, description: &str, more: &str, body: &str| {
        let directory = root.join("skills").join(name);
        fs::create_dir_all(&directory)?;
        let text = format!("---\nname: {name}\ndescription: {description}\n{more}---\n\n# Instructions\n\n{body}\n");
        fs::write(directory.join("SKILL.md"), text)
    };
    let resource = format!("{BODY} For formal people read {RESOURCE}.");
    skill(SKILL, &format!("{DESCRIPTION} Use when asked to greet somebody."), "", &resource)?;
    skill(OTHER, &format!("{OTHER_DESCRIPTION} Use when somebody leaves."), "", OTHER_BODY)?;
    skill(USER_ONLY, "Greets in private.", "disable-model-invocation: true\n", "Whisper the name.")?;
    let file = root.join("skills").join(SKILL).join(RESOURCE);
    fs::create_dir_all(file.parent().unwrap_or(root))?;
    fs::write(file, format!("{RESOURCE_TEXT}\n"))?;
    for skill in [SKILL, USER_ONLY] {
        let mut table = "id,should_trigger,prompt,timeout_s\n".to_owned();
        for case in cases.iter().filter(|case| case.skill == skill) {
            let should = matches!(case.does, Does::Uses | Does::Reads);
            let _ = writeln!(table, "{},{should},\"{}\",{}", case.id, case.prompt, case.timeout);
        }
        let directory = root.join("evals/skills").join(skill);
        fs::create_dir_all(&directory)?;
        fs::write(directory.join("prompts.csv"), table)?;
    }
    Ok(())
}

/// How an agent loads a skill.
pub(super) struct SkillTools {
    /// Its own tools for that.
    own: &'static [&'static str],
    /// Where it looks for skills in its workspace.
    directory: &'static str,
    /// The names of the MCP server and its tools.
    server: String,
}

impl SkillTools {
    pub(super) fn of(profile: &Profile) -> Self {
        let directory = profile.skill_folders.first().copied().unwrap_or_default();
        Self { own: profile.tools.skills, directory, server: ToolNames::default().server }
    }

    fn served(&self, request: &ScriptedRequest, end: &str) -> Option<String> {
        let is_it = |tool: &&String| tool.contains(&self.server) && tool.ends_with(end);
        request.tools.iter().find(is_it).cloned()
    }

    /// The agent's own tool for skills, if it offers one.
    pub(super) fn own_tool<'r>(&self, request: &'r ScriptedRequest) -> Option<&'r String> {
        request.tools.iter().find(|tool| self.own.contains(&tool.as_str()))
    }

    fn load(&self, request: &ScriptedRequest, delivery: Delivery, skill: &str) -> ScriptedTurn {
        let served = self.served(request, "_skill").or_else(|| self.served(request, "-skill"));
        if let Some(tool) = served.filter(|_| delivery.mcp()) {
            return ScriptedTurn::Call { tool, input: json!({ "name": skill }) };
        }
        match self.own_tool(request) {
            Some(tool) => ScriptedTurn::Call { tool: tool.clone(), input: named(request, tool, skill) },
            None => self.read(skill),
        }
    }

    fn read(&self, skill: &str) -> ScriptedTurn {
        ScriptedTurn::Shell(format!("cat {}/{skill}/SKILL.md", self.directory))
    }

    fn resource(&self, request: &ScriptedRequest, delivery: Delivery) -> ScriptedTurn {
        match self.served(request, "resource").filter(|_| delivery.mcp()) {
            Some(tool) => ScriptedTurn::Call { tool, input: json!({ "skill": SKILL, "path": RESOURCE }) },
            None => ScriptedTurn::Shell(format!("cat {}/{SKILL}/{RESOURCE}", self.directory)),
        }
    }

    /// What the model does next in a trial.
    pub(super) fn turn(&self, case: &CalibrationCase, request: &ScriptedRequest) -> ScriptedTurn {
        let results = request.tool_results.concat();
        let lacks = |text: &str| !results.contains(text) && request.step < MAX_CALLS;
        let answer = || ScriptedTurn::Say(ANSWER.to_owned());
        let half = || Box::new(ScriptedTurn::Say("Half an answer".to_owned()));
        match (case.does, request.step) {
            (Does::Uses, 0) => self.load(request, case.delivery, SKILL),
            // A busy agent may lose what a short command prints.
            (Does::Uses, _) if lacks(RESOURCE_TEXT) => self.resource(request, case.delivery),
            (Does::Uses, _) if lacks("counted-one") => ScriptedTurn::Shell("echo counted-one".to_owned()),
            (Does::Uses, _) if lacks("counted-two") => ScriptedTurn::Shell("echo counted-two".to_owned()),
            (Does::Reads, _) if lacks(BODY) => self.read(SKILL),
            (Does::UsesOther, 0) => self.load(request, case.delivery, OTHER),
            (Does::Refused(429), _) => ScriptedTurn::Wait(WAIT),
            (Does::Refused(status), _) => ScriptedTurn::Status(status),
            (Does::Fails(fault), _) => ScriptedTurn::Faulty(half(), fault),
            (Does::Hangs, _) => ScriptedTurn::Hang,
            (Does::Crashes, 0) => ScriptedTurn::Shell("kill -9 $PPID".to_owned()),
            (Does::Uses | Does::Reads | Does::UsesOther | Does::Answers | Does::Crashes, _) => answer(),
        }
    }
}

/// The trial of which a request tells: an agent may ask something about its task.
pub(super) fn about<'c>(cases: &'c [CalibrationCase], request: &ScriptedRequest) -> Option<&'c CalibrationCase> {
    let body = request.body.to_string();
    of_request(cases, request).or_else(|| cases.iter().find(|case| body.contains(&format!("the task {}.", case.id))))
}

/// The trial that a request is of.
pub(super) fn of_request<'c>(cases: &'c [CalibrationCase], request: &ScriptedRequest) -> Option<&'c CalibrationCase> {
    let is_it = |case: &&CalibrationCase| request.prompt.contains(&format!("the task {}.", case.id));
    cases.iter().find(is_it)
}
