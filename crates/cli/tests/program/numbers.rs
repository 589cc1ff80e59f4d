//! Numbers that people read say how sure they are: shares with intervals, what repeats show, which skills trigger.

use skill_evals_testing::tables;
use std::fs;

use crate::compare::git;
use crate::support::fake_codex::{BAD, Fake, GOOD, Says};
use crate::support::stub::{ACTIVATES, ANSWER, Stub};
use serde_json::{Value, json};

fn stub(rows: &[&str], body: &str) -> Stub {
    let stub = Stub::new(0, body);
    fs::write(
        stub.root().join("evals/skills/tidy/prompts.csv"),
        format!("id,should_trigger,prompt,must_include\n{}\n", rows.join("\n")),
    )
    .expect("cases");
    stub
}

#[test]
fn a_share_has_its_interval_and_repeats_what_they_show() {
    // Every fifth start of the agent fails.
    let say_no = ANSWER.replace("Done", "No");
    let body = format!("[ $(($(wc -l < \"$folder/starts\") % 5)) = 0 ] && {{ {say_no} exit 0; }}");
    let stub = stub(&["a,false,Prompt a,Done"], &body);
    let ran = stub.run(&["run", "--trials", "5", "--jobs", "1", "--run-id", "r"]);
    ran.prints("4/5  80 % (38–96)");
    ran.prints("\n80 % (38–96) passed, cases weighted equally; pass@5 100 %, pass^5 0 %\n");
    let status = stub.run(&["status"]).stdout;
    assert!(
        status.contains("  done     5 of 5: 4 passed, 1 failed, 0 errors, 0 unscored\n  passed   4/5, 80 % (38–96)\n"),
        "{status}"
    );
    let summary = stub.json("r", "summary.json");
    let told: Value = serde_json::from_str(&stub.run(&["status", "--json"]).stdout).expect("JSON");
    assert_eq!((&told["share"], &told["interval"]), (&summary["share"], &summary["interval"]));
    let recorded = stub.run(&["record", "r", "--accept-failing"]).stdout;
    assert!(recorded.starts_with("tidy/a/codex  new: 4/5 passed, 80 % (38–96)  evals/"), "{recorded}");
    let case = &summary["cases"][0];
    assert_eq!(case["share"], json!(0.8));
    let low = case["interval"]["low"].as_f64().expect("a number");
    assert!((low - 0.375_534_629_8).abs() < 1e-9, "{low}");
    assert_eq!((&summary["repeats"]["k"], &summary["repeats"]["pass_hat_k"]), (&json!(5), &json!(0.0)));
    let page = fs::read_to_string(stub.run_folder("r").join("summary.md")).expect("a page");
    assert!(page.contains("| 4/5 | 80 % (38–96) |"), "{page}");
}

#[test]
fn a_threshold_that_so_few_trials_cannot_tell_from_chance_is_named() {
    let stub = stub(&["a,false,Prompt a,"], "");
    stub.settings("threshold = 0.8");
    stub.run("run --trials 5").prints("5 passes of a case prove 55 %; to prove 80 %, run 14 trials\n");
    let enough = stub.run(&["run", "--trials", "14"]);
    assert!(!enough.stdout.contains("of a case prove"), "{}", enough.stdout);
}

#[test]
fn how_well_a_skill_triggers_and_what_became_active_in_its_place() {
    let body = format!(
        "{ACTIVATES}case \"$prompt\" in *both*) activate tidy; activate other;; *tidy*) activate tidy;; *other*) activate other;; esac"
    );
    let rows =
        ["a,true,tidy up,", "b,true,the other,", "c,true,both of them,", "d,false,something else,", "e,false,do tidy,"];
    let stub = stub(&rows, &body);
    let other = stub.root().join("skills/other");
    fs::create_dir(&other).expect("a directory");
    fs::write(
        other.join("SKILL.md"),
        "---\nname: other\ndescription: Does other things, unlike tidy.\n---\nDo others.\n",
    )
    .expect("a skill");
    stub.run(&["run", "--run-id", "r", "--skill", "tidy"]);
    let ran = stub.run(&["summary", "r"]);
    for line in [
        "activation in mode codex:",
        "  tidy   activated when wanted 2/3, when not wanted 1/2",
        "  1× `other` activated, expected `tidy`",
        "  1× several skills activated, expected `tidy`",
        "  1× `tidy` activated, expected `tidy` not to activate",
    ] {
        ran.prints(line);
    }
    let summary: Value = serde_json::from_str(&stub.run(&["summary", "r", "--json"]).stdout).expect("JSON");
    let matrix = summary["triggering"]["codex"]["matrix"].as_array().expect("a matrix").clone();
    let total: u64 = matrix.iter().filter_map(|cell| cell["trials"].as_u64()).sum();
    assert_eq!(total, 5, "every measured trial is in one cell");
    assert!(matrix.contains(&json!({"case_skill": "tidy", "should_trigger": true, "activated": "other", "trials": 1})));
}

