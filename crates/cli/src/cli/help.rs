//! The help of the program: its commands in groups, and the options of `run` too. `-h` has those that matter first.

use std::fmt::Write;

use clap::Command;

/// The commands by what somebody wants to do. Those that only machines use are in none, and hidden.
const COMMANDS: [(&str, &[&str]); 5] = [
    ("Write cases", &["init", "generate", "lint", "list", "verify", "import"]),
    ("Run them", &["run", "record", "status", "stop", "runs", "clean", "cluster", "merge"]),
    ("Look at results", &["show", "summary", "report", "export", "grade", "judge", "history"]),
    ("Decide", &["compare", "gate", "diagnose", "tune"]),
    ("Set up", &["doctor", "mcp", "completions"]),
];

/// The options of `run` by what they decide. All others are of the results.
const OPTIONS: [(&str, &[&str]); 4] = [
    (
        "Choose",
        &[
            "suite",
            "skill",
            "task",
            "case",
            "cases_from",
            "tag",
            "max_cases",
            "failed",
            "stale",
            "aged",
            "mode",
            "agent",
            "model",
        ],
    ),
    (
        "Run",
        &[
            "trials",
            "threshold",
            "replay",
            "record",
            "accept_failing",
            "require_recordings",
            "watch",
            "lift",
            "trial_end",
            "judge",
            "no_judge",
            "judge_votes",
            "run_id",
            "resume",
            "force",
            "background",
            "dry_run",
            "endpoint",
            "home",
            "root",
            "untrusted",
        ],
    ),
    ("Limits", &["timeout_s", "jobs", "max_cost_usd", "max_tokens", "judge_timeout_s"]),
    ("CI", &["shard", "github", "junit"]),
];

/// The options of `run` that `-h` has.
const SHORT: [&str; 10] =
    ["skill", "case", "mode", "agent", "trials", "replay", "record", "failed", "max_cost_usd", "dry_run"];

const RESULTS: &str = "Results";

/// The program with its help in groups.
pub fn grouped(program: Command) -> Command {
    let mut commands = String::new();
    for (group, names) in COMMANDS {
        let _ = writeln!(commands, "\n{group}:");
        for name in names {
            let about = program.find_subcommand(name).and_then(Command::get_about).map(ToString::to_string);
            let _ = writeln!(commands, "  {name:<12}{}", about.unwrap_or_default());
        }
    }
    let template = format!("{{about}}\n\n{{usage-heading}} {{usage}}\n{commands}\nOptions:\n{{options}}");
    program.help_template(template).mut_subcommand("run", |run| {
        run.mut_args(|option| {
            let id = option.get_id().as_str().replace('-', "_");
            let group = OPTIONS.iter().find(|(_, ids)| ids.contains(&id.as_str()));
            if option.is_positional() || matches!(&*id, "help" | "version" | "color") {
                return option;
            }
            option
                .help_heading(group.map_or(RESULTS, |(group, _)| group))
                .hide_short_help(!SHORT.contains(&id.as_str()))
        })
    })
}

#[cfg(test)]
mod tests {
    use std::fmt::Write;
    use std::fs;
    use std::path::Path;

    use clap::{Command, CommandFactory};

    use super::{COMMANDS, OPTIONS, SHORT, grouped};
    use crate::cli::Cli;

    #[test]
    fn every_command_is_in_one_group_or_hidden() {
        let program = Cli::command();
        let grouped: Vec<&str> = COMMANDS.iter().flat_map(|(_, names)| names.iter().copied()).collect();
        for command in program.get_subcommands() {
            let times = grouped.iter().filter(|name| **name == command.get_name()).count();
            assert_eq!(times, usize::from(!command.is_hide_set()), "{}", command.get_name());
        }
        assert_eq!(grouped.len(), program.get_subcommands().filter(|command| !command.is_hide_set()).count());
    }

    /// docs/reference/commands.md has what the program declares. The last column is by hand. With `INSTA_UPDATE=always` the others
    /// are written.
    #[test]
    fn the_page_of_commands_says_what_the_help_says() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference/commands.md");
        let page = fs::read_to_string(&path).expect("the page");
        let (start, rows) = page.split_once("<!-- commands -->\n").expect("a comment where the commands begin");
        let mut program = Cli::command();
        program.build();
        let hidden = program.get_subcommands().filter(|command| command.is_hide_set()).map(Command::get_name);
        let others: Vec<&str> = hidden.chain(["help"]).collect();
        let mut text = format!("{start}<!-- commands -->\n");
        for (group, names) in COMMANDS.into_iter().chain([("Others", others.as_slice())]) {
            let _ = write!(text, "\n## {group}\n\n| command | what it does | page |\n| --- | --- | --- |\n");
            for name in names {
                let about = program.find_subcommand(name).and_then(Command::get_about).expect("a help").to_string();
                let row = rows.lines().find(|row| row.starts_with(&format!("| `{name}` | ")));
                let pages =
                    row.and_then(|row| row.strip_suffix(" |")?.rsplit_once(" | ")).map_or("", |(_, pages)| pages);
                let _ = writeln!(text, "| `{name}` | {about} | {pages} |");
            }
        }
        if std::env::var("INSTA_UPDATE").is_ok_and(|update| update == "always") {
            fs::write(&path, &text).expect("the page");
        }
        let is_same = fs::read_to_string(path).expect("the page") == text;
        assert!(is_same, "INSTA_UPDATE=always writes docs/reference/commands.md");
        assert!(!text.contains("|  |"), "each command has a page: {text}");
    }

    #[test]
    fn every_grouped_option_of_run_exists_and_the_short_help_has_the_ten_that_matter() {
        let mut program = grouped(Cli::command());
        program.build();
        let run = program.find_subcommand_mut("run").expect("a command");
        let ids: Vec<String> = run.get_arguments().map(|option| option.get_id().as_str().replace('-', "_")).collect();
        for id in OPTIONS.iter().flat_map(|(_, ids)| ids.iter()).chain(&SHORT) {
            assert!(ids.iter().any(|known| known == id), "{id}");
        }
        let short = run.render_help().to_string();
        let options = short.lines().filter(|line| line.trim_start().starts_with("--")).count();
        assert!(options <= SHORT.len() + 1, "{short}");
        assert!(short.contains("--max-cost-usd") && !short.contains("--junit"), "{short}");
        let long = run.render_long_help().to_string();
        for heading in ["Choose:", "Run:", "Limits:", "Results:", "CI:"] {
            assert!(long.contains(heading), "{heading}: {long}");
        }
        assert!(long.contains("--junit") && !long.contains("--write-progress"), "{long}");
    }
}
