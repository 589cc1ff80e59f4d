//! JUnit XML. A test that occurs several times has as many trials.

use quick_xml::Reader;
use quick_xml::events::{BytesStart, Event};

use super::{ResultFormat, ResultRow, TrialResult};

pub const FORMAT: ResultFormat =
    ResultFormat { name: "JUnit", keys: &["testsuites|testsuite"], with: None, mean_of_cases: false, read };

/// A test whose end is not read yet.
struct Test {
    name: String,
    /// Nothing if it was skipped.
    result: Option<TrialResult>,
}

fn read(bytes: &[u8]) -> Result<Vec<ResultRow>, String> {
    let mut reader = Reader::from_reader(bytes);
    let (mut rows, mut open): (_, Option<Test>) = (Vec::new(), None);
    loop {
        let event = reader.read_event().map_err(|error| format!("byte {}: {error}", reader.error_position()))?;
        match event {
            Event::Start(tag) if tag.name().as_ref() == b"testcase" => open = Some(test(&tag)?),
            Event::Empty(tag) if tag.name().as_ref() == b"testcase" => rows.extend(test(&tag)?.row()),
            Event::Start(tag) | Event::Empty(tag) => {
                if let Some(test) = &mut open {
                    test.saw(tag.name().as_ref());
                }
            }
            Event::End(tag) if tag.name().as_ref() == b"testcase" => {
                rows.extend(open.take().and_then(Test::row));
            }
            Event::Eof => return Ok(rows),
            _ => {}
        }
    }
}

fn test(tag: &BytesStart<'_>) -> Result<Test, String> {
    let attribute = |name: &str| -> Result<Option<String>, String> {
        let found = tag.try_get_attribute(name).map_err(|error| error.to_string())?;
        let value = found.map(|found| found.normalized_value(quick_xml::XmlVersion::default()));
        let value = value.transpose().map_err(|error| error.to_string())?;
        Ok(value.map(std::borrow::Cow::into_owned).filter(|value| !value.is_empty()))
    };
    let name = attribute("name")?.ok_or("a `testcase` without `name`")?;
    let name = attribute("classname")?.map_or(name.clone(), |class| format!("{class}/{name}"));
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
