//! The calibration of an agent as text.

use std::fmt::Write;

use crate::columns::{self, WORDS};
use crate::paint::{Paint, Tone};
use crate::results::calibration::{AgentCalibration, CalibrationRow, ReadState};
use crate::settings::mode::Delivery;
use crate::text::escape;
use crate::trial::evidence::Reading;

/// The agent and its version.
fn name(calibration: &AgentCalibration) -> String {
    let version = calibration.version.as_deref().map(|version| format!(" {version}")).unwrap_or_default();
    escape::line(&format!("{}{version}", calibration.agent))
}

/// Whether numbers of this agent can be trusted here, and which if not all, in a line.
pub fn sentence(calibration: &AgentCalibration, paint: Paint) -> String {
    let name = name(calibration);
    if !calibration.asked {
        let text =
            format!("{name} did not ask the scripted model: nobody knows whether its numbers can be trusted here");
        return paint.on(Tone::Broken, &text);
    }
    let list = |is_it: &dyn Fn(&CalibrationRow) -> bool| {
        let of = |reading| named(reading, &rows_of(calibration, reading), is_it);
        Reading::ALL.into_iter().filter_map(of).collect::<Vec<_>>().join(", ")
    };
    let is_right = |row: &CalibrationRow| row.state == ReadState::Right;
    let is_doubted = |row: &CalibrationRow| calibration.doubts(row.delivery).contains_key(&row.reading);
    let unknown = list(&is_doubted);
    let mixed = list(&|row| !is_right(row) && !is_doubted(row));
    let (tone, mut text) = match calibration.trusted {
        true if unknown.is_empty() && mixed.is_empty() => {
            (Tone::Good, format!("numbers of {name} can be trusted here"))
        }
        true => (Tone::Broken, format!("of {name}, this can be trusted here: {}", list(&is_right))),
        false => (Tone::Bad, format!("numbers of {name} cannot be trusted here; read rightly: {}", list(&is_right))),
    };
    if !unknown.is_empty() {
        let _ = write!(text, "; checks that need this are unknown: {unknown}");
    }
    if !mixed.is_empty() {
        let _ = write!(text, "; not told from other errors: {mixed}");
    }
    paint.on(tone, &text)
}

fn rows_of(calibration: &AgentCalibration, reading: Reading) -> Vec<&CalibrationRow> {
    calibration.rows.iter().filter(|row| row.reading == reading).collect()
}

/// A reading of which some rows are so, with their deliveries if others are not; `None` if none is.
fn named(reading: Reading, rows: &[&CalibrationRow], is_so: &dyn Fn(&CalibrationRow) -> bool) -> Option<String> {
    let so: Vec<&str> = rows.iter().filter(|row| is_so(row)).map(|row| row.delivery.as_str()).collect();
    match so.len() {
        0 => None,
        all if all == rows.len() => Some(reading.to_string()),
        _ => Some(format!("{reading} ({})", so.join(", "))),
    }
}

/// A line on each thing that is read, and the sentence. If it depends on how skills are delivered, it has a line for each way.
pub fn table(calibration: &AgentCalibration, paint: Paint) -> String {
    let mut text = format!("{}: {} trials under a scripted model\n", name(calibration), calibration.trials);
    for reading in Reading::ALL {
        let rows = rows_of(calibration, reading);
        let lines: Vec<(CalibrationRow, Vec<&str>)> = rows.iter().fold(Vec::new(), |mut lines, row| {
            let same = CalibrationRow { delivery: Delivery::Native, ..(*row).clone() };
            match lines.iter_mut().find(|(known, _)| *known == same) {
                Some((_, deliveries)) => deliveries.push(row.delivery.as_str()),
                None => lines.push((same, vec![row.delivery.as_str()])),
            }
            lines
        });
        for (row, deliveries) in &lines {
            let which = if lines.len() > 1 { format!("with {}: ", deliveries.join(", ")) } else { String::new() };
            let _ = writeln!(text, "{}", line(row, &which, paint).trim_end());
        }
    }
    text + &sentence(calibration, paint) + "\n"
}

fn line(row: &CalibrationRow, which: &str, paint: Paint) -> String {
    let CalibrationRow { reading, state, expected, found, notes, .. } = row;
    let tone = match state {
        ReadState::Right => Tone::Good,
        ReadState::Wrong => Tone::Bad,
        ReadState::Unseen => Tone::Broken,
    };
    let mut about: Vec<String> = expected.iter().map(|expected| format!("expected {expected}")).collect();
    about.extend(found.iter().map(|found| format!("found {found}")));
    about.extend(notes.iter().cloned());
    let about =
        if about.is_empty() { which.trim_end_matches(": ").to_owned() } else { format!("{which}{}", about.join("; ")) };
    let row = [format!("  {}", reading.as_str()), paint.on(tone, state.as_str()), escape::line(&about)];
    columns::lines([WORDS.fixed(12), WORDS.fixed(14), WORDS], &[row]).concat()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::results::calibration::{CALIBRATION_FORMAT, Observation, rows};

    /// The sentence if these are not right, and all others are.
    fn said(others: &[(Reading, ReadState)]) -> String {
        let state =
            |reading| others.iter().find(|(other, _)| *other == reading).map_or(ReadState::Right, |(_, state)| *state);
        let observed = |reading| Observation {
            trial: "uses".to_owned(),
            delivery: None,
            reading,
            state: state(reading),
            expected: "2".to_owned(),
            found: "1".to_owned(),
        };
        let rows = rows(&[Delivery::Native, Delivery::Mcp], &Reading::ALL.map(observed), &BTreeMap::new());
        let trusted = rows.iter().all(|row| row.state != ReadState::Wrong);
        let calibration = AgentCalibration {
            format: CALIBRATION_FORMAT,
            agent: "x".to_owned(),
            version: Some("1".to_owned()),
            skill_evals: String::new(),
            configuration: String::new(),
            measured: String::new(),
            trials: 1,
            asked: true,
            trusted,
            rows,
            first_request_tokens: None,
        };
        sentence(&calibration, Paint::Plain)
    }

    #[test]
    fn the_sentence_says_what_is_trusted_what_is_unknown_and_what_has_another_name() {
        assert_eq!(said(&[]), "numbers of x 1 can be trusted here");
        let some = said(&[(Reading::Login, ReadState::Unseen), (Reading::Tokens, ReadState::Unseen)]);
        let expected = "of x 1, this can be trusted here: delivered, activation, resources, commands, model, answer, end, limit; checks \
                        that need this are unknown: tokens; not told from other errors: login";
        assert_eq!(some, expected);
        let wrong = said(&[(Reading::Activation, ReadState::Wrong)]);
        assert!(
            wrong.starts_with("numbers of x 1 cannot be trusted here; read rightly: delivered, resources,"),
            "{wrong}"
        );
    }
}
