//! `evals/tasks/<name>.json`: one case a file.
//!
//! ```json
//! { "prompt": "…", "systemPrompt": "…",
//!   "evalConfig": { "expectedSkillName": "greeting", "expectedOutput": "…",
//!                   "expectedOutputPattern": "…", "expectResourceLoad": true,
//!                   "expectDescribed": true, "trials": 5, "threshold": 0.8,
//!                   "timeoutS": 60, "maxTurns": 10, "during": [ … ] } }
//! ```
//!
//! A task file can have every field of a case ([`fields`]), in camel case. A key that is `null` counts as absent. The name of
//! the file is the id of the case.
//!
//! With `skill` instead of `expectedSkillName`, the skill under test is named and not expected: without `shouldTrigger`,
//! triggering is not checked. Then the mode and the rule of activation are by default those of all other formats.

use std::path::Path;

use crate::cases::case::document::{Document, Syntax};
use crate::cases::case::fields::{self, CaseDraft, CaseField};
use crate::cases::case::{Case, CaseFormat, FileCases, Files, FoundCase, ReadCase};
use crate::cases::case_places::CasePlaces;
use crate::profile::DEFAULT_MODE;
use crate::settings::ActivationRule;
use crate::skill::slug;
use crate::text::diagnostic::{Code, Diagnostic, SourceLocation};
use crate::text::name;

/// By default, tasks run under the Agent SDK with our MCP server: the format was made for it.
pub static FORMAT: CaseFormat = format("mcp");

/// The same for a task with `skill`.
pub static NEUTRAL: CaseFormat = format(DEFAULT_MODE);

const fn format(default_mode: &'static str) -> CaseFormat {
    CaseFormat {
        name: "task",
        default_mode,
        files: Some(Files {
            path: "evals/tasks/<case>.json",
            endings: &[".json", ".yaml", ".yml", ".toml"],
            marks: &[CONFIG],
            parse: |file, bytes, _| {
                let case = parse(&file.root, &file.path, &bytes);
                let skill = case.as_ref().ok().map(|case| case.skill.clone()).or_else(|| skill_named(&bytes));
                let neutral = default_activation(true);
                let is_neutral = case.as_ref().is_ok_and(|case| case.default_activation == neutral);
                let format = if is_neutral { &NEUTRAL } else { &FORMAT };
                let task = ReadCase::new(format, case);
                let found = FoundCase::new(file.name.clone(), skill.unwrap_or_default(), file.path.clone(), 1, task);
                FileCases { cases: vec![found], ..FileCases::default() }
            },
            place: place_of,
        }),
        foreign: None,
    }
}

/// The keys at the root; all others are in `evalConfig`. Editors read `$schema`.
pub(in crate::cases) const ROOT: [&str; 4] = ["$schema", "prompt", "systemPrompt", CONFIG];

/// The key of what is expected.
pub(in crate::cases) const CONFIG: &str = "evalConfig";

/// The path of the object at that key.
const PREFIX: &str = "evalConfig.";

/// The keys of the skill under test: one that is expected to activate, and one of which nothing is expected.
pub(super) const SKILL: [&str; 2] = ["expectedSkillName", "skill"];

/// The case in `bytes`, the content of `path` in the repository at `root`, or every problem of the file.
pub fn parse(root: &Path, path: &Path, bytes: &[u8]) -> Result<Case, Vec<Diagnostic>> {
    let mut file = document(path, bytes);
    match read(root, &mut file) {
        Some(case) if file.problems.is_empty() => Ok(case),
        _ => Err(file.problems.into_vec()),
    }
}

/// The place of a field's value in a task file that parses. The field's name may be that of any format.
pub fn place_of(path: &Path, bytes: &[u8], key: &str) -> Option<SourceLocation> {
    let key = fields::named(key).map_or(key, |field| field.key);
    let mut file = document(path, bytes);
    let root = file.root()?;
    let entry = root.entry(key).or_else(|| root.get(CONFIG)?.entry(key))?;
    Some(file.place(entry.value.range.clone()))
}

/// The slug of the skill that a task file names, whatever else is wrong with the file.
fn skill_named(bytes: &[u8]) -> Option<String> {
    let root = document(Path::new(""), bytes).root()?;
    let config = root.get(CONFIG)?;
    Some(slug(SKILL.iter().find_map(|key| config.get(key))?.text()?))
}

fn document<'a>(path: &'a Path, bytes: &'a [u8]) -> Document<'a> {
    Document::new(path, bytes, Syntax::Json)
}

/// What counts as an activation by default in a task that names its skill with `skill`, or not.
pub(super) fn default_activation(is_neutral: bool) -> ActivationRule {
    if is_neutral { ActivationRule::default() } else { ActivationRule::Tool }
}

fn read(repository: &Path, file: &mut Document<'_>) -> Option<Case> {
    let root = file.root()?;
    if !root.is_map() {
        file.wrong_type("the file", "an object", &root);
        return None;
    }
    file.duplicate_keys(&root, &[]);
    file.unknown_keys(&root, &ROOT);
    file.required(&root, CONFIG)?;
    let config = file.map(&root, CONFIG)?;
    let in_config = fields::all().map(|field| field.field().key).filter(|key| !ROOT.contains(key));
    file.unknown_keys(config, &SKILL.into_iter().chain(in_config).collect::<Vec<_>>());
    let [expected, neutral] = SKILL.map(|key| config.entry(key).filter(|_| config.get(key).is_some()));
    if let (Some(_), Some(second)) = (expected, neutral) {
        let message = format!("`{PREFIX}{}` and `{PREFIX}{}` both name the skill", SKILL[0], SKILL[1]);
        file.problem_with_help(Code::UnknownKey, second.key_range.clone(), message, "remove one of the two");
    }
    let is_neutral = expected.is_none() && neutral.is_some();
    let skill = file.required_text(config, &[PREFIX, SKILL[usize::from(is_neutral)]].concat());
    let origin = file.place(root.entry("prompt").map_or(0..0, |entry| entry.key_range.clone()));
    file.required_text(&root, "prompt");
    let mut draft = CaseDraft::new(&slug(skill?), id(file), origin);
    file.places = Some(CasePlaces::of(repository, file.path, &draft.case.skill));
    draft.case.default_activation = default_activation(is_neutral);
    if is_neutral {
        draft.should_trigger(None);
    }
    for field in fields::all() {
        let key = field.field().key;
        let (object, prefix) = if ROOT.contains(&key) { (&root, "") } else { (config, PREFIX) };
        let Some(entry) = object.entry(key).filter(|_| object.get(key).is_some()) else { continue };
        let name = [prefix, key].concat();
        if let CaseField::List(list) = field {
            (list.read)(file, &name, &entry.value, &mut draft.case);
            continue;
        }
        let line = file.line_of(entry.key_range.start);
        for value in file.field_values(&name, field.field().form, &entry.value) {
            draft.set(field, key, line, value);
        }
    }
    Some(draft.finish())
}

/// The name of the file.
fn id(file: &mut Document<'_>) -> String {
    let id = file.path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
    if let Err(why) = name::check_case_id(&id) {
        file.problems.push(name::id_problem(&id, &why, SourceLocation::file(file.path)));
    }
    id
}
