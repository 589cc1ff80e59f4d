//! What checks say: their expectation, their finding, and the event to look at first.

use serde_json::json;
use skill_evals_cases::checks::grading_input::{Contents as _, NoContents};
use skill_evals_cases::checks::pattern::{Pattern, Style};
use skill_evals_cases::checks::text_test::{TextTest, TextWant};
use skill_evals_cases::checks::{self, CaseCheck, FileWant, TextPlace, Work};
use skill_evals_evidence::settings::ActivationRule;
use skill_evals_evidence::settings::mode::AgentKind;
use skill_evals_evidence::trace::{AgentProgress, Mechanism, Step, StopReason, Usage};
use skill_evals_evidence::trial::outcome::{CheckResult, Status};
use skill_evals_evidence::trial::span::{EventPart, EventRef, TextRange};

use crate::grade::{Trial, asks, tell, trial};
use skill_evals_testing::made::listed;
use skill_evals_testing::tables;

const PASS: Status = Status::Pass;
const FAIL: Status = Status::Fail;
const UNKNOWN: Status = Status::Unknown;

/// The result of this check in a trial that is changed first.
fn result_of(check: CaseCheck, change: impl FnOnce(&mut Trial)) -> CheckResult {
    let id = check.kind.id;
    trial(vec![check]).with(change).result(id)
}

fn result(check: &str, change: impl FnOnce(&mut Trial)) -> CheckResult {
    result_of(listed(check), change)
}

/// Holds the status and the two sentences of each check in a trial that is changed by `change`.
fn hold(change: impl Fn(&mut Trial), rows: &[(&str, Status, &str, &str)]) {
    for (check, status, expected, found) in rows {
        let result = result(check, &change);
        let sentences = (result.status, result.expected.as_str(), result.found.as_str());
        assert_eq!(sentences, (*status, *expected, *found), "{check}");
    }
}

fn command(trial: &mut Trial, command: &str) {
    tell(&mut trial.trace, |told| told.command(command.to_owned(), Some(0), "done".to_owned()));
}

fn tool(trial: &mut Trial, name: &str, input: &str, output: &str) {
    let (name, input, output) = (name.to_owned(), input.to_owned(), output.to_owned());
    tell(&mut trial.trace, |told| told.push(Step::Tool { name, input, output, failed: false }));
}

fn activate(trial: &mut Trial, skill: &str, how: Mechanism) {
    tell(&mut trial.trace, |told| told.activate(skill, how, "the call"));
}

fn says(text: &'static str) -> impl Fn(&mut Trial) {
    move |trial| trial.final_text = Some(text)
}

/// The status and the two sentences of a check in a trial that is changed by `change`.
fn said(check: &str, change: impl FnOnce(&mut Trial)) -> String {
    let result = result(check, change);
    format!("{:?}: {}: {}", result.status, result.expected, result.found)
}

