//! What a shell command does.

use skill_evals_evidence::trace::shell::{is_effective, naming, only_reads, prints_skills, run_commands, scripts};

#[test]
fn a_script_runs_where_it_stands_at_the_start_of_a_command_or_behind_an_interpreter() {
    for (command, path) in [
        ("python3 .agents/skills/x/scripts/recalc.py out.xlsx", ".agents/skills/x/scripts/recalc.py"),
        ("bash -lc 'timeout 5 python3 -u \".agents/skills/x/a.py\"'", ".agents/skills/x/a.py"),
        ("true; \".agents/skills/x/a.sh\" --all", ".agents/skills/x/a.sh"),
        ("cd .agents/skills/x && sh scripts/a.sh", ".agents/skills/x/scripts/a.sh"),
        ("D=.agents/skills/x; sh $D/a.sh", ".agents/skills/x/a.sh"),
        ("bash -e .agents/skills/x/a.sh", ".agents/skills/x/a.sh"),
        ("ls | node .agents/skills/x/a.js", ".agents/skills/x/a.js"),
    ] {
        assert_eq!(scripts(command), [path], "{command}");
    }
    for command in [
        "cat .agents/skills/x/a.md",
        "echo sh .agents/skills/x/a.sh",
        "sh -n .agents/skills/x/a.sh",
        "python3 -c 'open(\".agents/skills/x/a.md\")'",
        "node -e 'x // .agents/skills/x/a.js'",
        "perl -pe 1 .agents/skills/x/a.pl",
        "sh $UNKNOWN/a.sh",
        "ls",
        "",
        "'",
    ] {
        assert_eq!(scripts(command), Vec::<String>::new(), "{command}");
    }
}

#[test]
fn printing_a_skill_file_is_told_from_searching_it() {
    for command in [
        "cat .agents/skills/a/SKILL.md",
        "cd .agents/skills/a; sed -n 1,20p SKILL.md | head -5",
        "cat .agents/skills/a/SKILL.md; cat .agents/skills/b/SKILL.md | grep x",
    ] {
        assert!(prints_skills(command), "{command}");
    }
    for command in [
        "grep -q x .agents/skills/a/SKILL.md",
        "diff a.md .agents/skills/a/SKILL.md",
        "chmod +x .agents/skills/a/SKILL.md",
        "sed -i s/a/b/ .agents/skills/a/SKILL.md",
        "head -c 0 .agents/skills/a/SKILL.md; false",
        "ls .agents/skills/a/SKILL.md",
        "rg -q x .agents/skills/a/SKILL.md",
        "wc -l .agents/skills/a/SKILL.md",
        "cat .agents/skills/a/SKILL.md | grep x",
        "cd .agents/skills/a; sed -n 1,20p SKILL.md | head -5 | grep x",
    ] {
        assert!(!prints_skills(command), "{command}");
    }
}

#[test]
fn a_command_that_only_reads_files_is_told_from_one_that_may_do_more() {
    for command in [
        "cat a.md",
        "bash -lc 'cd src && sed -n 1,20p main.rs | head -5'",
        "grep -rn Ada src; ls -la",
        "rg -n 'a|b' src tests 2>/dev/null",
        "head -3 < a.md",
        "pwd",
    ] {
        assert!(only_reads(command), "{command}");
    }
    for command in [
        "cat a.md > b.md",
        "sed -i s/a/b/ a.md",
        "awk '{ print > \"b.md\" }' a.md",
        "cat $(make)",
        "tee b.md < a.md",
        "git status",
        "find . -delete",
        "cat a.md | sh",
        "echo x >> a.md",
        "'",
    ] {
        assert!(!only_reads(command), "{command}");
    }
}

/// The corpus: a command, whether it is effective, and what of a skill's text it shows when it goes well.
fn corpus() -> Vec<(String, bool)> {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/fixtures/shell/commands.csv");
    let mut reader = csv::Reader::from_path(path).expect("the corpus");
    let rows = reader.records().map(|row| row.expect("a row"));
    rows.map(|row| (row[0].to_owned(), row[1].parse::<String>().expect("a word") == "yes")).collect()
}

