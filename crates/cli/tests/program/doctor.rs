//! `skill-evals doctor`: what is missing is found, and what to do about it is said.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use crate::support::fixture::Fixture;
use crate::support::real::bwrap_works;
use serde_json::Value;

/// A machine: a repository, a home, a program that is codex, a scratch directory.
struct Machine {
    fixture: Fixture,
    own: tempfile::TempDir,
    scratch: tempfile::TempDir,
    variables: Vec<(&'static str, &'static str)>,
}

struct Examined {
    code: i32,
    findings: Value,
    text: String,
}

impl Examined {
    #[track_caller]
    fn finding(&self, id: &str) -> (&str, &str, &str) {
        let found = self.findings["findings"].as_array().and_then(|all| all.iter().find(|one| one["id"] == id));
        let found = found.unwrap_or_else(|| panic!("no {id} in {}", self.text));
        let text = |key: &str| found[key].as_str().unwrap_or_default();
        (text("state"), text("found"), text("advice"))
    }
}

/// Notes how it is called, and has a sandbox as good as asked for.
fn codex(sandbox: &str) -> String {
    format!(
        "#!/bin/sh\necho \"$*\" >> \"$(dirname \"$0\")/calls\"\ncase \"$1\" in\n  --version) echo codex-cli 9.9.9;;\n  \
         sandbox) {sandbox};;\n  *) exit 9;;\nesac\n"
    )
}

const GOOD_SANDBOX: &str = "echo started; echo no >&2; exit 2";

impl Machine {
    fn new(codex: &str) -> Self {
        let own = tempfile::tempdir().expect("a directory");
        fs::create_dir_all(own.path().join("home/.codex")).expect("a home");
        let program = own.path().join("codex");
        fs::write(&program, codex).expect("a program");
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).expect("a program");
        let settings = format!("[agents.codex]\ncommand = '{}'\n", program.display());
        let fixture = Fixture::new().skill("tidy").file("evals/evals.toml", settings);
        let scratch = tempfile::Builder::new().prefix("evals-").tempdir_in("/var/tmp").expect("a scratch directory");
        Self { fixture, own, scratch, variables: vec![("CODEX_API_KEY", "key-key-key")] }
    }

    fn home(self, name: &str, text: &str) -> Self {
        fs::write(self.own.path().join("home/.codex").join(name), text).expect("a file");
        self
    }

    fn variables(mut self, variables: &[(&'static str, &'static str)]) -> Self {
        self.variables = variables.to_vec();
        self
    }

    fn command(&self, folder: &Path) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_skill-evals"));
        let codex = ["CODEX_HOME", "CODEX_API_KEY", "OPENAI_API_KEY", "CODEX_ACCESS_TOKEN"];
        let claude = ["ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN", "CLAUDE_CONFIG_DIR"];
        let clouds = ["CLAUDE_CODE_USE_BEDROCK", "CLAUDE_CODE_USE_VERTEX"];
        for name in codex.into_iter().chain(claude).chain(clouds) {
            command.env_remove(name);
        }
        command.arg("doctor").current_dir(folder).env("HOME", self.own.path().join("home"));
        let path = std::env::var_os("PATH").unwrap_or_default();
        let folders = std::iter::once(self.own.path().to_path_buf()).chain(std::env::split_paths(&path));
        command.env("PATH", std::env::join_paths(folders).expect("a PATH"));
        command.env("SKILL_EVALS_SCRATCH", self.scratch.path()).envs(self.variables.iter().copied());
        command
    }

    fn examined(&self) -> Examined {
        let output = self.command(self.fixture.root()).arg("--json").output().expect("the program starts");
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let findings = serde_json::from_str(&text).unwrap_or_else(|_| panic!("{output:?}"));
        Examined { code: output.status.code().expect("an end"), findings, text }
    }
}

