//! Tries other descriptions of a skill: which of its cases choose one and which decide, the skills with a candidate, and what comes
//! of comparing these with the current ones.

use std::fs;
use std::path::{Path, PathBuf};

use super::compare::{self, ComparisonRequest, MeasuredComparison, PreparedComparison};
use super::{Engine, Loaded};
use crate::cases::case::FoundCase;
use crate::cases::catalog::{Catalog, FoundSkill};
use crate::cases::skill_material::skill_material;
use crate::decide::plan::ComparePlan;
use crate::decide::result::CompareResult;
use crate::decide::{MARGIN, Rule};
use crate::files::{inside, look};
use crate::lint::{self, LONGEST_DESCRIPTION, calls_skill};
use crate::process::git;
use crate::settings::mode::AgentKind;
use crate::settings::{FILE, Stop};
use crate::skill::{SKILL_FILE, SkillFile};
use crate::store::{Proposal, UnfinishedTune};
use crate::text::diagnostic::Diagnostic;
use crate::text::escape;
use crate::text::problem::{About, Problem};
use crate::trial::evidence::digest;
use crate::trial::run_record::RunChoices;

/// Maximum number of neighbors whose cases are compared too.
const NEIGHBORS: usize = 3;

/// Maximum number of cases of each of them.
const CASES_OF_NEIGHBOR: usize = 3;

/// About this many characters are a token.
const TOKEN: usize = 4;

/// A description to compare with the current one.
#[derive(Clone, Debug)]
pub struct ProposedDescription {
    pub label: String,
    pub description: String,
    /// SKILL.md with it.
    text: Vec<u8>,
}

/// Comparisons of candidates with the current description of a skill, within one budget.
pub struct Tuning<'a> {
    engine: &'a Engine<'a>,
    pub loaded: &'a Loaded,
    pub found: &'a FoundSkill,
    /// The mode in which cases run, unless they choose it.
    mode: Option<String>,
    budget: TuneBudget,
}

/// What may be spent, and what has been paid for.
struct TuneBudget {
    /// What is left in dollars; `None` without a limit.
    usd: Option<f64>,
    /// Whose cost is unknown.
    unknown: Option<String>,
    /// By this start and by earlier ones that gave no answer.
    paid: UnfinishedTune,
}

/// What the cases that decide say of a candidate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TuneResult {
    Better,
    /// It broke a case, or is worse.
    Harm,
    NotShown,
    NotMeasured,
}

impl<'a> Tuning<'a> {
    /// # Errors
    ///
    /// If what an earlier start paid for cannot be read.
    pub fn of(
        engine: &'a Engine<'a>,
        loaded: &'a Loaded,
        found: &'a FoundSkill,
        mode: Option<String>,
    ) -> Result<Self, Problem> {
        let paid = UnfinishedTune::of(&loaded.repository.root, &found.skill().slug)?;
        let budget = TuneBudget { usd: loaded.settings.max_cost_usd, unknown: None, paid };
        Ok(Self { engine, loaded, found, mode, budget })
    }

    /// The description as a candidate, or why it is none.
    ///
    /// # Errors
    ///
    /// If no agent would show it whole, or it cannot be written.
    pub fn candidate(&self, label: String, text: &str) -> Result<ProposedDescription, Problem> {
        let description = description(text)?;
        let text = with_description(self.found, &description)?;
        Ok(ProposedDescription { label, description, text })
    }

    /// What the agent proposed for the same request in an earlier start that gave no answer.
    pub fn earlier_proposal(&self, asked: &str) -> Option<Proposal> {
        self.budget.paid.proposal(asked)
    }

    /// Notes what was paid for. A start that gives no answer leaves it to the next one.
    ///
    /// # Errors
    ///
    /// If it cannot be written.
    pub fn note_proposal(&mut self, proposal: Proposal) -> Result<(), Problem> {
        Ok(self.budget.paid.propose(proposal)?)
    }

    /// Takes what a proposal cost from the budget.
    pub fn pay(&mut self, cost_usd: Option<f64>, whose: &str) {
        self.budget.take(cost_usd, whose);
    }

