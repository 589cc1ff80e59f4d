//! One stimulus: a case.

use std::collections::HashSet;

use super::scoring::Scoring;
use super::{Document, RunSettings, environment, graders, read_runs, run_settings};
use crate::cases::case::document::{Node, NodeValue};
use crate::cases::case::fields::assertions;
use crate::cases::case::foreign_case::ForeignCase;
use crate::cases::case::{Case, CaseFormat, FileCases, ForeignFile, FoundCase, Unsupported, known_tool};
use crate::checks;
use crate::settings::limits::MOST_TURNS;
use crate::settings::trials::Repetition;
use crate::text::diagnostic::Code;
use crate::trial::outcome::Weight;

pub(super) type AsStimulus = fn(&mut Document<'_>, &ForeignFile<'_>, &Node) -> Node;

pub(super) struct StimulusReader<'a> {
    pub format: &'static CaseFormat,
    /// The stimulus that a case of the format stands for, if it is not one itself.
    pub as_stimulus: Option<AsStimulus>,
    pub file: &'a ForeignFile<'a>,
    pub document: Document<'a>,
    pub root: &'a Node,
    /// What the file asks of every case and this program does not do.
    pub shared: Vec<Unsupported>,
    /// What the file says about the runs of every case.
    pub settings: RunSettings,
    /// What the file says about the score of every case.
    pub scoring: Scoring,
}

/// The keys of a stimulus.
const KEYS: [&str; 13] = [
    "name",
    "description",
    "prompt",
    "turns",
    "tags",
    "environment",
    "constraints",
    "graders",
    "rubric",
    "config",
    "runs",
    "timeout",
    "expect_activation",
];

