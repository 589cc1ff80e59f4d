//! Whether an installed agent is known to be read rightly: its version was measured by our CI, or calibrated on this machine.

use std::collections::HashMap;
use std::fmt::Write;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;

use crate::agent;
use crate::profile::of_all;
use crate::results::calibration::AgentCalibration;
use crate::settings::mode::{AgentKind, Delivery, Mode};
use crate::settings::{Calibrate, Home, Settings};
use crate::store::{CalibrationCache, StoreError};
use crate::text::diagnostic::{Code, Diagnostic, suggest};
use crate::trace::trouble::Trouble;
use crate::trial::evidence::digest;
use crate::trial::evidence::{Doubts, Reading};

/// Why nobody knows what an agent that the user describes shows its model.
const NEVER_SEEN: &str = "this agent was never calibrated, so that nobody knows whether it looks for skills where `skills` says; \
                          use `{endpoint}` in its `args` or `env`, or set `calibrate = \"off\"` to believe it";

/// An agent's program on this machine, known without starting it.
#[derive(Debug)]
pub struct InstalledAgent {
    pub kind: AgentKind,
    pub program: PathBuf,
    /// The version in its package, if it has one.
    pub version: Option<String>,
    cache: Option<CalibrationCache>,
}

impl InstalledAgent {
    pub fn find(settings: &Settings, kind: AgentKind) -> Result<Self, Trouble> {
        let (program, version) = agent::installed(kind, settings)?;
        Ok(Self { kind, program, version, cache: CalibrationCache::of(kind.as_str()) })
    }

    /// The agent and its version, or its program.
    pub fn name(&self) -> String {
        match &self.version {
            Some(version) => format!("{} {version}", self.kind.as_str()),
            None => format!("{} ({})", self.kind.as_str(), self.program.display()),
        }
    }

    /// Whether our CI measured this version.
    pub fn is_measured(&self) -> bool {
        self.kind.profile().is_measured(self.version.as_deref())
    }

    /// The digest of what of the user's settings and configuration reaches the agent.
    pub fn configuration(&self, settings: &Settings) -> String {
        let configuration = agent::configuration(self.kind, settings).unwrap_or_else(|trouble| trouble.detail);
        let own = settings.agents.get(self.kind.as_str()).map(|agent| (&agent.args, &agent.custom));
        let own_setup = (settings.isolation.home == Home::User).then(|| agent::own_setup(self.kind).ok());
        let Settings { env, isolation, .. } = settings;
        digest(format!("{configuration}\n{own:?} {own_setup:?} {env:?} {isolation:?}").as_bytes())
    }

    /// What a calibration is of. Packages give all their files one time, so that the version counts, too.
    fn key(&self, settings: &Settings) -> String {
        let mut text = format!("{:?}\n{}\n", self.version, env!("CARGO_PKG_VERSION"));
        if let Ok(metadata) = fs::metadata(&self.program) {
            let (seconds, nanoseconds) = (metadata.mtime(), metadata.mtime_nsec());
            let _ = write!(text, "{} {} {seconds}.{nanoseconds}", self.program.display(), metadata.len());
        }
        digest(format!("{text}\n{}", self.configuration(settings)).as_bytes())
    }

    /// The calibration of this program with these settings, if this machine has one.
    pub fn calibration(&self, settings: &Settings) -> Option<AgentCalibration> {
        // An agent that was never calibrated costs nothing more.
        let cache = self.cache.as_ref().filter(|cache| cache.exists())?;
        cache.read(&self.key(settings))
    }

    pub fn keep(&self, settings: &Settings, calibration: &AgentCalibration) -> Result<(), StoreError> {
        self.cache.as_ref().map_or(Ok(()), |cache| cache.write(&self.key(settings), calibration))
    }

    /// Whether a live run calibrates the agent first.
    pub fn wants_calibration(&self, settings: &Settings) -> bool {
        match settings.calibrate {
            Calibrate::Off => false,
            Calibrate::Always => true,
            Calibrate::Auto => !self.is_measured() && self.calibration(settings).is_none(),
        }
    }
}

