//! `claude -p`: everything by its arguments, the prompt last.

use std::ffi::OsString;

use super::Call;
use crate::cases::case::Case;

/// The arguments but for the prompt.
pub(super) fn args(call: &Call<'_>, case: &Case) -> Vec<OsString> {
    let mut args: Vec<OsString> = ["-p", "--output-format", "stream-json", "--verbose"].map(OsString::from).to_vec();
    let mut option = |name: &str, value: &str| args.push(format!("{name}={value}").into());
    if let Some(model) = call.model {
        option("--model", model);
    }
    option("--permission-mode", call.permissions.mode);
    option("--allowedTools", &call.permissions.allowed.join(","));
    if !call.permissions.disallowed.is_empty() {
        option("--disallowedTools", &call.permissions.disallowed.join(","));
    }
    if let Some(text) = &case.system_prompt {
        option("--append-system-prompt", text);
    }
    if let Some(schema) = &call.schema {
        option("--json-schema", schema);
    }
    option("--setting-sources", call.setting_sources);
    // The user's and the project's own MCP servers are none of the case's.
    args.push("--strict-mcp-config".into());
    if let Some(config) = &call.mcp_config {
        args.extend(["--mcp-config".into(), config.into()]);
    }
    args
}
