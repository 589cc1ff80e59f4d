//! The forms of values in cases: they are the same in a column of a CSV file and under a key of a JSON file.

use std::sync::Arc;

use serde::Serialize;
use serde_json::{Map, Value as Json};

use crate::checks::pattern::{Pattern, Style};
use crate::checks::text_test::{JsonPart, TextTest, TextWant, has_rounded_number};
use crate::checks::{CheckAnswer, CheckKind, Condition, GradingInput, KINDS};
use crate::settings::trials::{self, A_SHARE, TRIALS, Trials};
use crate::text::diagnostic::{Code, shorten, suggest};
use crate::text::name::RelativePath;
use crate::trial::input_file::InputFile;
use crate::trial::outcome::Status;
use crate::trial::quarantine::{QUARANTINE, Quarantine};

#[derive(Debug)]
pub struct Field {
    /// The column in a CSV file.
    pub column: &'static str,
    /// The key in a JSON file.
    pub key: &'static str,
    /// The form of its values.
    pub form: FieldForm,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FieldForm {
    /// true or false.
    Flag,
    /// A whole number in this range, including both ends.
    Number {
        least: u64,
        most: u64,
    },
    /// Any text.
    Text,
    /// One of these words.
    Choice(&'static [&'static str]),
    Pattern(Style),
    /// Patterns in any case, with `^` and `$` at each line; separated by `|` in a cell, a list in JSON.
    Patterns,
    /// A path in the workspace.
    Path,
    /// Paths in the workspace; separated by `;` in a cell, a list in JSON.
    Paths,
    /// A file or directory of the repository, where [`CasePlaces`](crate::cases::case_places::CasePlaces) finds it.
    Source,
    /// The same, several; separated by `;` in a cell, a list in JSON.
    Sources,
    /// Files of the workspace; sources separated by `;` in a cell, a list in JSON, in which an object may have the content.
    Files,
    /// Words by which cases are selected; separated by `;` in a cell, a list in JSON.
    Tags,
    /// Messages: a list in JSON; in a cell such a list, or one message.
    Messages,
    /// Shell commands; a line each in a cell, a list in JSON.
    Commands,
    /// How often the case runs.
    Trials,
    /// A share above 0 and up to 1.
    Share,
    /// Until when the case may fail.
    Quarantine,
    /// An amount of US dollars.
    Amount,
    /// A list of texts, which may be empty.
    Texts,
    /// A JSON pointer.
    Pointer,
    Json,
}

/// A parsed value.
#[derive(Clone, Debug, PartialEq)]
pub enum FieldValue {
    /// Of [`FieldForm::Flag`].
    Flag(bool),
    /// Of [`FieldForm::Number`].
    Number(u64),
    /// Of [`FieldForm::Text`], [`FieldForm::Choice`] and [`FieldForm::Pointer`], and each of [`FieldForm::Tags`],
    /// [`FieldForm::Texts`], [`FieldForm::Commands`] and [`FieldForm::Messages`].
    Text(String),
    /// Of [`FieldForm::Pattern`], and each of [`FieldForm::Patterns`].
    Pattern(Pattern),
    /// Of [`FieldForm::Path`] and [`FieldForm::Source`], and each of [`FieldForm::Paths`] and [`FieldForm::Sources`].
    Path(RelativePath),
    /// Each of [`FieldForm::Files`].
    File(InputFile),
    /// Of [`FieldForm::Trials`].
    Trials(Trials),
    /// Of [`FieldForm::Share`].
    Share(f64),
    /// Of [`FieldForm::Quarantine`].
    Quarantine(Quarantine),
    /// Of [`FieldForm::Amount`].
    Amount(f64),
    /// Of [`FieldForm::Json`].
    Json(Json),
}

impl FieldValue {
    /// The number, if it is one.
    pub fn number(&self) -> Option<u64> {
        if let Self::Number(number) = self { Some(*number) } else { None }
    }
}

