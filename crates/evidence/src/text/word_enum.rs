//! Enums whose variants are words in settings and artifacts.

pub use skill_evals_stats::word_enum;
