//! Rules that the project keeps for itself: which way imports point, who may do what, what dependencies may be.

use crate::support::repository;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The rooms of the crates' sources, in the order in which imports point: only to a room further up. The compiler holds it
/// between crates. Each room's first lines say what is in it.
const ROOMS: [&str; 30] = [
    "stats", "decide", "files", "text", "skill", "profile", "settings", "trace", "wire", "trial", "checks", "cases",
    "lint", "grade", "door", "process", "mcp", "mock", "agent", "store", "results", "report", "exports", "run",
    "engine", "ask", "harness", "stand_in", "setup", "cli",
];

/// Crates that are one room.
const CRATES_OF_A_ROOM: [&str; 3] = ["door", "report", "exports"];

/// Rooms whose functions are pure: they read no disk, no clock and no environment, and start nothing.
const PURE: [&str; 10] = ["stats", "decide", "profile", "trace", "wire", "trial", "lint", "grade", "report", "exports"];

fn root() -> &'static Path {
    repository()
}

/// A source file of the library or the program.
struct Source {
    /// Below `src/`.
    path: PathBuf,
    /// Its place in the tree of modules: `["run", "judge"]`. The place of a `mod.rs` is its directory.
    module: Vec<String>,
    text: String,
}

impl Source {
    fn room(&self) -> &str {
        &self.module[0]
    }
}

fn sources() -> Vec<Source> {
    let crates = fs::read_dir(root().join("crates")).expect("crates").map(|entry| entry.expect("a crate").path());
    // What tests share is in no room.
    let crates = crates.filter(|path| path.is_dir() && !path.ends_with("testing"));
    crates.chain([root().to_path_buf()]).flat_map(|path| sources_of(&path)).collect()
}

fn sources_of(path: &Path) -> Vec<Source> {
    let room = CRATES_OF_A_ROOM.into_iter().find(|room| path.ends_with(Path::new("crates").join(room)));
    let src = path.join("src");
    let files = walkdir::WalkDir::new(&src).sort_by_file_name().into_iter();
    let files = files
        .map(|entry| entry.expect("src can be read"))
        .filter(|entry| entry.path().extension().is_some_and(|end| end == "rs"));
    let read = |path: PathBuf| {
        let below = path.strip_prefix(&src).expect("below src");
        let below = room.map_or(below.to_path_buf(), |room| Path::new(room).join(below));
        let mut module: Vec<String> =
            below.with_extension("").iter().map(|part| part.to_string_lossy().into_owned()).collect();
        module.pop_if(|last| last == "mod");
        Source { text: fs::read_to_string(&path).expect("a source"), path: below, module }
    };
    files
        .map(|entry| read(entry.into_path()))
        .filter(|source| !["lib", "main", "artifacts"].contains(&source.module.last().map_or("", String::as_str)))
        .collect()
}

/// A source without its comments and its unit tests.
fn code(text: &str) -> String {
    let text = text.split("#[cfg(test)]\nmod tests").next().unwrap_or_default();
    text.lines().filter(|line| !line.trim_start().starts_with("//")).collect::<Vec<_>>().join("\n")
}

/// Every path below `crate::`, `skill_evals::` or `super::` that a source names, from the crate's root; groups in braces
/// count as one path for each of their items.
fn imports(source: &Source) -> Vec<Vec<String>> {
    let code = code(&source.text);
    let mut found = Vec::new();
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    for start in ["crate::", "skill_evals::", "super::"] {
        for (at, _) in code.match_indices(start) {
            if code[..at].ends_with(|c: char| is_name(c) || c == ':') {
                continue;
            }
            let mut base = Vec::new();
            let mut rest = &code[at..];
            if start == "super::" {
                base.clone_from(&source.module);
                while let Some(more) = rest.strip_prefix("super::") {
                    base.pop();
                    rest = more;
                }
            } else {
                rest = &rest[start.len()..];
            }
            use_tree(rest, &base, &mut found);
        }
    }
    // In a crate of one room, `crate` is that room, or names another one.
    if CRATES_OF_A_ROOM.contains(&source.room()) {
        for path in found.iter_mut().filter(|path| !ROOMS.contains(&path[0].as_str())) {
            path.insert(0, source.room().to_owned());
        }
    }
    found
}

