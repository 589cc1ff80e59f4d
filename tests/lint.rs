//! What `skill-evals lint` says about files with one fault each: one message, at its place, and the other cases go on.

mod support;

use support::{Fixture, run_in};

const HEADER: &str = "id,should_trigger,prompt";

/// A prompts.csv with one good positive and one good negative around `row`.
fn sheet(columns: &str, row: &str) -> String {
    format!("{HEADER}{columns}\nfirst,true,Do it\n{row}\nlast,false,Do something else\n")
}

fn with_row(columns: &str, row: &str) -> Fixture {
    Fixture::new().skill("tidy").prompts("tidy", sheet(columns, row))
}

fn with_skill(front_matter: &str) -> Fixture {
    Fixture::new().skill_text("tidy", format!("---\n{front_matter}\n---\n\nDo it.\n")).task("one", TASK)
}

const TASK: &str = r#"{ "prompt": "Do it", "evalConfig": { "expectedSkillName": "tidy" } }"#;

/// One problem, in one line that starts so; every case but `broken` can run.
#[track_caller]
fn assert_only(fixture: &Fixture, line: &str, broken: &[&str]) {
    let lines = fixture.lines();
    assert_eq!(lines.lines().count(), 1, "one problem expected:\n{lines}");
    assert!(lines.starts_with(line), "expected a line that starts with\n{line}\nfound\n{lines}");
    assert_eq!(fixture.broken_cases(), broken);
    assert!(!fixture.good_cases().is_empty(), "the other cases are still there");
}

