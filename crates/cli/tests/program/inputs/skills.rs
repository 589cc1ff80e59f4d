//! The skills that a trial is given: those of the start of the run, whatever another trial or an editor does to them.

use std::collections::BTreeSet;
use std::fs;

use skill_evals_agents::agent::bwrap;
use skill_evals_evidence::files::material::Material;
use skill_evals_evidence::files::rooted::RootedPath;

use crate::support::fixture::Fixture;
use crate::support::stub::{Stub, ran};

/// A skill `tidy` with a case for each id, and a second skill `other` with one.
fn two_skills(body: &str) -> Stub {
    let stub = Stub::new(1, body);
    let write = |path: &str, text: &str| {
        let path = stub.root().join(path);
        fs::create_dir_all(path.parent().expect("a directory")).expect("a directory");
        fs::write(path, text).expect("a file");
    };
    write("skills/other/SKILL.md", "---\nname: other\ndescription: Does something else.\n---\n\nDo it.\n");
    write("evals/skills/other/prompts.csv", "id,should_trigger,prompt\nx,false,Prompt x\n");
    stub
}

fn link(stub: &Stub, path: &str, target: &str) {
    std::os::unix::fs::symlink(target, stub.root().join(path)).expect("a link");
}

#[test]
fn a_link_that_stays_inside_the_skill_is_given_as_what_it_points_to() {
    let stub = Stub::new(
        1,
        "cat .agents/skills/tidy/again.md > seen; test -L .agents/skills/tidy/again.md && echo link >> seen; cat .agents/skills/tidy/more/a.md >> seen",
    );
    fs::create_dir(stub.root().join("skills/tidy/references")).expect("a directory");
    fs::write(stub.root().join("skills/tidy/references/a.md"), "the text\n").expect("a file");
    link(&stub, "skills/tidy/again.md", "references/../references/a.md");
    link(&stub, "skills/tidy/more", "references");
    stub.run("run --run-id r").exits(0);
    let seen = stub.run_folder("r").join("work/tidy/c0/codex/1/workspace/seen");
    assert_eq!(fs::read_to_string(seen).expect("a file"), "the text\nthe text\n");
    stub.run("lint").exits(0);
}

#[test]
fn a_skill_that_cannot_be_copied_is_an_error_of_its_own_trials_only() {
    for (target, why) in [
        ("gone.md", "which does not exist"),
        ("/etc/passwd", "absolute path"),
        ("../other/SKILL.md", "outside the directory"),
        ("loop.md", "leads back to itself"),
        (".", "leads back to itself"),
        // Installed elsewhere it would lead elsewhere.
        ("../tidy/SKILL.md", "outside the directory"),
    ] {
        let stub = two_skills("ls .agents/skills > seen");
        link(&stub, "skills/tidy/loop.md", target);
        let ran = stub.run(&["run", "--run-id", "r"]);
        ran.exits(3);
        let line = |skill: &str| stub.progress("r").into_iter().find(|line| line["skill"] == skill).expect("a line");
        assert_eq!(line("tidy")["verdict"], "error", "{target}");
        let trouble = line("tidy")["trouble"].to_string();
        assert!(trouble.contains("loop.md") && trouble.contains(why), "{target}: {trouble}");
        let seen = stub.run_folder("r").join("work/other/x/codex/1/workspace/seen");
        assert_eq!(fs::read_to_string(seen).expect("the other skill's trial ran"), "other\n", "{target}");
        stub.run("lint").exits(1).prints("skills/tidy/loop.md").prints(why);
    }
}

#[test]
fn pipes_and_files_without_bounds_are_said_and_never_read() {
    let stub = two_skills("");
    let pipe = stub.root().join("skills/tidy/pipe");
    nix::unistd::mkfifo(&pipe, nix::sys::stat::Mode::S_IRWXU).expect("a pipe");
    let big = fs::File::create(stub.root().join("skills/other/big.bin")).expect("a file");
    big.set_len(3 << 30).expect("a sparse file");
    stub.run("run --run-id r").exits(3);
    let troubles: Vec<String> = stub.progress("r").iter().map(|line| line["trouble"].to_string()).collect();
    assert!(troubles.iter().any(|text| text.contains("named pipe")), "{troubles:?}");
    assert!(troubles.iter().any(|text| text.contains("at most 1 GiB")), "{troubles:?}");
    stub.run("lint").prints("named pipe").prints("at most 1 GiB");
}

