//! What is answered from files in a trial, and the record of its calls.

use crate::agent::trial_env::TrialEnv;
use crate::cases::case::Case;
use crate::cases::case_parts::{self};
use crate::cases::mocks::Mocks;
use crate::cases::repository::Repository;
use crate::mock::CallLog;
use crate::run::agent_run::{disk, files};
use crate::run::planned::PlannedRun;
use crate::settings::mode::Mode;
use crate::text::redact::Redactor;
use crate::trace::trouble::Trouble;
use crate::trace::{Step, Trace};
use crate::trial::evidence::Inputs;
use crate::trial::mock::{MockCall, MockCalls, MockServer};
use std::collections::BTreeMap;

/// What the agent of a trial was shown.
pub(super) struct ShownMocks {
    calls: CallLog,
    servers: BTreeMap<String, MockServer>,
}

/// Shows the agent what is answered from files, if anything is; its digest goes into `inputs`.
pub(super) fn show(
    run: &PlannedRun,
    mode: &Mode,
    case: &Case,
    trial_env: &TrialEnv,
    inputs: &mut Inputs,
) -> Result<Option<ShownMocks>, Trouble> {
    let mocks = Mocks::of(&Repository::new(run.root.clone()), &run.settings.mocks, case, mode.delivery);
    let listed = |problems: Vec<_>| problems.iter().map(ToString::to_string).collect::<Vec<String>>().join("; ");
    let mut mocks = mocks.map_err(|problems| files(&listed(problems)))?;
    // What was read before may have changed since.
    inputs.0.remove(case_parts::MOCKS);
    let Some(digest) = &mocks.digest else { return Ok(None) };
    inputs.0.insert(case_parts::MOCKS.to_owned(), digest.clone());
    // As agents name them, and in place of them.
    if let Some(plugin) = run.plugin_for(mode, case) {
        for server in &plugin.servers {
            let mocked = mocks.servers.remove(server);
            mocks.servers.extend(mocked.map(|mocked| (plugin.server_name(server), mocked)));
        }
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
            (*name, *input) = (redactor.mask_text(name), redactor.masked(input).cut());
            *violated = violated.as_ref().map(|why| redactor.masked(why).cut());
        }
        record
    }
}
