//! Repositories of many skills, and what a model request shows of them.

use skill_evals_evidence::trace::exposure::DescriptionVisibility;

use super::fixture::Fixture;
use super::live::request_text;
use super::stand_in::Request;

/// The name of a skill, `skill-007`.
pub fn name(number: usize) -> String {
    format!("skill-{number:03}")
}

/// A description of this many characters, different from all others at its start.
pub fn description(number: usize, length: usize) -> String {
    let text =
        format!("Number {number:03} does its thing. {}", "Use it when somebody asks for that very thing. ".repeat(30));
    format!("{}.", &text[..length - 1])
}

/// A repository of this many skills with descriptions of this many characters. The first and the last have a case `it`
/// that asks for the whole description.
pub fn catalogue(count: usize, length: usize) -> Fixture {
    let skill = |fixture: Fixture, number| {
        let (name, description) = (name(number), description(number, length));
        fixture.skill_text(&name, format!("---\nname: {name}\ndescription: {description}\n---\n\nDo it.\n"))
    };
    let case = |fixture: Fixture, number| {
        fixture.prompts(&name(number), "id,should_trigger,prompt,described\nit,false,What is 2+2?,true\n")
    };
    [0, count - 1].into_iter().fold((0..count).fold(Fixture::new(), skill), case)
}

/// What a model request shows of each of these skills; `None` of one that it does not list.
pub fn shown(request: &Request, count: usize, length: usize) -> Vec<Option<DescriptionVisibility>> {
    let text = request_text(request);
    let of = |number| {
        // By MCP it stands in a tool's description or in the server's instructions.
        if text.contains(&description(number, length)) {
            return Some(DescriptionVisibility::Whole);
        }
        let start = format!("- {}", name(number));
        let mut lines = text.lines().filter_map(|line| line.strip_prefix(&start));
        let Some(line) = lines.find(|rest| rest.is_empty() || rest.starts_with(':')) else {
            return text.contains(&name(number)).then_some(DescriptionVisibility::NameOnly);
        };
        let shown = line.trim_start_matches(':').split("(file: ").next().unwrap_or_default();
        Some(DescriptionVisibility::in_list(&description(number, length), shown))
    };
    (0..count).map(of).collect()
}
