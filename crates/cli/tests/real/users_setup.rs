//! What of a user's configuration reaches a trial: the provider and its credentials, masked in all that is kept. Limits of the
//! user's do not.

use std::fs;

use serde_json::{Value, json};
use skill_evals_evidence::trial::outcome::Verdict;

use crate::support::live::Live;
use crate::support::stand_in::{MODEL, QWEN_KEY, Request, Turn};
use crate::tests;

/// Credentials under keys and variables whose names do not all say so.
const SECRETS: [&str; 9] = [
    "quartz-variable-1",
    "quartz-header-2",
    "quartz-settings-3",
    "quartz-option-4",
    "quartz-model-5",
    "quartz-private-6",
    "quartz-client-7",
    "quartz-refresh-8",
    "quartz-key-id-9",
];

pub fn trials() -> Vec<libtest_mimic::Trial> {
    let qwen: &[(&str, fn())] =
        tests![credentials_of_qwen_are_masked_whatever_their_names, limits_of_the_user_do_not_end_a_trial_of_qwen];
    let mut all = crate::support::real::all_needing_agent("qwen", qwen);
    all.extend(crate::support::real::all_needing_agent(
        "opencode",
        tests![credentials_of_opencode_are_masked_whatever_their_names],
    ));
    all.extend(crate::support::real::all_needing_agent(
        "gemini",
        tests![credentials_of_google_cloud_are_masked, a_limit_on_turns_fails_a_trial_of_gemini_as_such],
    ));
    all
}

/// The model has its shell store and print the environment, and says all credentials.
fn tells_all(request: &Request) -> Turn {
    match request.step {
        0 => Turn::Shell("env > all.txt; cat all.txt".to_owned()),
        _ => Turn::Say(SECRETS.join(" ")),
    }
}

/// Checks that nothing that was kept has these credentials.
#[track_caller]
fn expect_masked(live: &Live, mode: &str, secrets: &[&str]) {
    let trial = live.kept("greeting", "it", mode).expect("a kept trial");
    trial.expect(Verdict::Pass);
    let kept = trial.everything();
    let found: Vec<_> = secrets.iter().filter(|secret| kept.contains(**secret)).collect();
    assert!(found.is_empty(), "{found:?} were kept");
    assert_eq!(trial.text("final.txt").matches("[masked]").count(), secrets.len());
}

fn credentials_of_qwen_are_masked_whatever_their_names() {
    let live = Live::new("should_trigger,prompt", "false,Look.", tells_all);
    let path = live.user_home().join(".qwen/settings.json");
    let mut settings: Value = serde_json::from_slice(&fs::read(&path).expect("settings")).expect("JSON");
    settings["modelProviders"]["anthropic"][0]["envKey"] = "MINE".into();
    settings["modelProviders"]["anthropic"][0]["generationConfig"] =
        json!({ "customHeaders": { "X-Any": SECRETS[1] } });
    let second = json!({ "id": "second", "envKey": "OTHER", "baseUrl": "http://127.0.0.1:1" });
    settings["modelProviders"]["anthropic"].as_array_mut().expect("models").push(second);
    settings["env"] = json!({ "OTHER": SECRETS[2], "UNRELATED": "unrelated-value" });
    fs::write(&path, settings.to_string()).expect("settings");
    let ran = live.command(&["--mode", "qwen"]).env("MINE", SECRETS[0]).env_remove(QWEN_KEY).output();
    ran.expect("the program starts");
    expect_masked(&live, "qwen", &SECRETS[..3]);
    assert!(!live.model.requests()[1].tool_results.concat().contains("unrelated-value"));
}

fn limits_of_the_user_do_not_end_a_trial_of_qwen() {
    let live = Live::new("should_trigger,prompt", "false,Look.", tells_all);
    let path = live.user_home().join(".qwen/settings.json");
    let mut settings: Value = serde_json::from_slice(&fs::read(&path).expect("settings")).expect("JSON");
    settings["model"]["maxSessionTurns"] = 1.into();
    fs::write(&path, settings.to_string()).expect("settings");
    live.trial("qwen").expect(Verdict::Pass);
}

fn credentials_of_opencode_are_masked_whatever_their_names() {
    let live = Live::new("should_trigger,prompt", "false,Look.", tells_all);
    let path = live.user_home().join(".config/opencode/opencode.jsonc");
    let text = fs::read_to_string(&path).expect("a configuration");
    let (options, model) =
        (format!("\"secretAccessKey\": \"{}\", \"apiKey\"", SECRETS[3]), format!("\"{MODEL}\": {{}}"));
    let headers = format!("\"{MODEL}\": {{ \"headers\": {{ \"X-Any\": \"Bearer {}\" }} }}", SECRETS[4]);
    let text = text.replace("\"stand-in-key-for-opencode\"", "\"{env:MINE}\"");
    let text = text.replace("\"apiKey\"", &options).replace(&model, &headers);
    fs::write(&path, text).expect("a configuration");
    live.command(&["--mode", "opencode"]).env("MINE", SECRETS[0]).output().expect("the program starts");
    expect_masked(&live, "opencode", &[SECRETS[0], SECRETS[3], SECRETS[4]]);
}

fn credentials_of_google_cloud_are_masked() {
    let live = Live::new("should_trigger,prompt", "false,Look.", tells_all);
    let path = live.user_home().join("google.json");
    let account = json!({ "type": "service_account", "private_key": SECRETS[5], "client_secret": SECRETS[6],
        "refresh_token": SECRETS[7], "private_key_id": SECRETS[8] });
    fs::write(&path, account.to_string()).expect("credentials");
    live.command(&["--mode", "gemini"])
        .env("GOOGLE_APPLICATION_CREDENTIALS", &path)
        .output()
        .expect("the program starts");
    expect_masked(&live, "gemini", &SECRETS[5..]);
}

fn a_limit_on_turns_fails_a_trial_of_gemini_as_such() {
    let live = Live::new("should_trigger,prompt,max_turns", "false,Look.,1", |_| Turn::Shell("pwd".to_owned()));
    let trial = live.trial("gemini");
    let completed = trial.expect(Verdict::Fail).check("completed");
    assert_eq!(completed.found, "the model reached the most turns that it may take");
}
