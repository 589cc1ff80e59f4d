//! A prompt with a test: a case.

use std::collections::HashSet;

use super::prompts::Prompt;
use super::template::{self, Vars};
use super::test_reader::{ASSERT, TestReader, WEIGHT, number};
use super::{Dialect, skill_use};
use crate::cases::case::document::{Document, Node, NodeValue};
use crate::cases::case::fields::CaseDraft;
use crate::cases::case::{Case, ForeignFile, FoundCase, ReadCase};
use crate::settings::ActivationRule;
use crate::text::diagnostic::{Code, shorten};
use crate::trial::outcome::Weight;

/// The keys of a test.
const KEYS: [&str; 4] = ["vars", ASSERT, "options", "threshold"];

/// The keys of a test that ask for nothing of a trial.
const NOTES: [&str; 5] = ["description", "metadata", "provider", "providers", "tags"];

/// The options of a test.
const OPTIONS: [&str; 2] = ["disableVarExpansion", "transform"];

/// Options that ask for nothing of a trial: the judge's own settings choose its model.
const OPTION_NOTES: [&str; 3] = ["provider", "runSerially", "storeOutputAs"];

/// A test in a file.
#[derive(Clone, Copy, Debug)]
pub(super) struct SuiteTest<'n> {
    /// The position of its document.
    pub document: usize,
    pub node: &'n Node,
}

/// Reads the tests of a suite.
pub(super) struct CaseReader<'a> {
    pub dialect: &'static Dialect,
    pub file: &'a ForeignFile<'a>,
    /// The file, and the files of tests that it names.
    pub documents: Vec<Document<'a>>,
    pub root: &'a Node,
    /// What every test has.
    pub default: Option<&'a Node>,
    /// What the file asks of every case.
    pub base: Case,
    /// The skills that the file names.
    pub skills: Vec<String>,
    /// The ids so far.
    pub names: HashSet<String>,
}

impl<'a> CaseReader<'a> {
    /// The case of a prompt, which is `part` of several, with the test of this number, from 1.
    pub fn found(&mut self, prompt: &Prompt, part: Option<usize>, test: &SuiteTest<'a>, number: usize) -> FoundCase {
        let (at, node) = (test.document, test.node);
        let origin = self.documents[at].place(node.range.start..node.range.start + 1);
        let id = self.id(node, part, number);
        let skill = self.skill(node);
        let mut draft = CaseDraft::new(&skill, id.clone(), origin.clone());
        draft.case = Case {
            id: draft.case.id,
            skill: draft.case.skill,
            origin: draft.case.origin,
            should_trigger: true,
            default_activation: ActivationRule::Tool,
            ..self.base.clone()
        };
        draft.case.unsupported.extend(prompt.unsupported.iter().cloned());
        let mut places = vec![("id", origin.clone())];
        let (mut should_trigger, mut weight) = (None, None);
        if node.is_map() {
            let vars = self.vars(test, &mut draft.case);
            self.prompt(prompt, test, &vars, &mut draft.case);
            let used = template::names(&prompt.template).find_map(|name| node.get("vars")?.get(name));
            let asked = used.map_or_else(|| origin.clone(), |used| self.documents[at].place(used.range.clone()));
            places.push(("prompt", asked));
            (should_trigger, weight) = self.read(test, &vars, &mut draft.case);
        } else if let Some(name) = node.text() {
            let what = format!("the tests in `{}`", shorten(name));
            draft.case.unsupported.push(self.documents[at].unsupported(what, node));
        } else {
            self.documents[at].wrong_type("a test", "an object", node);
        }
        draft.should_trigger(should_trigger);
        draft.weigh_trigger(weight);
        let problems: Vec<_> =
            self.documents.iter_mut().flat_map(|document| std::mem::take(&mut document.problems)).collect();
        let path = self.documents[at].path;
        let case = if problems.is_empty() { Ok(draft.finish_foreign()) } else { Err(problems) };
        FoundCase::new(id, skill, path, origin.line, ReadCase { format: self.dialect.format, case, places })
    }

