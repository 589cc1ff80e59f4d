//! The Rust of docs/rust.md: a test holds that the page has nothing else.

mod smallest {
    fn main() -> std::process::ExitCode {
        skill_evals::harness::main()
    }

    const _: fn() -> std::process::ExitCode = main;
}

mod custom_check {
    use skill_evals::harness::{Check, Finding, Harness};

    fn short() -> Check {
        let short = Check::new("report-is-short", |trial| {
            let report = trial.read_text("report.md")?; // any error fails the check
            Ok(Finding::of(report.len() < 2_000, format!("{} bytes", report.len())))
        });
        short.skill("report").expecting("less than 2,000 bytes")
    }

    fn main() -> std::process::ExitCode {
        Harness::new().check(short()).main()
    }

    const _: fn() -> std::process::ExitCode = main;

    use skill_evals::harness::{Recording, TrialSample};

    #[test]
    fn a_report_of_a_line_is_short() {
        let sample = TrialSample::new("report", "Write a report.").file("report.md", "All is well.");
        assert_eq!(short().finding(&sample.trial()), Finding::Pass("12 bytes".to_owned()));
    }

    #[test]
    fn the_recorded_greeting_has_no_report() {
        let recording = Recording::open("evals/recordings/greeting/explicit/codex/1").expect("a recording");
        assert!(matches!(short().finding(&recording.trial()), Finding::NotAsked));
    }
}

mod agent {
    use serde::Deserialize;
    use skill_evals::harness::{Harness, StreamEvent};

    #[derive(Deserialize)]
    #[serde(tag = "type", rename_all = "kebab-case")]
    enum Line {
        Says {
            text: String,
        },
        End,
        Debug,
        #[serde(other)]
        New,
    }

    fn main() -> std::process::ExitCode {
        let read = |line: &serde_json::Value| {
            Ok(match Line::deserialize(line)? {
                Line::Says { text } => vec![StreamEvent::Message { text, is_piece: false }],
                Line::End => vec![StreamEvent::Done],
                Line::Debug => vec![],                   // says nothing
                Line::New => vec![StreamEvent::Unknown], // may say anything, also a call
            })
        };
        Harness::new().agent("mine", read).main()
    }

    const _: fn() -> std::process::ExitCode = main;
}
