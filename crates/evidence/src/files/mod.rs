//! Reads files that users and agents wrote: regular files only, never more than a limit, never outside the requested
//! directory.

pub mod at;
pub mod bounded;
pub mod inside;
pub mod look;
pub mod material;
pub mod rooted;
