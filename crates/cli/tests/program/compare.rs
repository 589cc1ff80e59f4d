//! One command says whether the skills got better or worse: against a git reference, a stored run, another mode, or no skill.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use crate::support::fixture::Fixture;
use crate::support::live::wait_until;
use crate::support::stub::{ACTIVATES, ANSWER, Stub, on_a_small_disk, signal, without_grades};
use nix::sys::signal::Signal;
use serde_json::{Value, json};
use skill_evals_results::store::with_digests;
use skill_evals_testing::tables;

/// An agent that says `Fine.` if the skill is there.
pub const BY_PRESENCE: &str = r#"if [ -e .agents/skills/tidy/SKILL.md ]; then answer=Fine; else answer=Lost
sed -i 's/- tidy.*file: r0.*md)//' "$CODEX_HOME/sessions/rollout-1.jsonl"; fi
printf '%s\n' '{"type":"thread.started","thread_id":"1"}' '{"type":"turn.started"}' '{"type":"item.completed","item":{"id":"0","type":"agent_message","text":"'$answer'."}}' '{"type":"turn.completed","usage":{"input_tokens":10,"output_tokens":5}}'
exit 0
"#;

/// An agent that answers `Broken.` where the skill that it was given says so.
pub const BY_SKILL: &str = r#"skill=.agents/skills/tidy/SKILL.md
if grep -q "BROKEN" "$skill" 2>/dev/null; then answer=Broken; else answer=Fine; fi
printf '%s\n' '{"type":"thread.started","thread_id":"1"}' '{"type":"turn.started"}' '{"type":"item.completed","item":{"id":"0","type":"agent_message","text":"'$answer'."}}' '{"type":"turn.completed","usage":{"input_tokens":10,"output_tokens":5}}'
exit 0
"#;

/// A repository under git whose committed skill works, with this many cases that ask for a `Fine` answer.
pub fn repository(cases: usize, body: &str) -> Stub {
    let stub = Stub::new(cases, body);
    let rows = (0..cases).map(|case| format!("c{case},false,Prompt {case},Fine"));
    let table: Vec<String> = std::iter::once("id,should_trigger,prompt,must_include".to_owned()).chain(rows).collect();
    fs::write(stub.root().join("evals/skills/tidy/prompts.csv"), table.join("\n")).expect("cases");
    fs::write(stub.root().join(".gitignore"), "artifacts\nstarts\nagent.*\n").expect("a file");
    git(&stub, &["init", "--quiet", "--initial-branch", "main"]);
    git(&stub, &["add", "--all"]);
    git(&stub, &["commit", "--quiet", "--message", "first"]);
    add_to_skill(&stub, "Be brief.");
    stub
}

fn add_to_skill(stub: &Stub, line: &str) {
    let path = stub.root().join("skills/tidy/SKILL.md");
    let text = fs::read_to_string(&path).expect("a skill");
    fs::write(path, format!("{text}\n{line}\n")).expect("a skill");
}

pub fn git(stub: &Stub, args: &[&str]) -> String {
    let mut git = Command::new("git");
    git.args(["-c", "user.name=t", "-c", "user.email=t@localhost"]).args(args).current_dir(stub.root());
    let output = git.env("HOME", stub.scratch()).output().expect("git");
    assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("UTF-8").trim().to_owned()
}

pub fn break_skill(stub: &Stub) {
    add_to_skill(stub, "BROKEN");
}

fn json_of(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

#[test]
fn an_edit_that_breaks_a_skill_is_found_in_few_trials_and_the_cases_that_broke_are_named() {
    let stub = repository(4, BY_SKILL);
    break_skill(&stub);
    let ran = stub.run(&["compare", "main", "--run-id", "r", "--jobs", "4"]);
    ran.exits(1);
    let sentence =
        ran.stdout.lines().find(|line| line.starts_with("broke: ")).unwrap_or_else(|| panic!("{}", ran.stdout));
    assert!(sentence.contains("→ 0/") && sentence.contains(" and 1 more, p ≤ 0.0"), "{sentence}");
    assert!(
        sentence.contains(": at least one of tidy/c") && sentence.ends_with(" of at most 400 trials"),
        "{sentence}"
    );
    // What broke is the answer. The mean of cases of which most trials went to the broken ones is no part of it.
    assert!(!ran.stdout.contains("mean of"), "{}", ran.stdout);
    ran.prints("\n  candidate  the working tree: 0 of ");
    assert!(stub.starts().len() <= 30, "{} trials", stub.starts().len());
    // Both sides had their own skills, and today's prompts.
    let commit = git(&stub, &["rev-parse", "HEAD"]);
    let short = &commit[..12];
    let before = stub.json("r", &format!("work/tidy/c0/codex.{short}/1/meta.json"));
    assert_eq!((&before["commit"], &before["mode"]), (&json!(commit), &json!(format!("codex.{short}"))));
    assert!(stub.json("r", "work/tidy/c0/codex/1/meta.json")["commit"].is_null());
    let kept = |name: &str| fs::read_to_string(stub.run_folder("r").join(name).join("tidy/SKILL.md")).expect("a copy");
    assert!(
        kept("skills_snapshot").contains("BROKEN") && !kept(&format!("skills_snapshot_{short}")).contains("BROKEN")
    );
    // The user's index and work tree are as they were.
    assert_eq!(git(&stub, &["status", "--porcelain"]), "M skills/tidy/SKILL.md");
    // Asked again, the run tells the same, to the last digit.
    let stored = stub.json("r", "comparison.json");
    let again = stub.run(&["compare", "r", "--json"]);
    again.exits(1);
    assert_eq!(json_of(&again.stdout)["comparison"], stored["comparison"]);
    stub.run("compare r --margin 0.2").exits(2).warns("leave out --margin");
    // Each side can be graded by itself, with its own skills. `run` cannot resume a comparison.
    stub.run("grade r").exits(1);
    let skill = stub.root().join("skills/tidy/SKILL.md");
    let today = fs::read_to_string(&skill).expect("a skill");
    fs::write(&skill, today.replace("name: tidy", "name: Tidy")).expect("a skill");
    stub.run(&["grade", "r"]);
    let expected = |mode: &str| stub.json("r", &format!("work/tidy/c0/{mode}/1/grade.json"))["checks"].to_string();
    assert!(expected(&format!("codex.{short}")).contains("`tidy`"), "{}", expected(&format!("codex.{short}")));
    assert!(expected("codex").contains("`Tidy`"), "{}", expected("codex"));
    fs::write(&skill, today).expect("a skill");
    stub.run("run --resume --run-id r").exits(2).warns("skill-evals compare --resume --run-id r");
}

#[test]
fn each_plan_stops_at_its_own_time_and_a_harmless_edit_needs_a_trial_of_each_case_in_the_quick_one() {
    let stub = repository(4, BY_SKILL);
    let quick = stub.run(&["compare", "main", "--plan", "quick", "--run-id", "q"]);
    assert!(quick.code == 0 && stub.starts().len() == 4, "{}{}", quick.stdout, quick.stderr);
    for words in [
        "\nno harm seen: 4 cases with one trial each of the candidate, of which none failed, after 4 of at most 400 trials\n",
        "\n  such a comparison finds one case from always to never in 100 % of comparisons, all cases from 93 to ",
    ] {
        quick.prints(words);
    }
    let stored = stub.json("q", "comparison.json");
    assert_eq!(
        (&stored["comparison"]["results"], &stored["trials"]["plan"]),
        (&json!(["no-harm-seen"]), &json!("quick"))
    );
    stub.run("compare q --fail-on no-harm-seen").exits(1);
    let until = ["compare", "main", "--plan", "until-decided", "--max-trials", "20", "--run-id", "u"];
    stub.run(&until).exits(4).prints("\nundecided: 10/10 → 10/10");
    break_skill(&stub);
    let broke = stub.run("compare main --plan quick --run-id b");
    broke.exits(1).prints("  candidate  the working tree: 0 of 6 trials passed\n");
    // It continues until the mean of all cases is decided too.
    stub.run("compare main --plan until-decided --run-id both").exits(1).prints("; all cases together worse, p ≤ 0.0");
    let dry = stub.run(&["compare", "main", "--dry-run", "--plan", "quick"]).stdout;
    for words in [
        "plan quick: about ",
        " trials if nothing changed, at most 400; it finds one case from always to never in 100 % of comparisons, all cases from ",
        "\nthis rests on ",
        " earlier trials of these cases\n",
    ] {
        assert!(dry.contains(words), "{dry}");
    }
}

#[test]
fn two_git_references_are_compared_as_they_are_whatever_the_working_tree_has() {
    let stub = repository(4, BY_SKILL);
    break_skill(&stub);
    git(&stub, &["commit", "--quiet", "--all", "--message", "second"]);
    fs::write(stub.root().join("skills/tidy/SKILL.md"), "---\nname: tidy\ndescription: Tidies.\n---\nDo.\n")
        .expect("a skill");
    let ran = stub.run("compare HEAD~1 HEAD --jobs 4 --run-id r");
    ran.exits(1).prints("\nbroke: ").prints("  candidate  the skills of HEAD (");
}

#[test]
fn an_edit_that_changes_nothing_is_no_worse_long_before_the_last_trial() {
    let stub = repository(5, BY_SKILL);
    let ran = stub.run(&["compare", "HEAD", "--jobs", "4", "--run-id", "r"]);
    ran.exits(0).prints("no worse than by 5 points: ");
    // The p is that of the word: how probable this is where B is worse by five points.
    ran.prints(" points (95 %)\n").prints(", p ≤ 0.04");
    assert!(stub.starts().len() < 200, "{} trials", stub.starts().len());
    let status = json_of(&stub.run(&["status", "r", "--json"]).stdout);
    assert_eq!((&status["state"], &status["remaining"]), (&json!("finished"), &json!(0)), "{status}");
}

#[test]
fn a_comparison_that_was_interrupted_goes_on_where_it_stood() {
    let stub = repository(3, &format!("sleep 0.05\n{BY_SKILL}"));
    let runner = stub.start(&["compare", "HEAD", "--run-id", "r", "--jobs", "2"]);
    wait_until("ten trials", || stub.progress_lines("r") >= 10);
    signal(&runner, Signal::SIGINT);
    let output = runner.wait_with_output().expect("an end");
    assert_eq!(output.status.code(), Some(130));
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("skill-evals compare --resume --run-id r"), "{said}");
    stub.run("status r").prints("to resume: skill-evals compare --resume --run-id r");
    let measured = stub.progress("r").len();
    let ran = stub.run(&["compare", "--resume", "--run-id", "r", "--jobs", "2"]);
    ran.exits(0);
    assert_eq!(ran.stdout.matches("(kept)").count(), measured, "{}", ran.stdout);
    let pairs = fs::read_to_string(stub.run_folder("r").join("pairs.jsonl")).expect("pairs");
    assert_eq!(pairs.lines().collect::<std::collections::BTreeSet<_>>().len(), pairs.lines().count(), "no pair twice");
    // A compared case that no longer exists is reported.
    let table = stub.root().join("evals/skills/tidy/prompts.csv");
    let rows = fs::read_to_string(&table).expect("cases");
    fs::write(&table, rows.replace("c1,false,Prompt 1,Fine\n", "")).expect("cases");
    let words = "tidy/c1 no longer exists on either side; --force leaves those pairs out";
    stub.run("compare --resume --run-id r").exits(2).warns(words);
    fs::write(&table, rows).expect("cases");
    // The options of a running comparison cannot change.
    break_skill(&stub);
    stub.run("compare --resume --run-id r").exits(2).warns("cannot resume");
}

