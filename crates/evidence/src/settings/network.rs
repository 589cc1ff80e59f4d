//! `network`: what programs in a trial environment reach, and `network_allow`: what they reach whatever it says.

use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;

use toml::Spanned;

use crate::settings::Problems;

/// What programs in a trial environment reach.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Network {
    /// All that this machine does.
    Host,
    /// The web servers of the internet, and nothing on this machine or in its networks.
    Web,
    /// The agent's provider only.
    Provider,
    /// The provider, and the web servers of these hosts, each with all below it if it begins with `*.`.
    Hosts(Vec<String>),
}

impl Network {
    /// What the key of the settings file says.
    pub(super) fn of_key(written: &Spanned<toml::Value>, problems: &mut Problems<'_>) -> Option<Self> {
        let wrong = "`network` is \"host\", \"web\", \"provider\" or a list of hosts".to_owned();
        let hosts = match written.get_ref() {
            toml::Value::String(text) => Ok(text.clone()),
            toml::Value::Array(hosts) => {
                let hosts: Option<Vec<&str>> = hosts.iter().map(toml::Value::as_str).collect();
                // A word in a list is a host without a dot, which none is.
                hosts.filter(|hosts| !hosts.is_empty()).map(|hosts| format!("{},", hosts.join(","))).ok_or(wrong)
            }
            _ => Err(wrong),
        };
        hosts.and_then(|hosts| hosts.parse()).map_err(|why| problems.add(written.span(), why)).ok()
    }
}

impl FromStr for Network {
    type Err = String;

    /// A word, or hosts with commas between them.
    fn from_str(text: &str) -> Result<Self, String> {
        match text.trim() {
            "host" => Ok(Self::Host),
            "web" => Ok(Self::Web),
            "provider" => Ok(Self::Provider),
            hosts => {
                let hosts = hosts.split(',').map(str::trim).filter(|host| !host.is_empty());
                let hosts: Vec<String> = hosts.map(host_rule).collect::<Result<_, _>>()?;
                let none = "`network` names no host; expected host, web, provider or hosts".to_owned();
                if hosts.is_empty() { Err(none) } else { Ok(Self::Hosts(hosts)) }
            }
        }
    }
}

/// A host of the internet, maybe with `*.` before it.
fn host_rule(text: &str) -> Result<String, String> {
    let name = text.strip_prefix("*.").unwrap_or(text).to_ascii_lowercase();
    if name.parse::<IpAddr>().is_ok() || name == "localhost" {
        return Err(format!("`network` names {text:?}, which is no host of the internet; add it to `network_allow`"));
    }
    let is_part = |part: &str| {
        !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_')
    };
    if !name.contains('.') || !name.split('.').all(is_part) {
        return Err(format!(
            "`network` is {text:?}; expected host, web, provider, or hosts as example.org or *.example.org"
        ));
    }
    Ok(if text.starts_with("*.") { format!("*.{name}") } else { name })
}

impl fmt::Display for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Host => f.write_str("host"),
            Self::Web => f.write_str("web"),
            Self::Provider => f.write_str("provider"),
            Self::Hosts(hosts) => f.write_str(&hosts.join(", ")),
        }
    }
}

/// A host with a port, or with all its ports.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostPort {
    /// In lowercase; an IPv6 address has no brackets.
    pub host: String,
    pub port: Option<u16>,
}

impl HostPort {
    /// Whether it is, or has, this port of this host.
    pub fn covers(&self, host: &str, port: u16) -> bool {
        self.port.is_none_or(|own| own == port) && (self.host == host || self.is_loopback() && is_loopback(host))
    }

    /// Whether it is this machine.
    pub fn is_loopback(&self) -> bool {
        is_loopback(&self.host)
    }

    /// The server of an address as `https://example.org/v1`; `None` if it is not one of HTTP.
    pub fn of_url(url: &str) -> Option<Self> {
        let (rest, port) = url
            .strip_prefix("https://")
            .map(|rest| (rest, 443))
            .or_else(|| Some((url.strip_prefix("http://")?, 80)))?;
        let authority = rest.split(['/', '?', '#']).next()?;
        let server: Self = authority.rsplit('@').next()?.parse().ok()?;
        Some(Self { port: server.port.or(Some(port)), ..server })
    }
}

fn is_loopback(host: &str) -> bool {
    host == "localhost" || host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

impl FromStr for HostPort {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("{text:?} is not `host` or `host:port`");
        let (host, port) = match text.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
            Some((host, "")) => (host, None),
            Some((host, rest)) => (host, Some(rest.strip_prefix(':').ok_or_else(wrong)?)),
            None if text.matches(':').count() > 1 => (text, None),
            None => text.split_once(':').map_or((text, None), |(host, port)| (host, Some(port))),
        };
        let port = port.map(|port| port.parse().map_err(|_| wrong())).transpose()?;
        if host.is_empty() || host.contains(['/', '@', ' ', '*', '[', ']']) {
            return Err(wrong());
        }
        Ok(Self { host: host.to_ascii_lowercase(), port })
    }
}

