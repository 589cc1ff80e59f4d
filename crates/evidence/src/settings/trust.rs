//! `--untrusted`: what the settings of a repository may not say if nobody has read them. All else that a repository says runs
//! in a sandbox, which is required then.

use std::ops::Range;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::settings::keys::Untrusted;
use crate::settings::problems::Problems;
use crate::settings::variables::UNTRUSTED_VARIABLE;
use crate::settings::{Isolation, IsolationSettings, KeyRow, Network, Settings, key_rows};
use crate::text::diagnostic::Diagnostic;

/// Whether a repository is believed: its settings may then start programs outside a sandbox, and widen it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Trust {
    #[default]
    Trusted,
    Untrusted,
}

impl Trust {
    /// What the environment says; `None` if it says nothing.
    pub fn of_environment() -> Option<Self> {
        match std::env::var_os(UNTRUSTED_VARIABLE)?.to_string_lossy().trim() {
            "" => None,
            "0" | "false" => Some(Self::Trusted),
            // What is neither is an error of the environment, too.
            _ => Some(Self::Untrusted),
        }
    }

    /// The problems with the text of a settings file.
    pub(super) fn refuses(self, text: &str) -> Vec<Diagnostic> {
        let mut problems = Problems::of(text);
        // The reader of the file reports what is not TOML.
        if let (Self::Untrusted, Ok(table)) = (self, DeTable::parse(text)) {
            for row in key_rows() {
                let (value, effect) = match row.untrusted {
                    Some(Untrusted::Refused(effect)) => (None, effect),
                    Some(Untrusted::RefusedIf(value, effect)) => (Some(value), effect),
                    Some(Untrusted::OfBase) | None => continue,
                };
                for (key, place) in found(table.get_ref(), &row.path(), value) {
                    let message = format!("`{key}` is refused in an untrusted repository: {effect}");
                    let help = "remove it; or read what the repository says, and run this without `--untrusted`";
                    problems.add(place, format!("{message}\n{help}"));
                }
            }
        }
        let mut problems = problems.list.into_vec();
        problems.sort_by_key(|problem| problem.place.line);
        problems
    }

    /// Of the settings of an untrusted repository, only what says where its files are, how they are read and what is masked. What
    /// spends the user's money, or decides what is measured and what fails, is that of `base`.
    pub(super) fn of_file(file: Settings, mut base: Settings) -> Settings {
        base.secret_env.extend(file.secret_env);
        Settings {
            root: file.root,
            skill_roots: file.skill_roots,
            trust_places: file.trust_places,
            own_columns: file.own_columns,
            own_keys: file.own_keys,
            formats: file.formats,
            create: file.create,
            secret_env: base.secret_env,
            // What reaches out of the sandbox was refused in the file, and the base may build or start what the branch has changed.
            harness: file.harness,
            env: file.env,
            pass_env: file.pass_env,
            agents: file.agents,
            mcp: file.mcp,
            mocks: file.mocks,
            isolation: IsolationSettings { image: base.isolation.image, ..file.isolation },
            ..base
        }
    }

    /// Requires a sandbox for what is untrusted. Fails if the environment forbids it.
    pub(super) fn confine(self, settings: &mut Settings) -> Result<(), String> {
        if self == Self::Untrusted {
            if settings.isolation.kind == Isolation::Agent {
                return Err("SKILL_EVALS_ISOLATION is \"agent\"; an untrusted repository needs \"bwrap\"".to_owned());
            }
            settings.untrusted = true;
            settings.isolation.required = true;
            // Containers have no door.
            if settings.isolation.kind == Isolation::Bwrap {
                settings.network.reach.get_or_insert(Network::Provider);
            }
        }
        Ok(())
    }
}

/// The keys in the text of a settings file that do not count, unless those of the base say the same.
pub fn ignored_keys(text: &str, base: Option<&str>) -> Vec<&'static str> {
    let (Ok(own), base) = (toml::from_str::<toml::Table>(text), base.map(toml::from_str::<toml::Table>)) else {
        return Vec::new();
    };
    let base = base.and_then(Result::ok).unwrap_or_default();
    let of_base = key_rows().filter(|row| row.is_of_base()).map(|row| row.key);
    of_base.filter(|key| own.get(*key).is_some_and(|value| base.get(*key) != Some(value))).collect()
}

impl KeyRow {
    fn is_of_base(&self) -> bool {
        matches!(self.untrusted, Some(Untrusted::OfBase))
    }

    /// The names of its tables and its own, `*` for any name.
    fn path(&self) -> String {
        let parts = self.table.trim_matches(['[', ']']).split('.').chain([self.key]).filter(|part| !part.is_empty());
        let parts: Vec<&str> = parts.map(|part| if part.starts_with('<') { "*" } else { part }).collect();
        parts.join(".")
    }
}

