//! `gate` gives one answer about a change: lint, recordings, and the cases that the change touches against the base.

use std::fs;

use crate::compare::{BY_SKILL, break_skill, git, repository};
use crate::support::fixture::Ran;
use crate::support::live::wait_until;
use crate::support::stub::{ACTIVATES, Stub, ran, signal};
use nix::sys::signal::Signal;

pub const ALLOWED: &str = "[lint]\nallow = [{ rule = \"no-positive\", reason = \"the agent activates nothing\" }]\n";

/// An agent that says its version: trials of an unknown one are not kept. Its session file has what it prints, as codex's has.
pub const VERSION: &str = r#"session=$CODEX_HOME/sessions/rollout-1.jsonl
printf '%s\n' '{"type":"session_meta","payload":{"cli_version":"0.169.0"}}' >> "$session"
exec 3>&1 > "$CODEX_HOME/printed"
trap 'cat "$CODEX_HOME/printed" >&3; sed -nE -f "$CODEX_HOME/keeps" "$CODEX_HOME/printed" >> "$session"' EXIT
cat > "$CODEX_HOME/keeps" <<'KEEPS'
s|^.*"agent_message","text":(".*")\}\}$|{"type":"response_item","payload":{"type":"message","role":"assistant","content":[{"text":\1}]}}|p
s|^.*"command":(".*"),"aggregated_output":"(.*)","exit_code":([0-9]*),.*$|{"type":"response_item","payload":{"type":"function_call","call_id":"c","name":"exec_command","arguments":{"cmd":\1}}}\n{"type":"response_item","payload":{"type":"function_call_output","call_id":"c","output":"Process exited with code \3\\nOutput:\\n\2"}}|p
KEEPS
"#;

/// A recorded and committed repository, in which the skill then got a harmless line.
pub fn recorded(cases: usize) -> Stub {
    let stub = repository(cases, &format!("{VERSION}{BY_SKILL}"));
    git(&stub, &["checkout", "--quiet", "."]);
    stub.settings(ALLOWED);
    stub.run("run --record").exits(0);
    git(&stub, &["add", "--all"]);
    git(&stub, &["commit", "--quiet", "--message", "recorded"]);
    stub
}

pub fn edit(stub: &Stub, line: &str) {
    let path = stub.root().join("skills/tidy/SKILL.md");
    let text = fs::read_to_string(&path).expect("a skill");
    fs::write(path, format!("{text}\n{line}\n")).expect("a skill");
}

/// Replaces the cases of `tidy`.
fn cases(stub: &Stub, table: &str) {
    stub.write("evals/skills/tidy/prompts.csv", table);
}

pub fn page(stub: &Stub) -> String {
    fs::read_to_string(stub.root().join("artifacts/skill-evals/gate/gate.md")).expect("a page")
}

#[test]
fn a_change_without_skills_starts_no_agent_and_passes() {
    let stub = recorded(3);
    fs::write(stub.root().join("README.md"), "No skill.\n").expect("a file");
    git(&stub, &["checkout", "--quiet", "-b", "feature"]);
    git(&stub, &["add", "--all"]);
    git(&stub, &["commit", "--quiet", "--message", "a text"]);
    let starts = stub.starts().len();
    let ran = stub.run("gate");
    ran.exits(0).prints("no skill of 1 differs from main (").prints("recordings: 3 passed, 0 failed\ngate: passed\n");
    assert_eq!(stub.starts().len(), starts);
    let page = page(&stub);
    assert!(page.starts_with("<!-- skill-evals -->\n## skill-evals: passed\n"), "{page}");
    assert!(stub.root().join("artifacts/skill-evals/gate/junit.xml").is_file());
}

#[test]
fn a_recording_that_cannot_be_graded_is_named_with_the_reason() {
    let stub = recorded(2);
    let meta = stub.root().join("evals/recordings/tidy/c1/codex/1/meta.json");
    fs::write(&meta, "{").expect("a file");
    let ran = stub.run(&["gate", "--free"]);
    assert_eq!(ran.code, 1, "lint has an error: {}{}", ran.stdout, ran.stderr);
    let said = "a recording is damaged or of a trial that ended in an error: tidy/c1/codex";
    ran.prints(said).prints("meta.json");
}

#[test]
fn a_harmless_edit_takes_a_trial_of_each_case_of_its_skill_and_passes() {
    let stub = recorded(3);
    edit(&stub, "Be brief.");
    let starts = stub.starts().len();
    let dry = stub.run(&["gate", "--dry-run"]);
    assert_eq!((dry.code, stub.starts().len()), (0, starts), "{}{}", dry.stdout, dry.stderr);
    dry.prints("to compare: tidy/c0, tidy/c1, tidy/c2\n").prints("; it finds one case from always to never in ");
    let ran = stub.run(&["gate"]);
    assert_eq!((ran.code, stub.starts().len()), (0, starts + 3), "{}{}", ran.stdout, ran.stderr);
    ran.prints("1 skill differs from main (").prints("recordings: 0 passed, 0 failed, 3 stale\nno harm seen: ");
    assert!(page(&stub).contains("- no harm seen: "), "{}", page(&stub));
}

#[test]
fn a_tag_limits_what_is_replayed_and_what_is_compared() {
    let stub = recorded(3);
    cases(
        &stub,
        "id,should_trigger,prompt,tags\nc0,false,Prompt 0,quick\nc1,false,Prompt 1,\nc2,false,Prompt 2,slow\n",
    );
    stub.run("gate --tag !slow").prints("recordings: 2 passed, 0 failed\n");
    edit(&stub, "Be brief.");
    stub.run("gate --dry-run --tag quick").prints("to compare: tidy/c0\n");
}

