//! The jobs that `cluster` prints. Stand-ins for the engines run them.

use skill_evals_testing::tables;
use std::ffi::OsString;
use std::fs;
use std::os::unix::ffi::OsStringExt;
use std::path::Path;
use std::process::Command;

use crate::support::fixture::Ran;
use crate::support::stub::{Stub, ran};
use serde_json::{Value, json};
use skill_evals_evidence::text::node;

fn yaml_value(text: &str) -> Value {
    node::parse_yaml(text).expect("YAML").expect("a value").json()
}

/// In the place of sbatch: runs the tasks of an array one after the other, and notes its arguments.
const SBATCH: &str = r#"#!/bin/bash
script=$(cat)
echo "$*" >> sbatch.log
tasks=$(grep -o -- '--array=1-[0-9]*' <<< "$script" | cut -d - -f 4)
for task in $(seq "${tasks:-0}"); do
  SLURM_ARRAY_TASK_ID=$task SLURM_ARRAY_TASK_COUNT=$tasks SLURM_ARRAY_TASK_MIN=1 SLURM_ARRAY_TASK_MAX=$tasks \
    bash -c "$script" >> tasks.log 2>&1 || echo "ended with $?" >> tasks.log
done
[ "$tasks" ] || bash -c "$script" > merge.log 2>&1
echo "4${tasks:-2};here"
"#;

/// The command, with the stand-in and this program on its PATH.
fn in_cluster(stub: &Stub, mut command: Command) -> Ran {
    let program = stub.command(&[]);
    let own = Path::new(program.get_program()).parent().expect("a directory").display().to_string();
    let bin = stub.root().join("bin").display().to_string();
    command.current_dir(stub.root()).envs(program.get_envs().filter_map(|(name, value)| Some((name, value?))));
    command.env("PATH", format!("{bin}:{own}:{}", std::env::var("PATH").expect("a PATH")));
    for name in ["JOB_COMPLETION_INDEX", "CI_NODE_INDEX", "BUILDKITE_PARALLEL_JOB"] {
        command.env_remove(name);
    }
    ran(&mut command)
}

fn read(stub: &Stub, path: &str) -> String {
    std::fs::read_to_string(stub.root().join(path)).unwrap_or_default()
}

#[test]
fn a_root_that_a_job_cannot_name_is_refused() {
    let stub = Stub::new(1, "");
    for name in ["two\nlines".into(), OsString::from_vec(b"\xff".to_vec())] {
        let root = stub.root().join(&name);
        fs::create_dir_all(&root).expect("a directory");
        for part in ["skills/tidy/SKILL.md", "evals/skills/tidy/prompts.csv"].map(Path::new) {
            fs::create_dir_all(root.join(part).parent().expect("a directory above")).expect("a directory");
            fs::copy(stub.root().join(part), root.join(part)).expect("a file");
        }
        let ran = ran(stub.command(&["cluster", "slurm", "--shards", "2"]).current_dir(&root));
        ran.exits(2).warns("is not text on a line");
    }
}

#[test]
fn what_would_fail_or_be_lost_in_every_shard_is_refused() {
    let stub = Stub::new(1, "");
    for (args, words) in [
        (["slurm", "--run-id", "a", "--root", "/"].as_slice(), "--root is not for shards"),
        (&["slurm", "--run-id", "a", "--junit", "all.xml"], "--junit is not for shards"),
        (&["slurm", "--run-id", "a", "--cases-from", "-"], "--cases-from -: the jobs have no stdin"),
        (&["slurm", "--run-id", "a", "--model", "a\nb"], "has a control character"),
        (&["slurm", "--run-id", "a-shard-1-of-2", "-q"], "is that of a shard"),
    ] {
        let (own, options) = args.split_at(3);
        stub.run(&[&["cluster"], own, &["--shards", "2", "--"], options].concat()).exits(2).warns(words);
    }
    stub.run("cluster slurm --shards 2 --path .").exits(2).warns("--path and --git are for github");
}

#[test]
fn the_array_job_is_named_if_the_merge_job_cannot_be_submitted() {
    let stub = Stub::new(1, "");
    stub.write("bin/sbatch", "#!/bin/bash\ncase \"$*\" in *afterany*) exit 1;; esac\necho 43\n");
    let ran = in_cluster(&stub, stub.command(&["cluster", "slurm", "--shards", "2", "--run-id", "big", "--submit"]));
    assert_eq!((ran.code, ran.stdout.as_str()), (2, "big: array job 43\n"), "{}", ran.stderr);
    ran.warns("not all jobs were submitted");
}

#[test]
fn names_and_options_reach_kubernetes_as_they_are() {
    let stub = Stub::new(1, "");
    let cluster = ["cluster", "kubernetes", "--shards", "2", "--run-id", "20261126", "--", "--model", "$(HOME)"];
    let jobs = stub.run(&cluster).stdout;
    for words in [r#"name: "20261126""#, r#"name: "20261126-merge""#, r#""--model","$$(HOME)""#] {
        assert!(jobs.contains(words), "{words}: {jobs}");
    }
}