/// Takes a use tree apart: `a::{b, c::D}` is `a::b` and `a::c::D`. Returns what comes behind it.
fn use_tree<'a>(tree: &'a str, base: &[String], found: &mut Vec<Vec<String>>) -> &'a str {
    let mut path = base.to_vec();
    let mut rest = tree;
    loop {
        if let Some(mut items) = rest.strip_prefix('{') {
            loop {
                items = use_tree(items.trim_start(), &path, found).trim_start();
                match items.strip_prefix(',') {
                    Some(next) if !next.trim_start().starts_with('}') => items = next,
                    Some(next) => return next.trim_start().trim_start_matches('}'),
                    None => return items.strip_prefix('}').unwrap_or(items),
                }
            }
        }
        let end = rest.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).unwrap_or(rest.len());
        if end == 0 {
            break;
        }
        path.push(rest[..end].to_owned());
        rest = &rest[end..];
        match rest.strip_prefix("::") {
            Some(more) => rest = more,
            None => break,
        }
    }
    found.push(path);
    rest
}

#[test]
fn imports_point_to_rooms_further_up_only() {
    let floor = |room: &str| ROOMS.iter().position(|known| *known == room);
    let mut wrong = Vec::new();
    for source in sources() {
        let Some(own) = floor(source.room()) else {
            wrong.push(format!("{} is in no room; say in this test where it belongs", source.path.display()));
            continue;
        };
        for import in imports(&source) {
            // What is not a room is an item of the crate's root, which re-exports what users need.
            if floor(&import[0]).is_some_and(|other| other > own) {
                wrong.push(format!("{} imports {}", source.path.display(), import.join("::")));
            }
        }
    }
    assert_eq!(wrong, Vec::<String>::new());
}

#[test]
fn no_two_neighbors_in_a_folder_import_each_other_in_a_circle() {
    let sources = sources();
    let is_module = |path: &[String]| sources.iter().any(|source| source.module.starts_with(path));
    // Imports between the children of a directory, by the directory.
    let mut edges: BTreeMap<Vec<String>, BTreeMap<String, Vec<String>>> = BTreeMap::new();
    for source in &sources {
        for import in imports(source) {
            for depth in 1..source.module.len().min(import.len()) {
                let (folder, own, other) = (&source.module[..depth], &source.module[depth], &import[depth]);
                if import[..depth] == *folder && own != other && is_module(&import[..=depth]) {
                    let others = edges.entry(folder.to_vec()).or_default().entry(own.clone()).or_default();
                    others.push(other.clone());
                }
            }
        }
    }
    let mut circles = Vec::new();
    for (folder, edges) in edges {
        // What imports nothing that is left is in no circle; who is left in the end is in one, or leads to one.
        let mut left: Vec<&String> = edges.keys().collect();
        loop {
            let before = left.len();
            let pending = left.clone();
            left.retain(|own| edges[*own].iter().any(|other| pending.contains(&other)));
            if left.len() == before {
                break;
            }
        }
        circles.extend(left.into_iter().map(|own| format!("{}::{own} -> {:?}", folder.join("::"), edges[own])));
    }
    assert_eq!(circles, Vec::<String>::new());
}

