//! When the verdict of a trial is settled: every stored trace is cut after every event.

use skill_evals_testing::{files_below, repository};
use std::fs;
use std::path::{Path, PathBuf};
use std::thread;

use skill_evals::run::skill_version::TextReader;
use skill_evals_agents::agent;
use skill_evals_cases::cases::repository::{Layout, Repository, Scope};
use skill_evals_evidence::settings::mode::{AgentKind, Delivery};
use skill_evals_evidence::trace::exposure::Reference;
use skill_evals_evidence::trial::evidence::Meta;
use skill_evals_results::store;

use skill_evals_testing::made::{meta, skill};
use skill_evals_testing::prefixes::{Settled, WholeTrial};

fn root() -> &'static Path {
    repository()
}

/// The directories in which `file` lies, anywhere in `folder`.
fn with_file(folder: &Path, file: &str) -> Vec<PathBuf> {
    let found = files_below(folder).into_iter().filter(|path| path.ends_with(file));
    found.filter_map(|path| Some(path.parent()?.to_path_buf())).collect()
}

#[test]
fn a_settled_verdict_of_a_stored_trace_is_the_verdict_at_its_end() {
    for (kind, name) in [(AgentKind::Codex, "codex"), (AgentKind::ClaudeCli, "claude")] {
        let mut all = Settled::default();
        for folder in with_file(&root().join("tests/fixtures/traces").join(name), "trace.jsonl") {
            let metas = [Delivery::Native, Delivery::Mcp, Delivery::Both].map(|how| meta(kind, how, "greeting"));
            let (metas, skill) = (metas.to_vec(), skill("greeting"));
            let decode = |folder: &Path| agent::of(kind).decode(&Reference::default(), folder).expect("the files");
            let trial = WholeTrial { folder: &folder, metas, skill: &skill, decode: &decode };
            let settled = trial.check_every_prefix();
            all = Settled { passed: all.passed + settled.passed, failed: all.failed + settled.failed };
        }
        assert!(all.passed > 30 && all.failed > 100, "{name}: {all:?}");
    }
}

#[test]
fn a_settled_verdict_of_a_recording_is_the_verdict_at_its_end() {
    let catalog = Repository::new(root().to_path_buf()).catalog(Layout::default(), Scope::All);
    let texts = TextReader::default();
    let settled = |folder: &PathBuf| {
        let meta = fs::read(folder.join("meta.json")).expect("facts");
        let meta: Meta = serde_json::from_slice(&meta).expect("facts");
        let stored = store::recording(root(), &meta.id());
        let reference = texts.reference(root(), &catalog, &meta, &stored);
        let skill = catalog.skill(&meta.skill.slug).expect("the skill").skill();
        let agent = agent::of(meta.agent.kind);
        let decode = |folder: &Path| agent.decode(&reference, folder).expect("the files");
        WholeTrial { folder, metas: vec![meta], skill, decode: &decode }.check_every_prefix()
    };
    // The slowest test of its suite, and the last to start.
    let folders = with_file(&root().join("evals/recordings"), "meta.json");
    let parts: Vec<Vec<Settled>> = thread::scope(|scope| {
        let part = |part: &'_ [PathBuf]| part.iter().map(&settled).collect::<Vec<_>>();
        let running: Vec<_> =
            folders.chunks(folders.len().div_ceil(4)).map(|folders| scope.spawn(move || part(folders))).collect();
        running.into_iter().map(|part| part.join().expect("every verdict holds")).collect()
    });
    let all = parts.concat();
    let sum = |of: fn(&Settled) -> usize| all.iter().map(of).sum::<usize>();
    let (passed, failed) = (sum(|settled| settled.passed), sum(|settled| settled.failed));
    assert!(passed > 1_000 && failed > 1_000, "{passed} {failed}");
}
