//! Replays the model only: the agent of a trial is the real one, with its tools and the skills of today, and gets the answers that a
//! recording has. They fit as long as it asks what it asked then; where it asks something else, the trial has diverged, and says where.

use std::borrow::Cow;

use jiff::Timestamp;

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
use crate::trial::evidence::{Ending, Inputs, Meta, SKILL_PART};
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
    match recorded_model(&trial.wire(), started(&trial.meta()?))? {
        Some(answers) => recording.write(ANSWERS, answers.as_bytes()),
        None => Ok(()),
    }
}

/// When a trial began; long ago if nobody knows, so that all days are compared.
fn started(meta: &Meta) -> Timestamp {
    meta.started.parse().unwrap_or_default()
}

/// Whether the answers of a trial are those of a recording: then it shows nothing new to record.
pub(super) fn has_recorded_answers(meta: &Meta) -> bool {
    meta.scripted.as_deref() == Some(SCRIPTED)
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
        "{}: it has no {ANSWERS} with the answers of its model; record the case again: `skill-evals run --record --network web`",
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
    let mut changed = meta.inputs.differences(inputs);
    changed.retain(|part| part != MODEL && !part.starts_with(SKILL_PART));
    let (brought, unseen): (Vec<_>, Vec<_>) = changed.into_iter().partition(|part| is_seen_in_requests(part, case));
    let replay = ModelReplay::read(&String::from_utf8_lossy(&text), started(&meta), Timestamp::now(), brought)
        .map_err(|why| files(format!("{}:{why}; record the case again", path.display())))?;
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

/// Whether what this part changes shows in what the agent asks its model: a result of a script, a file that was read, or what the agent
/// brings itself, as of a memory file or a hook. The text and the scripts of skills show there too, once they were loaded.
fn is_seen_in_requests(part: &str, case: &Case) -> bool {
    [PLUGIN_PART, case_parts::MOCKS, case_parts::files_part(case), "setup"].contains(&part)
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
