//! What a reader sees in a terminal, and what files and pipes get.

use crate::support::fixture::Ran;
use crate::support::stub::{ANSWER, Stub, ran};

const GREEN: &str = "\u{1b}[32m";
const RED: &str = "\u{1b}[31m";
const YELLOW: &str = "\u{1b}[33m";

/// A repository with a case that passes, one that fails, and one that measures nothing.
fn one_of_each() -> Stub {
    let body = format!("case \"$prompt\" in *crash*) exit 7;; *bad*) {} exit 0;; esac", ANSWER.replace("Done", "No"));
    let stub = Stub::new(1, &body);
    let rows = "id,should_trigger,prompt,must_include\ngood,false,fine,Done\nbad,false,bad one,Done\ncrash,false,a crash,Done\n";
    std::fs::write(stub.root().join("evals/skills/tidy/prompts.csv"), rows).expect("cases");
    stub
}

fn with(stub: &Stub, args: &[&str], variables: &[(&str, &str)]) -> Ran {
    let mut command = stub.command(args);
    for name in ["NO_COLOR", "CLICOLOR", "CLICOLOR_FORCE"] {
        command.env_remove(name);
    }
    ran(command.envs(variables.iter().copied()))
}

#[test]
fn verdicts_have_a_color_of_their_own_wherever_they_are_said() {
    let stub = one_of_each();
    let ran = with(&stub, &["run", "-v", "--run-id", "r", "--color", "always"], &[]);
    ran.exits(1);
    for painted in [
        format!("tidy/good/codex: {GREEN}pass\u{1b}[0m\n"),
        format!("tidy/bad/codex: {RED}fail\u{1b}[0m\n"),
        format!("  {RED}failed\u{1b}[0m      must-include (outcome)\n"),
        format!("tidy/crash/codex: {YELLOW}error\u{1b}[0m (nothing was measured)\n"),
        format!("1 of 3 cases passed, {RED}1 failed\u{1b}[0m, {YELLOW}1 error\u{1b}[0m\n"),
        format!("trials: {GREEN}1 passed\u{1b}[0m, {RED}1 failed\u{1b}[0m, {YELLOW}1 error\u{1b}[0m, 0 unscored"),
    ] {
        ran.prints(&painted);
    }
    with(&stub, &["run", "--run-id", "again"], &[]);
    std::fs::copy(stub.run_folder("again").join("progress.jsonl"), stub.root().join("again.jsonl"))
        .expect("a baseline");
    std::fs::remove_dir_all(stub.run_folder("again")).expect("a directory");
    for (args, painted) in [
        (vec!["summary", "r"], format!("tidy/bad/codex    0/1  {RED}fail\u{1b}[0m    must-include")),
        (vec!["status", "r"], format!("  {RED}failed\u{1b}[0m   tidy/bad/codex: must-include")),
        (vec!["runs"], format!("{RED}1 failed\u{1b}[0m")),
        (vec!["grade", "r"], format!("tidy/bad/codex: {RED}fail\u{1b}[0m\n")),
        (vec!["doctor"], format!("{GREEN}ok\u{1b}[0m       ")),
        (vec!["compare", "r", "again.jsonl"], "\u{1b}[35mundecided\u{1b}[0m: 1/2".to_owned()),
        (vec!["status", "none"], format!("{RED}error:\u{1b}[0m ")),
    ] {
        let plain = with(&stub, &args, &[]);
        assert!(!plain.stdout.contains('\u{1b}') && !plain.stderr.contains('\u{1b}'), "{args:?}: {:?}", plain.stdout);
        let ran = with(&stub, &[&["--color=always"], args.as_slice()].concat(), &[]);
        let text = format!("{}{}", ran.stdout, ran.stderr);
        assert!(text.contains(&painted), "{args:?}: {painted:?}\n{text:?}");
    }
}

