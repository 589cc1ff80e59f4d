//! JUnit XML. A test that occurs several times, and is counted as often, has as many trials.

use std::collections::BTreeMap;

use quick_xml::Reader;
use quick_xml::events::{BytesStart, Event};

use super::{ResultFormat, ResultRow, TrialResult, stated};

pub const FORMAT: ResultFormat =
    ResultFormat { name: "JUnit", keys: &["testsuites|testsuite"], with: None, mean_of_cases: false, read };

const TEST: &[u8] = b"testcase";
const SUITE: &[u8] = b"testsuite";

/// A test whose end is not read yet.
struct Test {
    name: String,
    suite: String,
    /// Nothing if it was skipped.
    result: Option<TrialResult>,
    /// Earlier trials of it, which failed.
    earlier: u64,
}

/// A suite that is open.
#[derive(Default)]
struct Suite {
    name: String,
    /// How many tests it says that it has.
    stated: Option<u64>,
    tests: Vec<Test>,
    /// Whether it has suites of its own, whose tests some programs count, too.
    has_suites: bool,
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
            Event::Start(tag) if tag.name().as_ref() == SUITE => suites.push(suite(&tag)?),
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
            Event::End(tag) if tag.name().as_ref() == SUITE && suites.len() > 1 => {
                rows.extend(suites.pop().unwrap_or_default().rows()?);
                if let Some(around) = suites.last_mut() {
                    around.has_suites = true;
                }
            }
            Event::Eof if depth > 0 => return Err("the file ends in an open element: it is not whole".to_owned()),
            Event::Eof => {
                rows.extend(suites.pop().unwrap_or_default().rows()?);
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
    Ok(Test { name, suite, result: Some(TrialResult::Pass), earlier: 0 })
}

impl Test {
    fn saw(&mut self, child: &[u8]) {
        match child {
            b"failure" => self.result = Some(TrialResult::Fail),
            b"error" => self.result = Some(TrialResult::Error),
            b"skipped" => self.result = None,
            // Surefire and nextest: it failed before it passed, or failed again.
            b"flakyFailure" | b"rerunFailure" => self.earlier += 1,
            _ => {}
        }
    }

    fn rows(&self) -> impl Iterator<Item = ResultRow> {
        let row = |result, score| ResultRow::trial(self.name.clone(), "", result, score).within(&self.suite);
        let earlier = ResultRow { scored: 0, score: 0.0, ..row(TrialResult::Fail, None) };
        let last = self.result.map(|result| row(result, None));
        (0..self.earlier).map(move |_| earlier.clone()).chain(last)
    }
}

impl Suite {
    /// The trials. If the suite says fewer than it has elements, the last element of a name is its result and the others are tries
    /// before it, of which pytest does not write how they ended.
    fn rows(self) -> Result<Vec<ResultRow>, String> {
        let is_each_one = self.has_suites || self.stated.is_none_or(|stated| stated == self.tests.len() as u64);
        if is_each_one {
            return Ok(self.tests.iter().flat_map(Test::rows).collect());
        }
        let last: BTreeMap<&str, &Test> = self.tests.iter().map(|test| (test.name.as_str(), test)).collect();
        let what = if self.name.is_empty() { "tests".to_owned() } else { format!("tests in `{}`", self.name) };
        stated(&what, self.stated, last.len())?;
        Ok(last.into_values().flat_map(Test::rows).collect())
    }
}
