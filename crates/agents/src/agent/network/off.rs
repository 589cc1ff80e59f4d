//! Takes the place of the door if the feature `door` is off: it says so, and opens nothing.

use std::ffi::OsString;
use std::io;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use jiff::Timestamp;

use super::ProviderAccess;
use crate::files::at::PathError;
use crate::process::opener::RoomNetwork;
use crate::profile::Profile;
use crate::settings::{HostPort, Network};
use crate::trace::exposure::SkillTexts;
use crate::trace::trouble::{Trouble, TroubleKind};
use crate::trial::network::NetworkMeta;
use crate::trial::witness::WireWitness;
use crate::wire::replay::ModelReplay;

/// There is none.
#[derive(Debug)]
pub enum RoomDoor {}

impl RoomDoor {
    pub fn open(_: &Network, _: &[HostPort], _: &Path, _: &Path) -> Result<Self, Trouble> {
        let why = "`network` is set, and this program was built without the door; add \"door\" to the `features` of skill-evals \
                   in Cargo.toml";
        Err(Trouble::new(TroubleKind::CouldNotStart, why))
    }

    pub fn files(&self) -> &[(PathBuf, PathBuf)] {
        match *self {}
    }

    pub fn answer_by(&self, _: Arc<Mutex<ModelReplay>>) {
        match *self {}
    }

    pub fn admit(&self, _: ProviderAccess) {
        match *self {}
    }

    pub fn finish(
        &self,
        _: &Path,
        _: &dyn Fn(&str) -> String,
        _: &Profile,
        _: &SkillTexts,
    ) -> Result<(NetworkMeta, WireWitness), Trouble> {
        match *self {}
    }
}

/// Nothing was stored.
pub fn recorded_model(_: &Path, _: Timestamp) -> Result<Option<String>, PathError> {
    Ok(None)
}

impl RoomNetwork for RoomDoor {
    fn ports(&self) -> Vec<u16> {
        match *self {}
    }

    fn variables(&self) -> Vec<(OsString, OsString)> {
        match *self {}
    }

    fn adopt(&self, _: Vec<TcpListener>) -> io::Result<()> {
        match *self {}
    }
}
