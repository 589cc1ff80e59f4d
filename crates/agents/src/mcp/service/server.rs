//! Answers the requests of the protocol.

// Roots and `resources/subscribe` are deprecated in the newest protocol.
#![expect(deprecated, reason = "clients that negotiate an older protocol need them")]

use std::sync::Arc;

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, CompleteRequestParams, CompleteResult, ContentBlock,
    CustomRequest, CustomResult, GetPromptRequestParams, GetPromptResponse, GetPromptResult, GetSkillRequestParams,
    GetSkillResult, Implementation, InitializeRequestParams, InitializeResult, JsonObject, ListPromptsResult,
    ListResourceTemplatesResult, ListResourcesResult, ListSkillsResult, ListToolsResult, PaginatedRequestParams,
    PromptMessage, ReadResourceDirectoryRequestParams, ReadResourceDirectoryResult, ReadResourceRequestParams,
    ReadResourceResponse, ReadResourceResult, ResourceContents, ResourceTemplate, ResourceUpdatedNotificationParam,
    Role, ServerCapabilities, ServerConfig, SubscribeRequestParams, SubscriptionFilter, UnsubscribeRequestParams,
};
use rmcp::service::{NotificationContext, Peer, RequestContext, ServiceError, SubscriptionContext};
use rmcp::{ErrorData, RoleServer, ServerHandler};
use serde_json::json;

use super::answer::{self, McpAnswer};
use super::library::{Library, LibraryChange, ServedSkill, SkillSource};
use super::state::{ServerState, next_change, print};
use super::stdio::unhandled;
use super::uri::{self, Address};
use super::{completions, extension, prompts, resources, skill_list, tools};
use crate::settings::Wording;

/// The server's name. It is part of the names of tools that the model sees: `mcp__skilljack__…`.
const NAME: &str = "skilljack";

pub(super) struct Server {
    pub state: Arc<ServerState>,
    /// Whether the skills are in the client's roots, if it has any.
    pub by_roots: bool,
}

impl Server {
    /// The answer of `ask` for the skill with this name. Scans again if the skill is unknown: it may be new.
    async fn with_skill<T>(&self, name: &str, ask: impl Fn(&ServedSkill) -> Result<T, String>) -> Result<T, String> {
        let mut library = self.state.library().await;
        if library.skill(name).is_none() {
            library = self.state.scan().await;
        }
        ask(answer::named(&library, name)?)
    }

    async fn call_skill(&self, arguments: Option<&JsonObject>) -> McpAnswer {
        let name = tools::required(tools::SKILL, arguments, "name")?;
        self.with_skill(name, |served| answer::skill(served, self.state.settings.result)).await
    }

    async fn call_resource(&self, arguments: Option<&JsonObject>) -> McpAnswer {
        let name = tools::required(tools::RESOURCE, arguments, "skill")?;
        let path = tools::string(tools::RESOURCE, arguments, "path")?.unwrap_or_default();
        self.with_skill(name, |served| answer::resource(served, path)).await
    }

    async fn use_roots_of(&self, peer: &Peer<RoleServer>) {
        let sources = match peer.list_roots().await {
            Ok(answer) => {
                let mut sources = Vec::new();
                for root in answer.roots {
                    match uri::local_path(&root.uri) {
                        Some(path) => sources.push(SkillSource::Repository(path)),
                        None => print(&format!("the root {} is not a directory on this machine", root.uri)),
                    }
                }
                Some(sources)
            }
            Err(error) => {
                print(&format!("the client does not name its roots: {error}"));
                None
            }
        };
        self.state.set_sources(sources).await;
    }

    async fn read_resource_at(&self, uri: &str) -> Result<Vec<ResourceContents>, ErrorData> {
        resources::read(&*self.state.library().await, uri).map_err(|why| {
            ErrorData::resource_not_found(format!("{} {why}", uri.escape_debug()), Some(json!({ "uri": uri })))
        })
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
            .enable_skills_with_directory_read()
            .build();
        let config =
            ServerConfig::new(capabilities).with_server_info(Implementation::new(NAME, env!("CARGO_PKG_VERSION")));
        match self.state.settings.wording {
            Wording::Mild => {
                config.with_instructions(skill_list::instructions(self.state.library_if_known().as_deref()))
            }
            // The server skilljack has no instructions.
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
            self.state.await_sources();
        }
        self.negotiate_initialize(&request)
    }

    async fn on_initialized(&self, context: NotificationContext<RoleServer>) {
        tokio::spawn(notify_changes(self.state.clone(), context.peer.clone()));
        let has_roots = context.peer.peer_info().is_some_and(|info| info.capabilities.roots.is_some());
        if self.by_roots && has_roots {
            self.use_roots_of(&context.peer).await;
        }
    }

    async fn on_roots_list_changed(&self, context: NotificationContext<RoleServer>) {
        if self.by_roots {
            self.use_roots_of(&context.peer).await;
        }
    }

    async fn list_tools(
        &self,
        request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        self.state.log.requested("tools");
        no_cursor(request)?;
        let client = context.peer.peer_info();
        let client = skill_list::display_of(client.as_ref().map(|info| info.client_info.name.as_str()));
        let library = self.state.library().await;
        Ok(ListToolsResult::with_all_items(tools::all(&library, self.state.settings, client)))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let arguments = request.arguments.as_ref();
        let answer = match &*request.name {
            tools::SKILL => self.call_skill(arguments).await,
            tools::RESOURCE => self.call_resource(arguments).await,
            other => {
                let (skill, resource) = (tools::SKILL, tools::RESOURCE);
                return Err(invalid(format!("unknown tool `{other}`; the tools are `{skill}` and `{resource}`")));
            }
        };
        Ok(match answer {
            Ok(text) => CallToolResult::success(vec![ContentBlock::text(text)]).into(),
            Err(why) => CallToolResult::error(vec![ContentBlock::text(why)]).into(),
        })
    }

