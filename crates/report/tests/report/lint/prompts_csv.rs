//! Faults in a prompts.csv.

use skill_evals_cases::cases::case::MOST_CASES;
use skill_evals_evidence::text::diagnostic::Code;
use skill_evals_testing::fixture::Fixture;
use skill_evals_testing::lint::{HEADER, TASK, assert_only, sheet, with_row};

const AT: &str = "evals/skills/tidy/prompts.csv";

#[test]
fn a_missing_column_is_named_at_the_header_and_other_skills_go_on() {
    let fixture = with_row("", "").skill("other").prompts("other", "id,prompt\na,Do it\n");
    assert_only(
        &fixture,
        "evals/skills/other/prompts.csv:1:1: [csv-missing-column] the header lacks `should_trigger`",
        &["prompts.csv"],
    );
    assert_eq!(fixture.good_cases(), ["first", "last"]);
}

#[test]
fn a_file_with_too_many_rows_is_refused_in_one_line() {
    let rows: Vec<String> = (0..=MOST_CASES).map(|number| format!("{number},true,Do it\n")).collect();
    let text = format!("{HEADER}\n{}", rows.concat());
    let fixture = Fixture::new().skill("tidy").prompts("tidy", text).task("one", TASK);
    assert_only(&fixture, &format!("{AT}: [too-many-cases] the file has more than 100000 cases"), &["prompts.csv"]);
}

#[test]
fn many_broken_rows_are_counted() {
    let rows: Vec<String> = (0..3000).map(|number| format!("{number},maybe,Do it\n")).collect();
    let fixture = Fixture::new().skill("tidy").prompts("tidy", format!("{HEADER}\n{}", rows.concat()));
    let problems = fixture.problems();
    let flags: Vec<_> = problems.iter().filter(|problem| problem.code == Code::BadBoolean).collect();
    assert_eq!((flags.len(), flags.iter().map(|problem| 1 + problem.more).sum::<usize>()), (1000, 3000));
}

#[test]
fn an_empty_file_says_which_header_it_needs() {
    let fixture = Fixture::new().skill("tidy").prompts("tidy", "").task("one", TASK);
    assert_only(&fixture, &format!("{AT}: [csv-missing-column] the file is empty"), &["prompts.csv"]);
}

#[test]
fn a_cell_below_no_name_breaks_its_row_and_an_empty_one_does_not() {
    let text = "id,should_trigger,prompt,,\na,true,Do it,,AHOY\nb,false,Rest,,\n";
    let fixture = Fixture::new().skill("tidy").prompts("tidy", text);
    assert_only(&fixture, &format!("{AT}:2:15: [csv-extra-cell] cell 5 of a row, but its column has no name"), &["a"]);
    assert_eq!(fixture.good_cases(), ["b"]);
}

#[test]
fn a_column_that_stands_twice_is_refused() {
    let fixture = with_row("", "").skill("other").prompts("other", "id,should_trigger,prompt,id\na,true,Do it,b\n");
    assert_only(&fixture, "evals/skills/other/prompts.csv:1:26: [csv-duplicate-column]", &["prompts.csv"]);
}

#[test]
fn a_bad_boolean_breaks_its_own_row_only() {
    let fixture = with_row("", "broken,yes,Do it");
    assert_only(&fixture, &format!("{AT}:3:8: [bad-boolean] `should_trigger` is \"yes\""), &["broken"]);
    assert_eq!(fixture.good_cases(), ["first", "last"]);
    insta::assert_snapshot!(fixture.drawn());
}

#[test]
fn a_row_and_a_task_ask_for_the_whole_description() {
    let fixture = with_row(",described", "asks,true,Do it,true").task(
        "asks-too",
        r#"{ "prompt": "Do it", "evalConfig": { "expectedSkillName": "tidy", "expectDescribed": true } }"#,
    );
    assert_eq!(fixture.lines(), "");
    let catalog = fixture.catalog();
    let cases = catalog.cases.iter().map(|found| found.case().expect("a case"));
    let asking: Vec<_> = cases
        .filter(|case| case.checks.iter().any(|check| check.kind.id == "described"))
        .map(|case| &case.id)
        .collect();
    assert_eq!(asking, ["asks", "asks-too"]);
    let bad = with_row(",described", "broken,true,Do it,whole");
    assert_only(&bad, &format!("{AT}:3:19: [bad-boolean] `described` is \"whole\""), &["broken"]);
}

