//! The system prompt: the task, the list of skills as agentskills.io describes it, and what the case adds.

use std::fmt::Write;

use super::super::setup::ChatSetup;
use super::completions::ANSWER;
use super::skills::LoadableSkill;
use super::tools::Tool;
use crate::agent::skill_list::TAGS;

const TASK: &str = "You are an agent. Your working directory is the user's workspace. Do what the user asks with the tools that \
                    you have, and then answer.";

const ABOUT_SKILLS: &str = "Skills have instructions for special tasks. If a task fits the description of a skill, first load \
                            the skill with the tool `skill` and then follow its instructions.";

pub(super) fn system(setup: &ChatSetup, skills: &[LoadableSkill], tools: &[Tool]) -> String {
    let mut parts = vec![TASK.to_owned()];
    if !setup.has_tools {
        parts.push(actions(tools));
    }
    if !skills.is_empty() {
        parts.push(format!("{ABOUT_SKILLS}\n\n{}", list(skills)));
    }
    parts.extend(setup.system_prompt.clone());
    parts.join("\n\n")
}

fn list(skills: &[LoadableSkill]) -> String {
    let mut text = format!("{}\n", TAGS[0]);
    for skill in skills {
        let (name, description) = (escaped(&skill.name), escaped(&skill.description));
        let location = escaped(&skill.location().display().to_string());
        let _ = write!(
            text,
            "<skill>\n<name>{name}</name>\n<description>{description}</description>\n<location>{location}</location>\n\
             </skill>\n"
        );
    }
    text + TAGS[1]
}

/// The tools in words, for a model that is offered none.
fn actions(tools: &[Tool]) -> String {
    let mut text =
        "Each of your answers is one action, as JSON: {\"action\":{\"tool\":NAME, …}}. The tools:\n".to_owned();
    for tool in tools {
        let inputs: Vec<String> = tool.properties.iter().map(|(name, about, _)| format!("{name} ({about})")).collect();
        let _ = writeln!(text, "- {}: {}. Inputs: {}", tool.name, tool.about, inputs.join(", "));
    }
    let _ = write!(text, "- {ANSWER}: ends your work. Inputs: text (the answer to the user)");
    text
}

/// A text as XML escapes it.
fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}