/// Why a text is not a value of its form.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InvalidField {
    /// The kind of problem.
    pub code: Code,
    /// What is wrong and what was expected.
    pub message: String,
    /// What to do.
    pub help: String,
}

impl FieldForm {
    /// A limit: any whole number.
    pub const LIMIT: FieldForm = FieldForm::Number { least: 0, most: u64::MAX };

    /// Whether a field can hold several values.
    pub fn is_list(self) -> bool {
        let is_of_paths = matches!(self, Self::Paths | Self::Sources | Self::Files);
        is_of_paths || matches!(self, Self::Patterns | Self::Tags | Self::Texts | Self::Commands | Self::Messages)
    }

    /// The parts of a cell, each a value; an empty cell has none.
    pub fn split(self, cell: &str) -> Vec<String> {
        let parts = match self {
            Self::Patterns => return Pattern::split(cell),
            Self::Paths | Self::Sources | Self::Files | Self::Tags => cell.split(';').collect(),
            Self::Messages if !cell.trim().is_empty() => {
                return serde_json::from_str(cell).unwrap_or_else(|_| vec![cell.to_owned()]);
            }
            Self::Commands => cell.lines().collect(),
            _ => vec![cell],
        };
        parts.into_iter().map(str::trim).filter(|part| !part.is_empty()).map(str::to_owned).collect()
    }

    /// Parses one value of the field `name`; messages quote it as `shown`.
    pub fn read(self, name: &str, text: &str, shown: &str) -> Result<FieldValue, InvalidField> {
        let invalid = |code, expected: &str, help: &str| InvalidField {
            code,
            message: format!("`{name}` is {}; expected {expected}", if shown.is_empty() { "empty" } else { shown }),
            help: help.to_owned(),
        };
        match self {
            Self::Flag => match text.to_ascii_lowercase().as_str() {
                "true" => Ok(FieldValue::Flag(true)),
                "false" => Ok(FieldValue::Flag(false)),
                _ => Err(invalid(Code::BadBoolean, "true or false", "write true or false")),
            },
            Self::Number { least, most } => {
                let number = whole_number(text).filter(|number| (least..=most).contains(number));
                let range = if most == u64::MAX { format!("{least} or more") } else { format!("{least} to {most}") };
                let help = "write digits only, without sign, unit or separators";
                let expected = format!("a whole number, {range}");
                number.map(FieldValue::Number).ok_or_else(|| invalid(Code::BadNumber, &expected, help))
            }
            Self::Messages if text.trim().is_empty() || text.trim_start().starts_with("[\"") => Err(invalid(
                Code::EmptyValue,
                "a message, or a JSON list of messages",
                "write what the agent is asked next",
            )),
            Self::Text | Self::Texts | Self::Commands | Self::Messages => Ok(FieldValue::Text(text.to_owned())),
            Self::Pointer if text.is_empty() || text.starts_with('/') => Ok(FieldValue::Text(text.to_owned())),
            Self::Pointer => {
                let help = "write `/items/0/name` for the name of the first of the items";
                Err(invalid(Code::BadPath, "a JSON pointer, which begins with `/`", help))
            }
            Self::Json => serde_json::from_str(text)
                .map(FieldValue::Json)
                .map_err(|_| invalid(Code::JsonSyntax, "a JSON value", "write a text in quotes")),
            Self::Amount => match text.parse() {
                Ok(amount) if f64::is_finite(amount) && amount >= 0.0 => Ok(FieldValue::Amount(amount)),
                _ => Err(invalid(Code::BadNumber, "an amount, 0 or more", "write 0.25 for 25 cents")),
            },
            Self::Choice(words) if words.contains(&text) => Ok(FieldValue::Text(text.to_owned())),
            Self::Choice(words) => Err(invalid(Code::BadChoice, &words.join(" or "), &suggest(text, words))),
            Self::Pattern(style) => pattern(name, text, style),
            Self::Patterns => pattern(name, text, Style::Loose),
            Self::Path | Self::Paths => path(name, text, text, WORKSPACE).map(FieldValue::Path),
            Self::Source | Self::Sources => source(name, text).map(FieldValue::Path),
            Self::Files => source(name, text).map(InputFile::copy_of).map(FieldValue::File),
            Self::Tags if is_tag(text) => Ok(FieldValue::Text(text.to_owned())),
            Self::Tags => Err(invalid(Code::BadChoice, "a tag", NO_TAG)),
            Self::Trials => text
                .parse()
                .map(FieldValue::Trials)
                .map_err(|_| invalid(Code::BadNumber, TRIALS, "write a number for a fixed count")),
            Self::Quarantine => text
                .parse()
                .map(FieldValue::Quarantine)
                .map_err(|_| invalid(Code::BadChoice, QUARANTINE, "write the last day, a comma, and the reason")),
            Self::Share => text
                .parse()
                .ok()
                .and_then(trials::threshold)
                .map(FieldValue::Share)
                .ok_or_else(|| invalid(Code::BadNumber, A_SHARE, "write 0.8 where four of five trials must pass")),
        }
    }
}

