//! Results and problems as text.

mod comparison;
mod problems;
