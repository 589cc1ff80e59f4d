//! `isolation = "docker"`, with a client of docker that starts nothing, and notes what it was asked.

use std::fs;
use std::process::Command;

use nix::sys::signal::Signal;

use crate::support::fixture::Ran;
use crate::support::live::wait_until;
use crate::support::stub::{Stub, in_own_group, ran, signal};

/// A stub with such a client: it has the image `mine`, and containers that do what the shell script `container` does.
fn stub(container: &str) -> Stub {
    let stub = Stub::new(1, "");
    let asked = stub.root().join("asked");
    let client = format!(
        "#!/bin/sh\necho \"$*\" >> '{}'\ncase $1 in\nimage) [ \"$5 $6\" = '-- mine' ] && printf 'sha256:ab\\nPATH=/bin\\n';;\n\
         run) echo $$ > '{pid}'; {container};;\nkill) echo $DOCKER_HOST > '{host}'; kill -9 $(cat '{pid}');;\nesac\n",
        asked.display(),
        pid = stub.root().join("pid").display(),
        host = stub.root().join("host").display(),
    );
    stub.write("clients/docker", &client);
    stub.write("clients/podman", "#!/bin/sh\necho no image >&2; exit 125\n");
    stub
}

fn run(stub: &Stub, image: &str, more: &str) -> Ran {
    ran(&mut command(stub, image, more))
}

fn command(stub: &Stub, image: &str, more: &str) -> Command {
    stub.settings(&format!("isolation = 'docker'\n{more}\n[run]\nimage = '{image}'"));
    let path = std::env::var_os("PATH").expect("a PATH");
    let clients = std::iter::once(stub.root().join("clients")).chain(std::env::split_paths(&path));
    let mut command = stub.command(&["run", "--run-id", "r"]);
    command.env_remove("SKILL_EVALS_ISOLATION").env("PATH", std::env::join_paths(clients).expect("a PATH"));
    command
}

/// What the client was asked to do.
fn asked(stub: &Stub) -> Vec<String> {
    let text = fs::read_to_string(stub.root().join("asked")).unwrap_or_default();
    text.lines().map(str::to_owned).collect()
}

/// The name of the container.
fn container(asked: &[String]) -> &str {
    let call = asked.iter().find_map(|call| call.strip_prefix("run --name ")).expect("a container");
    call.split(' ').next().expect("a name")
}

#[test]
fn an_agent_whose_container_does_not_start_is_an_error_and_does_not_start_elsewhere() {
    let stub = stub("echo 'docker: no space left' >&2; exit 125");
    let ran = run(&stub, "mine", "");
    assert_eq!((ran.code, stub.starts().len()), (3, 0), "{}{}", ran.stdout, ran.stderr);
    ran.prints("no space left");
    let meta = stub.json("r", "work/tidy/c0/codex/1/meta.json");
    assert_eq!(meta["isolation"], "docker");
    let asked = asked(&stub);
    let call = asked.iter().find(|call| call.starts_with("run --name room-")).expect("a container");
    let agent = stub.root().join("agent.sh");
    for words in [
        " --env-file /dev/fd/",
        ",destination=/home/dev --mount",
        "--workdir /home/dev/project --entrypoint",
        &format!(" {} sha256:ab exec --json", agent.display()),
    ] {
        assert!(call.contains(words), "{words}: {call}");
    }
    assert!(!call.contains("key-") && !call.contains("destination=/bin,"), "{call}");
}

#[test]
fn an_image_without_the_program_is_an_error_that_says_what_it_needs() {
    let stub = stub("echo 'ERROR (catatonit:6): failed to exec pid1: No such file or directory' >&2; exit 1");
    let ran = run(&stub, "mine", "");
    let said = "failed to exec pid1: No such file or directory; the image must have the program, and what runs it";
    ran.exits(3).prints(said);
}

#[test]
fn without_the_image_nothing_runs_and_the_way_to_it_is_said() {
    let stub = stub("exit 0");
    let ran = run(&stub, "yours", "");
    assert_eq!((ran.code, stub.starts().len()), (3, 0), "{}{}", ran.stdout, ran.stderr);
    for words in ["no container of the image \"yours\"", "packages/Dockerfile", "`image` under [run]", "no image"] {
        assert!(ran.stdout.contains(words) || ran.stderr.contains(words), "{words}: {ran}");
    }
}

#[test]
fn the_container_of_a_trial_that_takes_too_long_is_killed_by_its_name() {
    let stub = stub("exec sleep 600");
    let ran = run(&stub, "mine", "timeout_s = 1");
    ran.exits(3);
    let asked = asked(&stub);
    let name = container(&asked);
    assert!(asked.contains(&format!("kill {name}")) && asked.contains(&format!("rm --force {name}")), "{asked:?}");
}

#[test]
fn the_container_of_a_client_that_was_killed_is_removed() {
    let stub = stub("kill -9 $$");
    let ran = run(&stub, "mine", "");
    ran.exits(3);
    let asked = asked(&stub);
    let name = container(&asked);
    assert!(asked.contains(&format!("rm --force {name}")), "{asked:?}");
}

#[test]
fn the_container_of_a_killed_runner_is_ended_where_the_users_daemon_is() {
    let stub = stub("exec sleep 600");
    let mut runner = in_own_group(command(&stub, "mine", "").env("DOCKER_HOST", "tcp://theirs"));
    wait_until("a container", || asked(&stub).iter().any(|call| call.starts_with("run ")));
    signal(&runner, Signal::SIGKILL);
    runner.wait().expect("an end");
    wait_until("the end of the container", || {
        let asked = asked(&stub);
        asked.contains(&format!("rm --force {}", container(&asked)))
    });
    assert_eq!(fs::read_to_string(stub.root().join("host")).expect("a call"), "tcp://theirs\n");
}