/// The number that these digits are.
fn whole_number(text: &str) -> Option<u64> {
    // u64's own parser accepts a leading `+`, which other runners ignore silently.
    text.bytes().all(|b| b.is_ascii_digit()).then(|| text.parse().ok()).flatten()
}

/// What to do about a text that is no tag.
const NO_TAG: &str = "write a word without `!` in front, by which `--tag` chooses cases without it";

/// Whether a text can be a tag: `--tag` can name it. Tags of other programs hold any characters.
fn is_tag(text: &str) -> bool {
    !text.trim().is_empty() && !text.starts_with('!')
}

/// Where paths of the workspace start.
const WORKSPACE: &str = "the workspace";

/// Where sources start.
pub const SOURCES: &str = "evals/skills/SKILL/ of the skill, or the repository's root";

/// A path of the repository. `/` in front is its root.
fn source(name: &str, text: &str) -> Result<RelativePath, InvalidField> {
    path(name, text, text.strip_prefix('/').unwrap_or(text), SOURCES)
}

/// The path that `text`, shown as `written`, is under `base`.
fn path(name: &str, written: &str, text: &str, base: &str) -> Result<RelativePath, InvalidField> {
    RelativePath::parse(text).map_err(|why| {
        let message = format!("`{name}`: {:?} {why}", shorten(written));
        InvalidField { code: Code::BadPath, message, help: format!("give a path below {base}") }
    })
}

fn pattern(name: &str, text: &str, style: Style) -> Result<FieldValue, InvalidField> {
    if text.is_empty() {
        let message = format!("`{name}` is empty; every text matches an empty pattern");
        return Err(InvalidField { code: Code::EmptyValue, message, help: "write a pattern".to_owned() });
    }
    let pattern = Pattern { text: text.to_owned(), style };
    match pattern.check() {
        Ok(()) => Ok(FieldValue::Pattern(pattern)),
        Err(error) => {
            let (message, help) = pattern.problem(name, &error);
            Err(InvalidField { code: Code::BadRegex, message, help })
        }
    }
}

// The list `checks` of a case: each object in it names a kind of check by its main key, with options next to it.

/// How the list writes a kind of check.
#[derive(Debug)]
pub struct ListForm {
    /// The key that names the kind.
    pub key: &'static str,
    /// The form of its value.
    pub form: FieldForm,
    /// The keys that may be next to it.
    pub options: &'static [(&'static str, FieldForm)],
    /// Whether the keys that say what a text must be may be there, too.
    pub tests: bool,
    /// Makes the question.
    pub ask: fn(&ListedCheck) -> Result<Arc<dyn Condition>, InvalidCheck>,
}

