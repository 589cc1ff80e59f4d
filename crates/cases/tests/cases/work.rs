//! Work of a kind, by any tool that an agent has for it.

use skill_evals_cases::checks::pattern::{Pattern, Style};
use skill_evals_cases::checks::{self, CaseCheck, Work};
use skill_evals_evidence::settings::mode::AgentKind;
use skill_evals_evidence::trace::{Mechanism, Step, TraceBuilder};
use skill_evals_evidence::trial::outcome::Status;

use crate::grade::{Trial, tell, trial};

const PASS: Status = Status::Pass;
const FAIL: Status = Status::Fail;
const UNKNOWN: Status = Status::Unknown;

/// The status of a check of a trial of this agent.
fn status(kind: AgentKind, check: CaseCheck, happens: impl FnOnce(&mut TraceBuilder)) -> Status {
    let id = check.kind.id;
    let change = |trial: &mut Trial| {
        trial.meta.agent.kind = kind;
        tell(&mut trial.trace, happens);
    };
    let grade = trial(vec![check]).with(change).grade();
    grade.checks.into_iter().find(|check| check.id == id).expect("the check").status
}

fn command(line: &'static str) -> impl Fn(&mut TraceBuilder) {
    move |told| told.command(line.to_owned(), Some(0), "done".to_owned())
}

fn tool(name: &'static str) -> impl Fn(&mut TraceBuilder) {
    let step =
        move || Step::Tool { name: name.to_owned(), input: "{}".to_owned(), output: String::new(), failed: true };
    move |told| told.push(step())
}

#[test]
fn a_command_that_only_reads_is_no_call_of_a_shell_if_the_agent_has_nothing_else_to_read_with() {
    for (kind, line, required, forbidden) in [
        (AgentKind::Codex, "cat .agents/skills/greeting/SKILL.md", FAIL, PASS),
        (AgentKind::Codex, "cat a.md", UNKNOWN, UNKNOWN),
        (AgentKind::Codex, "bash -lc 'cd x && rg -n Ada src | head'", UNKNOWN, UNKNOWN),
        (AgentKind::Codex, "make", PASS, FAIL),
        (AgentKind::Codex, "cat a.md && make", PASS, FAIL),
        (AgentKind::ClaudeCli, "cat a.md", PASS, FAIL),
    ] {
        let of = |is_required| status(kind, checks::work(Work::Commands, is_required), command(line));
        assert_eq!((of(true), of(false)), (required, forbidden), "{kind:?}: {line}");
    }
    for kind in [AgentKind::Codex, AgentKind::ClaudeCli] {
        let of = |is_required| status(kind, checks::work(Work::Commands, is_required), |_| {});
        assert_eq!((of(true), of(false)), (FAIL, PASS), "{kind:?}");
    }
}

#[test]
fn files_are_changed_by_the_tools_for_it_and_perhaps_by_commands() {
    let all = |kind, happens: &dyn Fn(&mut TraceBuilder)| {
        [Work::Changes, Work::SomeChanges].map(|work| status(kind, checks::work(work, false), happens))
    };
    for kind in [AgentKind::Codex, AgentKind::ClaudeCli] {
        assert_eq!(all(kind, &|_| {}), [PASS, PASS], "{kind:?}");
        assert_eq!(all(kind, &command("sed -n 1,9p a.md; ls")), [PASS, PASS], "{kind:?}");
        assert_eq!(all(kind, &command("sed -i s/a/b/ a.md")), [UNKNOWN, UNKNOWN], "{kind:?}");
        assert_eq!(all(kind, &command("cat a.md > b.md")), [UNKNOWN, UNKNOWN], "{kind:?}");
        let changes = |told: &mut TraceBuilder| told.push(Step::FileChange(vec!["a.md".to_owned()]));
        // One of the two is forbidden, and it is not known which one this is.
        assert_eq!(all(kind, &changes), [FAIL, UNKNOWN], "{kind:?}");
    }
    // A call counts if it failed, too.
    assert_eq!(all(AgentKind::ClaudeCli, &tool("Edit")), [FAIL, UNKNOWN]);
    assert_eq!(all(AgentKind::ClaudeCli, &tool("Read")), [PASS, PASS]);
    assert_eq!(all(AgentKind::Codex, &|told| told.unreported_commands = 1), [UNKNOWN, UNKNOWN]);
}

#[test]
fn any_skill_is_activated() {
    let any = || checks::activates(vec!["*".to_owned()], false);
    assert_eq!(status(AgentKind::Codex, any(), |_| {}), PASS);
    let none = trial(vec![any()]).with(|trial| trial.trace.activations.clear()).status("activates");
    assert_eq!(none, FAIL);
    let other = trial(vec![any()]).with(|trial| {
        trial.trace.activations.clear();
        tell(&mut trial.trace, |told| told.activate("other", Mechanism::ReadSkillFile, "cat"));
    });
    assert_eq!(other.status("activates"), PASS);
}

#[test]
fn a_certain_file_of_the_skill_is_loaded() {
    let loads = || checks::loads(Pattern { text: r"vm-sizes\.md$".to_owned(), style: Style::Exact });
    let loaded = |skill: &'static str, path: &'static str| {
        status(AgentKind::Codex, loads(), |told| told.load(skill, path, "cat"))
    };
    assert_eq!(loaded("greeting", "references/vm-sizes.md"), PASS);
    assert_eq!(loaded("greeting", "references/vm-prices.md"), FAIL);
    assert_eq!(loaded("other", "references/vm-sizes.md"), FAIL);
}
