//! Tables of inputs, each shown with what is read of it: a person reviews the snapshot instead of a list of assertions.

use std::fmt::Write;

/// Tests that each hold a snapshot of `tables/NAME.txt` as `$read` reads its lines.
#[macro_export]
macro_rules! tables {
    ($($read:expr => $($name:ident),+;)+) => {$($(
        #[test]
        fn $name() {
            let shown = $crate::tables::shown(include_str!(concat!("tables/", stringify!($name), ".txt")), $read);
            insta::assert_snapshot!(shown);
        }
    )+)+};
}

/// Each input of a table with what `read` says of it, indented below it. A line is an input, and one that begins with `#` a comment.
pub fn shown(table: &str, read: impl Fn(&str) -> String) -> String {
    let mut shown = String::new();
    for line in table.lines() {
        let _ = writeln!(shown, "{line}");
        if !line.starts_with('#') {
            let said = read(&text(line));
            for line in said.lines().chain(said.is_empty().then_some("nothing")) {
                let _ = writeln!(shown, "    {line}");
            }
        }
    }
    shown
}

/// The text that a line stands for: that of a JSON string, or the line itself.
pub fn text(line: &str) -> String {
    serde_json::from_str(line).unwrap_or_else(|_| line.to_owned())
}

/// The path and the text of an input `PATH TEXT`.
pub fn file(input: &str) -> (&str, String) {
    let (path, content) = input.split_once(' ').expect("a path and a text");
    (path, text(content))
}
