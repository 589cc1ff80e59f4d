//! Text as HTML, JSON inside a script element, and charts as SVG: rates with their intervals, and rates over time. No chart has a text
//! of a user.

use crate::stats::Interval;
use crate::stats::real;
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

/// Begins a region that scrolls if its table is wider than the page, also by keys.
pub(super) fn wide(label: &str) -> String {
    format!("<div class=\"wide\" role=\"group\" aria-label=\"{}\" tabindex=\"0\">", text(label))
}

/// A dot for a share and a line for its interval, from 0 to 100 %.
pub fn interval(share: f64, interval: Interval) -> String {
    let [low, high, share] = [interval.low, interval.high, share].map(|share| 2.0 + share.clamp(0.0, 1.0) * 96.0);
    format!(
        "<svg class=\"whisker\" viewBox=\"0 0 100 10\" preserveAspectRatio=\"none\" aria-hidden=\"true\">\
         <line class=\"axis\" x1=\"2\" x2=\"98\" y1=\"5\" y2=\"5\"/>\
         <line class=\"range\" x1=\"{low:.1}\" x2=\"{high:.1}\" y1=\"5\" y2=\"5\"/>\
         <line class=\"dot\" x1=\"{share:.1}\" x2=\"{share:.1}\" y1=\"5\" y2=\"5\"/></svg>"
    )
}

/// Shares over time, the latest last, with their intervals as a band.
pub fn sparkline(points: &[(f64, Interval)]) -> String {
    let (mut shares, mut lows, mut highs) = (Vec::new(), Vec::new(), Vec::new());
    for (at, (share, interval)) in points.iter().enumerate() {
        let x = 2.0 + 96.0 * real(at as u64) / real((points.len() - 1).max(1) as u64);
        let [share, low, high] =
            [*share, interval.low, interval.high].map(|share| (x, 22.0 - share.clamp(0.0, 1.0) * 20.0));
        shares.push(share);
        lows.push(low);
        highs.push(high);
    }
    let Some((x, y)) = shares.last() else { return String::new() };
    lows.reverse();
    format!(
        "<svg class=\"sparkline\" viewBox=\"0 0 100 24\" preserveAspectRatio=\"none\" aria-hidden=\"true\">\
         <polygon class=\"band\" points=\"{} {}\"/><polyline class=\"line\" points=\"{}\"/>\
         <line class=\"dot\" x1=\"{x:.1}\" x2=\"{x:.1}\" y1=\"{y:.1}\" y2=\"{y:.1}\"/></svg>",
        path(&highs),
        path(&lows),
        path(&shares),
    )
}

fn path(points: &[(f64, f64)]) -> String {
    points.iter().map(|(x, y)| format!("{x:.1},{y:.1}")).collect::<Vec<_>>().join(" ")
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

    #[test]
    fn a_share_is_a_dot_within_its_interval() {
        let svg = interval(0.5, Interval { low: 0.094, high: 0.906 });
        assert!(svg.contains("class=\"dot\" x1=\"50.0\"") && svg.contains("class=\"range\" x1=\"11.0\""), "{svg}");
    }

    #[test]
    fn one_run_is_a_chart_too() {
        assert!(sparkline(&[(1.0, Interval { low: 0.5, high: 1.0 })]).contains("2.0,2.0"));
        assert_eq!(sparkline(&[]), "");
    }
}
