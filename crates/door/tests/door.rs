//! Rooms with one door: what a program in them reaches, gets and leaves in the record.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use flate2::Compression;
use flate2::write::GzEncoder;
use skill_evals_door::{
    Answers, Asked, Credential, Door, Exchange, ExchangeEnd, PathRule, Refusal, Room, Route, Rules, Upstream,
    WholeAnswer, read_record, store_record,
};
use skill_evals_evidence::settings::{HostPort, Network};
use ureq::tls::{Certificate, RootCerts, TlsConfig, parse_pem};

const PROVIDER: &str = "api.provider.test";
const OTHER: &str = "other.test";

/// A server that writes what it is asked, and answers with `answer`.
struct Server {
    address: SocketAddr,
    heads: Arc<Mutex<Vec<String>>>,
}

impl Server {
    fn start(answer: impl Fn(&str, &mut TcpStream) + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
        let address = listener.local_addr().expect("an address");
        let heads = Arc::new(Mutex::new(Vec::new()));
        let (seen, answer) = (Arc::clone(&heads), Arc::new(answer));
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let (seen, answer) = (Arc::clone(&seen), Arc::clone(&answer));
                std::thread::spawn(move || {
                    let mut stream = stream.expect("a connection");
                    while let Some(request) = next_request(&mut stream) {
                        seen.lock().expect("a list").push(request.clone());
                        answer(&request, &mut stream);
                    }
                });
            }
        });
        Self { address, heads }
    }

    fn says(text: &'static str) -> Self {
        Self::start(move |_, stream| reply(stream, text))
    }

    fn seen(&self) -> Vec<String> {
        self.heads.lock().expect("a list").clone()
    }
}

fn reply(stream: &mut TcpStream, text: &str) {
    let answer = format!("HTTP/1.1 200 OK\r\nx-kept: Yes\r\ncontent-length: {}\r\n\r\n{text}", text.len());
    // The client may be gone.
    let _ = stream.write_all(answer.as_bytes());
}

/// The head and the body of the next request.
fn next_request(stream: &mut TcpStream) -> Option<String> {
    let mut text = Vec::new();
    let mut byte = [0];
    while !text.ends_with(b"\r\n\r\n") {
        stream.read_exact(&mut byte).ok()?;
        text.push(byte[0]);
    }
    let head = String::from_utf8_lossy(&text).into_owned();
    let length = head.lines().find_map(|line| line.to_ascii_lowercase().strip_prefix("content-length: ")?.parse().ok());
    let mut body = vec![0; length.unwrap_or(0)];
    stream.read_exact(&mut body).ok()?;
    Some(head + &String::from_utf8_lossy(&body))
}

/// A door with a room, and what is behind it.
struct Setup {
    door: Door,
    room: Option<Room>,
    folder: PathBuf,
}

impl Setup {
    fn new(name: &str, reach: Network, servers: &[(&str, u16, &Server)]) -> Self {
        let instead = servers
            .iter()
            .map(|(host, port, server)| (format!("{host}:{port}").parse().expect("a host"), server.address));
        let upstream = Upstream { instead: instead.collect(), ..Upstream::default() };
        Self::over(name, &upstream, rules(reach))
    }

