//! Cuts the evidence of a trial after every event, and holds that a verdict which is settled there is the verdict at the end.

use std::fs;
use std::path::Path;

use skill_evals_cases::cases::case::Case;
use skill_evals_cases::cases::case::fields::{self, CaseDraft};
use skill_evals_cases::checks::grading_input::NoContents;
use skill_evals_cases::checks::grading_input::ProgramRuns;
use skill_evals_cases::checks::{self, CaseCheck, GradingInput, PrintedOnce};
use skill_evals_cases::grade::checks::{grade, is_settled};
use skill_evals_cases::grade::general::GENERAL;
use skill_evals_evidence::settings::mode::{AgentKind, Delivery};
use skill_evals_evidence::settings::{ActivationRule, Prices};
use skill_evals_evidence::skill::Skill;
use skill_evals_evidence::text::diagnostic::SourceLocation;
use skill_evals_evidence::trace::Trace;
use skill_evals_evidence::trial::evidence::{Evidence, Meta};
use skill_evals_evidence::trial::outcome::{Grade, Status, Verdict, Weight};

use crate::fixture::temporary;
use crate::made::{listed, meta, skill};

/// The files of a trial that its agent writes while it works.
const FILES: [&str; 4] = ["trace.jsonl", "rollout.jsonl", "session.jsonl", "subagents.jsonl"];

/// The most combinations of cut files of one trial.
const MOST: usize = 200;

/// A trial to cut.
pub struct WholeTrial<'a> {
    pub folder: &'a Path,
    /// Its facts, in every way in which they may be.
    pub metas: Vec<Meta>,
    pub skill: &'a Skill,
    /// What its agent's decoder reads in a directory.
    pub decode: &'a dyn Fn(&Path) -> Trace,
}

/// A case under a rule, and the grade of the whole trial.
struct PrefixQuestion<'a> {
    case: &'a Case,
    activation: ActivationRule,
    meta: &'a Meta,
    whole: Grade,
}

/// How many settled verdicts there were among all prefixes.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct Settled {
    pub passed: usize,
    pub failed: usize,
}

/// Holds the property for the events, the session and the sub-agents' sessions of an agent that has the skill `greeting`.
pub fn check_files(kind: AgentKind, decode: &dyn Fn(&Path) -> Trace, files: [String; 3]) -> Settled {
    let folder = tempfile::tempdir().expect("a directory");
    let session = if kind == AgentKind::Codex { "rollout.jsonl" } else { "session.jsonl" };
    for (name, text) in ["trace.jsonl", session, "subagents.jsonl"].into_iter().zip(files) {
        fs::write(folder.path().join(name), text).expect("a file");
    }
    let metas = [Delivery::Native, Delivery::Mcp].map(|delivery| meta(kind, delivery, "greeting")).to_vec();
    WholeTrial { folder: folder.path(), metas, skill: &skill("greeting"), decode }.check_every_prefix()
}

