//! The server itself.
#![expect(clippy::disallowed_methods, reason = "a client reads it")]

mod library;
mod offers;
mod server;
mod stdio;

use std::io::{self, BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, Implementation, JsonObject, ListToolsResult,
    PaginatedRequestParams, ServerCapabilities, ServerConfig, Tool, ToolAnnotations,
};
use rmcp::service::{RequestContext, ServerInitializeError};
use rmcp::{ErrorData, RoleServer, ServerHandler, ServiceExt};
use serde_json::json;
use thiserror::Error;
use tokio::io::AsyncWrite;
use tokio::sync::watch;
use tokio::time::sleep;

use crate::cases::repository::Repository;
use crate::files::look;
use crate::mcp::{OfferedTool, ToolAnswer};
use crate::settings::BuiltIn;
use crate::text::problem::Problem;
use library::SkillSource;
use server::{Server, ServerState};
use stdio::{LineTransport, RequestLog};

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

impl From<McpError> for Problem {
    fn from(error: McpError) -> Self {
        Self::Said(error.to_string())
    }
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

// A server with tools of any kind, each answered by a function.

struct FixedServer {
    name: String,
    tools: Vec<Tool>,
    answer: Box<ToolAnswer>,
}

/// Serves these tools under the server's `name` until standard input ends.
pub fn serve_tools(name: &str, tools: Vec<OfferedTool>, answer: Box<ToolAnswer>) -> Result<(), McpError> {
    let tools = tools.into_iter().map(|OfferedTool { name, description, input_schema }| {
        let schema = input_schema.unwrap_or_else(|| {
            JsonObject::from_iter([
                ("type".to_owned(), json!("object")),
                ("additionalProperties".to_owned(), json!(true)),
            ])
        });
        // Without these hints codex does not run a tool if nobody can approve it.
        let annotations = ToolAnnotations::new().read_only(true).destructive(false).open_world(false);
        let mut tool = Tool::new(name, "", Arc::new(schema)).with_annotations(annotations);
        tool.description = description.map(Into::into);
        tool
    });
    let server = FixedServer { name: name.to_owned(), tools: tools.collect(), answer };
    serve_handler(|| server, BufReader::new(io::stdin()), tokio::io::stdout())
}

impl ServerHandler for FixedServer {
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder().enable_tools().build();
        ServerConfig::new(capabilities).with_server_info(Implementation::new(self.name.clone(), "1.0.0"))
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult::with_all_items(self.tools.clone()))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        Ok(match (self.answer)(&request.name, &request.arguments.unwrap_or_default()) {
            Ok(text) => CallToolResult::success(vec![ContentBlock::text(text)]).into(),
            Err(why) => CallToolResult::error(vec![ContentBlock::text(why.0)]).into(),
        })
    }
}
