//! One request: whether it passes, what it gets on its way, and what came back.

use std::cell::RefCell;
use std::net::SocketAddr;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::{Context, Poll};
use std::time::Duration;

use hyper::body::{Body, Bytes, Frame, Incoming, SizeHint};
use hyper::client::conn::http1 as client;
use hyper::header::{self, HeaderMap, HeaderName, HeaderValue};
use hyper::{Method, Request, Response, StatusCode, Uri};
use hyper_util::rt::TokioIo;
use skill_evals_evidence::settings::HostPort;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::Mutex;
use tokio_rustls::rustls::pki_types::ServerName;

use crate::answers::{Answers, Asked};
use crate::cache_key::CacheKey;
use crate::record::{CODING, Exchange, ExchangeEnd, HIDDEN, Part, Passed};
use crate::rules::{self, Refusal};
use crate::state::{LONGEST_HEAD, RoomState, Site, Stream, host_name};
use crate::way::Proxy;

/// The longest request, in bytes.
const LONGEST_REQUEST: u64 = 64 << 20;

/// How long a server may take to be reached.
const REACHED: Duration = Duration::from_secs(20);

/// Headers that hold a credential.
const CREDENTIALS: [&str; 4] = ["authorization", "x-api-key", "x-goog-api-key", "api-key"];

/// Other headers whose values are not stored.
const PRIVATE: [&str; 3] = ["cookie", "set-cookie", "proxy-authorization"];

/// Headers of one connection only.
const OF_CONNECTION: [&str; 9] = [
    "connection",
    "proxy-connection",
    "proxy-authorization",
    "proxy-authenticate",
    "keep-alive",
    "te",
    "trailer",
    "upgrade",
    "expect",
];

pub(crate) type Failure = Box<dyn std::error::Error + Send + Sync>;

/// A connection to a site.
type Upstream = (Site, client::SendRequest<PassingBody>);

/// A connection of the room. It has one to the server, too: nothing is pooled, and no order changes.
#[derive(Clone)]
pub(crate) struct Connection {
    room: Arc<RoomState>,
    /// The site that its beginning named; `None` where each request does.
    site: Option<Site>,
    upstream: Rc<Mutex<Option<Upstream>>>,
}

/// An exchange that goes on. Dropping the last holder ends it.
pub(crate) struct Going {
    room: Arc<RoomState>,
    exchange: Option<Exchange>,
    request: Passed,
    answer: Passed,
}

pub(crate) type Shared = Rc<RefCell<Going>>;

impl Drop for Going {
    fn drop(&mut self) {
        if let Some(mut exchange) = self.exchange.take() {
            exchange.ended_ms = self.room.now_ms();
            self.room.record().add(exchange, &self.request, &self.answer);
        }
    }
}

impl Going {
    fn set(&mut self, change: impl FnOnce(&mut Exchange)) {
        if let Some(exchange) = &mut self.exchange {
            change(exchange);
        }
    }
}

/// A body on its way.
pub(crate) enum PassingBody {
    /// Of the room.
    Request { body: Incoming, going: Shared, left: u64, key: Option<CacheKey> },
    /// Of the server.
    Answer { body: Incoming, going: Shared },
    /// Of the door.
    Own(Option<Bytes>),
}

impl PassingBody {
    /// An answer of the door itself.
    pub(crate) fn answer(status: StatusCode, text: &'static str) -> Response<Self> {
        let bytes = Some(Bytes::from_static(text.as_bytes())).filter(|bytes| !bytes.is_empty());
        let mut answer = Response::new(Self::Own(bytes));
        *answer.status_mut() = status;
        answer
    }
}

impl Body for PassingBody {
    type Data = Bytes;
    type Error = Failure;

