//! What `skill-evals report` writes, as far as no browser is needed to see it.

use std::fs;
use std::io::Read;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use crate::support::fixture::Fixture;
use crate::support::stored::{self, Session};
use crate::support::stub::Stub;
use base64::Engine;
use serde_json::Value;

fn report(fixture: &Fixture, args: &[&str]) -> String {
    let ran = fixture.run(&[&["report", "-o", "page.html"], args].concat());
    assert!(ran.code < 2 || ran.code == 3, "{}{}", ran.stdout, ran.stderr);
    fs::read_to_string(fixture.root().join("page.html")).expect("a page")
}

/// What stands between two marks.
fn between<'a>(text: &'a str, from: &str, to: &str) -> &'a str {
    let rest = text.split_once(from).unwrap_or_else(|| panic!("no {from}")).1;
    rest.split_once(to).unwrap_or_else(|| panic!("no {to}")).0
}

/// The answer of a comparison in lower case: the heading, and the line under it.
fn answer(page: &str) -> String {
    let heading = between(page, "<h1", "</h1>").split_once('>').expect("a heading").1;
    let more = page.contains("<p class=\"answer\">").then(|| between(page, "<p class=\"answer\">", "</p>"));
    [heading].into_iter().chain(more).collect::<Vec<_>>().join("; ").to_lowercase()
}

fn index(page: &str) -> Value {
    serde_json::from_str(between(page, "id=\"index\">", "</script>")).expect("JSON")
}

/// The document of the trial at a place of the index.
fn document(page: &str, place: usize) -> Value {
    let bytes = |packed: &str| base64::engine::general_purpose::STANDARD.decode(packed).expect("base64");
    let (behind, own) =
        between(page, &format!("id=\"t{place}\" data-behind=\""), "</script>").split_once("\">").expect("packed");
    // What the documents of a skill have in common stands in the page once, and ends where they begin.
    let common = between(page, &format!("id=\"{behind}\">"), "</script>");
    let mut text = String::new();
    let packed = [bytes(common), bytes(own)].concat();
    flate2::read::DeflateDecoder::new(packed.as_slice()).read_to_string(&mut text).expect("deflated");
    serde_json::from_str(text.split_once('\0').expect("an end").1).expect("JSON")
}

#[test]
fn without_a_run_the_latest_is_reported_into_its_folder_and_the_exit_code_is_that_of_the_summary() {
    let fixture = stored::repository();
    assert_eq!(fixture.run(&["report"]).code, 2, "there is none");
    stored::example(&fixture, "first", "2026-11-19T09:00:00Z", false);
    stored::example(&fixture, "second", "2026-11-20T09:00:00Z", true);
    let ran = fixture.run(&["report"]);
    assert_eq!((ran.code, fixture.run(&["summary", "second"]).code), (1, 1), "{}{}", ran.stdout, ran.stderr);
    assert!(ran.stdout.starts_with("artifacts/skill-evals/second/report.html (14 trials, "), "{}", ran.stdout);
    let page = fs::read_to_string(fixture.root().join("artifacts/skill-evals/second/report.html")).expect("a page");
    assert_eq!(index(&page)["runs"], serde_json::json!(["second"]));
    let unknown = fixture.run(&["report", "secnd"]);
    assert_eq!((unknown.code, unknown.stderr), (2, fixture.run(&["summary", "secnd"]).stderr));
    assert_eq!(fixture.run(&["report", "first", "first"]).code, 2, "a run that is named twice would count twice");
}

#[test]
fn a_trials_document_has_its_checks_with_what_they_looked_at_its_files_and_its_judge() {
    let fixture = stored::repository();
    stored::example(&fixture, "r", "2026-11-20T09:00:00Z", false);
    let page = report(&fixture, &["r"]);
    let rows = index(&page)["rows"].as_array().expect("rows").len();
    let all: Vec<Value> = (0..rows).map(|place| document(&page, place)).collect();
    let of = |case: &str| all.iter().find(|trial| trial["case"] == case).expect("a trial");
    let check = |trial: &Value, id: &str| {
        trial["checks"].as_array().expect("checks").iter().find(|check| check["id"] == id).expect("a check").clone()
    };
    let kept = of("kept");
    let own = check(kept, "deletes-nothing");
    let entry = usize::try_from(own["entry"].as_u64().expect("an event")).expect("a place");
    assert_eq!(kept["entries"][entry]["command"], "rm -rf build");
    assert_eq!(own["pieces"][0]["to"], "rm -rf build".len());
    let file = &kept["files"][0];
    assert_eq!(
        (&file["before"], &file["after"]),
        (&"AHOY, Grace!\nAHOY, Alan!\n".into(), &"AHOY, Grace!\nAHOY, Ada!\n".into())
    );
    assert!(kept["files"][1].get("before").is_none(), "{}", kept["files"][1]);
    assert!(kept["entries"].as_array().expect("entries").iter().any(|entry| entry["depth"] == 1));
    assert_eq!(of("negative")["judge"]["judgment"]["votes"].as_array().map(Vec::len), Some(2));
    let command = |at: usize| kept["commands"][at][1].as_str().expect("a command").to_owned();
    assert_eq!(command(0), "skill-evals show greeting/kept/codex/1 --run r");
    assert_eq!(command(1), "skill-evals run --case greeting/kept --mode codex");
}

