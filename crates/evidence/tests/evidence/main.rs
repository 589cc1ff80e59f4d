//! What a trial leaves and users write: files, texts and their places, secrets, commands of a shell.

mod names;
mod redact;
mod rooted;
mod shell;
