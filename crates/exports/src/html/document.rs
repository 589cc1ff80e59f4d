//! A trial's data as the page shows it when the trial is opened.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::io::{self, Write};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use flate2::Compression;
use flate2::write::DeflateEncoder;
use pulldown_cmark::{CodeBlockKind, Event, Options, Parser, Tag, TagEnd};
use serde::Serialize;
use serde_json::{Value, json};

use crate::grade::rubric::Judgment;
use crate::report::trial_text::{facts, scripted};
use crate::results::timeline::{CheckFinding, EventKind, EventPart, Timeline, TimelineEvent};
use crate::trial::evidence::Evidence;
use crate::trial::id::TrialId;
use crate::trial::outcome::{CheckResult, Grade, Metrics, Verdict};
use crate::trial::workspace_file::WrittenFile;

#[derive(Debug, Serialize)]
pub struct JudgeDialogue {
    /// Absent if the template, the case or the skill changed since.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub question: Option<String>,
    pub judgment: Judgment,
}

#[derive(Debug, Serialize)]
pub struct TrialDocument<'a> {
    run: &'a str,
    #[serde(flatten)]
    id: TrialId,
    verdict: Verdict,
    #[serde(skip_serializing_if = "Option::is_none")]
    trouble: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    scripted: Option<String>,
    facts: Vec<(&'static str, String)>,
    checks: Vec<LocatedCheck<'a>>,
    entries: &'a [TimelineEvent],
    /// The final messages that are Markdown, by the place of their event.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    answers: BTreeMap<usize, Vec<Value>>,
    dropped: u64,
    metrics: &'a Metrics,
    files: Vec<WrittenFile>,
    #[serde(skip_serializing_if = "Option::is_none")]
    judge: Option<JudgeDialogue>,
    folder: String,
    commands: Vec<(&'static str, String)>,
}

/// A check with the events that decided it.
#[derive(Debug, Serialize)]
struct LocatedCheck<'a> {
    #[serde(flatten)]
    check: &'a CheckResult,
    about: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    entry: Option<usize>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pieces: Vec<Highlight>,
}

#[derive(Debug, Serialize)]
struct Highlight {
    entry: usize,
    part: String,
    /// In UTF-16 units, as JavaScript counts.
    from: usize,
    to: usize,
}

impl<'a> TrialDocument<'a> {
    /// `commands` show and repeat the trial; `folder` is its directory, as a reader would write it.
    pub fn new(
        commands: Vec<(&'static str, String)>,
        evidence: &'a Evidence<'a>,
        grade: &'a Grade,
        timeline: &'a Timeline,
        files: Vec<WrittenFile>,
        judge: Option<JudgeDialogue>,
        folder: String,
    ) -> Self {
        let meta = evidence.meta;
        let checks = grade.checks.iter().zip(&timeline.findings);
        Self {
            run: &meta.run_id,
            id: meta.id(),
            verdict: grade.verdict,
            trouble: grade.trouble.as_ref().map(ToString::to_string),
            scripted: meta.scripted.as_deref().map(scripted),
            facts: facts(meta, grade),
            checks: checks.map(|(check, finding)| located(check, finding, timeline)).collect(),
            entries: &timeline.entries,
            answers: answers(timeline),
            dropped: timeline.dropped,
            metrics: &grade.metrics,
            files,
            judge,
            folder,
            commands,
        }
    }
}

fn answers(timeline: &Timeline) -> BTreeMap<usize, Vec<Value>> {
    let mut answers = BTreeMap::new();
    for (at, event) in timeline.entries.iter().enumerate() {
        if let EventKind::Said { text, answer: true } = &event.what {
            answers.extend(tree(text).map(|nodes| (at, nodes)));
        }
    }
    answers
}

fn located<'a>(check: &'a CheckResult, finding: &CheckFinding, timeline: &Timeline) -> LocatedCheck<'a> {
    let mut pieces = Vec::new();
    for piece in &finding.pieces {
        let Some(text) = timeline.text_of(piece) else { continue };
        let [from, to] = [piece.bytes.start, piece.bytes.end]
            .map(|bytes| text.get(..bytes).map(|before| before.encode_utf16().count()));
        if let (Some(from), Some(to)) = (from, to) {
            pieces.push(Highlight { entry: piece.entry, part: part(piece.part), from, to });
        }
    }
    LocatedCheck { check, about: check.goal.as_str(), entry: finding.entry, pieces }
}

fn part(part: EventPart) -> String {
    match part {
        EventPart::Text => "text".to_owned(),
        EventPart::Name => "name".to_owned(),
        EventPart::Input => "input".to_owned(),
        EventPart::Output => "output".to_owned(),
        EventPart::Path(at) => format!("path{at}"),
    }
}

