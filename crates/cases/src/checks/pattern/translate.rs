//! A pattern of JavaScript as one of Rust, if it only has parts that mean the same there, or can be written so.

use std::ops::Range;

use regex_syntax::ast::parse::Parser;
use regex_syntax::ast::{
    AssertionKind, Ast, ClassPerl, ClassPerlKind, ClassSetBinaryOp, ClassSetItem, GroupKind, HexLiteralKind, Literal,
    LiteralKind, SpecialLiteralKind, Visitor, visit,
};
use regex_syntax::hir::Hir;

/// The characters that end a line.
const LINE_ENDS: [char; 4] = ['\n', '\r', '\u{2028}', '\u{2029}'];

/// It with these flags in the form of Rust; `None` if it has a part that means something else here.
pub(super) fn javascript(pattern: &str, flags: &str) -> Option<Hir> {
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
