//! Plain English in what people read: messages, `--help`, comments and the docs. textlint reads the words of the docs.

use crate::support::repository;
use std::fs;
use std::path::{Path, PathBuf};

use regex::Regex;
use skill_evals_evidence::text::node;

use crate::support::fixture::Fixture;

/// What is hard to read, and what to write instead: the list by which textlint reads the docs.
#[derive(serde::Deserialize)]
struct WordList {
    rules: Vec<WordRule>,
}

#[derive(serde::Deserialize)]
struct WordRule {
    expected: String,
    /// A regular expression as JavaScript writes it: `/…/i`.
    pattern: String,
}

/// What recordings hold by these names.
const STORED: [&str; 2] = ["catalogue of skills", "change {} in mid-session"];

/// The longest sentence of the docs, in words.
const LONGEST: usize = 30;

fn root() -> &'static Path {
    repository()
}

fn words() -> Vec<(fancy_regex::Regex, String)> {
    let text = fs::read_to_string(root().join("tests/prose/prh.yml")).expect("the list of words");
    let list = node::parse_yaml(&text).expect("YAML").expect("a value").json();
    let list: WordList = serde_json::from_value(list).expect("a list of words");
    assert!(list.rules.len() > 15, "{} rules", list.rules.len());
    let pattern = |rule: &WordRule| {
        let pattern = rule.pattern.strip_prefix('/').and_then(|pattern| pattern.strip_suffix("/i"));
        fancy_regex::Regex::new(&format!("(?i){}", pattern.expect("/…/i"))).expect("a pattern")
    };
    list.rules.into_iter().map(|rule| (pattern(&rule), rule.expected)).collect()
}

/// The hard words of a text, each as a line that begins with `place`.
fn hard(place: &str, text: &str, words: &[(fancy_regex::Regex, String)]) -> Vec<String> {
    let found =
        words.iter().flat_map(|(word, instead)| word.find_iter(text).flatten().map(move |found| (found, instead)));
    found.map(|(found, instead)| format!("{place}: `{}` in {text:?}: {instead}", found.as_str())).collect()
}

/// The files in a directory whose names have this extension.
fn files(directory: &str, ending: &str) -> Vec<PathBuf> {
    let found = walkdir::WalkDir::new(root().join(directory)).sort_by_file_name().into_iter().flatten();
    let paths = found.map(walkdir::DirEntry::into_path);
    paths.filter(|path| path.extension().is_some_and(|end| end == ending)).collect()
}

/// The string literals of a source outside its tests that say something: those with a space, without what stands in braces.
fn messages(source: &str) -> Vec<(usize, String)> {
    let source = source.split("#[cfg(test)]\nmod").next().unwrap_or_default();
    let literal =
        Regex::new(r##"//[^\n]*|'(?:\\.|[^'\\])'|r#"(?s:.*?)"#|"((?:[^"\\]|\\(?s:.))*)""##).expect("a pattern");
    let (wrap, hole) = (Regex::new(r"\\\n\s*").expect("a pattern"), Regex::new(r"\{[^}]*\}").expect("a pattern"));
    let text = |found: regex::Captures<'_>| {
        let whole = found.get(1)?;
        let text = hole.replace_all(&wrap.replace_all(whole.as_str(), ""), "{}").into_owned();
        let line = source[..whole.start()].matches('\n').count() + 1;
        (text.contains(' ') && !STORED.contains(&text.as_str())).then_some((line, text))
    };
    literal.captures_iter(source).filter_map(text).collect()
}

/// The comments of a source, consecutive lines together, with the lines on which they begin; code in them is `CODE`.
fn comments(source: &str) -> Vec<(usize, String)> {
    let token = r###"'(?:\\.|[^'\\])'|r##"(?s:.*?)"##|r#"(?s:.*?)"#|r"[^"]*"|"(?:[^"\\]|\\(?s:.))*"|(//[^\n]*)"###;
    let (token, code) = (Regex::new(token).expect("a pattern"), Regex::new("`[^`]*`").expect("a pattern"));
    let (mut found, mut last): (Vec<(usize, String)>, _) = (Vec::new(), 0);
    let (mut line, mut counted) = (1, 0);
    for comment in token.captures_iter(source).filter_map(|token| token.get(1)) {
        line += source[counted..comment.start()].matches('\n').count();
        counted = comment.start();
        let text = comment.as_str().trim_start_matches(['/', '!']).trim();
        match found.last_mut().filter(|_| line == last + 1) {
            Some((_, comment)) => *comment = format!("{comment} {text}"),
            None => found.push((line, text.to_owned())),
        }
        last = line;
    }
    found.into_iter().map(|(line, text)| (line, code.replace_all(&text, "CODE").into_owned())).collect()
}

