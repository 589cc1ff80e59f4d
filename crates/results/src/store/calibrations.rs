//! Calibrations of agents, which are kept in the user's cache directory.

use std::fs;
use std::path::PathBuf;

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::{At, StoreError, users_cache, write_whole};
use crate::files::{bounded, look};

/// The calibrations of an agent, each under a key that says of what it is.
#[derive(Clone, Debug)]
pub struct CalibrationCache(PathBuf);

impl CalibrationCache {
    /// Those of the agent with this name; `None` if the user has neither a cache directory nor a home.
    pub fn of(agent: &str) -> Option<Self> {
        Some(Self(users_cache()?.join("calibrations").join(agent)))
    }

    /// Whether the agent was ever calibrated here.
    pub fn exists(&self) -> bool {
        look::is_usable_directory(&self.0)
    }

    /// What is kept under this key, unless it cannot be read: it is then measured again.
    pub fn read<T: DeserializeOwned>(&self, key: &str) -> Option<T> {
        serde_json::from_slice(&bounded::read(&self.0.join(format!("{key}.json"))).ok()?).ok()
    }

    pub fn write(&self, key: &str, calibration: &impl Serialize) -> Result<(), StoreError> {
        fs::create_dir_all(&self.0).at(&self.0)?;
        let text = serde_json::to_vec_pretty(calibration).unwrap_or_default();
        write_whole(&self.0.join(format!("{key}.json")), &text)
    }
}
