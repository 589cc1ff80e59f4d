//! Real programs: agents against a model on loopback, a browser, cargo-nextest, rust-analyzer. Where one is missing, its
//! tests are ignored with the reason.

mod calibration;
mod chat;
mod ci_files;
mod claude;
mod claude_sdk;
mod cline;
mod codex;
mod compare_agents;
mod conformance;
mod custom_agents;
mod droid;
mod exports;
mod fault_matrix;
mod first_week;
mod follow_ups;
mod forged;
mod gate_agents;
mod generate;
mod history;
mod ide;
mod isolation;
mod judge_claude;
mod judge_codex;
mod kimi;
mod list_changed;
mod mocks;
mod network;
mod nextest;
mod opencode;
mod plugin;
mod plugins;
mod reach;
mod real_model;
mod replay_model;
mod report_page;
mod repository_cases;
#[path = "../record/script.rs"]
mod script;
mod sessions;
mod settled;
mod skill_servers;
#[path = "../support/mod.rs"]
mod support;
mod user;
mod user_home;
mod users_setup;
mod vibe;

use std::process::ExitCode;

use libtest_mimic::Arguments;

fn main() -> ExitCode {
    let mut args = Arguments::from_args();
    // Programs wait more than they work; more at once than this and their own timeouts grow tight.
    args.test_threads = Some(args.test_threads.unwrap_or(3));
    let modules = [
        // First, since it has a crate built.
        ide::trials,
        calibration::trials,
        chat::trials,
        ci_files::trials,
        claude::trials,
        claude_sdk::trials,
        cline::trials,
        vibe::trials,
        codex::trials,
        compare_agents::trials,
        conformance::trials,
        custom_agents::trials,
        droid::trials,
        exports::trials,
        fault_matrix::trials,
        first_week::trials,
        follow_ups::trials,
        forged::trials,
        gate_agents::trials,
        generate::trials,
        history::trials,
        isolation::trials,
        judge_claude::trials,
        judge_codex::trials,
        kimi::trials,
        list_changed::trials,
        mocks::trials,
        network::trials,
        nextest::trials,
        opencode::trials,
        plugin::trials,
        plugins::trials,
        reach::trials,
        real_model::trials,
        replay_model::trials,
        report_page::trials,
        repository_cases::trials,
        sessions::trials,
        settled::trials,
        skill_servers::trials,
        user::trials,
        user_home::trials,
        users_setup::trials,
    ];
    let all = modules.into_iter().flat_map(|trials| trials()).collect();
    let trials = std::iter::once(conformance::of_all_agents()).chain(support::real::in_turn(all));
    libtest_mimic::run(&args, trials.collect()).exit_code()
}
