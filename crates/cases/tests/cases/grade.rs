//! The grade of evidence made by hand: every check, and what is an error rather than a failure.

use std::path::{Path, PathBuf};

use serde_json::json;
use skill_evals_cases::cases::case::Case;
use skill_evals_cases::cases::case::fields::{self, CaseDraft};
use skill_evals_cases::checks::grading_input::ProgramRuns;
use skill_evals_cases::checks::grading_input::{Contents, Unknown};
use skill_evals_cases::checks::{self, CaseCheck, GradingInput, PrintedOnce};
use skill_evals_cases::grade::checks::grade;
use skill_evals_evidence::settings::mode::{AgentKind, Delivery, SkillSelection};
use skill_evals_evidence::settings::{ActivationRule, Prices};
use skill_evals_evidence::skill::Skill;
use skill_evals_evidence::text::diagnostic::SourceLocation;
use skill_evals_evidence::text::name::RelativePath;

use skill_evals_evidence::trace::exposure::DescriptionVisibility;
use skill_evals_evidence::trace::file::{ChangeKind, ChangeMeta, SkillChange};
use skill_evals_evidence::trace::trouble::Trouble;
use skill_evals_evidence::trace::{
    AgentProgress, ChangeVisibility, Mechanism, OfferedSkills, StopReason, Trace, TraceBuilder, Usage, WaitingFor,
    spoken,
};
use skill_evals_evidence::trial::evidence::{Ending, Evidence, Inputs, META_FORMAT, Meta};
use skill_evals_evidence::trial::input_file::Sandbox;
use skill_evals_evidence::trial::outcome::{CheckResult, Grade, Status, TroubleKind, Verdict};

/// A trial in which all went well, to be spoiled.
#[derive(Debug)]
pub struct Trial {
    pub case: Case,
    pub meta: Meta,
    pub trace: Trace,
    pub final_text: Option<&'static str>,
    pub schema: Option<serde_json::Value>,
    /// The files of the workspace and of the repository, with their contents.
    pub files: Files,
    pub programs: ProgramRuns,
    /// Whether only users may call the skill.
    pub user_only: bool,
}

/// Files with their contents.
#[derive(Debug, Default)]
pub struct Files {
    pub workspace: Vec<(&'static str, &'static str)>,
    pub repository: Vec<(&'static str, &'static str)>,
}

impl Contents for Files {
    fn of_workspace(&self, path: &Path) -> Result<Vec<u8>, Unknown> {
        content(&self.workspace, path)
    }

    fn of_repository(&self, path: &Path) -> Result<Vec<u8>, Unknown> {
        content(&self.repository, path)
    }
}

fn content(files: &[(&str, &str)], path: &Path) -> Result<Vec<u8>, Unknown> {
    let file = files.iter().find(|(name, _)| Path::new(name) == path);
    file.map(|(_, content)| content.as_bytes().to_vec()).ok_or_else(|| "its content is not stored".into())
}

/// A value with some of its fields set, of a type that other crates cannot write out.
macro_rules! with {
    ($type:ident, $($field:ident: $value:expr),* $(,)?) => {{
        let mut value = $type::default();
        $(value.$field = $value;)*
        value
    }};
}

/// Has the trace told something more.
pub fn tell(trace: &mut Trace, what: impl FnOnce(&mut TraceBuilder)) {
    let mut builder = TraceBuilder::default();
    *builder = std::mem::take(trace);
    what(&mut builder);
    *trace = builder.finish();
}

pub fn trial(checks: Vec<CaseCheck>) -> Trial {
    let mut trace = with!(Trace, progress: AgentProgress::Done);
    trace.offered = Some(with!(OfferedSkills, native: vec!["greeting".to_owned(), "other".to_owned()]));
    trace.usage = Some(with!(Usage, input_tokens: 100, output_tokens: 20));
    tell(&mut trace, |told| {
        told.activate("greeting", Mechanism::ReadSkillFile, "cat .agents/skills/greeting/SKILL.md");
    });
    let case = Case {
        id: "it".to_owned(),
        skill: "greeting".to_owned(),
        origin: SourceLocation::file("evals/skills/greeting/prompts.csv"),
        should_trigger: true,
        prompt: "Greet Ada.".to_owned(),
        sandbox: Sandbox::ReadOnly,
        output_schema: Some(schema_path()),
        checks,
        ..Case::default()
    };
    let meta = json!({
        "format": META_FORMAT,
        "run_id": "t",
        "skill": { "name": "greeting", "slug": "greeting" },
        "case": { "id": "it", "prompt": "Greet Ada.", "system_prompt": null, "sandbox": Sandbox::ReadOnly, "timeout_s": 60 },
        "mode": "codex",
        "trial": 1,
        "agent": { "kind": AgentKind::Codex, "version": null, "model": null },
        "delivery": Delivery::Native,
        "offer": SkillSelection::All,
        "server": null,
        "scripted": null,
        "started": "2026-01-01T00:00:00Z",
        "ending": with!(Ending, exit_code: Some(0), duration_ms: 1200),
        "inputs": Inputs::default(),
        "files": [],
        "files_truncated": false,
        "skills_changed": [],
        "not_enforced": [],
    });
    let meta = serde_json::from_value(meta).expect("facts");
    Trial {
        case,
        meta,
        trace,
        final_text: Some("Ahoy, Ada!"),
        schema: None,
        files: Files::default(),
        programs: ProgramRuns::new(),
        user_only: false,
    }
}

impl Trial {
    pub fn with(mut self, change: impl FnOnce(&mut Self)) -> Self {
        change(&mut self);
        self
    }

