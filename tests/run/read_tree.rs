//! A commit and a working tree of it are read alike, whatever is in them, and no change of a file that is read is lost.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;

use skill_evals::run::changed_skills::changed_skills;
use skill_evals::run::changed_skills::other_changes;
use skill_evals::run::skill_version::ReadTree;
use skill_evals::run::skill_version::SkillVersion;
use skill_evals_agents::process::git as asked;
use skill_evals_cases::cases::catalog::Catalog;
use skill_evals_cases::cases::repository::{Layout, Repository, Scope};
use skill_evals_evidence::settings::{Settings, Trust, load};

/// What has to be so that a file is read.
#[derive(Clone, Copy)]
enum Need {
    Nothing,
    /// The skill `tea`, in any directory.
    Tea,
    /// The skill in this directory.
    Skill(&'static str),
    /// No setting says where skills are.
    DefaultRoots,
}

/// A repository whose only commit has all that was added before [`Sample::commit`].
struct Sample {
    directory: tempfile::TempDir,
    /// The files that are read, from the root.
    read: BTreeMap<PathBuf, Need>,
    /// The directory of the skill `tea`.
    skill: &'static str,
}

impl Sample {
    fn new(skill: &'static str) -> Self {
        let directory = tempfile::tempdir().expect("a directory");
        Self { directory, read: BTreeMap::new(), skill }
    }

    fn root(&self) -> PathBuf {
        // A root skill is called by the directory.
        self.directory.path().join("repository")
    }

    fn in_skill(&self, path: &str) -> String {
        if self.skill.is_empty() { path.to_owned() } else { format!("{}/{path}", self.skill) }
    }

    /// Adds a file that nobody reads.
    fn other(&mut self, path: &str, text: &str) {
        let path = self.root().join(path);
        fs::create_dir_all(path.parent().expect("a directory")).expect("directories");
        fs::write(path, text).expect("a file");
    }

    /// Adds a file that is read.
    fn add(&mut self, need: Need, path: &str, text: &str) {
        self.other(path, text);
        self.read.insert(path.into(), need);
    }

    /// Adds a file of the skill `tea`.
    fn add_own(&mut self, path: &str, text: &str) {
        self.add(Need::Skill(self.skill), &self.in_skill(path), text);
    }

    fn add_program(&mut self, need: Need, path: &str) {
        self.add(need, path, "#!/bin/sh\nexit 0\n");
        fs::set_permissions(self.root().join(path), fs::Permissions::from_mode(0o755)).expect("permissions");
    }

    fn link(&self, path: &str, target: impl AsRef<Path>) {
        let path = self.root().join(path);
        fs::create_dir_all(path.parent().expect("a directory")).expect("directories");
        symlink(target, path).expect("a link");
    }

    fn git(&self, args: &[&str]) {
        let mut git = Command::new("git");
        git.args(["-c", "user.name=t", "-c", "user.email=t@localhost", "-c", "commit.gpgSign=false"]);
        git.args(args).current_dir(self.root()).env("GIT_CONFIG_GLOBAL", "/dev/null");
        let output = git.output().expect("git");
        assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
    }

    fn commit(&self) -> SkillVersion {
        self.git(&["init", "--quiet", "--initial-branch", "main"]);
        self.git(&["add", "--all"]);
        self.git(&["commit", "--quiet", "--message", "all"]);
        self.base()
    }

    fn base(&self) -> SkillVersion {
        let hash = asked::commit(&self.root(), "HEAD").expect("a commit");
        SkillVersion::or_empty(&self.root(), &hash, &Settings::default()).expect("a version")
    }

    fn today(&self) -> (Settings, Catalog) {
        let root = self.root();
        let settings = load::read_file(&root, Trust::Trusted).unwrap_or_default();
        let layout = Layout { ignored: Some(asked::ignored_of), ..Layout::of(&settings) };
        let catalog = Repository::new(root).catalog(layout, Scope::All);
        (settings, catalog)
    }

    /// What differs now, in lines.
    fn changes(&self, base: &SkillVersion) -> Vec<String> {
        let (root, (settings, catalog)) = (self.root(), self.today());
        let now = ReadTree { root: &root, settings: &settings, catalog: &catalog };
        let skills = changed_skills(base.tree(), now).expect("an answer");
        let skills = skills.changed.into_iter().map(|skill| format!("{} {}", skill.edit.as_str(), skill.slug));
        let others = other_changes(base.tree(), now).expect("an answer");
        let others = others.changed.into_iter().map(|other| format!("{}: {}", other.kind.meaning().0, other.name));
        skills.chain(others).collect()
    }

