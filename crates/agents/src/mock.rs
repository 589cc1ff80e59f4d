//! What is answered from files: this program, in a trial's room, under the names of commands and MCP servers.
//!
//! In a directory that the room shows, `bin/<command>` is this program, `share/bin/<command>` has the answers of the command, the same
//! in `lib` for servers, and `share/log` is the pipe to which it writes each call. The names are ordinary, and nothing is in the environment: the program knows
//! by its own path what it is. The runner reads the pipe during the trial. In a sandbox the pipe is mounted read-only and not
//! readable for its owner, so that nobody there can take a call out of the record. A call can be forged only by whoever could have
//! made it.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, HashMap};
use std::fs::{File, OpenOptions, Permissions};
use std::hash::{BuildHasher, RandomState};
use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::ExitCode;
use std::sync::LazyLock;
use std::thread::{self, JoinHandle};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use nix::sys::stat::Mode;
use nix::unistd::mkfifo;
use regex::{Captures, Regex};
use serde_json::{Map, Value};

use crate::checks::pattern::PatternSearch;
use crate::files::{bounded, look};
use crate::mcp::{NotAnswered, OfferedTool, serve_tools};
use crate::settings::pattern;
use crate::text::problem::Problem;
use crate::trial::input_file::{Expected, MockCall, MockCalls, MockServer, MockTool, ReadyAnswer, line};

/// The directory of commands.
pub const COMMANDS: &str = "bin";

/// The directory of MCP servers.
pub const SERVERS: &str = "lib";

/// The directory of answers, and of the log.
pub const SHARE: &str = "share";

/// The pipe in [`SHARE`].
pub const LOG: &str = "log";

/// The status that a shell reports of a program which SIGPIPE ended.
const BROKEN_PIPE: u8 = 141;

/// Answers as the command or server that this process was started as, if it was.
#[expect(clippy::disallowed_methods, reason = "an agent reads it, as it would read the other program's output")]
pub fn take_over() -> Option<ExitCode> {
    let program = std::env::current_exe().ok()?;
    let (directory, name) = (program.parent()?, program.file_name()?);
    let share = directory.parent()?.join(SHARE);
    let answers = share.join(directory.file_name()?).join(name);
    if !look::is_usable_file(&answers) {
        return None;
    }
    let name = name.to_string_lossy();
    let log = share.join(LOG);
    if directory.ends_with(SERVERS) {
        return Some(serve_from_files(&answers, &log).map_or_else(
            |why| {
                let _ = writeln!(io::stderr(), "{name}: {why}");
                ExitCode::FAILURE
            },
            |()| ExitCode::SUCCESS,
        ));
    }
    Some(answer_command(&name, &answers, &log).unwrap_or_else(|error| {
        if error.kind() == io::ErrorKind::BrokenPipe {
            // Nobody reads on, which ends other programs in silence.
            return ExitCode::from(BROKEN_PIPE);
        }
        let _ = writeln!(io::stderr(), "{name}: {error}");
        ExitCode::FAILURE
    }))
}

#[expect(clippy::disallowed_methods, reason = "an agent reads it, as it would read the other program's output")]
fn answer_command(name: &str, answers: &Path, log: &Path) -> io::Result<ExitCode> {
    let answers: Vec<ReadyAnswer> = serde_json::from_slice(&bounded::read(answers)?)?;
    let line = line(std::env::args_os().skip(1));
    let fits = |answer: &&ReadyAnswer| {
        answer.args.as_ref().is_none_or(|args| pattern(args).is_ok_and(|pattern| pattern.is_match(&line)))
    };
    let found = answers.iter().find(fits);
    let call = MockCall { name: name.to_owned(), input: line.clone(), answered: found.is_some(), violated: None };
    // Without a record there is no answer: what was answered is known.
    add_call(log, &call)?;
    let Some(ReadyAnswer { stdout, stderr, exit_code, .. }) = found else {
        return Err(io::Error::other(format!("not available here: {name} {line}")));
    };
    io::stderr().write_all(stderr.as_bytes())?;
    let mut output = io::stdout().lock();
    output.write_all(stdout)?;
    output.flush()?;
    Ok(ExitCode::from(*exit_code))
}

// This program in the place of an MCP server.

/// What an answer inserts: a part of the input, or a text whose path may have parts of the input.
static PLACES: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r"\{\{\s*(?:input\.([^{}\s]+)|file:((?:[^{}]|\{[^{}]*\})*?))\s*\}\}").ok());

