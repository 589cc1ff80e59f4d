//! The server: one thread, one route for each protocol, and a record of every request that the script was asked about.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

use axum::Router;
use axum::body::Bytes;
use axum::extract::{DefaultBodyLimit, Path, State};
use axum::response::Response;
use axum::routing::post;
use serde_json::json;
use tokio::sync::oneshot;

use super::{Answer, Fault, MODEL, Part, Request, Turn, completions, gemini, json_body, messages, responses};

/// The environment variable that [`StandIn::codex_config`] makes codex take its key from; any value will do.
pub const CODEX_KEY: &str = "STAND_IN_KEY";

/// The environment variable that [`StandIn::qwen_settings`] makes qwen take its key from.
pub const QWEN_KEY: &str = "STAND_IN_KEY_FOR_QWEN";

/// The environment variable that [`StandIn::vibe_config`] makes Vibe take its key from.
pub const VIBE_KEY: &str = "STAND_IN_KEY_FOR_VIBE";

/// The running server. Dropping it closes every connection.
pub struct StandIn {
    address: SocketAddr,
    shared: Arc<Shared>,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

type Script = dyn Fn(&Request) -> Turn + Send + Sync;

struct Shared {
    script: Box<Script>,
    requests: Mutex<Vec<Request>>,
}

impl StandIn {
    /// Starts a server on a free port. `script` is called once for each model request, on the server's only thread:
    /// it must not block.
    ///
    /// # Panics
    /// When the machine has no free port or thread left.
    pub fn start(script: impl Fn(&Request) -> Turn + Send + Sync + 'static) -> Self {
        let listener = std::net::TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a free port");
        listener.set_nonblocking(true).expect("a non-blocking listener");
        let address = listener.local_addr().expect("a bound address");
        let shared = Arc::new(Shared { script: Box::new(script), requests: Mutex::new(Vec::new()) });
        let (stop, stopped) = oneshot::channel();
        let routes = routes(Arc::clone(&shared));
        let thread = std::thread::Builder::new()
            .name("stand-in".to_owned())
            .spawn(move || serve(listener, routes, stopped))
            .expect("a thread for the stand-in");
        Self { address, shared, stop: Some(stop), thread: Some(thread) }
    }

    /// `http://127.0.0.1:PORT`: the base URL of claude and Gemini; codex's is this and `/v1`.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Every request that the script was asked about, in the order of arrival.
    pub fn requests(&self) -> Vec<Request> {
        self.shared.seen().clone()
    }

    /// The text of a `$HOME/.codex/config.toml` that points codex here. It does not retry, so that a scripted
    /// failure is one request.
    pub fn codex_config(&self) -> String {
        format!(
            "model = \"{MODEL}\"\nmodel_provider = \"stand_in\"\n\n[model_providers.stand_in]\nname = \"stand-in\"\n\
             base_url = \"{}/v1\"\nwire_api = \"responses\"\nenv_key = \"{CODEX_KEY}\"\n\
             request_max_retries = 0\nstream_max_retries = 0\n",
            self.url()
        )
    }

    /// The text of a `$HOME/.qwen/settings.json` that points qwen here.
    pub fn qwen_settings(&self) -> String {
        let model = json!({ "id": MODEL, "envKey": QWEN_KEY, "baseUrl": self.url() });
        let auth = json!({ "auth": { "selectedType": "anthropic" } });
        json!({ "security": auth, "model": { "name": MODEL }, "modelProviders": { "anthropic": [model] } }).to_string()
    }
}

impl StandIn {
    /// The configuration with which OpenCode asks this model, and nothing else.
    pub fn opencode_config(&self) -> String {
        format!(
            r#"{{
              // OpenCode reads comments.
              "model": "anthropic/{MODEL}",
              "provider": {{ "anthropic": {{
                "options": {{ "baseURL": "{}/v1", "apiKey": "stand-in-key-for-opencode" }},
                "models": {{ "{MODEL}": {{}} }},
              }} }},
            }}"#,
            self.url()
        )
    }
}

impl StandIn {
    /// The text of a `$HOME/.factory/settings.json` that points droid here.
    pub fn droid_settings(&self) -> String {
        let model = json!({ "id": "custom:stand-in", "model": MODEL, "displayName": "Stand-in",
            "baseUrl": format!("{}/v1", self.url()), "apiKey": "stand-in-key-for-droid",
            "provider": "generic-chat-completion-api", "maxOutputTokens": 4096 });
        json!({ "customModels": [model], "model": "custom:stand-in" }).to_string()
    }

    /// The text of a `$HOME/.vibe/config.toml` that points Vibe here.
    pub fn vibe_config(&self) -> String {
        format!(
            "active_model = \"{MODEL}\"\n\n[[providers]]\nname = \"stand-in\"\napi_base = \"{}/v1\"\n\
             api_key_env_var = \"{VIBE_KEY}\"\nbackend = \"generic\"\n\n[[models]]\nname = \"{MODEL}\"\n\
             provider = \"stand-in\"\nalias = \"{MODEL}\"\n",
            self.url()
        )
    }

