//! The fault matrix: the result of a trial if something goes wrong, by fault, mode and kind of case, with the real
//! programs. The provider's faults come from a faulty stand-in, the program's from a wrapper around the real one.
//!
//! The table is printed in docs/contributing/fault-matrix.md; `FAULT_MATRIX=write cargo test --test real fault_matrix` writes it. Half of its
//! cells are measured, like the squares of one color; all of them with `FAULT_MATRIX=all`.

use std::fmt::Write as _;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use crate::support::fixture::Fixture;
use crate::support::live::{GREETING, Live, OPEN_GREETING};
use crate::support::real::{HOW_TO_GET_AGENTS, needing, program_of, programs};
use crate::support::stand_in::{Fault, Protocol, Request, Turn};
use libtest_mimic::{Failed, Trial};
use serde_json::{Value, json};
use skill_evals::settings::mode::AgentKind;
use skill_evals::trial::outcome::TroubleKind;
use skill_evals::trial::outcome::Verdict::{self, Error, Fail, Pass};

/// Agent and delivery.
const MODES: [&str; 7] = ["codex", "codex-mcp", "cli-native", "mcp", "native", "mcp+native", "copilot"];

/// What goes wrong.
enum How {
    /// Instead of the model's answer to the request of this number.
    Answer(usize, fn() -> Turn),
    /// The same, a refusal for now with this status. The agents retry as often as they do by themselves, and so do we.
    Refused(usize, u16),
    /// Instead of the answer to a sub-agent, which the model starts and waits for.
    SubAgent(fn() -> Turn),
    /// A shell script around the program: `$real` is the real one.
    Wrapper(&'static str),
    /// The same, and the model uses the skill, whether it should or not.
    WrapperOverUse(&'static str),
    /// The MCP server ends when a tool is called, and the model uses the skill, whether it should or not.
    ServerOverUse,
}

/// The verdicts of a case that should trigger and of one that should not; nothing where the fault cannot be.
type Cell = Option<(Verdict, Verdict)>;

/// A row of the table.
struct Row {
    fault: &'static str,
    how: How,
    /// Seconds until the timeout.
    timeout: u32,
    /// What comes of it in each of [`MODES`].
    cells: [Cell; MODES.len()],
    why: &'static str,
}

const ERROR: [Cell; MODES.len()] = [Some((Error, Error)); MODES.len()];
const FAIL: [Cell; MODES.len()] = [Some((Fail, Fail)); MODES.len()];
const PASS: [Cell; MODES.len()] = [Some((Pass, Pass)); MODES.len()];

/// Why an answer that ended early has its verdict.
const EARLY_END: &str = "the model's own doing: `completed`; Copilot shows it as a whole answer";

fn faulty(fault: Fault) -> Turn {
    Turn::Faulty(Box::new(Turn::Say("Half an answer".to_owned())), fault)
}

/// A request that the provider finds invalid, in these words.
fn invalid(message: &str) -> Turn {
    let error = json!({ "type": "invalid_request_error", "message": message, "code": null });
    Turn::Error { status: 400, body: json!({ "type": "error", "error": error }) }
}

/// The sed command that drops the last line of either program's stream.
const NO_LAST: &str = r#"/"type":"\(result\|turn.completed\)"/"#;

fn rows() -> Vec<Row> {
    let mut rows = of_providers();
    rows.extend(of_programs());
    rows
}

/// What goes wrong at the provider and with the model.
fn of_providers() -> Vec<Row> {
    let row = |fault, how, timeout, cells, why| Row { fault, how, timeout, cells, why };
    let (fail, pass, error) = (Some((Fail, Fail)), Some((Pass, Pass)), Some((Error, Error)));
    let early_end = [fail, fail, fail, fail, fail, fail, pass];
    let answer = |step, turn| How::Answer(step, turn);
    vec![
        row("none", answer(9, || Turn::Hang), 60, PASS, "the checks decide"),
        row("401", answer(0, || Turn::Status(401)), 60, ERROR, "the login was refused"),
        row("429", How::Refused(0, 429), 20, ERROR, "refused for now; tried again"),
        row("503", How::Refused(1, 503), 20, ERROR, "refused for now; tried again"),
        row("529", How::Refused(1, 529), 40, ERROR, "refused for now; tried again"),
        row("400", answer(1, || Turn::Status(400)), 60, ERROR, "the provider failed"),
        row("no answer to the first request", answer(0, || Turn::Hang), 12, ERROR, "the model did not answer"),
        row("no answer to the second request", answer(1, || Turn::Hang), 12, ERROR, "the model did not answer"),
        row(
            "an answer that stalls half-way",
            answer(1, || faulty(Fault::Stall)),
            12,
            ERROR,
            "the model did not answer",
        ),
        row("a connection that breaks half-way", answer(1, || faulty(Fault::Cut)), 60, ERROR, "the provider failed"),
        row("a refusal", answer(1, || faulty(Fault::Refusal)), 60, early_end, EARLY_END),
        row(
            "a filtered answer",
            answer(1, || invalid("Output blocked by content filtering policy")),
            60,
            [None, None, fail, fail, fail, fail, None],
            "the model's own doing: `completed`; codex's provider says that as a refusal",
        ),
        row(
            "an empty first answer",
            answer(0, || Turn::Several(Vec::new())),
            60,
            [fail, fail, fail, fail, fail, fail, error],
            "the model's own doing: `final-message`; Copilot says that the provider failed",
        ),
        row(
            "a first request that is too long",
            answer(0, || invalid("prompt is too long: 250000 tokens > 200000 maximum")),
            60,
            ERROR,
            "the provider failed",
        ),
        row(
            "the most tokens",
            answer(1, || faulty(Fault::MaxTokens)),
            40,
            FAIL,
            "the model's own doing: `completed`; Copilot asks until the timeout",
        ),
        row(
            "a command that does not end",
            answer(1, || Turn::Shell("cat /dev/zero | tail".to_owned())),
            40,
            FAIL,
            "the agent's own doing: `in-time`",
        ),
        row("a sub-agent that is refused", How::SubAgent(|| Turn::Status(401)), 60, ERROR, "the login was refused"),
        row("a sub-agent without an answer", How::SubAgent(|| Turn::Hang), 15, ERROR, "the model did not answer"),
    ]
}

/// What goes wrong with the programs.
fn of_programs() -> Vec<Row> {
    let row = |fault, how, timeout, cells, why| Row { fault, how, timeout, cells, why };
    let error = Some((Error, Error));
    vec![
        row("a crash before the end", How::Wrapper("crash"), 60, ERROR, "the agent crashed"),
        row("the last line lost", How::Wrapper("lost"), 12, ERROR, "the stream stops before its end"),
        row("the last line cut", How::Wrapper("cut"), 60, ERROR, "the stream stops before its end"),
        row("the last line without its line break", How::Wrapper("open"), 60, PASS, "the line is whole"),
        row("no exit after the end", How::Wrapper("hang"), 40, PASS, "measured; `in-time` says so"),
        row(
            "a damaged line over the use of the skill",
            How::WrapperOverUse("damage"),
            60,
            [Some((Pass, Fail)), Some((Pass, Fail)), error, error, error, error, error],
            "codex's rollout tells of its commands and calls all the same; elsewhere it may have been anything",
        ),
        row(
            "the MCP server ends at the call",
            How::ServerOverUse,
            60,
            [None, error, None, error, None, error, None],
            "the skill was wanted, and what would have come of it nobody knows",
        ),
    ]
}

fn script(name: &str) -> String {
    match name {
        "crash" => format!("\"$real\" \"$@\" | sed -u '{NO_LAST}Q'\nkill -9 $$"),
        "lost" => format!("\"$real\" \"$@\" | sed -u '{NO_LAST}d'"),
        "cut" => format!("\"$real\" \"$@\" | sed -u '{NO_LAST}s/.$//'"),
        "open" => {
            let last = NO_LAST.trim_matches('/');
            let print = format!("if grep -q '{last}' <<< \"$line\"; then printf %s \"$line\"; else echo \"$line\"; fi");
            format!("\"$real\" \"$@\" | while IFS= read -r line; do {print}; done")
        }
        "hang" => "\"$real\" \"$@\"\nexec sleep 600".to_owned(),
        _ => r#""$real" "$@" | sed -u '/"\(tool_use\|command_execution\|mcp_tool_call\|tool.execution_complete\)"/s/.$//'"#.to_owned(),
    }
}

/// Two rows are measured at once: each runs several agents.
static RUNNING: [Mutex<()>; 2] = [Mutex::new(()), Mutex::new(())];

pub fn trials() -> Vec<Trial> {
    let mut trials = vec![Trial::test("fault_matrix::the_table_is_the_one_in_the_docs", documented)];
    let missing = ["codex", "claude", "copilot"].into_iter().find(|program| !programs().join(program).exists());
    for (at, row) in rows().into_iter().enumerate() {
        let name = row.fault.replace(|c: char| !c.is_alphanumeric(), "_");
        let measured = move || {
            let _one = RUNNING[at % RUNNING.len()].lock().unwrap_or_else(PoisonError::into_inner);
            cells(at, &row)
        };
        trials.push(needing(&format!("fault_matrix::{name}"), missing, HOW_TO_GET_AGENTS, measured));
    }
    trials
}

/// What the model does where nothing goes wrong: it uses the skill where it should, or looks around, and answers.
fn well(request: &Request, uses: bool) -> Turn {
    let call = |tool: &str, input| Turn::Call { tool: tool.to_owned(), input };
    match (request.step, uses) {
        (0, false) => match request.protocol {
            Protocol::Responses | Protocol::Completions | Protocol::Gemini => Turn::Shell("pwd".to_owned()),
            Protocol::Messages => call("Glob", json!({ "pattern": "*.md" })),
        },
        (0, true) if request.tools.iter().any(|tool| tool == "mcp__skilljack__skill") => {
            call("mcp__skilljack__skill", json!({ "name": "greeting" }))
        }
        (0, true) if request.tools.iter().any(|tool| tool == "skill") => call("skill", json!({ "skill": "greeting" })),
        (0, true) if request.protocol == Protocol::Messages => call("Skill", json!({ "skill": "greeting" })),
        (0, true) => Turn::Shell(OPEN_GREETING.to_owned()),
        _ => Turn::Say("Ahoy, Ada! AHOY_MARKER".to_owned()),
    }
}

/// What the model does that has a sub-agent do a part, and how its provider answers that one.
fn delegates(request: &Request, of_sub_agent: fn() -> Turn) -> Turn {
    const PART: &str = "Help.";
    let codex = |tool: &str, input| Turn::Call { tool: format!("multi_agent_v1__{tool}"), input };
    match (request.protocol, request.step) {
        _ if request.prompt == PART => of_sub_agent(),
        (Protocol::Messages, 0) => {
            let input = json!({ "description": "d", "prompt": PART, "subagent_type": "general-purpose" });
            let tool = if request.tools.iter().any(|tool| tool == "Agent") { "Agent" } else { "Task" };
            Turn::Call { tool: tool.to_owned(), input }
        }
        (Protocol::Responses, 0) if request.tools.iter().any(|tool| tool == "task") => {
            let input = json!({ "description": "d", "name": "part", "prompt": PART, "agent_type": "general-purpose", "mode": "sync" });
            Turn::Call { tool: "task".to_owned(), input }
        }
        (Protocol::Responses, 0) => codex("spawn_agent", json!({ "message": PART })),
        (Protocol::Responses, 1) if !request.tools.iter().any(|tool| tool == "task") => {
            let started: Value = serde_json::from_str(&request.tool_results[0]).unwrap_or_default();
            codex("wait_agent", json!({ "targets": [started["agent_id"]], "timeout_ms": 20_000 }))
        }
        _ => well(request, false),
    }
}

/// The modes that are measured of the row with this number, each with its cell.
fn measured(number: usize, row: &Row) -> impl Iterator<Item = (&'static str, (Verdict, Verdict))> {
    let all = std::env::var_os("FAULT_MATRIX").is_some();
    let cells = MODES.iter().zip(row.cells).enumerate();
    let chosen = cells.filter(move |(at, _)| all || (number + at).is_multiple_of(2));
    chosen.filter_map(|(_, (mode, cell))| Some((*mode, cell?)))
}

/// Runs both cases in the modes that are measured of the row with this number, and compares each verdict with the table's.
fn cells(number: usize, row: &Row) -> Result<(), Failed> {
    let cases = format!(
        "id,should_trigger,prompt,sandbox,timeout_s\npositive,true,Greet Ada.,workspace-write,{0}\n\
         negative,false,What is here?,workspace-write,{0}\n",
        row.timeout
    );
    let fixture = Fixture::new()
        .skill_text("greeting", GREETING)
        .file("skills/greeting/references/formal.md", "Say \"Good day\".\n")
        .prompts("greeting", cases);
    let step = match row.how {
        How::Answer(step, _) | How::Refused(step, _) => step,
        _ => usize::MAX,
    };
    let answer = if let How::Answer(_, turn) = row.how { Some(turn) } else { None };
    let refused = if let How::Refused(_, status) = row.how { Some(status) } else { None };
    let instead = move || match (answer, refused) {
        (Some(turn), _) => Some(turn()),
        (None, status) => status.map(Turn::Status),
    };
    let of_sub_agent = if let How::SubAgent(turn) = row.how { Some(turn) } else { None };
    let always = matches!(row.how, How::WrapperOverUse(_) | How::ServerOverUse);
    let live = Live::over(fixture, move |request| match (instead(), of_sub_agent) {
        (Some(turn), _) if request.step >= step => turn,
        (_, Some(turn)) => delegates(request, turn),
        _ => well(request, always || request.prompt.contains("Greet")),
    });
    if let How::Wrapper(name) | How::WrapperOverUse(name) = row.how {
        wrap(live.fixture.root(), &script(name));
    } else if let How::ServerOverUse = row.how {
        wrap_server(live.fixture.root());
    }
    let asked = || measured(number, row);
    if asked().next().is_none() {
        return Ok(());
    }
    let modes: Vec<&str> = asked().flat_map(|(mode, _)| ["--mode", mode]).collect();
    let args = [&modes[..], &["--jobs", "6"]].concat();
    let ran = if refused.is_some() { live.run_with_own_retries(&args) } else { live.run(&args) };
    let mut wrong = String::new();
    for (mode, (positive, negative)) in asked() {
        for (case, expected) in [("positive", positive), ("negative", negative)] {
            let Some(trial) = live.kept("greeting", case, mode) else {
                return Err(format!("{case} in {mode} was not kept: {}{}", ran.stdout, ran.stderr).into());
            };
            let kind = trial.grade.trouble.as_ref().map(|trouble| trouble.kind);
            let known = refused.is_none() || kind == Some(TroubleKind::RateLimit);
            if trial.verdict() != expected || !known {
                let _ = writeln!(
                    wrong,
                    "{case} in {mode}: {}, expected {expected}\n{:#?}\n{:?}",
                    trial.verdict(),
                    trial.grade,
                    trial.meta.ending
                );
            }
        }
    }
    if wrong.is_empty() { Ok(()) } else { Err(wrong.into()) }
}

/// Puts a script in the place of every agent's program.
pub fn wrap(root: &Path, script: &str) {
    // An isolated agent sees only the wrapper's own directory.
    let programs = programs().canonicalize().expect("the agents' programs");
    let packages = programs.parent().expect("node_modules").display().to_string();
    let mut settings = format!("isolation_read = ['{packages}', '{}']\n", env!("CARGO_BIN_EXE_skill-evals"));
    for kind in AgentKind::ALL {
        let agent = kind.as_str();
        let path = root.join(format!("{agent}.sh"));
        let text = format!("#!/bin/bash\nreal='{}'\n{script}\n", program_of(kind).display());
        fs::write(&path, text).expect("a script");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("permissions");
        let _ = writeln!(settings, "[agents.{agent}]\ncommand = '{}'", path.display());
    }
    fs::write(root.join("evals/evals.toml"), settings).expect("settings");
}

/// Puts a server in the place of ours that hears no call, and ends where one comes.
fn wrap_server(root: &Path) {
    let path = root.join("server.sh");
    fs::write(&path, "#!/bin/bash\nsed -u '/\"tools\\/call\"/Q' | \"$1\" mcp --skills \"$2\"\n").expect("a script");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("permissions");
    let program = env!("CARGO_BIN_EXE_skill-evals");
    let settings = format!("[mcp]\ncommand = '{}'\nargs = ['{program}', '{{skills}}']\n", path.display());
    fs::write(root.join("evals/evals.toml"), settings).expect("settings");
}

/// The table as docs/ has it.
fn rendered() -> String {
    let mut text = "# What verdict does a fault give?\n\n\
        Each cell shows the verdict of a case that should trigger, and of one that should not. The table comes from\n\
        `tests/real/fault_matrix.rs`, which checks it against the real programs: half of the cells with each change, all each night. An\n\
        `error` could not be measured; it is neither a failure nor a pass.\n\n| fault |"
        .to_owned();
    for mode in MODES {
        let _ = write!(text, " {mode} |");
    }
    text.push_str(" why |\n| --- |");
    text.push_str(&" --- |".repeat(MODES.len() + 1));
    for row in rows() {
        let _ = write!(text, "\n| {} |", row.fault);
        for cell in row.cells {
            let _ = match cell {
                Some((positive, negative)) => write!(text, " {positive} / {negative} |"),
                None => write!(text, " – |"),
            };
        }
        let _ = write!(text, " {} |", row.why);
    }
    text.push('\n');
    text
}

fn documented() -> Result<(), Failed> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/contributing/fault-matrix.md");
    if std::env::var_os("FAULT_MATRIX").is_some_and(|value| value == "write") {
        fs::write(&path, rendered()).map_err(|error| Failed::from(error.to_string()))?;
    }
    let found = fs::read_to_string(&path).map_err(|error| Failed::from(error.to_string()))?;
    if found == rendered() {
        Ok(())
    } else {
        Err("docs/contributing/fault-matrix.md is not the table; `FAULT_MATRIX=write cargo test --test real fault_matrix` writes it"
            .into())
    }
}
