//! `SKILL_EVALS_*`: what the command line can choose, the environment can.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;

use crate::support::repository;
use crate::support::stub::{Stub, ran};
use skill_evals_evidence::settings::{KeyRow, Settings, Suite, VARIABLES, key_rows};
use skill_evals_exports::EXPORTS;
use skill_evals_report::export::{Export, ExportKind};

use super::fixture;
use crate::support::fixture::Fixture;
use crate::support::harness::{harness, listed};

fn apply(variables: &[(&str, &str)]) -> Result<Settings, Vec<String>> {
    let mut settings = Settings::default();
    let owned = variables.iter().map(|(name, value)| ((*name).into(), (*value).into()));
    settings.apply_environment(owned).map(|()| settings)
}

fn refused(name: &str, value: &str) -> String {
    apply(&[(name, value)]).expect_err("refused").join("\n")
}

#[test]
fn every_variable_of_the_table_is_read() {
    for name in VARIABLES.iter().map(|variable| variable.name) {
        let value = match name.trim_start_matches("SKILL_EVALS_") {
            "LIVE" | "TRIALS" | "JOBS" | "TIMEOUT_S" | "CHECK_TIMEOUT_S" | "MAX_SKILLS" | "MAX_CASES" | "RESUME"
            | "MAX_COST_USD" | "RETRIES" | "RETRY_WAIT_S" | "RECORD" | "MAX_TOKENS" | "THRESHOLD" => "1",
            name if name.starts_with("JUDGE") => "1",
            "SUITE" => "negative",
            "MODE" => "codex",
            "ISOLATION" => "agent",
            "HOME" => "user",
            "REQUIRE_ISOLATION" | "REQUIRE_RECORDINGS" | "UNTRUSTED" | "NO_LEAD" => "1",
            "CALIBRATE" => "off",
            "NETWORK" => "web",
            "ENDPOINT" => "http://127.0.0.1:1",
            _ => "word",
        };
        assert!(apply(&[(name, value)]).is_ok(), "{name}: {:?}", apply(&[(name, value)]));
    }
}

#[test]
fn a_variable_that_is_not_utf8_is_an_error_with_its_name_or_read_as_a_path() {
    let bytes = |name: &str| [(OsString::from(name), OsString::from_vec(b"bwra\xff".to_vec()))];
    for name in VARIABLES.iter().map(|variable| variable.name).chain(["SKILL_EVALS_UNKNOWN"]) {
        let applied = Settings::default().apply_environment(bytes(name));
        match name {
            "SKILL_EVALS_ROOT" | "SKILL_EVALS_HARNESS" | "SKILL_EVALS_KEPT_KEY" => {
                assert_eq!(applied, Ok(()), "{name}");
            }
            "SKILL_EVALS_UNKNOWN" => assert!(applied.is_err_and(|all| all[0].starts_with("unknown variable"))),
            _ => assert_eq!(applied, Err(vec![format!("{name} is \"bwra\u{fffd}\"; expected UTF-8 text")])),
        }
    }
    let list = |name: &str| {
        let [(name, value)] = bytes(name);
        let stub = Stub::new(1, "");
        stub.write("evals/evals.toml", "");
        ran(stub.command(&["list"]).env(name, value))
    };
    for name in ["SKILL_EVALS_ISOLATION", "SKILL_EVALS_UNTRUSTED"] {
        let listed = list(name);
        listed.exits(2).warns(format!("{name} is \"bwra"));
    }
    // Those of others are theirs.
    assert_eq!(list("OTHER_VARIABLE").code, 0);
}

