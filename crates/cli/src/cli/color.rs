//! Decides for every stream whether its text is colored.

use std::ffi::OsString;

use anstream::ColorChoice;

use crate::cli::output::Stream;
use crate::report::paint::Paint;

/// The last value of `--color` in `arguments`, before clap has read them.
pub fn requested(arguments: impl IntoIterator<Item = OsString>) -> clap::ColorChoice {
    let words = arguments.into_iter().map(|word| word.to_string_lossy().into_owned());
    let words: Vec<String> = words.take_while(|word| word != "--").collect();
    let joined = words.iter().filter_map(|word| word.strip_prefix("--color="));
    let separate = words.windows(2).filter(|pair| pair[0] == "--color").map(|pair| pair[1].as_str());
    joined.chain(separate).filter_map(|when| when.parse().ok()).next_back().unwrap_or_default()
}

/// Applies `--color` to this process, including its harness.
pub fn choose(when: clap::ColorChoice) {
    let choice = match when {
        clap::ColorChoice::Auto => ColorChoice::Auto,
        clap::ColorChoice::Always => ColorChoice::Always,
        clap::ColorChoice::Never => ColorChoice::Never,
    };
    choice.write_global();
}

/// Whether text for `stream` is colored: by `--color`, else by `NO_COLOR`, `CLICOLOR`, `CLICOLOR_FORCE` and whether the stream is a
/// terminal.
pub fn paint(stream: Stream) -> Paint {
    match stream.choice() {
        ColorChoice::Never => Paint::Plain,
        _ => Paint::Color,
    }
}