#[test]
fn results_kept_although_settings_changed_are_listed_alike_by_run_and_compare() {
    for command in [&["run"][..], &["compare", "HEAD"]] {
        let stub = repository(2, BY_SKILL);
        stub.run(&[command, &["--run-id", "r"]].concat());
        stub.settings("env = { \"A\\u001bB\" = \"x\" }");
        let ran = stub.run(&[command[0], "--run-id", "r", "--resume", "--force"]);
        let kept: Vec<&str> =
            ran.stderr.lines().filter(|line| line.contains("kept an outdated result; changed: ")).collect();
        assert!(!kept.is_empty() && kept.iter().all(|line| line.contains("setting env.A")), "{}", ran.stderr);
        assert!(!ran.stderr.contains('\u{1b}'), "{command:?} writes to the terminal as it is: {:?}", ran.stderr);
    }
}

#[test]
fn run_and_compare_begin_with_the_same_options() {
    let help = |command| Fixture::new().run(&[command, "--help"]).stdout;
    let options = ["--run-id", "--resume", "--force", "--background", "--dry-run", "--quiet", "--jobs", "--max-tokens"];
    let about = |help: &str, option: &str| -> Option<String> {
        // The help of `run` has the words of an option under it.
        let mut lines = help.lines().map(str::trim).skip_while(|line| !line.split(' ').any(|word| word == option));
        let first = lines.next()?;
        let words = lines.take_while(|line| !line.is_empty() && !line.starts_with('-'));
        let all = std::iter::once(first).chain(words).collect::<Vec<_>>().join(" ");
        Some(all.split_whitespace().collect::<Vec<_>>().join(" "))
    };
    let [run, compare] = ["run", "compare"].map(help);
    for option in options.into_iter().chain(["--max-cost-usd", "--judge-timeout-s", "--root"]) {
        assert!(about(&run, option).is_some(), "{option}: {run}");
        assert_eq!(about(&run, option), about(&compare, option));
    }
}

#[test]
fn a_comparison_that_goes_on_at_its_limit_says_again_what_it_said() {
    let stub = repository(3, BY_SKILL);
    let ran = stub.run(&["compare", "HEAD", "--run-id", "r", "--jobs", "2", "--max-tokens", "300"]);
    assert_eq!(ran.code, 3, "a limit: {}{}", ran.stdout, ran.stderr);
    let said = |stdout: &str| stdout.lines().find(|line| line.starts_with("undecided: ")).map(str::to_owned);
    let before = said(&ran.stdout).unwrap_or_else(|| panic!("{}", ran.stdout));
    let again = stub.run(&["compare", "--resume", "--run-id", "r", "--max-tokens", "300"]);
    assert_eq!(said(&again.stdout), Some(before), "{}{}", again.stdout, again.stderr);
}

#[test]
fn two_modes_are_compared_each_with_its_own_model() {
    let stub = repository(2, BY_SKILL);
    let args = [
        "compare",
        "--mode",
        "codex",
        "--mode",
        "codex",
        "--baseline",
        "model=x",
        "--candidate",
        "model=y",
        "--max-trials",
        "12",
    ];
    stub.run(&[&args[..], &["--run-id", "r"]].concat()).prints("  baseline   the mode codex, model=x: ");
    assert_eq!(stub.json("r", "work/tidy/c0/codex.x/1/meta.json")["mode"], "codex.x");
}

#[test]
fn what_measures_nothing_ends_at_once_and_says_that_nothing_was_measured() {
    let stub = repository(10, "exit 7");
    stub.run("compare HEAD --jobs 2").exits(3).prints("nothing measured: ");
    assert!(stub.starts().len() <= 14, "{} trials", stub.starts().len());
}