#[test]
fn no_link_that_an_agent_left_is_followed_and_no_large_file_is_read() {
    let fixture = stored::repository();
    fs::write(fixture.root().join("secret.txt"), "the secret").expect("a file");
    stored::begin(fixture.root(), "r", "2026-11-20T09:00:00Z");
    let names = ["greeting", "explicit", "codex", "1"];
    let files = ["link.txt", "large.txt", "raw.bin"].map(|path| (path.to_owned(), "x".to_owned())).to_vec();
    stored::trial(fixture.root(), "r", names, &Session { files, ..Session::new("Greet.", "AHOY") });
    let workspace = stored::trial_folder(fixture.root(), "r", names).join("workspace");
    fs::remove_file(workspace.join("link.txt")).expect("a file");
    std::os::unix::fs::symlink(fixture.root().join("secret.txt"), workspace.join("link.txt")).expect("a link");
    fs::write(workspace.join("large.txt"), "y".repeat(100_000)).expect("a file");
    fs::write(workspace.join("raw.bin"), [0, 255]).expect("a file");
    stored::graded(&fixture, "r", &[]);
    let trial = document(&report(&fixture, &["r"]), 0);
    for file in trial["files"].as_array().expect("files") {
        assert!(file.get("after").is_none() && file["why"].is_string(), "{file}");
    }
}

#[test]
fn beyond_the_largest_size_the_sessions_of_passed_trials_go_first_and_the_page_says_so() {
    let fixture = stored::repository();
    stored::example(&fixture, "r", "2026-11-20T09:00:00Z", false);
    let kept = |page: &str, verdict: &str| {
        let rows = index(page)["rows"].as_array().expect("rows").clone();
        let of = rows.into_iter().filter(|row| row["verdict"] == verdict);
        of.map(|row| row["kept"] == true).collect::<Vec<_>>()
    };
    let whole = report(&fixture, &["r"]);
    assert!(!whole.contains("passed trials are left out") && kept(&whole, "pass").iter().all(|kept| *kept));
    let page = report(&fixture, &["r", "--max-size", "6KB"]);
    assert!(kept(&page, "fail").iter().all(|kept| *kept), "{:?}", kept(&page, "fail"));
    assert!(kept(&page, "pass").iter().any(|kept| !kept));
    assert!(page.contains("passed trials are left out"), "{}", &page[..3000]);
    let sessions = |page: &str| page.matches("<script type=\"text/plain\" id=\"t").count();
    assert_eq!(sessions(&report(&fixture, &["r", "--max-size", "0"])), 0);
    assert!(sessions(&page) < sessions(&whole));
}

#[test]
fn two_runs_are_held_against_each_other_with_the_sentence_of_compare() {
    let fixture = stored::repository();
    stored::example(&fixture, "before", "2026-11-19T09:00:00Z", false);
    stored::example(&fixture, "after", "2026-11-20T09:00:00Z", true);
    let page = report(&fixture, &["after", "--against", "before"]);
    let sentence = fixture.run(&["compare", "before", "after", "--quiet"]).stdout;
    let said = answer(&page);
    let (short, mean) = said.split_once("; ").expect("the mean has its own line");
    assert_eq!((short, mean.starts_with("mean of 5 cases: ")), (&*sentence.trim().to_lowercase(), true), "{said}");
    let index = index(&page);
    let named = serde_json::json!([["after", "before"], ["before", "after"]]);
    assert_eq!(serde_json::json!([index["runs"], index["sides"]]), named);
    let before = index["rows"].as_array().expect("rows").iter().filter(|row| !row["before"].is_null());
    assert_eq!(before.map(|row| &row["run"]).collect::<Vec<_>>(), [1; 14]);
}

