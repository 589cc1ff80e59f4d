//! A user who answers: what of its player's answer is sent, and that it tells nothing that nobody asked for.

use skill_evals_cases::grade::user::{Played, UserTurn};
use skill_evals_evidence::trial::input_file::{HistoryMessage, Speaker};
use skill_evals_evidence::trial::input_file::{Persona, ToldFact, UserEnding, has_value};

fn persona() -> Persona {
    let facts = [("audience", "administrators"), ("date", "3 March")];
    let facts = facts.map(|(fact, value)| (fact.to_owned(), value.to_owned()));
    Persona { persona: None, goal: "A note.".to_owned(), facts: facts.into(), max_turns: 5 }
}

fn said(role: Speaker, content: &str) -> HistoryMessage {
    HistoryMessage { role, content: content.to_owned() }
}

/// What becomes of a player's answer after the agent has written this.
fn played(agent: &str, answer: &str) -> Result<Played, String> {
    let conversation = [said(Speaker::User, "Write a note."), said(Speaker::Assistant, agent)];
    let persona = persona();
    UserTurn { persona: &persona, conversation: &conversation, told: &[], number: 2 }.played(Some(answer))
}

fn told(agent: &str, answer: &str) -> Result<Vec<ToldFact>, String> {
    match played(agent, answer)? {
        Played::Says(_, told) => Ok(told),
        Played::Ends(ending, _) => panic!("{ending}"),
    }
}

fn says(message: &str, asked: &[(&str, &str)]) -> String {
    let asked: Vec<_> = asked.iter().map(|(fact, words)| serde_json::json!({ "fact": fact, "words": words })).collect();
    serde_json::json!({ "next": "say", "message": message, "asked": asked }).to_string()
}

const ASKS: &str = "Sure! **Who** will read it?";

#[test]
fn a_fact_is_told_with_the_words_of_the_agent_that_ask_for_it() {
    let fact = |asked_by: &str| {
        let (fact, asked_by) = ("audience".to_owned(), Some(asked_by.to_owned()));
        Ok(vec![ToldFact { fact, message: 2, asked_by }])
    };
    for words in ["Who will read it?", "who will  read", "**Who** will read it?"] {
        assert_eq!(told(ASKS, &says("The administrators.", &[("audience", words)])), fact(words), "{words}");
    }
    assert_eq!(told(ASKS, &says("I do not know.", &[])), Ok(Vec::new()));
}

#[test]
fn a_fact_that_nothing_asked_for_is_not_sent() {
    let refused = Err("it tells `audience`, and quotes no words of the assistant that ask for it".to_owned());
    let message = "For Administrators!";
    for asked in [
        &[][..],
        // Words that the agent did not write, or that anything has.
        &[("audience", "For whom is it?")],
        &[("audience", "?")],
        &[("audience", "it")],
        // Words of the user.
        &[("audience", "Write a note.")],
        // Words that ask for another fact.
        &[("date", "Who will read it?")],
    ] {
        assert_eq!(told(ASKS, &says(message, asked)), refused, "{asked:?}");
    }
    // One of two facts was asked for.
    let both = says("The administrators, on 3 March.", &[("audience", "Who will read it?")]);
    assert_eq!(
        told(ASKS, &both),
        Err("it tells `date`, and quotes no words of the assistant that ask for it".to_owned())
    );
}

#[test]
fn what_the_agent_said_itself_may_be_repeated() {
    let known = vec![ToldFact { fact: "audience".to_owned(), message: 2, asked_by: None }];
    assert_eq!(told("Is it for administrators?", &says("Yes, for administrators.", &[])), Ok(known));
}

#[test]
fn a_value_is_found_as_words_whatever_their_case_and_what_is_between_them() {
    for text in ["3 March", "on 3 MARCH.", "3-March", "3\nmarch", "(3 March)"] {
        assert!(has_value(text, "3 March"), "{text}");
    }
    for text in ["13 March", "3 Marches", "March 3", "3 of March", ""] {
        assert!(!has_value(text, "3 March"), "{text}");
    }
    assert!(has_value("给管理员看。", "管理员"), "no spaces between words");
    assert!(!has_value("anything", "…"));
}

