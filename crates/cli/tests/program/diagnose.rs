//! `diagnose` says what keeps a skill from helping, and `compare --models` which model is the cheapest that is good enough.

use std::fs;

use crate::kept::is_resumed;
use crate::support::stub::{ACTIVATES, ANSWER, Stub};
use serde_json::Value;

/// An agent that passes by what it loaded. The digit at the end of the prompt decides which trials do.
struct Agent {
    /// Prompts with a lower digit pass without the skill.
    without: u8,
    /// Prompts with a lower digit pass with the skill.
    with: u8,
    /// Prompts with a lower digit activate the skill if it is offered alone.
    alone: u8,
    /// The same if `other` is offered too. The others activate `other` then.
    routed: u8,
}

impl Agent {
    fn body(&self) -> String {
        let Self { without, with, alone, routed } = *self;
        format!(
            r#"{ACTIVATES}
say() {{ printf '%s\n' '{{"type":"item.completed","item":{{"id":"9","type":"agent_message","text":"'$1'"}}}}' '{{"type":"turn.completed","usage":{{"input_tokens":10,"output_tokens":5}}}}'; exit 0; }}
last() {{ digit=${{prompt##*[!0-9]}}; [ "${{digit:-0}}" -lt "$1" ]; }}
[ -e .agents/skills/tidy ] || sed -i 's|- tidy: x (file: r0/tidy/SKILL.md)||' "$CODEX_HOME/sessions/rollout-1.jsonl"
printf '%s\n' '{{"type":"thread.started","thread_id":"1"}}' '{{"type":"turn.started"}}'
if [ ! -e .agents/skills/tidy ]; then last {without} && say Tidy; say Untidy; fi
loads=no
case "$prompt" in '$tidy '*) last $(cat "$folder/refuses" 2>/dev/null || echo 0) || loads=yes;; *)
  if [ -e .agents/skills/other ]; then last {routed} && loads=yes; else last {alone} && loads=yes; fi;; esac
if [ $loads = yes ]; then activate tidy; last {with} && say Tidy; say Untidy; fi
[ -e .agents/skills/other ] && case "$prompt" in '$tidy '*) ;; *) activate other;; esac
last {without} && say Tidy
say Untidy
"#
        )
    }

    /// A repository with the skills `tidy` and `other`, and ten positive cases of `tidy` that judge the answer.
    fn repository(&self) -> Stub {
        let stub = Stub::new(1, &self.body());
        let skill = "---\nname: other\ndescription: Does other things.\n---\n\nDo something else entirely.\n";
        fs::create_dir_all(stub.root().join("skills/other")).expect("a directory");
        fs::write(stub.root().join("skills/other/SKILL.md"), skill).expect("a skill");
        cases(&stub, |digit| format!("c{digit},true,Prompt {digit},^Tidy$"));
        stub
    }
}

#[test]
fn a_wrong_table_of_cases_is_drawn_once_as_an_error() {
    let stub = Stub::new(1, "");
    stub.write("evals/skills/tidy/prompts.csv", "a,b\n");
    stub.run("diagnose tidy").exits(2).warns("\nerror[csv-unknown-column]: unknown column `a`\n");
}

fn cases(stub: &Stub, row: impl Fn(u8) -> String) {
    let rows: Vec<String> = (0..10).map(row).collect();
    let table = format!("id,should_trigger,prompt,expected_output_pattern\n{}\nno,false,Sing,\n", rows.join("\n"));
    fs::write(stub.root().join("evals/skills/tidy/prompts.csv"), table).expect("cases");
}

fn diagnose(stub: &Stub, args: &[&str]) -> (i32, Value) {
    let ran = stub.run(&[&["diagnose", "tidy", "--json"], args].concat());
    let found =
        serde_json::from_str(&ran.stdout).unwrap_or_else(|error| panic!("{error}: {}{}", ran.stdout, ran.stderr));
    (ran.code, found)
}

