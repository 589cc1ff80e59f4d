//! The forms of values in cases: they are the same in a column of a CSV file and under a key of a JSON file.

use serde_json::Value as Json;

use crate::checks::pattern::{Pattern, Style};
use crate::settings::trials::{self, A_SHARE, TRIALS, Trials};
use crate::text::diagnostic::{Code, shorten, suggest};
use crate::text::relative_path::RelativePath;
use crate::trial::input_file::InputFile;

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
        let invalid = |code, expected: &str, help: &str| {
            let message = format!("`{name}` is {shown}; expected {expected}");
            InvalidField { code, message, help: help.to_owned() }
        };
        match self {
            Self::Flag => match text.to_ascii_lowercase().as_str() {
                "true" => Ok(FieldValue::Flag(true)),
                "false" => Ok(FieldValue::Flag(false)),
                _ => Err(invalid(Code::BadBoolean, "true or false", "write true or false")),
            },
            Self::Number { least, most } => {
                // u64's own parser accepts a leading `+`, which other runners ignore silently.
                let digits = text.bytes().all(|b| b.is_ascii_digit());
                let number = digits.then(|| text.parse().ok()).flatten().filter(|n| (least..=most).contains(n));
                let range = if most == u64::MAX { format!("{least} or more") } else { format!("{least} to {most}") };
                number.map(FieldValue::Number).ok_or_else(|| {
                    let help = "write digits only, without sign, unit or separators";
                    invalid(Code::BadNumber, &format!("a whole number, {range}"), help)
                })
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
            Self::Tags => {
                let help = "write a word without `!` in front, by which `--tag` chooses cases without it";
                Err(invalid(Code::BadChoice, "a tag", help))
            }
            Self::Trials => text
                .parse()
                .map(FieldValue::Trials)
                .map_err(|_| invalid(Code::BadNumber, TRIALS, "write a number for a fixed count")),
            Self::Share => text
                .parse()
                .ok()
                .and_then(trials::threshold)
                .map(FieldValue::Share)
                .ok_or_else(|| invalid(Code::BadNumber, A_SHARE, "write 0.8 where four of five trials must pass")),
        }
    }
}

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
