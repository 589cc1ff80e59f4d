//! A repository whose evals run live, with a real program that talks to a stand-in model.

use std::cell::Cell;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use serde_json::Value;
use skill_evals_evidence::settings::mode::AgentKind;
use skill_evals_evidence::trial::evidence::Meta;
use skill_evals_evidence::trial::outcome::{CheckResult, Grade, Status, Verdict};

pub use skill_evals_testing::processes_with;

use super::fixture::{Fixture, Ran, ran};
use super::real::{copilot_packages, link_ripgrep, path_with_programs};
use super::stand_in::{CODEX_KEY, MODEL, Request, StandIn, Turn, endpoint, started};

/// The repository, the model and the user's home.
pub struct Live {
    pub fixture: Fixture,
    pub model: StandIn,
    home: tempfile::TempDir,
    scratch: tempfile::TempDir,
    is_behind_door: bool,
}

thread_local! {
    static BEHIND_DOOR: Cell<bool> = const { Cell::new(false) };
}

/// What `test` runs in its thread has a limited network, behind whose door only the model is.
pub fn behind_the_door(test: impl FnOnce()) {
    BEHIND_DOOR.set(true);
    test();
    BEHIND_DOOR.set(false);
}

/// A finished trial: its grade, its facts, its directory.
pub struct Trial {
    pub grade: Grade,
    pub meta: Meta,
    pub folder: PathBuf,
}

/// A skill to greet with, and one resource.
pub const GREETING: &str = "---\nname: greeting\ndescription: Greets people in the house style. Use when asked to greet \
                            somebody.\n---\n\n# Greeting\n\nSay \"Ahoy, NAME!\" and end with AHOY_MARKER. For titles \
                            read references/formal.md.\n";

/// The command with which a model opens the skill.
pub const OPEN_GREETING: &str = "cat .agents/skills/greeting/SKILL.md";

/// What is measured of trials that end by their timeout of this many seconds, or of four times as many: an agent on a busy machine
/// comes late to the point that a test is about.
pub fn patiently<T, E>(seconds: u32, mut measure: impl FnMut(u32) -> Result<T, E>) -> Result<T, E> {
    measure(seconds).or_else(|_| measure(4 * seconds))
}

impl Live {
    /// A repository with the skill `greeting`, and one case `it` with these cells behind id.
    pub fn new(columns: &str, cells: &str, script: impl Fn(&Request) -> Turn + Send + Sync + 'static) -> Self {
        let fixture = Fixture::new()
            .skill_text("greeting", GREETING)
            .file("skills/greeting/references/formal.md", "Say \"Good day\".\n")
            .prompts("greeting", format!("id,{columns}\nit,{cells}\n"));
        Self::over(fixture, script)
    }

    /// The evals of `fixture`, with a model that does what `script` says.
    pub fn over(fixture: Fixture, script: impl Fn(&Request) -> Turn + Send + Sync + 'static) -> Self {
        let model = started(script);
        let home = tempfile::tempdir().expect("a home");
        for (path, text) in AgentKind::ALL.into_iter().flat_map(|kind| endpoint(kind, &model)[1].clone()) {
            // OpenCode reads comments.
            let path = home.path().join(path.replace("opencode.json", "opencode.jsonc"));
            let comment = if path.ends_with("opencode.jsonc") { "// A comment.\n" } else { "" };
            fs::create_dir_all(path.parent().expect("a directory")).expect("a directory");
            fs::write(path, format!("{comment}{text}")).expect("a configuration");
        }
        link_ripgrep(&home.path().join(".cache"));
        let scratch = tempfile::Builder::new().prefix("evals-").tempdir_in("/var/tmp").expect("a scratch directory");
        Self { fixture, model, home, scratch, is_behind_door: BEHIND_DOOR.get() }
    }

    pub fn user_home(&self) -> &Path {
        self.home.path()
    }

    pub fn scratch(&self) -> &Path {
        self.scratch.path()
    }

    /// `skill-evals run --run-id t` with these arguments behind it.
    pub fn command(&self, args: &[&str]) -> Command {
        // A fixture's run is new each time, unless a test resumes one.
        if !args.contains(&"--resume") {
            let _ = fs::remove_dir_all(self.fixture.root().join("artifacts/skill-evals/t"));
        }
        let mut command = self.program();
        command.args(["run", "--run-id", "t"]).args(args).current_dir(self.fixture.root());
        command
    }