/// The same for a check of the final message.
fn said_of(message: &'static str, check: &str) -> String {
    said(&format!(r#"{{"text": "final", {check}}}"#), says(message))
}

fn three_calls(trial: &mut Trial) {
    for (name, output) in [("Read", "a"), ("Read", "b"), ("Edit", "c")] {
        tool(trial, name, "{}", output);
    }
}

/// An output of which the trace has the start.
fn cut(trial: &mut Trial) {
    tool(trial, "Read", "{}", &("x".repeat(4_096) + "yyyy"));
}

fn three_files(trial: &mut Trial) {
    let file = |path: &str, size: u64| json!({ "path": path, "size": size, "changed": true });
    let all = [file("notes.md", 5), file("out/a.json", 2), file("empty/", 0)];
    trial.meta.files = serde_json::from_value(json!(all)).expect("files");
    trial.files.workspace = vec![("notes.md", "Ahoy\n"), ("out/a.json", "{}")];
}

/// More files than are listed, of which one was looked for.
fn more_files(trial: &mut Trial) {
    three_files(trial);
    trial.meta.files_truncated = true;
    trial.meta.files_looked_for = vec!["known.md".into()];
}

const VALUES: &str = r#"{"a": [1, 2.0], "b": {"x": 1, "y": [true]}, "c": {"d": 18446744073709551617}}"#;

tables! {
    |check| said(check, three_calls) => a_count_is_said_in_words;
    |check| said_of("Ahoy, Ada!", check) => what_a_text_must_be_is_said_in_words;
    |check| said_of(VALUES, check) => a_value_that_differs_is_shown;
    |check| said(&format!(r#"{{"text": "tools", {check}}}"#), cut) => a_match_at_the_end_of_a_text_that_was_cut_is_open;
    |check| said(check, |trial| trial.trace.steps_dropped = 2) => what_the_trace_lacks_is_the_reason_why_a_check_is_open;
    |check| said(check, |trial| tool(trial, "web_search", "ada", "")) =>
        messages_are_whole_if_the_answer_of_a_tool_is_not_there;
    |check| said(check, three_files) => a_file_is_said_by_its_path_or_what_is_in_its_directory;
    |check| said(check, more_files) => a_file_that_is_not_among_those_listed_may_be_there;
    |check| said(check, |trial| activate(trial, "other", Mechanism::ReadSkillFile)) =>
        skills_are_named_in_what_is_expected_and_found;
}

#[test]
fn an_object_in_a_text_is_said_in_words() {
    let object = |negated| {
        let test = TextTest { negated, ..TextTest::new(TextWant::Object) };
        result_of(checks::text(TextPlace::Final, test), |_| ()).expected
    };
    assert_eq!(object(false), "the final message has an object");
    assert_eq!(object(true), "the final message has no object");
    assert_eq!(result(r#"{"text": "final", "equals": 6}"#, says("5")).found, "it is 5");
}

#[test]
fn of_several_values_in_a_text_one_that_cannot_be_compared_leaves_it_open() {
    let check = r#"{"text": "final", "json": "within", "at": "/0", "equals": 5}"#;
    let expected = "the final message contains JSON with a value at /0 that equals 5";
    let open = "its JSON cannot be compared: number out of range at line 1 column 6";
    hold(says("[1e999] and [6]"), &[(check, UNKNOWN, expected, open)]);
    hold(says("[6] and [1e999]"), &[(check, UNKNOWN, expected, open)]);
    hold(says("[1e999] and [5]"), &[(check, PASS, expected, "it does")]);
    hold(says("[6] and [7]"), &[(check, FAIL, expected, "the value at /0 is 7")]);
    hold(says("none"), &[(check, FAIL, expected, "it contains no JSON")]);
}

#[test]
fn a_text_with_too_many_open_brackets_is_not_searched_for_json() {
    // From each bracket the text is read to its end.
    let brackets = |count: usize| {
        let text = format!("{}\"{}", "[".repeat(count), "x".repeat(250_000));
        let text: &'static str = text.leak();
        result(r#"{"text": "final", "json": "within"}"#, says(text)).found
    };
    assert_eq!(brackets(10), "it contains no JSON");
    assert_eq!(brackets(300), "the text has too many brackets to search it for JSON");
}

#[test]
fn a_sequence_may_have_what_a_command_does_not_show() {
    let nameless = "the agent did not report the tool of a command";
    hold(
        |trial| command(trial, "ls"),
        &[
            (
                r#"{"sequence": ["exec_command"]}"#,
                UNKNOWN,
                "in this order: exec_command",
                &format!("0 of 1, then no `exec_command`; {nameless}"),
            ),
            (r#"{"sequence": ["Read"]}"#, FAIL, "in this order: Read", "0 of 1, then no `Read`"),
        ],
    );
    let perhaps = "0 of 1, then no `$ ^npm install`; a script names it, and whether it runs it is not known";
    hold(
        |trial| command(trial, "eval 'npm install'"),
        &[(r#"{"sequence": ["$ ^npm install"]}"#, UNKNOWN, "in this order: $ ^npm install", perhaps)],
    );
}

#[test]
fn what_nobody_wrote_or_kept_has_its_own_words() {
    hold(|_| (), &[(r#"{"file": "x.md"}"#, FAIL, "the workspace holds x.md", "missing; the agent wrote no files")]);
    assert_eq!(NoContents.of_workspace("a".as_ref()), Err("its content is not stored".into()));
    assert_eq!(NoContents.of_repository("a".as_ref()), Err("the repository is not known".into()));
}

#[test]
fn the_contents_of_200_files_are_read() {
    let files = |count: usize| {
        move |trial: &mut Trial| {
            let all: Vec<_> =
                (0..count).map(|at| json!({ "path": format!("{at}.md"), "size": 1, "changed": true })).collect();
            trial.meta.files = serde_json::from_value(json!(all)).expect("files");
            trial.files.workspace = (0..count).map(|at| (&*format!("{at}.md").leak(), "a")).collect();
        }
    };
    let check =
        || checks::file("*.md", FileWant::Content(Pattern { text: "b".to_owned(), style: Style::Verbatim }.into()));
    let result = |count| result_of(check().expect("a check"), files(count));
    assert_eq!(result(200).status, FAIL);
    let more = result(201);
    assert_eq!((more.status, more.found.as_str()), (UNKNOWN, "more than 200 files match"));
}

#[test]
fn a_skill_that_could_not_be_loaded_may_be_the_one_that_is_expected() {
    let failed = |trial: &mut Trial| {
        trial.trace.activations.clear();
        tell(&mut trial.trace, |told| told.failed_load("third", Mechanism::SkillTool, "Skill third"));
    };
    let open = "activated: none; a call that was to load `third` failed: Skill third";
    hold(
        failed,
        &[
            (r#"{"activates": ["other"]}"#, FAIL, "`other` activated", "activated: none"),
            (r#"{"activates": ["third"]}"#, UNKNOWN, "`third` activated", open),
        ],
    );
}

/// The result of the check that every case has.
fn trigger(should: bool, change: impl FnOnce(&mut Trial)) -> CheckResult {
    result_of(checks::triggers(should), |trial| {
        (trial.trace.activations, trial.trace.marks) = (Vec::new(), Vec::new());
        change(trial);
    })
}

#[test]
fn a_trigger_is_said_with_the_part_that_was_seen_and_the_message_it_answered() {
    let seen = |share| {
        let change = |trial: &mut Trial| {
            activate(trial, "greeting", Mechanism::ReadSkillFile);
            trial.trace.activations[0].seen = share;
        };
        trigger(true, change).found
    };
    assert_eq!(seen(Some(0.5)), "read SKILL.md (the call), 50 % of it seen");
    for share in [None, Some(0.0), Some(1.0)] {
        assert_eq!(seen(share), "read SKILL.md (the call)", "{share:?}");
    }
    let answered = |step, follow_ups: &[usize]| {
        let change = |trial: &mut Trial| {
            (0..3).for_each(|_| command(trial, "ls"));
            trial.trace.follow_ups_at = follow_ups.to_vec();
            tell(&mut trial.trace, |told| {
                told.at = Some(step);
                told.activate("greeting", Mechanism::ReadSkillFile, "the call");
            });
        };
        trigger(true, change).found
    };
    assert_eq!(answered(1, &[]), "read SKILL.md (the call)");
    assert_eq!(answered(0, &[1]), "read SKILL.md (the call), in answer to message 1");
    assert_eq!(answered(1, &[1]), "read SKILL.md (the call), in answer to message 2");
    assert_eq!(answered(2, &[1, 2]), "read SKILL.md (the call), in answer to message 3");
}

#[test]
fn without_an_activation_a_look_at_skills_is_said() {
    let quiet = trigger(true, |_| ());
    assert_eq!((quiet.status, quiet.found.as_str()), (FAIL, "not activated"));
    let looked = trigger(true, |trial| tell(&mut trial.trace, |told| told.inspect("ls skills")));
    assert_eq!(looked.found, "not activated; looked at skills without activating: ls skills");
    let active = trigger(true, |trial| {
        activate(trial, "greeting", Mechanism::ReadSkillFile);
        tell(&mut trial.trace, |told| told.inspect("ls skills"));
    });
    assert_eq!(active.found, "read SKILL.md (the call)");
}

#[test]
fn without_the_list_of_offered_skills_only_an_absence_is_open() {
    let unseen = |should, is_active: bool| {
        let result = trigger(should, |trial| {
            trial.trace.offered = None;
            if is_active {
                activate(trial, "greeting", Mechanism::ReadSkillFile);
            }
        });
        (result.status, result.found)
    };
    let open = "not activated; whether the skill was offered is not known";
    assert_eq!(unseen(true, false), (UNKNOWN, open.to_owned()));
    assert_eq!(unseen(false, false), (PASS, "not activated".to_owned()));
    assert_eq!(unseen(true, true), (PASS, "read SKILL.md (the call)".to_owned()));
    assert_eq!(unseen(false, true), (FAIL, "read SKILL.md (the call)".to_owned()));
}

#[test]
fn the_event_of_a_trigger_is_the_activation_that_decided_it() {
    let event = |result: CheckResult| result.spans[0].event;
    let at = |step: usize, skill: &'static str, how| {
        move |trial: &mut Trial| {
            tell(&mut trial.trace, |told| {
                told.at = Some(step);
                told.activate(skill, how, "the call");
            });
        }
    };
    let steps = |trial: &mut Trial| {
        (0..3).for_each(|_| command(trial, "ls"));
        trial.trace.loads_by = Mechanism::SkillTool;
        trial.case.activation = Some(ActivationRule::Tool);
    };
    // Of two activations the one that counts, and else the one that does not.
    let both = trigger(true, |trial| {
        steps(trial);
        at(0, "greeting", Mechanism::ReadSkillFile)(trial);
        at(2, "greeting", Mechanism::SkillTool)(trial);
    });
    assert_eq!((both.status, event(both)), (PASS, EventRef::Step(2)));
    let read = trigger(true, |trial| {
        steps(trial);
        at(0, "other", Mechanism::SkillTool)(trial);
        at(1, "greeting", Mechanism::ReadSkillFile)(trial);
    });
    assert_eq!((read.status, event(read)), (FAIL, EventRef::Step(1)));
    let injected = trigger(true, |trial| {
        steps(trial);
        at(1, "greeting", Mechanism::Injected)(trial);
    });
    assert_eq!(event(injected), EventRef::Injected);
    let failed = trigger(true, |trial| {
        steps(trial);
        tell(&mut trial.trace, |told| {
            told.at = Some(1);
            told.failed_load("greeting", Mechanism::SkillTool, "the call");
        });
    });
    assert_eq!((failed.status, event(failed)), (UNKNOWN, EventRef::Step(1)));
    assert_eq!(event(trigger(false, |_| ())), EventRef::Offered);
    let open = trigger(false, |trial| trial.trace.progress = AgentProgress::Answering);
    assert_eq!((open.status, event(open)), (UNKNOWN, EventRef::End));
    let other = result(r#"{"activates": ["other"]}"#, |trial| {
        steps(trial);
        at(1, "other", Mechanism::SkillTool)(trial);
    });
    assert_eq!(event(other), EventRef::Step(1));
    let resource = result_of(asks("expect_resource_load", "true"), |trial| {
        steps(trial);
        tell(&mut trial.trace, |told| {
            told.at = Some(2);
            told.load("greeting", "a.md", "cat a.md");
        });
    });
    assert_eq!((event(resource.clone()), resource.found.as_str()), (EventRef::Step(2), "a.md (cat a.md)"));
}

#[test]
fn the_events_of_commands_are_those_that_count_else_the_first_that_may() {
    let events = |result: CheckResult| result.spans.into_iter().map(|span| span.event).collect::<Vec<_>>();
    let lines =
        |lines: &'static [&'static str]| move |trial: &mut Trial| lines.iter().for_each(|line| command(trial, line));
    let npm = r#"{"command": "^npm install"}"#;
    let found = result(npm, lines(&["ls", "eval 'npm install'", "npm install", "npm install x"]));
    assert_eq!(events(found), [EventRef::Step(2), EventRef::Step(3)]);
    let perhaps = result(npm, lines(&["ls", "eval 'npm install'", "eval 'npm install'"]));
    assert_eq!((perhaps.status, events(perhaps)), (UNKNOWN, vec![EventRef::Step(1)]));
    assert_eq!(events(result(npm, lines(&["ls"]))), [EventRef::End]);
    // Of too many commands the first over the limit, else the last.
    let effective = |most| events(result_of(checks::max_commands(most), lines(&["make a", "make b", "make c"])));
    assert_eq!(effective(1), [EventRef::Step(1), EventRef::Step(0), EventRef::Step(2)]);
    assert_eq!(effective(3), [EventRef::Step(2), EventRef::Step(0), EventRef::Step(1)]);
}

#[test]
fn the_place_of_a_text_is_marked_if_the_text_has_one() {
    let range = |result: &CheckResult| result.spans[0].text.clone();
    let at = |part, bytes| Some(TextRange { part, bytes });
    let word = result(r#"{"text": "final", "matches": "Ada"}"#, |_| ());
    assert_eq!((word.spans[0].event, range(&word)), (EventRef::Answer, at(EventPart::Text, 6..9)));
    let empty = result(r#"{"text": "final", "matches": "^"}"#, |_| ());
    assert_eq!((empty.spans.len(), empty.spans[0].event, range(&empty)), (1, EventRef::Answer, None));
    // A file, in the last call that names it or the last change of it.
    let wrote = |trial: &mut Trial| tool(trial, "Write", r#"{"file_path": "notes.md"}"#, "done");
    let named = result(r#"{"file": "notes.md"}"#, wrote);
    assert_eq!((named.spans[0].event, range(&named)), (EventRef::Step(0), at(EventPart::Input, 15..23)));
    let changed = result(r#"{"file": "notes.md"}"#, |trial| {
        tell(&mut trial.trace, |told| told.push(Step::FileChange(vec!["a.md".to_owned(), "./notes.md".to_owned()])));
        wrote(trial);
    });
    assert_eq!((changed.spans[0].event, range(&changed)), (EventRef::Step(0), at(EventPart::Path(1), 2..10)));
}

#[test]
fn a_change_of_files_is_a_call_of_the_tool_that_made_it_and_no_command() {
    let changes = |tool: Option<&'static str>| {
        move |trial: &mut Trial| {
            tell(&mut trial.trace, |told| {
                told.now.tool = tool.map(str::to_owned);
                told.push(Step::FileChange(vec!["a.md".to_owned()]));
            });
        }
    };
    let patch = |tool| result(r#"{"tool": "apply_patch"}"#, changes(tool)).status;
    assert_eq!((patch(Some("apply_patch")), patch(None)), (PASS, FAIL));
    let shell = result(r#"{"tool": "*shell*", "not": true}"#, changes(None));
    assert_eq!(shell.status, PASS, "another event reports its tool");
    let command = result_of(checks::work(Work::Commands, false), |trial| {
        changes(None)(trial);
        trial.meta.agent.kind = AgentKind::ClaudeCli;
    });
    assert_eq!((command.status, command.expected.as_str()), (PASS, "commands run never"));
    let edit = result_of(checks::work(Work::Changes, false), changes(None));
    assert_eq!((edit.status, edit.expected.as_str()), (FAIL, "files created or edited never"));
    let some = result_of(checks::work(Work::SomeChanges, true), |_| ());
    assert_eq!((some.status, some.expected.as_str()), (FAIL, "files created, or edited, at least once"));
}

#[test]
fn answers_are_turns_of_an_agent_that_counts_none() {
    let answers = |count| {
        result(r#"{"maxTurns": 1}"#, |trial| {
            tell(&mut trial.trace, |told| (0..count).for_each(|step| told.answered(step, Usage::default())));
        })
    };
    let rows = [(0, UNKNOWN, "the agent did not report its turns"), (1, PASS, "1 turns"), (2, FAIL, "2 turns")];
    for (count, status, found) in rows {
        let result = answers(count);
        assert_eq!((result.status, result.found.as_str()), (status, found));
    }
}

#[test]
fn an_answer_that_does_not_follow_its_schema_says_where() {
    let follows = |text: &'static str| {
        let path = skill_evals_evidence::text::name::RelativePath::parse("schema.json").expect("a path");
        let result = result_of(checks::output_schema(path), |trial| {
            trial.schema = Some(json!({ "properties": { "n": { "type": "integer" } } }));
            trial.final_text = Some(text);
        });
        (result.status, result.found)
    };
    assert_eq!(follows(r#"{"n": 1}"#), (PASS, "it does".to_owned()));
    assert_eq!(follows(r#"{"n": "x"}"#), (FAIL, r#""x" is not of type "integer" at `/n`"#.to_owned()));
}

#[test]
fn a_stopped_model_leaves_open_whether_a_change_would_have_been_seen() {
    for (progress, stopped) in [(AgentProgress::Done, Some(StopReason::Refusal)), (AgentProgress::Answering, None)] {
        let trial = crate::grade::with_a_change().with(|trial| {
            (trial.trace.progress, trial.trace.stopped) = (progress, stopped);
        });
        let result = trial.result("changes-seen");
        let found = "`flags` added after turn 1, at 6.2 s: not seen, but the agent did not finish";
        assert_eq!((result.status, result.found.as_str()), (UNKNOWN, found));
    }
}