    async fn list_prompts(
        &self,
        request: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        self.state.log.requested("prompts");
        no_cursor(request)?;
        Ok(ListPromptsResult::with_all_items(prompts::all(&*self.state.library().await)))
    }

    async fn get_prompt(
        &self,
        request: GetPromptRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<GetPromptResponse, ErrorData> {
        let arguments = request.arguments.as_ref();
        if request.name == prompts::SKILL {
            let missing = || invalid(format!("the prompt `{}` needs a `{}`", prompts::SKILL, prompts::NAME));
            let name = prompts::argument(arguments, prompts::NAME)?.ok_or_else(missing)?;
            return Ok(self.with_skill(name, prompts::embedded).await.map_err(invalid)?.into());
        }
        let user_text = prompts::argument(arguments, prompts::ARGUMENTS)?;
        let skill_text = |served: &ServedSkill| {
            prompts::check_user_may_call(served)?;
            answer::skill(served, self.state.settings.result)
        };
        let mut text = self.with_skill(&request.name, skill_text).await.map_err(invalid)?;
        if let Some(user_text) = user_text {
            text = format!("{text}\nARGUMENTS: {user_text}");
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
        self.state.log.requested("resources");
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
        Ok(ReadResourceResult::new(self.read_resource_at(&request.uri).await?).into())
    }

    async fn list_skills(
        &self,
        request: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListSkillsResult, ErrorData> {
        self.state.log.requested("skills");
        no_cursor(request)?;
        Ok(extension::list(&*self.state.library().await))
    }

    async fn get_skill(
        &self,
        request: GetSkillRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<GetSkillResult, ErrorData> {
        extension::get(&*self.state.library().await, &request.uri).map_err(invalid)
    }

    async fn read_resource_directory(
        &self,
        request: ReadResourceDirectoryRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<ReadResourceDirectoryResult, ErrorData> {
        one_page(request.cursor.as_ref())?;
        extension::read_directory(&*self.state.library().await, &request.uri).map_err(invalid)
    }

    async fn subscribe(&self, request: SubscribeRequestParams, _: RequestContext<RoleServer>) -> Result<(), ErrorData> {
        // Fails if the resource does not exist.
        self.read_resource_at(&request.uri).await?;
        self.state.subscriptions().insert(request.uri);
        Ok(())
    }

    async fn unsubscribe(
        &self,
        request: UnsubscribeRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        self.state.subscriptions().remove(&request.uri);
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
                change = next_change(&mut changes) => change,
            };
            let Some(change) = change else { return Ok(()) };
            self.state.log.notified();
            // The sink does not send notifications that the client did not subscribe to.
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
        // rmcp calls this also for a known method with invalid parameters.
        Err(unhandled(&request.method))
    }
}

/// Sends notifications of changes by the older protocol until the client leaves.
async fn notify_changes(state: Arc<ServerState>, peer: Peer<RoleServer>) {
    let mut changes = state.changes();
    while let Some(change) = next_change(&mut changes).await {
        // Before the client is notified: it may request a list at once.
        state.log.notified();
        if notify_change(&state, &peer, &change).await.is_err() {
            return;
        }
    }
}

async fn notify_change(
    state: &ServerState,
    peer: &Peer<RoleServer>,
    change: &LibraryChange,
) -> Result<(), ServiceError> {
    if change.skills {
        peer.notify_tool_list_changed().await?;
        peer.notify_prompt_list_changed().await?;
    }
    if change.skills || change.files {
        peer.notify_resource_list_changed().await?;
    }
    let library = state.library().await;
    let mut updated: Vec<String> = state.subscriptions().iter().cloned().collect();
    updated.retain(|uri| {
        let address = Address::parse(uri).map(Address::by_slug);
        address
            .is_ok_and(|address| change.updated.contains(&address) || may_be_changed_link(&library, change, &address))
    });
    for uri in updated {
        peer.notify_resource_updated(ResourceUpdatedNotificationParam::new(uri)).await?;
    }
    Ok(())
}

/// Whether an address may be a link to the file that has changed: it is in the same skill and is not a listed file.
fn may_be_changed_link(library: &Library, change: &LibraryChange, address: &Address) -> bool {
    let Address::File(slug, path) = address else { return false };
    change.updated.contains(&Address::Files(slug.clone()))
        && library.skill(slug).is_some_and(|served| served.files.iter().all(|file| file.path != *path))
}

fn invalid(why: String) -> ErrorData {
    ErrorData::invalid_params(why, None)
}

/// Rejects a cursor: each list is one page, so the server never returns one.
fn no_cursor(request: Option<PaginatedRequestParams>) -> Result<(), ErrorData> {
    one_page(request.and_then(|request| request.cursor).as_ref())
}

fn one_page(cursor: Option<&String>) -> Result<(), ErrorData> {
    match cursor {
        Some(_) => Err(invalid("this cursor is not from here: there is one page only".to_owned())),
        None => Ok(()),
    }
}
