//! What is answered from files in a trial, and the record of its calls.

use std::collections::BTreeMap;

use crate::agent;
use crate::agent::mcp_probe::ServerCommand;
use crate::agent::trial_env::TrialEnv;
use crate::cases::case::Case;
use crate::cases::mocks::Mocks;
use crate::cases::repository::Repository;
use crate::mock::CallLog;
use crate::run::agent_run::{disk, files};
use crate::run::context::RunContext;
use crate::settings::mode::{Delivery, Mode};
use crate::text::redact::Redactor;
use crate::trace::trouble::{Trouble, TroubleKind};
use crate::trace::{Step, Trace};
use crate::trial::mock::{MockCall, MockCalls, MockServer};

/// What the agent of a trial was shown.
pub(super) struct ShownMocks {
    calls: CallLog,
    servers: BTreeMap<String, MockServer>,
}

/// Shows the agent what is answered from files, if anything is.
pub(super) fn show(
    run: &RunContext,
    mode: &Mode,
    case: &Case,
    trial_env: &TrialEnv,
    server: Option<&ServerCommand>,
) -> Result<Option<ShownMocks>, Trouble> {
    let mocks = Mocks::of(&Repository { root: run.root.clone() }, &run.settings.mocks, case);
    let listed = |problems: Vec<_>| problems.iter().map(ToString::to_string).collect::<Vec<String>>().join("; ");
    let mut mocks = mocks.map_err(|problems| files(&listed(problems)))?;
    // The servers of a plugin come with it.
    if mode.delivery == Delivery::None && case.mock_servers.is_some() {
        mocks.servers.clear();
    }
    if mocks.is_empty() {
        return Ok(None);
    }
    let own = server.map(|server| &server.names.server);
    if let Some(own) = own.filter(|own| mocks.servers.contains_key(*own)) {
        let why = format!("the MCP server of skills is called `{own}` too: rename the directory of its answers");
        return Err(Trouble::new(TroubleKind::CouldNotStart, why));
    }
    let needed = agent::started_by(mode.agent, &run.settings)?;
    if let Some(command) = mocks.commands.keys().find(|command| needed.contains(command)) {
        let agent = mode.agent.profile().name;
        let why = format!("{agent} itself is started by `{command}`, so that cannot be answered from files");
        return Err(Trouble::new(TroubleKind::CouldNotStart, why));
    }
    let calls = trial_env.show_mocks(&mocks).map_err(|error| disk(&error))?;
    Ok(Some(ShownMocks { calls, servers: mocks.servers }))
}

impl ShownMocks {
    /// The calls that were made, also those of tools that no file answers: an agent does not send them to a server.
    pub(super) fn record(self, trace: &Trace, redactor: &Redactor) -> MockCalls {
        let Self { calls, servers } = self;
        let mut record = calls.calls();
        for step in &trace.steps {
            let Step::Tool { name, input, .. } = step else { continue };
            let of = servers.iter().find_map(|(known, server)| {
                Some((server, name.strip_prefix("mcp__")?.strip_prefix(known)?.strip_prefix("__")?))
            });
            let Some((server, tool)) = of.filter(|(server, tool)| server.tools.iter().all(|known| known.name != *tool))
            else {
                continue;
            };
            let name = format!("{}/{tool}", server.name);
            record.calls.push(MockCall { name, input: input.clone(), answered: false, violated: None });
        }
        for MockCall { name, input, violated, .. } in &mut record.calls {
            (*name, *input) = (redactor.mask_text(name), redactor.mask_text(input));
            *violated = violated.as_ref().map(|why| redactor.mask_text(why));
        }
        record
    }
}
