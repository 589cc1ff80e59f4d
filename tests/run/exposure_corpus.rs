//! Whether a skill's text entered the model's context, in scenarios with a known answer: real commands on real files,
//! and what real agents did. The errors are in the table of docs/contributing/exposure.md.

use skill_evals_testing::repository;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::LazyLock;
use std::thread;

use serde_json::json;
use skill_evals::run::skill_version::TextReader;
use skill_evals_agents::agent;
use skill_evals_cases::cases::case::Case;
use skill_evals_cases::cases::repository::{Layout, Repository, Scope};
use skill_evals_evidence::settings::mode::{AgentKind, Mode};
use skill_evals_evidence::trace::Trace;
use skill_evals_evidence::trace::exposure::{Reference, SkillTexts, TextIndexBuilder};
use skill_evals_results::store::trials_below;

/// A file of a skill, as `ledger/SKILL.md`.
type Files = BTreeSet<String>;

/// What an agent did, and which files of skills that loads.
struct Scenario {
    kind: &'static str,
    commands: Vec<String>,
    truth: Files,
}

/// How many decisions of a kind were wrong and right.
#[derive(Default)]
struct Errors {
    scenarios: u32,
    missed: u32,
    wrong: u32,
    yes: u32,
    no: u32,
}

const SHARED: &str = "Read the whole task first, and say in one sentence what you will do.\n\
     Never change a file that the task does not name.\nAsk where a number is missing; do not make one up.\n\
     Keep every answer below forty lines, and put tables into code blocks.\n";

const RATES: &str = "EUR 1.0842\nUSD 1.0000\nGBP 1.2731\nCHF 1.1265\nSEK 0.0957\nNOK 0.0931\nDKK 0.1453\nPLN 0.2529\n";

const CHINESE: &str = "# 发票\n\n收到发票后，先核对供应商的名称和税号，再核对每一行的金额。\n税率不明时，不要猜测，直接询问会计。\n\
     所有日期一律写成年月日的格式，金额保留两位小数。\n最后把核对结果写成一张表，交给负责人签字。\n";

/// Lines of which hardly two have words in a row in common, as those of people.
fn lines(count: usize, of: &str) -> String {
    let mut state = of.bytes().fold(17_u64, |state, byte| state.wrapping_mul(31).wrapping_add(u64::from(byte)));
    let mut word = || {
        let mut syllable = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            ["ka", "re", "mo", "ti", "sul", "ban", "ner", "dos", "vi", "lam", "pro", "gel", "ust", "ori", "fen", "hay"]
                [usize::try_from(state >> 60).expect("four bits")]
        };
        [syllable(), syllable(), syllable()].concat()
    };
    (0..count).fold(String::new(), |mut text, line| {
        let _ = writeln!(text, "The {of} {} is booked as {} {} in {} {line}.", word(), word(), word(), word());
        text
    })
}

const TERMS: &str = "# 合同用语\n\n甲方是出租房屋的一家；乙方是承租的人。\n押金相当于三个月的租金；退房之后十天内归还。\n\
     双方都可以提前六十天书面解除；违约的要赔偿损失。\n争议由房屋所在地的法院管辖。\n";

fn skill(name: &str, body: &str) -> String {
    format!("---\nname: {name}\ndescription: Keeps the {name} of the house in good order.\n---\n\n{body}")
}

/// The skills' files.
fn files() -> Vec<(&'static str, String)> {
    static FILES: LazyLock<Vec<(&str, String)>> = LazyLock::new(make_files);
    FILES.clone()
}