    fn id(&mut self, node: &Node, part: Option<usize>, number: usize) -> String {
        // `promptfooconfig.greeting.yaml` has other cases than `promptfooconfig.yaml`.
        let name = self.file.path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let middle = name.split('.').skip(1).filter(|part| !part.eq_ignore_ascii_case("eval"));
        let mut parts: Vec<String> = middle.map(str::to_owned).collect();
        parts.pop();
        let named = ["id", "description"].iter().find_map(|key| node.get(key)?.text());
        parts.push(named.map_or_else(|| number.to_string(), str::to_owned));
        let end = part.map_or_else(String::new, |part| format!("-{part}"));
        let mut id = self.file.case_id(&format!("{}{end}", parts.join("-")));
        if self.names.contains(&id) {
            id = self.file.case_id(&format!("{number}{end}-{}", parts.join("-")));
        }
        self.names.insert(id.clone());
        id
    }

    /// The skill under test: the one that the file's place stands for, or that the test requires, or that it forbids, or that
    /// another test names. Of these, the first that is here.
    fn skill(&self, node: &Node) -> String {
        let lists = [Some(node), self.default, Some(self.root)].into_iter().flatten();
        let named: Vec<(String, bool)> = lists.flat_map(skill_use::named).collect();
        let side = |side: bool| named.iter().filter(move |(_, required)| *required == side).map(|(name, _)| name);
        let place = self.file.skill.map(str::to_owned);
        let all = place.iter().chain(side(true)).chain(side(false)).chain(&self.skills);
        let slugs: Vec<String> = all.map(|name| self.file.skill_slug(name)).collect();
        let here = slugs.iter().find(|slug| self.file.skills.contains(&slug.as_str()));
        here.or(slugs.first()).cloned().unwrap_or_default()
    }

