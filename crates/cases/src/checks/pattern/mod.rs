//! A regular expression that a user wrote.

mod language;

use std::convert::Infallible;
use std::ops::Range;
use std::time::Duration;

use corvus_regex_ecma262::{MatchError, Regex, RegexBuilder};
use regex_syntax::ast::parse::Parser;
use regex_syntax::ast::{
    AssertionKind, Ast, ClassPerl, ClassPerlKind, ClassSetBinaryOp, ClassSetBinaryOpKind, ClassSetItem, GroupKind,
    HexLiteralKind, Literal, LiteralKind, RepetitionKind, Span, SpecialLiteralKind, Visitor, visit,
};
use regex_syntax::hir::Hir;
use serde::Serialize;

use crate::text::diagnostic::shorten;

pub use language::{LONGEST, PatternError, PatternSearch, SearchError, steps_for};

/// A text to search for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Pattern {
    pub text: String,
    /// Its meaning.
    pub style: Style,
}

/// The meaning of a pattern.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum Style {
    /// Plain text, in any case: both texts are compared in lower case.
    Literal,
    /// Plain text, exactly as written.
    Verbatim,
    /// A regular expression, exactly as written.
    Exact,
    /// The same of the text in lower case.
    Lower,
    /// A regular expression of JavaScript without flags.
    JavaScript,
    /// A regular expression in any case, with `^` and `$` at each line, whatever ends the line.
    Loose,
}

