//! JUnit XML. A test that occurs several times, and is counted as often, has as many trials.

use std::collections::{BTreeSet, HashMap};

use quick_xml::Reader;
use quick_xml::events::{BytesStart, Event};

use super::{FORMAT, ForeignTrial, ResultFormat, ResultRow, not_as_stated};

pub const JUNIT: ResultFormat =
    ResultFormat { name: "JUnit", keys: &["testsuites|testsuite"], own: Some(read), ..FORMAT };

const TEST: &[u8] = b"testcase";
const SUITES: [&[u8]; 2] = [b"testsuites", b"testsuite"];

/// The words of `status` and `result`, in any case: those of `GoogleTest`, Ginkgo, and of programs that write how a test ended. Nothing
/// stands for a test that was not run.
const WORDS: [(&[&str], Option<ForeignTrial>); 4] = [
    (&["run", "completed", "passed", "pass", "success", "successful", "ok"], Some(ForeignTrial::Pass)),
    (&["failed", "fail", "failure", "timedout"], Some(ForeignTrial::Fail)),
    (&["error", "broken", "panicked", "interrupted", "aborted"], Some(ForeignTrial::Error)),
    (&["notrun", "suppressed", "skipped", "disabled", "ignored", "pending"], None),
];

/// A test whose end is not read yet.
#[derive(Clone)]
struct OpenTest {
    name: String,
    suite: String,
    /// The file that it is in, if the program says so.
    file: String,
    /// Nothing if it was skipped. Of several that are said, the worst.
    result: Option<ForeignTrial>,
    /// How many failures and errors are written.
    bad: u64,
    /// Earlier trials of it.
    earlier: Vec<ForeignTrial>,
}

/// A suite that is open, or all suites.
#[derive(Default)]
struct OpenSuite {
    name: String,
    /// How many tests, failures and errors it says that it has.
    stated: Option<u64>,
    failures: Option<u64>,
    errors: Option<u64>,
    /// Its own tests, and those of suites in it that do not say how many they have.
    tests: Vec<OpenTest>,
    /// How many tests the other suites in it have, which some programs count, too.
    nested: u64,
    /// How many of these are failures or errors.
    nested_bad: u64,
}

fn read(bytes: &[u8]) -> Result<Vec<ResultRow>, String> {
    let mut reader = Reader::from_reader(bytes);
    let (mut tests, mut open): (_, Option<OpenTest>) = (Vec::new(), None);
    // Tests outside of every suite have one without a name.
    let (mut suites, mut depth) = (vec![OpenSuite::default()], 0_usize);
    loop {
        let event = reader.read_event().map_err(|error| format!("byte {}: {error}", reader.error_position()))?;
        depth = match &event {
            Event::Start(_) => depth + 1,
            Event::End(_) => depth.saturating_sub(1),
            _ => depth,
        };
        let is_empty = matches!(event, Event::Empty(_));
        match event {
            Event::Start(tag) | Event::Empty(tag) if tag.local_name().as_ref() == TEST => {
                let test = test(&tag, &suites)?;
                match open {
                    Some(_) => return Err(format!("a `testcase` in another one: {}", test.name)),
                    None if is_empty => in_suite(&mut suites, test),
                    None => open = Some(test),
                }
            }
            Event::Start(tag) if SUITES.contains(&tag.local_name().as_ref()) => {
                let suite = suite(&tag, &suites)?;
                suites.push(suite);
            }
            Event::Start(tag) | Event::Empty(tag) => {
                if let Some(test) = &mut open {
                    test.saw(tag.local_name().as_ref());
                }
            }
            Event::End(tag) if tag.local_name().as_ref() == TEST => {
                if let Some(test) = open.take() {
                    in_suite(&mut suites, test);
                }
            }
            Event::End(tag) if SUITES.contains(&tag.local_name().as_ref()) && suites.len() > 1 => {
                suite_ends(&mut suites, &mut tests)?;
            }
            Event::Eof if depth > 0 => return Err("the file ends in an open element: it is not whole".to_owned()),
            Event::Eof => {
                tests.extend(suites.into_iter().flat_map(|suite| suite.tests));
                told_apart(&mut tests);
                return Ok(tests.iter().flat_map(OpenTest::rows).collect());
            }
            _ => {}
        }
    }
}

