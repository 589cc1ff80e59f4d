//! Which versions of an agent need a calibration.

use skill_evals::run::calibration;
use skill_evals_evidence::settings::mode::{AgentKind, Delivery, Mode};
use skill_evals_evidence::settings::{AgentSettings, Calibrate, Settings};
use skill_evals_results::results::calibration::{AgentCalibration, CALIBRATION_FORMAT};

/// What a trial of codex may not have seen, if it reports this version and these calibrations were made. It is not installed here.
fn unmeasured(settings: &Settings, calibrations: &[AgentCalibration], version: Option<&str>) -> Option<String> {
    let mode = Mode::new("native", AgentKind::Codex, Delivery::Native);
    calibration::known(settings, calibrations, std::iter::once(&mode))["native"].unmeasured(AgentKind::Codex, version)
}

#[test]
fn a_version_outside_the_list_needs_a_calibration_and_a_program_without_a_version_is_the_users_own() {
    let nowhere = AgentSettings { command: Some("/nowhere/codex".into()), ..AgentSettings::default() };
    let agents = [("codex".to_owned(), nowhere)].into();
    let mut settings = Settings { agents, ..Settings::default() };
    assert_eq!(unmeasured(&settings, &[], Some("0.169.0")), None);
    assert_eq!(unmeasured(&settings, &[], None), None);
    let why = unmeasured(&settings, &[], Some("9.9.9")).expect("a reason");
    assert_eq!(
        why,
        "nobody measured whether codex 9.9.9 is read rightly: run `skill-evals doctor --calibrate --agent codex`"
    );
    let made = |asked: bool, trusted: bool| AgentCalibration {
        format: CALIBRATION_FORMAT,
        agent: "codex".to_owned(),
        version: Some("9.9.9".to_owned()),
        skill_evals: String::new(),
        configuration: String::new(),
        measured: String::new(),
        trials: 1,
        asked,
        trusted,
        rows: Vec::new(),
        first_request_tokens: None,
    };
    assert_eq!(unmeasured(&settings, &[made(true, true)], Some("9.9.9")), None);
    assert_eq!(unmeasured(&settings, &[made(true, false)], Some("9.9.9")), None, "its doubts say what is wrong");
    assert!(unmeasured(&settings, &[made(false, false)], Some("9.9.9")).is_some(), "it did not ask the model");
    settings.calibrate = Calibrate::Off;
    assert!(unmeasured(&settings, &[], Some("9.9.9")).is_some());
    assert_eq!(unmeasured(&settings, &[made(true, true)], Some("9.9.9")), None);
    assert!(unmeasured(&settings, &[made(true, false)], Some("9.9.9")).is_some(), "nothing says what is wrong");
}