/// An object of the list.
#[derive(Debug, Default)]
pub struct ListedCheck {
    /// The values of each key that is there.
    pub values: Vec<(&'static str, Vec<FieldValue>)>,
}

/// A check as a case writes it: what [`ListForm::ask`] reads.
#[derive(Clone, Debug, PartialEq)]
pub struct WrittenCheck {
    /// The value at the key of its kind.
    pub value: Json,
    /// The options next to that key.
    pub options: Map<String, Json>,
}

impl WrittenCheck {
    /// A value without options.
    pub(super) fn new(value: impl Into<Json>) -> Self {
        Self { value: value.into(), options: Map::new() }
    }

    /// The same with an option.
    pub(super) fn with(mut self, key: &str, value: impl Into<Json>) -> Self {
        self.options.insert(key.to_owned(), value.into());
        self
    }

    /// The same with an option if `is_set`.
    pub(super) fn with_flag(self, key: &str, is_set: bool) -> Self {
        if is_set { self.with(key, true) } else { self }
    }

    /// The same with the keys of [`TESTS`] that make this test; `None` if none do.
    pub(super) fn with_test(self, test: &TextTest) -> Option<Self> {
        let TextTest { json, at, want, negated } = test;
        let mut written = match want {
            TextWant::Present => self,
            TextWant::Object => return None,
            TextWant::Equal(value) => self.with("equals", value.clone()),
            TextWant::Pattern(Pattern { text, style }) => match style {
                Style::Literal => self.with("contains", text.as_str()).with("ignoreCase", true),
                Style::Verbatim => self.with("contains", text.as_str()),
                Style::Exact => self.with("matches", text.as_str()),
                Style::Lower | Style::Loose | Style::JavaScript => return None,
            },
        };
        if let Some(part) = json {
            written = written.with("json", part.as_str());
        }
        if !at.is_empty() {
            written = written.with("at", at.as_str());
        }
        Some(written.with_flag("not", *negated))
    }

    /// The same with the keys of [`COUNTS`] that mean this count.
    pub(super) fn with_count(self, count: CallCount) -> Self {
        match count {
            CallCount::SOME => self,
            CallCount::NONE => self.with("not", true),
            CallCount { least: 0, most: Some(most) } => self.with("atMost", most),
            CallCount { least, most: None } => self.with("atLeast", least),
            CallCount { least, most: Some(most) } => self.with("atLeast", least).with("atMost", most),
        }
    }
}

/// Why an object of the list is not a check.
#[derive(Debug)]
pub struct InvalidCheck {
    /// The key to look at.
    pub key: &'static str,
    /// What is wrong.
    pub message: String,
    /// What to do.
    pub help: String,
}

impl InvalidCheck {
    /// A problem of this key.
    pub fn new(key: &'static str, message: impl Into<String>, help: impl Into<String>) -> Self {
        Self { key, message: message.into(), help: help.into() }
    }
}

/// The keys of [`TESTS`] that say what is wanted.
const WANTS: [&str; 3] = ["contains", "matches", "equals"];

/// The keys that say what a text must be; [`test_of`] reads them.
const TESTS: [(&str, FieldForm); 6] = [
    ("contains", FieldForm::Text),
    ("matches", FieldForm::Pattern(Style::Exact)),
    ("equals", FieldForm::Json),
    ("ignoreCase", FieldForm::Flag),
    ("json", FieldForm::Choice(&JsonPart::WORDS)),
    ("at", FieldForm::Pointer),
];

impl ListForm {
    /// The keys that an object of this kind may have.
    pub fn keys(&self) -> impl Iterator<Item = (&'static str, FieldForm)> {
        std::iter::once((self.key, self.form))
            .chain(self.options.iter().copied())
            .chain(TESTS.into_iter().filter(|_| self.tests))
    }
}

/// The keys that say how often something must happen; [`ListedCheck::count`] reads them.
pub(super) const COUNTS: [(&str, FieldForm); 3] =
    [("not", FieldForm::Flag), ("atLeast", FieldForm::LIMIT), ("atMost", FieldForm::LIMIT)];

/// The kinds that the list can write.
pub fn listed() -> impl Iterator<Item = (&'static CheckKind, &'static ListForm)> {
    KINDS.iter().copied().filter_map(|kind| Some((kind, kind.listed?)))
}

impl ListedCheck {
    /// The values of a key; `None` if it is not there.
    pub fn all(&self, key: &str) -> Option<&[FieldValue]> {
        self.values.iter().find(|(known, _)| *known == key).map(|(_, values)| values.as_slice())
    }