#[test]
fn a_pipe_gets_colors_only_where_they_are_asked_for() {
    let stub = one_of_each();
    with(&stub, &["run", "--run-id", "r"], &[]);
    let colored = |args: &[&str], variables: &[(&str, &str)]| {
        with(&stub, &[&["summary", "r"], args].concat(), variables).stdout.contains('\u{1b}')
    };
    assert!(!colored(&[], &[]), "a pipe");
    assert!(!colored(&[], &[("CLICOLOR", "1")]), "a pipe all the same");
    assert!(colored(&[], &[("CLICOLOR_FORCE", "1")]));
    assert!(!colored(&[], &[("CLICOLOR_FORCE", "1"), ("NO_COLOR", "1")]));
    assert!(colored(&[], &[("CLICOLOR_FORCE", "1"), ("NO_COLOR", "")]), "empty is not set");
    assert!(!colored(&["--color", "never"], &[("CLICOLOR_FORCE", "1")]), "the option comes first");
    assert!(colored(&["--color", "always"], &[("NO_COLOR", "1")]));
    // What is stored, and what programs read, has none.
    assert!(!colored(&["--color", "always", "--json"], &[]));
    assert!(!colored(&["--color", "always", "--markdown"], &[]));
    with(&stub, &["run", "--run-id", "s", "--color", "always", "--junit", "junit.xml"], &[]);
    for entry in walkdir::WalkDir::new(stub.run_folder("s")).into_iter().flatten() {
        let text = std::fs::read(entry.path()).unwrap_or_default();
        assert!(!text.contains(&0x1b), "{}", entry.path().display());
    }
    assert!(!std::fs::read(stub.root().join("junit.xml")).expect("a document").contains(&0x1b));
    assert_eq!(with(&stub, &["runs", "--color", "sometimes"], &[]).code, 2);
    // Output before all arguments are read is colored as requested too.
    for (args, code) in [(["runs", "--help"], 0), (["runs", "--unknown"], 2), (["help", "runs"], 0)] {
        let colored = |when: &[&str], variables: &[(&str, &str)]| {
            let ran = with(&stub, &[args.as_slice(), when].concat(), variables);
            assert_eq!(ran.code, code, "{}{}", ran.stdout, ran.stderr);
            (ran.stdout + &ran.stderr).contains('\u{1b}')
        };
        assert!(!colored(&[], &[]), "{args:?}");
        assert!(colored(&[], &[("CLICOLOR_FORCE", "1")]), "{args:?}");
        if args[0] != "help" {
            assert!(
                colored(&["--color", "always"], &[]) && colored(&["--color=always"], &[("NO_COLOR", "1")]),
                "{args:?}"
            );
            assert!(!colored(&["--color", "never"], &[("CLICOLOR_FORCE", "1")]), "{args:?}");
        }
    }
}

#[test]
fn a_failing_test_is_colored_as_libtest_s_own_words_are() {
    let stub = one_of_each();
    let harness = |args: &[&str], variables: &[(&str, &str)]| {
        let args: Vec<&str> = ["harness", "--"].iter().chain(args).copied().collect();
        with(&stub, &args, &[&[("SKILL_EVALS_LIVE", "1")], variables].concat()).stdout
    };
    let painted = format!("tidy/bad/codex: {RED}fail\u{1b}[0m\n");
    let text = harness(&["--color", "always"], &[]);
    assert!(text.contains(&painted), "{text:?}");
    assert!(harness(&[], &[("CLICOLOR_FORCE", "1")]).contains(&painted));
    let plain = harness(&[], &[]);
    assert!(plain.contains("tidy/bad/codex: fail\n") && !plain.contains('\u{1b}'), "{plain:?}");
    let json = harness(&["--format", "json", "--color", "always"], &[]);
    assert!(json.contains("tidy/bad/codex: fail\\n") && !json.contains("\\u001b"), "{json:?}");
    // AgentEvent to the program, it holds for the harness too.
    let text =
        with(&stub, &["--color", "never", "harness", "--"], &[("SKILL_EVALS_LIVE", "1"), ("CLICOLOR_FORCE", "1")]);
    assert!(!text.stdout.contains('\u{1b}'), "{:?}", text.stdout);
}

#[test]
fn shells_complete_commands_and_options() {
    let stub = Stub::new(1, "");
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let ran = stub.run(&["completions", shell]);
        assert!(ran.code == 0 && ran.stderr.is_empty(), "{shell}: {}", ran.stderr);
        ran.prints("history").prints("write-progress");
    }
    let script = stub.root().join("complete.bash");
    std::fs::write(&script, stub.run(&["completions", "bash"]).stdout).expect("a script");
    // As bash itself would ask.
    let asks = "source ./complete.bash; asked=$(complete -p skill-evals); asked=${asked#*-F }; \
                COMP_WORDS=(skill-evals judge cal); COMP_CWORD=2; ${asked%% *} skill-evals cal judge; echo \"${COMPREPLY[@]}\"";
    let mut bash = std::process::Command::new("bash");
    let ran = ran(bash.args(["-c", asks]).current_dir(stub.root()));
    assert_eq!(ran.stdout, "calibrate\n", "{}", ran.stderr);
    stub.run("completions tcsh").exits(2);
}