/// The keys of a table that a path names, with their places. With a `value`, only those that have it.
fn found(table: &DeTable<'_>, path: &str, value: Option<&str>) -> Vec<(String, Range<usize>)> {
    let (first, rest) = path.split_once('.').map_or((path, None), |(first, rest)| (first, Some(rest)));
    let mut all = Vec::new();
    for (key, entry) in table.iter().filter(|(key, _)| first == "*" || &**key.get_ref() == first) {
        let name = key.get_ref();
        match (rest, entry.get_ref()) {
            (Some(rest), DeValue::Table(inner)) => {
                all.extend(found(inner, rest, value).into_iter().map(|(key, place)| (format!("{name}.{key}"), place)));
            }
            (None, entry) if value.is_none_or(|value| entry.as_str() == Some(value)) => {
                all.push((name.to_string(), Spanned::span(key)));
            }
            _ => {}
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_harmless_keys_of_an_untrusted_repository_count() {
        let counts = key_rows().filter(|row| row.table.is_empty() && row.untrusted.is_none()).map(|row| row.key);
        let mut counts: Vec<&str> = counts.collect();
        counts.sort_unstable();
        // Of `mcp`, the key that starts another server is refused.
        assert_eq!(
            counts,
            [
                "create",
                "formats",
                "mcp",
                "mocks",
                "own_columns",
                "own_keys",
                "require_isolation",
                "require_sandbox",
                "secret_env",
                "skill_roots"
            ]
        );
    }

    #[test]
    fn what_reaches_outside_is_refused_with_its_place_and_other_values_are_not() {
        let text = "harness = 'a'\nisolation = 'agent'\nhome = 'user'\ntrust = ['p']\n[mode.mine]\nargs = []\nagent = 'x'\n\
                    [mcp]\ncommand = 'x'\n[agents.x]\ncommand = 'y'\n";
        let refused = Trust::Untrusted.refuses(text);
        let lines: Vec<String> = refused.iter().map(ToString::to_string).collect();
        let keys = ["harness", "isolation", "home", "trust", "mine.args", "mcp.command", "agents"];
        assert_eq!(refused.len(), keys.len(), "{lines:#?}");
        for (line, key) in lines.iter().zip(keys) {
            assert!(line.contains(&format!("{key}`")), "{line}");
        }
        assert!(lines[4].contains("evals.toml:6:1"), "{lines:#?}");
        assert!(Trust::Trusted.refuses(text).is_empty());
        let harmless = "isolation = 'bwrap'\nhome = 'isolated'\n[mcp]\nwording = 'mild'\n[mode.mine]\nagent = 'x'\n";
        assert!(Trust::Untrusted.refuses(harmless).is_empty());
        assert!(Trust::Untrusted.refuses("not TOML").is_empty());
    }

    #[test]
    fn what_spends_money_or_decides_what_fails_is_that_of_the_base() {
        let settings = |text: &str| {
            let mut settings = Settings::default();
            settings.apply_file(text).expect("valid settings");
            settings
        };
        let branch = "skill_roots = ['s']\nsecret_env = ['B']\ntrials = 500\nthreshold = 0.1\njobs = 99\ntimeout_s = 86400\n\
             retries = 50\nmax_cost_usd = 9999.0\nmax_tokens = 999999999\nmodel = 'dear'\nmodes = ['native']\ntrial_end = 'settled'\n\
             max_turns = 9999\nretry_wait_s = 299\npartial = true\nrequire_recordings = false\ncheck_timeout_s = 900\n\
             [judge]\nvotes = 9\n[gate]\nmax_trials = 9999\nneighbors = 900\nfail_on = ['undecided']\nmax_cost_usd = 999.0\n\
             [prices]\nx = { input = 0.0, output = 0.0 }\n[run]\nlift = true\n[lint]\nallow = [{ rule = 'no-positive', reason = 'x' }]\n";
        let base = "trust = ['.']\nsecret_env = ['A']\ntrials = 3\nmax_cost_usd = 5.0\n[gate]\nmax_trials = 40\n[judge]\nvotes = 3\n";
        let read = Trust::of_file(settings(branch), settings(base));
        let expected = Settings {
            skill_roots: settings(branch).skill_roots,
            secret_env: vec!["A".to_owned(), "B".to_owned()],
            isolation: settings(branch).isolation,
            trust_places: settings(branch).trust_places,
            ..settings(base)
        };
        assert_eq!(format!("{read:?}"), format!("{expected:?}"));
        let ignored = ignored_keys(branch, Some(base));
        assert!(ignored.len() > 15 && !ignored.contains(&"skill_roots"), "{ignored:?}");
        assert!(ignored_keys(base, Some(base)).is_empty());
        assert_eq!(ignored_keys(base, None), ["trials", "max_cost_usd", "judge", "gate"]);
    }
}