// An agent's Markdown as a tree from which the page makes elements. The tree has no markup, no images and no links: an
// address is text.

/// Longer texts are shown as they are.
const MAX_TEXT: usize = 256 * 1024;

/// Deeper elements become a part of those around them.
const MAX_DEPTH: usize = 24;

/// The place of a text that the source does not have: no highlight reaches it.
const NOWHERE: usize = 1 << 52;

/// `text` as a list of nodes: `[tag, node …]`, `["ol", first number, node …]`, or `[place, text]` with the place in UTF-16
/// units, as JavaScript counts. `None` if the text is plain or too long.
pub fn tree(text: &str) -> Option<Vec<Value>> {
    if text.len() > MAX_TEXT {
        return None;
    }
    let options = Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS;
    let mut tree = ProseTree { text, open: vec![Vec::new()], ..ProseTree::default() };
    for (event, range) in Parser::new_ext(text, options).into_offset_iter() {
        match event {
            Event::Start(tag) => tree.start(tag),
            Event::End(end) => tree.end(end),
            Event::Code(code) => tree.add_text_in("code", range.start, &code),
            Event::Text(plain) | Event::Html(plain) | Event::InlineHtml(plain) => tree.add_text(range.start, &plain),
            Event::SoftBreak => tree.add_text(range.start, "\n"),
            Event::HardBreak => tree.add(json!(["br"])),
            Event::Rule => tree.add(json!(["hr"])),
            Event::TaskListMarker(done) => tree.add_text(range.start, if done { "[x] " } else { "[ ] " }),
            // Not among the options.
            Event::FootnoteReference(_) | Event::InlineMath(_) | Event::DisplayMath(_) => {}
        }
    }
    let nodes = tree.open.swap_remove(0);
    tree.is_rich.then_some(nodes)
}

#[derive(Default)]
struct ProseTree<'a> {
    text: &'a str,
    /// The children of the open elements; those of an element begin with its tag.
    open: Vec<Vec<Value>>,
    /// How many elements are open beyond [`MAX_DEPTH`].
    beyond: usize,
    /// The addresses of the open links and images.
    addresses: Vec<String>,
    /// Whether the cells are those of a table's head.
    in_head: bool,
    /// Whether there is more than paragraphs of text.
    is_rich: bool,
    /// The level of the latest heading below those of the page, from 1.
    heading: usize,
    /// A place in bytes, and the same in UTF-16 units.
    known: (usize, usize),
}

impl ProseTree<'_> {
    fn add(&mut self, node: Value) {
        if let Some(children) = self.open.last_mut() {
            children.push(node);
        }
    }

    /// Adds a text that the source has at this place, or soon after it.
    fn add_text(&mut self, from: usize, text: &str) {
        let ahead = self.text.get(from..).and_then(|rest| rest.get(..rest.len().min(text.len() + 8)));
        let place = self.units(from + ahead.and_then(|rest| rest.find(text)).unwrap_or_default());
        self.add(json!([place, text]));
    }

    fn add_text_in(&mut self, tag: &str, from: usize, text: &str) {
        self.is_rich = true;
        self.open.push(vec![tag.into()]);
        self.add_text(from, text);
        self.close();
    }

    fn close(&mut self) {
        if let Some(node) = self.open.pop() {
            self.add(node.into());
        }
    }

    /// A place in bytes in UTF-16 units.
    fn units(&mut self, bytes: usize) -> usize {
        let (from, units) = if bytes >= self.known.0 { self.known } else { (0, 0) };
        let more = self.text.get(from..bytes).map_or(0, |text| text.encode_utf16().count());
        self.known = (bytes, units + more);
        self.known.1
    }

    fn start(&mut self, tag: Tag<'_>) {
        self.is_rich |= tag != Tag::Paragraph;
        if self.open.len() > MAX_DEPTH {
            self.beyond += 1;
            return;
        }
        let mut node = vec![Value::from(self.name(&tag))];
        match tag {
            Tag::List(Some(first)) => node.push(first.into()),
            Tag::TableHead => self.in_head = true,
            Tag::Link { dest_url, .. } => self.addresses.push(dest_url.into_string()),
            Tag::Image { dest_url, .. } => {
                self.addresses.push(dest_url.into_string());
                node.push(json!([NOWHERE, "image: "]));
            }
            Tag::CodeBlock(CodeBlockKind::Fenced(language)) if !language.is_empty() => {
                node.push(json!(["small", [NOWHERE, format!("{language}\n")]]));
            }
            _ => {}
        }
        self.open.push(node);
    }

    fn end(&mut self, end: TagEnd) {
        if self.beyond > 0 {
            self.beyond -= 1;
            return;
        }
        match end {
            TagEnd::TableHead => self.in_head = false,
            TagEnd::Link | TagEnd::Image => {
                let address = self.addresses.pop().unwrap_or_default();
                let is_shown = self.open.last().is_some_and(|node| {
                    node.last().and_then(|text| text.get(1)).and_then(Value::as_str) == Some(address.as_str())
                });
                if !is_shown {
                    self.add(json!([NOWHERE, format!(" ({address})")]));
                }
            }
            _ => {}
        }
        self.close();
    }

    /// The name of an element. Headings are those of a part of the page, and none skips a level.
    fn name(&mut self, tag: &Tag<'_>) -> &'static str {
        match tag {
            Tag::Paragraph | Tag::HtmlBlock => "p",
            Tag::Heading { level, .. } => {
                self.heading = (*level as usize).min(self.heading + 1);
                match self.heading {
                    1 => "h3",
                    2 => "h4",
                    _ => "h5",
                }
            }
            Tag::BlockQuote(_) => "blockquote",
            Tag::CodeBlock(_) => "pre",
            Tag::List(Some(_)) => "ol",
            Tag::List(None) => "ul",
            Tag::Item => "li",
            Tag::Table(_) => "table",
            Tag::TableHead | Tag::TableRow => "tr",
            Tag::TableCell if self.in_head => "th",
            Tag::TableCell => "td",
            Tag::Emphasis => "em",
            Tag::Strong => "strong",
            Tag::Strikethrough => "s",
            _ => "span",
        }
    }
}