#[test]
fn where_all_is_there_live_evals_can_run_and_no_model_is_asked() {
    let machine = Machine::new(&codex(GOOD_SANDBOX));
    let examined = machine.examined();
    assert_eq!(examined.code, 0, "{}", examined.text);
    assert_eq!(examined.findings["agents"], serde_json::json!(["codex"]));
    assert!(examined.finding("codex").1.starts_with("codex-cli 9.9.9 ("));
    assert_eq!(examined.finding("codex-login"), ("ok", "CODEX_API_KEY is set", ""));
    assert_eq!(examined.finding("codex-sandbox").0, "ok");
    assert_eq!(examined.finding("mcp"), ("ok", "initialize and tools/list answered: skill, skill-resource", ""));
    // Its program was called for nothing else, which it ends with 9. In the sandbox it can note no call.
    let calls = fs::read_to_string(machine.own.path().join("calls")).ok();
    let outside = (!bwrap_works()).then_some("--version\nsandbox -- /bin/sh -c echo started; echo x > written\n");
    assert_eq!(calls.as_deref(), outside);
    assert!(!examined.text.contains("key-key-key"));
}

#[test]
fn what_keeps_agents_to_their_folders_is_told() {
    let told = |variables: &[(&'static str, &'static str)]| {
        let variables: Vec<_> = [("CODEX_API_KEY", "key-key-key")].iter().chain(variables).copied().collect();
        let machine = Machine::new(&codex(GOOD_SANDBOX)).variables(&variables);
        let bwrap = machine.own.path().join("bwrap");
        fs::write(&bwrap, "#!/bin/sh\necho bwrap: No permissions >&2\nexit 1\n").expect("a script");
        fs::set_permissions(&bwrap, std::os::unix::fs::PermissionsExt::from_mode(0o755)).expect("permissions");
        machine.examined()
    };
    let broken = told(&[]);
    assert_eq!((broken.code, broken.finding("isolation").0), (0, "missing"), "{}", broken.text);
    assert!(broken.finding("isolation").1.contains("No permissions") && !broken.finding("isolation").2.is_empty());
    let required = told(&[("SKILL_EVALS_REQUIRE_ISOLATION", "1")]);
    assert_eq!((required.code, required.finding("isolation").0), (1, "missing"), "{}", required.text);
    let given_up = told(&[("SKILL_EVALS_ISOLATION", "agent")]);
    assert_eq!((given_up.code, given_up.finding("isolation").0), (0, "ok"), "{}", given_up.text);
}

#[test]
fn people_get_a_line_for_each_and_what_to_do() {
    let machine = Machine::new(&codex(GOOD_SANDBOX)).variables(&[]);
    let output = machine.command(machine.fixture.root()).output().expect("the program starts");
    let text = String::from_utf8_lossy(&output.stdout);
    assert_eq!(output.status.code(), Some(1));
    // How far the columns are apart depends on the agents that are there.
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("missing codex-login none → run `codex login`"), "{text}");
    assert!(text.ends_with("live evals cannot run; recordings can be replayed all the same\n"), "{text}");
}

#[test]
fn an_agent_that_nobody_uses_is_optional_and_those_that_are_not_here_are_one_line() {
    let machine = Machine::new(&codex(GOOD_SANDBOX));
    let program = machine.own.path().join("claude");
    fs::write(&program, "#!/bin/sh\necho 9.9.9\n").expect("a program");
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).expect("a program");
    let examined = machine.examined();
    assert_eq!(examined.code, 0, "{}", examined.text);
    assert_eq!(examined.findings["used"], serde_json::json!(["codex"]));
    assert_eq!(examined.finding("claude-cli-login").0, "optional", "{}", examined.text);
    assert_eq!(examined.finding("rubric"), ("ok", "valid; no case is judged by it", ""));
    let output = ran_with_path(&machine, &["/usr/bin", "/bin"]);
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(text.contains("not installed, and not used here: cline, "), "{text}");
    assert!(!text.contains("missing  cline") && text.ends_with("\nlive evals can run with codex\n"), "{text}");
}