    /// What is wrong: the trees are not read alike, or a file that is read does not show up with one byte more.
    fn wrong(&self) -> Vec<String> {
        let base = self.commit();
        let mut wrong = self.changes(&base);
        let (settings, catalog) = self.today();
        let root = self.root();
        let now = ReadTree { root: &root, settings: &settings, catalog: &catalog };
        if said(base.tree()) != said(now) {
            wrong.push(format!("not read alike: {:#?} {:#?}", said(base.tree()), said(now)));
        }
        let is_read = |need: &Need| match need {
            Need::Nothing => true,
            Need::Tea => catalog.skill("tea").is_some(),
            Need::Skill(folder) => catalog.skills.iter().any(|found| found.skill().folder == Path::new(folder)),
            Need::DefaultRoots => settings.skill_roots.is_none(),
        };
        for (path, _) in self.read.iter().filter(|(_, need)| is_read(need)) {
            let file = root.join(path);
            let before = fs::read(&file).expect("a file");
            fs::write(&file, [before.as_slice(), b"\n"].concat()).expect("a file");
            if self.changes(&base).is_empty() {
                wrong.push(format!("nothing is said of {}", path.display()));
            }
            fs::write(&file, before).expect("a file");
        }
        wrong
    }
}

/// The names of what was read, and each problem.
fn said(tree: ReadTree<'_>) -> Vec<String> {
    let ReadTree { catalog, .. } = tree;
    let skills = catalog.skills.iter().map(|found| {
        let problems = &found.file.problems;
        format!("{} {:?} {problems:?}", found.skill().folder.display(), found.plugin)
    });
    let cases = catalog.cases.iter().map(|found| format!("{} {} {:?}", found.skill, found.id, found.case().err()));
    let problems = catalog.problems.iter().map(|problem| format!("{problem} {:?}", problem.help));
    let others = catalog.others.iter().map(|other| format!("{other:?}"));
    skills.chain(cases).chain(problems).chain(others).map(|line| tree.without_root(&line)).collect()
}

fn skill(name: &str, text: &str) -> String {
    format!("---\nname: {name}\ndescription: Makes {name} {text}.\n---\n\nDo {text}.\n")
}

const ROOTS: [&str; 10] = [
    "skills/tea",
    "tea",
    "",
    ".agents/skills/tea",
    ".github/skills/a/tea",
    "catalog/hot/skills/tea",
    "plugins/hot/skills/tea",
    "skills/.curated/tea",
    "library/tea",
    "tests/tea",
];

/// What a repository can have next to a skill.
const FEATURES: [fn(&mut Sample); 10] =
    [resources, links, leaving_links, tables, suites, broken, twins, manifests, plugin, settings];

fn resources(sample: &mut Sample) {
    for (path, text) in [("reference.md", "a\n"), ("data/.hidden", "b\n"), ("Notes.MD", "c\n")] {
        sample.add_own(path, text);
    }
    let path = sample.in_skill("scripts/brew.sh");
    sample.add_program(Need::Skill(sample.skill), &path);
}

fn links(sample: &mut Sample) {
    let up = "../".repeat(if sample.skill.is_empty() { 0 } else { Path::new(sample.skill).iter().count() });
    sample.add_own("own/text.md", "text\n");
    sample.other("shared/common.md", "common\n");
    for (path, target) in [
        ("alias.md", "own/text.md".to_owned()),
        ("again", "own".to_owned()),
        ("loop", ".".to_owned()),
        ("dead.md", "nothing.md".to_owned()),
        ("not-in/it.md", "../own/text.md/no".to_owned()),
        ("shared.md", format!("{up}shared/common.md")),
    ] {
        sample.link(&sample.in_skill(path), target);
    }
    sample.link("linked/skills", "../shared");
    sample.link(&sample.in_skill("absolute.md"), sample.root().join("shared/common.md"));
}

fn leaving_links(sample: &mut Sample) {
    let outside = sample.directory.path().join("outside");
    fs::create_dir_all(outside.join("evals")).expect("a directory");
    fs::write(outside.join("SKILL.md"), skill("out", "elsewhere")).expect("a file");
    fs::write(outside.join("evals/evals.json"), "[]").expect("a file");
    for (path, target) in [
        ("skills/out", ""),
        ("more/out/SKILL.md", "SKILL.md"),
        ("evals/evaluations", "evals"),
        ("evals/x/evals.json", "evals/evals.json"),
        ("evals/tasks/out.json", "evals/evals.json"),
    ] {
        let up = "../".repeat(Path::new(path).iter().count());
        sample.link(path, format!("{up}outside/{target}"));
    }
    let up = "../".repeat(Path::new(&sample.in_skill("out")).iter().count());
    sample.link(&sample.in_skill("out"), format!("{up}outside"));
    sample.link(&sample.in_skill("evaluations"), format!("{up}outside/evals"));
}

fn tables(sample: &mut Sample) {
    let table = "id,should_trigger,prompt,fixture,output_schema,check\n\
                 one,true,Make tea,cups,evals/shapes/answer.json,checks/hot.sh\n\
                 two,true,Make tea,/evals/recordings/kept,,\n";
    sample.add(Need::Nothing, "evals/skills/tea/prompts.csv", table);
    for (path, text) in [
        ("evals/skills/tea/cups/blue/cup.txt", "blue\n"),
        ("evals/skills/tea/checks/helper.py", "1\n"),
        ("evals/shapes/answer.json", "{\"type\": \"object\"}\n"),
        ("evals/recordings/kept/cup.txt", "red\n"),
    ] {
        sample.add(Need::Tea, path, text);
    }
    sample.add_program(Need::Tea, "evals/skills/tea/checks/hot.sh");
    let task = "{\"prompt\": \"Make more\", \"evalConfig\": {\"expectedSkillName\": \"tea\"}}\n";
    sample.add(Need::Nothing, "evals/tasks/two.json", task);
    sample.other("evals/recordings/tea/one/notes.txt", "a\n");
}

fn suites(sample: &mut Sample) {
    let suite = "{\"skill_name\": \"tea\", \"evals\": [{\"id\": 1, \"prompt\": \"Do it\", \"expected_output\": \"tea\", \
                 \"files\": [\"evals/files/a.txt\"]}]}\n";
    for (path, text) in [
        ("evals/evals.json", suite),
        ("evals/files/a.txt", "a\n"),
        ("evals/trigger-eval.json", "[{\"query\": \"some tea\", \"should_trigger\": true}]\n"),
        ("evals/cases/hot/case.yaml", "schema_version: 1\nprompt: Make it\n"),
        ("evals/cases/hot/graders/hot.md", "---\ntype: llm\n---\nIs it hot?\n"),
    ] {
        sample.add_own(path, text);
    }
}

fn broken(sample: &mut Sample) {
    let foreign = "{\"id\":\"a\",\"kind\":\"chat\",\"inputs\":{\"text\":\"hi\"},\"expect\":{\"messages\":1}}\n";
    sample.other("evals/cases.jsonl", foreign);
    sample.add_own("evals/routing/evals.json", "{\"evals\": [{\"prompt\": 1}]}\n");
    sample.add(Need::Nothing, "evals/tasks/three.json", "{\"prompt\": \"x\", \"unknown\": 1}\n");
    sample.other("evals/evals.yml", "trials: 3\n");
    sample.other("other/skill.md", &skill("misnamed", "badly"));
    sample.other("skills/none/SKILL.md", "no front matter\n");
}

fn twins(sample: &mut Sample) {
    sample.other("plugins/b/skills/tea/SKILL.md", &skill("tea", "in b"));
    sample.other("plugins/z/skills/tea/SKILL.md", &skill("tea", "in z"));
    sample.other(".claude/skills/dev/SKILL.md", &skill("dev", "for maintainers"));
    sample.link(".codex/skills", "../.claude/skills");
}

fn manifests(sample: &mut Sample) {
    let own = "{\"name\": \"all\", \"skills\": [\"./.github/skills/a/milk\"]}\n";
    let list = "{\"plugins\": [{\"name\": \"z\", \"source\": \"./plugins/z\"}, {\"name\": \"b\", \"source\": \"./plugins/b\"}]}\n";
    sample.add(Need::DefaultRoots, "plugin.json", own);
    sample.add(Need::DefaultRoots, ".claude-plugin/marketplace.json", list);
    sample.other(".github/skills/a/milk/SKILL.md", &skill("milk", "warm"));
}

fn plugin(sample: &mut Sample) {
    sample.add(Need::DefaultRoots, ".claude-plugin/plugin.json", "{\"name\": \"hot\"}\n");
    for (path, text) in [
        ("skills/ice/SKILL.md", &*skill("ice", "cold")),
        ("artifacts/report.txt", "kept\n"),
        ("hooks/hooks.json", "{}\n"),
    ] {
        sample.add(Need::Skill("skills/ice"), path, text);
    }
}

fn settings(sample: &mut Sample) {
    let text = "check = \"tools/checks/all.sh\"\n[judge]\ntemplate = \"judge/template.md\"\n\
                [mocks.command.gh]\nstdout_file = \"answers/gh.txt\"\n";
    let roots = if sample.skill.starts_with("library") { "skill_roots = [\"library\"]\n" } else { "" };
    sample.add(Need::Nothing, "evals/evals.toml", &format!("{roots}{text}"));
    sample.add_program(Need::Tea, "tools/checks/all.sh");
    sample.add(Need::Nothing, "judge/template.md", "Judge {{answer}}.\n");
    sample.add(Need::Nothing, "answers/gh.txt", "42\n");
    sample.add(Need::Tea, "evals/mocks/jira/get.json", "{}\n");
}

/// The layout of this number: a root for the skill, and some of the features.
fn layout(number: usize) -> (Sample, String) {
    let mut sample = Sample::new(ROOTS[number % ROOTS.len()]);
    fs::create_dir(sample.root()).expect("a directory");
    sample.add_own("SKILL.md", &skill("tea", "hot"));
    // Each feature alone, then some at a time.
    let mut random = fastrand::Rng::with_seed(number as u64);
    let mut is_chosen = |at: usize| if number < FEATURES.len() { at == number } else { random.u8(..5) < 2 };
    let chosen: Vec<usize> = (0..FEATURES.len()).filter(|at| is_chosen(*at)).collect();
    for at in &chosen {
        FEATURES[*at](&mut sample);
    }
    let what = format!("layout {number}: {:?} with {chosen:?}", sample.skill);
    (sample, what)
}

#[test]
fn a_commit_is_read_as_its_working_tree_in_every_layout_and_each_byte_of_a_read_file_counts() {
    let of_layout = |number| {
        let (sample, what) = layout(number);
        sample.wrong().into_iter().map(|why| format!("{what}: {why}")).collect::<Vec<_>>()
    };
    let wrong: Vec<String> = thread::scope(|scope| {
        let of_thread = |first: usize| (first..24).step_by(3).flat_map(of_layout).collect::<Vec<_>>();
        let threads = [0, 1, 2].map(|first| scope.spawn(move || of_thread(first)));
        threads.into_iter().flat_map(|thread| thread.join().unwrap_or_else(|_| vec!["it panics".to_owned()])).collect()
    });
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_skill_at_the_top_next_to_those_of_maintainers_has_a_changed_description_and_is_not_new() {
    let mut sample = Sample::new("tea");
    fs::create_dir(sample.root()).expect("a directory");
    sample.add_own("SKILL.md", &skill("tea", "hot"));
    sample.add_own("evals/trigger-eval.json", "[{\"query\": \"some tea\", \"should_trigger\": true}]\n");
    sample.other(".claude/skills/dev/SKILL.md", &skill("dev", "for maintainers"));
    let base = sample.commit();
    sample.add_own("SKILL.md", "---\nname: tea\ndescription: Does nothing at all.\n---\n\nDo hot.\n");
    assert_eq!(sample.changes(&base), ["description changed tea"]);
}

#[test]
fn what_git_ignores_is_no_difference_and_what_it_does_not_track_is_one() {
    let mut sample = Sample::new("skills/tea");
    fs::create_dir(sample.root()).expect("a directory");
    sample.add_own("SKILL.md", &skill("tea", "hot"));
    sample.other(".gitignore", "*.pyc\nscratch/\ndraft.json\n");
    let base = sample.commit();
    let task = "{\"prompt\": \"Make more\", \"evalConfig\": {\"expectedSkillName\": \"tea\"}}\n";
    sample.other("skills/tea/brew.pyc", "1");
    sample.other("skills/scratch/SKILL.md", &skill("scratch", "later"));
    sample.other("evals/skills/tea/scratch/cup.txt", "1");
    assert_eq!(sample.changes(&base), Vec::<String>::new());
    sample.other("evals/tasks/draft.json", task);
    // The built-in cases are gone, although the case that replaces them is in no commit.
    assert!(sample.changes(&base).iter().all(|change| change.starts_with("cases removed: tea/smoke-")));
    sample.other("skills/milk/SKILL.md", &skill("milk", "warm"));
    assert!(sample.changes(&base).contains(&"added milk".to_owned()));
}
