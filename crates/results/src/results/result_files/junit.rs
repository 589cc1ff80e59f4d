//! JUnit XML. A test that occurs several times has as many trials.

use quick_xml::Reader;
use quick_xml::events::{BytesStart, Event};

use super::{ResultFormat, ResultRow, TrialResult};

pub const FORMAT: ResultFormat =
    ResultFormat { name: "JUnit", keys: &["testsuites|testsuite"], with: None, mean_of_cases: false, read };

const TEST: &[u8] = b"testcase";
const SUITE: &[u8] = b"testsuite";

/// A test whose end is not read yet.
struct Test {
    name: String,
    /// Nothing if it was skipped.
    result: Option<TrialResult>,
}

fn read(bytes: &[u8]) -> Result<Vec<ResultRow>, String> {
    let mut reader = Reader::from_reader(bytes);
    let (mut rows, mut open): (_, Option<Test>) = (Vec::new(), None);
    // The names of the suites around, and how many elements are open.
    let (mut suites, mut depth) = (Vec::new(), 0_usize);
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
            Event::Empty(tag) if tag.name().as_ref() == TEST => rows.extend(test(&tag, &suites)?.row()),
            Event::Start(tag) if tag.name().as_ref() == SUITE => suites.push(attribute(&tag, "name")?),
            Event::Start(tag) | Event::Empty(tag) => {
                if let Some(test) = &mut open {
                    test.saw(tag.name().as_ref());
                }
            }
            Event::End(tag) if tag.name().as_ref() == TEST => rows.extend(open.take().and_then(Test::row)),
            Event::End(tag) if tag.name().as_ref() == SUITE => drop(suites.pop()),
            Event::Eof if depth > 0 => return Err("the file ends in an open element: it is not whole".to_owned()),
            Event::Eof => return Ok(rows),
            _ => {}
        }
    }
}

fn attribute(tag: &BytesStart<'_>, name: &str) -> Result<Option<String>, String> {
    let found = tag.try_get_attribute(name).map_err(|error| error.to_string())?;
    let value = found.map(|found| found.normalized_value(quick_xml::XmlVersion::default()));
    let value = value.transpose().map_err(|error| error.to_string())?;
    Ok(value.map(std::borrow::Cow::into_owned).filter(|value| !value.is_empty()))
}

/// A test by its class, or else by its suite: tests of different suites may have one name.
fn test(tag: &BytesStart<'_>, suites: &[Option<String>]) -> Result<Test, String> {
    let name = attribute(tag, "name")?.ok_or("a `testcase` without `name`")?;
    let around = attribute(tag, "classname")?.or_else(|| suites.last().cloned().flatten());
    let name = around.map_or(name.clone(), |around| format!("{around}/{name}"));
    Ok(Test { name, result: Some(TrialResult::Pass) })
}

impl Test {
    fn saw(&mut self, child: &[u8]) {
        match child {
            b"failure" => self.result = Some(TrialResult::Fail),
            b"error" => self.result = Some(TrialResult::Error),
            b"skipped" => self.result = None,
            _ => {}
        }
    }

    fn row(self) -> Option<ResultRow> {
        Some(ResultRow::trial(self.name, "", self.result?, None))
    }
}
