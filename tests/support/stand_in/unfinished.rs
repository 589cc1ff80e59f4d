//! A body that begins and does not end.

use std::pin::Pin;
use std::task::{Context, Poll};

use axum::body::{Bytes, HttpBody};
use http_body::Frame;

/// What comes behind the text.
pub enum End {
    /// Nothing, and the connection stays open.
    Never,
    /// The connection is closed.
    Broken,
}

/// A text without an end.
pub struct Unfinished {
    pub text: Option<Bytes>,
    pub end: End,
}

impl HttpBody for Unfinished {
    type Data = Bytes;
    type Error = std::io::Error;

    fn poll_frame(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, std::io::Error>>> {
        match (self.text.take(), &self.end) {
            (Some(text), _) => Poll::Ready(Some(Ok(Frame::data(text)))),
            (None, End::Never) => Poll::Pending,
            (None, End::Broken) => Poll::Ready(Some(Err(std::io::Error::other("cut by the script")))),
        }
    }
}