// Packs trials' documents for the page: JSON, deflated, in base64. The documents of one skill share most of their text
// (the skill itself, the names of all skills). The page has that text once, and each document is deflated after it.

/// The shared text is this many bytes of the start, and of the end, of a skill's first document.
const HALF: usize = 6 * 1024;

/// Separates the shared text from a document; never in JSON.
const END: u8 = 0;

#[derive(Debug)]
pub struct PackedDocument {
    /// The place of its shared text.
    pub behind: usize,
    pub text: Vec<u8>,
}

/// Packs documents, and writes them into the page.
#[derive(Debug, Default)]
pub struct Packer {
    by_skill: HashMap<String, usize>,
    common: Vec<SharedTexts>,
    written: BTreeSet<usize>,
}

/// The text that the documents of a skill share.
#[derive(Debug)]
struct SharedTexts {
    plain: Vec<u8>,
    /// Deflated up to a whole byte, so that a document can follow.
    deflated: Vec<u8>,
}

impl Packer {
    pub fn pack(&mut self, skill: &str, document: &impl Serialize) -> io::Result<PackedDocument> {
        let json = serde_json::to_vec(document)?;
        let behind = *self.by_skill.entry(skill.to_owned()).or_insert(self.common.len());
        if behind == self.common.len() {
            self.common.push(SharedTexts { plain: ends(&json), deflated: Vec::new() });
        }
        let common = &mut self.common[behind];
        let mut deflated = DeflateEncoder::new(Vec::new(), Compression::default());
        deflated.write_all(&common.plain)?;
        deflated.flush()?;
        let from = deflated.get_ref().len();
        deflated.write_all(&json)?;
        let mut deflated = deflated.finish()?;
        let own = deflated.split_off(from);
        common.deflated = deflated;
        Ok(PackedDocument { behind, text: STANDARD.encode(own).into_bytes() })
    }

    /// The most bytes of the page that shared texts take.
    pub fn common_length(&self) -> u64 {
        let lengths = self.common.iter().filter_map(|common| base64::encoded_len(common.deflated.len(), true));
        lengths.sum::<usize>() as u64
    }

    /// Writes a packed document. `place` is the place of its trial in the index.
    pub fn write(&mut self, out: &mut impl Write, place: usize, packed: &PackedDocument) -> io::Result<()> {
        let behind = packed.behind;
        if let Some(common) = self.common.get(behind).filter(|_| self.written.insert(behind)) {
            let common = STANDARD.encode(&common.deflated);
            writeln!(out, "<script type=\"text/plain\" id=\"c{behind}\">{common}</script>")?;
        }
        write!(out, "<script type=\"text/plain\" id=\"t{place}\" data-behind=\"c{behind}\">")?;
        out.write_all(&packed.text)?;
        out.write_all(b"</script>\n")
    }
}

