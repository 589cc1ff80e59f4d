//! What it takes to merge, compare and summarize many trials: `cargo bench -p skill-evals-cli --bench rows` does so with 10,000 and 100,000
//! trials of 64 shards, `-- 1000000` with a million. That one takes half an hour and 25 GB of disk.
//!
//! A real run in 64 shards, with a C program in the agent's place, has one trial of each of 10,000 cases. Its shards are
//! copied with more repeats, each file as a run would have written it: other numbers in the facts, the plan and the progress
//! file, and the digest of the cases again. The files that have no number are hard links. The other side of the comparisons
//! are the same shards as a replay, which has no trials' directories, and in which more trials fail.

use std::fs;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

use serde_json::{Value, json};
use skill_evals_results::store;
use walkdir::WalkDir;

const CASES: usize = 10_000;
const SKILLS: usize = 10;
const SHARDS: usize = 64;

/// Says what codex says of a turn of one message. Every tenth case gets another answer.
const AGENT: &str = r#"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
int main(int count, char **words) {
  char path[4096];
  snprintf(path, sizeof path - 32, "%s/sessions", getenv("CODEX_HOME"));
  mkdir(path, 0777);
  FILE *file = fopen(strcat(path, "/rollout-1.jsonl"), "w");
  if (!file) return 1;
  fputs("{\"type\":\"response_item\",\"payload\":{\"type\":\"message\",\"role\":\"developer\",\"content\":[{\"text\":"
        "\"<skills_instructions>\\n### Available skills\\nSKILLS</skills_instructions>\"}]}}\n", file);
  fclose(file);
  int number = atoi(strrchr(words[count - 1], ' '));
  printf("{\"type\":\"thread.started\",\"thread_id\":\"0\"}\n{\"type\":\"turn.started\"}\n"
         "{\"type\":\"item.completed\",\"item\":{\"id\":\"item_0\",\"type\":\"agent_message\",\"text\":\"%s\"}}\n"
         "{\"type\":\"turn.completed\",\"usage\":{\"input_tokens\":%d,\"cached_input_tokens\":0,\"output_tokens\":5}}\n",
         number % 10 ? "Done." : "No.", 1000 + number % 7);
  return 0;
}
"#;

fn main() -> ExitCode {
    // `cargo test --benches` and `cargo bench -- --list` only ask whether it starts.
    if std::env::args().any(|arg| arg == "--list" || arg == "--test") {
        return ExitCode::SUCCESS;
    }
    let named: Vec<usize> = std::env::args().filter_map(|arg| arg.parse().ok()).collect();
    let repository = Repository::new();
    for shard in 1..=SHARDS {
        let shard = format!("{shard}/{SHARDS}");
        repository.program(&["run", "--jobs", "16", "--run-id", "base", "--shard", &shard], &[0, 1]);
    }
    println!("| trials | command | CPU | memory at its peak | code |\n| ---: | --- | ---: | ---: | ---: |");
    for trials in if named.is_empty() { vec![CASES, 10 * CASES] } else { named } {
        let repeats = trials.div_ceil(CASES);
        for id in ["a", "b"] {
            (1..=SHARDS).for_each(|shard| repository.multiply(shard, id, repeats));
        }
        for (what, args) in [
            ("compare of 64 + 64 shards", &["compare", "a", "b"][..]),
            ("summary of 64 shards", &["summary", "a"]),
            ("report of 64 shards", &["report", "a"]),
            ("merge", &["merge", "a", "--run-id", "a"]),
            ("merge of a replay", &["merge", "b", "--run-id", "b"]),
            ("merge again", &["merge", "a", "--run-id", "a"]),
            ("compare", &["compare", "a", "b"]),
            ("summary", &["summary", "a"]),
            ("status", &["status", "a"]),
            ("report", &["report", "a"]),
        ] {
            let took = repository.program(args, &[0, 1, 3]);
            let (work, peak, code) = (took.work, took.peak / 1024, took.code);
            println!("| {} | {what} | {work:.1} s | {peak} MB | {code} |", repeats * CASES);
        }
        repository.remove(&["a", "b"]);
    }
    ExitCode::SUCCESS
}

/// What a program took.
struct Took {
    /// Seconds of the processors.
    work: f64,
    /// Its memory at its peak in KiB.
    peak: u64,
    code: i32,
}

struct Repository {
    folder: tempfile::TempDir,
    /// Outside this repository, whose files an agent would read otherwise.
    scratch: tempfile::TempDir,
}

impl Repository {
    fn new() -> Self {
        // On a disk: a million trials are more than most memories hold.
        let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a temporary folder");
        let root = folder.path();
        let write = |path: &str, text: &str| {
            let path = root.join(path);
            fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
            fs::write(path, text).expect("a file");
        };
        let mut offered = Vec::new();
        for skill in 0..SKILLS {
            let text = format!("---\nname: skill-{skill}\ndescription: Does {skill}.\n---\n\nDo it.\n");
            write(&format!("skills/skill-{skill}/SKILL.md"), &text);
            offered.push(format!("- skill-{skill}: Does {skill}. (file: r0/skill-{skill}/SKILL.md)\\\\n"));
            let rows = (skill..CASES).step_by(SKILLS).map(|case| format!("c{case},false,Prompt {case},Done\n"));
            let table = rows.fold("id,should_trigger,prompt,must_include\n".to_owned(), |table, row| table + &row);
            write(&format!("evals/skills/skill-{skill}/prompts.csv"), &table);
        }
        write("agent.c", &AGENT.replace("SKILLS", &offered.concat()));
        let mut compiler = Command::new("cc");
        let compiler = compiler.args(["-O2", "-o", "agent", "agent.c"]).current_dir(root);
        assert!(compiler.status().expect("a C compiler").success());
        let agent = root.join("agent");
        write("evals/evals.toml", &format!("isolation = \"agent\"\n[agents.codex]\ncommand = '{}'\n", agent.display()));
        Self { folder, scratch: tempfile::tempdir().expect("a temporary folder") }
    }

