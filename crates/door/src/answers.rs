//! What answers a room's requests in the place of servers.

/// A request that asks for an answer.
#[derive(Clone, Copy, Debug)]
pub struct Asked<'a> {
    pub method: &'a str,
    /// The path with its query.
    pub path: &'a str,
    /// What is no UTF-8 is replaced.
    pub body: &'a str,
}

/// An answer that is whole at once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WholeAnswer {
    pub status: u16,
    pub content_type: String,
    pub body: String,
}

/// Answers requests. No server is asked then.
pub trait Answers: Send + Sync {
    /// The answer to a request; `None` refuses it. It must not block.
    fn answer(&self, request: &Asked<'_>) -> Option<WholeAnswer>;
}