impl Pattern {
    /// One of these texts, each as written or in any case.
    pub fn one_of<'a>(texts: impl Iterator<Item = (&'a str, bool)>) -> Self {
        let parts: Vec<String> = texts
            .map(|(text, ignores_case)| format!("(?{}:{})", if ignores_case { "i" } else { "-i" }, regex::escape(text)))
            .collect();
        Self { text: parts.join("|"), style: Style::Exact }
    }

    /// Whether it is plain text. Reading a large file spends most time compiling patterns.
    pub fn is_literal(&self) -> bool {
        matches!(self.style, Style::Literal | Style::Verbatim) || !self.text.chars().any(regex_syntax_char)
    }

    /// Whether it compiles. Most patterns are only parsed, in a tenth of the time, which matters for a hundred thousand cases.
    pub fn check(&self) -> Result<(), PatternError> {
        let is_short = self.text.len() <= LONGEST;
        if is_short && (self.is_literal() || self.parse().is_some_and(|hir| language::is_small(&hir))) {
            return Ok(());
        }
        self.compile().map(drop)
    }

    /// Whether a text has a match of it; `None` if it does not compile, or the search takes too long.
    pub fn is_in(&self, text: &str) -> Option<bool> {
        if !self.is_literal() && !self.may_be_in(text) {
            return Some(false);
        }
        let search = || Some(!self.compile().ok()?.matches(text, 1).ok()?.is_empty());
        self.is_in_ascii(text).or_else(search)
    }

    /// Whether a text may have a match of it: without that, no compiled pattern has one. Compiling takes a hundred times as long.
    fn may_be_in(&self, text: &str) -> bool {
        let hir = if self.text.len() <= LONGEST { self.parse() } else { None };
        hir.is_none_or(|hir| language::may_match(&hir, text))
    }

    /// Whether a text in ASCII has a match of it. There, classes of bytes mean what those of Unicode mean, and compile in a fraction of
    /// the time.
    fn is_in_ascii(&self, text: &str) -> Option<bool> {
        let is_loose =
            self.is_loose().filter(|_| text.is_ascii() && !self.is_literal() && self.text.len() <= LONGEST)?;
        let text = if self.style == Style::Lower { &text.to_ascii_lowercase() } else { text };
        let mut regex = regex::bytes::RegexBuilder::new(&self.text);
        regex.unicode(false).case_insensitive(is_loose).multi_line(is_loose).crlf(is_loose);
        Some(regex.build().ok()?.is_match(text.as_bytes()))
    }

    /// Whether it is a loose regular expression of Rust; `None` if it is another pattern.
    fn is_loose(&self) -> Option<bool> {
        match self.style {
            Style::Exact | Style::Lower => Some(false),
            Style::Loose => Some(true),
            Style::Literal | Style::Verbatim | Style::JavaScript => None,
        }
    }

    /// A regular expression of Rust; `None` if it is another pattern, or invalid.
    fn parse(&self) -> Option<Hir> {
        let is_loose = self.is_loose()?;
        let mut parser = regex_syntax::ParserBuilder::new();
        parser.case_insensitive(is_loose).multi_line(is_loose).crlf(is_loose);
        parser.build().parse(&self.text).ok()
    }

    /// Compiles it by its meaning.
    pub fn compile(&self) -> Result<PatternSearch, PatternError> {
        let plain = || PatternSearch::Plain(self.text.clone());
        match self.style {
            Style::Literal => Ok(PatternSearch::Plain(self.text.to_lowercase()).lower()),
            Style::Verbatim => Ok(plain()),
            Style::Exact | Style::JavaScript if self.is_literal() => Ok(plain()),
            Style::Lower if self.is_literal() => Ok(plain().lower()),
            _ if self.text.len() > LONGEST => Err(PatternError::TooLong(self.text.len())),
            Style::Exact => PatternSearch::new(&self.text, false),
            Style::Lower => PatternSearch::new(&self.text, false).map(PatternSearch::lower),
            Style::JavaScript => PatternSearch::javascript(&self.text, ""),
            Style::Loose => PatternSearch::new(&self.text, true),
        }
    }

    /// The parts that mean something else in Python, whose regular expressions other runners use.
    pub fn differences(&self) -> Vec<DialectDifference<'_>> {
        if self.is_literal() || self.text.len() > LONGEST { Vec::new() } else { differences(&self.text) }
    }

    /// Whether every text has a match of it, or none has; `None` if that depends on the text, or is not sure.
    pub fn same_for_all(&self) -> Option<bool> {
        if self.text.is_empty() {
            return Some(true);
        }
        if self.is_literal() || self.text.len() > LONGEST {
            return None;
        }
        // This look-ahead is how people write a pattern that never matches.
        if self.text == "(?!)" {
            return Some(false);
        }
        match self.style {
            Style::JavaScript => javascript_same_for_all(&self.text, ""),
            _ => language::same_for_all(&self.parse()?),
        }
    }

    /// Splits at bars except `\|`, trims the parts and drops empty ones.
    pub fn split(text: &str) -> Vec<String> {
        let mut patterns = vec![String::new()];
        let mut escaped = false;
        for c in text.chars() {
            if c == '|' && !escaped {
                patterns.push(String::new());
                continue;
            }
            escaped = c == '\\' && !escaped;
            if let Some(last) = patterns.last_mut() {
                last.push(c);
            }
        }
        patterns.into_iter().map(|text| text.trim().to_owned()).filter(|text| !text.is_empty()).collect()
    }

    /// Message and help for a pattern of the field `name` that does not compile.
    pub fn problem(&self, name: &str, error: &PatternError) -> (String, String) {
        let whole = error.to_string();
        // The crate draws the pattern over several lines and ends with "error: what".
        let what = whole.lines().last().unwrap_or_default().trim_start_matches("error: ").to_owned();
        let help = if matches!(error, PatternError::TooLong(_) | PatternError::TooLarge) {
            "write several shorter patterns"
        } else if self.style == Style::JavaScript {
            "patterns of this file are regular expressions of JavaScript without flags"
        } else if self.text.contains(r"\Z") {
            r"write `\z` for the end of the text"
        } else if name.starts_with("must") && what.contains("unclosed group") {
            "`|` separates patterns here, also inside a group: write one pattern for each alternative, or a class like [ab]"
        } else {
            "patterns are Rust regular expressions, with look-ahead and back-references"
        };
        (format!("`{name}`: the pattern {:?} does not compile: {what}", shorten(&self.text)), help.to_owned())
    }
}

