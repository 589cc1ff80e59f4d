//! Replays the model only: the agent of a trial is the real one, with its tools and the skills of today, and gets the answers that a
//! recording has. They fit as long as it asks what it asked then; where it asks something else, the trial has diverged, and says where.

use std::borrow::Cow;

use crate::agent::network::recorded_model;
use crate::agent::trial_env::TrialEnv;
use crate::cases::case::Case;
use crate::cases::case_parts;
use crate::files::{bounded, look};
use crate::run::digests::{MODEL, PLUGIN_PART};
use crate::run::planned::PlannedRun;
use crate::settings::{Calibrate, JudgeSettings, Network, Settings};
use crate::store::{self, StoreError, TrialFolder};
use crate::trace::trouble::{Trouble, TroubleKind};
use crate::trial::evidence::{Ending, Inputs, SKILL_PART};
use crate::trial::id::TrialId;
use crate::trial::outcome::TrialError;
use crate::wire::replay::ModelReplay;

/// The file of a recording with the answers of its model.
const ANSWERS: &str = "model.jsonl";

/// Where agents ask. Nothing listens there: the door of each trial answers by itself.
const ENDPOINT: &str = "http://127.0.0.1:3130";

/// What the results of such a run say of their model.
const SCRIPTED: &str = "recorded answers";

/// Lets the model's answers of a run come from recordings.
pub fn choose(settings: &mut Settings) {
    settings.replay_model = true;
    settings.endpoint = Some(ENDPOINT.to_owned());
    settings.agents.values_mut().for_each(|agent| agent.endpoint = None);
    settings.network.reach = Some(Network::Provider);
    settings.scripted = Some(SCRIPTED.to_owned());
    // Agents that are pointed at a server need a name for its model.
    settings.model.get_or_insert_with(|| "recorded".to_owned());
    settings.calibrate = Calibrate::Off;
    settings.retries = 0;
    // What an agent says that the answers cost was paid when they were recorded.
    (settings.max_cost_usd, settings.max_tokens) = (None, None);
    // A judge would ask a model.
    settings.judge = JudgeSettings { wanted: Some(false), ..JudgeSettings::default() };
}

/// Adds the answers of a trial's model to its recording, if its requests were recorded and are whole.
pub(super) fn record(trial: &TrialFolder, recording: &TrialFolder) -> Result<(), StoreError> {
    match recorded_model(&trial.wire())? {
        Some(answers) => recording.write(ANSWERS, answers.as_bytes()),
        None => Ok(()),
    }
}

/// Why a trial cannot start without its recording.
pub(super) fn check(run: &PlannedRun, id: &TrialId) -> Result<(), TrialError> {
    let recording = store::recording(&run.root, id);
    let unreadable = |error: StoreError| TrialError::Unreadable(error.to_string());
    if !recording.exists().map_err(unreadable)? {
        return Err(TrialError::NotRecorded);
    }
    if look::exists(&recording.path().join(ANSWERS)).map_err(|error| TrialError::Unreadable(error.to_string()))? {
        return Ok(());
    }
    Err(TrialError::Unreadable(format!(
        "{}: it has not all answers of its model: record the case again where `network` is limited, as by `skill-evals run --record \
         --network web`",
        recording.path().display()
    )))
}

/// The settings of a trial with a recorded model: agents tell a model its own name.
pub(super) fn settings_of<'a>(run: &'a PlannedRun, id: &TrialId) -> Cow<'a, Settings> {
    let recording = run.settings.replay_model.then(|| store::recording(&run.root, id));
    match recording.and_then(|recording| recording.meta().ok()?.agent.model) {
        Some(model) => Cow::Owned(Settings { model: Some(model), ..run.settings.clone() }),
        None => Cow::Borrowed(&run.settings),
    }
}

/// Lets the recording answer what the agent of a trial asks.
pub(super) fn answer(
    run: &PlannedRun,
    case: &Case,
    id: &TrialId,
    inputs: &Inputs,
    trial_env: &TrialEnv,
) -> Result<(), Trouble> {
    let files = |why: String| Trouble::new(TroubleKind::Files, why);
    let recording = store::recording(&run.root, id);
    let path = recording.path().join(ANSWERS);
    // Checks the digests of all its files.
    let meta = recording.meta().map_err(|error| files(error.to_string()))?;
    let text = bounded::read(&path).map_err(|error| files(format!("{}: {error}", path.display())))?;
    let replay = ModelReplay::read(&String::from_utf8_lossy(&text))
        .map_err(|why| files(format!("{}:{why}; record the case again", path.display())))?;
    let mut unseen = meta.inputs.differences(inputs);
    unseen.retain(|part| !is_seen_in_requests(part, case) && part != MODEL);
    if !unseen.is_empty() {
        let why = format!(
            "changed since the recording: {}; what the model would answer is unknown, so record the case again",
            unseen.join(", ")
        );
        return Err(Trouble::new(TroubleKind::Diverged, why));
    }
    if case.user.is_some() {
        let why = "its user is played by a model, whose answers no recording has";
        return Err(Trouble::new(TroubleKind::Diverged, why));
    }
    trial_env.answer_by(replay);
    Ok(())
}

/// Whether what this part changes shows in what the agent asks its model: the text of a skill once it was loaded, a result of a
/// script, or a file that was read.
fn is_seen_in_requests(part: &str, case: &Case) -> bool {
    let seen = [PLUGIN_PART, case_parts::MOCKS, case_parts::files_part(case), "setup", "prompt", "follow-ups"];
    part.starts_with(SKILL_PART) || seen.contains(&part)
}

/// What came of it: a session that is not the recorded one shows nothing.
pub(super) fn note_divergence(trial_env: &TrialEnv, ending: &mut Ending) {
    let Some(divergence) = trial_env.divergence() else { return };
    // An agent that failed or was ended asks for no more.
    if divergence.is_left_over && (ending.trouble.is_some() || ending.settled || ending.timed_out) {
        return;
    }
    ending.trouble = Some(Trouble::new(TroubleKind::Diverged, divergence.why));
}
