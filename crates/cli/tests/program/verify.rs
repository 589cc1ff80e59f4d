//! `verify`: checks of checks, without an agent.

use crate::support::stub::Stub;
use serde_json::{Value, json};

const HEADER: &str = "id,should_trigger,prompt,must_include,require_files,check,fixture,solution,answer";

/// A repository with these cases, which have a fixture `files` with `kept.txt`, and a solution that adds `sum.txt`.
fn stub(rows: &str) -> Stub {
    let stub = Stub::new(1, "");
    stub.write("evals/skills/tidy/prompts.csv", &format!("{HEADER}\n{rows}"));
    stub.write("evals/skills/tidy/files/kept.txt", "kept");
    stub.write("evals/skills/tidy/solved/sum.txt", "12");
    stub.write("evals/skills/tidy/answer.txt", "The sum is 12.");
    stub
}

/// A fault: kind, case, check, line and what was found.
type AnswerFault = (String, String, String, u64, String);

/// The exit code and the faults.
fn faults(stub: &Stub, args: &[&str]) -> (i32, Vec<AnswerFault>) {
    let ran = stub.run(&[&["verify", "--json"], args].concat());
    let document: Value = serde_json::from_str(&ran.stdout).unwrap_or_else(|_| panic!("{}{}", ran.stdout, ran.stderr));
    let text = |fault: &Value, key: &str| fault[key].as_str().unwrap_or_default().to_owned();
    let faults = document["faults"].as_array().expect("faults").iter().map(|fault| {
        let line = fault["line"].as_u64().expect("a line");
        (text(fault, "kind"), text(fault, "case"), text(fault, "check"), line, text(fault, "found"))
    });
    assert_eq!(stub.starts().len(), 0, "no agent runs");
    (ran.code, faults.collect())
}

#[test]
fn checks_that_prove_something_have_no_fault() {
    let stub = stub("c0,false,Add it up,The sum,sum.txt,checks/sum.sh,files,solved,answer.txt\n");
    stub.write("checks/sum.sh", "#!/bin/sh\n[ -e sum.txt ] && grep -q 12 sum.txt && [ -e kept.txt ]\n");
    assert_eq!(faults(&stub, &[]), (0, Vec::new()));
    let ran = stub.run(&["verify"]);
    let told = "4 checks of 1 case run, 1 reference solution: 0 proving nothing,\n0 wrong, 0 without a result, 0 never decided\n";
    assert!(ran.code == 0 && ran.stdout.ends_with(told), "{}{}", ran.stdout, ran.stderr);
}

#[test]
fn a_check_that_passes_although_nothing_was_done_proves_nothing() {
    let rows = "c0,false,Do it,.*,,,,,\n\
                c1,false,Do it,,kept.txt,,files,,\n\
                c2,false,Do it,,,checks/always.sh,,,\n\
                c3,false,Do it,,,checks/unless.sh,files,,\n\
                c4,false,Say it is Done,done,,,,,\n\
                c5,false,Do it,does what tidy,,,,,\n";
    let stub = stub(rows);
    stub.write("checks/always.sh", "#!/bin/sh\nexit 0\n");
    stub.write("checks/unless.sh", "#!/bin/sh\n[ -e kept.txt ]\n");
    let (code, faults) = faults(&stub, &[]);
    let short: Vec<(&str, &str, u64)> =
        faults.iter().map(|(_, case, check, line, _)| (case.as_str(), check.as_str(), *line)).collect();
    let expected = [
        ("c1", "require-file", 3),
        ("c2", "checks/always.sh", 4),
        ("c3", "checks/unless.sh", 5),
        ("c4", "must-include", 6),
        ("c5", "must-include", 7),
    ];
    assert_eq!((code, short.as_slice()), (1, expected.as_slice()), "{faults:#?}");
    assert!(faults.iter().all(|(kind, ..)| kind == "proves-nothing"), "{faults:#?}");
    let found: Vec<&str> = faults.iter().map(|(.., found)| found.as_str()).collect();
    assert_eq!(found[0], "it passes with the untouched fixture: 4 bytes");
    assert!(found[1].starts_with("it passes in an empty workspace: "), "{found:#?}");
    assert_eq!(found[3], "the prompt has the text already: an agent that repeats it passes");
    assert_eq!(found[4], "the skill's description has the text already: an agent that repeats it passes");
    let text = stub.run(&["verify"]).stdout;
    assert!(text.starts_with("`require-file` of tidy/c1 proves nothing\n  evals/skills/tidy/prompts.csv:3:"), "{text}");
}

#[test]
fn a_reference_solution_leaves_nothing_to_the_next_case() {
    let stub = stub("c0,false,Add it up,,sum.txt,,,solved,\nc1,false,Add it up,,sum.txt,,files,,\n");
    assert_eq!(faults(&stub, &[]), (0, Vec::new()));
}

