//! Text as HTML, and JSON inside a script element.

use crate::text::escape;

/// `text` on one line as the content of an element or an attribute.
pub(super) fn text(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len() + 8);
    for c in escape::line(text).chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            c => escaped.push(c),
        }
    }
    escaped
}

/// JSON as the content of a script element. In JSON a `<` is always in a string.
pub(super) fn json(json: &str) -> String {
    json.replace('<', "\\u003c")
}

/// The value of a parameter after the `#` of an address.
pub(super) fn fragment(text: &str) -> String {
    percent_encoding::utf8_percent_encode(text, percent_encoding::NON_ALPHANUMERIC).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_ends_an_element_or_an_attribute() {
        assert_eq!(text("<b a='\"'>&\u{202e}\0"), "&lt;b a=&#39;&quot;&#39;&gt;&amp;\\u{202e}\\u{0}");
        assert_eq!(json(r#"{"a":"</script><!--"}"#), r#"{"a":"\u003c/script>\u003c!--"}"#);
        assert_eq!(fragment("a/b&e=1"), "a%2Fb%26e%3D1");
    }
}