    pub fn grade(&self) -> Grade {
        let skill = Skill {
            name: "greeting".to_owned(),
            slug: "greeting".to_owned(),
            description: String::new(),
            folder: PathBuf::from("skills/greeting"),
            user_only: self.user_only,
            model_only: false,
            faults: Vec::new(),
        };
        let evidence = Evidence { meta: &self.meta, trace: &self.trace, final_text: self.final_text.and_then(spoken) };
        let (schema, activation) = (self.schema.as_ref(), self.case.activation.unwrap_or_default());
        let (contents, prices, programs) = (&self.files, &Prices::default(), &self.programs);
        let evidence = &evidence;
        grade(
            &self.case,
            &GradingInput {
                skill: &skill,
                schema,
                activation,
                evidence,
                programs,
                contents,
                prices,
                printed: &PrintedOnce::default(),
            },
        )
    }

    pub fn verdict(&self) -> Verdict {
        self.grade().verdict
    }

    pub fn trouble(&self) -> Option<TroubleKind> {
        self.grade().trouble.map(|trouble| trouble.kind)
    }

    pub fn status(&self, id: &str) -> Status {
        self.result(id).status
    }

    /// The first result of this name.
    pub fn result(&self, id: &str) -> CheckResult {
        let checks = self.grade().checks;
        checks.iter().find(|check| check.id == id).unwrap_or_else(|| panic!("no {id} in {checks:#?}")).clone()
    }

    /// The same trial, with this in its facts, as JSON has it.
    pub fn with_fact(self, key: &str, value: serde_json::Value) -> Self {
        self.with(|trial| {
            let mut facts = serde_json::to_value(&trial.meta).expect("JSON");
            facts[key] = value;
            trial.meta = serde_json::from_value(facts).expect("facts");
        })
    }
}

/// The verdict with one check of a trial that says `text` at its end.
fn says(text: &'static str, check: CaseCheck) -> Verdict {
    trial(vec![check]).with(|trial| trial.final_text = Some(text)).verdict()
}

/// What a case asks by this text in this column.
pub fn asks(column: &str, text: &str) -> CaseCheck {
    let field = fields::all().find(|field| field.field().column == column).expect("a field");
    let value = field.field().form.read(column, text, text).expect("a value");
    let mut draft = CaseDraft::new("greeting", "it".to_owned(), SourceLocation::default());
    draft.set(field, "", 0, value);
    draft.checks.pop().expect("a check")
}

fn schema_path() -> RelativePath {
    RelativePath::parse("schema.json").expect("a path")
}

#[test]
fn nothing_is_missing_while_the_sandbox_starts_no_command() {
    let checks = || vec![asks("require_files", "made.txt")];
    let broken = "Exit code 1\nbwrap: setting up uid map: Permission denied";
    let after = |commands: &[(&str, i64, &str)]| {
        let mut trial = trial(checks());
        for (command, exit_code, output) in commands {
            tell(&mut trial.trace, |told| {
                told.command((*command).to_owned(), Some(*exit_code), (*output).to_owned());
            });
        }
        trial.status("require-file")
    };
    assert_eq!(after(&[("ls", 1, broken)]), Status::Unknown);
    let panicked = "thread 'main' (2) panicked at linux-sandbox/src/launcher.rs:43:13:";
    assert_eq!(after(&[("ls", 101, panicked)]), Status::Unknown);
    // The shell works, or the command itself starts a sandbox.
    assert_eq!(after(&[("ls", 1, broken), ("ls", 0, "")]), Status::Fail);
    assert_eq!(after(&[("bwrap true", 1, "bwrap: No permissions")]), Status::Fail);
    assert_eq!(after(&[("ls x", 2, "ls: cannot access 'x'")]), Status::Fail);
}

#[test]
fn how_many_turns_the_model_had_is_said_as_one_says_it() {
    let expected = |most: u64| {
        let trial = trial(Vec::new()).with(|trial| trial.meta.case.max_turns = Some(most));
        trial.grade().checks.into_iter().find(|check| check.id == "completed").expect("the check").expected
    };
    assert_eq!(expected(1), "the model finishes within a turn");
    assert_eq!(expected(2), "the model finishes within 2 turns");
}

#[test]
fn a_trial_in_which_all_went_well_passes() {
    assert_eq!(trial(vec![checks::triggers(true)]).verdict(), Verdict::Pass);
}

#[test]
fn a_trigger_is_expected_or_forbidden() {
    let quiet = |should| trial(vec![checks::triggers(should)]).with(|trial| trial.trace.activations.clear());
    assert_eq!(quiet(true).verdict(), Verdict::Fail);
    assert_eq!(quiet(false).verdict(), Verdict::Pass);
    assert_eq!(trial(vec![checks::triggers(false)]).verdict(), Verdict::Fail);
}

#[test]
fn a_sibling_first_and_the_right_skill_after_is_an_activation_of_both() {
    let both = trial(vec![checks::triggers(true)]).with(|trial| {
        trial.trace.activations.reverse();
        tell(&mut trial.trace, |told| told.activate("other", Mechanism::ReadSkillFile, "cat other"));
    });
    assert_eq!(both.verdict(), Verdict::Pass);
    let grade = both.grade();
    let check = grade.checks.iter().find(|check| check.id == "triggered").expect("the check");
    assert!(check.found.contains("other skills activated: `other`"), "{}", check.found);
}