#[test]
fn stored_runs_and_a_baseline_file_are_compared_without_any_agent() {
    let stub = before_and_after();
    let starts = stub.starts().len();
    let ran = stub.run(&["compare", "before", "after"]);
    ran.exits(1);
    assert!(ran.stdout.starts_with("worse: 18/18 → 0/18 passed, p = "), "{}", ran.stdout);
    let mean = "\n  mean of 6 cases: loses at least ";
    ran.prints(mean).prints(", at most 100 (95 %); measured: −100 points\n").prints("  tidy/c0  3/3 → 0/3\n");
    ran.prints("tokens ±0 %");
    fs::copy(stub.run_folder("before").join("progress.jsonl"), stub.root().join("evals/baseline.jsonl"))
        .expect("a copy");
    let same = stub.run(&["compare", "evals/baseline.jsonl", "after", "--json"]);
    let found = json_of(&same.stdout);
    assert_eq!(
        (&found["comparison"]["results"], &found["comparison"]["candidate"]["rate"]["trials"]),
        (&json!(["worse"]), &json!(18))
    );
    stub.run("compare after before,evals/baseline.jsonl").exits(2).warns(" is a copy of ").warns("would count twice");
    let better = stub.run(&["compare", "after", "evals/baseline.jsonl", "--quiet"]);
    assert!(better.code == 0 && better.stdout.starts_with("better: 0/18 → 18/18 passed"), "{}", better.stdout);
    // A case alone shows too little, and the answer says what it takes.
    let few = stub.run(&["compare", "before", "after", "--case", "c1"]);
    assert!(few.code == 4 && few.stdout.starts_with("undecided: 3/3 → 0/3 passed"), "{}", few.stdout);
    few.prints("\n  difference: −100 points (95 %: ").prints(" more trials would decide a difference of this size\n");
    stub.run("compare before after --cluster skill").prints("over skills that were not asked: unknown from 1 skill;");
    stub.run("compare before after --cluster tag").exits(2).warns("--cluster tag: no case here has a tag");
    let sheet = stub.root().join("evals/skills/tidy/prompts.csv");
    let written = fs::read_to_string(&sheet).expect("cases");
    let (header, rows) = written.split_once('\n').expect("rows");
    let tagged: Vec<String> = rows.lines().skip(1).map(|row| format!("{row},one")).collect();
    fs::write(&sheet, format!("{header},tags\n{}\n", tagged.join("\n"))).expect("a file");
    let lacking = stub.run("compare before after --cluster tag");
    lacking.exits(2).warns("lacks these cases, or cannot read them, so their tags are unknown: tidy/c0");
    fs::write(&sheet, written).expect("a file");
    let copy = Command::new("cp").args(["-r"]).arg(stub.run_folder("before")).arg(stub.run_folder("copy")).status();
    assert!(copy.expect("a copy").success());
    stub.run("compare before,copy after").exits(2).warns(" is a copy of ").warns("would count twice");
    stub.run("compare before copy").exits(2).warns("as a copy: its trials would be compared with themselves");
    stub.run("summary before copy").exits(2).warns("would count twice");
    fs::remove_dir_all(stub.run_folder("copy")).expect("a directory");
    stub.run("compare HEAD --cluster skill").exits(2).warns("--cluster needs trials whose number did not depend on");
    stub.run("compare before after,before").exits(2).warns("is on both sides");
    assert_eq!(stub.starts().len(), starts, "no agent ran");
    let twice = stub.run(&["compare", "before,before", "after"]);
    let dry = stub.run(&["compare", "HEAD", "--dry-run", "--max-trials", "200"]);
    dry.prints("all 200 trials, if it takes that many: about 3000 tokens");
    // In GitHub Actions the answer is marked, and stands on the job's page.
    let page = stub.root().join("page.md");
    let mut command = stub.command(&["compare", "before", "after", "--github", "--quiet"]);
    let marked = crate::support::stub::ran(command.env("GITHUB_STEP_SUMMARY", &page));
    marked.prints("::error::worse: 18/18 → 0/18 passed, p = ").prints("%0Amean of 6 cases: loses at least ");
    let text = fs::read_to_string(&page).expect("a page");
    assert!(
        text.starts_with("# worse\n\nworse: 18/18 → 0/18") && text.contains("\n      tidy/c0  3/3 → 0/3\n"),
        "{text}"
    );
    let path = stub.run_folder("before");
    let otherwise = stub.run(&["compare", &format!("before,{}", path.display()), "after"]);
    otherwise.exits(2).warns("is named twice on one side");
    twice.exits(2).warns("before is named twice on one side");
    fs::write(stub.root().join("evals/baseline.jsonl"), "{}\nno line\n").expect("a file");
    let damaged = stub.run("compare evals/baseline.jsonl after");
    damaged.exits(2).warns("baseline.jsonl: 2 of its lines are not as a run wrote them, 0 are");
}

#[test]
fn skills_that_are_the_same_file_by_file_take_no_trial() {
    let stub = repository(2, BY_SKILL);
    git(&stub, &["commit", "--quiet", "--all", "--message", "brief"]);
    for args in
        [&["compare", "main"][..], &["compare", "main", "--fail-on", "better"], &["compare", "main", "--dry-run"]]
    {
        let ran = stub.run(args);
        let words = "unchanged: the skills of main (";
        assert!(ran.code == 0 && ran.stdout.starts_with(words), "{args:?}: {}{}", ran.stdout, ran.stderr);
        assert!(ran.stdout.ends_with("no trial is needed; --aa shows what is noise\n"), "{}", ran.stdout);
    }
    assert_eq!(json_of(&stub.run(&["compare", "main", "--json"]).stdout)["unchanged"], json!(true));
    assert!(stub.starts().is_empty(), "no agent ran");
    stub.run("compare main~1 main --dry-run").prints("2 cases, at most");
    let modes = stub.run(&["compare", "main", "--baseline", "model=x", "--dry-run"]);
    assert!(modes.stdout.contains("2 cases, at most"), "something else differs: {}{}", modes.stdout, modes.stderr);
}

#[test]
fn what_ends_after_the_decision_is_in_no_figure() {
    let stub = repository(6, BY_SKILL);
    break_skill(&stub);
    stub.run("compare main --run-id r --jobs 1").exits(1);
    let json = || json_of(&stub.run(&["compare", "r", "--json"]).stdout);
    let before = json();
    assert_eq!(before["trials"]["executed"], before["trials"]["counted"]);
    // One more pair of the first case, both trials of which passed and took ten times as many tokens.
    let late = |text: &str, lines: usize| {
        let first = text.split_inclusive('\n').take(lines).collect::<String>();
        let late = first.replace("\"trial\":1", "\"trial\":99").replace("\"tokens\":15", "\"tokens\":150");
        text.to_owned() + &without_grades(&late.replace("\"fail\"", "\"pass\""))
    };
    let pairs = stub.run_folder("r").join("pairs.jsonl");
    let text = fs::read_to_string(&pairs).expect("pairs");
    fs::write(&pairs, late(&text, 1)).expect("a pair more");
    stub.rewrite_progress("r", |text| late(text, 2));
    let mut after = json();
    assert_eq!(after["trials"]["executed"].as_u64(), before["trials"]["executed"].as_u64().map(|run| run + 2));
    after["trials"]["executed"] = before["trials"]["executed"].clone();
    assert_eq!(after, before);
    stub.run("compare r").prints("not counted: 2 trials that were running when the result was reached");
}

