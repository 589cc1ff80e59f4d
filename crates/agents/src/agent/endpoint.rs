//! Points an agent at another server than its provider's, as its profile says: by variables, and by files in its home. The user's
//! own credentials do not go there.

use std::ffi::OsStr;

use serde_json::Value;

use crate::agent::assignment::Assignment;
use crate::agent::command::AgentCommand;
use crate::agent::files::merge;
use crate::files::bounded;
use crate::files::rooted::{PRIVATE, RootedPath};
use crate::profile::{EndpointSetup, Profile};
use crate::settings::Settings;
use crate::settings::mode::{AgentKind, Mode};
use crate::text::redact::looks_secret;
use crate::trace::trouble::{Trouble, TroubleKind};

/// The key for servers that want one. A local server takes any.
const KEY: &str = "skill-evals-endpoint-key";

/// A server for an agent, and what points the agent there.
pub(super) struct PointedAgent {
    /// Those of the run, with the agent's variables and its name of the model.
    pub(super) settings: Settings,
    /// Files in the home.
    files: Vec<(&'static str, String)>,
}

/// Why an agent cannot be pointed at the endpoint that the settings name, and what to do.
pub fn refusal(settings: &Settings, kind: AgentKind, mode: Option<&Mode>) -> Option<String> {
    settings.endpoint_of(kind)?;
    let name = kind.as_str();
    if !can_be_pointed(settings, kind) {
        let why = format!("{name} cannot be pointed at an endpoint: use `{{endpoint}}` in its `args` or `env`");
        return Some(why);
    }
    let has_model = mode.is_none_or(|mode| settings.model_for(mode).is_some());
    (!has_model).then(|| format!("{name} needs the model of the endpoint: add --model, or `model` in evals/evals.toml"))
}

/// Whether the agent can be pointed at another server.
pub fn can_be_pointed(settings: &Settings, kind: AgentKind) -> bool {
    let start = settings.agents.get(kind.as_str()).and_then(|agent| agent.custom.as_ref());
    kind.profile().endpoint.is_some() || start.is_some_and(|start| start.has("endpoint"))
}

impl PointedAgent {
    /// What points the agent of this mode at the endpoint of the settings, if they name one.
    pub(super) fn of(settings: &Settings, mode: &Mode) -> Result<Option<Self>, Trouble> {
        let Some(url) = settings.endpoint_of(mode.agent) else { return Ok(None) };
        if let Some(why) = refusal(settings, mode.agent, Some(mode)) {
            return Err(Trouble::new(TroubleKind::CouldNotStart, why));
        }
        let Some(setup) = &mode.agent.profile().endpoint else { return Ok(None) };
        let model = settings.model_for(mode).unwrap_or_default();
        let filled = |text: &str| EndpointSetup::filled(text, url, model, KEY);
        let mut settings = settings.clone();
        settings.env.extend(setup.variables.iter().map(|(name, value)| ((*name).to_owned(), filled(value))));
        settings.model = Some(filled(setup.model));
        Ok(Some(Self { settings, files: setup.files.iter().map(|(path, text)| (*path, filled(text))).collect() }))
    }

    /// Takes the user's credentials and provider, whose names are `provider`, from a command and the trial's home, and adds
    /// the files.
    pub(super) fn apply(
        &self,
        assignment: &Assignment<'_>,
        provider: &[String],
        command: &mut AgentCommand,
    ) -> Result<(), Trouble> {
        let is_users = |name: &OsStr, value: &OsStr| {
            let (name, value) = (name.to_string_lossy(), value.to_string_lossy());
            let is_set = self.settings.env.contains_key(&*name) || self.settings.pass_env.contains(&name.to_string());
            !is_set && (provider.contains(&name.to_string()) || looks_secret(&name, &value))
        };
        command.env.retain(|name, value| !is_users(name, value));
        let home = assignment.trial_env.home();
        let Profile { home: own, credentials, .. } = *assignment.mode.agent.profile();
        if !credentials.is_empty() {
            home.join(own).join(credentials).remove()?;
        }
        self.files.iter().try_for_each(|(path, text)| merge_file(&home.join(path), text))
    }
}

/// Merges the settings in `text` into the file, JSON or TOML.
fn merge_file(path: &RootedPath, text: &str) -> Result<(), Trouble> {
    let is_toml = path.relative().extension().is_some_and(|end| end == "toml");
    let read = |text: &str| -> Result<Value, Trouble> {
        let value = if is_toml {
            toml::from_str(text).map_err(|error| error.to_string())
        } else {
            serde_json::from_str(text).map_err(|error| error.to_string())
        };
        value.map_err(|error| Trouble::new(TroubleKind::Files, format!("{path}: {error}")))
    };
    let mut settings = match path.read(bounded::MAX_FILE) {
        Ok(text) => read(&String::from_utf8_lossy(&text))?,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Value::Null,
        Err(error) => return Err(path.error(error).into()),
    };
    merge(&mut settings, read(text)?);
    let written = if is_toml {
        toml::to_string(&settings).map_err(|error| Trouble::new(TroubleKind::Files, error.to_string()))?
    } else {
        settings.to_string()
    };
    Ok(path.replace(written.as_bytes(), PRIVATE)?)
}
