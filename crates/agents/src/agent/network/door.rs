//! The door of a trial environment.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fmt::{self, Display};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::{fs, io};

use jiff::Timestamp;
use serde_json::json;
use skill_evals_door::{
    Answers, Asked, Credential, Door, Exchange, ExchangeEnd, PathRule, Refusal, Room, Route, Rules, Upstream,
    WholeAnswer, read_record, store_record,
};

use super::{HeldCredential, ProviderAccess, ProviderRoute};
use crate::files::at::{At, PathError};
use crate::files::look;
use crate::process::opener::RoomNetwork;
use crate::profile::Profile;
use crate::settings::{HostPort, Network};
use crate::trace::exposure::SkillTexts;
use crate::trace::trouble::{Trouble, TroubleKind};
use crate::trial::network::{NetworkMeta, RefusedRequest};
use crate::trial::witness::WireWitness;
use crate::wire::replay::{self, AnsweredRequest, GivenAnswer, ModelReplay};
use crate::wire::{Item, ModelExchange, Protocol};

/// The port to which the proxy variables point. Each environment has a loopback of its own.
const PROXY: u16 = 3128;

/// Where systems have the certificates that they trust.
const STORES: [&str; 4] = [
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",
    "/etc/ssl/ca-bundle.pem",
    "/etc/ssl/cert.pem",
];

/// The files of an environment with the certificates that its programs trust: all of them, and the door's own.
const BUNDLE: &str = "ca-bundle.pem";
const CERTIFICATE: &str = "ca.pem";

/// The record of what passes, in the runner's directory.
const RECORD: &str = "wire.jsonl";

/// The door of a trial environment.
pub struct RoomDoor {
    reach: Network,
    allowed: Vec<HostPort>,
    /// `None` once it is closed.
    room: Mutex<Option<Room>>,
    record: PathBuf,
    files: Vec<(PathBuf, PathBuf)>,
    /// Where programs in the environment find the files.
    shown: PathBuf,
    access: Mutex<ProviderAccess>,
}

impl fmt::Debug for RoomDoor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RoomDoor").field("reach", &self.reach).finish_non_exhaustive()
    }
}

/// The door of this process, which all environments share: its authority, and the way to servers by the user's own proxy and
/// certificates.
fn shared() -> Result<&'static Door, Trouble> {
    static DOOR: OnceLock<Result<Door, String>> = OnceLock::new();
    let found = DOOR.get_or_init(|| Door::open(&upstream()?).map_err(|error| error.to_string()));
    found.as_ref().map_err(|why| could_not_start(&format!("the network cannot be limited: {why}")))
}

fn upstream() -> Result<Upstream, String> {
    let variable = |names: [&str; 2]| {
        let value = names.iter().find_map(|name| std::env::var_os(name).filter(|value| !value.is_empty()));
        value.map(|value| value.into_string().map_err(|_| format!("{} is not UTF-8", names[0]))).transpose()
    };
    // `SSL_CERT_FILE` and `SSL_CERT_DIR` are read with the system's.
    let roots = match std::env::var_os("NODE_EXTRA_CA_CERTS").filter(|path| !path.is_empty()) {
        Some(path) => fs::read(&path).map_err(|error| format!("NODE_EXTRA_CA_CERTS is {}: {error}", path.display()))?,
        None => Vec::new(),
    };
    Ok(Upstream {
        roots,
        https_proxy: variable(["HTTPS_PROXY", "https_proxy"])?,
        http_proxy: variable(["HTTP_PROXY", "http_proxy"])?,
        no_proxy: variable(["NO_PROXY", "no_proxy"])?
            .iter()
            .flat_map(|all| all.split(','))
            .map(str::to_owned)
            .collect(),
        instead: Vec::new(),
    })
}

impl RoomDoor {
    /// The door of a new environment, with its files in `control`, the runner's directory. Its programs find them in `shown`.
    pub fn open(reach: &Network, allowed: &[HostPort], control: &Path, shown: &Path) -> Result<Self, Trouble> {
        let door = shared()?;
        let (bundle, certificate) = (control.join(BUNDLE), control.join(CERTIFICATE));
        fs::write(&bundle, door.bundle()).at(&bundle)?;
        fs::write(&certificate, door.certificate()).at(&certificate)?;
        let stores = STORES.iter().filter_map(|store| Path::new(store).canonicalize().ok());
        let stores = stores.filter(|store| look::is_usable_file(store)).map(|store| (bundle.clone(), store));
        let own = [(bundle.clone(), shown.join(BUNDLE)), (certificate, shown.join(CERTIFICATE))];
        let files = own.into_iter().chain(stores).collect();
        let record = control.join(RECORD);
        let room = door
            .room(rules(reach, allowed, &ProviderAccess::default()), &record)
            .map_err(|why| could_not_start(&why))?;
        Ok(Self {
            reach: reach.clone(),
            allowed: allowed.to_vec(),
            room: Mutex::new(Some(room)),
            record,
            files,
            shown: shown.to_path_buf(),
            access: Mutex::default(),
        })
    }