    fn poll_frame(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Failure>>> {
        let (body, going, left, key) = match &mut *self {
            Self::Own(bytes) => return Poll::Ready(bytes.take().map(|bytes| Ok(Frame::data(bytes)))),
            Self::Request { body, going, left, key } => (body, going, Some(left), key.as_mut()),
            Self::Answer { body, going } => (body, going, None, None),
        };
        let is_answer = left.is_none();
        let frame = std::task::ready!(Pin::new(&mut *body).poll_frame(context));
        let mut going = going.borrow_mut();
        let room = Arc::clone(&going.room);
        let (result, is_end) = match frame {
            Some(Ok(frame)) => {
                let data = frame.data_ref().map_or(&[][..], Bytes::as_ref);
                if let Some(left) = left {
                    let Some(rest) = left.checked_sub(data.len() as u64) else {
                        going.set(|exchange| exchange.refused = Some(Refusal::TooLong));
                        return Poll::Ready(Some(Err("the request is too long".into())));
                    };
                    *left = rest;
                    going.request.add(data, &room.kept);
                } else {
                    going.answer.add(data, &room.kept);
                }
                let frame = match key {
                    Some(key) => {
                        let frame = frame.map_data(|data| key.over(data));
                        let shares = key.is_shared;
                        going.set(|exchange| exchange.shares_prompt = shares);
                        frame
                    }
                    None => frame,
                };
                (Some(Ok(frame)), body.is_end_stream())
            }
            Some(Err(error)) if is_answer => {
                going.set(|exchange| exchange.end = ExchangeEnd::Upstream(error.to_string()));
                return Poll::Ready(Some(Err(error.into())));
            }
            Some(Err(error)) => return Poll::Ready(Some(Err(error.into()))),
            None => (None, true),
        };
        if is_end && is_answer {
            going.set(|exchange| exchange.end = ExchangeEnd::Complete);
        }
        Poll::Ready(result)
    }

    fn is_end_stream(&self) -> bool {
        match self {
            Self::Request { body, .. } | Self::Answer { body, .. } => body.is_end_stream(),
            Self::Own(bytes) => bytes.is_none(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Self::Request { body, .. } | Self::Answer { body, .. } => body.size_hint(),
            Self::Own(bytes) => SizeHint::with_exact(bytes.as_ref().map_or(0, |bytes| bytes.len() as u64)),
        }
    }
}

impl Connection {
    pub(crate) fn new(room: Arc<RoomState>, site: Option<Site>) -> Self {
        Self { room, site, upstream: Rc::default() }
    }

    pub(crate) fn has_site(&self) -> bool {
        self.site.is_some()
    }

    /// Answers a request to the connection's site, or to the one that it names: a proxy's, as `http://host/path`, or a server's, in
    /// `Host`.
    pub(crate) async fn ask(&self, request: Request<Incoming>) -> Response<PassingBody> {
        let site = self.site.clone().or_else(|| {
            // What it names cannot be replaced by its `Host`.
            let named = match request.uri().authority() {
                Some(authority) => authority.as_str(),
                None => request.headers().get(header::HOST)?.to_str().ok()?,
            };
            let HostPort { host, port } = named.parse().ok()?;
            Some(Site { host: host_name(&host), port: port.unwrap_or(80), is_tls: false })
        });
        match site {
            Some(site) => self.forward(&site, request).await,
            None => PassingBody::answer(StatusCode::BAD_REQUEST, "no host\n"),
        }
    }

    fn begin(&self, site: &Site, request: &Request<Incoming>) -> Shared {
        let n = self.room.count.fetch_add(1, Ordering::Relaxed) + 1;
        let at_ms = self.room.now_ms();
        let exchange = Exchange {
            n,
            at_ms,
            method: request.method().to_string(),
            host: site.host.clone(),
            port: site.port,
            path: request.uri().path_and_query().map_or_else(|| "/".to_owned(), ToString::to_string),
            headers: stored(request.headers()),
            body: Part::default(),
            refused: None,
            credentials: 0,
            shares_prompt: false,
            status: None,
            answer_headers: Vec::new(),
            answer: Part::default(),
            answered_ms: None,
            ended_ms: at_ms,
            end: ExchangeEnd::Dropped,
        };
        let going = Going {
            room: Arc::clone(&self.room),
            exchange: Some(exchange),
            request: passed(request.headers()),
            answer: Passed::default(),
        };
        Rc::new(RefCell::new(going))
    }

    /// Why a request may not pass to the site.
    fn refusal(&self, site: &Site, request: &Request<Incoming>) -> Option<Refusal> {
        if self.room.record().is_broken() {
            return Some(Refusal::NotRecorded);
        }
        if !names_site(site, request) {
            return Some(Refusal::OtherHost);
        }
        if request.body().size_hint().lower() > LONGEST_REQUEST {
            return Some(Refusal::TooLong);
        }
        // What is answered here reaches nobody.
        let is_answered = self.room.answers.get().is_some();
        self.room.rules().check_host(&site.host, site.port).err().filter(|_| !is_answered)
    }

    async fn forward(&self, site: &Site, request: Request<Incoming>) -> Response<PassingBody> {
        let going = self.begin(site, &request);
        if let Some(refusal) = self.refusal(site, &request) {
            let status = match refusal {
                Refusal::NotRecorded => StatusCode::BAD_REQUEST,
                Refusal::OtherHost => StatusCode::MISDIRECTED_REQUEST,
                Refusal::TooLong => StatusCode::PAYLOAD_TOO_LARGE,
                Refusal::Host | Refusal::PrivateAddress | Refusal::NotAnswered => StatusCode::NOT_FOUND,
            };
            return refused(&going, refusal, status);
        }
        if request.headers().contains_key(header::UPGRADE) {
            // An agent then sends the same by POST, at once.
            going.borrow_mut().set(|exchange| {
                exchange.status = Some(StatusCode::UPGRADE_REQUIRED.as_u16());
                exchange.end = ExchangeEnd::Complete;
            });
            return PassingBody::answer(StatusCode::UPGRADE_REQUIRED, "");
        }
        match self.room.answers.get() {
            Some(answers) => answered(&self.room, answers.as_ref(), request, &going).await,
            None => self.answer(site, request, &going).await,
        }
    }

    fn is_tls_or_allowed(&self, site: &Site) -> bool {
        site.is_tls || self.room.rules().is_allowed(&site.host, site.port)
    }

    async fn answer(&self, site: &Site, request: Request<Incoming>, going: &Shared) -> Response<PassingBody> {
        match self.send(site, request, going).await {
            Ok(mut answer) => {
                remove_of_connection(answer.headers_mut());
                going.borrow_mut().answer = passed(answer.headers());
                going.borrow_mut().set(|exchange| {
                    exchange.status = Some(answer.status().as_u16());
                    exchange.answer_headers = stored(answer.headers());
                    if answer.body().is_end_stream() {
                        exchange.end = ExchangeEnd::Complete;
                    }
                });
                let now = self.room.now_ms();
                going.borrow_mut().set(|exchange| exchange.answered_ms = Some(now));
                answer.map(|body| PassingBody::Answer { body, going: Rc::clone(going) })
            }
            Err(Unanswered::Refused(refusal)) => refused(going, refusal, StatusCode::NOT_FOUND),
            Err(Unanswered::Failed(error)) => {
                going.borrow_mut().set(|exchange| {
                    exchange.status = Some(StatusCode::BAD_GATEWAY.as_u16());
                    exchange.end = ExchangeEnd::Upstream(error.to_string());
                });
                PassingBody::answer(StatusCode::BAD_GATEWAY, "the server did not answer\n")
            }
        }
    }

    /// Sends a request as it is, but for its credential and the headers of its connection.
    async fn send(
        &self,
        site: &Site,
        request: Request<Incoming>,
        going: &Shared,
    ) -> Result<Response<Incoming>, Unanswered> {
        let mut upstream = self.upstream.lock().await;
        let (mut head, body) = request.into_parts();
        let put = self.put_credentials(site, &mut head);
        going.borrow_mut().set(|exchange| exchange.credentials = put);
        remove_of_connection(&mut head.headers);
        // So that the answer can be read as it passes.
        head.headers.insert(header::ACCEPT_ENCODING, HeaderValue::from_static("identity"));
        let way = &self.room.door.way;
        let proxy = way.proxy(site.is_tls, &site.host).filter(|_| way.instead(&site.host, site.port).is_none());
        head.uri = target(site, &head.uri, proxy.filter(|_| !site.is_tls), &mut head.headers)?;
        let key = self.cache_key(site, &head);
        let going = Rc::clone(going);
        let mut request = Request::from_parts(head, PassingBody::Request { body, going, left: LONGEST_REQUEST, key });
        // The server may have closed a connection that was kept: then nothing was sent, and it is sent once more.
        for _ in 0..2 {
            let is_open = upstream.as_ref().is_some_and(|(to, send)| to == site && !send.is_closed());
            if !is_open {
                *upstream = Some((site.clone(), self.connect(site, proxy).await?));
            }
            let Some((_, send)) = upstream.as_mut() else { continue };
            if send.ready().await.is_err() {
                *upstream = None;
                continue;
            }
            match send.try_send_request(request).await {
                Ok(answer) => return Ok(answer),
                Err(mut error) => match error.take_message() {
                    Some(again) => {
                        request = again;
                        *upstream = None;
                    }
                    None => return Err(error.into_error().into()),
                },
            }
        }
        Err(Unanswered::Failed("the server closes every connection at once".into()))
    }

    /// Puts the user's credentials in the place of placeholders; how many.
    fn put_credentials(&self, site: &Site, head: &mut hyper::http::request::Parts) -> u64 {
        let asked = rules::Request {
            method: head.method.as_str(),
            host: &site.host,
            port: site.port,
            path: head.uri.path(),
            is_tls_or_allowed: self.is_tls_or_allowed(site),
        };
        let mut put = 0;
        let rules = self.room.rules();
        for credential in rules.credentials_of(&asked) {
            for name in CREDENTIALS {
                let Some(value) = head.headers.get_mut(name) else { continue };
                let Some(with) = value.to_str().ok().filter(|text| text.contains(&credential.placeholder)) else {
                    continue;
                };
                if let Ok(mut real) = HeaderValue::from_str(&with.replace(&credential.placeholder, &credential.real)) {
                    real.set_sensitive(true);
                    *value = real;
                    put += 1;
                }
            }
        }
        put
    }

    /// The key that replaces that of the agent. What is compressed keeps its own.
    fn cache_key(&self, site: &Site, head: &hyper::http::request::Parts) -> Option<CacheKey> {
        let (rules, is_plain) = (self.room.rules(), !head.headers.contains_key(header::CONTENT_ENCODING));
        let is_provider = rules.provider.iter().any(|server| server.covers(&site.host, site.port));
        (is_provider && is_plain && head.method == Method::POST).then(|| CacheKey::new(&rules.prompt_key)).flatten()
    }

    async fn connect(
        &self,
        site: &Site,
        proxy: Option<&Proxy>,
    ) -> Result<client::SendRequest<PassingBody>, Unanswered> {
        let way = &self.room.door.way;
        let instead = way.instead(&site.host, site.port);
        let stream = match (instead, proxy) {
            (Some(address), _) => tcp(&[address]).await?,
            (None, Some(proxy)) => through(proxy, site).await?,
            (None, None) => tcp(&self.addresses(site).await?).await?,
        };
        if instead.is_some() || !site.is_tls {
            return handshake(stream).await;
        }
        let name = ServerName::try_from(site.host.clone()).map_err(|error| Unanswered::Failed(error.into()))?;
        let greeted = tokio::time::timeout(REACHED, self.room.door.tls.connect(name, stream)).await;
        handshake(greeted.map_err(|_| Unanswered::Failed("TLS: no answer".into()))??).await
    }

    /// The addresses of a host that the room may reach.
    async fn addresses(&self, site: &Site) -> Result<Vec<SocketAddr>, Unanswered> {
        let found = tokio::time::timeout(REACHED, tokio::net::lookup_host((site.host.as_str(), site.port))).await;
        let found = found.map_err(|_| Unanswered::Failed("its name is not answered".into()))??;
        let (mut may, mut refusal) = (Vec::new(), None);
        for address in found {
            match self.room.rules().check_address(&site.host, site.port, address.ip()) {
                Ok(()) => may.push(address),
                Err(why) => refusal = Some(why),
            }
        }
        match refusal {
            Some(why) if may.is_empty() => Err(Unanswered::Refused(why)),
            _ => Ok(may),
        }
    }
}

/// Answers a request in the place of its server.
async fn answered(
    room: &RoomState,
    answers: &dyn Answers,
    request: Request<Incoming>,
    going: &Shared,
) -> Response<PassingBody> {
    let (head, mut body) = request.into_parts();
    let mut whole = Vec::new();
    while let Some(frame) = std::future::poll_fn(|context| Pin::new(&mut body).poll_frame(context)).await {
        // Its sender went away.
        let Ok(frame) = frame else { return PassingBody::answer(StatusCode::BAD_REQUEST, "") };
        whole.extend_from_slice(frame.data_ref().map_or(&[][..], Bytes::as_ref));
        if whole.len() as u64 > LONGEST_REQUEST {
            return refused(going, Refusal::TooLong, StatusCode::PAYLOAD_TOO_LARGE);
        }
    }
    going.borrow_mut().request.add(&whole, &room.kept);
    let path = head.uri.path_and_query().map_or("/", |path| path.as_str());
    let asked = Asked { method: head.method.as_str(), path, body: &String::from_utf8_lossy(&whole) };
    let Some(given) = answers.answer(&asked) else {
        return refused(going, Refusal::NotAnswered, StatusCode::NOT_FOUND);
    };
    let mut answer = Response::new(PassingBody::Own(Some(given.body.into())));
    *answer.status_mut() = StatusCode::from_u16(given.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    if let Ok(kind) = HeaderValue::from_str(&given.content_type) {
        answer.headers_mut().insert(header::CONTENT_TYPE, kind);
    }
    let mut going = going.borrow_mut();
    if let PassingBody::Own(Some(bytes)) = answer.body() {
        going.answer.add(bytes, &room.kept);
    }
    let now = room.now_ms();
    going.set(|exchange| {
        exchange.status = Some(answer.status().as_u16());
        exchange.answer_headers = stored(answer.headers());
        exchange.answered_ms = Some(now);
        exchange.end = ExchangeEnd::Complete;
    });
    answer
}

/// Why there is no answer.
enum Unanswered {
    Refused(Refusal),
    Failed(Failure),
}

impl<E: Into<Failure>> From<E> for Unanswered {
    fn from(error: E) -> Self {
        Self::Failed(error.into())
    }
}

async fn handshake(stream: impl Stream + 'static) -> Result<client::SendRequest<PassingBody>, Unanswered> {
    let mut builder = client::Builder::new();
    builder.preserve_header_case(true).max_buf_size(LONGEST_HEAD);
    let (send, connection) = builder.handshake(TokioIo::new(stream)).await?;
    tokio::task::spawn_local(async move {
        // Each exchange says how it ended.
        let _ = connection.await;
    });
    Ok(send)
}

async fn tcp(addresses: &[SocketAddr]) -> Result<TcpStream, Unanswered> {
    let stream = tokio::time::timeout(REACHED, TcpStream::connect(addresses)).await;
    let stream = stream.map_err(|_| Unanswered::Failed("no answer to the connection".into()))??;
    stream.set_nodelay(true)?;
    Ok(stream)
}

/// A connection through the user's proxy: with TLS to the server itself, without to the proxy.
async fn through(proxy: &Proxy, site: &Site) -> Result<TcpStream, Unanswered> {
    let addresses: Vec<SocketAddr> = tokio::net::lookup_host(&proxy.address).await?.collect();
    let mut stream = tcp(&addresses).await?;
    if !site.is_tls {
        return Ok(stream);
    }
    let host = if site.host.contains(':') { format!("[{}]", site.host) } else { site.host.clone() };
    let login = proxy.login.as_ref().map_or_else(String::new, |login| format!("proxy-authorization: {login}\r\n"));
    let ask = format!("CONNECT {host}:{port} HTTP/1.1\r\nhost: {host}:{port}\r\n{login}\r\n", port = site.port);
    stream.write_all(ask.as_bytes()).await?;
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        if head.len() == 8192 {
            return Err(Unanswered::Failed("the proxy's answer is too long".into()));
        }
        head.push(stream.read_u8().await?);
    }
    if head.get(9..12) == Some(b"200") {
        return Ok(stream);
    }
    let first = head.split(|byte| *byte == b'\r').next().unwrap_or_default();
    Err(Unanswered::Failed(format!("the proxy answers {}", String::from_utf8_lossy(first)).into()))
}

/// What a request asks the server, or the user's proxy without TLS, for.
fn target(site: &Site, uri: &Uri, proxy: Option<&Proxy>, headers: &mut HeaderMap) -> Result<Uri, Unanswered> {
    let path = uri.path_and_query().map_or("/", |path| path.as_str());
    let Some(proxy) = proxy else { return Ok(path.parse::<Uri>()?) };
    if let Some(login) = &proxy.login {
        headers.insert(header::PROXY_AUTHORIZATION, HeaderValue::from_str(login)?);
    }
    Ok(format!("http://{}:{}{path}", site.host, site.port).parse::<Uri>()?)
}

/// Whether a request names no other host than its connection, neither in its header nor in its target.
fn names_site(site: &Site, request: &Request<Incoming>) -> bool {
    let is_site = |text: &str| {
        text.parse::<HostPort>()
            .is_ok_and(|named| host_name(&named.host) == site.host && named.port.is_none_or(|port| port == site.port))
    };
    let mut hosts = request.headers().get_all(header::HOST).iter();
    let is_named = hosts.next().is_some_and(|host| host.to_str().is_ok_and(is_site)) && hosts.next().is_none();
    is_named && request.uri().authority().is_none_or(|authority| is_site(authority.as_str()))
}

fn refused(going: &Shared, refusal: Refusal, status: StatusCode) -> Response<PassingBody> {
    going.borrow_mut().set(|exchange| {
        exchange.refused = Some(refusal);
        exchange.status = Some(status.as_u16());
        exchange.end = ExchangeEnd::Complete;
    });
    PassingBody::answer(status, "refused by the rules of this room\n")
}

fn remove_of_connection(headers: &mut HeaderMap) {
    // RFC 9110, 7.6.1: what `Connection` names is of the connection, too.
    let named: Vec<HeaderName> = headers
        .get_all(header::CONNECTION)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .filter_map(|name| name.trim().parse().ok())
        .collect();
    for name in named {
        headers.remove(name);
    }
    for name in OF_CONNECTION {
        headers.remove(name);
    }
}

/// A body with these headers, before its first byte.
fn passed(headers: &HeaderMap) -> Passed {
    let is_packed = headers.get(CODING).is_some_and(|coding| coding != "identity");
    Passed { is_packed, ..Passed::default() }
}

/// Headers as they are stored.
fn stored(headers: &HeaderMap) -> Vec<(String, String)> {
    let stored = headers.iter().map(|(name, value)| {
        let is_hidden = CREDENTIALS.iter().chain(&PRIVATE).any(|hidden| name == hidden);
        let value = if is_hidden { HIDDEN.to_owned() } else { String::from_utf8_lossy(value.as_bytes()).into_owned() };
        (name.to_string(), value)
    });
    stored.collect()
}
