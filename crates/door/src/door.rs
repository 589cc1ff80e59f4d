//! The door of a run: its authority, its way out, and the thread that serves all rooms.

use std::io;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::thread::JoinHandle;

use base64::prelude::{BASE64_STANDARD, Engine as _};
use hyper::Uri;
use percent_encoding::percent_decode_str;
use tokio::sync::{mpsc, oneshot};
use tokio::task::LocalSet;
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::crypto::{CryptoProvider, ring};
use tokio_rustls::rustls::pki_types::CertificateDer;
use tokio_rustls::rustls::pki_types::pem::PemObject as _;
use tokio_rustls::rustls::{self, ClientConfig, RootCertStore};

use skill_evals_evidence::settings::HostPort;

use crate::authority::Authority;
use crate::record::{RecordError, RecordWriter};
use crate::room::{Room, RoomState, Task};
use crate::rules::Rules;

/// Why a door or a room cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum DoorError {
    #[error("the certificates of the run cannot be made: {0}")]
    Certificate(#[from] rcgen::Error),
    #[error("TLS cannot be set up: {0}")]
    Tls(#[from] rustls::Error),
    #[error("no root certificate of this machine can be read, so no server could be trusted{}", why.as_deref().unwrap_or_default())]
    NoRoots { why: Option<String> },
    #[error("`{name}`: `{value}` is no proxy's address; expected `http://host:port`")]
    Proxy { name: &'static str, value: String },
    #[error("the door's thread cannot be started: {0}")]
    Thread(io::Error),
    #[error("the room's sockets cannot be used: {0}")]
    Sockets(io::Error),
    #[error(transparent)]
    Record(#[from] RecordError),
}

/// How the door reaches servers.
#[derive(Clone, Debug, Default)]
pub struct Upstream {
    /// The user's own certificate authorities, in PEM, besides those of the system.
    pub roots: Vec<u8>,
    /// The user's proxy for HTTPS, and the one for HTTP.
    pub https_proxy: Option<String>,
    pub http_proxy: Option<String>,
    /// `NO_PROXY`: hosts that are asked directly, each with all below it; `*` for all.
    pub no_proxy: Vec<String>,
    /// Servers that take the place of hosts, without TLS.
    pub instead: Vec<(HostPort, SocketAddr)>,
}

/// The door of a run. Its rooms close when it is dropped.
pub struct Door {
    shared: Arc<DoorState>,
    tasks: Option<mpsc::UnboundedSender<Task>>,
    thread: Option<JoinHandle<()>>,
    bundle: String,
}

/// What all rooms use.
pub(crate) struct DoorState {
    pub(crate) authority: Authority,
    pub(crate) tls: TlsConnector,
    pub(crate) way: Way,
}

/// The way out.
pub(crate) struct Way {
    https_proxy: Option<Proxy>,
    http_proxy: Option<Proxy>,
    no_proxy: Vec<String>,
    instead: Vec<(HostPort, SocketAddr)>,
}

/// A proxy of the user.
pub(crate) struct Proxy {
    pub(crate) address: String,
    /// The value of `Proxy-Authorization`.
    pub(crate) login: Option<String>,
}

impl Proxy {
    fn new(name: &'static str, text: &str) -> Result<Self, DoorError> {
        let wrong = || DoorError::Proxy { name, value: text.rsplit('@').next().unwrap_or_default().to_owned() };
        let text = if text.contains("://") { text.to_owned() } else { format!("http://{text}") };
        let uri: Uri = text.parse().map_err(|_| wrong())?;
        let authority = uri.authority().filter(|_| uri.scheme_str() == Some("http")).ok_or_else(wrong)?;
        let address = format!("{}:{}", authority.host(), authority.port_u16().unwrap_or(80));
        let login = authority.as_str().rsplit_once('@').map(|(login, _)| {
            format!("Basic {}", BASE64_STANDARD.encode(percent_decode_str(login).collect::<Vec<u8>>()))
        });
        Ok(Self { address, login })
    }
}

impl Way {
    fn new(upstream: &Upstream) -> Result<Self, DoorError> {
        let proxy = |name, text: &Option<String>| {
            text.as_deref().filter(|text| !text.is_empty()).map(|text| Proxy::new(name, text)).transpose()
        };
        let no_proxy = upstream.no_proxy.iter().map(|host| host.trim().trim_start_matches('.').to_ascii_lowercase());
        Ok(Self {
            https_proxy: proxy("HTTPS_PROXY", &upstream.https_proxy)?,
            http_proxy: proxy("HTTP_PROXY", &upstream.http_proxy)?,
            no_proxy: no_proxy.filter(|host| !host.is_empty()).collect(),
            instead: upstream.instead.clone(),
        })
    }

    /// The server that takes a host's place.
    pub(crate) fn instead(&self, host: &str, port: u16) -> Option<SocketAddr> {
        self.instead.iter().find(|(known, _)| known.covers(host, port)).map(|(_, address)| *address)
    }

    /// The user's proxy to a host.
    pub(crate) fn proxy(&self, is_tls: bool, host: &str) -> Option<&Proxy> {
        let is_below = |above: &String| {
            above == "*" || above == host || host.strip_suffix(above.as_str()).is_some_and(|below| below.ends_with('.'))
        };
        let proxy = if is_tls { &self.https_proxy } else { &self.http_proxy };
        proxy.as_ref().filter(|_| !self.no_proxy.iter().any(is_below))
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_users_proxy_is_taken_but_for_what_no_proxy_names() {
        let upstream = Upstream {
            https_proxy: Some("http://me:p%40ss@proxy.corp:3128".to_owned()),
            no_proxy: vec![".corp".to_owned(), "example.org".to_owned()],
            ..Upstream::default()
        };
        let way = Way::new(&upstream).expect("a proxy");
        let proxy = way.proxy(true, "api.anthropic.com").expect("a proxy");
        assert_eq!(proxy.address, "proxy.corp:3128");
        assert_eq!(proxy.login.as_deref(), Some("Basic bWU6cEBzcw=="));
        assert!(way.proxy(true, "git.corp").is_none() && way.proxy(true, "a.example.org").is_none());
        assert!(way.proxy(true, "notcorp").is_some() && way.proxy(false, "api.anthropic.com").is_none());
    }

    #[test]
    fn a_proxy_that_is_none_is_named_without_its_password() {
        let upstream =
            Upstream { https_proxy: Some("socks5://me:secret@proxy:1080".to_owned()), ..Upstream::default() };
        let error = Way::new(&upstream).err().expect("an error").to_string();
        assert_eq!(error, "`HTTPS_PROXY`: `proxy:1080` is no proxy's address; expected `http://host:port`");
    }
}