#[test]
fn tokens_that_are_known_in_part_are_not_compared() {
    let stub = repository(2, BY_SKILL);
    for run in ["one", "two"] {
        stub.run(&["run", "--run-id", run]).exits(0);
    }
    stub.run("compare one two").prints("tokens ±0 %");
    stub.rewrite_progress("two", |text| text.replace("\"tokens\":15", "\"tokens\":5,\"tokens_incomplete\":true"));
    let ran = stub.run(&["compare", "one", "two"]);
    assert!(ran.stdout.contains("time ") && !ran.stdout.contains("tokens "), "{}", ran.stdout);
}

#[test]
fn runs_that_share_a_mode_are_compared_in_it_and_what_only_one_has_is_named() {
    let stub = repository(2, BY_SKILL);
    let settings = stub.root().join("evals/evals.toml");
    let text = fs::read_to_string(&settings).expect("settings");
    fs::write(&settings, format!("{text}\n[mode.mine]\nagent = \"codex\"\ndelivery = \"native\"\n")).expect("settings");
    for args in
        [&["--run-id", "one", "--mode", "codex"][..], &["--run-id", "both", "--mode", "codex", "--mode", "mine"]]
    {
        stub.run(&[&["run"], args].concat()).exits(0);
    }
    let ran = stub.run(&["compare", "one", "both"]);
    ran.prints(": 2/2 → 2/2 passed");
    let only = "not counted, measured only for the candidate: tidy/c0/mine, tidy/c1/mine";
    ran.prints(only);
    stub.rewrite_progress("one", |text| text.replace("\"mode\":\"codex\"", "\"mode\":\"other\""));
    fs::copy(stub.run_folder("one").join("progress.jsonl"), stub.root().join("other.jsonl")).expect("a file");
    let words =
        "no mode in common (codex, mine against other): choose one of each with --baseline mode=… --candidate mode=…";
    stub.run("compare both other.jsonl").exits(2).warns(words);
}

/// A repository with a run of a good skill and one of a broken skill.
fn before_and_after() -> Stub {
    let stub = repository(6, BY_SKILL);
    stub.run("run --run-id before --trials 3").exits(0);
    break_skill(&stub);
    stub.run("run --run-id after --trials 3").exits(1);
    stub
}

/// What a comparison of the two answers to options.
fn of_stored() -> impl Fn(&str) -> String {
    let stub = before_and_after();
    move |line| stub.run(&*format!("compare before after {line}")).told(stub.root())
}

/// What a command line is answered, which starts no agent.
fn refused() -> impl Fn(&str) -> String {
    let stub = repository(2, BY_SKILL);
    move |line| {
        let told = stub.run(line).told(stub.root());
        assert_eq!(stub.starts(), Vec::<String>::new(), "{line}");
        told
    }
}

tables! {
    of_stored() => what_stored_trials_cannot_be_asked_is_refused;
    refused() => what_cannot_be_compared_is_told_with_what_to_do_and_starts_no_agent;
}

#[test]
fn of_stored_trials_some_are_chosen() {
    let stub = before_and_after();
    for cases in
        [&["--case", "c1", "--case", "tidy/c2", "--mode", "codex"][..], &["--case", "tidy/c1/codex", "--case", "c2"]]
    {
        let chosen = stub.run(&[&["compare", "before", "after"], cases].concat());
        assert!(chosen.stdout.starts_with("worse: 6/6 → 0/6 passed"), "{}{}", chosen.stdout, chosen.stderr);
    }
    let apart = stub.run(&["compare", "--with", "codex", "--without", "--case", "tidy/c1/mcp"]);
    apart.warns("--case names the mode mcp, --with the mode codex: name one");
}

#[test]
fn one_version_against_itself_shows_how_often_verdicts_flip() {
    // Every third start answers otherwise.
    let body = BY_SKILL
        .replace("if grep -q \"BROKEN\"", "if [ $(($(wc -l < \"$folder/starts\") % 3)) = 0 ] || grep -q \"BROKEN\"");
    let stub = repository(2, &body);
    let ran = stub.run("compare --aa --max-trials 24 --jobs 1 --run-id r");
    ran.exits(0).prints("  noise: the verdict flipped in 8/12 pairs of equal trials; each false");
    assert_eq!(stub.json("r", "work/tidy/c0/codex.again/1/meta.json")["mode"], "codex.again");
}

#[test]
fn a_single_case_that_broke_fails_next_to_good_news_about_all() {
    // One case of twenty fails with the edited skill.
    let body = BY_SKILL.replace("if grep -q \"BROKEN\"", "if [ \"$prompt\" = 'Prompt 7' ] && grep -q \"BROKEN\"");
    let stub = repository(20, &body);
    stub.run("run --run-id before --trials 8 --jobs 4").exits(0);
    break_skill(&stub);
    stub.run("run --run-id after --trials 8 --jobs 4").exits(1);
    let ran = stub.run(&["compare", "before", "after", "--margin", "0.2"]);
    let sentence = ran.stdout.lines().next().unwrap_or_default();
    assert!(sentence.starts_with("broke: tidy/c7 8/8 → 0/8, p = 0.00"), "{sentence}");
    assert!(sentence.ends_with("; all cases together no worse than by 20 points") && ran.code == 1, "{sentence}");
    assert!(!ran.stdout.contains("mean of") && ran.stdout.contains("\n  candidate  "), "{}", ran.stdout);
    stub.run("compare before after --margin 0.2 --fail-on worse").exits(0);
    ran.prints("  tidy/c7  8/8 → 0/8  changed (p = ");
}

#[test]
fn a_single_case_that_got_better_is_told_beside_bad_news() {
    // The edited skill breaks all cases but one, and fixes that.
    let answer = r#"seven=no; broken=no
[ "$prompt" = 'Prompt 7' ] && seven=yes
grep -q BROKEN "$skill" && broken=yes
if [ $seven = $broken ]; then answer=Fine; else answer=Broken; fi"#;
    let old = BY_SKILL.lines().nth(1).expect("a line");
    let stub = repository(8, &BY_SKILL.replace(old, answer));
    stub.run("run --run-id before --trials 8 --jobs 4").exits(1);
    break_skill(&stub);
    stub.run("run --run-id after --trials 8 --jobs 4").exits(1);
    let ran = stub.run(&["compare", "before", "after"]);
    let sentence = ran.stdout.lines().next().unwrap_or_default();
    assert!(
        sentence.starts_with("broke: ")
            && sentence.contains(" and 4 more, each p ≤ 0.00")
            && sentence.contains("; all cases together worse, p = "),
        "{sentence}"
    );
    ran.prints("\n  1 case got better nevertheless\n");
}

#[test]
fn with_and_without_the_skill_shows_what_it_is_worth_and_asks_nothing_of_an_absent_skill() {
    let stub = repository(3, BY_PRESENCE);
    let ran = stub.run(&["compare", "--with", "codex", "--without", "--run-id", "r"]);
    ran.exits(0).prints("\nbetter: 0/");
    assert!(!ran.stdout.contains("`must-include` passes as often"), "{}", ran.stdout);
    let checks = stub.json("r", "work/tidy/c0/codex.without/1/grade.json");
    let names: Vec<&str> =
        checks["checks"].as_array().expect("checks").iter().filter_map(|check| check["id"].as_str()).collect();
    assert!(!names.iter().any(|name| name.contains("trigger")) && names.contains(&"must-include"), "{names:?}");
}