/// The same of a pattern of JavaScript with these flags.
pub fn javascript_same_for_all(pattern: &str, flags: &str) -> Option<bool> {
    // One that does not compile matches nothing, and is reported as such.
    compile_javascript(pattern, flags).ok()?;
    let same = language::same_for_all(&translated_javascript(pattern, flags)?)?;
    // With `y` a match is at the start of the text.
    (!same || !flags.contains('y')).then_some(same)
}

/// Characters with a meaning of their own in a regular expression.
fn regex_syntax_char(c: char) -> bool {
    r"\.+*?()|[]{}^$".contains(c)
}

// Finds the parts of a pattern that Python also accepts but that match something else there. Other runners of `prompts.csv`
// use Python's regular expressions.

/// A part of a pattern that means something else in Python.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DialectDifference<'a> {
    pub part: &'a str,
    /// What it means here.
    pub here: &'static str,
    /// What it means there.
    pub python: &'static str,
    /// What to write instead.
    pub instead: &'static str,
}

/// The parts of `pattern` that mean something else in Python, in order, none inside another; none of an invalid pattern.
fn differences(pattern: &str) -> Vec<DialectDifference<'_>> {
    let Ok(ast) = Parser::new().parse(pattern) else { return Vec::new() };
    let Ok(mut found) = visit(&ast, DifferenceFinder::default());
    found.sort_by_key(|(span, _)| (span.start.offset, usize::MAX - span.end.offset));
    let mut end = 0;
    found.retain(|(span, _)| {
        let outside = span.start.offset >= end;
        end = end.max(span.end.offset);
        outside
    });
    let mut differences = Vec::new();
    for (span, [here, python, instead]) in found {
        let part = pattern.get(span.start.offset..span.end.offset).unwrap_or(pattern);
        differences.push(DialectDifference { part, here, python, instead });
    }
    differences
}