#[test]
fn an_answer_that_is_no_message_says_why() {
    let words = |answer: &str| played(ASKS, answer).expect_err("it cannot be sent");
    assert_eq!((words(""), words(" ")), ("it is empty".to_owned(), "it is empty".to_owned()));
    assert!(words("Administrators").starts_with("it is not the JSON object that was asked for: "));
    assert_eq!(words(r#"{"next": "stop"}"#), "`next` is `stop`");
    assert_eq!(words(&says(" ", &[])), "`message` is empty");
    assert_eq!(words(&says(&"x".repeat(9000), &[])), "`message` has more than 8192 bytes");
    assert_eq!(words(&says("\0", &[])), "`message` has a NUL character");
}

#[test]
fn a_user_ends_the_conversation_and_may_write_json_in_a_fence() {
    let ended = |answer: &str| match played(ASKS, answer) {
        Ok(Played::Ends(ending, why)) => (ending, why),
        other => panic!("{other:?}"),
    };
    assert_eq!(ended("```json\n{\"next\": \"done\"}\n```"), (UserEnding::Done, String::new()));
    // What is not sent tells nothing.
    let gave_up = r#"{"next": "give-up", "message": "It is for administrators."}"#;
    assert_eq!(ended(gave_up), (UserEnding::GaveUp, "It is for administrators.".to_owned()));
}

#[test]
fn a_long_conversation_is_cut_at_its_messages_starts() {
    let long = format!("START {} Who will read it?", "ä".repeat(50_000));
    let conversation = [said(Speaker::User, "Write a note."), said(Speaker::Assistant, &long)];
    let persona = persona();
    let turn = UserTurn { persona: &persona, conversation: &conversation, told: &[], number: 2 };
    let prompt = turn.prompt(Some("it is empty"));
    assert!(prompt.len() < 70_000 && prompt.contains("Who will read it?") && !prompt.contains("START"));
    assert!(prompt.contains("Write a note.") && prompt.contains("Your last answer was not sent: it is empty."));
    assert!(prompt.contains(r#"{"audience":"administrators","date":"3 March"}"#), "{prompt}");
}

#[test]
fn a_fact_that_is_told_in_parts_is_told_by_the_last_of_them() {
    let persona = persona();
    let conversation = [
        said(Speaker::User, "Write a note."),
        said(Speaker::Assistant, "When is it?"),
        said(Speaker::User, "It is on the 3"),
        said(Speaker::Assistant, "Of which month?"),
    ];
    let turn = UserTurn { persona: &persona, conversation: &conversation, told: &[], number: 3 };
    let why = turn.played(Some(&says("March.", &[]))).expect_err("nothing asked for it");
    assert!(why.contains("it tells `date`"), "{why}");
    let told = turn.played(Some(&says("March.", &[("date", "Of which month?")])));
    assert!(matches!(told, Ok(Played::Says(_, told)) if told[0].message == 3));
}

#[test]
fn a_user_that_says_the_same_to_the_same_for_the_third_time_gives_up() {
    let persona = persona();
    let pair = || [said(Speaker::Assistant, "Which color?"), said(Speaker::User, "I do not mind.")];
    let ending = |pairs: usize, message: &str| {
        let mut conversation = vec![said(Speaker::User, "Write a note.")];
        conversation.extend((0..pairs).flat_map(|_| pair()));
        conversation.push(said(Speaker::Assistant, "which color"));
        let turn = UserTurn { persona: &persona, conversation: &conversation, told: &[], number: 2 + pairs };
        match turn.played(Some(&says(message, &[]))) {
            Ok(Played::Ends(ending, why)) => Some((ending, why)),
            _ => None,
        }
    };
    assert_eq!((ending(1, "I do not mind."), ending(2, "Blue, then.")), (None, None));
    let (ending, why) = ending(2, "I do not mind").expect("an end");
    assert!(ending == UserEnding::GaveUp && why.contains("in circles"), "{ending}: {why}");
}
