//! Text that users write and read: JSON and YAML with the place of every value, diagnostics that point into a file, names,
//! relative paths, lines of files of any size, masking of secrets, and text from outside made safe to show.

pub mod cut;
pub mod diagnostic;
pub mod escape;
pub mod lines;
pub mod name;
pub mod node;
pub mod problem;
pub mod redact;
pub mod word_enum;