#[test]
fn prohibitions_limits_and_rules_of_the_repository_may_pass_if_nothing_is_done() {
    let stub = Stub::new(1, "");
    let text = "id,should_trigger,prompt,must_not_include,max_commands\nc0,false,Do it,never,3\n";
    stub.write("evals/skills/tidy/prompts.csv", text);
    stub.write("checks/rule.sh", "#!/bin/sh\nexit 0\n");
    stub.settings("check = \"checks/rule.sh\"");
    assert_eq!(faults(&stub, &[]), (0, Vec::new()));
}

#[test]
fn a_check_that_the_reference_solution_fails_is_wrong() {
    let rows = "c0,false,Add it up,thirteen,other.txt,checks/sum.py,files,solved,answer.txt\n\
                c1,false,Add it up,thirteen,,,,solved/sum.txt,\n";
    let stub = stub(rows);
    let script = "#!/usr/bin/env python3\nimport json, os\n\
        done = os.path.exists('sum.txt') and os.path.exists('kept.txt')\n\
        checks = [{'id': 'there', 'pass': done}, {'id': 'total', 'pass': False, 'expected': 13, 'evidence': 12}]\n\
        print(json.dumps({'checks': checks}))\n";
    stub.write("checks/sum.py", script);
    let (code, faults) = faults(&stub, &[]);
    let short: Vec<(&str, &str, &str)> =
        faults.iter().map(|(kind, case, check, ..)| (kind.as_str(), case.as_str(), check.as_str())).collect();
    let expected =
        [("wrong", "c0", "must-include"), ("wrong", "c0", "require-file"), ("wrong", "c0", "checks/sum.py: total")];
    assert_eq!((code, short.as_slice()), (1, expected.as_slice()), "without an answer, nobody knows: {faults:#?}");
    assert_eq!(faults[2].4, "expected 13; the reference solution has: 12");
}

#[test]
fn a_program_that_crashes_if_nothing_was_done_is_an_error_and_is_named() {
    let stub = stub("c0,false,Add it up,,,checks/sum.py,files,solved,\nc1,false,Do it,,,checks/gone.sh,,,\n");
    stub.write("checks/sum.py", "#!/usr/bin/env python3\nassert open('sum.txt').read() == '12'\n");
    let (code, faults) = faults(&stub, &["c0"]);
    let [(kind, case, check, line, found)] = faults.as_slice() else { panic!("{faults:#?}") };
    assert_eq!((code, kind.as_str(), case.as_str(), check.as_str(), *line), (1, "no-result", "c0", "checks/sum.py", 2));
    assert!(found.contains("FileNotFoundError"), "{found}");
    let missing = faults_of(&stub, "c1");
    assert!(missing.contains("it could not be started"), "{missing}");
}

fn faults_of(stub: &Stub, case: &str) -> String {
    let (_, faults) = faults(stub, &["--case", case]);
    faults.into_iter().map(|(.., found)| found).collect()
}

#[test]
fn cases_and_gates_that_can_never_decide_are_named() {
    let stub = Stub::new(1, "");
    stub.settings(
        "trials = \"until decided at most 2\"\nthreshold = 0.95\n[gate]\nplan = \"quick\"\nfail_on = [\"undecided\"]\n",
    );
    let (code, faults) = faults(&stub, &[]);
    let short: Vec<(&str, &str, &str)> =
        faults.iter().map(|(kind, case, check, ..)| (kind.as_str(), case.as_str(), check.as_str())).collect();
    let expected = [("never-decided", "", "[gate] fail_on"), ("never-decided", "c0", "threshold")];
    assert_eq!((code, short.as_slice()), (1, expected.as_slice()), "{faults:#?}");
}

#[test]
fn a_case_that_cannot_be_read_and_a_solution_that_is_missing_are_no_success() {
    let stub = stub("c0,maybe,Do it,,,,,,\nc1,false,Do it,,,,,,\n");
    let ran = stub.run(&["verify", "--json"]);
    let document: Value = serde_json::from_str(&ran.stdout).expect("JSON");
    assert_eq!((ran.code, &document["unreadable"], &document["cases"]), (2, &json!(["tidy/c0"]), &json!(1)));
}

#[test]
fn a_case_whose_files_cannot_be_used_is_named_and_the_others_are_verified() {
    let stub = stub(
        "c0,false,Do it,,,,,none,\n\
         c1,false,Do it,,,,,,none.txt\n\
         c2,false,Do it,,,,,,solved\n\
         c3,false,Do it,,,,none,,\n\
         c4,false,Add it up,The sum,sum.txt,,files,solved,answer.txt\n",
    );
    let (code, list) = faults(&stub, &[]);
    let short: Vec<(&str, &str, &str, u64)> =
        list.iter().map(|(kind, case, check, line, _)| (kind.as_str(), case.as_str(), check.as_str(), *line)).collect();
    let expected = [
        ("unusable", "c0", "solution", 2),
        ("unusable", "c1", "answer", 3),
        ("unusable", "c2", "answer", 4),
        ("unusable", "c3", "fixture", 5),
    ];
    assert_eq!((code, short.as_slice()), (2, expected.as_slice()), "{list:#?}");
    let text = stub.run(&["verify"]).stdout;
    let said = "`solution` of tidy/c0 cannot be used\n  evals/skills/tidy/prompts.csv:2:20\n  \
        the solution none does not exist\n";
    assert!(text.starts_with(said), "{text}");
    assert!(text.ends_with("3 checks of 1 case run, 1 reference solution: 0 proving nothing,\n0 wrong, 0 without a result, 0 never decided, 4 unusable\n"), "{text}");
    let linted = stub.run(&["lint", "--check-evals"]).stdout;
    let unusable = [
        (2, "solution none does"),
        (3, "answer none.txt does"),
        (4, "answer evals/skills/tidy/solved is"),
        (5, "fixture directory none does"),
    ];
    for (line, what) in unusable {
        let said = format!("error[missing-fixture]: the {what} not");
        assert!(linted.contains(&said) && linted.contains(&format!("prompts.csv:{line}:")), "{said}: {linted}");
    }
    // What is an error of the case for one command is one for all.
    stub.run("run --case c0").exits(2).prints("the solution none does not exist");
}

