//! JSON-RPC batches: several messages in one line, whose answers are also sent in one line. Only protocol version
//! 2025-03-26 has them.

use rmcp::model::{JsonRpcMessage, ProtocolVersion, RequestId, ServerJsonRpcMessage, ServerResult};

/// The batches that are not answered yet.
#[derive(Debug, Default)]
pub(super) struct Batches {
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
pub(super) enum Outgoing {
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