/// A part of the input in such a path.
static PARTS: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r"\{input\.([^{}]+)\}").ok());

/// Serves the tools in the file `answers` until the agent leaves. Each call is recorded at `log` before it is answered.
fn serve_from_files(answers: &Path, log: &Path) -> Result<(), Problem> {
    let text = bounded::read(answers)?;
    let server: MockServer = serde_json::from_slice(&text)?;
    let tools = server.tools.iter().map(|MockTool { name, description, input_schema, .. }| OfferedTool {
        name: name.clone(),
        description: description.clone(),
        input_schema: input_schema.clone(),
    });
    let (name, tools, log) = (server.name.clone(), tools.collect(), log.to_path_buf());
    Ok(serve_tools(&name, tools, Box::new(move |tool, input| recorded(&server, tool, input, &log)))?)
}

fn recorded(server: &MockServer, tool: &str, input: &Map<String, Value>, log: &Path) -> Result<String, NotAnswered> {
    let known = server.tools.iter().find(|known| known.name == tool);
    let violated = known.and_then(|known| violation(known, input));
    let call = MockCall {
        name: format!("{}/{tool}", server.name),
        input: Value::from(input.clone()).to_string(),
        answered: known.is_some() && violated.is_none(),
        violated: violated.clone(),
    };
    add_call(log, &call)?;
    match (known, violated) {
        (None, _) => Err(format!("not available here: {tool}").into()),
        (_, Some(why)) => Err(NotAnswered(why)),
        (Some(known), None) => answer(known, server, input),
    }
}

/// The part of an input at a path with dots.
fn part<'v>(input: &'v Map<String, Value>, path: &str) -> Option<&'v Value> {
    let (first, rest) = path.split_once('.').map_or((path, None), |(first, rest)| (first, Some(rest)));
    let mut value = input.get(first)?;
    for name in rest.into_iter().flat_map(|rest| rest.split('.')) {
        value = match value {
            Value::Array(list) => list.get(name.parse::<usize>().ok()?)?,
            value => value.get(name)?,
        };
    }
    Some(value)
}

/// How the input is not as expected, if so.
fn violation(tool: &MockTool, input: &Map<String, Value>) -> Option<String> {
    tool.expect.iter().find_map(|(path, expected)| {
        let value = part(input, path);
        let shown = value.map_or_else(|| "(missing)".to_owned(), Value::to_string);
        let (holds, what) = match expected {
            Expected::Type(kind) => (value.is_some_and(|value| type_of(value) == kind), format!("a {kind}")),
            Expected::Pattern(pattern) => {
                let text = value.map(text_of).unwrap_or_default();
                let search = PatternSearch::javascript(pattern, "").ok();
                let found = search.and_then(|search| search.matches(&text, 1).ok()).unwrap_or_default();
                (value.is_some() && !found.is_empty(), format!("matched by /{pattern}/"))
            }
            Expected::OneOf(values) => {
                let list: Vec<String> = values.iter().map(Value::to_string).collect();
                (value.is_some_and(|value| values.contains(value)), list.join(" or "))
            }
        };
        (!holds).then(|| format!("{path} = {shown} is not {what}"))
    })
}

fn type_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

/// A text as it is, and other values as JSON.
fn text_of(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// The answer of a tool. What is inserted is not looked into again.
fn answer(tool: &MockTool, server: &MockServer, input: &Map<String, Value>) -> Result<String, NotAnswered> {
    let Some(places) = &*PLACES else { return Ok(tool.body.clone()) };
    let mut failed = None;
    let text = places.replace_all(&tool.body, |found: &Captures<'_>| match (found.get(1), found.get(2)) {
        (Some(path), _) => part(input, path.as_str()).map(text_of).unwrap_or_default(),
        (_, Some(path)) => inserted(path.as_str(), server, input).unwrap_or_else(|why| failed.insert(why).0.clone()),
        _ => String::new(),
    });
    match (failed, tool.is_error) {
        (Some(why), _) => Err(why),
        (None, true) => Err(NotAnswered(text.into_owned())),
        (None, false) => Ok(text.into_owned()),
    }
}

