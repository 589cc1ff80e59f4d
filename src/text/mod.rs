//! Text as users write it and read it: messages that point into a file, relative paths, lines of files of any size,
//! and the masking of secrets.

pub mod diagnostic;
pub mod lines;
pub mod redact;
pub mod relative_path;
