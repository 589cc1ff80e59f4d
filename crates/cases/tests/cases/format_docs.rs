//! docs/formats.md against the tables that it is written from.

use std::path::Path;

use skill_evals_cases::cases::case::foreign_formats;

const MARKS: [&str; 2] = ["<!-- formats -->\n", "<!-- /formats -->"];

/// With `INSTA_UPDATE=always` it is written.
#[test]
fn the_page_of_formats_lists_the_files_and_the_keys_of_each() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/formats.md");
    let page = std::fs::read_to_string(&path).expect("a page");
    let (before, rest) = page.split_once(MARKS[0]).expect("a comment where the list begins");
    let (list, after) = rest.split_once(MARKS[1]).expect("a comment where the list ends");
    let mut rows = vec![
        "| format | files | keys that are read | graders | unsupported, and why | keys that only label |".to_owned(),
        "| --- | --- | --- | --- | --- | --- |".to_owned(),
    ];
    let (mut common, mut above) = (Vec::new(), [const { String::new() }; 6]);
    for (format, files) in foreign_formats() {
        let row = files.row(&common);
        // Two formats may be parts of one.
        if row != above && !files.about.is_empty() {
            let cells = row.iter().zip(&above);
            let cells = cells.map(|(cell, above)| if cell == above && !cell.is_empty() { "the same" } else { cell });
            rows.push(format!("| {} |", cells.collect::<Vec<_>>().join(" | ")));
            if common.is_empty() {
                common = (files.all_keys)().notes;
            }
            above = row;
        }
        let read = (files.all_keys)().read;
        assert!(
            files.mark.is_empty() || read.is_empty() || read.contains(&files.mark) || files.keys.contains(&files.mark),
            "{}",
            format.name
        );
    }
    let expected = rows.join("\n") + "\n";
    if std::env::var("INSTA_UPDATE").is_ok_and(|update| update == "always") {
        std::fs::write(path, [before, MARKS[0], &expected, MARKS[1], after].concat()).expect("a page");
    } else {
        assert_eq!(list, expected, "INSTA_UPDATE=always writes docs/formats.md");
    }
}
