//! `run --record-mocks`: what the real programs of commands answer in a live run, as answers that cases name.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::PoisonError;

use crate::cases::case::written_answers;
use crate::files::look;
use crate::files::rooted::{self, RootedPath};
use crate::process::find_program;
use crate::run::started::StartedRun;
use crate::settings::{AnswerText, CommandAnswer, Isolation, Settings, name_problem};
use crate::text::cut;
use crate::text::diagnostic::SourceLocation;
use crate::text::name::RelativePath;
use crate::text::problem::Problem;
use crate::text::redact::{MASK, Redactor};
use crate::trial::id::TrialId;
use crate::trial::input_file::{Bytes, ProgramOutput, RecordedCall};

/// Where answers are written, in a directory for each run.
const PLACE: &str = "evals/mocks/recorded";

/// How much of the arguments or the input of a call its pattern has, in bytes.
const LONGEST: usize = 2000;

/// Arguments that have programs read their standard input: `-`, `@-`, `--input=-`.
const READS_INPUT: &str = r"(?:^|[ @=])-(?: |$)";

/// What was recorded in a trial.
#[derive(Debug)]
pub struct RecordedMocks {
    pub trial: TrialId,
    /// The file with its answers, from the repository's root; `None` if there is none.
    pub file: Option<PathBuf>,
    /// The number of answers in it.
    pub answers: usize,
    /// Calls whose output is not known, each once.
    pub left_out: BTreeSet<String>,
}

/// Has the real programs answer all calls of these commands that nothing else answers, and records them.
///
/// # Errors
///
/// If one cannot be a mock, or is not here, or their answers would be written where files are.
pub fn ask_for(settings: &mut Settings, root: &Path, commands: &[String]) -> Result<(), Problem> {
    let place = settings.run_id.as_ref().map(|id| Path::new(PLACE).join(id)).filter(|_| !commands.is_empty());
    if let Some(place) = place.filter(|place| look::is_usable(&root.join(place))) {
        let place = place.display();
        return Err(format!("--record-mocks: {place} is there, and stays: choose another --run-id").into());
    }
    for command in commands {
        if let Some(why) = name_problem(command) {
            return Err(format!("--record-mocks: {command:?} {why}").into());
        }
        // A container has programs of its own.
        if settings.isolation.kind != Isolation::Docker && find_program(command).is_none() {
            return Err(
                format!("--record-mocks: no program `{command}` on the PATH: there is nothing to record").into()
            );
        }
        let passes = CommandAnswer {
            passthrough: true,
            ..CommandAnswer::new(command.clone(), SourceLocation::file(Path::new("--record-mocks")))
        };
        let reads = CommandAnswer { args: Some(READS_INPUT.to_owned()), stdin: Some(String::new()), ..passes.clone() };
        settings.mocks.extend([reads, passes]);
        settings.recorded_mocks.insert(command.clone());
    }
    Ok(())
}

/// The same calls without secrets.
pub(super) fn masked(calls: Vec<RecordedCall>, redactor: &Redactor) -> Vec<RecordedCall> {
    let bytes = |Bytes(bytes): Bytes| Bytes(redactor.mask(&bytes).into_owned());
    let masked = calls.into_iter().map(|RecordedCall { command, args, stdin, output }| RecordedCall {
        command,
        args: redactor.mask_text(&args),
        stdin: stdin.map(|text| redactor.mask_text(&text)),
        output: output.map(|ProgramOutput { stdout, stderr, exit_code }| ProgramOutput {
            stdout: bytes(stdout),
            stderr: bytes(stderr),
            exit_code,
        }),
    });
    masked.collect()
}

/// Writes the answers of each trial to a new file.
///
/// # Errors
///
/// If a file cannot be written.
pub fn write(run: &StartedRun) -> Result<Vec<RecordedMocks>, Problem> {
    let Some(live) = run.opened().filter(|_| !run.settings.recorded_mocks.is_empty()) else { return Ok(Vec::new()) };
    let calls = std::mem::take(&mut *live.recorded_mocks.lock().unwrap_or_else(PoisonError::into_inner));
    let root = RootedPath::open(&run.root).map_err(|error| error.to_string())?;
    let folder = Path::new(PLACE).join(live.folder.id());
    let written = calls.into_iter().map(|(trial, calls)| {
        let TrialId { skill, case, mode, number } = &trial;
        let name = format!("{skill}.{case}.{mode}.{number}");
        let left_out = calls.iter().filter(|call| call.output.is_none());
        let left_out = left_out.map(|call| format!("{} {}", call.command, call.args)).collect();
        let mut files = Files { root: &root, folder: &folder, name: &name, count: 0 };
        let answers = files.answers(calls)?;
        let file = folder.join(format!("{name}.json"));
        if !answers.is_empty() {
            let text = serde_json::to_string_pretty(&written_answers(&answers)).map_err(|error| error.to_string())?;
            root.join(&file).write(format!("{text}\n").as_bytes(), rooted::COMMON)?;
        }
        Ok(RecordedMocks { file: (!answers.is_empty()).then_some(file), answers: answers.len(), left_out, trial })
    });
    written.collect()
}

