//! A server with tools of any kind, each answered by a function.

use std::io::{self, BufReader};
use std::sync::Arc;

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, Implementation, JsonObject, ListToolsResult,
    PaginatedRequestParams, ServerCapabilities, ServerConfig, Tool, ToolAnnotations,
};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer, ServerHandler};
use serde_json::json;

use super::{McpError, serve_handler};
use crate::mcp::{OfferedTool, ToolAnswer};

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
            Err(why) => CallToolResult::error(vec![ContentBlock::text(why)]).into(),
        })
    }
}
