//! The key by which a provider finds a prompt that it has kept. Agents draw one for each session, so trials with the same prompt would
//! each pay for it.

use hyper::body::Bytes;

/// What stands before the key in a body of JSON. Inside a text its quotes are escaped.
const FIELD: &[u8] = br#""prompt_cache_key":""#;

/// Writes one key over those in a body, of the same length and shape: letters and digits change, nothing else does.
pub(crate) struct CacheKey {
    /// Letters and digits, from the start again where a key is longer.
    key: String,
    at: At,
    /// Whether a key was found.
    pub(crate) is_shared: bool,
}

#[derive(Clone, Copy)]
enum At {
    /// So many bytes of [`FIELD`] stood before this one.
    Field(usize),
    /// So many bytes of the key.
    Key(usize),
}

impl CacheKey {
    /// `None` if the key is empty.
    pub(crate) fn new(key: &str) -> Option<Self> {
        (!key.is_empty()).then(|| Self { key: key.to_owned(), at: At::Field(0), is_shared: false })
    }

    /// The next bytes of the body, as they are sent.
    pub(crate) fn over(&mut self, bytes: Bytes) -> Bytes {
        let mut changed: Option<Vec<u8>> = None;
        for (place, byte) in bytes.iter().enumerate() {
            self.at = match self.at {
                At::Field(seen) if *byte == FIELD[seen] && seen + 1 == FIELD.len() => At::Key(0),
                At::Field(seen) if *byte == FIELD[seen] => At::Field(seen + 1),
                At::Field(_) => At::Field(usize::from(*byte == FIELD[0])),
                // What follows an escape may be a part of it.
                At::Key(_) if matches!(byte, b'"' | b'\\') => At::Field(usize::from(*byte == FIELD[0])),
                At::Key(seen) => {
                    if byte.is_ascii_alphanumeric() {
                        let with = self.key.as_bytes()[seen % self.key.len()];
                        changed.get_or_insert_with(|| bytes.to_vec())[place] = with;
                        self.is_shared = true;
                    }
                    At::Key(seen + 1)
                }
            };
        }
        changed.map_or(bytes, Bytes::from)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What becomes of a body that comes in parts of this length, and whether a key was found.
    fn sent(body: &str, length: usize) -> (String, bool) {
        let mut key = CacheKey::new("0123456789").expect("a key");
        let parts = body.as_bytes().chunks(length).flat_map(|part| key.over(Bytes::copy_from_slice(part)).to_vec());
        let sent = String::from_utf8(parts.collect()).expect("text");
        (sent, key.is_shared)
    }

    #[test]
    fn the_key_of_a_body_is_replaced_in_its_shape_wherever_the_parts_of_the_body_end() {
        let body = r#"{"model":"m","prompt_cache_key":"01ab-xyzXYZ9-77","input":["a"]}"#;
        for length in 1..=body.len() {
            let expected = r#"{"model":"m","prompt_cache_key":"0123-5678901-34","input":["a"]}"#;
            assert_eq!(sent(body, length), (expected.to_owned(), true), "{length}");
        }
    }

    #[test]
    fn nothing_else_of_a_body_is_replaced() {
        let quoted =
            serde_json::json!({ "input": r#"{"prompt_cache_key":"abc"}"#, "prompt_cache_key": "" }).to_string();
        for body in
            [r#"{"input":"abc"}"#, r#"{"prompt_cache_key":null,"a":"b"}"#, r#"{"cache_key":"abc"}"#, &quoted, ""]
        {
            assert_eq!(sent(body, 7), (body.to_owned(), false));
        }
        // An escape in a key ends what is replaced: the body stays JSON.
        let escaped = r#"{"prompt_cache_key":"ab\u0041b","x":"\"prompt_cache_key\":\"abc"}"#;
        assert_eq!(sent(escaped, 3).0, escaped.replace(":\"ab\\u", ":\"01\\u"));
        assert!(CacheKey::new("").is_none());
    }
}
