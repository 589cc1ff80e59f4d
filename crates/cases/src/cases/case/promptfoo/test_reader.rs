//! A test while it is read. With a prompt it is a case.

use super::prompts::Prompt;
use super::providers;
use super::suite::{ASSERT, Placed, TestSuite, VALUE};
use super::template::{self, Vars};
use crate::cases::case::document::{Document, Node, NodeValue};
use crate::cases::case::foreign_case::ForeignCase;
use crate::cases::case::{Case, FoundCase};
use crate::text::diagnostic::{Code, shorten};
use crate::trial::outcome::Weight;

/// The keys of a test, and of what every test has.
const KEYS: [&str; 6] = ["vars", ASSERT, "options", THRESHOLD, providers::OF_TEST[0], providers::OF_TEST[1]];

/// The keys of a test that ask for nothing of a trial.
const NOTES: [&str; 3] = ["description", "metadata", "tags"];

/// The options of a test.
const OPTIONS: [&str; 2] = ["disableVarExpansion", "transform"];

/// Options that ask for nothing of a trial: the judge's own settings choose its model.
const OPTION_NOTES: [&str; 3] = ["provider", "runSerially", "storeOutputAs"];

/// The key of a score that is enough.
pub(super) const THRESHOLD: &str = "threshold";

/// The key of the weight of an assertion.
pub(super) const WEIGHT: &str = "weight";

/// A test while it is read.
pub(super) struct TestReader<'r, 'a> {
    pub suite: &'r mut TestSuite<'a>,
    test: Placed<'a>,
    /// The position of the document that is read.
    at: usize,
    vars: Vars<'a>,
    pub case: Case,
    /// Whether the skill under test should trigger, if the test says so.
    pub should_trigger: Option<bool>,
    /// What counts for that in the score.
    pub weight_of_trigger: Option<Weight>,
    /// Whether something looks at the answer.
    pub reads_answer: bool,
    /// What an assertion of weight 1 counts in the score; `None` if each must hold.
    pub share: Option<f64>,
    /// The number of assertions so far.
    pub parts: u32,
}

impl<'r, 'a> TestReader<'r, 'a> {
    /// The case of a prompt, which is `part` of several, with the test of this number, from 1.
    pub fn found(
        suite: &'r mut TestSuite<'a>,
        prompt: &Prompt,
        part: Option<usize>,
        test: Placed<'a>,
        number: usize,
    ) -> FoundCase {
        let (at, node) = test;
        let base = Case { skill: suite.skill(node), ..suite.base.clone() };
        let id = suite.id(node, part, number);
        let mut foreign = ForeignCase::new(&suite.documents[at], node, id, base);
        let case = std::mem::take(&mut foreign.draft.case);
        let mut reader = Self {
            suite,
            test,
            at,
            vars: Vec::new(),
            case,
            should_trigger: None,
            weight_of_trigger: None,
            reads_answer: false,
            share: None,
            parts: 0,
        };
        match node.text() {
            Some(name) => reader.not_done(node, format!("the tests in `{}`", shorten(name))),
            None if node.is_map() => reader.read(prompt),
            None => reader.document().wrong_type("a test", "an object", node),
        }
        let used = template::names(&prompt.template).find_map(|name| node.get("vars")?.get(name));
        let Self { suite, case, should_trigger, weight_of_trigger, .. } = reader;
        foreign.locate(&suite.documents[at], "prompt", used.or(Some(node)));
        foreign.draft.case = case;
        foreign.draft.should_trigger(should_trigger);
        foreign.draft.weigh_trigger(weight_of_trigger);
        let problems = [0, at].map(|at| suite.documents[at].problems.take()).concat();
        foreign.found(suite.dialect.format, problems)
    }

    fn read(&mut self, prompt: &Prompt) {
        let node = self.test.1;
        self.document().duplicate_keys(node, &[]);
        let default = self.suite.default.map(|default| (0, default));
        let own = [&["id"], self.suite.dialect.test_keys].concat();
        for (placed, more) in [(Some(self.test), &own[..]), (default, &[])] {
            let Some((at, object)) = placed else { continue };
            self.at = at;
            self.unsupported_keys(object, &[&KEYS, more].concat(), &NOTES);
            if let Some(options) = self.document().map(object, "options") {
                self.unsupported_keys(options, &OPTIONS, &OPTION_NOTES);
            }
            let (document, file) = (&self.suite.documents[at], self.suite.file);
            providers::read(document, file, object, &providers::OF_TEST, &mut self.case);
            self.read_vars(object);
        }
        self.at = self.test.0;
        self.ask(prompt);
        self.threshold();
        let levels = [default, Some((0, self.suite.root)), Some(self.test)].into_iter().flatten();
        let mut assertions = levels.clone().filter_map(|(_, object)| object.get(ASSERT)?.elements()).flatten();
        let has_weight = assertions.any(|assertion| assertion.get(WEIGHT).is_some());
        self.share = (self.case.least_score.is_some() || has_weight).then_some(1.0);
        for (at, object) in levels {
            self.at = at;
            if let Some(criteria) = object.get("criteria").filter(|_| self.suite.dialect.has_criteria) {
                self.assertion(criteria);
            }
            self.assertions(object);
        }
        if let Some((at, transform)) = self.option("transform").filter(|_| self.reads_answer) {
            self.at = at;
            self.not_done(transform, "a change of the answer before it is checked");
        }
        self.at = self.test.0;
    }

