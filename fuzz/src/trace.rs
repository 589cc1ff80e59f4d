//! Decodes what an agent left, and again what a recording keeps of it.

use std::path::Path;
use std::sync::{LazyLock, Mutex, PoisonError};

use skill_evals_agents::agent;
use skill_evals_evidence::settings::mode::AgentKind;
use skill_evals_evidence::trace::Trace;
use skill_evals_evidence::trace::exposure::{Reference, SkillTexts, TextIndexBuilder};

use super::{folder, parts, write};

static FOLDERS: LazyLock<Mutex<[tempfile::TempDir; 2]>> = LazyLock::new(|| Mutex::new([folder(), folder()]));

static REFERENCE: LazyLock<Reference> = LazyLock::new(|| {
    let mut texts = TextIndexBuilder::default();
    let skill = "---\nname: greeting\ndescription: Greets.\n---\n\nGreet as a sailor would, with a loud Ahoy.\n";
    texts.add("greeting", "SKILL.md", skill.as_bytes());
    texts.add("greeting", "templates/letter.md", b"Dear sailor, the ship leaves the harbor at dawn.\n");
    Reference { texts: SkillTexts::new(vec![texts.build()]), ..Reference::default() }
});

/// Decodes the files of these names, whose contents are parts of `bytes`; a recording of them must decode to the same
/// activations and the same end, and must not hide what is damaged.
pub fn decode<const N: usize>(kind: AgentKind, names: [&str; N], bytes: &[u8]) {
    let agent = agent::of(kind);
    let folders = FOLDERS.lock().unwrap_or_else(PoisonError::into_inner);
    let [left, recorded] = folders.each_ref().map(tempfile::TempDir::path);
    for (name, content) in names.iter().zip(parts::<N>(bytes)) {
        write(&left.join(name), content);
        write(&recorded.join(name), b"");
        for line in content.split(|byte| *byte == b'\n') {
            let _ = agent.describe(line);
        }
    }
    let trace = decoded(kind, left);
    for (name, content) in agent.recorded_evidence(left, &["greeting"]).expect("the files can be read") {
        write(&recorded.join(name), &content);
    }
    let again = decoded(kind, recorded);
    let activations = |trace: &Trace| -> Vec<_> {
        trace.activations.iter().map(|activation| (activation.skill.clone(), activation.how.as_str())).collect()
    };
    assert_eq!(trace.damaged_lines > 0, again.damaged_lines > 0);
    assert_eq!(trace.gap().is_some(), again.gap().is_some(), "{:?} {:?}", trace.gap(), again.gap());
    // A line of an unknown shape outside the conversation may be readable in a recording.
    if trace.gap().is_none() && trace.unknown_events.is_empty() {
        assert_eq!(activations(&trace), activations(&again));
        assert_eq!(trace.progress, again.progress);
        assert_eq!(trace.final_message, again.final_message);
    }
}

fn decoded(kind: AgentKind, folder: &Path) -> Trace {
    agent::of(kind).decode(&REFERENCE, folder).expect("the files can be read")
}
