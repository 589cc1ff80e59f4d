//! Adjusts p-values for many questions, so that even one false answer among all is rare.

use super::special::len;

/// Holm's adjusted p-values, in the order of `p`: if everything at most α is called a change, any call is false with
/// probability α at most, however the questions depend on each other.
///
/// The i-th smallest of m becomes `max over j ≤ i of min(1, (m − j + 1) p_j)`: Holm, Scand. J. Statistics 6 (1979) 65.
pub fn adjusted(p: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..p.len()).collect();
    order.sort_by(|a, b| p[*a].total_cmp(&p[*b]));
    let mut adjusted = vec![0.0; p.len()];
    let mut most: f64 = 0.0;
    for (place, at) in order.into_iter().enumerate() {
        most = most.max((len(p.len() - place) * p[at]).min(1.0));
        adjusted[at] = most;
    }
    adjusted
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::reference::{close, number, section};

    #[test]
    fn adjusted_values_agree_with_statsmodels() {
        let reference = section("multiple");
        let numbers =
            |name: &str| -> Vec<f64> { reference[name].as_array().expect("rows").iter().map(number).collect() };
        let (found, expected) = (adjusted(&numbers("p")), numbers("holm"));
        assert_eq!(found.len(), expected.len());
        for (found, expected) in found.into_iter().zip(expected) {
            close(found, expected, &reference);
        }
        assert_eq!(adjusted(&[]), Vec::<f64>::new());
    }
}
