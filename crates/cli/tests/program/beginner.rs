//! Mistakes of the first hour, each with what it says: the golden file is read by people.

use std::fmt::Write;
use std::process::Command;

use crate::support::fixture::Fixture;
use crate::support::stub::ran;

const SKILL: &str = "---\nname: tidy\ndescription: Tidies code. Use when somebody wants tidy code.\n---\n\nTidy it.\n";

/// What somebody did, the files that differ from a good repository, and the command.
type Mistake = (&'static str, &'static [(&'static str, &'static str)], &'static [&'static str]);

const PROMPTS: &str = "evals/skills/tidy/prompts.csv";
const LINT: &[&str] = &["lint", "--check-evals"];

const MISTAKES: [Mistake; 28] = [
    ("no front matter", &[("skills/tidy/SKILL.md", "# Tidy\n\nTidy it.\n")], LINT),
    (
        "a name that is not that of the directory",
        &[("skills/tidy/SKILL.md", "---\nname: cleaner\ndescription: Tidies code.\n---\n\nTidy it.\n")],
        LINT,
    ),
    ("no description", &[("skills/tidy/SKILL.md", "---\nname: tidy\n---\n\nTidy it.\n")], LINT),
    ("cases beside the skill", &[("skills/tidy/prompts.csv", "id,should_trigger,prompt\na,true,Tidy up\n")], LINT),
    ("a column with a typing error", &[(PROMPTS, "id,should_triger,prompt\na,true,Tidy up\n")], LINT),
    ("yes for true", &[(PROMPTS, "id,should_trigger,prompt\na,yes,Tidy up\n")], LINT),
    ("no prompt", &[(PROMPTS, "id,should_trigger,prompt\na,true,\n")], LINT),
    ("semicolons", &[(PROMPTS, "id;should_trigger;prompt\na;true;Tidy up\n")], LINT),
    ("a comma without quotes", &[(PROMPTS, "id,should_trigger,prompt,must_include\na,true,Tidy up, please\n")], LINT),
    ("a quote that stays open", &[(PROMPTS, "id,should_trigger,prompt\na,true,\"Tidy up\nb,false,Sing\n")], LINT),
    ("the line of a spreadsheet", &[(PROMPTS, "sep=,\nid,should_trigger,prompt\na,true,Tidy up\n")], LINT),
    ("a workbook under another name", &[(PROMPTS, "PK\u{3}\u{4}rest")], LINT),
    (
        "a table without a directory of its skill",
        &[("evals/skills/sort.csv", "id,should_trigger,prompt\na,true,Sort it\n")],
        LINT,
    ),
    (
        "a table with two endings",
        &[("evals/skills/tidy/prompts.csv.csv", "id,should_trigger,prompt\na,true,Tidy\n")],
        LINT,
    ),
    (
        "words and quotes that are no syntax",
        &[(
            PROMPTS,
            "id,should_trigger,prompt,must_include\na,true,Tidy up,Done AND dusted\nb,true,Tidy,“Done”\nc,false,Sing,\n",
        )],
        LINT,
    ),
    ("the name of an agent as people say it", &[], &["generate", "--agent", "claude-code"]),
    ("a broken pattern", &[(PROMPTS, "id,should_trigger,prompt,must_include\na,true,Tidy up,(done\n")], LINT),
    ("one id twice", &[(PROMPTS, "id,should_trigger,prompt\na,true,Tidy up\na,false,Sing\n")], LINT),
    ("a comma too many in JSON", &[("evals/tasks/one.json", "{\"prompt\": \"Tidy up\",}\n")], LINT),
    (
        "a task of a skill that is not here",
        &[("evals/tasks/one.json", "{\"prompt\": \"Go\", \"evalConfig\": {\"expectedSkillName\": \"tydi\"}}\n")],
        LINT,
    ),
    (
        "files to start with that are not here",
        &[(PROMPTS, "id,should_trigger,prompt,fixture\na,true,Tidy up,fixtures/project\n")],
        LINT,
    ),
    ("a key of evals.toml that does not exist", &[("evals/evals.toml", "mode = \"codex\"\n")], &["list"]),
    ("a case with a typing error", &[], &["run", "--replay", "--case", "explicitt"]),
    ("an agent as a mode", &[], &["run", "--replay", "--mode", "claude"]),
    ("an agent that is not known", &[], &["run", "--replay", "--agent", "gpt"]),
    ("no trials", &[], &["run", "--trials", "0"]),
    ("a comparison of nothing", &[], &["compare"]),
    ("a look at results before there are any", &[], &["summary"]),
];

#[test]
fn mistakes_of_the_first_hour_say_what_is_wrong_and_what_to_do() {
    let mut text = String::new();
    for (what, files, args) in MISTAKES {
        let good = Fixture::new()
            .skill_text("tidy", SKILL)
            .prompts("tidy", "id,should_trigger,prompt\nexplicit,true,Tidy up this code\nother,false,Sing\n");
        let fixture = files.iter().fold(good, |fixture, (path, text)| fixture.file(path, text));
        let mut command = Command::new(env!("CARGO_BIN_EXE_skill-evals"));
        command.args(args).current_dir(fixture.root()).env_clear().env("PATH", "/usr/bin:/bin").env("HOME", "/nowhere");
        let ran = ran(&mut command);
        assert_ne!(ran.code, 101, "{what}: {}", ran.stderr);
        let said = format!("{}{}", ran.stdout, ran.stderr).replace(&fixture.root().display().to_string(), "ROOT");
        let _ =
            write!(text, "# {what}\n$ skill-evals {}   [exit {}]\n{}\n\n", args.join(" "), ran.code, said.trim_end());
    }
    insta::assert_snapshot!(text);
}