#[test]
fn an_agent_imports_neither_another_agent_nor_the_registry() {
    let sources = sources();
    let below_agent = |source: &&Source| source.room() == "agent" && source.module.len() > 1;
    let modules: Vec<&String> = sources.iter().filter(below_agent).map(|source| &source.module[1]).collect();
    let agents = agents();
    // The agents that users describe are in no profile.
    let is_vendor = |name: &&&String| agents.contains(**name) || **name == "custom";
    let vendors: Vec<&String> = modules.iter().filter(is_vendor).copied().collect();
    assert!(agents.iter().all(|name| vendors.contains(&name)), "each agent is a module: {agents:?}");
    let mut wrong = Vec::new();
    for source in sources.iter().filter(below_agent) {
        let own = &source.module[1];
        for import in imports(source).into_iter().filter(|import| import[0] == "agent") {
            // What agents share knows none of them; only delivery asks the registry.
            let name = import.get(1);
            let other_agent = name.is_some_and(|name| vendors.contains(&name) && name != own);
            let registry = vendors.contains(&own) && name.is_none_or(|name| !modules.contains(&name));
            if other_agent || registry {
                wrong.push(format!("{} imports {}", source.path.display(), import.join("::")));
            }
        }
    }
    assert_eq!(wrong, Vec::<String>::new());
}

/// The modules of agents: one for each line of the registry.
fn agents() -> BTreeSet<String> {
    let sources = sources().into_iter().filter(|source| source.path.starts_with("profile/data"));
    sources.map(|source| source.module[2].clone()).collect()
}

#[test]
fn only_an_agents_own_module_and_the_registry_name_it() {
    let agents = agents();
    assert!(agents.len() > 1, "agents have a profile: {agents:?}");
    // The names of their makers too.
    let names: Vec<&str> = agents.iter().map(String::as_str).chain(["anthropic", "openai"]).collect();
    let own = |path: &Path| {
        // The scripted model speaks the protocols of all, and they are read there.
        path == Path::new("profile/mod.rs")
            || path.starts_with("stand_in")
            || path.starts_with("wire")
            || path.starts_with("profile/data")
            || agents.iter().any(|name| path.with_extension("").starts_with(Path::new("agent").join(name)))
    };
    let mut wrong = Vec::new();
    let shared = sources().into_iter().filter(|source| !own(&source.path) && !source.path.ends_with("tests.rs"));
    for source in shared {
        let code = code(&source.text).to_lowercase();
        // A format of cases has chats, too, and one is an agent's own.
        let words = [
            ("chat", "cases/case/promptfoo"),
            ("claude", "cases/case/plugin_eval"),
            ("claude", "results/result_files/formats.rs"),
        ];
        let is_word = |name: &str| words.iter().any(|(word, path)| name == *word && source.path.starts_with(path));
        let said = names.iter().filter(|name| code.contains(**name) && !is_word(name));
        wrong.extend(said.map(|name| format!("{}: {name}", source.path.display())));
    }
    assert_eq!(wrong, Vec::<String>::new(), "say it in the profiles");
}

#[test]
fn every_folder_says_what_is_in_it() {
    let silent = sources().into_iter().filter(|source| source.path.ends_with("mod.rs"));
    let silent: Vec<_> = silent.filter(|source| !source.text.starts_with("//! ")).map(|source| source.path).collect();
    assert_eq!(silent, Vec::<PathBuf>::new());
}

/// The sources outside `allowed` that contain `text`, not as the end of a longer name.
fn only_in(text: &str, allowed: &[&str]) -> Vec<String> {
    let allowed = |path: &Path| allowed.iter().any(|allowed| path.starts_with(allowed));
    let found = sources().into_iter().filter(|source| !allowed(&source.path));
    let found = found.filter(|source| {
        let code = code(&source.text);
        code.match_indices(text).any(|(at, _)| !code[..at].ends_with(char::is_alphanumeric))
    });
    found.map(|source| format!("{}: {text}", source.path.display())).collect()
}

#[test]
fn programs_are_started_in_the_process_room_only() {
    let mut wrong = only_in("Command::new", &["process"]);
    wrong.extend(only_in("std::process::Command", &["process"]));
    assert_eq!(wrong, Vec::<String>::new());
}

#[test]
fn only_the_store_knows_where_artifacts_lie() {
    let mut wrong = Vec::new();
    for name in ["\"artifacts/", "\"meta.json\"", "\"grade.json\"", "\"judge.json\"", "\"evals/recordings"] {
        wrong.extend(only_in(name, &["store"]));
    }
    assert_eq!(wrong, Vec::<String>::new());
}

