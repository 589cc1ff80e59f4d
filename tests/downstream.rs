//! Evals in other repositories: what `skill-evals init` does, and that cargo then runs them.

mod support;

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Output;

use support::downstream::{cargo_test, crate_with_a_skill, patched};
use support::fixture::Fixture;

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

#[test]
fn a_rust_crate_gets_evals_that_cargo_runs() {
    let fixture = crate_with_a_skill();
    let ran = fixture.run(&["init"]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert_eq!(
        ran.stdout,
        "Cargo.toml: added the dev-dependency skill-evals, the [[test]] skill_evals\n\
         tests/skill_evals.rs: written\n\
         tests/skill_evals/stubs.rs: written\n\
         .config/nextest.toml: written\n\
         .gitignore: written\n\n\
         next: cargo test --test skill_evals; with SKILL_EVALS_LIVE=1 it runs the agents\n"
    );
    assert_eq!(
        read(&fixture, "Cargo.toml"),
        "# A crate of somebody's.\n[package]\nname = \"demo\"\nversion = \"0.1.0\"\nedition = \"2024\"\n\n\
         [dev-dependencies]\nskill-evals = { version = \"0.1\", default-features = false }\n\n[[test]]\nname = \"skill_evals\"\nharness = false\n"
    );
    let ran = cargo_test(fixture.root(), &["greeting", "repository"]);
    assert!(ran.status.success() && text(&ran).contains(" passed; 0 failed; 0 ignored"), "{}", text(&ran));
}

#[test]
fn a_second_time_does_nothing_and_a_first_nothing_to_what_is_there() {
    let own = "fn main() {}\n";
    let fixture = crate_with_a_skill().file("tests/skill_evals.rs", own).file(".gitignore", "/target\n*.log");
    let before = contents(fixture.root());
    let ran = fixture.run(&["init"]);
    assert!(ran.stdout.contains("tests/skill_evals.rs: is there already and was left alone; its main has to return"));
    assert!(ran.stdout.contains(".gitignore: added /artifacts/skill-evals/\n"), "{}", ran.stdout);
    let once = contents(fixture.root());
    for (path, content) in &before {
        let added = [".gitignore", "Cargo.toml"].contains(&path.as_str());
        assert!(once[path].starts_with(content) && (added || once[path] == *content), "{path} was changed");
    }
    let ran = fixture.run(&["init"]);
    assert_eq!(contents(fixture.root()), once);
    assert!(!ran.stdout.contains("written") && !ran.stdout.contains("added"), "{}", ran.stdout);
}

#[test]
fn a_test_target_without_our_harness_is_left_alone_and_told_of() {
    let target = "[package]\nname = \"demo\"\nversion = \"0.1.0\"\n\n[[test]]\nname = \"skill_evals\"\n";
    let fixture = Fixture::new().skill("tidy").file("Cargo.toml", target);
    let ran = fixture.run(&["init"]);
    assert!(ran.stdout.starts_with(
        "Cargo.toml: is there already and was left alone; its [[test]] `skill_evals` needs `harness = false`"
    ));
    assert_eq!(read(&fixture, "Cargo.toml"), target);
    let ran = Fixture::new().file("Cargo.toml", "[package\n").run(&["init"]);
    assert_eq!(ran.code, 2);
    assert!(ran.stderr.starts_with("error: Cargo.toml: TOML parse error at line 1"), "{}", ran.stderr);
}

#[test]
fn a_repository_without_rust_gets_a_small_crate_a_skill_and_cases() {
    let lock = std::fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join("Cargo.lock")).expect("our Cargo.lock");
    let fixture = Fixture::new().file("README.md", "No Rust here.\n").file("evals/Cargo.lock", lock);
    let ran = fixture.run(&["init"]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    for line in [
        "evals/Cargo.toml: written",
        "skills/hello/SKILL.md: written",
        "evals/skills/hello/prompts.csv: written",
        "evals/tests/skill_evals.rs: written",
        "evals/tests/skill_evals/stubs.rs: written",
        "evals/.config/nextest.toml: written",
        ".gitignore: written",
        "next: cargo test --manifest-path evals/Cargo.toml --test skill_evals",
    ] {
        assert!(ran.stdout.contains(line), "{line}\n{}", ran.stdout);
    }
    assert_eq!(read(&fixture, ".gitignore"), "/artifacts/skill-evals/\n/evals/target\n");
    let lint = fixture.run(&["lint", "--check-evals", "--strict"]);
    assert_eq!((lint.code, lint.stdout.as_str()), (0, "1 skill, 3 cases: no problems\n"), "{}", lint.stdout);
    let ran = cargo_test(&fixture.root().join("evals"), &[]);
    assert!(ran.status.success() && text(&ran).contains("2 passed; 0 failed; 3 ignored"), "{}", text(&ran));
    assert_eq!(fixture.run(&["init"]).stdout.matches("is there already").count(), 5);
}

#[test]
fn a_builder_chooses_roots_and_adds_checks() {
    let main = r#"
        use skill_evals::harness::{Finding, Harness};
        fn main() -> std::process::ExitCode {
            Harness::new()
                .root(concat!(env!("CARGO_MANIFEST_DIR"), "/.."))
                .skill_root("plugins/skills")
                .check("says-ahoy", |trace, workspace| match workspace.case() {
                    "explicit" => Finding::of(false, format!("{} commands", trace.commands)),
                    _ => Finding::NotAsked,
                })
                .main()
        }
    "#;
    let sample = Fixture::copy_of_sample();
    std::fs::create_dir(sample.root().join("plugins")).expect("a folder");
    std::fs::rename(sample.root().join("skills"), sample.root().join("plugins/skills")).expect("a rename");
    let lock = std::fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join("Cargo.lock")).expect("our Cargo.lock");
    let manifest = "[package]\nname = \"inner\"\nversion = \"0.1.0\"\nedition = \"2024\"\n\n[dev-dependencies]\n\
                    skill-evals = \"0.1\"\n\n[[test]]\nname = \"skill_evals\"\nharness = false\n";
    let sample = sample
        .file("inner/Cargo.toml", manifest)
        .file("inner/Cargo.lock", lock)
        .file("inner/src/lib.rs", "")
        .file("inner/tests/skill_evals.rs", main);
    let ran = cargo_test(&sample.root().join("inner"), &["greeting::"]);
    let all = text(&ran);
    let result =
        |name: &str| all.lines().find(|line| line.contains(&format!("test {name} "))).expect("a line").to_owned();
    assert!(result("greeting::explicit::codex").ends_with("... FAILED"), "{all}");
    assert!(all.contains("failed      says-ahoy (outcome)") && all.contains("0 commands"), "{all}");
    assert!(result("greeting::explicit_json::codex").ends_with("... ok"), "{all}");

    // The program asks the harness, wherever in the repository its crate is, and comes to the same verdicts.
    let sample = patched(sample).file("evals/evals.toml", "skill_roots = [\"plugins/skills\"]\n");
    let ran = sample.run(&["run", "--replay", "--mode", "codex", "greeting::explicit"]);
    assert_eq!(ran.code, 1, "{}{}", ran.stdout, ran.stderr);
    assert!(ran.stdout.contains("greeting/explicit/codex: fail") && ran.stdout.contains("says-ahoy"), "{}", ran.stdout);
    assert!(ran.stdout.contains("greeting/explicit-json/codex: pass"), "{}", ran.stdout);
    // One that cannot be built is told; nothing is graded without it.
    let sample = sample.file("inner/tests/skill_evals.rs", "use skill_evals::harness::Harness; fn main() { no }");
    let ran = sample.run(&["run", "--replay", "--mode", "codex", "greeting::explicit"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (2, ""), "{}", ran.stderr);
    assert!(
        ran.stderr.contains("cannot find value `no`") && ran.stderr.contains("SKILL_EVALS_HARNESS"),
        "{}",
        ran.stderr
    );
}