    fn one(&self, key: &str) -> Option<&FieldValue> {
        self.all(key)?.first()
    }

    pub fn text(&self, key: &str) -> Option<&str> {
        if let Some(FieldValue::Text(text)) = self.one(key) { Some(text) } else { None }
    }

    /// The texts of a key with a list; `None` if it is not there.
    pub fn texts(&self, key: &str) -> Option<Vec<String>> {
        let texts = self.all(key)?.iter().filter_map(|value| match value {
            FieldValue::Text(text) => Some(text.clone()),
            _ => None,
        });
        Some(texts.collect())
    }

    /// Whether a key is true.
    pub fn is(&self, key: &str) -> bool {
        self.one(key) == Some(&FieldValue::Flag(true))
    }

    pub fn flag(&self, key: &str) -> Option<bool> {
        if let Some(FieldValue::Flag(flag)) = self.one(key) { Some(*flag) } else { None }
    }

    pub fn number(&self, key: &str) -> Option<u64> {
        self.one(key)?.number()
    }

    pub fn pattern(&self, key: &str) -> Option<&Pattern> {
        if let Some(FieldValue::Pattern(pattern)) = self.one(key) { Some(pattern) } else { None }
    }

    /// How often something must happen, by the keys of [`COUNTS`].
    pub(super) fn count(&self) -> Result<CallCount, InvalidCheck> {
        let (least, most) = (self.number("atLeast"), self.number("atMost"));
        if self.is("not") {
            return match [("atLeast", least), ("atMost", most)].into_iter().find(|(_, given)| given.is_some()) {
                Some((key, _)) => Err(InvalidCheck::new(key, "`not` means never", "leave out one of them")),
                None => Ok(CallCount { least: 0, most: Some(0) }),
            };
        }
        let least = least.unwrap_or(u64::from(most.is_none()));
        if most.is_some_and(|most| most < least) {
            return Err(InvalidCheck::new("atMost", "`atMost` is less than `atLeast`", "swap them"));
        }
        if (least, most) == (0, None) {
            let help = "write 1 or more, or `atMost`";
            return Err(InvalidCheck::new("atLeast", "`atLeast` is 0: that always holds", help));
        }
        Ok(CallCount { least, most })
    }

