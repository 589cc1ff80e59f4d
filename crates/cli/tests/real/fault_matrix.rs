//! The fault matrix: the result of a trial if something goes wrong, by fault, mode and kind of case, with the real
//! programs. The provider's faults come from a faulty stand-in, the program's from a wrapper around the real one.
//!
//! The table is printed in docs/contributing/fault-matrix.md; `FAULT_MATRIX=write cargo test -p skill-evals-cli --test real fault_matrix` writes it. Each
//! row is measured in one mode; in CI, the change chooses it. With the name of a mode in `FAULT_MATRIX`, its cells are measured;
//! with `all`, all.

use crate::support::repository;
use std::fmt::Write as _;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use super::follow_ups::load;
use crate::support::fixture::Fixture;
use crate::support::live::{GREETING, Live, patiently};
use crate::support::real::{HOW_TO_GET_AGENTS, change, needing, program_of, programs};
use crate::support::stand_in::{AnswerFault, Request, Turn};
use libtest_mimic::{Failed, Trial};
use serde_json::{Value, json};
use skill_evals_evidence::settings::mode::AgentKind;
use skill_evals_evidence::trial::outcome::TroubleKind;
use skill_evals_evidence::trial::outcome::Verdict::{self, Error, Fail, Pass};

/// The agents and the ways of their skills. An agent that is new is a mode here, and a word in the rows where it differs.
const MODES: [&str; 15] = [
    "codex",
    "codex-mcp",
    "cli-native",
    "mcp",
    "native",
    "mcp+native",
    "copilot",
    "gemini",
    "opencode",
    "qwen",
    "droid",
    "cline",
    "kimi",
    "vibe",
    "chat",
];

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
    /// What comes of it in most modes.
    most: Cell,
    /// What comes of it in these modes instead.
    except: &'static [(&'static [&'static str], Cell)],
    why: &'static str,
}

impl Row {
    fn cell(&self, mode: &str) -> Cell {
        self.except.iter().find(|(modes, _)| modes.contains(&mode)).map_or(self.most, |(_, cell)| *cell)
    }
}

const ERROR: Cell = Some((Error, Error));
const FAIL: Cell = Some((Fail, Fail));
const PASS: Cell = Some((Pass, Pass));

const CODEX: &[&str] = &["codex", "codex-mcp"];

/// Those whose sub-agents the mock model cannot start: Droid's need a login, Cline's count as itself, and Vibe's
/// are started by code.
const WITHOUT_SUB_AGENTS: &[&str] = &["droid", "cline", "vibe", "chat"];

/// Those without an MCP server.
const WITHOUT_SERVER: &[&str] = &[
    "codex",
    "cli-native",
    "native",
    "copilot",
    "gemini",
    "opencode",
    "qwen",
    "droid",
    "cline",
    "kimi",
    "vibe",
    "chat",
];

fn faulty(fault: AnswerFault) -> Turn {
    Turn::Faulty(Box::new(Turn::Say("Half an answer".to_owned())), fault)
}

/// A request that the provider finds invalid, in these words.
fn invalid(message: &str) -> Turn {
    let error = json!({ "type": "invalid_request_error", "message": message, "code": null });
    Turn::Error { status: 400, body: json!({ "type": "error", "error": error }) }
}

/// The sed command that drops the last line of any program's stream.
const NO_LAST: &str =
    r#"/"type":"\(result\|turn.completed\|idle\|completion\|run_result\|session.resume_hint\|done\)"\|"kind":"turn"/"#;

fn row(fault: &'static str, how: How, timeout: u32, most: Cell, why: &'static str) -> Row {
    Row { fault, how, timeout, most, except: &[], why }
}

fn rows() -> Vec<Row> {
    let mut rows = of_providers();
    rows.extend(of_models());
    rows.extend(of_programs());
    rows
}