#[test]
fn a_sibling_alone_is_no_activation() {
    let sibling = trial(vec![checks::triggers(true)]).with(|trial| {
        trial.trace.activations.clear();
        tell(&mut trial.trace, |told| told.activate("other", Mechanism::ReadSkillFile, "cat other"));
    });
    assert_eq!(sibling.verdict(), Verdict::Fail);
}

/// A trial of an agent whose model loads skills from the agent's own directory. The skill was activated by `how`.
fn came(how: Mechanism, loads_by: Mechanism, delivery: Delivery, rule: ActivationRule, should: bool) -> Trial {
    trial(vec![checks::triggers(should)]).with(|trial| {
        trial.trace.activations.clear();
        trial.trace.marks.clear();
        trial.trace.loads_by = loads_by;
        tell(&mut trial.trace, |told| told.activate("greeting", how, "the call"));
        (trial.meta.delivery, trial.case.activation) = (delivery, Some(rule));
    })
}

#[test]
fn any_text_of_the_skill_counts_as_content_and_as_a_tool_only_what_the_agent_has_for_it() {
    use Delivery::{Both, Mcp, Native};
    use Mechanism::{Injected, McpTool, ReadSkillFile, SkillTool};
    for (loads_by, delivery, own, other) in [
        (SkillTool, Native, vec![SkillTool, Injected], Some("skill tool")),
        (SkillTool, Mcp, vec![McpTool, Injected], Some("MCP tool")),
        (SkillTool, Both, vec![SkillTool, McpTool, Injected], Some("skill tool or the MCP tool")),
        (ReadSkillFile, Native, vec![ReadSkillFile, Injected], None),
        (ReadSkillFile, Mcp, vec![McpTool, Injected], Some("MCP tool")),
        (ReadSkillFile, Both, vec![ReadSkillFile, McpTool, Injected], None),
    ] {
        let status = |how, rule, should| {
            let id = if should { "triggered" } else { "not-triggered" };
            came(how, loads_by, delivery, rule, should).status(id)
        };
        for how in own {
            for rule in [ActivationRule::Tool, ActivationRule::Content] {
                assert_eq!(status(how, rule, true), Status::Pass, "{delivery:?} {how:?}");
                assert_eq!(status(how, rule, false), Status::Fail, "{delivery:?} {how:?}");
            }
        }
        let Some(tool) = other else { continue };
        assert_eq!(status(ReadSkillFile, ActivationRule::Content, true), Status::Pass);
        assert_eq!(status(ReadSkillFile, ActivationRule::Content, false), Status::Fail);
        for (should, id, wanted) in [(true, "triggered", Status::Fail), (false, "not-triggered", Status::Pass)] {
            let grade = came(ReadSkillFile, loads_by, delivery, ActivationRule::Tool, should).grade();
            let check = grade.checks.iter().find(|check| check.id == id).expect("the check");
            assert_eq!(check.status, wanted, "{delivery:?}");
            assert_eq!(check.found, format!("read SKILL.md (the call), not loaded by the {tool}"));
            assert!(check.expected.contains("or injected)"), "{}", check.expected);
        }
    }
}

#[test]
fn a_tool_that_came_after_a_look_at_the_file_counts_as_a_tool() {
    let both = came(Mechanism::ReadSkillFile, Mechanism::SkillTool, Delivery::Native, ActivationRule::Tool, true)
        .with(|trial| tell(&mut trial.trace, |told| told.activate("greeting", Mechanism::SkillTool, "Skill")));
    assert_eq!(both.status("triggered"), Status::Pass);
    let check = both.grade().checks.into_iter().find(|check| check.id == "triggered").expect("the check");
    assert_eq!(check.found, "read SKILL.md (the call); skill tool (Skill)");
}

#[test]
fn a_call_that_failed_leaves_unknown_only_what_it_could_have_decided() {
    for (rule, how, wanted) in [
        (ActivationRule::Content, Mechanism::ReadSkillFile, Status::Unknown),
        (ActivationRule::Content, Mechanism::SkillTool, Status::Unknown),
        (ActivationRule::Tool, Mechanism::SkillTool, Status::Unknown),
        (ActivationRule::Tool, Mechanism::ReadSkillFile, Status::Fail),
    ] {
        let failed = came(how, Mechanism::SkillTool, Delivery::Native, rule, true).with(|trial| {
            (trial.trace.activations, trial.trace.marks) = (Vec::new(), Vec::new());
            tell(&mut trial.trace, |told| told.failed_load("greeting", how, "the call"));
        });
        assert_eq!(failed.status("triggered"), wanted, "{rule:?} {how:?}");
    }
}

#[test]
fn an_agent_that_died_is_an_error_for_positive_and_negative_cases_alike() {
    for should in [true, false] {
        let died = trial(vec![checks::triggers(should)]).with(|trial| {
            trial.trace.activations.clear();
            trial.meta.ending = with!(Ending, signal: Some(11));
        });
        assert_eq!((died.verdict(), died.trouble()), (Verdict::Error, Some(TroubleKind::Crashed)));
    }
}

#[test]
fn an_agent_that_never_started_has_nothing_checked() {
    for (trouble, should) in [(TroubleKind::CouldNotStart, true), (TroubleKind::NotDelivered, false)] {
        let absent = trial(vec![checks::triggers(should)]).with(|trial| {
            trial.meta.ending = with!(Ending, trouble: Some(Trouble::new(trouble, "no such file")));
            (trial.trace, trial.final_text) = (Trace::default(), None);
        });
        assert_eq!(
            (absent.verdict(), absent.trouble(), absent.grade().checks),
            (Verdict::Error, Some(trouble), vec![])
        );
    }
}