fn make_files() -> Vec<(&'static str, String)> {
    let body = |name: &str| format!("# The {name}\n\n{SHARED}\n{}", lines(24, name));
    vec![
        ("ledger/SKILL.md", skill("ledger", &body("ledger"))),
        ("ledger/tables/rates.txt", RATES.to_owned()),
        ("ledger/tables/codes.csv", lines(12, "code").replace(" is booked as ", ",")),
        ("ledger/scripts/check.sh", "#!/bin/sh\nset -e\n# Adds up each column of the ledger.\necho checked\n".to_owned()),
        ("ledger/references/rules.md", lines(30, "rule")),
        ("invoices/SKILL.md", skill("invoices", &body("invoice"))),
        ("invoices/tables/codes.csv", lines(12, "code").replace(" is booked as ", ",")),
        ("invoices/references/long.md", lines(400, "invoice line")),
        ("fapiao/SKILL.md", skill("fapiao", CHINESE)),
        ("fapiao/references/terms.md", TERMS.to_owned()),
        ("archive/SKILL.md", skill("archive", &lines(8, "box"))),
        ("archive/data.log", lines(30_000, "box")),
        ("api/SKILL.md", skill("api", "Send \"quoted\" words as they are:\n\n```js\nconst a = [1, 2];\tsend(a, \"now\");\n```\nAlways close the connection.\n")),
        ("api/schema.json", "{\n  \"account\": {\"type\": \"string\"},\n  \"amount\": {\"type\": \"number\"},\n  \"currency\": {\"enum\": [\"EUR\", \"USD\"]}\n}\n".to_owned()),
        ("tiny/SKILL.md", skill("tiny", "Go.\n")),
        ("tiny/answer.txt", "42\n".to_owned()),
    ]
}

/// The user's own files.
fn own_files() -> Vec<(&'static str, String)> {
    let all: BTreeMap<_, _> = files().into_iter().collect();
    let part = |path: &str, percent: usize| {
        let text = &all[path];
        let body = text.split_once("\n---\n\n").map_or(text.as_str(), |(_, body)| body);
        body.lines().take(body.lines().count() * percent / 100).fold(String::new(), |part, line| part + line + "\n")
    };
    vec![
        (
            "README.md",
            format!("# Our books\n\nWe keep books.\n\n> {}\n", part("archive/SKILL.md", 30).replace('\n', "\n> ")),
        ),
        ("docs/skills.md", format!("The skill is skills/ledger/SKILL.md:\n\n{}", part("ledger/SKILL.md", 17))),
        ("docs/long.md", format!("As the ledger says:\n\n{}", part("ledger/references/rules.md", 24))),
        ("docs/invoice.md", format!("Our lines:\n\n{}", part("invoices/references/long.md", 6))),
        ("CLAUDE.md", format!("{SHARED}\nThe answer is 42. Go.\n")),
        ("src/main.py", lines(60, "account")),
        (
            "notes/ledger.md",
            "# The ledger\n\nOur ledger is a book of its own.\nIt has nothing to do with an agent.\n".to_owned(),
        ),
    ]
}

fn named(paths: &[&str]) -> Files {
    paths.iter().map(|path| (*path).to_owned()).collect()
}

fn scenario(kind: &'static str, commands: &[&str], truth: &[&str]) -> Scenario {
    Scenario { kind, commands: commands.iter().map(|command| (*command).to_owned()).collect(), truth: named(truth) }
}

/// Commands that print the whole of `{P}`, which is `{F}` in the skill's directory `{S}`.
const PRINTS: [&str; 27] = [
    "cat {P}",
    "cat < {P}",
    "head -n 400 {P}",
    "tail -n +1 {P}",
    "sed -n '1,400p' {P}",
    "awk 1 {P}",
    "cat \"{P}\"; false",
    "bash -lc 'cat {P}'",
    "cd {S} && cat {F}",
    "cd {S}; cat ./{F}",
    "S={S}; cat $S/{F}",
    "while read -r l; do echo \"$l\"; done < {P}",
    "cp {P} copy && cat copy",
    "tar cf - -C {S} {F} | tar xOf -",
    "find {S} -path \"*/{F}\" -exec cat {} +",
    "dd if={P} 2>/dev/null",
    "nl -ba {P}",
    "cat -n {P}",
    "grep -n '' {P}",
    "grep -Hn '' {P}",
    "awk '{print NR \": \" $0}' {P}",
    "grep -h . {P}",
    "cat -A {P}",
    "fold -w 60 {P}",
    "sed 's/^/> /' {P}",
    "cut -c1-45 {P}",
    "sed 's/^/  /' {P}",
];

