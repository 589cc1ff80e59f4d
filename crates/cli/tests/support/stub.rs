//! A repository whose agent is a shell script in codex's place: it answers at once, and does what a test asks of it.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use serde_json::Value;

pub use super::fixture::ran;
use super::fixture::{Args, Fixture, Ran, temporary};
use skill_evals_results::store::with_digests;

/// The repository and the directory for scratch files, both outside every other repository.
pub struct Stub {
    pub fixture: Fixture,
    scratch: tempfile::TempDir,
}

/// What codex writes of the skills it offers: without it nobody could say that the skill was delivered.
const OFFER: &str = r#"mkdir -p "$CODEX_HOME/sessions"
printf '%s\n' '{"type":"response_item","payload":{"type":"message","role":"developer","content":[{"text":"<skills_instructions>\n### Available skills\n- tidy: x (file: r0/tidy/SKILL.md)\n</skills_instructions>"}]}}' > "$CODEX_HOME/sessions/rollout-1.jsonl"
"#;

/// The end of a turn that went well, with `$answer`, if it is set, as the message.
pub const ANSWER: &str = r#"printf '%s\n' '{"type":"thread.started","thread_id":"1"}' '{"type":"turn.started"}' '{"type":"item.completed","item":{"id":"0","type":"agent_message","text":"'"${answer:-Done.}"'"}}' '{"type":"turn.completed","usage":{"input_tokens":10,"output_tokens":5}}'
"#;

/// The start of an agent that activates skills as codex does: it reads the skill's file, and says what the file says. Where
/// there is a skill `other`, it is offered too.
pub const ACTIVATES: &str = r#"[ ! -e .agents/skills/other ] || sed -i 's|(file: r0/tidy/SKILL.md)|(file: r0/tidy/SKILL.md)\\n- other: x (file: r0/other/SKILL.md)|' "$CODEX_HOME/sessions/rollout-1.jsonl"
activate() {
  text=$(cat ".agents/skills/$1/SKILL.md" | sed ':a;N;$!ba;s/\n/\\n/g')
  printf '%s\n' '{"type":"item.completed","item":{"id":"1","type":"command_execution","command":"cat .agents/skills/'$1'/SKILL.md","aggregated_output":"'"$text"'","exit_code":0,"status":"completed"}}'
}
"#;

/// These lines of a progress file as those of trials without a grade.
pub fn without_grades(lines: &str) -> String {
    let open =
        |line: &str| line.split_once(",\"grade\":").map_or_else(|| line.to_owned(), |(open, _)| format!("{open}}}"));
    lines.lines().map(|line| open(line) + "\n").collect()
}

/// A turn that the provider refused.
pub const REFUSED: &str = r#"printf '%s\n' '{"type":"thread.started","thread_id":"1"}' '{"type":"turn.started"}' '{"type":"turn.failed","error":{"message":"exceeded retry limit, last status: 429 Too Many Requests"}}'
exit 1
"#;

impl Stub {
    /// A skill `tidy` with this many negative cases `c0`, `c1`, …, and an agent that runs `body` and then answers.
    pub fn new(cases: usize, body: &str) -> Self {
        let rows = (0..cases).map(|index| format!("c{index},false,Prompt {index}"));
        let table: Vec<String> = std::iter::once("id,should_trigger,prompt".to_owned()).chain(rows).collect();
        let fixture = Fixture::new().skill("tidy").prompts("tidy", table.join("\n"));
        let scratch = temporary();
        let stub = Self { fixture, scratch };
        stub.settings("");
        stub.body(body);
        stub
    }

    /// Replaces what the agent does. `$prompt` is what it was asked; every start is a line of `starts`.
    pub fn body(&self, body: &str) {
        let folder = self.fixture.root().display().to_string();
        let script = format!(
            "#!/bin/sh\nfolder='{folder}'\nfor prompt; do :; done\necho \"$prompt\" >> \"$folder/starts\"\n{OFFER}{body}\n{ANSWER}"
        );
        // Renamed into place: a script that is just being run cannot be written.
        let new = self.fixture.root().join("agent.new");
        fs::write(&new, script).expect("a script");
        fs::set_permissions(&new, fs::Permissions::from_mode(0o755)).expect("permissions");
        fs::rename(new, self.fixture.root().join("agent.sh")).expect("a script");
    }

    /// Writes `evals.toml`, with `more` before its tables.
    pub fn settings(&self, more: &str) {
        let agent = self.fixture.root().join("agent.sh");
        let text = format!("retry_wait_s = 0.02\n{more}\n[agents.codex]\ncommand = '{}'\n", agent.display());
        fs::write(self.fixture.root().join("evals/evals.toml"), text).expect("settings");
    }

    /// Writes a file of the repository. One that begins with `#!` is executable.
    pub fn write(&self, path: &str, text: &str) {
        let path = self.root().join(path);
        fs::create_dir_all(path.parent().expect("a directory")).expect("a directory");
        fs::write(&path, text).expect("a file");
        if text.starts_with("#!") {
            fs::set_permissions(path, fs::Permissions::from_mode(0o755)).expect("permissions");
        }
    }

    pub fn root(&self) -> &Path {
        self.fixture.root()
    }

    pub fn scratch(&self) -> &Path {
        self.scratch.path()
    }

    /// The directory of the run `id`.
    pub fn run_folder(&self, id: &str) -> PathBuf {
        self.root().join("artifacts/skill-evals").join(id)
    }