    /// The comparison of a candidate with the current description. One that does not exist yet is as the current one.
    ///
    /// # Errors
    ///
    /// If the budget is used up, or the candidate cannot be stored.
    pub fn request(
        &self,
        candidate: Option<&ProposedDescription>,
        cases: Vec<String>,
        most: u64,
    ) -> Result<ComparisonRequest, Problem> {
        self.budget.check()?;
        let Loaded { repository, catalog, .. } = self.loaded;
        let side = match candidate {
            Some(ProposedDescription { label, text, .. }) => {
                compare::at_commit(store(&repository.root, catalog, self.found, text)?, label.clone())
            }
            None => compare::repeated("a candidate"),
        };
        let rule = Rule { margin: Some(MARGIN), ..Rule::default() };
        let sides = compare::sides(compare::working_tree(), side, &rule, ComparePlan::Standard);
        let modes = self.mode.iter().cloned().collect();
        Ok(ComparisonRequest {
            chosen: RunChoices { modes, ..RunChoices::of_cases(cases) },
            max_trials: Some(most),
            ended: self.budget.paid.runs().to_vec(),
            max_cost_usd: self.budget.usd,
            stop: Stop::Settled,
            remedy: "raise --max-trials, or write more cases",
            ..ComparisonRequest::about(sides)
        })
    }

    /// Compares the skills with a candidate with those of the working tree.
    ///
    /// # Errors
    ///
    /// If it cannot begin, or what it measured not be read.
    pub fn compare(
        &mut self,
        candidate: &ProposedDescription,
        cases: Vec<String>,
        most: u64,
    ) -> Result<MeasuredComparison, Problem> {
        let request = self.request(Some(candidate), cases, most)?;
        let measured = match self.engine.prepare(self.loaded.clone(), request)? {
            PreparedComparison::Unchanged(unchanged) => Some(unchanged.answer()),
            PreparedComparison::Ready(ready) => self.engine.compare(*ready)?,
            PreparedComparison::NoCase(..) => None,
        };
        let measured = measured.ok_or("a comparison of tune runs here, and in one part")?;
        let run = measured.folder.as_ref().filter(|_| measured.ended_early.is_none()).and_then(|path| path.file_name());
        if let Some(run) = run {
            self.budget.paid.compared(&run.to_string_lossy())?;
        }
        self.budget.take(measured.cost_usd, &format!("the comparison with {}", candidate.label));
        Ok(measured)
    }

    /// The candidate that surely gained most in these cases, of which each comparison is `told`. `None` if nothing was measured,
    /// or if one ended early.
    ///
    /// # Errors
    ///
    /// If a comparison cannot run.
    pub fn best<'c>(
        &mut self,
        candidates: &'c [ProposedDescription],
        training: &[String],
        most: u64,
        told: &mut dyn FnMut(&ProposedDescription, &MeasuredComparison),
    ) -> Result<Option<&'c ProposedDescription>, Problem> {
        let mut best: Option<(f64, &ProposedDescription)> = None;
        for candidate in candidates {
            let measured = self.compare(candidate, training.to_vec(), most / candidates.len() as u64)?;
            told(candidate, &measured);
            if measured.ended_early.is_some() {
                return Ok(None);
            }
            let surely = measured.compared.comparison.difference.map(|found| found.interval.low);
            if let Some(gain) = surely.filter(|gain| best.is_none_or(|(most, _)| *gain > most)) {
                best = Some((gain, candidate));
            }
        }
        Ok(best.map(|(_, candidate)| candidate))
    }

    /// What the cases that decide say, `whole` if none of their trials is missing.
    pub fn decide(measured: &MeasuredComparison, whole: bool) -> TuneResult {
        let results = &measured.compared.comparison.results;
        let has = |wanted: &[CompareResult]| results.iter().any(|result| wanted.contains(result));
        if has(&[CompareResult::NothingMeasured]) {
            TuneResult::NotMeasured
        } else if has(&CompareResult::HARM) {
            TuneResult::Harm
        } else if has(&[CompareResult::Better]) && whole {
            TuneResult::Better
        } else {
            TuneResult::NotShown
        }
    }

    /// How many answers these cases have decided before.
    pub fn decided(&self, held_out: &[String]) -> u32 {
        self.budget.paid.decided(held_out)
    }

    /// Forgets what was paid for, since it has its answer, which these cases decided.
    ///
    /// # Errors
    ///
    /// If that cannot be written.
    pub fn answered(self, held_out: &[String]) -> Result<(), Problem> {
        Ok(self.budget.paid.answered(held_out)?)
    }

    /// Writes a candidate into SKILL.md. Refuses if that changed meanwhile.
    ///
    /// # Errors
    ///
    /// If it is not written.
    pub fn apply(&self, candidate: &ProposedDescription) -> Result<(), Problem> {
        let root = &self.loaded.repository.root;
        let path = self.found.skill().folder.join(SKILL_FILE);
        if !inside::read(root, &path).is_ok_and(|now| now == self.found.bytes) {
            let shown = escape::line(&path.display().to_string());
            return Err(format!("{shown} changed meanwhile: not written").into());
        }
        Ok(inside::write(root, &path, &candidate.text)?)
    }
}

