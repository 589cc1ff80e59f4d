//! The runner's end of the pipes: it reads requests, and delivers replies, until it is asked for the calls.

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions, Permissions};
use std::hash::{BuildHasher, RandomState};
use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::fcntl::{FcntlArg, OFlag, fcntl};
use nix::sys::stat::Mode;
use nix::unistd::mkfifo;

use crate::cases::mocks::Mocks;
use crate::trial::input_file::{MockCalls, RecordedCall};

use super::answers::Answers;
use super::protocol::{LOG, PAUSE, Reply, Requests};

/// The longest line that is read, in bytes.
const MAX_LINE: u64 = 1024;

/// Maximum number of mocks that wait for a reply. Others wait until they are asked what they want.
const MOST_WAITING: usize = 256;

/// How long a mock may take to fetch a reply: it may have been ended meanwhile.
const PATIENCE: Duration = Duration::from_secs(60);

/// What a thread that delivers a reply needs of memory, in bytes.
const STACK: usize = 128 << 10;

/// The runner's end of the record.
#[derive(Debug)]
pub struct CallLog {
    shared: Arc<Shared>,
    writer: File,
    /// The line that ends the record.
    end: String,
    reader: Option<JoinHandle<u64>>,
}

#[derive(Debug)]
struct Shared {
    /// The directory with the pipes.
    share: PathBuf,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug)]
struct State {
    answers: Answers,
    /// How many mocks wait for a reply.
    waiting: usize,
    has_ended: bool,
}

impl CallLog {
    /// Answers what asks in the directory `share`, which is the runner's. `real` has the real programs of commands, for the agent; `None`
    /// if only the agent's system knows them.
    pub fn open(share: &Path, mocks: &Mocks, real: Option<BTreeMap<String, PathBuf>>) -> io::Result<Self> {
        let log = share.join(LOG);
        mkfifo(&log, Mode::S_IRUSR | Mode::S_IWUSR)?;
        // With both ends open, nobody waits for the other end, or comes to an end of the file.
        let writer = OpenOptions::new().read(true).write(true).open(&log)?;
        let pipe = BufReader::new(writer.try_clone()?);
        std::fs::set_permissions(&log, Permissions::from_mode(0o200))?;
        let answers = Answers::new(mocks, real);
        let state = State { answers, waiting: 0, has_ended: false };
        let shared = Arc::new(Shared { share: share.to_path_buf(), state: Mutex::new(state), changed: Condvar::new() });
        let random = || RandomState::new().hash_one(0);
        let end = format!("{:016x}{:016x}", random(), random());
        let (last, of_reader) = (end.clone(), Arc::clone(&shared));
        let reader = thread::Builder::new().spawn(move || read(pipe, last.as_bytes(), &of_reader))?;
        Ok(Self { shared, writer, end, reader: Some(reader) })
    }

    /// The calls so far, and what real programs answered of which that was wanted. No more are recorded.
    pub fn calls(mut self) -> (MockCalls, Vec<RecordedCall>) {
        // A record whose end was not seen may lack a call.
        let lost = self.stop().unwrap_or(1);
        let mut state = self.shared.lock();
        (state.answers.take_record(lost), state.answers.take_outputs())
    }