#[test]
fn a_run_with_its_lift_prints_first_what_the_skills_add() {
    let stub = repository(3, BY_PRESENCE);
    let ran = stub.run(&["run", "--lift", "--mode", "codex", "--trials", "2", "--run-id", "r"]);
    ran.prints(": 0/6 → 6/6 passed").prints("\n  mean of 3 cases: ").prints("+100 points (95 %)");
    ran.prints("\n  over cases that were not asked: unknown from 3 cases; 5 are needed\n");
    let quiet = stub.run(&["run", "--lift", "--mode", "codex", "--trials", "2", "--quiet"]);
    assert!(quiet.stdout.lines().next().is_some_and(|line| line.contains("0/6 → 6/6 passed")), "{}", quiet.stdout);
    let never = stub.run(&["run", "--lift", "--mode", "codex", "--trials", "until decided at most 4"]);
    never.exits(2).warns("error[never-decided]");
    stub.run("run --lift --mode codex --mode mcp").exits(2).warns("--lift compares in one mode");
    // The settings ask for the same, unless an option compares nothing.
    let settings = stub.root().join("evals/evals.toml");
    let text = std::fs::read_to_string(&settings).unwrap_or_default() + "\n[run]\nlift = true\n";
    std::fs::write(settings, text).expect("settings");
    let lifts = |args: &[&str]| {
        let ran = stub.run(&[&["run", "--mode", "codex", "--trials", "2"], args].concat());
        ran.stdout.contains("0/6 → 6/6 passed")
    };
    assert!(lifts(&[]));
    for plain in
        [&["--lift=false"][..], &["--replay"], &["--write-progress"], &["--junit", "x.xml"], &["--threshold", "1"]]
    {
        assert!(!lifts(plain), "{plain:?}");
    }
    stub.run("run --mode codex --mode mcp").warns("`[run] lift = true` in evals.toml asks for --lift");
}

#[test]
fn a_skill_that_changes_no_outcome_is_not_worse_for_what_nobody_asks_without_it() {
    let gone = r#"[ -e .agents/skills ] || sed -i 's/- tidy.*file: r0.*md)//' "$CODEX_HOME/sessions/rollout-1.jsonl""#;
    let stub = repository(3, &format!("{gone}\n{BY_SKILL}"));
    // The agent never uses the skill, which is a failure with it, and no question without it.
    let table = stub.root().join("evals/skills/tidy/prompts.csv");
    let rows = fs::read_to_string(&table).expect("cases");
    fs::write(&table, rows.replace(",false,", ",true,")).expect("cases");
    let args = ["compare", "--with", "codex", "--without", "--max-trials", "60", "--run-id", "r"];
    let ran = stub.run(&args);
    ran.exits(0).prints("\nno harm seen: 30/30 → 30/30 passed").prints("  judged by what both sides were asked");
    stub.run("compare r").prints("30/30 → 30/30 passed");
    assert_eq!(stub.json("r", "work/tidy/c0/codex/1/grade.json")["verdict"], "fail");
}

#[test]
fn a_check_that_passes_as_often_without_the_skill_does_not_tell_its_worth() {
    let gone = r#"[ -e .agents/skills ] || sed -i 's/- tidy.*file: r0.*md)//' "$CODEX_HOME/sessions/rollout-1.jsonl""#;
    let stub = repository(3, &format!("{gone}\n{BY_SKILL}"));
    let ran = stub.run(&["compare", "--with", "codex", "--without"]);
    let note = "`must-include` passes as often without (";
    ran.prints(note);
    assert!(!ran.stdout.contains("`delivered` passes"), "{}", ran.stdout);
}

#[test]
fn what_a_skill_is_offered_beside_is_a_part_of_the_mode() {
    let body = format!("ls .agents/skills > \"$folder/offered-$(ls .agents/skills | wc -l)\"\n{ANSWER}exit 0");
    let stub = repository(2, &body);
    let more = stub.root().join("skills/other");
    fs::create_dir(&more).expect("a directory");
    fs::write(more.join("SKILL.md"), "---\nname: other\ndescription: Does other things.\n---\nDo.\n").expect("a skill");
    let ran = stub.run("compare --baseline offer=alone --candidate offer=all --skill tidy --max-trials 12 --run-id r");
    assert!(ran.code != 2, "{}", ran.stderr);
    let seen = |name: &str| fs::read_to_string(stub.root().join(name)).unwrap_or_default();
    assert_eq!((seen("offered-1").as_str(), seen("offered-2").as_str()), ("tidy\n", "other\ntidy\n"));
    assert_eq!(stub.json("r", "work/tidy/c0/codex.offer-alone/1/meta.json")["offer"], "alone");
}

#[test]
fn what_a_skill_loses_to_its_neighbors_is_told_with_the_one_it_loses_to() {
    // Next to another skill, one case activates that, one activates none, and a third still activates both.
    let body = format!(
        "{ACTIVATES}if [ ! -e .agents/skills/other ]; then activate tidy; else
case \"$prompt\" in *c0) activate other;; *c1) ;; *c2) activate tidy; activate other;; *) activate tidy;; esac; fi"
    );
    let stub = Stub::new(0, &body);
    let rows = (0..6).map(|case| format!("c{case},true,Prompt c{case}\n"));
    let table = format!("id,should_trigger,prompt\n{}n0,false,Prompt n0\n", rows.collect::<String>());
    fs::write(stub.root().join("evals/skills/tidy/prompts.csv"), table).expect("cases");
    let more = stub.root().join("skills/other");
    fs::create_dir(&more).expect("a directory");
    fs::write(more.join("SKILL.md"), "---\nname: other\ndescription: Does other things.\n---\nDo others.\n")
        .expect("a skill");
    let args =
        ["compare", "--baseline", "offer=alone", "--candidate", "offer=all", "--skill", "tidy", "--suite", "positive"];
    let more = ["--max-trials", "12", "--run-id", "r", "--jobs", "2"];
    let ran = stub.run(&[&args[..], &more].concat());
    let line = "  `tidy` activated in 6/6 → 4/6 of its trials; ";
    ran.prints(line).prints("; in its place `other` 0 → 1, none 0 → 1\n");
    // The same from the stored run, with both matrices.
    let found = json_of(&stub.run(&["compare", "r", "--json"]).stdout)["triggering"].clone();
    let tidy = &found["skills"][0];
    assert_eq!(
        (&tidy["skill"], &tidy["baseline"], &tidy["candidate"]["passed"]),
        (&json!("tidy"), &json!({"passed": 6, "trials": 6}), &json!(4))
    );
    assert_eq!(tidy["difference"], Value::Null, "how many trials ran depends on their results");
    assert!(
        tidy["replaced_by"]
            .as_array()
            .expect("a list")
            .contains(&json!({"activated": "other", "baseline": 0, "candidate": 1})),
        "{found:#}"
    );
    let column = |arm: &str, active: Value| -> u64 {
        let cells = found[arm]["matrix"].as_array().expect("a matrix").iter();
        cells.filter(|cell| cell["activated"] == active).filter_map(|cell| cell["trials"].as_u64()).sum()
    };
    assert_eq!(
        (
            column("baseline", json!("other")),
            column("candidate", json!("other")),
            column("candidate", json!("several skills"))
        ),
        (0, 1, 1)
    );
    assert_eq!((column("baseline", json!("tidy")), column("candidate", json!("tidy"))), (6, 3));
}

#[test]
fn any_number_of_trials_is_planned_in_no_time() {
    let stub = repository(2, BY_SKILL);
    let words = "; it finds one case from always to never in ";
    stub.run("compare HEAD --dry-run --max-trials 900000000").exits(0).prints(words);
}

#[test]
fn a_comparison_that_ended_before_it_tried_every_case_says_so_and_says_the_same_again() {
    // As many equal pairs as would show `no worse by 20 points` without other cases.
    let stub = repository(22, BY_SKILL);
    let ran = stub.run(&["compare", "HEAD", "--run-id", "r", "--jobs", "4", "--margin", "0.2", "--max-trials", "42"]);
    ran.exits(4);
    let note = "  not counted, not tried on both sides: tidy/c21\n";
    ran.prints("\nundecided: 21/21 → 21/21 passed").prints(note);
    let stored = stub.json("r", "comparison.json");
    let again = stub.run(&["compare", "r", "--json"]);
    assert_eq!((again.code, &json_of(&again.stdout)), (4, &stored));
    stub.run("compare --resume --run-id r --max-trials 44").prints("decided after 44 of at most 44 trials");
    stub.run("compare r").prints("decided after 44 of at most 44 trials");
}

