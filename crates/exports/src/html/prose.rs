//! An agent's Markdown as a tree from which the page makes elements. The tree has no markup, no images and no links: an
//! address is text.

use pulldown_cmark::{CodeBlockKind, Event, HeadingLevel, Options, Parser, Tag, TagEnd};
use serde_json::{Value, json};

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
        let mut node = vec![Value::from(name(&tag, self.in_head))];
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
}

/// The name of an element. Headings are those of a part of the page.
fn name(tag: &Tag<'_>, in_head: bool) -> &'static str {
    match tag {
        Tag::Paragraph | Tag::HtmlBlock => "p",
        Tag::Heading { level: HeadingLevel::H1, .. } => "h3",
        Tag::Heading { level: HeadingLevel::H2, .. } => "h4",
        Tag::Heading { .. } => "h5",
        Tag::BlockQuote(_) => "blockquote",
        Tag::CodeBlock(_) => "pre",
        Tag::List(Some(_)) => "ol",
        Tag::List(None) => "ul",
        Tag::Item => "li",
        Tag::Table(_) => "table",
        Tag::TableHead | Tag::TableRow => "tr",
        Tag::TableCell if in_head => "th",
        Tag::TableCell => "td",
        Tag::Emphasis => "em",
        Tag::Strong => "strong",
        Tag::Strikethrough => "s",
        _ => "span",
    }
}

#[cfg(test)]
mod tests {
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
    fn deep_nesting_ends() {
        let nodes = json(&format!("{}deep", "> ".repeat(5_000)));
        assert!(nodes.matches("blockquote").count() <= MAX_DEPTH && nodes.contains("deep"), "{}", nodes.len());
    }
}
