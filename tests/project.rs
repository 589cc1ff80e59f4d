//! Rules that the project keeps for itself: which way imports point, who may do what, what dependencies may be.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The rooms of `src/`, in the order in which imports point: only to a room further up. `lib.rs` tells what each is.
const ROOMS: &[(&str, &[&str])] = &[
    (
        "vocabulary",
        &[
            "diagnostic",
            "trouble",
            "relative_path",
            "tree",
            "skill",
            "case",
            "mode",
            "plan",
            "trace",
            "outcome",
            "event",
            "evidence",
            "record",
            "catalog",
            "settings",
            "redact",
        ],
    ),
    ("decisions", &["lint", "grade", "selection", "rubric", "generate", "report"]),
    ("edges", &["config", "discovery", "inputs", "lines", "process", "workspace", "store", "skill_server"]),
    ("adapters", &["agent", "delivery", "mcp"]),
    (
        "orchestration",
        &[
            "own_check",
            "pace",
            "run",
            "stubs",
            "init",
            "session",
            "judge",
            "trial",
            "doctor",
            "recording",
            "history",
            "engine",
            "progress_files",
            "harness",
        ],
    ),
];

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Every source file with its top module.
fn sources() -> Vec<(PathBuf, String, String)> {
    let files = walkdir::WalkDir::new(root().join("src")).sort_by_file_name().into_iter();
    let files = files
        .map(|entry| entry.expect("src can be read"))
        .filter(|entry| entry.path().extension().is_some_and(|end| end == "rs"));
    let read = |path: PathBuf| {
        let below = path.strip_prefix(root().join("src")).expect("below src").to_path_buf();
        let first = below.components().next().expect("a name").as_os_str().to_string_lossy().into_owned();
        let text = fs::read_to_string(&path).expect("a source");
        (below, first.trim_end_matches(".rs").to_owned(), text)
    };
    files.map(|entry| read(entry.into_path())).collect()
}

fn library_sources() -> impl Iterator<Item = (PathBuf, String, String)> {
    sources().into_iter().filter(|(_, module, _)| !["lib", "main", "cli", "exit_code"].contains(&module.as_str()))
}

/// The top modules of this crate that a source names.
fn imports(text: &str) -> Vec<String> {
    let code = text.lines().filter(|line| !line.trim_start().starts_with("//"));
    let mut found = Vec::new();
    for line in code {
        for (at, _) in line.match_indices("crate::") {
            let name: String = line[at + 7..].chars().take_while(|c| c.is_ascii_alphanumeric() || *c == '_').collect();
            found.push(name);
        }
    }
    found.retain(|name| !name.is_empty());
    found
}

#[test]
fn imports_point_to_earlier_rooms_only() {
    let room = |module: &str| ROOMS.iter().position(|(_, modules)| modules.contains(&module));
    let mut wrong = Vec::new();
    for (path, module, text) in library_sources() {
        let Some(own) = room(&module) else {
            wrong.push(format!("{} is in no room; say in tests/project.rs where it belongs", path.display()));
            continue;
        };
        for import in imports(&text) {
            if room(&import).is_none_or(|other| other > own) {
                wrong.push(format!("{} imports crate::{import}", path.display()));
            }
        }
    }
    assert_eq!(wrong, Vec::<String>::new());
}

#[test]
fn modules_do_not_import_each_other_in_a_circle() {
    let mut edges: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (_, module, text) in library_sources() {
        let others = imports(&text).into_iter().filter(|import| *import != module);
        edges.entry(module.clone()).or_default().extend(others);
    }
    // A module whose imports are all done is done; who is left imports in a circle.
    let mut left: Vec<String> = edges.keys().cloned().collect();
    loop {
        let before = left.len();
        let pending = left.clone();
        left.retain(|module| edges[module].iter().any(|import| pending.contains(import)));
        if left.len() == before {
            break;
        }
    }
    let circle: Vec<String> = left.iter().map(|module| format!("{module} -> {:?}", edges[module])).collect();
    assert_eq!(circle, Vec::<String>::new());
}

/// The sources that say `word`, other than `allowed` ones.
fn only_in(word: &str, allowed: &[&str]) -> Vec<String> {
    let says = |text: &str| text.lines().any(|line| !line.trim_start().starts_with("//") && line.contains(word));
    let allowed = |path: &Path| allowed.iter().any(|allowed| path.starts_with(allowed) || path == Path::new(allowed));
    let found = sources().into_iter().filter(|(path, _, text)| says(text) && !allowed(path));
    found.map(|(path, _, _)| format!("{}: {word}", path.display())).collect()
}

#[test]
fn programs_are_started_in_the_process_room_only() {
    let mut wrong = only_in("Command::new", &["process.rs", "process"]);
    wrong.extend(only_in("std::process::Command", &["process.rs", "process"]));
    assert_eq!(wrong, Vec::<String>::new());
}

