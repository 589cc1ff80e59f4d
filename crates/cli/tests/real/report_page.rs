//! The HTML report in a real headless Chromium: every feature by mouse and by keys, its accessibility tree, hostile texts
//! in every field, and that nothing leaves the page. What is done and seen there is written in `tests/browser/`.

use crate::support::repository;
use std::path::PathBuf;
use std::process::Command;
use std::sync::LazyLock;

use crate::support::fixture::Fixture;
use crate::support::stored::{self, Session};
use crate::support::stub::{ACTIVATES, Stub};
use crate::tests;
use libtest_mimic::Trial;
use serde_json::json;
use skill_evals_results::store;

pub fn trials() -> Vec<Trial> {
    let found = browser().exists() && crate::support::real::starts("node", &["--version"]);
    let how_to_get = "get it with `npm ci --prefix target/browser` as .ci/run does";
    crate::support::real::all_needing(
        "chromium",
        found,
        how_to_get,
        tests![
            the_scripts_that_touch_no_document_do_what_they_say,
            the_first_screen_says_what_came_of_the_run,
            filters_sort_and_search_leave_what_they_say,
            a_trial_shows_its_checks_its_session_and_its_files,
            links_lead_to_a_trial_and_to_an_event,
            everything_can_be_reached_by_keys,
            two_runs_stand_beside_each_other,
            names_and_roles_are_told_to_those_who_cannot_see,
            no_rule_of_axe_is_broken_in_any_view,
            hostile_texts_are_texts_and_nothing_leaves,
            dark_narrow_and_printed_it_fits,
            a_link_into_a_large_page_works_before_the_page_is_read,
            a_long_session_stands_there_at_once_and_whole_soon_after,
            several_runs_are_told_apart_and_each_stands_beside_its_own,
            what_was_not_run_is_in_the_list_with_the_reason,
            a_comparison_fits_counts_right_and_reaches_every_trial_whatever_its_size,
            a_run_that_compares_names_its_sides,
            an_answer_is_read_as_markdown_and_nothing_of_it_loads,
        ],
    )
}

fn browser() -> PathBuf {
    repository().join("target/browser/node_modules/@sparticuz/chromium")
}

/// Unpacks the browser, which the first of several pages at once would do while the others start it.
static UNPACKED: LazyLock<()> = LazyLock::new(|| {
    let script = repository().join("tests/browser/unpack.mjs");
    let status = Command::new("node").arg(script).status().expect("node starts");
    assert!(status.success(), "the browser is unpacked");
});

/// Has the browser do what `tests/browser/<scenario>.mjs` says with the page that `args` write.
fn in_browser(fixture: &Fixture, args: &[&str], scenario: &str) {
    in_browser_as(scenario, fixture, args, scenario);
}

fn in_browser_as(name: &str, fixture: &Fixture, args: &[&str], scenario: &str) {
    let here = repository();
    // Left there, with its pictures, for people to look at.
    let pages = here.join("target/browser/pages");
    std::fs::create_dir_all(&pages).expect("a directory");
    let page = pages.join(format!("{name}.html"));
    let ran = fixture.run(&[&["report", "-o", page.to_str().expect("UTF-8")], args].concat());
    assert!(ran.code < 2 || ran.code == 3, "{}{}", ran.stdout, ran.stderr);
    LazyLock::force(&UNPACKED);
    let script = here.join("tests/browser").join(format!("{scenario}.mjs"));
    let output = Command::new("node").arg(script).arg(page).output();
    let output = output.expect("node starts");
    let text = [output.stdout, output.stderr].concat();
    assert!(output.status.success(), "{name}: {}", String::from_utf8_lossy(&text));
}

fn example() -> Fixture {
    let fixture = stored::repository();
    stored::example(&fixture, "yesterday", "2026-11-19T09:00:00Z", false);
    stored::example(&fixture, "today", "2026-11-20T09:00:00Z", true);
    fixture
}

