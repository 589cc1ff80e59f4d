//! What differs between the skills of a commit and those of the working tree?

use skill_evals::ask::{AskError, Skills};

fn main() -> Result<(), AskError> {
    let base = std::env::args().nth(1).unwrap_or_else(|| "main".to_owned());
    let answer = Skills::at(".")?.compare(&base)?;
    println!("{answer}");
    assert!(answer.is_measured(), "not everything was measured");
    Ok(())
}
