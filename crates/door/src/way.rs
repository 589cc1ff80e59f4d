//! The way from the door to servers: the user's proxies and their exceptions.

use std::io;
use std::net::SocketAddr;

use base64::prelude::{BASE64_STANDARD, Engine as _};
use hyper::Uri;
use percent_encoding::percent_decode_str;
use skill_evals_evidence::settings::HostPort;
use tokio_rustls::rustls;

use crate::record::RecordError;

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
    pub(crate) fn new(upstream: &Upstream) -> Result<Self, DoorError> {
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
