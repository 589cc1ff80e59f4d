//! The first hour with a clone that has skills and nothing else: what works, what is said, and what git sees of it.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use crate::support::machine::Machine;
use crate::support::page;
use crate::support::real::has_bwrap;
use crate::support::stub::ran;

#[test]
fn a_plain_clone_is_linted_listed_examined_and_run() {
    let machine = Machine::with_agents().variable("CODEX_API_KEY", "a-key-of-codex");
    let lint = machine.run(&["lint"]);
    assert_eq!((lint.code, lint.stdout.as_str()), (0, "2 skills: no problems\n"), "{}", lint.stderr);
    assert!(lint.stderr.starts_with("next: skill-evals list"), "{}", lint.stderr);
    let listed = machine.run(&["list"]);
    listed.exits(0).prints("pdf/smoke-explicit/codex");
    assert!(listed.stderr.starts_with("next: skill-evals generate --skill docx"), "{}", listed.stderr);
    let doctor = machine.run(&["doctor"]);
    assert!(
        doctor.code == 0 && doctor.stderr.starts_with("next: skill-evals run"),
        "{}{}",
        doctor.stdout,
        doctor.stderr
    );
    let run = machine.run(&["run", "--skill", "pdf"]);
    run.exits(0).prints("3 passed, 0 failed, 0 errors").prints("artifacts/skill-evals/");
    run.warns("next: skill-evals generate --skill pdf");
    assert_eq!(machine.git("clone", &["status", "--porcelain"]), "");
    machine.run(&["generate", "--skill", "pdf"]).exits(0);
    let own = machine.run(&["run", "--skill", "pdf", "--dry-run"]);
    assert!(own.code == 0 && !own.stderr.contains("next:"), "{}{}", own.stdout, own.stderr);
}

#[test]
fn where_the_default_agent_cannot_run_one_that_can_stands_in_and_is_named() {
    let machine = Machine::new();
    machine.program("claude", "#!/bin/sh\necho 9.9.9\n");
    let machine = machine.variable("ANTHROPIC_API_KEY", "a-key-of-claude");
    let run = machine.run(&["run", "--skill", "pdf", "--dry-run"]);
    run.exits(0).prints("pdf/smoke-explicit/cli-native");
    run.warns("with Claude Code (`cli-native`), which can run here; to choose: --agent");
    assert!(!run.stderr.contains("codex"), "{}", run.stderr);
    // What somebody chose is what runs, or an error.
    let chosen = machine.run(&["run", "--skill", "pdf", "--mode", "codex", "--dry-run"]);
    assert!(chosen.code == 2 && !chosen.stderr.contains("which can run here;"), "{}{}", chosen.stdout, chosen.stderr);
    let replay = machine.run(&["run", "--skill", "pdf", "--replay"]);
    assert!(replay.stdout.contains("pdf/smoke-explicit/cli-native"), "{}", replay.stderr);
}

#[test]
fn a_run_goes_on_with_the_agent_that_stood_in() {
    let mut machine = Machine::new();
    machine.program("claude", "#!/bin/sh\necho 9.9.9\n");
    machine = machine.variable("ANTHROPIC_API_KEY", "a-key-of-claude");
    machine.run(&["run", "--case", "pdf/smoke-explicit", "--run-id", "r"]);
    machine.add_agents();
    machine = machine.variable("CODEX_API_KEY", "a-key-of-codex");
    let again = machine.run(&["run", "--run-id", "r", "--resume", "--dry-run"]);
    assert!(again.stdout.starts_with("pdf/smoke-explicit/cli-native\n1 trial"), "{}{}", again.stdout, again.stderr);
    let new = machine.run(&["run", "--case", "pdf/smoke-explicit", "--dry-run"]);
    assert!(new.stdout.starts_with("pdf/smoke-explicit/codex\n"), "{}", new.stdout);
}

