//! An MCP server of skills on standard input and output: for agents that have no skills of their own kind, and for
//! comparing the two ways.
//!
//! The tools are `skill`, which loads one, and `skill-resource`, which reads its files; the catalogue stands in the
//! tool's description and in the server's instructions, and follows the files on disk. Skills are resources
//! (`skill://<slug>/SKILL.md` and below) and prompts too. Nothing outside a skill's folder can be read, by no link
//! either, and nothing is ever written. Standard output carries the protocol only; what is wrong with the skills goes
//! to standard error.

mod answer;
mod batch;
mod catalogue;
mod completions;
mod directory;
mod library;
mod prompts;
mod request_log;
mod resources;
mod server;
mod state;
mod stdio;
mod tools;
mod uri;
mod writer;

use std::io::{self, BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use rmcp::ServiceExt;
use rmcp::service::ServerInitializeError;
use thiserror::Error;
use tokio::io::AsyncWrite;
use tokio::sync::watch;
use tokio::time::sleep;

use crate::cases::repository::Repository;
use crate::settings::BuiltIn;
use library::SkillSource;
use request_log::RequestLog;
pub use request_log::{ASKED_VARIABLE, asked_since};
use server::Server;
use state::ServerState;
use stdio::LineTransport;

/// Why a server could not serve.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum McpError {
    /// There is no such folder of skills, none of them where there are several.
    #[error("{path} is not a directory", path = path.display())]
    NoFolder {
        /// What was given.
        path: PathBuf,
    },
    /// The connection could not be made or kept.
    #[error("the MCP server ended: {0}")]
    Io(#[from] io::Error),
    /// The client and the server could not agree.
    #[error("the MCP client could not be served: {0}")]
    Handshake(String),
}

/// Serves the skills in and below the folders `skills` until standard input ends.
///
/// # Errors
/// When none of `skills` is a folder, or the connection fails.
pub fn serve(skills: &[PathBuf], how: BuiltIn) -> Result<(), McpError> {
    serve_on(skills, how, BufReader::new(io::stdin()), tokio::io::stdout())
}

/// The same on any input and output.
///
/// # Errors
/// As [`serve`].
pub fn serve_on(
    skills: &[PathBuf],
    how: BuiltIn,
    input: impl BufRead + Send + 'static,
    output: impl AsyncWrite + Send + Unpin + 'static,
) -> Result<(), McpError> {
    if !skills.iter().any(|folder| folder.is_dir()) {
        return Err(McpError::NoFolder { path: skills.first().cloned().unwrap_or_default() });
    }
    let places = skills.iter().map(|folder| std::path::absolute(folder).map(SkillSource::Skills));
    run(places.collect::<io::Result<_>>()?, how, false, input, output)
}

/// The folders in a list with commas, as `SKILLS_DIR` has it. A folder may have commas in its own name.
#[must_use]
pub fn folders_in(list: &str) -> Vec<PathBuf> {
    if Path::new(list).is_dir() {
        return vec![list.into()];
    }
    list.split(',').map(str::trim).filter(|folder| !folder.is_empty()).map(PathBuf::from).collect()
}

/// Serves the skills below the default skill roots of the client's own roots, as they change, until standard input
/// ends; for a client that offers no roots those of the repository around the working folder.
///
/// # Errors
/// When the connection fails.
pub fn serve_roots(how: BuiltIn) -> Result<(), McpError> {
    let folder = std::path::absolute(Path::new("."))?;
    let root = Repository::around(&folder).map_or(folder, |repository| repository.root);
    run(vec![SkillSource::Repository(root)], how, true, BufReader::new(io::stdin()), tokio::io::stdout())
}

/// How long requests that were read before the end of the input may take to be answered.
const LAST_ANSWERS: Duration = Duration::from_millis(500);

fn run(
    places: Vec<SkillSource>,
    how: BuiltIn,
    by_roots: bool,
    input: impl BufRead + Send + 'static,
    output: impl AsyncWrite + Send + Unpin + 'static,
) -> Result<(), McpError> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build()?;
    let served = runtime.block_on(async {
        let state = Arc::new(ServerState::new(places, how, RequestLog::from_env()));
        tokio::spawn(state.clone().keep_looking());
        let ended = watch::Sender::new(false);
        let mut end = ended.subscribe();
        let service = match (Server { state, by_roots }).serve(LineTransport::new(input, output, ended)).await {
            Ok(service) => service,
            // A client that goes before it says anything is served.
            Err(ServerInitializeError::ConnectionClosed(_)) => return Ok(()),
            Err(error) => return Err(McpError::Handshake(error.to_string())),
        };
        // rmcp lets handlers end, but waits five seconds for those that do not, such as a client's subscription.
        tokio::select! {
            ended = service.waiting() => ended.map(drop).map_err(|error| McpError::Io(error.into())),
            () = async { if end.wait_for(|ended| *ended).await.is_ok() { sleep(LAST_ANSWERS).await; } } => Ok(()),
        }
    });
    // Not to wait for a look at a file system that hangs.
    runtime.shutdown_timeout(Duration::ZERO);
    served
}