#[test]
fn a_number_with_a_sign_is_no_number() {
    for number in ["+5", "-5", "5s", "0.5", "1_000", "99999999999999999999999"] {
        let fixture = with_row(",max_commands", &format!("broken,true,Do it,{number}"));
        assert_only(&fixture, &format!("{AT}:3:19: [bad-number] `max_commands` is {number:?}"), &["broken"]);
    }
    insta::assert_snapshot!(with_row(",max_commands", "broken,true,Do it,+5").drawn());
}

#[test]
fn a_timeout_of_nothing_or_of_weeks_is_out_of_range() {
    for number in ["0", "86401"] {
        let fixture = with_row(",timeout_s", &format!("broken,true,Do it,{number}"));
        assert_only(&fixture, &format!("{AT}:3:19: [bad-number]"), &["broken"]);
    }
}

#[test]
fn an_unknown_sandbox_says_which_word_was_meant() {
    let fixture = with_row(",sandbox", "broken,true,Do it,readonly");
    assert_only(&fixture, &format!("{AT}:3:19: [bad-choice]"), &["broken"]);
    assert!(fixture.drawn().contains("did you mean `read-only`?"));
}

#[test]
fn a_quote_left_open_is_marked_where_it_opens() {
    let text = format!("{HEADER}\nfirst,true,Do it\nbroken,true,\"Do\nlast,false,Do something else\n");
    let fixture = Fixture::new().skill("tidy").prompts("tidy", text);
    assert_only(&fixture, &format!("{AT}:3:13: [csv-open-quote]"), &["broken"]);
    assert_eq!(fixture.good_cases(), ["first"]);
    insta::assert_snapshot!(fixture.drawn());
}

#[test]
fn a_quote_inside_a_quoted_cell_is_marked_unless_it_is_doubled() {
    let fixture = with_row("", "broken,true,\"She said \"hello\" to me.\"");
    assert_only(&fixture, &format!("{AT}:3:23: [csv-open-quote]"), &["broken"]);
    assert!(fixture.drawn().contains("a quote inside a quoted cell is written `\"\"`"));
    let doubled = with_row("", "fine,true,\"She said \"\"hello\"\" to me.\"");
    assert_eq!(doubled.drawn(), "");
}

#[test]
fn a_comment_is_no_header() {
    let fixture = Fixture::new().skill("tidy").prompts("tidy", format!("# my cases\n{HEADER}\nfirst,true,Do it\n"));
    assert!(fixture.drawn().contains("a CSV file has no comments"), "{}", fixture.drawn());
}

#[test]
fn a_comma_outside_quotes_makes_a_cell_too_many() {
    let fixture = with_row("", "broken,true,Do it, please");
    assert_only(&fixture, &format!("{AT}:3:19: [csv-extra-cell]"), &["broken"]);
}

#[test]
fn a_nul_byte_is_marked_and_drawn() {
    let fixture = with_row("", "broken,true,Do\0 it");
    assert_only(&fixture, &format!("{AT}:3:15: [nul-byte]"), &["broken"]);
    insta::assert_snapshot!(fixture.drawn());
}

#[test]
fn latin_1_is_marked_at_its_first_byte() {
    let mut text = format!("{HEADER}\nfirst,true,Do it\nbroken,true,Caf").into_bytes();
    text.extend(b"\xe9 au lait\nlast,false,Do something else\n");
    let fixture = Fixture::new().skill("tidy").prompts("tidy", text);
    assert_only(
        &fixture,
        &format!("{AT}:3:16: [not-utf8] the byte 0xE9 is not UTF-8 (in Latin-1 it is `é`)"),
        &["broken"],
    );
    assert_eq!(fixture.good_cases(), ["first", "last"]);
    insta::assert_snapshot!(fixture.drawn());
}

#[test]
fn utf_16_is_named_as_such() {
    let text: Vec<u8> = "\u{feff}id,should_trigger,prompt\n".encode_utf16().flat_map(u16::to_le_bytes).collect();
    let fixture = Fixture::new().skill("tidy").prompts("tidy", text).task("one", TASK);
    assert_only(&fixture, &format!("{AT}: [not-utf8] this file is UTF-16"), &["prompts.csv"]);
}

