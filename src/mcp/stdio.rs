//! Lines of text as the protocol's transport, with the manners that a server of a test needs.

use std::collections::VecDeque;
use std::io::{self, BufRead, Read};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;

use rmcp::model::{
    ClientJsonRpcMessage, ClientNotification, ClientRequest, ErrorCode, GetMeta, JsonRpcMessage, ProtocolVersion,
    RequestId, ServerJsonRpcMessage,
};
use rmcp::transport::Transport;
use rmcp::{ErrorData, RoleServer};
use serde_json::Value;
use tokio::io::AsyncWrite;
use tokio::sync::{mpsc, watch};
use tokio::task::JoinSet;

use super::batch::{Batches, Outgoing};
use super::writer::Writer;

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
/// handshake, leaves a request whose parameters are no object without an answer that bears its id, and knows no batches.
pub(super) struct LineTransport {
    input: mpsc::Receiver<Incoming>,
    /// The rest of a batch.
    rest: VecDeque<ClientJsonRpcMessage>,
    output: Writer,
    batches: Arc<Mutex<Batches>>,
    begun: bool,
    /// Answers to wrong lines, on their way.
    refusals: JoinSet<io::Result<()>>,
    ended: watch::Sender<bool>,
}

/// A line of the input.
enum Incoming {
    One(IncomingMessage),
    Batch(Vec<IncomingMessage>),
}

enum IncomingMessage {
    Right(Box<ClientJsonRpcMessage>),
    /// What to answer to it.
    Wrong(ErrorData, Option<RequestId>),
}

impl LineTransport {
    /// Starts to read. `ended` turns true when the input has ended.
    pub(super) fn new(
        mut input: impl BufRead + Send + 'static,
        output: impl AsyncWrite + Send + Unpin + 'static,
        ended: watch::Sender<bool>,
    ) -> Self {
        let (send, received) = mpsc::channel(WAITING);
        // A thread that nobody waits for: it may stand in a read when the process ends.
        thread::spawn(move || read_lines(&mut input, &send));
        Self {
            input: received,
            rest: VecDeque::new(),
            output: Writer::new(output),
            batches: Arc::default(),
            begun: false,
            refusals: JoinSet::new(),
            ended,
        }
    }

    fn batches(&self) -> MutexGuard<'_, Batches> {
        self.batches.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sends what nobody waits for. Not awaited here, where rmcp may drop what is under way.
    fn answer(&mut self, outgoing: &Outgoing) {
        while self.refusals.try_join_next().is_some() {}
        self.refusals.spawn(self.output.write(outgoing.line().ok()));
    }

    fn refuse(&mut self, error: ErrorData, id: Option<RequestId>) {
        self.answer(&Outgoing::One(Box::new(ServerJsonRpcMessage::error(error, id))));
    }

    /// Takes up the messages of a batch, or refuses them.
    fn begin(&mut self, messages: Vec<IncomingMessage>) {
        if messages.is_empty() || !self.batches().allowed {
            return self.refuse(no_message(), None);
        }
        let (mut waiting, mut answers) = (Vec::new(), Vec::new());
        for message in messages {
            match message {
                IncomingMessage::Right(message) => {
                    if let JsonRpcMessage::Request(request) = &*message {
                        waiting.push(request.id.clone());
                    }
                    self.rest.push_back(*message);
                }
                IncomingMessage::Wrong(error, id) => answers.push(ServerJsonRpcMessage::error(error, id)),
            }
        }
        let answers = self.batches().begin(waiting, answers);
        if let Some(answers) = answers {
            self.answer(&Outgoing::Batch(answers));
        }
    }

    /// The message, where it may be handled at this point.
    fn admit(&mut self, message: ClientJsonRpcMessage) -> Option<ClientJsonRpcMessage> {
        match &message {
            JsonRpcMessage::Request(request) => self.begun |= begins(&request.request),
            JsonRpcMessage::Notification(notification) => {
                if let ClientNotification::CancelledNotification(cancelled) = &notification.notification {
                    let answers = cancelled.params.request_id.as_ref().and_then(|id| self.batches().gives_up(id));
                    if let Some(answers) = answers {
                        self.answer(&Outgoing::Batch(answers));
                    }
                }
                return self.begun.then_some(message);
            }
            JsonRpcMessage::Response(_) | JsonRpcMessage::Error(_) => return self.begun.then_some(message),
        }
        Some(message)
    }
}

impl Transport<RoleServer> for LineTransport {
    type Error = io::Error;

    fn send(&mut self, item: ServerJsonRpcMessage) -> impl Future<Output = io::Result<()>> + Send + 'static {
        let outgoing = self.batches().sending(item);
        let line = outgoing.map(|outgoing| outgoing.line()).transpose();
        let written = self.output.write(line.as_ref().ok().cloned().flatten());
        async move {
            line?;
            written.await
        }
    }

    async fn receive(&mut self) -> Option<ClientJsonRpcMessage> {
        loop {
            if let Some(message) = self.rest.pop_front() {
                if let Some(message) = self.admit(message) {
                    return Some(message);
                }
                continue;
            }
            match self.input.recv().await {
                Some(Incoming::One(IncomingMessage::Right(message))) => self.rest.push_back(*message),
                Some(Incoming::One(IncomingMessage::Wrong(error, id))) => self.refuse(error, id),
                Some(Incoming::Batch(messages)) => self.begin(messages),
                None => break,
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
            Some(Incoming::One(IncomingMessage::Wrong(ErrorData::new(ErrorCode::INVALID_REQUEST, message, None), None)))
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
    match serde_json::from_slice(line) {
        Ok(Value::Array(values)) => Some(Incoming::Batch(values.into_iter().filter_map(message).collect())),
        Ok(value) => message(value).map(Incoming::One),
        Err(_) => {
            let error = ErrorData::new(ErrorCode::PARSE_ERROR, "the line is not JSON", None);
            Some(Incoming::One(IncomingMessage::Wrong(error, None)))
        }
    }
}

fn message(value: Value) -> Option<IncomingMessage> {
    let id = value.get("id").and_then(|id| serde_json::from_value(id.clone()).ok());
    let method = value.get("method").and_then(Value::as_str).filter(|_| value["jsonrpc"] == "2.0").map(str::to_owned);
    let is_request = value.get("id").is_some();
    if let Ok(message) = serde_json::from_value(value) {
        return Some(IncomingMessage::Right(Box::new(message)));
    }
    match method {
        Some(_) if !is_request => None,
        Some(method) if id.is_some() => Some(IncomingMessage::Wrong(unfit(&method), id)),
        _ => Some(IncomingMessage::Wrong(no_message(), id)),
    }
}

fn no_message() -> ErrorData {
    ErrorData::new(ErrorCode::INVALID_REQUEST, "the line is not a JSON-RPC message", None)
}

/// What to say to a request that is none of this protocol's: its method is not known, or its parameters do not fit.
pub(super) fn unfit(method: &str) -> ErrorData {
    if METHODS.contains(&method) {
        return ErrorData::invalid_params(format!("the parameters of {method} do not fit it"), None);
    }
    ErrorData::new(ErrorCode::METHOD_NOT_FOUND, format!("unknown method {}", method.escape_debug()), None)
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
