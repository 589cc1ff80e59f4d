//! The network of a trial environment, if the settings limit it: nothing but a door, behind which this process decides what passes,
//! puts credentials in, and records.

#[cfg(feature = "door")]
mod door;
#[cfg(not(feature = "door"))]
mod off;

use crate::settings::HostPort;

#[cfg(feature = "door")]
pub use door::RoomDoor;
#[cfg(not(feature = "door"))]
pub use off::RoomDoor;

/// What an agent asks its provider for, and with which credentials.
#[derive(Debug, Default)]
pub struct ProviderAccess {
    /// The provider's server.
    pub server: Option<HostPort>,
    /// Other servers of it.
    pub others: Vec<HostPort>,
    /// Whether the user named that server, and not the agent: it may be on this machine.
    pub is_users: bool,
    /// The methods and paths of the requests that get the credentials.
    pub routes: Vec<(String, String)>,
    pub credentials: Vec<HeldCredential>,
}

/// A credential that does not enter the environment.
pub struct HeldCredential {
    /// The variable that holds it.
    pub variable: String,
    /// What the environment has in its place.
    pub placeholder: String,
    pub real: String,
}

impl std::fmt::Debug for HeldCredential {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("HeldCredential").field("variable", &self.variable).finish_non_exhaustive()
    }
}
