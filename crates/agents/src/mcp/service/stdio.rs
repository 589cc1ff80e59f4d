//! The protocol's transport: lines of JSON on standard input and output.

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

/// Maximum length of a line, in bytes. No request of this protocol is nearly as long.
const MAX_LINE: u64 = 4 * 1024 * 1024;

/// Maximum number of lines that wait to be handled. After that, the client waits.
const MAX_WAITING: usize = 64;

/// The methods that this server answers.
const METHODS: [&str; 15] = [
    "initialize",
    "ping",
    "completion/complete",
    "prompts/get",
    "prompts/list",
    "resources/directory/read",
    "resources/list",
    "resources/read",
    "resources/subscribe",
    "resources/templates/list",
    "resources/unsubscribe",
    "skills/get",
    "skills/list",
    "tools/call",
    "tools/list",
];

/// A transport in place of rmcp's own. That one closes the connection if a client sends anything but a request before the
/// handshake, does not return the id of a request with invalid parameters, and has no batches.
pub(super) struct LineTransport {
    input: mpsc::Receiver<IncomingLine>,
    /// Messages to handle before the next line: the rest of a batch.
    queue: VecDeque<ClientJsonRpcMessage>,
    output: Writer,
    batches: Arc<Mutex<Batches>>,
    begun: bool,
    /// Answers that are being written and that rmcp does not wait for.
    answers: JoinSet<io::Result<()>>,
    input_ended: watch::Sender<bool>,
}

/// A message, or the error to answer to it.
type Incoming = Result<Box<ClientJsonRpcMessage>, Box<ServerJsonRpcMessage>>;

enum IncomingLine {
    One(Incoming),
    Batch(Vec<Incoming>),
}

impl LineTransport {
    /// Starts to read. Sets `input_ended` when the input ends.
    pub(super) fn new(
        mut input: impl BufRead + Send + 'static,
        output: impl AsyncWrite + Send + Unpin + 'static,
        input_ended: watch::Sender<bool>,
    ) -> Self {
        let (sender, receiver) = mpsc::channel(MAX_WAITING);
        // Not joined: the thread may be blocked in a read when the process ends.
        thread::spawn(move || read_lines(&mut input, &sender));
        Self {
            input: receiver,
            queue: VecDeque::new(),
            output: Writer::new(output),
            batches: Arc::default(),
            begun: false,
            answers: JoinSet::new(),
            input_ended,
        }
    }

    fn batches(&self) -> MutexGuard<'_, Batches> {
        self.batches.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sends an answer in the background: rmcp may cancel `receive`, which calls this.
    fn answer(&mut self, answer: &Outgoing) {
        while self.answers.try_join_next().is_some() {}
        self.answers.spawn(self.output.write(answer.line().ok()));
    }

    fn answer_batch(&mut self, answers: Option<Vec<ServerJsonRpcMessage>>) {
        if let Some(answers) = answers {
            self.answer(&Outgoing::Batch(answers));
        }
    }

    fn handle(&mut self, line: IncomingLine) {
        match line {
            IncomingLine::One(Ok(message)) => self.queue.push_back(*message),
            IncomingLine::One(Err(error)) => self.answer(&Outgoing::One(error)),
            IncomingLine::Batch(messages) if messages.is_empty() || !self.batches().allowed => {
                self.answer(&Outgoing::One(invalid_message(None)));
            }
            IncomingLine::Batch(messages) => {
                let (mut unanswered, mut answers) = (Vec::new(), Vec::new());
                for message in messages {
                    match message {
                        Ok(message) => {
                            if let JsonRpcMessage::Request(request) = &*message {
                                unanswered.push(request.id.clone());
                            }
                            self.queue.push_back(*message);
                        }
                        Err(error) => answers.push(*error),
                    }
                }
                let complete = self.batches().begin(unanswered, answers);
                self.answer_batch(complete);
            }
        }
    }

