//! A machine on which somebody tries this program for the first time: a home, programs on the PATH, and a clone of a
//! repository that has skills and nothing else.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::fixture::{Ran, temporary};
use super::stub::{ANSWER, ran};

/// The machine. What is on it is gone with it.
pub struct Machine {
    folder: tempfile::TempDir,
    scratch: tempfile::TempDir,
    variables: Vec<(String, String)>,
}

/// A replacement of codex: it finds skills in its directory of skills, opens the one that the prompt is about, answers
/// in the given form, and judges that all is well.
const CODEX: &str = r#"#!/bin/sh
case "$1" in
  --version) echo codex-cli 9.9.9; exit;;
  sandbox) echo started; exit 2;;
esac
schema= last= previous=
for word; do
  case "$previous" in --output-schema) schema=$word;; --output-last-message) last=$word;; esac
  previous=$word
done
prompt=$previous
if [ -n "$schema" ] && grep -q overall_pass "$schema"; then
  echo '{"overall_pass":true,"score":90,"checks":[{"id":"trigger","pass":true,"notes":"x"},{"id":"outcome","pass":true,"notes":"x"},{"id":"process","pass":true,"notes":"x"},{"id":"efficiency","pass":true,"notes":"x"}]}' > "$last"
  prompt='A judge.'
fi
echo "$prompt" >> "$(dirname "$0")/started"
# As a model, it knows a task of the skill `pdf` that does not name it.
case "$prompt" in *"fields are still empty"*) prompt="$prompt pdf";; esac
offer=
for skill in .agents/skills/*; do
  name=$(basename "$skill"); offer="$offer\\n- $name: x (file: r0/$name/SKILL.md)"
done
mkdir -p "$CODEX_HOME/sessions"
printf '%s\n' '{"type":"response_item","payload":{"type":"message","role":"developer","content":[{"text":"<skills_instructions>\n### Available skills'"$offer"'\n</skills_instructions>"}]}}' > "$CODEX_HOME/sessions/rollout-1.jsonl"
used=
for skill in .agents/skills/*; do
  name=$(basename "$skill")
  case "$prompt" in *"$name"*)
    used="\"$name\""
    text=$(sed ':a;N;$!ba;s/\n/\\n/g' "$skill/SKILL.md")
    printf '%s\n' '{"type":"item.completed","item":{"id":"1","type":"command_execution","command":"cat .agents/skills/'$name'/SKILL.md","aggregated_output":"'"$text"'","exit_code":0,"status":"completed"}}';;
  esac
done
if [ -n "$schema" ] && [ "$prompt" != 'A judge.' ]; then
  echo '{"invoked_skills":['"$used"'],"summary":"Done.","questions":[],"steps":[],"verifications":[],"artifacts":[]}' > "$last"
fi
"#;

/// In claude's place: it only says that it was started.
const CLAUDE: &str =
    "#!/bin/sh\n[ \"$1\" = --version ] && { echo 9.9.9; exit; }\necho x >> \"$(dirname \"$0\")/started\"\n";

impl Machine {
    /// A machine with git, and a clone with the skills `pdf` and `docx`; no agent, no login.
    pub fn new() -> Self {
        let folder = temporary();
        let scratch = temporary();
        let machine = Self { folder, scratch, variables: Vec::new() };
        for name in ["home", "bin", "origin"] {
            fs::create_dir(machine.path(name)).expect("a directory");
        }
        for (name, about) in [
            ("pdf", "Fills forms. Use when a pdf is at hand."),
            ("docx", "Writes letters in docx for an office to send."),
        ] {
            let text = format!("---\nname: {name}\ndescription: {about}\n---\n\nDo it.\n");
            machine.write(&format!("origin/skills/{name}/SKILL.md"), &text);
        }
        machine.git("origin", &["init", "--quiet"]);
        machine.commit("origin");
        machine.git(".", &["clone", "--quiet", "origin", "clone"]);
        machine
    }

    /// The same with agents on the PATH that are scripts.
    pub fn with_agents() -> Self {
        let machine = Self::new();
        machine.add_agents();
        machine
    }

    /// Another machine with the same files.
    pub fn copy(&self) -> Self {
        let scratch = temporary();
        let folder = temporary();
        let copied = Command::new("cp").arg("-a").arg(self.path(".")).arg(folder.path()).status();
        assert!(copied.expect("cp starts").success());
        Self { folder, scratch, variables: self.variables.clone() }
    }

    /// Installs them.
    pub fn add_agents(&self) {
        self.program("codex", &format!("{CODEX}{ANSWER}"));
        self.program("claude", CLAUDE);
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub fn write(&self, name: &str, text: &str) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().expect("a directory above")).expect("a directory");
        fs::write(path, text).expect("a file");
    }

    /// Puts a program on the PATH.
    pub fn program(&self, name: &str, text: &str) {
        self.write(&format!("bin/{name}"), text);
        fs::set_permissions(self.path("bin").join(name), fs::Permissions::from_mode(0o755)).expect("permissions");
    }

    pub fn variable(mut self, name: &str, value: &str) -> Self {
        self.variables.push((name.to_owned(), value.to_owned()));
        self
    }

    /// A program in a directory of the machine, without the environment of the user who runs the tests.
    pub fn command(&self, program: impl AsRef<Path>, folder: &str, args: &[&str]) -> Command {
        let mut command = Command::new(program.as_ref());
        command.args(args).current_dir(self.path(folder)).env_clear().stdin(Stdio::null());
        // Where a program built for coverage writes; otherwise that is its own directory.
        command.envs(std::env::var_os("LLVM_PROFILE_FILE").map(|file| ("LLVM_PROFILE_FILE", file)));
        command.env("PATH", format!("{}:/usr/bin:/bin", self.path("bin").display())).env("HOME", self.path("home"));
        for (name, value) in [("NAME", "Ada"), ("EMAIL", "ada@example.org")] {
            command.env(format!("GIT_AUTHOR_{name}"), value).env(format!("GIT_COMMITTER_{name}"), value);
        }
        // The stubs write next to themselves.
        command
            .env("SKILL_EVALS_SCRATCH", self.scratch.path())
            .env("SKILL_EVALS_ISOLATION", "agent")
            .env("SKILL_EVALS_CALIBRATE", "off");
        command.envs(self.variables.iter().map(|(name, value)| (name, value)));
        command
    }

    /// `skill-evals` in a directory.
    pub fn run_in(&self, folder: &str, args: &[&str]) -> Ran {
        ran(&mut self.command(env!("CARGO_BIN_EXE_skill-evals"), folder, args))
    }

    /// `skill-evals` in the clone.
    pub fn run(&self, args: &[&str]) -> Ran {
        self.run_in("clone", args)
    }

    /// What git prints in a directory.
    #[track_caller]
    pub fn git(&self, folder: &str, args: &[&str]) -> String {
        // Submodules by path are refused by default.
        let args = [&["-c", "protocol.file.allow=always"], args].concat();
        let ran = ran(&mut self.command("git", folder, &args));
        assert_eq!(ran.code, 0, "git {args:?}: {}{}", ran.stdout, ran.stderr);
        ran.stdout
    }

    pub fn commit(&self, folder: &str) {
        self.git(folder, &["add", "--all"]);
        self.git(folder, &["commit", "--quiet", "--message", "x"]);
    }

    /// What an agent was asked, start by start; claude's are `x`.
    pub fn started(&self) -> Vec<String> {
        let text = fs::read_to_string(self.path("bin/started")).unwrap_or_default();
        text.lines().map(str::to_owned).collect()
    }
}
