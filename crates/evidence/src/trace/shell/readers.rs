//! Programs that only print their operands, unless an option makes them do more.

use std::sync::LazyLock;

use regex::Regex;

use super::script::{ShellWord, UNKNOWN};

/// The options of a program. An option that is not listed has no value, and only changes how a file is printed. Long options
/// are separated by spaces.
struct ProgramOptions {
    /// One-letter options with a value, in the same word or the next.
    valued: &'static str,
    /// Long options with a value, after `=` or in the next word.
    long_valued: &'static str,
    /// One-letter options with which it writes, runs a program, waits, or reads a file that is not an operand.
    effective: &'static str,
    /// Long options of this kind.
    long_effective: &'static str,
    /// Whether `-20` is a number of lines, and `+3` the first line.
    counts: bool,
}

const NONE: ProgramOptions =
    ProgramOptions { valued: "", long_valued: "", effective: "", long_effective: "", counts: false };

#[expect(clippy::too_many_lines, reason = "a table")]
fn options(program: &str) -> Option<ProgramOptions> {
    Some(match program {
        "cat" => NONE,
        "tac" => ProgramOptions { valued: "s", long_valued: "separator", ..NONE },
        "head" | "tail" => ProgramOptions {
            valued: "nc",
            long_valued: "lines bytes",
            effective: "fFs",
            long_effective: "follow retry pid sleep-interval",
            counts: true,
        },
        "nl" => ProgramOptions {
            valued: "bdfhilnsvw",
            long_valued: "body-numbering footer-numbering header-numbering join-blank-lines line-increment number-format \
                number-separator number-width section-delimiter starting-line-number",
            ..NONE
        },
        "wc" => ProgramOptions { long_effective: "files0-from", ..NONE },
        "cut" => {
            ProgramOptions { valued: "bcdf", long_valued: "bytes characters delimiter fields output-delimiter", ..NONE }
        }
        "less" => ProgramOptions {
            valued: "bhjpPxyz",
            long_valued: "jump-target max-back-scroll pattern prompt tabs window",
            effective: "kotTO",
            long_effective: "lesskey log-file LOG-FILE tag",
            counts: true,
        },
        "more" => ProgramOptions { valued: "n", long_valued: "lines", counts: true, ..NONE },
        "bat" | "batcat" => ProgramOptions {
            valued: "rlHm",
            long_valued: "binary color decorations diff-context file-name highlight-line ignored-suffix italic-text \
                language line-range map-syntax nonprintable-notation paging squeeze-limit strip-ansi style tabs \
                terminal-width theme theme-dark theme-light wrap",
            long_effective: "generate-config-file lessopen pager",
            ..NONE
        },
        "grep" | "egrep" | "fgrep" => ProgramOptions {
            valued: "ABCDdem",
            long_valued: "after-context before-context binary-files context devices directories exclude exclude-dir \
                group-separator include label max-count regexp",
            effective: "f",
            long_effective: "file exclude-from",
            counts: true,
        },
        "rg" => ProgramOptions {
            valued: "ABCEMTdegjmrt",
            long_valued: "after-context before-context color colors context context-separator dfa-size-limit encoding \
                engine field-context-separator field-match-separator glob hyperlink-format iglob max-columns \
                max-count max-depth maxdepth max-filesize path-separator regex-size-limit regexp replace sort \
                sortr threads type type-add type-clear type-not",
            effective: "fz",
            long_effective: "file hostname-bin ignore-file pre search-zip",
            counts: false,
        },
        "sed" => ProgramOptions {
            valued: "el",
            long_valued: "expression line-length",
            effective: "fi",
            long_effective: "file in-place",
            ..NONE
        },
        "awk" | "gawk" | "mawk" => ProgramOptions {
            valued: "Fv",
            long_valued: "assign field-separator",
            effective: "DEdefilop",
            long_effective: "debug dump exec file include load pretty profile source",
            ..NONE
        },
        _ => return None,
    })
}

