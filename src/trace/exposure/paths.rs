//! The paths in a call, by their components.

use crate::profile::{self, Profile};
use crate::skill::SKILL_FILE;

/// The directory that agents find skills in, whatever it lies in.
const SKILLS: &str = "skills";

/// The paths in a call, each as its components.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Paths(Vec<Vec<String>>);

impl Paths {
    /// The paths in a command, or in another call's input. They must be relative to a trial's own directories: what those
    /// are called says nothing.
    #[must_use]
    pub fn of(call: &str) -> Self {
        let ends = |c: char| c.is_whitespace() || "'\"`;|&()<>,=:\\".contains(c);
        let mut paths = Vec::new();
        let mut rest = call;
        while !rest.is_empty() {
            let end = rest.find(ends).unwrap_or(rest.len());
            let word = &rest[..end];
            paths.extend(Some(components(word)).filter(|parts| word.contains('/') || is_alone(parts)));
            let escapes = rest[end..].starts_with('\\');
            rest = rest.get(end..).map_or("", |rest| rest.strip_prefix(ends).unwrap_or(rest));
            if escapes {
                rest = rest.strip_prefix(['n', 't', 'r']).unwrap_or(rest);
            }
        }
        Self(paths)
    }

    /// What lies below directories called `skills`: the skill's directory and the path below it, which may be empty.
    pub fn below_skills(&self) -> impl Iterator<Item = (&str, String)> {
        self.tails(|parts| match parts {
            // codex keeps skills of its own one level deeper.
            [skills, system, skill, rest @ ..] if skills == SKILLS && system == ".system" => Some((skill, rest)),
            [skills, skill, rest @ ..] if skills == SKILLS => Some((skill, rest)),
            _ => None,
        })
        .filter(|(skill, _)| !skill.contains(['*', '?', '[', '{', '$']) && *skill != SKILL_FILE)
    }

    /// Each component as what may be a skill's directory, with the path below it.
    pub fn below_any(&self) -> impl Iterator<Item = (&str, String)> {
        self.tails(|parts| parts.split_first()).filter(|(_, path)| !path.is_empty())
    }

    /// Whether it is about skills, though it may be about none by name.
    #[must_use]
    pub fn are_about_skills(&self) -> bool {
        let of_skills = |parts: &[String]| parts.first().is_some_and(|first| first == SKILLS);
        self.0.iter().any(|parts| is_alone(parts) || (0..parts.len()).any(|from| of_skills(&parts[from..])))
    }

    fn tails<'p>(
        &'p self,
        known: impl Fn(&'p [String]) -> Option<(&'p String, &'p [String])> + Copy + 'p,
    ) -> impl Iterator<Item = (&'p str, String)> {
        let tails = self.0.iter().flat_map(|parts| (0..parts.len()).map(|from| &parts[from..]));
        tails.filter_map(known).map(|(skill, rest)| (skill.as_str(), rest.join("/")))
    }
}

/// Whether a path is about skills by its last component alone.
fn is_alone(parts: &[String]) -> bool {
    // Agents' own directories hold skills.
    let is_home = |name: &str| profile::of_all(Profile::folders).any(|folder| folder == name);
    parts.last().is_some_and(|last| last == SKILL_FILE || is_home(last))
}

fn components(path: &str) -> Vec<String> {
    let mut parts: Vec<String> = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." if parts.last().is_some_and(|last| last != "..") => _ = parts.pop(),
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