#[test]
fn a_change_of_which_no_case_was_measured_is_nothing_compared_unless_the_settings_allow_it() {
    let stub = recorded(1);
    cases(&stub, "id,should_trigger,prompt,tags\nc0,false,Prompt 0,slow\n");
    stub.write("skills/other/SKILL.md", "---\nname: other\ndescription: Sorts letters by postmark.\n---\n\nSort.\n");
    stub.write("evals/skills/other/prompts.csv", "id,should_trigger,prompt,tags\nq,false,Prompt,rare\n");
    git(&stub, &["add", "--all"]);
    git(&stub, &["commit", "--quiet", "--message", "tags"]);
    edit(&stub, "Be brief.");
    let ran = stub.run(&["gate", "--free", "--tag", "rare"]);
    ran.exits(5);
    let why = "no case was chosen of tidy, which changed: leave out --tag\n";
    assert!(ran.stdout.ends_with(&format!("{why}gate: nothing compared\n")), "{}", ran.stdout);
    assert!(page(&stub).starts_with("<!-- skill-evals -->\n## skill-evals: nothing compared: "), "{}", page(&stub));
    let cases = stub.run(&["gate", "--free"]);
    assert!(cases.code == 0 && cases.stdout.ends_with("gate: needs an agent\n"), "{}", cases.stdout);
    stub.settings(&format!("{ALLOWED}[gate]\nnothing_compared = \"pass\"\n"));
    let ran = stub.run(&["gate", "--free", "--tag", "rare"]);
    assert!(ran.code == 0 && ran.stdout.ends_with("gate: passed\n"), "{}{}", ran.stdout, ran.stderr);
    stub.settings(&format!("{ALLOWED}[gate]\nnothing_compared = \"ignore\"\n"));
    stub.run("gate --free").exits(2).warns("`ignore`; known: fail, pass");
}

#[test]
fn a_repository_in_which_no_case_can_run_does_not_pass() {
    let stub = recorded(1);
    cases(&stub, "id,should_trigger,prompt\nc0,maybe,Prompt 0\n");
    git(&stub, &["commit", "--quiet", "--all", "--message", "a broken case"]);
    let ran = stub.run(&["gate", "--free", "HEAD"]);
    ran.exits(5).prints("nothing compared: HEAD (");
    let end = "no case can run: `skill-evals lint` says why\ngate: nothing compared\n";
    assert!(ran.stdout.ends_with(end), "{}", ran.stdout);
}

#[test]
fn settings_of_the_base_that_are_invalid_are_named_and_a_file_without_effect_is_too() {
    let stub = recorded(1);
    let path = stub.root().join("evals/evals.toml");
    let settings = fs::read_to_string(&path).expect("settings");
    fs::write(&path, format!("unknown_key = 1\n{settings}")).expect("settings");
    git(&stub, &["commit", "--quiet", "--all", "--message", "a wrong key"]);
    fs::write(&path, &settings).expect("settings");
    stub.write("plugin.json", "{\"name\": \"all\"}\n");
    let ran = stub.run(&["gate", "--free"]);
    ran.exits(0);
    let words = "is invalid, so its skills and cases are where today's settings say: evals/evals.toml:1:";
    ran.prints(words).prints("files changed: plugin.json; no case differs\n");
}

#[test]
fn a_gate_that_promises_for_a_year_asks_for_more_before_it_fails_and_says_what_it_promises() {
    let stub = recorded(3);
    break_skill(&stub);
    let starts = || stub.starts().len();
    let before = starts();
    stub.run("gate --max-age-days 0").exits(1);
    let of_one = starts() - before;
    stub.settings(&format!("{ALLOWED}[gate]\npromise = \"year\"\ngates_a_year = 1000\n"));
    stub.run("gate --dry-run").prints("in 1000 gates like this one");
    stub.run("gate --max-trials 12").exits(2).warns("promise less by `promise`");
    let before = starts();
    let ran = stub.run(&["gate", "--max-age-days", "0"]);
    assert!(
        ran.code == 1 && starts() - before > of_one,
        "{of_one}, {}: {}{}",
        starts() - before,
        ran.stdout,
        ran.stderr
    );
    let promise = "the chance of any false alarm in 1000 gates like this one is 5 % at most";
    assert!(ran.stdout.contains(promise) && page(&stub).contains(promise), "{}", ran.stdout);
    for (table, why) in [
        ("promise = \"month\"", "unknown promise `month`; known: gate, year"),
        ("gates_a_year = 9", "`gates_a_year` is only read with `promise = \"year\"`"),
        ("promise = \"year\"\ngates_a_year = 0", "`gates_a_year` is 0; expected 1 to 100000"),
    ] {
        stub.settings(&format!("{ALLOWED}[gate]\n{table}\n"));
        stub.run("gate").exits(2).warns(why);
    }
}

#[test]
fn a_broken_skill_fails_and_the_comment_names_its_cases() {
    let stub = recorded(3);
    break_skill(&stub);
    let ran = stub.run(&["gate"]);
    ran.exits(1);
    assert!(ran.stdout.ends_with("gate: failed\n") && ran.stdout.contains("\nbroke"), "{}", ran.stdout);
    let page = page(&stub);
    let (lead, folded) = page.split_once("<details>").expect("a fold");
    assert!(lead.contains("## skill-evals: failed: tidy/c") && lead.contains(" → 0/"), "{page}");
    assert!(lead.contains("\n- check must-include\n- expected: ") && lead.contains("\n- found: "), "{page}");
    assert!(lead.lines().all(|line| line.chars().count() <= 120), "{page}");
    assert!(folded.contains("| case | base | this | evidence |"), "{page}");
    assert!(page.contains("| tidy/c0 |") && page.len() < 60_000, "{page}");
    assert!(!page.contains("may be noise"), "{page}");
    // The failed check with what it expected and found, what it took, and the next commands.
    assert!(page.contains(" → 0/") && page.contains("must-include: expected "), "{page}");
    let head = git(&stub, &["rev-parse", "HEAD"]);
    for words in [
        &format!("commit {} and uncommitted changes, codex", &head[..12]),
        ", cost: unknown, ",
        "to run it again: `skill-evals gate main`",
    ] {
        assert!(page.contains(words), "{words}: {page}");
    }
    let report = stub.root().join("artifacts/skill-evals/gate/report.html");
    let report = fs::read_to_string(report).expect("a report");
    assert!(report.contains("tidy/c0") && report.contains(", check must-include: expected: "), "{report}");
    // The same in GitHub Actions, as annotations of what the commits changed.
    git(&stub, &["checkout", "--quiet", "-b", "feature"]);
    git(&stub, &["commit", "--quiet", "--all", "--message", "broken"]);
    let mut command = stub.command(&["gate"]);
    command.env("GITHUB_ACTIONS", "true");
    let output = command.output().expect("a gate");
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(text.contains("::error file=skills/tidy/SKILL.md,line=") && text.contains("broke: "), "{text}");
    let head = git(&stub, &["rev-parse", "HEAD"]);
    assert!(text.contains(&format!("commit {}, codex", &head[..12])), "{text}");
}

