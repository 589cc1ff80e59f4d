//! The list of skills in what an agent tells its model, as several agents write it: `<available_skills>`, and in it an entry
//! `<skill>` for each, with `<name>` and `<description>`.

use serde_json::{Value, json};

use crate::skill::slug;

/// The tags around the list.
pub(super) const TAGS: [&str; 2] = ["<available_skills>", "</available_skills>"];

/// How XML escapes characters. The last one comes first in escaped text.
const ESCAPED: [(&str, &str); 5] = [("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&apos;", "'"), ("&amp;", "&")];

pub(super) struct SkillEntry<'a>(&'a str);

impl<'a> SkillEntry<'a> {
    /// The text of this tag. A description may contain tags, if the agent does not escape it.
    pub(super) fn tagged(&self, tag: &str) -> Option<&'a str> {
        let (_, rest) = self.0.split_once(&format!("<{tag}>"))?;
        let end = format!("</{tag}>");
        let (text, _) = if tag == "description" { rest.rsplit_once(&end)? } else { rest.split_once(&end)? };
        Some(text.trim())
    }
}

/// The entries of the list in a text; `None` if it has no list.
pub(super) fn within(text: &str) -> Option<impl Iterator<Item = SkillEntry<'_>>> {
    let (list, _) = text.split_once(TAGS[0])?.1.split_once(TAGS[1])?;
    Some(list.split("<skill>").skip(1).map(SkillEntry))
}

/// The text that XML escaped.
pub(super) fn unescaped(text: &str) -> String {
    ESCAPED.into_iter().fold(text.to_owned(), |text, (from, to)| text.replace(from, to))
}

/// The names and descriptions in a text whose list XML escaped.
pub(super) fn unescaped_within(text: &str) -> Option<Vec<(String, String)>> {
    let skill =
        |entry: SkillEntry<'_>| Some((unescaped(entry.tagged("name")?), unescaped(entry.tagged("description")?)));
    Some(within(text)?.filter_map(skill).collect())
}

/// The names and descriptions in a list of pairs, as our own scripts write it.
pub(super) fn pairs(list: &Value) -> Option<Vec<(String, String)>> {
    let skill = |skill: &Value| Some((skill[0].as_str()?.to_owned(), skill[1].as_str()?.to_owned()));
    Some(list.as_array()?.iter().filter_map(skill).collect())
}

/// Makes of such a list what a recording stores.
pub(super) fn record_pairs(list: Option<&mut Value>, slugs: &[&str]) {
    for skill in list.and_then(Value::as_array_mut).into_iter().flatten() {
        let text = |at: usize| skill[at].as_str().unwrap_or_default();
        *skill = json!([text(0), recorded_description(text(0), text(1), slugs)]);
    }
}

/// A description as a recording stores it: only those of skills with these slugs.
pub(super) fn recorded_description(name: &str, description: &str, slugs: &[&str]) -> String {
    if slugs.contains(&slug(name).as_str()) { description.to_owned() } else { "…".to_owned() }
}

/// The list in a text as a recording stores it.
pub(super) fn recorded(text: &str, slugs: &[&str]) -> Option<String> {
    let entry = |entry: SkillEntry<'_>| {
        let (name, description) = (entry.tagged("name")?, entry.tagged("description")?);
        let description = recorded_description(name, description, slugs);
        Some(format!("<skill>\n<name>{name}</name>\n<description>{description}</description>\n</skill>\n"))
    };
    Some(format!("{}\n{}{}", TAGS[0], within(text)?.filter_map(entry).collect::<String>(), TAGS[1]))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "Before.\n<available_skills>\n<skill>\n  <name>a</name>\n  <description>Does &lt;b&gt; &amp;amp; c.\
                        </description>\n</skill>\n<skill>\n<name>B c</name>\n<description>Else.</description>\n</skill>\n\
                        </available_skills>\n<skill><name>no</name></skill>";

    #[test]
    fn entries_are_those_between_the_tags_and_escapes_are_undone_once() {
        let names: Vec<_> = within(TEXT).expect("a list").filter_map(|entry| entry.tagged("name")).collect();
        assert_eq!(names, ["a", "B c"]);
        let first = within(TEXT).expect("a list").next().expect("an entry");
        assert_eq!(first.tagged("description").map(unescaped).as_deref(), Some("Does <b> &amp; c."));
        assert!(within("<available_skills>").is_none());
        let entry = SkillEntry("<name>a</name><description>Writes </name> and </description>.</description>");
        assert_eq!(
            entry.tagged("name").zip(entry.tagged("description")),
            Some(("a", "Writes </name> and </description>."))
        );
    }

    #[test]
    fn a_recording_has_the_descriptions_of_the_skills_with_these_slugs() {
        let recorded = recorded(TEXT, &["b-c"]).expect("a list");
        assert!(recorded.contains("<description>…</description>") && recorded.contains("Else."), "{recorded}");
        assert!(!recorded.contains("Does"), "{recorded}");
    }
}
