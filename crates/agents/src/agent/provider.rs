//! What an agent may ask its provider for if its network is limited, and which credentials stay outside.

use std::ffi::OsStr;

use crate::agent::command::{AgentCommand, Assignment, prompt_prefix};
use crate::agent::network::{HeldCredential, ProviderAccess, ProviderRoute};
use crate::profile::{Profile, ProviderRequests};
use crate::settings::{Home, HostPort, Network};
use crate::text::redact::looks_secret;
use crate::trace::trouble::{Trouble, TroubleKind};
use crate::trial::evidence::digest;

/// The length of a placeholder behind its beginning.
const PLACEHOLDER: usize = 48;

/// If the network is limited, takes the credentials out of the command and lets the agent ask its provider. Credentials that stay in
/// the environment are named as not enforced.
pub(super) fn admit(assignment: &Assignment<'_>, command: &mut AgentCommand) -> Result<(), Trouble> {
    let Assignment { settings, trial_env, mode, .. } = *assignment;
    let Some(door) = trial_env.door(&settings.network)? else { return Ok(()) };
    let profile = mode.agent.profile();
    let login = login(assignment);
    let prompt = format!("{}\0{}", assignment.root.display(), prompt_prefix(mode, assignment.case));
    let mut access = ProviderAccess { prompt_key: digest(prompt.as_bytes()), ..ProviderAccess::default() };
    match settings.endpoint_of(mode.agent).map(HostPort::of_url) {
        Some(server) => {
            access.users.extend(server.clone());
            access.servers.extend(server);
        }
        None if !profile.provider_requests.is_empty() => add_own(assignment, command, login.is_some(), &mut access)?,
        None if settings.network.limit() == Some(&Network::Provider) => {
            let name = mode.agent.as_str();
            let why = format!(
                "`network` is \"provider\", and the servers of the provider of {name} are not known here: name them in \
                 `--network` or SKILL_EVALS_NETWORK, as `api.example.org,login.example.org`, or say `web` or `host`. In an \
                 untrusted repository, its own evals.toml does not decide that, but that of a gate's base does"
            );
            return Err(Trouble::new(TroubleKind::CouldNotStart, why));
        }
        None => {}
    }
    name_others(assignment, login, &access, command);
    door.admit(access);
    Ok(())
}

/// What the environment has of the user's login, in words.
fn login(assignment: &Assignment<'_>) -> Option<String> {
    let Assignment { settings, trial_env, mode, .. } = *assignment;
    let Profile { home, credentials, .. } = *mode.agent.profile();
    if settings.isolation.home == Home::User {
        return Some("the login in your own home".to_owned());
    }
    let has_copy = !credentials.is_empty() && trial_env.home().join(home).join(credentials).exists();
    has_copy.then(|| format!("a copy of your login, ~/{home}/{credentials}"))
}

/// Adds the agent's own providers: those for which there is a credential; without one, all.
fn add_own(
    assignment: &Assignment<'_>,
    command: &mut AgentCommand,
    has_login: bool,
    access: &mut ProviderAccess,
) -> Result<(), Trouble> {
    let all = assignment.mode.agent.profile().provider_requests;
    let has_key = |requests: &&ProviderRequests| {
        let is_set = |name: &str| command.env.get(OsStr::new(name)).is_some_and(|value| !value.is_empty());
        requests.keys.iter().any(|(name, _)| is_set(name))
    };
    let mut chosen: Vec<&ProviderRequests> = all.iter().filter(has_key).collect();
    if chosen.is_empty() {
        chosen.extend(all);
    }
    for requests in chosen {
        add(assignment, requests, command, access)?;
        let of_login = requests.of_login.iter().filter(|_| has_login);
        access.others.extend(of_login.filter_map(|server| server.parse::<HostPort>().ok()));
    }
    Ok(())
}

