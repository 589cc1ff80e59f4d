//! What a shell command says about skills.

use skill_evals::trial::trace::shell::{Touch, is_effective, touches};

fn opens(skill: &str) -> Touch {
    Touch::SkillFile { skill: skill.to_owned() }
}

fn loads(skill: &str, path: &str) -> Touch {
    Touch::Resource { skill: skill.to_owned(), path: path.to_owned() }
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
fn printing_or_running_another_file_loads_a_resource() {
    assert_eq!(touches("cat .agents/skills/x/templates/config.json"), [loads("x", "templates/config.json")]);
    assert_eq!(touches("python3 .agents/skills/x/scripts/recalc.py out.xlsx"), [loads("x", "scripts/recalc.py")]);
    assert_eq!(touches("cd .agents/skills/x && cat references/a.md"), [loads("x", "references/a.md")]);
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

#[test]
fn only_opening_a_skill_and_looking_around_are_not_effective() {
    for command in [
        "cat .agents/skills/greeting/SKILL.md",
        "bash -lc 'sed -n 1,80p .agents/skills/greeting/SKILL.md'",
        "cat .agents/skills/a/SKILL.md && cat .agents/skills/b/SKILL.md",
        "cat .agents/skills/a/SKILL.md | head -40",
        "ls",
        "pwd && ls -la",
        "ls -la .agents",
    ] {
        assert!(!is_effective(command), "{command}");
    }
    for command in [
        "cat README.md",
        "cat .agents/skills/a/SKILL.md README.md",
        "cat .agents/skills/a/SKILL.md > copy.md",
        "sed -i s/a/b/ .agents/skills/a/SKILL.md",
        "cat .agents/skills/a/SKILL.md && make",
        "ls $(rm -r x)",
        "python3 run.py",
    ] {
        assert!(is_effective(command), "{command}");
    }
}