/// The innermost suite ends: its tests are chosen, or are those of the suite around it.
fn suite_ends(suites: &mut Vec<OpenSuite>, tests: &mut Vec<OpenTest>) -> Result<(), String> {
    let suite = suites.pop().unwrap_or_default();
    let Some(around) = suites.last_mut() else { return Ok(()) };
    around.nested += suite.nested;
    around.nested_bad += suite.nested_bad;
    let Some(stated) = suite.stated else {
        suite.has_stated_bad(&suite.tests)?;
        around.tests.extend(suite.tests);
        return Ok(());
    };
    let chosen = suite.trials(stated)?;
    around.nested += chosen.len() as u64;
    around.nested_bad += bad(&chosen);
    tests.extend(chosen);
    Ok(())
}

/// Tells tests of one name by their files, if they are in several.
fn told_apart(tests: &mut [OpenTest]) {
    let mut files: HashMap<_, BTreeSet<_>> = HashMap::new();
    for test in &*tests {
        files.entry((test.suite.clone(), test.name.clone())).or_default().insert(test.file.clone());
    }
    for test in tests.iter_mut().filter(|test| files[&(test.suite.clone(), test.name.clone())].len() > 1) {
        test.name = format!("{}/{}", test.file, test.name);
    }
}

/// How many tests have failed or were not measured.
fn bad(tests: &[OpenTest]) -> u64 {
    tests.iter().filter(|test| matches!(test.result, Some(ForeignTrial::Fail | ForeignTrial::Error))).count() as u64
}

fn in_suite(suites: &mut [OpenSuite], test: OpenTest) {
    if let Some(suite) = suites.last_mut() {
        suite.tests.push(test);
    }
}

fn attribute(tag: &BytesStart<'_>, name: &str) -> Result<Option<String>, String> {
    let found = tag.try_get_attribute(name).map_err(|error| error.to_string())?;
    let value = found.map(|found| found.normalized_value(quick_xml::XmlVersion::default()));
    let value = value.transpose().map_err(|error| error.to_string())?;
    Ok(value.map(std::borrow::Cow::into_owned).filter(|value| !value.is_empty()))
}

/// A suite by its path: suites in different ones may have one name.
fn suite(tag: &BytesStart<'_>, around: &[OpenSuite]) -> Result<OpenSuite, String> {
    let number = |key| {
        let stated = attribute(tag, key)?;
        let number = |text: &String| text.trim().parse().map_err(|_| format!("`{key}` is {text:?}; expected a number"));
        stated.as_ref().map(number).transpose()
    };
    let outer = around.last().map(|suite| suite.name.as_str()).unwrap_or_default();
    // What all suites together are called is no part of a test's name.
    let own = attribute(tag, "name")?.filter(|_| tag.local_name().as_ref() != SUITES[0]).unwrap_or_default();
    let name = if outer.is_empty() || own.is_empty() { format!("{outer}{own}") } else { format!("{outer}/{own}") };
    let (failures, errors) = (number("failures")?, number("errors")?);
    Ok(OpenSuite { name, stated: number("tests")?, failures, errors, ..OpenSuite::default() })
}

/// A test by its class, or else by its suite: tests of different suites may have one name.
fn test(tag: &BytesStart<'_>, suites: &[OpenSuite]) -> Result<OpenTest, String> {
    let name = attribute(tag, "name")?.ok_or("a `testcase` without `name`")?;
    let suite = suites.last().map(|suite| suite.name.clone()).unwrap_or_default();
    let class = attribute(tag, "classname")?;
    let name = class.as_ref().map_or(name.clone(), |class| format!("{class}/{name}"));
    let file = attribute(tag, "file")?.unwrap_or_default();
    let result = Some(ForeignTrial::Pass);
    let mut test = OpenTest { name, suite, file, result, bad: 0, earlier: Vec::new() };
    for key in ["status", "result"] {
        let Some(word) = attribute(tag, key)? else { continue };
        let known = WORDS.iter().find(|(words, _)| words.iter().any(|known| known.eq_ignore_ascii_case(word.trim())));
        let Some((_, result)) = known else {
            return Err(format!("{} has the `{key}` {word:?}, which is not known", test.name));
        };
        test.came_to(*result);
    }
    Ok(test)
}

impl OpenTest {
    fn saw(&mut self, child: &[u8]) {
        match child {
            b"failure" => self.went_wrong(ForeignTrial::Fail),
            b"error" => self.went_wrong(ForeignTrial::Error),
            b"skipped" | b"disabled" => self.came_to(None),
            // Surefire and nextest: it failed before it passed, or failed again.
            b"flakyFailure" | b"rerunFailure" => self.earlier.push(ForeignTrial::Fail),
            b"flakyError" | b"rerunError" => self.earlier.push(ForeignTrial::Error),
            _ => {}
        }
    }