    /// Returns the message if rmcp may handle it now. Before the handshake only requests are handled.
    fn admit(&mut self, message: ClientJsonRpcMessage) -> Option<ClientJsonRpcMessage> {
        match &message {
            JsonRpcMessage::Request(request) => {
                self.begun |= begins_handshake(&request.request);
                return Some(message);
            }
            JsonRpcMessage::Notification(notification) => {
                if let ClientNotification::CancelledNotification(cancelled) = &notification.notification {
                    let complete = cancelled.params.request_id.as_ref().and_then(|id| self.batches().cancel(id));
                    self.answer_batch(complete);
                }
            }
            JsonRpcMessage::Response(_) | JsonRpcMessage::Error(_) => {}
        }
        self.begun.then_some(message)
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
            while let Some(message) = self.queue.pop_front() {
                if let Some(message) = self.admit(message) {
                    return Some(message);
                }
            }
            let Some(line) = self.input.recv().await else { break };
            self.handle(line);
        }
        self.input_ended.send_replace(true);
        while self.answers.join_next().await.is_some() {}
        None
    }

    async fn close(&mut self) -> io::Result<()> {
        self.output.close().await
    }
}

/// Reads lines until `input` ends or the receiver is dropped.
fn read_lines(input: &mut impl BufRead, sender: &mpsc::Sender<IncomingLine>) {
    let mut line = Vec::new();
    loop {
        line.clear();
        match input.take(MAX_LINE).read_until(b'\n', &mut line) {
            Ok(0) | Err(_) => return,
            Ok(_) => {}
        }
        let parsed = if line.len() as u64 == MAX_LINE && !line.ends_with(b"\n") {
            if input.skip_until(b'\n').is_err() {
                return;
            }
            let why = format!("the line is longer than {MAX_LINE} bytes");
            Some(IncomingLine::One(Err(error(ErrorCode::INVALID_REQUEST, why, None))))
        } else {
            parse_line(&line)
        };
        if parsed.is_some_and(|parsed| sender.blocking_send(parsed).is_err()) {
            return;
        }
    }
}

/// `None` for a blank line or an unknown notification, which is never answered.
fn parse_line(line: &[u8]) -> Option<IncomingLine> {
    let line = line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line).trim_ascii();
    if line.is_empty() {
        return None;
    }
    match serde_json::from_slice(line) {
        Ok(Value::Array(values)) => Some(IncomingLine::Batch(values.into_iter().filter_map(parse_message).collect())),
        Ok(value) => parse_message(value).map(IncomingLine::One),
        Err(_) => Some(IncomingLine::One(Err(error(ErrorCode::PARSE_ERROR, "the line is not JSON", None)))),
    }
}

fn parse_message(value: Value) -> Option<Incoming> {
    let id = value.get("id").and_then(|id| serde_json::from_value(id.clone()).ok());
    let method = value.get("method").and_then(Value::as_str).filter(|_| value["jsonrpc"] == "2.0").map(str::to_owned);
    let is_request = value.get("id").is_some();
    if let Ok(message) = serde_json::from_value(value) {
        return Some(Ok(Box::new(message)));
    }
    match method {
        Some(_) if !is_request => None,
        Some(method) if id.is_some() => Some(Err(Box::new(ServerJsonRpcMessage::error(unhandled(&method), id)))),
        _ => Some(Err(invalid_message(id))),
    }
}

fn error(code: ErrorCode, message: impl Into<String>, id: Option<RequestId>) -> Box<ServerJsonRpcMessage> {
    Box::new(ServerJsonRpcMessage::error(ErrorData::new(code, message.into(), None), id))
}

fn invalid_message(id: Option<RequestId>) -> Box<ServerJsonRpcMessage> {
    error(ErrorCode::INVALID_REQUEST, "the line is not a JSON-RPC message", id)
}

/// The error for a request with an unknown method or with invalid parameters.
pub(super) fn unhandled(method: &str) -> ErrorData {
    if METHODS.contains(&method) {
        return ErrorData::invalid_params(format!("the parameters of {method} do not fit it"), None);
    }
    ErrorData::new(ErrorCode::METHOD_NOT_FOUND, format!("unknown method {}", method.escape_debug()), None)
}

/// Whether a request begins the handshake: `initialize`, or any request with the metadata of the newer handshake.
fn begins_handshake(request: &ClientRequest) -> bool {
    match request {
        ClientRequest::InitializeRequest(_) => true,
        ClientRequest::DiscoverRequest(_) | ClientRequest::PingRequest(_) => false,
        request => request.get_meta().missing_required_keys(&ProtocolVersion::V_2026_07_28).is_empty(),
    }
}
