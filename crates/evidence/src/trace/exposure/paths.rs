//! The paths in a call, by their components.

use crate::profile::{self, Profile};
use crate::skill::SKILL_FILE;

/// The name of every directory of skills.
const SKILLS: &str = "skills";

/// The paths in a call, each as a list of components.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Paths(Vec<Vec<String>>);

impl Paths {
    /// The paths in a command, or in the input of another call. They must be relative to a trial's own directories, whose
    /// names mean nothing.
    pub fn of(call: &str) -> Self {
        let ends = |c: char| c.is_whitespace() || "'\"`;|&()<>,=:\\".contains(c);
        let mut paths = Vec::new();
        let mut rest = call;
        while !rest.is_empty() {
            let end = rest.find(ends).unwrap_or(rest.len());
            let word = &rest[..end];
            let parts = components(word);
            if word.contains('/') || ends_in_skills(&parts) {
                paths.push(parts);
            }
            rest = match rest[end..].strip_prefix('\\') {
                // `\n` in JSON
                Some(escaped) => escaped.strip_prefix(['n', 't', 'r']).unwrap_or(escaped),
                None => rest[end..].strip_prefix(ends).unwrap_or_default(),
            };
        }
        Self(paths)
    }

    /// For each directory `skills`: the skill's directory in it and the path in that, which may be empty.
    pub fn below_skills(&self) -> impl Iterator<Item = (&str, String)> {
        self.tails(|parts| match parts {
            // codex has its own skills one level deeper.
            [skills, system, skill, rest @ ..] if skills == SKILLS && system == ".system" => Some((skill, rest)),
            [skills, skill, rest @ ..] if skills == SKILLS => Some((skill, rest)),
            _ => None,
        })
        .filter(|(skill, _)| !skill.contains(['*', '?', '[', '{', '$']) && *skill != SKILL_FILE)
    }

    /// Each component, which may be a skill's directory, with the path in it.
    pub fn below_any(&self) -> impl Iterator<Item = (&str, String)> {
        self.tails(|parts| parts.split_first()).filter(|(_, path)| !path.is_empty())
    }

    /// Whether a path leads to skills, even if it names none.
    pub fn are_about_skills(&self) -> bool {
        self.0.iter().any(|parts| ends_in_skills(parts) || parts.iter().any(|part| part == SKILLS))
    }

    fn tails<'p>(
        &'p self,
        split: impl Fn(&'p [String]) -> Option<(&'p String, &'p [String])> + Copy + 'p,
    ) -> impl Iterator<Item = (&'p str, String)> {
        let tails = self.0.iter().flat_map(|parts| (0..parts.len()).map(|from| &parts[from..]));
        tails.filter_map(split).map(|(skill, rest)| (skill.as_str(), rest.join("/")))
    }
}

/// Whether the last component is a SKILL.md or an agent's own directory, which has skills.
fn ends_in_skills(parts: &[String]) -> bool {
    parts.last().is_some_and(|last| last == SKILL_FILE || profile::of_all(Profile::folders).any(|name| name == last))
}

fn components(path: &str) -> Vec<String> {
    let mut parts: Vec<String> = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => _ = parts.pop(),
            part => parts.push(part.to_owned()),
        }
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::Paths;

    fn below(call: &str) -> Vec<(String, String)> {
        Paths::of(call).below_skills().map(|(skill, path)| (skill.to_owned(), path)).collect()
    }

    #[test]
    fn a_skill_is_named_by_components_and_by_nothing_else() {
        for (call, skill, path) in [
            ("cat .agents/skills/a/SKILL.md", "a", "SKILL.md"),
            ("S=.agents/skills/a; cat $S/x", "a", ""),
            ("cd '.agents/skills/a' && cat x/*", "a", ""),
            ("git show HEAD:skills/a/b/c.md", "a", "b/c.md"),
            ("{\"cmd\":\"x\\ncat /w/skills/./b/../a//b.md\\n\"}", "a", "b.md"),
            ("cat ~/.codex/skills/.system/a/SKILL.md", "a", "SKILL.md"),
        ] {
            assert_eq!(below(call), [(skill.to_owned(), path.to_owned())], "{call}");
        }
        for call in ["cat skills.md", "ls my-skills/a", "cat skills/*/SKILL.md", "cat skills/a/../*/SKILL.md", "", "\\"]
        {
            assert_eq!(below(call), [], "{call}");
        }
    }

    #[test]
    fn a_call_may_be_about_skills_and_name_none() {
        for call in ["ls .agents", "find . -name SKILL.md", "cat .agents/skills/*/SKILL.md", "ls x/skills/"] {
            assert!(Paths::of(call).are_about_skills(), "{call}");
        }
        for call in ["ls", "cat docs/skills.md", "echo skills", "ls /tmp/skill-evals/a"] {
            assert!(!Paths::of(call).are_about_skills(), "{call}");
        }
    }
}