    /// The files that its programs must see, with their places.
    pub fn files(&self) -> &[(PathBuf, PathBuf)] {
        &self.files
    }

    /// Lets these answer in the place of every server.
    pub fn answer_by(&self, replay: Arc<Mutex<ModelReplay>>) {
        if let Some(room) = &*self.room() {
            room.answer_by(Arc::new(RecordedModel(replay)));
        }
    }

    /// Lets an agent ask its provider.
    pub fn admit(&self, access: ProviderAccess) {
        if let Some(room) = &*self.room() {
            room.change_rules(rules(&self.reach, &self.allowed, &access));
        }
        *self.access.lock().unwrap_or_else(PoisonError::into_inner) = access;
    }

    /// Ends it, and stores what passed in a new file, masked. Reads from there what the requests of an agent with this profile show,
    /// also of the texts of skills.
    pub fn finish(
        &self,
        to: &Path,
        mask: &dyn Fn(&str) -> String,
        profile: &Profile,
        texts: &SkillTexts,
    ) -> Result<(NetworkMeta, WireWitness), Trouble> {
        let files = |error: &dyn Display| Trouble::new(TroubleKind::Files, error.to_string());
        if let Some(room) = self.room().take() {
            room.close().map_err(|error| Trouble::new(TroubleKind::NotStored, error.to_string()))?;
        }
        let exchanges = read_record(&self.record).map_err(|error| files(&error))?;
        store_record(to, exchanges, mask).map_err(|error| Trouble::new(TroubleKind::NotStored, error.to_string()))?;
        let exchanges = read_record(to).map_err(|error| files(&error))?;
        let access = self.access.lock().unwrap_or_else(PoisonError::into_inner);
        let mut meta = NetworkMeta {
            reach: self.reach.to_string(),
            requests: exchanges.len() as u64,
            prompts_shared: exchanges.iter().filter(|exchange| exchange.shares_prompt).count() as u64,
            kept_out: access.credentials.iter().map(|held| held.variable.clone()).collect(),
            ..NetworkMeta::default()
        };
        let passed = || exchanges.iter().filter(|exchange| exchange.refused.is_none());
        let is_provider = |exchange: &Exchange| {
            let mut servers = access.servers.iter().chain(&access.others);
            servers.any(|server| server.covers(&exchange.host, exchange.port))
        };
        // In its own files, the user may have given the agent another provider: then that is the one that was asked.
        let is_known = passed().any(|exchange| is_provider(exchange) && asks_model(exchange));
        let (mut read, mut own) = (Vec::new(), OwnRequests::default());
        for exchange in passed().filter(|exchange| is_provider(exchange) || !is_known) {
            match model_exchange(exchange) {
                Some(Ok(of_model)) => {
                    own.note(exchange, &of_model);
                    read.push(of_model);
                }
                Some(Err(why)) => *meta.model_unread.entry(why).or_default() += 1,
                None => {}
            }
        }
        own.add_hosts(&exchanges);
        for exchange in &exchanges {
            match (exchange.refused, exchange.status) {
                (Some(refusal), _) => meta.refuse(refused(exchange, refusal, own.has(exchange))),
                // The door answers 426 itself: an agent then asks without an upgrade.
                (None, Some(status)) if status >= 400 && status != 426 => *meta.faults.entry(status).or_default() += 1,
                (None, _) => {}
            }
        }
        let witness = WireWitness::of(&read, meta.model_unread.values().sum(), profile, texts);
        (meta.model_requests, meta.model_tokens) = (witness.requests, witness.tokens);
        Ok((meta, witness))
    }