/// What cases ask that a prefix can settle, alone and together.
fn cases() -> Vec<Case> {
    let asks = |column: &str, text: &str| {
        let field = fields::all().find(|field| field.field().column == column).expect("a field");
        let mut draft = CaseDraft::new("it", "it".to_owned(), SourceLocation::default());
        draft.set(field, "", 0, field.field().form.read(column, text, text).expect("a value"));
        draft.checks.pop().expect("a check")
    };
    let loads = || asks("expect_resource_load", "true");
    let lists: Vec<Vec<CaseCheck>> = vec![
        vec![checks::triggers(true)],
        vec![checks::triggers(false)],
        vec![checks::triggers(true), loads()],
        vec![checks::triggers(true), checks::max_commands(0)],
        vec![checks::triggers(false), checks::max_commands(1)],
        vec![checks::triggers(true), asks("must_include", "Ahoy")],
        vec![checks::triggers(true), asks("max_total_tokens", "1")],
        vec![asks("max_cost_usd", "0.0001")],
        vec![listed(r#"{"activates": ["greeting", "parting"], "inOrder": true}"#)],
        vec![listed(r#"{"activates": []}"#), listed(r#"{"rejects": ["parting"]}"#)],
        vec![checks::triggers(true), listed(r#"{"text": "all", "matches": "(?i)a"}"#)],
        vec![listed(r#"{"text": "messages", "contains": "e", "not": true}"#)],
        vec![listed(r#"{"text": "tools", "contains": "e"}"#), listed(r#"{"tool": "*", "atLeast": 2}"#)],
        vec![listed(r#"{"tool": "*", "atMost": 1}"#)],
        vec![listed(r#"{"command": "^(cat|sed) "}"#)],
        vec![listed(r#"{"command": "SKILL", "not": true}"#)],
        vec![listed(r#"{"sequence": ["$ cat", "*"]}"#)],
    ];
    lists.into_iter().map(|checks| Case { id: "it".to_owned(), checks, ..Case::default() }).collect()
}

fn gcd(a: usize, b: usize) -> usize {
    if b == 0 { a } else { gcd(b, a % b) }
}

impl WholeTrial<'_> {
    /// Holds the property for every prefix.
    pub fn check_every_prefix(&self) -> Settled {
        let read = |name: &&str| fs::read(self.folder.join(name)).unwrap_or_default();
        let files: Vec<(&str, Vec<Vec<u8>>)> = FILES
            .iter()
            .map(|name| (*name, read(name).split_inclusive(|byte| *byte == b'\n').map(<[u8]>::to_vec).collect()))
            .filter(|(_, lines): &(_, Vec<_>)| !lines.is_empty())
            .collect();
        let (end, cases) = ((self.decode)(self.folder), cases());
        let final_text = fs::read_to_string(self.folder.join("final.txt")).ok();
        let all: usize = files.iter().map(|(_, lines)| lines.len() + 1).product();
        // A step that shares no factor with the product visits combinations all over it.
        let step = ((all / MOST).max(1)..=all).find(|step| gcd(*step, all) == 1).unwrap_or(1);
        let prefix = temporary();
        let mut settled = Settled::default();
        let questions = self.questions(&cases, &end, final_text.as_deref());
        for (turn, number) in (0..all).step_by(step).enumerate() {
            let cuts_within = turn % 3 == 0;
            let mut rest = number;
            for (at, (name, lines)) in files.iter().enumerate() {
                let (whole, path) = (rest % (lines.len() + 1), prefix.path().join(name));
                rest /= lines.len() + 1;
                let mut text = lines[..whole].concat();
                // Some cuts are within a line.
                let partial = lines.get(whole).filter(|_| cuts_within && (turn / 3 + at) % 2 == 0);
                text.extend(partial.map(|line| &line[..line.len() / 2]).unwrap_or_default());
                let _ = fs::remove_file(&path);
                if !text.is_empty() {
                    fs::write(&path, text).expect("a file");
                }
            }
            let trace = (self.decode)(prefix.path());
            if let Some(usage) = end.usage {
                let (least, all) = (trace.usage_of_requests, usage);
                let is_less = least.input_tokens <= all.input_tokens && least.output_tokens <= all.output_tokens;
                assert!(is_less, "{}: {least:?} {all:?}", self.folder.display());
            }
            for question in &questions {
                self.check(question, &trace, &mut settled);
            }
        }
        settled
    }

    /// Every case under every rule for every kind of trial, with the grade of the whole trial.
    fn questions<'a>(&'a self, cases: &'a [Case], end: &Trace, final_text: Option<&str>) -> Vec<PrefixQuestion<'a>> {
        let rules = [ActivationRule::Content, ActivationRule::Tool];
        let asked = cases.iter().flat_map(|case| rules.map(|rule| (case, rule)));
        let asked = asked.flat_map(|(case, rule)| self.metas.iter().map(move |meta| (case, rule, meta)));
        let question = |(case, activation, meta)| {
            let whole = Evidence { meta, trace: end, final_text };
            let whole = self.with_input(&whole, activation, |subject| grade(case, subject));
            PrefixQuestion { case, activation, meta, whole }
        };
        asked.map(question).collect()
    }

    fn with_input<T>(
        &self,
        evidence: &Evidence<'_>,
        activation: ActivationRule,
        answer: impl Fn(&GradingInput<'_>) -> T,
    ) -> T {
        let (contents, prices, programs) = (&NoContents, &Prices::default(), &ProgramRuns::new());
        answer(&GradingInput {
            skill: self.skill,
            schema: None,
            activation,
            evidence,
            programs,
            contents,
            prices,
            printed: &PrintedOnce::default(),
        })
    }

    fn check(&self, question: &PrefixQuestion<'_>, trace: &Trace, settled: &mut Settled) {
        let PrefixQuestion { case, activation, meta, whole } = question;
        let so_far = Evidence { meta, trace, final_text: None };
        if !self.with_input(&so_far, *activation, |subject| is_settled(case, subject, false)) {
            return;
        }
        // Its score is known only at its end.
        let mut weighed = (*case).clone();
        weighed.weigh(0, 0, Weight::new(1.0, 0));
        let is_early = self.with_input(&so_far, *activation, |subject| is_settled(&weighed, subject, false));
        assert!(!is_early, "{}: {weighed:#?}", self.folder.display());
        // Stored as a trial that ended there, it has the verdict that settled it.
        let mut ended = (*meta).clone();
        ended.ending.settled = true;
        ended.ending.exit_code = Some(143);
        let stored = Evidence { meta: &ended, trace, final_text: None };
        let stored = self.with_input(&stored, *activation, |subject| grade(case, subject));
        match stored.verdict {
            Verdict::Pass => settled.passed += 1,
            Verdict::Fail => settled.failed += 1,
            other => panic!("{other}: {}: {case:#?} {stored:#?}", self.folder.display()),
        }
        let failed = whole.checks.iter().filter(|check| check.status == Status::Fail);
        // What is asked about the agent's end is not asked of a trial that ends early.
        let by_end_only =
            failed.clone().count() > 0 && failed.clone().all(|check| GENERAL.contains(&check.id.as_str()));
        assert!(
            whole.verdict == stored.verdict
                || whole.verdict == Verdict::Error
                || (stored.verdict == Verdict::Pass && by_end_only),
            "{}: settled as {}, ended as {}: {case:#?}\n{stored:#?}\n{whole:#?}",
            self.folder.display(),
            stored.verdict,
            whole.verdict,
        );
    }
}