/// The same, reformatted.
const ANEW: [&str; 7] = [
    "tr a-z A-Z < {P}",
    "paste -s {P}",
    "tr '\\n' ' ' < {P}",
    "expand {P} | tr -s ' '",
    "fold -w 11 {P}",
    "awk '{printf \"%s\\\\n\", $0}' {P}",
    "sed 's/ /\\n/g' {P}",
];

/// Commands that show nothing of `{P}`.
const LOOKS: [&str; 14] = [
    "echo {P}",
    "ls -l {P}",
    "stat {P}",
    "wc {P}",
    "sha256sum {P}",
    "grep -c . {P}",
    "test -f {P} && echo yes",
    "cp {P} copy",
    "cat {P} > /dev/null",
    "head -c 0 {P}; false",
    "grep -q nonesuch {P}",
    "diff {P} {P}",
    "echo sh {P}",
    "find {S} -name '*.md'",
];

fn over_files() -> Vec<Scenario> {
    let mut all = Vec::new();
    for (file, text) in files().into_iter().filter(|(file, text)| text.len() < 30_000 && !file.starts_with("tiny")) {
        let (slug, path) = file.split_once('/').expect("a skill");
        let directory = format!("{{W}}/.agents/skills/{slug}");
        let fill = |command: &str| {
            command.replace("{P}", &format!("{directory}/{path}")).replace("{S}", &directory).replace("{F}", path)
        };
        let mut add = |kind, command: &str, truth: &[&str]| all.push(scenario(kind, &[&fill(command)], truth));
        for (kind, commands, truth) in
            [("printed", &PRINTS[..], &[file][..]), ("reformatted", &ANEW, &[file]), ("named, not shown", &LOOKS, &[])]
        {
            for command in commands {
                add(kind, command, truth);
            }
        }
        if text.lines().count() > 10 {
            add("a part", "head -n 16 {P}", &[file]);
            add("a part", "tail -n 5 {P}", &[file]);
        }
    }
    for file in ["ledger/SKILL.md", "fapiao/SKILL.md", "api/SKILL.md", "api/schema.json"] {
        for program in [
            "print(open(p).read())",
            "print([l for l in open(p)])",
            "import json; print(json.dumps(open(p).read()))",
            "print(repr(open(p).read()))",
            "import json; print(json.dumps({'a': {'b': json.dumps(open(p).read())}}))",
        ] {
            let command = format!("python3 -c \"p='{{W}}/.agents/skills/{file}'; {program}\"");
            all.push(scenario("reformatted", &[&command], &[file]));
        }
    }
    all
}