    fn over(name: &str, upstream: &Upstream, rules: Rules) -> Self {
        let folder = std::env::temp_dir().join(format!("skill-evals-door-{}-{name}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("a directory");
        let door = Door::open(upstream).expect("a door");
        let room = door.room(rules, &folder.join("wire.jsonl")).expect("a room");
        Self { door, room: Some(room), folder }
    }

    fn room(&self) -> &Room {
        self.room.as_ref().expect("an open room")
    }

    /// A client in the room, which trusts the door and goes through it.
    fn client(&self) -> ureq::Agent {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
        let proxy = format!("http://{}", listener.local_addr().expect("an address"));
        self.room().adopt([listener]).expect("a socket");
        self.client_by(Some(&proxy))
    }

    /// A client that trusts the door.
    fn client_by(&self, proxy: Option<&str>) -> ureq::Agent {
        let items = parse_pem(self.door.certificate().as_bytes());
        let certificates: Vec<Certificate<'static>> = items
            .filter_map(|item| match item.expect("a certificate") {
                ureq::tls::PemItem::Certificate(certificate) => Some(certificate),
                _ => None,
            })
            .collect();
        let tls = TlsConfig::builder().root_certs(RootCerts::new_with_certs(&certificates)).build();
        let config = ureq::Agent::config_builder()
            .proxy(proxy.map(|proxy| ureq::Proxy::new(proxy).expect("a proxy")))
            .tls_config(tls)
            .http_status_as_error(false)
            .timeout_global(Some(Duration::from_secs(30)));
        config.build().into()
    }

    /// Closes the room; what it recorded.
    fn record(&mut self) -> Vec<Exchange> {
        self.room.take().expect("an open room").close().expect("a whole record");
        read_record(&self.folder.join("wire.jsonl")).expect("a record")
    }
}

impl Drop for Setup {
    fn drop(&mut self) {
        // What is left is in the temporary directory.
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

fn rules(reach: Network) -> Rules {
    Rules {
        reach,
        provider: vec![format!("{PROVIDER}:443").parse().expect("a host")],
        allowed: Vec::new(),
        credentials: vec![Credential {
            placeholder: "sk-placeholder".to_owned(),
            real: "sk-real".to_owned(),
            routes: vec![Route {
                method: "POST".to_owned(),
                host: format!("{PROVIDER}:443").parse().expect("a host"),
                path: PathRule("/v1/messages".to_owned()),
            }],
        }],
        prompt_key: String::new(),
    }
}

#[test]
fn the_provider_gets_one_key_for_all_trials_with_the_same_prompt_and_the_record_has_that_of_the_agent() {
    let (provider, other) = (Server::says("hello"), Server::says("other"));
    let setup = ["cache-1", "cache-2"].map(|name| {
        let mut setup = Setup::new(name, Network::Web, &[(PROVIDER, 443, &provider), (OTHER, 443, &other)]);
        setup.room().change_rules(Rules { prompt_key: "00c0ffee".to_owned(), ..rules(Network::Web) });
        let body = format!(r#"{{"input":"hi","prompt_cache_key":"{name}-0a"}}"#);
        for host in [PROVIDER, OTHER] {
            setup.client().post(format!("https://{host}/v1/responses")).send(&body).expect("an answer");
        }
        // Nothing is read of what is compressed.
        let packed =
            setup.client().post(format!("https://{PROVIDER}/v1/x")).header("content-encoding", "br").send(&body);
        packed.expect("an answer");
        let record = setup.record();
        assert_eq!(record.iter().map(|exchange| exchange.shares_prompt).collect::<Vec<_>>(), [true, false, false]);
        assert_eq!(record[0].body.text, body);
        setup
    });
    drop(setup);
    let sent = |server: &Server| server.seen().iter().map(|text| text.contains("00c0f-e-00")).collect::<Vec<_>>();
    assert_eq!((sent(&provider), sent(&other)), (vec![true, false, true, false], vec![false, false]));
}

#[test]
fn the_model_gets_the_credential_and_nothing_else_does() {
    let (provider, other) = (Server::says("hello"), Server::says("other"));
    let mut setup = Setup::new("credential", Network::Web, &[(PROVIDER, 443, &provider), (OTHER, 443, &other)]);
    let client = setup.client();
    let post = |url: String| {
        let sent = client.post(&url).header("x-api-key", "sk-placeholder").send("with hunter2");
        sent.expect("an answer").body_mut().read_to_string().expect("a text")
    };
    assert_eq!(post(format!("https://{PROVIDER}/v1/messages?beta=true")), "hello");
    post(format!("https://{PROVIDER}/v1/files"));
    assert_eq!(post(format!("https://{OTHER}/v1/messages")), "other");
    let seen = provider.seen();
    assert!(
        seen[0].starts_with("POST /v1/messages?beta=true HTTP/1.1\r\n") && seen[0].ends_with("\r\n\r\nwith hunter2"),
        "{seen:?}"
    );
    assert!(seen[0].contains("x-api-key: sk-real\r\n"), "{seen:?}");
    assert!(seen[1].contains("x-api-key: sk-placeholder\r\n") && !seen[1].contains("sk-real"), "{seen:?}");
    assert!(other.seen()[0].contains("sk-placeholder"));
    let record = setup.record();
    assert_eq!(record.iter().map(|exchange| exchange.credentials).collect::<Vec<_>>(), [1, 0, 0]);
    let stored = setup.folder.join("stored.jsonl");
    store_record(&stored, record, &|text| text.replace("hunter2", "[masked]")).expect("a whole record");
    let record = read_record(&stored).expect("a record");
    let first = &record[0];
    assert_eq!(
        (first.host.as_str(), first.path.as_str(), first.status),
        (PROVIDER, "/v1/messages?beta=true", Some(200))
    );
    assert_eq!((first.body.text.as_str(), first.answer.text.as_str()), ("with [masked]", "hello"));
    assert_eq!(first.end, ExchangeEnd::Complete);
    let written = std::fs::read_to_string(&stored).expect("a record");
    assert!(!written.contains("sk-real") && !written.contains("hunter2"), "{written}");
}

#[test]
fn a_host_that_the_room_may_not_reach_is_refused_inside_tls_and_recorded() {
    let (provider, other) = (Server::says("hello"), Server::says("other"));
    let mut setup = Setup::new("refused", Network::Provider, &[(PROVIDER, 443, &provider), (OTHER, 443, &other)]);
    let client = setup.client();
    for url in
        [format!("https://{OTHER}/x"), "https://169.254.169.254/latest".to_owned(), "http://127.0.0.1:1/".to_owned()]
    {
        assert_eq!(client.get(&url).call().expect("an answer").status(), 404, "{url}");
    }
    assert!(other.seen().is_empty());
    let refused: Vec<_> = setup.record().into_iter().map(|exchange| (exchange.host, exchange.refused)).collect();
    let host = Some(Refusal::Host);
    let expected = [(OTHER.to_owned(), host), ("169.254.169.254".to_owned(), host), ("127.0.0.1".to_owned(), host)];
    assert_eq!(refused, expected);
}

#[test]
fn a_request_names_the_host_of_its_connection() {
    let provider = Server::says("hello");
    let mut setup = Setup::new("named", Network::Web, &[(PROVIDER, 443, &provider)]);
    let client = setup.client();
    let url = format!("https://{PROVIDER}/v1/messages");
    let sent = client.post(&url).header("host", OTHER).header("x-api-key", "sk-placeholder").send("x");
    assert_eq!(sent.expect("an answer").status(), 421);
    assert!(provider.seen().is_empty());
    assert_eq!(setup.record()[0].refused, Some(Refusal::OtherHost));
}

#[test]
fn an_event_passes_before_the_next_one_comes() {
    let (next, waits) = std::sync::mpsc::channel();
    let waits = Mutex::new(waits);
    let provider = Server::start(move |_, stream| {
        stream.write_all(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n6\r\nfirst\n\r\n").expect("an event");
        waits.lock().expect("a channel").recv().expect("a word");
        stream.write_all(b"7\r\nsecond\n\r\n0\r\n\r\n").expect("an event");
    });
    let mut setup = Setup::new("events", Network::Web, &[(PROVIDER, 443, &provider)]);
    let mut answer = setup.client().get(format!("https://{PROVIDER}/events")).call().expect("an answer");
    let mut reader = answer.body_mut().as_reader();
    let mut first = [0; 6];
    reader.read_exact(&mut first).expect("the first event, while the second waits");
    next.send(()).expect("a server");
    let mut rest = String::new();
    reader.read_to_string(&mut rest).expect("the rest");
    assert_eq!((&first, rest.as_str()), (b"first\n", "second\n"));
    assert_eq!(setup.record()[0].answer.text, "first\nsecond\n");
}

#[test]
fn an_answer_that_the_server_cuts_is_cut_for_the_room() {
    let provider = Server::start(|_, stream| {
        stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\npart").expect("a part");
        stream.shutdown(std::net::Shutdown::Both).expect("an end");
    });
    let mut setup = Setup::new("cut", Network::Web, &[(PROVIDER, 443, &provider)]);
    let mut answer = setup.client().get(format!("https://{PROVIDER}/cut")).call().expect("a head");
    assert!(answer.body_mut().read_to_string().is_err());
    let record = setup.record();
    assert!(matches!(&record[0].end, ExchangeEnd::Upstream(_)), "{record:?}");
    assert_eq!(record[0].answer.text, "part");
}

#[test]
fn an_upgrade_is_refused_so_that_the_agent_posts_at_once() {
    let provider = Server::says("hello");
    let mut setup = Setup::new("upgrade", Network::Web, &[(PROVIDER, 443, &provider)]);
    let asked = setup
        .client()
        .get(format!("https://{PROVIDER}/v1/responses"))
        .header("connection", "upgrade")
        .header("upgrade", "websocket");
    assert_eq!(asked.call().expect("an answer").status(), 426);
    assert!(provider.seen().is_empty());
    assert_eq!(setup.record()[0].status, Some(426));
}

#[test]
fn a_port_of_the_room_leads_to_a_server_that_the_user_allows_and_to_no_other() {
    let (allowed, other) = (Server::says("hello"), Server::says("other"));
    let rules = Rules { allowed: vec![allowed.address.to_string().parse().expect("a host")], ..rules(Network::Web) };
    let mut setup = Setup::over("direct", &Upstream::default(), rules);
    let [proxy, port] = [(); 2].map(|()| TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port"));
    let address = port.local_addr().expect("an address");
    setup.room().adopt([proxy, port]).expect("sockets");
    let ask = |host: SocketAddr| {
        let mut stream = TcpStream::connect(address).expect("a connection");
        let request = format!("GET /plain HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\n\r\n");
        stream.write_all(request.as_bytes()).expect("a request");
        let mut text = String::new();
        stream.read_to_string(&mut text).expect("an answer");
        text
    };
    assert!(ask(allowed.address).ends_with("hello"));
    assert!(ask(other.address).starts_with("HTTP/1.1 404"));
    assert_eq!((allowed.seen().len(), other.seen().len()), (1, 0));
    assert_eq!(setup.record()[1].refused, Some(Refusal::Host));
}

#[test]
fn an_address_that_names_no_host_is_not_replaced_by_another_header() {
    let allowed = Server::says("hello");
    let rules = Rules { allowed: vec![allowed.address.to_string().parse().expect("a host")], ..rules(Network::Web) };
    let setup = Setup::over("authority", &Upstream::default(), rules);
    let port = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
    let mut stream = TcpStream::connect(port.local_addr().expect("an address")).expect("a connection");
    setup.room().adopt([port]).expect("a socket");
    let request = format!("GET http://me@there/ HTTP/1.1\r\nhost: {}\r\nconnection: close\r\n\r\n", allowed.address);
    stream.write_all(request.as_bytes()).expect("a request");
    let mut text = String::new();
    stream.read_to_string(&mut text).expect("an answer");
    assert!(text.starts_with("HTTP/1.1 400"), "{text}");
    assert!(allowed.seen().is_empty());
}

#[test]
fn what_is_answered_in_the_place_of_servers_reaches_none_of_them_and_is_recorded() {
    struct Echo;
    impl Answers for Echo {
        fn answer(&self, request: &Asked<'_>) -> Option<WholeAnswer> {
            let Asked { method, path, body } = *request;
            let body = format!("{method} {path} {body}");
            (method == "POST").then(|| WholeAnswer { status: 201, content_type: "text/x".to_owned(), body })
        }
    }
    let server = Server::says("hello");
    let mut setup = Setup::new("answers", Network::Provider, &[(OTHER, 443, &server)]);
    setup.room().answer_by(Arc::new(Echo));
    let client = setup.client();
    let mut answer = client.post(format!("https://{OTHER}/a?b")).send("asked").expect("an answer");
    assert_eq!((answer.status().as_u16(), answer.headers()["content-type"].as_bytes()), (201, &b"text/x"[..]));
    assert_eq!(answer.body_mut().read_to_string().expect("a text"), "POST /a?b asked");
    assert_eq!(client.get(format!("https://{OTHER}/a")).call().expect("an answer").status(), 404);
    assert!(server.seen().is_empty());
    let record = setup.record();
    assert_eq!((record[0].body.text.as_str(), record[0].answer.text.as_str()), ("asked", "POST /a?b asked"));
    assert_eq!((record[0].status, record[0].refused, record[1].refused), (Some(201), None, Some(Refusal::NotAnswered)));
}

#[test]
fn every_port_of_the_room_takes_tls_and_requests_to_a_proxy() {
    let allowed = Server::says("hello");
    let [first, second] = [(); 2].map(|()| TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port"));
    let [proxy, port] = [&first, &second].map(|socket| socket.local_addr().expect("an address"));
    let host: HostPort = port.to_string().parse().expect("a host");
    let upstream = Upstream { instead: vec![(host.clone(), allowed.address)], ..Upstream::default() };
    let mut setup = Setup::over("ports", &upstream, Rules { allowed: vec![host], ..rules(Network::Provider) });
    setup.room().adopt([first, second]).expect("sockets");
    for (url, by) in [
        (format!("https://{port}/tls"), None),
        (format!("http://{port}/plain"), None),
        (format!("http://{port}/by-proxy"), Some(proxy)),
        (format!("https://{port}/by-connect"), Some(proxy)),
    ] {
        let by = by.map(|proxy| format!("http://{proxy}"));
        let mut answer = setup.client_by(by.as_deref()).get(&url).call().expect("an answer");
        assert_eq!(answer.body_mut().read_to_string().expect("a text"), "hello", "{url}");
    }
    // The port of the proxy may be one of a server, too.
    let mut stream = TcpStream::connect(proxy).expect("a connection");
    write!(stream, "GET /direct HTTP/1.1\r\nhost: {port}\r\nconnection: close\r\n\r\n").expect("a request");
    let mut text = String::new();
    stream.read_to_string(&mut text).expect("an answer");
    assert!(text.ends_with("hello"), "{text}");
    assert_eq!(setup.record().iter().filter(|exchange| exchange.status == Some(200)).count(), 5);
}

#[test]
fn what_is_compressed_is_read_or_left_out_and_passes_as_it_is() {
    let gzip = |text: &str| {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
        encoder.write_all(text.as_bytes()).expect("bytes");
        encoder.finish().expect("bytes")
    };
    let sent = gzip("a question with hunter2");
    let answer = gzip("an answer");
    let provider = Server::start(move |_, stream| {
        let head = format!("HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\ncontent-length: {}\r\n\r\n", answer.len());
        stream.write_all(&[head.as_bytes(), &answer].concat()).expect("an answer");
    });
    let mut setup = Setup::new("compressed", Network::Web, &[(PROVIDER, 443, &provider)]);
    let client = setup.client();
    for (coding, body) in [("gzip", sent.as_slice()), ("zstd", &sent), ("gzip", b"\x1f\x8b cut"), ("gzip", b"text")] {
        let request = client.post(format!("https://{PROVIDER}/x")).header("content-encoding", coding);
        request.send(body).expect("an answer").body_mut().read_to_vec().expect("bytes");
    }
    let record = setup.record();
    let read: Vec<_> = record.iter().map(|one| (one.body.text.as_str(), one.body.left_out)).collect();
    let all = sent.len() as u64;
    assert_eq!(read, [("a question with hunter2", 0), ("", all), ("", 6), ("text", 0)]);
    assert!(record.iter().all(|one| one.answer.text == "an answer"), "{record:?}");
    let stored = setup.folder.join("stored.jsonl");
    store_record(&stored, record, &|text| text.replace("hunter2", "[masked]")).expect("a whole record");
    assert_eq!(read_record(&stored).expect("a record")[0].body.text, "a question with [masked]");
}

#[test]
fn a_closed_room_has_every_exchange_in_its_record() {
    let provider = Server::start(|_, stream| {
        stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\npart").expect("a part");
        std::thread::sleep(Duration::from_secs(30));
    });
    let mut setup = Setup::new("closed", Network::Web, &[(PROVIDER, 443, &provider)]);
    let mut answer = setup.client().get(format!("https://{PROVIDER}/slow")).call().expect("a head");
    let mut part = [0; 4];
    answer.body_mut().as_reader().read_exact(&mut part).expect("a part");
    let record = setup.record();
    assert_eq!((record.len(), &record[0].end, record[0].answer.text.as_str()), (1, &ExchangeEnd::Dropped, "part"));
}

#[test]
fn the_users_own_proxy_is_on_the_way() {
    // It answers requests without TLS itself, as a proxy does.
    let proxy = Server::says("by proxy");
    let upstream = Upstream { http_proxy: Some(format!("http://me:pw@{}", proxy.address)), ..Upstream::default() };
    let mut setup = Setup::over("proxy", &upstream, rules(Network::Web));
    let mut answer = setup.client().get("http://example.org/a").call().expect("an answer");
    assert_eq!(answer.body_mut().read_to_string().expect("a text"), "by proxy");
    let seen = proxy.seen();
    assert!(seen[0].starts_with("GET http://example.org:80/a HTTP/1.1\r\n"), "{seen:?}");
    assert!(seen[0].contains("proxy-authorization: Basic bWU6cHc=\r\n"), "{seen:?}");
    assert!(!format!("{:?}", setup.record()).contains("bWU6cHc="));
}