#[test]
fn a_skill_that_is_edited_while_the_run_goes_on_is_digested_as_it_was_given() {
    let edit = r#"echo more >> "$folder/skills/tidy/SKILL.md""#;
    let stub = Stub::new(1, edit);
    let before = Material::list(&stub.root().join("skills/tidy")).digest().expect("a digest");
    stub.run("run --run-id r --trials 2 --jobs 1").exits(0);
    for trial in 1..=2 {
        let meta = stub.json("r", &format!("work/tidy/c0/codex/{trial}/meta.json"));
        assert_eq!(meta["inputs"]["skill tidy"], before.as_str(), "trial {trial}");
    }
    let now = Material::list(&stub.root().join("skills/tidy")).digest().expect("a digest");
    assert_ne!(now, before);
}

#[test]
fn the_digest_of_a_copy_is_that_of_its_source() {
    let fixture = Fixture::new()
        .skill("tidy")
        .file("skills/tidy/references/a.md", "a")
        .file("skills/tidy/references-b.md", "b")
        .link("skills/tidy/z", "references");
    let from = fixture.root().join("skills/tidy");
    let to = tempfile::tempdir().expect("a directory");
    let material = Material::list(&from).whole().expect("no problems");
    let copied = material.copy(&RootedPath::open(to.path()).expect("a directory"), |_| 0o644).expect("a copy");
    assert_eq!(copied.digest, material.digest().expect("a digest"));
    assert_eq!(copied.digest, Material::list(to.path()).digest().expect("a digest"));
}

/// Runs `tidy`'s three cases one after another; each notes what it reads of its skill, then changes it.
fn changing(change: &str) -> (Stub, Vec<String>) {
    let stub = Stub::new(3, &format!("cat .agents/skills/tidy/* > read\nls .agents/skills/tidy >> read\n{change}"));
    fs::write(stub.root().join("skills/tidy/notes.md"), "notes\n").expect("a file");
    stub.run("run --run-id r --jobs 1").exits(0);
    let read = |case: usize| {
        let file = stub.run_folder("r").join(format!("work/tidy/c{case}/codex/1/workspace/read"));
        fs::read_to_string(file).expect("what was read")
    };
    let read = (0..3).map(read).collect();
    (stub, read)
}

#[test]
fn what_a_trial_does_to_its_skills_no_other_one_reads_and_its_meta_json_says() {
    for (change, file) in [
        ("chmod u+w .agents/skills/tidy/SKILL.md; echo more >> .agents/skills/tidy/SKILL.md", "tidy/SKILL.md"),
        // Not a byte longer, and as old as before.
        (
            "f=.agents/skills/tidy/notes.md; touch -r $f t; chmod u+w $f; printf 'NOTES\\n' > $f; touch -r t $f",
            "tidy/notes.md",
        ),
        ("rm -f .agents/skills/tidy/notes.md", "tidy/notes.md"),
        ("echo x > .agents/skills/tidy/new.md", "tidy/new.md"),
        ("mkdir .agents/skills/more; echo x > .agents/skills/more/SKILL.md", "more"),
        ("rm -f .agents/skills/tidy/notes.md; ln -s SKILL.md .agents/skills/tidy/notes.md", "tidy/notes.md"),
    ] {
        let (stub, read) = changing(change);
        assert!(read.iter().all(|text| *text == read[0]), "{change}: {read:?}");
        for case in 0..3 {
            let meta = stub.json("r", &format!("work/tidy/c{case}/codex/1/meta.json"));
            let changed = meta["skills_changed"].as_array().expect("a list").clone();
            assert!(changed.iter().any(|path| path == file), "{change}: {changed:?}");
        }
    }
}

