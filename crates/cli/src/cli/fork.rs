//! Whether CI checks a change that comes from a fork: from somebody who may write nothing here.

use std::path::Path;

use serde_json::Value;

use crate::files::bounded;

/// Whether the change of this CI job comes from a fork, by the variables of GitHub and GitLab.
pub fn is_checked_out() -> bool {
    let variable = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
    let project = |name: &str| variable(&format!("CI_MERGE_REQUEST_{name}"));
    if let (Some(source), Some(target)) = (project("SOURCE_PROJECT_ID"), project("PROJECT_ID")) {
        return source != target;
    }
    variable("GITHUB_EVENT_PATH").is_some_and(|path| is_of_fork(Path::new(&path)))
}

/// Whether GitHub's event is about a pull request from another repository. One that was deleted has no name.
fn is_of_fork(event: &Path) -> bool {
    let event: Option<Value> = bounded::read(event).ok().and_then(|text| serde_json::from_slice(&text).ok());
    event.is_some_and(|event| {
        let name = |side: &str| event["pull_request"][side]["repo"]["full_name"].as_str();
        name("base").is_some_and(|base| name("head") != Some(base))
    })
}
