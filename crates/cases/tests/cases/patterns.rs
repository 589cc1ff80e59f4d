//! Patterns of users: which compile, what they match, and what Python makes of them.

use skill_evals_cases::checks::pattern::{Pattern, PatternError, Style};

fn pattern(text: &str, style: Style) -> Pattern {
    Pattern { text: text.to_owned(), style }
}

/// Whether a pattern of JavaScript matches a text; `None` if it does not compile.
fn javascript(text: &str, searched: &str) -> Option<bool> {
    let search = pattern(text, Style::JavaScript).compile().ok()?;
    Some(!search.matches(searched, 1).expect("a search").is_empty())
}

#[test]
fn escapes_and_signs_mean_what_they_mean_in_javascript() {
    for (pattern, matches, others) in [
        (r"^\D$", &["x", "٣"][..], &["3"][..]),
        (r"^\w$", &["a", "_", "9"], &["é", "-"]),
        (r"^\W$", &["é", "-"], &["a"]),
        (r"^\S$", &["a", "\u{85}"], &[" ", "\u{feff}"]),
        (r"^[\D]$", &["x"], &["3"]),
        (r"[\b]", &["\u{8}"], &["b", ""]),
        (r"a\Bb", &["ab"], &["a b", "aBb"]),
        (r"^\0$", &["\0"], &["0"]),
        (r"^\.$", &["."], &["a"]),
        (r"^\<\>$", &["<>"], &["", r"\<\>"]),
        (r"^a{1", &["a{1"], &["a"]),
        (r"^a{1,x}$", &["a{1,x}"], &["a"]),
        (r"^a{2}$", &["aa"], &["a", "a{2}"]),
        (r"^a+?$", &["aa"], &[""]),
        (r"^[a].$", &["ab"], &["a\r"]),
        (r"^[--a]$", &["5", "-", "a"], &["b"]),
    ] {
        for text in matches {
            assert_eq!(javascript(pattern, text), Some(true), "{pattern} {text:?}");
        }
        for text in others {
            assert_eq!(javascript(pattern, text), Some(false), "{pattern} {text:?}");
        }
    }
    for invalid in ["a**", "a++", "a+??", "+?+", "(?x)a", "(?>a)", "a{1}+"] {
        let problem = pattern(invalid, Style::JavaScript).check().expect_err(invalid);
        assert!(matches!(problem, PatternError::JavaScript(_)), "{invalid}: {problem}");
    }
}

#[test]
fn a_search_by_the_rules_of_javascript_ends_whatever_the_pattern() {
    let text = format!("{}b", "a".repeat(60));
    assert_eq!(javascript("(a+)+$", &text), Some(false), "nested repetitions take linear time");
    let search = pattern(r"^(?:(a+)\1*)+$", Style::JavaScript).compile().expect("a pattern");
    assert!(search.matches(&text, 1).is_err(), "a back-reference may take any time: that is no answer");
}

#[test]
fn a_pattern_that_means_something_else_in_python_is_shown() {
    for (text, parts) in [
        (r"\<a\>", &[(r"\<", "the start of a word"), (r"\>", "the end of a word")][..]),
        (r"\b{start}a", &[(r"\b{start}", "one side of a word")]),
        (r"\b{end-half}", &[(r"\b{end-half}", "one side of a word")]),
        ("a*+", &[("a*+", "a repetition that is repeated")]),
        ("a{2}+", &[("a{2}+", "a repetition that is repeated")]),
        ("a+", &[]),
        ("a**", &[]),
        ("a*?+", &[]),
        ("a*+?", &[]),
        ("(?:a*)+", &[]),
        ("[[:alpha:]]", &[("[:alpha:]", "a named class")]),
        ("[a[b]]", &[("[b]", "a class in a class")]),
        ("[a&&b]", &[("a&&b", "what two classes share")]),
        ("[a--b]", &[("a--b", "what only the first of two classes has")]),
        ("[a~~b]", &[("a~~b", "what only one of two classes has")]),
        // One inside another is not shown by itself.
        ("[a&&[b]]", &[("a&&[b]", "what two classes share")]),
        ("[[a]][[b]]", &[("[a]", "a class in a class"), ("[b]", "a class in a class")]),
        (r"\bAda$", &[]),
    ] {
        let pattern = pattern(text, Style::Exact);
        let found: Vec<_> = pattern.differences().iter().map(|found| (found.part, found.here)).collect();
        assert_eq!(found, parts, "{text}");
    }
    assert!(pattern("[a[b]]", Style::Verbatim).differences().is_empty(), "plain text has no classes");
}

#[test]
fn plain_text_is_literal_and_compiles_whatever_its_length() {
    for (text, style, is_literal) in [
        ("a.b", Style::Literal, true),
        ("a.b", Style::Verbatim, true),
        ("a.b", Style::Exact, false),
        ("ab", Style::Exact, true),
        ("ab", Style::Loose, true),
        ("(", Style::JavaScript, false),
    ] {
        assert_eq!(pattern(text, style).is_literal(), is_literal, "{text} {style:?}");
    }
    let long = "ab".repeat(300);
    let search = pattern(&long, Style::Verbatim).compile().expect("plain text");
    assert_eq!(search.matches(&long, 2).map(|found| found[0].clone()), Ok(0..600));
}

#[test]
fn a_pattern_that_grows_too_large_is_found_before_it_is_used() {
    for text in [r"\w{5000}".to_owned(), r"\w".repeat(1_000)] {
        assert!(pattern(&text, Style::Exact).check().is_err(), "{} bytes", text.len());
    }
    let invalid = pattern("a(", Style::Exact);
    let problem = invalid.check().expect_err("a problem");
    assert!(matches!(problem, PatternError::Linear(_)), "its message shows the place: {problem}");
    let (message, help) = invalid.problem("matches", &problem);
    assert_eq!(message, "`matches`: the pattern \"a(\" does not compile: unclosed group");
    assert_eq!(help, "patterns are Rust regular expressions, with look-ahead and back-references");
}