/// The files of a trial.
struct Files<'a> {
    root: &'a RootedPath,
    folder: &'a Path,
    name: &'a str,
    /// How many have an output.
    count: usize,
}

impl Files<'_> {
    /// The answers to these calls. What the same call got later follows on what it got before.
    fn answers(&mut self, calls: Vec<RecordedCall>) -> Result<Vec<CommandAnswer>, Problem> {
        type Call = (String, String, Option<String>);
        let mut of_calls: Vec<(Call, Vec<(ProgramOutput, u64)>)> = Vec::new();
        let mut places: BTreeMap<Call, usize> = BTreeMap::new();
        for RecordedCall { command, args, stdin, output } in calls {
            let Some(output) = output else { continue };
            let call = (command, args, stdin);
            let at = *places.entry(call.clone()).or_insert(of_calls.len());
            if at == of_calls.len() {
                of_calls.push((call, Vec::new()));
            }
            let Some((_, outputs)) = of_calls.get_mut(at) else { continue };
            match outputs.last_mut().filter(|(last, _)| *last == output) {
                Some((_, times)) => *times += 1,
                None => outputs.push((output, 1)),
            }
        }
        let mut answers = Vec::new();
        for ((command, args, stdin), outputs) in of_calls {
            let last = outputs.len() - 1;
            for (at, (output, times)) in outputs.into_iter().enumerate() {
                answers.push(CommandAnswer {
                    args: Some(exactly(&args)),
                    stdin: stdin.as_deref().map(exactly),
                    stdout: self.output(&output.stdout.0)?,
                    stderr: String::from_utf8_lossy(&output.stderr.0).into_owned(),
                    exit_code: output.exit_code,
                    times: (at < last).then_some(times),
                    ..CommandAnswer::new(command.clone(), SourceLocation::file(self.folder))
                });
            }
        }
        Ok(answers)
    }

    /// A line is in the answer. All else has a file, which is easier to read.
    fn output(&mut self, stdout: &[u8]) -> Result<AnswerText, Problem> {
        let is_line = |text: &&str| !text.trim_end_matches('\n').contains('\n') && text.len() <= LONGEST;
        if let Some(line) = std::str::from_utf8(stdout).ok().filter(is_line) {
            return Ok(AnswerText::Here(line.to_owned()));
        }
        self.count += 1;
        let path = self.folder.join(format!("{}-{}.txt", self.name, self.count));
        self.root.join(&path).write(stdout, rooted::COMMON)?;
        let path = RelativePath::parse(&path.to_string_lossy()).map_err(str::to_owned)?;
        Ok(AnswerText::File(path))
    }
}

/// A pattern for this text alone. What was masked may be anything, and of a long text it has the start.
fn exactly(text: &str) -> String {
    let (start, missing) = cut::bytes(text, LONGEST);
    let parts = start.split(MASK).map(|part| {
        let is_special = |c: char| r"\.+*?()|[]{}^$".contains(c);
        part.chars().fold(String::new(), |all, c| {
            if is_special(c) { all + "\\" + c.encode_utf8(&mut [0; 4]) } else { all + c.encode_utf8(&mut [0; 4]) }
        })
    });
    let pattern = parts.collect::<Vec<_>>().join(r"(?s:.*)");
    format!("^{pattern}{}", if missing == 0 { "$" } else { "" })
}

#[cfg(test)]
mod tests {
    use crate::settings::pattern;

    use super::*;

    #[test]
    fn a_pattern_matches_its_text_alone_and_anything_where_a_secret_was() {
        let args = r"api repos/{owner}/x? -f 'a|b' --token [masked] (1+1).*\d^$";
        let found = |text: &str| pattern(&exactly(args)).expect("a pattern").is_match(text);
        assert!(found(&args.replace(MASK, "ghp_1")) && found(args));
        assert!(!found(&args.replace("1+1", "11")) && !found(&format!("{args} ")) && !found(&format!("x{args}")));
        let long = "é".repeat(2000);
        assert!(pattern(&exactly(&long)).expect("a pattern").is_match(&long));
    }

    #[test]
    fn programs_are_told_in_four_ways_to_read_their_input() {
        let reads = pattern(READS_INPUT).expect("a pattern");
        for args in ["apply -f -", "-d @- url", "api --input=-", "- x"] {
            assert!(reads.is_match(args), "{args}");
        }
        for args in ["pr view -x", "x-", "--", "-f x"] {
            assert!(!reads.is_match(args), "{args}");
        }
    }
}