#[test]
fn without_an_agent_a_gate_fails_for_nothing_that_only_an_agent_can_measure() {
    let stub = recorded(3);
    stub.settings(&format!("require_recordings = true\n{ALLOWED}"));
    git(&stub, &["commit", "--quiet", "--all", "--message", "recordings are required"]);
    edit(&stub, "Be brief.");
    cases(
        &stub,
        "id,should_trigger,prompt\nc0,false,Prompt 0\nc1,false,Prompt 1\nc2,false,Another\nc3,false,Prompt 3\n",
    );
    let starts = stub.starts().len();
    let ran = stub.run(&["gate", "--free"]);
    assert_eq!((ran.code, stub.starts().len()), (0, starts), "{}{}", ran.stdout, ran.stderr);
    for line in [
        "an agent has to measure: 4 to compare with the base: `skill-evals gate main` does\n",
        "an agent has to measure: 1 without a recording: `skill-evals run --record` records them\n",
        "an agent has to measure: 3 stale and not compared: `skill-evals run --stale --record` measures them\n",
        "\ngate: needs an agent\n",
    ] {
        ran.prints(line);
    }
    assert!(page(&stub).starts_with("<!-- skill-evals -->\n## skill-evals: needs an agent: "), "{}", page(&stub));
    // What fails without one fails.
    stub.write("evals/skills/tidy/prompts.csv", "id,should_trigger,prompt\nc0,maybe,Prompt 0\n");
    stub.run("gate --free").exits(1);
    // And without a change there is nothing to leave.
    git(&stub, &["checkout", "--quiet", "--", "skills", "evals"]);
    let ran = stub.run(&["gate", "--free", "main"]);
    assert!(ran.code == 0 && ran.stdout.ends_with("gate: passed\n"), "{}{}", ran.stdout, ran.stderr);
}

#[test]
fn an_error_that_the_base_has_too_is_named_and_fails_nothing() {
    let stub = recorded(3);
    let table = "id,should_trigger,prompt\nc0,false,Prompt 0\nc1,false,Prompt 1\nc2,false,Prompt 2\n";
    stub.write("evals/skills/other/prompts.csv", "id,should_trigger,prompt\nbad,maybe,Prompt\n");
    stub.write(
        "skills/other/SKILL.md",
        "---\nname: other\ndescription: Sorts letters by their postmark.\n---\n\nSort.\n",
    );
    git(&stub, &["add", "--all"]);
    git(&stub, &["commit", "--quiet", "--message", "an error of another skill"]);
    edit(&stub, "Be brief.");
    let ran = stub.run(&["gate"]);
    ran.exits(0);
    let old = "lint: 1 error the base has too, which this gate does not fail on; the first: evals/skills/other/prompts.csv:2:5: \
               [bad-boolean]";
    ran.prints(old).prints("no harm seen: ");
    // A second one is the change's, wherever it stands.
    stub.write("evals/skills/other/prompts.csv", "id,should_trigger,prompt\nnew,maybe,Prompt\nbad,maybe,Prompt\n");
    cases(&stub, table);
    stub.run("gate").exits(1).prints("\nlint: evals/skills/other/prompts.csv:3:5: ");
}

#[test]
fn a_gate_and_a_comparison_have_a_limit_that_nobody_set() {
    let stub = recorded(3);
    edit(&stub, "Be brief.");
    stub.body(&format!("{VERSION}{}", BY_SKILL.replace("\"input_tokens\":10", "\"input_tokens\":3000000")));
    stub.run("gate --jobs 1").exits(3).prints("5000000 tokens, the default; ");
    let before = stub.starts().len();
    stub.run("compare HEAD --run-id r --jobs 1 --max-trials 12").exits(3).warns("5000000 tokens");
    stub.run("compare --resume --run-id r");
    assert_eq!(stub.starts().len() - before, 12);
}

#[test]
fn what_fails_for_free_is_not_paid_for() {
    let stub = recorded(3);
    edit(&stub, "Be brief.");
    cases(&stub, "id,should_trigger,prompt\nc0,maybe,Prompt 0\n");
    let starts = stub.starts().len();
    let ran = stub.run(&["gate"]);
    assert_eq!((ran.code, stub.starts().len()), (1, starts), "{}{}", ran.stdout, ran.stderr);
    ran.prints("lint: evals/skills/tidy/prompts.csv:2:4: [bad-boolean]");
    ran.prints("not compared with the base\ngate: failed\n");
}