#[test]
fn a_comparison_in_the_background_is_watched_stopped_and_gone_on_with_like_any_run() {
    let stub = repository(2, &format!("while [ ! -e \"$folder/artifacts/go\" ]; do sleep 0.02; done\n{BY_SKILL}"));
    break_skill(&stub);
    let begun = stub.run(&["compare", "main", "--background", "--run-id", "r", "--jobs", "2"]);
    begun.exits(0);
    assert!(begun.stdout.starts_with("r runs in the background as process "), "{}", begun.stdout);
    wait_until("both agents", || stub.starts().len() == 2);
    assert!(stub.run(&["status", "r"]).stdout.starts_with("r: running (process "));
    let stopped = stub.run(&["stop"]);
    stopped.prints("r stopped; to resume: skill-evals compare --resume --run-id r");
    let status = stub.run(&["status", "r"]).stdout;
    assert!(status.starts_with("r: stopped\n") && status.contains("compare --resume --run-id r"), "{status}");

    fs::write(stub.root().join("artifacts/go"), "").expect("a file");
    stub.run("compare --resume --background --run-id r --jobs 2").exits(0);
    wait_until("its end", || stub.run(&["status", "r"]).stdout.starts_with("r: finished"));
    let told = stub.run(&["compare", "r"]);
    assert!(told.code == 1 && told.stdout.starts_with("broke"), "{}{}", told.stdout, told.stderr);
    let log = fs::read_to_string(stub.run_folder("r").join("runner.log")).expect("a log");
    assert!(log.contains(told.stdout.lines().next().expect("an answer")), "{log}");
    stub.run("compare r --background").exits(2).warns("--background: these trials are stored");
    stub.run("compare main --background --run-id r").exits(2).warns("`r`");
}

#[test]
fn a_comparison_that_is_stopped_or_has_lost_a_line_says_how_it_goes_on() {
    let stub = repository(3, &format!("sleep 0.05\n{BY_SKILL}"));
    let runner = stub.start(&["compare", "HEAD", "--run-id", "r", "--jobs", "2"]);
    wait_until("four trials", || stub.progress_lines("r") >= 4);
    stub.run("compare r").warns("r is running: this is its result so far");
    let stopped = stub.run(&["stop", "r"]);
    stopped.prints("r stopped; to resume: skill-evals compare --resume --run-id r");
    runner.wait_with_output().expect("an end");
    let path = stub.run_folder("r").join("progress.jsonl");
    let text = fs::read_to_string(&path).expect("progress");
    fs::write(&path, &text[..text.len() - 20]).expect("progress");
    let torn = stub.run(&["compare", "r"]);
    for words in [
        "r: 1 line of progress.jsonl cannot be read; 1 trial that progress.jsonl lacks is read from its grade",
        "r was stopped before its plan was done; to resume: skill-evals compare --resume --run-id r",
    ] {
        torn.warns(words);
    }
}

#[test]
fn an_agent_that_dies_midway_ends_a_comparison_which_is_then_no_good_news_and_resumes() {
    let dies = format!("if [ $(wc -l < \"$folder/starts\") -gt 8 ]; then echo gone >&2; exit 1; fi\n{BY_SKILL}");
    let stub = repository(4, &dies);
    for args in [&["compare", "main", "--run-id", "r", "--jobs", "2"][..], &["compare", "--resume", "--run-id", "r"]] {
        let ran = stub.run(&[args, &["--fail-on", "broke,undecided", "--quiet"]].concat());
        assert_eq!((ran.code, ran.stdout.starts_with("undecided: 4/4 → 4/4 passed")), (3, true), "{}", ran.stdout);
        let why = "it ended early: again and again nothing was measured, see the errors above and skill-evals doctor; \
                   to resume: skill-evals compare --resume --run-id r";
        ran.warns(why);
        assert!(stub.starts().len() < 50, "{} trials", stub.starts().len());
    }
    stub.body(BY_SKILL);
    let ran = stub.run(&["compare", "--resume", "--run-id", "r", "--quiet"]);
    assert_eq!((ran.code, ran.stderr.as_str()), (0, ""), "{}", ran.stdout);
}

#[test]
fn trials_that_the_plan_needs_and_cases_that_could_not_be_measured_are_no_good_news() {
    // Of `c0` all trials are lost, or of `c1` all but the first pair.
    let loses = |when: &str| format!("if {when}; then echo gone >&2; exit 1; fi\n{BY_SKILL}");
    let later = loses("[ \"$prompt\" = 'Prompt 1' ] && [ $(grep -c 'Prompt 1' \"$folder/starts\") -gt 2 ]");
    let always = loses("[ \"$prompt\" = 'Prompt 0' ]");
    let few = ["--max-trials", "12", "--jobs", "2", "--quiet"];
    for (body, plan, answer, why) in [
        (later, "standard", "undecided: ", "; to resume: skill-evals compare --resume --run-id r"),
        (
            always,
            "quick",
            "no harm seen: ",
            "not measured on one side or both: tidy/c0; to resume: skill-evals compare --resume --run-id r",
        ),
    ] {
        let stub = repository(2, &body);
        let ran = stub.run(&[&["compare", "main", "--run-id", "r", "--plan", plan][..], &few].concat());
        assert_eq!((ran.code, ran.stdout.starts_with(answer)), (3, true), "{}{}", ran.stdout, ran.stderr);
        assert!(ran.stderr.contains("not measured") && ran.stderr.ends_with(&format!("{why}\n")), "{}", ran.stderr);
        let stored = stub.run(&["compare", "r", "--quiet"]);
        assert_eq!((stored.code, &stored.stdout, stored.stderr.ends_with(&format!("{why}\n"))), (3, &ran.stdout, true));
        stub.body(BY_SKILL);
        let again = stub.run(&["compare", "--resume", "--run-id", "r", "--quiet"]);
        assert_eq!((again.code, again.stdout.starts_with("no harm seen: ")), (0, true), "{}", again.stdout);
    }
}

#[test]
fn a_case_that_one_of_two_stored_runs_lost_is_no_good_news() {
    let stub = repository(2, BY_SKILL);
    stub.run(&["run", "--run-id", "a", "--trials", "9"]);
    stub.body(&format!("if [ \"$prompt\" = 'Prompt 0' ]; then exit 3; fi\n{BY_SKILL}"));
    stub.run(&["run", "--run-id", "b", "--trials", "9"]);
    let wide = |gate: &[&str]| stub.run(&[&["compare", "a", "b", "--margin", "0.5", "--quiet"], gate].concat());
    for gate in [&[][..], &["--fail-on", "broke"]] {
        let ran = wide(gate);
        assert!(ran.code == 3 && ran.stdout.starts_with("no worse"), "{}{}", ran.stdout, ran.stderr);
        let why = "not measured on one side or both: tidy/c0; `skill-evals run --resume --run-id …`, or another run, measures them again\n";
        assert_eq!(ran.stderr, why);
    }
    assert_eq!(wide(&["--fail-on", "no-worse"]).code, 1, "what fails, fails");
    stub.body(BY_SKILL);
    stub.run("run --resume --run-id b").exits(0);
    assert_eq!((wide(&[]).code, wide(&[]).stderr), (0, String::new()));
}