    /// What the agent was asked, start by start.
    pub fn starts(&self) -> Vec<String> {
        let text = fs::read_to_string(self.root().join("starts")).unwrap_or_default();
        text.lines().map(str::to_owned).collect()
    }

    pub fn command(&self, args: &[&str]) -> Command {
        let mut command = self.with_variables(Command::new(env!("CARGO_BIN_EXE_skill-evals")));
        command.args(args);
        command
    }

    /// The command as this repository's user would start it.
    pub fn with_variables(&self, mut command: Command) -> Command {
        command
            .current_dir(self.root())
            .env("HOME", self.scratch())
            .env_remove("CODEX_HOME")
            .env_remove("CI")
            .env("SKILL_EVALS_SCRATCH", self.scratch())
            // These agents write into the repository, where the test reads it.
            .env("SKILL_EVALS_ISOLATION", "agent")
            .env("SKILL_EVALS_CALIBRATE", "off")
            // These agents have no cache, and some wait for each other.
            .env("SKILL_EVALS_NO_LEAD", "1")
            .stdin(Stdio::null());
        command
    }

    pub fn run<'a>(&self, args: impl Args<'a>) -> Ran {
        ran(&mut self.command(&args.words()))
    }

    /// The output in a terminal of 80 columns, which `script` provides. `PAGER` is `pager`.
    pub fn on_terminal(&self, args: &[&str], pager: &str) -> String {
        let line = format!("stty cols 80 rows 24; {} {}", env!("CARGO_BIN_EXE_skill-evals"), args.join(" "));
        let mut script = self.with_variables(Command::new("script"));
        script.args(["-qec", &line, "/dev/null"]).env("PAGER", pager).env("TERM", "xterm").env_remove("NO_COLOR");
        ran(&mut script).stdout.replace('\r', "")
    }

    /// Starts it in a group of its own, as a shell does, and comes back at once.
    pub fn start(&self, args: &[&str]) -> Child {
        in_own_group(&mut self.command(args))
    }

    /// A JSON file of the run `id`.
    pub fn json(&self, id: &str, name: &str) -> Value {
        let path = self.run_folder(id).join(name);
        let text = fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        serde_json::from_slice(&text).expect("JSON")
    }

    /// The lines of the progress file of the run `id` that are trials which ended.
    pub fn progress(&self, id: &str) -> Vec<Value> {
        self.progress_events(id).into_iter().filter(|line| !line["verdict"].is_null()).collect()
    }

    /// All its lines.
    pub fn progress_events(&self, id: &str) -> Vec<Value> {
        let text = fs::read_to_string(self.run_folder(id).join("progress.jsonl")).unwrap_or_default();
        text.lines().map(|line| serde_json::from_str(line).expect("a line of JSON")).collect()
    }

    /// Replaces the text of that file, without the digests of its lines. The new lines get theirs.
    pub fn rewrite_progress(&self, id: &str, change: impl FnOnce(&str) -> String) {
        let path = self.run_folder(id).join("progress.jsonl");
        let text = fs::read_to_string(&path).expect("progress");
        let lines = text.lines().map(|line| format!("{}}}\n", line.split_once(",\"digest\":").expect("a digest").0));
        fs::write(&path, with_digests(change(&lines.collect::<String>()).as_bytes())).expect("progress");
    }

    /// How many lines that file has.
    pub fn progress_lines(&self, id: &str) -> usize {
        let bytes = fs::read(self.run_folder(id).join("progress.jsonl")).unwrap_or_default();
        // Behind the last line break a line may still be growing.
        bytes.split(|b| *b == b'\n').count().saturating_sub(1)
    }

    /// How many trials of the run `id` are kept with a grade.
    pub fn graded(&self, id: &str) -> usize {
        let files = walkdir::WalkDir::new(self.run_folder(id).join("work")).into_iter().flatten();
        files.filter(|entry| entry.file_name() == "grade.json").count()
    }
}

/// Starts a command in a group of its own, as a shell does, and comes back at once.
pub fn in_own_group(command: &mut Command) -> Child {
    command.stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0).spawn().expect("the program starts")
}

/// Runs a shell script with a small disk as the directory `artifacts`, on which `fill` leaves 400 KiB. `$0` is the
/// program of `command`; its directory and variables are used. Returns false if this system does not let users mount a
/// disk in a namespace of their own.
pub fn on_a_small_disk(command: &Command, script: &str) -> bool {
    let disk = r"mkdir -p artifacts; mount -t tmpfs -o size=20m tmpfs artifacts || exit 77
        fill() { head -c 20480k /dev/zero > artifacts/full 2> /dev/null; truncate -s 20080k artifacts/full; }
        ";
    let mut shell = Command::new("unshare");
    shell.args(["--user", "--map-root-user", "--mount", "sh", "-c", &format!("{disk}{script}")]);
    shell.arg(command.get_program()).current_dir(command.get_current_dir().expect("a directory"));
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => shell.env(name, value),
            None => shell.env_remove(name),
        };
    }
    let may = shell.stdin(Stdio::null()).output().expect("unshare starts").status.code() != Some(77);
    if !may {
        eprintln!("not checked: this system lets no user mount a disk in a namespace");
    }
    may
}

/// Sends a signal to a started program.
pub fn signal(child: &Child, signal: nix::sys::signal::Signal) {
    let pid = nix::unistd::Pid::from_raw(i32::try_from(child.id()).expect("a process id"));
    nix::sys::signal::kill(pid, signal).expect("a signal");
}