#[test]
fn history_draws_a_line_for_each_run_and_marks_those_of_other_inputs() {
    let stub = stub(&["a,false,Prompt a,", "b,false,Prompt b,"], "");
    stub.run("history").prints("no run has measured any such trial yet");
    for id in ["one", "two"] {
        stub.run(&["run", "--run-id", id]).exits(0);
    }
    let path = stub.root().join("skills/tidy/SKILL.md");
    let text = fs::read_to_string(&path).expect("a skill");
    fs::write(&path, format!("{text}\nMore.\n")).expect("a skill");
    stub.run("run --run-id three").exits(0);
    let points: Value = serde_json::from_str(&stub.run(&["history", "--json"]).stdout).expect("JSON");
    let inputs: Vec<&Value> = points["runs"].as_array().expect("points").iter().map(|point| &point["inputs"]).collect();
    assert!(inputs[0] == inputs[1] && inputs[1] != inputs[2], "{points}");
    let chart = stub.run(&["history", "--skill", "tidy"]).stdout;
    let lines: Vec<&str> = chart.lines().collect();
    assert!(lines[1].starts_with("  one ") && lines[3].starts_with("≠ three "), "{chart}");
    assert!(lines[1].contains("2/2") && lines[1].ends_with('●'), "{chart}");
    // So is a prompt. A comparison of two versions is not a point of the trend.
    let table = stub.root().join("evals/skills/tidy/prompts.csv");
    let rows = fs::read_to_string(&table).expect("cases");
    fs::write(&table, rows.replace("Prompt b", "Prompt c")).expect("cases");
    stub.run("run --run-id four").exits(0);
    stub.run(&["compare", "--aa", "--max-trials", "12", "--run-id", "five"]);
    let chart = stub.run(&["history", "--skill", "tidy"]).stdout;
    let lines: Vec<&str> = chart.lines().collect();
    assert!(lines.len() == 6 && lines[4].starts_with("≠ four "), "{chart}");
    // The page draws a trend by the same rule: none from one of these runs to another.
    let page = |run: &str| {
        stub.run(&["report", run]);
        fs::read_to_string(stub.run_folder(run).join("report.html")).expect("a page")
    };
    let history =
        "<td></td><td>100 % <small>1 run; 3 runs before: other skills, cases, checks or settings, not a trend</small>";
    assert!(page("four").contains(history) && !page("four").contains("<svg class=\"sparkline\""), "{chart}");
    stub.run("run --run-id six").exits(0);
    assert!(page("six").contains("100 → 100 % <small>2 runs; 3 runs before: "), "{chart}");
    fs::remove_dir_all(stub.run_folder("six")).expect("a run");
    // Runs of other questions are compared, and it is said.
    let compared = stub.run(&["compare", "three", "four"]).stdout;
    let note =
        "  asked or checked differently on the two sides, so more than the skills differs: tidy/b (tidy/b in prompt)\n";
    assert!(compared.contains(note), "{compared}");
    assert!(!stub.run(&["compare", "one", "three"]).stdout.contains("asked or checked differently"));
    fs::remove_dir_all(stub.run_folder("four")).expect("a run");
    let chart = stub.run(&["history", "--skill", "tidy"]).stdout;
    // A skill may be named as it is written, and a lost line is reported.
    assert_eq!(stub.run(&["history", "--skill", "Tidy"]).stdout, chart);
    let path = stub.run_folder("two").join("progress.jsonl");
    let text = fs::read_to_string(&path).expect("progress");
    fs::write(&path, &text[..text.len() - 20]).expect("progress");
    let torn = stub.run(&["history"]);
    let said = "warning: two: 1 line of progress.jsonl cannot be read; 1 trial that progress.jsonl lacks is read from its grade\n";
    assert_eq!((torn.stderr.as_str(), torn.stdout), (said, stub.run(&["history", "--skill", "tidy"]).stdout));
    stub.run("history --last 0").exits(2);
}