#[test]
fn a_changed_description_compares_the_positive_cases_of_the_nearest_skills_too() {
    let stub = recorded(1);
    for (name, words) in [("near", "Tidies the desk"), ("far", "Sings")] {
        let skill = format!("---\nname: {name}\ndescription: {words}.\n---\n\nDo it.\n");
        // No description takes a prompt away that calls its skill.
        let cases = format!(
            "id,should_trigger,prompt\nyes,true,Do it\ncalled,true,${name} Do it\nno,false,Do something else\n"
        );
        for (path, text) in [
            (format!("skills/{name}/SKILL.md"), skill.as_str()),
            (format!("evals/skills/{name}/prompts.csv"), cases.as_str()),
        ] {
            stub.write(&path, text);
        }
    }
    git(&stub, &["add", "--all"]);
    git(&stub, &["commit", "--quiet", "--message", "neighbors"]);
    let path = stub.root().join("skills/tidy/SKILL.md");
    let text = fs::read_to_string(&path).expect("a skill");
    let description = text.lines().find(|line| line.starts_with("description:")).expect("a description").to_owned();
    fs::write(&path, text.replace(&description, "description: Tidies the desk and the room.")).expect("a skill");
    let compares = |neighbors: &str, words: &[&str]| {
        let dry = stub.run(&["gate", "--dry-run", "--neighbors", neighbors]);
        for words in words {
            dry.prints(words);
        }
    };
    compares("1", &["tidy (description changed)\n", "\nto compare: near/yes, tidy/c0\n"]);
    compares(
        "0",
        &["recordings of other skills were made with the old ones and still count\n", "\nto compare: tidy/c0\n"],
    );
    // A description that takes every prompt need not share a word with one.
    fs::write(&path, text.replace(&description, "description: Must always be used.")).expect("a skill");
    compares("99", &["the nearest skills are compared too\n", "\nto compare: far/yes, near/yes, tidy/c0\n"]);
    // A new name is a new description.
    git(&stub, &["checkout", "--quiet", "."]);
    git(&stub, &["mv", "skills/near", "skills/greedy"]);
    let renamed = "---\nname: greedy\ndescription: Must always be used.\n---\n\nDo it.\n";
    fs::write(stub.root().join("skills/greedy/SKILL.md"), renamed).expect("a skill");
    compares(
        "1",
        &[
            "greedy (added), near (removed)",
            "replay checks them from then on; a renamed skill is a removed and a new one\n",
            "the nearest skills are compared too\n",
            "\nto compare: far/yes",
        ],
    );
}

#[test]
fn a_base_that_git_does_not_know_is_an_error_that_names_it() {
    let stub = recorded(1);
    stub.run("gate mian").exits(2).warns("unknown git commit \"mian\"");
    stub.run("gate --background").exits(2).warns("--background");
}

#[test]
fn a_case_that_the_changed_skill_makes_unmeasurable_is_not_measured_and_never_passed() {
    let stub = recorded(3);
    edit(&stub, "Be brief.");
    let crash = r#"if grep -q "Be brief" .agents/skills/tidy/SKILL.md; then case "$prompt" in *0*) exit 3;; esac; fi"#;
    stub.body(&format!("{crash}\n{BY_SKILL}"));
    let ran = stub.run(&["gate"]);
    ran.exits(3);
    let lost = "not measured on one side or both: tidy/c0; ";
    let again = "run the gate again: it uses the trials that were measured\ngate: not measured\n";
    ran.prints(format!("{lost}{again}"));
    // The same in shards: that of the case says how it is measured again.
    let lost_in = [1, 2, 3].map(|part| shard(&stub, &format!("{part}/3"), &[])).into_iter().find(|ran| ran.code == 3);
    let lost_in = lost_in.expect("a shard that lost its case");
    let (_, rest) = lost_in.stdout.split_once(&format!("{lost}run this shard again: it uses ")).expect("what to do");
    let (_, rest) = rest.split_once("\nshard ").expect("its number");
    let merged = stub.run(&["gate", "main", "--merge", "pr"]);
    let (_, remedy) = merged.stdout.split_once(lost).expect("what was lost");
    assert!(
        merged.code == 3 && remedy.starts_with(&format!("run shard {} again, then merge again\n", &rest[..3])),
        "{remedy}"
    );
    stub.run("compare --resume --run-id pr").exits(2).warns("pr is merged: run the shards that are behind again");
    // With an agent that is mended it is another comparison. The shards that measured all of theirs stay.
    stub.body(BY_SKILL);
    let exists = shard(&stub, &rest[..3], &[]);
    let words = " exists and compared something else: choose another --run-id, or delete ";
    let (_, folder) = exists.stderr.split_once(words).unwrap_or_else(|| panic!("{}", exists.stderr));
    fs::remove_dir_all(folder.trim_end()).expect("the shard's directory");
    assert_eq!(shard(&stub, &rest[..3], &[]).code, 0);
    stub.run("gate main --merge pr").exits(0);
}

/// Runs a shard of the gate `pr` as GitLab's job of this number.
fn as_gitlab_job(stub: &Stub, number: u32, of: u32) -> Ran {
    let mut command = stub.command(&["gate", "main", "--run-id", "pr", "--shard", "auto"]);
    ran(command.env("CI_NODE_INDEX", number.to_string()).env("CI_NODE_TOTAL", of.to_string()))
}

/// Runs a shard of the gate `pr`.
fn shard(stub: &Stub, shard: &str, more: &[&str]) -> Ran {
    stub.run(&[&["gate", "main", "--run-id", "pr", "--shard", shard], more].concat())
}