#[test]
fn every_choice_of_the_command_line_has_a_variable() {
    let help = Fixture::new().run(&["run", "--help"]).stdout;
    // Sentences about an option are further to the right.
    let lines =
        help.lines().filter(|line| line.starts_with("  ") && line.trim_start_matches("      ").starts_with('-'));
    let options = lines.filter_map(|line| {
        let option = line.split_whitespace().find(|word| word.starts_with("--"))?;
        Some(option.trim_end_matches(',').to_owned())
    });
    // `run` is live unless it replays: LIVE says which of the two. JUDGE says either `--judge` or `--no-judge`.
    // What is printed, and what only says how this one command goes about it, libtest's own arguments say or need not.
    let said_otherwise = [
        "--help",
        "--replay",
        "--no-judge",
        "--quiet",
        "--verbose",
        "--dry-run",
        "--background",
        "--write-progress",
        "--force",
        "--stale",
        "--aged",
        "--failed",
        "--accept-failing",
        // Its agents get the answers of a model of another day, which is no test.
        "--replay-model",
        // It writes mocks for review, which is no test.
        "--record-mocks",
        "--color",
        // It names modes.
        "--agent",
        // For a run of the base: a test never is one.
        "--keep",
        // It compares, which no test does.
        "--lift[=<true|false>]",
        // Trials of the harness run to their end; nextest and libtest choose tests by themselves.
        "--trial-end",
        "--shard",
        "--shards",
        "--cases-from",
        "--watch[=<HOW>]",
    ];
    let is_export = |option: &String| EXPORTS.iter().any(|export| option.trim_start_matches('-') == export.name);
    let words: Vec<String> =
        options.filter(|option| !said_otherwise.contains(&option.as_str()) && !is_export(option)).collect();
    assert!(words.contains(&"--suite".to_owned()) && words.len() > 10, "{words:?}");
    for option in words {
        let name = format!("SKILL_EVALS_{}", option.trim_start_matches('-').to_uppercase().replace('-', "_"));
        assert!(VARIABLES.iter().any(|known| known.name == name), "{option} has no {name}");
    }
}

#[test]
fn an_unknown_variable_is_an_error_with_the_known_ones() {
    let why = refused("SKILL_EVALS_MODES", "codex");
    assert!(why.starts_with("unknown variable SKILL_EVALS_MODES; did you mean SKILL_EVALS_MODE? known: "));
    for name in VARIABLES.iter().map(|variable| variable.name) {
        assert!(why.contains(name), "{name}: {why}");
    }
}

#[test]
fn a_value_that_is_not_allowed_is_an_error_with_the_allowed_ones() {
    let allowed = [
        ("LIVE", "yes", "0 or 1"),
        ("SUITE", "all", "smoke, explicit, positive, negative"),
        ("MAX_CASES", "0", "1 to 1000000"),
        ("MAX_SKILLS", "-1", "1 to 1000000"),
        ("TRIALS", "1001", "1 to 1000"),
        ("JOBS", "+3", "1 to 1000"),
        ("TIMEOUT_S", "", "1 to 86400"),
        ("MODE", "codexx", "did you mean `codex`?"),
        ("RUN_ID", "a/b", "letters, digits"),
    ];
    for (name, value, words) in allowed {
        let why = refused(&format!("SKILL_EVALS_{name}"), value);
        assert!(why.contains(words) && why.contains(value), "{name}: {why}");
    }
}

#[test]
fn every_problem_is_told_at_once() {
    let why = apply(&[("SKILL_EVALS_JOBS", "x"), ("SKILL_EVALS_TRIALS", "y"), ("OTHER", "z")]).expect_err("refused");
    assert_eq!(why.len(), 2, "{why:?}");
}

#[test]
fn lists_are_separated_by_commas() {
    let settings = apply(&[
        ("SKILL_EVALS_SKILL", "a, b,"),
        ("SKILL_EVALS_SUITE", "positive"),
        ("SKILL_EVALS_MODE", "none,codex"),
        ("SKILL_EVALS_MAX_CASES", "2"),
    ]);
    let settings = settings.expect("allowed");
    assert_eq!(settings.selection.skills, ["a", "b"]);
    assert_eq!((settings.selection.suite(), settings.selection.max_cases), (Suite::Positive, Some(2)));
    assert_eq!(settings.selected_modes, Some(vec!["none".to_owned(), "codex".to_owned()]));
}

#[test]
fn the_harness_runs_what_the_variables_choose() {
    let fixture = fixture();
    let cases = |name: &str, value: &str| {
        let names = listed(&harness(&fixture, &["--list"]).env(name, value).run());
        names.into_iter().filter(|name| !name.ends_with("::lint")).collect::<Vec<_>>()
    };
    assert_eq!(cases("SKILL_EVALS_SKILL", "sweep+up"), ["sweep_up::first_one::codex", "sweep_up::last::codex"]);
    assert_eq!(cases("SKILL_EVALS_CASE", "tidy/last"), ["tidy::last::codex"]);
    assert_eq!(
        cases("SKILL_EVALS_SUITE", "negative"),
        ["sweep_up::last::codex", "tidy::bad::codex", "tidy::last::codex"],
        "what cannot be read is told of"
    );
    assert_eq!(cases("SKILL_EVALS_MAX_CASES", "1"), ["sweep_up::first_one::codex", "tidy::first_one::codex"]);
    assert_eq!(cases("SKILL_EVALS_MAX_SKILLS", "1"), ["sweep_up::first_one::codex", "sweep_up::last::codex"]);
    assert_eq!(cases("SKILL_EVALS_MODE", "none").len(), 5);
    assert!(cases("SKILL_EVALS_MODE", "none").iter().all(|name| name.ends_with("::none")));
    let name = "tidy::last::codex";
    let ran = harness(&fixture, &["--list", "--exact", name]).env("SKILL_EVALS_MAX_CASES", "1").run();
    assert_eq!(listed(&ran), [""; 0], "one alone is chosen as among all");
}

