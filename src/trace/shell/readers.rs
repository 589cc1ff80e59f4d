//! Programs that only print the files that they name, unless an option has them do more.

use std::sync::LazyLock;

use regex::Regex;

use super::script::{ShellWord, UNKNOWN};

/// What a program's options are. One that is in no list has no value, and changes only how a file is printed.
struct ProgramOptions {
    /// One-letter options with a value, in the same word or the next.
    valued: &'static str,
    /// Long options with a value, behind `=` or in the next word.
    long_valued: &'static [&'static str],
    /// One-letter options by which it writes, runs a program, waits, or reads a file that is no operand.
    more: &'static str,
    /// Long options that do so.
    long_more: &'static [&'static str],
    /// Whether `-20` is a number of lines, and `+3` one to begin at.
    counts: bool,
}

const NONE: ProgramOptions = ProgramOptions { valued: "", long_valued: &[], more: "", long_more: &[], counts: false };

#[expect(clippy::too_many_lines, reason = "a table")]
fn options(program: &str) -> Option<ProgramOptions> {
    Some(match program {
        "cat" => NONE,
        "tac" => ProgramOptions { valued: "s", long_valued: &["separator"], ..NONE },
        "head" | "tail" => ProgramOptions {
            valued: "nc",
            long_valued: &["lines", "bytes"],
            more: "fFs",
            long_more: &["follow", "retry", "pid", "sleep-interval"],
            counts: true,
        },
        "nl" => ProgramOptions {
            valued: "bdfhilnsvw",
            long_valued: &[
                "body-numbering",
                "footer-numbering",
                "header-numbering",
                "join-blank-lines",
                "line-increment",
                "number-format",
                "number-separator",
                "number-width",
                "section-delimiter",
                "starting-line-number",
            ],
            ..NONE
        },
        "wc" => ProgramOptions { long_more: &["files0-from"], ..NONE },
        "cut" => ProgramOptions {
            valued: "bcdf",
            long_valued: &["bytes", "characters", "delimiter", "fields", "output-delimiter"],
            ..NONE
        },
        "less" => ProgramOptions {
            valued: "bhjpPxyz",
            long_valued: &["jump-target", "max-back-scroll", "pattern", "prompt", "tabs", "window"],
            more: "kotTO",
            long_more: &["lesskey", "log-file", "LOG-FILE", "tag"],
            counts: true,
        },
        "more" => ProgramOptions { valued: "n", long_valued: &["lines"], counts: true, ..NONE },
        "bat" | "batcat" => ProgramOptions {
            valued: "rlHm",
            long_valued: &[
                "binary",
                "color",
                "decorations",
                "diff-context",
                "file-name",
                "highlight-line",
                "ignored-suffix",
                "italic-text",
                "language",
                "line-range",
                "map-syntax",
                "nonprintable-notation",
                "paging",
                "squeeze-limit",
                "strip-ansi",
                "style",
                "tabs",
                "terminal-width",
                "theme",
                "theme-dark",
                "theme-light",
                "wrap",
            ],
            long_more: &["generate-config-file", "lessopen", "pager"],
            ..NONE
        },
        "grep" | "egrep" | "fgrep" => ProgramOptions {
            valued: "ABCDdem",
            long_valued: &[
                "after-context",
                "before-context",
                "binary-files",
                "context",
                "devices",
                "directories",
                "exclude",
                "exclude-dir",
                "group-separator",
                "include",
                "label",
                "max-count",
                "regexp",
            ],
            more: "f",
            long_more: &["file", "exclude-from"],
            counts: true,
        },
        "rg" => ProgramOptions {
            valued: "ABCEMTdegjmrt",
            long_valued: &[
                "after-context",
                "before-context",
                "color",
                "colors",
                "context",
                "context-separator",
                "dfa-size-limit",
                "encoding",
                "engine",
                "field-context-separator",
                "field-match-separator",
                "glob",
                "hyperlink-format",
                "iglob",
                "max-columns",
                "max-count",
                "max-depth",
                "maxdepth",
                "max-filesize",
                "path-separator",
                "regex-size-limit",
                "regexp",
                "replace",
                "sort",
                "sortr",
                "threads",
                "type",
                "type-add",
                "type-clear",
                "type-not",
            ],
            more: "fz",
            long_more: &["file", "hostname-bin", "ignore-file", "pre", "search-zip"],
            counts: false,
        },
        "sed" => ProgramOptions {
            valued: "el",
            long_valued: &["expression", "line-length"],
            more: "fi",
            long_more: &["file", "in-place"],
            ..NONE
        },
        "awk" | "gawk" | "mawk" => ProgramOptions {
            valued: "Fv",
            long_valued: &["assign", "field-separator"],
            more: "DEdefilop",
            long_more: &["debug", "dump", "exec", "file", "include", "load", "pretty", "profile", "source"],
            ..NONE
        },
        _ => return None,
    })
}

