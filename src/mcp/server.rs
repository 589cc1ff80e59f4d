//! The requests of the protocol, each answered from the library.

// Roots and the older subscriptions are deprecated in the newest protocol; the clients of today use them.
#![expect(deprecated, reason = "clients that negotiate an older protocol need them")]

use std::sync::Arc;

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, CompleteRequestParams, CompleteResult, ContentBlock,
    CustomRequest, CustomResult, GetPromptRequestParams, GetPromptResponse, GetPromptResult, Implementation,
    InitializeRequestParams, InitializeResult, JsonObject, ListPromptsResult, ListResourceTemplatesResult,
    ListResourcesResult, ListToolsResult, PaginatedRequestParams, PromptMessage, ReadResourceRequestParams,
    ReadResourceResponse, ReadResourceResult, ResourceTemplate, ResourceUpdatedNotificationParam, Role,
    ServerCapabilities, ServerConfig, SubscribeRequestParams, SubscriptionFilter, UnsubscribeRequestParams,
};
use rmcp::service::{NotificationContext, Peer, RequestContext, SubscriptionContext};
use rmcp::{ErrorData, RoleServer, ServerHandler};

use super::library::{Library, LibraryChange, ServedSkill, SkillSource};
use super::state::{ServerState, log};
use super::stdio::unfit;
use super::uri::{self, Address};
use super::{answer, catalogue, completions, prompts, resources, tools};
use crate::settings::Wording;

/// The name by which agents know the server: its tools reach the model as `mcp__skilljack__…`.
const NAME: &str = "skilljack";

/// A connection's server.
pub(super) struct Server {
    pub state: Arc<ServerState>,
    /// Whether the client's roots, where it has any, say where the skills are.
    pub by_roots: bool,
}

impl Server {
    /// The answer of `ask` for the skill of this name. A skill may have come since the last look.
    async fn of_skill<T>(&self, name: &str, ask: impl Fn(&ServedSkill) -> Result<T, String>) -> Result<T, String> {
        let library = self.state.library().await;
        if library.skill(name).is_none() {
            let library = self.state.look().await;
            return ask(answer::named(&library, name)?);
        }
        ask(answer::named(&library, name)?)
    }

    async fn call(&self, tool: &str, arguments: Option<&JsonObject>) -> Result<answer::McpAnswer, ErrorData> {
        match tool {
            tools::SKILL => Ok(match tools::strings(tool, arguments, ["name"], []) {
                Ok(([name], [])) => {
                    self.of_skill(name, |shelved| answer::skill(shelved, self.state.served.result)).await
                }
                Err(wrong) => Err(wrong),
            }),
            tools::RESOURCE => Ok(match tools::strings(tool, arguments, ["skill"], ["path"]) {
                Ok(([skill], [path])) => {
                    self.of_skill(skill, |shelved| answer::resource(shelved, path.unwrap_or_default())).await
                }
                Err(wrong) => Err(wrong),
            }),
            other => Err(ErrorData::invalid_params(
                format!("unknown tool `{other}`; the tools are `{}` and `{}`", tools::SKILL, tools::RESOURCE),
                None,
            )),
        }
    }

    async fn roots_of(&self, peer: &Peer<RoleServer>) {
        let places = match peer.list_roots().await {
            Ok(answer) => Some(
                answer
                    .roots
                    .iter()
                    .filter_map(|root| {
                        let path = uri::local_path(&root.uri);
                        if path.is_none() {
                            log(&format!("the root {} is not a directory on this machine", root.uri));
                        }
                        path.map(SkillSource::Repository)
                    })
                    .collect(),
            ),
            Err(error) => {
                log(&format!("the client does not name its roots: {error}"));
                None
            }
        };
        self.state.serve_places(places).await;
    }
}