#[test]
fn the_root_may_be_elsewhere() {
    let (here, there) = (fixture(), Fixture::copy_of_sample());
    let root = there.root().to_str().expect("UTF-8");
    let names = listed(&harness(&here, &["--list"]).env("SKILL_EVALS_ROOT", root).run());
    assert!(names.contains(&"greeting::explicit::codex".to_owned()), "{names:?}");
    let ran = harness(&here, &["--list"]).env("SKILL_EVALS_ROOT", "/nowhere/at-all").run();
    assert_eq!(ran.code, 2, "a wrong root is no empty repository");
}

/// A page of docs/reference.
fn page(name: &str) -> String {
    let path = repository().join(format!("docs/reference/{name}.md"));
    std::fs::read_to_string(path).expect("a page")
}

/// The list of a page that is between two comments with this name.
fn list<'a>(page: &'a str, name: &str) -> &'a str {
    let (_, rest) = page.split_once(&format!("<!-- {name} -->\n")).expect("a comment where the list begins");
    rest.split_once(&format!("<!-- /{name} -->")).expect("a comment where the list ends").0
}

/// Holds a list of docs/reference/settings.md against the rows of the code that declares it. With `INSTA_UPDATE=always` it is written.
fn hold(name: &str, rows: impl Iterator<Item = String>) {
    let (text, expected) = (page("settings"), rows.collect::<Vec<_>>().join("\n"));
    let list = list(&text, name).trim();
    if std::env::var("INSTA_UPDATE").is_ok_and(|update| update == "always") {
        let path = repository().join("docs/reference/settings.md");
        std::fs::write(path, text.replace(list, &expected)).expect("a page");
    } else {
        assert_eq!(list, expected, "INSTA_UPDATE=always writes docs/reference/settings.md");
    }
}

#[test]
fn the_docs_list_the_variables_and_the_keys_as_they_are_declared() {
    // The key `harness` has the name of the test, and its variable that of a program. Two variables are called like tables.
    let is_key = |name: &str| {
        !["harness", "judge", "mode"].contains(&name) && key_rows().any(|row| row.table.is_empty() && row.key == name)
    };
    let (as_keys, others): (Vec<_>, Vec<_>) = VARIABLES.iter().partition(|known| {
        let name = known.name.strip_prefix("SKILL_EVALS_").expect("a prefix");
        is_key(&name.to_lowercase())
    });
    let as_keys = as_keys.iter().map(|known| format!("`{}`", known.name)).collect::<Vec<_>>().join(", ");
    let same = "the [key](#all-keys-of-evalsevalstoml) of this name; parts of a list have commas between them, and `1` and `0` mean true and false";
    let rows = others.iter().map(|known| format!("| `{}` | {} |", known.name, known.about));
    let head = ["| variable | chooses |".to_owned(), "| --- | --- |".to_owned(), format!("| {as_keys} | {same} |")];
    hold("variables", head.into_iter().chain(rows));
    let head = ["| key | default | meaning |".to_owned(), "| --- | --- | --- |".to_owned()];
    hold("keys", head.into_iter().chain(key_rows().filter_map(KeyRow::row)));
}

/// The exports in the docs are those that there are, each with what its option does.
#[test]
fn the_docs_list_the_exports() {
    let text = page("runs");
    let list = list(&text, "exports");
    let row = |export: &&Export| {
        let file = if matches!(export.kind, ExportKind::File(_)) { " FILE" } else { "" };
        format!("| `--{}{file}` | {} |", export.name, export.about)
    };
    // The others need `export`, whose page lists them.
    let (options, others): (Vec<_>, Vec<_>) = EXPORTS.iter().copied().partition(|export| export.render().is_some());
    let page = include_str!("../../../../../docs/export.md");
    assert!(others.iter().all(|export| page.contains(&format!("| `{}` | ", export.name))), "{page}");
    let rows: Vec<String> = options.iter().map(row).collect();
    assert_eq!(list.trim(), format!("| option | does |\n| --- | --- |\n{}", rows.join("\n")));
    for command in ["run", "summary"] {
        let help = Fixture::new().run(&[command, "--help"]).stdout;
        assert!(options.iter().all(|export| help.contains(&format!("--{}", export.name))), "{help}");
    }
}