    /// The text of a `$HOME/.cline/data/settings/providers.json` that points Cline here.
    pub fn cline_providers(&self) -> String {
        let (name, url) = ("openai-compatible", format!("{}/v1", self.url()));
        let settings = json!({ "provider": name, "apiKey": "stand-in-key-for-cline", "model": MODEL, "baseUrl": url });
        let entry = json!({ "settings": settings, "updatedAt": "2026-01-01T00:00:00.000Z", "tokenSource": "manual" });
        json!({ "version": 1, "lastUsedProvider": name, "modes": {}, "providers": { name: entry } }).to_string()
    }
}

impl StandIn {
    /// The text of a `$HOME/.kimi-code/config.toml` that points Kimi Code here.
    pub fn kimi_config(&self) -> String {
        format!(
            "default_model = \"{MODEL}\"\n\n[providers.stand_in]\ntype = \"openai\"\nbase_url = \"{}/v1\"\n\
             api_key = \"stand-in-key-for-kimi\"\n\n[models.\"{MODEL}\"]\nprovider = \"stand_in\"\nmodel = \"{MODEL}\"\n\
             max_context_size = 100000\ncapabilities = [\"tool_use\"]\n",
            self.url()
        )
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
    fn seen(&self) -> MutexGuard<'_, Vec<Request>> {
        self.requests.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn answer(&self, request: &Request) -> Answer {
        self.seen().push(request.clone());
        let mut answer = Answer::Parts(Vec::new(), None);
        (self.script)(request).add_to(&mut answer, request.protocol, &request.body);
        answer
    }
}

fn routes(shared: Arc<Shared>) -> Router {
    Router::new()
        .route("/v1/responses", post(on_responses))
        .route("/v1/chat/completions", post(on_completions))
        .route("/v1/messages", post(on_messages))
        .route("/v1/messages/count_tokens", post(on_count_tokens))
        .route("/v1beta/models/{call}", post(on_gemini))
        .layer(DefaultBodyLimit::disable())
        .with_state(shared)
}

/// Answers a request by a protocol's way to write answers and errors.
async fn answer(
    shared: &Shared,
    request: Request,
    write: impl FnOnce(&Request, &[Part], Option<Fault>) -> Response,
    error: fn(u16) -> Response,
) -> Response {
    match shared.answer(&request) {
        Answer::Parts(parts, fault) => write(&request, &parts, fault),
        Answer::Status(status) => error(status),
        Answer::Error(status, body) => json_body(status, &body),
        Answer::Hang => std::future::pending().await,
    }
}

async fn on_responses(State(shared): State<Arc<Shared>>, body: Bytes) -> Response {
    let Ok(body) = serde_json::from_slice(&body) else { return responses::error(400) };
    answer(&shared, responses::read(body), responses::write, responses::error).await
}

async fn on_completions(State(shared): State<Arc<Shared>>, body: Bytes) -> Response {
    let Ok(body) = serde_json::from_slice(&body) else { return responses::error(400) };
    answer(&shared, completions::read(body), completions::write, responses::error).await
}

async fn on_messages(State(shared): State<Arc<Shared>>, body: Bytes) -> Response {
    let Ok(body) = serde_json::from_slice(&body) else { return messages::error(400) };
    let request = messages::read(body);
    match messages::side_answer(&request) {
        Some(parts) => messages::write(&request, &parts, None),
        None => answer(&shared, request, messages::write, messages::error).await,
    }
}

async fn on_gemini(State(shared): State<Arc<Shared>>, Path(call): Path<String>, body: Bytes) -> Response {
    let Some((model, method)) = call.split_once(':') else { return gemini::error(404) };
    let Ok(body) = serde_json::from_slice(&body) else { return gemini::error(400) };
    let write = |request: &Request, parts: &[Part], fault| {
        gemini::write(request, parts, fault, method == "streamGenerateContent")
    };
    answer(&shared, gemini::read(model, body), write, gemini::error).await
}

async fn on_count_tokens(body: Bytes) -> Response {
    json_body(200, &json!({ "input_tokens": body.len().div_ceil(4) }))
}

fn serve(listener: std::net::TcpListener, routes: Router, stopped: oneshot::Receiver<()>) {
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_io().build().expect("a runtime for the stand-in");
    runtime.block_on(async {
        let listener = tokio::net::TcpListener::from_std(listener).expect("a listener for the runtime");
        tokio::spawn(async move { axum::serve(listener, routes).await });
        // Either the message or the loss of its sender ends it; dropping the runtime drops the open connections,
        // where a graceful shutdown would wait for a `Hang` for ever.
        let _ = stopped.await;
    });
}
