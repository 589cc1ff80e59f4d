//! This repository is a plugin: the agents that have marketplaces install it from a checkout, and offer its skill.

use std::path::Path;
use std::process::Command;

use libtest_mimic::Trial;

use crate::support::fixture::temporary;
use crate::support::real::{all_needing_agent, path_with_programs};
use crate::support::repository;
use crate::tests;

/// The plugin in the marketplace, both of which have this name.
const PLUGIN: &str = "skill-evals@skill-evals";

pub fn trials() -> Vec<Trial> {
    let claude = all_needing_agent("claude", tests![claude_code_installs_the_plugin]);
    let codex = all_needing_agent("codex", tests![codex_installs_the_plugin]);
    let copilot = all_needing_agent("copilot", tests![copilot_installs_the_plugin]);
    [claude, codex, copilot].into_iter().flatten().collect()
}

fn claude_code_installs_the_plugin() {
    let said = installed("claude", &["plugin", "install", PLUGIN]);
    assert!(said.contains(PLUGIN) && said.contains("enabled"), "{said}");
}

fn codex_installs_the_plugin() {
    let said = installed("codex", &["plugin", "add", PLUGIN]);
    assert!(said.contains(PLUGIN) && said.contains("installed, enabled"), "{said}");
}

fn copilot_installs_the_plugin() {
    let said = installed("copilot", &["plugin", "install", PLUGIN]);
    assert!(said.contains(PLUGIN) && said.contains("Installed 1 skill"), "{said}");
}

/// What an agent with a home of its own says while it installs the plugin of this checkout, and of its plugins then.
fn installed(program: &str, install: &[&str]) -> String {
    let home = temporary();
    let checkout = repository().display().to_string();
    let add = ["plugin", "marketplace", "add", &checkout];
    [&add[..], install, &["plugin", "list"]].map(|args| said(program, args, home.path())).concat()
}

fn said(program: &str, args: &[&str], home: &Path) -> String {
    let mut command = Command::new(program);
    command.args(args).current_dir(home).env("HOME", home).env("PATH", path_with_programs());
    // A user's own settings are elsewhere.
    for name in ["CLAUDE_CONFIG_DIR", "CODEX_HOME", "XDG_CONFIG_HOME", "COPILOT_HOME"] {
        command.env_remove(name);
    }
    let ran = command.output().expect("the program starts");
    let text = [ran.stdout, ran.stderr].map(|text| String::from_utf8_lossy(&text).into_owned()).concat();
    assert!(ran.status.success(), "{program} {args:?}: {text}");
    text
}