#[test]
fn utf_16_without_its_mark_is_named_too() {
    for bytes in [u16::to_le_bytes, u16::to_be_bytes] {
        let text: Vec<u8> = "id,should_trigger,prompt\n".encode_utf16().flat_map(bytes).collect();
        let fixture = Fixture::new().skill("tidy").prompts("tidy", text).task("one", TASK);
        assert_only(&fixture, &format!("{AT}: [not-utf8] this file is UTF-16"), &["prompts.csv"]);
    }
}

#[test]
fn other_separators_than_commas_are_named_as_such() {
    for (separator, name) in [(';', "semicolons"), ('\t', "tabs"), ('|', "bars")] {
        let header = HEADER.replace(',', &separator.to_string());
        for text in [format!("{header}\n"), format!("\u{feff}{}\r\n", header.replace("prompt", "\"prompt\""))] {
            let fixture = Fixture::new().skill("tidy").prompts("tidy", text).task("one", TASK);
            let words = format!("{AT}:1:3: [csv-separator] the cells are separated by {name}; expected commas");
            assert_only(&fixture, &words, &["prompts.csv"]);
        }
    }
}

#[test]
fn lines_that_end_in_cr_alone_are_read_counted_and_named() {
    let text = format!("{HEADER}\nfirst,true,\"Do\nit\"\nbroken,maybe,Do it\nlast,false,Other\n").replace('\n', "\r");
    let fixture = Fixture::new().skill("tidy").prompts("tidy", text);
    assert_eq!(fixture.good_cases(), ["first", "last"]);
    let lines = fixture.lines();
    assert!(lines.contains(":1:25: [csv-line-ends] lines end in CR alone"), "{lines}");
    assert!(lines.contains(":4:8: [bad-boolean]"), "{lines}");
}

#[test]
fn a_comma_that_may_belong_to_a_text_is_named() {
    let header = format!("{HEADER},must_include");
    let lines = |rows: &str| Fixture::new().skill("tidy").prompts("tidy", format!("{rows}\n")).lines();
    let cut = lines(&format!("{header}\nfirst,true,What is six times seven? Answer, please\nlast,false,Other,"));
    assert!(cut.contains(":2:44: [csv-unquoted-comma] this cell begins with a blank"), "{cut}");
    let surplus = lines(&format!("{header}\nfirst,true,Do it,,,\nlast,false,Other,"));
    let words = "[csv-unquoted-comma] the row has 6 cells, and the header 4 columns";
    assert!(surplus.contains(&format!(":2:19: {words}")), "{surplus}");
    // Quotes say what a cell is, and in some files a blank follows each comma.
    let quoted = lines(&format!("{header}\nfirst,true,Do it,\" please\"\nlast,false,Other,"));
    assert!(!quoted.contains("csv-unquoted-comma"), "{quoted}");
    let spaced = lines("id, should_trigger, prompt\nfirst, true, Do it\nlast, false, Other");
    assert!(!spaced.contains("csv-unquoted-comma"), "{spaced}");
    let spaced_rows = lines(&format!("{header}\nfirst, true, Do it, done\nlast, false, Other,"));
    assert!(!spaced_rows.contains("csv-unquoted-comma"), "{spaced_rows}");
    // Behind a blank, a quote does not keep a comma in its cell.
    let cut = lines(&format!("{header}\nfirst, true, \"Answer, please\"\nlast, false, Other,"));
    assert!(cut.contains(":2:13: [csv-unquoted-comma] this cell begins with a blank"), "{cut}");
}

#[test]
fn of_two_cases_with_one_id_the_second_is_wrong_and_no_third() {
    let text = format!("{HEADER}\nok,true,Do it\nok,true,Do that\nok-line-3,true,Do more\n");
    let fixture = Fixture::new().skill("tidy").prompts("tidy", text);
    let words = format!("{AT}:3:1: [duplicate-case] the case id `ok` is taken by evals/skills/tidy/prompts.csv:2");
    assert_only(&fixture, &words, &["ok-line-3-again"]);
    assert_eq!(fixture.good_cases(), ["ok", "ok-line-3"]);
}

#[test]
fn a_case_with_an_id_that_is_taken_and_another_mistake_has_both() {
    let text = format!("{HEADER},must_include\nok,true,Do it,done\nok,maybe,,(\n");
    let fixture = Fixture::new().skill("tidy").prompts("tidy", text);
    let lines = fixture.lines();
    for said in ["3:1: [duplicate-case]", "3:4: [bad-boolean]", "3:10: [empty-value]", "3:11: [bad-regex]"] {
        assert!(lines.contains(&format!("{AT}:{said}")), "{said}: {lines}");
    }
    assert_eq!(fixture.good_cases(), ["ok"]);
}

