//! Sessions of the user's own machine: `grade --session` and `import --session`.

use std::io::Write;
use std::path::PathBuf;

use clap::Args;

use super::{CliResult, CliResultOf, RepositoryArgs};
use crate::cases::case::Case;
use crate::cases::catalog::FoundSkill;
use crate::cli::color::paint;
use crate::cli::exit_code::Exit;
use crate::cli::output::{Stream, text_stdout};
use crate::engine::Loaded;
use crate::report::paint::{Paint, Tone};
use crate::report::trial_text as report;
use crate::run::planned::PlannedRun;
use crate::run::preflight;
use crate::run::user_session::{self, GradedSession, ReadSession};
use crate::text::diagnostic::suggest;
use crate::text::escape;

/// The most characters of a prompt in a list.
const MAX_PROMPT: usize = 60;

#[derive(Args)]
pub struct SessionArgs {
    /// Session file of your own machine: ~/.claude/projects/…/*.jsonl or ~/.codex/sessions/…/rollout-*.jsonl
    #[arg(long, value_name = "FILE")]
    pub session: Option<PathBuf>,
    /// Skill under test
    #[arg(long, value_name = "NAME", requires = "session")]
    pub skill: Option<String>,
    /// Number of the prompt in the session, from 1 [default: the whole session]
    #[arg(long, value_name = "NUMBER", requires = "session")]
    pub turn: Option<usize>,
}

/// A session, and the repository whose skills it is about.
pub struct OpenSession {
    pub run: PlannedRun,
    pub read: ReadSession,
}

impl SessionArgs {
    pub fn open(&self, repository: &RepositoryArgs) -> CliResultOf<OpenSession> {
        let Loaded { repository, settings, catalog } = repository.read()?;
        let run = PlannedRun::new(repository.root, settings, catalog);
        let file = self.session.as_deref().ok_or("name a session file: --session FILE")?;
        let read = user_session::read(&run, file, self.turn)?;
        Ok(OpenSession { run, read })
    }

    /// Grades the session: by a case, else by whether the skill activated.
    pub fn grade(&self, case: Option<&str>, repository: &RepositoryArgs) -> CliResult {
        let open = self.open(repository)?;
        let skill = self.skill.as_deref().ok_or("name the skill under test: --skill NAME")?;
        let skill = open.skill(skill)?;
        let mut out = text_stdout();
        let paint = paint(Stream::Output);
        let Some(id) = case else {
            let graded = open.read.grade(&open.run, &Case::of_activation(skill.skill()), skill)?;
            out.write_all(open.activation(&skill.skill().slug, &graded, paint).as_bytes())?;
            return Ok(match graded.activated().0 {
                Some(true) => Exit::Clean,
                Some(false) => Exit::Problems,
                None => Exit::Infrastructure,
            });
        };
        let case = open.case(skill, id)?;
        let graded = open.read.grade(&open.run, &case, skill)?;
        out.write_all(open.by_case(&case, &graded, paint).as_bytes())?;
        Ok(Exit::of_verdict(graded.grade.verdict))
    }
}

impl OpenSession {
    pub fn skill(&self, name: &str) -> CliResultOf<&FoundSkill> {
        self.run.catalog.named_skill(name)
    }

    fn case(&self, skill: &FoundSkill, id: &str) -> CliResultOf<Case> {
        let slug = &skill.skill().slug;
        let ids: Vec<&str> = self.run.catalog.cases_of(slug).map(|found| found.id.as_str()).collect();
        let mut cases = self.run.catalog.cases_of(slug);
        let found = cases.find(|found| found.id == id);
        let found = found.ok_or_else(|| format!("unknown case `{id}` of the skill `{slug}`; {}", suggest(id, &ids)))?;
        let problems = preflight::refused(&self.run, found);
        match found.case() {
            Ok(case) if problems.is_empty() => Ok(case.clone()),
            _ => Err(problems.iter().map(super::problem_line).collect::<Vec<_>>().join("\n").into()),
        }
    }

    fn activation(&self, name: &str, graded: &GradedSession, paint: Paint) -> String {
        let (activated, found) = graded.activated();
        let (tone, word) = match activated {
            Some(true) => (Tone::Good, "activated"),
            Some(false) => (Tone::Bad, "not activated"),
            None => (Tone::Broken, "unknown"),
        };
        let mut text = format!("{}: {}\n", escape::line(name), paint.on(tone, word));
        match &graded.grade.trouble {
            Some(trouble) if activated.is_none() => report::line(&mut text, "why", &trouble.to_string()),
            _ => report::line(&mut text, "found", found),
        }
        report::line(&mut text, "session", &self.about());
        text
    }

    fn by_case(&self, case: &Case, graded: &GradedSession, paint: Paint) -> String {
        let grade = &graded.grade;
        let verdict = report::verdict(grade, paint);
        let name = escape::line(&format!("{}/{}", case.skill, case.id));
        let mut text = format!("{name}: {verdict}{}", report::result(grade, paint));
        report::line(&mut text, "session", &self.about());
        if self.read.prompts() != [case.prompt.as_str()] {
            report::line(&mut text, "note", "the case has another prompt; its checks were applied to this session");
        }
        if self.run.settings.harness.is_some() {
            report::line(&mut text, "note", "checks of the harness are not asked about a session");
        }
        text
    }

    /// The chosen prompts, and the agent.
    fn about(&self) -> String {
        let read = &self.read;
        let all = read.session.prompts.len();
        let part = match read.turn {
            Some(turn) => format!("prompt {turn} of {all}"),
            None if all == 1 => "the only prompt".to_owned(),
            None => format!("all {all} prompts"),
        };
        let agent = [Some(read.agent.as_str()), read.session.version.as_deref(), read.session.model.as_deref()];
        format!("{part}, {}", agent.into_iter().flatten().collect::<Vec<_>>().join(" "))
    }

    /// The numbers and starts of the prompts.
    pub fn prompts(&self) -> String {
        let prompts = self.read.session.prompts.iter().enumerate();
        let start = |text: &str| text.chars().take(MAX_PROMPT).collect::<String>();
        let text = |text: &Option<String>| text.as_deref().map_or("(could not be read)".to_owned(), start);
        let lines = prompts.map(|(at, one)| format!("  {}  {}", at + 1, escape::line(&text(one))));
        lines.collect::<Vec<_>>().join("\n")
    }
}
