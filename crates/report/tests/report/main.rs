//! Results and problems as text.

mod comparison;
mod lint;
mod problems;
mod progress;