/// A difference in points of a hundred.
fn points(part: &Value) -> String {
    format!("{:+.0}", part["difference"].as_f64().expect("a difference") * 100.0)
}

const GOOD: Agent = Agent { without: 2, with: 9, alone: 10, routed: 10 };

#[test]
fn a_description_that_loses_to_a_neighbor_is_told_apart_from_a_bad_body() {
    let stub = Agent { alone: 10, routed: 3, ..GOOD }.repository();
    let ran = stub.run(&["diagnose", "tidy", "--run-id", "r"]);
    ran.exits(1);
    let sentence = ran.stdout.lines().find(|line| line.starts_with("the body")).expect("a sentence");
    assert!(sentence.starts_with("the body is worth +70 points (95 %: +"), "{sentence}");
    assert!(sentence.contains("; the description activates it in 30 % (95 %: "), "{sentence}");
    assert!(sentence.contains("; neighbors take 70 points (95 %: "), "{sentence}");
    assert!(sentence.ends_with(", mostly `other`: set its description apart from that of `other`"), "{sentence}");
    // Routed trials serve all comparisons: each variant ran as often.
    assert_eq!(stub.progress("r").len(), 120);
    assert!(ran.stdout.lines().skip(1).all(|line| line.chars().count() <= 80 || line == sentence), "{}", ran.stdout);
    ran.prints("activated instead of it in routed trials: `other` 21\n");
    let again = stub.run(&["diagnose", "r"]);
    assert!(again.code == 1 && again.stdout.starts_with(sentence), "{}{}", again.stdout, again.stderr);
}

#[test]
fn each_loss_is_put_down_to_what_causes_it() {
    for (agent, code, advice) in [
        (Agent { alone: 3, routed: 3, ..GOOD }, 1, Value::from("description")),
        (Agent { alone: 9, routed: 4, ..GOOD }, 1, Value::from("neighbors")),
        (Agent { without: 9, with: 2, ..GOOD }, 1, Value::from("body")),
        (GOOD, 0, Value::Null),
        (Agent { without: 5, with: 5, ..GOOD }, 4, Value::Null),
    ] {
        let found = diagnose(&agent.repository(), &[]);
        assert_eq!((found.0, &found.1["advice"]), (code, &advice), "{:#}", found.1);
        let tenths = |more: u8, less: u8| format!("{:+}", (i32::from(more) - i32::from(less)) * 10);
        assert_eq!(points(&found.1["body"]), tenths(agent.with, agent.without));
        assert_eq!(points(&found.1["neighbors"]), tenths(agent.routed, agent.alone));
        assert_eq!(points(&found.1["description"]), tenths(agent.routed, 10));
    }
}

#[test]
fn a_body_that_is_worth_nothing_is_what_to_fix_although_the_description_loses_more() {
    let stub = Agent { without: 9, with: 9, alone: 3, routed: 3 }.repository();
    let ran = stub.run("diagnose tidy --run-id r");
    ran.exits(1).prints("\nthe body is worth nothing within ±10 points (±0; 90 %: −").prints(": fix the body\n");
    assert!(!ran.stdout.contains("--max-trials"), "{}", ran.stdout);
    let few = Agent { without: 5, with: 5, ..GOOD }.repository();
    let (_, found) = diagnose(&few, &["--max-trials", "40", "--run-id", "r"]);
    assert_eq!((&found["nothing"]["shown"], &found["advice"]), (&false.into(), &Value::Null), "{found:#}");
    let needed = found["nothing"]["trials_needed"].as_u64().expect("a number");
    let told = few.run("diagnose r");
    told.prints(format!("\nif the body is worth nothing, --max-trials {needed} shows that within ±10 points (80 %)"));
    assert!(needed > 120 && needed % 40 == 0, "{needed}");
}