#[test]
fn what_an_agent_did_not_come_to_write_did_not_fail() {
    let wanted = vec![
        asks("must_include", "ahoy"),
        asks("require_files", "out.txt"),
        checks::output_schema(schema_path()),
        checks::invoked_skills(true),
    ];
    let silent = || {
        trial(wanted.clone()).with(|trial| {
            (trial.final_text, trial.schema) = (None, Some(json!({})));
        })
    };
    let statuses = |trial: &Trial| -> Vec<Status> {
        let names = ["final-message", "must-include", "require-file", "output-schema", "invoked-skills"];
        names.iter().map(|name| trial.status(name)).collect()
    };
    assert_eq!(statuses(&silent()), [Status::Fail; 5], "it came to its end and wrote nothing");
    let cut = silent().with(|trial| {
        trial.trace.progress = AgentProgress::Answering;
        trial.meta.ending.trouble = Some(Trouble::new(TroubleKind::NoAnswer, "nothing"));
    });
    assert_eq!((statuses(&cut), cut.verdict()), (vec![Status::Unknown; 5], Verdict::Error));
}

#[test]
fn an_exit_status_without_a_word_is_a_crash() {
    let crashed = trial(Vec::new()).with(|trial| {
        trial.meta.ending.exit_code = Some(2);
        trial.meta.ending.last_words = Some("panicked at".to_owned());
    });
    assert_eq!(crashed.trouble(), Some(TroubleKind::Crashed));
    assert!(crashed.grade().trouble.expect("trouble").detail.contains("panicked at"));
}

#[test]
fn trouble_that_the_stream_tells_of_is_an_error_whatever_the_checks_say() {
    let limited = trial(vec![checks::triggers(false)]).with(|trial| {
        trial.trace.trouble = Some(Trouble::new(TroubleKind::RateLimit, "429"));
        trial.trace.activations.clear();
    });
    assert_eq!((limited.verdict(), limited.trouble()), (Verdict::Error, Some(TroubleKind::RateLimit)));
}

#[test]
fn a_skill_that_was_not_offered_is_an_error() {
    let hidden = trial(vec![checks::triggers(false)])
        .with(|trial| trial.trace.offered = Some(with!(OfferedSkills, native: vec!["other".to_owned()])));
    assert_eq!((hidden.verdict(), hidden.trouble()), (Verdict::Error, Some(TroubleKind::NotDelivered)));
    assert!(hidden.grade().trouble.expect("trouble").detail.contains("other"), "says what was offered instead");
}

#[test]
fn a_baseline_in_which_the_skill_was_offered_is_an_error() {
    let leaked = trial(Vec::new()).with(|trial| trial.meta.delivery = Delivery::None);
    assert_eq!(leaked.trouble(), Some(TroubleKind::NotDelivered));
}

#[test]
fn what_the_evidence_does_not_show_is_neither_pass_nor_fail() {
    let unknown = trial(vec![asks("max_total_tokens", "1000")]).with(|trial| trial.trace.usage = None);
    assert_eq!(unknown.status("max-total-tokens"), Status::Unknown);
    assert_eq!((unknown.verdict(), unknown.trouble()), (Verdict::Error, Some(TroubleKind::Unobservable)));
    let unseen = trial(vec![checks::triggers(true)]).with(|trial| trial.trace.offered = None);
    assert_eq!((unseen.verdict(), unseen.trouble()), (Verdict::Error, Some(TroubleKind::Unobservable)));
}

#[test]
fn an_agent_that_was_ended_took_at_least_what_its_requests_did() {
    let request = |input_tokens, output_tokens| with!(Usage, input_tokens: input_tokens, output_tokens: output_tokens);
    let cut = |most| {
        trial(vec![asks("max_total_tokens", most)]).with(|trial| {
            trial.trace.usage = None;
            tell(&mut trial.trace, |told| told.answered(0, request(700, 20)));
            tell(&mut trial.trace, |told| told.answered(1, request(900, 0)));
        })
    };
    let at_least = cut("1620").grade().metrics.usage_at_least;
    assert_eq!(at_least.map(|usage| usage.total_tokens()), Some(1620));
    assert_eq!(cut("1620").status("max-total-tokens"), Status::Unknown, "it may have taken more");
    assert_eq!(cut("1619").status("max-total-tokens"), Status::Fail, "it took more");
    let whole = trial(Vec::new()).with(|trial| tell(&mut trial.trace, |told| told.answered(0, request(700, 20))));
    assert_eq!(whole.grade().metrics.usage_at_least, None, "the agent told the sum");
}

/// A trial that ran into its timeout, with no skill active, after the model had answered so often.
fn late(progress: AgentProgress, waiting: WaitingFor, answers: u64) -> Trial {
    trial(vec![checks::triggers(false)]).with(|trial| {
        trial.meta.ending = with!(Ending, timed_out: true, signal: Some(15));
        trial.trace.progress = progress;
        trial.trace.waiting = waiting;
        trial.trace.answers = answers;
        trial.trace.activations.clear();
    })
}

