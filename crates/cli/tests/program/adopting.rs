//! What docs/adopting.md promises: the program needs no network, and what another version stored is named and never counted.

use std::process::Command;

use crate::support::fixture::Fixture;
use crate::support::repository;
use crate::support::stub::{Stub, ran};
use skill_evals_agents::agent::bwrap;

#[test]
fn everything_but_an_agent_works_without_a_network() {
    if bwrap::working().is_err() {
        return;
    }
    let stub = Stub::new(2, "");
    stub.settings("isolation = \"agent\"\n");
    let commands: [&[&str]; 9] = [
        &["lint"],
        &["list"],
        &["run", "--dry-run"],
        &["run", "--run-id", "r", "--record"],
        &["run", "--replay"],
        &["summary", "r"],
        &["show", "tidy/c0", "--run", "r"],
        &["report", "r"],
        &["export", "--to", "junit", "r"],
    ];
    for args in commands {
        let command = stub.command(args);
        let mut alone = Command::new("bwrap");
        alone.args(["--dev-bind", "/", "/", "--unshare-net", "--"]).arg(command.get_program()).args(command.get_args());
        alone.current_dir(stub.root());
        for (name, value) in command.get_envs() {
            match value {
                Some(value) => alone.env(name, value),
                None => alone.env_remove(name),
            };
        }
        ran(&mut alone).exits(0);
    }
}

#[test]
fn a_run_of_an_earlier_build_is_an_error_that_names_the_file_and_what_to_do() {
    let earlier = repository().join("tests/fixtures/earlier_run");
    let mut fixture =
        Fixture::new().skill("skill-0").prompts("skill-0", "id,should_trigger,prompt\nc0,false,Prompt 0\n");
    for entry in walkdir::WalkDir::new(&earlier).into_iter().map(|entry| entry.expect("the fixture can be read")) {
        if entry.file_type().is_file() {
            let path = entry.path().strip_prefix(&earlier).expect("below it");
            let path = format!("artifacts/skill-evals/earlier/{}", path.display());
            fixture = fixture.file(&path, std::fs::read(entry.path()).expect("the fixture can be read"));
        }
    }
    let plan = "plan.jsonl: line 1 is not as the run wrote it; restore the file, or start a new run";
    let trial = "digests.json: it is missing, and without it nothing shows that the trial is whole; restore the trial's directory, or \
                 remove it and resume the run, which measures the trial again";
    let commands: [(&[&str], &str); 5] = [
        (&["summary", "earlier"], plan),
        (&["runs"], "digests.json: it is missing, and without it nothing shows that the trial is whole"),
        (&["show", "skill-0/c0", "--run", "earlier"], trial),
        (&["record", "earlier"], trial),
        (&["grade", "earlier"], trial),
    ];
    for (args, wanted) in commands {
        let ran = fixture.run(args);
        let said = format!("{}{}", ran.stdout, ran.stderr);
        assert!(said.contains(wanted) && !said.contains("1 passed"), "{args:?}: {} {said}", ran.code);
    }
}
