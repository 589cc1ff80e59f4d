//! Runs as one HTML file that needs nothing else: no network, no server, no file beside it.
//!
//! The first screen is written here, as markup and SVG; the list of trials and their sessions are drawn by the scripts in
//! this folder, from an index in JSON and a packed document for each trial. Texts of users and agents reach the page as
//! escaped text or as data, and the scripts make text nodes of them: nothing of them is ever markup. The page's policy
//! (`default-src 'none'`, scripts and styles by their hashes) holds even where that should fail.

pub mod chart;
pub mod document;
mod escape;
pub mod index;
pub mod overview;
pub mod packing;
pub mod page;
