//! Runs as one HTML file that needs no network, no server and no other file.
//!
//! Rust writes the first screen as markup and SVG. The scripts in this directory draw the list of trials and the sessions
//! from an index in JSON and a packed document for each trial. Texts of users and agents are escaped text or data, and
//! the scripts only make text nodes of them, so they never become markup. The page's policy (`default-src 'none'`, scripts
//! and styles by their hashes) is a second defense.

pub mod comparison;
pub mod document;
pub mod index;
pub mod markup;
pub mod overview;
pub mod packing;
pub mod page;
pub mod prose;