#[test]
fn every_command_has_a_manual_page() {
    let stub = Stub::new(1, "");
    let page = stub.run(&["man"]).stdout;
    assert!(page.contains(".TH skill-evals 1") && page.contains("skill\\-evals\\-run(1)"), "{page}");
    stub.run("man share/man/man1").exits(0);
    let page = |name: &str| std::fs::read_to_string(stub.root().join("share/man/man1").join(name)).expect("a page");
    assert!(page("skill-evals.1").contains(".SH SUBCOMMANDS"));
    let run = page("skill-evals-run.1");
    assert!(
        run.contains("\\-\\-require\\-recordings") && run.contains("\\-\\-color") && run.contains("interrupted"),
        "{run}"
    );
    assert!(page("skill-evals-judge-calibrate.1").contains("LABELS"));
}

#[test]
fn repeats_that_failed_alike_are_one_block() {
    // The third of five says something else.
    let other = ANSWER.replace("Done", "Nearly");
    let body = format!("test \"$(wc -l < \"$folder/starts\")\" = 3 && {{ {other} exit 0; }}");
    let stub = Stub::new(1, &body);
    let rows = "id,should_trigger,prompt,must_include\nbad,false,bad one,Pune\n";
    std::fs::write(stub.root().join("evals/skills/tidy/prompts.csv"), rows).expect("cases");
    let ran = stub.run(&["run", "--run-id", "r", "--trials", "5", "--jobs", "1"]);
    for part in [
        "4× tidy/bad/codex: fail\n  failed      must-include (outcome)\n",
        "  look into   artifacts/skill-evals/r/work/tidy/bad/codex/1 (and 2, 4, 5 next to it)\n",
        "tidy/bad/codex/3: fail\n",
    ] {
        ran.prints(part);
    }
    assert_eq!(ran.stdout.matches("must-include (outcome)").count(), 2, "{}", ran.stdout);
    // The same in the harness, which adds how many had to pass.
    stub.body("");
    let mut command = stub.command(&["harness", "--"]);
    let text = crate::support::stub::ran(command.env("SKILL_EVALS_LIVE", "1").env("SKILL_EVALS_TRIALS", "5")).stdout;
    assert!(text.contains("0 of 5 trials passed") && text.contains("5× tidy/bad/codex: fail\n"), "{text}");
    assert_eq!(text.matches("must-include (outcome)").count(), 1, "{text}");
    // A broken case is broken once.
    std::fs::write(stub.root().join("evals/skills/tidy/prompts.csv"), rows.replace("Pune", "(")).expect("cases");
    let ran = stub.run(&["run", "--run-id", "s", "--trials", "5"]);
    assert_eq!(ran.stdout.matches("unclosed group").count(), 1, "{}", ran.stdout);
}

#[test]
fn checks_of_one_name_are_numbered_and_say_which_they_are() {
    let stub = Stub::new(1, "");
    let rows = "id,should_trigger,prompt,must_include\nseveral,false,Tidy up.,Done|Pune|Oslo\n";
    std::fs::write(stub.root().join("evals/skills/tidy/prompts.csv"), rows).expect("cases");
    let ran = stub.run(&["run", "--run-id", "r"]);
    for part in [
        "  failed      must-include 2 of 3 (outcome)\n    expected  the final message matches \"Pune\"\n",
        "  failed      must-include 3 of 3 (outcome)\n    expected  the final message matches \"Oslo\"\n",
        "must-include 1 of 3 (the final message matches \"Done\")",
    ] {
        ran.prints(part);
    }
    let summary = stub.json("r", "summary.json");
    let failed = &summary["cases"][0]["failed_checks"];
    assert_eq!(failed, &serde_json::json!({"must-include 2 of 3": 1, "must-include 3 of 3": 1}), "{summary}");
}