fn several() -> Vec<Scenario> {
    let at = |command: &str| command.replace("$D", "{W}/.agents/skills");
    let every: Vec<&str> =
        vec!["ledger/SKILL.md", "invoices/SKILL.md", "fapiao/SKILL.md", "archive/SKILL.md", "api/SKILL.md"];
    let tables = ["ledger/tables/rates.txt", "ledger/tables/codes.csv"];
    [
        ("cd $D/ledger && cat tables/*", &tables[..]),
        ("grep -rh . $D/ledger/tables", &tables),
        ("tar cf - -C $D/ledger tables | tar xOf -", &tables),
        ("find $D/ledger/tables -type f -exec cat {} +", &tables),
        ("cat $D/ledger/tables/codes.csv", &tables[1..]),
        ("cat $D/invoices/tables/codes.csv", &["invoices/tables/codes.csv"]),
        ("cat $D/*/SKILL.md", &every),
        ("find . -name SKILL.md -exec cat {} +", &every),
        ("cat $(find . -name SKILL.md)", &every),
        ("for f in $D/*/SKILL.md; do cat $f; done", &every),
        ("grep -rh '' --include=SKILL.md .", &every),
        ("cat $D/ledger/SKILL.md $D/api/SKILL.md", &["ledger/SKILL.md", "api/SKILL.md"]),
        ("cd $D && cat ledger/SKILL.md", &["ledger/SKILL.md"]),
        ("cd $D/ledger && cat ../api/SKILL.md", &["api/SKILL.md"]),
        ("head -4 $D/*/SKILL.md", &[]),
        ("head -4 $D/ledger/../*/SKILL.md", &[]),
        ("head -13 $D/ledger/SKILL.md | tail -n 6", &["ledger/SKILL.md"]),
        ("head -13 $D/invoices/SKILL.md | tail -n 6", &["invoices/SKILL.md"]),
        ("ls -R $D", &[]),
        ("grep -rl period $D", &[]),
        ("grep -rc period $D", &[]),
        ("cat $D/tiny/SKILL.md", &["tiny/SKILL.md"]),
        ("tail -n +5 $D/tiny/SKILL.md", &["tiny/SKILL.md"]),
        ("cat $D/tiny/answer.txt", &["tiny/answer.txt"]),
        ("sha256sum $D/tiny/answer.txt", &[]),
        ("wc -c $D/tiny/*", &[]),
        ("fold -w 200 $D/archive/data.log | head -80", &["archive/data.log"]),
        ("tail -n 200 $D/archive/data.log", &["archive/data.log"]),
        ("head -n 2 $D/archive/data.log", &[]),
        ("head -n 12 $D/invoices/references/long.md", &[]),
        ("sed -n '200,240p' $D/invoices/references/long.md", &["invoices/references/long.md"]),
        ("sh $D/ledger/scripts/check.sh", &["ledger/scripts/check.sh"]),
        ("cd $D/ledger && sh scripts/check.sh", &["ledger/scripts/check.sh"]),
        ("timeout 5 bash $D/ledger/scripts/check.sh", &["ledger/scripts/check.sh"]),
        ("sh -n $D/ledger/scripts/check.sh", &[]),
        ("P=$D/ledger/scripts; sh $P/check.sh", &["ledger/scripts/check.sh"]),
        ("tac $D/ledger/tables/rates.txt", &["ledger/tables/rates.txt"]),
        ("sort $D/ledger/tables/rates.txt", &["ledger/tables/rates.txt"]),
        ("base64 $D/api/SKILL.md", &["api/SKILL.md"]),
        ("tac $D/ledger/SKILL.md", &["ledger/SKILL.md"]),
        ("sort $D/ledger/SKILL.md", &["ledger/SKILL.md"]),
        ("cat $D/invoices/tables/../../ledger/tables/codes.csv", &tables[1..]),
        ("cat .agents/*/*/tables/rates.txt", &tables[..1]),
    ]
    .into_iter()
    .map(|(command, truth)| scenario("several files and skills", &[&at(command)], truth))
    .collect()
}

fn own() -> Vec<Scenario> {
    let mut all = Vec::new();
    for (file, _) in own_files() {
        for command in [
            "cat $F",
            "sed -n '1,200p' $F",
            "nl $F",
            "grep -n '' $F",
            "cd . && cat ./$F",
            "python3 -c \"print(open('$F').read())\"",
        ] {
            all.push(scenario("the user's own files", &[&command.replace("$F", file)], &[]));
        }
    }
    for command in [
        "cat README.md docs/*.md",
        "git log 2>&1; cat CLAUDE.md",
        "ls -la",
        "cat docs/skills.md docs/long.md",
        "grep -rn ledger docs notes",
    ] {
        all.push(scenario("the user's own files", &[command], &[]));
    }
    let text = skill("ledger", &files()[0].1);
    let write = format!("cat > notes.md <<'EOF'\n{text}EOF");
    let rates = format!("printf '%s' '{RATES}' > rates.txt; cat rates.txt");
    for (commands, truth) in [
        (vec![write.as_str(), "cat notes.md"], vec![]),
        (vec![&write, "cat notes.md", "nl notes.md"], vec![]),
        (vec![&write, "cat .agents/skills/ledger/SKILL.md"], vec!["ledger/SKILL.md"]),
        (vec![&write, "cat notes.md", "cat .agents/skills/ledger/SKILL.md"], vec!["ledger/SKILL.md"]),
        (vec!["cat .agents/skills/ledger/SKILL.md", &write, "cat notes.md"], vec!["ledger/SKILL.md"]),
        (vec![&rates], vec![]),
        (vec![&rates, "cat .agents/skills/ledger/tables/rates.txt"], vec!["ledger/tables/rates.txt"]),
        (vec!["echo 'Go. 42'"], vec![]),
    ] {
        all.push(scenario("written by the model", &commands, &truth));
    }
    all
}