    fn json(&self, key: &str) -> Option<&Json> {
        if let Some(FieldValue::Json(value)) = self.one(key) { Some(value) } else { None }
    }
}

/// The test that the keys of [`TESTS`] make; `None` if they make none.
pub(super) fn test_of(check: &ListedCheck) -> Result<Option<TextTest>, InvalidCheck> {
    let given: Vec<&'static str> = WANTS.into_iter().filter(|key| check.all(key).is_some()).collect();
    if let [_, second, ..] = given[..] {
        let message = format!("a check has one of `{}`", WANTS.join("`, `"));
        return Err(InvalidCheck::new(second, message, "write two checks"));
    }
    let ignores_case = check.is("ignoreCase");
    let want = if let Some(text) = check.text("contains") {
        if text.is_empty() {
            return Err(InvalidCheck::new("contains", "every text contains an empty one", "write a text"));
        }
        let style = if ignores_case { Style::Literal } else { Style::Verbatim };
        TextWant::Pattern(Pattern { text: text.to_owned(), style })
    } else if let Some(pattern) = check.pattern("matches") {
        let flags = if ignores_case { "(?i)" } else { "" };
        TextWant::Pattern(Pattern { text: format!("{flags}{}", pattern.text), style: pattern.style })
    } else if let Some(value) = check.json("equals") {
        if has_rounded_number(value) {
            let help = "compare the text: use `matches` without `at`";
            return Err(InvalidCheck::new("equals", "`equals` has a number that is too large to be compared", help));
        }
        TextWant::Equal(value.clone())
    } else {
        TextWant::Present
    };
    if ignores_case && !matches!(want, TextWant::Pattern(_)) {
        let help = "use it next to `contains` or `matches`";
        return Err(InvalidCheck::new("ignoreCase", "`ignoreCase` has nothing to apply to", help));
    }
    let part = check.text("json").and_then(JsonPart::named);
    let at = check.text("at").unwrap_or_default().to_owned();
    // Only JSON has values at pointers, and values that are not strings.
    let needs_json = check.all("at").is_some() || matches!(&want, TextWant::Equal(value) if !value.is_string());
    let json = part.or(needs_json.then_some(JsonPart::Whole));
    if json.is_none() && want == TextWant::Present {
        return Ok(None);
    }
    Ok(Some(TextTest { json, at, want, negated: check.is("not") }))
}

// How often something must happen in a trial.

/// How often something must happen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct CallCount {
    pub least: u64,
    /// The most, if limited.
    pub most: Option<u64>,
}

/// How often something happened.
#[derive(Clone, Debug, Default)]
pub(super) struct Counted {
    /// Surely.
    pub sure: u64,
    /// Perhaps besides.
    pub perhaps: u64,
    /// Why that is not known.
    pub why: Option<String>,
}

impl Counted {
    /// Adds what may have happened.
    pub fn doubt(&mut self, times: u64, why: impl FnOnce() -> String) {
        if times > 0 {
            self.perhaps = self.perhaps.saturating_add(times);
            self.why.get_or_insert_with(why);
        }
    }
}

impl CallCount {
    /// At least once.
    pub const SOME: Self = Self { least: 1, most: None };

    /// Never.
    pub const NONE: Self = Self { least: 0, most: Some(0) };

    /// The words behind what happens.
    pub(super) fn words(self) -> String {
        match self {
            Self { most: Some(0), .. } => "never".to_owned(),
            Self { least: 1, most: None } => "at least once".to_owned(),
            Self { least, most: None } => format!("at least {}", times(least)),
            Self { least: 0, most: Some(most) } => format!("at most {}", times(most)),
            Self { least, most: Some(most) } if least == most => times(most),
            Self { least, most: Some(most) } => format!("{least} to {}", times(most)),
        }
    }

    /// The status that nothing later can change.
    pub(super) fn settled_by(self) -> Status {
        if self.most.is_some() { Status::Fail } else { Status::Pass }
    }

    /// The answer about something that happened so often.
    pub(super) fn answer(
        self,
        subject: &GradingInput<'_>,
        counted: Counted,
        expected: String,
        found: &str,
    ) -> CheckAnswer {
        let Counted { sure, perhaps, why } = counted;
        let possible = sure.saturating_add(perhaps);
        let is_over = |count| self.most.is_some_and(|most| count > most);
        let found = format!("{found} {}", times(sure));
        let is_open = (is_over(possible) && !is_over(sure)) || (sure < self.least && possible >= self.least);
        if is_open {
            let found = why.map_or_else(|| found.clone(), |why| format!("{found}; {why}"));
            return CheckAnswer::new(Status::Unknown, expected, found);
        }
        if sure < self.least {
            return subject.proved(false, true, expected, found);
        }
        match self.most {
            Some(_) => subject.proved(is_over(sure), false, expected, found),
            None => CheckAnswer::holds(true, expected, found),
        }
    }
}

pub(super) fn times(count: u64) -> String {
    if count == 1 { "once".to_owned() } else { format!("{count} times") }
}
