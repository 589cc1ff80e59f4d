//! Shingles: every sixteen bytes in a row of a text's letters and digits, so that it does not matter how a program set them.

/// Bytes of a shingle.
pub(super) const LENGTH: usize = 16;

/// Longest file name before a line that is looked for, in bytes.
const LONGEST_NAME: usize = 512;

const SKIP: u8 = 0;
const LINE: u8 = 1;
const ESCAPE: u8 = 2;
const WIDE: u8 = 3;

/// What a byte is: one of the above, or a letter or digit, in small.
const KINDS: [u8; 256] = {
    let mut kinds = [SKIP; 256];
    let mut byte = 0_u8;
    loop {
        kinds[byte as usize] = match byte {
            b'\n' => LINE,
            b'\\' => ESCAPE,
            0x80.. => WIDE,
            _ if byte.is_ascii_alphanumeric() => byte.to_ascii_lowercase(),
            _ => SKIP,
        };
        if byte == u8::MAX {
            break kinds;
        }
        byte += 1;
    }
};

/// Bytes that are looked up in place of each shingle that they are part of.
pub(super) const GRAM: usize = LENGTH / 2;

/// A known shingle has a known gram at each of this many consecutive places, so looking at one of them is enough.
pub(super) const STRIDE: usize = LENGTH - GRAM + 1;

/// The letters and digits of `text` in lower case, without what a program may have put around them.
pub(super) fn letters(text: &str) -> Vec<u8> {
    let bytes = text.as_bytes();
    let mut letters = Vec::with_capacity(bytes.len());
    let mut at = decoration(bytes);
    loop {
        at += push_plain(&mut letters, &bytes[at..]);
        let Some(byte) = bytes.get(at) else { return letters };
        at += 1;
        match KINDS[usize::from(*byte)] {
            LINE => at += decoration(&bytes[at..]),
            WIDE => {
                if let Some(letter) = text.get(at - 1..).and_then(|rest| rest.chars().next()) {
                    at += letter.len_utf8() - 1;
                    push_wide(&mut letters, letter);
                }
            }
            // Text as JSON and programming languages write it.
            ESCAPE => match bytes.get(at) {
                Some(b'n') => at += 1 + decoration(&bytes[at + 1..]),
                Some(b't' | b'r' | b'"') => at += 1,
                Some(b'u') => {
                    let digits = text.get(at + 1..at + 5);
                    let code = digits.and_then(|digits| u32::from_str_radix(digits, 16).ok());
                    if let Some(letter) = code.and_then(char::from_u32) {
                        push_wide(&mut letters, letter);
                        at += 5;
                    }
                }
                _ => {}
            },
            SKIP => {}
            letter => letters.push(letter),
        }
    }
}

/// Adds the letters of plain bytes, up to the first that is something else or for as long as there is room. Returns how many
/// bytes those are.
fn push_plain(letters: &mut Vec<u8>, bytes: &[u8]) -> usize {
    const ROOM: usize = 64;
    let mut plain = [0; ROOM];
    let (mut count, mut read) = (0, 0);
    for byte in bytes.iter().take(ROOM) {
        let kind = KINDS[usize::from(*byte)];
        if matches!(kind, LINE | ESCAPE | WIDE) {
            break;
        }
        // Overwritten by the next byte unless it is a letter: no branch to predict.
        plain[count % ROOM] = kind;
        count += usize::from(kind != SKIP);
        read += 1;
    }
    letters.extend_from_slice(&plain[..count]);
    read
}

fn push_wide(letters: &mut Vec<u8>, letter: char) {
    for lower in Some(letter).filter(|letter| letter.is_alphanumeric()).into_iter().flat_map(char::to_lowercase) {
        letters.extend_from_slice(lower.encode_utf8(&mut [0; 4]).as_bytes());
    }
}

/// The shingles of `letters`, each as its hash.
pub(super) fn hashes(letters: &[u8]) -> impl Iterator<Item = u64> {
    letters.windows(LENGTH).filter_map(|shingle| shingle.try_into().ok()).map(hash)
}

#[expect(clippy::cast_possible_truncation, reason = "the halves of the bytes and of the product")]
fn hash(shingle: &[u8; LENGTH]) -> u64 {
    let bytes = u128::from_be_bytes(*shingle);
    let (low, high) = (bytes as u64 ^ 0x9e37_79b9_7f4a_7c15, (bytes >> 64) as u64 ^ 0xd1b5_4a32_d192_ed03);
    let product = u128::from(low).wrapping_mul(u128::from(high));
    (product as u64) ^ (product >> 64) as u64
}

/// A hash of the gram that `letters` end with, in its upper bits.
pub(super) fn last_gram(letters: &[u8]) -> u64 {
    letters.last_chunk().map_or(0, |gram| u64::from_le_bytes(*gram).wrapping_mul(0x9e37_79b9_7f4a_7c15))
}