/// The page, command by command, on a machine that gets its agent where the page has it installed.
#[test]
fn the_page_of_the_first_hour_can_be_followed() {
    let machine = Machine::new();
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_skill-evals"), machine.path("bin/skill-evals")).expect("a link");
    let mut ran_any = 0;
    for block in page::blocks("docs/tutorial.md") {
        if block.info == "sh" && block.commands.iter().any(|command| command.line.starts_with("npm install --global")) {
            machine.add_agents();
            machine.write("home/.codex/auth.json", r#"{"OPENAI_API_KEY":"a-key-of-codex"}"#);
        }
        for command in block.commands.iter().filter(|_| block.info == "console") {
            let ran = ran(&mut machine.command("/bin/sh", "clone", &["-c", &command.line]));
            let said = format!("{}: {}{}", command.line, ran.stdout, ran.stderr);
            assert_eq!(ran.code, command.exit, "{said}");
            assert!(!command.silent || said == format!("{}: ", command.line), "{said}");
            ran_any += 1;
        }
    }
    assert!(ran_any > 15, "{ran_any} commands");
    // What was added is what the page has committed, and what it edited and recorded since.
    let changed = machine.git("clone", &["status", "--short"]);
    assert!(
        changed.lines().all(|line| line.contains("skills/pdf/SKILL.md") || line.contains("evals/recordings/")),
        "{changed}"
    );
}

/// The page without an account: what is written, what is typed, and what is seen.
#[test]
fn the_page_of_the_first_ten_minutes_can_be_followed() {
    let machine = Machine::new();
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_skill-evals"), machine.path("bin/skill-evals")).expect("a link");
    fs::create_dir(machine.path("home/.local")).expect("a directory");
    std::os::unix::fs::symlink(machine.path("bin"), machine.path("home/.local/bin")).expect("a link");
    let (mut folder, mut said, mut ran_any) = (".", String::new(), 0);
    for block in page::blocks("docs/first-ten-minutes.md") {
        if let Some(file) = &block.file {
            let path = file.strip_prefix("~/").map_or(format!("hello/{file}"), |file| format!("home/{file}"));
            machine.write(&path, &block.text);
        } else if block.info == "text" {
            let missing = block.text.lines().find(|line| !said.lines().any(|said| said == *line));
            assert_eq!(missing, None, "{said}");
        } else if block.info == "console" {
            said.clear();
            for command in &block.commands {
                let mut shell = machine.command("/bin/sh", folder, &["-c", &command.line]);
                // A newcomer has the page's settings alone.
                let ran = ran(shell.env_remove("SKILL_EVALS_CALIBRATE"));
                said = said + &ran.stdout + &ran.stderr;
                assert_eq!(ran.code, command.exit, "{}: {said}", command.line);
                ran_any += 1;
            }
            folder = "hello";
        }
    }
    assert_eq!(ran_any, 12);
}

#[test]
fn no_run_is_seen_by_git_wherever_it_was_started() {
    let machine = Machine::with_agents().variable("CODEX_API_KEY", "a-key-of-codex");
    machine.write("clone/artifacts/plan.md", "Ours.\n");
    machine.write("clone/.gitignore", "!artifacts/**\n");
    machine.commit("clone");
    machine.git("clone", &["worktree", "add", "--quiet", "../tree"]);
    machine.git("clone", &["submodule", "--quiet", "add", "../origin", "vendor/skills-of-others"]);
    machine.commit("clone");
    machine.git(".", &["init", "--quiet", "hidden"]);
    machine.git(".", &["init", "--quiet", "elsewhere"]);
    let skill = fs::read_to_string(machine.path("origin/skills/pdf/SKILL.md")).expect("a skill");
    machine.write("hidden/.claude/skills/pdf/SKILL.md", &skill);
    machine.write("elsewhere/office/pdf/SKILL.md", &skill);
    machine.write("elsewhere/docs/a.md", "");
    for folder in ["hidden", "elsewhere"] {
        machine.commit(folder);
    }
    for (folder, root) in [
        ("clone", "clone"),
        ("clone/skills/pdf", "clone"),
        ("tree/skills", "tree"),
        ("clone/vendor/skills-of-others", "clone/vendor/skills-of-others"),
        ("hidden/.claude/skills/pdf", "hidden"),
        ("elsewhere/docs", "elsewhere"),
    ] {
        let run = machine.run_in(folder, &["run", "--skill", "pdf", "--mode", "codex", "--run-id", "first"]);
        run.exits(0);
        assert!(machine.path(root).join("artifacts/skill-evals/first/run.json").exists(), "{folder}: {}", run.stdout);
        assert_eq!(machine.git(folder, &["status", "--porcelain"]), "", "{folder}");
        fs::remove_dir_all(machine.path(root).join("artifacts/skill-evals")).expect("the run");
    }
}

#[test]
fn skills_of_the_user_are_not_those_of_a_clone_below() {
    let machine = Machine::new();
    let skill = fs::read_to_string(machine.path("origin/skills/pdf/SKILL.md")).expect("a skill");
    machine.write("home/.claude/skills/own/SKILL.md", &skill);
    machine.git(".", &["clone", "--quiet", "origin", "home/clone"]);
    machine.git(".", &["init", "--quiet", "home/bare"]);
    assert_eq!(machine.run_in("home/clone", &["lint"]).stdout, "2 skills: no problems\n");
    machine.run_in("home/bare", &["lint"]).exits(2).warns("no skills in").warns("skill-evals init");
}

/// A home or an environment, the mode, and the message if credentials are missing; `None` if they may be there.
type Login = (
    &'static [(&'static str, &'static str)],
    &'static [(&'static str, &'static str)],
    &'static str,
    Option<&'static str>,
);

const LOGINS: [Login; 24] = [
    (&[], &[], "codex", Some("codex has no credentials: run `codex login`")),
    (&[("CODEX_API_KEY", "")], &[], "codex", Some("run `codex login`")),
    (&[("CODEX_API_KEY", " ")], &[], "codex", Some("run `codex login`")),
    (&[], &[(".codex/auth.json", "")], "codex", Some("is empty; run `codex login`")),
    (&[], &[(".codex/auth.json", "{}")], "codex", Some("holds no credentials; run `codex login`")),
    (
        &[],
        &[(".codex/auth.json", r#"{"OPENAI_API_KEY":null,"tokens":{"access_token":""}}"#)],
        "codex",
        Some("holds no credentials"),
    ),
    (&[], &[(".codex/auth.json", r#"{"OPENAI_API_KEY":null,"tokens":{"access_token":"t"}}"#)], "codex", None),
    (&[], &[(".codex/config.toml", "cli_auth_credentials_store = 'keyring'")], "codex", Some("keyring")),
    (
        &[],
        &[(".codex/config.toml", "model_provider = 'mine'\nmodel_providers.mine.env_key = 'MINE'")],
        "codex",
        Some("set MINE"),
    ),
    (
        &[("MINE", "k")],
        &[(".codex/config.toml", "model_provider = 'mine'\nmodel_providers.mine.env_key = 'MINE'")],
        "codex",
        None,
    ),
    (
        &[],
        &[(".codex/config.toml", "model_provider = 'local'\nmodel_providers.local.base_url = 'http://127.0.0.1:1'")],
        "codex",
        None,
    ),
    (&[("OPENAI_BASE_URL", "http://127.0.0.1:1")], &[], "codex", None),
    (&[], &[], "cli-native", Some("claude-cli has no credentials: log in with `claude`")),
    (&[("ANTHROPIC_API_KEY", "")], &[], "native", Some("claude-sdk has no credentials: log in with `claude`")),
    (&[], &[(".claude/.credentials.json", "")], "cli-native", Some("log in with `claude`")),
    (
        &[],
        &[(
            ".claude/.credentials.json",
            r#"{"claudeAiOauth":{"accessToken":"","scopes":["a"]},"mcpOAuth":{"token":"t"}}"#,
        )],
        "mcp",
        Some("log in"),
    ),
    (&[], &[(".claude/.credentials.json", "{")], "mcp", Some(".credentials.json is damaged")),
    (
        &[],
        &[(".claude/.credentials.json", r#"{"claudeAiOauth":{"accessToken":"t","expiresAt":1}}"#)],
        "cli-native",
        None,
    ),
    (&[], &[(".claude/settings.json", r#"{"apiKeyHelper":"/bin/echo key"}"#)], "cli-native", None),
    (&[], &[(".claude/settings.json", r#"{"env":{"ANTHROPIC_AUTH_TOKEN":"t"}}"#)], "native", None),
    (
        &[],
        &[(".claude/settings.json", r#"{"env":{"ANTHROPIC_AUTH_TOKEN":""},"apiKeyHelper":""}"#)],
        "native",
        Some("log in with `claude`"),
    ),
    (&[("CLAUDE_CODE_USE_BEDROCK", "1")], &[], "cli-native", None),
    (&[("CLAUDE_CODE_USE_VERTEX", "1")], &[], "cli-native", None),
    (&[("ANTHROPIC_BASE_URL", "http://127.0.0.1:1")], &[], "cli-native", None),
];

#[test]
fn a_missing_or_empty_login_is_told_before_an_agent_starts_and_no_other_is_refused() {
    for (variables, files, mode, refused) in LOGINS {
        let mut machine = Machine::with_agents();
        for (name, value) in variables {
            machine = machine.variable(name, value);
        }
        for (name, text) in files {
            machine.write(&format!("home/{name}"), text);
        }
        let what = format!("{variables:?} {files:?} {mode}");
        let run = machine.run(&["run", "--skill", "pdf", "--mode", mode]);
        let dry = machine.run(&["run", "--skill", "pdf", "--mode", mode, "--dry-run"]);
        let Some(why) = refused else {
            assert!(!machine.started().is_empty() && dry.code == 0, "{what}: {}{}", run.stderr, dry.stderr);
            continue;
        };
        for ran in [run, dry] {
            ran.exits(2).warns(why);
        }
        assert_eq!(machine.started(), [""; 0], "{what}");
        assert!(!machine.path("clone/artifacts").exists(), "{what}");
        // Doctor knows it in the same words.
        let advice = why.rsplit(": ").next().unwrap_or(why);
        machine.run(&["doctor"]).prints(advice);
    }
}

#[test]
fn logins_by_the_settings_are_not_refused_and_the_judge_needs_one_too() {
    for settings in [
        "env.CODEX_API_KEY = 'k'\n",
        "[agents.codex]\nargs = ['-c', 'model_provider=\"mine\"']\n",
        "[agents.codex]\nargs = ['--oss']\n",
    ] {
        let machine = Machine::with_agents();
        machine.write("clone/evals/evals.toml", settings);
        machine.run(&["run", "--skill", "pdf"]);
        assert!(!machine.started().is_empty(), "{settings}");
    }
    // A program that the settings name may bring its own.
    let machine = Machine::with_agents();
    machine.write(
        "clone/evals/evals.toml",
        &format!("[agents.codex]\ncommand = '{}'\n", machine.path("bin/codex").display()),
    );
    machine.run(&["run", "--skill", "pdf"]).exits(0);
    let machine = Machine::with_agents().variable("CODEX_API_KEY", "k");
    machine.write("clone/evals/evals.toml", "[judge]\nagent = 'claude-cli'\n");
    machine.run(&["run", "--skill", "pdf", "--judge"]).exits(2).warns("claude-cli has no credentials");
}

#[test]
fn a_comparison_takes_the_agent_that_is_here_and_tests_name_it() {
    let machine = Machine::with_agents().variable("ANTHROPIC_API_KEY", "k");
    machine.write("clone/skills/pdf/SKILL.md", "---\nname: pdf\ndescription: Other.\n---\n");
    for args in [&["compare", "HEAD", "--skill", "pdf"][..], &["run", "--lift", "--skill", "pdf"]] {
        let ran = machine.run(&[args, &["--dry-run"]].concat());
        ran.exits(0);
        let told = "codex has no credentials";
        assert_eq!(ran.stderr.matches(told).count(), 1, "{args:?}: {}", ran.stderr);
        ran.warns("with Claude Code (`cli-native`), which can run here; codex has no credentials");
    }
    let machine = machine.variable("SKILL_EVALS_LIVE", "1");
    let tests = machine.run(&["harness", "pdf"]);
    tests.exits(101).prints("codex has no credentials");
    let how = "claude-cli can run here: choose it with SKILL_EVALS_MODE=cli-native";
    assert!(tests.stdout.contains(how) && !tests.stdout.contains("--mode"), "{}", tests.stdout);
    assert_eq!(machine.started(), [""; 0]);
}

#[test]
fn an_installed_agent_without_a_login_is_named_where_no_agent_can_run() {
    let machine = Machine::new();
    machine.program("claude", "#!/bin/sh\necho 9.9.9\n");
    let run = machine.run(&["run", "--skill", "pdf"]);
    run.exits(2);
    let told = "\nor: claude-cli has no credentials: log in with `claude`";
    assert!(run.stderr.contains(told) && run.stderr.matches("\nor: ").count() == 1, "{}", run.stderr);
}

#[test]
fn an_agent_whose_answers_follow_no_schema_is_proposed_for_no_judgment_and_no_draft() {
    let machine = Machine::new().variable("COPILOT_GITHUB_TOKEN", "k");
    machine.program("copilot", "#!/bin/sh\necho 9.9.9\n");
    let judged = machine.run(&["run", "--skill", "pdf", "--mode", "copilot", "--judge"]);
    judged.exits(2).warns("the judge: codex cannot run");
    assert!(!judged.stderr.contains("copilot can"), "{}", judged.stderr);
    for command in ["generate", "tune pdf"] {
        let mut args: Vec<&str> = command.split(' ').collect();
        args.extend(["--agent", "copilot"]);
        machine.run(&args).exits(2).warns("copilot can neither judge nor draft: its answers follow no schema");
    }
    machine.write("clone/evals/evals.toml", "[judge]\nagent = 'copilot'\n");
    machine
        .run(&["run", "--skill", "pdf", "--mode", "copilot", "--judge"])
        .exits(2)
        .warns("can neither judge nor draft");
    assert!(machine.started().iter().all(|started| started.contains("--version")), "{:?}", machine.started());
}

#[test]
fn settings_that_are_not_read_stop_a_run() {
    let machine = Machine::with_agents().variable("CODEX_API_KEY", "k");
    machine.write("clone/evals.toml", "modes = ['native']\n");
    machine.run(&["run", "--skill", "pdf"]).exits(2).warns("move them to evals/evals.toml");
    assert_eq!(machine.started(), [""; 0]);
}

#[test]
fn a_key_behind_a_table_is_told_where_it_belongs() {
    let machine = Machine::with_agents();
    machine.write("clone/evals/evals.toml", "[gate]\n\nmodes = ['native']\n");
    machine.run(&["lint"]).exits(2).warns("`modes` belongs above the first [table] of the file");
    machine.write("clone/evals/evals.toml", "modes = 'native'\n");
    machine.run(&["lint"]).exits(2).warns("write modes = ['native']");
}

#[test]
fn a_judge_that_needs_the_model_of_an_endpoint_is_told_before_a_run_begins() {
    let machine = Machine::with_agents();
    let endpoint = ["run", "--skill", "pdf", "--mode", "codex", "--endpoint", "http://127.0.0.1:9", "--model", "m"];
    let judged = machine.run(&[&endpoint[..], &["--judge"]].concat());
    judged.exits(2).warns("needs a model of the endpoint: add `judge = { model");
    assert_eq!(machine.started(), [""; 0]);
    machine.write("clone/evals/evals.toml", "judge = { agent = \"codex\", model = \"m\" }\n");
    machine.run(&[&endpoint[..], &["--judge", "--dry-run"]].concat()).exits(0);
}

#[test]
fn a_missing_agent_is_told_before_a_run_begins() {
    let machine = Machine::new();
    for args in [&["run", "--skill", "pdf"][..], &["run", "--skill", "pdf", "--dry-run"]] {
        let run = machine.run(args);
        run.exits(2).warns("`codex` is not on the PATH; get it with `npm install");
        // What would run is reported all the same.
        let is_dry = args.contains(&"--dry-run");
        assert_eq!(run.stdout.contains("3 trials would run"), is_dry, "{}", run.stdout);
    }
    assert!(!machine.path("clone/artifacts").exists());
}

#[test]
fn a_replay_says_how_to_run_the_agent_in_the_words_of_its_own_door() {
    let machine = Machine::new();
    let replay = machine.run(&["run", "--case", "pdf/smoke-explicit", "--replay"]);
    let record = "pdf/smoke-explicit/codex: no recording\n  record it  ";
    replay.prints(record).prints("skill-evals run --case pdf/smoke-explicit --mode codex --record");
    assert!(!replay.stdout.contains("SKILL_EVALS_LIVE"), "{}", replay.stdout);
    machine.run(&["harness", "--include-ignored", "pdf::smoke"]).prints("no recording; SKILL_EVALS_LIVE=1");
}

#[test]
fn a_repository_that_cannot_be_written_to_is_told_beforehand() {
    let machine = Machine::with_agents().variable("CODEX_API_KEY", "k");
    machine.write("clone/artifacts", "A file in the way.\n");
    let told = |args: &[&str], found: &str| {
        let run = machine.run(args);
        let all = format!("{}{}", run.stdout, run.stderr);
        assert!(
            run.code != 0 && all.contains(found) && all.contains("work in a clone that is yours"),
            "{args:?}: {all}"
        );
    };
    for args in [&["run", "--dry-run"][..], &["run"], &["doctor"]] {
        told(args, "artifacts: Not a directory");
    }
    fs::remove_file(machine.path("clone/artifacts")).expect("a file");
    // Root may write there all the same.
    if !nix::unistd::geteuid().is_root() {
        let rights =
            |mode| fs::set_permissions(machine.path("clone"), fs::Permissions::from_mode(mode)).expect("rights");
        rights(0o555);
        for args in [&["run", "--dry-run"][..], &["run"], &["doctor"]] {
            told(args, "clone: Permission denied");
        }
        rights(0o755);
    }
    if !has_bwrap() {
        return;
    }
    let clone = machine.path("clone").display().to_string();
    for args in [&["run", "--dry-run"][..], &["run"], &["doctor"]] {
        let program = env!("CARGO_BIN_EXE_skill-evals");
        let sandbox = ["--dev-bind", "/", "/", "--ro-bind", &clone, &clone, "--", program];
        let run = ran(&mut machine.command("bwrap", "clone", &[&sandbox, args].concat()));
        let all = format!("{}{}", run.stdout, run.stderr);
        assert!(run.code != 0 && all.contains("clone: Read-only file system"), "{args:?}: {all}");
    }
    assert_eq!(machine.started(), [""; 0]);
}