    /// Ends the record. Returns how many of its parts cannot be read.
    fn stop(&mut self) -> Option<u64> {
        let reader = self.reader.take()?;
        self.shared.lock().has_ended = true;
        self.shared.changed.notify_all();
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

/// Serves all requests before the `end`. Returns how many parts of the record cannot be read.
fn read(mut pipe: impl BufRead, end: &[u8], shared: &Arc<Shared>) -> u64 {
    let (mut requests, mut line, mut is_rest) = (Requests::default(), Vec::new(), false);
    loop {
        line.clear();
        match (&mut pipe).take(MAX_LINE).read_until(b'\n', &mut line) {
            Ok(0) | Err(_) => return requests.lost(),
            Ok(_) if line.trim_ascii() == end => return requests.lost(),
            // A line that is too long comes in parts, and counts once.
            Ok(_) if !line.ends_with(b"\n") => {
                if !is_rest {
                    requests.lose();
                }
                is_rest = true;
            }
            Ok(_) if is_rest => is_rest = false,
            Ok(_) => {
                if let Some((id, request)) = requests.push(line.trim_ascii()) {
                    let mut state = shared.lock();
                    let (reply, delay) = state.answers.reply(&id, request);
                    Shared::deliver(shared, state, id, reply, delay);
                }
            }
        }
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Lets a thread deliver the reply. Waits if too many do.
    fn deliver(shared: &Arc<Self>, mut state: MutexGuard<'_, State>, id: String, reply: Reply, delay: Duration) {
        while state.waiting >= MOST_WAITING && !state.has_ended {
            state = shared.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        if state.has_ended {
            return;
        }
        state.waiting += 1;
        drop(state);
        let of_thread = Arc::clone(shared);
        let thread = thread::Builder::new().stack_size(STACK).spawn(move || {
            if !of_thread.has_ended_within(delay) {
                // Nobody fetches it if the mock was ended.
                let _ = of_thread.send(&of_thread.share.join(id), &reply);
            }
            of_thread.lock().waiting -= 1;
            of_thread.changed.notify_all();
        });
        if thread.is_err() {
            let mut state = shared.lock();
            state.waiting -= 1;
            state.answers.lose();
        }
    }

    /// Waits, and no longer than the record goes on. Whether it has ended.
    fn has_ended_within(&self, time: Duration) -> bool {
        let waited = self.changed.wait_timeout_while(self.lock(), time, |state| !state.has_ended);
        waited.unwrap_or_else(PoisonError::into_inner).0.has_ended
    }

    /// Makes the pipe of a reply, and writes the reply once somebody reads there.
    fn send(&self, place: &Path, reply: &Reply) -> io::Result<()> {
        let text = serde_json::to_vec(reply)?;
        mkfifo(place, Mode::S_IRUSR | Mode::S_IWUSR)?;
        let written = self.opened(place).and_then(|pipe| pipe.map_or(Ok(()), |mut pipe| pipe.write_all(&text)));
        let removed = std::fs::remove_file(place);
        written.and(removed)
    }

    /// The pipe, as soon as somebody reads from it; `None` if nobody does.
    fn opened(&self, place: &Path) -> io::Result<Option<File>> {
        let began = Instant::now();
        let flags = OFlag::O_NONBLOCK | OFlag::O_NOFOLLOW;
        loop {
            match OpenOptions::new().write(true).custom_flags(flags.bits()).open(place) {
                Err(error) if error.raw_os_error() == Some(Errno::ENXIO as i32) => {
                    if began.elapsed() > PATIENCE || self.has_ended_within(PAUSE) {
                        return Ok(None);
                    }
                }
                opened => {
                    let pipe = opened?;
                    fcntl(&pipe, FcntlArg::F_SETFL(OFlag::empty()))?;
                    return Ok(Some(pipe));
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::trial::input_file::{Bytes, ReadyAnswer};

    use super::super::protocol::{Call, Request, ask, write};
    use super::*;

    /// A record whose command `gh` has these answers.
    fn log(answers: &[ReadyAnswer]) -> (tempfile::TempDir, PathBuf, CallLog) {
        let directory = tempfile::tempdir().expect("a directory");
        let share = directory.path().to_path_buf();
        let mocks = Mocks { commands: [("gh".to_owned(), answers.to_vec())].into(), ..Mocks::default() };
        let log = CallLog::open(&share, &mocks, None).expect("a pipe");
        (directory, share, log)
    }

    fn prints(text: &str) -> ReadyAnswer {
        ReadyAnswer { stdout: Bytes(text.as_bytes().to_vec()), ..ReadyAnswer::default() }
    }

    fn request(args: &str) -> Request {
        Request::Call(Call { name: "gh".to_owned(), args: args.to_owned(), read: None })
    }

    fn printed(share: &Path, args: &str) -> String {
        match ask(share, &request(args)).expect("a reply").0 {
            Reply::Output { stdout, .. } => String::from_utf8_lossy(&stdout.0).into_owned(),
            other => format!("{other:?}"),
        }
    }

    #[test]
    fn concurrent_calls_are_answered_and_recorded_whole() {
        let (_directory, share, log) = log(&[prints("x")]);
        thread::scope(|scope| {
            for number in 0..20 {
                let share = &share;
                scope.spawn(move || {
                    for again in 0..20 {
                        assert_eq!(printed(share, &format!("{number} {again} {}", "x\n'é".repeat(500))), "x");
                    }
                });
            }
        });
        let MockCalls { calls, lost } = log.calls().0;
        let mut inputs: Vec<&str> = calls.iter().map(|call| call.input.as_str()).collect();
        inputs.sort_unstable();
        inputs.dedup();
        assert_eq!((inputs.len(), lost), (400, 0));
        assert!(inputs.iter().all(|input| input.ends_with(&"x\n'é".repeat(500))));
    }

    #[test]
    fn what_others_write_spoils_no_call_and_is_counted() {
        let (_directory, share, log) = log(&[prints("x")]);
        let mut pipe = OpenOptions::new().write(true).open(share.join(LOG)).expect("the pipe");
        let id = "0123456789abcdef";
        let garbage =
            ["no line break", "\n0123456789abcdef 5 2 eA==\n", "\n../../../../x/y/ 0 1 eA==\n", "\n\n", "\u{0}"];
        for text in garbage {
            pipe.write_all(text.as_bytes()).expect("it takes it");
            assert_eq!(printed(&share, text), "x");
        }
        pipe.write_all(format!("\n{id} 0 2 eA==\n").as_bytes()).expect("it takes it");
        pipe.write_all(&vec![b'x'; 1 << 20]).expect("it takes it");
        assert_eq!(printed(&share, "last"), "x");
        let MockCalls { calls, lost } = log.calls().0;
        let inputs: Vec<&str> = calls.iter().map(|call| call.input.as_str()).collect();
        assert_eq!(inputs, [&garbage[..], &["last"]].concat());
        assert_eq!(lost, 6);
    }

    #[test]
    fn calls_of_which_one_part_came_are_counted_in_bounded_memory() {
        let (_directory, share, log) = log(&[]);
        let mut pipe = OpenOptions::new().write(true).open(share.join(LOG)).expect("the pipe");
        let lines: Vec<String> = (0..400_000).map(|id| format!("{id:016x} 0 1000 eA==\n")).collect();
        pipe.write_all(lines.concat().as_bytes()).expect("it takes it");
        assert_eq!(log.calls().0, MockCalls { calls: Vec::new(), lost: 400_000 });
    }

    #[test]
    fn more_calls_than_are_recorded_are_known_as_lost_and_answered() {
        let (_directory, share, log) = log(&[prints("x")]);
        for number in 0..1001 {
            assert_eq!(printed(&share, &number.to_string()), "x");
        }
        let MockCalls { calls, lost } = log.calls().0;
        assert_eq!((calls.len(), lost), (1000, 1));
    }

    /// They wait for replies that nobody fetches.
    #[test]
    fn a_flood_of_forged_calls_keeps_no_record_from_ending() {
        let (_directory, share, log) = log(&[prints("x")]);
        let mut pipe = OpenOptions::new().write(true).open(share.join(LOG)).expect("the pipe");
        for id in 0..MOST_WAITING + 10 {
            write(&mut pipe, &format!("{id:016x}"), &request("forged")).expect("it takes it");
        }
        assert_eq!(log.calls().0.calls.len(), MOST_WAITING + 10);
    }

    #[test]
    fn a_record_that_nobody_asks_for_ends_whatever_it_delays() {
        let (_directory, share, log) = log(&[ReadyAnswer { delay_ms: 86_400_000, ..prints("x") }]);
        let mut pipe = OpenOptions::new().write(true).open(share.join(LOG)).expect("the pipe");
        write(&mut pipe, "0123456789abcdef", &request("hangs")).expect("it takes it");
        drop(log);
    }

    #[test]
    fn an_answer_that_is_given_so_often_makes_room_for_the_next() {
        let pending = ReadyAnswer { times: Some(2), args: Some("^pr".to_owned()), ..prints("pending") };
        let (_directory, share, log) = log(&[pending, prints("merged")]);
        let all: Vec<String> = ["pr", "other", "pr", "pr", "pr"].iter().map(|args| printed(&share, args)).collect();
        assert_eq!(all, ["pending", "merged", "pending", "merged", "merged"]);
        assert_eq!(log.calls().0.calls.len(), 5);
    }

    #[test]
    fn input_is_read_only_if_an_answer_for_these_arguments_asks_for_it() {
        let by_input =
            ReadyAnswer { args: Some("^apply".to_owned()), stdin: Some("kind: Pod".to_owned()), ..prints("applied") };
        let (_directory, share, log) = log(&[by_input]);
        assert!(matches!(ask(&share, &request("get")).expect("a reply").0, Reply::Nothing));
        let (first, id) = ask(&share, &request("apply -f -")).expect("a reply");
        assert!(matches!(first, Reply::ReadInput));
        let after = |args: &str, text: &str| {
            let read = Some((Bytes(text.as_bytes().to_vec()), id.clone()));
            ask(&share, &Request::Call(Call { name: "gh".to_owned(), args: args.to_owned(), read })).expect("a reply").0
        };
        assert!(matches!(after("apply -f -", "kind: Pod\n"), Reply::Output { .. }));
        // Whoever knows the id of a call cannot change its record.
        assert!(matches!(after("apply -f -", "kind: Job\n"), Reply::Nothing));
        let calls = log.calls().0.calls;
        let told: Vec<_> = calls.iter().map(|call| (&*call.input, call.stdin.as_deref(), call.answered)).collect();
        let expected = [
            ("get", None, false),
            ("apply -f -", Some("kind: Pod\n"), true),
            ("apply -f -", Some("kind: Job\n"), false),
        ];
        assert_eq!(told, expected);
    }

    #[test]
    fn paths_of_written_files_have_groups_of_the_arguments_without_their_quotes() {
        let answer = ReadyAnswer {
            args: Some("-o (?<to>'[^']*'|\\S+)".to_owned()),
            files: [("${to}.part".to_owned(), Bytes(b"data".to_vec()))].into(),
            ..prints("")
        };
        let (_directory, share, _log) = log(&[answer]);
        for (args, expected) in [("-o out.json x", "out.json.part"), ("-o 'my file' x", "my file.part")] {
            let Reply::Output { files, .. } = ask(&share, &request(args)).expect("a reply").0 else {
                panic!("no output")
            };
            assert_eq!(files, [(expected.to_owned(), Bytes(b"data".to_vec()))]);
        }
    }
}