#[test]
fn what_is_not_shown_is_never_advice() {
    let stub = Agent { without: 5, with: 6, alone: 10, routed: 9 }.repository();
    let ran = stub.run(&["diagnose", "tidy", "--max-trials", "40", "--quiet"]);
    ran.exits(4);
    let sentence = ran.stdout.trim_end();
    assert!(sentence.starts_with("the body is not shown to help or harm (+10 points; 95 %: −"), "{sentence}");
    assert!(sentence.contains("; the description is not shown to lose anything: "), "{sentence}");
    assert!(sentence.contains("; neighbors are not shown to take any (95 %: "), "{sentence}");
    assert!(!sentence.contains("fix"), "{sentence}");
}

#[test]
fn an_agent_that_ignores_calls_of_the_skill_leaves_the_worth_of_its_body_unknown() {
    // It passes with the skill, and not without, but no trial is left out by that.
    let stub = Agent { routed: 3, ..GOOD }.repository();
    fs::write(stub.root().join("refuses"), "10").expect("a file");
    let (code, found) = diagnose(&stub, &["--max-trials", "40", "--run-id", "r"]);
    let forced = &found["variants"][1];
    assert_eq!((&forced["name"], &forced["not_measured"]), (&"forced".into(), &0.into()), "{found:#}");
    assert_eq!(forced["activated"]["rate"], serde_json::json!({ "passed": 0, "trials": 10 }), "{found:#}");
    assert_eq!(
        (code, &found["body"], &found["outcome"], &found["advice"]),
        (3, &Value::Null, &Value::Null, &Value::Null)
    );
    let told = stub.run(&["diagnose", "r", "--quiet"]);
    let words =
        "what the body is worth is not known, because a prompt that calls the skill does not load it: 0/10 trials did";
    assert!(told.code == 3 && told.stdout.starts_with(words), "{}{}", told.stdout, told.stderr);
    // Graded again, they stay as they are.
    let graded = stub.run(&["grade", "r"]);
    assert!(!graded.stdout.contains("has changed") && !graded.stderr.contains("has changed"), "{}", graded.stderr);
}

#[test]
fn forced_trials_that_did_not_load_the_skill_stay_in_the_forced_trials() {
    let stub = Agent { without: 0, with: 10, ..GOOD }.repository();
    fs::write(stub.root().join("refuses"), "1").expect("a file");
    let ran = stub.run("diagnose tidy --run-id r");
    ran.prints("\nthe body is worth +90 points (95 %: +").prints("; 27/30 forced trials loaded the skill)");
}

#[test]
fn without_a_check_of_the_outcome_the_body_is_not_measured_and_the_checks_to_add_are_named() {
    let stub = Agent { alone: 10, routed: 3, ..GOOD }.repository();
    cases(&stub, |digit| format!("c{digit},true,Prompt {digit},"));
    let ran = stub.run(&["diagnose", "tidy", "--run-id", "r"]);
    ran.exits(1).prints("the body could not be measured, because no case judges the outcome; the description");
    ran.prints("must_include, expected_output_pattern, require_files");
    let modes: std::collections::BTreeSet<String> =
        stub.progress("r").iter().map(|trial| trial["mode"].as_str().expect("a mode").to_owned()).collect();
    assert_eq!(modes.into_iter().collect::<Vec<_>>(), ["codex", "codex.offer-alone"]);
}

#[test]
fn a_dry_run_names_variants_and_trials_and_starts_nothing() {
    let stub = GOOD.repository();
    let dry = stub.run(&["diagnose", "tidy", "--dry-run"]);
    assert_eq!((dry.code, stub.starts().len()), (0, 0), "{}{}", dry.stdout, dry.stderr);
    assert!(
        dry.stdout.starts_with("variants: none, forced, routed, alone; 3 trials of each case in each\n"),
        "{}",
        dry.stdout
    );
    dry.prints("\n120 trials would run\n");
}

