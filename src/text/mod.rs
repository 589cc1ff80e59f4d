//! Text as users write it and read it: messages that point into a file, relative paths, lines of files of any size,
//! the masking of secrets, and text from outside made safe to show.

pub mod cut;
pub mod diagnostic;
pub mod lines;
pub mod name;
pub mod redact;
pub mod relative_path;
pub mod safe;
pub(crate) mod words;
