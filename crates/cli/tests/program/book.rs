//! The pages as a book: each is in the table of contents, and every link leads somewhere.

use crate::support::repository;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};

use crate::support::fixture::Fixture;
use crate::support::page;

fn root() -> &'static Path {
    repository()
}

/// The pages, from the repository's root.
pub(crate) fn pages() -> Vec<PathBuf> {
    let files = walkdir::WalkDir::new(root().join("docs")).sort_by_file_name().into_iter().flatten();
    let files = files.map(|entry| entry.path().strip_prefix(root()).expect("in the repository").to_path_buf());
    let files = files.filter(|path| path.extension().is_some_and(|end| end == "md"));
    ["README.md", "CHANGELOG.md"].map(PathBuf::from).into_iter().chain(files).collect()
}

/// The targets of a page's links and pictures, and the anchors of its headings as GitHub and mdBook make them.
fn links_and_anchors(page: &Path) -> (Vec<String>, BTreeSet<String>) {
    let text = fs::read_to_string(root().join(page)).expect("a page");
    let (mut links, mut anchors, mut seen) = (Vec::new(), BTreeSet::new(), BTreeMap::<String, usize>::new());
    let mut heading: Option<String> = None;
    for event in Parser::new_ext(&text, Options::ENABLE_TABLES) {
        match event {
            Event::Start(Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. }) => links.push(dest_url.to_string()),
            Event::Start(Tag::Heading { .. }) => heading = Some(String::new()),
            Event::Text(text) | Event::Code(text) => {
                heading = heading.map(|heading| heading + &text);
            }
            Event::End(TagEnd::Heading(_)) => {
                let heading = heading.take().unwrap_or_default().to_lowercase().replace(' ', "-");
                let is_kept = |c: &char| c.is_alphanumeric() || ['-', '_'].contains(c);
                let anchor: String = heading.chars().filter(is_kept).collect();
                let times = seen.entry(anchor.clone()).or_default();
                anchors.insert(if *times == 0 { anchor } else { format!("{anchor}-{times}") });
                *times += 1;
            }
            _ => {}
        }
    }
    (links, anchors)
}

/// A path without `.` and `..`; `None` if it leads out.
fn plain(path: &Path) -> Option<PathBuf> {
    let mut plain = PathBuf::new();
    for part in path {
        match part.to_str()? {
            "." => {}
            ".." => plain.pop().then_some(())?,
            name => plain.push(name),
        }
    }
    Some(plain)
}

/// The pages in the table of contents, in its order.
fn contents() -> Vec<PathBuf> {
    let (links, _) = links_and_anchors(Path::new("docs/SUMMARY.md"));
    links.into_iter().map(|link| Path::new("docs").join(link)).collect()
}

#[test]
fn every_page_is_in_the_table_of_contents_once() {
    let mut listed = contents();
    listed.push("docs/SUMMARY.md".into());
    listed.sort();
    let mut pages: Vec<PathBuf> = pages().into_iter().filter(|page| page.starts_with("docs")).collect();
    pages.sort();
    assert_eq!(listed, pages);
}

#[test]
fn every_page_is_a_link_away_from_the_first_page_of_its_readers() {
    let linked = |page: &str| {
        let (links, _) = links_and_anchors(Path::new(page));
        let folder = Path::new(page).parent().expect("a directory").to_path_buf();
        links.into_iter().filter_map(move |link| plain(&folder.join(link))).collect::<BTreeSet<PathBuf>>()
    };
    let (users, contributors) = (linked("docs/README.md"), linked("docs/contributing/README.md"));
    let is_first = |page: &PathBuf| ["docs/README.md", "docs/SUMMARY.md"].iter().any(|first| page == Path::new(first));
    let is_missing = |page: &PathBuf| {
        let is_theirs = page.starts_with("docs/contributing") && !page.ends_with("README.md");
        !if is_theirs { &contributors } else { &users }.contains(page)
    };
    let missing = contents().into_iter().filter(|page| !is_first(page) && is_missing(page));
    assert_eq!(missing.collect::<Vec<_>>(), Vec::<PathBuf>::new());
}

#[test]
fn every_link_leads_to_a_file_and_to_a_heading_of_it() {
    let all: BTreeMap<PathBuf, _> = pages().into_iter().map(|page| (page.clone(), links_and_anchors(&page))).collect();
    let mut wrong = Vec::new();
    for (page, (links, _)) in &all {
        for link in links.iter().filter(|link| !link.contains("://")) {
            let (path, anchor) = link.split_once('#').unwrap_or((link, ""));
            let folder = page.parent().expect("a directory");
            let target = if path.is_empty() { Some(page.clone()) } else { plain(&folder.join(path)) };
            // The book has the pages and what is next to them, but no list of a directory's files, nor its contents as a page.
            let is_contents = |target: &Path| target == Path::new("docs/SUMMARY.md");
            let in_book =
                |target: &Path| target.starts_with("docs") && root().join(target).is_file() && !is_contents(target);
            let target = target.filter(|target| root().join(target).exists());
            let target = target.filter(|target| !page.starts_with("docs") || in_book(target));
            let known = target.as_ref().and_then(|target| Some(&all.get(target)?.1));
            if target.is_none() || !(anchor.is_empty() || known.is_some_and(|anchors| anchors.contains(anchor))) {
                wrong.push(format!("{}: {link}", page.display()));
            }
        }
    }
    assert!(all.len() > 40, "{} pages", all.len());
    assert_eq!(wrong, [""; 0]);
}

#[test]
fn every_command_is_in_the_table_of_contents_and_on_the_page_of_commands() {
    let help = Fixture::new().run(&["--help"]).stdout;
    let (commands, _) = help.split_once("\nOptions:\n").expect("commands");
    let listed = commands.lines();
    let names = listed.filter_map(|line| line.strip_prefix("  ")?.split(' ').next().filter(|name| !name.is_empty()));
    let read = |page| fs::read_to_string(root().join(page)).expect("a page");
    let (contents, page) = (read("docs/SUMMARY.md"), read("docs/reference/commands.md"));
    let missing =
        names.filter(|name| !contents.contains(&format!("`{name}`")) || !page.contains(&format!("| `{name}` |")));
    assert_eq!(missing.collect::<Vec<_>>(), [""; 0]);
    assert!(help.contains("\n  run ") && !help.contains("  harness "), "{help}");
}

/// Code on a page is compiled by nobody. So it is a part of a source whose modules are compiled with the tests.
#[test]
fn the_rust_of_every_page_is_in_a_source_that_is_compiled() {
    let source = fs::read_to_string(root().join("tests/run/rust_page.rs")).expect("a source");
    let pages = pages().into_iter().map(|page| page.display().to_string());
    let blocks = pages.flat_map(|page| page::blocks(&page).into_iter().map(move |block| (page.clone(), block)));
    let rust: Vec<_> = blocks.filter(|(_, block)| block.info.starts_with("rust")).collect();
    assert!(rust.len() > 3, "{} blocks", rust.len());
    let indented = |text: &str| -> String {
        text.lines().map(|line| if line.is_empty() { "\n".to_owned() } else { format!("    {line}\n") }).collect()
    };
    let wrong = rust.iter().filter(|(_, block)| !source.contains(&indented(&block.text)));
    let wrong: Vec<String> = wrong.map(|(page, block)| format!("{page}:\n{}", block.text)).collect();
    assert_eq!(wrong, [""; 0], "write it in tests/run/rust_page.rs, too");
}