/// An agent that fails at every start but the first.
fn once() -> String {
    format!(
        "[ $(grep -c -F -x -- \"$prompt\" \"$folder/starts\") = 1 ] || {{ {} exit 0; }}",
        ANSWER.replace("Done", "No")
    )
}

#[test]
fn every_share_weighs_cases_alike_however_often_each_was_tried() {
    let stub = Stub::new(0, &once());
    let rows = "id,should_trigger,prompt,must_include,trials\na,false,One,Done,1\nb,false,Two,Done,9\n";
    fs::write(stub.root().join("evals/skills/tidy/prompts.csv"), rows).expect("cases");
    stub.run("run --run-id r --jobs 1").prints("\n56 % (").prints(" passed, cases weighted equally");
    let summary = stub.json("r", "summary.json");
    for group in [&summary["modes"]["codex"], &summary["skills"]["tidy"]] {
        assert_eq!((&group["share"], &group["interval"]), (&summary["share"], &summary["interval"]), "{summary}");
    }
    let points: Value = serde_json::from_str(&stub.run(&["history", "--json"]).stdout).expect("JSON");
    assert_eq!(
        (&points["runs"][0]["share"], &points["runs"][0]["interval"]),
        (&summary["share"], &summary["interval"])
    );
    stub.run(&["report", "r"]);
    let page = fs::read_to_string(stub.run_folder("r").join("report.html")).expect("a page");
    assert!(page.contains("<b>56 %</b> <small>mean of 2 cases; 2 of 10 trials</small>"), "the cell of skill and mode");
}

#[test]
fn history_shows_the_interval_that_summary_shows() {
    let stub = Stub::new(0, "");
    let rows = |trials: &str| {
        let text = format!("id,should_trigger,prompt,must_include,trials,threshold\na,false,One,Done,{trials},0.5\n");
        fs::write(stub.root().join("evals/skills/tidy/prompts.csv"), text).expect("cases");
    };
    for (id, trials) in [("one", "3"), ("two", "until decided")] {
        rows(trials);
        stub.run(&["run", "--run-id", id]).exits(0);
    }
    let points: Value = serde_json::from_str(&stub.run(&["history", "--json"]).stdout).expect("JSON");
    for (point, id) in points["runs"].as_array().expect("points").iter().zip(["one", "two"]) {
        assert_eq!((&point["run"], &point["interval"]), (&json!(id), &stub.json(id, "summary.json")["interval"]));
    }
}

#[test]
fn the_sides_of_a_comparison_are_counted_apart_and_run_in_pairs_only() {
    let stub = stub(&["a,false,Prompt a,Done", "b,false,Prompt b,Done"], &once());
    let compared = stub.run(&["compare", "--aa", "--max-trials", "12", "--jobs", "1", "--run-id", "r"]);
    assert!(compared.code != 2, "{}", compared.stderr);
    let ran = stub.run(&["summary", "r"]);
    let line = |start: &str| ran.stdout.lines().any(|line| line.starts_with(start) && line.ends_with(" trials passed"));
    assert!(line("codex: ") && line("codex.again: "), "{}", ran.stdout);
    let counts =
        |start: &str| ran.stdout.lines().any(|line| line.starts_with(start) && line.contains(" of 2 cases passed"));
    assert!(counts("codex: ") && counts("codex.again: "), "{}", ran.stdout);
    ran.prints("have no pass rate together; how they differ: skill-evals compare r\n");
    let summary: Value = serde_json::from_str(&stub.run(&["summary", "r", "--json"]).stdout).expect("JSON");
    assert_eq!(
        (&summary["share"], &summary["repeats"], &summary["comparisons"]),
        (&Value::Null, &Value::Null, &json!(["r"]))
    );
    assert_eq!(stub.json("r", "summary.json")["comparisons"], json!(["r"]));
    stub.run("run --failed r").exits(2).warns("r is a comparison: ");
}

/// What is said of labels of people for a judged trial.
fn labeled() -> impl Fn(&str) -> String {
    let fake = Fake::new("should_trigger,prompt,judge", "true,Greet Ada.,true", "Ahoy, Ada!", &[Says::Text(GOOD)]);
    fake.run(&[]).exits(0);
    move |text| {
        fs::write(fake.fixture.root().join("labels.csv"), text).expect("labels");
        fake.program(&["judge", "calibrate", "labels.csv", "t", "--json"]).told(fake.fixture.root())
    }
}

