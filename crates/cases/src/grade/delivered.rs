//! Whether the skill under test was offered as the mode says.

use crate::settings::mode::{AgentKind, Delivery};
use crate::skill::{Skill, slug};
use crate::trace::{Mechanism, OfferedSkills};
use crate::trial::evidence::{Evidence, Meta};
use crate::trial::outcome::Status;

/// The check that the skill was offered as the mode says.
pub(super) const DELIVERED: &str = "delivered";

/// Whether the skill under test was offered as the mode says and in no other way, and what was offered.
pub(super) fn delivered(skill: &Skill, evidence: &Evidence<'_>) -> (Status, String) {
    let Some(offered) = &evidence.trace.offered else {
        return (Status::Unknown, "the evidence does not show which skills were offered".to_owned());
    };
    let delivery = evidence.meta.delivery;
    let is_it = |name: &String| match &evidence.meta.skill.in_plugin {
        Some(own) => name == own,
        None => slug(name) == skill.slug || offered.by_plugin.get(name) == Some(&skill.slug),
    };
    let is_listed = offered.native.iter().any(is_it);
    // A skill that entered the context was offered: the model called it, or the prompt did, which may be the only way. By MCP,
    // the server's prompt is injected, too.
    let activations = evidence.trace.activations.iter().filter(|activation| slug(&activation.skill) == skill.slug);
    let ways: Vec<Mechanism> = activations.map(|activation| activation.how).collect();
    let injected = delivery != Delivery::Mcp && ways.contains(&Mechanism::Injected);
    let loaded = injected || ways.contains(&Mechanism::SkillTool);
    let natively = is_listed || loaded;
    let list = if offered.native.is_empty() { "no skills".to_owned() } else { offered.native.join(", ") };
    let mut found = if offered.unseen {
        format!("it has: {list}; nothing shows what its model was offered")
    } else {
        format!("offered: {list}")
    };
    if !is_listed && (injected || offered.by_user.iter().any(is_it)) {
        found.push_str("; only users can call it");
    }
    let by_mcp = by_mcp(offered, evidence, &mut found);
    // What the agent has, its model may not have been shown. An agent that the user describes shows nothing: a doubt of its
    // trials says whether its calibration found that its directory is what its model is shown.
    let is_described = matches!(evidence.meta.agent.kind, AgentKind::Custom(_));
    let mut is_open = offered.unseen && is_listed && !loaded && !is_described;
    // Nor does that say what the agent makes of a skill that others leave out.
    let left_out = evidence
        .meta
        .skill
        .left_out
        .as_deref()
        .filter(|_| offered.unseen && is_listed && is_described && ways.is_empty());
    if let Some(what) = left_out {
        is_open = true;
        let fix = "nobody knows whether this agent offers such a skill; `skill-evals lint` says what to write";
        found.extend(["; its SKILL.md has ", what, ": ", fix]);
    }
    let as_mode_says = natively == delivery.native() && by_mcp == delivery.mcp();
    let status = match as_mode_says {
        _ if is_open => Status::Unknown,
        true => Status::Pass,
        false => Status::Fail,
    };
    (status, found)
}

/// How the skill is to be offered, as text.
pub(super) fn as_mode_says(skill: &Skill, meta: &Meta) -> String {
    let name = meta.skill.in_plugin.as_ref().unwrap_or(&skill.name);
    match meta.delivery {
        Delivery::Native => format!("`{name}` offered natively, and not by MCP"),
        Delivery::Mcp => format!("`{name}` offered by MCP, and not natively"),
        Delivery::Both => format!("`{name}` offered natively and by MCP"),
        Delivery::None => format!("`{name}` not offered"),
    }
}

/// Whether the MCP server of skills was available with its skill tool, and named the skill. Adds what was offered to `found`.
fn by_mcp(offered: &OfferedSkills, evidence: &Evidence<'_>, found: &mut String) -> bool {
    let names = evidence.meta.tool_names();
    let probed = evidence.meta.server.as_ref();
    let mut note = |what: String| found.extend(["; ", what.as_str()]);
    let available = match &offered.mcp {
        Some(mcp) => {
            mcp.servers.iter().for_each(|(name, status)| note(format!("MCP server {name}: {status}")));
            if !mcp.tools.is_empty() {
                note(format!("MCP tools: {}", mcp.tools.join(", ")));
            }
            // A server that claude need not load at once may still be pending, but it has answered our probe.
            let lazy = probed.is_some_and(|server| !server.always_load && server.tools.contains(&names.skill));
            let status = mcp.servers.iter().filter(|(name, _)| *name == names.server).map(|(_, status)| status);
            let mut usable = status.filter(|status| *status == "connected" || (lazy && *status == "pending"));
            let is_offered = if evidence.meta.agent.kind.profile().reports.server_tools {
                mcp.tools.contains(&names.skill_tool())
            } else {
                probed.is_some_and(|server| server.tools.contains(&names.skill))
            };
            usable.next().is_some() && (lazy || is_offered)
        }
        // codex reports no servers, but does not start without a required one.
        None => probed.is_some_and(|server| {
            note(format!("MCP server {}, required: {}", names.server, server.tools.join(", ")));
            server.tools.contains(&names.skill)
        }),
    };
    let names_skill = probed.is_none_or(|server| server.tells_of_skill);
    if available && !names_skill {
        note("the MCP server names the skill nowhere in its instructions and tools".to_owned());
    }
    available && names_skill
}
