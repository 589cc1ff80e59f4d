//! Agents: what is read of their traces, what they are given, and their processes.

mod agents;
mod claude_traces;
mod codex_traces;
mod decoded;
mod described;
mod exposure;
mod plugin_evals;
mod plugins;
mod process;
mod scratch;
