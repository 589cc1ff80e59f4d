//! What lint says about files with one fault each: one message, at its place. The other cases still run.

mod cases;
mod history;
mod prompts;
mod prompts_csv;
mod skill_md;
mod task_json;
mod user;
mod without_effect;
