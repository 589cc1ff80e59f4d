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

/// Letters that are kept until there are so many of them. Half of a trace of many megabytes is read by the two loops over
/// them, neither of which has to guess what comes next.
const ROOM: usize = 1024;

/// The last letters and digits of a text, in bytes.
struct Window<F> {
    kept: [u8; ROOM],
    /// How many of those wait to be part of a shingle.
    count: usize,
    /// The last before them.
    bytes: u128,
    filled: usize,
    each: F,
}

impl<F: FnMut(u64)> Window<F> {
    fn new(each: F) -> Self {
        Self { kept: [0; ROOM], count: 0, bytes: 0, filled: 0, each }
    }

    fn push(&mut self, byte: u8) {
        self.kept[self.count] = byte;
        self.count += 1;
        if self.count == ROOM {
            self.flush();
        }
    }

    /// Takes plain bytes, up to the first that is something else. Returns how many.
    fn push_plain(&mut self, bytes: &[u8]) -> usize {
        let room = ROOM - self.count;
        let mut taken = 0;
        for byte in bytes.iter().take(room) {
            let kind = KINDS[usize::from(*byte)];
            if matches!(kind, LINE | ESCAPE | WIDE) {
                break;
            }
            self.kept[self.count % ROOM] = kind;
            self.count += usize::from(kind != SKIP);
            taken += 1;
        }
        if self.count == ROOM {
            self.flush();
        }
        taken
    }

    fn flush(&mut self) {
        for byte in &self.kept[..self.count] {
            self.bytes = self.bytes << 8 | u128::from(*byte);
            self.filled += 1;
            if self.filled >= LENGTH {
                (self.each)(hash(self.bytes));
            }
        }
        self.count = 0;
    }

    fn push_wide(&mut self, letter: char) {
        for small in Some(letter).filter(|letter| letter.is_alphanumeric()).into_iter().flat_map(char::to_lowercase) {
            small.encode_utf8(&mut [0; 4]).bytes().for_each(|byte| self.push(byte));
        }
    }
}

#[expect(clippy::cast_possible_truncation, reason = "the halves of the bytes and of the product")]
fn hash(bytes: u128) -> u64 {
    let (low, high) = (bytes as u64 ^ 0x9e37_79b9_7f4a_7c15, (bytes >> 64) as u64 ^ 0xd1b5_4a32_d192_ed03);
    let product = u128::from(low).wrapping_mul(u128::from(high));
    (product as u64) ^ (product >> 64) as u64
}

/// Calls `each` with the hash of every shingle of `text`. Returns how many letters and digits it has, in bytes.
pub(super) fn each(text: &str, each: impl FnMut(u64)) -> usize {
    let bytes = text.as_bytes();
    let mut window = Window::new(each);
    let mut at = decoration(bytes);
    loop {
        at += window.push_plain(&bytes[at..]);
        let Some(byte) = bytes.get(at) else { break };
        at += 1;
        match KINDS[usize::from(*byte)] {
            SKIP => {}
            LINE => at += decoration(&bytes[at..]),
            WIDE => {
                let letter = text.get(at - 1..).and_then(|rest| rest.chars().next());
                at += letter.map_or(0, |letter| letter.len_utf8() - 1);
                if let Some(letter) = letter {
                    window.push_wide(letter);
                }
            }
            // As JSON and programming languages write a text.
            ESCAPE => match bytes.get(at) {
                Some(b'n') => at += 1 + decoration(&bytes[at + 1..]),
                Some(b't' | b'r' | b'"') => at += 1,
                Some(b'u') => {
                    let digits = text.get(at + 1..at + 5);
                    let code = digits.and_then(|digits| u32::from_str_radix(digits, 16).ok());
                    if let Some(letter) = code.and_then(char::from_u32) {
                        window.push_wide(letter);
                        at += 5;
                    }
                }
                _ => {}
            },
            letter => window.push(letter),
        }
    }
    window.flush();
    window.filled
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
    let ends = |byte: &u8| matches!(byte, b':' | b' ' | b'\t' | b'\n');
    let Some(name) = line[blank..].iter().take(LONGEST_NAME).position(ends).map(|length| blank + length) else {
        return 0;
    };
    let is_name = line[name] == b':' && line[blank..name].iter().any(|byte| b"/-_.".contains(byte));
    let number = if is_name { digits(name + 1) } else { 0 };
    if number > 0 && line.get(name + 1 + number) == Some(&b':') { name + 1 + number } else { 0 }
}

#[cfg(test)]
mod tests {
    use super::each;

    fn all(text: &str) -> Vec<u64> {
        let mut all = Vec::new();
        each(text, |hash| all.push(hash));
        all
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
        assert_eq!(each("Go. 42", |_| ()), 4);
        assert_eq!(each("42\n17\n3 apples", |_| ()), 10, "a number alone is text, one before a text is not");
    }

    #[test]
    fn damaged_escapes_are_letters() {
        for text in ["\\", "\\u", "\\u12", "\\uzzzz", "\\ud83d", "é\\", "\\é", "\\u00é"] {
            each(text, |_| ());
        }
    }
}