fn offered() -> Vec<String> {
    ["Greeting", "farewell", "imagegen"].map(str::to_owned).to_vec()
}

fn single_quoted(command: &str) -> String {
    format!("'{}'", command.replace('\'', "'\\''"))
}

fn double_quoted(command: &str) -> String {
    let escaped = command.chars().map(|c| if "\\$`\"".contains(c) { format!("\\{c}") } else { c.to_string() });
    format!("\"{}\"", escaped.collect::<String>())
}

#[test]
fn every_command_of_the_corpus_counts_as_it_says() {
    let corpus = corpus();
    assert!(corpus.len() >= 150, "{} commands", corpus.len());
    let wrong: Vec<&String> = corpus
        .iter()
        .filter(|(command, effective)| is_effective(command, Some(&offered())) != *effective)
        .map(|(command, _)| command)
        .collect();
    assert_eq!(wrong, Vec::<&String>::new());
}

#[test]
fn a_wrapper_changes_nothing_about_a_command() {
    let mut wrong = Vec::new();
    for (command, effective) in corpus() {
        let quoted = single_quoted(&command);
        for wrapped in [
            format!("bash -lc {quoted}"),
            format!("/bin/bash -lc {}", double_quoted(&command)),
            format!("sh -c {quoted}"),
            format!("/usr/bin/env bash -c {quoted}"),
            format!("timeout 20 bash -c {quoted}"),
            format!("cd /w/room && bash -c {quoted}"),
            format!("bash -c {}", single_quoted(&format!("sh -c {quoted}"))),
        ] {
            if is_effective(&wrapped, Some(&offered())) != effective {
                wrong.push(wrapped);
            }
        }
    }
    assert_eq!(wrong, Vec::<String>::new());
}

#[test]
fn more_behind_a_command_that_only_looks_makes_it_effective() {
    for (command, _) in corpus().into_iter().filter(|(command, effective)| !effective && !command.contains('#')) {
        for joined in ["\nrm x", "\nmake &", "\npython3 - <<E\nx\nE"].map(|more| format!("{command}{more}")) {
            assert!(is_effective(&joined, Some(&offered())), "{joined}");
        }
    }
}

#[test]
fn a_skill_file_of_no_offered_skill_is_a_file_like_any_other() {
    let offered = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
    let command = "cat .agents/skills/pdf-tools/SKILL.md";
    assert!(!is_effective(command, Some(&offered(&["PDF Tools"]))), "the directory is the name's slug");
    assert!(!is_effective(command, Some(&offered(&["office:pdf-tools"]))), "of a plugin");
    assert!(!is_effective(command, None), "what was offered is not known");
    assert!(is_effective(command, Some(&offered(&["greeting"]))));
    assert!(is_effective(command, Some(&[])));
}

#[test]
fn scripts_of_any_size_and_depth_are_effective_where_they_are_not_read() {
    for part in ["(", "{ ", "$(", "`", "\"", "{a,b}", "a|", "a && ", "[[ a == ", "<<a ", "${a:-"] {
        for times in [1_000, 4_000, 100_000] {
            assert!(is_effective(&part.repeat(times), None), "{part} {times} times");
            assert_eq!(scripts(&part.repeat(times)), Vec::<String>::new());
        }
    }
    assert!(is_effective(&format!("ls {}", "a ".repeat(10_000)), None), "longer than is read");
    assert!(!is_effective(&format!("ls {}", "a ".repeat(1_000)), None));
}

#[test]
fn a_command_that_says_where_a_program_is_does_not_run_it() {
    let named = |script: &str| naming(script, &|word| word == "gh");
    for script in ["command -v gh", "which gh", "type -p gh", "hash gh; env", "bash -lc 'command -V gh >/dev/null'"] {
        assert_eq!((named(script), run_commands(script).perhaps), (0, Vec::new()), "{script}");
    }
    assert_eq!(named("gh pr merge 12; command -v gh; env"), 1);
    for script in ["command gh pr", "sudo gh pr", "./bin/gh pr", "echo x | xargs gh pr"] {
        assert_eq!(named(script), 1, "{script}");
    }
}
