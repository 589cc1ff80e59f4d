//! Whether what is printed is coloured: the one place that decides, for every stream.

use anstream::stream::RawStream;
use anstream::{AutoStream, ColorChoice};

use skill_evals::report::paint::Paint;

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
