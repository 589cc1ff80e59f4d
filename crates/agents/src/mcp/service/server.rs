//! Answers the requests of the protocol.

// Roots and `resources/subscribe` are deprecated in the newest protocol.
#![expect(deprecated, reason = "clients that negotiate an older protocol need them")]

use std::collections::BTreeSet;
use std::io::{self, Write};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use rmcp::model::{
    CacheScope, CallToolRequestParams, CallToolResponse, CallToolResult, CompleteRequestParams, CompleteResult,
    ContentBlock, CustomRequest, CustomResult, DIRECTORY_MIME_TYPE, GetPromptRequestParams, GetPromptResponse,
    GetPromptResult, GetSkillRequestParams, GetSkillResult, Implementation, InitializeRequestParams, InitializeResult,
    JsonObject, ListPromptsResult, ListResourceTemplatesResult, ListResourcesResult, ListSkillsResult, ListToolsResult,
    PaginatedRequestParams, PromptMessage, ReadResourceDirectoryRequestParams, ReadResourceDirectoryResult,
    ReadResourceRequestParams, ReadResourceResponse, ReadResourceResult, Resource, ResourceContents, ResourceTemplate,
    ResourceUpdatedNotificationParam, Role, ServerCapabilities, ServerConfig, Skill, SkillFrontmatter, SkillResource,
    SkillResources, SubscribeRequestParams, SubscriptionFilter, UnsubscribeRequestParams,
};
use rmcp::service::{NotificationContext, Peer, RequestContext, ServiceError, SubscriptionContext};
use rmcp::{ErrorData, RoleServer, ServerHandler};
use serde_json::{Map, Value, json};
use tokio::sync::{broadcast, watch};
use tokio::task::spawn_blocking;
use tokio::time::{sleep, timeout};

use super::library::{Address, Library, LibraryChange, ServedContent, ServedSkill, SkillSource};
use super::stdio::{RequestLog, unhandled};
use crate::mcp::NotAnswered;
use crate::mcp::service::{library, offers};
use crate::settings::{BuiltIn, Wording};
use crate::skill::{SKILL_FILE, SkillFile};
use crate::text::escape;

/// The server's name. It is part of the names of tools that the model sees: `mcp__skilljack__…`.
const NAME: &str = "skilljack";

pub(super) struct Server {
    pub state: Arc<ServerState>,
    /// Whether the skills are in the client's roots, if it has any.
    pub by_roots: bool,
}

impl Server {
    /// The answer of `ask` for the skill with this name. Scans again if the skill is unknown: it may be new.
    async fn with_skill<T>(
        &self,
        name: &str,
        ask: impl Fn(&ServedSkill) -> Result<T, NotAnswered>,
    ) -> Result<T, NotAnswered> {
        let mut library = self.state.library().await;
        if library.skill(name).is_none() {
            library = self.state.scan().await;
        }
        ask(offers::named_skill(&library, name)?)
    }

    async fn call_skill(&self, arguments: Option<&JsonObject>) -> Result<String, NotAnswered> {
        let name = offers::required_argument(offers::SKILL_TOOL, arguments, "name")?;
        self.with_skill(name, |served| offers::skill_answer(served, self.state.settings.result)).await
    }

    async fn call_resource(&self, arguments: Option<&JsonObject>) -> Result<String, NotAnswered> {
        let name = offers::required_argument(offers::RESOURCE_TOOL, arguments, "skill")?;
        let path = offers::string_argument(offers::RESOURCE_TOOL, arguments, "path")?.unwrap_or_default();
        self.with_skill(name, |served| offers::resource_answer(served, path)).await
    }