#[test]
fn a_diagnosis_that_a_limit_ended_resumes() {
    let stub = Agent { alone: 3, routed: 3, ..GOOD }.repository();
    let ran = stub.run(&["diagnose", "tidy", "--run-id", "r", "--max-tokens", "600", "--jobs", "1"]);
    let begun = stub.progress("r").len();
    assert!((30..60).contains(&begun), "{begun}");
    // Round by round: what ran is spread evenly over the variants.
    let mut of_mode = std::collections::BTreeMap::<String, usize>::new();
    for trial in stub.progress("r") {
        *of_mode.entry(trial["mode"].as_str().expect("a mode").to_owned()).or_default() += 1;
    }
    assert!(of_mode.values().max().expect("trials") - of_mode.values().min().expect("trials") <= 1, "{of_mode:?}");
    ran.warns("to resume: skill-evals diagnose --resume --run-id r");
    stub.run("status r").prints("skill-evals diagnose --resume --run-id r");
    stub.run("run --resume --run-id r").exits(2).warns("skill-evals diagnose --resume");
    let resumed = stub.run(&["diagnose", "--resume", "--run-id", "r"]);
    assert_eq!((resumed.code, stub.progress("r").len()), (1, 120), "{}{}", resumed.stdout, resumed.stderr);
}

#[test]
fn what_cannot_be_diagnosed_is_refused_with_the_reason() {
    let stub = GOOD.repository();
    for (args, why) in [
        (&["tidy", "--mode", "codex-mcp"][..], "a prompt cannot call a skill with its whole request: choose a mode"),
        (&["tidy", "--mode", "codex-none"], "offers no skills"),
        (&["tid"], "unknown skill `tid`; did you mean `tidy`?"),
        (&["--skill", "tid"], "unknown skill `tid`; did you mean `tidy`?"),
        (&["tidy", "--max-trials", "39"], "takes 40 trials: raise --max-trials"),
        (&["tidy", "--case", "no"], "has no positive case"),
        (&["other", "--case", "tidy/c1"], "--case tidy/c1: not a case of `other`; name one of its positive cases"),
    ] {
        stub.run(&[&["diagnose"], args].concat()).exits(2).warns(why);
    }
    cases(&stub, |digit| format!("c{digit},true,Use $tidy for {digit},^Tidy$"));
    stub.run("diagnose tidy").exits(2).warns("leaves the choice of the skill to the model");
    assert_eq!(stub.starts().len(), 0);
}

/// An agent whose models pass prompts with a lower digit than theirs.
fn models(stub: &Stub, prices: bool) {
    let body = r#"case "$*" in *large*) limit=10;; *middle*) limit=10;; *) limit=4;; esac
case "$*" in *large*) tokens=1000;; *middle*) tokens=100;; *) tokens=10;; esac
digit=${prompt##*[!0-9]}; [ "${digit:-0}" -lt $limit ] && answer=Fine || answer=No
printf '%s\n' '{"type":"thread.started","thread_id":"1"}' '{"type":"turn.started"}' '{"type":"item.completed","item":{"id":"0","type":"agent_message","text":"'$answer'"}}' '{"type":"turn.completed","usage":{"input_tokens":'$tokens',"output_tokens":5}}'
exit 0
"#;
    stub.body(body);
    let rows: Vec<String> = (0..10).map(|digit| format!("c{digit},false,Prompt {digit},Fine")).collect();
    let table = format!("id,should_trigger,prompt,must_include\n{}\n", rows.join("\n"));
    fs::write(stub.root().join("evals/skills/tidy/prompts.csv"), table).expect("cases");
    if prices {
        let path = stub.root().join("evals/evals.toml");
        let settings = fs::read_to_string(&path).expect("settings");
        let price = |model: &str, usd: &str| format!("[prices.{model}]\ninput = {usd}\noutput = {usd}\n");
        let prices = [price("small", "1.0"), price("middle", "1.0"), price("large", "0.001")].concat();
        fs::write(path, format!("{settings}{prices}")).expect("settings");
    }
}