#[test]
fn a_fault_is_where_its_check_is_written() {
    let stub = Stub::new(1, "");
    let list = r#""[{""run"": ""true""}]""#;
    stub.write(
        "evals/skills/tidy/prompts.csv",
        &format!(
            "id,should_trigger,prompt,check,checks\n\
             c0,false,\"Do\nit\",,{list}\n\
             c1,false,Do it,,list.json\n\
             c2,false,Do it,checks/no.sh;checks/yes.sh,\n"
        ),
    );
    stub.write("evals/skills/tidy/list.json", "[\n  { \"run\": \"true\" } ]");
    stub.write("checks/no.sh", "#!/bin/sh\nexit 1\n");
    stub.write("checks/yes.sh", "#!/bin/sh\nexit 0\n");
    let task = r#"{"prompt": "Do it", "evalConfig": {"expectedSkillName": "tidy", "shouldTrigger": false,
  "checks": [{"text": "final", "contains": "zzz"},
             {"run": "true"}]}}"#;
    stub.write("evals/tasks/t.json", task);
    let document: Value = serde_json::from_str(&stub.run(&["verify", "--json"]).stdout).expect("JSON");
    let places = document["faults"].as_array().expect("faults").iter().map(|fault| {
        assert_eq!(fault["kind"], "proves-nothing", "{fault}");
        format!("{}:{}:{}", fault["path"].as_str().expect("a path"), fault["line"], fault["column"])
    });
    let mut places: Vec<String> = places.collect();
    places.sort();
    let expected = [
        "evals/skills/tidy/list.json:2:3",
        "evals/skills/tidy/prompts.csv:3:6",
        "evals/skills/tidy/prompts.csv:5:29",
        "evals/tasks/t.json:3:14",
    ];
    assert_eq!(places, expected);
}

#[test]
fn programs_that_ran_without_isolation_are_named() {
    let open = |table: &str| {
        let stub = Stub::new(1, "");
        stub.write("evals/skills/tidy/prompts.csv", table);
        stub.write("checks/no.sh", "#!/bin/sh\nexit 1\n");
        let document: Value = serde_json::from_str(&stub.run(&["verify", "--json"]).stdout).expect("JSON");
        (document["not_enforced"].clone(), stub.run(&["verify"]).stdout)
    };
    let said = "checks and setup commands ran with your rights: `isolation` is set to \"agent\"";
    for table in [
        "id,should_trigger,prompt,check\nc0,false,Do it,checks/no.sh\n",
        "id,should_trigger,prompt,setup\nc0,false,Do it,true\n",
    ] {
        let (json, text) = open(table);
        assert_eq!(json, json!([said]), "{table}");
        assert!(text.contains("not enforced: checks and setup commands ran with your rights:"), "{text}");
    }
    let (json, text) = open("id,should_trigger,prompt\nc0,false,Do it\n");
    assert!(json == json!([]) && !text.contains("not enforced"), "{text}");
}

#[test]
fn setup_commands_run_before_checks_are_verified() {
    let stub = stub("");
    let table = "id,should_trigger,prompt,require_files,check,setup,solution\n\
        c0,false,Do it,made.txt; sum.txt,checks/sum.sh,echo made > made.txt,solved\n";
    stub.write("evals/skills/tidy/prompts.csv", table);
    stub.write("checks/sum.sh", "#!/bin/sh\n[ -e made.txt ] && [ -e sum.txt ]\n");
    let (code, faults) = faults(&stub, &[]);
    let [(kind, _, check, _, found)] = faults.as_slice() else { panic!("{faults:#?}") };
    assert_eq!((code, kind.as_str(), check.as_str()), (1, "proves-nothing", "require-file"));
    assert!(found.contains("with the untouched fixture"), "{found}");
    stub.write("evals/skills/tidy/prompts.csv", &table.replace("echo made", "no-such-program"));
    let ran = stub.run(&["verify"]);
    let said = "`setup` of tidy/c0 cannot be used\n  evals/skills/tidy/prompts.csv:2:";
    assert!(ran.code == 2 && ran.stdout.starts_with(said), "{}{}", ran.stdout, ran.stderr);
    ran.prints("the setup failed: `no-such-program");
}
