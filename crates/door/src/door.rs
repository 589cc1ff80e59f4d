//! The door of a run: its authority, its way out, and the thread that serves all rooms.

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::thread::JoinHandle;

use base64::prelude::{BASE64_STANDARD, Engine as _};
use tokio::sync::{mpsc, oneshot};
use tokio::task::LocalSet;
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::crypto::{CryptoProvider, ring};
use tokio_rustls::rustls::pki_types::CertificateDer;
use tokio_rustls::rustls::pki_types::pem::PemObject as _;
use tokio_rustls::rustls::{ClientConfig, RootCertStore};

use crate::authority::Authority;
use crate::record::RecordWriter;
use crate::room::{Room, Task};
use crate::rules::Rules;
use crate::state::{DoorState, RoomState};
use crate::way::{DoorError, Upstream, Way};

/// The door of a run. Its rooms close when it is dropped.
pub struct Door {
    shared: Arc<DoorState>,
    tasks: Option<mpsc::UnboundedSender<Task>>,
    thread: Option<JoinHandle<()>>,
    bundle: String,
}

impl Door {
    /// Opens the door of a run.
    pub fn open(upstream: &Upstream) -> Result<Self, DoorError> {
        let provider = Arc::new(ring::default_provider());
        let (roots, trusted) = roots(&upstream.roots)?;
        let config =
            ClientConfig::builder_with_provider(Arc::clone(&provider)).with_safe_default_protocol_versions()?;
        let mut config = config.with_root_certificates(roots).with_no_client_auth();
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        // A leaf is made with the default of the process; a program that has one keeps it.
        if CryptoProvider::get_default().is_none() {
            // Another thread was faster.
            let _ = ring::default_provider().install_default();
        }
        let authority = Authority::new()?;
        let bundle = format!("{trusted}{}", authority.certificate);
        let way = Way::new(upstream)?;
        let tls = TlsConnector::from(Arc::new(config));
        let shared = Arc::new(DoorState { authority, tls, way });
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(DoorError::Thread)?;
        let (tasks, mut todo) = mpsc::unbounded_channel::<Task>();
        let serve = async move {
            while let Some(task) = todo.recv().await {
                tokio::task::spawn_local(task());
            }
        };
        let run = move || LocalSet::new().block_on(&runtime, serve);
        let thread = std::thread::Builder::new().name("door".to_owned()).spawn(run).map_err(DoorError::Thread)?;
        Ok(Self { shared, tasks: Some(tasks), thread: Some(thread), bundle })
    }

    /// The certificates that a room's programs must trust, in PEM: those of this machine, and the door's own.
    pub fn bundle(&self) -> &str {
        &self.bundle
    }

    /// The door's own certificate, in PEM, for programs that add one to those they know.
    pub fn certificate(&self) -> &str {
        &self.shared.authority.certificate
    }

    /// Opens a room, whose record is a new file. It holds what passes as it is: [`store_record`](crate::store_record) masks it.
    pub fn room(&self, rules: Rules, record: &Path) -> Result<Room, DoorError> {
        let state = RoomState::new(Arc::clone(&self.shared), rules, RecordWriter::new(record)?);
        let (close, closed) = oneshot::channel();
        let room = Room::new(state, close);
        self.start(room.serve(closed))?;
        Ok(room)
    }

    fn start(&self, task: Task) -> Result<(), DoorError> {
        let gone = || DoorError::Thread(io::Error::other("it has ended"));
        self.tasks.as_ref().ok_or_else(gone)?.send(task).map_err(|_| gone())
    }
}

impl Drop for Door {
    fn drop(&mut self) {
        self.tasks = None;
        if let Some(thread) = self.thread.take() {
            // Its panic was printed.
            let _ = thread.join();
        }
    }
}

/// The roots that the door trusts, and the same in PEM for rooms.
fn roots(own: &[u8]) -> Result<(RootCertStore, String), DoorError> {
    let system = rustls_native_certs::load_native_certs();
    let own: Vec<CertificateDer<'static>> = CertificateDer::pem_slice_iter(own).filter_map(Result::ok).collect();
    let mut roots = RootCertStore::empty();
    let all: Vec<_> = system.certs.into_iter().chain(own).collect();
    let (added, _) = roots.add_parsable_certificates(all.iter().cloned());
    if added == 0 {
        return Err(DoorError::NoRoots { why: system.errors.first().map(|error| format!(": {error}")) });
    }
    Ok((roots, all.iter().map(|certificate| pem(certificate)).collect()))
}

fn pem(certificate: &[u8]) -> String {
    let text = BASE64_STANDARD.encode(certificate);
    let lines: Vec<&str> = text.as_bytes().chunks(64).filter_map(|line| std::str::from_utf8(line).ok()).collect();
    format!("-----BEGIN CERTIFICATE-----\n{}\n-----END CERTIFICATE-----\n", lines.join("\n"))
}