#[test]
fn a_byte_order_mark_changes_nothing() {
    let good = Fixture::new().skill("tidy").prompts("tidy", format!("\u{feff}{}", sheet("", "mid,true,Do it")));
    assert_eq!((good.lines().as_str(), good.good_cases().len()), ("", 3));
    let bad = Fixture::new().skill("tidy").prompts("tidy", "\u{feff}id,should_trigger\na,true\n").task("one", TASK);
    assert_only(&bad, &format!("{AT}:1:1: [csv-missing-column]"), &["prompts.csv"]);
}

#[test]
fn windows_line_ends_change_nothing_and_positions_stay_right() {
    let crlf = |row: &str| sheet("", row).replace('\n', "\r\n");
    let good = Fixture::new().skill("tidy").prompts("tidy", crlf("mid,true,\"Do\nit\""));
    assert_eq!((good.lines().as_str(), good.good_cases().len()), ("", 3));
    let bad = Fixture::new().skill("tidy").prompts("tidy", crlf("broken,maybe,Do it"));
    assert_only(&bad, &format!("{AT}:3:8: [bad-boolean]"), &["broken"]);
}

#[test]
fn a_megabyte_in_a_cell_is_read_and_drawn_cut() {
    let megabyte = "word ".repeat(210_000);
    let good = with_row("", &format!("big,true,{megabyte}"));
    assert_eq!((good.lines().as_str(), good.good_cases().len()), ("", 3));
    let bad = with_row("", &format!("big,{megabyte},Do it"));
    assert_only(&bad, &format!("{AT}:3:5: [bad-boolean]"), &["big"]);
    assert!(bad.drawn().len() < 1000, "{}", bad.drawn());
    let behind = with_row(",max_commands", &format!("big,true,{megabyte},-1"));
    assert_only(&behind, &format!("{AT}:3:{}: [bad-number]", 11 + megabyte.len()), &["big"]);
    insta::assert_snapshot!(behind.drawn());
}

#[test]
fn an_empty_prompt_is_an_error_at_its_cell() {
    assert_only(&with_row("", "broken,true,  "), &format!("{AT}:3:13: [empty-value]"), &["broken"]);
}