#[test]
fn only_the_store_knows_where_artifacts_lie() {
    let mut wrong = Vec::new();
    for name in ["\"artifacts", "\"meta.json\"", "\"grade.json\"", "\"judge.json\"", "\"evals/recordings"] {
        wrong.extend(only_in(name, &["store.rs", "store"]));
    }
    assert_eq!(wrong, Vec::<String>::new());
}

#[test]
fn decisions_read_no_disk() {
    let pure = ROOMS[0].1.iter().chain(ROOMS[1].1);
    let mut wrong = Vec::new();
    for (path, module, text) in library_sources() {
        if pure.clone().any(|name| *name == module) {
            let io = ["std::fs", "std::net", "std::env", "walkdir", "std::process", "tokio"];
            wrong.extend(io.into_iter().filter(|io| text.contains(io)).map(|io| format!("{}: {io}", path.display())));
        }
    }
    assert_eq!(wrong, Vec::<String>::new());
}

#[test]
fn files_hold_one_subject() {
    let long = sources().into_iter().map(|(path, _, text)| (path, text.lines().count()));
    let long: Vec<_> = long.filter(|(_, lines)| *lines > 500).collect();
    assert_eq!(long, Vec::new(), "split these by subject");
}

/// `cargo metadata`, which reads Cargo.lock and asks no registry.
fn metadata() -> serde_json::Value {
    let rustc = Command::new("rustc").arg("-vV").output().expect("rustc starts");
    let facts = String::from_utf8(rustc.stdout).expect("UTF-8");
    let host = facts.lines().find_map(|line| line.strip_prefix("host: ")).expect("a host");
    // For this platform only: packages of others were never fetched.
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--format-version", "1", "--locked", "--offline", "--filter-platform", host])
        .current_dir(root())
        .output()
        .expect("cargo starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).expect("JSON")
}

/// The packages that a build of the library or the program needs, by the resolved graph.
fn shipped(metadata: &serde_json::Value) -> Vec<&serde_json::Value> {
    let nodes = metadata["resolve"]["nodes"].as_array().expect("nodes");
    let own = metadata["resolve"]["root"].as_str().expect("a root");
    let mut wanted = vec![own];
    let mut next = 0;
    while next < wanted.len() {
        let node = nodes.iter().find(|node| node["id"] == wanted[next]).expect("a node");
        for dependency in node["deps"].as_array().expect("dependencies") {
            let kinds = dependency["dep_kinds"].as_array().expect("kinds");
            let id = dependency["pkg"].as_str().expect("an id");
            if kinds.iter().any(|kind| kind["kind"] != "dev") && !wanted.contains(&id) {
                wanted.push(id);
            }
        }
        next += 1;
    }
    let packages = metadata["packages"].as_array().expect("packages");
    packages.iter().filter(|package| wanted.contains(&package["id"].as_str().unwrap_or_default())).collect()
}

#[test]
fn every_dependency_has_a_licence_that_users_can_live_with() {
    const ALLOWED: [&str; 11] = [
        "MIT",
        "MIT-0",
        "Apache-2.0",
        "Apache-2.0 WITH LLVM-exception",
        "BSD-2-Clause",
        "BSD-3-Clause",
        "ISC",
        "Zlib",
        "Unlicense",
        "CC0-1.0",
        "Unicode-3.0",
    ];
    // `A OR B` needs one of them, `A AND B` and `(A OR B) AND C` every part.
    let fine = |licence: &str| {
        licence
            .replace(['(', ')'], "")
            .replace('/', " OR ")
            .split(" AND ")
            .all(|part| part.split(" OR ").any(|name| ALLOWED.contains(&name.trim())))
    };
    let metadata = metadata();
    let wrong: Vec<String> = shipped(&metadata)
        .into_iter()
        .filter(|package| !fine(package["license"].as_str().unwrap_or("none")))
        .map(|package| format!("{}: {}", package["name"], package["license"]))
        .collect();
    assert_eq!(wrong, Vec::<String>::new());
}

#[test]
fn no_dependency_needs_a_newer_rust_than_we_promise() {
    let metadata = metadata();
    let number = |version: &str| -> Vec<u32> { version.split('.').map(|part| part.parse().unwrap_or(0)).collect() };
    let packages = shipped(&metadata);
    let own = packages.iter().find(|package| package["name"] == "skill-evals").expect("this crate");
    let ours = number(own["rust_version"].as_str().expect("a rust-version"));
    let wrong: Vec<String> = packages
        .iter()
        .filter(|package| package["rust_version"].as_str().is_some_and(|theirs| number(theirs)[..2] > ours[..2]))
        .map(|package| format!("{} needs {}", package["name"], package["rust_version"]))
        .collect();
    assert_eq!(wrong, Vec::<String>::new());
}
