//! Programs that only print the files that they name, with those of their options that keep it so.
//!
//! An option that is not listed may write, run a program or read other files (`sed -i`, `less -o`, `rg --pre`).

use std::sync::LazyLock;

use regex::Regex;

use super::script::{UNKNOWN, Word};

/// What a program's words may be.
struct Options {
    /// One-letter options without a value.
    flags: &'static str,
    /// One-letter options with a value, in the same word or the next.
    valued: &'static str,
    /// Long options without a value, or with one behind `=`.
    long: &'static [&'static str],
    /// Long options with a value in the same word or the next.
    long_valued: &'static [&'static str],
    /// Whether `-20` is a number of lines, and `+3` one to begin at.
    counts: bool,
}

const NONE: Options = Options { flags: "", valued: "", long: &[], long_valued: &[], counts: false };

const GREP: Options = Options {
    flags: "nicowvEFPhHqsxa",
    valued: "ABCem",
    long: &[
        "color",
        "colour",
        "line-number",
        "ignore-case",
        "word-regexp",
        "fixed-strings",
        "extended-regexp",
        "count",
        "only-matching",
        "invert-match",
        "no-messages",
        "quiet",
        "with-filename",
        "no-filename",
    ],
    long_valued: &["context", "after-context", "before-context", "max-count", "regexp"],
    counts: true,
};

/// Whether a program of this name prints the files that it names.
pub(super) fn prints(program: &str) -> bool {
    options(program).is_some()
}

fn options(program: &str) -> Option<Options> {
    Some(match program {
        "cat" => Options {
            flags: "AbeEnstTuv",
            long: &["number", "show-all", "number-nonblank", "squeeze-blank", "show-ends", "show-tabs"],
            ..NONE
        },
        "tac" => Options { flags: "b", valued: "s", ..NONE },
        "head" | "tail" => Options {
            flags: "qvz",
            valued: "nc",
            long: &["quiet", "verbose"],
            long_valued: &["lines", "bytes"],
            counts: true,
        },
        "nl" => Options { valued: "bdfhilnpsvw", flags: "p", long_valued: &["body-numbering"], ..NONE },
        "wc" => Options { flags: "clmwL", long: &["lines", "words", "bytes", "chars"], ..NONE },
        "cut" => Options { flags: "s", valued: "bcdf", ..NONE },
        "less" => Options { flags: "FRXSNnIieEMmQqrs", ..NONE },
        "more" => Options { flags: "dflpcsu", counts: true, ..NONE },
        "bat" | "batcat" => Options {
            flags: "pAnPfS",
            valued: "rlH",
            long: &["plain", "paging", "style", "color", "decorations", "number", "show-all", "wrap", "tabs"],
            long_valued: &["line-range", "language", "highlight-line", "theme", "terminal-width"],
            counts: false,
        },
        "grep" | "egrep" | "fgrep" => GREP,
        // What `-E` is to grep is an encoding to rg.
        "rg" => Options { flags: "nicowvFPHqsxaNSI", long: &["color", "line-number", "ignore-case"], ..GREP },
        "sed" => Options {
            flags: "nErsu",
            valued: "e",
            long: &["quiet", "silent", "regexp-extended"],
            long_valued: &["expression"],
            counts: false,
        },
        "awk" | "gawk" | "mawk" => NONE,
        _ => return None,
    })
}

/// The files that `program` prints. `None` where it is no reader, or may do more than print.
pub(super) fn operands<'a>(program: &str, arguments: &'a [Word]) -> Option<Vec<&'a Word>> {
    let Parsed { mut operands, scripts } = parse(&options(program)?, arguments)?;
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

struct Parsed<'a> {
    operands: Vec<&'a Word>,
    /// Values of `-e` and its long forms.
    scripts: Vec<&'a str>,
}

fn parse<'a>(options: &Options, arguments: &'a [Word]) -> Option<Parsed<'a>> {
    let mut parsed = Parsed { operands: Vec::new(), scripts: Vec::new() };
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
            if options.long_valued.contains(&name) {
                let value = value.or_else(|| words.next().map(|word| word.text.as_str()))?;
                parsed.scripts.extend(matches!(name, "expression" | "regexp").then_some(value));
            } else if !options.long.contains(&name) {
                return None;
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
            if options.flags.contains(letter) {
                continue;
            }
            if !options.valued.contains(letter) {
                return None;
            }
            let rest = &letters[at + letter.len_utf8()..];
            let value = if rest.is_empty() { words.next()?.text.as_str() } else { rest };
            parsed.scripts.extend((letter == 'e').then_some(value));
            break;
        }
    }
    Some(parsed)
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
