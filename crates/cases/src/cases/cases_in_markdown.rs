//! Whether a page in Markdown holds cases: a prompt and what is expected, in labels, in lists or in a table.

use std::collections::HashSet;
use std::sync::LazyLock;

use regex::bytes::Regex;

use crate::cases::case::key_words::plain;
use crate::cases::case::words;

/// How the labels of prompts end, and the headings of columns of prompts.
const PROMPTS: &str = "input prompt query question usersays utterance";
const COLUMNS: &str = "prompt prompts query question request utterance";

/// How the labels of what is expected begin.
const EXPECTATIONS: &str = "expect should watchfor";

/// The labels and headings of results.
const RESULTS: &str = "actual pass passed result results score verdict";

/// What a skill does with a prompt, in the headings of lists of prompts.
const VERBS: &str = "activate fire invoke load trigger";

/// The most bytes of a label, and the fewest texts in quotes that are prompts.
const LONGEST_LABEL: usize = 40;
const FEWEST: usize = 3;

/// Where a page has cases.
pub(super) struct PageCases {
    /// The line of the first.
    pub line: usize,
    /// Whether it has one case, and no list or table of some.
    pub is_one: bool,
}

/// The cases of a page; `skills` are the slugs of all skills. Outside the directories of cases, pages about anything have
/// labels of cases: only lists and tables count.
pub(super) fn cases_in(page: &[u8], is_placed: bool, skills: &HashSet<&str>) -> Option<PageCases> {
    static MARKS: LazyLock<Option<Regex>> = LazyLock::new(|| {
        let columns = words(COLUMNS).join("|");
        Regex::new(&format!(r"(?im-u)^#+ *should|^ *\|.*(?:{columns})")).ok()
    });
    if !is_placed && !MARKS.as_ref().is_some_and(|marks| marks.is_match(page)) {
        return None;
    }
    let text = String::from_utf8_lossy(page);
    let mut is_code = false;
    let lines = text.lines().zip(1..).filter(|(line, _)| {
        is_code ^= line.trim_start().starts_with("```");
        !is_code
    });
    let lines: Vec<(&str, usize)> = lines.collect();
    let mut labels = Labels::default();
    for (at, (line, number)) in lines.iter().enumerate() {
        if !line.trim_start().starts_with('|') {
            labels.add(line, *number);
        } else if lines.get(at + 1).is_some_and(|(next, _)| is_rule(next)) {
            let rows = lines[at + 2..].iter().map(|(row, _)| *row).take_while(|row| row.trim_start().starts_with('|'));
            if is_table_of_cases(line, rows, skills) {
                return Some(PageCases { line: *number, is_one: false });
            }
        }
    }
    labels.cases(is_placed)
}

/// The lines of a page that say what a case has.
#[derive(Default)]
struct Labels {
    prompts: Vec<usize>,
    /// Lines that are a text in quotes.
    quotes: Vec<usize>,
    has_expectations: bool,
    has_results: bool,
    /// Where a list of prompts begins that should activate a skill, and one of others that should not.
    lists: [Option<usize>; 2],
}

impl Labels {
    fn add(&mut self, line: &str, number: usize) {
        let text = line.trim_start_matches(|c: char| c.is_whitespace() || c.is_ascii_digit() || "#>-*_.)".contains(c));
        let is_heading = line.starts_with('#');
        if text.starts_with(['"', '“']) && text.trim_end().ends_with(['"', '”']) {
            return self.quotes.push(number);
        }
        let label = text.split_once(':').map(|(label, _)| label).or_else(|| is_heading.then_some(text));
        let Some(label) = label.filter(|label| label.len() <= LONGEST_LABEL).map(plain) else { return };
        if words(PROMPTS).iter().any(|word| label.ends_with(word)) {
            self.prompts.push(number);
        }
        self.has_expectations |= words(EXPECTATIONS).iter().any(|word| label.starts_with(word));
        self.has_results |= words(RESULTS).contains(&&*label);
        if let Some(rest) = label.strip_prefix("should").filter(|_| is_heading) {
            let verb = rest.strip_prefix("not");
            if words(VERBS).iter().any(|known| verb.unwrap_or(rest).starts_with(known)) {
                self.lists[usize::from(verb.is_some())].get_or_insert(number);
            }
        }
    }

    fn cases(&self, is_placed: bool) -> Option<PageCases> {
        if let [Some(line), Some(_)] = self.lists {
            return Some(PageCases { line, is_one: false });
        }
        let prompts = if self.prompts.is_empty() && self.quotes.len() >= FEWEST { &self.quotes } else { &self.prompts };
        let is_case = !self.has_results && self.has_expectations && is_placed;
        let line = *prompts.first().filter(|_| is_case)?;
        Some(PageCases { line, is_one: prompts.len() == 1 })
    }
}

fn is_table_of_cases<'t>(header: &'t str, mut rows: impl Iterator<Item = &'t str>, skills: &HashSet<&str>) -> bool {
    let header: Vec<String> = cells(header).map(plain).collect();
    let is_skill = |cell: &str| skills.contains(cell.trim_matches(|c: char| !c.is_alphanumeric()));
    let is_prompt = |cell: &String| words(COLUMNS).iter().any(|word| cell.ends_with(word));
    let is_result = |cell: &String| words(RESULTS).contains(&&**cell);
    let says = |starts: &[&str]| header.iter().any(|cell| starts.iter().any(|start| cell.starts_with(start)));
    header.iter().any(is_prompt)
        && !header.iter().any(is_result)
        && (says(&["should", "assertion"]) || says(&["expect"]) && rows.any(|row| cells(row).any(is_skill)))
}

/// The cells of a row of a table.
fn cells(row: &str) -> impl Iterator<Item = &str> {
    row.trim().trim_matches('|').split('|').map(str::trim)
}

/// Whether a line is the rule below the header of a table.
fn is_rule(line: &str) -> bool {
    line.contains("--") && line.chars().all(|c| "|-: \t".contains(c))
}