#[test]
fn no_line_is_longer_than_a_terminal_of_80_columns() {
    let stub = one_of_each();
    let settings = "[mode.second]\nagent = \"codex\"\ndelivery = \"native\"\n";
    let path = stub.root().join("evals/evals.toml");
    let text = std::fs::read_to_string(&path).expect("settings");
    std::fs::write(&path, format!("{text}{settings}")).expect("settings");
    let code = regex::Regex::new(r"\x1b\[[?\d;]*[A-Za-z]").expect("a pattern");
    for args in [
        &["run", "-v", "--mode", "codex", "--mode", "second", "--trials", "2", "--run-id", "a-run-with-a-long-name"][..],
        &["run", "--mode", "codex", "--run-id", "b"],
        &["compare", "a-run-with-a-long-name", "b", "--mode", "codex"],
        &["compare", "b", "a-run-with-a-long-name", "--mode", "codex", "--quiet"],
        &["compare", "--mode", "codex", "--mode", "second", "--dry-run"],
        &["list"],
        &["lint", "--check-evals"],
        &["summary", "a-run-with-a-long-name", "-v"],
        &["show", "bad/codex", "--run", "a-run-with-a-long-name"],
        &["doctor"],
        &["status"],
        &["runs"],
        &["history"],
        &["grade", "b"],
        &["run", "--dry-run"],
        &["--help"],
        &["run", "--help"],
        &["compare", "--help"],
        &["lint", "--help"],
    ] {
        let shown = stub.on_terminal(args, "");
        assert!(shown.lines().count() > 1 || args.contains(&"lint"), "{args:?}: {shown}");
        let plain = code.replace_all(&shown, "");
        // A command is one word: it is copied.
        let is_command = |line: &str| line.starts_with("skill-evals ") || line.starts_with('`');
        let breaks = |line: &str| line.contains(' ') && !is_command(line);
        let long: Vec<&str> = plain.lines().filter(|line| line.chars().count() > 80 && breaks(line.trim())).collect();
        assert!(long.is_empty(), "{args:?}:\n{}\n{shown}", long.join("\n"));
    }
}

#[test]
fn nothing_that_an_agent_said_acts_on_a_terminal_or_a_ci_service() {
    let said = r"\u001b]52;c;aGk=\u0007\u001b[2J\u001b[8m\u202e\ufffe\uffff\r\n::add-mask::x\n ##[group]y\u009b2J";
    let message = format!(
        r#"{{"type":"item.completed","item":{{"id":"0","type":"agent_message","text":"{said}"}}}}
{{"type":"turn.completed","usage":{{"input_tokens":1,"output_tokens":1}}}}"#
    );
    let stub = Stub::new(2, "");
    let body = format!("cat <<'END'\n{message}\nEND\n");
    stub.body(&format!("case \"$prompt\" in *1) {{ {body} }} >&2; exit 7;; esac\n{body}exit 0"));
    stub.write(
        "evals/skills/tidy/prompts.csv",
        "id,should_trigger,prompt,must_include\nc0,false,Prompt 0,Done\nc1,false,Prompt 1,Done\n",
    );
    let junit = stub.root().join("junit.xml").display().to_string();
    let commands: [&[&str]; 12] = [
        &["run", "-v", "--run-id", "r", "--junit", &junit],
        &["run", "-v", "--run-id", "s", "--color", "always"],
        &["show", "tidy/c0/codex/1", "--run", "r", "--verbose"],
        &["show", "tidy/c0/codex/1", "--run", "r", "--json"],
        &["show", "tidy/c1/codex/1", "--run", "r", "--color", "always"],
        &["status", "r"],
        &["summary", "r", "-v"],
        &["grade", "r"],
        &["compare", "r", "s"],
        &["history", "tidy/c0"],
        &["list"],
        &["export", "r", "--to", "csv"],
    ];
    for arguments in commands {
        let Ran { stdout, stderr, .. } = with(&stub, arguments, &[]);
        for text in [stdout, stderr] {
            let plain = [RED, GREEN, YELLOW, "\u{1b}[0m", "\u{1b}[1m", "\u{1b}[2m", "\u{1b}[7m", "\u{1b}[35m"]
                .iter()
                .fold(text, |text, color| text.replace(color, ""));
            let is_document = arguments[0] == "export";
            let acts = |c: char| c != '\n' && c != '\t' && (c.is_control() || c == '\u{202e}');
            assert!(is_document || !plain.contains(acts), "{arguments:?}: {plain:?}");
            let is_command = |line: &str| line.trim_start().starts_with("::") || line.contains("##[");
            assert!(is_document || !plain.lines().any(is_command), "{arguments:?}: {plain:?}");
        }
    }
    let xml = std::fs::read_to_string(&junit).expect("a file");
    let is_allowed = |c: char| matches!(c, '\t' | '\n' | '\r' | ' '..='\u{fffd}' | '\u{10000}'..);
    assert!(xml.contains("<testcase") && xml.chars().all(is_allowed), "{xml:?}");
}