impl fmt::Display for HostPort {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.port {
            Some(port) if self.host.contains(':') => write!(f, "[{}]:{port}", self.host),
            Some(port) => write!(f, "{}:{port}", self.host),
            None => f.write_str(&self.host),
        }
    }
}

/// A server that the user lets through: a host with a port; on this machine, with a port always.
pub(super) struct AllowedServer(pub HostPort);

impl FromStr for AllowedServer {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if let Some(server) = HostPort::of_url(text) {
            return Err(format!("`network_allow` names {text:?}; expected a host and a port, as `{server}`"));
        }
        let server: HostPort = text.parse().map_err(|why| format!("`network_allow`: {why}"))?;
        if server.is_loopback() && server.port.is_none() {
            let with_port = HostPort { port: Some(8080), ..server };
            return Err(format!(
                "`network_allow` names {text:?} without a port: on this machine, only named ports are reached; expected it as \
                 `{with_port}`"
            ));
        }
        Ok(Self(server))
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NetworkSettings {
    /// `None` if nobody says it.
    pub reach: Option<Network>,
    /// What the user lets through whatever `reach` says, also on this machine and in its networks, also without TLS.
    pub allowed: Vec<HostPort>,
    /// What the settings file says about it, if anything.
    pub declared: Option<String>,
}

impl NetworkSettings {
    /// What programs reach, if that is not all that this machine does.
    pub fn limit(&self) -> Option<&Network> {
        self.reach.as_ref().filter(|reach| **reach != Network::Host)
    }

    /// Keeps what the settings file says.
    pub(super) fn declare(&mut self) {
        let allowed: Vec<String> = self.allowed.iter().map(ToString::to_string).collect();
        let reach = self.reach.as_ref().map(ToString::to_string).unwrap_or_default();
        self.declared = Some(format!("{reach}\0{}", allowed.join("\0")));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::mode::AgentKind;

    #[test]
    fn the_servers_of_every_profile_are_hosts() {
        for profile in AgentKind::ALL.map(AgentKind::profile) {
            for requests in profile.provider_requests {
                let all = requests.of_login.iter().map(|server| server.parse().ok());
                let all = all.chain((!requests.base.is_empty()).then(|| HostPort::of_url(requests.base)));
                assert!(all.into_iter().all(|server: Option<HostPort>| server.is_some()), "{}", profile.name);
            }
        }
    }

    #[test]
    fn a_host_may_have_a_port_and_nothing_else() {
        for (text, written) in
            [("Example.org", "example.org"), ("[::1]:80", "[::1]:80"), ("fd00::1", "fd00::1"), ("a:1", "a:1")]
        {
            assert_eq!(text.parse::<HostPort>().expect("a host").to_string(), written);
        }
        for text in ["", "a:b", "a/b", "u@h", "a:70000", ":80", "*.a", "[::1]80"] {
            assert!(text.parse::<HostPort>().is_err(), "{text}");
        }
        let local: HostPort = "127.0.0.1:80".parse().expect("a host");
        assert!(local.covers("localhost", 80) && local.covers("::1", 80) && !local.covers("localhost", 81));
        assert!(!"example.org".parse::<HostPort>().expect("a host").covers("localhost", 80));
    }

    #[test]
    fn an_allowed_server_of_this_machine_has_a_port_and_no_scheme() {
        let read = |text: &str| text.parse::<AllowedServer>().map(|server| server.0.to_string());
        for text in ["example.org", "10.0.0.1", "127.0.0.1:80", "[::1]:8080", "localhost:3128"] {
            assert_eq!(read(text).as_deref(), Ok(text));
        }
        for (text, expected) in [
            ("https://127.0.0.1", "`127.0.0.1:443`"),
            ("http://127.0.0.1:8080/v1", "`127.0.0.1:8080`"),
            ("127.0.0.1", "`127.0.0.1:8080`"),
            ("[::1]", "`[::1]:8080`"),
            ("localhost", "`localhost:8080`"),
        ] {
            assert!(read(text).is_err_and(|why| why.contains(expected)), "{text}");
        }
    }

    #[test]
    fn the_server_of_an_address_has_its_port_and_no_login() {
        let server = |url: &str| HostPort::of_url(url).map(|server| server.to_string());
        assert_eq!(server("https://api.example.org/v1").as_deref(), Some("api.example.org:443"));
        assert_eq!(server("http://me:secret@localhost:8080").as_deref(), Some("localhost:8080"));
        assert_eq!((server("ftp://example.org"), server("http://")), (None, None));
    }

    #[test]
    fn a_network_is_a_word_or_a_list_of_hosts_of_the_internet() {
        let read = |text: &str| text.parse::<Network>().map(|network| network.to_string());
        assert_eq!(read("provider").as_deref(), Ok("provider"));
        assert_eq!(read("PyPI.org, *.github.com").as_deref(), Ok("pypi.org, *.github.com"));
        for text in ["webb", "", "web, provider", "*", "https://a.b", "a.b:443"] {
            assert!(read(text).is_err_and(|why| why.contains("expected host, web, provider")), "{text}");
        }
        for text in ["127.0.0.1", "localhost", "10.0.0.1"] {
            assert!(read(text).is_err_and(|why| why.contains("`network_allow`")), "{text}");
        }
    }
}
