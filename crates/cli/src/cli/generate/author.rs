//! Has an agent draft cases, and asks the user about each.

use std::io::{self, IsTerminal, Read, Write};
use std::sync::mpsc;
use std::time::Duration;

use clap::Args;

use crate::agent::ScratchDir;
use crate::agent::isolation;
use crate::cases::catalog::{Catalog, FoundSkill};
use crate::cases::repository::Repository;
use crate::cli::CliResultOf;
use crate::cli::output::{Stream, stderr, text_stdout};
use crate::process::{interrupt, watchdog};
use crate::report::diagnostics::counted;
use crate::report::table::{clock, cost, dollars, tokens};
use crate::run::live::Redactors;
use crate::run::preflight;
use crate::settings::Settings;
use crate::settings::mode::AgentKind;
use crate::setup::generate::drafted::{Drafter, DraftingPlace, Drafts};
use crate::setup::generate::{self, GeneratedCase, review};
use crate::store;
use crate::text::escape;
use crate::text::problem::Problem;
use crate::trace::trouble::Trouble;
use crate::trial::outcome::AttemptCost;

#[derive(Args)]
pub struct AuthorArgs {
    /// Agent that drafts about twenty cases of each skill, which costs money; you accept, edit or drop each
    #[arg(long, value_name = "AGENT", value_parser = writer)]
    agent: Option<AgentKind>,
    /// Model that the agent uses
    #[arg(long, requires = "agent")]
    model: Option<String>,
    /// Accept every drafted case that lint has nothing to say about
    #[arg(long, requires = "agent")]
    yes: bool,
}

/// An agent by its name in settings, or by that of its program.
pub fn agent(name: &str) -> Result<AgentKind, String> {
    AgentKind::called(name).ok_or_else(|| format!("unknown agent; {}", AgentKind::suggest(name, &AgentKind::names())))
}

/// An agent that can draft.
pub fn writer(name: &str) -> Result<AgentKind, String> {
    let kind = agent(name)?;
    preflight::no_writer(kind).map_or(Ok(kind), Err)
}

/// What is typed. It ends when the run is to end, which a read of standard input itself would outlast.
struct Typed {
    pieces: mpsc::Receiver<io::Result<Vec<u8>>>,
    rest: Vec<u8>,
}

impl Typed {
    fn listen() -> io::Result<io::BufReader<Self>> {
        let (sender, pieces) = mpsc::channel();
        std::thread::Builder::new().name("typed".to_owned()).spawn(move || {
            loop {
                let mut piece = vec![0; 4096];
                let read = io::stdin().read(&mut piece).map(|count| piece[..count].to_vec());
                let is_last = read.as_ref().map_or(true, Vec::is_empty);
                if sender.send(read).is_err() || is_last {
                    return;
                }
            }
        })?;
        Ok(io::BufReader::new(Self { pieces, rest: Vec::new() }))
    }
}

impl Read for Typed {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while self.rest.is_empty() {
            match self.pieces.recv_timeout(Duration::from_millis(50)) {
                Ok(piece) if piece.as_ref().is_ok_and(Vec::is_empty) => return Ok(0),
                Ok(piece) => self.rest = piece?,
                Err(mpsc::RecvTimeoutError::Timeout) if !interrupt::raised() => {}
                Err(_) => return Ok(0),
            }
        }
        let count = self.rest.len().min(buffer.len());
        buffer[..count].copy_from_slice(&self.rest[..count]);
        self.rest.drain(..count);
        Ok(count)
    }
}

/// An agent that drafts, ready to be asked.
pub struct Author<'a> {
    drafter: Drafter<'a>,
    repository: &'a Repository,
    scratch: ScratchDir,
    redactors: Redactors,
    accepts_all: bool,
    spent: AttemptCost,
}

impl AuthorArgs {
    /// The agent, if there is to be one. Fails if it cannot run, or if nobody could accept what it writes.
    pub fn author<'a>(
        &self,
        repository: &'a Repository,
        settings: &'a Settings,
        catalog: &'a Catalog,
    ) -> CliResultOf<Option<Author<'a>>> {
        let Some(agent) = self.agent else { return Ok(None) };
        if !self.yes && (!io::stdin().is_terminal() || !Stream::Output.is_terminal()) {
            return Err(
                "each case is shown on a terminal, and this is none: add --yes to accept those that lint accepts"
                    .into(),
            );
        }
        let drafter = Drafter { root: &repository.root, settings, catalog, agent, model: self.model.clone() };
        Ok(Some(Author { accepts_all: self.yes, ..Author::new(drafter, repository)? }))
    }
}

