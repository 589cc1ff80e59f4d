//! The harness as a program: what it takes, prints, and leaves, whatever starts it.

mod arguments;
mod lists;
mod live;
mod progress;
mod rust_agents;
mod rust_cases;
mod stubs;
mod variables;

use crate::support::fixture::Fixture;

/// Two skills with two cases each, one case broken, nothing recorded.
fn fixture() -> Fixture {
    Fixture::new()
        .skill("tidy")
        .prompts("tidy", "id,should_trigger,prompt\nfirst-one,true,Do it\nbad,perhaps,Do it\nlast,false,Rest\n")
        .skill("sweep-up")
        .prompts("sweep-up", "id,should_trigger,prompt\nfirst-one,true,Sweep\nlast,false,Rest\n")
}
