//! Whether what is printed is coloured: the one place that decides, for every stream.

use std::ffi::OsString;

use anstream::stream::RawStream;
use anstream::{AutoStream, ColorChoice};

use skill_evals::report::paint::Paint;

/// What `--color` says in these arguments; where nothing, the terminal decides.
pub fn asked(arguments: impl IntoIterator<Item = OsString>) -> clap::ColorChoice {
    let words = arguments.into_iter().map(|word| word.to_string_lossy().into_owned());
    let words: Vec<String> = words.take_while(|word| word != "--").collect();
    let own = words.iter().filter_map(|word| word.strip_prefix("--color="));
    let next = words.windows(2).filter(|pair| pair[0] == "--color").map(|pair| pair[1].as_str());
    own.chain(next).filter_map(|when| when.parse().ok()).next_back().unwrap_or_default()
}

/// Makes what `--color` says the choice of this process, its harness included.
pub fn choose(when: clap::ColorChoice) {
    let choice = match when {
        clap::ColorChoice::Auto => ColorChoice::Auto,
        clap::ColorChoice::Always => ColorChoice::Always,
        clap::ColorChoice::Never => ColorChoice::Never,
    };
    choice.write_global();
}

/// How text for `stream` is painted: as chosen, else by the variables (`NO_COLOR`, `CLICOLOR`, `CLICOLOR_FORCE`) and
/// whether it is a terminal.
pub fn paint(stream: &impl RawStream) -> Paint {
    match AutoStream::choice(stream) {
        ColorChoice::Never => Paint::Plain,
        _ => Paint::Color,
    }
}