    /// The variables of a test, and those of every test that it does not set.
    fn vars(&mut self, test: &SuiteTest<'a>, case: &mut Case) -> Vars<'a> {
        let mut vars: Vars<'a> = Vec::new();
        let own = test.node.get("vars").into_iter().flat_map(Node::entries);
        let own = own.map(|entry| (entry.key.as_str(), &entry.value));
        let input = self.dialect.test_keys.iter().find_map(|key| Some((*key, test.node.get(key)?)));
        let shared = self.default.and_then(|default| default.get("vars")).into_iter().flat_map(Node::entries);
        let shared = shared.map(|entry| (entry.key.as_str(), &entry.value));
        let expands = self.option(test, "disableVarExpansion").is_none_or(|flag| flag.value != NodeValue::Flag(true));
        let lists = [(test.document, own.chain(input).collect::<Vec<_>>()), (0, shared.collect())];
        for (at, (name, value)) in lists.into_iter().flat_map(|(at, list)| list.into_iter().map(move |var| (at, var))) {
            if vars.iter().any(|(known, _)| *known == name) {
                continue;
            }
            let first = value.elements().and_then(<[Node]>::first);
            if expands && first.is_some_and(|first| first.text().is_some()) {
                let what = format!("several values of the variable `{name}`");
                case.unsupported.push(self.documents[at].unsupported(what, value));
            }
            let read = (self.dialect.message)(value).unwrap_or_else(|| template::value(name, value));
            vars.push((name, read));
        }
        vars
    }

    /// The value of an option of a test, or of every test.
    fn option(&self, test: &SuiteTest<'a>, key: &str) -> Option<&'a Node> {
        let objects = [Some(test.node), self.default];
        objects.into_iter().flatten().find_map(|object| object.get("options")?.get(key))
    }

    fn prompt(&mut self, prompt: &Prompt, test: &SuiteTest<'a>, vars: &Vars<'a>, case: &mut Case) {
        match template::render(&prompt.template, vars) {
            _ if !prompt.unsupported.is_empty() => {}
            Ok(prompt) if prompt.trim().is_empty() => {
                let range = test.node.range.start..test.node.range.start + 1;
                self.documents[test.document].problem(Code::EmptyValue, range, "the prompt is empty");
            }
            Ok(prompt) => case.prompt = prompt,
            Err(what) => case.unsupported.push(self.documents[test.document].unsupported(what, test.node)),
        }
        if case.prompt.is_empty() {
            prompt.template.clone_into(&mut case.prompt);
        }
    }

    /// Fills the case. Returns whether the skill should trigger, if the test says so, and what that counts in the score.
    fn read(&mut self, test: &SuiteTest<'a>, vars: &Vars<'a>, case: &mut Case) -> (Option<bool>, Option<Weight>) {
        let (dialect, node, document) = (self.dialect, test.node, &mut self.documents[test.document]);
        document.duplicate_keys(node, &[]);
        let known: Vec<&str> = KEYS.iter().chain(dialect.test_keys).chain(&["id"]).copied().collect();
        case.unsupported.extend(document.unsupported_keys(node, &known, &NOTES));
        for (at, object) in [(test.document, Some(node)), (0, self.default)] {
            let document = &mut self.documents[at];
            let Some(object) = object else { continue };
            if let Some(name) =
                object.text().map(|_| object).or_else(|| object.get("vars").filter(|vars| !vars.is_map()))
            {
                case.unsupported.push(document.unsupported("values of another file", name));
            }
            if let Some(options) = document.map(object, "options").filter(|_| object.is_map()) {
                case.unsupported.extend(document.unsupported_keys(options, &OPTIONS, &OPTION_NOTES));
            }
        }
        if let Some(default) = self.default.filter(|default| default.is_map()) {
            case.unsupported.extend(self.documents[0].unsupported_keys(default, &KEYS, &NOTES));
        }
        self.threshold(test, case);
        let objects = [self.default, Some(self.root), Some(node)].into_iter().flatten();
        let mut assertions = objects.filter_map(|object| object.get(ASSERT)?.elements()).flatten();
        let has_weight = assertions.any(|assertion| assertion.get(WEIGHT).is_some());
        let share = (case.least_score.is_some() || has_weight).then_some(1.0);
        let (mut should_trigger, mut weight_of_trigger, mut reads_answer, mut parts) = (None, None, false, 0);
        for (at, object) in [(0, self.default), (0, Some(self.root)), (test.document, Some(node))] {
            let (Some(object), document) = (object.filter(|object| object.is_map()), &mut self.documents[at]) else {
                continue;
            };
            let mut reader = TestReader {
                dialect,
                file: self.file,
                document,
                vars,
                case: &mut *case,
                should_trigger: &mut should_trigger,
                weight_of_trigger: &mut weight_of_trigger,
                reads_answer: &mut reads_answer,
                share,
                parts: &mut parts,
            };
            if let Some(criteria) = object.get("criteria").filter(|_| dialect.has_criteria) {
                reader.assertion(criteria);
            }
            reader.assertions(object);
        }
        if let Some(transform) = self.option(test, "transform").filter(|_| reads_answer) {
            let at = if node.get("options").and_then(|options| options.get("transform")).is_some() {
                test.document
            } else {
                0
            };
            case.unsupported
                .push(self.documents[at].unsupported("a change of the answer before it is checked", transform));
        }
        (should_trigger, weight_of_trigger)
    }

    /// The score that is enough for a pass.
    fn threshold(&mut self, test: &SuiteTest<'a>, case: &mut Case) {
        let objects = [(test.document, Some(test.node)), (0, self.default), (0, Some(self.root))];
        let found = objects.into_iter().find_map(|(at, object)| Some((at, object?, object?.get("threshold")?)));
        let Some((at, object, written)) = found else {
            case.least_score = self.dialect.threshold;
            return;
        };
        match number(object, "threshold").filter(|least| (0.0..=1.0).contains(least)) {
            Some(least) => case.least_score = Some(least),
            None => self.documents[at].wrong_type("`threshold`", "a score from 0 to 1", written),
        }
    }
}