tables! {
    labeled() => labels_that_cannot_be_read_are_told_with_their_place;
}

#[test]
fn judges_are_held_against_each_other_and_against_people() {
    let answers = [Says::Text(GOOD), Says::Text(BAD), Says::Text(GOOD)];
    let fake = Fake::new("should_trigger,prompt,judge", "true,Greet Ada.,true", "Ahoy, Ada!", &answers);
    fake.run(&["--judge-votes", "3"]).exits(0);
    let ran = fake.program(&["judge", "agreement", "t"]);
    ran.exits(0).prints("judged: 1/1, 100 % (21–100) passed\nvotes on the same trial: 33 % alike, AC1 ");

    let labels = fake.fixture.root().join("labels.csv");
    let calibrate = |text: &str| {
        fs::write(&labels, text).expect("labels");
        fake.program(&["judge", "calibrate", "labels.csv", "t", "--json"])
    };
    fake.program(&["judge", "agreement", "t", "t"]).exits(2).warns("t is named twice");
    fs::write(&labels, "trial,pass\ngreeting/it/codex/1,true\n").expect("labels");
    let ran = fake.program(&["judge", "calibrate", "labels.csv", "t"]);
    let words = "it passed 1/1, 100 % (21–100)\nof what people failed, it failed 0/0\n\
         nothing that people failed has a label: its rate cannot be corrected\n";
    assert!(ran.stdout.ends_with(words), "{}{}", ran.stdout, ran.stderr);
    let ran = calibrate("\u{feff}trial,pass\ngreeting/it/codex,true\ngreeting/gone/codex,no\n");
    let found: Value = serde_json::from_str(&ran.stdout).unwrap_or_else(|error| panic!("{error}: {}", ran.stderr));
    let calibration = &found["calibration"];
    assert_eq!((&calibration["sensitivity"]["passed"], &calibration["specificity"]["trials"]), (&json!(1), &json!(0)));
    assert_eq!((&calibration["unmatched"], &calibration["corrected"]), (&json!(["greeting/gone/codex"]), &Value::Null));
}