/// What goes wrong at the provider.
fn of_providers() -> Vec<Row> {
    let answer = How::Answer;
    let too_long = || invalid("prompt is too long: 250000 tokens > 200000 maximum");
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
            answer(1, || faulty(AnswerFault::Stall)),
            12,
            ERROR,
            "the model did not answer",
        ),
        row(
            "a connection that breaks half-way",
            answer(1, || faulty(AnswerFault::Cut)),
            60,
            ERROR,
            "the provider failed",
        ),
        row("a first request that is too long", answer(0, too_long), 60, ERROR, "the provider failed"),
        Row {
            except: &[(WITHOUT_SUB_AGENTS, None)],
            ..row(
                "a sub-agent that is refused",
                How::SubAgent(|| Turn::Status(401)),
                60,
                ERROR,
                "the login was refused",
            )
        },
        Row {
            except: &[(WITHOUT_SUB_AGENTS, None)],
            ..row("a sub-agent without an answer", How::SubAgent(|| Turn::Hang), 15, ERROR, "the model did not answer")
        },
    ]
}

/// What goes wrong with the model.
fn of_models() -> Vec<Row> {
    let answer = How::Answer;
    let filtered = || invalid("Output blocked by content filtering policy");
    // It names no file: Copilot denies commands that name one outside the workspace.
    let endless = || Turn::Shell("yes | tail -n 1".to_owned());
    vec![
        Row {
            except: &[(&["copilot", "qwen"], PASS)],
            ..row(
                "a refusal",
                answer(1, || faulty(AnswerFault::Refusal)),
                60,
                FAIL,
                "the model's own doing: `completed`; some agents show it as a whole answer",
            )
        },
        Row {
            except: &[
                (&["codex", "codex-mcp", "copilot", "gemini"], None),
                (&["opencode", "qwen", "droid", "cline", "kimi", "vibe", "chat"], ERROR),
            ],
            ..row(
                "a filtered answer",
                answer(1, filtered),
                60,
                FAIL,
                "the model's own doing: `completed`; other providers say that as a refusal; some agents show any failure alike",
            )
        },
        Row {
            except: &[(&["copilot", "gemini", "qwen", "cline", "kimi"], ERROR)],
            ..row(
                "an empty first answer",
                answer(0, || Turn::Several(Vec::new())),
                60,
                FAIL,
                "the model's own doing: `final-message`; some agents say that the provider failed",
            )
        },
        Row {
            except: &[(&["droid"], PASS)],
            ..row(
                "the most tokens",
                answer(1, || faulty(AnswerFault::MaxTokens)),
                40,
                FAIL,
                "the model's own doing: `completed`; Copilot asks until the timeout; Cline stops the loop; Droid shows a whole answer",
            )
        },
        row("a command that does not end", answer(1, endless), 40, FAIL, "the agent's own doing: `in-time`"),
        row(
            "the same call again and again",
            answer(1, || Turn::Shell("pwd".to_owned())),
            30,
            FAIL,
            "the model's own doing: `in-time`, or `completed` where the agent stops it",
        ),
    ]
}

/// What goes wrong with the programs.
fn of_programs() -> Vec<Row> {
    vec![
        row("a crash before the end", How::Wrapper("crash"), 60, ERROR, "the agent crashed"),
        row("the last line lost", How::Wrapper("lost"), 12, ERROR, "the stream stops before its end"),
        row("the last line cut", How::Wrapper("cut"), 60, ERROR, "the stream stops before its end"),
        row("the last line without its line break", How::Wrapper("open"), 60, PASS, "the line is whole"),
        row("no exit after the end", How::Wrapper("hang"), 40, FAIL, "the agent's own doing: `in-time`"),
        Row {
            except: &[(CODEX, Some((Pass, Fail)))],
            ..row(
                "a damaged line over the use of the skill",
                How::WrapperOverUse("damage"),
                60,
                ERROR,
                "it may have been anything; codex's rollout tells of its commands and calls all the same",
            )
        },
        Row {
            except: &[(WITHOUT_SERVER, None)],
            ..row(
                "the MCP server ends at the call",
                How::ServerOverUse,
                60,
                ERROR,
                "the skill was wanted, and what would have come of it nobody knows",
            )
        },
    ]
}

fn script(name: &str) -> String {
    match name {
        "crash" => format!("\"$real\" \"$@\" | sed -u '{NO_LAST}Q'\nkill -9 $$"),
        "lost" => format!("\"$real\" \"$@\" | sed -u '{NO_LAST}d'"),
        "cut" => format!("\"$real\" \"$@\" | sed -u '{NO_LAST}s/.$//'"),
        "open" => {
            let last = NO_LAST.trim_matches('/');
            // OpenCode writes more behind that line.
            let print = format!("if grep -q '{last}' <<< \"$line\"; then printf %s \"$line\"; b=1; else echo \"$line\"; fi");
            format!("\"$real\" \"$@\" | while IFS= read -r line; do [ -z \"$b\" ] || echo; b=; {print}; done")
        }
        "hang" => "\"$real\" \"$@\"\nexec sleep 600".to_owned(),
        _ => r#""$real" "$@" | sed -u '/"\(tool\|tool_use\|command_execution\|mcp_tool_call\|tool.execution_complete\|tool_call\|content_end\|tool_result\)"/s/.$//'"#.to_owned(),
    }
}

