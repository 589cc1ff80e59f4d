//! The calibration of an agent as text.

use std::fmt::Write;

use crate::paint::{Paint, Tone};
use crate::results::calibration::{AgentCalibration, CalibrationRow, ReadState};
use crate::text::safe;

/// The agent and its version.
fn name(calibration: &AgentCalibration) -> String {
    let version = calibration.version.as_deref().map(|version| format!(" {version}")).unwrap_or_default();
    safe::line(&format!("{}{version}", calibration.agent))
}

/// Whether numbers of this agent can be trusted here, in a line.
pub fn sentence(calibration: &AgentCalibration, paint: Paint) -> String {
    let doubts = calibration.doubts();
    let unknown = doubts.keys().map(|reading| reading.as_str()).collect::<Vec<_>>().join(", ");
    let name = name(calibration);
    if !calibration.asked {
        let text =
            format!("{name} did not ask the scripted model: nobody knows whether its numbers can be trusted here");
        return paint.on(Tone::Broken, &text);
    }
    match (calibration.trusted, unknown.is_empty()) {
        (true, true) => paint.on(Tone::Good, &format!("numbers of {name} can be trusted here")),
        (true, false) => format!("numbers of {name} can be trusted here; checks that need this are unknown: {unknown}"),
        (false, _) => {
            let text =
                format!("numbers of {name} cannot be trusted here; checks that need this are unknown: {unknown}");
            paint.on(Tone::Bad, &text)
        }
    }
}

/// A line on each thing that is read, and the sentence.
pub fn table(calibration: &AgentCalibration, paint: Paint) -> String {
    let mut text = format!("{}: {} trials under a scripted model\n", name(calibration), calibration.trials);
    for CalibrationRow { reading, state, expected, found, notes } in &calibration.rows {
        let tone = match state {
            ReadState::Right => Tone::Good,
            ReadState::Wrong => Tone::Bad,
            ReadState::Unseen => Tone::Broken,
        };
        let mut about: Vec<String> = expected.iter().map(|expected| format!("expected {expected}")).collect();
        about.extend(found.iter().map(|found| format!("found {found}")));
        about.extend(notes.iter().cloned());
        let state = paint.on(tone, &format!("{:<14}", state.as_str()));
        let line = format!("  {:<10}  {state}  {}", reading.as_str(), safe::line(&about.join("; ")));
        let _ = writeln!(text, "{}", line.trim_end());
    }
    text + &sentence(calibration, paint) + "\n"
}
