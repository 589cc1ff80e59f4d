//! Stretches of letters: how a text is known again that a program set anew, with other line breaks, white space, marks or
//! case (`tr`, `fmt`, `fold`, `paste`, `cat -A`).

/// Letters and digits of a stretch: some eight words, which nobody repeats by chance.
pub(super) const LENGTH: usize = 40;

/// What a letter counts for in the place before it. Odd, so that none is lost.
const BASE: u64 = 0x0000_0100_0000_01b3;

/// The letters and digits of a text in small ones, without all that is between them.
pub(super) fn letters(text: &str) -> impl Iterator<Item = u64> + '_ {
    let letters = text.chars().filter(|c| c.is_alphanumeric());
    letters.map(|c| c.to_lowercase().next().map_or(0, |small| u64::from(u32::from(small)) + 1))
}

/// The stretch at the beginning of these letters; `None` where they are too few.
pub(super) fn first(letters: &[u64]) -> Option<u64> {
    let letters = letters.get(..LENGTH)?;
    Some(letters.iter().fold(0, |hash: u64, letter| hash.wrapping_mul(BASE).wrapping_add(*letter)))
}

/// The stretches at every letter of a text.
pub(super) fn all(text: &str) -> impl Iterator<Item = u64> + '_ {
    let leaves = (0..LENGTH).fold(1_u64, |power, _| power.wrapping_mul(BASE));
    let (mut last, mut hash) = ([0; LENGTH], 0_u64);
    let stretches = letters(text).enumerate().map(move |(number, letter)| {
        let gone = std::mem::replace(&mut last[number % LENGTH], letter);
        hash = hash.wrapping_mul(BASE).wrapping_add(letter).wrapping_sub(gone.wrapping_mul(leaves));
        hash
    });
    stretches.skip(LENGTH - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_stretch_is_the_first_of_all_whatever_is_between_the_letters() {
        let text = "Greet people in the house style, always with their whole name and title.";
        let own: Vec<u64> = letters(text).collect();
        let every: Vec<u64> = all(text).collect();
        assert_eq!(first(&own), every.first().copied());
        assert_eq!(first(&own[7..]), every.get(7).copied());
        assert_eq!(every.len(), own.len() + 1 - LENGTH);
        let anew: Vec<u64> = all(&text.to_uppercase().replace(' ', "$\n> ")).collect();
        assert_eq!(anew, every);
        assert_eq!((first(&own[..LENGTH - 1]), all("Too short.").next()), (None, None));
    }
}