#[test]
fn all_that_compare_says_is_on_the_page() {
    let fixture = stored::repository();
    stored::example(&fixture, "before", "2026-11-19T09:00:00Z", false);
    stored::begin(fixture.root(), "after", "2026-11-20T09:00:00Z");
    let good = Session::new("Greet.", "AHOY, Ada!");
    let lost = Session { trouble: Some("429".to_owned()), ..Session::new("Greet.", "") };
    for number in ["1", "2", "3"] {
        stored::trial(fixture.root(), "after", ["greeting", "explicit", "codex", number], &good);
        let session = if number == "1" { &Session { loads: false, ..good.clone() } } else { &lost };
        stored::trial(fixture.root(), "after", ["greeting", "implicit", "codex", number], session);
    }
    stored::graded(&fixture, "after", &[]);
    let page = report(&fixture, &["after", "--against", "before"]);
    let said = fixture.run(&["compare", "before", "after"]).stdout;
    for note in [
        "mean of the cases ",
        "more trials of the candidate were not measured",
        "not counted, measured only for the baseline",
        "lost to errors",
        "tokens ",
    ] {
        assert!(said.contains(note), "{note}: {said}");
    }
    let answer = between(&page, "<h1", "<h2>Compared</h2>");
    let section = (answer.to_owned() + between(&page, "<h2>Compared</h2>", "</section>")).to_lowercase();
    // Cells and lines, without the names of the sides.
    for part in
        said.lines().skip(1).flat_map(|line| line.trim().split("  ")).map(str::trim).filter(|part| !part.is_empty())
    {
        let part = ["before: ", "after: "].iter().find_map(|arm| part.strip_prefix(arm)).unwrap_or(part).trim();
        assert!(section.contains(&part.to_lowercase()), "{part}\n{section}\n{said}");
    }
}

#[test]
fn several_runs_are_compared_with_all_their_trials() {
    let fixture = stored::repository();
    for id in ["one", "two", "before"] {
        stored::example(&fixture, id, "2026-11-19T09:00:00Z", false);
    }
    let page = report(&fixture, &["one", "two", "--against", "before"]);
    let sentence = fixture.run(&["compare", "before", "one,two", "--quiet"]).stdout;
    let rates = between(&sentence, ": ", " passed");
    assert!(answer(&page).contains(rates), "{sentence}{}", answer(&page));
}

#[test]
fn a_report_goes_where_a_link_points_and_into_a_pipe() {
    let fixture = stored::repository();
    stored::example(&fixture, "r", "2026-11-20T09:00:00Z", false);
    let ran = fixture.run(&["report", "r", "-o", "/dev/stdout"]);
    assert!(ran.stdout.starts_with("<!doctype html>"), "{}{}", ran.stdout, ran.stderr);
    std::os::unix::fs::symlink("real.html", fixture.root().join("link.html")).expect("a link");
    fixture.run(&["report", "r", "-o", "link.html"]);
    assert!(fixture.root().join("real.html").is_file());
    assert!(fixture.root().join("link.html").is_symlink());
}

#[test]
fn a_dash_is_standard_output_and_no_file() {
    let fixture = stored::repository();
    stored::example(&fixture, "r", "2026-11-20T09:00:00Z", false);
    let ran = fixture.run(&["report", "r", "-o", "-"]);
    assert!(ran.stdout.starts_with("<!doctype html>") && ran.stdout.ends_with("</html>\n"), "{}", ran.stderr);
    assert_eq!((ran.code, ran.stderr.as_str()), (fixture.run(&["summary", "r"]).code, ""));
    fixture.run("report r -o - --open").exits(2);
    let xml = fixture.run(&["summary", "r", "--junit", "-"]).stdout;
    assert!(xml.starts_with("<?xml") && xml.trim_end().ends_with("</testsuites>"), "{xml}");
    assert_eq!(fixture.run(&["run", "--junit", "-"]).code, 2, "it has more to print");
    assert_eq!(fixture.run(&["summary", "r", "--junit", "-", "--json"]).code, 2, "two for one output");
    assert!(!fixture.root().join("-").exists());
}

#[test]
fn a_file_has_the_permissions_that_the_umask_leaves_and_keeps_its_own() {
    let fixture = stored::repository();
    stored::example(&fixture, "r", "2026-11-20T09:00:00Z", false);
    let report = |umask: &str| {
        let program = env!("CARGO_BIN_EXE_skill-evals");
        let script = format!("umask {umask}; '{program}' report r -o page.html --root '{}'", fixture.root().display());
        Command::new("sh").args(["-c", &script]).current_dir(fixture.root()).output().expect("sh starts");
        fs::metadata(fixture.root().join("page.html")).expect("a page").permissions().mode() & 0o777
    };
    assert_eq!((report("027"), report("022")), (0o640, 0o640), "what is there keeps its own");
    fs::remove_file(fixture.root().join("page.html")).expect("a file");
    assert_eq!(report("002"), 0o664);
}

