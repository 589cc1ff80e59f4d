//! The server itself.
#![expect(clippy::disallowed_methods, reason = "a client reads it")]

mod answer;
mod batch;
mod completions;
mod directory;
mod extension;
mod fixed;
mod library;
mod prompts;
mod request_log;
mod resources;
mod server;
mod skill_list;
mod state;
mod stdio;
mod tools;
mod uri;
mod writer;

use std::io::{self, BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use rmcp::service::ServerInitializeError;
use rmcp::{ServerHandler, ServiceExt};
use thiserror::Error;
use tokio::io::AsyncWrite;
use tokio::sync::watch;
use tokio::time::sleep;

use crate::cases::repository::Repository;
use crate::files::look;
use crate::settings::BuiltIn;
pub use fixed::serve_tools;
use library::SkillSource;
use request_log::RequestLog;
use server::Server;
use state::ServerState;
use stdio::LineTransport;

/// Why a server could not serve.
#[derive(Debug, Error)]
pub enum McpError {
    /// None of the paths is a directory.
    #[error("{path} is not a directory", path = path.display())]
    NotADirectory {
        /// The first of the paths.
        path: PathBuf,
    },
    /// The connection failed.
    #[error("the MCP server ended: {0}")]
    Io(#[from] io::Error),
    /// The client and the server could not agree.
    #[error("the MCP client could not be served: {0}")]
    Handshake(String),
}

/// Serves the skills in the directories `skills` until standard input ends.
pub fn serve(skills: &[PathBuf], settings: BuiltIn) -> Result<(), McpError> {
    serve_on(skills, settings, BufReader::new(io::stdin()), tokio::io::stdout())
}

/// [`serve`] on any input and output.
pub fn serve_on(
    skills: &[PathBuf],
    settings: BuiltIn,
    input: impl BufRead + Send + 'static,
    output: impl AsyncWrite + Send + Unpin + 'static,
) -> Result<(), McpError> {
    if !skills.iter().any(|directory| look::is_usable_directory(directory)) {
        return Err(McpError::NotADirectory { path: skills.first().cloned().unwrap_or_default() });
    }
    let sources = skills.iter().map(|directory| std::path::absolute(directory).map(SkillSource::Directory));
    run(sources.collect::<io::Result<_>>()?, settings, false, input, output)
}

/// The directories in a list with commas, as in `SKILLS_DIR`. A directory may have commas in its own name.
pub fn directories_in(list: &str) -> Vec<PathBuf> {
    if look::is_usable_directory(Path::new(list)) {
        return vec![list.into()];
    }
    list.split(',').map(str::trim).filter(|directory| !directory.is_empty()).map(PathBuf::from).collect()
}

/// Serves the skills in the default skill roots of the client's roots until standard input ends. If the client has no
/// roots, serves the skills of the repository around the working directory.
pub fn serve_roots(settings: BuiltIn) -> Result<(), McpError> {
    let directory = std::path::absolute(Path::new("."))?;
    let root = Repository::around(&directory).map_err(io::Error::from)?.map_or(directory, |repository| repository.root);
    run(vec![SkillSource::Repository(root)], settings, true, BufReader::new(io::stdin()), tokio::io::stdout())
}

/// Maximum time to answer the last requests after the input has ended.
const LAST_ANSWERS: Duration = Duration::from_millis(500);

fn run(
    sources: Vec<SkillSource>,
    settings: BuiltIn,
    by_roots: bool,
    input: impl BufRead + Send + 'static,
    output: impl AsyncWrite + Send + Unpin + 'static,
) -> Result<(), McpError> {
    let make = || {
        let state = Arc::new(ServerState::new(sources, settings, RequestLog::from_env()));
        tokio::spawn(state.clone().keep_scanning());
        Server { state, by_roots }
    };
    serve_handler(make, input, output)
}

/// Serves what `make` makes in the runtime until the input ends.
fn serve_handler<H: ServerHandler>(
    make: impl FnOnce() -> H,
    input: impl BufRead + Send + 'static,
    output: impl AsyncWrite + Send + Unpin + 'static,
) -> Result<(), McpError> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build()?;
    let result = runtime.block_on(async {
        let input_ended = watch::Sender::new(false);
        let mut end = input_ended.subscribe();
        let transport = LineTransport::new(input, output, input_ended).map_err(McpError::Io)?;
        let service = match make().serve(transport).await {
            Ok(service) => service,
            // The client left before it sent a request.
            Err(ServerInitializeError::ConnectionClosed(_)) => return Ok(()),
            Err(error) => return Err(McpError::Handshake(error.to_string())),
        };
        // rmcp waits five seconds for handlers that do not end, such as a client's subscription.
        tokio::select! {
            quit = service.waiting() => quit.map(drop).map_err(|error| McpError::Io(error.into())),
            () = async { if end.wait_for(|ended| *ended).await.is_ok() { sleep(LAST_ANSWERS).await; } } => Ok(()),
        }
    });
    // A scan of a file system that hangs must not keep this process alive.
    runtime.shutdown_timeout(Duration::ZERO);
    result
}