/// Where the settings say where an agent of the user's looks for skills, if its calibration does not show that it does.
pub fn misplaced(settings: &Settings, calibration: &AgentCalibration) -> Option<Diagnostic> {
    let start = settings.agents.get(&calibration.agent)?.custom.as_ref()?;
    calibration.doubts(Delivery::Native).get(&Reading::Delivered)?;
    let skills = start.agent.description.skills.as_str();
    let known: Vec<&str> = of_all(|profile| profile.skill_folders).copied().filter(|known| *known != skills).collect();
    let expected = "expected the directory of its workspace in which it does";
    let name = &calibration.agent;
    let message =
        format!("nothing shows that {name} looks for skills in {skills:?}; {expected}; {}", suggest(skills, &known));
    Some(Diagnostic::new(Code::Config, start.skills_place.clone(), message))
}

/// What is known of the trials of a mode before they run.
#[derive(Clone, Debug, Default)]
pub struct ModeKnowledge {
    /// What of them cannot be relied on here.
    pub doubts: Doubts,
    /// The version in the agent's package, if it has one.
    version: Option<String>,
    /// Whether a calibration in force shows that the agent is read.
    is_calibrated: bool,
}

impl ModeKnowledge {
    /// Why nothing shows that something did not happen in a trial. The agent may report the version itself.
    pub fn unmeasured(&self, kind: AgentKind, reported: Option<&str>) -> Option<String> {
        let version = reported.or(self.version.as_deref());
        let why = unmeasured(kind, version).filter(|_| !self.is_calibrated)?;
        Some(format!("{why}: run `skill-evals doctor --calibrate --agent {}`", kind.as_str()))
    }
}

/// Why nothing shows that this version of the agent did not do something: nobody measured it. A program without a version is the
/// user's own, like an agent that the user describes: the user knows what it shows.
pub fn unmeasured(kind: AgentKind, version: Option<&str>) -> Option<String> {
    let is_known = matches!(kind, AgentKind::Custom(_)) || kind.profile().is_measured(version);
    let version = version.filter(|_| !is_known)?;
    Some(format!("nobody measured whether {} {version} is read rightly", kind.as_str()))
}

/// What is known of the trials of these modes, by their names. Some calibrations are of this run.
pub fn known<'m>(
    settings: &Settings,
    of_run: &[AgentCalibration],
    modes: impl Iterator<Item = &'m Mode>,
) -> HashMap<String, ModeKnowledge> {
    modes.map(|mode| (mode.name.clone(), of_mode(settings, of_run, mode))).collect()
}

fn of_mode(settings: &Settings, of_run: &[AgentCalibration], mode: &Mode) -> ModeKnowledge {
    let agent = InstalledAgent::find(settings, mode.agent).ok();
    let of_run = || of_run.iter().find(|known| known.agent == mode.agent.as_str()).cloned();
    let calibration = agent.as_ref().and_then(|agent| agent.calibration(settings)).or_else(of_run);
    let version = agent.and_then(|agent| agent.version);
    if settings.calibrate == Calibrate::Off {
        let is_calibrated = calibration.is_some_and(|calibration| calibration.trusted);
        return ModeKnowledge { doubts: Doubts::new(), version, is_calibrated };
    }
    let Some(calibration) = calibration.filter(|calibration| calibration.asked) else {
        // That a directory has the skills does not say that the agent looks there.
        let is_open = matches!(mode.agent, AgentKind::Custom(_)) && mode.delivery.native();
        let doubts = is_open.then(|| (Reading::Delivered, NEVER_SEEN.to_owned())).into_iter().collect();
        return ModeKnowledge { doubts, version, is_calibrated: false };
    };
    let mut doubts = calibration.doubts(mode.delivery);
    let place = misplaced(settings, &calibration).filter(|_| mode.delivery.native());
    if let Some((why, place)) = doubts.get_mut(&Reading::Delivered).zip(place) {
        *why = format!("{place}; {why}");
    }
    ModeKnowledge { doubts, version, is_calibrated: true }
}