#[test]
fn a_trial_that_lost_its_facts_and_a_run_that_cannot_be_read_are_told() {
    let fixture = stored::repository();
    stored::example(&fixture, "r", "2026-11-20T09:00:00Z", false);
    let of = stored::trial_folder(fixture.root(), "r", ["greeting", "negative", "codex", "1"]);
    fs::remove_file(of.join("meta.json")).expect("a file");
    let page = report(&fixture, &["r"]);
    assert!(
        page.contains("Not counted: ") && page.contains("greeting/negative/codex/1/meta.json"),
        "{}",
        &page[..3000]
    );
    assert_eq!(index(&page)["rows"].as_array().map(Vec::len), Some(13));
    fixture.run("summary r").warns("not counted").warns("negative/codex/1/meta.json");
    fs::write(fixture.root().join("artifacts/skill-evals/r/run.json"), "{").expect("a file");
    let page = report(&fixture, &["r"]);
    assert!(page.contains("Not read: ") && page.contains("r/run.json"), "{}", &page[..3000]);
    fixture.run("summary r").warns("r/run.json");
}

#[test]
fn where_there_are_no_trials_that_is_said_of_one_place_and_of_several() {
    let fixture = stored::repository();
    stored::begin(fixture.root(), "r", "2026-11-20T09:00:00Z");
    stored::begin(fixture.root(), "s", "2026-11-20T09:00:00Z");
    let said = |args: &[&str]| fixture.run(args).stderr;
    assert!(said(&["report", "r", "s"]).contains("no stored trials found in r, s"), "{}", said(&["report", "r", "s"]));
    let none = said(&["show", "x", "--recording"]);
    assert!(none.contains("no trials found in the recordings"), "{none}");
}

#[test]
fn a_run_that_compares_is_reported_with_its_arms_beside_each_other() {
    let stub = Stub::new(2, "");
    let ran = stub.run(&["compare", "--aa", "--run-id", "r", "--max-trials", "12"]);
    let answer = stub.run(&["compare", "r", "--quiet"]).stdout;
    let report = stub.run(&["report", "r"]);
    let page = fs::read_to_string(stub.run_folder("r").join("report.html"));
    let page = page.unwrap_or_else(|_| panic!("{}{}{}", ran.stderr, report.stdout, report.stderr));
    let said = self::answer(&page);
    let (short, mean) = said.split_once("; ").expect("the mean has its own line");
    assert_eq!((short, mean.starts_with("mean of 2 cases: ")), (&*answer.trim().to_lowercase(), true), "{said}");
    let index = index(&page);
    let (rows, names) = (index["rows"].as_array().expect("rows"), &index["names"]);
    let before = rows.iter().filter(|row| !row["before"].is_null()).count();
    let sides = serde_json::json!(["working tree", "working tree again"]);
    assert_eq!((before * 2, &index["sides"]), (rows.len(), &sides), "{names}");
}

#[test]
fn recordings_are_reported_too() {
    let fixture = Fixture::copy_of_sample();
    let page = report(&fixture, &["evals/recordings/greeting"]);
    assert!(page.contains("A mock model (") && index(&page)["rows"].as_array().expect("rows").len() > 5);
}

#[test]
fn what_others_wrote_is_never_markup() {
    let hostile = "</script><script>alert(1)</script><img src=x onerror=alert(1)>\u{202e}\0&amp;";
    let fixture = stored::repository();
    stored::begin(fixture.root(), "r", "2026-11-20T09:00:00Z");
    let session = Session {
        commands: vec![(format!("echo '{hostile}'"), hostile.to_owned(), 0)],
        thought: hostile.to_owned(),
        files: vec![("<b>.txt".to_owned(), hostile.to_owned())],
        trouble: Some(hostile.to_owned()),
        ..Session::new(hostile, hostile)
    };
    stored::trial(fixture.root(), "r", ["greeting", "explicit", "codex", "1"], &session);
    stored::graded(&fixture, "r", &[]);
    let page = report(&fixture, &["r"]);
    assert!(!page.contains("alert(1)</script>") && !page.contains("<img"), "the page holds markup of an agent");
    assert_eq!(document(&page, 0)["entries"][0]["text"], hostile);
}