#[test]
fn the_sample_repository_is_clean_even_when_strict() {
    let ran = Fixture::copy_of_sample().run(&["lint", "--check-evals", "--strict"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (0, "4 skills, 29 cases: no problems\n"), "{}", ran.stderr);
}

mod prompts_csv {
    use super::*;

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
    fn an_empty_file_says_which_header_it_needs() {
        let fixture = Fixture::new().skill("tidy").prompts("tidy", "").task("one", TASK);
        assert_only(&fixture, &format!("{AT}: [csv-missing-column] the file is empty"), &["prompts.csv"]);
    }

    #[test]
    fn an_unknown_column_is_a_warning_with_the_name_that_was_meant() {
        let fixture = Fixture::new()
            .skill("tidy")
            .prompts("tidy", "id,should_trigger,prompt,timout_s\na,true,Do it,5\nb,false,Rest,5\n");
        assert_only(&fixture, &format!("{AT}:1:26: [csv-unknown-column] nobody reads the column `timout_s`"), &[]);
        insta::assert_snapshot!(fixture.drawn());
        assert_eq!(fixture.run(&["lint", "--check-evals"]).code, 0, "warnings alone are clean");
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
        let case = fixture.catalog().cases[0].case().expect("a case");
        assert_eq!(case.prompt, "Write this:\n\n- a, b\n- \"c\"");
        insta::assert_debug_snapshot!(case.expectations);
    }

    #[test]
    fn a_pattern_that_does_not_compile_is_marked_in_its_cell() {
        let fixture = with_row(",must_include", "broken,true,Do it,fine|[a-z");
        assert_only(&fixture, &format!("{AT}:3:24: [bad-regex] `must_include`: the pattern \"[a-z\""), &["broken"]);
        let fixture = with_row(",must_not_include", "broken,true,Do it,\"(a|b)\"");
        let lines = fixture.lines();
        assert!(lines.contains("[bad-regex] `must_not_include`: the pattern \"(a\""), "{lines}");
        assert!(fixture.drawn().contains("`|` parts patterns here, also inside a group"));
    }

    #[test]
    fn paths_cannot_leave_their_folder() {
        for column in ["fixture", "output_schema", "require_files"] {
            for path in ["../secret", "a/../../b", "/etc/passwd", "a\\b", "C:/x", "."] {
                let fixture = with_row(&format!(",{column}"), &format!("broken,true,Do it,{path}"));
                assert_only(&fixture, &format!("{AT}:3:19: [bad-path] `{column}`"), &["broken"]);
            }
        }
        let second = with_row(",require_files", "broken,true,Do it,fine.txt;../secret");
        assert_only(&second, &format!("{AT}:3:28: [bad-path]"), &["broken"]);
        insta::assert_snapshot!(second.drawn());
    }

    #[test]
    fn ids_that_no_folder_or_test_can_carry_are_refused() {
        for id in ["a/b", "\"a\nb\"", "-a", ".a", "a b", "é", "", "..", &"a".repeat(101)] {
            let fixture = with_row("", &format!("{id},true,Do it"));
            assert_only(&fixture, &format!("{AT}:3:1: [case-id] the case id"), &["row-3"]);
            assert_eq!(fixture.good_cases(), ["first", "last"], "{id}");
        }
        insta::assert_snapshot!(with_row("", "\"a\nb\",true,Do it").drawn());
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
        let fixture = with_row(",timeout_s,sandbox", "-x,maybe,,1h,none");
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
        assert_eq!(
            fixture.good_cases()[..2],
            ["smoke-explicit", "smoke-implicit"],
            "unread cases leave the built-in ones"
        );
    }
}

mod task_json {
    use super::*;

    fn with_task(text: &str) -> Fixture {
        Fixture::new().skill("tidy").task("good", TASK).task("bad", text)
    }

    #[test]
    fn a_wrong_type_three_levels_down_is_marked_at_the_value() {
        let fixture = with_task(
            "{\n  \"prompt\": \"Do it\",\n  \"evalConfig\": {\n    \"expectedSkillName\": { \"name\": [\"tidy\"] }\n  }\n}\n",
        );
        assert_only(
            &fixture,
            "evals/tasks/bad.json:4:26: [json-type] `evalConfig.expectedSkillName` is an object; expected a string",
            &["bad"],
        );
        insta::assert_snapshot!(fixture.drawn());
    }

    #[test]
    fn every_key_with_a_wrong_type_is_told() {
        let fixture = with_task(
            r#"{ "prompt": 5, "systemPrompt": null, "evalConfig": { "expectedSkillName": "tidy",
               "expectedOutput": [], "expectedOutputPattern": true, "expectResourceLoad": "yes" } }"#,
        );
        let codes: Vec<&str> = fixture.problems().iter().map(|problem| problem.code.as_str()).collect();
        assert_eq!(codes, ["json-type"; 5]);
    }

    #[test]
    fn unknown_keys_come_with_the_one_that_was_meant() {
        let fixture = with_task(
            "{\n  \"prompt\": \"Do it\",\n  \"sytemPrompt\": \"x\",\n  \"evalConfig\": { \"expectedSkillName\": \"tidy\", \"expectedOutputs\": \"x\" }\n}\n",
        );
        insta::assert_snapshot!(fixture.drawn());
        assert_eq!(fixture.good_cases(), ["good"]);
    }

    #[test]
    fn missing_keys_are_named_at_the_object_that_lacks_them() {
        assert_only(
            &with_task(r#"{ "prompt": "Do it", "evalConfig": {} }"#),
            "evals/tasks/bad.json:1:36: [json-missing-key] the key `evalConfig.expectedSkillName` is missing",
            &["bad"],
        );
        assert_only(
            &with_task(r#"{ "prompt": "Do it" }"#),
            "evals/tasks/bad.json:1:1: [json-missing-key] the key `evalConfig` is missing",
            &["bad"],
        );
    }

    #[test]
    fn text_that_is_no_json_is_marked_where_it_stops_being_json() {
        assert_only(
            &with_task("{\n  \"prompt\": \"Do it\",\n}\n"),
            "evals/tasks/bad.json:2:20: [json-syntax]",
            &["bad"],
        );
        assert_only(&with_task(""), "evals/tasks/bad.json:1:1: [json-syntax] the file is empty", &["bad"]);
        assert_only(&with_task("{ // no\n }"), "evals/tasks/bad.json:1:3: [json-syntax]", &["bad"]);
        assert_only(&with_task("[1]"), "evals/tasks/bad.json:1:1: [json-type] the file is an array", &["bad"]);
        assert_only(
            &with_task(r#"{ "prompt": "a", "prompt": "b", "evalConfig": { "expectedSkillName": "tidy" } }"#),
            "evals/tasks/bad.json:1:18: [json-unknown-key] the key `prompt` stands here a second time",
            &["bad"],
        );
    }

    #[test]
    fn a_hundred_thousand_brackets_are_an_error_and_no_crash() {
        let fixture = with_task(&"[".repeat(100_000));
        assert_only(&fixture, "evals/tasks/bad.json:1:", &["bad"]);
        let fixture = with_task(&"{\"a\":".repeat(100_000));
        assert_only(&fixture, "evals/tasks/bad.json:1:", &["bad"]);
    }

    #[test]
    fn latin_1_and_a_byte_order_mark() {
        let fixture = Fixture::new().skill("tidy").task("good", TASK).task("bad", b"{ \"prompt\": \"Caf\xe9\" }");
        assert_only(&fixture, "evals/tasks/bad.json:1:17: [not-utf8]", &["bad"]);
        assert_eq!(with_task(&format!("\u{feff}{TASK}")).lines(), "");
    }

    #[test]
    fn a_skill_that_is_not_there_is_named_with_the_one_that_was_meant() {
        let fixture = with_task(r#"{ "prompt": "Do it", "evalConfig": { "expectedSkillName": "tidi" } }"#);
        assert_only(&fixture, "evals/tasks/bad.json:1:3: [unknown-skill]", &["bad"]);
        assert!(fixture.drawn().contains("did you mean `tidy`?"));
    }

    #[test]
    fn empty_values_bad_patterns_and_bad_names() {
        assert_only(
            &with_task(r#"{ "prompt": " ", "evalConfig": { "expectedSkillName": "tidy" } }"#),
            "evals/tasks/bad.json:1:13: [empty-value]",
            &["bad"],
        );
        assert_only(
            &with_task(
                r#"{ "prompt": "Do it", "evalConfig": { "expectedSkillName": "tidy", "expectedOutputPattern": "(?=a)" } }"#,
            ),
            "evals/tasks/bad.json:1:92: [bad-regex]",
            &["bad"],
        );
        let fixture = Fixture::new().skill("tidy").task("good", TASK).task("a b", TASK);
        assert_only(&fixture, "evals/tasks/a b.json: [case-id]", &["a_b"]);
    }
}

mod skill_md {
    use super::*;

    const AT: &str = "skills/tidy/SKILL.md";

    #[test]
    fn no_front_matter() {
        let fixture = Fixture::new().skill_text("tidy", "# Tidy\n\nDo it.\n").task("one", TASK);
        assert_only(&fixture, &format!("{AT}:1:1: [front-matter-missing]"), &[]);
        insta::assert_snapshot!(fixture.drawn());
        let unclosed = Fixture::new().skill_text("tidy", "---\nname: tidy\n").task("one", TASK);
        assert_only(&unclosed, &format!("{AT}:1:1: [front-matter-missing]"), &[]);
    }

    #[test]
    fn indentation_by_tabs() {
        let fixture = with_skill("name: tidy\ndescription: Tidies.\nmetadata:\n\tauthor: me");
        assert_only(&fixture, &format!("{AT}:5:"), &[]);
        insta::assert_snapshot!(fixture.drawn());
    }

    #[test]
    fn yaml_that_holds_itself() {
        let fixture = with_skill("name: tidy\ndescription: Tidies.\nmetadata: &a\n  self: *a");
        assert_only(&fixture, &format!("{AT}:5:"), &[]);
        insta::assert_snapshot!(fixture.drawn());
    }

    #[test]
    fn a_yaml_bomb_is_an_error_in_no_time() {
        let mut bomb = "name: tidy\ndescription: Tidies.\na0: &a0 [x, x, x, x, x, x, x, x, x]".to_owned();
        for level in 1..12 {
            let below = vec![format!("*a{}", level - 1); 9].join(", ");
            bomb = format!("{bomb}\na{level}: &a{level} [{below}]");
        }
        let lines = with_skill(&bomb).lines();
        assert!(lines.contains("[front-matter-yaml]") && lines.lines().count() == 1, "{lines}");
    }

    #[test]
    fn an_unquoted_colon_in_the_description() {
        let fixture = with_skill("name: tidy\ndescription: Tidies. Use when: asked");
        assert_only(&fixture, &format!("{AT}:3:"), &[]);
        insta::assert_snapshot!(fixture.drawn());
        assert_eq!(fixture.good_cases(), ["one"], "the skill is still known by its name");
    }

    #[test]
    fn a_key_that_stands_twice() {
        assert_only(
            &with_skill("name: tidy\nname: tidy\ndescription: Tidies."),
            &format!("{AT}:3:1: [front-matter-yaml]"),
            &[],
        );
    }

    #[test]
    fn values_of_the_wrong_type() {
        assert_only(
            &with_skill("name: true\ndescription: Tidies."),
            &format!("{AT}:2:7: [front-matter-type] `name` is a boolean; expected a string"),
            &[],
        );
        insta::assert_snapshot!(with_skill("name: true\ndescription: Tidies.").drawn());
        for (line, column, what) in [
            ("license: [MIT]", 10, "`license` is a list; expected a string"),
            ("license:", 1, "`license` is nothing; expected a string"),
            ("compatibility: 3", 16, "`compatibility` is a number; expected a string"),
            ("metadata: text", 11, "`metadata` is a string; expected a mapping"),
            ("allowed-tools: [Read]", 16, "`allowed-tools` is a list; expected a string"),
            ("allowed-tools: Read, Grep", 16, "`allowed-tools` has commas"),
        ] {
            let fixture = with_skill(&format!("name: tidy\ndescription: Tidies.\n{line}"));
            assert_only(&fixture, &format!("{AT}:4:{column}: [front-matter-type] {what}"), &[]);
        }
        assert_only(
            &with_skill("name: tidy\ndescription: Tidies.\nmetadata:\n  author: me\n  version: 1.0"),
            &format!("{AT}:6:3: [front-matter-type] `metadata.version` is a number; expected a string"),
            &[],
        );
    }

    #[test]
    fn names_that_break_the_rules() {
        let long = "a".repeat(65);
        for (name, why) in [
            ("Tidy", "holds 'T'"),
            ("tidy_up", "holds '_'"),
            ("-tidy", "starts or ends with `-`"),
            ("tidy-", "starts or ends with `-`"),
            ("ti--dy", "holds `--`"),
            ("\"\"", "is empty"),
            (long.as_str(), "has 65 characters; at most 64"),
        ] {
            let fixture = with_skill(&format!("name: {name}\ndescription: Tidies.")).file("evals/tasks/one.json", "");
            let lines = fixture.lines();
            let line = lines.lines().next_back().unwrap_or_default();
            assert!(line.starts_with(&format!("{AT}:2:7: [skill-name] the name")), "{lines}");
            assert!(line.contains(why), "{lines}");
            assert_eq!(lines.matches(AT).count(), 2 - usize::from(!lines.contains("no-cases")), "{lines}");
        }
        let lines = Fixture::new().skill_text("tidy", "---\ndescription: Tidies.\n---\n").task("one", TASK).lines();
        assert!(lines.starts_with(&format!("{AT}:1:1: [skill-name] the front matter has no `name`")), "{lines}");
    }

    #[test]
    fn a_name_that_is_not_the_folders() {
        let fixture =
            Fixture::new().skill_text("tiny", "---\nname: tidy\ndescription: Tidies.\n---\n").task("one", TASK);
        assert_only(&fixture, "skills/tiny/SKILL.md:2:7: [skill-name-folder]", &[]);
    }

    #[test]
    fn descriptions_that_say_nothing_or_too_much() {
        assert_only(&with_skill("name: tidy"), &format!("{AT}:1:1: [skill-description]"), &[]);
        assert_only(&with_skill("name: tidy\ndescription: '  '"), &format!("{AT}:3:14: [skill-description]"), &[]);
        let exact = with_skill(&format!("name: tidy\ndescription: {}", "é".repeat(1024)));
        assert_eq!(exact.lines(), "");
        let long = with_skill(&format!("name: tidy\ndescription: {}", "é".repeat(1025)));
        assert_only(&long, &format!("{AT}:3:14: [skill-description] the description has 1025 characters"), &[]);
    }

    #[test]
    fn compatibility_that_says_nothing_or_too_much() {
        for text in ["' '".to_owned(), "x".repeat(501)] {
            let fixture = with_skill(&format!("name: tidy\ndescription: Tidies.\ncompatibility: {text}"));
            assert_only(&fixture, &format!("{AT}:4:16: [skill-compatibility]"), &[]);
        }
    }

    #[test]
    fn unknown_keys_are_warnings_and_those_of_agents_are_known() {
        let fixture = with_skill("name: tidy\ndescription: Tidies.\nlicence: MIT");
        assert_only(&fixture, &format!("{AT}:4:1: [front-matter-unknown-key]"), &[]);
        insta::assert_snapshot!(fixture.drawn());
        let fixture = with_skill(
            "name: tidy\ndescription: Tidies.\ndisable-model-invocation: true\nuser-invocable: false\n\
             argument-hint: '[file]'\nmodel: opus\ncontext: fork\nagent: Explore\nhooks: {}\nversion: 1",
        );
        assert_eq!(fixture.lines(), "");
    }

    #[test]
    fn text_that_is_not_utf_8_or_holds_a_nul() {
        let fixture =
            Fixture::new().skill_text("tidy", b"---\nname: tidy\ndescription: Caf\xe9s.\n---\n").task("one", TASK);
        assert_only(&fixture, &format!("{AT}:3:17: [not-utf8]"), &[]);
        let fixture =
            Fixture::new().skill_text("tidy", "---\nname: tidy\ndescription: Tidies.\n---\nDo\0it\n").task("one", TASK);
        assert_only(&fixture, &format!("{AT}:5:3: [nul-byte]"), &[]);
    }

    #[test]
    fn windows_line_ends_and_a_byte_order_mark_change_nothing() {
        let text = "\u{feff}---\r\nname: tidy\r\ndescription: Tidies.\r\n---\r\n\r\nDo it.\r\n";
        assert_eq!(Fixture::new().skill_text("tidy", text).task("one", TASK).lines(), "");
        let text = text.replace("name: tidy", "name: Tidy");
        assert_only(
            &Fixture::new().skill_text("tidy", text).task("one", TASK.replace("tidy", "Tidy")),
            &format!("{AT}:2:7: [skill-name]"),
            &[],
        );
    }

    #[test]
    fn a_body_of_more_than_500_lines() {
        let text = |lines: usize| format!("---\nname: tidy\ndescription: Tidies.\n---\n\n{}", "Do it.\n".repeat(lines));
        assert_eq!(Fixture::new().skill_text("tidy", text(500)).task("one", TASK).lines(), "");
        let fixture = Fixture::new().skill_text("tidy", text(501)).task("one", TASK);
        assert_only(&fixture, &format!("{AT}:6:1: [long-body] the body has 501 lines"), &[]);
    }

    #[test]
    fn links_to_files_that_are_not_there() {
        let body = "See [the guide](references/guide.md), [gone](references/gone.md#part) and ![a](<my img.png>).\n\
                    [web](https://example.com/x.md) [mail](mailto:a@b.c) [top](#top) [home](/x.md) [any](<dir>/{x}.md)\n\
                    `[code](no.md)` and [up](../other/SKILL.md) and [out](../../../out.md) [enc](a%20b.md)\n\
                    \n\
                    ```\n[fenced](no.md)\n```\n\
                    \n    [indented](no.md)\n\
                    \n[ref]: missing.txt\n";
        let fixture = Fixture::new()
            .skill_text("tidy", format!("---\nname: tidy\ndescription: Tidies.\n---\n{body}"))
            .skill("other")
            .file("skills/tidy/references/guide.md", "")
            .file("skills/tidy/a b.md", "")
            .task("one", TASK)
            .task("two", TASK.replace("tidy", "other"));
        insta::assert_snapshot!(fixture.lines());
    }

    #[test]
    fn descriptions_that_share_most_of_their_words() {
        let text = |name: &str, language: &str| {
            format!(
                "---\nname: {name}\ndescription: Formats and tidies {language} source files by the house style rules.\n---\n"
            )
        };
        let fixture = Fixture::new()
            .skill_text("tidy", text("tidy", "Python"))
            .skill_text("neat", text("neat", "Rust"))
            .task("one", TASK)
            .task("two", TASK.replace("tidy", "neat"));
        insta::assert_snapshot!(fixture.drawn());
    }

    #[test]
    fn two_skills_with_one_slug() {
        let fixture = Fixture::new().skill("tidy").skill_text("b/tidy", "---\nname: Tidy\ndescription: Tidies.\n---\n");
        let lines = fixture.task("one", TASK).lines();
        assert!(lines.contains("skills/tidy/SKILL.md: [slug-collision] the slug `tidy` of the skill `tidy` is also that of skills/b/tidy/SKILL.md"), "{lines}");
    }
}

mod cases {
    use super::*;

    const AT: &str = "evals/skills/tidy/prompts.csv";

    #[test]
    fn a_fixture_that_is_not_there_or_no_folder() {
        let missing = with_row(",fixture", "mid,true,Do it,fixtures/a");
        assert_only(&missing, &format!("{AT}:3:16: [missing-fixture] the fixture folder"), &[]);
        insta::assert_snapshot!(missing.drawn());
        let file = with_row(",fixture", "mid,true,Do it,fixtures/a").file("evals/skills/tidy/fixtures/a", "");
        assert!(file.lines().contains("is not a folder"), "{}", file.lines());
    }

    #[cfg(unix)]
    #[test]
    fn a_fixture_through_a_symbolic_link_or_with_one_inside() {
        let on_the_way = with_row(",fixture", "mid,true,Do it,linked/a")
            .file("elsewhere/a/x.txt", "")
            .link("evals/skills/tidy/linked", "../../../elsewhere");
        assert_only(&on_the_way, &format!("{AT}:3:16: [symlink] the fixture folder"), &[]);
        let inside = with_row(",fixture", "mid,true,Do it,fixtures/a")
            .file("evals/skills/tidy/fixtures/a/deep/x.txt", "")
            .link("evals/skills/tidy/fixtures/a/deep/passwd", "/etc/passwd");
        assert_only(&inside, &format!("{AT}:3:16: [symlink] the fixture holds"), &[]);
        insta::assert_snapshot!(inside.drawn());
    }

    #[test]
    fn schemas_that_are_missing_or_do_not_compile() {
        let row = "mid,true,Do it,evals/schemas/a.json";
        let with_schema = |text: &str| with_row(",output_schema", row).file("evals/schemas/a.json", text);
        assert_only(&with_row(",output_schema", row), &format!("{AT}:3:16: [missing-schema]"), &[]);
        assert_only(
            &with_schema("{"),
            &format!("{AT}:3:16: [bad-schema] the schema evals/schemas/a.json is not JSON"),
            &[],
        );
        let bad = with_schema(r#"{"type": "objekt"}"#);
        assert_only(
            &bad,
            &format!("{AT}:3:16: [bad-schema] the schema evals/schemas/a.json does not compile at /type"),
            &[],
        );
        insta::assert_snapshot!(bad.drawn());
        for text in [
            r#"{"$ref": "https://example.com/x.json"}"#,
            r#"{"$ref": "file:///etc/passwd"}"#,
            r#"{"pattern": "("}"#,
            "5",
        ] {
            assert_only(&with_schema(text), &format!("{AT}:3:16: [bad-schema]"), &[]);
        }
    }

    #[cfg(unix)]
    #[test]
    fn a_schema_through_a_symbolic_link() {
        let fixture = with_row(",output_schema", "mid,true,Do it,evals/a.json").link("evals/a.json", "/etc/passwd");
        assert_only(&fixture, &format!("{AT}:3:16: [symlink]"), &[]);
    }

    #[test]
    fn a_negative_that_names_the_skill() {
        for prompt in ["Do not use $tidy here", "Leave TIDY alone", "\"Say \"\"tidy\"\"\""] {
            let lines = with_row("", &format!("mid,false,{prompt}")).lines();
            assert!(lines.starts_with(&format!("{AT}:3:")) && lines.contains("[negative-names-skill]"), "{lines}");
        }
        assert_eq!(with_row("", "mid,false,The untidy-tidyness").lines(), "");
        insta::assert_snapshot!(with_row("", "mid,false,Do not use $tidy here").drawn());
    }

    #[test]
    fn a_positive_that_gives_its_marker_away() {
        let given = with_row(",must_include", "mid,true,End with TIDY_DONE for Ann,TIDY_DONE|nothing given");
        assert_only(&given, &format!("{AT}:3:37: [marker-in-prompt] `TIDY_DONE` stands in the prompt"), &[]);
        insta::assert_snapshot!(given.drawn());
        let all = with_row(",must_include", "mid,true,Greet Ann,ann|greet");
        assert_only(&all, &format!("{AT}:3:20: [marker-in-prompt] `ann`"), &[]);
        let one_more = with_row(",must_include", "mid,true,Greet Ann,ann|TIDY_DONE");
        assert_eq!(one_more.lines(), "", "a pattern that the prompt does not match tells the two apart");
        let json_name = with_row(",must_include", r#"mid,true,Use $tidy,"\""tidy\""""#);
        assert_eq!(json_name.lines(), "");
        let task = Fixture::new().skill("tidy").task(
            "one",
            "{\n\"prompt\": \"say done\",\n\"evalConfig\": { \"expectedSkillName\": \"tidy\", \"expectedOutput\": \"DONE\" } }",
        );
        assert_only(&task, "evals/tasks/one.json:3:64: [marker-in-prompt]", &[]);
    }

    #[test]
    fn a_sheet_without_positive_or_negative_rows() {
        let fixture = Fixture::new().skill("tidy").prompts("tidy", "id,should_trigger,prompt\na,true,Do it\n");
        assert_only(&fixture, &format!("{AT}: [no-negative]"), &[]);
        let fixture = Fixture::new().skill("tidy").prompts("tidy", "id,should_trigger,prompt\na,false,Rest\n");
        assert_only(&fixture, &format!("{AT}: [no-positive]"), &[]);
        let fixture = Fixture::new().skill("tidy").prompts("tidy", "id,should_trigger,prompt\n");
        assert_eq!(fixture.lines().lines().count(), 2, "{}", fixture.lines());
        let unread =
            Fixture::new().skill("tidy").prompts("tidy", "id,should_trigger,prompt\na,true,Do it\nb,no,Rest\n");
        assert_only(&unread, &format!("{AT}:3:3: [bad-boolean]"), &["b"]);
    }

    #[test]
    fn no_curated_cases_are_a_warning_and_when_strict_an_error() {
        let fixture = Fixture::new().skill("tidy");
        assert_only(&fixture, "skills/tidy/SKILL.md: [no-cases]", &[]);
        assert_eq!(fixture.run(&["lint", "--check-evals"]).code, 0);
        let strict = fixture.run(&["lint", "--strict"]);
        assert_eq!(strict.code, 1);
        insta::assert_snapshot!(strict.stdout);
    }
}

mod program {
    use super::*;

    #[test]
    fn without_check_evals_only_skills_count() {
        let fixture = with_row("", "broken,yes,Do it");
        let ran = fixture.run(&["lint"]);
        assert_eq!((ran.code, ran.stdout.as_str()), (0, "1 skills: no problems\n"));
    }

    #[test]
    fn problems_exit_with_1_and_no_repository_with_2() {
        assert_eq!(with_row("", "broken,yes,Do it").run(&["lint", "--check-evals"]).code, 1);
        let empty = Fixture::new();
        let ran = run_in(empty.root(), &["lint", "--root", "nowhere"]);
        assert_eq!(ran.code, 2);
        assert!(ran.stderr.starts_with("error: ") && ran.stderr.contains("nowhere has no folder"), "{}", ran.stderr);
        assert_eq!(run_in(empty.root(), &["lint", "--chek-evals"]).code, 2, "wrong arguments");
    }

    #[test]
    fn json_has_code_place_and_message() {
        let ran = with_row("", "broken,yes,Do it").run(&["lint", "--check-evals", "--json"]);
        assert_eq!(ran.code, 1);
        insta::assert_snapshot!(ran.stdout);
    }

    #[test]
    fn errors_are_drawn_before_warnings_and_both_are_counted() {
        let fixture = Fixture::new()
            .skill_text("a", "---\nname: a\ndescription: Does a.\nlicence: MIT\n---\n")
            .skill_text("b", "---\nname: B\ndescription: Does b.\n---\n");
        let ran = fixture.run(&["lint"]);
        assert_eq!(ran.code, 1);
        insta::assert_snapshot!(ran.stdout);
        assert!(!ran.stdout.contains('\u{1b}'), "no colour outside a terminal");
    }

    #[test]
    fn the_lint_trial_of_a_skill_leaves_rows_to_their_own_trials() {
        let fixture = with_row(",other", "broken,yes,Do it,x")
            .skill_text("more", "---\nname: more\ndescription: Does more.\nlicence: MIT\n---\n");
        let codes = |slug: &str| -> Vec<&str> {
            let problems = skill_evals::lint::skill_trial(&fixture.catalog(), slug, &fixture.repository());
            problems.iter().map(|problem| problem.code.as_str()).collect()
        };
        assert_eq!(codes("tidy"), ["csv-unknown-column"]);
        assert_eq!(codes("more"), ["no-cases", "front-matter-unknown-key"]);
        assert_eq!(codes("nobody"), [""; 0]);
    }
}