/// What is asked with this prompt, and what that costs.
pub fn request(drafter: &Drafter<'_>, found: &FoundSkill, prompt: &str) -> String {
    let Drafter { agent, model, .. } = drafter;
    let estimate = drafter.estimate(prompt);
    let model = model.as_deref().map_or_else(String::new, |model| format!(" ({model})"));
    let cost = match estimate.cost_usd {
        Some(cost) => format!("about {}", dollars(cost)),
        None => "at the price of its model".to_owned(),
    };
    let line = format!(
        "{}: asks {}{model} once: about {} tokens besides the agent's own, {cost}",
        found.skill().slug,
        agent.as_str(),
        estimate.tokens
    );
    escape::line(&line)
}

impl<'a> Author<'a> {
    /// Fails if the agent cannot run.
    pub fn new(drafter: Drafter<'a>, repository: &'a Repository) -> CliResultOf<Self> {
        if let Some(problem) = preflight::missing(drafter.settings, drafter.agent, None) {
            return Err(problem.into());
        }
        interrupt::listen(false)?;
        let scratch = isolation::scratch(drafter.settings)?;
        watchdog::remove_afterwards(scratch.path());
        let redactors = Redactors::new(drafter.settings);
        Ok(Self { drafter, repository, scratch, redactors, accepts_all: false, spent: AttemptCost::default() })
    }

    /// The accepted cases of a skill, or why there are none.
    pub fn cases(&mut self, found: &FoundSkill) -> CliResultOf<Result<Vec<GeneratedCase>, Problem>> {
        let slug = &found.skill().slug;
        let prompt = self.drafter.prompt(found);
        let asked = self.asked(found, &prompt, |drafter, place| drafter.ask(found, &prompt, place))?;
        let drafts = match asked {
            Ok((drafts, _)) => drafts,
            Err(why) => return Ok(Err(why)),
        };
        for why in &drafts.left_out {
            writeln!(stderr(), "{slug}: left out {}", escape::line(why))?;
        }
        self.accepted(slug, drafts.cases).map(Ok)
    }

    /// What the agent answers about a skill with its author, or why that cannot be used.
    pub fn asked<T>(
        &mut self,
        found: &FoundSkill,
        prompt: &str,
        ask: impl FnOnce(&Drafter<'_>, &DraftingPlace<'_>) -> Result<Drafts<T>, Trouble>,
    ) -> CliResultOf<Result<(T, String), Problem>> {
        let slug = &found.skill().slug;
        if interrupt::raised() {
            return Ok(Err("interrupted".into()));
        }
        if let Some(limit) = self.drafter.settings.max_cost_usd {
            if self.spent.cost_incomplete {
                return Ok(Err("the cost limit cannot be held: it is unknown what the agent cost so far".into()));
            }
            if self.spent.cost_usd.unwrap_or_default() >= limit {
                return Ok(Err("the cost limit is reached".into()));
            }
        }
        writeln!(stderr(), "{}", request(&self.drafter, found, prompt))?;
        let folder = store::drafting_folder(&self.repository.root, slug)?;
        let place = DraftingPlace { scratch: &self.scratch, redactors: &self.redactors, folder: &folder };
        let drafts = match ask(&self.drafter, &place) {
            Ok(drafts) => drafts,
            Err(trouble) => return Ok(Err(trouble.into())),
        };
        self.spent = self.spent.and(drafts.spent);
        let time = clock(Duration::from_millis(drafts.duration_ms));
        writeln!(stderr(), "{slug}: answered in {time}; {}, cost {}", tokens(&drafts.spent), cost(&drafts.spent))?;
        let agent = self.drafter.agent.as_str();
        Ok(match drafts.usable {
            Ok(usable) => Ok((usable, drafts.author)),
            Err(why) => Err(format!("{agent}: {why}; see {}", folder.path().display()).into()),
        })
    }

    /// What the answers so far cost.
    pub fn spent(&self) -> AttemptCost {
        self.spent
    }

    fn accepted(&self, slug: &str, drafts: Vec<GeneratedCase>) -> CliResultOf<Vec<GeneratedCase>> {
        let lint = |draft: &GeneratedCase| generate::problems(draft, slug, self.drafter.catalog, self.repository);
        if !self.accepts_all {
            return Ok(review::one_by_one(drafts, &lint, &mut Typed::listen()?, &mut text_stdout())?);
        }
        let count = drafts.len();
        let mut accepted = Vec::new();
        for draft in drafts {
            match lint(&draft).first() {
                None => accepted.push(draft),
                Some(problem) => {
                    let why = format!("{slug}: dropped {}: {}", draft.id, problem.message);
                    writeln!(stderr(), "{}", escape::line(&why))?;
                }
            }
        }
        writeln!(stderr(), "{slug}: {} of {} accepted", accepted.len(), counted(count, "case"))?;
        Ok(accepted)
    }
}
