//! How graders decide together: `scoring`, with a weight for each type of grader and a threshold of the weighted score.
//!
//! Vally averages the scores of graders of a type, and then those of the types that a stimulus has. If a file has no weights,
//! each grader counts the same. With a threshold a trial passes from that score on, without one if all graders pass.

use std::collections::HashMap;

use super::Document;
use crate::cases::case::Unsupported;
use crate::cases::case::document::Node;
use crate::trial::outcome::Weight;

/// The key of a file.
pub(super) const KEY: &str = "scoring";

/// What a file says about the score of each stimulus.
#[derive(Debug, Default)]
pub(super) struct Scoring {
    /// By the type of grader; empty if each grader counts the same.
    weights: HashMap<String, f64>,
    /// The score from which on a trial passes.
    pub threshold: Option<f64>,
}

impl Scoring {
    /// What the file with this root says. Adds what this program does not do to `unsupported`.
    pub fn read(document: &mut Document<'_>, root: &Node, unsupported: &mut Vec<Unsupported>) -> Self {
        let mut scoring = Self::default();
        let Some(written) = document.map(root, KEY) else { return scoring };
        unsupported.extend(document.unsupported_keys(written, &["weights", "threshold"], &[]));
        scoring.threshold = written.get("threshold").and_then(|node| {
            let threshold = node.amount().filter(|share| (0.0..=1.0).contains(share));
            if threshold.is_none() {
                document.wrong_type("`threshold`", "a number from 0 to 1", node);
            }
            threshold
        });
        let weights = document.map(written, "weights").map(Node::entries).unwrap_or_default();
        for entry in weights {
            match entry.value.amount().filter(|weight| *weight >= 0.0) {
                Some(weight) => drop(scoring.weights.insert(entry.key.clone(), weight)),
                None => document.wrong_type(&format!("`{}`", entry.key), "a weight, 0 or more", &entry.value),
            }
        }
        scoring
    }

    /// The weight of the grader with this number, one of the `alike` graders of its type in the stimulus. A grader whose type has
    /// no weight must pass, and so must one with a `weight` of its own, whose meaning is not known.
    pub fn weight(&self, grader: &Node, alike: u32, number: u32) -> Option<Weight> {
        if grader.get("weight").is_some() {
            return None;
        }
        if self.weights.is_empty() {
            return self.threshold.map(|_| Weight::new(1.0, number));
        }
        let kind = grader.get("type").and_then(Node::text)?;
        Some(Weight::new(self.weights.get(kind)? / f64::from(alike), number))
    }
}
