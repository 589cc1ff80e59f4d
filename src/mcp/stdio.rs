//! Standard input and output as the protocol's transport, with the manners that a server of a test needs.

use std::io;
use std::time::Duration;

use rmcp::RoleServer;
use rmcp::model::{
    ClientJsonRpcMessage, ClientRequest, GetMeta, JsonRpcMessage, ProtocolVersion, ServerJsonRpcMessage,
};
use rmcp::transport::Transport;
use rmcp::transport::async_rw::AsyncRwTransport;
use tokio::io::{Stdin, Stdout};
use tokio::sync::watch;
use tokio::time::timeout;

/// How long requests that were read before the end of the input may take to be answered.
const LAST_ANSWERS: Duration = Duration::from_millis(500);

/// The transport of rmcp, which gives up on the whole connection when anything but a request comes before the
/// handshake, and on open requests when the input ends. This one does neither: `printf … | skill-evals mcp` answers.
pub(super) struct Stdio {
    inner: AsyncRwTransport<RoleServer, Stdin, Stdout>,
    begun: bool,
    ended: bool,
    unanswered: watch::Sender<usize>,
}

impl Stdio {
    pub(super) fn new() -> Self {
        Self {
            inner: AsyncRwTransport::new(tokio::io::stdin(), tokio::io::stdout()),
            begun: false,
            ended: false,
            unanswered: watch::Sender::new(0),
        }
    }
}

impl Transport<RoleServer> for Stdio {
    type Error = io::Error;

    fn send(&mut self, item: ServerJsonRpcMessage) -> impl Future<Output = io::Result<()>> + Send + 'static {
        let answers = matches!(item, JsonRpcMessage::Response(_) | JsonRpcMessage::Error(_));
        let unanswered = self.unanswered.clone();
        let sent = self.inner.send(item);
        async move {
            let sent = sent.await;
            if answers {
                unanswered.send_modify(|count| *count = count.saturating_sub(1));
            }
            sent
        }
    }

    async fn receive(&mut self) -> Option<ClientJsonRpcMessage> {
        while !self.ended {
            let Some(message) = self.inner.receive().await else {
                self.ended = true;
                break;
            };
            if let JsonRpcMessage::Request(request) = &message {
                self.begun |= begins(&request.request);
                self.unanswered.send_modify(|count| *count += 1);
            }
            if self.begun || matches!(message, JsonRpcMessage::Request(_)) {
                return Some(message);
            }
        }
        let mut unanswered = self.unanswered.subscribe();
        // Whoever is too slow has nobody to answer to.
        let _ = timeout(LAST_ANSWERS, unanswered.wait_for(|count| *count == 0)).await;
        None
    }

    async fn close(&mut self) -> io::Result<()> {
        self.inner.close().await
    }
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