#[test]
fn a_gate_in_shards_looks_at_each_case_once_and_the_merged_answer_is_one() {
    let stub = recorded(9);
    edit(&stub, "Be brief.");
    let starts = stub.starts().len();
    for part in ["1/3", "2/3", "3/3"] {
        let ran = match part {
            "3/3" => as_gitlab_job(&stub, 3, 3),
            _ => shard(&stub, part, &[]),
        };
        ran.exits(0).prints(format!("shard {part} has run: `skill-evals gate --merge pr`"));
    }
    assert_eq!(stub.starts().len(), starts + 9);
    assert!(!stub.root().join("artifacts/skill-evals/gate/gate.md").exists(), "only the merged answer is one");
    let ran = stub.run(&["gate", "main", "--merge", "pr"]);
    assert_eq!((ran.code, stub.starts().len()), (0, starts + 9), "{}{}", ran.stdout, ran.stderr);
    ran.prints(", 9 trials in ")
        .prints("\nno harm seen: 9 cases with one trial each of the candidate, of which none failed");
    assert!(page(&stub).contains("to see its trials: `skill-evals report pr`"), "{}", page(&stub));
    assert!(stub.root().join("artifacts/skill-evals/gate/report.html").is_file());
    // The merged run is a stored comparison.
    let again = stub.run(&["compare", "pr"]);
    assert!(
        again.code == 0
            && again
                .stdout
                .starts_with("no harm seen: 9 cases with one trial each of the candidate, of which none failed"),
        "{}{}",
        again.stdout,
        again.stderr
    );
}

#[test]
fn harm_in_one_shard_fails_the_merged_gate_and_a_missing_shard_never_passes() {
    let stub = recorded(9);
    edit(&stub, "Be brief.");
    shard(&stub, "1/2", &[]);
    stub.run("gate main --merge pr").exits(3).prints("\nshard 2/2 is not here: run it, then merge again\n");
    stub.run("compare pr").exits(3).warns("pr lacks shards; run shard 2/2, then merge again");
    let said = "no shard of other is here: run the shards, or correct the name\n";
    stub.run("gate main --merge other").exits(3).prints(said);
    break_skill(&stub);
    stub.run("gate main --merge pr").exits(2).warns("measured something else than what is here");
    fs::remove_dir_all(stub.root().join("artifacts")).expect("artifacts");
    for part in ["1/2", "2/2"] {
        let ran = shard(&stub, part, &[]);
        ran.exits(0);
    }
    let ran = stub.run(&["gate", "main", "--merge", "pr"]);
    ran.exits(1);
    assert!(ran.stdout.contains("\nbroke") && page(&stub).contains("must-include: expected "), "{}", ran.stdout);
}

#[test]
fn cases_that_did_not_run_because_the_result_was_reached_are_no_errors() {
    let stub = recorded(30);
    break_skill(&stub);
    let mut command = stub.command(&["gate", "--jobs", "1"]);
    let ran = crate::support::stub::ran(command.env("GITHUB_ACTIONS", "true"));
    ran.exits(1).prints("\nnot run on both sides, since the result was reached: tidy/c");
    assert!(!ran.stdout.contains("not measured"), "{}", ran.stdout);
}

#[test]
fn a_gate_that_does_not_finish_leaves_no_page_of_an_earlier_one() {
    let stub = recorded(1);
    stub.run("gate main").exits(0);
    assert!(page(&stub).contains("passed"));
    stub.run("gate mian").exits(2);
    assert!(page(&stub).contains("## skill-evals: not measured\n\nThe gate did not finish."), "{}", page(&stub));
}

