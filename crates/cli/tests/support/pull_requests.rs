//! A repository of twelve skills with a bare remote, and pull requests whose effects are known. The descriptions, bodies and
//! prompts are made so that an agent's stand-in can tell by their words what to do.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// What outcome checks want in the answer, and what a body says that is vague about it.
pub const MARK: &str = "CHECKED";
pub const VAGUE: &str = "if you like";

/// Names of skills, and the topics of their tasks.
pub const SKILLS: [(&str, &str); 12] = [
    ("pdf", "fillable forms in portable documents"),
    ("docx", "documents with tracked changes"),
    ("xlsx", "workbooks with formulas"),
    ("slides", "presentations for a talk"),
    ("changelog", "a list of changes for a release"),
    ("commit", "messages that describe a commit"),
    ("review", "remarks on a pull request"),
    ("sql", "queries against a database"),
    ("charts", "diagrams of measured data"),
    ("translate", "texts in a foreign language"),
    ("invoices", "bills for a customer"),
    ("calendar", "appointments of a team"),
];

/// Ids of cases: all but the last should trigger, and `explicit` and `outcome` check the answer.
pub const CASES: [&str; 5] = ["explicit", "implicit", "outcome", "implicit-2", "negative"];

/// The topic of a skill's tasks.
pub fn topic(skill: &str) -> &'static str {
    SKILLS.iter().find(|(name, _)| *name == skill).map_or("nothing", |(_, topic)| topic)
}

/// The skill and the id that a prompt is of: the prompt ends with `(skill/id)`.
pub fn case_of(prompt: &str) -> Option<(&str, &str)> {
    prompt.rsplit_once('(')?.1.strip_suffix(')')?.split_once('/')
}

/// What a pull request does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// A sentence more in the bodies of two skills.
    HarmlessBody,
    /// Another wording of a description, with the same topic.
    HarmlessDescription,
    /// A description without the topic of the skill's tasks.
    BrokenDescription,
    /// A body that does not ask for what the checks want.
    BrokenBody,
    /// A body that asks clearly for what it was vague about.
    BetterBody,
    /// A description that claims the tasks of another skill too.
    StealingNeighbor,
}

impl Change {
    pub const ALL: [Self; 6] = [
        Self::HarmlessBody,
        Self::HarmlessDescription,
        Self::BrokenDescription,
        Self::BrokenBody,
        Self::BetterBody,
        Self::StealingNeighbor,
    ];

    /// The name of its branch.
    pub fn branch(self) -> &'static str {
        match self {
            Self::HarmlessBody => "harmless-body",
            Self::HarmlessDescription => "harmless-description",
            Self::BrokenDescription => "broken-description",
            Self::BrokenBody => "broken-body",
            Self::BetterBody => "better-body",
            Self::StealingNeighbor => "stealing-neighbor",
        }
    }

    /// Whether it breaks cases.
    pub fn is_harm(self) -> bool {
        matches!(self, Self::BrokenDescription | Self::BrokenBody | Self::StealingNeighbor)
    }

    /// Number of skills that it changes.
    pub fn skills(self) -> u32 {
        if self == Self::HarmlessBody { 2 } else { 1 }
    }

    fn make(self, root: &Path) {
        let edit = |skill: &str, from: &str, to: &str| {
            let path = root.join(format!("skills/{skill}/SKILL.md"));
            let text = fs::read_to_string(&path).expect("a skill");
            assert!(text.contains(from), "{skill}: {from}");
            fs::write(path, text.replace(from, to)).expect("a skill");
        };
        match self {
            Self::HarmlessBody => ["pdf", "docx"].into_iter().for_each(|skill| edit(skill, "Do it", "Be brief. Do it")),
            Self::HarmlessDescription => edit("pdf", "Helps with", "Does all work on"),
            Self::BrokenDescription => edit("pdf", topic("pdf"), "files"),
            Self::BrokenBody => edit("pdf", MARK, "a friendly word"),
            Self::BetterBody => edit("commit", VAGUE, "always"),
            Self::StealingNeighbor => edit("docx", "Helps with", &format!("Helps with {}, and with", topic("pdf"))),
        }
    }
}

/// Writes the skills, and of each skill the cases with an id in `ids(place of the skill)`.
pub fn write_skills<'a>(root: &Path, ids: impl Fn(usize) -> &'a [&'a str]) {
    for (at, (skill, topic)) in SKILLS.into_iter().enumerate() {
        let how = if skill == "commit" { VAGUE } else { "always" };
        let text = format!(
            "---\nname: {skill}\ndescription: Helps with {topic}. Use when a task asks for that.\n---\n\n\
             Do it. End the answer with {MARK}, {how}.\n"
        );
        write(root, &format!("skills/{skill}/SKILL.md"), &text);
        let row = |id: &&str| {
            let (prompt, expected) = match *id {
                "explicit" => (format!("Use the ${skill} skill for this file."), MARK),
                "implicit" => (format!("Please help with {topic}."), ""),
                "outcome" => (format!("I need {topic} today."), MARK),
                "implicit-2" => (format!("We want {topic}."), ""),
                _ => ("What is the capital of France?".to_owned(), ""),
            };
            format!("{id},{},{prompt} ({skill}/{id}),{expected}\n", *id != "negative")
        };
        let rows: String = ids(at).iter().map(row).collect();
        let table = format!("id,should_trigger,prompt,must_include\n{rows}");
        write(root, &format!("evals/skills/{skill}/prompts.csv"), &table);
    }
    write(root, ".gitignore", "/artifacts\n");
}

pub fn write(root: &Path, path: &str, text: &str) {
    let path = root.join(path);
    fs::create_dir_all(path.parent().expect("a directory")).expect("a directory");
    fs::write(path, text).expect("a file");
}

/// Commits the repository at `root` as `main` and each of `changes` as a branch, and pushes all to a new bare remote, which is
/// returned.
pub fn publish(root: &Path, remote: &Path, changes: &[Change]) -> PathBuf {
    let bare = remote.join("remote.git");
    let at = bare.display().to_string();
    git(remote, &["init", "--quiet", "--bare", "--initial-branch", "main", &at]);
    git(root, &["init", "--quiet", "--initial-branch", "main"]);
    git(root, &["remote", "add", "origin", &at]);
    commit(root, "skills");
    for change in changes {
        git(root, &["checkout", "--quiet", "-b", change.branch(), "main"]);
        change.make(root);
        commit(root, change.branch());
    }
    git(root, &["push", "--quiet", "origin", "--all"]);
    git(root, &["checkout", "--quiet", "main"]);
    bare
}

pub fn commit(root: &Path, message: &str) {
    git(root, &["add", "--all"]);
    git(root, &["commit", "--quiet", "--message", message]);
}

pub fn git(folder: &Path, args: &[&str]) {
    let mut git = Command::new("git");
    git.args(["-c", "user.name=t", "-c", "user.email=t@localhost"]).args(args).current_dir(folder);
    let ran = git.env("GIT_CONFIG_GLOBAL", "/dev/null").output().expect("git");
    assert!(ran.status.success(), "{args:?}: {}", String::from_utf8_lossy(&ran.stderr));
}