#[test]
fn what_is_configured_has_to_run_and_a_judge_that_cannot_is_no_judge() {
    let settings = |machine: &Machine, more: &str| {
        let path = machine.fixture.root().join("evals/evals.toml");
        let text = fs::read_to_string(&path).expect("settings");
        fs::write(path, format!("{more}\n{text}")).expect("settings");
    };
    let machine = Machine::new(&codex(GOOD_SANDBOX));
    settings(&machine, "modes = ['cline']");
    let examined = machine.examined();
    assert_eq!(
        (examined.code, examined.findings["used"].clone()),
        (1, serde_json::json!(["cline"])),
        "{}",
        examined.text
    );
    let output = ran_with_path(&machine, &["/usr/bin", "/bin"]);
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(text.contains("\nlive evals cannot run; --agent may be codex; "), "{text}");
    let machine =
        Machine::new(&codex(GOOD_SANDBOX)).variables(&[("CODEX_API_KEY", "key-key-key"), ("SKILL_EVALS_JUDGE", "1")]);
    settings(&machine, "judge = { agent = 'kimi' }");
    let examined = machine.examined();
    let (state, found, advice) = examined.finding("rubric");
    assert_eq!((examined.code, state, found), (1, "missing", "kimi is to judge by it, and cannot run here"));
    assert!(advice.contains("`agent` under [judge]"), "{advice}");
}

#[test]
fn an_agent_that_stands_in_is_the_one_that_evals_run_with() {
    let machine = Machine::new(&codex(GOOD_SANDBOX)).variables(&[("ANTHROPIC_API_KEY", "key-key-key")]);
    // A program that the settings name may bring its own credentials.
    fs::write(machine.fixture.root().join("evals/evals.toml"), "").expect("settings");
    let program = machine.own.path().join("claude");
    fs::write(&program, "#!/bin/sh\necho 9.9.9\n").expect("a program");
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).expect("a program");
    let examined = machine.examined();
    assert_eq!((examined.code, examined.findings["used"].clone()), (0, serde_json::json!(["claude-cli"])));
    let stand_in = examined.finding("agent").1;
    assert!(
        stand_in.starts_with("with Claude Code (`cli-native`), which can run here; codex has no credentials"),
        "{stand_in}"
    );
    assert_eq!(examined.finding("codex-login").0, "optional");
}

/// `doctor` with these directories and the machine's own on the PATH.
fn ran_with_path(machine: &Machine, folders: &[&str]) -> std::process::Output {
    let own = machine.own.path().display().to_string();
    let path = [&[own.as_str()], folders].concat().join(":");
    machine.command(machine.fixture.root()).env("PATH", path).output().expect("the program starts")
}

#[test]
fn what_nobody_knows_is_not_said_to_keep_evals_from_running() {
    // A server of one's own may ask for no login.
    let machine = Machine::new(&codex(GOOD_SANDBOX))
        .variables(&[])
        .home("config.toml", "openai_base_url = 'http://localhost:9'\n");
    let examined = machine.examined();
    assert_eq!((examined.code, examined.finding("codex-login").0), (0, "unknown"), "{}", examined.text);
    let output = machine.command(machine.fixture.root()).output().expect("the program starts");
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(text.contains("live evals may not run: see `unknown` above"), "{text}");
    assert!(!text.contains("cannot run"), "{text}");
}

#[test]
fn a_missing_or_broken_program_is_told_with_how_to_get_it() {
    let machine = Machine::new(&codex(GOOD_SANDBOX));
    fs::remove_file(machine.own.path().join("codex")).expect("no program");
    let examined = machine.examined();
    let (state, found, advice) = examined.finding("codex");
    assert_eq!((examined.code, state), (1, "missing"));
    assert!(found.ends_with("does not exist") && advice.contains("npm install"), "{found} {advice}");
    let examined = Machine::new("#!/bin/sh\necho no such library >&2\nexit 127\n").examined();
    assert_eq!(examined.code, 1);
    assert!(examined.finding("codex").1.ends_with(": no such library"), "{}", examined.text);
}

#[test]
fn a_secret_that_a_program_prints_is_masked() {
    let told = Machine::new(&codex(GOOD_SANDBOX).replace("9.9.9", "key-key-key")).examined();
    assert!(told.finding("codex").1.contains("[masked]") && !told.text.contains("key-key-key"), "{}", told.text);
}