#[test]
fn the_cheapest_model_that_is_no_worse_than_the_best_is_found() {
    let stub = Stub::new(1, "");
    models(&stub, false);
    let ran = stub.run(&["compare", "--models", "large,small,middle", "--margin", "0.1", "--run-id", "r"]);
    ran.exits(0).prints("\nmiddle: the cheapest model, by tokens, that is within 10 points of the best\n");
    ran.prints("the price of a model is unknown, so tokens decide what is cheaper; set them under [prices]");
    assert!(ran.stdout.lines().filter(|line| line.starts_with("  ")).all(|line| line.chars().count() <= 80));
    let found: Value = serde_json::from_str(&stub.run(&["compare", "r", "--json"]).stdout).expect("JSON");
    let results: Vec<(&str, &str)> = found["models"]
        .as_array()
        .expect("models")
        .iter()
        .map(|model| (model["model"].as_str().expect("a name"), model["result"].as_str().expect("a result")))
        .collect();
    assert_eq!(results, [("small", "worse"), ("middle", "no-worse"), ("large", "no-worse")]);
}

#[test]
fn prices_decide_which_model_is_cheapest_and_few_trials_decide_nothing() {
    let stub = Stub::new(1, "");
    models(&stub, true);
    let ran = stub.run(&["compare", "--models", "large,small,middle", "--margin", "0.1", "--json"]);
    let found: Value = serde_json::from_str(&ran.stdout).expect("JSON");
    assert_eq!((ran.code, &found["cheapest"], &found["ranked_by"]), (0, &"large".into(), &"cost".into()), "{found:#}");
    let few = stub.run(&["compare", "--models", "large,middle", "--max-trials", "20", "--quiet"]);
    assert!(
        few.code == 4 && few.stdout.starts_with("undecided: no model is shown to be within 5 points"),
        "{}",
        few.stdout
    );
    let dies = r#"case "$*" in *large*) [ $(wc -l < "$folder/starts") -lt 12 ] || exit 1;; esac"#;
    fs::remove_file(stub.root().join("starts")).expect("the starts so far");
    stub.body(&format!("{dies}\n{ANSWER}"));
    let lost = stub.run(&["compare", "--models", "large,middle", "--max-trials", "40", "--jobs", "1", "--quiet"]);
    assert!(lost.code == 3 && lost.stdout.starts_with("undecided: "), "{}{}", lost.stdout, lost.stderr);
    let remedy = "; to resume: skill-evals compare --resume --run-id ";
    assert!(
        lost.stderr.starts_with("trials that were not measured: ") && lost.stderr.contains(remedy),
        "{}",
        lost.stderr
    );
    // Nor does a model answer that was not measured in every case.
    stub.body(&format!("case \"$* $prompt\" in *large*7) exit 1;; esac\n{ANSWER}"));
    let without = stub.run(&["compare", "--models", "large,middle", "--margin", "0.5", "--quiet", "--run-id", "l"]);
    without.exits(3).prints(": the cheapest model");
    assert!(without.stderr.ends_with(&format!("{remedy}l\n")), "{}", without.stderr);
    for (models, why) in [("large", "two or more"), ("large,large", "two or more different")] {
        stub.run(&["compare", "--models", models]).exits(2).warns(why);
    }
}

#[test]
fn a_diagnosis_that_was_killed_is_resumed_by_the_same_command() {
    let stub = Agent { without: 0, with: 9, alone: 9, routed: 9 }.repository();
    let script = fs::read_to_string(stub.root().join("agent.sh")).expect("the agent");
    let (start, rest) = script.split_once("for prompt; do :; done\n").expect("the start");
    stub.write("agent.sh", &format!("{start}for prompt; do :; done\nsleep 0.1\n{rest}"));
    is_resumed(&stub, &["diagnose", "tidy", "--mode", "codex", "--jobs", "2"]);
}