    fn shard(&self, id: &str, shard: usize) -> PathBuf {
        self.folder.path().join(format!("artifacts/skill-evals/{id}-shard-{shard}-of-{SHARDS}"))
    }

    /// Makes a shard of the run `id` of that of the base: with this number of repeats, and as a replay if it is `b`.
    fn multiply(&self, shard: usize, id: &str, repeats: usize) {
        let (from, to) = (self.shard("base", shard), self.shard(id, shard));
        let is_replay = id == "b";
        fs::create_dir_all(&to).expect("a folder");
        let read = |name: &str| fs::read_to_string(from.join(name)).expect(name);
        let cases = read("all-cases.jsonl").replace("\"trials\":1,", &format!("\"trials\":{repeats},"));
        fs::write(to.join("all-cases.jsonl"), &cases).expect("cases");
        let mut record: Value = serde_json::from_str(&read("run.json")).expect("a record");
        record["id"] = json!(to.file_name().expect("a name").to_string_lossy());
        record["planned"] = json!(record["planned"].as_u64().expect("a number") * repeats as u64);
        record["all_cases"] = json!(&blake3::hash(cases.as_bytes()).to_hex()[..32]);
        record["chosen"]["trials"] = json!(repeats);
        record["chosen"]["replay"] = json!(is_replay);
        fs::write(to.join("run.json"), record.to_string()).expect("a record");
        for name in ["plan.jsonl", "progress.jsonl"] {
            let (text, mut file) = (read(name), BufWriter::new(fs::File::create(to.join(name)).expect(name)));
            for number in 1..=repeats {
                for (at, line) in text.lines().enumerate() {
                    let mut line = line.replacen("\"trial\":1", &format!("\"trial\":{number}"), 1);
                    if is_replay && (at + number) % 7 == 0 {
                        line = line.replace("\"verdict\":\"pass\"", "\"verdict\":\"fail\"");
                    }
                    // A replayed trial has no grade, and each line has its digest.
                    let end = if is_replay && line.contains(",\"grade\":") { ",\"grade\":" } else { ",\"digest\":" };
                    if let Some((open, _)) = line.split_once(end) {
                        let sealed = store::with_digests(format!("{open}}}").as_bytes());
                        line = String::from_utf8(sealed).expect("a line");
                        line.pop();
                    }
                    writeln!(file, "{line}").expect(name);
                }
            }
        }
        if !is_replay {
            multiply_folders(&from.join("work"), &to.join("work"), repeats);
        }
    }

    fn remove(&self, ids: &[&str]) {
        for id in ids {
            let shards = (1..=SHARDS).map(|shard| self.shard(id, shard));
            for folder in shards.chain([self.folder.path().join("artifacts/skill-evals").join(id)]) {
                fs::remove_dir_all(folder).expect("a removed folder");
            }
        }
    }

    /// The program with these arguments, which ends with one of these codes.
    fn program(&self, args: &[&str], codes: &[i32]) -> Took {
        let figures = self.folder.path().join("figures");
        let mut command = Command::new("/usr/bin/time");
        let output = command
            .args(["-f", "%M %U %S", "-o"])
            .arg(&figures)
            .arg(env!("CARGO_BIN_EXE_skill-evals"))
            .args(args)
            .current_dir(self.folder.path())
            .env("HOME", self.folder.path())
            .env("SKILL_EVALS_SCRATCH", self.scratch.path())
            .stdout(Stdio::null())
            .output()
            .expect("it starts");
        let code = output.status.code().unwrap_or(-1);
        assert!(codes.contains(&code), "{args:?}: {code}: {}", String::from_utf8_lossy(&output.stderr));
        let text = fs::read_to_string(figures).expect("figures");
        let (peak, seconds) = text.lines().last().unwrap_or_default().split_once(' ').expect("figures");
        let work = seconds.split(' ').map(|figure| figure.parse::<f64>().expect("seconds")).sum();
        Took { work, peak: peak.parse().expect("KiB"), code }
    }
}

/// Makes this number of repeats of each trial in the directory `from`.
fn multiply_folders(from: &Path, to: &Path, repeats: usize) {
    for entry in WalkDir::new(from).min_depth(4).max_depth(4) {
        let entry = entry.expect("a trial");
        let trial = entry.path();
        let mode = to.join(trial.strip_prefix(from).expect("below").parent().expect("a mode"));
        let facts = fs::read_to_string(trial.join("meta.json")).expect("facts");
        let names: Vec<_> = fs::read_dir(trial).expect("files").map(|file| file.expect("a file").file_name()).collect();
        for number in 1..=repeats {
            let folder = mode.join(number.to_string());
            fs::create_dir_all(&folder).expect("a folder");
            for name in names.iter().filter(|name| *name != "meta.json") {
                fs::hard_link(trial.join(name), folder.join(name)).expect("a link");
            }
            let facts = facts.replacen("\"trial\": 1,", &format!("\"trial\": {number},"), 1);
            fs::write(folder.join("meta.json"), facts).expect("facts");
        }
    }
}
