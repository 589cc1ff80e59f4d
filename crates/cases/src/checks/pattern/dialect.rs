//! Finds the parts of a pattern that Python also accepts but that match something else there. Other runners of `prompts.csv`
//! use Python's regular expressions.

use std::convert::Infallible;

use regex_syntax::ast::parse::Parser;
use regex_syntax::ast::{
    AssertionKind, Ast, ClassSetBinaryOp, ClassSetBinaryOpKind, ClassSetItem, RepetitionKind, Span, Visitor, visit,
};

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
pub(super) fn differences(pattern: &str) -> Vec<DialectDifference<'_>> {
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