    fn room(&self) -> std::sync::MutexGuard<'_, Option<Room>> {
        self.room.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl RoomNetwork for RoomDoor {
    /// That of the proxy, and those of servers on this machine: programs ask them where they are outside.
    fn ports(&self) -> Vec<u16> {
        let access = self.access.lock().unwrap_or_else(PoisonError::into_inner);
        let servers = self.allowed.iter().chain(&access.servers);
        let local = servers.filter(|server| server.is_loopback()).filter_map(|server| server.port);
        let mut ports = vec![PROXY];
        for port in local {
            if !ports.contains(&port) {
                ports.push(port);
            }
        }
        ports
    }

    fn variables(&self) -> Vec<(OsString, OsString)> {
        let proxy = format!("http://127.0.0.1:{PROXY}");
        // Not empty: what an agent or a skill starts in the environment stays reachable there.
        let local = "127.0.0.1,localhost,::1";
        let proxies = [("HTTP_PROXY", &*proxy), ("HTTPS_PROXY", &proxy), ("NO_PROXY", local)];
        // By itself, the `fetch` of Node ignores the others.
        let of_node = [("NODE_USE_ENV_PROXY".into(), "1".into())];
        let proxies = proxies.into_iter().flat_map(|(name, value)| {
            [(name.to_owned(), value), (name.to_lowercase(), value)].map(|(name, value)| (name.into(), value.into()))
        });
        let (bundle, certificate) = (self.shown.join(BUNDLE), self.shown.join(CERTIFICATE));
        let certificates =
            [("SSL_CERT_FILE", &bundle), ("REQUESTS_CA_BUNDLE", &bundle), ("NODE_EXTRA_CA_CERTS", &certificate)];
        proxies.chain(of_node).chain(certificates.map(|(name, path)| (name.into(), path.into()))).collect()
    }

    fn adopt(&self, sockets: Vec<TcpListener>) -> io::Result<()> {
        let closed = || io::Error::other("the network of the trial is closed");
        self.room().as_ref().ok_or_else(closed)?.adopt(sockets).map_err(io::Error::other)
    }
}

fn could_not_start(why: &dyn Display) -> Trouble {
    Trouble::new(TroubleKind::CouldNotStart, why.to_string())
}

fn rules(reach: &Network, allowed: &[HostPort], access: &ProviderAccess) -> Rules {
    let route = |route: &ProviderRoute| Route {
        method: route.method.to_owned(),
        host: route.server.clone(),
        path: PathRule(route.path.clone()),
    };
    let credential = |held: &HeldCredential| Credential {
        placeholder: held.placeholder.clone(),
        real: held.real.clone(),
        routes: held.routes.iter().map(route).collect(),
    };
    Rules {
        reach: reach.clone(),
        provider: access.servers.iter().chain(&access.others).cloned().collect(),
        allowed: allowed.iter().chain(&access.users).cloned().collect(),
        credentials: access.credentials.iter().map(credential).collect(),
        prompt_key: access.prompt_key.clone(),
    }
}

/// The answers of a recording, at the door.
struct RecordedModel(Arc<Mutex<ModelReplay>>);

impl Answers for RecordedModel {
    fn answer(&self, request: &Asked<'_>) -> Option<WholeAnswer> {
        let Asked { method, path, body } = *request;
        let answer = self.0.lock().unwrap_or_else(PoisonError::into_inner).answer(method, path, body)?;
        let answer = answer.map_or_else(
            // Agents end at this status, and ask no more.
            |why| WholeAnswer {
                status: 400,
                content_type: "application/json".to_owned(),
                body: json!({ "type": "error", "error": { "type": "invalid_request_error", "message": why } })
                    .to_string(),
            },
            |GivenAnswer { status, content_type, answer }| WholeAnswer { status, content_type, body: answer },
        );
        Some(answer)
    }
}

/// What the stored requests of a trial that started then asked its model, with the answers, as a recording has them; `None` if nothing was
/// stored, or that cannot be read.
pub fn recorded_model(wire: &Path, started: Timestamp) -> Result<Option<String>, PathError> {
    if !look::exists(wire)? {
        return Ok(None);
    }
    let unreadable = |error| PathError { path: wire.to_path_buf(), source: io::Error::other(error) };
    Ok(of_model(&read_record(wire).map_err(unreadable)?, started))
}

fn of_model(exchanges: &[Exchange], started: Timestamp) -> Option<String> {
    // An answer that broke off was asked for again, or its agent was ended.
    let answered = exchanges.iter().filter(|exchange| asks_model(exchange) && exchange.end == ExchangeEnd::Complete);
    let asked = answered.map(|exchange| {
        let Exchange { method, path, body, status, answer_headers, answer, refused, .. } = exchange;
        let is_whole = refused.is_none() && body.left_out + answer.left_out == 0;
        Some(AnsweredRequest {
            method,
            path,
            body: &body.text,
            status: status.filter(|_| is_whole)?,
            content_type: header(answer_headers, "content-type").unwrap_or("application/json"),
            answer: &answer.text,
        })
    });
    replay::recorded(&asked.collect::<Option<Vec<_>>>()?, started)
}

/// What an agent asks for itself, and not for the skill: of hosts that were asked before its model first called a tool, or with the
/// name of the client that asks its model.
#[derive(Default)]
struct OwnRequests<'a> {
    clients: BTreeSet<&'a str>,
    hosts: BTreeSet<&'a str>,
    /// When the model began to answer with its first call.
    first_call: Option<u64>,
}

