//! The results of trials as data: what a tool of your own prints, stores or decides.

use skill_evals::harness::{Harness, HarnessError};

fn main() -> Result<(), HarnessError> {
    let filters: Vec<String> = std::env::args().skip(1).collect();
    for trial in Harness::new().results(filters.iter().map(String::as_str))? {
        match &trial.grade {
            Ok(grade) => println!("{}: {}", trial.id, grade.verdict.as_str()),
            Err(why) => println!("{}: not graded: {}", trial.id, why.trim()),
        }
    }
    Ok(())
}