/// The meaning of a part here, in Python, and what to write instead.
type Meanings = [&'static str; 3];

#[derive(Default)]
struct DifferenceFinder(Vec<(Span, Meanings)>);

impl Visitor for DifferenceFinder {
    type Output = Vec<(Span, Meanings)>;
    type Err = Infallible;

    fn finish(self) -> Result<Self::Output, Infallible> {
        Ok(self.0)
    }

    fn visit_pre(&mut self, ast: &Ast) -> Result<(), Infallible> {
        match ast {
            Ast::Assertion(assertion) => {
                let meanings = match assertion.kind {
                    AssertionKind::WordBoundaryStartAngle => {
                        ["the start of a word", "the character `<`", r"`\b` or `<`"]
                    }
                    AssertionKind::WordBoundaryEndAngle => ["the end of a word", "the character `>`", r"`\b` or `>`"],
                    AssertionKind::WordBoundaryStart
                    | AssertionKind::WordBoundaryEnd
                    | AssertionKind::WordBoundaryStartHalf
                    | AssertionKind::WordBoundaryEndHalf => {
                        ["one side of a word", "a word boundary and the text in braces", r"`\b`"]
                    }
                    _ => return Ok(()),
                };
                self.0.push((assertion.span, meanings));
            }
            Ast::Repetition(outer) => {
                // In Python, a `+` after a repetition makes it possessive.
                let possessive = matches!(outer.op.kind, RepetitionKind::OneOrMore) && outer.greedy;
                if possessive && matches!(&*outer.ast, Ast::Repetition(inner) if inner.greedy) {
                    let meanings =
                        ["a repetition that is repeated", "a possessive one", "one of the signs, or `(?:…)+`"];
                    self.0.push((outer.span, meanings));
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn visit_class_set_item_pre(&mut self, item: &ClassSetItem) -> Result<(), Infallible> {
        let class_ends = "a class that ends at the first `]`";
        match item {
            ClassSetItem::Ascii(class) => self
                .0
                .push((class.span, ["a named class", class_ends, r"`\w`, `\d`, `\s`, or the characters themselves"])),
            ClassSetItem::Bracketed(class) => {
                self.0.push((class.span, ["a class in a class", class_ends, r"one class, and `\[` for a bracket"]));
            }
            _ => {}
        }
        Ok(())
    }

    fn visit_class_set_binary_op_pre(&mut self, operation: &ClassSetBinaryOp) -> Result<(), Infallible> {
        let here = match operation.kind {
            ClassSetBinaryOpKind::Intersection => "what two classes share",
            ClassSetBinaryOpKind::Difference => "what only the first of two classes has",
            ClassSetBinaryOpKind::SymmetricDifference => "what only one of two classes has",
        };
        let meanings = [here, "a class with these very signs in it", r"the class written out, and `\&`, `\-`, `\~`"];
        self.0.push((operation.span, meanings));
        Ok(())
    }
}

// Regular expressions of JavaScript, by an engine that has its grammar and its answers. Without the flag `u`, it matches UTF-16 code
// units, of which an emoji has two.

/// How long the search for one match may take. Only a back-reference in a repetition takes more than linear time.
const LONGEST_SEARCH: Duration = Duration::from_secs(2);

/// The pattern with these flags, as `new RegExp(pattern, flags)` reads it.
fn compile_javascript(pattern: &str, flags: &str) -> Result<Regex, PatternError> {
    let built = RegexBuilder::new(pattern).flags(flags).match_timeout(Some(LONGEST_SEARCH)).build();
    built.map_err(|error| PatternError::JavaScript(error.to_string()))
}

/// The first `most` matches as bytes of the text. A match that begins or ends within a character takes all of it.
fn matches_javascript(regex: &Regex, text: &str, most: usize) -> Result<Vec<Range<usize>>, SearchError> {
    let whole = |found: Range<usize>| {
        let (mut start, mut end) = (found.start, found.end);
        while !text.is_char_boundary(start) {
            start -= 1;
        }
        while !text.is_char_boundary(end) {
            end += 1;
        }
        start..end
    };
    let found = regex.find_iter(text).take(most).map(|found| Ok(whole(found?.range())));
    found.collect::<Result<_, MatchError>>().map_err(|_| SearchError)
}

// A pattern of JavaScript as one of Rust, if it only has parts that mean the same there, or can be written so.

/// The characters that end a line.
const LINE_ENDS: [char; 4] = ['\n', '\r', '\u{2028}', '\u{2029}'];

/// It with these flags in the form of Rust; `None` if it has a part that means something else here.
fn translated_javascript(pattern: &str, flags: &str) -> Option<Hir> {
    // `[]` is no character and `[^]` any; a repetition has a least number.
    if ["[]", "[^]", "{,"].iter().any(|part| pattern.contains(part)) {
        return None;
    }
    let ast = Parser::new().parse(pattern).ok()?;
    let has = |flag: char| flags.contains(flag);
    let dot = if has('s') { "(?s:.)" } else { r"[^\n\r\x{2028}\x{2029}]" };
    let mut parts = visit(&ast, Translation { dot, ..Translation::default() }).ok()?;
    let by_unicode = has('i') && (has('u') || has('v'));
    // Each language has cases of its own for the letters that are not ASCII.
    let may_be_beyond_ascii = !pattern.is_ascii() || pattern.contains(r"\u") || pattern.contains(r"\x");
    let differs = has('i') && may_be_beyond_ascii || by_unicode && parts.has_words;
    // All that ends a line does so in the same way, unless the pattern tells them apart.
    if differs || has('m') && parts.has_line_places && parts.tells_line_ends_apart {
        return None;
    }
    parts.replaced.sort_by_key(|(range, _)| range.start);
    let (mut text, mut at) = (String::new(), 0);
    for (range, new) in &parts.replaced {
        text.extend([pattern.get(at..range.start)?, new]);
        at = range.end;
    }
    text.push_str(pattern.get(at..)?);
    // A place that does not end a word may be within a character.
    let mut parser = regex_syntax::ParserBuilder::new();
    parser.utf8(false).case_insensitive(has('i')).multi_line(has('m')).build().parse(&text).ok()
}

#[derive(Default)]
struct Translation {
    /// What is written for a dot.
    dot: &'static str,
    /// Parts of the pattern, and what is written for each.
    replaced: Vec<(Range<usize>, &'static str)>,
    has_line_places: bool,
    has_words: bool,
    tells_line_ends_apart: bool,
}

/// It has a part that cannot be written.
struct Untranslatable;

impl Translation {
    fn literals(&mut self, literals: &[&Literal]) -> Result<(), Untranslatable> {
        for literal in literals {
            let is_same = match &literal.kind {
                LiteralKind::Verbatim | LiteralKind::Meta | LiteralKind::Superfluous => true,
                LiteralKind::HexFixed(kind) => *kind != HexLiteralKind::UnicodeLong,
                LiteralKind::Special(kind) => !matches!(kind, SpecialLiteralKind::Bell | SpecialLiteralKind::Space),
                LiteralKind::Octal | LiteralKind::HexBrace(_) => false,
            };
            if !is_same {
                return Err(Untranslatable);
            }
        }
        if let (Some(first), Some(last)) = (literals.first(), literals.last()) {
            self.tells_line_ends_apart |= LINE_ENDS.iter().any(|end| (first.c..=last.c).contains(end));
        }
        Ok(())
    }

    fn class(&mut self, class: &ClassPerl) {
        let new = match (&class.kind, class.negated) {
            (ClassPerlKind::Digit, false) => "[0-9]",
            (ClassPerlKind::Digit, true) => "[^0-9]",
            (ClassPerlKind::Space, false) => r"[\s\x{FEFF}--\x85]",
            (ClassPerlKind::Space, true) => r"[^\s\x{FEFF}--\x85]",
            (ClassPerlKind::Word, false) => "[0-9A-Za-z_]",
            (ClassPerlKind::Word, true) => "[^0-9A-Za-z_]",
        };
        self.has_words |= class.kind == ClassPerlKind::Word;
        self.replaced.push((class.span.start.offset..class.span.end.offset, new));
    }
}

impl Visitor for Translation {
    type Output = Self;
    type Err = Untranslatable;

    fn finish(self) -> Result<Self, Untranslatable> {
        Ok(self)
    }

    fn visit_pre(&mut self, ast: &Ast) -> Result<(), Untranslatable> {
        let span = ast.span();
        let mut replace = |new| self.replaced.push((span.start.offset..span.end.offset, new));
        match ast {
            Ast::Empty(_) | Ast::Repetition(_) | Ast::Alternation(_) | Ast::Concat(_) | Ast::ClassBracketed(_) => {
                Ok(())
            }
            Ast::Group(group) => match &group.kind {
                GroupKind::NonCapturing(flags) if !flags.items.is_empty() => Err(Untranslatable),
                _ => Ok(()),
            },
            Ast::Literal(literal) => self.literals(&[literal]),
            Ast::ClassPerl(class) => {
                self.class(class);
                Ok(())
            }
            Ast::Dot(_) => {
                replace(self.dot);
                Ok(())
            }
            Ast::Assertion(assertion) => {
                match assertion.kind {
                    AssertionKind::StartLine | AssertionKind::EndLine => self.has_line_places = true,
                    AssertionKind::WordBoundary => replace(r"(?-u:\b)"),
                    AssertionKind::NotWordBoundary => replace(r"(?-u:\B)"),
                    _ => return Err(Untranslatable),
                }
                self.has_words |=
                    matches!(assertion.kind, AssertionKind::WordBoundary | AssertionKind::NotWordBoundary);
                Ok(())
            }
            Ast::Flags(_) | Ast::ClassUnicode(_) => Err(Untranslatable),
        }
    }

    fn visit_class_set_item_pre(&mut self, item: &ClassSetItem) -> Result<(), Untranslatable> {
        match item {
            ClassSetItem::Empty(_) | ClassSetItem::Union(_) => Ok(()),
            ClassSetItem::Literal(literal) => self.literals(&[literal]),
            ClassSetItem::Range(range) => self.literals(&[&range.start, &range.end]),
            ClassSetItem::Perl(class) => {
                self.class(class);
                Ok(())
            }
            ClassSetItem::Ascii(_) | ClassSetItem::Unicode(_) | ClassSetItem::Bracketed(_) => Err(Untranslatable),
        }
    }

    fn visit_class_set_binary_op_pre(&mut self, _: &ClassSetBinaryOp) -> Result<(), Untranslatable> {
        Err(Untranslatable)
    }
}

#[cfg(test)]
mod tests {
    use super::{Pattern, PatternSearch, Style, javascript_same_for_all};

    fn all(style: Style, texts: &[&str]) -> Vec<Option<bool>> {
        texts.iter().map(|text| Pattern { text: (*text).to_owned(), style }.same_for_all()).collect()
    }

    const DEAD: [&str; 8] =
        ["$5.00", "$HOME", "C^2", "foo$bar", r"\bfoo$ bar\b", r"(?:a|b)$[cd]", r"x+^\d", r"[^\s\S]foo|a$b"];

    #[test]
    fn a_pattern_that_looks_past_an_end_or_before_a_start_matches_no_text() {
        assert_eq!(all(Style::Exact, &DEAD), [Some(false); 8]);
        assert_eq!(all(Style::Loose, &DEAD), [Some(false); 8]);
        assert_eq!(all(Style::Exact, &[r"\Afoo^bar", r"\zfoo", r"é$é", r"(?-u:\b\B)"]), [Some(false); 4]);
        for pattern in DEAD {
            for flags in ["", "i", "s", "u", "g", "y"] {
                assert_eq!(javascript_same_for_all(pattern, flags), Some(false), "{pattern} {flags}");
            }
        }
        assert_eq!(javascript_same_for_all("$5.00", "im"), Some(false));
    }

    #[test]
    fn the_flags_of_a_pattern_decide() {
        assert_eq!(all(Style::Exact, &["a$\nb", "(?m)a$\nb", "a$\r\nb"]), [Some(false), None, Some(false)]);
        assert_eq!(all(Style::Loose, &["a$\nb", "a$\r\nb", "a\r^\nb"]), [None, None, Some(false)]);
        assert_eq!(["", "m"].map(|flags| javascript_same_for_all("a$\nb", flags)), [Some(false), None]);
        assert_eq!(["", "m"].map(|flags| javascript_same_for_all("^", flags)), [Some(true); 2]);
    }

    #[test]
    fn a_pattern_that_matches_nothing_but_places_of_every_text_matches_every_text() {
        assert_eq!(all(Style::Exact, &["^", "$", "x*", "^x*", "(?:^|x)y?", "^.*|$"]), [Some(true); 6]);
        assert_eq!(["", "x*", "^", "(?:$|a)b?"].map(|text| javascript_same_for_all(text, "g")), [Some(true); 4]);
        assert_eq!(javascript_same_for_all("$", "y"), None);
    }

    #[test]
    fn nothing_is_said_of_a_pattern_that_depends_on_the_text_or_that_the_automaton_cannot_decide() {
        let depends = ["^$", "x+", "^.*$", r"\b", r"\B", r"^\w+$", r"\bé", "(?i)foo$", r"(?m)^a$\n^b$", "^\u{feff}?#"];
        assert_eq!(all(Style::Exact, &depends), [None; 10]);
        assert_eq!(all(Style::Exact, &["(?=x)", r"(a)\1$b", r"foo\b\Bbar"]), [None; 3]);
        let depends = [r"(?R)", r"(?=x)", "[]", "[^]", r"a\b", r"\cJ", r"^[^\n]$", "{,3}", r"\Afoo^bar", r"\p{L}$x"];
        for pattern in depends {
            assert_eq!(javascript_same_for_all(pattern, ""), None, "{pattern}");
        }
    }

    /// All strings of at most so many of these parts.
    fn strings(parts: &[&str], most: usize) -> Vec<String> {
        let mut strings = vec![String::new()];
        let mut last = strings.clone();
        for _ in 0..most {
            last = last.iter().flat_map(|start| parts.iter().map(move |part| format!("{start}{part}"))).collect();
            strings.extend(last.iter().cloned());
        }
        strings
    }

    #[test]
    fn what_is_said_of_a_pattern_holds_in_the_engine_that_searches_for_it() {
        let texts = strings(&["a", "\n", "\r", "é", " "], 3);
        let parts = ["a", "^", "$", r"\b", r"\B", r"\n", "a*", "[^a]?", "|"];
        for pattern in strings(&parts, 3) {
            let searches = [
                (
                    Pattern { text: pattern.clone(), style: Style::Exact }.same_for_all(),
                    PatternSearch::new(&pattern, false),
                ),
                (
                    Pattern { text: pattern.clone(), style: Style::Loose }.same_for_all(),
                    PatternSearch::new(&pattern, true),
                ),
                (javascript_same_for_all(&pattern, ""), PatternSearch::javascript(&pattern, "")),
                (javascript_same_for_all(&pattern, "m"), PatternSearch::javascript(&pattern, "m")),
            ];
            for (said, search) in searches {
                let (Some(said), Ok(search)) = (said, search) else { continue };
                for text in &texts {
                    let found = !search.matches(text, 1).unwrap().is_empty();
                    assert_eq!(found, said, "{pattern:?} in {text:?}");
                }
            }
        }
    }

    #[test]
    fn what_has_a_match_may_have_one_and_a_small_program_compiles() {
        let patterns = [
            r"(?i)\b(skill|mask)s?\b",
            "(?i)kiss",
            "a+b|ß",
            r"x{2,3}y",
            "",
            "(?i:Ab)c",
            r"\w{1,9}é",
            "(?:ab|cd)e",
            r"ab\b",
            "[ab]c",
        ];
        let texts =
            strings(&["skill", "MASKS", "\u{212A}i\u{17F}\u{17F}", "aab", "ß", "xxy", "aBc", "é", "cde", "ac"], 2);
        for style in [Style::Exact, Style::Lower, Style::Loose] {
            for pattern in patterns {
                let pattern = Pattern { text: pattern.to_owned(), style };
                let search = pattern.compile().unwrap();
                let found = |text: &&String| !search.matches(text, 1).unwrap().is_empty();
                assert!(texts.iter().filter(found).all(|text| pattern.may_be_in(text)), "{pattern:?}");
                let is_same = |text: &String| pattern.is_in(text) == Some(found(&text));
                assert!(texts.iter().step_by(9).all(is_same), "{pattern:?}");
            }
        }
        let may = |pattern: &str, text| Pattern { text: pattern.to_owned(), style: Style::Exact }.may_be_in(text);
        assert_eq!(
            [may(r"(?i)(x|data\s+class)", "a data clue"), may(r"(?i)(x|data\s+class)", "a DATA CLASS")],
            [false, true]
        );
        let checked = |text: &str| Pattern { text: text.to_owned(), style: Style::Exact }.check().is_ok();
        let large = [r"\w{100}", r"(\w{20}){30}", "(a{1000}){1000}", r"(\pL{9}|x){99}"];
        for pattern in large.into_iter().chain(patterns) {
            assert_eq!(checked(pattern), regex::Regex::new(pattern).is_ok(), "{pattern}");
        }
    }
}
