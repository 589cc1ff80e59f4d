//! Evals in other repositories: what `skill-evals init` does, and that cargo then runs them. Tests that build this crate once more,
//! with other features or from elsewhere, only run with `-- --include-ignored`.

mod support;

use crate::support::repository;
use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Command, Output};

use support::downstream::{PROFILES, cargo, cargo_test, crate_with_a_skill, patched, target};
use support::fixture::{Fixture, Ran, run_in};
use support::harness::clean;
use support::machine::Machine;
use support::page;

fn text(output: &Output) -> String {
    format!("{}\n{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

/// Every file and its content.
fn contents(root: &Path) -> BTreeMap<String, Vec<u8>> {
    let files = walkdir::WalkDir::new(root).into_iter().flatten().filter(|entry| entry.file_type().is_file());
    files
        .map(|entry| {
            let path = entry.path().strip_prefix(root).expect("below the root").to_string_lossy().into_owned();
            (path, std::fs::read(entry.path()).expect("a file"))
        })
        .collect()
}

fn read(fixture: &Fixture, path: &str) -> String {
    std::fs::read_to_string(fixture.root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// `init` with this checkout.
fn init(fixture: &Fixture, args: &[&str]) -> Ran {
    fixture.run(&[&["init", "--path", repository().to_str().expect("UTF-8")], args].concat())
}

#[test]
fn a_crate_gets_no_dependency_on_a_name_that_nobody_has_published() {
    let fixture = crate_with_a_skill();
    let before = contents(fixture.root());
    let ran = fixture.run("init");
    assert!(
        ran.code == 2 && ran.stderr.contains("say where it is from with --git URL or --path DIR"),
        "{}",
        ran.stderr
    );
    assert_eq!(contents(fixture.root()), before);
}

#[test]
fn a_rust_crate_gets_a_dependency_a_test_and_settings() {
    let fixture = crate_with_a_skill();
    let ran = init(&fixture, &[]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert_eq!(
        ran.stdout,
        "Cargo.toml: added the dev-dependency skill-evals, the [[test]] skill_evals\n\
         tests/skill_evals.rs: written\n\
         tests/skill_evals/stubs.rs: written\n\
         evals/evals.toml: written\n\
         .config/nextest.toml: written\n\
         .gitignore: written\n\n\
         next: cargo test --test skill_evals; with SKILL_EVALS_LIVE=1 it runs the agents\n"
    );
    let path = repository().display();
    assert_eq!(
        read(&fixture, "Cargo.toml"),
        format!(
            "# A crate of somebody's.\n[package]\nname = \"demo\"\nversion = \"0.1.0\"\nedition = \"2024\"\n\n\
         [dev-dependencies]\nskill-evals = {{ path = \"{path}\", default-features = false, features = [\"schemas\"] }}\n\n[[test]]\nname = \"skill_evals\"\nharness = false\n"
        )
    );
}

#[test]
#[ignore = "it builds for minutes; .ci/nightly runs it"]
fn a_case_that_needs_a_feature_that_is_off_is_an_error_that_names_it() {
    let fixture = crate_with_a_skill();
    assert_eq!(init(&fixture, &[]).code, 0);
    let ran = cargo_test(fixture.root(), &["greeting", "repository"]);
    assert!(ran.status.success() && text(&ran).contains(" passed; 0 failed; 0 ignored"), "{}", text(&ran));
    let manifest = read(&fixture, "Cargo.toml").replace(", features = [\"schemas\"]", "");
    let fixture = fixture.file("Cargo.toml", manifest);
    let ran = cargo_test(fixture.root(), &["greeting::explicit"]);
    let all = text(&ran);
    let result = |name: &str, end: &str| all.lines().any(|line| line.starts_with(name) && line.ends_with(end));
    assert!(!ran.status.success() && result("test greeting::explicit::codex ", "... ok"), "{all}");
    assert!(result("test greeting::explicit_json::codex ", "... FAILED"), "{all}");
    assert!(all.contains("add \"schemas\" to the `features` of skill-evals in Cargo.toml"), "{all}");
    // A live trial asks the server before it starts an agent.
    let ran = cargo_test(fixture.root(), &["mcp", "--skills", "skills"]);
    assert!(!ran.status.success() && text(&ran).contains("add \"mcp\" to the `features`"), "{}", text(&ran));
}

#[test]
fn a_second_time_does_nothing_and_a_first_nothing_to_what_is_there() {
    let own = "fn main() {}\n";
    let fixture = crate_with_a_skill().file("tests/skill_evals.rs", own).file(".gitignore", "/target\n*.log");
    let before = contents(fixture.root());
    let ran = init(&fixture, &[]);
    assert!(ran.stdout.contains("tests/skill_evals.rs: is there already and was left alone; its main has to return"));
    assert!(ran.stdout.contains(".gitignore: added /artifacts/skill-evals/\n"), "{}", ran.stdout);
    let once = contents(fixture.root());
    for (path, content) in &before {
        let added = [".gitignore", "Cargo.toml"].contains(&path.as_str());
        assert!(once[path].starts_with(content) && (added || once[path] == *content), "{path} was changed");
    }
    let ran = init(&fixture, &[]);
    assert_eq!(contents(fixture.root()), once);
    assert!(!ran.stdout.contains("written") && !ran.stdout.contains("added"), "{}", ran.stdout);
}

#[test]
fn a_test_target_without_our_harness_is_left_alone_and_told_of() {
    let target = "[package]\nname = \"demo\"\nversion = \"0.1.0\"\n\n[[test]]\nname = \"skill_evals\"\n";
    let own = "#[test]\nfn own() {}\n";
    let fixture = Fixture::new().skill("tidy").file("Cargo.toml", target).file("tests/skill_evals.rs", own);
    let ran = init(&fixture, &[]);
    assert!(ran.stdout.starts_with(
        "Cargo.toml: is there already and was left alone; its [[test]] `skill_evals` needs `harness = false`"
    ));
    assert_eq!(read(&fixture, "Cargo.toml"), target);
    let fixture = Fixture::new().skill("tidy").file("Cargo.toml", target);
    let ran = init(&fixture, &[]);
    assert!(ran.stdout.contains("`harness = false` of the [[test]] skill_evals"), "{}", ran.stdout);
    assert!(read(&fixture, "Cargo.toml").starts_with(&format!("{target}harness = false\n")));
    let ran = Fixture::new().file("Cargo.toml", "[package\n").run(&["init"]);
    assert_eq!(ran.code, 2);
    assert!(ran.stderr.starts_with("error: Cargo.toml: TOML parse error at line 1"), "{}", ran.stderr);
}

#[test]
fn a_repository_without_rust_gets_a_skill_and_cases_and_a_small_crate_if_asked() {
    let lock = std::fs::read(repository().join("Cargo.lock")).expect("our Cargo.lock");
    let fixture = Fixture::new().file("README.md", "No Rust here.\n").file("evals/Cargo.lock", lock);
    let asked = fixture.run(&["init"]);
    assert_eq!(asked.code, 2, "{}", asked.stdout);
    assert!(asked.stderr.contains("init would write:\n  skills/hello/SKILL.md\n"), "{}", asked.stderr);
    assert!(
        !fixture.root().join("skills").exists() && asked.stderr.contains("nothing was written"),
        "{}",
        asked.stderr
    );
    let plain = Fixture::new();
    assert_eq!(
        plain.run(&["init", "--yes"]).stdout,
        "skills/hello/SKILL.md: written\nevals/skills/hello/prompts.csv: written\nevals/evals.toml: written\n\
         .gitignore: written\n\n\
         next: skill-evals lint checks the cases; skill-evals run --dry-run says what would run\n"
    );
    assert_eq!(read(&plain, ".gitignore"), "/artifacts/skill-evals/\n");
    assert!(!read(&plain, "evals/evals.toml").contains("harness"));
    let more = init(&plain, &["--yes", "--rust"]).stdout;
    assert!(more.contains("evals/Cargo.toml: written") && more.contains(".gitignore: added /evals/target"), "{more}");
    let ran = init(&fixture, &["--yes", "--rust"]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    for line in [
        "evals/Cargo.toml: written",
        "skills/hello/SKILL.md: written",
        "evals/skills/hello/prompts.csv: written",
        "evals/tests/skill_evals.rs: written",
        "evals/tests/skill_evals/stubs.rs: written",
        "evals/evals.toml: written",
        "evals/.config/nextest.toml: written",
        ".gitignore: written",
        "next: cargo test --manifest-path evals/Cargo.toml --test skill_evals",
    ] {
        assert!(ran.stdout.contains(line), "{line}\n{}", ran.stdout);
    }
    assert_eq!(read(&fixture, ".gitignore"), "/artifacts/skill-evals/\n/evals/target\n");
    let manifest = read(&fixture, "evals/Cargo.toml");
    assert!(manifest.ends_with("[profile.dev]\ndebug = \"line-tables-only\"\n"), "{manifest}");
    let lint = fixture.run(&["lint", "--check-evals", "--strict"]);
    // The author has to add what nobody else can write.
    let said = format!("{}{}", lint.stdout, lint.stderr);
    assert!(said.contains("no-implicit") && said.contains("1 warning"), "{said}");
    let ran = cargo_test(&fixture.root().join("evals"), &[]);
    assert!(ran.status.success() && text(&ran).contains("2 passed; 0 failed; 2 ignored"), "{}", text(&ran));
    assert_eq!(
        fixture.run(&["init", "--yes"]).stdout.matches("is there already").count(),
        6,
        "{}",
        fixture.run(&["init", "--yes"]).stdout
    );
}

#[test]
fn the_feature_for_schemas_is_named_if_a_case_or_the_recording_of_one_needs_it() {
    let fixture = || Fixture::new().skill("tidy").file("tool/Cargo.toml", "[package]\nname = \"skill-evals\"\n");
    let init = |fixture: &Fixture| fixture.run(&["init", "--yes", "--path", "tool"]).stdout;
    let names = |fixture: &Fixture| read(fixture, "evals/Cargo.toml").contains("features = [\"schemas\"]");
    let plain = fixture();
    assert!(init(&plain).starts_with("evals/Cargo.toml: written\n") && !names(&plain));
    // A second time the crate is there, whatever the cases need by now.
    let column = "id,should_trigger,prompt,judge\nnamed,true,Use the $tidy skill.,true\n";
    let plain = plain.file("evals/skills/tidy/prompts.csv", column);
    assert!(init(&plain).starts_with("evals/Cargo.toml: is there already\n"), "{}", init(&plain));
    let judged = fixture().file("evals/skills/tidy/prompts.csv", column);
    assert!(init(&judged).starts_with("evals/Cargo.toml: written\n") && names(&judged));
    let trial = |name: &str| format!("evals/recordings/tidy/named/codex/1/{name}");
    let recorded = fixture().file(&trial("meta.json"), "{}").file(&trial("judge.json"), "{}");
    assert!(init(&recorded).starts_with("evals/Cargo.toml: written\n") && names(&recorded));
}

/// What a crate or a workspace of somebody's has before, and what `init` is to make green in it.
struct Before {
    fixture: Fixture,
    /// Where `init` and then cargo run.
    folder: &'static str,
    /// Where nextest looks for its settings.
    nextest: &'static str,
    /// The names of all tests.
    tests: &'static str,
}

fn before() -> [Before; 4] {
    let lock = || std::fs::read(repository().join("Cargo.lock")).expect("our Cargo.lock");
    let package = |name: &str| format!("[package]\nname = \"{name}\"\nversion = \"0.1.0\"\nedition = \"2024\"\n");
    let workspace = |members: &str| format!("[workspace]\nresolver = \"3\"\nmembers = [{members}]\n");
    let with_member = |fixture: Fixture| {
        fixture
            .file("crates/demo/Cargo.toml", package("demo"))
            .file("crates/demo/src/lib.rs", "")
            .file("Cargo.lock", lock())
    };
    let hello = "hello::explicit::codex";
    [
        Before {
            fixture: Fixture::new().file("README.md", "No Rust here.\n").file("evals/Cargo.lock", lock()),
            folder: "",
            nextest: "evals/.config",
            tests: hello,
        },
        Before {
            fixture: Fixture::new()
                .file("Cargo.toml", package("demo"))
                .file("src/lib.rs", "")
                .file("Cargo.lock", lock()),
            folder: "",
            nextest: ".config",
            tests: hello,
        },
        Before {
            fixture: with_member(Fixture::new().file("Cargo.toml", workspace("\"crates/*\"")).skill("tidy")),
            folder: "crates/demo",
            nextest: ".config",
            tests: "tidy::explicit::codex",
        },
        Before {
            fixture: with_member(Fixture::new().file("Cargo.toml", workspace("\"crates/demo\"")).skill("tidy")),
            folder: "",
            nextest: ".config",
            tests: "tidy::explicit::codex",
        },
    ]
}

/// The arguments behind `cargo test` that `init` says are next.
fn next(ran: &Ran) -> Vec<String> {
    let (_, next) =
        ran.stdout.split_once("next: cargo test ").unwrap_or_else(|| panic!("{}{}", ran.stdout, ran.stderr));
    let (next, _) = next.split_once(';').expect("an end");
    next.split(' ').map(str::to_owned).collect()
}

#[test]
fn checkouts_that_share_a_target_directory_each_test_their_own_skills() {
    // Cargo gives the crates of both the same program, and does not build it again for the other.
    let lock = std::fs::read(repository().join("Cargo.lock")).expect("our Cargo.lock");
    let checkouts = ["tidy", "neat"].map(|skill| {
        let fixture = Fixture::new().skill(skill).file("evals/Cargo.lock", &lock[..]);
        let ran = run_in(fixture.root(), &["init", "--yes", "--path", repository().to_str().expect("UTF-8")]);
        assert_eq!(ran.code, 0, "{}", ran.stderr);
        (skill, fixture, next(&ran))
    });
    for (skill, fixture, next) in checkouts.iter().chain(&checkouts) {
        let args: Vec<&str> = next.iter().map(String::as_str).collect();
        let test = cargo(fixture.root(), &[&["test"], &args[..]].concat()).output().expect("cargo starts");
        let said = text(&test);
        assert!(said.contains(&format!("{skill}::explicit::codex")), "{skill}: {said}");
        // Where nothing says which checkout is meant, none is guessed.
        let program = said.split_once("Running tests/skill_evals.rs (").expect("the program").1;
        let mut program = Command::new(program.split_once(')').expect("its path").0);
        let alone = program.arg("--list").env_remove("CARGO_MANIFEST_DIR").current_dir(fixture.root()).output();
        let said = text(&alone.expect("it starts"));
        assert!(said.contains("error: the crate of this harness is not known"), "{said}");
    }
}

#[test]
fn evals_are_green_at_once_in_a_repository_a_crate_a_member_and_a_workspace() {
    let nextest = support::real::starts("cargo", &["nextest", "--version"]);
    assert!(nextest || std::env::var_os("REQUIRE_AGENTS").is_none(), "cargo-nextest is missing");
    for Before { fixture, folder, nextest: place, tests } in before() {
        let here = fixture.root().join(folder);
        let ran = run_in(&here, &["init", "--yes", "--path", repository().to_str().expect("UTF-8")]);
        assert_eq!(ran.code, 0, "{}", ran.stderr);
        assert!(!ran.stdout.contains("crates.io"), "{}", ran.stdout);
        let next = next(&ran);
        let args: Vec<&str> = next.iter().map(String::as_str).collect();
        let test = cargo(&here, &[&["test"], &args[..]].concat()).output().expect("cargo starts");
        let said = text(&test);
        assert!(test.status.success() && said.contains("2 passed; 0 failed; 2 ignored"), "{next:?}: {said}");
        assert!(said.contains(tests), "{next:?}: {said}");
        assert!(!said.contains("(lib) generated"), "a warning of the compiler about this crate: {said}");
        let config = format!("{place}/nextest.toml");
        assert!(read(&fixture, &config).contains("[test-groups]"));
        if nextest {
            let run = cargo(&here, &[&["nextest", "run"], &args[..]].concat()).output().expect("cargo starts");
            assert!(run.status.success() && text(&run).contains("2 passed"), "{}", text(&run));
            // It has read the settings: they make the group.
            let groups = [&["nextest", "show-config", "test-groups"], &args[..]].concat();
            let groups = cargo(&here, &groups).output().expect("cargo starts");
            assert!(text(&groups).contains("agents"), "{}", text(&groups));
        }
        // A case more: the stubs are out of date, which fails no test; `stubs` finds them wherever the crate is.
        let skill = tests.split(':').next().expect("a skill");
        let task = format!(r#"{{"prompt": "Do it", "evalConfig": {{"expectedSkillName": "{skill}"}}}}"#);
        let fixture = fixture.task("more", task);
        let test = cargo(&here, &[&["test"], &args[..]].concat()).output().expect("cargo starts");
        assert!(test.status.success() && text(&test).contains("stale-stubs"), "{}", text(&test));
        let stubs = fixture.run(&["stubs"]);
        assert!(stubs.code == 0 && stubs.stdout.contains("stubs.rs: written"), "{}{}", stubs.stdout, stubs.stderr);
        let again = run_in(&here, &["init", "--yes", "--path", repository().to_str().expect("UTF-8")]);
        assert!(!again.stdout.contains("written") && !again.stdout.contains(": added"), "{}", again.stdout);
        assert!(!again.stdout.contains("left alone; it needs"), "{}", again.stdout);
        // What it wrote as first cases is what `generate` writes.
        let prompts = format!("evals/skills/{skill}/prompts.csv");
        let before = read(&fixture, &prompts);
        fixture.run(&["generate"]);
        assert_eq!(read(&fixture, &prompts), before);
    }
}

#[test]
fn a_second_crate_is_told_of_the_harness_that_there_is_and_its_next_command_runs_it() {
    let [_, _, Before { fixture, .. }, _] = before();
    let package = "[package]\nname = \"second\"\nversion = \"0.1.0\"\nedition = \"2024\"\n";
    let fixture = fixture.file("crates/second/Cargo.toml", package).file("crates/second/src/lib.rs", "");
    let init = |folder: &str, more: &[&str]| {
        let source = ["init", "--yes", "--path", repository().to_str().expect("UTF-8")];
        let ran = run_in(&fixture.root().join(folder), &[&source, more].concat());
        assert_eq!(ran.code, 0, "{}", ran.stderr);
        ran
    };
    init("crates/demo", &[]);
    let before = contents(fixture.root());
    let again = init("crates/second", &[]);
    assert_eq!(
        again.stdout.lines().next(),
        Some(
            "../demo/tests/skill_evals.rs: is there already and was left alone; it is the harness of this repository: a second one \
             would run each trial once more"
        )
    );
    let elsewhere = init("", &["--root", "crates/demo"]);
    assert_eq!(contents(fixture.root()), before);
    for (folder, ran) in [("crates/second", again), ("", elsewhere)] {
        let next = next(&ran);
        let args: Vec<&str> = std::iter::once("test").chain(next.iter().map(String::as_str)).collect();
        let test = cargo(&fixture.root().join(folder), &args).output().expect("cargo starts");
        assert!(test.status.success() && text(&test).contains("2 passed; 0 failed; 2 ignored"), "{}", text(&test));
    }
}

#[test]
#[ignore = "it builds for minutes; .ci/nightly runs it"]
fn a_checkout_or_a_git_repository_is_where_cargo_gets_the_crate() {
    let fixture = crate_with_a_skill();
    let ours = repository();
    let commit = Command::new("git").args(["rev-parse", "HEAD"]).current_dir(ours).output().expect("git starts");
    let url = format!("file://{}", ours.display());
    let ran = fixture.run(&["init", "--yes", "--git", &url, "--rev", String::from_utf8_lossy(&commit.stdout).trim()]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert!(read(&fixture, "Cargo.toml").contains(&format!("skill-evals = {{ git = {url:?}, rev = ")));
    if commit.status.success() {
        let mut test = clean(Command::new("cargo"));
        // Not offline: to cargo, fetching from a local directory is a use of the network.
        test.args(["--config", PROFILES, "test", "--test", "skill_evals", "--", "greeting", "repository"]);
        test.current_dir(fixture.root());
        test.env("CARGO_TARGET_DIR", target()).env("CARGO_INCREMENTAL", "0");
        let ran = test.output().expect("cargo starts");
        assert!(ran.status.success() && text(&ran).contains(" passed; 0 failed"), "{}", text(&ran));
    }
    // A way that is relative is one from the crate.
    let fixture = Fixture::new().skill("tidy").file("tool/Cargo.toml", "[package]\nname = \"skill-evals\"\n");
    assert_eq!(fixture.run(&["init", "--yes", "--path", "tool"]).code, 0);
    // No case needs a feature.
    let manifest = read(&fixture, "evals/Cargo.toml");
    assert!(manifest.contains("skill-evals = { path = \"../tool\", default-features = false }\n"), "{manifest}");
    let wrong = Fixture::new().run(&["init", "--path", "skills"]);
    assert!(wrong.code == 2 && wrong.stderr.contains("is not a checkout of skill-evals"), "{}", wrong.stderr);
}

#[test]
#[ignore = "it builds for minutes; .ci/nightly runs it"]
fn a_builder_chooses_roots_and_adds_checks() {
    let sample = Fixture::copy_of_sample();
    std::fs::create_dir(sample.root().join("plugins")).expect("a directory");
    std::fs::rename(sample.root().join("skills"), sample.root().join("plugins/skills")).expect("a rename");
    let lock = std::fs::read(repository().join("Cargo.lock")).expect("our Cargo.lock");
    let manifest = "[package]\nname = \"inner\"\nversion = \"0.1.0\"\nedition = \"2024\"\n\n[dev-dependencies]\n\
                    skill-evals = \"0.1\"\n\n[[test]]\nname = \"skill_evals\"\nharness = false\n";
    let sample = sample
        .file("inner/Cargo.toml", manifest)
        .file("inner/Cargo.lock", lock)
        .file("inner/src/lib.rs", "")
        .file("inner/tests/skill_evals.rs", include_str!("program/roots_and_checks.rs"));
    let ran = cargo_test(&sample.root().join("inner"), &["greeting::"]);
    let all = text(&ran);
    let result =
        |name: &str| all.lines().find(|line| line.contains(&format!("test {name} "))).expect("a line").to_owned();
    assert!(result("greeting::explicit::codex").ends_with("... FAILED"), "{all}");
    assert!(all.contains("failed      says-ahoy (outcome)") && all.contains("0 commands"), "{all}");
    assert!(result("greeting::explicit_json::codex").ends_with("... ok"), "{all}");

    // As long as no other command would ask it, it says so.
    let ran = cargo_test(&sample.root().join("inner"), &["repository::lint"]);
    assert!(text(&ran).contains("add to evals/evals.toml: harness = \"inner/skill_evals\""), "{}", text(&ran));

    // The program asks the harness, wherever its crate is in the repository, and gets the same verdicts.
    let settings = "skill_roots = [\"plugins/skills\"]\nharness = \"inner/skill_evals\"\n";
    let sample = patched(sample).file("evals/evals.toml", settings);
    let ran = sample.run(&["run", "--replay", "-v", "--mode", "codex", "greeting::explicit"]);
    assert_eq!(ran.code, 1, "{}{}", ran.stdout, ran.stderr);
    assert!(ran.stdout.contains("greeting/explicit/codex: fail") && ran.stdout.contains("says-ahoy"), "{}", ran.stdout);
    assert!(ran.stdout.contains("greeting/explicit-json/codex: pass"), "{}", ran.stdout);
    // A harness that cannot be built is reported; nothing is graded without it.
    let sample = sample.file("inner/tests/skill_evals.rs", "use skill_evals::harness::Harness; fn main() { no }");
    let ran = sample.run(&["run", "--replay", "-v", "--mode", "codex", "greeting::explicit"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (2, ""), "{}", ran.stderr);
    assert!(
        ran.stderr.contains("cannot find value `no`") && ran.stderr.contains("SKILL_EVALS_HARNESS"),
        "{}",
        ran.stderr
    );
}

/// The blocks of docs/tutorial.md that build with cargo: the program is installed, and the evals of the clone become tests.
#[test]
#[ignore = "it builds for minutes; .ci/nightly runs it"]
fn what_the_page_of_the_first_hour_builds_can_be_built() {
    let machine = Machine::new();
    let ours = repository();
    std::os::unix::fs::symlink(ours, machine.path("skill-evals")).expect("a link");
    let lock = std::fs::read_to_string(ours.join("Cargo.lock")).expect("our Cargo.lock");
    machine.write("clone/evals/Cargo.lock", &lock);
    let mut ran_any = 0;
    for command in page::blocks("docs/tutorial.md")
        .into_iter()
        .filter(|block| block.info == "console cargo")
        .flat_map(|block| block.commands)
    {
        let installs = command.line.starts_with("cargo install");
        let folder = if installs { ours.to_path_buf() } else { machine.path("clone") };
        let mut shell = clean(Command::new("/bin/sh"));
        let path = std::env::var_os("PATH").unwrap_or_default();
        let folders = std::iter::once(machine.path("home/bin")).chain(std::env::split_paths(&path));
        shell
            .args(["-c", &command.line])
            .current_dir(folder)
            .env("PATH", std::env::join_paths(folders).expect("a PATH"));
        shell
            .env("CARGO_INSTALL_ROOT", machine.path("home"))
            // Another program than the one that is measured in `target/release`.
            .env("CARGO_TARGET_DIR", target().join("installed"))
            .env("CARGO_NET_OFFLINE", "true");
        // The program of the tests has no optimization either: what is held is that it builds and where it lies.
        let profile = [("OPT_LEVEL", "0"), ("DEBUG", "false"), ("LTO", "off")];
        shell.envs(profile.map(|(key, value)| (format!("CARGO_PROFILE_RELEASE_{key}"), value)));
        let ran = shell.output().expect("a shell");
        assert_eq!(ran.status.code(), Some(command.exit), "{}: {}", command.line, text(&ran));
        ran_any += 1;
    }
    assert_eq!(ran_any, 3);
}