/// The start and the end of a document, with a separator.
fn ends(json: &[u8]) -> Vec<u8> {
    let (from, to) = (json.len().min(HALF), json.len().saturating_sub(HALF));
    [&json[..from], &json[to.max(from)..], &[END]].concat()
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use super::*;

    fn json(text: &str) -> String {
        serde_json::to_string(&tree(text)).expect("JSON")
    }

    fn tags(nodes: &[Value], found: &mut Vec<String>) {
        for node in nodes.iter().filter_map(Value::as_array) {
            found.extend(node[0].as_str().map(str::to_owned));
            tags(node, found);
        }
    }

    #[test]
    fn texts_have_their_places_in_utf_16_units() {
        assert_eq!(json("é **𝄞x** `c`"), r#"[["p",[0,"é "],["strong",[4,"𝄞x"]],[9," "],["code",[11,"c"]]]]"#);
        assert_eq!(json("a\n\nb & <b>c"), "null");
        assert_eq!(json(&"*".repeat(MAX_TEXT + 1)), "null");
    }

    #[test]
    fn addresses_are_texts_and_no_tag_comes_from_the_text() {
        let nodes = json("[x](javascript:y) ![z](//w) <img src=q> <https://a.b>\n\n<script>v</script>");
        for part in [" (javascript:y)", "image: ", " (//w)", "<img src=q>", "<script>v</script>"] {
            assert!(nodes.contains(part), "{part}: {nodes}");
        }
        assert!(nodes.matches("https://a.b").count() == 1, "{nodes}");
        let mut found = Vec::new();
        tags(&tree("[x](y) <i>\n\n<b>\n\n- ![z](w)").expect("nodes"), &mut found);
        assert_eq!(found, ["p", "span", "p", "ul", "li", "span"]);
    }

    #[test]
    fn no_heading_skips_a_level() {
        let mut found = Vec::new();
        tags(&tree("### a\n\n###### b\n\n# c\n\n## d\n\n#### e\n\n###### f").expect("nodes"), &mut found);
        assert_eq!(found, ["h3", "h4", "h3", "h4", "h5", "h5"]);
    }

    #[test]
    fn deep_nesting_ends() {
        let nodes = json(&format!("{}deep", "> ".repeat(5_000)));
        assert!(nodes.matches("blockquote").count() <= MAX_DEPTH && nodes.contains("deep"), "{}", nodes.len());
    }

    fn unpacked(packer: &Packer, document: &PackedDocument) -> String {
        let common = &packer.common[document.behind].deflated;
        let own = STANDARD.decode(&document.text).expect("base64");
        let mut text = String::new();
        flate2::read::DeflateDecoder::new([common.as_slice(), &own].concat().as_slice())
            .read_to_string(&mut text)
            .expect("deflated");
        text.split_once('\0').expect("an end").1.to_owned()
    }

    #[test]
    fn what_documents_of_a_skill_have_in_common_is_packed_once() {
        let mut packer = Packer::default();
        let numbers: Vec<String> = (0..400).map(|number| (number * 7919 % 1009).to_string()).collect();
        let skill = numbers.join(" ");
        let documents: Vec<String> = (0..4).map(|number| format!("{skill} trial {number}")).collect();
        let all: Vec<PackedDocument> =
            documents.iter().map(|document| packer.pack("greeting", document).expect("packed")).collect();
        for (document, packed) in documents.iter().zip(&all) {
            assert_eq!(unpacked(&packer, packed), serde_json::to_string(document).expect("JSON"));
            assert!(packed.text.len() < 100, "{}", packed.text.len());
        }
        let other = packer.pack("minutes", &"\0 and\u{2028}é").expect("packed");
        assert_eq!((other.behind, unpacked(&packer, &other).as_str()), (1, "\"\\u0000 and\u{2028}é\""));
        let mut page = Vec::new();
        for (place, packed) in all.iter().enumerate() {
            packer.write(&mut page, place, packed).expect("written");
        }
        let page = String::from_utf8(page).expect("UTF-8");
        assert_eq!((page.matches("id=\"c").count(), page.matches("id=\"t").count()), (1, 4));
        let length = |from: &str| page.split_once(from).expect(from).1.split('<').next().map_or(0, str::len) as u64;
        let others = STANDARD.encode(&packer.common[1].deflated).len() as u64;
        assert_eq!(packer.common_length(), length("id=\"c0\">") + others);
    }

    #[test]
    fn a_long_document_gives_its_beginning_and_its_end() {
        assert_eq!(ends(&vec![b'x'; 5 * HALF]).len(), 2 * HALF + 1);
        assert_eq!(ends(b"short"), b"short\0");
        assert_eq!(ends(&vec![b'x'; HALF + 3]).len(), HALF + 4);
    }
}
