//! What may pass, and with which credential.

use std::fmt;
use std::net::IpAddr;

use serde::{Deserialize, Serialize};
use skill_evals_evidence::settings::{HostPort, Network};

/// Which paths a route has: one, or all that begin with what stands before a final `*`. Another `*` stands for a part of a path
/// without `/`. A query is no part of a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PathRule(pub String);

impl PathRule {
    fn is(&self, path: &str) -> bool {
        // A server may read `/v1/models/../files` as another path than the one that stands there.
        let is_plain = !path.contains("..") && !path.contains("//") && !path.to_ascii_lowercase().contains("%2e");
        is_plain
            && match self.0.split_once('*') {
                Some((start, "")) => path.starts_with(start),
                Some((start, end)) => {
                    let part = path.strip_prefix(start).and_then(|rest| rest.strip_suffix(end));
                    part.is_some_and(|part| !part.is_empty() && !part.contains('/'))
                }
                None => path == self.0,
            }
    }
}

/// Requests of one kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Route {
    pub method: String,
    pub host: HostPort,
    pub path: PathRule,
}

impl Route {
    /// Whether a request is one of these.
    pub fn is(&self, request: &Request<'_>) -> bool {
        request.is_tls_or_allowed
            && self.method == request.method
            && self.host.covers(request.host, request.port)
            && self.path.is(request.path)
    }
}

/// A credential of the user. The room has the placeholder.
#[derive(Clone)]
pub struct Credential {
    /// What the agent sends: of the right shape, with none of the real one's characters in place.
    pub placeholder: String,
    pub real: String,
    /// The requests that get the real one. Other requests keep the placeholder.
    pub routes: Vec<Route>,
}

impl fmt::Debug for Credential {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Credential").field("routes", &self.routes).finish_non_exhaustive()
    }
}

/// What may pass the door of a room.
#[derive(Clone, Debug)]
pub struct Rules {
    /// Which hosts a room reaches, besides those of the provider and those that the user allows.
    pub reach: Network,
    /// The hosts of the agent's provider.
    pub provider: Vec<HostPort>,
    /// What the user's own settings name: let through in every mode, at private addresses and without TLS, too.
    pub allowed: Vec<HostPort>,
    pub credentials: Vec<Credential>,
    /// What stands in requests to the provider in the place of the `prompt_cache_key` that an agent draws for each session, so that
    /// the provider finds a prompt that it has kept; letters and digits, empty to leave the agent's.
    pub prompt_key: String,
}

/// A request as the rules see it.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    pub method: &'a str,
    pub host: &'a str,
    pub port: u16,
    /// Without the query.
    pub path: &'a str,
    /// Whether it comes by TLS, or goes to a host that the user allows: only then it may have a credential.
    pub is_tls_or_allowed: bool,
}

/// Why a request does not pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Refusal {
    /// The host is not one that the room reaches.
    Host,
    /// The host's address is of this machine, of a private network or of a link.
    PrivateAddress,
    /// The request names another host than its connection does.
    OtherHost,
    /// It is longer than a request may be.
    TooLong,
    /// What passed before could not be recorded.
    NotRecorded,
    /// Recorded answers are given in the place of all servers, and there is none for it.
    NotAnswered,
}

impl Rules {
    /// Whether the user's own settings name the host: its address may be private.
    pub fn is_allowed(&self, host: &str, port: u16) -> bool {
        self.allowed.iter().any(|allowed| allowed.covers(host, port))
    }

    /// Whether a host may be asked. The address that its name stands for is checked when it is known, by [`Self::check_address`].
    pub fn check_host(&self, host: &str, port: u16) -> Result<(), Refusal> {
        let is_known = self.is_allowed(host, port) || self.provider.iter().any(|known| known.covers(host, port));
        let is_web = || matches!(port, 80 | 443);
        let passes = is_known
            || match &self.reach {
                Network::Web => is_web() && !is_local_name(host),
                // With the machine's own network there is no door.
                Network::Host | Network::Provider => false,
                Network::Hosts(hosts) => is_web() && hosts.iter().any(|rule| is_host(rule, host)),
            };
        if !passes {
            return Err(Refusal::Host);
        }
        match host.parse() {
            Ok(address) => self.check_address(host, port, address),
            Err(_) => Ok(()),
        }
    }

    /// Whether a host may be asked at this address.
    pub fn check_address(&self, host: &str, port: u16, address: IpAddr) -> Result<(), Refusal> {
        if self.is_allowed(host, port) || crate::is_public(address) { Ok(()) } else { Err(Refusal::PrivateAddress) }
    }

    /// The credentials that a request gets.
    pub fn credentials_of<'r>(&'r self, request: &Request<'r>) -> impl Iterator<Item = &'r Credential> + 'r {
        let request = *request;
        self.credentials.iter().filter(move |credential| credential.routes.iter().any(|route| route.is(&request)))
    }
}

