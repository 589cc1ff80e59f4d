//! A stand-in for the parts of GitHub and GitLab that keep comments.

use std::net::Ipv4Addr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::{Method, Uri};
use axum::response::Response;
use serde_json::{Value, json};

/// The account of the job that comments, on both.
const OWN: (u64, &str) = (5, "github-actions[bot]");

/// The server; it ends with the test program.
pub struct Comments {
    pub url: String,
    shared: Arc<Mutex<Shared>>,
}

#[derive(Default)]
struct Shared {
    url: String,
    /// The account and the text of each comment; its id is its place, from 1.
    comments: Vec<((u64, &'static str), String)>,
    changes: Vec<String>,
    refuses: bool,
}

impl Comments {
    /// A server with this many comments of somebody else, each of which begins like ours.
    pub fn start(others: usize, text: &str) -> Self {
        let listener = std::net::TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a free port");
        listener.set_nonblocking(true).expect("a non-blocking listener");
        let url = format!("http://{}", listener.local_addr().expect("a bound address"));
        let comments = vec![((9, "somebody"), text.to_owned()); others];
        let shared = Arc::new(Mutex::new(Shared { url: url.clone(), comments, ..Shared::default() }));
        let routes = Router::new().fallback(answer).with_state(Arc::clone(&shared));
        std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build().expect("a runtime");
            runtime.block_on(async {
                let listener = tokio::net::TcpListener::from_std(listener).expect("a listener for the runtime");
                axum::serve(listener, routes).await
            })
        });
        Self { url, shared }
    }

    fn shared(&self) -> MutexGuard<'_, Shared> {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The changes so far, each as `METHOD /path`.
    pub fn changes(&self) -> Vec<String> {
        self.shared().changes.clone()
    }

    /// The text of the last comment.
    pub fn last(&self) -> String {
        self.shared().comments.last().map(|(_, text)| text.clone()).unwrap_or_default()
    }

    /// Answers everything with an error from now on.
    pub fn refuse(&self) {
        self.shared().refuses = true;
    }
}

async fn answer(State(shared): State<Arc<Mutex<Shared>>>, method: Method, uri: Uri, body: Bytes) -> Response {
    let mut shared = shared.lock().unwrap_or_else(PoisonError::into_inner);
    let (status, answer) = if shared.refuses { (502, Value::Null) } else { shared.answer(&method, &uri, &body) };
    Response::builder().status(status).body(Body::from(answer.to_string())).expect("a response")
}

impl Shared {
    fn answer(&mut self, method: &Method, uri: &Uri, body: &[u8]) -> (u16, Value) {
        if uri.path() == "/user" {
            return (200, json!({ "id": OWN.0 }));
        }
        if method == Method::GET {
            let page: usize = uri.query().and_then(|query| query.split_once("&page=")?.1.parse().ok()).unwrap_or(1);
            return (
                200,
                (0..self.comments.len()).skip((page - 1) * 100).take(100).map(|at| self.comment(at)).collect(),
            );
        }
        self.changes.push(format!("{method} {}", uri.path()));
        // GitHub is sent JSON, GitLab a form.
        let text = match serde_json::from_slice::<Value>(body) {
            Ok(body) => body["body"].as_str().expect("a text").to_owned(),
            Err(_) => percent_decoded(body.strip_prefix(b"body=").expect("a form")),
        };
        match uri.path().rsplit('/').next().and_then(|id| id.parse::<usize>().ok()).filter(|_| method != Method::POST) {
            Some(id) => self.comments[id - 1].1 = text,
            None => self.comments.push((OWN, text)),
        }
        (if method == Method::POST { 201 } else { 200 }, json!({}))
    }

    fn comment(&self, at: usize) -> Value {
        let ((id, login), text) = &self.comments[at];
        let url = format!("{}/repos/o/r/issues/comments/{}", self.url, at + 1);
        json!({ "id": at + 1, "url": url, "user": { "login": login }, "author": { "id": id }, "body": text })
    }
}

fn percent_decoded(text: &[u8]) -> String {
    let mut bytes = Vec::new();
    let mut rest = text.iter();
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            b'%' => {
                let hex: String = rest.by_ref().take(2).map(|digit| char::from(*digit)).collect();
                u8::from_str_radix(&hex, 16).expect("two digits")
            }
            b'+' => b' ',
            other => *other,
        });
    }
    String::from_utf8_lossy(&bytes).into_owned()
}
