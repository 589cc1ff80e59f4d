//! Prompts that hand over the choice of the skill, and so measure nothing.

use skill_evals_testing::fixture::Fixture;

const PDF: &str = "---\nname: pdf-forms\ndescription: Fills the fields of forms in documents, and lists the fields that are \
                   empty. Use when somebody has a form to fill in. Not for the merging of documents.\n---\n\nDo it.\n";
const TIDY: &str = "---\nname: tidy\ndescription: Sorts the files of a directory by their age, and moves old ones to an \
                    archive. Use when the user has too many of them.\n---\n\nDo it.\n";

fn with(rows: &str) -> Fixture {
    let sheet = format!("id,should_trigger,prompt\n{rows}");
    Fixture::new().skill_text("pdf-forms", PDF).skill_text("tidy", TIDY).prompts("pdf-forms", sheet)
}

/// What lint says about the cases of these rows, a code and a place each.
fn said(rows: &str) -> Vec<String> {
    let lines = with(rows).lines();
    let of_cases = lines.lines().filter(|line| line.starts_with("evals/skills/pdf-forms/prompts.csv"));
    of_cases
        .map(|line| line.split(']').next().unwrap_or_default().replace("evals/skills/pdf-forms/prompts.csv:", ""))
        .collect()
}

const GOOD: &str = "implicit,true,Ada's visa application has gaps: complete it from notes.txt\n\
                    near,false,Join these two documents into one.\n";

#[test]
fn realistic_prompts_and_near_misses_are_clean() {
    assert_eq!(said(GOOD), [""; 0]);
}

#[test]
fn an_implicit_prompt_that_names_its_skill_is_marked_at_the_name() {
    for (prompt, column) in [
        ("Fill this in with pdf-forms please.", 35),
        ("Fill this in; the PDF-Forms way.", 0),
        ("$pdf-forms fill this in", 0),
        ("/pdf-forms: fill this in", 0),
        ("Is there a pdf forms skill for this?", 0),
    ] {
        let found = said(&format!("{GOOD}implicit-2,true,{prompt}\n"));
        assert!(
            found.len() == 1 && found[0].starts_with("4:") && found[0].ends_with("[implicit-names-skill"),
            "{prompt}: {found:?}"
        );
        assert!(column == 0 || found[0].starts_with(&format!("4:{column}:")), "{found:?}");
    }
    // An explicit case names it on purpose, and forms in a PDF are not the skill.
    for row in ["explicit,true,Use the $pdf-forms skill.", "implicit-2,true,Which forms in this PDF are empty?"] {
        assert_eq!(said(&format!("{GOOD}{row}\n")), [""; 0], "{row}");
    }
}

#[test]
fn a_name_of_one_word_counts_only_as_the_name_of_a_skill() {
    let sheet =
        |prompt: &str| format!("id,should_trigger,prompt\nimplicit,true,{prompt}\nnear,false,Fill in the form.\n");
    let lines = |prompt: &str| Fixture::new().skill_text("tidy", TIDY).prompts("tidy", sheet(prompt)).lines();
    assert_eq!(lines("Please tidy the files in this directory."), "");
    for prompt in ["Use your tidy skill here.", "Run the skill tidy here."] {
        assert!(lines(prompt).contains("[implicit-names-skill]"), "{prompt}");
    }
}

#[test]
fn a_description_as_a_prompt_is_told_whole_or_in_part() {
    for prompt in [
        "\"Do this: Fills the fields of forms in documents, and lists the fields that are empty.\"",
        "'fills the fields of forms in documents -- and lists the fields'",
    ] {
        assert_eq!(said(&format!("{GOOD}more,true,{prompt}\n")).len(), 1, "{prompt}");
        assert!(said(&format!("{GOOD}more,true,{prompt}\n"))[0].ends_with("[description-as-prompt"), "{prompt}");
        assert_eq!(said(&format!("{GOOD}more,false,{prompt}\n")), [""; 0], "a negative may quote it");
    }
    let phrase = "more,true,I have a form to fill in: lists the fields that are empty\n";
    assert_eq!(said(&format!("{GOOD}{phrase}")), [""; 0], "a phrase of a few words may be a user's own");
}

#[test]
fn a_skill_whose_every_prompt_names_it_is_told_once() {
    let near = "near,false,Join these two documents into one.\n";
    let named = "a,true,Use the $pdf-forms skill.\nb,true,Ask pdf-forms for help.\n";
    assert_eq!(said(&format!("{named}{near}")), ["2:8: [no-implicit"]);
    assert_eq!(said(&format!("{named}c,true,Complete my application.\n{near}")), [""; 0]);
    // Only users may call this one, so every prompt has to.
    let user_only = PDF.replace("\n---\n\n", "\ndisable-model-invocation: true\n---\n\n");
    let sheet = format!("id,should_trigger,prompt\n{named}{near}");
    let fixture = Fixture::new().skill_text("pdf-forms", user_only).prompts("pdf-forms", sheet);
    assert!(!fixture.lines().contains("no-implicit"), "{}", fixture.lines());
}

#[test]
fn negatives_that_no_description_comes_near_are_told_once() {
    let positive = "a,true,Complete my application.\n";
    let far = "b,false,What is the capital of France?\nc,false,How many seconds are in an hour of the day?\n";
    assert_eq!(said(&format!("{positive}{far}")), ["3:9: [far-negatives"]);
    for near in [
        "d,false,Merge the documents of this month.",
        "d,false,Move the old files to another directory.",
        // Prompts in other languages, and very short ones, cannot be compared.
        "d,false,Quelle est la capitale de la France ?",
        "d,false,Why?",
    ] {
        assert_eq!(said(&format!("{positive}{far}{near}\n")), [""; 0], "{near}");
    }
}