/// The files that `program` prints. `None` where it is no reader, or may do more than print.
pub(super) fn operands<'a>(program: &str, arguments: &'a [ShellWord]) -> Option<Vec<&'a ShellWord>> {
    let ParsedCommand { mut operands, scripts } = parse(&options(program)?, arguments)?;
    // A pattern or a script is the first operand where no option gave it.
    let mut texts: Vec<&str> = scripts;
    if texts.is_empty() && matches!(program, "grep" | "egrep" | "fgrep" | "rg" | "sed" | "awk" | "gawk" | "mawk") {
        if operands.is_empty() {
            return None;
        }
        texts.push(&operands.remove(0).text);
    }
    let prints = |text: &&str| match program {
        "sed" => SED.is_match(text),
        "awk" | "gawk" | "mawk" => AWK.is_match(text),
        _ => true,
    };
    texts.iter().all(prints).then_some(operands)
}

struct ParsedCommand<'a> {
    operands: Vec<&'a ShellWord>,
    /// Values of `-e` and its long forms.
    scripts: Vec<&'a str>,
}

fn parse<'a>(options: &ProgramOptions, arguments: &'a [ShellWord]) -> Option<ParsedCommand<'a>> {
    let mut parsed = ParsedCommand { operands: Vec::new(), scripts: Vec::new() };
    let mut words = arguments.iter();
    while let Some(word) = words.next() {
        let text = word.text.as_str();
        let digits = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
        if text == "--" {
            parsed.operands.extend(words);
            return Some(parsed);
        }
        if options.counts && text.strip_prefix(['-', '+']).is_some_and(digits) {
            continue;
        }
        if let Some(long) = text.strip_prefix("--") {
            let (name, value) = long.split_once('=').map_or((long, None), |(name, value)| (name, Some(value)));
            if name.contains(UNKNOWN) || options.long_more.iter().any(|more| is_name_of(name, more)) {
                return None;
            }
            if options.long_valued.contains(&name) {
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
            if options.more.contains(letter) {
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

/// Whether a long option is this one: written whole, cut short, or with a word more.
fn is_name_of(name: &str, option: &str) -> bool {
    !name.is_empty()
        && (option.starts_with(name) || name.strip_prefix(option).is_some_and(|rest| rest.starts_with('-')))
}

#[expect(clippy::expect_used, reason = "fixed patterns, which a test compiles")]
fn fixed(pattern: &str) -> Regex {
    Regex::new(pattern).expect("a fixed pattern compiles")
}

/// sed's commands that print or skip lines: `1,80p`, `/^#/,$p`, `20q`, several of them separated by `;`.
static SED: LazyLock<Regex> = LazyLock::new(|| {
    let address = r"(?:\d+(?:~\d+)?|\$|/(?:[^/\\\n]|\\.)*/I?)";
    let command = format!(r"\s*(?:{address}(?:\s*,\s*(?:{address}|\+\d+))?)?\s*!?\s*(?:[pdl=]|q\d*)?\s*");
    fixed(&format!(r"\A{command}(?:[;\n]{command})*\z"))
});

/// awk's programs that print lines by their number: `NR<=50`, `NR>=10 && NR<=20 {print}`.
static AWK: LazyLock<Regex> = LazyLock::new(|| {
    let test = r"F?NR\s*(?:<=?|>=?|==)\s*\d+";
    fixed(&format!(r"\A\s*(?:{test}(?:\s*(?:&&|\|\||,)\s*{test})*|1)?\s*(?:\{{\s*print(?:\s+\$0)?\s*;?\s*\}})?\s*\z"))
});
