//! Do all cases pass? Their recordings are replayed, which costs nothing; with `live`, agents run.

use skill_evals::ask::{AskError, Skills};

fn main() -> Result<(), AskError> {
    let skills = Skills::at(".")?;
    let is_live = std::env::args().nth(1).is_some_and(|how| how == "live");
    let answer = if is_live { skills.run()? } else { skills.replay()? };
    print!("{answer}");
    assert!(answer.holds(), "not all cases are known to pass");
    Ok(())
}