/// Two rows are measured at once: each runs several agents.
static RUNNING: [Mutex<()>; 2] = [Mutex::new(()), Mutex::new(())];

pub fn trials() -> Vec<Trial> {
    let mut trials = vec![Trial::test("fault_matrix::the_table_is_the_one_in_the_docs", documented)];
    let needed = ["codex", "claude", "copilot", "gemini", "opencode", "qwen", "droid", "cline", "kimi", "vibe"];
    let missing = needed.into_iter().find(|program| !programs().join(program).exists());
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
    match (request.step, uses) {
        (0, true) => load(request),
        (0, false) if offers(request, "Glob") => {
            Turn::Call { tool: "Glob".to_owned(), input: json!({ "pattern": "*.md" }) }
        }
        (0, false) => Turn::Shell("pwd".to_owned()),
        _ => Turn::Say("Ahoy, Ada! AHOY_MARKER".to_owned()),
    }
}

fn offers(request: &Request, tool: &str) -> bool {
    request.tools.iter().any(|offered| offered == tool)
}

/// What the model does that has a sub-agent do a part, and how its provider answers that one.
fn delegates(request: &Request, of_sub_agent: fn() -> Turn) -> Turn {
    const PART: &str = "Help.";
    let claude = json!({ "description": "d", "prompt": PART, "subagent_type": "general-purpose" });
    let copilot =
        json!({ "description": "d", "name": "part", "prompt": PART, "agent_type": "general-purpose", "mode": "sync" });
    let kimi = json!({ "description": "d", "prompt": PART, "subagent_type": "coder" });
    let tools = [
        ("Agent", if offers(request, "AgentSwarm") { kimi } else { claude.clone() }),
        ("Task", claude.clone()),
        ("agent", claude),
        ("invoke_agent", json!({ "agent_name": "generalist", "prompt": PART })),
        // OpenCode's, which has no tool to list agents, and Copilot's.
        (
            "task",
            if offers(request, "list_agents") {
                copilot
            } else {
                json!({ "description": "d", "prompt": PART, "subagent_type": "general" })
            },
        ),
        ("multi_agent_v1__spawn_agent", json!({ "message": PART })),
    ];
    let waits = "multi_agent_v1__wait_agent";
    match request.step {
        _ if request.prompt.contains(PART) => of_sub_agent(),
        // Qwen Code's sub-agents work in the background, and this comes at their end.
        _ if request.prompt.contains("<task-notification>") => well(request, false),
        0 => {
            let (tool, input) =
                tools.into_iter().find(|(tool, _)| offers(request, tool)).expect("a tool for sub-agents");
            Turn::Call { tool: tool.to_owned(), input }
        }
        1 if offers(request, waits) => {
            let started: Value = serde_json::from_str(&request.tool_results[0]).unwrap_or_default();
            let input = json!({ "targets": [started["agent_id"]], "timeout_ms": 60_000 });
            Turn::Call { tool: waits.to_owned(), input }
        }
        _ => well(request, false),
    }
}

/// The modes that are measured of the row with this number, each with its cell.
fn measured(number: usize, row: &Row) -> Vec<(&'static str, (Verdict, Verdict))> {
    let wanted = std::env::var("FAULT_MATRIX").unwrap_or_default();
    let share = change().unwrap_or_default();
    let is_measured = |at: usize| match wanted.as_str() {
        "all" => true,
        mode if MODES.contains(&mode) => MODES[at] == mode,
        _ => (number + at + share).is_multiple_of(MODES.len()),
    };
    let modes = MODES.into_iter().enumerate().filter(|(at, _)| is_measured(*at));
    modes.filter_map(|(_, mode)| Some((mode, row.cell(mode)?))).collect()
}

