//! Whether the skill under test was offered in the way that the mode says.

use crate::settings::mode::Delivery;
use crate::skill::{Skill, slug};
use crate::trace::{Activation, Mechanism, OfferedSkills};
use crate::trial::evidence::Evidence;
use crate::trial::outcome::Status;

/// Whether the skill under test was offered in the way that the mode says and in no other, and what was offered.
pub(super) fn delivered(skill: &Skill, evidence: &Evidence<'_>) -> (Status, String) {
    let Some(offered) = &evidence.trace.offered else {
        return (Status::Unknown, "the evidence does not show which skills were offered".to_owned());
    };
    let delivery = evidence.meta.delivery;
    let has = |list: &[String]| list.iter().any(|name| slug(name) == skill.slug);
    // What only users may call is there where they can; an agent that does not know of that offers it to its model.
    // Nor is there a doubt about what it put before its model itself, since the prompt called it: by MCP the server's prompt.
    let injected =
        |activation: &Activation| activation.how == Mechanism::Injected && slug(&activation.skill) == skill.slug;
    let injected = delivery != Delivery::Mcp && evidence.trace.activations.iter().any(injected);
    let by_user = (skill.user_only && has(&offered.by_user)) || injected;
    let natively = has(&offered.native) || by_user;
    let list = if offered.native.is_empty() { "no skills".to_owned() } else { offered.native.join(", ") };
    let mut found = format!("offered: {list}");
    if natively && !has(&offered.native) {
        found.push_str("; only users can call it");
    }
    let by_mcp = by_mcp(offered, evidence, &mut found);
    let as_mode_says = natively == delivery.native() && by_mcp == delivery.mcp();
    (if as_mode_says { Status::Pass } else { Status::Fail }, found)
}

/// How the skill is to be offered, in words.
pub(super) fn as_mode_says(skill: &Skill, delivery: Delivery) -> String {
    let name = &skill.name;
    match delivery {
        Delivery::Native => format!("`{name}` offered natively, and not by MCP"),
        Delivery::Mcp => format!("`{name}` offered by MCP, and not natively"),
        Delivery::Both => format!("`{name}` offered natively and by MCP"),
        Delivery::None => format!("`{name}` not offered"),
    }
}

/// Whether the MCP server of skills was there with its skill tool and told of the skill. Adds to `found` what there was.
fn by_mcp(offered: &OfferedSkills, evidence: &Evidence<'_>, found: &mut String) -> bool {
    let names = evidence.meta.tool_names();
    let probed = evidence.meta.server.as_ref();
    let mut note = |what: String| found.extend(["; ", what.as_str()]);
    let there = match &offered.mcp {
        Some(mcp) => {
            mcp.servers.iter().for_each(|(name, status)| note(format!("MCP server {name}: {status}")));
            if !mcp.tools.is_empty() {
                note(format!("MCP tools: {}", mcp.tools.join(", ")));
            }
            // What is not to be loaded at once may come while claude is at work: it answered us.
            let later = probed.is_some_and(|server| !server.always_load && server.tools.contains(&names.skill));
            let begun = |status: &str| status == "connected" || (later && status == "pending");
            let begun = mcp.servers.iter().any(|(name, status)| *name == names.server && begun(status));
            begun && (later || mcp.tools.contains(&names.skill_tool()))
        }
        // codex says nothing of its servers, but does not start without one that it was told to require.
        None => probed.is_some_and(|server| {
            note(format!("MCP server {}, required: {}", names.server, server.tools.join(", ")));
            server.tools.contains(&names.skill)
        }),
    };
    let tells = probed.is_none_or(|server| server.tells_of_skill);
    if there && !tells {
        note("the MCP server names the skill nowhere in its instructions and tools".to_owned());
    }
    there && tells
}