#[test]
fn a_timeout_is_judged_by_what_was_waited_for() {
    let tool = late(AgentProgress::Answering, WaitingFor::Tool("Bash".to_owned()), 1);
    assert_eq!((tool.verdict(), tool.status("in-time")), (Verdict::Fail, Status::Fail));
    assert_eq!(tool.status("not-triggered"), Status::Unknown, "it might still have come");
    for (progress, answers) in
        [(AgentProgress::Started, 0), (AgentProgress::Answering, 1), (AgentProgress::Answering, 9)]
    {
        let model = late(progress, WaitingFor::Model, answers);
        assert_eq!((model.verdict(), model.trouble()), (Verdict::Error, Some(TroubleKind::NoAnswer)));
    }
    let behind = late(AgentProgress::Done, WaitingFor::Model, 2);
    assert_eq!((behind.verdict(), behind.trouble()), (Verdict::Error, Some(TroubleKind::NoAnswer)), "a sub-agent's");
    let went_on = late(AgentProgress::Done, WaitingFor::Model, 5).with(|trial| trial.meta.ending.silent_ms = Some(0));
    assert_eq!(
        (went_on.verdict(), went_on.status("in-time")),
        (Verdict::Fail, Status::Fail),
        "a sub-agent was at work"
    );
    let ended = went_on.with(|trial| trial.trace.interrupted = true);
    assert_eq!(ended.trouble(), Some(TroubleKind::NoAnswer), "what it said then is no sub-agent's answer");
    let done = late(AgentProgress::Done, WaitingFor::Nothing, 1);
    let killed = done.with(|trial| trial.meta.ending.duration_ms = 60_100);
    assert_eq!((killed.verdict(), killed.status("in-time")), (Verdict::Fail, Status::Fail), "at its timeout");
    let done = late(AgentProgress::Done, WaitingFor::Nothing, 1);
    assert_eq!((done.verdict(), done.status("in-time")), (Verdict::Pass, Status::Pass), "long before");
    let late = late(AgentProgress::Done, WaitingFor::Nothing, 1).with(|trial| trial.meta.ending.silent_ms = Some(0));
    assert_eq!((late.verdict(), late.status("in-time")), (Verdict::Fail, Status::Fail), "its end came too late");
    let evidence = done.grade().checks.into_iter().find(|check| check.id == "in-time").expect("the check").found;
    assert!(evidence.contains("did not exit"), "{evidence}");
}

#[test]
fn a_model_that_answers_again_and_again_was_at_work_when_its_time_was_up() {
    let silent = |silent, longest, answers| {
        let ending = with!(Ending, timed_out: true, silent_ms: Some(silent), longest_silence_ms: Some(longest));
        late(AgentProgress::Answering, WaitingFor::Model, answers).with(|trial| trial.meta.ending = ending).verdict()
    };
    assert_eq!(silent(900, 4_000, 20), Verdict::Fail);
    for wait in [4_100, 60_000] {
        assert_eq!(silent(wait, 4_000, 20), Verdict::Error, "it never took so long to answer");
    }
    assert_eq!(silent(900, 4_000, 1), Verdict::Error, "of one answer nothing can be said");
}

#[test]
fn what_the_model_ended_itself_is_a_failure_of_a_check_of_its_own() {
    for stop in [
        StopReason::Refusal,
        StopReason::MaxTokens,
        StopReason::ContextWindow,
        StopReason::MaxTurns,
        StopReason::MaxBudget,
        StopReason::Loop,
    ] {
        for should in [true, false] {
            let stopped = trial(vec![checks::triggers(should)]).with(|trial| {
                trial.trace.stopped = Some(stop);
                trial.trace.progress = AgentProgress::Answering;
                trial.trace.activations.clear();
                trial.meta.ending.exit_code = Some(1);
            });
            assert_eq!((stopped.verdict(), stopped.status("completed")), (Verdict::Fail, Status::Fail), "{stop}");
        }
    }
    assert_eq!(trial(Vec::new()).status("completed"), Status::Pass);
}

#[test]
fn what_may_be_missing_from_a_trace_is_no_proof_that_it_did_not_happen() {
    let absences = || {
        vec![
            checks::triggers(false),
            checks::max_commands(0),
            asks("max_total_tokens", "1000"),
            asks("expect_resource_load", "true"),
        ]
    };
    let spoiled = |spoil: fn(&mut TraceBuilder)| {
        trial(absences()).with(|trial| {
            trial.trace.activations.clear();
            tell(&mut trial.trace, spoil);
        })
    };
    for spoil in [
        (|trace: &mut TraceBuilder| trace.damaged_lines = 1) as fn(&mut TraceBuilder),
        |trace| trace.lose("an event `teapot`"),
        |trace| trace.unknown_event("teapot", b"{\"type\":\"teapot\",\"Skill\":1}"),
    ] {
        let trial = spoiled(spoil);
        assert_eq!((trial.verdict(), trial.trouble()), (Verdict::Error, Some(TroubleKind::Unobservable)));
        for check in ["not-triggered", "max-commands", "max-total-tokens", "resource-loaded"] {
            assert_eq!(trial.status(check), Status::Unknown, "{check}");
        }
    }
    let harmless = spoiled(|trace| trace.unknown_event("moon.phase", b"{\"type\":\"moon.phase\"}"));
    assert_eq!(harmless.status("not-triggered"), Status::Pass);
    // What is there is certain, whatever else may be missing.
    let seen = |should| {
        trial(vec![checks::triggers(should), checks::max_commands(0)]).with(|trial| {
            trial.trace.damaged_lines = 1;
            trial.trace.effective_commands = 1;
        })
    };
    assert_eq!((seen(true).status("triggered"), seen(true).status("max-commands")), (Status::Pass, Status::Fail));
    assert_eq!(seen(false).verdict(), Verdict::Fail);
}