/// The files that `program` prints. `None` if it is not a reader, or may do more than print.
pub(super) fn operands<'a>(program: &str, arguments: &'a [ShellWord]) -> Option<Vec<&'a ShellWord>> {
    let ParsedArguments { mut operands, mut scripts } = parse(&options(program)?, arguments)?;
    // Without an option for it, the pattern or script is the first operand.
    if scripts.is_empty() && matches!(program, "grep" | "egrep" | "fgrep" | "rg" | "sed" | "awk" | "gawk" | "mawk") {
        if operands.is_empty() {
            return None;
        }
        scripts.push(&operands.remove(0).text);
    }
    let only_prints = scripts.iter().all(|script| match program {
        "sed" => SED.is_match(script),
        "awk" | "gawk" | "mawk" => AWK.is_match(script),
        _ => true,
    });
    only_prints.then_some(operands)
}

struct ParsedArguments<'a> {
    operands: Vec<&'a ShellWord>,
    /// Values of `-e`, `--expression` and `--regexp`.
    scripts: Vec<&'a str>,
}

fn parse<'a>(options: &ProgramOptions, arguments: &'a [ShellWord]) -> Option<ParsedArguments<'a>> {
    let mut parsed = ParsedArguments { operands: Vec::new(), scripts: Vec::new() };
    let mut words = arguments.iter();
    while let Some(word) = words.next() {
        let text = word.text.as_str();
        if text == "--" {
            parsed.operands.extend(words);
            return Some(parsed);
        }
        if options.counts && text.strip_prefix(['-', '+']).is_some_and(is_number) {
            continue;
        }
        if let Some(long) = text.strip_prefix("--") {
            let (name, value) = long.split_once('=').map_or((long, None), |(name, value)| (name, Some(value)));
            if name.contains(UNKNOWN) || options.long_effective.split(' ').any(|option| is_name_of(name, option)) {
                return None;
            }
            if options.long_valued.split(' ').any(|option| option == name) {
                let value = value.or_else(|| words.next().map(|word| word.text.as_str()))?;
                parsed.scripts.extend(matches!(name, "expression" | "regexp").then_some(value));
            }
            continue;
        }
        let Some(letters) = text.strip_prefix('-').filter(|letters| !letters.is_empty()) else {
            parsed.operands.push(word);
            continue;
        };
        if text.contains(UNKNOWN) {
            return None;
        }
        for (at, letter) in letters.char_indices() {
            if options.effective.contains(letter) {
                return None;
            }
            if !options.valued.contains(letter) {
                continue;
            }
            let rest = &letters[at + letter.len_utf8()..];
            let value = if rest.is_empty() { words.next()?.text.as_str() } else { rest };
            parsed.scripts.extend((letter == 'e').then_some(value));
            break;
        }
    }
    Some(parsed)
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit())
}

/// Whether `name` is a long option, an abbreviation of the option, or the option with a further word.
fn is_name_of(name: &str, option: &str) -> bool {
    !name.is_empty()
        && !option.is_empty()
        && (option.starts_with(name) || name.strip_prefix(option).is_some_and(|rest| rest.starts_with('-')))
}

#[expect(clippy::expect_used, reason = "a test compiles these patterns")]
fn fixed(pattern: &str) -> Regex {
    Regex::new(pattern).expect("a fixed pattern compiles")
}

/// sed commands that print or skip lines: `1,80p`, `/^#/,$p`, `20q`, separated by `;`.
static SED: LazyLock<Regex> = LazyLock::new(|| {
    let address = r"(?:\d+(?:~\d+)?|\$|/(?:[^/\\\n]|\\.)*/I?)";
    let command = format!(r"\s*(?:{address}(?:\s*,\s*(?:{address}|\+\d+))?)?\s*!?\s*(?:[pdl=]|q\d*)?\s*");
    fixed(&format!(r"\A{command}(?:[;\n]{command})*\z"))
});

/// awk programs that print lines by their number: `NR<=50`, `NR>=10 && NR<=20 {print}`.
static AWK: LazyLock<Regex> = LazyLock::new(|| {
    let test = r"F?NR\s*(?:<=?|>=?|==)\s*\d+";
    fixed(&format!(r"\A\s*(?:{test}(?:\s*(?:&&|\|\||,)\s*{test})*|1)?\s*(?:\{{\s*print(?:\s+\$0)?\s*;?\s*\}})?\s*\z"))
});
