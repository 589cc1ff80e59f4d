//! The server: one thread, and a record of every request that the script was asked about.

use std::convert::Infallible;
use std::future::{Future, poll_fn};
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use hyper::body::{Body, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request};
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::sync::oneshot;

use super::HttpReply;
use super::{
    AnswerFault, AnswerPart, AnswerUsage, ScriptedAnswer, ScriptedRequest, ScriptedTurn, completions, gemini, messages,
    responses,
};

/// The running server. Dropping it closes every connection.
pub struct StandIn {
    address: SocketAddr,
    shared: Arc<Shared>,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

type ModelScript = dyn Fn(&ScriptedRequest) -> ScriptedTurn + Send + Sync;

struct Shared {
    script: Box<ModelScript>,
    /// How long every answer takes.
    pause: Duration,
    exchanges: Mutex<Vec<(ScriptedRequest, Option<AnswerUsage>)>>,
}

impl StandIn {
    /// Starts a server on a free port. `script` is called once for each model request, on the server's only thread:
    /// it must not block.
    pub fn start(script: impl Fn(&ScriptedRequest) -> ScriptedTurn + Send + Sync + 'static) -> io::Result<Self> {
        Self::start_slow(Duration::ZERO, script)
    }

    /// The same, where every answer takes this long to begin.
    pub fn start_slow(
        pause: Duration,
        script: impl Fn(&ScriptedRequest) -> ScriptedTurn + Send + Sync + 'static,
    ) -> io::Result<Self> {
        let listener = std::net::TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        let shared = Arc::new(Shared { script: Box::new(script), pause, exchanges: Mutex::default() });
        let (stop, stopped) = oneshot::channel();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let served = serve(listener, Arc::clone(&shared), stopped);
        let thread = std::thread::Builder::new().name("stand-in".to_owned()).spawn(move || runtime.block_on(served))?;
        Ok(Self { address, shared, stop: Some(stop), thread: Some(thread) })
    }

    /// `http://127.0.0.1:PORT`.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Every request that the script was asked about, in the order of arrival.
    pub fn requests(&self) -> Vec<ScriptedRequest> {
        self.shared.seen().iter().map(|(request, _)| request.clone()).collect()
    }

    /// The same, with what each answer claims to have cost; `None` for an error or no answer.
    pub fn exchanges(&self) -> Vec<(ScriptedRequest, Option<AnswerUsage>)> {
        self.shared.seen().clone()
    }
}

impl Drop for StandIn {
    fn drop(&mut self) {
        if let Some(stop) = self.stop.take() {
            // The thread is gone only if it panicked, which `join` below says too.
            let _ = stop.send(());
        }
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

impl Shared {
    fn seen(&self) -> MutexGuard<'_, Vec<(ScriptedRequest, Option<AnswerUsage>)>> {
        self.exchanges.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn answer(&self, request: &ScriptedRequest) -> ScriptedAnswer {
        let mut answer = ScriptedAnswer::Parts(Vec::new(), None);
        (self.script)(request).add_to(&mut answer, request.protocol, &request.body);
        let usage = match &answer {
            ScriptedAnswer::Parts(parts, _) => Some(request.usage(parts)),
            _ => None,
        };
        self.seen().push((request.clone(), usage));
        answer
    }

    /// Answers a request by a protocol's way to write answers and errors; `None` for never.
    fn reply(
        &self,
        request: &ScriptedRequest,
        write: impl FnOnce(&ScriptedRequest, &[AnswerPart], Option<AnswerFault>) -> HttpReply,
        error: fn(u16) -> HttpReply,
    ) -> Option<HttpReply> {
        match self.answer(request) {
            ScriptedAnswer::Parts(parts, fault) => Some(write(request, &parts, fault)),
            ScriptedAnswer::Status(status) => Some(error(status)),
            ScriptedAnswer::Wait(seconds) => Some(error(429).with_header("retry-after", seconds.to_string())),
            ScriptedAnswer::Error(status, body) => Some(HttpReply::json(status, &body)),
            ScriptedAnswer::Hang => None,
        }
    }

    /// Answers a request to this path; `None` for never.
    fn route(&self, path: &str, length: usize, body: Option<Value>) -> Option<HttpReply> {
        let gemini_call = path.strip_prefix("/v1beta/models/").and_then(|call| call.split_once(':'));
        match (path, gemini_call, body) {
            ("/v1/messages/count_tokens", ..) => {
                Some(HttpReply::json(200, &json!({ "input_tokens": length.div_ceil(4) })))
            }
            ("/v1/responses", _, Some(body)) => self.reply(&responses::read(body), responses::write, responses::error),
            ("/v1/chat/completions", _, Some(body)) => {
                self.reply(&completions::read(body), completions::write, responses::error)
            }
            ("/v1/messages", _, Some(body)) => {
                let request = messages::read(body);
                match messages::side_answer(&request) {
                    Some(parts) => Some(messages::write(&request, &parts, None)),
                    None => self.reply(&request, messages::write, messages::error),
                }
            }
            (_, Some((model, method)), Some(body)) => {
                let is_stream = method == "streamGenerateContent";
                let write = |request: &ScriptedRequest, parts: &[AnswerPart], fault| {
                    gemini::write(request, parts, fault, is_stream)
                };
                self.reply(&gemini::read(model, body), write, gemini::error)
            }
            ("/v1/messages", ..) => Some(messages::error(400)),
            (_, Some(_), None) => Some(gemini::error(400)),
            ("/v1/responses" | "/v1/chat/completions", ..) => Some(responses::error(400)),
            _ => Some(responses::error(404)),
        }
    }

    async fn serve(&self, request: Request<Incoming>) -> Option<HttpReply> {
        let (method, path) = (request.method().clone(), request.uri().path().to_owned());
        let body = read(request.into_body()).await;
        if method != Method::POST {
            return Some(responses::error(404));
        }
        let reply = self.route(&path, body.len(), serde_json::from_slice(&body).ok());
        if !self.pause.is_zero() {
            tokio::time::sleep(self.pause).await;
        }
        reply
    }
}

/// The whole body, as far as it comes.
async fn read(mut body: Incoming) -> Vec<u8> {
    let mut all = Vec::new();
    while let Some(Ok(frame)) = poll_fn(|context| Pin::new(&mut body).poll_frame(context)).await {
        all.extend_from_slice(&frame.into_data().unwrap_or_default());
    }
    all
}

async fn serve(listener: std::net::TcpListener, shared: Arc<Shared>, stopped: oneshot::Receiver<()>) {
    let Ok(listener) = TcpListener::from_std(listener) else { return };
    let accepts = async {
        loop {
            match listener.accept().await {
                Ok((stream, _)) => drop(tokio::spawn(connection(TokioIo::new(stream), Arc::clone(&shared)))),
                Err(_) => tokio::task::yield_now().await,
            }
        }
    };
    // Either the message or the loss of its sender ends it; dropping the runtime drops the open connections,
    // where a graceful shutdown would wait for a `Hang` for ever.
    tokio::select! {
        () = accepts => {}
        _ = stopped => {}
    }
}

fn connection(stream: TokioIo<tokio::net::TcpStream>, shared: Arc<Shared>) -> impl Future<Output = ()> + Send {
    let service = service_fn(move |request| {
        let shared = Arc::clone(&shared);
        async move {
            match shared.serve(request).await {
                Some(reply) => Ok::<_, Infallible>(reply.response()),
                None => std::future::pending().await,
            }
        }
    });
    async move {
        let _ = http1::Builder::new().serve_connection(stream, service).await;
    }
}
