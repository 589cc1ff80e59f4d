//! Several messages in one line, which one version of the protocol has: their answers leave in one line too.

use rmcp::RoleServer;
use rmcp::model::{JsonRpcMessage, ProtocolVersion, RequestId, ServerJsonRpcMessage, ServerResult};
use rmcp::service::TxJsonRpcMessage;

/// The batches that are being answered.
#[derive(Debug, Default)]
pub(super) struct Batches {
    /// Whether the version agreed on has batches.
    pub allowed: bool,
    open: Vec<Batch>,
}

#[derive(Debug, Default)]
struct Batch {
    /// Requests without an answer yet.
    waiting: Vec<RequestId>,
    answers: Vec<TxJsonRpcMessage<RoleServer>>,
}

impl Batches {
    /// Takes up a batch of these requests, of which some messages are answered already. What to send now.
    pub(super) fn begin(
        &mut self,
        waiting: Vec<RequestId>,
        answers: Vec<ServerJsonRpcMessage>,
    ) -> Option<Vec<ServerJsonRpcMessage>> {
        self.open.push(Batch { waiting, answers });
        self.finished()
    }

    /// What to send now that there is `message` to be sent: nothing where others of its batch are to come.
    pub(super) fn sending(&mut self, message: ServerJsonRpcMessage) -> Option<Outgoing> {
        let id = match &message {
            JsonRpcMessage::Response(response) => {
                if let ServerResult::InitializeResult(hello) = &response.result {
                    self.allowed = hello.protocol_version == ProtocolVersion::V_2025_03_26;
                }
                Some(&response.id)
            }
            JsonRpcMessage::Error(error) => error.id.as_ref(),
            JsonRpcMessage::Request(_) | JsonRpcMessage::Notification(_) => None,
        };
        let Some(batch) = id.and_then(|id| self.waiting_for(id)) else {
            return Some(Outgoing::One(Box::new(message)));
        };
        batch.answers.push(message);
        self.finished().map(Outgoing::Batch)
    }

    /// There will be no answer to this request: it was cancelled.
    pub(super) fn gives_up(&mut self, id: &RequestId) -> Option<Vec<ServerJsonRpcMessage>> {
        self.waiting_for(id)?;
        self.finished()
    }

    /// The batch that waits for this answer, and no longer does.
    fn waiting_for(&mut self, id: &RequestId) -> Option<&mut Batch> {
        self.open.iter_mut().find_map(|batch| {
            let at = batch.waiting.iter().position(|waiting| waiting == id)?;
            batch.waiting.remove(at);
            Some(batch)
        })
    }

    /// The answers of a batch that waits for no more.
    fn finished(&mut self) -> Option<Vec<ServerJsonRpcMessage>> {
        let at = self.open.iter().position(|batch| batch.waiting.is_empty())?;
        // A batch of notifications has no answer.
        Some(self.open.remove(at).answers).filter(|answers| !answers.is_empty())
    }
}

/// What leaves in one line.
pub(super) enum Outgoing {
    One(Box<ServerJsonRpcMessage>),
    Batch(Vec<ServerJsonRpcMessage>),
}

impl Outgoing {
    /// The line.
    pub(super) fn line(&self) -> serde_json::Result<Vec<u8>> {
        let mut line = match self {
            Self::One(message) => serde_json::to_vec(message)?,
            Self::Batch(messages) => serde_json::to_vec(messages)?,
        };
        line.push(b'\n');
        Ok(line)
    }
}
