//! Does the working tree break something that holds in `main`? A test of your own asks in the same three lines.

use skill_evals::ask::{AskError, Skills};

fn main() -> Result<(), AskError> {
    let base = std::env::args().nth(1).unwrap_or_else(|| "main".to_owned());
    let answer = Skills::at(".")?.gate(&base)?;
    print!("{answer}");
    assert!(answer.holds(), "the change is not shown to be harmless");
    Ok(())
}