impl ServerHandler for Server {
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder()
            .enable_tools()
            .enable_tool_list_changed()
            .enable_resources()
            .enable_resources_list_changed()
            .enable_resources_subscribe()
            .enable_completions()
            .enable_prompts()
            .enable_prompts_list_changed()
            .build();
        let config =
            ServerConfig::new(capabilities).with_server_info(Implementation::new(NAME, env!("CARGO_PKG_VERSION")));
        match self.state.served.wording {
            Wording::Mild => config.with_instructions(catalogue::instructions(self.state.last_seen().as_deref())),
            // The server skilljack has none.
            Wording::Skilljack => config,
        }
    }

    async fn initialize(
        &self,
        request: InitializeRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<InitializeResult, ErrorData> {
        context.peer.set_peer_info(request.clone());
        if self.by_roots && request.capabilities.roots.is_some() {
            self.state.await_places();
        }
        self.negotiate_initialize(&request)
    }

    async fn on_initialized(&self, context: NotificationContext<RoleServer>) {
        tokio::spawn(tell(self.state.clone(), context.peer.clone()));
        let offers_roots = context.peer.peer_info().is_some_and(|info| info.capabilities.roots.is_some());
        if self.by_roots && offers_roots {
            self.roots_of(&context.peer).await;
        }
    }

    async fn on_roots_list_changed(&self, context: NotificationContext<RoleServer>) {
        if self.by_roots {
            self.roots_of(&context.peer).await;
        }
    }

    async fn list_tools(
        &self,
        request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        self.state.asked.note("tools");
        no_cursor(request)?;
        let client = context.peer.peer_info();
        let client = catalogue::shown_by(client.as_ref().map(|info| info.client_info.name.as_str()));
        let library = self.state.library().await;
        Ok(ListToolsResult::with_all_items(tools::all(&library, self.state.served, client)))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        Ok(match self.call(&request.name, request.arguments.as_ref()).await? {
            Ok(text) => CallToolResult::success(vec![ContentBlock::text(text)]).into(),
            Err(why) => CallToolResult::error(vec![ContentBlock::text(why)]).into(),
        })
    }

    async fn list_prompts(
        &self,
        request: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        self.state.asked.note("prompts");
        no_cursor(request)?;
        Ok(ListPromptsResult::with_all_items(prompts::all(&*self.state.library().await)))
    }

    async fn get_prompt(
        &self,
        request: GetPromptRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<GetPromptResponse, ErrorData> {
        let given = request.arguments.as_ref();
        let wrong = |why: String| ErrorData::invalid_params(why, None);
        if request.name == prompts::SKILL {
            let name = prompts::argument(given, prompts::NAME)?;
            let name =
                name.ok_or_else(|| wrong(format!("the prompt `{}` needs a `{}`", prompts::SKILL, prompts::NAME)))?;
            return Ok(self.of_skill(name, prompts::embedded).await.map_err(wrong)?.into());
        }
        let arguments = prompts::argument(given, prompts::ARGUMENTS)?;
        let result = self.state.served.result;
        let text = |shelved: &ServedSkill| prompts::for_users(shelved).and_then(|()| answer::skill(shelved, result));
        let mut text = self.of_skill(&request.name, text).await.map_err(wrong)?;
        if let Some(arguments) = arguments {
            text = format!("{text}\nARGUMENTS: {arguments}");
        }
        Ok(GetPromptResult::new(vec![PromptMessage::new_text(Role::User, text)]).into())
    }

    async fn complete(
        &self,
        request: CompleteRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<CompleteResult, ErrorData> {
        completions::of(&*self.state.library().await, &request)
    }

    async fn list_resources(
        &self,
        request: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        self.state.asked.note("resources");
        no_cursor(request)?;
        Ok(ListResourcesResult::with_all_items(resources::all(&*self.state.library().await)))
    }

    async fn list_resource_templates(
        &self,
        request: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        no_cursor(request)?;
        let templates = uri::TEMPLATES
            .map(|(template, name, description)| ResourceTemplate::new(template, name).with_description(description));
        Ok(ListResourceTemplatesResult::with_all_items(templates.to_vec()))
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        let library = self.state.library().await;
        let contents = resources::read(&library, &request.uri)
            .map_err(|why| ErrorData::resource_not_found(format!("{} {why}", request.uri.escape_debug()), None))?;
        Ok(ReadResourceResult::new(contents).into())
    }

    async fn subscribe(&self, request: SubscribeRequestParams, _: RequestContext<RoleServer>) -> Result<(), ErrorData> {
        let library = self.state.library().await;
        // Reading it shows whether it is there.
        resources::read(&library, &request.uri)
            .map_err(|why| ErrorData::resource_not_found(format!("{} {why}", request.uri.escape_debug()), None))?;
        self.state.subscribed().insert(request.uri);
        Ok(())
    }

    async fn unsubscribe(
        &self,
        request: UnsubscribeRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        self.state.subscribed().remove(&request.uri);
        Ok(())
    }

    fn accepted_subscription_filter(&self, requested: &SubscriptionFilter) -> Option<SubscriptionFilter> {
        Some(requested.clone())
    }

    async fn listen(&self, context: SubscriptionContext) -> Result<(), ErrorData> {
        let mut changes = self.state.changes();
        let sink = context.sink();
        loop {
            let change = tokio::select! {
                () = context.cancelled() => return Ok(()),
                change = changes.next() => change,
            };
            let Some(change) = change else { return Ok(()) };
            self.state.asked.told();
            // What the client did not ask for is refused by the sink.
            if change.skills {
                let _ = sink.notify_tool_list_changed().await;
                let _ = sink.notify_prompt_list_changed().await;
            }
            if change.skills || change.files {
                let _ = sink.notify_resource_list_changed().await;
            }
            for address in &change.updated {
                let _ = sink.notify_resource_updated(address.uri()).await;
            }
        }
    }

    async fn on_custom_request(
        &self,
        request: CustomRequest,
        _: RequestContext<RoleServer>,
    ) -> Result<CustomResult, ErrorData> {
        // rmcp hands a known method over as an unknown one when its parameters do not fit.
        Err(unfit(&request.method))
    }
}

/// Whether an address is that of a link in a skill of which a file has changed: it may be the one that the link leads to.
fn may_follow(library: &Library, change: &LibraryChange, address: &Address) -> bool {
    let Address::File(slug, path) = address else { return false };
    let listed = |skill: &ServedSkill| skill.files.iter().any(|file| file.path == *path);
    change.updated.contains(&Address::Files(slug.clone())) && library.skill(slug).is_some_and(|skill| !listed(skill))
}

/// Tells a client of changes, by the protocol's older way, until it goes.
async fn tell(state: Arc<ServerState>, peer: Peer<RoleServer>) {
    let mut changes = state.changes();
    while let Some(change) = changes.next().await {
        // Before it is told: a client that asks at once has asked since then.
        state.asked.told();
        let mut told = Ok(());
        if change.skills {
            told = told.and(peer.notify_tool_list_changed().await).and(peer.notify_prompt_list_changed().await);
        }
        if change.skills || change.files {
            told = told.and(peer.notify_resource_list_changed().await);
        }
        let library = state.library().await;
        let updated: Vec<String> = {
            let subscribed = state.subscribed();
            let is_updated = |uri: &&String| {
                let address = Address::parse(uri).map(Address::by_slug);
                address
                    .is_ok_and(|address| change.updated.contains(&address) || may_follow(&library, &change, &address))
            };
            subscribed.iter().filter(is_updated).cloned().collect()
        };
        for uri in updated {
            told = told.and(peer.notify_resource_updated(ResourceUpdatedNotificationParam::new(uri)).await);
        }
        if told.is_err() {
            return;
        }
    }
}

/// Everything is on one page, so that no cursor was ever given out.
fn no_cursor(request: Option<PaginatedRequestParams>) -> Result<(), ErrorData> {
    match request.and_then(|request| request.cursor) {
        Some(_) => Err(ErrorData::invalid_params("this cursor is not from here: there is one page only", None)),
        None => Ok(()),
    }
}