/// Whether a name has no dot, or is one of a private network by its end: no public host has such a name.
fn is_local_name(host: &str) -> bool {
    let host = host.trim_end_matches('.');
    let ends = [".localhost", ".local", ".internal", ".lan", ".home.arpa"];
    host.parse::<IpAddr>().is_err() && (!host.contains('.') || ends.iter().any(|end| host.ends_with(end)))
}

fn is_host(rule: &str, host: &str) -> bool {
    match rule.strip_prefix("*.") {
        Some(above) => host.strip_suffix(above).is_some_and(|below| below.ends_with('.')),
        None => rule == host,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rules(reach: Network) -> Rules {
        Rules {
            reach,
            provider: vec!["api.anthropic.com:443".parse().expect("a host")],
            allowed: vec!["127.0.0.1:9000".parse().expect("a host"), "proxy.corp:3128".parse().expect("a host")],
            credentials: vec![Credential {
                placeholder: "sk-placeholder".to_owned(),
                real: "sk-real".to_owned(),
                routes: vec![Route {
                    method: "POST".to_owned(),
                    host: "api.anthropic.com:443".parse().expect("a host"),
                    path: PathRule("/v1/messages".to_owned()),
                }],
            }],
            prompt_key: String::new(),
        }
    }

    #[test]
    fn a_room_reaches_what_its_mode_says_and_what_the_user_allows() {
        let hosts = Network::Hosts(vec!["pypi.org".to_owned(), "*.github.com".to_owned()]);
        // Host and port; whether they pass in `web`, in `provider`, and with a list of hosts.
        for (host, port, web, provider, listed) in [
            ("api.anthropic.com", 443, true, true, true),
            ("127.0.0.1", 9000, true, true, true),
            ("proxy.corp", 3128, true, true, true),
            ("pypi.org", 443, true, false, true),
            ("api.github.com", 443, true, false, true),
            ("github.com", 443, true, false, false),
            ("evilgithub.com", 443, true, false, false),
            ("example.org", 80, true, false, false),
            ("example.org", 22, false, false, false),
            ("api.anthropic.com", 8443, false, false, false),
            ("127.0.0.1", 80, false, false, false),
            ("169.254.169.254", 80, false, false, false),
            ("metadata.google.internal", 80, false, false, false),
            ("localhost", 443, false, false, false),
            ("::1", 443, false, false, false),
        ] {
            for (reach, passes) in [(Network::Web, web), (Network::Provider, provider), (hosts.clone(), listed)] {
                let found = rules(reach.clone()).check_host(host, port);
                assert_eq!(found.is_ok(), passes, "{host}:{port} in {reach:?}: {found:?}");
            }
        }
    }

    #[test]
    fn a_public_name_that_stands_for_a_private_address_does_not_pass() {
        let rules = rules(Network::Web);
        let own = "127.0.0.1".parse().expect("an address");
        assert_eq!(rules.check_address("rebound.example.org", 443, own), Err(Refusal::PrivateAddress));
        assert_eq!(rules.check_address("127.0.0.1", 9000, own), Ok(()));
    }

    #[test]
    fn a_path_may_have_a_part_that_differs() {
        let rule = PathRule("/v1/models/*:generate".to_owned());
        assert!(rule.is("/v1/models/any-1.5:generate"));
        for other in ["/v1/models/:generate", "/v1/models/a/b:generate", "/v1/models/a:generateAll", "/v1/a:generate"] {
            assert!(!rule.is(other), "{other}");
        }
        assert!(PathRule("/v1/*".to_owned()).is("/v1/a/b") && !PathRule("/v1/*".to_owned()).is("/v1"));
    }

    #[test]
    fn a_credential_is_for_a_method_a_host_and_a_path() {
        let rules = rules(Network::Web);
        let request = |method, host, path, is_tls| Request { method, host, port: 443, path, is_tls_or_allowed: is_tls };
        let has = |request: Request<'_>| rules.credentials_of(&request).count() == 1;
        assert!(has(request("POST", "api.anthropic.com", "/v1/messages", true)));
        for (method, host, path, is_tls) in [
            ("GET", "api.anthropic.com", "/v1/messages", true),
            ("POST", "api.anthropic.com", "/v1/files", true),
            ("POST", "api.anthropic.com", "/v1/messages/../files", true),
            ("POST", "api.anthropic.com", "/v1/messages/%2e%2e/files", true),
            ("POST", "evil.example.org", "/v1/messages", true),
            ("POST", "api.anthropic.com", "/v1/messages", false),
        ] {
            assert!(!has(request(method, host, path, is_tls)), "{method} {host} {path} {is_tls}");
        }
    }
}