#[test]
fn a_trial_that_leaves_its_skills_alone_has_nothing_to_say_and_hands_them_on() {
    let (stub, read) = changing("stat -c %i .agents/skills/tidy/SKILL.md >> inode");
    assert!(read[0].contains("notes\n"), "{read:?}");
    for case in 0..3 {
        let meta = stub.json("r", &format!("work/tidy/c{case}/codex/1/meta.json"));
        assert_eq!(meta.get("skills_changed"), None);
    }
    let inode = |case: usize| {
        let file = stub.run_folder("r").join(format!("work/tidy/c{case}/codex/1/workspace/inode"));
        fs::read_to_string(file).expect("an inode")
    };
    assert!(inode(0) == inode(1) && inode(1) == inode(2), "copied once, used three times");
}

#[test]
fn a_change_while_several_trials_have_the_skills_is_an_error_of_each_and_later_ones_have_their_own() {
    // The first of three that run at once changes what all of them have.
    let body = r#"f=.agents/skills/tidy/SKILL.md; stat -L -c %i $f > inode
until_that() { n=0; until eval "$1"; do n=$((n + 1)); [ $n -lt 1200 ] || exit 9; sleep 0.05; done; }
case "$prompt" in *[012]) most=3;; *) most=6;; esac
until_that '[ $(wc -l < "$folder/starts") -ge $most ]'
case "$prompt" in
*0) chmod u+w $f; echo more >> $f; touch "$folder/changed";;
*[12]) until_that '[ -e "$folder/changed" ]';;
esac
cat $f > read"#;
    let stub = Stub::new(6, body);
    let args = ["run", "--run-id", "r", "--jobs", "3"];
    stub.run(&args).exits(3);
    let verdict = |case: usize| {
        let id = format!("c{case}");
        let line = stub.progress("r").into_iter().rfind(|line| line["case"] == id.as_str()).expect("a line");
        (line["verdict"].as_str().expect("a word").to_owned(), line["trouble"].to_string())
    };
    for case in 0..3 {
        let (verdict, trouble) = verdict(case);
        let is_said = trouble.contains("SKILL.md was changed while several trials had these skills");
        assert!(verdict == "error" && is_said, "c{case}: {trouble}");
    }
    let left = |case: usize, name: &str| {
        let file = stub.run_folder("r").join(format!("work/tidy/c{case}/codex/1/workspace/{name}"));
        fs::read_to_string(file).expect("what it left")
    };
    assert_eq!(BTreeSet::from([left(0, "inode"), left(1, "inode"), left(2, "inode")]).len(), 1, "they share the files");
    let mut own = BTreeSet::from([left(0, "inode")]);
    for case in 3..6 {
        assert_eq!(verdict(case).0, "pass", "c{case}: {:?}", verdict(case));
        assert!(!left(case, "read").contains("more"), "c{case} reads what another trial wrote");
        own.insert(left(case, "inode"));
    }
    assert_eq!(own.len(), 4, "each has its own files");
    // What was not measured is measured with copies from the start: nothing that one does again reaches the others.
    let again = body.replace("most=3", "most=9").replace("/changed", "/again");
    stub.body(&again);
    stub.run(&[&args[..], &["--resume"]].concat()).exits(0);
    assert_eq!(stub.starts().len(), 9, "only those three run again");
}

#[test]
fn what_one_trial_after_another_does_to_its_skills_is_no_error_of_any() {
    let (stub, read) = changing("chmod u+w .agents/skills/tidy/SKILL.md; echo more >> .agents/skills/tidy/SKILL.md");
    assert!(read.iter().all(|text| *text == read[0]));
    assert!(stub.progress("r").iter().all(|line| line["verdict"] == "pass"));
}

