//! Faults in a SKILL.md.

use skill_evals_evidence::text::diagnostic::Code;
use skill_evals_testing::fixture::Fixture;
use skill_evals_testing::lint::{TASK, assert_only, with_skill};

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
        ("license: [MIT]", 10, "`license` is an array; expected a string"),
        ("license:", 1, "`license` is null; expected a string"),
        ("compatibility: 3", 16, "`compatibility` is a number; expected a string"),
        ("metadata: text", 11, "`metadata` is a string; expected an object"),
        ("allowed-tools: [[Read]]", 16, "`allowed-tools` is an array; expected names"),
        ("disable-model-invocation: yes", 27, "`disable-model-invocation` is a string; expected true or false"),
        ("user-invocable: 0", 17, "`user-invocable` is a number; expected true or false"),
    ] {
        let fixture = with_skill(&format!("name: tidy\ndescription: Tidies.\n{line}"));
        assert_only(&fixture, &format!("{AT}:4:{column}: [front-matter-type] {what}"), &[]);
    }
    let commas = with_skill("name: tidy\ndescription: Tidies.\nallowed-tools: Read, Grep");
    assert_only(&commas, &format!("{AT}:4:16: [allowed-tools] `allowed-tools` has commas"), &[]);
}

#[test]
fn names_that_break_the_rules() {
    let long = "a".repeat(65);
    for (name, why) in [
        ("Tidy", "contains 'T'"),
        ("tidy_up", "contains '_'"),
        ("-tidy", "starts or ends with `-`"),
        ("tidy-", "starts or ends with `-`"),
        ("ti--dy", "contains `--`"),
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
    let fixture = Fixture::new().skill_text("tiny", "---\nname: tidy\ndescription: Tidies.\n---\n").task("one", TASK);
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
    // Known, and worth a word of its own.
    assert_only(&fixture, &format!("{AT}:4:1: [user-only]"), &[]);
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
fn windows_line_ends_change_nothing() {
    let text = "---\r\nname: tidy\r\ndescription: Tidies.\r\n---\r\n\r\nDo it.\r\n";
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
fn a_catalogue_that_outgrows_what_agents_show_is_a_warning_for_each_list() {
    let skills = |count: usize, length: usize| {
        let text = |name: &str| format!("---\nname: {name}\ndescription: {}\n---\n", "x".repeat(length));
        (0..count).map(|number| format!("s-{number:02}")).fold(Fixture::new(), |fixture, name| {
            let text = text(&name);
            fixture.skill_text(&name, text)
        })
    };
    let warnings = |fixture: Fixture| {
        let problems = fixture.problems();
        let large = problems.into_iter().filter(|problem| problem.code.as_str() == "large-catalogue");
        large.map(|problem| problem.to_string()).collect::<Vec<_>>()
    };
    assert_eq!(warnings(skills(10, 183)), [""; 0]);
    insta::assert_snapshot!(warnings(skills(10, 184)).join("\n"));
    insta::assert_snapshot!(warnings(skills(50, 1024)).join("\n"));
    // Names have their room before any description has.
    for (length, first) in [(60, "s-0000011"), (200, "s-0000003"), (500, "s-0000001")] {
        let text = |name: &str| format!("---\nname: {name}\ndescription: {}\n---\n", "x".repeat(length));
        let many = (0..100).map(|number| format!("s-{number:07}"));
        let many = many.fold(Fixture::new(), |fixture, name| fixture.skill_text(&name, text(&name)));
        let found = warnings(many);
        let small = found.iter().find(|warning| warning.contains("at most 1924 characters")).expect("a warning");
        assert!(small.starts_with(&format!("skills/{first}/SKILL.md")), "{small}");
    }
    // One that its model never sees takes no room.
    let hidden = "---\nname: t\ndescription: Does it.\ndisable-model-invocation: true\n---\n";
    assert_eq!(warnings(skills(10, 183).skill_text("t", hidden)), [""; 0]);
}

#[test]
fn two_skills_with_one_slug() {
    let skill = "---\nname: Tidy\ndescription: Tidies.\n---\n";
    for other in ["skills/b/tidy", "skills/pack/skills/tidy"] {
        let lines = Fixture::new().skill("tidy").file(&format!("{other}/SKILL.md"), skill).task("one", TASK).lines();
        let said = format!("[skill-root] not read, because another skill has the same name: {other}/SKILL.md");
        assert!(lines.contains(&said), "{lines}");
    }
}

#[test]
fn skills_are_found_in_nested_folders_and_anywhere_when_no_usual_folder_holds_any() {
    let text = "---\nname: deep\ndescription: Does it.\n---\n";
    let nested = Fixture::new().file("skills/group/sub/deep/SKILL.md", text);
    assert_eq!(nested.catalog().skills.len(), 1);
    let scattered = Fixture::new()
        .file("skills/README.md", "generated")
        .file("tools/deep/SKILL.md", text)
        .file("evals/skills/deep/fixtures/copy/SKILL.md", "---\nname: fixture\ndescription: No skill.\n---\n")
        .file("target/package/SKILL.md", "---\nname: built\ndescription: No skill.\n---\n");
    let slugs: Vec<String> = scattered.catalog().skills.iter().map(|found| found.skill().slug.clone()).collect();
    assert_eq!(slugs, ["deep"]);
}

#[test]
fn a_skill_md_with_very_many_faults_shows_the_first_of_each_kind() {
    let keys: Vec<String> = (0..2000).map(|number| format!("key{number}: v\n")).collect();
    let links: Vec<String> = (0..2000).map(|number| format!("[x](none{number}.md)\n")).collect();
    let [keys, links, brackets] = [keys.concat(), links.concat(), "](".repeat(50_000)];
    let text = format!("---\nname: tidy\ndescription: Tidies.\n{keys}---\n{links}{brackets}\n");
    let fixture = Fixture::new().skill_text("tidy", text).task("one", TASK);
    let problems = fixture.problems();
    for code in [Code::FrontMatterUnknownKey, Code::DeadLink] {
        let of_kind: Vec<_> = problems.iter().filter(|problem| problem.code == code).collect();
        assert!(of_kind.len() == 100 && of_kind[99].more >= 1900, "{code}: {}", of_kind.len());
        assert_eq!(of_kind[99].place.line, if code == Code::DeadLink { 2104 } else { 103 }, "{code}");
    }
}
