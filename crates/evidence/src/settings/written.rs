//! What to write in evals.toml, by what is there already: a key counts once, and a table has one place.

use crate::settings::FILE;

/// The rules whose problems are warnings, and those whose problems are errors.
const WARNING: &str = "lint.warning";
const ERROR: &str = "lint.error";

/// What evals.toml has.
#[derive(Clone, Debug, Default)]
pub struct WrittenSettings {
    keys: toml::Table,
    /// The tables that are written as `[table]` or `table = {}`: their keys cannot be written at the top.
    tables: Vec<String>,
}

impl WrittenSettings {
    pub(super) fn of(text: &str) -> Self {
        let keys: toml::Table = text.parse().unwrap_or_default();
        let is_dotted = |name: &str| {
            let parts = text.lines().filter_map(|line| line.split_once('.'));
            parts.into_iter().any(|(table, _)| table.trim() == name)
        };
        let tables = keys.iter().filter(|(name, value)| value.is_table() && !is_dotted(name));
        let tables = tables.map(|(name, _)| name.clone()).collect();
        Self { keys, tables }
    }

    /// What to do so that the list at this key, perhaps one of a table, has these texts too.
    pub fn add(&self, key: &str, texts: &[&str]) -> String {
        if self.at(key).is_none() {
            return self.set(key, texts);
        }
        let texts: Vec<String> = texts.iter().map(|text| format!("{text:?}")).collect();
        format!("add {} to `{key}` in {FILE}", texts.join(", "))
    }

    /// What to do so that the list at this key has these texts and no others.
    pub fn set(&self, key: &str, texts: &[&str]) -> String {
        let inner = key.split_once('.').filter(|(table, _)| self.tables.iter().any(|known| known == table));
        match (inner, self.at(key)) {
            (_, Some(_)) => format!("replace `{key}` in {FILE}: {} = {texts:?}", inner.map_or(key, |(_, key)| key)),
            (Some((table, key)), None) => format!("write in [{table}] of {FILE}: {key} = {texts:?}"),
            // Below a table, it would be a key of that table.
            (None, None) => format!("write at the top of {FILE}: {key} = {texts:?}"),
        }
    }

    /// What to do so that problems of these rules are warnings. No rule may be named twice.
    pub fn warn_of(&self, rules: &[&str]) -> String {
        let is_named = |rule: &&str| {
            let listed = self.at(ERROR).and_then(toml::Value::as_array).into_iter().flatten();
            listed.into_iter().any(|entry| entry.get("rule").unwrap_or(entry).as_str() == Some(rule))
        };
        let named: Vec<String> = rules.iter().copied().filter(is_named).map(|rule| format!("`{rule}`")).collect();
        let rest = format!(", and remove {} from `{ERROR}`", named.join(", "));
        self.add(WARNING, rules) + if named.is_empty() { "" } else { &rest }
    }

    fn at(&self, key: &str) -> Option<&toml::Value> {
        match key.split_once('.') {
            Some((table, key)) => self.keys.get(table)?.get(key),
            None => self.keys.get(key),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::Settings;

    /// The file after somebody did what is said of it.
    fn followed(text: &str, said: &str) -> String {
        let (place, new) = said.split_once(": ").unwrap_or((said, ""));
        let key = |line: &str| line.split([' ', '=']).next().unwrap_or_default().to_owned();
        if place.starts_with("write at the top") {
            format!("{new}\n{text}")
        } else if let Some(rest) = place.strip_prefix("write in ") {
            let header = rest.split(' ').next().unwrap_or_default();
            text.replace(header, &format!("{header}\n{new}"))
        } else if place.starts_with("replace") {
            let lines = text.lines().map(|old| if key(old) == key(new) { new } else { old });
            lines.collect::<Vec<_>>().join("\n")
        } else {
            let texts = place.strip_prefix("add ").and_then(|rest| rest.split_once(" to `")).unwrap_or_default();
            let key = texts.1.split('`').next().and_then(|key| key.rsplit('.').next()).unwrap_or_default();
            let line = |old: &str| {
                let is_it = old.split('=').next().is_some_and(|start| start.trim().ends_with(key));
                if is_it { old.replace('[', &format!("[{}, ", texts.0)) } else { old.to_owned() }
            };
            text.lines().map(line).collect::<Vec<_>>().join("\n")
        }
    }

    #[test]
    fn what_somebody_is_told_to_write_fits_into_the_file_that_is_there() {
        let files = [
            "",
            "jobs = 2\n[gate]\nplan = \"quick\"\n",
            "lint.error = [\"long-body\"]\n",
            "[lint]\nerror = [\"long-body\"]\n[gate]\nplan = \"quick\"\n",
            "not_cases = [\"docs\"]\nskill_roots = [\"tools\"]\n[lint]\nwarning = [\"no-cases\"]\n",
            "not_cases = [\"docs\"]\nlint.warning = [\"no-cases\"]\n",
        ];
        for text in files {
            let written = WrittenSettings::of(text);
            let said = [
                written.add("not_cases", &["evals/agents"]),
                written.set("skill_roots", &["skills", "tools"]),
                written.warn_of(&["unknown-skill"]),
            ];
            let new = said.iter().fold(text.to_owned(), |text, said| followed(&text, said));
            let mut settings = Settings::default();
            assert_eq!(settings.apply_file(&new).err(), None, "{new}");
            let table: toml::Table = new.parse().expect("TOML");
            assert!(table["not_cases"].to_string().contains("evals/agents"), "{new}");
            assert_eq!(table["skill_roots"].as_array().map(Vec::len), Some(2), "{new}");
            assert!(table["lint"]["warning"].to_string().contains("unknown-skill"), "{new}");
        }
    }

    #[test]
    fn a_rule_that_is_an_error_by_the_file_is_to_be_removed_there() {
        for text in ["lint.error = [\"long-body\", { rule = \"no-cases\" }]\n", "[lint]\nerror = [\"no-cases\"]\n"] {
            let said = WrittenSettings::of(text).warn_of(&["no-cases", "unknown-skill"]);
            assert!(said.ends_with("and remove `no-cases` from `lint.error`"), "{said}");
        }
    }
}