#[test]
fn decisions_read_no_disk() {
    let mut wrong = Vec::new();
    for source in sources().into_iter().filter(|source| PURE.contains(&source.room())) {
        let io = ["std::fs", "std::net", "std::env", "walkdir", "std::process", "tokio"];
        let code = code(&source.text);
        wrong
            .extend(io.into_iter().filter(|io| code.contains(io)).map(|io| format!("{}: {io}", source.path.display())));
    }
    assert_eq!(wrong, Vec::<String>::new());
}

#[test]
fn files_hold_one_subject() {
    let long = sources().into_iter().map(|source| (source.path, source.text.lines().count()));
    let long: Vec<_> = long.filter(|(_, lines)| *lines > 800).collect();
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
    let program = metadata["packages"].as_array().expect("packages").iter();
    let program = program.clone().find(|package| package["name"] == "skill-evals-cli").expect("the program");
    let mut wanted = vec![program["id"].as_str().expect("an id")];
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
fn every_dependency_has_a_license_that_users_can_live_with() {
    const ALLOWED: [&str; 12] = [
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
        // Data only: the list of certificates that Mozilla trusts.
        "CDLA-Permissive-2.0",
    ];
    // `A OR B` needs one of them, `A AND B` and `(A OR B) AND C` every part.
    let fine = |license: &str| {
        license
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

#[test]
fn every_package_has_the_licenses_and_a_page_for_its_readers() {
    let metadata = metadata();
    let packages = metadata["packages"].as_array().expect("packages").iter();
    let members = packages.filter(|package| package["source"].is_null() && package["publish"].is_null());
    let names: Vec<&str> = members.map(|package| package["name"].as_str().expect("a name")).collect();
    assert_eq!(names.len(), 10, "{names:?}");
    for name in names {
        let listing = Command::new(env!("CARGO"))
            .args(["package", "--list", "--offline", "--allow-dirty", "--package", name])
            .current_dir(root())
            .output()
            .expect("cargo starts");
        let files = String::from_utf8_lossy(&listing.stdout);
        let lacks = |file: &&str| !files.lines().any(|listed| listed == *file);
        let missing = ["LICENSE-APACHE", "LICENSE-MIT", "README.md", "src/lib.rs"].into_iter().filter(lacks);
        let missing: Vec<&str> = missing.collect();
        assert_eq!(missing, [""; 0], "{name}: {}", String::from_utf8_lossy(&listing.stderr));
    }
}

/// The table of docs/contributing/testing.md: eleven features on four ways of running tests.
#[test]
fn every_feature_is_shown_by_a_test_that_exists_or_says_why_not() {
    let page = fs::read_to_string(root().join("docs/contributing/testing.md")).expect("the page on tests");
    let (_, rest) = page.split_once("<!-- table -->\n").expect("a comment where the table begins");
    let (table, _) = rest.split_once("<!-- /table -->").expect("a comment where the table ends");
    let files =
        ["crates", "tests"].into_iter().flat_map(|folder| walkdir::WalkDir::new(root().join(folder)).into_iter());
    let files = files.flatten();
    let files = files.filter(|entry| entry.path().extension().is_some_and(|end| end == "rs"));
    let tests: String = files.map(|entry| fs::read_to_string(entry.path()).expect("a test")).collect();
    let mut wrong = Vec::new();
    let rows: Vec<&str> = table.trim().lines().skip(2).collect();
    for row in &rows {
        let cells: Vec<&str> = row.trim_matches('|').split('|').map(str::trim).collect();
        assert_eq!(cells.len(), 5, "{row}");
        for cell in &cells[1..] {
            let named: Vec<&str> = cell.split('`').skip(1).step_by(2).collect();
            let is_told = cell.starts_with("– ") && cell.split_whitespace().count() > 3;
            let exist = |name: &&str| tests.contains(&format!("fn {name}()"));
            if !is_told && (named.is_empty() || !named.iter().all(exist)) {
                wrong.push(format!("{}: {cell}", cells[0]));
            }
        }
    }
    assert_eq!((rows.len(), wrong), (11, Vec::<String>::new()));
}