#[test]
fn a_row_of_another_runner_runs_unchanged() {
    let text = "id,should_trigger,prompt,sandbox,timeout_s,max_commands,max_input_tokens,max_output_tokens,\
                max_total_tokens,output_schema,judge,require_files,must_include,must_not_include,fixture,,\n\
                one,TRUE,\"Write this:\n\n- a, b\n- \"\"c\"\"\n\",workspace-write,60,3,1000,200,1200,\
                evals/schemas/answer.schema.json,true,out/a.md;b.txt,\"\\\"name\\\": \\\"tidy\\\"|a \\| b\",\
                as an AI,fixtures/small,,\n\
                two,false,Do something else,,,,,,,,,,,,,,\n";
    // The header's own trailing commas name no column.
    let text = text.replace("\\\"name\\\": \\\"tidy\\\"", r#"\""name\"": \""tidy\"""#);
    let fixture = Fixture::new()
        .skill("tidy")
        .prompts("tidy", text)
        .file("evals/schemas/answer.schema.json", r#"{"type": "object"}"#)
        .file("evals/skills/tidy/fixtures/small/a.txt", "a");
    assert_eq!(fixture.lines(), "");
    let catalog = fixture.catalog();
    let case = catalog.cases[0].case().expect("a case");
    assert_eq!(case.prompt, "Write this:\n\n- a, b\n- \"c\"");
    let asked = case.checks.iter().map(|check| {
        format!("{} (`{}`, line {}): {:?}", check.kind.id, check.origin.key, check.origin.line, check.ask)
    });
    insta::assert_debug_snapshot!(asked.collect::<Vec<_>>());
}

#[test]
fn a_pattern_that_does_not_compile_is_marked_in_its_cell() {
    let fixture = with_row(",must_include", "broken,true,Do it,fine|[a-z");
    assert_only(&fixture, &format!("{AT}:3:24: [bad-regex] `must_include`: the pattern \"[a-z\""), &["broken"]);
    let fixture = with_row(",must_not_include", "broken,true,Do it,\"(a|b)\"");
    let lines = fixture.lines();
    assert!(lines.contains("[bad-regex] `must_not_include`: the pattern \"(a\""), "{lines}");
    assert!(fixture.drawn().contains("`|` separates patterns here, also inside a group"));
}

#[test]
fn paths_cannot_leave_their_folder() {
    for column in ["fixture", "output_schema", "require_files"] {
        for path in ["../secret", "a/../../b", "//etc/passwd", "a\\b", "C:/x", "."] {
            let fixture = with_row(&format!(",{column}"), &format!("broken,true,Do it,{path}"));
            assert_only(&fixture, &format!("{AT}:3:19: [bad-path] `{column}`"), &["broken"]);
        }
    }
    let of_workspace = with_row(",require_files", "broken,true,Do it,/etc/passwd");
    assert_only(&of_workspace, &format!("{AT}:3:19: [bad-path] `require_files`"), &["broken"]);
    // `/` in front is the repository's root, and not the machine's.
    let of_root = with_row(",fixture", "broken,true,Do it,/etc");
    let missing = format!("{AT}:3:20: [missing-fixture] the fixture directory etc does not exist");
    assert!(of_root.lines().starts_with(&missing), "{}", of_root.lines());
    let second = with_row(",require_files", "broken,true,Do it,fine.txt;../secret");
    assert_only(&second, &format!("{AT}:3:28: [bad-path]"), &["broken"]);
    insta::assert_snapshot!(second.drawn());
}

#[test]
fn ids_that_no_folder_or_test_can_carry_are_refused() {
    for id in ["a/b", "\"a\nb\"", ".a", "", "..", "a:b", "--", "a\u{200b}b", "a\u{202e}b", "a\u{a0}b", &"a".repeat(101)]
    {
        let fixture = with_row("", &format!("{id},true,Do it"));
        assert_only(&fixture, &format!("{AT}:3:1: [case-id] the case id"), &["row-3"]);
        assert_eq!(fixture.good_cases(), ["first", "last"], "{id}");
    }
    insta::assert_snapshot!(with_row("", "\"a\nb\",true,Do it").drawn());
}

#[test]
fn ids_have_spaces_and_letters_of_any_script() {
    for id in ["a b", "-a", "é", "naïve", "日本", "हिन्दी", "50% (a+b)", "what's new"] {
        let fixture = with_row("", &format!("{id},true,Do it"));
        assert_eq!(fixture.lines(), "", "{id}");
        assert_eq!(fixture.good_cases(), ["first", id, "last"]);
    }
}

#[test]
fn a_second_case_with_the_same_test_name_is_a_case_of_its_own_that_fails() {
    let fixture = with_row("", "First.one,true,Do it\nFirst-one,true,Do it");
    assert_only(
        &fixture,
        &format!("{AT}:4:1: [duplicate-case] the case id `First-one` is taken by {AT}:3"),
        &["First-one-line-4"],
    );
    let in_two_files = with_row("", "one,true,Do it").task("one", TASK);
    assert_only(&in_two_files, "evals/tasks/one.json:1:1: [duplicate-case]", &["one-line-1"]);
}

#[test]
fn every_problem_of_a_row_shows_at_once() {
    let fixture = with_row(",timeout_s,sandbox", ".x,maybe,,1h,none");
    let codes: Vec<&str> = fixture.problems().iter().map(|problem| problem.code.as_str()).collect();
    assert_eq!(codes, ["case-id", "bad-boolean", "empty-value", "bad-number", "bad-choice"]);
    insta::assert_snapshot!(fixture.drawn());
}

#[test]
fn cases_of_no_skill_are_reported_with_the_slug_that_was_meant() {
    let fixture = with_row("", "").prompts("tidi", sheet("", ""));
    assert_only(&fixture, "evals/skills/tidi/prompts.csv: [orphan-cases]", &["prompts.csv"]);
    assert!(fixture.drawn().contains("did you mean `tidy`?"));
}

#[cfg(unix)]
#[test]
fn a_sheet_that_cannot_be_read_is_a_broken_case() {
    let fixture = with_row("", "").skill("other").file("evals/skills/other/prompts.csv/x", "");
    let lines = fixture.lines();
    assert!(lines.contains("evals/skills/other/prompts.csv: [unreadable] cannot be read"), "{lines}");
    assert_eq!(fixture.good_cases(), ["first", "last"], "none are built in");
}
