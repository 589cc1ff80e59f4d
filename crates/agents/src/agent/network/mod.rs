//! The network of a trial environment, if the settings limit it: nothing but a door, behind which this process decides what passes,
//! puts credentials in, and records.

#[cfg(feature = "door")]
mod door;
#[cfg(not(feature = "door"))]
mod off;

use crate::settings::HostPort;

#[cfg(feature = "door")]
pub use door::{RoomDoor, recorded_model};
#[cfg(not(feature = "door"))]
pub use off::{RoomDoor, recorded_model};

/// What an agent asks its providers for, and with which credentials.
#[derive(Debug, Default)]
pub struct ProviderAccess {
    /// The providers' servers.
    pub servers: Vec<HostPort>,
    /// Those of them that the user named, and not the agent: they may be on this machine.
    pub users: Vec<HostPort>,
    /// Other servers of the providers.
    pub others: Vec<HostPort>,
    pub credentials: Vec<HeldCredential>,
    /// The key by which the provider finds the prompt that trials share, in letters and digits.
    pub prompt_key: String,
}

/// A credential that does not enter the environment.
pub struct HeldCredential {
    /// The variable that holds it.
    pub variable: String,
    /// What the environment has in its place.
    pub placeholder: String,
    pub real: String,
    /// The requests that get it.
    pub routes: Vec<ProviderRoute>,
}

/// A kind of request.
pub struct ProviderRoute {
    pub method: &'static str,
    pub server: HostPort,
    pub path: String,
}

impl std::fmt::Debug for HeldCredential {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("HeldCredential").field("variable", &self.variable).finish_non_exhaustive()
    }
}
