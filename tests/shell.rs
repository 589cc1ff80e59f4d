//! What a shell command says about skills.

use skill_evals::trial::trace::shell::{Purpose, Touch, is_effective, touches};

fn opens(skill: &str) -> Touch {
    Touch::SkillFile { skill: skill.to_owned() }
}

fn names(skill: &str, path: &str, for_what: Purpose) -> Touch {
    Touch::Resource { skill: skill.to_owned(), path: path.to_owned(), for_what }
}

#[test]
fn printing_a_skill_file_opens_the_skill() {
    for command in [
        "cat .agents/skills/greeting/SKILL.md",
        "/bin/bash -lc 'cat .agents/skills/greeting/SKILL.md'",
        "bash -lc \"sed -n '1,200p' /trial/workspace/.agents/skills/greeting/SKILL.md\"",
        "head -50 ./.codex/skills/greeting/SKILL.md | grep name",
        "cd .agents/skills/greeting && cat SKILL.md",
        "cat \".agents/skills/greeting/SKILL.md\"",
    ] {
        assert_eq!(touches(command), [opens("greeting")], "{command}");
    }
}

#[test]
fn several_skills_are_opened_in_order() {
    let command = "cat .agents/skills/a/SKILL.md; cat .agents/skills/b/SKILL.md";
    assert_eq!(touches(command), [opens("a"), opens("b")]);
}

#[test]
fn another_file_of_a_skill_is_named_to_print_or_to_run_it_or_for_something_else() {
    use Purpose::{Other, Print, Run};
    for (command, path, for_what) in [
        ("cat .agents/skills/x/templates/config.json", "templates/config.json", Print),
        ("cd .agents/skills/x && cat references/a.md", "references/a.md", Print),
        ("head -n 5 '.agents/skills/x/a.md'", "a.md", Print),
        ("python3 .agents/skills/x/scripts/recalc.py out.xlsx", "scripts/recalc.py", Run),
        ("bash -lc 'timeout 5 python3 -u \".agents/skills/x/a.py\"'", "a.py", Run),
        ("true; \".agents/skills/x/a.sh\" --all", "a.sh", Run),
        ("cp \".agents/skills/x/a.md\" b", "a.md", Other),
        ("echo '.agents/skills/x/a.sh'", "a.sh", Other),
        ("bash -e .agents/skills/x/a.sh", "a.sh", Run),
        ("sh -n .agents/skills/x/a.sh", "a.sh", Other),
        ("python3 -c 'open(\".agents/skills/x/a.md\")'", "a.md\"", Other),
        ("node -e 'x // .agents/skills/x/a.js'", "a.js", Other),
    ] {
        assert_eq!(touches(command), [names("x", path, for_what)], "{command}");
    }
}

#[test]
fn looking_around_opens_nothing() {
    for command in [
        "ls .agents/skills",
        "ls -la .agents/skills/greeting",
        "find .agents/skills -name SKILL.md",
        "cat .agents/skills/*/SKILL.md",
        "wc -l .agents/skills/greeting/SKILL.md",
        "test -f .agents/skills/greeting/SKILL.md",
    ] {
        assert!(!touches(command).is_empty(), "{command}");
        assert!(touches(command).iter().all(|touch| *touch == Touch::Explore), "{command}: {:?}", touches(command));
    }
}

#[test]
fn other_commands_touch_nothing() {
    for command in ["ls", "cat README.md", "echo skills", "git status", "", "'", "cd /tmp && make"] {
        assert_eq!(touches(command), [], "{command}");
    }
}

/// The corpus: a command, whether it is effective, and what of a skill's text it shows when it goes well.
fn corpus() -> Vec<(String, bool)> {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/shell/commands.csv");
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
    assert!(!is_effective(command, Some(&offered(&["PDF Tools"]))), "the folder is the name's slug");
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
            assert_eq!(touches(&part.repeat(times)), []);
        }
    }
    assert!(is_effective(&format!("ls {}", "a ".repeat(10_000)), None), "longer than is read");
    assert!(!is_effective(&format!("ls {}", "a ".repeat(1_000)), None));
}