    /// Reads the variables of an object that are not set yet.
    fn read_vars(&mut self, object: &'a Node) {
        let written = if object.text().is_some() { Some(object) } else { object.get("vars") };
        if let Some(name) = written.filter(|vars| !vars.is_map()) {
            return self.not_done(name, "values of another file");
        }
        let input = self.suite.dialect.test_keys.first().and_then(|key| object.entry(key));
        let expands = self.option("disableVarExpansion").is_none_or(|(_, flag)| flag.value != NodeValue::Flag(true));
        for entry in object.get("vars").into_iter().flat_map(Node::entries).chain(input) {
            let (name, value) = (entry.key.as_str(), &entry.value);
            if self.vars.iter().any(|(known, _)| *known == name) {
                continue;
            }
            if expands && value.elements().and_then(<[Node]>::first).is_some_and(|first| first.text().is_some()) {
                self.not_done(value, format!("several values of the variable `{name}`"));
            }
            let read = (self.suite.dialect.message)(value).unwrap_or_else(|| template::value(name, value));
            self.vars.push((name, read));
        }
    }

    /// The value of an option of the test, or of every test.
    fn option(&self, key: &str) -> Option<Placed<'a>> {
        let objects = [Some(self.test), self.suite.default.map(|default| (0, default))];
        objects.into_iter().flatten().find_map(|(at, object)| Some((at, object.get("options")?.get(key)?)))
    }

    /// Fills the prompt.
    fn ask(&mut self, prompt: &Prompt) {
        let node = self.test.1;
        self.case.unsupported.extend(prompt.unsupported.iter().cloned());
        match template::render(&prompt.template, &self.vars) {
            _ if !prompt.unsupported.is_empty() => {}
            Ok(prompt) if prompt.trim().is_empty() => {
                let range = node.range.start..node.range.start + 1;
                self.document().problem(Code::EmptyValue, range, "the prompt is empty");
            }
            Ok(prompt) => self.case.prompt = prompt,
            Err(what) => self.not_done(node, what),
        }
        if self.case.prompt.is_empty() {
            prompt.template.clone_into(&mut self.case.prompt);
        }
    }

    /// The score that is enough for a pass.
    fn threshold(&mut self) {
        let objects = [Some(self.test), self.suite.default.map(|default| (0, default)), Some((0, self.suite.root))];
        let found = objects.into_iter().flatten().find_map(|(at, object)| Some((at, object.get(THRESHOLD)?)));
        self.case.least_score = match found {
            None => self.suite.dialect.threshold,
            Some((at, written)) => {
                let least = written.amount().filter(|least| (0.0..=1.0).contains(least));
                if least.is_none() {
                    self.suite.documents[at].wrong_type("`threshold`", "a score from 0 to 1", written);
                }
                least
            }
        };
    }

    /// The document that is read.
    pub fn document(&mut self) -> &mut Document<'a> {
        &mut self.suite.documents[self.at]
    }

    /// What is not done of the test.
    pub fn not_done(&mut self, node: &Node, what: impl Into<String>) {
        let unsupported = self.document().unsupported(what, node);
        self.case.unsupported.push(unsupported);
    }

    /// Keys that are neither `known` nor `notes` make the case unsupported.
    pub fn unsupported_keys(&mut self, object: &Node, known: &[&str], notes: &[&str]) {
        let unknown = self.document().unsupported_keys(object, known, notes);
        self.case.unsupported.extend(unknown);
    }

    /// Reports a value that is empty.
    pub fn empty(&mut self, value: &Node) {
        self.document().problem(Code::EmptyValue, value.range.clone(), format!("`{VALUE}` is empty"));
    }

    /// A text of `value` with the values of its variables.
    pub fn rendered(&mut self, value: &Node, text: &str) -> Option<String> {
        if template::is_reference(text) {
            self.not_done(value, format!("the file of an assertion, `{}`", shorten(text)));
            return None;
        }
        template::render(text, &self.vars).map_err(|what| self.not_done(value, what)).ok()
    }
}

/// The weight of an assertion in the list that it is in.
pub(super) fn weight(assertion: &Node) -> f64 {
    assertion.get(WEIGHT).and_then(Node::amount).unwrap_or(1.0)
}
