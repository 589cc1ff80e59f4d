//! Lines of text as the protocol's transport, with the manners that a server of a test needs.

use std::io::{self, BufRead, Read};
use std::thread;

use rmcp::model::{
    ClientJsonRpcMessage, ClientRequest, ErrorCode, GetMeta, JsonRpcMessage, ProtocolVersion, RequestId,
    ServerJsonRpcMessage,
};
use rmcp::transport::Transport;
use rmcp::transport::async_rw::AsyncRwTransport;
use rmcp::{ErrorData, RoleServer};
use serde_json::Value;
use tokio::io::{AsyncWrite, Empty};
use tokio::sync::{mpsc, watch};
use tokio::task::JoinSet;

/// The longest line that is read, in bytes. No request of this protocol comes near it.
const MAX_LINE: u64 = 4 * 1024 * 1024;

/// Messages that wait to be handled; the client waits when there are more.
const WAITING: usize = 64;

/// The methods that this server answers.
const METHODS: [&str; 12] = [
    "initialize",
    "ping",
    "completion/complete",
    "prompts/get",
    "prompts/list",
    "resources/list",
    "resources/read",
    "resources/subscribe",
    "resources/templates/list",
    "resources/unsubscribe",
    "tools/call",
    "tools/list",
];

/// A transport beside rmcp's own, which gives up on the connection when anything but a request comes before the
/// handshake, and leaves a request whose parameters are no object without an answer that bears its id.
pub(super) struct Lines<W: AsyncWrite> {
    input: mpsc::Receiver<Incoming>,
    output: AsyncRwTransport<RoleServer, Empty, W>,
    begun: bool,
    /// Answers to wrong lines, on their way.
    refusals: JoinSet<io::Result<()>>,
    ended: watch::Sender<bool>,
}

/// A line of the input.
enum Incoming {
    Message(Box<ClientJsonRpcMessage>),
    /// What to answer to it.
    Wrong(ErrorData, Option<RequestId>),
}

impl<W: AsyncWrite + Send + Unpin + 'static> Lines<W> {
    /// Starts to read. `ended` turns true when the input has ended.
    pub(super) fn new(mut input: impl BufRead + Send + 'static, output: W, ended: watch::Sender<bool>) -> Self {
        let (send, received) = mpsc::channel(WAITING);
        // A thread that nobody waits for: it may stand in a read when the process ends.
        thread::spawn(move || read_lines(&mut input, &send));
        Self {
            input: received,
            output: AsyncRwTransport::new(tokio::io::empty(), output),
            begun: false,
            refusals: JoinSet::new(),
            ended,
        }
    }
}

impl<W: AsyncWrite + Send + Unpin + 'static> Transport<RoleServer> for Lines<W> {
    type Error = io::Error;

    fn send(&mut self, item: ServerJsonRpcMessage) -> impl Future<Output = io::Result<()>> + Send + 'static {
        self.output.send(item)
    }

    async fn receive(&mut self) -> Option<ClientJsonRpcMessage> {
        while let Some(line) = self.input.recv().await {
            match line {
                Incoming::Message(message) => {
                    if let JsonRpcMessage::Request(request) = &*message {
                        self.begun |= begins(&request.request);
                        return Some(*message);
                    }
                    if self.begun {
                        return Some(*message);
                    }
                }
                // Not awaited here, where rmcp may drop what is under way.
                Incoming::Wrong(error, id) => {
                    while self.refusals.try_join_next().is_some() {}
                    self.refusals.spawn(self.output.send(ServerJsonRpcMessage::error(error, id)));
                }
            }
        }
        self.ended.send_replace(true);
        while self.refusals.join_next().await.is_some() {}
        None
    }

    async fn close(&mut self) -> io::Result<()> {
        self.output.close().await
    }
}

/// Reads lines to the end of `input`, or until nobody wants them any more.
fn read_lines(input: &mut impl BufRead, send: &mpsc::Sender<Incoming>) {
    let mut line = Vec::new();
    loop {
        line.clear();
        match input.take(MAX_LINE).read_until(b'\n', &mut line) {
            Ok(0) | Err(_) => return,
            Ok(_) => {}
        }
        let read = if line.len() as u64 == MAX_LINE && !line.ends_with(b"\n") {
            if input.skip_until(b'\n').is_err() {
                return;
            }
            let message = format!("the line is longer than {MAX_LINE} bytes");
            Some(Incoming::Wrong(ErrorData::new(ErrorCode::INVALID_REQUEST, message, None), None))
        } else {
            understand(&line)
        };
        if read.is_some_and(|read| send.blocking_send(read).is_err()) {
            return;
        }
    }
}

/// What a line says; nothing where it is blank or a notification that is not known, which is never answered.
fn understand(line: &[u8]) -> Option<Incoming> {
    let line = line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line).trim_ascii();
    if line.is_empty() {
        return None;
    }
    if let Ok(message) = serde_json::from_slice(line) {
        return Some(Incoming::Message(Box::new(message)));
    }
    let Ok(value) = serde_json::from_slice::<Value>(line) else {
        let error = ErrorData::new(ErrorCode::PARSE_ERROR, "the line is not JSON", None);
        return Some(Incoming::Wrong(error, None));
    };
    let id = value.get("id").and_then(|id| serde_json::from_value(id.clone()).ok());
    match value.get("method").and_then(Value::as_str).filter(|_| value["jsonrpc"] == "2.0") {
        Some(_) if value.get("id").is_none() => None,
        Some(method) if id.is_some() => Some(Incoming::Wrong(unfit(method), id)),
        _ => Some(Incoming::Wrong(
            ErrorData::new(ErrorCode::INVALID_REQUEST, "the line is no JSON-RPC message", None),
            id,
        )),
    }
}

/// What to say to a request that is none of this protocol's: its method is not known, or its parameters do not fit.
pub(super) fn unfit(method: &str) -> ErrorData {
    if METHODS.contains(&method) {
        return ErrorData::invalid_params(format!("the parameters of {method} do not fit it"), None);
    }
    ErrorData::new(ErrorCode::METHOD_NOT_FOUND, format!("there is no method {}", method.escape_debug()), None)
}

/// Whether the handshake is over with this request: either kind, the one by `initialize` and the one in the metadata
/// of the first request.
fn begins(request: &ClientRequest) -> bool {
    match request {
        ClientRequest::InitializeRequest(_) => true,
        ClientRequest::DiscoverRequest(_) | ClientRequest::PingRequest(_) => false,
        request => request.get_meta().missing_required_keys(&ProtocolVersion::V_2026_07_28).is_empty(),
    }
}