fn write_world(root: &Path) {
    let skills = files().into_iter().map(|(path, text)| (format!(".agents/skills/{path}"), text));
    for (path, text) in skills.chain(own_files().into_iter().map(|(path, text)| (path.to_owned(), text))) {
        let path = root.join(path);
        fs::create_dir_all(path.parent().expect("a directory")).expect("a directory");
        fs::write(path, text).expect("a file");
    }
}

fn texts() -> SkillTexts {
    let mut texts = TextIndexBuilder::default();
    for (path, text) in files() {
        let (slug, path) = path.split_once('/').expect("a skill");
        texts.add(slug, path, text.as_bytes());
    }
    SkillTexts::new(vec![texts.build()])
}

/// What the scenario's commands print, as codex tells of it.
fn rollout(root: &Path, from: &str, commands: &[String]) -> String {
    let slugs: BTreeSet<_> =
        files().into_iter().map(|(path, _)| path.split('/').next().expect("a skill").to_owned()).collect();
    let lines: Vec<String> = slugs.iter().map(|slug| format!("- {slug}: x (file: r0/{slug}/SKILL.md)\n")).collect();
    let list = lines.concat();
    let list = format!("<skills_instructions>\n### Available skills\n{list}</skills_instructions>");
    let mut lines = vec![json!({ "type": "message", "role": "developer", "content": [{ "text": list }] })];
    for (id, command) in commands.iter().enumerate() {
        let command = &command.replace("{W}", from);
        let ran = Command::new("bash").arg("-c").arg(command).current_dir(root).output().expect("bash");
        let output = [ran.stdout, ran.stderr].concat();
        let code = ran.status.code().expect("an exit status");
        let output = format!("Process exited with code {code}\nOutput:\n{}", String::from_utf8_lossy(&output));
        let input = json!({ "cmd": command }).to_string();
        lines.push(
            json!({ "type": "function_call", "name": "exec_command", "arguments": input, "call_id": id.to_string() }),
        );
        lines.push(json!({ "type": "function_call_output", "call_id": id.to_string(), "output": output }));
    }
    lines.into_iter().map(|payload| json!({ "type": "response_item", "payload": payload }).to_string() + "\n").collect()
}

/// The files that a trace tells of as loaded.
fn loaded(trace: &Trace) -> Files {
    let skills = trace.activations.iter().map(|found| format!("{}/SKILL.md", found.skill));
    skills.chain(trace.resources.iter().map(|found| format!("{}/{}", found.skill, found.path))).collect()
}

/// The trace of what an agent left there, with what must be the same wherever it was.
fn told(kind: AgentKind, reference: &Reference, folder: &Path) -> (Trace, String) {
    let trace = agent::of(kind).decode(reference, folder).expect("a trace");
    let activations: Vec<_> = trace.activations.iter().map(|found| (&found.skill, found.how, found.seen)).collect();
    let resources: Vec<_> = trace.resources.iter().map(|found| (&found.skill, &found.path, found.seen)).collect();
    let failed: Vec<_> = trace.failed_loads.iter().map(|found| &found.skill).collect();
    let counts = (trace.inspections.len(), trace.commands, trace.effective_commands, &trace.changes_seen);
    let told = format!("{activations:?} {resources:?} {failed:?} {counts:?} {:?}", trace.gap());
    (trace, told)
}

/// Whether a trial and its recording have the same result.
fn is_the_same_recorded(
    kind: AgentKind,
    reference: &Reference,
    folder: &Path,
    skills: &[&str],
) -> Result<Trace, String> {
    let (trace, live) = told(kind, reference, folder);
    let copy = tempfile::tempdir().expect("a directory");
    for (name, content) in agent::of(kind).recorded_evidence(folder, skills).expect("the files") {
        fs::write(copy.path().join(name), content).expect("a file");
    }
    let (_, again) = told(kind, reference, copy.path());
    if again == live { Ok(trace) } else { Err(format!("{}\n{live}\n{again}", folder.display())) }
}