/// Adds a provider, or the server that the user's variable names in its place.
fn add(
    assignment: &Assignment<'_>,
    requests: &ProviderRequests,
    command: &mut AgentCommand,
    access: &mut ProviderAccess,
) -> Result<(), Trouble> {
    let ProviderRequests { base, base_variable, routes, keys, of_login: _ } = *requests;
    // A case's own variables do not count: they would send the user's key to another server.
    let of_settings = assignment.settings.env.get(base_variable).cloned();
    let users = of_settings.or_else(|| std::env::var(base_variable).ok()).filter(|url| !url.is_empty());
    let url = users.as_deref().unwrap_or(base).trim_end_matches('/');
    if url.is_empty() {
        return Ok(());
    }
    let Some(server) = HostPort::of_url(url) else {
        let why = format!("{base_variable} is {url:?}; expected an address as https://api.example.org");
        return Err(Trouble::new(TroubleKind::CouldNotStart, why));
    };
    let path = url.splitn(4, '/').nth(3).map_or_else(String::new, |path| format!("/{path}"));
    for (variable, start) in keys {
        let Some(held) = hold(variable, start, command, &mut access.credentials) else { continue };
        held.routes.extend(routes.iter().map(|(method, end)| ProviderRoute {
            method,
            server: server.clone(),
            path: format!("{path}{end}"),
        }));
    }
    access.users.extend(users.map(|_| server.clone()));
    access.servers.push(server);
    Ok(())
}

/// Takes a variable's credential out of the command, if it has one that a header can hold.
fn hold<'a>(
    variable: &str,
    start: &str,
    command: &mut AgentCommand,
    held: &'a mut Vec<HeldCredential>,
) -> Option<&'a mut HeldCredential> {
    if let Some(at) = held.iter().position(|known| known.variable == variable) {
        return held.get_mut(at);
    }
    let value = command.env.get_mut(OsStr::new(variable))?;
    let real = value.to_str().filter(|real| !real.trim().is_empty())?.to_owned();
    let rest = std::iter::repeat_with(fastrand::alphanumeric).take(PLACEHOLDER);
    let placeholder: String = start.chars().chain(rest).collect();
    *value = placeholder.clone().into();
    held.push(HeldCredential { variable: variable.to_owned(), placeholder, real, routes: Vec::new() });
    held.last_mut()
}

/// Names the credentials that are in the environment: variables whose names say so, or with values that must not be stored.
fn name_others(
    assignment: &Assignment<'_>,
    login: Option<String>,
    access: &ProviderAccess,
    command: &mut AgentCommand,
) {
    let Assignment { settings, mode, .. } = *assignment;
    // An endpoint gets a key of ours.
    let has_own = settings.endpoint_of(mode.agent).is_none();
    let is_held = |secret: &String| access.credentials.iter().any(|held| held.real.contains(secret.as_str()));
    let is_in_variable =
        |secret: &String| command.env.values().any(|value| value.to_string_lossy().contains(secret.as_str()));
    let mut in_files = command.secrets.iter().filter(|secret| !is_held(secret) && !is_in_variable(secret));
    let in_files = in_files.next().filter(|_| has_own).map(|_| "a key in the agent's own files".to_owned());
    let mut within: Vec<String> = login.or(in_files).into_iter().collect();
    for (name, value) in &command.env {
        let (name, value) = (name.to_string_lossy(), value.to_string_lossy());
        let is_secret = settings.secret_env.iter().any(|secret| *secret == name)
            || looks_secret(&name, &value)
            || command.secrets.iter().any(|secret| !secret.is_empty() && value.contains(secret.as_str()));
        let is_held = access.credentials.iter().any(|held| held.variable == name);
        if is_secret && has_own && !is_held && !value.is_empty() {
            within.push(format!("the variable {name}"));
        }
    }
    let named = within.into_iter().map(|what| format!("the agent's environment has a credential: {what}"));
    command.not_enforced.extend(named);
}