/// The text of a fixture.
fn inserted(path: &str, server: &MockServer, input: &Map<String, Value>) -> Result<String, NotAnswered> {
    let mut failed = None;
    let filled = match &*PARTS {
        None => path.into(),
        Some(parts) => parts.replace_all(path, |found: &Captures<'_>| {
            let value = part(input, &found[1]);
            let text = value.map(text_of).unwrap_or_default();
            let is_plain = !matches!(&*text, "" | "." | "..") && !text.contains(['/', '\\', '\0']);
            if !is_plain {
                let shown = value.map_or_else(|| "(missing)".to_owned(), Value::to_string);
                failed.get_or_insert(NotAnswered(format!("{} = {shown} is not a plain file-name segment", &found[0])));
            }
            text
        }),
    };
    if let Some(why) = failed {
        return Err(why);
    }
    let missing = || format!("{{{{file:{filled}}}}}: no such fixture").into();
    server.fixtures.get(&*filled).cloned().ok_or_else(missing)
}

// The record of calls: a pipe that the runner reads while they are made.
//
// A call is written in chunks, a line each: the id of the call, the number of the chunk, the number of chunks, and a part of the
// call as JSON in base64. Nothing is cut here: the runner, which masks, would not find a part of a secret. The kernel writes a chunk
// whole, whoever writes at the same time. A chunk begins with a line break, so that nothing that is there before it can spoil it.

/// The length of a part of a call, in bytes of JSON. With the rest, a chunk is shorter than the 512 bytes that every system writes
/// whole.
const PART: usize = 300;

/// Maximum number of chunks of a call.
const MAX_PARTS: usize = 10_000;

/// The longest line that is read, in bytes.
const MAX_LINE: u64 = 1024;

/// Maximum size of the record, in bytes.
const MAX_SIZE: usize = 8 << 20;

/// Maximum number of calls.
const MAX_CALLS: usize = 1000;

/// Adds a call to the record at `path`.
fn add_call(path: &Path, call: &MockCall) -> io::Result<()> {
    let text = serde_json::to_vec(call)?;
    let (id, count) = (random(), text.chunks(PART).count());
    let mut log = OpenOptions::new().write(true).open(path)?;
    for (number, part) in text.chunks(PART).enumerate() {
        log.write_all(format!("\n{id} {number} {count} {}\n", STANDARD.encode(part)).as_bytes())?;
    }
    Ok(())
}

/// A word that nobody can guess.
fn random() -> String {
    format!("{:016x}", RandomState::new().hash_one(0))
}

/// The runner's end of the record. It reads until it is asked for the calls.
#[derive(Debug)]
pub struct CallLog {
    writer: File,
    /// The line that ends the record.
    end: String,
    reader: Option<JoinHandle<Vec<u8>>>,
}

impl CallLog {
    /// Makes a record at `path`.
    pub fn open(path: &Path) -> io::Result<Self> {
        mkfifo(path, Mode::S_IRUSR | Mode::S_IWUSR)?;
        // With both ends open, nobody waits for the other end, or comes to an end of the file.
        let writer = OpenOptions::new().read(true).write(true).open(path)?;
        let reader = BufReader::new(writer.try_clone()?);
        std::fs::set_permissions(path, Permissions::from_mode(0o200))?;
        let end = format!("{}{}", random(), random());
        let last = end.clone();
        let reader = thread::Builder::new().spawn(move || read(reader, last.as_bytes()))?;
        Ok(Self { writer, end, reader: Some(reader) })
    }

    /// The calls so far. No more are recorded.
    pub fn calls(mut self) -> MockCalls {
        let text = self.stop().unwrap_or_default();
        calls(&text)
    }

    fn stop(&mut self) -> Option<Vec<u8>> {
        let reader = self.reader.take()?;
        // The reader takes what others wrote, so this does not wait for room.
        self.writer.write_all(format!("\n{}\n", self.end).as_bytes()).ok()?;
        reader.join().ok()
    }
}

impl Drop for CallLog {
    fn drop(&mut self) {
        self.stop();
    }
}

/// All lines before the `end`, as far as there is room for them. A line without room is an empty chunk.
fn read(mut pipe: impl BufRead, end: &[u8]) -> Vec<u8> {
    let (mut text, mut line) = (Vec::new(), Vec::new());
    loop {
        line.clear();
        match (&mut pipe).take(MAX_LINE).read_until(b'\n', &mut line) {
            Ok(0) | Err(_) => return text,
            Ok(_) if line.trim_ascii() == end => return text,
            Ok(_) if text.len() < MAX_SIZE => text.extend(&line),
            Ok(_) if !text.ends_with(b"\n?\n") => text.extend(b"\n?\n"),
            Ok(_) => {}
        }
    }
}