#[test]
fn lost_trials_hide_no_case_that_broke() {
    // Of `c0`, which broke, the second and third pair are lost.
    let loses = r#"n=$(grep -c 'Prompt 0' "$folder/starts")
if [ "$prompt" = 'Prompt 0' ] && [ $n -gt 2 ] && [ $n -lt 7 ] && grep -q BROKEN .agents/skills/tidy/SKILL.md; then exit 3; fi"#;
    let one_broke = BY_SKILL.replace("grep -q", "[ \"$prompt\" = 'Prompt 0' ] && grep -q");
    let stub = repository(4, &format!("{loses}\n{one_broke}"));
    break_skill(&stub);
    let ran = stub.run(&["compare", "main", "--plan", "quick", "--quiet", "--jobs", "1"]);
    assert!(ran.code == 1 && ran.stdout.starts_with("broke"), "{}{}", ran.stdout, ran.stderr);
}

#[test]
fn a_run_that_ended_early_is_no_good_news_when_it_is_read_again() {
    let stub = repository(4, BY_SKILL);
    let live = ["compare", "main", "--run-id", "r", "--plan", "standard", "--max-tokens", "150", "--jobs", "2"];
    for gate in [&[][..], &["--fail-on", "broke"]] {
        let ran = stub.run(&[&live, gate].concat());
        let again = stub.run(&[&["compare", "r"], gate].concat());
        assert_eq!((ran.code, again.code), (3, 3), "{}{}", again.stdout, again.stderr);
        let early = "r ended early; to resume: skill-evals compare --resume --run-id r\n";
        assert!(again.stderr.ends_with(early), "{}", again.stderr);
        fs::remove_dir_all(stub.run_folder("r")).expect("the run");
    }
    // So is one side that has not run to its end.
    stub.run(&["run", "--run-id", "a", "--trials", "9"]);
    stub.run(&["run", "--run-id", "b", "--trials", "9"]);
    let wide = ["compare", "a", "b", "--margin", "0.5", "--quiet"];
    stub.run(&wide).exits(0);
    let path = stub.run_folder("b").join("run.json");
    let text = fs::read_to_string(&path).expect("a record").replace("\"finished\"", "\"interrupted\"");
    fs::write(&path, text).expect("a record");
    let ran = stub.run(&wide);
    let early = "b has not run to its end; to resume: skill-evals run --resume --run-id b\n";
    assert_eq!((ran.code, ran.stderr.as_str()), (3, early), "{}", ran.stdout);
}

#[test]
fn a_commit_has_the_skills_behind_a_link_in_the_repository_and_none_behind_one_that_leads_out() {
    let stub = repository(2, BY_SKILL);
    fs::rename(stub.root().join("skills"), stub.root().join("mine")).expect("moved");
    git(&stub, &["add", "--all"]);
    git(&stub, &["commit", "--quiet", "--message", "in a directory of another name"]);
    stub.run("compare HEAD --dry-run").exits(0);
    std::os::unix::fs::symlink("mine", stub.root().join("skills")).expect("a link");
    git(&stub, &["add", "--all"]);
    git(&stub, &["commit", "--quiet", "--message", "a link within"]);
    stub.run("compare HEAD --dry-run").exits(0);
    fs::remove_file(stub.root().join("skills")).expect("no link");
    std::os::unix::fs::symlink(stub.root().join("mine"), stub.root().join("skills")).expect("a link");
    git(&stub, &["add", "--all"]);
    git(&stub, &["commit", "--quiet", "--message", "a link to an absolute path"]);
    stub.run("compare HEAD --dry-run").exits(0);
    fs::remove_file(stub.root().join("skills")).expect("no link");
    std::os::unix::fs::symlink(stub.scratch(), stub.root().join("skills")).expect("a link");
    git(&stub, &["add", "--all"]);
    git(&stub, &["commit", "--quiet", "--message", "a link out of the repository"]);
    fs::remove_file(stub.root().join("skills")).expect("no link");
    std::os::unix::fs::symlink("mine", stub.root().join("skills")).expect("a link");
    stub.run("compare HEAD").exits(2).warns(": there are none");
}

/// Has git start a program at every place where a repository can name one; each leaves a file in the directory returned.
fn hostile(stub: &Stub) -> std::path::PathBuf {
    let ran = stub.scratch().join("ran");
    let hooks = stub.scratch().join("hooks");
    fs::create_dir_all(&ran).expect("a directory");
    fs::create_dir_all(&hooks).expect("a directory");
    let program = |name: &str| format!("touch {}/{name}", ran.display());
    for hook in ["post-index-change", "post-checkout", "reference-transaction", "pre-auto-gc", "query-watchman"] {
        for folder in [&hooks, &stub.root().join(".git/hooks")] {
            fs::write(folder.join(hook), format!("#!/bin/sh\n{}\n", program(hook))).expect("a hook");
            fs::set_permissions(folder.join(hook), fs::Permissions::from_mode(0o755)).expect("permissions");
        }
    }
    let programs = [
        ("core", "fsmonitor pager editor askPass sshCommand gitProxy alternateRefsCommand"),
        ("filter \"evil\"", "clean smudge process"),
        ("diff", "external"),
        ("diff \"evil\"", "textconv command"),
        ("merge \"evil\"", "driver"),
        ("gpg", "program"),
        ("uploadpack", "packObjectsHook"),
        ("pager", "rev-parse ls-files config"),
        ("remote \"origin\"", "uploadpack"),
    ];
    let mut config = fs::read_to_string(stub.root().join(".git/config")).expect("a configuration");
    for (section, keys) in programs {
        let line = |key: &str| format!("\t{key} = \"{} #\"\n", program(&format!("{}-{key}", section.replace('"', ""))));
        config.extend([format!("[{section}]\n")]);
        config.extend(keys.split(' ').map(line));
    }
    let shell = |section: &str, key: &str| format!("[{section}]\n\t{key} = \"!{}\"\n", program(key));
    config += &shell("alias", "rev-parse");
    config += &shell("alias", "ls-files");
    config += &shell("credential", "helper");
    // Objects that are missing are to be fetched.
    config += "[core]\n\trepositoryformatversion = 1\n[extensions]\n\tpartialClone = origin\n[remote \"origin\"]\n\
               \tpromisor = true\n\tpartialclonefilter = blob:none\n\turl = ssh://127.0.0.1:1/nowhere\n";
    config.extend([format!("[core]\n\thooksPath = {}\n", hooks.display())]);
    fs::write(stub.root().join(".git/config"), config).expect("a configuration");
    ran
}