#[test]
fn a_skill_that_was_wanted_and_could_not_be_loaded_is_neither_a_trigger_nor_none() {
    for should in [true, false] {
        let wanted = |skill: &str| {
            trial(vec![checks::triggers(should)]).with(|trial| {
                trial.trace.activations.clear();
                tell(&mut trial.trace, |told| told.failed_load(skill, Mechanism::McpTool, "mcp__skilljack__skill {}"));
            })
        };
        assert_eq!(wanted("greeting").trouble(), Some(TroubleKind::Unobservable));
        assert_eq!(wanted("other").verdict(), if should { Verdict::Fail } else { Verdict::Pass });
    }
}

#[test]
fn without_the_list_of_offered_skills_nothing_was_measured_whatever_else_failed() {
    for should in [true, false] {
        let unseen = trial(vec![checks::triggers(should), asks("must_include", "nowhere")]).with(|trial| {
            trial.trace.activations.clear();
            trial.trace.offered = None;
        });
        assert_eq!((unseen.verdict(), unseen.trouble()), (Verdict::Error, Some(TroubleKind::Unobservable)));
    }
}

#[test]
fn a_final_message_is_expected_of_every_trial() {
    assert_eq!(trial(Vec::new()).with(|trial| trial.final_text = None).status("final-message"), Status::Fail);
    assert_eq!(trial(Vec::new()).with(|trial| trial.final_text = Some(" \n")).status("final-message"), Status::Fail);
}

#[test]
fn output_is_searched_as_each_format_says() {
    assert_eq!(says("xAHOYx", asks("expected_output", "ahoy")), Verdict::Pass);
    assert_eq!(says("hello", asks("expected_output", "ahoy")), Verdict::Fail);
    assert_eq!(says("AHOY", asks("expected_output_pattern", "ahoy")), Verdict::Fail, "exactly as written");
    for text in ["a\nAHOY\n", "a\r\nAHOY\r\n", "a\rAHOY\r"] {
        assert_eq!(says(text, asks("must_include", "^ahoy$")), Verdict::Pass, "{text:?}");
        assert_eq!(says(text, asks("must_not_include", "^ahoy$")), Verdict::Fail, "{text:?}");
    }
    assert_eq!(says("hello", asks("must_not_include", "ahoy")), Verdict::Pass);
    assert_eq!(says("a | b", asks("must_include", r"a \| b")), Verdict::Pass);
}

#[test]
fn what_a_mask_may_hide_is_unknown() {
    for check in [asks("must_not_include", "hunter2"), asks("must_include", "hunter2")] {
        for text in ["It is [masked].", "It is 99999999."] {
            assert_eq!(says(text, check.clone()), Verdict::Error, "{text}");
        }
    }
    assert_eq!(says("ahoy [masked]", asks("must_include", "ahoy")), Verdict::Pass, "what is seen counts");
    assert_eq!(says("ahoy [masked]", asks("must_not_include", "ahoy")), Verdict::Fail);
}

#[test]
fn a_forbidden_pattern_in_no_message_at_all_is_unknown() {
    let silent = trial(vec![asks("must_not_include", "x")]).with(|trial| trial.final_text = None);
    assert_eq!(silent.status("must-not-include"), Status::Unknown);
    assert_eq!(silent.verdict(), Verdict::Fail, "the missing message fails it");
    let damaged = silent.with(|trial| trial.trace.damaged_lines = 1);
    assert_eq!(damaged.status("final-message"), Status::Unknown, "a line that cannot be read may have been it");
    assert_eq!(damaged.verdict(), Verdict::Error);
}

#[test]
fn commands_of_which_nothing_is_told_leave_it_open_whether_there_were_too_many() {
    let verdict = |effective, untold, most| {
        let trial = trial(vec![checks::max_commands(most)]);
        let counted = |trial: &mut Trial| {
            trial.trace.effective_commands = effective;
            trial.trace.unreported_commands = untold;
        };
        trial.with(counted).verdict()
    };
    assert_eq!(verdict(1, 2, 2), Verdict::Error);
    assert_eq!(verdict(1, 1, 2), Verdict::Pass, "also with those there were not too many");
    assert_eq!(verdict(3, u64::MAX, 2), Verdict::Fail);
}

#[test]
fn limits_hold_up_to_their_number() {
    let commands = |effective, most| {
        trial(vec![checks::max_commands(most)]).with(|trial| trial.trace.effective_commands = effective).verdict()
    };
    assert_eq!((commands(2, 2), commands(3, 2)), (Verdict::Pass, Verdict::Fail));
    for (limit, fine) in [
        (asks("max_input_tokens", "100"), true),
        (asks("max_input_tokens", "99"), false),
        (asks("max_output_tokens", "20"), true),
        (asks("max_output_tokens", "19"), false),
        (asks("max_total_tokens", "120"), true),
        (asks("max_total_tokens", "119"), false),
    ] {
        assert_eq!(trial(vec![limit]).verdict() == Verdict::Pass, fine);
    }
}

#[test]
fn a_required_file_or_folder_is_looked_for_in_the_workspace() {
    let with_file = |wanted: &str| {
        trial(vec![asks("require_files", wanted)]).with(|trial| {
            trial.meta.files =
                serde_json::from_value(json!([{ "path": "out/a.txt", "size": 3, "changed": true }])).expect("files");
        })
    };
    assert_eq!(with_file("out/a.txt").verdict(), Verdict::Pass);
    assert_eq!(with_file("out").verdict(), Verdict::Pass);
    assert_eq!(with_file("a.txt").verdict(), Verdict::Fail);
    let many = with_file("a.txt").with(|trial| trial.meta.files_truncated = true);
    assert_eq!(many.status("require-file"), Status::Unknown);
}

