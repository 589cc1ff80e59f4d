//! The protocol's transport: lines of JSON on standard input and output.

use std::collections::{HashMap, VecDeque};
use std::fs::{File, OpenOptions};
use std::io::{self, BufRead, Read, Write};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{SystemTime, UNIX_EPOCH};

use rmcp::model::{
    ClientJsonRpcMessage, ClientNotification, ClientRequest, ErrorCode, GetMeta, JsonRpcMessage, ProtocolVersion,
    RequestId, ServerJsonRpcMessage, ServerResult,
};
use rmcp::transport::Transport;
use rmcp::{ErrorData, RoleServer};
use serde_json::Value;
use tokio::io::{AsyncWrite, AsyncWriteExt};
use tokio::sync::{Notify, mpsc, oneshot, watch};
use tokio::task::{JoinHandle, JoinSet};

use crate::mcp::{ASKED_VARIABLE, NOTIFIED};

/// Maximum length of a line, in bytes. No request of this protocol is nearly as long.
const MAX_LINE: u64 = 4 * 1024 * 1024;

/// Maximum number of requests whose answers the client has not taken. After that, nothing is read.
const MAX_OPEN: usize = 64;

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
    open: Arc<OpenRequests>,
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
    ) -> io::Result<Self> {
        // A line may become much larger in memory, so only one waits.
        let (sender, receiver) = mpsc::channel(1);
        // Not joined: the thread may be blocked in a read when the process ends.
        thread::Builder::new().spawn(move || read_lines(&mut input, &sender))?;
        Ok(Self {
            input: receiver,
            queue: VecDeque::new(),
            output: Writer::new(output),
            batches: Arc::default(),
            open: Arc::default(),
            begun: false,
            answers: JoinSet::new(),
            input_ended,
        })
    }

    fn batches(&self) -> MutexGuard<'_, Batches> {
        self.batches.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sends an answer in the background: rmcp may cancel `receive`, which calls this.
    fn answer(&mut self, answer: &Outgoing) {
        self.answers.spawn(self.write(Some(answer)));
    }

    /// Writes an answer, if there is one. Its requests are open until the client has taken it.
    fn write(&self, answer: Option<&Outgoing>) -> impl Future<Output = io::Result<()>> + Send + 'static + use<> {
        let ids = answer.map(Outgoing::answered).unwrap_or_default();
        let line = answer.map(Outgoing::line).transpose();
        let written = self.output.write(line.as_ref().ok().cloned().flatten());
        let open = Arc::clone(&self.open);
        async move {
            let result = written.await;
            open.close(&ids);
            line?;
            result
        }
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
            // Its requests stay open until all have answers.
            IncomingLine::Batch(messages) if messages.len() > MAX_OPEN => {
                let why = format!("the batch has {} messages; at most {MAX_OPEN} are read", messages.len());
                self.answer(&Outgoing::One(error(ErrorCode::INVALID_REQUEST, why, None)));
            }
            IncomingLine::Batch(messages) => {
                let (mut unanswered, mut answers) = (Vec::new(), Vec::new());
                for message in messages {
                    match message {
                        Ok(message) => {
                            if let JsonRpcMessage::Request(request) = &*message {
                                if unanswered.contains(&request.id) {
                                    let why = "another request of the batch has this id";
                                    answers.push(*error(ErrorCode::INVALID_REQUEST, why, Some(request.id.clone())));
                                    continue;
                                }
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
                if let ClientNotification::CancelledNotification(cancelled) = &notification.notification
                    && let Some(id) = &cancelled.params.request_id
                {
                    self.open.cancel(id);
                    let complete = self.batches().cancel(id);
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
        if let Some(id) = answered(&item) {
            self.open.answered(id);
        }
        let outgoing = self.batches().sending(item);
        self.write(outgoing.as_ref())
    }

    async fn receive(&mut self) -> Option<ClientJsonRpcMessage> {
        loop {
            // rmcp may cancel this function where it waits, so it takes a message off the queue after that.
            while let Some(message) = self.queue.front() {
                if let JsonRpcMessage::Request(request) = message {
                    self.open.begin(request.id.clone()).await;
                }
                if let Some(message) = self.queue.pop_front().and_then(|message| self.admit(message)) {
                    return Some(message);
                }
            }
            while self.answers.len() >= MAX_OPEN {
                self.answers.join_next().await;
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

/// The requests whose answers the client has not taken: read, being answered, or in the answer of a batch.
#[derive(Default)]
struct OpenRequests {
    /// Each with whether it has an answer.
    ids: Mutex<HashMap<RequestId, bool>>,
    closed: Notify,
}

impl OpenRequests {
    fn ids(&self) -> MutexGuard<'_, HashMap<RequestId, bool>> {
        self.ids.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until there is room for this request, and no other one with its id.
    async fn begin(&self, id: RequestId) {
        loop {
            let closed = self.closed.notified();
            {
                let mut ids = self.ids();
                if ids.len() < MAX_OPEN && !ids.contains_key(&id) {
                    ids.insert(id, false);
                    return;
                }
            }
            closed.await;
        }
    }

    fn answered(&self, id: &RequestId) {
        if let Some(is_answered) = self.ids().get_mut(id) {
            *is_answered = true;
        }
    }

    /// A canceled request without an answer gets none.
    fn cancel(&self, id: &RequestId) {
        if self.ids().get(id) == Some(&false) {
            self.close(std::slice::from_ref(id));
        }
    }

    fn close(&self, ids: &[RequestId]) {
        let mut open = self.ids();
        open.retain(|id, _| !ids.contains(id));
        self.closed.notify_waiters();
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

// JSON-RPC batches: several messages in one line, whose answers are also sent in one line. Only protocol version
// 2025-03-26 has them.

/// The batches that are not answered yet.
#[derive(Debug, Default)]
struct Batches {
    /// Whether the negotiated protocol version has batches.
    pub allowed: bool,
    open: Vec<Batch>,
}

#[derive(Debug, Default)]
struct Batch {
    unanswered: Vec<RequestId>,
    answers: Vec<ServerJsonRpcMessage>,
}

impl Batches {
    /// Adds a batch with these requests, and the answers that it already has. Returns the answers to send now.
    pub(super) fn begin(
        &mut self,
        unanswered: Vec<RequestId>,
        answers: Vec<ServerJsonRpcMessage>,
    ) -> Option<Vec<ServerJsonRpcMessage>> {
        self.open.push(Batch { unanswered, answers });
        self.take_complete()
    }

    /// What to send when the server sends `message`. `None` if its batch waits for other answers.
    pub(super) fn sending(&mut self, message: ServerJsonRpcMessage) -> Option<Outgoing> {
        if let JsonRpcMessage::Response(response) = &message
            && let ServerResult::InitializeResult(result) = &response.result
        {
            self.allowed = result.protocol_version == ProtocolVersion::V_2025_03_26;
        }
        let Some(batch) = answered(&message).and_then(|id| self.stop_waiting_for(id)) else {
            return Some(Outgoing::One(Box::new(message)));
        };
        batch.answers.push(message);
        self.take_complete().map(Outgoing::Batch)
    }

    /// Handles the cancellation of a request: it gets no answer.
    pub(super) fn cancel(&mut self, id: &RequestId) -> Option<Vec<ServerJsonRpcMessage>> {
        self.stop_waiting_for(id)?;
        self.take_complete()
    }

    /// The batch that waited for the answer to this request.
    fn stop_waiting_for(&mut self, id: &RequestId) -> Option<&mut Batch> {
        self.open.iter_mut().find_map(|batch| {
            let position = batch.unanswered.iter().position(|request| request == id)?;
            batch.unanswered.remove(position);
            Some(batch)
        })
    }

    fn take_complete(&mut self) -> Option<Vec<ServerJsonRpcMessage>> {
        let position = self.open.iter().position(|batch| batch.unanswered.is_empty())?;
        // A batch of notifications has no answer.
        Some(self.open.remove(position).answers).filter(|answers| !answers.is_empty())
    }
}

/// What is sent in one line.
enum Outgoing {
    One(Box<ServerJsonRpcMessage>),
    Batch(Vec<ServerJsonRpcMessage>),
}

/// The request that a message answers.
pub(super) fn answered(message: &ServerJsonRpcMessage) -> Option<&RequestId> {
    match message {
        JsonRpcMessage::Response(response) => Some(&response.id),
        JsonRpcMessage::Error(error) => error.id.as_ref(),
        JsonRpcMessage::Request(_) | JsonRpcMessage::Notification(_) => None,
    }
}

impl Outgoing {
    /// The requests that it answers.
    pub(super) fn answered(&self) -> Vec<RequestId> {
        let messages = match self {
            Self::One(message) => std::slice::from_ref(&**message),
            Self::Batch(messages) => messages,
        };
        messages.iter().filter_map(answered).cloned().collect()
    }

    pub(super) fn line(&self) -> serde_json::Result<Vec<u8>> {
        let mut line = match self {
            Self::One(message) => serde_json::to_vec(message)?,
            Self::Batch(messages) => serde_json::to_vec(messages)?,
        };
        line.push(b'\n');
        Ok(line)
    }
}

// Writes whole lines to the output. A line is written to its end even if its sender stops waiting.

/// Maximum number of lines that wait to be written. Further senders wait.
const MAX_WAITING: usize = 64;

type OutgoingLine = (Vec<u8>, oneshot::Sender<io::Result<()>>);

struct Writer {
    lines: Option<mpsc::Sender<OutgoingLine>>,
    task: JoinHandle<()>,
}

impl Writer {
    pub(super) fn new(mut output: impl AsyncWrite + Send + Unpin + 'static) -> Self {
        let (lines, mut queue) = mpsc::channel::<OutgoingLine>(MAX_WAITING);
        let task = tokio::spawn(async move {
            while let Some((line, sender)) = queue.recv().await {
                let mut result = output.write_all(&line).await;
                if result.is_ok() {
                    result = output.flush().await;
                }
                // Fails only if the sender stopped waiting.
                let _ = sender.send(result);
            }
        });
        Self { lines: Some(lines), task }
    }

    /// Writes a line, if there is one.
    pub(super) fn write(&self, line: Option<Vec<u8>>) -> impl Future<Output = io::Result<()>> + Send + 'static + use<> {
        let lines = self.lines.clone();
        async move {
            let Some(line) = line else { return Ok(()) };
            let closed = || io::Error::from(io::ErrorKind::BrokenPipe);
            let (sender, result) = oneshot::channel();
            lines.ok_or_else(closed)?.send((line, sender)).await.map_err(|_| closed())?;
            result.await.map_err(|_| closed())?
        }
    }

    /// Returns when all lines are written.
    pub(super) async fn close(&mut self) -> io::Result<()> {
        self.lines = None;
        (&mut self.task).await.map_err(io::Error::other)
    }
}

// The server's side of the log.

/// The log, if the environment names a file for it.
#[derive(Debug, Default)]
pub(super) struct RequestLog(Option<Mutex<File>>);

impl RequestLog {
    pub(super) fn from_env() -> Self {
        let open = |path| OpenOptions::new().append(true).create(true).open(path).ok();
        Self(std::env::var_os(ASKED_VARIABLE).and_then(open).map(Mutex::new))
    }

    /// Logs that the client is notified of a change.
    pub(super) fn notified(&self) {
        self.requested(NOTIFIED);
    }

    /// Logs that the client requests this list. The server continues if the log cannot be written.
    pub(super) fn requested(&self, list: &str) {
        if let Some(file) = &self.0 {
            let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_millis();
            let mut file = file.lock().unwrap_or_else(PoisonError::into_inner);
            let _ = file.write_all(format!("{now} {list}\n").as_bytes());
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;
    use std::task::Poll;

    use rmcp::model::EmptyResult;
    use serde_json::json;
    use tokio::io::AsyncReadExt;

    use super::*;

    fn ping(id: usize) -> String {
        format!("{}\n", json!({ "jsonrpc": "2.0", "id": id, "method": "ping" }))
    }

    /// Whether a message arrives before everything that can happen has happened.
    async fn received(transport: &mut LineTransport) -> Option<ClientJsonRpcMessage> {
        for _ in 0..100 {
            let mut receive = std::pin::pin!(transport.receive());
            if let Poll::Ready(message) =
                std::future::poll_fn(|context| Poll::Ready(receive.as_mut().poll(context))).await
            {
                return message;
            }
            tokio::time::sleep(std::time::Duration::from_millis(2)).await;
        }
        None
    }

    fn answer(transport: &mut LineTransport, message: ClientJsonRpcMessage) {
        let JsonRpcMessage::Request(request) = message else { panic!("a request") };
        let answer = ServerJsonRpcMessage::response(rmcp::model::ServerResult::EmptyResult(EmptyResult {}), request.id);
        tokio::spawn(transport.send(answer));
    }

    #[tokio::test]
    async fn nothing_is_read_while_the_client_takes_no_answers() {
        let (mut client, server) = tokio::io::duplex(16);
        let lines: String = (0..1000).map(ping).collect();
        let mut transport = LineTransport::new(Cursor::new(lines), server, watch::channel(false).0).expect("a thread");
        let mut read = 0;
        while let Some(message) = received(&mut transport).await {
            answer(&mut transport, message);
            read += 1;
        }
        assert_eq!(read, MAX_OPEN);
        tokio::spawn(async move { client.read_to_end(&mut Vec::new()).await });
        while let Some(message) = received(&mut transport).await {
            answer(&mut transport, message);
            read += 1;
        }
        assert_eq!(read, 1000, "the others are read as soon as it takes the answers");
    }

    #[tokio::test]
    async fn a_canceled_request_makes_room() {
        let (_client, server) = tokio::io::duplex(16);
        let cancelled = |id: usize| {
            json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": id } }).to_string()
        };
        let open: String = (0..MAX_OPEN).map(ping).collect();
        let lines = format!("{open}{}\n{}", cancelled(0), ping(999));
        let mut transport = LineTransport::new(Cursor::new(lines), server, watch::channel(false).0).expect("a thread");
        transport.begun = true;
        let mut read = Vec::new();
        while let Some(message) = received(&mut transport).await {
            read.push(message);
        }
        assert_eq!(read.len(), MAX_OPEN + 2);
    }

    #[tokio::test]
    async fn errors_of_the_transport_wait_for_the_client_too() {
        let (_client, server) = tokio::io::duplex(16);
        let lines = "garbage\n".repeat(1000);
        let mut transport = LineTransport::new(Cursor::new(lines), server, watch::channel(false).0).expect("a thread");
        assert!(received(&mut transport).await.is_none());
        assert_eq!(transport.answers.len(), MAX_OPEN);
    }
}