/// The paragraphs of a page outside code and tables, with the lines on which they begin; code in them is `CODE`.
fn paragraphs(page: &str) -> Vec<(usize, String)> {
    let code = Regex::new("`[^`]*`").expect("a pattern");
    let link = Regex::new(r"\]\([^)]*\)").expect("a pattern");
    let (mut found, mut is_code, mut is_open): (Vec<(usize, String)>, _, _) = (Vec::new(), false, false);
    for (number, line) in (1..).zip(page.lines()) {
        let trimmed = line.trim_start();
        let fence = trimmed.starts_with("```");
        is_code ^= fence;
        if fence || is_code || trimmed.is_empty() || trimmed.starts_with(['|', '#', '<']) {
            is_open = false;
            continue;
        }
        let text = code.replace_all(&link.replace_all(line, "]"), "CODE").into_owned();
        let begins = trimmed.starts_with(['-', '*', '>'])
            || trimmed.split_once(". ").is_some_and(|(n, _)| n.parse::<u8>().is_ok());
        match found.last_mut().filter(|_| is_open && !begins) {
            Some((_, paragraph)) => *paragraph = format!("{paragraph} {}", text.trim()),
            None => found.push((number, text.trim().to_owned())),
        }
        is_open = true;
    }
    found
}

/// Sentences of more than [`LONGEST`] words.
fn long(paragraph: &str) -> Vec<String> {
    let end = Regex::new(r"[.!?:]\s+").expect("a pattern");
    let sentences = end.split(paragraph);
    sentences.filter(|sentence| sentence.split_whitespace().count() > LONGEST).map(str::to_owned).collect()
}

#[test]
fn messages_are_in_plain_english() {
    let words = words();
    let mut wrong = Vec::new();
    for path in files("src", "rs") {
        let source = fs::read_to_string(&path).expect("a source");
        let name = path.strip_prefix(root()).expect("in the repository").display().to_string();
        for (line, text) in messages(&source) {
            wrong.extend(hard(&format!("{name}:{line}"), &text, &words));
        }
    }
    assert!(wrong.is_empty(), "{} hard words:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn comments_are_in_plain_english() {
    let words = words();
    let mut wrong = Vec::new();
    for path in ["src", "tests", "benches", "examples", "fuzz/src", "fuzz/fuzz_targets"]
        .into_iter()
        .flat_map(|directory| files(directory, "rs"))
    {
        let source = fs::read_to_string(&path).expect("a source");
        let name = path.strip_prefix(root()).expect("in the repository").display().to_string();
        for (line, text) in comments(&source) {
            wrong.extend(hard(&format!("{name}:{line}"), &text, &words));
        }
    }
    assert!(wrong.is_empty(), "{} hard words:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn help_is_in_plain_english() {
    let fixture = Fixture::new();
    let words = words();
    let help = fixture.run(&["--help"]).stdout;
    let (commands, _) = help.split_once("\nOptions:\n").expect("commands");
    let names =
        commands.lines().filter_map(|line| line.strip_prefix("  ")?.split(' ').next().filter(|name| !name.is_empty()));
    let names: Vec<&str> = names.chain(["harness", "stubs", "man"]).collect();
    assert!(names.len() > 15, "{names:?}");
    let mut wrong = hard("--help", &help, &words);
    for name in names {
        let text = fixture.run(&[name, "--help"]).stdout;
        wrong.extend(text.lines().flat_map(|line| hard(&format!("{name} --help"), line, &words)));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn docs_have_short_sentences() {
    let pages = [root().join("README.md")].into_iter().chain(files("docs", "md"));
    let mut wrong = Vec::new();
    for path in pages {
        let name = path.strip_prefix(root()).expect("in the repository").display().to_string();
        for (line, text) in paragraphs(&fs::read_to_string(&path).expect("a page")) {
            let place = format!("{name}:{line}");
            wrong.extend(long(&text).iter().map(|sentence| format!("{place}: more than {LONGEST} words: {sentence}")));
        }
    }
    assert!(wrong.is_empty(), "{}:\n{}", wrong.len(), wrong.join("\n"));
}