#[test]
fn a_resource_of_another_skill_is_not_the_skills_own() {
    let loaded = |skill: &str| {
        trial(vec![asks("expect_resource_load", "true")])
            .with(|trial| tell(&mut trial.trace, |told| told.load(skill, "a.md", "cat a.md")))
            .verdict()
    };
    assert_eq!((loaded("greeting"), loaded("other")), (Verdict::Pass, Verdict::Fail));
}

#[test]
fn the_answer_follows_its_schema_and_names_the_skills() {
    let schema = json!({ "type": "object", "required": ["invoked_skills"] });
    let answers = |text: &'static str, should| {
        trial(vec![checks::output_schema(schema_path()), checks::invoked_skills(should)]).with(|trial| {
            trial.final_text = Some(text);
            trial.schema = Some(schema.clone());
        })
    };
    assert_eq!(answers(r#"{"invoked_skills":["greeting"]}"#, true).verdict(), Verdict::Pass);
    assert_eq!(answers(r#"{"invoked_skills":["greeting"]}"#, false).verdict(), Verdict::Fail);
    assert_eq!(answers(r#"{"invoked_skills":[]}"#, false).verdict(), Verdict::Pass);
    for (same, other) in [("$greeting", "$greetings"), ("GREETING", "WELCOME"), ("/greeting", "tidy/greeting")] {
        let answer = |name: &str| json!({ "invoked_skills": [name] }).to_string().leak() as &'static str;
        assert_eq!(answers(answer(same), true).verdict(), Verdict::Pass, "{same}");
        assert_eq!(answers(answer(same), false).verdict(), Verdict::Fail, "{same}");
        assert_eq!(answers(answer(other), true).verdict(), Verdict::Fail, "{other}");
    }
    let objects = answers(r#"{"invoked_skills":[{"name":"greeting"}]}"#, false);
    assert_eq!(objects.status("invoked-skills"), Status::Fail, "not a name, and no proof of silence either");
    assert_eq!(answers("{}", true).status("output-schema"), Status::Fail);
    assert_eq!(answers("no JSON", true).status("output-schema"), Status::Fail);
    let gone = answers("{}", true).with(|trial| trial.schema = None);
    assert_eq!(gone.status("output-schema"), Status::Unknown);
}

#[test]
fn a_description_that_did_not_come_whole_fails_and_one_that_was_not_seen_is_no_measurement() {
    let with = |delivery: Delivery, seen: Option<DescriptionVisibility>| {
        trial(vec![asks("described", "true")]).with(|trial| {
            trial.meta.delivery = delivery;
            let offered = trial.trace.offered.as_mut().expect("an offer");
            offered.described.extend(seen.map(|seen| ("greeting".to_owned(), seen)));
        })
    };
    let cut = DescriptionVisibility::Cut { characters: 12, of: 40 };
    for (seen, status, metric) in [
        (Some(DescriptionVisibility::Whole), Status::Pass, DescriptionVisibility::Whole),
        (Some(cut), Status::Fail, cut),
        (Some(DescriptionVisibility::NameOnly), Status::Fail, DescriptionVisibility::NameOnly),
        (None, Status::Unknown, DescriptionVisibility::Unknown),
    ] {
        let trial = with(Delivery::Native, seen);
        assert_eq!((trial.status("described"), trial.grade().metrics.described), (status, Some(metric)));
    }
    let grade = with(Delivery::Native, Some(cut)).grade();
    let check = grade.checks.iter().find(|check| check.id == "described").expect("the check");
    assert_eq!((check.found.as_str(), grade.verdict), ("cut at 12 of 40 characters", Verdict::Fail));
    assert_eq!(with(Delivery::Native, None).trouble(), Some(TroubleKind::Unobservable));
    // What comes by MCP may say more than the evidence shows.
    assert_eq!(with(Delivery::Both, Some(cut)).status("described"), Status::Unknown);
    assert_eq!(with(Delivery::Both, Some(DescriptionVisibility::Whole)).status("described"), Status::Pass);
    let baseline = with(Delivery::None, None).grade();
    assert!(baseline.checks.iter().all(|check| check.id != "described") && baseline.metrics.described.is_none());
}

/// A trial whose case has flags added after its first turn and expects it to be seen.
pub fn with_a_change() -> Trial {
    trial(Vec::new()).with(|trial| {
        let folder = RelativePath::parse("evals/changes/flags").ok();
        let change = SkillChange {
            after_turn: 1,
            kind: ChangeKind::Add,
            skill: "flags".to_owned(),
            folder,
            expect_seen: true,
            origin: SourceLocation::file("evals/tasks/it.json"),
        };
        trial.meta.changes = vec![ChangeMeta {
            made_ms: Some(6_200),
            turns_after: Some(2),
            seen: Some(ChangeVisibility::No),
            ..ChangeMeta::from(&change)
        }];
        trial.case.during = vec![change];
        trial.case.checks.extend(checks::changes_seen(&trial.case.during));
    })
}

#[test]
fn a_change_in_mid_session_is_seen_by_what_shows_it_and_not_seen_only_where_nothing_is_in_doubt() {
    expect_of_a_change(&[
        (|_| (), Status::Fail, "`flags` added after turn 1, at 6.2 s: not seen"),
        (
            |trial| trial.meta.changes[0].seen = Some(ChangeVisibility::List),
            Status::Pass,
            "`flags` added after turn 1, at 6.2 s: the agent told its model",
        ),
        (
            |trial| trial.meta.changes[0].seen = Some(ChangeVisibility::Text),
            Status::Pass,
            "`flags` added after turn 1, at 6.2 s: its text entered the model's context",
        ),
        (
            |trial| trial.meta.changes[0].seen = Some(ChangeVisibility::Missed),
            Status::Pass,
            "`flags` added after turn 1, at 6.2 s: a call that was to load it failed",
        ),
        (
            |trial| trial.meta.changes[0].seen = Some(ChangeVisibility::Alike),
            Status::Unknown,
            "`flags` added after turn 1, at 6.2 s: not seen, but it has no text or description that was not there before",
        ),
        (
            |trial| trial.meta.changes[0].turns_after = Some(0),
            Status::Unknown,
            "`flags` added after turn 1, at 6.2 s: not seen, but the model was not surely asked again afterwards",
        ),
        (
            |trial| trial.meta.changes[0].after_turn = 3,
            Status::Unknown,
            "`flags` not added: it was not part of this trial",
        ),
        (
            |trial| trial.meta.changes[0].made_ms = None,
            Status::Unknown,
            "`flags` not added: the agent was done before its turn 1 was over",
        ),
        (
            |trial| trial.trace.damaged_lines = 1,
            Status::Unknown,
            "`flags` added after turn 1, at 6.2 s: not seen, but a line of the trace is damaged",
        ),
    ]);
}

#[test]
fn by_mcp_a_change_is_not_seen_where_the_server_told_of_it_and_was_asked_for_nothing() {
    expect_of_a_change(&[
        (
            |trial| trial.meta.delivery = Delivery::Mcp,
            Status::Unknown,
            "`flags` added after turn 1, at 6.2 s: not seen, but what its MCP server tells a model is in no agent's evidence",
        ),
        (
            |trial| {
                trial.meta.delivery = Delivery::Mcp;
                trial.meta.changes[0].asked = Some(vec!["tools".to_owned()]);
            },
            Status::Unknown,
            "`flags` added after turn 1, at 6.2 s: not seen, but the agent asked the MCP server for its tools again, and what \
             it showed its model of that is in no evidence",
        ),
        (
            |trial| {
                trial.meta.delivery = Delivery::Mcp;
                trial.meta.changes[0].asked = Some(Vec::new());
            },
            Status::Fail,
            "`flags` added after turn 1, at 6.2 s: not seen",
        ),
    ]);
}

/// What spoils a trial with a change, and what the check says of it then.
type Spoiled = (fn(&mut Trial), Status, &'static str);

fn expect_of_a_change(cases: &[Spoiled]) {
    for (spoil, status, evidence) in cases {
        let grade = with_a_change().with(spoil).grade();
        let check = grade.checks.iter().find(|check| check.id == "changes-seen").expect("the check");
        assert_eq!((check.status, check.found.as_str()), (*status, *evidence));
    }
}

#[test]
fn a_change_that_nobody_expects_to_be_seen_is_no_check_of_its_own() {
    let quiet = with_a_change().with(|trial| {
        let other =
            SkillChange { expect_seen: false, kind: ChangeKind::Remove, folder: None, ..trial.case.during[0].clone() };
        trial.meta.changes.push(ChangeMeta { made_ms: Some(7_000), ..ChangeMeta::from(&other) });
        trial.case.during.push(other);
        trial.case.checks = checks::changes_seen(&trial.case.during).into_iter().collect();
        trial.meta.changes[0].seen = Some(ChangeVisibility::List);
    });
    let grade = quiet.grade();
    let check = grade.checks.iter().find(|check| check.id == "changes-seen").expect("the check");
    assert_eq!((check.status, check.found.contains("removed")), (Status::Pass, false));
    let without = quiet.with(|trial| trial.meta.delivery = Delivery::None).grade();
    assert!(without.checks.iter().all(|check| check.id != "changes-seen"), "no skill, no change");
}

#[test]
fn what_a_calibration_doubts_is_unknown_and_no_verdict() {
    let doubted = |reading: &str| {
        let checks = vec![checks::triggers(true), checks::max_total_tokens(1000)];
        trial(checks).with_fact("doubts", json!({ reading: "the calibration of this agent found it wrong" }))
    };
    let unknown = |trial: &Trial| -> Vec<String> {
        let checks = trial.grade().checks.into_iter();
        checks.filter(|check| check.status == Status::Unknown).map(|check| check.id).collect()
    };
    let [tokens, activation, delivered] = ["tokens", "activation", "delivered"].map(doubted);
    assert_eq!((unknown(&tokens), tokens.grade().metrics.usage), (vec!["max-total-tokens".to_owned()], None));
    assert_eq!(unknown(&activation), ["triggered"]);
    assert_eq!(unknown(&delivered), ["delivered"]);
    for trial in [tokens, activation, delivered] {
        assert_eq!((trial.verdict(), trial.trouble()), (Verdict::Error, Some(TroubleKind::Unobservable)));
    }
    // Nobody failed to use what may not have been offered.
    let unused = doubted("delivered").with(|trial| trial.trace.activations.clear());
    assert_eq!((unused.status("triggered"), unused.verdict()), (Status::Fail, Verdict::Error));
    // Whoever ended otherwise than it seems shows nothing at all.
    for reading in ["end", "login", "limit"] {
        let trial = doubted(reading);
        assert_eq!((unknown(&trial).len(), trial.verdict()), (trial.grade().checks.len(), Verdict::Error));
    }
    assert_eq!(doubted("model").verdict(), Verdict::Pass, "no check needs the model");
}