fn the_scripts_that_touch_no_document_do_what_they_say() {
    let tests = repository().join("tests/browser/pure.test.mjs");
    let output = Command::new("node").arg("--test").arg(tests).output().expect("node starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
}

fn the_first_screen_says_what_came_of_the_run() {
    in_browser(&example(), &["today"], "first");
}

fn filters_sort_and_search_leave_what_they_say() {
    in_browser(&example(), &["today"], "filters");
}

fn a_trial_shows_its_checks_its_session_and_its_files() {
    in_browser(&example(), &["today"], "trial");
}

fn links_lead_to_a_trial_and_to_an_event() {
    in_browser(&example(), &["today", "yesterday"], "links");
}

fn everything_can_be_reached_by_keys() {
    in_browser(&example(), &["today"], "keys");
}

fn two_runs_stand_beside_each_other() {
    let fixture = example();
    let skill = fixture.root().join("artifacts/skill-evals/today/skills_snapshot/greeting/SKILL.md");
    std::fs::write(skill, stored::SKILL.replace("two sentences", "one sentence")).expect("a skill");
    in_browser(&fixture, &["today", "--against", "yesterday"], "beside");
}

fn names_and_roles_are_told_to_those_who_cannot_see() {
    in_browser(&example(), &["today"], "accessible");
}

fn no_rule_of_axe_is_broken_in_any_view() {
    in_browser_as("axe", &example(), &["today"], "axe");
    in_browser_as("axe-compared", &example(), &["today", "--against", "yesterday"], "axe");
    let modes = two_runs(3, 6, &["codex", "codex-mcp"], true);
    in_browser_as("axe-modes", &modes, &["edited"], "axe");
    in_browser_as("axe-modes-compared", &modes, &["edited", "--against", "main"], "axe");
}

fn dark_narrow_and_printed_it_fits() {
    in_browser(&example(), &["today"], "looks");
}

/// Markup, an end of a script, characters that turn text around, and none at all.
const HOSTILE: &str = "</script><script>window.broken=1</script><img src=//example.org/x onerror=window.broken=1><style>*{display:none}</style>\u{202e}\u{0}\u{1b}[2J${1}`&amp;\u{2028}<!--";

fn hostile_texts_are_texts_and_nothing_leaves() {
    let fixture = stored::repository();
    stored::begin(fixture.root(), "today", "2026-11-20T09:00:00Z");
    let names = ["greeting", "kept", "codex", "1"];
    let session = Session {
        commands: vec![(format!("echo '{HOSTILE}'"), HOSTILE.repeat(20), 1)],
        thought: HOSTILE.to_owned(),
        files: vec![("<img src=x onerror=window.broken=1>.txt".to_owned(), HOSTILE.replace('\0', ""))],
        sub_agent: Some(HOSTILE.to_owned()),
        own: Some(HOSTILE.to_owned()),
        judged: Some(HOSTILE.to_owned()),
        ..Session::new(HOSTILE, HOSTILE)
    };
    stored::trial(fixture.root(), "today", names, &session);
    let lost = Session { trouble: Some(HOSTILE.to_owned()), ..Session::new(HOSTILE, "") };
    stored::trial(fixture.root(), "today", ["greeting", "explicit", "codex", "1"], &lost);
    stored::graded(&fixture, "today", &[(names, session)]);
    in_browser(&fixture, &["today"], "hostile");
}

fn a_long_session_stands_there_at_once_and_whole_soon_after() {
    let fixture = stored::repository();
    let long = |words: &str| {
        let output = |at: usize| (format!("make part-{at}"), format!("{words} {at}\n").repeat(at % 5), 0);
        Session { commands: (1..=3_000).map(output).collect(), ..Session::new("Build it.", "AHOY") }
    };
    for (run, words) in [("yesterday", "built"), ("today", "made")] {
        stored::begin(fixture.root(), run, "2026-11-20T09:00:00Z");
        stored::trial(fixture.root(), run, ["greeting", "explicit", "codex", "1"], &long(words));
        stored::graded(&fixture, run, &[]);
    }
    in_browser(&fixture, &["today", "--against", "yesterday"], "long");
}

fn several_runs_are_told_apart_and_each_stands_beside_its_own() {
    let fixture = stored::repository();
    for run in ["one", "two", "first", "second"] {
        stored::begin(fixture.root(), run, "2026-11-20T09:00:00Z");
        let session = Session::new("Greet.", &format!("AHOY from {run}"));
        stored::trial(fixture.root(), run, ["greeting", "explicit", "codex", "1"], &session);
        stored::graded(&fixture, run, &[]);
    }
    in_browser(&fixture, &["one", "two", "--against", "first", "--against", "second"], "several");
}

fn what_was_not_run_is_in_the_list_with_the_reason() {
    let fixture = example();
    let folder = fixture.root().join("artifacts/skill-evals/today");
    let planned = |(skill, case, number): (&str, &str, u32)| {
        json!({ "skill": skill, "case": case, "mode": "codex", "trial": number }).to_string()
    };
    let greetings = [("explicit", 5), ("implicit", 5), ("kept", 2), ("negative", 1), ("later", 1)];
    let all = greetings.into_iter().flat_map(|(case, times)| (1..=times).map(move |number| ("greeting", case, number)));
    let all = all.chain([("minutes", "weekly", 1), ("minutes", "weekly", 2)]);
    let plan = all.map(planned).collect::<Vec<_>>().join("\n") + "\n";
    std::fs::write(folder.join("plan.jsonl"), store::with_digests(plan.as_bytes())).expect("a plan");
    let noted = json!({ "skill": "greeting", "case": "later", "mode": "codex", "not_run": { "the run has cost its limit of $2": 1 } });
    let total = json!({ "passed": 8, "failed": 5, "errors": 1, "unscored": 0 });
    std::fs::write(folder.join("summary.json"), json!({ "total": total, "cases": [noted] }).to_string())
        .expect("a summary");
    let ended = json!({ "format": 1, "id": "today", "created": "2026-11-20T09:00:00Z", "version": "0.1.0", "planned": 16, "chosen": {}, "ended": { "at": "2026-11-20T09:10:00Z", "how": "stopped" } });
    std::fs::write(folder.join("run.json"), ended.to_string()).expect("a record");
    in_browser(&fixture, &["today"], "missing");
}

fn a_link_into_a_large_page_works_before_the_page_is_read() {
    let fixture = stored::repository();
    stored::begin(fixture.root(), "today", "2026-11-20T09:00:00Z");
    for number in 1..=200 {
        let lines: Vec<String> = (0..400).map(|line| format!("{number} {} {line}", line * 7919 % 1009)).collect();
        let commands = vec![("make".to_owned(), lines.join("\n"), 0)];
        let session = Session { commands, ..Session::new("Greet.", "AHOY") };
        stored::trial(fixture.root(), "today", ["greeting", "explicit", "codex", &number.to_string()], &session);
    }
    stored::graded(&fixture, "today", &[]);
    in_browser(&fixture, &["today"], "large");
}

/// An answer with everything that Markdown has, and what must not load.
const MARKDOWN: &str = "## Greeted\n\nAHOY, **Ada**! שלום `welcome`\n\n1. one\n2. two\n   - [a link](https://example.org/a)\n   - ![a picture](https://example.org/b.png)\n\n> quoted\n\n| name | boxes |\n| --- | --- |\n| Ada, who has a rather long name for a table on a telephone | 12 |\n\n```sh\ngreet --everybody-with-an-option-that-is-far-too-long-for-a-line --and-another-one-of-that-kind\n```\n\n<img src=https://example.org/c.png onerror=window.broken=1> <b>not bold</b>";

/// A long name, as people give them.
const LONG_CASE: &str = "welcome-of-somebody-whose-case-has-a-name-that-is-so-long-that-nobody-reads-it-to-its-end";

/// Two runs with these numbers of cases and repeats. In the candidate one case fails, one is lost now and then, and one
/// fails half of the time; all is lost if nothing is `measured`.
fn two_runs(cases: usize, repeats: u32, modes: &[&str], measured: bool) -> Fixture {
    let name = |at: usize| match at {
        0 => "explicit".to_owned(),
        1 => "implicit".to_owned(),
        2 => LONG_CASE.to_owned(),
        _ => format!("case-{at}"),
    };
    let rows = (0..cases).map(|at| format!("{},true,Greet {at}.,AHOY", name(at)));
    let table: Vec<String> = std::iter::once("id,should_trigger,prompt,must_include".to_owned()).chain(rows).collect();
    let fixture = Fixture::new().skill_text("greeting", stored::SKILL).prompts("greeting", table.join("\n"));
    for run in ["main", "edited"] {
        stored::begin(fixture.root(), run, "2026-11-20T09:00:00Z");
        for (at, mode) in (0..cases).flat_map(|at| modes.iter().map(move |mode| (at, mode))) {
            for number in 1..=repeats {
                let is_edited = run == "edited";
                let fails = is_edited && (at == 0 || (at == 2 && number % 2 == 0));
                let lost = is_edited && (!measured || (at == 1 && number % 3 == 0));
                let answer = if fails { "Welcome, whoever you are." } else { MARKDOWN };
                let trouble = lost.then(|| "429 Too Many Requests".to_owned());
                let session =
                    Session { trouble, ..Session::new(&format!("Greet {at}."), if lost { "" } else { answer }) };
                stored::trial(fixture.root(), run, ["greeting", &name(at), mode, &number.to_string()], &session);
            }
        }
        stored::graded(&fixture, run, &[]);
    }
    let skill = fixture.root().join("artifacts/skill-evals/edited/skills_snapshot/greeting/SKILL.md");
    std::fs::write(skill, stored::SKILL.replace("two sentences", "one sentence")).expect("a skill");
    fixture
}

fn a_comparison_fits_counts_right_and_reaches_every_trial_whatever_its_size() {
    let compared = ["edited", "--against", "main"];
    for (name, cases, repeats, modes, measured) in [
        ("compared-3x1", 3, 1, &["codex"][..], true),
        ("compared-3x8", 3, 8, &["codex"], true),
        ("compared-3x30", 3, 30, &["codex"], true),
        ("compared-30x2", 30, 2, &["codex", "codex-mcp"], true),
        ("compared-170x1", 170, 1, &["codex"], true),
        ("compared-unmeasured", 3, 2, &["codex"], false),
    ] {
        in_browser_as(name, &two_runs(cases, repeats, modes, measured), &compared, "compared");
    }
}

fn an_answer_is_read_as_markdown_and_nothing_of_it_loads() {
    in_browser(&two_runs(1, 1, &["codex"], true), &["main"], "answer");
}

fn a_run_that_compares_names_its_sides() {
    let fails = "if grep -q two .agents/skills/tidy/SKILL.md && [ \"$prompt\" = 'Prompt 0' ]; then activate tidy; fi";
    let stub = Stub::new(3, &format!("{ACTIVATES}{fails}"));
    let git = |args: &[&str]| {
        let fixed = ["-c", "user.name=x", "-c", "user.email=x@example.org"];
        let ran = Command::new("git").args(fixed).args(args).current_dir(stub.root()).output().expect("git starts");
        assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
    };
    git(&["init", "--quiet", "--initial-branch", "main"]);
    git(&["add", "--all"]);
    git(&["commit", "--quiet", "--message", "first"]);
    let skill = stub.root().join("skills/tidy/SKILL.md");
    let text = std::fs::read_to_string(&skill).expect("a skill") + "\nSweep two times.\n";
    std::fs::write(&skill, text).expect("a skill");
    std::fs::write(stub.root().join("skills/tidy/token.txt"), "ghp_0123456789abcdefghijABCDEFGHIJ012345\n")
        .expect("a file");
    let ran = stub.run(&["compare", "main", "--plan", "until-decided", "--max-trials", "60", "--run-id", "r"]);
    assert_eq!(ran.code, 1, "{}{}", ran.stdout, ran.stderr);
    in_browser_as("compared-main", &stub.fixture, &["r"], "compared");
    in_browser_as("sides", &stub.fixture, &["r"], "sides");
}