    async fn use_roots_of(&self, peer: &Peer<RoleServer>) {
        let sources = match peer.list_roots().await {
            Ok(answer) => {
                let mut sources = Vec::new();
                for root in answer.roots {
                    match library::local_path(&root.uri) {
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
        offers::read_resource(&*self.state.library().await, uri).map_err(|why| {
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
            Wording::Mild => config.with_instructions(offers::instructions(self.state.library_if_known().as_deref())),
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
        let client = offers::display_of(client.as_ref().map(|info| info.client_info.name.as_str()));
        let library = self.state.library().await;
        Ok(ListToolsResult::with_all_items(offers::all_tools(&library, self.state.settings, client)))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let arguments = request.arguments.as_ref();
        let answer = match &*request.name {
            offers::SKILL_TOOL => self.call_skill(arguments).await,
            offers::RESOURCE_TOOL => self.call_resource(arguments).await,
            other => {
                let (skill, resource) = (offers::SKILL_TOOL, offers::RESOURCE_TOOL);
                return Err(invalid(format!("unknown tool `{other}`; the tools are `{skill}` and `{resource}`")));
            }
        };
        Ok(match answer {
            Ok(text) => CallToolResult::success(vec![ContentBlock::text(text)]).into(),
            Err(why) => CallToolResult::error(vec![ContentBlock::text(why.0)]).into(),
        })
    }

    async fn list_prompts(
        &self,
        request: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        self.state.log.requested("prompts");
        no_cursor(request)?;
        Ok(ListPromptsResult::with_all_items(offers::all_prompts(&*self.state.library().await)))
    }

    async fn get_prompt(
        &self,
        request: GetPromptRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<GetPromptResponse, ErrorData> {
        let arguments = request.arguments.as_ref();
        if request.name == offers::SKILL_PROMPT {
            let missing =
                || invalid(format!("the prompt `{}` needs a `{}`", offers::SKILL_PROMPT, offers::NAME_ARGUMENT));
            let name = offers::prompt_argument(arguments, offers::NAME_ARGUMENT)?.ok_or_else(missing)?;
            return Ok(self.with_skill(name, offers::embedded_prompt).await.map_err(invalid)?.into());
        }
        let user_text = offers::prompt_argument(arguments, offers::PROMPT_ARGUMENTS)?;
        let skill_text = |served: &ServedSkill| {
            offers::check_user_may_call(served)?;
            offers::skill_answer(served, self.state.settings.result)
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
        offers::completions_of(&*self.state.library().await, &request)
    }

    async fn list_resources(
        &self,
        request: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        self.state.log.requested("resources");
        no_cursor(request)?;
        Ok(ListResourcesResult::with_all_items(offers::all_resources(&*self.state.library().await)))
    }

    async fn list_resource_templates(
        &self,
        request: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        no_cursor(request)?;
        let templates = library::URI_TEMPLATES
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
        Ok(list_skills(&*self.state.library().await))
    }

    async fn get_skill(
        &self,
        request: GetSkillRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<GetSkillResult, ErrorData> {
        get_skill(&*self.state.library().await, &request.uri).map_err(invalid)
    }

    async fn read_resource_directory(
        &self,
        request: ReadResourceDirectoryRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<ReadResourceDirectoryResult, ErrorData> {
        one_page(request.cursor.as_ref())?;
        read_skill_directory(&*self.state.library().await, &request.uri).map_err(invalid)
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

fn invalid(why: impl Into<NotAnswered>) -> ErrorData {
    ErrorData::invalid_params(why.into().0, None)
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

// The state of a running server: where the skills are, the library, and the clients' subscriptions.

/// Minimum time between two scans. A scan reads directories and metadata only. File system events would come sooner, but
/// need a watch per directory, are unreliable on network and container file systems, and report half-written files.
const SCAN_INTERVAL: Duration = Duration::from_millis(500);

/// Maximum time to wait for a client's roots before its requests are answered without them.
const ROOTS_TIMEOUT: Duration = Duration::from_secs(3);

/// Maximum number of changes that a receiver may lag behind. After that, everything counts as changed.
const MAX_LAG: usize = 16;

#[derive(Debug)]
pub(super) struct ServerState {
    pub settings: BuiltIn,
    pub log: RequestLog,
    sources: Mutex<Vec<SkillSource>>,
    library: watch::Sender<Arc<Library>>,
    /// False while the server waits for the client's roots.
    sources_known: watch::Sender<bool>,
    changes: broadcast::Sender<Arc<LibraryChange>>,
    subscriptions: Mutex<BTreeSet<String>>,
    /// Held during a scan: an older scan must not overwrite a newer one.
    scanning: tokio::sync::Mutex<()>,
}

impl ServerState {
    /// Scans `sources` for the first time.
    pub(super) fn new(sources: Vec<SkillSource>, settings: BuiltIn, log: RequestLog) -> Self {
        let library = Library::scan(&sources, settings, &Library::default());
        print_new_problems(&library, &Library::default());
        Self {
            settings,
            log,
            sources: Mutex::new(sources),
            library: watch::Sender::new(Arc::new(library)),
            sources_known: watch::Sender::new(true),
            changes: broadcast::Sender::new(MAX_LAG),
            subscriptions: Mutex::default(),
            scanning: tokio::sync::Mutex::default(),
        }
    }

    /// The library, or `None` while the server waits for the client's roots.
    fn library_if_known(&self) -> Option<Arc<Library>> {
        self.sources_known.borrow().then(|| self.library.borrow().clone())
    }

    /// The library. Waits for the client's roots.
    pub(super) async fn library(&self) -> Arc<Library> {
        let mut known = self.sources_known.subscribe();
        let _ = timeout(ROOTS_TIMEOUT, known.wait_for(|known| *known)).await;
        self.library.borrow().clone()
    }

    /// Delays answers until [`Self::set_sources`] is called.
    fn await_sources(&self) {
        self.sources_known.send_replace(false);
    }

    /// Serves the skills of `sources`. `None` keeps the current sources.
    async fn set_sources(self: &Arc<Self>, sources: Option<Vec<SkillSource>>) {
        if let Some(sources) = sources {
            *lock(&self.sources) = sources;
        }
        self.scan().await;
        self.sources_known.send_replace(true);
    }

    /// Scans the skills and announces changes.
    pub(super) async fn scan(self: &Arc<Self>) -> Arc<Library> {
        let _guard = self.scanning.lock().await;
        let (sources, settings) = (lock(&self.sources).clone(), self.settings);
        let previous = self.library.borrow().clone();
        let known = previous.clone();
        // A slow file system must not delay the protocol.
        let scan = spawn_blocking(move || Library::scan(&sources, settings, &known));
        let Ok(library) = scan.await else { return previous };
        print_new_problems(&library, &previous);
        let change = library.changes_since(&previous);
        let library = Arc::new(library);
        self.library.send_replace(library.clone());
        if let Some(change) = change {
            // Fails only without receivers.
            let _ = self.changes.send(Arc::new(change));
        }
        library
    }

    /// Scans again and again.
    pub(super) async fn keep_scanning(self: Arc<Self>) {
        let mut pause = SCAN_INTERVAL;
        loop {
            sleep(pause).await;
            let start = Instant::now();
            self.scan().await;
            // Slow file systems are scanned less often.
            pause = SCAN_INTERVAL.max(start.elapsed() * 10);
        }
    }

    pub(super) fn changes(&self) -> broadcast::Receiver<Arc<LibraryChange>> {
        self.changes.subscribe()
    }

    /// The URIs to which a client subscribed by `resources/subscribe`.
    fn subscriptions(&self) -> MutexGuard<'_, BTreeSet<String>> {
        lock(&self.subscriptions)
    }
}

/// The next change. `None` if the server ends.
async fn next_change(changes: &mut broadcast::Receiver<Arc<LibraryChange>>) -> Option<Arc<LibraryChange>> {
    match changes.recv().await {
        Ok(change) => Some(change),
        Err(broadcast::error::RecvError::Lagged(_)) => {
            Some(Arc::new(LibraryChange { skills: true, files: true, ..LibraryChange::default() }))
        }
        Err(broadcast::error::RecvError::Closed) => None,
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn print_new_problems(library: &Library, previous: &Library) {
    for problem in library.problems.iter().filter(|problem| !previous.problems.contains(problem)) {
        print(problem);
    }
}

/// Prints a line to standard error: standard output belongs to the protocol.
#[expect(clippy::disallowed_methods, reason = "the line is made safe")]
pub(super) fn print(message: &str) {
    let _ = writeln!(io::stderr(), "skill-evals mcp: {}", escape::line(message));
}

// The skills extension of the protocol (SEP-2640): what each skill is, with the digests of all its files. The files are read
// with the resources of the protocol.

/// What every client has to accept: the files of a skill, and their bytes together.
const MAX_FILES: usize = 512;
const MAX_BYTES: u64 = 16 * 1024 * 1024;

/// Files may change at any moment, so clients ask again.
const TTL_MS: u64 = 0;

/// All skills that the extension can describe.
fn list_skills(library: &Library) -> ListSkillsResult {
    let skills = library.skills.iter().filter_map(|served| extension_entry(served).ok()).collect();
    let mut list = ListSkillsResult::with_all_items(skills);
    (list.ttl_ms, list.cache_scope) = (Some(TTL_MS), Some(CacheScope::Private));
    list
}

/// The skill whose SKILL.md is at a URI.
fn get_skill(library: &Library, uri: &str) -> Result<GetSkillResult, NotAnswered> {
    let served = library.skills.iter().find(|served| uri_of(served, SKILL_FILE) == uri);
    let skill = extension_entry(served.ok_or_else(|| format!("no skill is served at {}", uri.escape_debug()))?)?;
    Ok(GetSkillResult::new(skill).with_ttl_ms(TTL_MS).with_cache_scope(CacheScope::Private))
}

/// The files and directories in the directory at a URI.
fn read_skill_directory(library: &Library, uri: &str) -> Result<ReadResourceDirectoryResult, NotAnswered> {
    let not_a_directory = || NotAnswered(format!("{} is not a directory of a skill", uri.escape_debug()));
    let (name, path) = match Address::parse(uri) {
        Ok(Address::Skill(name)) => (name, String::new()),
        Ok(Address::File(name, path)) => (name, format!("{path}/")),
        _ => return Err(not_a_directory()),
    };
    let served = library.skill(&name).ok_or_else(not_a_directory)?;
    let mut children: Vec<Resource> = Vec::new();
    for file in &served.files {
        let Some(rest) = file.path.strip_prefix(&path) else { continue };
        let child = match rest.split_once('/') {
            None => offers::listed_resource(served, file),
            Some((directory, _)) => {
                let uri = uri_of(served, &format!("{path}{directory}"));
                if children.iter().any(|child| child.uri == uri) {
                    continue;
                }
                Resource::new(uri, directory).with_mime_type(DIRECTORY_MIME_TYPE)
            }
        };
        children.push(child);
    }
    if children.is_empty() { Err(not_a_directory()) } else { Ok(ReadResourceDirectoryResult::with_all_items(children)) }
}

/// What the extension says about a skill. The error is the reason why it cannot describe it.
fn extension_entry(served: &ServedSkill) -> Result<Skill, NotAnswered> {
    let name = &served.skill.name;
    let mut remaining = MAX_BYTES;
    let mut read = |path: &str| match served.read_up_to(path, remaining) {
        Ok(ServedContent::File(bytes)) => {
            remaining -= bytes.len() as u64;
            Ok((SkillResource::from_bytes(uri_of(served, path), &bytes), bytes))
        }
        Ok(ServedContent::Directory) => Err(NotAnswered(format!("{path} of the skill `{name}` is a directory"))),
        Err(error) => Err(NotAnswered(format!("{path} of the skill `{name}` {error}"))),
    };
    // A SKILL.md that is a link is not among the listed files.
    let (skill_file, bytes) = read(SKILL_FILE)?;
    let front = front_matter_of(served, &bytes).filter(|front| is_name(&front.name)).ok_or_else(|| {
        format!("the front matter of the skill `{name}` needs a `description`, and a `name` in lower case with hyphens")
    })?;
    let mut files = vec![skill_file];
    for file in served.files.iter().filter(|file| file.path != SKILL_FILE) {
        files.push(read(&file.path)?.0);
    }
    if files.len() > MAX_FILES {
        return Err(format!("the skill `{name}` has more than {MAX_FILES} files").into());
    }
    Ok(Skill::new(uri_of(served, SKILL_FILE), front, SkillResources::Files(files)))
}

/// The front matter of a SKILL.md, as it is; `None` if it lacks what every skill has.
fn front_matter_of(served: &ServedSkill, bytes: &[u8]) -> Option<SkillFrontmatter> {
    let file = SkillFile::parse(&served.skill.folder, bytes);
    let fields: Map<String, Value> = file.entries.iter().map(|entry| (entry.key.clone(), entry.value.json())).collect();
    let front: SkillFrontmatter = serde_json::from_value(fields.into()).ok()?;
    (file.problems.is_empty() && !front.description.is_empty()).then_some(front)
}

/// Whether every client accepts a name: it is the same as its slug then.
fn is_name(name: &str) -> bool {
    let known = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    name.len() <= 64 && name.chars().all(known) && name.split('-').all(|part| !part.is_empty())
}

fn uri_of(served: &ServedSkill, path: &str) -> String {
    Address::File(served.skill.slug.clone(), path.to_owned()).uri()
}