/// How many bytes at the start of a line a program may have put there: a number (`cat -n`, `nl`), or a file's name and one
/// (`grep -n`). Of a skill's own file they are left out alike.
fn decoration(line: &[u8]) -> usize {
    let blank = line.iter().take_while(|byte| matches!(byte, b' ' | b'\t')).count();
    let digits = |from: usize| line[from..].iter().take_while(|byte| byte.is_ascii_digit()).count();
    let number = digits(blank);
    if number > 0 {
        let rest = &line[blank + number..];
        let is_apart = matches!(rest.first(), Some(b':' | b'-' | b'|' | b')' | b'.' | b'\t' | b' '))
            || ["→", "│"].iter().any(|mark| rest.starts_with(mark.as_bytes()));
        return if is_apart { blank + number } else { 0 };
    }
    let mut is_name = false;
    for (at, byte) in line.iter().enumerate().skip(blank).take(LONGEST_NAME) {
        match byte {
            b':' => {
                let number = if is_name { digits(at + 1) } else { 0 };
                return if number > 0 && line.get(at + 1 + number) == Some(&b':') { at + 1 + number } else { 0 };
            }
            b' ' | b'\t' | b'\n' => return 0,
            b'/' | b'-' | b'_' | b'.' => is_name = true,
            _ => {}
        }
    }
    0
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::{hash, hashes, letters};

    fn all(text: &str) -> Vec<u64> {
        hashes(&letters(text)).collect()
    }

    #[test]
    fn it_does_not_matter_how_a_text_is_set() {
        let text =
            "Greet people in the house style:\n\n- always with \"name\"\tand title;\n- never é or 你好世界 alone.\n";
        let plain = all(text);
        assert!(plain.len() > 40, "{}", plain.len());
        let json = serde_json::to_string(text).unwrap_or_default();
        let ascii = json.replace('é', "\\u00e9").replace('你', "\\u4f60").replace('好', "\\u597d");
        let lines = |of: &dyn Fn(usize, &str) -> String| {
            let lines: Vec<String> = text.lines().enumerate().map(|(at, line)| of(at + 1, line)).collect();
            lines.join("\n")
        };
        let numbered = |sign: &str| lines(&|at, line| format!("{at:6}{sign}{line}"));
        let named = lines(&|at, line| format!("./a/b.md:{at}:{line}"));
        for set in [
            text.to_uppercase(),
            text.replace(' ', "\n> "),
            serde_json::to_string(&json).unwrap_or_default(),
            json,
            ascii,
            numbered("\t"),
            numbered("→"),
            numbered(" │ "),
            numbered(": "),
            named,
        ] {
            assert_eq!(all(&set), plain, "{set}");
        }
    }

    #[test]
    fn a_text_of_fewer_letters_has_no_shingle() {
        assert_eq!(
            (all("123456789012345").len(), all("a23456789012345").len(), all("1234567890123456").len()),
            (0, 0, 1)
        );
        assert_eq!(letters("Go. 42"), b"go42");
        assert_eq!(letters("42\n17\n3 apples"), b"4217apples", "a number alone is text, one before a text is not");
    }

    #[test]
    fn a_number_before_a_line_is_left_out_and_one_in_it_stays() {
        for (text, left) in [
            ("a/b.md:3:Say it", "sayit"),
            ("a/b.md:12:Say it", "sayit"),
            ("say:\n  7: Go", "saygo"),
            ("say:\\n  7: Go", "saygo"),
            ("say:\\na/b.md:12:Go", "saygo"),
            ("Go\\nto 7: Go", "goto7go"),
            ("std_io::read", "stdioread"),
            ("time_limit:3 seconds", "timelimit3seconds"),
            ("time_limit:30 seconds", "timelimit30seconds"),
            ("read a.md, line:7:now", "readamdline7now"),
            ("read\ta.md\tline:7:now", "readamdline7now"),
            ("a.b\nc:7:now", "abc7now"),
        ] {
            assert_eq!(String::from_utf8_lossy(&letters(text)), left, "{text}");
        }
    }

    #[test]
    fn texts_that_differ_in_two_letters_have_different_shingles() {
        let alphabet = || (b'a'..=b'z').chain(b'0'..=b'9');
        for at in 1..16 {
            for (from, text) in [(0, *b"0000000000000000"), (at - 1, *b"xnyoftheselettru")] {
                let with = |first, second| {
                    let mut text = text;
                    (text[from], text[at]) = (first, second);
                    hash(&text)
                };
                let all: HashSet<u64> = alphabet().flat_map(|a| alphabet().map(move |b| with(a, b))).collect();
                assert_eq!(all.len(), 36 * 36, "at {from} and {at}");
            }
        }
    }

    #[test]
    fn damaged_escapes_are_letters() {
        for text in ["\\", "\\u", "\\u12", "\\uzzzz", "\\ud83d", "é\\", "\\é", "\\u00é"] {
            letters(text);
        }
    }
}
