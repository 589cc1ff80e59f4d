//! JUnit XML. A test that occurs several times, and is counted as often, has as many trials.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use quick_xml::Reader;
use quick_xml::events::{BytesStart, Event};

use super::{ResultFormat, ResultRow, TrialResult, not_as_stated};

pub const FORMAT: ResultFormat =
    ResultFormat { name: "JUnit", keys: &["testsuites|testsuite"], with: None, mean_of_cases: false, read };

const TEST: &[u8] = b"testcase";
const SUITES: [&[u8]; 2] = [b"testsuites", b"testsuite"];

/// A test whose end is not read yet.
struct Test {
    name: String,
    suite: String,
    /// Nothing if it was skipped.
    result: Option<TrialResult>,
    /// Earlier trials of it, which failed.
    earlier: u64,
    /// Earlier trials of it that were not measured.
    lost: u64,
}

/// A suite that is open, or all suites.
#[derive(Default)]
struct Suite {
    name: String,
    /// How many tests it says that it has.
    stated: Option<u64>,
    /// Its own tests, and those of suites in it that do not say how many they have.
    tests: Vec<Test>,
    /// How many tests the other suites in it have, which some programs count, too.
    nested: u64,
}

fn read(bytes: &[u8]) -> Result<Vec<ResultRow>, String> {
    let mut reader = Reader::from_reader(bytes);
    let (mut rows, mut open): (_, Option<Test>) = (Vec::new(), None);
    // Tests outside of every suite have one without a name.
    let (mut suites, mut depth) = (vec![Suite::default()], 0_usize);
    loop {
        let event = reader.read_event().map_err(|error| format!("byte {}: {error}", reader.error_position()))?;
        depth = match &event {
            Event::Start(_) => depth + 1,
            Event::End(_) => depth.saturating_sub(1),
            _ => depth,
        };
        match event {
            Event::Start(tag) | Event::Empty(tag) if tag.name().as_ref() == TEST && open.is_some() => {
                return Err(format!("a `testcase` in another one: {}", test(&tag, &suites)?.name));
            }
            Event::Start(tag) if tag.name().as_ref() == TEST => open = Some(test(&tag, &suites)?),
            Event::Empty(tag) if tag.name().as_ref() == TEST => {
                let test = test(&tag, &suites)?;
                in_suite(&mut suites, test);
            }
            Event::Start(tag) if SUITES.contains(&tag.name().as_ref()) => suites.push(suite(&tag)?),
            Event::Start(tag) | Event::Empty(tag) => {
                if let Some(test) = &mut open {
                    test.saw(tag.name().as_ref());
                }
            }
            Event::End(tag) if tag.name().as_ref() == TEST => {
                if let Some(test) = open.take() {
                    in_suite(&mut suites, test);
                }
            }
            Event::End(tag) if SUITES.contains(&tag.name().as_ref()) && suites.len() > 1 => {
                let suite = suites.pop().unwrap_or_default();
                if let Some(around) = suites.last_mut() {
                    around.nested += suite.nested;
                    match suite.stated {
                        None => around.tests.extend(suite.tests),
                        Some(stated) => {
                            let tests = suite.trials(stated)?;
                            around.nested += tests.len() as u64;
                            rows.extend(tests.iter().flat_map(Test::rows));
                        }
                    }
                }
            }
            Event::Eof if depth > 0 => return Err("the file ends in an open element: it is not whole".to_owned()),
            Event::Eof => {
                rows.extend(suites.iter().flat_map(|suite| &suite.tests).flat_map(Test::rows));
                return Ok(rows);
            }
            _ => {}
        }
    }
}

fn in_suite(suites: &mut [Suite], test: Test) {
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

fn suite(tag: &BytesStart<'_>) -> Result<Suite, String> {
    let stated = attribute(tag, "tests")?.and_then(|tests| tests.parse().ok());
    Ok(Suite { name: attribute(tag, "name")?.unwrap_or_default(), stated, ..Suite::default() })
}

/// A test by its class, or else by its suite: tests of different suites may have one name.
fn test(tag: &BytesStart<'_>, suites: &[Suite]) -> Result<Test, String> {
    let name = attribute(tag, "name")?.ok_or("a `testcase` without `name`")?;
    let suite = suites.last().map(|suite| suite.name.clone()).unwrap_or_default();
    let class = attribute(tag, "classname")?;
    let name = class.as_ref().map_or(name.clone(), |class| format!("{class}/{name}"));
    Ok(Test { name, suite, result: Some(TrialResult::Pass), earlier: 0, lost: 0 })
}

impl Test {
    fn saw(&mut self, child: &[u8]) {
        match child {
            b"failure" => self.result = Some(TrialResult::Fail),
            b"error" => self.result = Some(TrialResult::Error),
            b"skipped" => self.result = None,
            // Surefire and nextest: it failed before it passed, or failed again.
            b"flakyFailure" | b"rerunFailure" => self.earlier += 1,
            b"flakyError" | b"rerunError" => self.lost += 1,
            _ => {}
        }
    }

    fn rows(&self) -> impl Iterator<Item = ResultRow> {
        let row = |result| ResultRow::trial(self.name.clone(), "", result, None).within(&self.suite);
        // The tool's own figures have only the last one.
        let earlier = ResultRow { scored: 0, score: 0.0, ..row(TrialResult::Fail) };
        let failed = (0..self.earlier).map(move |_| earlier.clone());
        let lost = row(TrialResult::Error);
        failed.chain((0..self.lost).map(move |_| lost.clone())).chain(self.result.map(row))
    }
}

impl Suite {
    /// The tests, of which the suite says that it has so many. If these are fewer than its elements, the last element of a name is its
    /// result and the others are tries before it, of which pytest does not write how they ended.
    fn trials(self, stated: u64) -> Result<Vec<Test>, String> {
        let counts = |tests: &[Test]| {
            let all = tests.len() as u64;
            let with = |result| tests.iter().filter(|test| test.result == result).count() as u64;
            // Some programs count no skipped tests. pytest counts an error after a test once more.
            let all = [all, all - with(None), all + with(Some(TrialResult::Error))];
            all.into_iter().any(|all| [all, all + self.nested].contains(&stated))
        };
        if counts(&self.tests) {
            return Ok(self.tests);
        }
        let mut last: Vec<Test> = Vec::new();
        let mut places: HashMap<(String, String), usize> = HashMap::new();
        for test in self.tests {
            match places.entry((test.suite.clone(), test.name.clone())) {
                Entry::Vacant(new) => {
                    new.insert(last.len());
                    last.push(test);
                }
                Entry::Occupied(known) => {
                    let known = &mut last[*known.get()];
                    // A failure, and then an error while it is cleaned up.
                    if (known.result, test.result) != (Some(TrialResult::Fail), Some(TrialResult::Error)) {
                        *known = test;
                    }
                }
            }
        }
        if counts(&last) {
            return Ok(last);
        }
        let what = if self.name.is_empty() { "tests".to_owned() } else { format!("tests in `{}`", self.name) };
        Err(not_as_stated(&what, stated, last.len() as u64 + self.nested))
    }
}