/// Runs both cases in the modes that are measured of the row with this number, and compares each verdict with the table's.
fn cells(number: usize, row: &Row) -> Result<(), Failed> {
    let asked = measured(number, row);
    if asked.is_empty() {
        return Ok(());
    }
    patiently(row.timeout, |timeout| cells_in(row, &asked, timeout))
}

/// The same, with this many seconds until the timeout.
fn cells_in(row: &Row, asked: &[(&str, (Verdict, Verdict))], timeout: u32) -> Result<(), Failed> {
    // OpenCode works for several seconds before it asks its model.
    let late = if asked.iter().any(|(mode, _)| *mode == "opencode") { 10 } else { 0 };
    let cases = format!(
        "id,should_trigger,prompt,sandbox,timeout_s\npositive,true,Greet Ada.,workspace-write,{0}\n\
         negative,false,What is here?,workspace-write,{0}\n",
        timeout + late
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
    let modes: Vec<&str> = asked.iter().flat_map(|(mode, _)| ["--mode", mode]).collect();
    let args = [&modes[..], &["--jobs", "6"]].concat();
    let ran = if refused.is_some() { live.run_with_own_retries(&args) } else { live.run(&args) };
    let mut wrong = String::new();
    for &(mode, (positive, negative)) in asked {
        for (case, expected) in [("positive", positive), ("negative", negative)] {
            let Some(trial) = live.kept("greeting", case, mode) else {
                return Err(format!("{case} in {mode} was not kept: {}{}", ran.stdout, ran.stderr).into());
            };
            let kind = trial.grade.trouble.as_ref().map(|trouble| trouble.kind);
            let known = refused.is_none() || kind == Some(TroubleKind::RateLimit);
            if trial.verdict() != expected || !known {
                let _ = writeln!(
                    wrong,
                    "{case} in {mode}: {}, expected {expected} (FAULT_MATRIX={mode} measures it again)\n{:#?}\n{:?}",
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
    let programs = programs().canonicalize().unwrap_or_else(|_| programs());
    let packages = programs.parent().expect("node_modules");
    // Vibe is in a virtual environment, whose Python is elsewhere.
    let environment = packages.with_file_name("vibe");
    let python = environment.join("bin/python3").canonicalize().unwrap_or_default();
    let library = python.ancestors().nth(2).unwrap_or(&environment);
    let own = Path::new(env!("CARGO_BIN_EXE_skill-evals"));
    let shown = [packages, own, &environment, library].into_iter().filter(|path| path.exists());
    let shown: Vec<String> = shown.map(|path| format!("'{}'", path.display())).collect();
    let mut settings = format!("isolation_read = [{}]\n", shown.join(", "));
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
    let mut text = format!(
        "# What verdict does a fault give?\n\n\
         The verdicts of a case that should trigger, and of one that should not: in most modes, and in those that differ. `–` is a\n\
         fault that a mode cannot have. An `error` could not be measured; it is neither a failure nor a pass.\n\n\
         The table comes from `crates/cli/tests/real/fault_matrix.rs`, which checks it against the real programs: some faults with each\n\
         change, each in one mode, and all each night. The modes are\n`{}`.\n\n\
         | fault | verdicts | except | why |\n| --- | --- | --- | --- |\n",
        MODES.join("`, `")
    );
    let shown = |cell: Cell| cell.map_or("–".to_owned(), |(positive, negative)| format!("{positive} / {negative}"));
    for row in rows() {
        let except: Vec<_> =
            row.except.iter().map(|(modes, cell)| format!("{}: {}", modes.join(", "), shown(*cell))).collect();
        let _ = writeln!(text, "| {} | {} | {} | {} |", row.fault, shown(row.most), except.join("; "), row.why);
    }
    text
}

fn documented() -> Result<(), Failed> {
    let path = repository().join("docs/contributing/fault-matrix.md");
    if std::env::var_os("FAULT_MATRIX").is_some_and(|value| value == "write") {
        fs::write(&path, rendered()).map_err(|error| Failed::from(error.to_string()))?;
    }
    let found = fs::read_to_string(&path).map_err(|error| Failed::from(error.to_string()))?;
    if found == rendered() {
        Ok(())
    } else {
        Err("docs/contributing/fault-matrix.md is not the table; `FAULT_MATRIX=write cargo test -p skill-evals-cli --test real fault_matrix` writes it"
            .into())
    }
}