/// The programs that git has started.
fn started(ran: &Path) -> Vec<String> {
    let entries = fs::read_dir(ran).expect("a directory").flatten();
    let mut names: Vec<String> = entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

#[test]
fn no_program_that_a_repository_names_is_started_to_read_a_reference() {
    let stub = repository(2, BY_SKILL);
    let blob = git(&stub, &["rev-parse", "HEAD:skills/tidy/SKILL.md"]);
    fs::write(stub.root().join(".gitattributes"), "*.md filter=lfs\n*.csv filter=evil diff=evil merge=evil\n")
        .expect("attributes");
    git(&stub, &["add", "--all"]);
    git(&stub, &["commit", "--quiet", "--message", "attributes"]);
    fs::create_dir(stub.root().join("skills/tidy/data")).expect("a directory");
    fs::write(stub.root().join("skills/tidy/data/table.csv"), "a,b\n").expect("a file");
    git(&stub, &["add", "--all"]);
    git(&stub, &["commit", "--quiet", "--message", "a filtered file in a skill"]);
    let ran = hostile(&stub);
    let before = fs::metadata(stub.root().join(".git/index")).and_then(|index| index.modified()).expect("an index");
    for args in [
        ["compare", "HEAD~1", "--dry-run"].as_slice(),
        &["compare", "HEAD~1", "HEAD~2", "--dry-run"],
        &["run", "--github"],
    ] {
        let compared = stub.run(args);
        assert_eq!((compared.code, started(&ran)), (0, vec![]), "{args:?}: {}{}", compared.stdout, compared.stderr);
    }
    let refused = |reference: &str, words: &str| {
        stub.run(&["compare", reference, "--dry-run"]).exits(2).warns(words);
        assert_eq!(started(&ran), Vec::<String>::new(), "{reference}");
    };
    refused("HEAD", "the filter `evil` writes `skills/tidy/data/table.csv`, and no program that a repository names");
    refused(&"5".repeat(40), "is neither a run nor a git reference");
    // What a partial clone lacks is named, and not fetched.
    let object = stub.root().join(".git/objects").join(&blob[..2]).join(&blob[2..]);
    fs::rename(&object, stub.scratch().join("blob")).expect("the blob is a file");
    refused("HEAD~2", "this clone may lack files of the commit: `git archive ");
    let after = fs::metadata(stub.root().join(".git/index")).and_then(|index| index.modified()).expect("an index");
    assert_eq!(before, after);
    // The programs would start.
    let mut git = Command::new("git");
    git.args(["-C"]).arg(stub.root()).args(["status", "--porcelain"]).env("HOME", stub.scratch());
    let _ = git.output().expect("git");
    assert!(started(&ran).contains(&"core-fsmonitor".to_owned()), "{:?}", started(&ran));
}

#[test]
fn a_share_that_the_trials_alone_would_not_give_has_its_reason_beside_it() {
    let stub = repository(1, BY_SKILL);
    let row = |case: &str, trial: usize, verdict: &str| {
        json!({"skill": "tidy", "case": case, "mode": "m", "trial": trial, "verdict": verdict, "duration_ms": 1})
            .to_string()
    };
    let write = |name: &str, last: &str| {
        let often = (1..=10).map(|trial| row("often", trial, "pass"));
        let rows: Vec<String> = often.chain([row("once", 1, last)]).collect();
        fs::write(stub.root().join(name), with_digests((rows.join("\n") + "\n").as_bytes())).expect("a baseline");
    };
    write("a.jsonl", "pass");
    write("b.jsonl", "fail");
    let ran = stub.run(&["compare", "a.jsonl", "b.jsonl"]);
    ran.prints("\n  mean of 2 cases: −50 points (95 %: ");
    let with_reason: Vec<&str> = ran.stdout.lines().filter(|line| line.contains(": mean of the cases ")).collect();
    assert!(
        matches!(with_reason[..], [line] if line.contains("50 % (") && line.ends_with("; 10 of 11 trials passed")),
        "{}",
        ran.stdout
    );
}

#[test]
fn trials_that_went_on_until_they_were_decided_are_compared_with_a_note() {
    let stub = Stub::new(2, "");
    for (id, trials) in [("a", "3"), ("b", "3"), ("c", "until decided")] {
        stub.run(&["run", "--run-id", id, "--trials", trials, "--threshold", "0.5"]).exits(0);
    }
    let note = "  trials continued until something was decided; the test and the interval ignore that, so take \
         them as a guide: tidy/c0, tidy/c1\n";
    let compared = stub.run(&["compare", "a", "c"]).stdout;
    assert!(compared.contains(note), "{compared}");
    // Their shares are too high or too low on average, so there are none.
    assert!(compared.contains("trials passed\n") && !compared.contains("mean of the cases"), "{compared}");
    assert!(!stub.run(&["compare", "a", "b"]).stdout.contains("continued until"));
    let found: Value = serde_json::from_str(&stub.run(&["compare", "a", "c", "--json"]).stdout).expect("JSON");
    assert_eq!(found["until_decided"], json!(["tidy/c0", "tidy/c1"]));
    // So did those of a comparison.
    stub.run(&["compare", "--aa", "--max-trials", "12", "--run-id", "d"]);
    stub.run("compare a d").prints("continued until something was decided");
}

#[test]
fn a_dry_run_knows_what_an_arm_costs_by_the_mode_that_it_starts_from() {
    let stub = Stub::new(2, "");
    stub.run("run --run-id r").exits(0);
    let dry = stub.run(&["compare", "--aa", "--dry-run"]).stdout;
    assert!(dry.contains("tokens: about 60 or less, by what the same cases took before\n"), "{dry}");
    assert!(dry.contains("if it takes that many: about 6000 tokens\n"), "{dry}");
    let stub = Stub::new(2, "");
    stub.run("run --run-id r --case c0").exits(0);
    let dry = stub.run(&["compare", "--aa", "--dry-run"]).stdout;
    let words = "if it takes that many: about 6000 tokens, if the others take as much as those that are known\n";
    assert!(dry.contains(words), "{dry}");
}

#[test]
fn lines_of_pairs_that_cannot_be_read_are_told() {
    let stub = Stub::new(2, "");
    stub.run(&["compare", "--aa", "--max-trials", "12", "--run-id", "r"]);
    let path = stub.run_folder("r").join("pairs.jsonl");
    let text = fs::read_to_string(&path).expect("pairs");
    let told = |text: &str| {
        fs::write(&path, text).expect("pairs");
        (stub.run(&["status", "r"]).stdout, stub.run(&["compare", "r"]).stderr)
    };
    let (status, compared) = told(&text.replacen("{\"baseline\"", "{\"x\"", 1));
    assert!(status.contains("note     1 line of pairs.jsonl cannot be read; they are not counted"), "{status}");
    assert!(compared.contains("warning: 1 line of the pairs of r cannot be read; they are not counted"), "{compared}");
    // What was cut short at the end never began.
    let (status, compared) = told(&format!("{text}{{\"a\":"));
    assert!(!status.contains("note ") && !compared.contains("warning"), "{status}{compared}");
}

#[test]
fn a_full_disk_stops_a_comparison_which_goes_on_once_there_is_room() {
    let stub =
        repository(12, &format!("[ -e \"$folder/room\" ] || head -c 60000 /dev/zero | tr '\\0' x >&2\n{BY_SKILL}"));
    let compare = r#""$0" compare --run-id r --jobs 2"#;
    let script = format!(
        r#"fill; {compare} main --max-trials 24 > out 2> err; echo $? > code; cp starts starts-1
        "$0" status r > status; {compare} --resume > out-2 2>&1; echo $? > code-2; cp starts starts-2
        rm artifacts/full; touch room; {compare} --resume > out-3 2>&1; echo $? > code-3"#
    );
    if !on_a_small_disk(&stub.command(&[]), &script) {
        return;
    }
    let text = |name: &str| fs::read_to_string(stub.root().join(name)).expect("a file");
    let lines = |name: &str| text(name).lines().count();
    assert!(text("code") == "3\n" && (2..=7).contains(&lines("starts-1")), "{}{}", text("out"), text("err"));
    assert!(text("err").contains("the run stopped: ") && text("err").contains("No space left"), "{}", text("err"));
    let again = "resume: skill-evals compare --resume --run-id r";
    assert!(text("err").contains(again), "{}", text("err"));
    assert!(text("status").starts_with("r: cut short\n  why      tidy/"), "{}", text("status"));
    assert!(text("code-2") == "3\n" && lines("starts-2") - lines("starts-1") <= 2, "{}", text("out-2"));
    let kept = text("out-3").matches("(kept)").count();
    assert!(text("code-3") == "0\n" && kept >= 1, "{}", text("out-3"));
    assert_eq!(lines("starts") - lines("starts-2"), 24 - kept, "{}", text("out-3"));
    assert!(text("out-3").contains("no harm seen: 12/12 → 12/12 passed"), "{}", text("out-3"));
}
