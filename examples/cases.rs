//! A harness with cases in Rust, next to those in files: for prompts that are computed, and for cases of many inputs.

use skill_evals::harness::Harness;

fn main() -> std::process::ExitCode {
    let languages = ["Rust", "Python"];
    let harness = Harness::new().case("tidy", "says-nothing-about-weather", |case| {
        case.prompt("Is it going to rain?").should_trigger(false).must_not_include("(?i)tidied")
    });
    let harness = languages.into_iter().fold(harness, |harness, language| {
        harness.case("tidy", format!("tidies-{}", language.to_lowercase()), |case| {
            case.prompt(format!("Tidy this {language} file.")).file("notes.txt", "b\na\n").set("timeout_s", 60)
        })
    });
    harness.main()
}