#[test]
fn junit_tells_failures_from_errors_and_from_what_was_not_run() {
    let body = format!(
        "case \"$prompt\" in *crash*) exit 7;; *bad*) {} exit 0;; esac",
        ANSWER.replace("Done", "<No> & \\u0007")
    );
    let stub = stub(&["good,false,fine,Done", "bad,false,bad one,Done", "crash,false,a crash,Done"], &body);
    stub.run("run --run-id r --trials 2 --junit out/junit.xml").exits(1);
    let text = fs::read_to_string(stub.root().join("out/junit.xml")).expect("a document");
    for part in [
        r#"<testsuite name="tidy" tests="3" skipped="0" errors="1" failures="1""#,
        r#"<testcase name="tidy::good::codex" classname="tidy""#,
        r#"<property name="repeats of tidy::bad::codex" value="0 passed, 2 failed, 0 errors, 0 unscored"/>"#,
        "<failure message=\"must-include: expected the final message matches &quot;Done&quot;; found it does not: &lt;No&gt;",
        "\">must-include\nmust-include\n  expected the final message matches &quot;Done&quot;\n  found    it does not: ",
        "\nskill-evals show tidy/bad/codex --run r</failure>",
        "<error message=\"the agent crashed\">the agent crashed\nskill-evals show tidy/crash/codex --run r</error>",
    ] {
        assert!(text.contains(part), "{part}\n{text}");
    }
    // What Jenkins' schema has no place for: it knows skipped tests at suites, and properties too.
    let root = text.lines().find(|line| line.starts_with("<testsuites ")).expect("a root");
    let attributes: Vec<&str> =
        root.split_whitespace().filter_map(|word| word.split_once('=')).map(|(name, _)| name).collect();
    assert_eq!(attributes, ["name", "tests", "failures", "errors", "time"], "{root}");
    assert_eq!(text.matches("<properties>").count(), 1, "{text}");
    // The same from the stored run, and what was not run is skipped.
    stub.run("summary r --junit again.xml").exits(1);
    let again = fs::read_to_string(stub.root().join("again.xml")).expect("a document");
    assert_eq!(again.lines().count(), text.lines().count());
    stub.run("run --replay --junit replay.xml").exits(3);
    let text = fs::read_to_string(stub.root().join("replay.xml")).expect("a document");
    assert_eq!(text.matches(r#"<skipped message="no recording""#).count(), 3, "{text}");
    // A mistake in a case is an error.
    let table = stub.root().join("evals/skills/tidy/prompts.csv");
    let cases = fs::read_to_string(&table).expect("cases");
    fs::write(&table, cases.replace("good,false", "good,perhaps")).expect("cases");
    stub.run("run --replay --junit replay.xml").exits(2);
    let text = fs::read_to_string(stub.root().join("replay.xml")).expect("a document");
    assert!(text.contains("<error message=\"the case is wrong"), "{text}");
}

#[test]
fn junit_goes_where_a_link_points_and_one_that_cannot_be_written_hides_no_result() {
    // A file is where the directory of a report would be created.
    let stub = stub(&["good,false,fine,Done"], ": > \"$folder/late\"");
    let at = |name: &str| stub.root().join(name);
    fs::write(at("real.xml"), "").expect("a file");
    std::os::unix::fs::symlink("real.xml", at("link.xml")).expect("a link");
    nix::unistd::mkfifo(&at("pipe"), nix::sys::stat::Mode::S_IRWXU).expect("a pipe");
    let reads = std::thread::spawn({
        let pipe = at("pipe");
        move || fs::read_to_string(pipe).expect("a document")
    });
    stub.run("run --run-id r --junit pipe").exits(0);
    assert!(reads.join().expect("a reader").contains("<testsuites"));
    stub.run("summary r --junit link.xml").exits(0);
    assert!(at("link.xml").is_symlink() && fs::read_to_string(at("real.xml")).expect("a file").contains("<testsuites"));
    let starts = stub.starts().len();
    for place in ["real.xml/below", ".", "folder/", &"x".repeat(300)] {
        let ran = stub.run(&["run", "--run-id", "s", "--junit", place]);
        assert_eq!((ran.code, stub.starts().len()), (2, starts), "{}{}", ran.stdout, ran.stderr);
        ran.warns(format!("--junit: {place}: "));
    }
    fs::remove_file(at("late")).expect("a file");
    let ran = stub.run(&["run", "--run-id", "s", "--junit", "late/junit.xml"]);
    ran.exits(3).prints("1 passed, 0 failed").warns("late").warns("`skill-evals summary` reads them");
    let mut command = stub.command(&["run", "--github"]);
    let ran = crate::support::stub::ran(command.env("GITHUB_STEP_SUMMARY", stub.root()));
    ran.exits(3).prints("1 passed, 0 failed");
}

#[test]
fn github_knows_files_by_their_place_in_the_whole_repository() {
    let stub = stub(&["bad,false,bad one,Done"], &format!("{} exit 0", ANSWER.replace("Done", "No")));
    let above = stub.root().parent().expect("a directory above");
    let folder = stub.root().file_name().expect("a name").to_string_lossy().into_owned();
    let all = above.join(format!("{folder}.all"));
    fs::create_dir(&all).expect("a directory");
    fs::rename(stub.root(), all.join("part")).expect("moved");
    let git = std::process::Command::new("git").args(["init", "--quiet"]).arg(&all).status().expect("git");
    assert!(git.success());
    // The agent is found where it was.
    std::os::unix::fs::symlink(all.join("part"), stub.root()).expect("a link");
    let ran = crate::support::stub::ran(stub.command(&["run", "--github"]).current_dir(all.join("part")));
    fs::remove_file(stub.root()).expect("a link");
    fs::rename(all.join("part"), stub.root()).expect("moved");
    fs::remove_dir_all(&all).expect("a directory");
    let place = "::error file=part/evals/skills/tidy/prompts.csv,line=2::";
    ran.prints(place);
}

/// Only an error makes a job fail, so that is what its reason has to be.
#[test]
fn github_is_shown_a_case_without_a_recording_as_an_error_only_if_recordings_are_required() {
    let stub = stub(&["good,false,fine,Done", "new,false,new,Done"], ANSWER);
    stub.run("run --case tidy/good --record").exits(0);
    let place = "file=evals/skills/tidy/prompts.csv,line=3::tidy/new in the mode codex: no recording\n";
    for (option, code, level) in [("--quiet", 0, "warning"), ("--require-recordings", 3, "error")] {
        let ran = stub.run(&["run", "--github", "--replay", option]);
        assert_eq!(ran.code, code, "{}", ran.stderr);
        ran.prints(format!("::{level} {place}"));
    }
}

#[test]
fn github_is_shown_what_the_change_touched_the_case_else_its_skill_else_the_case() {
    let stub =
        stub(&["a,false,bad one,Done", "b,false,bad two,Done"], &format!("{} exit 0", ANSWER.replace("Done", "No")));
    let (skill, cases) = (stub.root().join("skills/tidy/SKILL.md"), stub.root().join("evals/skills/tidy/prompts.csv"));
    git(&stub, &["init", "--quiet", "--initial-branch", "main"]);
    git(&stub, &["add", "--all"]);
    git(&stub, &["commit", "--quiet", "--message", "base"]);
    let places = |edit: &dyn Fn()| {
        git(&stub, &["checkout", "--quiet", "-B", "change", "main"]);
        edit();
        git(&stub, &["commit", "--quiet", "--all", "--allow-empty", "--message", "change"]);
        let ran = stub.run(&["run", "--github", "--quiet"]);
        let lines = ran.stdout.lines().filter_map(|line| line.strip_prefix("::error file=")?.split_once("::"));
        lines.map(|(place, _)| place.to_owned()).collect::<Vec<_>>()
    };
    let (first, second) = ("evals/skills/tidy/prompts.csv,line=2", "evals/skills/tidy/prompts.csv,line=3");
    assert_eq!(places(&|| ()), [first, second], "nothing changed");
    let text = fs::read_to_string(&skill).expect("a skill");
    let longer = format!("{text}\nBe brief.\n");
    let line = format!("skills/tidy/SKILL.md,line={}", text.lines().count() + 1);
    assert_eq!(places(&|| fs::write(&skill, &longer).expect("a skill")), [line.as_str(), &line], "the skill changed");
    let both = || {
        fs::write(&skill, &longer).expect("a skill");
        let rows = fs::read_to_string(&cases).expect("cases").replace("bad two", "bad too");
        fs::write(&cases, rows).expect("cases");
    };
    assert_eq!(places(&both), [line.as_str(), second], "the skill and a case changed");
}

#[test]
fn github_is_shown_each_case_at_its_own_line_and_the_summary_on_its_page() {
    let body = format!("case \"$prompt\" in *crash*) exit 7;; *bad*) {} exit 0;; esac", ANSWER.replace("Done", "No"));
    let stub = stub(&["good,false,fine,Done", "bad,false,bad one,Done", "crash,false,a crash,Done"], &body);
    let mut command = stub.command(&["run", "--github", "--quiet"]);
    let page = stub.root().join("page.md");
    fs::write(&page, "before\n").expect("a page");
    let ran = crate::support::stub::ran(command.env("GITHUB_STEP_SUMMARY", &page));
    ran.exits(1);
    for line in [
        "::error file=evals/skills/tidy/prompts.csv,line=3::tidy/bad in the mode codex: must-include: expected ",
        "::error file=evals/skills/tidy/prompts.csv,line=4::tidy/crash in the mode codex: the agent crashed\n",
    ] {
        ran.prints(line);
    }
    assert_eq!(ran.stdout.matches("::").count(), 4, "{}", ran.stdout);
    // The stored run says the same: of one that was split over machines, where its parts are put together.
    let id = fs::read_dir(stub.root().join("artifacts/skill-evals")).expect("runs").flatten();
    let id = id.map(|run| run.file_name().to_string_lossy().into_owned()).find(|id| !id.starts_with('.'));
    let again = stub.run(&["summary", &id.expect("a run"), "--github"]);
    again.exits(1);
    assert!(ran.stdout.lines().filter(|line| line.starts_with("::")).all(|line| again.stdout.contains(line)));
    // A case that cannot run at all is marked too.
    let cases = stub.root().join("evals/skills/tidy/prompts.csv");
    fs::write(&cases, "id,should_trigger,prompt\nno:id,false,fine\n").expect("cases");
    let line = "::error file=evals/skills/tidy/prompts.csv,line=2::tidy/row-2 in the mode codex: the case is wrong\n";
    stub.run("run --github --quiet").prints(line);
    let text = fs::read_to_string(&page).expect("a page");
    assert!(
        text.starts_with("before\n# failed: 1 of 3 cases passed, 1 failed, 1 error\n")
            && text.contains("| tidy/bad | codex | 0/1 |"),
        "{text}"
    );
}
