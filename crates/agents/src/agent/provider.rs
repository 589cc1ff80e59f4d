//! What an agent may ask its provider for if its network is limited, and which credentials stay outside.

use std::ffi::OsStr;

use crate::agent::command::{AgentCommand, Assignment};
use crate::agent::network::{HeldCredential, ProviderAccess};
use crate::profile::{Profile, ProviderRequests};
use crate::settings::{Home, HostPort, Network};
use crate::text::redact::looks_secret;
use crate::trace::trouble::{Trouble, TroubleKind};

/// The length of a placeholder behind its beginning.
const PLACEHOLDER: usize = 48;

/// If the network is limited, takes the credentials out of the command and lets the agent ask its provider. Credentials that stay in
/// the environment are named as not enforced.
pub(super) fn admit(assignment: &Assignment<'_>, command: &mut AgentCommand) -> Result<(), Trouble> {
    let Assignment { settings, trial_env, mode, .. } = *assignment;
    let Some(door) = trial_env.door(&settings.network)? else { return Ok(()) };
    let profile = mode.agent.profile();
    let login = login(assignment);
    let mut access = match (settings.endpoint_of(mode.agent), &profile.provider_requests) {
        (Some(url), _) => ProviderAccess { server: HostPort::of_url(url), is_users: true, ..ProviderAccess::default() },
        (None, Some(requests)) => own(assignment, requests, command)?,
        (None, None) if settings.network.limit() == Some(&Network::Provider) => {
            let name = mode.agent.as_str();
            let why = format!(
                "`network` is \"provider\", and the servers of the provider of {name} are not known here: name them in \
                 `--network` or SKILL_EVALS_NETWORK, as `api.example.org,login.example.org`, or say `web` or `host`. In an \
                 untrusted repository, its own evals.toml does not decide that, but that of a gate's base does"
            );
            return Err(Trouble::new(TroubleKind::CouldNotStart, why));
        }
        (None, None) => ProviderAccess::default(),
    };
    if let (Some(_), Some(requests)) = (&login, &profile.provider_requests) {
        access.others = requests.of_login.iter().filter_map(|server| server.parse().ok()).collect();
    }
    name_others(assignment, login, command);
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

/// The agent's own provider, or the server that the user's variable names in its place.
fn own(
    assignment: &Assignment<'_>,
    requests: &ProviderRequests,
    command: &mut AgentCommand,
) -> Result<ProviderAccess, Trouble> {
    let ProviderRequests { base, base_variable, routes, keys, of_login: _ } = requests;
    // A case's own variables do not count: they would send the user's key to another server.
    let of_settings = assignment.settings.env.get(*base_variable).cloned();
    let users = of_settings.or_else(|| std::env::var(base_variable).ok()).filter(|url| !url.is_empty());
    let url = users.as_deref().unwrap_or(base).trim_end_matches('/');
    let Some(server) = HostPort::of_url(url) else {
        let why = format!("{base_variable} is {url:?}; expected an address as {base}");
        return Err(Trouble::new(TroubleKind::CouldNotStart, why));
    };
    let path = url.splitn(4, '/').nth(3).map_or_else(String::new, |path| format!("/{path}"));
    let mut credentials = Vec::new();
    for (variable, start) in *keys {
        let Some(value) = command.env.get_mut(OsStr::new(variable)) else { continue };
        let Some(real) = value.to_str().map(str::to_owned).filter(|real| !real.trim().is_empty()) else { continue };
        let rest = std::iter::repeat_with(fastrand::alphanumeric).take(PLACEHOLDER);
        let placeholder: String = start.chars().chain(rest).collect();
        *value = placeholder.clone().into();
        credentials.push(HeldCredential { variable: (*variable).to_owned(), placeholder, real });
    }
    let routes = routes.iter().map(|(method, end)| ((*method).to_owned(), format!("{path}{end}"))).collect();
    Ok(ProviderAccess { server: Some(server), others: Vec::new(), is_users: users.is_some(), routes, credentials })
}

/// Names the credentials that are in the environment.
fn name_others(assignment: &Assignment<'_>, login: Option<String>, command: &mut AgentCommand) {
    let Assignment { settings, mode, .. } = *assignment;
    let requests = mode.agent.profile().provider_requests.iter();
    // An endpoint gets a key of ours.
    let has_own = settings.endpoint_of(mode.agent).is_none();
    let held: Vec<&str> = requests.flat_map(|own| own.keys).map(|(name, _)| *name).collect();
    let mut within: Vec<String> = login.into_iter().collect();
    for (name, value) in &command.env {
        let (name, value) = (name.to_string_lossy(), value.to_string_lossy());
        let is_secret = settings.secret_env.iter().any(|secret| *secret == name) || looks_secret(&name, &value);
        if is_secret && has_own && !held.contains(&&*name) && !value.is_empty() {
            within.push(format!("the variable {name}"));
        }
    }
    let named = within.into_iter().map(|what| format!("the agent's environment has a credential: {what}"));
    command.not_enforced.extend(named);
}