impl StimulusReader<'_> {
    /// All cases, and the problems of the file so far.
    pub fn file_cases(mut self, list: &[Node]) -> FileCases {
        let problems = self.document.problems.take();
        let mut ids = HashSet::new();
        let cases = (1..).zip(list).map(|(number, node)| self.found(node, number, &mut ids)).collect();
        FileCases { cases, problems, ..FileCases::default() }
    }

    /// The case with this number, from 1, and with an id that is not taken.
    fn found(&mut self, node: &Node, number: usize, ids: &mut HashSet<String>) -> FoundCase {
        let name = node.get("name").and_then(Node::text).map_or_else(|| number.to_string(), str::to_owned);
        let id = self.file.free_id(&name, || format!("{number}-{name}"), ids);
        let base = Case { skill: self.skill(node), unsupported: self.shared.clone(), ..Case::default() };
        let mut case = ForeignCase::new(&self.document, node, id, base);
        case.locate(&self.document, "prompt", node.get("prompt"));
        self.document.duplicate_keys(node, &[]);
        if node.is_map() {
            let stimulus = self.as_stimulus.map(|read| read(&mut self.document, self.file, node));
            let (should_trigger, weight) = self.read(stimulus.as_ref().unwrap_or(node), &mut case.draft.case);
            case.draft.should_trigger(should_trigger);
            case.draft.weigh_trigger(weight);
        } else {
            self.document.wrong_type(&format!("a {}", self.format.name), "an object", node);
        }
        case.found(self.format, self.document.problems.take())
    }

    /// The skill under test: the one that the tags name, or that the file's place stands for, or that must be activated. Of these,
    /// the first that is here.
    fn skill(&self, node: &Node) -> String {
        let of_tags = |node: &Node| node.get("tags").and_then(|tags| tags.get("skill")?.text().map(str::to_owned));
        let required = graders::required_skills(node).into_iter().next();
        let place = self.file.skill.map(str::to_owned);
        let named = [of_tags(node), of_tags(self.root), place, required].into_iter().flatten();
        let slugs: Vec<String> = named.map(|name| self.file.skill_slug(&name)).collect();
        let here = slugs.iter().find(|slug| self.file.skills.contains(&slug.as_str()));
        here.or(slugs.first()).cloned().unwrap_or_default()
    }

    /// Fills the case. Returns whether the skill should trigger, if the stimulus says so, and what that counts in the score.
    fn read(&mut self, node: &Node, case: &mut Case) -> (Option<bool>, Option<Weight>) {
        case.unsupported.extend(self.document.unsupported_keys(node, &KEYS, &[]));
        self.prompts(node, case);
        for tags in [self.root, node] {
            case.tags.extend(read_tags(tags));
        }
        for object in [self.root, node] {
            environment::read(&mut self.document, self.file, object, case);
        }
        let outer = RunSettings { unsupported: Vec::new(), ..self.settings.clone() };
        let mut settings = run_settings(&mut self.document, node, "config", outer);
        read_runs(&mut self.document, node, &mut settings);
        case.repetition = Repetition { trials: settings.trials, threshold: None };
        case.timeout = settings.timeout;
        case.unsupported.append(&mut settings.unsupported);
        self.constraints(node, case);
        if let Some(rubric) = node.get("rubric") {
            case.assertions.extend(assertions(&mut self.document, "rubric", rubric));
        }
        let expected = self.document.flag(node, "expect_activation");
        case.least_score = self.scoring.threshold;
        graders::read(&mut self.document, self.file, node, case, expected, &self.scoring)
    }

    fn prompts(&mut self, node: &Node, case: &mut Case) {
        if node.get("turns").is_none() {
            if let Some(prompt) = self.document.required_text(node, "prompt") {
                prompt.clone_into(&mut case.prompt);
            }
            return;
        }
        let mut turns = self.document.texts(node, "turns");
        if let Some(prompt) = node.get("prompt") {
            case.unsupported.push(self.document.unsupported("`prompt` next to `turns`", prompt));
        }
        if turns.is_empty() || turns.iter().any(|turn| turn.trim().is_empty()) {
            let range = node.get("turns").unwrap_or(node).range.clone();
            self.document.problem(Code::EmptyValue, range, "`turns` holds no text");
            return;
        }
        case.prompt = turns.remove(0);
        case.follow_ups = turns;
    }

    fn constraints(&mut self, node: &Node, case: &mut Case) {
        let Some(constraints) = self.document.map(node, "constraints") else { return };
        let known = ["max_turns", "max_tokens", "expect_tools", "reject_tools", "expect_skills", "reject_skills"];
        case.unsupported.extend(self.document.unsupported_keys(constraints, &known, &[]));
        case.max_turns = self.document.count(constraints, "max_turns", 1..=MOST_TURNS, "a number of turns");
        // Some agents have no such limit.
        case.checks.extend(case.max_turns.map(checks::max_turns));
        let tokens = self.document.count(constraints, "max_tokens", 0..=u64::MAX, "a number of tokens");
        case.checks.extend(tokens.map(checks::max_total_tokens));
        let skills = self.document.texts(constraints, "expect_skills");
        case.checks.extend((!skills.is_empty()).then(|| checks::activates(skills, false)));
        let skills = self.document.texts(constraints, "reject_skills");
        case.checks.extend((!skills.is_empty()).then(|| checks::rejects(skills)));
        for (key, is_required) in [("expect_tools", true), ("reject_tools", false)] {
            let list = self.document.list(constraints, key).unwrap_or_default();
            for tool in list {
                known_tool::read_named(&mut self.document, tool, list, is_required, case);
            }
        }
    }
}

/// The tags as words: those of a map as `key=value`.
fn read_tags(object: &Node) -> Vec<String> {
    let Some(tags) = object.get("tags") else { return Vec::new() };
    let value = |node: &Node| match &node.value {
        NodeValue::Text(text) | NodeValue::Number(text) => Some(text.clone()),
        NodeValue::Flag(flag) => Some(flag.to_string()),
        _ => None,
    };
    let mut words: Vec<String> = tags.elements().unwrap_or_default().iter().filter_map(value).collect();
    for entry in tags.entries() {
        let values = entry.value.elements().unwrap_or(std::slice::from_ref(&entry.value));
        words.extend(values.iter().filter_map(|node| Some(format!("{}={}", entry.key, value(node)?))));
    }
    words
}