impl TuneBudget {
    fn take(&mut self, cost: Option<f64>, whose: &str) {
        match cost {
            Some(cost) => self.usd = self.usd.map(|left| left - cost),
            None => self.unknown = Some(whose.to_owned()),
        }
    }

    /// Refuses to spend more than the limit.
    fn check(&self) -> Result<(), Problem> {
        match (self.usd, &self.unknown) {
            (Some(_), Some(whose)) => Err(format!(
                "the cost limit cannot be held: it is unknown what {whose} cost; give a price in evals/evals.toml, \
                 or limit tokens with --max-tokens"
            )
            .into()),
            (Some(left), None) if left <= 0.0 => Err("the cost limit is reached".into()),
            _ => Ok(()),
        }
    }
}

/// The cases that depend on a skill's description, as `skill/id`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SplitCases {
    /// Only they choose among candidates.
    pub training: Vec<String>,
    /// Only they decide.
    pub held_out: Vec<String>,
    /// Cases of the nearest skills, which may lose. They run with those that decide.
    pub neighbors: Vec<String>,
}

/// Splits the cases of a skill. A digest of a case's name says where it belongs, so it stays there when others are added.
/// Fails if one part lacks a case in which the skill should activate, and proposes that the `drafter` write some.
pub fn split(catalog: &Catalog, found: &FoundSkill, drafter: Option<AgentKind>) -> Result<SplitCases, Problem> {
    let skill = found.skill();
    let mut split = SplitCases::default();
    let mut positive = [0, 0];
    for case in catalog.cases_of(&skill.slug).filter(|case| is_choice(catalog, case)) {
        let name = format!("{}/{}", skill.slug, case.id);
        // Whether the first byte of the digest is even.
        let is_training =
            matches!(digest(name.as_bytes()).as_bytes()[1], b'0' | b'2' | b'4' | b'6' | b'8' | b'a' | b'c' | b'e');
        positive[usize::from(is_training)] += usize::from(case.should_trigger() == Some(true));
        if is_training { split.training.push(name) } else { split.held_out.push(name) }
    }
    let [held_out, training] = positive;
    if held_out == 0 || training == 0 {
        let draft = drafter.map(|agent| {
            format!(", or have some drafted: skill-evals generate --agent {} --skill {}", agent.as_str(), skill.slug)
        });
        return Err(format!(
            "`{}` has {training} positive cases to choose a description by and {held_out} to decide by, and needs one of each: \
             write more that do not call the skill{}",
            skill.slug,
            draft.unwrap_or_default()
        )
        .into());
    }
    for slug in lint::nearest_skills(catalog, &skill.slug, NEIGHBORS) {
        let own = catalog.cases_of(slug).filter(|case| is_choice(catalog, case) && case.should_trigger() == Some(true));
        split.neighbors.extend(own.take(CASES_OF_NEIGHBOR).map(|case| format!("{slug}/{}", case.id)));
    }
    Ok(split)
}

/// Whether the model chooses by the descriptions in this case.
fn is_choice(catalog: &Catalog, found: &FoundCase) -> bool {
    let skill = catalog.skill(&found.skill).map(FoundSkill::skill);
    match (found.case(), skill) {
        (Ok(case), Some(skill)) => !calls_skill(&case.prompt, skill) && case.during.is_empty(),
        _ => false,
    }
}

pub fn tokens(text: &str) -> usize {
    text.chars().count().div_ceil(TOKEN)
}