/// What the scenarios load where the agent works in a room of this process's own, and where the paths in its commands begin.
fn played(scenarios: &[Scenario], absolute: bool) -> Vec<Files> {
    let parts: Vec<_> = scenarios.chunks(scenarios.len().div_ceil(4)).collect();
    let play = |part: &[Scenario]| -> Vec<Files> {
        let reference = Reference { texts: texts(), ..Reference::default() };
        let scratch = tempfile::tempdir().expect("a directory");
        let world = scratch.path().join("work-0/1/1/room/home/project");
        let kept = tempfile::tempdir().expect("a directory");
        write_world(&world);
        let from = if absolute { world.to_str().expect("UTF-8") } else { "." };
        part.iter()
            .map(|scenario| {
                fs::write(kept.path().join("rollout.jsonl"), rollout(&world, from, &scenario.commands))
                    .expect("a file");
                fs::write(kept.path().join("trace.jsonl"), "").expect("a file");
                let trace = if absolute {
                    let slugs = ["ledger", "invoices", "fapiao", "archive", "api", "tiny"];
                    is_the_same_recorded(AgentKind::Codex, &reference, kept.path(), &slugs).unwrap_or_else(|error| {
                        panic!("{:?}: {error}", scenario.commands);
                    })
                } else {
                    told(AgentKind::Codex, &reference, kept.path()).0
                };
                loaded(&trace)
            })
            .collect()
    };
    thread::scope(|scope| {
        let running: Vec<_> = parts.iter().map(|part| scope.spawn(move || play(part))).collect();
        running.into_iter().flat_map(|part| part.join().expect("no panic")).collect()
    })
}

/// The files of real agents, each with what its mock model loaded by script.
fn real() -> Vec<(&'static str, String, Files, Trace)> {
    let root = repository();
    let mut all = Vec::new();
    for (agent, kind, name) in
        [("codex", AgentKind::Codex, "real codex"), ("claude", AgentKind::ClaudeCli, "real Claude")]
    {
        let folder = root.join("tests/fixtures/traces").join(agent);
        for entry in fs::read_dir(folder).expect("the traces").map(|entry| entry.expect("an entry").path()) {
            let scenario = entry.file_name().expect("a name").to_string_lossy().into_owned();
            let truth: &[&str] = match (agent, scenario.as_str()) {
                ("codex", "several-calls") => &[],
                ("claude", "plugin-skill") => &["house:greeting/SKILL.md"],
                (_, "reads-resource") => &["greeting/SKILL.md", "greeting/references/formal.md"],
                (_, "triggers" | "explicit" | "explicit-slash" | "mcp" | "several-calls" | "noodling") => {
                    &["greeting/SKILL.md"]
                }
                _ => &[],
            };
            let reference = Reference::default();
            let trace = is_the_same_recorded(kind, &reference, &entry, &["greeting"]).expect("the same");
            all.push((name, format!("{agent} {scenario}"), named(truth), trace));
        }
    }
    let catalog = Repository::new(root.to_owned()).catalog(Layout::default(), Scope::All);
    let reader = TextReader::default();
    for stored in trials_below(&root.join("evals/recordings")).expect("recordings") {
        let folder = stored.path();
        let meta = stored.meta().expect("a recording");
        let modes = Mode::built_in();
        let kind = modes.iter().find(|mode| mode.name == meta.mode).expect("a built-in mode").agent;
        let name = match kind {
            AgentKind::Codex => "real codex",
            AgentKind::ClaudeCli | AgentKind::ClaudeSdk => "real Claude",
            other => String::leak(format!("real {}", other.profile().name)),
        };
        let mut cases = catalog.cases_of(&meta.skill.slug).filter_map(|found| found.case().ok());
        // Of a case that does not say whether the skill activates, nobody knows what the model was to see.
        let known = |case: &&Case| case.id == meta.case.id && case.asks_for_trigger();
        let Some(case) = cases.find(known) else { continue };
        let reference = reader.reference(root, &catalog, &meta, &stored);
        let trace = is_the_same_recorded(kind, &reference, folder, &[&meta.skill.slug]).expect("the same");
        let truth = if case.should_trigger { named(&[&format!("{}/SKILL.md", meta.skill.slug)]) } else { Files::new() };
        all.push((name, folder.display().to_string(), truth, trace));
    }
    all
}

