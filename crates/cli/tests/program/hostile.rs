//! Repositories that somebody made to break the program: each is linted, listed, examined, planned, run and replayed.
//! Nothing panics, hangs or uses up the memory. Each problem is reported with the file's name. The one good case next
//! to it runs, unless the settings themselves cannot be read.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::process::Command;
use std::sync::Mutex;

use crate::support::stub::{Stub, ran};
use nix::sys::stat::Mode;
use nix::unistd::mkfifo;

/// Makes a repository hostile, which has a skill `tidy` with a case `c0` that passes.
type Make = Box<dyn Fn(&Path) + Send + Sync>;

/// What is reported about it.
#[derive(Clone, Copy)]
enum Told {
    /// The lint names this, and the run goes well.
    Lint(&'static str),
    /// Nothing is wrong.
    Nothing,
    /// Every command that needs the settings names this and ends.
    Settings(&'static str),
    /// The run names this and ends.
    Run(&'static str),
}

/// Commands, as a user types them; `tidy::c0` is the good case.
const COMMANDS: [&[&str]; 6] = [
    &["lint", "--check-evals"],
    &["list"],
    &["run", "--dry-run"],
    &["doctor"],
    &["run", "--run-id", "r", "tidy::c0"],
    &["run", "--replay", "tidy::c0"],
];

/// Seconds after which a command hangs: many times what any takes.
const HANGS: &str = "120";

/// Most KiB of address space: far more than any takes, and far less than what is offered to be read.
const MEMORY: u64 = 6 << 20;

fn put(path: impl AsRef<Path>, text: impl AsRef<[u8]>) {
    let path = path.as_ref();
    fs::create_dir_all(path.parent().expect("a directory above")).expect("a directory");
    let _ = fs::remove_file(path);
    fs::write(path, text).expect("a file");
}

fn room_for(path: &Path) {
    fs::create_dir_all(path.parent().expect("a directory above")).expect("a directory");
    let _ = fs::remove_file(path);
}

fn pipe(path: &Path) {
    room_for(path);
    mkfifo(path, Mode::from_bits_truncate(0o644)).expect("a pipe");
}

fn zero(path: &Path) {
    room_for(path);
    symlink("/dev/zero", path).expect("a link");
}

/// Says that it is a hundred gigabytes, and has no blocks.
fn sparse(path: &Path) {
    room_for(path);
    File::create(path).and_then(|file| file.set_len(100 << 30)).expect("a sparse file");
}

fn link_loop(path: &Path) {
    room_for(path);
    let other = path.with_extension("other");
    symlink(&other, path).expect("a link");
    symlink(path, other).expect("a link");
}

fn socket(path: &Path) {
    room_for(path);
    // A socket's path must be short.
    let short = tempfile::Builder::new().tempdir_in("/tmp").expect("a directory");
    let bound = short.path().join("s");
    drop(UnixListener::bind(&bound).expect("a socket"));
    if fs::rename(&bound, path).is_err() {
        let _ = UnixListener::bind(path);
    }
}

fn utf_16(text: &str) -> Vec<u8> {
    [0xfeff].into_iter().chain(text.encode_utf16()).flat_map(u16::to_le_bytes).collect()
}

const SKILL: &str = "---\nname: x\ndescription: Does what x does, and nothing else.\n---\n\nDo it.\n";
const TABLE: &str = "id,should_trigger,prompt\na,true,Do x.\nb,false,Do y.\n";

/// A second skill, `x`, whose SKILL.md and table are as given.
fn skill(root: &Path, text: impl AsRef<[u8]>, table: impl AsRef<[u8]>) {
    put(root.join("skills/x/SKILL.md"), text);
    put(root.join("evals/skills/x/prompts.csv"), table);
}

fn deep(root: &Path, levels: usize) -> std::path::PathBuf {
    (0..levels).fold(root.to_path_buf(), |path, _| path.join("d"))
}

/// What stands where a file should, and how it is made.
type Kind = (&'static str, fn(&Path));

/// Things that are not a plain file, or not of a sensible size, at each place that is read.
fn special_files() -> Vec<(String, Told, Make)> {
    let kinds: [Kind; 5] = [
        ("pipe", pipe),
        ("/dev/zero", zero),
        ("sparse file", sparse),
        ("loop of links", link_loop),
        ("socket", socket),
    ];
    let places = [
        ("skills/x/SKILL.md", Told::Lint("skills/x/SKILL.md")),
        ("skills/x/data.bin", Told::Lint("data.bin")),
        ("evals/skills/x/prompts.csv", Told::Lint("evals/skills/x/prompts.csv")),
        ("evals/tasks/t.json", Told::Lint("evals/tasks/t.json")),
        ("evals/evals.toml", Told::Settings("evals/evals.toml")),
        ("evals/judge.md", Told::Lint("evals/judge.md")),
        ("evals/schemas/style_rubric.schema.json", Told::Lint("style_rubric.schema.json")),
        ("evals/schemas/s.json", Told::Lint("evals/schemas/s.json")),
        ("evals/skills/x/files/data.bin", Told::Lint("data.bin")),
        ("tests/skill_evals/stubs.rs", Told::Lint("tests/skill_evals/stubs.rs")),
    ];
    let mut all: Vec<(String, Told, Make)> = Vec::new();
    for (kind, make) in kinds {
        for (place, told) in places {
            let hostile = move |root: &Path| {
                let columns = "id,should_trigger,prompt,output_schema,fixture\n";
                let rows = "a,true,Do x.,evals/schemas/s.json,files\nb,false,Do y.,,\n";
                skill(root, SKILL, [columns, rows].concat());
                put(root.join("evals/schemas/s.json"), "{}");
                put(root.join("evals/skills/x/files/a.txt"), "a");
                make(&root.join(place));
            };
            all.push((format!("a {kind} at {place}"), told, Box::new(hostile)));
        }
    }
    all
}

fn add(all: &mut Vec<(String, Told, Make)>, name: &str, told: Told, make: impl Fn(&Path) + Send + Sync + 'static) {
    all.push((name.to_owned(), told, Box::new(make)));
}

fn names(all: &mut Vec<(String, Told, Make)>) {
    let strange = OsStr::from_bytes(b"st\xffrange");
    add(all, "a skill whose directory is not UTF-8", Told::Lint("range/SKILL.md"), move |root| {
        put(root.join("skills").join(strange).join("SKILL.md"), SKILL);
    });
    add(all, "a table whose directory is not UTF-8", Told::Lint("range"), move |root| {
        put(root.join("evals/skills").join(strange).join("prompts.csv"), TABLE);
    });
    add(all, "a task whose name is not UTF-8", Told::Lint("range"), move |root| {
        put(root.join("evals/tasks").join(OsStr::from_bytes(b"st\xffrange.json")), "{}");
    });
    add(all, "a file of a skill whose name is not UTF-8", Told::Nothing, move |root| {
        skill(root, SKILL, TABLE);
        put(root.join("skills/x").join(strange), "x");
    });
    add(all, "a skill behind two hundred directories", Told::Lint("and not in this one"), |root| {
        put(deep(&root.join("skills"), 200).join("SKILL.md"), SKILL);
    });
    add(all, "a skill with two hundred directories", Told::Lint("too deep"), |root| {
        skill(root, SKILL, TABLE);
        put(deep(&root.join("skills/x"), 200).join("a.txt"), "x");
    });
    for (files, told) in [(10_000, Told::Nothing), (25_000, Told::Lint("20000"))] {
        add(all, &format!("a skill with {files} files"), told, move |root| {
            skill(root, SKILL, TABLE);
            fs::create_dir(root.join("skills/x/many")).expect("a directory");
            for number in 0..files {
                File::create(root.join(format!("skills/x/many/{number}"))).expect("a file");
            }
        });
    }
}

fn links_and_folders(all: &mut Vec<(String, Told, Make)>) {
    add(all, "a directory of a skill that leads back to it", Told::Lint("skills/x/again"), |root| {
        skill(root, SKILL, TABLE);
        symlink(".", root.join("skills/x/again")).expect("a link");
    });
    add(all, "a directory of a skill that leads out", Told::Lint("skills/x/etc"), |root| {
        skill(root, SKILL, TABLE);
        symlink("/etc", root.join("skills/x/etc")).expect("a link");
    });
    add(all, "a skill that is a link to a directory", Told::Lint("skills/linked"), |root| {
        put(root.join("elsewhere/linked/SKILL.md"), SKILL);
        symlink("../elsewhere/linked", root.join("skills/linked")).expect("a link");
    });
    add(all, "skills that lead back to themselves", Told::Lint("skills/loop"), |root| {
        symlink("../skills", root.join("skills/loop")).expect("a link");
    });
    add(all, "a directory where SKILL.md should be", Told::Lint("skills/x/SKILL.md"), |root| {
        fs::create_dir_all(root.join("skills/x/SKILL.md")).expect("a directory");
    });
    add(all, "a directory where a table should be", Told::Lint("evals/skills/x/prompts.csv"), |root| {
        skill(root, SKILL, TABLE);
        fs::remove_file(root.join("evals/skills/x/prompts.csv")).expect("a file");
        fs::create_dir_all(root.join("evals/skills/x/prompts.csv")).expect("a directory");
    });
    add(all, "a file where the tasks should be", Told::Lint("evals/tasks"), |root| put(root.join("evals/tasks"), "x"));
    add(all, "tasks in a loop of links", Told::Lint("evals/tasks"), |root| link_loop(&root.join("evals/tasks")));
    add(all, "a file where the runs should be", Told::Run("artifacts"), |root| put(root.join("artifacts"), "x"));
    add(all, "a recording that is a pipe", Told::Nothing, |root| {
        pipe(&root.join("evals/recordings/tidy/c0/codex/1/meta.json"));
    });
    add(all, "a recording that is sparse", Told::Lint("evals/recordings/tidy/c0/codex/1"), |root| {
        sparse(&root.join("evals/recordings/tidy/c0/codex/1/meta.json"));
    });
}

fn tables(all: &mut Vec<(String, Told, Make)>) {
    let sheet = Told::Lint("evals/skills/x/prompts.csv");
    let tables: [(&str, Told, Vec<u8>); 13] = [
        ("a row of eight megabytes", Told::Nothing, format!("{TABLE}c,true,{}\n", "y".repeat(8 << 20)).into()),
        ("a quote that is never closed", sheet, format!("{TABLE}c,true,\"{}", "y,\n".repeat(1 << 20)).into()),
        ("a million commas", sheet, format!("{TABLE}c,true,x{}y\n", ",".repeat(1 << 20)).into()),
        ("ten thousand broken rows", sheet, [TABLE, &"c,maybe,x\n".repeat(10_000)].concat().into()),
        ("a byte order mark", Told::Nothing, format!("\u{feff}{TABLE}").into()),
        ("UTF-16", sheet, utf_16(TABLE)),
        ("Latin-1", sheet, [TABLE.as_bytes(), b"c,true,caf\xe9\n"].concat()),
        ("an id that leaves its directory", sheet, format!("{TABLE}../../x,true,z\n").into()),
        ("ids of dots and slashes", sheet, format!("{TABLE}..,true,z\n/etc/passwd,true,z\n.,true,z\n,true,z\n").into()),
        (
            "a pattern too large to compile",
            sheet,
            b"id,should_trigger,prompt,must_include\na,true,x,((a{99}){99}){99}\nb,false,y,\n".to_vec(),
        ),
        (
            "paths that leave the repository",
            sheet,
            b"id,should_trigger,prompt,fixture,output_schema\na,true,x,../../..,/etc/passwd\nb,false,y,,\n".to_vec(),
        ),
        ("NUL bytes", sheet, [TABLE.as_bytes(), b"c,true,\0\0\0\n"].concat()),
        ("no bytes at all", sheet, Vec::new()),
    ];
    for (name, told, table) in tables {
        add(all, &format!("a table with {name}"), told, move |root| skill(root, SKILL, &table));
    }
}

fn skill_files(all: &mut Vec<(String, Told, Make)>) {
    let skill_md = Told::Lint("skills/x/SKILL.md");
    let front = |text: &str| format!("---\n{text}\n---\nDo it.\n").into_bytes();
    let bomb: String = (1..40).fold("a0: &a0 [x,x,x,x,x,x,x,x,x]".to_owned(), |text, number| {
        let alias = format!("*a{}", number - 1);
        format!("{text}\na{number}: &a{number} [{}]", [alias.as_str(); 9].join(","))
    });
    let skills: [(&str, Told, Vec<u8>); 11] = [
        ("broken YAML", skill_md, front("name: [x\ndescription: {")),
        ("YAML that doubles", skill_md, front(&format!("name: x\ndescription: y\n{bomb}"))),
        ("deeply nested YAML", skill_md, front(&format!("name: x\ndescription: {}", "[".repeat(100_000)))),
        ("a description of ten megabytes", skill_md, front(&format!("name: x\ndescription: {}", "y ".repeat(5 << 20)))),
        ("UTF-16", skill_md, utf_16(SKILL)),
        ("a name that is a path", skill_md, front("name: ../../x\ndescription: Does x.")),
        ("an absolute path for a name", skill_md, front("name: /etc/x\ndescription: Does x.")),
        ("dots for a name", skill_md, front("name: '..'\ndescription: Does x.")),
        ("a hidden name", skill_md, front("name: .x\ndescription: Does x.")),
        ("a very long name", skill_md, front(&format!("name: {}\ndescription: Does x.", "x".repeat(300)))),
        ("a million links", Told::Nothing, [SKILL.as_bytes(), "[a](#b) ".repeat(1 << 20).as_bytes()].concat()),
    ];
    for (name, told, text) in skills {
        add(all, &format!("a skill with {name}"), told, move |root| put(root.join("skills/x/SKILL.md"), &text));
    }
}

fn tasks_settings_and_schemas(all: &mut Vec<(String, Told, Make)>) {
    let tasks: [(&str, Vec<u8>); 4] = [
        ("broken JSON", b"{\"prompt\": ".to_vec()),
        ("deeply nested JSON", "[".repeat(100_000).into_bytes()),
        ("UTF-16", utf_16("{}")),
        (
            "a skill that is a path",
            b"{\"prompt\": \"x\", \"evalConfig\": {\"expectedSkillName\": \"../../x\"}}".to_vec(),
        ),
    ];
    for (name, text) in tasks {
        add(all, &format!("a task with {name}"), Told::Lint("evals/tasks/t.json"), move |root| {
            put(root.join("evals/tasks/t.json"), &text);
        });
    }
    add(all, "a task called ..", Told::Lint("evals/tasks/...json"), |root| put(root.join("evals/tasks/...json"), "{}"));
    let settings: [(&str, Vec<u8>); 5] = [
        ("broken TOML", b"trials = [".to_vec()),
        ("deeply nested TOML", format!("x = {}", "[".repeat(100_000)).into_bytes()),
        ("UTF-16", utf_16("trials = 1")),
        ("roots that leave the repository", b"skill_roots = [\"../../..\", \"/etc\"]".to_vec()),
        ("numbers that are none", b"trials = 99999999999999999\n".to_vec()),
    ];
    for (name, text) in settings {
        add(all, &format!("settings with {name}"), Told::Settings("evals/evals.toml"), move |root| {
            put(root.join("evals/evals.toml"), &text);
        });
    }
    add(all, "a schema that never ends", Told::Lint("evals/schemas/s.json"), |root| {
        skill(root, SKILL, "id,should_trigger,prompt,output_schema\na,true,x,evals/schemas/s.json\nb,false,y,\n");
        let twice = |number| {
            format!(
                r##""a{}": {{"anyOf": [{{"$ref": "#/$defs/a{number}"}}, {{"$ref": "#/$defs/a{number}"}}]}}"##,
                number + 1
            )
        };
        let definitions: Vec<String> = (0..64).map(twice).collect();
        put(
            root.join("evals/schemas/s.json"),
            format!(r##"{{"$ref": "#/$defs/a64", "$defs": {{"a0": {{}}, {}}}}}"##, definitions.join(",")),
        );
    });
}

/// Runs a command with bounds on its time and memory, which it must not come near.
fn bounded(stub: &Stub, arguments: &[&str]) -> (i32, String) {
    let own = stub.command(arguments);
    let mut command = Command::new("timeout");
    command.args([HANGS, "sh", "-c", &format!("ulimit -v {MEMORY}; exec \"$0\" \"$@\"")]);
    command.arg(own.get_program()).args(own.get_args()).current_dir(stub.root());
    for (name, value) in own.get_envs() {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    let ran = ran(&mut command);
    (ran.code, format!("{}{}", ran.stdout, ran.stderr))
}

/// What goes wrong with a hostile repository.
fn faults(name: &str, told: Told, make: &Make) -> Vec<String> {
    let stub = Stub::new(1, "");
    put(
        stub.root().join("evals/skills/tidy/prompts.csv"),
        "id,should_trigger,prompt\nc0,false,Prompt 0\np,true,Do it.\n",
    );
    make(stub.root());
    let mut faults = Vec::new();
    for arguments in COMMANDS {
        let (code, said) = bounded(&stub, arguments);
        let start: String = said.chars().take(1500).collect();
        let mut fault = |what: &str| faults.push(format!("{name}: {} {what} ({code}):\n{start}", arguments.join(" ")));
        if !(0..=5).contains(&code) || said.contains("panicked") || said.contains("memory allocation") {
            fault("broke");
        }
        let (lint, runs) = (arguments[0] == "lint", arguments.contains(&"r"));
        match told {
            Told::Lint(file) if lint && !said.contains(file) => fault("is silent"),
            Told::Nothing if lint && code != 0 => fault("complains"),
            Told::Settings(file) if !said.contains(file) => fault("is silent"),
            Told::Run(file) if runs && (code == 0 || !said.contains(file)) => fault("is silent"),
            Told::Lint(_) | Told::Nothing if runs && (code != 0 || !said.contains("1 passed")) => {
                fault("lets it spoil the good case");
            }
            _ => {}
        }
    }
    faults
}

#[test]
fn no_repository_breaks_a_command_or_is_passed_over_in_silence() {
    let mut all = special_files();
    for more in [names, links_and_folders, tables, skill_files, tasks_settings_and_schemas] {
        more(&mut all);
    }
    assert!(all.len() > 100, "{}", all.len());
    let queue = Mutex::new(all.iter());
    let found = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(2, usize::from) {
            scope.spawn(|| {
                loop {
                    let next = queue.lock().expect("no fault holds it").next();
                    let Some((name, told, make)) = next else { return };
                    let faults = faults(name, *told, make);
                    found.lock().expect("no fault holds it").extend(faults);
                }
            });
        }
    });
    let found = found.into_inner().expect("no fault holds it");
    assert!(found.is_empty(), "{} faults in {} repositories:\n{}", found.len(), all.len(), found.join("\n\n"));
}
