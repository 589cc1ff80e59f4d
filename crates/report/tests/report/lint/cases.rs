//! Cases that cannot run as they stand, or would measure little.

use skill_evals_testing::fixture::Fixture;
use skill_evals_testing::lint::{assert_only, with_row};

const AT: &str = "evals/skills/tidy/prompts.csv";

#[test]
fn a_fixture_that_is_not_there_or_no_folder() {
    let missing = with_row(",fixture", "mid,true,Do it,fixtures/a");
    assert_only(&missing, &format!("{AT}:3:16: [missing-fixture] the fixture directory"), &[]);
    insta::assert_snapshot!(missing.drawn());
    let file = with_row(",fixture", "mid,true,Do it,fixtures/a").file("evals/skills/tidy/fixtures/a", "");
    assert!(file.lines().contains("is not a directory"), "{}", file.lines());
}

#[cfg(unix)]
#[test]
fn a_fixture_through_a_symbolic_link_or_with_one_inside() {
    let on_the_way = with_row(",fixture", "mid,true,Do it,linked/a")
        .file("elsewhere/a/x.txt", "")
        .link("evals/skills/tidy/linked", "../../../elsewhere");
    assert_only(&on_the_way, &format!("{AT}:3:16: [symlink] the fixture directory"), &[]);
    let inside = with_row(",fixture", "mid,true,Do it,fixtures/a")
        .file("evals/skills/tidy/fixtures/a/deep/x.txt", "")
        .link("evals/skills/tidy/fixtures/a/deep/passwd", "/etc/passwd");
    assert_only(&inside, &format!("{AT}:3:16: [symlink] the fixture cannot be used"), &[]);
    insta::assert_snapshot!(inside.drawn());
    let harmless = with_row(",fixture", "mid,true,Do it,fixtures/a")
        .file("evals/skills/tidy/fixtures/a/deep/x.txt", "")
        .link("evals/skills/tidy/fixtures/a/y.txt", "deep/x.txt");
    assert_eq!(harmless.lines(), "", "a link that stays inside is copied as what it points to");
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
    for text in
        [r#"{"$ref": "https://example.com/x.json"}"#, r#"{"$ref": "file:///etc/passwd"}"#, r#"{"pattern": "("}"#, "5"]
    {
        assert_only(&with_schema(text), &format!("{AT}:3:16: [bad-schema]"), &[]);
    }
}

#[test]
fn a_pattern_that_means_something_else_to_other_runners_is_told() {
    for (pattern, part, python) in [
        (r"done\<now", r"\<", "the character `<`"),
        (r"now\>", r"\>", "the character `>`"),
        (r"x\b{start}y", r"\b{start}", "a word boundary and the text in braces"),
        ("x[a-z&&[^b]]", "a-z&&[^b]", "very signs"),
        ("x[a-z--b]", "a-z--b", "very signs"),
        ("x[[:alpha:]]", "[:alpha:]", "first `]`"),
        ("x[a[bc]]", "[bc]", "first `]`"),
        ("xa++", "a++", "a possessive one"),
        ("xa{2}+", "a{2}+", "a possessive one"),
    ] {
        for column in ["must_include", "must_not_include"] {
            let fixture = with_row(&format!(",{column}"), &format!("mid,true,Do it,fine|{pattern}"));
            let at = 21 + pattern.find(part).expect("a part");
            let start = format!("{AT}:3:{at}: [regex-dialect] `{column}`: `{part}` means");
            assert_only(&fixture, &start, &[]);
            assert!(fixture.lines().contains(python), "{}", fixture.lines());
        }
    }
    for same in [
        r"a\b", "[a&b]", r"[\[\]]", "[]a]", "[^]a]", "a+?", "(?:a+)+", "ba*", r"[\&\&]", r"\\<", "(?i)a", r"^\d{2}$",
        "a+?b",
    ] {
        let fixture = with_row(",must_not_include", &format!("mid,true,Do it,{same}"));
        assert_eq!(fixture.lines(), "", "{same}");
    }
    let task = r#"{ "prompt": "Do it", "evalConfig": { "expectedSkillName": "tidy", "expectedOutputPattern": "[[:digit:]]{9}" } }"#;
    assert_only(&Fixture::new().skill("tidy").task("one", task), "evals/tasks/one.json:1:92: [regex-dialect]", &[]);
}

#[test]
fn what_other_runners_accept_and_this_one_does_not_is_told_with_what_to_write() {
    for (pattern, help) in [(r"done\Z", r"write `\z`"), (r"(?=done\Z)", r"write `\z`"), ("(?=x", "patterns are Rust")] {
        let fixture = with_row(",must_include", &format!("mid,true,Do it,{pattern}"));
        assert_only(&fixture, &format!("{AT}:3:16: [bad-regex]"), &["mid"]);
        assert!(fixture.drawn().contains(help), "{pattern}: {}", fixture.drawn());
    }
    for pattern in ["(?P<a>x)(?P=a)", r"(x)\1", "(?=x)", "(?>x)", "(?<!x)y"] {
        assert_eq!(with_row(",must_include", &format!("mid,true,Do it,{pattern}")).lines(), "", "{pattern}");
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
    assert_only(&given, &format!("{AT}:3:37: [marker-in-prompt] `TIDY_DONE` is in the prompt"), &[]);
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
    let unread = Fixture::new().skill("tidy").prompts("tidy", "id,should_trigger,prompt\na,true,Do it\nb,no,Rest\n");
    assert_only(&unread, &format!("{AT}:3:3: [bad-boolean]"), &["b"]);
}