#[test]
fn a_login_is_looked_for_where_codex_looks() {
    let machine = |config: &str| Machine::new(&codex(GOOD_SANDBOX)).variables(&[]).home("config.toml", config);
    let own = "model_provider = 'mine'\n[model_providers.mine]\nenv_key = 'MINE_KEY'\n";
    let unset = machine(own).variables(&[("OPENAI_API_KEY", "other")]).examined();
    assert_eq!(unset.finding("codex-login").0, "missing", "another provider's key is none");
    assert_eq!(unset.findings["agents"], serde_json::json!(["chat"]), "{}", unset.text);
    assert!(unset.finding("codex-login").2.starts_with("set MINE_KEY"));
    assert_eq!(machine(own).variables(&[("MINE_KEY", "x")]).examined().code, 0);
    let free = machine("model_provider = 'local'\n[model_providers.local]\nbase_url = 'http://127.0.0.1:1'\n");
    assert_eq!(free.examined().finding("codex-login").0, "ok");
    assert_eq!(
        machine("").home("auth.json", "{\"tokens\":{\"access_token\":\"t\"}}").examined().finding("codex-login").0,
        "ok"
    );
    assert!(machine("").home("auth.json", "{").examined().finding("codex-login").2.contains("damaged"));
    assert!(machine("a = 1\n= 1").examined().finding("codex-login").2.contains("/config.toml:2:1: "));
}

#[test]
fn a_sandbox_that_does_not_hold_or_start_is_missing() {
    let open = Machine::new(&codex("shift 2; exec \"$@\"")).examined();
    assert_eq!(open.finding("codex-sandbox").0, "missing");
    assert!(open.finding("codex-sandbox").1.contains("commands in it can write"));
    let none = Machine::new(&codex("echo bwrap: No permissions to create new namespace >&2; exit 1")).examined();
    assert!(none.finding("codex-sandbox").1.contains("No permissions to create new namespace"), "{}", none.text);
    assert!(none.finding("codex-sandbox").2.contains("kernel.apparmor_restrict_unprivileged_userns=0"));
}

#[test]
fn wrong_settings_folders_and_templates_are_findings() {
    let machine = Machine::new(&codex(GOOD_SANDBOX));
    fs::write(machine.fixture.root().join("evals/evals.toml"), "trials = 0\n").expect("settings");
    let examined = machine.examined();
    assert_eq!((examined.code, examined.finding("settings").0, examined.finding("codex").0), (1, "missing", "ok"));
    assert!(examined.finding("settings").1.contains("evals.toml:1:10"), "{}", examined.text);

    let mut machine = Machine::new(&codex(GOOD_SANDBOX));
    fs::write(machine.fixture.root().join("evals/judge.md"), "{{nothing}}").expect("a template");
    fs::create_dir(machine.scratch.path().join(".git")).expect("a directory");
    fs::write(machine.scratch.path().join(".git/HEAD"), "ref: refs/heads/main\n").expect("a file");
    let examined = machine.examined();
    assert_eq!((examined.code, examined.finding("rubric").0, examined.finding("scratch").0), (1, "missing", "missing"));
    assert!(examined.finding("scratch").2.contains("SKILL_EVALS_SCRATCH"));
    machine.scratch = tempfile::tempdir_in("/tmp").expect("a directory");
    // Or, where somebody made /tmp a repository, that it is one.
    let examined = machine.examined();
    let (state, found, _) = examined.finding("scratch");
    assert!(state == "missing" && found.contains("/tmp, w"), "{found}");
}

#[test]
fn without_a_repository_the_rest_is_looked_at_and_a_wrong_root_is_refused() {
    let machine = Machine::new(&codex(GOOD_SANDBOX));
    let nowhere = tempfile::tempdir().expect("a directory");
    let output = machine.command(nowhere.path()).output().expect("the program starts");
    let text = String::from_utf8_lossy(&output.stdout);
    assert_eq!(output.status.code(), Some(1));
    assert!(text.contains("missing  repository") && text.contains("bwrap"), "{text}");
    let wrong = machine.command(nowhere.path()).args(["--root", "gone"]).output().expect("the program starts");
    assert_eq!(wrong.status.code(), Some(2));
}