    fn went_wrong(&mut self, result: ForeignTrial) {
        self.bad += 1;
        self.came_to(Some(result));
    }

    /// Notes what is said of its end: a failure stays one, whatever came of what follows.
    fn came_to(&mut self, result: Option<ForeignTrial>) {
        let worse = [Some(ForeignTrial::Pass), None, Some(ForeignTrial::Error), Some(ForeignTrial::Fail)];
        let rank = |result| worse.iter().position(|of| *of == result);
        self.result = if rank(result) > rank(self.result) { result } else { self.result };
    }

    fn rows(&self) -> impl Iterator<Item = ResultRow> {
        let row = |result| ResultRow::trial(self.name.clone(), "", result, None).within(&self.suite);
        // The tool's own figures have only the last one.
        let earlier = self.earlier.iter().map(move |result| ResultRow { scored: 0, score: 0.0, ..row(*result) });
        earlier.chain(self.result.map(row))
    }
}

impl OpenSuite {
    /// The tests, of which the suite says that it has so many. If these are fewer than its elements, the last element of a name is its
    /// result and the others are tries before it, of which pytest does not write how they ended.
    fn trials(&self, stated: u64) -> Result<Vec<OpenTest>, String> {
        let with = |tests: &[OpenTest], result| tests.iter().filter(|test| test.result == result).count() as u64;
        let is_it = |all: u64| [all, all + self.nested].contains(&stated);
        // pytest counts an error after a test once more.
        let counts = |tests: &[OpenTest]| {
            let all = tests.len() as u64;
            is_it(all) || is_it(all + with(tests, Some(ForeignTrial::Error)))
        };
        // Some programs count no skipped tests.
        let counts_run = |tests: &[OpenTest]| is_it(tests.len() as u64 - with(tests, None));
        // pytest counts skipped tests, so that the tries of a test are no trials even where there are as many as skipped tests.
        let last = self.last_of_each();
        let is_last = last.len() < self.tests.len() && counts(&last);
        let chosen = if !counts(&self.tests) && (is_last || (counts_run(&last) && !counts_run(&self.tests))) {
            last
        } else if counts(&self.tests) || counts_run(&self.tests) {
            self.tests.clone()
        } else {
            return Err(not_as_stated(&self.of_it("tests"), stated, last.len() as u64 + self.nested));
        };
        self.has_stated_bad(&chosen)?;
        Ok(chosen)
    }

    /// `what` in a suite that has a name.
    fn of_it(&self, what: &str) -> String {
        if self.name.is_empty() { what.to_owned() } else { format!("{what} in `{}`", self.name) }
    }

    /// The last element of each name; but of a failure, and then an error while it is cleaned up, the first.
    fn last_of_each(&self) -> Vec<OpenTest> {
        let mut last: Vec<OpenTest> = Vec::new();
        let mut places: HashMap<[&str; 3], usize> = HashMap::new();
        for test in &self.tests {
            let place = *places.entry([&test.suite, &test.name, &test.file]).or_insert(last.len());
            if place == last.len() {
                last.push(test.clone());
            } else if (last[place].result, test.result) != (Some(ForeignTrial::Fail), Some(ForeignTrial::Error)) {
                last[place] = test.clone();
            }
        }
        last
    }

    /// Checks the failures and errors of these tests against what the suite says, which may count the suites in it, and each failure
    /// and error of a test that has several.
    fn has_stated_bad(&self, tests: &[OpenTest]) -> Result<(), String> {
        if self.failures.is_none() && self.errors.is_none() {
            return Ok(());
        }
        let stated = self.failures.unwrap_or(0) + self.errors.unwrap_or(0);
        let written = |test: &OpenTest| test.bad.max(bad(std::slice::from_ref(test)));
        let mut found = vec![bad(tests), tests.iter().map(written).sum(), self.tests.iter().map(written).sum()];
        if self.failures.is_none() || self.errors.is_none() {
            // A program that states only one of them has only that.
            let only = if self.errors.is_none() { ForeignTrial::Fail } else { ForeignTrial::Error };
            found.push(tests.iter().filter(|test| test.result == Some(only)).count() as u64);
        }
        if found.iter().any(|found| [*found, found + self.nested_bad].contains(&stated)) {
            return Ok(());
        }
        Err(not_as_stated(&self.of_it("failures and errors"), stated, bad(tests) + self.nested_bad))
    }
}