#[test]
fn the_jobs_for_slurm_run_every_case_once_and_then_merge_the_shards() {
    let stub = Stub::new(8, "");
    stub.write("bin/sbatch", SBATCH);
    let cluster = ["cluster", "slurm", "--shards", "3", "--run-id", "big"];
    let options = ["--", "--trials", "2", "--model", "it's new"];
    let submitted = in_cluster(&stub, stub.command(&[&cluster[..], &["--submit"], &options].concat()));
    submitted.exits(0);
    let log = "artifacts/skill-evals/slurm-42.log";
    assert_eq!(submitted.stdout, format!("big: array job 43, then merge job 42; its results: {log}\n"));
    assert_eq!(
        read(&stub, "sbatch.log"),
        "--parsable --export=ALL\n--parsable --export=ALL --dependency=afterany:43\n"
    );
    let merged = read(&stub, "merge.log");
    assert!(merged.contains("artifacts/skill-evals/big: 16 trials of 3 shards\n"), "{merged}");
    assert_eq!((stub.starts().len(), stub.progress("big").len()), (16, 16));
    assert_eq!(stub.json("big", "run.json")["chosen"]["model"], json!("it's new"));
    // The printed script is the same. Nothing is missing, so nothing runs again.
    let printed = stub.run(&[&cluster[..], &options].concat());
    let mut bash = Command::new("bash");
    bash.args(["-c", &printed.stdout]);
    assert_eq!(in_cluster(&stub, bash).stdout, submitted.stdout);
    assert_eq!(stub.starts().len(), 16);
}

#[test]
fn a_failed_case_fails_no_task_but_a_case_that_is_not_measured_does() {
    let stub = Stub::new(4, "case \"$prompt\" in *2) exit 7;; esac");
    stub.write("bin/sbatch", SBATCH);
    stub.write("evals/skills/tidy/prompts.csv", "id,should_trigger,prompt\nc0,true,Prompt 0\nc1,false,Prompt 1\n");
    let submit = ["cluster", "slurm", "--shards", "2", "--submit"];
    let submitted = in_cluster(&stub, stub.command(&submit));
    submitted.exits(0);
    assert!(read(&stub, "merge.log").contains("1 of 2 cases passed, 1 failed"), "{}", read(&stub, "merge.log"));
    assert!(!read(&stub, "tasks.log").contains("ended with 1\n"), "{}", read(&stub, "tasks.log"));
    stub.write("evals/skills/tidy/prompts.csv", "id,should_trigger,prompt\nc1,false,Prompt 1\nc2,false,Prompt 2\n");
    in_cluster(&stub, stub.command(&[&submit[..], &["--run-id", "not-measured"]].concat()));
    assert!(read(&stub, "tasks.log").contains("ended with 1\n"), "{}", read(&stub, "tasks.log"));
}

#[test]
fn the_indices_of_the_job_for_kubernetes_run_every_case_once_and_its_second_job_merges_them() {
    let stub = Stub::new(8, "");
    let printed = stub.run(&["cluster", "kubernetes", "--shards", "3", "--run-id", "n-1", "--", "--trials", "2"]);
    let jobs: Vec<Value> = printed.stdout.split("---\n").map(yaml_value).collect();
    let [shards, merge] = &jobs[..] else { panic!("{}", printed.stdout) };
    let command = |job: &Value| {
        let words = job["spec"]["template"]["spec"]["containers"][0]["command"].as_array().expect("words");
        words.iter().map(|word| word.as_str().expect("a word").to_owned()).collect::<Vec<_>>()
    };
    assert_eq!((&shards["spec"]["completions"], &merge["spec"]["suspend"]), (&json!(3), &json!(true)));
    for index in 0..3 {
        let words = command(shards);
        let mut task = stub.command(&words.iter().skip(1).map(String::as_str).collect::<Vec<_>>());
        let ran = ran(task.env("JOB_COMPLETION_INDEX", index.to_string()));
        assert!(words[0] == "skill-evals" && ran.code == 0, "{}{}", ran.stdout, ran.stderr);
    }
    let words = command(merge);
    let mut job = Command::new(&words[0]);
    job.args(&words[1..]);
    let merged = in_cluster(&stub, job);
    assert_eq!((merged.code, stub.starts().len(), stub.progress("n-1").len()), (0, 16, 16), "{}", merged.stderr);
}

#[test]
fn the_workflow_for_github_is_the_nightly_one_with_these_shards_and_options() {
    let stub = Stub::new(1, "");
    stub.run("cluster github --shards 6").exits(2).warns("skill-evals is not published yet: say where it is from");
    let source = ["cluster", "github", "--shards", "6", "--git", "https://example.org/it.git"];
    let printed = stub.run(&[&source[..], &["--", "--max-tokens", "5", "--model", "a: b"]].concat());
    let workflow = yaml_value(&printed.stdout);
    let live = &workflow["jobs"]["live"];
    assert_eq!(live["strategy"]["matrix"]["shard"], json!([1, 2, 3, 4, 5, 6]));
    let run = r#"skill-evals run --shard "$SHARD/6" --run-id "$RUN" --max-tokens 5 --model 'a: b'"#;
    let steps = live["steps"].as_array().expect("steps");
    assert!(steps.iter().any(|step| step["run"] == json!(run)), "{}", printed.stdout);
}

/// What `cluster` answers to a command line.
fn refused(line: &str) -> String {
    let stub = Stub::new(1, "");
    stub.run(&*format!("cluster {line}")).told(stub.root())
}

tables! {
    refused => what_would_fail_in_every_shard_is_refused_before_it_is_submitted;
}

#[test]
fn without_sbatch_nothing_is_submitted() {
    let stub = Stub::new(1, "");
    let mut without = stub.command(&["cluster", "slurm", "--shards", "2", "--submit"]);
    ran(without.env("PATH", stub.root())).exits(2).warns("--submit needs sbatch");
}