/// A description on one line. Fails if no agent would show it whole.
pub fn description(text: &str) -> Result<String, Problem> {
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let length = text.chars().count();
    if text.is_empty() {
        Err("it is empty".into())
    } else if length > LONGEST_DESCRIPTION {
        Err(format!("it has {length} characters; at most {LONGEST_DESCRIPTION}").into())
    } else if text.chars().any(char::is_control) {
        Err("it has control characters".into())
    } else {
        Ok(text)
    }
}

/// The skill's SKILL.md with another description, and no other change.
fn with_description(found: &FoundSkill, description: &str) -> Result<Vec<u8>, Problem> {
    let why = || format!("cannot replace the description in {}: edit it by hand", found.skill().folder.display());
    let text = std::str::from_utf8(&found.bytes).map_err(|_| why())?;
    let entry = found.file.entries.iter().find(|entry| entry.key == "description").ok_or_else(why)?;
    let rest = text.get(entry.key_range.start..).ok_or_else(why)?;
    // Lines that are indented or empty belong to the value.
    let mut length = 0;
    for (number, line) in rest.split_inclusive('\n').enumerate() {
        if number > 0 && !line.starts_with([' ', '\t', '\n', '\r']) {
            break;
        }
        length += line.len();
    }
    // A JSON string is a YAML string.
    let quoted = serde_json::to_string(description)?;
    let (before, after) = (&text[..entry.key_range.start], &rest[length..]);
    let is_same = |new: &String| {
        let read = SkillFile::parse(&found.skill().folder, new.as_bytes());
        let keys = |file: &SkillFile| file.entries.iter().map(|entry| entry.key.clone()).collect::<Vec<_>>();
        let same_body = new.get(read.body.clone()) == text.get(found.file.body.clone());
        let is_clean = !read.problems.iter().any(Diagnostic::is_error);
        read.skill.description == description && keys(&read) == keys(&found.file) && same_body && is_clean
    };
    let values = [Some(description).filter(|text| is_plain_yaml(text)), Some(quoted.as_str())];
    let written = values.into_iter().flatten().map(|value| format!("{before}description: {value}\n{after}"));
    let mut written = written;
    written.find(is_same).map(String::into_bytes).ok_or_else(|| why().into())
}

/// Whether every YAML parser reads this text as itself, without quotes.
fn is_plain_yaml(text: &str) -> bool {
    let is_safe = !text.ends_with(':') && ![": ", " #"].iter().any(|sign| text.contains(sign));
    // A single word may be a number, a date, or true.
    is_safe && text.starts_with(char::is_alphabetic) && text.contains(' ')
}

/// Stores the skills of the working tree, with another SKILL.md for one of them, as a commit that no branch has. Returns its
/// hash.
fn store(root: &Path, catalog: &Catalog, changed: &FoundSkill, text: &[u8]) -> Result<String, Problem> {
    let changed_file = tempfile::NamedTempFile::new()?;
    fs::write(changed_file.path(), text)?;
    let mut files = Vec::new();
    if look::is_file(&root.join(FILE))? {
        files.push((PathBuf::from(FILE), root.join(FILE), false));
    }
    for found in &catalog.skills {
        let folder = &found.skill().folder;
        if folder.as_os_str().is_empty() {
            return Err("the repository itself is a skill: put it into a directory of skills first".into());
        }
        let material = skill_material(&root.join(folder)).whole();
        let material = material.about(format_args!("the skill in {}", folder.display()))?;
        for file in &material.files {
            let path = folder.join(&file.path);
            let is_changed = std::ptr::eq(found, changed) && file.path == Path::new(SKILL_FILE);
            let content = if is_changed { changed_file.path().to_path_buf() } else { root.join(&path) };
            files.push((path, content, file.executable));
        }
    }
    git::store(root, &files).about("the candidate could not be stored in git")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_that_yaml_may_read_as_something_else_gets_quotes() {
        assert!(is_plain_yaml("Tidies a directory; a better text."));
        for other in
            ["Sorts files: by date", "[x] y", "- x y", "*x y", "x y:", "x #1", "\"x\" y", "yes", "1 file", "& b"]
        {
            assert!(!is_plain_yaml(other), "{other}");
        }
    }
}