    /// The program, where it finds the real agents and these the model.
    pub fn program(&self) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_skill-evals"));
        command
            .env("PATH", path_with_programs())
            .env("HOME", self.user_home())
            .env_remove("CODEX_HOME")
            .env_remove("CI")
            .envs(AgentKind::ALL.into_iter().flat_map(|kind| endpoint(kind, &self.model)[0].clone()))
            .env(CODEX_KEY, CODEX_KEY)
            .env("COPILOT_PKG_CACHE_HOME", copilot_packages())
            .env("CLAUDE_CODE_MAX_RETRIES", "1")
            .env("SKILL_EVALS_SCRATCH", self.scratch())
            .env("SKILL_EVALS_RETRIES", "1")
            .env("SKILL_EVALS_RETRY_WAIT_S", "0.05")
            .env("SKILL_EVALS_SCRIPTED", "stand-in model")
            .env("SKILL_EVALS_CALIBRATE", "off")
            .stdin(Stdio::null());
        if self.is_behind_door {
            command.env("SKILL_EVALS_NETWORK", "provider").env("SKILL_EVALS_ENDPOINT", self.model.url());
            command.env("SKILL_EVALS_MODEL", MODEL);
        }
        command
    }

    pub fn run(&self, args: &[&str]) -> Ran {
        ran(&mut self.command(args))
    }

    /// The same, where claude retries as often as it does by itself.
    pub fn run_with_own_retries(&self, args: &[&str]) -> Ran {
        ran(self.command(args).env_remove("CLAUDE_CODE_MAX_RETRIES"))
    }

    /// Starts it and comes back at once.
    pub fn start(&self, args: &[&str]) -> Child {
        let mut command = self.command(args);
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the program starts")
    }

    /// Runs the case `it` in `mode` and reads what was kept.
    pub fn trial(&self, mode: &str) -> Trial {
        let ran = self.run(&["--mode", mode]);
        let trial = self.kept("greeting", "it", mode);
        trial.unwrap_or_else(|| panic!("nothing was kept:\n{}\n{}", ran.stdout, ran.stderr))
    }

    /// Behind the door, the requests of a trial say what its agent says.
    pub fn expect_wire(&self, trial: &Trial) {
        if self.is_behind_door {
            let network = trial.meta.network.as_ref().expect("a limited network");
            let asked = self.model.requests().len() as u64;
            assert!(asked > 0 && network.model_requests >= asked, "{asked}: {network:#?}");
            assert!(network.model_tokens > 0 && network.model_unread.is_empty(), "{network:#?}");
            assert!(trial.meta.doubts.is_empty(), "{:#?}", trial.meta.doubts);
        }
    }

    /// What a run kept of a trial.
    pub fn kept(&self, skill: &str, case: &str, mode: &str) -> Option<Trial> {
        let folder = self.folder(skill, case, mode);
        let read = |name: &str| fs::read(folder.join(name)).ok();
        let grade = serde_json::from_slice(&read("grade.json")?).expect("a grade");
        let meta = serde_json::from_slice(&read("meta.json")?).expect("facts");
        Some(Trial { grade, meta, folder })
    }

    /// The directory of a trial, graded or not.
    pub fn folder(&self, skill: &str, case: &str, mode: &str) -> PathBuf {
        self.fixture.root().join("artifacts/skill-evals/t/work").join(skill).join(case).join(mode).join("1")
    }

    /// Checks that a trial which the user cut short has no grade, and that its facts say why.
    pub fn expect_interrupted(&self, skill: &str, case: &str, mode: &str) {
        let folder = self.folder(skill, case, mode);
        assert!(!folder.join("grade.json").exists(), "what was cut short counts for nothing");
        let meta: Meta = serde_json::from_slice(&fs::read(folder.join("meta.json")).expect("facts")).expect("facts");
        assert!(meta.was_interrupted(), "{meta:#?}");
    }
}

impl Trial {
    pub fn verdict(&self) -> Verdict {
        self.grade.verdict
    }

    /// The check of this name.
    pub fn check(&self, id: &str) -> &CheckResult {
        let found = self.grade.checks.iter().find(|check| check.id == id);
        found.unwrap_or_else(|| panic!("no check {id} among {:#?}", self.grade))
    }

    pub fn status(&self, id: &str) -> Status {
        self.check(id).status
    }

    /// Says with everything it knows when the verdict is another one.
    #[track_caller]
    pub fn expect(&self, verdict: Verdict) -> &Self {
        assert_eq!(self.grade.verdict, verdict, "{:#?}\nstderr: {}", self.grade, self.text("stderr.txt"));
        self
    }

    /// A kept file's text; empty where there is none.
    pub fn text(&self, name: &str) -> String {
        let bytes = fs::read(self.folder.join(name)).unwrap_or_default();
        String::from_utf8_lossy(&bytes).into_owned()
    }

    /// Every kept file's content as one text, to look for what must not be there.
    pub fn everything(&self) -> String {
        let files = walkdir::WalkDir::new(&self.folder).into_iter().flatten();
        let files = files.filter(|entry| entry.file_type().is_file());
        files.map(|entry| String::from_utf8_lossy(&fs::read(entry.path()).unwrap_or_default()).into_owned()).collect()
    }

    pub fn wrote(&self, path: &str) -> bool {
        self.meta.files.iter().any(|file| file.changed && file.path == Path::new(path))
    }
}

/// Waits, at most three minutes, until `done`.
pub fn wait_until(what: &str, done: impl Fn() -> bool) {
    for _ in 0..7200 {
        if done() {
            return;
        }
        std::thread::sleep(std::time::Duration::from_millis(25));
    }
    panic!("waited three minutes for {what}");
}

/// The text of every message that a model request carried.
pub fn request_text(request: &Request) -> String {
    let mut text = String::new();
    gather(&request.body, &mut text);
    text
}

fn gather(value: &Value, into: &mut String) {
    match value {
        Value::String(text) => {
            into.push_str(text);
            into.push('\n');
        }
        Value::Array(list) => list.iter().for_each(|value| gather(value, into)),
        Value::Object(map) => map.values().for_each(|value| gather(value, into)),
        _ => {}
    }
}
