//! Do judges agree beyond chance? Cohen's κ for two judges, and Gwet's AC1 and Fleiss's κ for any number of votes.
//!
//! If nearly all items are in one category, κ falls to 0 although the judges agree. AC1 does not. Show both.

use super::special::{len, real};

/// Cohen's κ of two judges: `table[i][j]` is the number of items with category i by the first judge and j by the
/// second. `None` if the table is empty or not square, or if both judges gave all items the same category.
///
/// `(p_o − p_e) / (1 − p_e)`, `p_e = Σ row_i · column_i / n²`: Educational and Psychological Measurement 20 (1960) 37.
pub fn cohen(table: &[Vec<u64>]) -> Option<f64> {
    let n = real(table.iter().flatten().sum());
    if n == 0.0 || table.iter().any(|row| row.len() != table.len()) {
        return None;
    }
    let same: u64 = (0..table.len()).map(|at| table[at][at]).sum();
    let row = |at: usize| real(table[at].iter().sum());
    let column = |at: usize| real(table.iter().map(|row| row[at]).sum());
    let by_chance: f64 = (0..table.len()).map(|at| row(at) * column(at)).sum::<f64>() / (n * n);
    beyond_chance(real(same) / n, by_chance)
}

/// Agreement of votes on the same items.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
pub struct Agreement {
    /// The share of pairs of votes on the same item that are equal.
    pub observed: f64,
    /// Gwet's AC1: `p_e = Σ π_k (1 − π_k) / (K − 1)`, British Journal of Mathematical and Statistical Psychology 61 (2008)
    /// 29. `None` with fewer than two categories.
    pub ac1: Option<f64>,
    /// Fleiss's κ: `p_e = Σ π_k²`, Psychological Bulletin 76 (1971) 378. `None` if all votes are equal.
    pub fleiss: Option<f64>,
    /// The number of items with at least two votes. Other items are not counted.
    pub items: usize,
}

/// The agreement of votes: `items[i][k]` is the number of votes for category k on item i. `None` if no item has two
/// votes.
pub fn of_votes(items: &[Vec<u64>]) -> Option<Agreement> {
    let votes = |item: &Vec<u64>| item.iter().sum::<u64>();
    let items: Vec<&Vec<u64>> = items.iter().filter(|item| votes(item) > 1).collect();
    let categories = items.iter().map(|item| item.len()).max()?;
    let mean = |of: &dyn Fn(&Vec<u64>) -> f64| items.iter().map(|item| of(item)).sum::<f64>() / len(items.len());
    let observed = mean(&|item| {
        let all = real(votes(item));
        item.iter().map(|votes| real(*votes) * (real(*votes) - 1.0)).sum::<f64>() / (all * (all - 1.0))
    });
    let share = |category: usize| mean(&|item| item.get(category).map_or(0.0, |of| real(*of)) / real(votes(item)));
    let shares: Vec<f64> = (0..categories).map(share).collect();
    let spread = shares.iter().map(|share| share * (1.0 - share)).sum::<f64>();
    // With one category this is 0/0, which is not below 1.
    let ac1 = beyond_chance(observed, spread / len(categories - 1));
    let fleiss = beyond_chance(observed, shares.iter().map(|share| share * share).sum());
    Some(Agreement { observed, ac1, fleiss, items: items.len() })
}

fn beyond_chance(observed: f64, by_chance: f64) -> Option<f64> {
    (by_chance < 1.0 - 1e-12).then(|| (observed - by_chance) / (1.0 - by_chance))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::reference::{close, count, number, section};

    #[test]
    fn agreement_of_two_judges_agrees_with_the_reference() {
        let reference = section("kappa");
        let row = |row: &serde_json::Value| row.as_array().expect("a row").iter().map(count).collect::<Vec<u64>>();
        let table: Vec<Vec<u64>> = reference["table"].as_array().expect("a table").iter().map(row).collect();
        close(cohen(&table).expect("votes"), number(&reference["kappa"]), &"kappa");
        let mut items = Vec::new();
        for (first, row) in table.iter().enumerate() {
            for (second, times) in row.iter().enumerate() {
                let mut votes = vec![0, 0];
                votes[first] += 1;
                votes[second] += 1;
                items.extend(vec![votes; usize::try_from(*times).expect("few")]);
            }
        }
        let found = of_votes(&items).expect("votes");
        close(found.observed, number(&reference["po"]), &"observed");
        close(found.ac1.expect("two categories"), number(&reference["gwet_ac1"]), &"AC1");
        assert_eq!(found.items, 50);
    }

    #[test]
    fn agreement_of_three_judges_on_three_categories_is_as_the_formulas_say() {
        let found = of_votes(&[vec![3, 0, 0], vec![0, 2, 1], vec![1, 1, 1], vec![0, 0, 3]]).expect("votes");
        // Of the pairs of an item 1, 1/3, 0 and 1 agree. The shares are 1/3, 1/4 and 5/12, their squares add up to 25/72.
        close(found.observed, 7.0 / 12.0, &"observed");
        close(found.fleiss.expect("different votes"), 17.0 / 47.0, &"Fleiss");
        close(found.ac1.expect("three categories"), 37.0 / 97.0, &"AC1");
    }

    #[test]
    fn votes_that_are_all_alike_agree_by_ac1_and_leave_kappa_undefined() {
        let found = of_votes(&[vec![3, 0], vec![3, 0], vec![1, 0]]).expect("votes");
        assert_eq!((found.ac1, found.fleiss, found.items), (Some(1.0), None, 2));
        assert_eq!(cohen(&[vec![5, 0], vec![0, 0]]), None);
        assert_eq!((cohen(&[]), cohen(&[vec![1, 2]]), of_votes(&[vec![1, 0]])), (None, None, None));
    }
}
