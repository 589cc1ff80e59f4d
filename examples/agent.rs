//! A harness that reads what an agent of its own prints. `evals/evals.toml` says how its program is started:
//!
//! ```toml
//! [agents.mine]
//! protocol = "rust"
//! command = "mine"
//! args = ["--json", "{prompt}"]
//! shows_calls = true
//! ```

use serde::Deserialize;
use skill_evals::harness::{Harness, StreamEvent, Usage};

/// A line of the agent's output, such as `{"type":"says","text":"Done."}`.
#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "kebab-case")]
enum Line {
    Debug,
    Says {
        text: String,
    },
    Runs {
        id: String,
        command: String,
    },
    Ran {
        id: String,
        output: String,
        status: i64,
    },
    End {
        input_tokens: u64,
        output_tokens: u64,
    },
    /// A later version of the agent may say more.
    #[serde(other)]
    New,
}

fn main() -> std::process::ExitCode {
    Harness::new()
        .agent("mine", |line| {
            Ok(match Line::deserialize(line)? {
                Line::Debug => vec![],
                Line::Says { text } => vec![StreamEvent::Message { text, is_piece: false }],
                Line::Runs { id, command } => {
                    let input = serde_json::json!({ "command": command });
                    vec![StreamEvent::ToolCall { id, name: "bash".to_owned(), input }]
                }
                Line::Ran { id, output, status } => {
                    vec![StreamEvent::ToolResult { id, output, failed: status != 0, exit_code: Some(status) }]
                }
                Line::End { input_tokens, output_tokens } => {
                    let usage = Usage { input_tokens, output_tokens, ..Usage::default() };
                    vec![StreamEvent::TotalUsage(usage), StreamEvent::Done]
                }
                Line::New => vec![StreamEvent::Unknown],
            })
        })
        .main()
}