/// The calls that were recorded in these lines.
fn calls(text: &[u8]) -> MockCalls {
    let mut record = MockCalls::default();
    // An agent may write any number of chunks: there is room only for those that came.
    let mut all: Vec<(usize, BTreeMap<usize, Vec<u8>>)> = Vec::new();
    let mut positions: HashMap<&[u8], usize> = HashMap::new();
    for line in text.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii).filter(|line| !line.is_empty()) {
        let Some((id, number, count, part)) = chunk(line) else {
            record.lost += 1;
            continue;
        };
        let at = *positions.entry(id).or_insert(all.len());
        if at == all.len() {
            all.push((count, BTreeMap::new()));
        }
        let (count, parts) = &mut all[at];
        match parts.entry(number) {
            Entry::Vacant(place) if number < *count => _ = place.insert(part),
            _ => record.lost += 1,
        }
    }
    for (count, parts) in all {
        let whole = (parts.len() == count).then(|| parts.into_values().collect::<Vec<_>>().concat());
        match whole.and_then(|text| serde_json::from_slice(&text).ok()) {
            Some(call) if record.calls.len() < MAX_CALLS => record.calls.push(call),
            _ => record.lost += 1,
        }
    }
    record
}

/// The id of the call, the number of the chunk, the number of chunks, and the part of the call.
fn chunk(line: &[u8]) -> Option<(&[u8], usize, usize, Vec<u8>)> {
    let mut words = line.split(|byte| *byte == b' ');
    let id = words.next()?;
    let mut number = || std::str::from_utf8(words.next()?).ok()?.parse().ok();
    let (number, count) = (number()?, number()?);
    let part = STANDARD.decode(words.next()?).ok()?;
    (number < count && count <= MAX_PARTS).then_some((id, number, count, part))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn server() -> MockServer {
        let fixtures = [("fixtures/a.json".to_owned(), "{\"a\": \"{{input.id}}\"}\n".to_owned())];
        MockServer { name: "shop".to_owned(), tools: Vec::new(), fixtures: fixtures.into() }
    }

    fn answered(body: &str, input: &Value) -> Result<String, NotAnswered> {
        let tool = MockTool { body: body.to_owned(), ..MockTool::default() };
        answer(&tool, &server(), input.as_object().expect("an object"))
    }

    /// Claude Code 2.1.332 answered so.
    #[test]
    fn parts_of_the_input_and_texts_are_inserted_as_the_real_program_does() {
        let input = json!({ "what": "x", "n": 3, "obj": { "a": 1 }, "list": [1, "é"], "id": "a" });
        let body = "Bought {{input.what}} {{input.n}} {{input.obj}} {{input.list}} {{input.missing}}|{{ input.what }}|{{input}}.";
        assert_eq!(answered(body, &input).expect("an answer"), "Bought x 3 {\"a\":1} [1,\"é\"] |x|{{input}}.");
        assert_eq!(answered("{{input.obj.a}} {{input.list.1}}", &input).expect("an answer"), "1 é");
        let body = "{{file:fixtures/{input.id}.json}} {{file:fixtures/a.json}}";
        let expected = "{\"a\": \"{{input.id}}\"}\n {\"a\": \"{{input.id}}\"}\n";
        assert_eq!(answered(body, &input).expect("an answer"), expected);
        for (id, why) in [
            (json!("../x"), "{input.id} = \"../x\" is not a plain file-name segment"),
            (json!(".."), "{input.id} = \"..\" is not a plain file-name segment"),
            (json!("none"), "{{file:fixtures/none.json}}: no such fixture"),
        ] {
            assert_eq!(answered(body, &json!({ "id": id })), Err(why.into()));
        }
        let inserted = answered("{{input.what}}", &json!({ "what": "{{file:fixtures/a.json}}" }));
        assert_eq!(inserted.expect("an answer"), "{{file:fixtures/a.json}}", "what is inserted is not looked into");
        let tool = MockTool { body: "It failed".to_owned(), is_error: true, ..MockTool::default() };
        assert_eq!(answer(&tool, &server(), &Map::new()), Err("It failed".into()));
    }

    #[test]
    fn an_input_is_as_expected_or_the_first_part_that_is_not_is_named() {
        let expect = |path: &str, expected| (path.to_owned(), expected);
        let tool = MockTool {
            expect: vec![
                expect("what", Expected::Type("string".to_owned())),
                expect("team.name", Expected::Pattern("^gr".to_owned())),
                expect("kind", Expected::OneOf(vec![json!("a"), json!(2)])),
            ],
            ..MockTool::default()
        };
        let violation = |input: Value| violation(&tool, input.as_object().expect("an object"));
        assert_eq!(violation(json!({ "what": "x", "team": { "name": "green" }, "kind": 2 })), None);
        assert_eq!(violation(json!({})).expect("one"), "what = (missing) is not a string");
        assert_eq!(violation(json!({ "what": 3 })).expect("one"), "what = 3 is not a string");
        let of_team = violation(json!({ "what": "x", "team": { "name": "red" } }));
        assert_eq!(of_team.expect("one"), "team.name = \"red\" is not matched by /^gr/");
        let of_kind = violation(json!({ "what": "x", "team": { "name": "gr" }, "kind": "c" }));
        assert_eq!(of_kind.expect("one"), "kind = \"c\" is not \"a\" or 2");
    }

    fn log() -> (tempfile::TempDir, std::path::PathBuf, CallLog) {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("log");
        let log = CallLog::open(&path).expect("a pipe");
        (directory, path, log)
    }

    fn call(input: &str) -> MockCall {
        MockCall { name: "gh".to_owned(), input: input.to_owned(), answered: true, violated: None }
    }

    #[test]
    fn concurrent_calls_are_recorded_whole() {
        let (_directory, path, log) = log();
        thread::scope(|scope| {
            for number in 0..20 {
                let path = &path;
                scope.spawn(move || {
                    for again in 0..20 {
                        add_call(path, &call(&format!("{number} {again} {}", "x\n'é".repeat(500)))).expect("a call");
                    }
                });
            }
        });
        let MockCalls { calls, lost } = log.calls();
        assert_eq!((calls.len(), lost), (400, 0));
        let mut inputs: Vec<&str> = calls.iter().map(|call| call.input.as_str()).collect();
        inputs.sort_unstable();
        inputs.dedup();
        assert_eq!(inputs.len(), 400);
        assert!(inputs.iter().all(|input| input.ends_with(&"x\n'é".repeat(500))));
    }

    #[test]
    fn what_others_write_spoils_no_call_and_is_counted() {
        let (_directory, path, log) = log();
        let mut pipe = OpenOptions::new().write(true).open(&path).expect("the pipe");
        for garbage in ["no line break", "\n0 0 1000000 eA==\n", "\n0 5 2 eA==\n", "\na 0 2 eA==", "\n\n", "\u{0}"] {
            pipe.write_all(garbage.as_bytes()).expect("it takes it");
            add_call(&path, &call(garbage)).expect("a call");
        }
        pipe.write_all(&vec![b'x'; 1 << 20]).expect("it takes it");
        add_call(&path, &call("last")).expect("a call");
        let MockCalls { calls, lost } = log.calls();
        let inputs: Vec<&str> = calls.iter().map(|call| call.input.as_str()).collect();
        assert_eq!(
            inputs,
            ["no line break", "\n0 0 1000000 eA==\n", "\n0 5 2 eA==\n", "\na 0 2 eA==", "\n\n", "\u{0}", "last"]
        );
        assert_eq!(lost, 6);
    }

    #[test]
    fn a_flood_is_read_to_its_end_and_known_as_one() {
        let (_directory, path, log) = log();
        for number in 0..=MAX_CALLS {
            add_call(&path, &call(&number.to_string())).expect("a call");
        }
        let MockCalls { calls, lost } = log.calls();
        assert_eq!((calls.len(), lost), (MAX_CALLS, 1));
        let whole = read(io::Cursor::new(vec![b'x'; MAX_SIZE * 2]), b"end");
        assert!(whole.len() < MAX_SIZE + 2048 && whole.ends_with(b"?\n"));
    }

    #[test]
    fn calls_of_which_one_part_came_take_no_room_for_the_others() {
        let lines: Vec<String> = (0..400_000).map(|id| format!("{id} 0 1000 eA==")).collect();
        let text = lines.join("\n");
        let MockCalls { calls, lost } = calls(text.as_bytes());
        assert_eq!((calls.len(), lost), (0, 400_000));
    }

    #[test]
    fn a_record_that_nobody_asks_for_ends() {
        let (_directory, path, log) = log();
        add_call(&path, &call("x")).expect("a call");
        drop(log);
    }
}