impl<'a> OwnRequests<'a> {
    /// Adds a request to a model.
    fn note(&mut self, exchange: &'a Exchange, of_model: &ModelExchange) {
        self.clients.extend(header(&exchange.headers, "user-agent"));
        let calls = of_model.answer.iter().any(|item| matches!(item, Item::Called { .. }));
        self.first_call = self.first_call.or(exchange.answered_ms.filter(|_| calls));
    }

    fn add_hosts(&mut self, exchanges: &'a [Exchange]) {
        let first = self.first_call.unwrap_or(u64::MAX);
        let before = exchanges.iter().filter(|exchange| exchange.at_ms < first);
        self.hosts.extend(before.map(|exchange| exchange.host.as_str()));
    }

    fn has(&self, exchange: &Exchange) -> bool {
        let by_client = || header(&exchange.headers, "user-agent").is_some_and(|name| self.clients.contains(name));
        self.hosts.contains(exchange.host.as_str()) || by_client()
    }
}

fn header<'a>(headers: &'a [(String, String)], name: &str) -> Option<&'a str> {
    headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
}

fn asks_model(exchange: &Exchange) -> bool {
    Protocol::of(&exchange.method, &exchange.path).is_some()
}

/// A request to a model with its answer, or why it cannot be read; `None` if it is another request.
fn model_exchange(exchange: &Exchange) -> Option<Result<ModelExchange, String>> {
    let Exchange { method, path, headers, body, status, answer_headers, answer, .. } = exchange;
    let protocol = Protocol::of(method, path)?;
    let parts = [(body, headers), (answer, answer_headers)];
    Some(match parts.into_iter().find(|(part, _)| part.left_out > 0) {
        Some((_, headers)) => Err(match header(headers, "content-encoding") {
            Some(coding) => format!("compressed with {coding}"),
            None => "no text, or too long".to_owned(),
        }),
        None => protocol.read(&body.text, *status, &answer.text).ok_or_else(|| "no JSON".to_owned()),
    })
}

/// A request that was refused, as a person reads it.
fn refused(exchange: &Exchange, refusal: Refusal, of_agent: bool) -> RefusedRequest {
    let Exchange { method, host, port, path, .. } = exchange;
    let why = match refusal {
        Refusal::Host => "`network` does not name the host",
        Refusal::NotAnswered => "no server is asked where recorded answers are given",
        Refusal::PrivateAddress => "the address is of this machine or a private network",
        Refusal::OtherHost => "it names another host than its connection",
        Refusal::TooLong => "it is too long",
        Refusal::NotRecorded => "it could not be recorded",
    };
    let host = if matches!(port, 80 | 443) { host.clone() } else { format!("{host}:{port}") };
    RefusedRequest {
        method: method.clone(),
        host,
        path: path.split('?').next().unwrap_or_default().to_owned(),
        why: why.to_owned(),
        times: 1,
        of_agent,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A request to a model whose answer ended like this.
    fn asked(n: u64, end: &serde_json::Value, answer: &str) -> Exchange {
        let body = json!({ "messages": [{ "role": "user", "content": "Greet Ada" }] }).to_string();
        serde_json::from_value(json!({
            "n": n, "at_ms": n, "method": "POST", "host": "api.anthropic.com", "port": 443, "path": "/v1/messages", "headers": [],
            "body": { "text": body }, "status": 200, "answer": { "text": answer }, "ended_ms": n, "end": end,
        }))
        .expect("an exchange")
    }

    #[test]
    fn an_answer_that_broke_off_is_not_recorded_and_the_one_after_it_is() {
        let broken = json!({ "upstream": "connection closed" });
        let exchanges =
            [asked(1, &broken, "half"), asked(2, &json!("complete"), "whole"), asked(3, &json!("dropped"), "")];
        let lines = of_model(&exchanges, Timestamp::default()).expect("answers");
        assert!(lines.lines().count() == 1 && lines.contains("whole"), "{lines}");
        assert_eq!(of_model(&exchanges[..1], Timestamp::default()), None);
    }
}
