//! An answer of the server as it is sent, whole or with an end that does not come.

use std::fmt::Write as _;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use hyper::body::{Body, Bytes, Frame, SizeHint};
use hyper::header::{CONTENT_TYPE, HeaderName, HeaderValue};
use hyper::{Response, StatusCode};
use serde_json::Value;

use super::AnswerFault;

/// How a body ends.
#[derive(Clone, Copy, PartialEq, Eq)]
enum BodyEnd {
    Whole,
    /// Nothing follows, and the connection stays open.
    Never,
    /// The connection is closed in the middle.
    Broken,
}

/// An answer before it is sent.
pub(super) struct HttpReply {
    status: u16,
    kind: &'static str,
    header: Option<(&'static str, String)>,
    text: String,
    end: BodyEnd,
}

impl HttpReply {
    pub(super) fn json(status: u16, body: &Value) -> Self {
        Self { status, kind: "application/json", header: None, text: body.to_string(), end: BodyEnd::Whole }
    }

    pub(super) fn with_header(self, name: &'static str, value: impl Into<String>) -> Self {
        Self { header: Some((name, value.into())), ..self }
    }

    /// Server-sent events, named after their `type` if they have one. A string is sent as it is.
    pub(super) fn events(events: &[Value], fault: Option<AnswerFault>) -> Self {
        let end = end(fault);
        // Half an answer: what was begun is not ended.
        let sent = if end == BodyEnd::Whole { events.len() } else { events.len().div_ceil(2) };
        let mut text = String::new();
        for event in &events[..sent] {
            if let Some(name) = event["type"].as_str() {
                let _ = writeln!(text, "event: {name}");
            }
            let _ = match event {
                Value::String(data) => write!(text, "data: {data}\n\n"),
                event => write!(text, "data: {event}\n\n"),
            };
        }
        Self { status: 200, kind: "text/event-stream", header: None, text, end }
    }

    /// The answer to a program that asks for no events.
    pub(super) fn whole(answer: &Value, fault: Option<AnswerFault>) -> Self {
        let mut reply = Self { end: end(fault), ..Self::json(200, answer) };
        if reply.end != BodyEnd::Whole {
            reply.text.truncate(reply.text.find("content").unwrap_or_default());
        }
        reply
    }

    pub(super) fn response(self) -> Response<ReplyBody> {
        let mut response = Response::new(ReplyBody { text: Some(self.text.into()), end: self.end });
        *response.status_mut() = StatusCode::from_u16(self.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(self.kind));
        if let Some((name, value)) = self.header
            && let Ok(value) = HeaderValue::from_str(&value)
        {
            response.headers_mut().insert(HeaderName::from_static(name), value);
        }
        response
    }
}

fn end(fault: Option<AnswerFault>) -> BodyEnd {
    match fault {
        Some(AnswerFault::Stall) => BodyEnd::Never,
        Some(AnswerFault::Cut) => BodyEnd::Broken,
        Some(AnswerFault::Refusal | AnswerFault::MaxTokens) | None => BodyEnd::Whole,
    }
}

pub(super) struct ReplyBody {
    text: Option<Bytes>,
    end: BodyEnd,
}

impl Body for ReplyBody {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<io::Result<Frame<Bytes>>>> {
        match (self.text.take(), self.end) {
            (Some(text), _) => Poll::Ready(Some(Ok(Frame::data(text)))),
            (None, BodyEnd::Whole) => Poll::Ready(None),
            (None, BodyEnd::Never) => Poll::Pending,
            (None, BodyEnd::Broken) => Poll::Ready(Some(Err(io::Error::other("cut by the script")))),
        }
    }

    fn size_hint(&self) -> SizeHint {
        let left = self.text.as_ref().map_or(0, |text| text.len() as u64);
        if self.end == BodyEnd::Whole { SizeHint::with_exact(left) } else { SizeHint::new() }
    }
}
