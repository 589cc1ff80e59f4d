//! Exports in the programs that they are for. These programs are not installed here, and nothing of them is in this
//! repository: set the variables to where they are. Where one is not set, its test is ignored, also in CI.
//!
//! ```console
//! $ SKILL_CREATOR=…/skills/skill-creator PROMPTFOO=…/promptfoo HARBOR_PYTHON=…/bin/python OTLP_PYTHON=…/bin/python \
//!       cargo test -p skill-evals-cli --test real exports
//! ```

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::support::fixture::Fixture;
use crate::support::stored;
use libtest_mimic::{Completion, Trial};
use serde_json::Value;

type ExportTest = fn(&Path);

pub fn trials() -> Vec<Trial> {
    let tests: [(&str, &str, ExportTest); 4] = [
        ("SKILL_CREATOR", "skill_creators_viewer_and_aggregation_read_a_workspace", skill_creator),
        ("PROMPTFOO", "promptfoo_imports_the_results_and_counts_the_same", promptfoo),
        ("HARBOR_PYTHON", "harbors_model_takes_every_trajectory", atif),
        ("OTLP_PYTHON", "the_messages_of_the_protocol_take_every_span", otlp),
    ];
    let trial = |(variable, name, test): (&'static str, &str, ExportTest)| {
        Trial::ignorable_test(format!("exports::{name}"), move || {
            let Some(program) = std::env::var_os(variable).map(PathBuf::from) else {
                return Ok(Completion::ignored_with(format!("{variable} is not set")));
            };
            test(&program);
            Ok(Completion::Completed)
        })
    };
    tests.into_iter().map(trial).collect()
}

fn exported(format: &str, output: &str) -> Fixture {
    let fixture = stored::repository();
    stored::example(&fixture, "r", "2026-11-20T09:00:00Z", false);
    let ran = fixture.run(&["export", "r", "--to", format, "-o", output]);
    assert_eq!(ran.code, 0, "{}{}", ran.stdout, ran.stderr);
    fixture
}

fn run(command: &mut Command) -> String {
    let output = command.output().expect("it starts");
    let text = format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{command:?}: {text}");
    text
}

fn json(path: &Path) -> Value {
    serde_json::from_str(&std::fs::read_to_string(path).expect("a file")).expect("JSON")
}

fn skill_creator(program: &Path) {
    let fixture = exported("skill-creator", "workspace");
    let skill = fixture.root().join("workspace/greeting");
    let page = fixture.root().join("viewer.html");
    let benchmark = skill.join("benchmark.json");
    let viewer = program.join("eval-viewer/generate_review.py");
    let mut command = Command::new("python3");
    command.arg(viewer).arg(&skill).args(["--skill-name", "greeting", "--benchmark"]).arg(&benchmark);
    run(command.arg("--static").arg(&page));
    let page = std::fs::read_to_string(page).expect("a page");
    assert!(page.contains("Welcome Ada and keep the greeting.") && page.contains("greetings.txt"));
    let theirs = fixture.root().join("theirs.json");
    let aggregation = program.join("scripts/aggregate_benchmark.py");
    let told = run(Command::new("python3").arg(aggregation).arg(&skill).arg("-o").arg(&theirs));
    assert!(!told.contains("Warning"), "{told}");
    let (ours, theirs) = (json(&benchmark), json(&theirs));
    for figure in ["mean", "stddev", "min", "max"] {
        for of in ["pass_rate", "time_seconds", "tokens"] {
            let [ours, theirs] = [&ours, &theirs].map(|all| all["run_summary"]["with_skill"][of][figure].as_f64());
            assert_eq!(ours, theirs, "{of} {figure}");
        }
    }
    assert_eq!(ours["runs"].as_array().map(Vec::len), theirs["runs"].as_array().map(Vec::len));
}

fn promptfoo(program: &Path) {
    let fixture = exported("promptfoo", "results.json");
    let ours = json(&fixture.root().join("results.json"));
    let promptfoo = |args: &[&str]| {
        let mut command = Command::new(program);
        command.args(args).current_dir(fixture.root()).env("PROMPTFOO_CONFIG_DIR", fixture.root().join("promptfoo"));
        run(command.env("PROMPTFOO_DISABLE_TELEMETRY", "1").env("PROMPTFOO_DISABLE_UPDATE", "1"))
    };
    promptfoo(&["import", "results.json"]);
    let id = ours["evalId"].as_str().expect("an id");
    promptfoo(&["export", "eval", id, "-o", "back.json"]);
    let back = json(&fixture.root().join("back.json"));
    for count in ["successes", "failures", "errors"] {
        assert_eq!(ours["results"]["stats"][count], back["results"]["stats"][count], "{count}");
    }
    assert_eq!(back["results"]["stats"]["errors"], 1);
}

fn atif(python: &Path) {
    let fixture = exported("atif", "trajectories");
    let script = "import glob, sys\nfrom harbor.models.trajectories import Trajectory\n\
                  files = glob.glob('trajectories/*.json')\nassert len(files) == 14\n\
                  for file in files: Trajectory.model_validate_json(open(file).read())\n";
    run(Command::new(python).args(["-c", script]).current_dir(fixture.root()));
}

fn otlp(python: &Path) {
    let fixture = exported("otlp", "spans.json");
    // OTLP has ids in hexadecimal, where JSON of protocol buffers has base64.
    let script = "import base64, json\nfrom google.protobuf import json_format\n\
                  from opentelemetry.proto.trace.v1.trace_pb2 import TracesData\n\
                  def ids(value):\n\
                  \x20   if isinstance(value, list): return [ids(each) for each in value]\n\
                  \x20   if not isinstance(value, dict): return value\n\
                  \x20   names = ('traceId', 'spanId', 'parentSpanId')\n\
                  \x20   return {key: base64.b64encode(bytes.fromhex(each)).decode() if key in names else ids(each) for key, each in value.items()}\n\
                  data = json_format.ParseDict(ids(json.load(open('spans.json'))), TracesData())\n\
                  assert len(data.resource_spans) == 14\n\
                  for each in data.resource_spans:\n\
                  \x20   spans = each.scope_spans[0].spans\n\
                  \x20   assert len({span.span_id for span in spans}) == len(spans)\n\
                  \x20   for span in spans:\n\
                  \x20       assert len(span.trace_id) == 16 and len(span.span_id) == 8\n\
                  \x20       assert span.start_time_unix_nano <= span.end_time_unix_nano\n";
    run(Command::new(python).args(["-c", script]).current_dir(fixture.root()));
}