/// The errors of decisions about these files, and those that are wrong in words.
fn judge(errors: &mut Errors, what: &str, files: &Files, truth: &Files, found: &Files) -> String {
    errors.scenarios += 1;
    let mut wrong = String::new();
    for file in files {
        match (truth.contains(file), found.contains(file)) {
            (true, true) => errors.yes += 1,
            (false, false) => errors.no += 1,
            (true, false) => {
                errors.missed += 1;
                let _ = writeln!(wrong, "missed {file}: {what}");
            }
            (false, true) => {
                errors.wrong += 1;
                let _ = writeln!(wrong, "false {file}: {what}");
            }
        }
    }
    wrong
}

fn table(errors: &BTreeMap<&str, Errors>) -> String {
    let mut all = Errors::default();
    let mut rows = "| what the agent did | scenarios | missed | false | right yes | right no |\n| --- | --- | --- | --- | --- | --- |\n".to_owned();
    let mut add = |kind: &str, Errors { scenarios, missed, wrong, yes, no }: &Errors| {
        let _ = writeln!(rows, "| {kind} | {scenarios} | {missed} | {wrong} | {yes} | {no} |");
    };
    for (kind, errors) in errors {
        add(kind, errors);
        all.scenarios += errors.scenarios;
        all.missed += errors.missed;
        all.wrong += errors.wrong;
        all.yes += errors.yes;
        all.no += errors.no;
    }
    add("all", &all);
    rows
}

#[test]
fn the_errors_in_the_corpus_are_those_of_the_page() {
    let scenarios: Vec<Scenario> = [over_files(), several(), own()].into_iter().flatten().collect();
    let mut errors: BTreeMap<&str, Errors> = BTreeMap::new();
    let mut wrong = String::new();
    let all = files();
    for (scenario, found) in scenarios.iter().zip(played(&scenarios, false)) {
        // Of files far from what an agent did there is nothing to decide.
        let of_skill = |file: &&str| {
            scenario.commands.iter().any(|command| command.contains(file.split('/').next().unwrap_or("")))
        };
        let near = all.iter().map(|(file, _)| *file).filter(of_skill).map(str::to_owned);
        let files: Files = near.chain(scenario.truth.iter().cloned()).chain(found.iter().cloned()).collect();
        let what = scenario.commands.join(" ; ");
        wrong += &judge(errors.entry(scenario.kind).or_default(), &what, &files, &scenario.truth, &found);
    }
    for (kind, what, truth, trace) in real() {
        let found: Files =
            loaded(&trace).into_iter().filter(|file| file.ends_with("SKILL.md") || truth.len() > 1).collect();
        let files: Files = truth.iter().chain(&found).cloned().chain(["greeting/SKILL.md".to_owned()]).collect();
        wrong += &judge(errors.entry(kind).or_default(), &what, &files, &truth, &found);
    }
    let table = table(&errors);
    let page = fs::read_to_string(repository().join("docs/contributing/exposure.md")).unwrap_or_default();
    assert!(page.contains(&table), "the page has another table than\n{table}\nwrong are\n{wrong}");
}

#[test]
fn a_trial_is_told_alike_live_and_recorded_and_wherever_its_scratch_directory_was() {
    let scenarios: Vec<Scenario> = [over_files(), several(), own()].into_iter().flatten().collect();
    let some: Vec<Scenario> =
        scenarios.into_iter().enumerate().filter(|(at, _)| at % 4 == 0).map(|(_, one)| one).collect();
    assert!(played(&some, true).iter().filter(|files| !files.is_empty()).count() > 50);
    assert!(real().len() > 40);
}