#[test]
fn in_a_sandbox_all_trials_are_shown_the_same_files_and_none_can_write_to_them() {
    if bwrap::working().is_err() {
        return;
    }
    let body = "f=.agents/skills/tidy/SKILL.md; stat -c %i $f > inode; sleep 0.5\n\
                chmod u+w $f; echo more >> $f; rm -f $f; mkdir .agents/skills/more; cat $f > read; ls .agents/skills > names";
    let stub = Stub::new(3, body);
    let mut command = stub.command(&["run", "--run-id", "r", "--jobs", "3"]);
    ran(command.env("SKILL_EVALS_ISOLATION", "bwrap")).exits(0);
    let left = |name: &str| -> BTreeSet<String> {
        let file = |case| stub.run_folder("r").join(format!("work/tidy/c{case}/codex/1/workspace/{name}"));
        (0..3).map(|case| fs::read_to_string(file(case)).expect("what it left")).collect()
    };
    assert_eq!(left("inode").len(), 1, "they are not copied");
    let text = fs::read_to_string(stub.root().join("skills/tidy/SKILL.md")).expect("the skill");
    assert_eq!((left("read"), left("names")), (BTreeSet::from([text]), BTreeSet::from(["tidy\n".to_owned()])));
    for case in 0..3 {
        let meta = stub.json("r", &format!("work/tidy/c{case}/codex/1/meta.json"));
        assert_eq!((&meta["isolation"], meta.get("skills_changed")), (&"bwrap".into(), None));
    }
    let left = fs::read_dir(stub.scratch()).expect("a directory").flatten();
    assert_eq!(
        left.filter(|entry| entry.file_name().to_string_lossy().bytes().all(|byte| byte.is_ascii_digit())).count(),
        0
    );
}

#[test]
fn the_mcp_server_serves_the_trials_own_copy() {
    // The first trial finds the directory that the server serves, and writes there.
    let body = r#"dir=$(printf '%s\n' "$@" | sed -n 's/.*"--skills", *"\([^"]*\)".*/\1/p'); cat "$dir/tidy/SKILL.md" > read
chmod u+w "$dir/tidy/SKILL.md"; echo more >> "$dir/tidy/SKILL.md""#;
    let stub = Stub::new(2, body);
    stub.run(&["run", "--run-id", "r", "--jobs", "1", "--mode", "codex-mcp"]);
    for case in 0..2 {
        let folder = format!("work/tidy/c{case}/codex-mcp/1");
        let read = fs::read_to_string(stub.run_folder("r").join(&folder).join("workspace/read"));
        let read = read.expect("what was read");
        assert!(read.starts_with("---\nname: tidy") && !read.contains("more"), "{read}");
        let meta = stub.json("r", &format!("{folder}/meta.json"));
        assert_eq!(meta["skills_changed"][0], "tidy/SKILL.md");
    }
}

#[test]
fn an_agent_that_writes_over_the_originals_spoils_no_measurement_unseen() {
    // A first trial reaches over its room's wall: the next one gets what the run's own copy has.
    let over = r#"cat .agents/skills/tidy/SKILL.md > read
for f in "$HOME"/../../../*/skills/tidy/SKILL.md; do chmod u+w "$f"; echo more >> "$f"; done; rm -f .agents/skills/tidy/SKILL.md"#;
    let stub = Stub::new(2, over);
    stub.run("run --run-id r --jobs 1").exits(0);
    for case in 0..2 {
        let folder = stub.run_folder("r").join(format!("work/tidy/c{case}/codex/1"));
        let read = fs::read_to_string(folder.join("workspace/read")).expect("what was read");
        assert!(!read.contains("more"), "{read}");
        let meta = stub.json("r", &format!("work/tidy/c{case}/codex/1/meta.json"));
        assert_eq!(meta["skills_changed"][0], "tidy/SKILL.md");
    }
    // It changes that one too; what comes after it is not measured.
    let body = format!(
        "for f in \"$folder\"/artifacts/skill-evals/*/skills_snapshot/tidy/SKILL.md; do chmod u+w \"$f\"; echo more >> \"$f\"; done\n{over}"
    );
    let stub = Stub::new(2, &body);
    stub.run("run --run-id r --jobs 1").exits(3);
    let errors: Vec<String> = stub
        .progress("r")
        .iter()
        .filter(|line| line["verdict"] == "error")
        .map(|line| line["trouble"].to_string())
        .collect();
    assert!(errors.len() == 1 && errors[0].contains("was changed during the run"), "{errors:?}");
}