/// The keys that the parser names where it finds one in this table that it does not know.
fn known_keys(table: &str) -> Vec<String> {
    let problems = Settings::default().apply_file(&format!("{table}\nno_such_key = 1\n")).expect_err("a wrong key");
    let said = problems[0].to_string();
    let (_, known) = said.split_once("known: ").expect("the known keys");
    known.split(", ").map(str::to_owned).collect()
}

#[test]
fn every_declared_key_is_one_that_its_table_knows() {
    let mut tables: Vec<&str> = key_rows().map(|row| row.table).collect();
    tables.dedup();
    for table in tables {
        let declared: Vec<&str> = key_rows().filter(|row| row.table == table).map(|row| row.key).collect();
        let name = if table.contains("agents") { "codex" } else { "mine" };
        let written = table.split_once('<').map_or(table.to_owned(), |(start, _)| format!("{start}{name}]"));
        assert_eq!(known_keys(&written), declared, "{written}");
    }
}

#[test]
fn the_docs_say_the_defaults_of_the_settings_file() {
    let text = page("settings");
    let built_in = Settings::default();
    let seconds = |time: std::time::Duration| time.as_secs().to_string();
    for (key, default) in [
        ("timeout_s", seconds(built_in.timeout)),
        ("check_timeout_s", seconds(built_in.checks.timeout)),
        ("retries", built_in.retries.to_string()),
        ("retry_wait_s", seconds(built_in.retry_wait)),
        ("threshold", format!("{:?}", built_in.repetition.threshold())),
        ("isolation", format!("{:?}", built_in.isolation.kind.as_str())),
        ("require_isolation", built_in.isolation.required.to_string()),
        ("[judge] agent", format!("{:?}", built_in.judge.agent.as_str())),
        ("[judge] timeout_s", seconds(built_in.judge.timeout)),
        ("[judge] votes", built_in.judge.votes.to_string()),
        ("[mcp] always_load", built_in.mcp.always_load.to_string()),
    ] {
        assert!(text.contains(&format!("| `{key}` | `{default}` |")), "{key} is {default}");
    }
    assert!(built_in.jobs.is_none() && text.contains("| `jobs` | 4 for each core"));
    assert!(built_in.max_cost_usd.is_none() && built_in.max_tokens.is_none());
}

#[test]
fn the_docs_list_the_built_in_prices() {
    use skill_evals_evidence::settings::{PRICES_OF, models};
    let text = page("settings");
    let list = list(&text, "prices");
    let mut rows: Vec<&str> = list.lines().filter(|line| line.starts_with("| `")).collect();
    let row = |(name, [input, cached, output]): &(&str, [f64; 3])| {
        format!("| `{name}` | {input:?} | {cached:?} | {output:?} |")
    };
    let mut known: Vec<String> = models().map(row).collect();
    rows.sort_unstable();
    known.sort_unstable();
    assert_eq!(rows.len(), known.len());
    for (row, known) in rows.iter().zip(&known) {
        assert!(row.starts_with(known.as_str()), "{row} {known}");
    }
    assert!(text.contains(&format!("by the prices of {PRICES_OF}")));
}

/// The tests of conformance hold the profiles against the real programs.
#[test]
fn the_docs_say_what_each_agent_shows_as_the_profiles_do() {
    let text = page("../modes");
    let rows: Vec<Vec<&str>> =
        text.lines().map(|line| line.trim_matches('|').split('|').map(str::trim).collect()).collect();
    for profile in skill_evals_evidence::profile::PROFILES {
        let name = if profile.provider == "openai_compatible" { "[`chat`]" } else { profile.name };
        let row = rows.iter().find(|row| row.len() == 6 && row[0].to_lowercase().starts_with(&name.to_lowercase()));
        let [_, early_ends, turns, thoughts, _, call] = row.unwrap_or_else(|| panic!("no row of {name}"))[..] else {
            panic!("a row of six cells")
        };
        let reports = &profile.reports;
        let facts = [reports.early_ends, reports.limits_turns, reports.thoughts, profile.calls_skill.is_some()];
        assert_eq!([early_ends, turns, thoughts, call].map(|cell| cell != "**no**"), facts, "{name}");
    }
}