#[test]
fn a_gate_that_is_interrupted_before_its_first_trial_ends_says_so_and_exits_with_130() {
    let stub = repository(1, "sleep 600");
    stub.settings(ALLOWED);
    let gate = stub.start(&["gate", "main"]);
    wait_until("a trial", || !stub.starts().is_empty());
    signal(&gate, Signal::SIGINT);
    let output = gate.wait_with_output().expect("an end");
    assert_eq!(output.status.code(), Some(130), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(page(&stub).contains("it ended early: the run was interrupted; run the gate again"), "{}", page(&stub));
}

#[test]
fn a_stale_recording_that_no_comparison_measures_is_not_measured_where_recordings_are_required() {
    let stub = recorded(1);
    cases(&stub, "id,should_trigger,prompt,must_include\nc0,false,Another prompt,Fine\n");
    stub.run("gate").exits(0).prints("recordings: 0 passed, 0 failed, 1 stale");
    stub.settings(&format!("require_recordings = true\n{ALLOWED}"));
    stub.run("gate").exits(3).prints("1 stale and not compared: `skill-evals run --stale --record` measures them");
}

#[test]
fn trials_that_do_not_tell_are_undecided() {
    let stub = recorded(3);
    edit(&stub, "Be brief.");
    let ran = stub.run(&["gate", "--plan", "until-decided", "--max-trials", "20"]);
    assert!(ran.code == 4 && ran.stdout.ends_with("gate: undecided\n"), "{}{}", ran.stdout, ran.stderr);
}

#[test]
fn an_agent_of_another_version_than_that_of_the_recordings_is_named() {
    let stub = recorded(1);
    edit(&stub, "Be brief.");
    let gate = ["gate", "--plan", "standard", "--max-trials", "12"];
    assert!(!stub.run(&gate).stdout.contains("agent version changed"));
    stub.body(&format!("{VERSION}{BY_SKILL}").replace("0.169.0", "0.171.0"));
    let starts = stub.starts().len();
    let line =
        "agent version changed: recordings are of codex 0.169.0, trials of codex 0.171.0; recordings stay as they are";
    stub.run(&gate).prints(line);
    assert_eq!(stub.starts().len(), starts + 12, "no kept trial of another version is used");
}

#[test]
fn the_settings_say_what_a_gate_does_and_the_command_line_overrides_them() {
    let stub = recorded(3);
    edit(&stub, "Be brief.");
    let gate = |table: &str| {
        let table = format!("{ALLOWED}[gate]\n{table}");
        stub.settings(&table);
    };
    gate("base = \"mian\"");
    stub.run("gate").exits(2).warns("unknown git commit \"mian\"");
    gate("base = \"mian\"\nfail_on = [\"no-harm-seen\"]\nmax_age_days = 0");
    let ran = stub.run(&["gate", "main"]);
    assert!(ran.code == 1 && ran.stdout.ends_with("gate: failed\n"), "{}{}", ran.stdout, ran.stderr);
    let starts = stub.starts().len();
    let ran = stub.run(&["gate", "main", "--fail-on", "broke"]);
    assert_eq!((ran.code, stub.starts().len()), (0, starts + 3), "{}{}", ran.stdout, ran.stderr);
    let ran = stub.run(&["gate", "main", "--fail-on", "broke", "--max-age-days", "1"]);
    assert_eq!((ran.code, stub.starts().len()), (0, starts + 3), "{}{}", ran.stdout, ran.stderr);
    gate("require_recordings = true");
    fs::remove_dir_all(stub.root().join("evals/recordings/tidy/c0")).expect("a recording");
    stub.run("gate").exits(3).prints("1 without a recording: ");
    gate("max_cost_usd = 0.5");
    stub.run("gate").exits(2).warns("a limit in dollars cannot be enforced");
    gate("fail_on = [\"brok\"]\nplan = \"slow\"\nmax_trials = 1\nmax_cost_usd = 0.0\nneighbors = -1");
    let ran = stub.run(&["gate"]);
    for words in [
        "unknown result `brok`; known: broke, worse,",
        "unknown plan `slow`; known: quick,",
        "`max_trials` is 1; expected 2 to 1000000",
        "`max_cost_usd` is 0; expected above 0",
        "`neighbors` is -1; expected 0 to 1000",
    ] {
        ran.exits(2).warns(words);
    }
}

#[test]
fn after_a_limit_the_gate_says_how_to_go_on_and_its_help_has_only_what_it_takes() {
    let stub = recorded(3);
    edit(&stub, "Be brief.");
    let ran = stub.run("gate --max-tokens 30 --jobs 1");
    ran.exits(3).prints("; run the gate again: it uses the trials that were measured\n");
    let help = stub.run(&["gate", "--help"]).stdout;
    for option in ["--resume", "--force", "--background"] {
        assert!(!help.contains(option), "{option}: {help}");
    }
}

#[test]
fn a_gate_that_can_never_fail_is_refused_before_it_costs_anything() {
    let stub = recorded(3);
    edit(&stub, "Be brief.");
    let starts = stub.starts().len();
    let ran = stub.run(&["gate", "--max-trials", "2"]);
    assert_eq!((ran.code, stub.starts().len()), (2, starts), "{}{}", ran.stdout, ran.stderr);
    ran.warns("this gate can never fail at these numbers: it takes ").warns("or fail on other results with --fail-on");
}

#[test]
fn a_limit_that_fits_no_look_at_every_case_is_refused_and_one_that_just_fits_is_not() {
    let stub = recorded(10);
    edit(&stub, "Be brief.");
    let starts = stub.starts().len();
    let ran = stub.run("gate --max-trials 9");
    ran.exits(2).warns("this gate can never pass at these numbers: it takes 10 trials, and there are 9 (");
    assert_eq!(stub.starts().len(), starts);
    stub.run("gate --max-trials 10").exits(0);
    let one = recorded(1);
    edit(&one, "Be brief.");
    one.run("gate --max-trials 8")
        .exits(2)
        .warns("can never fail at these numbers: it takes 9 trials, and there are 8 (");
    break_skill(&one);
    one.run("gate --max-trials 9").exits(1).prints("broke: tidy/c0 4/4 → 0/4");
}

#[test]
fn what_the_gate_does_not_fail_on_is_said_and_what_it_cannot_fail_on_is_refused() {
    let stub = recorded(3);
    break_skill(&stub);
    let starts = stub.starts().len();
    let refused = |args: &[&str], words: &str| {
        stub.run(args).exits(2).warns(words);
    };
    refused(&["gate", "--fail-on", "undecided"], "`undecided` never fails a gate with the plan `quick`");
    let until = ["gate", "--plan", "until-decided", "--fail-on", "broke,no-harm-seen"];
    refused(&until, "`no-harm-seen` never fails a gate with the plan `until-decided`");
    let table = format!("{ALLOWED}[gate]\nfail_on = []");
    stub.settings(&table);
    refused(&["gate"], "`fail_on` is empty, so nothing would fail the gate; write `fail_on = [");
    assert_eq!(stub.starts().len(), starts);
    let table = format!("{ALLOWED}[gate]\nfail_on = [\"worse\"]");
    stub.settings(&table);
    stub.run("gate").prints("\nbroke, which this gate does not fail on\n");
    assert!(page(&stub).contains("\n- broke, which this gate does not fail on\n"), "{}", page(&stub));
}

#[test]
fn what_else_changed_is_named_with_its_consequence() {
    let stub = recorded(3);
    cases(
        &stub,
        "id,should_trigger,prompt,must_include\nc0,false,Another prompt,Fine\nc1,false,Prompt 1,Fin\nnew,false,Prompt 2,Fine\n",
    );
    stub.settings(&format!("timeout_s = 60\n{ALLOWED}"));
    let ran = stub.run(&["gate"]);
    ran.exits(0);
    for line in [
        "cases added: tidy/new; earlier trials of them do not exist\n",
        "cases removed: tidy/c2; they are not measured\n",
        "prompts changed: tidy/c0; earlier trials are not comparable: recordings are stale\n",
        "checks changed: tidy/c1; recordings are graded by them, kept trials are not used\n",
        "settings changed: timeout_s; one that reaches an agent makes recordings stale\n",
    ] {
        ran.prints(line);
    }
    assert!(page(&stub).contains("\nchecks changed: tidy/c1; "), "{}", page(&stub));
}

#[test]
fn a_schema_outside_of_the_cases_is_a_change_only_if_its_text_differs() {
    let stub = recorded(1);
    stub.write("shapes/answer.json", "{\"type\": \"object\"}");
    cases(&stub, "id,should_trigger,prompt,output_schema\nc0,false,Prompt 0,shapes/answer.json\n");
    git(&stub, &["add", "--all"]);
    git(&stub, &["commit", "--quiet", "--message", "a schema"]);
    edit(&stub, "Be brief.");
    let dry = stub.run(&["gate", "--dry-run"]);
    assert!(dry.code == 0 && !dry.stdout.contains("prompts changed"), "{}{}", dry.stdout, dry.stderr);
    stub.write("shapes/answer.json", "{\"type\": \"array\"}");
    stub.run("gate --dry-run").prints("prompts changed: tidy/c0; ");
}

#[test]
fn a_case_of_another_program_is_new_only_if_the_base_lacks_it() {
    let stub = recorded(1);
    let query = |text: &str| format!(r#"{{ "id": 1, "prompt": "{text}", "files": ["files/a.txt"] }}"#);
    let evals = |cases: &[String]| format!(r#"{{ "skill_name": "tidy", "evals": [{}] }}"#, cases.join(", "));
    let write = |path: &str, text: &str| {
        let path = stub.root().join(path);
        fs::create_dir_all(path.parent().expect("a directory")).expect("a directory");
        fs::write(path, text).expect("a file");
    };
    write("evals/evals.json", &evals(&[query("Do it")]));
    write("evals/files/a.txt", "a");
    write("tests/tidy/eval.yaml", "stimuli:\n  - name: one\n    prompt: Do it\n");
    git(&stub, &["add", "--all"]);
    git(&stub, &["commit", "--quiet", "--message", "foreign cases"]);
    edit(&stub, "Be brief.");
    let dry = stub.run(&["gate", "--dry-run"]);
    let is_quiet = !dry.stdout.contains("cases added") && !dry.stdout.contains("prompts changed");
    assert!(dry.code == 0 && is_quiet, "{}{}", dry.stdout, dry.stderr);
    let more = r#"{ "id": 2, "prompt": "Do more" }"#.to_owned();
    write("evals/evals.json", &evals(&[query("Do it well"), more]));
    stub.run("gate --dry-run").prints("cases added: tidy/evals-2; ").prints("prompts changed: tidy/evals-1; ");
}

#[test]
fn a_script_is_a_changed_check_only_if_what_it_can_read_differs() {
    let stub = recorded(1);
    stub.write("tools/checks/own.sh", "#!/bin/sh\n. \"$(dirname \"$0\")/helper.sh\"\n");
    stub.write("tools/checks/helper.sh", "exit 0\n");
    cases(&stub, "id,should_trigger,prompt,check\nc0,false,Prompt 0,tools/checks/own.sh\n");
    git(&stub, &["add", "--all"]);
    git(&stub, &["commit", "--quiet", "--message", "a script"]);
    edit(&stub, "Be brief.");
    let dry = stub.run(&["gate", "--dry-run"]);
    assert!(dry.code == 0 && !dry.stdout.contains("checks changed"), "{}{}", dry.stdout, dry.stderr);
    stub.write("tools/checks/helper.sh", "exit 1\n");
    stub.run("gate --dry-run").prints("checks changed: tidy/c0; ");
}

#[test]
fn the_command_of_the_comment_is_safe_for_any_name_of_a_tag() {
    let stub = recorded(1);
    let name = "v1`;touch${IFS}x;#";
    git(&stub, &["tag", name]);
    stub.run(&["gate", name]).exits(0);
    assert!(page(&stub).contains("to run it again: ``skill-evals gate 'v1`;touch${IFS}x;#'``\n"), "{}", page(&stub));
}

#[test]
fn a_file_of_cases_that_cannot_be_read_is_no_added_case() {
    let stub = recorded(1);
    cases(&stub, "id,should_trigger\n\"c0,false\n");
    let ran = stub.run(&["gate", "--dry-run"]);
    assert!(ran.stdout.contains("cases removed: tidy/c0; ") && !ran.stdout.contains("cases added"), "{}", ran.stdout);
}

#[test]
fn the_commit_that_is_checked_out_is_no_base_to_trust() {
    let stub = recorded(1);
    git(&stub, &["checkout", "--quiet", "-b", "feature"]);
    git(&stub, &["branch", "--quiet", "--force", "main", "feature"]);
    let ran = stub.run(&["gate"]);
    ran.exits(3).prints("nothing compared: main (");
    assert!(ran.stdout.ends_with("branch has to fetch it first\ngate: not measured\n"), "{}", ran.stdout);
    stub.run("gate main").exits(0).prints("nothing compared: main (");
}

#[test]
fn a_base_without_skills_has_all_of_them_added() {
    let stub = recorded(1);
    git(&stub, &["checkout", "--quiet", "--orphan", "empty"]);
    git(&stub, &["rm", "-r", "--quiet", "--cached", "."]);
    git(&stub, &["commit", "--quiet", "--allow-empty", "--message", "empty"]);
    git(&stub, &["checkout", "--quiet", "--force", "main"]);
    stub.run("gate empty").exits(0).prints("tidy (added)\n");
}

#[test]
fn the_settings_of_the_base_say_where_its_skills_are() {
    let stub = recorded(1);
    git(&stub, &["mv", "skills", "moved"]);
    stub.settings(&format!("skill_roots = [\"moved\"]\n{ALLOWED}"));
    git(&stub, &["add", "--all"]);
    stub.run("gate").exits(0).prints("no skill of 1 differs from main (").prints("settings changed: skill_roots; ");
}

#[test]
fn a_file_that_git_ignores_is_no_change_and_an_executable_bit_is_one() {
    use std::os::unix::fs::PermissionsExt;
    let stub = recorded(1);
    let script = stub.root().join("skills/tidy/run.sh");
    fs::write(&script, "true\n").expect("a script");
    fs::write(stub.root().join(".gitignore"), "artifacts\nstarts\nagent.*\n__pycache__/\n").expect("a file");
    git(&stub, &["add", "--all"]);
    git(&stub, &["commit", "--quiet", "--message", "a script"]);
    fs::create_dir(stub.root().join("skills/tidy/__pycache__")).expect("a directory");
    fs::write(stub.root().join("skills/tidy/__pycache__/run.pyc"), "x").expect("a file");
    let dry = stub.run(&["gate", "--dry-run"]);
    assert!(dry.stdout.starts_with("nothing compared: "), "{}{}", dry.stdout, dry.stderr);
    fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).expect("permissions");
    stub.run("gate --dry-run").prints("tidy (files changed)\nto compare: tidy/c0\n");
}

#[test]
fn a_skill_in_a_submodule_is_compared_with_the_commit_that_the_base_has() {
    let stub = recorded(1);
    let library = tempfile::tempdir().expect("a directory");
    let inside = |folder: &std::path::Path, args: &[&str]| {
        let mut git = std::process::Command::new("git");
        let identity = ["-c", "user.name=t", "-c", "user.email=t@localhost", "-c", "protocol.file.allow=always"];
        let output = git.args(identity).args(args).current_dir(folder).output().expect("git");
        assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
    };
    let skill = |text: &str| format!("---\nname: other\ndescription: Sings.\n---\n\n{text}\n");
    fs::write(library.path().join("SKILL.md"), skill("Sing.")).expect("a skill");
    inside(library.path(), &["init", "--quiet"]);
    inside(library.path(), &["add", "--all"]);
    inside(library.path(), &["commit", "--quiet", "--message", "one"]);
    let source = library.path().to_str().expect("UTF-8");
    inside(stub.root(), &["submodule", "--quiet", "add", source, "skills/other"]);
    git(&stub, &["commit", "--quiet", "--all", "--message", "a submodule"]);
    let same = stub.run(&["gate", "--dry-run"]);
    assert!(same.stdout.starts_with("nothing compared: "), "{}{}", same.stdout, same.stderr);
    fs::write(stub.root().join("skills/other/SKILL.md"), skill("Sing loudly.")).expect("a skill");
    stub.run("gate --dry-run").prints("other (body changed)");
}

#[test]
fn cases_that_never_passed_cannot_break_and_the_answer_says_so() {
    let stub = repository(2, BY_SKILL);
    git(&stub, &["checkout", "--quiet", "."]);
    stub.settings(ALLOWED);
    break_skill(&stub);
    git(&stub, &["add", "--all"]);
    git(&stub, &["commit", "--quiet", "--message", "broken"]);
    edit(&stub, "Be brief.");
    let words = "no trial of the baseline passed, so nothing that passed could break";
    stub.run("gate").exits(0).prints(words);
}

#[test]
fn a_limit_that_one_trial_uses_up_starts_one_trial() {
    let stub = repository(6, BY_SKILL);
    let ran = stub.run(&["run", "--jobs", "8", "--max-tokens", "1"]);
    assert_eq!((ran.code, stub.starts().len()), (3, 1), "{}{}", ran.stdout, ran.stderr);
    // 15 tokens each: with three running, nothing of the limit is expected to be left.
    let ran = stub.run(&["run", "--jobs", "8", "--max-tokens", "45"]);
    assert_eq!((ran.code, stub.starts().len()), (3, 4), "{}{}", ran.stdout, ran.stderr);
}

#[test]
fn each_changed_skill_has_an_answer_of_its_own() {
    let stub = recorded(2);
    let other = "---\nname: other\ndescription: Sings.\n---\n\nSing.\n";
    for (path, text) in [
        ("skills/other/SKILL.md", other),
        ("evals/skills/other/prompts.csv", "id,should_trigger,prompt,must_include\nx,false,Sing,Fine\n"),
    ] {
        let path = stub.root().join(path);
        fs::create_dir_all(path.parent().expect("a directory")).expect("a directory");
        fs::write(path, text).expect("a file");
    }
    git(&stub, &["add", "--all"]);
    git(&stub, &["commit", "--quiet", "--message", "another skill"]);
    break_skill(&stub);
    fs::write(stub.root().join("skills/other/SKILL.md"), format!("{other}Loudly.\n")).expect("a skill");
    let by_skill = BY_SKILL.replace("if grep", "if [ \"$prompt\" != Sing ] && grep");
    stub.body(&format!("{ACTIVATES}{by_skill}"));
    stub.run("gate").exits(1);
    let page = page(&stub);
    assert!(page.contains("| skill | base | this |") && page.contains("| no case broke |"), "{page}");
    assert!(page.contains("| broke |"), "{page}");
}

#[test]
fn runs_and_kept_trials_that_git_tracks_are_refused_by_name() {
    let stub = recorded(2);
    edit(&stub, "Be brief.");
    stub.run("gate --run-id r").exits(0);
    let commit = |path: &str| {
        git(&stub, &["add", "--force", path]);
        git(&stub, &["commit", "--quiet", "--message", "artifacts"]);
    };
    let starts = stub.starts().len();
    commit("artifacts/skill-evals/kept");
    for args in [&["gate"][..], &["compare", "main"], &["run"], &["report"], &["summary"], &["clean", "--keep", "0"]] {
        let ran = stub.run(args);
        assert_eq!((ran.code, stub.starts().len()), (2, starts), "{args:?}: {}{}", ran.stdout, ran.stderr);
        ran.warns("git tracks artifacts/skill-evals/kept/");
    }
    // A link may stand for all of it.
    git(&stub, &["rm", "--quiet", "-r", "--cached", "artifacts"]);
    let elsewhere = stub.scratch().join("artifacts");
    fs::rename(stub.root().join("artifacts"), &elsewhere).expect("a directory");
    std::os::unix::fs::symlink(&elsewhere, stub.root().join("artifacts")).expect("a link");
    let ran = stub.run(&["gate"]);
    assert_eq!(ran.code, 0, "the user's own link: {}{}", ran.stdout, ran.stderr);
    commit("artifacts");
    stub.run("gate").exits(2).warns("git tracks artifacts: ");
}
